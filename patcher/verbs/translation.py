"""Translation of messages where they are written: all other code builds English sentences, and JSON keeps them.

English unless `set_translation` was called, as `patcher.verbs.language` does with its catalog.
"""

from __future__ import annotations

from typing import Callable, List, Optional

from patcher.text.terminal import Styled


class Verbatim(str):
    """Text of others, such as a line of a log: made printable and wrapped as any text, and not translated."""


_sentence: Optional[Callable[[str], str]] = None
_word: Optional[Callable[[str], str]] = None


def set_translation(sentence: Callable[[str], str], word: Callable[[str], str]) -> None:
    """Translate sentences, and single words such as states, by these two functions from now on."""
    global _sentence, _word
    _sentence, _word = sentence, word


def translated(text: str) -> str:
    """A text of one line or several in the language of the user; styled text is code, or was translated already."""
    return text if _sentence is None or isinstance(text, (Styled, Verbatim)) else _sentence(text)


def translated_lines(text: str) -> List[str]:
    """The lines of a text in the language of the user."""
    return [Verbatim(line) for line in translated(text).split("\n") if line]


def term(word: str) -> str:
    """A word by itself, such as a state, in the language of the user: `applied`."""
    return word if _word is None else _word(word)


def label(name: str) -> str:
    """A word and a colon in the language of the user, as `error:`; without a blank after it, which a wide colon includes."""
    word = term(name)
    return f"{name}:" if word == name else f"{word}："
