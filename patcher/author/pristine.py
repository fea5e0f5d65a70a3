"""What an edited file was before: from our store, a backup beside it, what the user gives, or its release in the index.

The sha256 in RECORD proves each text; only what the user gives may be without that proof.
"""

from __future__ import annotations

import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Callable, Dict, NamedTuple, Sequence, Tuple

from patcher.author.changed import InstalledFile
from patcher.author.draft import FileEdit
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.installed.distribution import origin
from patcher.installed.releases import cached_release, fetch_release, fetching
from patcher.message import Message, joined
from patcher.model import apply_splices
from patcher.store.store import Store
from patcher.system.archive import archive_errors, member
from patcher.system.reading import read_file
from patcher.text.listed import listed

_FIRST = "install the same release elsewhere (pip install --no-deps --target DIR {release}) and name that with --pristine DIR"


class Original(NamedTuple):
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


class EditedFile(NamedTuple):
    """A file that was edited, what it was `before`, and what a patchset makes of that (`made`)."""

    file: InstalledFile
    before: Original
    made: bytes = b""

    @property
    def key(self) -> tuple[str, str]:
        """Its site directory, and its path below that."""
        return self.file.site, self.file.path

    @property
    def edit(self) -> FileEdit:
        """The text before and after the edit."""
        return FileEdit(self.file.path, self.before.data, self.file.data)


class NotFound(NamedTuple):
    """A file whose original was not found, and each place where it was searched for, in words."""

    file: InstalledFile
    tried: list[str]


Originals = Dict[Tuple[str, str], Original]
"""By site directory and path."""


def find_originals(
    files: Sequence[InstalledFile], given: str, report: Callable[[str], None]
) -> list[Original]:
    """Find what files were before they were edited.

    Args:
        files: as they are now.
        given: a file, a wheel or a directory that the user names, "" for none.
        report: takes a message before what takes long.

    Returns:
        one for each file, in their order.

    Raises:
        SitepatchError: the original of some files was not found; it names all of them, and where each was searched for.
    """
    found, missing = search_pristine(files, report, given)
    if missing:
        head = "{path}: found nowhere what it was before"
        lines = [
            line for one in missing for line in (Message(head, path=one.file.path), *one.tried)
        ]
        homes = dict.fromkeys(
            (one.file.located.distribution, one.file.located.version) for one in missing
        )
        hints = [Message(_FIRST, release=f"{name}=={version}") for name, version in homes]
        raise SitepatchError(joined("\n", lines), joined("\n", hints))
    return [found[file.site, file.path] for file in files]


def search_pristine(
    files: Sequence[InstalledFile],
    report: Callable[[str], None],
    given: str = "",
    *,
    fetch: bool = True,
) -> tuple[Originals, list[NotFound]]:
    """Find what files were before they were edited, as far as possible.

    Args:
        files: as they are now.
        report: takes a message before what takes long.
        given: a file, a wheel or a directory that the user names, "" for none.
        fetch: also search the index; else only this machine.

    Raises:
        SitepatchError: `given` is nothing of that kind, or has no text for a file.
    """
    found: Originals = {}

    def search(
        missing: list[NotFound], place: Callable[[InstalledFile], Original | str]
    ) -> list[NotFound]:
        """Search for files in one place; returns those that are not there, with the reason added."""
        for one in missing:
            text = place(one.file)
            if isinstance(text, Original):
                found[one.file.site, one.file.path] = text
            elif text:
                one.tried.append(text)
        return [one for one in missing if (one.file.site, one.file.path) not in found]

    missing = [NotFound(file, []) for file in files]
    for place in (partial(_given, given, len(files)), _stored, _beside, _where_installed_from):
        missing = search(missing, place)
    releases: dict[tuple[str, str], list[NotFound]] = {}
    for one in missing:
        # what is fetched is all that is needed of a release
        key = one.file.located.dist_info if fetch else one.file.path
        releases.setdefault((one.file.site, key), []).append(one)
    lost = []
    for several in releases.values():
        lost += search(
            several,
            partial(
                _of_release, _release([one.file for one in several], report if fetch else None)
            ),
        )
    return found, lost


def _given(given: str, count: int, file: InstalledFile) -> Original | str:
    """The original in what `--pristine` names, "" where it names nothing, or the file has what patchsets made.

    Raises:
        SitepatchError: it has none for this file.
    """
    if not given or file.status:
        return ""
    place, data = Path(given), None
    if place.is_dir():
        with suppress(FileNotFoundError, NotADirectoryError):
            data = read_file(place / file.path)
    elif place.suffix == ".whl":
        data = _member(place, file.path)
    elif place.is_file():
        if count > 1:
            text = "--pristine {given}: found one file, and {count} are edited"
            raise UsageError(text, "name the one that is meant", given=given, count=count)
        data = read_file(place)
    else:
        raise UsageError(
            "--pristine {given}: found no such file or directory",
            "name a file, a wheel or a directory",
            given=given,
        )
    if data is None:
        raise SitepatchError(
            "--pristine {given}: has no {path}",
            "name the release that is installed",
            given=given,
            path=file.path,
        )
    return Original(data, given, data, file.is_pristine(data))


def _member(wheel: Path, path: str) -> bytes | None:
    with archive_errors(str(wheel)), zipfile.ZipFile(wheel) as archive:
        return member(archive, path) if path in archive.namelist() else None


def _stored(file: InstalledFile) -> Original | str:
    """The text that our patchsets made, where some are applied in the file; else a pristine copy in the store."""
    store = Store(file.site)
    if file.status:
        receipt = file.status.receipt
        pristine = data = store.pristine(receipt.pristine.sha256)
        for step in receipt.steps:
            data = apply_splices(data, step.splices)
        names = listed([step.patchset for step in receipt.steps])
        return Original(
            data,
            Message("what {names} made of it", names=names),
            pristine,
            receipt.pristine.origin == "recorded",
        )
    for row in file.recorded:
        with suppress(StoreError):
            data = store.pristine(row.digest)
            return Original(data, Message("the pristine copy in the store"), data)
    return Message("the store, {site}/.sitepatch: has no copy of it", site=file.site)


def _beside(file: InstalledFile) -> Original | str:
    """A file of the same folder, of any name, that has the sha256 in RECORD."""
    folder = (Path(file.site) / file.path).parent
    sizes = {row.size for row in file.recorded}
    for path in sorted(folder.iterdir()):
        with suppress(OSError, SitepatchError):  # what cannot be read is no backup
            if path.is_file() and (path.stat().st_size in sizes or -1 in sizes):
                data = read_file(path)
                if file.is_pristine(data):
                    return Original(data, Message("{name} beside it", name=path.name), data)
    return Message(
        "the files beside it: none in {folder} has the sha256 that RECORD gives", folder=folder
    )


def _where_installed_from(file: InstalledFile) -> Original | str:
    """The original in the wheel that the distribution was installed from, if that is still on this machine."""
    wheel = origin(Path(file.located.dist_info)).path
    if wheel is None or wheel.suffix != ".whl":
        return ""
    data = _member(wheel, file.path) if wheel.is_file() else None
    if data is not None and file.is_pristine(data):
        return Original(data, str(wheel), data)
    return Message(
        "where it was installed from, {wheel}: is not there, or has another text", wheel=wheel
    )


def _of_release(folder: Path | str, file: InstalledFile) -> Original | str:
    """The original in the cached files of the installed release; `folder` may say why there are none."""
    if isinstance(folder, str):
        return folder
    path = folder / file.path
    data = read_file(path) if path.is_file() else None
    if data is not None and file.is_pristine(data):
        return Original(data, Message("{release} of the index", release=file.release), data)
    what = Message(
        "has no such file"
        if data is None
        else "has another text than was installed (its sha256 differs)"
    )
    return Message("{release} in the index: {problem}", release=file.release, problem=what)


def _release(files: Sequence[InstalledFile], report: Callable[[str], None] | None) -> Path | str:
    """The folder with these files of their release, from the cache or, with `report`, fetched by pip; else why not."""
    located, paths = files[0].located, [file.path for file in files]
    name, version = located.distribution, located.version
    if report is None:
        folder = cached_release(name, version, paths)
        return folder or Message(
            "the releases that were fetched: this one was not, or without this file"
        )
    try:
        with fetching() as pip:
            folder = cached_release(name, version, paths)
            if folder is None:
                report(
                    Message(
                        "fetching {name} {version}, to see what was installed",
                        name=name,
                        version=version,
                    )
                )
                folder = fetch_release(pip, name, version, paths, pip.listing(name))
            return folder
    except (SitepatchError, OSError) as error:
        return Message("{release} in the index: {error}", release=files[0].release, error=error)
