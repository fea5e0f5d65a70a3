"""Which logs the words of a command line mean; logs read to their end, also through gzip."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from pathlib import Path
from shlex import quote
from typing import BinaryIO, Callable, Sequence, cast

from patcher.diagnosis.log import Log, LogReader
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.text.terminal import printable

STDIN = "-"
PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_FORMAT = re.compile(
    rb"(?P<gzip>\x1f\x8b)"
    rb"|(?P<bzip2>BZh)"
    rb"|(?P<xz>\xfd7zXZ\0)"
    rb"|(?P<zstd>\x28\xb5\x2f\xfd)"
    rb"|(?P<zip>PK\x03\x04)"
    rb"|(?P<tar>.{257}ustar)"
    rb"|(?P<UTF_16>(?:\xff\xfe|\xfe\xff)[^\0]*\0)",
    re.DOTALL,
)
"""What a file begins with that is no plain text."""
_DAMAGE = (OSError, EOFError, zlib.error)
"""What reading a log raises that is damaged, or on a disk that fails."""


def log_files(words: Sequence[str]) -> list[str]:
    """The files that are meant, `-` for standard input; of a directory all files below it.

    Pipes below a directory are left out: they may never end.

    Raises:
        UsageError: with every file and directory that is not there or may not be read.
    """
    files: list[str] = []
    problems: list[str] = []

    def refuse(path: str) -> None:
        problems.append(Message("{path}: it may not be read", path=path))

    for word in words:
        if Path(word).is_dir():
            files += _files_below(word, refuse)
        else:
            files.append(word)
    for path in files:
        if path == STDIN:
            continue
        if not Path(path).exists():
            problems.append(Message("{path}: there is no such file", path=path))
        elif not os.access(path, os.R_OK):
            refuse(path)
    if problems:
        hint: str = Message("name logs, directories of logs, or - to pipe or paste a text")
        texts = [path for path in files if " " in path and "/" not in path]
        if texts:
            text = "the text of an error is looked up with: sitepatch list {text}{env}"
            hint = joined("\n", (Message(text, text=quote(texts[0])), hint))
        raise UsageError(joined("\n", problems), hint)
    return list(dict.fromkeys(files))


def _files_below(folder: str, refuse: Callable[[str], None]) -> list[str]:
    """The files below a directory, sorted; `refuse` takes directories that may not be read."""
    paths: list[str] = []
    for top, _, names in os.walk(folder, onerror=lambda error: refuse(error.filename)):
        for name in names:
            path = Path(top) / name
            if path.is_file():
                paths.append(str(path))
    return sorted(paths)


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
        format_name = _format(piece)
        if format_name:
            template = (
                "its format is {how}, which is not read: unpack it into a pipe, as plain text"
            )
            reader.problem = Message(template, how=format_name)
        while piece:
            reader.feed(piece)
            progress(len(piece))
            piece = read(PIECE)
    except _DAMAGE as error:  # what was read still counts
        reader.problem = Message("reading ended early: {error}", error=printable(str(error)))
    reader.feed(b"", last=True)
    return reader.log()


def _format(begin: bytes) -> str:
    """The format of a file that begins so: `gzip`, `UTF-16`, ...; "" where it is plain text."""
    match = _FORMAT.match(begin)
    name = match.lastgroup if match else ""
    return (name or "").replace("_", "-")
