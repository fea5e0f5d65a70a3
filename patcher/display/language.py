"""Messages and help in another language than English, from patcher/locale/LANGUAGE.po.

Each line of a template is looked up. An entry stands in one line each for `msgid` and `msgstr`; its
fields are `{}` there, or their numbers where the translation has them in another order. A field
that is a message is looked up in turn; all others stay as they are: paths, names, code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterable, Mapping

import click

from patcher.display import styles
from patcher.display.styles import label, term
from patcher.message import Message
from patcher.text.terminal import padded, width, wrapped

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]+)\}")
_WIDE = {"; ": "；", ": ": "：", ", ": "，", ". ": "。", " (": "（", ")": "）"}


class Catalog:
    """The texts of a language; none for one that we do not have, such as `de` or `en_US.UTF-8`."""

    def __init__(self, language: str) -> None:
        code = language.replace("-", "_").partition("_")[0]
        path = Path(__file__).parent.parent / "locale" / f"{code}.po"
        lines = []
        if code.isalpha() and path.is_file():
            lines = path.read_bytes().split(b"\n")
        # `msgid` -> `msgstr`: parsed no further than what is looked up
        self._below = dict(zip(lines, lines[1:]))

    def __bool__(self) -> bool:
        return bool(self._below)

    def word(self, entry: str) -> str:
        """A text that is an entry by itself."""
        if not entry:
            return entry
        quoted = entry.replace("\\", "\\\\").replace('"', '\\"')
        line = self._below.get(f'msgid "{quoted}"'.encode("utf-8", "surrogateescape"))
        if not line:
            return entry
        said = line[len(b'msgstr "') : -1].decode("utf-8")
        return re.sub(r"\\(.)", r"\1", said)

    def text(self, text: str) -> str:
        """A message with its fields; any other text as it is."""
        if not isinstance(text, Message):
            return text
        return "\n".join(self._line(line, text.fields) for line in text.template.split("\n"))

    def _line(self, line: str, fields: Mapping[str, Any]) -> str:
        names = [match[1] for match in _FIELD.finditer(line) if match[1]]
        english = [f"{{{name}}}".format(**fields) for name in names]
        values = [self._field(name, fields, value) for name, value in zip(names, english)]
        said = self._template(line, translates_fields=values != english)
        parts = re.split(r"\{(\d?)\}", said)
        parts[1::2] = [values[int(number or at)] for at, number in enumerate(parts[1::2])]
        return _glued(parts)

    def _template(self, line: str, *, translates_fields: bool) -> str:
        """A line of a template in this language, with `{}` or `{NUMBER}` for its fields."""
        msgid = _FIELD.sub(lambda match: "{}" if match[1] else match[0][0], line)
        bare = msgid.strip()
        said = self.word(bare)
        if said != bare:
            indent = msgid[: len(msgid) - len(msgid.lstrip())]
            if indent == " " and _is_wide(said[:1]):
                indent = ""
            return indent + said + msgid[len(msgid.rstrip()) :]
        # `{place}: {problem}` has no words of its own: its punctuation is translated
        if translates_fields and not re.search("[A-Za-z]", msgid):
            return _widened(msgid)
        return msgid

    def _field(self, name: str, fields: Mapping[str, Any], english: str) -> str:
        field_name, *attributes = name.split(".")
        field = fields.get(field_name)
        for attribute in attributes:
            field = getattr(field, attribute, None)
        if isinstance(field, OSError) and field.strerror:
            said = self.word(field.strerror)
            return english.replace(field.strerror, said)
        return self.text(field) if isinstance(field, Message) else english


def _widened(line: str) -> str:
    for narrow, wide in _WIDE.items():
        line = line.replace(narrow, wide)
    return line


def _glued(parts: Iterable[str]) -> str:
    """The parts of a line; between two Chinese characters where they meet stands no blank."""
    line = ""
    for part in parts:
        if line[-1:] == " " and _is_wide(line[-2:-1]) and _is_wide(part[:1]):
            line = line[:-1]
        if part[:1] == " " and _is_wide(line[-1:]) and _is_wide(part[1:2]):
            part = part[1:]
        line += part
    return line


def _is_wide(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uff60"


def set_language(language: str) -> bool:
    """Write what this process says to people in a language.

    Returns:
        whether there is a catalogue of it.
    """
    catalog = Catalog(language)
    if catalog:
        styles.set_translation(catalog.text, catalog.word)
    return bool(catalog)


# help -------------------------------------------------------------------------------------------
class Formatter(click.HelpFormatter):
    """click's layout of help, for Chinese characters, which are two columns wide."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line `Usage: PROGRAM ARGUMENTS`."""
        super().write_usage(prog, args, term("Usage:"))

    def write_heading(self, heading: str) -> None:
        """Write the title of a section."""
        self.write(f"{' ' * self.current_indent}{label(heading)}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; one that begins with a backspace keeps its lines, as click has it."""
        for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
            self.write("\n" if number else "")
            if paragraph.startswith("\b"):
                lines = [term(line) for line in paragraph.splitlines()[1:]]
            else:
                lines = self._wrapped(_one_line(paragraph), 0)
            for line in lines:
                self.write(f"{' ' * self.current_indent}{line}\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a table of names and what they are."""
        rows = list(rows)
        column = min(max(width(name) for name, _ in rows), col_max) + col_spacing
        for name, help_text in rows:
            # what click adds: `[default: 120.0]`
            help_text, *defaults = _one_line(help_text).split("  [")
            lines = self._wrapped("  ".join([term(help_text), *map(_added, defaults)]), column)
            head = name
            if lines and width(name) <= column - col_spacing:
                head = padded(name, column) + lines.pop(0)
            indent = " " * self.current_indent
            self.write(f"{indent}{head}\n")
            for line in lines:
                self.write(f"{indent}{' ' * column}{line}\n")

    def _wrapped(self, paragraph: str, column: int) -> list[str]:
        return wrapped(term(paragraph), max(self.width - self.current_indent - column, 10))


class Context(click.Context):
    """A context whose help is written by `Formatter`."""

    formatter_class = Formatter


def _one_line(paragraph: str) -> str:
    return "  ".join(" ".join(part.split()) for part in re.split(r" {2,}(?=\[)", paragraph))


def _added(addition: str) -> str:
    """What click adds to help, `default: 120.0; required]`, in the language of the user."""
    parts = []
    for part in addition[:-1].split("; "):
        key, colon, value = part.partition(": ")
        parts.append(f"{term(key)}：{value}" if colon else term(key))
    return f"[{'；'.join(parts)}]"
