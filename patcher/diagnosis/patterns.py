"""Patterns of symptoms -> which of them a text has: literal text in which `*` is any text, `{device}` any kind of device.

In an advice `{smi}` stands for the tool that shows the cards.

Texts are compared squeezed (`patcher.diagnosis.lines`), however they were wrapped or quoted. A pattern is looked for where one
word of it stands, and its parts one after the other, in time that is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, Iterable, List, NamedTuple, Pattern, Tuple, Union

from patcher.diagnosis.words import BETWEEN, squeezed

ROLES = {
    "{device}": "cuda|musa|gcu|npu|xpu|hpu|mlu|xla|rocm|hip|dipu",
    "{collective}": "nccl|hccl|mccl|eccl|cncl|xccl|rccl|oneccl|gloo|ucc",
}
_TOOLS = {  # that show the cards of a kind
    "cuda": "nvidia-smi",
    "npu": "npu-smi",
    "musa": "mthreads-gmi",
    "gcu": "efsmi",  # named where no kind is known
    "xpu": "xpu-smi",
    "hpu": "hl-smi",
    "mlu": "cnmon",
    "rocm": "rocm-smi",
}
_COMMON_TOOLS = 4
_ROLE = re.compile("|".join(map(re.escape, ROLES)))
_COMMON = (  # of which one is in most patterns, the rarest first: where it is not, they need not be looked for
    b"signal socket rendezvous symbol attribute failed found timeout error device module torch available support only".split()
)
_REACH = 4096  # bytes in which the parts of a pattern follow each other
_BACK = 1024  # bytes before its longest literal part in which it begins
_GAP = b"[" + re.escape(BETWEEN) + b"]*"
_BEFORE_WORD, _AFTER_WORD = rb"(?<![A-Za-z0-9_])", rb"(?![A-Za-z0-9_])"
_DIGITS = re.compile(rb"\d+")


class Compiled(NamedTuple):
    """A pattern, squeezed: its longest literal piece, and its parts; those with roles are regular expressions.

    `stem` is the longest piece of the mark without digits; with `has_digits` other digits make another pattern of it.
    """

    text: str
    mark: bytes
    stem: bytes
    parts: Tuple[Union[bytes, Pattern[bytes]], ...]
    has_digits: bool

    def is_in(self, text: bytes) -> bool:
        """Whether a squeezed text has it."""
        at = text.find(self.mark)
        while at >= 0:
            place, stop = max(0, at - _BACK), at + _REACH
            for part in self.parts:  # the first place for each: a later one leaves less for those that follow
                place = _end(part, text, place, stop)
                if place < 0:
                    break
            else:
                return True
            at = text.find(self.mark, stop - _BACK)
        return False

    def place(self, text: bytes) -> int:
        """Where in a text that has it, as it stands, it begins as whole words; -1 if it does not."""
        first, last = _ends(self.text)
        begin = first.search(text)
        return begin.start() if begin and last.search(text, begin.start()) else -1


def _end(part: Union[bytes, Pattern[bytes]], text: bytes, place: int, stop: int) -> int:
    if isinstance(part, bytes):
        at = text.find(part, place, stop)
        return at + len(part) if at >= 0 else -1
    found = part.search(text, place, stop)
    return found.end() if found else -1


@lru_cache(maxsize=None)  # a log has its own reader, and the patterns are the same
def compile_pattern(pattern: str) -> Compiled:
    """A pattern as it is looked for."""
    parts = [part for part in pattern.split("*") if part]
    literals = [squeezed(piece.encode()) for part in parts for piece in _ROLE.split(part)]
    tight = tuple(re.compile(_tight(part)) if _ROLE.search(part) else squeezed(part.encode()) for part in parts)
    mark = max(literals, key=len)
    return Compiled(pattern, mark, max(_DIGITS.split(mark), key=len), tight, bool(_DIGITS.search(pattern.encode())))


@lru_cache(maxsize=None)
def _ends(pattern: str) -> Tuple[Pattern[bytes], Pattern[bytes]]:
    """How the beginning and the end of a pattern read in a text as it stands."""
    first, *_, last = [part for part in pattern.split("*") if part] * 2
    begin = (_BEFORE_WORD if first[0].isalnum() or first[0] == "{" else b"") + _loose(first)
    end = _loose(last) + (_AFTER_WORD if last[-1].isalnum() else b"")
    return re.compile(begin, re.IGNORECASE), re.compile(end, re.IGNORECASE)


def _tight(part: str) -> bytes:
    """A part of a pattern as a regular expression for squeezed text."""
    texts = [re.escape(squeezed(piece.encode())) for piece in _ROLE.split(part)]
    roles = [f"(?:{ROLES[role]})".encode() for role in _ROLE.findall(part)]
    return b"".join(text + role for text, role in zip(texts, [*roles, b""]))


def _loose(part: str) -> bytes:
    """A part of a pattern as a regular expression for text as it stands."""
    texts = [_GAP.join(re.escape(bytes([byte])) for byte in squeezed(piece.encode())) for piece in _ROLE.split(part)]
    roles = [f"(?:{ROLES[role]})".encode() for role in _ROLE.findall(part)]
    joined = [text + (_GAP if text else b"") + role + (_GAP if role else b"") for text, role in zip(texts, [*roles, b""])]
    return b"".join(joined)[: -len(_GAP)] if texts[-1] else b"".join(joined)


class Patterns:
    """Some patterns; `words` are squeezed words, without digits, of which a text has one if it has any of them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._by_word: Dict[bytes, List[Compiled]] = {}
        for compiled in map(compile_pattern, dict.fromkeys(patterns)):
            word = next((word for word in _COMMON if word in compiled.stem), compiled.stem)
            self._by_word.setdefault(word, []).append(compiled)
        self.words = tuple(self._by_word)

    def likely(self, text: bytes) -> List[Compiled]:
        """The patterns of which a squeezed text, or one with other digits, has the mark: no other one is in it."""
        several = (patterns for word, patterns in self._by_word.items() if word in text)
        return [pattern for patterns in several for pattern in patterns if pattern.stem in text]


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text has a pattern."""
    compiled, data = compile_pattern(pattern), text.encode("utf-8", "replace")
    return compiled.is_in(squeezed(data)) and compiled.place(data) >= 0


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice in which `{smi}` is the tools of these kinds of cards, of common ones where none is known."""
    names = [_TOOLS[kind] for kind in kinds if kind in _TOOLS] or [*list(_TOOLS.values())[:_COMMON_TOOLS], "..."]
    return advice.replace("{smi}", ", ".join(names))
