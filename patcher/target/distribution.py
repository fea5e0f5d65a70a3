"""The distribution that owns an import package in one site directory: its metadata folder, version, RECORD hashes."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Collection, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.errors import SitepatchError
from patcher.model import Located, normalized, untagged
from patcher.system.reading import read_file

_LITERAL = re.compile(r"""^__version__\s*(?::[^=\n]+)?=\s*(["'])([^"'\n]+)\1""", re.MULTILINE)


class Owner(NamedTuple):
    """A distribution; `dist_info` is the absolute path of its metadata folder, "" if it has none.

    `recorded` is whether its RECORD lists the package; `note` is a remark for the user.
    """

    name: str
    version: str
    dist_info: str
    recorded: bool = False
    note: str = ""


def owner(site: Path, package: str, files: Sequence[str] = ()) -> Owner:
    """The distribution that installed `package` into `site`.

    Args:
        site: the site directory.
        package: the import package; its distribution may have any name (`mmengine-lite` ships `mmengine`).
        files: `/`-separated paths relative to `site` that are meant: of several owners the one counts whose RECORD lists
            them, with the hashes that they have, or had before they were patched.

    Returns:
        The owner by RECORD; else by the metadata of egg-info, Debian or a checkout, with a note that says so.

    Raises:
        SitepatchError: several distributions list the package, and neither `files` nor what is on disk shows which is meant.
    """
    plain = [row for row in (f"{package}/__init__.py", f"{package}.py") if (site / row).is_file()][:1]
    names = sorted(each.name for each in site.iterdir() if each.name.endswith(".dist-info") and each.name[0] != "~")
    near = [name for name in names if normalized(name).startswith(normalized(package))] if plain else names
    rows = plain or [f"{package}/"]  # of a namespace package any row counts
    owners = [site / name for name in near if _lists(site / name, rows)]
    samples = [*plain, f"{package}/version.py", f"{package}/_version.py", *files]
    if not owners or (len(owners) == 1 and _compare(owners[0], samples)[1]):  # one of any name may have overwritten it
        owners += [site / name for name in names if name not in near and _lists(site / name, rows)]
    if not owners:
        return _unrecorded(site, package, names)
    parts = [path for path in owners if len(owners) > 1 and _lists(path, files)]
    owners = parts or owners
    scores = {path: _compare(path, samples)[0] if len(owners) > 1 else 0 for path in owners}
    best = [path for path in owners if scores[path] == max(scores.values())]
    if len(best) > 1:
        kept = {path: _patched(path, samples) for path in best}
        best = [path for path in best if kept[path] == max(kept.values())]
    found = [Owner(*_headers(path / "METADATA"), str(path), True) for path in best]
    listed = " and ".join(f"{each.name} {each.version} ({Path(each.dist_info).name})" for each in found)
    if not plain and len({each.name for each in found}) > 1:
        raise SitepatchError(
            f"{package} in {site} is a namespace package of several distributions: {listed}",
            "name a file of the one that is meant: a patchset is for files of one of them",
        )
    if len({each.version for each in found}) > 1:
        raise SitepatchError(
            f"{package} in {site} belongs to several distributions, and its files do not tell which is right: {listed}",
            "uninstall all of them and install the one that is wanted",
        )
    others = [path.name for path in owners if str(path) != found[0].dist_info]
    note = f"{package} is also listed by {', '.join(others)}; its files are those of {best[0].name}" if others else ""
    return found[0]._replace(note=note)


def reinstall_command(site: str, name: str, version: str) -> str:
    """How to reinstall the same build of a distribution: a command, or where it was installed from."""
    infos = [each for each in Path(site).glob("*.dist-info") if normalized(each.name.split("-")[0]) == normalized(name)]
    came = re.search(r'"url"\s*:\s*"([^"]+)"', _text(infos[0] / "direct_url.json")) if len(infos) == 1 else None  # PEP 610
    if came:
        return f"install {name} {version} again from where it came: {came.group(1)}"
    if "+" in version or untagged(version):
        return f"install the same build of {name} again from where it came: it is not one that an index has"
    return f"pip install --force-reinstall --no-deps {name}=={version}"


def edited_message(located: Located, path: str) -> Tuple[str, str]:
    """The message and the hint for a file that differs from what its distribution installed."""
    name = located.distribution or located.package
    what = f"the file is not what {name} {located.version} installed: somebody edited it (its sha256 differs from RECORD)"
    keep = f"make a patchset of the edit: sitepatch capture {path} --name NAME --adopt"
    return what, f"{keep}; or put it back first: {reinstall_command(located.site, name, located.version)}"


def recorded_hash(located: Located, path: str) -> Optional[str]:
    """The sha256 (hex) that RECORD has for a file; None if there is no RECORD, no row or no sha256.

    Args:
        located: the package; only a dist-info folder directly in its site directory counts.
        path: `/`-separated, relative to the site directory.
    """
    folder = Path(located.dist_info)
    if not located.dist_info.endswith(".dist-info") or folder.parent != Path(located.site):
        return None
    return recorded_in(_record(folder), path)


def recorded_in(record: bytes, path: str) -> Optional[str]:
    """The sha256 (hex) that a RECORD has for a file; csv takes 15 ms for torch's 14,600 rows, this less than one."""
    value = _after(record, path, b",sha256=")
    return None if value is None else _sha256(record[value : value + 80])


def _sha256(text: bytes) -> Optional[str]:
    """The sha256 (hex) that a text begins with, in the base64 of RECORD; None where it is none."""
    from base64 import urlsafe_b64decode

    value = re.match(rb"[A-Za-z0-9_-]*", text)
    try:
        digest = urlsafe_b64decode(value.group() + b"==") if value else b""
    except ValueError:
        return None
    return digest.hex() if len(digest) == 32 else None


class RecordRow(NamedTuple):
    """A row of RECORD: a file, its sha256 (hex) and its size in bytes, -1 where none is given."""

    path: str
    digest: str
    size: int


def installed_distributions(site: Path) -> Iterator[Owner]:
    """Every distribution with metadata in a site directory, by name; `recorded` is whether it has a RECORD.

    Of an editable install, `note` is the URL of its files.
    """
    kinds = (".dist-info", ".egg-info", ".egg-link")
    for folder in sorted(each for each in site.iterdir() if each.suffix in kinds and each.name[0] != "~"):
        metadata = folder / ("METADATA" if folder.suffix == ".dist-info" else "PKG-INFO") if folder.is_dir() else folder
        name, version = _headers(metadata)
        origin = _text(folder / "direct_url.json")
        url = re.search(r'"url"\s*:\s*"([^"]*)"', origin)
        editable = folder.suffix == ".egg-link" or re.search(r'"editable"\s*:\s*true', origin)
        note = (url.group(1) if url else _text(folder).split("\n")[0]) if editable else ""
        yield Owner(name or folder.stem, version, str(folder), (folder / "RECORD").is_file(), note)


def recorded_sources(dist_info: Path) -> Iterator[RecordRow]:
    """The Python files of a RECORD that have a sha256 there."""
    import csv

    text = _record(dist_info).decode("utf-8", "surrogateescape")
    for row in csv.reader(text.splitlines()):
        proven = len(row) == 3 and row[0].endswith(".py") and row[1].startswith("sha256=")
        digest = _sha256(row[1][len("sha256=") :].encode()) if proven else None
        if digest:
            yield RecordRow(row[0], digest, int(row[2]) if row[2].isdecimal() else -1)


def identity(dist_info: Path) -> Tuple[str, str, str]:
    """The name and the version of an installed distribution, and a sha256 (hex) over its files.

    That is over path and hash of each row of RECORD, sorted, without what differs between installations: the metadata folder
    (INSTALLER, direct_url.json), bytecode, and files elsewhere (a script names its interpreter). So it is the same on every
    machine, and needs no network. The hash of the archive would not be: installers record that of a file or a URL (PEP 610),
    but not that of a release of an index.
    """
    import csv

    text = _record(dist_info).decode("utf-8", "surrogateescape")
    rows = [(row[0], row[1]) for row in csv.reader(text.splitlines()) if len(row) == 3 and row[1]]
    own = (f"{dist_info.name}/", "../", "/")
    brought = sorted(f"{path},{digest}\n" for path, digest in rows if not path.startswith(own) and not path.endswith(".pyc"))
    return (*_headers(dist_info / "METADATA"), sha256("".join(brought).encode("utf-8", "surrogateescape")).hexdigest())


def recorded_size(dist_info: Path) -> int:
    """The total size in bytes of the files of a RECORD, of those with a size."""
    return sum(map(int, re.findall(rb",(\d+)\s*$", _record(dist_info), re.MULTILINE)))


def files_recorded(site: str, digest: str) -> Iterator[str]:
    """The paths for which a RECORD of a site directory has this sha256 (hex)."""
    from base64 import urlsafe_b64encode

    end = b",sha256=" + urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=") + b","
    for folder in _dist_infos(site):
        rows = (row.split(end)[0] for row in _record(folder).split(b"\n") if end in row)
        yield from (row.strip(b'"').replace(b'""', b'"').decode("utf-8", "surrogateescape") for row in rows)


def hashes_recorded(site: str, paths: Collection[str]) -> Dict[str, Set[str]]:
    """The sha256 (hex) that the RECORDs of a site directory give for files, by path, without files that none of them lists."""
    found: Dict[str, Set[str]] = {}
    for folder in _dist_infos(site):  # each is read once
        record = _record(folder)
        for path, digest in ((path, recorded_in(record, path)) for path in paths):
            if digest:
                found.setdefault(path, set()).add(digest)
    return found


def _dist_infos(site: str) -> List[Path]:
    return sorted(Path(site).glob("*.dist-info"))


def _after(record: bytes, path: str, end: bytes) -> Optional[int]:
    """The offset past `path` + `end` at the start of a row, None for no such row; csv quotes a path with a comma or quote."""
    plain = path.encode("utf-8", "surrogateescape")
    for text in (plain, b'"' + plain.replace(b'"', b'""') + b'"'):
        at = record.find(text + end)
        while at > 0 and record[at - 1 : at] != b"\n":
            at = record.find(text + end, at + 1)
        if at >= 0:
            return at + len(text + end)
    return None


def _record(folder: Path) -> bytes:
    try:
        stat = (folder / "RECORD").stat()
        return _read(folder / "RECORD", stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except OSError:
        return b""  # not there: an interrupted install, Debian


@lru_cache(maxsize=8)
def _read(path: Path, *stamp: int) -> bytes:
    return read_file(path)


def _lists(folder: Path, rows: Sequence[str]) -> bool:
    record = _record(folder)
    return any(_after(record, row, b"" if row.endswith("/") else b",") is not None for row in rows)


def _compare(folder: Path, files: Sequence[str]) -> Tuple[int, int]:
    """How many of `files` have on disk the hash that RECORD has, and how many another one."""
    record, counts = _record(folder), [0, 0]
    for path in dict.fromkeys(files):
        recorded, file = recorded_in(record, path), folder.parent / path
        if recorded is not None and file.is_file():
            counts[sha256(read_file(file)).hexdigest() != recorded] += 1
    return counts[0], counts[1]


def _patched(folder: Path, files: Sequence[str]) -> int:
    """How many of `files` have a pristine copy in the store with the hash that RECORD has: those are patched."""
    record, store = _record(folder), folder.parent / ".sitepatch/pristine"
    return sum((store / (recorded_in(record, path) or "none")).is_file() for path in dict.fromkeys(files))


def _text(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _headers(path: Path) -> Tuple[str, str]:
    """(Name, Version) of a METADATA or PKG-INFO file, "" for what is not there."""
    text = _text(path)
    found = [re.search(rf"^{key}:[ \t]*(\S+)", text, re.MULTILINE | re.IGNORECASE) for key in ("Name", "Version")]
    name, version = (match.group(1) if match else "" for match in found)
    return name, version


def _unrecorded(site: Path, package: str, dist_infos: Sequence[str]) -> Owner:
    """The owner by egg-info, Debian's metadata or the files of a checkout, where no RECORD lists the package."""
    note = f"no RECORD lists {package} in {site}: nothing proves that its files are as upstream shipped them"
    for name, version, folder in _sources(site, package, dist_infos):
        if version:
            return Owner(name or package, version, folder, note=note)
    for file in (site / package / "__init__.py", site / package / "version.py", site / f"{package}.py"):
        literal = _LITERAL.search(_text(file))
        if literal:
            return Owner(package, literal.group(2), "", note=note)
    return Owner(package, "", "", note=f"{note}; nothing tells its version")


def _sources(site: Path, package: str, dist_infos: Sequence[str]) -> Iterator[Tuple[str, str, str]]:
    """(name, version, metadata folder) from files of a checkout or an egg, then from metadata folders."""
    roots = [site, site.parent] if site.name == "src" else [site]
    for root in roots:
        project = re.search(r"^\[project\][ \t]*\n(.*?)(?=^\[|\Z)", _text(root / "pyproject.toml"), re.M | re.S)
        table = project.group(1) if project else ""
        found = [re.search(rf"""^{key}\s*=\s*["']([^"'\n]+)""", table, re.M) for key in ("name", "version")]
        if found[1]:
            yield found[0].group(1) if found[0] else "", found[1].group(1), ""
    for root in roots:
        yield (*_headers(root / "PKG-INFO"), "")
        yield (*_headers(root / "EGG-INFO/PKG-INFO"), "")
    eggs: List[str] = sorted(each.name for each in site.iterdir() if each.name.endswith(".egg-info"))
    for entry in (*dist_infos, *eggs):
        folder = site / entry
        tops = _text(folder / "top_level.txt").split()
        if package in tops or normalized(re.split(r"-\d|\.egg-info$|\.dist-info$", entry)[0]) == normalized(package):
            if folder.is_dir():
                yield (*_headers(folder / ("METADATA" if entry.endswith(".dist-info") else "PKG-INFO")), str(folder))
            else:
                yield (*_headers(folder), "")
