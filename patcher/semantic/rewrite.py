"""Before side, after side and one way of matching -> the smallest list of edits (format rules 11 to 20).

A node on both sides keeps its own bytes: the two sides are aligned first, and only what differs is written. What cannot be
done safely at a place is a `Conflict`, never a guess.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.semantic.lex import find_outside
from patcher.semantic.match import Place, Way, same
from patcher.semantic.pattern import Hunk, blank_between
from patcher.semantic.render import Edit, Renderer, alone_on_lines, begin, needed
from patcher.semantic.source import Source
from patcher.semantic.tree import CLAUSES, COMPOUND, NOT_EXPRESSIONS, STATEMENTS, Node, header_end

_BY_LINE = STATEMENTS | CLAUSES | {"Decorator"}
_SEPARATED = frozenset(["args", "elements", "params", "names", "items"])


class Conflict(Exception):
    """The change could not be made safely at this place."""


class _Whole(Exception):
    """A difference that only replacing the whole node can make."""


class _Gap(NamedTuple):
    """What an alignment leaves between two kept neighbours: nodes that go and nodes that come."""

    above: Optional[Tuple[Node, Node]]
    gone: List[Node]
    come: List[Node]
    below: Optional[Tuple[Node, Node]]


class Rewriter:
    """Collects the edits for one way of one place."""

    def __init__(self, source: Source, hunk: Hunk, place: Place, way: Way) -> None:
        self.source, self.hunk, self.place, self.way = source, hunk, place, way
        self.text, self.lines = source.text, source.lines
        self.render = Renderer(source, hunk, way)
        self.edits: List[Edit] = []
        self._gone: List[Node] = []

    def run(self) -> List[Edit]:
        """The edits, sorted by place; those at one place in the order of the hunk.

        Raises:
            Conflict: the change cannot be made safely here.
        """
        before, after = self.hunk.before.nodes, self.hunk.after.nodes
        if self.hunk.form == "expression":
            self._change(before[0], after[0])
        else:
            siblings = self.place.siblings
            parent = siblings[0].parent if siblings else None
            self._lines(before, after, siblings, parent)
        for node in self._gone:
            self._check_written(node)
        return sorted(self.edits, key=lambda edit: (edit.start, edit.end))

    def _code(self, pattern: Node) -> Node:
        found = self.way.nodes[id(pattern)]
        assert isinstance(found, Node)
        return found

    def _codes(self, pattern: Node) -> List[Node]:
        found = self.way.nodes[id(pattern)]
        return found if isinstance(found, list) else [found]

    # one node ---------------------------------------------------------------------------------------------------------
    def _change(self, before: Node, after: Node) -> None:
        if same(before, after):
            return
        done = len(self.edits)
        try:
            if before.role or after.role or before.kind != after.kind:
                raise _Whole
            self._fields(before, after)
        except _Whole:
            del self.edits[done:]
            self._replace(before, after)

    def _fields(self, before: Node, after: Node) -> None:
        code = self._code(before)
        children = False
        for key, old in before.fields.items():
            new = after.fields[key]
            if same(old, new):
                children = children or isinstance(old, (Node, list))
            elif key in ("decorators", "clauses") and isinstance(old, list) and isinstance(new, list):
                self._lines(old, new, code.items(key), code)
            elif isinstance(old, Node) and isinstance(new, Node):
                if old.kind == "Block":
                    self._block(old, new, code.node(key))
                else:
                    self._change(old, new)
            elif isinstance(old, list) and isinstance(new, list) and key in _SEPARATED:
                self._list(old, new, code, key)
            elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
                for one, other in zip(old, new):
                    self._change(one, other)
            elif not self._optional_part(code, key, new if isinstance(new, Node) else None):
                raise _Whole
        if before.kind in ("Attribute", "Call", "Subscript", "BinaryOperation") and not self._shares(before, after):
            raise _Whole

    def _shares(self, before: Node, after: Node) -> bool:
        return any(same(old, after.fields[key]) and old for key, old in before.fields.items())

    def _block(self, before: Node, after: Node, code: Node) -> None:
        if not same(before.fields.get("doc"), after.fields.get("doc")):
            raise Conflict("a docstring is changed as a statement of its own: write it without the header")
        self._lines(before.items("body"), after.items("body"), code.items("body"), code)

    def _optional_part(self, code: Node, key: str, new: Optional[Node]) -> bool:
        """Add or remove a default, an annotation or a return annotation, leaving the rest of the node alone."""
        old = code.fields.get(key)
        if key == "default" and code.kind == "Param":
            start = max(part.outer_end for part in (code.fields["name"], code.fields["annotation"]) if isinstance(part, Node))
            prefix = " = " if code.fields["annotation"] else "="
        elif key == "annotation" and code.kind in ("Param", "Assign"):
            targets = code.items("targets")
            start = targets[0].outer_end if targets else code.node("name").outer_end
            prefix = ": "
        elif key == "returns":
            params = code.node("params").items("params")
            begin = params[-1].outer_end if params else find_outside(self.text, code.node("name").end, "(")
            start, prefix = find_outside(self.text, begin, ")") + 1, " -> "
        else:
            return False
        end = old.outer_end if isinstance(old, Node) else start
        self.edits.append(Edit(start, end, prefix + self.render.expression(new) if new is not None else ""))
        return True

    def _replace(self, before: Node, after: Node) -> None:
        code = self._code(before)
        if before.kind in COMPOUND | CLAUSES:
            self._replace_header(before, after, code)
            return
        self._gone.append(before)
        text = self.render.expression(after)
        is_expression = after.kind not in NOT_EXPRESSIONS or (after.role == "meta" and after.kind == "Name")
        if is_expression and code.outer_start == code.start and self.render.binds(after) < needed(code):
            text = f"({text})"
        self.edits.append(Edit(code.start, code.end, text))

    def _replace_header(self, before: Node, after: Node, code: Node) -> None:
        """The header of a compound statement is written anew; its decorators, body and clauses stay what they are."""
        for node in (child for key, child in _header(before)):
            self._check_written(node)
        self._check_optional(before, code, header_only=True)
        start, stop = after.start, header_end(after, self.hunk.after.text)
        end = header_end(code, self.text)
        header = Node(after.kind, (start, start, stop, stop), **{key: [child] for key, child in _header(after)})
        self.edits.append(Edit(code.start, end, self.render.part(header)))
        for key in ("decorators", "clauses"):
            if not same(before.items(key), after.items(key)):
                self._lines(before.items(key), after.items(key), code.items(key), code)
        self._block(before.node("body"), after.node("body"), code.node("body"))

    # what goes away ---------------------------------------------------------------------------------------------------
    def _check_written(self, before: Node) -> None:
        """A node that goes away must have no part that the pattern does not write (rule 12)."""
        if before.role or id(before) in self.render.kept:
            return
        code = self.way.nodes.get(id(before))
        if isinstance(code, Node):
            self._check_optional(before, code)
        for child in before.children():
            self._check_written(child)

    def _check_optional(self, before: Node, code: Node, *, header_only: bool = False) -> None:
        for key, value in code.fields.items():
            written = before.fields.get(key)
            hidden = False
            if key in ("returns", "annotation", "type_parameters"):
                hidden = bool(value) and not written
            elif key == "doc" and value and not written:
                body = before.items("body")
                hidden = not (body and body[0].role == "run")
            elif key in ("decorators", "clauses") and not header_only and isinstance(value, list):
                hidden = len(value) > len([node for node in before.items(key) if node.role != "run"])
            elif key == "args" and code.kind == "ClassDef":
                hidden = bool(value) and not written
            if hidden:
                what = {"doc": "docstring", "args": "base class", "type_parameters": "type parameter"}.get(key, key)
                line = self.lines.number(code.start)
                raise Conflict(f"line {line} would go away with a part that the hunk does not mention ({what.rstrip('s')})")

    # statements, clauses, decorators ----------------------------------------------------------------------------------
    def _lines(self, before: List[Node], after: List[Node], siblings: List[Node], parent: Optional[Node]) -> None:
        """Align two lists of nodes that have lines of their own, and edit those lines."""
        pairs, gaps = self._align(before, after)
        for old, new in pairs:
            if old.role != "run":
                self._comments(old, new)
                self._change(old, new)
        gone = [code for gap in gaps for node in gap.gone for code in self._codes(node)]
        empties = bool(siblings) and len(gone) == len(siblings) and not any(gap.come for gap in gaps)
        for gap in gaps:
            if gap.gone and gap.come:
                self._swap(gap)
            elif gap.gone:
                for node in gap.gone:
                    self._delete(node, siblings, parent, empties)
            else:
                self._insert(gap, siblings, parent)

    def _align(self, before: List[Node], after: List[Node]) -> Tuple[List[Tuple[Node, Node]], List[_Gap]]:
        pairs = _best(before, after, self._likeness)
        gaps: List[_Gap] = []
        i = j = 0
        above: Optional[Tuple[Node, Node]] = None
        for below in [*pairs, None]:
            end_i = _index(before, below[0]) if below else len(before)
            end_j = _index(after, below[1]) if below else len(after)
            if end_i > i or end_j > j:
                gaps.append(_Gap(above, before[i:end_i], after[j:end_j], below))
            i, j, above = end_i + 1, end_j + 1, below
        return pairs, gaps

    def _likeness(self, old: Node, new: Node) -> int:
        """How well two nodes pair: 0 not at all. Nodes on the same context line belong together whatever else fits."""
        line = self.hunk.before.kept_line(old)
        if old.role == "run" or new.role == "run":
            return 1000 if old.role == new.role and old.name == new.name else 0
        if line and line == self.hunk.after.kept_line(new):
            return 1000
        if same(old, new):
            return 100
        if old.role or new.role:
            return 0
        if old.kind != new.kind:
            bodies = [node.fields.get("body") for node in (old, new)]
            kept = old.kind in COMPOUND | CLAUSES and new.kind in COMPOUND | CLAUSES
            return 5 if kept and same(*bodies) else 0
        if old.kind in ("FunctionDef", "ClassDef", "Keyword", "Param"):
            name = "arg" if old.kind == "Keyword" else "name"
            known = same(old.fields[name], new.fields[name])
            return 20 if known else 2 if old.kind in ("FunctionDef", "ClassDef") else 0
        return 10 if self._shares(old, new) or old.kind in CLAUSES else 0

    def _rows(self, gap: _Gap) -> List[int]:
        """The rows of the after side that come with a gap: its nodes' and the `+` comments and blank lines around them."""
        side = self.hunk.after
        first, last = side.lines.number(begin(gap.come[0])) - 1, side.lines.number(gap.come[-1].end - 1) - 1
        inside = [
            row
            for row in range(first, last + 1)
            if side.numbers[row] not in side.context
            or any(side.lines.number(begin(n)) - 1 <= row < side.lines.number(n.end - 1) for n in gap.come)
            or any(side.lines.number(n.end - 1) - 1 == row for n in gap.come)
        ]
        return [*self._loose(first, -1), *inside, *self._loose(last, 1)]

    def _loose(self, row: int, step: int) -> List[int]:
        """The rows of `+` comments and blank lines directly above (`step` -1) or below a row."""
        side, rows = self.hunk.after, []
        texts = side.text.split("\n")
        row += step
        while 0 <= row < len(side.numbers) and side.numbers[row] not in side.context:
            if texts[row].strip() and not texts[row].lstrip().startswith("#"):
                break
            rows.append(row)
            row += step
        return rows if step > 0 else rows[::-1]

    def _comments(self, old: Node, new: Node) -> None:
        """Comments that a changed line brings: own lines go above, a trailing one to the end of the line (rule 20)."""
        side = self.hunk.after
        row = side.lines.number(begin(new)) - 1
        if side.numbers[row] in side.context:
            return
        code = self._code(old)
        above = self._loose(row, -1)
        if any(side.text.split("\n")[index].strip() for index in above):
            self._guard(code, None)
            start = self.lines.start(begin(code))
            self.edits.append(Edit(start, start, self.render.lines(above, [], self._indent(code))))
        compound = new.kind in COMPOUND | CLAUSES
        stop = header_end(new, side.text) if compound else new.end
        comment = side.text[stop : side.lines.end(stop)].strip()
        comment = comment[3:].strip() if compound and comment.startswith("...") else comment
        if comment.startswith("#") and side.numbers[side.lines.number(stop) - 1] not in side.context:
            at = header_end(code, self.text) if compound else code.end
            end = at + len(self.text[at : self.lines.end(at)].rstrip())
            if self.text[at:end].strip() and not self.text[at:end].lstrip().startswith("#"):
                raise Conflict(f"line {self.lines.number(at)} has more than one statement: no place for the comment")
            self.edits.append(Edit(end, end, "  " + comment))

    def _indent(self, code: Node) -> str:
        start = begin(code)
        return self.text[self.lines.start(start) : start]

    def _guard(self, code: Node, parent: Optional[Node]) -> None:
        """Beside a one-line suite or a `;` line a statement is neither inserted nor removed (rule 15)."""
        block = parent if parent is not None and parent.kind == "Block" else code.parent
        inline = block is not None and block.kind == "Block" and block.name == "inline"
        if inline or not alone_on_lines(self.text, self.lines, begin(code), code.end):
            line = self.lines.number(code.start)
            raise Conflict(f"line {line} shares its line with other code (a one-line suite or `;`): write it on lines of its own")

    def _swap(self, gap: _Gap) -> None:
        """Statements that go are replaced in place by those that come."""
        gone = [code for node in gap.gone for code in self._codes(node)]
        if not gone:
            raise Conflict("the run that is replaced is empty here")
        for code in gone:
            self._guard(code, None)
        self._gone += gap.gone
        text = self.render.lines(self._rows(gap), gap.come, self._indent(gone[0]))
        regions: List[Tuple[Node, Node]] = []
        for node in gap.gone:
            codes = self._codes(node)
            whole = node.role == "run" and id(node) in self.render.kept and codes
            regions += [(codes[0], codes[-1])] if whole else [(code, code) for code in codes]
        start = self.lines.start(begin(gone[0]))
        simple = len(gone) == len(gap.come) == 1 and gone[0].kind not in COMPOUND and gap.come[0].kind not in COMPOUND
        end = gone[0].end if simple else self.lines.end(regions[0][1].end - 1)
        if simple or (end == len(self.text) and not self.text.endswith(("\n", "\r"))):
            text = text.rstrip("\r\n")
        if simple and "#" in (tail := text.rpartition("\n")[2]) and self.text[end : self.lines.end(end)].strip():
            text, comment = _cut_comment(text, tail)
            at = end + len(self.text[end : self.lines.end(end)].rstrip())
            self.edits.append(Edit(at, at, comment))
        self.edits.append(Edit(start, end, text))
        for first, last in regions[1:]:
            self.edits.append(Edit(self.lines.start(begin(first)), self.lines.end(last.end - 1), ""))

    def _delete(self, node: Node, siblings: List[Node], parent: Optional[Node], empties: bool) -> None:
        self._gone.append(node)
        for code in self._codes(node):
            self._guard(code, None)
            start, end = self.lines.start(begin(code)), self.lines.end(code.end - 1)
            last = code is siblings[-1] and empties and code.kind in STATEMENTS
            if last and parent is not None and parent.kind == "Block" and parent.parent is not None and not parent.fields["doc"]:
                start, end, text = begin(code), code.end, "pass"
            else:
                text = ""
            self.edits.append(Edit(start, end, text))

    def _insert(self, gap: _Gap, siblings: List[Node], parent: Optional[Node]) -> None:
        """Rule 18: beside the hunk line that the insertion touches."""
        side = self.hunk.after
        above, below = gap.above, gap.below
        parted = above is not None and blank_between(side, above[1], gap.come[0])
        if above is not None and above[1].role != "run" and not (parted and below is not None and below[1].role != "run"):
            self._insert_after(gap, self._codes(above[0])[-1], parent)
        elif below is not None and below[1].role != "run":
            self._insert_before(gap, self._codes(below[0])[0], parent)
        elif below is not None and above is None:
            self._insert_first(gap, siblings, parent)
        elif below is None and siblings:
            self._insert_after(gap, siblings[-1], parent)
        elif parent is not None and parent.kind in COMPOUND and gap.come[0].kind == "Decorator":
            self._insert_before(gap, parent, None)
        elif parent is not None and parent.kind in COMPOUND:
            self._insert_after(gap, parent.node("body").items("body")[-1], None, indent=self._indent(parent))
        else:
            self._insert_first(gap, siblings, parent)

    def _insert_after(self, gap: _Gap, code: Node, parent: Optional[Node], indent: Optional[str] = None) -> None:
        self._guard(code, parent)
        at = self.lines.end(code.end - 1)
        text = self.render.lines(self._rows(gap), gap.come, self._indent(code) if indent is None else indent)
        if at == len(self.text) and not self.text.endswith(("\n", "\r")):
            text = self.source.newline + text.rstrip("\r\n")
        self.edits.append(Edit(at, at, text))

    def _insert_before(self, gap: _Gap, code: Node, parent: Optional[Node]) -> None:
        self._guard(code, parent)
        at = self.lines.start(begin(code))
        indent = self._indent(code)
        while at and gap.come[0].kind != "Decorator":  # above the comments directly over it
            above = self.lines.start(at - 1)
            line = self.text[above:at]
            if not (line.startswith(indent + "#")) or line.startswith("#!") or (above == 0 and "coding" in line):
                break
            at = above
        self.edits.append(Edit(at, at, self.render.lines(self._rows(gap), gap.come, indent)))

    def _insert_first(self, gap: _Gap, siblings: List[Node], parent: Optional[Node]) -> None:
        """After the docstring; in a module after the `from __future__` imports as well."""
        doc = parent.fields.get("doc") if parent is not None else None
        top = [node for index, node in enumerate(siblings) if _is_future(node) or (index == 0 and _is_text(node))]
        if isinstance(doc, Node):
            self._insert_after(gap, doc, parent)
        elif top and (parent is None or parent.parent is None):
            self._insert_after(gap, top[-1], parent)
        elif siblings:
            at = self.lines.start(begin(siblings[0]))
            self._guard(siblings[0], parent)
            text = self.render.lines(self._rows(gap), gap.come, self._indent(siblings[0]))
            self.edits.append(Edit(at, at, text))
        else:
            self.edits.append(Edit(len(self.text), len(self.text), self.render.lines(self._rows(gap), gap.come, "")))

    # elements separated by commas -------------------------------------------------------------------------------------
    def _list(self, before: List[Node], after: List[Node], code: Node, key: str) -> None:
        elements = code.items(key)
        pairs, gaps = self._align_elements(before, after)
        remaining = len(elements) - sum(len(self._codes(n)) for gap in gaps for n in gap.gone) + sum(len(g.come) for g in gaps)
        if code.kind == "Tuple" and remaining < 2:
            raise _Whole
        if code.kind in ("Import", "ImportFrom") and remaining == 0:
            raise Conflict("the last name of an import cannot be removed: remove the statement")
        if (not elements and code.kind in ("ClassDef", "Import")) or remaining == 0 and code.kind == "ClassDef":
            raise _Whole
        for old, new in pairs:
            if old.role != "run":
                self._change(old, new)
        for gap in gaps:
            gone = [element for node in gap.gone for element in self._codes(node)]
            self._gone += gap.gone
            for element, node in zip(gone, gap.come):
                self.edits.append(Edit(element.outer_start, element.outer_end, self.render.part(node)))
            self._remove_elements(gone[len(gap.come) :], elements)
            rest = gap.come[len(gone) :]
            if rest:
                self._insert_elements(rest, gap, elements, gone, code)

    def _align_elements(self, before: List[Node], after: List[Node]) -> Tuple[List[Tuple[Node, Node]], List[_Gap]]:
        """Like `_align`; keyword arguments pair by name wherever they stand, since their order does not matter."""
        names = {_keyword(node): node for node in before if node.kind == "Keyword" and _keyword(node)}
        moved = [(names[_keyword(node)], node) for node in after if node.kind == "Keyword" and _keyword(node) in names]
        olds, news = {id(old) for old, _ in moved}, {id(new) for _, new in moved}
        in_order = _best(before, after, self._likeness)
        if all(any(old is a and new is b for a, b in in_order) for old, new in moved):
            return self._align(before, after)
        pairs, gaps = self._align([n for n in before if id(n) not in olds], [n for n in after if id(n) not in news])
        return [*pairs, *moved], gaps

    def _remove_elements(self, gone: Sequence[Node], elements: List[Node]) -> None:
        for element in gone:
            index = _index(elements, element)
            kept_before = [node for node in elements[:index] if not any(node is other for other in gone)]
            line = self.lines.start(element.outer_start), self.lines.end(element.outer_end - 1)
            tail = self.text[element.outer_end : line[1]].lstrip(" \t,").strip()
            own_line = not self.text[line[0] : element.outer_start].strip() and (not tail or tail.startswith("#"))
            if own_line and "," in self.text[element.outer_end : line[1]].partition("#")[0]:
                self.edits.append(Edit(line[0], line[1], ""))
            elif index + 1 < len(elements):
                self.edits.append(Edit(element.outer_start, elements[index + 1].outer_start, ""))
            elif kept_before:
                self.edits.append(Edit(kept_before[-1].outer_end, element.outer_end, ""))
            else:
                comma = self.text[element.outer_end :].lstrip()[:1] == ","
                end = find_outside(self.text, element.outer_end, ",") + 1 if comma else element.outer_end
                self.edits.append(Edit(element.outer_start, end, ""))

    def _insert_elements(self, rest: List[Node], gap: _Gap, elements: List[Node], gone: List[Node], code: Node) -> None:
        """New elements follow the layout of their list, one a line or inline (rule 16)."""
        texts = [self.render.part(node) for node in rest]
        if not elements:
            start = code.node("func").outer_end if code.kind == "Call" else self._name_end(code)
            at = find_outside(self.text, start, "(") + 1 if code.kind in ("Call", "Parameters") else code.start + 1
            self.edits.append(Edit(at, at, ", ".join(texts)))
            return
        above = gone[-1] if gone else self._last_code(gap.above, elements)
        if above is not None and above.kind == "Param" and above.fields["star"] == "**":
            index = _index(elements, above)
            above, gap = (elements[index - 1] if index else None), gap._replace(below=None)
        after = above is not None
        anchor = above if above is not None else self._first_code(gap.below, elements)
        start = self.lines.start(anchor.outer_start)
        own_line = not self.text[start : anchor.outer_start].strip() and anchor is not elements[0] or (
            len(elements) == 1 and not self.text[start : anchor.outer_start].strip()
        )
        indent = self.text[start : anchor.outer_start] if own_line else ""
        separator = "," + self.source.newline + indent if own_line else ", "
        if after:
            self.edits.append(Edit(anchor.outer_end, anchor.outer_end, "".join(separator + text for text in texts)))
        else:
            self.edits.append(Edit(anchor.outer_start, anchor.outer_start, "".join(text + separator for text in texts)))

    def _name_end(self, code: Node) -> int:
        return code.parent.node("name").end if code.parent is not None and "name" in code.parent.fields else code.start

    def _last_code(self, pair: Optional[Tuple[Node, Node]], elements: List[Node]) -> Optional[Node]:
        if pair is None:
            return None
        codes = self._codes(pair[0])
        if codes:
            return max(codes, key=lambda node: node.outer_end)
        siblings = next(v for v in pair[0].parent.fields.values() if isinstance(v, list) and pair[0] in v) if pair[0].parent else []
        index = _index(siblings, pair[0])
        return self._last_code((siblings[index - 1], siblings[index - 1]), elements) if index else None

    def _first_code(self, pair: Optional[Tuple[Node, Node]], elements: List[Node]) -> Node:
        codes = self._codes(pair[0]) if pair is not None else []
        return codes[0] if codes else elements[0]


def _header(node: Node) -> List[Tuple[str, Node]]:
    found: List[Tuple[str, Node]] = []
    for key, value in node.fields.items():
        if key not in ("decorators", "body", "clauses"):
            found += [(f"{key}{i}", child) for i, child in enumerate([value] if isinstance(value, Node) else value or []) if isinstance(child, Node)]
    return found


def _index(nodes: Sequence[Node], wanted: Node) -> int:
    return next(index for index, node in enumerate(nodes) if node is wanted)


def _keyword(node: Node) -> str:
    name = node.node("arg") if node.kind == "Keyword" else node
    return "" if name.role else str(name.fields.get("value", ""))


def _is_future(node: Node) -> bool:
    module = node.fields.get("module")
    return node.name == "future" or (isinstance(module, Node) and module.fields.get("value") == "__future__")


def _is_text(node: Node) -> bool:
    value = node.fields.get("value")
    return node.name == "text" or (node.kind == "Expr" and isinstance(value, Node) and value.kind == "String")


def _cut_comment(text: str, tail: str) -> Tuple[str, str]:
    try:
        at = len(text) - len(tail) + _comment_start(tail)
    except ValueError:
        return text, ""
    return text[:at].rstrip(), "  " + text[at:]


def _comment_start(line: str) -> int:
    from patcher.semantic.lex import tokens

    for token in tokens(line):
        if token.kind == "comment":
            return token.start
    raise ValueError(line)


def _best(before: Sequence[Node], after: Sequence[Node], likeness: Callable[[Node, Node], int]) -> List[Tuple[Node, Node]]:
    """The alignment in order with the highest total likeness (dynamic programming, as for a longest common subsequence)."""
    best: Dict[Tuple[int, int], int] = {}
    for i in range(len(before) - 1, -1, -1):
        for j in range(len(after) - 1, -1, -1):
            skip = max(best.get((i + 1, j), 0), best.get((i, j + 1), 0))
            like = likeness(before[i], after[j])
            best[i, j] = max(skip, like + best.get((i + 1, j + 1), 0) if like else 0)
    pairs: List[Tuple[Node, Node]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        like = likeness(before[i], after[j])
        if like and best[i, j] == like + best.get((i + 1, j + 1), 0):
            pairs.append((before[i], after[j]))
            i, j = i + 1, j + 1
        elif best[i, j] == best.get((i + 1, j), 0):
            i += 1
        else:
            j += 1
    return pairs
