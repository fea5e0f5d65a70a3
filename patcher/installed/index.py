"""The releases of the package index and their wheels, as pip finds them: told what the user has told pip and uv.

pip calls these parts of itself internal. They are the same from pip 22.0 to 26.3; a pip in which they are not is named.
"""

from __future__ import annotations

import hashlib
import io
import logging
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
from typing import (
    IO,
    AbstractSet,
    Any,
    Callable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from patcher.errors import SitepatchError
from patcher.installed.remote import LARGE, open_parts
from patcher.installed.versions import canonical, is_version
from patcher.message import Message
from patcher.system.reading import open_file
from patcher.text.listed import normalized

_PYPI = "https://pypi.org/simple"
_OTHER_PIP = Message(
    "expected pip 22.0 to 26.3: {executable} -m pip install --upgrade pip",
    executable=sys.executable,
)


class NoPip(SitepatchError):
    """There is no usable pip; nothing can be fetched at all."""


class _Log(logging.Handler):
    """What pip says, by thread, and nobody else hears."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[int | None, list[str]] = {}
        self._logger = logging.getLogger("pip")
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False
        self._logger.addHandler(self)

    def close(self) -> None:
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread in self._lines:
            self._lines[record.thread].append(record.getMessage())

    @contextmanager
    def said(self) -> Iterator[list[str]]:
        """What this thread has pip say from now on."""
        lines = self._lines[threading.get_ident()] = []
        try:
            yield lines
        finally:
            del self._lines[threading.get_ident()]


class _Session(NamedTuple):
    """What makes pip's finders, what sends its requests, the errors that it raises, what it says."""

    finder: Callable[[], Any]
    requests: Any
    errors: tuple[type[BaseException], ...]
    log: _Log


def _start_session() -> _Session:
    """What `pip download` would start with, from the user's settings. Raises NoPip, or SitepatchError if it refuses them."""
    said = io.StringIO()
    try:
        errors = (import_module("pip._internal.exceptions").PipError, OSError, ValueError)
        with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what pip says of its own parts is not the user's
            command = import_module("pip._internal.commands").create_command("download")
            options, _ = command.parse_args(["--no-cache-dir"])
            _add_uv(options, os.environ)
            session = command._build_session(options)
        # a keyring is asked, nobody at a terminal
        session.auth._prompt_for_password = lambda netloc: (
            None,
            None,
            False,
        )
        finder = partial(
            command._build_package_finder, options, session, ignore_requires_python=True
        )
        return _Session(finder, session, errors, _Log())
    except SystemExit:
        line = said.getvalue().strip().split("\n")[-1]
        raise SitepatchError(
            "pip refuses its settings: {line}", "see: pip config list", line=line
        ) from None
    except (ImportError, AttributeError, TypeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pip":
            hint = "releases are fetched with pip: {executable} -m ensurepip, or in a uv environment: uv pip install pip"
            raise NoPip("{executable} has no pip", hint, executable=sys.executable) from None
        raise NoPip("this pip cannot fetch releases: {error}", _OTHER_PIP, error=error) from None


def _add_uv(options: Any, environ: Mapping[str, str]) -> None:
    """Add to pip's options what uv's variables say of indexes; uv's default index takes the place of PyPI."""
    default, *_ = [
        *_uv_indexes(environ, "UV_DEFAULT_INDEX"),
        *_uv_indexes(environ, "UV_INDEX_URL"),
        "",
    ]
    if default and options.index_url == _PYPI:
        options.index_url, default = default, ""
    indexes = [
        *_uv_indexes(environ, "UV_INDEX"),
        *_uv_indexes(environ, "UV_EXTRA_INDEX_URL"),
        default,
    ]
    options.extra_index_urls = [*options.extra_index_urls, *filter(None, indexes)]
    options.find_links = [
        *options.find_links,
        *filter(None, environ.get("UV_FIND_LINKS", "").split(",")),
    ]
    options.trusted_hosts = [*options.trusted_hosts, *environ.get("UV_INSECURE_HOST", "").split()]
    options.client_cert = options.client_cert or environ.get("SSL_CLIENT_CERT")


def _uv_indexes(environ: Mapping[str, str], variable: str) -> Iterator[str]:
    """The URLs of `[NAME=]URL ...`, each with the credentials that uv has for its name."""
    for name, url in re.findall(r"(?:([\w.-]+)=)?(\S+)", environ.get(variable, "")):
        prefix = f"UV_INDEX_{re.sub('[^A-Z0-9]', '_', name.upper())}"
        user, password = (
            environ.get(f"{prefix}_{field}", "") for field in ("USERNAME", "PASSWORD")
        )
        scheme, _, place = url.partition("://")
        yield (
            f"{scheme}://{quote(user, '')}:{quote(password, '')}@{place}"
            if name and (user or password)
            else url
        )


_PLATFORMS = ("any", "macosx", "manylinux", "linux", "musllinux")
"""How platforms begin whose wheels count, the smallest wheels first (torch for macOS: 80 MB); the sources are the same."""
_WHEEL = re.compile(r"([^-/]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-([^-/]+)\.whl")
_UNREACHED = r"Could not fetch URL (?!.*: \d+ (Client|Server) Error)"
_PASSED_OVER = (
    r"Could not fetch URL (?!.*: 404 Client Error)|Skipping page |The repository located at "
)
"""What pip says of an index that it goes on without; one that does not know a project answers 404."""
AGAIN = Message("fetched again it may be sound; else tell who runs the index")
"""What to do about a file that is not the one that was expected."""
_OFFLINE = Message(
    "is there a network, and a proxy or an index that pip has to be told of? see: pip config list"
)


class WheelLink(NamedTuple):
    """A wheel: its URL, its name, its hash as (algorithm, hex) and the sha256 of its METADATA, "" where the index has none."""

    url: str
    name: str
    digest: tuple[str, str] = ("", "")
    metadata: str = ""

    @property
    def tags(self) -> AbstractSet[str]:
        """`PYTHON-ABI-PLATFORM` that it is made for."""
        pythons, abis, platforms = (
            part.split(".") for part in self.name[: -len(".whl")].split("-")[-3:]
        )
        return {
            f"{python}-{abi}-{platform}"
            for python in pythons
            for abi in abis
            for platform in platforms
        }


class Listing(NamedTuple):
    """The releases in the index that have a source distribution or a wheel, the yanked ones of them, and their wheels.

    `wheels` are by version: of each release those for `_PLATFORMS`, in that order.
    """

    versions: AbstractSet[str] = frozenset()
    yanked: AbstractSet[str] = frozenset()
    wheels: Mapping[str, Sequence[WheelLink]] = {}


class NoWheel(SitepatchError):
    """A release has no wheel for any platform that counts."""


class Pip:
    """pip of the running interpreter, in this process; a context manager that deletes temporary files. For any thread."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="sitepatch-")
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self.stopped = False
        self.writing = threading.Lock()
        """Locked while fetched files are written to the cache: `stop` waits for that."""

    def __enter__(self) -> Pip:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._session:
            self._session.log.close()
        self._scratch.cleanup()

    def stop(self) -> None:
        """Have what is being fetched end with its next bytes; nothing is written to the cache after it."""
        self.stopped = True
        with self.writing:
            pass

    def listing(self, distribution: str) -> Listing:
        """The releases of a distribution, for all Pythons.

        Raises:
            NoPip: pip is not there or too old.
            SitepatchError: pip could not reach its index.
        """
        pip = self._started()
        finder = pip.finder()
        finder.get_install_candidate = partial(_candidate, finder.get_install_candidate)
        with pip.log.said() as said:
            try:
                candidates = finder.find_all_candidates(distribution)
                problem = [
                    line
                    for line in said
                    if re.search(_UNREACHED if candidates else _PASSED_OVER, line)
                ]
            except pip.errors as error:
                problem = [f"{type(error).__name__}: {error}"]
        if problem:
            template, hint = (
                "pip could not list the releases of {distribution}: {reason}",
                _hint("\n".join([*said, *problem])),
            )
            raise SitepatchError(
                template, hint, distribution=distribution, reason=_reason(problem[-1])
            )
        return _listing(candidates)

    def open(self, wheel: WheelLink, *, whole: bool = False) -> IO[bytes]:
        """A wheel; of a large one `Parts`, where its server gives parts and not the `whole` is asked for.

        Raises:
            NoPip: pip is not there or too old.
            SitepatchError: it cannot be fetched, or is not the file that the index lists.
        """
        if wheel.url.startswith("file:"):
            return self.save(wheel).open("rb")
        with self._answer(wheel.url, "" if whole else "0-0") as answer:
            size = re.fullmatch(r"bytes 0-0/(\d+)", answer.headers.get("Content-Range") or "")
            if whole or answer.status_code == 200:
                path = self._saved(wheel, answer)
                file = path.open("rb")
                path.unlink()
                return file
            next(answer.iter_content(1), b"")  # then its connection is free for the next request
        if size and int(size[1]) >= LARGE:
            with suppress(SitepatchError):
                return open_parts(partial(self._part, wheel.url, int(size[1])), int(size[1]))
        return self.open(wheel, whole=True)

    def save(self, wheel: WheelLink) -> Path:
        """A whole wheel as a file of its name, which is deleted when this object is left. Raises as `open`."""
        if wheel.url.startswith("file:"):
            path = Path(url2pathname(urlsplit(wheel.url).path))
            try:
                return _checked(wheel, path)
            except OSError as error:
                raise SitepatchError(f"{path}: {error.strerror}") from None
        with self._answer(wheel.url) as answer:
            return self._saved(wheel, answer)

    def _started(self) -> _Session:
        with self._lock:
            if self._session is None:
                self._session = _start_session()
            return self._session

    @contextmanager
    def _answer(self, url: str, part: str = "") -> Iterator[Any]:
        """The answer of a server, of which nothing was read yet."""
        pip, headers = self._started(), {"Accept-Encoding": "identity"}
        if part:
            headers["Range"] = f"bytes={part}"
        try:
            with pip.requests.get(url, headers=headers, stream=True) as answer:
                yield answer
        except pip.errors as error:
            raise SitepatchError(
                "pip could not fetch it: {reason}", _hint(str(error)), reason=_reason(str(error))
            ) from None

    def _saved(self, wheel: WheelLink, answer: Any) -> Path:
        if answer.status_code != 200:
            problem = "pip could not fetch it: {answer.status_code} {answer.reason} for {name}"
            raise SitepatchError(problem, _OFFLINE, answer=answer, name=wheel.name)
        path = Path(tempfile.mkdtemp(dir=self._scratch.name)) / wheel.name
        with path.open("xb") as file:
            for chunk in answer.iter_content(1 << 20):
                if self.stopped:
                    raise SitepatchError("interrupted")
                file.write(chunk)
        return _checked(wheel, path)

    def _part(self, url: str, size: int, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop` of the `size` at a URL. Raises SitepatchError if the server sends anything else."""
        part, data = f"{start}-{stop - 1}", bytearray()
        with self._answer(url, part) as answer:
            sent = answer.headers.get("Content-Range")
            if answer.status_code == 206 and sent == f"bytes {part}/{size}":
                for chunk in answer.iter_content(1 << 16):
                    data += chunk
                    if len(data) >= stop - start or self.stopped:
                        break
        if len(data) != stop - start:
            problem = "found {number} bytes of the part {part} ({code}, {sent})"
            raise SitepatchError(
                problem, number=len(data), part=part, code=answer.status_code, sent=sent
            )
        return bytes(data)


def _candidate(ordinary: Callable[[Any, Any], Any], evaluator: Any, link: Any) -> Any:
    """What pip takes, and every wheel for `_PLATFORMS`; nothing that a page of the web says is a file of this machine."""
    if link.url.startswith("file:") and str(link.comes_from).startswith("http"):
        return None
    wheel = _WHEEL.fullmatch(link.filename)
    if not wheel:
        # before 24.1 pip takes any text for a version, as joblib's first source distributions have; others raise
        with suppress(ValueError):
            candidate = ordinary(evaluator, link)
            if candidate and is_version(str(candidate.version)):
                return SimpleNamespace(link=link, version=str(candidate.version), rank=-1)
        return None
    ranks = [rank for rank, platform in enumerate(_PLATFORMS) if wheel[3].startswith(platform)]
    if (
        not ranks
        or normalized(wheel[1]) != normalized(evaluator.project_name)
        or not is_version(wheel[2])
    ):
        return None
    return SimpleNamespace(link=link, version=canonical(wheel[2]), rank=ranks[0])


def _listing(candidates: Sequence[Any]) -> Listing:
    wheels: dict[str, list[WheelLink]] = {}
    for candidate in sorted(
        candidates, key=lambda candidate: (candidate.rank, candidate.link.filename)
    ):
        if candidate.rank >= 0:
            wheels.setdefault(candidate.version, []).append(_wheel(candidate.link))
    versions = frozenset(candidate.version for candidate in candidates)
    current = {
        candidate.version for candidate in candidates if candidate.link.yanked_reason is None
    }
    return Listing(versions, versions - current, wheels)


def _wheel(link: Any) -> WheelLink:
    metadata = getattr(link, "metadata_file_data", None)  # since pip 23.2
    sha256 = (metadata.hashes or {}).get("sha256", "") if metadata else ""
    return WheelLink(
        link.url_without_fragment, link.filename, (link.hash_name or "", link.hash or ""), sha256
    )


def _checked(wheel: WheelLink, path: Path) -> Path:
    """The path of a whole wheel. Raises SitepatchError where it has not the hash that the index gives."""
    algorithm, expected = wheel.digest
    digest = hashlib.new(algorithm or "sha256")
    with os.fdopen(open_file(str(path)), "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b"") if expected else ():
            digest.update(chunk)
    if expected and digest.hexdigest() != expected:
        problem = "{name}: is not the file that its index lists (another {algorithm})"
        raise SitepatchError(problem, AGAIN, name=wheel.name, algorithm=algorithm)
    return path


def _reason(line: str) -> str:
    """What pip says, without parts that differ from run to run, in one line."""
    noise = r"Retrying .*? after |<[^>]*\bat 0x\w+>:? ?|[^ ']*/pip-[^/]+/|(?<=being ignored)\. If this .*"
    line = re.sub(noise, "", " ".join(line.split()))
    return line if len(line) <= 200 else line[:197] + "..."


def _hint(said: str) -> str:
    untrusted = re.search(r"The repository located at (\S+) is not a trusted or secure host", said)
    if untrusted:
        template = "give pip an https:// URL of it, or trust the host: pip config set global.trusted-host {host}"
        return Message(template, host=untrusted[1])
    offline = re.search(
        r"onnection|Could not fetch URL|Retrying|Max retries exceeded|timed out", said
    )
    return _OFFLINE if offline else ""
