"""The directory of a hook, for a line in requirements.txt, as `hook init` writes it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable, Sequence

from patcher import __version__
from patcher.errors import FormatError, StoreError, UsageError
from patcher.hook import backend
from patcher.hook.installed import HOOK, PATCHSETS, read_hook_fields
from patcher.message import Message
from patcher.model import Requested
from patcher.patchset.toml import option_text, written_toml
from patcher.store.receipt import encode_fields, path_problem
from patcher.system.decode import decode_json
from patcher.system.output import write_output

NAME_RULE = Message("a name of a-z, 0-9 and single -, that begins with a letter")
_PART = re.compile(r"\..*\.part")
_PYPROJECT = (
    "# Keeps patches applied. "
    "For requirements.txt, with the path from where the installer is run:  ./{folder}\n"
    "# Written by `sitepatch hook init`; run that again after a change. "
    "All of this directory belongs under version control.\n"
    """\
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
)


def is_name(name: str) -> bool:
    """Whether a hook may have this name, of which that of a module is made."""
    return bool(re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name))


def read_directory(folder: Path) -> dict[str, Any] | None:
    """What the hook.json of a hook's directory says (`read_hook_fields`); None if there is none.

    A damaged one, as a full disk or a careless merge leaves it, counts as none and is replaced.

    Raises:
        UsageError: the directory holds something else.
        FormatError: a newer sitepatch has made it.
    """
    if (folder / HOOK).is_file():
        try:
            return read_hook_fields(str(folder / HOOK))
        except FormatError:
            raise
        except StoreError:
            return None
    if folder.exists() and not _is_empty(folder):
        what = Message("something that is no directory")
        if folder.is_dir():
            what = Message("a directory that is not empty and holds no hook")
        raise UsageError(
            "{folder}: found {what}",
            "name a directory that does not exist yet, or one that hook init made",
            folder=folder,
            what=what,
        )
    return None


def _is_empty(folder: Path) -> bool:
    """Whether nothing is in a directory but what a killed run has left (see `open_output`)."""
    return folder.is_dir() and all(_PART.fullmatch(path.name) for path in folder.iterdir())


def write_directory(
    folder: Path, name: str, mode: str, requested: Sequence[Requested], recorded: Sequence[str]
) -> tuple[str, list[str]]:
    """Write or update the directory of a hook.

    Args:
        folder: the directory.
        name: the name of the hook.
        mode: one of `MODES`.
        requested: the patchsets that it keeps applied.
        recorded: the files of patchsets that its record names; those that are not needed any more
            are removed, others stay.

    Returns:
        Its version and the names of its files, `/`-separated.

    Raises:
        UsageError: a link stands where it would write.
    """
    copies, options = _copies(requested)
    boot = Path(backend.__file__).with_name(backend.BOOT).read_bytes().replace(b"\r\n", b"\n")
    fields: dict[str, Any] = {
        "name": name,
        "version": "",
        "mode": mode,
        "patchsets": options,
        "files": sorted(copies),
    }
    files = {**copies, backend.BOOT: boot}
    version = backend.version_of(decode_json(encode_fields(fields)), files)
    fields["version"] = version
    files[HOOK] = encode_fields(fields)
    files["backend.py"] = Path(backend.__file__).read_bytes()
    files["pyproject.toml"] = _pyproject(folder, fields, paths=files)

    gone = sorted(path for path in set(recorded) - set(copies) if _is_copy(path))
    for path in [*files, *gone]:
        _refuse_links(folder, path)
    for path in gone:  # first: what is killed after this has no file that its record does not name
        _remove_copy(folder, path)
    write_output(folder / HOOK, files[HOOK])
    for path, data in files.items():
        if path != HOOK:
            write_output(folder / path, data)
    return version, sorted(files)


def _copies(requested: Sequence[Requested]) -> tuple[dict[str, bytes], dict[str, dict[str, str]]]:
    """The files of patchsets by their path in the directory, and the options of each as texts."""
    files: dict[str, bytes] = {}
    options: dict[str, dict[str, str]] = {}
    for patchset, values, *_ in requested:
        for path, text in patchset.folder.files.items():
            files[f"{PATCHSETS}/{patchset.name}/{path}"] = text.encode("utf-8")
        options[patchset.name] = {key: option_text(value) for key, value in values.items()}
    return files, options


def _pyproject(folder: Path, fields: dict[str, Any], paths: Iterable[str]) -> bytes:
    """The text of the pyproject.toml of a hook's directory that has these other files."""
    keys: list[str] = []
    for path in sorted([*paths, "pyproject.toml"]):
        keys.append(f"    {{ file = {written_toml(path)} }},")
    names = ", ".join(fields["patchsets"])
    text = _PYPROJECT.format(
        folder=folder.name,
        name=written_toml(fields["name"]),
        version=written_toml(fields["version"]),
        names=written_toml(Message("Keeps {names} applied", names=names)),
        needs=written_toml(f"sitepatch>={__version__}"),
        keys="\n".join(keys),
    )
    return text.encode("utf-8")


def _is_copy(path: str) -> bool:
    """Whether a path of a record, which may be forged, is one of a file of a patchset."""
    parts = path.split("/")
    return len(parts) > 2 and parts[0] == PATCHSETS and not path_problem(path)


def _refuse_links(folder: Path, path: str) -> None:
    """Refuse to write or to remove what is a link below the directory, or is reached by one."""
    place = folder
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            raise UsageError(
                "{place}: is a link; hook init does not write through it",
                "remove it, or name another directory",
                place=place,
            )


def _remove_copy(folder: Path, path: str) -> None:
    """Remove a file that an earlier run wrote, and the directories above it that are empty then."""
    place = folder / path
    with suppress(FileNotFoundError):
        place.unlink()
    for above in list(place.relative_to(folder).parents)[:-1]:
        try:
            (folder / above).rmdir()
        except OSError:  # there is something of somebody else
            return
