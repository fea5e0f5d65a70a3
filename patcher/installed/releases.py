"""Releases of a distribution without installing them: their target files, in a cache.

    CACHE/DISTRIBUTION/VERSION/KEY/

has the files that were asked for and METADATA, RECORD, WHEEL, laid out as a site directory; KEY is
a hash of them all. A folder appears there complete, in one rename, and is never written to again,
so that several processes may share a cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tempfile
import zipfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from patcher.errors import SitepatchError
from patcher.installed.distribution import origin
from patcher.installed.index import AGAIN, Listing, NoWheel, Pip, WheelLink
from patcher.installed.record import hashes_recorded, recorded_in
from patcher.installed.remote import widen
from patcher.installed.versions import canonical
from patcher.message import Message
from patcher.system.archive import archive_errors, member
from patcher.system.cache import RELEASE, cache_dir, in_use, is_own, trim
from patcher.system.ownership import refuse_shared
from patcher.system.reading import files_digest, read_file
from patcher.text.listed import normalized

_METADATA = ("METADATA", "RECORD", "WHEEL")
_YANKED = "yanked"


@contextmanager
def fetching() -> Iterator[Pip]:
    """pip, to fetch releases into the cache.

    What is old or too much is removed before, and nothing meanwhile.

    Raises:
        StoreError: others may write to the cache, or it cannot be made.
        OSError: it cannot be opened.
    """
    cache = cache_dir()
    trim(RELEASE)
    with Pip() as pip, in_use(cache):
        refuse_shared(str(cache), Message("set SITEPATCH_CACHE to a directory of your own"))
        yield pip


# the cache ------------------------------------------------------------------------------------
def cached_release(distribution: str, version: str, paths: Iterable[str]) -> Path | None:
    """The folder with the cached files of a release, laid out as a site directory.

    A path that its RECORD does not list counts as cached: the release does not have it. A damaged
    folder is deleted.

    Returns:
        None where not all `paths` are cached.
    """
    paths = list(paths)
    for folder in sorted(_home(distribution, version).glob("[0-9a-f]*")):
        if _damage(folder):
            if is_own(cache_dir(), folder.parent.parent, folder.parent, folder):
                shutil.rmtree(folder, ignore_errors=True)
        elif all((folder / path).is_file() for path in hashes_recorded(str(folder), paths)):
            with suppress(OSError):  # it belongs to another user
                os.utime(folder.parent)  # used now: see `patcher.system.cache.trim`
            return folder
    return None


def was_yanked(distribution: str, version: str) -> bool:
    """Whether a cached release was yanked when it was fetched."""
    return (_home(distribution, version) / _YANKED).exists()


def _home(distribution: str, version: str) -> Path:
    return cache_dir() / normalized(distribution) / version


def _damage(folder: Path) -> str:
    """What is wrong with an unpacked release; empty if nothing is.

    It has no metadata, or a file that is not as its RECORD says.
    """
    if len(list(folder.glob("*.dist-info/METADATA"))) != 1:
        return Message("it has no METADATA")
    files = {file.relative_to(folder).as_posix(): file for file in _files(folder)}
    for path, digests in hashes_recorded(str(folder), files).items():
        if hashlib.sha256(files[path].read_bytes()).hexdigest() not in digests:
            return Message(
                "{path} is not the file that its RECORD lists (another sha256)", path=path
            )
    return ""


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# fetching -------------------------------------------------------------------------------------
def fetch_release(
    pip: Pip, distribution: str, version: str, paths: Iterable[str], listing: Listing
) -> Path:
    """Fetch those of the files `paths` that a release has, and cache them.

    Args:
        pip: what fetches it.
        distribution: its name.
        version: a version, as the listing of the distribution has it.
        paths: `/`-separated, relative to the site directory.
        listing: where its wheels lie: of a large one no more than these files are read. Where
            that cannot be done, the whole one is fetched, and its hash compared with the index's.

    Returns:
        the folder with the files, laid out as a site directory.

    Raises:
        NoPip: pip is not there or too old.
        NoWheel: the release has none that fits.
        SitepatchError: it cannot be fetched, or is no proper wheel.
        OSError: the cache cannot be written.
    """
    wheel = _wheels(listing, version)[0]
    home = _home(distribution, version)
    is_yanked = version in listing.yanked
    paths = list(paths)
    with pip.open(wheel) as file:
        try:
            return _keep(pip, home, wheel.name, _read(wheel, file, paths), is_yanked=is_yanked)
        except SitepatchError:
            if not isinstance(file, io.RawIOBase):  # it was the whole one
                raise
    with pip.open(wheel, whole=True) as file:
        return _keep(pip, home, wheel.name, _read(wheel, file, paths), is_yanked=is_yanked)


def fetch_wheel(pip: Pip, distribution: str, version: str, dist_info: Path) -> Path:
    """Fetch the wheel of an installed release.

    It comes from the URL that it was installed from, else it is one with its tags from the index.

    Args:
        pip: what fetches it.
        distribution: the name of the release.
        version: its version.
        dist_info: its metadata folder.

    Raises:
        NoPip: pip is not there or too old.
        NoWheel: the release has none that fits.
        SitepatchError: it cannot be fetched.
        OSError: the metadata cannot be read.
    """
    headers = read_file(dist_info / "WHEEL").decode("utf-8", "replace")
    tags = re.findall(r"^Tag:[ \t]*(\S+-\S+-\S+)", headers, re.MULTILINE)
    url = origin(dist_info).url
    if url.endswith(".whl"):
        return pip.save(WheelLink(url, unquote(url).rpartition("/")[2]))
    for wheel in _wheels(pip.listing(distribution), canonical(version)):
        if wheel.tags & set(tags):
            return pip.save(wheel)
    raise NoWheel("it has no wheel for {tags}", tags=", ".join(tags))


def _wheels(listing: Listing, version: str) -> Sequence[WheelLink]:
    """The wheels of a release, at least one. Raises NoWheel."""
    if version not in listing.versions:
        raise NoWheel("the index has no such release")
    if version not in listing.wheels:
        raise NoWheel("it has no wheel for macOS or Linux, at most a source distribution")
    return listing.wheels[version]


# reading a wheel ------------------------------------------------------------------------------
def _read(wheel: WheelLink, file: IO[bytes], paths: Sequence[str]) -> dict[str, bytes]:
    """The members of a wheel that matter.

    Raises:
        SitepatchError: it is no proper wheel, or its METADATA is not the one that the index lists.
    """
    try:
        members = _members(wheel.name, file, paths)
    except SitepatchError:
        if widen(file):
            return _read(wheel, file, paths)
        raise
    metadata = b""
    for path, data in members.items():
        if path.endswith(".dist-info/METADATA"):
            metadata = data
            break
    if wheel.metadata and hashlib.sha256(metadata).hexdigest() != wheel.metadata:
        raise SitepatchError(
            "{name}: its METADATA is not the one that its index lists (another sha256)",
            AGAIN,
            name=wheel.name,
        )
    return members


def _members(wheel: str, file: IO[bytes], paths: Sequence[str]) -> dict[str, bytes]:
    """The metadata of a wheel, and those of `paths` that it has.

    `NAME/` without bytes stands for a package that it has.
    """
    with archive_errors(wheel), zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        info = _dist_info(wheel, names)
        metadata = {f"{info}/{name}" for name in _METADATA}
        files = {name: member(archive, name) for name in sorted(names & {*paths, *metadata})}

    record = files[f"{info}/RECORD"]
    for path in paths:
        if path not in files and recorded_in(record, path):
            raise SitepatchError(
                "{wheel}: its RECORD lists {path}, and it has no such file",
                AGAIN,
                wheel=wheel,
                path=path,
            )

    members: dict[str, bytes] = {}
    for top in sorted({path.split("/")[0] for path in paths if "/" in path}):
        row = rb'^"?' + re.escape(f"{top}/".encode())
        if re.search(row, record, re.MULTILINE):
            members[f"{top}/"] = b""
    members.update(files)
    return members


def _dist_info(wheel: str, names: Iterable[str]) -> str:
    """The name of the metadata folder in a wheel."""
    records = [name for name in names if re.fullmatch(r"[^/]{1,200}\.dist-info/RECORD", name)]
    if len(records) != 1:
        raise SitepatchError(
            "{wheel}: found {number} RECORD files in it, expected one",
            wheel=wheel,
            number=len(records),
        )
    return records[0].rpartition("/")[0]


# writing to the cache -------------------------------------------------------------------------
def _keep(
    pip: Pip, home: Path, name: str, members: Mapping[str, bytes], *, is_yanked: bool
) -> Path:
    """Write files of a wheel to a folder below `home`, and return it.

    Nothing is written once `pip` is stopped.
    """
    with pip.writing, ExitStack() as stack:
        pip.check_running()
        home.mkdir(parents=True, exist_ok=True)
        if is_yanked:
            (home / _YANKED).touch()
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=str(home)))
        stack.callback(shutil.rmtree, stage, ignore_errors=True)
        _write(stage, members)
        problem = _damage(stage)
        if problem:
            raise SitepatchError("{name}: {problem}", AGAIN, name=name, problem=problem)

        folder = home / _key(stage)
        try:
            stage.rename(folder)
        except OSError:
            if not folder.is_dir():  # another process was faster: there are the same bytes
                raise
        return folder


def _write(folder: Path, members: Mapping[str, bytes]) -> None:
    for path, data in members.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):  # a package that has none of the files
            file.mkdir(exist_ok=True)
        else:
            file.write_bytes(data)


def _key(folder: Path) -> str:
    contents = []
    for file in _files(folder):
        contents.append((file.relative_to(folder).as_posix().encode(), file.read_bytes()))
    return files_digest(contents)[:16]
