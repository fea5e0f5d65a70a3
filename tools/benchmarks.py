"""What the commands cost, as multiples of a bare interpreter start, beside others doing the same change in the same run.

    python -m tools.benchmarks [--rounds 15] [--scaling-rounds 3] [--startup-rounds 60] [--offline]

CPU time (user and system, children included) of whole processes, interleaved so that a slow spell of the machine meets all
of them alike; the figure is the median. Needs `pip` for the real mmengine (the stand-in of fixtures/ offline), `patch` and
`git` for those rows, `npm` for patch-package and ast-grep. What is not there is left out and said. A second table shows how the
cost grows with the file and the number of hunks (`tools/scaling.py`); the slowest tool of it needs ten seconds for its largest file. A
third one is what a hook costs at each start of every interpreter that is here (`tools/startup.py`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from patcher.verbs.demo import lay_out
from tools import scaling

LIMITS = {
    "sitepatch --help": 5.2, "sitepatch status, 12 files": 5.5, "sitepatch apply, first, one hunk": 26.0,
    "sitepatch apply, again": 7.0, "sitepatch apply, first, mmengine-ddp-debug": 10.0, "sitepatch run --overlay, again": 11.5,
}  # fmt: skip
ONE_HUNK = """Print the device_ids.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
+print($IDS)
 $MODEL = MMDistributedDataParallel(module=$M, device_ids=$IDS, ...)
"""
MANY = """Change twelve files.

""" + "".join(f"--- twelve/m{number}.py\n@@ f @@\n-old($X)\n+max($X, 0)\n" for number in range(12))


class Row(NamedTuple):
    """One thing to measure: `prepare` brings the directory into the state the command starts from."""

    name: str
    command: Sequence[str]
    prepare: Callable[[], object]
    cwd: Path


def cpu_seconds(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> float:
    """User and system seconds of a process and its children."""
    child = subprocess.Popen(command, cwd=str(cwd), env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    child.stderr.close()
    if status:
        raise SystemExit(f"{' '.join(command)} failed in {cwd}:\n{errors.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def patchset(folder: Path, name: str, package: str, text: str) -> None:
    """Write a patchset folder."""
    target = folder / name
    target.mkdir(parents=True)
    (target / "patchset.toml").write_text(
        f'schema = 1\nname = "{name}"\nversion = "1"\nkind = "debug"\nsummary = "For a benchmark"\n'
        f'[[variant]]\npackage = "{package}"\nversions = ""\npatches = ["p.spatch"]\n'
    )
    (target / "p.spatch").write_text(text)


def fetch(target: Path, offline: bool) -> str:
    """Put mmengine into a directory; returns what it is."""
    if not offline:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), "mmengine==0.10.7"]
        if subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return "mmengine 0.10.7"
    lay_out("mmengine-0.10.7", target)
    return "the stand-in of mmengine 0.10.7, not the real one"


def rows(work: Path, environ: Dict[str, str], offline: bool) -> List[Row]:
    """Everything that can be measured here."""
    sites, patches = work / "sites", work / "patches"
    sites.mkdir()
    what = fetch(sites / "mmengine", offline)
    print(f"target: {what}; interpreter: {sys.version.split()[0]}")
    patchset(patches, "one-hunk", "mmengine", ONE_HUNK)
    patchset(patches, "twelve-files", "twelve", MANY)
    (sites / "twelve" / "twelve").mkdir(parents=True)
    (sites / "twelve" / "twelve" / "__init__.py").write_text("")
    for number in range(12):
        (sites / "twelve" / "twelve" / f"m{number}.py").write_text("def f(a):\n    return old(a)\n\n\ndef old(a): return a\n")
    python = [sys.executable]
    ours = [sys.executable, "-c", "from patcher.__main__ import main; main()"]
    nothing: Callable[[], None] = lambda: None  # noqa: E731

    def command(verb: str, site: str, *more: str) -> List[str]:
        return [*ours, verb, *more, "--target", str(sites / site), "--patch-dir", str(patches)]

    def quiet(line: Sequence[str], cwd: Path = work) -> None:
        subprocess.run(line, cwd=str(cwd), env=environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def unverified(name: str) -> List[str]:
        return [*command("apply", "mmengine", name), "--verify", "none"]

    restore = [*ours, "restore", "--target", str(sites / "mmengine")]
    overlay = [*command("run", "mmengine", "one-hunk", "--overlay", "--verify", "none", "--quiet"), "--", "true"]

    def restored() -> None:
        quiet(restore)

    def unseen() -> None:
        quiet(restore)
        shutil.rmtree(environ["SITEPATCH_CACHE"], ignore_errors=True)

    def laid() -> None:
        quiet(restore)
        quiet(overlay)

    quiet(command("apply", "twelve", "twelve-files"))
    again = work / "again"
    shutil.copytree(sites / "mmengine", again)
    apply_again = [*ours, "apply", "one-hunk", "--target", str(again), "--patch-dir", str(patches)]
    quiet(apply_again)
    made = subprocess.run(command("diff", "mmengine", "one-hunk"), stdout=subprocess.PIPE, check=True, env=environ, cwd=str(work))
    (work / "change.patch").write_bytes(made.stdout)
    found = [
        Row("bare interpreter", [*python, "-c", "pass"], nothing, work),
        Row("sitepatch --help", [*ours, "--help"], nothing, work),
        Row("sitepatch status, 12 files", [*ours, "status", "--target", str(sites / "twelve")], nothing, work),
        Row("sitepatch apply, first, one hunk", unverified("one-hunk"), unseen, work),
        Row("sitepatch apply, first, the file was seen before", unverified("one-hunk"), restored, work),
        Row("sitepatch apply, again", apply_again, nothing, work),
        Row("sitepatch apply, first, mmengine-ddp-debug", unverified("mmengine-ddp-debug"), unseen, work),
        Row("the same, compiled by the target", command("apply", "mmengine", "mmengine-ddp-debug"), unseen, work),
        Row("sitepatch run --overlay, again", overlay, laid, work),
    ]  # fmt: skip
    return [*found, *peers(work, environ, offline)]


def peers(work: Path, environ: Dict[str, str], offline: bool) -> List[Row]:
    """GNU patch, git apply, patch-package and ast-grep making the one-hunk change on a copy of the same file."""
    change = work / "change.patch"
    pristine = work / "pristine.py"
    shutil.copyfile(str(work / "sites" / "mmengine" / "mmengine" / "runner" / "runner.py"), str(pristine))
    found: List[Row] = []

    def copied(name: str) -> Path:
        target = work / name / "mmengine" / "runner" / "runner.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    for name, line in (("GNU patch", ["patch", "-p1", "-s", "-i", str(change)]), ("git apply", ["git", "apply", str(change)])):
        if shutil.which(line[0]) is None:
            print(f"left out: {name} (no `{line[0]}` here)")
            continue
        target = copied(line[0])
        found.append(Row(name, line, lambda target=target: shutil.copyfile(str(pristine), str(target)), work / line[0]))  # type: ignore[misc]
    tools = None if offline else npm_tools(work, environ)
    if tools is None:
        print("left out: patch-package and ast-grep (not installed by npm)")
        return found
    module = tools / "node_modules" / "mmengine"
    target = module / "mmengine" / "runner" / "runner.py"
    target.parent.mkdir(parents=True)
    (module / "package.json").write_text('{"name": "mmengine", "version": "0.10.7"}')
    (tools / "patches").mkdir()
    moved = change.read_text().replace("a/mmengine/", "a/node_modules/mmengine/mmengine/")
    moved = moved.replace("b/mmengine/", "b/node_modules/mmengine/mmengine/")
    header = "diff --git a/node_modules/mmengine/mmengine/runner/runner.py b/node_modules/mmengine/mmengine/runner/runner.py\n"
    (tools / "patches" / "mmengine+0.10.7.patch").write_text(header + moved)
    binary = tools / "node_modules" / ".bin"
    found.append(
        Row("patch-package", [str(binary / "patch-package")], lambda: shutil.copyfile(str(pristine), str(target)), tools)
    )
    rule = tools / "rule.yml"
    rule.write_text(
        "id: one\nlanguage: Python\nrule:\n  pattern: $M = MMDistributedDataParallel($$$A)\n"
        "fix: |-\n  print([int(os.environ['LOCAL_RANK'])])\n  $M = MMDistributedDataParallel($$$A)\n"
    )
    other = copied("ast-grep")
    found.append(
        Row(
            "ast-grep", [str(binary / "ast-grep"), "scan", "-r", str(rule), "-U", str(other)],
            lambda: shutil.copyfile(str(pristine), str(other)), work / "ast-grep",
        )
    )  # fmt: skip
    return found


def npm_tools(work: Path, environ: Dict[str, str]) -> Optional[Path]:
    """A directory with patch-package and ast-grep installed, or None."""
    if shutil.which("npm") is None:
        return None
    tools = work / "npm"
    tools.mkdir()
    (tools / "package.json").write_text('{"name": "bench", "version": "1.0.0", "dependencies": {"mmengine": "0.10.7"}}')
    line = ["npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund", "patch-package", "@ast-grep/cli"]
    (tools / "package.json").rename(tools / "later.json")
    (tools / "package.json").write_text('{"name": "bench", "version": "1.0.0"}')
    done = subprocess.run(line, cwd=str(tools), env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (tools / "later.json").replace(tools / "package.json")
    return tools if done.returncode == 0 and (tools / "node_modules" / ".bin" / "patch-package").exists() else None


def main() -> int:
    """Measure and print the table; exit code 1 where a limit is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--scaling-rounds", type=int, default=3, help="0 leaves the second table out")
    parser.add_argument("--startup-rounds", type=int, default=60, help="what a hook costs at each start; 0 leaves it out")
    parser.add_argument("--offline", action="store_true", help="neither pip nor npm: the stand-in, and no npm peers")
    asked = parser.parse_args()
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")}
    environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory(prefix="sitepatch-benchmarks-") as folder:
        work = Path(folder)
        environ["SITEPATCH_CACHE"] = str(work / "cache")
        measured = rows(work, environ, asked.offline)
        bare = measured[0].name
        times: Dict[str, List[float]] = {row.name: [] for row in measured}
        for number in range(asked.rounds):
            print(f"\rround {number + 1} of {asked.rounds}", end="", file=sys.stderr, flush=True)
            for row in measured:
                row.prepare()
                times[row.name].append(cpu_seconds(row.command, row.cwd, environ))
                times[bare].append(cpu_seconds(measured[0].command, work, environ))  # beside each, since all is held against it
        print(file=sys.stderr)
        grown = scale(work, environ, asked.scaling_rounds, asked.offline) if asked.scaling_rounds else ""
    unit = statistics.median(times[bare])
    print(f"bare interpreter: {unit * 1000:.1f} ms CPU; the rest as multiples of it (median of {asked.rounds} rounds)")
    held = True
    for row in measured:
        ratio = statistics.median(times[row.name]) / unit
        limit = LIMITS.get(row.name)
        verdict = "" if limit is None else f"  limit {limit:g} x: {'held' if ratio <= limit else 'NOT HELD'}"
        held = held and (limit is None or ratio <= limit)
        print(f"  {row.name:<50} {ratio:6.1f} x{verdict}")
    print(grown)
    if asked.startup_rounds:
        from tools import startup  # which needs this module

        startup.table(asked.startup_rounds, startup.interpreters())
    return 0 if held else 1


def scale(work: Path, environ: Dict[str, str], rounds: int, offline: bool) -> str:
    """The second table, as multiples of a bare interpreter start beside each command."""
    patches = work / "scaling-patches"
    cells = scaling.cells(work, patches, patchset, offline)
    environ = {**environ, "SITEPATCH_CACHE": os.devnull, "PYTHONPATH": os.pathsep.join([environ["PYTHONPATH"], str(work)])}
    times: List[List[float]] = [[] for _ in cells]
    bare: List[float] = []
    for number in range(rounds):
        for index, cell in enumerate(cells):
            print(f"\rscaling, round {number + 1} of {rounds}: {index + 1} of {len(cells)}  ", end="", file=sys.stderr, flush=True)
            cell.prepare()
            times[index].append(cpu_seconds(cell.command, cell.cwd, environ))
            bare.append(cpu_seconds([sys.executable, "-c", "pass"], work, environ))
        scaling.same_bytes(cells)
    print(file=sys.stderr)
    unit = statistics.median(bare)
    ratios = [statistics.median(each) / unit for each in times]
    return f"one change in files of different size, several in one (median of {rounds} rounds)\n{scaling.table(cells, ratios)}"


if __name__ == "__main__":
    sys.exit(main())
