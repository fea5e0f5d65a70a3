"""`sitepatch.lock`: which patchsets, which releases, and the sha256 of every file before and after; how something differs.

It is TOML, read strictly, and written by a few lines of our own: four kinds of values in a fixed order need no library. It
does not name the release of sitepatch that wrote it: whether another one makes something else shows in the hashes.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Tuple

from patcher.errors import Location, PatchError, SitepatchError, UsageError
from patcher.message import Message
from patcher.model import LockedFile, OptionValue, Requested
from patcher.patchset.toml import read_toml, written_toml
from patcher.store.receipt import path_below
from patcher.system.decode import (
    Reader,
    Table,
    Values,
    boolean,
    integer,
    option_value,
    sha256_hex,
    shown_value,
    string,
    tables,
)
from patcher.text.listed import release_name

LOCK_NAME = "sitepatch.lock"
LOCK_FORMAT = 1
_LARGEST = 1 << 24  # bytes: some 60,000 files
_HEAD = "# Made by `sitepatch lock`. Where anything differs from it, `sitepatch sync --locked` does nothing.\n"
_ANEW = Message("`sitepatch lock` writes it anew, once it is removed")
_PATCHSET = Table(
    {
        "name": string,
        "version": string,
        "sha256": sha256_hex,
        "options": Values(option_value),
        "optional": boolean,
    },
    optional=("optional",),
)
_FILE = Table({"path": path_below, "before": sha256_hex, "after": sha256_hex})
_TARGET = Table(
    {
        "package": string,
        "distribution": string,
        "version": string,
        "file": tables("target.file", _FILE),
    }
)
_LOCK = Table(
    {
        "format": integer,
        "patchset": tables("patchset", _PATCHSET),
        "target": tables("target", _TARGET),
    },
    optional=("patchset", "target"),
)


class Pinned(NamedTuple):
    """A patchset in a lock; `sha256` (hex) is its digest, over all of its files.

    Where `optional`, a machine without its packages has it not.
    """

    name: str
    version: str
    sha256: str
    options: Mapping[str, OptionValue]
    optional: bool = False


Target = Tuple[LockedFile, ...]
"""The files of one build of a release, sorted; never empty."""


class Lock(NamedTuple):
    """A lock, both parts in a fixed order; it may have several builds of one release (a vendor's, the stock one)."""

    patchsets: tuple[Pinned, ...]
    targets: tuple[Target, ...]

    @property
    def files(self) -> tuple[LockedFile, ...]:
        """The files of all targets."""
        return tuple(file for target in self.targets for file in target)


def make_lock(requested: Iterable[Requested], locked: Iterable[LockedFile]) -> Lock:
    """The lock of the requested patchsets and of the files that a plan makes with them, of one build of each release."""
    pinned = [
        Pinned(item.patchset.name, item.patchset.version, *item.identity, item.optional)
        for item in requested
    ]
    targets = tuple(
        tuple(files) for _, files in groupby(sorted(set(locked)), lambda file: file.release)
    )
    return Lock(tuple(sorted(pinned, key=lambda entry: entry.name)), targets)


def build(target: Target) -> tuple[tuple[str, str, str], tuple[tuple[str, str], ...]]:
    """What identifies a build: its release, and each path with the sha256 of the pristine file."""
    return target[0].release, tuple((file.path, file.before) for file in target)


def merged(old: Lock, new: Lock) -> Lock:
    """`new`, with the builds that only `old` has, where both are made with the same patchsets and options.

    So one lock serves several environments: each adds the build that it has.
    """
    if _texts(old) != _texts(new):
        return new
    have = set(map(build, new.targets))
    return Lock(
        new.patchsets,
        tuple(
            sorted([*new.targets, *(target for target in old.targets if build(target) not in have)])
        ),
    )


def _texts(lock: Lock) -> list[str]:
    return [_patchset(pinned._replace(optional=False)) for pinned in lock.patchsets]


# to text and back -----------------------------------------------------------------------------------------------------
def encode_lock(lock: Lock) -> str:
    """The text of a lock: the same text for the same lock."""
    parts = [f"{_HEAD}format = {LOCK_FORMAT}\n", *map(_patchset, lock.patchsets)]
    for target in lock.targets:
        parts.append(
            _table("target", zip(("package", "distribution", "version"), target[0].release))
        )
        parts += [
            _table("target.file", zip(("path", "before", "after"), file[3:])) for file in target
        ]
    return "\n".join(parts)


def _patchset(pinned: Pinned) -> str:
    options = ", ".join(
        f"{key} = {written_toml(value)}" for key, value in sorted(pinned.options.items())
    )
    head = (
        _table("patchset", zip(("name", "version", "sha256"), pinned[:3]))
        + "optional = true\n" * pinned.optional
    )
    return f"{head}options = {{ {options} }}\n" if options else f"{head}options = {{}}\n"


def _table(name: str, items: Iterable[tuple[str, str]]) -> str:
    return f"[[{name}]]\n" + "".join(f"{key} = {written_toml(value)}\n" for key, value in items)


def load_lock(path: Path) -> Lock:
    """Read a lock.

    Raises:
        SitepatchError: there is none.
        UsageError: it is written in another format, or damaged: all that is wrong with it.
    """
    location = Location(str(path))
    if not path.is_file():
        raise SitepatchError.at(
            location, "found no such file, expected a lock", "write it with: sitepatch lock"
        )
    try:
        top = read_toml(path, _LARGEST)
    except PatchError as error:
        raise UsageError(error.message, _ANEW, error.location) from None
    number = top.get("format")
    if number != LOCK_FORMAT or isinstance(number, bool):
        newer = isinstance(number, int) and number > LOCK_FORMAT
        hint = Message("use the sitepatch that wrote it, or a newer one") if newer else _ANEW
        actual = Message("nothing") if number is None else shown_value(number)
        raise UsageError.at(
            location,
            "format: found {found}, expected {format}",
            hint,
            found=actual,
            format=LOCK_FORMAT,
        )
    reader = Reader(path)
    table = reader.read(top, _LOCK)
    reader.stop(UsageError, _ANEW)
    pinned = [Pinned(**fields) for fields in table.get("patchset", ())]
    targets = [
        _target(reader, fields, f"target[{index}]")
        for index, fields in enumerate(table.get("target", ()))
    ]
    _once(reader, "patchset", [patchset.name for patchset in pinned])
    builds: set[object] = set()
    for index, files in enumerate(targets):
        if files and build(files) in builds:
            twice = Message(
                "{release} a second time", release=shown_value(" ".join(files[0].release))
            )
            reader.wrong(f"target[{index}]", twice, Message("every one once"))
        builds.add(files and build(files))
    reader.stop(UsageError, _ANEW)
    return Lock(tuple(pinned), tuple(sorted(targets)))


def _target(reader: Reader, table: Mapping[str, Any], where: str) -> Target:
    if not table["file"]:
        reader.wrong(
            f"{where}.file", Message("an empty list"), Message("at least one [[target.file]]")
        )
    _once(reader, f"{where}.file", [row["path"] for row in table["file"]])
    head = table["package"], table["distribution"], table["version"]
    return tuple(sorted({LockedFile(*head, **row) for row in table["file"]}))


def _once(reader: Reader, where: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            twice = Message("{name} a second time", name=shown_value(name))
            reader.wrong(f"{where}[{index}]", twice, Message("every one once"))
        seen.add(name)


# how a project and an environment differ from a lock ----------------------------------------------------------------------
def lock_differences(lock: Lock, current: Lock, *, complete: bool = True) -> list[str]:
    """How a project and its environment differ from the lock, one line each.

    Args:
        lock: the lock.
        current: what the project requests, and the files of the environment; other releases in the lock are not compared.
        complete: whether `current` has all of its files; not so where a patchset does not fit.
    """
    differences: list[str] = []
    pinned, requested = (_by_name(source.patchsets) for source in (lock, current))
    for name in sorted({*pinned, *requested}):
        if name not in pinned or name not in requested:
            where = Message(
                "is asked for, and not in the lock"
                if name in requested
                else "is in the lock, and not asked for"
            )
            differences.append(Message("{name} {where}", name=name, where=where))
        else:
            differences += _changed(pinned[name], requested[name])
    same = not differences
    for name in sorted({*pinned} & {*requested}):
        optional = requested[name].optional
        if optional != pinned[name].optional:
            note = Message(
                "is optional, and in the lock it is not"
                if optional
                else "is not optional, and in the lock it is"
            )
            differences.append(Message("{name} {how}", name=name, how=note))
    for target in current.targets:
        release = target[0].release
        builds = [candidate for candidate in lock.targets if candidate[0].release == release]
        if builds:
            nearest = max(
                builds, key=lambda candidate: len(set(build(candidate)[1]) & set(build(target)[1]))
            )
            differences += _files(nearest, target, same=same, complete=complete)
        else:
            differences.append(_not_locked(lock, release))
    return differences


def host_differences(
    lock: Lock, applied: Iterable[Pinned], installed: Iterable[tuple[str, str, str]]
) -> list[str]:
    """What a host has otherwise than the lock, one line each.

    Args:
        lock: the lock.
        applied: the patchsets that are applied there.
        installed: the releases that they are applied in: package, distribution and version.
    """
    current, locked = _by_name(applied), _by_name(lock.patchsets)
    missing = (
        name for name, pinned in locked.items() if name not in current and not pinned.optional
    )
    differences: list[str] = [
        Message("{name} is in the lock, and not applied", name=name) for name in missing
    ]
    differences += [
        Message("{name} is applied, and not in the lock", name=name)
        for name in current
        if name not in locked
    ]
    for name in sorted({*current} & {*locked}):
        differences += _changed(locked[name], current[name])
    releases = {target[0].release for target in lock.targets}
    return [
        *differences,
        *(_not_locked(lock, release) for release in installed if release not in releases),
    ]


def _by_name(patchsets: Iterable[Pinned]) -> dict[str, Pinned]:
    return {pinned.name: pinned for pinned in patchsets}


def _changed(old: Pinned, new: Pinned) -> list[str]:
    differences: list[str] = []
    if new.version != old.version:
        template = "{new.name}: found version {new.version}, the lock has {old.version}"
        differences.append(Message(template, new=new, old=old))
    elif new.sha256 != old.sha256:
        template = "{new.name} {new.version}: found other files (sha256 {new.sha256}), the lock has {old.sha256}"
        differences.append(Message(template, new=new, old=old))
    none = Message("no such option")
    for key in sorted({*old.options, *new.options}):
        is_now, was_locked = (
            written_toml(side.options[key]) if key in side.options else none for side in (new, old)
        )
        if is_now != was_locked:
            template = "{name}: found {key} = {is_now}, the lock has {was}"
            differences.append(
                Message(template, name=new.name, key=key, is_now=is_now, was=was_locked)
            )
    return differences


def _files(locked: Target, target: Target, *, same: bool, complete: bool) -> list[str]:
    """How the files of a release differ from the lock; `same` is whether patchsets and options do not."""
    name = release_name(*target[0].release)
    old, new = ({file.path: file for file in files} for files in (locked, target))
    differences: list[str] = []
    for path in sorted({*old, *new}):
        if path not in old:
            differences.append(
                Message(
                    "{name}: {path} is changed by a patchset, and not in the lock",
                    name=name,
                    path=path,
                )
            )
        elif path not in new:
            if complete and same:
                differences.append(
                    Message(
                        "{name}: {path} is in the lock, and no patchset is for it",
                        name=name,
                        path=path,
                    )
                )
        elif new[path].before != old[path].before:
            template = "{name}: {path}: found sha256 {new.before} before patching, the lock has {old.before}"
            differences.append(
                Message(template, name=name, path=path, new=new[path], old=old[path])
            )
        elif same and new[path].after != old[path].after:
            template = "{name}: {path} would become sha256 {new.after}, the lock has {old.after}"
            differences.append(
                Message(template, name=name, path=path, new=new[path], old=old[path])
            )
    return differences


def _not_locked(lock: Lock, installed: tuple[str, str, str]) -> str:
    releases = dict.fromkeys(file.release for file in lock.files)
    names = ", ".join(
        release_name(*release) for release in releases if release[:2] == installed[:2]
    )
    names = names or Message("no release of {installed}", installed=installed[1] or installed[0])
    return Message(
        "{release} is installed, the lock has {names}",
        release=release_name(*installed),
        names=names,
    )
