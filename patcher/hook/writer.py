"""The directory of a hook, for a line in requirements.txt, as `hook init` writes it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Iterable, List, Sequence

from patcher.errors import SitepatchError, UsageError
from patcher.hook import backend
from patcher.hook.content import Content, write_precomputed
from patcher.hook.directory import TABLE
from patcher.hook.places import PATCHSETS, PRECOMPUTED, module
from patcher.hook.wheel import wheel
from patcher.patchset.toml import decode_text, written_toml
from patcher.project.pyproject import ProjectEntry
from patcher.system.reading import read_file

BACKEND = "backend.py"
_HEAD = """\
# Keeps patches applied. For requirements.txt, with the path from where the installer is run:  ./{folder}
# Written by `sitepatch hook init`; run that again after a change. All of this directory belongs under version control.
"""


def check_place(folder: Path) -> None:
    """Refuse a directory that holds something else than a hook.

    Raises:
        UsageError: what was found.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() and f"[tool.{TABLE}]" not in _text(folder / "pyproject.toml"):
        what = "a directory that is not empty and holds no hook" if folder.is_dir() else "something that is no directory"
        raise UsageError(f"{folder}: found {what}", "name a directory that does not exist yet, or one that hook init made")


def write_directory(folder: Path, content: Content, entries: Sequence[ProjectEntry]) -> List[str]:
    """Write or update the directory of a hook; returns the names of the files, `/`-separated."""
    for old in _listed(folder):  # before the new ones come: a patchset that is no longer requested goes
        if old not in content.texts:
            (folder / PATCHSETS / old).unlink()
            for parent in (folder / PATCHSETS / old).parents:
                if parent == folder or any(parent.iterdir()):
                    break
                parent.rmdir()
    digests = {one.name: one.digest for one in content.hook.patchsets}
    data = {f"{PATCHSETS}/{name}": text.encode("utf-8") for name, text in content.texts.items()}
    data[PRECOMPUTED] = write_precomputed(content.precomputed, digests)
    keys = sorted([*data, BACKEND, backend.CARRIED])
    data["pyproject.toml"] = _pyproject(folder, content, entries, keys).encode("utf-8")
    data[backend.CARRIED] = backend.carry(backend.Wheel(*wheel(content)), module(content.hook.name), data)
    data[BACKEND] = Path(backend.__file__).read_bytes()
    for name, each in data.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(each)
    return sorted(data)


def _listed(folder: Path) -> List[str]:
    """The files of the patchsets that lie there, as `NAME/FILE`."""
    top = folder / PATCHSETS
    return [path.relative_to(top).as_posix() for path in sorted(top.rglob("*")) if path.is_file()]


def _pyproject(folder: Path, content: Content, entries: Sequence[ProjectEntry], files: Sequence[str]) -> str:
    hook = content.hook
    texts = [" ".join([entry.name, *map(shlex.quote, entry.settings), *["optional"] * entry.optional]) for entry in entries]
    names = ", ".join(entry.name for entry in entries)
    keys = ["pyproject.toml", *files]
    lines = [
        _HEAD.format(folder=folder.name),
        "[build-system]",
        "requires = []",
        f'build-backend = "{BACKEND[: -len(".py")]}"',
        'backend-path = ["."]',
        "",
        "[project]",
        f"name = {written_toml(hook.name)}",
        f"version = {written_toml(hook.version)}",
        f"description = {written_toml(f'Keeps {names} applied')}",
        'requires-python = ">=3.8"',
        "",
        "[tool.sitepatch]",
        *_written("patchsets", map(written_toml, texts)),
        f'patch-dir = "{PATCHSETS}"',
        "",
        f"[tool.{TABLE}]",
        f"mode = {written_toml(hook.mode)}",
        "",
        "[tool.uv]  # which files uv looks at to see that the hook has to be built again",
        *_written("cache-keys", (f"{{ file = {written_toml(name)} }}" for name in keys)),
        "",
    ]
    return "\n".join(lines)


def _written(key: str, items: Iterable[str]) -> List[str]:
    """The lines of a TOML list."""
    return [f"{key} = [", *(f"    {item}," for item in items), "]"]


def _text(path: Path) -> str:
    """The text of a file, "" where there is none that can be read."""
    try:
        return decode_text(read_file(path), path)
    except (OSError, SitepatchError):
        return ""
