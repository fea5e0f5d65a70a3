"""Why each hunk does or does not match a text, in terms of code.

Pure: bytes in, an `Explanation` for each hunk out.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from patcher.engine.answers import answer_alone
from patcher.engine.closest import closest
from patcher.engine.engine import rewrite
from patcher.engine.find import find_form, find_in_scope, side_places, surroundings
from patcher.engine.match import MAX_MATCHES, Matcher, MatchRange, TooManySteps
from patcher.engine.node import SyntaxProblem, only_runs, walk_each
from patcher.engine.not_found import near_scopes
from patcher.engine.source import Source, in_scope, read_source
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.message import Message, joined, one_line
from patcher.model import (
    Closest,
    Explanation,
    HunkAnswer,
    HunkText,
    MatchedPlace,
    OptionValue,
    Scope,
    State,
)
from patcher.record import Record

_MOST = 5  # places elsewhere in the file that are reported
_CLOSE = 0.5  # least likeness of the code closest to a `when-present` hunk: below it is other code
_LONGEST = 40  # characters of code that tells two places apart
_UNMATCHED = (State.NOT_FOUND, State.NOT_NEEDED)


class _Nearby(Record):
    """The code that a hunk without a place may mean: outside of its scope, or closest inside it."""

    elsewhere: tuple[MatchedPlace, ...] = ()
    closest: Closest | None = None


def explain(
    data: bytes,
    hunks: Sequence[HunkText],
    options: Mapping[str, OptionValue],
    injected: Sequence[str] = (),
) -> tuple[Explanation, ...]:
    """Why each hunk does or does not match a text; arguments and states are those of `rewrite`.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    answers = rewrite(data, hunks, options, injected).answers
    unexplained = tuple(Explanation(answer) for answer in answers)
    if any(hunk.plain for hunk in hunks):
        return unexplained

    try:
        source = read_source(data)
    except SyntaxProblem:
        return unexplained

    compiled = compile_hunks(hunks, options)
    explanations = []
    for hunk, answer in zip(compiled, answers):
        explanations.append(_explain(source, hunk, answer))

    return tuple(explanations)


def _explain(source: Source, hunk: Hunk, answer: HunkAnswer) -> Explanation:
    """The explanation of an answer; of a hunk with several forms, of its decisive form and each."""
    if not hunk.further_forms:
        return _explain_form(source, hunk, answer)

    try:
        decisive, _ = find_form(source, hunk)
    except (SyntaxProblem, TooManySteps):
        decisive = hunk

    forms = []
    for form, text in zip(hunk.forms, hunk.text.forms):
        alone = answer_alone(source, text, hunk.options)
        forms.append(_explain_form(source, form, alone))

    explanation = _explain_form(source, decisive, answer)
    return explanation._replace(forms=tuple(forms))


def _explain_form(source: Source, hunk: Hunk, answer: HunkAnswer) -> Explanation:
    """The explanation of an answer, for one form of its hunk."""
    answer = answer._replace(hunk=hunk.text)
    scopes = _scopes(source, hunk)
    near = () if scopes else near_scopes(source, hunk.text.scope)
    matches: tuple[MatchedPlace, ...] = ()
    nearby = _Nearby()
    try:
        places = _places(source, hunk, answer.state)
        matches = tuple(_matched_place(source, hunk, place) for place in places)
        if answer.state is State.AMBIGUOUS and len(places) > 1:
            hint = _telling_apart(source, places)
            answer = answer._replace(hint=hint)

        if answer.state is State.APPLICABLE and not answer.splices:
            alone = answer_alone(source, hunk.text, hunk.options)
            answer = answer._replace(splices=alone.splices)

        if answer.state in _UNMATCHED and not _says_where(source, hunk, answer):
            elsewhere = () if matches else _elsewhere(source, hunk, scopes)
            best = _closest(source, hunk, scopes, near)
            is_needed = answer.state is not State.NOT_NEEDED
            if best is not None and best.likeness < _CLOSE and not is_needed:
                best = None
            nearby = _Nearby(elsewhere, closest=best)
            answer = _with_advice(answer, nearby, near)
    except (SyntaxProblem, TooManySteps):
        pass  # the answer says why; there is no place to report

    answer = _with_reason(answer, is_defined=bool(scopes), is_matched=bool(matches))
    return Explanation(
        answer=answer,
        scopes=scopes,
        near=near,
        matches=matches,
        elsewhere=nearby.elsewhere,
        closest=nearby.closest,
    )


def _scopes(source: Source, hunk: Hunk) -> tuple[Scope, ...]:
    """The definitions that the scope of a hunk names, before or after its change."""
    scopes = []
    for name, start, end in source.definitions():
        is_before = in_scope(name, hunk.text.scope)
        is_after = in_scope(name, hunk.upstream.scope)
        if is_before or is_after:
            first = source.lines.number(start)
            last = source.lines.number(max(start, end - 1))
            scopes.append(Scope(name, first, last=last))

    return tuple(scopes)


def _with_reason(
    answer: HunkAnswer,
    *,
    is_defined: bool,
    is_matched: bool,
) -> HunkAnswer:
    """The answer, with the reason if there is nothing to be done."""
    scope = answer.hunk.scope
    if answer.state is State.NOT_NEEDED:
        fact = Message("there is no `{scope}` in this file", scope=scope)
        if is_defined or scope == "<module>":
            fact = Message("the code that it changes is not in `{scope}`", scope=scope)
        reason = Message("{what}, and `when-present` says that it need not be", what=fact)
        return answer._replace(problem=reason)

    if answer.state is State.UPSTREAM and not answer.problem:
        fact = Message("the code is already as the hunk would make it")
        if is_matched:
            fact = Message("the code of the `+` lines is there already")
        reason = Message(
            "{what}, and no receipt says that it was put there by sitepatch",
            what=fact,
        )
        return answer._replace(problem=reason)

    return answer


# places -------------------------------------------------------------------------------------------
def _places(source: Source, hunk: Hunk, state: State) -> list[MatchRange]:
    """The places that show why a hunk is in its state; its further forms are left out."""
    first_form = hunk._replace(further_forms=())
    _, found = find_form(source, first_form)
    if state is State.UPSTREAM:
        places = found.done
    elif state in (State.APPLICABLE, State.CONFLICT):
        places = found.todo
    else:
        places = found.all

    return sorted(places, key=lambda place: place.start)


def _matched_place(source: Source, hunk: Hunk, place: MatchRange) -> MatchedPlace:
    """A place as it is reported."""
    return MatchedPlace(
        line=source.lines.number(place.start),
        text=source.line(place.start),
        scope=_innermost(source, place.start),
        names=_bound_names(source, hunk, place),
    )


def _innermost(source: Source, offset: int) -> str:
    """The name of the innermost definition around an offset; "" if there is none."""
    innermost = ""
    smallest = len(source.text) + 1
    for name, start, end in source.definitions():
        size = end - start
        if start <= offset < end and size < smallest:
            innermost = name
            smallest = size

    return innermost


def _bound_names(source: Source, hunk: Hunk, place: MatchRange) -> dict[str, str]:
    """The metavariables in the order of the hunk, each with the code it is bound to."""
    bindings = place.matches[0].names
    names: dict[str, str] = {}
    for node in walk_each([*hunk.before.nodes, *hunk.after.nodes]):
        name = node.name
        if name in bindings and not name.startswith("_"):
            names[f"${name}"] = source.one_line(bindings[name])

    return names


# no place -----------------------------------------------------------------------------------------
def _says_where(source: Source, hunk: Hunk, answer: HunkAnswer) -> bool:
    """Whether the answer says inside which statements the code is, other than `inside` names."""
    return answer.state is State.NOT_FOUND and _is_inside_others(source, hunk)


def _is_inside_others(source: Source, hunk: Hunk) -> bool:
    """Whether the code is there, inside other statements than `inside` names."""
    if hunk.text.flags.inside is None:
        return False
    return any(surroundings(source, hunk))


def _closest(
    source: Source,
    hunk: Hunk,
    scopes: Sequence[Scope],
    near: Sequence[str],
) -> Closest | None:
    """The closest code in the scope of a hunk, or if that is gone in the nearest one."""
    scope = hunk.text.scope
    if not scopes and scope != "<module>":
        scope = near[0] if near else ""
    if not scope or _is_inside_others(source, hunk):
        return None

    places = find_in_scope(source, hunk, scope)
    return closest(source, hunk, scope, taken=places.all)


def _elsewhere(
    source: Source,
    hunk: Hunk,
    scopes: Sequence[Scope],
) -> tuple[MatchedPlace, ...]:
    """The first places outside of the hunk's scope at which its before side matches."""
    if only_runs(hunk.before.nodes):
        return ()

    flags = hunk.text.flags._replace(inside=None)
    text = hunk.text._replace(scope="*", flags=flags)
    anywhere = hunk._replace(text=text)
    matcher = Matcher(most=MAX_MATCHES)
    places = side_places(anywhere, hunk.before, source.whole(), matcher)
    outside = []
    for place in places:
        line = source.lines.number(place.start)
        is_inside = any(scope.first <= line <= scope.last for scope in scopes)
        if not is_inside:
            outside.append(place)

    return tuple(_matched_place(source, hunk, place) for place in outside[:_MOST])


def _with_advice(
    answer: HunkAnswer,
    nearby: _Nearby,
    near: Sequence[str],
) -> HunkAnswer:
    """The answer of a hunk that is not found, with what to write instead.

    Its lines about the closest code are dropped: `Explanation.closest` has that.
    """
    if answer.state is not State.NOT_FOUND:
        return answer

    hint = answer.hint
    if nearby.elsewhere:
        place = nearby.elsewhere[0]
        scope = place.scope or "<module>"
        where = Message("`{scope}`, line {line}", scope=scope, line=place.line)
        hint = Message("the code stands in {where}: write that scope if it is meant", where=where)
    elif near:
        hint = Message(
            "a renamed scope is never guessed: write `@@ {names} @@` if that is the one",
            names=near[0],
        )

    return answer._replace(problem=one_line(answer.problem), hint=hint)


# more than one place ------------------------------------------------------------------------------
def _telling_apart(source: Source, places: Sequence[MatchRange]) -> str:
    """The hint for an ambiguous hunk: what to write so that it matches one of its places only."""
    all_of_them = Message("or `count={number}` (`count=all`) if all are meant", number=len(places))
    for advice, codes in _distinctions(source, places):
        are_distinct = len(set(codes)) == len(places)
        longest = max(map(len, codes))
        if longest > _LONGEST or not are_distinct:
            continue

        choices = []
        for place, code in zip(places, codes):
            if code:
                line = source.lines.number(place.start)
                choices.append(Message("`{code}` (line {line})", code=code, line=line))

        return Message(
            "{advice}: {choices}; {all_of_them}",
            advice=advice,
            choices=joined(", ", choices),
            all_of_them=all_of_them,
        )

    return Message(
        "write more of the code around the place, {all_of_them}",
        all_of_them=all_of_them,
    )


def _distinctions(source: Source, places: Sequence[MatchRange]) -> Iterator[tuple[str, list[str]]]:
    """What may tell places apart, and its code at each of them.

    That is a metavariable, the header around a place, or the statement above it.
    """
    bindings = [place.matches[0].names for place in places]
    for name in bindings[0]:
        # a place where the after side stands may bind fewer
        is_bound = all(name in names for names in bindings)
        if is_bound and not name.startswith("_"):
            advice = Message("write in place of `${name}` what it is", name=name)
            yield advice, [source.one_line(names[name]) for names in bindings]

    headers = [_header(source, place) for place in places]
    yield Message("write the header around it"), headers

    statements = [_above(source, place) for place in places]
    yield Message("write what stands above it"), statements


def _header(source: Source, place: MatchRange) -> str:
    """The line of the header around a place, cut to `_LONGEST`; "" if there is none."""
    for node in place.siblings[0].ancestors():
        if node.has_body:
            return source.line(node.start)[:_LONGEST]

    return ""


def _above(source: Source, place: MatchRange) -> str:
    """The line of the statement above a place, cut to `_LONGEST`; "" if there is none."""
    if place.siblings[0].is_clause:
        return ""

    above = None
    for node in place.siblings:
        if node.begin >= place.start:
            break
        above = node
    else:
        return ""

    if above is None:
        return ""
    return source.line(above.start)[:_LONGEST]
