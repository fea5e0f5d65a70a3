"""Backups that people made before they edited an installed file: recognised by RECORD's sha256, put back by `restore --from-backup`."""

import errno
import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from patcher.errors import StoreError
from patcher.installed.backups import proven_backups
from patcher.model import Plan
from patcher.place import Place
from patcher.store import journal
from patcher.verbs.restore import restore_backups
from tests.command import DDP, RUNNER, Site, done, sitepatch
from tests.records import row
from tests.stores import commit_plan

pytestmark = pytest.mark.once

UTILS = "mmengine/dist/utils.py"


def edit(site, path=RUNNER, backup=".debug_backup"):
    """Edit a file by hand as people do: a copy beside it first, with its mtime; returns the pristine bytes."""
    file = site.file(path)
    shutil.copy2(file, f"{file}{backup}")
    data = file.read_bytes()
    file.write_bytes(data + b"print('here')\n")
    os.utime(file, ns=(0, 10**9))
    return data


BACKUPS = [".backup", ".debug_backup", ".orig", ".bak", "~"]


@pytest.mark.parametrize("backup", BACKUPS)
def test_status_names_the_backup_beside_an_edited_file(site, backup):
    edit(site, backup=backup)
    name = f"runner.py{backup}"
    (reported,) = json.loads(site("status", "--json").out)["backups"]
    assert reported == {"site": str(site.path), "path": RUNNER, "name": name}
    assert f"{name} beside it is what was installed; put it back: sitepatch restore --from-backup {RUNNER}" in site("status").err
    done(site("status", "--check"))  # is about what was applied


@pytest.mark.parametrize("backup", BACKUPS)
def test_a_dry_run_shows_what_would_be_put_back_and_writes_nothing(site, backup):
    edit(site, backup=backup)
    before = site.tree()
    dry = done(site("restore", "--from-backup", "--dry-run"))
    assert "-print('here')" in dry.out and "1 file would be changed" in dry.err
    assert site.tree() == before


@pytest.mark.parametrize("backup", BACKUPS)
def test_a_file_is_put_back_from_the_backup_beside_it(site, backup):
    site.file().chmod(0o640)
    stat = site.file().stat()
    data = edit(site, backup=backup)
    before = site.tree()
    done(site("restore", "--from-backup"))
    now = site.file().stat()
    assert site.file().read_bytes() == data
    assert (now.st_mode, now.st_mtime_ns) == (stat.st_mode, stat.st_mtime_ns)
    (kept,) = json.loads(site("status", "--json").out)["kept"]
    assert Path(kept).read_bytes() == data + b"print('here')\n"
    assert set(site.tree()) - set(before) == {".sitepatch", ".sitepatch/edited", f".sitepatch/edited/{Path(kept).name}", ".sitepatch/lock"}
    assert "nothing to restore" in done(site("restore", "--from-backup")).out


def test_bytecode_of_the_edit_is_removed(site):
    edit(site)
    cached = site.file().parent / "__pycache__" / "runner.cpython-311.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"of the edit")
    done(site("restore", "--from-backup"))
    assert not cached.exists()


def test_a_backup_that_record_does_not_prove_is_none(site):
    edit(site)
    backup = site.file().with_name("runner.py.debug_backup")
    backup.write_bytes(backup.read_bytes() + b"\n")
    before = site.tree()
    assert json.loads(site("status", "--json").out)["backups"] == []
    assert "nothing to restore" in done(site("restore", "--from-backup")).out
    named = site("restore", "--from-backup", RUNNER)
    assert named.code == 1 and "found no backup beside an edited file of it that RECORD proves" in named.err
    assert site.tree() == before


def test_a_backup_of_a_file_that_two_distributions_list_otherwise_is_not_proven(site):
    pristine = edit(site)
    site.file().with_name("runner.py.bak").write_bytes(b"print('another text')\n")
    fork = site.path / "fork-1.0.dist-info"
    fork.mkdir()
    (fork / "RECORD").write_text(row(RUNNER, b"print('another text')\n"))
    before = site.tree()
    assert "nothing to restore" in done(site("restore", "--from-backup")).out
    assert site.tree() == before
    shutil.rmtree(fork)
    done(site("restore", "--from-backup"))
    assert site.file().read_bytes() == pristine


def test_what_is_no_edit_or_no_backup_is_left_out(site):
    shutil.copy(site.file(), f"{site.file()}.orig")  # of a file that is as installed
    utils = site.file(UTILS)
    utils.rename(f"{utils}.bak")  # of one that is not there any more
    os.mkfifo(site.file("mmengine/model.py.orig"))
    (site.path / "mmengine/link").symlink_to(site.path / "mmengine/runner")
    assert proven_backups([str(site.path)], ()) == []


def test_words_are_files_or_packages_and_one_that_names_nothing_stops_all(site, monkeypatch):
    edit(site)
    edit(site, UTILS, ".orig")
    before = site.tree()
    wrong = site("restore", "--from-backup", RUNNER, "torch", "mmengine/dis")
    assert wrong.code == 1 and all(f"{word}: found no backup" in wrong.err for word in ("torch", "mmengine/dis"))
    assert site.tree() == before

    def selected(*words):
        place = Place(target=str(site.path))
        return [file.path for file in restore_backups(words, place=place, dry_run=True).changed]

    assert selected(RUNNER) == selected(str(site.file())) == [RUNNER]
    assert selected("mmengine/dist/") == [UTILS]
    assert selected() == selected("mmengine") == selected(str(site.path), RUNNER) == [UTILS, RUNNER]
    monkeypatch.chdir(site.file().parent)
    assert selected("runner.py") == [RUNNER]
    assert site("restore", "--from-backup", "--force").code == 2


def test_a_file_that_a_patchset_changed_is_for_restore_alone(site):
    shutil.copy2(site.file(), f"{site.file()}.orig")
    done(site("apply", DDP))
    site.file().write_bytes(site.file().read_bytes() + b"MINE = 1\n")
    assert json.loads(site("status", "--json").out)["backups"] == []
    assert site("restore", "--from-backup", RUNNER).code == 1
    assert "nothing to restore" in done(site("restore", "--from-backup")).out


def test_several_directories_change_all_or_none(tmp_path, monkeypatch):
    sites = [Site(tmp_path / name, "mmengine-0.10.7") for name in ("one", "two")]
    for each in sites:
        edit(each)
    before = [each.tree() for each in sites]
    places = [Place(target=str(each.path)) for each in sites]
    files = []
    for place in places:
        files.extend(restore_backups(place=place, dry_run=True).changed)
    plan = Plan(tuple(files), ())
    put_in_place = journal.put_in_place

    def fails(site, home, entries):
        if site.path == str(sites[1].path):
            raise OSError(errno.EIO, "why")
        return put_in_place(site, home, entries=entries)

    with monkeypatch.context() as patched, pytest.raises(StoreError, match="why"):
        patched.setattr(journal, "put_in_place", fails)  # no disk fails when the first site directory is done
        commit_plan(plan, ())
    for each, old in zip(sites, before):  # a copy of the edited text is kept before anything is changed
        now = each.tree()
        differing = sorted(path for path, entry in now.items() if entry != old.get(path))
        kept = f".sitepatch/edited/runner.py.{sha256(each.file().read_bytes()).hexdigest()[:16]}"
        assert differing == [".sitepatch", ".sitepatch/edited", kept, ".sitepatch/lock"]
        assert set(old) <= set(now)
    commit_plan(plan, ())
    assert [each.file().read_bytes().endswith(b"print('here')\n") for each in sites] == [False, False]


def test_doctor_names_the_backup_and_the_command(site):
    edit(site)
    findings = json.loads(sitepatch("doctor", "--json", "--target", site.path, cwd=site.cwd).out)["findings"]
    (finding,) = [each for each in findings if each["check"] == "backups"]
    assert finding["what"] == f"{RUNNER} was edited by hand, and runner.py.debug_backup beside it is what was installed"
    assert finding["hint"].startswith(f"put it back: sitepatch restore --from-backup {RUNNER} --target {site.path}; or ")
