"""Files that a patchset deletes or renames: applied, shown, verified, exported, restored byte for byte as every other."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from tests.author.world import World
from tests.command import done, environ, sitepatch
from tests.hooks import Place
from tests.overlays import Overlay, patchset
from tests.places import venv, wheel

OLD = "import os\n\n\ndef answer():\n    return os.sep\n"
FILES = {"demo/__init__.py": "", "demo/n.py": "VALUE = 1\n", "demo/old.py": OLD, "demo/empty.py": "", "demo/a.txt": "text\n"}
DELETED = "--- demo/old.py\n" + "".join(f"-{line}\n" for line in OLD.splitlines())
RENAMED = DELETED + "+++ demo/new.py\n" + "".join(f"+{line}\n" for line in OLD.splitlines())


class Other(World):
    """The package with a patchset that deletes a file."""

    def __init__(self, folder, text=DELETED, files=FILES):
        super().__init__(folder, files)
        patchset(folder, text, "less")
        for path in files:
            os.chmod(self.path / path, 0o640)
            os.utime(self.path / path, ns=(1_600_000_000_123_456_789,) * 2)
        self.before = self.tree()

    def __call__(self, *words, **more):
        return super().__call__(*words, "--patch-dir", self.cwd / "mine", **more)

    def patchset(self, text, name):
        patchset(self.cwd, text, name)

    def names(self):
        return sorted(path.name for path in (self.path / "demo").iterdir())

    def status(self):
        return json.loads(done(self("status", "--json")).out)


@pytest.fixture
def other(tmp_path):
    return Other(tmp_path)


# applied and restored -------------------------------------------------------------------------------------------------
@pytest.mark.quick
def test_a_file_is_deleted_shown_and_comes_back_byte_for_byte(other):
    cache = other.path / "demo/__pycache__"
    cache.mkdir()
    (cache / "old.cpython-36.pyc").write_bytes(b"old")
    ended = done(other("apply", "less", "--dry-run"))
    assert "applicable  less  demo/old.py:1  <deleted file>\n--- a/demo/old.py\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-import os\n" in ended.out
    assert "demo/old.py" in other.tree()
    done(other("apply", "less"))
    assert other.names() == ["__init__.py", "__pycache__", "a.txt", "empty.py", "n.py"] and not list(cache.iterdir())
    assert "nothing to do" in done(other("apply", "less")).out
    assert "--- a/demo/old.py\n+++ /dev/null\n" in done(other("diff")).out
    assert "not there any more" not in done(other("diff")).err
    assert "applied  less 1  demo 1.0  1 file\n" in done(other("status", "--check")).out
    assert "applied" in done(other("list")).out
    done(other("check", "less"))
    assert "restored  demo/old.py  bytes, mode and mtime as before\n" in done(other("restore")).out
    cache.rmdir()
    assert other.tree() == other.before


@pytest.mark.parametrize("text", ["--- demo/empty.py\n-...\n", "--- demo/a.txt\n-text\n", DELETED + "--- demo/empty.py\n-...\n"])
def test_an_empty_file_and_one_that_is_not_python_are_deleted_too(tmp_path, text):
    other = Other(tmp_path, text)
    done(other("apply", "less"))
    gone = [line[4:] for line in text.splitlines() if line.startswith("--- ")]
    assert not any(path in other.tree() for path in gone)
    assert "nothing to do" in done(other("apply", "less")).out
    done(other("status", "--check"))
    done(other("restore"))
    assert other.tree() == other.before


def test_a_renamed_file_is_one_deleted_and_one_added(tmp_path):
    other = Other(tmp_path, RENAMED)
    done(other("apply", "less"))
    assert "old.py" not in other.names() and other.text("demo/new.py") == OLD
    done(other("restore", "less"))
    assert other.tree() == other.before


def test_a_link_comes_back_as_a_link(tmp_path):
    other = Other(tmp_path)
    cache = tmp_path / "cache.py"
    shutil.move(str(other.path / "demo/old.py"), str(cache))
    (other.path / "demo/old.py").symlink_to(cache)
    before = other.tree()
    done(other("apply", "less"))
    assert not os.path.lexists(other.path / "demo/old.py") and cache.read_text() == OLD
    done(other("restore"))
    assert other.tree() == before


def test_a_new_version_of_the_patchset_brings_it_back_changed_with_its_mode(other):
    done(other("apply", "less"))
    (other.cwd / "mine/less/p.spatch").write_text("--- demo/old.py\n@@ answer @@\n-os.sep\n+os.linesep\n")
    done(other("apply", "less"))
    assert other.text("demo/old.py") == OLD.replace("os.sep", "os.linesep")
    assert (other.path / "demo/old.py").stat().st_mode & 0o777 == 0o640
    (other.cwd / "mine/less/p.spatch").write_text(DELETED)
    done(other("apply", "less"))
    assert "old.py" not in other.names()
    done(other("restore"))
    assert other.tree() == other.before


def test_an_earlier_patch_of_the_series_may_change_what_a_later_one_deletes(other):
    folder = other.cwd / "mine/less"
    (folder / "one.spatch").write_text("--- demo/old.py\n@@ answer @@\n-os.sep\n+os.linesep\n")
    (folder / "p.spatch").write_text(DELETED.replace("os.sep", "os.linesep"))
    manifest = (folder / "patchset.toml").read_text()
    (folder / "patchset.toml").write_text(manifest.replace('["p.spatch"]', '["one.spatch", "p.spatch"]'))
    done(other("apply", "less"))
    assert "old.py" not in other.names()
    done(other("restore"))
    assert other.tree() == other.before


# which state it is ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "lines", "problem"),
    [
        ("a\nb\n", "-a\n-b\n", None),
        ("a  \r\nb\n\n", "-a\n-b\n", None),  # white space at the end, blank lines at the end
        ("a\nb\nc\n", "-a\n-...\n-c\n", None),
        ("a\nc\n", "-a\n-...\n-c\n", None),
        ("", "-...\n", None),
        ("x\na\ny\nb\nz", "-...\n-a\n-...\n-b\n-...\n", None),
        ("a\nb\nc\n", "-a\n-b\n", "the file has the line `c`, which is not to be deleted"),
        ("a\n", "-a\n-b\n", "no line of the file is `b`"),
        ("b\na\n", "-a\n-b\n", "the file has these lines, but not one below the other"),
        ("a\nb\n", "-...\n-a\n", "the file has the line `b`, which is not to be deleted"),
        ("a\n\nb\n", "-a\n-b\n", "the file has these lines, but not one below the other"),
        ("a\na\n", "-a\n-...\n-a\n-...\n-a\n", "the file has these lines, but not one below the other"),
    ],
)
def test_a_file_is_deleted_where_it_has_the_lines_and_no_others(data, lines, problem):
    _, (patch,) = parse_spatch(f"--- demo/x.py\n{lines}", "x.spatch")
    result = rewrite(data.encode(), patch.hunks, {})
    (answer,) = result.answers
    if problem is None:
        assert (answer.state.value, result.data, result.gone) == ("applicable", b"", True)
    else:
        assert (answer.state.value, answer.problem, result.data, result.gone) == ("not found", problem, data.encode(), False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--- demo/x.py\n-a\n b\n", "every line of a file that is deleted begins with `-`"),
        ("--- demo/x.py\n-a\n@@ f @@\n-b\n", "every line of a file that is deleted begins with `-`"),
        ("--- demo/x.py\n\n--- demo/y.py\n-a\n", None),
        ("--- demo/x.py\n", "no hunk for this file"),
    ],
)
def test_the_form_of_a_deletion_refuses_this(text, problem):
    if problem is None:
        (patch,) = parse_spatch(text.replace("\n\n", "\n"), "x.spatch")[1]
        assert patch.deletes and patch.paths == ("demo/x.py", "demo/y.py")
        return
    with pytest.raises(PatchError, match=problem):
        parse_spatch(text, "x.spatch")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DELETED + "--- demo/old.py\n@@ answer @@\n-os.sep\n+1\n", "a file is deleted by the last .spatch that names it"),
        ("+++ demo/old.py\n+a = 1\n" + DELETED, "a file is deleted by the last .spatch that names it"),
        ("--- demo/__init__.py\n-...\n", "the file by which demo is imported"),
    ],
)
def test_what_a_patchset_cannot_delete(tmp_path, text, problem):
    other = Other(tmp_path, text)
    ended = done(other("check", "less"), 2)
    assert problem in ended.out + ended.err and other.tree() == other.before


def test_another_text_is_not_deleted_and_an_absent_file_is_upstream(other):
    file = other.path / "demo/old.py"
    file.write_text(OLD.replace("sep", "linesep"))
    ended = done(other("apply", "less", "--force"), 1)
    assert "not found" in ended.out and "`return os.linesep`, which is not to be deleted" in ended.out and file.exists()
    file.write_text(OLD + "\n")
    ended = done(other("apply", "less"), 1)
    assert "somebody edited it" in ended.out and file.exists()
    file.unlink()
    ended = done(other("apply", "less"))
    assert "upstream" in ended.out
    assert "nothing is applied" in done(other("status")).out and not (other.path / ".sitepatch").exists()


def test_half_of_a_rename_is_a_conflict(tmp_path):
    other = Other(tmp_path, RENAMED)
    (other.path / "demo/old.py").unlink()
    ended = done(other("apply", "less"), 1)
    assert "conflict" in ended.out and "demo/new.py" not in other.tree()
    (other.path / "demo/new.py").write_text(OLD)
    assert "upstream" in done(other("apply", "less")).out


@pytest.mark.parametrize("names", [("alter", "less"), ("less", "more")])
@pytest.mark.parametrize("flags", ["", " when-present"])
@pytest.mark.parametrize(
    ("deletion", "why"),
    [(DELETED, "{changes} changes the same code"), ("--- demo/old.py\n-import os\n-...\n", "{changes} changes the file that is deleted")],
)
def test_a_file_that_one_deletes_and_another_changes_is_a_conflict_in_either_order(tmp_path, names, flags, deletion, why):
    other = Other(tmp_path, deletion)
    (changes,) = set(names) - {"less"}
    other.patchset(f"--- demo/old.py\n@@ answer @@{flags}\n-os.sep\n+os.linesep\n", changes)
    for first, second in (names, names[::-1]):
        done(other("apply", first))
        between = other.tree()
        ended = done(other("apply", second), 1)
        reason = why if names[1] == "less" else "less deletes the file"  # they are applied in the order of their names
        assert "conflict" in ended.out and reason.format(changes=changes) in ended.out, ended
        assert "or make one patchset of both" in ended.out and other.tree() == between
        done(other("restore"))
        assert other.tree() == other.before


def test_two_patchsets_may_delete_the_same_file(other):
    other.patchset(DELETED, "more")
    done(other("apply", "less", "more"))
    done(other("restore", "less"))
    assert "old.py" not in other.names()
    done(other("restore", "more"))
    assert other.tree() == other.before


# what others do -------------------------------------------------------------------------------------------------------
def test_a_file_that_somebody_made_in_its_place_is_kept(other):
    done(other("apply", "less"))
    file = other.path / "demo/old.py"
    file.write_text("MINE = 1\n")
    assert "another one has been put in its place" in done(other("status", "--check"), 1).out
    for words in (("apply", "less"), ("restore",)):
        ended = done(other(*words), 1)
        assert "another one has been put in its place" in ended.out + ended.err and file.read_text() == "MINE = 1\n"
    done(other("restore", "--force"))
    assert file.read_text() == OLD
    (copy,) = (other.path / ".sitepatch/edited").iterdir()
    assert copy.read_text() == "MINE = 1\n"


def test_a_reinstall_brings_a_file_back_and_restore_touches_nothing(other):
    done(other("apply", "less"))
    other.install(other.wheel)
    after = other.tree()
    ended = done(other("status", "--check"), 1)
    assert "overwritten" in ended.out
    done(other("restore"))
    assert {path: what for path, what in other.tree().items() if ".sitepatch" not in path} == {
        path: what for path, what in after.items() if ".sitepatch" not in path
    }
    done(other("apply", "less"))
    other.install(other.wheel)
    done(other("apply", "less"))
    assert "old.py" not in other.names()
    done(other("status", "--check"))


def test_another_build_of_the_release_that_never_had_the_file_is_not_patched(other, tmp_path):
    done(other("apply", "less"))
    other.install(wheel(tmp_path / "build", files={path: text for path, text in FILES.items() if path != "demo/old.py"}))
    after = other.names()
    said = done(other("status", "--check"), 1)
    assert "missing" in said.out
    done(other("restore"))
    assert other.names() == after and not (other.path / ".sitepatch/receipts").exists()


@pytest.mark.parametrize("has_file", [True, False])
def test_an_upgrade_and_an_uninstall_by_pip(tmp_path, has_file):
    python, site = venv(tmp_path / "env")
    kept = {path: text for path, text in FILES.items() if has_file or path != "demo/old.py"}
    one, two = wheel(tmp_path / "one", files=FILES), wheel(tmp_path / "two", version="2.0", files=kept)
    patchset(tmp_path, DELETED, "less")

    def pip(*words):
        command = [sys.executable, "-m", "pip", "--python", str(python), "-q", *map(str, words)]
        subprocess.run(command, check=True, env=environ(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1"))

    def ours(*words):
        more = () if words[0] in ("restore", "status") else ("--patch-dir", tmp_path / "mine")
        return sitepatch(*words, *more, "--python", python, cwd=tmp_path)

    pip("install", one)
    done(ours("apply", "less"))
    assert not (site / "demo/old.py").exists()
    pip("install", two)
    ended = done(ours("status", "--check"), 1)
    assert "2.0 was installed over 1.0" in ended.out and ("overwritten" if has_file else "missing") in ended.out
    assert (site / "demo/old.py").exists() is has_file
    done(ours("restore"))
    assert (site / "demo/old.py").exists() is has_file and not (site / ".sitepatch/receipts").exists()

    pip("install", one)
    done(ours("apply", "less"))
    pip("uninstall", "-y", "demo")
    assert not list(site.glob("demo*"))
    assert "is not installed any more" in done(ours("status", "--check"), 1).out
    done(ours("restore"))
    assert not list(site.glob("demo*"))


def test_a_receipt_that_is_lost_does_not_hide_what_was_deleted(other):
    done(other("apply", "less"))
    shutil.rmtree(other.path / ".sitepatch/receipts")
    ended = done(other("status", "--check"), 1)
    assert "the pristine copy of demo/old.py, which is changed and has no receipt" in ended.out + ended.err


# verified, overlaid, kept ---------------------------------------------------------------------------------------------
def test_a_failing_import_of_a_deleted_file_stops_before_a_byte_is_written(tmp_path):
    files = {**FILES, "demo/__init__.py": "from demo.old import answer\n"}
    other = Other(tmp_path, files=files)
    python = ("--python", sys.executable)
    ended = done(other("apply", "less", *python), 1)
    assert "No module named 'demo.old'" in ended.out + ended.err and other.tree() == other.before
    (tmp_path / "mine/less/p.spatch").write_text(DELETED + "--- demo/__init__.py\n@@ <module> @@\n-from demo.old import answer\n+answer = None\n")
    done(other("apply", "less", *python))
    assert "old.py" not in other.names()
    done(other("status", "--verify", "import", *python))


def test_an_overlay_hides_a_deleted_file(tmp_path):
    over = Overlay(tmp_path, sys.executable)
    lines = "".join(f"-{line}\n" for line in (over.site / "demo/other.py").read_text().splitlines())
    (over.folder / "mine/demo-patch/p.spatch").write_text(f"--- demo/other.py\n{lines}+++ demo/new.py\n+VALUE = 3\n")
    find = "import importlib.util as u, demo.new as n; print(u.find_spec('demo.other'), n.VALUE)"
    assert over.prints(find) == "None 3" and (over.site / "demo/other.py").exists()
    assert over.prints("import importlib.metadata as m, demo; print(m.version('pip') and 1)" if (over.site / "pip").exists() else "print(1)") == "1"
    ended = done(over("-c", "import demo.other"), 1)
    assert "No module named 'demo.other'" in ended.err
    assert "which is deleted" in done(over(over.site / "demo/other.py"), 1).err
    over.run(over.python, "-c", "0")
    (over.site / "demo/other.py").write_text("VALUE = 11\n")
    assert "None 3" in over.prints(find)


def test_an_overlay_refuses_to_hide_a_deleted_data_file(tmp_path):
    over = Overlay(tmp_path, sys.executable)
    (over.folder / "mine/demo-patch/p.spatch").write_text("--- demo/data.txt\n-...\n")
    ended = over.run(over.python, "-c", "0")
    assert ended.code != 0 and "it cannot serve demo/data.txt" in ended.err


def test_a_hook_deletes_a_file_again(tmp_path):
    place = Place(tmp_path)
    old = place.site / "demo/old.py"
    old.write_text(OLD)
    spatch = place.path / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text() + "\n" + DELETED)
    place.install()
    assert "applied two to 2 files" in place.start().err and not old.exists()
    assert place.start().err == ""
    old.write_text(OLD)
    assert "applied two to 1 file" in place.start().err and not old.exists()


# exported, checked ----------------------------------------------------------------------------------------------------
def test_a_deletion_is_exported_as_a_diff_and_as_a_wheel_without_the_file(tmp_path):
    other = Other(tmp_path, RENAMED)
    text = done(other("export", "less")).out
    assert "--- a/demo/old.py\n+++ /dev/null\n" in text and "--- /dev/null\n+++ b/demo/new.py\n" in text
    (tmp_path / "tree/demo").mkdir(parents=True)
    (tmp_path / "tree/demo/old.py").write_text(OLD)
    (tmp_path / "out.patch").write_text(text)
    subprocess.run(["git", "apply", str(tmp_path / "out.patch")], cwd=str(tmp_path / "tree"), check=True)
    assert [path.name for path in (tmp_path / "tree/demo").iterdir()] == ["new.py"]

    done(other("export", "less", "--format", "wheel", "--wheel", other.wheel, "--output", tmp_path / "out"))
    (made,) = (tmp_path / "out").glob("*.whl")
    with zipfile.ZipFile(str(made)) as archive:
        names = archive.namelist()
        (record,) = (archive.read(name).decode() for name in names if name.endswith("/RECORD"))
    assert "demo/new.py" in names and "demo/old.py" not in names
    assert "demo/new.py,sha256=" in record and "demo/old.py" not in record


def test_the_page_and_json_show_a_deletion(tmp_path):
    other = Other(tmp_path)
    shown = json.loads(done(other("diff", "less", "--json")).out)
    (file,) = shown["planned"]
    assert (file["path"], file["added"], file["removed"], file["sha256_after"]) == ("demo/old.py", 0, 5, "")
    done(other("diff", "less", "--html", tmp_path / "page.html"))
    assert "demo/old.py" in (tmp_path / "page.html").read_text()


# imported -------------------------------------------------------------------------------------------------------------
class Repository:
    """The package as a git repository with its code below `src`, whose commits are patches."""

    def __init__(self, folder, files=FILES):
        self.folder = folder / "repository"
        for path, text in files.items():
            (self.folder / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "src" / path).write_text(text)
        self.git("init", "-q")
        self.commit("first")

    def git(self, *words):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words]
        return subprocess.run(command, cwd=str(self.folder), check=True, stdout=subprocess.PIPE).stdout.decode()

    def commit(self, subject):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def patches(self, number):
        """The last commits as files, in a directory beside the repository."""
        self.git("format-patch", "-q", f"-{number}", "-o", "../patches")
        return self.folder.parent / "patches"


def imported(other, *words, code=0):
    return done(World.__call__(other, "import", *words, "--name", "mine"), code)


def applied_and_restored(other):
    """The tree with the imported patchset, which is restored again."""
    here = ("--patch-dir", "patchsets")
    done(World.__call__(other, "check", "mine", *here))
    done(World.__call__(other, "apply", "mine", *here))
    names = {path: (other.path / path).read_text() for path in other.tree() if path.startswith("demo/") and path != "demo"}
    done(other("restore"))
    assert other.tree() == other.before
    return names


@pytest.mark.parametrize("options", [("--no-renames",), ("-M",)])
@pytest.mark.parametrize("changed", [False, True])
def test_a_git_diff_that_renames_and_deletes_is_imported(tmp_path, options, changed):
    other, git = Other(tmp_path), Repository(tmp_path)
    new = OLD.replace("os.sep", "os.linesep") if changed else OLD
    git.git("mv", "src/demo/old.py", "src/demo/new.py")
    (git.folder / "src/demo/new.py").write_text(new)
    git.git("rm", "-q", "src/demo/empty.py", "src/demo/a.txt")
    (tmp_path / "one.patch").write_text(git.git("diff", "HEAD", *options))
    imported(other, "one.patch")
    text = (tmp_path / "patchsets/mine/one.spatch").read_text() if (tmp_path / "patchsets/mine/one.spatch").exists() else (tmp_path / "patchsets/mine/mine.spatch").read_text()
    assert DELETED in text and "--- demo/empty.py\n-...\n" in text and "--- demo/a.txt\n-text\n" in text and "+++ demo/new.py\n+import os\n" in text
    assert applied_and_restored(other) == {"demo/__init__.py": "", "demo/n.py": "VALUE = 1\n", "demo/new.py": new}


def test_a_plain_diff_that_deletes_is_imported_and_one_of_another_text_is_not(tmp_path):
    other = Other(tmp_path)
    lines = "".join(f"-{line}\n" for line in OLD.splitlines())
    diff = f"--- a/demo/old.py\n+++ /dev/null\n@@ -1,5 +0,0 @@\n{lines}"
    (tmp_path / "one.patch").write_text(diff.replace("os.sep", "os.altsep"))
    ended = imported(other, "one.patch", code=1)
    assert "os.altsep" in ended.out and not (tmp_path / "patchsets").exists()
    (tmp_path / "one.patch").write_text(diff)
    imported(other, "one.patch")
    assert "demo/old.py" not in applied_and_restored(other)


def test_a_series_deletes_what_it_changed_and_a_patch_without_a_form_stops_no_other(tmp_path):
    other, git = Other(tmp_path), Repository(tmp_path)
    code = git.folder / "src/demo"
    (code / "old.py").write_text(OLD.replace("os.sep", "os.linesep"))
    git.commit("change it")
    (code / "old.py").unlink()
    git.commit("delete it")
    (code / "old.py").write_text(OLD)
    git.commit("write it anew")
    (code / "n.py").write_text("VALUE = 2\n")
    git.commit("another file")
    ended = imported(other, git.patches(4), code=1)
    assert "0003-write-it-anew" in ended.out and "an earlier patch deletes the file of that name" in ended.out
    assert sorted(path.name for path in (tmp_path / "patchsets/mine").glob("*.spatch")) == [
        "0001-change-it.spatch", "0002-delete-it.spatch", "0004-another-file.spatch",
    ]  # fmt: skip
    assert applied_and_restored(other) == {
        "demo/__init__.py": "", "demo/n.py": "VALUE = 2\n", "demo/empty.py": "", "demo/a.txt": "text\n",
    }  # fmt: skip
    assert "in place" in imported(other, git.folder.parent / "patches", code=1).out


def test_lines_that_differ_in_another_release_are_left_open(tmp_path):
    other = Other(tmp_path)
    later = OLD.replace("os.sep", "os.linesep") + "MORE = 1\n"
    wheel(tmp_path / "wheels", version="2.0", files={**FILES, "demo/old.py": later})
    (tmp_path / "later/demo").mkdir(parents=True)
    shutil.copytree(str(other.path), str(tmp_path / "two"))
    with zipfile.ZipFile(str(tmp_path / "wheels/demo-2.0-py3-none-any.whl")) as archive:
        shutil.rmtree(str(tmp_path / "two"))
        archive.extractall(str(tmp_path / "two"))
    lines = "".join(f"-{line}\n" for line in OLD.splitlines())
    (tmp_path / "one.patch").write_text(f"--- a/demo/old.py\n+++ /dev/null\n@@ -1,5 +0,0 @@\n{lines}")
    imported(other, "one.patch", "--also", tmp_path / "two")
    (spatch,) = (tmp_path / "patchsets/mine").glob("*.spatch")
    assert "--- demo/old.py\n-import os\n-\n-\n-def answer():\n-...\n" in spatch.read_text()
    done(World.__call__(other, "check", "mine", "--patch-dir", "patchsets", "--against", tmp_path / "two"))
