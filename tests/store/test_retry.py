"""Looking again where another process was at work meanwhile: how often, how long it is waited for, and for whom; on a clock of its own."""

import errno
import fcntl
import os
import time
from types import SimpleNamespace

import pytest

from patcher.errors import OutdatedError, StoreError
from patcher.store import retry
from patcher.store.folder import HOME, JOURNAL
from tests.failures import Clock, kernel_that_tells, raising


@pytest.fixture
def env(tmp_path):
    """Two stores, whose locks somebody holds; `journals` are the files that tell of a commit."""
    env = SimpleNamespace(stores=(str(tmp_path / "a"), str(tmp_path / "b")))
    env.journals = [tmp_path / name / HOME / JOURNAL for name in "ab"]
    files = []
    for journal in env.journals:
        journal.parent.mkdir(parents=True)
        files.append(journal.with_name("lock").open("w"))
        fcntl.flock(files[-1], fcntl.LOCK_EX)
    yield env
    for file in files:
        file.close()


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def disturb(env, looks):
    """What a commit does to a store: its directory has another mtime."""
    looks.append(len(looks))
    os.utime(env.journals[1].parent, (len(looks), len(looks)))
    return looks[-1]


def test_what_never_settles_is_looked_at_a_bounded_number_of_times(env, clock):
    looks = []
    assert retry.settled(env, lambda: disturb(env, looks)) == 9
    assert clock.slept == []


@pytest.mark.parametrize("store", [0, 1])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_commit_in_any_store_is_waited_for_a_second_at_most_also_where_the_kernel_tells_nothing(env, clock, tmp_path, monkeypatch, store, is_named):
    if not is_named:
        kernel_that_tells(monkeypatch, tmp_path / "proc")
    env.journals[store].touch()
    looks = []
    retry.settled(env, lambda: looks.append(1))
    assert looks == [1] and 49 <= len(clock.slept) <= 51


def test_at_the_end_of_that_second_it_is_not_looked_again(env, clock, monkeypatch):
    def sleep(seconds):
        clock.slept.append(seconds)
        clock.now += 1.0  # the machine is busy

    monkeypatch.setattr(time, "sleep", sleep)
    env.journals[0].touch()
    looks = []
    retry.settled(env, lambda: disturb(env, looks))
    assert (looks, len(clock.slept)) == ([0], 1)


def test_a_lock_without_a_journal_is_not_waited_for(env, clock):
    assert retry.settled(env, lambda: 3) == 3
    assert clock.slept == []


def test_a_store_that_appears_or_vanishes_meanwhile_is_a_change(env):
    home, looks = env.journals[0].parent, []
    home.joinpath("lock").unlink()
    steps = [home.rmdir, home.mkdir, lambda: None]
    retry.settled(env, lambda: (looks.append(1), steps[len(looks) - 1]()))
    assert len(looks) == 3


@pytest.mark.parametrize("is_named", [False, True])
def test_what_nfs_calls_stale_is_looked_at_again_a_bounded_number_of_times(env, is_named):
    looks = []

    def look():
        looks.append(1)
        stale = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        if not is_named:
            raise stale
        raise StoreError("/a: Stale file handle") from stale

    with pytest.raises(StoreError if is_named else OSError):
        retry.settled(env, look)
    assert len(looks) == 10
    reports = []
    with pytest.raises(StoreError if is_named else OSError):
        retry.retry(look, reports.append)
    assert (len(looks), len(reports)) == (20, 9)
    with pytest.raises(OSError, match="injected"):
        retry.retry(raising(OSError(errno.EIO, "injected")), reports.append)
    assert len(reports) == 9


def test_what_is_outdated_is_tried_again(env):
    errors, reports = [OutdatedError("changed"), OutdatedError("changed")], []

    def act():
        if errors:
            raise errors.pop()
        return 3

    assert retry.retry(act, reports.append) == 3
    assert reports == ["another process was at work here meanwhile: looking at it again"] * 2
