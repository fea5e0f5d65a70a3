"""What a start of Python with a hook has sitepatch do, in a process of its own.

It applies the hook's patchsets where they are not applied, and records the files: as long as those
stay as they are, the next starts have nothing to do. The boot module of every hook, whichever
release made it, calls `main`.
"""

from __future__ import annotations

import importlib.util
import os
import py_compile
import re
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, Sequence

from patcher.errors import BusyError, SitepatchError
from patcher.hook.boot import recorded_problems, signature, write_stderr
from patcher.hook.installed import HOOK, Hook, disagreeing, load_hook, loaded_hooks
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Requested, Variant
from patcher.outcomes import PlanOutcome
from patcher.patchset.variants import pick_variants
from patcher.place import Events, Place
from patcher.record import Record
from patcher.store import patience
from patcher.store.folder import Folder, Meta
from patcher.system.flock import take_flock
from patcher.text.listed import count, normalized
from patcher.verbs.apply import apply_requested
from patcher.verify import COMPILE

_TURN = 120.0
"""Seconds to wait for other starts with the same hook, which end by themselves."""
_PATIENCE = 1.0
"""Seconds to wait for another sitepatch, or for uv, which may be waiting for this very process."""
_TRIES = 5
_ENGINE = "patcher/__init__.py"
_REQUIRES = re.compile(r"^Requires-Dist: *([\w.-]+)", re.MULTILINE)


class PatchsetCheck(Record):
    """Whether a patchset of a hook is applied.

    Attributes:
        name: that of the patchset.
        files: how many files were changed, or would be.
        written: whether they were.
        problem: why it is not applied, "" if it is.
        lasts: whether the answer holds as long as the files and sitepatch stay as they are.
    """

    name: str
    files: int = 0
    written: bool = False
    problem: str = ""
    lasts: bool = True


def main(folder: str, mode: str) -> int:
    """Bring the files of the hook in `folder` in line with it, one process at a time.

    Args:
        folder: of the hook, in its site directory.
        mode: `warn` repairs nothing.

    Returns:
        0 if all files are as requested, else 1.
    """
    try:
        with _turn(f"{folder}/lock"):
            hook = load_hook(folder)
            # another start may have checked them meanwhile
            reasons = recorded_problems(folder, hook.version, mode, aloud=True)
            if reasons is None:
                reasons = _check(hook, write=mode != "warn")
                _write_lines(reasons)
            elif mode != "repair":
                _write_lines(reasons)
        return 1 if reasons else 0
    except KeyboardInterrupt:  # the user knows why
        return 1
    except SitepatchError as error:
        write_stderr(_line(error))
    except Exception as error:  # a program is about to start: one line instead of a traceback
        write_stderr(f"{Path(folder).name}: {type(error).__name__}: {error}")
    return 1


def _write_lines(lines: Sequence[str]) -> None:
    for line in lines:
        write_stderr(line)


def _line(error: SitepatchError) -> str:
    """An error and its hint in one line."""
    hint = error.hint
    if isinstance(error, BusyError):
        hint = Message("the next start of Python looks again")
    parts = [" ".join(part.split("\n")) for part in (error.message, hint)]
    return "; ".join(filter(None, parts))


# one at a time ------------------------------------------------------------------------------------
@contextmanager
def _turn(path: str) -> Iterator[None]:
    """Wait for the lock of the hook; where it cannot be had, the lock of the store has to do.

    Raises:
        BusyError: another process has held it for very long.
    """
    with ExitStack() as stack:
        with suppress(OSError):  # it cannot be written, or the file system has no locks
            fd = _open_private(path)
            stack.callback(os.close, fd)
            _wait_for(fd, path)
        yield


def _wait_for(fd: int, path: str) -> None:
    """Wait for the lock of an open file."""
    end = time.monotonic() + _TURN
    while not take_flock(fd):
        if time.monotonic() > end:
            template = "another process has held {path} for {turn:g} seconds"
            raise BusyError(template, path=path, turn=_TURN)
        time.sleep(0.02)


def _open_private(path: str) -> int:
    """Open the lock file so that no other user can lock it; returns the descriptor.

    Installers write it as a file that everybody may read, and whoever may read a file may lock it.
    Such a file is not waited for, but replaced by a private one. Of several processes that do so at
    once two may end up with different files; then the lock of the store keeps them apart.

    Raises:
        OSError: it belongs to somebody else, or cannot be made.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    info = os.fstat(fd)
    if info.st_uid == os.geteuid() and not info.st_mode & 0o077:
        return fd
    os.close(fd)
    if info.st_uid != os.geteuid():
        raise PermissionError(path)
    Path(path).unlink()
    return os.open(path, flags | os.O_EXCL, 0o600)


# look, apply, record ------------------------------------------------------------------------------
def _check(hook: Hook, *, write: bool) -> list[str]:
    """Apply what is not applied, and record the files once a look finds nothing to do.

    Returns:
        What is wrong, a line each.

    Raises:
        BusyError: somebody keeps changing the files.
        SitepatchError: what keeps it from looking.
    """
    first_signatures: dict[str, str] = {}
    for _ in range(_TRIES):
        signatures = _signatures(hook)
        first_signatures = first_signatures or signatures
        _outlast(first_signatures, signatures)
        checks = ensure_applied(hook, write=write)
        is_settled = not any(check.written for check in checks)
        if is_settled and _signatures(hook) == signatures:
            break
    else:
        raise BusyError("{site}: somebody keeps changing files there", site=hook.site)

    reasons = _reasons(hook, checks)
    if all(check.lasts for check in checks):
        if any(check.problem for check in checks):
            for path in _engine(hook.site):
                signatures[path] = signature(f"{hook.site}/{path}")
        _save(hook, signatures, reasons=reasons, write=write)
    return reasons


def _reasons(hook: Hook, checks: Sequence[PatchsetCheck]) -> list[str]:
    """Why patchsets are not applied, each reason once and in one line."""
    reasons: dict[str, None] = {}
    for check in checks:
        if check.problem or check.files:
            absent = Message("{name} is not applied in {site}", name=check.name, site=hook.site)
            reason = check.problem or absent
            reasons[" ".join(reason.split())] = None
    return list(reasons)


def ensure_applied(hook: Hook, *, write: bool) -> list[PatchsetCheck]:
    """Check whether each patchset of a hook is applied; with `write` apply it where it is not.

    Files are compiled, not imported: a module that starts Python would wait for the start that
    waits for it. A patchset of whose packages none is installed is no failure.

    Raises:
        StoreError: another hook was written by a newer sitepatch.
    """
    rivals = _rivals(hook)
    checks = []
    for item in hook.requested:
        if _is_present(hook.site, item):
            rival = rivals.get(item.patchset.name, "")
            checks.append(_ensure_one(hook, item, rival=rival, write=write))
    return checks


def _ensure_one(hook: Hook, item: Requested, *, rival: str, write: bool) -> PatchsetCheck:
    """Check a patchset; `rival` is the hook that has another version of it applied, "" for none."""
    name = item.patchset.name
    if rival:
        template = (
            "{name}: {rival} keeps it applied in another version or with other options; "
            "uninstall {rival} or {hook}"
        )
        return PatchsetCheck(
            name, problem=Message(template, name=name, rival=rival, hook=hook.name)
        )
    try:
        with patience(_PATIENCE):
            outcome = apply_requested(
                [item],
                place=Place(target=hook.site),
                verify=COMPILE,
                dry_run=not write,
                events=_Recoveries(),
            )
    except SitepatchError as error:
        template = "{name}: not applied in {site}: {line}"
        problem = Message(template, name=name, site=hook.site, line=_line(error))
        return PatchsetCheck(name, problem=problem, lasts=False)

    files = len(outcome.changed)
    if outcome.written:
        template = (
            "applied {name} to {files}; processes that are running keep the code they have loaded"
        )
        write_stderr(Message(template, name=name, files=count(files, "file")))
    return PatchsetCheck(
        name, files=files, written=outcome.written, problem=_problem(name, outcome)
    )


def _problem(name: str, outcome: PlanOutcome) -> str:
    for answer in outcome.plan.failed:
        return joined(": ", (name, answer.path, Message(answer.state.value), answer.problem))
    if outcome.ok:
        return ""
    return Message("{name}: the patched files do not compile", name=name)


class _Recoveries(Events):
    """Reports that an interrupted run was recovered, and nothing else."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark, of which only one kind matters to somebody who starts a program."""
        if word == "recovered":
            write_stderr(text)


def _rivals(hook: Hook) -> dict[str, str]:
    """The patchsets that another hook applies otherwise, and its name: the first by name wins.

    Without that each would undo at every start what the other one did.
    """
    installed, _ = loaded_hooks(Environment.alone(hook.site))
    hooks_before = [other for other in installed if other.name < hook.name]
    return {name: other.name for other, name in disagreeing(hooks_before, hook.requested)}


def _is_present(site: str, item: Requested) -> bool:
    """Whether something is there of the packages of a patchset."""
    for package, variants in pick_variants(item.patchset).items():
        for path in (*_modules(package), *_targets(variants, added=False)):
            if Path(site, path).exists():
                return True
    return False


def _modules(package: str) -> tuple[str, str]:
    """The files by which a package is imported."""
    return f"{package}/__init__.py", f"{package}.py"


def _targets(variants: Sequence[Variant], *, added: bool) -> list[str]:
    """The files that variants of a patchset name, with `added` also those that they add."""
    paths: dict[str, None] = {}
    for variant in variants:
        for patch in variant.patches:
            if added or not patch.adds:
                paths.update(dict.fromkeys(patch.paths))
    return list(paths)


# what is recorded ---------------------------------------------------------------------------------
def _signatures(hook: Hook) -> dict[str, str]:
    """The signature of each file whose change calls for another look, by its relative path.

    Those are the targets, the RECORD of each package (a reinstall may leave size and second of a
    file as they were), and other hooks.
    """
    paths: list[str] = []
    for item in hook.requested:
        is_present = _is_present(hook.site, item)
        for package, variants in pick_variants(item.patchset).items():
            if not is_present:
                paths += _modules(package)
            paths += _targets(variants, added=True)
            paths += _record(hook.site, package, variants)
    for name in _rivals(hook).values():
        paths.append(f"_{name.replace('-', '_')}/{HOOK}")
    return {path: signature(f"{hook.site}/{path}") for path in dict.fromkeys(paths)}


def _record(site: str, package: str, variants: Sequence[Variant]) -> list[str]:
    """The RECORD of a package, none where it is not installed or has none."""
    env = Environment.alone(site)
    try:
        dist_info = locate(env, package, _targets(variants, added=False)).dist_info
    except SitepatchError:  # it is not there, or `apply` says what is wrong with it
        return []
    return [f"{Path(dist_info).name}/RECORD"] if dist_info else []


def _engine(site: str) -> list[str]:
    """The files that show another installation of sitepatch or of what it requires.

    That one may not fail as this one did.
    """
    infos: dict[str, Path] = {}
    for path in Path(site).glob("*.dist-info"):
        infos[normalized(path.name.split("-")[0])] = path

    distributions = ["sitepatch"]
    if "sitepatch" in infos:
        metadata = (infos["sitepatch"] / "METADATA").read_text("utf-8")
        distributions += _REQUIRES.findall(metadata)
    paths = [_ENGINE]
    for name in map(normalized, distributions):
        if name in infos:
            paths.append(f"{infos[name].name}/RECORD")
    return paths


def _outlast(old_signatures: dict[str, str], signatures: dict[str, str]) -> None:
    """Without a RECORD, wait until a reinstall cannot go unnoticed.

    It would, if a file that was patched just now had its size and its second again.
    """
    if any(path.endswith("/RECORD") for path in signatures):
        return
    limit = 0
    for path, signed in signatures.items():
        old_signed = old_signatures.get(path, "")
        if old_signed == signed:
            continue
        _, *old_size = old_signed.split(":")
        second, *size = signed.split(":")
        if size and size == old_size:
            limit = max(limit, int(second) + 1)
    deadline = min(limit, time.time() + 4)  # a clock may be wrong
    while time.time() < deadline:
        time.sleep(0.05)


def _save(hook: Hook, signatures: dict[str, str], *, reasons: Sequence[str], write: bool) -> None:
    """Replace the state file in one step; where it cannot be written, each start looks again."""
    lines = [f"sitepatch-hook 1 {hook.version} {'tried' if write else 'looked'}"]
    lines += [f"= {signed} {path}" for path, signed in signatures.items()]
    lines += [f": {reason}" for reason in reasons]
    state = "\n".join([*lines, "end", ""])
    with suppress(OSError), Folder.open(hook.folder) as folder:
        folder.put("state", state.encode("utf-8", "surrogateescape"), Meta(0o644))
        folder.sync()
        _compile(f"{hook.folder}/__init__.py")


def _compile(path: str) -> None:
    """Compile the boot module: uv does not, and under PYTHONDONTWRITEBYTECODE nobody does."""
    if Path(importlib.util.cache_from_source(path)).exists():
        return
    by_time = py_compile.PycInvalidationMode.TIMESTAMP
    py_compile.compile(path, doraise=False, invalidation_mode=by_time, quiet=2)
