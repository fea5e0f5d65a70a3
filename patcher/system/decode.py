"""Decoded TOML or JSON that somebody else wrote -> values of known kinds.

Whatever is wrong is named by the path to its field. A kind is a `Table`, `Values` or `Items`, or a
function: it takes a value and returns what was expected instead, in the words of a message, or ""
if the value is of that kind.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Collection, Mapping, Tuple, Union

from patcher.errors import Location, SitepatchError
from patcher.message import Message
from patcher.record import Record
from patcher.text.listed import suggest
from patcher.text.terminal import clip

_MOST = 20  # problems that are reported
_WIDEST = 60  # columns of a value that is shown
_TABLE = Message("a table")
_MISSING, _WRONG = object(), object()
_HEX = frozenset("0123456789abcdef")


class Table(Record):
    """A table (an object of JSON) with these keys.

    With `other_keys`, unknown keys are left out instead of refused.
    """

    keys: Mapping[str, Any]
    optional: Collection[str] = ()
    other_keys: bool = False


class Values(Record):
    """A table with any keys, the values of one kind."""

    kind: Any


class Items(Record):
    """A list of values of one kind, and what a message calls it."""

    kind: Any
    expected: str = Message("a list")


Kind = Union[Callable[[object], str], Table, Values, Items]
Path = Tuple[Union[str, int], ...]
"""The keys and indices that lead to a value."""


def anything(value: object) -> str:
    """The kind of any value."""
    return Message("a value") if value is _MISSING else ""


def string(value: object) -> str:
    """The kind of strings."""
    return "" if isinstance(value, str) else Message("a string")


def integer(value: object) -> str:
    """The kind of integers."""
    return "" if isinstance(value, int) and not isinstance(value, bool) else Message("an integer")


def boolean(value: object) -> str:
    """The kind of true and false."""
    return "" if isinstance(value, bool) else Message("true or false")


def option_value(value: object) -> str:
    """The kind of the values of options."""
    if isinstance(value, (int, float, str)):
        return ""
    return Message("a number, a string, true or false")


def or_empty(kind: Callable[[object], str]) -> Callable[[object], str]:
    """The kind of values of another kind, and of ""."""
    return lambda value: "" if value == "" else kind(value)


STRINGS = Items(string, Message("a list of strings"))


def tables(name: str, kind: Table) -> Items:
    """The kind of lists of tables in TOML: a message gives the way in which they are written."""
    return Items(kind, Message("a list of tables, written [[{name}]]", name=name))


def one_of(*words: str) -> Callable[[object], str]:
    """The kind of these texts; what was expected ends with the nearest of them."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value in words:
            return string(value)
        return Message(
            "one of {words}{suggestion}", words=", ".join(words), suggestion=suggest(value, words)
        )

    return check


def sha256_hex(value: object) -> str:
    """The kind of sha256 in hex: each is a plain file name, too."""
    if isinstance(value, str) and is_sha256(value):
        return ""
    return Message("a sha256 in lower-case hex")


def is_sha256(value: str) -> bool:
    """Whether a text is a sha256 in lower-case hex."""
    return len(value) == 64 and _HEX.issuperset(value)


class Reader:
    """Takes values out of one file and collects what is wrong with them, one line each.

    `origin` is the path of the file, for messages.
    """

    def __init__(self, origin: object) -> None:
        self.origin = origin
        self.problems: list[SitepatchError] = []

    def wrong(self, where: str, actual: str, expected: str) -> None:
        """Add a problem; indices in `where` count from 0, as in JSON."""
        place = clip(where, _WIDEST) or Message("the file")
        template = "{place}: found {found}, expected {expected}"
        problem = Message(template, place=place, found=actual, expected=expected)
        self.problems.append(SitepatchError.at(self._location, problem))

    def check(self, where: str, value: object, good: object, expected: str) -> None:
        """Add a problem about `value` unless `good`."""
        if not good:
            self.wrong(where, shown_value(value), expected)

    @property
    def _location(self) -> Location:
        return Location(str(self.origin))

    def stop(self, error: type[SitepatchError], hint: str = "") -> None:
        """Raise what is wrong so far, if anything is."""
        if self.problems:
            raise error.joined(self.reported, hint)

    @property
    def reported(self) -> list[SitepatchError]:
        """The problems; of very many the first ones, and how many more there are."""
        reported = self.problems[:_MOST]
        left = len(self.problems) - len(reported)
        if left:
            reported.append(SitepatchError.at(self._location, "and {left} more", left=left))
        return reported

    def read(self, value: object, kind: Kind, path: Path = ()) -> Any:
        """Check a value; whatever is not of its kind becomes a problem.

        Args:
            value: what was decoded.
            kind: what it must be.
            path: the keys and indices that lead to it, for messages.

        Returns:
            the value; of a table those of its items that are of their kinds, {} if it is no table.
        """
        if isinstance(kind, Items) and isinstance(value, list):
            return self._items(value, kind, path)
        if isinstance(kind, Values) and isinstance(value, dict):
            return self._values(value, dict.fromkeys(value, kind.kind), path)
        if isinstance(kind, Table) and isinstance(value, dict):
            self._check_keys(value, kind, path)
            return self._values(value, kind.keys, path)
        expected = _expected(kind, value)
        if not expected:
            return value
        self.wrong(_where(path), shown_value(value), expected)
        return {} if expected == _TABLE else _WRONG

    def _items(self, values: list[Any], kind: Items, path: Path) -> Any:
        items = [self._inside(value, kind.kind, path, index) for index, value in enumerate(values)]
        return _WRONG if _WRONG in items else items

    def _values(
        self, table: Mapping[str, Any], kinds: Mapping[str, Kind], path: Path
    ) -> dict[str, Any]:
        """The items of a table that are of their kinds; keys without a kind are left out."""
        right: dict[str, Any] = {}
        for key, value in table.items():
            if key in kinds:
                item = self._inside(value, kinds[key], path, key)
                if item is not _WRONG:
                    right[key] = item
        return right

    def _inside(self, value: object, kind: Kind, path: Path, key: str | int) -> Any:
        """`read` for what is below `path` under this key; a path is made only for what is wrong."""
        if not isinstance(kind, tuple) and not kind(value):
            return value
        return self.read(value, kind, (*path, key))

    def _check_keys(self, table: Mapping[str, Any], kind: Table, path: Path) -> None:
        """Add a problem for each key that is unknown, and for each that is missing."""
        for key in table:
            if key not in kind.keys and not kind.other_keys:
                # searching for the nearest key is slow
                near = suggest(key, kind.keys) if len(self.problems) < _MOST else ""
                expected = Message("one of {keys}{near}", keys=", ".join(kind.keys), near=near)
                self.wrong(_where((*path, key)), Message("an unknown key"), expected)
        for key, key_kind in kind.keys.items():
            if key not in table and key not in kind.optional:
                missing = _expected(key_kind, _MISSING)
                self.wrong(_where((*path, key)), Message("nothing"), missing)


def _where(path: Path) -> str:
    """A path as a message names it: `files[2].path`."""
    dotted = ""
    for number, part in enumerate(path):
        if isinstance(part, int):
            dotted += f"[{part}]"
        elif number:
            dotted += f".{part}"
        else:
            dotted = part
    return dotted


def _expected(kind: Kind, value: object) -> str:
    if isinstance(kind, Items):
        return kind.expected
    if isinstance(kind, tuple):
        return _TABLE
    return kind(value)


def shown_value(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return f'"{clip(value, _WIDEST)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return clip(str(value), _WIDEST)
    if isinstance(value, list):
        return Message("a list")
    if isinstance(value, dict):
        return Message("a table")
    if value is None:
        return "null"
    return f"a {type(value).__name__}"


def decode_json(data: bytes) -> Any:
    """JSON in UTF-8 -> plain values.

    Raises:
        ValueError: it is no JSON, is nested too deep, has a key twice in one object, or has a
            number that only Python writes (NaN, Infinity).
    """
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(Message("it is nested too deep")) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(Message("it has {key} twice", key=shown_value(key)))
        fields[key] = value
    return fields


def _refuse(number: str) -> object:
    raise ValueError(Message("it has the number {text}", text=number))
