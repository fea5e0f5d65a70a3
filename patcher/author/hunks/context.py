"""A hunk that may make a difference, and the context that is written around it."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Iterator, NamedTuple, Sequence, TypeVar

from patcher.author.hunks.differences import BlockRange, scope_of
from patcher.author.hunks.excerpts import Line, enclosed, excerpt, forms, tagged
from patcher.engine.tree import Node, Tree
from patcher.message import Message

_DOLLAR = re.compile(r"""(?<=["'])\$(?=[A-Z][A-Z0-9_]*["'])""")
"""The `$` of a string that would be taken for a placeholder: one that is nothing but `$NAME`."""


class Candidate(NamedTuple):
    """A hunk that may make a difference; `form` describes it to the user in a few words.

    `everywhere` is `count=all`, `optional` is `when-present`, `inside` a flag of that name or "". With `elsewhere` it
    inserts its code in another place than the edit did. `others` are further forms of the hunk, for releases in which it is
    not found, `renamed` those for a definition that only such a release has.
    """

    scope: str
    lines: tuple[Line, ...]
    form: str
    everywhere: bool = False
    elsewhere: bool = False
    others: tuple[Candidate, ...] = ()
    optional: bool = False
    renamed: bool = False
    inside: str = ""

    @property
    def sides(self) -> tuple[int, int]:
        """How many lines of code it needs above its change, and below; without the header of its own definition."""
        own = re.compile(rf"@|((async )?(def|class) {self.scope.rpartition('.')[2]}\b)")
        needed = [
            tag == " " and line.strip() not in ("", "...") and not own.match(line)
            for tag, line in self.lines
        ]
        at = next((number for number, (tag, _) in enumerate(self.lines) if tag != " "), 0)
        return sum(needed[:at]), sum(needed[at:])

    @property
    def words(self) -> str:
        """How it and its further forms are written, for the user."""
        text = self.form
        for other in self.others:
            text = Message("{form}; where that is not found: {other}", form=text, other=other.form)
        return text

    @property
    def text(self) -> str:
        """The hunk as it is written in a `.spatch`, ending in a line break."""
        scopes = (
            ("or",) if other.scope == self.scope else ("or", other.scope) for other in self.others
        )
        further = (other._written(" ".join(words)) for other, words in zip(self.others, scopes))
        return "".join([self._written(self.scope), *further])

    def _written(self, scope: str) -> str:
        flags = (
            " count=all" * self.everywhere
            + " when-present" * self.optional
            + f" {self.inside}" * bool(self.inside)
        )
        escaped = [line if tag == "+" else _DOLLAR.sub(r"\\x24", line) for tag, line in self.lines]
        body = "".join(
            f"{tag if line else tag.strip()}{line}\n" for (tag, _), line in zip(self.lines, escaped)
        )
        return f"@@ {scope} @@{flags}\n{body}"


class Fragment(NamedTuple):
    """Lines that make a difference in its block; `above` and `below`: whether they have the statement there as context."""

    lines: tuple[Line, ...]
    form: str
    above: bool = False
    below: bool = False


def alone_and_around(
    text: Tree, place: BlockRange, fragments: Sequence[Fragment], *, little: bool = False
) -> Iterator[Candidate]:
    """The lines of a change alone, and with more around them; alone last where they say too `little` of their place."""
    alone = [Candidate(place.scope, each.lines, each.form) for each in fragments]
    yield from () if little else alone
    yield from with_context(text, place, fragments)
    yield from alone if little else ()


def with_context(
    text: Tree,
    place: BlockRange,
    fragments: Sequence[Fragment],
    near: Sequence[Fragment] = (),
    headers: bool = True,
) -> Iterator[Candidate]:
    """The lines of a change with more around them: one neighbour, the header, both neighbours; `near` have a neighbour.

    Without `headers` none has the header alone. Where the file has several definitions of the name of the one around them,
    also with what is beside that.
    """
    above, below = place.neighbours
    near = near or list(beside(text, place, fragments))
    for each in near:
        yield Candidate(place.scope, each.lines, each.form)
    if headers:
        yield from in_headers(text, place, fragments)
    if above is not None and below is not None:
        for each in fragments:
            for one, other in zip(ends(forms(text, above, "1")), ends(forms(text, below, "2"))):
                lines = (*tagged(" ", one.lines), *each.lines, *tagged(" ", other.lines))
                yield Candidate(
                    place.scope, lines, Message("{form}, between both neighbours", form=each.form)
                )
    yield from in_headers(text, place, near)
    owner = place.block.parent
    if owner is not None and _is_one_of_several(text, owner):
        inside = filter(None, (_inside(text, place, each) for each in (*fragments, *near)))
        around = [
            each._replace(form=Message("{form}, in the definition around it", form=each.form))
            for each in inside
        ]
        yield from with_context(text, BlockRange.of(owner), ends(around)) if around else ()


def _is_one_of_several(text: Tree, node: Node) -> bool:
    """Whether a node is a definition, and the file has another one of its qualified name."""
    return node.is_definition and _definitions(text.root)[scope_of(node)] > 1


@lru_cache(maxsize=4)
def _definitions(tree: Node) -> Counter[str]:
    """How often a file has a definition of this qualified name."""
    return Counter(scope_of(node) for node in tree.walk() if node.is_definition)


def beside(text: Tree, place: BlockRange, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """The lines of a change beside a neighbour, in its most general and its most specific form."""
    higher, lower = (
        ends(forms(text, node)) if node is not None else [] for node in place.neighbours
    )
    for each in fragments:
        for form in higher:
            lines = (*tagged(" ", form.lines), *each.lines)
            yield Fragment(
                lines, Message("{form}, beside the statement above", form=each.form), above=True
            )
        for form in lower:
            lines = (*each.lines, *tagged(" ", form.lines))
            yield Fragment(
                lines, Message("{form}, beside the statement below", form=each.form), below=True
            )


def in_headers(text: Tree, place: BlockRange, fragments: Sequence[Fragment]) -> Iterator[Candidate]:
    """The lines of a change inside the header of their block, and of the block around that."""
    for each in fragments:
        at, inner = place, _inside(text, place, each)
        for _ in range(2):
            owner = at.block.parent
            if inner is None or owner is None:
                break
            yield Candidate(
                scope_of(owner), inner.lines, Message("{form}, inside its header", form=each.form)
            )
            if owner.is_clause or owner.parent is None or owner.parent.kind != "Block":
                break
            at = BlockRange.of(owner)
            inner = _inside(text, at, inner)


def _inside(text: Tree, place: BlockRange, fragment: Fragment) -> Fragment | None:
    """Lines below the header of their block, with `...` for the rest of it; None where that is no place.

    Of several definitions of one name the decorators are a part of the header.
    """
    first, last = place.rows
    above, below = place.neighbours
    higher = first > 1 if fragment.above else above is not None
    lower = last + 1 < len(place.block.statements()) if fragment.below else below is not None
    if higher and lower and all(tag == "+" for tag, _ in fragment.lines):
        return None  # between `...` and `...` there is no place
    lines = enclosed(text, place.block, fragment.lines, higher, lower)
    owner = place.block.parent
    named = (
        owner.items("decorators") if owner is not None and _is_one_of_several(text, owner) else []
    )
    decorators = [line for node in named for line in excerpt(text, node.start, node.end)]
    return Fragment((*tagged(" ", decorators), *lines), fragment.form) if lines else None


_T = TypeVar("_T")


def ends(found: Sequence[_T]) -> list[_T]:
    """The first and the last, which are the most general and the most specific form."""
    return [found[0], found[-1]] if found else []
