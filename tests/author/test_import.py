"""`sitepatch import`: somebody's diff becomes a patchset for what is installed, or nothing is written."""

import functools
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from patcher.author import series
from patcher.author.folder import Head, patchset_files
from patcher.author.patched_texts import Release
from patcher.author.spatch_draft import Draft, DraftFile, DraftHunk
from patcher.errors import SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import discover
from patcher.patchset.manifest import load_patchset
from patcher.place import Place
from patcher.verbs.import_ import import_
from patcher.verbs.releases.further import prove
from tests.author.world import EDIT, FILES, GONE, LAYOUT, NEW, OTHER, M, N, World, another, diff
from tests.command import done, environ, sitepatch, tree
from tests.index import Index
from tests.places import wheel


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, {**LAYOUT, "demo/twin/m.py": "Y = 1\n", "tests/__init__.py": "", "tests/test_m.py": "of somebody\n"})


def run(world, text, name="mine", **more):
    data = text if isinstance(text, bytes) else text.encode()
    place = Place(target=str(world.path))
    return import_("fix.patch", name=name, place=place, data=data, **{"output": world.cwd / "patchsets", **more})


def refused(world, text, **more):
    """Check that nothing is written; returns (path, problem, hint) of what does not fit and (path, reason) of what stops it."""
    before = tree(world.cwd)
    outcome = run(world, text, **more)
    assert not outcome.ok and tree(world.cwd) == before
    problems = [(one.path or one.section.path, one.problem, one.hint) for one in outcome.problems]
    missing = [(one.path, one.why) for one in outcome.missing]
    return problems, missing


def left_out(outcome):
    return [(one.path, one.why) for one in outcome.left_out]


# the whole way --------------------------------------------------------------------------------------------------------
@pytest.mark.once
def test_a_mail_is_imported_applied_and_restored(world):
    mail = (
        "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: Max <m@example.com>\n"
        f"Date: Tue, 2 Jan 2024 10:00:00 +0000\nSubject: [PATCH] Say what was loaded\n\nIt was not known.\n---\n\n{diff()}"
    )
    (world.cwd / "fix.patch").write_text(mail)
    before = world.tree()
    ended = done(world("import", "fix.patch", "--name", "mine", "-v"))
    assert world.tree() == before
    assert "@@ load @@" in ended.out and "not taken" in ended.out and "+1 -0" in ended.out
    assert "imported  1 hunk in patchsets/mine, for demo ==1.0" in ended.out
    one = load_patchset(world.cwd / "patchsets" / "mine", "")
    assert one.about.summary == "Say what was loaded"
    assert one.about.prose == (
        "Description: Say what was loaded\nOrigin: commit 0123456789abcdef0123456789abcdef01234567\n"
        "Author: Max <m@example.com>\nLast-Update: 2024-01-02\n\nIt was not known."
    ), "the head of its .spatch, as that of each patch of a series"
    assert one.about.provenance == {
        "origin": "commit 0123456789abcdef0123456789abcdef01234567", "author": "Max <m@example.com>", "last_update": "2024-01-02",
    }  # fmt: skip
    done(world("apply", "mine"))
    assert world.text() == EDIT
    done(world("restore"))
    assert world.text() == M


@pytest.mark.once
def test_standard_input_and_the_answer_in_json(world):

    command = [sys.executable, "-m", "patcher", "import", "-", "--name", "mine", "--json", "--target", str(world.path)]
    text = diff() + diff("x\n", "y\n", "a/README.md")
    ended = subprocess.run(command, cwd=world.cwd, env=environ(), input=text.encode(), stdout=subprocess.PIPE, timeout=120)
    answer = json.loads(ended.stdout)
    assert (ended.returncode, answer["ok"], answer["folder"], answer["versions"]) == (0, True, "patchsets/mine", {"demo": "==1.0"})
    assert [(each["path"], each["why"]) for each in answer["left_out"]] == [("README.md", "no Python file")]
    (file,) = answer["draft"]["files"]
    assert file["paths"] == ["demo/m.py"]
    assert [hunk["line"] for hunk in file["hunks"]] == [6]
    assert answer["files"][0]["text"].endswith('+    print("loaded", model)  # where is it?\n     if strict:\n         check(model)\n     return model\n')


# which file is meant --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("a/demo/m.py", "demo/m.py"),
        ("demo/m.py", "demo/m.py"),
        ("a/src/demo/m.py", "demo/m.py"),
        ("python/lib/demo/m.py", "demo/m.py"),
        ("/usr/lib/python3/dist-packages/demo/m.py", "demo/m.py"),
        ("m.py", "demo/m.py"),
        ("a/code/core/m.py", "demo/m.py"),
    ],
)
def test_the_installed_file_is_the_one_with_the_longest_common_suffix_at_which_it_applies(world, path, meant):
    outcome = run(world, diff(path=path))
    assert outcome.ok and [one.path for one in outcome.files] == [meant]
    assert any("is taken for" in note for note in outcome.notes) == (not path.endswith("demo/m.py"))


def test_a_copy_that_another_package_vendors_is_not_what_the_diff_means(world):
    shutil.copytree(world.path / "demo", world.path / "other" / "_vendor" / "demo")
    with (world.path / "demo-1.0.dist-info" / "RECORD").open("a") as record:
        record.write(f"other/_vendor/demo/m.py,sha256={'A' * 43},1\n")
    assert [one.path for one in run(world, diff(path="src/demo/m.py")).files] == ["demo/m.py"]


def test_a_diff_of_a_file_in_a_namespace_package_is_imported(tmp_path):
    world = World(tmp_path, {"demo/one/m.py": M})
    world.install(wheel(tmp_path / "wheels", "other", files={"demo/two/m.py": N}))
    outcome = run(world, diff(path="a/src/demo/one/m.py"))
    assert [one.path for one in outcome.files] == ["demo/one/m.py"]


def test_a_file_that_fits_as_it_is_goes_before_one_that_fits_with_fuzz(world):
    copy = world.path / "demo" / "copy" / "m.py"
    shutil.copytree(world.path / "demo", copy.parent)
    copy.write_text(M.replace("strict=True", "strict"))
    with (world.path / "demo-1.0.dist-info" / "RECORD").open("a") as record:
        record.write(f"demo/copy/m.py,sha256={'A' * 43},1\n")
    outcome = run(world, diff(path="m.py"))
    assert [one.path for one in outcome.files] == ["demo/m.py"]


def test_where_several_files_fit_none_is_taken(world):
    shutil.copytree(world.path / "demo", world.path / "demo" / "copy")
    with (world.path / "demo-1.0.dist-info" / "RECORD").open("a") as record:
        record.write(f"demo/copy/m.py,sha256={'A' * 43},1\n")
    assert refused(world, diff(path="m.py")) == (
        [("m.py", "it applies to several installed files: demo/copy/m.py and demo/m.py", "write its whole path into the diff")], []
    )  # fmt: skip
    assert [one.path for one in run(world, diff(path="demo/m.py")).files] == ["demo/m.py"]
    ((_, problem, _),), _ = refused(world, diff("Z = 1\n", "Z = 2\n", "m.py"), name="other")
    assert problem == "it applies neither to demo/copy/m.py, demo/m.py, demo/twin/m.py nor other/m.py"


def test_a_file_beside_a_compiled_module_is_not_taken(world):
    (world.path / "demo" / "m.abi3.so").write_bytes(b"")
    assert [problem for _, problem, _ in refused(world, diff())[0]] == ["demo/m.py is not what is imported: the compiled m.abi3.so beside it comes first"]
    problems, _ = refused(world, diff("import a\nimport b\n\n", "import a\nimport c\n\n", "a/Lib/json/decoder.py").replace("Lib/", ""))
    assert problems == [("json/decoder.py", "json belongs to the standard library, which is not patched", "")]


def test_a_name_alone_is_not_enough_for_a_file_of_a_few_lines(world):
    outcome = run(world, diff("Y = 1\n", "Y = 2\n", "a/lib/m.py"))
    assert not outcome.ok and left_out(outcome) == [("lib/m.py", "no installed file")]
    assert run(world, diff("Y = 1\n", "Y = 2\n", "a/twin/m.py")).ok


# what is not code of an installed file --------------------------------------------------------------------------------


def test_what_the_distribution_does_not_ship_is_left_out_and_named(world):
    (world.path / "demo/README.md").write_text("x\n")
    text = (
        diff()
        + diff("x\n", "y\n", "a/demo/m.pyi")
        + diff("x\n", "y\n", "a/demo/README.md")
        + diff("x\n", "y\n", "a/docs/conf.py")
        + diff("x\n", "y\n", "a/tests/test_m.py")
        + diff("x\n", "y\n", "a/test/units/json.py")
        + diff("x\n", "y\n", "a/python/test/unit/runner.py")
        + diff("x\n", "y\n", "a/CHANGES.md")
        + diff("int x;\n", "long x;\n", "a/demo/m.c")
        + NEW.format("test/test_new.py")
        + NEW.format("changes/123.bugfix.rst")
        + NEW.format("demo/sub/test_new.py")
        + "diff --git a/demo/n.py b/demo/n.py\nold mode 100644\nnew mode 100755\n"
        + "diff --git a/demo/sub/n.py b/demo/sub/n.py\nold mode 100644\nnew mode 100755\n"
        + "--- a/demo/sub/n.py\n+++ b/demo/sub/n.py\n@@ -5 +5 @@ def value():\n-    return VALUE\n+    return -VALUE\n"
    )
    outcome = run(world, text)
    assert outcome.ok and [one.path for one in outcome.files] == ["demo/m.py", "demo/sub/n.py"]
    assert left_out(outcome) == [
        ("demo/m.pyi", "no Python file"),
        ("demo/README.md", "no Python file"),
        ("docs/conf.py", "no installed file"),
        ("tests/test_m.py", "no installed file"),
        ("test/units/json.py", "no installed file"),
        ("python/test/unit/runner.py", "no installed file"),
        ("CHANGES.md", "no Python file"),
        ("demo/m.c", "no Python file"),
        ("test/test_new.py", "a new file"),
        ("changes/123.bugfix.rst", "a new file"),
        ("demo/sub/test_new.py", "a new file"),
        ("demo/n.py", "a change of mode from 100644 to 100755"),
        ("demo/sub/n.py", "a change of mode from 100644 to 100755"),
    ]


def test_code_in_no_hunk_stops_the_import_unless_the_user_leaves_that_part_out(world):
    parts = {
        "demo/m.py:8": diff(after=EDIT.replace("    check(model)", "    check(unknown)")),
        "demo/gone.py": diff("x\n", "y\n", "a/demo/gone.py"),
        "demo/k.py": "diff --git a/demo/n.py b/demo/k.py\nsimilarity index 100%\ncopy from demo/n.py\ncopy to demo/k.py\n",
    }
    text = diff("x\n", "y\n", "a/tests/test_m.py") + "".join(parts.values())
    problems, missing = refused(world, text)
    assert problems == [] and missing == [
        ("demo/gone.py", "no installed file"),
        ("demo/k.py", "a copy of demo/n.py"),
        ("demo/m.py", "the new code reads names that nothing binds there: `unknown` (line 8)"),
    ]
    (world.cwd / "fix.patch").write_text(text)
    ended = done(world("import", "fix.patch", "--name", "mine"), 1)
    assert "" not in ended.out[ended.out.index("not imported") :].splitlines()
    options = []
    for name in parts:
        assert ended.err.count(f"--leave-out {name}") == 1
        options += ["--leave-out", name]
    done(world("import", "fix.patch", "--name", "mine", *options[2:]), 1)
    ended = done(world("import", "fix.patch", "--name", "mine", *options))
    assert [line.split()[:3] for line in ended.out.splitlines() if line.startswith("left out")]
    ended = done(world("import", "fix.patch", "--name", "other", "--leave-out", "demo/m.py:1"), 2)
    assert "--leave-out demo/m.py:1: no such part is left out" in ended.err and "demo/m.py:8" in ended.err


def test_a_new_file_is_added_by_the_patchset_and_a_stub_is_python(world):
    (world.path / "demo/m.pyi").write_text("def load(path: str) -> None: ...\n")
    text = NEW.format("demo/new.py").replace("+x = 1", "+from demo.m import load")
    stub = diff("def load(path: str) -> None: ...\n", "def load(path: bytes) -> None: ...\n", "a/demo/m.pyi")
    (world.cwd / "fix.patch").write_text(diff() + text + stub)
    quiet = done(world("import", "fix.patch", "--name", "quiet", "-q"))
    assert (quiet.out, quiet.err) == ("", "")
    ended = done(world("import", "fix.patch", "--name", "mine"))
    assert "left out" not in ended.out and ["changes", "demo/new.py", "+1", "-0"] in [line.split() for line in ended.out.splitlines()]
    spatch = (world.cwd / "patchsets/mine/fix.spatch").read_text()
    assert spatch.endswith("\n+++ demo/new.py\n+from demo.m import load\n") and "--- demo/m.pyi\n@@ load @@\n" in spatch
    before = world.tree()
    done(world("apply", "mine"))
    assert world.text("demo/new.py") == "from demo.m import load\n" and "bytes" in world.text("demo/m.pyi")
    problems, _ = refused(world, text, name="again")
    assert problems == [("demo/new.py", "a file of that name is there already", "")]
    done(world("restore"))
    assert world.tree() == before
    crlf = text.replace("load\n", "load\r\n")
    assert refused(world, crlf, name="crlf")[1] == [("demo/new.py", "a file is added as lines of UTF-8 that end in LF, one at least")]
    assert run(world, crlf, name="crlf").missing[0].name == "demo/new.py", "--leave-out names all of it"


def test_a_new_file_without_a_final_newline_gets_one_and_that_is_reported(world):
    text = "--- /dev/null\n+++ b/demo/new.py\n@@ -0,0 +1,2 @@\n+A = 1\n+B = 2\n\\ No newline at end of file\n"
    (world.cwd / "new.patch").write_text(text)
    ended = done(world("import", "new.patch", "--name", "mine"))
    assert "demo/new.py: it is not byte for byte as with the diff: its last line ends in LF" in ended.err
    done(world("apply", "mine"))
    assert world.text("demo/new.py") == "A = 1\nB = 2\n"


def test_an_empty_new_file_is_imported_as_an_empty_line_and_a_binary_one_is_not(world):
    new = "diff --git a/{0} b/{0}\nnew file mode 100644\nindex 0..1\n"
    run(world, diff() + new.format("demo/more/__init__.py"))
    assert (world.cwd / "patchsets/mine/fix.spatch").read_text().endswith("\n+++ demo/more/__init__.py\n+\n")
    binary = "Binary files /dev/null and b/demo/b.so differ\n"
    assert refused(world, diff() + new.format("demo/b.so") + binary, name="again")[1] == [("demo/b.so", "a new file")]


def test_what_does_not_fit_is_reported_before_what_is_left_out(world):
    ((_, problem, _),), missing = refused(world, diff("VALUE = 2\n", "VALUE = 3\n", "a/demo/n.py"), leave_out=("demo/m.py:8",))
    assert "no line `VALUE = 2`" in problem and missing == []


def test_comments_alone_are_no_patchset_and_stop_none(world):
    text = diff(M, M.replace("    if strict:", "    if strict:  # the default"))
    outcome = run(world, text)
    ((path, why),) = left_out(outcome)
    assert not outcome.ok and path == "demo/m.py" and why.startswith("nothing but comments and layout")
    assert run(world, text + diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py")).ok


def test_blanks_of_strings_alone_are_no_code_and_stop_none(world):
    before, after = 'TEXT = """One.\n\n    Two.\n"""\nVALUE = 1\n', 'TEXT = """One.\n    \n    Two.\n"""\nVALUE = 2\n'
    world = another(world, {**FILES, "demo/n.py": before})
    outcome = run(world, diff(before, after, "a/demo/n.py"))
    ((path, why),) = left_out(outcome)
    assert outcome.ok and path == "demo/n.py" and "not compared" in why
    assert not run(world, diff(before, after.replace("VALUE = 2", "VALUE = 1"), "a/demo/n.py"), name="blank").ok


@pytest.mark.parametrize("order", [1, -1])
def test_of_the_trees_for_two_pythons_the_installed_one_counts(world, order):
    installed = diff(path="a/python3/demo/m.py")
    other = diff(M.replace("strict", "strictly"), EDIT.replace("strict", "strictly"), "a/python2/demo/m.py")
    outcome = run(world, "".join([other, installed][::order]))
    assert outcome.ok and left_out(outcome) == [("python2/demo/m.py", "the installed file is python3/demo/m.py")]
    same = run(world, "".join([diff(path="a/python2/demo/m.py"), installed][::order]), name="same")
    assert same.ok and len(left_out(same)) == 1


def test_a_method_that_the_diff_defines_twice_is_imported(world):
    first, second = "def first(a):\n    return a\n\n\n", "\n\ndef first(a):\n    return [a]\n"
    outcome = run(world, diff(M, M.replace("def load", first + "def load") + second))
    assert outcome.ok and left_out(outcome) == []


@pytest.fixture
def copied(world):
    """A world whose module imports `deepcopy`, and a diff whose new code reads it in another function."""
    before = "from copy import deepcopy\n\n\ndef one(a):\n    return a.first\n\n\ndef two(a):\n    return deepcopy(a)\n"
    return another(world, {**FILES, "demo/n.py": before}), diff(before, before.replace("a.first", "deepcopy(a.first)"), "a/demo/n.py")


def test_an_import_that_the_new_code_reads_is_carried_along(copied):
    world, text = copied
    (world.cwd / "fix.patch").write_text(text)
    done(world("import", "fix.patch", "--name", "mine"))
    done(world("apply", "mine"))
    assert world.text("demo/n.py").count("import deepcopy") == 1
    done(world("restore", "mine"))
    lacking = "def one(a):\n    return a.first\n"
    target = world.cwd / "older"
    with zipfile.ZipFile(str(wheel(world.cwd / "wheels", version="0.9", files={**FILES, "demo/n.py": lacking}))) as archive:
        archive.extractall(str(target))
    done(world("import", "fix.patch", "--name", "also", "--also", target))
    done(sitepatch("apply", "also", "--target", target, cwd=world.cwd))
    assert (target / "demo/n.py").read_text() == "from copy import deepcopy\n" + lacking.replace("a.first", "deepcopy(a.first)")


CARRIED = "@@ <module> @@ when-present\n+import os\n+from copy import deepcopy\n ...\n"


@pytest.mark.parametrize(
    ("around", "code"),
    [
        ("class A:\n    def two(self):\n        return deepcopy(self), os\n\n", "    def one(self):\n        return self.first\n"),
        ("def two(a):\n    return deepcopy(a), os\n\n\nclass A:\n", "    first = 1\n"),
        ("def two(a):\n    return deepcopy(a), os\n\n\n", "first = 1\n"),
    ],
)
def test_what_other_functions_read_is_carried_along(world, around, code):
    before = f"import os\nfrom copy import deepcopy\n\n\n{around}{code}"
    after = before.replace("self.first", "deepcopy(self.first), os").replace("first = 1", "first = deepcopy(os)")
    world = another(world, {**FILES, "demo/n.py": before})
    tried = world.cwd / "tried"
    (tried / "demo").mkdir(parents=True)
    (tried / "demo/n.py").write_text(before + "\n\ndef three():\n    pass\n")
    for name, also in (("mine", []), ("also", ["--also", tried])):
        (world.cwd / "fix.patch").write_text(diff(before, after, "a/demo/n.py"))
        done(world("import", "fix.patch", "--name", name, *also))
        (spatch,) = (world.cwd / "patchsets" / name).glob("*.spatch")
        assert CARRIED in spatch.read_text()


def test_an_unbound_name_stops_the_import_unless_the_user_allows_it(world):
    text = diff(M, M.replace("return os.path.basename(path)", "return shorten(path)"))
    (world.cwd / "fix.patch").write_text(text)
    ended = world("import", "fix.patch", "--name", "mine")
    assert ended.code == 1 and "`shorten`" in ended.out and "hint: --names shorten lets it pass\n" in ended.out
    done(world("import", "fix.patch", "--name", "mine", "--names", "shorten"))
    assert 'names = ["shorten"]' in (world.cwd / "patchsets/mine/patchset.toml").read_text()
    done(world("apply", "mine"))
    assert "return shorten(path)" in world.text()
    again = world("import", "fix.patch", "--name", "mine", "--names", "other")
    assert again.code == 2 and "names" in again.err


def test_a_name_that_loses_what_binds_it_is_let_pass_and_a_part_is_named_once(world):
    bound, others = "    os = sys\n", "elif sys.path:\n    os = sys.path\n"
    before = f"import sys\n\nif sys.version:\n    import re\n{bound}{others}home = os.sep\n"
    after = before.replace(bound, "").replace(others, "")
    world = another(world, {**FILES, "demo/n.py": before})
    (world.cwd / "fix.patch").write_text(diff(before, after, "a/demo/n.py"))
    ended = world("import", "fix.patch", "--name", "mine")
    assert ended.code == 1 and "hint: --names os lets it pass\n" in ended.out
    assert ended.out.count("nothing binds it there any more") == 1
    done(world("import", "fix.patch", "--name", "mine", "--names", "os"))


def test_an_import_that_goes_although_its_name_is_read_stays_and_the_other_hunks_are_as_they_would_be(world):
    before = f"import os\n\n{N}\n\ndef home():\n    return os.sep\n"
    after = before.replace("import os\n\n", "").replace("def value():\n", "def value():\n    print(1)\n")
    world = another(world, {**FILES, "demo/n.py": before})
    (world.cwd / "fix.patch").write_text(diff(before, after, "a/demo/n.py"))
    ended = done(world("import", "fix.patch", "--name", "mine"))
    assert "left out  demo/n.py:1  `os` is read in line" in ended.out, ended
    assert "@@ value @@\n def value():\n+    print(1)\n     ...\n" in ended.out


def test_an_import_that_moves_is_refused_also_where_its_name_may_be_unbound(world):
    """Its place may be what the diff is for; that the module has it already does not make it right to delete it."""
    moved, below = "from os import sep\n", "import re\nimport sys\n"
    before = f"{moved}{below}\n\ndef home(one):\n    return re.sub(sys.path, sep, one)\n"
    world = another(world, {**FILES, "demo/n.py": before})
    (world.cwd / "fix.patch").write_text(diff(before, before.replace(moved + below, below + moved), "a/demo/n.py"))
    for names in ((), ("--names", "sep")):
        ended = world("import", "fix.patch", "--name", "mine", *names)
        assert ended.code == 1 and "not imported  demo/n.py:3  it is upstream" in ended.out, ended


def test_an_import_that_is_renamed_says_how_the_old_name_is_let_pass(world):
    before = "import other\n\n\ndef home():\n    return other.one\n"
    world = another(world, {**FILES, "demo/n.py": before})
    (world.cwd / "fix.patch").write_text(diff(before, before.replace("import other", "import a.other"), "a/demo/n.py"))
    ended = world("import", "fix.patch", "--name", "mine")
    assert ended.code == 1 and "hint: --names other lets it pass\n" in ended.out
    done(world("import", "fix.patch", "--name", "mine", "--names", "other"))


def test_a_name_that_an_import_loses_although_it_is_read_stays_and_stops_nothing(world):
    before = "from os import (\n    path,\n    sep,\n)\n\n\ndef home():\n    print(path)\n    return sep\n"
    after = before.replace("    sep,\n", "").replace("    print(path)\n", "    print(path, 1)\n")
    world = another(world, {**FILES, "demo/n.py": before})
    (world.cwd / "fix.patch").write_text(diff(before, after, "a/demo/n.py"))
    ended = done(world("import", "fix.patch", "--name", "mine"))
    assert "`sep` is read in line" in ended.out and "left out  demo/n.py:" in ended.out, ended
    assert "@@ home @@\n-print(path)\n+print(path, 1)\n" in ended.out
    done(world("apply", "mine"))
    assert (world.path / "demo/n.py").read_text() == before.replace("print(path)", "print(path, 1)")


def test_a_series_says_how_an_unbound_name_is_let_pass(world):
    unbound, fine = M.replace("os.path.basename(path)", "shorten(path)"), M.replace('"empty"', '"none"')
    for number, after in enumerate((fine, unbound), 1):
        (world.cwd / f"{number}.patch").write_text(diff(M, after))
    ended = world("import", "1.patch", "2.patch", "--name", "mine")
    assert ended.code == 1 and "hint: --names shorten lets it pass\n" in ended.out
    again = world("import", "1.patch", "2.patch", "--name", "mine")
    path = "patchsets/mine/patchset.toml"
    assert f'hint: `names = ["shorten"]` of its variant in {path} lets it pass\n' in again.out


# what does not fit ----------------------------------------------------------------------------------------------------
def test_everything_that_does_not_fit_is_reported_at_once(world):
    text = diff(EDIT, M) + diff("VALUE = 2\n", "VALUE = 3\n", "a/demo/n.py") + diff(OTHER.replace("None", ""), M, "a/gone/m.py")
    problems, _ = refused(world, text)
    assert problems == [
        ("demo/m.py", "the file has all of its changes already: the diff is applied, or reversed", "one made by hand becomes a patchset with: sitepatch capture"),
        ("demo/n.py", "hunk 1 (line 13 of the diff): the file has no line `VALUE = 2`", ""),
    ]
    assert left_out(run(world, text)) == [("gone/m.py", "no installed file")]


def test_a_fuzz_of_two_lines_is_the_default_and_is_reported(world):
    text = diff().replace(" def load(path, strict=True):\n", " def load(path):\n")
    ((_, problem, _),) = refused(world, text, fuzz=1)[0]
    assert problem == "hunk 1 (line 3 of the diff): its context differs: it is found at line 3 with --fuzz 2"
    outcome = run(world, text)
    assert outcome.ok and "demo/m.py: hunk 1: found at line 3, with fuzz 2" in outcome.notes


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (M.replace('"empty"', '"café"').encode(), "demo/m.py", "conflicting encodings: line 8 of the diff is not utf-8, as the file is: convert the diff"),
        (f"# coding: latin-1\n{M}".encode(), "demo/m.py", "it changes the encoding that the file declares, from utf-8 to iso-8859-1"),
    ],
)
def test_conflicting_encodings_are_reported(world, text, path, expected):
    of_text = diff(M, text.decode()).encode("latin-1" if b"caf" in text else "utf-8")
    ((_, problem, _),), _ = refused(world, of_text)
    assert problem == expected


def test_what_fits_another_release_is_imported_there(world):
    older = M.replace("    if strict:\n", "    if strict and path:\n")
    older_edit = older.replace("    if strict and path:\n", '    print("loaded", model)\n    if strict and path:\n')
    (world.cwd / "fix.patch").write_text(diff(older, older_edit))
    ended = done(world("import", "fix.patch", "--name", "mine"), 1)
    again = "sitepatch import fix.patch --name mine --target demo-RELEASE --also 1.0"
    assert f"pip install --no-deps --target demo-RELEASE demo==RELEASE && {again}" in ended.err
    another(world, {"demo/__init__.py": "", "demo/m.py": older})
    words = ("--also", world.path, "--target", world.cwd / "other/site")
    done(sitepatch("import", "fix.patch", "--name", "mine", *words, cwd=world.cwd, SITEPATCH_CACHE=os.devnull))
    done(world("apply", "mine"))
    assert 'print("loaded", model)' in world.text()


def test_a_release_without_the_test_that_a_patch_changes_takes_the_rest(tmp_path):
    test = "def test_load():\n    check(load(1))\n"
    world = World(tmp_path, {**LAYOUT, "demo/tests/__init__.py": "", "demo/tests/test_m.py": test})
    changed = diff(test, test.replace("load(1)", "load(1, strict=False)"), "a/demo/tests/test_m.py")
    (world.cwd / "fix.patch").write_text(diff() + changed)
    (world.cwd / "test.patch").write_text(changed)
    done(world("import", "fix.patch", "--name", "mine"))
    done(world("import", "test.patch", "--name", "theirs"))
    done(world("apply", "mine", "--dry-run"))
    another(world, {"demo/__init__.py": "", "demo/m.py": M, "demo/tests/test_m.py": test.replace("_load", "_other").replace("load(1)", "1")})
    other = ("--target", world.cwd / "other/site", "--force")
    done(sitepatch("apply", "theirs", *other, cwd=world.cwd), 1)  # the diff is about nothing else
    done(sitepatch("apply", "mine", *other, cwd=world.cwd))
    assert (world.cwd / "other/site/demo/m.py").read_text() == EDIT


def test_a_patch_that_renames_a_test_and_changes_its_code_is_imported(tmp_path):
    test = "from demo.m import load\n\n\ndef test_load():\n    assert load(1)\n"
    renamed = test.replace("test_load", "test_read").replace("load(1)", "load(1, strict=False)")
    world = World(tmp_path, {**LAYOUT, "demo/tests/__init__.py": "", "demo/tests/test_m.py": test})
    (world.cwd / "fix.patch").write_text(diff() + diff(test, renamed, "a/demo/tests/test_m.py"))
    done(world("import", "fix.patch", "--name", "mine"))
    done(world("apply", "mine"))
    assert world.text("demo/tests/test_m.py") == renamed
    assert world.text() == EDIT


def test_nobody_is_advised_to_install_an_installed_package(world):
    (world.cwd / "fix.patch").write_text("diff --git a/demo/n.py b/demo/n.py\nold mode 100644\nnew mode 100755\n")
    ended = done(world("import", "fix.patch", "--name", "mine"), 1)
    assert "left out  demo/n.py  a change of mode" in ended.out and "install the package" not in ended.out


def test_an_edit_by_hand_is_left_to_capture(world):
    world.edit(OTHER)
    ((path, problem, hint),) = refused(world, diff())[0]
    assert path == "demo/m.py" and "somebody edited it" in problem and "put it back first" in hint and "keep it" not in hint
    world.edit(EDIT)
    ((_, problem, hint),) = refused(world, diff())[0]
    assert "has all of its changes already" in problem and "sitepatch capture" in hint


@pytest.mark.once
def test_a_patched_file_counts_as_upstream_shipped_it(world):
    run(world, diff(), name="first")
    done(world("apply", "first"))
    outcome = run(world, diff(M, OTHER), name="second")
    assert outcome.ok and outcome.files[0].added == 1
    done(world("apply", "second"))
    assert world.text() == EDIT.replace('"empty"', 'f"empty: {model!r}"')


def test_hunks_that_do_not_make_the_code_of_the_diff_are_never_written(world, monkeypatch):
    wrong = Draft((DraftFile(("demo/m.py",), (DraftHunk("@@ load @@\n-build(path)\n+build(None)\n", 5, "made up"),)),))
    # no known edit gets wrong hunks, so they are put in place of the right ones
    monkeypatch.setattr(series, "generalise", lambda *words, **more: wrong)
    with pytest.raises(SitepatchError, match=r"demo/m\.py: the hunks do not make the edited file: other code comes of them"):
        run(world, diff())
    located = locate(discover(None, str(world.path)), "demo")
    files = functools.partial(patchset_files, Head("mine", "For a test"), wrong)
    release = Release(located, {"demo/m.py": M.encode()})
    with_its_code = {"demo/m.py": M.replace("build(path)\n    if", "build(None)\n    if").encode()}
    with_other_code = {"demo/m.py": EDIT.encode()}
    releases = [(release, with_its_code), (release, with_other_code)]
    good, bad = prove(world.cwd / "mine", files, [located], home_diffs=[], releases=releases).releases
    assert (good.state, good.changes.proven, bad.changes.proven) == ("applicable", True, False)
    assert (bad.state, bad.problem) == ("conflict", "demo/m.py: other code comes of it than of the diff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "fix.patch: it is empty"),
        ("--- demo/m.py\n@@ load @@\n-x\n+y\n", "fix.patch: found no unified diff in it"),
        (diff().replace("@@ -3,6", "@@ -3,9"), "fix.patch:3: the hunk is cut short: it ends in line 10"),
    ],
)
def test_a_text_that_is_no_diff_is_refused(world, text, message):
    with pytest.raises(UsageError) as caught:
        run(world, text)
    assert caught.value.message == message


def test_the_name_the_folder_and_the_releases_are_checked_first(world):
    for more in ({"name": "No Name"}, {"name": "-x"}, {"output": str(world.path / "demo-1.0.dist-info" / "RECORD")}, {"also": ("no such", "neither")}):
        with pytest.raises(UsageError):
            run(world, "no diff either", **more)


@pytest.mark.parametrize("old", ["demo/m.orig.py", "old/m.py", "demo/m.py.orig", "demo/gone.py"])
def test_of_the_two_paths_of_a_file_the_installed_one_counts(world, old):
    outcome = run(world, diff().replace("--- a/demo/m.py", f"--- {old}").replace("+++ b/demo/m.py", "+++ demo/m.py"))
    assert outcome.ok, outcome.problems
    assert (world.cwd / "patchsets/mine/fix.spatch").read_text().startswith("--- demo/m.py\n")


@pytest.mark.parametrize("name", ["new.py", "empty.py"])
def test_a_file_without_lines_is_new_or_an_empty_one_that_is_there(tmp_path, name):
    world = World(tmp_path, {"demo/__init__.py": "", "demo/empty.py": ""})
    outcome = run(world, f"--- demo/{name}.orig\n+++ demo/{name}\n@@ -0,0 +1,2 @@\n+A = 1\n+B = A\n")
    assert outcome.ok
    done(world("apply", "mine"))
    assert (world.path / "demo" / name).read_text() == "A = 1\nB = A\n"
    done(world("restore"))
    assert (world.path / "demo" / name).exists() == (name == "empty.py")


@pytest.mark.parametrize("name", ["new.py", "news/9647.bugfix", "empty.py"])
def test_a_file_without_lines_is_that_in_further_releases_too(tmp_path, name):
    files = {"demo/__init__.py": "", "demo/empty.py": "", "demo/m.py": M, "demo/news/1.bugfix": "One.\n"}
    world = World(tmp_path, files)
    folder = another(world, {**files, "demo/m.py": M.replace("path", "source")}).path
    text = f"--- demo/{name}\n+++ demo/{name}\n@@ -0,0 +1,2 @@\n+A = 1\n+B = A\n"
    outcome = run(world, diff() + text, also=(str(folder),))
    assert outcome.ok
    assert [release.state for release in outcome.releases] == ["applicable"]


@pytest.mark.parametrize("twice", [False, True])
def test_the_only_other_file_with_the_lines_is_named_and_taken_on_request(tmp_path, twice):
    world = World(tmp_path, {"demo/__init__.py": "", "demo/core.py": M, **({"demo/old.py": M} if twice else {})})
    (world.cwd / "fix.patch").write_text(diff())
    spatch, words = world.cwd / "patchsets/mine/fix.spatch", ("import", "fix.patch", "--name", "mine")
    ended = done(world(*words), 1)
    assert ("of its package demo/core.py alone has the lines" in ended.out) != twice
    assert ("write its path into the diff: demo/core.py" in ended.err) != twice
    for answer, good in (("n", False), ("y", not twice)):
        code, shown = world.asked(*words, answer=answer)
        assert (code, spatch.is_file(), "is that the file?" in shown) == (int(not good), good, not twice), shown
    assert twice or spatch.read_text().count("--- demo/core.py\n") == 1


# further releases -----------------------------------------------------------------------------------------------------
@pytest.fixture
def index():
    one = Index()
    yield one
    one.close()


def test_further_releases_are_tried_and_end_the_range(world, index, monkeypatch):
    texts = {"0.9": M.replace("path", "source"), "1.1": M.replace("    if strict:\n", "    if strict is True:\n"), "1.2": EDIT, "1.3": GONE}
    texts["1.1.5"] = texts["1.3"]
    for version, text in texts.items():
        index.add("demo", version, {**FILES, "demo/m.py": text})
    for key, value in index.variables(world.cwd / "cache").items():
        monkeypatch.setenv(key, value)
    folder = world.cwd / "local"
    shutil.copytree(another(world, LAYOUT).path, folder)
    os.rename(folder / "demo-1.0.dist-info", folder / "demo-1.0.post1.dist-info")
    (folder / "demo-1.0.post1.dist-info" / "METADATA").write_text("Name: demo\nVersion: 1.0.post1\n")
    record = folder / "demo-1.0.post1.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("demo-1.0.", "demo-1.0.post1."))
    outcome = run(world, diff(), also=("0.9", "demo==1.1", "1.1.5", "1.2", "1.3", str(folder)))
    assert {one.version: one.state for one in outcome.releases} == {
        "0.9": "applicable", "1.0.post1": "applicable", "1.1": "applicable", "1.1.5": "not found", "1.2": "upstream", "1.3": "not found",
    }  # fmt: skip
    assert [variant.versions for variant in outcome.patchset.variants] == [">=0.9,<=1.2,!=1.1.5"]
    assert [one.version for one in outcome.releases if one.changes.proven] == ["1.0.post1", "1.2"]  # the others differ beside the change
    assert b"+    print(" in {one.version: one for one in outcome.releases}["0.9"].changes.unlike[0].text
    absent = "demo 7: the index has no such release for macOS or Linux; the newest is 1.3"
    for spec, problem in (("7", absent), ("other==1.1", "--also other==1.1: no file of it is changed")):
        with pytest.raises(SitepatchError, match=problem):
            run(world, diff(), name="absent", also=("0.9", spec))
        assert not (world.cwd / "patchsets/absent").exists()
