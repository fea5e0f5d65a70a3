"""What the text of a string literal means: its value is looked at, how it is written is not (format rule 8)."""

from __future__ import annotations

import ast
import inspect
from contextlib import suppress


def string_value(text: str) -> str:
    """A string literal's type and value as one text; of a multi-line one the indentation is not looked at (rule 8)."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return repr(inspect.cleandoc(value) if isinstance(value, str) and "\n" in value else value)


def f_string_text(text: str, prefix: str) -> str:
    """The value of the text part of an f-string."""
    plain = text.replace("{{", "{").replace("}}", "}")
    for quotes in ('"""', "'''"):
        with suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(f"{prefix}{quotes}{plain}{quotes}"))
    return plain
