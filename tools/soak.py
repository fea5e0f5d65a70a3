"""Apply, update, restore and reinstall in disorder, killed at random moments.

    python -m tools.soak [--rounds N] [--seed N]

Every round is one command of `sitepatch` on a virtual environment with a small package, or `pip
install --force-reinstall` of its wheel (offline). Four commands of five are to get SIGKILL before
or after a random one of their calls that change a file: nothing that is kept changes in between,
and a clock of seconds would depend on how busy the machine is. After each round the next command is
let to recover, and then every file has to be, whole, as upstream shipped it or as one version of
the patchset makes it, all of them the same (torn: 0), and the pristine bytes of every changed file
have to be there (lost: 0).
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
"""Each command, and the version of the patchset that it applies."""
PIP_EVERY = 40  # rounds; it takes a second


class Figures(NamedTuple):
    """What a soak has seen. Nothing is torn or lost where it returns."""

    rounds: int
    kills: int
    recoveries: int
    reinstalls: int
    torn: int = 0
    lost: int = 0


class Round(NamedTuple):
    """What happened in a round."""

    was_killed: bool
    has_recovered: bool


class Soak:
    """The environment, and the commands that are run in it."""

    def __init__(self, seed, folder):
        self.seed = seed
        self.chance = random.Random(seed)
        self.usual = 20  # calls that change a file in one command, at least
        self.venv = folder / "venv"
        self.wheel = make_wheel(folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.venv)], check=True)
        (folder / "tiny").mkdir()
        self.tiny = Tiny(folder / "tiny")
        shutil.rmtree(self.tiny.site)
        self.tiny.site = next(self.venv.glob("lib/python*/site-packages"))
        self.reinstall()

    def reinstall(self):
        """`pip install --force-reinstall` into the environment, without network."""
        python = str(self.venv / "bin/python")
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", python]
        install = ["install", "--force-reinstall", "--no-deps", "--no-index", str(self.wheel)]
        environ = {**os.environ, "PYTHONWARNINGS": "ignore"}
        subprocess.run([*pip, *install], check=True, env=environ)

    def round(self, number):
        """One command, perhaps killed, and one that recovers."""
        where = f"round {number}, seed {self.seed}"
        verb, version = self.chance.choice(ACTIONS)
        words = (verb, NAME) if verb == "apply" else (verb,)
        point = self.chance.randint(1, self.usual) if self.chance.random() < 0.8 else 0
        how = self.chance.choice(("before", "after"))
        ended = self.tiny.run(*words, version=version, point=point, how=how)
        assert ended.code in (0, -signal.SIGKILL), (where, ended.text)
        self.usual = max(self.usual, ended.count)

        interrupted = self.interrupted()
        recovery = self.tiny.run("restore", OTHER)
        assert recovery.code == 0, (where, recovery.text)
        if interrupted:
            assert interrupted.replace("will be", "was") in recovery.text, (where, recovery.text)
        version_found = check(self.tiny, (where, words, ended.text))
        if ended.code == 0:
            expected = 0 if verb == "restore" else version
            assert version_found == expected, (where, ended.text)
        return Round(was_killed=ended.code != 0, has_recovered=bool(interrupted))

    def interrupted(self):
        """What the store says of an interrupted run, empty if there is none."""
        return Store(str(self.tiny.site)).interrupted()


def soak(rounds, seed, folder, pip_every=PIP_EVERY):
    """Run so many rounds in the empty directory `folder`; returns the figures.

    Raises:
        AssertionError: at the first broken promise.
    """
    place = Soak(seed, folder)
    kills = recoveries = reinstalls = 0
    for number in range(1, rounds + 1):
        if number % pip_every == 0:
            place.reinstall()
            reinstalls += 1
            assert place.interrupted() == "", f"round {number}, seed {seed}"
        seen = place.round(number)
        kills += seen.was_killed
        recoveries += seen.has_recovered
    assert place.tiny.run("restore").code == 0
    assert check(place.tiny, "at the end") == 0
    assert not (place.tiny.site / ".sitepatch").exists()
    return Figures(rounds, kills, recoveries, reinstalls)


def check(tiny, where):
    """The version that every file stands at, 0 for none.

    Raises:
        AssertionError: they differ, or one could not come back.
    """
    data = {path: (tiny.site / path).read_bytes() for path in MODES}
    versions = []
    for version in (0, 1, 2):
        if data == {path: content(path, version) for path in MODES}:
            versions.append(version)
    assert len(versions) == 1, f"torn: {where}: {data}"

    store = Store(str(tiny.site))
    receipts = store.receipts()
    for path, receipt in receipts.items():
        pristine = store.pristine(receipt.pristine.sha256)
        assert pristine == FILES.get(path, b""), f"lost: {where}: {path}"
    changed = {path for path in MODES if data[path] != FILES[path]}
    assert changed <= set(receipts), f"lost: {where}: no receipt for {changed - set(receipts)}"
    for path in tiny.site.rglob("*"):
        is_temporary = "sitepatch-tmp" in path.name or path.name.endswith((".new", ".tmp"))
        assert not is_temporary, (where, path)
    return versions[0]


def make_wheel(folder):
    """The wheel of the small package."""
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path, data in wheel_files().items():
            file.writestr(path, data)
    return wheel


def main():
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = soak(options.rounds, options.seed, Path(folder))
    parts = [f"{name} {value}" for name, value in figures._asdict().items()]
    print(", ".join(parts), f"({time.monotonic() - started:.0f} s)")


if __name__ == "__main__":
    main()
