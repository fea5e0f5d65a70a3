"""Many interpreters that start at once after an install: none of them runs the old code or a mixture, and one of them writes.

Few rounds by default; SITEPATCH_ALL_INSTALLERS=1 runs many more.
"""

import json
import os
import random
import signal
import subprocess
import time
from typing import List, NamedTuple, Optional

import pytest

from tests.installers.world import ALL, PATCHED, STOCK, long

pytestmark = [pytest.mark.real, pytest.mark.once]
LOOK = """
import json, os, sys
from orchard import basket, trees
files = [[s.st_ino, s.st_ctime_ns] for s in map(os.stat, (basket.__file__, trees.__file__))]
print(json.dumps(['%s %s' % (basket.RIPE, trees.ripe()), files]))
"""


def start(env):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SITEPATCH"))}
    return subprocess.Popen(
        [str(env.python), "-c", LOOK], env=kept, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


class EndedStart(NamedTuple):
    """How an interpreter ended, the state of the package that it saw, and [inode, ctime] of its files; both are None if it saw none."""

    code: int
    err: str
    state: Optional[str]
    files: Optional[List[List[int]]]


def ended(processes):
    starts = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        state, files = json.loads(out) if out else (None, None)
        starts.append(EndedStart(process.returncode, err.decode(), state, files))
    return starts


def assert_all_alike(starts, state):
    """All ended well with this state, and saw the same files: nobody wrote a second time."""
    for start in starts:
        assert (start.code, start.state, start.files) == (0, state, starts[0].files), starts


def assert_nothing_half_made(env):
    assert [path for path in env.tree() if "tmp" in path.rsplit("/", 1)[-1]] == []


def fresh(hooked):
    """As it was installed, and never started."""


def reinstalled(hooked):
    assert hooked.env.state() == PATCHED
    hooked.reinstall("1.0")


def upgraded(hooked):
    assert hooked.env.state() == PATCHED
    hooked.reinstall("1.1")


def not_fitting(hooked):
    hooked.reinstall("2.0")


@pytest.mark.parametrize(
    ("number", "come_to", "state"),
    [
        (8, fresh, PATCHED),
        (8, not_fitting, STOCK),
        (64, reinstalled, PATCHED),
        pytest.param(64, fresh, PATCHED, marks=long),
        pytest.param(8, upgraded, PATCHED, marks=long),
        pytest.param(64, not_fitting, STOCK, marks=long),
    ],
)
def test_of_many_starts_after_an_install_one_writes_and_all_see_the_same(hooked, number, come_to, state):
    env = hooked.env
    rounds = 5 if ALL and come_to is not fresh else 1
    for _ in range(rounds):
        come_to(hooked)
        assert_all_alike(ended([start(env) for _ in range(number)]), state)
        assert_nothing_half_made(env)
        before = env.tree()
        assert_all_alike(ended([start(env) for _ in range(8)]), state)
        assert env.tree() == before


def test_starts_that_are_killed_leave_neither_old_code_nor_a_mixture_to_the_others(hooked, counted):
    env, chance = hooked.env, random.Random(6)
    hooked.reinstall("1.0")
    before = time.monotonic()
    assert_all_alike(ended([start(env)]), PATCHED)
    duration = time.monotonic() - before
    rounds = 100 if ALL else 6
    for _ in range(rounds):
        hooked.reinstall("1.0")
        processes = [start(env) for _ in range(8)]
        time.sleep(duration * chance.uniform(0.1, 2))
        for process in chance.sample(processes, 3):
            process.send_signal(signal.SIGKILL)
        starts = ended(processes)
        survivors = [each for each in starts if each.code != -signal.SIGKILL]
        assert survivors
        for survivor in survivors:
            assert (survivor.code, survivor.state) == (0, PATCHED), starts
        assert env.state() == PATCHED
        assert_nothing_half_made(env)
    counted("rounds with killed starts", rounds)
