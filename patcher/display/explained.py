"""A hunk, explained: a row, and below it why it does or does not match."""

from __future__ import annotations

from patcher.display.answer import decoded
from patcher.display.styles import Row, color_diff, style, translated
from patcher.message import Message, joined
from patcher.model import Answer, Explanation, Mark, State
from patcher.text.terminal import clip, join_styled, printable, underline, wrapped

_WIDTH = 86
"""Columns beside the states."""
_LONGEST = 60
"""Characters of the code that a metavariable stands for."""
_SPATCH = ("--- ", "@@ ", "-", "+", " ")
"""How a line of a `.spatch` begins."""
_FEW_SCOPES = 4
"""How many of the definitions that were searched are named."""


def explained_row(answer: Answer, diff_lines: int = 20) -> Row:
    """A row for a hunk, with all about it below, and at most so many lines of its diff."""
    explanation = answer.explanation
    details: list[str] = []
    if explanation is not None:
        details.append(_origin(explanation))
    details += _wrapped(answer.problem)
    if explanation is not None:
        details += _about(answer, explanation)
    details += _other_files(answer)
    details += _diff(answer, diff_lines)
    if answer.hint:
        details += _hint(answer.hint)
    if explanation is not None:
        details += _other_forms(explanation)
    details.append("")

    path = answer.path
    if answer.places:
        lines = ",".join(map(str, answer.places))
        path = f"{path}:{lines}"

    return Row(answer.state.value, (path, answer.scope), details=tuple(details))


def _origin(explanation: Explanation) -> str:
    """The file and the line of a hunk."""
    path = explanation.hunk.origin.replace("\\", "/")
    _, _, name = path.rpartition("/")
    return Message("hunk {name}:{line}", name=name, line=explanation.line)


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

        for name, value in match.names.items():
            code = clip(value, _LONGEST)
            lines.append(join_styled(f"  {name} = {code}"))

    lines += _closest(explanation)

    template = "elsewhere in this file: {where}: {text}"
    for place in explanation.elsewhere:
        scope = place.scope or "<module>"
        where = Message("`{scope}`, line {line}", scope=scope, line=place.line)
        code = clip(place.text, _LONGEST)
        lines += _wrapped(Message(template, where=where, text=code))

    return lines


def _other_files(answer: Answer) -> list[str]:
    """The other files to which the code of a hunk may have gone."""
    lines: list[str] = []
    for file in answer.elsewhere:
        if file.line:
            path = f"{file.path}:{file.line}"
            meaning = Message("`{scope}` stands in", scope=file.scope or answer.scope)
        else:
            path = file.path
            meaning = Message("a file of that name:")

        lines += _wrapped(Message("{what} {path}", what=meaning, path=path))

    return lines


def _other_forms(explanation: Explanation) -> list[str]:
    """The forms of a hunk that do not count; where none counts, what is closest to each."""
    template = "another form of it, line {line}: {problem}"
    lines: list[str] = []
    for form in explanation.forms:
        if form.line == explanation.line:
            continue

        problem = form.problem or Message(form.state.value)
        lines += _wrapped(Message(template, line=form.line, problem=problem))
        if explanation.state is State.NOT_FOUND:
            lines += _scopes(form)
            lines += _closest(form)

    return lines


def _diff(answer: Answer, most: int) -> list[str]:
    """At most so many lines of the diff of a hunk, without its heading."""
    lines: list[str] = []
    colored = color_diff(decoded(answer.diff))
    for line in colored[2:]:
        lines.append(join_styled("  ", line))

    hidden = len(lines) - most
    if hidden <= 0:
        return lines

    template = "  … {number} more: sitepatch diff {patchset}{here}"
    more = Message(template, number=hidden, patchset=answer.patchset)
    return [*lines[:most], more]


def _scopes(explanation: Explanation) -> list[str]:
    """The definitions that were searched; where there is none, names that are similar."""
    if explanation.scopes:
        template = "`{name}`, lines {first} to {last}"
        ranges: list[str] = []
        for scope in explanation.scopes[:_FEW_SCOPES]:
            lines = Message(
                template,
                name=scope.name,
                first=scope.first,
                last=scope.last,
            )
            ranges.append(lines)

        return _wrapped(Message("searched: {ranges}", ranges=joined(", ", ranges)))

    if explanation.near:
        names = [f"`{name}`" for name in explanation.near]
        return _wrapped(Message("the file has {near}", near=joined(", ", names)))
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

    largest = max(best.line, best.code.line, best.pattern.line)
    digits = len(str(largest))
    if best.code.line != best.line:
        first_line = clip(best.text, _LONGEST)
        lines.append(join_styled(f"  code    {best.line:>{digits}} | {first_line}"))

    lines += _marked(Message("code   "), best.code, digits=digits)
    lines += _marked("pattern", best.pattern, digits=digits)
    lines += _wrapped(best.words)
    return lines


def _marked(side: str, mark: Mark, *, digits: int) -> list[str]:
    """A line of code, and below it a marker."""
    head = f"  {side} {mark.line:>{digits}} | "
    margin = " " * (len(head) - 2) + "| "

    # what is not printable is wider on the screen than in the file
    line = printable(mark.text)
    start = len(printable(mark.text[: mark.start]))
    end = len(printable(mark.text[: mark.end]))
    marker = underline(line, start, end)
    arrows = marker.lstrip()
    blank = marker[: -len(arrows)]
    return [
        join_styled(head, line),
        join_styled(margin + blank, style(arrows, fg="yellow")),
    ]


def _hint(hint: str) -> list[str]:
    """A hint; the lines of a `.spatch` in it stay whole, so that they can be pasted."""
    lines: list[str] = []
    for line in translated(Message("hint: {hint}", hint=hint)).split("\n"):
        if line.startswith(_SPATCH):
            lines.append(join_styled("  ", line))
        else:
            lines += wrapped(line, _WIDTH)
    return lines


def _wrapped(text: str) -> list[str]:
    """A text in lines of at most `_WIDTH` columns."""
    lines: list[str] = []
    for line in translated(text).split("\n"):
        lines += wrapped(line, _WIDTH)

    return lines
