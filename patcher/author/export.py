"""What patchsets make of a release, for those without sitepatch.

That is a diff with a DEP-3 header, mails of a series, or a wheel.
"""

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
from typing import IO, Sequence

from patcher.author.diffs.patchfile import Patch
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import Patchset, Requested, Step, apply_splices
from patcher.patchset.toml import options_text
from patcher.record import Record
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
_LONGEST_HEADER = 998  # characters of a line of a mail
_CHUNK = 1 << 20  # bytes that are read at a time: a wheel may be larger than the memory
_INFO, _DATA = ".dist-info", ".data"
_REPLACED = ("RECORD", "RECORD.jws", "RECORD.p7s")  # the last two sign the RECORD that there was
_VERSION = re.compile(rb"^Version:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
_REGULAR, _PROGRAM = 0o100644, 0o100755


class PatchedFile(Record):
    """One file of an installed release.

    Attributes:
        path: the file.
        distribution: its distribution.
        version: the version of that.
        before: its pristine bytes, None for a file that is added.
        steps: what patchsets make from there.
    """

    path: str
    distribution: str
    version: str
    before: bytes | None
    steps: tuple[Step, ...]

    @property
    def after(self) -> bytes | None:
        """The file after all of them, None where it is deleted."""
        if self.steps and self.steps[-1].gone:
            return None
        text = self.before or b""
        for step in self.steps:
            text = apply_splices(text, step.splices)
        return text


# mails and diffs --------------------------------------------------------------------------------
def mail(name: str, head: Patch, number: int, total: int, diffs: Sequence[bytes]) -> bytes:
    """A patch of a series as a mail for `git am`, which `patch -p1` takes, too.

    Args:
        name: of the patch.
        head: what is said of it: beside its author, its date and its subject that are fields
            (DEP-3) below its prose.
        number: that of the patch in the series (from 1).
        total: how many patches there are.
        diffs: one for each file.
    """
    fields = head.fields
    author, address = parseaddr(fields.pop("Author", ""))
    lines = [f"From {'0' * 40} Mon Sep 17 00:00:00 2001"]
    lines.append(f"From: {_encoded(author or address or _NOBODY)} <{address or _NOBODY}>")
    day = fields.pop("Last-Update", "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        date = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
        lines.append(f"Date: {format_datetime(date)}")
    subject = f"[PATCH {number}/{total}] {head.subject or name}"
    lines += [f"Subject: {_encoded(subject)}", *_MIME, ""]
    if head.prose:
        lines += [head.prose, ""]
    lines += [f"{key}: {value}" for key, value in fields.items()]
    lines += ["---", ""]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    return b"".join([text, *diffs, b"-- \nsitepatch\n\n"])


def _encoded(text: str) -> str:
    """The text of a header of a mail."""
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=_LONGEST_HEADER).encode()


def patch(requested: Requested, files: Sequence[PatchedFile]) -> bytes:
    """What a patchset changes in these files, as a diff for `patch -p1` and `git apply`."""
    releases: dict[str, None] = {}
    diffs: list[bytes] = []
    for file in files:
        releases[f"{file.distribution} {file.version}".strip()] = None
        diffs.append(diff_texts("", file.path, before=file.before, after=file.after).text)
    return b"".join([_header(requested, list(releases)).encode(), b"\n", *diffs])


def _header(requested: Requested, releases: Sequence[str]) -> str:
    """The DEP-3 header of a patch."""
    patchset = requested.patchset
    lines = [f"Description: {_folded(patchset)}"]
    for key, text in patchset.about.provenance.items():
        if text.strip():
            lines.append(f"{_field(key)}: {' '.join(text.split())}")
    options = f" {options_text(requested.options)}" if requested.options else ""
    lines.append(f"X-Sitepatch: {patchset.name} {patchset.version}{options}")
    lines.append(f"X-Applies-To: {', '.join(releases)}")
    return "".join(f"{line}\n" for line in lines)


def _field(key: str) -> str:
    """The name that DEP-3 gives a key of [provenance]; it leaves names with X- to others."""
    return "X-Remove-When" if key == "remove_when" else key.replace("_", "-").title()


def _folded(patchset: Patchset) -> str:
    """The summary, and the prose below it as the further lines of a field.

    Each begins with a blank, an empty one has a dot. An imported patch has its subject as summary
    and in its prose: that is written once.
    """
    summary, prose = " ".join(patchset.about.summary.split()), patchset.about.prose.strip("\n")
    first, _, below = prose.partition("\n")
    if first.strip() == summary:
        prose = below.strip("\n")
    lines = [summary]
    for line in prose.splitlines():
        lines.append(f" {line.rstrip() or '.'}")
    return "\n".join(lines)


# wheels -----------------------------------------------------------------------------------------
class OpenWheel(Record):
    """An open wheel.

    Attributes:
        name: its file name.
        archive: the archive.
        info: its folder of metadata (`demo-1.0.dist-info`).
        members: its members by name.
    """

    name: str
    archive: zipfile.ZipFile
    info: str
    members: dict[str, zipfile.ZipInfo]

    @property
    def distribution(self) -> str:
        """The distribution, as the file name has it."""
        return self.name.split("-")[0]

    @property
    def stem(self) -> str:
        """The beginning of its folders (`demo-1.0`)."""
        return self.info[: -len(_INFO)]

    def read(self, name: str) -> bytes:
        """A file of the metadata."""
        return self.text(f"{self.info}/{name}")

    def text(self, name: str) -> bytes:
        """The bytes of a member."""
        with archive_errors(self.name):
            return member(self.archive, name)


def local_label(files: Sequence[PatchedFile]) -> str:
    """The label of a version with these changes.

    It is another one for others: pip installs no wheel over one of its version.
    """
    digest = files_digest((file.path.encode("utf-8"), file.after or b"") for file in files)
    return f"sitepatch.h{digest[:8]}"


def local(version: str, label: str) -> str:
    """The version of a release that was patched.

    It has a local label, which comes after the one that it has.
    """
    return f"{version}{'.' if '+' in version else '+'}{label}"


def open_wheel(path: Path) -> OpenWheel:
    """Open a wheel.

    Raises:
        SitepatchError: it is none.
        OSError: it cannot be read.
    """
    with archive_errors(str(path)):
        archive = zipfile.ZipFile(str(path))
    infos: list[str] = []
    members: dict[str, zipfile.ZipInfo] = {}
    names = archive.namelist()
    for name in names:
        if re.fullmatch(r"[^/]+\.dist-info/RECORD", name):
            infos.append(name[: -len("/RECORD")])
    is_named = len(path.stem.split("-")) in (5, 6)
    if len(infos) != 1 or len(set(names)) < len(names) or not is_named:
        archive.close()
        raise SitepatchError(
            "{path}: found no wheel, which has one RECORD"
            " and the name NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
            path=path,
        )
    for info in archive.infolist():
        if not info.is_dir():
            members[info.filename] = info
    return OpenWheel(path.name, archive, info=infos[0], members=members)


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

    The same wheel and changes give the same bytes: members are sorted, stored (what deflate makes
    differs between machines), from 1980, and keep of their mode whether they can be run.

    Args:
        wheel: as its distribution was released.
        files: what is changed.
        out: a seekable file.

    Raises:
        SitepatchError: it is no wheel of that release, or its text of a file is another one.
    """
    changed: dict[str, bytes] = {}
    deleted: list[str] = []
    for file in files:
        after = file.after
        if after is None:
            deleted.append(_member(wheel, file))
        else:
            changed[_member(wheel, file)] = after
    hint = Message("fetch the wheel again")
    with archive_errors(wheel.name, hint), zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        _Repacking(wheel, changed, deleted, label=local_label(files), archive=archive).write()


class _Repacking:
    """Writes the members of a wheel to another archive.

    Args:
        wheel: the wheel.
        changed: the new bytes of members by name.
        deleted: the members that the new wheel lacks.
        label: that of the new version.
        archive: the other archive.
    """

    def __init__(
        self,
        wheel: OpenWheel,
        changed: dict[str, bytes],
        deleted: Sequence[str],
        label: str,
        archive: zipfile.ZipFile,
    ) -> None:
        self.wheel = wheel
        self.changed = changed
        self.deleted = deleted
        self.label = label
        self.archive = archive
        self.stem = local(wheel.stem, label)
        self.folders = re.compile(rf"\A{re.escape(wheel.stem)}(\.dist-info|\.data)/")
        self.rows: list[tuple[str, str, str]] = []

    def write(self) -> None:
        metadata = f"{self.wheel.info}/"
        left_out = [*self.deleted, *(metadata + name for name in _REPLACED)]
        names = {*self.wheel.members, *self.changed}
        for name in sorted(names, key=lambda name: (name.startswith(metadata), name)):
            if name not in left_out and not self.is_stale(name):
                self.write_member(name)

        path = f"{self.stem}{_INFO}/RECORD"
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows([*self.rows, (path, "", "")])
        self.archive.writestr(_member_info(path), record.getvalue().encode("utf-8"))

    def is_stale(self, name: str) -> bool:
        """Whether a member is the bytecode of one that is changed or deleted."""
        if not name.endswith(".pyc"):
            return False
        for source in (*self.changed, *self.deleted):
            folder, _, file = source.rpartition("/")
            cache = f"{folder}/__pycache__" if folder else "__pycache__"
            if name.startswith(f"{cache}/{file[: -len('.py')]}."):
                return True
        return False

    def write_member(self, name: str) -> None:
        if name not in self.wheel.members:
            info = zipfile.ZipInfo(name)
            info.file_size = len(self.changed[name])
            self.copy(info, io.BytesIO(self.changed[name]))
            return
        info = self.wheel.members[name]
        with self.wheel.archive.open(name) as source:
            text: IO[bytes] = source
            if name in self.changed:
                text = io.BytesIO(self.changed[name])
            elif name == f"{self.wheel.info}/METADATA":
                text = io.BytesIO(_metadata(source.read(), self.label))
            self.copy(info, text)

    def copy(self, info: zipfile.ZipInfo, source: IO[bytes]) -> None:
        """Copy a member, and note its hash and size as RECORD has them."""
        name = self.folders.sub(lambda found: f"{self.stem}{found.group(1)}/", info.filename)
        target_info = _member_info(name, runs=bool((info.external_attr >> 16) & 0o111))
        # so that zipfile knows beforehand whether 32 bits are enough
        target_info.file_size = info.file_size
        digest, size = sha256(), 0
        with self.archive.open(target_info, "w") as target:
            for chunk in iter(lambda: source.read(_CHUNK), b""):
                digest.update(chunk)
                size += len(chunk)
                target.write(chunk)
        encoded = urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
        self.rows.append((name, f"sha256={encoded}", str(size)))


def _member(wheel: OpenWheel, file: PatchedFile) -> str:
    """The member that is installed as this file."""
    version = _VERSION.search(wheel.read("METADATA"))
    found: str = Message("none")
    if version:
        found = version.group(1).decode("utf-8", "replace")
    is_same = normalized(wheel.distribution) == normalized(file.distribution)
    if not is_same or found != file.version:
        problem = Message(
            "{name}: found {other} {found}, expected {distribution} {version}",
            name=wheel.name,
            other=wheel.distribution,
            found=found,
            distribution=file.distribution,
            version=file.version,
        )
        hint = Message("the wheel has to be the one of the release that is installed")
        raise SitepatchError(problem, hint)

    if file.before is None and file.path not in wheel.members:
        return file.path
    data = wheel.stem + _DATA
    for name in (file.path, f"{data}/purelib/{file.path}", f"{data}/platlib/{file.path}"):
        if name in wheel.members and wheel.text(name) == file.before:
            return name
    problem = Message(
        "{name}: its {path} is not the one that is installed", name=wheel.name, path=file.path
    )
    raise SitepatchError(problem, "name the wheel of the same build with --wheel")


def _metadata(data: bytes, label: str) -> bytes:
    """METADATA with the local version; the first line of that name is the header."""
    found = _VERSION.search(data)
    assert found, "its version was compared"
    version = local(found.group(1).decode(), label).encode()
    return data[: found.start(1)] + version + data[found.end(1) :]


def _member_info(name: str, *, runs: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980
    info.create_system = 3
    info.external_attr = (_PROGRAM if runs else _REGULAR) << 16
    return info
