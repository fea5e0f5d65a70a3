"""The edge where what the code says in English becomes the language of who reads it: only what writes to people calls this.

The code goes on building English sentences, and JSON keeps them; `patcher.cli.language` looks a finished one up in a catalog.
"""

from __future__ import annotations

from typing import Callable, Optional

from patcher.text.drawn import Painted


class Quoted(str):
    """What others have said, such as a line of a log: it is drawn and wrapped as any text, and stays as it is."""


_sentence: Optional[Callable[[str], str]] = None
_word: Optional[Callable[[str], str]] = None


def speak(sentence: Callable[[str], str], word: Callable[[str], str]) -> None:
    """Let this process tell people sentences, and the words of states, as two functions translate them."""
    global _sentence, _word
    _sentence, _word = sentence, word


def told(text: str) -> str:
    """A text of one line or several in the language of the reader; what is painted is code, or was told already."""
    return text if _sentence is None or isinstance(text, (Painted, Quoted)) else _sentence(text)


def term(text: str) -> str:
    """A word of ours that stands by itself, such as a state: `applied`."""
    return text if _word is None else _word(text)


def label(text: str) -> str:
    """A word of ours before what it is about, as `error:`; without the blank after it, which a wide colon has in itself."""
    found = term(text)
    return f"{text}:" if found == text else f"{found}："
