"""A hook as a wheel: the same bytes for the same content."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Tuple

import patcher
from patcher.hook.content import Content, write_hook, write_precomputed
from patcher.hook.places import HOOK, PATCHSETS, PRECOMPUTED, module, stem

CARRIED_MODULES = (
    *("__init__", "errors", "facts", "model", "splice"),
    *(f"hook/{name}" for name in ("__init__", "boot", "classify", "content", "other", "places", "repair")),
    *(f"store/{name}" for name in ("__init__", "bytecode", "folder", "journal", "lock", "meta", "permission", "prepare")),
    *(f"store/{name}" for name in ("receipt", "retry", "status", "store", "tidy")),
    *(f"system/{name}" for name in ("__init__", "archive", "decode", "flock", "ownership", "reading")),
    *("target/__init__", "target/distribution", "target/environment", "target/interpreter", "target/record"),
    *("text/__init__", "text/listed", "text/release", "text/width"),
)
"""The modules of ours that a hook carries, so that it works where sitepatch is not installed."""
OWN = ("state", "state.tmp", "lock")
"""Empty files that the hook writes to; they are in RECORD, so that an uninstall removes them."""


def _metadata(content: Content) -> Dict[str, bytes]:
    hook = content.hook
    names = ", ".join(one.name for one in hook.patchsets)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {hook.name}",
        f"Version: {hook.version}",
        f"Summary: Keeps {names} applied",
        "Requires-Python: >=3.8",
    ]
    about = ["Wheel-Version: 1.0", f"Generator: sitepatch {patcher.__version__}", "Root-Is-Purelib: true", "Tag: py3-none-any"]
    return {"METADATA": "\n".join([*lines, ""]).encode(), "WHEEL": "\n".join([*about, ""]).encode()}


def wheel(content: Content) -> Tuple[str, Dict[str, bytes]]:
    """The file name of a hook's wheel, and its files by name, but for RECORD."""
    first = f"{stem(content.hook.name)}-{content.hook.version}"
    files = _files(content)
    files.update((f"{first}.dist-info/{name}", data) for name, data in _metadata(content).items())
    return f"{first}-py3-none-any.whl", files


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
        f"{top}/recheck.py": (package / "hook/recheck.py").read_bytes(),
        f"{top}/{HOOK}": write_hook(hook),
        f"{top}/{PRECOMPUTED}": write_precomputed(content.precomputed, {one.name: one.digest for one in hook.patchsets}),
    }
    files.update((f"{top}/{name}", b"") for name in OWN)
    files.update((f"{top}/{PATCHSETS}/{name}", text.encode("utf-8")) for name, text in content.texts.items())
    files.update((f"{top}/lib/patcher/{name}.py", (package / f"{name}.py").read_bytes()) for name in CARRIED_MODULES)
    return files
