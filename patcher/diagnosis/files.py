"""Which files are meant by the words of a command line; files read to their end, also through gzip."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from pathlib import Path
from typing import BinaryIO, Callable, Sequence, cast

from patcher.diagnosis.log import Log, LogReader
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.text.terminal import printable

STDIN = "-"
PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_FORMAT = re.compile(  # what a file begins with that is no plain text
    rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh)|(?P<xz>\xfd7zXZ\0)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04)|"
    rb"(?P<tar>.{257}ustar)|(?P<UTF_16>(?:\xff\xfe|\xfe\xff)[^\0]*\0)",
    re.DOTALL,
)
# what reading a log raises that is damaged, or on a disk that fails
_DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
)


def log_files(words: Sequence[str]) -> list[str]:
    """The files that are meant, `-` for standard input; of a directory all files below it (no pipes: they may never end).

    Raises:
        UsageError: with every file and directory that is not there or may not be read.
    """
    files: list[str] = []
    wrong: list[str] = []

    def refused(error: OSError) -> None:
        wrong.append(Message("{path}: it may not be read", path=error.filename))

    for word in words:
        if Path(word).is_dir():
            below = [
                Path(top) / name
                for top, _, names in os.walk(word, onerror=refused)
                for name in names
            ]
            files += sorted(str(path) for path in below if path.is_file())
        else:
            files.append(word)
    for path in files:
        if path != STDIN and not Path(path).exists():
            wrong.append(Message("{path}: there is no such file", path=path))
        elif path != STDIN and not os.access(path, os.R_OK):
            refused(OSError(0, "", path))
    if wrong:
        raise UsageError(
            joined("\n", wrong), "name logs, directories of logs, or - to pipe or paste a text"
        )
    return list(dict.fromkeys(files))


def _format(begin: bytes) -> str:
    """The format of a file that begins like this: `gzip`, `zip`, `UTF-16`, ...; "" where it is plain text."""
    found = _FORMAT.match(begin)
    return (found.lastgroup or "").replace("_", "-") if found else ""


def read_log(
    name: str,
    stream: BinaryIO,
    patterns: Sequence[str] = (),
    progress: Callable[[int], None] = lambda size: None,
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
    # a pipe gives what it has: progress is shown as it comes
    read = getattr(stream, "read1", stream.read)
    try:
        piece = read(PIECE)
        if how := _format(piece):
            reader.problem = Message(
                "its format is {how}, which is not read: unpack it into a pipe, as plain text",
                how=how,
            )
        while piece:
            reader.feed(piece)
            progress(len(piece))
            piece = read(PIECE)
    except _DAMAGE as error:  # what was read still counts
        reader.problem = Message("reading ended early: {error}", error=printable(str(error)))
    reader.feed(b"", last=True)
    return reader.log()
