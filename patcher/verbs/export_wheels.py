"""The wheels that `export` writes: releases with changed files, and patchsets by themselves."""

from __future__ import annotations

from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Iterator, Sequence

from patcher.author.export import (
    OpenWheel,
    PatchedFile,
    new_name,
    open_wheel,
    recorded,
    repack,
)
from patcher.author.spatch_draft import package_of
from patcher.errors import SitepatchError, UsageError
from patcher.hook.backend import Wheel
from patcher.installed.environment import locate
from patcher.installed.index import NoWheel, Pip
from patcher.installed.interpreter import Environment
from patcher.installed.releases import fetch_wheel
from patcher.installed.versions import canonical
from patcher.message import Message
from patcher.model import Patchset
from patcher.patchset.places import GROUP
from patcher.place import Events
from patcher.system.output import open_output
from patcher.text.listed import normalized

PREFIX = "sitepatch-patchset-"
"""What the name of a distribution of a patchset begins with; the name of the patchset follows."""
_CHUNK = 1 << 20


# releases with changed files ----------------------------------------------------------------------
def write_wheels(
    env: Environment,
    files: Sequence[PatchedFile],
    folder: Path,
    wheels: Sequence[str],
    *,
    events: Events,
) -> Iterator[tuple[str, str]]:
    """Write a wheel for each distribution of which something changes.

    Args:
        env: where the distributions are installed.
        files: what changes.
        folder: where the wheels are put.
        wheels: those of the releases as they are installed; pip fetches those that are missing.
        events: takes what is fetched.

    Yields:
        The path of each wheel, and its sha256 (hex).

    Raises:
        UsageError: nothing changes of one of `wheels`.
        SitepatchError: a wheel cannot be had, or is not the one that is installed.
    """
    changed: dict[str, list[PatchedFile]] = {}
    for file in files:
        changed.setdefault(normalized(file.distribution), []).append(file)
    with Pip() as pip, ExitStack() as stack:
        open_wheels: dict[str, OpenWheel] = {}
        for path in wheels:
            name = normalized(Path(path).name.split("-")[0])
            open_wheels[name] = open_wheel(Path(path))
            stack.enter_context(open_wheels[name].archive)
        unused = [wheel.name for name, wheel in open_wheels.items() if name not in changed]
        if unused:
            problem = "--wheel: found {unused}, of which nothing changes"
            expected = ", ".join(changed)
            raise UsageError(
                problem, "expected: {wheels}", unused=", ".join(unused), wheels=expected
            )
        for name, patched in changed.items():
            wheel = open_wheels.get(name) or _fetched(pip, env, patched[0], events=events)
            target = folder / new_name(wheel, patched)
            with wheel.archive, open_output(target) as out:
                repack(wheel, patched, out)
            yield str(target), _digest(target)


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _fetched(pip: Pip, env: Environment, file: PatchedFile, *, events: Events) -> OpenWheel:
    """The wheel that a release was installed from, fetched by pip.

    Raises:
        SitepatchError: it cannot be had, or the one of the index is another build.
    """
    info = Path(locate(env, package_of(file.path), [file.path]).dist_info)
    hint = Message("name the wheel that it was installed from with --wheel")
    if not (info / "WHEEL").is_file():
        template = "{distribution} {version}: was not installed from a wheel"
        problem = Message(template, distribution=file.distribution, version=file.version)
        raise SitepatchError(problem, hint)
    template = "fetching the wheel of {distribution} {version}"
    events.note(Message(template, distribution=file.distribution, version=file.version))
    try:
        wheel = open_wheel(fetch_wheel(pip, file.distribution, file.version, info))
    except NoWheel as error:  # it was built here from a source distribution, say
        template = "{distribution} {version}: {message}"
        problem = Message(
            template, distribution=file.distribution, version=file.version, message=error.message
        )
        raise SitepatchError(problem, hint) from None
    different = _different_file(info, wheel)
    if different:
        wheel.archive.close()
        template = "{name}: is another build than the one that is installed ({other} differs)"
        raise SitepatchError(Message(template, name=wheel.name, other=different), hint)
    return wheel


def _different_file(info: Path, wheel: OpenWheel) -> str:
    """A file of a wheel that is installed with another hash, "" where all are the same."""
    installed = recorded((info / "RECORD").read_bytes())
    for path, digest in recorded(wheel.read("RECORD")).items():
        is_code = ".dist-info/" not in path and path in installed
        if is_code and installed[path] != digest:
            return path
    return ""


# patchsets as distributions -----------------------------------------------------------------------
def patchset_wheel(patchset: Patchset) -> Wheel:
    """A wheel that holds the files of a patchset in a folder that an entry point names.

    Reading them runs nothing of it.

    The same patchset gives the same bytes. The wheel depends on nothing, not even on sitepatch, so
    the two can be installed in
    any order. The module is a package though nobody imports it: pip leaves an empty folder when it
    uninstalls one without a file of its own.
    """
    version = canonical(patchset.version)
    name = f"{PREFIX}{patchset.name}"
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata: dict[str, list[str]] = {
        "METADATA": [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            f"Version: {version}",
            f"Summary: {patchset.about.summary}",
        ],
        "WHEEL": [
            "Wheel-Version: 1.0",
            "Generator: sitepatch",
            "Root-Is-Purelib: true",
            "Tag: py3-none-any",
        ],
        "entry_points.txt": [f"[{GROUP}]", f"{patchset.name} = {module}"],
    }
    files: dict[str, bytes] = {}
    for file, lines in metadata.items():
        files[f"{info}/{file}"] = "\n".join([*lines, ""]).encode("utf-8")
    files[f"{module}/__init__.py"] = b""
    for path, content in patchset.folder.files.items():
        files[f"{module}/{patchset.name}/{path}"] = content.encode("utf-8")
    return Wheel(f"{module}-{version}-py3-none-any.whl", files)
