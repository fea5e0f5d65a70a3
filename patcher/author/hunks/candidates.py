"""One difference -> the hunks that may make it, the most general first."""

from __future__ import annotations

from typing import Iterator, Set

from patcher.author.hunks.changes import Changes
from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import Difference
from patcher.author.hunks.excerpts import tagged
from patcher.author.hunks.insertions import Runs
from patcher.author.hunks.spans import Text


class Candidates:
    """Makes the candidates for the differences between two texts."""

    def __init__(self, before: Text, after: Text) -> None:
        changes, runs = Changes(before, after), Runs(before, after)
        self.makers = {"change": changes.change, "header": changes.header, "clause": changes.clause, "run": runs.run}
        self.whole, self.opened, self.inserted = changes.whole, changes.opened, runs.inserted

    def of(self, difference: Difference) -> Iterator[Candidate]:
        """The candidates for one difference, each once."""
        seen: Set[str] = set()
        for candidate in self.makers[difference.kind](difference):
            if candidate.text not in seen and any(tag != " " for tag, _ in candidate.lines):
                seen.add(candidate.text)
                yield candidate

    def both(self, insertion: Difference, header: Difference) -> Iterator[Candidate]:
        """Candidates for an insertion and a change of the header directly below it; none for other differences."""
        neighbours = insertion.blocks[0] is header.blocks[0] and insertion.old == (header.old[0], header.old[0])
        if neighbours and (insertion.kind, header.kind) == ("run", "header"):
            inserted = tagged("+", self.inserted(insertion, below=True))
            for each in self.of(header):
                form = f"{each.form}, with what is inserted above it"
                yield each._replace(scope=insertion.place.scope, lines=(*inserted, *each.lines), form=form)
