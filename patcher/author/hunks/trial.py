"""Trying a candidate: whether it makes the difference it is for, and only it, here and in other releases."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache, partial
from inspect import cleandoc
from typing import Mapping, NamedTuple, Sequence

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import Difference, apply_differences, differences
from patcher.author.hunks.excerpts import OPEN, is_one
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.tree import Node, SyntaxProblem, Tree, proves_upstream
from patcher.errors import PatchError
from patcher.message import Message, joined
from patcher.model import HunkText, Splice, State, apply_splices


class Tried(NamedTuple):
    """A candidate that was tried.

    Attributes:
        candidate: the candidate.
        problem: why it does not make the difference, "" where it does.
        reason: of a `problem` in the file, not in how the hunk is written, what the user reads.
        exact: whether it makes it byte for byte.
        proves: whether its after side can prove that a text has the change already (format rule 21).
        held: of each other release whether it can be applied there, or is upstream.
    """

    candidate: Candidate
    problem: str
    reason: str = ""
    exact: bool = False
    proves: bool = False
    held: tuple[bool, ...] = ()

    @property
    def holds(self) -> int:
        """In how many other releases it can be applied, or is upstream."""
        return sum(self.held)


class Trial:
    """Tries candidates on a file before its edit, and on the same file of other releases.

    Args:
        path: the file.
        before: its text before the edit.
        others: of each other release the files by path.
    """

    def __init__(self, path: str, before: Tree, others: Sequence[Mapping[str, bytes]]) -> None:
        self.path, self.before = path, before
        self.hunks: dict[str, HunkText] = {}
        self.others = [
            source
            for source in (readable(texts.get(path)) for texts in others)
            if source is not None
        ]

    def parsed(self, text: str) -> HunkText:
        """Parse the text of one hunk, which begins with its `@@` line; each text has a line of its own."""
        if text not in self.hunks:
            hunk = parse_spatch(f"--- {self.path}\n{text}", self.path)[1][0].hunks[0]
            self.hunks[text] = hunk._replace(line=len(self.hunks) + 1)
        return self.hunks[text]

    def of(self, candidate: Candidate, group: Sequence[Difference]) -> Tried:
        """Try whether a candidate makes these differences, all of them and nothing else."""
        try:
            hunk = self.parsed(candidate.text)
            answer = self.before.answer(hunk, {})
        except PatchError as error:
            return Tried(candidate, error.problem)
        except RecursionError:
            return Tried(candidate, Message("the hunk is nested too deeply"))
        if answer.state is not State.APPLICABLE:
            reason = joined(": ", (answer.problem, answer.hint))
            return Tried(
                candidate,
                answer.problem or Message("it is {state}", state=Message(answer.state.value)),
                reason,
            )
        made = apply_splices(self.before.data, answer.splices)
        expected = self.before.encoded(apply_differences(self.before.text, group))
        exact = made == expected
        if not exact and not same_code(made, expected, anywhere=candidate.elsewhere):
            return Tried(candidate, Message("it would change other code than the edit did"))
        if any(map(partial(replaces_more, hunk), self.others)):
            return Tried(
                candidate,
                Message("in another release the old value is more than one literal or name"),
            )
        proves = proves_upstream(hunk)
        return Tried(
            candidate, "", "", exact, proves, tuple(holds(source, hunk) for source in self.others)
        )

    def splices(self, candidate: Candidate, source: Tree) -> tuple[Splice, ...]:
        """What a candidate changes in a text; nothing where it cannot be applied."""
        try:
            return source.answer(self.parsed(candidate.text), {}).splices
        except (PatchError, RecursionError):
            return ()


def same_code(one: bytes, other: bytes, *, anywhere: bool) -> bool:
    """Whether two texts have the same syntax tree; with `anywhere` in any order of a module's or class's statements."""
    if one == other:  # also where it is no Python
        return True
    shapes = [_shape(data, anywhere) for data in (one, other)]
    return None not in shapes and shapes[0] == shapes[1]


def holds(source: Tree, hunk: HunkText) -> bool:
    """Whether a hunk can be applied to a text, or is upstream there."""
    return source.answer(hunk, {}).state in (State.APPLICABLE, State.UPSTREAM)


def replaces_more(hunk: HunkText, source: Tree) -> bool:
    """Whether what a hunk leaves open as the old value is more than one literal or name in a text."""
    lines = (line for form in hunk.forms for tag, line, _ in form.lines if tag == "-")
    if not any(line.endswith(f"= {OPEN}") for line in lines):
        return False
    splices = source.answer(hunk, {}).splices
    changed = differences(source, Tree(apply_splices(source.data, splices))) if splices else []
    values = [node.fields.get("value") for each in changed for node in each.deleted]
    return not all(isinstance(value, Node) and is_one(value) for value in values)


def moved_paths(
    path: str, hunks: Sequence[HunkText], others: Sequence[Mapping[str, bytes]]
) -> tuple[str, ...]:
    """Where releases that do not have a file have its code: in the one other file in which all hunks hold.

    Args:
        path: the file.
        hunks: all hunks for it.
        others: of each other release the Python files of the package by path.
    """
    found = []
    for texts in others:
        homes = (
            [other for other, text in texts.items() if _hold(text, hunks)]
            if path not in texts and hunks
            else []
        )
        found += homes if len(homes) == 1 else []
    return tuple(dict.fromkeys(found))


def _hold(text: bytes, hunks: Sequence[HunkText]) -> bool:
    names = {hunk.scope.rpartition(".")[2] for hunk in hunks} - {"<module>"}
    if not all("*" in name or name.encode() in text for name in names):
        return False
    source = readable(text)
    return source is not None and all(
        holds(source, hunk) and not replaces_more(hunk, source) for hunk in hunks
    )


def readable(data: bytes | None) -> Tree | None:
    """A text read for matching; None where there is none, or it is not Python."""
    try:
        return None if data is None else Tree(data)
    except SyntaxProblem:
        return None


@lru_cache(maxsize=8)  # candidates often make the same text, and are compared with the same one
def _shape(data: bytes, anywhere: bool) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        read = readable(data)
        return None if read is None else repr(read.root)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            # a docstring may be indented otherwise
            node.value = ast.Constant(cleandoc(node.value.value), kind=None)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            # their order does not matter (format rule 8)
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
    if anywhere:
        for node in reversed(list(ast.walk(tree))):
            if isinstance(node, (ast.Module, ast.ClassDef)):
                node.body.sort(key=ast.dump)
    return ast.dump(tree)
