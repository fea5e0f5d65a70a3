"""What `run --overlay` does before the command: plan as `apply` does, tell, verify, and write into the cache alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional, Sequence

from patcher import report
from patcher.change import how_to_verify
from patcher.console import Console, Place
from patcher.model import FilePlan, Plan
from patcher.overlay import make
from patcher.standing import interrupted
from patcher.turns import undisturbed
from patcher.verify import Asked, How, rows, texts_of, verify

if TYPE_CHECKING:
    from patcher.environment import Environment
    from patcher.plan import Wanted


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
    if plan.failed:
        count = report.count(len(plan.failed), "answer")
        console.note(f"nothing was run: {count} of {len(plan.answers)} against it", "stopped")
        return Laid(False, None)
    files = make.patched(plan)
    if not files:
        console.say("nothing to lay over: what is asked for stands there already, or is not needed")
        return Laid(True, None)
    folder = make.make(files)
    if not asked.no_verify and not _verified(console, files, wanted, how, folder):
        return Laid(False, folder)
    console.rows([] if console.quiet else [report.Row("overlay", (f"{report.count(len(files), 'file')} in {folder}",))])
    return Laid(True, folder)


def _verified(console: Console, files: Sequence[FilePlan], wanted: Sequence[Wanted], how: How, folder: Path) -> bool:
    """Whether the overlay is good; what was verified once is not verified again, but for probes."""
    mark = folder / make.VERIFIED
    if mark.exists() and not how.probes:
        return True
    verified = verify(texts_of(files), [one.patchset for one in wanted], how, served=True)
    console.rows([row for row in rows(verified) if not console.quiet or row.word == "failed"])
    if verified.failed:
        console.note("nothing was run: verification failed", "stopped")
        return False
    if how.imports:
        mark.touch()
    return True
