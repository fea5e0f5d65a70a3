"""A receipt belongs to a file and a patchset: after reinstalls, upgrades and edits nothing is forgotten and nothing wrong is claimed."""

import json
import os

import pytest

from tests.command import done, sitepatch, tree
from tests.records import with_record, write_files, write_patchset

TEXT = 'def load(path):\n    data = open(path, "r")\n    return data\n\n\ndef save(path, out):\n    print(path, out, 2)\n    return out\n'
FILE, ADDED = "pk/a.py", "pk/_extra.py"
HUNKS = {
    "cc": ("save", "print(path, out, 2)", "print(path, out, 2, 3)"),
    "dd": ("load", 'open(path, "r")', 'open(path, "rb")'),
    "ee": ("load", "return data", "return data, 1"),
}


class Place:
    """A directory of the package `pk` and patchsets of its one file, of which cc adds a file, too."""

    def __init__(self, folder):
        self.folder, self.site, self.file = folder, folder / "site", folder / "site" / FILE
        for name in HUNKS:
            self.write(name)

    def write(self, name, why="Why.", more="", **tables):
        scope, old, new = HUNKS[name]
        added = f"\n+++ {ADDED}\n+def helper():\n+    return 1\n" if name == "cc" else ""
        spatch = f"{why}\n\n--- {FILE}\n@@ {scope} @@\n-{old}\n+{new}\n{more}{added}"
        write_patchset(self.folder / "patches", name, spatch, "pk", **{"kind": "fix", **tables})

    def install(self, version="1.0", text=TEXT):
        """Install like an installer: files that it did not install stay."""
        for old in self.site.glob("pk-*.dist-info"):
            for path in old.iterdir():
                path.unlink()
            old.rmdir()
        write_files(self.site, with_record("pk", version, {"pk/__init__.py": "", FILE: text}))
        return self

    def __call__(self, *words, code=0):
        return done(sitepatch(*words, "--target", "site", "--patch-dir", "patches", cwd=self.folder), code)

    def apply(self, *names, code=0):
        return self("apply", *names, "--verify", "none", code=code)

    def states(self):
        """The state of each patchset in `status`, which is that in `list`; and the exit code of `status --check`."""
        ended = sitepatch("status", "--check", "--json", "--target", "site", "--patch-dir", "patches", cwd=self.folder)
        answer = json.loads(ended.out)
        states = {each["name"]: each["state"] for each in answer["patchsets"]}
        listed = {each["name"]: each["state"] for each in json.loads(self("list", "--json").out)["patchsets"]}
        assert {name: listed[name] for name in states} == states
        assert ended.code == int(any(state != "applied" for state in states.values()) or bool(answer["damaged"]))
        return states


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path).install()


def reinstalled(place):
    place.apply(*HUNKS)
    return place.install()


# the state of a patchset is the worst of its files --------------------------------------------------------------------
@pytest.mark.quick
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_added_file_that_an_installer_left_behind_proves_nothing(place, version):
    place.apply("cc")
    assert place.states() == {"cc": "applied"}
    place.install(version, TEXT + "\n\nNEW = 1\n")
    assert place.states() == {"cc": "overwritten"}
    out = place("status").out
    assert f"{ADDED}: the patchset added it, and the install left it behind" in out
    assert f"{FILE}: " in out and "our change is gone" in out


def test_files_fixed_by_a_new_release_do_not_count_where_the_others_are_applied(tmp_path):
    folder, manifest = tmp_path / "patches/both", 'schema = 1\nname = "both"\nversion = "1"\nkind = "fix"\nsummary = "For a test"\n'
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        manifest += f'[[variant]]\npackage = "{name}"\nversions = ""\npatches = ["{name}.spatch"]\n'
        (folder / f"{name}.spatch").write_text(f"Why.\n\n--- {name}/__init__.py\n@@ <module> @@\n-A = 1\n+A = 2\n")
        write_files(tmp_path / "site", with_record(name, "1", {f"{name}/__init__.py": "A = 1\n"}))
    (folder / "patchset.toml").write_text(manifest)

    def run(*words, code=0):
        return done(sitepatch(*words, "--target", "site", "--patch-dir", "patches", cwd=tmp_path), code)

    def upgrade(name):
        for path in (tmp_path / f"site/{name}-1.dist-info").iterdir():
            path.unlink()
        (tmp_path / f"site/{name}-1.dist-info").rmdir()
        write_files(tmp_path / "site", with_record(name, "2", {f"{name}/__init__.py": "A = 2\nB = 1\n"}))

    run("apply", "both", "--verify", "none")
    upgrade("one")
    answer = json.loads(run("status", "--check", "--json").out)
    assert [each["state"] for each in answer["patchsets"]] == ["applied"]
    assert {each["path"]: each["patchsets"][0]["state"] for each in answer["files"]} == {"one/__init__.py": "upstream", "two/__init__.py": "applied"}
    upgrade("two")
    assert json.loads(run("status", "--check", "--json", code=1).out)["patchsets"][0]["state"] == "upstream"


def test_a_patchset_whose_pristine_copy_is_lost_is_damaged_and_not_applied(place):
    place.apply("cc", "dd")
    for copy in (place.site / ".sitepatch/pristine").iterdir():
        copy.unlink()
    assert place.states() == {"cc": "damaged", "dd": "damaged"}


# who drops a receipt --------------------------------------------------------------------------------------------------
@pytest.mark.quick
def test_what_a_reinstall_took_away_is_overwritten_until_a_command_names_it(place):
    reinstalled(place)
    assert place.states() == dict.fromkeys(HUNKS, "overwritten")
    ended = place.apply("ee")
    assert "the change of cc, dd, ee is gone; still overwritten: cc, dd" in ended.out + ended.err
    assert place.states() == {"cc": "overwritten", "dd": "overwritten", "ee": "applied"}
    assert place.file.read_text() == TEXT.replace("return data", "return data, 1")
    before = tree(place.site / "pk")
    assert "our change is gone already; the file was left alone" in place("restore", "dd").out
    assert tree(place.site / "pk") == before
    assert place.states() == {"cc": "overwritten", "ee": "applied"}
    place.apply("cc")
    assert place.states() == {"cc": "applied", "ee": "applied"}
    place("restore")
    assert place.file.read_text() == TEXT and not (place.site / ".sitepatch").exists() and not (place.site / ADDED).exists()


def test_of_what_is_named_altogether_nothing_is_still_overwritten(place):
    reinstalled(place)
    ended = place.apply(*HUNKS)
    assert f"the change of {', '.join(HUNKS)} is gone; what is named now is for the new file" in ended.out + ended.err
    assert "still overwritten" not in ended.out + ended.err
    assert place.states() == dict.fromkeys(HUNKS, "applied")


def test_restore_of_one_leaves_the_others_of_a_file_that_was_replaced_overwritten(place):
    reinstalled(place)
    place("restore", "ee")
    assert place.states() == {"cc": "overwritten", "dd": "overwritten"}
    assert place.file.read_text() == TEXT
    assert "nothing is applied" not in place("restore", "cc").out
    assert place.states() == {"dd": "overwritten"} and not (place.site / ADDED).exists()
    place("restore")
    assert not (place.site / ".sitepatch").exists()


def test_an_upgrade_is_reported_for_what_it_removed_whatever_was_applied_since(place):
    place.apply("dd", "ee")
    place.install("2.0")
    place.apply("ee")
    out = place("status", code=0).out
    assert "pk 2.0 was installed over 1.0, our change is gone" in out
    assert place.states() == {"dd": "overwritten", "ee": "applied"}
    place.install("3.0", TEXT.replace('"r"', '"rb"'))
    assert place.states() == {"dd": "upstream", "ee": "overwritten"}


@pytest.mark.parametrize(("first", "second"), [("aa", "dd"), ("dd", "aa")])
def test_of_two_patchsets_that_make_the_same_change_each_is_applied_until_it_is_restored(place, first, second):
    scope, old, new = HUNKS["dd"]
    write_patchset(place.folder / "patches", "aa", f"Why.\n\n--- {FILE}\n@@ {scope} @@\n-{old}\n+{new}\n", "pk", kind="fix")
    place.apply(first)
    assert "upstream" not in place.apply(second).out
    assert place.states() == {"aa": "applied", "dd": "applied"}
    place("restore", first)
    assert place.states() == {second: "applied"} and new in place.file.read_text()
    place("restore", second)
    assert place.file.read_text() == TEXT


def test_a_file_that_was_deleted_comes_back_as_it_was_and_the_others_are_overwritten(place):
    place.apply("dd", "ee")
    place.file.unlink()
    assert place.states() == {"dd": "missing", "ee": "missing"}
    place("restore", "dd")
    assert place.file.read_text() == TEXT and place.states() == {"ee": "overwritten"}


# edits by hand --------------------------------------------------------------------------------------------------------
def test_an_edit_after_a_reinstall_belongs_to_the_user_and_restore_touches_nothing(place):
    untouched = Place(place.folder / "other").install()
    reinstalled(place)
    mine = TEXT.replace("def save", "# mine\ndef save")
    for each in (place, untouched):
        each.file.write_text(mine)
    assert place.states() == dict.fromkeys(HUNKS, "overwritten")
    refusals = [each.apply("dd", code=1).out for each in (place, untouched)]
    assert refusals[0] == refusals[1] and "somebody edited it" in refusals[0]
    assert place.file.read_text() == mine
    place.apply("dd", "--force")
    assert place.file.read_text() == mine.replace('"r"', '"rb"')
    place("restore", "dd")
    assert place.file.read_text() == mine
    place("restore")
    assert place.file.read_text() == mine and "nothing is applied" in place("status").out


def test_an_edit_of_a_patched_line_counts_as_an_edit_of_our_change(place):
    reinstalled(place)
    place.file.write_text(TEXT.replace('"r"', '"w"'))
    assert set(place.states().values()) == {"edited by hand"}


@pytest.mark.parametrize("name", HUNKS)
def test_a_patchset_is_restored_beside_an_edit_of_what_another_one_changed(place, name):
    place.apply(*HUNKS)
    for other in HUNKS.keys() - {name}:
        place.file.write_text(place.file.read_text().replace(HUNKS[other][2], f"{HUNKS[other][2]}  # mine"))
    patched = place.file.read_text()
    place("restore", name)
    assert place.file.read_text() == patched.replace(HUNKS[name][2], HUNKS[name][1])
    assert place.states() == dict.fromkeys(HUNKS.keys() - {name}, "edited by hand")


# what a restore gives back ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", ["restore", "apply"])
def test_mode_owner_and_mtime_are_those_of_the_last_install(place, command):
    place.apply("dd")
    place.install()
    place.file.chmod(0o600)
    os.utime(place.file, ns=(1_500_000_000_000_000_007,) * 2)
    if os.geteuid() == 0:
        os.chown(place.file, 33333, 33333)
    before = place.file.stat()
    if command == "apply":
        place.apply("dd")
        patched = place.file.stat()
        assert (patched.st_mode, patched.st_uid) == (before.st_mode, before.st_uid)
    place("restore")
    after = place.file.stat()
    assert place.file.read_text() == TEXT
    assert all(getattr(after, field) == getattr(before, field) for field in ("st_mode", "st_uid", "st_gid", "st_mtime_ns"))


# another version ------------------------------------------------------------------------------------------------------
@pytest.mark.quick
def test_only_a_different_result_makes_a_patchset_outdated(place):
    place.write("dd", versions=">=1.0,<2")
    place.apply("dd", "ee")
    place.write("dd", versions=">=1.0,<3", version="2")
    assert place.states() == {"dd": "applied", "ee": "applied"}
    place.write("dd", why="Why, told better.", versions=">=1.0,<3", version="2")
    assert place.states() == {"dd": "applied", "ee": "applied"}
    place.write("dd", more="\n@@ save @@\n-return out\n+return path, out\n")
    assert place.states() == {"dd": "outdated", "ee": "applied"}
    assert "dd 1 (--patch-dir patches) differs from the applied one" in place("status").out
    place.write("dd", versions="<1")
    assert place.states() == {"dd": "outdated", "ee": "applied"}


# words ----------------------------------------------------------------------------------------------------------------
def test_a_page_names_for_a_change_only_the_patchsets_that_make_it(place):
    place.apply("dd")
    place("diff", "dd", "ee", "--html", "page.html")
    page = (place.folder / "page.html").read_text()
    assert "would be changed by ee<" in page and "would be changed by dd" not in page
    planned = json.loads(place("diff", "ee", "--json").out)
    assert [each["patchsets"] for each in planned["planned"]] == [["ee"]]


def test_a_package_that_is_not_installed_is_not_a_failed_hunk(place):
    write_patchset(place.folder / "patches", "absent", "Why.\n\n--- none/a.py\n@@ f @@\n-a\n+b\n", "none")
    ended = place.apply("absent", code=1)
    assert "nothing was written: none cannot be patched here" in ended.err and "hunk" not in ended.err
    ended = place.apply("absent", "dd", code=1)
    assert "nothing was written: none cannot be patched here" in ended.err
