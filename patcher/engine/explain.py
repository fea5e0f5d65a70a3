"""Why each hunk does or does not match a text, in terms of code. Pure: bytes in, an `Explanation` for each hunk out."""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from patcher.engine.answers import answer_alone
from patcher.engine.closest import Closest, closest
from patcher.engine.find import find_form, find_in_scope, side_places, surroundings
from patcher.engine.match import MAX_MATCHES, Matcher, MatchRange, TooManySteps
from patcher.engine.node import SyntaxProblem
from patcher.engine.not_found import near_scopes
from patcher.engine.source import Source, in_scope
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.message import Message, joined, one_line
from patcher.model import HunkAnswer, HunkText, OptionValue, Splice, State

_MOST = 5  # places elsewhere in the file that are reported
_CLOSE = 0.5  # least likeness of the code closest to a `when-present` hunk: below it is other code
_LONGEST = 40  # characters of code that tells two places apart


class Scope(NamedTuple):
    """A definition of the text: its qualified name, and the 1-based numbers of its first and last line."""

    name: str
    first: int
    last: int


class MatchedPlace(NamedTuple):
    """A place that a side matches: 1-based first line, that line's code, the innermost definition around it ("" for none).

    `names` are the metavariables with the code that each is bound to, on one line.
    """

    line: int
    text: str
    scope: str
    names: tuple[tuple[str, str], ...]


class Explanation(NamedTuple):
    """All that is known of one hunk and one text; of its forms, that of the one that counts, with one of each in `forms`.

    `scopes` are the definitions that its scope names, `near` names of others that may be meant, `matches` the places that
    match (the after side where the state is upstream), `elsewhere` those outside of the scope, `closest` the most similar
    code where none matches, `splices` what this hunk alone would change.
    """

    hunk: HunkText
    state: State
    problem: str
    hint: str
    scopes: tuple[Scope, ...] = ()
    near: tuple[str, ...] = ()
    matches: tuple[MatchedPlace, ...] = ()
    elsewhere: tuple[MatchedPlace, ...] = ()
    closest: Closest | None = None
    splices: tuple[Splice, ...] = ()
    forms: tuple[Explanation, ...] = ()


def explain_hunks(
    data: bytes,
    hunks: Sequence[HunkText],
    options: Mapping[str, OptionValue],
    answers: Sequence[HunkAnswer],
) -> tuple[Explanation, ...]:
    """`patcher.engine.engine.explain`, for the answers of `rewrite`."""
    bare = tuple(map(_bare, answers))
    if any(hunk.plain for hunk in hunks):
        return bare
    try:
        source = Source(data)
    except SyntaxProblem:
        return bare
    return tuple(
        _each_form(source, hunk, report)
        for hunk, report in zip(compile_hunks(hunks, options), bare)
    )


def _each_form(source: Source, hunk: Hunk, report: Explanation) -> Explanation:
    if not hunk.others:
        return _explained(source, hunk, report)
    try:
        counts = find_form(source, hunk)[0]
    except (SyntaxProblem, TooManySteps):
        counts = hunk
    alone = [_bare(answer_alone(source, form, hunk.options)) for form in hunk.text.forms]
    forms = tuple(_explained(source, form, of_form) for form, of_form in zip(hunk.forms, alone))
    return _explained(source, counts, report)._replace(forms=forms)


def _bare(answer: HunkAnswer) -> Explanation:
    return Explanation(
        answer.hunk, answer.state, answer.problem, answer.hint, splices=answer.splices
    )


def _explained(source: Source, hunk: Hunk, report: Explanation) -> Explanation:
    text, state, lines = hunk.text, report.state, source.lines
    scopes = tuple(
        Scope(
            definition.name,
            lines.number(definition.start),
            lines.number(max(definition.start, definition.end - 1)),
        )
        for definition in source.definitions()
        if in_scope(definition.name, text.scope) or in_scope(definition.name, hunk.after_scope)
    )
    report = report._replace(
        hunk=text, scopes=scopes, near=() if scopes else near_scopes(source, text.scope)
    )
    try:
        _, (todo, done, _, _) = find_form(source, hunk._replace(others=()))
        places = {State.UPSTREAM: done, State.APPLICABLE: todo, State.CONFLICT: todo}.get(
            state, [*todo, *done]
        )
        places = sorted(places, key=lambda place: place.start)
        report = report._replace(
            matches=tuple(_matched_place(source, hunk, place) for place in places)
        )
        if state is State.AMBIGUOUS and len(places) > 1:
            report = report._replace(hint=_telling_apart(source, places))
        if state is State.APPLICABLE and not report.splices:
            report = report._replace(splices=answer_alone(source, text, hunk.options).splices)
        if state in (State.NOT_FOUND, State.NOT_NEEDED):
            report = _unmatched(source, hunk, report)
    except (SyntaxProblem, TooManySteps):
        pass  # the answer says why; there is no place to report
    if state is State.NOT_NEEDED:
        is_defined = scopes or text.scope == "<module>"
        fact = Message(
            "the code that it changes is not in `{scope}`"
            if is_defined
            else "there is no `{scope}` in this file",
            scope=text.scope,
        )
        report = report._replace(
            problem=Message("{what}, and `when-present` says that it need not be", what=fact)
        )
    if state is State.UPSTREAM and not report.problem:
        fact = Message(
            "the code of the `+` lines is there already"
            if report.matches
            else "the code is already as the hunk would make it"
        )
        report = report._replace(
            problem=Message(
                "{what}, and no receipt says that it was put there by sitepatch", what=fact
            )
        )
    return report


def _matched_place(source: Source, hunk: Hunk, place: MatchRange) -> MatchedPlace:
    bindings = place.matches[0].names
    order = [
        node.name for side in (hunk.before, hunk.after) for top in side.nodes for node in top.walk()
    ]
    bound = [name for name in dict.fromkeys(order) if name in bindings and name[0] != "_"]
    names = tuple((f"${name}", source.one_line(bindings[name])) for name in bound)
    return MatchedPlace(
        source.lines.number(place.start),
        source.line(place.start),
        _around(source, place.start),
        names,
    )


def _around(source: Source, offset: int) -> str:
    """The innermost definition that holds an offset."""
    holding = [
        definition
        for definition in source.definitions()
        if definition.start <= offset < definition.end
    ]
    return (
        min(holding, key=lambda definition: definition.end - definition.start).name
        if holding
        else ""
    )


def _unmatched(source: Source, hunk: Hunk, report: Explanation) -> Explanation:
    """Add the code outside of the scope that a hunk without a place matches, and what is closest in it."""
    scope = hunk.text.scope
    framed = hunk.text.flags.inside is not None and any(surroundings(source, hunk))
    if framed and report.state is State.NOT_FOUND:
        return report  # its answer says where the code stands
    # its other lines are in `closest`
    if report.state is State.NOT_FOUND:
        report = report._replace(problem=one_line(report.problem))
    outside = [] if report.matches else _elsewhere(source, hunk, report.scopes)
    report = report._replace(
        elsewhere=tuple(_matched_place(source, hunk, place) for place in outside[:_MOST])
    )
    if report.state is State.NOT_FOUND and report.elsewhere:
        place = report.elsewhere[0]
        where = Message("`{scope}`, line {line}", scope=place.scope or "<module>", line=place.line)
        report = report._replace(
            hint=Message("the code stands in {where}: write that scope if it is meant", where=where)
        )
    elif report.state is State.NOT_FOUND and report.near:
        hint = Message(
            "a renamed scope is never guessed: write `@@ {names} @@` if that is the one",
            names=report.near[0],
        )
        report = report._replace(hint=hint)
    look = scope if report.scopes or scope == "<module>" else (report.near or ("",))[0]
    if not look or framed:
        return report
    places = find_in_scope(source, hunk, look)
    best = closest(source, hunk, look, [place.start for place in (*places.todo, *places.done)])
    least = _CLOSE if report.state is State.NOT_NEEDED else 0.0
    return report._replace(closest=best if best is not None and best.likeness >= least else None)


def _elsewhere(source: Source, hunk: Hunk, scopes: Sequence[Scope]) -> list[MatchRange]:
    """The places outside of the hunk's scope at which its before side matches."""
    flags = hunk.text.flags._replace(inside=None)
    anywhere = hunk._replace(text=hunk.text._replace(scope="*", flags=flags))
    if all(node.role == "run" for node in hunk.before.nodes):
        return []
    places = side_places(anywhere, hunk.before, source.whole(), Matcher(most=MAX_MATCHES))
    number = source.lines.number
    return [
        place
        for place in places
        if not any(scope.first <= number(place.start) <= scope.last for scope in scopes)
    ]


# more than one --------------------------------------------------------------------------------------------------------
def _telling_apart(source: Source, places: Sequence[MatchRange]) -> str:
    """The hint for an ambiguous hunk: what to write so that it matches one of its places only."""
    all_of_them = Message("or `count={number}` (`count=all`) if all are meant", number=len(places))
    for advice, codes in _distinctions(source, places):
        if len(set(codes)) == len(places) and all(len(code) <= _LONGEST for code in codes):
            lines = (source.lines.number(place.start) for place in places)
            choices = (
                Message("`{code}` (line {line})", code=code, line=line)
                for code, line in zip(codes, lines)
                if code
            )
            template = "{advice}: {choices}; {all_of_them}"
            return Message(
                template, advice=advice, choices=joined(", ", choices), all_of_them=all_of_them
            )
    return Message(
        "write more of the code around the place, {all_of_them}", all_of_them=all_of_them
    )


def _distinctions(source: Source, places: Sequence[MatchRange]) -> Iterator[tuple[str, list[str]]]:
    """What may tell places apart, and what it is at each of them: a metavariable, the header around, the statement above."""
    # a place where the after side stands may bind fewer
    bindings = [place.matches[0].names for place in places]
    for name in bindings[0]:
        if name[0] != "_" and all(name in names for names in bindings):
            advice = Message("write in place of `${name}` what it is", name=name)
            yield advice, [source.one_line(names[name]) for names in bindings]
    headers, above = [], []
    for place in places:
        first = place.siblings[0]
        header = next((node for node in first.ancestors() if node.has_body), None)
        headers.append("" if header is None else source.line(header.start)[:_LONGEST])
        index = next(
            (index for index, node in enumerate(place.siblings) if node.begin >= place.start), 0
        )
        before = place.siblings[index - 1] if index and not first.is_clause else None
        above.append("" if before is None else source.line(before.start)[:_LONGEST])
    yield Message("write the header around it"), headers
    yield Message("write what stands above it"), above
