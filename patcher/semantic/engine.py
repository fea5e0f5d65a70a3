"""One patchset's hunks against one text: every state of the design, every check of format rule 17. Pure: bytes in, `Rewrite` out."""

from __future__ import annotations

import ast
import difflib
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.errors import PatchError
from patcher.model import HunkAnswer, HunkText, OptionValue, Rewrite, Splice, State
from patcher.semantic.edits import Conflict
from patcher.semantic.match import Matcher, Place, TooManySteps, Way, same
from patcher.semantic.names import unbound
from patcher.semantic.node import Node, SyntaxProblem
from patcher.semantic.pattern import Hunk, Side, compile_hunk, identifiers, writes_body
from patcher.semantic.render import Edit
from patcher.semantic.rewrite import rewritten
from patcher.semantic.source import Source, matches
from patcher.semantic.splice import apply_splices


class _Found(NamedTuple):
    """Where a hunk stands in a text: places still to change, and places where the after side is in place."""

    todo: List[Place]
    done: List[Place]
    scopes: int


class _Failed(Exception):
    """A hunk that cannot be applied; carries its answer."""

    def __init__(self, answer: HunkAnswer) -> None:
        super().__init__(answer.problem)
        self.answer = answer


def compile_hunks(hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> List[Hunk]:
    """Parse and check hunks. Raises one `PatchError` with the problems of all of them."""
    compiled: List[Hunk] = []
    problems: List[str] = []
    for hunk in hunks:
        try:
            compiled.append(compile_hunk(hunk, options))
        except PatchError as error:
            problems.append(error.message)
    if problems:
        raise PatchError("\n".join(problems))
    return compiled


def rewrite(
    data: bytes, hunks: Sequence[HunkText], options: Mapping[str, OptionValue], injected: Sequence[str] = ()
) -> Rewrite:
    """Apply all hunks of one patchset for one file, or none of them.

    Args:
        data: the file's bytes.
        hunks: all matched against this same text.
        options: the value of each `$option`.
        injected: names that exist at run time without being bound in the file.

    Returns:
        the new bytes and their splices, or the old bytes and none where an answer has a failed state.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    compiled = compile_hunks(hunks, options)
    try:
        source = Source(data)
    except SyntaxProblem as problem:
        where = f" (line {problem.line})" if problem.line else ""
        text = f"the file cannot be read as Python: {problem.message}{where}"
        return Rewrite(data, (), tuple(HunkAnswer(hunk.text, State.CONFLICT, problem=text) for hunk in compiled))
    answers: List[HunkAnswer] = []
    edits: Dict[int, List[Edit]] = {}
    ways: Dict[int, List[Way]] = {}
    for index, hunk in enumerate(compiled):
        try:
            answer, edits[index], ways[index] = _answer(source, hunk)
        except _Failed as failed:
            answer = failed.answer
        except SyntaxProblem as problem:
            answer = HunkAnswer(hunk.text, State.CONFLICT, problem=problem.message)
        except TooManySteps:
            text = "the pattern can be laid over this code in too many ways to try: write more of what stands between the `...`"
            answer = HunkAnswer(hunk.text, State.CONFLICT, problem=text)
        answers.append(answer)
    answers = _mixed(answers)
    if not any(answer.state.failed for answer in answers):
        answers, splices = _merge(source, answers, edits)
        if splices and not any(answer.state.failed for answer in answers):
            new = apply_splices(data, splices)
            answers = _check(source, new, compiled, answers, splices, edits, ways, injected)
            if not any(answer.state.failed for answer in answers):
                return Rewrite(new, tuple(splices), tuple(answers))
    stripped = tuple(answer._replace(splices=()) for answer in answers)
    return Rewrite(data, (), stripped)


# finding --------------------------------------------------------------------------------------------------------------
def _find(source: Source, hunk: Hunk, scope: str) -> _Found:
    wanted = [*identifiers(hunk.before), *identifiers(hunk.after)]
    bodies = writes_body(hunk.before) or writes_body(hunk.after)
    blocks = source.scopes(scope, wanted, bodies=bodies)
    before = [place for block in blocks for place in _places(hunk, hunk.before, block)]
    after = [place for block in blocks for place in _places(hunk, hunk.after, block)] if hunk.proves else []
    if all(node.role == "run" for node in hunk.before.nodes):
        todo = [] if after else before
    else:
        todo = [b for b in before if not any(a.start <= b.start and b.end <= a.end for a in after)]
    if hunk.text.expected == 0:
        todo = [b for b in todo if not any(o is not b and o.start <= b.start and b.end <= o.end for o in todo)]
    done = [a for a in after if not any(o is not a and o.start <= a.start and a.end <= o.end for o in after)]
    return _Found(todo, done, len(blocks))


def _places(hunk: Hunk, side: Side, block: Node, *, strict: bool = True) -> List[Place]:
    module = hunk.text.scope == "<module>"
    matcher = Matcher(strict=strict)
    if hunk.form == "expression":
        return matcher.expressions(side.nodes[0], block, module=module)
    return matcher.runs(side.nodes, block, module=module, clauses=hunk.form == "clauses") if side.nodes else []


def _answer(source: Source, hunk: Hunk) -> Tuple[HunkAnswer, List[Edit], List[Way]]:
    found = _find(source, hunk, hunk.text.scope)
    if not found.scopes and hunk.after_scope != hunk.text.scope:
        found = _find(source, hunk, hunk.after_scope)
    total = len(found.todo) + len(found.done)
    count = hunk.text.expected
    if total == 0 and hunk.text.when_present:
        return HunkAnswer(hunk.text, State.NOT_NEEDED), [], []
    if total == 0 or total < count:
        raise _Failed(_not_found(source, hunk, found, total))
    if count and total > count:
        where = sorted(source.lines.number(place.start) for place in [*found.todo, *found.done])
        problem = f"found {total} places in `{hunk.text.scope}` (lines {', '.join(map(str, where))}), expected {count}"
        hint = "write more of the code around the place, or say `count=all`"
        places = tuple(source.lines.number(place.start) for place in found.todo)
        raise _Failed(HunkAnswer(hunk.text, State.AMBIGUOUS, places, problem=problem, hint=hint))
    if not found.todo:
        return HunkAnswer(hunk.text, State.UPSTREAM, tuple(source.lines.number(p.start) for p in found.done)), [], []
    edits: List[Edit] = []
    ways: List[Way] = []
    lines: List[int] = []
    for place in found.todo:
        made = _edits(source, hunk, place)
        edits += made
        ways.append(place.ways[0])
        lines.append(source.lines.number(min((edit.start for edit in made), default=place.start)))
    return HunkAnswer(hunk.text, State.APPLICABLE, tuple(lines)), edits, ways


def _edits(source: Source, hunk: Hunk, place: Place) -> List[Edit]:
    line = source.lines.number(place.start)
    choices: List[List[Edit]] = []
    try:
        for way in place.ways[:50]:
            made = rewritten(source, hunk, place, way)
            if made not in choices:
                choices.append(made)
    except Conflict as conflict:
        raise _Failed(HunkAnswer(hunk.text, State.CONFLICT, (line,), problem=str(conflict))) from None
    if len(choices) > 1 or len(place.ways) > 50:
        problem = f"the code at line {line} can be matched in {len(place.ways)} ways that would change different parts of it"
        hint = "write what stands beside the part that is meant"
        raise _Failed(HunkAnswer(hunk.text, State.AMBIGUOUS, (line,), problem=problem, hint=hint))
    return choices[0]


def _not_found(source: Source, hunk: Hunk, found: _Found, total: int) -> HunkAnswer:
    scope, count = hunk.text.scope, hunk.text.expected
    if not found.scopes:
        names = [definition.name for definition in source.definitions()]
        last = scope.split(".")[-1]
        near = [name for name in names if name.split(".")[-1] == last] or difflib.get_close_matches(scope, names, 3)
        hint = f"the file has: {', '.join(near[:3])}" if near else ""
        return HunkAnswer(hunk.text, State.NOT_FOUND, problem=f"there is no `{scope}` in this file", hint=hint)
    problem = f"`{scope}` is there, but the code to change is not"
    if total:
        problem = f"found {total} place(s) in `{scope}`, expected {count}"
    return HunkAnswer(hunk.text, State.NOT_FOUND, problem=problem, hint=_nearest(source, hunk))


def _nearest(source: Source, hunk: Hunk) -> str:
    """The line of the scope that looks most like the pattern, for the person to compare."""
    pattern = next((node for node in hunk.before.nodes if node.role != "run"), None)
    if pattern is None:
        return ""
    wanted = hunk.before.written[pattern.start : pattern.end].split("\n")[0].strip()
    spans = [(d.start, d.end) for d in source.definitions() if matches(d.name, hunk.text.scope)] or [(0, len(source.text))]
    rows = [
        (source.lines.number(offset), source.text[offset : source.lines.end(offset)].strip())
        for start, end in spans
        for offset in source.lines.starts
        if start <= offset < end
    ]
    close = difflib.get_close_matches(wanted, [row for _, row in rows], 1, 0.5)
    if not close:
        return f"looked for: {wanted}"
    number = next(number for number, row in rows if row == close[0])
    return f"looked for: {wanted}\nclosest, line {number}: {close[0]}"


# putting together -----------------------------------------------------------------------------------------------------
def _mixed(answers: List[HunkAnswer]) -> List[HunkAnswer]:
    """Rule 24: some hunks there already and others not means that upstream did it another way."""
    states = {answer.state for answer in answers}
    if State.APPLICABLE not in states:
        return answers
    return [
        answer._replace(
            state=State.CONFLICT,
            problem="this part of the patch stands there already and other parts do not: upstream did it another way",
            hint="compare the release with the patchset; mark hunks that may be there with `when-present`",
        )
        if answer.state is State.UPSTREAM and not answer.hunk.when_present
        else answer
        for answer in answers
    ]


def _merge(
    source: Source, answers: List[HunkAnswer], edits: Mapping[int, List[Edit]]
) -> Tuple[List[HunkAnswer], List[Splice]]:
    """All edits of all hunks as splices; hunks that overlap or insert at one place are in conflict (rule 14)."""
    ordered = sorted(
        ((edit, index) for index, made in edits.items() for edit in made), key=lambda item: (item[0].start, item[0].end)
    )
    for (left, one), (right, other) in zip(ordered, ordered[1:]):
        same_anchor = left.start == right.start and left.end == left.start and right.end == right.start and one != other
        if right.start < left.end or same_anchor:
            line = source.lines.number(right.start)
            text = f"two changes of this patchset meet at line {line}: write one hunk for both"
            answers = [
                answer._replace(state=State.CONFLICT, problem=text) if index in (one, other) else answer
                for index, answer in enumerate(answers)
            ]
            return answers, []
    splices: List[Splice] = []
    by_hunk: Dict[int, List[Splice]] = {}
    try:
        for edit, index in ordered:
            start, end, text = _trimmed(source.text, edit)
            if start < end or text:
                splice = source.splice(start, end, text)
                splices.append(splice)
                by_hunk.setdefault(index, []).append(splice)
    except SyntaxProblem as problem:
        return [answer._replace(state=State.CONFLICT, problem=problem.message) for answer in answers], []
    return [answer._replace(splices=tuple(by_hunk.get(i, ()))) for i, answer in enumerate(answers)], splices


def _trimmed(text: str, edit: Edit) -> Edit:
    """The edit without what is the same at its two ends."""
    old, new = text[edit.start : edit.end], edit.text
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(edit.start + head, edit.end - tail, new[head : len(new) - tail])


# checking -------------------------------------------------------------------------------------------------------------
def _check(
    source: Source,
    new: bytes,
    hunks: Sequence[Hunk],
    answers: List[HunkAnswer],
    splices: Sequence[Splice],
    edits: Mapping[int, List[Edit]],
    ways: Mapping[int, List[Way]],
    injected: Sequence[str],
) -> List[HunkAnswer]:
    """Rule 17, on the finished text. A failed check turns the answers of the hunks it concerns into a conflict."""
    problem = ""
    try:
        result = Source(new)
        if source.tree is not None and result.tree is None:
            problem = f"the result does not parse: {_syntax_error(result.text)}"
    except SyntaxProblem as error:
        problem = f"the result does not parse: {error.message}"
    if problem:
        return [answer._replace(state=State.CONFLICT, problem=problem) if answer.splices else answer for answer in answers]
    moved = _Moved(source, result, splices)
    checked: List[HunkAnswer] = []
    for index, (hunk, answer) in enumerate(zip(hunks, answers)):
        if answer.state is State.APPLICABLE:
            others = [edit for other, made in edits.items() if other != index for edit in made]
            problem = _check_hunk(result, hunk, ways[index], edits[index], others, moved)
            if problem:
                answer = answer._replace(state=State.CONFLICT, problem=problem)
        checked.append(answer)
    inserted = [(moved.to(splice.start), moved.to(splice.start) + len(splice.new.decode(source.encoding))) for splice in splices]
    missing = unbound(source, result, inserted, injected)
    if missing:
        names = ", ".join(f"`{item.name}` (line {item.line} of the result)" for item in missing)
        text = f"the inserted code reads names that nothing binds there: {names}"
        hint = "import them in the inserted code, or list injected names in the variant (`names = […]`)"
        checked = [
            answer._replace(state=State.CONFLICT, problem=text, hint=hint) if answer.splices else answer for answer in checked
        ]
    return checked


class _Moved:
    """Where an offset of the old text lies in the new one."""

    def __init__(self, source: Source, result: Source, splices: Sequence[Splice]) -> None:
        self.result = result
        self.steps: List[Tuple[int, int, int]] = []  # (byte start, byte end, growth in bytes)
        for splice in splices:
            self.steps.append((splice.start, splice.end, len(splice.new) - (splice.end - splice.start)))
        self.source = source

    def to(self, byte: int, *, end: bool = False) -> int:
        """The character offset in the new text of a byte offset in the old one; `end` puts it after insertions there."""
        growth = sum(step for start, stop, step in self.steps if (stop <= byte if end else start < byte))
        data = self.result.data[self.result.skipped : byte + growth]
        return len(data.decode(self.result.encoding, "ignore"))


def _check_hunk(
    result: Source, hunk: Hunk, ways: Sequence[Way], edits: Sequence[Edit], others: Sequence[Edit], moved: _Moved
) -> str:
    again = _find(result, hunk, hunk.text.scope)
    if again.todo:
        return "applying it a second time would change the result again"
    if not hunk.after.nodes:
        return ""
    wanted = [*identifiers(hunk.after)]
    blocks = result.scopes(hunk.after_scope, wanted, bodies=writes_body(hunk.after))
    standing = [place for block in blocks for place in _places(hunk, hunk.after, block, strict=False)]
    byte = moved.source.byte
    for way in ways:
        inside = [edit for edit in edits if edit.end >= way.start and edit.start <= way.end] or list(edits)
        start = moved.to(byte(min([way.start, *(edit.start for edit in inside)])))
        end = moved.to(byte(max([way.end, *(edit.end for edit in inside)])), end=True)
        if not any(
            place.start < end and start < place.end + 1 and any(_same_names(way, other, others) for other in place.ways)
            for place in standing
        ):
            line = result.lines.number(start)
            return f"the after side does not match the result at line {line} of it: the change would not be what the hunk says"
    return ""


def _same_names(way: Way, other: Way, edits: Sequence[Edit]) -> bool:
    """Whether the metavariables stand for the same code, leaving out code that another hunk changed meanwhile."""
    return all(
        same(way.names[name], node)
        or any(way.names[name].start <= edit.start and edit.end <= way.names[name].end for edit in edits)
        for name, node in other.names.items()
    )


def _syntax_error(text: str) -> str:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return "unknown reason"
