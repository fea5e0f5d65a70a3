"""Lay out the stand-ins of torch and mmengine as installed distributions: for tests, and for the demo offline."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path
from typing import List, Tuple

from patcher.errors import UsageError


def fixtures_dir() -> Path:
    """The directory of the stand-ins: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_fixtures"
    return installed if installed.is_dir() else package.parent / "fixtures"


def fixtures() -> List[str]:
    """The names that `lay_out` takes, sorted."""
    return sorted(path.name for path in fixtures_dir().iterdir() if path.is_dir() and "-" in path.name)


def lay_out(name: str, dest: Path) -> None:
    """Put a stand-in into a directory as pip would have installed it.

    Args:
        name: `NAME-VERSION` or `NAME-VERSION-LABEL`; a label tells variants of one release apart and is not installed,
            because a vendor's build may carry the stock version number.
        dest: the site directory; made if it does not exist. Other distributions in it are left alone.

    Raises:
        UsageError: there is no such stand-in.
        FileExistsError: the distribution is in `dest` already.
    """
    known = fixtures()
    if name not in known:
        raise UsageError('there is no fixture "{name}"', "known fixtures: {names}", name=name, names=", ".join(known))
    source = fixtures_dir() / name
    distribution, version = name.split("-")[:2]
    info = f"{distribution}-{version}.dist-info"
    (dest / info).mkdir(parents=True)
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode(),
        f"{info}/INSTALLER": b"pip\n",
    }
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = dest / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            files[path.relative_to(source).as_posix()] = path.read_bytes()
    rows: List[Tuple[str, str, str]] = [(path, _sha256(data), str(len(data))) for path, data in sorted(files.items())]
    record = "".join(f"{','.join(row)}\n" for row in [*rows, (f"{info}/RECORD", "", "")])
    files[f"{info}/RECORD"] = record.encode()
    for entry in ("METADATA", "INSTALLER", "RECORD"):
        (dest / info / entry).write_bytes(files[f"{info}/{entry}"])


def _sha256(data: bytes) -> str:
    """A hash as RECORD writes it: urlsafe base64 without padding (PEP 376, PEP 427)."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
