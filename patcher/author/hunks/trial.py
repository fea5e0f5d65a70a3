"""Trying a candidate: whether it makes the difference it is for, and only it, here and in other releases."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from inspect import cleandoc
from typing import Mapping, NamedTuple, Optional, Sequence

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.leaves import Leaf, apply_leaves
from patcher.author.hunks.spans import Text
from patcher.engine.engine import answer_alone, compile_hunks
from patcher.engine.node import SyntaxProblem
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import HunkText, State
from patcher.splice import apply_splices


class Tried(NamedTuple):
    """A candidate that was tried. `problem` is "" where it makes the difference; `exact` is byte for byte.

    `proves` says whether its after side tells a text that has the change from one that has not, `holds` in how many other
    releases it can be applied or is upstream.
    """

    candidate: Candidate
    problem: str
    exact: bool = False
    proves: bool = False
    holds: int = 0


class Trial:
    """Tries candidates on one file of a release, and on the same file of `others`."""

    def __init__(self, path: str, before: Text, others: Sequence[Mapping[str, bytes]]) -> None:
        self.path, self.before = path, before
        self.others = [source for source in (readable(texts.get(path)) for texts in others) if source is not None]

    def parsed(self, text: str) -> HunkText:
        """The one hunk of a text that begins with its `@@` line."""
        return parse_spatch(f"--- {self.path}\n{text}", self.path)[1][0].hunks[0]

    def of(self, candidate: Candidate, group: Sequence[Leaf]) -> Tried:
        """Try a candidate for all differences of a group at once."""
        try:
            hunk = self.parsed(candidate.text)
            answer = answer_alone(self.before.source, hunk, {})
        except PatchError as error:
            return Tried(candidate, error.brief)
        except RecursionError:
            return Tried(candidate, "the hunk is nested too deeply")
        if answer.state is not State.APPLICABLE:
            return Tried(candidate, answer.problem or f"it is {answer.state.value}")
        made = apply_splices(self.before.source.data, answer.splices)
        wanted = apply_leaves(self.before.text, group)
        exact = made == self.encoded(wanted)
        if not exact and not self.alike(made, self.encoded(wanted), candidate.far):
            return Tried(candidate, "it would change other code than the edit did")
        proves = compile_hunks([hunk], {})[0].proves_upstream
        return Tried(candidate, "", exact, proves, sum(holds(source, hunk) for source in self.others))

    def encoded(self, text: str) -> bytes:
        """A text of the file as bytes."""
        return self.before.source.data[: self.before.source.skipped] + text.encode(self.before.source.encoding)

    @staticmethod
    def alike(made: bytes, wanted: bytes, moved: bool) -> bool:
        """Whether two texts have the same syntax tree; with `moved` wherever the statements of modules and classes stand."""
        shapes = [_shape(data, moved) for data in (made, wanted)]
        return None not in shapes and shapes[0] == shapes[1]


def holds(source: Source, hunk: HunkText) -> bool:
    """Whether a hunk can be applied to a text, or its change stands there already."""
    return answer_alone(source, hunk, {}).state in (State.APPLICABLE, State.UPSTREAM)


def readable(data: Optional[bytes]) -> Optional[Source]:
    """A text read for matching; None where there is none, or it is no Python."""
    try:
        return None if data is None else Source(data)
    except SyntaxProblem:
        return None


@lru_cache(maxsize=8)  # candidates often make the same text, and are compared with the same one
def _shape(data: bytes, moved: bool) -> Optional[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        read = readable(data)
        return None if read is None else repr(read.whole())
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            # a docstring that was re-indented is the same
            node.value = ast.Constant(cleandoc(node.value.value), kind=None)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")  # their order does not matter (format rule 8)
    if moved:
        for node in reversed(list(ast.walk(tree))):
            if isinstance(node, (ast.Module, ast.ClassDef)):
                node.body.sort(key=ast.dump)
    return ast.dump(tree)
