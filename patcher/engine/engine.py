"""What the other packages ask of the engine.

Only what matches a hunk needs a syntax tree, and with it libcst: it is imported inside the
functions. `patcher.engine.spatch` reads the text of a patch; `patcher.engine.tree` serves those who
write patches, and knows the syntax of a file. Everything else in this package is private to it.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.engine.text import rewrite_text
from patcher.model import Explanation, HunkText, OptionValue, Rewrite, Splice

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


def explain(
    data: bytes, hunks: Sequence[HunkText], options: Options, injected: Sequence[str] = ()
) -> tuple[Explanation, ...]:
    """Why each hunk does or does not match a text; arguments and states are those of `rewrite`.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    from patcher.engine.explain import explain_hunks

    answers = rewrite(data, hunks, options, injected).answers
    return explain_hunks(data, hunks, options, answers=answers)


def check_hunks(hunks: Sequence[HunkText], options: Options) -> None:
    """Check hunks by themselves, without a text.

    Raises:
        PatchError: with the problems of all of them, one per line.
    """
    from patcher.engine.spatch.pattern import compile_hunks

    compile_hunks(hunks, options)


def overlaps(hunks: Sequence[HunkText], options: Options) -> tuple[tuple[int, int], ...]:
    """The hunks for one file that change what another one changes: the 1-based lines of both `@@`.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    from patcher.engine.overlap import meeting

    return tuple(meeting(hunks, options))


def definitions(data: bytes, scope: str) -> tuple[int, ...]:
    """The first lines (1-based) of the definitions of a file that a scope names (`*` is a glob).

    A file that is not Python has none.
    """
    from patcher.engine.node import SyntaxProblem
    from patcher.engine.source import Source, in_scope

    try:
        source = Source(data)
    except SyntaxProblem:
        return ()
    lines = []
    for definition in source.definitions():
        if in_scope(definition.name, scope):
            lines.append(source.lines.number(definition.start))
    return tuple(lines)
