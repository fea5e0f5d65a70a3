"""A series: each patch is read against the result of those before it."""

import json
import random

import pytest

from patcher.engine.engine import rewrite
from patcher.model import HunkText, Splice, State, apply_splices
from patcher.patchset.layers import rewrite_layers
from patcher.text.splices import compose
from tests.author.world import FILES, M, World
from tests.command import done, sitepatch

TOML = """\
schema = 1
name = "vendor"
version = "1.0"
kind = "fix"
summary = "A series"

[[variant]]
package = "demo"
versions = ""
patches = ["one.spatch", "two.spatch", "three.spatch"]
"""
ONE = "--- demo/m.py\n@@ load @@\n-build(path)\n+build([path, None])\n"
TWO = "--- demo/m.py\n@@ load @@\n-build([path, None])\n+check([path, None])\n"
THREE = "--- demo/m.py\n@@ check @@\n-raise ValueError('empty')\n+raise ValueError('nothing')\n\n@@ load @@\n-check([path, $X])\n+check([$X, path])\n"
MADE = M.replace("    model = build(path)", "    model = check([None, path])").replace('"empty"', "'nothing'")


def splices_of(text, generator):
    """Splices at random places of a text, sorted."""
    cuts = sorted(generator.randrange(len(text) + 1) for _ in range(2 * generator.randrange(5)))
    splices = []
    for start, end in zip(cuts[::2], cuts[1::2]):
        new = bytes(generator.choices(b"XYZ", k=generator.randrange(4)))
        if new or start < end:
            splices.append(Splice(start, end, new))
    return splices


def test_composed_splices_do_what_both_do_one_after_the_other():
    generator = random.Random(7)
    for _ in range(2000):
        text = bytes(generator.choices(b"abc", k=generator.randrange(20)))
        first = splices_of(text, generator)
        between = apply_splices(text, first)
        second = splices_of(between, generator)
        assert apply_splices(text, compose(len(text), first, second)) == apply_splices(between, second)
    assert compose(10, [], []) == ()


def test_layers_are_matched_one_after_the_other_and_all_or_none_count():
    def hunk(layer, before, after):
        return HunkText(f"{layer}.spatch", 1, "f", (("-", before, 2), ("+", after, 3)))

    def rewritten(*hunks):
        return rewrite_layers(b"def f():\n    int(1)\n", hunks, lambda data, layer: rewrite(data, layer, {}))

    good = rewritten(hunk(0, "int($X)", "str($X)"), hunk(2, "str($X)", "max($X, $X)"))
    assert good.data == b"def f():\n    max(1, 1)\n"
    assert apply_splices(b"def f():\n    int(1)\n", good.splices) == good.data
    bad = rewritten(hunk(0, "int($X)", "str($X)"), hunk(1, "len(gone)", "len(f)"), hunk(2, "str($X)", "max($X)"))
    assert (bad.data, bad.splices) == (b"def f():\n    int(1)\n", ())
    assert [answer.state for answer in bad.answers] == [State.APPLICABLE, State.NOT_FOUND, State.APPLICABLE]


def test_a_series_is_applied_in_one_commit_explained_and_restored(tmp_path):
    world = World(tmp_path)
    folder = tmp_path / "patchsets" / "vendor"
    folder.mkdir(parents=True)
    for name, text in {"patchset.toml": TOML, "one.spatch": ONE, "two.spatch": TWO, "three.spatch": THREE}.items():
        (folder / name).write_text(text)
    ended = done(world("check", "vendor", "--explain"))
    assert ended.out.count("applicable") == 4
    done(world("apply", "vendor", "--verify", "compile"))
    assert world.text() == MADE
    assert done(world("apply", "vendor")).out.count("applied") and world.text() == MADE
    assert len(done(world("status")).out.splitlines()) == 1
    _, *rows = done(world("status", "-v")).out.splitlines()
    assert [row.split() for row in rows] == [["applied", f"{name}:", "demo/m.py"] for name in ("one", "two", "three")]
    done(world("restore"))
    assert world.text() == M
    (folder / "patchset.toml").write_text(f"{TOML}series = true\n")
    assert "variant[0].series: found an unknown key" in done(world("apply", "vendor"), 2).err


# a patch that a release has ------------------------------------------------------------------------------------------
HAS = M.replace("    model = build(path)", "    model = build([path, None])").replace("def check", "def verify")
DROPS = "--- demo/m.py\n@@ load @@\n-build(path)\n+build([path, None])\n@@ <module> @@\n-def check(model):\n-    ...\n"
AFTER = "--- demo/m.py\n@@ build @@\n-os.path.basename\n+os.path.abspath\n"


def vendor(folder, versions="", **spatches):
    """A patchset of these patches, in this order."""
    toml = TOML.replace('["one.spatch", "two.spatch", "three.spatch"]', json.dumps([f"{name}.spatch" for name in spatches]))
    place = folder / "patchsets" / "vendor"
    place.mkdir(parents=True)
    (place / "patchset.toml").write_text(toml.replace('versions = ""', f'versions = "{versions}"'))
    for name, text in spatches.items():
        (place / f"{name}.spatch").write_text(text)


def test_a_patch_that_upstream_has_leaves_the_others_of_its_file_applied(tmp_path):
    """This holds for a patch that deletes what is gone there, too: that patch is upstream, the patchset is applied."""
    world = World(tmp_path, {**FILES, "demo/m.py": HAS})
    vendor(tmp_path, drops=DROPS, after=AFTER)
    expected = HAS.replace("basename", "abspath")
    planned = done(world("apply", "vendor", "--dry-run", "--json"))
    assert [answer["state"] for answer in json.loads(planned.out)["answers"]] == ["upstream", "upstream", "applicable"]
    cache = tmp_path / "cache"
    done(sitepatch("run", "vendor", "--target", world.path, "--overlay", "--", "true", cwd=tmp_path, SITEPATCH_CACHE=str(cache)))
    assert [path.read_text() for path in cache.rglob("demo/m.py")] == [expected]
    done(world("export", "vendor", "--output", "out"))
    (mail,) = (world.cwd / "out").iterdir()
    assert mail.name == "0001-after.patch" and "+    return os.path.abspath(path)" in mail.read_text()
    assert "+    return os.path.abspath(path)" in done(world("diff", "vendor")).out
    for _ in range(2):  # the second time nothing is left to do
        done(world("apply", "vendor"))
        assert world.text() == expected
    assert [line.split()[:2] for line in done(world("status", "--check", "-v")).out.splitlines()] == [["applied", "vendor"], ["upstream", "drops:"], ["applied", "after:"]]
    checked = json.loads(done(world("check", "vendor", "--against", world.path, "--json")).out)["releases"][0]
    assert [(patch["name"], patch["state"]) for patch in checked["releases"][0]["patches"]] == [("drops", "upstream"), ("after", "applied")]
    assert checked["releases"][0]["state"] == "applied"
    done(world("restore"))
    assert world.text() == HAS


@pytest.mark.parametrize(
    ("spatches", "state"),
    [
        ({"one": ONE, "after": AFTER}, ["upstream", "applicable"]),
        ({"one": ONE + AFTER}, ["conflict", "applicable"]),  # half of a patch is upstream
        ({"one": ONE, "after": AFTER + "@@ <module> @@\n-def check(model):\n-    ...\n"}, ["upstream", "applicable", "not found"]),
        ({"after": AFTER, "one": ONE + "--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n"}, ["applicable", "conflict", "applicable"]),
        ({"drops": "--- demo/n.py\n@@ <module> @@\n-VALUE = 3\n" + ONE, "after": AFTER}, ["upstream", "upstream", "applicable"]),
    ],
)
def test_a_part_that_is_upstream_counts_for_its_own_patch_only(tmp_path, spatches, state):
    world = World(tmp_path, {**FILES, "demo/m.py": HAS})
    vendor(tmp_path, **spatches)
    fits = not {"conflict", "not found"} & set(state)
    ended = done(world("apply", "vendor", "--json"), 0 if fits else 1)
    assert sorted(answer["state"] for answer in json.loads(ended.out)["answers"]) == sorted(state)
    assert world.text() == (HAS.replace("basename", "abspath") if fits else HAS)


def test_each_patch_has_its_own_entry_in_json_and_its_own_exported_file(tmp_path):
    world = World(tmp_path)
    vendor(tmp_path, "<1", one=ONE)
    checked = json.loads(done(world("check", "vendor", "--against", world.path, "--json"), 1).out)["releases"][0]
    (release,) = checked["releases"]
    assert (release["state"], release["problem"]) == ("not found", "the patchset is for demo <1")
    assert [(patch["name"], patch["state"]) for patch in release["patches"]] == [("one", "applicable")], "what it would be there"
    toml = tmp_path / "patchsets/vendor/patchset.toml"
    toml.write_text(toml.read_text().replace("<1", ">=1"))
    lines = done(world("check", "vendor", "--against", world.path)).out.splitlines()
    assert lines[-1].split() == ["applicable", "demo", "1.0", "demo/m.py:5"], "the line of the release says it: no rows of patches"
    done(world("export", "vendor", "--output", "one.patch"))
    assert (world.cwd / "one.patch").read_text().count("--- a/demo/m.py") == 1


# in releases ----------------------------------------------------------------------------------------------------------
RELEASES = {
    "0.9": FILES,
    "1.1": {**FILES, "demo/m.py": M.replace("build(path)\n    if", "build([path, None])\n    if")},  # has one
    "1.2": {**FILES, "demo/m.py": M.replace("build(path)\n    if", "build([path, None])\n    if").replace('"empty"', '"none"')},
    "1.3": {"demo/__init__.py": "", "demo/moved.py": M},
}


@pytest.fixture
def world(tmp_path):
    """The series, and a directory for each release."""
    world = World(tmp_path)
    folder = tmp_path / "patchsets" / "vendor"
    folder.mkdir(parents=True)
    toml = TOML.replace('versions = ""', 'versions = ">=0.9,<2"')
    for name, text in {"patchset.toml": toml, "one.spatch": ONE, "two.spatch": TWO, "three.spatch": THREE}.items():
        (folder / name).write_text(text)
    for version, files in RELEASES.items():
        (tmp_path / version).mkdir()
        other = World(tmp_path / version, files)
        (other.path / "demo-1.0.dist-info").rename(other.path / f"demo-{version}.dist-info")
        metadata = other.path / f"demo-{version}.dist-info" / "METADATA"
        metadata.write_text(metadata.read_text().replace("Version: 1.0", f"Version: {version}"))
        record = metadata.parent / "RECORD"
        record.write_text(record.read_text().replace("demo-1.0.", f"demo-{version}."))
    return world


def against(*versions):
    words = []
    for version in versions:
        words += ["--against", f"{version}/site"]
    return words


def test_check_has_a_row_for_each_patch_and_a_column_for_each_release(world):
    ended = done(world("check", "vendor", *against("0.9", "1.1", "1.2", "1.3")), 1)
    lines = [line.split() for line in ended.out.splitlines()]
    table = [line for line in lines if line and line[0] in ("patch", "one", "two", "three", "total")]
    assert table == [
        ["patch", "0.9", "1.1", "1.2", "1.3"],
        ["one", "applicable", "upstream", "upstream", "not", "found"],
        ["two", "applicable", "applicable", "applicable", "not", "found"],
        ["three", "applicable", "applicable", "not", "found", "not", "found"],
        ["total", "3", "of", "3", "3", "of", "3", "2", "of", "3", "0", "of", "3"],
    ]
    assert "closest, " in ended.out and 'ValueError("none")' in ended.out
    assert "moved.py" in ended.out


def test_the_table_of_patches_comes_first_and_fits_80_columns(world):
    name = "a-patch-whose-name-says-" + "all-that-it-does-and-" * 3 + "why"
    folder = world.cwd / "patchsets/vendor"
    (folder / "three.spatch").rename(folder / f"{name}.spatch")
    (folder / "patchset.toml").write_text((folder / "patchset.toml").read_text().replace("three.spatch", f"{name}.spatch"))
    lines = done(world("check", "vendor", *against("0.9", "1.1", "1.2", "1.3")), 1).out.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["patch", "one", "two", "a-patch-whose-na…-it-does-and-why", "total"]
    assert max(map(len, lines[1:6])) <= 80
    assert name in "".join(lines[6:11])
    lines = done(world("check", "vendor", *against("0.9", "1.1", "1.2", "1.3"), SITEPATCH_LANG="zh"), 1).out.splitlines()
    assert max(map(len, lines[1:6])) <= 80


def test_check_says_since_when_a_patch_is_upstream_in_json_and_as_a_page(world):
    words = against("0.9", "1.1", "1.2")
    answer = json.loads(done(world("check", "vendor", *words, "--json", "--html", "page.html"), 1).out)
    (checked,) = answer["releases"]
    assert checked["upstream_since"] == {"one": "demo 1.1"}
    states = [[patch["state"] for patch in release["patches"]] for release in checked["releases"]]
    assert states == [
        ["applicable", "applicable", "applicable"],
        ["upstream", "applicable", "applicable"],
        ["upstream", "applicable", "not found"],
    ]
    last_release = checked["releases"][-1]
    (failed,) = last_release["patches"][-1]["answers"]
    assert failed["scope"] == "check" and "none" in json.dumps(failed)
    page = (world.cwd / "page.html").read_text()
    assert page.count('<th scope="row"') >= 3 and "upstream since demo 1.1" in page
    assert "upstream  one" in " ".join(done(world("check", "vendor", *words), 1).out.split(" ")).replace("   ", "  ")


def test_a_patch_that_fits_but_for_one_before_it_names_that_one(world):
    (world.cwd / "patchsets/vendor/two.spatch").write_text("--- demo/m.py\n@@ load @@\n-build(path)\n+build(path or 2)\n")
    ended = done(world("check", "vendor", *against("0.9")), 1)
    assert "one changes the same code" in ended.out
