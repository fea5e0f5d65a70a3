"""The hooks in an environment: where they lie, and which patchsets each keeps applied."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from patcher.errors import FormatError, SitepatchError, StoreError
from patcher.hook.boot import MODES
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.variants import resolve_options
from patcher.store.receipt import decode_fields
from patcher.system.decode import STRINGS, Table, Values, one_of, string
from patcher.system.reading import read_file

HOOK, PATCHSETS = "hook.json", "patchsets"
"""What lies in the folder of a hook, as in the directory that it is made from (`patcher.hook.backend`)."""
_HOOK = Table(
    {
        "name": string,
        "version": string,
        "mode": one_of(*MODES),
        "patchsets": Values(Values(string)),
        "files": STRINGS,
    }
)
_AGAIN = Message("run `sitepatch hook init` again, and install the hook again")


class Hook(NamedTuple):
    """A hook: `version` is that of its distribution, `mode` one of `MODES`, `folder` holds it, in its site directory."""

    name: str
    version: str
    mode: str
    requested: tuple[Requested, ...]
    folder: str

    @property
    def site(self) -> str:
        """The site directory."""
        return os.path.dirname(self.folder)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the patchsets."""
        return tuple(item.patchset.name for item in self.requested)


def hook_folders(env: Environment) -> list[str]:
    """The folder of every hook in the site directories of an environment."""
    sites = [site for site in env.sites if os.path.isdir(site)]
    return [
        f"{site}/{name}"
        for site in sites
        for name in sorted(os.listdir(site))
        if _is_hook(site, name)
    ]


def _is_hook(site: str, name: str) -> bool:
    """Whether sitepatch made it and wrote its name into one of both files: others may have a hook.json, ours be damaged."""
    if name.startswith("_") and os.path.isfile(f"{site}/{name}/{HOOK}"):
        for path in (HOOK, "__init__.py"):
            with suppress(OSError, SitepatchError):
                if b"sitepatch" in read_file(f"{site}/{name}/{path}"):
                    return True
    return False


def hook_name(folder: str) -> str:
    """The name of the hook in a folder."""
    return os.path.basename(folder)[1:].replace("_", "-")


def hooks_for(env: Environment, names: Sequence[str]) -> list[str]:
    """The names of the hooks that keep one of these patchsets applied."""
    folders = hook_folders(env)
    return [
        hook_name(path)
        for path in folders
        if any(os.path.isdir(f"{path}/{PATCHSETS}/{name}") for name in names)
    ]


def hooks_against(env: Environment, requested: Sequence[Requested]) -> list[str]:
    """The names of the hooks that apply one of these patchsets again in another version or with other options."""
    with suppress(FormatError):  # a newer release wrote it
        hooks, _ = loaded_hooks(env._replace(sites=env.own))
        return sorted(
            {hook.name for hook, _ in disagreeing(hooks, requested) if hook.mode != "warn"}
        )
    return []


def disagreeing(
    hooks: Sequence[Hook], requested: Sequence[Requested]
) -> Iterator[tuple[Hook, str]]:
    """Each hook that keeps one of these patchsets applied in another version or with other options, with its name."""
    wanted = {item.patchset.name: item.identity for item in requested}
    for hook in hooks:
        for item in hook.requested:
            if wanted.get(item.patchset.name, item.identity) != item.identity:
                yield hook, item.patchset.name


def read_hook_fields(path: str) -> dict[str, Any]:
    """What a hook.json says: `name`, `version`, `mode`, the options of each of `patchsets` as texts, and their `files`.

    Raises:
        StoreError: it is damaged, or from a newer sitepatch (FormatError).
    """
    try:
        return decode_fields(read_file(path), path, _AGAIN, _HOOK)
    except OSError as error:
        raise StoreError(
            Message("{path}: cannot be read: {error}", path=path, error=error.strerror), _AGAIN
        ) from error


def load_hook(folder: str) -> Hook:
    """Read the hook in a folder of a site directory.

    Raises:
        StoreError: a file of it is missing or damaged, or from a newer sitepatch (FormatError).
    """
    fields = read_hook_fields(f"{folder}/{HOOK}")
    try:
        requested = tuple(
            _requested(folder, name, texts) for name, texts in fields.pop("patchsets").items()
        )
    except SitepatchError as error:
        raise StoreError.joined([error], _AGAIN) from error
    return Hook(fields["name"], fields["version"], fields["mode"], requested, folder)


def _requested(folder: str, name: str, texts: Mapping[str, str]) -> Requested:
    patchset = load_patchset(
        f"{folder}/{PATCHSETS}/{name}", PatchsetSource(Message("the hook"), folder)
    )
    return Requested(patchset, resolve_options(patchset, texts))


def loaded_hooks(env: Environment) -> tuple[list[Hook], dict[str, StoreError]]:
    """The hooks in the site directories of an environment, and what is wrong with each damaged one, by its folder.

    Raises:
        FormatError: a newer release wrote one: it works, and what it keeps applied is not known here.
    """
    hooks, damaged = [], {}
    for folder in hook_folders(env):
        try:
            hooks.append(load_hook(folder))
        except FormatError:
            raise
        except StoreError as error:
            damaged[folder] = error
    return hooks, damaged
