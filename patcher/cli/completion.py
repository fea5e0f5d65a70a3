"""What a shell completes: names of patchsets, and the values of `--set`."""

from __future__ import annotations

import os
from typing import List

import click

from patcher.errors import SitepatchError
from patcher.ops.place import Place
from patcher.patchset.places import patchset_folders
from patcher.store.status import applied_names, statuses


def complete_names(ctx: click.Context, param: click.Parameter, begun: str) -> List[str]:
    """The names of patchsets that begin so, also of those that are applied where that matters."""
    try:
        names = set(patchset_folders(ctx.params.get("patch_dir") or (), os.getcwd()))
        if ctx.info_name in ("restore", "diff", "status"):
            env = Place(ctx.params.get("python"), ctx.params.get("target"), (), bool(ctx.params.get("system"))).environment()
            names.update(applied_names(statuses(env)))
    except (SitepatchError, OSError):
        return []
    return sorted(name for name in names if name.startswith(begun))


def complete_settings(ctx: click.Context, param: click.Parameter, begun: str) -> List[str]:
    """`NAME.option=` of the patchsets named so far, and the choices after it."""
    from patcher.project.selection import settings_for_completion  # `status` has no use for it

    dirs = ctx.params.get("patch_dir") or ()
    named = [*(ctx.params.get("names") or ()), *ctx.args]  # click leaves them in args while --set waits for its value
    try:
        return settings_for_completion(begun, named, dirs)
    except (SitepatchError, OSError):
        return []


settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME.option=VALUE",
    multiple=True,
    shell_complete=complete_settings,
    help="Give an option a value; repeatable. NAME. may be left out where one patchset is named.",
)
"""Gives a command its `--set`."""
