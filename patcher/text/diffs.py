"""Unified diffs of files, in their own bytes, as `git apply` and `patch -p1` take them."""

from __future__ import annotations

from hashlib import sha256
from typing import Iterable, Sequence

from patcher.model import Plan
from patcher.record import Record, reported
from patcher.text.lines import LineEdit, grouped, line_edits
from patcher.text.listed import release_name

CONTEXT = 3


@reported("site path patchsets sha256_before sha256_after added removed text release")
class FileDiff(Record):
    """The difference of a file.

    Attributes:
        site: the site directory.
        path: the path below it.
        patchsets: the names of the patchsets that make the difference; none for edits by hand.
        old: the bytes before, None for a file that is not there.
        new: the bytes after, None for a file that is deleted.
        text: a unified diff with `a/` and `b/` before the path, in the file's own bytes.
        release: the name and version of the file's distribution, "" where that is not known.
    """

    site: str
    path: str
    patchsets: tuple[str, ...]
    old: bytes | None
    new: bytes | None
    text: bytes
    release: str = ""

    @property
    def sha256_before(self) -> str:
        """The sha256 (hex) of the file before; empty for a file that is not there."""
        return "" if self.old is None else sha256(self.old).hexdigest()

    @property
    def sha256_after(self) -> str:
        """The sha256 (hex) of the file after; empty for a file that is deleted."""
        return "" if self.new is None else sha256(self.new).hexdigest()

    @property
    def added(self) -> int:
        """How many lines are inserted."""
        return self._count(b"+")

    @property
    def removed(self) -> int:
        """How many lines are deleted."""
        return self._count(b"-")

    @property
    def lines(self) -> tuple[bytes, ...]:
        """What `text` shows, wherever in a file it stands: without the paths and the numbers."""
        return tuple(line for line in self._body() if not line.startswith(b"@@"))

    def _count(self, tag: bytes) -> int:
        return sum(line.startswith(tag) for line in self._body())

    def _body(self) -> list[bytes]:
        return self.text.split(b"\n")[2:]


def diff_texts(
    site: str,
    path: str,
    before: bytes | None,
    after: bytes | None,
    patchsets: Iterable[str] = (),
    release: str = "",
) -> FileDiff:
    """The difference between two texts of a file; its `text` is empty where they are the same.

    `before` is None for a file that is not there, `after` for one that is deleted. Only LF ends a
    line, as it does for git and patch: a lone CR and the CR of CRLF are bytes like any other.
    """
    text = _unified(path, before, after)
    return FileDiff(
        site=site,
        path=path,
        patchsets=tuple(patchsets),
        old=before,
        new=after,
        text=text,
        release=release,
    )


def _unified(path: str, before: bytes | None, after: bytes | None) -> bytes:
    if before == after:
        return b""
    old = _lines(before or b"")
    new = _lines(after or b"")
    edits = line_edits(old, new)
    if not edits:
        return b""

    name = path.encode("utf-8", "surrogateescape")
    if " " in path:
        name += b"\t"  # ends a name with spaces
    out = [
        b"--- /dev/null\n" if before is None else b"--- a/%s\n" % name,
        b"+++ /dev/null\n" if after is None else b"+++ b/%s\n" % name,
    ]
    for group in grouped(edits, 2 * CONTEXT):
        out += _hunk(old, new, group)
    return b"".join(out)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunk(old: Sequence[bytes], new: Sequence[bytes], edits: Sequence[LineEdit]) -> list[bytes]:
    start = max(0, edits[0][0] - CONTEXT)
    end = min(len(old), edits[-1][1] + CONTEXT)
    start_after = start + edits[0][2] - edits[0][0]
    end_after = end + edits[-1][3] - edits[-1][1]

    lines = [f"@@ -{_range(start, end)} +{_range(start_after, end_after)} @@\n".encode()]
    at = start
    for i1, i2, j1, j2 in edits:
        lines += [b" " + line for line in old[at:i1]]
        lines += [b"-" + line for line in old[i1:i2]]
        lines += [b"+" + line for line in new[j1:j2]]
        at = i2
    lines += [b" " + line for line in old[at:end]]

    out = []
    for line in lines:
        out.append(line)
        if not line.endswith(b"\n"):
            out.append(b"\n\\ No newline at end of file\n")
    return out


def _range(start: int, end: int) -> str:
    """A range as a unified diff writes it: an empty one is named by the line before it."""
    if end - start == 1:
        return str(start + 1)
    return f"{start if start == end else start + 1},{end - start}"


def plan_diffs(plan: Plan) -> list[FileDiff]:
    """What a plan would change, file by file."""
    diffs = []
    for file in plan.files:
        if not file.changes:
            continue
        receipt = file.to_commit.receipt if file.to_commit else None
        release = ""
        if receipt:
            release = release_name(
                receipt.release.package, receipt.release.distribution, receipt.release.version
            )
        is_new = file.to_commit is not None and not file.to_commit.old
        diff = diff_texts(
            site=file.site,
            path=file.path,
            before=None if is_new else file.before,
            after=None if file.gone else file.after,
            patchsets=[step.patchset for step in file.steps],
            release=release,
        )
        diffs.append(diff)
    return diffs
