"""Which command imports what (facts of start-up time), and that the arrows between our modules point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import patcher
from tests.command import DDP, GUARD, Site, environ

PACKAGE = Path(patcher.__file__).parent
HEAVY = {
    "libcst", "packaging", "importlib.metadata", "json", "difflib", "tomllib", "tomli", "subprocess", "platformdirs",
    "pip_requirements_parser",
}  # fmt: skip
DUMP = "import atexit, sys; atexit.register(lambda: open({out!r}, 'w').write('\\n'.join(sys.modules)))\n"

# What each module may import of ours. A module that is missing here fails the test: say where a new one belongs.
SEMANTIC = {"model", "errors", "semantic"}
STORE = {"model", "errors", "", "folder", "receipt", "bytecode", "permission", "lock", "journal", "prepare"}
READ = {"model", "errors", "distribution", "interpreter", "environment"}
SOURCES = {*SEMANTIC, "versions", "tables", "manifest", "patchset"}
PLAN = {*STORE, *READ, *SOURCES, "store", "standing"}
REPORT = {"model", "errors", "standing", "lines", ""}
PLANS = {*PLAN, "jobs", "fold", "merge", "lines"}
EXPLAIN = {"explain", "explanation"}
VERIFY = {"model", "report", "interpreter", "process"}
TOP = {
    *PLANS, "plan", "commit", "ownership", "report", "page", "selection", "console", "fixture", "verify", "rollback", *EXPLAIN,
}  # fmt: skip
RELEASES = {*SOURCES, "distribution", "index", "releases"}
CHECK = {*PLANS, *RELEASES, "plan", *REPORT, "report", "check", "against"}
ALLOWED = {
    "": set(),
    "errors": set(),
    "model": set(),
    "semantic": SEMANTIC,
    "versions": {"model", "errors"},
    "tables": {"errors"},
    "manifest": SOURCES - {"patchset"},
    "patchset": SOURCES,
    "interpreter": READ - {"environment", "distribution"},
    "distribution": READ - {"environment"},
    "environment": READ,
    **dict.fromkeys(STORE - {"", "model", "errors"}, STORE),
    "store": STORE,
    "standing": {*READ, *STORE, "store"},
    "jobs": {*READ, *SOURCES},
    "fold": {*PLAN, "jobs"},
    "lines": set(),
    "merge": {"model", "semantic", "lines"},
    "plan": PLANS,
    "commit": PLAN,
    "turns": {*STORE, "interpreter"},
    "ownership": {"errors", "patchset"},
    "selection": {*PLANS, "plan"},
    "project": {*PLANS, "selection"},
    "requirements": {"errors", "project", "selection"},
    "lockfile": {*STORE, "jobs", "tables"},
    "report": REPORT,
    "page": {*REPORT, "report"},
    "explain": {*PLANS, "plan", "report"},
    "explanation": {*REPORT, "report", "semantic", "explain"},
    "fixture": {"errors"},
    "ddp": {"ddp", "report", ""},
    "process": set(),
    "verify": VERIFY,
    "verify_child": set(),
    "rollback": {"errors", "model", "commit", "verify"},
    "index": {"errors", "versions"},
    "releases": RELEASES,
    "check": CHECK - {"index", "releases", "against"},
    "against": CHECK,
    "check_page": {*CHECK, "page"},
    "console": TOP - {"selection", "verify", "rollback"},
    "change": {*TOP, "turns", "hook"},
    "sync": {*TOP, "turns", "change", "project", "requirements", "lockfile"},
    "demo": {"console", "fixture"},
    "hook": {*PLANS, "plan", "selection", "project", "hook"},
    "doctor": {*PLAN},
    "checkup": {*PLANS, "doctor", "selection", "hook"},
    "commands": {*TOP, "change", "demo", "commands", "ddp", "against", "check_page", "turns", "doctor", "checkup", "sync",
                 "hook", "project"},
    "cli": {"", "commands"},
    "__main__": {"cli"},
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.parts[0] not in ("_patchsets", "_fixtures"):
            name = inside.parts[0] if len(inside.parts) > 1 else "" if inside.stem == "__init__" else inside.stem
            yield inside.as_posix(), name, ast.parse(path.read_bytes())


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(name):
    """`patcher.semantic.hunk.x` -> `semantic`; `patcher.__version__` -> ``."""
    part = [*name.split("."), ""][1]
    return part if (PACKAGE / f"{part}.py").exists() or (PACKAGE / part).is_dir() else ""


def test_the_arrows_between_modules_point_one_way():
    wrong = []
    for path, module, tree in modules():
        assert module in ALLOWED, f"{path}: this test does not know where it belongs"
        for name in imported(tree):
            if name.split(".")[0] == "patcher" and ours(name) not in ALLOWED[module]:
                wrong.append(f"{path} imports {name}")
    assert wrong == []


def test_no_two_modules_may_import_each_other():
    families = [STORE]  # the parts of the store lean on each other; Python itself refuses a circle among them
    for module, allowed in ALLOWED.items():
        for other in allowed - {module}:
            if not any({module, other} <= family for family in families):
                assert module not in ALLOWED[other], f"{module} and {other}"


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("libcst", {"semantic/tree.py"}),
        ("click", {"cli.py", "console.py", "demo.py", *(f"commands/{path.name}" for path in PACKAGE.glob("commands/*.py"))}),
        ("packaging", {"versions.py", "manifest.py", "patchset.py"}),
        ("platformdirs", {"releases.py"}),
        ("pip_requirements_parser", {"requirements.py"}),
    ],
)
def test_a_library_is_named_where_it_belongs_only(library, homes):
    users = {path for path, _, tree in modules() if any(name.split(".")[0] == library for name in imported(tree))}
    assert users <= homes


def test_nothing_names_the_matchers_of_libcst():
    for path, _, tree in modules():
        assert not [name for name in imported(tree) if name.startswith("libcst.matchers")], path


def test_only_the_commands_print():
    for path, module, tree in modules():
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        printing = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        assert not printing or module in ("cli", "commands", "console", "demo"), path


def loaded(site, *words):
    """The modules in memory when `sitepatch WORDS` ends."""
    out = site.cwd / "modules"
    code = DUMP.format(out=str(out)) + f"sys.argv = {['sitepatch', *map(str, words)]!r}\nimport patcher.cli as c\nc.main()\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environ(),
        cwd=str(site.cwd),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return set(out.read_text().split("\n"))


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path, "mmengine-0.10.7")


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (["--help"], HEAVY),
        (["--version"], HEAVY - {"json"}),
        (["apply", "--help"], HEAVY),
        (["explain", "--help"], HEAVY),
        (["check", "--help"], HEAVY),
        (["sync", "--help"], HEAVY),
        (["doctor", "--help"], HEAVY),
        (["hook", "init", "--help"], HEAVY),
        (["list"], {"libcst", "importlib.metadata", "json"}),
        (["show", DDP], {"libcst", "importlib.metadata", "json"}),
        (["status"], HEAVY),
        (["restore"], HEAVY),
        (["ddp-report", "--help"], HEAVY),
    ],
)
def test_a_command_that_does_little_imports_little(site, words, never):
    target = ["--target", site.path] if words[0] in ("status", "restore") else []
    assert loaded(site, *words, *target) & never == set()


def test_where_something_stands_status_reads_receipts_and_nothing_heavier(site):
    site("apply", DDP)
    found = loaded(site, "status", "--target", site.path)
    assert "json" in found  # this test can see what is imported
    assert found & (HEAVY - {"json"}) == set()


def test_a_repeated_apply_and_a_restore_of_all_need_no_syntax_tree(site):
    first = loaded(site, "apply", DDP, "--target", site.path)
    assert "libcst" in first  # this test can see what is imported
    assert "libcst.matchers" not in first
    assert first & {"difflib", "patcher.semantic.nearest", "patcher.semantic.explain"} == set()  # only where something failed
    assert "subprocess" in first  # what was written is verified
    again = loaded(site, "apply", DDP, "--target", site.path)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess"} == set()
    assert loaded(site, "diff", "--target", site.path) & {"libcst", "packaging", "importlib.metadata"} == set()
    back = loaded(site, "restore", "--target", site.path)
    assert back & {"libcst", "packaging", "importlib.metadata", "subprocess"} == set()


def test_restoring_one_of_two_in_a_file_needs_no_syntax_tree_where_the_splices_are_kept(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    site("apply", DDP, GUARD)
    assert "libcst" not in loaded(site, "restore", GUARD, "--target", site.path)
    assert site("status").out.count(DDP) == 3
