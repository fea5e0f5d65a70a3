"""Hunks for a part of a string (`in-string`, format rule 28): plain text for plain text, in one literal of the scope."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

from patcher.engine.lex import Lines, Token, expressions, fields, tokens
from patcher.engine.match import Match, MatchRange
from patcher.engine.node import Node
from patcher.engine.source import Conflict, Edit
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message

_OPENED = re.compile(r"[A-Za-z]{0,3}('''|\"\"\"|'|\")")


class StringPart(NamedTuple):
    """A piece of a string literal outside of `{…}`: where it begins in the file, the literal's character range, its text."""

    start: int
    literal: tuple[int, int]
    text: str


def string_parts(code: str, ranges: Sequence[tuple[int, int]]) -> list[StringPart]:
    """The text of every string literal in some ranges, without the `{…}` of f-strings."""
    parts: list[StringPart] = []
    for start, end in ranges:
        for token in tokens(code[start:end]):
            opened = _OPENED.match(token.text)
            if opened is not None:
                begin, closing = opened.end(), len(token.text) - len(opened.group(1))
                literal = (start + token.start, start + token.end)
                for field in [*fields(token), (token.start + closing, 0)]:
                    stop = field[0] - token.start
                    parts.append(StringPart(literal[0] + begin, literal, token.text[begin:stop]))
                    begin = field[1] - token.start
    return parts


def text_places(code: str, ranges: Sequence[tuple[int, int]], side: Side) -> list[MatchRange]:
    """Where the text of a side occurs in the string literals of some ranges; any line break matches any other."""
    pattern = re.compile(r"(?:\r\n|\r|\n)".join(map(re.escape, side.written.split("\n"))))
    places: list[MatchRange] = []
    for part in string_parts(code, ranges) if side.written else ():
        for match in pattern.finditer(part.text):
            start, end = part.start + match.start(), part.start + match.end()
            begin, stop = part.literal
            places.append(
                MatchRange(
                    start,
                    end,
                    [Node("String", (begin, begin, stop, stop))],
                    (Match(start, end, {}, {}),),
                )
            )
    return places


def text_edit(lines: Lines, hunk: Hunk, place: MatchRange) -> Edit:
    """The edit that replaces the text of the before side by that of the after side.

    Raises:
        Conflict: the literal would end elsewhere, or have other code in its braces.
    """
    begin, end = place.siblings[0].start, place.siblings[0].end
    new = hunk.after.written.replace("\n", lines.broken_as(place.start).newline)
    old = lines.text[begin:end]
    new_tokens = tokens(old[: place.start - begin] + new + old[place.end - begin :])
    before, after = tokens(old)[0], new_tokens[0]
    if len(new_tokens) != 1 or _fixed_parts(before) != _fixed_parts(after):
        line = lines.number(place.start)
        raise Conflict(
            Message(
                "line {line}: with the new text the string would end elsewhere, or have other code in its braces",
                line=line,
            )
        )
    return Edit(place.start, place.end, new)


def _fixed_parts(token: Token) -> tuple[object, ...]:
    """What must not change in a literal: its prefix and quotes, and the fields of an f-string."""
    opened = _OPENED.match(token.text)
    in_braces = [token.text[start:end] for start, end in fields(token)]
    return (
        opened.group() if opened else "",
        in_braces,
        [expression.text for expression in expressions(token)],
    )
