"""The distribution that owns an import package in one site directory: its metadata and version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, Sequence
from urllib.parse import unquote, urlsplit

from patcher.errors import SitepatchError
from patcher.installed.record import as_recorded, count_patched, lists, read_metadata
from patcher.message import Message
from patcher.model import Located
from patcher.record import Record
from patcher.text.listed import listed, normalized, untagged

_LITERAL = r"""(?m)^__version__\s*(?::[^=\n]+)?=\s*(["'])([^"'\n]+)\1"""
_PROJECT_TABLE = r"(?ms)^\[project\][ \t]*\n(.*?)(?=^\[|\Z)"
_END_OF_NAME = r"-\d|\.egg-info$|\.dist-info$"


class Owner(Record):
    """A distribution.

    `dist_info` is the absolute path of its metadata folder, empty if it has none. `recorded` is
    whether its RECORD lists the package; `note` is a remark for the user.
    """

    name: str
    version: str
    dist_info: str
    recorded: bool = False
    note: str = ""


# the owner of a package -----------------------------------------------------------------------
class Distributions:
    """What is installed in a site directory, which is listed once."""

    def __init__(self, site: Path) -> None:
        self._site = site
        self._dist_infos = _dist_infos(site)
        self._modules: dict[str, str] = {}
        self._only_owners: dict[str, Owner] = {}

    def owner(self, package: str, files: Sequence[str] = ()) -> Owner:
        """The distribution that installed `package`.

        Args:
            package: the import package; its distribution may have any name (`mmengine-lite` ships
                `mmengine`).
            files: `/`-separated paths relative to the site that are meant: of several owners the
                one counts whose RECORD lists them, with the hashes that they have, or had before
                they were patched.

        Returns:
            The owner by RECORD; else by the metadata of egg-info, Debian or a checkout, with a note
            that says so.

        Raises:
            SitepatchError: several distributions list the package, and neither `files` nor what is
                on disk shows which is meant.
        """
        if package in self._only_owners:
            return self._only_owners[package]
        if package not in self._modules:
            self._modules[package] = _main_file(self._site, package)
        module = self._modules[package]
        samples = [*files, module] if module else list(files)
        samples += [f"{package}/version.py", f"{package}/_version.py"]

        near = self._near(package, module)
        rows = [module or f"{package}/"]  # of a namespace package any row counts
        owners = [path for path in near if lists(path, rows)]
        # of one alone, another one may have overwritten the files
        alone = len(owners) == 1 and all(as_recorded(owners[0], samples))
        looks_at_all = not owners or (len(owners) == 1 and not alone)
        if looks_at_all:
            owners += [path for path in self._dist_infos if path not in near and lists(path, rows)]
        if not owners:
            return _unrecorded(self._site, package, self._dist_infos)
        if looks_at_all and len(owners) == 1:  # whichever files are meant
            self._only_owners[package] = _claim(owners[0])
            return self._only_owners[package]
        return _chosen(self._site, package, owners, files=files, samples=samples, module=module)

    def _near(self, package: str, module: str) -> list[Path]:
        """The distributions with a name like that of a package; all for a namespace package."""
        if not module:
            return list(self._dist_infos)
        name = normalized(package)
        return [path for path in self._dist_infos if normalized(path.name).startswith(name)]


def _claim(dist_info: Path) -> Owner:
    name, version = read_headers(dist_info / "METADATA")
    return Owner(name, version, str(dist_info), recorded=True)


def _chosen(
    site: Path,
    package: str,
    owners: Sequence[Path],
    *,
    files: Sequence[str],
    samples: Sequence[str],
    module: str,
) -> Owner:
    """Of those whose RECORD lists a package, the one that the files show to be its owner."""
    if len(owners) > 1:
        owners = [path for path in owners if lists(path, files)] or owners
    best = _best(owners, samples)
    claims = [_claim(dist_info) for dist_info in best]
    _check_agreement(site, package, claims, is_namespace=not module)
    others = [path.name for path in owners if path != best[0]]
    if not others:
        return claims[0]
    note = Message(
        "{package} is also listed by {names}; its files are those of {name}",
        package=package,
        names=", ".join(others),
        name=best[0].name,
    )
    return claims[0]._replace(note=note)


def _main_file(site: Path, package: str) -> str:
    """The file that is imported for a package, relative to the site; empty for a namespace."""
    for path in (f"{package}/__init__.py", f"{package}.py"):
        if (site / path).is_file():
            return path
    return ""


def _dist_infos(site: Path) -> list[Path]:
    """The metadata folders of a site directory by name; pip renames one that it removes to `~`."""
    folders = [path for path in site.iterdir() if path.suffix == ".dist-info"]
    return sorted(path for path in folders if not path.name.startswith("~"))


def _best(owners: Sequence[Path], samples: Sequence[str]) -> list[Path]:
    """The owners with the most files as RECORD has them, and of these with the most patched."""
    if len(owners) == 1:
        return list(owners)
    intact = {path: sum(as_recorded(path, samples)) for path in owners}
    best = [path for path in owners if intact[path] == max(intact.values())]
    if len(best) == 1:
        return best
    patched = {path: count_patched(path, samples) for path in best}
    return [path for path in best if patched[path] == max(patched.values())]


def _check_agreement(
    site: Path, package: str, claims: Sequence[Owner], *, is_namespace: bool
) -> None:
    """Refuse a package of several distributions that cannot be told apart."""
    names = []
    for claim in claims:
        names.append(f"{claim.name} {claim.version} ({Path(claim.dist_info).name})")
    if is_namespace and len({claim.name for claim in claims}) > 1:
        raise SitepatchError(
            "{package} in {site} is a namespace package of several distributions: {owned_by}",
            Message("name a file of the one that is meant: a patchset is for files of one of them"),
            package=package,
            site=site,
            owned_by=listed(names),
        )
    if len({claim.version for claim in claims}) > 1:
        raise SitepatchError(
            "{package} in {site} belongs to several distributions, "
            "and its files do not tell which is right: {owned_by}",
            Message("uninstall all of them and install the one that is wanted"),
            package=package,
            site=site,
            owned_by=listed(names),
        )


# an owner without RECORD ----------------------------------------------------------------------
def _unrecorded(site: Path, package: str, dist_infos: Sequence[Path]) -> Owner:
    """The owner by egg-info, Debian's metadata or a checkout, if no RECORD lists the package."""
    note = Message(
        "no RECORD lists {package} in {site}: "
        "nothing proves that its files are as upstream shipped them",
        package=package,
        site=site,
    )
    for source in _sources(site, package, dist_infos):
        if source.version:
            return source._replace(name=source.name or package, note=note)
    for path in (f"{package}/__init__.py", f"{package}/version.py", f"{package}.py"):
        literal = re.search(_LITERAL, _text(site / path))
        if literal:
            return Owner(package, literal.group(2), "", note=note)
    return Owner(package, "", "", note=Message("{note}; nothing tells its version", note=note))


def _sources(site: Path, package: str, dist_infos: Sequence[Path]) -> Iterator[Owner]:
    """What may tell the name and the version: files of a checkout or an egg, then metadata."""
    roots = [site, site.parent] if site.name == "src" else [site]
    for root in roots:
        name, version = _project_headers(root / "pyproject.toml")
        if version:
            yield Owner(name, version, "")
    for root in roots:
        for path in (root / "PKG-INFO", root / "EGG-INFO/PKG-INFO"):
            name, version = read_headers(path)
            yield Owner(name, version, "")

    eggs = sorted(path for path in site.iterdir() if path.suffix == ".egg-info")
    for folder in (*dist_infos, *eggs):
        if _is_for(folder, package):
            name, version = read_headers(_metadata(folder))
            yield Owner(name, version, str(folder) if folder.is_dir() else "")


def _project_headers(path: Path) -> tuple[str, str]:
    """The name and the version in a pyproject.toml, each empty if it is not there as a literal."""
    table = re.search(_PROJECT_TABLE, _text(path))
    if not table:
        return "", ""
    values = []
    for key in ("name", "version"):
        value = re.search(rf"""^{key}\s*=\s*["']([^"'\n]+)""", table.group(1), re.M)
        values.append(value.group(1) if value else "")
    name, version = values
    return name, version


def _is_for(folder: Path, package: str) -> bool:
    """Whether a metadata folder is that of a package, by what it says or by its name."""
    if package in _text(folder / "top_level.txt").split():
        return True
    return normalized(re.split(_END_OF_NAME, folder.name)[0]) == normalized(package)


# metadata -------------------------------------------------------------------------------------
class Origin(Record):
    """Where a distribution was installed from (PEP 610).

    `url` is empty for an index; `editable` is whether the distribution still lies there.
    """

    url: str
    editable: bool

    @property
    def path(self) -> Path | None:
        """The file or directory, None where it is elsewhere."""
        if not self.url.startswith("file:"):
            return None
        return Path(unquote(urlsplit(self.url).path))


def origin(dist_info: Path) -> Origin:
    """Where a distribution was installed from, by its metadata folder."""
    direct_url = _text(dist_info / "direct_url.json")
    url = re.search(r'"url"\s*:\s*"([^"]*)"', direct_url)
    editable = re.search(r'"editable"\s*:\s*true', direct_url)
    return Origin(url.group(1) if url else "", bool(editable))


def installed_distributions(site: Path) -> Iterator[Owner]:
    """Every distribution with metadata in a site directory, by name.

    `recorded` is whether it has a RECORD. Of an editable install, `note` is the URL of its files.
    """
    kinds = (".dist-info", ".egg-info", ".egg-link")
    for folder in sorted(path for path in site.iterdir() if path.suffix in kinds):
        if folder.name.startswith("~"):
            continue
        name, version = read_headers(_metadata(folder))
        source = origin(folder)
        location = ""
        if folder.suffix == ".egg-link" or source.editable:
            location = source.url or _text(folder).split("\n")[0]
        yield Owner(
            name=name or folder.stem,
            version=version,
            dist_info=str(folder),
            recorded=(folder / "RECORD").is_file(),
            note=location,
        )


def _metadata(folder: Path) -> Path:
    """The file with the headers of a metadata folder; an egg's may be that file."""
    if not folder.is_dir():
        return folder
    return folder / ("METADATA" if folder.suffix == ".dist-info" else "PKG-INFO")


def read_headers(path: str | Path) -> tuple[str, str]:
    """(Name, Version) of a METADATA or PKG-INFO file, empty for what is not there."""
    headers = _text(path)
    name = re.search(r"^Name:[ \t]*(\S+)", headers, re.MULTILINE | re.IGNORECASE)
    version = re.search(r"^Version:[ \t]*(\S+)", headers, re.MULTILINE | re.IGNORECASE)
    return name.group(1) if name else "", version.group(1) if version else ""


def _text(path: str | Path) -> str:
    return read_metadata(path).decode("utf-8", "replace")


# messages -------------------------------------------------------------------------------------
def reinstall_command(site: str, name: str, version: str) -> str:
    """How to reinstall the same build of a distribution: a command, or where it came from."""
    dist_infos = []
    for folder in Path(site).glob("*.dist-info"):
        if normalized(folder.name.split("-")[0]) == normalized(name):
            dist_infos.append(folder)
    url = origin(dist_infos[0]).url if len(dist_infos) == 1 else ""
    if url:
        return Message(
            "install {name} {version} again from where it came: {url}",
            name=name,
            version=version,
            url=url,
        )
    if "+" in version or untagged(version):
        return Message(
            "install the same build of {name} again from where it came: "
            "it is not one that an index has",
            name=name,
        )
    return f"pip install --force-reinstall --no-deps {name}=={version}"


def edited_message(located: Located, path: str) -> tuple[str, str]:
    """The message and the hint for a file that differs from what its distribution installed."""
    name = located.distribution or located.package
    problem = Message(
        "the file is not what {name} {version} installed: "
        "somebody edited it (its sha256 differs from RECORD)",
        name=name,
        version=located.version,
    )
    capture = Message(
        "make a patchset of the edit: sitepatch capture {path} --name NAME --adopt{env}", path=path
    )
    hint = Message(
        "{keep}; or put it back first: {reinstall_command}",
        keep=capture,
        reinstall_command=reinstall_command(located.site, name, located.version),
    )
    return problem, hint
