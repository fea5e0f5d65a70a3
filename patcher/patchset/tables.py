"""Decoded TOML -> typed values, read strictly: unknown keys, wrong types, missing values told at once; values as TOML."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple, Type, Union

from patcher.errors import PatchError, SitepatchError
from patcher.model import OptionValue
from patcher.system.reading import TEXT as LIMIT
from patcher.system.reading import read_file
from patcher.text.listed import suggest
from patcher.text.width import clip, marked

if TYPE_CHECKING:
    from pathlib import Path

TEXT, TEXTS, INTEGER, TABLE, TRUTH = "a string", "a list of strings", "an integer", "a table", "true or false"
TABLES = "a list of tables"
_DEEPEST, _DOTS, _MOST = 64, 1000, 20  # levels of tables and lists; dots in a line; problems that are reported
_WIDEST = 60  # columns of a value that is shown
_TOO_DEEP = f"found tables or lists more than {_DEEPEST} levels deep, expected fewer"
_TOO_LONG = "found an integer of more than 64 bits, expected a smaller one"


def tables(name: str) -> str:
    """The type of a list of tables, with the way in which TOML writes it."""
    return f"{TABLES}, written [[{name}]]"


class TableReader:
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
        self.problems.append(f"{self.origin}: {clip(where, _WIDEST)}: found {found}, expected {expected}")

    def stop(self, error: Type[SitepatchError], hint: str = "") -> None:
        """Raise what is wrong so far, if anything is."""
        if self.problems:
            more = [f"{self.origin}: and {len(self.problems) - _MOST} more"] if len(self.problems) > _MOST else []
            raise error("\n".join([*self.problems[:_MOST], *more]), hint)

    def fits(self, where: str, value: object, expected: str) -> bool:
        """Whether `value` has the type that `expected` names; each item of a list is checked by itself."""
        if (expected == TEXTS or expected.startswith(TABLES)) and isinstance(value, list):
            item = TEXT if expected == TEXTS else TABLE
            items = [self.fits(f"{where}[{index}]", each, item) for index, each in enumerate(value)]
            return all(items)  # after the list, so that every bad item is reported, not only the first
        types: Mapping[str, type] = {TEXT: str, INTEGER: int, TABLE: dict, TRUTH: bool, "": object}
        good = isinstance(value, types.get(expected, list)) and (expected != INTEGER or not isinstance(value, bool))
        if not good:
            self.wrong(where, shown_value(value), expected)
        return good

    def table(self, value: Dict[str, Any], where: str, kind: str) -> Dict[str, Any]:
        """The items of a table that are known and well typed; the others, and missing ones, become problems."""
        keys, prefix = self._keys[kind], f"{where}." if where else ""
        for key in value:
            if key not in keys:
                near = suggest(key, keys) if len(self.problems) < _MOST else ""
                self.wrong(prefix + key, "an unknown key", f"one of {', '.join(keys)}{near}")
        for key in self._required.get(kind, ()):
            if key not in value:
                self.wrong(prefix + key, "nothing", keys[key] or "a value")
        return {key: each for key, each in value.items() if key in keys and self.fits(prefix + key, each, keys[key])}

    def check(self, where: str, value: str, good: object, expected: str) -> None:
        """Add a problem about the string `value` unless `good`."""
        if not good:
            self.wrong(where, shown_value(value), expected)


def read_toml(path: Path, limit: int = LIMIT) -> Dict[str, Any]:
    """Read a TOML file of at most `limit` bytes.

    Raises:
        OSError: it is not there or may not be read.
        SitepatchError: it is no regular file or too large.
        PatchError: see `decode_text` and `decode_toml`.
    """
    return decode_toml(decode_text(read_file(path, limit), path), path)


def lookup(table: object, *keys: str) -> Any:
    """The value at nested keys; None where there is none, or something on the way is no table."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def decode_text(data: bytes, origin: Union[Path, str]) -> str:
    """UTF-8 -> text, without a byte order mark; PatchError with the line of a byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        found = f"found the byte 0x{error.object[error.start]:02x}, expected UTF-8"
        raise PatchError(f"{origin}:{line}: {found}") from None


def decode_toml(text: str, origin: Path) -> Dict[str, Any]:
    """TOML text -> plain values.

    Raises:
        PatchError: a syntax error, with the file, the line, the column and the place; or more than anybody writes (what
            nests deeper than `_DEEPEST`, integers of more than 64 bits), for which readers fail or take very long.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    lines = text.split("\n")
    for number, each in enumerate(lines, 1):
        if each.count(".") > _DOTS:  # as the parts of a key they cost their square
            raise PatchError(f"{origin}:{number}: found more than {_DOTS:,} dots in one line, expected fewer")
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line, column = (int(place.group(1)), int(place.group(2))) if place else (len(lines), len(lines[-1]) + 1)
        shown = marked(lines[line - 1], column - 1, column)
        raise PatchError(f"{origin}:{line}:{column}: {str(error).split(' (at ')[0]}\n{shown}") from None
    except RecursionError:
        raise PatchError(f"{origin}: {_TOO_DEEP}") from None
    except ValueError:  # the limit of Python on the digits of an integer
        line = next((number for number, each in enumerate(lines, 1) if re.search("[0-9][0-9_]{4299}", each)), 0)
        raise PatchError(f"{origin}:{line}: {_TOO_LONG}") from None
    _check_size(top, origin)
    return top


def _check_size(top: Dict[str, Any], origin: Path) -> None:
    left: List[Tuple[str, object, int]] = [("", top, 0)]
    while left:
        where, value, depth = left.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise PatchError(f"{origin}: {where}: {_TOO_LONG}")
        if isinstance(value, (dict, list)):
            if depth > _DEEPEST:
                raise PatchError(f"{origin}: {clip(where, _WIDEST)}: {_TOO_DEEP}")
            items = value.items() if isinstance(value, dict) else enumerate(value)
            left += [(f"{where}.{key}" if where else str(key), each, depth + 1) for key, each in items]


def written_toml(value: OptionValue) -> str:
    """A value as TOML writes it; its basic strings escape what JSON escapes, and DEL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def option_text(value: OptionValue) -> str:
    """An option's value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_text(options: Mapping[str, OptionValue]) -> str:
    """Options as `--set` takes them."""
    return " ".join(f"{name}={option_text(value)}" for name, value in options.items())


def shown_value(value: object) -> str:
    """A TOML value as a message shows it."""
    if isinstance(value, str):
        return f'"{clip(value, _WIDEST)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a table"
    return f"a {type(value).__name__}"
