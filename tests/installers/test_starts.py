"""Many interpreters that start at once after an install: none of them runs the old code or a mixture, and one of them writes.

Few rounds by default; SITEPATCH_ALL_INSTALLERS=1 runs many more.
"""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from tests.installers.world import ALL, PATCHED, STOCK, more

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


def ended(processes):
    """(exit code, [state, files], stderr) of each."""
    outs = [process.communicate(timeout=300) for process in processes]
    return [(p.returncode, json.loads(out) if out else None, err.decode()) for p, (out, err) in zip(processes, outs)]


def all_alike(told, state):
    """All ended well with this state, and saw the same files: nobody wrote a second time."""
    assert {code for code, _, _ in told} == {0}, told
    assert {answer[0] for _, answer, _ in told} == {state}, told
    assert len({json.dumps(answer[1]) for _, answer, _ in told}) == 1, told


def clean(env):
    """Nothing half-made is left."""
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
    [(8, fresh, PATCHED), (8, not_fitting, STOCK), (64, reinstalled, PATCHED), pytest.param(64, fresh, PATCHED, marks=more),
     pytest.param(8, upgraded, PATCHED, marks=more), pytest.param(64, not_fitting, STOCK, marks=more)],
)  # fmt: skip
def test_of_many_starts_after_an_install_one_writes_and_all_see_the_same(hooked, number, come_to, state):
    env = hooked.env
    for _ in range(5 if ALL and come_to is not fresh else 1):
        come_to(hooked)
        all_alike(ended([start(env) for _ in range(number)]), state)
        clean(env)
        before = env.tree()
        all_alike(ended([start(env) for _ in range(8)]), state)
        assert env.tree() == before


def test_starts_that_are_killed_leave_neither_old_code_nor_a_mixture_to_the_others(hooked, counted):
    env, chance = hooked.env, random.Random(6)
    hooked.reinstall("1.0")
    begun = time.monotonic()
    all_alike(ended([start(env)]), PATCHED)
    whole = time.monotonic() - begun
    rounds = 100 if ALL else 6
    for _ in range(rounds):
        hooked.reinstall("1.0")
        processes = [start(env) for _ in range(8)]
        time.sleep(whole * chance.uniform(0.1, 2))
        killed = chance.sample(processes, 3)
        for process in killed:
            process.send_signal(signal.SIGKILL)
        told = ended(processes)
        lived = [each for process, each in zip(processes, told) if process.returncode != -signal.SIGKILL]
        assert {code for code, _, _ in lived} == {0}, told
        assert {answer[0] for _, answer, _ in lived} == {PATCHED}, told
        assert env.state() == PATCHED
        clean(env)
    counted("rounds with killed starts", rounds)
