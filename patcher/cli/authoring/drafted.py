"""Hunks that were made of an edit, as text and as JSON: what each one is, and why it has its form."""

from __future__ import annotations

from typing import Any, Dict, List

from patcher.author.draft import Draft
from patcher.cli.console import Console, paint, style


def show_hunks(console: Console, draft: Draft, *, explain: bool) -> None:
    """Write the hunks file by file, each with its form; with `explain` also those that were not taken, and why."""
    lines: List[str] = []
    for file in draft.files:
        lines += ["", style(f"--- {' or '.join(file.paths)}", bold=True)] if file.hunks else []
        for hunk in file.hunks:
            lines += [*paint(hunk.text.rstrip("\n")), f"  # line {hunk.line}: {hunk.form}"]
            for lost in hunk.lost if explain else ():
                lines += [f"  # not taken, as {lost.why}:", *(f"  # {line}" for line in lost.text.splitlines())]
    console.page([] if console.quiet else lines, pager=False)


def hunks_json(draft: Draft, *, explain: bool = False) -> List[Dict[str, Any]]:
    """The hunks; with `explain` each with those that were not taken."""
    found: List[Dict[str, Any]] = []
    for file in draft.files:
        for hunk in file.hunks:
            lost = {"lost": [each._asdict() for each in hunk.lost]} if explain else {}
            found.append({"paths": list(file.paths), "text": hunk.text, "line": hunk.line, "form": hunk.form, **lost})
    return found
