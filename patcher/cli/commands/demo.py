"""`demo`."""

from __future__ import annotations

from typing import List

import click

from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch demo --offline")
@click.option("--keep", is_flag=True, help="Leave the directory for a look at it.")
@click.option("--offline", is_flag=True, help="Use the small stand-in instead of the real mmengine.")
@takes(environment=False, sources=False)
def demo(console: Console, place: Place, keep: bool, offline: bool) -> int:
    """Show the whole story on a throw-away copy.

    It fetches two releases of MMEngine, patches both with one small hunk, edits one by hand, restores them, and proves that
    nothing but that edit is left. With -v also what a larger patchset does, and the output of its code.
    """
    from patcher.cli.demo import Story

    def run(words: List[str]) -> int:
        group = click.get_current_context().find_root().command
        code: int = group.main(words, "sitepatch", standalone_mode=False)
        return code

    return Story(console, run, offline=offline).tell(keep=keep)
