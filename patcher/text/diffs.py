"""Unified diffs of files, in their own bytes, as `git apply` and `patch -p1` take them."""

from __future__ import annotations

from hashlib import sha256
from typing import Iterable, NamedTuple, Sequence

from patcher.model import Plan
from patcher.text.lines import LineEdit, grouped, line_edits
from patcher.text.listed import release_name

CONTEXT = 3


class FileDiff(NamedTuple):
    """The difference of a file: `text` is a unified diff with `a/` and `b/` before the path, in the file's own bytes.

    `patchsets` are the names of those that make the difference, () for edits by hand; `before` and `after` are the sha256
    (hex) of the bytes `old` and `new`, `before` "" for a file that is not there; `release` is the name and version of the
    file's distribution, where that is known.
    """

    site: str
    path: str
    patchsets: tuple[str, ...]
    before: str
    after: str
    added: int
    removed: int
    text: bytes
    old: bytes
    new: bytes
    release: str = ""

    @property
    def lines(self) -> tuple[bytes, ...]:
        """What `text` shows, wherever in a file it stands: its lines without the paths and the numbers."""
        return tuple(line for line in self.text.split(b"\n")[2:] if not line.startswith(b"@@"))


def diff_texts(
    site: str, path: str, before: bytes | None, after: bytes, patchsets: Iterable[str] = ()
) -> FileDiff:
    """The difference between two texts of a file; `text` is b"" where they are the same.

    `before` is None for a file that is not there. Only LF ends a line, as it does for git and patch: a lone CR and the CR of
    CRLF are bytes like any other.
    """
    old, new = _lines(before or b""), _lines(after)
    edits = line_edits(old, new) if before != after else []
    out: list[bytes] = []
    if edits:
        # ends a name with spaces
        name = path.encode("utf-8", "surrogateescape") + (b"\t" if " " in path else b"")
        out = [b"--- /dev/null\n" if before is None else b"--- a/%s\n" % name, b"+++ b/%s\n" % name]
    for group in grouped(edits, 2 * CONTEXT):
        out += _hunk(old, new, group)
    added, removed = sum(j2 - j1 for _, _, j1, j2 in edits), sum(i2 - i1 for i1, i2, _, _ in edits)
    hashes = "" if before is None else sha256(before).hexdigest(), sha256(after).hexdigest()
    return FileDiff(
        site, path, tuple(patchsets), *hashes, added, removed, b"".join(out), before or b"", after
    )


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunk(old: Sequence[bytes], new: Sequence[bytes], edits: Sequence[LineEdit]) -> list[bytes]:
    start, end = max(0, edits[0][0] - CONTEXT), min(len(old), edits[-1][1] + CONTEXT)
    shift, shift_after = edits[0][2] - edits[0][0], edits[-1][3] - edits[-1][1]
    out = [f"@@ -{_range(start, end)} +{_range(start + shift, end + shift_after)} @@\n".encode()]
    at = start
    for i1, i2, j1, j2 in edits:
        out += [b" " + line for line in old[at:i1]]
        out += [b"-" + line for line in old[i1:i2]]
        out += [b"+" + line for line in new[j1:j2]]
        at = i2
    out += [b" " + line for line in old[at:end]]
    return [
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in out
    ]


def _range(start: int, end: int) -> str:
    """A range as a unified diff writes it: an empty one is named by the line before it."""
    if end - start == 1:
        return str(start + 1)
    return f"{start if start == end else start + 1},{end - start}"


def plan_diffs(plan: Plan) -> list[FileDiff]:
    """What a plan would change, file by file."""
    diffs = []
    for file in plan.files:
        if file.before != file.after:
            names, receipt = (
                [step.patchset for step in file.steps],
                file.change.receipt if file.change else None,
            )
            release = (
                release_name(receipt.package, receipt.distribution, receipt.version)
                if receipt
                else ""
            )
            before = None if file.change and not file.change.old else file.before
            diffs.append(
                diff_texts(file.site, file.path, before, file.after, names)._replace(
                    release=release
                )
            )
    return diffs
