"""The value of string literals, which is what is compared, however they are written (format rule 8)."""

from __future__ import annotations

import ast
from contextlib import suppress
from textwrap import dedent
from typing import List

from patcher.engine.node import Node


def string_value(text: str) -> str:
    """A string literal's type and value as one text; the indentation of one written on several lines is left out (rule 8)."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, str) and "\n" in text:
        first, *more = value.split("\n")
        value = "\n".join([first, dedent("\n".join(more))])
    return repr(value)


def f_string_text(text: str, prefix: str) -> str:
    """The value of the text part of an f-string."""
    plain = text.replace("{{", "{").replace("}}", "}")
    for quotes in ('"""', "'''"):
        with suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(f"{prefix}{quotes}{plain}{quotes}"))
    return plain


def merge_texts(parts: List[Node]) -> List[Node]:
    """The parts of an f-string, with neighbouring texts merged into one."""
    merged: List[Node] = []
    for part in parts:
        if part.kind == "String":
            value = str(ast.literal_eval(str(part.fields["value"])))
            part = Node("FText", (part.start, part.start, part.end, part.end), value=value)
        if part.kind == "FText" and merged and merged[-1].kind == "FText":
            last = merged[-1]
            text = f"{last.fields['value']}{part.fields['value']}"
            merged[-1] = Node("FText", (last.start, last.start, part.end, part.end), value=text)
        else:
            merged.append(part)
    return merged
