"""Which files are meant by the words of a command line, and files that grow, read as they do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Sequence

from patcher.diagnose.log import PIECE, Log, LogReader, ended_early
from patcher.errors import UsageError
from patcher.message import Message, joined

STDIN = "-"


def log_files(words: Sequence[str]) -> List[str]:
    """The files that are meant, `-` for standard input; of a directory all files below it (no pipes: they may never end).

    Raises:
        UsageError: with every file and directory that is not there or may not be read.
    """
    found: List[str] = []
    wrong: List[str] = []

    def refused(error: OSError) -> None:
        wrong.append(Message("{path}: it may not be read", path=error.filename))

    for word in words:
        if Path(word).is_dir():
            below = [Path(top) / name for top, _, files in os.walk(word, onerror=refused) for name in files]
            found += sorted(str(path) for path in below if path.is_file())
        else:
            found.append(word)
    for path in found:
        if path != STDIN and not Path(path).exists():
            wrong.append(Message("{path}: there is no such file", path=path))
        elif path != STDIN and not os.access(path, os.R_OK):
            refused(OSError(0, "", path))
    if wrong:
        raise UsageError(joined("\n", wrong))
    return list(dict.fromkeys(found))


class Tail:
    """A file that grows: what was written to it since it was read last. A file that was begun anew is read from its start."""

    def __init__(self, path: str, patterns: Sequence[str]) -> None:
        self._path = path
        self._reader = LogReader(path, patterns)
        self._at, self._inode = 0, -1

    def read(self) -> bool:
        """Read what is new; whether there was anything. Why reading ended early is the log's `problem`."""
        try:
            with Path(self._path).open("rb") as file:
                info = os.fstat(file.fileno())
                if self._inode not in (-1, info.st_ino) or info.st_size < self._at:
                    self._at = 0
                self._inode = info.st_ino
                file.seek(self._at)
                begin = self._at
                while piece := file.read(PIECE):
                    self._reader.feed(piece)
                    self._at += len(piece)
                return self._at > begin
        except OSError as error:
            self._reader.problem = ended_early(error)
            return False

    def log(self) -> Log:
        """What was found so far."""
        return self._reader.log()
