"""An edit of a file that is no Python -> hunks of lines.

Each has as many lines around as make its place the only one.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from patcher.author.spatch_draft import DraftFile, DraftHunk, FileEdit, LeftOut
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.message import Message
from patcher.model import TEXT, HunkText
from patcher.record import Record
from patcher.text.lines import LineEdit, grouped, line_edits

_NEAR = 3  # lines between two changes, up to which they are one hunk
_MOST = 30  # lines around a change


class _Form(Record):
    """One way to write a hunk, as text and as it is read."""

    text: str
    hunk: HunkText


def line_file(edit: FileEdit, others: Sequence[Mapping[str, bytes]]) -> DraftFile:
    """The hunks of an edited file.

    Each holds in the further releases that have the file, if any form does.
    """
    old, new = edit.before.splitlines(keepends=True), edit.after.splitlines(keepends=True)
    texts = [release[edit.path] for release in others if edit.path in release]
    hunks: list[DraftHunk] = []
    left_out: list[LeftOut] = []
    for group in grouped(line_edits(old, new), _NEAR):
        start, end = group[0][0], group[-1][1]
        begin, stop = group[0][2], group[-1][3]
        changed = new[begin:stop]
        expected = b"".join([*old[:start], *changed, *old[end:]])
        forms: list[_Form] = []
        for form in _forms(edit.path, old, new=new, group=group):
            if rewrite(edit.before, [form.hunk], {}).data == expected:
                forms.append(form)

        if forms:
            best = next((form for form in forms if _holds(form.hunk, texts)), forms[0])
            hunks.append(DraftHunk(best.text, begin + 1, form=Message("lines of text")))
        else:
            shown = "".join(f"+{_decoded(row)}\n" for row in changed)
            why = Message("no lines around it make the place the only one")
            left_out.append(LeftOut(edit.path, begin + 1, text=shown, why=why))
    return DraftFile((edit.path,), tuple(hunks), left_out=tuple(left_out))


def _holds(hunk: HunkText, texts: Sequence[bytes]) -> bool:
    """Whether a hunk can be applied to each of these texts."""
    for text in texts:
        (answer,) = rewrite(text, [hunk], {}).answers
        if answer.state.failed:
            return False
    return True


def _forms(
    path: str, old: Sequence[bytes], new: Sequence[bytes], group: Sequence[LineEdit]
) -> Iterator[_Form]:
    """A group of edits as hunks, with more and more lines around; none that cannot be written."""
    for around in range(_MOST):
        first, last = max(0, group[0][0] - around), min(len(old), group[-1][1] + around)
        rows = [f"@@ {TEXT} @@"]
        at = first
        for start, end, begin, stop in [*group, (last, last, 0, 0)]:
            rows += _tagged(" ", old[at:start])
            rows += _tagged("-", old[start:end])
            rows += _tagged("+", new[begin:stop])
            at = end
        text = "\n".join([*rows, ""])
        try:
            (patch,) = parse_spatch(f"--- {path}\n{text}", path)[1]
            yield _Form(text, patch.hunks[0])
        # a run, or what begins a file, or the before side is empty
        except (PatchError, ValueError):
            continue


def _tagged(tag: str, rows: Sequence[bytes]) -> list[str]:
    return [tag + _decoded(row) for row in rows]


def _decoded(row: bytes) -> str:
    return row.decode("utf-8", "replace").rstrip("\r\n")
