"""What lines of a log have in common, and words of which one is in each text that a regular expression matches.

Words are in small letters, `0` stands for each digit, a line feed for the beginning of the text: `form` of a text has them.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, Match, Optional, Tuple, TypeVar

Kind = TypeVar("Kind")

_NO_DIGITS = bytes.maketrans(b"123456789\r", b"000000000\n")
_SMALL = bytes(range(256)).lower().translate(_NO_DIGITS)


def shape(text: bytes) -> bytes:
    """A text with `0` in the place of each digit, and line feeds alone: what texts have in common that differ in numbers."""
    return text.translate(_NO_DIGITS)


def form(text: bytes) -> bytes:
    """A line as words are looked for in it."""
    return b"\n" + text.translate(_SMALL)


class Shapes(Dict[bytes, Kind]):
    """What is known of some shapes of text, as many as memory is for."""

    MOST, LONGEST = 4096, 600

    def keep(self, text: bytes, value: Kind) -> Kind:
        """Keep what is known of a shape."""
        if len(text) <= self.LONGEST:
            if len(self) >= self.MOST:
                self.clear()
            self[text] = value
        return value


class Worded:
    """A regular expression that is looked for only in texts that have one of its words, which are given with `|` between them.

    Each text that it matches has to have one of them, as `form` writes them.
    """

    def __init__(self, expression: bytes, words: bytes, flags: int = 0) -> None:
        self._expression = re.compile(expression, flags)
        self.words = tuple(words.split(b"|"))

    def search(self, text: bytes, formed: bytes) -> Optional[Match[bytes]]:
        """Where it is in a text, of which the form is given, too."""
        return self._expression.search(text) if any(map(formed.__contains__, self.words)) else None


def shortest(words: Iterable[bytes]) -> Tuple[bytes, ...]:
    """Of some words those that have no other one in them: where none of these is, none of all is."""
    several = tuple(dict.fromkeys(words))
    return tuple(word for word in several if not any(other in word for other in several if other != word))
