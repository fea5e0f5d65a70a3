"""A hunk that may make a difference, and the context that is written around it."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from patcher.author.hunks.differences import Difference, scope_of
from patcher.author.hunks.excerpts import Form, Line, enclosed, forms, tagged
from patcher.author.hunks.spans import Text
from patcher.engine.node import CLAUSES

_DOLLAR = re.compile(r"""(?<=["'])\$(?=[A-Z][A-Z0-9_]*["'])""")
"""The `$` of a string that would be taken for a placeholder: one that is nothing but `$NAME`."""


class Candidate(NamedTuple):
    """A hunk that may make a difference; `form` describes it to the user in a few words.

    `everywhere` is `count=all`. With `elsewhere` it inserts its code in another place than the edit did.
    """

    scope: str
    lines: Tuple[Line, ...]
    form: str
    everywhere: bool = False
    elsewhere: bool = False
    in_string: bool = False

    @property
    def text(self) -> str:
        """The hunk as it is written in a `.spatch`, ending in a line break."""
        flags = " count=all" * self.everywhere + " in-string" * self.in_string
        escaped = [line if tag == "+" or self.in_string else _DOLLAR.sub(r"\\x24", line) for tag, line in self.lines]
        body = "".join(f"{tag if line else tag.strip()}{line}\n" for (tag, _), line in zip(self.lines, escaped))
        return f"@@ {self.scope} @@{flags}\n{body}"


class Fragment(NamedTuple):
    """Lines that make a difference in its block; `above` and `below`: whether they have the statement there as context."""

    lines: Tuple[Line, ...]
    form: str
    above: bool = False
    below: bool = False


def alone_and_around(
    text: Text, difference: Difference, fragments: Sequence[Fragment], *, little: bool = False
) -> Iterator[Candidate]:
    """The lines of a change alone, and with more around them; alone last where they say too `little` of their place."""
    alone = [Candidate(difference.scope, each.lines, each.form) for each in fragments]
    yield from () if little else alone
    yield from with_context(text, difference, fragments)
    yield from alone if little else ()


def with_context(
    text: Text, difference: Difference, fragments: Sequence[Fragment], near: Sequence[Fragment] = ()
) -> Iterator[Candidate]:
    """The lines of a change with more around them: one neighbour, the header, both neighbours; `near` have a neighbour."""
    above, below = difference.neighbours
    near = near or list(_near(text, difference, fragments))
    for each in near:
        yield Candidate(difference.scope, each.lines, each.form)
    yield from in_headers(text, difference, fragments)
    if above is not None and below is not None:
        for each in fragments:
            for one, other in zip(ends(forms(text, above, "1")), ends(forms(text, below, "2"))):
                lines = (*tagged(" ", one.lines), *each.lines, *tagged(" ", other.lines))
                yield Candidate(difference.scope, lines, f"{each.form}, between both neighbours")
    yield from in_headers(text, difference, near)


def _near(text: Text, difference: Difference, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """The lines of a change beside a neighbour, in its most general and its most specific form."""
    higher, lower = (ends(forms(text, node)) if node is not None else [] for node in difference.neighbours)
    for each in fragments:
        for form in higher:
            lines = (*tagged(" ", form.lines), *each.lines)
            yield Fragment(lines, f"{each.form}, beside the statement above", above=True)
        for form in lower:
            lines = (*each.lines, *tagged(" ", form.lines))
            yield Fragment(lines, f"{each.form}, beside the statement below", below=True)


def in_headers(text: Text, difference: Difference, fragments: Sequence[Fragment]) -> Iterator[Candidate]:
    """The lines of a change inside the header of their block, and of the block around that."""
    first, last = difference.old
    above, below = difference.neighbours
    for each in fragments:
        block = difference.blocks[0]
        higher = first > 1 if each.above else above is not None
        lower = last + 1 < len(block.statements()) if each.below else below is not None
        if higher and lower and all(tag == "+" for tag, _ in each.lines):
            continue  # between `...` and `...` there is no place
        inner: Optional[List[Line]] = enclosed(text, block, each.lines, higher, lower)
        for _ in range(2):
            if inner is None or block.parent is None:
                break
            owner = block.parent
            yield Candidate(scope_of(owner), tuple(inner), f"{each.form}, inside its header")
            if owner.parent is None or owner.kind in CLAUSES or owner.parent.kind != "Block":
                break
            block = owner.parent
            siblings = block.statements()
            inner = enclosed(text, block, inner, siblings[0] is not owner, siblings[-1] is not owner)


def ends(found: Sequence[Form]) -> List[Form]:
    """The most general and the most specific form."""
    return [found[0], found[-1]] if found else []
