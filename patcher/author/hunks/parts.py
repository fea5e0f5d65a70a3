"""The differences that one hunk is for -> its candidates that work, in their order.

The best one may have further forms, for releases in which the first is not found.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import Iterable, Iterator, Sequence

from patcher.author.hunks.candidates import Candidates
from patcher.author.hunks.checker import CheckedCandidate, Checker
from patcher.author.hunks.context import THEIRS, Candidate, is_comment
from patcher.author.hunks.differences import Difference, kept_in
from patcher.author.hunks.insertions import is_guard, is_telling
from patcher.author.hunks.ported import ported
from patcher.author.hunks.renamed import renamed, under_other_name
from patcher.engine.tree import Tree
from patcher.message import Message
from patcher.model import HunkText, Splice
from patcher.record import Record

_AHEAD = 6  # candidates checked after the first that works, as one of them may prove more
_MOST = 60  # candidates that are checked for one difference
_LARGE = 400  # lines of a candidate that takes a second, so that the first that works is taken
_LOOSE = sys.maxsize  # the number of a candidate that is made for other releases alone
_LONG = 40  # lines of an insertion, above which it is written once


class Part(Record):
    """A part of an edit, for which there is one hunk.

    Attributes:
        differences: what the hunk is for.
        work: the candidates that make these differences, the best first.
        rejected: those that do not.
        rest: those that were not checked, as the best is as good as any can be; None for none.
    """

    differences: tuple[Difference, ...]
    work: tuple[CheckedCandidate, ...]
    rejected: tuple[CheckedCandidate, ...]
    rest: Iterator[Candidate] | None = None

    @property
    def best(self) -> Candidate:
        """The hunk."""
        return self.work[0].candidate

    def with_best(self, candidate: Candidate) -> Part:
        """The same with another candidate in the place of the best."""
        return self._replace(work=(self.work[0]._replace(candidate=candidate), *self.work[1:]))

    def in_form(self, number: int) -> Part:
        """The same in a further form alone.

        As it is where it has none of that number that is found before the edit.
        """
        if (
            number >= len(self.best.further_forms)
            or self.best.further_forms[number].otherwise == THEIRS
        ):
            return self
        return self.with_best(self.best.further_forms[number])

    def without_best(self, why: str) -> Part:
        """Without the best candidate, in whatever forms.

        The first of them is what is found before the edit.
        """
        first = self.best._replace(further_forms=())
        work = tuple(each for each in self.work[1:] if each.candidate != first)
        rejected = (*self.rejected, self.work[0]._replace(problem=why))
        return self._replace(work=work, rejected=rejected)


def differences_of(parts: Iterable[Part]) -> tuple[Difference, ...]:
    """All differences of several parts."""
    found: list[Difference] = []
    for part in parts:
        found += part.differences
    return tuple(found)


class PartMaker:
    """Makes the parts of an edit: checks the candidates, and puts them in order."""

    def __init__(self, before: Tree, after: Tree, candidates: Candidates, checker: Checker) -> None:
        self.before, self.after = before, after
        self.candidates = candidates
        self.checker = checker

    def part(self, group: tuple[Difference, ...], candidates: Iterable[Candidate]) -> Part:
        """Check candidates, the most general first, and sort those that work by `_rank`."""
        rest = iter(candidates)
        works, rejected = self._checked(group, rest)
        if len(works) == 1 and self._is_settled(works[0], group):
            forms = self._in_forms(works, group)
            return Part(group, (*forms, *works), rejected=tuple(rejected), rest=rest)
        best = max((each.holds for each in works), default=0)
        if works and best < len(self.checker.others) and _is_replaced(group[0]):
            works.sort(key=_rank)
            freer = self._with_freer(works[0], group)
            if freer.holds == len(self.checker.others):
                return Part(group, (freer, *works), rejected=tuple(rejected))
        if best < len(self.checker.others):
            found = [each.candidate for each in works]
            loose = self.candidates.loose(found, group)
            for candidate in chain(loose, self._with_open_names(works[:_AHEAD])):
                checked = self.checker.check(candidate, group)
                if checked.holds > best:  # 0 for one that does not make the edit
                    works.append(checked._replace(number=_LOOSE))
        works.sort(key=_rank)
        return Part(group, (*self._in_forms(works, group), *works), rejected=tuple(rejected))

    def hunks(self, parts: Iterable[Part]) -> list[HunkText]:
        """The hunk of each part."""
        return [self.checker.parsed(part.best.text) for part in parts]

    def everywhere(self, candidate: Candidate, group: Sequence[Difference]) -> Part | None:
        """A candidate for all places of a scope; None where those are not these differences."""
        flags = candidate.flags._replace(everywhere=True)
        form = Message("{form}, everywhere in the scope", form=candidate.form)
        checked = self.checker.check(candidate._replace(flags=flags, form=form), group)
        return None if checked.problem else Part(tuple(group), (checked,), rejected=())

    def next_best(self, part: Part, why: str) -> Part:
        """A part whose best candidate conflicts with other hunks, with the next one, in forms."""
        part = part.without_best(why)
        if part.rest is not None:
            works, rejected = self._checked(part.differences, part.rest, after=1)
            part = part._replace(
                work=tuple(sorted((*part.work, *works), key=_rank)),
                rejected=(*part.rejected, *rejected),
                rest=None,
            )
        return part._replace(work=(*self._in_forms(part.work, part.differences), *part.work))

    def _is_settled(self, checked: CheckedCandidate, group: tuple[Difference, ...]) -> bool:
        """Whether no other candidate can be better than this one, nor add a form to it.

        One for an insertion or a deletion gets a form of another one.
        """
        every = len(self.checker.others)
        if checked.problem or _rank(checked) != (-every, False, False, False):
            return False
        difference = group[0]
        is_one_sided = difference.kind == "run" and not (difference.deleted and difference.inserted)
        return len(group) > 1 or not is_one_sided

    def _checked(
        self, group: tuple[Difference, ...], candidates: Iterator[Candidate], *, after: int = 0
    ) -> tuple[list[CheckedCandidate], list[CheckedCandidate]]:
        """The candidates that work, and those that do not: as many as are worth a check.

        Args:
            group: the differences.
            candidates: those of them; what is not worth a check is left in it.
            after: how many were checked before, from the first that works on.
        """
        works: list[CheckedCandidate] = []
        rejected: list[CheckedCandidate] = []
        since_first = after
        for number, candidate in enumerate(candidates):
            checked = self.checker.check(candidate, group)
            if checked.problem:
                rejected.append(checked)
            else:
                works.append(checked._replace(number=after + number))
                if not since_first and self._is_settled(checked, group):
                    break
            if works or after:
                since_first += 1

            every = len(self.checker.others)
            hold = not every or after or any(each.holds == every for each in works)
            is_large = len(candidate.lines) >= _LARGE
            ahead = 0 if is_large else _AHEAD
            if number >= _MOST or (since_first > ahead and (hold or is_large)):
                break
        return works, rejected

    def _with_open_names(self, works: Sequence[CheckedCandidate]) -> Iterator[Candidate]:
        """Candidates with placeholders for what another release has under other names.

        They are at the same place there.
        """
        for checked in works:
            ways: list[list[tuple[Candidate, Candidate]]] = []
            for source, held in zip(self.checker.others, checked.held):
                ways.append(
                    [] if held else list(renamed(checked.candidate, self.before, other=source))
                )
            wide: dict[str, Candidate] = {}
            for candidate, _ in chain.from_iterable(ways):
                wide[candidate.text] = candidate
            for candidate in wide.values():
                if self._is_same_place(candidate, checked, ways=ways):
                    yield candidate

    def _is_same_place(
        self,
        candidate: Candidate,
        checked: CheckedCandidate,
        ways: Sequence[Sequence[tuple[Candidate, Candidate]]],
    ) -> bool:
        """Whether a candidate with placeholders changes in each release what is meant there.

        Args:
            candidate: with placeholders.
            checked: the candidate without them.
            ways: for each release in which that does not hold what `renamed` makes of it.
        """
        for source, held, way in zip(self.checker.others, checked.held, ways):
            splices = self.checker.splices(candidate, source)
            if held:
                if splices != self.checker.splices(checked.candidate, source):
                    return False
                continue
            meant: list[tuple[Splice, ...]] = [()]
            for wide, name in way:
                if wide.text == candidate.text:
                    meant.append(self.checker.splices(name, source))
            if splices not in meant:
                return False
        return True

    # further forms ------------------------------------------------------------------------------
    def _in_forms(
        self, works: Sequence[CheckedCandidate], group: tuple[Difference, ...]
    ) -> list[CheckedCandidate]:
        """The best candidate with further forms for releases in which it does not hold.

        Those that it has without other releases are among them: not all releases are known. None
        where that is no better.
        """
        if not works:
            return []
        plain = self._at_either_neighbour(_as_if_alone(works), group)
        best = works[0]
        is_covered = plain.candidate.covers(best.candidate) and _holds_wherever(plain, best)
        if is_covered and not _is_enough(best.candidate, plain.candidate):
            best = plain
        for other in works[1:]:
            adds = any(now and not before for before, now in zip(best.held, other.held))
            if adds and not best.candidate.elsewhere and not other.candidate.elsewhere:
                best = self._better(best, other.candidate, group=group)

        for number, source in enumerate(self.checker.others):
            if best.held[number] or best.candidate.elsewhere:
                continue
            for checked in works[:_AHEAD]:
                there = under_other_name(checked.candidate, self.before, other=source)
                if there is not None:
                    best = self._better(best, there, group=group)
            if not best.held[number]:
                there = ported(self.checker.path, group, self.before, self.after, source)
                if there is not None:
                    best = self._better(best, there, group=group)
        for form in plain.candidate.forms:
            best = self._with_spare(best, form, group=group)
        return [best] if best.candidate.further_forms else []

    def _better(
        self, best: CheckedCandidate, other: Candidate, group: tuple[Difference, ...]
    ) -> CheckedCandidate:
        """A candidate with one more form, where it holds in more releases with it."""
        checked = self.checker.check(best.candidate.with_further_form(other), group)
        return checked if checked.holds > best.holds else best

    def _with_spare(
        self, best: CheckedCandidate, form: Candidate, group: tuple[Difference, ...]
    ) -> CheckedCandidate:
        """A candidate with one more form, for releases that are not known.

        As it is where it needs no such form, or holds in fewer releases with it.
        """
        if best.candidate.elsewhere or best.candidate.covers(form):
            return best
        checked = self.checker.check(best.candidate.with_further_form(form), group)
        if checked.problem or not _holds_wherever(checked, best):
            return best
        return checked

    def _at_either_neighbour(
        self, works: Sequence[CheckedCandidate], group: tuple[Difference, ...]
    ) -> CheckedCandidate:
        """The best candidate, with a further form that needs less of what is around its place.

        For an insertion that is the one beside the other neighbour; for an import beside one, and
        else anywhere; for a method that is the last one, the end of its class; for what is last in
        a block, below another one, the end of that block. For a deletion, which is beside both, the
        one in a block of the same kind, or of a guard above what it guards.
        """
        best, difference = works[0], group[0]
        if len(best.candidate.lines) > _LONG:
            return best
        if len(group) > 1 or _is_replaced(difference):
            return self._with_freer(best, group)
        if difference.kind == "branches":
            return self._with_each(best, self.candidates.branches(difference), group=group)
        if difference.kind != "run":
            return best
        if difference.deleted and difference.inserted:
            return self._with_each(best, self.candidates.wrapped(difference), group=group)
        if difference.deleted:
            best = self._with_less(best, works, group=group)
            return self._with_each(best, self.candidates.deleted(difference), group=group)

        near = [each for each in works if any(each.candidate.sides)]
        if best.candidate.elsewhere and near and not difference.inserted[0].is_definition:
            first = next((each for each in near if each.exact), near[0])
            checked = self._with_form(first, [best], group=group)
            return best if checked is first else checked

        above, below = best.candidate.sides
        if not above and not below:
            return best
        beside: list[CheckedCandidate] = []
        for each in near:
            other_above, other_below = each.candidate.sides
            if not (above and other_above) and not (below and other_below):
                beside.append(each)
        is_at_top = difference.before.neighbours[0] is None
        if not beside and (is_at_top or _are_methods(difference)):
            beside = [each for each in works if not any(each.candidate.sides)]
        with_other = self._with_form(best, beside, group=group)
        uncommented = [each.candidate for each in near if _is_uncommented(each, best)]
        at_end = self.candidates.at_end(difference)
        return self._with_each(with_other, [*uncommented[:1], *at_end], group=group)

    def _with_less(
        self,
        best: CheckedCandidate,
        works: Sequence[CheckedCandidate],
        group: tuple[Difference, ...],
    ) -> CheckedCandidate:
        """The best candidate for a deletion, with the one that needs less of what is around it."""
        (above, below), difference = best.candidate.sides, group[0]
        if not above and not below:
            return best
        if is_guard(difference):
            if not above or not below:
                return best
            sides = (0, below)
        elif is_telling(difference):
            sides = (0, 0)
        else:
            return best
        less = [each for each in works if each.candidate.sides == sides]
        return self._with_form(best, less, group=group)

    def _with_freer(
        self, best: CheckedCandidate, group: tuple[Difference, ...]
    ) -> CheckedCandidate:
        """The best candidate for a change, with forms that need less of what stays.

        They have no context, and other arguments.
        """
        return self._with_each(best, self.candidates.freer(best.candidate, group), group=group)

    def _with_each(
        self,
        best: CheckedCandidate,
        candidates: Iterable[Candidate],
        group: tuple[Difference, ...],
    ) -> CheckedCandidate:
        """The best candidate, with each of the others as a further form that makes the edit."""
        for candidate in candidates:
            is_there = any(each.is_like(candidate) for each in best.candidate.forms)
            if is_there or self.checker.check(candidate, group).problem:
                continue
            checked = self.checker.check(best.candidate.with_further_form(candidate), group)
            if checked.holds >= best.holds:
                best = checked
        return best

    def _with_form(
        self,
        best: CheckedCandidate,
        others: Sequence[CheckedCandidate],
        group: tuple[Difference, ...],
    ) -> CheckedCandidate:
        """A candidate with one of the others as a further form: an exact one, and the shortest."""
        if not others:
            return best
        other = min(others, key=lambda each: (not each.exact, len(each.candidate.lines)))
        candidate = best.candidate._replace(further_forms=(other.candidate,))
        checked = self.checker.check(candidate, group)
        return best if checked.problem or checked.holds < best.holds else checked


def _are_methods(difference: Difference) -> bool:
    """Whether a difference inserts definitions into a class, where their order says nothing."""
    owner = difference.before.block.parent
    if owner is None or owner.kind != "ClassDef":
        return False
    return all(node.is_definition for node in difference.inserted)


def _is_enough(candidate: Candidate, other: Candidate) -> bool:
    """Whether a candidate, in the place of the edit, is found wherever a form of another one is."""
    return not candidate.elsewhere and all(map(candidate.covers, other.forms))


def _is_uncommented(checked: CheckedCandidate, other: CheckedCandidate) -> bool:
    """Whether a candidate is another one without the comments that this has as context."""
    lines = other.candidate.lines
    code = [line for line in lines if line[0] != " " or not is_comment(line[1])]
    return len(code) < len(lines) and list(checked.candidate.lines) == code


def _as_if_alone(works: Sequence[CheckedCandidate]) -> list[CheckedCandidate]:
    """The candidates in the order that they have where no other release is known.

    Those that are checked for other releases alone are not among them.
    """
    first = min(each.number for each in works)
    found = [each for each in works if each.number <= first + _AHEAD]
    return sorted(found, key=lambda each: (_rank(each)[1:], each.number))


def _holds_wherever(checked: CheckedCandidate, other: CheckedCandidate) -> bool:
    """Whether a candidate holds in each release in which another one does."""
    return all(now or not before for now, before in zip(checked.held, other.held))


def _is_replaced(difference: Difference) -> bool:
    """Whether code is replaced by other code, and not wrapped: another release may have done so."""
    if difference.kind in ("clause", "branches"):
        return False
    if not difference.deleted or not difference.inserted:
        return False
    wrapped = (kept_in(node, difference.deleted) for node in difference.inserted)
    return difference.kind != "run" or not any(wrapped)


def _rank(checked: CheckedCandidate) -> tuple[int, bool, bool, bool]:
    """The order of candidates.

    First those that hold in more releases, then those that prove the change, then exact ones.
    """
    is_neat = checked.exact or checked.candidate.elsewhere
    is_proof = checked.proves and is_neat
    return -checked.holds, not is_proof, not checked.proves, not is_neat
