"""Why each hunk of a patchset does or does not fit an environment. Reads only."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from patcher.engine.engine import definitions, explain
from patcher.errors import SitepatchError
from patcher.facts import Assignment, TargetFile, Wanted
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.model import Answer, Requested, Splice, State, Step, apply_splices
from patcher.patchset.layers import layers_of
from patcher.planner.plan import application_order, reconciled, refused_answers, resolve
from patcher.planner.survey import REWRITER, read_facts
from patcher.store.status import read_installed
from patcher.text.diffs import diff_texts

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
    explanation: Optional[Explanation] = None
    diff: bytes = b""
    elsewhere: Tuple[Elsewhere, ...] = ()


def explanations(env: Environment, requested: Requested) -> Tuple[List[HunkExplanation], List[str]]:
    """Every hunk of a patchset in an environment, and remarks.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    facts = read_facts(env, Wanted((requested,)))
    hunks = [_without_a_file(env, answer) for answer in facts.answers]
    notes = list(facts.notes)
    for key, (assignment,) in facts.assignments.items():
        notes += facts.files[key].notes
        hunks += _file(assignment, facts.files[key])
    states = reconciled([explained.answer for explained in hunks])  # of several files together: rule 24
    return [explained._replace(answer=answer) for explained, answer in zip(hunks, states)], list(dict.fromkeys(notes))


def _file(assignment: Assignment, file: TargetFile) -> List[HunkExplanation]:
    site, path, name = assignment.located.site, assignment.path, assignment.requested.patchset.name
    if file.problem:
        return [HunkExplanation(site, answer) for answer in refused_answers([assignment], file.problem)]
    order = application_order(file.steps, [assignment])
    ahead = order[: order.index(name)]
    data, _, _ = resolve(site, path, file, ahead, {}, REWRITER)
    _, _, planned = resolve(site, path, file, [*ahead, name], {name: assignment}, REWRITER)
    options, names = assignment.requested.options, assignment.names
    alone: List[Tuple[bytes, Explanation]] = []
    for hunks in layers_of(assignment.hunks):  # each with the text that its hunks are matched against
        alone += [(data, explanation) for explanation in explain(data, hunks, options, names)]
        data = REWRITER.rewrite(data, assignment._replace(hunks=hunks)).data
    return [_explained(assignment, file, source, answer, explanation) for answer, (source, explanation) in zip(planned, alone)]


def _explained(
    assignment: Assignment, file: TargetFile, data: bytes, planned: Answer, explanation: Explanation
) -> HunkExplanation:
    path = assignment.path
    if planned.state is State.CONFLICT and explanation.state is not State.CONFLICT:  # no text has what is closest
        return HunkExplanation(assignment.located.site, planned)
    places = planned.places or tuple(match.line for match in explanation.matches)
    answer = planned._replace(places=places, problem=explanation.problem, hint=explanation.hint)
    diff = b""
    if planned.state in (State.APPLIED, State.APPLICABLE) and explanation.splices:
        diff = diff_texts(assignment.located.site, path, data, apply_splices(data, explanation.splices)).text
    if planned.state is State.APPLIED and explanation.state in (State.UPSTREAM, State.NOT_NEEDED):
        answer = answer._replace(state=explanation.state)  # the patchset is applied in this file, and had nothing to do here
    elif planned.state is State.APPLIED:
        answer = answer._replace(places=_now(file, planned.patchset, explanation.splices), problem="", hint="")
    needs = planned.state is State.NOT_FOUND and not explanation.scopes and not explanation.elsewhere
    elsewhere = scope_elsewhere(assignment.located.site, path, planned.scope) if needs else ()
    return HunkExplanation(assignment.located.site, answer, explanation, diff, elsewhere)


def _now(file: TargetFile, name: str, splices: Sequence[Splice]) -> Tuple[int, ...]:
    """The lines at which a hunk's changes stand in the file as it is now, after the patchsets that were applied later."""
    index = next(index for index, step in enumerate(file.steps) if step.patchset == name)
    lines = []
    for splice in splices:
        at = splice.start
        for step in file.steps[index:]:
            at = _moved(step, at)
        lines.append(len(re.findall(rb"\r\n|\r|\n", file.now[:at])) + 1)
    return tuple(dict.fromkeys(lines))


def _moved(step: Step, at: int) -> int:
    return at + sum(len(splice.new) - (splice.end - splice.start) for splice in step.splices if splice.start < at)


# moved files ----------------------------------------------------------------------------------------------------------
def _without_a_file(env: Environment, answer: Answer) -> HunkExplanation:
    """An answer that was given before any hunk was tried; of a file that is not there, where it may have gone."""
    if answer.state is not State.NOT_FOUND or not answer.scope:
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
    return HunkExplanation(site, answer, elsewhere=(*scope_elsewhere(site, answer.path, answer.scope), *same_name)[:_MOST])


def scope_elsewhere(site: str, path: str, scope: str) -> Tuple[Elsewhere, ...]:
    """Where else in the package of a file a scope is defined: found by its text first, then by its qualified name."""
    name = scope.split(".")[-1]
    if not name.isidentifier():
        return ()
    written = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+" + name.encode() + rb"\b", re.MULTILINE)
    places: List[Elsewhere] = []
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


def _sources(site: str, path: str) -> Iterator[str]:
    """The Python files of a file's package but that file, `/`-separated and relative to the site directory, sorted."""
    count = 0
    for folder, inner, names in os.walk(str(Path(site) / path.split("/")[0])):
        inner.sort()
        for name in sorted(names):
            other_path = (Path(folder) / name).relative_to(site).as_posix()
            if name.endswith(".py") and other_path != path and count < _MOST_FILES:
                count += 1
                yield other_path
