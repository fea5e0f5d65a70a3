"""The hunks of one patchset and one text: an answer for each hunk, and the new bytes."""

from __future__ import annotations

import gc
import re
from typing import Mapping, Sequence

from patcher.engine.check import NESTED, Matched, MatchEdits, check_result
from patcher.engine.find import FoundPlaces, already_deleted, find_form, find_hunk, outermost
from patcher.engine.match import MAX_MATCHES, MatchRange, TooManySteps
from patcher.engine.node import SyntaxProblem
from patcher.engine.rewrite.align import insertion_anchors
from patcher.engine.rewrite.rewriter import rewritten
from patcher.engine.source import Conflict, Edit, Removed, Source
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.engine.text import rewrite_text
from patcher.message import Message
from patcher.model import HunkAnswer, HunkText, OptionValue, Rewrite, Splice, State, apply_splices
from patcher.text.lines import common_ends
from patcher.text.splices import compose


def rewrite_source(
    data: bytes,
    hunks: Sequence[HunkText],
    options: Mapping[str, OptionValue],
    injected: Sequence[str],
) -> Rewrite:
    """`patcher.engine.engine.rewrite` for hunks that are syntax."""
    compiled = compile_hunks(hunks, options)
    _check_anchors(compiled)
    collects = gc.isenabled()
    gc.disable()  # on a megabyte of source two thirds of the time went to collections that find nothing
    try:
        return _rewritten(Source(data), compiled, injected)
    except RecursionError:
        message = Message(
            "the code is nested too deeply to be read, or a hunk is too long to be matched"
        )
    except SyntaxProblem as problem:
        where = Message(" (line {line})", line=problem.line) if problem.line else ""
        message = Message(
            "the file cannot be read as Python: {message}{where}",
            message=problem.message,
            where=where,
        )
    finally:
        if collects:
            gc.enable()
    return Rewrite(
        data, (), tuple(HunkAnswer(hunk.text, State.CONFLICT, problem=message) for hunk in compiled)
    )


def _rewritten(source: Source, compiled: Sequence[Hunk], injected: Sequence[str]) -> Rewrite:
    matched = [_answered(source, hunk) for hunk in compiled]
    answers = [match.answer for match in matched]
    if not any(answer.state.failed for answer in answers):
        answers, splices = _merge(source, matched)
        if splices and not any(answer.state.failed for answer in answers):
            new = apply_splices(source.data, splices)
            matched = [match._replace(answer=answer) for match, answer in zip(matched, answers)]
            answers = check_result(source, new, matched, splices, injected, rewritten)
            if not any(answer.state.failed for answer in answers):
                return Rewrite(new, tuple(splices), tuple(answers))
    stripped = tuple(answer._replace(splices=()) for answer in answers)
    return Rewrite(source.data, (), stripped)


def answer_alone(source: Source, hunk: HunkText, options: Mapping[str, OptionValue]) -> HunkAnswer:
    """The answer for one hunk by itself, without the checks on the finished text.

    Raises:
        PatchError: the hunk is wrong in itself.
    """
    if hunk.plain:
        return rewrite_text(source.data, [hunk]).answers[0]
    match = _answered(source, compile_hunks([hunk], options)[0])
    return match.answer if match.answer.state.failed else _merge(source, [match])[0][0]


def _check_anchors(hunks: Sequence[Hunk]) -> None:
    """Refuse hunks that insert at the same anchor: their order would be undefined (rule 14).

    Anchors that only coincide in the file are found by `_merge`, as a conflict.
    """
    seen: dict[tuple[str, str, str], int] = {}
    for hunk in hunks if len(hunks) > 1 else ():
        if hunk.form != "expression":
            anchors = set(insertion_anchors(hunk))
            before = re.sub(r"\brun\([^)]*\)", "...", repr(hunk.before.nodes)) if anchors else ""
            for anchor in anchors:
                first_line = seen.setdefault((hunk.text.scope, before, anchor), hunk.text.line)
                if first_line != hunk.text.line:
                    reject(
                        hunk.text.origin,
                        hunk.text.line,
                        Message(
                            "inserts at the same place as the hunk in line {first}: write one",
                            first=first_line,
                        ),
                    )


# matching -------------------------------------------------------------------------------------------------------------
def _answered(source: Source, hunk: Hunk) -> Matched:
    """Match a hunk by itself, and make the edits of the form that counts."""
    try:
        form, places = find_form(source, hunk)
        unchanged = _counted(source, form, places)
        answer, changes = (
            (unchanged, []) if unchanged is not None else _changed_all(source, form, places.todo)
        )
        return Matched(hunk, form, answer._replace(hunk=hunk.text), changes)
    except SyntaxProblem as problem:
        message = problem.message
    except TooManySteps:
        message = Message(
            "the pattern can be laid over this code in too many ways to try: write more of what stands between the `...`"
        )
    return Matched(hunk, hunk, HunkAnswer(hunk.text, State.CONFLICT, problem=message))


def _counted(source: Source, hunk: Hunk, places: FoundPlaces) -> HunkAnswer | None:
    """The answer where nothing is to change, or not as many places as expected; None where it is to be applied."""
    total = len(places.todo) + len(places.done)
    count = hunk.text.flags.expected
    if total == 0 and hunk.text.flags.when_present:
        return HunkAnswer(hunk.text, State.NOT_NEEDED)
    if total == 0 or total < count:
        from patcher.engine.not_found import not_found  # only where something went wrong

        problem, hint = not_found(source, hunk, places)
        if hunk.others and not total:
            template = "none of the {number} forms of this hunk is found; the first one: {problem}"
            problem = Message(template, number=len(hunk.forms), problem=problem)
        gone = all(already_deleted(source, form, find_hunk(source, form)) for form in hunk.forms)
        return HunkAnswer(hunk.text, State.NOT_FOUND, problem=problem, hint=hint, gone=gone)
    if count and total > count:
        where = sorted(source.lines.number(place.start) for place in [*places.todo, *places.done])
        problem = Message(
            "found {total} places in `{scope}` (lines {lines}), expected {count}",
            total=total,
            scope=hunk.text.scope,
            lines=", ".join(map(str, where)),
            count=count,
        )
        hint = Message("write more of the code around the place, or say `count=all`")
        return HunkAnswer(
            hunk.text, State.AMBIGUOUS, _lines(source, places.todo), problem=problem, hint=hint
        )
    return (
        None if places.todo else HunkAnswer(hunk.text, State.UPSTREAM, _lines(source, places.done))
    )


def _lines(source: Source, places: Sequence[MatchRange]) -> tuple[int, ...]:
    return tuple(source.lines.number(place.start) for place in places)


def _changed_all(
    source: Source, hunk: Hunk, places: Sequence[MatchRange]
) -> tuple[HunkAnswer, list[MatchEdits]]:
    """`_changed`; a place inside another one is changed in what becomes of that, where that writes it anew (rule 23)."""
    answer, changes = _changed(source, hunk, places)
    if answer.state.failed or hunk.text.flags.expected != 0 or outermost(places, places) == places:
        return answer, changes
    made, inner = source, changes
    splices: tuple[Splice, ...] = ()
    for round_number in range(len(places)):
        step = _merge(made, [Matched(hunk, hunk, answer, inner)])[1]
        splices = compose(len(source.data), splices, step)
        made = Source(apply_splices(made.data, step))
        left = find_hunk(made, hunk).todo
        if not left:
            return answer, _edited(source, changes, splices) if round_number else changes
        inner_answer, inner = _changed(made, hunk, left)
        if inner_answer.state.failed:
            break
    problem = Message(
        "line {line}: one place is inside another, and cannot be changed in what becomes of that",
        line=answer.places[0],
    )
    return answer._replace(state=State.CONFLICT, problem=problem, hint=NESTED), []


def _edited(
    source: Source, changes: Sequence[MatchEdits], splices: Sequence[Splice]
) -> list[MatchEdits]:
    """The changes with the edits that splices make, each with those inside it."""
    edits: list[list[Edit]] = [[] for _ in changes]
    ends = [max([change.match.end, *(edit.end for edit in change.edits)]) for change in changes]
    for start, end, new in splices:
        edit = Edit(source.character(start), source.character(end), new.decode(source.encoding))
        owner = next((at for at, last in enumerate(ends) if edit.start <= last), len(ends) - 1)
        edits[owner].append(edit)
    return [MatchEdits(change.match, own, nested=True) for change, own in zip(changes, edits)]


def _changed(
    source: Source, hunk: Hunk, places: Sequence[MatchRange]
) -> tuple[HunkAnswer, list[MatchEdits]]:
    """The answer of one form, with the edits of all places, or of none where one is ambiguous or in conflict."""
    changes: list[MatchEdits] = []
    for place in places:
        if hunk.text.flags.expected == 0 and any(_reaches_into(place, outer) for outer in changes):
            continue
        line = source.lines.number(place.start)
        try:
            choices = _choices(source, hunk, place)
        except Conflict as conflict:
            return HunkAnswer(hunk.text, State.CONFLICT, (line,), problem=str(conflict)), []
        if len(choices) > 1 or len(place.matches) == MAX_MATCHES:
            number = (
                len(place.matches)
                if len(place.matches) < MAX_MATCHES
                else Message("more than {limit}", limit=MAX_MATCHES - 1)
            )
            problem = Message(
                "the code at line {line} can be matched in {number} ways that would change different parts of it",
                line=line,
                number=number,
            )
            hint = Message("write what stands beside the part that is meant")
            return HunkAnswer(hunk.text, State.AMBIGUOUS, (line,), problem=problem, hint=hint), []
        changes.append(MatchEdits(place.matches[0], choices[0]))
    starts = [
        min((edit.start for edit in edits), default=match.start) for match, edits, _ in changes
    ]
    return HunkAnswer(hunk.text, State.APPLICABLE, tuple(map(source.lines.number, starts))), changes


def _choices(source: Source, hunk: Hunk, place: MatchRange) -> list[list[Edit]]:
    """The different edits that the matches of a place would make."""
    choices: list[list[Edit]] = []
    for match in place.matches[: MAX_MATCHES - 1]:
        edits = rewritten(source, hunk, place, match)
        if edits not in choices:
            choices.append(edits)
    return choices


def _reaches_into(place: MatchRange, outer: MatchEdits) -> bool:
    """Whether the change of a place that this one is inside of writes this one's code anew (rule 23)."""
    within = outer.match.start <= place.start and place.end <= outer.match.end
    return within and any(edit.start < place.end and place.start < edit.end for edit in outer.edits)


# merging --------------------------------------------------------------------------------------------------------------
def _merge(source: Source, matched: Sequence[Matched]) -> tuple[list[HunkAnswer], list[Splice]]:
    """All edits of all hunks as splices; hunks that overlap or insert at one place are in conflict (rule 14).

    Lines for an inner block and lines for the block around it have one order at one place: the inner block's are first.
    """
    answers = [match.answer for match in matched]
    edits = [
        (edit, index)
        for index, match in enumerate(matched)
        for change in match.changes
        for edit in change.edits
    ]
    inner_first = sorted(
        _without_empty_blocks(edits), key=lambda item: _depth(item[0]), reverse=True
    )
    ordered = _without_blank_lines(source, sorted(inner_first, key=_range))
    for (left, above), (right, below) in zip(ordered, ordered[1:]):
        same_anchor = (
            left.start == right.start
            and left.end == left.start
            and right.end == right.start
            and above != below
        )
        if right.start < left.end or (same_anchor and _depth(left) == _depth(right)):
            line = source.lines.number(right.start)
            message = Message(
                "two changes of this patchset meet at line {line}: write one hunk for both",
                line=line,
            )
            answers = [
                answer._replace(state=State.CONFLICT, problem=message)
                if index in (above, below)
                else answer
                for index, answer in enumerate(answers)
            ]
            return answers, []
    splices: list[Splice] = []
    by_hunk: dict[int, list[Splice]] = {}
    try:
        for edit, index in ordered:
            edit = _trimmed(source.text, edit)
            if edit.start < edit.end or edit.text:
                splice = source.splice(edit.start, edit.end, edit.text)
                splices.append(splice)
                by_hunk.setdefault(index, []).append(splice)
    except SyntaxProblem as problem:
        return [
            answer._replace(state=State.CONFLICT, problem=problem.message) for answer in answers
        ], []
    # A change that has no effect (an option with upstream's own value) counts as upstream.
    return [
        answer._replace(state=State.UPSTREAM)
        if answer.state is State.APPLICABLE and i not in by_hunk
        else answer._replace(splices=tuple(by_hunk.get(i, ())))
        for i, answer in enumerate(answers)
    ], splices


def _depth(edit: Edit) -> tuple[int, bool]:
    """The indentation of the whole lines that an edit inserts, -1 for none, and whether they are a clause."""
    # the latter after the end of a file
    is_lines = edit.text.endswith(("\n", "\r")) or edit.text.startswith(("\n", "\r"))
    code = next((line for line in edit.text.splitlines() if is_lines and line.strip()), "")
    inside = code.lstrip()
    return (len(code) - len(inside) if code else -1), bool(
        re.match(r"(elif|else|except|finally)\b", inside)
    )


def _without_empty_blocks(edits: list[tuple[Edit, int]]) -> list[tuple[Edit, int]]:
    """Where all statements of a block are deleted, by whichever hunks, the last becomes `pass` (rule 15)."""
    deleted: dict[tuple[int, int], list[Removed]] = {}
    for edit, _ in edits:
        if edit.removed is not None and edit.removed.block is not None:
            deleted.setdefault(edit.removed.block, []).append(edit.removed)
    block_ends = {max(removed) for (_, count), removed in deleted.items() if len(removed) == count}
    return [
        (Edit(e.removed.start, e.removed.end, "pass") if e.removed in block_ends else e, i)
        for e, i in edits
    ]


def _without_blank_lines(source: Source, ordered: list[tuple[Edit, int]]) -> list[tuple[Edit, int]]:
    """Of the blank lines above, between and below deleted lines, by whichever hunks, the longest run stays (rule 19)."""
    code, lines = source.text, source.lines
    blank: list[tuple[Edit, int]] = []
    runs: list[tuple[int, int]] = []
    for (edit, index), (following, _) in zip(
        ordered, [*ordered[1:], (Edit(len(code), len(code), ""), 0)]
    ):
        if edit.removed is not None:
            start, end = edit.start, edit.end
            while start and not code[lines.start(start - 1) : start].strip(" \t\r\n"):
                start = lines.start(start - 1)
            while end < following.start and not code[end : lines.end(end)].strip(" \t\r\n"):
                end = lines.end(end)
            runs += [(edit.end, end)] if runs else [(start, edit.start), (edit.end, end)]
            if end < following.start or following.removed is None:
                longest = max(
                    reversed(runs),
                    key=lambda run: (run[1] == len(code), len(code[slice(*run)].splitlines())),
                )
                blank += [(Edit(*run, ""), index) for run in runs if run != longest]
                runs = []
    return sorted([*ordered, *blank], key=_range)


def _range(item: tuple[Edit, int]) -> tuple[int, int]:
    return item[0].start, item[0].end


def _trimmed(code: str, edit: Edit) -> Edit:
    """The edit without the common prefix and suffix of the old and the new text."""
    old, new = code[edit.start : edit.end], edit.text
    head, tail = common_ends(old, new)
    return Edit(edit.start + head, edit.end - tail, new[head : len(new) - tail])
