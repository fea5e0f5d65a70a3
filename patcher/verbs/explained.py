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
    from patcher.engine.closest import Closest, Mark
    from patcher.engine.explain import Explanation, MatchedPlace
    from patcher.verbs.explanations import HunkExplanation

_WIDTH = 86  # columns beside the states
_LONGEST = 60  # of the code that a metavariable stands for


def explanation_row(explained: HunkExplanation, diff_lines: int = 20) -> Row:
    """A row for a hunk, with all about it below, and at most so many lines of its diff."""
    answer = explained.answer
    places = ":" + ",".join(map(str, answer.places)) if answer.places else ""
    details: List[str] = []
    if explained.explanation is not None:
        hunk = explained.explanation.hunk
        details.append(
            Message("hunk {name}:{line}", name=hunk.origin.replace(chr(92), "/").rpartition("/")[2], line=hunk.line)
        )
    details += _wrapped(answer.problem) + _about(explained, diff_lines)
    details += _wrapped(Message("hint: {hint}", hint=answer.hint)) if answer.hint else []
    details += _other_forms(explained.explanation) if explained.explanation is not None else []
    return Row(answer.state.value, (answer.path + places, answer.scope), (*details, ""))


def _about(explained: HunkExplanation, diff_lines: int) -> List[str]:
    explanation = explained.explanation
    lines: List[str] = []
    if explanation is not None:
        if explained.answer.state is State.APPLIED:
            lines += _wrapped(Message("recorded in the receipt of this file; its code before the change:"))
        lines += _scope(explanation) if explanation.state in (State.NOT_FOUND, State.NOT_NEEDED) else []
        lines += [line for place in explanation.matches for line in _place_lines(place, code=explained.diff == b"")]
        scope = "" if explanation.scopes or not explanation.near else explanation.near[0]
        lines += _closest(explanation.closest, scope) if explanation.closest is not None else []
        for place in explanation.elsewhere:
            where = Message("`{scope}`, line {line}", scope=place.scope or "<module>", line=place.line)
            lines += _wrapped(Message("elsewhere in this file: {where}: {text}", where=where, text=clip(place.text, _LONGEST)))
    for file in explained.elsewhere:
        scope = explained.answer.scope
        meaning = Message("`{scope}` stands in", scope=scope) if file.line else Message("a file of that name:")
        lines += _wrapped(Message("{what} {path}", what=meaning, path=file.path) + (f":{file.line}" if file.line else ""))
    return lines + _diff(explained, diff_lines)


def _other_forms(explanation: Explanation) -> List[str]:
    """The forms of a hunk that do not count: what each is here, and where none counts what is closest to it."""
    lines: List[str] = []
    for form in (form for form in explanation.forms if form.hunk.line != explanation.hunk.line):
        template = "another form of it, line {line}: {problem}"
        lines += _wrapped(Message(template, line=form.hunk.line, problem=form.problem or Message(form.state.value)))
        if explanation.state is State.NOT_FOUND:
            scope = "" if form.scopes or not form.near else form.near[0]
            lines += [*_scope(form), *(_closest(form.closest, scope) if form.closest is not None else ())]
    return lines


def _diff(explained: HunkExplanation, most: int) -> List[str]:
    lines: List[str] = [join_styled("  ", line) for line in color_diff(decoded(explained.diff))[2:]]
    if len(lines) <= most:
        return lines
    template = "  … {number} more: sitepatch diff {patchset}"
    return [*lines[:most], Message(template, number=len(lines) - most, patchset=explained.answer.patchset)]


def _scope(explanation: Explanation) -> List[str]:
    if explanation.scopes:
        template = "`{one.name}`, lines {one.first} to {one.last}"
        ranges = joined(", ", (Message(template, one=scope) for scope in explanation.scopes[:4]))
        return _wrapped(Message("searched: {ranges}", ranges=ranges))
    near = joined(", ", (f"`{name}`" for name in explanation.near))
    return _wrapped(Message("the file has {near}", near=near)) if near else []


def _place_lines(place: MatchedPlace, *, code: bool) -> List[str]:
    lines = [Message("line {line}: {text}", line=place.line, text=clip(place.text, _LONGEST))] if code else []
    return lines + [join_styled(f"  {name} = {clip(code_of_name, _LONGEST)}") for name, code_of_name in place.names]


def _closest(best: Closest, scope: str) -> List[str]:
    """The two sides of the first difference, each with its line number and a marker; `scope` is named if it is another."""
    width = len(str(max(best.line, best.code.line, best.pattern.line)))
    where = Message(" in `{scope}`", scope=scope) if scope else ""
    lines: List[str] = [Message("closest{where}, {likeness:.0%} of the pattern:", where=where, likeness=best.likeness)]
    if best.code.line != best.line:
        lines.append(join_styled(f"  code    {best.line:>{width}} | {clip(best.text, _LONGEST)}"))
    for word, mark in ((Message("code   "), best.code), ("pattern", best.pattern)):
        lines += _marked(f"  {word} {mark.line:>{width}} | ", mark)
    further = Message(" (and {best.more} more)", best=best) if best.more else ""
    return lines + _wrapped(best.words + further)


def _marked(head: str, mark: Mark) -> List[str]:
    line = printable(mark.text)
    start, end = (len(printable(mark.text[:column])) for column in (mark.start, mark.end))
    marker = underline(line, start, end)
    blank = marker[: -len(marker.lstrip())]
    return [join_styled(head, line), join_styled(" " * (len(head) - 2) + "| " + blank, style(marker.lstrip(), fg="yellow"))]


def _wrapped(text: str) -> List[str]:
    return [line for line_of_text in translated(text).split("\n") for line in wrapped(line_of_text, _WIDTH)]


# JSON -----------------------------------------------------------------------------------------------------------------
def hunk_json(explained: HunkExplanation) -> Dict[str, Any]:
    """One hunk as JSON."""
    answer, explanation = explained.answer, explained.explanation
    head = {
        "site": explained.site,
        "path": answer.path,
        "scope": answer.scope,
        "state": answer.state,
        "places": answer.places,
        "problem": answer.problem,
        "hint": answer.hint,
        "when_present": answer.when_present,
    }
    elsewhere = [{"path": file.path, "line": file.line, "scope": answer.scope} for file in explained.elsewhere]
    if explanation is not None:
        nearby = [{"path": answer.path, "line": place.line, "scope": place.scope} for place in explanation.elsewhere]
        elsewhere = nearby + elsewhere
    return {
        **head,
        "origin": explanation.hunk.origin if explanation is not None else "",
        **_match_json(explanation),
        "forms": [{**_state_json(form), **_match_json(form)} for form in explanation.forms] if explanation is not None else [],
        "elsewhere": elsewhere,
        "diff": explained.diff,
    }


def _state_json(form: Explanation) -> Dict[str, Any]:
    return {"scope": form.hunk.scope, "state": form.state, "problem": form.problem, "hint": form.hint}


def _match_json(explanation: Optional[Explanation]) -> Dict[str, Any]:
    if explanation is None:
        return {"line": 0, "scopes": [], "near": [], "matches": [], "closest": None}
    return {
        "line": explanation.hunk.line,
        "scopes": explanation.scopes,
        "near": explanation.near,
        "matches": [{**place._asdict(), "names": dict(place.names)} for place in explanation.matches],
        "closest": explanation.closest,
    }
