"""What the tests of `run --overlay` share: a package whose patch moves its lines, and processes that run in an overlay."""

import os
import subprocess
from contextlib import contextmanager

import pytest

from tests.command import Ended, done, environ, sitepatch
from tests.places import venv
from tests.records import write_patchset

M = '''\
"""A module."""

VALUE = 1


class Thing:
    """A class."""

    def fail(self):
        raise ValueError("as shipped")


def answer():
    return VALUE * 1


if __name__ == "__main__":
    print("main", VALUE)
'''
SPATCH = """\
Why.

--- demo/m.py
@@ <module> @@
+FIRST = "put before it"
+SECOND = FIRST
-VALUE = 1
+VALUE = 2
@@ Thing.fail @@
-raise ValueError("as shipped")
+why = "as patched"
+raise ValueError(why)
--- demo/__init__.py
@@ <module> @@
-NAME = "as shipped"
+NAME = "as patched"
"""
PATCHED = (
    M.replace("VALUE = 1\n", 'FIRST = "put before it"\nSECOND = FIRST\nVALUE = 2\n')
    .replace('raise ValueError("as shipped")', 'why = "as patched"\n        raise ValueError(why)')
)  # fmt: skip
FILES = {
    "demo/__init__.py": 'NAME = "as shipped"\n',
    "demo/m.py": M,
    "demo/other.py": "VALUE = 1\n",
    "demo/data.txt": "data\n",
}
OLD = 1_600_000_000


def write(site, files=FILES):
    """Files with an mtime in whole seconds, as those of wheels, and a RECORD-less package around them."""
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(str(path), (OLD, OLD))


def patchset(folder, text=SPATCH, name="demo-patch", package="demo"):
    return write_patchset(folder / "mine", name, text, package)


@contextmanager
def unwritable(folder):
    """Nobody may write below a directory: root, whom no mode stops, finds it on a read-only filesystem."""
    if os.getuid() != 0:
        paths = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        modes = [path.stat().st_mode for path in paths]
        try:
            for path in paths:
                path.chmod(0o555)
            yield
        finally:
            for path, mode in zip(paths, modes):
                path.chmod(mode)
        return
    for words in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
        mounted = subprocess.run(["mount", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if mounted.returncode:
            pytest.skip(f"this machine does not permit a read-only mount: {mounted.stdout.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


class Overlay:
    """A venv with the package and the patchset, and the command on them."""

    def __init__(self, folder, python, files=FILES):
        self.folder, self.cache = folder, folder / "cache"
        self.python, self.site = venv(folder / "env", python=python)
        write(self.site, files)
        patchset(folder)
        self.known_path = None

    def run(self, *command, names=("demo-patch",), options=("--verify", "none",), **more):
        """`sitepatch run NAME --overlay -- COMMAND`, in which bytecode is written as usual."""
        options = ["--overlay", "--python", self.python, "--patch-dir", self.folder / "mine", *options]
        variables = {"SITEPATCH_CACHE": str(self.cache), "PYTHONDONTWRITEBYTECODE": "", **more}
        return sitepatch("run", *names, *options, "--", *command, cwd=self.folder, **variables)

    @property
    def path(self):
        """The PYTHONPATH of a process in the overlay: all that `run --overlay` gives to a command."""
        if self.known_path is None:
            words = (self.python, "-c", "import os; print(os.environ['PYTHONPATH'])")
            self.known_path = done(self.run(*words)).out.strip()
        return self.known_path

    @property
    def built(self):
        """The folder of the overlay, which is built if it is not there."""
        assert self.path
        (folder,) = (self.cache / "overlay").iterdir()
        return folder

    def __call__(self, *words, stdin=None, **more):
        """The environment's interpreter, in the overlay."""
        variables = environ(PYTHONDONTWRITEBYTECODE="", **{"PYTHONPATH": self.path, **more})
        command = [str(word) for word in (self.python, *words)]
        completed = subprocess.run(command, cwd=str(self.folder), env=variables, input=stdin, capture_output=True, timeout=120)
        return Ended(completed)

    def prints(self, code, **more):
        """What a piece of code prints there."""
        return done(self("-c", code, **more)).out.strip()
