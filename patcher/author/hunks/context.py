"""A hunk that may make a difference, and the context that is written around it."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from patcher.author.hunks.leaves import Leaf, position, scope_of
from patcher.author.hunks.sketch import Form, Line, enclosed, forms, is_clause, tagged
from patcher.author.hunks.spans import Text, statements


class Candidate(NamedTuple):
    """A hunk that may make a difference; `form` says in a few words how it is written.

    `everywhere` is `count=all`; `far` says that its place does not matter.
    """

    scope: str
    lines: Tuple[Line, ...]
    form: str
    everywhere: bool = False
    far: bool = False
    in_string: bool = False

    @property
    def text(self) -> str:
        """The hunk as it stands in a `.spatch`, ending in a line break."""
        flags = " count=all" * self.everywhere + " in-string" * self.in_string
        body = "".join(f"{tag}{line}".rstrip() + "\n" for tag, line in self.lines)
        return f"@@ {self.scope} @@{flags}\n{body}"


class Made(NamedTuple):
    """Lines that make a difference in its block; `above` and `below` say whether they hold the statement there as context."""

    lines: Tuple[Line, ...]
    words: str
    above: bool = False
    below: bool = False


def with_context(text: Text, leaf: Leaf, made: Sequence[Made]) -> Iterator[Candidate]:
    """The lines of a change with more around them: one neighbour, the header, both neighbours."""
    scope = scope_of(leaf.blocks[0])
    above, below = position(leaf)
    higher, lower = (ends(forms(text, node)) if node is not None else [] for node in (above, below))
    near: List[Made] = []
    for each in made:
        for form in higher:
            lines = (*tagged(" ", form.lines), *each.lines)
            near.append(Made(lines, f"{each.words}, beside the statement above", above=True))
        for form in lower:
            lines = (*each.lines, *tagged(" ", form.lines))
            near.append(Made(lines, f"{each.words}, beside the statement below", below=True))
    for each in near:
        yield Candidate(scope, each.lines, each.words)
    yield from in_headers(text, leaf, made)
    if above is not None and below is not None:
        for each in made:
            for one, other in zip(ends(forms(text, above, "1")), ends(forms(text, below, "2"))):
                lines = (*tagged(" ", one.lines), *each.lines, *tagged(" ", other.lines))
                yield Candidate(scope, lines, f"{each.words}, between both neighbours")
    yield from in_headers(text, leaf, near)


def in_headers(text: Text, leaf: Leaf, made: Sequence[Made]) -> Iterator[Candidate]:
    """The same inside the header of the block, and of the block around that."""
    size = len(statements(leaf.blocks[0]))
    above, below = position(leaf)
    for each in made:
        higher = leaf.first > 1 if each.above else above is not None
        lower = leaf.last + 1 < size if each.below else below is not None
        block = leaf.blocks[0]
        inner: Optional[List[Line]] = enclosed(text, block, each.lines, higher, lower)
        for _ in range(2):
            if inner is None or block.parent is None:
                break
            owner = block.parent
            yield Candidate(scope_of(owner), tuple(inner), f"{each.words}, inside its header")
            if owner.parent is None or is_clause(owner) or owner.parent.kind != "Block":
                break
            block = owner.parent
            siblings = statements(block)
            inner = enclosed(text, block, inner, siblings[0] is not owner, siblings[-1] is not owner)


def ends(found: Sequence[Form]) -> List[Form]:
    """The most general and the most specific form."""
    return [found[0], found[-1]] if found else []
