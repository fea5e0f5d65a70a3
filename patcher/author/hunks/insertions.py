"""Statements that are inserted, deleted or replaced -> the hunks that may do it, the most general first."""

from __future__ import annotations

import ast
import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import Iterator, Sequence

from patcher.author.hunks.context import (
    Candidate,
    Fragment,
    alone_and_around,
    beside,
    in_headers,
    with_context,
)
from patcher.author.hunks.differences import Difference, kept_bodies, kept_in
from patcher.author.hunks.excerpts import Form, Hole, excerpt, forms, tagged, uncommented, verbatim
from patcher.author.hunks.names import (
    distinctive_words,
    mentioned_during_import,
    names_bound,
    names_in,
    read_during_import,
)
from patcher.engine.tree import Node, Tree, inside_of, same
from patcher.message import Message

_STDLIB = frozenset(sys.builtin_module_names) | frozenset(
    getattr(sys, "stdlib_module_names", None)
    or (path.stem for path in Path(ast.__file__).parent.iterdir())
)

_LEAVES = ("Raise", "Return", "Assert", "Break", "Continue")
"""The statements by which code leaves its block."""


class Runs:
    """Makes the candidates for statements of a block that are inserted, deleted or replaced."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after

    def run(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for statements of a block that are inserted, deleted or replaced."""
        if difference.deleted and difference.inserted:
            yield from self._wrapped(difference)
            yield from self._below_others(difference)
        if difference.deleted:
            deleted = [line for node in difference.deleted for line in verbatim(self.before, node)]
            inserted = self.inserted(difference, below=True)
            # a comment inside changed code may have no place
            bare = [line for line in uncommented(inserted) if line]
            new = [inserted] if bare == inserted else [inserted, bare]
            new = (
                [[""] * blank for blank in sorted({self._blank(difference), 0}, reverse=True)]
                if not inserted
                else new
            )
            whole = [
                Fragment(
                    (*tagged("-", deleted), *tagged("+", lines)), Message("the code that goes")
                )
                for lines in new
            ]
            named = all(node.is_definition for node in difference.deleted)
            if difference.inserted or named:
                little = len(distinctive_words(difference.deleted)) < 2
                yield from alone_and_around(self.before, difference.place, whole, little=little)
            else:
                yield from self._deletion(difference, whole)
        else:
            yield from self._insertion(difference)

    def _deletion(
        self, difference: Difference, fragments: Sequence[Fragment]
    ) -> Iterator[Candidate]:
        """Deleted statements beside a neighbour or in their block: elsewhere the same code may be needed.

        A guard is beside the statement below it, which is what it guards; only without one it is beside the other.
        """
        place, near = difference.place, list(beside(self.before, difference.place, fragments))
        if is_guard(difference):
            below = [each for each in near if each.below]
            near = below or near
            yield from with_context(self.before, place, fragments, near, headers=not near)
            return
        form, flag = "{form}, in a block of this kind", inside_of(place.block)
        alone = [
            Candidate(place.scope, each.lines, Message(form, form=each.form), inside=flag)
            for each in fragments
        ]
        little = len(distinctive_words(difference.deleted)) < 2
        yield from () if little else alone
        yield from with_context(self.before, place, fragments, near)
        yield from alone if little else ()

    def _blank(self, difference: Difference) -> int:
        """How many more blank lines are left in the place of deleted statements than the engine leaves (format rule 19)."""
        first, last = difference.deleted[0].begin, difference.deleted[-1].outer_end
        above = _between(self.before, self.before.code_before(first), first)
        below = _between(self.before, last, self.before.code_from(last))
        left = _between(
            self.after,
            self.after.code_before(difference.start),
            self.after.code_from(difference.start),
        )
        # at the end of a file it leaves none
        if not self.before.text[last:].strip("\r\n") and not below:
            return left.count("")
        shorter = min(
            len([*takewhile(lambda line: not line, lines)]) for lines in (above[::-1], below)
        )
        return max(0, left.count("") - above.count("") - below.count("") + shorter)

    def inserted(self, difference: Difference, *, below: bool, bare: bool = False) -> list[str]:
        """The lines of the inserted statements with their comments; with the blank lines around them, unless `bare`.

        With `below` they are inserted above the statement below and its comments, else below the statement above.
        """
        return self._with_comments(difference, below, bare)[1]

    def _with_comments(
        self, difference: Difference, below: bool, bare: bool = False
    ) -> tuple[list[str], list[str]]:
        """The comments that the file has directly above the inserted code; and the lines as `inserted` has them."""
        if not difference.inserted:
            return [], []
        text, start, end = (
            self.after,
            difference.inserted[0].begin,
            difference.inserted[-1].outer_end,
        )
        above = _between(text, text.code_before(start), start)
        shown = excerpt(text, start, end)
        tail = text.text[end : text.lines.end(end)].rstrip()
        shown[-1] += tail if tail.lstrip().startswith("#") else ""
        last = difference.new[1] == len(difference.blocks[1].statements())
        following = [] if last else _between(text, end, text.code_from(end))
        head: list[str] = []
        if difference.deleted:
            first = difference.deleted[0].begin
            head, foot, following = (
                _between(self.before, self.before.code_before(first), first),
                [],
                [],
            )
        else:
            start = difference.span[0]
            foot = _between(
                self.before, start, self.before.code_from(start) if last else difference.span[1]
            )
            if below:  # below the last blank line, above the comments of the statement
                blanks = [number for number, line in enumerate(foot, 1) if not line]
                head, foot = foot[: max(blanks, default=0)], foot[max(blanks, default=0) :]
        while head and above and head[0] == above[0]:
            head, above = head[1:], above[1:]
        while foot and following and foot[-1] == following[-1]:
            foot, following = foot[:-1], following[:-1]
        known = max(
            at
            for at in range(len(foot) + 1)
            if foot[:at] == above[:at] and "" not in foot[at - 1 : at]
        )
        # comments that are there already are not inserted again
        lines = [*above[known:], *shown, *("" for line in following if not line)]
        return list(filter(None, above[:known])), [
            line for line in lines if line
        ] if bare else lines

    def _insertion(self, difference: Difference) -> Iterator[Candidate]:
        yield from self._elsewhere(difference)
        owner = difference.blocks[0].parent
        above, below = difference.place.neighbours
        inserted = {
            at: [
                tuple(tagged("+", self.inserted(difference, below=at, bare=bare)))
                for bare in (False, True)
            ]
            for at in (False, True)
        }
        alone = [Fragment(lines, Message("the new code")) for lines in inserted[above is None]]
        if above is None and owner is not None and owner.kind == "FunctionDef":
            yield from in_headers(self.before, difference.place, alone)
        ordered = [
            (form, node is below, int(rank > 0) + 2 * _hides(form, node, difference.inserted))
            for node in self._anchors(difference)
            for rank, form in enumerate(forms(self.before, node))
        ]
        ordered.sort(key=lambda each: each[2])
        near: list[Fragment] = []
        comments, beneath = self._with_comments(difference, True)
        for form, lower, _ in ordered:
            if lower and comments:  # between a comment and the statement below it
                words = Message("below the comment above it, {words}", words=form.words)
                lines = (*tagged(" ", comments), *tagged("+", beneath), *tagged(" ", form.lines))
                near.append(Fragment(lines, words, False, True))
            for lines in inserted[lower]:
                context = tagged(" ", form.lines)
                beside = (
                    "beside the statement below, {words}"
                    if lower
                    else "beside the statement above, {words}"
                )
                words = Message(beside, words=form.words)
                near.append(
                    Fragment(
                        (*lines, *context) if lower else (*context, *lines), words, not lower, lower
                    )
                )
        yield from with_context(self.before, difference.place, alone, near)
        for each in alone if owner is None and below is None else ():
            yield Candidate("<module>", ((" ", "..."), *each.lines), Message("end of the module"))

    def _elsewhere(self, difference: Difference) -> Iterator[Candidate]:
        """Imports of the standard library at the top of the module, functions at its end: where that makes no difference."""
        kinds, names = {node.kind for node in difference.inserted}, names_bound(difference.inserted)
        if difference.blocks[0].parent is not None or (names | {"*"}) & mentioned_during_import(
            self.before.root
        ):
            return
        if kinds <= {"Import", "ImportFrom"} and all(
            _standard(self.after, node) for node in difference.inserted
        ):
            inserted = tagged("+", self.inserted(difference, below=True, bare=True))
            words = Message("an import of the standard library: top of the module")
            yield Candidate("<module>", (*inserted, (" ", "...")), words, elsewhere=True)
        elif kinds == {"FunctionDef"} and not read_during_import(self.after.root, names):
            code = "\n".join(self.inserted(difference, below=False))
            blank = max(len(code) - len(code.lstrip("\n")), len(code) - len(code.rstrip("\n")))
            # nothing follows at the end of a module
            lines = [
                *[""] * blank,
                *code.strip("\n").split("\n"),
            ]
            words = Message("a helper that only functions use: end of the module")
            yield Candidate("<module>", ((" ", "..."), *tagged("+", lines)), words, elsewhere=True)

    def _anchors(self, difference: Difference) -> list[Node]:
        """The neighbours of an insertion: first the one whose names it shares, else the more distinctive one."""
        above, below = difference.place.neighbours
        inside, bound = names_in(difference.inserted), names_bound(difference.inserted)

        def rank(node: Node) -> tuple[bool, bool, int]:
            related = names_bound([node]) & inside or names_in([node]) & bound
            return (
                not related,
                not distinctive_words([node]),
                -min(3, len(names_in([node]))) + (node is below),
            )

        return sorted((node for node in (above, below) if node is not None), key=rank)

    def _wrapped(self, difference: Difference) -> Iterator[Candidate]:
        """Statements that are kept inside a new compound statement, first with their values and arguments left open.

        Word for word where another branch has one otherwise: open, they would stand for that one where upstream has it.
        """
        kept = (
            kept_in(difference.inserted[0], difference.deleted)
            if len(difference.inserted) == 1
            else None
        )
        if kept is None:
            return
        wrapper = difference.inserted[0]
        spans = [(node.begin, node.outer_end) for node in kept]
        others = [_subject(node) for node in wrapper.walk() if node not in kept]
        twice = any(
            other is not None and same(_subject(node), other) for node in kept for other in others
        )
        for rank in (1,) if twice else (0, 1):
            deleted: list[str] = []
            holes: list[Hole] = []
            for number, (node, span) in enumerate(zip(difference.deleted, spans)):
                ways = forms(self.before, node, str(number + 2) if number else "", literals=True)
                form = (
                    ways[0]
                    if rank == 0 and not node.is_compound
                    else Form(tuple(verbatim(self.before, node)), "")
                )
                deleted += form.lines
                step = self.after.lines.indent(span[0])
                holes.append((*span, ("\n" + step).join(form.lines)))
            inserted = excerpt(self.after, wrapper.begin, wrapper.outer_end, holes)
            wrapped = Message("the code that is wrapped, word for word")
            words = wrapped if rank else Message("the code that is wrapped, its parts left open")
            whole = Fragment((*tagged("-", deleted), *tagged("+", inserted)), words)
            # upstream may have wrapped more of it
            yield from in_headers(self.before, difference.place, [whole])
            yield Candidate(difference.place.scope, whole.lines, words)
            if rank:
                yield from with_context(self.before, difference.place, [whole])

    def _below_others(self, difference: Difference) -> Iterator[Candidate]:
        """Statements whose bodies stand below other headers now: each body is a run with a name."""
        kept = sorted(
            kept_bodies(difference.deleted, difference.inserted), key=lambda pair: pair[0]
        )
        if not kept:
            return
        holes = [
            [(body.start, body.end, f"...BODY{number}") for body in side]
            for number, (_, side) in enumerate(kept, 1)
        ]
        sides = [(self.before, difference.deleted), (self.after, difference.inserted)]
        rows = [
            uncommented(
                excerpt(text, nodes[0].begin, nodes[-1].outer_end, [pair[at] for pair in holes])
            )
            for at, (text, nodes) in enumerate(sides)
        ]
        lines = (
            *tagged("-", list(filter(None, rows[0]))),
            *tagged("+", list(filter(None, rows[1]))),
        )
        little = len(distinctive_words(difference.deleted, [pair[0][:2] for pair in holes])) < 2
        words = Message("the headers, the code below them left open")
        yield from alone_and_around(
            self.before, difference.place, [Fragment(lines, words)], little=little
        )


def is_guard(difference: Difference) -> bool:
    """Whether what a difference deletes may leave its block, so that code below it was not reached."""
    owner = difference.blocks[0].parent
    is_last = difference.place.neighbours[1] is None
    if is_last and owner is not None and owner.is_definition:
        return False
    statements = (node for node in difference.deleted if not node.is_definition)
    return any(part.kind in _LEAVES for node in statements for part in node.walk())


def _subject(node: Node) -> object:
    """What a statement assigns to or calls: it is left where the rest is open. None for other code."""
    value = node.fields.get("value") or node.fields.get("exc")
    if node.kind in ("Assign", "AugAssign"):
        return node.fields.get("targets") or node.fields.get("target")
    return (
        value.fields.get("func")
        if node.has_lines and not node.is_clause and isinstance(value, Node)
        else None
    )


def _between(text: Tree, start: int, end: int) -> list[str]:
    """The comments (stripped) and blank lines between two pieces of code, without a comment on a line with code."""
    lines = [line.strip() for line in text.text[start:end].replace("\r\n", "\n").split("\n")]
    return lines[1 if start else 0 : -1]


def _hides(form: Form, node: Node, inserted: Sequence[Node]) -> bool:
    """Whether a form of a statement has none of the names that the statement shares with the code inserted beside it."""
    if node.is_definition:  # its name is enough
        return False
    shared = names_in([node]) & names_in(inserted) - {"self", "cls"}
    return bool(shared) and not shared & set(re.findall(r"\w+", " ".join(form.lines)))


def _standard(text: Tree, node: Node) -> bool:
    """Whether an import is of the standard library alone."""
    try:
        made = ast.parse(text.text[node.start : node.end]).body[0]
    except SyntaxError:
        return False
    if isinstance(made, ast.ImportFrom):
        return (
            made.level == 0
            and made.module != "__future__"
            and (made.module or "").split(".")[0] in _STDLIB
        )
    return isinstance(made, ast.Import) and all(
        alias.name.split(".")[0] in _STDLIB for alias in made.names
    )
