"""`cache`: what sitepatch keeps for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import click

from patcher.cli.commands.group import Group
from patcher.cli.console import Console, takes
from patcher.ops.place import Place

if TYPE_CHECKING:
    from patcher.system.cache import Entry
    from patcher.text.table import Row


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog="\b\nExamples:\n  sitepatch cache\n  sitepatch cache clean --older-than 30",
)
@takes(environment=False, sources=False)
def cache(console: Console, place: Place) -> int:
    """List the overlays, fetched releases and known results that are kept.

    With the size of each, when it was used last, and whether a process uses it.
    """
    if click.get_current_context().invoked_subcommand:
        return 0
    from patcher.system.cache import cache_dir, entries, size

    found = entries()
    console.rows([_row("in use" if each.in_use else "unused", each) for each in found])
    console.say(f"{size(found)} in {cache_dir().parent}")
    console.data(True, {"folder": str(cache_dir().parent), "entries": [_json(each) for each in found]})
    return 0


@cache.command("clean", epilog="\b\nExample:\n  sitepatch cache clean --older-than 30 --dry-run")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", default=0.0, help="Only what was not used since.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@takes(environment=False, sources=False)
def cache_clean(console: Console, place: Place, older_than: float, dry_run: bool) -> int:
    """Remove overlays and fetched releases that no process uses, and known results.

    Processes of other machines that share the cache are seen where the filesystem locks across machines; with
    --older-than what they may have begun to use is kept.
    """
    import time

    from patcher.system.cache import cache_dir, entries, remove, size

    chosen = [each for each in entries() if not each.in_use and each.used <= time.time() - older_than * 86400]
    removed = [each for each in chosen if dry_run or remove(each)]
    console.rows([_row("unused" if dry_run else "removed", each) for each in removed])
    console.say(f"{size(removed)} {'would be' if dry_run else 'were'} removed from {cache_dir().parent}")
    console.data(True, {"folder": str(cache_dir().parent), "dry_run": dry_run, "removed": [_json(each) for each in removed]})
    return 0


def _row(word: str, entry: Entry) -> Row:
    import time

    from patcher.system.cache import size
    from patcher.text.table import Row

    days = max(0, int((time.time() - entry.used) // 86400))
    return Row(word, (entry.kind, entry.name, size([entry]), f"used {days} days ago" if days else "used today"))


def _json(entry: Entry) -> Dict[str, Any]:
    return {**entry._asdict(), "path": str(entry.path)}
