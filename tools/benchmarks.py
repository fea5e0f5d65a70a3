"""What the commands cost, as multiples of a bare start of Python, beside others doing the same.

    python -m tools.benchmarks [--rounds 15] [--scaling-rounds 3] [--startup-rounds 60] [--offline]
                               [--write docs/cost.md]

CPU time (user and system, children included) of whole processes, interleaved so that a slow spell
of the machine meets all of them alike; the figure is the median. Needs `pip` for the real mmengine
(the stand-in of fixtures/ offline), `patch` and `git` for those rows, `quilt`, and `npm` for
patch-package, ast-grep and npm 12. What is not there is left out and said. `--write` puts the
first table between the marks of a page. A second table shows how the cost grows with the file and
the number of hunks (`tools/scaling.py`); its slowest tool needs ten seconds for its largest file.
A third one is what a hook costs at each start of every interpreter here (`tools/startup.py`).
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
from typing import Callable, Mapping, Sequence

from patcher.verbs.demo import lay_out
from tools import rivals, scaling, startup
from tools.measuring import BARE, OURS, Row, Workplace, clean_environ, copied, cpu_seconds
from tools.samples import hundred, many, package, patchset

LIMITS = {
    "sitepatch --help": 6.0,
    "sitepatch --help, in Chinese": 6.0,
    "sitepatch status, 12 files": 9.0,
    "sitepatch apply, again": 9.0,
    "sitepatch restore, one file": 9.0,
    "sitepatch apply, first, one hunk": 30.0,  # the import of libcst alone takes 16
    "sitepatch apply, first, mmengine-ddp-debug": 12.0,
    "sitepatch run --overlay, again": 28.0,  # with libcst: no result of a user's own is kept
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
import libcst, patcher.verbs.main, patcher.verbs.apply, patcher.store.transaction
import patcher.engine.answers, patcher.engine.check
gc.freeze()"""
LIBCST = """import sys
from pathlib import Path
import libcst, libcst.matchers as m
CALL = m.Assign(value=m.Call(func=m.Name("MMDistributedDataParallel")))
PRINT = "print([int(os.environ['LOCAL_RANK'])])"
class Insert(libcst.CSTTransformer):
    def leave_SimpleStatementLine(self, old, new):
        if not any(m.matches(part, CALL) for part in old.body):
            return new
        return libcst.FlattenSentinel([libcst.parse_statement(PRINT), new])
path = Path(sys.argv[1])
path.write_text(libcst.parse_module(path.read_text()).visit(Insert()).code)"""


# what is measured -----------------------------------------------------------------------------
class Bench:
    """The site directories and patchsets of the first table, and its rows."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self.sites = place.folder / "sites"
        self.patches = place.folder / "patches"
        self.sites.mkdir()
        target = _fetch(place, self.sites / "mmengine")
        print(f"target: {target}; interpreter: {sys.version.split()[0]}")
        patchset(self.patches, "one-hunk", "mmengine", ONE_HUNK)
        for name, files in (("twelve", 12), ("thousand", 1000)):
            package(self.sites / name, name, files)
            patchset(self.patches, f"{name}-files", name, many(name, files))
            place.quiet(self._apply(name, f"{name}-files"))

    def rows(self) -> list[Row]:
        """Everything that can be measured here, the bare interpreter first."""
        found = [
            *self._starts(),
            *self._changes(),
            *self._many_patchsets(),
            *self._thousand_files(),
            self._script(),
        ]
        if not self.place.offline:
            found.append(self._check())
        change = self.place.folder / "change.patch"
        change.write_bytes(self._diff())
        pristine = self.place.folder / "pristine.py"
        copied(self._runner, pristine)()
        return [*found, *rivals.rows(self.place, change, pristine)]

    def _starts(self) -> list[Row]:
        cwd = self.place.folder
        python = [sys.executable, "-c"]
        status = self._command("status", "twelve")
        return [
            Row("bare interpreter", BARE, cwd),
            Row("import click", [*python, "import click"], cwd),
            Row("import libcst", [*python, "import libcst"], cwd),
            Row(
                "import libcst and what a first apply imports of sitepatch",
                [*python, IMPORTED],
                cwd,
            ),
            Row("sitepatch --help", [*OURS, "--help"], cwd),
            Row("sitepatch --help, in Chinese", ["env", "SITEPATCH_LANG=zh", *OURS, "--help"], cwd),
            Row("sitepatch status, 12 files", status, cwd),
        ]

    def _changes(self) -> list[Row]:
        """Rows about one file of mmengine, and about the built-in patchset for it."""
        cwd = self.place.folder
        restore = self._command("restore", "mmengine")
        one_hunk = self._apply("mmengine", "one-hunk")
        debug = self._apply("mmengine", "mmengine-ddp-debug")
        verified = self._command("apply", "mmengine", "mmengine-ddp-debug")
        overlay = self._command(
            "run", "mmengine", "one-hunk", "--overlay", "--verify", "none", "-q"
        )
        overlay += ["--", "true"]
        again = cwd / "again"
        shutil.copytree(self.sites / "mmengine", again)
        apply_again = [*OURS, "apply", "one-hunk", "--target", str(again)]
        apply_again += ["--patch-dir", str(self.patches)]
        self.place.quiet(apply_again)

        restored = self._running(restore)
        patched = self._running(restore, one_hunk)
        laid = self._running(restore, overlay)
        return [
            Row("sitepatch apply, first, one hunk", one_hunk, cwd, prepare=restored),
            Row("sitepatch apply, again", apply_again, cwd),
            Row("sitepatch apply, first, mmengine-ddp-debug", debug, cwd, prepare=restored),
            Row("the same, compiled by the target", verified, cwd, prepare=restored),
            Row("sitepatch restore, one file", restore, cwd, prepare=patched),
            Row("sitepatch run --overlay, again", overlay, cwd, prepare=laid),
        ]

    def _many_patchsets(self) -> list[Row]:
        project = hundred(self.place.folder, OURS, self.place.quiet)
        target = str(self.place.folder / "hundred")
        command = [*OURS, "sync", "--target", target, "--verify", "none", "-q"]
        return [Row("sitepatch sync, 100 patchsets, nothing to do", command, project)]

    def _thousand_files(self) -> list[Row]:
        cwd = self.place.folder
        site = self.sites / "thousand"
        kept = cwd / "kept"
        shutil.copytree(site, kept, symlinks=True)

        def patched() -> None:
            shutil.rmtree(site)
            shutil.copytree(kept, site, symlinks=True)

        hashing = [sys.executable, "-c", HASHED, str(site / "thousand")]
        status = self._command("status", "thousand")
        again = self._command("apply", "thousand", "thousand-files")
        restore = self._command("restore", "thousand")
        return [
            Row("reading and hashing 1,000 files", hashing, cwd),
            Row("sitepatch status, 1,000 files", status, cwd, prepare=patched),
            Row("sitepatch apply, again, 1,000 files", again, cwd, prepare=patched),
            Row("sitepatch restore, 1,000 files", restore, cwd, prepare=patched),
        ]

    def _script(self) -> Row:
        cwd = self.place.folder
        script = cwd / "script.py"
        command = [sys.executable, "-c", LIBCST, str(script)]
        return Row("a script with libcst", command, cwd, prepare=copied(self._runner, script))

    def _check(self) -> Row:
        cwd = self.place.folder
        cache = f"SITEPATCH_CACHE={cwd / 'fetched'}"
        command = ["env", cache, *OURS, "check", "mmengine-ddp-debug", "--against", "all"]
        self.place.quiet(command)
        return Row("sitepatch check --against all, fetched before", command, cwd)

    @property
    def _runner(self) -> Path:
        """The file of mmengine that is changed."""
        return self.sites / "mmengine" / rivals.RUNNER

    def _command(self, verb: str, site: str, *words: str) -> list[str]:
        target = str(self.sites / site)
        return [*OURS, verb, *words, "--target", target, "--patch-dir", str(self.patches)]

    def _apply(self, site: str, name: str) -> list[str]:
        return self._command("apply", site, name, "--verify", "none")

    def _running(self, *commands: Sequence[str]) -> Callable[[], None]:
        """What runs these commands, before each round."""

        def prepare() -> None:
            for command in commands:
                self.place.quiet(command)

        return prepare

    def _diff(self) -> bytes:
        done = subprocess.run(
            self._command("diff", "mmengine", "one-hunk"),
            stdout=subprocess.PIPE,
            check=True,
            env=dict(self.place.environ),
            cwd=str(self.place.folder),
        )
        return done.stdout


def _fetch(place: Workplace, target: Path) -> str:
    """Put mmengine into a directory; returns what it is."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    if not place.offline and place.succeeds([*pip, "mmengine==0.10.7"]):
        return "mmengine 0.10.7"
    lay_out("mmengine-0.10.7", target)
    return "the stand-in of mmengine 0.10.7, not the real one"


# measuring ------------------------------------------------------------------------------------
def measure(rows: Sequence[Row], place: Workplace, rounds: int) -> tuple[float, dict[str, float]]:
    """The CPU seconds of a bare start, and of each row, in multiples of it."""
    bare: list[float] = []
    times: dict[str, list[float]] = {row.name: [] for row in rows}
    for number in range(rounds):
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for row in rows:
            row.prepare()
            times[row.name].append(cpu_seconds(row.command, row.cwd, place.environ))
            # beside each, since all is compared with it
            bare.append(cpu_seconds(BARE, place.folder, place.environ))
    print(file=sys.stderr)
    unit = statistics.median(bare)
    return unit, {name: statistics.median(each) / unit for name, each in times.items()}


def report(ratios: Mapping[str, float]) -> bool:
    """Print the first table; returns whether all limits are held."""
    all_held = True
    for name, ratio in ratios.items():
        verdict = ""
        if name in LIMITS:
            held = ratio <= LIMITS[name]
            all_held = all_held and held
            verdict = f"  limit {LIMITS[name]:g} x: {'held' if held else 'NOT HELD'}"
        print(f"  {name:<50} {ratio:6.1f} x{verdict}")
    return all_held


def write(page: Path, unit: float, ratios: Mapping[str, float]) -> None:
    """Put the table between the marks of a page."""
    before, mark, rest = page.read_text("utf-8").partition("<!-- measured -->\n")
    _, end, after = rest.partition("<!-- end of the table -->\n")
    if not end:
        raise SystemExit(f"{page} has no marks for the table")
    lines = ["| multiples of a bare start | x |", "| --- | --- |"]
    for name, ratio in ratios.items():
        figure = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
        lines.append(f"| {name} | {figure} |")
    table = "\n".join(lines)
    head = f"A bare start of Python {sys.version.split()[0]} took {unit * 1000:.0f} ms of CPU here."
    page.write_text(f"{before}{mark}{head}\n\n{table}\n{end}{after}", "utf-8")


def scale(place: Workplace, rounds: int) -> str:
    """The second table, as multiples of a bare start beside each command."""
    cells = scaling.cells(place)
    path = os.pathsep.join([place.environ["PYTHONPATH"], str(place.folder)])
    environ = {**place.environ, "SITEPATCH_CACHE": os.devnull, "PYTHONPATH": path}
    times: list[list[float]] = [[] for _ in cells]
    bare: list[float] = []
    for number in range(rounds):
        for index, cell in enumerate(cells):
            state = f"scaling, round {number + 1} of {rounds}: {index + 1} of {len(cells)}  "
            print(f"\r{state}", end="", file=sys.stderr, flush=True)
            cell.restore()
            times[index].append(cpu_seconds(cell.command, cell.folder, environ))
            bare.append(cpu_seconds(BARE, place.folder, environ))
        scaling.check_bytes(cells)
    print(file=sys.stderr)
    unit = statistics.median(bare)
    ratios = [statistics.median(each) / unit for each in times]
    head = "one change in files of different size, several in one"
    return f"{head} (median of {rounds} rounds)\n{scaling.table(cells, ratios)}"


def main() -> int:
    """Measure and print the tables; exit code 1 where a limit is not held."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="sitepatch-benchmarks-") as folder:
        environ = {**clean_environ(), "SITEPATCH_CACHE": f"{folder}/cache"}
        place = Workplace(Path(folder), environ, offline=options.offline)
        rows = Bench(place).rows()
        unit, ratios = measure(rows, place, options.rounds)
        scaled = scale(place, options.scaling_rounds) if options.scaling_rounds else ""

    print(
        f"bare interpreter: {unit * 1000:.1f} ms CPU; the rest as multiples of it "
        f"(median of {options.rounds} rounds)"
    )
    held = report(ratios)
    if options.write:
        del ratios[rows[0].name]
        write(Path(options.write), unit, ratios)
    print(scaled)
    if options.startup_rounds:
        startup.table(options.startup_rounds, startup.interpreters())
    return 0 if held else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--scaling-rounds", type=int, default=3, help="0 leaves the second table out"
    )
    parser.add_argument(
        "--startup-rounds", type=int, default=60, help="for what a hook costs; 0 leaves it out"
    )
    parser.add_argument(
        "--write", metavar="FILE", help="put the first table into a page, between its two marks"
    )
    parser.add_argument(
        "--offline", action="store_true", help="neither pip nor npm: the stand-in, and no npm peers"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
