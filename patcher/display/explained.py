"""A hunk, explained: a row, and below it why it does or does not match."""

from __future__ import annotations

from patcher.display.answer import decoded
from patcher.display.styles import Row, color_diff, style, translated
from patcher.message import Message, joined
from patcher.model import Answer, Explanation, Mark, State
from patcher.text.terminal import clip, join_styled, printable, underline, wrapped

_WIDTH = 86  # columns beside the states
_LONGEST = 60  # characters of the code that a metavariable stands for


def explained_row(answer: Answer, diff_lines: int = 20) -> Row:
    """A row for a hunk, with all about it below, and at most so many lines of its diff."""
    details: list[str] = []
    explanation = answer.explanation
    if explanation is not None:
        name = explanation.hunk.origin.replace("\\", "/").rpartition("/")[2]
        details.append(Message("hunk {name}:{line}", name=name, line=explanation.line))
    details += _wrapped(answer.problem)
    if explanation is not None:
        details += _about(answer, explanation)
    details += _other_files(answer)
    details += _diff(answer, diff_lines)
    if answer.hint:
        details += _wrapped(Message("hint: {hint}", hint=answer.hint))
    if explanation is not None:
        details += _other_forms(explanation)

    path = answer.path
    if answer.places:
        path += ":" + ",".join(map(str, answer.places))
    return Row(answer.state.value, (path, answer.scope), details=(*details, ""))


def _about(answer: Answer, explanation: Explanation) -> list[str]:
    """Where a hunk was looked for, where it matches, and what is closest."""
    lines: list[str] = []
    if answer.state is State.APPLIED:
        recorded = Message("recorded in the receipt of this file; its code before the change:")
        lines += _wrapped(recorded)
    if explanation.state in (State.NOT_FOUND, State.NOT_NEEDED):
        lines += _scopes(explanation)
    for match in explanation.matches:
        if not answer.diff:
            code = clip(match.text, _LONGEST)
            lines.append(Message("line {line}: {text}", line=match.line, text=code))
        for name, code in match.names.items():
            lines.append(join_styled(f"  {name} = {clip(code, _LONGEST)}"))
    lines += _closest(explanation)
    for place in explanation.elsewhere:
        where = Message("`{scope}`, line {line}", scope=place.scope or "<module>", line=place.line)
        code = clip(place.text, _LONGEST)
        lines += _wrapped(
            Message("elsewhere in this file: {where}: {text}", where=where, text=code)
        )
    return lines


def _other_files(answer: Answer) -> list[str]:
    """The other files to which the code of a hunk may have gone."""
    lines: list[str] = []
    for file in answer.elsewhere:
        meaning, path = Message("a file of that name:"), file.path
        if file.line:
            meaning, path = (
                Message("`{scope}` stands in", scope=answer.scope),
                f"{path}:{file.line}",
            )
        lines += _wrapped(Message("{what} {path}", what=meaning, path=path))
    return lines


def _other_forms(explanation: Explanation) -> list[str]:
    """The forms of a hunk that do not count; where none counts, what is closest to each."""
    lines: list[str] = []
    for form in explanation.forms:
        if form.line == explanation.line:
            continue
        problem = form.problem or Message(form.state.value)
        template = "another form of it, line {line}: {problem}"
        lines += _wrapped(Message(template, line=form.line, problem=problem))
        if explanation.state is State.NOT_FOUND:
            lines += [*_scopes(form), *_closest(form)]
    return lines


def _diff(answer: Answer, most: int) -> list[str]:
    """At most so many lines of the diff of a hunk, without its heading."""
    lines: list[str] = []
    for line in color_diff(decoded(answer.diff))[2:]:
        lines.append(join_styled("  ", line))
    if len(lines) <= most:
        return lines
    template = "  … {number} more: sitepatch diff {patchset}{here}"
    more = Message(template, number=len(lines) - most, patchset=answer.patchset)
    return [*lines[:most], more]


def _scopes(explanation: Explanation) -> list[str]:
    """The definitions that were searched; where there is none, names that are similar."""
    if explanation.scopes:
        template = "`{name}`, lines {first} to {last}"
        ranges = [
            Message(template, name=scope.name, first=scope.first, last=scope.last)
            for scope in explanation.scopes[:4]
        ]
        return _wrapped(Message("searched: {ranges}", ranges=joined(", ", ranges)))
    if explanation.near:
        near = joined(", ", [f"`{name}`" for name in explanation.near])
        return _wrapped(Message("the file has {near}", near=near))
    return []


def _closest(explanation: Explanation) -> list[str]:
    """The two sides of the first difference, each with a marker.

    The scope is named if it is another one.
    """
    best = explanation.closest
    if best is None:
        return []
    where = ""
    if explanation.near and not explanation.scopes:
        where = Message(" in `{scope}`", scope=explanation.near[0])
    template = "closest{where}, {likeness:.0%} of the pattern:"
    lines: list[str] = [Message(template, where=where, likeness=best.likeness)]

    digits = len(str(max(best.line, best.code.line, best.pattern.line)))
    if best.code.line != best.line:
        first_line = clip(best.text, _LONGEST)
        lines.append(join_styled(f"  code    {best.line:>{digits}} | {first_line}"))
    lines += _marked(Message("code   "), best.code, digits)
    lines += _marked("pattern", best.pattern, digits)
    return lines + _wrapped(best.words)


def _marked(side: str, mark: Mark, digits: int) -> list[str]:
    """A line of code, and below it a marker."""
    head, line = f"  {side} {mark.line:>{digits}} | ", printable(mark.text)
    start, end = (len(printable(mark.text[:column])) for column in (mark.start, mark.end))
    marker = underline(line, start, end)
    blank = marker[: -len(marker.lstrip())]
    arrows = style(marker.lstrip(), fg="yellow")
    margin = " " * (len(head) - 2) + "| "
    return [join_styled(head, line), join_styled(margin + blank, arrows)]


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in translated(text).split("\n"):
        lines += wrapped(line, _WIDTH)
    return lines
