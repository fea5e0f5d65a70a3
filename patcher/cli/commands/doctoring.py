"""`doctor`."""

from __future__ import annotations

import click

from patcher.cli.console import Console, takes
from patcher.cli.told import term
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch doctor --python /opt/venv")
@takes()
def doctor(console: Console, place: Place) -> int:
    """Report known problems of this environment, and what to do.

    Looked at are the target files of the patchsets at hand and what is applied, of others only whether a backup lies beside
    them, so that it stays fast; and known troubles of PyTorch, MMEngine and triton. A problem needs a hand (exit code 1), a
    note is good to know. Writes nothing.
    """
    from patcher.ops.health.checkup import CHECKS
    from patcher.ops.health.doctor import OK, PROBLEM, Case, examine
    from patcher.ops.health.troubles import OF_MACHINE, TROUBLES
    from patcher.store.retry import settled
    from patcher.text.table import Row, count

    env = place.environment()
    console.about(env)
    checks = [each for each in (*CHECKS, *TROUBLES) if not (env.root and each.name in OF_MACHINE)]
    found = settled(env, lambda: examine(Case(env, place.patch_dirs), checks, console.progress))
    shown = [one for one in found if not (console.quiet and one.severity == OK)]
    rows = []
    for one in shown:
        first, *more = one.what.split("\n")
        more += [f"hint: {line}" for line in one.hint.split("\n") if line]
        rows.append(Row(one.severity, (term(one.check), term(first)), tuple(more)))
    console.rows(rows)
    problems = [one for one in found if one.severity == PROBLEM]
    console.say(f"{count(len(problems), 'problem')} in {', '.join(env.sites)}")
    console.data(not problems, {"sites": list(env.sites), "findings": [one._asdict() for one in found]})
    return 1 if problems else 0
