"""`sitepatch cache` lists what can be made or fetched again, and removes what no process uses."""

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from patcher.system import cache
from tests.command import done, environ, sitepatch, tree
from tests.overlays import Overlay

pytestmark = pytest.mark.once

KNOWN = ("known", "2 results")  # the files that the patchset changes
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the kernel does not tell the variables of processes")


@pytest.fixture
def over(tmp_path):
    return Overlay(tmp_path, sys.executable)


def release(over, name="mmengine", version="0.10.7", key="0123456789abcdef"):
    folder = over.cache / "releases" / name / version / key / "mmengine"
    folder.mkdir(parents=True)
    (folder / "runner.py").write_text("x" * 500)
    return folder.parents[1]


def ask(over, *words, code=0):
    return json.loads(done(sitepatch("cache", *words, "--json", cwd=over.folder, SITEPATCH_CACHE=str(over.cache)), code).out)


def clean(over, *words):
    return [(each["kind"], each["name"]) for each in ask(over, "clean", *words)["removed"]]


def running(over, command, **more):
    """A process that says when it runs, until its stdin is closed."""
    variables = environ(SITEPATCH_CACHE=str(over.cache), **more)
    child = subprocess.Popen([*map(str, command)], cwd=str(over.folder), env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"running\n"
    return child


def end(child):
    child.communicate()


def test_what_is_there_is_listed_and_what_no_process_uses_is_removed(over):
    assert ask(over)["entries"] == []
    assert clean(over) == []
    made, fetched = over.made, release(over)
    told = ask(over)
    assert told["folder"] == str(over.cache)
    size = {folder: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for folder in (made, over.cache / "known")}
    assert [(each["kind"], each["name"], each["path"], each["size"], each["in_use"]) for each in told["entries"]] == [
        ("overlay", made.name, str(made), size[made], False),
        ("release", "mmengine 0.10.7", str(fetched), 500, False),
        (*KNOWN, str(over.cache / "known"), size[over.cache / "known"], False),
    ]
    text = sitepatch("cache", cwd=over.folder, SITEPATCH_CACHE=str(over.cache)).out.splitlines()
    assert [line.split()[:2] for line in text[:3]] == [["unused", "overlay"], ["unused", "release"], ["unused", "known"]]
    assert text[1].split()[-4:] == ["0.5", "kB", "used", "today"] and text[3].endswith(f"kB in {over.cache}")
    every = [("overlay", made.name), ("release", "mmengine 0.10.7"), KNOWN]
    before = tree(over.cache)
    assert clean(over, "--dry-run") == every
    assert clean(over, "--older-than", "1") == []
    assert tree(over.cache) == before
    assert clean(over) == every
    assert sorted(tree(over.cache)) == ["overlay", "releases"]
    over._path = None
    assert over.prints("import demo.m as m; print(m.VALUE)") == "2", "it is made again"


def test_older_than_counts_from_the_last_use(over):
    made, fetched = over.made, release(over)
    for path in (made, fetched):
        os.utime(str(path), (time.time() - 90 * 86400,) * 2)
    assert clean(over, "--older-than", "91") == []
    over._path = None
    assert over.made == made
    assert clean(over, "--older-than", "89") == [("release", "mmengine 0.10.7")]


def test_the_last_use_is_told_in_days(over):
    folder = release(over)
    for days, said in ((0, "used today"), (1, "used 1 day ago"), (2, "used 2 days ago")):
        os.utime(folder, (time.time() - 86400 * days - 60,) * 2)
        assert said in done(sitepatch("cache", cwd=over.folder, SITEPATCH_CACHE=str(over.cache))).out


def test_an_overlay_is_in_use_as_long_as_the_command_or_what_it_started_runs(over):
    words = [sys.executable, "-m", "patcher", "run", "demo-patch", "--overlay", "--python", over.python, "--patch-dir", over.folder / "mine",
             "--no-verify", "--quiet", "--", "sh", "-c", "echo running; cat"]  # fmt: skip
    child = running(over, words)
    entry, known = ask(over)["entries"]
    assert entry["in_use"] and not known["in_use"]
    assert clean(over) == [KNOWN]
    end(child)
    assert clean(over) == [("overlay", entry["name"])]


@needs_proc
def test_a_process_that_holds_no_descriptor_of_its_overlay_uses_it_all_the_same(over):
    name = over.made.name
    child = running(over, ["sh", "-c", "echo running; cat"], PYTHONPATH=over.path)
    assert clean(over) == [KNOWN]
    end(child)
    assert clean(over) == [("overlay", name)]


def test_what_is_open_is_in_use_without_looking_at_processes(over, monkeypatch):
    made = over.made
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    monkeypatch.setattr(cache, "_environments", list)
    fd = cache.open_in_use(made)
    entry, known = cache.cache_entries()
    assert entry.in_use and not cache.remove_entry(entry)
    os.close(fd)
    entry, known = cache.cache_entries()
    assert not entry.in_use and cache.remove_entry(entry) and cache.remove_entry(known)
    assert cache.cache_entries() == []
    assert cache.remove_entry(entry), "gone is gone"
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(made)


def test_releases_are_in_use_while_a_command_reads_any_of_them(over, monkeypatch):
    release(over)
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    with cache.in_use(over.cache / "releases"):
        (entry,) = cache.cache_entries()
        assert entry.in_use and not cache.remove_entry(entry)
    (entry,) = cache.cache_entries()
    assert not entry.in_use and cache.remove_entry(entry)


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
    told = sitepatch("doctor", "--python", over.python, cwd=over.folder, SITEPATCH_CACHE=str(over.cache))
    (line,) = [line for line in told.out.splitlines() if line.split()[1] == "cache"]
    assert line.startswith("ok") and f"0.5 kB of overlays, fetched releases and known results in {over.cache}; sitepatch cache clean" in line


def test_the_cache_is_where_the_system_keeps_such_things_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SITEPATCH_CACHE", "relative")
    monkeypatch.chdir(tmp_path)
    assert cache.cache_dir("overlay") == tmp_path / "relative/overlay"
    monkeypatch.delenv("SITEPATCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert cache.cache_dir() == tmp_path / "sitepatch/releases"
