"""The hooks that are installed in an environment: what the next start of Python would do, and how to remove one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple, Union

from patcher.errors import SitepatchError
from patcher.hook import boot
from patcher.hook.classify import classify_targets
from patcher.hook.content import Installed, load_hook
from patcher.hook.places import folders, module, stem
from patcher.store.retry import settled
from patcher.store.store import Store
from patcher.target.interpreter import Environment


class HookStatus(NamedTuple):
    """The status of a hook: `good` if every file is as requested, else `messages` says what is not.

    `mode` is the one that is in force, with SITEPATCH_HOOK.
    """

    installed: Installed
    mode: str
    good: bool
    messages: Tuple[str, ...]


def look_at_all(env: Environment) -> Iterator[Tuple[str, Union[HookStatus, SitepatchError]]]:
    """The folder of each hook of an environment, and its status, or what is wrong with a damaged one; writes nothing."""
    for folder in folders(env):
        try:
            yield folder, look(folder)
        except SitepatchError as error:
            yield folder, error


def look(folder: str) -> HookStatus:
    """The status of the hook in a folder; writes nothing.

    Raises:
        SitepatchError: it is damaged.
    """
    installed = load_hook(folder)
    mode = os.environ.get("SITEPATCH_HOOK") or installed.hook.mode
    messages: List[str] = []
    if mode == "off":
        messages.append("SITEPATCH_HOOK=off: it does nothing")
    if not os.path.exists(f"{installed.site}/{stem(installed.hook.name)}.pth"):
        messages.append("its .pth file is gone: it does not run; install it again")
    try:
        text = Path(folder, "state").read_bytes().decode("utf-8", "surrogateescape")
        reasons = boot.changed_files(text, installed.site, installed.hook.version, True)
    except (OSError, ValueError) as error:
        reasons = None
        messages.append(f"its state file: {error}; the next start of Python makes a new one")
    for name in dict.fromkeys(path.split("/")[0] for path in installed.hook.paths):
        if not os.path.exists(f"{installed.site}/{name}"):
            messages.append(f"{name} is not installed in {installed.site}; elsewhere it is not looked at")
    if reasons is not None:
        return HookStatus(installed, mode, not reasons, (*messages, *reasons))
    site, hook = installed.site, installed.hook
    found = settled(Environment.alone(site), lambda: classify_targets(site, hook, installed.precomputed))
    for name in found.applied:
        warned = f"the next start of Python warns of {name}"
        messages.append(warned if mode == "warn" else f"the next start of Python applies {name}")
    problems = Store(site).check_writable([each.path for each in found.changes]) if found.changes and mode != "warn" else []
    messages += [f"not one of user {os.geteuid()}: {problem}" for problem in problems[:1]]
    messages += [f"{name}: {what}; the next start of Python asks sitepatch" for name, what in found.unknown.items()]
    messages += dict.fromkeys(found.wrong.values())
    return HookStatus(installed, mode, not (found.changes or found.unknown or found.wrong), tuple(messages))


def delete_hook(installed: Installed) -> None:
    """Remove all files of a hook; the files that it has patched stay as they are.

    Raises:
        SitepatchError: a file cannot be removed.
    """
    site, start = Path(installed.site), stem(installed.hook.name)
    try:
        for name in (f"{start}.pth", f"{start}.start"):  # first, so that no further start of Python uses the rest
            if (site / name).exists():
                (site / name).unlink()
        for folder in sorted(site.glob(f"{start}-*.dist-info")):
            shutil.rmtree(folder)
        shutil.rmtree(site / module(installed.hook.name))
    except OSError as error:
        hint = "run this as the owner of that directory"
        raise SitepatchError(f"{installed.hook.name} could not be removed: {error}", hint) from error
