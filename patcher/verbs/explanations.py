"""Why each hunk of a patchset does or does not fit an environment. Reads only."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Mapping, Sequence

from patcher.author.changed import python_files
from patcher.author.same_code import readable
from patcher.engine.explain import explain
from patcher.engine.source import definition_lines
from patcher.engine.tree import SyntaxProblem, Tree
from patcher.errors import SitepatchError
from patcher.facts import Assignment, TargetFile, Wanted
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import (
    Answer,
    Elsewhere,
    Explanation,
    HunkFlags,
    HunkText,
    OptionValue,
    Requested,
    Splice,
    State,
    apply_splices,
)
from patcher.patchset.layers import layers_of
from patcher.planner.assignments import update_hint
from patcher.planner.reconcile import reconciled, refused_answers
from patcher.planner.resolve import application_order, resolve
from patcher.planner.rewriter import REWRITER
from patcher.planner.survey import read_facts
from patcher.store.status import read_installed
from patcher.text.diffs import diff_texts

_MOST_FILES = 20_000
"""How many files of a package are read to find a scope again."""
_MOST = 5
"""How many other files are named."""


def explanations(env: Environment, requested: Requested) -> tuple[list[Answer], list[str]]:
    """Every hunk of a patchset in an environment, explained, and remarks.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    facts = read_facts(env, Wanted((requested,)))
    notes = dict.fromkeys(facts.notes)
    answers: list[Answer] = []
    for answer in facts.answers:
        answers.append(_without_a_file(env, answer))
    for key, (assignment,) in facts.assignments.items():
        file = facts.files[key]
        notes.update(dict.fromkeys(file.remarks.notes))
        answers += _of_file(assignment, file)
    # of several files together: rules 25 and 26
    return reconciled(answers), list(notes)


def _of_file(assignment: Assignment, file: TargetFile) -> list[Answer]:
    """The hunks of a patchset for one file, explained."""
    if file.problem:
        return refused_answers([assignment], file.problem)
    site = assignment.located.site
    path = assignment.path
    name = assignment.requested.patchset.name
    order = application_order(file.steps, [assignment])
    ahead = order[: order.index(name)]
    data, _, _ = resolve(
        site,
        path,
        file=file,
        order=ahead,
        assignments={},
        rewriter=REWRITER,
    )
    _, _, planned = resolve(
        site,
        path,
        file=file,
        order=[*ahead, name],
        assignments={name: assignment},
        rewriter=REWRITER,
    )

    # each with the text that its hunks are matched against
    alone: list[tuple[bytes, Explanation]] = []
    for hunks in layers_of(assignment.hunks):
        explanations_of_layer = explain(
            data,
            hunks,
            options=assignment.requested.options,
            injected=assignment.names,
        )
        for explanation in explanations_of_layer:
            alone.append((data, explanation))
        data = REWRITER.rewrite(data, assignment._replace(hunks=hunks)).data

    explained: list[Answer] = []
    for answer, (text, explanation) in zip(planned, alone):
        explained.append(
            _explained(
                answer,
                file,
                data=text,
                explanation=explanation,
                options=assignment.requested.options,
            )
        )
    return explained


def _explained(
    planned: Answer,
    file: TargetFile,
    *,
    data: bytes,
    explanation: Explanation,
    options: Mapping[str, OptionValue],
) -> Answer:
    """The answer of `apply` with the explanation of the hunk by itself, for the text `data`."""
    # no text has what is closest
    if planned.state is State.CONFLICT and explanation.state is not State.CONFLICT:
        return planned
    splices = explanation.answer.splices

    answer = planned.with_result(problem=explanation.problem, hint=explanation.hint)
    if not answer.places:
        places = tuple(match.line for match in explanation.matches)
        answer = answer.with_result(places=places)
    if planned.state is State.APPLIED:
        if explanation.state in (State.UPSTREAM, State.NOT_NEEDED):
            # the patchset is applied in this file, and had nothing to do here
            answer = answer.with_result(state=explanation.state)
        else:
            places = _current_lines(file, planned.patchset, splices=splices)
            answer = answer.with_result(places=places, problem="", hint="")

    diff = b""
    if planned.state in (State.APPLIED, State.APPLICABLE) and splices:
        changed = apply_splices(data, splices)
        diff = diff_texts(planned.site, planned.path, before=data, after=changed).text

    answer = answer._replace(explanation=explanation, diff=diff)
    if planned.state is State.NOT_FOUND and not explanation.scopes:
        return _followed(answer, explanation, data=data, options=options)
    return answer


def _followed(
    answer: Answer,
    explanation: Explanation,
    *,
    data: bytes,
    options: Mapping[str, OptionValue],
) -> Answer:
    """The answer of a hunk whose scope is gone, with what to write where its code is known.

    It is looked for in the same file `data`, then in the others of the package.
    """
    hunk = explanation.hunk
    tree = readable(data)
    for match in explanation.elsewhere:
        renamed = hunk._replace(scope=match.scope, further_forms=())
        if match.scope and tree is not None and _holds(tree, renamed, options):
            hint = Message("add this form to the hunk:\n{lines}", lines=_form(hunk, match.scope))
            return answer.with_result(hint=hint)
    if explanation.elsewhere:
        return answer

    places = _code_elsewhere(answer.site, answer.path, hunk, options)
    if len(places) != 1:
        places = places or scope_elsewhere(answer.site, answer.path, scope=answer.scope)
        return answer._replace(elsewhere=places)
    place = places[0]
    lines = [f"--- {answer.path}", f"--- {place.path}", f"@@ {hunk.scope} @@", *hunk.written]
    if place.scope:
        lines.append(_form(hunk, place.scope))
    template = "write this at the end of the .spatch, in place of the hunk:\n{lines}"
    hint = Message(template, lines="\n".join(lines))
    explanation = explanation._replace(near=(), closest=None)
    return answer.with_result(hint=hint)._replace(explanation=explanation, elsewhere=places)


def _form(hunk: HunkText, scope: str) -> str:
    """The text of a further form of a hunk, for another scope."""
    return "\n".join([f"@@ or {scope} @@", *hunk.written])


def _holds(tree: Tree, hunk: HunkText, options: Mapping[str, OptionValue]) -> bool:
    """Whether a hunk can be applied to a file, or is upstream there."""
    try:
        return tree.answer(hunk, options).state in (State.APPLICABLE, State.UPSTREAM)
    except SyntaxProblem:
        return False


def _current_lines(file: TargetFile, name: str, *, splices: Sequence[Splice]) -> tuple[int, ...]:
    """The lines of a hunk's changes now, after the patchsets that were applied later."""
    names = [step.patchset for step in file.steps]
    steps = file.steps[names.index(name) :]
    lines: dict[int, None] = {}
    for splice in splices:
        offset = splice.start
        for step in steps:
            offset += _shift(step.splices, before=offset)
        text_before = file.content.now[:offset]
        line = len(re.findall(rb"\r\n|\r|\n", text_before)) + 1
        lines[line] = None
    return tuple(lines)


def _shift(splices: Iterable[Splice], *, before: int) -> int:
    """By how many bytes the splices that start before an offset move what follows them."""
    shift = 0
    for splice in splices:
        if splice.start < before:
            shift += len(splice.new) - (splice.end - splice.start)
    return shift


# moved files ------------------------------------------------------------------------------------
def _without_a_file(env: Environment, answer: Answer) -> Answer:
    """An answer from before any hunk was tried.

    It tells of a lost file where it may have gone, of a release in no range how that is widened.
    """
    if answer.state is not State.NOT_FOUND:
        return answer
    path = answer.path
    package, _, _ = path.partition("/")
    try:
        located = locate(env, package, [path])
    except SitepatchError:
        return answer
    if not answer.scope:
        return answer.with_result(hint=update_hint(answer.patchset, located.version))

    site = located.site
    elsewhere = list(scope_elsewhere(site, path, scope=answer.scope))
    if len(elsewhere) == 1:
        template = "add `--- {near}` below `--- {path}` in the .spatch"
        answer = answer.with_result(hint=Message(template, near=elsewhere[0].path, path=path))
    _, _, name = path.rpartition("/")
    for other in _sources(site, path):
        folder, _, other_name = other.rpartition("/")
        is_in_a_folder = "/" in folder  # of the package
        if other_name == name and is_in_a_folder:
            elsewhere.append(Elsewhere(other, line=0))
    return answer._replace(site=site, elsewhere=tuple(elsewhere[:_MOST]))


def _code_elsewhere(
    site: str, path: str, hunk: HunkText, options: Mapping[str, OptionValue]
) -> tuple[Elsewhere, ...]:
    """The other files of a package in which a hunk fits, in its scope or one of the same name."""
    name = hunk.scope.split(".")[-1]
    if hunk.flags != HunkFlags() or hunk.further_forms:
        return ()
    places: list[Elsewhere] = []
    for other, data in _defining(site, path, name):
        tree = readable(data)
        if tree is None:
            continue
        for scope in tree.definitions:
            is_named = scope.split(".")[-1] == name
            if is_named and _holds(tree, hunk._replace(scope=scope), options):
                renamed = "" if scope == hunk.scope else scope
                places.append(Elsewhere(other, definition_lines(data, scope)[0], scope=renamed))
    return tuple(places[:_MOST])


def _defining(site: str, path: str, name: str) -> Iterator[tuple[str, bytes]]:
    """The other files of the package of a file whose text defines a name."""
    if not name.isidentifier():
        return
    keyword = rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+"
    definition = re.compile(keyword + name.encode() + rb"\b", re.MULTILINE)
    for other in _sources(site, path):
        try:
            data = read_installed(site, other) or b""
        except OSError:
            continue  # what cannot be read cannot be named
        if definition.search(data):
            yield other, data


def scope_elsewhere(site: str, path: str, scope: str) -> tuple[Elsewhere, ...]:
    """Where else in the package of a file a scope is defined: by its text, then by its name."""
    places: list[Elsewhere] = []
    for other, data in _defining(site, path, scope.split(".")[-1]):
        for line in definition_lines(data, scope):
            places.append(Elsewhere(other, line))
        if len(places) >= _MOST:
            break
    return tuple(places[:_MOST])


def _sources(site: str, path: str) -> list[str]:
    """The Python files of a file's package but that file."""
    package, _, _ = path.partition("/")
    sources = python_files(site, package)[:_MOST_FILES]
    return [other for other in sources if other != path]
