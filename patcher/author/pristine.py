"""What an edited file was before: from our store, a backup beside it, what the user gives, or its release in the index.

Whatever it comes from, RECORD's sha256 proves it; only what the user gives is taken without that, and then said to be so.
"""

from __future__ import annotations

import re
import zipfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import unquote, urlsplit

from patcher.author.changed import InstalledFile
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.splice import apply_splices
from patcher.store.store import Store
from patcher.system import ownership
from patcher.system.archive import damaged, member
from patcher.system.cache import cache_dir, in_use
from patcher.system.reading import read_file
from patcher.target.distribution import Owner, recorded_size
from patcher.target.index import Listing, Pip
from patcher.target.releases import cached_release, fetch_release

_LARGE = 16 << 20  # bytes of an installed distribution, from which its wheel is worth being fetched in parts
_FIRST = "install the same release elsewhere (pip install --no-deps --target DIR {0}=={1}) and name that with --pristine DIR"


class Before(NamedTuple):
    """The text that the edits of a file started from, what it is, and the text as upstream shipped it.

    `data` and `pristine` differ where patchsets are applied in the file. `proven` is whether RECORD's sha256 says so.
    """

    data: bytes
    where: str
    pristine: bytes
    proven: bool = True


class Unfound(NamedTuple):
    """A file whose text was not found yet, and each place that was looked at."""

    file: InstalledFile
    tried: List[str]


Found = Dict[Tuple[str, str], Before]
"""By site directory and path."""


def before(files: Sequence[InstalledFile], given: str, tell: Callable[[str], None]) -> List[Before]:
    """Find what files were before they were edited.

    Args:
        files: as they are now.
        given: a file, a wheel or a directory that the user names, "" for none.
        tell: takes a line about what takes long.

    Returns:
        one for each file, in their order.

    Raises:
        SitepatchError: for all files of which nothing gives it, with each place that was looked at.
    """
    found, lost = search_pristine(files, tell, given)
    if lost:
        lines = [line for one in lost for line in (f"{one.file.path}: found nowhere what it was before", *one.tried)]
        hints = dict.fromkeys(_FIRST.format(one.file.owner.name, one.file.owner.version) for one in lost)
        raise SitepatchError("\n".join(lines), "\n".join(hints))
    return [found[file.site, file.path] for file in files]


def search_pristine(
    files: Sequence[InstalledFile], tell: Callable[[str], None], given: str = "", *, fetch: bool = True
) -> Tuple[Found, List[Unfound]]:
    """What files were before they were edited, by site directory and path; and those of which nothing gives it.

    Args:
        files: as they are now.
        tell: takes a line about what takes long.
        given: a file, a wheel or a directory that the user names, "" for none.
        fetch: also ask the index; else no more than this machine has.

    Raises:
        SitepatchError: `given` is nothing of that kind.
    """
    found: Found = {}
    lost: List[Unfound] = []
    for file in files:
        tried: List[str] = []
        if given and not file.status:
            text: Optional[Before] = _given(file, given, len(files))
        else:
            text = _stored(file, tried) or _beside(file, tried)
        if text:
            found[file.site, file.path] = text
        else:
            lost.append(Unfound(file, tried))
    releases: Dict[Tuple[str, str], List[Unfound]] = {}
    for one in lost:
        releases.setdefault((one.file.site, one.file.owner.dist_info), []).append(one)
    for several in releases.values():
        found.update(_of_origin(several))
        rest = _without(several, found)
        if rest:
            found.update(_of_index(rest, tell) if fetch else _of_cache(rest))
    return found, _without(lost, found)


def _without(lost: Sequence[Unfound], found: Found) -> List[Unfound]:
    return [one for one in lost if (one.file.site, one.file.path) not in found]


def _fits(file: InstalledFile, data: bytes) -> bool:
    return sha256(data).hexdigest() in [row.digest for row in file.recorded]


def _given(file: InstalledFile, given: str, count: int) -> Before:
    """The text that `--pristine` gives.

    Raises:
        SitepatchError: it has none for this file.
    """
    place, data = Path(given), None
    if place.is_dir():
        with suppress(FileNotFoundError, NotADirectoryError):
            data = read_file(place / file.path)
    elif place.suffix == ".whl":
        data = _member(place, file.path)
    elif place.is_file():
        if count > 1:
            raise UsageError(f"--pristine {given}: found one file, and {count} are edited", "name the one that is meant")
        data = read_file(place)
    else:
        raise UsageError(f"--pristine {given}: found no such file or directory", "name a file, a wheel or a directory")
    if data is None:
        raise SitepatchError(f"--pristine {given}: has no {file.path}", "name the release that is installed")
    return Before(data, given, data, _fits(file, data))


def _member(wheel: Path, path: str) -> Optional[bytes]:
    with damaged(str(wheel)), zipfile.ZipFile(wheel) as archive:
        return member(archive, path) if path in archive.namelist() else None


def _stored(file: InstalledFile, tried: List[str]) -> Optional[Before]:
    """The text that we wrote, where a patchset is applied in the file; else a pristine copy that is still kept."""
    store = Store(file.site)
    if file.status:
        receipt = file.status.receipt
        pristine = data = store.pristine(receipt.pristine)
        for step in receipt.steps:
            data = apply_splices(data, step.splices)
        names = " and ".join(step.patchset for step in receipt.steps)
        return Before(data, f"what {names} made of it", pristine, receipt.origin == "recorded")
    for row in file.recorded:
        with suppress(StoreError):
            data = store.pristine(row.digest)
            return Before(data, "the pristine copy in the store", data)
    tried.append(f"the store, {file.site}/.sitepatch: has no copy of it")
    return None


def _beside(file: InstalledFile, tried: List[str]) -> Optional[Before]:
    """A file of the same folder that has the bytes that RECORD says, whatever its name."""
    folder = (Path(file.site) / file.path).parent
    sizes = {row.size for row in file.recorded}
    for path in sorted(folder.iterdir()):
        with suppress(OSError, SitepatchError):  # what cannot be read is no backup
            if path.is_file() and (path.stat().st_size in sizes or -1 in sizes):
                data = read_file(path)
                if _fits(file, data):
                    return Before(data, f"{path.name} beside it", data)
    tried.append(f"the files beside it: none in {folder} has the sha256 that RECORD gives")
    return None


def _of_origin(lost: Sequence[Unfound]) -> Found:
    """The texts from the wheel that the distribution was installed from, where that still lies on this machine."""
    found: Found = {}
    try:
        text = read_file(Path(lost[0].file.owner.dist_info) / "direct_url.json").decode("utf-8", "replace")  # PEP 610
    except OSError:
        return found
    url = re.search(r'"url"\s*:\s*"(file:[^"]+\.whl)"', text)
    wheel = Path(unquote(urlsplit(url.group(1)).path)) if url else None
    for file, tried in lost if wheel else ():
        data = _member(wheel, file.path) if wheel and wheel.is_file() else None
        if data is not None and _fits(file, data):
            found[file.site, file.path] = Before(data, str(wheel), data)
        else:
            tried.append(f"where it was installed from, {wheel}: is not there, or has another text")
    return found


def _of_index(lost: Sequence[Unfound], tell: Callable[[str], None]) -> Found:
    """The texts from the release that is installed, kept in the cache of releases or fetched by pip."""
    owner, paths = lost[0].file.owner, [one.file.path for one in lost]
    try:
        folder = _release(owner, paths, tell)
    except (SitepatchError, OSError) as error:
        for one in lost:
            one.tried.append(f"{one.file.release} in the index: {error}")
        return {}
    return _in(folder, lost)


def _of_cache(lost: Sequence[Unfound]) -> Found:
    """The texts from the release that is installed, where some command has fetched it."""
    found: Found = {}
    for one in lost:
        folder = cached_release(cache_dir(), one.file.owner.name, one.file.owner.version, [one.file.path])
        if folder is None:
            one.tried.append("the releases that were fetched: this one was not, or without this file")
        found.update(_in(folder, [one]) if folder else {})
    return found


def _in(folder: Path, lost: Sequence[Unfound]) -> Found:
    """The texts from the kept files of a release."""
    found: Found = {}
    for file, tried in lost:
        path = folder / file.path
        data = read_file(path) if path.is_file() else None
        if data is not None and _fits(file, data):
            found[file.site, file.path] = Before(data, f"{file.release} of the index", data)
        else:
            what = "has no such file" if data is None else "has another text than was installed (its sha256 differs)"
            tried.append(f"{file.release} in the index: {what}")
    return found


def _release(owner: Owner, paths: Sequence[str], tell: Callable[[str], None]) -> Path:
    cache, name, version = cache_dir(), owner.name, owner.version
    ownership.check(str(cache), "set SITEPATCH_CACHE to a directory of your own")
    with Pip(cached=True) as pip, in_use(cache):
        folder = cached_release(cache, name, version, paths)
        if folder is None:
            tell(f"fetching {name} {version}, to see what was installed")
            large = recorded_size(Path(owner.dist_info)) >= _LARGE
            where = Listing(wheels={version: pip.link(name, version)}) if large else None
            folder = fetch_release(pip, cache, name, version, paths, where)
        return folder
