"""What a tab completes: names of patchsets, and `--set`, which several commands have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, List

import click

from patcher.errors import SitepatchError
from patcher.ops.place import Place

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_names(ctx: click.Context, param: click.Parameter, begun: str) -> List[CompletionItem]:
    """Names of patchsets, and those that stand applied where that matters."""
    from click.shell_completion import CompletionItem

    from patcher.patchset.sources import folders

    try:
        names = set(folders(ctx.params.get("patch_dir") or (), os.getcwd()))
        if ctx.info_name in ("restore", "diff", "verify"):
            from patcher.store.standing import standing

            env = Place(ctx.params.get("python"), ctx.params.get("target"), (), bool(ctx.params.get("system"))).environment()
            names |= {step.patchset for item in standing(env) for step in item.receipt.steps}
    except (SitepatchError, OSError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(begun)]


def complete_settings(ctx: click.Context, param: click.Parameter, begun: str) -> List[CompletionItem]:
    """`NAME.option=` of the patchsets named so far, and the choices after it."""
    from click.shell_completion import CompletionItem

    from patcher.project.selection import settings_for_completion

    dirs = ctx.params.get("patch_dir") or ()
    named = [*(ctx.params.get("names") or ()), *ctx.args]  # click leaves them in args while --set waits for its value
    try:
        return [CompletionItem(text) for text in settings_for_completion(begun, named, dirs)]
    except (SitepatchError, OSError):
        return []


sets_options = click.option(
    "--set", "settings", metavar="NAME.option=VALUE", multiple=True, shell_complete=complete_settings,
    help="Give an option a value; repeatable. NAME. may be left out where one patchset is named.",
)  # fmt: skip
"""Gives a command its `--set`."""
