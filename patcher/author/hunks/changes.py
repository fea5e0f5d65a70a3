"""A statement, header or clause that changed -> the hunks that may make the change, the most general first."""

from __future__ import annotations

from typing import Iterator, Sequence

from patcher.author.hunks.context import Candidate, Fragment, alone_and_around, with_context
from patcher.author.hunks.differences import BlockRange, Difference, Pair, scope_of
from patcher.author.hunks.excerpts import (
    BEHIND,
    LISTS,
    OPEN,
    Hole,
    Holes,
    Line,
    elided,
    excerpt,
    header,
    heads,
    is_key,
    is_one,
    kept_calls,
    left_open,
    on_one_line,
    opened,
    tagged,
    uncommented,
    untyped,
    verbatim,
)
from patcher.author.hunks.names import distinctive_words
from patcher.engine.tree import Node, Tree, same
from patcher.message import Message
from patcher.text.lines import common_ends, line_edits


class Changes:
    """Makes the candidates for what changed inside a statement."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after

    def whole(self, old: Node, new: Node) -> Iterator[Candidate]:
        """A statement replaced by another one, with the lines that both have as context."""
        one, other = verbatim(self.before, old), verbatim(self.after, new)
        lines: list[Line] = []
        at = 0
        for i1, i2, j1, j2 in line_edits(one, other):
            lines += [
                *tagged(" ", one[at:i1]),
                *tagged("-", one[i1:i2]),
                *tagged("+", other[j1:j2]),
            ]
            at = i2
        lines += tagged(" ", one[at:])
        scope = scope_of(old)
        yield Candidate(
            scope, tuple(lines), Message("all of the statement: nothing smaller is safe")
        )
        yield Candidate(
            scope,
            (*tagged("-", one), *tagged("+", other)),
            Message("all of the statement, replaced"),
        )
        place = BlockRange.of(old)
        if place.scope != scope:
            yield Candidate(
                place.scope, tuple(lines), Message("all of the statement, in the scope around it")
            )
        yield from with_context(
            self.before, place, [Fragment(tuple(lines), Message("all of the statement"))]
        )

    # an expression, or a statement that changed ---------------------------------------------------------------------------
    def change(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for a statement or clause that changed, from the smallest expression to all of it with context."""
        scope = difference.place.scope
        yield from self._expressions(scope, difference.pairs)
        old = difference.pairs[0][0]
        statement = self.statement(difference)
        if old.is_clause:
            yield from self._in_clause(difference, statement)
        else:
            owner = difference.blocks[0].parent
            inside = (
                owner is not None and owner.kind != "ClassDef"
            )  # elsewhere a name is bound once
            little = inside and not old.has_body and len(distinctive_words([old])) < 2
            yield from alone_and_around(self.before, difference.place, statement, little=little)

    def statement(self, difference: Difference) -> list[Fragment]:
        """The ways to write a statement or the header that changed, the most general first."""
        old, new = difference.pairs[0]
        simple = not old.has_body
        found = elided(difference.pairs)
        if simple and not found:
            found = kept_calls(old, new)
        ways: list[Fragment] = []
        for holes in _with_and_without(found):
            form = Message(
                "the statement, what did not change left open" if holes else "the statement"
            )
            lines = self._statement(old, new, holes)
            inserted = [line for tag, line in lines if tag == "+"]
            plain = uncommented(inserted) if simple else inserted  # what stays keeps its comments
            shown = [inserted, plain]
            if holes and simple:
                shown.insert(0, on_one_line(plain))
            for number, each in enumerate(shown):
                if each not in shown[:number]:
                    ways.append(Fragment((*lines[: -len(inserted)], *tagged("+", each)), form))
        return ways

    def keywords(self, difference: Difference) -> tuple[Line, ...]:
        """A statement whose call has the keywords that changed alone, with `...` for all else that is passed.

        () where anything else changed, or nothing else is passed; nor where what is passed may name the place, as a string
        does, or may have the same keyword, as `**` does.
        """
        calls = [pair for pair in difference.pairs if all(node.kind == "Call" for node in pair)]
        (old, new), (before, after) = difference.pairs[0], (self.before, self.after)
        if not calls or old.has_body or not distinctive_words([calls[-1][0].node("func")]):
            return ()
        call, other = calls[-1]
        args = call.items("args"), other.items("args")
        gone = [node for node in args[0] if not any(same(node, each) for each in args[1])]
        come = [node for node in args[1] if not any(same(node, each) for each in args[0])]
        names = any(is_key(node) for node in args[0] if node not in gone)
        is_open = names or any(node.kind == "DoubleStar" for side in args for node in side)
        are_keywords = all(node.kind == "Keyword" for node in (*gone, *come))
        kept = min(len(args[0]) - len(gone), len(args[1]) - len(come))
        same_call = same(call.fields["func"], other.fields["func"])
        if is_open or not are_keywords or not kept or not same_call:
            return ()
        holes = (_passed(before, args[0], gone), _passed(after, args[1], come))
        return self._statement(old, new, [holes])

    def opened(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for an assignment of another value that leave the old one open; none for other differences.

        That is one literal or one name: of anything more a part would go that another release has, or has otherwise.
        """
        old, new = (
            difference.pairs[0]
            if difference.kind == "change"
            else (difference.blocks[0], difference.blocks[1])
        )
        value, other = old.fields.get("value"), new.fields.get("value")
        names = [(node.fields.get("targets"), node.fields.get("annotation")) for node in (old, new)]
        if old.kind != "Assign" or not (isinstance(value, Node) and isinstance(other, Node)):
            return
        if is_one(value) and all(map(same, *names)):
            hole, whole = (value.outer_start, value.outer_end, OPEN), (other.end, other.end, "")
            fragment = Fragment(
                self._statement(old, new, [(hole, whole)]),
                Message("the statement, the old value left open"),
            )
            yield from alone_and_around(self.before, difference.place, [fragment])

    def _expressions(self, scope: str, pairs: Sequence[Pair]) -> Iterator[Candidate]:
        """The expressions that hold all of the change, the smallest first."""
        for index in range(len(pairs) - 1, 0, -1):
            old, new = pairs[index]
            if (
                not (old.is_expression and new.is_expression)
                or old.kind == "Expr"
                or not _stands_alone(pairs[: index + 1])
            ):
                continue
            last = index == len(pairs) - 1
            form = Message(
                "the smallest expression that changed"
                if last
                else "the expression around the change"
            )
            found = elided(pairs[index:])
            for holes in (
                _with_and_without(found)
                if distinctive_words([old], [hole[:2] for hole, _ in found])
                else ()
            ):
                more = Message(", the rest of its list left open") if holes else ""
                for laid_out in (False, True) if _gains(*pairs[-1]) else (False,):
                    yield Candidate(
                        scope, self._replaced(old, new, holes, laid_out=laid_out), form + more
                    )

    def _replaced(self, old: Node, new: Node, holes: Holes, *, laid_out: bool) -> tuple[Line, ...]:
        """The lines of an expression, the new ones on one line or, if `laid_out`, as the edit has them."""
        lines: list[Line] = []
        for tag, text, node, side in self._sides(old, new, holes):
            shown = uncommented(excerpt(text, node.outer_start, node.outer_end, side))
            lines += tagged(tag, shown if laid_out and tag == "+" else on_one_line(shown))
        return tuple(lines)

    def _statement(self, old: Node, new: Node, holes: Holes) -> tuple[Line, ...]:
        lines: list[Line] = []
        for tag, text, node, side in self._sides(old, new, holes):
            if node.has_body:
                lines += tagged(
                    tag, on_one_line(excerpt(text, node.start, text.header_end(node), side))
                )
            else:
                shown = excerpt(text, node.begin, node.outer_end, side)
                lines += tagged(tag, shown if tag == "+" else on_one_line(uncommented(shown)))
        return tuple(lines)

    def _sides(
        self, old: Node, new: Node, holes: Holes
    ) -> Iterator[tuple[str, Tree, Node, list[Hole]]]:
        """The tag, the text, the node and the holes before and after the edit."""
        yield "-", self.before, old, [one for one, _ in holes]
        yield "+", self.after, new, [other for _, other in holes]

    def _in_clause(
        self, difference: Difference, fragments: Sequence[Fragment]
    ) -> Iterator[Candidate]:
        """The lines of a clause alone, and below the header of its statement."""
        owner = difference.blocks[0].statements()[difference.old[0]]
        scope = difference.place.scope
        for fragment in fragments:
            yield Candidate(scope, fragment.lines, fragment.form)
        for head in heads(self.before, owner):
            for fragment in fragments:
                text = "{form}, below the header of its statement"
                yield Candidate(
                    scope, (*tagged(" ", head), *fragment.lines), Message(text, form=fragment.form)
                )

    # the header of a definition -------------------------------------------------------------------------------------------
    def header(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for the decorators, the signature or the bases of a definition."""
        old, new = difference.pairs[0]
        scope = scope_of(old)
        decorators = self._decorators(old.items("decorators"), new.items("decorators"))
        rest = [
            key
            for key, value in old.fields.items()
            if key not in ("decorators", "body") and not same(value, new.fields[key])
        ]
        if not rest:
            general, full = (
                tagged(" ", header(self.before, old, general=each)) for each in (True, False)
            )
            yield Candidate(
                scope,
                (*decorators, *general),
                Message("the decorators, above the name of the definition"),
            )
            yield Candidate(
                scope, (*decorators, *full), Message("the decorators, above the whole header")
            )
            yield from self._expressions(scope, difference.pairs)
            return
        decorators = decorators if any(tag != " " for tag, _ in decorators) else []
        lists = (
            [(old.node("params"), new.node("params"))]
            if old.kind == "FunctionDef"
            else [(old, new)]
        )
        hides = elided(lists) if set(rest) & {"params", "args"} else ()
        if (
            old.kind == "FunctionDef"
            and "params" not in rest
            and old.node("params").items("params")
        ):
            hides = [
                (
                    left_open(old.node("params").items("params")),
                    left_open(new.node("params").items("params")),
                )
            ]
        bare = _annotations(old, new, hides) if "params" in rest else ()
        most = [[*hides, *bare]] if bare else []
        keeps_returns = "returns" in rest or old.fields.get("returns") is None
        returns = () if keeps_returns else [(_returns(self.before, old), _returns(self.after, new))]
        ways = [[*holes, *returns] for holes in [*most, *_with_and_without(hides)]]
        fragments: list[Fragment] = []
        for holes in [*ways, *([()] if returns else ())]:
            lines: list[Line] = []
            for sign, text, node, side in self._sides(old, new, holes):
                lines += tagged(
                    sign, on_one_line(excerpt(text, node.start, text.header_end(node), side))
                )
            form = Message(
                "the header, what did not change left open" if holes else "the whole header"
            )
            fragments.append(Fragment((*decorators, *lines), form))
        yield from (Candidate(scope, fragment.lines, fragment.form) for fragment in fragments)
        # one of several definitions of this name
        yield from with_context(self.before, difference.place, fragments)

    def _decorators(self, old: Sequence[Node], new: Sequence[Node]) -> list[Line]:
        lines: list[Line] = []
        at = 0
        for i1, i2, j1, j2 in [
            *line_edits(list(map(repr, old)), list(map(repr, new))),
            (len(old), len(old), 0, 0),
        ]:
            kept, deleted, inserted = old[at:i1], old[i1:i2], new[j1:j2]
            for tag, text, nodes in (
                (" ", self.before, kept),
                ("-", self.before, deleted),
                ("+", self.after, inserted),
            ):
                for node in nodes:
                    lines += tagged(tag, excerpt(text, node.start, node.end))
            at = i2
        return lines

    # clauses --------------------------------------------------------------------------------------------------------------
    def clause(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for clauses that are inserted, deleted or replaced."""
        old, new = difference.pairs[0]
        one, other = old.items("clauses"), new.items("clauses")
        first, last = common_ends(list(map(repr, one)), list(map(repr, other)))
        inner = [
            *(
                line
                for node in one[first : len(one) - last]
                for line in tagged("-", verbatim(self.before, node))
            ),
            *(
                line
                for node in other[first : len(other) - last]
                for line in tagged("+", verbatim(self.after, node))
            ),
        ]
        above, below = (
            [line for node in near for line in tagged(" ", opened(self.before, node))]
            for near in (one[max(0, first - 1) : first], one[len(one) - last : len(one) - last + 1])
        )
        scope = difference.place.scope
        if first < len(one) - last and not above:
            yield Candidate(scope, tuple(inner), Message("the clauses alone"))
        forms = (
            Message("the clauses below the header of their statement"),
            Message("the clauses between their neighbours"),
        )
        fragments = [
            Fragment((*tagged(" ", head), *lines), form)
            for head in heads(self.before, old)
            for form, lines in zip(forms, (inner, (*above, *inner, *below)))
        ]
        yield from (Candidate(scope, fragment.lines, fragment.form) for fragment in fragments)
        # one of several statements that begin so
        yield from with_context(self.before, BlockRange.of(old), fragments[:2])
        yield from self.whole(old, new)


def _passed(text: Tree, args: Sequence[Node], written: Sequence[Node]) -> Hole:
    """The hole by which of what is passed to a call only some is written."""
    words = [text.text[node.outer_start : node.outer_end] for node in written]
    return args[0].outer_start, args[-1].outer_end, ", ".join(["...", *words])


def _gains(old: Node, new: Node) -> bool:
    """Whether a list has more elements after an edit: one may be on the line of another, which the layout of a hunk says."""
    return any(len(new.items(key)) > len(old.items(key)) for key in LISTS)


def _with_and_without(holes: Holes) -> list[Holes]:
    """All of the holes, those within lists alone, and none: each once."""
    closed = [pair for pair in holes if pair[0][2] != BEHIND]
    ways: list[Holes] = [holes, closed] if len(closed) < len(holes) else [holes]
    return [*(way for way in ways if way), ()]


def _stands_alone(pairs: Sequence[Pair]) -> bool:
    """Whether the last of these expressions, each a part of the one before, names a place without what stands before it.

    Behind a key (`cfg.get("key", ...)`) nothing does, nor does all that a module, a class or an object has as a value; behind
    another literal or name what has two words of its own.
    """
    old = pairs[-1][0]
    if len(pairs) == 2 and _is_lasting(pairs[0][0]):
        return False
    before = [
        node for (owner, _), (part, _) in zip(pairs, pairs[1:]) for node in _before(owner, part)
    ]
    if old.is_literal:
        return not before and len(str(old.fields.get("value")).split()) > 1  # a text
    return not any(map(is_key, before)) and len(distinctive_words([old], _keywords(old))) > bool(
        before
    )


def _is_lasting(node: Node) -> bool:
    """Whether a statement gives a value to a name of a module or a class, or to an attribute."""
    if node.kind != "Assign" or node.parent is None:
        return False
    owner = node.parent
    while owner.parent is not None and not owner.is_definition:
        owner = owner.parent
    return owner.kind != "FunctionDef" or any(
        target.kind == "Attribute" for target in node.items("targets")
    )


def _keywords(node: Node) -> list[tuple[int, int]]:
    """Where the keywords of calls are (offsets): they say of no call which one it is."""
    names = (part.fields.get("arg") for part in node.walk() if part.kind == "Keyword")
    return [(name.start, name.end) for name in names if isinstance(name, Node)]


def _before(owner: Node, part: Node) -> list[Node]:
    """The literals and names in an expression or a statement that stand before a part of it."""
    found = [
        node
        for node in owner.children()
        if node.start < part.start and node is not owner.fields.get("func")
    ]
    return [node for node in found if node.is_identity]


def _returns(text: Tree, node: Node) -> Hole:
    """The hole that leaves out the annotation of what a function returns."""
    returns = node.node("returns")
    return (
        text.code_before(text.code_before(returns.outer_start) - len("->")),
        returns.outer_end,
        "",
    )


def _annotations(old: Node, new: Node, hidden: Holes) -> Holes:
    """The holes that leave out the annotations that stay."""
    holes: list[tuple[Hole, Hole]] = []
    for one in old.node("params").items("params"):
        is_hidden = any(start <= one.start < end for (start, end, _), _ in hidden)
        typed = (
            ()
            if is_hidden or one.fields.get("annotation") is None
            else new.node("params").items("params")
        )
        twins = (
            each
            for each in typed
            if all(same(one.fields[key], each.fields.get(key)) for key in ("name", "annotation"))
        )
        holes += [(untyped(one), untyped(each)) for each in twins]
    return holes
