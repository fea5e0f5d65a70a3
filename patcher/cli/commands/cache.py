"""`cache`: what sitepatch keeps for itself."""

from __future__ import annotations

import time
from typing import Any, Dict

import click

from patcher.cli.commands import Group
from patcher.cli.console import Console
from patcher.cli.options import Number, common_options
from patcher.cli.styles import Row
from patcher.system.cache import CacheEntry, cache_dir, cache_entries, clean_cache, size
from patcher.text.listed import count


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog="\b\nExamples:\n  sitepatch cache\n  sitepatch cache clean --older-than 30",
)
@common_options(environment=False, sources=False)
def cache(console: Console) -> int:
    """List the overlays, fetched releases and known results that are kept.

    With the size of each, when it was used last, and whether a process uses it.
    """
    if click.get_current_context().invoked_subcommand:
        return 0
    found = cache_entries()
    console.rows([_row("in use" if each.in_use else "unused", each) for each in found])
    console.info(f"{size(found)} in {cache_dir().parent}")
    return console.answer(True, {"folder": str(cache_dir().parent), "entries": [_json(each) for each in found]})


@cache.command("clean", epilog="\b\nExample:\n  sitepatch cache clean --older-than 30 --dry-run")
@click.option("--older-than", type=Number(0), metavar="DAYS", default=0.0, help="Only what was not used since.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@common_options(environment=False, sources=False)
def cache_clean(console: Console, older_than: float, dry_run: bool) -> int:
    """Remove overlays and fetched releases that no process uses, and known results.

    Processes of other machines that share the cache are seen where the filesystem locks across machines; with
    --older-than what they may have begun to use is kept.
    """
    removed = clean_cache(older_than, dry_run=dry_run)
    console.rows([_row("unused" if dry_run else "removed", each) for each in removed])
    amount, folder = size(removed), cache_dir().parent
    console.info(f"{amount} would be removed from {folder}" if dry_run else f"{amount} were removed from {folder}")
    return console.answer(
        True, {"folder": str(cache_dir().parent), "dry_run": dry_run, "removed": [_json(each) for each in removed]}
    )


def _row(word: str, entry: CacheEntry) -> Row:
    days = max(0, int((time.time() - entry.used) // 86400))
    return Row(word, (entry.kind, entry.name, size([entry]), f"used {count(days, 'day')} ago" if days else "used today"))


def _json(entry: CacheEntry) -> Dict[str, Any]:
    return {**entry._asdict(), "path": str(entry.path)}
