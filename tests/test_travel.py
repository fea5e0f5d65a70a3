"""A restore is exact, writes nowhere else, and works after the directory was copied, moved or packed. By the command."""

import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from patcher.errors import SitepatchError
from patcher.patchset.catalogue import Catalogue
from patcher.verbs.demo import lay_out
from tests.command import (
    DDP,
    GUARD,
    ROOT,
    RUNNER,
    Site,
    done,
    environ,
    killed_once_committed,
    sitepatch,
    tree,
)
from tests.planner.helpers import FIX, patchset
from tests.stores import leave_journal, temporary
from tests.users import ROOT_ONLY, as_user, give, theirs

pytestmark = pytest.mark.once

UTILS = "mmengine/dist/utils.py"
# u::rwx,u:1234:r--,g::r-x,m::r-x,o::--- as <linux/posix_acl_xattr.h> has it: version; tag, rights and id of each entry
ENTRIES = [(0x01, 7, 0xFFFFFFFF), (0x02, 4, 1234), (0x04, 5, 0xFFFFFFFF), (0x10, 5, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)]
ACL = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in ENTRIES)


def refused(site, words, *texts, code=1, also=None):
    """Check that the command is refused, says why, and changes nothing: in the directory, and in `also`, a directory beside it."""

    def seen():
        here = {name: entry for name, entry in site.tree().items() if name != ".sitepatch/lock"}  # which holds a process id
        return here, tree(also) if also else None

    before = seen()
    ended = done(site(*words), code)
    for text in texts:
        assert text in ended.out + ended.err, ended
    assert seen() == before
    return ended


# restore is exact -----------------------------------------------------------------------------------------------------
def facts(path):
    info = os.lstat(path)
    xattrs = {name: os.getxattr(path, name) for name in os.listxattr(path)} if path.is_file() else {}
    kind = os.readlink(path) if path.is_symlink() else path.read_bytes()
    return kind, info.st_mode, info.st_uid, info.st_gid, info.st_mtime_ns, xattrs


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes in this Python")
def test_restore_gives_back_bytes_mode_owner_mtime_and_extended_attributes(site):
    path = site.file()
    path.chmod(0o750)
    try:
        os.setxattr(path, "user.origin", b"by \xff hand")
    except OSError:
        pytest.skip("no extended attributes on this filesystem")
    with contextlib.suppress(OSError):  # an access control list is an attribute too; not every filesystem has them
        os.setxattr(path, "system.posix_acl_access", ACL)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    os.utime(path, ns=(1_234_567_890_987_654_321, 1_234_567_890_987_654_321))
    before = facts(path)
    for again in ("apply", "restore"), ("apply", "apply", "restore"):
        for word, params in zip(again, "123"):
            done(site(word, DDP, *(["--set", f"params={params}"] if word == "apply" else [])))
            kept = facts(path)
            assert (kept[1:4], kept[5]) == (before[1:4], before[5])  # also while it is patched
        assert facts(path) == before


@pytest.mark.parametrize("absolute", [False, True])
def test_a_link_comes_back_as_that_link_and_where_it_leads_nothing_is_written(site, tmp_path, absolute):
    cache = tmp_path / "cache"
    cache.mkdir()
    shutil.move(str(site.file()), str(cache / "runner.py"))
    target = cache / "runner.py" if absolute else Path("../../../cache/runner.py")
    site.file().symlink_to(target)
    os.utime(site.file(), ns=(1_111_111_111_000_000_001,) * 2, follow_symlinks=False)
    before, inside = site.tree(), tree(cache)
    done(site("apply", DDP))
    assert not site.file().is_symlink()
    assert tree(cache) == inside
    done(site("restore"))
    assert site.tree() == before
    assert tree(cache) == inside
    assert facts(site.file())[4] == 1_111_111_111_000_000_001


# no way out -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["../out/a.py", "mmengine/../../out/a.py", "/OUT/a.py", "mmengine//a.py", "mmengine\\a.py"])
def test_a_patch_of_a_path_that_leaves_the_directory_is_refused(site, tmp_path, path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.py").write_bytes(site.file().read_bytes())
    patchset(tmp_path, "ids-fix", FIX.replace(RUNNER, path.replace("/OUT", str(out))))
    refused(site, ["apply", "ids-fix", "--patch-dir", "patches"], "p.spatch", code=2, also=out)


def link_out(site, tmp_path):
    """Move the folder of the target outside and put a link in its place."""
    out = tmp_path / "out"
    shutil.move(str(site.file().parent), str(out))
    site.file().parent.symlink_to(out)
    return out


def test_a_directory_that_is_a_link_out_is_refused(site, tmp_path):
    out = link_out(site, tmp_path)
    refused(site, ["apply", DDP], "outside the site directory", also=out)


def test_a_directory_that_became_a_link_out_is_not_restored_through(site, tmp_path):
    done(site("apply", DDP))
    out = link_out(site, tmp_path)
    refused(site, ["restore"], "is a link or not a directory", also=out)


PLANT = """
import os, sys, patcher.store.transaction as change, patcher.store.journal as journal, patcher.verbs.main as cli
def plant():
    os.rename({folder!r}, {out!r}); os.symlink({out!r}, {folder!r})
def before(module, name, when):
    real = getattr(module, name)
    def planted(*given, **named):
        done = real(*given, **named) if when == "after" else None
        if {phase!r} in given or not {phase!r}:
            {plant}
        return done or real(*given, **named)
    setattr(module, name, planted)
{hook}
sys.argv = {argv!r}
cli.main()
"""
HOOKS = {
    "after the plan": ("", 'before(change.Transaction, "commit", "before")'),
    "before the journal": ("preparing", 'before(journal, "write_journal", "before")'),
    "before the commit point": ("committing", 'before(journal, "write_journal", "before")'),
}


@pytest.mark.parametrize("phase", HOOKS)
@pytest.mark.parametrize("word", ["apply", "restore"])
def test_a_link_that_is_planted_at_the_wrong_moment_leads_nowhere(site, tmp_path, word, phase):
    before = site.tree()
    if word == "restore":
        done(site("apply", DDP))
    out, folder = tmp_path / "out", str(site.file().parent)
    inside = tree(folder)
    when, hook = HOOKS[phase]
    argv = ["sitepatch", word, DDP, "--target", str(site.path)]
    code = PLANT.format(folder=folder, out=str(out), phase=when, hook=hook, argv=argv, plant="plant()")
    ran = subprocess.run([sys.executable, "-c", code], env=environ(), cwd=str(tmp_path), capture_output=True)
    assert out.is_dir(), ran  # this test can plant
    assert ran.returncode == 1, ran
    assert b"is a link or not a directory" in ran.stderr, ran
    waiting = {name for name in os.listdir(out) if ".sitepatch-" in name}
    assert len(waiting) == (2 if phase == "before the commit point" else 0)
    assert {name: entry for name, entry in tree(out).items() if name not in waiting} == inside
    os.unlink(folder)
    out.rename(folder)
    assert (b"mmengine/runner/runner.py is left as it is" in ran.stderr) == bool(waiting)  # the other files were past the commit point
    if waiting:
        done(site("status", "--check"), 1 if word == "apply" else 0)
        done(site(word, DDP))
    stands = {b"_sitepatch_ddp_report" in site.file(path).read_bytes() for path in (RUNNER, UTILS)}
    assert stands == {(word == "apply") == bool(waiting)}  # in all files or in none
    done(site("restore"))
    assert site.tree() == before


def test_a_file_that_became_a_link_out_between_plan_and_commit_is_refused(site, tmp_path):
    out = tmp_path / "out.py"
    code = PLANT.format(
        folder="", out="", phase="", hook=HOOKS["after the plan"][1], argv=["sitepatch", "apply", DDP, "--target", str(site.path)],
        plant=f"os.rename({str(site.file())!r}, {str(out)!r}); os.symlink({str(out)!r}, {str(site.file())!r})",
    )  # fmt: skip
    data = site.file().read_bytes()
    ran = subprocess.run([sys.executable, "-c", code], env=environ(), cwd=str(tmp_path), capture_output=True)
    assert (ran.returncode, b"is a link to" in ran.stderr) == (1, True), ran
    assert out.read_bytes() == data
    assert site.file().is_symlink()
    assert not (site.path / ".sitepatch").exists()


def store_file(site, folder, holds=b""):
    """The one file of a folder of the store that holds some bytes."""
    copies = [path for path in (site.path / ".sitepatch" / folder).iterdir() if holds in path.read_bytes()]
    assert copies
    return sorted(copies)[0]


@pytest.mark.parametrize("path", ["../out/victim.py", "OUT/victim.py", "mmengine/../../out/victim.py"])
@pytest.mark.parametrize("word", ["restore", "status", "apply"])
def test_a_forged_receipt_leads_nowhere(site, tmp_path, path, word):
    out = tmp_path / "out"
    out.mkdir()
    (out / "victim.py").write_text("x = 1\n")
    done(site("apply", DDP))
    receipt = store_file(site, "receipts", RUNNER.encode())
    fields = json.loads(receipt.read_text())
    fields["path"] = path.replace("OUT", str(out))
    receipt.write_text(json.dumps(fields))
    words = [word, DDP] if word == "apply" else [word]
    if word != "restore":
        refused(site, words, str(receipt), "path", also=out)
        return
    before = tree(out), site.file().read_bytes(), receipt.read_bytes()
    ended = done(site("restore"), 1)  # the files of the other receipts, and what is wrong
    assert str(receipt) in ended.out + ended.err and "path" in ended.out + ended.err
    assert (tree(out), site.file().read_bytes(), receipt.read_bytes()) == before
    assert b"_sitepatch_ddp_report" not in site.file(UTILS).read_bytes()


def test_a_receipt_whose_splices_were_changed_is_refused(site, tmp_path):
    patchset(tmp_path, "ids-fix", FIX)
    done(site("apply", DDP, "ids-fix", "--patch-dir", "patches"))
    receipt = store_file(site, "receipts", RUNNER.encode())
    fields = json.loads(receipt.read_text())
    fields["steps"][0]["splices"][0][2] = "evil()"
    receipt.write_text(json.dumps(fields))
    refused(site, ["restore", DDP], "its receipt does not lead to what was written there")


@pytest.mark.parametrize("phase", ["preparing", "committing"])
@pytest.mark.parametrize("path", ["../out/victim.py", "mmengine/../../out/victim.py"])
def test_a_forged_journal_leads_nowhere(site, tmp_path, phase, path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "victim.py").write_text("x = 1\n")
    (out / temporary(path)[0]).write_text("evil()\n")
    done(site("apply", DDP))
    leave_journal(site.path, phase, path=path)
    for words in (["status"], ["apply", DDP], ["restore"]):
        refused(site, words, str(site.path / ".sitepatch/journal.json"), "path", also=out)


def test_a_changed_pristine_copy_is_not_put_in_place(site):
    done(site("apply", DDP))
    copy = store_file(site, "pristine", b"class Runner")
    copy.write_bytes(copy.read_bytes().replace(b"class Runner", b"evil()\n\n\nclass Runner"))
    refused(site, ["restore"], str(copy), "damaged", "install the package it belongs to again")


def test_a_changed_text_of_a_stored_patchset_is_not_applied(site, tmp_path):
    patchset(tmp_path, "ids-fix", FIX)
    done(site("apply", DDP))
    copy = store_file(site, "patchsets")
    copy.write_text(copy.read_text().replace("_sitepatch_ddp_report", "evil"))
    # the fix comes first, so the applied patchset would have to be derived anew from its stored text
    refused(site, ["apply", "ids-fix", "--patch-dir", "patches"], str(copy), "the stored patchset is damaged")
    done(site("restore"))  # which does not need the text


# who may write patches for root ---------------------------------------------------------------------------------------
def loose(place, how, folder):
    """Let others write to one of the places that lead to a patch."""
    path = {"file": folder / "p.spatch", "folder": folder, "above": folder.parent, "far above": folder.parents[1]}[place]
    if how == "owner":
        os.chown(path, 1234, -1)
    elif how == "group":
        os.chown(path, -1, 4321)
        path.chmod(path.stat().st_mode | 0o020)
    else:
        path.chmod(path.stat().st_mode | (0o1002 if how == "sticky" else 0o002))


@ROOT_ONLY
@pytest.mark.parametrize("source", ["./patchsets", "--patch-dir"])
@pytest.mark.parametrize("place", ["file", "folder", "above", "far above"])
@pytest.mark.parametrize("how", ["owner", "group", "others", "sticky"])
def test_root_is_refused_a_patchset_that_others_may_write_to(tmp_path, source, place, how):
    site = Site(tmp_path / "home", "mmengine-0.10.7")
    patchset(site.cwd, "ids-fix", FIX)
    (site.cwd / "patches").rename(site.cwd / "patchsets")
    words = ["apply", "ids-fix", *(["--patch-dir", "patchsets"] if source == "--patch-dir" else [])]
    done(site(*words, "--dry-run"))
    loose(place, how, site.cwd / "patchsets" / "ids-fix")
    if how == "sticky" and "above" in place:
        done(site(*words))  # as below /tmp: nobody may replace there what belongs to root
        return
    refused(site, words, "what is applied is code that you run", "chmod go-w")
    done(site("diff", *words[1:]))  # looking does no harm


@ROOT_ONLY
@pytest.mark.parametrize("words", [["run", "--overlay"], ["run"], ["hook", "init", "keep"]], ids=" ".join)
def test_every_command_that_would_run_code_of_others_refuses_it(tmp_path, words):
    site = Site(tmp_path / "home", "mmengine-0.10.7")
    patchset(site.cwd, "ids-fix", FIX)
    loose("folder", "others", site.cwd / "patches" / "ids-fix")
    line = [*words, "ids-fix", "--patch-dir", "patches"]
    line += ["--target", str(site.path), "--", "touch", "ran"] if words[0] == "run" else []
    ended = done(sitepatch(*line, cwd=site.cwd), 1)
    assert "what is applied is code that you run" in ended.err and str(site.cwd / "patches/ids-fix") in ended.err
    assert sorted(os.listdir(site.cwd)) == ["patches", "site"], "nothing was run or written"


@ROOT_ONLY
def test_a_patchset_captured_where_others_may_write_is_not_applied(tmp_path):
    site = Site(tmp_path / "home", "mmengine-0.10.7")
    shutil.copyfile(site.file(), f"{site.file()}.orig")
    site.file().write_text(site.file().read_text() + "EDITED = 1\n")
    (site.cwd / "shared").mkdir(mode=0o777)
    (site.cwd / "shared").chmod(0o777)
    ended = done(site("capture", "mmengine", "--name", "mine", "--output", "shared", "--adopt"), 1)
    assert "what is applied is code that you run" in ended.err and str(site.cwd / "shared") in ended.err
    assert done(site("status")).out.startswith("nothing is applied")


@ROOT_ONLY
def test_root_is_refused_a_link_that_others_may_change_and_sudo_trusts_its_user(tmp_path):
    site = Site(tmp_path / "home", "mmengine-0.10.7")
    patchset(site.cwd, "ids-fix", FIX)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(site.cwd / "patches")
    os.chown(shared / "link", 1234, -1, follow_symlinks=False)
    words = ["apply", "ids-fix", "--patch-dir", shared / "link"]
    refused(site, words, f"{shared / 'link'}: belongs to user 1234")
    done(site(*words, SUDO_UID="1234"))


def refusal(folder):
    """The error of applying a patchset of the current directory that hides a built-in one; empty if there is none."""
    os.chdir(folder)
    try:
        Catalogue([]).check_trusted([DDP])
    except SitepatchError as error:
        return error.message
    return ""


@ROOT_ONLY
def test_nobody_is_given_the_patchset_of_another_user_under_a_built_in_name(tmp_path):
    (tmp_path / "shared").mkdir()
    shared = theirs(tmp_path / "shared", 1234, mode=0o1777)
    patchset(shared, DDP, FIX)
    (shared / "patches").rename(shared / "patchsets")
    give(shared / "patchsets", 1234)
    assert as_user(1234, refusal, str(shared)) == ""
    assert as_user(4321, refusal, str(shared)).startswith(f"{shared}: belongs to user 1234")
    os.chown(shared, 0, 0)
    assert as_user(4321, refusal, str(shared)).startswith(f"{shared}/patchsets: belongs to user 1234")
    for path in (shared / "patchsets").rglob("*"):
        path.chmod(path.stat().st_mode | 0o020)  # a umask of 002, where each user has a group
    assert as_user(1234, refusal, str(shared)) == ""
    give(shared / "patchsets", 1234, 4321)
    assert "others may write to it (group 4321)" in as_user(1234, refusal, str(shared))


# the directory travels ------------------------------------------------------------------------------------------------
def archive(old, new):
    subprocess.run(["cp", "-a", str(old), str(new)], check=True)


def rsync(old, new):
    if not shutil.which("rsync"):
        pytest.skip("rsync is not here")
    subprocess.run(["rsync", "-a", f"{old}/", str(new)], check=True)


def tarball(old, new):
    with tarfile.open(f"{new}.tar", "w") as tar:
        tar.add(str(old), ".")
    new.mkdir()
    with tarfile.open(f"{new}.tar") as tar:
        tar.extractall(str(new), **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))


def bare(old, new):
    """Nothing but names and bytes, as from an object store or `git`."""
    shutil.copytree(str(old), str(new), symlinks=True, copy_function=shutil.copyfile)
    for path in new.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def other_owner(old, new):
    archive(old, new)
    for path in [new, *new.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(path, 1234, 1234)


WAYS = {
    "cp -a": archive,
    "rsync -a": rsync,
    "moved": lambda old, new: shutil.move(str(old), str(new)),
    "copied": lambda old, new: shutil.copytree(str(old), str(new), symlinks=True),
    "packed": tarball,
    "bytes alone": bare,
    "another owner": other_owner,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_moved_or_packed_environment_is_restored_as_it_was(tmp_path, way):
    (tmp_path / "first").mkdir()
    site = Site(tmp_path / "first", "mmengine-0.10.7", "torch-2.7.1-musa")
    before = site.tree()
    done(site("apply", DDP, GUARD))
    changed = {name for name, entry in site.tree().items() if before.get(name, entry) != entry}
    assert len(changed) > 3
    there = Site(tmp_path / "second")
    there.cwd.mkdir()
    WAYS[way](site.path, there.path)
    shutil.rmtree(str(site.cwd))
    assert sum(map(int, re.findall(r"(\d+) files?", done(there("status", "--check")).out))) == len(changed)
    done(there("restore"))
    after = there.tree()
    assert {name: after[name] for name in changed} == {name: before[name] for name in changed}
    plain = {name: entry if entry == "directory" else entry[0] for name, entry in before.items()}
    assert {name: entry if entry == "directory" else entry[0] for name, entry in after.items()} == plain


def test_a_copy_is_a_directory_of_its_own(site, tmp_path):
    before = site.tree()
    done(site("apply", DDP))
    patched = site.tree()
    archive(site.path, tmp_path / "copy")
    done(sitepatch("restore", "--target", tmp_path / "copy", cwd=tmp_path))
    assert site.tree() == patched
    done(site("restore"))
    assert site.tree() == before


@ROOT_ONLY
def test_a_layer_above_is_restored_and_the_one_below_stays_patched(site, tmp_path):
    """Like an image whose last layer is patched, in a container that restores it: overlayfs, not a copy."""
    before = {name: entry if entry == "directory" else entry[0] for name, entry in site.tree().items()}
    done(site("apply", DDP))
    patched = site.tree()
    for name in ("layers", "second", "second/site"):
        (tmp_path / name).mkdir()
    below, top = f"lowerdir={site.path},upperdir={tmp_path}/layers/upper", tmp_path / "second" / "site"
    mount = ["mount", "-t", "overlay", "overlay", "-o", f"{below},workdir={tmp_path}/layers/work", str(top)]
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(tmp_path / "layers")], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        for name in ("upper", "work"):
            (tmp_path / "layers" / name).mkdir()
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("overlayfs cannot be mounted here")
        try:
            there = Site(tmp_path / "second")
            done(there("status", "--check"))
            done(there("restore"))
            assert {name: entry if entry == "directory" else entry[0] for name, entry in there.tree().items()} == before
        finally:
            subprocess.run(["umount", str(top)], check=True)
    finally:
        subprocess.run(["umount", str(tmp_path / "layers")], check=True)
    assert site.tree() == patched


def test_an_interrupted_run_is_finished_where_it_was_copied_to(site, tmp_path):
    before = site.tree()
    done(site("apply", DDP))
    patched = {name: entry[0] for name, entry in site.tree().items() if name.endswith(".py")}
    done(site("restore"))
    killed_once_committed(site, "apply", DDP)
    there = Site(tmp_path / "second")
    there.cwd.mkdir()
    WAYS["bytes alone"](site.path, there.path)
    shutil.rmtree(str(site.path))
    assert "an interrupted run was finished" in done(there("status", "--check")).err
    assert {name: entry[0] for name, entry in there.tree().items() if name.endswith(".py")} == patched
    done(there("restore"))
    assert there.tree().keys() == before.keys()


def test_the_store_names_no_place_of_this_machine(site, tmp_path):
    patchset(tmp_path, "ids-fix", FIX)
    done(site("apply", DDP, "ids-fix", "--patch-dir", str(tmp_path / "patches")))
    site.file().write_bytes(site.file().read_bytes() + b"# mine\n")
    done(site("apply", DDP, "--force"))
    files = [path for path in (site.path / ".sitepatch").rglob("*") if path.is_file()]
    assert len(files) > 6
    for path in files:
        for place in (str(tmp_path), str(ROOT), str(Path.home()), os.path.realpath(str(tmp_path))):
            assert place == "/" or place.encode() not in path.read_bytes(), path


# older formats --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [0, 2, 3])
@pytest.mark.parametrize("what", ["receipts", "journal", "patchsets"])
def test_a_store_in_another_format_is_refused_with_the_release_that_wrote_it(site, tmp_path, what, number):
    patchset(tmp_path, "ids-fix", FIX)
    done(site("apply", DDP))
    if what == "journal":
        path = site.path / ".sitepatch" / "journal.json"
        path.write_text(json.dumps({"format": 1, "sitepatch": "0.1.0", "phase": "preparing", "files": [], "named": []}))
    else:
        path = store_file(site, what)
    fields = dict(json.loads(path.read_text()), format=number, sitepatch="9.1", more="nobody knows")
    path.write_text(json.dumps(fields))
    entry = f"{path}: written by sitepatch 9.1 in format {number}; this one, "
    commands = [["apply", "ids-fix", "--patch-dir", "patches"], ["status", "--check"]]
    for words in commands if what == "patchsets" else [*commands, ["restore"]]:
        refused(site, words, entry, "reads format 1", "use that release of sitepatch")


def test_two_packages_of_one_directory_are_each_restored_by_themselves(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    done(site("apply", DDP))
    lay_out("torch-2.7.1-musa", site.path)  # installed later, beside the patched one
    before = tree(site.path / "torch")
    done(site("apply", GUARD))
    done(site("restore", GUARD))
    assert tree(site.path / "torch") == before
    done(site("status", "--check"))
