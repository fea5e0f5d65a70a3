"""Patterns of symptoms: text in which `*` is any text, and a role (`{device}`, `{collective}`, ...) one of its words.

What stands between words where text is wrapped, quoted or put into a table may be between any two letters of a pattern. The
parts of a pattern are looked for one after the other, in time that is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable, Pattern

ROLES = {
    "{device}": "cuda|musa|gcu|npu|xpu|hpu|mlu|xla|rocm|hip|dipu",
    "{vendor}": "musa|gcu|npu|xpu|hpu|mlu|xla|dipu",  # a device that a vendor's package adds
    "{collective}": "nccl|hccl|mccl|eccl|cncl|xccl|rccl|oneccl|gloo|ucc",
}
_ROLE = re.compile("(" + "|".join(map(re.escape, ROLES)) + ")")
_REACH, _AGAIN = (
    4096,
    3072,
)  # bytes: how far apart the parts of a pattern stand at most; how far on it is looked for once more

_NO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_WORDS = bytes(range(256)).lower().translate(_NO_DIGITS)
# What stands between the words of a text, however it was wrapped, quoted or put into a table or a string of JSON: blanks, some
# of ASCII and, in UTF-8, what frames and quotes are drawn with.
BETWEEN = b" \t\r\n\v\f>|*`'\"\\" + bytes(sorted(set("│┃╭╰╮╯─━┌└“”‘’•".encode())))
_GAP = b"[" + re.escape(BETWEEN) + b"]*"
ESCAPE = rb"(?<=\\[nrt])|(?<=\\u[0-9a-f]{4})"  # what JSON writes for a line's end or a letter
_BEFORE_WORD = rb"(?:(?<![A-Za-z0-9_])|" + ESCAPE + rb")"
_AFTER_WORD, _AFTER_NAME = rb"(?![A-Za-z0-9_])", rb"(?!\.\w)"


def shape(text: bytes) -> bytes:
    """A text with `0` in the place of each digit: what texts have in common that differ in numbers."""
    return text.translate(_NO_DIGITS)


def wording(text: bytes) -> bytes:
    """A text in small letters, with `0` for each digit, without what stands between its words: however it was wrapped."""
    return text.translate(_WORDS, BETWEEN)


class SymptomPattern:
    """A pattern of a symptom. Its `stem` is the longest piece of it without digits, as `wording` has it."""

    def __init__(self, text: str) -> None:
        pieces = [
            wording(piece.encode())
            for part in text.split("*")
            for piece in _ROLE.split(part)
            if piece not in ROLES
        ]
        self.text, self.stem = text, max(b"0".join(pieces).split(b"0"), key=len)

    def place(self, text: bytes) -> int:
        """Where in a text it begins, as whole words; -1 where it is not."""
        first, *rest = _expressions(self.text)
        begin = first.search(text)
        while begin:
            at, stop = begin.start(), begin.start() + _REACH
            for (
                part
            ) in rest:  # the first place for each: a later one leaves less for those after it
                found = part.search(text, at, stop)
                if not found:
                    break
                at = found.end()
            else:
                return begin.start()
            begin = first.search(text, max(begin.end(), begin.start() + _AGAIN))
        return -1


compiled = lru_cache(maxsize=None)(
    SymptomPattern
)  # a log has its own reader, and the patterns are the same


@lru_cache(maxsize=None)
def _expressions(pattern: str) -> tuple[Pattern[bytes], ...]:
    """The parts of a pattern, with a gap between any two letters; the beginning and the end of a single one."""
    parts = [_GAP.join(_letters(part)) for part in pattern.split("*") if part]
    parts = parts * 2 if len(parts) == 1 else parts
    parts[0] = (_BEFORE_WORD if pattern[0].isalnum() or pattern[0] == "{" else b"") + parts[0]
    if pattern[-1].isalnum():
        parts[-1] += _AFTER_WORD
    elif pattern.endswith(tuple(ROLES)):
        parts[-1] += _AFTER_NAME
    return tuple(re.compile(part, re.IGNORECASE) for part in parts)


def _letters(part: str) -> Iterable[bytes]:
    for piece in _ROLE.split(part):
        if piece in ROLES:
            yield f"(?:{ROLES[piece]})".encode()
        else:
            yield from (re.escape(bytes([byte])) for byte in piece.encode() if byte not in BETWEEN)


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text has a pattern."""
    wanted, data = compiled(pattern), text.encode("utf-8", "replace")
    return wanted.stem in wording(data) and wanted.place(data) >= 0
