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

_FIELD = r"\{\{|\}\}|\{([^{}]+)\}"
_WIDE = {"; ": "；", ": ": "：", ", ": "，", ". ": "。", " (": "（", ")": "）"}


class Catalog:
    """The texts of a language; none for one that we do not have, such as `de` or `en_US.UTF-8`."""

    def __init__(self, language: str) -> None:
        code = language.replace("-", "_").partition("_")[0]
        path = Path(__file__).parent.parent / "locale" / f"{code}.po"
        lines = []
        if code.isalpha() and path.is_file():
            lines = path.read_bytes().split(b"\n")
        # the line of a `msgid` -> that of its `msgstr`, parsed when it is looked up
        self._msgstr_lines = dict(zip(lines, lines[1:]))

    def __bool__(self) -> bool:
        return bool(self._msgstr_lines)

    def word(self, entry: str) -> str:
        """The translation of a text that is an entry by itself; the text if there is none."""
        if not entry:
            return entry
        quoted = entry.replace("\\", "\\\\").replace('"', '\\"')
        line = self._msgstr_lines.get(f'msgid "{quoted}"'.encode("utf-8", "surrogateescape"))
        if not line:
            return entry
        translation = line[len(b'msgstr "') : -1].decode("utf-8")
        return re.sub(r"\\(.)", r"\1", translation)

    def text(self, text: str) -> str:
        """A message in this language, with its fields; any other text as it is."""
        if not isinstance(text, Message):
            return text
        return "\n".join(self._line(line, text.fields) for line in text.template.split("\n"))

    def _line(self, line: str, fields: Mapping[str, Any]) -> str:
        """A line of a template in this language, with the values of its fields."""
        english: list[str] = []
        values: list[str] = []
        for match in re.finditer(_FIELD, line):
            name = match[1]
            if name:
                text = match[0].format(**fields)
                english.append(text)
                values.append(self._field(name, fields, english=text))

        template = self._template(line, translates_fields=values != english)
        # text and numbers of fields by turns; a field without a number is the next one
        parts = re.split(r"\{(\d?)\}", template)
        for at in range(1, len(parts), 2):
            number = int(parts[at] or at // 2)
            parts[at] = values[number]
        return _glued(parts)

    def _template(self, line: str, *, translates_fields: bool) -> str:
        """A line of a template in this language, with `{}` or `{NUMBER}` for its fields.

        `translates_fields` is whether the text of a field differs from the English one.
        """
        msgid = re.sub(_FIELD, _bare_field, line)
        bare = msgid.strip()
        translation = self.word(bare)
        if translation != bare:
            before, _, after = msgid.partition(bare)
            if before == " " and _is_wide(translation[:1]):
                before = ""
            return f"{before}{translation}{after}"
        # `{place}: {problem}` has no words of its own: its punctuation is translated
        has_words = re.search("[A-Za-z]", msgid)
        if translates_fields and not has_words:
            return _widened(msgid)
        return msgid

    def _field(self, name: str, fields: Mapping[str, Any], *, english: str) -> str:
        """A field in this language; `english` is its text in English."""
        field = fields.get(name)
        if isinstance(field, OSError) and field.strerror:
            translation = self.word(field.strerror)
            return english.replace(field.strerror, translation)
        if isinstance(field, Message):
            return self.text(field)
        return english


def _bare_field(match: re.Match[str]) -> str:
    """`{}`, as entries have it, for a field; `{` or `}` for a brace, which a template doubles."""
    return "{}" if match[1] else match[0][0]


def _widened(line: str) -> str:
    """A line with Chinese punctuation."""
    for narrow, wide in _WIDE.items():
        line = line.replace(narrow, wide)
    return line


def _glued(parts: Iterable[str]) -> str:
    """The parts of a line, joined without a blank between two Chinese characters."""
    line = ""
    for part in parts:
        if line[-1:] == " " and _is_wide(line[-2:-1]) and _is_wide(part[:1]):
            line = line[:-1]
        if part[:1] == " " and _is_wide(line[-1:]) and _is_wide(part[1:2]):
            part = part[1:]
        line += part
    return line


def _is_wide(char: str) -> bool:
    """Whether a character is a Chinese one or a wide sign; not for ""."""
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uff60"


def set_language(language: str) -> bool:
    """Have this process write its texts for people in a language.

    Returns:
        whether there is a catalogue of it.
    """
    catalog = Catalog(language)
    if not catalog:
        return False
    styles.set_translation(catalog.text, catalog.word)
    return True


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
        widest = max(width(name) for name, _ in rows)
        column = min(widest, col_max) + col_spacing
        indent = " " * self.current_indent
        margin = indent + " " * column
        for name, help_text in rows:
            lines = self._wrapped(_translated_help(help_text), column)
            head = name
            if lines and width(name) <= column - col_spacing:
                head = padded(name, column) + lines.pop(0)
            self.write(f"{indent}{head}\n")
            for line in lines:
                self.write(f"{margin}{line}\n")

    def _wrapped(self, paragraph: str, column: int) -> list[str]:
        return wrapped(term(paragraph), max(self.width - self.current_indent - column, 10))


class Context(click.Context):
    """A context whose help is written by `Formatter`."""

    formatter_class = Formatter


def _one_line(paragraph: str) -> str:
    """A paragraph in one line; two blanks stay before what click adds: `[default: 120.0]`."""
    parts = [" ".join(part.split()) for part in re.split(r" {2,}(?=\[)", paragraph)]
    return "  ".join(parts)


def _translated_help(help_text: str) -> str:
    """The help of an option in one line, with what click adds, in the language of the user."""
    text, *additions = _one_line(help_text).split("  [")
    return "  ".join([term(text), *map(_added, additions)])


def _added(addition: str) -> str:
    """What click adds to help, `default: 120.0; required]`, in the language of the user."""
    parts = []
    for part in addition[:-1].split("; "):
        key, colon, value = part.partition(": ")
        if colon:
            parts.append(f"{term(key)}：{value}")
        else:
            parts.append(term(key))
    facts = "；".join(parts)
    return f"[{facts}]"
