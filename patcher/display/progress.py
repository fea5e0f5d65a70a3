"""Progress of what takes long: click's bar on a terminal, elsewhere a line every half minute."""

from __future__ import annotations

import os
import threading
import time
from typing import TextIO

import click

from patcher.display.styles import translated
from patcher.message import Message
from patcher.text.terminal import clip, terminal_width

# seconds: until a bar is shown, between two looks of it, between two lines of a log
_FIRST, _AGAIN, _LOG = (
    1.0,
    0.25,
    30.0,
)
_UNKNOWN = (number for number in range(0))  # click then shows no length


def _kind(work: str) -> str:
    """What is being done, whatever it names."""
    return work.template if isinstance(work, Message) else work


class ProgressBar:
    """Shows how far a command is, until `end`.

    A thread writes it, so that a step that takes long is seen, too.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._shown = False
        self._begun = time.monotonic()
        self._what, self._total = "", 0
        self._bar = click.progressbar(_UNKNOWN, file=stream)
        threading.Thread(target=self._watch, daemon=True).start()

    def at(self, done: int, total: int, work: str) -> None:
        """`done` of `total` (0: unknown) of `work`, for example "releases fetched".

        It may name what is being done now: the time that is left is still that of all.
        """
        with self._lock:
            is_same = _kind(work) == _kind(self._what) and total == self._total
            self._what = work
            if not is_same:
                self._total, self._begun = total, time.monotonic()
                self._bar = click.progressbar(
                    _UNKNOWN, length=total or None, file=self._stream, width=20
                )
            self._bar.make_step(done - self._bar.pos)

    def end(self) -> None:
        """Remove what was written; nothing is shown from now on."""
        with self._lock:
            self._over.set()
            if self._shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    def _watch(self) -> None:
        pause: float | None = _FIRST if self._live else _LOG
        while not self._over.wait(pause):
            with self._lock:
                if self._what and not self._over.is_set():
                    self._show()
            pause = _AGAIN if self._live else _LOG

    def _show(self) -> None:
        passed = f"{time.monotonic() - self._begun:.0f} s"
        when = (
            translated(Message("{time} left", time=self._bar.format_eta()))
            if self._bar.eta_known
            else passed
        )
        work = translated(self._what)
        of_total = Message("{number} of {total}", number=self._bar.pos, total=self._total)
        amount = f"{translated(of_total)} {work}" if self._total else f"{self._bar.pos} {work}"
        if self._live:
            bar = f"[{self._bar.format_bar()}] " if self._total else ""
            line = f"{bar}{amount}, {when}"
            self._stream.write(f"\r\x1b[K{clip(line, terminal_width() - 1)}")
            self._shown = True
        else:
            self._stream.write(f"{amount}, {when}\n")
        self._stream.flush()
