"""A statement, header or clause that changed -> the hunks that may make the change.

The most general ones come first.
"""

from __future__ import annotations

import ast
import re
from itertools import product
from typing import Iterator, Sequence

from patcher.author.hunks.context import Candidate, Fragment, alone_and_around, with_context
from patcher.author.hunks.differences import (
    BlockRange,
    Difference,
    Pair,
    differing_fields,
    scope_of,
)
from patcher.author.hunks.excerpts import (
    ANY,
    BEHIND,
    LISTS,
    OPEN,
    Hole,
    Holes,
    Line,
    comment_behind_header,
    elided,
    excerpt,
    header,
    heads,
    is_key,
    is_one,
    is_same_parameter,
    kept_calls,
    left_open,
    on_one_line,
    open_beginning,
    opened,
    tagged,
    unannotated_runs,
    uncommented,
    untyped,
    verbatim,
    verbatim_all,
)
from patcher.author.hunks.names import distinctive_words
from patcher.engine.tree import Node, Tree, same
from patcher.message import Message
from patcher.record import Record
from patcher.text.lines import common_ends, line_edits

_BETWEEN_WORDS = re.compile(r"[\s<>=!~,;]+")


class _Side(Record):
    """Code before (`-`) or after (`+`) an edit, and the holes in it."""

    tag: str
    text: Tree
    node: Node
    holes: Sequence[Hole]

    def header(self) -> list[Line]:
        """The header of a statement or clause, with the holes filled."""
        lines = excerpt(
            self.text, self.node.start, self.text.header_end(self.node), holes=self.holes
        )
        return tagged(self.tag, on_one_line(lines))


class Changes:
    """Makes the candidates for what changed inside a statement."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after

    def whole(self, old: Node, new: Node) -> Iterator[Candidate]:
        """A statement replaced by another one, with the lines that both have as context.

        First without its header, and without the statements in it that stay at either end.
        """
        yield from self._inside(old, new)
        old_lines, new_lines = verbatim(self.before, old), verbatim(self.after, new)
        diff, scope, place = _as_diff(old_lines, new_lines), scope_of(old), BlockRange.of(old)
        replaced = (*tagged("-", old_lines), *tagged("+", new_lines))
        yield Candidate(scope, diff, form=Message("all of the statement: nothing smaller is safe"))
        yield Candidate(scope, replaced, form=Message("all of the statement, replaced"))
        if place.scope != scope:
            form = Message("all of the statement, in the scope around it")
            yield Candidate(place.scope, diff, form=form)
        fragment = Fragment(diff, Message("all of the statement"))
        yield from with_context(self.before, place, fragments=[fragment])

    def _inside(self, old: Node, new: Node) -> Iterator[Candidate]:
        """The statements of a compound one from the first that changed to the last.

        None where something else changed, too.
        """
        if differing_fields(old, new) != ["body"]:
            return
        old_nodes, new_nodes = old.node("body").statements(), new.node("body").statements()
        first, last = common_ends(list(map(repr, old_nodes)), list(map(repr, new_nodes)))
        old_nodes = old_nodes[first : len(old_nodes) - last]
        new_nodes = new_nodes[first : len(new_nodes) - last]
        if not old_nodes or not new_nodes:
            return
        old_lines = excerpt(self.before, old_nodes[0].begin, old_nodes[-1].outer_end)
        new_lines = excerpt(self.after, new_nodes[0].begin, new_nodes[-1].outer_end)
        form = Message("all of the statements that changed, and what is between them")
        yield Candidate(scope_of(old), _as_diff(old_lines, new_lines), form=form)

    # an expression, or a statement that changed -------------------------------------------------
    def of_statement(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for a statement or clause that changed.

        From the smallest expression to all of it with context.
        """
        place = difference.before
        yield from self._expressions(place.scope, difference.pairs)
        fragments = self.statement(difference)
        old = difference.pairs[0][0]
        if old.is_clause:
            yield from self._in_clause(difference, fragments)
            return
        owner = place.block.parent
        # in a module or a class a name is bound once
        in_function = owner is not None and owner.kind != "ClassDef"
        little = in_function and not old.has_body and len(distinctive_words([old])) < 2
        yield from alone_and_around(self.before, place, fragments=fragments, little=little)

    def statement(self, difference: Difference) -> list[Fragment]:
        """The ways to write a statement or the header that changed, the most general first."""
        old, new = difference.pairs[0]
        is_simple = not old.has_body
        found = elided(difference.pairs)
        if is_simple and not found:
            found = kept_calls(old, new)

        ways: list[Fragment] = []
        for holes in _with_and_without(found):
            form = Message("the statement")
            if holes:
                form = Message("the statement, what did not change left open")
            lines = self._statement(old, new, holes=holes)
            inserted = [line for tag, line in lines if tag == "+"]
            # what stays keeps its comments
            plain = uncommented(inserted) if is_simple else inserted
            layouts = [inserted, plain]
            if holes and is_simple:
                layouts.insert(0, on_one_line(plain))
            deleted = lines[: -len(inserted)]
            for number, layout in enumerate(layouts):
                if layout not in layouts[:number]:
                    ways.append(Fragment((*deleted, *tagged("+", layout)), form))
        return ways

    def opened_assignment(self, difference: Difference, lines: Sequence[Line]) -> Fragment | None:
        """An assignment, what did not change left open.

        None unless these `lines` are those of an expression of it with parts that could be left
        open: open, it may be in several places, of which the assigned name tells one.
        """
        pairs = difference.pairs
        if pairs[0][0].kind != "Assign":
            return None
        for index in range(1, len(pairs)):
            old, new = pairs[index]
            is_open = old.is_expression and new.is_expression and bool(elided(pairs[index:]))
            if is_open and tuple(lines) == self._replaced(old, new, holes=()):
                return self.statement(difference)[0]
        return None

    def keywords(self, difference: Difference) -> tuple[Line, ...]:
        """A statement whose call is written with the changed keywords, strings and constants only.

        The other arguments are `...`; strings and constants may identify the place.

        Returns:
            the lines; () if anything else changed, if there are no other arguments, or if one of
            them, `**`, may have the same keyword.
        """
        old, new = difference.pairs[0]
        passed = _passed_by_keyword(difference.pairs)
        if passed is None or old.has_body:
            return ()
        return self._statement(old, new, holes=[passed.holes(self.before, self.after)])

    def other_literals(self, difference: Difference) -> tuple[Line, ...]:
        """The lines of a change of one literal in which any literal of its kind is the old one.

        They keep what names the literal: the target of an assignment, the keyword and the function
        of a call, the key in a dictionary, the parameter. Empty if nothing names it, or if it is a
        text of which words stay: another release may have others.
        """
        pairs = difference.pairs
        literal, new = pairs[-1]
        word = ANY.get(literal.literal_kind)
        named = _named_by(pairs)
        if word is None or named is None or _words_of(literal) & _words_of(new):
            return ()
        old, other = pairs[named]

        hole = (literal.outer_start, literal.outer_end, word)
        nothing = (new.outer_end, new.outer_end, "")
        hides = elided(pairs[named:])
        holes: Holes = [*hides, (hole, nothing)]
        if old.kind == "FunctionDef":
            holes = [*holes, *_annotation_holes(old, other, hidden=hides)]
        passed = _passed_by_keyword(pairs)
        if passed is not None:
            holes = [passed.holes(self.before, self.after, literal=hole)]
        if named and old.is_expression:
            return self._replaced(old, other, holes=holes)
        return self._statement(old, other, holes=holes)

    def unwrapped(self, difference: Difference) -> tuple[Line, ...]:
        """The lines of an expression in whose place a part of it comes, whatever that part is.

        What goes around it names the place. Empty if it has fewer than two distinctive words, if
        the part is one literal or name, or all that a call is passed (what that is for depends on
        it), and for other differences.
        """
        for old, new in reversed(difference.pairs):
            if not old.is_expression or not new.is_expression or is_one(new):
                continue
            parts = [node for node in old.walk() if node is not old and same(node, new)]
            if len(parts) != 1:
                continue
            owner = parts[0].parent
            if owner is not None and owner.items("args") == parts:
                return ()
            start, end = parts[0].outer_start, parts[0].outer_end
            if len(distinctive_words([old], [(start, end)])) < 2:
                return ()
            nothing_else = (new.outer_start, new.outer_end, "$V")
            return self._replaced(old, new, holes=[((start, end, "$V"), nothing_else)])
        return ()

    def passed_on(self, difference: Difference) -> tuple[Line, ...]:
        """The lines of an expression around one call that passes what it passed, whatever that is.

        What is around that names the place, and so does what the expression is assigned to. Empty
        if it has fewer than two distinctive words, and for other differences.
        """
        old, new = difference.pairs[-1]
        if not old.is_expression or not new.is_expression:
            return ()
        found: list[Pair] = []
        for call in _passing_calls(old):
            for other in _passing_calls(new):
                stays = same(call, other) and call is not old
                if same(call.fields["args"], other.fields["args"]) and not stays:
                    found.append((call, other))
        if len(found) != 1 or found == [(old, new)]:
            return ()

        args, new_args = (call.items("args") for call in found[0])
        hole = _call_hole(self.before, args, written=_keys(args))
        new_hole = _call_hole(self.after, new_args, written=_keys(new_args))
        if len(distinctive_words([old], [hole[:2]])) < 2:
            return ()

        statement, changed = difference.pairs[0]
        if statement.kind == "Assign":
            holes = [*elided(difference.pairs[:-1]), (hole, new_hole)]
            return self._statement(statement, changed, holes=holes)
        return self._replaced(old, new, holes=[(hole, new_hole)])

    def any_old_value(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for the assignment of another value, the old value left open.

        There are none for other differences. The old value must be one literal or one name: of a
        larger one, code that another release has there would be lost, as words of a text of which
        words stay would be.
        """
        if difference.kind != "change":
            return
        old, new = difference.pairs[0]
        if old.kind != "Assign":
            return
        value, other = old.fields.get("value"), new.fields.get("value")
        if not isinstance(value, Node) or not isinstance(other, Node) or not is_one(value):
            return
        if _words_of(value) & _words_of(other):
            return
        for key in ("targets", "annotation"):
            if not same(old.fields.get(key), new.fields.get(key)):
                return
        hole = (value.outer_start, value.outer_end, OPEN)
        nothing = (other.end, other.end, "")
        lines = self._statement(old, new, holes=[(hole, nothing)])
        fragment = Fragment(lines, Message("the statement, the old value left open"))
        yield from alone_and_around(self.before, difference.before, fragments=[fragment])

    def _expressions(self, scope: str, pairs: Sequence[Pair]) -> Iterator[Candidate]:
        """The expressions that hold all of the change, the smallest first."""
        form = Message("the smallest expression that changed")
        for index in range(len(pairs) - 1, 0, -1):
            if index < len(pairs) - 1:
                form = Message("the expression around the change")
            old, new = pairs[index]
            if not old.is_expression or not new.is_expression or old.kind == "Expr":
                continue
            if not _stands_alone(pairs[: index + 1]):
                continue
            found = elided(pairs[index:])
            if not distinctive_words([old], [hole[:2] for hole, _ in found]):
                continue
            for holes in _with_and_without(found):
                words = form
                if holes:
                    words = form + Message(", the rest of its list left open")
                lines = self._replaced(old, new, holes=holes)
                yield Candidate(scope, lines, form=words)
                if _has_more_elements(*pairs[-1]):
                    lines = self._replaced(old, new, holes=holes, laid_out=True)
                    yield Candidate(scope, lines, form=words)

    def _replaced(
        self, old: Node, new: Node, holes: Holes, *, laid_out: bool = False
    ) -> tuple[Line, ...]:
        """The lines of an expression or a decorator, each side on one line.

        If `laid_out`, the new side is as edited.
        """
        lines: list[Line] = []
        for side in self._sides(old, new, holes=holes):
            start, end = side.node.outer_start, side.node.outer_end
            code = uncommented(excerpt(side.text, start, end, holes=side.holes))
            if not laid_out or side.tag == "-":
                code = on_one_line(code)
            lines += tagged(side.tag, code)
        return tuple(lines)

    def _statement(self, old: Node, new: Node, holes: Holes) -> tuple[Line, ...]:
        """The lines of a statement, or of the header of one."""
        lines: list[Line] = []
        for side in self._sides(old, new, holes=holes):
            if side.node.has_body:
                lines += side.header()
                continue
            code = excerpt(side.text, side.node.begin, side.node.outer_end, holes=side.holes)
            if side.tag == "-":
                code = on_one_line(uncommented(code))
            lines += tagged(side.tag, code)
        return tuple(lines)

    def _sides(self, old: Node, new: Node, holes: Holes) -> tuple[_Side, _Side]:
        before = _Side("-", self.before, node=old, holes=[hole for hole, _ in holes])
        after = _Side("+", self.after, node=new, holes=[hole for _, hole in holes])
        return before, after

    def _in_clause(
        self, difference: Difference, fragments: Sequence[Fragment]
    ) -> Iterator[Candidate]:
        """The lines of a clause alone, and below the header of its statement."""
        scope = difference.before.scope
        for fragment in fragments:
            yield fragment.in_scope(scope)
        for head in heads(self.before, difference.deleted[0]):
            for fragment in fragments:
                lines = (*tagged(" ", head), *fragment.lines)
                form = Message("{form}, below the header of its statement", form=fragment.form)
                yield Candidate(scope, lines, form=form)

    # the header of a definition -----------------------------------------------------------------
    def of_header(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for the decorators, the signature or the bases of a definition."""
        old, new = difference.pairs[0]
        scope = scope_of(old)
        decorators = self._decorators(old.items("decorators"), new.items("decorators"))
        changed = differing_fields(old, new, hidden=("decorators", "body"))
        if not changed:
            yield from self.fewer_decorators(difference)
            name = tagged(" ", header(self.before, old))
            form = Message("the decorators, above the name of the definition")
            yield Candidate(scope, (*decorators, *name), form=form)
            whole = tagged(" ", header(self.before, old, general=False))
            form = Message("the decorators, above the whole header")
            yield Candidate(scope, (*decorators, *whole), form=form)
            yield from self._expressions(scope, difference.pairs)
            return

        if all(tag == " " for tag, _ in decorators):
            decorators = []
        fragments: list[Fragment] = []
        for holes in self._header_holes(old, new, changed=changed):
            form = Message("the whole header")
            if holes:
                form = Message("the header, what did not change left open")
            lines = list(decorators)
            for side in self._sides(old, new, holes=holes):
                lines += side.header()
            fragments.append(Fragment(tuple(lines), form))

        for fragment in fragments:
            yield fragment.in_scope(scope)
        # one of several definitions of this name
        yield from with_context(self.before, difference.before, fragments=fragments)

    def _header_holes(self, old: Node, new: Node, changed: Sequence[str]) -> list[Holes]:
        """The ways to leave open what did not change of a header, the most general first.

        Args:
            old: the definition before the edit.
            new: the same after it.
            changed: the fields that differ.
        """
        is_function = old.kind == "FunctionDef"
        hides: Holes = ()
        if is_function and "params" not in changed and old.node("params").items("params"):
            old_params = old.node("params").items("params")
            new_params = new.node("params").items("params")
            hides = [(left_open(old_params), left_open(new_params))]
        elif is_function and "params" in changed:
            hides = elided([(old.node("params"), new.node("params"))])
        elif not is_function and ("args" in changed or "params" in changed):
            hides = elided([(old, new)])

        ways: list[Holes] = []
        bare = _annotation_holes(old, new, hidden=hides) if "params" in changed else ()
        if bare:
            ways.append([*hides, *bare])
        ways += _with_and_without(hides)

        if "returns" in changed or old.fields.get("returns") is None:
            return ways
        returns = (_returns_hole(self.before, old), _returns_hole(self.after, new))
        return [*([*holes, returns] for holes in ways), ()]

    def unannotated(self, difference: Difference) -> tuple[Line, ...]:
        """The lines of the header of a function without any annotation.

        Of a header that changed in more than those: another release may have others, or the new
        ones already. There are none for other headers.
        """
        old, new = difference.pairs[0]
        if old.kind != "FunctionDef" or not _annotations_differ(old, new):
            return ()
        hides = unannotated_runs(old, new)
        holes = [*hides, *_any_annotations(self.before, self.after, old, new, hidden=hides)]
        lines = self._statement(old, new, holes=holes)
        deleted = [line for tag, line in lines if tag == "-"]
        inserted = [line for tag, line in lines if tag == "+"]
        return () if deleted == inserted else lines

    def fewer_decorators(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for decorators that changed in one place, above the name of the definition.

        What stays is left out: other releases may have other decorators. New ones are beside
        another one, or directly above the name where the edit has them there. There are no
        candidates if the header changed besides.
        """
        old, new = difference.pairs[0]
        if differing_fields(old, new, hidden=("decorators", "body")):
            return
        kept, decorators = old.items("decorators"), new.items("decorators")
        edits = line_edits(list(map(repr, kept)), list(map(repr, decorators)))
        if len(edits) != 1:
            return
        old_start, old_end, new_start, new_end = edits[0]
        deleted = _tagged_code("-", self.before, nodes=kept[old_start:old_end])
        inserted = _tagged_code("+", self.after, nodes=decorators[new_start:new_end])
        name = tagged(" ", header(self.before, old))
        scope = scope_of(old)
        if deleted:
            form = Message("the decorators that changed, above the name of the definition")
            yield Candidate(scope, (*deleted, *inserted, *name), form=form)
            return

        form = Message("the new decorators, beside another one")
        above = _tagged_code(" ", self.before, nodes=kept[:old_start][-1:])
        below = _tagged_code(" ", self.before, nodes=kept[old_start:][:1])
        if above:
            yield Candidate(scope, (*above, *inserted, *name), form=form)
        if below:
            yield Candidate(scope, (*inserted, *below, *name), form=form)
        else:
            form = Message("the new decorators, directly above the name of the definition")
            yield Candidate(scope, (*inserted, *name), form=form)

    def open_decorator(self, difference: Difference) -> Iterator[Candidate]:
        """A candidate for one decorator that changed inside, what did not change left open."""
        old, new = difference.pairs[0]
        if differing_fields(old, new, hidden=("decorators", "body")):
            return
        holes = elided(difference.pairs[1:])
        if not holes:
            return
        lines = self._replaced(*difference.pairs[1], holes=holes)
        name = tagged(" ", header(self.before, old))
        form = Message("the decorator that changed, the rest of its lists left open")
        yield Candidate(scope_of(old), (*lines, *name), form=form)

    def _decorators(self, old: Sequence[Node], new: Sequence[Node]) -> list[Line]:
        """The decorators of a definition, as a diff has them."""
        lines: list[Line] = []
        at = 0
        end = (len(old), len(old), 0, 0)
        for old_start, old_end, new_start, new_end in [
            *line_edits(list(map(repr, old)), list(map(repr, new))),
            end,
        ]:
            lines += _tagged_code(" ", self.before, nodes=old[at:old_start])
            lines += _tagged_code("-", self.before, nodes=old[old_start:old_end])
            lines += _tagged_code("+", self.after, nodes=new[new_start:new_end])
            at = old_end
        return lines

    # clauses ------------------------------------------------------------------------------------
    def of_clauses(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for clauses that are inserted, deleted or replaced."""
        old, new = difference.pairs[0]
        old_clauses, new_clauses = old.items("clauses"), new.items("clauses")
        for _, ahead in difference.pairs[1:]:
            new_clauses = new_clauses[new_clauses.index(ahead) + 1 :]
        first, last = common_ends(list(map(repr, old_clauses)), list(map(repr, new_clauses)))
        old_end, new_end = len(old_clauses) - last, len(new_clauses) - last
        deleted = verbatim_all(self.before, old_clauses[first:old_end])
        inserted = verbatim_all(self.after, new_clauses[first:new_end])
        lines = (*tagged("-", deleted), *tagged("+", inserted))
        above = self._opened_clauses(old_clauses[max(0, first - 1) : first])
        below = self._opened_clauses(old_clauses[old_end : old_end + 1])

        scope = difference.before.scope
        if first < old_end and not above:
            yield Candidate(scope, lines, form=Message("the clauses alone"))

        fragments: list[Fragment] = []
        for head in heads(self.before, old):
            form = Message("the clauses below the header of their statement")
            fragments.append(Fragment((*tagged(" ", head), *lines), form))
            form = Message("the clauses between their neighbours")
            fragments.append(Fragment((*tagged(" ", head), *above, *lines, *below), form))
        for fragment in fragments:
            yield fragment.in_scope(scope)
        # one of several statements that begin so
        yield from with_context(self.before, BlockRange.of(old), fragments=fragments[:2])
        yield from self.whole(old, new)

    def of_branches(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for branches that come ahead of those of an `if`: the code below is a run."""
        (old, new), (_, first) = difference.pairs
        above = header(self.before, old)
        inserted = excerpt(self.after, new.begin, self.after.header_end(first))
        comment = comment_behind_header(self.before, old)
        behind = ["", f"  {comment}"] if comment else [""]
        fragments: list[Fragment] = []
        for head, more in product(heads(self.before, old), behind):
            # the comment stays behind the header, which is not the first one any more
            replaced = [*above[:-1], above[-1] + more]
            replacing = [*inserted[:-1], inserted[-1] + more]
            context = tagged(" ", head[len(above) :])
            lines = (*tagged("-", replaced), *tagged("+", replacing), *context)
            fragments.append(Fragment(lines, Message("the branches, ahead of the header")))
        yield from alone_and_around(self.before, difference.before, fragments=fragments)
        yield from self.whole(old, new)

    def open_branches(self, difference: Difference) -> Iterator[Candidate]:
        """Branches ahead of an `if` of any condition, by the first statement below it."""
        (old, new), (_, first) = difference.pairs
        below = old.node("body").statements()[0]
        if len(distinctive_words(below.header() or [below])) < 2:
            return
        condition, other = old.header()[0], first.header()[0]
        hole = (condition.outer_start, condition.outer_end, "$C")
        deleted = excerpt(self.before, old.begin, self.before.header_end(old), holes=[hole])
        hole = (other.outer_start, other.outer_end, "$C")
        inserted = excerpt(self.after, new.begin, self.after.header_end(first), holes=[hole])
        context = tagged(" ", open_beginning(self.before, old))
        lines = (*tagged("-", deleted), *tagged("+", inserted), *context)
        yield Candidate(
            difference.before.scope,
            lines,
            form=Message("whatever the condition is, by the statement below it"),
        )

    def _opened_clauses(self, clauses: Sequence[Node]) -> list[Line]:
        """The headers of clauses, as context."""
        lines: list[Line] = []
        for clause in clauses:
            lines += tagged(" ", opened(self.before, clause))
        return lines


def _as_diff(old_lines: Sequence[str], new_lines: Sequence[str]) -> tuple[Line, ...]:
    """Lines that become others, with those that both have as context."""
    lines: list[Line] = []
    at = 0
    for old_start, old_end, new_start, new_end in line_edits(old_lines, new_lines):
        lines += tagged(" ", old_lines[at:old_start])
        lines += tagged("-", old_lines[old_start:old_end])
        lines += tagged("+", new_lines[new_start:new_end])
        at = old_end
    lines += tagged(" ", old_lines[at:])
    return tuple(lines)


def _tagged_code(tag: str, text: Tree, nodes: Sequence[Node]) -> list[Line]:
    """Pieces of code with one tag, each on lines of its own."""
    lines: list[Line] = []
    for node in nodes:
        lines += tagged(tag, excerpt(text, node.start, node.end))
    return lines


def _without_equal(nodes: Sequence[Node], others: Sequence[Node]) -> list[Node]:
    """The nodes that equal none of the others."""
    missing: list[Node] = []
    for node in nodes:
        if not any(same(node, other) for other in others):
            missing.append(node)
    return missing


class _Passed(Record):
    """The arguments of a call before and after an edit, and which of each are written."""

    old: Sequence[Node]
    new: Sequence[Node]
    old_written: Sequence[Node]
    new_written: Sequence[Node]

    def holes(self, before: Tree, after: Tree, literal: Hole | None = None) -> tuple[Hole, Hole]:
        """The holes over the arguments before and after; `literal` is left open before."""
        fills = [literal] if literal else []
        return (
            _call_hole(before, self.old, written=self.old_written, holes=fills),
            _call_hole(after, self.new, written=self.new_written),
        )


def _call_hole(
    text: Tree, args: Sequence[Node], written: Sequence[Node], holes: Sequence[Hole] = ()
) -> Hole:
    """The hole over all arguments of a call, filled with those to write and `...` for the others.

    Keywords that are not written need no `...` of their own: any `...` covers them.
    """
    words: list[str] = []
    for node in args:
        if node in written:
            lines = excerpt(text, node.outer_start, node.outer_end, holes=holes)
            words.append(" ".join(on_one_line(uncommented(lines))))
        elif node.kind != "Keyword" and words[-1:] != ["..."]:
            words.append("...")
    if "..." not in words:
        words.append("...")
    return args[0].outer_start, args[-1].outer_end, ", ".join(words)


def _passed_by_keyword(pairs: Sequence[Pair]) -> _Passed | None:
    """What the innermost call of a change is passed, where keywords of it are all that changed.

    Its strings and constants are written besides. None where nothing else is passed, or `**` may
    be the same.
    """
    calls = [pair for pair in pairs if pair[0].kind == pair[1].kind == "Call"]
    if not calls or not distinctive_words([calls[-1][0].node("func")]):
        return None
    call, other = calls[-1]
    old, new = call.items("args"), other.items("args")
    deleted, inserted = _without_equal(old, new), _without_equal(new, old)
    has_mapping = any(node.kind == "DoubleStar" for node in (*old, *new))
    are_keywords = all(node.kind == "Keyword" for node in (*deleted, *inserted))
    if has_mapping or not are_keywords or not same(call.fields["func"], other.fields["func"]):
        return None

    kept = [node for node in old if node not in deleted]
    names = _keys(kept)
    if len(names) == len(kept):
        return None
    new_names = [node for node in new if any(same(node, name) for name in names)]
    return _Passed(old, new, old_written=[*deleted, *names], new_written=[*inserted, *new_names])


def _keys(args: Sequence[Node]) -> list[Node]:
    """The strings and constants among arguments, which may identify the place."""
    return [node for node in args if is_key(node) or _is_constant(node)]


def _is_constant(node: Node) -> bool:
    """Whether an argument is a constant by its name, as `Key.DEBUG`.

    What is passed on under its own name (`N=N`) tells no call from another.
    """
    value = node.node("value") if node.kind == "Keyword" else node
    if node.kind == "Keyword" and same(node.fields["arg"], value):
        return False
    name = value.fields.get("attr", value) if value.kind == "Attribute" else value
    return isinstance(name, Node) and name.kind == "Name" and str(name.fields["value"]).isupper()


def _words_of(node: Node) -> set[str]:
    """The words of a string, of which a requirement (`demo>=1.2,<2`) has several.

    None for any other node.
    """
    if node.literal_kind != "String":
        return set()
    try:
        value = ast.literal_eval(str(node.fields["value"]))
    except (SyntaxError, ValueError):  # one that this interpreter does not know
        return set()
    return set(_BETWEEN_WORDS.split(str(value))) - {""}


def _passing_calls(node: Node) -> list[Node]:
    """The calls inside an expression that pass anything."""
    return [part for part in node.walk() if part.kind == "Call" and part.items("args")]


def _has_more_elements(old: Node, new: Node) -> bool:
    """Whether a list has more elements after an edit.

    The layout of a hunk then says on which lines they are written.
    """
    return any(len(new.items(key)) > len(old.items(key)) for key in LISTS)


def _with_and_without(holes: Holes) -> list[Holes]:
    """The choices of holes: all of them, those within lists alone, and none, each once."""
    ways: list[Holes] = [holes] if holes else []
    within = [pair for pair in holes if pair[0][2] != BEHIND]
    if within and len(within) < len(holes):
        ways.append(within)
    return [*ways, ()]


def _stands_alone(pairs: Sequence[Pair]) -> bool:
    """Whether the last of these expressions identifies its place without the code before it.

    Each is a part of the one before it. An expression behind a key (`cfg.get("key", ...)`) does
    not, nor does the whole value of a name of a module, class or object. Behind another literal or
    name it does with two words of its own.
    """
    if len(pairs) == 2 and _is_lasting(pairs[0][0]):
        return False
    before: list[Node] = []
    for (owner, _), (part, _) in zip(pairs, pairs[1:]):
        before += _identities_before(owner, part)

    old = pairs[-1][0]
    if old.is_literal:
        is_text = len(str(old.fields.get("value")).split()) > 1
        return is_text and not before
    if any(map(is_key, before)):
        return False
    fewest = 2 if before else 1
    return len(distinctive_words([old], _keywords(old))) >= fewest


def _named_by(pairs: Sequence[Pair]) -> int | None:
    """The index of the pair that names a literal, the last of these; None where nothing does.

    Each pair is a part of the one before.
    """
    owner = pairs[-2][0] if len(pairs) > 1 else pairs[-1][0]
    if owner.kind == "Assign":
        targets = owner.items("targets")
        is_named = len(targets) == 1 and bool(distinctive_words(targets))
        if is_named and _is_version(targets[0]):
            return None
        return len(pairs) - 2 if is_named else None
    if owner.kind == "DictElement" and is_key(owner.node("key")):
        return 0
    if owner.kind == "Param":
        return 0
    if owner.kind == "Keyword" and len(pairs) > 2:
        call = pairs[-3][0]
        if call.kind != "Call" or not distinctive_words([call.node("func")]):
            return None
        return 0 if _is_lasting(pairs[0][0]) else len(pairs) - 3
    return None


def _is_version(target: Node) -> bool:
    """Whether a name is that of a version: it says which release this is, and any has another."""
    return target.kind == "Name" and str(target.fields["value"]).strip("_").lower() == "version"


def _is_lasting(node: Node) -> bool:
    """Whether a statement gives a value to a name of a module or a class, or to an attribute."""
    if node.kind != "Assign" or node.parent is None:
        return False
    owner = node.parent
    while owner.parent is not None and not owner.is_definition:
        owner = owner.parent
    if owner.kind != "FunctionDef":
        return True
    return any(target.kind == "Attribute" for target in node.items("targets"))


def _keywords(node: Node) -> list[tuple[int, int]]:
    """The offsets of the keywords of calls, which do not tell one call from another."""
    places: list[tuple[int, int]] = []
    for part in node.walk():
        name = part.fields.get("arg") if part.kind == "Keyword" else None
        if isinstance(name, Node):
            places.append((name.start, name.end))
    return places


def _identities_before(owner: Node, part: Node) -> list[Node]:
    """The literals and names that stand before a part of an expression or a statement."""
    identities: list[Node] = []
    for node in owner.children():
        if node.start < part.start and node is not owner.fields.get("func") and node.is_identity:
            identities.append(node)
    return identities


def _returns_hole(text: Tree, node: Node) -> Hole:
    """The hole that leaves out the annotation of what a function returns."""
    returns = node.node("returns")
    arrow = text.code_before(returns.outer_start) - len("->")
    return text.code_before(arrow), returns.outer_end, ""


def _annotations_differ(old: Node, new: Node) -> bool:
    """Whether two headers have different annotations of what both have."""
    if not same(old.fields.get("returns"), new.fields.get("returns")):
        return True
    for param in old.node("params").items("params"):
        for other in new.node("params").items("params"):
            if is_same_parameter(param, other) and not same(param, other):
                return True
    return False


def _any_annotations(
    before: Tree, after: Tree, old: Node, new: Node, hidden: Holes
) -> list[tuple[Hole, Hole]]:
    """The holes that leave out what two headers have of annotations where one of them changed."""
    holes: list[tuple[Hole, Hole]] = []
    for param in old.node("params").items("params"):
        if any(start <= param.start < end for (start, end, _), _ in hidden):
            continue
        for other in new.node("params").items("params"):
            if is_same_parameter(param, other):
                holes.append((_untyped_or_not(param), _untyped_or_not(other)))

    nowhere = old.outer_end, old.outer_end, ""
    old_returns = _returns_hole(before, old) if old.fields.get("returns") else nowhere
    nowhere = new.outer_end, new.outer_end, ""
    new_returns = _returns_hole(after, new) if new.fields.get("returns") else nowhere
    return [*holes, (old_returns, new_returns)]


def _untyped_or_not(param: Node) -> Hole:
    if param.fields.get("annotation") is None:
        return param.outer_end, param.outer_end, ""
    return untyped(param)


def _annotation_holes(old: Node, new: Node, hidden: Holes) -> Holes:
    """The holes that leave out the annotations that stay."""
    holes: list[tuple[Hole, Hole]] = []
    for param in old.node("params").items("params"):
        is_hidden = any(start <= param.start < end for (start, end, _), _ in hidden)
        if is_hidden or param.fields.get("annotation") is None:
            continue
        for other in new.node("params").items("params"):
            same_name = same(param.fields["name"], other.fields.get("name"))
            if same_name and same(param.fields["annotation"], other.fields.get("annotation")):
                holes.append((untyped(param), untyped(other)))
    return holes
