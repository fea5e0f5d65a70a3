"""`python -m tools.walk [--steps N] [--seed N] [--folder DIR]`: several patchsets of one file, at random, judged by a small model.

Each step applies or restores some patchsets, edits the file by hand, installs the same or another release over it, or starts
Python with a hook that keeps two of the patchsets applied. After it the file, the exit code and what `status` says of each
patchset have to be what `Model` says, which shares no code with sitepatch: a patchset is recorded until a command names it,
and it is either in the file or a reinstall took it away. The first difference ends the walk, with the steps that led to it.
"""

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import patcher
from patcher.verbs.main import commands
from tests.command import environ
from tests.hooks import engine_wheel, packed
from tests.places import venv, wheel
from tests.records import write_patchset

PACKAGE, FILE, ADDED = "walked", "walked/m.py", "walked/extra.py"
PATCHSETS = {"ant": "a", "bee": "b", "cow": "c", "dog": "d", "elk": "a"}
"""The line that each changes; ant and elk change the same one, cow adds a file, too, dog is for code that need not be there."""
KEPT = ("ant", "bee")
RELEASES = {
    "1.0": {"a": "", "b": "", "c": "", "d": ""},
    "1.1": {"a": "", "b": "", "c": "", "d": ""},
    "2.0": {"a": "ant", "b": "", "c": "", "d": ""},  # it has the change of ant
    "3.0": {"a": "", "c": ""},  # it has the code of neither bee nor dog
}
"""Which patchset's change each line of a release has, "" for the code that they change."""


def code(line, name=""):
    """A line of code, as upstream wrote it or as a patchset makes it; all of them are of different lengths."""
    return f"{line} = {'9' * (2 + 3 * list(PATCHSETS).index(name)) if name else '1'}\n"


class Model:
    """What the file is, and which patchsets are recorded for it."""

    def __init__(self):
        self.release = "1.0"
        self.live = set()
        self.lost = {}  # the release in which each was
        self.comments = set()  # by hand, each below a line
        self.spoiled = set()  # lines that somebody rewrote
        self.added = False

    @property
    def edited(self):
        return bool(self.comments or self.spoiled)

    @property
    def recorded(self):
        return sorted({*self.live, *self.lost})

    def text(self):
        """The text of the file."""
        changed = {PATCHSETS[name]: name for name in self.live}
        out = [f'"""Release {self.release}."""\n\n']
        for line, upstream in RELEASES[self.release].items():
            out.append(
                f"{line} = 'by hand'\n"
                if line in self.spoiled
                else code(line, changed.get(line, upstream))
            )
            out += [f"# by hand, below {line}\n"] * (line in self.comments)
            out.append(f"other_{line} = {line}\n")
        return "".join(out)

    def fit(self, name):
        """What a patchset is to the release."""
        has = RELEASES[self.release].get(PATCHSETS[name])
        if has is None:
            return "not needed" if name == "dog" else "not found"
        return "applicable" if not has else "upstream" if has == name else "not found"

    def apply(self, names):
        """Returns the exit code."""
        fits = {name: self.fit(name) for name in names}
        after = self.live | {name for name in names if fits[name] == "applicable"}
        if self.edited or "not found" in fits.values() or {"ant", "elk"} <= after:
            return 1
        self.live = after
        self.lost = {name: release for name, release in self.lost.items() if name not in names}
        self.added = self.added or "cow" in names
        return 0

    def restore(self, names):
        """Returns the exit code."""
        going = self.live & set(names)
        if any(PATCHSETS[name] in self.spoiled for name in going):
            return 1
        if "cow" in names:
            self.added = False
        self.live -= going
        self.lost = {name: release for name, release in self.lost.items() if name not in names}
        return 0

    def install(self, release):
        """An installer replaces the file; it knows nothing of the added one."""
        self.lost.update(dict.fromkeys(self.live, self.release))
        self.live, self.comments, self.spoiled = set(), set(), set()
        self.release = release

    def state(self, name):
        """What `status` says of a patchset."""
        if name in self.live:
            return "edited by hand" if self.edited else "applied"
        fit = self.fit(name)
        if self.lost[name] == self.release or self.edited or fit in ("applicable", "not found"):
            return "overwritten"
        return fit


class World:
    """A virtual environment with the package and the hook, and the real commands on it."""

    def __init__(self, folder):
        self.folder = folder
        self.python, self.site = venv(folder / "env")
        self.clock = 1_500_000_000  # of what is written here: a hook compares whole seconds
        for release in RELEASES:
            of_release = Model()
            of_release.release = release
            wheel(
                folder / "wheels",
                PACKAGE,
                release,
                {"walked/__init__.py": "", FILE: of_release.text()},
            )
        for name, line in PATCHSETS.items():
            mark = " when-present" if name == "dog" else ""
            hunk = f"Why.\n\n--- {FILE}\n@@ <module> @@{mark}\n-{code(line)}+{code(line, name)}"
            more = f"\n+++ {ADDED}\n+ADDED = 1\n" if name == "cow" else ""
            write_patchset(folder / "patchsets", name, hunk + more, PACKAGE)
        self.run("hook", "init", folder / "hook", *KEPT)
        for path in (packed(folder / "hook", folder / "dist"), engine_wheel(folder / "wheels")):
            shutil.unpack_archive(str(path), str(self.site), "zip")
        self.install("1.0")

    def run(self, *words):
        """The exit code of a command, and what it wrote; in this process, since a walk is thousands of them."""
        out = io.StringIO()
        given = [*map(str, words), "--patch-dir", str(self.folder / "patchsets")]
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = commands.main(given, prog_name="sitepatch", standalone_mode=False)
        return code, out.getvalue()

    def command(self, *words):
        """`run` on the site directory."""
        return self.run(*words, "--target", self.site)

    def write(self, path, data):
        """Replace a file of the site directory, at a time of its own."""
        target = self.site / path
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(data)
        self.clock += 1
        os.utime(target, (self.clock, self.clock))

    def install(self, release):
        """Put a release in the place of the one that is there, as an installer does."""
        for old in self.site.glob(f"{PACKAGE}-*.dist-info"):
            shutil.rmtree(old)
        out = self.folder / "unpacked"
        shutil.unpack_archive(
            str(next((self.folder / "wheels").glob(f"{PACKAGE}-{release}-*"))), str(out), "zip"
        )
        for path in sorted(path for path in out.rglob("*") if path.is_file()):
            self.write(path.relative_to(out).as_posix(), path.read_bytes())
        shutil.rmtree(out)

    def start(self):
        """Start Python, which has the hook look."""
        command = [str(self.python), "-c", "pass"]
        subprocess.run(
            command, env=environ(PYTHONPATH=""), capture_output=True, timeout=120, check=True
        )

    def seen(self, code):
        """What is there: the exit code of the last command, the file, the added one, the states, that of `status --check`."""
        check, out = self.command("status", "--check", "--json")
        states = {each["name"]: each["state"] for each in json.loads(out)["patchsets"]}
        text = (self.site / FILE).read_text()
        return code, text, (self.site / ADDED).exists(), dict(sorted(states.items())), check


def step(chance, model, world):
    """Do something at random; returns what it was, and the exit code of the command and of the model's."""
    what = chance.choice(
        (
            "apply",
            "apply",
            "restore",
            "restore",
            "comment",
            "spoil",
            "tidy",
            "install",
            "upgrade",
            "hook",
        )
    )
    names = chance.sample(sorted(PATCHSETS), chance.choice((1, 1, 2, 3)))
    lines = sorted(RELEASES[model.release])
    if what == "apply":
        return (
            f"apply {' '.join(names)}",
            world.command("apply", *names, "--verify", "none")[0],
            model.apply(names),
        )
    if what == "restore":
        names = names if chance.random() < 0.8 else []
        return (
            f"restore {' '.join(names)}",
            world.command("restore", *names)[0],
            model.restore(names or model.recorded),
        )
    if what == "hook":
        world.start()
        for name in KEPT:
            model.apply([name])
        return "start Python", 0, 0
    if what in ("install", "upgrade"):
        release = model.release if what == "install" else chance.choice(sorted(RELEASES))
        world.install(release)
        model.install(release)
        return f"install {release}", 0, 0
    if what == "comment":
        model.comments ^= {chance.choice(lines)}
    elif what == "spoil":
        model.spoiled |= {
            line
            for line in chance.sample(lines, 1)
            if line in {PATCHSETS[name] for name in model.live}
        }
    else:
        model.comments, model.spoiled = set(), set()
    world.write(FILE, model.text().encode())
    return f"edit ({what})", 0, 0


def walk(steps, seed, folder):
    """Walk so many steps in the empty directory `folder`; raises AssertionError at the first difference."""
    chance, model, world = random.Random(seed), Model(), World(folder)
    taken = []
    for number in range(1, steps + 1):
        what, code, expected = step(chance, model, world)
        taken.append(what)
        states = {name: model.state(name) for name in model.recorded}
        check = int(any(state != "applied" for state in states.values()))
        due = expected, model.text(), model.added, states, check
        seen = world.seen(code)
        told = (
            f"step {number}, seed {seed}: {'; '.join(taken[-12:])}\nexpected {due}\nfound    {seen}"
        )
        assert seen == due, told
        assert (world.site / ".sitepatch").exists() == bool(states), told


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--folder", type=Path, help="an empty directory, which is kept")
    given = parser.parse_args()
    print(f"{given.steps} steps, seed {given.seed}, sitepatch {patcher.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        walk(given.steps, given.seed, given.folder or Path(temporary))
    print(f"{given.steps} steps, 0 differences")


if __name__ == "__main__":
    main()
