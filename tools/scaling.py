"""How the cost of a change grows with the file and with the number of hunks, beside ast-grep and LibCST's codemod tool.

Part of `python -m tools.benchmarks`. The same change by all three, in files made here; after the first round the bytes of
their results are compared, so that nobody is fast at something else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, NamedTuple, Sequence

SIZES = {"1 KB": 1_000, "10 KB": 10_000, "100 KB": 100_000, "1.3 MB": 1_300_000}
HUNKS = (1, 5, 10, 50)
FILLER = '''def filler_{0}(a, b=1):
    """Nobody asks for this one."""
    for x in range(a):
        if x > b:
            print(str(x), "text", sep=str(b))
    return a


'''
SCOPE = '''def f_{0}(a):
    """The change goes here."""
    x = old_{0}(a + {0})
    return x


'''
CODEMOD = """
import libcst as cst
from libcst.codemod import VisitorBasedCodemodCommand


class Change(VisitorBasedCodemodCommand):
    DESCRIPTION = "old_N(x) becomes max(x, N)"

    def leave_Call(self, original_node, updated_node):
        name = updated_node.func.value if isinstance(updated_node.func, cst.Name) else ""
        if not name.startswith("old_"):
            return updated_node
        first = updated_node.args[0].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        return updated_node.with_changes(func=cst.Name("max"), args=[first, cst.Arg(cst.Integer(name[4:]))])
"""


class Cell(NamedTuple):
    """One tool on one file: `prepare` brings the file back, `target` is where the result stands."""

    row: str
    column: str
    command: Sequence[str]
    prepare: Callable[[], object]
    cwd: Path
    target: Path
    expected: bytes


def source(size: int, scopes: int) -> bytes:
    """A file of about `size` bytes with the given number of functions to change, among others."""
    changed = [SCOPE.format(number) for number in range(scopes)]
    count = max(0, (size - sum(map(len, changed))) // len(FILLER.format(1)))
    fillers = [FILLER.format(number) for number in range(count)]
    every = max(1, len(fillers) // (scopes + 1))
    parts = ["import os\n\n\n"]
    for number in range(scopes):
        parts += [*fillers[number * every : (number + 1) * every], changed[number]]
    return "".join([*parts, *fillers[scopes * every :]]).encode()


def cells(
    work: Path, patches: Path, write: Callable[[Path, str, str, str], None], offline: bool
) -> list[Cell]:
    """Every tool on every file. `write(patches, name, package, text)` writes a patchset."""
    found: list[Cell] = []
    tool = None if offline else ast_grep(work)
    if tool is None:
        print("left out: ast-grep beside file sizes and hunks (not installed by pip)")
    cases = [(name, size, 1) for name, size in SIZES.items()]
    cases += [
        (f"{count} hunks, 100 KB" if count > 1 else "1 hunk, 100 KB", 100_000, count)
        for count in HUNKS
    ]
    for index, (row, size, scopes) in enumerate(cases):
        data = source(size, scopes)
        expected = data
        for number in range(scopes):
            expected = expected.replace(
                f"old_{number}(a + {number})".encode(), f"max(a + {number}, {number})".encode()
            )
        package = f"case{index}"
        hunks = "".join(
            f"@@ f_{number} @@\n-old_{number}($X)\n+max($X, {number})\n" for number in range(scopes)
        )
        write(patches, package, package, f"Make it larger.\n\n--- {package}/m.py\n{hunks}")
        for column, command in commands(work, patches, package, scopes, tool).items():
            folder = work / "scaling" / column.replace(" ", "-") / package
            target = folder / package / "m.py"
            target.parent.mkdir(parents=True)
            (target.parent / "__init__.py").write_text("")
            line = [part.format(folder=folder, target=target) for part in command]
            found.append(
                Cell(row, column, line, restorer(folder, target, data), folder, target, expected)
            )
    return found


def restorer(folder: Path, target: Path, data: bytes) -> Callable[[], None]:
    def restore() -> None:
        shutil.rmtree(str(folder / ".sitepatch"), ignore_errors=True)
        target.write_bytes(data)

    return restore


def commands(
    work: Path, patches: Path, package: str, scopes: int, tool: Path | None
) -> dict[str, list[str]]:
    """The command of each tool; `{folder}` and `{target}` stand for the site directory and the file."""
    ours = [
        sys.executable,
        "-c",
        "from patcher.__main__ import main; main()",
        "apply",
        package,
        "--verify",
        "none",
        "--patch-dir",
        str(patches),
    ]
    module = work / "scaling_codemod.py"
    module.write_text(CODEMOD)
    codemod = [
        sys.executable,
        "-m",
        "libcst.tool",
        "codemod",
        "-x",
        "scaling_codemod.Change",
        "-j",
        "1",
        "--no-format",
        "{target}",
    ]
    found = {"sitepatch": [*ours, "--target", "{folder}"], "LibCST codemod": codemod}
    if tool is not None:
        rules = work / f"{package}.yml"
        rules.write_text(
            "---\n".join(
                f"id: r{number}\nlanguage: Python\nrule:\n  pattern: old_{number}($X)\nfix: max($X, {number})\n"
                for number in range(scopes)
            )
        )
        found["ast-grep"] = [str(tool), "scan", "-r", str(rules), "-U", "{target}"]
    return found


def ast_grep(work: Path) -> Path | None:
    """The ast-grep that pip installs into a directory of its own, or None."""
    place = work / "ast-grep-cli"
    line = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--target",
        str(place),
        "ast-grep-cli",
    ]
    done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    binary = place / "bin" / "ast-grep"
    return binary if done.returncode == 0 and binary.exists() else None


def same_bytes(found: Sequence[Cell]) -> None:
    """Stop where a tool has not made the change, or has made another one."""
    for cell in found:
        if cell.target.read_bytes() != cell.expected:
            raise SystemExit(
                f"{cell.column} did not make the change of {cell.row}: see {cell.target}"
            )


def table(found: Sequence[Cell], ratios: Sequence[float]) -> str:
    """A row for each file, a column for each tool."""
    columns = list(dict.fromkeys(cell.column for cell in found))
    lines = [f"  {'':<24}" + "".join(f"{column:>18}" for column in columns)]
    for row in dict.fromkeys(cell.row for cell in found):
        here = {cell.column: ratio for cell, ratio in zip(found, ratios) if cell.row == row}
        lines.append(f"  {row:<24}" + "".join(f"{here[column]:>16.1f} x" for column in columns))
    return "\n".join(lines)
