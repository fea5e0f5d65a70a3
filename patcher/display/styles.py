"""Text for a terminal: in the language of the user, with colours, labels and aligned tables.

It is translated here, where it is written: all other code builds English sentences, and JSON keeps
them. It stays English unless `set_translation` was called, as `patcher.display.language` does with
its catalog.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Iterator, Sequence

import click

from patcher.message import Message
from patcher.record import Record
from patcher.text.terminal import (
    LONGEST,
    Styled,
    beginning,
    clip,
    join_styled,
    padded,
    printable,
    printable_lines,
    width,
    wrapped,
)

_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan", "\\": "yellow"}


# languages --------------------------------------------------------------------------------------
class Verbatim(str):
    """Text of others, such as a line of a log: it is not translated."""


_sentence: Callable[[str], str] | None = None
_word: Callable[[str], str] | None = None


def set_translation(sentence: Callable[[str], str], word: Callable[[str], str]) -> None:
    """Translate sentences, and single words such as states, by these two functions from now on."""
    global _sentence, _word
    _sentence, _word = sentence, word


def translated(text: str) -> str:
    """A text in the language of the user; styled text is code, or was translated already."""
    return text if _sentence is None or isinstance(text, (Styled, Verbatim)) else _sentence(text)


def translated_lines(text: str) -> list[str]:
    """The lines of a text in the language of the user."""
    return [Verbatim(line) for line in translated(text).split("\n") if line]


def term(word: str) -> str:
    """A word by itself, such as a state, in the language of the user: `applied`."""
    return word if _word is None else _word(word)


def label(name: str) -> str:
    """A word and a colon in the language of the user, as `error:`.

    There is no blank after it: a wide colon includes one.
    """
    word = term(name)
    return f"{name}:" if word == name else f"{word}："


# colours ----------------------------------------------------------------------------------------
def style(text: str, **attributes: Any) -> Styled:
    """Text with a colour or a weight, as `click.style` takes them."""
    return Styled(click.style(printable(text), **attributes))


def titled(text: str) -> Styled:
    """A heading, in the language of the user."""
    return style(translated(text), bold=True)


def labelled(word: str, text: str, **attributes: Any) -> Styled:
    """A styled label, as `error:`, and what it is about, both in the language of the user."""
    head = label(word)
    return Styled(style(head, **attributes) + _gap(head) + printable_lines(translated(text)))


def _gap(head: str) -> str:
    """What stands between a label and its text: nothing after a wide colon."""
    return " " if head.endswith(":") else ""


def color_diff(diff: str) -> list[Styled]:
    """The lines of a unified diff, or of a .spatch, with colours."""
    lines = diff.split("\n")
    if not lines[-1]:
        lines.pop()
    return [_color_line(line) for line in lines]


def _color_line(line: str) -> Styled:
    if line.startswith(("--- ", "+++ ")):
        return style(line, bold=True)
    color = _DIFF_COLORS.get(line[:1])
    if color:
        return style(line, fg=color)
    return join_styled(line)


# tables -----------------------------------------------------------------------------------------
_WORDS = {
    "green": ("applied", "captured", "updated", "overlay", "restored", "verified", "ok"),
    "cyan": ("applicable",),
    "yellow": (
        Message("broken before"),
        "overwritten",
        "outdated",
        "interrupted",
        "absent",
        "note",
        "symptom",
        "follows",
    ),
    "blue": ("upstream", "not needed", "out of range"),
}
COLORS = {word: color for color, words in _WORDS.items() for word in words}
"""The colour of each word that a row can begin with; others are red."""


class Row(Record):
    """A line of a table.

    Attributes:
        word: the first cell, which is coloured by its meaning.
        cells: further cells.
        details: the lines below it.
        cut: whether its end is left out where it is wider than the terminal; other rows go on
            below.
    """

    word: str
    cells: tuple[str, ...]
    details: tuple[str, ...] = ()
    cut: bool = False


def hint_lines(hint: str) -> list[str]:
    """A hint as the details of a row, none for ""."""
    if not hint:
        return []
    first_line, *further_lines = translated_lines(hint) or [""]
    head = label("hint")
    return [Verbatim(head + _gap(head) + first_line), *further_lines]


def table_lines(rows: Sequence[Row], most: int = 0) -> Iterator[str]:
    """The lines of a table, styled; the last cell of a row is not padded.

    Where a row is wider than `most` columns (0: no limit), its further cells and long texts go on
    below; of a very long word (the name of a scope) the middle is left out.
    """
    texts = [[_clipped(printable(translated(cell))) for cell in row.cells] for row in rows]
    widths = _column_widths(texts)
    word_width = max((width(term(row.word)) for row in rows), default=0)
    room = max(20, most - word_width - 2) if most else sys.maxsize

    for row, cells in zip(rows, texts):
        first_line, *further_lines = _filled(cells, widths, sys.maxsize if row.cut else room)
        if row.cut and width(first_line) > room:
            first_line = beginning(first_line, room - 1) + "…"
        for detail in _detail_lines(row.details):
            further_lines += _wrapped(_clipped(printable(detail)), room)

        head = style(padded(term(row.word), word_width), fg=COLORS.get(row.word, "red"))
        yield f"{head}  {first_line}".rstrip()
        indent = " " * (word_width + 2)
        for line in further_lines:
            yield (indent + line).rstrip()


def _column_widths(texts: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column: that of its widest cell.

    Nothing follows the last cell of a row, so that cell does not count.
    """
    widths: list[int] = []
    for cells in texts:
        widths += [0] * (len(cells) - len(widths))
        for at, cell in enumerate(cells[:-1]):
            widths[at] = max(widths[at], width(cell))
    return widths


def _filled(cells: Sequence[str], widths: Sequence[int], room: int) -> list[str]:
    """The lines of the cells of one row, of at most `room` columns.

    Cells that do not fit when they are aligned stand close together where that makes one line.
    """
    shown = [cell for cell in cells if cell]
    together = "  ".join(shown)
    padded_cells = [padded(cell, column) for cell, column in zip(cells, widths)]
    if width("  ".join(padded_cells).rstrip()) > room >= width(together):
        return [together]

    lines = [""]
    for cell, column in zip(cells, widths):
        if cell and lines[-1] and width(lines[-1] + cell) > room:
            lines.append("")
        if cell:
            lines[-1:] = _wrapped(lines[-1] + cell, room)
        lines[-1] += " " * (column - width(cell) + 2)
    return lines


def _detail_lines(details: Sequence[str]) -> Iterator[str]:
    for detail in details:
        if isinstance(detail, (Styled, Verbatim)):
            yield detail
        else:
            yield from translated(detail).split("\n")


def _clipped(text: str) -> str:
    """The text without the middle of very long words; styled text is code, and stays."""
    if isinstance(text, Styled):
        return text
    return re.sub(rf"\S{{{LONGEST},}}", lambda word: clip(word.group(), LONGEST), text)


def _wrapped(text: str, most: int) -> list[str]:
    """A text in lines of at most `most` columns.

    Code, which is styled or begins with a blank, stays as it is.
    """
    if width(text) <= most or isinstance(text, Styled) or text.startswith(" "):
        return [text]
    return wrapped(text, most)
