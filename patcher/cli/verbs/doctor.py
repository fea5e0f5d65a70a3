"""What `doctor` does."""

from __future__ import annotations

from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.cli.translation import term
from patcher.ops.health.checkup import CHECKS
from patcher.ops.health.doctor import OK, PROBLEM, Case, examine
from patcher.ops.health.troubles import OF_MACHINE, TROUBLES
from patcher.ops.place import Place
from patcher.store.retry import settled
from patcher.text.listed import count


def run_doctor(console: Console, place: Place) -> int:
    """Show known problems of an environment."""
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
    console.info(f"{count(len(problems), 'problem')} in {', '.join(env.sites)}")
    console.data(not problems, {"sites": list(env.sites), "findings": [one._asdict() for one in found]})
    return 1 if problems else 0
