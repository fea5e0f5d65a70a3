"""What a start of Python with a hook has sitepatch do, in a process of its own: apply the hook's patchsets, record the files.

The boot module of every hook, whichever release made it, calls `main`.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from patcher.errors import BusyError, SitepatchError
from patcher.hook.boot import recorded_problems, signature, write_stderr
from patcher.hook.installed import HOOK, Hook, disagreeing, load_hook, loaded_hooks
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Requested, Variant
from patcher.patchset.variants import pick_variants
from patcher.place import Events, Outcome, Place
from patcher.store import patience
from patcher.store.folder import Folder, Meta
from patcher.system.flock import take_flock
from patcher.text.listed import count, normalized
from patcher.verbs.apply import apply_requested
from patcher.verify import COMPILE

_TURN = 120.0  # seconds for other starts of the same hook, which end by themselves
_PATIENCE = (
    1.0  # seconds for another sitepatch, or for uv, which may be waiting for this very process
)
_TRIES = 5
_ENGINE = "patcher/__init__.py"


class Look(NamedTuple):
    """What became of a patchset: how many files were changed, or would be; `problem` is why it is not applied, "" if it is.

    `certain` says that the answer holds as long as the files and sitepatch stay as they are.
    """

    name: str
    files: int = 0
    written: bool = False
    problem: str = ""
    certain: bool = True


def main(folder: str, mode: str) -> int:
    """See to the files of the hook in `folder`, one process at a time; returns 0 if all are as requested, else 1.

    Args:
        folder: of the hook, in its site directory.
        mode: `warn` repairs nothing.
    """
    try:
        with _turn(f"{folder}/lock"):
            hook = load_hook(folder)
            # another start may have seen to them
            reasons = recorded_problems(folder, hook.version, mode, aloud=True)
            if reasons is None or mode != "repair":
                reasons = _check(hook, write=mode != "warn") if reasons is None else reasons
                for reason in reasons:
                    write_stderr(reason)
        return 1 if reasons else 0
    except KeyboardInterrupt:  # the user knows why
        return 1
    except SitepatchError as error:
        write_stderr(_line(error))
    except Exception as error:  # a program is about to start: one line instead of a traceback
        write_stderr(f"{Path(folder).name}: {type(error).__name__}: {error}")
    return 1


def _line(error: SitepatchError) -> str:
    hint = (
        Message("the next start of Python looks again")
        if isinstance(error, BusyError)
        else error.hint
    )
    return "; ".join(" ".join(part.split("\n")) for part in (error.message, hint) if part)


@contextmanager
def _turn(path: str) -> Iterator[None]:
    """Wait for the lock of the hook; where it cannot be had, the lock of the store has to do.

    Raises:
        BusyError: another process has it for very long.
    """
    with ExitStack() as stack:
        with suppress(OSError):  # it cannot be written, or the file system has no locks
            fd = _open_private(path)
            stack.callback(os.close, fd)
            end = time.monotonic() + _TURN
            while not take_flock(fd):
                if time.monotonic() > end:
                    raise BusyError(
                        "another process has held {path} for {turn:g} seconds",
                        path=path,
                        turn=_TURN,
                    )
                time.sleep(0.02)
        yield


def _open_private(path: str) -> int:
    """Open the lock file so that no other user can lock it; returns the descriptor.

    Installers write it as a file that everybody may read, and whoever may read a file may lock it. Such a file is not
    waited for, but replaced by a private one. Of several processes that do so at once two may end up with different
    files; then the lock of the store keeps them apart.

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


def _check(hook: Hook, *, write: bool) -> list[str]:
    """Apply what is not applied, and record the files once a look finds nothing to do; returns what is wrong.

    Raises:
        BusyError: somebody keeps changing the files.
        SitepatchError: what keeps it from looking.
    """
    first_signatures: dict[str, str] = {}
    for _ in range(_TRIES):
        before = _signatures(hook)
        first_signatures = first_signatures or before
        _outlast(first_signatures, before)
        looks = keep(hook, write=write)
        if not any(look.written for look in looks) and _signatures(hook) == before:
            break
    else:
        raise BusyError("{site}: somebody keeps changing files there", site=hook.site)
    not_applied = (look for look in looks if look.problem or look.files)
    template = "{name} is not applied in {site}"
    reasons = [
        look.problem or Message(template, name=look.name, site=hook.site) for look in not_applied
    ]
    reasons = list(dict.fromkeys(" ".join(reason.split()) for reason in reasons))
    if all(look.certain for look in looks):
        engine = _engine(hook.site) if any(look.problem for look in looks) else []
        _save(
            hook,
            {**before, **{path: signature(f"{hook.site}/{path}") for path in engine}},
            reasons,
            write=write,
        )
    return reasons


def keep(hook: Hook, *, write: bool) -> list[Look]:
    """Look at each patchset of a hook, and with `write` apply it where it is not applied, as `apply` does.

    They are compiled, not imported: a module that starts Python would wait for the start that waits for it. One of whose
    packages nothing is installed is no failure.

    Raises:
        StoreError: another hook was written by a newer sitepatch.
    """
    rivals = _rivals(hook)
    present = [item for item in hook.requested if _present(hook.site, item)]
    return [_keep(hook, item, rivals.get(item.patchset.name, ""), write=write) for item in present]


def _keep(hook: Hook, item: Requested, rival: str, *, write: bool) -> Look:
    name = item.patchset.name
    if rival:
        said = "{name}: {rival} keeps it applied in another version or with other options; uninstall {rival} or {hook.name}"
        problem = Message(said, name=name, rival=rival, hook=hook)
        return Look(name, problem=problem)
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
        return Look(
            name,
            problem=Message(
                "{name}: not applied in {site}: {line}",
                name=name,
                site=hook.site,
                line=_line(error),
            ),
            certain=False,
        )
    files = len(outcome.changed)
    if outcome.written:
        template = (
            "applied {name} to {files}; processes that are running keep the code they have loaded"
        )
        write_stderr(Message(template, name=name, files=count(files, "file")))
    return Look(name, files, outcome.written, _problem(name, outcome))


def _problem(name: str, outcome: Outcome) -> str:
    for answer in outcome.plan.failed:
        return joined(": ", (name, answer.path, Message(answer.state.value), answer.problem))
    return "" if outcome.ok else Message("{name}: the patched files do not compile", name=name)


class _Recoveries(Events):
    """Reports that an interrupted run was recovered, and nothing else."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark, of which only one kind matters to somebody who starts a program."""
        if word == "recovered":
            write_stderr(text)


def _rivals(hook: Hook) -> dict[str, str]:
    """The patchsets that another hook keeps applied otherwise, and its name: the first hook by name has its way.

    Without that each would undo at every start what the other one did.
    """
    hooks_before = [
        other for other in loaded_hooks(Environment.alone(hook.site))[0] if other.name < hook.name
    ]
    return {name: other.name for other, name in disagreeing(hooks_before, hook.requested)}


def _present(site: str, item: Requested) -> bool:
    packages = pick_variants(item.patchset).items()
    paths = (
        path
        for package, variants in packages
        for path in (*_imported(package), *_targets(variants, added=False))
    )
    return any(Path(site, path).exists() for path in paths)


def _imported(package: str) -> tuple[str, str]:
    """The files by which a package is imported."""
    return f"{package}/__init__.py", f"{package}.py"


def _targets(variants: Sequence[Variant], *, added: bool) -> list[str]:
    """The files that variants of a patchset name; also those that they add."""
    patches = [
        patch for variant in variants for patch in variant.patches if added or not patch.adds
    ]
    return list(dict.fromkeys(path for patch in patches for path in patch.paths))


# what is recorded -----------------------------------------------------------------------------------------------------
def _signatures(hook: Hook) -> dict[str, str]:
    """The signature of each file whose change calls for another look, by its path below the site directory.

    Those are the targets, the RECORD of each package, for a reinstall of the same size within a second, and other hooks.
    """
    paths: list[str] = []
    for item in hook.requested:
        for package, variants in pick_variants(item.patchset).items():
            paths += [
                *(() if _present(hook.site, item) else _imported(package)),
                *_targets(variants, added=True),
            ]
            try:
                dist_info = locate(
                    Environment.alone(hook.site), package, _targets(variants, added=False)
                ).dist_info
            except SitepatchError:  # it is not there, or `apply` says what is wrong with it
                continue
            paths += [f"{Path(dist_info).name}/RECORD"] if dist_info else []
    paths += [f"_{name.replace('-', '_')}/{HOOK}" for name in _rivals(hook).values()]
    return {path: signature(f"{hook.site}/{path}") for path in dict.fromkeys(paths)}


def _engine(site: str) -> list[str]:
    """The files that show another installation of sitepatch or of what it needs, which may not fail as this one did."""
    infos = {normalized(path.name.split("-")[0]): path for path in Path(site).glob("*.dist-info")}
    needs: Sequence[str] = ()
    if "sitepatch" in infos:
        needs = re.findall(
            r"^Requires-Dist: *([\w.-]+)",
            (infos["sitepatch"] / "METADATA").read_text("utf-8"),
            re.MULTILINE,
        )
    return [
        _ENGINE,
        *(
            f"{infos[name].name}/RECORD"
            for name in map(normalized, ["sitepatch", *needs])
            if name in infos
        ),
    ]


def _outlast(old_signatures: dict[str, str], signatures: dict[str, str]) -> None:
    """Without a RECORD, wait until a reinstall could not leave the size and the second of a file that was patched just now."""
    if any(path.endswith("/RECORD") for path in signatures):
        return
    changed = [path for path, signed in signatures.items() if old_signatures.get(path) != signed]
    pairs = [
        (old_signatures.get(path, "").split(":"), signatures[path].split(":")) for path in changed
    ]
    racy = [int(new[0]) + 1 for old, new in pairs if old[1:] == new[1:] and new[1:]]
    limit = min(max(racy, default=0), time.time() + 4)  # a clock may be wrong
    while time.time() < limit:
        time.sleep(0.05)


def _save(hook: Hook, signatures: dict[str, str], reasons: Sequence[str], *, write: bool) -> None:
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
    """Compile the boot module; uv does not, and where PYTHONDONTWRITEBYTECODE is set nobody does."""
    import importlib.util
    import py_compile

    if not Path(importlib.util.cache_from_source(path)).exists():
        py_compile.compile(
            path, doraise=False, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP, quiet=2
        )
