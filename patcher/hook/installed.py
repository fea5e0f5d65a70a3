"""The hooks in an environment: which patchsets each keeps applied, and how one is removed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from patcher.errors import FormatError, SitepatchError, StoreError
from patcher.hook.boot import MODES
from patcher.hook.places import HOOK, PATCHSETS, hook_folders, hook_name
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.sources import resolve_options
from patcher.store.receipt import decode_fields
from patcher.system.decode import Table, Values, one_of, string
from patcher.system.reading import read_file

_HOOK = Table({"name": string, "version": string, "mode": one_of(*MODES), "patchsets": Values(Values(string))})
_AGAIN = Message("run `sitepatch hook init` again, and install the hook again")


class Hook(NamedTuple):
    """A hook: `version` is that of its distribution, `mode` one of `MODES`, `folder` holds it, in its site directory."""

    name: str
    version: str
    mode: str
    requested: Tuple[Requested, ...]
    folder: str

    @property
    def site(self) -> str:
        """The site directory."""
        return os.path.dirname(self.folder)

    @property
    def names(self) -> Tuple[str, ...]:
        """The names of the patchsets."""
        return tuple(item.patchset.name for item in self.requested)


def read_hook_fields(path: str) -> Dict[str, Any]:
    """What a hook.json says: `name`, `version`, `mode`, and the options of each of `patchsets` as texts.

    Raises:
        StoreError: it is damaged, or from a newer sitepatch (FormatError).
    """
    try:
        return decode_fields(read_file(path), path, _AGAIN, _HOOK)
    except OSError as error:
        raise StoreError(Message("{path}: cannot be read: {error}", path=path, error=error.strerror), _AGAIN) from error


def load_hook(folder: str) -> Hook:
    """Read the hook in a folder of a site directory.

    Raises:
        StoreError: a file of it is missing or damaged, or from a newer sitepatch (FormatError).
    """
    fields = read_hook_fields(f"{folder}/{HOOK}")
    try:
        requested = tuple(_requested(folder, name, texts) for name, texts in fields.pop("patchsets").items())
    except SitepatchError as error:
        raise StoreError.joined([error], _AGAIN) from error
    return Hook(requested=requested, folder=folder, **fields)


def _requested(folder: str, name: str, texts: Mapping[str, str]) -> Requested:
    patchset = load_patchset(f"{folder}/{PATCHSETS}/{name}", PatchsetSource(Message("the hook"), folder))
    return Requested(patchset, resolve_options(patchset, {f"{name}.{option}": value for option, value in texts.items()}))


def loaded_hooks(env: Environment) -> Tuple[List[Hook], Dict[str, StoreError]]:
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


def remove_hook_files(folder: str) -> None:
    """Remove all files of a hook; the files that it has patched stay as they are.

    Raises:
        SitepatchError: a file cannot be removed.
    """
    site, stem = Path(folder).parent, Path(folder).name[1:]
    try:
        for path in (site / f"{stem}.pth", site / f"{stem}.start"):  # first, so that no further start of Python uses the rest
            if path.exists():
                path.unlink()
        for info in sorted(site.glob(f"{stem}-*.dist-info")):
            shutil.rmtree(info)
        shutil.rmtree(folder)
    except OSError as error:
        hint = Message("run this as the owner of that directory")
        raise SitepatchError(
            Message("{hook_name} could not be removed: {error}", hook_name=hook_name(folder), error=error), hint
        ) from error
