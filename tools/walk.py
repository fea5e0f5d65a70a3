"""Several patchsets of one file, at random, judged by a small model.

    python -m tools.walk [--steps N] [--seed N] [--folder DIR]

Each step applies or restores some patchsets, edits the file by hand, installs the same or another
release over it, or starts Python with a hook that keeps two of the patchsets applied. After it the
file, the exit code and what `status` says of each patchset have to be what `Model` says, which
shares no code with sitepatch: a patchset is recorded until a command names it, and it is either in
the file or a reinstall took it away. The first difference ends the walk, with the steps that led to
it.
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
from typing import NamedTuple

import patcher
from patcher.verbs.main import commands
from tests.command import environ
from tests.hooks import engine_wheel, packed
from tests.places import venv, wheel
from tests.records import write_patchset

PACKAGE, FILE, ADDED = "walked", "walked/m.py", "walked/extra.py"
PATCHSETS = {"ant": "a", "bee": "b", "cow": "c", "dog": "d", "elk": "a"}
"""The line that each changes.

Ant and elk change the same one, cow adds a file, too, dog is for code that need not be there.
"""
KEPT = ("ant", "bee")
"""What the hook keeps applied."""
RELEASES = {
    "1.0": {"a": "", "b": "", "c": "", "d": ""},
    "1.1": {"a": "", "b": "", "c": "", "d": ""},
    "2.0": {"a": "ant", "b": "", "c": "", "d": ""},  # it has the change of ant
    "3.0": {"a": "", "c": ""},  # it has the code of neither bee nor dog
}
"""Which patchset's change each line of a release has, empty for the code that they change."""
STEPS = (
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


def code(line, name=""):
    """A line of code, as upstream wrote it or as a patchset makes it; all have other lengths."""
    value = "1"
    if name:
        value = "9" * (2 + 3 * list(PATCHSETS).index(name))
    return f"{line} = {value}\n"


class Model:
    """What the file is, and which patchsets are recorded for it."""

    def __init__(self, release="1.0"):
        self.release = release
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
        text = f'"""Release {self.release}."""\n\n'
        for line, upstream in RELEASES[self.release].items():
            if line in self.spoiled:
                text += f"{line} = 'by hand'\n"
            else:
                text += code(line, changed.get(line, upstream))
            if line in self.comments:
                text += f"# by hand, below {line}\n"
            text += f"other_{line} = {line}\n"
        return text

    def fit(self, name):
        """What a patchset is to the release."""
        change = RELEASES[self.release].get(PATCHSETS[name])
        if change is None:
            return "not needed" if name == "dog" else "not found"
        if not change:
            return "applicable"
        return "upstream" if change == name else "not found"

    def apply(self, names):
        """Returns the exit code."""
        fits = {name: self.fit(name) for name in names}
        after = self.live | {name for name in names if fits[name] == "applicable"}
        if self.edited or "not found" in fits.values() or {"ant", "elk"} <= after:
            return 1
        self.live = after
        self.forget(names)
        self.added = self.added or "cow" in names
        return 0

    def restore(self, names):
        """Returns the exit code."""
        reverted = self.live & set(names)
        if any(PATCHSETS[name] in self.spoiled for name in reverted):
            return 1
        if "cow" in names:
            self.added = False
        self.live -= reverted
        self.forget(names)
        return 0

    def forget(self, names):
        """These are no longer recorded as lost."""
        for name in names:
            self.lost.pop(name, None)

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

    def expected(self):
        """The file, whether the added one is there, the states, the exit code of a check."""
        states = {name: self.state(name) for name in self.recorded}
        check = int(any(state != "applied" for state in states.values()))
        return self.text(), self.added, states, check


class World:
    """A virtual environment with the package and the hook, and the real commands on it."""

    def __init__(self, folder):
        self.folder = folder
        self.python, self.site = venv(folder / "env")
        self.clock = 1_500_000_000  # of what is written here: a hook compares whole seconds
        for release in RELEASES:
            files = {"walked/__init__.py": "", FILE: Model(release).text()}
            wheel(folder / "wheels", PACKAGE, release, files)
        for name, line in PATCHSETS.items():
            flags = " when-present" if name == "dog" else ""
            change = f"@@ <module> @@{flags}\n-{code(line)}+{code(line, name)}"
            text = f"Why.\n\n--- {FILE}\n{change}"
            if name == "cow":
                text += f"\n+++ {ADDED}\n+ADDED = 1\n"
            write_patchset(folder / "patchsets", name, text, PACKAGE)
        self.run("hook", "init", folder / "hook", *KEPT)
        for path in (packed(folder / "hook", folder / "dist"), engine_wheel(folder / "wheels")):
            shutil.unpack_archive(str(path), str(self.site), "zip")
        self.install("1.0")

    def run(self, *words):
        """The exit code of a command, and what it wrote.

        It runs in this process, since a walk is thousands of them.
        """
        out = io.StringIO()
        line = [*map(str, words), "--patch-dir", str(self.folder / "patchsets")]
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            exit_code = commands.main(line, prog_name="sitepatch", standalone_mode=False)
        return exit_code, out.getvalue()

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
        for folder in self.site.glob(f"{PACKAGE}-*.dist-info"):
            shutil.rmtree(folder)
        out = self.folder / "unpacked"
        (path,) = (self.folder / "wheels").glob(f"{PACKAGE}-{release}-*")
        shutil.unpack_archive(str(path), str(out), "zip")
        for file in sorted(out.rglob("*")):
            if file.is_file():
                self.write(file.relative_to(out).as_posix(), file.read_bytes())
        shutil.rmtree(out)

    def start(self):
        """Start Python, which has the hook look."""
        command = [str(self.python), "-c", "pass"]
        variables = environ(PYTHONPATH="")
        subprocess.run(command, env=variables, capture_output=True, timeout=120, check=True)

    def found(self):
        """What `Model.expected` says of the model."""
        check, out = self.command("status", "--check", "--json")
        states = {each["name"]: each["state"] for each in json.loads(out)["patchsets"]}
        text = (self.site / FILE).read_text()
        return text, (self.site / ADDED).exists(), dict(sorted(states.items())), check


class Step(NamedTuple):
    """What was done, the exit code of the command, and that of the model."""

    what: str
    code: int = 0
    expected: int = 0


def step(chance, model, world):
    """Do something at random, in the world and in the model."""
    what = chance.choice(STEPS)
    names = chance.sample(sorted(PATCHSETS), chance.choice((1, 1, 2, 3)))
    if what == "apply":
        exit_code, _ = world.command("apply", *names, "--verify", "none")
        return Step(f"apply {' '.join(names)}", exit_code, model.apply(names))
    if what == "restore":
        if chance.random() >= 0.8:
            names = []
        exit_code, _ = world.command("restore", *names)
        return Step(f"restore {' '.join(names)}", exit_code, model.restore(names or model.recorded))
    if what == "hook":
        world.start()
        for name in KEPT:
            model.apply([name])
        return Step("start Python")
    if what in ("install", "upgrade"):
        release = model.release
        if what == "upgrade":
            release = chance.choice(sorted(RELEASES))
        world.install(release)
        model.install(release)
        return Step(f"install {release}")
    edit(chance, model, what)
    world.write(FILE, model.text().encode())
    return Step(f"edit ({what})")


def edit(chance, model, what):
    """Edit the file of the model by hand."""
    lines = sorted(RELEASES[model.release])
    if what == "comment":
        model.comments ^= {chance.choice(lines)}
    elif what == "spoil":
        line = chance.choice(lines)
        if line in {PATCHSETS[name] for name in model.live}:
            model.spoiled.add(line)
    else:
        model.comments, model.spoiled = set(), set()


def walk(steps, seed, folder):
    """Walk so many steps in the empty directory `folder`.

    Raises:
        AssertionError: at the first difference.
    """
    chance, model, world = random.Random(seed), Model(), World(folder)
    taken = []
    for number in range(1, steps + 1):
        done = step(chance, model, world)
        taken.append(done.what)
        expected = (done.expected, *model.expected())
        found = (done.code, *world.found())
        where = f"step {number}, seed {seed}: {'; '.join(taken[-12:])}"
        assert found == expected, f"{where}\nexpected {expected}\nfound    {found}"
        assert (world.site / ".sitepatch").exists() == bool(model.recorded), where


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--folder", type=Path, help="an empty directory, which is kept")
    options = parser.parse_args()
    print(
        f"{options.steps} steps, seed {options.seed}, sitepatch {patcher.__version__}", flush=True
    )
    with tempfile.TemporaryDirectory() as temporary:
        walk(options.steps, options.seed, options.folder or Path(temporary))
    print(f"{options.steps} steps, 0 differences")


if __name__ == "__main__":
    main()
