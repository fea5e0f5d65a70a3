"""`check`, the one gate of a patchset: what is written, its cases, and whether it fits here or other releases. Reads only."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.author.cases import CaseResult, find_cases, read_case, run_case
from patcher.author.lint import ADVICE, ERROR, LintFinding, lint
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.message import Message
from patcher.model import Answer, Patchset, Requested
from patcher.ops.events import SILENT, Events
from patcher.ops.explain import HunkExplanation, explanations
from patcher.ops.place import Place
from patcher.ops.releases.against import check_against, check_releases
from patcher.ops.releases.outcome import Checked, is_absent
from patcher.patchset.places import patchset_folders
from patcher.patchset.sources import find_patchsets
from patcher.planner.survey import make_plan
from patcher.project.selection import choose
from patcher.store.retry import settled
from patcher.text.listed import count


class CheckRequest(NamedTuple):
    """Check these patchsets, all without names: in the environment, or on the releases of `against` where there are any.

    `against` has versions, ranges, `all` or `newest`; `jobs` is how many releases are fetched at a time; `settings` are texts
    as `--set` takes them. With `strict` advice counts as an error, with `explain` the one patchset that is named is explained.
    """

    place: Place
    names: Sequence[str] = ()
    against: Sequence[str] = ()
    jobs: int = 4
    settings: Sequence[str] = ()
    strict: bool = False
    explain: bool = False


class CheckOutcome(NamedTuple):
    """What is wrong with the patchsets `requested`, and what would become of them.

    Attributes:
        request: the request.
        requested: the patchsets.
        folders: that of each patchset, by name.
        findings: about what each patchset says, by name.
        cases: what came of the cases of each patchset, by name.
        answers: those of the environment; none where releases were asked for.
        absent: answers about packages that are not installed, which is no fault where no patchset is named.
        hunks: every hunk, explained, where that was asked for.
        releases: each patchset on each release.
        broken: patchsets, by name, that cannot be read, or whose cases cannot be.
        notes: remarks for the user.
    """

    request: CheckRequest
    requested: Tuple[Requested, ...]
    folders: Mapping[str, Path]
    findings: Mapping[str, Tuple[LintFinding, ...]]
    cases: Mapping[str, Tuple[CaseResult, ...]]
    answers: Tuple[Answer, ...] = ()
    absent: Tuple[Answer, ...] = ()
    hunks: Tuple[HunkExplanation, ...] = ()
    releases: Tuple[Checked, ...] = ()
    broken: Mapping[str, SitepatchError] = {}
    notes: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and every patchset would apply or is not needed."""
        fits = not any(answer.state.failed for answer in self.answers)
        fits = fits and not any(release.failed for checked in self.releases for release in checked.outcomes)
        return fits and not self.broken and not self.faults and not self.failed_cases

    @property
    def faults(self) -> List[LintFinding]:
        """The findings that count as errors."""
        levels = (ERROR, ADVICE) if self.request.strict else (ERROR,)
        return [finding for findings in self.findings.values() for finding in findings if finding.level in levels]

    @property
    def failed_cases(self) -> List[CaseResult]:
        """The cases that are not as expected."""
        return [case for cases in self.cases.values() for case in cases if case.problem]


def check(request: CheckRequest, events: Events = SILENT) -> CheckOutcome:
    """Find out what is wrong with patchsets, and whether they would apply.

    Raises:
        UsageError: a name or a value of `against` or `settings` that is none; `explain` for another number than one.
        PatchError: a named patchset is invalid.
        SitepatchError: as `check_releases`; no such environment.
    """
    place = request.place
    check_against(request.against, folders=True)
    if request.explain and (len(request.names) != 1 or request.against):
        found = "--against" if request.against else count(len(request.names), "patchset")
        raise UsageError(
            "--explain: found {found}, expected one patchset, which is explained for this environment", found=found
        )
    every, broken = find_patchsets(place.patch_dirs, Path.cwd())
    known = [source.patchset for source in every]
    names = request.names or [patchset.name for patchset in known]
    requested, notes = choose(names, request.settings, place.patch_dirs)
    outcome = _inspect(request, requested, {} if request.names else broken)._replace(notes=tuple(notes))
    if request.against:
        return outcome._replace(releases=tuple(check_releases(requested, request.against, known, request.jobs, events)))
    return _check_here(outcome, events)


def _inspect(request: CheckRequest, requested: Sequence[Requested], broken: Mapping[str, SitepatchError]) -> CheckOutcome:
    """What is found without an environment."""
    places = patchset_folders(request.place.patch_dirs, Path.cwd())
    folders = {wanted.patchset.name: Path(places[wanted.patchset.name][0][0]) for wanted in requested}
    findings, cases, errors = {}, {}, dict(broken)
    for name, patchset in ((wanted.patchset.name, wanted.patchset) for wanted in requested):
        findings[name] = tuple(lint(patchset, folders[name]))
        try:
            cases[name] = run_cases(patchset, folders[name])
        except (SitepatchError, OSError) as error:
            errors[name] = error if isinstance(error, SitepatchError) else SitepatchError(str(error))
    return CheckOutcome(request, tuple(requested), folders, findings, cases, broken=errors)


def run_cases(patchset: Patchset, folder: Path) -> Tuple[CaseResult, ...]:
    """Try the cases of a patchset in its folder.

    Raises:
        SitepatchError: a case cannot be read.
        OSError: likewise.
    """
    return tuple(run_case(patchset, read_case(path)) for path in find_cases(folder))


def _check_here(outcome: CheckOutcome, events: Events) -> CheckOutcome:
    """Those that are named together, as `apply` would take them, else each by itself."""
    request = outcome.request
    env = request.place.environment()
    events.started(env)
    if request.explain:
        hunks, remarks = settled(env, lambda: explanations(env, outcome.requested[0]))
        answers = tuple(hunk.answer for hunk in hunks)
        return outcome._replace(answers=answers, hunks=tuple(hunks), notes=(*outcome.notes, *remarks))
    every: List[Answer] = []
    notes: Dict[str, None] = {}
    groups = [outcome.requested] if request.names else [(wanted,) for wanted in outcome.requested]
    for number, group in enumerate(groups, 1):
        plan = settled(env, partial(make_plan, env, Wanted(tuple(group))))
        every += plan.answers
        notes.update(dict.fromkeys(plan.notes))
        events.progress(number, len(groups), Message("patchsets checked"))
    absent = tuple(filter(is_absent, every)) if not request.names else ()
    present = tuple(answer for answer in every if answer not in absent)
    return outcome._replace(answers=present, absent=absent, notes=(*outcome.notes, *notes))
