"""The hunks for one file together: which of them conflict, and what takes their place."""

from __future__ import annotations

from typing import Iterator, Sequence

from patcher.author.hunks.checker import CheckedCandidate
from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import Difference, Pair
from patcher.author.hunks.leftovers import Leftovers
from patcher.author.hunks.names import unbound_names
from patcher.author.hunks.parts import Part, PartMaker, differences_of
from patcher.engine.engine import rewrite
from patcher.errors import PatchError
from patcher.message import Message
from patcher.record import Record

_ROUNDS = 12  # times that conflicting hunks are replaced by their next candidates


class _Together(Record):
    """What all hunks make of a file; why some parts (by index) cannot be applied among them."""

    result: bytes
    failed: dict[int, str]


class Combination:
    """Finds parts whose hunks can be applied together.

    Args:
        before: the bytes of the file before the edit.
        maker: makes further parts.
        leftovers: notes what is in no hunk.
        injected: names that new code may read although nothing binds them.
    """

    def __init__(
        self, before: bytes, maker: PartMaker, leftovers: Leftovers, injected: Sequence[str]
    ) -> None:
        self.before, self.injected = before, injected
        self.maker = maker
        self.leftovers = leftovers

    def combined(self, parts: list[Part]) -> tuple[list[Part], bytes]:
        """The parts whose hunks can be applied together, and what they make of the file.

        Hunks that conflict are replaced by their next candidates, or by one hunk for the statement
        around them, or left out.
        """
        parts = self._without_needed_imports(self._filled(parts))
        for _ in range(_ROUNDS):
            parts = self._filled(parts)
            together = self._together(parts)
            if not together.failed:
                return self._compatible(parts, together.result)
            # tried before a part may be left without a candidate
            fewer = {index: self._with_fewer_forms(parts, index) for index in together.failed}
            for index, why in together.failed.items():
                parts[index] = fewer[index] or self.maker.next_best(parts[index], why)

        parts = self._filled(parts)
        together = self._together(parts)
        while together.failed:
            for index, why in together.failed.items():
                self.leftovers.add(parts[index].differences, why)
            parts = [part for at, part in enumerate(parts) if at not in together.failed]
            together = self._together(parts)
        return self._compatible(parts, together.result)

    def _without_needed_imports(self, parts: list[Part]) -> list[Part]:
        """The parts without those that delete imports of names which are still read.

        These are left out. Else each hunk would be replaced: the result of all of them is refused.
        """
        for part in list(parts):
            if not part.work or not all(map(self.leftovers.only_unbinds, part.differences)):
                continue
            index = parts.index(part)
            others = [each for each in parts if each is not part]
            problem = self._together(parts).failed.get(index)
            if problem is None or problem in self._together(others).failed.values():
                continue
            if all(self._fails(parts, index, checked.candidate) for checked in part.work):
                self.leftovers.add(part.differences, problem)
                parts = others
        return parts

    def _with_fewer_forms(self, parts: Sequence[Part], index: int) -> Part | None:
        """A part without the further forms for which its hunk fails; None where all fail.

        One that stands further may find what another hunk writes.
        """
        first, *others = parts[index].best.forms
        if not others or self._fails(parts, index, first):
            return None
        forms: list[Candidate] = []
        for form in others:
            if not self._fails(parts, index, first.with_further_form(form)):
                forms.append(form)
        if len(forms) == len(others):
            return None
        return parts[index].with_best(first._replace(further_forms=tuple(forms)))

    def _fails(self, parts: Sequence[Part], index: int, candidate: Candidate) -> bool:
        """Whether a candidate cannot be applied for one of the parts."""
        part = parts[index]
        tried = _with(parts, part, part.with_best(candidate))
        return index in self._together(tried).failed

    def _together(self, parts: Sequence[Part]) -> _Together:
        """Apply the hunks of all parts."""
        hunks = self.maker.hunks(parts)
        try:
            rewritten = rewrite(self.before, hunks, {}, self.injected)
        except PatchError as error:  # two hunks insert at one place; its line is that of the second
            line = error.location.line if error.location else 0
            index = [hunk.line for hunk in hunks].index(line)
            return _Together(self.before, {index: error.problem})
        failed: dict[int, str] = {}
        for index, answer in enumerate(rewritten.answers):
            if answer.state.failed:
                failed[index] = answer.problem
        return _Together(rewritten.data, failed)

    # further forms ------------------------------------------------------------------------------
    def _compatible(self, parts: list[Part], result: bytes) -> tuple[list[Part], bytes]:
        """The parts without further forms that conflict with the other hunks, and their result.

        Such a form of an insertion has the header above it, which is changed too: one hunk for
        both takes its place.
        """
        is_alone = len(parts) == 1
        if is_alone or not self._has_conflicting_form(parts):
            return parts, result
        for part in parts:
            forms: list[Candidate] = []
            for number, other in enumerate(part.best.further_forms):
                in_form = _with(parts, part, part.in_form(number))
                if not self._together(in_form).failed:
                    forms.append(other)
            if len(forms) == len(part.best.further_forms):
                continue
            merged = self._with_header(parts, part)
            if merged and not self._together(merged).failed:
                parts = merged
            else:
                fewer = part.best._replace(further_forms=tuple(forms))
                parts = _with(parts, part, part.with_best(fewer))
        return parts, self._together(parts).result

    def _has_conflicting_form(self, parts: Sequence[Part]) -> bool:
        most = max((len(part.best.further_forms) for part in parts), default=0)
        for number in range(most):
            in_form = [part.in_form(number) for part in parts]
            if self._together(in_form).failed:
                return True
        return False

    # several parts as one -----------------------------------------------------------------------
    def _filled(self, parts: list[Part]) -> list[Part]:
        """The parts, with those for which no candidate works merged into one.

        That is for the statement around them.
        """
        empty = _first_empty(parts)
        while empty is not None:
            parts = self._merged(parts, empty)
            empty = _first_empty(parts)
        return list(parts)

    def _merged(self, parts: list[Part], empty: Part) -> list[Part]:
        """Replace all parts inside the statement around one by a hunk for that statement.

        An insertion and a decorator for the definition below it, which go to one place, become a
        hunk for both.
        """
        both = self._with_header(parts, empty)
        if both:
            return both

        rejected = list(empty.rejected)
        for old, new in _owners(empty.differences[0]):
            inside: list[Part] = []
            outside: list[Part] = []
            for part in parts:
                is_inside = _is_within(part, old.begin, end=old.outer_end + 1)
                (inside if is_inside else outside).append(part)
            whole = self.maker.candidates.changes.whole(old, new)
            merged = self.maker.part(differences_of(inside), whole)
            if merged.work and empty in inside:
                return [*outside, merged]
            rejected += merged.rejected

        self.leftovers.add(empty.differences, _why_not(rejected))
        return [part for part in parts if part is not empty]

    def _with_header(self, parts: list[Part], part: Part) -> list[Part]:
        """The parts with an insertion and the change of the header beside it merged.

        [] where there is none.
        """
        for other in parts:
            for one, two in ((other, part), (part, other)):
                last, first = one.differences[-1], two.differences[0]
                group = (*one.differences, *two.differences)
                both = self.maker.part(group, self.maker.candidates.both(last, first))
                if both.work:
                    without = [each for each in parts if each is not part]
                    return _with(without, other, both)
        return []


def _why_not(rejected: Sequence[CheckedCandidate]) -> str:
    """Why none of the candidates makes a difference.

    Names that nothing binds come first: they can be let pass.
    """
    for each in rejected:
        if unbound_names(each.problem):
            return each.problem
    for each in rejected:
        if each.reason:
            return Message("in the file before the edit: {reason}", reason=each.reason)
    return rejected[0].problem if rejected else Message("no hunk can be written for it")


def _first_empty(parts: Sequence[Part]) -> Part | None:
    """The first part for which no candidate works, None where there is none."""
    return next((part for part in parts if not part.work), None)


def _with(parts: Sequence[Part], part: Part, other: Part) -> list[Part]:
    """The parts with another one in the place of this one."""
    return [other if each is part else each for each in parts]


def _is_within(part: Part, start: int, end: int) -> bool:
    """Whether all of a part is in a range of the text before the edit."""
    for difference in part.differences:
        first, last = difference.span
        if first < start or last > end:
            return False
    return True


def _owners(difference: Difference) -> Iterator[Pair]:
    """The statements around a difference, the nearest first, up to the function.

    First the one that it is a part of.
    """
    if difference.kind != "run":
        statement = difference.deleted[0]
        if statement.is_compound and statement.kind != "ClassDef":
            yield statement, difference.inserted[0]
    old, new = difference.before.block.parent, difference.after.block.parent
    while old is not None and new is not None and old.kind == new.kind != "ClassDef":
        if old.kind != "Block" and old.parent is not None and old.parent.kind == "Block":
            yield old, new
        old, new = old.parent, new.parent
