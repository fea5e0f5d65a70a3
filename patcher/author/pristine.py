"""What an edited file was before.

That is taken from our store, a backup beside it, what the user gives, or its release in the index.
The sha256 in RECORD proves each text; only what the user gives may be without that proof.
"""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Callable, Dict, Sequence, Tuple, Union

from patcher.author.changed import InstalledFile
from patcher.author.spatch_draft import FileEdit
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.installed.distribution import origin
from patcher.installed.releases import cached_release, fetch_release, fetching
from patcher.message import Message, joined
from patcher.model import Located, apply_splices
from patcher.record import Record
from patcher.store.store import Store
from patcher.system.archive import archive_errors, member
from patcher.system.reading import read_file
from patcher.text.listed import listed

_FIRST = (
    "install the same release elsewhere (pip install --no-deps --target DIR {release})"
    " and name that with --pristine DIR"
)


class Original(Record):
    """A file before it was edited.

    Attributes:
        data: its text then.
        where: where that was found, in words.
        pristine: the text that upstream shipped, which is another one where patchsets are applied.
        proven: whether RECORD has the sha256 of `pristine`.
    """

    data: bytes
    where: str
    pristine: bytes
    proven: bool = True


class EditedFile(Record):
    """A file that was edited.

    Attributes:
        file: the file.
        before: what it was before.
        made: what a patchset makes of that.
    """

    file: InstalledFile
    before: Original
    made: bytes = b""

    @property
    def key(self) -> tuple[str, str]:
        """Its site directory, and its path below that."""
        return self.file.key

    @property
    def edit(self) -> FileEdit:
        """The text before and after the edit."""
        return FileEdit(self.file.path, self.before.data, self.file.data)


class NotFound(Record):
    """A file whose original was not found, and each place where it was searched for, in words."""

    file: InstalledFile
    places: list[str]


Originals = Dict[Tuple[str, str], Original]
"""By site directory and path."""
_Answer = Union[Original, str]
"""The original, or where it was searched for in vain and why: "" where there is nothing to say."""
_Place = Callable[[InstalledFile], _Answer]
"""A place where originals are searched for."""


def find_originals(
    files: Sequence[InstalledFile], source: str, report: Callable[[str], None]
) -> list[Original]:
    """Find what files were before they were edited.

    Args:
        files: as they are now.
        source: a file, a wheel or a directory that the user names, "" for none.
        report: takes a message before what takes long.

    Returns:
        one for each file, in their order.

    Raises:
        SitepatchError: the original of some files was not found; it names all of them, and where
            each was searched for.
    """
    found, missing = search_pristine(files, report, source=source)
    if not missing:
        return [found[file.key] for file in files]

    lines: list[str] = []
    hints: dict[str, None] = {}
    for lost in missing:
        path, located = lost.file.path, lost.file.located
        lines.append(Message("{path}: found nowhere what it was before", path=path))
        lines += lost.places
        release = f"{located.distribution}=={located.version}"
        hints[Message(_FIRST, release=release)] = None
    raise SitepatchError(joined("\n", lines), joined("\n", hints))


def search_pristine(
    files: Sequence[InstalledFile],
    report: Callable[[str], None],
    source: str = "",
    *,
    fetch: bool = True,
) -> tuple[Originals, list[NotFound]]:
    """Find what files were before they were edited, as far as possible.

    Args:
        files: as they are now.
        report: takes a message before what takes long.
        source: a file, a wheel or a directory that the user names, "" for none.
        fetch: also search the index; else only this machine.

    Raises:
        SitepatchError: `source` is nothing of that kind, or has no text for a file.
    """

    def in_named(file: InstalledFile) -> _Answer:
        return _named(source, len(files), file=file)

    search = _Search(files)
    for place in (in_named, _stored, _beside, _where_installed_from):
        search.look(search.missing, place)

    releases: dict[tuple[str, str], list[NotFound]] = {}
    for lost in search.missing:
        # what is fetched is all that is needed of a release
        key = lost.file.located.dist_info if fetch else lost.file.path
        releases.setdefault((lost.file.site, key), []).append(lost)
    for several in releases.values():
        located, paths = several[0].file.located, [lost.file.path for lost in several]
        folder = _fetched(located, paths, report=report) if fetch else _cached(located, paths)
        search.look_in_release(several, folder)
    return search.found, search.missing


class _Search:
    """The originals of files: those that are found, and those that are still missing."""

    def __init__(self, files: Sequence[InstalledFile]) -> None:
        self.found: Originals = {}
        self.missing = [NotFound(file, []) for file in files]

    def look(self, files: Sequence[NotFound], place: _Place) -> None:
        """Search for files in one place; it is noted where they are not there."""
        for lost in files:
            answer = place(lost.file)
            if isinstance(answer, Original):
                self.found[lost.file.key] = answer
            elif answer:
                lost.places.append(answer)
        self.missing = [lost for lost in self.missing if lost.file.key not in self.found]

    def look_in_release(self, files: Sequence[NotFound], folder: Path | str) -> None:
        """Search for files in the folder of their release; `folder` may say why there is none."""

        def in_release(file: InstalledFile) -> _Answer:
            return folder if isinstance(folder, str) else _of_release(folder, file)

        self.look(files, in_release)


# the places -------------------------------------------------------------------------------------
def _named(source: str, count: int, file: InstalledFile) -> _Answer:
    """The original in what `--pristine` names.

    "" where it names nothing, or the file has what patchsets made.

    Raises:
        SitepatchError: it has none for this file.
    """
    if not source or file.status:
        return ""
    data = _read_named(source, count, file=file)
    if data is None:
        raise SitepatchError(
            "--pristine {given}: has no {path}",
            "name the release that is installed",
            given=source,
            path=file.path,
        )
    return Original(data, source, pristine=data, proven=file.is_pristine(data))


def _read_named(source: str, count: int, file: InstalledFile) -> bytes | None:
    """The text of a file in a file, a wheel or a directory, None where that has none."""
    place = Path(source)
    if place.is_dir():
        with suppress(FileNotFoundError, NotADirectoryError):
            return read_file(place / file.path)
        return None
    if place.suffix == ".whl":
        return _member(place, file.path)
    if not place.is_file():
        problem = "--pristine {given}: found no such file or directory"
        raise UsageError(problem, "name a file, a wheel or a directory", given=source)
    if count > 1:
        problem = "--pristine {given}: found one file, and {count} are edited"
        raise UsageError(problem, "name the one that is meant", given=source, count=count)
    return read_file(place)


def _member(wheel: Path, path: str) -> bytes | None:
    with archive_errors(str(wheel)), zipfile.ZipFile(wheel) as archive:
        return member(archive, path) if path in archive.namelist() else None


def _stored(file: InstalledFile) -> _Answer:
    """The text that our patchsets made, where some are applied in the file.

    Else a pristine copy in the store.
    """
    store = Store(file.site)
    if file.status:
        receipt = file.status.receipt
        pristine = data = store.pristine(receipt.pristine.sha256)
        for step in receipt.steps:
            data = apply_splices(data, step.splices)
        names = listed([step.patchset for step in receipt.steps])
        where = Message("what {names} made of it", names=names)
        return Original(
            data, where, pristine=pristine, proven=receipt.pristine.origin == "recorded"
        )
    for row in file.recorded:
        with suppress(StoreError):
            data = store.pristine(row.digest)
            return Original(data, Message("the pristine copy in the store"), pristine=data)
    return Message("the store, {site}/.sitepatch: has no copy of it", site=file.site)


def _beside(file: InstalledFile) -> _Answer:
    """A file of the same folder, of any name, that has the sha256 in RECORD."""
    folder = (Path(file.site) / file.path).parent
    sizes = {row.size for row in file.recorded}
    for path in sorted(folder.iterdir()):
        with suppress(OSError, SitepatchError):  # what cannot be read is no backup
            if not path.is_file() or (path.stat().st_size not in sizes and -1 not in sizes):
                continue
            data = read_file(path)
            if file.is_pristine(data):
                return Original(data, Message("{name} beside it", name=path.name), pristine=data)
    text = "the files beside it: none in {folder} has the sha256 that RECORD gives"
    return Message(text, folder=folder)


def _where_installed_from(file: InstalledFile) -> _Answer:
    """The original in the wheel that the distribution was installed from.

    If that is still on this machine.
    """
    wheel = origin(Path(file.located.dist_info)).path
    if wheel is None or wheel.suffix != ".whl":
        return ""
    data = _member(wheel, file.path) if wheel.is_file() else None
    if data is not None and file.is_pristine(data):
        return Original(data, str(wheel), pristine=data)
    text = "where it was installed from, {wheel}: is not there, or has another text"
    return Message(text, wheel=wheel)


def _of_release(folder: Path, file: InstalledFile) -> _Answer:
    """The original in the cached files of the installed release."""
    path = folder / file.path
    problem = Message("has no such file")
    if path.is_file():
        data = read_file(path)
        if file.is_pristine(data):
            return Original(
                data, Message("{release} of the index", release=file.release), pristine=data
            )
        problem = Message("has another text than was installed (its sha256 differs)")
    return Message("{release} in the index: {problem}", release=file.release, problem=problem)


def _cached(located: Located, paths: Sequence[str]) -> Path | str:
    """The folder with these files of a release in the cache; else why there is none."""
    folder = cached_release(located.distribution, located.version, paths=paths)
    return folder or Message(
        "the releases that were fetched: this one was not, or without this file"
    )


def _fetched(located: Located, paths: Sequence[str], report: Callable[[str], None]) -> Path | str:
    """The folder with these files of a release, from the cache or fetched by pip.

    Else why there is none.
    """
    name, version = located.distribution, located.version
    try:
        with fetching() as pip:
            folder = cached_release(name, version, paths=paths)
            if folder is None:
                text = "fetching {name} {version}, to see what was installed"
                report(Message(text, name=name, version=version))
                folder = fetch_release(
                    pip, name, version=version, paths=paths, listing=pip.listing(name)
                )
            return folder
    except (SitepatchError, OSError) as error:
        release = f"{name} {version}".strip()
        return Message("{release} in the index: {error}", release=release, error=error)
