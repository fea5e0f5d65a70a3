"""One difference -> the hunks that may make it, the most general first.

And looser ones, for releases in which none holds.
"""

from __future__ import annotations

from itertools import chain, combinations, dropwhile, islice
from typing import Iterator, Sequence

from patcher.author.hunks.changes import Changes
from patcher.author.hunks.context import (
    UNANNOTATED,
    Candidate,
    Flags,
    Fragment,
    alone_and_around,
    is_comment,
)
from patcher.author.hunks.differences import BlockRange, Difference
from patcher.author.hunks.excerpts import Line, enclosed, tagged, verbatim_all
from patcher.author.hunks.insertions import Runs, in_its_block
from patcher.author.hunks.names import IMPORTS, distinctive_words
from patcher.engine.tree import Node, Tree, inside_of
from patcher.message import Message

_MOST = 8  # candidates that are loosened


class Candidates:
    """Makes the candidates for the differences between two texts."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.changes, self.runs = changes, runs = Changes(before, after), Runs(before, after)
        self.makers = {
            "change": changes.of_statement,
            "header": changes.of_header,
            "clause": changes.of_clauses,
            "branches": changes.of_branches,
            "run": runs.run,
        }

    def of(self, difference: Difference) -> Iterator[Candidate]:
        """The candidates for one difference, each once."""
        seen: set[str] = set()
        # releases write docstrings in different ways
        is_doc = bool(difference.pairs) and difference.pairs[0][0].field() == "doc"
        for candidate in self.makers[difference.kind](difference):
            if candidate.text in seen or all(tag == " " for tag, _ in candidate.lines):
                continue
            seen.add(candidate.text)
            flags = candidate.flags._replace(optional=is_doc)
            if _changes_imports(difference):
                # a `try` around them has something else for where they fail
                flags = flags._replace(inside=inside_of(difference.before.block))
            yield candidate._replace(flags=flags)

    def together(self, group: Sequence[Difference]) -> Iterator[Candidate]:
        """The candidates for differences that are one run of lines."""
        ways = [self._ways(each, is_first=each is group[0]) for each in group]
        fragments: list[Fragment] = []
        for number in range(max(map(len, ways))):
            lines: list[Line] = []
            for way in ways:
                lines += way[min(number, len(way) - 1)]
            lines.sort(key=lambda line: line[0] == "+")  # as a diff has them
            fragments.append(Fragment(tuple(lines), Message("all of the lines that changed")))

        first, last = group[0].before, group[-1].before
        place = BlockRange(first.block, (first.rows[0], last.rows[1]))
        little = len(distinctive_words(place.statements)) < 2
        for candidate in alone_and_around(
            self.changes.before, place, fragments=fragments, little=little
        ):
            yield in_its_block(candidate, first)

    def _ways(self, difference: Difference, *, is_first: bool) -> list[tuple[Line, ...]]:
        """The lines of one of several differences, the most general first."""
        if difference.kind == "change":
            return [fragment.lines for fragment in self.changes.statement(difference)]
        deleted = verbatim_all(self.changes.before, difference.deleted)
        inserted = self.runs.inserted(difference, below=is_first)
        return [(*tagged("-", deleted), *tagged("+", inserted))]

    def freer(self, best: Candidate, group: Sequence[Difference]) -> Iterator[Candidate]:
        """Candidates that need less of what stays than the best one.

        They have no context, or leave open what is passed besides. Each has what changes word for
        word, and a name that few other places have.
        """
        scope = best.scope if group[0].kind == "header" else group[0].before.scope
        alone = [line for line in best.lines if line[0] != " "]
        is_whole = not any("..." in line or "$" in line for _, line in alone)
        deleted: list[Node] = []
        for difference in group:
            deleted += difference.deleted
        if len(alone) < len(best.lines) and is_whole and distinctive_words(deleted):
            form = Message("without its neighbours")
            flags = Flags(inside=best.flags.inside)
            if any(difference.kind == "run" for difference in group):
                flags = Flags(inside=inside_of(group[0].before.block))
            yield Candidate(scope, _dedented(alone), form=form, flags=flags)
            if _are_expressions(group):  # a comment would have no place
                code = [line for line in alone if not is_comment(line[1])]
                yield Candidate(scope, _dedented(code), form=form)
        if len(group) > 1:
            return
        if group[0].kind == "run":
            yield from self.runs.open_details(group[0])
        if not group[0].pairs:
            return
        if group[0].kind == "header":
            if best.lines[0][1].startswith("@"):
                yield from self.changes.open_decorator(group[0])
            yield from self.changes.fewer_decorators(group[0])
            header = self.changes.unannotated(group[0])
            if header:
                form = Message("whatever the annotations are")
                yield Candidate(scope, header, form=form, otherwise=UNANNOTATED)
        opened = self.changes.opened_assignment(group[0], best.lines)
        if opened:
            yield opened.in_scope(scope)
        keywords = self.changes.keywords(group[0])
        if keywords:
            yield Candidate(scope, keywords, form=Message("whatever else is passed"))
        unwrapped = self.changes.unwrapped(group[0])
        if unwrapped:
            yield Candidate(scope, unwrapped, form=Message("whatever the part that stays is"))
        passed_on = self.changes.passed_on(group[0])
        if passed_on:
            yield Candidate(scope, passed_on, form=Message("its arguments left open"))
        literals = self.changes.other_literals(group[0])
        if literals:
            yield Candidate(scope, literals, form=Message("whatever the old literal is"))

    def branches(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for branches that come first, whatever the condition is that was the first."""
        return self.changes.open_branches(difference)

    def at_end(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for what is inserted at the end of a block, whatever is above it there."""
        return self.runs.at_end(difference)

    def wrapped(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for statements that are wrapped, of which they need the headers alone."""
        return self.runs.open_wrapped(difference)

    def deleted(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for statements that are deleted, of which they need a part alone.

        Of a definition it is the header, of others all but their lists and messages.
        """
        if all(node.is_definition for node in difference.deleted):
            return self.runs.open_definitions(difference)
        return self.runs.open_details(difference)

    def both(self, first: Difference, second: Difference) -> Iterator[Candidate]:
        """Candidates for an insertion and the change of a header directly below or above it.

        There are none for other differences.
        """
        at = second.before.rows[0]
        is_one_block = first.before.block is second.before.block
        if is_one_block and first.before.rows == (at, at):
            if (first.kind, second.kind) == ("run", "header"):
                yield from self._above_header(first, second)
            return
        if not first.pairs or second.deleted:
            return
        if first.pairs[0][0].fields.get("body") is second.before.block:
            yield from self._below_header(first, second)

    def _above_header(self, insertion: Difference, header: Difference) -> Iterator[Candidate]:
        inserted = tagged("+", self.runs.inserted(insertion, below=True))
        for candidate in self.of(header):
            lines = (*inserted, *candidate.lines)
            form = Message("{form}, with what is inserted above it", form=candidate.form)
            yield candidate._replace(scope=insertion.before.scope, lines=lines, form=form)

    def _below_header(self, header: Difference, insertion: Difference) -> Iterator[Candidate]:
        place = insertion.before
        inserted = tagged("+", self.runs.inserted(insertion, below=True))
        lines = enclosed(self.changes.before, place.block, lines=inserted, above=False, below=True)
        inside = list(dropwhile(lambda line: line[0] == " ", lines or []))
        if not inside or place.neighbours[0] is not None:
            return
        for candidate in self.of(header):
            tag, line = candidate.lines[-1]
            if tag == "+" and line.endswith(":"):  # all of the header
                form = Message("{form}, with what is inserted below it", form=candidate.form)
                yield candidate._replace(lines=(*candidate.lines, *inside), form=form)

    def loose(self, works: Sequence[Candidate], group: Sequence[Difference]) -> Iterator[Candidate]:
        """Looser candidates, each once.

        Those that leave the old value open, those in the same function of any class, and both.
        """
        seen = {candidate.text for candidate in works}
        any_old_value = chain.from_iterable(map(self.changes.any_old_value, group))
        some = list(islice(any_old_value, _MOST))
        anywhere = chain.from_iterable(map(_anywhere, [*works[:_MOST], *some]))
        for candidate in (*some, *anywhere):
            if candidate.text not in seen:
                seen.add(candidate.text)
                yield candidate


def _changes_imports(difference: Difference) -> bool:
    """Whether imports of a module become something else."""
    if not difference.inserted or difference.before.block.parent is not None:
        return False
    kinds = {node.kind for node in difference.deleted}
    return bool(kinds) and kinds <= IMPORTS


def _are_expressions(group: Sequence[Difference]) -> bool:
    """Whether a hunk has one expression on either side, as a statement alone is one."""
    kinds: list[str] = []
    for difference in group:
        kinds += [node.kind for node in (*difference.deleted, *difference.inserted)]
    return kinds == ["Expr", "Expr"]


def _dedented(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines of a hunk, with the first one at the margin."""
    first = lines[0][1]
    depth = len(first) - len(first.lstrip())
    dedented: list[Line] = []
    for tag, line in lines:
        is_indented = not line[:depth].strip()
        dedented.append((tag, line[depth:] if is_indented else line))
    return tuple(dedented)


def _anywhere(candidate: Candidate) -> Iterator[Candidate]:
    """The same definition in other classes and functions.

    A `*` stands for one name around it, then for all.
    """
    *around, name = candidate.scope.split(".")
    form = Message("{form}, in any class that defines `{name}`", form=candidate.form, name=name)
    places = range(len(around))
    for size in range(1, len(around) + 1):
        for hidden in combinations(places, size):
            names = list(around)
            for at in hidden:
                names[at] = "*"
            yield candidate._replace(scope=".".join([*names, name]), form=form)
