"""What `import` is given, files, directories and quilt series, as patches in their order, each with a name of its own."""

from __future__ import annotations

import re
from itertools import chain, count
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from patcher.author.diffs.patchfile import Patch, read_patches, read_series
from patcher.errors import Location, UsageError
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


def given_patches(words: Sequence[str], data: bytes | None = None) -> list[GivenPatch]:
    """The patches in files, in quilt series and in directories; with `data` those in it, which the words name.

    Raises:
        UsageError: none of them can be read, or a directory has none.
    """
    given: list[GivenPatch] = []
    names: set[str] = set()
    sources = (_of_word(word) if data is None else _of_text(word, word, data) for word in words)
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


def _of_word(word: str) -> Iterator[GivenPatch]:
    """The patches of a file, a `series`, or a directory that has one or patches alone."""
    path = Path(word)
    if "://" in word:
        raise UsageError(
            "found a URL, expected files",
            "fetch it first: curl -fsSL URL | sitepatch import - --name NAME",
        )
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
