"""The releases of the package index and their wheels, as pip finds them.

pip is told what the user has told it and uv. It calls these parts of itself internal; they are the
same from pip 22.0 to 26.3, and a pip in which they are not is named.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, AbstractSet, Any, Callable, Iterator, Mapping, Sequence
from urllib.parse import quote, unquote, urlsplit

from patcher.errors import SitepatchError
from patcher.installed.pip_log import PipLog
from patcher.installed.remote import LARGE, open_parts
from patcher.installed.versions import canonical, is_version
from patcher.message import Message
from patcher.record import Record
from patcher.system.reading import open_file
from patcher.text.listed import normalized

if TYPE_CHECKING:
    from patcher.installed.pip_log import PipLog

_PYPI = "https://pypi.org/simple"
_OTHER_PIP = Message(
    "expected pip 22.0 to 26.3: {executable} -m pip install --upgrade pip",
    executable=sys.executable,
)
_OFFLINE = Message(
    "is there a network, and a proxy or an index that pip has to be told of? see: pip config list; "
    "what is installed, or was fetched before, needs none"
)
AGAIN = Message("fetched again it may be sound; else tell who runs the index")
"""What to do about a file that is not the one that was expected."""


class NoPip(SitepatchError):
    """There is no usable pip; nothing can be fetched at all."""


class NoWheel(SitepatchError):
    """A release has no wheel for any platform that counts."""


# pip's session --------------------------------------------------------------------------------
class _Session(Record):
    """What makes pip's finders, sends its requests and keeps its log, and the errors it raises."""

    finder: Callable[[], Any]
    requests: Any
    errors: tuple[type[BaseException], ...]
    log: PipLog


def _start_session() -> _Session:
    """What `pip download` would start with, from the user's settings.

    Raises:
        NoPip: there is none, or one that has not these parts.
        SitepatchError: it refuses the settings.
    """
    output = io.StringIO()
    try:
        return _session(output)
    except SystemExit:
        line = output.getvalue().strip().split("\n")[-1]
        raise SitepatchError(
            "pip refuses its settings: {line}", "see: pip config list", line=line
        ) from None
    except ModuleNotFoundError as error:
        if error.name != "pip":
            raise _unusable(error) from None
        raise NoPip(
            "{executable} has no pip",
            "releases are fetched with pip: {executable} -m ensurepip, "
            "or in a uv environment: uv pip install pip",
            executable=sys.executable,
        ) from None
    except (ImportError, AttributeError, TypeError) as error:
        raise _unusable(error) from None


def _unusable(error: Exception) -> NoPip:
    return NoPip("this pip cannot fetch releases: {error}", _OTHER_PIP, error=error)


def _session(output: IO[str]) -> _Session:
    """The session of a `pip download`; what it prints goes to `output`."""
    errors = (import_module("pip._internal.exceptions").PipError, OSError, ValueError)
    with redirect_stdout(output), redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pip's warnings about itself are not the user's
        command = import_module("pip._internal.commands").create_command("download")
        options, _ = command.parse_args(["--no-cache-dir"])
        _add_uv(options, os.environ)
        session = command._build_session(options)
    # a keyring is asked, nobody at a terminal
    session.auth._prompt_for_password = lambda netloc: (None, None, False)
    finder = partial(command._build_package_finder, options, session, ignore_requires_python=True)
    return _Session(finder=finder, requests=session, errors=errors, log=PipLog())


def _add_uv(options: Any, environ: Mapping[str, str]) -> None:
    """Add to pip's options what uv's variables say; uv's default index takes the place of PyPI."""
    defaults = [
        *_uv_indexes(environ, "UV_DEFAULT_INDEX"),
        *_uv_indexes(environ, "UV_INDEX_URL"),
    ]
    indexes = [
        *_uv_indexes(environ, "UV_INDEX"),
        *_uv_indexes(environ, "UV_EXTRA_INDEX_URL"),
    ]
    if defaults and options.index_url == _PYPI:
        options.index_url = defaults[0]
    elif defaults:
        indexes.append(defaults[0])
    links = environ.get("UV_FIND_LINKS", "").split(",")
    hosts = environ.get("UV_INSECURE_HOST", "").split()
    options.extra_index_urls = [*options.extra_index_urls, *indexes]
    options.find_links = [*options.find_links, *filter(None, links)]
    options.trusted_hosts = [*options.trusted_hosts, *hosts]
    options.client_cert = options.client_cert or environ.get("SSL_CLIENT_CERT")


def _uv_indexes(environ: Mapping[str, str], variable: str) -> Iterator[str]:
    """The URLs of `[NAME=]URL ...`, each with the credentials that uv has for its name."""
    for name, url in re.findall(r"(?:([\w.-]+)=)?(\S+)", environ.get(variable, "")):
        prefix = f"UV_INDEX_{re.sub('[^A-Z0-9]', '_', name.upper())}"
        user = quote(environ.get(f"{prefix}_USERNAME", ""), "")
        password = quote(environ.get(f"{prefix}_PASSWORD", ""), "")
        if name and (user or password):
            scheme, _, place = url.partition("://")
            yield f"{scheme}://{user}:{password}@{place}"
        else:
            yield url


# what the index lists -------------------------------------------------------------------------
_PLATFORMS = ("any", "macosx", "manylinux", "linux", "musllinux")
"""How platforms begin whose wheels count, the smallest wheels first (torch for macOS: 80 MB).

Their sources are the same.
"""
_WHEEL = re.compile(r"([^-/]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-([^-/]+)\.whl")
_SUFFIX = ".whl"


class WheelLink(Record):
    """A wheel: its URL, its name, its hash as (algorithm, hex) and the sha256 of its METADATA.

    Hashes are empty where the index has none.
    """

    url: str
    name: str
    digest: tuple[str, str] = ("", "")
    metadata: str = ""

    @property
    def tags(self) -> AbstractSet[str]:
        """`PYTHON-ABI-PLATFORM` that it is made for."""
        pythons, abis, platforms = self.name[: -len(_SUFFIX)].split("-")[-3:]
        tags = set()
        for python in pythons.split("."):
            for abi in abis.split("."):
                for platform in platforms.split("."):
                    tags.add(f"{python}-{abi}-{platform}")
        return tags


class Listing(Record):
    """The releases of a distribution that have a source distribution or a wheel.

    `yanked` are those of them that were; `wheels` are by version: of each release those for
    `_PLATFORMS`, in that order.
    """

    versions: AbstractSet[str] = frozenset()
    yanked: AbstractSet[str] = frozenset()
    wheels: Mapping[str, Sequence[WheelLink]] = {}


def _candidate(ordinary: Callable[[Any, Any], Any], evaluator: Any, link: Any) -> Any:
    """What pip would take, and every wheel for `_PLATFORMS`; None for any other link.

    Nothing that a web page says is a file of this machine.
    """
    if link.url.startswith("file:") and str(link.comes_from).startswith("http"):
        return None
    wheel = _WHEEL.fullmatch(link.filename)
    if wheel:
        distribution, version, platform = wheel.groups()
        rank = _rank(platform)
        is_same = normalized(distribution) == normalized(evaluator.project_name)
        if rank is None or not is_same or not is_version(version):
            return None
        return SimpleNamespace(link=link, version=canonical(version), rank=rank)

    # before 24.1 pip takes any text for a version, as joblib's first source distributions have;
    # others raise
    with suppress(ValueError):
        candidate = ordinary(evaluator, link)
        if candidate and is_version(str(candidate.version)):
            return SimpleNamespace(link=link, version=str(candidate.version), rank=-1)
    return None


def _rank(platform: str) -> int | None:
    """The place of a wheel's platform in `_PLATFORMS`; None where it does not count."""
    for rank, beginning in enumerate(_PLATFORMS):
        if platform.startswith(beginning):
            return rank
    return None


def _listing(candidates: Sequence[Any]) -> Listing:
    wheels: dict[str, list[WheelLink]] = {}
    for candidate in sorted(candidates, key=lambda each: (each.rank, each.link.filename)):
        if candidate.rank >= 0:
            wheels.setdefault(candidate.version, []).append(_wheel(candidate.link))
    versions = set()
    sound = set()
    for candidate in candidates:
        versions.add(candidate.version)
        if candidate.link.yanked_reason is None:
            sound.add(candidate.version)
    return Listing(versions, yanked=versions - sound, wheels=wheels)


def _wheel(link: Any) -> WheelLink:
    metadata = getattr(link, "metadata_file_data", None)  # since pip 23.2
    hashes = (metadata.hashes if metadata else None) or {}
    return WheelLink(
        url=link.url_without_fragment,
        name=link.filename,
        digest=(link.hash_name or "", link.hash or ""),
        metadata=hashes.get("sha256", ""),
    )


# fetching -------------------------------------------------------------------------------------
class Pip:
    """pip of the running interpreter, in this process; for any thread.

    A context manager that deletes temporary files.
    """

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="sitepatch-")
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self.stopped = False
        self.writing = threading.Lock()
        """Locked while fetched files are written to the cache, or begun: `stop` waits for that."""

    def __enter__(self) -> Pip:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._session:
            self._session.log.close()
        self._scratch.cleanup()

    def stop(self) -> None:
        """Have fetching end with the next bytes; no file is begun after it."""
        self.stopped = True
        with self.writing:
            pass

    def check_running(self) -> None:
        """Raise SitepatchError where fetching was stopped."""
        if self.stopped:
            raise SitepatchError("interrupted")

    def listing(self, distribution: str) -> Listing:
        """The releases of a distribution, for all Pythons.

        Raises:
            NoPip: pip is not there or too old.
            SitepatchError: pip could not reach its index.
        """
        session = self._started()
        finder = session.finder()
        finder.get_install_candidate = partial(_candidate, finder.get_install_candidate)
        with session.log.recorded() as lines:
            try:
                candidates = finder.find_all_candidates(distribution)
                problem = _last_problem(lines, has_candidates=bool(candidates))
            except session.errors as error:
                problem = f"{type(error).__name__}: {error}"
        if problem:
            raise SitepatchError(
                "pip could not list the releases of {distribution}: {reason}",
                _hint("\n".join([*lines, problem])),
                distribution=distribution,
                reason=_reason(problem),
            )
        return _listing(candidates)

    def open(self, wheel: WheelLink, *, whole: bool = False) -> IO[bytes]:
        """A wheel as an open file; of a large one `open_parts`, where its server gives parts.

        Args:
            wheel: which one.
            whole: do not ask for parts.

        Raises:
            NoPip: pip is not there or too old.
            SitepatchError: it cannot be fetched, or is not the file that the index lists.
        """
        if wheel.url.startswith("file:"):
            return self.save(wheel).open("rb")
        with self._answer(wheel.url, "" if whole else "0-0") as answer:
            if whole or answer.status_code == 200:
                path = self._saved(wheel, answer)
                file = path.open("rb")
                path.unlink()
                return file
            next(answer.iter_content(1), b"")  # then its connection is free for the next request

        found = re.fullmatch(r"bytes 0-0/(\d+)", answer.headers.get("Content-Range") or "")
        size = int(found[1]) if found else 0
        if size >= LARGE:
            with suppress(SitepatchError):
                return open_parts(partial(self._part, wheel.url, size), size)
        return self.open(wheel, whole=True)

    def save(self, wheel: WheelLink) -> Path:
        """A whole wheel as a file of its name, deleted when this object is left.

        Raises as `open`.
        """
        if not wheel.url.startswith("file:"):
            with self._answer(wheel.url) as answer:
                return self._saved(wheel, answer)
        path = Path(unquote(urlsplit(wheel.url).path))
        try:
            return _checked(wheel, path)
        except OSError as error:
            raise SitepatchError(f"{path}: {error.strerror}") from None

    def _started(self) -> _Session:
        with self._lock:
            if self._session is None:
                self._session = _start_session()
            return self._session

    @contextmanager
    def _answer(self, url: str, part: str = "") -> Iterator[Any]:
        """The answer of a server, of which nothing was read yet."""
        session = self._started()
        headers = {"Accept-Encoding": "identity"}
        if part:
            headers["Range"] = f"bytes={part}"
        try:
            with session.requests.get(url, headers=headers, stream=True) as answer:
                yield answer
        except session.errors as error:
            raise SitepatchError(
                "pip could not fetch it: {reason}", _hint(str(error)), reason=_reason(str(error))
            ) from None

    def _saved(self, wheel: WheelLink, answer: Any) -> Path:
        if answer.status_code != 200:
            raise SitepatchError(
                "pip could not fetch it: {status_code} {reason} for {name}",
                _OFFLINE,
                status_code=answer.status_code,
                reason=answer.reason,
                name=wheel.name,
            )
        path, file = self._begun(wheel.name)
        with file:
            for chunk in answer.iter_content(1 << 20):
                self.check_running()
                file.write(chunk)
        return _checked(wheel, path)

    def _begun(self, name: str) -> tuple[Path, IO[bytes]]:
        """A temporary file of that name, and open; none once fetching is stopped."""
        with self.writing:
            self.check_running()
            path = Path(tempfile.mkdtemp(dir=self._scratch.name)) / name
            return path, path.open("xb")

    def _part(self, url: str, size: int, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop` of the `size` at a URL.

        Raises:
            SitepatchError: the server sends anything else.
        """
        part = f"{start}-{stop - 1}"
        data = bytearray()
        with self._answer(url, part) as answer:
            content_range = answer.headers.get("Content-Range")
            if answer.status_code == 206 and content_range == f"bytes {part}/{size}":
                for chunk in answer.iter_content(1 << 16):
                    data += chunk
                    if len(data) >= stop - start or self.stopped:
                        break
        if len(data) != stop - start:
            raise SitepatchError(
                "found {number} bytes of the part {part} ({code}, {sent})",
                number=len(data),
                part=part,
                code=answer.status_code,
                sent=content_range,
            )
        return bytes(data)


def _checked(wheel: WheelLink, path: Path) -> Path:
    """The path of a whole wheel.

    Raises:
        SitepatchError: it has not the hash that the index gives.
        OSError: it cannot be read.
    """
    algorithm, expected = wheel.digest
    with os.fdopen(open_file(str(path)), "rb") as file:
        if not expected:
            return path
        digest = hashlib.new(algorithm or "sha256")
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    if digest.hexdigest() != expected:
        raise SitepatchError(
            "{name}: is not the file that its index lists (another {algorithm})",
            AGAIN,
            name=wheel.name,
            algorithm=algorithm,
        )
    return path


# pip's log ------------------------------------------------------------------------------------
_UNREACHED = re.compile(r"Could not fetch URL (?!.*: \d+ (Client|Server) Error)")
_SKIPPED = re.compile(
    r"Could not fetch URL (?!.*: 404 Client Error)|Skipping page |The repository located at "
)
"""What pip logs of an index that it goes on without; one that lacks a project answers 404."""
_NOISE = re.compile(
    r"Retrying .*? after |<[^>]*\bat 0x\w+>:? ?|[^ ']*/pip-[^/]+/"
    r"|(?<=being ignored)\. If this .*"
)
"""Parts of its messages that differ from run to run."""
_UNTRUSTED = re.compile(r"The repository located at (\S+) is not a trusted or secure host")
_NO_NETWORK = re.compile(r"onnection|Could not fetch URL|Retrying|Max retries exceeded|timed out")
_LONGEST = 200


def _last_problem(lines: Sequence[str], *, has_candidates: bool) -> str:
    """The last line of pip's log that says why a listing is not all; empty where it is."""
    pattern = _UNREACHED if has_candidates else _SKIPPED
    problems = [line for line in lines if pattern.search(line)]
    return problems[-1] if problems else ""


def _reason(line: str) -> str:
    """What pip says in one line, without what differs from run to run."""
    line = _NOISE.sub("", " ".join(line.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _hint(log: str) -> str:
    untrusted = _UNTRUSTED.search(log)
    if untrusted:
        return Message(
            "give pip an https:// URL of it, "
            "or trust the host: pip config set global.trusted-host {host}",
            host=untrusted[1],
        )
    return _OFFLINE if _NO_NETWORK.search(log) else ""
