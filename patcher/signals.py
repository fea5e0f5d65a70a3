"""The signals that ask a process to end: as Ctrl-C, or not at all while something must not be left half done."""

from __future__ import annotations

import signal
from contextlib import contextmanager, suppress
from typing import Any, Iterator

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does, unless somebody ignores or handles them."""
    with _handled(_interrupt, only_default=True):
        yield


@contextmanager
def ignored() -> Iterator[None]:
    """Do not end inside: what is done here is short and has to be done whole."""
    with _handled(signal.SIG_IGN):
        yield


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@contextmanager
def _handled(handler: Any, *, only_default: bool = False) -> Iterator[None]:
    """Handle the signals that end a process so; with `only_default` not those that somebody handles or ignores."""
    old = {}
    with suppress(ValueError):  # not the main thread: signals are the business of that one
        for name in _STOPPING:
            number = getattr(signal, name)
            if not only_default or signal.getsignal(number) is signal.SIG_DFL:
                old[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, was in old.items():
            signal.signal(number, was)
