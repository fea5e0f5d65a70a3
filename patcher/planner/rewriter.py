"""What the planner asks for the result of hunks on a text: the known results first, then the engine."""

from __future__ import annotations

import sys
from functools import lru_cache
from hashlib import sha256

from patcher import __version__
from patcher.model import Rewrite
from patcher.patchset.sources import builtin_table
from patcher.planner.known import Request, Table, is_kept, key_of, write_table
from patcher.system import results

_MAKER = (__version__, f"{sys.version_info[0]}.{sys.version_info[1]}")  # whose builtins are no unbound names


def rewrite(data: bytes, request: Request) -> Rewrite:
    """Apply all hunks of a patchset for one file, or none of them: bytes in, `Rewrite` out.

    What the engine had to work out is written to the personal cache; where that cannot be used, nothing is said.

    Args:
        data: the file's bytes.
        request: what is asked.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    known = _shipped(request.patchset).find(key_of(data, request), data, request)
    if known is None:
        key = key_of(data, request, _MAKER)
        name = sha256(key.encode()).hexdigest()
        known = Table(results.read(name)).find(key, data, request)
        if known is None:
            known = engine(data, request)
            if is_kept(known):
                results.write(name, write_table({key: known}))
    return known


def engine(data: bytes, request: Request) -> Rewrite:
    """The same, always worked out anew."""
    from patcher.engine.engine import compile_hunks, rewrite  # imports libcst: it costs more than all the rest together

    compile_hunks(request.every, request.options)  # those for absent files too
    return rewrite(data, request.hunks, request.options, request.names)


@lru_cache(maxsize=None)
def _shipped(name: str) -> Table:
    """The known results that ship with the built-in patchset of this name; those of other sources are not believed."""
    return Table(builtin_table(name))
