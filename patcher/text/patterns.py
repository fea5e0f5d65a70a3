"""Patterns of symptoms: text in which `*` is any text, and a role (`{device}`) one of its words.

What stands between words where text is wrapped, quoted or put into a table may be between any two
letters of a pattern. The parts of a pattern are looked for one after the other, in time that is
linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable, Pattern, Sequence

ROLES = {
    "{device}": "cuda|musa|gcu|npu|xpu|hpu|mlu|xla|rocm|hip|dipu",
    "{vendor}": "musa|gcu|npu|xpu|hpu|mlu|xla|dipu",  # a device that a vendor's package adds
    "{collective}": "nccl|hccl|mccl|eccl|cncl|xccl|rccl|oneccl|gloo|ucc",
}
_ROLE = re.compile("(" + "|".join(map(re.escape, ROLES)) + ")")
_REACH = 4096
"""Bytes in which all parts of a pattern stand."""
_AGAIN = 3072
"""Bytes after which it is looked for once more where a part is missing."""

_NO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_WORDS = bytes(range(256)).lower().translate(_NO_DIGITS)
# What stands between the words of a text, however it was wrapped, quoted or put into a table or a
# string of JSON: blanks, some of ASCII and, in UTF-8, what frames and quotes are drawn with.
BETWEEN = b" \t\r\n\v\f>|*`'\"\\" + bytes(sorted(set("│┃╭╰╮╯─━┌└“”‘’•".encode())))
_GAP = b"[" + re.escape(BETWEEN) + b"]*"
ESCAPE = rb"(?<=\\[nrt])|(?<=\\u[0-9a-f]{4})"  # what JSON writes for a line's end or a letter
_WINDOWS_FILE = re.compile(rb'(?<![A-Za-z])[A-Za-z]:\\[^"\n<>|*?]{1,300}?\.py\b')
_BEFORE_WORD = rb"(?:(?<![A-Za-z0-9_])|" + ESCAPE + rb")"
_AFTER_WORD, _AFTER_NAME = rb"(?![A-Za-z0-9_])", rb"(?!\.\w)"


def shape(text: bytes) -> bytes:
    """A text with `0` in the place of each digit: the same for texts that differ in numbers."""
    return text.translate(_NO_DIGITS)


def with_slashes(text: bytes) -> bytes:
    """A text with `/` in the paths of Python files on Windows, each byte in its place.

    Of two backslashes, as JSON writes one, the first stays: it may stand between any two letters.
    """
    if b":\\" not in text:
        return text
    return _WINDOWS_FILE.sub(lambda path: re.sub(rb"\\(?!\\)", b"/", path[0]), text)


def wording(text: bytes) -> bytes:
    """A text in small letters, with `0` for each digit, without what stands between its words.

    It is the same however the text was wrapped.
    """
    return with_slashes(text).translate(_WORDS, BETWEEN)


class SymptomPattern:
    """A pattern of a symptom.

    Its `stem` is the longest piece of it without digits, as `wording` has it.
    """

    def __init__(self, text: str) -> None:
        pieces = []
        for part in text.split("*"):
            for piece in _ROLE.split(part):
                if piece not in ROLES:
                    pieces.append(wording(piece.encode()))
        self.text = text
        self.stem = max(b"0".join(pieces).split(b"0"), key=len)

    def place(self, text: bytes) -> int:
        """Where in a text it begins, as whole words; -1 where it is not."""
        first, *rest = _expressions(self.text)
        text = with_slashes(text)
        begin = first.search(text)
        while begin:
            if _all_follow(rest, text, begin.start()):
                return begin.start()
            begin = first.search(text, max(begin.end(), begin.start() + _AGAIN))
        return -1


def _all_follow(parts: Sequence[Pattern[bytes]], text: bytes, start: int) -> bool:
    """Whether all parts stand in a text one after the other, within `_REACH` of the start.

    Each is taken where it stands first: a later place leaves less for those after it.
    """
    at = start
    for part in parts:
        match = part.search(text, at, start + _REACH)
        if not match:
            return False
        at = match.end()
    return True


# a log has its own reader, and the patterns are the same
compiled = lru_cache(maxsize=None)(SymptomPattern)


@lru_cache(maxsize=None)
def _expressions(pattern: str) -> tuple[Pattern[bytes], ...]:
    """The parts of a pattern, with a gap between any two letters.

    A single part is there twice, as its beginning and its end.
    """
    parts = [_GAP.join(_letters(part)) for part in pattern.split("*") if part]
    if len(parts) == 1:
        parts *= 2
    if pattern[0].isalnum() or pattern[0] == "{":
        parts[0] = _BEFORE_WORD + parts[0]
    if pattern[-1].isalnum():
        parts[-1] += _AFTER_WORD
    elif pattern.endswith(tuple(ROLES)):
        parts[-1] += _AFTER_NAME
    return tuple(re.compile(part, re.IGNORECASE) for part in parts)


def _letters(part: str) -> Iterable[bytes]:
    for piece in _ROLE.split(part):
        if piece in ROLES:
            yield f"(?:{ROLES[piece]})".encode()
            continue
        for byte in piece.encode():
            if byte not in BETWEEN:
                yield re.escape(bytes([byte]))


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text has a pattern."""
    symptom = compiled(pattern)
    data = text.encode("utf-8", "replace")
    return symptom.stem in wording(data) and symptom.place(data) >= 0
