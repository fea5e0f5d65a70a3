"""`demo`."""

from __future__ import annotations

from typing import List

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch demo --offline")
@click.option("--keep", is_flag=True, help="Leave the directory for a look at it.")
@click.option("--offline", is_flag=True, help="Use the small stand-in instead of the real mmengine.")
@common_options(environment=False, sources=False)
def demo(console: Console, place: Place, keep: bool, offline: bool) -> int:
    """Show the whole story on a throw-away copy.

    It fetches two releases of MMEngine, patches both with one small hunk, edits one by hand, restores them, and proves that
    nothing but that edit is left. With -v also what a larger patchset does, and the output of its code.
    """
    from patcher.cli.demo import Demo

    def run(words: List[str]) -> int:
        group = click.get_current_context().find_root().command
        code: int = group.main(words, "sitepatch", standalone_mode=False)
        return code

    return Demo(console, run, offline=offline).show(keep=keep)
