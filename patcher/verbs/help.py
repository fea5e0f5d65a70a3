"""The help of commands in another language than English: click's layout, with lines of the width that is seen."""

from __future__ import annotations

import re
from typing import Iterable, List, Optional, Tuple

import click

from patcher.text.terminal import padded, width, wrapped
from patcher.verbs.translation import label, term


class Formatter(click.HelpFormatter):
    """Looks up paragraphs, headings, and what options are for; Chinese characters are two columns wide."""

    def write_usage(self, prog: str, args: str = "", prefix: Optional[str] = None) -> None:
        """Write the line `Usage: PROGRAM ARGUMENTS`."""
        super().write_usage(prog, args, term("Usage:"))

    def write_heading(self, heading: str) -> None:
        """Write the title of a section."""
        self.write(f"{' ' * self.current_indent}{label(heading)}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; the lines of one that begins with a backspace are kept, as click has it."""
        for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
            self.write("\n" if number else "")
            kept = paragraph.startswith("\b")
            lines = [term(line) for line in paragraph.splitlines()[1:]] if kept else self._wrapped(_one_line(paragraph), 0)
            self.write("".join(f"{' ' * self.current_indent}{line}\n" for line in lines))

    def write_dl(self, rows: Iterable[Tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a table of names and what they are."""
        rows = list(rows)
        column = min(max(width(name) for name, _ in rows), col_max) + col_spacing
        for name, help_text in rows:
            help_text, *defaults = _one_line(help_text).split("  [")  # what click adds: `[default: 120.0]`
            lines = self._wrapped("  ".join([term(help_text), *map(_added, defaults)]), column)
            beside = width(name) <= column - col_spacing
            head = padded(name, column) + lines.pop(0) if beside and lines else name
            for line in (head, *(" " * column + line for line in lines)):
                self.write(f"{' ' * self.current_indent}{line}\n")

    def _wrapped(self, paragraph: str, column: int) -> List[str]:
        return wrapped(term(paragraph), max(self.width - self.current_indent - column, 10))


class Context(click.Context):
    """A context whose help is written by `Formatter`."""

    formatter_class = Formatter


def _one_line(paragraph: str) -> str:
    return "  ".join(" ".join(part.split()) for part in re.split(r" {2,}(?=\[)", paragraph))


def _added(addition: str) -> str:
    pairs = [part.partition(": ") for part in addition[:-1].split("; ")]
    return "[" + "；".join(f"{term(key)}：{value}" if colon else term(key) for key, colon, value in pairs) + "]"
