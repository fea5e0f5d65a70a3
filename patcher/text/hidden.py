"""What inserted code hides from a reviewer: invisible characters, names that are not ASCII, misleading strings."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Iterator

from patcher.message import Message

if TYPE_CHECKING:
    from patcher.model import Patchset

# controls, format characters (bidi, zero width), line and paragraph separators
_HIDDEN = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
)
_STRING = r"""([A-Za-z]{0,2})('''|\"\"\"|'|")((?:\\.|(?!\2).)*)\2"""
_TEXTS = re.compile(
    r"""'''(?s:\\.|(?!''').)*'''|\"\"\"(?s:\\.|(?!\"\"\").)*\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|#[^\n]*"""
)
"""Strings and comments, which have no names."""
_MEANT = dict(zip("\u2018\u2019\u201c\u201d\u2010\u2013\u2014\u2212", "''\"\"----"))


def typeset(char: str) -> str:
    """What a character is that a web page, a mail or an input method puts where code has an ASCII one, and what was meant."""
    meant = _MEANT.get(char, unicodedata.normalize("NFKC", char))
    name = f"U+{ord(char):04X} ({unicodedata.name(char, '?').lower()})"
    return Message(
        "{name}, expected `{meant}`" if meant.isascii() else "{name}, which is no code",
        name=name,
        meant=meant,
    )


def remarks(patchset: Patchset) -> list[str]:
    """Warnings about the code that a patchset inserts: a sentence for each character or name and line."""
    sentences = []
    for name, content in patchset.folder.files.items():
        if name.endswith(".spatch"):
            lines = list(enumerate(content.split("\n"), 1))
            added = [(number, line[1:]) for number, line in lines if line[:1] == "+"]
            matched = "\n".join(line for _, line in lines if line[:1] in ("-", " "))
            placeholders = {
                *re.findall(r"\$([A-Z][A-Z0-9_]*)\b", matched),
                *(option.name for option in patchset.options),
            }
            where = f"{patchset.name}/{name}"
            sentences += [*_pointed(where, added), *_left(where, added, placeholders)]
    return sentences


def _left(path: str, lines: list[tuple[int, str]], placeholders: set[str]) -> list[str]:
    """Warnings about what looks like a placeholder inside a string, where a `$` is text."""
    sentences: list[str] = []
    for number, line in lines:
        for prefix, _, string in re.findall(_STRING, line) if "$" in line else ():
            plain = re.sub(r"\{[^{}]*\}", "", string) if "f" in prefix.lower() else string
            names = [
                name
                for name in dict.fromkeys(re.findall(r"\$(\w+)", plain))
                if name in placeholders
            ]
            template = (
                "{path}:{number}: ${name} is inside a string and stays as it is written: "
                "put it in the braces of an f-string"
            )
            sentences += [Message(template, path=path, number=number, name=name) for name in names]
    return sentences


def diff_remarks(path: str, diff: bytes) -> list[str]:
    """Warnings about the lines that a unified diff of one file adds, with their line numbers in the new file."""
    return _pointed(path, list(_added(diff.decode("utf-8", "surrogateescape"))))


def _added(diff: str) -> Iterator[tuple[int, str]]:
    number = 0
    for line in diff.split("\n")[2:]:
        if line[:1] == "@":
            number = int(line.split("+")[1].split(",")[0].split(" ")[0])
        elif line[:1] in ("+", " "):
            if line[:1] == "+":
                yield number, line[1:]
            number += 1


def _pointed(path: str, lines: list[tuple[int, str]]) -> list[str]:
    sentences: list[str] = []
    if all(line.isascii() and line.isprintable() for _, line in lines):
        return sentences
    without_texts = _TEXTS.sub(_blank, "\n".join(line for _, line in lines)).split("\n")
    for (number, line), names in zip(lines, without_texts):
        if line.isascii() and line.isprintable():
            continue
        code = line[:-1] if line.endswith("\r") else line
        where = Message("{path}:{number}: the inserted code has", path=path, number=number)
        for char in dict.fromkeys(code):
            if unicodedata.category(char) in _HIDDEN and char not in "\t\f":
                name = unicodedata.name(char, "").lower() or Message("a control character")
                problem = "{where} U+{code:04X} ({name}), which hides or reorders what stands there"
                sentences.append(Message(problem, where=where, code=ord(char), name=name))
        for word in dict.fromkeys(re.findall(r"[^\W\d]\w*", names)):
            if not word.isascii():
                template = "{where} the name {word}, which is not ASCII: it may look like another"
                sentences.append(Message(template, where=where, word=word))
    return sentences


def _blank(text: re.Match[str]) -> str:
    """The lines of a match without their characters."""
    return re.sub(r"[^\n]", " ", text[0])
