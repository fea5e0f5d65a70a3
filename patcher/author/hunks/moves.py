"""Where further releases have code that has moved to another file of its package."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence

from patcher.author.hunks.checker import holds, replaces_more
from patcher.author.same_code import readable
from patcher.engine.source import definition_lines
from patcher.model import HunkText
from patcher.record import Record

Files = Mapping[str, bytes]
"""Python files by path."""


def _no_files() -> Files:
    return {}


def _no_file(path: str) -> bytes | None:
    return None


class OtherFiles(Record):
    """Reads the files to which code may have moved; those that are not needed are not read.

    Attributes:
        rest: of each further release, in their order, reads the other files of its package.
        here: the text of another file in the release of the edit, None where it has none.
    """

    rest: Sequence[Callable[[], Files]] = ()
    here: Callable[[str], bytes | None] = _no_file


NOWHERE = OtherFiles()


class Moves(Record):
    """The other files that have the code of a file in further releases.

    Attributes:
        of_file: those in which all hunks hold.
        of_hunks: by the index of a hunk, those in which it holds although not all others do.
    """

    of_file: tuple[str, ...]
    of_hunks: Mapping[int, tuple[str, ...]]


def find_moves(
    path: str,
    hunks: Sequence[HunkText],
    others: Sequence[Files],
    elsewhere: OtherFiles,
) -> Moves:
    """Find where further releases have code that is not in its file any more.

    It moved where the file is gone, or the scope of a hunk is, and one other file alone has it; so
    did the code of a module where the file has none of it. A file that has it in the release of the
    edit, too, is no place to which it moved.

    Args:
        path: the file.
        hunks: all hunks for it.
        others: of each further release the files by path.
        elsewhere: reads their other ones.
    """
    of_file: dict[str, None] = {}
    of_hunks: dict[int, dict[str, None]] = {}
    for number, texts in enumerate(others):
        missing = _missing(texts.get(path), hunks)
        if not missing and not _lacks_all(texts[path], hunks):
            continue
        read = elsewhere.rest[number] if number < len(elsewhere.rest) else _no_files
        candidates = {**read(), **texts}
        candidates.pop(path, None)
        home = _home(hunks, candidates, elsewhere)
        if home:
            of_file[home] = None
            continue
        if path not in texts:
            continue
        for index in missing:
            home = _home([hunks[index]], candidates, elsewhere)
            if home:
                of_hunks.setdefault(index, {})[home] = None

    moved = {index: tuple(homes) for index, homes in of_hunks.items()}
    return Moves(tuple(of_file), moved)


def _missing(text: bytes | None, hunks: Sequence[HunkText]) -> list[int]:
    """The hunks, by index, whose scope a file does not have; all of them without a file."""
    if text is None:
        return list(range(len(hunks)))
    source = readable(text)
    if source is None:
        return []
    missing: list[int] = []
    for index, hunk in enumerate(hunks):
        is_needed = not hunk.flags.when_present
        if is_needed and not _has_scope(text, hunk) and not holds(source, hunk):
            missing.append(index)
    return missing


def _lacks_all(text: bytes, hunks: Sequence[HunkText]) -> bool:
    """Whether a file has none of the code of a module that hunks are for."""
    for hunk in hunks:
        if any(form.scope != "<module>" for form in hunk.forms):
            return False
    source = readable(text)
    if source is None or not hunks:
        return False
    return not any(holds(source, hunk) for hunk in hunks)


def _has_scope(text: bytes, hunk: HunkText) -> bool:
    """Whether a file has a definition that a form of a hunk is for."""
    scopes = [form.scope for form in hunk.forms]
    return "<module>" in scopes or any(definition_lines(text, scope) for scope in scopes)


def _home(hunks: Sequence[HunkText], texts: Files, elsewhere: OtherFiles) -> str:
    """The one file in which all these hunks hold, "" for none or several."""
    homes = [path for path, text in texts.items() if _all_hold(text, hunks)]
    if len(homes) != 1:
        return ""
    here = elsewhere.here(homes[0])
    if here is not None and _all_hold(here, hunks):
        return ""
    return homes[0]


def _all_hold(text: bytes, hunks: Sequence[HunkText]) -> bool:
    if not hunks:
        return False
    names = {hunk.scope.rpartition(".")[2] for hunk in hunks} - {"<module>"}
    for name in names:
        if "*" not in name and name.encode() not in text:
            return False
    source = readable(text)
    if source is None:
        return False
    return all(holds(source, hunk) and not replaces_more(hunk, source) for hunk in hunks)
