"""What the other packages ask of the engine.

A command whose results are known asks none of it: what needs a syntax tree is imported inside the
functions. `patcher.engine.spatch` reads the text of a patch; `patcher.engine.explain` says why a
hunk does not fit, `overlap` which hunks meet; `patcher.engine.tree` serves those who write patches,
and knows the syntax of a file. Everything else in this package is private to it.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.engine.text import rewrite_text
from patcher.model import HunkText, OptionValue, Rewrite, Splice

Options = Mapping[str, OptionValue]


def rewrite(
    data: bytes, hunks: Sequence[HunkText], options: Options, injected: Sequence[str] = ()
) -> Rewrite:
    """Apply all hunks of one patchset for one file, or none of them.

    Args:
        data: the file's bytes.
        hunks: all matched against this same text.
        options: the value of each `$option`.
        injected: names that exist at run time without being bound in the file.

    Returns:
        the new bytes and their splices; where an answer has a failed state, the old bytes and none.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    if hunks and hunks[0].plain:
        return rewrite_text(data, hunks)
    from patcher.engine.answers import rewrite_source

    return rewrite_source(data, hunks, options, injected)


def splices_problem(data: bytes, splices: Sequence[Splice], injected: Sequence[str] = ()) -> str:
    """What is wrong with the Python file that splices make: syntax or names (rules 20 and 21).

    Empty if nothing is.
    """
    from patcher.engine.check import change_problem

    return change_problem(data, splices, injected)


def check_hunks(hunks: Sequence[HunkText], options: Options) -> None:
    """Check hunks by themselves, without a text.

    Raises:
        PatchError: with the problems of all of them, one per line.
    """
    from patcher.engine.spatch.pattern import compile_hunks

    compile_hunks(hunks, options)
