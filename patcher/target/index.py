"""The releases of the package index, through pip: only pip knows the user's indexes, proxies and certificates."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Type
from urllib.parse import unquote

from patcher.errors import SitepatchError
from patcher.target.versions import accepts, canonical, is_version

# The platforms of wheels, those with the smallest wheels first: a torch for macOS has 80 MB. The sources in them are the same.
# No Python has a wheel of every release, and pip takes one Python at a time; the first of PYTHONS has most.
_PLATFORMS = (
    "macosx_26_0_arm64",
    "manylinux_2_34_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
    "linux_x86_64",
    "manylinux_2_28_aarch64",
    "manylinux2014_aarch64",
    "linux_aarch64",
)
PYTHONS = ("3.10", "3.12", "3.8", "3.14")
_WHEELS = ("--only-binary", ":all:")
_LISTS_YANKED = "23.3"  # the first pip that does
_NO_SUCH_VERSION = "0a0.dev0+none"
_PASSED_OVER = r"^(WARNING: )?(Could not fetch URL (?!.*: 404 Client Error)|Skipping page |The repository located at )"
"""What pip says of an index that it goes on without; one that does not know a project answers 404."""
_TELLING = re.compile(r"connection broken by|Could not fetch URL|Skipping page|HTTP error|is not a trusted")
_ENVIRON = {
    "PIP_CONSTRAINT": os.devnull,  # a constraint would forbid all other releases; "" leaves a configured one in force
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_QUIET": "0",
    "PIP_VERBOSE": "0",
    "NO_COLOR": "1",
    "PYTHONSAFEPATH": "1",  # a folder called `pip` in the current directory is not pip
}


class WheelLink(NamedTuple):
    """Where a wheel lies: its URL, the page of the index that has it, its sha256 (hex); "" for what pip does not tell."""

    url: str
    page: str = ""
    sha256: str = ""


class Listing(NamedTuple):
    """The releases in the index, also those with a source distribution only, and the yanked ones of them.

    `wheels` are by version: of each release one wheel, the smallest by its platform. `others` are the releases that have
    wheels for other Pythons or platforms alone, and no source distribution; which of them are yanked pip does not tell.
    """

    versions: FrozenSet[str] = frozenset()
    yanked: FrozenSet[str] = frozenset()
    wheels: Mapping[str, WheelLink] = {}
    others: FrozenSet[str] = frozenset()


class NoPip(SitepatchError):
    """There is no usable pip; nothing can be fetched at all."""


class NoWheel(SitepatchError):
    """A release has no wheel for any of the platforms and Pythons that are tried."""


class Pip:
    """pip of the running interpreter; a context manager that ends running pips and deletes temporary files.

    Args:
        cached: whether to use pip's own cache.
    """

    def __init__(self, *, cached: bool = False) -> None:
        self._cache = () if cached else ("--no-cache-dir",)
        self._scratch = tempfile.TemporaryDirectory(prefix="sitepatch-")
        self._lock = threading.Lock()
        self._children: Set[subprocess.Popen[bytes]] = set()
        self.stopped = False
        self.writing = threading.Lock()
        """Locked while fetched files are written to the cache: `stop` waits for that."""

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
            self.stopped = True
            for child in self._children:
                child.terminate()
        with self.writing:
            pass

    def listing(self, distribution: str, python: str) -> Listing:
        """The releases that a Python (`3.10`) could install: those with a wheel for it or with a source distribution.

        Raises:
            NoPip: pip is not there or too old.
            SitepatchError: pip could not reach its index.
        """
        _, said = self._run(python, [f"{distribution}=={_NO_SUCH_VERSION}", "-vv"], self._folder())
        found = re.search(r"\(from versions: ([^)]*)\)", said)
        nothing = found and found.group(1) == "none" and re.search(_PASSED_OVER, said, re.MULTILINE)
        if not found or nothing or re.search(r"Retry\(total=0|Could not fetch URL .*certificate", said):
            raise SitepatchError(f"pip could not list the releases of {distribution}: {_reason(said)}", _hint(said))
        withdrawn = re.search(r"yanked versions: (.*)", said)
        yanked = _versions(withdrawn.group(1)) if withdrawn else frozenset()
        versions = _versions(found.group(1)) | yanked
        versions -= {link[-1] for link in _links(said, followed=False)} - {link[-1] for link in _links(said)}
        return Listing(versions, yanked, _wheels(said), _others(said) - versions)

    def download(self, distribution: str, version: str, tags: Sequence[str] = (), url: str = "") -> Tuple[Path, bool]:
        """Fetch a wheel of a release into a folder of its own, which the caller deletes; the second is: is it yanked?

        Args:
            distribution: its name.
            version: as the listing of the distribution has it.
            tags: `PYTHON-ABI-PLATFORM` that the wheel is made for; any of those that have most without them.
            url: where the wheel lies, if it is in no index.

        Raises:
            NoPip: pip is not there or too old.
            NoWheel: it has none that fits.
            SitepatchError: pip could not fetch it.
        """
        folder = self._folder()
        made_for = [f"3.{minor}" for tag in tags for minor in re.findall(r"\A[cp]p3(\d+)-", tag)]
        pythons = tuple(dict.fromkeys(made_for)) or PYTHONS
        platforms = [tag.split("-")[2] for tag in tags if not tag.endswith("-any")] or _PLATFORMS
        for python in pythons:
            words = [*_WHEELS, "--dest", str(folder), url or f"{distribution}==={version}"]
            code, said = self._run(python, words, folder, platforms)
            wheels = sorted(folder.glob("*.whl"))
            if not code and wheels:
                return wheels[0], "yanked version" in said
            if "No matching distribution found" not in said or "Retry(total=0" in said:
                raise SitepatchError(f"pip could not fetch it: {_reason(said)}", _hint(said))
        if not url:  # the listing says what is wrong where pip has passed over an index without a word
            listing = self.listing(distribution, pythons[0])
            if is_version(version) and canonical(version) not in map(canonical, listing.versions | listing.others):
                raise NoWheel("the index has no such release")
        named = ", ".join(sorted(pythons, key=lambda python: int(python[2:])))
        where = "on macOS or Linux" if platforms is _PLATFORMS else f"for {', '.join(platforms)}"
        raise NoWheel(f"it has no wheel for Python {named} {where}, at most a source distribution")

    def link(self, distribution: str, version: str) -> Optional[WheelLink]:
        """Where the index has a wheel of a release, without fetching it; None where pip is too old to tell, or finds none."""
        folder = self._folder()
        report = folder / "report.json"
        words = [*_WHEELS, "--dry-run", "--ignore-installed", "--target", str(folder), "--report", str(report)]
        try:
            self._run(PYTHONS[0], [*words, f"{distribution}==={version}"], folder, verb="install")
            (found,) = json.loads(report.read_bytes())["install"]
            origin = found["download_info"]
            return WheelLink(str(origin["url"]), "", str(origin["archive_info"].get("hashes", {}).get("sha256", "")))
        except (NoPip, OSError, ValueError, KeyError):
            return None

    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._scratch.name))

    def _run(
        self, python: str, words: List[str], scratch: Path, platforms: Sequence[str] = _PLATFORMS, verb: str = "download"
    ) -> Tuple[int, str]:
        command = [sys.executable, "-m", "pip", verb, "--no-deps", *self._cache, "--ignore-requires-python"]
        command += ["--progress-bar", "off", "--python-version", python]
        command += [word for each in platforms for word in ("--platform", each)]
        environ = {**os.environ, **_ENVIRON, "TMPDIR": str(scratch)}
        with self._lock:
            if self.stopped:
                raise SitepatchError("interrupted")
            command += words
            no, out = subprocess.DEVNULL, subprocess.PIPE
            child = subprocess.Popen(command, env=environ, stdin=no, stdout=out, stderr=subprocess.STDOUT)
            self._children.add(child)
        said = child.communicate()[0].decode("utf-8", "replace")
        with self._lock:
            self._children.discard(child)
        if "No module named pip" in said:
            hint = f"releases are fetched with pip: {sys.executable} -m ensurepip, or in a uv environment: uv pip install pip"
            raise NoPip(f"{sys.executable} has no pip", hint)
        if "no such option" in said:
            hint = f"{sys.executable} -m pip install --upgrade pip"
            raise NoPip("this pip is too old to fetch releases, expected pip 21.2 or newer", hint)
        return child.returncode, said


def unlisted_yanked() -> str:
    """A remark where pip is too old to list yanked releases apart, "" where it is not."""
    from importlib import metadata  # no help needs it

    try:
        found = metadata.version("pip")
    except metadata.PackageNotFoundError:
        return ""  # the first run of it says so
    if not is_version(found or "") or accepts(f">={_LISTS_YANKED}", found):
        return ""
    newer = f"pip {_LISTS_YANKED} does: {sys.executable} -m pip install --upgrade pip"
    return f"pip {found} does not say which releases are yanked, {newer}"


def _versions(text: str) -> FrozenSet[str]:
    return frozenset(each.strip() for each in text.split(",") if is_version(each.strip()))


def _links(said: str, *, followed: bool = True) -> List[Tuple[str, ...]]:
    """URL, fragment, page and version of each link in pip's debug output, or of those that are not `followed`.

    Not followed is a page of the web that names files of this machine.
    """
    line = r"^ *Found link ([^\s#]+)(?:#(\S*))?(?: \(from (\S+)\))?.*, version: (\S+)$"
    links: List[Tuple[str, ...]] = re.findall(line, said, re.MULTILINE)
    return [link for link in links if followed is not (link[0].startswith("file:") and link[2].startswith("http"))]


def _wheels(said: str) -> Dict[str, WheelLink]:
    """A wheel of each version that pip's debug output lists, without URLs with credentials, which pip does not print.

    The hash stands in the fragment of a URL, or, where the page of the index is JSON (PEP 691), in that page alone.
    """
    links: Dict[str, List[WheelLink]] = {}
    for url, fragment, page, version in _links(said):
        if url.endswith(".whl") and "****" not in url:
            digest = re.search(r"\bsha256=([0-9a-f]{64})\b", fragment)
            links.setdefault(version, []).append(WheelLink(url, "" if "****" in page else page, digest[1] if digest else ""))
    return {version: min(wheels, key=lambda wheel: _platform(wheel.url)) for version, wheels in links.items()}


def _others(said: str) -> FrozenSet[str]:
    """The versions, as PEP 440 normalises them, of the wheels for other Pythons or platforms that pip's debug output lists."""
    wheels = re.findall(r"^ *Skipping link: none of the wheel's tags .*/[^-/\s]+-([^-/\s]+)-\S+\.whl\b", said, re.MULTILINE)
    return frozenset(canonical(text) for text in map(unquote, set(wheels)) if is_version(text))


def _platform(url: str) -> int:
    """The index of a wheel's platform in `_PLATFORMS`."""
    tag = url.rpartition("-")[2]
    return next((number for number, each in enumerate(_PLATFORMS) if tag.startswith(each[:8])), len(_PLATFORMS))


def _reason(said: str) -> str:
    """The line of pip's output with the reason, without parts that differ from run to run."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    failed = re.findall(r"^(?:\w+\.)*(\w+: .+)", said.partition("ERROR: Exception:")[2], re.MULTILINE)  # pip's own traceback
    telling = telling or failed or [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    noise = r"^(WARNING|ERROR): |Retrying .*? after |<[^>]*\bat 0x\w+>:? ?|[^ ']*/pip-[^/]+/|(?<=being ignored)\. If this .*"
    line = re.sub(noise, "", telling[-1])
    return line if len(line) <= 200 else line[:197] + "..."


def _hint(said: str) -> str:
    untrusted = re.search(r"The repository located at (\S+) is not a trusted or secure host", said)
    if untrusted:
        return f"give pip an https:// URL of it, or trust the host: pip config set global.trusted-host {untrusted[1]}"
    offline = re.search(r"connection broken by|Could not fetch URL|Retrying|Max retries exceeded", said)
    return "is there a network, and a proxy or an index that pip has to be told of? see: pip config list" if offline else ""
