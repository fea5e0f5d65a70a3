"""`python -m tools.soak [--rounds N] [--seed N]`: apply, update, restore and reinstall in disorder, killed at random moments.

Every round is one command of `sitepatch` on a virtual environment with a small package, or `pip install --force-reinstall`
of its wheel (offline). Four commands of five are to get SIGKILL before or after a random one of their calls that change a file:
nothing that is kept changes in between, and a clock of seconds would depend on how busy the machine is. After each round the
next command is let to recover, and then every file has to be, whole, as upstream shipped it or as one version of the patchset
makes it, all of them the same (torn: 0), and the pristine bytes of every changed file have to be there (lost: 0).
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from patcher.store.store import Store
from tests.faults.tiny import FILES, MODES, NAME, OTHER, Tiny, content, wheel_files

ACTIONS = (("apply", 1), ("apply", 2), ("restore", 1))
PIP_EVERY = 40  # rounds; it takes a second


class Figures(NamedTuple):
    """What a soak has seen."""

    rounds: int
    kills: int
    recoveries: int
    reinstalls: int
    torn: int
    lost: int


def soak(rounds, seed, folder, pip_every=PIP_EVERY):
    """Run so many rounds in the empty directory `folder`; raises AssertionError at the first broken promise.

    Returns:
        The figures. torn and lost are counted as they are found, and are 0 where it returns.
    """
    chance = random.Random(seed)
    venv, wheel = folder / "venv", make_wheel(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (folder / "tiny").mkdir()
    tiny = Tiny(folder / "tiny")
    shutil.rmtree(tiny.site)
    tiny.site = next(venv.glob("lib/python*/site-packages"))
    reinstall(venv, wheel)
    kills = recoveries = reinstalls = 0
    usual = 20  # calls that change a file in one command
    for number in range(1, rounds + 1):
        told = f"round {number}, seed {seed}"
        if number % pip_every == 0:
            reinstall(venv, wheel)
            reinstalls += 1
            assert Store(str(tiny.site)).interrupted() == "", told
        action = chance.choice(ACTIONS)
        words = (action[0], NAME) if action[0] == "apply" else ("restore",)
        point = chance.randint(1, usual) if chance.random() < 0.8 else 0
        ended = tiny.run(
            *words, version=action[1], point=point, how=chance.choice(("before", "after"))
        )
        assert ended.code in (0, -signal.SIGKILL), (told, ended.text)
        killed = ended.code != 0
        usual = max(usual, ended.count)
        kills += killed
        waiting = Store(str(tiny.site)).interrupted()
        recoveries += bool(waiting)
        done = tiny.run("restore", OTHER)
        assert done.code == 0, (told, done.text)
        assert not waiting or waiting.replace("will be", "was") in done.text, (told, done.text)
        state = check(tiny, (told, words, ended.text))
        if not killed:
            assert state == (0 if words[0] == "restore" else action[1]), (told, ended.text)
    assert tiny.run("restore").code == 0
    assert check(tiny, "at the end") == 0
    assert not (tiny.site / ".sitepatch").exists()
    return Figures(rounds, kills, recoveries, reinstalls, 0, 0)


def check(tiny, told):
    """The version that every file stands at, 0 for none; fails where they differ, or where one could not come back."""
    data = {path: (tiny.site / path).read_bytes() for path in MODES}
    versions = [
        version
        for version in (0, 1, 2)
        if all(data[path] == content(path, version) for path in MODES)
    ]
    assert len(versions) == 1, f"torn: {told}: {data}"
    store = Store(str(tiny.site))
    receipts = store.receipts()
    for path, receipt in receipts.items():
        assert store.pristine(receipt.pristine.sha256) == FILES.get(path, b""), (
            f"lost: {told}: {path}"
        )
    changed = {path for path in MODES if data[path] != FILES[path]}
    assert changed <= set(receipts), f"lost: {told}: no receipt for {changed - set(receipts)}"
    left = [
        path
        for path in tiny.site.rglob("*")
        if "sitepatch-tmp" in path.name or path.name.endswith((".new", ".tmp"))
    ]
    assert left == [], told
    return versions[0]


def make_wheel(folder):
    """The wheel of the small package."""
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path, data in wheel_files().items():
            file.writestr(path, data)
    return wheel


def reinstall(venv, wheel):
    """`pip install --force-reinstall` into the environment, without network."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "-q",
        "--disable-pip-version-check",
        "--python",
        str(venv / "bin/python"),
    ]
    command += ["install", "--force-reinstall", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})


def main():
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = soak(asked.rounds, asked.seed, Path(folder))
    print(
        ", ".join(f"{name} {value}" for name, value in figures._asdict().items()),
        f"({time.monotonic() - begun:.0f} s)",
    )


if __name__ == "__main__":
    main()
