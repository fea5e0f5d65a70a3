"""What `explain` does."""

from __future__ import annotations

from patcher.cli.answers.explanation import explanation_row, hunk_json
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.console import Console
from patcher.ops.explain import ExplainRequest, explain


def run_explain(console: Console, request: ExplainRequest) -> int:
    """Show why each hunk of a patchset does or does not fit here."""
    outcome = explain(request, ConsoleEvents(console))
    chosen = [one for one in outcome.hunks if one.answer.state.failed or not console.quiet]
    console.rows([explanation_row(one, 10_000 if console.verbose else 20) for one in chosen])
    console.notes(outcome.notes)
    hunks = [hunk_json(one) for one in outcome.hunks]
    console.data(outcome.ok, {"patchset": request.name, "hunks": hunks, "notes": list(outcome.notes)})
    return 0 if outcome.ok else 1
