"""A wheel with changed files: with a local version, RECORD and METADATA to match, and all else as it was."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import IO, Dict, List, NamedTuple, Sequence, Tuple

from patcher.author.export import PatchedFile
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.system.archive import archive_errors, member
from patcher.text.listed import normalized

_LOCAL = "sitepatch.1"
_CHUNK = 1 << 20  # bytes that are read at a time: a wheel may be larger than the memory
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")  # of the RECORD that there was


class OpenWheel(NamedTuple):
    """An open wheel: its file name, its folder of metadata (`demo-1.0.dist-info`), its members by name."""

    name: str
    archive: zipfile.ZipFile
    info: str
    members: Dict[str, zipfile.ZipInfo]

    def read(self, name: str) -> bytes:
        """A file of the metadata."""
        return self.text(f"{self.info}/{name}")

    def text(self, name: str) -> bytes:
        """The bytes of a member."""
        with archive_errors(self.name):
            return member(self.archive, name)


def local(version: str) -> str:
    """The version of a release that was patched: with a local label, which comes after the one that it has."""
    return f"{version}{'.' if '+' in version else '+'}{_LOCAL}"


def open_wheel(path: Path) -> OpenWheel:
    """Open a wheel.

    Raises:
        SitepatchError: it is none.
        OSError: it cannot be read.
    """
    with archive_errors(str(path)):
        archive = zipfile.ZipFile(str(path))
    names = archive.namelist()
    infos = [name[: -len("/RECORD")] for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)]
    if len(infos) != 1 or len(set(names)) < len(names) or len(path.stem.split("-")) not in (5, 6):
        archive.close()
        raise SitepatchError(
            "{path}: found no wheel, which has one RECORD and the name NAME-VERSION-PYTHON-ABI-PLATFORM.whl", path=path
        )
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    return OpenWheel(path.name, archive, infos[0], members)


def recorded(record: bytes) -> Dict[str, str]:
    """The hash that a RECORD has for each file, as it is written there."""
    rows = csv.reader(io.StringIO(record.decode("utf-8"), newline=""))
    return {row[0]: row[1] for row in rows if len(row) > 1}


def new_name(wheel: OpenWheel) -> str:
    """The file name of the wheel that `repack` makes."""
    name, version, *tags = wheel.name.split("-")
    return "-".join([name, local(version), *tags])


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
    compiled = {f"{parts[0]}{parts[1]}__pycache__/{parts[2][:-3]}." for parts in (name.rpartition("/") for name in changed)}
    rows: List[Tuple[str, str, str]] = []
    hint = Message("fetch the wheel again")
    with archive_errors(wheel.name, hint), zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted({*wheel.members, *changed}, key=lambda name: (name.startswith(f"{wheel.info}/"), name)):
            inside = name[len(wheel.info) + 1 :] if name.startswith(f"{wheel.info}/") else ""
            if inside in ("RECORD", *_SIGNATURES) or any(name.startswith(each) and name.endswith(".pyc") for each in compiled):
                continue
            new = re.sub(rf"\A{re.escape(stem)}(\.dist-info|\.data)/", lambda found: f"{local(stem)}{found.group(1)}/", name)
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
                    text = io.BytesIO(_metadata(source.read()))
                rows.append((new, *_copied(archive, new, wheel.members[name], text)))
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows([*rows, (f"{local(stem)}.dist-info/RECORD", "", "")])
        archive.writestr(_member_info(f"{local(stem)}.dist-info/RECORD"), record.getvalue().encode("utf-8"))


def _member(wheel: OpenWheel, file: PatchedFile) -> str:
    """The member that is installed as this file."""
    data = f"{wheel.info[: -len('.dist-info')]}.data"
    version = re.search(rb"^Version:[ \t]*(\S+)", wheel.read("METADATA"), re.MULTILINE | re.IGNORECASE)
    found = version.group(1).decode("utf-8", "replace") if version else Message("none")
    if normalized(wheel.name.split("-")[0]) != normalized(file.distribution) or found != file.version:
        problem = Message(
            "{name}: found {other} {found}, expected {distribution} {version}",
            name=wheel.name,
            other=wheel.name.split("-")[0],
            found=found,
            distribution=file.distribution,
            version=file.version,
        )
        raise SitepatchError(problem, "the wheel has to be the one of the release that is installed")
    if file.before is None and file.path not in wheel.members:
        return file.path
    for name in (file.path, f"{data}/purelib/{file.path}", f"{data}/platlib/{file.path}"):
        if name in wheel.members and wheel.text(name) == file.before:
            return name
    problem = Message("{name}: its {path} is not the one that is installed", name=wheel.name, path=file.path)
    raise SitepatchError(problem, "name the wheel of the same build with --wheel")


def _metadata(data: bytes) -> bytes:
    """METADATA with the local version; the first line of that name is the header."""
    found = re.search(rb"^Version:[ \t]*(\S+)", data, re.MULTILINE | re.IGNORECASE)
    assert found, "its version was compared"
    return data[: found.start(1)] + local(found.group(1).decode()).encode() + data[found.end(1) :]


def _member_info(name: str, *, runs: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980
    info.create_system, info.external_attr = 3, (0o100755 if runs else 0o100644) << 16
    return info


def _copied(archive: zipfile.ZipFile, name: str, was: zipfile.ZipInfo, source: IO[bytes]) -> Tuple[str, str]:
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
