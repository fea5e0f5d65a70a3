"""What differs between two texts of a file, in pieces as small as syntax allows."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Iterator, NamedTuple, Sequence, Tuple

from patcher.engine.tree import Node, Tree, same
from patcher.text.lines import best_pairs, line_edits

Pair = Tuple[Node, Node]
"""A node before the edit, and the node after the edit that corresponds to it."""
Range = Tuple[int, int]
_ALIKE = 0.5  # two statements that share more than this part of their tokens are one that changed
_MOST_PAIRS = 10_000  # above it, statements that differ are not paired: each pair is compared
_TOKEN = re.compile(r"\w+|[^\w\s]")

_JOINT = re.compile(r"""["']\s*[A-Za-z]{0,2}["']""")  # between two literals in a row


class BlockRange(NamedTuple):
    """Where statements of a block are: the range of their indices; an empty one is a place between two."""

    block: Node
    rows: Range

    @classmethod
    def of(cls, node: Node) -> BlockRange:
        """The place of a statement."""
        assert node.parent is not None  # a statement is in a block
        at = node.parent.statements().index(node)
        return cls(node.parent, (at, at + 1))

    @property
    def neighbours(self) -> tuple[Node | None, Node | None]:
        """The statements directly above and below, None for none; a docstring does not count."""
        nodes, doc = self.block.statements(), self.block.fields.get("doc")
        first, last = self.rows
        above = nodes[first - 1] if first and nodes[first - 1] is not doc else None
        return above, (nodes[last] if last < len(nodes) else None)

    @property
    def scope(self) -> str:
        """The qualified name of the definition that holds it."""
        return scope_of(self.block)


class Difference(NamedTuple):
    """One difference.

    Attributes:
        kind: `change` (of a statement or clause), `header` (of a `def` or `class`), `run` (of a block's statements, `deleted`
            become `inserted`), or `clause` (some clauses of a statement become others).
        blocks: the blocks that hold it, before and after the edit.
        old: the range of statements of the block before the edit.
        new: the range of statements of the block after the edit.
        span: the characters of the text before the edit that are replaced.
        text: what replaces them.
        start: the offset of `text` in the text after the edit.
        pairs: of a `change` or `header` the pairs from the statement or clause down to the smallest that holds all of the
            difference; of a `clause` the statement; of a `run` none.
    """

    kind: str
    blocks: Pair
    old: Range
    new: Range
    span: Range
    text: str
    start: int
    pairs: tuple[Pair, ...] = ()

    @property
    def deleted(self) -> list[Node]:
        """The statements in the range `old`."""
        return self.blocks[0].statements()[slice(*self.old)]

    @property
    def inserted(self) -> list[Node]:
        """The statements in the range `new`."""
        return self.blocks[1].statements()[slice(*self.new)]

    @property
    def place(self) -> BlockRange:
        """Where it is before the edit."""
        return BlockRange(self.blocks[0], self.old)


def scope_of(node: Node) -> str:
    """The qualified name of the innermost definition that holds a node or is it, `<module>` for none."""
    names = [
        str(each.node("name").fields["value"])
        for each in [node, *node.ancestors()]
        if each.is_definition
    ]
    return ".".join(reversed(names)) or "<module>"


def differences(before: Tree, after: Tree) -> list[Difference]:
    """What differs between two texts of a file, in the order of the text; comments and layout are ignored."""
    return list(_Comparison(before, after).blocks(before.root, after.root))


class _Comparison:
    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after
        self.keys: dict[int, str] = {}

    def key(self, node: Node) -> str:
        if id(node) not in self.keys:
            self.keys[id(node)] = repr(node)
        return self.keys[id(node)]

    def blocks(self, old: Node, new: Node) -> Iterator[Difference]:
        one, other = old.statements(), new.statements()
        for i1, i2, j1, j2 in self.edits(one, other):
            i, j = i1, j1
            for at, to in [*self.paired(one[i1:i2], other[j1:j2]), (i2 - i1, j2 - j1)]:
                if (i, j) != (i1 + at, j1 + to):
                    yield self.run((old, new), (i, i1 + at), (j, j1 + to))
                if at < i2 - i1:
                    yield from self.statement((old, new), i1 + at, j1 + to)
                i, j = i1 + at + 1, j1 + to + 1

    def edits(
        self, one: Sequence[Node], other: Sequence[Node]
    ) -> Iterator[tuple[int, int, int, int]]:
        """`line_edits` of statements that count by their lines: of two that change places the shorter one moves."""
        texts = ((self.before, one), (self.after, other))
        sizes = {
            self.key(node): text.text.count("\n", node.start, node.end) + 1
            for text, nodes in texts
            for node in nodes
        }
        rows = [
            [(self.key(node), row) for node in nodes for row in range(sizes[self.key(node)])]
            for _, nodes in texts
        ]
        places = [
            [at for at, node in enumerate(nodes) for _ in range(sizes[self.key(node)])]
            for _, nodes in texts
        ]
        old, new = [*places[0], len(one)], [*places[1], len(other)]
        for i1, i2, j1, j2 in line_edits(*rows):
            yield old[i1], old[i2], new[j1], new[j2]

    def paired(self, deleted: Sequence[Node], inserted: Sequence[Node]) -> list[tuple[int, int]]:
        """Which of the statements that differ are one that changed: the pairing in order with the highest likeness."""
        if not deleted or not inserted or len(deleted) * len(inserted) > _MOST_PAIRS:
            return []
        if any(kept_in(node, deleted) for node in inserted) or any(
            kept_in(node, inserted) for node in deleted
        ):
            return []
        return best_pairs([[self.likeness(old, new) for new in inserted] for old in deleted])

    def likeness(self, old: Node, new: Node) -> float:
        """How much speaks for one statement being the other one, changed: 0 for nothing."""
        if old.is_compound or new.is_compound:
            if old.kind != new.kind:
                return 0.0
            if old.is_definition:
                return (
                    2.0 if same(old.fields["name"], new.fields["name"]) else self.overlap(old, new)
                )
            return (
                1.5
                if old.header() and not self.headers_differ((old, new))
                else self.overlap(old, new)
            )
        if old.kind == new.kind == "Assign" and same(old.fields["targets"], new.fields["targets"]):
            return 1.5
        if all(node.field() == "doc" for node in (old, new)):
            return 1.5
        return self.overlap(old, new)

    def overlap(self, old: Node, new: Node) -> float:
        """The part of their tokens that two statements share; 0 for less than half."""
        words = [
            _TOKEN.findall(text.text[node.start : node.end])
            for text, node in ((self.before, old), (self.after, new))
        ]
        matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
        ratio = matcher.ratio() if matcher.quick_ratio() > _ALIKE else 0.0
        return ratio if ratio > _ALIKE else 0.0

    def statement(self, blocks: Pair, i: int, j: int) -> Iterator[Difference]:
        pair = old, new = blocks[0].statements()[i], blocks[1].statements()[j]
        if old.kind != new.kind or not old.is_compound:
            yield self.change(blocks, i, j, pair)
            return
        kept = kept_bodies([old], [new])
        if [at for at, _ in kept] != sorted(at for at, _ in kept):  # they change places
            yield self.run(blocks, (i, i + 1), (j, j + 1))
            return
        if old.is_definition:
            if any(
                not same(value, new.fields[key])
                for key, value in old.fields.items()
                if key != "body"
            ):
                yield self.replaced(
                    "header",
                    blocks,
                    ((i, i + 1), (j, j + 1)),
                    self.headers(pair),
                    tuple(_descent(*pair)),
                )
        elif self.headers_differ(pair):
            yield self.change(blocks, i, j, pair)
        yield from self.bodies(pair)
        yield from self.clauses(blocks, i, j, pair)

    def bodies(self, pair: Pair) -> Iterator[Difference]:
        old, new = pair[0].fields.get("body"), pair[1].fields.get("body")
        if isinstance(old, Node) and isinstance(new, Node) and not same(old, new):
            yield from self.blocks(old, new)

    def clauses(self, blocks: Pair, i: int, j: int, pair: Pair) -> Iterator[Difference]:
        one, other = pair[0].items("clauses"), pair[1].items("clauses")
        for i1, i2, j1, j2 in line_edits(
            [self.key(clause) for clause in one], [self.key(clause) for clause in other]
        ):
            if i2 - i1 != j2 - j1 or any(
                a.kind != b.kind for a, b in zip(one[i1:i2], other[j1:j2])
            ):
                spans = (
                    _clause_gap(self.before, pair[0], (i1, i2)),
                    _clause_gap(self.after, pair[1], (j1, j2)),
                )
                yield self.replaced("clause", blocks, ((i, i + 1), (j, j + 1)), spans, (pair,))
                continue
            for clause in zip(one[i1:i2], other[j1:j2]):
                if self.headers_differ(clause):
                    yield self.change(blocks, i, j, clause)
                yield from self.bodies(clause)

    # what is replaced by what ---------------------------------------------------------------------------------------------
    def change(self, blocks: Pair, i: int, j: int, pair: Pair) -> Difference:
        pairs = tuple(_descent(*pair))
        if self.is_joined(pairs[-1]):
            pairs = pairs[:-1]
        old, new = pairs[-1]
        spans = (old.outer_start, old.outer_end), (new.outer_start, new.outer_end)
        spans = self.headers(pairs[-1]) if old.has_body else spans
        return self.replaced("change", blocks, ((i, i + 1), (j, j + 1)), spans, pairs)

    def is_joined(self, pair: Pair) -> bool:
        """Whether a piece of text of an f-string goes on in another literal, so that it is no text by itself."""
        sides = zip((self.before, self.after), pair)
        return pair[0].kind == "FText" and any(
            _JOINT.search(text.text, node.start, node.end) for text, node in sides
        )

    def run(self, blocks: Pair, old: Range, new: Range) -> Difference:
        spans = (
            _gap(self.before, blocks[0].statements(), old),
            _gap(self.after, blocks[1].statements(), new),
        )
        # what was above the deleted code is now above the code below
        if new[0] == new[1] == len(blocks[1].statements()):
            rests = [
                text.text[span[1] : text.code_from(span[1])]
                for text, span in zip((self.before, self.after), spans)
            ]
            kept = len(rests[1]) - len(rests[0]) if rests[1].endswith(rests[0]) else 0
            spans = spans[0], (spans[1][0], spans[1][1] + kept)
        return self.replaced("run", blocks, (old, new), spans, ())

    def replaced(
        self,
        kind: str,
        blocks: Pair,
        rows: tuple[Range, Range],
        spans: tuple[Range, Range],
        pairs: tuple[Pair, ...],
    ) -> Difference:
        return Difference(
            kind, blocks, *rows, spans[0], self.after.text[slice(*spans[1])], spans[1][0], pairs
        )

    def headers(self, pair: Pair) -> tuple[Range, Range]:
        old, new = pair
        return (old.begin, self.before.header_end(old)), (new.begin, self.after.header_end(new))

    def headers_differ(self, pair: Pair) -> bool:
        return [self.key(part) for part in pair[0].header()] != [
            self.key(part) for part in pair[1].header()
        ]


def apply_differences(text: str, found: Sequence[Difference]) -> str:
    """A text with these of its differences alone."""
    for each in sorted(found, key=lambda each: each.span, reverse=True):
        text = text[: each.span[0]] + each.text + text[each.span[1] :]
    return text


def unbroken(found: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    """The differences, with those together that are one run of lines: statements that became more, or fewer.

    Args:
        found: the differences, in the order of the text.
    """
    groups: list[list[Difference]] = []
    for each in found:
        if groups and _touch(groups[-1][-1], each):
            groups[-1].append(each)
        else:
            groups.append([each])
    runs = [any(each.kind == "run" for each in group) for group in groups]
    together: list[tuple[Difference, ...]] = []
    for group, has_run in zip(groups, runs):
        together += [tuple(group)] if has_run else [(each,) for each in group]
    return together


def _touch(above: Difference, below: Difference) -> bool:
    """Whether no code is between two differences of statements of one block."""
    if above.blocks[0] is not below.blocks[0] or above.kind not in ("run", "change"):
        return False
    if below.kind not in ("run", "change") or above.old[1] != below.old[0]:
        return False
    is_open = above.kind == "change" and above.deleted[0].is_compound  # its body is in between
    in_clause = below.kind == "change" and below.pairs[0][0].is_clause
    return not is_open and not in_clause


def kept_in(node: Node, kept: Sequence[Node]) -> list[Node] | None:
    """The statements in a block of the compound statement `node` that equal `kept`; None where no block holds them."""
    keys = [repr(each) for each in kept]
    if not node.is_compound or not kept:
        return None
    for owner in [node, *node.items("clauses")]:
        body = owner.fields.get("body")
        inner = body.statements() if isinstance(body, Node) else []
        for start in range(len(inner) - len(keys) + 1):
            if [repr(each) for each in inner[start : start + len(keys)]] == keys:
                return inner[start : start + len(keys)]
    return None


def kept_bodies(deleted: Sequence[Node], inserted: Sequence[Node]) -> list[tuple[int, Pair]]:
    """The bodies of compound statements that others have below other headers, in the order of those, each with its number.

    Only where there are several, and no two of them are equal.
    """
    sides = [
        [node for node in nodes if node.is_compound and not node.is_definition]
        for nodes in (deleted, inserted)
    ]
    old, new = (
        [part.node("body") for node in nodes for part in (node, *node.items("clauses"))]
        for nodes in sides
    )
    pairs = [
        (at, (body, other)) for other in new for at, body in enumerate(old) if same(body, other)
    ]
    is_clear = (
        len({at for at, _ in pairs}) == len({other for _, (_, other) in pairs}) == len(pairs) > 1
    )
    return pairs if is_clear else []


def _descent(old: Node, new: Node) -> Iterator[Pair]:
    """The pairs from two nodes down to the smallest that hold all of the difference."""
    while True:
        yield old, new
        if old.kind != new.kind or old.kind == "String":
            return
        hidden = ("body", "clauses") if old.has_body else ()
        differing = [
            (value, new.fields[key])
            for key, value in old.fields.items()
            if key not in hidden and not same(value, new.fields[key])
        ]
        below = _only(*differing[0]) if len(differing) == 1 else None
        if below is None:
            return
        old, new = below


def _only(old: object, new: object) -> Pair | None:
    """The one pair of nodes that differs between two values of a field; None where there is none, or several."""
    if isinstance(old, Node) and isinstance(new, Node):
        return old, new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differing = [pair for pair in zip(old, new) if not same(*pair)]
        return differing[0] if len(differing) == 1 else None
    return None


# which part of the text belongs to statements and clauses --------------------------------------------------------------
def _gap(text: Tree, nodes: Sequence[Node], at: Range) -> Range:
    """The range from the code above some statements of a block to the statement below them, or to the end of their line.

    Args:
        text: the text of the file.
        nodes: all statements of the block.
        at: which of them, as a half-open range; an empty one is a place between two.
    """
    first, last = at
    if not nodes:
        return 0, len(text.text)
    start = nodes[first - 1].outer_end if first else text.code_before(nodes[0].begin)
    return start, nodes[last].begin if last < len(nodes) else _line_end(text, nodes[-1].outer_end)


def _clause_gap(text: Tree, node: Node, at: Range) -> Range:
    """`_gap` for the clauses of a statement."""
    clauses = node.items("clauses")
    start = clauses[at[0] - 1].outer_end if at[0] else node.node("body").statements()[-1].outer_end
    last = clauses[-1].outer_end if clauses else start
    return start, clauses[at[1]].start if at[1] < len(clauses) else _line_end(text, last)


def _line_end(text: Tree, offset: int) -> int:
    """The end of an offset's line, without its line break: what follows belongs to no statement."""
    end = text.lines.end(offset)
    return offset + len(text.text[offset:end].rstrip("\r\n"))
