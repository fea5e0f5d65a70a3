"""Other tools that make the one-hunk change of `tools.benchmarks`, on a copy of the same file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Iterator

from tools.measuring import Row, Workplace, copied

RUNNER = "mmengine/runner/runner.py"
AST_GREP_RULE = """id: one
language: Python
rule:
  pattern: $M = MMDistributedDataParallel($$$A)
fix: |-
  print([int(os.environ['LOCAL_RANK'])])
  $M = MMDistributedDataParallel($$$A)
"""
NPM_QUIET = ["--silent", "--no-audit", "--no-fund"]


def rows(place: Workplace, change: Path, pristine: Path) -> list[Row]:
    """GNU patch, git apply, quilt, patch-package, npm and ast-grep, as far as they are here.

    Args:
        place: where they work.
        change: the change as a diff.
        pristine: the file before it.
    """
    found = [*_diff_tools(place, change, pristine), *_quilt(place, change, pristine)]
    tools = None if place.offline else _npm_tools(place)
    if tools is None:
        print("left out: patch-package and ast-grep (not installed by npm)")
        return found
    found.append(_patch_package(tools, change, pristine))
    found += _npm_patch(place)
    found.append(_ast_grep(place, tools, pristine))
    return found


def _diff_tools(place: Workplace, change: Path, pristine: Path) -> Iterator[Row]:
    """GNU patch and git apply."""
    tools = {
        "GNU patch": ["patch", "-p1", "-s", "-i", str(change)],
        "git apply": ["git", "apply", str(change)],
    }
    for name, command in tools.items():
        if shutil.which(command[0]) is None:
            print(f"left out: {name} (no `{command[0]}` here)")
            continue
        folder = place.folder / command[0]
        yield Row(name, command, folder, prepare=copied(pristine, folder / RUNNER))


def _quilt(place: Workplace, change: Path, pristine: Path) -> list[Row]:
    """`quilt push` of a series of one."""
    if shutil.which("quilt") is None:
        print("left out: quilt (no `quilt` here)")
        return []
    folder = place.folder / "quilt"

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        copied(pristine, folder / RUNNER)()
        copied(change, folder / "patches" / "change.patch")()
        (folder / "patches" / "series").write_text("change.patch\n")

    prepare()
    return [Row("quilt push", ["quilt", "push", "-q"], folder, prepare=prepare)]


def _npm_tools(place: Workplace) -> Path | None:
    """A directory with patch-package and ast-grep installed, or None."""
    folder = place.folder / "npm"
    folder.mkdir()
    manifest = {"name": "bench", "version": "1.0.0"}
    (folder / "package.json").write_text(json.dumps(manifest))
    packages = ["patch-package", "@ast-grep/cli"]
    if not place.succeeds(["npm", "install", "--no-save", *NPM_QUIET, *packages], folder):
        return None
    # patch-package wants the patched package among the dependencies
    manifest["dependencies"] = {"mmengine": "0.10.7"}
    (folder / "package.json").write_text(json.dumps(manifest))
    return folder


def _patch_package(tools: Path, change: Path, pristine: Path) -> Row:
    module = tools / "node_modules" / "mmengine"
    prepare = copied(pristine, module / RUNNER)
    (module / "package.json").write_text('{"name": "mmengine", "version": "0.10.7"}')
    prefix = "node_modules/mmengine/mmengine/"
    moved = change.read_text()
    for side in ("a", "b"):
        moved = moved.replace(f"{side}/mmengine/", f"{side}/{prefix}")
    path = f"node_modules/mmengine/{RUNNER}"
    (tools / "patches").mkdir()
    patch = tools / "patches" / "mmengine+0.10.7.patch"
    patch.write_text(f"diff --git a/{path} b/{path}\n{moved}")
    binary = tools / "node_modules" / ".bin" / "patch-package"
    return Row("patch-package", [str(binary)], tools, prepare=prepare)


def _npm_patch(place: Workplace) -> list[Row]:
    """`npm ci` of npm 12, which installs a small package and applies its patch.

    It takes packages of the registry alone.
    """
    folder = place.folder / "npm-patch"
    (folder / "npm").mkdir(parents=True)
    manifest = {"name": "bench", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}
    (folder / "package.json").write_text(json.dumps(manifest))
    npm = str(folder / "npm" / "node_modules" / ".bin" / "npm")
    setup = [
        ["npm", "install", "--prefix", "npm", *NPM_QUIET, "npm@12"],
        [npm, "install", "--silent"],
        [npm, "patch", "add", "left-pad", "--edit-dir", "edit"],
    ]
    if not all(place.succeeds(command, folder) for command in setup):
        print("left out: npm 12 patch (npm 12 does not run here)")
        return []
    source = folder / "edit" / "index.js"
    source.write_text("// patched\n" + source.read_text())
    place.quiet([npm, "patch", "commit", "edit"], folder)
    command = [npm, "ci", "--offline", *NPM_QUIET]
    prepare = lambda: shutil.rmtree(folder / "node_modules")  # noqa: E731
    return [Row("npm 12: ci with one patch", command, folder, prepare=prepare)]


def _ast_grep(place: Workplace, tools: Path, pristine: Path) -> Row:
    rule = tools / "rule.yml"
    rule.write_text(AST_GREP_RULE)
    folder = place.folder / "ast-grep"
    target = folder / RUNNER
    binary = tools / "node_modules" / ".bin" / "ast-grep"
    command = [str(binary), "scan", "-r", str(rule), "-U", str(target)]
    return Row("ast-grep", command, folder, prepare=copied(pristine, target))
