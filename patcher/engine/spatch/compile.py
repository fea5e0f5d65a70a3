"""The hunks of a `.spatch` -> `Hunk`s ready to be matched, with all that is wrong with them."""

from __future__ import annotations

from functools import lru_cache
from typing import List, Mapping, Sequence, Tuple

from patcher.engine.lex import Lines
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.pattern import compile_hunk
from patcher.engine.spatch.side import Hunk, Side
from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import HunkText, OptionValue

_SHORT = 3  # characters without blanks, below which a text names no place


def compile_hunks(hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> List[Hunk]:
    """Parse and check hunks, but for those that are no syntax.

    Raises:
        PatchError: with the problems of all of them, one a line.
    """
    compiled: List[Hunk] = []
    problems: List[PatchError] = []
    for hunk in (hunk for hunk in hunks if not hunk.plain):
        forms: List[Hunk] = []
        for form in hunk.forms:
            try:
                forms.append(_compiled(form, tuple(sorted(options.items()))))
            except PatchError as error:
                problems.append(error)
            except RecursionError:
                message = Message("the hunk is nested too deeply or too long to be read")
                problems.append(PatchError.at(Location(form.origin, form.line), message))
        compiled += [form._replace(text=hunk, others=tuple(forms[1:])) for form in forms[:1]]
    if problems:
        raise PatchError.joined(problems)
    return compiled


@lru_cache(maxsize=256)
def _compiled(hunk: HunkText, options: Tuple[Tuple[str, OptionValue], ...]) -> Hunk:
    return _compile_part(hunk) if hunk.in_string else compile_hunk(hunk, dict(options))


def _compile_part(hunk: HunkText) -> Hunk:
    """Compile an `in-string` hunk: its two sides are text, not code.

    Raises:
        PatchError: too little to name a place, or nothing that would change.
    """
    before, after = _side(hunk, "-"), _side(hunk, "+")
    if len("".join(before.written.split())) < _SHORT:
        message = Message("the before side is too little to name a place: write {name} characters of it", name=_SHORT)
        reject(hunk.origin, hunk.line, message)
    if before.written == after.written:
        reject(hunk.origin, hunk.line, Message("the two sides are the same text: nothing would change"))
    larger = before.written in after.written
    proves = larger or (after.written not in before.written and len(after.written.split()) > 1)
    return Hunk(hunk, "text", before, after, proves, hunk.scope, {})


def _side(hunk: HunkText, tag: str) -> Side:
    lines = [(line, number, kind) for kind, line, number in hunk.lines if kind in (" ", tag)]
    written = "\n".join(line for line, _, _ in lines)
    numbers = tuple(number for _, number, _ in lines) or (hunk.line,)
    context = frozenset(number for _, number, kind in lines if kind == " ")
    return Side(written, written, [], numbers, context, Lines(written), frozenset(), "", frozenset())
