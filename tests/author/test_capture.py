"""`sitepatch capture`: an edit of installed source becomes a patchset, which may replace the edit."""

import json
import os
import re
import shlex
import shutil
import stat

import pytest

from patcher.errors import SitepatchError
from patcher.installed import index as target_index
from patcher.installed import remote
from patcher.model import NewBytes
from patcher.patchset.manifest import load_patchset
from patcher.place import Place
from patcher.store.store import Store
from patcher.verbs import capture as capturing
from tests import failures
from tests.author.world import EDIT, FILES, GONE, OTHER, M, World
from tests.command import done
from tests.faults.calls import in_child
from tests.index import Index
from tests.places import wheel
from tests.records import write_patchset
from tests.stores import recover

pytestmark = pytest.mark.once
ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))


def capture(world, **more):
    return capturing.capture(name="mine", place=Place(target=world.path), **{"output": world.cwd / "patchsets", **more})


def adopt(captured, verify="import"):
    return capturing.adopt(captured, place=Place(target=captured.files[0].file.site), verify=verify)


# the whole way --------------------------------------------------------------------------------------------------------
def test_an_edit_is_captured_and_then_tracked_and_restored(world):
    world.backup()
    world.edit()
    edited = world.tree()
    ended = done(world("capture", "--name", "mine"))
    assert world.tree() == edited  # nothing is touched yet
    assert '+    print("loaded", model)  # where is it?' in ended.out
    assert "@@ load @@" in ended.out
    assert "@@ load @@" not in done(world("capture", "--name", "quiet", "-q")).out, "the hunks are in the patchset"
    assert (world.cwd / "patchsets/mine/patchset.toml").is_file()

    ended = done(world("capture", "demo", "--name", "again", "--adopt"))
    assert "compared with m.py.debug_backup beside it" in ended.err
    assert "applied  again: 1 file" in ended.out
    assert world.text() == EDIT
    assert "again 1.0  demo 1.0  1 file" in done(world("status", "--check")).out
    done(world("restore"))
    assert world.text() == M
    assert world.tree().keys() == edited.keys()  # no store is left


def test_a_restored_file_can_be_patched_again(world):
    world.backup()
    world.edit()
    done(world("capture", "--name", "mine", "--adopt"))
    world.install(world.wheel)
    assert "overwritten" in world("status").out
    done(world("apply", "mine"))
    assert world.text() == EDIT


def test_the_answer_in_json_has_the_edit_and_the_next_command(world):
    world.backup()
    world.edit()
    answer = json.loads(done(world("capture", "--name", "mine", "--adopt", "--json")).out)
    assert (answer["adopted"]["written"], answer["name"]) == (True, "mine")
    (file,) = answer["captured"]
    assert (file["path"], file["proven"], file["exact"], file["release"]) == ("demo/m.py", True, True, "demo 1.0")
    assert [hunk["text"].split("\n")[0] for hunk in answer["draft"]["files"][0]["hunks"]] == ["@@ load @@"]


def test_a_captured_patchset_made_stricter_by_hand_is_adopted_as_it_is(world):
    world.backup()
    world.edit()
    ended = done(world("capture", "demo", "--name", "mine"))
    assert "capture demo --name mine" in ended.out.split("replace the edit with the patchset: ")[1]
    spatch = world.cwd / "patchsets/mine/mine.spatch"
    spatch.write_text(spatch.read_text().replace("model = $V", "model = build(path)"))
    ended = done(world("capture", "demo", "--name", "mine", "--adopt"))
    assert "captured  patchsets/mine, as it stands, for demo ==1.0" in ended.out
    assert world.text() == EDIT
    assert "model = build(path)" in spatch.read_text()
    done(world("status", "--check"))


def test_the_command_that_adopts_the_patchset_works_as_printed(world):
    world.edit(f"# top\n{EDIT}")
    ended = done(world("capture", "demo", "--name", "mine", "--pristine", world.wheel, "--partial"))
    _, _, rest = ended.out.partition("replace the edit with the patchset: ")
    _, *words = shlex.split(rest.split("\n")[0])
    if "--target" in words:  # which the helper names, too
        words = words[: words.index("--target")]
    done(world(*words))
    done(world("status", "--check"))


@pytest.mark.parametrize(("answer", "applied"), [("y", True), ("n", False)])
def test_on_a_terminal_capture_asks_before_it_adopts(world, answer, applied):
    world.backup()
    world.edit()
    code, text = world.asked("capture", "--name", "mine", answer=answer)
    assert (code, "looked at" in text, "applied" in text) == (0, False, applied), text
    assert bool(Store(str(world.path)).receipts()) == applied
    assert world.text() == EDIT


def test_the_range_covers_only_proven_releases(world):
    world.backup()
    world.edit()
    for version, text in (("0.9", M.replace("basename", "normpath")), ("1.1", GONE)):
        folder = world.cwd / version / "demo"
        folder.mkdir(parents=True)
        (folder / "m.py").write_text(text)
        (folder / "__init__.py").write_text(f'__version__ = "{version}"\n')
    ended = done(world("capture", "--name", "mine", "--also", "0.9", "--also", "1.1"))
    assert "in patchsets/mine, for demo >=0.9,<=1.0" in ended.out
    assert re.search(r"^not found +demo 1\.1", ended.out, re.M)


def test_an_edit_of_a_patched_file_is_the_difference_to_what_we_wrote(world):
    world.backup()
    world.edit(OTHER)
    done(world("capture", "--name", "first", "--adopt"))
    both = EDIT.replace('"empty"', 'f"empty: {model!r}"')
    world.edit(both)
    ended = done(world("capture", "--name", "second", "--adopt"))
    assert "compared with what first made of it" in ended.err
    assert "@@ check @@" not in ended.out
    assert world.text() == both
    assert world("status", "-v").out.count("demo/m.py") == 2
    done(world("restore", "first"))
    assert world.text() == EDIT
    done(world("restore"))
    assert world.text() == M


def test_what_the_patchset_does_not_reproduce_byte_for_byte_is_reported_and_kept(world):
    world.backup()
    odd = EDIT.replace("    return model\n", "    return  model\n")
    world.edit(odd)
    ended = done(world("capture", "--name", "mine", "--adopt"))
    assert "does not make it byte for byte" in ended.err
    assert "-    return  model\n+    return model\n" in ended.out
    assert world.text() == EDIT
    (kept,) = (world.path / ".sitepatch/edited").iterdir()
    assert kept.read_text() == odd


def test_a_failed_verification_leaves_the_edit(world, monkeypatch):
    world.backup()
    world.edit()
    captured = capture(world)
    broken = captured.plan.files[0]._replace(after=b"def (:\n")
    broken = broken._replace(to_commit=broken.to_commit._replace(new=NewBytes(b"def (:\n", merged=True)))
    # no known edit has hunks that make a file that does not compile, so such a text is put into the plan
    monkeypatch.setattr(capturing, "make_plan", lambda *words, **more: captured.plan._replace(files=(broken,)))
    outcome = adopt(captured)
    assert outcome.verified.failed and not outcome.written
    assert world.text() == EDIT
    assert "nothing is applied" in done(world("status")).out


def test_killed_at_every_call_the_file_is_edited_or_tracked(world, counted):
    world.backup()
    world.edit()
    captured = capture(world)
    shutil.copytree(world.path, world.cwd / "saved")
    outcomes, point, code = [], 1, 9
    while code:
        point += 1 if ALL else 3
        code = in_child(lambda: adopt(captured, "none") and None, point, "before").code
        store = Store(str(world.path))
        recover(world.path)
        receipts = store.receipts()
        assert world.text() == EDIT, point
        copies = [path.name for path in world.path.glob(".sitepatch/pristine/*")]
        assert copies == [receipt.pristine.sha256 for receipt in receipts.values()], point
        outcomes.append(len(receipts))
        shutil.rmtree(world.path)
        shutil.copytree(world.cwd / "saved", world.path)
    counted("kills", len(outcomes) - 1)
    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (0, 1)


# what was edited ------------------------------------------------------------------------------------------------------
def test_neither_size_nor_mtime_hides_an_edit(world):
    info = (world.path / "demo/m.py").stat()
    world.edit(M.replace("strict=True", "strict=1234"))
    assert (world.path / "demo/m.py").stat().st_size == info.st_size
    os.utime(world.path / "demo/m.py", ns=(info.st_atime_ns, info.st_mtime_ns))
    world.backup()
    assert [one.file.path for one in capture(world).files] == ["demo/m.py"]


@pytest.mark.parametrize("word", ["demo", "Demo_Dist", "demo/m.py", "site/demo/m.py", "{site}/demo/m.py"])
def test_a_package_a_distribution_and_a_file_can_be_named(tmp_path, monkeypatch, word):
    world = World(tmp_path)
    if word == "Demo_Dist":
        shutil.rmtree(world.path / "demo-1.0.dist-info")
        world.install(wheel(tmp_path / "wheels", name="demo_dist", files=FILES))
    world.edit()
    world.backup()
    monkeypatch.chdir(tmp_path)
    word = word.format(site=world.path)
    assert [one.file.path for one in capture(world, words=(word,)).files] == ["demo/m.py"]
    with pytest.raises(SitepatchError, match="nothing was edited"):
        capture(world, words=("demo/n.py",), output="elsewhere")


def test_a_distribution_with_the_name_of_one_of_its_packages_means_all_of_them(tmp_path):
    world = World(tmp_path, {"demo/__init__.py": "", "demo_tools/__init__.py": "", "demo_tools/m.py": M})
    world.edit(path="demo_tools/m.py")
    world.edit("X = 1\n", "demo/__init__.py")
    files = capture(world, words=("demo",), pristine=str(world.wheel)).files
    assert [one.file.path for one in files] == ["demo/__init__.py", "demo_tools/m.py"]


def test_edits_of_two_distributions_become_one_patchset(world):
    world.install(wheel(world.cwd / "wheels", "other", files={"other/__init__.py": "X = 1\n", "other/data.conf": "a = 1\n"}))
    world.edit()
    world.backup()
    world.edit("X = 2\n", "other/__init__.py")
    (world.path / "other/kept").write_text("X = 1\n")
    done(world("capture", "--name", "mine"))
    assert sorted(path.name for path in (world.cwd / "patchsets/mine").glob("*.spatch")) == ["mine.spatch"]
    loaded = load_patchset(world.cwd / "patchsets/mine", "")
    assert [(variant.package, len(variant.patches)) for variant in loaded.variants] == [("demo", 1), ("other", 1)]
    world.edit("a = 2\n", "other/data.conf")
    (world.path / "other/data.kept").write_text("a = 1\n")
    done(world("capture", "other", "--name", "quiet"))
    assert "data.conf" not in (world.cwd / "patchsets/quiet/quiet.spatch").read_text()
    done(world("capture", "other/data.conf", "--name", "named"))
    assert "--- other/data.conf\n" in (world.cwd / "patchsets/named/named.spatch").read_text(), "of what is named every kind of text"


def test_edits_in_a_namespace_package_are_captured_for_one_distribution_at_a_time(tmp_path):
    world = World(tmp_path, {"demo/one/m.py": M, "demo/one/n.py": "VALUE = 1\n"})
    world.install(wheel(tmp_path / "wheels", "other", files={"demo/two/m.py": M}))
    world.edit(path="demo/one/m.py")
    world.edit("VALUE = 1  # a comment\n", "demo/one/n.py")
    world.edit(path="demo/two/m.py")
    (tmp_path / "was/demo/one").mkdir(parents=True)
    shutil.copytree(str(tmp_path / "was/demo/one"), str(tmp_path / "was/demo/two"))
    for path, text in (("one/m.py", M), ("one/n.py", "VALUE = 1\n"), ("two/m.py", M)):
        (tmp_path / "was/demo" / path).write_text(text)
    assert "demo/two/m.py" in done(world("diff", "--edited", "demo", "--stat")).err
    refused = world("capture", "demo", "--name", "mine", "--pristine", tmp_path / "was")
    assert refused.code == 1 and "what was changed in demo belongs to several distributions: demo and other" in refused.err
    done(world("capture", "demo/one/m.py", "demo/one/n.py", "--partial", "--name", "mine", "--pristine", tmp_path / "was"))
    captured = (tmp_path / "patchsets/mine/patchset.toml").read_text()
    assert 'summary = "Edits made by hand in demo/one/m.py"' in captured and 'distributions' not in captured


def test_unknown_names_are_reported_together(world):
    ended = world("capture", "nowhere", "demo/nowhere.py", "os", "--name", "mine")
    assert ended.code == 2
    for words in ("nowhere is not installed", "demo/nowhere.py: found no such", "standard library"):
        assert words in ended.err


def test_an_unedited_package_is_reported(world):
    ended = world("capture", "--name", "mine")
    assert ended.code == 1
    assert "nothing was edited: 3 Python files, each as it was installed" in ended.err
    assert not (world.cwd / "patchsets").exists()


def test_new_files_deleted_ones_and_distributions_without_record_are_named(world):
    world.backup()
    world.edit()
    world.edit("NEW = 1\n", "demo/new.py")
    world.edit("NEW = 1\n", "demo/a(1.py")
    (world.path / "demo/n.py").unlink()
    (world.path / "old-1.0.egg-info").write_text("Metadata-Version: 2.1\nName: old\nVersion: 1.0\n")
    here = world.path / "here-1.0.dist-info"
    here.mkdir()
    (here / "METADATA").write_text("Metadata-Version: 2.1\nName: here\nVersion: 1.0\n")
    (here / "direct_url.json").write_text('{"url": "file:///src/here", "dir_info": {"editable": true}}')
    ended = done(world("capture", "--name", "mine"))
    assert "demo/a(1.py, demo/new.py: new, and no part of a patchset" in ended.err
    assert "demo/n.py: is not there any more" in ended.err
    assert "no RECORD that says what was installed: old 1.0;" in ended.err
    assert "an editable install is edited where its files lie: here (file:///src/here)" in ended.err


@pytest.mark.parametrize("imported", ["from demo.new import X", "from demo import new", "import demo.new as new"])
def test_a_new_file_that_the_edit_imports_stops_the_capture(world, imported):
    world.backup()
    world.edit(M.replace("import os\n", f"import os\n\n{imported}\n"))
    world.edit("X = 1\n", "demo/new.py")
    ended = done(world("capture", "--name", "mine"), 1)
    assert "not captured  demo/new.py  new, and imported: `+++ PATH` in the .spatch adds a file" in ended.out
    assert not (world.cwd / "patchsets").exists()
    done(world("capture", "--name", "mine", "--partial"))


def test_an_edit_from_before_a_forced_apply_is_reported_as_below_the_patch(world):
    write_patchset(world.cwd / "patchsets", "forced", '--- demo/m.py\n@@ check @@\n-"empty"\n+"none"\n', "demo")
    world.backup()
    world.edit()
    done(world("apply", "forced", "--force", "--verify", "none"))
    ended = done(world("capture", "--name", "mine"), 1)
    assert "demo/m.py: was edited before it was patched with --force: `sitepatch restore` gives that text back" in ended.err


# the original ---------------------------------------------------------------------------------------------------------
def before(world, **more):
    return [(one.before.where, one.before.data, one.before.proven) for one in capture(world, **more).files]


def test_a_backup_of_any_name_counts_if_record_has_its_hash(world):
    world.edit()
    world.backup("m.py.orig", M.replace("empty", "Empty"))
    world.backup("zz")
    assert before(world) == [("zz beside it", M.encode(), True)]


@pytest.mark.parametrize("kind", ["file", "wheel", "directory"])
def test_an_original_given_by_the_user_is_taken(world, kind):
    world.edit()
    (world.cwd / "old/demo").mkdir(parents=True)
    (world.cwd / "old/demo/m.py").write_text(M)
    pristine = {"file": world.cwd / "old/demo/m.py", "wheel": world.wheel, "directory": world.cwd / "old"}[kind]
    assert before(world, pristine=str(pristine)) == [(str(pristine), M.encode(), True)]


@pytest.mark.parametrize("kind", ["wheel", "directory"])
def test_an_original_given_by_the_user_has_to_have_the_file(world, kind):
    world.edit()
    (world.cwd / "old").mkdir()
    other = wheel(world.cwd / "others", "other", files={"other/m.py": M})
    pristine = {"wheel": other, "directory": world.cwd / "old"}[kind]
    ended = done(world("capture", "--name", "mine", "--pristine", pristine), 1)
    assert f"--pristine {pristine}: has no demo/m.py" in ended.err


def test_an_original_given_by_the_user_is_unproven_where_record_has_another_hash(world):
    world.edit()
    (world.cwd / "old.py").write_text(M.replace("empty", "Empty"))
    ended = done(world("capture", "--name", "mine", "--pristine", "old.py"))
    assert "nothing proves that old.py is what was installed" in ended.err


def test_without_record_the_user_has_to_give_the_original(world):
    (world.path / "demo-1.0.dist-info/RECORD").unlink()
    world.edit()
    ended = world("capture", "demo/m.py", "--name", "mine")
    assert ended.code == 1
    assert "no RECORD in" in ended.err
    assert "--pristine" in ended.err
    done(world("capture", "demo", "--name", "mine", "--pristine", world.wheel, "--adopt"))
    assert "no RECORD proves the original file (unproven)" in done(world("status")).out
    done(world("restore"))
    assert world.text() == M


def test_the_original_is_found_where_the_package_was_installed_from(world):
    world.edit()
    (world.path / "demo-1.0.dist-info/direct_url.json").write_text(json.dumps({"url": f"file://{world.wheel}"}))
    assert before(world) == [(str(world.wheel), M.encode(), True)]


def test_the_original_is_found_in_the_index_and_then_in_the_cache(world):
    world.edit()
    index = Index()
    try:
        index.put("demo", world.wheel.name, world.wheel.read_bytes())
        more = index.variables(world.cwd / "cache")
        ended = done(world("capture", "--name", "mine", **{**more, "PIP_NO_INDEX": "", "PIP_CACHE_DIR": str(world.cwd / "pip")}))
    finally:
        index.close()
    assert "compared with demo 1.0 of the index" in ended.err
    done(world("capture", "--name", "again", SITEPATCH_CACHE=str(world.cwd / "cache")))  # without an index


def test_a_release_of_the_index_with_another_text_is_no_original(world):
    world.edit()
    index = Index()
    try:
        index.put("demo", world.wheel.name, wheel(world.cwd / "others", files={**FILES, "demo/m.py": OTHER}).read_bytes())
        more = {**index.variables(world.cwd / "cache"), "PIP_NO_INDEX": "", "PIP_CACHE_DIR": str(world.cwd / "pip")}
        ended = done(world("capture", "--name", "mine", **more), 1)
    finally:
        index.close()
    assert "demo 1.0 in the index: has another text than was installed (its sha256 differs)" in ended.err


@pytest.mark.parametrize("parts", [[], None])
def test_only_the_file_of_a_large_wheel_is_fetched_where_the_index_serves_ranges(world, monkeypatch, parts):
    world.edit()
    index = Index()
    index.parts = parts
    index.put("demo", world.wheel.name, world.wheel.read_bytes())
    for name, value in {**index.variables(world.cwd / "cache"), "PIP_CACHE_DIR": str(world.cwd / "pip")}.items():
        monkeypatch.setenv(name, value)
    # a wheel of megabytes takes a minute to make: this one counts as large
    monkeypatch.setattr(target_index, "LARGE", 1)
    monkeypatch.setattr(remote, "_PIECE", 300)
    monkeypatch.setattr(remote, "_SLACK", 0)
    try:
        assert before(world) == [("demo 1.0 of the index", M.encode(), True)]
    finally:
        index.close()
    assert len(index.fetched) == (1 if parts is None else len(parts)), "the whole wheel once, or parts alone"


def test_where_the_original_is_nowhere_each_place_is_named(world):
    world.edit()
    world.backup(text=EDIT)
    (world.path / "demo-1.0.dist-info/direct_url.json").write_text('{"url": "file:///gone/demo-1.0.whl"}')
    ended = world("capture", "--name", "mine")
    assert ended.code == 1
    for place in ("m.py: found nowhere", "the store,", "the files beside it", "/gone/demo-1.0.whl: is not there", "in the index", "--pristine DIR"):
        assert place in ended.err
    assert not (world.cwd / "patchsets").exists()


# what is refused ------------------------------------------------------------------------------------------------------
def test_a_name_that_is_taken_or_malformed_is_refused(world):
    world.backup()
    world.edit()
    done(world("capture", "--name", "mine", "--adopt"))
    (world.cwd / "patchsets/other").mkdir()
    (world.cwd / "patchsets/other/x").touch()
    assert "not empty" in done(world("capture", "--name", "other"), 2).err
    assert "is applied here" in done(world("capture", "--name", "mine", "--output", "elsewhere"), 2).err
    assert "a-z, 0-9" in done(world("capture", "--name", "No Name"), 2).err


def test_an_edit_during_the_capture_writes_nothing(world, monkeypatch):
    world.backup()
    world.edit()
    # an editor that saves while hunks are made: no clock can be set to that moment from outside
    failures.before(monkeypatch, capturing, "generalise", lambda *words, **more: world.edit(EDIT + "# later\n"))
    with pytest.raises(SitepatchError, match="edited again while it was captured"):
        capture(world)
    assert not (world.cwd / "patchsets").exists()


def test_an_edit_between_capture_and_adoption_is_kept(world):
    world.backup()
    world.edit()
    captured = capture(world)
    world.edit(EDIT + "# later\n")
    with pytest.raises(SitepatchError, match="edited again while") as caught:
        adopt(captured)
    assert "holds what was captured before" in caught.value.hint
    assert world.text() == EDIT + "# later\n"
    assert not Store(str(world.path)).receipts()


def test_an_edit_that_is_not_python_is_refused(world):
    world.backup()
    world.edit(EDIT.replace("def check(model):", "def check(model:"))
    ended = world("capture", "--name", "mine")
    assert ended.code in (1, 2)
    assert "demo/m.py" in ended.err
    assert "Traceback" not in ended.err
    assert not (world.cwd / "patchsets").exists()


def test_what_no_hunk_can_express_stops_the_capture_and_partial_takes_the_rest(world):
    world.backup()
    world.edit(EDIT.replace("check(model)\n", "check(unknown)\n"))
    ended = done(world("capture", "--name", "mine"), 1)
    assert "not captured" in ended.out
    assert "--partial makes one of the rest" in ended.err
    assert not (world.cwd / "patchsets").exists()
    done(world("capture", "--name", "mine", "--partial"))
    assert stat.S_ISDIR((world.cwd / "patchsets/mine").stat().st_mode)
