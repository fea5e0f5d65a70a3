"""Which command imports what (facts of start-up time), and that the arrows between our modules point one way."""

import ast
import collections
import functools
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import patcher
from tests import imports
from tests.command import DDP, GUARD, Site, environ
from tests.imports import loaded
from tools import samples

PACKAGE = Path(patcher.__file__).parent
HEAVY = {"libcst", "pip", "diff_match_patch", "pip_requirements_parser", "platformdirs", "tomlkit"}  # what only few commands need

MODEL = {"", "errors", "message", "model", "record"}
BASE = {*MODEL, "facts", "system", "text"}
LOOKS = {*BASE, "installed", "patchset", "store", "planner"}
ALLOWED = {  # which package may import which; inside of a package there is no list to keep
    **dict.fromkeys(MODEL, MODEL),
    "facts": {*MODEL, "text"},
    "system": {*MODEL, "text"},
    "text": MODEL,
    "engine": BASE,
    "installed": BASE,
    "patchset": {*BASE, "engine", "installed"},
    "store": {*BASE, "installed"},
    "planner": {*BASE, "engine", "installed", "patchset", "store"},
    "verify": LOOKS,
    "project": {*LOOKS, "verify"},
    "diagnosis": BASE,
    "hook": LOOKS,
    "overlay": {*LOOKS, "verify"},
    "author": {*LOOKS, "engine"},
    "place": {*LOOKS, "outcomes", "verify"},
    "display": {*LOOKS, "place", "outcomes", "compatibility", "verify", "engine"},
    "outcomes": {*LOOKS, "verify"},
    "compatibility": BASE,
    "verbs": {*LOOKS, "place", "outcomes", "compatibility", "display", "verify", "project", "hook", "overlay", "engine", "author", "diagnosis"},
    "__main__": {"verbs", "system"},
}


class Module(NamedTuple):
    """A module of ours.

    Attributes:
        path: its path below patcher/.
        package: the directory in which it is, its own name if it stands at the top, "" for patcher itself.
        tree: its syntax tree.
        imported: what it imports, anywhere in it: `os`, `patcher.errors.Location`.
    """

    path: str
    package: str
    tree: ast.Module
    imported: tuple

    def imports(self, prefix):
        """Whether it imports something of a package."""
        return any(f"{name}.".startswith(f"{prefix}.") for name in self.imported)


@functools.lru_cache(maxsize=None)
def modules():
    """The modules of ours."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE)
        if path.parts[0] in ("_patchsets", "_fixtures"):
            continue
        package = path.parts[0] if len(path.parts) > 1 else path.stem
        if package == "__init__":
            package = ""
        tree = ast.parse(file.read_bytes())
        found.append(Module(path.as_posix(), package, tree, imported_in(tree)))
    return found


def users_of(prefix):
    """The paths of the modules that import something of a package."""
    return {module.path for module in modules() if module.imports(prefix)}


def imported_in(tree):
    """What a module imports, anywhere in it."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def name_of(node):
    """The name, or the last part of the dotted name, that a node of a tree is; "" for any other node."""
    return getattr(node, "attr", getattr(node, "id", ""))


def ours(name):
    """The package or the module at the top of which something is: `patcher.engine.lex.scan` -> `engine`; `patcher.__version__` -> ``."""
    _, _, rest = name.partition(".")
    part = rest.split(".")[0]
    is_there = (PACKAGE / f"{part}.py").exists() or (PACKAGE / part).is_dir()
    return part if is_there else ""


@pytest.mark.once
def test_the_arrows_between_modules_point_one_way():
    wrong = []
    for module in modules():
        assert module.package in ALLOWED, f"{module.path}: this test does not know where it belongs"
        allowed = {module.package, *ALLOWED[module.package]}
        for name in module.imported:
            if name.split(".")[0] == "patcher" and ours(name) not in allowed:
                wrong.append(f"{module.path} imports {name}")
    assert wrong == []


OF_DIAGNOSE = {"verbs/diagnose.py", "verbs/diagnose_answer.py", "verbs/diagnose_report.py", "verbs/log_findings.py", "verbs/rank_trial.py"}  # the command and its parts


@pytest.mark.once
def test_nothing_imports_the_diagnosis_but_its_command():
    users = users_of("patcher.diagnosis")
    assert {path for path in users if not path.startswith("diagnosis/")} == OF_DIAGNOSE


WALL = {  # what other packages know of the engine: the questions, the form of a patch, the tree for who writes patches, the answers
    "engine": "check_hunks rewrite splices_problem",
    "explain": "explain",
    "overlap": "overlaps",
    "scoping": "statements",
    "source": "definition_lines",
    "check": "source_problem",
    "spatch.hunk": "MOST_LINES parse_spatch",
    "spatch.notation": "holes",
    "tree": "Node SyntaxProblem Tree imported inside_of proves_upstream remembered same",
    "text": "STANDS_THERE",
    "lex": "BRACKETS LAYOUT lines_in_strings tokens",
}


@pytest.mark.once
def test_the_engine_has_a_wall_of_few_names():
    imported = set()
    for module in modules():
        if module.package != "engine":
            imported |= {name for name in module.imported if name.startswith("patcher.engine.")}
    known = set()
    for home, names in WALL.items():
        known |= {f"patcher.engine.{home}.{name}" for name in names.split()}
    assert imported == known


@pytest.mark.once
@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("libcst", {"engine/syntax.py"}),
        ("click", {module.path for module in modules() if module.package in ("verbs", "display")}),
        ("packaging", {"installed/versions.py"}),
        ("platformdirs", {"system/cache.py"}),
        ("diff_match_patch", {"display/words.py"}),
        ("tomlkit", {"author/manifest.py"}),
        ("pip_requirements_parser", {"project/request.py"}),
    ],
)
def test_a_library_is_imported_only_where_it_belongs(library, homes):
    assert users_of(library) <= homes


@pytest.mark.once
def test_nothing_names_the_matchers_of_libcst():
    assert users_of("libcst.matchers") == set()


@pytest.mark.once
def test_only_display_prints():
    for module in modules():
        called = {name_of(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        if module.package != "display":
            assert called.isdisjoint({"print", "echo", "secho"}), module.path


PURE = {"__future__", "bisect", "string", "typing", "warnings"}
DECIDING = {  # the modules that decide, and what of ours each may import beside the other ones
    "planner/plan.py": {*MODEL, "facts", "text"},
    "planner/resolve.py": {*MODEL, "facts", "text"},
    "planner/reconcile.py": {*MODEL, "facts", "text"},
    "planner/merge.py": {*MODEL, "facts", "text"},
    "planner/changed_context.py": {*MODEL, "facts", "text", "engine"},
    "planner/same_place.py": {*MODEL, "text"},
}


@pytest.mark.once
def test_what_decides_does_no_io():
    """Judged by its imports and its calls: it is given what others have read."""
    deciding = [module for module in modules() if module.path in DECIDING]
    assert len(deciding) == len(DECIDING)
    for module in deciding:
        for name in module.imported:
            if not name.startswith("patcher."):
                assert name.split(".")[0] in PURE, module.path
                continue
            _, package, stem, *_ = name.split(".")
            also_decides = f"{package}/{stem}.py" in DECIDING
            assert also_decides or ours(name) in DECIDING[module.path], f"{module.path} imports {name}"
        names = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
        assert names.isdisjoint({"open", "__import__", "eval", "exec"}), module.path


@pytest.mark.once
def test_a_public_name_means_one_thing():
    """One module defines it. A command is named after the function it calls, and `main` begins a program."""
    homes = collections.defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            is_defined = isinstance(node, (ast.FunctionDef, ast.ClassDef))
            if is_defined and node.name != "command" and not node.name.startswith("_"):
                homes[node.name].append(module.path)
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert set(twice) == {"main"}, twice


ENDS = {  # what runs by itself: when Python starts, in the target interpreter, as a build backend
    "hook/backend.py", "hook/boot.py", "overlay/boot.py", "diagnosis/child.py",
    "verify/child.py", "verify/namespace.py",
    "installed/index.py",  # ends nothing: where pip would, with its settings, it says why
}  # fmt: skip


@pytest.mark.once
def test_the_commands_alone_end_the_process_and_know_exit_codes():
    for module in modules():
        if module.package in ("verbs", "display", "__main__") or module.path in ENDS:
            continue
        names = set(map(name_of, ast.walk(module.tree)))
        assert names.isdisjoint({"exit", "_exit", "exit_code", "SystemExit"}), module.path


def test_a_verb_takes_names_and_keywords_and_returns_a_frozen_outcome():
    verbs = {name: getattr(patcher, name) for name in patcher.__all__ if name.islower()}
    assert set(verbs) == {"adopt", "apply", "capture", "check", "copy_release", "diagnose", "diff", "doctor", "edit", "export", "import_", "list_patchsets", "restore", "show", "status", "sync", "update"}
    for name, verb in verbs.items():
        parameters = inspect.signature(verb).parameters
        keywords = {each for each, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
        assert "place" in keywords and keywords.isdisjoint(set(parameters) - keywords), name
        outcome = getattr(sys.modules[verb.__module__], verb.__annotations__["return"])
        assert issubclass(outcome, tuple) and outcome.__doc__ and verb.__doc__, name
    with pytest.raises(AttributeError, match="nothing"):
        _ = patcher.nothing


WRITERS = {  # every module that can change a file, and which
    **dict.fromkeys(["store/folder.py", "store/lock.py"], "the store: all that is written into a site directory"),
    **dict.fromkeys(["verbs/main.py", "system/signals.py"], "nothing: /dev/null where a stream is closed"),
    "system/output.py": "a file that the user has named",
    "author/export.py": "the wheel that is exported, where --output says",
    **dict.fromkeys(["author/copies.py", "verbs/editor.py", "verbs/demo.py", "installed/index.py"], "a directory of their own"),
    **dict.fromkeys(["system/cache.py", "installed/releases.py"], "the cache"),
    **dict.fromkeys(["overlay/make.py", "verbs/overlay.py"], "the cache of overlays"),
    **dict.fromkeys(["author/folder.py"], "a patchset's folder"),
    **dict.fromkeys(["hook/backend.py", "hook/directory.py"], "a hook's directory and its wheel"),
    **dict.fromkeys(["hook/boot.py", "overlay/boot.py"], "stderr"),
    "verbs/hook_start.py": "the hook's own lock",
    **dict.fromkeys(["verify/run.py", "verify/namespace.py", "verify/child.py", "diagnosis/ranks.py", "diagnosis/child.py"], "a directory of their own, for what the child reports"),
}
OWN_FILES = ("verbs/hook_start.py",)  # of the hook's state: put there as the store puts files
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
    """The names of the calls that could change a file; `open` only with a mode that writes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in (WRITING[module].split() if module in WRITING else PATH_METHODS):
                yield node.attr
        elif isinstance(node, ast.Call) and name_of(node.func) == "open":
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(map(is_writing_mode, arguments)):
                yield "open"


def is_writing_mode(argument):
    """Whether an argument of `open` is a mode that writes."""
    text = getattr(argument, "value", None)
    return isinstance(text, str) and len(text) < 4 and not set("wax+").isdisjoint(text)


@pytest.mark.once
def test_only_the_store_writes_into_a_site_directory():
    assert {module.path for module in modules() if any(writing(module.tree))} == set(WRITERS)
    users = users_of("patcher.store.folder.Folder") | users_of("patcher.store.lock.locked")
    assert {path for path in users if not path.startswith("store/")} == set(OWN_FILES)


@pytest.mark.once
def test_no_import_cycle_no_seventh_parameter_and_no_skipped_formatting():
    known = imports.modules(PACKAGE)
    edges = {name: imports.imported(tree, known) for name, (_, tree) in known.items()}
    assert imports.circles(edges) == []
    assert [f"{name}: {each}" for name, (_, tree) in known.items() for each in imports.wide(tree)] == []
    assert [name for name, (text, _) in known.items() if "fmt: " + "skip" in text] == []


@pytest.mark.parametrize(
    ("words", "never"),
    [
        ([], HEAVY),
        (["--help"], HEAVY),
        (["--version"], HEAVY),
        (["apply", "--help"], HEAVY),
        (["check", "--help"], HEAVY),
        (["sync", "--help"], HEAVY),
        (["run", "--help"], HEAVY),
        (["import", "--help"], HEAVY),
        (["doctor", "--help"], HEAVY),
        (["hook", "init", "--help"], HEAVY),
        (["list"], HEAVY),
        (["show", DDP], HEAVY),
        (["status"], HEAVY),
        (["restore"], HEAVY),
        (["diagnose", "--help"], HEAVY),
    ],
)
def test_a_command_that_does_little_imports_little(site, words, never):
    target = ["--target", site.path] if words[:1] in (["status"], ["restore"], ["list"]) else []
    assert loaded(site, *words, *target) & never == set()


@pytest.mark.once
def test_the_help_and_the_completion_of_no_command_need_a_syntax_tree():
    code = "import sys; from patcher.verbs.main import _COMMANDS, commands\nfor name in _COMMANDS: assert commands.get_command(None, name).name == name\n"
    code += f"print(sorted({HEAVY} & set(sys.modules)))"
    completed = subprocess.run([sys.executable, "-c", code], env=environ(), capture_output=True, text=True)
    assert (completed.stdout, completed.stderr) == ("[]\n", "")


def test_where_something_is_applied_status_reads_receipts_and_nothing_heavier(site):
    site("apply", DDP)
    found = loaded(site, "status", "--target", site.path)
    assert "json" in found  # this test can see what is imported
    assert found & HEAVY == set()


WATCH = """import collections, json, os, sys
counts = collections.Counter()
def heard(event, words):
    if event in ("open", "os.listdir"):
        counts[event + " " + os.path.basename(str(words[0]))] += 1
sys.addaudithook(heard)
sys.argv = {argv!r}
from patcher.verbs.main import main
try:
    main()
finally:
    print(json.dumps(counts), file=sys.stderr)
"""


def read(site, *words):
    """How often `sitepatch WORDS` opens or lists a file or directory, by name."""
    argv = ["sitepatch", *words, "--target", str(site.path)]
    completed = subprocess.run([sys.executable, "-c", WATCH.format(argv=argv)], env=environ(), cwd=str(site.cwd), capture_output=True, text=True, check=True)
    return collections.Counter(json.loads(completed.stderr.split("\n")[-2]))


def receipts(site):
    return [path.name for path in (site.path / ".sitepatch/receipts").iterdir()]


@pytest.mark.parametrize("words", [["status"], ["apply", DDP, "--verify", "none"]])
def test_what_is_applied_is_read_once_per_receipt_and_file(site, words):
    site("apply", DDP)
    applied = json.loads(site("status", "--json").out)["files"]
    counts = read(site, *words)
    assert len(applied) == len(receipts(site)) == 3
    names = [*receipts(site), *(Path(file["path"]).name for file in applied)]
    names.remove("utils.py")  # the first also tells which distribution they belong to
    names += [path.name for path in (site.path / ".sitepatch/pristine").iterdir()]
    assert {name: counts[f"open {name}"] for name in names} == dict.fromkeys(names, 1)


def test_many_files_of_one_package_are_read_once_each(tmp_path):
    site, many = Site(tmp_path), 20
    samples.package(site.path, "demo", many)
    samples.patchset(tmp_path / "patchsets", "many", "demo", samples.many("demo", many))
    site("apply", "many", "--verify", "none")
    counts = read(site, "apply", "many", "--verify", "none", "--patch-dir", str(tmp_path / "patchsets"))
    assert counts["os.listdir demo"] == 1
    read_once = {counts[f"open {name}"] for name in [*receipts(site), *(f"m{number}.py" for number in range(1, many))]}
    assert (read_once, counts["open m0.py"]) == ({1}, 2)  # the first also tells which distribution they belong to


def test_many_patchsets_of_one_package_read_it_once(tmp_path):
    def run(command, cwd):
        subprocess.run(command, cwd=cwd, env=environ(), check=True, capture_output=True)

    project = samples.hundred(tmp_path, [sys.executable, "-m", "patcher"], run, many=20)
    watch = """import collections, sys
counts = collections.Counter()
sys.addaudithook(lambda event, words: counts.update([(event, str(words[0]).rpartition("hundred/")[2])]))
sys.argv = ["sitepatch", "sync", "--target", "../hundred", "--verify", "none"]
from patcher.verbs.main import main
try:
    main()
finally:
    (metadata,) = (key for key in counts if key[1].endswith("METADATA"))
    watched = [metadata, ("os.listdir", "hundred"), *(("open", f"m{number}.py") for number in (0, 19))]
    print([counts[key] for key in watched], file=sys.stderr)
"""
    completed = subprocess.run([sys.executable, "-c", watch], cwd=project, env=environ(), capture_output=True, text=True, check=True)
    # a module is read for its status; the first also tells which distribution the package belongs to
    assert completed.stderr.split("\n")[-2] == "[1, 1, 2, 1]", completed.stderr


def test_the_last_garbage_collection_has_nothing_to_look_at():
    code = "import atexit, gc, sys; atexit.register(lambda: print(len(gc.get_objects()))); sys.argv = ['sitepatch', '--version']\n"
    code += "from patcher.__main__ import main; main()"
    completed = subprocess.run([sys.executable, "-c", code], env=environ(), capture_output=True, check=True)
    assert int(completed.stdout.split()[-1]) < 1000


def test_a_repeated_apply_and_a_restore_of_all_need_no_syntax_tree(site):
    first = loaded(site, "apply", DDP, "--target", site.path)
    assert "libcst" in first  # this test can see what is imported
    assert "libcst.matchers" not in first
    assert first & {"difflib", "patcher.engine.closest", "patcher.engine.explain"} == set()  # only where something failed
    assert "subprocess" in first  # what was written is verified
    again = loaded(site, "apply", DDP, "--target", site.path)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess"} == set()
    assert loaded(site, "diff", "--target", site.path) & {"libcst", "packaging", "importlib.metadata", "diff_match_patch"} == set()
    samples.package(site.path, "demo", 1)
    samples.patchset(site.cwd / "patchsets", "words", "demo", samples.many("demo", 1))
    site("apply", "words", "--verify", "none")
    assert "diff_match_patch" not in loaded(site, "diff", "words", "--target", site.path)
    # only for a reader
    assert "diff_match_patch" in loaded(site, "diff", "words", "--target", site.path, before="sys.stdout.isatty = lambda: True", PAGER="cat")
    back = loaded(site, "restore", "--target", site.path)
    assert back & {"libcst", "packaging", "importlib.metadata", "subprocess"} == set()


NO_TREE = {"libcst", "packaging", "importlib.metadata", "difflib", "patcher.engine.answers"}


def test_a_first_apply_of_a_known_release_needs_neither_a_syntax_tree_nor_a_cache(site):
    from patcher.patchset.results import write_table
    from tests.tables import results

    table = site.cwd / "known.json"
    table.write_bytes(write_table({key: made for key, (_, _, made) in results(DDP, [site.path]).items()}))
    before = f"import patcher.patchset.results as r; r.builtin_table = lambda name: open({str(table)!r}, 'rb').read()"
    assert (NO_TREE | {"platformdirs"}) & loaded(site, "apply", DDP, "--verify", "none", "--target", site.path, before=before, SITEPATCH_CACHE="") == set()
    assert "3 files" in site("status").out


def test_a_repeated_run_needs_no_syntax_tree_and_no_project(site):
    words = ["run", DDP, "--verify", "none", "--target", site.path, "--", "true"]
    assert "libcst" in loaded(site, *words)  # this test can see what is imported
    again = loaded(site, *words)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess", "patcher.verbs.sync", "patcher.overlay"} == set()


def test_restoring_one_of_two_in_a_file_needs_no_syntax_tree_where_the_splices_are_kept(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    site("apply", DDP, GUARD)
    assert "libcst" not in loaded(site, "restore", GUARD, "--target", site.path)
    assert "3 files" in site("status").out
