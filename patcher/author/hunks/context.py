"""A hunk that may make a difference, and the context that is written around it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Iterable, Iterator, Sequence, TypeVar

from patcher.author.hunks.differences import BlockRange, scope_of
from patcher.author.hunks.excerpts import (
    Form,
    Line,
    decorators,
    enclosed,
    forms,
    header,
    is_one_of_several,
    open_beginning,
    tagged,
)
from patcher.engine.tree import Node, Tree
from patcher.message import Message
from patcher.record import Record

_DOLLAR = re.compile(r"""(?<=["'])\$(?=[A-Z][A-Z0-9_]*["'])""")
"""The `$` of a string that would be taken for a placeholder: one that is nothing but `$NAME`."""
_OPEN_PART = re.compile(r"\$(?P<name>[A-Z][A-Z0-9_]*)|\.\.\.(?!\w)")
"""What stands for any code of its line: a placeholder, or a run."""

THEIRS, UNANNOTATED = "theirs", "unannotated"


class Flags(Record):
    """What stands behind the scope of a hunk.

    Attributes:
        everywhere: `count=all`.
        optional: `when-present`.
        inside: a flag that says in which kind of block, "" for none.
    """

    everywhere: bool = False
    optional: bool = False
    inside: str = ""

    @property
    def text(self) -> str:
        """The flags as they are written."""
        words: list[str] = []
        if self.everywhere:
            words.append("count=all")
        if self.optional:
            words.append("when-present")
        if self.inside:
            words.append(self.inside)
        return "".join(f" {word}" for word in words)


class Candidate(Record):
    """A hunk that may make a difference.

    Attributes:
        scope: the scope in which it is searched for.
        lines: its lines, without the `@@` line.
        form: describes it to the user in a few words.
        flags: what stands behind its scope.
        elsewhere: it inserts its code in another place than the edit did.
        further_forms: those of the hunk, for releases in which it is not found.
        otherwise: how it is for such releases alone: `THEIRS`, for code that only they have,
            or `UNANNOTATED`, without the annotations that the edit changes; "" for any other.
    """

    scope: str
    lines: tuple[Line, ...]
    form: str
    flags: Flags = Flags()
    elsewhere: bool = False
    further_forms: tuple[Candidate, ...] = ()
    otherwise: str = ""

    @property
    def sides(self) -> tuple[int, int]:
        """How many lines of code it needs above its change, and below.

        The header of its own definition does not count, nor do comments.
        """
        name = self.scope.rpartition(".")[2]
        own_header = re.compile(rf"@|((async )?(def|class) {name}\b)")
        above = below = 0
        is_above = True
        for tag, line in self.lines:
            if tag != " ":
                is_above = False
            elif line.strip() in ("", "...") or is_comment(line) or own_header.match(line):
                continue
            elif is_above:
                above += 1
            else:
                below += 1
        return above, below

    @property
    def words(self) -> str:
        """How it and its further forms are written, for the user."""
        words = self.form
        for other in self.further_forms:
            template = "{form}; where that is not found: {other}"
            words = Message(template, form=words, other=other.form)
        return words

    @property
    def text(self) -> str:
        """The hunk as it is written in a `.spatch`, ending in a line break."""
        text = self._below(self.scope)
        for other in self.further_forms:
            scope = "or" if other.scope == self.scope else f"or {other.scope}"
            text += other._below(scope)
        return text

    @property
    def forms(self) -> tuple[Candidate, ...]:
        """Each of its forms alone, in their order."""
        return (self._replace(further_forms=()), *self.further_forms)

    def is_like(self, other: Candidate) -> bool:
        """Whether it has the lines of another candidate, but for blank ones."""
        return list(filter(_has_code, self.lines)) == list(filter(_has_code, other.lines))

    def covers(self, other: Candidate) -> bool:
        """Whether one of its forms is found wherever another candidate is, as far as lines tell.

        It is written as that one, but for blank lines, and with placeholders and runs in the place
        of code.
        """
        code = _written(filter(_has_code, other.lines))
        for form in self.forms:
            is_scope = fnmatchcase(other.scope, form.scope)
            is_block = form.flags.inside in ("", other.flags.inside)
            pattern = _as_pattern(_written(filter(_has_code, form.lines)))
            if is_scope and is_block and re.fullmatch(pattern, code):
                return True
        return False

    def with_further_form(self, other: Candidate) -> Candidate:
        """The same with one more form."""
        return self._replace(further_forms=(*self.further_forms, other))

    def _below(self, scope: str) -> str:
        """This form alone, below the `@@` line of a scope."""
        return f"@@ {scope} @@{self.flags.text}\n{_written(self.lines)}"


def _written(lines: Iterable[Line]) -> str:
    """Lines as they are written in a `.spatch`, each ending in a line break."""
    text = ""
    for tag, line in lines:
        if tag != "+":
            line = _DOLLAR.sub(r"\\x24", line)
        text += f"{tag}{line}\n" if line else f"{tag.strip()}\n"
    return text


def is_comment(code: str) -> bool:
    """Whether the code of a line is a comment alone."""
    return code.lstrip().startswith("#")


def _has_code(line: Line) -> bool:
    return bool(line[1])


def _as_pattern(lines: str) -> str:
    """A regular expression for the lines that these lines of a hunk stand for.

    A placeholder that is there twice is the same code twice. Runs are those inside a line.
    """
    pattern = ""
    at = 0
    seen: set[str] = set()
    for open_part in _OPEN_PART.finditer(lines):
        pattern += re.escape(lines[at : open_part.start()])
        at = open_part.end()
        name = open_part["name"]
        if not name:
            pattern += ".*"
        elif name in seen:
            pattern += f"(?P={name})"
        else:
            seen.add(name)
            pattern += f"(?P<{name}>.+)"
    return pattern + re.escape(lines[at:])


class Fragment(Record):
    """Lines that make a difference in its block.

    `above` and `below`: whether they have the statement there as context.
    """

    lines: tuple[Line, ...]
    form: str
    above: bool = False
    below: bool = False

    def in_scope(self, scope: str) -> Candidate:
        """The hunk of these lines alone."""
        return Candidate(scope, self.lines, form=self.form)


def alone_and_around(
    text: Tree, place: BlockRange, fragments: Sequence[Fragment], *, little: bool = False
) -> Iterator[Candidate]:
    """The lines of a change alone, and with more around them.

    Alone last where they say too `little` of their place.
    """
    alone = [fragment.in_scope(place.scope) for fragment in fragments]
    if not little:
        yield from alone
    yield from with_context(text, place, fragments=fragments)
    if little:
        yield from alone


def with_context(
    text: Tree,
    place: BlockRange,
    fragments: Sequence[Fragment],
    near: Sequence[Fragment] = (),
    *,
    headers: bool = True,
) -> Iterator[Candidate]:
    """The lines of a change with more around them.

    That is one neighbour, the header, both neighbours. Where the file has several definitions of
    the name of the one around them, also what is beside that.

    Args:
        text: the text of the file.
        place: where the change is.
        fragments: the lines of the change, in one way or several.
        near: the same beside a neighbour; if there are none, in its general and specific forms.
        headers: whether they may have the header alone.
    """
    near = near or list(beside(text, place, fragments=fragments))
    for fragment in near:
        yield fragment.in_scope(place.scope)
    if headers:
        yield from in_headers(text, place, fragments=fragments)
    yield from _between_neighbours(text, place, fragments=fragments)
    yield from in_headers(text, place, fragments=near)

    owner = place.block.parent
    if owner is not None and is_one_of_several(text, owner):
        around: list[Fragment] = []
        for fragment in (*fragments, *near):
            inside = _inside(text, place, fragment=fragment)
            if inside is not None:
                form = Message("{form}, in the definition around it", form=inside.form)
                around.append(inside._replace(form=form))
        if around:
            yield from with_context(text, BlockRange.of(owner), fragments=ends(around))


def _between_neighbours(
    text: Tree, place: BlockRange, fragments: Sequence[Fragment]
) -> Iterator[Candidate]:
    above, below = place.neighbours
    if above is None or below is None:
        return
    for fragment in fragments:
        form = Message("{form}, between both neighbours", form=fragment.form)
        for one, other in zip(
            ends(forms(text, above, suffix="1")), ends(forms(text, below, suffix="2"))
        ):
            lines = (*tagged(" ", one.lines), *fragment.lines, *tagged(" ", other.lines))
            yield Candidate(place.scope, lines, form=form)


def beside(text: Tree, place: BlockRange, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """The lines of a change beside a neighbour, in its most general and its most specific form."""
    above, below = place.neighbours
    above_forms: list[Form] = [] if above is None else ends(forms(text, above))
    below_forms: list[Form] = [] if below is None else ends(forms(text, below))
    for fragment in fragments:
        for neighbour in above_forms:
            lines = (*tagged(" ", neighbour.lines), *fragment.lines)
            form = Message("{form}, beside the statement above", form=fragment.form)
            yield Fragment(lines, form, above=True)
        for neighbour in below_forms:
            lines = (*fragment.lines, *tagged(" ", neighbour.lines))
            form = Message("{form}, beside the statement below", form=fragment.form)
            yield Fragment(lines, form, below=True)


def in_headers(text: Tree, place: BlockRange, fragments: Sequence[Fragment]) -> Iterator[Candidate]:
    """The lines of a change inside the header of their block, and of the block around that."""
    for fragment in fragments:
        outer, inside = place, _inside(text, place, fragment=fragment)
        for _ in range(2):
            owner = outer.block.parent
            if inside is None or owner is None:
                break
            form = Message("{form}, inside its header", form=fragment.form)
            yield Candidate(scope_of(owner), inside.lines, form=form)
            if owner.is_clause:
                yield from _below_first_branch(text, owner, inside)
            if owner.is_clause or owner.parent is None or owner.parent.kind != "Block":
                break
            outer = BlockRange.of(owner)
            inside = _inside(text, outer, fragment=inside)


def _below_first_branch(text: Tree, clause: Node, fragment: Fragment) -> Iterator[Candidate]:
    """Lines inside the first clause of a statement, below how its own body begins.

    Of several statements with this header and this clause that tells which one it is.
    """
    statement = clause.parent
    if statement is None or statement.items("clauses")[0] is not clause:
        return
    above = [*header(text, statement), *open_beginning(text, statement)]
    form = Message("{form}, below the beginning of the statement", form=fragment.form)
    yield Candidate(scope_of(statement), (*tagged(" ", above), *fragment.lines), form=form)


def in_function(
    text: Tree, place: BlockRange, fragments: Sequence[Fragment], parameters: Sequence[Node]
) -> Iterator[Candidate]:
    """The lines of a change inside each header up to that of their function, with parameters."""
    form = Message("inside the header of the function, with the parameters")
    for fragment in fragments:
        outer = place
        inside: Fragment | None = fragment
        while inside is not None:
            owner = outer.block.parent
            if owner is None:
                break
            if owner.kind == "FunctionDef":
                inside = _inside(text, outer, fragment=inside, parameters=parameters)
                if inside is not None:
                    yield Candidate(scope_of(owner), inside.lines, form=form)
                break
            inside = _inside(text, outer, fragment=inside)
            if owner.is_clause or owner.parent is None or owner.parent.kind != "Block":
                break
            outer = BlockRange.of(owner)


def _inside(
    text: Tree, place: BlockRange, fragment: Fragment, parameters: Sequence[Node] = ()
) -> Fragment | None:
    """Lines below the header of their block, with `...` for the rest of it.

    None where that is no place. Of several definitions of one name the decorators are a part of
    the header, and so are `parameters` of a function.
    """
    first, last = place.rows
    above, below = place.neighbours
    more_above, more_below = above is not None, below is not None
    if fragment.above:
        more_above = first > 1
    if fragment.below:
        more_below = last + 1 < len(place.block.statements())
    if more_above and more_below and all(tag == "+" for tag, _ in fragment.lines):
        return None  # between `...` and `...` there is no place

    lines = enclosed(
        text,
        place.block,
        lines=fragment.lines,
        above=more_above,
        below=more_below,
        parameters=parameters,
    )
    if not lines:
        return None
    owner = place.block.parent
    if owner is not None and is_one_of_several(text, owner):
        lines = [*tagged(" ", decorators(text, owner)), *lines]
    return Fragment(tuple(lines), fragment.form)


_T = TypeVar("_T")


def ends(found: Sequence[_T]) -> list[_T]:
    """The first and the last, which are the most general and the most specific form."""
    return [found[0], found[-1]] if found else []
