"""`verify`, and the options that it shares with `apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

import click

from patcher.cli.commands.options import complete_names, ways_to_verify
from patcher.cli.console import Console, takes
from patcher.ops.place import Place

if TYPE_CHECKING:
    from patcher.model import Patchset
    from patcher.store.standing import Standing
    from patcher.verify.checks import Text, Verified


@click.command(epilog="\b\nExamples:\n  sitepatch verify\n  sitepatch verify mmengine-ddp-debug --probe")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@ways_to_verify
@takes()
def verify(
    console: Console, place: Place, names: Tuple[str, ...], compile_only: bool, probe: bool, timeout: float
) -> int:
    """Compile and import what is patched.

    In the target interpreter: all that is applied without a name. A module that cannot be imported without the patch
    either is reported, and is no failure.
    """
    from patcher.cli.changes import Live
    from patcher.cli.verified import verified_json, verified_rows
    from patcher.ops.change import how_to_verify
    from patcher.project.selection import check_names
    from patcher.store.standing import interrupted, named, standing
    from patcher.store.turns import settled
    from patcher.system.signals import stoppable
    from patcher.verify.checks import Asked
    from patcher.verify.checks import verify as run

    env = place.environment()
    console.about(env)

    def look() -> Tuple[List[Tuple[str, str]], List[str], List[str], List[str], List[Standing], Verified]:
        waiting, items = interrupted(env), standing(env)
        stands, idle, chosen = named(items, names)
        if idle:
            check_names(idle, stands, place.patch_dirs)
        patchsets = _stored(items, chosen)
        how = how_to_verify(place, env, Asked(timeout, False, compile_only, probe), patchsets, Live(console))
        here = [item for item in items if any(step.patchset in chosen for step in item.receipt.steps)]
        with stoppable():
            return waiting, stands, idle, chosen, here, run(_texts(here, chosen), patchsets, how)

    waiting, stands, idle, chosen, here, verified = settled(env, look)
    notes = [f"{site}: {problem}" for site, problem in waiting]
    gone = [f"{item.receipt.path}: {item.condition.value}; see sitepatch status" for item in here if not item.live]
    notes += [f"{name} is not applied here: nothing to verify" for name in idle]
    for note in [*notes, *gone]:
        console.note(note)
    if not names and not stands:
        console.say(f"nothing is applied in {', '.join(env.own)}: nothing to verify")
    good = not (verified.failed or gone or idle)
    console.rows(verified_rows(verified, quiet=console.quiet))
    told = {"patchsets": chosen, "notes": [*notes, *gone], "verify": verified_json(verified)}
    console.data(good, told)
    return 0 if good else 1


def _texts(items: Sequence[Standing], names: Sequence[str]) -> List[Text]:
    from patcher.planner.plan import before_and_after
    from patcher.verify.checks import Text

    return [
        Text(item.site, item.receipt.path, item.data, before_and_after(item.site, item.receipt, names)[0])
        for item in items
        if item.live
    ]


def _stored(items: Sequence[Standing], names: Sequence[str]) -> List[Patchset]:
    """The patchsets as they stand applied, from the copies in the stores; one of two versions counts twice."""
    from patcher.planner.fold import kept_patchset

    found: Dict[str, Patchset] = {}
    for item in items:
        for step in item.receipt.steps:
            if step.patchset in names and step.digest not in found:
                found[step.digest] = kept_patchset(item.site, step)
    return list(found.values())
