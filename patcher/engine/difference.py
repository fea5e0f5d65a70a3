"""Describes the differences of a pattern and code: in words, with the ranges on both sides and a hint."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import chain, count
from typing import NamedTuple, Sequence, Tuple

from patcher.engine.alignment import AlignedPart, Aligner, fits
from patcher.engine.match import TooManySteps
from patcher.engine.node import Node, same
from patcher.engine.source import Source
from patcher.engine.spatch.side import Side
from patcher.message import Message

_WIDTH = 50  # of a piece of code inside a sentence
_SHORT = 24  # of a string; of a longer one only what differs is shown
_INSIDE = 0.9  # of its weight, so that a statement elsewhere is taken for the missing one
TextRange = Tuple[int, int]
_NOUNS = {  # by the kind of a node; any other is its kind in lower case
    "Assign": Message("an assignment"),
    "AugAssign": Message("an assignment with an operator"),
    "Expr": Message("an expression alone"),
    "FunctionDef": Message("a `def`"),
    "ClassDef": Message("a `class`"),
    "ImportFrom": Message("a `from … import`"),
    "Call": Message("a call"),
    "Name": Message("a name"),
    "Attribute": Message("an attribute"),
    "Subscript": Message("a subscript"),
    "Comparison": Message("a comparison"),
    "String": Message("a string"),
    "FString": Message("an f-string"),
    **dict.fromkeys(["Integer", "Float", "Imaginary"], Message("a number")),
    **dict.fromkeys(["BinaryOperation", "UnaryOperation"], Message("an operation")),
    "IfExp": Message("a conditional expression"),
    "NamedExpr": "a `:=`",
    **dict.fromkeys(["ListComp", "SetComp", "DictComp"], Message("a comprehension")),
    "GeneratorExp": Message("a generator"),
    "Opaque": Message("other code"),
    "Keyword": Message("a keyword argument"),
    "Star": "a `*`",
    "DoubleStar": "a `**`",
    "Param": Message("a parameter"),
    "BareStar": Message("a bare `*`"),
    "Slash": Message("a bare `/`"),
}
_ROLES: dict[
    tuple[str, str], str
] = {  # by (kind, field) of the node that something is a part of; "" stands for any kind
    ("Call", "func"): Message("the function"),
    ("Attribute", "attr"): Message("the attribute"),
    ("Param", "default"): Message("the default"),
    ("Param", "name"): Message("the parameter"),
    ("Keyword", "arg"): Message("the keyword"),
    ("FunctionDef", "name"): Message("the name"),
    ("ClassDef", "name"): Message("the name"),
    ("Except", "name"): Message("the name after `as`"),
    ("", "operator"): Message("the operator"),
    ("", "test"): Message("the condition"),
    ("", "target"): Message("the target"),
    ("", "targets"): Message("the target"),
    ("", "iter"): Message("what is looped over"),
    ("", "decorators"): Message("the decorator"),
    ("", "annotation"): Message("the annotation"),
    ("", "returns"): Message("the return annotation"),
    ("", "type"): Message("the exception"),
    ("", "exc"): Message("the exception"),
    ("", "asname"): Message("the name after `as`"),
    ("", "module"): Message("the module"),
}
_ELEMENTS = {  # by the field of the list that something is an element of
    "args": Message("the argument"),
    "params": Message("the parameter"),
    "elements": Message("the element"),
    "decorators": Message("the decorator"),
    "names": Message("the name"),
    "items": Message("the item"),
    "body": Message("the statement"),
    "clauses": Message("the clause"),
    "targets": Message("the target"),
}


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
        self.names: dict[str, Node] = {}
        used = {node.name for top in side.nodes for node in top.walk()}
        self.fresh = "$" + next(
            name for name in chain("XYZ", (f"X{number}" for number in count())) if name not in used
        )

    def differences(self, parts: Sequence[AlignedPart]) -> list[Mismatch]:
        """The differences of an alignment, in its order."""
        return [mismatch for mismatch in map(self._difference, parts) if mismatch is not None]

    def _difference(self, part: AlignedPart) -> Mismatch | None:
        pattern, code = part.pattern, part.code
        if pattern is None:
            return self._added(part, part.code) if part.code is not None else None
        if code is None:
            return self._missed(part, pattern)
        if pattern.role:
            return self._placeholder(pattern, code)
        return (
            self._one_side(pattern, code, part.field)
            if part.field
            else self._changed(pattern, code, part.inside)
        )

    def _written(self, node: Node) -> str:
        """A piece of the pattern as the user wrote it, on one line."""
        return _one_line(self.side.written[node.start : node.end])

    def _code(self, node: Node) -> str:
        return _one_line(self.source.text[node.start : node.end])

    def _line(self, node: Node) -> int:
        return self.source.lines.number(node.begin)

    # one node ---------------------------------------------------------------------------------------------------------
    def _changed(self, pattern: Node, code: Node, inside: Node | None) -> Mismatch:
        """Two different nodes in the same place."""
        spans = (_span(pattern), _span(code))
        ours, theirs = f"`{self._written(pattern)}`", f"`{self._code(code)}`"
        hint, place = Message("write {theirs} there", theirs=theirs), self._place(pattern)
        if {pattern.kind, code.kind} == {"And", "Or"}:
            ours, theirs = (f"`{node.kind.lower()}`" for node in (pattern, code))
            hint, place = Message("write {theirs} there", theirs=theirs), _ROLES["", "operator"]
        elif inside is not None:
            theirs = Message("it inside {code}", code=theirs)
        elif pattern.kind != code.kind:
            ours, theirs = self._with_noun(pattern, ours), self._with_noun(code, theirs)
        elif (
            pattern.kind in ("String", "FText")
            and min(node.end - node.start for node in (pattern, code)) > _SHORT
        ):
            spans = _parting(self.side.written, spans[0], self.source.text, spans[1])
            pieces = self.side.written[slice(*spans[0])], self.source.text[slice(*spans[1])]
            ours, theirs = (
                f"`{_one_line(piece)}`" if piece else Message("nothing") for piece in pieces
            )
            hint, place = (
                Message("write it as it stands there"),
                place or Message("inside the string"),
            )
        names = [
            _ROLES[key]
            for key in (
                ("Keyword", "arg"),
                ("FunctionDef", "name"),
                ("", "module"),
                ("", "operator"),
            )
        ]
        if pattern.is_expression and code.is_expression and place not in names:
            hint += Message(", or `{name}` if any will do", name=self.fresh)
        words = Message("the pattern has {ours}, the code has {theirs}", ours=ours, theirs=theirs)
        return Mismatch(
            *spans,
            Message("{place}: {words}" if place else "here {words}", place=place, words=words),
            hint,
        )

    def _with_noun(self, node: Node, code: str) -> str:
        return (
            Message("{noun} {code}", noun=_noun(node), code=code)
            if node.is_expression
            else _noun(node)
        )

    def _place(self, pattern: Node) -> str:
        """The name of a node's place in the pattern ("the default"), "" where it has none."""
        holder, key = pattern.parent, pattern.field()
        if holder is None:
            return ""
        if holder.kind == "Keyword" and key == "value":
            return Message(
                "the value of the keyword `{pattern}`", pattern=self._written(holder.node("arg"))
            )
        return _role(holder, key) or (self._place(holder) if key == "value" else "")

    def _placeholder(self, pattern: Node, code: Node) -> Mismatch | None:
        spans, bound = (_span(pattern), _span(code)), self.names.get(pattern.name)
        if not fits(pattern, code):
            meaning = Message(
                "a literal" if pattern.role == "option" else "one piece of syntax of its kind"
            )
            words = Message(
                "`{pattern}` stands for {what}, the code has {noun}: `{code}`",
                pattern=self._written(pattern),
                what=meaning,
                noun=_noun(code),
                code=self._code(code),
            )
            return Mismatch(*spans, words, Message("write what stands there"))
        if bound is not None and not same(bound, code):
            words = Message(
                "`${name}` is `{code}` before that, and here the code has `{other}`",
                name=pattern.name,
                code=self._code(bound),
                other=self._code(code),
            )
            return Mismatch(
                *spans,
                words,
                Message("write `{name}` here if the two need not be the same", name=self.fresh),
            )
        if pattern.role == "meta" and pattern.name != "_":
            self.names.setdefault(pattern.name, code)
        return None

    # what only one of the two has ---------------------------------------------------------------------------------------
    def _one_side(self, pattern: Node, code: Node, key: str) -> Mismatch:
        """A field that one of two nodes has and the other has not."""
        expected, actual = pattern.fields[key], code.fields.get(key)
        role = (
            ""
            if key == "asynchronous"
            else _role(pattern, key) or Message("a value" if key == "value" else "this part")
        )
        if isinstance(expected, Node):
            return self._only_ours(role, expected, _head(code))
        if isinstance(actual, Node):
            return self._only_theirs(
                role, _head(pattern), actual, Message("write it as it stands there")
            )
        return self._changed(pattern, code, None)

    def _only_ours(self, role: str, node: Node, beside: TextRange) -> Mismatch:
        words = Message(
            "{part} is in the pattern, and not in the code",
            part=_part(role, self._written(_shown(node))),
        )
        return Mismatch(_span(node), beside, words, Message("leave it out if it need not be there"))

    def _only_theirs(self, role: str, beside: TextRange, node: Node, hint: str) -> Mismatch:
        words = Message(
            "{part} is in the code, and not in the pattern",
            part=_part(role, self._code(_shown(node))),
        )
        return Mismatch(beside, _span(node), words, hint)

    def _missed(self, part: AlignedPart, ours: Node) -> Mismatch:
        """An element that only the pattern's list has; a statement (or clause) may be nested deeper, or further away."""
        code, role = part.holders[1] or ours, _element(ours)
        if not ours.has_lines:
            return self._only_ours(role, ours, _head(code))
        beside = part.above[1] or part.below[1] or code
        match = self._elsewhere(ours, code, beside, after=part.above[1] is not None)
        if match is None:
            return self._only_ours(role, ours, _head(beside))
        far, near = _headers(match), _headers(beside)
        if len(far) > len(near) and far[len(far) - len(near) :] == near:
            where = Message("inside {header}", header=self._header(far[0]))
            hint = Message(
                "write that header above it, or a hunk that begins with this statement: it is found in any block"
            )
        elif len(near) > len(far) and near[len(near) - len(far) :] == far:
            where = Message("outside of {header}, the rest inside", header=self._header(near[0]))
            hint = Message("write that header between them, or a hunk for one of the two alone")
        else:
            where = Message("in line {line}", line=self._line(match))
            hint = Message(
                "write ` ...` where other statements may stand, and the statements in the order of the code"
            )
        words = Message(
            "the pattern has {part} here, in the code it is {where}",
            part=_part(role, self._written(ours)),
            where=where,
        )
        return Mismatch(_span(ours), _span(match), words, hint)

    def _header(self, node: Node) -> str:
        header = _one_line(self.source.text[node.start : self.source.lines.end(node.start)]).rstrip(
            " :"
        )
        return Message(
            "the `{header}` of line {number}",
            header=header,
            number=self.source.lines.number(node.start),
        )

    def _elsewhere(self, ours: Node, code: Node, beside: Node, *, after: bool) -> Node | None:
        """Where a missing statement is now: of several the nearest, with `after` those past its neighbour first."""
        around = [code, *code.ancestors()]
        top = next((node for node in around if node.is_definition), around[-1])
        places = [node for node in top.walk() if node.kind == ours.kind and node is not beside]
        near = sorted(
            places,
            key=lambda node: (after and node.start < beside.start, abs(node.start - beside.start)),
        )
        try:
            best = min(near, key=lambda node: self.aligner.aligned(ours, node).cost, default=None)
            alike = best is not None and self.aligner.aligned(ours, best).cost <= (
                1 - _INSIDE
            ) * self.aligner.weight(ours)
            return best if alike else None
        except TooManySteps:
            return None

    def _added(self, part: AlignedPart, theirs: Node) -> Mismatch:
        """An element that only the code's list has."""
        beside = part.below[0] or part.above[0]
        if theirs.has_lines and beside is not None:
            hint = Message("write ` ...` on a line of its own for statements that may stand there")
            return self._only_theirs(_element(theirs), _span(beside), theirs, hint)
        pattern = part.holders[0] or self.side.nodes[0]
        closed = (
            pattern.kind in ("Call", "List", "Tuple", "Set", "Dict")
            and self.side.written[pattern.end - 1] in ")]}"
        )
        where = (pattern.end - 1, pattern.end) if closed else _head(pattern)
        return self._only_theirs(
            _element(theirs), where, theirs, Message("write it, or `...` for what may stand there")
        )


def _part(role: str, code: str) -> str:
    return Message("{role} `{code}`", role=role, code=code) if role else f"`{code}`"


def _head(node: Node) -> TextRange:
    """What to mark of a node that lacks a part: the name it begins with."""
    holder = node.parent if node.kind == "Parameters" and node.parent is not None else node
    names = (holder.fields.get(key) for key in ("func", "name"))
    return _span(next((name for name in names if isinstance(name, Node)), node))


def _noun(node: Node) -> str:
    return _NOUNS.get(node.kind) or Message(
        "an `{kind}`" if node.kind[0] in "AEIO" else "a `{kind}`", kind=node.kind.lower()
    )


def _parting(a: str, of_a: TextRange, b: str, of_b: TextRange) -> tuple[TextRange, TextRange]:
    """The ranges of the first words in which two texts differ; how a string is split into pieces does not count."""
    left, right = re.findall(r"\w+|\W", a[slice(*of_a)]), re.findall(r"\w+|\W", b[slice(*of_b)])
    steps = [
        step
        for step in SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        if step[0] != "equal"
    ]
    words = (
        step
        for step in steps
        if any(len(word) > 1 for word in (*left[step[1] : step[2]], *right[step[3] : step[4]]))
    )
    _, i, i_end, j, j_end = next(words, ("replace", 0, len(left), 0, len(right)))
    return _tokens(left, of_a[0], i, i_end), _tokens(right, of_b[0], j, j_end)


def _tokens(tokens: list[str], start: int, index: int, end: int) -> TextRange:
    begin = start + len("".join(tokens[:index]))
    return begin, begin + len("".join(tokens[index:end]))


def _role(holder: Node, key: str) -> str:
    return _ROLES.get((holder.kind, key), _ROLES.get(("", key), ""))


def _element(node: Node) -> str:
    """What an element of the list that has this node is called."""
    return (
        _ROLES["Keyword", "arg"]
        if node.kind == "Keyword"
        else _ELEMENTS.get(node.field(), Message("the part"))
    )


def _shown(node: Node) -> Node:
    """The part of an element to show: of a keyword argument its name, of any other all of it."""
    return node.node("arg") if node.kind == "Keyword" else node


def _headers(node: Node) -> list[Node]:
    """The compound statements and clauses around a statement, the innermost first."""
    return [up for up in node.ancestors() if up.has_body]


def _span(node: Node) -> TextRange:
    return node.start, node.end


def _one_line(code: str) -> str:
    code = " ".join(code.split())
    return code if len(code) <= _WIDTH else code[: _WIDTH - 1] + "…"
