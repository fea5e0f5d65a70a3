"""An edit of a file that is no Python -> hunks of lines, with as many lines around as make the place the only one."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from patcher.author.draft import DraftFile, DraftHunk, FileEdit, LeftOut
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.message import Message
from patcher.model import TEXT, HunkText
from patcher.text.lines import LineEdit, grouped, line_edits

_NEAR = 3  # lines between two changes, up to which they are one hunk
_MOST = 30  # lines around a change


def line_file(edit: FileEdit, others: Sequence[Mapping[str, bytes]]) -> DraftFile:
    """The hunks of an edited file; each holds in the further releases that have the file, if any form does."""
    old, new = (data.splitlines(keepends=True) for data in (edit.before, edit.after))
    texts = [release[edit.path] for release in others if edit.path in release]
    hunks: list[DraftHunk] = []
    left_out: list[LeftOut] = []
    for group in grouped(line_edits(old, new), _NEAR):
        first, last = group[0], group[-1]
        line, changed = first[2] + 1, new[first[2] : last[3]]
        expected = b"".join([*old[: first[0]], *changed, *old[last[1] :]])
        forms = [
            form
            for form in _forms(edit.path, old, new, group)
            if rewrite(edit.before, [form[1]], {}).data == expected
        ]
        fit = (
            text
            for text, hunk in forms
            if not any(rewrite(other, [hunk], {}).answers[0].state.failed for other in texts)
        )
        if forms:
            hunks.append(DraftHunk(next(fit, forms[0][0]), line, Message("lines of text")))
        else:
            text = "".join(f"+{_decoded(row)}\n" for row in changed)
            left_out.append(
                LeftOut(
                    edit.path, line, text, Message("no lines around it make the place the only one")
                )
            )
    return DraftFile((edit.path,), tuple(hunks), tuple(left_out))


def _forms(
    path: str, old: Sequence[bytes], new: Sequence[bytes], group: Sequence[LineEdit]
) -> Iterator[tuple[str, HunkText]]:
    """A group of edits as hunks, with more and more lines around; none that cannot be written."""
    for around in range(_MOST):
        first, last = max(0, group[0][0] - around), min(len(old), group[-1][1] + around)
        rows, at = [f"@@ {TEXT} @@"], first
        for start, end, begin, stop in [*group, (last, last, 0, 0)]:
            rows += [" " + _decoded(row) for row in old[at:start]]
            rows += ["-" + _decoded(row) for row in old[start:end]]
            rows += ["+" + _decoded(row) for row in new[begin:stop]]
            at = end
        text = "\n".join([*rows, ""])
        try:
            (patch,) = parse_spatch(f"--- {path}\n{text}", path)[1]
            yield text, patch.hunks[0]
        except (
            PatchError,
            ValueError,
        ):  # a run, or what begins a file, or the before side is empty
            continue


def _decoded(row: bytes) -> str:
    return row.decode("utf-8", "replace").rstrip("\r\n")
