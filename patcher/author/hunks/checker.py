"""Checks a candidate: whether it makes its difference, and only it, here and in other releases."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.author.hunks.context import UNANNOTATED, Candidate
from patcher.author.hunks.differences import Difference, apply_differences, differences
from patcher.author.hunks.excerpts import OPEN, is_one
from patcher.author.same_code import readable, same_code
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.tree import Node, Tree, proves_upstream
from patcher.errors import PatchError
from patcher.message import Message, joined
from patcher.model import HunkText, Splice, State, apply_splices
from patcher.record import Record


class CheckedCandidate(Record):
    """A candidate, and what came of it.

    Attributes:
        candidate: the candidate.
        problem: why it does not make the difference, "" where it does.
        reason: of a `problem` in the file, not in how the hunk is written, what the user reads.
        exact: whether it makes it byte for byte.
        proves: whether its after side can prove that a text has the change already (rule 22).
        held: of each other release whether it can be applied there, or is upstream.
        number: its place among the candidates, of which the most general is the first.
    """

    candidate: Candidate
    problem: str
    reason: str = ""
    exact: bool = False
    proves: bool = False
    held: tuple[bool, ...] = ()
    number: int = 0

    @property
    def holds(self) -> int:
        """In how many other releases it can be applied, or is upstream."""
        return sum(self.held)


class Checker:
    """Checks candidates on a file before its edit, and on the same file of other releases.

    Args:
        path: the file.
        before: its text before the edit.
        others: of each other release the files by path.
    """

    def __init__(self, path: str, before: Tree, others: Sequence[Mapping[str, bytes]]) -> None:
        self.path, self.before = path, before
        self.hunks: dict[str, HunkText] = {}
        self.others: list[Tree] = []
        for texts in others:
            source = readable(texts.get(path))
            if source is not None:
                self.others.append(source)

    def parsed(self, text: str) -> HunkText:
        """Parse the text of one hunk, which begins with its `@@` line.

        Each text has a line of its own.
        """
        if text not in self.hunks:
            _, patches = parse_spatch(f"--- {self.path}\n{text}", self.path)
            self.hunks[text] = patches[0].hunks[0]._replace(line=len(self.hunks) + 1)
        return self.hunks[text]

    def check(self, candidate: Candidate, group: Sequence[Difference]) -> CheckedCandidate:
        """Check whether a candidate makes these differences, all of them and nothing else."""
        try:
            hunk = self.parsed(candidate.text)
            answer = self.before.answer(hunk, {})
        except PatchError as error:
            return CheckedCandidate(candidate, error.problem)
        except RecursionError:
            return CheckedCandidate(candidate, Message("the hunk is nested too deeply"))
        if answer.state is not State.APPLICABLE:
            problem = answer.problem
            if not problem:
                problem = Message("it is {state}", state=Message(answer.state.value))
            reason = joined(": ", (answer.problem, answer.hint))
            return CheckedCandidate(candidate, problem, reason=reason)

        result = apply_splices(self.before.data, answer.splices)
        expected = self.before.encoded(apply_differences(self.before.text, group))
        is_same = same_code(
            result,
            expected,
            anywhere=candidate.elsewhere,
            annotated=candidate.otherwise != UNANNOTATED,
            base=self.before,
        )
        if not is_same:
            problem = Message("it would change other code than the edit did")
            return CheckedCandidate(candidate, problem)
        if any(replaces_more(hunk, source) for source in self.others):
            problem = Message("in another release the old value is more than one literal or name")
            return CheckedCandidate(candidate, problem)
        return CheckedCandidate(
            candidate,
            problem="",
            exact=result == expected,
            proves=proves_upstream(hunk),
            held=tuple(holds(source, hunk) for source in self.others),
        )

    def splices(self, candidate: Candidate, source: Tree) -> tuple[Splice, ...]:
        """What a candidate changes in a text; nothing where it cannot be applied."""
        try:
            return source.answer(self.parsed(candidate.text), {}, explained=False).splices
        except (PatchError, RecursionError):
            return ()


def holds(source: Tree, hunk: HunkText) -> bool:
    """Whether a hunk can be applied to a text, or is upstream there."""
    answer = source.answer(hunk, {}, explained=False)
    return answer.state in (State.APPLICABLE, State.UPSTREAM)


def replaces_more(hunk: HunkText, source: Tree) -> bool:
    """Whether what a hunk leaves open as the old value is more than one literal or name."""
    if not _leaves_value_open(hunk):
        return False
    splices = source.answer(hunk, {}, explained=False).splices
    if not splices:
        return False
    for difference in differences(source, Tree(apply_splices(source.data, splices))):
        for node in difference.deleted:
            value = node.fields.get("value")
            if not isinstance(value, Node) or not is_one(value):
                return True
    return False


def _leaves_value_open(hunk: HunkText) -> bool:
    for form in hunk.forms:
        for tag, line, _ in form.lines:
            if tag == "-" and line.endswith(f"= {OPEN}"):
                return True
    return False
