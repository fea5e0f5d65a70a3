"""The store: the only writer into a site directory, and how long it waits for another one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator

from patcher.record import Record


def _unreported(message: str) -> None:
    pass


class Patience(Record):
    """How long to wait for a lock, in seconds, and what gets a message after a second."""

    seconds: float = 60.0
    report: Callable[[str], None] = _unreported


# the last one is in force
_patience = [Patience()]


@contextmanager
def patience(seconds: float, report: Callable[[str], None] = _unreported) -> Iterator[None]:
    """Wait so long for every lock that is taken inside; after a second, report what for."""
    _patience.append(Patience(seconds, report))
    try:
        yield
    finally:
        _patience.pop()


def patience_now() -> Patience:
    """The patience in force."""
    return _patience[-1]
