"""The prose of a patchset in the language of the user; a paragraph is an entry of the catalogue."""

from __future__ import annotations

import re

from patcher.display.styles import term
from patcher.text.terminal import width, wrapped

_MARK = re.compile(r"- |[0-9]+\. ")
_BEFORE = re.compile(r"[ \t]*(?:- |[0-9]+\. )?")
_CODE = " " * 4
_COLUMN = re.compile(r"\S+(?: \S+)* {2,}")


def prose_parts(prose: str) -> list[str]:
    """The paragraphs of a prose, the items of its lists, its indented lines, and its blank lines.

    Returns:
        each with its own lines; joined by line ends they are the prose again.
    """
    parts: list[list[str]] = []
    for line in prose.split("\n"):
        if parts and _goes_on(parts[-1], line):
            parts[-1].append(line)
        else:
            parts.append([line])
    return ["\n".join(part) for part in parts]


def entry(part: str) -> str:
    """What the catalogue calls a part: its lines in one, without indentation and list marker."""
    text = part[len(_before(part)) :]
    return " ".join(line.strip() for line in text.split("\n"))


def translated_prose(prose: str, *, columns: int = 0) -> str:
    """A prose in the language of the user; what has no translation keeps its lines.

    Args:
        prose: the text, in English.
        columns: how wide a translated line may be; 0 for a line each part.
    """
    parts = []
    for part in prose_parts(prose):
        text = entry(part)
        said = term(text)
        if text and said != text:
            part = _laid_out(said, _before(part), columns)
        parts.append(part)
    return "\n".join(parts)


def _goes_on(part: list[str], line: str) -> bool:
    """Whether a line continues the part above it."""
    first = part[0]
    if not first.strip() or not line.strip() or _MARK.match(line):
        return False
    if first.startswith(_CODE):
        return _indent(line) > _indent(first)
    if _MARK.match(first):
        return line.startswith("  ")
    return not line.startswith(_CODE)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _before(part: str) -> str:
    """The indentation and the list marker of a part."""
    match = _BEFORE.match(part)
    return match[0] if match else ""


def _laid_out(text: str, before: str, columns: int) -> str:
    """A translated part in lines; those after the first stand below its text."""
    if not columns:
        return before + text
    is_table = before.isspace()
    column = _COLUMN.match(text) if is_table else None
    head = column[0] if column else ""
    hanging = " " * width(before + head)
    first, *others = wrapped(text[len(head) :], columns - width(hanging))
    return "\n".join([before + head + first, *(hanging + line for line in others)])
