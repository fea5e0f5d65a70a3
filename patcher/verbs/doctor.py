"""`doctor`: known problems of an environment, and what to do; every check runs, whatever the others find."""

from __future__ import annotations

import os
import re
import stat
from functools import cached_property
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence, Tuple

import click

from patcher.display.console import Console
from patcher.display.styles import Row, hint_lines, term, translated_lines
from patcher.display.usage import Number
from patcher.errors import AbsentError, SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, sha256
from patcher.installed.accelerators import Accelerator, installed_accelerators
from patcher.installed.backups import is_backup, proven_backups
from patcher.installed.environment import blocker, find_file, locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_hash
from patcher.message import Message, joined
from patcher.model import Located, Progress, State
from patcher.patchset.catalogue import OTHERS_HINT, Catalogue
from patcher.place import HERE, SILENT, Events, Place
from patcher.store.folder import HOME, JOURNAL, is_temporary
from patcher.store.lock import holders
from patcher.store.retry import settled
from patcher.store.status import (
    UNDER_WAY,
    all_applied,
    applied_names,
    damaged,
    leftovers,
    live_names,
    orphans,
    statuses,
    unclaimed,
    unfinished,
)
from patcher.store.store import Store
from patcher.system import cache, mounts
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import count, normalized
from patcher.verbs.fit import APPLICABLE, fit_of
from patcher.verbs.hook import installed_hooks
from patcher.verbs.options import common_options
from patcher.verbs.standing import applied_patchsets

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
    look: Callable[[Examination], Iterable[tuple[str, str, str]]]


def examine(
    case: Examination, checks: Sequence[Check], progress: Progress = lambda done, total, work: None
) -> list[Finding]:
    """Run every check; one that cannot run is a finding itself."""
    findings: list[Finding] = []
    for number, check in enumerate(checks, 1):
        of_check: list[Finding] = []
        try:
            # one by one: what was found before it failed is kept
            for severity, message, hint in check.look(case):
                of_check.append(Finding(severity, check.name, message, hint))
        except SitepatchError as error:
            template = "this could not be looked at: {message}"
            of_check.append(
                Finding(PROBLEM, check.name, Message(template, message=error.message), error.hint)
            )
        except Exception as error:  # whatever it is, it is reported, and the other checks are run
            problem = "this could not be looked at: {name}: {error}"
            of_check.append(
                Finding(
                    PROBLEM, check.name, Message(problem, name=type(error).__name__, error=error)
                )
            )
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
        self.catalogue = Catalogue(self.patch_dirs)
        loaded, self.broken = self.catalogue.load()
        self.patchsets = [item.patchset for item in loaded]

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Every directory that a package may have been patched in."""
        return tuple(dict.fromkeys([*self.env.sites, *self.env.search]))

    @cached_property
    def accelerators(self) -> list[Accelerator]:
        """The accelerators whose packages are installed."""
        return installed_accelerators(self.env)

    @cached_property
    def homes(self) -> tuple[str, ...]:
        """The site directories that have a store."""
        return tuple(place for place in self.places if (Path(place) / HOME).is_dir())

    @cached_property
    def packages(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The import packages of each patchset at hand and of what is applied, with target files of one distribution of it."""
        paths: dict[tuple[str, ...], list[str]] = {}
        for patchset in self.patchsets:
            for variant in patchset.variants:
                of = paths.setdefault((variant.package, patchset.name), [])
                of += [path for patch in variant.patches for path in patch.paths]
        for item in self.statuses:
            paths.setdefault((item.receipt.package, "", item.receipt.distribution), []).append(
                item.receipt.path
            )
        return tuple(
            (package, tuple(dict.fromkeys(of_package)))
            for (package, *_), of_package in paths.items()
        )

    @cached_property
    def ghosts(self) -> dict[str, str]:
        """Packages of which a directory without any module is left, and that directory."""
        folder_of = {}
        for package in dict(self.packages):
            folders = [
                path for path in (Path(place, package) for place in self.places) if path.is_dir()
            ]
            names = (
                name for folder in folders for _, _, names in os.walk(folder) for name in names
            )
            if folders and not any(name.endswith((".py", ".so", ".pyd")) for name in names):
                folder_of[package] = str(folders[0])
        return folder_of

    @cached_property
    def _located(self) -> tuple[dict[Located, list[str]], dict[str, SitepatchError]]:
        good: dict[Located, list[str]] = {}
        bad: dict[str, SitepatchError] = {}
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
    def located(self) -> list[Located]:
        """The packages that are installed here."""
        return list(self._located[0])

    @property
    def unpatchable(self) -> list[SitepatchError]:
        """Why packages that are here in some way cannot be patched."""
        return list(self._located[1].values())

    @cached_property
    def targets(self) -> list[tuple[Located, str, Path]]:
        """The target files that are there: of each the package, the path in the site directory, and where it lies."""
        pairs = (
            (located, path)
            for located, paths in self._located[0].items()
            for path in dict.fromkeys(paths)
        )
        return [(located, path, Path(located.site, path)) for located, path in pairs]

    @cached_property
    def sites(self) -> dict[str, list[str]]:
        """The site directories that would be written into, with the target files in each."""
        paths_of: dict[str, list[str]] = {site: [] for site in self.homes}
        for located, path, _ in self.targets:
            paths_of.setdefault(located.site, []).append(path)
        for item in self.statuses:
            if (Path(item.site) / item.receipt.path).is_file():
                paths_of[item.site].append(item.receipt.path)
        paths_of = paths_of or {site: [] for site in self.env.sites[:1]}
        return {site: list(dict.fromkeys(paths)) for site, paths in paths_of.items()}

    @cached_property
    def _read(self) -> tuple[list[FileStatus], list[StoreError]]:
        bad: list[StoreError] = []
        return statuses(self.env._replace(sites=self.homes, search=(), outer=()), bad), bad

    @property
    def damaged(self) -> list[StoreError]:
        """The receipts that are invalid."""
        return self._read[1]

    @property
    def statuses(self) -> list[FileStatus]:
        """The files that stand patched, as far as their receipts can be read."""
        return self._read[0]


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
            yield (
                PROBLEM,
                Message(template, site=site, left=left),
                Message("free some space; a restore works without"),
            )
        if disk.f_files and not disk.f_favail:
            yield (
                PROBLEM,
                Message("{site}: its disk can take no more files (inodes)", site=site),
                Message("remove some files"),
            )


def _links(case: Examination) -> Found:
    infos = [(path, file, file.lstat()) for _, path, file in case.targets]
    hint = Message(
        "nothing to do: sitepatch puts a file of its own there; an edit in place would change the cache too"
    )
    links = [
        f"{path} -> {os.readlink(file)}" for path, file, info in infos if stat.S_ISLNK(info.st_mode)
    ]
    hard = [
        path
        for path, file, info in infos
        if stat.S_ISREG(info.st_mode) and info.st_nlink > 1 + _own_names(file)
    ]
    for kind, paths in (
        (Message("symbolic links"), links),
        (Message("hard links to files with other names, as uv makes them"), hard),
    ):
        if paths:
            yield NOTE, Message("{what}: {paths}", what=kind, paths=joined(", ", paths)), hint


def _own_names(file: Path) -> int:
    """How many further names sitepatch has given a file, as it does in a run that was interrupted."""
    names = [path for path in file.parent.iterdir() if is_temporary(path.name)]
    return sum(os.path.samestat(path.lstat(), file.lstat()) for path in names)


def _backups(case: Examination) -> Found:
    backups = proven_backups(
        case.env.own, {(item.site, item.receipt.path) for item in case.statuses}
    )
    for kept in backups:
        back = Message("put it back: sitepatch restore --from-backup {path}{env}", path=kept.path)
        template = "{back}; or make a patchset of the edit: sitepatch capture {one.path} --name NAME --adopt{env}"
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
                    yield (
                        NOTE,
                        Message(
                            "{parent} looks like a backup made by hand", parent=file.parent / name
                        ),
                        hint,
                    )


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
        records: dict[str, list[str]] = {}
        for path in sorted(Path(located.site).glob("*.dist-info")):
            records.setdefault(normalized(path.name.split("-")[0]), []).append(path.name)
        name = normalized(located.distribution)
        if len(records.get(name, [])) > 1:
            template = "{one.distribution} is recorded {number} times in {one.site}: {records}"
            message = Message(
                template, one=located, number=len(records[name]), records=", ".join(records[name])
            )
            yield (
                PROBLEM,
                message,
                Message("an install was interrupted: install it again, with --force-reinstall"),
            )


def _outside(case: Examination) -> Found:
    prefix = Path(case.env.python).parent.parent
    if (prefix / "pyvenv.cfg").is_file() and case.env.search != case.env.sites:  # no --target
        for located in case.located:
            if (
                located.site in case.env.sites
                and prefix.resolve() not in Path(located.site).resolve().parents
            ):
                template = "{one.package} is not of the virtual environment: it would be patched in {one.site}, for everybody"
                message = Message(template, one=located)
                problem = "to patch it for this environment alone, install it here: {python} -m pip install"
                yield (NOTE, message, Message(problem, python=case.env.python))


def _imported(case: Examination) -> Found:
    hint = Message(
        "a change of it would have no effect: install the package without compiled modules"
    )
    for located, path, _ in case.targets:
        problem = blocker(located, path, case.env)
        if problem:
            yield PROBLEM, problem, hint


def _recorded(case: Examination) -> Found:
    patched = {(item.site, item.receipt.path) for item in case.statuses}
    edited = []
    for located, path, file in case.targets:
        recorded = recorded_hash(located, path)
        if (located.site, path) in patched or recorded is None:
            continue
        if recorded != sha256(read_file(file)):
            edited.append(path)
    if edited:
        message = Message(
            "{files} that patchsets are for: edited by hand", files=count(len(edited), "file")
        )
        yield PROBLEM, message, Message("see: sitepatch diff --edited{env}")


# what is applied --------------------------------------------------------------------------------------------------
def _applied(case: Examination) -> Found:
    """Whether `status` has more to say than that all is applied."""
    stopped = [site for word, site, _ in unfinished(case.env) if word != UNDER_WAY]
    broken = [*damaged(case.statuses), *unclaimed(case.env, case.statuses, case.damaged)]
    if stopped or broken or not all_applied(case.statuses):
        yield (
            PROBLEM,
            Message("not all is as it was applied"),
            Message("see: sitepatch status{here}"),
        )
    if broken:
        return
    names = applied_names(case.statuses)
    known = applied_patchsets(case.env, case.statuses, case.patch_dirs, names)
    for name in (name for name, state in known.by_name().items() if state == State.UPSTREAM.value):
        message = Message("{name} can go: what is installed now has the change itself", name=name)
        yield NOTE, message, Message("sitepatch restore {name}{env}", name=name)


def _set_aside(case: Examination) -> Found:
    for site in case.homes:
        paths = [Path(path) for path in Store(site).edited_copies()]
        if paths:
            size = sum(path.stat().st_size for path in paths)
            template = "{folder} keeps {texts} set aside, {size:,} bytes"
            message = Message(
                template, folder=paths[0].parent, texts=count(len(paths), "edited text"), size=size
            )
            yield (
                NOTE,
                message,
                Message("when they are no longer needed: rm -r {parent}", parent=paths[0].parent),
            )


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
            template = (
                "{site} is on {kind}, where it is untested whether locks hold for other machines"
            )
            message = Message(template, site=site, kind=kind)
        if message:
            yield NOTE, message, mounts.ONE_WRITER


def _left(case: Examination) -> Found:
    changed = [copy for copy, _, _ in orphans(case.env, case.statuses)]
    for site in case.homes if not case.damaged else ():  # else it is unknown whose they are
        for path in leftovers(site, [item.receipt for item in case.statuses if item.site == site]):
            if path not in changed:
                yield (
                    NOTE,
                    Message("{path} belongs to nothing that is applied", path=path),
                    Message("it can be removed"),
                )
    for site, paths in case.sites.items():
        if (Path(site) / HOME / JOURNAL).exists():
            continue  # the next run removes them
        for folder in sorted({(Path(site) / target).parent for target in paths}):
            for left in sorted(folder.iterdir()):
                if is_temporary(left.name):
                    template = "{left} was left by a run that ended too early"
                    yield (NOTE, Message(template, left=left), Message("it can be removed"))


def _bytecode(case: Examination) -> Found:
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    if prefix:
        message = Message(
            "PYTHONPYCACHEPREFIX is set to {prefix}: bytecode of the old source is looked for there too",
            prefix=prefix,
        )
        yield (
            NOTE,
            message,
            Message("apply and restore under the same value as the programs that run"),
        )
    paths = [
        str(Path(item.site) / item.receipt.path)
        for item in case.statuses
        if item.condition is Condition.APPLIED
    ]
    if not paths:
        return
    import json  # with subprocess: not for the help
    import subprocess

    prefix_options = ["-X", f"pycache_prefix={prefix}"] if prefix else []
    command = [
        case.env.python,
        "-I",
        "-B",
        *prefix_options,
        str(Path(__file__).with_name("bytecode.py")),
    ]
    quiet = {**os.environ, "SITEPATCH_HOOK": "off"}
    child = subprocess.run(
        command,
        input=json.dumps(paths).encode(),
        capture_output=True,
        timeout=60,
        check=True,
        env=quiet,
    )
    for path, pyc in json.loads(child.stdout.splitlines()[-1]):
        template = "{pyc} was compiled from another text than {path} has now, and is what runs"
        yield (PROBLEM, Message(template, pyc=pyc, path=path), Message("remove that file"))


def _hooks(case: Examination) -> Found:
    bad = [status for status in installed_hooks(case.env) if not status.good and status.messages]
    if bad:
        message = Message("{hooks}: not in order", hooks=count(len(bad), "hook"))
        yield PROBLEM, message, Message("see: sitepatch hook status{env}")


def _cache(case: Examination) -> Found:
    try:
        entries = cache.cache_entries()
    except PermissionError:  # of another user, whose HOME is still set
        return
    if entries:
        template = "{size} of overlays, fetched releases and known results in {parent}"
        message = Message(template, size=cache.size(entries), parent=cache.cache_dir().parent)
        yield (
            OK,
            Message(
                "{what}; sitepatch doctor --clean-cache DAYS removes what was not used since",
                what=message,
            ),
            "",
        )


# who runs it ----------------------------------------------------------------------------------------------------------
def _sources(case: Examination) -> Found:
    for error in case.broken.values():
        yield PROBLEM, error.brief, error.hint
    # raises SitepatchError, which says what to install, where libcst is broken
    import_module("patcher.engine.syntax")
    for message in case.catalogue.others_change(case.catalogue.folders):
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
    Check(
        "hooks",
        Message("every installed hook finds its files patched, or there is no hook"),
        _hooks,
    ),
    Check("locks", Message("no other process is changing this environment"), _lock_holders),
    Check("filesystem", Message("locks hold for every machine that can write here"), _mounts),
    Check("cache", "empty", _cache),
    Check("patchsets", Message("every patchset can be read, and only you can change it"), _sources),
)


_DEVICE = "mmengine-device"
_DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")


def _asked_for(case: Examination) -> Found:
    """Code that only a trouble has: patchsets all of whose hunks are `when-present`."""
    for patchset in case.patchsets:
        hunks = [
            hunk
            for variant in patchset.variants
            for patch in variant.patches
            for hunk in patch.hunks
        ]
        if patchset.symptoms and all(hunk.when_present for hunk in hunks):
            fit = fit_of(case.env, case.statuses, patchset, patchset.symptoms[0])
            if fit.word == APPLICABLE:
                cure = Message(
                    "sitepatch apply {name}{here}: {text}", name=patchset.name, text=fit.text
                )
                yield PROBLEM, patchset.symptoms[0].meaning, cure


def _libcuda(case: Examination) -> Found:
    listed = _listed("libcuda.so") if _located(case, "triton") else []
    if listed and not any(Path(path).exists() for path in listed):
        template = "ldconfig lists {listed}, and there is no such file: triton does not find the driver's library"
        message = Message(template, listed=", ".join(listed))
        yield (
            PROBLEM,
            message,
            _apply(case, "triton-libcuda-path")
            or Message("it is applied; is the driver there at all?"),
        )


def _accelerators(case: Examination) -> Found:
    engine, cure = _located(case, "mmengine"), _apply(case, _DEVICE)
    if not engine or not cure:
        return
    for kind, package in case.accelerators:
        if not _knows(engine, kind):
            template = (
                "{package} is installed, and get_device() of MMEngine {version} does not know {kind}: "
                "models go to the CPU"
            )
            message = Message(template, package=package, version=engine.version, kind=kind)
            yield PROBLEM, message, cure


def _knows(engine: Located, kind: str) -> bool:
    """Whether get_device() of an MMEngine asks for a kind of device; also where its source cannot be read."""
    try:
        source = read_file(Path(engine.site) / "mmengine/device/utils.py", TEXT)
    except (OSError, SitepatchError):
        return True
    return re.search(rb"\bis_%s_available\b" % re.escape(kind.encode()), source) is not None


def _driver(case: Examination) -> Found:
    torch = _located(case, "torch")
    if (
        torch
        and _built_for(torch, "cuda")
        and not any(Path(path).exists() for path in (*_DRIVER, *_listed("libcuda.so")))
    ):
        message = Message(
            "torch {version} is a build for CUDA, and this machine has no driver for it",
            version=torch.version,
        )
        yield (
            NOTE,
            message,
            Message(
                "to train on the CPU install PyTorch's CPU build; in a container: docker run --gpus all"
            ),
        )


def _backend(case: Examination) -> Found:
    torch, engine = _located(case, "torch"), _located(case, "mmengine")
    if (
        not (torch and engine and _apply(case, _DEVICE))
        or _built_for(torch, "cuda") is not False
        or _built_for(torch, "hip")
    ):
        return
    template = "torch {version} has no NCCL, the backend that MMEngine takes unless the config names another one"
    message = Message(template, version=torch.version)
    if case.accelerators:
        yield (
            NOTE,
            message,
            Message("{apply} takes the backend of the card", apply=_apply(case, _DEVICE)),
        )
    else:
        yield NOTE, message, Message("in the config: env_cfg = dict(dist_cfg=dict(backend='gloo'))")


# what of them is there ------------------------------------------------------------------------------------------------------
def _located(case: Examination, package: str) -> Located | None:
    return next((located for located in case.located if located.package == package), None)


def _apply(case: Examination, name: str) -> str:
    """The command that applies a patchset, "" where it is applied."""
    applied = live_names(case.statuses)
    return "" if name in applied else Message("sitepatch apply {name}{here}", name=name)


def _built_for(torch: Located, kind: str) -> bool | None:
    """Whether a build of PyTorch is for a kind of device, None where that is not recorded."""
    try:
        source = read_file(Path(torch.site) / "torch" / "version.py", TEXT).decode(
            "utf-8", "replace"
        )
    except OSError:
        return None
    match = re.search(rf"^{kind}\b[^=\n]*= *(\S+)", source, re.MULTILINE)
    return match.group(1) != "None" if match else None


def _listed(name: str) -> list[str]:
    """The files of a library that ldconfig lists."""
    import subprocess  # as above

    try:
        child = subprocess.run(
            ["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return []  # a system without glibc's
    lines = child.stdout.decode("utf-8", "replace").splitlines()
    return [line.rpartition("=> ")[2].strip() for line in lines if name in line and "=> " in line]


TROUBLES = (
    Check("code", Message("no installed code uses an attribute that nothing defines"), _asked_for),
    Check("libcuda", Message("what ldconfig lists is there"), _libcuda),
    Check(
        "accelerators",
        Message("MMEngine knows the accelerators whose packages are installed"),
        _accelerators,
    ),
    Check("driver", Message("the build of torch fits this machine"), _driver),
    Check("backend", Message("torch has the backend that MMEngine takes"), _backend),
)


class DoctorOutcome(NamedTuple):
    """What was found in an environment, in the order of the checks."""

    env: Environment
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> int:
        """How many of the findings are problems."""
        return sum(finding.severity == PROBLEM for finding in self.findings)


def doctor(*, place: Place = HERE, events: Events = SILENT) -> DoctorOutcome:
    """Run every check that says something of this environment.

    Raises:
        UsageError: there is no such environment, or no such directory of patchsets.
    """
    env = place.environment()
    events.started(env)
    checks = (*CHECKS, *TROUBLES)
    findings = settled(
        env, lambda: examine(Examination(env, place.patch_dirs), checks, events.progress)
    )
    return DoctorOutcome(env, tuple(findings))


_SHOWN = 3
"""So many findings of one check, without --verbose: a directory of somebody else has one for each of its files."""


@click.command(
    "doctor",
    epilog="\b\nExamples:\n  sitepatch doctor --python /opt/venv\n  sitepatch doctor --clean-cache 30",
)
@click.option(
    "--clean-cache",
    metavar="DAYS",
    type=Number(0),
    help="First remove overlays, fetched releases and results not used since.",
)
@common_options()
def command(console: Console, clean_cache: float | None) -> int:
    """Report known problems of this environment, and what to do.

    It checks the files that known patchsets are for and what is applied, of other files only whether a backup lies beside
    them, so that it stays fast; and looks for known problems of PyTorch, MMEngine and triton. Exit code 1 if there is a
    problem; a note is for information. Writes nothing. With -v also what is well, and all that a check found.

    --clean-cache removes from the cache (SITEPATCH_CACHE) what was not used for so many days, unless a process has it open.
    """
    removed = [] if clean_cache is None else cache.clean_cache(clean_cache)
    console.info_rows(
        [Row("removed", (entry.kind, entry.name, cache.size([entry]))) for entry in removed]
    )
    outcome = doctor(place=console.place, events=console)
    rows = []
    for (severity, check), group in groupby(
        outcome.findings, key=lambda finding: (finding.severity, finding.check)
    ):
        findings = [] if severity == OK and not console.verbose else list(group)
        shown = findings if console.verbose else findings[:_SHOWN]
        for finding in shown:
            headline, *details = translated_lines(finding.what)
            rows.append(
                Row(severity, (term(check), headline), (*details, *hint_lines(finding.hint)))
            )
        if findings[len(shown) :]:
            more_of_it = Message(
                "and {number} more; -v shows all", number=len(findings) - len(shown)
            )
            rows.append(Row(severity, (term(check), more_of_it)))
    console.rows(rows)
    sites = list(outcome.env.sites)
    console.info(
        "{problems} in {sites}", problems=count(outcome.problems, "problem"), sites=", ".join(sites)
    )
    return console.answer(
        not outcome.problems, {"sites": sites, "findings": outcome.findings, "removed": removed}
    )
