"""`sitepatch update`: the range of a patchset grows by what is proven, and a variant is added where upstream changed."""

import json
import os
import re
import shlex
import shutil
import sys
from contextlib import closing

import click
import pytest

from patcher.author.ranges import ended, widened
from tests.author.world import FILES, M, World, diff
from tests.command import done, on_a_terminal
from tests.index import Index

pytestmark = pytest.mark.once

LATER = f"# a comment\n{M}"
OTHER = M.replace("    model = build(path)\n    if strict:\n        check(model)\n", "    model = checked(build, path, strict)\n")
MANIFEST = """\
schema = 1  # of the format
name = "mine"
version = "1.0"
kind = "debug"
summary = "Say what is loaded"

[[variant]]
package = "demo"
versions   = "==1.0" # proven by hand
patches = ["mine.spatch"]

# what is imported to verify it
[verify]
imports = ["demo.m"]
"""
SPATCH = "Why.\n\n--- demo/m.py\n@@ load @@\n model = build(path)\n+print(model)\n if strict:\n     ...\n"
EDITOR = "import pathlib, sys; f = pathlib.Path(sys.argv[1]); f.write_text(f.read_text().replace({!r}, {!r}))"


def to(*versions):
    """The options that name these releases."""
    words = []
    for version in versions:
        words += ["--to", version]
    return words


@pytest.fixture(scope="module")
def index():
    served = Index()
    for version, text in (("0.9", OTHER), ("1.0", M), ("1.1", LATER), ("1.2", OTHER), ("1.3", f"# later\n{OTHER}")):
        served.add("demo", version, {**FILES, "demo/m.py": text})
    yield served
    served.close()


@pytest.fixture
def world(tmp_path):
    installed = World(tmp_path)
    folder = tmp_path / "patchsets/mine"
    (folder / "cases").mkdir(parents=True)
    (folder / "patchset.toml").write_text(MANIFEST)
    (folder / "mine.spatch").write_text(SPATCH)
    (folder / "cases/a.before.py").write_text(f"# case: demo/m.py 1.0\n{M}")
    (folder / "cases/a.after.py").write_text(M.replace("build(path)\n    if", "build(path)\n    print(model)\n    if"))
    return installed


def manifest(world):
    return (world.cwd / "patchsets/mine/patchset.toml").read_text()


def editor(world, old="    return model\n", new="    print(model)\n    return model\n"):
    script = world.cwd / "editor.py"
    script.write_text(EDITOR.format(old, new))
    return {"EDITOR": f"{shlex.quote(sys.executable)} {script}", "VISUAL": ""}


def online(world, index):
    return {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "0"}


def test_the_range_is_widened_by_what_was_proven_and_nothing_else_of_the_folder_changes(world, index):
    ended = done(world("update", "mine", "--to", "1.1", **online(world, index)))
    assert "applicable  demo 1.1" in ended.out
    assert manifest(world) == MANIFEST.replace('"==1.0"', '">=1.0,<=1.1"')
    assert {path.name for path in (world.cwd / "patchsets/mine").rglob("*")} == {
        "patchset.toml", "mine.spatch", "cases", "a.before.py", "a.after.py",
    }  # fmt: skip
    assert not list((world.cwd / "patchsets").glob(".sitepatch*"))
    answer = json.loads(done(world("update", "mine", "--to", "1.1", "--json", **online(world, index))).out)
    assert (answer["written"], answer["ranges"], answer["ok"]) == (False, [], True)


def test_a_range_stops_at_the_first_release_that_has_the_change_itself(world):
    """What it finds beyond that is other code: upstream has rewritten its own fix."""
    fixed = M.replace("build(path)\n    if", "build(path)\n    print(model)\n    if")
    with closing(Index()) as index:
        for version, text in (("1.0", M), ("1.1", LATER), ("1.2", fixed), ("1.3", LATER), ("1.4", M)):
            index.add("demo", version, {**FILES, "demo/m.py": text})
        ended = done(world("update", "mine", "--to", "all", **online(world, index)))
        assert manifest(world) == MANIFEST.replace('"==1.0"', '">=1.0,<=1.2"')
        (line,) = (line for line in ended.out.splitlines() if "demo 1.3 to 1.4 (2 releases)" in line)
        assert "proven" not in line and "1.2 has the change itself" in ended.out
        (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST.replace('"==1.0"', '">=1.0"'))
        checked = done(world("check", "mine", "--against", "all", **online(world, index))).out
        assert "1.2 has the change itself" in checked
        shutil.rmtree(world.cwd / "patchsets/mine")
        words = ("--name", "made", "--also", "1.1", "--also", "1.2", "--also", "1.3")
        (world.cwd / "made.diff").write_text(diff(M, fixed))
        done(world("import", "made.diff", *words, **online(world, index)))
    assert 'versions = ">=1.0,<=1.2"' in (world.cwd / "patchsets/made/patchset.toml").read_text()


def test_the_opposite_check_of_a_later_release_is_not_taken_for_the_one_that_was_edited(tmp_path):
    check = "def check(version):\n    return compare('demo', '>', '0.14')\n"
    world, index = World(tmp_path, {**FILES, "demo/n.py": check}), Index()
    index.add("demo", "2.0", {**FILES, "demo/n.py": check.replace(">", "<")})
    world.edit(check.replace("0.14", "0.15"), "demo/n.py")
    world.backup("n.py.orig", check)
    done(world("capture", "demo", "--name", "newer"))
    with closing(index):
        ended = world("update", "newer", "--to", "2.0", **online(world, index))
    assert ended.code == 1 and "not found  demo 2.0" in ended.out
    assert 'versions = "==1.0"' in (world.cwd / "patchsets/newer/patchset.toml").read_text()


def test_a_change_of_code_that_differs_is_shown_once_and_is_unproven_until_a_case_proves_it(world):
    loose = M.replace("strict=True", "strict=False")
    with closing(Index()) as index:
        for version, text in (("1.1", LATER), ("1.4", loose), ("1.5", f"# later\n{loose}"), ("1.6", M.replace("    if", "    print(model)\n    if", 1))):
            index.add("demo", version, {**FILES, "demo/m.py": text})
        requested = to("1.1", "1.4", "1.5", "1.6")
        piped = done(world("update", "mine", *requested, **online(world, index))).out
        (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST)
        _, shown = on_a_terminal(world.cwd, "update", "mine", *requested, "--target", world.path, **online(world, index))
        (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST)
        for name in ("before", "after"):
            case = (world.cwd / f"patchsets/mine/cases/a.{name}.py").read_text().replace("m.py 1.0", "m.py 1.5")
            (world.cwd / f"patchsets/mine/cases/b.{name}.py").write_text(case.replace("strict=True", "strict=False"))
        case = world.cwd / "patchsets/mine/cases/b.after.py"
        right = case.read_text()
        case.write_text(right.replace("print(model)", "print(path)"))
        wrong = done(world("update", "mine", *requested, "--json", **online(world, index))).out
        assert [release["version"] for release in json.loads(wrong)["releases"] if release["proven"]] == ["1.1", "1.6"]
        (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST)
        case.write_text(right)
        data = json.loads(done(world("update", "mine", *requested, "--json", **online(world, index))).out)
    rows = dict(re.findall(r"(demo 1\.\d(?: to 1\.\d \(\d releases\))?)(?:  +(\w+))?\n", piped))
    assert rows == {"demo 1.1": "proven", "demo 1.4 to 1.5 (2 releases)": "fits", "demo 1.6": ""} and "+++" not in piped
    assert shown.count("+++") == 1 and "in demo 1.4 and demo 1.5, whose code differs" in shown
    assert " def load(path, strict=False):\n     model = build(path)\n+    print(model)\n" in click.unstyle(shown)
    releases = {release["version"]: release for release in data["releases"]}
    assert {version for version, release in releases.items() if release["proven"]} == {"1.1", "1.5", "1.6"}
    assert [bool(release["unlike"]) for release in releases.values()] == [False, True, True, False]
    assert "+    print(model)\n" in releases["1.4"]["unlike"][0]["text"]


def test_a_release_whose_old_value_is_a_list_is_not_overwritten(world, tmp_path):
    (world.cwd / "patchsets/mine/mine.spatch").write_text("Why.\n\n--- demo/n.py\n@@ <module> @@\n-VALUE = $OLD\n+VALUE = 7\n")
    with closing(Index()) as index:
        for version, value in (("1.1", "2"), ("1.2", "['run', '--fast']")):
            index.add("demo", version, {**FILES, "demo/n.py": f"VALUE = {value}\n"})
        ended = world("update", "mine", "--to", "1.1", "--to", "1.2", **online(world, index))
    assert ended.code == 1 and "applicable  demo 1.1" in ended.out and "conflict    demo 1.2" in ended.out
    assert "demo/n.py: <module>: the old value is more than one literal or name there" in ended.out
    assert 'versions   = ">=1.0,<=1.1"' in manifest(world)


def test_untried_releases_in_the_new_range_are_reported_with_the_command_that_tries_them(world, index):
    note = "demo >=0.5,<=1.1: of the releases that came in, only those above were tried; all of them with --to '>=0.5,<=1.1'"

    def update(*versions, code=0):
        (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST.replace("==1.0", "==0.5"))
        ended = done(world("update", "mine", *to(*versions), **online(world, index)), code)
        return re.search('versions   = "(.*)" #', manifest(world))[1], ended.out + ended.err

    for version in ("1.1", ">=1.0,<=1.1"):  # 0.9, which it does not fit, is in neither
        versions, text = update(version)
        assert versions == ">=0.5,<=1.1" and note in text
    for version in ("all", ">=0.5,<=1.1"):
        versions, text = update(version)
        assert versions == ">=0.5,<=1.1,!=0.9" and "only those" not in text
    assert "only those" in update("newest", "1.1", code=1)[1]


def test_a_release_is_missing_only_where_none_of_the_distributions_has_it(world, index):
    index.add("demo-lite", "1.0", {**FILES, "demo/m.py": M})
    mine = MANIFEST.replace("patches =", 'distributions = ["demo", "demo-lite"]\npatches =')
    (world.cwd / "patchsets/mine/patchset.toml").write_text(mine)
    ended = done(world("update", "mine", "--to", "1.1", **online(world, index)))
    assert "not fetched" not in ended.out and manifest(world) == mine.replace('"==1.0"', '">=1.0,<=1.1"')
    ended = done(world("update", "mine", "--to", ">=1.1,<=1.1", **online(world, index)))  # demo-lite has none in it
    assert "not fetched" not in ended.out
    exported = done(world("export", "mine", "--against", "1.0", **online(world, index))).out
    assert "+    print(model)" in exported and "demo 1.0" in exported  # of the distribution that is named first
    for release in ("9.9", ">=99"):
        ended = done(world("update", "mine", "--to", release, **online(world, index)), 1)
        assert f"demo {release}: the index has no such release" in ended.out and f"demo-lite {release}: " in ended.out


@pytest.mark.parametrize("releases", ["all", "newest", ">=0.9", "0.9"])
def test_where_no_index_answers_it_is_reported_that_nothing_was_tried(world, index, releases):
    lost = {**online(world, index), "PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "0"}
    assert f"demo {releases}: pip could not list the releases of demo" in done(world("update", "mine", "--to", releases, **lost), 1).out


def test_a_range_without_a_release_is_reported_beside_a_version(world, index):
    ended = done(world("update", "mine", "--to", "1.0", "--to", ">=99", **online(world, index)), 1)
    assert "demo >=99: the index has no such release" in ended.out and "Traceback" not in ended.err


def test_a_release_that_could_not_be_fetched_is_named(world, index):
    with closing(Index()) as damaged:
        for version, spoiled in (("1.0", ()), ("1.1", ("demo/m.py",))):
            damaged.add("demo", version, {**FILES, "demo/m.py": LATER}, spoil=spoiled)
        ended = done(world("update", "mine", "--to", ">=1.0", **online(world, damaged)), 1)
    assert "demo 1.1: " in ended.out and "not fetched" in ended.out


def test_each_distribution_is_reported_whether_unlisted_or_without_the_release(world):
    mine = MANIFEST.replace("patches =", 'distributions = ["demo", "demo-lite"]\npatches =')
    (world.cwd / "patchsets/mine/patchset.toml").write_text(mine)
    with closing(Index()) as refusing:
        refusing.add("demo-lite", "1.0", {**FILES, "demo/m.py": M})
        refusing.projects["demo"] = {}
        refusing.acts["demo"] = lambda handler, _: handler.send_error(403)
        ended = done(world("update", "mine", "--to", ">=2", **online(world, refusing)), 1)
    assert "demo >=2: pip could not list" in ended.out and "demo-lite >=2: the index has no such release" in ended.out


def test_without_a_release_the_installed_one_is_meant(world):
    (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST.replace("==1.0", ">=0.1,<0.5"))
    done(world("update", "mine"))
    assert 'versions   = ">=0.1,<=1.0" # proven' in manifest(world)
    done(world("apply", "mine", "--verify", "none"))
    done(world("update", "mine"))  # what is applied holds


def test_of_all_releases_those_that_do_not_fit_are_left_out_by_name(world, index):
    (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST.replace("==1.0", ">=0.1,<0.5"))
    ended = done(world("update", "mine", "--to", "all", **online(world, index)))
    assert "not found   demo 1.3" in ended.out
    assert 'versions   = ">=0.1,<=1.1,!=0.9" #' in manifest(world)


def test_the_code_that_replaced_the_old_one_is_shown_and_nothing_is_written(world, index):
    ended = done(world("update", "mine", "--to", "1.2", **online(world, index)), 1)
    assert "closest" in ended.out
    assert "model = checked(build, path, strict)" in ended.out
    assert "update mine --to 1.2 --edit" in ended.out
    assert manifest(world) == MANIFEST


def test_of_several_releases_that_do_not_fit_the_newest_is_proposed_for_editing(world, index):
    ended = done(world("update", "mine", "--to", "1.2", "--to", ">=1.3", **online(world, index)), 1)
    (line,) = (line for line in ended.out.splitlines() if "edit it there with: " in line)
    assert "update mine --to 1.3 --edit" in line
    done(world("update", "mine", "--to", "1.3", "--edit", **online(world, index), **editor(world)))


def test_an_edit_adds_a_variant_that_holds_on_the_other_side_of_the_change(world, index):
    ended = done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **editor(world)))
    assert "patchsets/mine/mine-1.2.spatch, for demo ==1.2" in ended.out
    variant = '\n[[variant]]\npackage = "demo"\nversions = "==1.2"\npatches = ["mine-1.2.spatch"]\n'
    head, tail = MANIFEST.split("\n# what")
    assert manifest(world) == f"{head}{variant}\n# what{tail}"
    done(world("update", "mine", "--to", "1.1", "--to", "1.3", **online(world, index)))
    assert 'versions   = ">=1.0,<=1.1" #' in manifest(world)
    assert 'versions = ">=1.2,<=1.3"' in manifest(world)
    ended = done(world("check", "mine", "--against", ">=1", **online(world, index)))
    assert "4 releases: applicable 4" in ended.out
    assert not list(world.cwd.glob("sitepatch-edit-*"))


def test_each_edited_file_is_compared_with_its_own_hunks(world):
    (world.cwd / "patchsets/mine/mine.spatch").write_text(SPATCH + "\n--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n")
    change = (
        "import pathlib, sys\nf = pathlib.Path(sys.argv[1]) / 'demo'\n"
        "for name, old, new in (('m.py', '    return model\\n', '    print(model)\\n    return model\\n'), ('n.py', '7', '8')):\n"
        "    (f / name).write_text((f / name).read_text().replace(old, new))\n"
    )
    (world.cwd / "editor.py").write_text(change)
    how = {"EDITOR": f"{shlex.quote(sys.executable)} {world.cwd / 'editor.py'}", "VISUAL": ""}
    with closing(Index()) as index:
        index.add("demo", "1.2", {"demo/__init__.py": "", "demo/m.py": OTHER, "demo/n.py": "VALUE = 7\n"})
        done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **how))
        assert "applicable" in done(world("check", "mine", "--against", "1.2", **online(world, index))).out
    text = (world.cwd / "patchsets/mine/mine-1.2.spatch").read_text()
    assert "--- demo/m.py\n" in text and "+print(model)\n" in text and "--- demo/n.py\n" in text and "+VALUE = 8\n" in text


def test_the_opened_copy_marks_missing_hunks_and_leftover_marks_are_removed(world, index):
    more = SPATCH + "\n@@ check @@\n-\"empty\"\n+\"none\"\n"
    (world.cwd / "patchsets/mine/mine.spatch").write_text(more)
    marks = (
        "    # sitepatch: this hunk is missing here: change the code below, lines that begin so are taken out again\n"
        "    # sitepatch: @@ load @@\n    # sitepatch:  model = build(path)\n    # sitepatch: +print(model)\n"
        "    # sitepatch:  if strict:\n    # sitepatch:      ...\n    model = checked(build, path, strict)\n"
    )
    (world.cwd / "editor.py").write_text(
        f"import pathlib, sys\nf = pathlib.Path(sys.argv[1])\nassert {marks!r} in f.read_text(), f.read_text()\n"
        "assert f.read_text().count('this hunk is missing') == 1, 'the other one is in place'\n"
        "f.write_text(f.read_text().replace('    return model\\n', '    print(model)\\n    return model\\n'))\n"
    )
    how = {"EDITOR": f"{shlex.quote(sys.executable)} {world.cwd / 'editor.py'}", "VISUAL": ""}
    done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **how))
    text = (world.cwd / "patchsets/mine/mine-1.2.spatch").read_text()
    assert "print(model)" in text and '+ValueError("none")' in text and "sitepatch" not in text


def test_the_file_that_has_the_scope_is_opened_where_the_path_is_gone(world):
    with closing(Index()) as index:
        index.add("demo", "1.2", {"demo/__init__.py": "", "demo/n.py": "VALUE = 1\n", "demo/io/load.py": OTHER, "demo/io/__init__.py": ""})
        ended = done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **editor(world)))
    assert "patchsets/mine/mine-1.2.spatch, for demo ==1.2" in ended.out
    assert "--- demo/io/load.py\n@@ load @@" in (world.cwd / "patchsets/mine/mine-1.2.spatch").read_text()


def test_a_range_that_already_has_the_edited_release_ends_before_it(world, index):
    (world.cwd / "patchsets/mine/patchset.toml").write_text(MANIFEST.replace("==1.0", ">=1"))
    done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **editor(world)))
    assert 'versions   = ">=1,<1.2" #' in manifest(world)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"EDITOR": "true", "VISUAL": ""}, "nothing was edited"),
        ({"EDITOR": "false", "VISUAL": ""}, "ended with exit code 1"),
        ({"EDITOR": "", "VISUAL": ""}, "found no editor"),
    ],
)
def test_an_edit_without_a_result_writes_nothing_and_keeps_the_copies(world, index, variables, said):
    variables = {**online(world, index), **variables, "TMPDIR": str(world.cwd)}
    ended = done(world("update", "mine", "--to", "1.2", "--edit", **variables), 1)
    assert said in ended.err
    assert manifest(world) == MANIFEST
    (copies,) = world.cwd.glob("sitepatch-edit-*")
    assert f"update mine --to 1.2 --from {copies}" in ended.err.replace(f" --target {world.path}", "")
    (copies / "demo/m.py").write_text(OTHER.replace("    return model\n", "    print(model)\n    return model\n"))
    done(world("update", "mine", "--to", "1.2", "--from", copies, **online(world, index)))
    assert "mine-1.2.spatch" in manifest(world)


def test_a_built_in_patchset_and_a_folder_that_may_not_be_written_are_left_alone(world):
    ended = done(world("update", "torch-musa-guard"), 1)
    assert "torch-musa-guard (built in): it belongs to what is installed" in ended.err
    assert "cp -r " in ended.err
    if os.geteuid():
        (world.cwd / "patchsets").chmod(0o555)
        assert "its folder may not be written" in done(world("update", "mine"), 1).err
        (world.cwd / "patchsets").chmod(0o755)


def test_an_argument_that_is_no_release_is_refused(world):
    assert '--to "x": expected a version' in done(world("update", "mine", "--to", "x"), 2).err


@pytest.mark.parametrize(
    ("versions", "proven", "failed", "expected"),
    [
        ("==1.0", ["1.2", "0.9"], ["1.1", "3"], ">=0.9,<=1.2,!=1.1"),
        (">=1,<3", ["3.1+cu118"], ["3.0", "2.0"], ">=1,<=3.1,!=3.0"),
        (">=1,<3", ["2.9"], ["1.5"], ">=1,<3"),
        ("~=1.4", ["2.1"], [], ">=1.4,<=2.1"),
        ("==1.4.*", ["1.3"], [], ">=1.3,<1.5"),
        (">=1,!=1.5", ["1.5"], [], ">=1"),
        ("", ["4"], ["5"], ""),
    ],
)
def test_a_bound_moves_to_what_is_proven(versions, proven, failed, expected):
    assert widened(versions, proven, failed) == expected


@pytest.mark.parametrize(
    ("versions", "version", "known", "expected"),
    [
        ("", "2.0", "", "<2.0"),
        (">=1,<3", "2.0", "1.5", ">=1,<2.0"),
        (">=1,<3", "2.0", "2.5", ">2.0,<3"),
        (">=2.0,<3", "2.0", "", ">2.0,<3"),
        ("==1.*", "1.0", "", ">1.0,<2"),
    ],
)
def test_a_range_ends_on_the_unproven_side(versions, version, known, expected):
    assert ended(versions, version, known) == expected


STAYS = "@@ build @@\n-os.path.basename(path)\n+os.path.basename(path or '')\n"
MOVES = "@@ load @@\n-check(model)\n+check(model or path)\n"
LOADER = "class Loader:\n    def load(self, path, strict=True):\n        model = build(path)\n        if strict:\n            check(model)\n"
WITHOUT = M[: M.index("def load")] + M[M.index("def build") :]
INSIDE_N = {**FILES, "demo/m.py": WITHOUT, "demo/n.py": f"from demo.m import build, check\n\n\n{LOADER}"}


@pytest.mark.parametrize(
    ("files", "path", "spatch"),
    [
        (INSIDE_N, "demo/n.py", f"--- demo/m.py\n{STAYS}\n{{}}"),
        ({**FILES, "demo/m.py": f"{WITHOUT}\n\n{LOADER}"}, "demo/m.py", f"--- demo/m.py\n{STAYS}\n{MOVES}{{}}"),
    ],
    ids=["another file", "another scope"],
)
def test_what_check_says_to_write_where_code_has_moved_can_be_pasted(world, files, path, spatch):
    ours = world.cwd / "patchsets/mine/mine.spatch"
    ours.write_text(f"--- demo/m.py\n{STAYS}\n{MOVES}")
    (world.cwd / "other").mkdir()
    other = World(world.cwd / "other", files)
    ours_there = ("--patch-dir", world.cwd / "patchsets")
    out = done(other("check", "mine", "--explain", *ours_there), 1).out
    pasted = re.search(r"hint: [^\n]*:\n(( +[-+@][^\n]*\n)+)", out)[1]
    ours.write_text(spatch.format(re.sub("(?m)^ +", "", pasted)))
    done(other("apply", "mine", *ours_there))
    assert "check(model or path)" in other.text(path)
    assert "basename(path or '')" in other.text()
    shutil.rmtree(world.cwd / "patchsets/mine/cases")
    done(world("apply", "mine"))
    assert "check(model or path)" in world.text()


def test_the_file_to_which_a_function_moved_is_opened_with_what_fits_elsewhere_in_place(world):
    (world.cwd / "patchsets/mine/mine.spatch").write_text(f"--- demo/m.py\n{STAYS}\n{MOVES}")
    (world.cwd / "editor.py").write_text(
        "import pathlib, sys\nf = pathlib.Path(sys.argv[1]) / 'demo'\nm, n = (f / 'm.py').read_text(), (f / 'n.py').read_text()\n"
        "assert \"basename(path or '')\" in m and 'sitepatch' not in m, m\n"
        "assert '+check(model or path)\\n            check(model)' in n, n\n"
        "(f / 'n.py').write_text(n.replace('\\n            check(model)', '\\n            check(model or path)'))\n"
    )
    how = {"EDITOR": f"{shlex.quote(sys.executable)} {world.cwd / 'editor.py'}", "VISUAL": ""}
    with closing(Index()) as index:
        index.add("demo", "1.2", INSIDE_N)
        done(world("update", "mine", "--to", "1.2", "--edit", **online(world, index), **how))
    text = (world.cwd / "patchsets/mine/mine-1.2.spatch").read_text()
    assert "--- demo/n.py\n@@ Loader.load @@" in text
    assert "--- demo/m.py\n@@ build @@" in text
