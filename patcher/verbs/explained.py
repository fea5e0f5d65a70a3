"""An explained hunk, as rows of a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from patcher.message import Message, joined
from patcher.model import State
from patcher.text.terminal import clip, join_styled, printable, underline, wrapped
from patcher.verbs.console import decoded
from patcher.verbs.styles import Row, color_diff, style
from patcher.verbs.translation import translated

if TYPE_CHECKING:
    from patcher.engine.explain.explain import Explanation, MatchedPlace
    from patcher.engine.explain.nearest import Closest, Mark
    from patcher.verbs.explanations import HunkExplanation

_WIDTH = 86  # columns beside the states
_LONGEST = 60  # of the code that a metavariable stands for


def explanation_row(one: HunkExplanation, diff_lines: int = 20) -> Row:
    """A row for a hunk, with all about it below, and at most so many lines of its diff."""
    answer = one.answer
    places = ":" + ",".join(map(str, answer.places)) if answer.places else ""
    details: List[str] = []
    if one.explanation is not None:
        hunk = one.explanation.hunk
        details.append(
            Message("hunk {name}:{line}", name=hunk.origin.replace(chr(92), "/").rpartition("/")[2], line=hunk.line)
        )
    details += _wrapped(answer.problem) + _about(one, diff_lines)
    details += _wrapped(Message("hint: {hint}", hint=answer.hint)) if answer.hint else []
    details += _other_forms(one.explanation) if one.explanation is not None else []
    return Row(answer.state.value, (answer.path + places, answer.scope), (*details, ""))


def _about(one: HunkExplanation, diff_lines: int) -> List[str]:
    found = one.explanation
    lines: List[str] = []
    if found is not None:
        if one.answer.state is State.APPLIED:
            lines += _wrapped(Message("recorded in the receipt of this file; its code before the change:"))
        lines += _scope(found) if found.state in (State.NOT_FOUND, State.NOT_NEEDED) else []
        lines += [line for place in found.matches for line in _place_lines(place, code=one.diff == b"")]
        scope = "" if found.scopes or not found.near else found.near[0]
        lines += _closest(found.closest, scope) if found.closest is not None else []
        for place in found.elsewhere:
            where = Message("`{scope}`, line {line}", scope=place.scope or "<module>", line=place.line)
            lines += _wrapped(Message("elsewhere in this file: {where}: {text}", where=where, text=clip(place.text, _LONGEST)))
    for other in one.elsewhere:
        what = Message("`{scope}` stands in", scope=one.answer.scope) if other.line else Message("a file of that name:")
        lines += _wrapped(Message("{what} {path}", what=what, path=other.path) + (f":{other.line}" if other.line else ""))
    return lines + _diff(one, diff_lines)


def _other_forms(found: Explanation) -> List[str]:
    """The forms of a hunk that do not count: what each is here, and where none counts what is closest to it."""
    lines: List[str] = []
    for form in (form for form in found.forms if form.hunk.line != found.hunk.line):
        text = "another form of it, line {line}: {problem}"
        lines += _wrapped(Message(text, line=form.hunk.line, problem=form.problem or Message(form.state.value)))
        if found.state is State.NOT_FOUND:
            scope = "" if form.scopes or not form.near else form.near[0]
            lines += [*_scope(form), *(_closest(form.closest, scope) if form.closest is not None else ())]
    return lines


def _diff(one: HunkExplanation, most: int) -> List[str]:
    lines: List[str] = [join_styled("  ", line) for line in color_diff(decoded(one.diff))[2:]]
    if len(lines) <= most:
        return lines
    text = "  … {number} more: sitepatch diff {patchset}"
    return [*lines[:most], Message(text, number=len(lines) - most, patchset=one.answer.patchset)]


def _scope(found: Explanation) -> List[str]:
    if found.scopes:
        ranges = joined(", ", (Message("`{one.name}`, lines {one.first} to {one.last}", one=one) for one in found.scopes[:4]))
        return _wrapped(Message("searched: {ranges}", ranges=ranges))
    near = joined(", ", (f"`{name}`" for name in found.near))
    return _wrapped(Message("the file has {near}", near=near)) if near else []


def _place_lines(place: MatchedPlace, *, code: bool) -> List[str]:
    lines = [Message("line {line}: {text}", line=place.line, text=clip(place.text, _LONGEST))] if code else []
    return lines + [join_styled(f"  {name} = {clip(text, _LONGEST)}") for name, text in place.names]


def _closest(best: Closest, scope: str) -> List[str]:
    """The two sides of the first difference, each with its line number and a marker; `scope` is named if it is another."""
    width = len(str(max(best.line, best.code.line, best.pattern.line)))
    where = Message(" in `{scope}`", scope=scope) if scope else ""
    lines: List[str] = [Message("closest{where}, {likeness:.0%} of the pattern:", where=where, likeness=best.likeness)]
    if best.code.line != best.line:
        lines.append(join_styled(f"  code    {best.line:>{width}} | {clip(best.text, _LONGEST)}"))
    for word, mark in ((Message("code   "), best.code), ("pattern", best.pattern)):
        lines += _marked(f"  {word} {mark.line:>{width}} | ", mark)
    more = Message(" (and {best.more} more)", best=best) if best.more else ""
    return lines + _wrapped(best.words + more)


def _marked(head: str, mark: Mark) -> List[str]:
    line = printable(mark.text)
    start, end = (len(printable(mark.text[:column])) for column in (mark.start, mark.end))
    marker = underline(line, start, end)
    blank = marker[: -len(marker.lstrip())]
    return [join_styled(head, line), join_styled(" " * (len(head) - 2) + "| " + blank, style(marker.lstrip(), fg="yellow"))]


def _wrapped(text: str) -> List[str]:
    return [line for each in translated(text).split("\n") for line in wrapped(each, _WIDTH)]


# JSON -----------------------------------------------------------------------------------------------------------------
def hunk_json(one: HunkExplanation) -> Dict[str, Any]:
    """One hunk as JSON."""
    answer, found = one.answer, one.explanation
    head = {
        "site": one.site,
        "path": answer.path,
        "scope": answer.scope,
        "state": answer.state,
        "places": answer.places,
        "problem": answer.problem,
        "hint": answer.hint,
        "when_present": answer.when_present,
    }
    elsewhere = [{"path": each.path, "line": each.line, "scope": answer.scope} for each in one.elsewhere]
    if found is not None:
        elsewhere = [{"path": answer.path, "line": place.line, "scope": place.scope} for place in found.elsewhere] + elsewhere
    return {
        **head,
        "origin": found.hunk.origin if found is not None else "",
        **_match_json(found),
        "forms": [{**_state_json(form), **_match_json(form)} for form in found.forms] if found is not None else [],
        "elsewhere": elsewhere,
        "diff": one.diff,
    }


def _state_json(form: Explanation) -> Dict[str, Any]:
    return {"scope": form.hunk.scope, "state": form.state, "problem": form.problem, "hint": form.hint}


def _match_json(found: Optional[Explanation]) -> Dict[str, Any]:
    return {
        "line": found.hunk.line if found is not None else 0,
        "scopes": found.scopes if found is not None else [],
        "near": found.near if found is not None else [],
        "matches": [{**place._asdict(), "names": dict(place.names)} for place in found.matches] if found is not None else [],
        "closest": found.closest if found is not None else None,
    }
