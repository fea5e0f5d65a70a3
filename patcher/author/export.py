"""What patchsets make of a release, in forms that need no sitepatch: a diff with a DEP-3 header, a quilt series, a program."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.author import standalone
from patcher.model import KINDS, Patchset, Requested, Step
from patcher.patchset.toml import options_text
from patcher.splice import apply_splices
from patcher.text.diffs import diff_texts
from patcher.text.lines import line_edits

_EMPTY = "FILES: List[Dict[str, Any]] = []"


class PatchedFile(NamedTuple):
    """One file of an installed release: its path, its pristine bytes, and the steps that patchsets make from there."""

    path: str
    distribution: str
    version: str
    before: bytes
    steps: Tuple[Step, ...]

    @property
    def texts(self) -> Iterator[Tuple[str, bytes, bytes]]:
        """Each patchset with the file before and after it."""
        text = self.before
        for step in self.steps:
            yield step.patchset, text, apply_splices(text, step.splices)
            text = apply_splices(text, step.splices)

    @property
    def after(self) -> bytes:
        """The file after all of them."""
        return [self.before, *(after for _, _, after in self.texts)][-1]


def patch(one: Requested, files: Sequence[PatchedFile]) -> bytes:
    """What a patchset changes in these files, as a diff for `patch -p1` and `git apply`; b"" where it changes nothing.

    The diff is for a file to which the earlier patchsets of its steps are applied.
    """
    changed = [
        (file, diff_texts("", file.path, before, after).text)
        for file in files
        for name, before, after in file.texts
        if name == one.patchset.name and before != after
    ]
    releases = dict.fromkeys(f"{file.distribution} {file.version}".strip() for file, _ in changed)
    return b"".join([_header(one, list(releases)).encode(), b"\n", *(text for _, text in changed)]) if changed else b""


def _header(one: Requested, releases: Sequence[str]) -> str:
    """The DEP-3 header of a patch."""
    patchset = one.patchset
    options = f" {options_text(one.options)}" if one.options else ""
    lines = [f"Description: {_folded(patchset)}"]
    lines += [f"{_field(key)}: {' '.join(text.split())}" for key, text in patchset.provenance.items() if text.strip()]
    lines += [f"X-Sitepatch: {patchset.name} {patchset.version}{options}", f"X-Applies-To: {', '.join(releases)}"]
    return "".join(f"{line}\n" for line in lines)


def _field(key: str) -> str:
    """The name that DEP-3 gives a key of [provenance]; it leaves names with X- to others."""
    return "X-Remove-When" if key == "remove_when" else key.replace("_", "-").title()


def _folded(patchset: Patchset) -> str:
    """The summary, and the prose below it as the further lines of a field: a blank before each, a dot on an empty one."""
    prose = patchset.prose.strip("\n").split("\n") if patchset.prose.strip() else []
    return "\n".join([" ".join(patchset.summary.split()), *(f" {line.rstrip() or '.'}" for line in prose)])


def series(requested: Sequence[Requested], files: Sequence[PatchedFile]) -> Dict[str, bytes]:
    """A quilt series: a patch for each patchset that changes something, and the file `series` with their order."""
    found: Dict[str, bytes] = {}
    for one in sorted(requested, key=lambda one: (KINDS.index(one.patchset.kind), one.patchset.name)):
        text = patch(one, files)
        if text:
            found[f"{one.patchset.name}.patch"] = text
    return {**found, "series": "".join(f"{name}\n" for name in found).encode()}


def script(files: Sequence[PatchedFile]) -> bytes:
    """A Python program that changes these files in the same way without sitepatch (`patcher.author.standalone`)."""
    rows = [
        {"path": file.path, "before": digests[0], "after": digests[1], "edits": _edits(file.before, file.after)}
        for file in files
        for digests in [[sha256(text).hexdigest() for text in (file.before, file.after)]]
        if file.before != file.after
    ]
    text = Path(standalone.__file__).read_text(encoding="utf-8")
    return text.replace(_EMPTY, _EMPTY.replace("[]", json.dumps(rows, indent=1))).encode("utf-8")


def _edits(old: bytes, new: bytes) -> List[Tuple[int, int, str, str]]:
    """Where the lines of two texts differ: offset in both, the lines of both, one character a byte."""
    texts = old.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [[0, *accumulate(map(len, lines))] for lines in texts]
    return [
        (offsets[0][i1], offsets[1][j1], _latin(texts[0][i1:i2]), _latin(texts[1][j1:j2]))
        for i1, i2, j1, j2 in line_edits(*texts)
    ]


def _latin(lines: Sequence[bytes]) -> str:
    return b"".join(lines).decode("latin-1")
