"""Run by the target interpreter: which bytecode is not that of the source beside it, yet would run.

    python -I -B stale_bytecode.py < PATHS > PAIRS

Standard library alone, Python 3.6 or later, nothing of ours. PATHS is a JSON list of source files;
the last line of PAIRS is a JSON list of [source file, bytecode file].
"""

import json
import marshal
import sys
from importlib import util
from pathlib import Path
from typing import Iterator

_HASHED = 3
"""Flags of bytecode with a hash of its source, which is checked; 0: with its time and size."""


def is_stale(source: Path, bytecode: Path, level: int) -> bool:
    """Whether the interpreter would run this bytecode, and it is of another text than the source.

    Source: PEP 552.
    """
    cached = bytecode.read_bytes()
    data = source.read_bytes()
    if cached[:4] != util.MAGIC_NUMBER or len(cached) < 16:
        return False
    flags = _number(cached, 4)
    if flags == _HASHED and cached[8:16] != util.source_hash(data):
        return False
    if flags == 0:
        info = source.stat()
        stamp = (int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF)
        if (_number(cached, 8), _number(cached, 12)) != stamp:
            return False
    try:
        code = compile(data, str(source), "exec", dont_inherit=True, optimize=level)
        return bool(marshal.loads(cached[16:]) != code)
    except Exception:  # marshal raises anything: what cannot be read is not of this source
        return True


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def stale_files(source: str) -> Iterator[str]:
    """The bytecode files of a source, of every level of optimisation, that are of another text."""
    for level, name in ((0, ""), (1, "1"), (2, "2")):
        bytecode = Path(util.cache_from_source(source, optimization=name))
        if bytecode.exists() and is_stale(Path(source), bytecode, level):
            yield str(bytecode)


def _main() -> None:
    pairs = []
    for source in json.load(sys.stdin):
        for bytecode in stale_files(source):
            pairs.append((source, bytecode))
    sys.stdout.write("\n" + json.dumps(pairs))


if __name__ == "__main__":
    _main()
