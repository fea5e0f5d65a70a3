"""Looking again where another process was at work meanwhile: how often, how long it is waited for, and for whom; on a clock of its own."""

import errno
import os
from types import SimpleNamespace

import pytest

from patcher.errors import OutdatedError, StoreError
from patcher.store import retry
from patcher.store.folder import HOME, JOURNAL


@pytest.fixture
def env(tmp_path, monkeypatch):
    """Two stores; `now` is the time, `slept` what was waited, `held` whether processes hold the lock of a store that has a journal."""
    env = SimpleNamespace(stores=(str(tmp_path / "a"), str(tmp_path / "b")), now=100.0, slept=[], held=True, step=None)
    for name in "ab":
        (tmp_path / name / HOME).mkdir(parents=True)

    def sleep(seconds):
        env.slept.append(seconds)
        env.now += env.step or seconds

    def holders(site):
        if env.held is None:
            raise OSError("no /proc")
        return [7] if env.held else []

    env.journals = [tmp_path / name / HOME / JOURNAL for name in "ab"]
    monkeypatch.setattr(retry, "time", SimpleNamespace(monotonic=lambda: env.now, sleep=sleep))
    monkeypatch.setattr("patcher.store.lock.holders", holders)
    return env


def disturb(env, looks):
    looks.append(len(looks))
    env.journals[1].with_name(f"new{len(looks)}").touch()
    return looks[-1]


def test_what_never_settles_is_looked_at_a_bounded_number_of_times(env, monkeypatch):
    ticks = iter(range(99))
    monkeypatch.setattr(retry, "_commit_marks", lambda env: next(ticks))
    looks = []
    assert retry.settled(env, lambda: disturb(env, looks)) == 9
    assert env.slept == []


@pytest.mark.parametrize("store", [0, 1])
@pytest.mark.parametrize("held", [True, None])
def test_a_commit_in_any_store_is_waited_for_a_second_at_most(env, store, held):
    env.held = held
    env.journals[store].touch()
    looks = []
    retry.settled(env, lambda: looks.append(1))
    assert looks == [1] and 49 <= len(env.slept) <= 51


def test_at_the_end_of_that_second_it_is_not_looked_again(env):
    env.step = 1.0
    env.journals[0].touch()
    looks = []
    retry.settled(env, lambda: disturb(env, looks))
    assert (looks, len(env.slept)) == ([0], 1)


def test_a_lock_without_a_journal_is_not_waited_for(env):
    assert retry.settled(env, lambda: 3) == 3
    assert env.slept == []


def test_a_store_that_appears_or_vanishes_meanwhile_is_a_change(env):
    home, looks = env.journals[0].parent, []
    steps = [home.rmdir, home.mkdir, lambda: None]
    retry.settled(env, lambda: (looks.append(1), steps[len(looks) - 1]()))
    assert len(looks) == 3


@pytest.mark.parametrize("told", [False, True])
def test_what_nfs_calls_stale_is_looked_at_again_a_bounded_number_of_times(env, told):
    looks = []

    def look():
        looks.append(1)
        stale = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        if not told:
            raise stale
        raise StoreError("/a: Stale file handle") from stale

    with pytest.raises(StoreError if told else OSError):
        retry.settled(env, look)
    assert len(looks) == 10
    said = []
    with pytest.raises(StoreError if told else OSError):
        retry.retry(look, said.append)
    assert (len(looks), len(said)) == (20, 9)
    with pytest.raises(OSError, match="injected"):
        retry.retry(lambda: (_ for _ in ()).throw(OSError(errno.EIO, "injected")), said.append)
    assert len(said) == 9


def test_what_is_outdated_is_tried_again(env):
    errors, said = [OutdatedError("changed"), OutdatedError("changed")], []

    def act():
        if errors:
            raise errors.pop()
        return 3

    assert retry.retry(act, said.append) == 3
    assert said == ["another process was at work here meanwhile: looking at it again"] * 2
