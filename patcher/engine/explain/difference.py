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
from patcher.message import Message

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
        differences: List[Optional[Mismatch]] = []
        for part in parts:
            pattern, code = part.pattern, part.code
            if pattern is None:
                differences.append(self._added(part, cast(Node, code)))
            elif code is None:
                differences.append(self._missed(part, pattern))
            elif pattern.role:
                differences.append(self._placeholder(pattern, code))
            elif part.field:
                differences.append(self._one_side(pattern, code, part.field))
            else:
                differences.append(self._changed(pattern, code, part.inside))
        return [mismatch for mismatch in differences if mismatch is not None]

    def _changed(self, pattern: Node, code: Node, inside: Optional[Node]) -> Mismatch:
        """Two different nodes in the same place."""
        spans = (_span(pattern), _span(code))
        ours, theirs = self.written(pattern), self.code(code)
        place = self._place(pattern)
        prefix = Message("{place}: " if place else "here ", place=place)
        any_code = is_expression(pattern) and is_expression(code) and place not in ("the name", "the module", "the keyword")
        hint = Message("write `{theirs}` there", theirs=theirs) + (
            Message(", or `{name}` if any will do", name=self.fresh) if any_code else ""
        )
        if {pattern.kind, code.kind} == {"And", "Or"}:
            ours, theirs = pattern.kind.lower(), code.kind.lower()
            words = Message("the operator: the pattern has `{ours}`, the code has `{theirs}`", ours=ours, theirs=theirs)
            return Mismatch(*spans, words, Message("write `{theirs}` there", theirs=theirs))
        if inside is not None:
            return Mismatch(
                *spans,
                Message(
                    "{here}the pattern has `{ours}`, the code has it inside `{theirs}`", here=prefix, ours=ours, theirs=theirs
                ),
                hint,
            )
        if pattern.kind != code.kind or pattern.kind not in LEAVES:
            shown = (
                (Message(", `{ours}`;", ours=ours), Message(", `{theirs}`", theirs=theirs))
                if is_expression(pattern)
                else (",", "")
            )
            words = Message(
                "{here}the pattern has {noun}{written} the code has {detail}{text}",
                here=prefix,
                noun=_noun(pattern),
                written=shown[0],
                detail=_noun(code),
                text=shown[1],
            )
            return Mismatch(*spans, words, hint)
        if pattern.kind in ("String", "FText") and min(len(ours), len(theirs)) > _SHORT:
            spans = _parting(self.side.written, spans[0], self.source.text, spans[1])
            pieces = self.side.written[slice(*spans[0])], self.source.text[slice(*spans[1])]
            ours, theirs = (f"`{_one_line(piece)}`" if piece else Message("nothing") for piece in pieces)
            prefix = prefix if place else Message("inside the string: ")
            alternative = Message(", or `{name}` for the whole string", name=self.fresh) if pattern.kind == "String" else ""
            hint = Message("write it as it stands there{whole}", whole=alternative)
            return Mismatch(
                *spans,
                Message("{here}the pattern has {ours}, the code has {theirs}", here=prefix, ours=ours, theirs=theirs),
                hint,
            )
        return Mismatch(
            *spans,
            Message("{here}the pattern has `{ours}`, the code has `{theirs}`", here=prefix, ours=ours, theirs=theirs),
            hint,
        )

    def _place(self, pattern: Node) -> str:
        """The name of a node's place in the pattern ("the default"), "" where it has none."""
        holder, key = cast(Node, pattern.parent), pattern.field()
        if holder.kind == "Keyword" and key == "value":
            return Message("the value of the keyword `{pattern}`", pattern=self.written(holder.node("arg")))
        return _role(holder, key) or (self._place(holder) if key == "value" else "")

    def _placeholder(self, pattern: Node, code: Node) -> Optional[Mismatch]:
        spans, bound = (_span(pattern), _span(code)), self.names.get(pattern.name)
        if not fits(pattern, code):
            meaning = Message("a literal" if pattern.role == "option" else "one piece of syntax of its kind")
            words = Message(
                "`{pattern}` stands for {what}, the code has {noun}: `{code}`",
                pattern=self.written(pattern),
                what=meaning,
                noun=_noun(code),
                code=self.code(code),
            )
            return Mismatch(*spans, words, Message("write what stands there"))
        if bound is not None and not same(bound, code):
            words = Message(
                "`${name}` is `{code}` before that, and here the code has `{other}`",
                name=pattern.name,
                code=self.code(bound),
                other=self.code(code),
            )
            return Mismatch(*spans, words, Message("write `{name}` here if the two need not be the same", name=self.fresh))
        if pattern.role == "meta" and pattern.name != "_":
            self.names.setdefault(pattern.name, code)
        return None

    def _one_side(self, pattern: Node, code: Node, key: str) -> Mismatch:
        """A part that one side has and the other has not."""
        expected, actual = pattern.fields[key], code.fields.get(key)
        role = _role(pattern, key) or (Message("a value" if key == "value" else "this part"))
        hint = Message("write it as it stands there")
        if isinstance(expected, Node):
            part = Message("{role} `{pattern}`, the code has none", role=role, pattern=self.written(expected))
            part = Message("`async`, the code has not") if key == "asynchronous" else part
            return Mismatch(
                _span(expected), _head(code), Message("the pattern has {part}", part=part), Message("leave it out")
            )
        if isinstance(actual, Node):
            part = Message("{role} `{code}`, the pattern has none", role=role, code=self.code(actual))
            part = Message("`async`, the pattern has not") if key == "asynchronous" else part
            return Mismatch(_head(pattern), _span(actual), Message("the code has {part}", part=part), hint)
        words = Message(
            "here the pattern has `{pattern}`, the code has `{code}`", pattern=self.written(pattern), code=self.code(code)
        )
        return Mismatch(_span(pattern), _span(code), words, hint)

    # lists ------------------------------------------------------------------------------------------------------------
    def _missed(self, part: AlignedPart, ours: Node) -> Mismatch:
        """An element that only the pattern's list has."""
        code, element = part.holders[1] or ours, _element(ours)
        if ours.kind in STATEMENTS | CLAUSES:
            return self._missed_statement(part, ours, code)
        words = Message(
            "the pattern has the {element} `{pattern}`, the code has no such {element}",
            element=element,
            pattern=self.written(_shown(ours)),
        )
        hint = Message("leave it out if the {element} need not be there", element=element)
        hint = Message("leave it out, or write `...` for arguments of any name") if element == "keyword" else hint
        return Mismatch(_span(ours), _head(code), words, hint)

    def _missed_statement(self, part: AlignedPart, ours: Node, code: Node) -> Mismatch:
        """A statement (or clause) that is not where the pattern has it; it may be nested deeper, or further away."""
        beside = part.above[1] or part.below[1] or code
        claim, line = (
            Message("the pattern has the {element} `{pattern}`", element=_element(ours), pattern=self.written(ours)),
            self.source.lines.number,
        )
        match = self._elsewhere(ours, code, beside, after=part.above[1] is not None)
        if match is None:
            words = Message(
                "{one}, the code has no such {element} beside line {line}",
                one=claim,
                element=_element(ours),
                line=line(beside.start),
            )
            return Mismatch(_span(ours), _head(beside), words, Message("leave it out if it need not be there"))
        far, near = _around(match), _around(beside)
        if _within(far, near):
            where = Message("stands inside {header}", header=self._header(far))
            hint = Message("write that header above it, or a hunk that begins with this statement: it is found in any block")
        elif _within(near, far):
            where = Message("stands outside of {header}, the rest inside", header=self._header(near))
            hint = Message("write that header between them, or a hunk for one of the two alone")
        else:
            where = Message("is line {line}", line=line(match.start))
            hint = Message("write ` ...` where other statements may stand, and the statements in the order of the code")
        return Mismatch(_span(ours), _span(match), Message("{one} here, in the code it {where}", one=claim, where=where), hint)

    def _header(self, node: Node) -> str:
        header = _one_line(self.source.text[node.start : self.source.lines.end(node.start)]).rstrip(" :")
        return Message("the `{header}` of line {number}", header=header, number=self.source.lines.number(node.start))

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
            where = Message("between the two statements") if above is not None and below is not None else Message("there")
            line = self.source.lines.number(theirs.begin)
            words = Message(
                "the code has a {element} {where} that the pattern has not: line {line}, `{code}`",
                element=element,
                where=where,
                line=line,
                code=self.code(theirs),
            )
            beside = cast(Node, below or above or pattern)
            hint = Message("write ` ...` on a line of its own for statements that may stand there")
            return Mismatch(_span(beside), _span(theirs), words, hint)
        words = Message(
            "the code has the {element} `{code}`, the pattern has no such {element}",
            element=element,
            code=self.code(_shown(theirs)),
        )
        many = "argument" if element == "keyword" else element
        hint = Message("write it, or `...` for {many}s that may stand there", many=many)
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


def _tokens(tokens: List[str], start: int, index: int, end: int) -> TextRange:
    begin = start + len("".join(tokens[:index]))
    return begin, begin + len("".join(tokens[index:end]))


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


def _one_line(code: str) -> str:
    code = " ".join(code.split())
    return code if len(code) <= _WIDTH else code[: _WIDTH - 1] + "…"
