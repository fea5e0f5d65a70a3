"""The checks on the finished text, before a byte is written (format rule 17)."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from copy import copy
from itertools import accumulate
from typing import Callable, Iterator, NamedTuple, Sequence

from patcher.engine.find import find_form, scope_blocks, side_places
from patcher.engine.lex import meets
from patcher.engine.match import Match, Matcher, MatchRange, TooManySteps
from patcher.engine.names import NameUse, broken, name_use, unbound
from patcher.engine.node import Node, SyntaxProblem, same
from patcher.engine.source import Conflict, Edit, Source, lines_of
from patcher.engine.spatch.side import Hunk
from patcher.engine.syntax import check_for_ast
from patcher.message import Message, joined
from patcher.model import HunkAnswer, Splice, State, apply_splices

NESTED = Message("where one place is inside another, write a hunk that has both")
"""The hint where all places are meant and one of them is inside another."""

Rewritten = Callable[[Source, Hunk, MatchRange, Match], Sequence[Edit]]


class MatchEdits(NamedTuple):
    """The change of one place: its match, and the edits that make it; `nested` is whether they change places inside it too."""

    match: Match
    edits: Sequence[Edit]
    nested: bool = False


class Matched(NamedTuple):
    """A hunk, its form that counts, its answer, and the change of each place that it still has to change."""

    hunk: Hunk
    form: Hunk
    answer: HunkAnswer
    changes: Sequence[MatchEdits] = ()


def check_result(
    source: Source,
    new: bytes,
    matched: Sequence[Matched],
    splices: Sequence[Splice],
    injected: Sequence[str],
    rewritten: Rewritten,
) -> list[HunkAnswer]:
    """Check the finished text by rule 17.

    Args:
        source: the text before the change.
        new: the bytes after it.
        matched: the hunks and their matches in `source`.
        splices: what leads from `source` to `new`, sorted.
        injected: names that exist at run time without being bound in the file.
        rewritten: gives the edits that a hunk would make at a place.

    Returns:
        the answers of `matched`; those of the hunks that a failed check concerns become a conflict.
    """
    answers = [match.answer for match in matched]
    problem = ""
    redefined = Counter(name for name, _ in _redefinitions(source))
    use = name_use(source, _lines_of(source, splices)) if source.has_ast else None
    source.release()  # before the second tree is made
    try:
        result = Source(new)
        if not source.has_ast:
            result.whole()
    except SyntaxProblem as wrong:
        problem = wrong.message
    # the interpreter's own message is the clearest
    if problem or (source.has_ast and not result.has_ast):
        words = _syntax_error(new.decode(source.encoding)) if source.has_ast else ""
        problem = Message("the result does not parse: {words}", words=words or problem)
    else:
        offsets = _OffsetMap(source, result, splices)
        inserted = _inserted(source, result, splices)
        problem = _compile_problem(source, result, inserted) or _defined_twice(result, redefined)
        problem = problem or _equal_branches(result, matched, inserted)
    if problem:
        return _refused(answers, problem)
    checked: list[HunkAnswer] = []
    all_edits = [
        (edit, change) for match in matched for change in match.changes for edit in change.edits
    ]
    for match in matched:
        answer, hint = match.answer, ""
        try:
            problem = _second_change(result, match.hunk, rewritten) or _check_hunk(
                result, match, all_edits, offsets
            )
            hint = NESTED if match.form.text.flags.expected != 1 else ""
        except (SyntaxProblem, TooManySteps) as error:
            problem = Message("the result cannot be read for checking: {error}", error=error)
        except Conflict as error:
            problem = Message("applying it a second time would fail: {error}", error=error)
        checked.append(
            answer._replace(state=State.CONFLICT, problem=problem, hint=hint) if problem else answer
        )
    problem, hint = _name_problem(source, result, use, inserted, injected)
    return _refused(checked, problem, hint) if problem else checked


def change_problem(data: bytes, splices: Sequence[Splice], injected: Sequence[str]) -> str:
    """`patcher.engine.engine.splices_problem`."""
    try:
        source = Source(data)
        redefined = Counter(name for name, _ in _redefinitions(source))
        use = name_use(source, _lines_of(source, splices)) if source.has_ast else None
        result = Source(apply_splices(data, splices))
    except SyntaxProblem as wrong:
        return wrong.message
    if source.has_ast and not result.has_ast:
        return Message("the result does not parse: {words}", words=_syntax_error(result.text))
    inserted = _inserted(source, result, splices)
    problem = _compile_problem(source, result, inserted) or _defined_twice(result, redefined)
    return problem or _name_problem(source, result, use, inserted, injected)[0]


def _lines_of(source: Source, splices: Sequence[Splice]) -> list[tuple[int, int]]:
    """The first and the last line of what each splice replaces."""
    number, character = source.lines.number, source.character
    return [(number(character(each.start)), number(character(each.end))) for each in splices]


def _inserted(source: Source, result: Source, splices: Sequence[Splice]) -> list[tuple[int, int]]:
    """The character ranges of the result that splices have written."""
    offsets = _OffsetMap(source, result, splices)
    starts = [offsets.to(splice.start) for splice in splices]
    return [
        (start, start + len(splice.new.decode(source.encoding)))
        for start, splice in zip(starts, splices)
    ]


def _name_problem(
    source: Source,
    result: Source,
    use: NameUse | None,
    inserted: Sequence[tuple[int, int]],
    injected: Sequence[str],
) -> tuple[str, str]:
    """The problem and the hint where a name is read that nothing binds (rule 27), else "" and ""."""
    missing = unbound(source, result, inserted, injected)
    if missing:
        names = joined(
            ", ",
            (
                Message("`{item.name}` (line {item.line} of the result)", item=item)
                for item in missing
            ),
        )
        problem = Message(
            "the inserted code reads names that nothing binds there: {names}", names=names
        )
        return problem, Message(
            "import them in the inserted code, or list injected names in the variant (`names = […]`)"
        )
    lines = [(result.lines.number(start), result.lines.number(end)) for start, end in inserted]
    unread = broken(use, result, lines, injected)
    if not unread:
        return "", ""
    line, lost, function = unread[0]
    if function:
        problem = Message(
            "`{lost}` is a local of `{function}` now, and line {line} of the result reads it before it is bound",
            lost=lost,
            function=function[1:],
            line=line,
        )
        return problem, Message("give it another name")
    problem = Message(
        "`{lost}` is read in line {line} of the result, and nothing binds it there any more",
        lost=lost,
        line=line,
    )
    return problem, Message("keep what binds it, or change what reads it in the same patchset")


def source_problem(data: bytes) -> str:
    """Why a text is not Python; "" where this interpreter can compile it, or libcst alone read it: newer syntax."""
    try:
        source = Source(data)
    except (SyntaxProblem, RecursionError) as error:
        words = error.message if isinstance(error, SyntaxProblem) else error
        return Message(
            "the result does not parse: {words}",
            words=_syntax_error(data.decode("utf-8", "replace")) or words,
        )
    problem = _compile_error(source.tree.body) if source.tree is not None else ""
    return Message("the result does not compile: {error}", error=problem) if problem else ""


def _refused(answers: Sequence[HunkAnswer], problem: str, hint: str = "") -> list[HunkAnswer]:
    """The answers, with a conflict for each hunk that changes the text."""
    return [
        answer._replace(state=State.CONFLICT, problem=problem, hint=hint)
        if answer.splices
        else answer
        for answer in answers
    ]


class _OffsetMap:
    """Maps byte offsets of the old text to character offsets of the new one."""

    def __init__(self, source: Source, result: Source, splices: Sequence[Splice]) -> None:
        self.source, self.result = source, result
        self.starts, self.ends = (
            [splice.start for splice in splices],
            [splice.end for splice in splices],
        )
        self.growth = [
            0,
            *accumulate(len(splice.new) - (splice.end - splice.start) for splice in splices),
        ]

    def to(self, byte: int, *, end: bool = False) -> int:
        """The character offset in the new text of a byte offset in the old one; `end` puts it after insertions there."""
        passed = bisect_right(self.ends, byte) if end else bisect_left(self.starts, byte)
        return self.result.character(byte + self.growth[passed])


def _second_change(result: Source, hunk: Hunk, rewritten: Rewritten) -> str:
    """The problem where applying the hunk to the result would change it again, else ""."""
    form, places = find_form(result, hunk)
    for place in places.todo:
        edits = rewritten(result, form, place, place.matches[0])
        if any(result.text[edit.start : edit.end] != edit.text for edit in edits):
            line = result.lines.number(place.start)
            return Message(
                "applying it a second time would change the result again, at line {line} of it",
                line=line,
            )
    return ""


def _check_hunk(
    result: Source,
    matched: Matched,
    all_edits: Sequence[tuple[Edit, MatchEdits]],
    offsets: _OffsetMap,
) -> str:
    """The problem where the after side of a hunk does not match at each place that was changed, else ""."""
    hunk = matched.form
    if not matched.changes or not hunk.after.nodes:
        return ""
    places = _after_side_places(result, hunk)
    byte = offsets.source.byte
    for change in matched.changes:
        match, edits, _ = change
        inside = [
            edit for edit in edits if edit.end >= match.start and edit.start <= match.end
        ] or edits
        start = offsets.to(byte(min([match.start, *(edit.start for edit in inside)])))
        end = offsets.to(byte(max([match.end, *(edit.end for edit in inside)])), end=True)
        if not any(
            place.start < end
            and start < place.end
            and any(_same_names(change, after, all_edits) for after in place.matches)
            for place in places
        ):
            line = result.lines.number(start)
            foreign = (
                edit
                for edit, owner in all_edits
                if all(owner is not own_change for own_change in matched.changes)
            )
            shared = next(
                (edit for edit in foreign if edit.start < match.end and match.start < edit.end),
                None,
            )
            if shared is not None:
                where = offsets.source.lines.number(shared.start)
                return Message(
                    "another hunk of this patchset changes line {where}, which this one writes too: write one hunk for both",
                    where=where,
                )
            return Message(
                "the after side does not match the result at line {line} of it: the change would not be what the hunk says",
                line=line,
            )
    return ""


def _after_side_places(result: Source, hunk: Hunk) -> list[MatchRange]:
    """Where the after side matches, whatever optional parts are there too."""
    matcher = Matcher(strict=False)
    blocks = scope_blocks(result, hunk.after_scope, hunk.after)
    return [place for block in blocks for place in side_places(hunk, hunk.after, block, matcher)]


def _same_names(
    change: MatchEdits, after: Match, all_edits: Sequence[tuple[Edit, MatchEdits]]
) -> bool:
    """Whether the metavariables are bound to the same code in the result, leaving out code that another change edits."""
    for name, node in after.names.items():
        old = change.match.names[name]
        edited = (
            owner for edit, owner in all_edits if old.start <= edit.start and edit.end <= old.end
        )
        if same(old, node) or change.nested:
            continue
        if all(owner is change for owner in edited):
            return False
    return True


def _compile_problem(source: Source, result: Source, inserted: Sequence[tuple[int, int]]) -> str:
    """The compiler's error on code that the parser accepts: a `return` outside of a function, a parameter given twice."""
    if result.tree is None:
        return ""
    lines = [(result.lines.number(start), result.lines.number(end)) for start, end in inserted]
    error = _compile_error(_statements_near(result.tree.body, lines))
    before = source.tree if error else None
    return (
        Message("the result does not compile: {error}", error=error)
        if before is not None and not _compile_error(before.body)
        else ""
    )


def _defined_twice(result: Source, before: Counter[str]) -> str:
    """The problem where the change defines a name twice; `before` counts the redefinitions of the old text."""
    for name, line in _redefinitions(result):
        before[name] -= 1
        if before[name] < 0:
            return Message(
                "`{name}` would be defined twice (line {line} of the result): upstream has one of that name",
                name=name,
                line=line,
            )
    return ""


def _equal_branches(
    result: Source, matched: Sequence[Matched], inserted: Sequence[tuple[int, int]]
) -> str:
    """The problem where all branches of an `if` come out equal that are written otherwise: upstream has one of them."""
    after = [top for match in matched if match.changes for top in match.form.after.nodes]
    written = [_branches(node) for top in after for node in top.walk() if node.kind == "If"]
    if not any(written) or any(
        branches and all(same(branches[0], branch) for branch in branches) for branches in written
    ):
        return ""
    for node in ast.walk(result.tree) if result.tree is not None else ():
        if (
            isinstance(node, ast.If)
            and len({ast.dump(ast.Module(body, [])) for body in _bodies(node)}) == 1
        ):
            begins = [node, *(body[0] for body in _bodies(node))]
            # only blanks before each
            starts = [result.lines.starts[part.lineno - 1] + part.col_offset for part in begins]
            is_whole = result.text.startswith("if", starts[0])  # no `elif`
            if is_whole and any(
                begin <= start < end for start in starts for begin, end in inserted
            ):
                line = node.lineno
                return Message(
                    "all branches of the `if` in line {line} of the result would be equal: upstream has one of them",
                    line=line,
                )
    return ""


def _branches(node: Node) -> list[Node]:
    """The bodies of an `if` with an `else`; none without one."""
    clauses = node.items("clauses")
    return (
        [clause.node("body") for clause in (node, *clauses)]
        if clauses and clauses[-1].kind == "Else"
        else []
    )


def _bodies(node: ast.If) -> list[list[ast.stmt]]:
    """`_branches`, in the tree of the interpreter."""
    bodies, orelse = [node.body], node.orelse
    while len(orelse) == 1 and isinstance(orelse[0], ast.If):
        bodies, orelse = [*bodies, orelse[0].body], orelse[0].orelse
    return [*bodies, orelse] if orelse else []


def _redefinitions(source: Source) -> Iterator[tuple[str, int]]:
    """The qualified name and line of each undecorated `def` or `class` that replaces an earlier one in the same body.

    Not counted where a statement or a base class between the two reads the name: the earlier one is still used then.
    """
    waiting: list[tuple[str, list[ast.stmt]]] = [
        ("", source.tree.body if source.tree is not None else [])
    ]
    while waiting:
        prefix, body = waiting.pop()
        others: list[ast.AST] = []
        seen: dict[
            str, int
        ] = {}  # the number of other statements and base classes above the last one
        for node in body:
            if isinstance(node, ast.ClassDef):
                waiting.append((f"{prefix}{node.name}.", node.body))
                others += node.bases
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                and not node.decorator_list
            ):
                if node.name in seen and not any(
                    _names(each, node.name) for each in others[seen[node.name] :]
                ):
                    yield prefix + node.name, node.lineno
                seen[node.name] = len(others)
            elif not isinstance(node, ast.ClassDef):
                others.append(node)


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _statements_near(body: Sequence[ast.stmt], lines: Sequence[tuple[int, int]]) -> list[ast.stmt]:
    """The statements at or beside the given lines, and `__future__` imports: to compile a whole file or class costs much."""
    statements: list[ast.stmt] = []
    for node in body:
        start, end = lines_of(node)
        # has to be above the others
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future or meets(lines, start - 1, end + 1):
            if isinstance(node, ast.ClassDef):
                inside = _statements_near(node.body, lines) or node.body[:1]
                node = copy(node)
                node.body = inside
            statements.append(node)
    return statements


def _compile_error(body: list[ast.stmt]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(ast.Module(body=body, type_ignores=[]), "result", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
        except (RecursionError, MemoryError):
            return ""  # too deeply nested for the compiler; the parser read it
    return ""


def _syntax_error(code: str) -> str:
    """The interpreter's own message; "" where the text is only nested too deeply for it."""
    try:
        check_for_ast(code)
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        # that message advises to change a setting of the interpreter
        digits = "Exceeds the limit" in str(error)
        return (
            Message("a number has more digits than Python reads; write it in hexadecimal")
            if digits
            else str(error)
        )
    except (SyntaxProblem, RecursionError, MemoryError):
        pass
    return ""
