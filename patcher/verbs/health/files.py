"""Checks of directories and files: permissions, space, links, hand edits, backups, filesystems."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patcher.facts import sha256
from patcher.installed.backups import is_backup, proven_backups
from patcher.installed.record import recorded_hash
from patcher.message import Message, joined
from patcher.store.folder import is_temporary
from patcher.store.store import Store
from patcher.system import mounts
from patcher.system.reading import read_file
from patcher.text.listed import count
from patcher.verbs.health.checks import NOTE, PROBLEM, Observations
from patcher.verbs.health.examination import Examination

_ROOM = 16 << 20  # bytes: many times what the largest commit needs


def unwritable(case: Examination) -> Observations:
    """Files and directories that this user may not change."""
    for site, paths in case.sites.items():
        for problem in Store(site).check_writable(paths):
            yield PROBLEM, problem, ""


def full_disks(case: Examination) -> Observations:
    """Disks with little space, or none for further files."""
    for site in case.sites:
        disk = os.statvfs(site)
        free = disk.f_bavail * disk.f_frsize
        if disk.f_blocks and free < _ROOM:
            what = Message("{site}: {left} KiB are left on its disk", site=site, left=free >> 10)
            yield PROBLEM, what, Message("free some space; a restore works without")
        if disk.f_files and not disk.f_favail:
            what = Message("{site}: its disk can take no more files (inodes)", site=site)
            yield PROBLEM, what, Message("remove some files")


def links(case: Examination) -> Observations:
    """Target files that are links, or have other names, as in a cache of an installer."""
    symbolic: list[str] = []
    hard: list[str] = []
    for _, path, file in case.targets:
        info = file.lstat()
        if stat.S_ISLNK(info.st_mode):
            symbolic.append(f"{path} -> {os.readlink(file)}")
        elif stat.S_ISREG(info.st_mode) and info.st_nlink > 1 + _own_names(file):
            hard.append(path)

    hint = Message(
        "nothing to do: sitepatch puts a file of its own there; "
        "an edit in place would change the cache too"
    )
    if symbolic:
        what = Message("symbolic links")
        yield NOTE, Message("{what}: {paths}", what=what, paths=joined(", ", symbolic)), hint
    if hard:
        what = Message("hard links to files with other names, as uv makes them")
        yield NOTE, Message("{what}: {paths}", what=what, paths=joined(", ", hard)), hint


def _own_names(file: Path) -> int:
    """How many names sitepatch has given a file besides, in a run that was interrupted."""
    info = file.lstat()
    names = [path for path in file.parent.iterdir() if is_temporary(path.name)]
    return sum(os.path.samestat(path.lstat(), info) for path in names)


def hand_edits(case: Examination) -> Observations:
    """Target files that are neither as their distribution recorded them nor patched by us."""
    patched = {(item.site, item.receipt.path) for item in case.statuses}
    edited = 0
    for located, path, file in case.targets:
        recorded = recorded_hash(located, path)
        if recorded is None or (located.site, path) in patched:
            continue
        if recorded != sha256(read_file(file)):
            edited += 1
    if edited:
        template = "{files} that patchsets are for: edited by hand"
        what = Message(template, files=count(edited, "file"))
        yield PROBLEM, what, Message("see: sitepatch diff --edited{env}")


def backups(case: Examination) -> Observations:
    """Backups that somebody made beside target files: those that RECORD proves first."""
    patched = {(item.site, item.receipt.path) for item in case.statuses}
    proven = set()
    for backup in proven_backups(case.env.own, patched):
        proven.add((backup.site, backup.path, backup.name))
        back = "put it back: sitepatch restore --from-backup {path}{env}"
        template = (
            "{back}; or make a patchset of the edit: "
            "sitepatch capture {path} --name NAME --adopt{env}"
        )
        hint = Message(template, back=Message(back, path=backup.path), path=backup.path)
        yield NOTE, backup.message, hint

    hint = Message(
        "move it out of the package: it stays after an uninstall, "
        "and then the package imports as empty"
    )
    for site, paths in case.sites.items():
        for path in paths:
            file = Path(site) / path
            for name in sorted(entry.name for entry in file.parent.iterdir()):
                if is_backup(name, file.name) and (site, path, name) not in proven:
                    template = "{parent} looks like a backup made by hand"
                    yield NOTE, Message(template, parent=file.parent / name), hint


def filesystems(case: Examination) -> Observations:
    """Filesystems on which locks do not hold for other machines, or may not."""
    table = mounts.read_table()
    for site in case.sites:
        what: str = mounts.own_locks(site, table)
        kind = mounts.untried(site, table)
        if not what and kind:
            template = (
                "{site} is on {kind}, where it is untested whether locks hold for other machines"
            )
            what = Message(template, site=site, kind=kind)
        if what:
            yield NOTE, what, mounts.ONE_WRITER
