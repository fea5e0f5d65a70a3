"""What `new` does."""

from __future__ import annotations

from patcher.cli.console import Console, command
from patcher.ops.authoring.requests import NewRequest
from patcher.ops.authoring.starting import new


def run_new(console: Console, request: NewRequest) -> int:
    """Make a patchset to begin with, and report what is in it."""
    made = new(request)
    console.notes(made.notes)
    console.info(f"wrote {made.folder}: a hunk for {made.scope} in {made.path}; read it, then write yours in its place")
    more = ["--patch-dir", str(made.folder)] if request.output else []
    console.info(f"see what it changes: {command(request.place, 'diff', request.name, *more)}")
    console.data(True, {"folder": str(made.folder), "path": made.path, "scope": made.scope, "notes": list(made.notes)})
    return 0
