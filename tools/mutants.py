"""Changes the code in small ways, one at a time, and runs the tests that reach the change: which changes does no test see?

    python -m tools.mutants --module planner/merge        # each change of one module; `engine/*` is a glob
    python -m tools.mutants --sample 30 --seed 1          # a sample of each module in PACKAGES

The first run records with coverage which test reaches which line (again for a test file that was edited, and for all where
functions were renamed or moved). A change that was seen is not tried again, so a stopped run goes on, and only survivors are
repeated. They are printed; who runs it reads them, since some make no difference. Exit code 1 if any survived.

The tools that exist do not fit: mutmut keeps every change in the module behind a switch that imports mutmut, which breaks
the module that a hook puts into other environments; cosmic-ray runs one and the same command for each change.
"""

import argparse
import ast
import contextlib
import fnmatch
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from itertools import zip_longest
from pathlib import Path

import libcst  # noqa: F401  (the forked processes need not import these again)
import pytest

from tools.mutations import Mutant, mutants

ROOT = Path(__file__).parents[1]
PACKAGES = {  # modules below patcher/, and the test files and folders that are about them
    "engine": ("engine/* engine/*/*", "engine"),
    "planner": (
        "planner/* text/lines patchset/results",
        "planner patchset/test_known.py test_foreign.py test_round_trip.py verbs/test_commands.py author/test_capture.py",
    ),
    "store": (
        "store/* system/flock system/ownership system/reading",
        "store system test_races.py test_round_trip.py verbs/test_commands.py verbs/test_doctor.py faults",
    ),
    "hook": ("hook/* verbs/hook_start", "hook"),
    "author": (
        "author/* author/*/*",
        "author test_other_files.py verbs/test_commands.py verbs/test_diff_edited.py",
    ),
    "diagnosis": ("diagnosis/*", "diagnosis verbs/test_golden.py"),
    "project": (
        "project/*",
        "project verbs/test_sync.py verbs/test_commands.py",
    ),
    "verbs": ("verbs/* verbs/*/*", "verbs author diagnosis installed project hook"),
}
MEMORY = 8 << 30  # bytes that a process may map: a change may loop for ever
OPTIONS = [
    "-x",
    "-q",
    "-p",
    "no:randomly",
    "-p",
    "no:xdist",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "--tb=no",
    "-m",
    "not real",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]


class Recorder:
    """A plugin of pytest that tells coverage, here and in children, which test runs, and keeps those that passed."""

    def __init__(self, measured):
        self.measured, self.took, self.failed = measured, Counter(), set()

    def pytest_runtest_logstart(self, nodeid):
        self.measured.switch_context(nodeid)
        # else a line is reached by the first test alone
        for name in [name for name in sys.modules if name.split(".")[0] == "patcher"]:
            for function in vars(sys.modules[name]).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What a fixture of a whole file or folder runs belongs to each of its tests."""
        before = os.environ["PYTEST_CURRENT_TEST"]
        if fixturedef.scope != "function":
            os.environ["PYTEST_CURRENT_TEST"] = request.node.nodeid
            self.measured.switch_context(request.node.nodeid)
        yield
        os.environ["PYTEST_CURRENT_TEST"] = before
        self.measured.switch_context(_test(before))

    def pytest_runtest_logreport(self, report):
        self.took[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


def _test(context):
    """The test that PYTEST_CURRENT_TEST names."""
    return re.sub(r" \((setup|call|teardown)\)$", "", context)


def functions(source):
    """The function that each line of a text is in, as `Mutant.function`."""
    names = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                names.update(
                    dict.fromkeys(range(child.lineno, child.end_lineno + 1), prefix + child.name)
                )
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return names


class Copy:
    """A copy of the checkout, in which one process at a time runs tests."""

    def __init__(self, folder):
        self.root, self.out, self.temporary = folder / "checkout", folder / "out", folder / "tmp"
        listed = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self.pid, self.until, self.times = 0, 0.0, 0

    def write(self, module, source):
        """Put a text in place of a module, with an mtime of its own: bytecode is known by mtime and size."""
        self.times += 1
        (self.root / module).write_bytes(source)
        os.utime(self.root / module, (1_600_000_000 + self.times,) * 2)

    def start(self, function, seconds):
        """Fork; the child runs `function` and ends with what it returns as exit code."""
        self.until = time.monotonic() + seconds
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            code = 70
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setsid()
                null, out = (
                    os.open(os.devnull, os.O_RDONLY),
                    os.open(self.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                )
                for old, new in ((null, 0), (out, 1), (out, 2)):
                    os.dup2(old, new)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                os.chdir(self.root)
                sys.path[0] = str(self.root)
                for name in [
                    name for name in sys.modules if name.split(".")[0] in ("tests", "patcher")
                ]:
                    del sys.modules[name]
                code = int(function())
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def ended(self):
        """The exit code, -1 if its time was up, None if it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and time.monotonic() < self.until:
            return None
        # also what a test that failed has left running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not pid:
            os.waitpid(self.pid, 0)
        self.pid = 0
        return os.WEXITSTATUS(status) if pid and os.WIFEXITED(status) else -1

    def pytest(self, *words, plugins=()):
        return pytest.main(
            [*OPTIONS, f"--basetemp={self.temporary}", *words], plugins=list(plugins)
        )


def in_parallel(copies, jobs, start, done):
    """Start each job in a free copy; `done(job, copy, code)` when it has ended."""
    waiting, running = list(reversed(jobs)), {}
    try:
        while waiting or running:
            for copy in copies:
                if copy not in running and waiting:
                    running[copy] = waiting.pop()
                    start(running[copy], copy)
            time.sleep(0.02)
            for copy in list(running):
                code = copy.ended()
                if code is not None:
                    done(running.pop(copy), copy, code)
    finally:
        for copy in running:
            copy.until = 0.0
            copy.ended()


def layout():
    """A digest of which functions each module has: what tests reach is known by these, until one is renamed or moved."""
    paths = sorted((ROOT / "patcher").rglob("*.py"))
    names = [
        (path.relative_to(ROOT).as_posix(), sorted(set(functions(path.read_bytes()).values())))
        for path in paths
    ]
    return hashlib.sha256(repr(names).encode()).hexdigest()


class Record:
    """Which tests reach which line, and how long they take: one file in `folder` for each test file."""

    def __init__(self, folder):
        self.folder, self.layout = folder, layout()
        self.reached = defaultdict(set)  # (module, function, line) and (module, function) -> tests
        self.took = {}
        self.paths = {}  # by test file; as it is now, whatever becomes of it meanwhile

    def path(self, name):
        if name not in self.paths:
            digest = hashlib.sha256((ROOT / name).read_bytes() + self.layout.encode()).hexdigest()[
                :12
            ]
            self.paths[name] = self.folder / f"{name.replace('/', '-')}-{digest}.json"
        return self.paths[name]

    def make(self, copies, names):
        """Record the test files that were not, or not as they are now; some minutes the first time."""
        missing = [name for name in names if not self.path(name).exists()]
        if missing:
            print(
                f"recording what {len(missing)} test files reach: {' '.join(missing)}", flush=True
            )
        in_parallel(copies, missing, self._start, self._done)
        for name in names:
            data = json.loads(self.path(name).read_text())
            self.took.update(data["took"])
            known = list(data["took"])
            for module, function, line, numbers in data["reached"]:
                tests = {known[number] for number in numbers}
                self.reached[module, function, line] |= tests
                self.reached[module, function] |= tests

    def _start(self, name, copy):
        data = copy.temporary.with_name("coverage")
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        (data / "rc").write_text(
            f"[run]\nsource = {copy.root}/patcher\ndata_file = {data}/data\nparallel = true\ncore = ctrace\n"
            "context = ${PYTEST_CURRENT_TEST-}\nsigterm = true\n"
        )

        def run():
            import coverage  # the session of nox has it; the suite, which looks at mutants.txt, has not

            os.environ["COVERAGE_PROCESS_START"] = str(data / "rc")
            measured = coverage.Coverage(config_file=str(data / "rc"), messages=False)
            measured.start()
            recorder = Recorder(measured)
            code = copy.pytest("--maxfail=1000000", name, plugins=[recorder])
            measured.stop()
            measured.save()
            took = {
                test: round(seconds, 3)
                for test, seconds in recorder.took.items()
                if test not in recorder.failed
            }
            (data / "took").write_text(json.dumps(took))
            return code

        copy.start(run, 1500)

    def _done(self, name, copy, code):
        import coverage

        data = copy.temporary.with_name("coverage")
        if not (data / "took").exists():
            raise SystemExit(f"{name} could not be recorded: {copy.out.read_text()[-3000:]}")
        if code:
            print(f"{name}: exit code {code}; the tests that fail are left out", flush=True)
        took = json.loads((data / "took").read_text())
        tests, reached = defaultdict(set), defaultdict(set)
        for number, test in enumerate(took):
            for context in (test, test.split("::")[0], test.split("/")[0]):
                tests[context].add(number)
        for path in data.glob("data.*"):
            part = coverage.CoverageData(basename=str(path))
            part.read()
            for measured in part.measured_files():
                module = Path(measured).relative_to(copy.root).as_posix()
                for line, contexts in part.contexts_by_lineno(measured).items():
                    reached[module, line].update(*(tests[_test(context)] for context in contexts))
        rows, texts = [], {}
        for (module, line), numbers in sorted(reached.items()):
            if module not in texts:
                source = (copy.root / module).read_text()
                texts[module] = source.splitlines(), functions(source)
            lines, within = texts[module]
            if numbers:
                rows.append(
                    (module, within.get(line, ""), lines[line - 1].strip(), sorted(numbers))
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(json.dumps({"took": took, "reached": rows}))

    def tests(self, mutant, names, budget):
        """The tests to run for a mutant; where none is known to reach it, those of its files.

        Those that reach a line of its function that few reach come first, of each line the shortest.
        """
        first = (mutant.module, mutant.function, mutant.old.split("\n")[0])
        # which runs at the import; what it changes shows in the body
        is_head = re.match(r"def |@|\w+: .* = .*,$", mutant.old)
        found = (not is_head and self.reached.get(first)) or self.reached.get(first[:2])
        if not mutant.function:  # what runs at the import is known of the first test alone: any that runs something of the module
            found = set().union(
                *(
                    tests
                    for key, tests in self.reached.items()
                    if key[0] == mutant.module and len(key) == 2
                )
            )
        found = set(found or [test for test in self.took if test.split("::")[0] in names])
        lines = [
            tests
            for key, tests in self.reached.items()
            if key[0] == mutant.module and mutant.function in ("", key[1])
        ]
        shortest = [
            sorted(tests & found, key=lambda test: (self.took[test], test))
            for tests in sorted(lines or [found], key=len)
        ]
        chosen, seconds = [], 0.0
        # of each line in turn
        for test in dict.fromkeys(test for turn in zip_longest(*shortest) for test in turn if test):
            seconds += self.took[test]
            if chosen and seconds > budget:
                break
            chosen.append(test)
        return chosen, min(seconds, 2 * budget)


def files(words):
    """The test files that a row of PACKAGES names, those that are not there left out."""
    paths = [ROOT / "tests" / word for word in words.split()]
    found = [
        each
        for path in paths
        for each in (sorted(path.glob("test_*.py")) if path.is_dir() else [path])
        if each.exists()
    ]
    return [path.relative_to(ROOT).as_posix() for path in found]


def shown(key):
    """A mutant as it is printed, by its key."""
    module, function, old, new = key
    lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
    return "\n".join([f"{module} {function}".strip(), *lines])


def sample(found, seed):
    """Mutants in an order that the seed and their keys decide: it stays the same when others come and go."""
    return sorted(found, key=lambda each: hashlib.sha256(repr((seed, each.key)).encode()).digest())


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        help="below patcher/, without .py; a glob; repeatable",
    )
    parser.add_argument("--package", action="append", choices=list(PACKAGES), help="default: all")
    parser.add_argument(
        "--tests",
        help="files and folders below tests/ to use instead of those of the package, as one word",
    )
    parser.add_argument(
        "--sample", type=int, help="so many changes of each module, chosen by --seed"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--budget",
        type=float,
        default=60.0,
        help="seconds of recorded tests that one change is given",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".mutants",
        help="where the record and the results are kept",
    )
    options = parser.parse_args(words)
    chosen, names_of, source_of = [], {}, {}
    for package in options.package or PACKAGES:
        modules, tests = PACKAGES[package]
        for pattern in modules.split():
            for path in sorted((ROOT / "patcher").glob(f"{pattern}.py")):
                name = path.relative_to(ROOT).as_posix()
                if not options.module or any(
                    fnmatch.fnmatch(name, f"patcher/{each}.py") for each in options.module
                ):
                    names_of[name] = files(options.tests or tests)
                    source_of[name] = path.read_bytes()
                    chosen += sample(mutants(name, source_of[name]), options.seed)[: options.sample]
    results = options.folder / "killed"
    killed = (
        {tuple(json.loads(line)) for line in results.read_text().splitlines()}
        if results.exists()
        else set()
    )
    score = {}  # module, or "all" of them -> how many were tried and killed
    for each in chosen:
        for name in (each.module, "all"):
            score.setdefault(name, Counter()).update(tried=1, killed=each.key in killed)
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copies = [Copy(Path(temporary) / str(number)) for number in range(options.jobs)]
        record = Record(options.folder / "record")
        record.make(
            copies,
            list(
                dict.fromkeys(
                    name for each in {m.module for m in chosen} for name in names_of[each]
                )
            ),
        )

        def start(mutant, copy):
            tests, seconds = record.tests(mutant, names_of[mutant.module], options.budget)
            copy.write(mutant.module, mutant.source)
            copy.start(lambda: copy.pytest(*tests), 30 + 4 * seconds)

        def done(mutant: Mutant, copy, code):
            copy.write(mutant.module, source_of[mutant.module])
            unread = code == 4 and re.search(
                r"^\d+ errors? in |^ImportError while loading", copy.out.read_text(), re.M
            )
            if code in (4, 5, 70) and not unread:
                raise SystemExit(
                    f"the tests did not run (exit code {code}):\n{copy.out.read_text()[-3000:]}"
                )
            if code:
                score[mutant.module]["killed"] += 1
                score["all"]["killed"] += 1
                with results.open("a") as file:
                    file.write(json.dumps(mutant.key) + "\n")
            else:
                survivors.append(mutant)
                print(f"# survived: line {mutant.line}\n{shown(mutant.key)}\n", flush=True)

        in_parallel(copies, [each for each in chosen if each.key not in killed], start, done)
    for name, count in sorted(score.items()):
        print(
            f"{name}: {count['killed']} of {count['tried']} killed, {100 * count['killed'] / count['tried']:.1f}%"
        )
    return bool(survivors)


def _stop(signum, frame):
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main())
