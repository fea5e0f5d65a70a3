"""The files of a release as an update begins with them: each hunk that fits is in, and a mark is where one is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Mapping, Sequence, Tuple

from patcher.engine.engine import explain, rewrite
from patcher.engine.tree import Tree
from patcher.model import HunkText, OptionValue, State

if TYPE_CHECKING:
    from patcher.engine.explain import Explanation

_MARK = b"# sitepatch:"
_HEAD = "this hunk is missing here: change the code below, lines that begin so are taken out again"


def begun(text: bytes, hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> bytes:
    """A file with each hunk that fits by itself, and the others as comments at the closest code."""
    if any(hunk.plain for hunk in hunks):
        states = [(hunk, rewrite(text, [hunk], options).answers[0].state) for hunk in hunks]
    else:
        tree = Tree(text)
        states = [(hunk, tree.answer(hunk, options).state) for hunk in hunks]
    fitting = [hunk for hunk, state in states if state is State.APPLICABLE]
    data = rewrite(text, fitting, options).data if fitting else text
    missing = [hunk for hunk, state in states if state.failed and hunk not in fitting]
    marks = [_place(*explain(data, [hunk], options)) for hunk in missing]
    lines = data.split(b"\n")
    for line, hunk in sorted(marks, key=lambda mark: -mark[0]):
        below = lines[line - 1]
        indent = below[: len(below) - len(below.lstrip())]
        lines[line - 1 : line - 1] = [indent + _MARK + b" " + written.encode("utf-8") for written in _written(hunk)]
    return b"\n".join(lines)


def without_marks(data: bytes) -> bytes:
    """A file without the marks."""
    return b"\n".join(line for line in data.split(b"\n") if not line.lstrip().startswith(_MARK))


def _place(explanation: Explanation) -> Tuple[int, HunkText]:
    """The 1-based line above which a hunk is marked: the closest code, else its scope, else the first of the file."""
    if explanation.closest:
        return explanation.closest.line, explanation.hunk
    return (explanation.scopes[0].first if explanation.scopes else 1), explanation.hunk


def _written(hunk: HunkText) -> List[str]:
    return [_HEAD, f"@@ {hunk.scope} @@", *(f"{tag}{line}".rstrip() for tag, line, _ in hunk.lines)]
