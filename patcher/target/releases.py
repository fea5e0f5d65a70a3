"""Releases of a distribution without installing them: their target files, in a cache folder laid out as a site directory.

    CACHE/DISTRIBUTION/VERSION/KEY/    the files that were asked for and METADATA, RECORD, WHEEL; KEY is a hash of them all

A folder appears there complete, in one rename, and is never written to again, so that several processes may share a cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Dict, Iterable, List, Mapping, Optional, Sequence

from patcher.errors import SitepatchError
from patcher.model import Located
from patcher.system.archive import archive_errors, member
from patcher.system.reading import files_digest, read_file
from patcher.target.distribution import origin
from patcher.target.index import Listing, Pip, WheelLink
from patcher.target.record import recorded_hash, recorded_in
from patcher.target.remote import open_url, sha256_on_page
from patcher.text.listed import normalized

_METADATA = ("METADATA", "RECORD", "WHEEL")
_YANKED = "yanked"
_AGAIN = "fetched again it may be sound; else tell who runs the index"


def cached_release(cache: Path, distribution: str, version: str, paths: Iterable[str]) -> Optional[Path]:
    """The folder with the cached files of a release, laid out as a site directory; None where not all `paths` are cached.

    A path that its RECORD does not list counts as cached: the release does not have it. A damaged folder is deleted.
    """
    paths = list(paths)
    for folder in sorted(_home(cache, distribution, version).glob("[0-9a-f]*")):
        if _damage(folder):
            shutil.rmtree(folder, ignore_errors=True)
        elif all((folder / path).is_file() or _recorded(folder, path) is None for path in paths):
            with suppress(OSError):  # it belongs to another user
                os.utime(folder.parent)  # used now, for `doctor --clean-cache`
            return folder
    return None


def was_yanked(cache: Path, distribution: str, version: str) -> bool:
    """Whether a cached release was yanked when it was fetched."""
    return (_home(cache, distribution, version) / _YANKED).exists()


def fetch_release(
    pip: Pip, cache: Path, distribution: str, version: str, paths: Iterable[str], listing: Optional[Listing] = None
) -> Path:
    """Fetch a release, cache those of the files `paths` that it has, and delete the wheel.

    Args:
        pip: what fetches it.
        cache: the folder of all cached releases.
        distribution: its name.
        version: a version, as the listing of the distribution has it.
        paths: `/`-separated, relative to the site directory.
        listing: where wheels of it lie: of a large one no more than these files are read. Where that cannot be done, and
            without a URL, pip fetches a whole one.

    Returns:
        the folder with the files, laid out as a site directory.

    Raises:
        NoPip: pip is not there or too old.
        NoWheel: the release has none that fits.
        SitepatchError: it cannot be fetched, or is no proper wheel.
        OSError: the cache cannot be written.
    """
    paths = list(paths)
    home = _home(cache, distribution, version)
    link, yanked = (listing.wheels.get(version), version in listing.yanked) if listing else (None, False)
    remote = open_url(link.url) if link else None
    if link and remote is not None:
        try:
            name = link.url.rpartition("/")[2]
            with remote:
                if not isinstance(remote, io.BufferedReader) or link.url.startswith("file:"):  # of a large one parts are read
                    _check(name, remote, link)
                members = _read(name, remote, paths)
            return _keep(pip, home, name, members, yanked)
        except SitepatchError:  # the whole wheel then, or the reason from pip
            if isinstance(remote, io.BytesIO):  # it was the whole one
                raise
    wheel, said = pip.download(distribution, version)
    try:
        with wheel.open("rb") as file:
            members = _members(wheel.name, file, paths)
        return _keep(pip, home, wheel.name, members, yanked or said)
    finally:
        shutil.rmtree(wheel.parent, ignore_errors=True)


def _check(name: str, file: IO[bytes], link: WheelLink) -> None:
    """Hold a whole wheel against the hash that the index gives for it.

    Raises:
        SitepatchError: it is another file.
    """
    expected = link.sha256 or sha256_on_page(link.page, name)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(1 << 20), b"") if expected else ():
        digest.update(chunk)
    file.seek(0)
    if expected and digest.hexdigest() != expected:
        raise SitepatchError(f"{name}: is not the file that its index lists (another sha256)", _AGAIN)


def _read(name: str, remote: IO[bytes], paths: Sequence[str]) -> Dict[str, bytes]:
    """The members of a wheel that lies elsewhere; what fails there is no OSError, as a cache is that cannot be written."""
    try:
        return _members(name, remote, paths)
    except OSError as error:
        raise SitepatchError(str(error)) from None


def _keep(pip: Pip, home: Path, name: str, members: Mapping[str, bytes], yanked: bool) -> Path:
    """Write files of a wheel to a folder below `home`, and return it; nothing is written once `pip` is stopped."""
    with pip.writing:
        if pip.stopped:
            raise SitepatchError("interrupted")
        return _written(home, name, members, yanked)


def _written(home: Path, name: str, members: Mapping[str, bytes], yanked: bool) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    if yanked:
        (home / _YANKED).touch()
    stage = Path(tempfile.mkdtemp(prefix=".part-", dir=str(home)))
    try:
        for path, data in members.items():
            (stage / path).parent.mkdir(parents=True, exist_ok=True)
            if path.endswith("/"):  # a package that has none of the files
                (stage / path).mkdir(exist_ok=True)
            else:
                (stage / path).write_bytes(data)
        problem = _damage(stage)
        if problem:
            raise SitepatchError(f"{name}: {problem}", _AGAIN)
        key = home / _key(stage)
        try:
            stage.rename(key)
        except OSError:
            if not key.is_dir():  # another process was faster: there are the same bytes
                raise
        return key
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def fetch_wheel(pip: Pip, distribution: str, version: str, dist_info: Path) -> Path:
    """Fetch the wheel of an installed release: from the URL it was installed from, else one with its tags from the index.

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
    tags = re.findall(r"^Tag:[ \t]*(\S+-\S+-\S+)", read_file(dist_info / "WHEEL").decode("utf-8", "replace"), re.MULTILINE)
    url = origin(dist_info).url
    return pip.download(distribution, version, tags, url if url.endswith(".whl") else "")[0]


def _home(cache: Path, distribution: str, version: str) -> Path:
    return cache / normalized(distribution) / version


def _members(wheel: str, file: IO[bytes], paths: Sequence[str]) -> Dict[str, bytes]:
    """The metadata of a wheel and those of `paths` that it has; `NAME/` without bytes is a package that it has."""
    with archive_errors(wheel), zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        infos = [name for name in names if re.fullmatch(r"[^/]{1,200}\.dist-info/RECORD", name)]
        if len(infos) != 1:
            raise SitepatchError(f"{wheel}: found {len(infos)} RECORD files in it, expected one")
        info = infos[0].rpartition("/")[0]
        chosen = sorted(names & {*paths, *(f"{info}/{each}" for each in _METADATA)})
        tops = {path.split("/")[0] + "/" for path in paths if "/" in path}
        there = {top: b"" for top in sorted(tops) if any(name.startswith(top) for name in names)}
        members = {name: member(archive, name) for name in chosen}
    lost = [path for path in paths if path not in members and recorded_in(members[f"{info}/RECORD"], path)]
    if lost:
        raise SitepatchError(f"{wheel}: its RECORD lists {lost[0]}, and it has no such file", _AGAIN)
    return {**there, **members}


def _files(folder: Path) -> List[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _damage(folder: Path) -> str:
    """What is wrong with an unpacked release: no metadata, or a file that is not as its RECORD says; "" if nothing is."""
    if len(list(folder.glob("*.dist-info/METADATA"))) != 1:
        return "it has no METADATA"
    for file in _files(folder):
        path = file.relative_to(folder).as_posix()
        expected = _recorded(folder, path)
        if expected is not None and hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            return f"{path} is not the file that its RECORD lists (another sha256)"
    return ""


def _recorded(folder: Path, path: str) -> Optional[str]:
    infos = [str(each.parent) for each in folder.glob("*.dist-info/RECORD")]
    return recorded_hash(Located("", str(folder), "", "", infos[0]), path) if infos else None


def _key(folder: Path) -> str:
    return files_digest((file.relative_to(folder).as_posix().encode(), file.read_bytes()) for file in _files(folder))[:16]
