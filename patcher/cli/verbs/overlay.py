"""What came of an overlay, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from patcher.cli.answers.outcome import ConsoleEvents, show_plan, verified_json, verified_rows
from patcher.cli.answers.plan import plan_json
from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.ops.outcome import ApplyRequest, Outcome
from patcher.ops.overlay import make_overlay
from patcher.text.listed import count

if TYPE_CHECKING:
    from patcher.ops.project import SyncRequest


def lay_over(console: Console, request: Union[ApplyRequest, SyncRequest]) -> Outcome:
    """Make an overlay, and report it."""
    outcome = make_overlay(request, ConsoleEvents(console, show_plan))
    verified = outcome.verdict.verified if outcome.verdict else None
    if outcome.plan.failed:
        hunks = count(len(outcome.plan.answers), "hunk")
        console.note(f"nothing was run: {len(outcome.plan.failed)} of {hunks} failed", "stopped")
    elif outcome.overlay is None:
        console.info("nothing to lay over: what is asked for stands there already, or is not needed")
    console.rows(verified_rows(verified, quiet=console.quiet) if verified else [])
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay:
        files = count(sum(file.before != file.after for file in outcome.plan.files), "file")
        console.info_rows([Row("overlay", (f"{files} in {outcome.overlay}",))])
    if console.as_json:
        fields = {"patchsets": list(outcome.patchsets), "overlay": str(outcome.overlay or ""), **plan_json(outcome.plan)}
        console.data(outcome.ok, {**fields, **({"verify": verified_json(verified)} if verified else {})})
    return outcome
