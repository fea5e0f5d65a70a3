"""What inserted code hides from a reviewer.

Those are invisible characters, names that are not ASCII, and misleading strings.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Container, Iterator, Sequence, Tuple

from patcher.message import Message

if TYPE_CHECKING:
    from patcher.model import Patchset

_Line = Tuple[int, str]
"""The number of a line, and its text."""
# controls, format characters (bidi, zero width), line and paragraph separators
_HIDDEN = ("Cc", "Cf", "Zl", "Zp")
_STRING = r"""([A-Za-z]{0,2})('''|\"\"\"|'|")((?:\\.|(?!\2).)*)\2"""
_TEXTS = (
    r"""'''(?s:\\.|(?!''').)*'''|\"\"\"(?s:\\.|(?!\"\"\").)*\"\"\""""
    r"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|#[^\n]*"""
)
"""Strings and comments, which have no names."""
_MEANT = dict(zip("\u2018\u2019\u201c\u201d\u2010\u2013\u2014\u2212", "''\"\"----"))


def typeset(char: str) -> str:
    """What a character is that no code has, and what was meant.

    A web page, a mail or an input method may put it where code has an ASCII one.
    """
    meant = _MEANT.get(char, unicodedata.normalize("NFKC", char))
    name = f"U+{ord(char):04X} ({unicodedata.name(char, '?').lower()})"
    if meant.isascii():
        return Message("{name}, expected `{meant}`", name=name, meant=meant)
    return Message("{name}, which is no code", name=name)


def remarks(patchset: Patchset) -> list[str]:
    """Warnings about the code that a patchset inserts.

    They are a sentence for each character, or name, and line.
    """
    sentences = []
    options = {option.name for option in patchset.options}
    for name, content in patchset.folder.files.items():
        if name.endswith(".spatch"):
            added, matched = _sides(content)
            holes = set(re.findall(r"\$([A-Z][A-Z0-9_]*)\b", "\n".join(matched)))
            where = f"{patchset.name}/{name}"
            sentences += _about_characters(where, added)
            sentences += _about_placeholders(where, added, holes | options)
    return sentences


def _sides(spatch: str) -> tuple[list[_Line], list[str]]:
    """The lines that a .spatch adds, and those that it matches."""
    added: list[_Line] = []
    matched: list[str] = []
    for number, line in enumerate(spatch.split("\n"), 1):
        if line.startswith("+"):
            added.append((number, line[1:]))
        elif line.startswith(("-", " ")):
            matched.append(line)
    return added, matched


def _about_placeholders(
    path: str, lines: Sequence[_Line], placeholders: Container[str]
) -> list[str]:
    """Warnings about what looks like a placeholder inside a string, where a `$` is text."""
    sentences: list[str] = []
    for number, line in lines:
        if "$" not in line:
            continue
        for prefix, _, string in re.findall(_STRING, line):
            plain = string
            if "f" in prefix.lower():
                plain = re.sub(r"\{[^{}]*\}", "", string)
            for name in dict.fromkeys(re.findall(r"\$(\w+)", plain)):
                if name in placeholders:
                    sentence = Message(
                        "{path}:{number}: ${name} is inside a string and stays as it is written: "
                        "put it in the braces of an f-string",
                        path=path,
                        number=number,
                        name=name,
                    )
                    sentences.append(sentence)
    return sentences


def diff_remarks(path: str, diff: bytes) -> list[str]:
    """Warnings about the lines that a unified diff of one file adds.

    They have the numbers of the lines in the new file.
    """
    return _about_characters(path, list(_added(diff.decode("utf-8", "surrogateescape"))))


def _added(diff: str) -> Iterator[_Line]:
    number = 0
    for line in diff.split("\n")[2:]:
        if line[:1] == "@":
            number = int(line.split("+")[1].split(",")[0].split(" ")[0])
        elif line[:1] in ("+", " "):
            if line[:1] == "+":
                yield number, line[1:]
            number += 1


def _about_characters(path: str, lines: Sequence[_Line]) -> list[str]:
    """Warnings about characters that hide or reorder others, and names that are not ASCII."""
    sentences: list[str] = []
    if all(line.isascii() and line.isprintable() for _, line in lines):
        return sentences
    code = "\n".join(line for _, line in lines)
    without_texts = re.sub(_TEXTS, _blank, code).split("\n")
    for (number, line), names in zip(lines, without_texts):
        if line.isascii() and line.isprintable():
            continue
        where = Message("{path}:{number}: the inserted code has", path=path, number=number)
        if line.endswith("\r"):
            line = line[:-1]
        for char in dict.fromkeys(line):
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
