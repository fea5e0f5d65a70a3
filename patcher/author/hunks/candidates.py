"""One difference -> the hunks that may make it, the most general first; and looser ones, for releases in which none holds."""

from __future__ import annotations

from itertools import chain, combinations, dropwhile, islice
from typing import Iterator, Sequence

from patcher.author.hunks.changes import Changes
from patcher.author.hunks.context import Candidate, Fragment, alone_and_around
from patcher.author.hunks.differences import BlockRange, Difference
from patcher.author.hunks.excerpts import Line, enclosed, tagged, verbatim
from patcher.author.hunks.insertions import Runs
from patcher.author.hunks.names import distinctive_words
from patcher.engine.tree import Tree
from patcher.message import Message

_MOST = 8  # candidates that are loosened


class Candidates:
    """Makes the candidates for the differences between two texts."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.changes, self.runs = changes, runs = Changes(before, after), Runs(before, after)
        self.makers = {
            "change": changes.change,
            "header": changes.header,
            "clause": changes.clause,
            "run": runs.run,
        }

    def of(self, difference: Difference) -> Iterator[Candidate]:
        """The candidates for one difference, each once."""
        seen: set[str] = set()
        # releases write them in different ways
        is_doc = bool(difference.pairs) and difference.pairs[0][0].field() == "doc"
        for candidate in self.makers[difference.kind](difference):
            if candidate.text not in seen and any(tag != " " for tag, _ in candidate.lines):
                seen.add(candidate.text)
                yield candidate._replace(optional=is_doc)

    def together(self, group: Sequence[Difference]) -> Iterator[Candidate]:
        """The candidates for differences that are one run of lines."""
        ways = [self._ways(each, number) for number, each in enumerate(group)]
        fragments: list[Fragment] = []
        for number in range(max(map(len, ways))):
            lines = [*chain.from_iterable(way[min(number, len(way) - 1)] for way in ways)]
            lines.sort(key=lambda line: line[0] == "+")  # as a diff has them
            fragments.append(Fragment(tuple(lines), Message("all of the lines that changed")))
        block, (first, last) = group[0].blocks[0], (group[0].old[0], group[-1].old[1])
        little = len(distinctive_words(block.statements()[first:last])) < 2
        place = BlockRange(block, (first, last))
        yield from alone_and_around(self.changes.before, place, fragments, little=little)

    def freer(self, best: Candidate, group: Sequence[Difference]) -> Iterator[Candidate]:
        """Candidates that need less of what stays than the best one: no context, and what is passed besides left open.

        Each has what changes word for word, and a name that few other places have.
        """
        scope = group[0].place.scope
        deleted = [node for each in group for node in each.deleted]
        alone = [line for line in best.lines if line[0] != " "]
        is_whole = not any("..." in line or "$" in line for _, line in alone)
        if len(alone) < len(best.lines) and is_whole and distinctive_words(deleted):
            yield Candidate(scope, _dedented(alone), Message("without its neighbours"))
        keywords = self.changes.keywords(group[0]) if len(group) == 1 else ()
        if keywords:
            yield Candidate(scope, keywords, Message("whatever else is passed"))

    def _ways(self, difference: Difference, number: int) -> list[tuple[Line, ...]]:
        """The lines of one of several differences, the most general first."""
        if difference.kind == "change":
            return [fragment.lines for fragment in self.changes.statement(difference)]
        deleted = [
            line for node in difference.deleted for line in verbatim(self.changes.before, node)
        ]
        inserted = self.runs.inserted(difference, below=number == 0)
        return [(*tagged("-", deleted), *tagged("+", inserted))]

    def both(self, first: Difference, second: Difference) -> Iterator[Candidate]:
        """Candidates for an insertion and the change of a header directly below or above it; none for other differences."""
        if first.blocks[0] is second.blocks[0] and first.old == (second.old[0], second.old[0]):
            if (first.kind, second.kind) == ("run", "header"):
                inserted = tagged("+", self.runs.inserted(first, below=True))
                for candidate in self.of(second):
                    form = Message("{form}, with what is inserted above it", form=candidate.form)
                    yield candidate._replace(
                        scope=first.place.scope, lines=(*inserted, *candidate.lines), form=form
                    )
        elif (
            first.pairs
            and first.pairs[0][0].fields.get("body") is second.blocks[0]
            and not second.deleted
        ):
            inserted = tagged("+", self.runs.inserted(second, below=True))
            lines = enclosed(self.changes.before, second.blocks[0], inserted, False, True) or []
            inside = [*dropwhile(lambda line: line[0] == " ", lines)]
            for candidate in (
                self.of(first) if inside and second.place.neighbours[0] is None else ()
            ):
                # all of the header
                if candidate.lines[-1][0] == "+" and candidate.lines[-1][1].endswith(":"):
                    form = Message("{form}, with what is inserted below it", form=candidate.form)
                    yield candidate._replace(lines=(*candidate.lines, *inside), form=form)

    def loose(self, works: Sequence[Candidate], group: Sequence[Difference]) -> Iterator[Candidate]:
        """The candidates in the same function of any class, those that leave the old value open, and both; each once."""
        seen = {candidate.text for candidate in works}
        some = list(islice(chain.from_iterable(map(self.changes.opened, group)), _MOST))
        wide = [each for candidate in (*works[:_MOST], *some) for each in _anywhere(candidate)]
        for candidate in (*some, *wide):
            if candidate.text not in seen:
                seen.add(candidate.text)
                yield candidate


def _dedented(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines of a hunk, with the first one at the margin."""
    depth = len(lines[0][1]) - len(lines[0][1].lstrip())
    return tuple((tag, line[depth:] if not line[:depth].strip() else line) for tag, line in lines)


def _anywhere(candidate: Candidate) -> Iterator[Candidate]:
    """The same definition in other classes and functions: a `*` for one name around it, then for all."""
    *around, name = candidate.scope.split(".")
    places = range(len(around))
    for hidden in chain.from_iterable(combinations(places, number + 1) for number in places):
        scope = ".".join([*("*" if at in hidden else each for at, each in enumerate(around)), name])
        yield candidate._replace(
            scope=scope,
            form=Message(
                "{form}, in any class that defines `{name}`", form=candidate.form, name=name
            ),
        )
