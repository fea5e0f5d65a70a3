"""What makes a hunk hold in fewer releases than it could, and two hunks that are for the same code."""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence, Tuple

from patcher.engine.find import surroundings
from patcher.engine.match import Matcher
from patcher.engine.node import Node, SyntaxProblem, same
from patcher.engine.source import Source
from patcher.engine.spatch import notation
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.message import Message
from patcher.model import HunkText, OptionValue

# context lines; arguments that stay; characters of a string
_MANY_LINES, _MANY_ARGUMENTS, _LONG = (
    4,
    3,
    40,
)
_FEW_NAMES = 2  # of a statement that may stand in another branch as well
_Reasons = Iterator[Tuple[str, str, str]]  # rule, text, hint
_LITERALS = ("Integer", "Float", "String")


class Advice(NamedTuple):
    """What could be better in a hunk: the 1-based line of its `@@`, a name for the rule, what is wrong, and what to do."""

    line: int
    rule: str
    text: str
    hint: str


def advice(
    hunks: Sequence[HunkText], options: Mapping[str, OptionValue], cases: Iterable[bytes]
) -> Iterator[Advice]:
    """`patcher.engine.engine.advise`."""
    compiled = compile_hunks(hunks, options)
    sources = list(_sources(cases))
    for form in (form for hunk in compiled for form in hunk.forms):
        reasons = (
            *_general(form),
            *_specific(form),
            *_literals(form),
            *_unmarked(form),
            *_unguarded(form, sources),
        )
        yield from (Advice(form.text.line, *reason) for reason in reasons)
    for hunk in compiled:
        for other in compiled:
            if hunk is not other and hunk.text.scope == other.text.scope and _meet(hunk, other):
                text = Message(
                    "it changes code that the hunk in line {line} changes too", line=other.text.line
                )
                yield Advice(hunk.text.line, "overlap", text, Message("write one hunk for both"))


def _sources(cases: Iterable[bytes]) -> Iterator[Source]:
    for data in cases:
        try:
            yield Source(data)
        except SyntaxProblem:
            continue  # `sitepatch check` says so


def _general(hunk: Hunk) -> _Reasons:
    nodes = [part for top in hunk.before.nodes for part in top.walk()]
    runs = all(node.role == "run" for node in hunk.before.nodes)
    strings = [node for node in nodes if node.kind == "String" and not node.role]
    if not (runs or strings or frozenset().union(*hunk.before.identifiers())):
        hint = Message("write a name or a string that only this place has")
        yield (
            "too-general",
            Message("it is looked for by placeholders alone, which stand for any code"),
            hint,
        )


def _specific(hunk: Hunk) -> _Reasons:
    kept = [text for tag, text, _ in hunk.text.lines if tag == " " and text.strip()]
    if len(kept) > _MANY_LINES and not any(
        [*notation.holes(text)] or "..." in text for text in kept
    ):
        text = Message(
            "{number} lines of context are written out: a release that changes one of them is refused",
            number=len(kept),
        )
        yield (
            "too-specific",
            text,
            Message("keep the line that names the place; `...` stands for others"),
        )
    for call in _calls(hunk.before.nodes):
        for other in _calls(hunk.after.nodes):
            args = call.items("args")
            stays = [
                argument
                for argument in args
                if any(same(argument, after) for after in other.items("args"))
            ]
            last = max(
                (index for index, argument in enumerate(args) if argument not in stays),
                default=len(args),
            )
            # they say which call it is
            names = [argument for argument in args[:last] if argument.is_identity]
            stays = [argument for argument in stays if argument not in names]
            stays = [
                argument for argument in stays if not any(part.role for part in argument.walk())
            ]
            if same(call.node("func"), other.node("func")) and len(stays) >= _MANY_ARGUMENTS:
                stay = "{number} arguments that stay are written out: a release that changes one of them is refused"
                text = Message(stay, number=len(stays))
                yield "too-specific", text, Message("write `...` for those that do not matter")
                return


def _literals(hunk: Hunk) -> _Reasons:
    """Literals on both sides that name no place: long strings, the values of keyword arguments."""
    after = [part for top in hunk.after.nodes for part in top.walk()]
    for node in (part for top in hunk.before.nodes for part in top.walk()):
        value = node.fields.get("value")
        literal = (
            node
            if node.kind == "String"
            else value
            if node.kind == "Keyword" and isinstance(value, Node)
            else None
        )
        if (
            literal is None
            or literal.role
            or literal.kind not in _LITERALS
            or not any(same(node, other) for other in after)
        ):
            continue
        written = str(literal.fields["value"])
        if node.kind == "Keyword":
            name = node.node("arg").fields.get("value")
            text = Message(
                "the value of `{name}` stays {written}: a release with another one is refused",
                name=name,
                written=written,
            )
            yield (
                "needless-literal",
                text,
                Message("write `{name}=$_`, or `...` for the argument", name=name),
            )
        elif len(written) > _LONG:
            text = Message("a long string stays as it is: a release that words it anew is refused")
            yield "needless-literal", text, Message("write `$_`")


def _unmarked(hunk: Hunk) -> _Reasons:
    tags = {tag for tag, text, _ in hunk.text.lines if text.strip()}
    if "-" not in tags and not any(
        "# sitepatch" in text for tag, text, _ in hunk.text.lines if tag == "+"
    ):
        yield (
            "mark",
            Message("inserted statements are not marked as such"),
            Message("add a comment: # sitepatch: NAME"),
        )


def _unguarded(hunk: Hunk, cases: Sequence[Source]) -> _Reasons:
    """A place that is one statement with few names and, in the cases, stands inside others, which the hunk does not write."""
    alone = (
        hunk.form == "statements"
        and len(hunk.before.nodes) == 1
        and not hunk.before.nodes[0].is_compound
    )
    if (
        alone
        and hunk.text.inside is None
        and len(frozenset().union(*hunk.before.identifiers())) <= _FEW_NAMES
    ):
        frames = {inside for source in cases for _, inside in surroundings(source, hunk)}
        if len(frames) == 1 and frames != {()}:
            text = Message(
                "one statement is its place, in whatever branch or loop of the scope a release has it"
            )
            yield (
                "unguarded",
                text,
                Message(
                    "write `{flag}` to hold it where it stands", flag=inside_flag(frames.pop())
                ),
            )


def _calls(nodes: Sequence[Node]) -> list[Node]:
    return [part for top in nodes for part in top.walk() if part.kind == "Call" and not part.role]


def _meet(hunk: Hunk, other: Hunk) -> bool:
    """Whether a hunk is for the same code as another one of its scope, or for an expression in what that removes."""
    if [repr(node) for node in hunk.before.nodes] == [repr(node) for node in other.before.nodes]:
        return hunk.form == other.form and not all(node.role == "run" for node in hunk.before.nodes)
    if hunk.form != "expression" or hunk.text.when_present or other.text.when_present:
        return False
    pattern = hunk.before.nodes[0]
    stays = [part for top in other.after.nodes for part in top.walk()]
    return any(
        any(True for _ in Matcher().node(pattern, part))
        and not any(same(part, node) for node in stays)
        for top in other.before.nodes
        for part in top.walk()
        if part.is_expression
        and not part.role
        and other.before.number(part) not in other.before.context
    )
