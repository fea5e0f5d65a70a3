"""Several processes at work on one environment: who looks, and who writes, looks again where another one has written."""

from __future__ import annotations

import errno
import os
import time
from typing import Callable, TypeVar

from patcher.errors import OutdatedError, StoreError
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.store.folder import HOME, JOURNAL
from patcher.system.reading import look_again

_TRIES = 10
"""Each try that fails means that another process has finished its work."""
_WAIT = 1.0  # seconds that a command which only looks waits for one that writes
_PAUSE = 0.02  # seconds between two looks

_T = TypeVar("_T")


def settled(env: Environment, look: Callable[[], _T]) -> _T:
    """Return what `look` makes of an environment, looked at again where another sitepatch was at work on it meanwhile.

    For commands that change nothing: no lock is taken, and a change that takes long or never ends is not waited for.

    Args:
        env: the environment.
        look: reads it; may be called several times.
    """
    seen, problem, _ = _look(env, look)
    if problem:
        raise problem
    return seen[0]


def quiet(env: Environment, look: Callable[[], _T]) -> _T | None:
    """What `settled` returns; None where another sitepatch was at work all the time, so that only its lock tells the truth."""
    seen, problem, is_quiet = _look(env, look)
    if not is_quiet:
        return None
    if problem:
        raise problem
    return seen[0]


def _look(env: Environment, look: Callable[[], _T]) -> tuple[list[_T], Exception | None, bool]:
    """What `look` returned (one item) or raised at last, and whether nobody was at work meanwhile.

    A commit puts the files in place first and their receipts after them; in between, files look edited by hand.
    """
    seen: list[_T] = []
    problem: Exception | None = None
    for _ in range(_TRIES):
        before, seen, problem = _commit_marks(env), [], None
        try:
            seen = [look()]
        except (StoreError, OSError) as error:
            problem = error
        if not _ended(env):
            return seen, problem, False
        if _commit_marks(env) == before and not (problem and _is_stale(problem)):
            return seen, problem, True
    return seen, problem, False


def retry(act: Callable[[], _T], report: Callable[[str], None]) -> _T:
    """Return what `act` returns, called again, a bounded number of times, where somebody has changed a file meanwhile."""
    for _ in range(_TRIES - 1):
        try:
            return act()
        except (StoreError, OSError) as error:
            if not (isinstance(error, OutdatedError) or _is_stale(error)):
                raise
        report(Message("another process was at work here meanwhile: looking at it again"))
    return act()


def _is_stale(problem: BaseException) -> bool:
    """Whether NFS could not find a file that it had just found: another machine has replaced it."""
    return any(
        isinstance(error, OSError) and error.errno == errno.ESTALE
        for error in (problem, problem.__cause__)
    )


def _commit_marks(env: Environment) -> list[tuple[int, int]]:
    """Inode and mtime of each store, which every commit changes: it makes and removes a journal, or removes the folder.

    Nothing but sitepatch changes these, so that an installer at work does not stop a plan from being made.
    """
    marks = []
    for site in env.stores:
        for folder in (site, os.path.join(site, HOME)):
            look_again(folder)
        try:
            info = os.stat(os.path.join(site, HOME))
            marks.append((info.st_ino, info.st_mtime_ns))
        except OSError:
            marks.append((0, 0))
    return marks


def _ended(env: Environment) -> bool:
    """Wait a moment for processes in the middle of a commit; returns whether there are none any more."""
    end = time.monotonic() + _WAIT
    while any(_at_work(site) for site in env.stores):
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def _at_work(site: str) -> bool:
    """Whether a process that lives is in the middle of a commit; True where the kernel does not tell."""
    if not os.path.exists(os.path.join(site, HOME, JOURNAL)):
        return False
    from patcher.store.lock import holders  # few look while another one is at work

    try:
        return bool(holders(site))
    except OSError:
        return True
