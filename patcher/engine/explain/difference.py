"""The first place where a piece of code is not what a pattern says, in words, with the text of both sides."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from patcher.engine.explain.compare import FREE, LEAVES, Comparer, Pair, TooMuch, fits, is_expression, weight
from patcher.engine.node import CLAUSES, STATEMENTS, Node, same
from patcher.engine.source import Source
from patcher.engine.spatch.side import Side

_WIDTH = 50  # of a piece of code inside a sentence
_SHORT = 24  # of a string; in a longer one only what differs is shown
_INSIDE = 0.9  # of its weight, so that a statement elsewhere is taken for the one that is missed
Span = Tuple[int, int]

_NOUNS = {
    "Assign": "an assignment", "AugAssign": "an assignment with an operator", "Expr": "an expression alone",
    "FunctionDef": "a `def`", "ClassDef": "a `class`", "Import": "an `import`", "ImportFrom": "a `from … import`",
    "Call": "a call", "Name": "a name", "Attribute": "an attribute", "Subscript": "a subscript", "Comparison": "a comparison",
    "String": "a string", "FString": "an f-string", "Integer": "a number", "Float": "a number", "Imaginary": "a number",
    "Tuple": "a tuple", "List": "a list", "Set": "a set", "Dict": "a dict", "And": "an `and`", "Or": "an `or`",
    "BinaryOperation": "an operation", "UnaryOperation": "an operation", "IfExp": "a conditional expression",
    "Lambda": "a `lambda`", "Await": "an `await`", "Yield": "a `yield`", "NamedExpr": "a `:=`", "Ellipsis": "an Ellipsis",
    "ListComp": "a comprehension", "SetComp": "a comprehension", "DictComp": "a comprehension",
    "GeneratorExp": "a generator", "Opaque": "other code", "Keyword": "a keyword argument", "Star": "a `*`",
    "DoubleStar": "a `**`", "Param": "a parameter", "BareStar": "a bare `*`", "Slash": "a bare `/`",
}  # fmt: skip
# (kind, field) -> what the thing in it is called; "" stands for any kind
_ROLES = {
    ("Call", "func"): "the function", ("Attribute", "attr"): "the attribute", ("Param", "default"): "the default",
    ("Param", "name"): "the parameter", ("Keyword", "arg"): "the keyword", ("", "operator"): "the operator",
    ("", "test"): "the condition", ("", "targets"): "the target", ("", "target"): "the target",
    ("", "iter"): "what is looped over",
    ("FunctionDef", "name"): "the name", ("ClassDef", "name"): "the name", ("", "decorators"): "the decorator",
    ("", "annotation"): "the annotation", ("", "returns"): "the return annotation", ("", "type"): "the exception",
    ("", "asname"): "the name after `as`", ("Except", "name"): "the name after `as`", ("", "module"): "the module",
    ("", "asynchronous"): "`async`", ("", "exc"): "the exception",
}  # fmt: skip
_ELEMENTS = {
    "args": "argument", "params": "parameter", "elements": "element", "decorators": "decorator", "names": "name",
    "items": "item", "body": "statement", "clauses": "clause", "targets": "target",
}  # fmt: skip


class Difference(NamedTuple):
    """Where pattern and code part: character offsets into the written side and into the file, in words, and a way on."""

    pattern: Span
    code: Span
    words: str
    hint: str


class Describer:
    """Finds the differences of one hunk's before side and one file."""

    def __init__(self, source: Source, side: Side, comparer: Comparer) -> None:
        self.source, self.side, self.comparer = source, side, comparer
        self.names: Dict[str, Node] = {}
        used = {node.name for top in side.nodes for node in top.walk() if node.role == "meta"}
        self.fresh = "$" + next(name for name in (*"XYZ", *(f"X{number}" for number in range(1000))) if name not in used)

    def written(self, node: Node) -> str:
        """A piece of the pattern as the person wrote it, on one line."""
        return _one_line(self.side.written[node.start : node.end])

    def code(self, node: Node) -> str:
        """A piece of the code on one line."""
        return _one_line(self.source.text[node.start : node.end])

    # nodes ------------------------------------------------------------------------------------------------------------
    def node(self, pattern: Node, code: Node, what: str = "") -> Iterator[Difference]:
        """The differences of two nodes in the order of the pattern; `what` is how their place is called."""
        if pattern.role == "run":
            return
        if pattern.role:
            yield from self._placeholder(pattern, code)
        elif pattern.kind != code.kind or self.comparer.is_wrapped(pattern, code):
            yield self._other(pattern, code, what)
        elif pattern.kind in LEAVES:
            if pattern.fields["value"] != code.fields["value"]:
                yield self._changed(pattern, code, what)
        else:
            for key, wanted in pattern.fields.items():
                found = code.fields.get(key)
                role = _ROLES.get((pattern.kind, key)) or _ROLES.get(("", key), what if key == "value" else "")
                if pattern.kind == "Keyword" and key == "value":
                    role = f"the value of the keyword `{self.written(pattern.node('arg'))}`"
                if isinstance(wanted, Node) and isinstance(found, Node):
                    yield from self.node(wanted, found, role)
                elif isinstance(wanted, list):
                    yield from self.pairs(self.comparer.lists(pattern, code, key).pairs, key, pattern, code)
                elif not (wanted is None and key in FREE):
                    yield from self._one_side(pattern, code, key, role)

    def _placeholder(self, pattern: Node, code: Node) -> Iterator[Difference]:
        bound = self.names.get(pattern.name)
        if not fits(pattern, code):
            what = "a literal" if pattern.role == "option" else "one piece of syntax of its kind"
            words = f"`{self.written(pattern)}` stands for {what}, the code has {self._noun(code)}: `{self.code(code)}`"
            yield Difference(_span(pattern), _span(code), words, "write what stands there")
        elif pattern.role == "meta" and bound is not None and not same(bound, code):
            words = f"`${pattern.name}` is `{self.code(bound)}` before that, and here the code has `{self.code(code)}`"
            yield Difference(_span(pattern), _span(code), words, f"write `{self.fresh}` here if the two need not be the same")
        elif pattern.role == "meta" and pattern.name != "_":
            self.names.setdefault(pattern.name, code)

    def _changed(self, pattern: Node, code: Node, what: str) -> Difference:
        ours, theirs = self.written(pattern), self.code(code)
        spans, hint = (_span(pattern), _span(code)), self._instead(pattern, code, what)
        if pattern.kind in ("String", "FText") and min(len(ours), len(theirs)) > _SHORT:
            spans = _parting(self.side.written, spans[0], self.source.text, spans[1])
            ours, theirs = _one_line(self.side.written[slice(*spans[0])]), _one_line(self.source.text[slice(*spans[1])])
            what = what or "inside the string"
            whole = f", or `{self.fresh}` for the whole string" if pattern.kind == "String" else ""
            hint = f"write it as it stands there{whole}"
        words = f"{what + ': ' if what else 'here '}the pattern has `{ours}`, the code has `{theirs}`"
        return Difference(*spans, words, hint)

    def _instead(self, pattern: Node, code: Node, what: str) -> str:
        theirs = self.code(code)
        if is_expression(pattern) and is_expression(code) and what not in ("the name", "the module", "the keyword"):
            return f"write `{theirs}` there, or `{self.fresh}` if any will do"
        return f"write `{theirs}` there"

    def _other(self, pattern: Node, code: Node, what: str) -> Difference:
        """Two kinds of syntax."""
        start = f"{what}: " if what else "here "
        score, inner = self.comparer.wrapped(pattern, code)
        if {pattern.kind, code.kind} == {"And", "Or"}:
            ours, theirs = pattern.kind.lower(), code.kind.lower()
            words = f"the operator: the pattern has `{ours}`, the code has `{theirs}`"
            return Difference(_span(pattern), _span(code), words, f"write `{theirs}` there")
        if inner is not None and score >= 0.6 * weight(pattern):
            words = f"{start}the pattern has `{self.written(pattern)}`, the code has it inside `{self.code(code)}`"
            return Difference(_span(pattern), _span(code), words, self._instead(pattern, code, what))
        ours, theirs = self._noun(pattern), self._noun(code)
        words = f"{start}the pattern has {ours}, the code has {theirs}"
        if is_expression(pattern):
            words = f"{start}the pattern has {ours}, `{self.written(pattern)}`; the code has {theirs}, `{self.code(code)}`"
        return Difference(_span(pattern), _span(code), words, self._instead(pattern, code, what))

    def _one_side(self, pattern: Node, code: Node, key: str, role: str) -> Iterator[Difference]:
        """A part that one side has and the other has not."""
        wanted, found = pattern.fields[key], code.fields.get(key)
        role = role or ("a value" if key == "value" else "this part")
        if isinstance(wanted, Node):
            words = f"the pattern has {role} `{self.written(wanted)}`, the code has none"
            words = "the pattern has `async`, the code has not" if key == "asynchronous" else words
            yield Difference(_span(wanted), self._head(code), words, "leave it out")
        elif isinstance(found, Node):
            words = f"the code has {role} `{self.code(found)}`, the pattern has none"
            words = "the code has `async`, the pattern has not" if key == "asynchronous" else words
            yield Difference(self._head(pattern), _span(found), words, "write it as it stands there")
        elif (wanted or None) != (found or None):
            words = f"here the pattern has `{self.written(pattern)}`, the code has `{self.code(code)}`"
            yield Difference(_span(pattern), _span(code), words, "write it as it stands there")

    # lists ------------------------------------------------------------------------------------------------------------
    def pairs(self, pairs: List[Pair], key: str, pattern: Optional[Node], code: Node) -> Iterator[Difference]:
        """The differences of two lists that were laid over each other; `pattern` and `code` hold them."""
        element = _ELEMENTS.get(key, "part")
        above: Pair = (None, None)
        for index, (ours, theirs) in enumerate(pairs):
            if ours is not None and theirs is not None:
                yield from self.node(ours, theirs, f"the {element}" if key in ("decorators", "targets") else "")
                above = (ours, theirs)
            elif ours is not None:
                following = next((pair[1] for pair in pairs[index:] if pair[1] is not None), None)
                yield self._missed(ours, element, code, above[1], following)
            elif theirs is not None:
                yield self._added(theirs, element, pattern, above[0], pairs[index:])

    def _missed(self, ours: Node, element: str, code: Node, above: Optional[Node], below: Optional[Node]) -> Difference:
        if ours.kind in STATEMENTS | CLAUSES:
            return self._missed_statement(ours, element, code, above, below)
        if ours.kind == "Keyword":
            words = f"the pattern has the keyword `{self.written(ours.node('arg'))}`, the code has no such keyword"
            return Difference(_span(ours), self._head(code), words, "leave it out, or write `...` for arguments of any name")
        words = f"the pattern has the {element} `{self.written(ours)}`, the code has no such {element}"
        return Difference(_span(ours), self._head(code), words, f"leave it out if the {element} need not be there")

    def _missed_statement(
        self, ours: Node, element: str, code: Node, above: Optional[Node], below: Optional[Node]
    ) -> Difference:
        """A statement (or clause) that is not where the pattern has it; it may stand deeper down, or further away."""
        there = above or below or code
        text = f"the {element} `{self.written(ours)}`"
        inside = self._elsewhere(ours, code, there, after=above is not None)
        if inside is None:
            where = f"beside line {self.source.lines.number(there.start)}"
            words = f"the pattern has {text}, the code has no such {element} {where}"
            return Difference(_span(ours), self._head(there), words, "leave it out if it need not be there")
        far, near = _holder(inside), _holder(above or below) if above or below else _holder(code) or code
        words, hint = f"the pattern has {text} here, in the code it is line {self.source.lines.number(inside.start)}", ""
        if far is not None and far is not near and _within(far, near):
            words = f"the pattern has {text} here, in the code it stands inside {self._header(far)}"
            hint = "write that header above it, or a hunk that begins with this statement: it is found in any block"
        elif near is not None and near is not far and _within(near, far):
            words = f"the pattern has {text} here, in the code it stands outside of {self._header(near)}, the rest inside"
            hint = "write that header between them, or a hunk for one of the two alone"
        hint = hint or "write ` ...` where other statements may stand, and the statements in the order of the code"
        return Difference(_span(ours), _span(inside), words, hint)

    def _header(self, node: Node) -> str:
        header = _one_line(self.source.text[node.start : self.source.lines.end(node.start)]).rstrip(" :")
        return f"the `{header}` of line {self.source.lines.number(node.start)}"

    def _elsewhere(self, ours: Node, code: Node, beside: Node, *, after: bool) -> Optional[Node]:
        """Where a missed statement stands now: of several the nearest, with `after` those past its neighbour first."""
        try:
            top = code
            while top.parent is not None and top.kind not in ("FunctionDef", "ClassDef"):
                top = top.parent
            places = [node for node in top.walk() if node.kind == ours.kind and not node.role]
            near = sorted(places, key=lambda node: (after and node.start < beside.start, abs(node.start - beside.start)))
            best = max(near, key=lambda node: self.comparer.measure(ours, node), default=None)
            if best is not None and self.comparer.measure(ours, best) >= _INSIDE * weight(ours):
                return best
        except TooMuch:
            pass
        return None

    def _added(
        self, theirs: Node, element: str, pattern: Optional[Node], above: Optional[Node], rest: List[Pair]
    ) -> Difference:
        below = next((pair[0] for pair in rest if pair[0] is not None), None)
        if theirs.kind in STATEMENTS | CLAUSES or theirs.kind == "Opaque":
            line = self.source.lines.number(theirs.begin)
            where = "between the two statements" if above is not None and below is not None else "there"
            words = f"the code has a {element} {where} that the pattern has not: line {line}, `{self.code(theirs)}`"
            beside = below or above or pattern
            hint = "write ` ...` on a line of its own for statements that may stand there"
            return Difference(_span(beside) if beside is not None else (0, 1), _span(theirs), words, hint)
        what = f"keyword `{self.code(theirs.node('arg'))}`" if theirs.kind == "Keyword" else f"{element} `{self.code(theirs)}`"
        words = f"the code has the {what}, the pattern has no such {'keyword' if theirs.kind == 'Keyword' else element}"
        at = self._end(pattern) if pattern is not None else (0, 1)
        return Difference(at, _span(theirs), words, f"write it, or `...` for {element}s that may stand there")

    # places -----------------------------------------------------------------------------------------------------------
    def _head(self, node: Node) -> Span:
        """What to mark of a node that lacks something: the name it begins with."""
        for key in ("func", "name"):
            part = node.fields.get(key)
            if isinstance(part, Node):
                return _span(part)
        if node.kind == "Parameters" and node.parent is not None and isinstance(node.parent.fields.get("name"), Node):
            return _span(node.parent.node("name"))
        return (node.start, max(node.end, node.start + 1))

    def _end(self, node: Node) -> Span:
        """Where a `...` would be written into a list: its closing bracket, else its name."""
        if node.kind in ("Call", "List", "Tuple", "Set", "Dict") and self.side.written[node.end - 1 : node.end] in (*")]}",):
            return node.end - 1, node.end
        return self._head(node)

    def _noun(self, node: Node) -> str:
        if node.role:
            return "any code"
        article = "an" if node.kind[0] in "AEIO" else "a"
        return _NOUNS.get(node.kind, f"{article} `{node.kind.lower()}`")


def _parting(a: str, of_a: Span, b: str, of_b: Span) -> Tuple[Span, Span]:
    """The first words that two texts do not have in common; how a string is cut into pieces is not looked at."""
    left, right = re.findall(r"\w+|\W", a[slice(*of_a)]), re.findall(r"\w+|\W", b[slice(*of_b)])
    steps = [step for step in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if step[0] != "equal"]
    words = (step for step in steps if any(len(word) > 1 for word in (*left[step[1] : step[2]], *right[step[3] : step[4]])))
    _, i, i_end, j, j_end = next(words, ("replace", 0, len(left), 0, len(right)))
    return _tokens(left, of_a[0], i, i_end), _tokens(right, of_b[0], j, j_end)


def _tokens(tokens: List[str], start: int, first: int, end: int) -> Span:
    begin = start + len("".join(tokens[:first]))
    return begin, begin + max(1, len("".join(tokens[first:end])))


def _within(node: Optional[Node], holder: Optional[Node]) -> bool:
    while node is not None and node is not holder:
        node = node.parent
    return node is not None


def _holder(node: Optional[Node]) -> Optional[Node]:
    """The compound statement or clause whose body a statement stands in."""
    block = node.parent if node is not None else None
    return block.parent if block is not None else None


def _span(node: Node) -> Span:
    return node.start, max(node.end, node.start + 1)


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
