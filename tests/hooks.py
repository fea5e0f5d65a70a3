"""What the tests of the hook share: an environment, a hook for it made by the real command, installed as pip or by unpacking."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

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


class Place:
    """A folder with an environment that has `demo` 1.0, wheels of other releases, and a patchset `two` for all of them."""

    def __init__(self, folder, new=22, python=sys.executable):
        self.path = folder
        self.wheels = folder / "wheels"
        wheel(self.wheels)
        wheel(self.wheels, version="2.0", files=TWO)
        wheel(self.wheels, version="3.0", files=NONE)
        self.two = patchset(folder, new=new)
        self.python, self.site = venv(folder / "env", python=python)
        self.unpack("demo", "1.0")
        self.before = sorted(path.relative_to(self.site).as_posix() for path in self.site.rglob("*"))

    def unpack(self, name, version):
        """Put a wheel into the site directory, in the place of what was there of that name, as an installer does."""
        for old in self.site.glob(f"{name}-*.dist-info"):
            for row in (old / "RECORD").read_text().splitlines():
                (self.site / row.rsplit(",", 2)[0]).unlink()
            old.rmdir()
        with zipfile.ZipFile(next(self.wheels.glob(f"{name}-{version}-*.whl"))) as archive:
            archive.extractall(str(self.site))

    def sitepatch(self, *words, code=0, **more):
        return done(sitepatch(*words, cwd=self.path, **more), code)

    def init(self, *words, code=0, names=("two",)):
        return self.sitepatch("hook", "init", "patches", *names, "--patch-dir", "mine", "--python", self.python, *words, code=code)

    def wheel(self):
        """The line for requirements.txt."""
        return self.sitepatch("hook", "wheel", "patches").out.strip()

    def install(self, *words):
        """A hook, made and installed without running anything in the environment."""
        self.init(*words)
        self.put(self.wheel())

    def put(self, line):
        """Unpack the wheel that a line of requirements.txt names."""
        with zipfile.ZipFile(str(self.path / line.split(" ")[0])) as archive:
            archive.extractall(str(self.site))

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

    def use_sitepatch(self):
        """Make sitepatch importable in the environment, with what it needs."""
        import libcst

        above = Path(libcst.__file__).parents[1]
        (self.site / "checkout.pth").write_text(f"{ROOT}\n{above}\n")
