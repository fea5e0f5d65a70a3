"""`sitepatch.lock`: which patchsets, which releases, and the sha256 of every file before and after; TOML, read strictly.

It is written by a few lines of our own: four kinds of values in a fixed order need no library. It does not name the
release of sitepatch that wrote it: whether another one makes something else shows in the sha256 of the files.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.errors import Location, PatchError, SitepatchError, UsageError
from patcher.installed.distribution import identity
from patcher.installed.record import hashes_recorded
from patcher.message import Message
from patcher.model import LockedFile, OptionValue, Patchset, Requested
from patcher.patchset.places import MANIFEST, providing_distribution
from patcher.patchset.toml import read_toml, written_toml
from patcher.store.folder import Folder
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

LOCK_NAME = "sitepatch.lock"
LOCK_FORMAT = 1
_LARGEST = 1 << 24  # bytes: some 60,000 files
_HEAD = "# Made by `sitepatch lock`. Where anything differs from it, `sitepatch sync --locked` does nothing.\n"
_ANEW = Message("`sitepatch lock` writes it anew, once it is removed")
_DISTRIBUTION = Table({"name": string, "version": string, "sha256": sha256_hex})
_PATCHSET = Table(
    {
        "name": string,
        "version": string,
        "sha256": sha256_hex,
        "options": Values(option_value),
        "distribution": _DISTRIBUTION,
        "optional": boolean,
    },
    optional=("distribution", "optional"),
)
_FILE = Table({"path": path_below, "before": sha256_hex, "after": sha256_hex})
_TARGET = Table({"package": string, "distribution": string, "version": string, "file": tables("target.file", _FILE)})
_LOCK = Table(
    {"format": integer, "patchset": tables("patchset", _PATCHSET), "target": tables("target", _TARGET)},
    optional=("patchset", "target"),
)


class Distribution(NamedTuple):
    """What a patchset was installed with; `sha256` (hex) is over all files that it brought (`identity`)."""

    name: str
    version: str
    sha256: str


class Pinned(NamedTuple):
    """A patchset in a lock; `sha256` (hex) is its digest, over all of its files.

    `distribution` is None for one that was not installed: in a folder, built in. Where `optional`, a machine without its
    packages has it not.
    """

    name: str
    version: str
    sha256: str
    options: Mapping[str, OptionValue]
    distribution: Optional[Distribution] = None
    optional: bool = False


Target = Tuple[LockedFile, ...]
"""The files of one build of a release, sorted; never empty."""


class Lock(NamedTuple):
    """A lock, both parts in a fixed order; it may have several builds of one release (a vendor's, the stock one)."""

    patchsets: Tuple[Pinned, ...]
    targets: Tuple[Target, ...]

    @property
    def files(self) -> Tuple[LockedFile, ...]:
        """The files of all targets."""
        return tuple(file for target in self.targets for file in target)


def make_lock(requested: Iterable[Requested], locked: Iterable[LockedFile]) -> Lock:
    """The lock of the requested patchsets and of the files that a plan makes with them, of one build of each release."""
    pinned = (
        Pinned(patchset.name, patchset.version, patchset.digest, dict(options), _distribution(patchset), optional)
        for patchset, options, optional in requested
    )
    files: Dict[Tuple[str, str, str], List[LockedFile]] = {}
    for file in sorted(set(locked)):
        files.setdefault(release_of(file), []).append(file)
    return Lock(tuple(sorted(pinned, key=lambda entry: entry.name)), tuple(map(tuple, files.values())))


def _distribution(patchset: Patchset) -> Optional[Distribution]:
    """What a patchset was installed with; None also where its RECORD does not list it, as in an editable install."""
    info, folder = map(Path, providing_distribution(patchset))
    if info.name and folder.parts[: len(info.parent.parts)] == info.parent.parts:
        path = (folder / MANIFEST).relative_to(info.parent).as_posix()
        if path in hashes_recorded(str(info.parent), [path]):
            return Distribution(*identity(info))
    return None


def release_of(file: LockedFile) -> Tuple[str, str, str]:
    """The import package, the distribution and the version that a file belongs to."""
    return file.package, file.distribution, file.version


def build(target: Target) -> Tuple[Tuple[str, str, str], Tuple[Tuple[str, str], ...]]:
    """What identifies a build: its release, and each path with the sha256 of the pristine file."""
    return release_of(target[0]), tuple((file.path, file.before) for file in target)


def merged(old: Lock, new: Lock) -> Lock:
    """`new`, with the builds that only `old` has, where both are made with the same patchsets and options.

    So one lock serves several environments: each adds the build that it has.
    """
    if _texts(old) != _texts(new):
        return new
    have = set(map(build, new.targets))
    return Lock(new.patchsets, tuple(sorted([*new.targets, *(target for target in old.targets if build(target) not in have)])))


def _texts(lock: Lock) -> List[str]:
    return [_patchset(pinned._replace(distribution=None, optional=False)) for pinned in lock.patchsets]


# to text and back -----------------------------------------------------------------------------------------------------
def encode_lock(lock: Lock) -> str:
    """The text of a lock: the same text for the same lock."""
    parts = [f"{_HEAD}format = {LOCK_FORMAT}\n", *map(_patchset, lock.patchsets)]
    for target in lock.targets:
        parts.append(_table("target", zip(("package", "distribution", "version"), release_of(target[0]))))
        parts += [_table("target.file", zip(("path", "before", "after"), file[3:])) for file in target]
    return "\n".join(parts)


def _patchset(pinned: Pinned) -> str:
    head = _table("patchset", zip(("name", "version", "sha256"), pinned[:3]))
    head += "optional = true\n" if pinned.optional else ""
    head += _inline("options", sorted(pinned.options.items()))
    return head + (_inline("distribution", pinned.distribution._asdict().items()) if pinned.distribution else "")


def _inline(name: str, items: Iterable[Tuple[str, OptionValue]]) -> str:
    pairs = ", ".join(f"{key} = {written_toml(value)}" for key, value in items)
    return f"{name} = {{ {pairs} }}\n" if pairs else f"{name} = {{}}\n"


def _table(name: str, items: Iterable[Tuple[str, OptionValue]]) -> str:
    return f"[[{name}]]\n" + "".join(f"{key} = {written_toml(value)}\n" for key, value in items)


def load_lock(path: Path) -> Lock:
    """Read a lock.

    Raises:
        SitepatchError: there is none.
        UsageError: it is written in another format, or damaged: all that is wrong with it.
    """
    location = Location(str(path))
    if not path.is_file():
        raise SitepatchError.at(location, "found no such file, expected a lock", "write it with: sitepatch lock")
    try:
        top = read_toml(path, _LARGEST)
    except PatchError as error:
        raise UsageError(error.message, _ANEW, error.location) from None
    number = top.get("format")
    if number != LOCK_FORMAT or isinstance(number, bool):
        hint = (
            Message("use the sitepatch that wrote it, or a newer one")
            if isinstance(number, int) and number > LOCK_FORMAT
            else _ANEW
        )
        number_found = Message("nothing") if number is None else shown_value(number)
        problem = Message("format: found {found}, expected {lock_format}", found=number_found, lock_format=LOCK_FORMAT)
        raise UsageError.at(location, problem, hint)
    reader = Reader(path)
    table = reader.read(top, _LOCK)
    reader.stop(UsageError, _ANEW)
    pinned = [_pinned(fields) for fields in table.get("patchset", ())]
    targets = [_target(reader, fields, f"target[{index}]") for index, fields in enumerate(table.get("target", ()))]
    _once(reader, "patchset", [patchset.name for patchset in pinned])
    builds: Set[object] = set()
    for index, files in enumerate(targets):
        if files and build(files) in builds:
            reader.wrong(
                f"target[{index}]",
                Message("{release} a second time", release=shown_value(" ".join(release_of(files[0])))),
                Message("every one once"),
            )
        builds.add(files and build(files))
    reader.stop(UsageError, _ANEW)
    return Lock(tuple(pinned), tuple(sorted(targets)))


def _pinned(table: Mapping[str, Any]) -> Pinned:
    came = table.get("distribution")
    return Pinned(**{**table, "distribution": Distribution(**came) if came else None})


def _target(reader: Reader, table: Mapping[str, Any], where: str) -> Target:
    if not table["file"]:
        reader.wrong(f"{where}.file", Message("an empty list"), Message("at least one [[target.file]]"))
    _once(reader, f"{where}.file", [row["path"] for row in table["file"]])
    head = table["package"], table["distribution"], table["version"]
    return tuple(sorted({LockedFile(*head, **row) for row in table["file"]}))


def _once(reader: Reader, where: str, names: Sequence[str]) -> None:
    seen: Set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            reader.wrong(
                f"{where}[{index}]", Message("{name} a second time", name=shown_value(name)), Message("every one once")
            )
        seen.add(name)


def save_lock(path: Path, lock: Lock) -> None:
    """Write a lock in one atomic step; it is on the disk when this returns.

    Raises:
        OSError: it cannot be written; an old one is left as it was.
    """
    real = path.resolve()  # over what a link leads to, not over the link
    with Folder.open(str(real.parent)) as folder:
        try:
            folder.put(real.name, encode_lock(lock).encode("utf-8"))
        except BaseException:
            with suppress(OSError):
                folder.remove(f"{real.name}.tmp")
            raise
        folder.sync()
