"""The distribution that owns an import package in one site directory: its metadata folder and its version."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence
from urllib.parse import unquote, urlsplit

from patcher.errors import SitepatchError
from patcher.installed.record import as_recorded, count_patched, lists, read_metadata
from patcher.message import Message
from patcher.model import Located
from patcher.text.listed import listed, normalized, untagged

_LITERAL = r"""(?m)^__version__\s*(?::[^=\n]+)?=\s*(["'])([^"'\n]+)\1"""


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
    plain = [row for row in (f"{package}/__init__.py", f"{package}.py") if (site / row).is_file()][
        :1
    ]
    names = sorted(
        name
        for name in os.listdir(site)  # noqa: PTH208 - ten times as quick
        if name.endswith(".dist-info") and name[0] != "~"
    )
    near = (
        [name for name in names if normalized(name).startswith(normalized(package))]
        if plain
        else names
    )
    rows = plain or [f"{package}/"]  # of a namespace package any row counts
    owners = [site / name for name in near if lists(site / name, rows)]
    samples = [*files, *plain, f"{package}/version.py", f"{package}/_version.py"]
    # another one may have overwritten it
    if not owners or (len(owners) == 1 and not all(as_recorded(owners[0], samples))):
        owners += [site / name for name in names if name not in near and lists(site / name, rows)]
    if not owners:
        return _unrecorded(site, package, names)
    parts = [path for path in owners if len(owners) > 1 and lists(path, files)]
    owners = parts or owners
    scores = {path: sum(as_recorded(path, samples)) if len(owners) > 1 else 0 for path in owners}
    best = [path for path in owners if scores[path] == max(scores.values())]
    if len(best) > 1:
        kept = {path: count_patched(path, samples) for path in best}
        best = [path for path in best if kept[path] == max(kept.values())]
    claims = [Owner(*read_headers(path / "METADATA"), str(path), True) for path in best]
    owned_by = listed(
        [f"{claim.name} {claim.version} ({Path(claim.dist_info).name})" for claim in claims]
    )
    if not plain and len({claim.name for claim in claims}) > 1:
        template = "{package} in {site} is a namespace package of several distributions: {owned_by}"
        hint = Message(
            "name a file of the one that is meant: a patchset is for files of one of them"
        )
        raise SitepatchError(template, hint, package=package, site=site, owned_by=owned_by)
    if len({claim.version for claim in claims}) > 1:
        template = "{package} in {site} belongs to several distributions, and its files do not tell which is right: {owned_by}"
        hint = Message("uninstall all of them and install the one that is wanted")
        raise SitepatchError(template, hint, package=package, site=site, owned_by=owned_by)
    further = [path.name for path in owners if str(path) != claims[0].dist_info]
    template = "{package} is also listed by {names}; its files are those of {name}"
    note = (
        Message(template, package=package, names=", ".join(further), name=best[0].name)
        if further
        else ""
    )
    return claims[0]._replace(note=note)


def reinstall_command(site: str, name: str, version: str) -> str:
    """How to reinstall the same build of a distribution: a command, or where it was installed from."""
    infos = [
        folder
        for folder in Path(site).glob("*.dist-info")
        if normalized(folder.name.split("-")[0]) == normalized(name)
    ]
    url = origin(infos[0]).url if len(infos) == 1 else ""
    if url:
        return Message(
            "install {name} {version} again from where it came: {url}",
            name=name,
            version=version,
            url=url,
        )
    if "+" in version or untagged(version):
        return Message(
            "install the same build of {name} again from where it came: it is not one that an index has",
            name=name,
        )
    return f"pip install --force-reinstall --no-deps {name}=={version}"


def edited_message(located: Located, path: str) -> tuple[str, str]:
    """The message and the hint for a file that differs from what its distribution installed."""
    name = located.distribution or located.package
    template = "the file is not what {name} {version} installed: somebody edited it (its sha256 differs from RECORD)"
    edited = Message(template, name=name, version=located.version)
    keep = Message(
        "make a patchset of the edit: sitepatch capture {path} --name NAME --adopt{env}", path=path
    )
    problem = "{keep}; or put it back first: {reinstall_command}"
    return edited, Message(
        problem, keep=keep, reinstall_command=reinstall_command(located.site, name, located.version)
    )


class Origin(NamedTuple):
    """Where a distribution was installed from (PEP 610): its URL, "" for an index; and whether it lies there, editable."""

    url: str
    editable: bool

    @property
    def path(self) -> Path | None:
        """The file or directory, None where it is elsewhere."""
        return Path(unquote(urlsplit(self.url).path)) if self.url.startswith("file:") else None


def origin(dist_info: Path) -> Origin:
    """Where a distribution was installed from, by its metadata folder."""
    direct_url = _text(dist_info / "direct_url.json")
    url = re.search(r'"url"\s*:\s*"([^"]*)"', direct_url)
    return Origin(
        url.group(1) if url else "", bool(re.search(r'"editable"\s*:\s*true', direct_url))
    )


def installed_distributions(site: Path) -> Iterator[Owner]:
    """Every distribution with metadata in a site directory, by name; `recorded` is whether it has a RECORD.

    Of an editable install, `note` is the URL of its files.
    """
    kinds = (".dist-info", ".egg-info", ".egg-link")
    for folder in sorted(
        entry for entry in site.iterdir() if entry.suffix in kinds and entry.name[0] != "~"
    ):
        metadata = (
            folder / ("METADATA" if folder.suffix == ".dist-info" else "PKG-INFO")
            if folder.is_dir()
            else folder
        )
        name, version = read_headers(metadata)
        came = origin(folder)
        note = (
            (came.url or _text(folder).split("\n")[0])
            if folder.suffix == ".egg-link" or came.editable
            else ""
        )
        yield Owner(name or folder.stem, version, str(folder), (folder / "RECORD").is_file(), note)


def _text(path: str | Path) -> str:
    return read_metadata(os.fspath(path)).decode("utf-8", "replace")


def read_headers(path: str | Path) -> tuple[str, str]:
    """(Name, Version) of a METADATA or PKG-INFO file, "" for what is not there."""
    headers = _text(path)
    matches = [
        re.search(rf"^{key}:[ \t]*(\S+)", headers, re.MULTILINE | re.IGNORECASE)
        for key in ("Name", "Version")
    ]
    name, version = (match.group(1) if match else "" for match in matches)
    return name, version


def _unrecorded(site: Path, package: str, dist_infos: Sequence[str]) -> Owner:
    """The owner by egg-info, Debian's metadata or the files of a checkout, where no RECORD lists the package."""
    template = "no RECORD lists {package} in {site}: nothing proves that its files are as upstream shipped them"
    note = Message(template, package=package, site=site)
    for name, version, folder in _sources(site, package, dist_infos):
        if version:
            return Owner(name or package, version, folder, note=note)
    for file in (
        site / package / "__init__.py",
        site / package / "version.py",
        site / f"{package}.py",
    ):
        literal = re.search(_LITERAL, _text(file))
        if literal:
            return Owner(package, literal.group(2), "", note=note)
    return Owner(package, "", "", note=Message("{note}; nothing tells its version", note=note))


def _sources(site: Path, package: str, dist_infos: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(name, version, metadata folder) from files of a checkout or an egg, then from metadata folders."""
    roots = [site, site.parent] if site.name == "src" else [site]
    for root in roots:
        project = re.search(
            r"^\[project\][ \t]*\n(.*?)(?=^\[|\Z)", _text(root / "pyproject.toml"), re.M | re.S
        )
        table = project.group(1) if project else ""
        matches = [
            re.search(rf"""^{key}\s*=\s*["']([^"'\n]+)""", table, re.M)
            for key in ("name", "version")
        ]
        if matches[1]:
            yield matches[0].group(1) if matches[0] else "", matches[1].group(1), ""
    for root in roots:
        yield (*read_headers(root / "PKG-INFO"), "")
        yield (*read_headers(root / "EGG-INFO/PKG-INFO"), "")
    eggs: list[str] = sorted(egg.name for egg in site.iterdir() if egg.name.endswith(".egg-info"))
    for entry in (*dist_infos, *eggs):
        folder = site / entry
        tops = _text(folder / "top_level.txt").split()
        if package in tops or normalized(
            re.split(r"-\d|\.egg-info$|\.dist-info$", entry)[0]
        ) == normalized(package):
            if folder.is_dir():
                yield (
                    *read_headers(
                        folder / ("METADATA" if entry.endswith(".dist-info") else "PKG-INFO")
                    ),
                    str(folder),
                )
            else:
                yield (*read_headers(folder), "")
