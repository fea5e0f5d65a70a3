"""Explanations as rows of text and as JSON. Pure: it decides nothing, reads no file, prints nothing."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from patcher.cli.answers.report import shown
from patcher.cli.told import told
from patcher.engine.explain.explain import Explanation, MatchedPlace
from patcher.engine.explain.nearest import Closest, Mark
from patcher.model import State
from patcher.ops.explain import HunkExplanation
from patcher.text.drawn import Painted, drawn, join_drawn
from patcher.text.table import Row
from patcher.text.width import clip, underline, wrapped

_WIDTH = 86  # columns beside the states
_LONGEST = 60  # of the code that a metavariable stands for


class Paint(NamedTuple):
    """How a diff and a marker are coloured, and how many lines of a diff are shown."""

    diff: Callable[[str], List[Painted]]
    marker: Callable[[str], Painted]
    lines: int


def rows(hunks: Sequence[HunkExplanation], paint: Paint) -> List[Row]:
    """One row for each hunk, with all about it below."""
    return [_row(one, paint) for one in hunks]


def _row(one: HunkExplanation, paint: Paint) -> Row:
    answer = one.answer
    places = ":" + ",".join(map(str, answer.places)) if answer.places else ""
    details: List[str] = []
    if one.explanation is not None:
        hunk = one.explanation.hunk
        details.append(f"hunk {hunk.origin.replace(chr(92), '/').rpartition('/')[2]}:{hunk.line}")
    details += _wrapped(answer.problem) + _about(one, paint)
    details += _wrapped(f"hint: {answer.hint}") if answer.hint else []
    return Row(answer.state.value, (answer.path + places, answer.scope), (*details, ""))


def _about(one: HunkExplanation, paint: Paint) -> List[str]:
    found = one.explanation
    lines: List[str] = []
    if found is not None:
        if one.answer.state is State.APPLIED:
            lines += _wrapped("recorded in the receipt of this file; its code before the change:")
        lines += _scope(found) if found.state in (State.NOT_FOUND, State.NOT_NEEDED) else []
        lines += [line for spot in found.matches for line in _spot(spot, code=one.diff == b"")]
        scope = "" if found.scopes or not found.near else found.near[0]
        lines += _closest(found.closest, scope, paint) if found.closest is not None else []
        for spot in found.elsewhere:
            where = f"`{spot.scope or '<module>'}`, line {spot.line}"
            lines += _wrapped(f"elsewhere in this file: {where}: {clip(spot.text, _LONGEST)}")
    for other in one.elsewhere:
        what = f"`{one.answer.scope}` stands in" if other.line else "a file of that name:"
        lines += _wrapped(f"{what} {other.path}" + (f":{other.line}" if other.line else ""))
    return lines + _diff(one, paint)


def _diff(one: HunkExplanation, paint: Paint) -> List[str]:
    lines: List[str] = [join_drawn("  ", line) for line in paint.diff(shown(one.diff))[2:]]
    if len(lines) <= paint.lines:
        return lines
    return [*lines[: paint.lines], f"  … {len(lines) - paint.lines} more lines: sitepatch diff {one.answer.patchset}"]


def _scope(found: Explanation) -> List[str]:
    if found.scopes:
        ranges = ", ".join(f"`{one.name}`, lines {one.first} to {one.last}" for one in found.scopes[:4])
        return _wrapped(f"searched: {ranges}")
    near = ", ".join(f"`{name}`" for name in found.near)
    return _wrapped(f"the file has {near}") if near else []


def _spot(spot: MatchedPlace, *, code: bool) -> List[str]:
    lines = [f"line {spot.line}: {clip(spot.text, _LONGEST)}"] if code else []
    return lines + [join_drawn(f"  {name} = {clip(text, _LONGEST)}") for name, text in spot.names]


def _closest(best: Closest, scope: str, paint: Paint) -> List[str]:
    """The two sides of the first difference, each with its line number and a marker; `scope` is named if it is another."""
    width = len(str(max(best.line, best.code.line, best.pattern.line)))
    where = f" in `{scope}`" if scope else ""
    lines = [f"closest{where}, {best.likeness:.0%} of the pattern:"]
    if best.code.line != best.line:
        lines.append(join_drawn(f"  code    {best.line:>{width}} | {clip(best.text, _LONGEST)}"))
    for word, mark in (("code   ", best.code), ("pattern", best.pattern)):
        lines += _marked(f"  {word} {mark.line:>{width}} | ", mark, paint)
    more = f" (and {best.more} more)" if best.more else ""
    return lines + _wrapped(best.words + more)


def _marked(head: str, mark: Mark, paint: Paint) -> List[str]:
    line = drawn(mark.text)
    start, end = (len(drawn(mark.text[:column])) for column in (mark.start, mark.end))
    marker = underline(line, start, end)
    blank = marker[: -len(marker.lstrip())]
    return [join_drawn(head, line), join_drawn(" " * (len(head) - 2) + "| " + blank, paint.marker(marker.lstrip()))]


def _wrapped(text: str) -> List[str]:
    return [line for each in told(text).split("\n") for line in wrapped(each, _WIDTH)]


# JSON -----------------------------------------------------------------------------------------------------------------
def hunk_json(one: HunkExplanation) -> Dict[str, Any]:
    """One hunk as JSON."""
    answer, found = one.answer, one.explanation
    head = {
        "site": one.site,
        "path": answer.path,
        "scope": answer.scope,
        "state": answer.state.value,
        "places": list(answer.places),
        "problem": answer.problem,
        "hint": answer.hint,
        "when_present": answer.when_present,
    }
    elsewhere = [{"path": each.path, "line": each.line, "scope": answer.scope} for each in one.elsewhere]
    if found is not None:
        elsewhere = [{"path": answer.path, "line": spot.line, "scope": spot.scope} for spot in found.elsewhere] + elsewhere
    return {
        **head,
        "origin": found.hunk.origin if found is not None else "",
        "line": found.hunk.line if found is not None else 0,
        "scopes": [scope._asdict() for scope in found.scopes] if found is not None else [],
        "near": list(found.near) if found is not None else [],
        "matches": [{**spot._asdict(), "names": dict(spot.names)} for spot in found.matches] if found is not None else [],
        "closest": _closest_json(found.closest) if found is not None and found.closest is not None else None,
        "elsewhere": elsewhere,
        "diff": shown(one.diff),
    }


def _closest_json(best: Closest) -> Dict[str, Any]:
    return {**best._asdict(), "code": best.code._asdict(), "pattern": best.pattern._asdict()}
