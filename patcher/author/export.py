"""What a patchset makes of a release, in a form that needs no sitepatch: a diff with a DEP-3 header."""

from __future__ import annotations

from typing import NamedTuple, Sequence, Tuple

from patcher.model import Patchset, Requested, Step, apply_splices
from patcher.patchset.toml import options_text
from patcher.text.diffs import diff_texts


class PatchedFile(NamedTuple):
    """One file of an installed release: its path, its pristine bytes, and the steps that patchsets make from there."""

    path: str
    distribution: str
    version: str
    before: bytes
    steps: Tuple[Step, ...]

    @property
    def after(self) -> bytes:
        """The file after all of them."""
        text = self.before
        for step in self.steps:
            text = apply_splices(text, step.splices)
        return text


def patch(requested: Requested, files: Sequence[PatchedFile]) -> bytes:
    """What a patchset changes in these files, as a diff for `patch -p1` and `git apply`."""
    releases = dict.fromkeys(f"{file.distribution} {file.version}".strip() for file in files)
    diffs = (diff_texts("", file.path, file.before, file.after).text for file in files)
    return b"".join([_header(requested, list(releases)).encode(), b"\n", *diffs])


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
