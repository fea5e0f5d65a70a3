"""An edit -> hunks: of each the most general form that makes the edit and nothing else."""

from __future__ import annotations

from itertools import chain, compress
from operator import mul
from typing import (
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)

from patcher.author.draft import Draft, DraftFile, DraftHunk, FileEdit, LeftOut, Rejected
from patcher.author.hunks.candidates import Candidates
from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import Difference, Pair, differences, unbroken
from patcher.author.hunks.excerpts import tagged, uncommented
from patcher.author.hunks.insertions import is_guard
from patcher.author.hunks.lines import line_file
from patcher.author.hunks.names import (
    carried_imports,
    distinctive_words,
    names_bound,
    names_in,
)
from patcher.author.hunks.renamed import renamed, under_other_name
from patcher.author.hunks.trial import Trial, Tried, moved_paths, same_code
from patcher.engine.engine import rewrite
from patcher.engine.tree import SyntaxProblem, Tree
from patcher.errors import PatchError
from patcher.message import Message, joined
from patcher.model import SOURCE
from patcher.text.lines import line_edits

_AHEAD = 6  # candidates that are tried after the first that works, as one of them may prove more
_MOST = 60  # candidates that are tried for one difference
_LARGE = (
    400  # lines of a candidate that takes a second to try, so that the first that works is taken
)
_LONG = 40  # lines of an insertion, above which it is written once
_ROUNDS = 12  # times that conflicting hunks are replaced by their next candidates


class _Part(NamedTuple):
    """The differences that one hunk is for; its candidates that `work`, the best first, and those that were `rejected`."""

    differences: tuple[Difference, ...]
    work: tuple[Tried, ...]
    rejected: tuple[Tried, ...]

    @property
    def best(self) -> Candidate:
        return self.work[0].candidate

    def with_best(self, candidate: Candidate) -> _Part:
        return self._replace(work=(self.work[0]._replace(candidate=candidate), *self.work[1:]))

    def in_form(self, number: int) -> _Part:
        """The same in a further form alone; as it is where it has none of that number that is found before the edit."""
        other = self.best.others[number] if number < len(self.best.others) else self.best
        return self if other.renamed or other is self.best else self.with_best(other)

    def without_best(self, why: str) -> _Part:
        """Without the best candidate, in whatever forms: the first of them is what is found before the edit."""
        first = self.best._replace(others=())
        work = tuple(each for each in self.work[1:] if each.candidate != first)
        return self._replace(
            work=work, rejected=(*self.rejected, self.work[0]._replace(problem=why))
        )


def generalise(edits: Sequence[FileEdit], others: Sequence[Mapping[str, bytes]] = ()) -> Draft:
    """Turn edits of installed files into hunks.

    Args:
        edits: the files of one release before and after the edit.
        others: of each further release that the hunks should hold for the same files (path -> pristine bytes); where it does
            not have all of them, every Python file of the package, to find where they moved.

    Returns:
        the hunks, and what is in none of them.
    """
    return Draft(tuple(_file(edit, others) for edit in edits))


def _file(edit: FileEdit, others: Sequence[Mapping[str, bytes]]) -> DraftFile:
    if not edit.path.endswith(SOURCE):
        return line_file(edit, others)
    try:
        before, after = Tree(edit.before).whole(), Tree(edit.after).whole()
    except SyntaxProblem as problem:
        why = Message("the file cannot be read as Python: {problem}", problem=problem.message)
        return DraftFile((edit.path,), (), (LeftOut(edit.path, problem.line or 1, "", why),))
    return _Choice(edit, before, after, others).made()


class _Choice:
    """Chooses the hunks for one file."""

    def __init__(
        self, edit: FileEdit, before: Tree, after: Tree, others: Sequence[Mapping[str, bytes]]
    ) -> None:
        self.edit, self.before, self.after, self.others = edit, before, after, others
        self.candidates, self.trial = Candidates(before, after), Trial(edit.path, before, others)
        self.left_out: list[LeftOut] = []

    def made(self) -> DraftFile:
        parts, made = self.compatible(
            *self.combined(self.parts(self.bound(differences(self.before, self.after))))
        )
        hunks = tuple(map(self.hunk, parts))
        difference = self.difference(parts, made)
        moved = [self.trial.parsed(hunk.text) for hunk in hunks] if self.others else []
        places = moved_paths(self.edit.path, moved, self.others)
        hunks = (*self.carried(parts, made), *hunks)
        return DraftFile((self.edit.path, *places), hunks, tuple(self.left_out), difference)

    def carried(self, parts: Sequence[_Part], made: bytes) -> list[DraftHunk]:
        """A hunk with the imports that new code reads, where another release has need of it; it is none where they stand."""
        found = [difference for part in parts for difference in part.differences]
        imports = (
            carried_imports(self.before, self.after, found, self.trial.others)
            if self.trial.others
            else []
        )
        if not imports:
            return []
        words = Message("imports that the new code reads, for releases that do not have them")
        text = Candidate(
            "<module>", (*tagged("+", imports), (" ", "...")), words, optional=True
        ).text
        hunks = [self.trial.parsed(part.best.text) for part in parts]
        for release in self.trial.others:
            if any(answer.state.failed for answer in rewrite(release.data, hunks, {}).answers):
                try:
                    with_imports = [self.trial.parsed(text), *hunks]
                    answers = rewrite(release.data, with_imports, {}).answers
                    unchanged = rewrite(self.edit.before, with_imports, {}).data == made
                except PatchError:  # the edit inserts at the top of the module, too
                    return []
                if unchanged and not any(answer.state.failed for answer in answers):
                    return [DraftHunk(text, 1, words)]
        return []

    def hunk(self, part: _Part) -> DraftHunk:
        tried = (*part.rejected, *part.work[1:])
        rejected = tuple(
            Rejected(each.candidate.text, each.problem or Message("a more general one works"))
            for each in tried
        )
        return DraftHunk(part.best.text, self.line(part.differences[0]), part.best.words, rejected)

    def line(self, difference: Difference) -> int:
        """The line of the edited file (1-based) at which the new code of a difference begins."""
        return self.after.lines.number(self.after.code_from(difference.start))

    def bound(self, found: Sequence[Difference]) -> list[Difference]:
        """The differences whose new code reads only names that are bound: others are not applied (format rule 27)."""
        ranges = [(each.start, each.start + len(each.text)) for each in found]
        missing = self.after.unbound(self.before, ranges)
        kept: list[Difference] = []
        for each, (start, end) in zip(found, ranges):
            lines = range(self.after.lines.number(start), self.after.lines.number(end) + 1)
            items = [item for item in missing if item.line in lines]
            names = joined(
                ", ",
                (
                    Message("`{name}` (line {line})", name=item.name, line=item.line)
                    for item in items
                ),
            )
            if names:
                self.leave_out(
                    [each],
                    Message(
                        "the new code reads names that nothing binds there: {names}", names=names
                    ),
                )
            else:
                kept.append(each)
        return kept

    # one difference after another -----------------------------------------------------------------------------------------
    def parts(self, found: Sequence[Difference]) -> list[_Part]:
        """The differences with their candidates, those together that one hunk is for."""
        options = [list(self.candidates.of(difference)) for difference in found]
        parts = self.shared(found, options)
        done = {id(difference) for part in parts for difference in part.differences}
        candidates = {id(each): tried for each, tried in zip(found, options)}
        for group in unbroken(found):
            rest = tuple(each for each in group if id(each) not in done)
            together = None
            if len(rest) > 1 and rest == group:
                together = self.ranked(group, self.candidates.together(group))
            if together is not None and together.work:
                parts.append(together)
            else:
                parts += [self.ranked((each,), candidates[id(each)]) for each in rest]
        order = {id(each): number for number, each in enumerate(found)}
        return sorted(parts, key=lambda part: order[id(part.differences[0])])

    def shared(
        self, found: Sequence[Difference], options: Sequence[Sequence[Candidate]]
    ) -> list[_Part]:
        """The differences that are the same change everywhere in a scope; `options` are the candidates of each."""
        having: dict[str, list[int]] = {}  # a candidate's text -> the differences that have it
        for index, candidates in enumerate(options):
            for text in dict.fromkeys(each.text for each in candidates):
                having.setdefault(text, []).append(index)
        parts: list[_Part] = []
        done: set[int] = set()
        for index, difference in enumerate(found):
            if index in done or difference.kind != "change":
                continue
            for candidate in options[index]:
                group = having[candidate.text]
                part = None
                if len(group) > 1:
                    part = self.everywhere(candidate, [found[at] for at in group])
                if part is not None:
                    done.update(group)
                    parts.append(part)
                    break
        return parts

    def everywhere(self, candidate: Candidate, group: Sequence[Difference]) -> _Part | None:
        """A candidate for all places of a scope; None where those are not these differences."""
        wide = candidate._replace(
            everywhere=True, form=Message("{form}, everywhere in the scope", form=candidate.form)
        )
        tried = self.trial.of(wide, group)
        return None if tried.problem else _Part(tuple(group), (tried,), ())

    def ranked(self, group: tuple[Difference, ...], candidates: Iterable[Candidate]) -> _Part:
        """Try candidates, the most general first, and sort those that work by `_rank`."""
        works: list[Tried] = []
        rejected: list[Tried] = []
        after_first = 0
        for number, candidate in enumerate(candidates):
            tried = self.trial.of(candidate, group)
            (rejected if tried.problem else works).append(tried)
            after_first += bool(works)
            holds = not self.trial.others or any(
                each.holds == len(self.trial.others) for each in works
            )
            ahead = _AHEAD if len(candidate.lines) < _LARGE else 0
            if number >= _MOST or (after_first > ahead and holds):
                break
        best = max((each.holds for each in works), default=0)
        found = [each.candidate for each in works]
        looser = chain(self.candidates.loose(found, group), self.open_names(works[:_AHEAD]))
        for candidate in looser if best < len(self.trial.others) else ():
            tried = self.trial.of(candidate, group)
            if tried.holds > best:  # 0 for one that does not make the edit
                works.append(tried)
        works.sort(key=_rank)
        return _Part(group, (*self.in_forms(works, group), *works), tuple(rejected))

    def open_names(self, works: Sequence[Tried]) -> Iterator[Candidate]:
        """Candidates with placeholders for locals that another release has under other names, at the same place there."""
        for tried in works:
            ways: list[list[tuple[Candidate, Candidate]]] = []
            for source, held in zip(self.trial.others, tried.held):
                ways.append([] if held else [*renamed(tried.candidate, self.before, source)])
            for candidate in {wide.text: wide for way in ways for wide, _ in way}.values():
                for source, held, way in zip(self.trial.others, tried.held, ways):
                    named = (
                        [tried.candidate]
                        if held
                        else [name for wide, name in way if wide.text == candidate.text]
                    )
                    meant = [self.trial.splices(each, source) for each in named]
                    if self.trial.splices(candidate, source) not in (
                        meant if held else [*meant, ()]
                    ):
                        break
                else:
                    yield candidate

    def in_forms(self, works: Sequence[Tried], group: tuple[Difference, ...]) -> list[Tried]:
        """The best candidate with further forms for releases in which it does not hold; none where that is no better."""
        if not works:
            return []
        best = self.at_either_neighbour(works, group)
        for other in works[1:]:
            adds = any(now and not before for before, now in zip(best.held, other.held))
            if adds and not best.candidate.elsewhere and not other.candidate.elsewhere:
                candidate = best.candidate._replace(
                    others=(*best.candidate.others, other.candidate)
                )
                tried = self.trial.of(candidate, group)
                best = tried if tried.holds > best.holds else best
        for number, source in enumerate(self.trial.others):
            for tried in () if best.held[number] or best.candidate.elsewhere else works[:_AHEAD]:
                there = under_other_name(tried.candidate, self.before, source)
                if there is not None:
                    found = self.trial.of(
                        best.candidate._replace(others=(*best.candidate.others, there)), group
                    )
                    best = found if found.holds > best.holds else best
        return [best] if best.candidate.others else []

    def at_either_neighbour(self, works: Sequence[Tried], group: tuple[Difference, ...]) -> Tried:
        """The best candidate, with a further form that needs less of what is around its place, if it has one.

        For an insertion that is the one beside the other neighbour; for an import beside one, and else anywhere. For a
        deletion, which is beside both, the one in a block of the same kind, or of a guard above what it guards.
        """
        best, (difference, *_) = works[0], group
        # other releases say which forms are needed
        if self.trial.others or len(best.candidate.lines) > _LONG:
            return best
        if len(group) > 1 or difference.kind == "change":
            return self.with_freer(best, group)
        if difference.kind != "run":
            return best
        if difference.deleted:
            return best if difference.inserted else self.with_less(best, works, group)
        near = [each for each in works if any(each.candidate.sides)]
        if best.candidate.elsewhere and near and not difference.inserted[0].is_definition:
            first = next((each for each in near if each.exact), near[0])
            made = self.with_form(first, [best], group)
            return best if made is first else made
        sides = best.candidate.sides
        beside = [each for each in near if not any(map(mul, each.candidate.sides, sides))]
        return self.with_form(best, beside, group) if any(sides) else best

    def with_less(
        self, best: Tried, works: Sequence[Tried], group: tuple[Difference, ...]
    ) -> Tried:
        """The best candidate for a deletion, with the one that needs less of what is around its place."""
        (above, below), (difference, *_) = best.candidate.sides, group
        if is_guard(difference):
            less = [
                each for each in works if above and below and each.candidate.sides == (0, below)
            ]
        elif len(distinctive_words(difference.deleted)) > 1:
            less = [each for each in works if not any(each.candidate.sides)]
        else:
            less = []
        return self.with_form(best, less, group) if above or below else best

    def with_freer(self, best: Tried, group: tuple[Difference, ...]) -> Tried:
        """The best candidate for a change, with forms that need less of what stays: no context, and other arguments."""
        for candidate in self.candidates.freer(best.candidate, group):
            last = best.candidate.others[-1:] or (best.candidate,)
            if candidate.lines != last[0].lines and not self.trial.of(candidate, group).problem:
                best = self.trial.of(
                    best.candidate._replace(others=(*best.candidate.others, candidate)), group
                )
        return best

    def with_form(
        self, best: Tried, others: Sequence[Tried], group: tuple[Difference, ...]
    ) -> Tried:
        """A candidate with one of the others as a further form: an exact one, and the shortest."""
        if not others:
            return best
        other = min(others, key=lambda each: (not each.exact, len(each.candidate.lines))).candidate
        tried = self.trial.of(best.candidate._replace(others=(other,)), group)
        return best if tried.problem or tried.holds < best.holds else tried

    # all of them together -------------------------------------------------------------------------------------------------
    def combined(self, parts: list[_Part]) -> tuple[list[_Part], bytes]:
        """The parts whose hunks can be applied together, and what they make of the file.

        Hunks that conflict are replaced by their next candidates, or by one hunk for the statement around them, or left out.
        """
        for _ in range(_ROUNDS):
            parts = self.filled(parts)
            made, failed = self.together(parts)
            if not failed:
                return parts, made
            parts = [
                self.next_best(part, failed[index]) if index in failed else part
                for index, part in enumerate(parts)
            ]
        parts = self.filled(parts)
        made, failed = self.together(parts)
        while failed:
            for index, why in failed.items():
                self.leave_out(parts[index].differences, why)
            parts = [part for index, part in enumerate(parts) if index not in failed]
            made, failed = self.together(parts)
        return parts, made

    def next_best(self, part: _Part, why: str) -> _Part:
        """A part whose best candidate conflicts with other hunks, with the next one, in forms."""
        part = part.without_best(why)
        return part._replace(work=(*self.in_forms(part.work, part.differences), *part.work))

    def filled(self, parts: list[_Part]) -> list[_Part]:
        """The parts, with those for which no candidate works merged into one for the statement around them."""
        empty = next((part for part in parts if not part.work), None)
        while empty is not None:
            parts = self.merged(parts, empty)
            empty = next((part for part in parts if not part.work), None)
        return parts

    def together(self, parts: Sequence[_Part]) -> tuple[bytes, dict[int, str]]:
        """What all hunks make of the file; the parts (by index) whose hunk cannot be applied among them, and why."""
        hunks = [self.trial.parsed(part.best.text) for part in parts]
        try:
            made = rewrite(self.edit.before, hunks, {})
        except PatchError as error:  # two hunks insert at one place; its line is that of the second
            line = error.location.line if error.location else 0
            return self.edit.before, {[hunk.line for hunk in hunks].index(line): error.problem}
        return made.data, {
            index: answer.problem
            for index, answer in enumerate(made.answers)
            if answer.state.failed
        }

    def compatible(self, parts: list[_Part], made: bytes) -> tuple[list[_Part], bytes]:
        """The parts without further forms that conflict with the other hunks, and what they make of the file.

        Such a form of an insertion has the header above it, which is changed too: one hunk for both takes its place.
        """
        most = max((len(part.best.others) for part in parts), default=0)
        if not any(
            self.together([part.in_form(number) for part in parts])[1] for number in range(most)
        ):
            return parts, made
        for part in parts:
            others = part.best.others
            ways = [
                [each.in_form(number) if each is part else each for each in parts]
                for number in range(len(others))
            ]
            forms = [other for other, way in zip(others, ways) if not self.together(way)[1]]
            if len(forms) < len(others):
                merged, fewer = (
                    self.with_header(parts, part),
                    part.with_best(part.best._replace(others=tuple(forms))),
                )
                found = merged and not self.together(merged)[1]
                parts = merged if found else [fewer if each is part else each for each in parts]
        return parts, self.together(parts)[0]

    def with_header(self, parts: list[_Part], part: _Part) -> list[_Part]:
        """The parts with an insertion and the change of the header above or below it merged; [] where there is none."""
        for other in parts:
            for one, two in ((other, part), (part, other)):
                last, first = one.differences[-1], two.differences[0]
                group = (*one.differences, *two.differences)
                both = self.ranked(group, self.candidates.both(last, first))
                if both.work:
                    return [both if each is other else each for each in parts if each is not part]
        return []

    def merged(self, parts: list[_Part], empty: _Part) -> list[_Part]:
        """Replace all parts inside the statement around one by a hunk for that statement.

        An insertion and a decorator for the definition below it, which go to one place, become a hunk for both.
        """
        first, failed = empty.differences[0], list(empty.rejected)
        both = self.with_header(parts, empty)
        if both:
            return both
        for old, new in _owners(first):
            spans = [[each.span for each in part.differences] for part in parts]
            inside = [
                any(old.begin <= start and end <= old.outer_end + 1 for start, end in each)
                for each in spans
            ]
            group = tuple(chain.from_iterable(part.differences for part in compress(parts, inside)))
            made = self.ranked(group, self.candidates.changes.whole(old, new))
            if made.work and empty in compress(parts, inside):
                return [*(part for part, merged in zip(parts, inside) if not merged), made]
            failed += made.rejected
        reasons = [
            Message("in the file before the edit: {reason}", reason=each.reason)
            for each in failed
            if each.reason
        ]
        others = [each.problem for each in failed]
        self.leave_out(
            empty.differences,
            next(iter((*reasons, *others)), Message("no hunk can be written for it")),
        )
        return [part for part in parts if part is not empty]

    def leave_out(self, found: Iterable[Difference], why: str) -> None:
        """Note differences that are in no hunk."""
        for each in found:
            sides = self.before.text[slice(*each.span)].strip("\n"), each.text.strip("\n")
            shown = "".join(
                f"{tag}{line}\n"
                for tag, side in zip("-+", sides)
                for line in side.splitlines()
                if line.strip()
            )
            code = not self.only_unbinds(each)
            self.left_out.append(LeftOut(self.edit.path, self.line(each), shown, why, code=code))

    def only_unbinds(self, difference: Difference) -> bool:
        """Whether a difference takes away an import alone, of a name that is still read: where it stays, nothing is lost."""
        if difference.kind != "run" or difference.inserted:
            return False
        kinds = {node.kind for node in difference.deleted}
        read = names_in(self.after.root.statements())
        return kinds <= {"Import", "ImportFrom"} and names_bound(difference.deleted) <= read

    # what still differs ---------------------------------------------------------------------------------------------------
    def difference(self, parts: Sequence[_Part], made: bytes) -> str:
        """What differs between the edited file and what the hunks make, in words; an edit without code is left out."""
        if made == self.edit.after:
            return ""
        elsewhere = any(part.best.elsewhere for part in parts)
        if not self.left_out and not same_code(made, self.edit.after, anywhere=elsewhere):
            self.left_out.append(
                LeftOut(
                    self.edit.path,
                    1,
                    "",
                    Message("the hunks together would not make the edited code"),
                )
            )
        old, new = made.splitlines(keepends=True), self.edit.after.splitlines(keepends=True)
        comments: list[int] = []
        blank = moved = 0
        edits = line_edits(old, new)
        for i1, i2, j1, j2 in edits:
            lines = [
                [line.decode("latin-1").strip() for line in side]
                for side in (old[i1:i2], new[j1:j2])
            ]
            code = [list(filter(None, uncommented(side))) for side in lines]
            if not any(chain(*lines)):
                blank += 1
            elif code[0] == code[1] and lines[0] != lines[1]:
                comments.append(j1 + 1)
            else:
                moved += 1
        numbers = ", ".join(map(str, comments))
        commented = Message(
            "comments differ in line {lines}: they are not matched, so no hunk changes them",
            lines=numbers,
        )
        words = [commented] if comments else []
        words += (
            [Message("{places} in the layout or the position of code", places=_places(moved))]
            if moved
            else []
        )
        words += [Message("{places} in blank lines", places=_places(blank))] if blank else []
        if not parts and not self.left_out:
            line = edits[0][2] + 1
            why = Message("nothing but comments and layout: {words}", words=joined("; ", words))
            self.left_out.append(LeftOut(self.edit.path, line, "", why, code=False))
        return joined("; ", words)


def _places(number: int) -> str:
    return Message("1 place differs" if number == 1 else "{number} places differ", number=number)


def _rank(tried: Tried) -> tuple[int, bool, bool, bool]:
    """The order of candidates: first those that hold in more releases, then those that prove the change, then exact ones."""
    neat = tried.exact or tried.candidate.elsewhere
    return -tried.holds, not (tried.proves and neat), not tried.proves, not neat


def _owners(difference: Difference) -> Iterator[Pair]:
    """The statements around a difference, the nearest first, up to the function; first the one that it is a part of."""
    if (
        difference.kind != "run"
        and difference.deleted[0].is_compound
        and difference.deleted[0].kind != "ClassDef"
    ):
        yield difference.deleted[0], difference.inserted[0]
    old, new = difference.blocks[0].parent, difference.blocks[1].parent
    while old is not None and new is not None and old.kind == new.kind != "ClassDef":
        if old.kind != "Block" and old.parent is not None and old.parent.kind == "Block":
            yield old, new
        old, new = old.parent, new.parent
