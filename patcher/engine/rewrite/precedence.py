"""When an expression needs parentheses where it is inserted (format rule 13).

The numbers are those of the operator precedence table in the Python language reference, loosest first.
"""

from __future__ import annotations

from typing import Sequence

from patcher.engine.node import Node

_LEVELS = {8: "|", 9: "^", 10: "&", 11: "<< >>", 12: "+ -", 13: "* @ / // %", 15: "**"}
_OPERATORS = {
    operator: level for level, operators in _LEVELS.items() for operator in operators.split()
}
_OWN = {
    "GeneratorExp": -2,
    "NamedExpr": -2,
    "Yield": -1,
    "Tuple": 1,
    "Lambda": 2,
    "IfExp": 3,
    "Or": 4,
    "And": 5,
}
_OWN = {**_OWN, "Comparison": 7, "Await": 16, "Integer": 16}  # `3.x` would be read as a number
_STARRED = 0  # a tuple with a `*`: Python 3.8 does not read it everywhere without parentheses
_ANYTHING = -1
TIGHTEST = 17
# how tightly an expression must bind -> where: KIND OF THE PARENT.FIELD; everywhere else it may be anything
_PLACES = {
    0: "Return.value Yield.value Match.subject",
    1: "Subscript.slice For.iter AugAssign.value",
    2: """IfExp.orelse Lambda.body Keyword.value Call.args ClassDef.args Tuple.elements List.elements Set.elements
        DictElement.key DictElement.value Slice.lower Slice.upper Slice.step NamedExpr.value If.test Elif.test While.test
        Assert.test Assert.msg Raise.exc Raise.cause From.item WithItem.item Decorator.decorator Param.default
        Param.annotation FunctionDef.returns Assign.annotation Except.type ListComp.elt SetComp.elt GeneratorExp.elt
        DictComp.key DictComp.value ExceptStar.type Case.guard TypeAlias.value TypeVar.bound TypeParam.default""",
    3: "FExpr.expression",
    4: "IfExp.body IfExp.test CompFor.iter CompIf.test",
    5: "Or.values",
    6: "And.values",
    8: "Comparison.left ComparisonTarget.comparator Star.value DoubleStar.value",
    17: "Attribute.value Call.func Subscript.value Await.expression",
}
_NEEDED = {place: level for level, places in _PLACES.items() for place in places.split()}


def binding(node: Node) -> int:
    """How tightly an expression binds, from the precedence table of the Python language reference; atoms are 17."""
    if node.kind == "BinaryOperation":
        return _OPERATORS[str(node.node("operator").fields["value"])]
    if node.kind == "UnaryOperation":
        return 6 if node.node("operator").fields["value"] == "not" else 14
    if node.kind == "Tuple" and has_star(node.items("elements")):
        return _STARRED
    return _OWN.get(node.kind, TIGHTEST)


def has_star(elements: Sequence[Node]) -> bool:
    """Whether one of the elements of a tuple is unpacked into it."""
    return any(element.kind == "Star" for element in elements)


def is_bare(node: Node) -> bool:
    """Whether a node is a generator without parentheses of its own, which is valid only as the one argument of a call."""
    return node.kind == "GeneratorExp" and not node.parenthesised


def with_parentheses(code: str, tight: int, place: Node) -> str:
    """The code `code`, in parentheses where it binds less tightly than the place of the node `place` needs."""
    outer = place.parent
    brace = (
        outer is not None
        and outer.fields.get("expression") is place
        and outer.kind == "FExpr"
        and code[:1] == "{"
    )
    return f"({code})" if tight < needed(place) or brace else code


def needed(node: Node) -> int:
    """How tightly an expression in the place of `node` must bind."""
    parent = node.parent
    if parent is None:
        return _ANYTHING
    field = node.field()
    if parent.kind == "BinaryOperation" and field in ("left", "right"):
        operator = str(parent.node("operator").fields["value"])
        tight = _OPERATORS[operator]
        return (16 if field == "left" else 14) if operator == "**" else tight + (field == "right")
    if parent.kind == "UnaryOperation" and field == "expression":
        return 6 if parent.node("operator").fields["value"] == "not" else 14
    return _NEEDED.get(f"{parent.kind}.{field}", _ANYTHING)
