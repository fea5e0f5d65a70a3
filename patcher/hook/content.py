"""What a hook carries, and an installed one: which patchsets it keeps applied (hook.json), precomputed changes (kept.json).

A change has the steps of a receipt, in the format of receipts. Standard library only: part of every hook.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from patcher.errors import FormatError, StoreError
from patcher.hook.places import HOOK, PRECOMPUTED
from patcher.model import LockedFile, OptionValue, Step
from patcher.store.receipt import OPTIONS, STEP, decode_fields, encode_fields, path_below, step_fields, step_of, whole_from
from patcher.system.decode import STRINGS, Items, Table, Values, sha256_hex, string
from patcher.system.reading import patchset_digest

_AGAIN = "run `sitepatch hook init` again, and install the hook again"
_PATHS = Table({"package": string, "paths": Items(path_below)})
_PATCHSET = Table(
    {
        "name": string,
        "version": string,
        "digest": sha256_hex,
        "options": OPTIONS,
        "files": STRINGS,
        "paths": Items(_PATHS),
        "versions": Values(string),
    },
    optional=("versions",),  # which older hooks do not have
)
_HOOK = Table({"name": string, "version": string, "mode": string, "patchsets": Items(_PATCHSET)})
_FILE = Table(
    {
        "path": path_below,
        "package": string,
        "distribution": string,
        "version": string,
        "exact": whole_from(0),
        "before": sha256_hex,
        "after": sha256_hex,
        "steps": Items(STEP),
    }
)
_CHANGES = Table({"files": Items(_FILE), "patchsets": Values(string)})


class HookPatchset(NamedTuple):
    """A patchset that a hook keeps applied.

    `files` are the names of its files, `paths` the target files that any of its variants names, by package; `/`-separated
    and relative to the site directory; `versions` are the specifiers of its variants, by package, where they have some.
    """

    name: str
    version: str
    digest: str
    options: Mapping[str, OptionValue]
    files: Tuple[str, ...]
    paths: Mapping[str, Tuple[str, ...]]
    versions: Mapping[str, str] = {}


class Precomputed(NamedTuple):
    """What becomes of one file of one release.

    `steps` lead from its pristine to its patched bytes; there are none where nothing is to be changed. `exact` says that the
    ranges of the patchsets leave releases out, so that other releases need sitepatch itself, whatever the bytes are.
    """

    file: LockedFile
    exact: bool
    steps: Tuple[Step, ...]


class Hook(NamedTuple):
    """An installed hook: `version` is that of its distribution, `mode` is `repair`, `warn` or `strict`."""

    name: str
    version: str
    mode: str
    patchsets: Tuple[HookPatchset, ...]

    @property
    def paths(self) -> Dict[str, List[str]]:
        """Every target file with the patchsets that name it, in a fixed order."""
        found: Dict[str, List[str]] = {}
        for one in self.patchsets:
            for paths in one.paths.values():
                for path in paths:
                    found.setdefault(path, []).append(one.name)
        return dict(sorted(found.items()))


class Content(NamedTuple):
    """All that a hook is made from: the hook, its precomputed changes, the texts of its patchsets as `NAME/FILE`."""

    hook: Hook
    precomputed: Tuple[Precomputed, ...]
    texts: Mapping[str, str]


class Installed(NamedTuple):
    """A hook in a site directory: its folder, and what it carries."""

    folder: str
    site: str
    hook: Hook
    precomputed: Tuple[Precomputed, ...]


def write_hook(hook: Hook) -> bytes:
    """Return the text of hook.json."""
    patchsets = []
    for one in hook.patchsets:
        paths = [{"package": package, "paths": list(paths)} for package, paths in one.paths.items()]
        maps = {"options": dict(one.options), "versions": dict(one.versions)}
        patchsets.append(dict(one._asdict(), files=list(one.files), paths=paths, **maps))
    return encode_fields({**hook._asdict(), "patchsets": patchsets})


def read_hook(data: bytes, where: str) -> Hook:
    """Read hook.json; `where` is its path, for messages.

    Raises:
        StoreError: it is damaged.
    """
    fields = decode_fields(data, where, _AGAIN, _HOOK)
    return Hook(fields["name"], fields["version"], fields["mode"], tuple(map(_patchset, fields["patchsets"])))


def _patchset(fields: Mapping[str, Any]) -> HookPatchset:
    paths = {each["package"]: tuple(each["paths"]) for each in fields["paths"]}
    return HookPatchset(**{**fields, "files": tuple(fields["files"]), "paths": paths})


def write_precomputed(changes: Sequence[Precomputed], digests: Mapping[str, str]) -> bytes:
    """Return the text of kept.json; `digests` are those of the patchsets, by name."""
    files = []
    for one in changes:
        files.append(dict(one.file._asdict(), exact=int(one.exact), steps=[step_fields(step) for step in one.steps]))
    return encode_fields({"files": files, "patchsets": dict(digests)})


def read_precomputed(data: bytes, where: str) -> Tuple[Tuple[Precomputed, ...], Dict[str, str]]:
    """Read kept.json: the changes, and the digests of the patchsets by name; `where` is its path, for messages.

    Raises:
        StoreError: it is damaged.
    """
    fields = decode_fields(data, where, _AGAIN, _CHANGES)
    return tuple(map(_precomputed, fields["files"])), fields["patchsets"]


def _precomputed(fields: Mapping[str, Any]) -> Precomputed:
    file = LockedFile(**{key: fields[key] for key in LockedFile._fields})
    return Precomputed(file, bool(fields["exact"]), tuple(map(step_of, fields["steps"])))


def load_hook(folder: str) -> Installed:
    """Read the hook that lies in `folder`, a directory of a site directory.

    Raises:
        StoreError: a file of it is missing or damaged, or from a newer sitepatch (FormatError).
    """
    hook = read_hook(*_read(f"{folder}/{HOOK}"))
    return Installed(folder, os.path.dirname(folder), hook, read_precomputed(*_read(f"{folder}/{PRECOMPUTED}"))[0])


def _read(path: str) -> Tuple[bytes, str]:
    try:
        with open(path, "rb") as file:
            return file.read(), path
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}", "install the hook again") from error


def load_unless_damaged(folder: str) -> Union[Installed, StoreError]:
    """The hook in `folder`, or what is wrong with it: a damaged hook does nothing, so that others need not heed it.

    Raises:
        FormatError: a newer release wrote it: it works, and what it keeps applied is not known here.
    """
    try:
        return load_hook(folder)
    except FormatError:
        raise
    except StoreError as error:
        return error


def find_change(changes: Sequence[Precomputed], path: str, before: str, version: str) -> Optional[Precomputed]:
    """What becomes of the file `path` with the pristine bytes `before` (sha256) in the release `version`, if that is known."""
    same = [one for one in changes if (one.file.path, one.file.before) == (path, before)]
    exact = [one for one in same if one.file.version == version]
    return next(iter(exact or [one for one in same if not one.exact]), None)


def read_texts(folder: str, one: HookPatchset) -> Dict[str, str]:
    """The texts of a patchset's files from `folder/NAME`, read as patcher.patchset.manifest does.

    Raises:
        StoreError: a file is missing, or the patchset is another one than the hook was made for.
    """
    texts: Dict[str, str] = {}
    for name in one.files:
        path = f"{folder}/{one.name}/{name}"
        try:
            with open(path, "rb") as file:
                texts[name] = file.read().decode("utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{path}: cannot be read: {error}", _AGAIN) from error
    if patchset_digest(texts) != one.digest:
        raise StoreError(f"{folder}/{one.name}: is not the patchset that the hook was made with", _AGAIN)
    return texts
