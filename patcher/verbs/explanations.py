"""Why each hunk of a patchset does or does not fit an environment. Reads only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

from patcher.author.changed import python_files
from patcher.display.console import decoded
from patcher.display.styles import Row, color_diff, style, translated
from patcher.engine.engine import definitions, explain
from patcher.errors import SitepatchError
from patcher.facts import Assignment, TargetFile, Wanted
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Answer, Requested, Splice, State, apply_splices
from patcher.patchset.layers import layers_of
from patcher.planner.reconcile import reconciled, refused_answers
from patcher.planner.resolve import application_order, resolve
from patcher.planner.rewriter import REWRITER
from patcher.planner.survey import read_facts
from patcher.store.status import read_installed
from patcher.text.diffs import diff_texts
from patcher.text.terminal import clip, join_styled, printable, underline, wrapped

if TYPE_CHECKING:
    from patcher.engine.explain import Explanation


_MOST_FILES = 20_000  # of a package that are read to find a scope again
_MOST = 5


class Elsewhere(NamedTuple):
    """A file of the same package that has the scope: its path, and the 1-based line (0 for the file itself)."""

    path: str
    line: int


class HunkExplanation(NamedTuple):
    """One hunk in one file, or (without an explanation) what keeps all hunks of a file or a package from being tried.

    `answer` is that of `apply`; the lines of `answer.places` are those of the file as it is now where the state
    is `applied`. `diff` is what this hunk alone changes or has changed.
    """

    site: str
    answer: Answer
    explanation: Explanation | None = None
    diff: bytes = b""
    elsewhere: tuple[Elsewhere, ...] = ()


def explanations(env: Environment, requested: Requested) -> tuple[list[HunkExplanation], list[str]]:
    """Every hunk of a patchset in an environment, and remarks.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    facts = read_facts(env, Wanted((requested,)))
    hunks = [_without_a_file(env, answer) for answer in facts.answers]
    notes = list(facts.notes)
    for key, (assignment,) in facts.assignments.items():
        notes += facts.files[key].remarks.notes
        hunks += _file(assignment, facts.files[key])
    # of several files together: rule 24
    states = reconciled([explained.answer for explained in hunks])
    return [explained._replace(answer=answer) for explained, answer in zip(hunks, states)], list(
        dict.fromkeys(notes)
    )


def _file(assignment: Assignment, file: TargetFile) -> list[HunkExplanation]:
    site, path, name = assignment.located.site, assignment.path, assignment.requested.patchset.name
    if file.problem:
        return [
            HunkExplanation(site, answer) for answer in refused_answers([assignment], file.problem)
        ]
    order = application_order(file.steps, [assignment])
    ahead = order[: order.index(name)]
    data, _, _ = resolve(site, path, file, ahead, {}, REWRITER)
    _, _, planned = resolve(site, path, file, [*ahead, name], {name: assignment}, REWRITER)
    options, names = assignment.requested.options, assignment.names
    alone: list[tuple[bytes, Explanation]] = []
    # each with the text that its hunks are matched against
    for hunks in layers_of(assignment.hunks):
        alone += [(data, explanation) for explanation in explain(data, hunks, options, names)]
        data = REWRITER.rewrite(data, assignment._replace(hunks=hunks)).data
    return [
        _explained(assignment, file, source, answer, explanation)
        for answer, (source, explanation) in zip(planned, alone)
    ]


def _explained(
    assignment: Assignment, file: TargetFile, data: bytes, planned: Answer, explanation: Explanation
) -> HunkExplanation:
    path = assignment.path
    # no text has what is closest
    if planned.state is State.CONFLICT and explanation.state is not State.CONFLICT:
        return HunkExplanation(assignment.located.site, planned)
    places = planned.places or tuple(match.line for match in explanation.matches)
    answer = planned._replace(places=places, problem=explanation.problem, hint=explanation.hint)
    diff = b""
    if planned.state in (State.APPLIED, State.APPLICABLE) and explanation.splices:
        diff = diff_texts(
            assignment.located.site, path, data, apply_splices(data, explanation.splices)
        ).text
    if planned.state is State.APPLIED and explanation.state in (State.UPSTREAM, State.NOT_NEEDED):
        # the patchset is applied in this file, and had nothing to do here
        answer = answer._replace(state=explanation.state)
    elif planned.state is State.APPLIED:
        answer = answer._replace(
            places=_now(file, planned.patchset, explanation.splices), problem="", hint=""
        )
    needs = (
        planned.state is State.NOT_FOUND and not explanation.scopes and not explanation.elsewhere
    )
    elsewhere = scope_elsewhere(assignment.located.site, path, planned.hunk.scope) if needs else ()
    return HunkExplanation(assignment.located.site, answer, explanation, diff, elsewhere)


def _now(file: TargetFile, name: str, splices: Sequence[Splice]) -> tuple[int, ...]:
    """The lines at which a hunk's changes stand in the file as it is now, after the patchsets that were applied later."""
    index = next(index for index, step in enumerate(file.steps) if step.patchset == name)
    lines = []
    for splice in splices:
        at = splice.start
        for step in file.steps[index:]:
            at += sum(
                len(change.new) - (change.end - change.start)
                for change in step.splices
                if change.start < at
            )
        lines.append(len(re.findall(rb"\r\n|\r|\n", file.content.now[:at])) + 1)
    return tuple(dict.fromkeys(lines))


# moved files ----------------------------------------------------------------------------------------------------------
def _without_a_file(env: Environment, answer: Answer) -> HunkExplanation:
    """An answer that was given before any hunk was tried; of a file that is not there, where it may have gone."""
    if answer.state is not State.NOT_FOUND or not answer.hunk.scope:
        return HunkExplanation("", answer)
    try:
        site = locate(env, answer.path.split("/")[0], [answer.path]).site
    except SitepatchError:
        return HunkExplanation("", answer)
    same_name = [
        Elsewhere(path, 0)
        for path in _sources(site, answer.path)
        if path.rpartition("/")[2] == answer.path.rpartition("/")[2] and path.count("/") > 1
    ]
    return HunkExplanation(
        site,
        answer,
        elsewhere=(*scope_elsewhere(site, answer.path, answer.hunk.scope), *same_name)[:_MOST],
    )


def scope_elsewhere(site: str, path: str, scope: str) -> tuple[Elsewhere, ...]:
    """Where else in the package of a file a scope is defined: found by its text first, then by its qualified name."""
    name = scope.split(".")[-1]
    if not name.isidentifier():
        return ()
    written = re.compile(
        rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+" + name.encode() + rb"\b", re.MULTILINE
    )
    places: list[Elsewhere] = []
    for other_path in _sources(site, path):
        try:
            data = read_installed(site, other_path) or b""
        except OSError:
            continue  # what cannot be read cannot be named
        lines = definitions(data, scope) if written.search(data) else ()
        places += [Elsewhere(other_path, line) for line in lines]
        if len(places) >= _MOST:
            break
    return tuple(places[:_MOST])


def _sources(site: str, path: str) -> list[str]:
    """The Python files of a file's package but that file."""
    return [
        other for other in python_files(site, path.split("/")[0])[:_MOST_FILES] if other != path
    ]


# rows of a table -------------------------------------------------------------------------------------------------------
_WIDTH = 86  # columns beside the states
_LONGEST = 60  # of the code that a metavariable stands for


def explanation_row(explained: HunkExplanation, diff_lines: int = 20) -> Row:
    """A row for a hunk, with all about it below, and at most so many lines of its diff."""
    answer = explained.answer
    places = ":" + ",".join(map(str, answer.places)) if answer.places else ""
    details: list[str] = []
    if explained.explanation is not None:
        hunk = explained.explanation.hunk
        details.append(
            Message(
                "hunk {name}:{line}",
                name=hunk.origin.replace(chr(92), "/").rpartition("/")[2],
                line=hunk.line,
            )
        )
    details += _wrapped(answer.problem) + _about(explained, diff_lines)
    details += _wrapped(Message("hint: {hint}", hint=answer.hint)) if answer.hint else []
    details += _other_forms(explained.explanation) if explained.explanation is not None else []
    return Row(answer.state.value, (answer.path + places, answer.hunk.scope), (*details, ""))


def _about(explained: HunkExplanation, diff_lines: int) -> list[str]:
    explanation = explained.explanation
    lines: list[str] = []
    if explanation is not None:
        if explained.answer.state is State.APPLIED:
            lines += _wrapped(
                Message("recorded in the receipt of this file; its code before the change:")
            )
        lines += (
            _scope(explanation) if explanation.state in (State.NOT_FOUND, State.NOT_NEEDED) else []
        )
        for match in explanation.matches:
            place_text = Message(
                "line {line}: {text}", line=match.line, text=clip(match.text, _LONGEST)
            )
            lines += [] if explained.diff else [place_text]
            lines += [
                join_styled(f"  {name} = {clip(code, _LONGEST)}") for name, code in match.names
            ]
        lines += _closest(explanation)
        for place in explanation.elsewhere:
            where = Message(
                "`{scope}`, line {line}", scope=place.scope or "<module>", line=place.line
            )
            lines += _wrapped(
                Message(
                    "elsewhere in this file: {where}: {text}",
                    where=where,
                    text=clip(place.text, _LONGEST),
                )
            )
    for file in explained.elsewhere:
        scope = explained.answer.hunk.scope
        meaning = (
            Message("`{scope}` stands in", scope=scope)
            if file.line
            else Message("a file of that name:")
        )
        lines += _wrapped(
            Message("{what} {path}", what=meaning, path=file.path)
            + (f":{file.line}" if file.line else "")
        )
    return lines + _diff(explained, diff_lines)


def _other_forms(explanation: Explanation) -> list[str]:
    """The forms of a hunk that do not count: what each is here, and where none counts what is closest to it."""
    lines: list[str] = []
    for form in (form for form in explanation.forms if form.hunk.line != explanation.hunk.line):
        template = "another form of it, line {line}: {problem}"
        lines += _wrapped(
            Message(
                template, line=form.hunk.line, problem=form.problem or Message(form.state.value)
            )
        )
        lines += [*_scope(form), *_closest(form)] if explanation.state is State.NOT_FOUND else []
    return lines


def _diff(explained: HunkExplanation, most: int) -> list[str]:
    lines: list[str] = [join_styled("  ", line) for line in color_diff(decoded(explained.diff))[2:]]
    if len(lines) <= most:
        return lines
    template = "  … {number} more: sitepatch diff {patchset}{here}"
    return [
        *lines[:most],
        Message(template, number=len(lines) - most, patchset=explained.answer.patchset),
    ]


def _scope(explanation: Explanation) -> list[str]:
    if explanation.scopes:
        template = "`{one.name}`, lines {one.first} to {one.last}"
        ranges = joined(", ", (Message(template, one=scope) for scope in explanation.scopes[:4]))
        return _wrapped(Message("searched: {ranges}", ranges=ranges))
    near = joined(", ", (f"`{name}`" for name in explanation.near))
    return _wrapped(Message("the file has {near}", near=near)) if near else []


def _closest(explanation: Explanation) -> list[str]:
    """The two sides of the first difference, each with its line number and a marker; the scope is named if it is another."""
    best = explanation.closest
    if best is None:
        return []
    width = len(str(max(best.line, best.code.line, best.pattern.line)))
    elsewhere = () if explanation.scopes else explanation.near[:1]
    where = Message(" in `{scope}`", scope=elsewhere[0]) if elsewhere else ""
    lines: list[str] = [
        Message(
            "closest{where}, {likeness:.0%} of the pattern:", where=where, likeness=best.likeness
        )
    ]
    if best.code.line != best.line:
        lines.append(join_styled(f"  code    {best.line:>{width}} | {clip(best.text, _LONGEST)}"))
    for word, mark in ((Message("code   "), best.code), ("pattern", best.pattern)):
        head, line = f"  {word} {mark.line:>{width}} | ", printable(mark.text)
        marker = underline(
            line, *(len(printable(mark.text[:column])) for column in (mark.start, mark.end))
        )
        blank, arrows = marker[: -len(marker.lstrip())], style(marker.lstrip(), fg="yellow")
        lines += [
            join_styled(head, line),
            join_styled(" " * (len(head) - 2) + "| " + blank, arrows),
        ]
    return lines + _wrapped(best.words)


def _wrapped(text: str) -> list[str]:
    return [
        line
        for line_of_text in translated(text).split("\n")
        for line in wrapped(line_of_text, _WIDTH)
    ]


# JSON -----------------------------------------------------------------------------------------------------------------
def hunk_json(explained: HunkExplanation) -> dict[str, Any]:
    """One hunk as JSON."""
    answer, explanation = explained.answer, explained.explanation
    head = {
        "site": explained.site,
        "path": answer.path,
        "scope": answer.hunk.scope,
        "state": answer.state,
        "places": answer.places,
        "problem": answer.problem,
        "hint": answer.hint,
        "when_present": answer.hunk.when_present,
    }
    elsewhere = [
        {"path": file.path, "line": file.line, "scope": answer.hunk.scope}
        for file in explained.elsewhere
    ]
    if explanation is not None:
        nearby = [
            {"path": answer.path, "line": place.line, "scope": place.scope}
            for place in explanation.elsewhere
        ]
        elsewhere = nearby + elsewhere
    forms = [
        {
            "scope": form.hunk.scope,
            "state": form.state,
            "problem": form.problem,
            "hint": form.hint,
            **_match_json(form),
        }
        for form in (explanation.forms if explanation is not None else ())
    ]
    return {
        **head,
        "origin": explanation.hunk.origin if explanation is not None else "",
        **_match_json(explanation),
        "forms": forms,
        "elsewhere": elsewhere,
        "diff": explained.diff,
    }


def _match_json(explanation: Explanation | None) -> dict[str, Any]:
    if explanation is None:
        return {"line": 0, "scopes": [], "near": [], "matches": [], "closest": None}
    return {
        "line": explanation.hunk.line,
        "scopes": explanation.scopes,
        "near": explanation.near,
        "matches": [
            {**place._asdict(), "names": dict(place.names)} for place in explanation.matches
        ],
        "closest": explanation.closest,
    }
