"""The hooks in an environment: where they lie, and which patchsets each keeps applied."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator, Sequence

from patcher.errors import FormatError, SitepatchError, StoreError
from patcher.hook.boot import MODES
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.variants import resolve_options
from patcher.record import Record
from patcher.store.receipt import decode_fields
from patcher.system.decode import STRINGS, Table, Values, one_of, string
from patcher.system.reading import read_file

HOOK, PATCHSETS = "hook.json", "patchsets"
"""What lies in the folder of a hook, and in the directory that it is made from."""
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


class Hook(Record):
    """A hook: `version` is that of its distribution, `mode` one of `MODES`.

    `folder` holds it, in its site directory.
    """

    name: str
    version: str
    mode: str
    requested: tuple[Requested, ...]
    folder: str

    @property
    def site(self) -> str:
        """The site directory."""
        return str(Path(self.folder).parent)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the patchsets."""
        return tuple(item.patchset.name for item in self.requested)


def hook_folders(env: Environment) -> list[str]:
    """The folder of every hook in the site directories of an environment."""
    folders: list[str] = []
    for site in map(Path, env.sites):
        if site.is_dir():
            folders += sorted(str(path) for path in site.iterdir() if _is_hook(path))
    return folders


def _is_hook(folder: Path) -> bool:
    """Whether sitepatch made it and wrote its name into one of both files.

    Others may have a hook.json, and ours may be damaged.
    """
    if folder.name.startswith("_") and (folder / HOOK).is_file():
        for name in (HOOK, "__init__.py"):
            with suppress(OSError, SitepatchError):
                if b"sitepatch" in read_file(folder / name):
                    return True
    return False


def hook_name(folder: str) -> str:
    """The name of the hook in a folder."""
    return Path(folder).name[1:].replace("_", "-")


def hooks_for(env: Environment, names: Sequence[str]) -> list[str]:
    """The names of the hooks that keep one of these patchsets applied."""
    hooks: list[str] = []
    for folder in hook_folders(env):
        if any(Path(folder, PATCHSETS, name).is_dir() for name in names):
            hooks.append(hook_name(folder))
    return hooks


def hooks_against(env: Environment, requested: Sequence[Requested]) -> list[str]:
    """The names of the hooks that apply one of these patchsets otherwise (see `disagreeing`)."""
    names: set[str] = set()
    with suppress(FormatError):  # a newer release wrote it
        hooks, _ = loaded_hooks(env._replace(sites=env.own))
        for hook, _ in disagreeing(hooks, requested):
            if hook.mode != "warn":
                names.add(hook.name)
    return sorted(names)


def disagreeing(
    hooks: Sequence[Hook], requested: Sequence[Requested]
) -> Iterator[tuple[Hook, str]]:
    """Each hook that keeps one of these patchsets applied otherwise, and the patchset's name.

    In another version, that is, or with other options.
    """
    identities = {item.patchset.name: item.identity for item in requested}
    for hook in hooks:
        for item in hook.requested:
            name = item.patchset.name
            if name in identities and identities[name] != item.identity:
                yield hook, name


def read_hook_fields(path: str) -> dict[str, Any]:
    """What a hook.json says.

    `name`, `version`, `mode`, the options of each of `patchsets` as texts, and their `files`.

    Raises:
        StoreError: it is damaged, or from a newer sitepatch (FormatError).
    """
    try:
        return decode_fields(read_file(path), path, hint=_AGAIN, kind=_HOOK)
    except OSError as error:
        template = "{path}: cannot be read: {error}"
        problem = Message(template, path=path, error=error.strerror)
        raise StoreError(problem, _AGAIN) from error


def load_hook(folder: str) -> Hook:
    """Read the hook in a folder of a site directory.

    Raises:
        StoreError: a file of it is missing or damaged, or from a newer sitepatch (FormatError).
    """
    fields = read_hook_fields(f"{folder}/{HOOK}")
    source = PatchsetSource(Message("the hook"), folder)
    requested: list[Requested] = []
    try:
        for name, texts in fields["patchsets"].items():
            patchset = load_patchset(f"{folder}/{PATCHSETS}/{name}", source)
            requested.append(Requested(patchset, resolve_options(patchset, texts)))
    except SitepatchError as error:
        raise StoreError.joined([error], _AGAIN) from error
    return Hook(
        name=fields["name"],
        version=fields["version"],
        mode=fields["mode"],
        requested=tuple(requested),
        folder=folder,
    )


def loaded_hooks(env: Environment) -> tuple[list[Hook], dict[str, StoreError]]:
    """The hooks in the site directories of an environment, and what is wrong with damaged ones.

    The errors of these are by their folders.

    Raises:
        FormatError: a newer release wrote one: it works, and what it keeps applied is not known
            here.
    """
    hooks: list[Hook] = []
    damaged: dict[str, StoreError] = {}
    for folder in hook_folders(env):
        try:
            hooks.append(load_hook(folder))
        except FormatError:
            raise
        except StoreError as error:
            damaged[folder] = error
    return hooks, damaged
