"""The build backend of a hook's directory (PEP 517), which has a copy of this file.

It makes the wheel of the hook without a network. Standard library only.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, NamedTuple, NoReturn, Optional

BOOT, HOOK = "boot.py", "hook.json"
OWN = ("state", "state.tmp", "lock")
"""Empty files that a start writes to; they are in RECORD, so that an uninstall removes them."""
Settings = Optional[Dict[str, Any]]
_METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Keeps {patchsets} applied
Requires-Python: >=3.8
Requires-Dist: sitepatch>={release}
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: sitepatch {release}
Root-Is-Purelib: true
Tag: py3-none-any
"""


class Wheel(NamedTuple):
    """A wheel, without its RECORD: its file name, and its files by name."""

    name: str
    files: dict[str, bytes]

    @property
    def stem(self) -> str:
        """NAME-VERSION."""
        return "-".join(self.name.split("-")[:2])

    def pack(self) -> bytes:
        """The bytes of the archive, the same for the same files."""
        record = f"{self.stem}.dist-info/RECORD"
        members = [*sorted(self.files.items()), (record, self._record(record))]
        packed = io.BytesIO()
        # not compressed: what deflate makes differs between machines
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for name, data in members:
                member = zipfile.ZipInfo(name)  # of 1980
                member.create_system = 3  # Unix
                member.external_attr = 0o100644 << 16
                archive.writestr(member, data)
        return packed.getvalue()

    def _record(self, own_name: str) -> bytes:
        """The text of RECORD, itself listed without a hash."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        for name, data in sorted(self.files.items()):
            digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([name, f"sha256={digest}", len(data)])
        rows.writerow([own_name, "", ""])
        return text.getvalue().encode()


def version_of(fields: dict[str, Any], files: dict[str, bytes]) -> str:
    """The version of a hook: the release of sitepatch that made it, and a digest of its sources."""
    digest = sha256(json.dumps({**fields, "version": ""}, sort_keys=True).encode())
    for path, data in sorted(files.items()):
        digest.update(f"\0{path}\0{len(data)}\0".encode() + data)
    return f"{fields['sitepatch']}+h{digest.hexdigest()[:12]}"


def hook_wheel(folder: Path) -> Wheel:
    """The wheel of a hook's directory; the line ends of a checkout do not count.

    Raises:
        ValueError: the directory is not as `hook init` left it.
        OSError: a file cannot be read.
    """
    fields = json.loads((folder / HOOK).read_bytes().decode("utf-8"))
    try:
        files: dict[str, bytes] = {}
        for path in [BOOT, *fields["files"]]:
            files[path] = (folder / path).read_bytes().replace(b"\r\n", b"\n")
        texts = _own_texts(fields, boot=files[BOOT].decode("utf-8"))
        is_unchanged = fields["version"] == version_of(fields, files)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{HOOK}: {type(error).__name__}: {error}") from error
    if not is_unchanged:
        raise ValueError("was changed since hook init ran")

    stem, version = _stem(fields), fields["version"]
    members = {path: text.encode("utf-8") for path, text in texts.items()}
    del files[BOOT]
    for path, data in files.items():
        members[f"_{stem}/{path}"] = data
    return Wheel(f"{stem}-{version}-py3-none-any.whl", files=members)


def _stem(fields: dict[str, Any]) -> str:
    """The name of a hook as that of a wheel has it."""
    stem: str = fields["name"].replace("-", "_")
    return stem


def _own_texts(fields: dict[str, Any], boot: str) -> dict[str, str]:
    """The texts of a wheel, without the copies of patchsets; `boot` is a template."""
    name, version, release = fields["name"], fields["version"], fields["sitepatch"]
    stem = _stem(fields)
    top, info = f"_{stem}", f"{stem}-{version}.dist-info"
    for mark, value in (("@NAME@", name), ("@ID@", version), ("@MODE@", fields["mode"])):
        boot = boot.replace(mark, value)
    patchsets = ", ".join(fields["patchsets"])
    texts = {
        f"{stem}.pth": f"import {top}; {top}.start()\n",
        f"{stem}.start": f"{top}:start\n",
        f"{top}/__init__.py": boot,
        f"{top}/{HOOK}": json.dumps(fields, indent=1, sort_keys=True) + "\n",
        f"{info}/METADATA": _METADATA.format(
            name=name, version=version, patchsets=patchsets, release=release
        ),
        f"{info}/WHEEL": _WHEEL.format(release=release),
    }
    for path in OWN:
        texts[f"{top}/{path}"] = ""
    return texts


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel of the current directory and return its name; a problem ends the build."""
    try:
        wheel = hook_wheel(Path())
        (Path(wheel_directory) / wheel.name).write_bytes(wheel.pack())
    except (OSError, ValueError) as error:
        _stop(f"{error}; run again: sitepatch hook init {Path.cwd().name}")
    return wheel.name


def _stop(problem: str) -> NoReturn:
    sys.stderr.write(f"sitepatch hook: error: {problem}\n")
    raise SystemExit(1)


def _refused(*words: Any, **settings: Any) -> NoReturn:
    _stop("a hook cannot be installed in editable mode; leave out -e (--editable)")


get_requires_for_build_editable = prepare_metadata_for_build_editable = build_editable = _refused
