"""Which tests reach which line of our modules, and how long they take: recorded with coverage."""

import ast
import hashlib
import json
import os
import re
import shutil
import sys
from collections import Counter, defaultdict
from itertools import zip_longest
from pathlib import Path

import pytest

from tools.copies import ROOT, in_parallel

SETTINGS = """[run]
source = {root}/patcher
data_file = {data}/data
parallel = true
core = ctrace
context = ${{PYTEST_CURRENT_TEST-}}
sigterm = true
"""
LIMIT = 1500  # seconds that recording one test file may take


class Recorder:
    """A plugin of pytest that tells coverage, here and in children, which test runs.

    `took` are the seconds of each, `failed` those that did not pass.
    """

    def __init__(self, coverage):
        self.coverage = coverage
        self.took = Counter()
        self.failed = set()

    def pytest_runtest_logstart(self, nodeid):
        self.coverage.switch_context(nodeid)
        # else a line is reached by the first test alone
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "patcher":
                for function in vars(module).values():
                    if hasattr(function, "cache_clear"):
                        function.cache_clear()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What a fixture of a whole file or folder runs belongs to each of its tests."""
        before = os.environ["PYTEST_CURRENT_TEST"]
        if fixturedef.scope != "function":
            os.environ["PYTEST_CURRENT_TEST"] = request.node.nodeid
            self.coverage.switch_context(request.node.nodeid)
        yield
        os.environ["PYTEST_CURRENT_TEST"] = before
        self.coverage.switch_context(test_of(before))

    def pytest_runtest_logreport(self, report):
        self.took[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def passed(self):
        """The seconds of each test that passed."""
        passed = {}
        for test, seconds in self.took.items():
            if test not in self.failed:
                passed[test] = round(seconds, 3)
        return passed


def test_of(context):
    """The test that PYTEST_CURRENT_TEST names."""
    return re.sub(r" \((setup|call|teardown)\)$", "", context)


test_of.__test__ = False


def functions(source):
    """The function that each line of a text is in, as `Mutant.function`."""
    names = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                for line in range(child.lineno, child.end_lineno + 1):
                    names[line] = prefix + child.name
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return names


def layout():
    """A digest of which functions each module has.

    What tests reach is known by these, until one is renamed or moved.
    """
    names = []
    for path in sorted((ROOT / "patcher").rglob("*.py")):
        of_module = sorted(set(functions(path.read_bytes()).values()))
        names.append((path.relative_to(ROOT).as_posix(), of_module))
    return hashlib.sha256(repr(names).encode()).hexdigest()


class Record:
    """What tests reach: one file in `folder` for each test file.

    `reached` are the tests by (module, function, line) and by (module, function), `took` their
    seconds.
    """

    def __init__(self, folder):
        self.folder = folder
        self.layout = layout()
        self.reached = defaultdict(set)
        self.took = {}
        self._paths = {}

    def path(self, name):
        """Where a test file as it is now is recorded, whatever becomes of it meanwhile."""
        if name not in self._paths:
            content = (ROOT / name).read_bytes() + self.layout.encode()
            digest = hashlib.sha256(content).hexdigest()[:12]
            self._paths[name] = self.folder / f"{name.replace('/', '-')}-{digest}.json"
        return self._paths[name]

    def make(self, copies, names):
        """Record the test files that are not, or not as they are now; minutes the first time."""
        missing = [name for name in names if not self.path(name).exists()]
        if missing:
            print(
                f"recording what {len(missing)} test files reach: {' '.join(missing)}", flush=True
            )
        in_parallel(copies, missing, self._start, self._done)
        for name in names:
            self._read(json.loads(self.path(name).read_text()))

    def _read(self, data):
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
        (data / "rc").write_text(SETTINGS.format(root=copy.root, data=data))

        def run():
            import coverage  # the session of nox has it, the suite has not

            os.environ["COVERAGE_PROCESS_START"] = str(data / "rc")
            running = coverage.Coverage(config_file=str(data / "rc"), messages=False)
            running.start()
            recorder = Recorder(running)
            code = copy.pytest("--maxfail=1000000", name, plugins=[recorder])
            running.stop()
            running.save()
            (data / "took").write_text(json.dumps(recorder.passed()))
            return code

        copy.start(run, LIMIT)

    def _done(self, name, copy, code):
        data = copy.temporary.with_name("coverage")
        if not (data / "took").exists():
            raise SystemExit(f"{name} could not be recorded: {copy.out.read_text()[-3000:]}")
        if code:
            print(f"{name}: exit code {code}; the tests that fail are left out", flush=True)
        took = json.loads((data / "took").read_text())
        rows = _rows(copy.root, _reached(copy.root, data, list(took)))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(json.dumps({"took": took, "reached": rows}))

    # the tests of a change --------------------------------------------------------------------
    def tests(self, mutant, names, budget):
        """The tests to run for a mutant, and their seconds.

        Those that reach a line of its function that few reach come first, of each line the
        shortest. Where no test is known to reach it, those of its files run.

        Args:
            mutant: the change.
            names: the test files that are about its module.
            budget: seconds that the tests may take, one of them apart.
        """
        known = self._that_reach(mutant)
        if not known:
            known = {test for test in self.took if test.split("::")[0] in names}
        chosen, seconds = [], 0.0
        for test in self._by_line(mutant, known):
            seconds += self.took[test]
            if chosen and seconds > budget:
                break
            chosen.append(test)
        return chosen, min(seconds, 2 * budget)

    def _that_reach(self, mutant):
        if not mutant.function:
            # what runs at the import is known of the first test alone: any will do that runs
            # something of the module
            return set().union(*self._functions_of(mutant.module))
        line = mutant.old.split("\n")[0]
        # a header runs at the import, too; what it changes shows in the body
        is_header = re.match(r"def |@|\w+: .* = .*,$", mutant.old)
        tests = set() if is_header else self.reached.get((mutant.module, mutant.function, line))
        return set(tests or self.reached.get((mutant.module, mutant.function), ()))

    def _functions_of(self, module):
        return [tests for key, tests in self.reached.items() if key[0] == module and len(key) == 2]

    def _by_line(self, mutant, known):
        """The known tests: of each line of the function in turn, the shortest first."""
        lines = []
        for key, tests in self.reached.items():
            if key[0] == mutant.module and mutant.function in ("", key[1]):
                lines.append(tests)
        shortest = []
        for tests in sorted(lines or [known], key=len):
            shortest.append(sorted(tests & known, key=lambda test: (self.took[test], test)))
        in_turn = {}
        for turn in zip_longest(*shortest):
            in_turn.update(dict.fromkeys(filter(None, turn)))
        return list(in_turn)


def _reached(root, data, tests):
    """The numbers of the tests that reach each (module, line number), as coverage has it."""
    import coverage

    numbers = defaultdict(set)
    for number, test in enumerate(tests):
        for context in (test, test.split("::")[0], test.split("/")[0]):
            numbers[context].add(number)
    reached = defaultdict(set)
    for path in data.glob("data.*"):
        part = coverage.CoverageData(basename=str(path))
        part.read()
        for file in part.measured_files():
            module = Path(file).relative_to(root).as_posix()
            for line, contexts in part.contexts_by_lineno(file).items():
                for context in contexts:
                    reached[module, line] |= numbers[test_of(context)]
    return reached


def _rows(root, reached):
    """(module, function, text of the line, numbers of tests) for each line that tests reach."""
    rows = []
    modules = {}
    for (module, line), numbers in sorted(reached.items()):
        if not numbers:
            continue
        if module not in modules:
            source = (root / module).read_text()
            modules[module] = source.splitlines(), functions(source)
        lines, within = modules[module]
        rows.append((module, within.get(line, ""), lines[line - 1].strip(), sorted(numbers)))
    return rows
