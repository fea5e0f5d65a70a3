"""Changes the code in small ways, one at a time, and runs the tests that reach the change.

    python -m tools.mutants --module planner/merge    # each change of one module; `engine/*` works
    python -m tools.mutants --sample 30 --seed 1      # a sample of each module in PACKAGES

Which changes does no test see? The first run records with coverage which test reaches which line
(again for a test file that was edited, and for all where functions were renamed or moved). A change
that was seen is not tried again, so a stopped run goes on, and only survivors are repeated. They
are printed; who runs it reads them, since some make no difference. Exit code 1 if any survived.

The tools that exist do not fit: mutmut keeps every change in the module behind a switch that
imports mutmut, which breaks the module that a hook puts into other environments; cosmic-ray runs
one and the same command for each change.
"""

import argparse
import fnmatch
import hashlib
import json
import re
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tools.copies import FAILED_TO_RUN, ROOT, Copy, in_parallel
from tools.mutations import mutants
from tools.reached import Record


class Package(NamedTuple):
    """Modules below patcher/, and the test files and folders that are about them."""

    modules: str
    tests: str


PACKAGES = {
    "engine": Package("engine/* engine/*/* text/lines", "engine text planner/test_merge.py"),
    "planner": Package(
        "planner/* patchset/results",
        "planner patchset/test_results.py test_foreign.py test_round_trip.py "
        "test_other_files.py test_deleted_files.py verbs/test_commands.py "
        "author/test_capture.py",
    ),
    "store": Package(
        "store/* system/flock system/ownership system/reading",
        "store system installed/test_environment.py test_races.py test_round_trip.py "
        "test_deleted_files.py verbs/test_commands.py verbs/test_doctor.py faults",
    ),
    "hook": Package("hook/* verbs/hook_start", "hook verbs/test_hook_start.py"),
    "author": Package(
        "author/* author/*/*",
        "author test_other_files.py verbs/test_commands.py verbs/test_diff_edited.py",
    ),
    "diagnosis": Package("diagnosis/*", "diagnosis verbs/test_golden.py"),
    "project": Package("project/*", "project verbs/test_sync.py verbs/test_commands.py"),
    "verbs": Package(
        "verbs/* verbs/*/*", "verbs verbs/health author diagnosis installed project hook"
    ),
}


# what is tried --------------------------------------------------------------------------------
class Module(NamedTuple):
    """A module, its text, and the test files that are about it."""

    name: str
    source: bytes
    tests: list


def modules(options):
    """The modules that the options choose, by name."""
    found = {}
    for name in options.package or PACKAGES:
        package = PACKAGES[name]
        tests = test_files(options.tests or package.tests)
        for pattern in package.modules.split():
            for path in sorted((ROOT / "patcher").glob(f"{pattern}.py")):
                module = path.relative_to(ROOT).as_posix()
                if is_chosen(module, options.module):
                    found[module] = Module(module, path.read_bytes(), tests)
    return found


def is_chosen(module, patterns):
    """Whether a module fits one of the globs of --module, of which there may be none."""
    if not patterns:
        return True
    return any(fnmatch.fnmatch(module, f"patcher/{pattern}.py") for pattern in patterns)


def test_files(words):
    """The test files that these files and folders below tests/ are, as far as they are there."""
    files = []
    for word in words.split():
        path = ROOT / "tests" / word
        files += sorted(path.glob("test_*.py")) if path.is_dir() else [path]
    return [path.relative_to(ROOT).as_posix() for path in files if path.exists()]


test_files.__test__ = False


def sample(found, seed):
    """Mutants in an order that the seed and their keys decide.

    It stays the same when others come and go.
    """
    return sorted(found, key=lambda each: hashlib.sha256(repr((seed, each.key)).encode()).digest())


# trying them ----------------------------------------------------------------------------------
class Trial:
    """What became of mutants: those that were killed, also in earlier runs, and survivors."""

    def __init__(self, mutants, results):
        self.results = results
        self.survivors = []
        self.tried, self.killed = Counter(), Counter()
        killed_before = set()
        if results.exists():
            killed_before = {tuple(json.loads(line)) for line in results.read_text().splitlines()}
        self.left = []
        for mutant in mutants:
            self.tried.update([mutant.module, "all"])
            if mutant.key in killed_before:
                self.killed.update([mutant.module, "all"])
            else:
                self.left.append(mutant)

    def kill(self, mutant):
        """Tests have seen it."""
        self.killed.update([mutant.module, "all"])
        with self.results.open("a") as file:
            file.write(json.dumps(mutant.key) + "\n")

    def survive(self, mutant):
        """No test has seen it."""
        self.survivors.append(mutant)
        print(f"# survived: line {mutant.line}\n{shown(mutant.key)}\n", flush=True)

    def report(self):
        """Print the figures of each module."""
        for name, tried in sorted(self.tried.items()):
            killed = self.killed[name]
            print(f"{name}: {killed} of {tried} killed, {100 * killed / tried:.1f}%")


def shown(key):
    """A mutant as it is printed, by its key."""
    module, function, old, new = key
    lines = [f"{module} {function}".strip()]
    lines += [f"-{line}" for line in old.split("\n")]
    lines += [f"+{line}" for line in new.split("\n")]
    return "\n".join(lines)


def has_run(code, output):
    """Whether the tests have run, or could not since the change breaks an import."""
    if code not in (4, 5, FAILED_TO_RUN):
        return True
    broken = r"^\d+ errors? in |^ImportError while loading"
    return code == 4 and bool(re.search(broken, output, re.M))


def try_all(trial, chosen, options):
    """Run the tests of each mutant that is left."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copies = [Copy(Path(temporary) / str(number)) for number in range(options.jobs)]
        names = {}
        for module in chosen.values():
            names.update(dict.fromkeys(module.tests))
        record = Record(options.folder / "record")
        record.make(copies, list(names))

        def start(mutant, copy):
            tests, seconds = record.tests(mutant, chosen[mutant.module].tests, options.budget)
            copy.write(mutant.module, mutant.source)
            copy.start(lambda: copy.pytest(*tests), 30 + 4 * seconds)

        def done(mutant, copy, code):
            copy.write(mutant.module, chosen[mutant.module].source)
            output = copy.out.read_text()
            if not has_run(code, output):
                raise SystemExit(f"the tests did not run (exit code {code}):\n{output[-3000:]}")
            if code:
                trial.kill(mutant)
            else:
                trial.survive(mutant)

        in_parallel(copies, trial.left, start, done)


def main(words=None):
    options = parsed(words)
    chosen = modules(options)
    mutations = []
    for module in chosen.values():
        found = mutants(module.name, module.source)
        mutations += sample(found, options.seed)[: options.sample]
    trial = Trial(mutations, options.folder / "killed")
    try_all(trial, chosen, options)
    trial.report()
    return bool(trial.survivors)


def parsed(words):
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add(
        "--module",
        action="append",
        default=[],
        help="below patcher/, without .py; a glob; repeatable",
    )
    add("--package", action="append", choices=list(PACKAGES), help="default: all")
    add(
        "--tests",
        help="files and folders below tests/ to use instead of the package's, as one word",
    )
    add("--sample", type=int, help="so many changes of each module, chosen by --seed")
    add("--seed", type=int, default=0)
    add("--budget", type=float, default=60.0, help="seconds of recorded tests for one change")
    add("--jobs", type=int, default=2, help="processes at a time")
    add(
        "--folder",
        type=Path,
        default=ROOT / ".mutants",
        help="where the record and the results are kept",
    )
    return parser.parse_args(words)


def _stop(signum, frame):
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main())
