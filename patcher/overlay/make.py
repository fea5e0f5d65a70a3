"""A plan -> an overlay: a folder in the cache with the patched files.

It is complete or not there, and never written to again.

    CACHE/overlay/DIGEST/manifest    the file that each copy replaces, and its state then
                         boot/sitecustomize.py    boot.py, the one name on PYTHONPATH
                         added.py    finds files that are not there (`patcher.verify.added`)
                         files/N/PATH    the patched text of PATH in the Nth site directory,
                                         its bytecode beside it
                         verified    written once the copies are verified

Code is run from there, so nobody else may be able to write there. DIGEST is of everything but
`verified`: equal plans for the same files share an overlay, and a reinstalled file gets another
one. Those that were not used for a while go when a new one is written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from patcher.errors import OutdatedError, StoreError, UsageError
from patcher.message import Message
from patcher.model import FilePlan, Plan
from patcher.overlay import boot
from patcher.system import ownership
from patcher.system.cache import (
    HINT,
    OVERLAY,
    cache_dir,
    open_in_use,
    private,
    trim,
    unwritable_explained,
)
from patcher.system.flock import take_flock
from patcher.system.reading import files_digest
from patcher.verify import added

BOOT, VERIFIED = "boot", "verified"
_PYTHONPATH = "PYTHONPATH"
_PRIVATE = Message("code is run from there: {hint}", hint=HINT)


def overlay_files(plan: Plan) -> list[FilePlan]:
    """The files of a plan that an overlay needs: those that are changed, but for type stubs.

    Raises:
        UsageError: one is no module, so that its reader would see it as it is.
    """
    files: list[FilePlan] = []
    for file in plan.files:
        if file.changes and not file.path.endswith(".pyi"):
            files.append(file)
    unserved = [file.path for file in files if not file.path.endswith(".py")]
    if unserved:
        raise UsageError(
            "an overlay serves modules; it cannot serve {paths}",
            "apply the patchset, or run it without that file",
            paths=", ".join(unserved),
        )
    return files


def write_overlay(files: Sequence[FilePlan]) -> Path:
    """Make the overlay of these files, or find it; several processes may do so at once.

    Returns:
        its folder.

    Raises:
        OutdatedError: a file was changed since the plan was made.
        StoreError: the cache is not private, or cannot be written.
    """
    texts = _texts(files)
    home = private(cache_dir("overlay"), _PRIVATE)
    pairs = [(os.fsencode(name), data) for name, data in sorted(texts.items())]
    folder = home / files_digest(pairs)[:32]
    if os.pathsep in str(folder):
        template = "{folder}: PYTHONPATH cannot name a directory with {separator}"
        problem = Message(template, folder=folder, separator=os.pathsep)
        raise StoreError(problem, "set SITEPATCH_CACHE to another one")
    while True:
        if intact(folder, texts):
            # the bytecode beside the copies is run, too
            ownership.refuse_shared(str(folder), _PRIVATE, inside=True)
        else:
            with unwritable_explained():
                _write(home, folder, texts)
        with suppress(FileNotFoundError):  # removed just now
            # never closed: this process becomes the command
            os.set_inheritable(open_in_use(folder), True)
            return folder


def _texts(files: Sequence[FilePlan]) -> dict[str, bytes]:
    """Every file of an overlay by its path in there."""
    texts = {
        f"{BOOT}/sitecustomize.py": Path(boot.__file__).read_bytes(),
        "added.py": Path(added.__file__).read_bytes(),
    }
    sites = list(dict.fromkeys(file.site for file in files))
    rows: list[bytes] = [boot.HEAD]
    for file in files:
        copy = f"files/{sites.index(file.site)}/{file.path}"
        if file.gone:
            copy = ""
        else:
            texts[copy] = file.after
        rows.append(_row(file, copy))
    texts["manifest"] = boot.END.join([*rows, b""])
    return texts


def _row(file: FilePlan, copy: str) -> bytes:
    """The row of a file in the manifest, with its copy, "" for one that is deleted.

    Raises:
        OutdatedError: the file was changed since the plan was made.
    """
    path = Path(file.site, file.path)
    # the file itself may be a link, which is no other name of it here
    original = path.parent.resolve() / path.name
    is_there = original.exists()
    is_added = file.to_commit is not None and not file.to_commit.old
    if is_there == is_added or (is_there and original.read_bytes() != file.before):
        raise OutdatedError(
            "{original} was changed since it was looked at",
            "run this again",
            original=original,
        )
    size = mtime = -1
    if is_there:
        info = original.stat()
        size, mtime = info.st_size, int(info.st_mtime)
    digest = sha256(file.before).hexdigest()
    fields = (str(original), copy, file.module, str(size), str(mtime), digest)
    return b"\0".join(map(os.fsencode, fields))


def intact(folder: Path, texts: Mapping[str, bytes]) -> bool:
    """Whether an overlay has these files, byte for byte."""
    try:
        return all((folder / name).read_bytes() == data for name, data in texts.items())
    except OSError:
        return False


def _write(home: Path, folder: Path, texts: Mapping[str, bytes]) -> None:
    """Write an overlay and rename it into place.

    Under a lock, or another process could move a good one away as damaged.
    """
    trim(OVERLAY)
    with _locked(home):
        if intact(folder, texts):  # another process was faster
            return
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=str(home)))
        try:
            (stage / "new").mkdir(mode=0o700)
            for name, data in texts.items():
                file = stage / "new" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            with suppress(OSError):
                (stage / "new").rename(folder)
            # a damaged one is there; not one of another machine, whose lock may not be seen
            if not intact(folder, texts):
                folder.rename(stage / "damaged")
                (stage / "new").rename(folder)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        take_flock(fd, wait=True)
        yield
    finally:
        os.close(fd)


def search_path(folder: Path, environ: Mapping[str, str]) -> str:
    """The PYTHONPATH with which a process runs in an overlay.

    Raises:
        UsageError: another overlay is on it already, which may have another text of the same file.
    """
    own_boot = str(folder / BOOT)
    variable = environ.get(_PYTHONPATH, "")
    overlays = [path for path in variable.split(os.pathsep) if _is_boot(path)]
    if overlays == [own_boot]:
        return variable
    if overlays:
        raise UsageError(
            "PYTHONPATH: found another overlay, {parent}: "
            "this is run inside of `sitepatch run --overlay`",
            "name all patchsets in one command, or take that directory out of PYTHONPATH",
            parent=Path(overlays[0]).parent,
        )
    return os.pathsep.join(filter(None, [own_boot, variable]))


def _is_boot(entry: str) -> bool:
    try:
        with (Path(entry).parent / "manifest").open("rb") as file:
            return entry.endswith(os.sep + BOOT) and file.read(len(boot.HEAD)) == boot.HEAD
    except OSError:
        return False
