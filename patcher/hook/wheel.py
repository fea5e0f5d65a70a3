"""A hook as a wheel: the same bytes for the same content."""

from __future__ import annotations

import csv
import io
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Dict, Tuple

import patcher
from patcher.hook.directory import Content
from patcher.hook.kept import HOOK, KEPT, PATCHSETS, write_hook, write_kept

CARRIED = (
    "__init__", "bytecode", "distribution", "environment", "errors", "folder", "hook/__init__", "hook/boot", "hook/judge",
    "hook/kept", "hook/other", "hook/places", "hook/repair", "interpreter", "journal", "lock", "model", "permission",
    "prepare", "reading", "receipt", "semantic/__init__", "semantic/splice", "standing", "store", "turns",
)  # fmt: skip
"""The modules of ours that a hook brings along, so that it works where sitepatch is not installed."""
OWN = ("state", "state.tmp", "lock")
"""Empty files that the hook writes to; they stand in RECORD, so that whoever uninstalls it removes them."""


def stem(name: str) -> str:
    """The first part of the names of the wheel, of its .pth, .start and dist-info: the name as PEP 427 escapes it."""
    return name.replace("-", "_")


def module(name: str) -> str:
    """The package that a hook installs."""
    return f"_{stem(name)}"


def file_name(content: Content) -> str:
    """The name of the wheel."""
    return f"{stem(content.hook.name)}-{content.hook.version}-py3-none-any.whl"


def metadata(content: Content) -> Dict[str, bytes]:
    """The files of the dist-info directory but for RECORD, by name."""
    hook = content.hook
    names = ", ".join(one.name for one in hook.patchsets)
    lines = ["Metadata-Version: 2.1", f"Name: {hook.name}", f"Version: {hook.version}",
             f"Summary: Keeps {names} applied", "Requires-Python: >=3.8"]  # fmt: skip
    wheel = ["Wheel-Version: 1.0", f"Generator: sitepatch {patcher.__version__}", "Root-Is-Purelib: true", "Tag: py3-none-any"]
    return {"METADATA": "\n".join([*lines, ""]).encode(), "WHEEL": "\n".join([*wheel, ""]).encode()}


def info(content: Content) -> str:
    """The name of the dist-info directory."""
    return f"{stem(content.hook.name)}-{content.hook.version}.dist-info"


def build(content: Content) -> Tuple[str, bytes]:
    """The name and the bytes of the wheel."""
    files = _files(content)
    files.update((f"{info(content)}/{name}", data) for name, data in metadata(content).items())
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, data in sorted(files.items()):
        rows.writerow([name, "sha256=" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode(), len(data)])
    rows.writerow([f"{info(content)}/RECORD", "", ""])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # what deflate makes differs between machines
        for name, data in [*sorted(files.items()), (f"{info(content)}/RECORD", record.getvalue().encode())]:
            member = zipfile.ZipInfo(name)  # of 1980
            member.create_system, member.external_attr = 3, 0o100644 << 16
            archive.writestr(member, data)
    return file_name(content), out.getvalue()


def _files(content: Content) -> Dict[str, bytes]:
    hook, top, start = content.hook, module(content.hook.name), stem(content.hook.name)
    package = Path(patcher.__file__).parent
    boot = (package / "hook/boot.py").read_text(encoding="utf-8")
    for word, value in (("@NAME@", hook.name), ("@ID@", hook.version), ("@MODE@", hook.mode)):
        boot = boot.replace(word, value)
    files = {
        f"{start}.pth": f"import {top}; {top}.start()\n".encode(),
        f"{start}.start": f"{top}:start\n".encode(),
        f"{top}/__init__.py": boot.encode("utf-8"),
        f"{top}/closer.py": (package / "hook/closer.py").read_bytes(),
        f"{top}/{HOOK}": write_hook(hook),
        f"{top}/{KEPT}": write_kept(content.kept, {one.name: one.digest for one in hook.patchsets}),
    }
    files.update((f"{top}/{name}", b"") for name in OWN)
    files.update((f"{top}/{PATCHSETS}/{name}", text.encode("utf-8")) for name, text in content.texts.items())
    files.update((f"{top}/lib/patcher/{name}.py", (package / f"{name}.py").read_bytes()) for name in CARRIED)
    return files
