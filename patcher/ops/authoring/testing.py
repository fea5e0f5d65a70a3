"""`test` and `lint`: the cases of patchsets, and what is wrong with them; neither needs an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

from patcher.author.cases import CaseResult, find_cases, read_case, run_case
from patcher.author.lint import ADVICE, ERROR, LintFinding, lint
from patcher.errors import SitepatchError
from patcher.model import Patchset
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place
from patcher.patchset.places import patchset_folders
from patcher.patchset.sources import find_patchsets
from patcher.project.selection import find_all


class CasesRequest(NamedTuple):
    """Try the cases of these patchsets, of all that can be named without names."""

    place: Place
    names: Tuple[str, ...] = ()


class CasesOutcome(NamedTuple):
    """The results of the cases of each patchset, and why patchsets or cases cannot be read (`broken`), by name."""

    outcomes: Dict[str, Tuple[CaseResult, ...]]
    broken: Dict[str, SitepatchError]

    @property
    def ok(self) -> bool:
        """Whether every case is as expected."""
        return not self.broken and not any(one.problem for each in self.outcomes.values() for one in each)


def try_cases(request: CasesRequest, events: Events = SILENT) -> CasesOutcome:
    """Run the cases of patchsets.

    Raises:
        UsageError: an unknown name.
        PatchError: a named patchset is invalid.
    """
    patchsets, broken = _chosen(request.place, request.names, events)
    found: Dict[str, Tuple[CaseResult, ...]] = {}
    for one, folder in patchsets:
        outcomes: List[CaseResult] = []
        try:
            for path in find_cases(folder):
                outcomes.append(run_case(one, read_case(path)))
        except (SitepatchError, OSError) as error:
            broken[one.name] = error if isinstance(error, SitepatchError) else SitepatchError(str(error))
        found[one.name] = tuple(outcomes)
    return CasesOutcome(found, broken)


class LintRequest(NamedTuple):
    """Look at these patchsets, at all that can be named without names; with `strict` advice counts as an error."""

    place: Place
    names: Tuple[str, ...] = ()
    strict: bool = False


class LintOutcome(NamedTuple):
    """The findings and the folder of each patchset, and why others cannot be read (`broken`), by name."""

    request: LintRequest
    findings: Dict[str, Tuple[LintFinding, ...]]
    broken: Dict[str, SitepatchError]
    folders: Dict[str, Path]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        bad = (ERROR, ADVICE) if self.request.strict else (ERROR,)
        return not self.broken and not any(one.level in bad for found in self.findings.values() for one in found)


def lint_all(request: LintRequest, events: Events = SILENT) -> LintOutcome:
    """Check patchsets.

    Raises:
        UsageError: an unknown name.
        PatchError: a named patchset is invalid.
    """
    patchsets, broken = _chosen(request.place, request.names, events)
    findings = {one.name: tuple(lint(one, folder)) for one, folder in patchsets}
    return LintOutcome(request, findings, broken, {one.name: folder for one, folder in patchsets})


def _chosen(
    place: Place, names: Sequence[str], events: Events
) -> Tuple[List[Tuple[Patchset, Path]], Dict[str, SitepatchError]]:
    """The patchsets of these names, or all without names, with their folders; and why others cannot be read, by name.

    Raises:
        UsageError: an unknown name.
        PatchError: a named patchset is invalid.
    """
    broken: Dict[str, SitepatchError] = {}
    if names:
        patchsets, notes = find_all(names, place.patch_dirs)
        for note in notes:
            events.note(note)
    else:
        every, broken = find_patchsets(place.patch_dirs, Path.cwd())
        patchsets = [one.patchset for one in every]
    places = patchset_folders(place.patch_dirs, Path.cwd())
    return [(one, Path(places[one.name][0][0])) for one in patchsets], broken
