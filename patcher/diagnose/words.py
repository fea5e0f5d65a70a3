"""A regular expression -> words of which each text that it matches has one: where none of them is, it need not be looked for.

They are in small letters, `0` stands for each digit, and a line feed for the beginning of the text: `form` of a text has them.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from typing import Any, Dict, Iterable, List, Match, Optional, Sequence, Set, Tuple, TypeVar

Kind = TypeVar("Kind")

_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_FEW = 40  # texts that a part of an expression stands for, all of which are written out
_SHORTEST = 2
_NO_DIGITS = bytes.maketrans(b"123456789\r", b"000000000\n")
_SMALL = bytes(range(256)).lower().translate(_NO_DIGITS)
_ZERO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")


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
    """A regular expression that is looked for only in texts that have one of its words."""

    def __init__(self, expression: bytes, flags: int = 0) -> None:
        self._expression = re.compile(expression, flags)
        self.words = _words(_parser.parse(expression, flags))
        assert self.words, expression

    def search(self, text: bytes, formed: bytes) -> Optional[Match[bytes]]:
        """Where it is in a text, of which the form is given, too."""
        return self._expression.search(text) if any(map(formed.__contains__, self.words)) else None


def _words(tree: Iterable[Tuple[Any, Any]]) -> Tuple[bytes, ...]:
    """The longest words that some parts which follow each other need; () where they need none."""
    candidates: List[Set[bytes]] = []
    run = [b""]
    for kind, value in tree:
        texts = _texts(str(kind), value)
        joined = [begin + end for begin in run for end in texts or ()]
        if texts and len(joined) <= _FEW:
            run = joined
        else:
            candidates += [set(run), set(_inner(str(kind), value))]
            run = [b""]
        if str(kind) == "MAX_REPEAT" and value[0] < value[1]:
            candidates.append(set(run))
            run = [b""]
    candidates.append(set(run))
    best = max(candidates, key=lambda words: min(map(len, words), default=0))
    return shortest(sorted(best, key=len)) if min(map(len, best), default=0) >= _SHORTEST else ()


def _inner(kind: str, value: Any) -> Sequence[bytes]:
    """The words that a part needs which itself has parts."""
    if kind == "BRANCH":
        several = [_words(branch) for branch in value[1]]
        return [word for words in several for word in words] if all(several) else ()
    if kind == "SUBPATTERN":
        return _words(value[-1])
    return _words(value[2]) if kind in ("MAX_REPEAT", "MIN_REPEAT") and value[0] else ()


def _texts(kind: str, value: Any) -> List[bytes]:
    """All texts that a part can stand for, as far as they are few; of what is repeated, the fewest times."""
    if kind == "LITERAL":
        return [form(bytes([value]))[1:]]
    if kind in _ZERO_WIDTH:
        return [b"\n" if str(value) == "AT_BEGINNING" else b""]
    if kind == "IN":
        of_each = [_texts(*(str(inner), inner_value)) for inner, inner_value in value]
        return sorted({text for texts in of_each for text in texts}) if all(of_each) else []
    if kind == "CATEGORY":
        return [b"0"] if str(value) == "CATEGORY_DIGIT" else []
    if kind == "RANGE":
        return sorted({form(bytes([byte]))[1:] for byte in range(value[0], value[1] + 1)}) if value[1] - value[0] < 10 else []
    if kind == "SUBPATTERN":
        return _all_texts(value[-1])
    if kind == "BRANCH":
        of_each = [_all_texts(branch) for branch in value[1]]
        return [text for texts in of_each for text in texts] if all(of_each) else []
    if kind == "MAX_REPEAT" and value[0]:
        repeated = itertools.product(_all_texts(value[2]), repeat=value[0])
        return [b"".join(texts) for texts in itertools.islice(repeated, _FEW + 1)]
    return []


def _all_texts(tree: Iterable[Tuple[Any, Any]]) -> List[bytes]:
    """All texts that some parts can stand for which follow each other, as far as they are few."""
    run = [b""]
    for kind, value in tree:
        if str(kind) == "MAX_REPEAT" and value[0] != value[1]:
            return []
        run = [begin + end for begin in run for end in _texts(str(kind), value)]
    return run if len(run) <= _FEW else []


def shortest(words: Iterable[bytes]) -> Tuple[bytes, ...]:
    """Of some words those that have no other one in them: where none of these is, none of all is."""
    several = tuple(dict.fromkeys(words))
    return tuple(word for word in several if not any(other in word for other in several if other != word))
