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
SEMANTIC = {"model", "errors", "semantic", "width"}
STORE = {
    "model", "errors", "", "reading", "ownership", "meta", "folder", "receipt", "bytecode", "permission", "lock", "journal",
    "prepare", "tidy",
}  # fmt: skip
READ = {"model", "errors", "reading", "versions", "distribution", "interpreter", "environment"}
SOURCES = {*SEMANTIC, "reading", "versions", "tables", "confusable", "manifest", "patchset"}
PLAN = {*STORE, *READ, *SOURCES, "store", "standing"}
REPORT = {"model", "errors", "standing", "lines", "drawn", "width", ""}
PLANS = {*PLAN, "jobs", "fold", "carry", "merge", "lines"}
EXPLAIN = {"explain", "explanation"}
VERIFY = {"model", "report", "interpreter", "process"}
TOP = {
    *PLANS, "plan", "commit", "together", "ownership", "drawn", "report", "page", "selection", "console", "fixture", "verify", "rollback",
    "signals", *EXPLAIN,
}  # fmt: skip
RELEASES = {*SOURCES, "ownership", "distribution", "index", "releases", "cache"}
CHECK = {*PLANS, *RELEASES, "plan", *REPORT, "report", "check", "against"}
RUN = {"launch", "overlay", "lockfile"}
ALLOWED = {
    "": set(),
    "errors": set(),
    "reading": {"errors"},
    "model": set(),
    "semantic": SEMANTIC,
    "versions": {"model", "errors"},
    "width": set(),
    "tables": {"errors", "reading", "width"},
    "confusable": {"model"},
    "manifest": SOURCES - {"patchset"},
    "patchset": SOURCES,
    "interpreter": READ - {"environment", "distribution"},
    "distribution": READ - {"environment"},
    "environment": READ,
    **dict.fromkeys(STORE - {"", "model", "errors", "reading", "ownership"}, STORE),
    "store": STORE,
    "standing": {*READ, *STORE, "store"},
    "jobs": {*READ, *SOURCES, *STORE, "store"},
    "carry": {"model"},
    "fold": {*PLAN, "jobs", "carry"},
    "lines": set(),
    "merge": {"model", "semantic", "lines"},
    "plan": PLANS,
    "commit": PLAN,
    "turns": {*STORE, "interpreter"},
    "ownership": {"errors"},
    "selection": {*PLANS, "plan", "ownership"},
    "project": {*PLANS, "selection"},
    "requirements": {"errors", "reading", "project", "selection"},
    "lockfile": {*STORE, "jobs", "tables"},
    "report": REPORT,
    "drawn": set(),
    "page": {*REPORT, "report"},
    "explain": {*PLANS, "plan", "report"},
    "explanation": {*REPORT, "report", "semantic", "explain"},
    "fixture": {"errors"},
    "ddp": {"ddp", "report", "drawn", "width", ""},
    "process": set(),
    "verify": VERIFY,
    "verify_child": set(),
    "signals": set(),
    "together": {"errors", "model", "commit", "signals", "standing", "store"},
    "rollback": {"errors", "model", "commit", "signals", "verify"},
    "index": {"errors", "versions"},
    "cache": set(),
    "releases": RELEASES,
    "check": CHECK - {"index", "releases", "against"},
    "against": CHECK,
    "check_page": {*CHECK, "page"},
    "console": TOP - {"selection", "verify", "rollback", "signals", "together"},
    "change": {*TOP, "turns", "hook"},
    "sync": {*TOP, "turns", "change", "project", "requirements", "lockfile", "hook"},
    "demo": {"console", "fixture"},
    "hook": {*PLANS, "tables", "plan", "turns", "selection", "project", "hook"},
    "doctor": {*PLAN},
    "checkup": {*PLANS, "cache", "doctor", "selection", "hook"},
    "launch": {"errors", "interpreter"},
    "overlay": {*TOP, "turns", "change", "cache", "overlay"},
    "commands": {*TOP, "change", "demo", "commands", "ddp", "against", "check_page", "turns", "doctor", "checkup", "sync",
                 "hook", "project", "cache", *RUN},
    "cli": {"", "commands", "drawn", "signals"},
    "__main__": {"cli", "signals"},
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
        ("platformdirs", {"cache.py"}),
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


WRITERS = {  # every module that can change a file, and which
    **dict.fromkeys(["folder.py", "meta.py", "lock.py"], "the store: all that is written into a site directory"),
    **dict.fromkeys(["cli.py", "signals.py"], "nothing: /dev/null where a stream is closed"),
    **dict.fromkeys(["commands/checking.py", "commands/looking.py", "commands/ranks.py"], "the page of --html FILE"),
    **dict.fromkeys(["demo.py", "fixture.py", "index.py"], "a directory of their own"),
    **dict.fromkeys(["cache.py", "releases.py"], "the cache"),
    **dict.fromkeys(["overlay/make.py", "overlay/change.py"], "the cache of overlays"),
    **dict.fromkeys(["commands/hooking.py", "hook/backend.py", "hook/directory.py"], "a hook's directory and its wheel"),
    **dict.fromkeys(["hook/boot.py", "overlay/boot.py"], "stderr"),
    **dict.fromkeys(["hook/closer.py", "hook/installed.py"], "the hook's own lock, and its files where it is removed"),
    **dict.fromkeys(["verify.py", "verify_child.py"], "a directory of their own, for what the child tells"),
}
OWN_FILES = ("hook/repair", "lockfile")  # of the hook's state, and of a project: put there as the store puts files
WRITING = {
    "os": "O_CREAT O_RDWR O_WRONLY chmod chown fchmod fchown ftruncate lchown link makedirs mkdir mkfifo mknod remove removedirs "
    "removexattr rename renames replace rmdir setxattr symlink truncate unlink utime write",
    "shutil": "chown copy copy2 copyfile copymode copystat copytree make_archive move rmtree unpack_archive",
    "tempfile": "NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile mkdtemp mkstemp",
}
PATH_METHODS = (
    "chmod", "hardlink_to", "lchmod", "mkdir", "rename", "rmdir", "symlink_to", "touch", "unlink", "write_bytes", "write_text",
)  # fmt: skip


def writing(tree):
    """The calls that could change a file, as they are named; `open` where its mode is one that writes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in (WRITING[module].split() if module in WRITING else PATH_METHODS):
                yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "open":
            words = [each.value for each in [*node.args, *(keyword.value for keyword in node.keywords)] if isinstance(each, ast.Constant)]
            if any(isinstance(word, str) and len(word) < 4 and set(word) & set("wax+") for word in words):
                yield "open"


def test_only_the_store_writes_into_a_site_directory():
    found = {path: sorted(set(writing(tree))) for path, _, tree in modules()}
    assert {path: names for path, names in found.items() if names and path not in WRITERS} == {}
    assert [path for path in WRITERS if not found[path]] == []
    users = {path for path, _, tree in modules() if {"patcher.folder.Folder", "patcher.lock.locked"} & set(imported(tree))}
    assert users == {f"{name}.py" for name in ("store", "prepare", "tidy", "journal", "lock", "bytecode", "permission", *OWN_FILES)}


def loaded(site, *words):
    """The modules in memory when `sitepatch WORDS` ends."""
    out = site.cwd / "modules"
    code = DUMP.format(out=str(out)) + "import os; os.execve = lambda *words: sys.exit(0)\n" + f"sys.argv = {['sitepatch', *map(str, words)]!r}\nimport patcher.cli as c\nc.main()\n"
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
        (["--help"], HEAVY | {"pathlib"}),
        (["--version"], HEAVY - {"json"}),
        (["apply", "--help"], HEAVY),
        (["explain", "--help"], HEAVY),
        (["check", "--help"], HEAVY),
        (["sync", "--help"], HEAVY),
        (["run", "--help"], HEAVY),
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
    assert found & ((HEAVY | {"pathlib", "urllib.parse"}) - {"json"}) == set()


def test_status_reads_each_patchset_of_a_store_once_to_see_if_it_is_whole(site, monkeypatch):
    from patcher.interpreter import discover
    from patcher.standing import damaged, standing
    from patcher.store import Store

    site("apply", DDP)
    read, whole = [], Store.patchset_files
    monkeypatch.setattr(Store, "patchset_files", lambda store, digest: read.append(digest) or whole(store, digest))
    items = standing(discover(None, str(site.path)))
    assert damaged(items) == [] and len(items) == 3
    assert len(read) == 1


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


def test_a_repeated_run_needs_no_syntax_tree_and_never_what_a_project_asks_for(site):
    words = ["run", DDP, "--no-verify", "--target", site.path, "--", "true"]
    assert "libcst" in loaded(site, *words)  # this test can see what is imported
    again = loaded(site, *words)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess", "patcher.sync", "patcher.overlay"} == set()


def test_restoring_one_of_two_in_a_file_needs_no_syntax_tree_where_the_splices_are_kept(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    site("apply", DDP, GUARD)
    assert "libcst" not in loaded(site, "restore", GUARD, "--target", site.path)
    assert site("status").out.count(DDP) == 3
