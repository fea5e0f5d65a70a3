"""Statements that are inserted, deleted or replaced -> the hunks that may do it.

The most general ones come first.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import islice, takewhile
from pathlib import Path
from typing import AbstractSet, Iterator, Sequence

from patcher.author.hunks.context import (
    Candidate,
    Flags,
    Fragment,
    alone_and_around,
    beside,
    in_function,
    in_headers,
    with_context,
)
from patcher.author.hunks.differences import (
    BlockRange,
    Difference,
    bodies,
    kept_bodies,
    kept_in,
)
from patcher.author.hunks.excerpts import (
    Form,
    Hole,
    comment_behind,
    excerpt,
    forms,
    open_definition,
    open_details,
    parameter_name,
    tagged,
    uncommented,
    verbatim,
    verbatim_all,
)
from patcher.author.hunks.names import (
    IMPORTS,
    distinctive_words,
    mentioned_during_import,
    names_bound,
    names_in,
    read_during_import,
)
from patcher.engine.tree import Node, Tree, inside_of, same
from patcher.message import Message
from patcher.record import Record


def _stdlib() -> frozenset[str]:
    """The modules of the standard library; Python 3.9 and older has no list of them."""
    names = getattr(sys, "stdlib_module_names", None)
    if not names:
        names = (path.stem for path in Path(ast.__file__).parent.iterdir())
    return frozenset(sys.builtin_module_names) | frozenset(names)


_STDLIB = _stdlib()
_LEAVES = ("Raise", "Return", "Assert", "Break", "Continue")
"""The statements by which code leaves its block."""


class _Insertion(Record):
    """The lines of inserted code.

    Attributes:
        known: the comments directly above it that the file has already.
        lines: the code with its other comments, and with the blank lines around it.
    """

    known: list[str]
    lines: list[str]

    @property
    def bare(self) -> list[str]:
        """The lines without those that are blank."""
        return list(filter(None, self.lines))


class Runs:
    """Makes the candidates for statements of a block that are inserted, deleted or replaced."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after

    def run(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for statements of a block that are inserted, deleted or replaced."""
        if not difference.deleted:
            yield from self._insertion(difference)
            return
        for candidate in self._replacement(difference):
            yield in_its_block(candidate, difference.before) if difference.inserted else candidate

    def _replacement(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for statements that are deleted or replaced."""
        if difference.inserted:
            yield from self._wrapped(difference)
            yield from self._below_others(difference)
        fragments = self._whole(difference)
        are_definitions = all(node.is_definition for node in difference.deleted)
        if difference.inserted or are_definitions:
            little = len(distinctive_words(difference.deleted)) < 2
            yield from alone_and_around(
                self.before, difference.before, fragments=fragments, little=little
            )
        else:
            yield from self._deletion(difference, fragments)

    def inserted(self, difference: Difference, *, below: bool) -> list[str]:
        """The lines of the inserted statements, with their comments and the blank lines around.

        With `below` they are inserted above the statement below and its comments, else below the
        statement above.
        """
        return self._inserted(difference, below=below).lines

    # deleted and replaced -----------------------------------------------------------------------
    def _whole(self, difference: Difference) -> list[Fragment]:
        """All of the statements that go, and all of those that come."""
        deleted = tagged("-", verbatim_all(self.before, difference.deleted))
        inserted = self.inserted(difference, below=True)
        if inserted:
            layouts = [inserted]
            # a comment inside changed code may have no place
            bare = list(filter(None, uncommented(inserted)))
            if bare != inserted:
                layouts.append(bare)
        else:
            layouts = self._blank_lines(difference)

        form = Message("the code that goes")
        fragments: list[Fragment] = []
        for lines in layouts:
            fragments.append(Fragment((*deleted, *tagged("+", lines)), form))

        comment = comment_behind(self.before, difference.deleted[-1])
        if comment and inserted and comment not in inserted[-1]:  # it stays unless it is written
            tag, last_line = deleted[-1]
            whole = (*deleted[:-1], (tag, f"{last_line}  {comment}"), *tagged("+", inserted))
            fragments.append(Fragment(whole, form))
        return fragments

    def _deletion(
        self, difference: Difference, fragments: Sequence[Fragment]
    ) -> Iterator[Candidate]:
        """Deleted statements beside a neighbour or in their block.

        Elsewhere the same code may be needed. A guard is beside the statement below it, which is
        what it guards; only without one it is beside the other.
        """
        place = difference.before
        near = list(beside(self.before, place, fragments=fragments))
        if is_guard(difference):
            below = [fragment for fragment in near if fragment.below]
            near = below or near
            yield from with_context(
                self.before, place, fragments=fragments, near=near, headers=not near
            )
            return

        alone: list[Candidate] = []
        for fragment in fragments:
            candidate = fragment.in_scope(place.scope)
            flags = candidate.flags._replace(inside=inside_of(place.block))
            form = Message("{form}, in a block of this kind", form=fragment.form)
            alone.append(candidate._replace(flags=flags, form=form))
        little = not is_telling(difference)
        if not little:
            yield from alone
        yield from with_context(self.before, place, fragments=fragments, near=near)
        if little:
            yield from alone

    def _blank_lines(self, difference: Difference) -> list[list[str]]:
        """The lines in the place of deleted statements: those that are blank, and none."""
        blank = self._blank(difference)
        return [[""] * blank, []] if blank else [[]]

    def _blank(self, difference: Difference) -> int:
        """How many blank lines more than the engine leaves are in the place of deleted statements.

        See format rule 18.
        """
        first, last = difference.deleted[0].begin, difference.deleted[-1].outer_end
        above = _between(self.before, self.before.code_before(first), first)
        below = _between(self.before, last, self.before.code_from(last))
        start = difference.start
        left = _between(self.after, self.after.code_before(start), self.after.code_from(start))
        # at the end of a file it leaves none
        if not self.before.text[last:].strip("\r\n") and not below:
            return left.count("")
        shorter = min(_leading_blanks(above[::-1]), _leading_blanks(below))
        return max(0, left.count("") - above.count("") - below.count("") + shorter)

    # inserted -----------------------------------------------------------------------------------
    def _inserted(
        self, difference: Difference, *, below: bool, holes: Sequence[Hole] = ()
    ) -> _Insertion:
        """The lines of inserted statements, the holes filled; `below` is that of `inserted`."""
        if not difference.inserted:
            return _Insertion([], [])
        text = self.after
        start, end = difference.inserted[0].begin, difference.inserted[-1].outer_end
        code = excerpt(text, start, end, holes=holes)
        tail = text.text[end : text.lines.end(end)].rstrip()
        if tail.lstrip().startswith("#"):
            code[-1] += tail

        # what is around the code after the edit, and what is there before it
        above = _between(text, text.code_before(start), start)
        is_last = difference.after.rows[1] == len(difference.after.block.statements())
        following: list[str] = []
        foot: list[str] = []
        if difference.deleted:
            first = difference.deleted[0].begin
            head = _between(self.before, self.before.code_before(first), first)
        else:
            if not is_last:
                following = _between(text, end, text.code_from(end))
            head, foot = self._gap(difference, below=below, is_last=is_last)

        while head and above and head[0] == above[0]:
            head, above = head[1:], above[1:]
        while foot and following and foot[-1] == following[-1]:
            foot, following = foot[:-1], following[:-1]

        # comments that are there already are not inserted again
        known = _common_start(foot, above)
        comments = list(filter(None, above[:known]))
        blank = [""] * following.count("")
        return _Insertion(comments, [*above[known:], *code, *blank])

    def _gap(
        self, difference: Difference, *, below: bool, is_last: bool
    ) -> tuple[list[str], list[str]]:
        """The comments and blank lines above the place of an insertion, and those below it."""
        start, end = difference.span
        if is_last:
            end = self.before.code_from(start)
        lines = _between(self.before, start, end)
        if not below:
            return [], lines
        # below the last blank line, above the comments of the statement
        at = 0
        for number, line in enumerate(lines, 1):
            if not line:
                at = number
        return lines[:at], lines[at:]

    def _insertion(self, difference: Difference) -> Iterator[Candidate]:
        yield from self._elsewhere(difference)
        place = difference.before
        above, below = place.neighbours
        owner = place.block.parent

        alone: list[Fragment] = []
        for lines in self._layouts(difference, below=above is None):
            alone.append(Fragment(tuple(tagged("+", lines)), Message("the new code")))
        if above is None and owner is not None and owner.kind == "FunctionDef":
            yield from in_headers(self.before, place, fragments=alone)
        near = self._beside_neighbours(difference)
        parameters = _parameters_for_others(difference)
        if parameters:
            # where the function lacks them, nothing reads what is assigned
            inside = list(in_function(self.before, place, near or alone, parameters))
            if inside:
                yield from inside
                return
        are_imports = all(node.kind in IMPORTS for node in difference.inserted)
        is_at_module_end = owner is None and below is None
        if is_at_module_end and not are_imports:
            yield from self._at_module_end(difference)
        # below a statement inside a block, it would run there alone
        at_end = below is None and owner is not None and owner.kind == "FunctionDef"
        # what a `with` holds, as a lock, may be why it is there
        in_with = owner is not None and owner.kind == "With"
        bound_to_block = [fragment.lines for fragment in near] if at_end or in_with else []
        for candidate in with_context(self.before, place, fragments=alone, near=near):
            if candidate.lines in bound_to_block:
                flags = candidate.flags._replace(inside=inside_of(place.block))
                candidate = candidate._replace(flags=flags)
            yield candidate
        if owner is None and above is None and below is not None and are_imports:
            for fragment in alone:
                lines_at_top = (*fragment.lines, (" ", "..."))
                yield Candidate("<module>", lines_at_top, form=Message("top of the module"))
        if is_at_module_end and are_imports:
            yield from self._at_module_end(difference)

    def at_end(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for what is last in a block, below another block in it, by its header."""
        place = difference.before
        owner = place.block.parent
        above, below = place.neighbours
        if owner is None or owner.is_definition or not distinctive_words(owner.header()):
            return
        if above is None or not above.is_compound or below is not None:
            return
        if _parameters_for_others(difference):
            return
        for lines in self._layouts(difference, below=False):
            fragment = Fragment(tuple(tagged("+", lines)), Message("the new code"))
            yield from islice(in_headers(self.before, place, fragments=[fragment]), 1)

    def _at_module_end(self, difference: Difference) -> Iterator[Candidate]:
        for lines in self._layouts(difference, below=False):
            at_end = ((" ", "..."), *tagged("+", lines))
            yield Candidate("<module>", at_end, form=Message("end of the module"))

    def _layouts(self, difference: Difference, *, below: bool) -> tuple[list[str], list[str]]:
        """The lines of inserted code with the blank lines around it, and without."""
        insertion = self._inserted(difference, below=below)
        return insertion.lines, insertion.bare

    def _beside_neighbours(self, difference: Difference) -> list[Fragment]:
        """An insertion beside a neighbour, in each form of that."""
        lower = difference.before.neighbours[1]
        ordered: list[tuple[int, Form, Node]] = []
        for node in self._anchors(difference):
            shared = _shared_names(node, difference.inserted)
            for number, form in enumerate(forms(self.before, node, names=shared)):
                rank = 1 if number else 0
                if _hides(form, node, shared):
                    rank += 2
                ordered.append((rank, form, node))
        ordered.sort(key=lambda each: each[0])

        near: list[Fragment] = []
        below = self._inserted(difference, below=True)
        for _, form, node in ordered:
            context = tagged(" ", form.lines)
            if node is not lower:
                words = Message("beside the statement above, {words}", words=form.words)
                for lines in self._layouts(difference, below=False):
                    code = (*context, *tagged("+", lines))
                    near.append(Fragment(code, words, above=True))
                continue
            if below.known:  # between a comment and the statement below it
                words = Message("below the comment above it, {words}", words=form.words)
                code = (*tagged(" ", below.known), *tagged("+", below.lines), *context)
                near.append(Fragment(code, words, below=True))
            words = Message("beside the statement below, {words}", words=form.words)
            for lines in (below.lines, below.bare):
                code = (*tagged("+", lines), *context)
                near.append(Fragment(code, words, below=True))
        return near

    def _elsewhere(self, difference: Difference) -> Iterator[Candidate]:
        """Imports at the top of the module, functions at its end.

        Where that makes no difference: the imports are of the standard library.
        """
        names = names_bound(difference.inserted)
        if difference.before.block.parent is not None:
            return
        if mentioned_during_import(self.before, names):
            return
        kinds = {node.kind for node in difference.inserted}
        if kinds <= IMPORTS:
            if all(is_standard(self.after, node) for node in difference.inserted):
                imports = tagged("+", self._inserted(difference, below=True).bare)
                form = Message("an import of the standard library: top of the module")
                yield Candidate("<module>", (*imports, (" ", "...")), form=form, elsewhere=True)
        elif kinds == {"FunctionDef"} and not read_during_import(self.after.root, names):
            if any(node.items("decorators") for node in difference.inserted):
                return  # they run where they stand: one may put the function into a table
            # nothing follows at the end of a module
            code = "\n".join(self.inserted(difference, below=False))
            above = len(code) - len(code.lstrip("\n"))
            below = len(code) - len(code.rstrip("\n"))
            functions = tagged("+", [""] * max(above, below) + code.strip("\n").split("\n"))
            form = Message("a helper that only functions use: end of the module")
            yield Candidate("<module>", ((" ", "..."), *functions), form=form, elsewhere=True)

    def _anchors(self, difference: Difference) -> list[Node]:
        """The neighbours of an insertion.

        First the one whose names it shares, else the more distinctive one.
        """
        above, below = difference.before.neighbours
        inside, bound = names_in(difference.inserted), names_bound(difference.inserted)

        def rank(node: Node) -> tuple[bool, bool, int]:
            is_related = bool(names_bound([node]) & inside or names_in([node]) & bound)
            is_distinctive = bool(distinctive_words([node]))
            few = -min(3, len(names_in([node])))
            if node is below:
                few += 1
            return not is_related, not is_distinctive, few

        return sorted((node for node in (above, below) if node is not None), key=rank)

    # wrapped, and below other headers -----------------------------------------------------------
    def _wrapped(self, difference: Difference) -> Iterator[Candidate]:
        """Simple statements that are kept inside a new compound statement.

        First with their values and arguments left open; word for word where another branch has one
        otherwise: open, they would stand for that one where upstream has it.
        """
        if len(difference.inserted) != 1:
            return
        wrapper = difference.inserted[0]
        kept = kept_in(wrapper, difference.deleted)
        if kept is None:
            return
        if any(node.is_compound for node in kept):
            return
        if not _is_twice(wrapper, kept):
            fragments = self._wrapping(difference, kept, is_open=True)
            yield from self._in_headers_and_alone(difference.before, fragments)
        fragments = self._wrapping(difference, kept, is_open=False)
        yield from self._in_headers_and_alone(difference.before, fragments)
        yield from with_context(self.before, difference.before, fragments=fragments)

    def _in_headers_and_alone(
        self, place: BlockRange, fragments: Sequence[Fragment]
    ) -> Iterator[Candidate]:
        """What is wrapped, first in its header: upstream may have wrapped more of it."""
        yield from in_headers(self.before, place, fragments=fragments)
        for fragment in fragments:
            yield fragment.in_scope(place.scope)

    def _wrapping(
        self, difference: Difference, kept: Sequence[Node], *, is_open: bool
    ) -> list[Fragment]:
        """Statements and what wraps them, with the comments that come with it and without.

        If `is_open`, with their values and arguments left open.
        """
        deleted: list[str] = []
        holes: list[Hole] = []
        base = self.after.lines.indent(difference.inserted[0].begin)
        for number, (old, new) in enumerate(zip(difference.deleted, kept)):
            lines: Sequence[str] = verbatim(self.before, old)
            if is_open:
                suffix = str(number + 2) if number else ""
                lines = forms(self.before, old, suffix=suffix, literals=True)[0].lines
            deleted += lines
            step = "\n" + self.after.lines.indent(new.begin)[len(base) :]
            holes.append((new.begin, new.outer_end, step.join(lines)))

        form = Message("the code that is wrapped, word for word")
        if is_open:
            form = Message("the code that is wrapped, its parts left open")
        wrapper = difference.inserted[0]
        layouts = [excerpt(self.after, wrapper.begin, wrapper.outer_end, holes=holes)]
        commented = self._inserted(difference, below=True, holes=holes).lines
        if commented != layouts[0]:
            layouts.insert(0, commented)
        return [Fragment((*tagged("-", deleted), *tagged("+", lines)), form) for lines in layouts]

    def open_wrapped(self, difference: Difference) -> Iterator[Candidate]:
        """Statements that are kept inside a new one, by their headers: each body is a run."""
        if len(difference.inserted) != 1:
            return
        kept = kept_in(difference.inserted[0], difference.deleted)
        if kept is None:
            return
        old_holes = _open_bodies(difference.deleted)
        hidden = [hole[:2] for hole in old_holes]
        if not old_holes or len(distinctive_words(difference.deleted, hidden)) < 2:
            return
        lines = (
            *tagged("-", _headers(self.before, difference.deleted, holes=old_holes)),
            *tagged("+", _headers(self.after, difference.inserted, holes=_open_bodies(kept))),
        )
        form = Message("the headers, the code below them left open")
        candidate = Candidate(difference.before.scope, lines, form=form)
        yield in_its_block(candidate, difference.before)

    def open_definitions(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for definitions that are deleted, by their headers, whatever is in them."""
        deleted: list[str] = []
        for node in difference.deleted:
            deleted += open_definition(self.before, node)
        for blank in self._blank_lines(difference):
            lines = (*tagged("-", deleted), *tagged("+", blank))
            form = Message("the header of what goes, whatever is in it")
            yield Candidate(difference.before.scope, lines, form=form)

    def open_details(self, difference: Difference) -> Iterator[Candidate]:
        """A candidate for statements that go, their lists and messages left open."""
        holes = open_details(difference.deleted, difference.inserted)
        hidden = [hole[:2] for hole in holes]
        if not holes or len(distinctive_words(difference.deleted, hidden)) < 2:
            return
        first, last = difference.deleted[0], difference.deleted[-1]
        deleted = excerpt(self.before, first.begin, last.outer_end, holes=holes)
        layouts = [self.inserted(difference, below=True)]
        if not difference.inserted:
            layouts = self._blank_lines(difference)
        flags = Flags(inside=inside_of(difference.before.block))
        for inserted in layouts:
            lines = (*tagged("-", deleted), *tagged("+", inserted))
            form = Message("the code that goes, its lists and messages left open")
            yield Candidate(difference.before.scope, lines, form=form, flags=flags)

    def _below_others(self, difference: Difference) -> Iterator[Candidate]:
        """Statements whose bodies stand below other headers now: each body is a run with a name."""
        kept = kept_bodies(difference.deleted, difference.inserted)
        if not kept:
            return
        old_holes: list[Hole] = []
        new_holes: list[Hole] = []
        kept.sort(key=lambda pair: pair[0])
        for number, (_, (old, new)) in enumerate(kept, 1):
            old_holes.append((old.start, old.end, f"...BODY{number}"))
            new_holes.append((new.start, new.end, f"...BODY{number}"))

        lines = (
            *tagged("-", _headers(self.before, difference.deleted, holes=old_holes)),
            *tagged("+", _headers(self.after, difference.inserted, holes=new_holes)),
        )
        hidden = [hole[:2] for hole in old_holes]
        little = len(distinctive_words(difference.deleted, hidden)) < 2
        fragment = Fragment(lines, Message("the headers, the code below them left open"))
        yield from alone_and_around(
            self.before, difference.before, fragments=[fragment], little=little
        )


def in_its_block(candidate: Candidate, place: BlockRange) -> Candidate:
    """A candidate that replaces or wraps statements, for their kind of block alone.

    In another one, such as a `try`, a release may have done already what the change is for.
    """
    if candidate.lines[0][0] == " ":  # what is above it says where
        return candidate
    flags = candidate.flags._replace(inside=inside_of(place.block))
    return candidate._replace(flags=flags)


def _parameters_for_others(difference: Difference) -> list[Node]:
    """The parameters that inserted code assigns without reading them: code below it does."""
    function = difference.before.block.parent
    while function is not None and function.kind != "FunctionDef":
        function = function.parent
    if function is None:
        return []
    read: set[str] = set()
    assigned: set[str] = set()
    for node in difference.inserted:
        targets = node.items("targets") if node.kind == "Assign" else []
        if targets and all(target.kind == "Name" for target in targets):
            value = node.fields.get("value")
            assigned |= names_in(targets)
            read |= names_in([value]) if isinstance(value, Node) else set()
        else:
            read |= names_in([node])
    found: list[Node] = []
    for parameter in function.node("params").items("params"):
        if parameter.kind == "Param" and parameter_name(parameter) in assigned - read:
            found.append(parameter)
    return found


def is_telling(difference: Difference) -> bool:
    """Whether what a difference deletes tells its place without what is around it.

    Nothing else imports what an import does.
    """
    are_imports = all(node.kind in IMPORTS for node in difference.deleted)
    return are_imports or len(distinctive_words(difference.deleted)) > 1


def is_guard(difference: Difference) -> bool:
    """Whether what a difference deletes may leave its block, so that code below it may not run."""
    owner = difference.before.block.parent
    is_last = difference.before.neighbours[1] is None
    if is_last and owner is not None and owner.is_definition:
        return False
    parts: list[Node] = []
    for node in difference.deleted:
        if not node.is_definition:
            parts += node.walk()
    return any(part.kind in _LEAVES for part in parts)


def _is_twice(wrapper: Node, kept: Sequence[Node]) -> bool:
    """Whether another statement inside a wrapper assigns to or calls what one that is kept does."""
    others: list[object] = []
    for node in wrapper.walk():
        subject = _subject(node) if node not in kept else None
        if subject is not None:
            others.append(subject)
    for node in kept:
        subject = _subject(node)
        if any(same(subject, other) for other in others):
            return True
    return False


def _subject(node: Node) -> object:
    """What a statement assigns to or calls: it is left where the rest is open. None for others."""
    if node.kind in ("Assign", "AugAssign"):
        return node.fields.get("targets") or node.fields.get("target")
    value = node.fields.get("value") or node.fields.get("exc")
    if node.has_lines and not node.is_clause and isinstance(value, Node):
        return value.fields.get("func")
    return None


def _open_bodies(statements: Sequence[Node]) -> list[Hole]:
    """The holes by which the bodies of compound statements become runs.

    There are none where one stands on the line of its header.
    """
    found = bodies(statements)
    if any(body.name == "inline" for body in found):
        return []
    holes: list[Hole] = []
    for number, body in enumerate(found, 1):
        run = "..." if len(found) == 1 else f"...BODY{number}"
        holes.append((body.start, body.end, run))
    return holes


def _headers(text: Tree, nodes: Sequence[Node], holes: Sequence[Hole]) -> list[str]:
    """The lines of statements with the holes filled, without comments and blank lines."""
    lines = uncommented(excerpt(text, nodes[0].begin, nodes[-1].outer_end, holes=holes))
    return list(filter(None, lines))


def _between(text: Tree, start: int, end: int) -> list[str]:
    """The comments (stripped) and blank lines between two pieces of code.

    A comment on a line with code is not among them.
    """
    lines = text.text[start:end].replace("\r\n", "\n").split("\n")
    first = 1 if start else 0
    return [line.strip() for line in lines[first:-1]]


def _leading_blanks(lines: Sequence[str]) -> int:
    return len(list(takewhile(lambda line: not line, lines)))


def _common_start(foot: Sequence[str], above: Sequence[str]) -> int:
    """How many lines two texts have in common at their beginning, up to a comment."""
    known = 0
    for at in range(1, len(foot) + 1):
        if foot[:at] == above[:at] and foot[at - 1]:
            known = at
    return known


def _shared_names(node: Node, inserted: Sequence[Node]) -> set[str]:
    """The names that a statement shares with the new code beside it."""
    return names_in([node]) & names_in(inserted) - {"self", "cls"}


def _hides(form: Form, node: Node, shared: AbstractSet[str]) -> bool:
    """Whether a form of a statement has none of the names that it shares with the new code."""
    if node.is_compound and node.header():  # its name or its condition is enough
        return False
    return bool(shared) and not shared & set(re.findall(r"\w+", " ".join(form.lines)))


def is_standard(text: Tree, node: Node) -> bool:
    """Whether an import is of the standard library alone."""
    try:
        statement = ast.parse(text.text[node.start : node.end]).body[0]
    except SyntaxError:
        return False
    if isinstance(statement, ast.ImportFrom):
        if statement.level or statement.module == "__future__":
            return False
        return (statement.module or "").split(".")[0] in _STDLIB
    if not isinstance(statement, ast.Import):
        return False
    return all(alias.name.split(".")[0] in _STDLIB for alias in statement.names)
