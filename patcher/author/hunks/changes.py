"""Code that changed, headers and clauses -> the hunks that could make the change, the most general first."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Iterator, List, Sequence, Tuple

from patcher.author.hunks.context import Candidate, Made, with_context
from patcher.author.hunks.leaves import Leaf, scope_of
from patcher.author.hunks.names import telling_words
from patcher.author.hunks.sketch import (
    Hole,
    Line,
    elided,
    excerpt,
    expression_levels,
    header,
    is_clause,
    kept_calls,
    one_line,
    opened,
    tagged,
    uncommented,
    verbatim,
)
from patcher.author.hunks.spans import Text, header_end, statements
from patcher.author.hunks.strings import changed_part
from patcher.engine.node import COMPOUND, Node, same
from patcher.text.lines import line_edits


class Changes:
    """Makes the candidates for an expression, a statement, a header or a clause that changed."""

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
    def change(self, leaf: Leaf) -> Iterator[Candidate]:
        """Candidates for a statement or clause that changed, from the smallest expression to all of it with context."""
        scope = scope_of(leaf.blocks[0])
        part = (
            changed_part(self.before, self.after, *leaf.pairs[-1]) if leaf.pairs[-1][0].kind in ("String", "FText") else None
        )
        if part is not None:
            yield Candidate(
                scope, (*tagged("-", part[0]), *tagged("+", part[1])), "the part of the string that changed", in_string=True
            )
        for index in expression_levels(leaf.pairs):
            old, new = leaf.pairs[index]
            if telling_words([old]):
                words = (
                    "the smallest expression that changed"
                    if index == len(leaf.pairs) - 1
                    else "the expression around the change"
                )
                for holes in _with_and_without(elided(leaf.pairs[index:])):
                    yield Candidate(
                        scope,
                        self._replaced(old, new, holes),
                        words + (", the rest of its list left open" if holes[0] else ""),
                    )
        old, new = leaf.pairs[0]
        statement: List[Made] = []
        found = elided(leaf.pairs)
        if not found[0] and old.kind not in COMPOUND and not is_clause(old):
            found = kept_calls(old, new)
        for holes in _with_and_without(found):
            words = "the statement" + (", what did not change left open" if holes[0] else "")
            statement.append(Made(self._statement(old, new, holes), words))
        owner = leaf.blocks[0].parent
        inside = owner is not None and owner.kind != "ClassDef"  # elsewhere a name is bound once
        if inside and not is_clause(old) and len(telling_words([old])) < 2 and old.kind not in COMPOUND:
            yield from with_context(self.before, leaf, statement)
        for each in statement:
            yield Candidate(scope, each.lines, each.words)
        if is_clause(old):
            yield from self._in_statement(leaf, statement)
            return
        yield from with_context(self.before, leaf, statement)

    def _replaced(self, old: Node, new: Node, holes: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[Line, ...]:
        gone = one_line(uncommented(excerpt(self.before, old.outer_start, old.outer_end, holes[0])))
        come = one_line(uncommented(excerpt(self.after, new.outer_start, new.outer_end, holes[1])))
        return (*tagged("-", gone), *tagged("+", come))

    def _statement(self, old: Node, new: Node, holes: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[Line, ...]:
        lines: List[Line] = []
        for tag, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
            if node.kind in COMPOUND or is_clause(node):
                lines += tagged(tag, one_line(excerpt(text, node.start, header_end(text, node), side)))
            else:
                shown = excerpt(text, node.begin, node.outer_end, side)
                lines += tagged(tag, shown if tag == "+" else one_line(uncommented(shown)))
        return tuple(lines)

    def _in_statement(self, leaf: Leaf, made: Sequence[Made]) -> Iterator[Candidate]:
        """A clause below the header of its statement."""
        owner = statements(leaf.blocks[0])[leaf.first]
        head = tagged(" ", opened(self.before, owner))
        for each in made:
            yield Candidate(scope_of(leaf.blocks[0]), (*head, *each.lines), f"{each.words}, below the header of its statement")

    # the header of a definition -------------------------------------------------------------------------------------------
    def header(self, leaf: Leaf) -> Iterator[Candidate]:
        """Candidates for the decorators, the signature or the bases of a definition."""
        old, new = leaf.pairs[0]
        scope = scope_of(old)
        gone, come = old.items("decorators"), new.items("decorators")
        decorators: List[Line] = []
        for what, i1, i2, j1, j2 in SequenceMatcher(None, list(map(repr, gone)), list(map(repr, come)), False).get_opcodes():
            if what != "equal":
                for node in gone[i1:i2]:
                    decorators += tagged("-", excerpt(self.before, node.start, node.end))
            for node in come[j1:j2]:
                decorators += tagged(" " if what == "equal" else "+", excerpt(self.after, node.start, node.end))
        rest = [
            key for key, value in old.fields.items() if key not in ("decorators", "body") and not same(value, new.fields[key])
        ]
        if not rest:
            yield Candidate(
                scope,
                (*decorators, *tagged(" ", header(self.before, old))),
                "the decorators, above the name of the definition",
            )
            full = tagged(" ", header(self.before, old, general=False))
            yield Candidate(scope, (*decorators, *full), "the decorators, above the whole header")
            return
        decorators = decorators if any(tag != " " for tag, _ in decorators) else []
        lists = [(old.node("params"), new.node("params"))] if old.kind == "FunctionDef" else [(old, new)]
        hides = elided(lists) if set(rest) & {"params", "args"} else ([], [])
        if old.kind == "FunctionDef" and "params" not in rest and old.node("params").items("params"):
            hides = _all_of(old.node("params").items("params")), _all_of(new.node("params").items("params"))
        keeps_returns = "returns" in rest or old.fields.get("returns") is None
        typeless = _annotations(old, new, hides) if "params" in rest else ([], [])
        ways = [(hides[0] + typeless[0], hides[1] + typeless[1])] if typeless[0] else []
        for holes in [*ways, *_with_and_without(hides)]:
            lines: List[Line] = []
            for sign, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
                shown = one_line(excerpt(text, node.start, header_end(text, node), side))
                lines += tagged(sign, shown if keeps_returns or not side else _without_returns(text, node, side))
            words = "the header, what did not change left open" if holes[0] else "the whole header"
            yield Candidate(scope, (*decorators, *lines), words)

    # a clause that comes or goes ------------------------------------------------------------------------------------------
    def clause(self, leaf: Leaf) -> Iterator[Candidate]:
        """Candidates for a clause that comes or goes."""
        old, new = leaf.pairs[0]
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
        scope = scope_of(leaf.blocks[0])
        if first < len(one) - last and len(inner) and not above:
            yield Candidate(scope, tuple(inner), "the clauses alone")
        yield Candidate(scope, (*head, *inner), "the clauses below the header of their statement")
        yield Candidate(scope, (*head, *above, *inner, *below), "the clauses between their neighbours")
        yield from self.whole(old, new)


def _with_and_without(holes: Tuple[List[Hole], List[Hole]]) -> List[Tuple[List[Hole], List[Hole]]]:
    return [holes, ([], [])] if holes[0] or holes[1] else [([], [])]


def _all_of(nodes: Sequence[Node]) -> List[Hole]:
    return [(nodes[0].begin, nodes[-1].outer_end, "...")]


def _annotations(old: Node, new: Node, hidden: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[List[Hole], List[Hole]]:
    """Holes for the annotations of the parameters that stay and are written: what is not written is not looked at."""
    sides = [node.node("params").items("params") for node in (old, new)]
    found: Tuple[List[Hole], List[Hole]] = ([], [])
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
    """A header without its return annotation, which is not looked at where it is not written."""
    returns = node.fields.get("returns")
    if not isinstance(returns, Node):
        return one_line(excerpt(text, node.start, header_end(text, node), holes))
    lines = one_line(excerpt(text, node.start, returns.outer_start, holes))
    cut = "\n".join(lines).rstrip()
    return (cut[:-2].rstrip() + ":").split("\n") if cut.endswith("->") else [cut + ":"]
