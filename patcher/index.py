"""What the package index has, asked through pip: only pip knows the person's indexes, proxies and certificates."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple, Type

from patcher.errors import SitepatchError
from patcher.versions import is_version

# What a wheel may be made for, the smallest first: one for any platform, then macOS (a torch of 80 MB), then Linux. The
# sources in them are the same. No Python has a wheel of every release, and pip takes one Python at a time.
_PLATFORMS = ("macosx_26_0_arm64", "manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_27_x86_64",
              "manylinux_2_17_x86_64", "manylinux2014_x86_64")  # fmt: skip
_TRIES = (("3.12", ("any",)), *((python, _PLATFORMS) for python in ("3.12", "3.10", "3.8", "3.14")))
_NO_SUCH_VERSION = "0a0.dev0+none"
_ENVIRON = {
    "PIP_CONSTRAINT": "",  # a constraint of the project would forbid all other releases
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_QUIET": "0",
    "PIP_VERBOSE": "0",
    "NO_COLOR": "1",
    "PYTHONSAFEPATH": "1",  # a folder called `pip` in the current directory is not pip
}


class Listing(NamedTuple):
    """The releases of a distribution: of each the kind of wheel it has (an index of the tries), None for no wheel."""

    releases: Dict[str, Optional[int]]
    yanked: FrozenSet[str]


class Pip:
    """pip of the running interpreter; a context manager that ends what still runs and leaves nothing behind."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="sitepatch-")
        self._lock = threading.Lock()
        self._children: Set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def __enter__(self) -> Pip:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()
        self._scratch.cleanup()

    def stop(self) -> None:
        """End every pip that runs; none can be started after it."""
        with self._lock:
            self._stopped = True
            for child in self._children:
                child.terminate()

    def listing(self, distribution: str, kind: Optional[int]) -> Tuple[Set[str], Set[str]]:
        """The releases that have a wheel of one kind (with None: source distributions too), and the yanked ones of them.

        Raises:
            SitepatchError: pip is not there, is too old or could not reach its index.
        """
        words = [*_target(kind), f"{distribution}=={_NO_SUCH_VERSION}"]
        _, said = self._run(words, self._folder())
        found = re.search(r"\(from versions: ([^)]*)\)", said)
        if not found or re.search(r"Retry\(total=0|Could not fetch URL", said):
            raise SitepatchError(f"pip could not list the releases of {distribution}: {_reason(said)}", _hint(said))
        yanked = re.search(r"yanked versions: (.*)", said)
        taken_back = _versions(yanked.group(1)) if yanked else set()
        return _versions(found.group(1)) | taken_back, taken_back

    def download(self, distribution: str, version: str, kind: int) -> Tuple[Path, bool]:
        """Fetch the wheel of a release into a folder of its own; the caller deletes it. The second is: is it yanked?

        Raises:
            SitepatchError: pip could not fetch it.
        """
        folder = self._folder()
        code, said = self._run([*_target(kind), "--dest", str(folder), f"{distribution}==={version}"], folder)
        wheels = sorted(folder.glob("*.whl"))
        if code or not wheels:
            raise SitepatchError(f"pip could not fetch it: {_reason(said)}", _hint(said))
        return wheels[0], "yanked version" in said

    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._scratch.name))

    def _run(self, words: List[str], scratch: Path) -> Tuple[int, str]:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--ignore-requires-python"]
        environ = {**os.environ, **_ENVIRON, "TMPDIR": str(scratch)}
        with self._lock:
            if self._stopped:
                raise SitepatchError("interrupted")
            child = subprocess.Popen(
                [*command, "--progress-bar", "off", *words],
                env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            self._children.add(child)
        said = child.communicate()[0].decode("utf-8", "replace")
        with self._lock:
            self._children.discard(child)
        if "No module named pip" in said:
            hint = f"releases are fetched with pip: {sys.executable} -m ensurepip, or in a uv environment: uv pip install pip"
            raise SitepatchError(f"{sys.executable} has no pip", hint)
        if "no such option" in said:
            raise SitepatchError("this pip is too old to fetch releases", f"{sys.executable} -m pip install --upgrade pip")
        return child.returncode, said


KINDS: Tuple[Optional[int], ...] = (*range(len(_TRIES)), None)
"""What `Pip.listing` is asked for, in the order of preference."""


def join(answers: List[Tuple[Set[str], Set[str]]]) -> Listing:
    """The answers of `Pip.listing` for each of `KINDS` as one: every release with the first kind that has it."""
    releases: Dict[str, Optional[int]] = {}
    for kind, (versions, _) in zip(KINDS, answers):
        for version in versions:
            releases.setdefault(version, kind)
    return Listing(releases, frozenset().union(*(yanked for _, yanked in answers)))


def _target(kind: Optional[int]) -> List[str]:
    python, platforms = _TRIES[kind or 0]
    only = [] if kind is None else ["--only-binary", ":all:"]
    return [*only, "--python-version", python, *(word for each in platforms for word in ("--platform", each))]


def _versions(text: str) -> Set[str]:
    return {each.strip() for each in text.split(",") if is_version(each.strip())}


def _reason(said: str) -> str:
    """The line of pip's output that says why, without what differs from run to run."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"connection broken by|Could not fetch URL|HTTP error", line)]
    telling = telling or [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    line = re.sub(r"^(WARNING|ERROR): |Retrying .*? after |<[^>]*\bat 0x\w+>:? ?", "", telling[-1])
    return line if len(line) <= 200 else line[:197] + "..."


def _hint(said: str) -> str:
    offline = re.search(r"connection broken by|Could not fetch URL|Retrying", said)
    return "is there a network, and a proxy or an index that pip has to be told of? see: pip config list" if offline else ""
