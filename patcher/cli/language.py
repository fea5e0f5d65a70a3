"""Help, and what errors mean, in another language than English: the catalogs in patcher/locale, an entry a paragraph."""

from __future__ import annotations

import gettext
import json
import re
from pathlib import Path
from typing import Dict

import click.formatting

from patcher.text.width import wrapped


def catalog(language: str) -> Dict[str, str]:
    """What each English text is in a language, such as `zh` or `zh_CN.UTF-8`; nothing for a language that we have not."""
    code = re.match(r"[a-z]+", language)
    path = Path(__file__).parents[1] / "locale" / f"{code[0] if code else ''}.po"
    if not path.is_file():
        return {}
    found = re.findall(r'^msgid (".+")\nmsgstr (".+")$', path.read_text(encoding="utf-8"), re.MULTILINE)
    return {json.loads(text): json.loads(told) for text, told in found}


def speak(language: str) -> None:
    """Let this process print help, and what errors mean, in a language; what has no translation stays English.

    All text of help goes through two functions: what click says itself through gettext's, and ours through click's wrapping,
    which would count a Chinese character as one column and break lines at blanks alone. Both are replaced.
    """
    entries = catalog(language)
    if not entries:
        return

    def translate(text: str) -> str:
        return entries.get(text, text)

    def translated(text: str) -> str:
        """A paragraph, or the help of an option with what click adds to it: `[default: 120.0]`."""
        ours, bracket, added = text.rpartition(" [")
        found = translate(text)
        return f"{translate(ours)} [{added}" if found == text and bracket and text[-1] == "]" else found

    def wrap(
        text: str, width: int = 78, initial_indent: str = "", subsequent_indent: str = "", preserve_paragraphs: bool = False
    ) -> str:
        done = []
        for paragraph in re.split(r"\n\s*\n", text) if preserve_paragraphs else [text]:
            if paragraph.startswith("\b"):  # its lines are kept
                lines = [translate(line) for line in paragraph.splitlines()[1:]]
            else:
                lines = wrapped(translated(" ".join(paragraph.split())), width - len(subsequent_indent))
            indents = [initial_indent, *[subsequent_indent] * len(lines)]
            done.append("\n".join(indent + line for indent, line in zip(indents, lines)))
        return "\n\n".join(done)

    gettext.dgettext = lambda domain, message: translate(message)
    click.formatting.wrap_text = wrap
