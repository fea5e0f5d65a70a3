"""What `cache` does."""

from __future__ import annotations

import time
from typing import Any, Dict

from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.system.cache import CacheEntry, cache_dir, clean, entries, size


def list_cache(console: Console) -> int:
    """List what is kept."""
    found = entries()
    console.rows([_row("in use" if each.in_use else "unused", each) for each in found])
    console.info(f"{size(found)} in {cache_dir().parent}")
    console.data(True, {"folder": str(cache_dir().parent), "entries": [_json(each) for each in found]})
    return 0


def clean_cache(console: Console, older_than: float, dry_run: bool) -> int:
    """Remove what was not used for so many days."""
    removed = clean(older_than, dry_run=dry_run)
    console.rows([_row("unused" if dry_run else "removed", each) for each in removed])
    amount, folder = size(removed), cache_dir().parent
    console.info(f"{amount} would be removed from {folder}" if dry_run else f"{amount} were removed from {folder}")
    console.data(True, {"folder": str(cache_dir().parent), "dry_run": dry_run, "removed": [_json(each) for each in removed]})
    return 0


def _row(word: str, entry: CacheEntry) -> Row:
    days = max(0, int((time.time() - entry.used) // 86400))
    return Row(word, (entry.kind, entry.name, size([entry]), f"used {days} days ago" if days else "used today"))


def _json(entry: CacheEntry) -> Dict[str, Any]:
    return {**entry._asdict(), "path": str(entry.path)}
