"""What `verify` does."""

from __future__ import annotations

from typing import Tuple

from patcher.cli.answers.outcome import ConsoleEvents, verified_json, verified_rows
from patcher.cli.console import Console
from patcher.ops.outcome import VerifyRequest
from patcher.ops.place import Place
from patcher.ops.verifying import verify
from patcher.verify.checks import VerifyOptions


def run_verify(console: Console, place: Place, names: Tuple[str, ...], how: VerifyOptions) -> int:
    """Verify what is applied, and report it."""
    done = verify(VerifyRequest(place, names, how), ConsoleEvents(console))
    notes = [*done.notes, *(f"{name} is not applied here: nothing to verify" for name in done.idle), *done.gone]
    console.notes(notes)
    if not (names or done.patchsets):
        console.info(f"nothing is applied in {', '.join(done.env.own)}: nothing to verify")
    console.rows(verified_rows(done.verified, quiet=console.quiet))
    fields = {"patchsets": list(done.patchsets), "notes": notes, "verify": verified_json(done.verified)}
    console.data(done.ok, fields)
    return 0 if done.ok else 1
