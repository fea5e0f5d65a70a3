"""Run by the target interpreter: which bytecode in its caches is not of the source beside it, and would run all the same.

    python -I -B bytecode.py < PATHS > FOUND

Standard library alone, Python 3.6 or later, nothing of ours. PATHS is a JSON list of source files; the last line of FOUND is
a JSON list of [source file, bytecode file].
"""

import json
import marshal
import sys
from importlib import util
from pathlib import Path
from typing import Iterator


def is_stale(source: Path, bytecode: Path, level: int) -> bool:
    """Whether the interpreter would take this bytecode for that of the source, and it is of another text (PEP 552)."""
    cached, data, info = bytecode.read_bytes(), source.read_bytes(), source.stat()
    if cached[:4] != util.MAGIC_NUMBER or len(cached) < 16:
        return False
    flags = int.from_bytes(cached[4:8], "little")
    stamp = [int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF]
    if flags == 3 and cached[8:16] != util.source_hash(data):
        return False
    if flags == 0 and [int.from_bytes(cached[at : at + 4], "little") for at in (8, 12)] != stamp:
        return False
    try:
        return bool(
            marshal.loads(cached[16:])
            != compile(data, str(source), "exec", dont_inherit=True, optimize=level)
        )
    except Exception:  # marshal raises anything: what cannot be read is not of this source
        return True


def stale_files(source: str) -> Iterator[str]:
    """The bytecode files of a source, of every level of optimisation, that are of another text."""
    for level, name in ((0, ""), (1, "1"), (2, "2")):
        bytecode = Path(util.cache_from_source(source, optimization=name))
        if bytecode.exists() and is_stale(Path(source), bytecode, level):
            yield str(bytecode)


if __name__ == "__main__":
    pairs = [
        (source, bytecode) for source in json.load(sys.stdin) for bytecode in stale_files(source)
    ]
    sys.stdout.write("\n" + json.dumps(pairs))
