"""A throw-away directory of packages with one installed distribution, to be edited by hand, and the real command on it."""

import difflib
import os
import pty
import stat
import subprocess
import sys
import zipfile
from contextlib import suppress

import click

from tests.command import environ, sitepatch, tree
from tests.places import wheel

M = """\
import os


def load(path, strict=True):
    model = build(path)
    if strict:
        check(model)
    return model


def build(path):
    return os.path.basename(path)


def check(model):
    if not model:
        raise ValueError("empty")
"""
FILES = {"demo/__init__.py": "", "demo/m.py": M, "demo/n.py": "VALUE = 1\n"}
EDIT = M.replace("    if strict:\n", '    print("loaded", model)  # where is it?\n    if strict:\n')
GONE = M.replace(M[M.index("def load") : M.index("def build")], "def read(path):\n    return build(path)\n\n\n")
OTHER = M.replace('"empty"', 'f"empty: {model!r}"')
N = "VALUE = 1\n\n\ndef value():\n    return VALUE\n"
LAYOUT = {**FILES, "demo/sub/__init__.py": "", "demo/sub/n.py": N, "other/__init__.py": "", "other/m.py": "X = 1\n"}
NEW = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x = 1\n"


class World:
    """`folder`/site with demo 1.0, whose wheel is `wheel`."""

    def __init__(self, folder, files=FILES):
        self.cwd, self.path = folder, folder / "site"
        self.wheel = wheel(folder / "wheels", files=files)
        self.install(self.wheel)

    def install(self, path):
        with zipfile.ZipFile(str(path)) as archive:
            archive.extractall(str(self.path))

    def __call__(self, *words, **more):
        return sitepatch(*words, "--target", self.path, cwd=self.cwd, **{"SITEPATCH_CACHE": os.devnull, "PIP_NO_INDEX": "1", **more})

    def asked(self, *words, answer, **more):
        """The exit code and the output on a terminal, where each question is answered with `answer`, or with what it returns."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "patcher", *words, "--target", str(self.path)]
        variables = environ(PAGER="cat", **{"SITEPATCH_CACHE": os.devnull, "PIP_NO_INDEX": "1", **more})
        child = subprocess.Popen(command, cwd=self.cwd, env=variables, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        output = b""
        with suppress(OSError):  # the end of a terminal
            while True:
                output += os.read(ours, 4096)
                if output.endswith((b"[y/N]: ", b"[Y/n]: ", b"saved and closed ")):
                    line = answer() if callable(answer) else answer
                    os.write(ours, f"{line}\n".encode())
        os.close(ours)
        return child.wait(60), click.unstyle(output.decode()).replace("\r\n", "\n")

    def edit(self, text=EDIT, path="demo/m.py"):
        (self.path / path).write_text(text)

    def backup(self, name="m.py.debug_backup", text=M):
        (self.path / "demo" / name).write_text(text)

    def text(self, path="demo/m.py"):
        return (self.path / path).read_text()

    def tree(self):
        return tree(self.path)


def editor(world, code):
    """A program that does `code` with the file that is opened, `path`; the value of EDITOR that runs it."""
    script = world.cwd / "an editor.py"
    script.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[-1])\n{code}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"EDITOR": f"'{sys.executable}' '{script}' --wait", "VISUAL": "", "TMPDIR": str(world.cwd)}


def diff(before=M, after=EDIT, path="a/demo/m.py", to=""):
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, to or path.replace("a/", "b/", 1))
    return "".join(lines)


def another(world, files):
    (world.cwd / "other").mkdir()
    return World(world.cwd / "other", files)
