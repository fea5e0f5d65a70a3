"""How the cost of a change grows with the file and the number of hunks, beside other tools.

Part of `python -m tools.benchmarks`. The same change by sitepatch, ast-grep and LibCST's codemod
tool, in files made here; after each round the bytes of their results are compared, so that nobody
is fast at something else.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import NamedTuple, Sequence

from tools.measuring import OURS, Workplace
from tools.samples import patchset

SIZES = {"1 KB": 1_000, "10 KB": 10_000, "100 KB": 100_000, "1.3 MB": 1_300_000}
HUNKS = {
    "1 hunk, 100 KB": 1,
    "5 hunks, 100 KB": 5,
    "10 hunks, 100 KB": 10,
    "50 hunks, 100 KB": 50,
}
FILLER = '''def filler_{0}(a, b=1):
    """Nobody asks for this one."""
    for x in range(a):
        if x > b:
            print(str(x), "text", sep=str(b))
    return a


'''
SCOPE = '''def f_{0}(a):
    """The change goes here."""
    x = {1}
    return x


'''
CODEMOD = """
import libcst as cst
from libcst.codemod import VisitorBasedCodemodCommand

COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


class Change(VisitorBasedCodemodCommand):
    DESCRIPTION = "old_N(x) becomes max(x, N)"

    def leave_Call(self, original_node, updated_node):
        name = updated_node.func.value if isinstance(updated_node.func, cst.Name) else ""
        if not name.startswith("old_"):
            return updated_node
        first = updated_node.args[0].with_changes(comma=COMMA)
        return updated_node.with_changes(
            func=cst.Name("max"), args=[first, cst.Arg(cst.Integer(name[4:]))]
        )
"""


class Case(NamedTuple):
    """A file of a package of its own, of so many bytes, with so many functions to change."""

    name: str
    package: str
    size: int
    scopes: int

    @property
    def before(self) -> bytes:
        """The file before the change."""
        return self._text("old_{0}(a + {0})")

    @property
    def after(self) -> bytes:
        """The file after the change."""
        return self._text("max(a + {0}, {0})")

    def _text(self, call: str) -> bytes:
        """The functions to change, among others."""
        scopes = [SCOPE.format(number, call.format(number)) for number in range(self.scopes)]
        # as many others for both sides
        length = len(SCOPE.format(0, "old_0(a + 0)")) * self.scopes
        count = max(0, (self.size - length) // len(FILLER.format(1)))
        fillers = [FILLER.format(number) for number in range(count)]
        every = max(1, count // (self.scopes + 1))
        parts = ["import os\n\n\n"]
        for number, scope in enumerate(scopes):
            parts += fillers[number * every : (number + 1) * every]
            parts.append(scope)
        parts += fillers[self.scopes * every :]
        return "".join(parts).encode()


class Cell(NamedTuple):
    """One tool on one file: `target`, in the site directory `folder`."""

    case: Case
    tool: str
    command: Sequence[str]
    folder: Path
    target: Path

    def restore(self) -> None:
        """Bring the file back, as if nothing had been applied."""
        shutil.rmtree(str(self.folder / ".sitepatch"), ignore_errors=True)
        self.target.write_bytes(self.case.before)


def cells(place: Workplace) -> list[Cell]:
    """Every tool on every file."""
    binary = None if place.offline else _ast_grep(place)
    if binary is None:
        print("left out: ast-grep beside file sizes and hunks (not installed by pip)")
    sizes = [(name, size, 1) for name, size in SIZES.items()]
    hunks = [(name, 100_000, count) for name, count in HUNKS.items()]
    found = []
    for index, (name, size, scopes) in enumerate([*sizes, *hunks]):
        case = Case(name, f"case{index}", size, scopes)
        for tool in ("sitepatch", "LibCST codemod", "ast-grep"):
            if tool != "ast-grep" or binary:
                found.append(_cell(place, case, tool, binary))
    return found


def _cell(place: Workplace, case: Case, tool: str, binary: Path | None) -> Cell:
    folder = place.folder / "scaling" / tool.replace(" ", "-") / case.package
    target = folder / case.package / "m.py"
    target.parent.mkdir(parents=True)
    (target.parent / "__init__.py").write_text("")
    if tool == "sitepatch":
        command = _sitepatch(place, case, folder)
    elif tool == "ast-grep":
        command = [str(binary), "scan", "-r", str(_rules(place, case)), "-U", str(target)]
    else:
        (place.folder / "scaling_codemod.py").write_text(CODEMOD)
        command = [sys.executable, "-m", "libcst.tool", "codemod", "-x", "scaling_codemod.Change"]
        command += ["-j", "1", "--no-format", str(target)]
    return Cell(case, tool, command, folder=folder, target=target)


def _sitepatch(place: Workplace, case: Case, folder: Path) -> list[str]:
    patches = place.folder / "scaling-patches"
    text = f"Make it larger.\n\n--- {case.package}/m.py\n"
    for number in range(case.scopes):
        text += f"@@ f_{number} @@\n-old_{number}($X)\n+max($X, {number})\n"
    patchset(patches, case.package, case.package, text)
    command = [*OURS, "apply", case.package, "--verify", "none", "--patch-dir", str(patches)]
    return [*command, "--target", str(folder)]


def _rules(place: Workplace, case: Case) -> Path:
    """The change for ast-grep."""
    path = place.folder / f"{case.package}.yml"
    rules = []
    for number in range(case.scopes):
        rule = f"rule:\n  pattern: old_{number}($X)\nfix: max($X, {number})\n"
        rules.append(f"id: r{number}\nlanguage: Python\n{rule}")
    path.write_text("---\n".join(rules))
    return path


def _ast_grep(place: Workplace) -> Path | None:
    """The ast-grep that pip installs into a directory of its own, or None."""
    folder = place.folder / "ast-grep-cli"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    binary = folder / "bin" / "ast-grep"
    installed = place.succeeds([*pip, "--target", str(folder), "ast-grep-cli"])
    return binary if installed and binary.exists() else None


def check_bytes(found: Sequence[Cell]) -> None:
    """Stop where a tool has not made the change, or has made another one."""
    for cell in found:
        if cell.target.read_bytes() != cell.case.after:
            raise SystemExit(
                f"{cell.tool} did not make the change of {cell.case.name}: see {cell.target}"
            )


def table(found: Sequence[Cell], ratios: Sequence[float]) -> str:
    """A row for each file, a column for each tool."""
    tools = list(dict.fromkeys(cell.tool for cell in found))
    lines = [f"  {'':<24}" + "".join(f"{tool:>18}" for tool in tools)]
    for name in dict.fromkeys(cell.case.name for cell in found):
        line = f"  {name:<24}"
        for cell, ratio in zip(found, ratios):
            if cell.case.name == name:
                line += f"{ratio:>16.1f} x"
        lines.append(line)
    return "\n".join(lines)
