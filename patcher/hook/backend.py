"""The build backend of a hook's directory (PEP 517), which has a copy of this file: makes its wheel without a network.

Standard library only.
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


class Wheel(NamedTuple):
    """A wheel but for its RECORD: its file name, its files by name."""

    name: str
    files: dict[str, bytes]

    @property
    def stem(self) -> str:
        """NAME-VERSION."""
        return "-".join(self.name.split("-")[:2])

    def pack(self) -> bytes:
        """The bytes of the archive, the same for the same files."""
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        for name, data in sorted(self.files.items()):
            rows.writerow(
                [
                    name,
                    "sha256=" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode(),
                    len(data),
                ]
            )
        path = f"{self.stem}.dist-info/RECORD"
        rows.writerow([path, "", ""])
        out = io.BytesIO()
        with zipfile.ZipFile(
            out, "w", zipfile.ZIP_STORED
        ) as archive:  # what deflate makes differs between machines
            for name, data in [*sorted(self.files.items()), (path, record.getvalue().encode())]:
                member = zipfile.ZipInfo(name)  # of 1980
                member.create_system, member.external_attr = 3, 0o100644 << 16
                archive.writestr(member, data)
        return out.getvalue()


def version_of(fields: dict[str, Any], files: dict[str, bytes]) -> str:
    """The version of a hook: the release of sitepatch that made it, and a digest of all that the hook is made from."""
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
        paths = [BOOT, *fields["files"]]
        files = {path: (folder / path).read_bytes().replace(b"\r\n", b"\n") for path in paths}
        stem, release, names = (
            fields["name"].replace("-", "_"),
            fields["sitepatch"],
            ", ".join(fields["patchsets"]),
        )
        name, version, mode = fields["name"], fields["version"], fields["mode"]
        same = version == version_of(fields, files)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{HOOK}: {type(error).__name__}: {error}") from error
    if not same:
        raise ValueError("was changed since hook init ran")
    top, info = f"_{stem}", f"{stem}-{version}.dist-info"
    boot = (
        files.pop(BOOT)
        .decode("utf-8")
        .replace("@NAME@", name)
        .replace("@ID@", version)
        .replace("@MODE@", mode)
    )
    texts = {
        f"{stem}.pth": f"import {top}; {top}.start()\n",
        f"{stem}.start": f"{top}:start\n",
        f"{top}/__init__.py": boot,
        f"{top}/{HOOK}": json.dumps(fields, indent=1, sort_keys=True) + "\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: Keeps {names} applied\n"
        f"Requires-Python: >=3.8\nRequires-Dist: sitepatch>={release}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: sitepatch {release}\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **dict.fromkeys((f"{top}/{path}" for path in OWN), ""),
    }
    wheel_files = {path: content.encode("utf-8") for path, content in texts.items()}
    wheel_files.update((f"{top}/{path}", data) for path, data in files.items())
    return Wheel(f"{stem}-{version}-py3-none-any.whl", wheel_files)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel of the current directory and return its name; what is wrong ends the build with one line."""
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
