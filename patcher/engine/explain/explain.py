"""Why each hunk does or does not match a text, in terms of code. Pure: bytes in, an `Explanation` for each hunk out."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.engine.engine import answer_alone, rewrite
from patcher.engine.explain.nearest import Closest, closest, near_scopes
from patcher.engine.match.find import FoundPlaces, find_form, find_in_scope, side_places, surroundings
from patcher.engine.match.found import MatchRange
from patcher.engine.match.match import MAX_MATCHES, Matcher, TooManySteps
from patcher.engine.node import CLAUSES, COMPOUND, Node, SyntaxProblem
from patcher.engine.source import Source, in_scope
from patcher.engine.spatch.compile import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.message import Message, joined, one_line
from patcher.model import HunkAnswer, HunkText, OptionValue, Splice, State

_MOST = 5  # places elsewhere in the file that are reported
_CLOSE = 0.6  # least likeness of the code closest to a `when-present` hunk: below it is other code
_Failures = (SyntaxProblem, TooManySteps)


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
    names: Tuple[Tuple[str, str], ...]


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
    scopes: Tuple[Scope, ...] = ()
    near: Tuple[str, ...] = ()
    matches: Tuple[MatchedPlace, ...] = ()
    elsewhere: Tuple[MatchedPlace, ...] = ()
    closest: Optional[Closest] = None
    splices: Tuple[Splice, ...] = ()
    forms: Tuple[Explanation, ...] = ()


def explain_hunks(
    data: bytes, hunks: Sequence[HunkText], options: Mapping[str, OptionValue], injected: Sequence[str] = ()
) -> Tuple[Explanation, ...]:
    """Explain the hunks of one patchset for one file; the states are those that `rewrite` gives them.

    Args:
        data: the file's bytes, with what was applied before this patchset.
        hunks: the hunks for this file.
        options: the value of each `$option`.
        injected: names that exist at run time without being bound in the file.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    answers = rewrite(data, hunks, options, injected).answers
    if any(hunk.plain for hunk in hunks):
        return tuple(_bare(answer) for answer in answers)
    try:
        source = Source(data)
    except SyntaxProblem:
        return tuple(_bare(answer) for answer in answers)
    return tuple(_each_form(source, hunk, answer) for hunk, answer in zip(compile_hunks(hunks, options), answers))


def _each_form(source: Source, hunk: Hunk, answer: HunkAnswer) -> Explanation:
    if not hunk.others:
        return _explained(source, hunk, answer)
    try:
        counts = find_form(source, hunk)[0]
    except _Failures:
        counts = hunk
    alone = [answer_alone(source, hunk_text, hunk.options) for hunk_text in hunk.text.forms]
    forms = tuple(_explained(source, form, of_form) for form, of_form in zip(hunk.forms, alone))
    return _explained(source, counts, answer)._replace(forms=forms)


def _bare(answer: HunkAnswer) -> Explanation:
    return Explanation(answer.hunk, answer.state, answer.problem, answer.hint, splices=answer.splices)


def _explained(source: Source, hunk: Hunk, answer: HunkAnswer) -> Explanation:
    hunk_text = hunk.text
    names = {hunk_text.scope, hunk.after_scope}
    lines = source.lines
    scopes = [
        Scope(definition.name, lines.number(definition.start), lines.number(max(definition.start, definition.end - 1)))
        for definition in source.definitions()
        if any(in_scope(definition.name, name) for name in names)
    ]
    near = () if scopes else near_scopes(source, hunk_text.scope)
    report = _bare(answer)._replace(hunk=hunk_text, scopes=tuple(scopes), near=near)
    try:
        places = find_form(source, hunk._replace(others=()))[1]
        shown = _places_shown(places, answer.state)
        report = report._replace(matches=tuple(_matched_place(source, hunk, place) for place in shown))
        if answer.state is State.AMBIGUOUS and len(report.matches) > 1:
            report = report._replace(hint=_telling_apart(source, [*places.todo, *places.done]))
        if answer.state is State.APPLICABLE and not answer.splices:
            report = report._replace(splices=answer_alone(source, hunk_text, hunk.options).splices)
    except _Failures:
        pass  # the answer says why; there is no place to report
    return _unmatched(source, hunk, report) if answer.state in (State.NOT_FOUND, State.NOT_NEEDED) else _with_problem(report)


def _places_shown(matches: FoundPlaces, state: State) -> List[MatchRange]:
    places = {State.UPSTREAM: matches.done, State.APPLICABLE: matches.todo, State.CONFLICT: matches.todo}
    return sorted(places.get(state, [*matches.todo, *matches.done]), key=lambda place: place.start)


def _with_problem(report: Explanation) -> Explanation:
    """Add the problem of an upstream hunk, for which the engine's answer has none."""
    if report.state is State.UPSTREAM and not report.problem:
        cause = Message(
            "the code of the `+` lines is there already" if report.matches else "the code is already as the hunk would make it"
        )
        return report._replace(problem=Message("{what}, and no receipt says that it was put there by sitepatch", what=cause))
    return report


def _matched_place(source: Source, hunk: Hunk, place: MatchRange) -> MatchedPlace:
    match = place.matches[0]
    order = [node.name for side in (hunk.before, hunk.after) for top in side.nodes for node in top.walk()]
    bound = [name for name in dict.fromkeys(order) if name in match.names and name[0] != "_"]
    names = [(f"${name}", _one_line(source, match.names[name])) for name in bound]
    begin = source.lines.start(place.start)
    code = source.text[begin : source.lines.end(place.start)].strip()
    return MatchedPlace(source.lines.number(place.start), code, _around(source, place.start), tuple(names))


def _one_line(source: Source, node: Node) -> str:
    return " ".join(source.text[node.start : node.end].split())


def _around(source: Source, offset: int) -> str:
    """The innermost definition that holds an offset."""
    holding = [definition for definition in source.definitions() if definition.start <= offset < definition.end]
    return min(holding, key=lambda definition: definition.end - definition.start).name if holding else ""


# nothing matches ------------------------------------------------------------------------------------------------------
def _unmatched(source: Source, hunk: Hunk, report: Explanation) -> Explanation:
    scope = hunk.text.scope
    framed = hunk.text.inside is not None and any(surroundings(source, hunk))
    if report.state is State.NOT_FOUND and framed:
        return report  # its answer says where the code stands
    try:
        outside = [] if report.matches else _elsewhere(source, hunk, report.scopes)
        report = report._replace(elsewhere=tuple(_matched_place(source, hunk, place) for place in outside[:_MOST]))
        look = scope if report.scopes or scope == "<module>" else (report.near or ("",))[0]
        if look and not framed:
            places = find_in_scope(source, hunk, look)
            taken = [place.start for place in (*places.todo, *places.done)]
            report = report._replace(closest=closest(source, hunk, look, taken))
    except _Failures:
        pass  # what was found so far is reported
    if report.state is State.NOT_NEEDED:
        near = report.closest if report.closest is not None and report.closest.likeness >= _CLOSE else None
        is_defined = bool(report.scopes) or scope == "<module>"
        fact = Message(
            "the code that it changes is not in `{scope}`" if is_defined else "there is no `{scope}` in this file", scope=scope
        )
        return report._replace(closest=near, problem=Message("{what}, and `when-present` says that it need not be", what=fact))
    if not hunk.text.in_string:  # the other lines are the closest code, which is in `closest`
        report = report._replace(problem=one_line(report.problem))
    if report.elsewhere:
        alternative = report.elsewhere[0]
        where = Message("`{scope}`, line {line}", scope=alternative.scope or "<module>", line=alternative.line)
        return report._replace(hint=Message("the code stands in {where}: write that scope if it is meant", where=where))
    if report.near and not report.scopes:
        return report._replace(
            hint=Message("a renamed scope is never guessed: write `@@ {names} @@` if that is the one", names=report.near[0])
        )
    return report


def _elsewhere(source: Source, hunk: Hunk, scopes: Sequence[Scope]) -> List[MatchRange]:
    """The places outside of the hunk's scope at which its before side matches."""
    anywhere = hunk._replace(text=hunk.text._replace(scope="*", inside=None))
    if all(node.role == "run" for node in hunk.before.nodes):
        return []
    places = side_places(anywhere, hunk.before, source.whole(), Matcher(most=MAX_MATCHES))
    number = source.lines.number
    return [place for place in places if not any(scope.first <= number(place.start) <= scope.last for scope in scopes)]


# more than one --------------------------------------------------------------------------------------------------------
def _telling_apart(source: Source, places: Sequence[MatchRange]) -> str:
    """The hint for an ambiguous hunk: what to write so that it matches one of its places only."""
    matches = sorted(places, key=lambda place: place.start)
    lines = [source.lines.number(place.start) for place in matches]
    all_of_them = Message("or `count={number}` (`count=all`) if all are meant", number=len(matches))
    bound = [place.matches[0].names for place in matches]  # a place where the after side stands may bind fewer
    for name in [name for name in bound[0] if name[0] != "_" and all(name in names for names in bound)]:
        stands = [_one_line(source, names[name]) for names in bound]
        if len(set(stands)) == len(matches) and all(len(code) <= 40 for code in stands):
            choices = joined(
                ", ", (Message("`{code}` (line {line})", code=code, line=line) for code, line in zip(stands, lines))
            )
            return Message(
                "write in place of `${name}` what it is: {choices}; {all_of_them}",
                name=name,
                choices=choices,
                all_of_them=all_of_them,
            )
    headers = [_header(source, place) for place in matches]
    if len(set(headers)) == len(matches):
        choices = joined(
            ", ", (Message("`{header}` (line {line})", header=header, line=line) for header, line in zip(headers, lines))
        )
        return Message("write the header around it: {choices}; {all_of_them}", choices=choices, all_of_them=all_of_them)
    above = [_above(source, place) for place in matches]
    if len(set(above)) == len(matches):
        choices = joined(
            ", ", (Message("`{code}` (line {line})", code=code, line=line) for code, line in zip(above, lines) if code)
        )
        return Message("write what stands above it: {choices}; {all_of_them}", choices=choices, all_of_them=all_of_them)
    return Message("write more of the code around the place, {all_of_them}", all_of_them=all_of_them)


def _header(source: Source, place: MatchRange) -> str:
    """The header of the compound statement or clause around a place."""
    node: Optional[Node] = place.siblings[0]
    while node is not None and (node is place.siblings[0] or node.kind not in COMPOUND | CLAUSES):
        node = node.parent
    return source.text[node.start : source.lines.end(node.start)].strip()[:40] if node is not None else ""


def _above(source: Source, place: MatchRange) -> str:
    """The first line of the statement above a run."""
    index = next((index for index, node in enumerate(place.siblings) if node.begin >= place.start), 0)
    if index == 0 or place.siblings[0].kind in CLAUSES:
        return ""
    start = place.siblings[index - 1].start
    return source.text[start : source.lines.end(start)].strip()[:40]
