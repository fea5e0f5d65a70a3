"""`lint`: checks of patchsets that need no environment."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, NamedTuple, Tuple

from patcher.author.lint import ADVICE, ERROR, LintFinding, lint
from patcher.errors import SitepatchError
from patcher.ops.authoring.testing import asked_for
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place


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
    patchsets, broken = asked_for(request.place, request.names, events)
    findings = {one.name: tuple(lint(one, folder)) for one, folder in patchsets}
    return LintOutcome(request, findings, broken, {one.name: folder for one, folder in patchsets})
