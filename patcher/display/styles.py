"""Text for a terminal: in the language of the user, with colours, labels such as `error:`, coloured diffs, aligned tables.

It is translated here, where it is written: all other code builds English sentences, and JSON keeps them. It stays English
unless `set_translation` was called, as `patcher.display.language` does with its catalog.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import click

from patcher.message import Message
from patcher.text.terminal import (
    LONGEST,
    Styled,
    clip,
    join_styled,
    padded,
    printable,
    printable_lines,
    width,
    wrapped,
)

_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan", "\\": "yellow"}


# languages ------------------------------------------------------------------------------------------------------------
class Verbatim(str):
    """Text of others, such as a line of a log: made printable and wrapped as any text, and not translated."""


_sentence: Callable[[str], str] | None = None
_word: Callable[[str], str] | None = None


def set_translation(sentence: Callable[[str], str], word: Callable[[str], str]) -> None:
    """Translate sentences, and single words such as states, by these two functions from now on."""
    global _sentence, _word
    _sentence, _word = sentence, word


def translated(text: str) -> str:
    """A text of one line or several in the language of the user; styled text is code, or was translated already."""
    return text if _sentence is None or isinstance(text, (Styled, Verbatim)) else _sentence(text)


def translated_lines(text: str) -> list[str]:
    """The lines of a text in the language of the user."""
    return [Verbatim(line) for line in translated(text).split("\n") if line]


def term(word: str) -> str:
    """A word by itself, such as a state, in the language of the user: `applied`."""
    return word if _word is None else _word(word)


def label(name: str) -> str:
    """A word and a colon in the language of the user, as `error:`; without a blank after it, which a wide colon includes."""
    word = term(name)
    return f"{name}:" if word == name else f"{word}："


# colours --------------------------------------------------------------------------------------------------------------
def style(text: str, **attributes: Any) -> Styled:
    """Text with a colour or a weight, as `click.style` takes them."""
    return Styled(click.style(printable(text), **attributes))


def titled(text: str) -> Styled:
    """A heading, in the language of the user."""
    return style(translated(text), bold=True)


def labelled(word: str, text: str, **attributes: Any) -> Styled:
    """A styled label, as `error:`, and what it is about, both in the language of the user."""
    head = label(word)
    return Styled(
        style(head, **attributes)
        + (" " if head[-1] == ":" else "")
        + printable_lines(translated(text))
    )


def color_diff(diff: str) -> list[Styled]:
    """The lines of a unified diff, or of a .spatch, with colours."""
    out = []
    for line in diff.split("\n")[: -1 if not diff or diff.endswith("\n") else None]:
        head = line.startswith(("--- ", "+++ "))
        color = None if head else _DIFF_COLORS.get(line[:1])
        out.append(style(line, fg=color, bold=head or None) if head or color else join_styled(line))
    return out


# tables ---------------------------------------------------------------------------------------------------------------
_WORDS = {
    "green": ("applied", "captured", "updated", "locked", "overlay", "restored", "verified", "ok"),
    "cyan": ("applicable",),
    "yellow": (
        Message("broken before"),
        "overwritten",
        "outdated",
        "interrupted",
        "absent",
        "note",
        "advice",
        "symptom",
        "follows",
    ),
    "blue": ("upstream", "not needed", "out of range"),
}
COLORS = {word: color for color, words in _WORDS.items() for word in words}
"""The colour of each word that a row can begin with; others are red."""


class Row(NamedTuple):
    """A line of a table: a word that is coloured by its meaning, further cells, and lines below it."""

    word: str
    cells: tuple[str, ...]
    details: tuple[str, ...] = ()


def hint_lines(hint: str) -> list[str]:
    """A hint as the details of a row, none for ""."""
    first_line, *further_lines = translated_lines(hint) or [""]
    head = label("hint")
    return (
        [Verbatim(head + (" " if head[-1] == ":" else "") + first_line), *further_lines]
        if hint
        else []
    )


def table_lines(rows: Sequence[Row], most: int = 0) -> Iterator[str]:
    """The lines of a table, styled; the last cell of a row is not padded.

    Where a row is wider than `most` columns (0: no limit), its further cells and long texts go on below; of a very long
    word (the name of a scope) the middle is left out.
    """
    texts = [[_clipped(printable(translated(cell))) for cell in row.cells] for row in rows]
    word_width = max((width(term(row.word)) for row in rows), default=0)
    count = max(map(len, texts), default=0)
    widths = [
        max((width(cells[at]) for cells in texts if len(cells) > at), default=0)
        for at in range(count)
    ]
    room = max(20, most - word_width - 2) if most else sys.maxsize
    for row, cells in zip(rows, texts):
        filled = [""]
        for cell, column in zip(cells, widths):
            if filled[-1] and width(filled[-1] + cell) > room:
                filled.append("")
            filled[-1:] = [*_wrapped(filled[-1] + cell, room)]
            filled[-1] += " " * (column - width(cell) + 2)
        head = style(padded(term(row.word), word_width), fg=COLORS.get(row.word, "red"))
        yield f"{head}  {filled[0]}".rstrip()
        ready = (Styled, Verbatim)
        details = [
            line
            for detail in row.details
            for line in ([detail] if isinstance(detail, ready) else translated(detail).split("\n"))
        ]
        below = (part for detail in details for part in _wrapped(_clipped(printable(detail)), room))
        for line in (*filled[1:], *below):
            yield (" " * (word_width + 2) + line).rstrip()


def _clipped(text: str) -> str:
    """The text with the middle of very long words left out; styled text, which is code, stays as it is."""
    return (
        text
        if isinstance(text, Styled)
        else re.sub(rf"\S{{{LONGEST},}}", lambda word: clip(word.group(), LONGEST), text)
    )


def _wrapped(text: str, most: int) -> list[str]:
    """A text in lines of at most `most` columns; code, which is styled or begins with a blank, stays as it is."""
    return (
        [text]
        if width(text) <= most or isinstance(text, Styled) or text[:1] == " "
        else wrapped(text, most)
    )
