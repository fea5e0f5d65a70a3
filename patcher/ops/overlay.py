"""What `run --overlay` does before the command: plan as `apply` does, tell, verify, and write into the cache alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional, Sequence, Tuple

from patcher.cli import report
from patcher.cli.console import Console, Place
from patcher.model import FilePlan, Plan
from patcher.ops.change import how_to_verify
from patcher.overlay import make
from patcher.store.standing import interrupted
from patcher.store.turns import undisturbed
from patcher.text.table import Row, count
from patcher.verify.checks import Asked, How, Verified, rows, texts_of, verified_json, verify

if TYPE_CHECKING:
    from patcher.planner.plan import Wanted
    from patcher.target.environment import Environment


class Laid(NamedTuple):
    """What came of it: whether the command may run, and the folder of the overlay, None where nothing is to be patched."""

    good: bool
    folder: Optional[Path]


def lay(
    console: Console, place: Place, env: Environment, wanted: Sequence[Wanted], notes: Sequence[str], asked: Asked,
    make_plan: Callable[[], Plan],
) -> Laid:  # fmt: skip
    """Make an overlay of what a plan would write; nothing else is written.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        env: that environment.
        wanted: the patchsets.
        notes: remarks about them.
        asked: how to verify.
        make_plan: makes the plan; called again where another process was at work.

    Raises:
        SitepatchError: what keeps it from making a plan or an overlay.
    """
    how = how_to_verify(console, place, env, asked, [one.patchset for one in wanted])
    console.about(env)
    for site, sentence in interrupted(env):
        console.note(f"{site}: {sentence}, by the next command that writes")
    plan = undisturbed(env, make_plan, dry_run=True)
    console.rows(report.answer_rows(answer for answer in plan.answers if answer.state.failed or not console.quiet))
    console.see(place, plan.answers)
    for note in (*notes, *plan.notes):
        console.note(note)
    laid, verified = _lay(console, plan, wanted, how, asked)
    more = {"verify": verified_json(verified, rolled_back=False)} if verified else {}
    fields = {"patchsets": [one.patchset.name for one in wanted], "overlay": str(laid.folder or ""), **report.plan_json(plan)}
    console.data(laid.good, {**fields, **more})
    return laid


def _lay(
    console: Console, plan: Plan, wanted: Sequence[Wanted], how: How, asked: Asked
) -> Tuple[Laid, Optional[Verified]]:
    if plan.failed:
        hunks = count(len(plan.answers), "hunk")
        console.note(f"nothing was run: {len(plan.failed)} of {hunks} failed", "stopped")
        return Laid(False, None), None
    files = make.patched(plan)
    if not files:
        console.say("nothing to lay over: what is asked for stands there already, or is not needed")
        return Laid(True, None), None
    folder = make.make(files)
    verified = None if asked.no_verify else _verified(console, files, wanted, how, folder)
    if verified and verified.failed:
        return Laid(False, folder), verified
    console.rows([] if console.quiet else [Row("overlay", (f"{count(len(files), 'file')} in {folder}",))])
    return Laid(True, folder), verified


def _verified(
    console: Console, files: Sequence[FilePlan], wanted: Sequence[Wanted], how: How, folder: Path
) -> Optional[Verified]:
    """How good the overlay is; None where it was verified before, which is not done again but for probes."""
    mark = folder / make.VERIFIED
    if mark.exists() and not how.probes:
        return None
    verified = verify(texts_of(files), [one.patchset for one in wanted], how, served=True)
    console.rows([row for row in rows(verified) if not console.quiet or row.word == "failed"])
    if verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif how.imports:
        mark.touch()
    return verified
