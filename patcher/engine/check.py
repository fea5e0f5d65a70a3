"""The checks on the finished text, before a byte is written (format rule 20)."""

from __future__ import annotations

from collections import Counter
from typing import Sequence

from patcher.engine.attributes import unset_attributes
from patcher.engine.changes import NESTED, FinishedText, MatchedHunk, PlaceChange
from patcher.engine.duplicates import (
    equal_branches,
    redefinitions,
    repeated_element,
    repeated_guard,
    repeated_key,
    twice_defined,
)
from patcher.engine.find import find_form, scope_blocks, side_places
from patcher.engine.interpreter import compile_error, compile_problem, syntax_error
from patcher.engine.match import Match, Matcher, MatchRange, TooManySteps
from patcher.engine.names import NameUse, Unbound, broken, name_use, unbound
from patcher.engine.node import SyntaxProblem, same
from patcher.engine.rewrite.rewriter import rewritten
from patcher.engine.source import Conflict, Edit, Source, read_source
from patcher.engine.spatch.side import Hunk
from patcher.engine.unreachable import never_run
from patcher.message import Message, joined
from patcher.model import HunkAnswer, Splice, State, apply_splices
from patcher.record import Record


class _Before(Record):
    """What the checks need to know of the text before the change."""

    redefinitions: Counter[str]
    use: NameUse | None


class _OwnedEdit(Record):
    """An edit, and the change that it belongs to."""

    edit: Edit
    change: PlaceChange


def check_result(
    source: Source,
    new: bytes,
    matched: Sequence[MatchedHunk],
    splices: Sequence[Splice],
    injected: Sequence[str],
) -> list[HunkAnswer]:
    """Check the finished text by rule 20.

    Args:
        source: the text before the change.
        new: the bytes after it.
        matched: the hunks and their matches in `source`.
        splices: what leads from `source` to `new`, sorted.
        injected: names that exist at run time without being bound in the file.

    Returns:
        the answers of `matched`; those of the hunks that fail a check become a conflict.
    """
    answers = [each.answer for each in matched]
    before = _before(source, splices)
    source.release()  # before the second tree is made
    try:
        result = _read_result(source, new)
    except SyntaxProblem as error:
        return _refused(answers, error.message)

    finished = FinishedText(source, result, splices)
    problem = (
        _text_problem(finished, before)
        or equal_branches(finished, matched)
        or repeated_key(finished, matched)
        or repeated_element(finished, matched)
        or repeated_guard(finished, matched)
        or never_run(finished, matched)
    )
    if problem:
        return _refused(answers, problem)

    all_edits = []
    for each in matched:
        for change in each.changes:
            all_edits += [_OwnedEdit(edit, change) for edit in change.edits]
    checked = [_checked(finished, each, all_edits) for each in matched]

    problem, hint = _name_problem(finished, before, injected)
    return _refused(checked, problem, hint) if problem else checked


def change_problem(data: bytes, splices: Sequence[Splice], injected: Sequence[str]) -> str:
    """`patcher.engine.engine.splices_problem`."""
    try:
        source = read_source(data)
        before = _before(source, splices)
        result = read_source(apply_splices(data, splices))
    except SyntaxProblem as error:
        return error.message
    if source.has_ast and not result.has_ast:
        return Message("the result does not parse: {words}", words=syntax_error(result.text))
    finished = FinishedText(source, result, splices)
    problem = _text_problem(finished, before)
    if not problem:
        problem, _ = _name_problem(finished, before, injected)
    return problem


def source_problem(data: bytes) -> str:
    """Why a text is not valid Python.

    Empty if this interpreter compiles it, or if libcst alone can read it (newer syntax).
    """
    try:
        source = read_source(data)
    except (SyntaxProblem, RecursionError) as error:
        words = syntax_error(data.decode("utf-8", "replace")) or str(error)
        return Message("the result does not parse: {words}", words=words)
    problem = compile_error(source.tree.body) if source.tree is not None else ""
    return Message("the result does not compile: {error}", error=problem) if problem else ""


# the whole text -----------------------------------------------------------------------------------
def _before(source: Source, splices: Sequence[Splice]) -> _Before:
    if not source.has_ast:
        return _Before(redefinitions(source), use=None)
    ranges = []
    for splice in splices:
        ranges.append((source.character(splice.start), source.character(splice.end)))
    return _Before(redefinitions(source), use=name_use(source, source.lines.numbers(ranges)))


def _read_result(source: Source, new: bytes) -> Source:
    """Parse the finished text.

    Raises:
        SyntaxProblem: it does not parse; in the interpreter's own words, which are the clearest.
    """
    words = ""
    try:
        result = read_source(new)
        if not source.has_ast:
            result.whole()
            return result
        if result.has_ast:
            return result
    except SyntaxProblem as error:
        words = error.message
    if source.has_ast:
        words = syntax_error(new.decode(source.encoding)) or words
    raise SyntaxProblem(Message("the result does not parse: {words}", words=words))


def _text_problem(finished: FinishedText, before: _Before) -> str:
    return compile_problem(finished) or twice_defined(finished, before.redefinitions)


def _refused(answers: Sequence[HunkAnswer], problem: str, hint: str = "") -> list[HunkAnswer]:
    """The answers, with a conflict for each hunk that changes the text."""
    refused = []
    for answer in answers:
        if answer.splices:
            answer = answer._replace(state=State.CONFLICT, problem=problem, hint=hint)
        refused.append(answer)
    return refused


def _name_problem(
    finished: FinishedText, before: _Before, injected: Sequence[str]
) -> tuple[str, str]:
    """The problem and hint if a name is read that nothing binds (rule 21), else empty."""
    source, result = finished.source, finished.result
    missing = unbound(source, result, finished.inserted, injected)
    if missing:
        problem = Message(
            "the inserted code reads names that nothing binds there: {names}",
            names=_listed(missing),
        )
        hint = Message(
            "import them in the inserted code, "
            "or list injected names in the variant (`names = […]`)"
        )
        return problem, hint

    unset = unset_attributes(finished, injected)
    if unset:
        problem = Message(
            "the inserted code reads attributes that nothing sets: {names}", names=_listed(unset)
        )
        hint = Message(
            "set them in the inserted code, "
            "or list what other files set in the variant (`names = […]`)"
        )
        return problem, hint

    unread = broken(before.use, result, finished.inserted_lines, injected)
    if not unread:
        return "", ""
    line, lost, function = unread[0]
    if function:
        problem = Message(
            "`{lost}` is a local of `{function}` now, "
            "and line {line} of the result reads it before it is bound",
            lost=lost,
            function=function[1:],
            line=line,
        )
        return problem, Message("give it another name")
    problem = Message(
        "`{unbound}` is read in line {line} of the result, and nothing binds it there any more",
        unbound=lost,
        line=line,
    )
    return problem, Message("keep what binds it, or change what reads it in the same patchset")


def _listed(missing: Sequence[Unbound]) -> str:
    """Names that inserted code reads, with their lines, for the user."""
    names = []
    for item in missing:
        template = "`{unbound}` (line {line} of the result)"
        names.append(Message(template, unbound=item.name, line=item.line))
    return joined(", ", names)


# one hunk -----------------------------------------------------------------------------------------
def _checked(
    finished: FinishedText, matched: MatchedHunk, all_edits: Sequence[_OwnedEdit]
) -> HunkAnswer:
    """The answer of a hunk; a conflict if it would change the result again, or is not in it."""
    hint = ""
    try:
        problem = _second_change(finished.result, matched.hunk)
        problem = problem or _missing_change(finished, matched, all_edits)
        if matched.form.text.flags.expected != 1:
            hint = NESTED
    except (SyntaxProblem, TooManySteps) as error:
        problem = Message("the result cannot be read for checking: {error}", error=error)
    except Conflict as error:
        problem = Message("applying it a second time would fail: {error}", error=error)
    if not problem:
        return matched.answer
    return matched.answer._replace(state=State.CONFLICT, problem=problem, hint=hint)


def _second_change(result: Source, hunk: Hunk) -> str:
    """The problem if applying the hunk to the result would change it again, else empty."""
    form, places = find_form(result, hunk)
    for place in places.todo:
        for edit in rewritten(result, form, place, place.matches[0]):
            if result.text[edit.start : edit.end] != edit.text:
                return Message(
                    "applying it a second time would change the result again, at line {line} of it",
                    line=result.lines.number(place.start),
                )
    return ""


def _missing_change(
    finished: FinishedText, matched: MatchedHunk, all_edits: Sequence[_OwnedEdit]
) -> str:
    """The problem if the after side does not match at every place that was changed, else empty."""
    hunk = matched.form
    if not matched.changes or not hunk.after.nodes:
        return ""
    places = _after_side_places(finished.result, hunk)
    for change in matched.changes:
        start, end = _changed_range(finished, change)
        matches: list[Match] = []
        for place in places:
            if place.start < end and start < place.end:
                matches += place.matches
        if any(_has_same_names(change, match, all_edits) for match in matches):
            continue
        shared = _shared_edit(matched, change, all_edits)
        if shared is not None:
            return Message(
                "another hunk of this patchset changes line {where}, which this one writes too: "
                "write one hunk for both",
                where=finished.source.lines.number(shared.start),
            )
        return Message(
            "the after side does not match the result at line {line} of it: "
            "the change would not be what the hunk says",
            line=finished.result.lines.number(start),
        )
    return ""


def _after_side_places(result: Source, hunk: Hunk) -> list[MatchRange]:
    """Where the after side matches, also beside optional parts that it does not write.

    A scope that another hunk renames has its old name if that one is `when-present` and not needed.
    """
    matcher = Matcher(strict=False)
    places = []
    for scope in {hunk.text.scope, hunk.upstream.scope}:
        for block in scope_blocks(result, scope, hunk.after):
            places += side_places(hunk, hunk.after, block, matcher)
    return places


def _changed_range(finished: FinishedText, change: PlaceChange) -> tuple[int, int]:
    """The range of the result that a change has written, together with the place it matched."""
    match = change.match
    touching = [
        edit for edit in change.edits if edit.end >= match.start and edit.start <= match.end
    ]
    edits = touching or change.edits
    start = min([match.start, *(edit.start for edit in edits)])
    end = max([match.end, *(edit.end for edit in edits)])
    byte = finished.source.byte
    return finished.offset(byte(start)), finished.offset(byte(end), end=True)


def _has_same_names(change: PlaceChange, after: Match, all_edits: Sequence[_OwnedEdit]) -> bool:
    """Whether the metavariables are bound to the same code in the result.

    Code that another change edits may differ.
    """
    if change.nested:
        return True
    for name, node in after.names.items():
        old = change.match.names[name]
        if same(old, node):
            continue
        is_own = True
        for edit, owner in all_edits:
            if old.start <= edit.start and edit.end <= old.end and owner is not change:
                is_own = False
        if is_own:
            return False
    return True


def _shared_edit(
    matched: MatchedHunk, change: PlaceChange, all_edits: Sequence[_OwnedEdit]
) -> Edit | None:
    """An edit of another hunk inside the code that a change matched; None if there is none."""
    match = change.match
    for edit, owner in all_edits:
        is_own = any(owner is each for each in matched.changes)
        if not is_own and edit.start < match.end and match.start < edit.end:
            return edit
    return None
