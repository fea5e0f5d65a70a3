"""An edit taken apart: what differs between two texts of a file, each piece as small as syntax lets it be."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from patcher.author.hunks.spans import Text, clause_gap, gap, header_end, statements
from patcher.engine.node import CLAUSES, COMPOUND, Node, Value, same

Pair = Tuple[Node, Node]
_ALIKE = 0.5  # two statements that share more than this part of their tokens are one that changed
_WORDS = re.compile(r"\w+|[^\w\s]")


class Leaf(NamedTuple):
    """One difference.

    `kind` is `change` (`pairs` lead from a statement or clause down to the smallest pair that differs), `header` (the one pair
    of `pairs` is a `def` or `class` with another header), `clause` (as `run`, of the clauses of a statement: the pair of
    `pairs`), or `run`: of a block's statements `gone` go and `come` come. `blocks` is the pair of blocks that hold it, of
    which it covers the statements `[first, last)` before and `[begin, end)` after the edit. `span` of the text before is
    replaced by `new`, which stands at offset `made` of the text after.
    """

    kind: str
    blocks: Pair
    first: int
    last: int
    begin: int
    end: int
    span: Tuple[int, int]
    new: str
    made: int
    pairs: Tuple[Pair, ...] = ()

    @property
    def gone(self) -> List[Node]:
        """The statements that go."""
        return statements(self.blocks[0])[self.first : self.last]

    @property
    def come(self) -> List[Node]:
        """The statements that come."""
        return statements(self.blocks[1])[self.begin : self.end]


def scope_of(node: Node) -> str:
    """The qualified name of the innermost definition that holds a node or is it, `<module>` for none."""
    names = [
        str(each.node("name").fields["value"])
        for each in [node, *node.ancestors()]
        if each.kind in ("FunctionDef", "ClassDef")
    ]
    return ".".join(reversed(names)) or "<module>"


def leaves(before: Text, after: Text) -> List[Leaf]:
    """What differs between two texts of a file, in the order of the text; comments and layout are not looked at."""
    return list(_Comparison(before, after).blocks(before.tree, after.tree))


class _Comparison:
    def __init__(self, before: Text, after: Text) -> None:
        self.before, self.after = before, after
        self.keys: Dict[int, str] = {}

    def key(self, node: Node) -> str:
        if id(node) not in self.keys:
            self.keys[id(node)] = repr(node)
        return self.keys[id(node)]

    def blocks(self, old: Node, new: Node) -> Iterator[Leaf]:
        one, other = statements(old), statements(new)
        matcher = SequenceMatcher(None, [self.key(node) for node in one], [self.key(node) for node in other], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                continue
            i, j = i1, j1
            for at, to in [*self.paired(one[i1:i2], other[j1:j2]), (i2 - i1, j2 - j1)]:
                if (i, j) != (i1 + at, j1 + to):
                    yield self.run("run", (old, new), (i, i1 + at), (j, j1 + to))
                if at < i2 - i1:
                    yield from self.statement((old, new), i1 + at, j1 + to)
                i, j = i1 + at + 1, j1 + to + 1

    def paired(self, gone: Sequence[Node], come: Sequence[Node]) -> List[Tuple[int, int]]:
        """Which of the statements that differ are one that changed: the pairing in order with the highest likeness."""
        if not gone or not come or len(gone) * len(come) > 10_000:
            return []
        if any(wraps(node, gone) for node in come) or any(wraps(node, come) for node in gone):
            return []
        like = [[self.likeness(old, new) for new in come] for old in gone]
        best = [[0.0] * (len(come) + 1) for _ in range(len(gone) + 1)]
        for i in reversed(range(len(gone))):
            for j in reversed(range(len(come))):
                both = like[i][j] + best[i + 1][j + 1] if like[i][j] else 0.0
                best[i][j] = max(best[i + 1][j], best[i][j + 1], both)
        pairs: List[Tuple[int, int]] = []
        i = j = 0
        while i < len(gone) and j < len(come):
            if like[i][j] and best[i][j] == like[i][j] + best[i + 1][j + 1]:
                pairs.append((i, j))
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1
        return pairs

    def likeness(self, old: Node, new: Node) -> float:
        if old.kind in COMPOUND or new.kind in COMPOUND:
            if old.kind != new.kind:
                return 0.0
            if old.kind in ("FunctionDef", "ClassDef"):
                return 2.0 if same(old.fields["name"], new.fields["name"]) else self.overlap(old, new)
            header = all(same(a, b) for a, b in zip(old.header(), new.header())) and len(old.header()) == len(new.header())
            return 1.5 if header and old.header() else self.overlap(old, new)
        if old.kind == new.kind == "Assign" and same(old.fields["targets"], new.fields["targets"]):
            return 1.5
        if old.is_text() and new.is_text() and self.docstring(old) and self.docstring(new):
            return 1.5
        return self.overlap(old, new)

    def docstring(self, node: Node) -> bool:
        return node.parent is not None and node.parent.fields.get("doc") is node

    def overlap(self, old: Node, new: Node) -> float:
        """The part of their words and signs that two statements share; 0 for less than half."""
        words = [_WORDS.findall(text.text[node.start : node.end]) for text, node in ((self.before, old), (self.after, new))]
        matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
        ratio = matcher.ratio() if matcher.quick_ratio() > _ALIKE else 0.0
        return ratio if ratio > _ALIKE else 0.0

    def statement(self, blocks: Pair, i: int, j: int) -> Iterator[Leaf]:
        old, new = statements(blocks[0])[i], statements(blocks[1])[j]
        if old.kind != new.kind or old.kind not in COMPOUND:
            yield self.change(blocks, i, j, (old, new))
            return
        if old.kind in ("FunctionDef", "ClassDef"):
            if any(not same(value, new.fields[key]) for key, value in old.fields.items() if key != "body"):
                yield self.header(blocks, i, j, old, new)
        elif [self.key(part) for part in old.header()] != [self.key(part) for part in new.header()]:
            yield self.change(blocks, i, j, (old, new))
        yield from self.bodies(blocks, i, j, (old, new))
        yield from self.clauses(blocks, i, j, (old, new))

    def bodies(self, blocks: Pair, i: int, j: int, pair: Pair) -> Iterator[Leaf]:
        old, new = pair[0].fields.get("body"), pair[1].fields.get("body")
        if isinstance(old, Node) and isinstance(new, Node) and not same(old, new):
            yield from self.blocks(old, new)

    def clauses(self, blocks: Pair, i: int, j: int, pair: Pair) -> Iterator[Leaf]:
        one, other = pair[0].items("clauses"), pair[1].items("clauses")
        whole = [[self.key(clause) for clause in clauses] for clauses in (one, other)]
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, whole[0], whole[1], autojunk=False).get_opcodes():
            if tag == "equal":
                continue
            if i2 - i1 != j2 - j1 or any(a.kind != b.kind for a, b in zip(one[i1:i2], other[j1:j2])):
                yield self.run("clause", blocks, (i, i + 1), (j, j + 1), (pair, (i1, i2), (j1, j2)))
                continue
            for old, new in zip(one[i1:i2], other[j1:j2]):
                if [self.key(part) for part in old.header()] != [self.key(part) for part in new.header()]:
                    yield self.change(blocks, i, j, (old, new))
                yield from self.bodies(blocks, i, j, (old, new))

    # what to replace by what ----------------------------------------------------------------------------------------------
    def change(self, blocks: Pair, i: int, j: int, pair: Pair) -> Leaf:
        pairs = tuple(_descent(*pair))
        old, new = pairs[-1]
        spans = [(old.outer_start, old.outer_end), (new.outer_start, new.outer_end)]
        if old.kind in COMPOUND | CLAUSES:
            spans = [(node.begin, header_end(text, node)) for text, node in ((self.before, old), (self.after, new))]
        return Leaf("change", blocks, i, i + 1, j, j + 1, spans[0], self.made(spans[1]), spans[1][0], pairs)

    def header(self, blocks: Pair, i: int, j: int, old: Node, new: Node) -> Leaf:
        spans = [(node.begin, header_end(text, node)) for text, node in ((self.before, old), (self.after, new))]
        return Leaf("header", blocks, i, i + 1, j, j + 1, spans[0], self.made(spans[1]), spans[1][0], ((old, new),))

    def run(
        self,
        kind: str,
        blocks: Pair,
        old: Tuple[int, int],
        new: Tuple[int, int],
        clauses: Optional[Tuple[Pair, Tuple[int, int], Tuple[int, int]]] = None,
    ) -> Leaf:
        if clauses is None:
            spans = [
                gap(*side) for side in ((self.before, statements(blocks[0]), old), (self.after, statements(blocks[1]), new))
            ]
            return Leaf(kind, blocks, *old, *new, spans[0], self.made(spans[1]), spans[1][0])
        pair, *ranges = clauses
        spans = [
            clause_gap(text, node, at)
            for text, node, at in ((self.before, pair[0], ranges[0]), (self.after, pair[1], ranges[1]))
        ]
        return Leaf(kind, blocks, *old, *new, spans[0], self.made(spans[1]), spans[1][0], (pair,))

    def made(self, span: Tuple[int, int]) -> str:
        return self.after.text[span[0] : span[1]]


def apply_leaves(text: str, found: Sequence[Leaf]) -> str:
    """A text with some of its differences alone."""
    for leaf in sorted(found, key=lambda each: each.span, reverse=True):
        text = text[: leaf.span[0]] + leaf.new + text[leaf.span[1] :]
    return text


def wraps(node: Node, kept: Sequence[Node]) -> bool:
    """Whether a compound statement holds all the given statements, one after another, in one of its blocks."""
    return kept_in(node, kept) is not None


def kept_in(node: Node, kept: Sequence[Node]) -> Optional[List[Node]]:
    """The statements of a block of `node` that are the same as `kept`; None where no block holds them."""
    keys = [repr(each) for each in kept]
    if node.kind not in COMPOUND or not kept:
        return None
    for owner in [node, *node.items("clauses")]:
        body = owner.fields.get("body")
        inner = statements(body) if isinstance(body, Node) else []
        for start in range(len(inner) - len(keys) + 1):
            if [repr(each) for each in inner[start : start + len(keys)]] == keys:
                return inner[start : start + len(keys)]
    return None


def _descent(old: Node, new: Node) -> Iterator[Pair]:
    """The pairs from two nodes down to the smallest that hold all of the difference."""
    while True:
        yield old, new
        if old.kind != new.kind or old.kind == "String":
            return
        hidden = ("body", "clauses") if old.kind in COMPOUND | CLAUSES else ()
        differing = [
            (value, new.fields[key])
            for key, value in old.fields.items()
            if key not in hidden and not same(value, new.fields[key])
        ]
        below = _only(*differing[0]) if len(differing) == 1 else None
        if below is None:
            return
        old, new = below


def _only(old: Value, new: Value) -> Optional[Pair]:
    if isinstance(old, Node) and isinstance(new, Node):
        return old, new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differing = [pair for pair in zip(old, new) if not same(*pair)]
        return differing[0] if len(differing) == 1 else None
    return None


def position(leaf: Leaf) -> Tuple[Optional[Node], Optional[Node]]:
    """The statements of the block before the edit that stand directly above and below a leaf; a docstring counts as none."""
    nodes, doc = statements(leaf.blocks[0]), leaf.blocks[0].fields.get("doc")
    above = nodes[leaf.first - 1] if leaf.first and nodes[leaf.first - 1] is not doc else None
    return above, (nodes[leaf.last] if leaf.last < len(nodes) else None)
