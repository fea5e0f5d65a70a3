"""A paragraph of a log -> what it shows: patterns of symptoms, errors that are seen by their form, devices. Pure."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnosis.errors import KNOWN, NEAR, Seen, error_in, is_source, is_spoken, was_retried
from patcher.diagnosis.failures import CHAINED, MARKS
from patcher.diagnosis.lines import begins
from patcher.diagnosis.patterns import Compiled, Patterns
from patcher.diagnosis.report import OURS, REFUSAL
from patcher.diagnosis.words import shape, squeezed

_REFUSAL = squeezed(REFUSAL.encode())
_DEVICE = re.compile(  # what a text says of the card that it is from
    rb"torch[_-](npu|gcu|musa|mlu|xla)\b|\b(npu|gcu|musa|mlu|xpu|hpu|xla):\d|type='(npu|gcu|musa|mlu|xpu|hpu|xla)'|"
    rb"\b(NPU|GCU|MUSA|MLU|XPU|HPU)\b"
)
_CARDS = (
    (re.compile(rb"\b(?:Enflame|T20|S60)\b|" + "燧原".encode()), "gcu"),
    (re.compile(rb"\bAscend\b|\b910B|" + "昇腾".encode()), "npu"),
    (re.compile(rb"\bMTT S\d|" + "摩尔线程".encode()), "musa"),
    (re.compile(rb"\bGaudi"), "hpu"),
)
_NUMBERED = re.compile(rb"\b[TS]0{1,3}\b|\b000B\b|\bexit|\bstatus\b")  # what is looked at again where the digits are others


class Content(NamedTuple):
    """What a paragraph shows: patterns and errors, the lines that withdraw what was before them, devices."""

    seen: Tuple[Seen, ...]
    chained: Tuple[int, ...]
    retried: Tuple[int, ...]
    devices: Tuple[str, ...]
    is_refused: bool

    @property
    def patterns(self) -> Tuple[str, ...]:
        """The patterns that it has."""
        return tuple(seen.key for seen in self.seen if seen.kind == KNOWN)


NOTHING = Content((), (), (), (), is_refused=False)


def _known(pattern: Compiled, text: bytes) -> Optional[Seen]:
    at = pattern.place(text)
    if at < 0:
        return None
    begin = text.rfind(b"\n", 0, at) + 1
    near = max(begin, at - NEAR)
    spoken = is_source(text[near:at]) or is_spoken(text[near : at + NEAR].partition(b"\n")[0])
    return Seen(KNOWN, pattern.text, at - begin, at - begin, spoken, text.count(b"\n", 0, at))


class Shapes(Dict[bytes, Content]):
    """What texts of some shapes show, of as many as memory is for."""

    MOST, LONGEST = 4096, 600

    def keep(self, text: bytes, content: Content) -> None:
        """Keep what texts of a shape show."""
        if len(text) <= self.LONGEST:
            if len(self) >= self.MOST:
                self.clear()
            self[text] = content


class ParagraphReader:
    """Reads paragraphs; what they show is worked out once for all that differ in digits alone, as far as those say nothing.

    `words` are squeezed words: one is in each paragraph that has a pattern, a mark or a refusal. `settled` is what lines
    show, by their shape, that are a paragraph by themselves, where that is nothing but to be counted once more.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = Patterns(patterns)
        words = dict.fromkeys((*self._patterns.words, _REFUSAL, *map(squeezed, (OURS, *MARKS))))
        self.words = [word for word in words if not any(other in word for other in words if other != word)]
        self.settled, self._known = Shapes(), Shapes()

    def read(self, text: bytes) -> Content:
        """What a paragraph shows."""
        alike = shape(text)
        content = self._known.get(alike)
        if content is None:
            tight = squeezed(text)
            likely = self._patterns.likely(tight)
            content = self._look(text, tight, likely)
            if not any(pattern.has_digits for pattern in likely) and not _NUMBERED.search(alike):
                self._known.keep(alike, content)
                if b"\n" not in text and begins(text) and _is_settled(text, content):
                    self.settled.keep(alike, content)
        return content

    def _look(self, text: bytes, tight: bytes, likely: Sequence[Compiled]) -> Content:
        lines = text.split(b"\n")
        known = (_known(pattern, text) for pattern in likely if pattern.is_in(tight))
        errors = (error_in(line, row) for row, line in enumerate(lines))
        devices = {kind.lower().decode() for kinds in _DEVICE.findall(text) for kind in kinds if kind}
        look = Content(
            seen=tuple(filter(None, (*known, *errors))),
            chained=tuple(row for row, line in enumerate(lines) if any(mark in line for mark in CHAINED)),
            retried=tuple(row for row, line in enumerate(lines) if was_retried(line)),
            devices=tuple(devices.union(kind for card, kind in _CARDS if card.search(text))),
            is_refused=_REFUSAL in tight,
        )
        return NOTHING if look == NOTHING else look


def _is_settled(line: bytes, content: Content) -> bool:
    """Whether what a line shows is nothing but to be counted once more where it is seen again."""
    more = content.chained or content.retried or content.devices or content.is_refused
    return not (more or any(seen.is_spoken for seen in content.seen) or any(mark in line for mark in (OURS, *MARKS)))
