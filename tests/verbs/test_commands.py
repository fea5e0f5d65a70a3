"""What the commands promise, each as a scenario: the real command on a real directory, then a look at the files."""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from patcher import __version__
from patcher.patchset.places import builtin_dir
from patcher.verbs.demo import lay_out
from tests.author.world import World
from tests.command import (
    CHANGED,
    DDP,
    DDP_VERSION,
    DYNAMO,
    GUARD,
    ROOT,
    RUNNER,
    Ended,
    Site,
    changed,
    environ,
    killed_once_committed,
    sitepatch,
    tree,
)
from tests.pages import whole
from tests.places import patchset
from tests.records import write_patchset
from tests.verbs.helpers import ship, tutorial

pytestmark = pytest.mark.once

ALL = (DDP, GUARD, DYNAMO)


@pytest.fixture
def musa(tmp_path):
    return Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")


def files_of(entries):
    return {name: entry for name, entry in entries.items() if not name.startswith(".sitepatch")}


def bytes_of(entries):
    """The hashes of the files in a tree, without the store's."""
    return {name: entry[0] for name, entry in files_of(entries).items()}


# several options and patchsets ----------------------------------------------------------------------------------------
def test_another_option_changes_what_is_applied_and_restore_gives_back_the_original(site):
    before = site.tree()
    assert site("apply", DDP).code == 0
    assert site("apply", DDP, "--set", f"{DDP}.params=9").code == 0
    assert "limit=9):" in site.file("mmengine/dist/utils.py").read_text(encoding="utf-8")
    assert "params=9" in site("status").out
    assert site("apply", DDP, "--restore").code == 0
    assert site.tree() == before


def test_advice_is_given_once_and_not_for_every_apply_or_file(site):
    (record,) = site.path.glob("*.dist-info/RECORD")
    record.unlink()
    first = site("apply", DDP).err
    assert first.count("nothing proves") == 1 and first.count("running processes keep the old code") == 1
    again = site("apply", DDP, "--set", "params=9")
    assert again.code == 0 and "applied  " in again.out
    assert "running processes keep" not in again.err
    assert "running processes keep" in site("apply", DDP, "-v").err
    assert "running processes keep" not in site("restore").err


def test_the_order_of_applying_and_restoring_makes_no_difference(musa):
    before = musa.tree()
    results = set()
    for order in itertools.permutations(ALL):
        for name in order:
            ended = musa("apply", name)
            assert ended.code == 0, ended
        results.add(repr({name: entry[0] for name, entry in files_of(musa.tree()).items()}))
        for name in reversed(order[1:] + order[:1]):
            assert musa("restore", name).code == 0
        assert musa.tree() == before, order
    assert len(results) == 1


def test_two_patchsets_of_one_file_make_the_same_bytes_in_any_order_and_leave_each_other_alone(site):
    other = tutorial(site.cwd)
    before = site.tree()
    one = [site("diff", DDP).out, site("diff", other).out]
    results = set()
    for first, second in ((DDP, other), (other, DDP)):
        for name in (first, second):
            assert site("apply", name).code == 0
        results.add(site.file().read_bytes())
        assert site("restore", first).code == 0
        assert {line.split()[1] for line in site("status").out.splitlines()} == {second}
        assert site("diff").out == one[[DDP, other].index(second)]
        assert site("restore", second).code == 0
        assert site.tree() == before
    assert len(results) == 1
    (both,) = results
    assert b"_sitepatch_ddp_report" in both and b"                True)\n" in both


def test_all_at_once_is_the_same_as_one_after_the_other(musa):
    assert musa("apply", *ALL).code == 0
    at_once = {name: entry[0] for name, entry in files_of(musa.tree()).items()}
    assert musa("restore", GUARD, DDP).code == 0
    assert {line.split()[1] for line in musa("status").out.splitlines()} == {DYNAMO}
    assert musa("apply", DDP).code == musa("apply", GUARD).code == 0
    assert {name: entry[0] for name, entry in files_of(musa.tree()).items()} == at_once


@pytest.mark.parametrize("words", [["apply", *ALL, "--dry-run"], ["diff", *ALL], ["diff", *ALL, "--stat"]])
def test_commands_that_look_ahead_write_nothing(musa, words):
    before, folder = musa.tree(), os.stat(str(musa.path)).st_mtime_ns
    ended = musa(*words)
    assert ended.code == 0
    assert RUNNER in ended.out
    assert musa.tree() == before
    assert os.stat(str(musa.path)).st_mtime_ns == folder
    assert not (musa.path / ".sitepatch").exists()


def test_commands_that_show_what_is_applied_write_nothing(site):
    site("apply", DDP)
    before = site.tree()
    for words in (
        ["diff"],
        ["status"],
        ["apply", DDP, "--dry-run", "--set", "params=7"],
        ["apply", DDP, "--restore", "--dry-run"],
    ):
        assert site(*words).code == 0
    assert site.tree() == before


def test_a_dry_run_shows_the_diff_that_apply_then_makes(site):
    dry = site("apply", DDP, "--dry-run")
    assert "applicable" in dry.out
    assert "nothing was written" in dry.err
    assert site("diff", DDP).out in dry.out


# the diff -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "--quiet"]])
def test_the_diff_is_accepted_by_git_and_by_patch_and_makes_the_same_bytes(musa, tmp_path, tool):
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not installed")
    other = Site(tmp_path / "other", "mmengine-0.10.7", "torch-2.7.1-musa")
    ended = musa("diff", *ALL)
    check = ["--check"] if tool[0] == "git" else ["--dry-run"]
    env = {**environ(), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for command in ([*tool, *check], tool):
        completed = subprocess.run(command, input=ended.data, cwd=str(other.path), env=env, stderr=subprocess.PIPE)
        assert completed.returncode == 0, completed.stderr
    musa("apply", *ALL)
    assert bytes_of(musa.tree()) == bytes_of(other.tree())


def test_diff_has_an_exit_code_a_summary_and_a_page(site):
    assert site("diff", DDP, "--exit-code").code == 1
    assert site("diff", "--exit-code").code == 0
    assert site("diff", DDP, "--stat").out.splitlines()[-1].startswith(" 3 files changed, ")
    assert site("diff", DDP, "--html", site.cwd / "page.html").code == 0
    page = whole((site.cwd / "page.html").read_bytes())
    assert '_sitepatch_ddp_report("Runner.wrap_model"' in page.text("ins") and "Show where every parameter lives" in page.text("p")


def test_diff_of_an_applied_patchset_shows_only_its_own_change(musa):
    musa("apply", *ALL)
    shown = musa("diff", GUARD).out
    assert "torch/multiprocessing/reductions.py" in shown
    assert RUNNER not in shown and "suppress_errors" not in shown


# what does not need a change ------------------------------------------------------------------------------------------
def test_what_is_not_needed_is_reported_and_is_no_failure(tmp_path):
    site = Site(tmp_path, "torch-2.5.0")
    before = site.tree()
    ended = site("apply", GUARD)
    assert ended.code == 0
    assert ended.out.startswith("not needed")
    assert f"{GUARD}: nothing to do, it is not needed here" in ended.out
    assert site.tree() == before


def test_what_is_fixed_upstream_is_reported_and_is_no_failure(musa):
    path = "torch/multiprocessing/reductions.py"
    fixed = musa.file(path).read_bytes().replace(b"storage.is_musa", b'getattr(storage, "is_musa", False)')
    ship(musa, path, fixed)
    ended = musa("apply", GUARD)
    assert ended.code == 0, ended
    assert ended.out.startswith("upstream")
    assert musa.file(path).read_bytes() == fixed


# bad input ------------------------------------------------------------------------------------------------------------
def refused(site, code, words, *texts):
    """Check that the command ends with `code`, prints `texts`, and leaves the tree as it was."""
    before = site.tree()
    ended = site(*words)
    assert ended.code == code, ended
    for text in texts:
        assert text in ended.out + ended.err, ended
    assert "Traceback" not in ended.err
    assert site.tree() == before
    return ended


@pytest.mark.parametrize(
    ("command", "hint"),
    [("apply", "all patchsets: sitepatch list"), ("diff", "all patchsets: sitepatch list"), ("restore", "applied patchsets: none; see: sitepatch status")],
)
def test_an_unknown_patchset_is_refused_with_a_suggestion(site, command, hint):
    ended = refused(site, 2, [command, "mmengine-dpp-debug"], f'did you mean "{DDP}"?', f"hint: {hint}")
    assert ended.err.startswith('error: there is no patchset "mmengine-dpp-debug"')


@pytest.mark.parametrize("command", ["apply", "restore", "diff"])
def test_a_diff_a_directory_or_a_package_in_place_of_a_name_gets_a_hint(site, command):
    folder = site.source(DDP).rename(site.cwd / "patchsets" / "mine")
    (site.cwd / "a fix.diff").write_text("--- a/x.py\n+++ b/x.py\n")
    here = f"--target {site.path}"
    advice = f"a patchset for a package is made with: sitepatch edit PACKAGE --name NAME {here}\n"
    for word, meant in (
        ("a fix.diff", f"it is a diff\nhint: a diff becomes a patchset with: sitepatch import 'a fix.diff' --name NAME {here}\n"),
        ("./patchsets/mine", "hint: write its name: mine\n"),
        ("patchsets/", "hint: write its name: mine\n"),
        (f"{folder}/patchset.toml", "hint: write its name: mine\n"),
        ("triton", f"it is a package\nhint: it is patched by triton-libcuda-path; what is for it: sitepatch list triton {here}\n"),
        ("flash-attn", f"applied patchsets: none; see: sitepatch status {here}\n" if command == "restore" else advice),
        ("./patchsets/nothing", "there is no such folder\n"),
    ):
        refused(site, 2, [command, word], f'error: there is no patchset "{word}"', meant)


def test_an_applied_patchset_whose_source_is_gone_is_suggested(site):
    folder = site.source(DDP)
    manifest = folder / "patchset.toml"
    manifest.write_text(manifest.read_text().replace(f'name = "{DDP}"', 'name = "ours-alone"', 1))
    moved = folder.rename(folder.with_name("ours-alone"))
    assert site("apply", "ours-alone", "--verify", "none").code == 0
    moved.rename(site.cwd / "elsewhere")
    for command in ("restore", "status"):
        ended = refused(site, 2, [command, "ours-alnoe"], 'did you mean "ours-alone"?', "applied patchsets: ours-alone; see: sitepatch status")
        assert "known patchsets" not in ended.err
        ended = refused(site, 2, [command, "nothing"], "hint: applied patchsets: ours-alone; see: sitepatch status --target")
        assert DDP not in ended.err and "sitepatch edit" not in ended.err


def test_every_unknown_name_is_reported_in_one_run(site):
    refused(site, 2, ["apply", "one", DDP, "two"], '"one"', '"two"')
    refused(site, 2, ["restore", "one", DDP, "two"], '"one"', '"two"')


def test_an_unknown_name_is_refused_by_show(tmp_path):
    ended = sitepatch("show", "torch-musa-gard", cwd=tmp_path)
    assert (ended.code, 'did you mean "torch-musa-guard"?' in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("parms=3", 'did you mean "params"?'),
        (f"{DDP}.params=many", 'found "many", expected a value of type int'),
        ("params", 'found no "="'),
        (f"{GUARD}.x=1", "a patchset that is not named"),
    ],
)
def test_an_unknown_option_or_value_is_refused(site, setting, message):
    refused(site, 2, ["apply", DDP, "--set", setting], message)


def test_all_wrong_settings_are_reported_in_one_run(site):
    refused(site, 2, ["apply", DDP, "--set", "a=1", "--set", "params=many"], f"{DDP}.a", "expected a value of type int")


def test_a_setting_without_a_name_needs_one_patchset(musa):
    refused(musa, 2, ["apply", DDP, GUARD, "--set", "params=1"], "2 patchsets are named")


def test_apply_without_the_package_is_refused(site):
    refused(site, 1, ["apply", GUARD], "not found", f"torch is not installed in {site.path}", "nothing was written")


def test_a_version_outside_every_variant_is_refused(tmp_path):
    site = Site(tmp_path, "torch-1.13.0")
    refused(site, 1, ["apply", DYNAMO], "torch 1.13.0 is installed; this patchset is for torch >=2.0")


def test_one_patchset_that_does_not_fit_keeps_the_others_from_being_applied(tmp_path):
    site = Site(tmp_path, "torch-1.13.0", "mmengine-0.10.7")
    ended = refused(site, 1, ["apply", DDP, DYNAMO], "nothing was written: torch cannot be patched here", "torch 1.13.0 is installed; this patchset is for torch >=2.0")
    assert ended.out.count("applicable") == 8


def test_a_file_edited_by_hand_before_apply_is_refused(site):
    site.file().write_bytes(site.file().read_bytes() + b"# mine\n")
    refused(
        site,
        1,
        ["apply", DDP],
        "conflict",
        "somebody edited it",
        "pip install --force-reinstall --no-deps mmengine==0.10.7",
    )


def test_no_command_advises_installing_a_vendor_build_with_pip(tmp_path):
    site = Site(tmp_path, "torch-2.7.1-musa")
    (info,) = site.path.glob("*.dist-info")
    info = info.rename(info.with_name("torch-2.7.1+musa.dist-info"))
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("2.7.1", "2.7.1+musa"))
    path = site.file("torch/multiprocessing/reductions.py")
    pristine = path.read_bytes()
    path.write_bytes(pristine + b"# mine\n")
    applied, doctor = site("apply", GUARD), site("doctor")
    assert "install the same build of torch again from where it came" in applied.out
    path.write_bytes(pristine)
    assert site("apply", GUARD, "--verify", "none").code == 0
    for copy in (site.path / ".sitepatch/pristine").iterdir():
        copy.unlink()
    restored = site("restore")
    assert "the same build from where it came" in restored.err
    others = [site("status"), site("apply", DYNAMO), site("restore", "--force")]
    for ended in (applied, doctor, restored, *others):
        assert "pip install" not in ended.out + ended.err


def test_a_file_edited_by_hand_after_apply_is_refused_and_restored_with_force(site):
    before = site.tree()
    site("apply", DDP)
    site.file().write_bytes(site.file().read_bytes() + b"# mine\n")
    edited = site.file().read_bytes()
    refused(site, 1, ["apply", DDP, "--set", "params=1"], "edited by hand after it was patched")
    assert site("status").out.count("edited by hand") == 1
    assert site("status", "--check").code == 1

    forced = site("restore", "--force")
    assert forced.code == 0, forced
    (kept,) = (site.path / ".sitepatch").rglob("runner.py.*")
    assert kept.read_bytes() == edited
    assert files_of(site.tree()) == before


def test_apply_without_permission_changes_nothing(site):
    if os.geteuid() != 0:
        site.file().parent.chmod(0o555)
        refused(site, 1, ["apply", DDP], str(site.file().parent), "nothing was changed")
        site.file().parent.chmod(0o755)
        return
    chattr = shutil.which("chattr")
    if not chattr or subprocess.run([chattr, "+i", str(site.file())], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("root may write anywhere, and files cannot be made immutable here")
    try:
        refused(site, 1, ["apply", DDP], f"{site.file()}: the file is immutable", "nothing was changed")
    finally:
        subprocess.run([chattr, "-i", str(site.file())], check=True)


@pytest.mark.parametrize("words", [["apply", DDP], ["diff", DDP], ["show", DDP]])
def test_a_broken_manifest_is_refused_with_the_key_and_a_suggestion(site, words):
    folder = site.source(DDP, toml=[("summary =", "sumary =")])
    if words[0] == "show":
        ended = sitepatch(*words, cwd=site.cwd)
        assert ended.code == 2
        assert f"{folder / 'patchset.toml'}: sumary: found an unknown key" in ended.err
        assert 'did you mean "summary"?' in ended.err
    else:
        refused(site, 2, words, f"{folder / 'patchset.toml'}: sumary: found an unknown key", 'did you mean "summary"?')


def test_a_broken_spatch_is_refused_with_its_line_and_a_marker(site):
    folder = site.source(DDP, spatch=[("@@ Runner.wrap_model @@", "@@ Runner.wrap_model @@ sometimes")])
    ended = refused(site, 2, ["apply", DDP], f"{folder / 'ddp_debug.spatch'}:", "sometimes")
    assert any(set(line.strip()) and set(line.strip()) <= {"^", "~"} for line in ended.err.splitlines())


def test_a_hunk_with_an_unbound_metavariable_is_refused(site):
    folder = site.source(DDP, spatch=[('"Runner.wrap_model", $M,', '"Runner.wrap_model", $NOWHERE,')])
    refused(site, 2, ["apply", DDP], f"{folder / 'ddp_debug.spatch'}:", "$NOWHERE")


def test_a_target_that_is_not_python_is_a_conflict(site):
    ship(site, RUNNER, b"def wrap_model(:\n")
    refused(site, 1, ["apply", DDP], RUNNER, "conflict")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "nowhere"], "--target nowhere: found no such directory"),
        (["--python", "nowhere"], "--python nowhere: found no interpreter"),
        (["--python", "/dev/null"], "--python /dev/null: found no interpreter"),
        (["--patch-dir", "nowhere"], "--patch-dir nowhere: found no such directory"),
    ],
)
def test_a_path_that_is_no_environment_or_directory_is_wrong_usage(tmp_path, words, message):
    ended = sitepatch("apply", DDP, *words, cwd=tmp_path)
    assert (ended.code, message in ended.err) == (2, True), ended


def test_a_program_that_is_no_python_is_refused(tmp_path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho hello\n")
    fake.chmod(0o755)
    ended = sitepatch("status", "--python", fake, cwd=tmp_path)
    assert (ended.code, "it is no working Python 3 interpreter" in ended.err) == (2, True), ended


def test_a_wrong_option_of_a_command_is_wrong_usage(tmp_path):
    for words in (["apply"], ["apply", DDP, "--nonsense"], ["aply", DDP], ["--json", "status"]):
        ended = sitepatch(*words, cwd=tmp_path)
        assert (ended.code, "Usage: sitepatch" in ended.err) == (2, True), ended


# status ---------------------------------------------------------------------------------------------------------------
def test_a_reinstall_is_reported_and_can_be_patched_again_or_forgotten(site):
    shutil.copytree(str(site.path), str(site.cwd / "pristine"))
    site("apply", DDP)
    shutil.copy2(str(site.cwd / "pristine" / RUNNER), str(site.file()))
    ended = site("status")
    assert "overwritten" in ended.out and RUNNER in ended.out
    assert (ended.code, site("status", "--check").code) == (0, 1)
    assert site("apply", DDP).code == 0
    assert site("status", "--check").code == 0

    for path in CHANGED:
        shutil.copy2(str(site.cwd / "pristine" / path), str(site.file(path)))
    restored = site("restore")
    assert restored.code == 0
    assert restored.out.count("forgotten") == 3
    assert site.tree() == tree(site.cwd / "pristine")


def test_a_file_that_was_deleted_by_mistake_is_reported_and_put_back(site):
    before = site.tree()
    site("apply", DDP)
    site.file().unlink()
    ended = site("status")
    assert f"missing  {DDP} {DDP_VERSION}" in ended.out.replace("missing     ", "missing  ")
    assert "the file is not there any more; restore puts it back as it was before it was patched" in ended.out
    assert site("status", "--check").code == 1
    dry = site("restore", "--dry-run")
    assert "it is put back as it was before it was patched" in dry.err
    assert not site.file().exists()
    assert f"--- /dev/null\n+++ b/{RUNNER}\n" in dry.out
    assert site("restore").code == 0
    assert site("status", "--check").code == 0
    assert site.tree() == before


def replace_in(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_newer_patchset_is_reported_as_outdated_and_apply_brings_it_up_to_date(site):
    site("apply", DDP)
    folder = site.source(DDP, toml=[(f'version = "{DDP_VERSION}"', 'version = "99.1"')])
    assert site("status", "--check").code == 0, "it makes the same of the files"
    replace_in(folder / "ddp_debug.spatch", "must never stop the training", "never stops the training")
    ended = site("status")
    assert ended.out.count("outdated") == 1 and re.search(rf"^outdated +{DDP} ", site("list").out, re.MULTILINE)
    assert f"hint: sitepatch apply {DDP} --target {site.path}\n" in ended.out
    assert f"{DDP} 99.1 (./patchsets)" in ended.out
    assert site("status", "--check").code == 1
    assert site("apply", DDP).code == 0
    assert site("status", "--check").code == 0
    assert f"applied  {DDP} 99.1  mmengine 0.10.7  3 files" in site("status").out
    site("apply", DDP, "--set", "params=7")
    replace_in(folder / "patchset.toml", 'version = "99.1"', 'version = "99.2"')
    replace_in(folder / "ddp_debug.spatch", "never stops the training", "does not stop the training")
    assert f"hint: sitepatch apply {DDP} --set params=7 --target {site.path}\n" in site("status").out, "else it would go back to its default"


def test_a_lost_copy_of_a_patchset_is_reported_and_restore_works_without_it(site):
    before = site.tree()
    site("apply", DDP)
    for copy in (site.path / ".sitepatch" / "patchsets").iterdir():
        copy.unlink()
    ended = site("status", "--check")
    assert (ended.code, ": is missing" in ended.out, f"damaged  {DDP} " in ended.out) == (1, True, True), ended
    assert site("restore").code == 0
    assert site.tree() == before


@pytest.mark.parametrize("command", [["apply", DDP], ["status", "--check"]])
def test_an_interrupted_run_is_finished_by_the_next_command_which_reports_it(site, command):
    before = site.tree()
    killed_once_committed(site, "apply", DDP)
    ended = site(*command)
    assert ended.code == 0
    assert "an interrupted run was finished: 3 files" in ended.err
    assert "nothing to do, it is applied already" in site("apply", DDP).out
    assert site("status", "--check").code == 0
    site("restore")
    assert site.tree() == before


def test_list_and_status_agree(musa):
    """They name the same state of a patchset, whatever has happened to its files."""
    assert musa("apply", DDP, "--verify", "none").code == 0
    runner = musa.path / RUNNER
    patched, pristine = runner.read_bytes(), (ROOT / "fixtures/mmengine-0.10.7" / RUNNER).read_bytes()
    for data in (patched, patched + b"# mine\n", pristine):
        runner.write_bytes(data)
        (reported,) = json.loads(musa("status", "--json").out)["patchsets"]
        (listed,) = (each for each in json.loads(musa("list", "--json").out)["patchsets"] if each["name"] == DDP)
        assert listed["state"] == reported["state"]
    assert reported["state"] == "overwritten"


# list, show, help -----------------------------------------------------------------------------------------------------
def test_list_shows_every_patchset_with_its_source_and_those_that_fit_first(musa):
    assert musa("apply", DDP, "--verify", "none").code == 0
    path = musa.path / "mmengine-0.10.7.dist-info" / "METADATA"
    path.write_text(path.read_text().replace("0.10.7", "2.0"))
    for state in ("applied", "out of range"):  # the release of MMEngine decides, not the code
        listed = musa("list", "-v")
        assert listed.code == 0
        lines = [re.split("  +", line) for line in listed.out.splitlines()[::2]]
        every = sorted(path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml"))
        assert sorted(line[1] for line in lines) == every
        words = [line[0] for line in lines]
        assert list(dict.fromkeys(words)) == [*(["applied"] if state == "applied" else []), "applicable", "out of range", "absent"]
        assert next(line for line in lines if line[1] == DDP)[0] == state
        assert ["applicable", DYNAMO, "1.1", "default", "torch 2.7.1"] in lines
        assert ["absent", "accelerate-ddp-hygiene", "1.3", "default", "accelerate >=0.25,<0.33, …"] in lines
        assert ["out of range", "mmengine-device", "2.1", "fix", "mmengine >=0.1,<1"] in lines
        assert musa("restore").code == 0


def test_a_broken_patchset_is_one_line_and_the_others_can_be_used(site):
    broken = site.cwd / "patchsets/wrong"
    broken.mkdir(parents=True)
    (broken / "patchset.toml").write_text('schema = 1\nkind = "fxi"\nname = "wrong"\n')
    info = site.cwd / "vendor/vendor-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[sitepatch.patchsets]\nvendor = gone.away\n")
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(info.parent)])}
    assert site("apply", DDP, "--verify", "none", **path).code == 0

    def check(ended, is_broken_read=True):
        text = ended.out + ended.err
        assert len([line for line in text.splitlines() if "gone.away" in line]) == 1, ended
        assert len([line for line in text.splitlines() if "wrong/patchset.toml" in line]) == is_broken_read, ended

    listed, checked, status = sitepatch("list", "-v", cwd=site.cwd, **path), site("check", **path), site("status", **path)
    check(listed)
    check(checked)
    check(site("doctor", **path))
    check(status, is_broken_read=False)  # it reads no patchset that does not stand applied
    for ended, code in ((listed, 1), (checked, 1), (status, 0)):
        assert ended.code == code
        assert "broken" in ended.out + ended.err
        assert DDP in ended.out
    source = site.source(DDP, toml=[('kind = "debug"', 'kind = "debgu"')])
    ended = site("status", **path)
    assert ended.code == 0
    assert f"broken: {source / 'patchset.toml'}" in ended.err
    assert site("restore", **path).code == 0


def test_list_shows_a_broken_folder_and_ends_with_1(site):
    site.source(DDP, toml=[('kind = "debug"', 'kind = "debog"')])
    ended = sitepatch("list", "-v", cwd=site.cwd)
    assert ended.code == 1
    assert re.search(f"^broken +{DDP}$", ended.out, re.MULTILINE) and 'did you mean "debug"?' in ended.out
    assert GUARD in ended.out


@pytest.mark.parametrize("words", [["list"], ["show", DDP], ["diff", DDP], ["apply", DDP], ["check", DDP]])
def test_a_patchset_that_hides_another_is_reported(site, words):
    folder = site.source(DDP)
    run = site if words[0] in ("apply", "diff", "check") else functools.partial(sitepatch, cwd=site.cwd)
    dry = ["--dry-run"] if words[0] == "apply" else []
    assert "hides" not in run(*words, *dry).err, "it is the same patchset"
    (folder / "patchset.toml").write_text((folder / "patchset.toml").read_text().replace(f'version = "{DDP_VERSION}"', 'version = "99.1"'))
    ended = run(*words)
    assert ended.code == 0
    assert f"note: {DDP} (./patchsets) is used; it hides {DDP} (" in ended.err


@pytest.mark.parametrize("overlay", [[], ["--overlay"]])
def test_the_answer_of_run_has_the_notes_too(site, overlay):
    manifest = site.source(DDP) / "patchset.toml"
    manifest.write_text(manifest.read_text().replace(f'version = "{DDP_VERSION}"', 'version = "99.1"'))
    words = ["run", DDP, *overlay, "--json", "--verify", "none", "--target", site.path, "--", "true"]
    ended = sitepatch(*words, cwd=site.cwd, SITEPATCH_CACHE=str(site.cwd / "cache"))
    assert ended.code == 0, ended
    assert [note for note in json.loads(ended.err)["notes"] if "it hides" in note] != []


@pytest.mark.parametrize("words", ["list", "hook status"])
def test_with_verbose_a_command_names_the_environment(site, words):
    words = [*words.split(), "--target", site.path]
    assert re.search(f"^environment: .*: {site.path}$", sitepatch(*words, "-v", cwd=site.cwd).err, re.MULTILINE)
    assert "environment: " not in sitepatch(*words, cwd=site.cwd).err


@pytest.mark.parametrize("linked", ["pk", "pk/m.py"])
def test_list_is_not_stopped_by_a_package_that_is_a_link(tmp_path, linked):
    site = tmp_path / "site"
    (site / "pk").mkdir(parents=True)
    (site / "pk/m.py").write_text("def f(x):\n    g(x)\n")
    (site / linked).rename(tmp_path / "elsewhere")
    (site / linked).symlink_to(tmp_path / ("elsewhere" if linked == "pk" else "gone"))
    write_patchset(tmp_path / "mine", "mine", "Why.\n\n--- pk/m.py\n@@ f @@\n-g(x)\n+g(x, 1)\n", "pk")
    ended = sitepatch("list", "--patch-dir", tmp_path / "mine", "--target", site, cwd=tmp_path)
    assert ended.code == 0 and re.match("applicable +mine ", ended.out), ended


def test_show_prints_added_files_above_the_hunks(tmp_path):
    added = "+++ pk/helper.py\n+import os\n\n"
    write_patchset(tmp_path, "mine", f"Why.\n\n{added}--- pk/m.py\n@@ f @@\n-g(x)\n+g(x, 1)\n", "pk")
    out = sitepatch("show", "mine", "--patch-dir", tmp_path, cwd=tmp_path).out
    assert f"\n{added}--- pk/m.py\n" in out
    assert out.endswith(f"\n  sitepatch apply mine --patch-dir {tmp_path}\n  sitepatch restore mine\n")


@pytest.mark.parametrize("text", ["solo", "solo-lite"])
def test_list_finds_a_patchset_by_its_package_and_by_the_distribution(tmp_path, text):
    spatch = "Why.\n\n--- solo.py\n@@ f @@\n-g(x)\n+g(x, 1)\n"
    write_patchset(tmp_path, "mine", spatch, "solo", more='distributions = ["solo-lite"]\n')
    assert "  mine  " in sitepatch("list", text, "--patch-dir", tmp_path, cwd=tmp_path).out


def test_show_prints_the_reason_the_options_and_the_patches(tmp_path):
    ended = sitepatch("show", DDP, cwd=tmp_path)
    assert ended.code == 0
    for text in (
        f"{DDP} {DDP_VERSION}  debug, built in",
        "This patchset prints a report from every rank",
        f"{DDP}.params=5  how many parameters per device to name in the line for people (int)",
        "mmengine >=0.1,<1",
        "remove when: the failure is understood",
        "@@ DDPStrategy._wrap_model @@ when-present",
    ):
        assert text in ended.out


def test_restoring_what_is_known_but_not_applied_is_no_error(site):
    ended = site("restore", GUARD)
    assert (ended.code, ended.out) == (0, f"{GUARD} is not applied here: nothing to restore\n")
    site("apply", DDP)
    assert site("restore", GUARD).code == 0
    assert site("status").out.count("applied") == 1


@pytest.mark.parametrize("command", ["apply", "restore", "diff", "status", "list", "show", "demo", "diagnose"])
def test_every_command_has_help_with_an_example(tmp_path, command):
    ended = sitepatch(command, "--help", cwd=tmp_path)
    assert ended.code == 0
    assert "Example" in ended.out and f"  sitepatch {command}" in ended.out
    assert "--json" in ended.out


def test_version_prints_the_version(tmp_path):
    assert sitepatch("--version", cwd=tmp_path).out == f"sitepatch, version {__version__}\n"


# JSON, colours, pipes -------------------------------------------------------------------------------------------------
def test_every_command_answers_in_json(site):
    def asked(*words):
        run = functools.partial(sitepatch, cwd=site.cwd) if words[0] in ("list", "show") else site
        ended = run(*words, "--json")
        answer = json.loads(ended.out)
        assert (answer["schema"], answer["command"], answer["ok"]) == (1, words[0], ended.code == 0)
        return answer

    listed = [one["name"] for one in asked("list")["patchsets"]]
    assert listed == sorted(path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml"))
    assert asked("show", "mmengine-device")["patchset"]["options"][2]["choices"] == ["auto", "none"]
    assert {one["path"] for one in asked("diff", DDP)["planned"]} == CHANGED
    dry = asked("apply", DDP, "--dry-run")
    assert (dry["written"], dry["diff"].count("\n+++ b/")) == (False, 3)
    applied = asked("apply", DDP)
    assert applied["written"] and {one["state"] for one in applied["answers"]} == {"applicable", "not needed"}
    assert {one["path"] for one in applied["files"]} == CHANGED
    for one in applied["files"]:
        assert one["sha256_after"] == hashlib.sha256(site.file(one["path"]).read_bytes()).hexdigest()
    assert {one["condition"] for one in asked("status")["files"]} == {"applied"}
    assert asked("restore")["written"]
    failed = asked("apply", GUARD)
    assert failed["answers"][0]["state"] == "not found" and "not installed" in failed["answers"][0]["problem"]
    error = asked("apply", "nothing")["error"]
    assert error["exit_code"] == 2 and "known patchsets" in error["hint"]


def test_colours_are_printed_only_where_they_are_asked_for(site):
    assert "\x1b[" not in site("apply", DDP, "--dry-run").out
    assert "\x1b[34mnot needed" in site("apply", DDP, "--dry-run", FORCE_COLOR="1", TERM="dumb").out
    assert "\x1b[" not in site("apply", DDP, "--dry-run", FORCE_COLOR="1", NO_COLOR="1").out
    assert site("diff", DDP, FORCE_COLOR="1").out == site("diff", DDP).out, "for patch, or a file"


@pytest.mark.parametrize(("variables", "colours"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_on_a_terminal_there_are_colours_unless_no_color_is_set(site, variables, colours):
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "patcher", "show", DDP]
    env = environ(PAGER="cat", **variables)
    assert subprocess.run(command, env=env, cwd=str(site.cwd), stdin=follower, stdout=follower).returncode == 0
    os.close(follower)
    data = os.read(leader, 100_000)
    os.close(leader)
    assert (b"\x1b[" in data) == colours
    assert DDP.encode() in data


def test_a_diff_on_a_terminal_goes_through_the_pager(site):
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    script = site.cwd / "pager"
    script.write_text(f"#!/bin/sh\ncat > '{site.cwd}/paged'\n")
    script.chmod(0o755)
    command = [sys.executable, "-m", "patcher", "diff", DDP, "--target", str(site.path)]
    env = environ(PAGER=str(script), TERM="xterm")
    assert subprocess.run(command, env=env, stdin=follower, stdout=follower, cwd=str(site.cwd)).returncode == 0
    os.close(follower)
    os.close(leader)
    assert "+++ b/" + RUNNER in (site.cwd / "paged").read_text(encoding="utf-8")


def test_a_closed_pipe_prints_no_traceback(site):
    command = [sys.executable, "-m", "patcher", "show", DDP]
    read, write = os.pipe()
    os.close(read)
    completed = subprocess.run(command, env=environ(), cwd=str(site.cwd), stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert completed.stderr == b""


def test_an_interrupt_while_the_answer_is_printed_reports_that_the_work_is_done(site):
    """The command waits for a reader of its answer, as it would for a pager."""
    assert site("apply", DDP).code == 0
    read, write = full_pipe()
    command = [sys.executable, "-m", "patcher", "restore", "--target", str(site.path)]
    buffered = environ(PYTHONUNBUFFERED="")  # the default: what was not written is written again when the process ends
    child = subprocess.Popen(command, env=buffered, cwd=str(site.cwd), stdout=write, stderr=subprocess.PIPE)
    try:
        os.close(write)
        end = time.monotonic() + 60
        while (site.path / ".sitepatch").exists():
            assert child.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=120)[1].decode()
    finally:
        child.kill()
        child.wait()
        os.close(read)
    assert child.returncode == 130, err
    assert "interrupted: " in err and "the run was finished all the same, every file is as it meant it to be" in err


INTERRUPT = """
import os, runpy, signal, sys
where = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
runpy.run_module("patcher", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("patcher.verbs.main", ["status"]), ("click", ["list"]), ("patcher.display.console", ["show", DDP]),
        ("patcher.verbs.status", ["status"]), ("patcher.installed.interpreter", ["status"]), ("patcher.display.rows", ["diff"]),
        ("patcher.verbs.doctor", ["doctor"]), ("patcher.store.status", ["restore"]), ("patcher.patchset.selection", ["check"]), ("libcst", ["apply", DDP]),
    ],
)  # fmt: skip
def test_ctrl_c_while_a_command_imports_what_it_needs_ends_it_without_a_traceback(site, where, words):
    before = site.tree()
    target = [] if words[0] in ("list", "show") else ["--target", str(site.path)]
    ended = Ended(subprocess.run(
        [sys.executable, "-c", INTERRUPT, where, *words, *target], env=environ(), cwd=str(site.cwd), capture_output=True, check=False
    ))  # fmt: skip
    assert (ended.code, ended.err.strip()) == (130, "interrupted"), ended
    assert site.tree() == before


def full_pipe():
    """Both ends of a full pipe that nobody reads."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(write, b"x"):
            pass
    os.set_blocking(write, True)
    return read, write


def test_quiet_prints_only_errors(site):
    ended = site("apply", DDP, "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert site("apply", "nothing", "-q").err.startswith("error: ")


def test_names_and_settings_complete_with_tab(site):
    def completed(line):
        words = line.split(" ")
        ended = sitepatch(cwd=site.cwd, _SITEPATCH_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
        return [each.partition(",")[2] for each in ended.out.splitlines()]

    assert completed("sitepatch apply torch-m") == [GUARD]
    assert {DYNAMO, GUARD} < set(completed("sitepatch apply torch-"))
    assert DDP not in completed("sitepatch apply torch-")
    assert completed(f"sitepatch apply {DDP} --set mm") == [f"{DDP}.params="]
    assert completed(f"sitepatch restore --target {site.path} mm") == [""]
    assert site("apply", DDP, "--verify", "none").code == 0
    for command in ("restore", "status"):
        assert completed(f"sitepatch {command} --target {site.path} mm") == [DDP], "what is applied"
    assert len(completed(f"sitepatch diff --target {site.path} mm")) > 1


# other environments ---------------------------------------------------------------------------------------------------
def test_a_virtual_environment_is_found_by_its_python_and_by_its_variable(tmp_path):
    venv.create(str(tmp_path / "env"), with_pip=False)
    (site,) = (tmp_path / "env").glob("lib/python3*/site-packages")
    lay_out("mmengine-0.10.7", site)
    before = tree(site)
    python = tmp_path / "env" / "bin" / "python"
    ended = sitepatch("apply", DDP, "--python", python, cwd=tmp_path)
    assert ended.code == 0, ended
    assert f"sitepatch restore {DDP} --python {python}" in ended.out
    assert changed(before, tree(site)) == CHANGED
    assert sitepatch("status", cwd=tmp_path, VIRTUAL_ENV=str(tmp_path / "env")).out.count("applied") == 1
    for environment, words in (("env", f": {DDP} applied, 3 files\n"), ("gone", "found no interpreter")):
        alone = sitepatch(cwd=tmp_path, VIRTUAL_ENV=str(tmp_path / environment))
        assert alone.code == 0 and words in alone.out + alone.err
        assert re.findall(r"^  sitepatch (\w+)", alone.out, re.M) == ["list", "diff", "apply", "restore"]
    assert sitepatch("restore", "--python", tmp_path / "env", cwd=tmp_path).code == 0
    assert tree(site) == before


def test_a_patch_dir_comes_first(site):
    site.source(DDP, toml=[(f'version = "{DDP_VERSION}"', 'version = "99.1"')])
    (site.cwd / "patchsets").rename(site.cwd / "mine")
    assert site("apply", DDP, "--patch-dir", site.cwd / "mine").code == 0
    assert f"{DDP} 99.1" in site("status").out


def test_python_dash_m_runs_like_the_command(tmp_path):
    completed = subprocess.run([sys.executable, "-m", "patcher", "--version"], env=environ(), cwd=str(ROOT), stdout=subprocess.PIPE)
    assert completed.stdout.decode() == f"sitepatch, version {__version__}\n"


def test_the_demo_shows_the_whole_story_and_leaves_nothing(tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    ended = sitepatch("demo", cwd=tmp_path, TMPDIR=str(temporary), PIP_NO_INDEX="1")
    assert ended.code == 0, ended
    assert "NOT SO" not in ended.out and "exit code" not in ended.out
    assert len((ended.out + ended.err).splitlines()) <= 40
    for text in ("stand-in", "mmengine-0.10.7", "mmengine-0.1.0", "the edit is there", "none more, none less"):
        assert text in ended.out
    assert list(temporary.iterdir()) == []
    answer = json.loads(sitepatch("demo", "--json", cwd=tmp_path, PIP_NO_INDEX="1").out)
    assert answer["source"] == "stand-in" and len(answer["proofs"]) == 8 and all(proof["ok"] for proof in answer["proofs"])


@pytest.mark.parametrize("words", [["--target", ""], ["--python", " "]])
def test_an_empty_path_is_refused_and_not_the_current_directory(tmp_path, words):
    site = Site(tmp_path, "mmengine-0.10.7")
    before = site.tree()
    ended = sitepatch("apply", DDP, *words, cwd=site.path)
    assert ended.code == 2, ended
    assert "found an empty value" in ended.err
    assert site.tree() == before


def test_restore_has_a_dry_run_and_refuses_set(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    assert site("apply", DDP).code == 0
    before = site.tree()
    assert site("restore", "--dry-run").code == 0
    assert site("apply", DDP, "--restore", "--set", "params=1").code == 2
    assert site.tree() == before


def test_a_closed_stdout_does_not_stop_a_command(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    line = f"{sys.executable} -m patcher apply {DDP} --target {site.path} >&- 2>&-"
    completed = subprocess.run(["sh", "-c", line], cwd=str(tmp_path), env=environ(), stdin=subprocess.DEVNULL)
    assert completed.returncode == 0
    assert "applied" in site("status").out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("words", ["list", "--help", "status --json", "status", "doctor"])
def test_an_unwritable_stdout_is_an_error_in_one_line(tmp_path, words):
    with open("/dev/full", "w") as full:
        completed = subprocess.run([sys.executable, "-m", "patcher", *words.split()], cwd=str(tmp_path), env=environ(), stdout=full, stderr=subprocess.PIPE)
    assert completed.returncode == 1
    assert completed.stderr.decode() == "error: standard output: No space left on device\n"


def test_a_working_directory_that_was_deleted_is_named(tmp_path):
    line = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m patcher status --target "{tmp_path}"'
    completed = subprocess.run(["sh", "-c", line], cwd=str(tmp_path), env=environ(), capture_output=True)
    assert completed.returncode == 1 and completed.stderr.decode() == "error: the working directory was deleted\nhint: change to one that exists: cd DIR\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(("words", "code"), [("list", 0), ("no-such-command", 2), ("show no-such-patchset", 2), ("list --no-such-option", 2)])
def test_an_unwritable_stderr_does_not_change_the_exit_code(tmp_path, words, code):
    with open("/dev/full", "w") as full:
        completed = subprocess.run([sys.executable, "-m", "patcher", *words.split()], cwd=str(tmp_path), env=environ(), stdout=subprocess.PIPE, stderr=full)
    assert completed.returncode == code


def test_a_command_in_a_hint_has_the_environment_and_patch_dirs_of_the_command_that_gave_it(tmp_path):
    home = tmp_path / "a home"
    home.mkdir()
    world = World(home)
    options = ("--patch-dir", home / "mine")
    patchset(home, "demo/n.py", new=2)
    assert world("apply", "two", *options).code == 0
    patchset(home, "demo/n.py", new=3)
    for command in ("status", "doctor"):  # no word of another environment
        lines = world(command, *options).out.splitlines()
        commands_shown = [line for line in lines if "sitepatch restore" in line or "sitepatch apply" in line]
        assert all(str(world.path) in line for line in commands_shown)
    (line,) = (line for line in world("status", *options).out.splitlines() if "hint: " in line)
    _, _, hint = line.partition("hint: ")
    assert hint == f"sitepatch apply two --target '{world.path}' --patch-dir '{home}/mine'"
    again = sitepatch(*shlex.split(hint)[1:], cwd=tmp_path)
    assert again.code == 0 and world.text("demo/n.py") == "VALUE = 3\n"
    world.edit()
    patchset(home, "demo/m.py", name="other")
    ended = world("apply", "other", *options)
    assert ended.code == 1 and f"sitepatch capture demo/m.py --name NAME --adopt --target '{world.path}'" in ended.out
    assert f"sitepatch list demo --target '{world.path}' --patch-dir '{home}/mine'" in world("apply", "demo", *options).err
