"""What an edited file was before: from our store, a backup beside it, what the user gives, or its release in the index.

The sha256 in RECORD proves each text; only what the user gives may be without that proof.
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
from patcher.system.archive import archive_errors, member
from patcher.system.cache import cache_dir, in_use
from patcher.system.reading import read_file
from patcher.target.distribution import Owner
from patcher.target.index import Listing, Pip
from patcher.target.record import recorded_size
from patcher.target.releases import cached_release, fetch_release

_LARGE = 16 << 20  # bytes of an installed distribution; of a larger one only parts of the wheel are fetched
_FIRST = "install the same release elsewhere (pip install --no-deps --target DIR {0}=={1}) and name that with --pristine DIR"


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


class NotFound(NamedTuple):
    """A file whose original was not found, and each place where it was searched for, in words."""

    file: InstalledFile
    tried: List[str]


Originals = Dict[Tuple[str, str], Original]
"""By site directory and path."""


def find_originals(files: Sequence[InstalledFile], given: str, report: Callable[[str], None]) -> List[Original]:
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
        lines = [line for one in missing for line in (f"{one.file.path}: found nowhere what it was before", *one.tried)]
        hints = dict.fromkeys(_FIRST.format(one.file.owner.name, one.file.owner.version) for one in missing)
        raise SitepatchError("\n".join(lines), "\n".join(hints))
    return [found[file.site, file.path] for file in files]


def search_pristine(
    files: Sequence[InstalledFile], report: Callable[[str], None], given: str = "", *, fetch: bool = True
) -> Tuple[Originals, List[NotFound]]:
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
    missing: List[NotFound] = []
    for file in files:
        tried: List[str] = []
        if given and not file.status:
            text: Optional[Original] = _given(file, given, len(files))
        else:
            text = _stored(file, tried) or _beside(file, tried)
        if text:
            found[file.site, file.path] = text
        else:
            missing.append(NotFound(file, tried))
    releases: Dict[Tuple[str, str], List[NotFound]] = {}
    for one in missing:
        releases.setdefault((one.file.site, one.file.owner.dist_info), []).append(one)
    for several in releases.values():
        found.update(_of_origin(several))
        rest = _without(several, found)
        if rest:
            found.update(_of_index(rest, report) if fetch else _of_cache(rest))
    return found, _without(missing, found)


def _without(missing: Sequence[NotFound], found: Originals) -> List[NotFound]:
    return [one for one in missing if (one.file.site, one.file.path) not in found]


def _fits(file: InstalledFile, data: bytes) -> bool:
    return sha256(data).hexdigest() in [row.digest for row in file.recorded]


def _given(file: InstalledFile, given: str, count: int) -> Original:
    """The original in what `--pristine` names.

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
    return Original(data, given, data, _fits(file, data))


def _member(wheel: Path, path: str) -> Optional[bytes]:
    with archive_errors(str(wheel)), zipfile.ZipFile(wheel) as archive:
        return member(archive, path) if path in archive.namelist() else None


def _stored(file: InstalledFile, tried: List[str]) -> Optional[Original]:
    """The text that our patchsets made, where some are applied in the file; else a pristine copy in the store."""
    store = Store(file.site)
    if file.status:
        receipt = file.status.receipt
        pristine = data = store.pristine(receipt.pristine)
        for step in receipt.steps:
            data = apply_splices(data, step.splices)
        names = " and ".join(step.patchset for step in receipt.steps)
        return Original(data, f"what {names} made of it", pristine, receipt.origin == "recorded")
    for row in file.recorded:
        with suppress(StoreError):
            data = store.pristine(row.digest)
            return Original(data, "the pristine copy in the store", data)
    tried.append(f"the store, {file.site}/.sitepatch: has no copy of it")
    return None


def _beside(file: InstalledFile, tried: List[str]) -> Optional[Original]:
    """A file of the same folder, of any name, that has the sha256 in RECORD."""
    folder = (Path(file.site) / file.path).parent
    sizes = {row.size for row in file.recorded}
    for path in sorted(folder.iterdir()):
        with suppress(OSError, SitepatchError):  # what cannot be read is no backup
            if path.is_file() and (path.stat().st_size in sizes or -1 in sizes):
                data = read_file(path)
                if _fits(file, data):
                    return Original(data, f"{path.name} beside it", data)
    tried.append(f"the files beside it: none in {folder} has the sha256 that RECORD gives")
    return None


def _of_origin(missing: Sequence[NotFound]) -> Originals:
    """The originals in the wheel that the distribution was installed from, if that is still on this machine."""
    found: Originals = {}
    try:
        text = read_file(Path(missing[0].file.owner.dist_info) / "direct_url.json").decode("utf-8", "replace")  # PEP 610
    except OSError:
        return found
    url = re.search(r'"url"\s*:\s*"(file:[^"]+\.whl)"', text)
    wheel = Path(unquote(urlsplit(url.group(1)).path)) if url else None
    for file, tried in missing if wheel else ():
        data = _member(wheel, file.path) if wheel and wheel.is_file() else None
        if data is not None and _fits(file, data):
            found[file.site, file.path] = Original(data, str(wheel), data)
        else:
            tried.append(f"where it was installed from, {wheel}: is not there, or has another text")
    return found


def _of_index(missing: Sequence[NotFound], report: Callable[[str], None]) -> Originals:
    """The originals in the installed release, from the cache of releases or fetched by pip."""
    owner, paths = missing[0].file.owner, [one.file.path for one in missing]
    try:
        folder = _release(owner, paths, report)
    except (SitepatchError, OSError) as error:
        for one in missing:
            one.tried.append(f"{one.file.release} in the index: {error}")
        return {}
    return _in(folder, missing)


def _of_cache(missing: Sequence[NotFound]) -> Originals:
    """The originals in the installed release, if it is in the cache of releases."""
    found: Originals = {}
    for one in missing:
        folder = cached_release(cache_dir(), one.file.owner.name, one.file.owner.version, [one.file.path])
        if folder is None:
            one.tried.append("the releases that were fetched: this one was not, or without this file")
        found.update(_in(folder, [one]) if folder else {})
    return found


def _in(folder: Path, missing: Sequence[NotFound]) -> Originals:
    """The originals in the cached files of a release."""
    found: Originals = {}
    for file, tried in missing:
        path = folder / file.path
        data = read_file(path) if path.is_file() else None
        if data is not None and _fits(file, data):
            found[file.site, file.path] = Original(data, f"{file.release} of the index", data)
        else:
            what = "has no such file" if data is None else "has another text than was installed (its sha256 differs)"
            tried.append(f"{file.release} in the index: {what}")
    return found


def _release(owner: Owner, paths: Sequence[str], report: Callable[[str], None]) -> Path:
    cache, name, version = cache_dir(), owner.name, owner.version
    ownership.check(str(cache), "set SITEPATCH_CACHE to a directory of your own")
    with Pip(cached=True) as pip, in_use(cache):
        folder = cached_release(cache, name, version, paths)
        if folder is None:
            report(f"fetching {name} {version}, to see what was installed")
            large = recorded_size(Path(owner.dist_info)) >= _LARGE
            where = Listing(wheels={version: pip.link(name, version)}) if large else None
            folder = fetch_release(pip, cache, name, version, paths, where)
        return folder
