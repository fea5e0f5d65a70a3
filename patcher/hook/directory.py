"""The directory of a hook, for a line in requirements.txt, as `hook init` writes it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Sequence

from patcher import __version__
from patcher.errors import UsageError
from patcher.hook import backend
from patcher.hook.installed import HOOK, PATCHSETS, read_hook_fields
from patcher.message import Message
from patcher.model import Requested
from patcher.patchset.toml import option_text, written_toml
from patcher.store.receipt import encode_fields
from patcher.system.decode import decode_json

NAME_RULE = Message("a name of a-z, 0-9 and single -, that begins with a letter")
_PYPROJECT = """\
# Keeps patches applied. For requirements.txt, with the path from where the installer is run:  ./{folder}
# Written by `sitepatch hook init`; run that again after a change. All of this directory belongs under version control.
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = {name}
version = {version}
description = {names}
requires-python = ">=3.8"
dependencies = [{needs}]

[tool.uv]  # which files uv looks at to see that the hook has to be built again
cache-keys = [
{keys}
]
"""


def is_name(name: str) -> bool:
    """Whether a hook may have this name, of which that of a module is made."""
    return bool(re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name))


def read_directory(folder: Path) -> dict[str, Any] | None:
    """What the hook.json of a hook's directory says (see `read_hook_fields`); None where there is nothing yet.

    Raises:
        UsageError: it holds something else.
        StoreError: its hook.json is damaged.
    """
    if (folder / HOOK).is_file():
        return read_hook_fields(str(folder / HOOK))
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        content = Message(
            "a directory that is not empty and holds no hook"
            if folder.is_dir()
            else "something that is no directory"
        )
        raise UsageError(
            "{folder}: found {what}",
            Message("name a directory that does not exist yet, or one that hook init made"),
            folder=folder,
            what=content,
        )
    return None


def write_directory(
    folder: Path, name: str, mode: str, requested: Sequence[Requested]
) -> tuple[str, list[str]]:
    """Write or update the directory of a hook; returns its version and the names of its files, `/`-separated."""
    data = {
        f"{PATCHSETS}/{item.patchset.name}/{path}": content.encode("utf-8")
        for item in requested
        for path, content in item.patchset.files.items()
    }
    data[backend.BOOT] = (
        Path(backend.__file__).with_name(backend.BOOT).read_bytes().replace(b"\r\n", b"\n")
    )
    options = {
        item.patchset.name: {key: option_text(value) for key, value in item.options.items()}
        for item in requested
    }
    fields = {"name": name, "version": "", "mode": mode, "patchsets": options}
    version = backend.version_of(decode_json(encode_fields(fields)), data)
    data[HOOK] = encode_fields({**fields, "version": version})
    data["backend.py"] = Path(backend.__file__).read_bytes()
    keys = "\n".join(
        f"    {{ file = {written_toml(path)} }}," for path in sorted([*data, "pyproject.toml"])
    )
    texts = {
        "name": name,
        "version": version,
        "needs": f"sitepatch>={__version__}",
        "names": Message("Keeps {options} applied", options=", ".join(options)),
    }
    quoted = {key: written_toml(value) for key, value in texts.items()}
    data["pyproject.toml"] = _PYPROJECT.format(folder=folder.name, keys=keys, **quoted).encode(
        "utf-8"
    )
    shutil.rmtree(folder / PATCHSETS, ignore_errors=True)  # one that is no longer requested goes
    for path, content in data.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return version, sorted(data)
