"""`sync` brings an environment in line with the project: the real command on a real directory, then a look at the files."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from patcher.store.receipt import encode_fields
from tests.command import (
    DDP,
    DDP_VERSION,
    DYNAMO,
    GUARD,
    ROOT,
    Site,
    done,
    environ,
    sitepatch,
    tree,
)
from tests.imports import loaded
from tests.shop import OTHER, Shop
from tests.verify.helpers import Venv

pytestmark = pytest.mark.once
STAND_INS = ("mmengine-0.10.7", "torch-2.7.1-musa")

UTILS = "mmengine/dist/utils.py"


@pytest.fixture
def venv(tmp_path):
    return Venv(tmp_path)


def asks(site, *entries, more=""):
    """Write the pyproject.toml of the site's directory: the patchsets, and further lines of the table."""
    text = f"[tool.sitepatch]\n{more}\npatchsets = {json.dumps(list(entries))}\n"
    (site.cwd / "pyproject.toml").write_text(text, encoding="utf-8")


def standing(site):
    """The applied patchsets that `status` reports, with the options of each."""
    options = {}
    for file in json.loads(done(site("status", "--json")).out)["files"]:
        options.update({step["name"]: step["options"] for step in file["patchsets"]})
    return options


def same_as(tmp_path, fixtures, *commands):
    """The bytes of a fresh site on which these commands were run."""
    other = Site(tmp_path / "other", *fixtures)
    for words in commands:
        done(other(*words))
    hashes = sources(other)
    shutil.rmtree(other.cwd)
    return hashes


def sources(site):
    """The hash of each Python file."""
    files = {name: entry for name, entry in site.tree().items() if entry != "directory"}
    return {name: entry[0] for name, entry in files.items() if name.endswith(".py")}


# the three things that it does ----------------------------------------------------------------------------------------
def test_what_is_missing_is_applied_what_changed_is_updated_and_what_is_not_asked_for_is_restored(site, tmp_path):
    before = site.tree()
    asks(site, f"{DDP} params=7", GUARD)
    first = done(site("sync"))
    assert standing(site) == {DDP: {"params": 7}, GUARD: {}}
    assert f"applied  {DDP}: 3 files in {site.path}\n" in first.out
    assert f"applied  {GUARD}: 1 file in {site.path}\n" in first.out

    asks(site, f"{DDP} params=8", DYNAMO)
    second = done(site("sync"))
    assert standing(site) == {DDP: {"params": 8}, DYNAMO: {}}
    assert f"applied   {DYNAMO}: 1 file in {site.path}\n" in second.out
    assert f"updated   {DDP}: 3 files in {site.path}\n" in second.out
    assert f"restored  {GUARD}: 1 file in {site.path}, not asked for\n" in second.out
    assert f"note: {GUARD} is applied and is not asked for: it is reverted" in second.err
    fixtures = ("mmengine-0.10.7", "torch-2.7.1-musa")
    assert sources(site) == same_as(tmp_path, fixtures, ("apply", DDP, DYNAMO, "--set", f"{DDP}.params=8"))

    asks(site)
    done(site("sync"))
    assert site.tree() == before


def test_what_was_applied_by_hand_is_restored_and_announced_before(site):
    done(site("apply", GUARD))
    between = site.tree()
    asks(site, DDP)
    dry = done(site("sync", "--dry-run"))
    assert f"{GUARD} is applied and is not asked for: it is reverted" in dry.err
    assert "4 files would be changed" in dry.err
    assert site.tree() == between
    done(site("sync"))
    assert standing(site).keys() == {DDP}


def test_a_second_sync_writes_nothing_and_needs_no_syntax_tree(site):
    asks(site, f"{DDP} params=7", GUARD)
    first = loaded(site, "sync", "--target", site.path)
    assert "libcst" in first  # this test can see what is imported
    assert "pip_requirements_parser" not in first
    between = site.tree()
    again = loaded(site, "sync", "--target", site.path)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess", "pip_requirements_parser"} == set()
    assert again - loaded(site, "apply", DDP, GUARD, "--set", f"{DDP}.params=7", "--target", site.path) <= {
        "patcher.verbs.sync", "patcher.project", "patcher.project.request", "shlex",
        "patcher.hook", "patcher.hook.boot", "patcher.hook.installed",  # what a hook would undo
    }  # fmt: skip
    assert done(site("sync")).out == "2 patchsets: nothing to do, they are applied already\n"
    assert f"{DDP}: nothing to do, it is applied already" in done(site("sync", "-v")).out
    assert site.tree() == between


# pinned ---------------------------------------------------------------------------------------------------------------
def test_a_version_other_than_the_pinned_one_stops_sync_and_both_are_named(site):
    before = site.tree()
    asks(site, f"{DDP}==0.1 params=7", GUARD)
    (site.cwd / "requirements.txt").write_text(f"mmengine==0.10.7  # sitepatch: {DDP}==0.2\n")
    message = f"{DDP}: found version {DDP_VERSION} (built in), expected {DDP}"
    ended = done(site("sync", "-r", "requirements.txt"), 1)
    assert ended.err.splitlines()[0] == f"error: pyproject.toml: tool.sitepatch.patchsets[0]: {message}==0.1"
    assert f"requirements.txt:1: {message}==0.2" in ended.err
    for words in (["apply", f"{DDP}==0.1"], ["diff", f"{DDP}==0.1"], ["check", f"{DDP}==0.1"], ["export", f"{DDP}==0.1"]):
        assert f"error: {message}==0.1" in done(site(*words), 1).err
    refused = done(sitepatch("hook", "init", "h", f"{DDP}==0.1", cwd=site.cwd), 1)
    assert f"{message}==0.1" in refused.err and not (site.cwd / "h").exists()
    assert site.tree() == before


def test_what_is_pinned_and_found_is_applied(site):
    asks(site, f"{DDP}=={DDP_VERSION} params=7")
    done(site("sync"))
    assert standing(site) == {DDP: {"params": 7}}
    done(site("apply", f"{DDP}=={DDP_VERSION}", "--set", "params=8"))
    assert standing(site) == {DDP: {"params": 8}}
    ended = done(site("apply", f"{DDP}=="), 2)
    assert f"error: found {DDP}==, expected NAME or NAME==VERSION" in ended.err


# what a project asks for ----------------------------------------------------------------------------------------------
def test_requirements_and_the_project_are_combined_and_a_patch_dir_is_found_from_anywhere(site, tmp_path):
    folder = site.source(DDP, toml=[(f'version = "{DDP_VERSION}"', 'version = "7.0"')])
    (tmp_path / "far" / "mine").mkdir(parents=True)
    shutil.move(str(folder), str(tmp_path / "far" / "mine" / DDP))
    (tmp_path / "far" / "pyproject.toml").write_text(f'[tool.sitepatch]\npatch-dir = "mine"\npatchsets = ["{DDP} params=3"]\n')
    (site.cwd / "requirements.txt").write_text(f"torch  # sitepatch: {GUARD}\n-r far/more.txt\n")
    (tmp_path / "far" / "more.txt").write_text(f"# sitepatch: {DDP}\n# sitepatch: {DDP} params=3 optional\n")
    done(site("sync", "--project", "far", "-r", "requirements.txt"))
    assert standing(site) == {DDP: {"params": 3}, GUARD: {}}
    assert f"{DDP} 7.0" in site("status").out


@pytest.mark.parametrize(
    ("project", "words", "texts"),
    [
        (None, [], ["error: pyproject.toml: found no such file", "[tool.sitepatch] with patchsets", "-r"]),
        ("[project]\n", [], ["error: pyproject.toml: found no table [tool.sitepatch]"]),
        ("[project]\n", ["-r", "r.txt", "--project", "gone"], ["error: --project gone: found no such directory"]),
        ("[project]\n", ["-r", "r.txt"], ['error: r.txt: found no comment "# sitepatch: NAME"', "pip-compile", "patchsets = []"]),
        ("[tool.sitepatch\n", [], ["error: pyproject.toml:1:16: "]),
        ("[tool.sitepatch]\npatchsets = 1\n", ["-r", "r.txt"], ["tool.sitepatch.patchsets: found 1, expected a list of strings"]),
        ('[tool.sitepatch]\npatchsets = [{name = "a"}]\n', [], ["patchsets[0]: found a table, expected a string", 'the table is written: patchsets = ["NAME option=VALUE", ']),
        ("[tool.sitepatch.options]\nx = 1\n", [], ["tool.sitepatch.options: found an unknown key", 'the table is written: patchsets = ["NAME option=VALUE", ']),
        ('[tool.sitepatch]\npatch-dir = "gone"\npatchsets = ["a"]\n', [], ["pyproject.toml: tool.sitepatch.patch-dir: found no such directory: /"]),
        ('[tool.sitepatch]\npatchsets = ["a", "b"]\n', [], ['[0]: there is no patchset "a"', '[1]: there is no patchset "b"']),
    ],
)  # fmt: skip
def test_without_a_request_nothing_is_done_and_the_message_says_how_to_make_one(site, project, words, texts):
    done(site("apply", DDP))
    before = site.tree()
    (site.cwd / "r.txt").write_text("mmengine==0.10.7\n")
    if project is not None:
        (site.cwd / "pyproject.toml").write_text(project)
    ended = done(site("sync", *words), 2)
    assert all(text in ended.err for text in texts), ended
    assert site.tree() == before
    assert "Traceback" not in ended.err


def test_what_fits_nothing_is_an_error_unless_its_package_is_optional(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    before = site.tree()
    asks(site, DDP, GUARD)
    ended = done(site("sync"), 1)
    assert "torch is not installed in" in ended.out
    assert f'or ask for "{GUARD} optional", where it may be absent' in ended.out
    assert site.tree() == before
    asks(site, DDP, f"{GUARD} optional")
    ended = done(site("sync"))
    assert f"note: {GUARD} is optional and left out: torch is not installed in" in ended.err
    assert standing(site).keys() == {DDP}
    again = done(site("sync"))
    assert f"{GUARD}: nothing" not in again.out and f"{DDP}: nothing to do" in again.out
    for entries in ([f"{GUARD} optional", GUARD, DDP], [GUARD, f"{GUARD} optional"]):
        asks(site, *entries)
        assert "torch is not installed in" in done(site("sync"), 1).out


def test_optional_excuses_packages_and_releases_and_not_missing_code(site):
    asks(site, f"{DDP} optional")
    (site.path / "mmengine-0.10.7.dist-info").rename(site.path / "mmengine-2.0.0.dist-info")
    metadata = site.path / "mmengine-2.0.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 0.10.7", "Version: 2.0.0"))
    ended = done(site("sync"))
    assert f"{DDP} is optional and left out: mmengine 2.0.0 is installed; this patchset is for mmengine" in ended.err
    (site.source(DYNAMO).parent / DYNAMO).rename(site.cwd / "patchsets" / "of-json")
    manifest = site.cwd / "patchsets" / "of-json" / "patchset.toml"
    manifest.write_text(manifest.read_text().replace(DYNAMO, "of-json").replace('package = "torch"', 'package = "json"'))
    for path in manifest.parent.glob("*.spatch"):
        path.write_text(path.read_text().replace("--- torch/", "--- json/").replace("|torch/", "|json/"))
    asks(site, "of-json optional")
    assert "json belongs to the standard library, which is not patched" in done(site("sync"), 1).out
    asks(site, f"{GUARD} optional")
    site.file("torch/multiprocessing/reductions.py").write_text("x = 1\n")
    assert f"conflict  {GUARD}" in done(site("sync"), 1).out


# what prevents a change -----------------------------------------------------------------------------------------------
def test_one_patchset_that_does_not_fit_keeps_the_others_from_being_changed(site):
    done(site("apply", DYNAMO))
    site.file("torch/multiprocessing/reductions.py").write_text("x = 1\n")
    before = site.tree()
    asks(site, DDP, GUARD)
    ended = done(site("sync"), 1)
    assert "stopped: nothing was written" in ended.err
    assert site.tree() == before


def test_an_edit_by_hand_survives_a_restore_and_stops_an_apply(site):
    done(site("apply", DDP))
    edited = site.file(UTILS)
    pristine = Site(site.cwd / "p", "mmengine-0.10.7").file(UTILS).read_bytes()
    edited.write_bytes(edited.read_bytes() + b"# mine\n")
    asks(site, f"{DDP} params=3")
    before = site.tree()
    assert "the file was edited by hand after it was patched" in done(site("sync"), 1).out
    assert site.tree() == before
    site.file().unlink()  # it is put back
    asks(site)
    assert f"restored  {DDP}: 3 files" in done(site("sync")).out
    assert edited.read_bytes() == pristine + b"# mine\n"
    asks(site, DDP)
    assert "somebody edited it" in done(site("sync"), 1).out
    done(site("sync", "--force"))
    assert standing(site).keys() == {DDP}


def test_an_edit_of_our_own_change_keeps_the_patchset_from_being_restored(site):
    done(site("apply", DDP, GUARD))
    edited = site.file(UTILS)
    text = edited.read_text()
    assert "limit=5" in text
    edited.write_text(text.replace("limit=5", "limit=6"))
    before = site.tree()
    asks(site, GUARD)
    ended = done(site("sync"), 1)
    assert "the file was edited by hand where it was patched, at line" in ended.out
    assert site.tree() == before
    done(site("sync", "--force"))
    assert standing(site).keys() == {GUARD}


def test_a_damaged_hook_stops_nothing_and_one_of_a_newer_release_does(site):
    asks(site, GUARD)
    folder = site.path / "_sitepatch_hook_mine"
    folder.mkdir()
    (folder / "hook.json").write_text('{"format": 2, "sitepatch": "9.0"}')
    refused = done(site("sync"), 1)
    assert "sitepatch 9.0" in refused.err and standing(site) == {}
    fields = {"name": "sitepatch-hook-mine", "version": "1", "mode": "repair", "files": [], "patchsets": {DDP: {}}}
    for data, damage in (
        (b'{"sitepatch"', f"{folder}/hook.json: is not the JSON that sitepatch writes: "),
        (encode_fields(fields), f"{folder}/patchsets/{DDP}/patchset.toml: found no readable file"),
    ):
        (folder / "hook.json").write_bytes(data)
        ended = done(site("sync"))
        assert f"the hook sitepatch-hook-mine is damaged and does nothing: {damage}" in ended.err, ended.err
        assert "run `sitepatch hook init` again, and install the hook again" in ended.err
    assert list(standing(site)) == [GUARD]
    shutil.copytree(str(ROOT / "patchsets" / DDP), str(folder / "patchsets" / DDP))
    assert f"{DDP}: sitepatch-hook-mine keeps it applied" in done(site("sync"), 1).err


def test_a_file_that_a_new_version_leaves_alone_is_put_back(site):
    asks(site, DDP)
    done(site("sync"))
    folder = site.source(DDP, toml=[(f'version = "{DDP_VERSION}"', 'version = "99.0"')])
    for path in folder.glob("*.spatch"):
        head, *sections = path.read_text().split("\n--- ")
        kept = [section for section in sections if "distributed.py" not in section.split("\n")[0]]
        path.write_text("\n--- ".join([head, *kept]))
    ended = done(site("sync"))
    assert f"restored  {DDP}: 1 file in {site.path}, which it does not change any more" in ended.out
    assert f"updated   {DDP}: 2 files in {site.path}" in ended.out
    assert site.file("mmengine/_strategy/distributed.py").stat().st_mtime_ns == 1_600_000_000_123_456_789


def test_what_fails_to_verify_leaves_everything_as_it_stood(venv):
    for name, code in (("first", "three = 3"), ("second", "four = 4")):
        venv.patchset(name, code, path="demo/n.py" if name == "second" else "demo/m.py", imports=["demo.m", "demo.n"])
    pristine = venv.tree()
    done(venv("apply", "first", "second"))
    venv.patchset("bad", "raise RuntimeError('boom')", path="demo/__init__.py", imports=["demo"])
    venv.patchset("first", "three = 33", version="2")
    asks(venv, "first", "bad")
    before, stood = sources(venv), venv.standing()
    ended = done(venv("sync"), 1)
    assert "RuntimeError: boom" in ended.out and "verification failed: nothing was written, 3 files as before" in ended.err
    assert (sources(venv), venv.standing()) == (before, stood)
    assert ("three = 3\n" in venv.text(), "four = 4\n" in venv.text("demo/n.py")) == (True, True)
    asks(venv, "first")
    assert "verified" in done(venv("sync")).out
    assert venv.standing() == {("demo/m.py", "first", "2")}
    asks(venv)
    done(venv("sync"))
    assert venv.tree() == pristine


def test_a_probe_from_a_directory_that_the_project_names_is_not_run_but_one_that_the_user_names_is(venv):
    venv.patchset("probed", "three = 3", probe="print('ran')\n")
    asks(venv, "probed", more='patch-dir = "mine"')
    alone = sitepatch("sync", "--verify", "probe", "--python", venv.python, cwd=venv.cwd)
    assert "its probe is code, and is not run from there" in done(alone, 2).err
    assert venv.standing() == set()
    over = sitepatch("run", "--overlay", "--verify", "probe", "--python", venv.python, "--", "true", cwd=venv.cwd)
    assert "its probe is code, and is not run from there" in done(over, 2).err
    assert "1 probe passed" in done(venv("sync", "--verify", "probe")).out


def test_root_is_refused_a_directory_of_patchsets_that_others_may_write_to(site):
    if os.geteuid() != 0:
        pytest.skip("only root is refused")
    folder = site.source(DDP).parent
    folder.rename(site.cwd / "mine")
    (site.cwd / "mine" / DDP / "patchset.toml").chmod(0o666)
    asks(site, DDP, more='patch-dir = "mine"')
    assert "others may write to it" in done(site("sync"), 1).err


# after an installer, and side by side ---------------------------------------------------------------------------------
def test_after_a_reinstall_or_another_release_sync_applies_again(tmp_path):
    shop = Shop(tmp_path)
    shop.install("1.0")
    done(shop("apply", "shop-abs"))
    (shop.cwd / "pyproject.toml").write_text('[tool.sitepatch]\npatch-dir = "patches"\npatchsets = ["shop-abs"]\n')
    assert "nothing to do" in done(shop("sync")).out
    for version in ("1.0", "2.0", "0.9"):
        shop.install(version)
        assert "applied  shop-abs: 1 file" in done(shop("sync")).out
        assert "abs(" in shop.file.read_text()
    shop.install("3.0", OTHER)
    before = tree(shop.site)
    assert "not found  shop-abs" in done(shop("sync"), 1).out
    assert tree(shop.site) == before
    (shop.cwd / "pyproject.toml").write_text("[tool.sitepatch]\npatchsets = []\n")
    assert "forgotten  shop-abs: 1 file" in done(shop("sync")).out
    assert shop.file.read_text() == OTHER
    assert not (shop.site / ".sitepatch").exists()


def test_eight_at_once_do_the_work_once_and_all_succeed(site):
    done(site("apply", GUARD))
    asks(site, DDP)
    command = [sys.executable, "-m", "patcher", "sync", "--verify", "none", "--target", str(site.path)]
    options = {"cwd": str(site.cwd), "env": environ(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    children = [subprocess.Popen(command, **options) for _ in range(8)]
    outputs = []
    for child in children:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, (out, err)
        outputs.append(out)
    assert sum(b"restored" in out for out in outputs) == 1
    assert standing(site).keys() == {DDP}


def test_the_options_complete_with_tab(site):
    line = "sitepatch sync --p"
    ended = sitepatch(cwd=site.cwd, _SITEPATCH_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD="2")
    assert ended.out.split() == ["plain,--project", "plain,--python", "plain,--patch-dir"]
    ended = sitepatch(cwd=site.cwd, _SITEPATCH_COMPLETE="bash_complete", COMP_WORDS="sitepatch sync -r ", COMP_CWORD="3")
    assert ended.out.split() == ["file,"]


# how it is printed ----------------------------------------------------------------------------------------------------
def test_json_reports_what_was_done(site):
    done(site("apply", GUARD))
    asks(site, DDP)
    answer = json.loads(done(site("sync", "--json")).out)
    assert (answer["schema"], answer["command"], answer["ok"], answer["written"]) == (1, "sync", True, True)
    assert (answer["patchsets"], answer["restored"], len(answer["files"])) == ([DDP], [GUARD], 4)
    assert answer["verified"]["ok"] is True
    again = json.loads(done(site("sync", "--json", "--dry-run")).out)
    assert (again["written"], again["restored"], again["diff"]) == (False, [], "")
    asks(site, f"{DDP}==0.1")
    refused = json.loads(done(site("sync", "--json"), 1).out)
    assert f"{DDP}: found version {DDP_VERSION} (built in), expected {DDP}==0.1" in refused["error"]["message"]


def test_quiet_prints_only_errors_and_the_help_says_that_the_rest_is_restored(site):
    asks(site, DDP)
    for _ in range(2):
        ended = done(site("sync", "-q"))
        assert (ended.out, ended.err) == ("", "")
    assert "REVERTED, also what was applied by hand" in " ".join(sitepatch("sync", "--help", cwd=site.cwd).out.split())
    painted = done(site("sync", "--force", "-v", FORCE_COLOR="1"))
    assert "\x1b[" in painted.out
    assert "\x1b[" not in done(site("sync", "-v", NO_COLOR="1")).out
