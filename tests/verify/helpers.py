"""A virtual environment with a package whose patch does the worst, and the command on it."""

import json
import os
import signal
import subprocess
import sys

from tests import places
from tests.command import environ, sitepatch, tree
from tests.installed.sites import install
from tests.records import write_patchset

PRISTINE = {"demo/__init__.py": "", "demo/m.py": "one = 1\n", "demo/n.py": "two = 2\n"}


class Venv:
    """A virtual environment with the package `demo`, a directory of patchsets named with --patch-dir, and the command."""

    def __init__(self, folder, python=sys.executable, files=PRISTINE):
        self.cwd = folder
        self.python, self.site = places.venv(folder / "venv", python=python)
        self.mine = folder / "mine"
        self.mine.mkdir()
        self.marks = folder / "marks"
        install(self.site, files)
        for path in self.site.rglob("*.py"):
            os.utime(str(path), ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
            path.chmod(0o640)

    def patchset(self, name, code, path="demo/m.py", imports=("demo.m",), probe=None, version="1", where=None):
        """A patchset that puts `code` at the end of a module."""
        folder = where or self.mine
        body = "".join(f"+{line}\n" for line in code.rstrip("\n").split("\n"))
        spatch = f"Why.\n\n--- {path}\n@@ <module> @@\n ...\n{body}"
        verify = f"[verify]\nimports = {json.dumps(list(imports))}\n"
        if probe is not None:
            verify += 'probe = "probe.py"\n'
        write_patchset(folder, name, spatch, path.split("/")[0], version=version, more=verify)
        if probe is not None:
            (folder / name / "probe.py").write_text(probe)
        return name

    def words(self, *words):
        """The words of a command on this environment."""
        words = [*words, "--python", self.python]
        if any(self.mine.iterdir()):
            words += ["--patch-dir", self.mine]
        return words

    def variables(self, **more):
        return {"MARKS": str(self.marks), "PYTHONDONTWRITEBYTECODE": "", **more}

    def __call__(self, *words, **more):
        return sitepatch(*self.words(*words), cwd=self.cwd, **self.variables(**more))

    def start(self, *words, **more):
        """The command, not waited for."""
        command = [sys.executable, "-m", "patcher", *map(str, self.words(*words))]
        return subprocess.Popen(
            command,
            cwd=str(self.cwd),
            env=environ(**self.variables(**more)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=heed_signals,
        )

    def tree(self):
        return tree(self.site)

    def text(self, path="demo/m.py"):
        return (self.site / path).read_text()

    def pids(self):
        """The processes that came to MARK."""
        if not self.marks.exists():
            return []
        return [int(pid) for pid in self.marks.read_text().split()]

    def standing(self):
        """What `status` says is applied: (path, patchset, version)."""
        applied = set()
        for file in json.loads(self("status", "--json").out)["files"]:
            for patchset in file["patchsets"]:
                applied.add((file["path"], patchset["name"], patchset["version"]))
        return applied


def heed_signals():
    """A shell starts what runs in its background with SIGINT ignored, nohup with SIGHUP; a child inherits that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
