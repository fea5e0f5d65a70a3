"""Describes the differences of a pattern and code: in words, with the ranges on both sides and a hint."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import chain, count
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

from patcher.engine.explain.alignment import LEAVES, AlignedPart, Aligner, fits
from patcher.engine.explain.words import ELEMENTS, NOUNS, ROLES
from patcher.engine.match.match import TooManySteps
from patcher.engine.node import CLAUSES, COMPOUND, DEFINITIONS, STATEMENTS, Node, is_expression, same
from patcher.engine.source import Source
from patcher.engine.spatch.side import Side

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

_WIDTH = 50  # of a piece of code inside a sentence
_SHORT = 24  # of a string; of a longer one only what differs is shown
_INSIDE = 0.9  # of its weight, so that a statement elsewhere is taken for the missing one
TextRange = Tuple[int, int]


class Mismatch(NamedTuple):
    """A difference: character ranges in the written side and in the file, a description, and a hint."""

    pattern: TextRange
    code: TextRange
    words: str
    hint: str


class Describer:
    """Describes the differences of one hunk's before side and one file."""

    def __init__(self, source: Source, side: Side, aligner: Aligner) -> None:
        self.source, self.side, self.aligner = source, side, aligner
        self.names: Dict[str, Node] = {}
        used = {node.name for top in side.nodes for node in top.walk()}
        self.fresh = "$" + next(name for name in chain("XYZ", (f"X{number}" for number in count())) if name not in used)

    def written(self, node: Node) -> str:
        """A piece of the pattern as the user wrote it, on one line."""
        return _one_line(self.side.written[node.start : node.end])

    def code(self, node: Node) -> str:
        """A piece of the code on one line."""
        return _one_line(self.source.text[node.start : node.end])

    # nodes ------------------------------------------------------------------------------------------------------------
    def differences(self, parts: Sequence[AlignedPart]) -> List[Mismatch]:
        """The differences of an alignment, in its order."""
        found: List[Optional[Mismatch]] = []
        for part in parts:
            pattern, code = part.pattern, part.code
            if pattern is None:
                found.append(self._added(part, cast(Node, code)))
            elif code is None:
                found.append(self._missed(part, pattern))
            elif pattern.role:
                found.append(self._placeholder(pattern, code))
            elif part.field:
                found.append(self._one_side(pattern, code, part.field))
            else:
                found.append(self._changed(pattern, code, part.inside))
        return [one for one in found if one is not None]

    def _changed(self, pattern: Node, code: Node, inside: Optional[Node]) -> Mismatch:
        """Two different nodes in the same place."""
        spans = (_span(pattern), _span(code))
        ours, theirs = self.written(pattern), self.code(code)
        place = self._place(pattern)
        here = f"{place}: " if place else "here "
        any_code = is_expression(pattern) and is_expression(code) and place not in ("the name", "the module", "the keyword")
        hint = f"write `{theirs}` there" + (f", or `{self.fresh}` if any will do" if any_code else "")
        if {pattern.kind, code.kind} == {"And", "Or"}:
            ours, theirs = pattern.kind.lower(), code.kind.lower()
            words = f"the operator: the pattern has `{ours}`, the code has `{theirs}`"
            return Mismatch(*spans, words, f"write `{theirs}` there")
        if inside is not None:
            return Mismatch(*spans, f"{here}the pattern has `{ours}`, the code has it inside `{theirs}`", hint)
        if pattern.kind != code.kind or pattern.kind not in LEAVES:
            shown = (f", `{ours}`;", f", `{theirs}`") if is_expression(pattern) else (",", "")
            words = f"{here}the pattern has {_noun(pattern)}{shown[0]} the code has {_noun(code)}{shown[1]}"
            return Mismatch(*spans, words, hint)
        if pattern.kind in ("String", "FText") and min(len(ours), len(theirs)) > _SHORT:
            spans = _parting(self.side.written, spans[0], self.source.text, spans[1])
            pieces = self.side.written[slice(*spans[0])], self.source.text[slice(*spans[1])]
            ours, theirs = (f"`{_one_line(piece)}`" if piece else "nothing" for piece in pieces)
            here = here if place else "inside the string: "
            whole = f", or `{self.fresh}` for the whole string" if pattern.kind == "String" else ""
            hint = f"write it as it stands there{whole}"
            return Mismatch(*spans, f"{here}the pattern has {ours}, the code has {theirs}", hint)
        return Mismatch(*spans, f"{here}the pattern has `{ours}`, the code has `{theirs}`", hint)

    def _place(self, pattern: Node) -> str:
        """The name of a node's place in the pattern ("the default"), "" where it has none."""
        holder, key = cast(Node, pattern.parent), pattern.field()
        if holder.kind == "Keyword" and key == "value":
            return f"the value of the keyword `{self.written(holder.node('arg'))}`"
        return _role(holder, key) or (self._place(holder) if key == "value" else "")

    def _placeholder(self, pattern: Node, code: Node) -> Optional[Mismatch]:
        spans, bound = (_span(pattern), _span(code)), self.names.get(pattern.name)
        if not fits(pattern, code):
            what = "a literal" if pattern.role == "option" else "one piece of syntax of its kind"
            words = f"`{self.written(pattern)}` stands for {what}, the code has {_noun(code)}: `{self.code(code)}`"
            return Mismatch(*spans, words, "write what stands there")
        if bound is not None and not same(bound, code):
            words = f"`${pattern.name}` is `{self.code(bound)}` before that, and here the code has `{self.code(code)}`"
            return Mismatch(*spans, words, f"write `{self.fresh}` here if the two need not be the same")
        if pattern.role == "meta" and pattern.name != "_":
            self.names.setdefault(pattern.name, code)
        return None

    def _one_side(self, pattern: Node, code: Node, key: str) -> Mismatch:
        """A part that one side has and the other has not."""
        expected, found = pattern.fields[key], code.fields.get(key)
        role = _role(pattern, key) or ("a value" if key == "value" else "this part")
        hint = "write it as it stands there"
        if isinstance(expected, Node):
            part = f"{role} `{self.written(expected)}`, the code has none"
            part = "`async`, the code has not" if key == "asynchronous" else part
            return Mismatch(_span(expected), _head(code), f"the pattern has {part}", "leave it out")
        if isinstance(found, Node):
            part = f"{role} `{self.code(found)}`, the pattern has none"
            part = "`async`, the pattern has not" if key == "asynchronous" else part
            return Mismatch(_head(pattern), _span(found), f"the code has {part}", hint)
        words = f"here the pattern has `{self.written(pattern)}`, the code has `{self.code(code)}`"
        return Mismatch(_span(pattern), _span(code), words, hint)

    # lists ------------------------------------------------------------------------------------------------------------
    def _missed(self, part: AlignedPart, ours: Node) -> Mismatch:
        """An element that only the pattern's list has."""
        code, element = part.holders[1] or ours, _element(ours)
        if ours.kind in STATEMENTS | CLAUSES:
            return self._missed_statement(part, ours, code)
        words = f"the pattern has the {element} `{self.written(_shown(ours))}`, the code has no such {element}"
        hint = f"leave it out if the {element} need not be there"
        hint = "leave it out, or write `...` for arguments of any name" if element == "keyword" else hint
        return Mismatch(_span(ours), _head(code), words, hint)

    def _missed_statement(self, part: AlignedPart, ours: Node, code: Node) -> Mismatch:
        """A statement (or clause) that is not where the pattern has it; it may be nested deeper, or further away."""
        beside = part.above[1] or part.below[1] or code
        one, line = f"the pattern has the {_element(ours)} `{self.written(ours)}`", self.source.lines.number
        there = self._elsewhere(ours, code, beside, after=part.above[1] is not None)
        if there is None:
            words = f"{one}, the code has no such {_element(ours)} beside line {line(beside.start)}"
            return Mismatch(_span(ours), _head(beside), words, "leave it out if it need not be there")
        far, near = _around(there), _around(beside)
        if _within(far, near):
            where = f"stands inside {self._header(far)}"
            hint = "write that header above it, or a hunk that begins with this statement: it is found in any block"
        elif _within(near, far):
            where = f"stands outside of {self._header(near)}, the rest inside"
            hint = "write that header between them, or a hunk for one of the two alone"
        else:
            where = f"is line {line(there.start)}"
            hint = "write ` ...` where other statements may stand, and the statements in the order of the code"
        return Mismatch(_span(ours), _span(there), f"{one} here, in the code it {where}", hint)

    def _header(self, node: Node) -> str:
        header = _one_line(self.source.text[node.start : self.source.lines.end(node.start)]).rstrip(" :")
        return f"the `{header}` of line {self.source.lines.number(node.start)}"

    def _elsewhere(self, ours: Node, code: Node, beside: Node, *, after: bool) -> Optional[Node]:
        """Where a missing statement is now: of several the nearest, with `after` those past its neighbour first."""
        around = [code, *code.ancestors()]
        top = next((node for node in around if node.kind in DEFINITIONS), around[-1])
        places = [node for node in top.walk() if node.kind == ours.kind and node is not beside]
        near = sorted(places, key=lambda node: (after and node.start < beside.start, abs(node.start - beside.start)))
        try:
            best = min(near, key=lambda node: self.aligner.aligned(ours, node).cost, default=None)
            alike = best is not None and self.aligner.aligned(ours, best).cost <= (1 - _INSIDE) * self.aligner.weight(ours)
            return best if alike else None
        except TooManySteps:
            return None

    def _added(self, part: AlignedPart, theirs: Node) -> Mismatch:
        """An element that only the code's list has."""
        (pattern, _), (above, _), (below, _), element = part.holders, part.above, part.below, _element(theirs)
        if theirs.kind in STATEMENTS | CLAUSES:
            where = "between the two statements" if above is not None and below is not None else "there"
            line = self.source.lines.number(theirs.begin)
            words = f"the code has a {element} {where} that the pattern has not: line {line}, `{self.code(theirs)}`"
            beside = cast(Node, below or above or pattern)
            hint = "write ` ...` on a line of its own for statements that may stand there"
            return Mismatch(_span(beside), _span(theirs), words, hint)
        words = f"the code has the {element} `{self.code(_shown(theirs))}`, the pattern has no such {element}"
        many = "argument" if element == "keyword" else element
        hint = f"write it, or `...` for {many}s that may stand there"
        return Mismatch(self._end(cast(Node, pattern)), _span(theirs), words, hint)

    def _end(self, node: Node) -> TextRange:
        """Where to write a `...` into a list: its closing bracket, else its name."""
        closed = node.kind in ("Call", "List", "Tuple", "Set", "Dict") and self.side.written[node.end - 1] in ")]}"
        return (node.end - 1, node.end) if closed else _head(node)


def _head(node: Node) -> TextRange:
    """What to mark of a node that lacks a part: the name it begins with."""
    holder = node.parent if node.kind == "Parameters" and node.parent is not None else node
    names = (holder.fields.get(key) for key in ("func", "name"))
    return _span(next((name for name in names if isinstance(name, Node)), node))


def _noun(node: Node) -> str:
    article = "an" if node.kind[0] in "AEIO" else "a"
    return NOUNS.get(node.kind, f"{article} `{node.kind.lower()}`")


def _parting(a: str, of_a: TextRange, b: str, of_b: TextRange) -> Tuple[TextRange, TextRange]:
    """The ranges of the first words in which two texts differ; how a string is split into pieces does not count."""
    left, right = re.findall(r"\w+|\W", a[slice(*of_a)]), re.findall(r"\w+|\W", b[slice(*of_b)])
    steps = [step for step in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if step[0] != "equal"]
    words = (step for step in steps if any(len(word) > 1 for word in (*left[step[1] : step[2]], *right[step[3] : step[4]])))
    _, i, i_end, j, j_end = next(words, ("replace", 0, len(left), 0, len(right)))
    return _tokens(left, of_a[0], i, i_end), _tokens(right, of_b[0], j, j_end)


def _tokens(tokens: List[str], start: int, first: int, end: int) -> TextRange:
    begin = start + len("".join(tokens[:first]))
    return begin, begin + len("".join(tokens[first:end]))


def _role(holder: Node, key: str) -> str:
    return ROLES.get((holder.kind, key)) or ROLES.get(("", key), "")


def _element(node: Node) -> str:
    """What an element of the list that has this node is called."""
    return "keyword" if node.kind == "Keyword" else ELEMENTS.get(node.field(), "part")


def _shown(node: Node) -> Node:
    """The part of an element to show: of a keyword argument its name, of any other all of it."""
    return node.node("arg") if node.kind == "Keyword" else node


def _around(node: Node) -> Optional[Node]:
    """The innermost compound statement or clause around a statement, None at the top level."""
    return next((up for up in node.ancestors() if up.kind in COMPOUND | CLAUSES), None)


def _within(inner: Optional[Node], outer: Optional[Node]) -> TypeGuard[Node]:
    """Whether a compound statement is inside another one; None is the module."""
    return inner is not None and (outer is None or outer in [*inner.ancestors()])


def _span(node: Node) -> TextRange:
    return node.start, node.end


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
