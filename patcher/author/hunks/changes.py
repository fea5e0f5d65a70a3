"""A statement, header or clause that changed -> the hunks that may make the change, the most general first."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Iterator, List, Sequence, Tuple

from patcher.author.hunks.context import Candidate, Fragment, with_context
from patcher.author.hunks.differences import Difference, Pair, scope_of
from patcher.author.hunks.excerpts import (
    Hole,
    Holes,
    Line,
    elided,
    excerpt,
    header,
    kept_calls,
    on_one_line,
    opened,
    tagged,
    uncommented,
    verbatim,
)
from patcher.author.hunks.names import distinctive_words
from patcher.author.hunks.spans import Text, header_end
from patcher.author.hunks.strings import changed_part
from patcher.engine.node import CLAUSES, COMPOUND, Node, is_expression, same
from patcher.text.lines import line_edits


class Changes:
    """Makes the candidates for what changed inside a statement."""

    def __init__(self, before: Text, after: Text) -> None:
        self.before, self.after = before, after

    def whole(self, old: Node, new: Node) -> Iterator[Candidate]:
        """A statement replaced by another one, with the lines that both have as context."""
        one, other = verbatim(self.before, old), verbatim(self.after, new)
        lines: List[Line] = []
        at = 0
        for i1, i2, j1, j2 in line_edits([line.encode() for line in one], [line.encode() for line in other]):
            lines += [*tagged(" ", one[at:i1]), *tagged("-", one[i1:i2]), *tagged("+", other[j1:j2])]
            at = i2
        lines += tagged(" ", one[at:])
        scope = scope_of(old)
        yield Candidate(scope, tuple(lines), "all of the statement: nothing smaller is safe")
        yield Candidate(scope, (*tagged("-", one), *tagged("+", other)), "all of the statement, replaced")
        outer = scope_of(old.parent) if old.parent is not None else scope
        if outer != scope:
            yield Candidate(outer, tuple(lines), "all of the statement, in the scope around it")

    # an expression, or a statement that changed ---------------------------------------------------------------------------
    def change(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for a statement or clause that changed, from the smallest expression to all of it with context."""
        scope = difference.scope
        part = changed_part(self.before, self.after, *difference.pairs[-1])
        if part is not None:
            lines = (*tagged("-", part[0]), *tagged("+", part[1]))
            yield Candidate(scope, lines, "the part of the string that changed", in_string=True)
        yield from self._expressions(scope, difference.pairs)
        old, new = difference.pairs[0]
        simple = old.kind not in COMPOUND | CLAUSES
        found = elided(difference.pairs)
        if simple and not found[0]:
            found = kept_calls(old, new)
        statement: List[Fragment] = []
        for holes in _with_and_without(found):
            form = "the statement" + (", what did not change left open" if holes[0] else "")
            statement.append(Fragment(self._statement(old, new, holes), form))
        owner = difference.blocks[0].parent
        inside = owner is not None and owner.kind != "ClassDef"  # elsewhere a name is bound once
        if inside and simple and len(distinctive_words([old])) < 2:
            yield from with_context(self.before, difference, statement)
        for each in statement:
            yield Candidate(scope, each.lines, each.form)
        if old.kind in CLAUSES:
            yield from self._in_statement(difference, statement)
            return
        yield from with_context(self.before, difference, statement)

    def _expressions(self, scope: str, pairs: Sequence[Pair]) -> Iterator[Candidate]:
        """The expressions that hold all of the change, the smallest first."""
        for index in range(len(pairs) - 1, 0, -1):
            old, new = pairs[index]
            if not (is_expression(old) and is_expression(new)) or old.kind == "Expr":
                continue
            form = "the smallest expression that changed" if index == len(pairs) - 1 else "the expression around the change"
            for holes in _with_and_without(elided(pairs[index:])) if distinctive_words([old]) else ():
                more = ", the rest of its list left open" if holes[0] else ""
                yield Candidate(scope, self._replaced(old, new, holes), form + more)

    def _replaced(self, old: Node, new: Node, holes: Holes) -> Tuple[Line, ...]:
        before = on_one_line(uncommented(excerpt(self.before, old.outer_start, old.outer_end, holes[0])))
        after = on_one_line(uncommented(excerpt(self.after, new.outer_start, new.outer_end, holes[1])))
        return (*tagged("-", before), *tagged("+", after))

    def _statement(self, old: Node, new: Node, holes: Holes) -> Tuple[Line, ...]:
        lines: List[Line] = []
        for tag, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
            if node.kind in COMPOUND | CLAUSES:
                lines += tagged(tag, on_one_line(excerpt(text, node.start, header_end(text, node), side)))
            else:
                shown = excerpt(text, node.begin, node.outer_end, side)
                lines += tagged(tag, shown if tag == "+" else on_one_line(uncommented(shown)))
        return tuple(lines)

    def _in_statement(self, difference: Difference, fragments: Sequence[Fragment]) -> Iterator[Candidate]:
        """The lines of a clause below the header of its statement."""
        owner = difference.blocks[0].statements()[difference.old[0]]
        head = tagged(" ", opened(self.before, owner))
        for each in fragments:
            yield Candidate(difference.scope, (*head, *each.lines), f"{each.form}, below the header of its statement")

    # the header of a definition -------------------------------------------------------------------------------------------
    def header(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for the decorators, the signature or the bases of a definition."""
        old, new = difference.pairs[0]
        scope = scope_of(old)
        decorators = self._decorators(old.items("decorators"), new.items("decorators"))
        rest = [
            key for key, value in old.fields.items() if key not in ("decorators", "body") and not same(value, new.fields[key])
        ]
        if not rest:
            general, full = (tagged(" ", header(self.before, old, general=each)) for each in (True, False))
            yield Candidate(scope, (*decorators, *general), "the decorators, above the name of the definition")
            yield Candidate(scope, (*decorators, *full), "the decorators, above the whole header")
            yield from self._expressions(scope, difference.pairs)
            return
        decorators = decorators if any(tag != " " for tag, _ in decorators) else []
        lists = [(old.node("params"), new.node("params"))] if old.kind == "FunctionDef" else [(old, new)]
        hides = elided(lists) if set(rest) & {"params", "args"} else ([], [])
        if old.kind == "FunctionDef" and "params" not in rest and old.node("params").items("params"):
            hides = _all_of(old.node("params").items("params")), _all_of(new.node("params").items("params"))
        keeps_returns = "returns" in rest or old.fields.get("returns") is None
        untyped = _annotations(old, new, hides) if "params" in rest else ([], [])
        most = [(hides[0] + untyped[0], hides[1] + untyped[1])] if untyped[0] else []
        for holes in [*most, *_with_and_without(hides)]:
            lines: List[Line] = []
            for sign, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
                shown = on_one_line(excerpt(text, node.start, header_end(text, node), side))
                lines += tagged(sign, shown if keeps_returns or not side else _without_returns(text, node, side))
            form = "the header, what did not change left open" if holes[0] else "the whole header"
            yield Candidate(scope, (*decorators, *lines), form)

    def _decorators(self, old: Sequence[Node], new: Sequence[Node]) -> List[Line]:
        lines: List[Line] = []
        for what, i1, i2, j1, j2 in SequenceMatcher(None, list(map(repr, old)), list(map(repr, new)), False).get_opcodes():
            for node in old[i1:i2] if what != "equal" else ():
                lines += tagged("-", excerpt(self.before, node.start, node.end))
            for node in new[j1:j2]:
                lines += tagged(" " if what == "equal" else "+", excerpt(self.after, node.start, node.end))
        return lines

    # clauses --------------------------------------------------------------------------------------------------------------
    def clause(self, difference: Difference) -> Iterator[Candidate]:
        """Candidates for clauses that are inserted, deleted or replaced."""
        old, new = difference.pairs[0]
        one, other = old.items("clauses"), new.items("clauses")
        first, last = 0, 0
        while first < min(len(one), len(other)) and same(one[first], other[first]):
            first += 1
        while last < min(len(one), len(other)) - first and same(one[-1 - last], other[-1 - last]):
            last += 1
        inner = [
            *(line for node in one[first : len(one) - last] for line in tagged("-", verbatim(self.before, node))),
            *(line for node in other[first : len(other) - last] for line in tagged("+", verbatim(self.after, node))),
        ]
        above, below = (
            [line for node in near for line in tagged(" ", opened(self.before, node))]
            for near in (one[max(0, first - 1) : first], one[len(one) - last : len(one) - last + 1])
        )
        head = tagged(" ", opened(self.before, old))
        scope = difference.scope
        if first < len(one) - last and not above:
            yield Candidate(scope, tuple(inner), "the clauses alone")
        yield Candidate(scope, (*head, *inner), "the clauses below the header of their statement")
        yield Candidate(scope, (*head, *above, *inner, *below), "the clauses between their neighbours")
        yield from self.whole(old, new)


def _with_and_without(holes: Holes) -> List[Holes]:
    return [holes, ([], [])] if holes[0] or holes[1] else [([], [])]


def _all_of(nodes: Sequence[Node]) -> List[Hole]:
    return [(nodes[0].begin, nodes[-1].outer_end, "...")]


def _annotations(old: Node, new: Node, hidden: Holes) -> Holes:
    """Holes that leave out the annotations of unchanged parameters: what is not written may be anything (format rule 10)."""
    sides = [node.node("params").items("params") for node in (old, new)]
    found: Holes = ([], [])
    for params, others, holes, runs in zip(sides, reversed(sides), found, hidden):
        for param in params:
            annotation = param.fields.get("annotation")
            written = not any(start <= param.start < end for start, end, _ in runs)
            if isinstance(annotation, Node) and written and any(same(param, other) for other in others):
                default = param.fields.get("default")
                end, equals = (default.outer_start, "=") if isinstance(default, Node) else (annotation.outer_end, "")
                holes.append((param.node("name").end, end, equals))
    return found


def _without_returns(text: Text, node: Node, holes: Sequence[Hole]) -> List[str]:
    """A header without its return annotation."""
    returns = node.fields.get("returns")
    if not isinstance(returns, Node):
        return on_one_line(excerpt(text, node.start, header_end(text, node), holes))
    lines = on_one_line(excerpt(text, node.start, returns.outer_start, holes))
    cut = "\n".join(lines).rstrip()
    return (cut[:-2].rstrip() + ":").split("\n") if cut.endswith("->") else [cut + ":"]
