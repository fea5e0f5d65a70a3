"""What `edit` does: copies, an editor, and a patchset of what was edited in it."""

from __future__ import annotations

from patcher.author.folder import output_folder
from patcher.cli.authoring.captured import run_capture
from patcher.cli.authoring.editor import edit_copies
from patcher.cli.changes import Live
from patcher.cli.console import Console, command
from patcher.ops.authoring.capturing import edit
from patcher.ops.authoring.requests import CaptureRequest, EditRequest
from patcher.verify.checks import VerifyOptions


def run_edit(console: Console, what: EditRequest, request: CaptureRequest, *, no_editor: bool, explain: bool) -> int:
    """Edit copies, and capture them as `request` says."""
    output_folder(request.name, request.output)  # said before an hour of editing
    copies = edit(what, Live(console))
    more = ["--output", request.output] if request.output else []
    more += [word for each in request.also for word in ("--also", each)]
    go_on = command(what.place, "capture", "--from", str(copies.folder), "--name", request.name, *more)
    if no_editor:
        console.out(f"edit what is in {copies.folder}, then: {go_on}")
        console.data(True, {"folder": str(copies.folder), "paths": list(copies.paths)})
        return 0
    request = request._replace(copy=str(copies.folder))
    first = copies.paths[0] if what.file else ""

    def run() -> int:
        return run_capture(console, request, VerifyOptions(), take=False, explain=explain)

    return edit_copies(console, copies.folder, first, go_on, run)
