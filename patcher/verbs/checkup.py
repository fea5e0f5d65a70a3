"""What `doctor` examines, and its checks; every check runs, whatever the others do."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.errors import AbsentError, SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, sha256
from patcher.installed.backups import is_backup, proven_backups
from patcher.installed.distribution import edited_message
from patcher.installed.environment import blocker, find_file, locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_hash
from patcher.message import Message, joined
from patcher.model import Located, Progress, State
from patcher.patchset.places import patchset_folders
from patcher.patchset.sources import find_patchsets
from patcher.project.selection import OTHERS_HINT, others_change
from patcher.store.folder import HOME, JOURNAL
from patcher.store.journal import backup, temporary
from patcher.store.lock import holders
from patcher.store.status import UNDER_WAY, damaged, leftovers, orphans, statuses, unclaimed, unfinished
from patcher.store.store import Store
from patcher.system import cache, mounts
from patcher.system.reading import read_file
from patcher.text.listed import count, normalized
from patcher.verbs.hook import installed_hooks
from patcher.verbs.status import applied_states

_LOCKS = Path("/proc/locks")
_ROOM = 16 << 20  # bytes: many times what the largest commit needs
OK, NOTE, PROBLEM = "ok", "note", "problem"
Found = Iterator[Tuple[str, str, str]]
"""What a check finds: (severity, what, hint) for each thing."""


class Finding(NamedTuple):
    """One thing that was found: how bad it is (OK, NOTE, PROBLEM), by which check, what, and what to do ("" for nothing)."""

    severity: str
    check: str
    what: str
    hint: str = ""


class Check(NamedTuple):
    """A check: its name, the text where nothing is found, and what finds: (severity, what, hint) for each thing."""

    name: str
    fine: str
    look: Callable[[Examination], Iterable[Tuple[str, str, str]]]


class PatchableFile(NamedTuple):
    """A file that a patchset at hand would change."""

    located: Located
    path: str

    @property
    def file(self) -> Path:
        """Where it lies."""
        return Path(self.located.site) / self.path


def examine(case: Examination, checks: Sequence[Check], progress: Progress = lambda done, total, work: None) -> List[Finding]:
    """Run every check; one that cannot run is a finding itself."""
    findings: List[Finding] = []
    for number, check in enumerate(checks, 1):
        of_check: List[Finding] = []
        try:
            for severity, message, hint in check.look(case):  # one by one: what was found before it failed is kept
                of_check.append(Finding(severity, check.name, message, hint))
        except SitepatchError as error:
            template = "this could not be looked at: {message}"
            of_check.append(Finding(PROBLEM, check.name, Message(template, message=error.message), error.hint))
        except Exception as error:  # whatever it is, it is reported, and the other checks are run
            problem = "this could not be looked at: {name}: {error}"
            of_check.append(Finding(PROBLEM, check.name, Message(problem, name=type(error).__name__, error=error)))
        findings += list(dict.fromkeys(of_check)) or [Finding(OK, check.name, check.fine)]
        progress(number, len(checks), Message("checks done"))
    return findings


class Examination:
    """An environment and what of it is looked at: the target files of the patchsets at hand, and what is applied.

    Args:
        env: the environment.
        patch_dirs: the values of `--patch-dir`.

    Raises:
        UsageError: one of `patch_dirs` is no directory.
    """

    def __init__(self, env: Environment, patch_dirs: Sequence[str]) -> None:
        self.env = env
        self.patch_dirs = tuple(patch_dirs)
        sources, broken = find_patchsets(self.patch_dirs, Path.cwd())
        self.patchsets, self.broken = [source.patchset for source in sources], broken

    @cached_property
    def places(self) -> Tuple[str, ...]:
        """Every directory that a package may have been patched in."""
        return tuple(dict.fromkeys([*self.env.sites, *self.env.search]))

    @cached_property
    def homes(self) -> Tuple[str, ...]:
        """The site directories that have a store."""
        return tuple(place for place in self.places if (Path(place) / HOME).is_dir())

    @cached_property
    def packages(self) -> Tuple[Tuple[str, Tuple[str, ...]], ...]:
        """The import packages of each patchset at hand and of what is applied, with target files of one distribution of it."""
        paths: Dict[Tuple[str, ...], List[str]] = {}
        for patchset in self.patchsets:
            for variant in patchset.variants:
                of = paths.setdefault((variant.package, patchset.name), [])
                of += [path for patch in variant.patches for path in patch.paths]
        for item in self.statuses:
            paths.setdefault((item.receipt.package, "", item.receipt.distribution), []).append(item.receipt.path)
        return tuple((package, tuple(dict.fromkeys(of_package))) for (package, *_), of_package in paths.items())

    @cached_property
    def ghosts(self) -> Dict[str, str]:
        """Packages of which a directory without any module is left, and that directory."""
        folder_of = {}
        for package in dict(self.packages):
            folders_ = [Path(place) / package for place in self.places if (Path(place) / package).is_dir()]
            if folders_ and not any(_has_code(folder) for folder in folders_):
                folder_of[package] = str(folders_[0])
        return folder_of

    @cached_property
    def _located(self) -> Tuple[Dict[Located, List[str]], Dict[str, SitepatchError]]:
        good: Dict[Located, List[str]] = {}
        bad: Dict[str, SitepatchError] = {}
        for package, paths in self.packages:
            try:
                if package not in self.ghosts:
                    located = locate(self.env, package, paths)
                    good.setdefault(located, []).extend(find_file(located, paths))
            except AbsentError:
                pass
            except SitepatchError as error:
                bad.setdefault(package, error)
        return good, bad

    @property
    def located(self) -> List[Located]:
        """The packages that are installed here."""
        return list(self._located[0])

    @property
    def unpatchable(self) -> List[SitepatchError]:
        """Why packages that are here in some way cannot be patched."""
        return list(self._located[1].values())

    @cached_property
    def targets(self) -> List[PatchableFile]:
        """The target files that are there."""
        return [PatchableFile(located, path) for located, paths in self._located[0].items() for path in dict.fromkeys(paths)]

    @cached_property
    def sites(self) -> Dict[str, List[str]]:
        """The site directories that would be written into, with the target files in each."""
        paths_of: Dict[str, List[str]] = {site: [] for site in self.homes}
        for target in self.targets:
            paths_of.setdefault(target.located.site, []).append(target.path)
        for item in self.statuses:
            if (Path(item.site) / item.receipt.path).is_file():
                paths_of[item.site].append(item.receipt.path)
        paths_of = paths_of or {site: [] for site in self.env.sites[:1]}
        return {site: list(dict.fromkeys(paths)) for site, paths in paths_of.items()}

    @cached_property
    def _read(self) -> Tuple[List[FileStatus], List[StoreError]]:
        bad: List[StoreError] = []
        return statuses(self.env._replace(sites=self.homes, search=(), outer=()), bad), bad

    @property
    def damaged(self) -> List[StoreError]:
        """The receipts that are invalid."""
        return self._read[1]

    @property
    def statuses(self) -> List[FileStatus]:
        """The files that stand patched, as far as their receipts can be read."""
        return self._read[0]


def _has_code(folder: Path) -> bool:
    return any(name.endswith((".py", ".so", ".pyd")) for _, _, names in os.walk(folder) for name in names)


# the directories and files --------------------------------------------------------------------------------------------
def _writable(case: Examination) -> Found:
    for site, paths in case.sites.items():
        for problem in Store(site).check_writable(paths):
            yield PROBLEM, problem, ""


def _space(case: Examination) -> Found:
    for site in case.sites:
        disk = os.statvfs(site)
        if disk.f_blocks and disk.f_bavail * disk.f_frsize < _ROOM:
            left = disk.f_bavail * disk.f_frsize >> 10
            template = "{site}: {left} KiB are left on its disk"
            yield (PROBLEM, Message(template, site=site, left=left), Message("free some space; a restore works without"))
        if disk.f_files and not disk.f_favail:
            yield PROBLEM, Message("{site}: its disk can take no more files (inodes)", site=site), Message("remove some files")


def _links(case: Examination) -> Found:
    infos = [(target, target.file.lstat()) for target in case.targets]
    hint = Message("nothing to do: sitepatch puts a file of its own there; an edit in place would change the cache too")
    links = [f"{target.path} -> {os.readlink(target.file)}" for target, info in infos if stat.S_ISLNK(info.st_mode)]
    hard = [
        target.path
        for target, info in infos  # in an interrupted run the second name is ours
        if stat.S_ISREG(info.st_mode) and info.st_nlink > 1 + os.path.lexists(target.file.parent / backup(target.path))
    ]
    for kind, paths in (
        (Message("symbolic links"), links),
        (Message("hard links to files with other names, as uv makes them"), hard),
    ):
        if paths:
            yield NOTE, Message("{what}: {paths}", what=kind, paths=joined(", ", paths)), hint


def _backups(case: Examination) -> Found:
    backups = proven_backups(case.env.own, {(item.site, item.receipt.path) for item in case.statuses})
    for kept in backups:
        back = Message("put it back: sitepatch restore --from-backup {path}", path=kept.path)
        template = "{back}; or make a patchset of the edit: sitepatch capture {one.path} --name NAME --adopt"
        yield (NOTE, kept.message, Message(template, back=back, one=kept))
    proven = {(kept.site, kept.path, kept.name) for kept in backups}
    for site, paths in case.sites.items():
        for path in paths:
            file = Path(site) / path
            for name in sorted(entry.name for entry in file.parent.iterdir()):
                if is_backup(name, file.name) and (site, path, name) not in proven:
                    hint = Message(
                        "move it out of the package: it stays after an uninstall, and then the package imports as empty"
                    )
                    yield NOTE, Message("{parent} looks like a backup made by hand", parent=file.parent / name), hint


# the packages ---------------------------------------------------------------------------------------------------------
def _installed(case: Examination) -> Found:
    for error in case.unpatchable:
        yield PROBLEM, error.message, error.hint
    for package, folder in case.ghosts.items():
        template = "{folder} holds no module: {package} is uninstalled, and `import {package}` still succeeds"
        message = Message(template, folder=folder, package=package)
        yield PROBLEM, message, Message("remove that directory, or install the package again")
    for located in case.located:
        for note in located.notes:
            yield NOTE, note, ""


def _twice(case: Examination) -> Found:
    for located in case.located:
        records: Dict[str, List[str]] = {}
        for path in sorted(Path(located.site).glob("*.dist-info")):
            records.setdefault(normalized(path.name.split("-")[0]), []).append(path.name)
        name = normalized(located.distribution)
        if len(records.get(name, [])) > 1:
            template = "{one.distribution} is recorded {number} times in {one.site}: {records}"
            message = Message(template, one=located, number=len(records[name]), records=", ".join(records[name]))
            yield PROBLEM, message, Message("an install was interrupted: install it again, with --force-reinstall")


def _outside(case: Examination) -> Found:
    prefix = Path(case.env.python).parent.parent
    if (prefix / "pyvenv.cfg").is_file() and case.env.search != case.env.sites:  # no --target
        for located in case.located:
            if located.site in case.env.sites and prefix.resolve() not in Path(located.site).resolve().parents:
                template = "{one.package} is not of the virtual environment: it would be patched in {one.site}, for everybody"
                message = Message(template, one=located)
                problem = "to patch it for this environment alone, install it here: {python} -m pip install"
                yield (NOTE, message, Message(problem, python=case.env.python))


def _imported(case: Examination) -> Found:
    for target in case.targets:
        problem = blocker(target.located, target.path, case.env)
        if problem:
            yield (
                PROBLEM,
                problem,
                Message("a change of it would have no effect: install the package without compiled modules"),
            )


def _recorded(case: Examination) -> Found:
    patched = {(item.site, item.receipt.path) for item in case.statuses}
    for target in case.targets:
        recorded = recorded_hash(target.located, target.path)
        if (target.located.site, target.path) in patched or recorded in (None, sha256(read_file(target.file))):
            continue
        name, version = target.located.distribution, target.located.version
        template = "{path} is not what {name} {version} installed: it was edited by hand"
        message = Message(template, path=target.path, name=name, version=version)
        yield PROBLEM, message, edited_message(target.located, target.path)[1]


# what is applied --------------------------------------------------------------------------------------------------
def _applied(case: Examination) -> Found:
    """Whether `status` has more to say than that all is applied."""
    stopped = [site for word, site, _ in unfinished(case.env) if word != UNDER_WAY]
    broken = [*damaged(case.statuses), *unclaimed(case.env, case.statuses, case.damaged)]
    if stopped or broken or any(item.condition is not Condition.APPLIED for item in case.statuses):
        yield PROBLEM, Message("not all is as it was applied"), Message("see: sitepatch status")
    states = {} if broken else applied_states(case.env, case.statuses, case.patch_dirs)
    for name in (name for name, state in states.items() if state == State.UPSTREAM.value):
        message = Message("{name} can go: what is installed now has the change itself", name=name)
        yield NOTE, message, f"sitepatch restore {name}"


def _set_aside(case: Examination) -> Found:
    for site in case.homes:
        paths = [Path(path) for path in Store(site).edited_copies()]
        if paths:
            size = sum(path.stat().st_size for path in paths)
            template = "{folder} keeps {texts} set aside, {size:,} bytes"
            message = Message(template, folder=paths[0].parent, texts=count(len(paths), "edited text"), size=size)
            yield NOTE, message, Message("when they are no longer needed: rm -r {parent}", parent=paths[0].parent)


def _lock_holders(case: Examination) -> Found:
    if not _LOCKS.exists():
        yield NOTE, Message("there is no {locks} that shows who is at work here", locks=_LOCKS), ""
        return
    for site in case.sites:
        for who in holders(site):
            yield NOTE, who, Message("apply and restore wait until it has ended")


def _mounts(case: Examination) -> Found:
    table = mounts.read_table()
    for site in case.sites:
        message, kind = mounts.own_locks(site, table), mounts.untried(site, table)
        if not message and kind:
            template = "{site} is on {kind}, where it is untested whether locks hold for other machines"
            message = Message(template, site=site, kind=kind)
        if message:
            yield NOTE, message, mounts.ONE_WRITER


def _left(case: Examination) -> Found:
    changed = [copy for copy, _, _ in orphans(case.env, case.statuses)]
    for site in case.homes if not case.damaged else ():  # else it is unknown whose they are
        for path in leftovers(site, [item.receipt for item in case.statuses if item.site == site]):
            if path not in changed:
                yield NOTE, Message("{path} belongs to nothing that is applied", path=path), Message("it can be removed")
    for site, paths in case.sites.items():
        for target in paths if not (Path(site) / HOME / JOURNAL).exists() else ():
            for name in (temporary(target), backup(target)):
                left = (Path(site) / target).parent / name
                if os.path.lexists(left):
                    template = "{left} was left by a run that ended too early"
                    yield (NOTE, Message(template, left=left), Message("it can be removed"))


def _bytecode(case: Examination) -> Found:
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    if prefix:
        message = Message(
            "PYTHONPYCACHEPREFIX is set to {prefix}: bytecode of the old source is looked for there too", prefix=prefix
        )
        yield NOTE, message, Message("apply and restore under the same value as the programs that run")
    paths = [str(Path(item.site) / item.receipt.path) for item in case.statuses if item.condition is Condition.APPLIED]
    if not paths:
        return
    if case.env.root and case.env.version != sys.version_info[:2]:
        message = Message("{name}: another release than runs sitepatch, which cannot read its bytecode", name=case.env.name)
        yield NOTE, message, Message("nothing to do: what was compiled of the old source was removed by apply")
    prefix_options = ["-X", f"pycache_prefix={prefix}"] if prefix else []
    command = [case.env.python, "-I", "-B", *prefix_options, str(Path(__file__).with_name("bytecode.py"))]
    quiet = {**os.environ, "SITEPATCH_HOOK": "off"}
    child = subprocess.run(command, input=json.dumps(paths).encode(), capture_output=True, timeout=60, check=True, env=quiet)
    for path, pyc in json.loads(child.stdout.splitlines()[-1]):
        template = "{pyc} is not of the {path} that stands there, and is what runs"
        yield (PROBLEM, Message(template, pyc=pyc, path=path), Message("remove that file"))


def _hooks(case: Examination) -> Found:
    for status in installed_hooks(case.env):
        for message in status.messages if not status.good else ():
            where = joined(": ", (status.hook.name, message)) if status.hook else message
            yield PROBLEM, where, status.hint or Message("see: sitepatch hook status")


def _cache(case: Examination) -> Found:
    try:
        entries = cache.cache_entries()
    except PermissionError:  # of another user, whose HOME is still set
        return
    if entries:
        template = "{size} of overlays, fetched releases and known results in {parent}"
        message = Message(template, size=cache.size(entries), parent=cache.cache_dir().parent)
        yield OK, Message("{what}; sitepatch doctor --clean-cache DAYS removes what was not used since", what=message), ""


# who runs it ----------------------------------------------------------------------------------------------------------
def _sources(case: Examination) -> Found:
    for error in case.broken.values():
        yield PROBLEM, error.brief, error.hint
    import_module("patcher.engine.syntax")  # raises SitepatchError, which says what to install, where libcst is broken
    for places in patchset_folders(case.patch_dirs, Path.cwd()).values():
        for message in others_change(places[:1]):
            yield PROBLEM, message, OTHERS_HINT


CHECKS = (
    Check("permissions", Message("everything that would be changed can be"), _writable),
    Check("space", Message("there is room"), _space),
    Check("packages", Message("every package can be patched"), _installed),
    Check("duplicates", Message("no package is recorded twice"), _twice),
    Check("environment", Message("every package is of this environment"), _outside),
    Check("loader", Message("every target file is what is imported"), _imported),
    Check(Message("shared files"), Message("no target file is shared with a cache"), _links),
    Check(
        Message("hand edits"),
        Message("every target file is as its distribution recorded it, or patched by sitepatch"),
        _recorded,
    ),
    Check("backups", Message("no backups beside target files"), _backups),
    Check("applied", Message("all is as it was applied, and so is what is kept"), _applied),
    Check("bytecode", Message("no bytecode of an older source would run"), _bytecode),
    Check("leftovers", Message("none"), _left),
    Check(Message("kept edits"), Message("none"), _set_aside),
    Check("hooks", Message("every installed hook finds its files patched, or there is no hook"), _hooks),
    Check("locks", Message("no other process is changing this environment"), _lock_holders),
    Check("filesystem", Message("locks hold for every machine that can write here"), _mounts),
    Check("cache", "empty", _cache),
    Check("patchsets", Message("every patchset can be read, and only you can change it"), _sources),
)
