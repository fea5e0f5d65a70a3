"""`cache`: what sitepatch keeps for itself."""

from __future__ import annotations

import click

from patcher.cli.commands import Group
from patcher.cli.console import Console
from patcher.cli.options import Number, common_options
from patcher.ops.place import Place


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog="\b\nExamples:\n  sitepatch cache\n  sitepatch cache clean --older-than 30",
)
@common_options(environment=False, sources=False)
def cache(console: Console, place: Place) -> int:
    """List the overlays, fetched releases and known results that are kept.

    With the size of each, when it was used last, and whether a process uses it.
    """
    if click.get_current_context().invoked_subcommand:
        return 0
    from patcher.cli.verbs.cache import list_cache

    return list_cache(console)


@cache.command("clean", epilog="\b\nExample:\n  sitepatch cache clean --older-than 30 --dry-run")
@click.option("--older-than", type=Number(0), metavar="DAYS", default=0.0, help="Only what was not used since.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@common_options(environment=False, sources=False)
def cache_clean(console: Console, place: Place, older_than: float, dry_run: bool) -> int:
    """Remove overlays and fetched releases that no process uses, and known results.

    Processes of other machines that share the cache are seen where the filesystem locks across machines; with
    --older-than what they may have begun to use is kept.
    """
    from patcher.cli.verbs.cache import clean_cache

    return clean_cache(console, older_than, dry_run)
