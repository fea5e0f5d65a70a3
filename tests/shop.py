"""A real environment with a small package that the real pip installs, and the command on it."""

import json
import subprocess
import sys
import venv

from tests.command import environ, sitepatch
from tests.places import wheel as pure_wheel
from tests.records import write_patchset

CODE = "def area(x, y):\n    return x * y\n\n\ndef late():\n    return 1\n"
OTHER = "def area(x, y):\n    return sum([x] * y)\n"
SPATCH = "Why.\n\n--- shop/core.py\n@@ area @@\n-return $X * $Y\n+return abs($X * $Y)\n"


def wheel(folder, version, code, name="shop"):
    """A wheel of one package with a module; returns its path."""
    return pure_wheel(folder, name, version, {"shop/__init__.py": "", "shop/core.py": code})


class Shop:
    """A real environment with a small package, pip, and the command on it."""

    def __init__(self, folder):
        self.cwd = folder
        self.venv = folder / "venv"
        venv.create(self.venv, symlinks=True)
        (self.site,) = (self.venv / "lib").glob("python*/site-packages")
        self.file = self.site / "shop" / "core.py"
        options = '[options.word]\ntype = "str"\ndefault = "a"\nhelp = "not used"\n'
        write_patchset(folder / "patches", "shop-abs", SPATCH, "shop", kind="fix", options=options)

    def pip(self, *words):
        command = [sys.executable, "-m", "pip", "--python", self.venv / "bin" / "python", "--disable-pip-version-check"]
        subprocess.run([*map(str, command), "-q", *map(str, words)], check=True, env=environ())

    def install(self, version, code=CODE):
        self.pip("install", "--no-index", "--no-deps", "--force-reinstall", wheel(self.cwd, version, code))

    def plan_rollback(self, version):
        """What is said: pip would not find it in an index."""
        return f"install shop {version} again from where it came: {next(self.cwd.glob(f'**/shop-{version}-*.whl')).as_uri()}"

    def __call__(self, *words):
        more = ["--patch-dir", "patches"] if words[0] in ("apply", "status", "restore") else []
        return sitepatch(*words, *more, "--python", self.venv, cwd=self.cwd)

    def state(self):
        (one,) = json.loads(self("status", "--json").out)["files"]
        return one["condition"]
