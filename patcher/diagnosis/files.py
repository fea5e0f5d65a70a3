"""Which files are meant by the words of a command line; files read to their end, and as they grow, also through gzip."""

from __future__ import annotations

import gzip
import os
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import BinaryIO, Callable, List, Sequence, cast

from patcher.diagnosis.log import Log, LogReader
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.text.terminal import printable

STDIN = "-"
PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_PACKED = {_GZIP: "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_TAR_AT, _TAR = 257, b"ustar"
_DAMAGE = (OSError, EOFError, zlib.error)  # what reading a log raises that is damaged, or on a disk that fails


def log_files(words: Sequence[str]) -> List[str]:
    """The files that are meant, `-` for standard input; of a directory all files below it (no pipes: they may never end).

    Raises:
        UsageError: with every file and directory that is not there or may not be read.
    """
    files: List[str] = []
    wrong: List[str] = []

    def refused(error: OSError) -> None:
        wrong.append(Message("{path}: it may not be read", path=error.filename))

    for word in words:
        if Path(word).is_dir():
            below = [Path(top) / name for top, _, names in os.walk(word, onerror=refused) for name in names]
            files += sorted(str(path) for path in below if path.is_file())
        else:
            files.append(word)
    for path in files:
        if path != STDIN and not Path(path).exists():
            wrong.append(Message("{path}: there is no such file", path=path))
        elif path != STDIN and not os.access(path, os.R_OK):
            refused(OSError(0, "", path))
    if wrong:
        raise UsageError(joined("\n", wrong), "name logs, directories of logs, or - to pipe or paste a text")
    return list(dict.fromkeys(files))


def _packing(begin: bytes) -> str:
    """What has compressed or packed a file that begins like this: `gzip`, `zip`, ...; "" where it is plain."""
    names = (name for magic, name in _PACKED.items() if begin.startswith(magic))
    return next(names, "tar" if begin[_TAR_AT:].startswith(_TAR) else "")


def packed_by(path: str) -> str:
    """What has compressed or packed a file; "" where it is plain, is no file, or cannot be read."""
    if not Path(path).is_file():  # a pipe would lose what is read
        return ""
    try:
        with Path(path).open("rb") as file:
            return _packing(file.read(_TAR_AT + len(_TAR)))
    except OSError:
        return ""


def read_log(
    name: str, stream: BinaryIO, patterns: Sequence[str] = (), progress: Callable[[int], None] = lambda size: None
) -> Log:
    """Read a log to its end; one that is compressed by gzip is read through it.

    Args:
        name: what to call the log.
        stream: a buffered binary stream; need not be seekable.
        patterns: what to look for.
        progress: called with the size of every piece, in bytes (uncompressed).
    """
    reader = LogReader(name, patterns)
    peek = getattr(stream, "peek", None)
    if peek and bytes(peek(len(_GZIP))).startswith(_GZIP):
        stream = cast(BinaryIO, gzip.GzipFile(mode="rb", fileobj=stream))
    read, is_first = getattr(stream, "read1", stream.read), True  # a pipe gives what it has: progress is shown as it comes
    try:
        while piece := read(PIECE):
            reader.problem = _not_read(piece) if is_first else reader.problem
            reader.feed(piece)
            progress(len(piece))
            is_first = False
    except _DAMAGE as error:  # what was read still counts
        reader.problem = _ended_early(error)
    reader.feed(b"", last=True)
    return reader.log()


def _ended_early(error: BaseException) -> str:
    return Message("reading ended early: {error}", error=printable(str(error)))


def _not_read(first: bytes) -> str:
    """Why nothing can be found in a log that begins like this, "" where it can."""
    utf_16 = first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) and b"\0" in first
    how = _packing(first) or ("UTF-16" if utf_16 else "")
    return Message("its format is {how}, which is not read: unpack it into a pipe, as plain text", how=how) if how else ""


class Tail:
    """A file that grows: what was written to it since it was read last. One that was truncated is read from its start."""

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
            self._reader.problem = _ended_early(error)
            return False

    def log(self) -> Log:
        """What was found so far."""
        return self._reader.log()
