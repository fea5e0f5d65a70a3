"""Files that a patchset adds, and files that are not Python: applied, shown, checked, exported and restored like any other."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from tests.author.world import World, editor
from tests.command import done
from tests.hooks import Place
from tests.overlays import Overlay, patchset

HELP = "+++ demo/_help.py\n+import os\n+\n+\n+def answer():\n+    return os.path.basename('a/42')\n"
TEXT = HELP[HELP.index("\n") + 1 :].replace("\n+", "\n")[1:]
USE = "--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+from demo._help import answer\n+VALUE = answer()\n"
CARDS = "cards:\n  - name: gcu   \n    memory: 16\n  - name: musa\n    memory: 48\n"
MORE = "--- demo/cards.yaml\n@@ <text> @@\n   - name: gcu\n-    memory: 16\n+    memory: 32\n"


class Other(World):
    """The package with a patchset that adds a file and reads it."""

    def __init__(self, folder, text=HELP + "\n" + USE, files=()):
        super().__init__(folder, {"demo/__init__.py": "", "demo/n.py": "VALUE = 1\n", **dict(files)})
        patchset(folder, text, "more")
        self.before = self.tree()

    def __call__(self, *words, **more):
        return super().__call__(*words, "--patch-dir", self.cwd / "mine", **more)

    def value(self):
        words = [sys.executable, "-B", "-c", "import demo.n; print(demo.n.VALUE)"]
        return (
            subprocess.run(words, env={"PYTHONPATH": str(self.path)}, stdout=subprocess.PIPE, check=True)
            .stdout.decode()
            .strip()
        )


@pytest.fixture
def other(tmp_path):
    return Other(tmp_path)


def receipts(other):
    return [json.loads(path.read_text()) for path in sorted((other.path / ".sitepatch/receipts").glob("*.json"))]


def edited_copies(other):
    """The texts of edited files that the store keeps."""
    return [path.read_text() for path in sorted((other.path / ".sitepatch/edited").glob("*"))]


# files that are added -------------------------------------------------------------------------------------------------
def test_a_file_is_added_shown_and_removed_again(other):
    done(other("apply", "more"))
    assert other.text("demo/_help.py") == TEXT and other.value() == "42"
    assert (other.path / "demo/_help.py").stat().st_mode & 0o777 == 0o644
    assert {row["path"]: row["origin"] for row in receipts(other)} == {"demo/_help.py": "added", "demo/n.py": "recorded"}
    assert "nothing to do" in done(other("apply", "more")).out
    assert "--- /dev/null\n+++ b/demo/_help.py\n" in done(other("diff")).out
    done(other("status", "--check"))
    assert "demo/_help.py  removed: a patchset had added it\n" in done(other("restore")).out
    assert other.tree() == other.before


def test_an_added_file_is_imported_before_it_is_written(other):
    folder = other.cwd / "mine/more"
    (folder / "patchset.toml").write_text((folder / "patchset.toml").read_text() + '[verify]\nimports = ["demo.n"]\n')
    python = ("--python", sys.executable)
    done(other("apply", "more", *python))
    assert other.value() == "42"
    done(other("restore"))
    (folder / "p.spatch").write_text((folder / "p.spatch").read_text().replace("import os", "import nothing_like_it"))
    ended = other("apply", "more", *python)
    assert ended.code == 1 and "nothing_like_it" in ended.out + ended.err and other.tree() == other.before


@pytest.mark.parametrize("code", ["def answer(:", "return 42", "x = ("])
def test_an_added_file_that_is_not_python_does_not_fit_whatever_is_verified(tmp_path, code):
    other = Other(tmp_path, HELP.replace("def answer():", code) if code[-1] == ":" else f"+++ demo/_help.py\n+{code}\n")
    done(other("check", "more"), 1)
    ended = done(other("apply", "more", "--verify", "none"), 1)
    assert "conflict" in ended.out and "the result does not " in ended.out and other.tree() == other.before


def test_an_added_file_may_have_the_syntax_of_a_newer_python(tmp_path):
    other = Other(tmp_path, "+++ demo/_help.py\n+type Answer[T] = list[T]\n")
    done(other("apply", "more", "--verify", "none"))
    assert other.text("demo/_help.py") == "type Answer[T] = list[T]\n"


def test_an_existing_file_is_refused_and_one_with_the_same_text_is_upstream(tmp_path):
    other = Other(tmp_path, files={"demo/_help.py": "x = 1\n"})
    for command in ("apply", "export"):
        ended = other(command, "more")
        assert ended.code == 1 and "a file of that name stands there" in ended.out + ended.err and other.tree() == other.before
    (other.path / "demo/_help.py").write_text("")
    assert other("apply", "more").code == 1
    (other.path / "demo/_help.py").write_text(TEXT)
    (other.path / "demo/n.py").write_text("from demo._help import answer\nVALUE = answer()\n")
    assert "upstream" in done(other("apply", "more", "--force")).out


def test_an_edited_added_file_is_not_overwritten_and_a_missing_one_is_put_back(other):
    done(other("apply", "more"))
    (other.path / "demo/_help.py").write_text(TEXT.replace("42", "43"))
    ended = other("restore")
    assert ended.code == 1 and other.text("demo/_help.py") == TEXT.replace("42", "43")
    done(other("apply", "more", "--force"))
    assert other.text("demo/_help.py") == TEXT and edited_copies(other) == [TEXT.replace("42", "43")]
    (other.path / "demo/_help.py").unlink()
    assert other("status", "--check").code == 1
    done(other("apply", "more"))
    assert other.text("demo/_help.py") == TEXT
    done(other("restore"))
    assert not (other.path / "demo/_help.py").exists()


def test_a_new_version_of_the_patchset_changes_or_removes_it(other):
    done(other("apply", "more"))
    spatch = other.cwd / "mine/more/p.spatch"
    spatch.write_text(spatch.read_text().replace("42", "77"))
    done(other("apply", "more"))
    assert other.value() == "77"
    spatch.write_text(USE.replace("from demo._help import answer\n+VALUE = answer()", "VALUE = 5"))
    done(other("apply", "more"))
    assert other.value() == "5" and not (other.path / "demo/_help.py").exists()
    assert edited_copies(other) == [], "nobody has edited it"


def test_a_reinstall_leaves_an_added_file_and_the_next_apply_takes_it_over(other):
    done(other("apply", "more"))
    other.install(other.wheel)
    assert other.value() == "1" and other("status", "--check").code == 1
    done(other("apply", "more"))
    assert other.value() == "42"
    other.install(other.wheel)
    shutil.rmtree(other.path / ".sitepatch")  # and with it all knowledge of the file
    ended = other("apply", "more")
    assert ended.code == 1 and "it was left behind" in ended.out and "upstream did it" not in ended.out, ended


NEW_FOLDER = HELP.replace("_help", "new/deep/_help") + "\n" + USE.replace("_help", "new.deep._help")


@pytest.mark.parametrize("verify", ["import", "none"])
def test_a_missing_directory_is_made_and_removed_again(tmp_path, verify):
    other = Other(tmp_path, NEW_FOLDER)
    words = ("apply", "more", "--python", sys.executable, "--verify", verify)
    folder = other.cwd / "mine/more"
    (folder / "patchset.toml").write_text((folder / "patchset.toml").read_text() + '[verify]\nimports = ["demo.n"]\n')
    done(other(*words))
    assert other.text("demo/new/deep/_help.py") == TEXT and other.value() == "42"
    assert (other.path / "demo/new").stat().st_mode & 0o777 == 0o755
    assert {row["path"]: row.get("folder") for row in receipts(other)} == {"demo/n.py": "", "demo/new/deep/_help.py": "demo/new"}
    assert "nothing to do" in done(other(*words)).out
    done(other("status", "--check"))
    subprocess.run([sys.executable, "-c", "import demo.n"], env={"PYTHONPATH": str(other.path)}, check=True)
    assert list((other.path / "demo/new/deep/__pycache__").iterdir())
    done(other("restore"))
    for cache in other.path.rglob("__pycache__"):  # it belongs to the package and not to us
        shutil.rmtree(cache)
    assert other.tree() == other.before and not (other.path / "demo/new").exists()


def test_a_directory_that_somebody_put_files_into_stays_and_so_does_one_that_was_there(tmp_path):
    other = Other(tmp_path, NEW_FOLDER)
    done(other("apply", "more"))
    (other.path / "demo/new/mine.py").write_text("")
    done(other("restore"))
    assert [path.name for path in (other.path / "demo/new").rglob("*")] == ["mine.py"]
    (other.path / "demo/new/mine.py").unlink()
    done(other("apply", "more"))
    assert {row.get("folder") for row in receipts(other)} == {"", "demo/new/deep"}
    done(other("restore"))
    assert (other.path / "demo/new").is_dir() and not list((other.path / "demo/new").iterdir())


def test_the_last_file_in_a_directory_takes_it_along_whichever_that_is(tmp_path):
    other = Other(tmp_path, NEW_FOLDER)
    patchset(tmp_path, "+++ demo/new/b.py\n+B = 1\n", "second")
    done(other("apply", "more"))
    done(other("apply", "second"))
    done(other("restore", "more"))
    assert [path.name for path in (other.path / "demo/new").iterdir()] == ["b.py"]
    spatch = other.cwd / "mine/second/p.spatch"
    spatch.write_text("+++ demo/new/deep/c.py\n+C = 1\n")
    done(other("apply", "second"))
    assert [path.name for path in (other.path / "demo/new").rglob("*")] == ["deep", "c.py"]
    (other.path / "demo/new/deep/c.py").unlink()  # by hand: only the receipt is left to drop, and the empty directory
    done(other("restore"))
    assert other.tree() == other.before and not (other.path / "demo/new").exists()


def test_the_directory_of_a_package_that_was_uninstalled_since_goes_too(other):
    done(other("apply", "more"))
    for path in ("demo/__init__.py", "demo/n.py"):
        (other.path / path).unlink()
    shutil.rmtree(other.path / "demo-1.0.dist-info")
    assert (other.path / "demo/_help.py").is_file(), "which no uninstall knows"
    done(other("restore"))
    assert not (other.path / "demo").exists(), "it could still be imported"


def test_no_directory_is_made_beside_the_package_through_a_link_or_in_the_place_of_a_file(tmp_path):
    other = Other(tmp_path, NEW_FOLDER)
    (tmp_path / "elsewhere").mkdir()
    (other.path / "demo/new").symlink_to(tmp_path / "elsewhere")
    ended = other("apply", "more")
    assert ended.code == 1 and "does not write through it" in ended.err and not list((tmp_path / "elsewhere").iterdir())
    (other.path / "demo/new").unlink()
    (other.path / "demo/new").write_text("a file")
    assert other("apply", "more").code == 1 and other.text("demo/new") == "a file"
    (other.path / "demo/new").unlink()
    os.chmod(other.path / "demo", 0o555)
    try:
        if os.geteuid():
            assert "may not write here" in other("apply", "more").err
    finally:
        os.chmod(other.path / "demo", 0o755)
    assert other.tree() == other.before


def test_export_writes_an_added_file_as_a_new_one(other, tmp_path):
    text = done(other("export", "more")).out
    assert "--- /dev/null\n+++ b/demo/_help.py\n@@ -0,0 +1,5 @@\n" in text
    done(other("export", "more", "--format", "wheel", "--wheel", other.wheel, "--output", tmp_path / "dist"))
    (made,) = (tmp_path / "dist").iterdir()
    other.install(made)
    assert other.value() == "42" and "demo/_help.py,sha256=" in next(other.path.glob("demo-1.0+*/RECORD")).read_text()


def test_a_hook_keeps_an_added_file_and_an_overlay_serves_it(tmp_path):
    (tmp_path / "hook").mkdir()
    place = Place(tmp_path / "hook")
    spatch = place.path / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text().replace("+VALUE = 22", "+from demo._help import answer\n+VALUE = answer()") + HELP)
    place.install()
    assert (place.start().out, (place.site / "demo/_help.py").read_text()) == ("42\n", TEXT)
    assert place.start().err == ""
    (place.site / "demo/_help.py").unlink()
    assert place.start().out == "42\n"

    over = Overlay(tmp_path / "over", sys.executable)
    spatch = over.folder / "mine/demo-patch/p.spatch"
    spatch.write_text(
        HELP + "--- demo/other.py\n@@ <module> @@\n-VALUE = 1\n+from demo._help import answer\n+VALUE = answer()\n"
    )
    assert (
        over.prints("import demo.other as o, demo._help as h; print(o.VALUE, h.__file__)") == f"42 {over.site}/demo/_help.py"
    )
    assert not (over.site / "demo/_help.py").exists()
    (over.site / "demo/_help.py").write_text("x = 1\n")
    assert "is another file" in done(over("-c", "import demo.other"), 1).err


@pytest.mark.parametrize("package", [False, True])
def test_a_hook_makes_an_added_directory_and_an_overlay_serves_its_files(tmp_path, package):
    text = HELP.replace("_help", "new/deep/_help")
    text += "+++ demo/new/__init__.py\n+MORE = 1\n" if package else ""
    (tmp_path / "hook").mkdir()
    place = Place(tmp_path / "hook")
    spatch = place.path / "mine/two/p.spatch"
    use = "+from demo.new.deep._help import answer\n+VALUE = answer()"
    spatch.write_text(spatch.read_text().replace("+VALUE = 22", use) + text)
    place.install()
    assert (place.start().out, (place.site / "demo/new/deep/_help.py").read_text()) == ("42\n", TEXT)
    shutil.rmtree(place.site / "demo/new")
    assert place.start().out == "42\n"

    over = Overlay(tmp_path / "over", sys.executable)
    spatch = over.folder / "mine/demo-patch/p.spatch"
    spatch.write_text(text + f"--- demo/other.py\n@@ <module> @@\n-VALUE = 1\n{use}\n")
    shown = "import demo.other as o, demo.new.deep._help as h, demo.new as n; print(o.VALUE, h.__file__, vars(n).get('MORE'))"
    assert over.prints(shown) == f"42 {over.site}/demo/new/deep/_help.py {1 if package else None}"
    assert not (over.site / "demo/new").exists()


def test_a_diff_that_adds_a_directory_is_imported_applied_and_exported(tmp_path):
    other = Other(tmp_path)
    (tmp_path / "one.patch").write_text(
        "--- /dev/null\n+++ b/src/demo/new/deep/h.py\n@@ -0,0 +1 @@\n+A = 1\n"
        "--- /dev/null\n+++ b/src/demo/new/__init__.py\n@@ -0,0 +1 @@\n+B = 1\n"
        "--- a/src/demo/n.py\n+++ b/src/demo/n.py\n@@ -1 +1,2 @@\n VALUE = 1\n+from demo.new import B\n"
    )
    done(World.__call__(other, "import", "one.patch", "--name", "mine"))
    assert "+++ demo/new/deep/h.py\n+A = 1\n" in (tmp_path / "patchsets/mine/one.spatch").read_text()
    here = ("--patch-dir", "patchsets")
    done(World.__call__(other, "check", "mine", *here))
    done(World.__call__(other, "apply", "mine", *here))
    assert other.text("demo/new/deep/h.py") == "A = 1\n" and other.text("demo/new/__init__.py") == "B = 1\n"
    assert "new, and no part" not in done(other("diff", "--edited")).out
    text = done(World.__call__(other, "export", "mine", *here)).out
    assert "--- /dev/null\n+++ b/demo/new/deep/h.py\n" in text
    done(other("restore"))
    assert other.tree() == other.before


def test_the_form_of_an_added_file_refuses_this():
    for text, problem in (
        ("+++ demo/x.py\n\n--- demo/m.py\n", "no line for this file"),
        ("+++ demo/x.py\n+a\n b\n", "every line of a file that is added"),
        ("+++ /x.py\n+a\n", "absolute"),
    ):
        with pytest.raises(PatchError, match=problem):
            parse_spatch(text, "x.spatch")


# lines of text --------------------------------------------------------------------------------------------------------
def made(data, body):
    _, (patch,) = parse_spatch(f"--- demo/a.yaml\n@@ <text> @@\n{body}", "x.spatch")
    result = rewrite(data, patch.hunks, {})
    return result.answers[0].state.value, result.data


@pytest.mark.parametrize(
    ("data", "body", "expected"),
    [
        (b"a: 1  \nb: 2\nc: 3\n", " a: 1\n-b: 2\n+b: 4\n", ("applicable", b"a: 1  \nb: 4\nc: 3\n")),
        (b"a: 1\r\nb: 2", " b: 2\n+d: 4\n", ("applicable", b"a: 1\r\nb: 2\r\nd: 4")),
        (b"a: 1\r\nb: 2", " a: 1\n-b: 2\n", ("applicable", b"a: 1")),
        (b"a: 1\nb: 2\nd: 4\n", " b: 2\n+d: 4\n", ("upstream", b"a: 1\nb: 2\nd: 4\n")),
        (b"a: 1\nx\ny\nb: 2\n", " a: 1\n ...\n-b: 2\n+b: 3\n", ("applicable", b"a: 1\nx\ny\nb: 3\n")),
        (b"a: 1\nx\ny\nb: 2\n", "-a: 1\n-...\n b: 2\n", ("applicable", b"b: 2\n")),
        (b"a: 1\nb: 2\n", "+z\n a: 1\n", ("applicable", b"z\na: 1\nb: 2\n")),
        (b"a: 1\nx\na: 1\n", "-a: 1\n+b\n", ("ambiguous", b"a: 1\nx\na: 1\n")),
        (b"a\nx\nb\ny\nb\n", " a\n ...\n-b\n+c\n", ("ambiguous", b"a\nx\nb\ny\nb\n")),
        (b"a: 2\n", "-a: 1\n+b\n", ("not found", b"a: 2\n")),
        (b"\xef\xbb\xbfa\xc3\xa9\n", "-aé\n+b\n", ("applicable", b"b\n")),
        (b"a\xe9\n", "-aé\n+ü\n", ("applicable", b"\xfc\n")),
        (b"a\xe9\n", "-aé\n+\u663e\n", ("conflict", b"a\xe9\n")),  # what latin-1 cannot hold
        (b"\xc5\xe4\na: 1\n", " a: 1\n+\u663e: 2\n", ("conflict", b"\xc5\xe4\na: 1\n")),  # GBK
        (b"\xc5\xe4\na: 1\n", " a: 1\n+é: 2\n", ("conflict", b"\xc5\xe4\na: 1\n")),  # which latin-1 could
        (b"\xc5\xe4\na: 1\n", " a: 1\n+b: 2\n", ("applicable", b"\xc5\xe4\na: 1\nb: 2\n")),
        (b"\xe9??\na: 1\n", " é\u663e\u663e\n-a: 1\n", ("not found", b"\xe9??\na: 1\n")),  # `?` is no other character
        # a run stays inside the block in which it began
        (b"- n: a\n  m: 24\n- n: b\n  m: 16\n", " - n: a\n ...\n-  m: 16\n+  m: 32\n", ("not found", b"- n: a\n  m: 24\n- n: b\n  m: 16\n")),
        (b"- n: a\n  m: 24\n- n: b\n  m: 32\n", " - n: a\n ...\n-  m: 16\n+  m: 32\n", ("not found", b"- n: a\n  m: 24\n- n: b\n  m: 32\n")),
        (b"- n: a\n  c: 4\n\n  d:\n    - 1\n  m: 16\n- n: b\n", " - n: a\n ...\n-  m: 16\n+  m: 32\n", ("applicable", b"- n: a\n  c: 4\n\n  d:\n    - 1\n  m: 32\n- n: b\n")),
        (b"- a:\n  c: 4\n- b:\n  c: 4\n  m: 16\n", "   c: 4\n ...\n-  m: 16\n+  m: 32\n", ("applicable", b"- a:\n  c: 4\n- b:\n  c: 4\n  m: 32\n")),
        (b"a:\n\tb: 1\n\tc: 2\nd:\n\te: 1\nf: 1\n", " \tb: 1\n ...\n-f: 1\n+f: 2\n", ("applicable", b"a:\n\tb: 1\n\tc: 2\nd:\n\te: 1\nf: 2\n")),
        (b"{\n  a: {\n    x: 1\n  }\n  b: {\n    y: 1\n  }\n}\n", "   a: {\n ...\n-    y: 1\n+    y: 2\n", ("not found", b"{\n  a: {\n    x: 1\n  }\n  b: {\n    y: 1\n  }\n}\n")),
    ],
)
def test_lines_are_found_once_or_refused_and_the_rest_stays_as_it_is(data, body, expected):
    if data.startswith(b"\xef\xbb\xbf"):
        expected = (expected[0], b"\xef\xbb\xbf" + expected[1])
    assert made(data, body) == expected


@pytest.mark.parametrize(
    ("data", "body", "gone"),
    [
        (b"a\nc\n", " a\n-b\n c\n", True),
        (b"a\nx\nc\n", " a\n-b\n c\n", False),  # what it keeps has changed too
        (b"b\na\nc\n", " a\n-b\n c\n", False),  # it is somewhere else
        (b"a\nc\nb\n", " a\n-b\n c\n", False),
        (b"a\nc\n", " a\n-b\n+d\n c\n", False),
    ],
)
def test_lines_to_delete_are_gone_where_none_of_them_is_left(data, body, gone):
    _, (patch,) = parse_spatch(f"--- demo/a.yaml\n@@ <text> @@\n{body}", "x.spatch")
    (answer,) = rewrite(data, patch.hunks, {}).answers
    assert (answer.state.value, answer.gone) == ("not found", gone)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--- demo/a.yaml\n@@ <module> @@\n-a\n+b\n", "only Python source"),
        ("--- demo/a.py\n@@ <text> @@\n-a\n+b\n", "matched by syntax"),
        ("--- demo/a.yaml\n@@ <text> @@ count=2\n-a\n+b\n", "one place"),
        ("--- demo/a.yaml\n@@ <text> @@\n ...\n-a\n+b\n", "between two lines"),
        ("--- demo/a.yaml\n@@ <text> @@\n-a\n+...\n+b\n", "cannot be inserted"),
    ],
)
def test_the_form_of_a_text_file_refuses_this(text, problem):
    with pytest.raises(PatchError, match=problem):
        parse_spatch(text, "x.spatch")


def test_lines_that_are_changed_when_present_are_not_needed_where_they_are_absent(tmp_path):
    other = Other(tmp_path, MORE.replace("<text> @@", "<text> @@ when-present"), {"demo/cards.yaml": "cards:\n"})
    ended = done(other("apply", "more"))
    assert "not needed  more  demo/cards.yaml" in ended.out and other.tree() == other.before


def test_two_hunks_for_one_line_are_a_conflict_of_both():
    _, (patch,) = parse_spatch("--- demo/a.txt\n@@ <text> @@\n a\n-b\n+c\n@@ <text> @@\n-b\n+d\n e\n", "p.spatch")
    result = rewrite(b"a\nb\ne\n", patch.hunks, {})
    assert result.data == b"a\nb\ne\n" and [answer.state.value for answer in result.answers] == ["conflict"] * 2
    assert result.answers[0].problem == "two changes of this patchset meet at line 2: write one hunk for both"


def test_a_text_file_is_patched_shown_exported_and_restored(tmp_path):
    other = Other(tmp_path, MORE, {"demo/cards.yaml": CARDS})
    done(other("apply", "more"))
    assert other.text("demo/cards.yaml") == CARDS.replace("memory: 16", "memory: 32")
    assert "+    memory: 32\n" in done(other("diff")).out and "+    memory: 32\n" in done(other("export", "more")).out
    done(other("check", "more"))
    done(other("restore"))
    assert other.tree() == other.before
    (other.path / "demo/cards.yaml").write_text(CARDS.replace("16", "8"))
    ended = other("apply", "more", "--force")
    assert ended.code == 1 and "no line of the file is `memory: 16`" in ended.out + ended.err


def test_a_stub_is_python(tmp_path):
    other = Other(tmp_path, "--- demo/n.pyi\n@@ <module> @@\n-VALUE: int\n+VALUE: str\n", {"demo/n.pyi": "VALUE: int\n"})
    done(other("apply", "more"))
    assert other.text("demo/n.pyi") == "VALUE: str\n"


def test_an_overlay_says_which_file_it_cannot_serve(tmp_path):
    over = Overlay(tmp_path, sys.executable)
    (over.folder / "mine/demo-patch/p.spatch").write_text("--- demo/data.txt\n@@ <text> @@\n-data\n+more\n")
    ended = over.run(over.python, "-c", "0")
    assert ended.code != 0 and "it cannot serve demo/data.txt" in ended.err


def test_a_diff_of_a_text_file_is_imported_with_enough_lines_to_be_unique(tmp_path):
    twice = CARDS.replace("48", "16")
    other = Other(tmp_path, MORE, {"demo/cards.yaml": twice})
    (tmp_path / "one.patch").write_text(
        "--- a/demo/cards.yaml\n+++ b/demo/cards.yaml\n@@ -3,3 +3,3 @@\n     memory: 16\n   - name: musa\n-    memory: 16\n+    memory: 48\n"
    )
    done(World.__call__(other, "import", "one.patch", "--name", "cards"))
    text = (tmp_path / "patchsets/cards/one.spatch").read_text()
    assert text.endswith("@@ <text> @@\n   - name: musa\n-    memory: 16\n+    memory: 48\n")
    done(World.__call__(other, "apply", "cards", "--patch-dir", "patchsets"))
    assert other.text("demo/cards.yaml") == CARDS


def test_an_edit_by_hand_of_a_text_file_is_captured(tmp_path):
    other = Other(tmp_path, MORE, {"demo/cards.yaml": CARDS})
    (other.path / "demo/cards.yaml").write_text(CARDS.replace("48", "64"))
    done(World.__call__(other, "capture", "demo/cards.yaml", "--name", "mine", "--pristine", other.wheel))
    assert "@@ <text> @@\n-    memory: 48\n+    memory: 64\n" in (tmp_path / "patchsets/mine/mine.spatch").read_text()


def test_a_file_that_a_patchset_added_is_not_reported_as_new(other):
    done(other("apply", "more"))
    (other.path / "demo/n.py").write_text(other.text("demo/n.py") + "MORE = 1\n")
    assert "new, and no part" not in done(other("diff", "--edited")).out + other("diff", "--edited").err
    (other.path / "demo/else.py").write_text("x = 1\n")
    assert "demo/else.py: new, and no part" in other("diff", "--edited").out + other("diff", "--edited").err


def test_an_edit_of_a_text_file_is_captured_with_its_package_and_edited_as_a_copy_and_revised(tmp_path):
    files = {"demo/cards.yaml": CARDS, "demo/big.bin": "x", "demo/kernel.cuh": "int a;\n"}
    other = Other(tmp_path, MORE, files)
    call = partial(World.__call__, other)
    (other.path / "demo/cards.yaml").write_text(CARDS.replace("48", "64"))
    (other.path / "demo/big.bin").write_text("y")
    done(call("capture", "demo", "--name", "mine", "--pristine", other.wheel))
    spatch = tmp_path / "patchsets/mine/mine.spatch"
    assert spatch.read_text() == "Captured from demo 1.0.\n\n--- demo/cards.yaml\n@@ <text> @@\n-    memory: 48\n+    memory: 64\n"
    (other.path / "demo/cards.yaml").write_text(CARDS)
    (other.path / "demo/kernel.cuh").write_text("int b;\n")
    done(call("capture", "demo", "--name", "kernel", "--pristine", other.wheel))
    assert "--- demo/kernel.cuh\n" in (tmp_path / "patchsets/kernel/kernel.spatch").read_text()
    (other.path / "demo/kernel.cuh").write_text("int a;\n")
    write = "path.write_text(path.read_text().replace({!r}, {!r}))"
    done(call("edit", "demo", "cards.yaml", "--name", "copy", **editor(other, write.format("gcu   ", "xpu"))))
    assert "-  - name: gcu   \n+  - name: xpu\n" in (tmp_path / "patchsets/copy/copy.spatch").read_text()
    done(call("edit", "mine", **editor(other, write.format("gcu   ", "xpu"))))
    assert "+  - name: xpu\n" in spatch.read_text() and "+    memory: 64\n" in spatch.read_text()
    done(call("apply", "mine"))
    assert other.text("demo/cards.yaml") == CARDS.replace("48", "64").replace("gcu   ", "xpu")


def test_update_opens_a_text_file_with_what_is_missing(tmp_path):
    files = {"demo/cards.yaml": CARDS.replace("memory: 16", "ram: 16")}
    other = Other(tmp_path, MORE, files)
    code = "assert '# sitepatch: @@ <text> @@' in path.read_text()\npath.write_text(path.read_text().replace('ram: 16', 'ram: 32'))"
    done(other("update", "more", "--edit", **editor(other, code)))
    assert (tmp_path / "mine/more/p-1.0.spatch").read_text().endswith("-    ram: 16\n+    ram: 32\n")


def test_a_hook_keeps_a_text_file(tmp_path):
    place = Place(tmp_path)
    card = place.site / "demo/cards.yaml"
    card.write_text(CARDS)
    spatch = place.path / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text() + "\n" + MORE)
    place.install()
    assert "applied two to 2 files" in place.start().err and card.read_text() == CARDS.replace("16", "32")
    card.write_text(CARDS)
    os.utime(card, (1_600_000_000,) * 2)  # a start sees whole seconds
    assert "applied two to 1 file" in place.start().err and card.read_text() == CARDS.replace("16", "32")
    assert place.start().err == ""
