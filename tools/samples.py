"""Packages, patchsets and projects that are made for a measurement or a test."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Sequence

from tests.records import with_record, write_files

MANIFEST = """schema = 1
name = "{name}"
version = "1"
kind = "debug"
summary = "For a benchmark"
[[variant]]
package = "{package}"
versions = ""
patches = ["p.spatch"]
"""
MODULE = """def f(a):
    return old(a)


def old(a): return a + {number}
"""
HUNK = """--- {package}/m{number}.py
@@ f @@
-old($X)
+max($X, 0)
"""


def patchset(folder: Path, name: str, package: str, text: str) -> None:
    """Write a patchset folder with one `.spatch` of this text."""
    target = folder / name
    target.mkdir(parents=True)
    (target / "patchset.toml").write_text(MANIFEST.format(name=name, package=package))
    (target / "p.spatch").write_text(text)


def package(site: Path, name: str, files: int) -> None:
    """Write a package of so many modules, no two of them alike; `many` changes all of them."""
    modules = {f"{name}/__init__.py": ""}
    for number in range(files):
        modules[f"{name}/m{number}.py"] = MODULE.format(number=number)
    write_files(site, with_record(name, "1", modules))


def many(name: str, files: int) -> str:
    """The text of a patch that changes each module of such a package."""
    hunks = [HUNK.format(package=name, number=number) for number in range(files)]
    return "Change them all.\n\n" + "".join(hunks)


def hundred(
    work: Path, ours: Sequence[str], run: Callable[[list[str], Path], object], many: int = 100
) -> Path:
    """A project that asks for so many patchsets of one package.

    They are applied in the directory `hundred`.

    Args:
        work: where the project and that directory are made.
        ours: the command `sitepatch`.
        run: runs a command in a directory.
        many: how many.
    """
    project = work / "project"
    names = [f"p{number}" for number in range(many)]
    package(work / "hundred", "hundred", many)
    for number, name in enumerate(names):
        text = "Change it.\n\n" + HUNK.format(package="hundred", number=number)
        patchset(project / "patchsets", name, "hundred", text)
    (project / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = {names!r}\n")
    run([*ours, "sync", "--target", str(work / "hundred"), "--verify", "none"], project)
    return project
