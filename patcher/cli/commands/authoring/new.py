"""`new`."""

from __future__ import annotations

from typing import Optional

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options


@click.command(epilog="\b\nExamples:\n  sitepatch new my-fix mmengine\n  sitepatch new my-fix mmengine/runner/runner.py")
@click.argument("name")
@click.argument("package", metavar="PACKAGE|FILE")
@click.option("--output", metavar="DIR", help="Where the patchset's folder is put (default ./patchsets).")
@common_options(sources=False)
def new(console: Console, name: str, package: str, output: Optional[str]) -> int:
    """Make a patchset to begin with.

    Its hunk is for a real function of the package, and fits; its text says how to write another one. It has a case, and check
    says what is still to be written.
    """
    from patcher.ops.authoring import starting as ops  # with the engine

    made = ops.new(ops.NewRequest(console.place, name, package, output), console)
    console.notes(made.notes)
    console.info(f"wrote {made.folder}: a hunk for {made.scope} in {made.path}; read it, then write yours in its place")
    more = ["--patch-dir", str(made.folder)] if output else []
    console.info(f"see what it changes: {console.command('diff', name, *more)}")
    return console.answer(
        True, {"folder": str(made.folder), "path": made.path, "scope": made.scope, "notes": list(made.notes)}
    )
