"""What the commands cost, as multiples of a bare interpreter start, beside others doing the same change in the same run.

    python -m tools.benchmarks [--rounds 15] [--scaling-rounds 3] [--startup-rounds 60] [--offline] [--write docs/cost.md]

CPU time (user and system, children included) of whole processes, interleaved so that a slow spell of the machine meets all
of them alike; the figure is the median. Needs `pip` for the real mmengine (the stand-in of fixtures/ offline), `patch` and
`git` for those rows, `quilt`, and `npm` for patch-package, ast-grep and npm 12. What is not there is left out and said. `--write`
puts the first table between the marks of a page. A second table shows how the cost grows with the file and the number of hunks (`tools/scaling.py`); the slowest tool of it needs ten seconds for its largest file. A
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
from typing import Callable, Mapping, NamedTuple, Sequence

from patcher.verbs.demo import lay_out
from tests.records import with_record, write_files
from tools import scaling

LIMITS = {
    "sitepatch --help": 4.5,
    "sitepatch --help, in Chinese": 4.6,
    "sitepatch status, 12 files": 5.5,
    "sitepatch apply, again": 7.0,
    "sitepatch restore, one file": 7.5,
    "sitepatch apply, first, one hunk": 19.0,
    "sitepatch apply, first, mmengine-ddp-debug": 9.5,
    "sitepatch run --overlay, again": 19.0,
    "sitepatch sync, 100 patchsets, nothing to do": 12.0,
}
ONE_HUNK = """Print the device_ids.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
+print($IDS)
 $MODEL = MMDistributedDataParallel(module=$M, device_ids=$IDS, ...)
"""
HASHED = """import hashlib, pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("*.py"):
    hashlib.sha256(path.read_bytes()).hexdigest()"""
IMPORTED = """import gc; gc.disable()
import libcst, patcher.verbs.main, patcher.verbs.apply, patcher.store.transaction, patcher.engine.answers, patcher.engine.check
gc.freeze()"""
LIBCST = """import sys
from pathlib import Path
import libcst, libcst.matchers as m
CALL = m.Assign(value=m.Call(func=m.Name("MMDistributedDataParallel")))
class Insert(libcst.CSTTransformer):
    def leave_SimpleStatementLine(self, old, new):
        if not any(m.matches(part, CALL) for part in old.body):
            return new
        return libcst.FlattenSentinel([libcst.parse_statement("print([int(os.environ['LOCAL_RANK'])])"), new])
path = Path(sys.argv[1])
path.write_text(libcst.parse_module(path.read_text()).visit(Insert()).code)"""


class Row(NamedTuple):
    """One thing to measure: `prepare` brings the directory into the state the command starts from."""

    name: str
    command: Sequence[str]
    prepare: Callable[[], object]
    cwd: Path


def cpu_seconds(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> float:
    """User and system seconds of a process and its children."""
    child = subprocess.Popen(
        command, cwd=str(cwd), env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
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


def package(site: Path, name: str, files: int) -> None:
    """Write a package of so many modules, no two of them alike; each defines `f`, which `many` changes."""
    files = {
        f"{name}/m{number}.py": f"def f(a):\n    return old(a)\n\n\ndef old(a): return a + {number}\n"
        for number in range(files)
    }
    write_files(site, with_record(name, "1", {f"{name}/__init__.py": "", **files}))


def many(name: str, files: int) -> str:
    """The text of a patch that changes each module of such a package."""
    return "Change them all.\n\n" + "".join(
        f"--- {name}/m{number}.py\n@@ f @@\n-old($X)\n+max($X, 0)\n" for number in range(files)
    )


def fetch(target: Path, offline: bool) -> str:
    """Put mmengine into a directory; returns what it is."""
    if not offline:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(target),
            "mmengine==0.10.7",
        ]
        if (
            subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            == 0
        ):
            return "mmengine 0.10.7"
    lay_out("mmengine-0.10.7", target)
    return "the stand-in of mmengine 0.10.7, not the real one"


def rows(work: Path, environ: dict[str, str], offline: bool) -> list[Row]:
    """Everything that can be measured here."""
    sites, patches = work / "sites", work / "patches"
    sites.mkdir()
    what = fetch(sites / "mmengine", offline)
    print(f"target: {what}; interpreter: {sys.version.split()[0]}")
    patchset(patches, "one-hunk", "mmengine", ONE_HUNK)
    for name, files in (("twelve", 12), ("thousand", 1000)):
        package(sites / name, name, files)
        patchset(patches, f"{name}-files", name, many(name, files))
    python = [sys.executable]
    ours = [sys.executable, "-c", "from patcher.__main__ import main; main()"]
    nothing: Callable[[], None] = lambda: None  # noqa: E731

    def command(verb: str, site: str, *more: str) -> list[str]:
        return [*ours, verb, *more, "--target", str(sites / site), "--patch-dir", str(patches)]

    def quiet(line: Sequence[str], cwd: Path = work) -> None:
        subprocess.run(
            line,
            cwd=str(cwd),
            env=environ,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def unverified(name: str) -> list[str]:
        return [*command("apply", "mmengine", name), "--verify", "none"]

    restore = [*ours, "restore", "--target", str(sites / "mmengine")]
    overlay = [
        *command("run", "mmengine", "one-hunk", "--overlay", "--verify", "none", "--quiet"),
        "--",
        "true",
    ]

    def restored() -> None:
        quiet(restore)

    def laid() -> None:
        quiet(restore)
        quiet(overlay)

    for name in ("twelve", "thousand"):
        quiet([*command("apply", name, f"{name}-files"), "--verify", "none"])
    shutil.copytree(sites / "thousand", work / "kept", symlinks=True)
    again = work / "again"
    shutil.copytree(sites / "mmengine", again)
    apply_again = [*ours, "apply", "one-hunk", "--target", str(again), "--patch-dir", str(patches)]
    quiet(apply_again)
    made = subprocess.run(
        command("diff", "mmengine", "one-hunk"),
        stdout=subprocess.PIPE,
        check=True,
        env=environ,
        cwd=str(work),
    )
    (work / "change.patch").write_bytes(made.stdout)
    project, pristine = (
        hundred(work, ours, quiet),
        sites / "mmengine" / "mmengine" / "runner" / "runner.py",
    )
    thousand, thousands = (
        str(sites / "thousand"),
        [*ours, "restore", "--target", str(sites / "thousand")],
    )

    def patched() -> None:
        quiet(restore)
        quiet(unverified("one-hunk"))

    def patched_thousand() -> None:
        shutil.rmtree(thousand)
        shutil.copytree(work / "kept", thousand, symlinks=True)

    found = [
        Row("bare interpreter", [*python, "-c", "pass"], nothing, work),
        Row("import click", [*python, "-c", "import click"], nothing, work),
        Row("import libcst", [*python, "-c", "import libcst"], nothing, work),
        Row(
            "import libcst and what a first apply imports of sitepatch",
            [*python, "-c", IMPORTED],
            nothing,
            work,
        ),
        Row("sitepatch --help", [*ours, "--help"], nothing, work),
        Row(
            "sitepatch --help, in Chinese",
            ["env", "SITEPATCH_LANG=zh", *ours, "--help"],
            nothing,
            work,
        ),
        Row(
            "sitepatch status, 12 files",
            [*ours, "status", "--target", str(sites / "twelve")],
            nothing,
            work,
        ),
        Row("sitepatch apply, first, one hunk", unverified("one-hunk"), restored, work),
        Row("sitepatch apply, again", apply_again, nothing, work),
        Row(
            "sitepatch apply, first, mmengine-ddp-debug",
            unverified("mmengine-ddp-debug"),
            restored,
            work,
        ),
        Row(
            "the same, compiled by the target",
            command("apply", "mmengine", "mmengine-ddp-debug"),
            restored,
            work,
        ),
        Row("sitepatch restore, one file", restore, patched, work),
        Row("sitepatch run --overlay, again", overlay, laid, work),
        Row(
            "sitepatch sync, 100 patchsets, nothing to do",
            [*ours, "sync", "--target", str(work / "hundred"), "--verify", "none", "-q"],
            nothing,
            project,
        ),
        Row(
            "reading and hashing 1,000 files",
            [*python, "-c", HASHED, f"{thousand}/thousand"],
            nothing,
            work,
        ),
        Row(
            "sitepatch status, 1,000 files",
            [*ours, "status", "--target", thousand],
            patched_thousand,
            work,
        ),
        Row(
            "sitepatch apply, again, 1,000 files",
            command("apply", "thousand", "thousand-files"),
            patched_thousand,
            work,
        ),
        Row("sitepatch restore, 1,000 files", thousands, patched_thousand, work),
        Row(
            "a script with libcst",
            [*python, "-c", LIBCST, str(work / "script.py")],
            lambda: shutil.copyfile(str(pristine), str(work / "script.py")),
            work,
        ),
    ]
    if not offline:
        check = [
            "env",
            f"SITEPATCH_CACHE={work / 'fetched'}",
            *ours,
            "check",
            "mmengine-ddp-debug",
            "--against",
            "all",
        ]
        quiet(check)
        found.append(Row("sitepatch check --against all, fetched before", check, nothing, work))
    return [*found, *peers(work, environ, offline)]


def hundred(work: Path, ours: Sequence[str], quiet: Callable[..., None], many: int = 100) -> Path:
    """A project that asks for so many patchsets of one package, which are applied in the directory `hundred`."""
    project, names = work / "project", [f"p{number}" for number in range(many)]
    package(work / "hundred", "hundred", many)
    for number, name in enumerate(names):
        patchset(
            project / "patchsets",
            name,
            "hundred",
            f"Change it.\n\n--- hundred/m{number}.py\n@@ f @@\n-old($X)\n+max($X, 0)\n",
        )
    (project / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = {names!r}\n")
    quiet([*ours, "sync", "--target", str(work / "hundred"), "--verify", "none"], project)
    return project


def peers(work: Path, environ: dict[str, str], offline: bool) -> list[Row]:
    """GNU patch, git apply, patch-package and ast-grep making the one-hunk change on a copy of the same file."""
    change = work / "change.patch"
    pristine = work / "pristine.py"
    shutil.copyfile(
        str(work / "sites" / "mmengine" / "mmengine" / "runner" / "runner.py"), str(pristine)
    )
    found: list[Row] = []

    def copied(name: str) -> Path:
        target = work / name / "mmengine" / "runner" / "runner.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    for name, line in (
        ("GNU patch", ["patch", "-p1", "-s", "-i", str(change)]),
        ("git apply", ["git", "apply", str(change)]),
    ):
        if shutil.which(line[0]) is None:
            print(f"left out: {name} (no `{line[0]}` here)")
            continue
        target = copied(line[0])
        found.append(
            Row(
                name,
                line,
                lambda target=target: shutil.copyfile(str(pristine), str(target)),
                work / line[0],
            )
        )  # type: ignore[misc]
    found += quilt(work, change, pristine)
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
        Row(
            "patch-package",
            [str(binary / "patch-package")],
            lambda: shutil.copyfile(str(pristine), str(target)),
            tools,
        )
    )
    found += npm_patch(work, environ)
    rule = tools / "rule.yml"
    rule.write_text(
        "id: one\nlanguage: Python\nrule:\n  pattern: $M = MMDistributedDataParallel($$$A)\n"
        "fix: |-\n  print([int(os.environ['LOCAL_RANK'])])\n  $M = MMDistributedDataParallel($$$A)\n"
    )
    other = copied("ast-grep")
    found.append(
        Row(
            "ast-grep",
            [str(binary / "ast-grep"), "scan", "-r", str(rule), "-U", str(other)],
            lambda: shutil.copyfile(str(pristine), str(other)),
            work / "ast-grep",
        )
    )
    return found


def quilt(work: Path, change: Path, pristine: Path) -> list[Row]:
    """`quilt push` of a series of one."""
    if shutil.which("quilt") is None:
        print("left out: quilt (no `quilt` here)")
        return []
    folder = work / "quilt"

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "mmengine" / "runner").mkdir(parents=True)
        shutil.copyfile(str(pristine), str(folder / "mmengine" / "runner" / "runner.py"))
        (folder / "patches").mkdir()
        shutil.copyfile(str(change), str(folder / "patches" / "change.patch"))
        (folder / "patches" / "series").write_text("change.patch\n")

    fresh()
    return [Row("quilt push", ["quilt", "push", "-q"], fresh, folder)]


def npm_patch(work: Path, environ: dict[str, str]) -> list[Row]:
    """`npm ci` of npm 12, which installs a small package and applies its patch: it takes packages of the registry alone."""
    folder = work / "npm-patch"
    (folder / "npm").mkdir(parents=True)
    npm = str(folder / "npm" / "node_modules" / ".bin" / "npm")
    (folder / "package.json").write_text(
        '{"name": "bench", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}'
    )
    more = {
        "cwd": str(folder),
        "env": environ,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "check": True,
    }
    try:
        subprocess.run(
            ["npm", "install", "--prefix", "npm", "--silent", "--no-audit", "--no-fund", "npm@12"],
            **more,
        )  # type: ignore[call-overload]
        for words in (["install", "--silent"], ["patch", "add", "left-pad", "--edit-dir", "edit"]):
            subprocess.run([npm, *words], **more)  # type: ignore[call-overload]
        source = folder / "edit" / "index.js"
        source.write_text("// patched\n" + source.read_text())
        subprocess.run([npm, "patch", "commit", "edit"], **more)  # type: ignore[call-overload]
    except (OSError, subprocess.CalledProcessError):
        print("left out: npm 12 patch (npm 12 does not run here)")
        return []
    line = [npm, "ci", "--offline", "--silent", "--no-audit", "--no-fund"]
    return [
        Row(
            "npm 12: ci with one patch",
            line,
            lambda: shutil.rmtree(folder / "node_modules"),
            folder,
        )
    ]


def npm_tools(work: Path, environ: dict[str, str]) -> Path | None:
    """A directory with patch-package and ast-grep installed, or None."""
    if shutil.which("npm") is None:
        return None
    tools = work / "npm"
    tools.mkdir()
    (tools / "package.json").write_text(
        '{"name": "bench", "version": "1.0.0", "dependencies": {"mmengine": "0.10.7"}}'
    )
    line = [
        "npm",
        "install",
        "--no-save",
        "--silent",
        "--no-audit",
        "--no-fund",
        "patch-package",
        "@ast-grep/cli",
    ]
    (tools / "package.json").rename(tools / "later.json")
    (tools / "package.json").write_text('{"name": "bench", "version": "1.0.0"}')
    done = subprocess.run(
        line, cwd=str(tools), env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    (tools / "later.json").replace(tools / "package.json")
    return (
        tools
        if done.returncode == 0 and (tools / "node_modules" / ".bin" / "patch-package").exists()
        else None
    )


def main() -> int:
    """Measure and print the table; exit code 1 where a limit is not held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--scaling-rounds", type=int, default=3, help="0 leaves the second table out"
    )
    parser.add_argument(
        "--startup-rounds",
        type=int,
        default=60,
        help="what a hook costs at each start; 0 leaves it out",
    )
    parser.add_argument(
        "--write", metavar="FILE", help="put the first table into a page, between its two marks"
    )
    parser.add_argument(
        "--offline", action="store_true", help="neither pip nor npm: the stand-in, and no npm peers"
    )
    asked = parser.parse_args()
    environ = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    }
    environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory(prefix="sitepatch-benchmarks-") as folder:
        work = Path(folder)
        environ["SITEPATCH_CACHE"] = str(work / "cache")
        measured = rows(work, environ, asked.offline)
        bare = measured[0].name
        times: dict[str, list[float]] = {row.name: [] for row in measured}
        for number in range(asked.rounds):
            print(f"\rround {number + 1} of {asked.rounds}", end="", file=sys.stderr, flush=True)
            for row in measured:
                row.prepare()
                times[row.name].append(cpu_seconds(row.command, row.cwd, environ))
                # beside each, since all is held against it
                times[bare].append(cpu_seconds(measured[0].command, work, environ))
        print(file=sys.stderr)
        grown = (
            scale(work, environ, asked.scaling_rounds, asked.offline)
            if asked.scaling_rounds
            else ""
        )
    unit = statistics.median(times[bare])
    print(
        f"bare interpreter: {unit * 1000:.1f} ms CPU; the rest as multiples of it (median of {asked.rounds} rounds)"
    )
    held = True
    for row in measured:
        ratio = statistics.median(times[row.name]) / unit
        limit = LIMITS.get(row.name)
        verdict = (
            ""
            if limit is None
            else f"  limit {limit:g} x: {'held' if ratio <= limit else 'NOT HELD'}"
        )
        held = held and (limit is None or ratio <= limit)
        print(f"  {row.name:<50} {ratio:6.1f} x{verdict}")
    if asked.write:
        write(
            Path(asked.write),
            unit,
            {row.name: statistics.median(times[row.name]) / unit for row in measured[1:]},
        )
    print(grown)
    if asked.startup_rounds:
        from tools import startup  # which needs this module

        startup.table(asked.startup_rounds, startup.interpreters())
    return 0 if held else 1


def write(page: Path, unit: float, ratios: Mapping[str, float]) -> None:
    """Put the table between the marks of a page."""
    before, mark, rest = page.read_text("utf-8").partition("<!-- measured -->\n")
    _, end, after = rest.partition("<!-- end of the table -->\n")
    if not end:
        raise SystemExit(f"{page} has no marks for the table")
    rows = [
        f"| {name} | {ratio:.1f} |" if ratio < 10 else f"| {name} | {ratio:.0f} |"
        for name, ratio in ratios.items()
    ]
    table = "\n".join(["| multiples of a bare start | x |", "| --- | --- |", *rows])
    said = f"A bare start of Python {sys.version.split()[0]} took {unit * 1000:.0f} ms of CPU here."
    page.write_text(f"{before}{mark}{said}\n\n{table}\n{end}{after}", "utf-8")


def scale(work: Path, environ: dict[str, str], rounds: int, offline: bool) -> str:
    """The second table, as multiples of a bare interpreter start beside each command."""
    patches = work / "scaling-patches"
    cells = scaling.cells(work, patches, patchset, offline)
    environ = {
        **environ,
        "SITEPATCH_CACHE": os.devnull,
        "PYTHONPATH": os.pathsep.join([environ["PYTHONPATH"], str(work)]),
    }
    times: list[list[float]] = [[] for _ in cells]
    bare: list[float] = []
    for number in range(rounds):
        for index, cell in enumerate(cells):
            print(
                f"\rscaling, round {number + 1} of {rounds}: {index + 1} of {len(cells)}  ",
                end="",
                file=sys.stderr,
                flush=True,
            )
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
