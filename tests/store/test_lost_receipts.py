"""A receipt that somebody deleted or damaged: what it was about is neither forgotten nor in the way of the rest."""

import json
import subprocess

import pytest

from tests.command import done, tree
from tests.installed.sites import install
from tests.places import command, patchset

pytestmark = pytest.mark.once
OLD = "VALUE = 1\n"


class Two:
    """A site directory in which `m` and `n` stand changed, by patchsets of their own."""

    def __init__(self, folder):
        self.folder, self.site = folder, folder / "site"
        install(self.site, {"demo/__init__.py": "", "demo/m.py": OLD, "demo/n.py": "VALUE = 1\n\n"})
        self.before = tree(self.site)
        self.m, self.n, self.home = self.site / "demo" / "m.py", self.site / "demo" / "n.py", self.site / ".sitepatch"
        patchset(folder)
        patchset(folder, path="demo/n.py", name="other")
        done(self("apply", "two", "other", "--verify", "none"))

    def __call__(self, *words):
        return command(self.folder, *words, "--target", self.site)

    def receipt(self, path):
        files = list((self.home / "receipts").iterdir())
        (file,) = (file for file in files if json.loads(file.read_text())["path"] == path)
        return file

    def pristine(self, text):
        (file,) = (file for file in (self.home / "pristine").iterdir() if file.read_text() == text)
        return file


@pytest.fixture
def two(tmp_path):
    return Two(tmp_path)


@pytest.mark.parametrize("gone", ["one", "all", "the folder"])
def test_what_a_deleted_receipt_was_about_is_kept_and_reported_until_it_is_put_back(two, gone):
    two.receipt("demo/m.py").unlink()
    if gone != "one":
        two.receipt("demo/n.py").unlink()
    if gone == "the folder":
        (two.home / "receipts").rmdir()
    copy = two.pristine(OLD)
    problem = f"{copy}: is the pristine copy of demo/m.py, which is changed and has no receipt"
    assert "see: sitepatch status" in done(two("doctor"), 1).out
    for words in (["status", "--check"], ["restore"], ["restore"], ["status", "--check"]):
        ended = done(two(*words), 1)
        assert problem in ended.out + ended.err, words
        assert copy.read_text() == OLD and two.m.read_text() != OLD
    if gone == "one":
        assert two.n.read_text() == "VALUE = 1\n\n"  # what can be restored is
    hints = [line for line in two("status").out.split("\n") if "cp -p" in line]
    hint = next(line for line in hints if "demo/m.py" in line)
    subprocess.run(["sh", "-c", hint.split("copy: ")[1]], check=True)
    assert problem not in two("status").out
    done(two("apply", "two"))
    done(two("restore", "two"), int(gone != "one"))
    assert two.m.read_text() == OLD


def test_a_damaged_receipt_does_not_keep_other_files_from_being_restored(two):
    bad = two.receipt("demo/m.py")
    text = bad.read_bytes()
    bad.write_bytes(b"{}")
    ended = done(two("restore"), 1)
    assert f"{bad}: " in ended.out + ended.err
    assert two.n.read_text() == "VALUE = 1\n\n" and two.m.read_text() != OLD
    assert bad.exists() and two.pristine(OLD)
    answer = json.loads(two("restore", "--json").out)
    assert answer["ok"] is False and str(bad) in answer["damaged"][0]["problem"]
    ended = done(two("status", "--check"), 1)
    assert f"{bad}: " in ended.out + ended.err
    assert "see: sitepatch status" in done(two("doctor"), 1).out
    assert done(two("apply", "other"), 1).err.count(str(bad))  # nothing is planned on what is not known
    bad.write_bytes(text)
    done(two("restore"))
    after = tree(two.site)
    assert {name: after[name] for name in two.before} == two.before
    assert "nothing is applied" in done(two("status", "--check")).out


def test_what_a_restore_leaves_is_nothing(two):
    done(two("restore", "other"))
    assert [each.name for each in (two.home / "pristine").iterdir()] == [two.pristine(OLD).name]
    done(two("restore"))
    assert not two.home.exists()


def test_a_forgotten_and_a_merged_file_leave_no_copy_behind(two):
    two.m.write_text(two.m.read_text() + "\nMORE = 1\n")
    two.n.write_text("VALUE = 1\n\n")  # as a reinstall puts it there
    done(two("restore"))
    assert two.m.read_text() == OLD + "\nMORE = 1\n"
    assert not two.home.exists()
    assert done(two("status", "--check")).code == 0


def test_status_says_which_pristine_copy_is_lost_and_doctor_names_status(two):
    two.pristine(OLD).unlink()
    two.n.unlink()  # nothing to go back from there: no copy is missed
    two.pristine("VALUE = 1\n\n").unlink()
    status, doctor = (json.loads(two(word, "--json").out) for word in ("status", "doctor"))
    problem = {each["problem"] for each in status["damaged"]}
    assert len(problem) == 1
    assert {each["hint"] for each in doctor["findings"] if each["check"] == "applied"} == {f"see: sitepatch status --target {two.site} --patch-dir {two.folder / 'mine'}"}
