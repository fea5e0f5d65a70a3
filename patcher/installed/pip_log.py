"""What pip logs while it looks for releases."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import Iterator


class PipLog(logging.Handler):
    """What pip logs, by thread, and nobody else hears."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[int | None, list[str]] = {}
        self._logger = logging.getLogger("pip")
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False
        self._logger.addHandler(self)

    def close(self) -> None:
        """Give the logger back as it was."""
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line of a thread that is recorded."""
        if record.thread in self._lines:
            self._lines[record.thread].append(record.getMessage())

    @contextmanager
    def recorded(self) -> Iterator[list[str]]:
        """What this thread has pip log from now on."""
        lines = self._lines[threading.get_ident()] = []
        try:
            yield lines
        finally:
            del self._lines[threading.get_ident()]
