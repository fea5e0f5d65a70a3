"""Patches installed files, or restores them; needs nothing but Python. Made by `sitepatch export --format script`.

A file is changed only where the sha256 of its text is the one that the patch was made for, and only into the text whose
sha256 is recorded here. All files are looked at before the first one is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

FILES: List[Dict[str, Any]] = []
"""Written here by `sitepatch export`: path, sha256 (hex) before and after, edits: [offset before, offset after, text before,
text after], with one character a byte."""
SITES = ("site-packages", "dist-packages")


class Replacement(NamedTuple):
    """A file that is to be written, and its text before and after that."""

    path: Path
    old: bytes
    new: bytes


class Problem(Exception):
    """A file that cannot be changed, and why."""


def main(words: Optional[Sequence[str]] = None) -> int:
    """Run the command; returns the exit code: 0 all is as asked, 1 nothing was changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--target", metavar="DIR", help="the site directory (default: those of this interpreter)")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--restore", action="store_true", help="put the text back that was there before")
    asked = parser.parse_args(words)
    sites = [Path(asked.target)] if asked.target else [Path(each) for each in sys.path if Path(each).name in SITES]
    found, problems = [], []
    for path in dict.fromkeys(str(file["path"]) for file in FILES):
        try:
            found.append((path, change(path, sites, restore=asked.restore)))
        except (Problem, OSError) as problem:
            problems.append(f"{path}: {problem}")
    try:
        if not problems and not asked.dry_run:
            replace_all([each for _, each in found if each])
    except OSError as problem:
        problems.append(f"{problem}; the files are as they were")
    verb = "restored" if asked.restore else "patched"
    for path, each in found if not problems else ():
        sys.stdout.write(f"{verb + ' already' if not each else f'would be {verb}' if asked.dry_run else verb}: {path}\n")
    sys.stderr.write("".join(f"error: {problem}\n" for problem in problems))
    return 1 if problems else 0


def change(path: str, sites: Sequence[Path], *, restore: bool) -> Optional[Replacement]:
    """What is to be done with a file, None where it is as asked already; raises Problem where its text is not known."""
    site = next((each for each in sites if (each / path).exists()), None)
    if site is None:
        raise Problem(f"is not in {', '.join(map(str, sites)) or 'any site directory'}; name another one with --target")
    if any((site / ".sitepatch" / "receipts").glob("*")):
        raise Problem(f"sitepatch keeps patches in {site}: apply and restore them with the command `sitepatch`")
    if (site / path).is_symlink():
        raise Problem("is a symbolic link, and what it leads to may be shared")
    old = (site / path).read_bytes()
    digest = sha256(old).hexdigest()
    start, end = ("after", "before") if restore else ("before", "after")
    known = [file for file in FILES if file["path"] == path]
    if digest in [file[end] for file in known]:
        return None
    for file in known:
        new = edited(old, file["edits"], restore=restore) if file[start] == digest else old
        if sha256(new).hexdigest() == file[end]:
            return Replacement(site / path, old, new)
    raise Problem(f"is not the text that this was made for (sha256 {digest})")


def edited(data: bytes, edits: Sequence[Sequence[Any]], *, restore: bool) -> bytes:
    """The text after the edits, or before them."""
    parts, done = [], 0
    for edit in edits:
        start, (old, new) = edit[restore], [each.encode("latin-1") for each in edit[2:]]
        parts += [data[done:start], old if restore else new]
        done = start + len(new if restore else old)
    return b"".join([*parts, data[done:]])


def replace_all(changes: Sequence[Replacement]) -> None:
    """Replace all of the files, or none; what was compiled of the old ones goes first."""
    parts = [each.path.with_name(f".{each.path.name}.{os.getpid()}.part") for each in changes]
    done: List[Replacement] = []
    try:
        for part, each in zip(parts, changes):
            with part.open("xb") as file:
                file.write(each.new)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(each.path.stat().st_mode & 0o7777)
            for compiled in (each.path.parent / "__pycache__").glob(f"{each.path.stem}.*.pyc"):
                compiled.unlink()
        for part, each in zip(parts, changes):
            part.replace(each.path)
            done.append(each)
    except OSError:
        for each in done:
            each.path.write_bytes(each.old)
        raise
    finally:
        for part in parts:
            if part.exists():
                part.unlink()


if __name__ == "__main__":
    sys.exit(main())
