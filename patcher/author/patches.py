"""What `import` is given as patches in their order, each with a name of its own.

That is files, directories and quilt series.
"""

from __future__ import annotations

import re
from itertools import chain, count
from pathlib import Path
from typing import Iterator, Sequence

from patcher.author.diffs.patchfile import Patch, read_patches, read_series
from patcher.errors import Location, UsageError
from patcher.message import Message
from patcher.record import Record
from patcher.system.reading import read_file
from patcher.text.listed import listed

SERIES = "series"
_SUFFIX = re.compile(r"\.(?:patch|diff|mbox|eml|txt)$", re.IGNORECASE)
_PATTERNS = ("*.patch", "*.diff")
_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE)
_LONGEST_SUBJECT = 52  # characters of it in the name of a patch, as git has them
_NOTHING = Patch("", "", provenance={}, sections=())
_HINT = Message("expected what diff -u, git diff and git format-patch write")
_ADDRESS = Message(
    "GitHub and GitLab have the diff at the address of the commit or request with .diff at its end"
)


class NamedPatch(Record):
    """A patch with a name of its own.

    Attributes:
        name: that of the `.spatch` that is made of it, without the suffix.
        patch: the patch.
        error: why it cannot be read.
    """

    name: str
    patch: Patch
    error: UsageError | None = None


def named_patches(words: Sequence[str], data: bytes | None = None) -> list[NamedPatch]:
    """The patches in files, in quilt series and in directories.

    Args:
        words: their names.
        data: what is in the file of that name, instead of reading it.

    Raises:
        UsageError: none of them can be read, or a directory has none.
    """
    patches: list[NamedPatch] = []
    errors: list[UsageError] = []
    names: set[str] = set()
    for word in words:
        for patch in _of_word(word) if data is None else _of_text(word, word, data=data):
            name = _free_name(patch.name, names)
            names.add(name)
            patches.append(patch._replace(name=name))
            if patch.error:
                errors.append(patch.error)
    if len(errors) == len(patches):
        raise UsageError.joined(errors, next((error.hint for error in errors if error.hint), ""))
    return patches


def _free_name(file: str, names: set[str]) -> str:
    """The name that a patch of this file gets, which no other one has."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", _SUFFIX.sub("", file)).strip("-.") or "patch"
    numbered = (f"{plain}-{number}" for number in count(2))
    return next(name for name in chain((plain,), numbered) if name not in names)


def _of_word(word: str) -> Iterator[NamedPatch]:
    """The patches of a file, a `series`, or a directory that has one or patches alone."""
    if "://" in word:
        hint = Message("fetch it first: curl -fsSL URL | sitepatch import - --name NAME")
        raise UsageError("found a URL, expected files", hint)
    path = Path(word)
    if path.is_dir():
        homes = [path / home / SERIES for home in ("", "patches", "debian/patches")]
        path = next((home for home in homes if home.is_file()), path)
    if path.is_dir():
        files: list[Path] = []
        for pattern in _PATTERNS:
            files += path.glob(pattern)
        if not files:
            text = "found neither a quilt series nor {patterns} in this directory"
            problem = Message(text, patterns=listed(_PATTERNS, "or"))
            raise UsageError.at(Location(word), problem, "name the files")
        for file in sorted(files):
            yield from _of_file(file, file.name)
    elif path.name == SERIES:
        yield from _of_series(path)
    else:
        yield from _of_file(path, path.name)


def _of_series(path: Path) -> Iterator[NamedPatch]:
    names, problems = read_series(_bytes(path).decode("utf-8", "replace"))
    if not names:
        raise UsageError.at(Location(str(path)), "it lists no patch")
    wrong = {problem.text.split()[0]: problem for problem in problems}
    for name in names:
        problem = wrong.get(name)
        if problem:
            where = Location(str(path), problem.line)
            yield NamedPatch(name, _NOTHING, error=UsageError.at(where, problem.text))
        else:
            yield from _of_file(path.parent / name, name)


def _of_file(path: Path, name: str) -> Iterator[NamedPatch]:
    try:
        data = _bytes(path)
    except UsageError as error:
        yield NamedPatch(name, _NOTHING, error=error)
    else:
        yield from _of_text(str(path), name, data=data)


def _of_text(source: str, name: str, data: bytes) -> Iterator[NamedPatch]:
    """The patches of a file.

    Of several, as in a mailbox, each is named by its number and its subject, as git does.
    """
    every, _ = read_patches(data)
    patches = [patch for patch in every if patch.sections or patch.problems]
    if not patches:
        yield NamedPatch(name, _NOTHING, error=_no_diff(source, data))
    for number, patch in enumerate(patches, 1):
        if len(patches) > 1:
            subject = re.sub(r"[^a-z0-9]+", "-", patch.subject.lower()).strip("-")
            name = f"{number:04}-{subject[:_LONGEST_SUBJECT].rstrip('-')}"
        errors: list[UsageError] = []
        for problem in patch.problems:
            errors.append(UsageError.at(Location(source, problem.line), problem.text))
        yield NamedPatch(name, patch, error=UsageError.joined(errors, _HINT) if errors else None)


def _no_diff(source: str, data: bytes) -> UsageError:
    if _PAGE.match(data):
        problem, hint = Message("it is a web page, and no diff"), _ADDRESS
    elif data:
        problem, hint = Message("found no unified diff in it"), _HINT
    else:
        problem, hint = Message("it is empty"), _HINT
    return UsageError.at(Location(source), problem, hint)


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        problem = "found no readable file ({error}), expected a diff"
        raise UsageError.at(Location(str(path)), problem, error=error.strerror) from None
