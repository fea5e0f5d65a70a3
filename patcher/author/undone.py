"""A patch of a series of which a later one undoes a part: a form for releases that have the end.

Such a release has what is left of the first patch. Neither side of its hunk is found there: the
one before the change is gone, and the one after it has what was undone.
"""

from __future__ import annotations

import re
from typing import Sequence

from patcher.author.hunks.generalise import generalise
from patcher.author.patched_texts import with_patches
from patcher.author.spatch_draft import FileEdit
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import FilePatch, HunkText
from patcher.record import Record

_NEXT = re.compile(r"@@ (?!or\b)|--- |\+\+\+ ")


class SeriesStep(Record):
    """What a patch of a series made of a file.

    Attributes:
        file: the name of its `.spatch`.
        path: the file.
        before: its text before the patch, as the patches before made it.
        after: the text after it.
    """

    file: str
    path: str
    before: bytes
    after: bytes


def with_end_forms(text: str, step: SeriesStep, end: bytes) -> str:
    """The `.spatch` of a patch with further forms for what is left of it at the end of a series.

    Args:
        text: the `.spatch`.
        step: what the patch made of a file.
        end: what all patches of the series made of it.
    """
    if not _is_undone_in_part(step, end):
        return text
    left = FileEdit(step.path, step.before, end)
    drafted = parse_spatch(generalise([left]).spatch(), step.file)[1]
    for final in _hunks(drafted, step.path):
        for hunk in reversed(_hunks(parse_spatch(text, step.file)[1], step.path)):
            if _is_left_of(final, hunk):
                wider = _with_form(text, hunk, final)
                if _makes(wider, step):
                    text = wider
                break
    return text


def _is_undone_in_part(step: SeriesStep, end: bytes) -> bool:
    """Whether some lines that a patch added are there at the end, and others are not."""
    final = set(end.splitlines())
    added = set(step.after.splitlines()) - set(step.before.splitlines()) - {b""}
    return bool(added - final) and bool(added & final)


def _hunks(patches: Sequence[FilePatch], path: str) -> list[HunkText]:
    hunks: list[HunkText] = []
    for patch in patches:
        if path in patch.places and not patch.hunks[0].plain:
            hunks += patch.hunks
    return hunks


def _is_left_of(final: HunkText, hunk: HunkText) -> bool:
    """Whether a hunk writes a part of what another one does, in the same place."""
    if final.scope != hunk.scope or _lines(final, "-") != _lines(hunk, "-"):
        return False
    added, left = _lines(hunk, "+"), _lines(final, "+")
    return 0 < len(left) < len(added) and set(left) <= set(added)


def _lines(hunk: HunkText, tag: str) -> list[str]:
    """The lines with a tag, without their indentation and blank ones."""
    lines: list[str] = []
    for kind, line, _ in hunk.lines:
        if kind == tag and line.strip():
            lines.append(line.strip())
    return lines


def _with_form(text: str, hunk: HunkText, form: HunkText) -> str:
    """The text of a `.spatch` with one more form of a hunk."""
    lines = text.splitlines()
    end = hunk.line
    while end < len(lines) and not _NEXT.match(lines[end]):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    added = ["@@ or @@", *form.written]
    return "\n".join([*lines[:end], *added, *lines[end:]]) + "\n"


def _makes(text: str, step: SeriesStep) -> bool:
    """Whether a `.spatch` still makes of a file what it made of it, and knows it again."""
    patches = parse_spatch(text, step.file)[1]
    patched = with_patches({step.path: step.before}, patches)
    return not patched.problems and patched.texts[step.path] == step.after
