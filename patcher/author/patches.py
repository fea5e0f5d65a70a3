"""What `import` is given, files, directories and quilt series, as patches in their order, each with a name of its own."""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.request
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, Iterator, NamedTuple, Sequence
from urllib.parse import urljoin, urlsplit

from patcher.author.diffs.patchfile import Patch, read_patches, read_series
from patcher.errors import Location, SitepatchError, UsageError
from patcher.message import Message
from patcher.system.reading import read_file
from patcher.text.listed import listed

SERIES = "series"
_SUFFIX = re.compile(r"\.(?:patch|diff|mbox|eml|txt)$", re.IGNORECASE)
_PATTERNS = ("*.patch", "*.diff")
_HINT = Message("expected what diff -u, git diff and git format-patch write")
_ADDRESS = Message(
    "GitHub and GitLab have the diff at the address of the commit or request with .diff at its end"
)


class GivenPatch(NamedTuple):
    """A patch, the name of the `.spatch` that is made of it (without the suffix), and `error`, why it cannot be read."""

    name: str
    patch: Patch
    error: UsageError | None = None


def given_patches(
    words: Sequence[str], data: bytes | None = None, digest: str = ""
) -> list[GivenPatch]:
    """The patches in files, in quilt series, in directories and at URLs; with `data` those in it, which the words name.

    `digest` is the sha256 (`sha256:HEX`) of the file at the one URL, "" for any.

    Raises:
        UsageError: none of them can be read, or a directory has none; a hash that is none, or is of no single URL.
        SitepatchError: a URL cannot be fetched, or has another hash.
    """
    if digest and not (
        re.fullmatch("sha256:[0-9a-fA-F]{64}", digest) and len(words) == 1 and is_url(words[0])
    ):
        raise UsageError(
            "--hash {digest}: expected one URL and its sha256:HEX, 64 digits", digest=digest
        )
    given: list[GivenPatch] = []
    names: set[str] = set()
    sources = (
        _of_word(word, digest[len("sha256:") :]) if data is None else _of_text(word, word, data)
        for word in words
    )
    for patch in chain.from_iterable(sources):
        name = re.sub(r"[^A-Za-z0-9._+-]+", "-", _SUFFIX.sub("", patch.name)).strip("-.") or "patch"
        numbered = (f"{name}-{number}" for number in count(2))
        name = next(other for other in chain((name,), numbered) if other not in names)
        names.add(name)
        given.append(patch._replace(name=name))
    errors = [patch.error for patch in given if patch.error]
    if len(errors) == len(given):
        raise UsageError.joined(errors, next((error.hint for error in errors if error.hint), ""))
    return given


def _of_word(word: str, digest: str) -> Iterator[GivenPatch]:
    """The patches of a file, a `series`, or a directory that has one or patches alone."""
    path = Path(word)
    if is_url(word):
        yield from _of_url(word, digest)
        return
    if path.is_dir():
        homes = [path / home / SERIES for home in ("", "patches", "debian/patches")]
        path = next((home for home in homes if home.is_file()), path)
    if path.is_dir():
        files = sorted(file for pattern in _PATTERNS for file in path.glob(pattern))
        if not files:
            what = Message(
                "found neither a quilt series nor {patterns} in this directory",
                patterns=listed(_PATTERNS, "or"),
            )
            raise UsageError.at(Location(word), what, "name the files")
        for file in files:
            yield from _of_file(file, file.name)
    elif path.name == SERIES:
        yield from _of_series(path)
    else:
        yield from _of_file(path, path.name)


def _of_url(url: str, digest: str) -> Iterator[GivenPatch]:
    """The patches at a URL; their origin says which one it is, what was there, and when."""
    data = download(url, digest)
    source = f"{url} (sha256:{sha256(data).hexdigest()}, fetched {time.strftime('%Y-%m-%d', time.gmtime())})"
    for given in _of_text(url, urlsplit(url).path.rstrip("/").rpartition("/")[2], data):
        origin = ", ".join(filter(None, (given.patch.provenance.get("origin", ""), source)))
        yield given._replace(
            patch=given.patch._replace(provenance={**given.patch.provenance, "origin": origin})
        )


def _of_series(path: Path) -> Iterator[GivenPatch]:
    names, problems = read_series(_bytes(path).decode("utf-8", "replace"))
    if not names:
        raise UsageError.at(Location(str(path)), "it lists no patch")
    reversed_ = {problem.text.split()[0]: problem for problem in problems}
    for name in names:
        if name in reversed_:
            problem = reversed_[name]
            yield GivenPatch(
                name, _NOTHING, UsageError.at(Location(str(path), problem.line), problem.text)
            )
        else:
            yield from _of_file(path.parent / name, name)


def _of_file(path: Path, name: str) -> Iterator[GivenPatch]:
    try:
        data = _bytes(path)
    except UsageError as error:
        yield GivenPatch(name, _NOTHING, error)
    else:
        yield from _of_text(str(path), name, data)


def _of_text(source: str, name: str, data: bytes) -> Iterator[GivenPatch]:
    """The patches of a file; of several, as in a mailbox, each is named by its number and its subject, as git does."""
    patches = [patch for patch in read_patches(data)[0] if patch.sections or patch.problems]
    if not patches:
        page = re.match(rb"\s*<(?:!doctype|html)", data, re.IGNORECASE)
        problem = Message("found no unified diff in it" if data else "it is empty")
        problem = Message("it is a web page, and no diff") if page else problem
        yield GivenPatch(
            name, _NOTHING, UsageError.at(Location(source), problem, _ADDRESS if page else _HINT)
        )
    for number, patch in enumerate(patches, 1):
        subject = re.sub(r"[^a-z0-9]+", "-", patch.subject.lower()).strip("-")[:52].rstrip("-")
        errors = [
            UsageError.at(Location(source, problem.line), problem.text)
            for problem in patch.problems
        ]
        error = UsageError.joined(errors, _HINT) if errors else None
        yield GivenPatch(name if len(patches) == 1 else f"{number:04}-{subject}", patch, error)


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise UsageError.at(
            Location(str(path)),
            "found no readable file ({error}), expected a diff",
            error=error.strerror,
        ) from None


_NOTHING = Patch("", "", {}, ())


_SCHEMES = ("http", "https")
_MOST = 16 << 20  # bytes of a diff
_TIMEOUT = 30.0  # seconds


class _Redirects(urllib.request.HTTPRedirectHandler):
    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
    ) -> Any:
        target = urljoin(req.full_url, headers.get("Location") or "")
        if not is_url(target):
            raise ValueError(
                Message("it redirects to {target}, expected a URL of http or https", target=target)
            )
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def is_url(address: str) -> bool:
    """Whether a text is a URL of http or https."""
    return urlsplit(address).scheme.lower() in _SCHEMES and "://" in address


def download(url: str, digest: str = "") -> bytes:
    """The file at a URL.

    Args:
        url: one of http or https.
        digest: the sha256 (hex) that it must have, "" for any.

    Raises:
        SitepatchError: it cannot be had, is too large, or has another hash.
    """
    try:
        with urllib.request.build_opener(_Redirects).open(url, timeout=_TIMEOUT) as answer:
            data: bytes = answer.read(_MOST + 1)
            expected = answer.headers.get("Content-Length")
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        hint = _ADDRESS if isinstance(error, urllib.error.HTTPError) else ""
        raise SitepatchError(
            "{url}: cannot be fetched: {error}", hint, url=url, error=error
        ) from None
    if len(data) > _MOST:
        raise SitepatchError(
            "{url}: found more than {limit:,} bytes, expected a diff", url=url, limit=_MOST
        )
    if expected and expected.isdigit() and len(data) != int(expected):
        template = "{url}: found {number:,} bytes, expected {length:,}"
        raise SitepatchError(
            template, "run it again", url=url, number=len(data), length=int(expected)
        )
    fetched = sha256(data).hexdigest()
    if digest and fetched != digest.lower():
        template = "{url}: found sha256:{there}, expected sha256:{digest}"
        raise SitepatchError(
            template, "what is there has changed: look at it", url=url, there=fetched, digest=digest
        )
    return data
