"""What patchsets make of a release, for those without sitepatch: a diff with a DEP-3 header, mails of a series, a wheel."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from base64 import urlsafe_b64encode
from datetime import datetime, timezone
from email.header import Header
from email.utils import format_datetime, parseaddr
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple, Sequence

from patcher.author.diffs.patchfile import Patch
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import Patchset, Requested, Step, apply_splices
from patcher.patchset.toml import options_text
from patcher.system.archive import archive_errors, member
from patcher.system.reading import files_digest
from patcher.text.diffs import diff_texts
from patcher.text.listed import normalized

_NOBODY = "unknown"
_MIME = (
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=UTF-8",
    "Content-Transfer-Encoding: 8bit",
)


class PatchedFile(NamedTuple):
    """One file of an installed release: its path, its pristine bytes, and the steps that patchsets make from there.

    `before` is None for a file that is added.
    """

    path: str
    distribution: str
    version: str
    before: bytes | None
    steps: tuple[Step, ...]

    @property
    def after(self) -> bytes:
        """The file after all of them."""
        text = self.before or b""
        for step in self.steps:
            text = apply_splices(text, step.splices)
        return text


def mail(name: str, head: Patch, number: int, total: int, diffs: Sequence[bytes]) -> bytes:
    """A patch of a series, a diff for each file, as a mail for `git am`, which `patch -p1` takes, too.

    What `head` says of it beside its author, its date and its subject are fields (DEP-3) below its prose.
    """
    fields = head.fields
    author, address = parseaddr(fields.pop("Author", ""))
    sender = f"{_encoded(author or address or _NOBODY)} <{address or _NOBODY}>"
    day = fields.pop("Last-Update", "")
    lines = [f"From {'0' * 40} Mon Sep 17 00:00:00 2001", f"From: {sender}"]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        lines.append(
            f"Date: {format_datetime(datetime.strptime(day, '%Y-%m-%d').replace(tzinfo=timezone.utc))}"
        )
    lines += [
        f"Subject: {_encoded(f'[PATCH {number}/{total}] {head.subject or name}')}",
        *_MIME,
        "",
    ]
    lines += [head.prose, ""] if head.prose else []
    lines += [*(f"{key}: {value}" for key, value in fields.items()), "---", ""]
    return b"".join(
        ["\n".join(lines).encode("utf-8", "surrogateescape"), *diffs, b"-- \nsitepatch\n\n"]
    )


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
    lines += [
        f"{_field(key)}: {' '.join(text.split())}"
        for key, text in patchset.about.provenance.items()
        if text.strip()
    ]
    lines += [
        f"X-Sitepatch: {patchset.name} {patchset.version}{options}",
        f"X-Applies-To: {', '.join(releases)}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _field(key: str) -> str:
    """The name that DEP-3 gives a key of [provenance]; it leaves names with X- to others."""
    return "X-Remove-When" if key == "remove_when" else key.replace("_", "-").title()


def _folded(patchset: Patchset) -> str:
    """The summary, and the prose below it as the further lines of a field: a blank before each, a dot on an empty one.

    An imported patch has its subject as both: that is written once.
    """
    summary, prose = " ".join(patchset.about.summary.split()), patchset.about.prose.strip("\n")
    first, _, below = prose.partition("\n")
    lines = (below.strip("\n") if first.strip() == summary else prose).splitlines()
    return "\n".join([summary, *(f" {line.rstrip() or '.'}" for line in lines)])


_CHUNK = 1 << 20  # bytes that are read at a time: a wheel may be larger than the memory
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")  # of the RECORD that there was


class OpenWheel(NamedTuple):
    """An open wheel: its file name, its folder of metadata (`demo-1.0.dist-info`), its members by name."""

    name: str
    archive: zipfile.ZipFile
    info: str
    members: dict[str, zipfile.ZipInfo]

    def read(self, name: str) -> bytes:
        """A file of the metadata."""
        return self.text(f"{self.info}/{name}")

    def text(self, name: str) -> bytes:
        """The bytes of a member."""
        with archive_errors(self.name):
            return member(self.archive, name)


def local_label(files: Sequence[PatchedFile]) -> str:
    """The label of a version with these changes, another one for others: pip installs no wheel over one of its version."""
    digest = files_digest((file.path.encode("utf-8"), file.after) for file in files)
    return f"sitepatch.h{digest[:8]}"


def local(version: str, label: str) -> str:
    """The version of a release that was patched: with a local label, which comes after the one that it has."""
    return f"{version}{'.' if '+' in version else '+'}{label}"


def open_wheel(path: Path) -> OpenWheel:
    """Open a wheel.

    Raises:
        SitepatchError: it is none.
        OSError: it cannot be read.
    """
    with archive_errors(str(path)):
        archive = zipfile.ZipFile(str(path))
    names = archive.namelist()
    infos = [
        name[: -len("/RECORD")] for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)
    ]
    if len(infos) != 1 or len(set(names)) < len(names) or len(path.stem.split("-")) not in (5, 6):
        archive.close()
        raise SitepatchError(
            "{path}: found no wheel, which has one RECORD and the name NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
            path=path,
        )
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    return OpenWheel(path.name, archive, infos[0], members)


def recorded(record: bytes) -> dict[str, str]:
    """The hash that a RECORD has for each file, as it is written there."""
    rows = csv.reader(io.StringIO(record.decode("utf-8"), newline=""))
    return {row[0]: row[1] for row in rows if len(row) > 1}


def new_name(wheel: OpenWheel, files: Sequence[PatchedFile]) -> str:
    """The file name of the wheel that `repack` makes."""
    name, version, *tags = wheel.name.split("-")
    return "-".join([name, local(version, local_label(files)), *tags])


def repack(wheel: OpenWheel, files: Sequence[PatchedFile], out: IO[bytes]) -> None:
    """Write a wheel with changed files.

    The same wheel and changes give the same bytes: members are sorted, stored (what deflate makes differs between
    machines), from 1980, and keep of their mode whether they can be run.

    Args:
        wheel: as its distribution was released.
        files: what is changed.
        out: a seekable file.

    Raises:
        SitepatchError: it is no wheel of that release, or its text of a file is another one.
    """
    changed = {_member(wheel, file): file for file in files}
    stem = wheel.info[: -len(".dist-info")]
    label = local_label(files)
    new_stem = local(stem, label)
    compiled = {
        f"{parts[0]}{parts[1]}__pycache__/{parts[2][:-3]}."
        for parts in (name.rpartition("/") for name in changed)
    }
    rows: list[tuple[str, str, str]] = []
    hint = Message("fetch the wheel again")
    with archive_errors(wheel.name, hint), zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(
            {*wheel.members, *changed}, key=lambda name: (name.startswith(f"{wheel.info}/"), name)
        ):
            inside = name[len(wheel.info) + 1 :] if name.startswith(f"{wheel.info}/") else ""
            if inside in ("RECORD", *_SIGNATURES) or any(
                name.startswith(each) and name.endswith(".pyc") for each in compiled
            ):
                continue
            new = re.sub(
                rf"\A{re.escape(stem)}(\.dist-info|\.data)/",
                lambda found: f"{new_stem}{found.group(1)}/",
                name,
            )
            if name not in wheel.members:
                info = zipfile.ZipInfo(name)
                info.file_size = len(changed[name].after)
                rows.append((new, *_copied(archive, new, info, io.BytesIO(changed[name].after))))
                continue
            with wheel.archive.open(name) as source:
                text: IO[bytes] = source
                if name in changed:
                    text = io.BytesIO(changed[name].after)
                elif inside == "METADATA":
                    text = io.BytesIO(_metadata(source.read(), label))
                rows.append((new, *_copied(archive, new, wheel.members[name], text)))
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows(
            [*rows, (f"{new_stem}.dist-info/RECORD", "", "")]
        )
        archive.writestr(
            _member_info(f"{new_stem}.dist-info/RECORD"), record.getvalue().encode("utf-8")
        )


def _member(wheel: OpenWheel, file: PatchedFile) -> str:
    """The member that is installed as this file."""
    data = f"{wheel.info[: -len('.dist-info')]}.data"
    version = re.search(
        rb"^Version:[ \t]*(\S+)", wheel.read("METADATA"), re.MULTILINE | re.IGNORECASE
    )
    found = version.group(1).decode("utf-8", "replace") if version else Message("none")
    if (
        normalized(wheel.name.split("-")[0]) != normalized(file.distribution)
        or found != file.version
    ):
        problem = Message(
            "{name}: found {other} {found}, expected {distribution} {version}",
            name=wheel.name,
            other=wheel.name.split("-")[0],
            found=found,
            distribution=file.distribution,
            version=file.version,
        )
        raise SitepatchError(
            problem, "the wheel has to be the one of the release that is installed"
        )
    if file.before is None and file.path not in wheel.members:
        return file.path
    for name in (file.path, f"{data}/purelib/{file.path}", f"{data}/platlib/{file.path}"):
        if name in wheel.members and wheel.text(name) == file.before:
            return name
    problem = Message(
        "{name}: its {path} is not the one that is installed", name=wheel.name, path=file.path
    )
    raise SitepatchError(problem, "name the wheel of the same build with --wheel")


def _metadata(data: bytes, label: str) -> bytes:
    """METADATA with the local version; the first line of that name is the header."""
    found = re.search(rb"^Version:[ \t]*(\S+)", data, re.MULTILINE | re.IGNORECASE)
    assert found, "its version was compared"
    return (
        data[: found.start(1)]
        + local(found.group(1).decode(), label).encode()
        + data[found.end(1) :]
    )


def _member_info(name: str, *, runs: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980
    info.create_system, info.external_attr = 3, (0o100755 if runs else 0o100644) << 16
    return info


def _copied(
    archive: zipfile.ZipFile, name: str, was: zipfile.ZipInfo, source: IO[bytes]
) -> tuple[str, str]:
    """Copy a member; returns its hash and size as RECORD has them."""
    info = _member_info(name, runs=bool((was.external_attr >> 16) & 0o111))
    info.file_size = was.file_size  # so that zipfile knows beforehand whether 32 bits are enough
    digest, size = sha256(), 0
    with archive.open(info, "w") as target:
        for chunk in iter(lambda: source.read(_CHUNK), b""):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
    return "sha256=" + urlsafe_b64encode(digest.digest()).rstrip(b"=").decode(), str(size)
