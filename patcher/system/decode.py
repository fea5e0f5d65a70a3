"""Decoded TOML or JSON that somebody else wrote -> values of known kinds; whatever is wrong is named by the path to its field.

A kind is a `Container` (`Table`, `Values`, `Items`) or a function: it takes a value and returns what was expected instead, in
the words of a message, or "" where the value is of that kind.
"""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, List, Mapping, Tuple, Type, Union

from patcher.errors import Location, SitepatchError
from patcher.message import Message
from patcher.text.listed import suggest
from patcher.text.terminal import clip

_MOST = 20  # problems that are reported
_WIDEST = 60  # columns of a value that is shown
_TABLE = Message("a table")
_MISSING, _WRONG = object(), object()
_HEX = frozenset("0123456789abcdef")


class Container:
    """A kind of values that have others inside: those of the type `of`, and what a message calls them."""

    of: type = dict
    expected: str = _TABLE

    def items(self, reader: Reader, value: Any, path: Path) -> Any:
        """The items of such a value that are of their kinds; _WRONG where that leaves none of use."""
        raise NotImplementedError


class Table(Container):
    """A table (an object of JSON) with these keys; with `other_keys`, unknown ones are left out instead of refused."""

    def __init__(self, keys: Mapping[str, Kind], optional: Collection[str] = (), *, other_keys: bool = False) -> None:
        self.keys, self.optional, self.other_keys = keys, optional, other_keys
        self._required = [key for key in keys if key not in optional]

    def items(self, reader: Reader, value: Any, path: Path) -> Dict[str, Any]:
        """The items of a table that are of their kinds."""
        keys, right = self.keys, {}
        if not self.other_keys:
            for key in value.keys() - keys.keys() and [key for key in value if key not in keys]:
                near = suggest(key, keys) if len(reader.problems) < _MOST else ""
                expected = Message("one of {keys}{near}", keys=", ".join(keys), near=near)
                reader.wrong(_where((*path, key)), Message("an unknown key"), expected)
        for key in self._required:
            if key not in value:
                reader.wrong(_where((*path, key)), Message("nothing"), _expected(keys[key], _MISSING))
        for key, item in value.items():
            if key in keys:
                right[key] = reader.inside(item, keys[key], path, key)
        return _right(right)


class Values(Container):
    """A table with any keys, the values of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def items(self, reader: Reader, value: Any, path: Path) -> Dict[str, Any]:
        """The items of a table that are of the kind."""
        return _right({key: reader.inside(item, self.kind, path, key) for key, item in value.items()})


class Items(Container):
    """A list of values of one kind, and what a message calls it."""

    of = list

    def __init__(self, kind: Kind, expected: str = Message("a list")) -> None:
        self.kind, self.expected = kind, expected

    def items(self, reader: Reader, value: Any, path: Path) -> Any:
        """The list if each of its items is of the kind, else _WRONG."""
        items = [reader.inside(item, self.kind, path, index) for index, item in enumerate(value)]
        return _WRONG if _WRONG in items else items


Kind = Union[Callable[[object], str], Container]
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
    return "" if isinstance(value, (int, float, str)) else Message("a number, a string, true or false")


STRINGS = Items(string, Message("a list of strings"))


def tables(name: str, kind: Table) -> Items:
    """The kind of lists of tables in TOML: a message gives the way in which they are written."""
    return Items(kind, Message("a list of tables, written [[{name}]]", name=name))


def one_of(*words: str) -> Callable[[object], str]:
    """The kind of these texts; what was expected ends with the nearest of them."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value in words:
            return string(value)
        return Message("one of {words}{suggestion}", words=", ".join(words), suggestion=suggest(value, words))

    return check


def sha256_hex(value: object) -> str:
    """The kind of sha256 in hex: each is a plain file name, too."""
    return "" if isinstance(value, str) and is_sha256(value) else Message("a sha256 in lower-case hex")


def is_sha256(value: str) -> bool:
    """Whether a text is a sha256 in lower-case hex."""
    return len(value) == 64 and _HEX.issuperset(value)


class Reader:
    """Takes values out of one file and collects what is wrong with them, one line each; `origin` is its path, for messages."""

    def __init__(self, origin: object) -> None:
        self.origin = origin
        self.problems: List[SitepatchError] = []

    def wrong(self, where: str, actual: str, expected: str) -> None:
        """Add a problem; indices in `where` count from 0, as in JSON."""
        template = "{place}: found {found}, expected {expected}"
        problem = Message(template, place=clip(where, _WIDEST) or Message("the file"), found=actual, expected=expected)
        self.problems.append(SitepatchError.at(Location(str(self.origin)), problem))

    def check(self, where: str, value: object, good: object, expected: str) -> None:
        """Add a problem about `value` unless `good`."""
        if not good:
            self.wrong(where, shown_value(value), expected)

    def stop(self, error: Type[SitepatchError], hint: str = "") -> None:
        """Raise what is wrong so far, if anything is."""
        if self.problems:
            raise error.joined(self.reported, hint)

    @property
    def reported(self) -> List[SitepatchError]:
        """The problems, of very many the first ones and how many more there are."""
        left = len(self.problems) - _MOST
        remainder = [SitepatchError.at(Location(str(self.origin)), "and {left} more", left=left)] if left > 0 else []
        return [*self.problems[:_MOST], *remainder]

    def read(self, value: object, kind: Kind, path: Path = ()) -> Any:
        """The value if it is of that kind, of a table its items that are ({} where it is none); the rest becomes problems.

        Args:
            value: what was decoded.
            kind: what it must be.
            path: the keys and indices that lead to it, for messages.
        """
        if isinstance(kind, Container) and isinstance(value, kind.of):
            return kind.items(self, value, path)
        expected = _expected(kind, value)
        if expected:
            self.wrong(_where(path), shown_value(value), expected)
        return value if not expected else {} if expected == _TABLE else _WRONG

    def inside(self, value: object, kind: Kind, path: Path, key: Union[str, int]) -> Any:
        """`read` for what lies below `path` under this key; where it is right, as nearly all is, no path is made."""
        if isinstance(kind, Container) or kind(value):
            return self.read(value, kind, (*path, key))
        return value


def _right(items: Dict[str, Any]) -> Dict[str, Any]:
    return {key: item for key, item in items.items() if item is not _WRONG} if _WRONG in items.values() else items


def _where(path: Path) -> str:
    dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return dotted[dotted.startswith(".") :]


def _expected(kind: Kind, value: object) -> str:
    return kind.expected if isinstance(kind, Container) else kind(value)


def shown_value(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return f'"{clip(value, _WIDEST)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return clip(str(value), _WIDEST)
    if isinstance(value, (list, dict)):
        return Message("a list" if isinstance(value, list) else "a table")
    return "null" if value is None else f"a {type(value).__name__}"


def decode_json(data: bytes) -> Any:
    """JSON in UTF-8 -> plain values.

    Raises:
        ValueError: it is none; it has a key twice in one object, or numbers that only Python writes (NaN, Infinity); or it
            is nested too deep.
    """
    import json  # not where nothing is applied

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(Message("it is nested too deep")) from None


def _once(pairs: List[Tuple[str, object]]) -> Dict[str, object]:
    fields: Dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(Message("it has {key} twice", key=shown_value(key)))
        fields[key] = value
    return fields


def _refuse(number: str) -> object:
    raise ValueError(Message("it has the number {text}", text=number))
