"""Decoded TOML -> typed values, read strictly: unknown keys, wrong types, missing values; all problems told at once."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Sequence

from patcher.errors import PatchError
from patcher.width import underline

if TYPE_CHECKING:
    from pathlib import Path

TEXT, TEXTS, INTEGER, TABLE = "a string", "a list of strings", "an integer", "a table"
TABLES = "a list of tables"


def tables(name: str) -> str:
    """The type of a list of tables, with the way in which TOML writes it."""
    return f"{TABLES}, written [[{name}]]"


class Reader:
    """Takes typed values out of decoded TOML and collects what is wrong with it, one line each.

    Args:
        origin: the file, for messages.
        keys: the keys of every kind of table and the type of each value ("" where another key decides).
        required: those that must be there.
    """

    def __init__(self, origin: Path, keys: Mapping[str, Mapping[str, str]], required: Mapping[str, Sequence[str]]) -> None:
        self.origin = origin
        self.problems: List[str] = []
        self._keys, self._required = keys, required

    def wrong(self, where: str, found: str, expected: str) -> None:
        """Add a problem; indices in `where` count from 0, as in JSON."""
        self.problems.append(f"{self.origin}: {where}: found {found}, expected {expected}")

    def fits(self, where: str, value: object, expected: str) -> bool:
        """Whether `value` has the type that `expected` names; each item of a list is judged by itself."""
        if (expected == TEXTS or expected.startswith(TABLES)) and isinstance(value, list):
            item = TEXT if expected == TEXTS else TABLE
            judged = [self.fits(f"{where}[{index}]", each, item) for index, each in enumerate(value)]
            return all(judged)  # after the list, so that every bad item is told and not only the first
        types: Mapping[str, type] = {TEXT: str, INTEGER: int, TABLE: dict, "": object}
        good = isinstance(value, types.get(expected, list)) and (expected != INTEGER or not isinstance(value, bool))
        if not good:
            self.wrong(where, shown(value), expected)
        return good

    def table(self, value: Dict[str, Any], where: str, kind: str) -> Dict[str, Any]:
        """The items of a table that are known and well typed; the others, and missing ones, become problems."""
        keys, prefix = self._keys[kind], f"{where}." if where else ""
        for key in value:
            if key not in keys:
                self.wrong(prefix + key, "an unknown key", f"one of {', '.join(keys)}{suggest(key, keys)}")
        for key in self._required.get(kind, ()):
            if key not in value:
                self.wrong(prefix + key, "nothing", keys[key] or "a value")
        return {key: each for key, each in value.items() if key in keys and self.fits(prefix + key, each, keys[key])}

    def check(self, where: str, value: str, good: object, expected: str) -> None:
        """Add a problem about the string `value` unless `good`."""
        if not good:
            self.wrong(where, shown(value), expected)


def decode_toml(text: str, origin: Path) -> Dict[str, Any]:
    """TOML text -> plain values; a syntax error names the file, the line and the column and shows the place."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        lines = text.split("\n")
        line, column = (int(place.group(1)), int(place.group(2))) if place else (len(lines), len(lines[-1]) + 1)
        shown = f"{lines[line - 1]}\n{underline(lines[line - 1], column - 1, column)}"
        raise PatchError(f"{origin}:{line}:{column}: {str(error).split(' (at ')[0]}\n{shown}") from None


def shown(value: object) -> str:
    """A TOML value as a message shows it."""
    if isinstance(value, str):
        return '"' + (value if len(value) <= 60 else value[:57] + "...") + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a table"
    return f"a {type(value).__name__}"


def suggest(word: str, words: Iterable[str]) -> str:
    """`; did you mean "..."?` for the nearest of `words`, "" if none is near."""
    import difflib

    near = difflib.get_close_matches(word, list(words), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""
