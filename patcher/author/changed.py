"""Which Python files of an environment were edited.

That is those that are neither as RECORD nor as a receipt has them. Reads only.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Container, Dict, Iterable, Iterator, Mapping, Sequence

from patcher.author.patchable import check_patchable, check_text
from patcher.author.spatch_draft import package_of
from patcher.errors import AbsentError, Location, SitepatchError, UsageError
from patcher.facts import Condition, FileStatus
from patcher.installed.distribution import installed_distributions
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import RecordRow, recorded_sources
from patcher.message import Message, joined
from patcher.model import Located, Progress, Receipt
from patcher.record import Record
from patcher.store.receipt import ADDED_FILE, path_problem
from patcher.store.status import classify, is_deleted_by, read_installed
from patcher.store.store import Store
from patcher.system.parallel import in_parallel
from patcher.system.reading import read_file
from patcher.text.listed import listed, normalized, shortened

_THREADS = 4  # reading waits for the disk, hashing does not hold the interpreter
_BATCH = 200  # files between two reports of progress
_MOST_NAMED = 3  # files that a remark names
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
_COMPILED = (
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".cl",
    ".h",
    ".hpp",
    ".cuh",
)
_TEXTS = (*_DATA, *_COMPILED)


class InstalledFile(Record):
    """A Python file as it is on disk.

    Attributes:
        located: the package and the distribution that it belongs to.
        path: `/`-separated and relative to the site directory.
        recorded: its rows in RECORD files.
        data: its bytes.
        status: that of the patchsets applied in it, None without any.
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
    def key(self) -> tuple[str, str]:
        """Its site directory, and its path below that."""
        return self.site, self.path

    @property
    def release(self) -> str:
        """The distribution and its version."""
        return f"{self.located.distribution} {self.located.version}".strip()

    def is_pristine(self, data: bytes) -> bool:
        """Whether RECORD has the sha256 of these bytes for it."""
        return sha256(data).hexdigest() in [row.digest for row in self.recorded]


class Search(Record):
    """What a search has found.

    Attributes:
        files: those that differ or have no RECORD.
        looked: the number of files that were compared.
        notes: remarks.
        new: files that were not installed.
    """

    files: tuple[InstalledFile, ...]
    looked: int
    notes: tuple[str, ...]
    new: tuple[str, ...]


_Site = Dict[str, InstalledFile]
"""The files of a site directory by path, without their data."""
_Receipts = Mapping[str, Mapping[str, Receipt]]
"""The receipts by site directory and path."""


class _Look(Record):
    """What comparing a file has shown.

    Attributes:
        path: the file.
        edited: the file, if it differs or has no RECORD.
        note: a remark, "" for none.
    """

    path: str
    edited: InstalledFile | None = None
    note: str = ""


def find_changed(
    env: Environment, words: Sequence[str], progress: Progress, *, unproven: bool = False
) -> Search:
    """Find the files that are neither what was installed nor what a patchset made of it.

    They are Python, of what is named other texts, too.

    Args:
        env: the environment.
        words: import packages, distributions or files to search; all distributions without any.
        progress: called after each batch of files with the number of files that were compared.
        unproven: also return the files that `words` name and no RECORD lists.

    Raises:
        SitepatchError: there is no such package or file, or it cannot be compared; for all such
            words.
    """
    sites = [site for site in env.own if Path(site).is_dir()]
    receipts = {site: Store(site).receipts() for site in sites}
    unlisted: list[str] = []
    every: dict[str, _Site] = {}
    for site in sites:
        files = _listed(Path(site), unlisted, suffixes=_suffixes(words))
        for path, file in _added(site, receipts[site]).items():
            files.setdefault(path, file)
        every[site] = files
    notes = unlisted if not words else []

    chosen = _chosen(env, words, every=every, unproven=unproven) if words else every
    pairs: list[tuple[InstalledFile, Receipt | None]] = []
    for site, candidates in chosen.items():
        for file in candidates.values():
            pairs.append((file, receipts[site].get(file.path)))

    found: list[InstalledFile] = []
    remarks: dict[str, list[str]] = {}  # a remark -> the files that it is about
    for look in _compared(pairs, progress):
        if look.edited:
            found.append(look.edited)
        if look.note:
            remarks.setdefault(look.note, []).append(look.path)
    for note, paths in remarks.items():
        named = shortened(paths, _MOST_NAMED)
        notes.append(Message("{paths}: {note}", paths=named, note=note))

    new: list[str] = []
    for paths in _new_files(found, every, receipts=receipts):
        text = "{new}: new, and no part of a patchset: `+++ PATH` in its .spatch adds a file"
        notes.append(Message(text, new=shortened(paths, _MOST_NAMED)))
        new += paths
    return Search(
        files=tuple(sorted(found, key=lambda file: file.key)),
        looked=len(pairs),
        notes=tuple(notes),
        new=tuple(new),
    )


# the files that were installed ------------------------------------------------------------------
def _suffixes(words: Sequence[str]) -> tuple[str, ...]:
    """The suffixes of the files that are looked at: of Python, of what is named other texts."""
    if not words:
        return (".py",)
    named: list[str] = []
    for word in words:
        if "/" in word and Path(word).suffix:
            named.append(Path(word).suffix)
    return (".py", *_TEXTS, *named)


def _listed(site: Path, notes: list[str], suffixes: tuple[str, ...]) -> _Site:
    """The files with these suffixes in the RECORD files of a site directory.

    A remark about distributions without one is added to the notes.
    """
    files: _Site = {}
    editable: list[str] = []
    bare: list[str] = []
    for owner in installed_distributions(site):
        if owner.note:
            editable.append(f"{owner.name} ({owner.note})")
        elif not owner.recorded:
            bare.append(f"{owner.name} {owner.version}".rstrip())
        if not owner.recorded:
            continue
        for row in recorded_sources(Path(owner.dist_info), suffixes):
            if path_problem(row.path) or ".dist-info/" in row.path:
                continue
            file = files.get(row.path)
            if file is None:
                located = Located(
                    package=package_of(row.path),
                    site=str(site),
                    distribution=owner.name,
                    version=owner.version,
                    dist_info=owner.dist_info,
                )
                file = InstalledFile(located, row.path)
            files[row.path] = file._replace(recorded=(*file.recorded, row))
    if editable:
        text = "not looked at, as an editable install is edited where its files lie: {editable}"
        notes.append(Message(text, editable=", ".join(editable)))
    if bare:
        how = Message("name a file of it, and give what was installed with --pristine")
        text = "not looked at, as there is no RECORD that says what was installed: {bare}; {how}"
        notes.append(Message(text, bare=", ".join(bare), how=how))
    return files


def _added(site: str, receipts: Mapping[str, Receipt]) -> _Site:
    """The files of a site directory that patchsets have added."""
    files: _Site = {}
    for receipt in receipts.values():
        if receipt.pristine.origin == ADDED_FILE:
            located = Located(
                package=receipt.release.package,
                site=site,
                distribution=receipt.release.distribution,
                version=receipt.release.version,
                dist_info="",
            )
            files[receipt.path] = InstalledFile(located, receipt.path)
    return files


def python_files(site: str, package: str) -> list[str]:
    """The Python files of an import package that are there, in RECORD or not."""
    files = (Path(site) / package).rglob("*.py")
    paths = sorted(path.relative_to(site).as_posix() for path in files)
    if not paths and (Path(site) / f"{package}.py").is_file():
        paths.append(f"{package}.py")
    return paths


# those that are named ---------------------------------------------------------------------------
def _chosen(
    env: Environment, words: Sequence[str], every: dict[str, _Site], *, unproven: bool
) -> dict[str, _Site]:
    """The files that `words` name: those of `every`, and with `unproven` others."""
    chosen: dict[str, _Site] = {site: {} for site in every}
    problems: list[SitepatchError] = []
    for word in dict.fromkeys(words):
        try:
            if word.endswith(".py") or "/" in word:
                site, paths = _patchable_file(env, word, every)
            else:
                site, paths = _package(env, word, every=every)
            known: _Site = {}
            for path in paths:
                if path in every[site]:
                    known[path] = every[site][path]
            if unproven:
                chosen[site].update(_unproven(env, site, paths=paths))
            elif not known:
                template = "no RECORD in {site} lists it, so nothing tells what was installed"
                hint = Message("give the original with --pristine: a file, a wheel or a directory")
                raise SitepatchError.at(Location(word), template, hint, site=site)
            chosen[site].update(known)
        except SitepatchError as error:
            problems.append(error)
    if problems:
        are_usage = any(isinstance(error, UsageError) for error in problems)
        kind = UsageError if are_usage else SitepatchError
        hints = dict.fromkeys(error.hint for error in problems if error.hint)
        raise kind.joined(problems, joined("\n", hints))
    return chosen


def _patchable_file(
    env: Environment, word: str, every: Mapping[str, Container[str]]
) -> tuple[str, list[str]]:
    """What `named_file` says of a file, refused with the reason where it cannot be patched."""
    check_patchable(env, "", word)
    site, paths = named_file(word, every)
    for path in paths:
        check_text(path, read_installed(site, path) or b"")
    return site, paths


def _unproven(env: Environment, site: str, paths: Sequence[str]) -> _Site:
    """Files of one package that no RECORD need list."""
    home = home_of(env, paths[0])._replace(site=site)
    files: _Site = {}
    for path in paths:
        files[path] = InstalledFile(home._replace(package=package_of(path)), path)
    return files


def named_file(word: str, every: Mapping[str, Container[str]]) -> tuple[str, list[str]]:
    """The site directory and the path in it of a file.

    Args:
        word: names it from here, absolute, or as the site directory has it.
        every: the site directories, each with paths that count as there although they may be
            missing.

    Raises:
        UsageError: there is no such file.
    """
    file = Path(word).absolute()
    file = file.parent.resolve() / file.name  # a link that is the file itself lies where it lies
    for site in every:
        top = Path(site).resolve()
        if file.is_file() and top in file.parents:
            return site, [file.relative_to(top).as_posix()]
        if not path_problem(word) and ((top / word).is_file() or word in every[site]):
            return site, [word]
    sites = listed(list(every), "or")
    hint = Message("name it as `mmengine/runner/runner.py`, or by its path")
    raise UsageError.at(Location(word), "found no such file in {sites}", hint, sites=sites)


def _package(env: Environment, word: str, every: dict[str, _Site]) -> tuple[str, list[str]]:
    """The site directory, and the Python files of an import package and of a distribution.

    Of a namespace package that is all parts.
    """
    named: dict[str, list[str]] = {}
    for site, files in every.items():
        named[site] = [path for path, file in files.items() if _is_of(word, file)]
    for site, paths in named.items():
        folder = Path(site) / word
        if paths and folder.is_dir() and not (folder / "__init__.py").is_file():
            return site, paths
    try:
        site = locate(env, word).site
    except AbsentError:
        for site, paths in named.items():
            if paths:
                return site, paths
        raise
    if site not in every:
        problem = "{word}: lies in {site}, which this environment shares with others"
        raise SitepatchError(problem, "see --system", word=word, site=site)
    return site, named[site] or python_files(site, word)


def _is_of(word: str, file: InstalledFile) -> bool:
    """Whether a file is of the import package or the distribution of this name."""
    if word == package_of(file.path):
        return True
    return normalized(word) == normalized(file.located.distribution)


def home_of(env: Environment, path: str) -> Located:
    """The package of a file, without what is remarked of the file.

    It is equal for all files of a package.
    """
    return locate(env, package_of(path), files=[path])._replace(notes=(), recorded=True)


# comparing them ---------------------------------------------------------------------------------
def _compared(
    pairs: Sequence[tuple[InstalledFile, Receipt | None]], progress: Progress
) -> Iterator[_Look]:
    """Compare files, each with its receipt, with what was installed."""

    def look_at(batch: Sequence[tuple[InstalledFile, Receipt | None]]) -> list[_Look]:
        return [_look(file, receipt) for file, receipt in batch]

    def report(done: int) -> None:
        looked = min(done * _BATCH, len(pairs))
        progress(looked, len(pairs), Message("files compared with what was installed"))

    batches = [pairs[at : at + _BATCH] for at in range(0, len(pairs), _BATCH)]
    for looks in in_parallel(
        [partial(look_at, batch) for batch in batches], _THREADS, report=report
    ):
        yield from looks


def _look(file: InstalledFile, receipt: Receipt | None) -> _Look:
    """Compare a file with what was installed."""
    path = file.path
    try:
        file = file._replace(data=read_file(Path(file.site) / path))
    except (FileNotFoundError, NotADirectoryError):
        if receipt is not None and is_deleted_by(file.site, receipt):
            return _Look(path)
        note = Message(
            "is not there any more: `--- PATH` and a line `-...` below it delete a file in a "
            ".spatch"
        )
        return _Look(path, note=note)
    except (OSError, SitepatchError) as error:
        return _Look(path, note=Message("could not be read: {error}", error=error))
    if file.is_pristine(file.data):
        return _Look(path)
    if receipt is None:
        return _Look(path, edited=file)

    status = classify(file.site, receipt, data=file.data)
    if status.condition is Condition.APPLIED:
        if receipt.pristine.origin != "edited":
            return _Look(path)
        note = Message(
            "was edited before it was patched with --force:"
            " `sitepatch restore` gives that text back, capture it then"
        )
        return _Look(path, note=note)
    if status.condition is Condition.ASTRAY:
        return _Look(path, note=status.meaning)
    if status.condition is Condition.EDITED:
        file = file._replace(status=status)
    return _Look(path, edited=file)


def _new_files(
    edited: Iterable[InstalledFile], every: dict[str, _Site], receipts: _Receipts
) -> Iterator[list[str]]:
    """The Python files of each edited package that were not installed, where there are any."""
    packages: set[tuple[str, str]] = set()
    for file in edited:
        package, sign, _ = file.path.partition("/")
        if sign:
            packages.add((file.site, package))
    for site, package in sorted(packages):
        known = {*every[site], *receipts[site]}
        new = [path for path in python_files(site, package) if path not in known]
        if new and any(path.startswith(f"{package}/") for path in every[site]):
            yield new
