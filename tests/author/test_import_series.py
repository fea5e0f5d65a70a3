"""`sitepatch import` of several patches: a series with a `.spatch` for each, each read on top of those before it."""

import json
import shutil
import subprocess
from contextlib import closing

import pytest

from patcher.errors import UsageError
from patcher.patchset.layers import patch_names
from patcher.patchset.manifest import load_patchset
from patcher.place import Place
from patcher.verbs.import_ import import_
from tests.author.world import EDIT, FILES, GONE, LAYOUT, NEW, M, World, another, diff, editor
from tests.command import done, tree
from tests.index import Index, wheel

SAID = EDIT.replace('"loaded"', '"read"')
CHECKED = SAID.replace("    if strict:", "    if strict is True:")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, LAYOUT)


def run(world, *paths, name="vendor", **more):
    return import_(paths, name=name, place=Place(target=world.path), output=world.cwd / "patchsets", **more)


def states(outcome):
    return [(result.name, result.state) for result in outcome.patches]


def quilt(world, **patches):
    """Write debian/patches with a series of these patches."""
    folder = world.cwd / "debian" / "patches"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "series").write_text("# ours\n" + "".join(f"{name}.patch -p1\n" for name in patches))
    for name, text in patches.items():
        (folder / f"{name}.patch").write_text(text)
    return folder


ONE = "Description: Say it\n It was not known.\nAuthor: Max <m@example.com>\nBug-Debian: https://bugs.debian.org/3\n\n" + diff()
TWO = "Description: Say it well\nAuthor: Zoe\n\n" + diff(EDIT, SAID)
THREE = "Subject: Be strict\nOrigin: vendor\n\n" + diff(SAID, CHECKED)


@pytest.mark.once
def test_each_patch_of_a_series_is_a_spatch_that_is_read_after_those_before_it(world):
    quilt(world, one=ONE, two=TWO, three=THREE)
    ended = done(world("import", "debian/patches", "--name", "vendor"))
    rows = [line.split()[:2] for line in ended.out.splitlines()[:3]]
    assert rows == [["imported", "one"], ["imported", "two"], ["imported", "three"]]
    assert "3 of 3 patches in patchsets/vendor, for demo ==1.0" in ended.out
    assert done(world("import", "debian/patches", "--name", "quiet", "-q")).out == ""
    folder = world.cwd / "patchsets" / "vendor"
    patchset = load_patchset(folder, "")
    assert list(patchset.folder.files) == ["patchset.toml", "one.spatch", "two.spatch", "three.spatch"]
    assert patchset.folder.files["one.spatch"].startswith(
        "Description: Say it\nBug: https://bugs.debian.org/3\nAuthor: Max <m@example.com>\n\nIt was not known.\n\n--- demo/m.py\n"
    )
    assert '-print("loaded", ' in patchset.folder.files["two.spatch"] or '-"loaded"' in patchset.folder.files["two.spatch"]
    done(world("apply", "vendor"))
    assert compile(world.text(), "m.py", "exec") and world.text() == CHECKED
    done(world("restore"))
    assert world.text() == M


@pytest.mark.once
def test_mails_plain_diffs_and_lists_of_files_are_imported_in_order(world):
    repository = world.cwd / "repository"
    (repository / "demo").mkdir(parents=True)

    def git(*words):
        identity = ["-c", "user.name=Zoë", "-c", "user.email=z@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=repository, check=True, stdout=subprocess.PIPE)

    git("init", "-q")
    for text, subject in ((M, "first"), (EDIT, "Say it: now"), (SAID, "Say it well")):
        (repository / "demo" / "m.py").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", f"{subject}\n\nWhy: it was not known.")
    git("format-patch", "-q", "-2", "-o", "../mails")
    (world.cwd / "strict.diff").write_text(diff(SAID, CHECKED))
    outcome = run(world, world.cwd / "mails", world.cwd / "strict.diff")
    assert states(outcome) == [("0001-Say-it-now", "imported"), ("0002-Say-it-well", "imported"), ("strict", "imported")]
    text = outcome.patchset.folder.files["0001-Say-it-now.spatch"]
    assert text.startswith("Description: Say it: now\nOrigin: commit ") and "Author: Zoë <z@example.com>\nLast-Update: 20" in text
    mailbox = b"".join(path.read_bytes() for path in sorted((world.cwd / "mails").iterdir()))
    outcome = run(world, "standard input", name="mailbox", data=mailbox)
    assert states(outcome) == [("0001-say-it-now", "imported"), ("0002-say-it-well", "imported")]
    assert outcome.files[0].text.decode().count("\n+") == 2


def test_a_patch_adds_a_file_that_the_next_one_changes(world):
    quilt(world, one=NEW.format("demo/new.py"), two=diff("x = 1\n", "x = 2\n", "a/demo/new.py"), three=ONE)
    before = world.tree()
    assert "3 of 3 patches" in done(world("import", "debian/patches", "--name", "vendor")).out
    done(world("apply", "vendor"))
    assert (world.text("demo/new.py"), world.text()) == ("x = 2\n", EDIT)
    done(world("restore"))
    assert world.tree() == before
    done(world("export", "vendor", "--output", "out"))
    for patch in sorted((world.cwd / "out").iterdir()):
        subprocess.run(["patch", "-p1", "-s", "-i", str(patch)], cwd=str(world.path), check=True)
    assert world.text("demo/new.py") == "x = 2\n"
    four = diff(EDIT, SAID)
    (world.cwd / "debian/patches/series").write_text("one.patch\ntwo.patch\nthree.patch\nfour.patch\n")
    (world.cwd / "debian/patches/four.patch").write_text(four)
    (world.path / "demo/new.py").unlink()
    world.edit(M)
    assert "4 of 4 patches" in done(world("import", "debian/patches", "--name", "vendor")).out


def test_what_cannot_be_imported_is_named_and_once_mended_only_that_is_imported(world):
    wrong = diff(SAID, CHECKED).replace("@@ -", "@@ -9", 1).replace(" def load(path, strict=True):", " def load(somewhere):")
    parts = {"one": ONE, "bad": TWO.replace("loaded", "gone"), "new": diff("x\n", "y\n", "a/demo/gone.py"), "docs": diff("x\n", "y\n", "a/docs/conf.py")}
    folder = quilt(world, **parts, broken=wrong.replace("@@ -", "@@ -1,99 +"), value=diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py"))
    with (folder / "series").open("a") as series:
        series.write("back.patch -R\nabsent.patch\n")
    ended = done(world("import", "debian/patches", "--name", "vendor", "--json"), 1)
    answer = json.loads(ended.out)
    err = done(world("import", "debian/patches", "--name", "again"), 1).err
    assert "not imported: 5 of 8 patches; once mended, the same command imports them" in err
    patches = {patch["name"]: patch for patch in answer["patches"]}
    assert {name: patch["state"] for name, patch in patches.items()} == {
        "one": "imported", "bad": "not imported", "new": "not imported", "docs": "left out", "broken": "not imported",
        "value": "imported", "back": "not imported", "absent": "not imported",
    }  # fmt: skip
    assert "no line `print(\"gone\", model)" in patches["bad"]["problem"] and "demo/gone.py: no installed file" in patches["new"]["problem"]
    assert "(-R)" in patches["back"]["problem"] and "No such file" in patches["absent"]["problem"]
    spatch = world.cwd / "patchsets" / "vendor" / "one.spatch"
    spatch.write_text(spatch.read_text() + "\n")
    toml = world.cwd / "patchsets" / "vendor" / "patchset.toml"
    toml.write_text(toml.read_text().replace('summary = "', '# ours\nsummary = "Our '))
    quilt(world, one=ONE, two=TWO, docs=parts["docs"], three=THREE, value="not read again")
    ended = done(world("import", "debian/patches", "--name", "vendor"))
    assert [line.split()[:3] for line in ended.out.splitlines()[:5]] == [
        ["in", "place", "one"], ["imported", "two", "1"], ["left", "out", "docs"], ["imported", "three", "1"], ["in", "place", "value"],
    ]  # fmt: skip
    patchset = load_patchset(toml.parent, "")
    assert list(patchset.folder.files) == ["patchset.toml", "one.spatch", "two.spatch", "three.spatch", "value.spatch"]
    assert "# ours" in patchset.folder.files["patchset.toml"] and patchset.about.summary.startswith("Our ")
    assert patchset.folder.files["one.spatch"].endswith("\n\n")
    before = tree(toml.parent)
    assert "in place" in done(world("import", "debian/patches", "--name", "vendor")).out and tree(toml.parent) == before
    done(world("apply", "vendor"))
    assert world.text() == CHECKED and world.text("demo/n.py") == "VALUE = 2\n"


@pytest.mark.once
@pytest.mark.parametrize("top", ["a", "demo.orig"])
def test_a_patch_that_may_need_one_that_is_not_imported_says_so(world, top):
    bad = TWO.replace("loaded", "gone")
    folder = quilt(world, bad=bad, two=TWO.replace("--- a/", f"--- {top}/"))
    ended = done(world("import", str(folder), "--name", "vendor", "--json"), 1)
    hints = {patch["name"]: patch.get("hint", "") for patch in json.loads(ended.out)["patches"]}
    assert "bad" not in hints["bad"] and hints["two"] == "it may need bad, which is not imported"


def test_a_patch_of_two_packages_is_one_spatch(world):
    both = diff() + diff("X = 1\n", "X = 2\n", "a/other/m.py")
    quilt(world, both=both, two=TWO)
    outcome = run(world, world.cwd)
    assert states(outcome) == [("both", "imported"), ("two", "imported")]
    assert [(variant.package, len(variant.patches)) for variant in outcome.patchset.variants] == [("demo", 2), ("other", 1)]
    done(world("apply", "vendor"))
    assert world.text() == SAID and world.text("other/m.py") == "X = 2\n"


def test_further_releases_follow_patch_by_patch(world):
    other = another(world, {**FILES, "demo/m.py": M.replace("    if strict:\n", "    if strict:  # or not\n")})
    (world.cwd / "other" / "third").mkdir()
    third = World(world.cwd / "other" / "third", {**FILES, "demo/m.py": GONE})
    quilt(world, one=ONE, two=TWO)
    outcome = run(world, world.cwd, also=(str(other.path), str(third.path)))
    assert [release.state for release in outcome.releases] == ["applicable", "not found"] and outcome.ok


def test_what_is_left_out_is_listed_patch_by_patch(world):
    note = NEW.format("changelog.d/12.rst")
    quilt(world, one=ONE + note + NEW.format("demo/tests/test_new.py"), two=TWO, three=THREE + NEW.format("releasenotes/x.yaml"))
    out = done(world("import", "debian/patches", "--name", "vendor")).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:8] == [
        "imported one 1 hunk", "imported two 1 hunk", "imported three 1 hunk",
        "imported one", "left out: changelog.d/12.rst, a new file", "left out: demo/tests/test_new.py, a new file",
        "imported three", "left out: releasenotes/x.yaml, a new file",
    ]  # fmt: skip
    answer = json.loads(done(world("import", "debian/patches", "--name", "again", "--json")).out)
    assert {patch["name"]: [part["path"] for part in patch["left_out"]] for patch in answer["patches"]} == {
        "one": ["changelog.d/12.rst", "demo/tests/test_new.py"],
        "two": [],
        "three": ["releasenotes/x.yaml"],
    }


def test_a_new_file_begins_where_the_other_files_of_its_patch_do(world):
    """As quilt writes them: one folder above all; what is outside of the package is left out and named."""
    changed = ONE.replace("a/demo/", "demo.orig/demo/").replace("b/demo/", "demo/demo/")
    new = ""
    for path in ("demo/helper.py", "tools/gen.py", "demo.d/a.py"):
        new += f"--- /dev/null\n+++ demo/{path}\n@@ -0,0 +1 @@\n+X = 1\n"
    without_head = changed[changed.index("--- ") :]
    for name, text in {"after": changed + new, "before": new + without_head}.items():
        (world.cwd / "fix.patch").write_text(text)
        out = done(world("import", "fix.patch", "--name", name)).out
        spatch = (world.cwd / "patchsets" / name / "fix.spatch").read_text()
        headers = [line for line in spatch.splitlines() if line.startswith(("--- ", "+++ "))]
        assert sorted(headers) == ["+++ demo/helper.py", "--- demo/m.py"]
        assert "left out  demo/tools/gen.py" in out
        assert "left out  demo/demo.d/a.py" in out


def test_a_new_text_file_comes_with_a_newline_at_its_end_and_is_needed_by_nothing(world):
    late = diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py") + "--- /dev/null\n+++ b/demo/note.txt\n@@ -0,0 +1 @@\n+no newline\n\\ No newline at end of file\n"
    quilt(world, one=ONE, late=late, two=TWO)
    done(world("import", "debian/patches", "--name", "vendor"))
    assert lists(world.cwd / "patchsets/vendor") == {"==1.0": ["one", "late", "two"]}
    assert "+++ demo/note.txt when-present\n+no newline\n" in (world.cwd / "patchsets/vendor/late.spatch").read_text()
    (world.path / "demo/n.py").write_text("VALUE = 2\n")
    (world.path / "demo/note.txt").write_text("of somebody\n")
    answer = json.loads(done(world("apply", "vendor", "--force", "--dry-run", "--json")).out)
    of_late = [row for row in answer["answers"] if row["origin"].endswith("late.spatch")]
    assert {row["path"]: row["state"] for row in of_late} == {"demo/n.py": "upstream", "demo/note.txt": "not needed"}


def test_tests_and_documentation_that_ship_come_along(tmp_path):
    world = World(tmp_path, {**LAYOUT, "demo/test/__init__.py": "", "demo/test/test_m.py": "VALUE = 1\n", "demo/README.rst": "Old.\n", "demo/NEWS.md": "1\n"})
    more = diff("VALUE = 1\n", "VALUE = 2\n", "a/src/demo/test/test_m.py") + diff("Old.\n", "New.\n", "a/src/demo/README.rst")
    quilt(world, one=ONE + NEW.format("src/demo/test/test_n.py") + more + diff("2\n", "3\n", "a/src/demo/NEWS.md"))
    ended = done(world("import", "debian/patches", "--name", "vendor"))
    assert "left out src/demo/NEWS.md documentation that ships with other lines" in " ".join(ended.out.split())
    done(world("apply", "vendor"))
    assert world.text("demo/README.rst") == "New.\n" and world.text("demo/test/test_m.py") == "VALUE = 2\n"
    assert (world.path / "demo/test/test_n.py").exists()


def test_a_patch_of_comments_alone_is_reported_as_such_and_stops_no_other(world):
    quilt(world, one=ONE, words=diff(EDIT, EDIT.replace("# where is it?", "# here")), two=TWO)
    out = done(world("import", "debian/patches", "--name", "vendor")).out
    assert "it changes nothing but comments and layout" in out and "2 of 3 patches" in out


CHECK = '    if not model:\n        raise ValueError("empty")\n'
HELPERS = "\n\ndef check_name(model): ...\n\n\ndef check_size(model): ...\n"
UNDONE = {
    "of what replaced other code": M.replace(CHECK, "    check_name(model)\n    check_size(model)\n") + HELPERS,
    "of what was inserted": M.replace(CHECK, CHECK + "    check_name(model)\n    check_size(model)\n") + HELPERS,
    "of what was inserted, the first line": M.replace(CHECK, CHECK + "    check_size(model)\n    check_name(model)\n") + HELPERS,
}


@pytest.mark.parametrize("both", UNDONE.values(), ids=list(UNDONE))
def test_a_series_that_undoes_part_of_itself_is_upstream_where_its_result_is(world, tmp_path, both):
    left = both.replace("    check_size(model)\n", "")
    quilt(world, first=diff(M, both), second=diff(both, left))
    done(world("import", "debian/patches", "--name", "vendor"))
    done(world("apply", "vendor", "--verify", "none"))
    assert world.text("demo/m.py") == left
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other", {**LAYOUT, "demo/m.py": left})
    applied = done(other("apply", "vendor", "--patch-dir", world.cwd / "patchsets", "--verify", "none"))
    assert "nothing to do" in applied.out + applied.err
    assert other.text("demo/m.py") == left


def test_statements_that_were_moved_in_a_function_are_upstream_where_they_were_moved(tmp_path):
    report = "    print(model)\n    print(path)\n"
    before = M.replace("    if strict:\n", report + "    if strict:\n")
    moved = M.replace("        check(model)\n", "        check(model)\n" + report.replace("    ", "        "))
    worlds = {}
    for name, text in {"before": before, "moved": moved}.items():
        (tmp_path / name).mkdir()
        worlds[name] = World(tmp_path / name, {**LAYOUT, "demo/m.py": text})
    world = worlds["before"]
    quilt(world, move=diff(before, moved))
    done(world("import", "debian/patches", "--name", "vendor"))
    done(world("apply", "vendor", "--verify", "none"))
    assert world.text("demo/m.py") == moved
    applied = done(worlds["moved"]("apply", "vendor", "--patch-dir", world.cwd / "patchsets", "--verify", "none"))
    assert "nothing to do" in applied.out + applied.err
    assert worlds["moved"].text("demo/m.py") == moved


def test_a_directory_without_patches_and_a_taken_name_are_refused(world):
    (world.cwd / "mails").mkdir()
    with pytest.raises(UsageError, match=r"mails: found neither a quilt series nor \*.patch or \*.diff in this directory"):
        run(world, world.cwd / "mails")
    for name, text in (("fix.patch", ONE), ("fix.diff", TWO)):
        (world.cwd / name).write_text(text)
    assert states(run(world, world.cwd / "fix.patch", world.cwd / "fix.diff")) == [("fix", "imported"), ("fix-2", "imported")]
    run(world, world.cwd / "fix.patch", name="single")
    outcome = run(world, world.cwd / "fix.patch", world.cwd / "fix.diff", name="single")
    assert states(outcome) == [("fix", "in place"), ("fix-2", "imported")] and lists(outcome.folder) == {"==1.0": ["fix", "fix-2"]}


@pytest.mark.once
def test_an_exported_series_is_for_git_am_and_patch_and_is_imported_again(world, tmp_path):
    both = "Author: Zoë <z@example.com>\nLast-Update: 2024-01-02\n" + TWO.replace("Author: Zoe\n", "").replace("well", "café")
    quilt(world, **{"a-one": ONE, "a-two": both, "docs": diff("x\n", "y\n", "a/docs/conf.py"), "three": diff(SAID, CHECKED)})
    run(world, world.cwd)
    done(world("apply", "vendor"))
    ended = done(world("export", "vendor", "--output", "out"))
    names = ["0001-a-one.patch", "0002-a-two.patch", "0003-three.patch"]
    assert [line.split("/")[-1] for line in ended.out.splitlines()] == names
    plain, repository = tmp_path / "plain", tmp_path / "repository"
    for folder in (plain, repository):
        (folder / "demo").mkdir(parents=True)
        (folder / "demo" / "m.py").write_text(M)

    def git(*words):
        identity = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *identity, *words], cwd=repository, check=True, stdout=subprocess.PIPE).stdout.decode()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "as upstream has it")
    git("am", "-q", *(str(world.cwd / "out" / name) for name in names))
    assert (repository / "demo" / "m.py").read_text() == CHECKED
    assert git("log", "-1", "--format=%s") == "three\n"
    today = git("log", "-1", "--format=%as").strip()
    assert git("log", "--format=%s|%an|%ae|%as").splitlines()[1:3] == [
        "Say it café|Zoë|z@example.com|2024-01-02",
        f"Say it|Max|m@example.com|{today}",
    ]
    assert "It was not known.\n\nBug: https://bugs.debian.org/3" in git("log", "--format=%b", "--skip=2", "-1")
    for name in names:
        subprocess.run(["patch", "-s", "-p1", "-i", str(world.cwd / "out" / name)], cwd=plain, check=True)
    assert (plain / "demo" / "m.py").read_text() == CHECKED
    outcome = run(world, world.cwd / "out", name="again")
    assert [state for _, state in states(outcome)] == ["imported"] * 3
    first = load_patchset(world.cwd / "patchsets" / "vendor", "").folder.files["a-one.spatch"]
    assert outcome.patchset.folder.files["0001-a-one.spatch"].replace(f"Origin: commit {'0' * 40}\n", "") == first
    (world.cwd / "out" / "0007-other.patch").write_text("")
    assert "found other patches there, 0007-other.patch" in done(world("export", "vendor", "--output", "out"), 2).err


def test_a_series_is_exported_for_another_release(world, monkeypatch):
    quilt(world, one=ONE, two=TWO)
    run(world, world.cwd)
    index = Index()
    try:
        for version, text in (("1.1", "# moved\n" + M), ("1.2", EDIT), ("1.3", OTHER_CODE)):
            index.add("demo", version, {**FILES, "demo/m.py": text})
        variables = index.variables(world.cwd / "cache")
        variables["PIP_NO_INDEX"] = "0"
        done(world("export", "vendor", "--against", "1.1", "--output", "new", **variables))
        assert "@@ -4," in (world.cwd / "new" / "0001-one.patch").read_text()
        ended = done(world("export", "vendor", "--against", "1.2", "--output", "rest", **variables))
        assert "one changes nothing there and is left out" in ended.err
        assert [path.name for path in (world.cwd / "rest").iterdir()] == ["0001-two.patch"]
        ended = done(world("export", "vendor", "--against", "1.3", **variables), 1)
        assert "not found" in ended.err and ended.out == ""
        assert "see: sitepatch update vendor --to 1.3" in ended.err, "what is installed fits"
        assert "no such release" in done(world("export", "vendor", "--against", "9", **variables), 1).err
    finally:
        index.close()


def test_update_widens_what_holds_and_a_patch_that_upstream_has_is_deleted_by_hand(world):
    index = Index()
    try:
        for version, text in (("1.1", "# moved\n" + M), ("1.2", EDIT), ("1.3", EDIT + "\n"), ("1.4", OTHER_CODE)):
            index.add("demo", version, {**FILES, "demo/m.py": text})
        variables = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}
        quilt(world, one=ONE, two=TWO)
        folder = run(world, world.cwd).folder
        ended = done(world("update", "vendor", "--to", "1.1", "--to", "1.2", **variables))
        assert "widened" in ended.out and load_patchset(folder, "").variants[0].versions == ">=1.0,<=1.2"
        assert "since demo 1.2: it can go" in done(world("check", "vendor", "--against", ">=1.2,<1.4", **variables)).out
        (folder / "one.spatch").unlink()
        manifest = folder / "patchset.toml"
        manifest.write_text(manifest.read_text().replace('    "one.spatch",\n', "").replace("<=1.2", "<=1.3"))
        done(world("check", "vendor", "--against", "1.3", **variables))
    finally:
        index.close()


def test_update_opens_what_drifted_patch_by_patch_and_resumes(world):
    checked = OTHER_CODE.replace('ValueError("empty")', 'KeyError("nothing")')
    two = "Subject: Say what\nAuthor: Zoe\n\n" + diff(EDIT, EDIT.replace('"empty"', 'f"empty: {model!r}"'))
    code = (
        "text = path.read_text()\nassert '# sitepatch: ' in text and text.count('# sitepatch: @@') == 1\n"
        "old, new = ('    return model\\n', '    print(model)\\n    return model\\n')\n"
        "if '@@ check @@' in text:\n    assert '    print(model)\\n    return model' in text, 'as the patch before makes it'\n"
        "    assert '# sitepatch: -' in text and '# sitepatch: +' in text, 'both sides'\n"
        "    {}old, new = ('\"nothing\"', 'f\"nothing: {{model!r}}\"')\npath.write_text(text.replace(old, new))"
    )
    with closing(Index()) as index:
        index.add("demo", "1.4", {**FILES, "demo/m.py": checked})
        variables = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}
        quilt(world, one=ONE, two=two, value=diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py"))
        folder = run(world, world.cwd).folder
        words = ("update", "vendor", "--to", "1.4", "--edit")
        ended = done(world(*words, **variables, **editor(world, code.format("sys.exit(1)  # "))), 1)
        assert "one-1.4.spatch" in ended.out and "next: two" in ended.out and "ended with exit code 1" in ended.err, ended.err
        assert load_patchset(folder, "").variants[1].versions == "==1.4"
        ended = done(world(*words, **variables, **editor(world, code.format(""))))
        assert "two-1.4.spatch" in ended.out and "one-1.4" not in ended.out
        first, second = load_patchset(folder, "").variants
        assert (first.versions, second.versions) == ("==1.0", "==1.4")
        names = [patch.hunks[0].origin.rpartition("/")[2] for patch in second.patches]
        assert names == ["one-1.4.spatch", "two-1.4.spatch", "value.spatch"]
        assert "Author: Zoe" in (folder / "two-1.4.spatch").read_text()
        done(world("check", "vendor", "--against", "1.4", **variables))
        assert "nothing to update" in done(world(*words, **variables, **editor(world, "")), 1).err
        assert '+        raise KeyError(f"nothing: {model!r}")' in done(world("export", "vendor", "--against", "1.4", **variables)).out
    done(world("apply", "vendor"))  # the release that is installed


@pytest.mark.once
def test_a_series_with_variants_stays_one_for_check_update_import_and_status(world):
    value = diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py")
    what = "Subject: Say what\n\n" + diff(EDIT, EDIT.replace('"empty"', 'f"empty: {model!r}"'))
    code = (
        "text = path.read_text()\nold, new = ('    return model\\n', '    print(model)\\n    return model\\n')\n"
        "path.write_text(text.replace(old, new))"
    )
    newest = {**FILES, "demo/m.py": OTHER_CODE, "demo/n.py": "VALUE = 2\n"}
    with closing(Index()) as index:
        for version, files in (("1.0", FILES), ("1.4", {**newest, "demo/n.py": "VALUE = 1\n"}), ("1.5", newest)):
            index.add("demo", version, files)
        variables = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}
        quilt(world, one=ONE, value=value)
        folder = run(world, world.cwd).folder
        done(world("update", "vendor", "--to", "1.4", "--edit", **variables, **editor(world, code)))
        words = ("check", "vendor", "--against", ">=1.0", "--html", "page.html")
        lines = [line.split() for line in done(world(*words, **variables)).out.splitlines()]
        assert [line for line in lines if line[:1] in (["patch"], ["one"], ["one-1.4"], ["value"], ["total"])] == [
            ["patch", "1.0", "1.4", "1.5"],
            ["one", "applicable", "-", "-"],
            ["one-1.4", "-", "applicable", "applicable"],
            ["value", "applicable", "applicable", "upstream"],
            ["total", "2", "of", "2", "2", "of", "2", "2", "of", "2"],
        ]
        assert all(f">{name}<" in (world.cwd / "page.html").read_text() for name in ("one", "one-1.4", "value"))
        # what upstream has is deleted by hand from the variant for those releases
        manifest = folder / "patchset.toml"
        text = manifest.read_text().replace('"one-1.4.spatch",\n    "value.spatch",\n', '"one-1.4.spatch",\n')
        manifest.write_text(text.replace("==1.4", "==1.5"))
        assert lists(folder) == {"==1.0": ["one", "value"], "==1.5": ["one-1.4"]}
        # a further patch comes into the variant for what is installed
        quilt(world, one=ONE, what=what, value=value)
        ended = done(world("import", "debian/patches", "--name", "vendor"))
        assert [line.split()[-3:] for line in ended.out.splitlines()[:3]] == [
            ["in", "place", "one"], ["what", "1", "hunk"], ["in", "place", "value"],
        ]  # fmt: skip
        assert "what: not in the variant for ==1.5: none of its releases could be tried: import it where one is installed" in ended.err
        assert lists(folder) == {"==1.0": ["one", "what", "value"], "==1.5": ["one-1.4"]}
        done(world("apply", "vendor"))
        reinstall(world, "1.5", newest)
        ended = done(world("import", "debian/patches", "--name", "vendor"), 1)  # `value` is upstream there
        assert "in place      one-1.4" in ended.out and "what" in ended.out
        assert lists(folder) == {"==1.0": ["one", "what", "value"], "==1.5": ["one-1.4", "what"]}
        done(world("apply", "vendor"))
        assert "print(model)" in world.text() and "empty: {model!r}" in world.text()
        ended = done(world("status", "-v"))
        assert "one-1.4" in ended.out and "one " not in ended.out and "not needed" not in ended.out
        done(world("restore"))
        ended = done(world("export", "vendor", "--output", "out"))
        assert [path.name for path in sorted((world.cwd / "out").iterdir())] == ["0001-one-1.4.patch", "0002-what.patch"]
        assert "left out" not in ended.err
        reinstall(world, "1.3", FILES)
        ended = done(world("import", "debian/patches", "--name", "vendor"), 1)
        assert "vendor is for demo ==1.0 or ==1.5, and 1.3 is installed" in ended.err and "update vendor --to 1.3" in ended.err


WHAT = "Subject: Say what\n\n" + diff(EDIT, EDIT.replace('"empty"', 'f"empty: {model!r}"'))
VALUED = diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py")


def test_a_patch_of_a_file_that_was_edited_by_hand_is_in_conflict(world):
    quilt(world, one=ONE, value=diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py"))
    run(world, world.cwd)
    (world.path / "demo/n.py").write_text("VALUE = 1\nMINE = 2\n")
    answer = json.loads(done(world("check", "vendor", "--against", world.path, "--json"), 1).out)
    ((release,),) = (checked["releases"] for checked in answer["releases"])
    assert [(patch["name"], patch["state"]) for patch in release["patches"]] == [("one", "applicable"), ("value", "conflict")]
    assert "somebody edited it" in release["patches"][1]["problem"]


def test_a_patch_is_tried_in_every_variant_of_a_series(world):
    """It is added to those whose oldest and newest release it fits; for the others the reason is reported."""
    quilt(world, one=ONE)
    folder = run(world, world.cwd, world.cwd).folder
    toml = (folder / "patchset.toml").read_text()
    variants = "".join(
        f'[[variant]]\npackage = "demo"\nversions = "{versions}"\npatches = ["one.spatch"]\n\n'
        for versions in (">=1.2,<1.4", "==1.4")
    )
    (folder / "patchset.toml").write_text(toml.replace("[verify]", f"{variants}[verify]"))
    lacks = M.replace('    if not model:\n        raise ValueError("empty")\n', "    return model\n")
    with closing(Index()) as index:
        for version, m, n in (("1.2", M, "VALUE = 1\n"), ("1.3", lacks, "VALUE = 1\n"), ("1.4", M, "VALUE = 2\n")):
            index.add("demo", version, {**FILES, "demo/m.py": m, "demo/n.py": n})
        variables = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}
        quilt(world, one=ONE, what=WHAT, value=VALUED)
        ended = done(world("import", "debian/patches", "--name", "vendor", **variables))
    assert "what: not in the variant for >=1.2,<1.4: demo 1.3: demo/m.py: " in ended.err
    assert "value: not in the variant for ==1.4: its releases have it" in ended.err
    assert lists(folder) == {
        "==1.0": ["one", "what", "value"], ">=1.2,<1.4": ["one", "value"], "==1.4": ["one", "what"]
    }  # fmt: skip


def test_an_import_does_not_narrow_the_range_of_a_series(world):
    """What does not fit its oldest or newest release is not imported; the range stays where none can be fetched."""
    quilt(world, one=ONE)
    folder = run(world, world.cwd, world.cwd).folder
    toml = (folder / "patchset.toml").read_text()
    (folder / "patchset.toml").write_text(toml.replace('"==1.0"', '">=0.8,<2"'))
    lacks = M.replace('    if not model:\n        raise ValueError("empty")\n', "    return model\n")
    with closing(Index()) as index:
        for version, text in (("0.8", lacks), ("0.9", M), ("1.0", M), ("1.1", M)):
            index.add("demo", version, {**FILES, "demo/m.py": text})
        variables = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}
        quilt(world, one=ONE, what=WHAT, value=VALUED)
        ended = done(world("import", "debian/patches", "--name", "vendor", **variables), 1)
        assert "the series is for this release, too, and would not be any more: demo 0.8: demo/m.py: " in ended.out
        assert lists(folder) == {">=0.8,<2": ["one", "value"]}
        toml = (folder / "patchset.toml").read_text()
        (folder / "patchset.toml").write_text(toml.replace(">=0.8,<2", ">=0.9,<2"))  # the yes
        done(world("import", "debian/patches", "--name", "vendor", **variables))
        assert lists(folder) == {">=0.9,<2": ["one", "what", "value"]}
    more = diff("", "X = 1\n", "a/demo/__init__.py")
    quilt(world, one=ONE, what=WHAT, value=VALUED, more=more)
    ended = done(world("import", "debian/patches", "--name", "vendor"))
    assert ">=0.9,<2" in ended.err and lists(folder) == {">=0.9,<2": ["one", "what", "value", "more"]}


def test_the_text_of_another_variant_is_not_replaced_by_a_patch_of_the_same_name(world):
    quilt(world, one=ONE)
    folder = run(world, world.cwd, world.cwd).folder
    toml = (folder / "patchset.toml").read_text()
    (folder / "other.spatch").write_text("--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 3\n")
    variant = '[[variant]]\npackage = "demo"\nversions = "==1.4"\npatches = ["other.spatch"]\n'
    (folder / "patchset.toml").write_text(toml.replace("[verify]", variant + "\n[verify]"))
    before = (folder / "one.spatch").read_text()
    reinstall(world, "1.4", {**FILES, "demo/m.py": M.replace("    if strict:\n", "    if strict is not None:\n")})
    quilt(world, one=ONE.replace(" if strict:", " if strict is not None:"))
    assert states(run(world, world.cwd)) == [("other", "in place"), ("one-1.4", "imported")]
    assert (folder / "one.spatch").read_text() == before
    assert lists(folder) == {"==1.0": ["one"], "==1.4": ["other", "one-1.4"]}
    assert states(run(world, world.cwd)) == [("other", "in place"), ("one-1.4", "in place")]


def lists(folder):
    """The patches of each variant, by its range."""
    patchset = load_patchset(folder, "")
    return {variant.versions: patch_names(patchset._replace(variants=(variant,))) for variant in patchset.variants}


def reinstall(world, version, files):
    """Install another release of demo in place of the present one."""
    shutil.rmtree(world.path)
    (world.cwd / "other.whl").write_bytes(wheel("demo", version, {**LAYOUT, **files}))
    world.install(world.cwd / "other.whl")


# from an address ------------------------------------------------------------------------------------------------------
def test_an_address_is_refused_with_the_command_that_fetches_it_and_is_not_repeated(world):
    ended = done(world("import", "https://me:secret@example.com/fix.diff", "--name", "fix"), 2)
    assert "found a URL, expected files" in ended.err and "curl -fsSL URL | sitepatch import - --name NAME" in ended.err
    assert "secret" not in ended.err and not (world.cwd / "patchsets").exists()


def test_a_web_page_is_no_diff(world):
    (world.cwd / "fix.diff").write_text("<html>")
    ended = done(world("import", "fix.diff", "--name", "fix"), 2)
    assert "it is a web page, and no diff" in ended.err and "with .diff at its end" in ended.err


OTHER_CODE = M.replace("def load", "def read")
