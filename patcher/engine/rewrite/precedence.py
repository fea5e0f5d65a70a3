"""When an expression needs parentheses where it is put (format rule 13).

The numbers are those of the operator precedence table in the Python language reference, loosest first.
"""

from __future__ import annotations

from patcher.engine.node import Node

_OPERATORS = {
    "|": 8, "^": 9, "&": 10, "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "@": 13, "/": 13, "//": 13, "%": 13, "**": 15,
}  # fmt: skip
_OWN = {"GeneratorExp": -1, "NamedExpr": -1, "Yield": 0, "Tuple": 1, "Lambda": 2, "IfExp": 3, "Or": 4, "And": 5}
_OWN = {**_OWN, "Comparison": 7, "Await": 16, "Integer": 16}  # `3.x` would be read as a number
TIGHTEST = 17
# (kind of the parent, field) -> how tightly an expression there must bind; everything else takes what `_LIST` or 0 says
_NEEDED = {
    ("Attribute", "value"): 17, ("Call", "func"): 17, ("Subscript", "value"): 17, ("Await", "expression"): 17,
    ("Comparison", "left"): 8, ("ComparisonTarget", "comparator"): 8, ("And", "values"): 6, ("Or", "values"): 5,
    ("IfExp", "body"): 4, ("IfExp", "test"): 4, ("IfExp", "orelse"): 2, ("Lambda", "body"): 2, ("Star", "value"): 8,
    ("DoubleStar", "value"): 8, ("Keyword", "value"): 2, ("Call", "args"): 2, ("ClassDef", "args"): 2,
    ("Tuple", "elements"): 2, ("List", "elements"): 2, ("Set", "elements"): 2, ("DictElement", "key"): 2,
    ("DictElement", "value"): 2, ("Slice", "lower"): 2, ("Slice", "upper"): 2, ("Slice", "step"): 2,
    ("Subscript", "slice"): 1, ("CompFor", "iter"): 4, ("CompIf", "test"): 4, ("NamedExpr", "value"): 2,
    ("FExpr", "expression"): 3, ("If", "test"): 2, ("Elif", "test"): 2, ("While", "test"): 2, ("Assert", "test"): 2,
    ("Assert", "msg"): 2, ("Raise", "exc"): 2, ("Raise", "cause"): 2, ("From", "item"): 2, ("WithItem", "item"): 2,
    ("Decorator", "value"): 2, ("Param", "default"): 2, ("Param", "annotation"): 2, ("FunctionDef", "returns"): 2,
    ("Assign", "annotation"): 2, ("Except", "type"): 2, ("ListComp", "elt"): 2, ("SetComp", "elt"): 2,
    ("GeneratorExp", "elt"): 2, ("DictComp", "key"): 2, ("DictComp", "value"): 2,
}  # fmt: skip


def binding(node: Node) -> int:
    """How tightly an expression binds, from the precedence table of the Python language reference; atoms are 17."""
    if node.kind == "BinaryOperation":
        return _OPERATORS[str(node.node("operator").fields["value"])]
    if node.kind == "UnaryOperation":
        return 6 if node.node("operator").fields["value"] == "not" else 14
    return _OWN.get(node.kind, TIGHTEST)


def is_bare(node: Node) -> bool:
    """Whether a node is a generator without parentheses of its own, which can only be the single argument of a call."""
    return node.kind == "GeneratorExp" and node.outer_start == node.start


def enclosed(text: str, tight: int, place: Node) -> str:
    """Code in parentheses, if it binds less tightly than the place of `place` asks for."""
    outer = place.parent
    brace = outer is not None and outer.fields.get("expression") is place and outer.kind == "FExpr" and text[:1] == "{"
    return f"({text})" if tight < needed(place) or brace else text


def needed(node: Node) -> int:
    """How tightly an expression in the place of `node` must bind."""
    parent = node.parent
    if parent is None:
        return 0
    field = node.field()
    if parent.kind == "BinaryOperation" and field in ("left", "right"):
        operator = str(parent.node("operator").fields["value"])
        tight = _OPERATORS[operator]
        return (16 if field == "left" else 14) if operator == "**" else tight + (field == "right")
    if parent.kind == "UnaryOperation" and field == "expression":
        return 6 if parent.node("operator").fields["value"] == "not" else 14
    return _NEEDED.get((parent.kind, field), 0)
