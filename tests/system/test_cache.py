"""What can be made or fetched again: what of it goes by itself, when more is added, and what stays."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from patcher.system import cache
from tests.command import environ, sitepatch, tree
from tests.failures import before
from tests.overlays import SPATCH, Overlay, patchset
from tests.users import ROOT_ONLY

pytestmark = pytest.mark.once

LARGE = cache.KEPT_BYTES // 2 + 1


@pytest.fixture
def over(tmp_path):
    return Overlay(tmp_path, sys.executable)


def release(over, version="0.10.7", days=0, size=500):
    """A release in the cache that was used so many days ago; a large file has a hole instead of bytes."""
    folder = over.cache / "releases" / "mmengine" / version / "0123456789abcdef" / "mmengine"
    folder.mkdir(parents=True)
    with (folder / "runner.py").open("wb") as file:
        file.truncate(size)
    return used(folder.parents[1], days)


def used(folder, days):
    moment = time.time() - days * 86400
    os.utime(str(folder), (moment, moment))
    return folder


def more_overlays(over):
    """Have another overlay written, of a patchset that has been changed; returns the names of those there are."""
    number = len(list((over.cache / "overlay").glob("*"))) + time.monotonic_ns()
    patchset(over.folder, SPATCH.replace("as patched", f"as patched {number}"))
    over.known_path = None
    assert over.path
    return {path.name for path in (over.cache / "overlay").iterdir()}


def more_releases(over):
    """Have a release asked for, of an index that has none; returns the versions that are kept."""
    words = ["check", "demo-patch", "--against", "all", "--python", over.python, "--patch-dir", over.folder / "mine"]
    sitepatch(*words, cwd=over.folder, SITEPATCH_CACHE=str(over.cache), PIP_NO_INDEX="1")
    return sorted(path.name for path in (over.cache / "releases").glob("mmengine/*"))


def running(over, command, **more):
    """A process that says when it runs, until its stdin is closed."""
    variables = environ(SITEPATCH_CACHE=str(over.cache), **more)
    child = subprocess.Popen([*map(str, command)], cwd=str(over.folder), env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"running\n"
    return child


# an age and a size ----------------------------------------------------------------------------------------------------
def test_an_overlay_that_was_not_used_for_long_goes_when_another_is_written(over):
    first = over.built
    used(first, cache.KEPT_DAYS - 1)
    assert first.name in more_overlays(over)
    used(first, cache.KEPT_DAYS + 1)
    assert first.name not in more_overlays(over) and not list((over.cache / "overlay").glob(".part-*"))


def test_a_run_in_an_overlay_is_a_use_of_it(over):
    first = over.built
    used(first, cache.KEPT_DAYS + 1)
    over.known_path = None
    assert over.built == first
    assert first.name in more_overlays(over)


def test_a_release_that_was_not_used_for_long_goes_when_releases_are_asked_for(over):
    release(over, "0.1", days=cache.KEPT_DAYS + 1)
    release(over, "0.2", days=cache.KEPT_DAYS - 1)
    assert more_releases(over) == ["0.2"]


def test_the_oldest_go_where_there_is_more_than_a_gigabyte(over):
    for number in range(1, 5):
        release(over, f"0.{number}", days=10 * number, size=LARGE)
    release(over, "0.5", days=50)
    assert more_releases(over) == ["0.1", "0.5"], "what fits beside the newest stays"


def test_what_was_used_today_stays_however_large_it_is(over):
    """A command on another machine may be about to read it."""
    for number in range(1, 5):
        release(over, f"0.{number}", size=LARGE)
    assert more_releases(over) == ["0.1", "0.2", "0.3", "0.4"]


def test_another_kind_is_not_counted(over):
    release(over, days=10, size=3 * LARGE)
    first = used(over.built, 10)
    assert first.name in more_overlays(over)


def test_a_cache_that_cannot_be_trimmed_stops_nothing(over):
    old = release(over, days=cache.KEPT_DAYS + 1)
    Path(f"{over.cache}/releases/mmengine").chmod(0o500)
    try:
        assert more_releases(over) in (["0.10.7"], [])  # root removes it all the same
    finally:
        if old.parent.exists():
            old.parent.chmod(0o700)


# what is in use -------------------------------------------------------------------------------------------------------
def test_an_overlay_stays_as_long_as_the_command_or_what_it_started_has_it_open(over):
    sitepatch_run = [sys.executable, "-m", "patcher", "run", "demo-patch", "--overlay"]
    options = ["--python", over.python, "--patch-dir", over.folder / "mine", "--verify", "none", "--quiet"]
    child = running(over, [*sitepatch_run, *options, "--", "sh", "-c", "echo running; cat"])
    (first,) = (over.cache / "overlay").iterdir()
    used(first, cache.KEPT_DAYS + 1)
    assert first.name in more_overlays(over)
    child.communicate()
    assert first.name not in more_overlays(over)


def test_what_is_open_is_not_removed(over, monkeypatch):
    overlay = over.built
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    fd = cache.open_in_use(overlay)
    (entry,) = cache.cache_entries()
    assert not cache.remove_entry(entry)
    os.close(fd)
    assert cache.remove_entry(entry)
    assert cache.cache_entries() == []
    assert cache.remove_entry(entry), "gone is gone"
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(overlay)


def test_releases_stay_while_a_command_reads_any_of_them(over, monkeypatch):
    release(over)
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    with cache.in_use(over.cache / "releases"):
        (entry,) = cache.cache_entries()
        assert not cache.remove_entry(entry)
    assert cache.remove_entry(entry)


def test_an_overlay_that_is_removed_while_it_is_asked_for_is_made_again(over, monkeypatch):
    """Who waits for the remover sees that what it waited for has lost its name."""
    overlay = over.built
    monkeypatch.setenv("SITEPATCH_CACHE", str(over.cache))
    (entry,) = cache.cache_entries()
    removal_has_begun, somebody_waits = threading.Event(), threading.Event()

    def remove_late(*_):
        removal_has_begun.set()
        somebody_waits.wait(60)

    def note(*_):
        if removal_has_begun.is_set():
            somebody_waits.set()

    before(monkeypatch, Path, "rename", remove_late)
    before(monkeypatch, fcntl, "flock", note)
    thread = threading.Thread(target=cache.remove_entry, args=[entry])
    thread.start()
    assert removal_has_begun.wait(60)
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(overlay)
    thread.join()
    assert not overlay.exists()


def test_another_overlay_that_took_the_name_is_not_opened(over, monkeypatch):
    overlay = over.built

    def another_process(*_):
        overlay.rename(overlay.with_name("was"))
        overlay.mkdir()

    before(monkeypatch, fcntl, "flock", another_process)
    with pytest.raises(FileNotFoundError):
        cache.open_in_use(overlay)


# what is not ours -----------------------------------------------------------------------------------------------------
def test_what_is_not_ours_is_left_alone(over):
    """SITEPATCH_CACHE may name a directory that holds other things, too."""
    mine = [
        over.cache / "releases/1.0/notes",
        over.cache / "overlay/pictures",
        over.cache / "overlay" / ("0" * 32 + "-mine"),
        over.cache / "releases/mmengine/0.1/src",
    ]
    (over.cache / "overlay").mkdir(parents=True, mode=0o700)
    for folder in mine:
        folder.mkdir(parents=True)
        (folder / "mine.txt").write_text("mine")
        used(folder, 1000)
        used(folder.parent, 1000)
    (over.cache / "overlay/.part-abc/new").mkdir(parents=True)
    (over.cache / "releases/mmengine/0.2/.part-x").mkdir(parents=True)
    used(over.cache / "overlay/.part-abc", 1000)
    used(over.cache / "releases/mmengine/0.2", 1000)
    assert more_releases(over) == ["0.1"]
    assert len(more_overlays(over)) == 3
    assert all((folder / "mine.txt").exists() for folder in mine)


@pytest.mark.parametrize("name", ["releases", "releases/mmengine", "releases/mmengine/0.10.7", "overlay"])
def test_nothing_is_removed_through_a_link(over, tmp_path, name):
    """A link may lead to files that are named like ours: the pristine copies of somebody, say."""
    used(over.built, 1000)
    release(over, days=1000)
    away = tmp_path / "away"
    (over.cache / name).rename(away)
    (over.cache / name).symlink_to(away)
    before = tree(away)
    assert before
    if name == "overlay":
        over.run("true")
    else:
        more_releases(over)
    assert tree(away) == before


@ROOT_ONLY
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_what_others_own_or_may_write_is_not_removed(over, change):
    folder = release(over, days=1000).parents[1]
    if change == "owner":
        os.chown(folder, 1001, 1001)
    else:
        folder.chmod(0o777)
    assert more_releases(over) == ["0.10.7"]


# where it is ----------------------------------------------------------------------------------------------------------
def test_doctor_names_the_size_of_the_cache(over):
    release(over)
    report = sitepatch("doctor", "-v", "--python", over.python, cwd=over.folder, SITEPATCH_CACHE=str(over.cache))
    (line,) = [line for line in report.out.splitlines() if line.split()[1] == "cache"]
    assert line.startswith("ok") and line.endswith(f"0.5 kB of overlays and fetched releases in {over.cache}")


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
