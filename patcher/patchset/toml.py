"""TOML text -> plain values, and values as TOML and as `--set` takes them.

`patcher.system.decode` checks their kinds.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Mapping

from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import OptionValue
from patcher.system.reading import TEXT as LIMIT
from patcher.system.reading import read_file
from patcher.text.listed import AnyPath
from patcher.text.terminal import clip, marked

_DEEPEST, _DOTS = 64, 1000  # levels of tables and lists; dots in a line
_WIDEST = 60  # columns of a path that is shown
_TOO_DEEP = Message(
    "found tables or lists more than {limit} levels deep, expected fewer", limit=_DEEPEST
)
_TOO_LONG = Message("found an integer of more than 64 bits, expected a smaller one")
_LONG_INTEGER = "[0-9][0-9_]{4299}"
"""An integer of more digits than Python reads (`sys.int_info.default_max_str_digits`)."""
_PLACE = r" \(at line (\d+), column (\d+)\)$"


# files ----------------------------------------------------------------------------------------
def read_toml(path: Path, limit: int = LIMIT) -> dict[str, Any]:
    """Read a TOML file of at most `limit` bytes.

    Raises:
        OSError: it is not there or may not be read.
        SitepatchError: it is no regular file or too large.
        PatchError: see `decode_text` and `decode_toml`.
    """
    return decode_toml(decode_text(read_file(path, limit), path), path)


def read_text(path: AnyPath) -> str:
    """The text of a file of a patchset.

    It is UTF-8; CRLF is read as LF, so that a checkout's setting changes no digest.

    Raises:
        OSError: it is not there or may not be read.
        SitepatchError: it is no regular file or too large.
        PatchError: see `decode_text`.
    """
    return decode_text(read_file(path, LIMIT), path).replace("\r\n", "\n")


def decode_text(data: bytes, origin: AnyPath) -> str:
    """UTF-8 -> text, without a byte order mark.

    Raises:
        PatchError: with the line of a byte that is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PatchError.at(
            Location(str(origin), line),
            "found the byte 0x{byte:02x}, expected UTF-8: save the file in that encoding",
            byte=error.object[error.start],
        ) from None


# TOML -> values -------------------------------------------------------------------------------
def decode_toml(source: str, origin: Path) -> dict[str, Any]:
    """TOML text -> plain values.

    Raises:
        PatchError: a syntax error, with the file, the line, the column and the place; or more
            than anybody writes (what nests deeper than `_DEEPEST`, integers of more than 64
            bits), for which readers fail or take very long.
    """
    # nothing is decoded where what is applied is as it was
    from patcher.system.toml import TOMLDecodeError, loads

    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        if line.count(".") > _DOTS:  # as the parts of a key they cost their square
            raise PatchError.at(
                Location(str(origin), number),
                "found more than {most:,} dots in one line, expected fewer",
                most=_DOTS,
            )
    try:
        top = loads(source)
    except TOMLDecodeError as error:
        raise _syntax_error(error, lines, origin) from None
    except RecursionError:
        raise PatchError.at(Location(str(origin)), _TOO_DEEP) from None
    except ValueError:  # the limit of Python on the digits of an integer
        place = Location(str(origin), _line_of_long_integer(lines))
        raise PatchError.at(place, _TOO_LONG) from None
    _check_size(top, origin)
    return top


def _syntax_error(error: ValueError, lines: list[str], origin: Path) -> PatchError:
    line, column = len(lines), len(lines[-1]) + 1
    match = re.search(_PLACE, str(error))
    if match:
        line, column = int(match.group(1)), int(match.group(2))
    problem = Message(
        "no valid TOML: {reason}\n{shown}",
        reason=str(error).split(" (at ")[0],
        shown=marked(lines[line - 1], column - 1, column),
    )
    place = Location(str(origin), line, column)
    return PatchError.at(place, problem, 'texts stand in quotes: version = "1.0"')


def _line_of_long_integer(lines: list[str]) -> int:
    """The number of the line with an integer that Python does not read, 0 if there is none."""
    for number, line in enumerate(lines, 1):
        if re.search(_LONG_INTEGER, line):
            return number
    return 0


def _check_size(top: dict[str, Any], origin: Path) -> None:
    """Refuse tables that are nested too deep, and integers that are too large."""
    pending: list[tuple[str, object, int]] = [("", top, 0)]
    while pending:
        where, value, depth = pending.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise PatchError.at(
                Location(str(origin)), "{where}: {problem}", where=where, problem=_TOO_LONG
            )
        if not isinstance(value, (dict, list)):
            continue
        if depth > _DEEPEST:
            raise PatchError.at(
                Location(str(origin)),
                "{place}: {problem}",
                place=clip(where, _WIDEST),
                problem=_TOO_DEEP,
            )
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            pending.append((f"{where}.{key}" if where else str(key), item, depth + 1))


def lookup(table: object, *keys: str) -> Any:
    """The value at nested keys; None if there is none, or something on the way is no table."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


# values -> text -------------------------------------------------------------------------------
def written_toml(value: OptionValue) -> str:
    """A value as TOML writes it; its basic strings escape what JSON escapes, and DEL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def option_text(value: OptionValue) -> str:
    """An option's value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_text(options: Mapping[str, OptionValue]) -> str:
    """Options as `--set` takes them."""
    return " ".join(f"{name}={option_text(value)}" for name, value in options.items())
