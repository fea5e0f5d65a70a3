"""What differs between two texts of a file, in pieces as small as syntax allows."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Iterator, Sequence, Tuple

from patcher.engine.tree import Node, Tree, same
from patcher.record import Record
from patcher.text.lines import best_pairs, line_edits

Pair = Tuple[Node, Node]
"""A node before the edit, and the node after the edit that corresponds to it."""
Range = Tuple[int, int]
_ALIKE = 0.5  # two statements that share more than this part of their tokens are one that changed
_MOST_PAIRS = 10_000  # above it, statements that differ are not paired: each pair is compared
_DEFINED = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
_TOKEN = re.compile(r"\w+|[^\w\s]")

_QUOTE = re.compile(r"""["']""")


class BlockRange(Record):
    """Statements of a block: `rows` is the range of their indices.

    An empty range is the place between two statements.
    """

    block: Node
    rows: Range

    @classmethod
    def of(cls, node: Node) -> BlockRange:
        """The place of a statement."""
        assert node.parent is not None  # a statement is in a block
        at = node.parent.statements().index(node)
        return cls(node.parent, (at, at + 1))

    @property
    def statements(self) -> list[Node]:
        """The statements in the range."""
        return self.block.statements()[slice(*self.rows)]

    @property
    def neighbours(self) -> tuple[Node | None, Node | None]:
        """The statements directly above and below, None for none; a docstring does not count."""
        nodes = self.block.statements()
        first, last = self.rows
        above = nodes[first - 1] if first else None
        is_docstring = first == 1 and self.block.parent is None and nodes[0].is_text
        if is_docstring or above is self.block.fields.get("doc"):
            above = None
        below = nodes[last] if last < len(nodes) else None
        return above, below

    @property
    def scope(self) -> str:
        """The qualified name of the definition that holds it."""
        return scope_of(self.block)


class Difference(Record):
    """One difference.

    Attributes:
        kind: `change` (of a statement or clause), `header` (of a `def` or `class`), `run` (of a
            block's statements, `deleted` become `inserted`), `clause` (some clauses of a statement
            become others), or `branches` (an `if` gets branches ahead of its own).
        before: the statements that differ, in the text before the edit.
        after: the same in the text after the edit.
        span: the characters of the text before the edit that are replaced.
        text: what replaces them.
        start: the offset of `text` in the text after the edit.
        pairs: of a `change` or `header` the pairs from the statement or clause down to the smallest
            that holds all of the difference; of a `clause` or of `branches` the statement, and,
            where branches come ahead, it with the clause that its first branch is after the edit;
            of a `run` none.
    """

    kind: str
    before: BlockRange
    after: BlockRange
    span: Range
    text: str
    start: int
    pairs: tuple[Pair, ...] = ()

    @property
    def deleted(self) -> list[Node]:
        """The statements before the edit."""
        return self.before.statements

    @property
    def inserted(self) -> list[Node]:
        """The statements after the edit."""
        return self.after.statements


def scope_of(node: Node) -> str:
    """The qualified name of the innermost definition that holds a node or is it.

    `<module>` where there is none.
    """
    names: list[str] = []
    for owner in [node, *node.ancestors()]:
        if owner.is_definition:
            names.insert(0, str(owner.node("name").fields["value"]))
    return ".".join(names) or "<module>"


def differences(before: Tree, after: Tree) -> list[Difference]:
    """What differs between two texts of a file, in the order of the text.

    Comments and layout are ignored.
    """
    return list(_Comparison(before, after).blocks(before.root, after.root))


class _Comparison:
    """Compares two texts: each method yields the differences between two corresponding nodes."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.before, self.after = before, after
        self.keys: dict[int, str] = {}

    def key(self, node: Node) -> str:
        """A text that two nodes share if they are the same code."""
        if id(node) not in self.keys:
            self.keys[id(node)] = repr(node)
        return self.keys[id(node)]

    def blocks(self, old: Node, new: Node) -> Iterator[Difference]:
        old_nodes, new_nodes = old.statements(), new.statements()
        self.take_unchanged(old_nodes, new_nodes)
        for i1, i2, j1, j2 in self.edits(old_nodes, new_nodes):
            i, j = i1, j1
            for old_offset, new_offset in self.paired(old_nodes[i1:i2], new_nodes[j1:j2]):
                at, to = i1 + old_offset, j1 + new_offset
                if (i, j) != (at, to):
                    yield self.run(BlockRange(old, (i, at)), BlockRange(new, (j, to)))
                yield from self.statement((old, new), at, to)
                i, j = at + 1, to + 1
            if (i, j) != (i2, j2):
                yield self.run(BlockRange(old, (i, i2)), BlockRange(new, (j, j2)))

    def take_unchanged(self, old_nodes: Sequence[Node], new_nodes: Sequence[Node]) -> None:
        """Give definitions their keys without a look into those whose text stays.

        Of a name that both blocks define once, only these two can be the same.
        """
        old_names, new_names = _named(self.before, old_nodes), _named(self.after, new_nodes)
        for name, nodes in old_names.items():
            others = new_names.get(name, [])
            if len(nodes) > 1 or len(others) > 1:
                continue
            old_key = new_key = f"{name}@before"
            if others and not self.unchanged(nodes[0], others[0]):
                new_key = f"{name}@after"
            self.keys.update({id(node): old_key for node in nodes})
            self.keys.update({id(node): new_key for node in others})

    # which statements correspond ----------------------------------------------------------------
    def edits(self, one: Sequence[Node], other: Sequence[Node]) -> list[tuple[int, int, int, int]]:
        """`line_edits` of statements that count by their lines.

        So of two statements that change places the shorter one moves, also where the longer one
        changes besides.
        """
        found = self.statement_edits(one, other)
        crossed = self.crossed(found, one, other)
        if not crossed:
            return found

        found = self.statement_edits(one, other, crossed)
        for old_at, new_at in crossed:
            if not any(i1 <= old_at < i2 or j1 <= new_at < j2 for i1, i2, j1, j2 in found):
                found.append((old_at, old_at + 1, new_at, new_at + 1))
        return sorted(found)

    def statement_edits(
        self,
        one: Sequence[Node],
        other: Sequence[Node],
        changed: Sequence[tuple[int, int]] = (),
    ) -> list[tuple[int, int, int, int]]:
        """`line_edits` of statements by their keys.

        Those that `changed` are one statement here, and count by the lines that both have.
        """
        old_keys, new_keys = list(map(self.key, one)), list(map(self.key, other))
        sizes: dict[str, int] = {}
        for text, nodes in ((self.before, one), (self.after, other)):
            for node in nodes:
                sizes[self.key(node)] = text.text.count("\n", node.start, node.end) + 1
        for old_at, new_at in changed:
            new_keys[new_at] = old_keys[old_at]
            sizes[old_keys[old_at]] = self.common_lines(one[old_at], other[new_at])

        old_rows, old = _rows(old_keys, sizes)
        new_rows, new = _rows(new_keys, sizes)
        found: list[tuple[int, int, int, int]] = []
        for i1, i2, j1, j2 in line_edits(old_rows, new_rows):
            found.append((old[i1], old[i2], new[j1], new[j2]))
        return found

    def crossed(
        self,
        found: Sequence[tuple[int, int, int, int]],
        one: Sequence[Node],
        other: Sequence[Node],
    ) -> list[tuple[int, int]]:
        """Compound statements that go in one edit and come in another one.

        Only those whose header no other statement of these has.
        """
        gone, came = self.by_header(one), self.by_header(other)
        crossed: list[tuple[int, int]] = []
        for header, places in gone.items():
            new_places = came.get(header, [])
            if len(places) != 1 or len(new_places) != 1:
                continue
            (old_at,), (new_at,) = places, new_places
            goes = [edit for edit in found if edit[0] <= old_at < edit[1]]
            comes = [edit for edit in found if edit[2] <= new_at < edit[3]]
            if goes and comes and goes != comes:  # those of one edit are paired anyhow
                crossed.append((old_at, new_at))
        return crossed

    def by_header(self, nodes: Sequence[Node]) -> dict[str, list[int]]:
        """The indices of the compound statements among these, by their headers."""
        found: dict[str, list[int]] = {}
        for index, node in enumerate(nodes):
            header = [node.node("name")] if node.is_definition else node.header()
            if node.is_compound and header:
                key = " ".join([node.kind, *map(self.key, header)])
                found.setdefault(key, []).append(index)
        return found

    def common_lines(self, old: Node, new: Node) -> int:
        """How many lines two statements have in common, in order; at least 1."""
        old_lines = _stripped(self.before.text[old.start : old.end])
        new_lines = _stripped(self.after.text[new.start : new.end])
        differ = sum(i2 - i1 for i1, i2, _, _ in line_edits(old_lines, new_lines))
        return max(1, len(old_lines) - differ)

    def paired(self, deleted: Sequence[Node], inserted: Sequence[Node]) -> list[tuple[int, int]]:
        """Which of the statements that differ are one that changed.

        It is the pairing in order with the highest likeness.
        """
        if not deleted or not inserted or len(deleted) * len(inserted) > _MOST_PAIRS:
            return []
        for node in inserted:
            if kept_in(node, deleted):
                return []
        for node in deleted:
            if kept_in(node, inserted):
                return []

        likeness: list[list[float]] = []
        for old in deleted:
            likeness.append([self.likeness(old, new) for new in inserted])
        return best_pairs(likeness)

    def likeness(self, old: Node, new: Node) -> float:
        """How much speaks for one statement being the other one, changed: 0 for nothing."""
        if old.is_compound or new.is_compound:
            return self.likeness_of_compound(old, new)
        if old.kind == new.kind == "Assign" and same(old.fields["targets"], new.fields["targets"]):
            return 1.5
        if old.field() == "doc" and new.field() == "doc":
            return 1.5
        return self.overlap(old, new)

    def likeness_of_compound(self, old: Node, new: Node) -> float:
        if old.kind != new.kind:
            return 0.0
        if old.is_definition:
            if same(old.fields["name"], new.fields["name"]):
                return 2.0
        elif old.header() and not self.headers_differ((old, new)):
            return 1.5
        return self.overlap(old, new)

    def overlap(self, old: Node, new: Node) -> float:
        """The part of their tokens that two statements share; 0 for half or less."""
        old_words = _TOKEN.findall(self.before.text[old.start : old.end])
        new_words = _TOKEN.findall(self.after.text[new.start : new.end])
        matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
        if matcher.quick_ratio() <= _ALIKE:
            return 0.0
        ratio = matcher.ratio()
        return ratio if ratio > _ALIKE else 0.0

    # what differs between two statements --------------------------------------------------------
    def statement(self, blocks: Pair, i: int, j: int) -> Iterator[Difference]:
        before, after = BlockRange(blocks[0], (i, i + 1)), BlockRange(blocks[1], (j, j + 1))
        pair = old, new = blocks[0].statements()[i], blocks[1].statements()[j]
        if old.kind != new.kind or not old.is_compound:
            yield self.change(before, after, pair)
            return

        kept = [at for at, _ in kept_bodies([old], [new])]
        if kept != sorted(kept):  # they change places
            yield self.run(before, after)
            return

        if old.is_definition:
            if differing_fields(old, new, hidden=("body",)):
                spans = self.headers(pair)
                yield self.replaced("header", before, after, spans=spans, pairs=_descent(pair))
        elif self.headers_differ(pair):
            more = self.branches_ahead(pair)
            if more:
                yield from self.branches(before, after, pair, more=more)
                return
            yield self.change(before, after, pair)
        yield from self.bodies(pair)
        yield from self.clauses(before, after, pair)

    def branches_ahead(self, pair: Pair) -> int:
        """How many branches come ahead of those of an `if`, 0 where it is not that."""
        old, new = pair
        if old.kind != "If":
            return 0
        for number, clause in enumerate(new.items("clauses"), 1):
            if clause.kind == "Elif" and not self.headers_differ((old, clause)):
                return number if self.unchanged(old.node("body"), clause.node("body")) else 0
        return 0

    def branches(
        self, before: BlockRange, after: BlockRange, pair: Pair, *, more: int
    ) -> Iterator[Difference]:
        """Branches that come ahead of those of an `if`, and what differs in the others."""
        old, new = pair
        first = new.items("clauses")[more - 1]
        spans = self.headers((old, first))
        spans = (spans[0], (new.begin, spans[1][1]))
        yield self.replaced("branches", before, after, spans=spans, pairs=(pair, (old, first)))
        yield from self.clauses(before, after, pair, more=more)

    def bodies(self, pair: Pair) -> Iterator[Difference]:
        old, new = pair[0].fields.get("body"), pair[1].fields.get("body")
        if isinstance(old, Node) and isinstance(new, Node) and not self.unchanged(old, new):
            yield from self.blocks(old, new)

    def unchanged(self, old: Node, new: Node) -> bool:
        """Whether two blocks or statements are the same, without a look into the same text."""
        if self.before.text[old.begin : old.end] == self.after.text[new.begin : new.end]:
            return True
        if old.kind == new.kind == "ClassDef" and not differing_fields(old, new, hidden=["body"]):
            old, new = old.node("body"), new.node("body")
        if old.kind != "Block" or new.kind != "Block":
            return same(old, new)
        one, other = old.statements(), new.statements()
        if len(one) != len(other) or bool(old.fields["doc"]) != bool(new.fields["doc"]):
            return False
        return all(map(self.unchanged, one, other))

    def clauses(
        self, before: BlockRange, after: BlockRange, pair: Pair, *, more: int = 0
    ) -> Iterator[Difference]:
        """The differences of clauses; `more` are ahead of them after the edit."""
        old_clauses, new_clauses = pair[0].items("clauses"), pair[1].items("clauses")[more:]
        old_keys, new_keys = list(map(self.key, old_clauses)), list(map(self.key, new_clauses))
        for i1, i2, j1, j2 in line_edits(old_keys, new_keys):
            old, new = old_clauses[i1:i2], new_clauses[j1:j2]
            if [clause.kind for clause in old] != [clause.kind for clause in new]:
                old_span = _clause_gap(self.before, pair[0], rows=(i1, i2))
                new_span = _clause_gap(self.after, pair[1], rows=(j1 + more, j2 + more))
                pairs = [pair]
                if more:
                    pairs.append((pair[0], pair[1].items("clauses")[more - 1]))
                spans = (old_span, new_span)
                yield self.replaced("clause", before, after, spans=spans, pairs=tuple(pairs))
                continue
            for clauses in zip(old, new):
                if self.headers_differ(clauses):
                    yield self.change(before, after, clauses)
                yield from self.bodies(clauses)

    # what is replaced by what -------------------------------------------------------------------
    def change(self, before: BlockRange, after: BlockRange, pair: Pair) -> Difference:
        pairs = _descent(pair)
        if self.is_joined(pairs[-1]):
            pairs = pairs[:-1]
        old, new = pairs[-1]
        if old.has_body:
            spans = self.headers(pairs[-1])
        else:
            spans = (old.outer_start, old.outer_end), (new.outer_start, new.outer_end)
        return self.replaced("change", before, after, spans=spans, pairs=pairs)

    def is_joined(self, pair: Pair) -> bool:
        """Whether a piece of text of an f-string is no text by itself.

        It may be, or have a part of, another literal: it has quotes then. Or its escapes are those
        of another prefix.
        """
        old, new = pair
        if old.kind != "FText":
            return False
        if old.fields.get("escape") != new.fields.get("escape"):
            return True
        in_old = _QUOTE.search(self.before.text, old.start, old.end)
        return bool(in_old or _QUOTE.search(self.after.text, new.start, new.end))

    def run(self, before: BlockRange, after: BlockRange) -> Difference:
        old_span = _gap(self.before, before)
        new_span = _gap(self.after, after)
        # what was above the deleted code is now above the code below
        first, last = after.rows
        if first == last == len(after.block.statements()):
            start, end = new_span
            old_rest = self.before.text[old_span[1] : self.before.code_from(old_span[1])]
            new_rest = self.after.text[end : self.after.code_from(end)]
            if new_rest.endswith(old_rest):
                new_span = start, end + len(new_rest) - len(old_rest)
        return self.replaced("run", before, after, spans=(old_span, new_span), pairs=())

    def replaced(
        self,
        kind: str,
        before: BlockRange,
        after: BlockRange,
        *,
        spans: tuple[Range, Range],
        pairs: tuple[Pair, ...],
    ) -> Difference:
        span, (start, end) = spans
        return Difference(
            kind=kind,
            before=before,
            after=after,
            span=span,
            text=self.after.text[start:end],
            start=start,
            pairs=pairs,
        )

    def headers(self, pair: Pair) -> tuple[Range, Range]:
        """Where the headers of two statements are."""
        old, new = pair
        return (old.begin, self.before.header_end(old)), (new.begin, self.after.header_end(new))

    def headers_differ(self, pair: Pair) -> bool:
        old, new = pair
        return list(map(self.key, old.header())) != list(map(self.key, new.header()))


def _named(text: Tree, nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """The definitions among statements by their names."""
    named: dict[str, list[Node]] = {}
    for node in nodes:
        if node.is_definition:
            match = _DEFINED.match(text.text, node.start)
            named.setdefault(match.group(1) if match else "", []).append(node)
    return named


def apply_differences(text: str, found: Sequence[Difference]) -> str:
    """A text with these of its differences alone."""
    in_order = sorted(found, key=lambda each: each.span)
    for difference in reversed(in_order):  # so two that are inserted at one place keep their order
        start, end = difference.span
        text = text[:start] + difference.text + text[end:]
    return text


def unbroken(found: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    """The differences, with those together that are one run of lines.

    Such a run is of statements that became more, or fewer.

    Args:
        found: the differences, in the order of the text.
    """
    touching: list[list[Difference]] = []
    for difference in found:
        if touching and _touch(touching[-1][-1], difference):
            touching[-1].append(difference)
        else:
            touching.append([difference])

    groups: list[tuple[Difference, ...]] = []
    for group in touching:
        if any(difference.kind == "run" for difference in group):
            groups.append(tuple(group))
        else:
            groups += [(difference,) for difference in group]
    return groups


def _touch(above: Difference, below: Difference) -> bool:
    """Whether no code is between two differences of statements of one block."""
    if above.before.block is not below.before.block:
        return False
    if above.kind not in ("run", "change") or below.kind not in ("run", "change"):
        return False
    if above.before.rows[1] != below.before.rows[0]:
        return False
    if above.kind == "change" and above.deleted[0].is_compound:  # its body is in between
        return False
    if above.kind == "change" and above.deleted[0].field() == "doc":
        return False  # releases write docstrings in different ways
    return not (below.kind == "change" and below.pairs[0][0].is_clause)


def kept_in(node: Node, kept: Sequence[Node]) -> list[Node] | None:
    """The statements in a block of the compound statement `node` that equal `kept`.

    None where no block holds them.
    """
    if not node.is_compound or not kept:
        return None
    kinds = [each.kind for each in kept]
    for owner in [node, *node.items("clauses")]:
        body = owner.fields.get("body")
        inner = body.statements() if isinstance(body, Node) else []
        for start in range(len(inner) - len(kept) + 1):
            run = inner[start : start + len(kept)]
            if [each.kind for each in run] != kinds:
                continue
            if list(map(repr, run)) == list(map(repr, kept)):
                return run
    return None


def kept_bodies(deleted: Sequence[Node], inserted: Sequence[Node]) -> list[tuple[int, Pair]]:
    """The bodies of compound statements that others have below other headers.

    They are in the order of those others, each with its number among the deleted ones. Only where
    there are several, and no two of them are equal.
    """
    old = bodies(deleted)
    pairs: list[tuple[int, Pair]] = []
    for new_body in bodies(inserted):
        for number, old_body in enumerate(old):
            if same(old_body, new_body):
                pairs.append((number, (old_body, new_body)))

    numbers = {number for number, _ in pairs}
    new_bodies = {new_body for _, (_, new_body) in pairs}
    is_clear = len(numbers) == len(new_bodies) == len(pairs) > 1
    return pairs if is_clear else []


def bodies(statements: Sequence[Node]) -> list[Node]:
    """The bodies of compound statements and their clauses, without those of definitions."""
    found: list[Node] = []
    for node in statements:
        if node.is_compound and not node.is_definition:
            for part in (node, *node.items("clauses")):
                found.append(part.node("body"))
    return found


def differing_fields(old: Node, new: Node, hidden: Sequence[str] = ()) -> list[str]:
    """The fields in which two nodes of one kind differ, but for those that are `hidden`."""
    differing: list[str] = []
    for key, value in old.fields.items():
        if key not in hidden and not same(value, new.fields[key]):
            differing.append(key)
    return differing


def _descent(pair: Pair) -> tuple[Pair, ...]:
    """The pairs from two nodes down to the smallest that hold all of the difference."""
    pairs = [pair]
    while True:
        old, new = pairs[-1]
        if old.kind != new.kind or old.kind in ("String", "FText"):
            return tuple(pairs)
        hidden = ("body", "clauses") if old.has_body else ()
        keys = differing_fields(old, new, hidden=hidden)
        below = _only(old.fields[keys[0]], new.fields[keys[0]]) if len(keys) == 1 else None
        if below is None:
            return tuple(pairs)
        pairs.append(below)


def _only(old: object, new: object) -> Pair | None:
    """The one pair of nodes that differs between two values of a field.

    None where there is none, or where there are several.
    """
    if isinstance(old, Node) and isinstance(new, Node):
        return old, new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differing = [pair for pair in zip(old, new) if not same(*pair)]
        return differing[0] if len(differing) == 1 else None
    return None


def _rows(keys: Sequence[str], sizes: dict[str, int]) -> tuple[list[tuple[str, int]], list[int]]:
    """A row for each line of the statements with these keys, and of each row the statement's index.

    The second list has one element more: the number of statements.
    """
    rows: list[tuple[str, int]] = []
    places: list[int] = []
    for index, key in enumerate(keys):
        for row in range(sizes[key]):
            rows.append((key, row))
            places.append(index)
    places.append(len(keys))
    return rows, places


def _stripped(text: str) -> list[str]:
    """The lines of a text without their indentation."""
    return list(map(str.strip, text.splitlines()))


# which part of the text belongs to statements and clauses ---------------------------------------
def _gap(text: Tree, place: BlockRange) -> Range:
    """The characters from the code above some statements of a block to the statement below them.

    Up to the end of their line where no statement is below.
    """
    nodes = place.block.statements()
    first, last = place.rows
    if not nodes:
        return 0, len(text.text)
    start = nodes[first - 1].outer_end if first else text.code_before(nodes[0].begin)
    end = nodes[last].begin if last < len(nodes) else _line_end(text, nodes[-1].outer_end)
    return start, end


def _clause_gap(text: Tree, node: Node, rows: Range) -> Range:
    """`_gap` for the clauses of a statement."""
    clauses = node.items("clauses")
    first, last = rows
    start = node.node("body").statements()[-1].outer_end
    if first:
        start = clauses[first - 1].outer_end
    if last < len(clauses):
        return start, clauses[last].start
    return start, _line_end(text, clauses[-1].outer_end if clauses else start)


def _line_end(text: Tree, offset: int) -> int:
    """The end of an offset's line, without its line break: what follows belongs to no statement."""
    end = text.lines.end(offset)
    return offset + len(text.text[offset:end].rstrip("\r\n"))
