"""Several processes at work on one environment: whoever looks, looks again after a change."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Callable, Generic, TypeVar

from patcher.errors import OutdatedError, StoreError
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.store import lock
from patcher.store.folder import HOME, JOURNAL
from patcher.system.reading import look_again

_ATTEMPTS = 10
"""Each attempt that fails means that another process has finished its work."""
_WAIT = 1.0  # seconds that a command which only looks waits for one that writes
_PAUSE = 0.02  # seconds between two looks

_T = TypeVar("_T")


def settled(env: Environment, look: Callable[[], _T]) -> _T:
    """Return what `look` makes of an environment; it looks again after a change.

    For commands that change nothing: no lock is taken, and a change that takes long or never ends
    is not waited for.

    Args:
        env: the environment.
        look: reads it; may be called several times.
    """
    answer, _ = _look(env, look)
    return answer.get()


def quiet(env: Environment, look: Callable[[], _T]) -> _T | None:
    """What `settled` returns; None if another sitepatch was at work all the time."""
    answer, is_quiet = _look(env, look)
    return answer.get() if is_quiet else None


class _Answer(Generic[_T]):
    """What a look at an environment returned, or raised."""

    def __init__(self, look: Callable[[], _T]) -> None:
        self._values: list[_T] = []
        self._problem: Exception | None = None
        try:
            self._values.append(look())
        except (StoreError, OSError) as error:
            self._problem = error

    @property
    def is_stale(self) -> bool:
        """Whether the look failed because another machine has replaced a file."""
        return self._problem is not None and _is_stale(self._problem)

    def get(self) -> _T:
        """Return what the look returned, or raise what it raised."""
        if self._problem:
            raise self._problem
        return self._values[0]


def _look(env: Environment, look: Callable[[], _T]) -> tuple[_Answer[_T], bool]:
    """What came of the last `look`, and whether nobody was at work meanwhile.

    A commit puts the files in place first and their receipts after them; in between, files look
    edited by hand.
    """
    for _ in range(_ATTEMPTS):
        before = _commit_marks(env)
        answer = _Answer(look)
        if not _ended(env):
            return answer, False
        if _commit_marks(env) == before and not answer.is_stale:
            return answer, True
    return answer, False


def retry(act: Callable[[], _T], report: Callable[[str], None]) -> _T:
    """Return what `act` returns; it is called again if somebody has changed a file meanwhile."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return act()
        except (StoreError, OSError) as error:
            if not (isinstance(error, OutdatedError) or _is_stale(error)):
                raise
        report(Message("another process was at work here meanwhile: looking at it again"))
    return act()


def _is_stale(problem: BaseException) -> bool:
    """Whether NFS could not find a file that it had just found: it was replaced elsewhere."""
    errors = [problem, problem.__cause__]
    return any(isinstance(error, OSError) and error.errno == errno.ESTALE for error in errors)


def _commit_marks(env: Environment) -> list[tuple[int, int]]:
    """Inode and mtime of each store, which every commit changes.

    It makes and removes a journal, or removes the folder. Nothing but sitepatch changes these, so
    that an installer at work does not stop a plan from being made.
    """
    marks: list[tuple[int, int]] = []
    for site in env.stores:
        home = Path(site, HOME)
        look_again(site)
        look_again(str(home))
        try:
            info = home.stat()
        except OSError:
            marks.append((0, 0))
        else:
            marks.append((info.st_ino, info.st_mtime_ns))
    return marks


def _ended(env: Environment) -> bool:
    """Wait a moment for processes in the middle of a commit; return whether all have ended."""
    end = time.monotonic() + _WAIT
    while any(_at_work(site) for site in env.stores):
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def _at_work(site: str) -> bool:
    """Whether a process that lives is in the middle of a commit; True if unknown."""
    if not Path(site, HOME, JOURNAL).exists():
        return False
    try:
        return bool(lock.holders(site))
    except OSError:
        return True
