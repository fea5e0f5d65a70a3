"""The answer for each hunk of a patchset on one text, and the text they make of it."""

from __future__ import annotations

import gc
import re
from typing import Mapping, Sequence

from patcher.engine.changes import NESTED, MatchedHunk, PlaceChange
from patcher.engine.check import check_result
from patcher.engine.combine import combine
from patcher.engine.find import FoundPlaces, already_deleted, find_form, find_hunk, outermost
from patcher.engine.match import MAX_MATCHES, MatchRange, TooManySteps
from patcher.engine.node import SyntaxProblem
from patcher.engine.rewrite.align import insertion_anchors
from patcher.engine.rewrite.rewriter import rewritten
from patcher.engine.source import Conflict, Edit, Source, read_source
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.engine.text import rewrite_text, unchanged
from patcher.message import Message
from patcher.model import HunkAnswer, HunkText, OptionValue, Rewrite, Splice, State, apply_splices
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
    gc.disable()  # of a megabyte of source two thirds of the time went to vain collections
    try:
        return _rewritten(read_source(data), compiled, injected)
    except RecursionError:
        problem = Message(
            "the code is nested too deeply to be read, or a hunk is too long to be matched"
        )
    except SyntaxProblem as error:
        where = Message(" (line {line})", line=error.line) if error.line else ""
        problem = Message(
            "the file cannot be read as Python: {message}{where}",
            message=error.message,
            where=where,
        )
    finally:
        if collects:
            gc.enable()

    answers = []
    for hunk in compiled:
        answers.append(HunkAnswer(hunk.text, State.CONFLICT, problem=problem))

    return unchanged(data, answers)


def _rewritten(
    source: Source,
    compiled: Sequence[Hunk],
    injected: Sequence[str],
) -> Rewrite:
    """What hunks make of a text; `injected` are names that the file has from elsewhere."""
    matched = _with_moves(source, [_match(source, hunk) for hunk in compiled])
    answers = [each.answer for each in matched]
    splices: list[Splice] = []
    if not _has_failed(answers):
        answers, splices = combine(source, matched)

    if splices and not _has_failed(answers):
        matched = [each._replace(answer=answer) for each, answer in zip(matched, answers)]
        new = apply_splices(source.data, splices)
        answers = check_result(
            source,
            new,
            matched,
            splices,
            injected=injected,
        )

        if not _has_failed(answers):
            return Rewrite(new, tuple(splices), tuple(answers))

    return unchanged(source.data, answers)


def _has_failed(answers: Sequence[HunkAnswer]) -> bool:
    """Whether a hunk cannot be applied."""
    return any(answer.state.failed for answer in answers)


def answer_alone(
    source: Source,
    hunk: HunkText,
    options: Mapping[str, OptionValue],
    *,
    explained: bool = True,
) -> HunkAnswer:
    """The answer for one hunk by itself, without the checks on the finished text.

    Unless `explained`, it does not say what is closest to a hunk that is not found: on a long
    pattern that takes seconds.

    Raises:
        PatchError: the hunk is wrong in itself.
    """
    if hunk.plain:
        return rewrite_text(source.data, [hunk]).answers[0]

    (compiled,) = compile_hunks([hunk], options)
    matched = _match(source, compiled, explained=explained)
    if matched.answer.state.failed:
        return matched.answer

    answers, _ = combine(source, [matched])
    return answers[0]


def _check_anchors(hunks: Sequence[Hunk]) -> None:
    """Refuse hunks that insert at the same anchor: their order would be undefined (rule 14).

    Anchors that only coincide in the file are found by `combine`, as a conflict.
    """
    if len(hunks) < 2:
        return

    lines: dict[tuple[str, str, str], int] = {}
    for hunk in hunks:
        if hunk.form == "expression":
            continue

        anchors = set(insertion_anchors(hunk))
        if not anchors:
            continue

        before = re.sub(r"\brun\([^)]*\)", "...", repr(hunk.before.nodes))
        for anchor in anchors:
            place = (hunk.text.scope, before, anchor)
            first_line = lines.setdefault(place, hunk.text.line)
            if first_line != hunk.text.line:
                problem = Message(
                    "inserts at the same place as the hunk in line {first}: write one",
                    first=first_line,
                )
                reject(hunk.text.origin, hunk.text.line, problem)


# matching -----------------------------------------------------------------------------------------
def _match(source: Source, hunk: Hunk, *, explained: bool = True) -> MatchedHunk:
    """Match one hunk by itself, and compute the edits of the form that counts.

    `explained` is that of `answer_alone`.
    """
    try:
        form, places = find_form(source, hunk)
        answer = _settled(source, form, places, explained=explained)
        changes: list[PlaceChange] = []
        if answer is None:
            answer, changes = _change(source, form, places.todo)
        return MatchedHunk(
            hunk,
            form,
            answer=answer._replace(hunk=hunk.text),
            changes=changes,
        )
    except SyntaxProblem as error:
        problem = error.message
    except TooManySteps:
        problem = Message(
            "the pattern can be laid over this code in too many ways to try: "
            "write more of what stands between the `...`"
        )

    answer = HunkAnswer(hunk.text, State.CONFLICT, problem=problem)
    return MatchedHunk(hunk, form=hunk, answer=answer)


def _with_moves(source: Source, matched: Sequence[MatchedHunk]) -> list[MatchedHunk]:
    """The same, with deletions of what stands nowhere but where other hunks insert it (rule 26).

    Such code was moved, and the file has it where it was moved to.
    """
    if not any(map(_is_not_found, matched)):
        return list(matched)
    inserted = _upstream_places(source, matched)
    if not inserted:
        return list(matched)

    with_moves: list[MatchedHunk] = []
    for each in matched:
        if _is_not_found(each) and _is_gone(source, each.hunk, inserted=inserted):
            each = each._replace(answer=each.answer._replace(gone=True))
        with_moves.append(each)
    return with_moves


def _is_not_found(matched: MatchedHunk) -> bool:
    """Whether a hunk is not found, and what it deletes is not gone either."""
    return matched.answer.state is State.NOT_FOUND and not matched.answer.gone


def _upstream_places(source: Source, matched: Sequence[MatchedHunk]) -> list[MatchRange]:
    """Where the code of the hunks that are upstream stands."""
    places: list[MatchRange] = []
    for each in matched:
        if each.answer.state is State.UPSTREAM:
            places += find_form(source, each.hunk)[1].done
    return places


def _settled(
    source: Source, hunk: Hunk, places: FoundPlaces, *, explained: bool
) -> HunkAnswer | None:
    """The answer where there is nothing to change, or the number of places is wrong.

    None where the hunk is to be applied.
    """
    total = len(places.todo) + len(places.done)
    expected = hunk.text.flags.expected
    if total == 0 and hunk.text.flags.when_present:
        return HunkAnswer(hunk.text, State.NOT_NEEDED)
    if total == 0 or total < expected:
        if not explained:
            return HunkAnswer(hunk.text, State.NOT_FOUND)
        return _too_few(source, hunk, places)
    if expected and total > expected:
        return _too_many(source, hunk, places)
    if places.todo:
        return None
    return HunkAnswer(hunk.text, State.UPSTREAM, _lines(source, places.done))


def _too_few(source: Source, hunk: Hunk, places: FoundPlaces) -> HunkAnswer:
    """The answer for a hunk with fewer places than it expects."""
    from patcher.engine.not_found import not_found  # with difflib: only where something went wrong

    problem, hint = not_found(source, hunk, places)
    if hunk.further_forms and not (places.todo or places.done):
        problem = Message(
            "none of the {number} forms of this hunk is found; the first one: {problem}",
            number=len(hunk.forms),
            problem=problem,
        )

    return HunkAnswer(
        hunk.text,
        State.NOT_FOUND,
        problem=problem,
        hint=hint,
        gone=_is_gone(source, hunk),
    )


def _is_gone(source: Source, hunk: Hunk, *, inserted: Sequence[MatchRange] = ()) -> bool:
    """Whether what each form deletes is gone already.

    Args:
        source: the text.
        hunk: the hunk.
        inserted: places of other hunks, in which it may stand.
    """
    for form in hunk.forms:
        places = find_hunk(source, form)
        if not already_deleted(source, form, places, inserted=inserted):
            return False
    return True


def _too_many(source: Source, hunk: Hunk, places: FoundPlaces) -> HunkAnswer:
    """The answer for a hunk with more places than it expects."""
    lines = sorted(_lines(source, places.all))
    problem = Message(
        "found {total} places in `{scope}` (lines {lines}), expected {count}",
        total=len(lines),
        scope=hunk.text.scope,
        lines=", ".join(map(str, lines)),
        count=hunk.text.flags.expected,
    )

    return HunkAnswer(
        hunk.text,
        State.AMBIGUOUS,
        places=_lines(source, places.todo),
        problem=problem,
        hint=Message("write more of the code around the place, or say `count=all`"),
    )


def _lines(source: Source, places: Sequence[MatchRange]) -> tuple[int, ...]:
    """The lines (1-based) on which places begin."""
    return tuple(source.lines.number(place.start) for place in places)


# changing -----------------------------------------------------------------------------------------
def _change(
    source: Source,
    hunk: Hunk,
    places: Sequence[MatchRange],
) -> tuple[HunkAnswer, list[PlaceChange]]:
    """The answer of one form, and the changes of all its places.

    A place inside another one is changed in the text that the outer change writes (rule 24).
    """
    answer, changes = _change_outermost(source, hunk, places)
    takes_all = hunk.text.flags.expected == 0
    is_nested = takes_all and outermost(places, places) != places
    if answer.state.failed or not is_nested:
        return answer, changes

    current = source
    current_changes = changes
    splices: tuple[Splice, ...] = ()
    for round_number in range(len(places)):
        matched = MatchedHunk(hunk, form=hunk, answer=answer, changes=current_changes)
        _, step = combine(current, [matched])
        splices = compose(len(source.data), splices, step)
        current = read_source(apply_splices(current.data, step))
        left = find_hunk(current, hunk).todo
        if not left:
            if round_number:
                changes = _with_inner(source, changes, splices)
            return answer, changes

        inner_answer, current_changes = _change_outermost(current, hunk, left)
        if inner_answer.state.failed:
            break

    problem = Message(
        "line {line}: one place is inside another, and cannot be changed in what becomes of that",
        line=answer.places[0],
    )
    return answer._replace(state=State.CONFLICT, problem=problem, hint=NESTED), []


def _with_inner(
    source: Source,
    changes: Sequence[PlaceChange],
    splices: Sequence[Splice],
) -> list[PlaceChange]:
    """The changes with the edits that `splices` make; each change owns those that end inside it."""
    ends = []
    for change in changes:
        edit_ends = [edit.end for edit in change.edits]
        ends.append(max([change.match.end, *edit_ends]))

    edits: list[list[Edit]] = [[] for _ in changes]
    owner = 0
    for start, end, new in splices:
        edit = Edit(
            source.character(start),
            source.character(end),
            text=new.decode(source.encoding),
        )

        while owner < len(ends) - 1 and ends[owner] < edit.start:
            owner += 1

        edits[owner].append(edit)

    with_inner: list[PlaceChange] = []
    for change, own in zip(changes, edits):
        with_inner.append(PlaceChange(change.match, own, nested=True))

    return with_inner


def _change_outermost(
    source: Source,
    hunk: Hunk,
    places: Sequence[MatchRange],
) -> tuple[HunkAnswer, list[PlaceChange]]:
    """The answer of one form, and the changes of the places that no other change rewrites.

    There are no changes if any place is ambiguous or in conflict.
    """
    takes_all = hunk.text.flags.expected == 0
    changes: list[PlaceChange] = []
    for place in places:
        is_inside = any(_reaches_into(place, outer) for outer in changes)
        if takes_all and is_inside:
            continue

        try:
            choices = _choices(source, hunk, place)
        except Conflict as conflict:
            lines = _lines(source, [place])
            return HunkAnswer(hunk.text, State.CONFLICT, lines, problem=str(conflict)), []

        if len(choices) > 1 or len(place.matches) == MAX_MATCHES:
            return _ambiguous(source, hunk, place), []
        changes.append(PlaceChange(place.matches[0], edits=choices[0]))

    starts = map(_first_change, changes)
    lines = tuple(map(source.lines.number, starts))
    return HunkAnswer(hunk.text, State.APPLICABLE, lines), changes


def _first_change(change: PlaceChange) -> int:
    """The offset of the first edit of a change; of a change without edits, that of its match."""
    return min((edit.start for edit in change.edits), default=change.match.start)


def _choices(source: Source, hunk: Hunk, place: MatchRange) -> list[list[Edit]]:
    """The distinct sets of edits that the matches of a place would make."""
    choices: list[list[Edit]] = []
    for match in place.matches[: MAX_MATCHES - 1]:
        edits = rewritten(source, hunk, place, match)
        if edits not in choices:
            choices.append(edits)

    return choices


def _ambiguous(source: Source, hunk: Hunk, place: MatchRange) -> HunkAnswer:
    """The answer for a place whose matches would change different parts of it."""
    number: object = len(place.matches)
    if len(place.matches) == MAX_MATCHES:
        number = Message("more than {limit}", limit=MAX_MATCHES - 1)
    line = source.lines.number(place.start)
    problem = Message(
        "the code at line {line} can be matched in {number} ways "
        "that would change different parts of it",
        line=line,
        number=number,
    )
    return HunkAnswer(
        hunk.text,
        State.AMBIGUOUS,
        places=(line,),
        problem=problem,
        hint=Message("write what stands beside the part that is meant"),
    )


def _reaches_into(place: MatchRange, outer: PlaceChange) -> bool:
    """Whether the change of an outer place rewrites the code of this one (rule 24)."""
    is_inside = outer.match.start <= place.start and place.end <= outer.match.end
    if not is_inside:
        return False

    return any(edit.start < place.end and place.start < edit.end for edit in outer.edits)
