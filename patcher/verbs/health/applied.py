"""Checks of what is applied, and of what sitepatch keeps: stores, bytecode, hooks, the cache."""

from __future__ import annotations

import json
import os
import subprocess
from importlib import import_module
from pathlib import Path

from patcher.facts import Condition
from patcher.message import Message
from patcher.model import State
from patcher.patchset.catalogue import OTHERS_HINT
from patcher.store.folder import HOME, JOURNAL, is_temporary
from patcher.store.lock import holders
from patcher.store.status import (
    UNDER_WAY,
    all_applied,
    applied_names,
    damaged,
    leftovers,
    lost_copies,
    orphans,
    unclaimed,
    unfinished,
)
from patcher.store.store import Store
from patcher.system import cache
from patcher.text.listed import count
from patcher.verbs.health.checks import NOTE, OK, PROBLEM, Observations
from patcher.verbs.health.examination import Examination
from patcher.verbs.hook import installed_hooks
from patcher.verbs.standing import applied_patchsets

_LOCKS = Path("/proc/locks")
_REMOVABLE = Message("it can be removed")


# the store ----------------------------------------------------------------------------------------
def not_as_applied(case: Examination) -> Observations:
    """Whether `status` has more to say than that all is applied, and patchsets that can go."""
    stopped = [site for word, site, _ in unfinished(case.env) if word != UNDER_WAY]
    lost = lost_copies(case.statuses)
    broken = [*damaged(lost), *unclaimed(case.env, case.statuses, case.damaged)]
    if stopped or broken or not all_applied(case.statuses):
        hint = Message("see: sitepatch status{here}")
        yield PROBLEM, Message("not all is as it was applied"), hint
    if broken:
        return
    names = applied_names(case.statuses)
    applied = applied_patchsets(case.env, case.statuses, case.patch_dirs, names=names, lost=lost)
    for name, state in applied.by_name().items():
        if state == State.UPSTREAM.value:
            template = "{name} can go: what is installed now has the change itself"
            hint = Message("sitepatch restore {name}{env}", name=name)
            yield NOTE, Message(template, name=name), hint


def kept_edits(case: Examination) -> Observations:
    """Edited texts that stores keep."""
    for site in case.homes:
        paths = [Path(path) for path in Store(site).edited_copies()]
        if paths:
            folder = paths[0].parent
            size = sum(path.stat().st_size for path in paths)
            texts = count(len(paths), "edited text")
            template = "{folder} keeps {texts} set aside, {size:,} bytes"
            what = Message(template, folder=folder, texts=texts, size=size)
            hint = "when they are no longer needed: rm -r {parent}"
            yield NOTE, what, Message(hint, parent=folder)


def leftover_files(case: Examination) -> Observations:
    """Files of sitepatch that belong to nothing, or were left by a run that ended too early."""
    if not case.damaged:  # else it is unknown whose they are
        known = [copy for copy, _, _ in orphans(case.env, case.statuses)]
        for site in case.homes:
            receipts = [item.receipt for item in case.statuses if item.site == site]
            for path in leftovers(site, receipts):
                if path not in known:
                    template = "{path} belongs to nothing that is applied"
                    yield NOTE, Message(template, path=path), _REMOVABLE
    for site, paths in case.sites.items():
        if (Path(site) / HOME / JOURNAL).exists():
            continue  # the next run removes them
        for folder in sorted({(Path(site) / path).parent for path in paths}):
            for left in sorted(folder.iterdir()):
                if is_temporary(left.name):
                    template = "{left} was left by a run that ended too early"
                    yield NOTE, Message(template, left=left), _REMOVABLE


def lock_holders(case: Examination) -> Observations:
    """Processes that are changing the environment."""
    if not _LOCKS.exists():
        yield NOTE, Message("there is no {locks} that shows who is at work here", locks=_LOCKS), ""
        return
    for site in case.sites:
        for process in holders(site):
            yield NOTE, process, Message("apply and restore wait until it has ended")


# what runs ----------------------------------------------------------------------------------------
def stale_bytecode(case: Examination) -> Observations:
    """Bytecode of another text than the patched one that would run all the same."""
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    if prefix:
        template = (
            "PYTHONPYCACHEPREFIX is set to {prefix}: "
            "bytecode of the old source is looked for there too"
        )
        hint = Message("apply and restore under the same value as the programs that run")
        yield NOTE, Message(template, prefix=prefix), hint
    sources: list[str] = []
    for item in case.statuses:
        if item.condition is Condition.APPLIED:
            sources.append(str(Path(item.site) / item.receipt.path))
    if not sources:
        return
    for source, bytecode in _stale_pairs(case.env.python, sources, prefix):
        template = "{pyc} was compiled from another text than {path} has now, and is what runs"
        what = Message(template, pyc=bytecode, path=source)
        yield PROBLEM, what, Message("remove that file")


def _stale_pairs(python: str, sources: list[str], prefix: str | None) -> list[tuple[str, str]]:
    """Sources and their stale bytecode, as the interpreter itself would find it."""
    script = Path(__file__).with_name("stale_bytecode.py")
    options = ["-I", "-B"]
    if prefix:
        options += ["-X", f"pycache_prefix={prefix}"]
    child = subprocess.run(
        [python, *options, str(script)],
        input=json.dumps(sources).encode(),
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "SITEPATCH_HOOK": "off"},
    )
    pairs: list[tuple[str, str]] = json.loads(child.stdout.splitlines()[-1])
    return pairs


def hooks(case: Examination) -> Observations:
    """Hooks whose files are not as they are requested."""
    bad = [status for status in installed_hooks(case.env) if not status.good and status.messages]
    if bad:
        what = Message("{hooks}: not in order", hooks=count(len(bad), "hook"))
        yield PROBLEM, what, Message("see: sitepatch hook status{env}")


# who runs it --------------------------------------------------------------------------------------
def cache_size(case: Examination) -> Observations:
    """How large the cache is, and where."""
    try:
        entries = cache.cache_entries()
    except PermissionError:  # of another user, whose HOME is still set
        return
    if entries:
        template = "{size} of overlays and fetched releases in {parent}"
        size = cache.size_text(entries)
        yield OK, Message(template, size=size, parent=cache.cache_dir().parent), ""


def patchset_folders(case: Examination) -> Observations:
    """Patchsets that cannot be read, or that others can change."""
    for error in case.broken.values():
        yield PROBLEM, error.brief, error.hint
    # raises SitepatchError, which says what to install, where libcst is broken
    import_module("patcher.engine.syntax")
    for message in case.catalogue.others_change(case.catalogue.folders):
        yield PROBLEM, message, OTHERS_HINT
