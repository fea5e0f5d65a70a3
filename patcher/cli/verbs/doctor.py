"""What `doctor` does."""

from __future__ import annotations

from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.cli.translation import term
from patcher.ops.health.checkup import doctor
from patcher.ops.health.doctor import OK
from patcher.ops.place import Place
from patcher.text.listed import count


def run_doctor(console: Console, place: Place) -> int:
    """Show known problems of an environment."""
    outcome = doctor(place, ConsoleEvents(console))
    rows = []
    for one in outcome.findings:
        if not (console.quiet and one.severity == OK):
            first, *more = one.what.split("\n")
            more += [f"hint: {line}" for line in one.hint.split("\n") if line]
            rows.append(Row(one.severity, (term(one.check), term(first)), tuple(more)))
    console.rows(rows)
    sites = list(outcome.env.sites)
    console.info(f"{count(outcome.problems, 'problem')} in {', '.join(sites)}")
    console.data(not outcome.problems, {"sites": sites, "findings": [one._asdict() for one in outcome.findings]})
    return 1 if outcome.problems else 0
