"""Carries recorded splices over to a text without some earlier steps, where matching anew cannot give another result.

A hunk with a named scope depends on the definitions of that name, and on the names that the module binds. So it makes the
same change again if the omitted splices are in the bodies of other top-level definitions and define no scope or global name.
Everything else is matched anew (`patcher.planner.resolve`).
"""

from __future__ import annotations

import ast
import fnmatch
import re
import warnings
from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.model import HunkText, Splice, Step

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_REACHES_OUT = re.compile(rb"\b(?:def|class|global)\b|[\r\n][^\s#]")  # names for others, or a line of the top level
_ASIDE = re.compile(rb"[ \t]*(?:#[^\r\n]*)?[\r\n]")  # a line without code, as may stand above the first statement
_RENAMES = re.compile(r"\s*(?:async\s+)?(?:def|class)\b")


class Body(NamedTuple):
    """The body of a top-level definition: its name, and the byte offsets of its first line and of the line below it."""

    name: str
    start: int
    end: int


class Carrier:
    """Maps offsets from the old text of a file to a new one without some steps, as both are built up step by step.

    Args:
        pristine: the pristine bytes.
        steps: the first steps, which both texts have.
    """

    def __init__(self, pristine: bytes, steps: Sequence[Step]) -> None:
        self._bodies = list(_bodies(pristine))
        self._left: List[Tuple[int, int]] = []  # byte offset and growth of each splice that was left out
        self._touched: Set[str] = set()
        self._known = True
        for step in steps:
            self.take(step.splices)

    def lose(self) -> None:
        """Record that the texts differ in an unknown way from here on: nothing can be carried over."""
        self._known = False

    def take(self, splices: Sequence[Splice]) -> None:
        """Record a step that both texts have."""
        self._left = [(_moved(at, splices), growth) for at, growth in self._left]
        self._bodies = [Body(name, _moved(start, splices), _moved(end, splices)) for name, start, end in self._bodies]

    def leave_out(self, step: Step, text: bytes) -> None:
        """Record a step that the new text lacks; `text` is the old text before that step."""
        for splice in step.splices:
            body = next((each for each in self._bodies if each.start <= splice.start < each.end >= splice.end), None)
            if body is None or _REACHES_OUT.search(splice.new) or _REACHES_OUT.search(text[splice.start : splice.end]):
                self.lose()
            else:
                self._touched.add(body.name)
            self._left.append((splice.start, len(splice.new) - (splice.end - splice.start)))
        self.take(step.splices)

    def carried(self, step: Step, hunks: Sequence[HunkText], old: bytes, new: bytes) -> Optional[Step]:
        """The step recorded for `old`, with splices and places for `new`; None where its hunks have to be matched anew."""
        if not self._known or any(self._sees(hunk) for hunk in hunks):
            return None
        starts = [0, *(found.end() for found in _NEWLINE.finditer(old))]
        places = (len(_NEWLINE.findall(new[: self._offset(starts[line - 1])])) + 1 for line in step.places)
        return step._replace(splices=self.moved(step.splices), places=tuple(places))

    def moved(self, splices: Sequence[Splice]) -> Tuple[Splice, ...]:
        """Splices of the old text as splices of the new one."""
        return tuple(Splice(self._offset(start), self._offset(end), new) for start, end, new in splices)

    def _offset(self, at: int) -> int:
        return at - sum(growth for place, growth in self._left if place < at)

    def _sees(self, hunk: HunkText) -> bool:
        """Whether the omitted splices may affect where a hunk matches."""
        top = hunk.scope.split(".")[0]
        renames = any(tag != " " and _RENAMES.match(text) for tag, text, _ in hunk.lines)
        return top == "<module>" or renames or any(fnmatch.fnmatchcase(name, top) for name in self._touched)


def _moved(at: int, splices: Sequence[Splice]) -> int:
    return at + sum(len(each.new) - (each.end - each.start) for each in splices if each.start < at)


def _bodies(data: bytes) -> Iterator[Body]:
    starts = [0, *(found.end() for found in _NEWLINE.finditer(data)), len(data)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the target are not ours to report
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0].lineno
            while _ASIDE.match(data, starts[first - 2]):
                first -= 1
            if first > node.lineno:
                yield Body(node.name, starts[first - 1], starts[node.end_lineno or first])
