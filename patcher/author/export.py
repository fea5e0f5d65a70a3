"""What a patchset makes of a release, in a form that needs no sitepatch: a diff with a DEP-3 header."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from email.header import Header
from email.utils import format_datetime, parseaddr
from typing import NamedTuple, Optional, Sequence, Tuple

from patcher.author.diffs.patchfile import Patch
from patcher.model import Patchset, Requested, Step, apply_splices
from patcher.patchset.toml import options_text
from patcher.text.diffs import diff_texts

_NOBODY = "unknown"
_MIME = ("MIME-Version: 1.0", "Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit")


class PatchedFile(NamedTuple):
    """One file of an installed release: its path, its pristine bytes, and the steps that patchsets make from there.

    `before` is None for a file that is added.
    """

    path: str
    distribution: str
    version: str
    before: Optional[bytes]
    steps: Tuple[Step, ...]

    @property
    def after(self) -> bytes:
        """The file after all of them."""
        text = self.before or b""
        for step in self.steps:
            text = apply_splices(text, step.splices)
        return text


class LayerFile(NamedTuple):
    """One file before and after a patch of a series; `before` is None for a file that it adds."""

    path: str
    before: Optional[bytes]
    after: bytes


def mail(name: str, head: Patch, number: int, total: int, files: Sequence[LayerFile]) -> bytes:
    """A patch of a series as a mail for `git am`, which `patch -p1` takes, too.

    What `head` says of it beside its author, its date and its subject are fields (DEP-3) below its prose.
    """
    fields = head.fields
    author, address = parseaddr(fields.pop("Author", ""))
    sender = f"{_encoded(author or address or _NOBODY)} <{address or _NOBODY}>"
    day = fields.pop("Last-Update", "")
    lines = [f"From {'0' * 40} Mon Sep 17 00:00:00 2001", f"From: {sender}"]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        lines.append(f"Date: {format_datetime(datetime.strptime(day, '%Y-%m-%d').replace(tzinfo=timezone.utc))}")
    lines += [f"Subject: {_encoded(f'[PATCH {number}/{total}] {head.subject or name}')}", *_MIME, ""]
    lines += [head.prose, ""] if head.prose else []
    lines += [*(f"{key}: {value}" for key, value in fields.items()), "---", ""]
    diffs = (diff_texts("", file.path, file.before, file.after).text for file in files)
    return b"".join(["\n".join(lines).encode("utf-8", "surrogateescape"), *diffs, b"-- \nsitepatch\n\n"])


def _encoded(text: str) -> str:
    """The text of a header of a mail."""
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=998).encode()


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
