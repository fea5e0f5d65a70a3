"""The signals that ask a process to end: as Ctrl-C, or ignored while something is half done."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import Any, Iterator, TextIO

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does, unless they are handled."""
    with _handled(_interrupt, only_default=True):
        yield


@contextmanager
def ignored() -> Iterator[None]:
    """Do not end inside: what is done here is short and has to be done whole."""
    with _handled(signal.SIG_IGN):
        yield


def end_interrupted(why: str = "", head: str = "interrupted:") -> int:
    """Say, after `head`, that Ctrl-C ended the command, and `why`; return the exit code.

    What is still to be written to stdout is dropped: it may be a pipe that nobody reads, and the
    process would wait.
    """
    # stderr may be such a pipe too: a second Ctrl-C ends the process
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    drop_output(sys.stdout)
    line = f"{head} {why}" if why else head[:-1]
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
    return 130


def drop_output(stream: TextIO) -> None:
    """Drop what is still to be written to a stream, and all that follows."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@contextmanager
def _handled(handler: Any, *, only_default: bool = False) -> Iterator[None]:
    """Handle the signals that end a process in this way.

    With `only_default`, not those that are handled or ignored already.
    """
    old = {}
    with suppress(ValueError):  # not the main thread, which alone may handle signals
        for name in _STOPPING:
            number = getattr(signal, name)
            if not only_default or signal.getsignal(number) is signal.SIG_DFL:
                old[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old_handler in old.items():
            signal.signal(number, old_handler)
