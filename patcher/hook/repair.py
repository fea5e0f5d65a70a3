"""What the child process of a hook does: compares every target file with what is requested, and patches what differs.

Files with a precomputed change are patched by the standard library alone; for all others sitepatch is run, where it is
installed.
"""

from __future__ import annotations

import os
import time
from typing import Dict, Iterable, List, Sequence, Tuple

from patcher.errors import BusyError, OutdatedError, SitepatchError, StoreError
from patcher.facts import sha256
from patcher.hook import boot
from patcher.hook.classify import Classified, classify_targets
from patcher.hook.content import HookPatchset, Installed, load_hook, read_texts
from patcher.hook.other import apply_with_sitepatch
from patcher.hook.places import PATCHSETS
from patcher.store.folder import Folder
from patcher.store.lock import patience
from patcher.store.meta import Meta
from patcher.store.retry import settled, undisturbed
from patcher.store.status import read_installed
from patcher.store.store import Store
from patcher.target.interpreter import Environment

_PATIENCE = 5.0  # seconds for another sitepatch or for uv, which may be waiting for this very process
_TRIES = 5
ENGINE = "patcher/__init__.py"
"""The file that a site directory has where sitepatch is installed in it."""


def main(folder: str, mode: str) -> int:
    """Check every file of the hook in `folder`, and repair it; returns 0 if all is as requested now, else 1.

    Args:
        folder: of the hook, in its site directory.
        mode: `warn` repairs nothing.
    """
    try:
        with patience(_PATIENCE, lambda text: None):
            reasons = _check(load_hook(folder), write=mode != "warn")
    except KeyboardInterrupt:  # the user knows why
        return 1
    except SitepatchError as error:
        boot.write_stderr("; ".join(" ".join(part.split("\n")) for part in (error.message, error.hint) if part))
        return 1
    except Exception as error:  # a program is about to start: one line instead of a traceback
        boot.write_stderr(f"{os.path.basename(folder)}: {type(error).__name__}: {error}")
        return 1
    return 1 if reasons else 0


def _check(installed: Installed, *, write: bool) -> Tuple[str, ...]:
    """Repair the files with `write`, record their state, and return why some are not as requested."""
    for _ in range(_TRIES):
        try:
            found = repair(installed, write=write)
            text = _record(installed, found, write=write)
            break
        except OutdatedError:  # an installer or another sitepatch was at work: what was found is out of date
            time.sleep(0.1)
    else:
        raise BusyError(f"{installed.site}: somebody keeps changing files there", "the next start of Python looks again")
    reasons = tuple(_reasons(found))
    saved = _save(installed.folder, text)
    if write or not saved:  # in mode warn the boot module reports what the state file says
        for reason in reasons:
            boot.write_stderr(reason)
    return reasons


def repair(installed: Installed, *, write: bool) -> Classified:
    """Classify every file, and with `write` patch those that need it.

    Raises:
        OutdatedError: a file was changed meanwhile; look again.
        StoreError: the store cannot be read or written.
    """
    site, hook = installed.site, installed.hook
    if write and Store(site).interrupted():
        recovered = Store(site).recover()
        if recovered:
            boot.write_stderr(f"{site}: {recovered}")
    attempt = undisturbed if write else settled
    found = attempt(Environment.alone(site), lambda: classify_targets(site, hook, installed.precomputed))
    if not write:
        found.expected.update(found.before)
    patchsets = {one.name: one for one in hook.patchsets}
    if found.changes:
        names = found.applied
        if write:
            _check_writable(site, names, [each.path for each in found.changes])
            texts = {patchsets[name].digest: read_texts(f"{installed.folder}/{PATCHSETS}", patchsets[name]) for name in names}
            Store(site).commit(found.changes, texts)
            for name, count in names.items():
                _report_applied(name, count)
        else:
            for name in names:
                found.wrong[name] = f"{name} is not applied in {site}"
    for name, what in found.unknown.items():
        _by_sitepatch(installed, patchsets[name], what, found, write=write)
    return found


def _check_writable(site: str, names: Iterable[str], paths: Sequence[str]) -> None:
    problems = Store(site).check_writable(paths)
    if problems:
        more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
        raise StoreError(f"{', '.join(names)}: not applied in {site}: {problems[0]}{more}")


def _report_applied(name: str, count: int) -> None:
    files = "1 file" if count == 1 else f"{count} files"
    boot.write_stderr(f"applied {name} to {files}; processes that are running keep the code they have loaded")


def _by_sitepatch(installed: Installed, one: HookPatchset, what: str, found: Classified, *, write: bool) -> None:
    """Apply a patchset that meets unknown files with the sitepatch of the environment."""
    answer = apply_with_sitepatch(installed.site, f"{installed.folder}/{PATCHSETS}", one, write=write)
    if answer is None:
        found.wrong[one.name] = f"{one.name}: {what}"
        return
    for path, after in answer.files.items():
        if path in found.expected and answer.ok and write:
            found.expected[path] = after
    if not answer.ok:
        found.wrong[one.name] = f"{one.name}: {answer.problem}"
    elif answer.changed and write:
        _report_applied(one.name, answer.changed)
    elif answer.changed:
        found.wrong[one.name] = f"{one.name} is not applied in {installed.site}"


def _record(installed: Installed, found: Classified, *, write: bool) -> str:
    """The text of the state file: the signature of every file, if it is as it was classified or made.

    Raises:
        OutdatedError: it is not.
    """
    site = installed.site
    lines = [f"sitepatch-hook 1 {installed.hook.version} {'tried' if write else 'looked'}"]
    watched: Dict[str, Sequence[str]] = dict(installed.hook.paths)
    lines += [f"= {signed} {path}" for path, signed in found.records.items()]
    racy = 0.0
    for path, names in watched.items():
        signed = boot.signature(f"{site}/{path}")
        data = read_installed(site, path)
        digest = "" if data is None else sha256(data)
        if digest != found.expected[path] or boot.signature(f"{site}/{path}") != signed:
            raise OutdatedError(f"{site}/{path}: has changed")
        if not found.records and data is not None and found.sizes.get(path) == len(data) and digest != found.before[path]:
            racy = max(racy, float(signed.split(":")[0]))
        lines.append(f"{'!' if any(name in found.wrong for name in names) else '='} {signed} {path}")
    if found.wrong:
        lines.append(f"= {boot.signature(f'{site}/{ENGINE}')} {ENGINE}")  # installed later, it may help
    lines += [f": {reason}" for reason in _reasons(found)]
    limit = time.time() + 4
    while time.time() < min(racy + 1, limit):  # without a RECORD, a reinstall within that second would look just the same
        time.sleep(0.05)
    return "\n".join([*lines, "end", ""])


def _reasons(found: Classified) -> List[str]:
    """Why files are not as requested, a line each."""
    return list(dict.fromkeys(" ".join(text.split()) for text in found.wrong.values()))


def _save(folder: str, text: str) -> bool:
    """Replace the state file in one step, by a temporary file that is in RECORD too; False where nothing can be written."""
    try:
        with Folder.open(folder) as home:
            home.put("state", text.encode("utf-8", "surrogateescape"), Meta(0o644))
            home.sync()
        _compile(folder)
    except OSError:
        return False
    return True


def _compile(folder: str) -> None:
    """Compile the boot module; uv does not, and where PYTHONDONTWRITEBYTECODE is set nobody does."""
    import importlib.util
    import py_compile

    source = f"{folder}/__init__.py"
    if not os.path.exists(importlib.util.cache_from_source(source)):
        py_compile.compile(source, doraise=False, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP, quiet=2)
