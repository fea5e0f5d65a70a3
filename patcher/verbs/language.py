"""Messages in another language than English: each line of a template is looked up in a catalogue, patcher/locale/LANGUAGE.po.

An entry stands in one line each for `msgid` and `msgstr`, its fields are `{}` there, or their numbers where the translation
has them in another order. A field that is a message is looked up in turn; all others stay as they are: paths, names, code.
"""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, Mapping

from patcher.message import Message
from patcher.verbs import translation

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]+)\}")
_WIDE = {"; ": "；", ": ": "：", ", ": "，", ". ": "。", " (": "（", ")": "）"}


class Catalog:
    """The texts of a language; nothing for a language that we have not, such as `de` or `en_US.UTF-8`."""

    def __init__(self, language: str) -> None:
        code = language.replace("-", "_").partition("_")[0]
        path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "locale", f"{code}.po")
        lines = []
        if code.isalpha() and os.path.isfile(path):
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
        self._below = dict(zip(lines, lines[1:]))  # `msgid` -> `msgstr`: parsed no further than what is looked up

    def __bool__(self) -> bool:
        return bool(self._below)

    def word(self, entry: str) -> str:
        """A text that is an entry by itself."""
        quoted = entry.replace("\\", "\\\\").replace('"', '\\"')
        line = self._below.get(f'msgid "{quoted}"'.encode("utf-8", "surrogateescape")) if entry else None
        said = line[len(b'msgstr "') : -1].decode("utf-8") if line else entry
        return re.sub(r"\\(.)", r"\1", said) if line and "\\" in said else said

    def text(self, text: str) -> str:
        """A message with its fields; any other text as it is."""
        if not isinstance(text, Message):
            return text
        return "\n".join(self._line(line, text.fields) for line in text.template.split("\n"))

    def _line(self, line: str, fields: Mapping[str, Any]) -> str:
        names = [match[1] for match in _FIELD.finditer(line) if match[1]]
        english = [f"{{{name}}}".format(**fields) for name in names]
        values = [self._field(name, fields, value) for name, value in zip(names, english)]
        msgid = _FIELD.sub(lambda match: "{}" if match[1] else match[0][0], line)
        bare = msgid.strip()
        said = self.word(bare)
        if said != bare:
            indent = msgid[: len(msgid) - len(msgid.lstrip())]
            said = f"{'' if indent == ' ' and _is_wide(said[:1]) else indent}{said}{msgid[len(msgid.rstrip()) :]}"
        else:  # `{place}: {problem}`: the punctuation is translated
            said = _widened(msgid) if values != english and not re.search("[A-Za-z]", msgid) else msgid
        parts = re.split(r"\{(\d?)\}", said)
        parts[1::2] = [values[int(number or at)] for at, number in enumerate(parts[1::2])]
        return _glued(parts)

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
        line += part[1:] if part[:1] == " " and _is_wide(line[-1:]) and _is_wide(part[1:2]) else part
    return line


def _is_wide(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uff60"


def set_language(language: str) -> bool:
    """Write what this process says to people in a language; returns whether there is a catalogue of it."""
    catalog = Catalog(language)
    if catalog:
        translation.set_translation(catalog.text, catalog.word)
    return bool(catalog)
