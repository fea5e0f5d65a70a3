"""`verify`."""

from __future__ import annotations

from typing import Any, Tuple

import click

from patcher.cli.commands.options import asked, complete_names, ways_to_verify
from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExamples:\n  sitepatch verify\n  sitepatch verify mmengine-ddp-debug --probe")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@ways_to_verify
@takes()
def verify(console: Console, place: Place, names: Tuple[str, ...], **ways: Any) -> int:
    """Compile and import what is patched.

    In the target interpreter: all that is applied without a name. A module that cannot be imported without the patch
    either is reported, and is no failure.
    """
    from patcher.cli.changes import Live
    from patcher.cli.verified import verified_json, verified_rows
    from patcher.ops.verifying import VerifyRequest
    from patcher.ops.verifying import verify as run

    done = run(VerifyRequest(place, names, asked(**ways)), Live(console))
    notes = [*done.notes, *(f"{name} is not applied here: nothing to verify" for name in done.idle), *done.gone]
    for note in notes:
        console.note(note)
    if not (names or done.patchsets):
        console.say(f"nothing is applied in {', '.join(done.env.own)}: nothing to verify")
    console.rows(verified_rows(done.verified, quiet=console.quiet))
    told = {"patchsets": list(done.patchsets), "notes": notes, "verify": verified_json(done.verified)}
    console.data(done.ok, told)
    return 0 if done.ok else 1
