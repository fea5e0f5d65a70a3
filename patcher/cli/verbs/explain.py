"""What `explain` does."""

from __future__ import annotations

from typing import Sequence

from patcher.cli.answers.explanation import explanation_row, hunk_json
from patcher.cli.console import Console
from patcher.ops.explain import explained
from patcher.ops.place import Place
from patcher.project.selection import choose
from patcher.store.retry import settled


def run_explain(console: Console, place: Place, name: str, settings: Sequence[str]) -> int:
    """Explain why each hunk of a patchset does or does not fit here."""
    (requested,), notes = choose([name], settings, place.patch_dirs)
    env = place.environment()
    console.about(env)
    hunks, more = settled(env, lambda: explained(env, requested))
    notes += more
    failed = any(one.answer.state.failed for one in hunks)
    chosen = [one for one in hunks if one.answer.state.failed or not console.quiet]
    console.rows([explanation_row(one, 10_000 if console.verbose else 20) for one in chosen])
    console.notes(notes)
    console.data(not failed, {"patchset": name, "hunks": [hunk_json(one) for one in hunks], "notes": notes})
    return 1 if failed else 0
