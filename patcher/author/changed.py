"""Which Python files of an environment were edited: those that are neither as RECORD nor as a receipt has them. Reads only."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import (
    Container,
    Dict,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)

from patcher.author.draft import package_of
from patcher.errors import AbsentError, Location, SitepatchError, UsageError
from patcher.facts import Condition, FileStatus
from patcher.installed.distribution import installed_distributions
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import RecordRow, recorded_sources
from patcher.message import Message, joined
from patcher.model import Located, Progress, Receipt
from patcher.store.receipt import ADDED_FILE, path_problem
from patcher.store.status import classify
from patcher.store.store import Store
from patcher.system.parallel import in_parallel
from patcher.system.reading import read_file
from patcher.text.listed import listed, normalized, shortened

_THREADS = 4  # reading waits for the disk, hashing does not hold the interpreter
_BATCH = 200  # files between two reports of progress
_DATA = (
    ".pyi",
    ".yaml",
    ".yml",
    ".json",
    ".toml",
    ".cfg",
    ".ini",
    ".txt",
    ".html",
    ".j2",
    ".jinja",
    ".jinja2",
    ".tmpl",
)
# sources that a package compiles at run time
_TEXTS = (
    *_DATA,
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".cl",
    ".h",
    ".hpp",
    ".cuh",
)


class InstalledFile(NamedTuple):
    """A Python file as it is on disk, and the package and the distribution that it belongs to.

    `path` is `/`-separated and relative to the site directory. `recorded` are its rows in RECORD files, `status` is that of
    the patchsets applied in it, None without any.
    """

    located: Located
    path: str
    recorded: tuple[RecordRow, ...] = ()
    data: bytes = b""
    status: FileStatus | None = None

    @property
    def site(self) -> str:
        """The site directory."""
        return self.located.site

    @property
    def release(self) -> str:
        """The distribution and its version."""
        return f"{self.located.distribution} {self.located.version}".strip()

    def is_pristine(self, data: bytes) -> bool:
        """Whether RECORD has the sha256 of these bytes for it."""
        return sha256(data).hexdigest() in [row.digest for row in self.recorded]


class Search(NamedTuple):
    """The files that differ or have no RECORD, the number of files that were compared, remarks, and files that are `new`."""

    files: tuple[InstalledFile, ...]
    looked: int
    notes: tuple[str, ...]
    new: tuple[str, ...]


_Site = Dict[str, InstalledFile]
"""The files of a site directory by path, without their data."""


def find_changed(
    env: Environment, words: Sequence[str], progress: Progress, *, unproven: bool = False
) -> Search:
    """Find the files that are neither what was installed nor what a patchset made of it: Python, of what is named other texts.

    Args:
        env: the environment.
        words: import packages, distributions or files to search; all distributions without any.
        progress: called after each batch of files with the number of files that were compared.
        unproven: also return the files that `words` name and no RECORD lists.

    Raises:
        SitepatchError: there is no such package or file, or it cannot be compared; for all such words.
    """
    notes: list[str] = []
    named = filter(None, (Path(word).suffix for word in words if "/" in word))
    suffixes = (".py", *(_TEXTS if words else ()), *named)
    every = {
        site: _listed(Path(site), notes if not words else [], suffixes)
        for site in env.own
        if Path(site).is_dir()
    }
    receipts = {site: Store(site).receipts() for site in every}
    for site, files in every.items():
        for receipt in receipts[site].values():
            if receipt.pristine.origin == ADDED_FILE:
                home = Located(
                    receipt.release.package,
                    site,
                    receipt.release.distribution,
                    receipt.release.version,
                    "",
                )
                files.setdefault(receipt.path, InstalledFile(home, receipt.path))
    chosen = _chosen(env, words, every, unproven=unproven) if words else every
    found: list[InstalledFile] = []
    remarks: dict[str, list[str]] = {}  # a remark -> the files that it is about
    chosen_files = [
        (file, receipts[site].get(file.path))
        for site, candidates in chosen.items()
        for file in candidates.values()
    ]
    batches = [chosen_files[at : at + _BATCH] for at in range(0, len(chosen_files), _BATCH)]

    def report(done: int) -> None:
        looked = min(done * _BATCH, len(chosen_files))
        progress(looked, len(chosen_files), Message("files compared with what was installed"))

    for looks in in_parallel([partial(_looks, batch) for batch in batches], _THREADS, report):
        for path, item, note in looks:
            found += [item] if item else []
            remarks.setdefault(note, []).append(path)
    notes += [
        Message("{paths}: {note}", paths=shortened(paths, 3), note=note)
        for note, paths in remarks.items()
        if note
    ]
    new = list(
        _new_files(
            {(item.site, item.path.split("/")[0]) for item in found if "/" in item.path},
            every,
            receipts,
        )
    )
    text = "{new}: new, and no part of a patchset: `+++ PATH` in its .spatch adds a file"
    notes += [Message(text, new=shortened(paths, 3)) for paths in new]
    return Search(
        tuple(sorted(found, key=lambda item: (item.site, item.path))),
        len(chosen_files),
        tuple(notes),
        tuple(chain(*new)),
    )


def _listed(site: Path, notes: list[str], suffixes: tuple[str, ...]) -> _Site:
    """The files with these suffixes in the RECORD files of a site directory; adds a remark about distributions without one."""
    found: _Site = {}
    editable, bare = [], []
    for owner in installed_distributions(site):
        if owner.note:
            editable.append(f"{owner.name} ({owner.note})")
        elif not owner.recorded:
            bare.append(f"{owner.name} {owner.version}".rstrip())
        for row in recorded_sources(Path(owner.dist_info), suffixes) if owner.recorded else ():
            if not path_problem(row.path) and ".dist-info/" not in row.path:
                located = Located(
                    package_of(row.path), str(site), owner.name, owner.version, owner.dist_info
                )
                one = found.get(row.path) or InstalledFile(located, row.path)
                found[row.path] = one._replace(recorded=(*one.recorded, row))
    if editable:
        text = "not looked at, as an editable install is edited where its files lie: {editable}"
        notes.append(Message(text, editable=", ".join(editable)))
    if bare:
        how = Message("name a file of it, and give what was installed with --pristine")
        problem = "not looked at, as there is no RECORD that says what was installed: {bare}; {how}"
        notes.append(Message(problem, bare=", ".join(bare), how=how))
    return found


def _chosen(
    env: Environment, words: Sequence[str], every: dict[str, _Site], *, unproven: bool
) -> dict[str, _Site]:
    """The files that `words` name: those of `every`, and with `unproven` others."""
    chosen: dict[str, _Site] = {site: {} for site in every}
    problems: list[SitepatchError] = []
    for word in dict.fromkeys(words):
        try:
            site, paths = named_file(word, every) if _is_file(word) else _package(env, word, every)
            if not unproven and not any(path in every[site] for path in paths):
                template = "no RECORD in {site} lists it, so nothing tells what was installed"
                hint = Message("give the original with --pristine: a file, a wheel or a directory")
                raise SitepatchError.at(Location(word), template, hint, site=site)
            if unproven:
                home = home_of(env, paths[0])._replace(site=site)
                chosen[site].update(
                    (path, InstalledFile(home._replace(package=package_of(path)), path))
                    for path in paths
                )
            chosen[site].update((path, every[site][path]) for path in paths if path in every[site])
        except SitepatchError as error:
            problems.append(error)
    if problems:
        kind = (
            UsageError
            if any(isinstance(error, UsageError) for error in problems)
            else SitepatchError
        )
        hints = dict.fromkeys(error.hint for error in problems if error.hint)
        raise kind.joined(problems, joined("\n", hints))
    return chosen


def _is_file(word: str) -> bool:
    return word.endswith(".py") or "/" in word


def named_file(word: str, every: Mapping[str, Container[str]]) -> tuple[str, list[str]]:
    """The site directory and the path in it of a file, named from here, absolute, or as the site directory has it.

    Args:
        word: the name.
        every: the site directories, each with paths that count as there although they may be missing.

    Raises:
        UsageError: there is no such file.
    """
    given = Path(word).absolute()
    given = given.parent.resolve() / given.name  # a link that is the file itself lies where it lies
    for site in every:
        top = Path(site).resolve()
        if given.is_file() and top in given.parents:
            return site, [given.relative_to(top).as_posix()]
        if not path_problem(word) and ((top / word).is_file() or word in every[site]):
            return site, [word]
    sites = listed(list(every), "or")
    hint = Message("name it as `mmengine/runner/runner.py`, or by its path")
    raise UsageError.at(Location(word), "found no such file in {sites}", hint, sites=sites)


def _package(env: Environment, word: str, every: dict[str, _Site]) -> tuple[str, list[str]]:
    """The site directory, and the Python files of an import package (a namespace: of all parts) and of a distribution."""
    named = {
        site: [path for path, one in candidates.items() if _is_of(word, one)]
        for site, candidates in every.items()
    }
    for site, paths in named.items():
        if (
            paths
            and (Path(site) / word).is_dir()
            and not (Path(site) / word / "__init__.py").is_file()
        ):
            return site, paths
    try:
        site = locate(env, word).site
    except AbsentError:
        for site, paths in named.items():
            if paths:
                return site, paths
        raise
    if site not in every:
        raise SitepatchError(
            "{word}: lies in {site}, which this environment shares with others",
            "see --system",
            word=word,
            site=site,
        )
    return site, named[site] or python_files(site, word)


def _is_of(word: str, one: InstalledFile) -> bool:
    """Whether a file is of the import package or the distribution of this name."""
    return word == package_of(one.path) or normalized(word) == normalized(one.located.distribution)


def home_of(env: Environment, path: str) -> Located:
    """The package of a file, without what is remarked of the file: equal for all files of a package."""
    return locate(env, package_of(path), [path])._replace(notes=(), recorded=True)


def _looks(
    batch: Sequence[tuple[InstalledFile, Receipt | None]],
) -> list[tuple[str, InstalledFile | None, str]]:
    """What `_look` says of each of these files, with its path."""
    return [(file.path, *_look(file, receipt)) for file, receipt in batch]


def _look(one: InstalledFile, receipt: Receipt | None) -> tuple[InstalledFile | None, str]:
    """The file, if it differs or has no RECORD; and a remark, "" for none."""
    try:
        item = one._replace(data=read_file(Path(one.site) / one.path))
        if item.is_pristine(item.data):
            return None, ""
    except (FileNotFoundError, NotADirectoryError):
        return None, Message(
            "is not there any more; that a file was deleted cannot be put into a patchset"
        )
    except (OSError, SitepatchError) as error:
        return None, Message("could not be read: {error}", error=error)
    if receipt is None:
        return item, ""
    status = classify(one.site, receipt, item.data)
    if status.condition is Condition.APPLIED:
        edited = receipt.pristine.origin == "edited"
        how = Message(
            "was edited before it was patched with --force: `sitepatch restore` gives that text back, capture it then"
        )
        return None, how if edited else ""
    if status.condition is Condition.ASTRAY:
        return None, status.meaning
    return item._replace(status=status if status.condition is Condition.EDITED else None), ""


def _new_files(
    packages: Iterable[tuple[str, str]],
    every: dict[str, _Site],
    receipts: Mapping[str, Mapping[str, Receipt]],
) -> Iterator[list[str]]:
    """The Python files of each edited package that were not installed, where there are any."""
    for site, package in sorted(packages):
        new = [
            path
            for path in python_files(site, package)
            if path not in every[site] and path not in receipts[site]
        ]
        if new and any(path.startswith(f"{package}/") for path in every[site]):
            yield new


def python_files(site: str, package: str) -> list[str]:
    """The Python files of an import package that are there, in RECORD or not."""
    found = sorted(
        path.relative_to(site).as_posix() for path in (Path(site) / package).rglob("*.py")
    )
    return found or [path.name for path in [Path(site) / f"{package}.py"] if path.is_file()]
