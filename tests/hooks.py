"""Shared by the tests of the hook: an environment, and a hook made by the real command, installed by pip or by unpacking."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import libcst

import patcher
from patcher.hook.backend import hook_wheel
from patcher.hook.directory import write_directory
from patcher.model import Requested
from patcher.patchset.manifest import load_patchset
from tests.command import ROOT, Ended, done, environ, sitepatch
from tests.places import FILES, patchset, venv, wheel

TWO = {**FILES, "demo/m.py": "A = 0\nVALUE = 1\n"}  # fits, and is not the release that the hook was made with
NONE = {**FILES, "demo/m.py": "NOTHING = 1\n"}  # does not fit
NEVER = "sitepatch-hook: "


def pip(python, *words, code=0, cwd=None, **more):
    """The real pip, on another environment, without an index."""
    variables = {"PYTHONPATH": "", "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more}
    command = [sys.executable, "-m", "pip", "--python", str(python), *map(str, words)]
    ended = subprocess.run(
        command, env=environ(**variables), stdin=subprocess.DEVNULL, capture_output=True, timeout=180, cwd=cwd and str(cwd)
    )  # fmt: skip
    return done(Ended(ended), code)


def packed(directory, out):
    """The wheel of a hook's directory, in a folder, as pip makes it."""
    made = hook_wheel(directory)
    out.mkdir(parents=True, exist_ok=True)
    (out / made.name).write_bytes(made.pack())
    return out / made.name


def engine_wheel(folder):
    """A wheel in place of that of sitepatch: it leads to this checkout and its dependencies."""
    above = Path(libcst.__file__).parents[1]
    return wheel(folder, "sitepatch", patcher.__version__, {"checkout.pth": f"{ROOT}\n{above}\n"})


class Place:
    """A folder with an environment that has `demo` 1.0 and sitepatch, wheels of other releases, and a patchset `two` for them."""

    def __init__(self, folder, new=22, python=sys.executable, engine=True):
        self.path = folder
        self.wheels = folder / "wheels"
        wheel(self.wheels)
        wheel(self.wheels, version="2.0", files=TWO)
        wheel(self.wheels, version="3.0", files=NONE)
        engine_wheel(self.wheels)
        self.two = patchset(folder, new=new)
        self.python, self.site = venv(folder / "env", python=python)
        self.unpack("demo", "1.0")
        if engine:
            self.unpack("sitepatch", patcher.__version__)
        self.before = sorted(path.relative_to(self.site).as_posix() for path in self.site.rglob("*"))

    def unpack(self, name, version):
        """Put a wheel into the site directory, replacing what had its name, as an installer does."""
        for old in self.site.glob(f"{name}-*.dist-info"):
            for row in (old / "RECORD").read_text().splitlines():
                (self.site / row.rsplit(",", 2)[0]).unlink()
            old.rmdir()
        with zipfile.ZipFile(next(self.wheels.glob(f"{name}-{version}-*.whl"))) as archive:
            archive.extractall(str(self.site))

    def change_engine(self, code=""):
        """Put the sitepatch of this checkout into the site directory, with `code` run first."""
        (self.site / "patcher").mkdir(exist_ok=True)
        head = f"__path__ = [{str(Path(patcher.__file__).parent)!r}]\n__version__ = {patcher.__version__!r}\n"
        (self.site / "patcher/__init__.py").write_text(head + code)

    def sitepatch(self, *words, code=0, **more):
        return done(sitepatch(*words, cwd=self.path, **more), code)

    def init(self, *words, code=0, names=("two",)):
        return self.sitepatch("hook", "init", "patches", *names, "--patch-dir", "mine", *words, code=code)

    def wheel(self, directory="patches"):
        """The path of the hook's wheel."""
        return packed(self.path / directory, self.path / "dist")

    def install(self, *words):
        """Make and install a hook without running anything in the environment."""
        self.init(*words)
        self.put(self.wheel())

    def put(self, path):
        """Unpack a wheel."""
        with zipfile.ZipFile(str(self.path / path)) as archive:
            archive.extractall(str(self.site))

    def remove(self):
        """Take the hook out, as pip does."""
        pip(self.python, "uninstall", "-q", "-y", self.folder.name[1:].replace("_", "-"))

    @property
    def folder(self):
        (found,) = self.site.glob("_sitepatch_hook_*")
        return found

    def state(self):
        return (self.folder / "state").read_text()

    def start(self, *words, code=0, **more):
        """Start the interpreter of the environment; by default it prints the value of demo.m."""
        words = words or ("-c", "import demo.m; print(demo.m.VALUE)")
        variables = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "", **more}
        ended = subprocess.run([str(self.python), *words], env=environ(**variables), capture_output=True, timeout=120)
        return done(Ended(ended), code)


class BareSite:
    """A site directory with demo 1.0, as an installer lays it out, without a Python, and hooks in it."""

    def __init__(self, folder):
        self.above, self.path = folder, folder / "site"
        self.path.mkdir()
        self.install()

    def __str__(self):
        return str(self.path)

    def install(self, version="1.0", text="VALUE = 1\n", name="demo"):
        for old in self.path.glob(f"{name}-*.dist-info"):
            shutil.rmtree(old)
        files = {f"{name}/__init__.py": "", f"{name}/m.py": text, f"{name}/n.py": "VALUE = 1\n"}
        with zipfile.ZipFile(str(wheel(self.above / "wheels", name, version, files))) as archive:
            archive.extractall(str(self))

    def put(self, *names, name="sitepatch-hook-x", mode="repair", **options):
        """Unpack the wheel of a hook for these patchsets; returns its folder."""
        requested = [Requested(load_patchset(self.above / "mine" / each, "mine"), options) for each in names]
        write_directory(self.above / name, name, mode, requested, [])
        for path, data in hook_wheel(self.above / name).files.items():
            (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            (self.path / path).write_bytes(data)
        return f"{self}/_{name.replace('-', '_')}"

    def value(self, path="demo/m.py"):
        return (self.path / path).read_text()
