"""The result of hunks on a text, for the planner: from the known results if it is there, else from the engine."""

from __future__ import annotations

import sys
from functools import lru_cache
from hashlib import sha256
from typing import Optional, Tuple

from patcher import __version__
from patcher.model import HunkText, Requested, Rewrite
from patcher.patchset.places import builtin_table
from patcher.planner.known import KnownTable, Request, is_cacheable, key_of, write_table
from patcher.system import results

_MAKER = (__version__, f"{sys.version_info[0]}.{sys.version_info[1]}")  # which names are builtins depends on the Python


def request_of(requested: Requested, hunks: Tuple[HunkText, ...], names: Tuple[str, ...]) -> Request:
    """The request to apply a patchset's hunks for one file; `names` are those of the variant that they belong to."""
    patchset, options, _ = requested
    every = tuple(hunk for variant in patchset.variants for patch in variant.patches for hunk in patch.hunks)
    return Request(patchset.name, hunks, options, names, every)


def rewrite_cached(data: bytes, request: Request) -> Rewrite:
    """Apply all hunks of a patchset for one file, or none of them.

    A result of the engine is written to the user's cache, if that can be used.

    Args:
        data: the file's bytes.
        request: what to apply.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    known = shipped_result(data, request)
    if known is None:
        key = key_of(data, request, _MAKER)
        name = sha256(key.encode()).hexdigest()
        known = KnownTable(results.read_result(name)).find(key, data, request)
        if known is None:
            known = rewrite_uncached(data, request)
            if is_cacheable(known):
                results.write_result(name, write_table({key: known}))
    return known


def rewrite_uncached(data: bytes, request: Request) -> Rewrite:
    """`rewrite_cached` without known results: always by the engine."""
    from patcher.engine.engine import rewrite  # imports libcst: it costs more than all the rest together
    from patcher.engine.spatch.compile import compile_hunks

    compile_hunks(request.every, request.options)  # those for absent files too
    return rewrite(data, request.hunks, request.options, request.names)


def shipped_result(data: bytes, request: Request) -> Optional[Rewrite]:
    """The result that ships with the built-in patchset of that name; None where it is another request, or another text."""
    return _shipped(request.patchset).find(key_of(data, request), data, request)


@lru_cache(maxsize=None)
def _shipped(name: str) -> KnownTable:
    """The known results that ship with the built-in patchset of this name; those of other sources are not trusted."""
    return KnownTable(builtin_table(name))
