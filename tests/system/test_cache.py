"""What can be made or fetched again: what of it is kept, and how `doctor --clean-cache` removes it."""

import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from patcher.system import cache
from tests.command import environ, sitepatch, tree
from tests.overlays import Overlay
from tests.users import ROOT_ONLY

pytestmark = pytest.mark.once

KNOWN = ("known", "2 results")  # the files that the patchset changes


@pytest.fixture
def over(tmp_path):
    return Overlay(tmp_path, sys.executable)


def release(over, name="mmengine", version="0.10.7", key="0123456789abcdef"):
    folder = over.cache / "releases" / name / version / key / "mmengine"
    folder.mkdir(parents=True)
    (folder / "runner.py").write_text("x" * 500)
    return folder.parents[1]


def clean(over, days=0):
    words = ["doctor", "--clean-cache", str(days), "--python", over.python, "--json"]
    told = json.loads(sitepatch(*words, cwd=over.folder, SITEPATCH_CACHE=str(over.cache)).out)
    return [(entry["kind"], entry["name"]) for entry in told["removed"]]


def running(over, command, **more):
    """A process that says when it runs, until its stdin is closed."""
    variables = environ(SITEPATCH_CACHE=str(over.cache), **more)
    child = subprocess.Popen([*map(str, command)], cwd=str(over.folder), env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"running\n"
    return child


def end(child):
    child.communicate()


def test_what_no_process_has_open_is_removed(over, monkeypatch):
    assert clean(over) == []
    made, fetched = over.made, release(over)
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    size = {folder: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for folder in (made, over.cache / "known")}
    assert [(entry.kind, entry.name, entry.path, entry.size) for entry in cache.cache_entries()] == [
        ("overlay", made.name, made, size[made]),
        ("release", "mmengine 0.10.7", fetched, 500),
        (*KNOWN, over.cache / "known", size[over.cache / "known"]),
    ]
    before = tree(over.cache)
    assert clean(over, 1) == []
    assert tree(over.cache) == before
    assert clean(over) == [("overlay", made.name), ("release", "mmengine 0.10.7"), KNOWN]
    assert sorted(tree(over.cache)) == ["overlay", "releases"]
    over._path = None
    assert over.prints("import demo.m as m; print(m.VALUE)") == "2", "it is made again"


def test_the_days_count_from_the_last_use(over):
    made, fetched = over.made, release(over)
    for path in (made, fetched):
        os.utime(str(path), (time.time() - 90 * 86400,) * 2)
    assert clean(over, 91) == []
    over._path = None
    assert over.made == made
    assert clean(over, 89) == [("release", "mmengine 0.10.7")]


def test_what_was_removed_is_said(over):
    release(over)
    words = ["doctor", "-v", "--clean-cache", "0", "--python", over.python]
    told = sitepatch(*words, cwd=over.folder, SITEPATCH_CACHE=str(over.cache)).out
    assert told.split()[:5] == ["removed", "release", "mmengine", "0.10.7", "0.5"] and re.search("\nok +cache ", told)


def test_an_overlay_stays_as_long_as_the_command_or_what_it_started_has_it_open(over):
    words = [sys.executable, "-m", "patcher", "run", "demo-patch", "--overlay", "--python", over.python, "--patch-dir", over.folder / "mine",
             "--verify", "none", "--quiet", "--", "sh", "-c", "echo running; cat"]  # fmt: skip
    child = running(over, words)
    assert clean(over) == [KNOWN]
    end(child)
    assert [kind for kind, _ in clean(over)] == ["overlay"]


def test_what_is_open_is_not_removed(over, monkeypatch):
    made = over.made
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    fd = cache.open_in_use(made)
    entry, known = cache.cache_entries()
    assert not cache.remove_entry(entry)
    os.close(fd)
    assert cache.remove_entry(entry) and cache.remove_entry(known)
    assert cache.cache_entries() == []
    assert cache.remove_entry(entry), "gone is gone"
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(made)


def test_releases_stay_while_a_command_reads_any_of_them(over, monkeypatch):
    release(over)
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    with cache.in_use(over.cache / "releases"):
        (entry,) = cache.cache_entries()
        assert not cache.remove_entry(entry)
    assert cache.remove_entry(entry)


def test_an_overlay_that_is_removed_while_it_is_asked_for_is_made_again(over, monkeypatch):
    """Who waits for the remover sees that what it waited for has lost its name."""
    made = over.made
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    entry, _ = cache.cache_entries()
    begun, asked = threading.Event(), threading.Event()
    rename, flock = Path.rename, fcntl.flock

    def late(path, target):
        begun.set()
        asked.wait(60)
        return rename(path, target)

    def noted(*words):
        if begun.is_set():
            asked.set()
        return flock(*words)

    monkeypatch.setattr(Path, "rename", late)
    monkeypatch.setattr(fcntl, "flock", noted)
    thread = threading.Thread(target=cache.remove_entry, args=[entry])
    thread.start()
    assert begun.wait(60)
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(made)
    thread.join()
    assert not made.exists()


def test_another_overlay_that_took_the_name_is_not_opened(over, monkeypatch):
    made = over.made

    def replaced(fd, how):
        made.rename(made.with_name("was"))
        made.mkdir()

    monkeypatch.setattr("fcntl.flock", replaced)
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(made)


def test_what_is_not_ours_is_left_alone(over):
    """SITEPATCH_CACHE may name a directory that holds other things, too."""
    mine = [over.cache / "releases/1.0/notes", over.cache / "overlay/pictures", over.cache / "overlay" / ("0" * 32 + "-mine"), over.cache / "releases/mmengine/0.1/src"]
    for folder in mine:
        folder.mkdir(parents=True)
        (folder / "mine.txt").write_text("mine")
    (over.cache / "overlay/.part-abc/new").mkdir(parents=True)
    (over.cache / "releases/mmengine/0.2/.part-x").mkdir(parents=True)
    assert clean(over) == [("overlay", ".part-abc"), ("release", "mmengine 0.2")]
    assert all((folder / "mine.txt").exists() for folder in mine)


def test_doctor_names_the_size_of_the_cache(over):
    release(over)
    told = sitepatch("doctor", "-v", "--python", over.python, cwd=over.folder, SITEPATCH_CACHE=str(over.cache))
    (line,) = [line for line in told.out.splitlines() if line.split()[1] == "cache"]
    assert line.startswith("ok") and f"0.5 kB of overlays, fetched releases and known results in {over.cache}; sitepatch doctor --clean-cache DAYS removes what was not used since" in line


def test_the_cache_is_where_the_system_keeps_such_things_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SITEPATCH_CACHE", "relative")
    monkeypatch.chdir(tmp_path)
    assert cache.cache_dir("overlay") == tmp_path / "relative/overlay"
    monkeypatch.delenv("SITEPATCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert cache.cache_dir() == tmp_path / "sitepatch/releases"


@pytest.mark.parametrize("home", [None, "relative"])
def test_who_has_no_home_directory_has_no_cache(monkeypatch, home):
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # as in a container that is run with any user id
    for name in ("SITEPATCH_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home:
        monkeypatch.setenv("HOME", home)
    assert cache.cache_dir() == Path(os.devnull, "releases")


@pytest.mark.parametrize("name", ["known", "releases", "releases/mmengine", "releases/mmengine/0.10.7", "overlay"])
def test_nothing_is_read_or_removed_through_a_link(over, tmp_path, name):
    """A link may lead to files that are named like ours: the pristine copies of somebody, say."""
    over.made, release(over)
    away = tmp_path / "away"
    (over.cache / name).rename(away)
    (over.cache / name).symlink_to(away)
    before = tree(away)
    assert before
    kind = {"known": "known", "overlay": "overlay"}.get(name, "release")
    assert kind not in [each for each, _ in clean(over)]
    assert tree(away) == before


@ROOT_ONLY
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_what_others_own_or_may_write_is_not_removed(over, change):
    folder = release(over).parents[1]
    os.chown(folder, 1001, 1001) if change == "owner" else folder.chmod(0o777)
    assert clean(over) == []
    assert list(folder.glob("mmengine/0.10.7/*"))
