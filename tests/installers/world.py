"""What the tests of real installers share: an index on localhost, two small packages with several releases, environments."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, UV, Ended, tree

STOCK, PATCHED = "1 stock", "2 patched"
STATE = "import sys; from orchard import basket, trees; sys.stdout.write('%s %s' % (basket.RIPE, trees.ripe()))"
BASKET = "RIPE = 1\n\n\ndef fill(baskets):\n    return [RIPE for _ in baskets]\n"
TREES = 'def ripe():\n    return "stock"\n\n\ndef old():\n    return "old"\n'
ORCHARD = {
    "1.0": (BASKET, TREES),
    "1.1": (f'"""Baskets, with more lines above."""\n\nMORE = 3\n\n{BASKET}', f"import os\n\n\n{TREES}"),
    "1.2": (BASKET, TREES.replace("def ripe():", "def ripe(when=None):")),
    "2.0": (BASKET, TREES.replace('return "stock"', 'return "".join(["st", "ock"])')),  # the patch does not fit
}
HARVEST = {"1.0": "DAY = 1\n", "1.1": "# later\nDAY = 1\n"}
NAME = "orchard-ripe"
PATCH = """Ripe fruit in two files: one of them keeps its length, the other one gets longer.

--- orchard/basket.py
@@ <module> @@
-RIPE = 1
+RIPE = 2

--- orchard/trees.py
@@ ripe @@
-return "stock"
+return "patched"
"""
TOML = """schema = 1
name = "orchard-ripe"
version = "%s"
kind = "fix"
summary = "For the tests of installers"

[[variant]]
package = "orchard"
versions = ">=1,<3"
patches = ["p.spatch"]
"""
ALL = bool(os.environ.get("SITEPATCH_ALL_INSTALLERS"))
long = pytest.mark.skipif(not ALL, reason="long; SITEPATCH_ALL_INSTALLERS=1 runs it")
DROPPED = ("PIP_", "UV_", "PYTHON", "VIRTUAL_ENV", "CONDA_", "POETRY_", "PDM_", "HATCH_", "SITEPATCH", "NO_COLOR", "XDG_")



def call(*words, cwd, code=0, limit=300, **more):
    """Run a command that sees nothing of this session's settings; it has to end with `code` (None: any)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    line = [str(word) for word in words]
    env = {**kept, **more}
    completed = subprocess.run(line, cwd=str(cwd), env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    ended = Ended(completed)
    assert code is None or ended.code == code, (words, ended)
    return ended


def fill(index, sitepatch, needs):
    """Put sitepatch, what it needs, and every release of the two packages into an index."""
    for file in [sitepatch, *sorted(Path(needs).iterdir())]:
        project = file.name.split("-")[0].lower().replace("_", "-")
        index.put(project, file.name, file.read_bytes())
    for version, (basket, trees) in ORCHARD.items():
        index.add("orchard", version, {"orchard/__init__.py": "", "orchard/basket.py": basket, "orchard/trees.py": trees})
    for version, text in HARVEST.items():
        index.add("harvest", version, {"harvest/__init__.py": text})


def wheel_of_sitepatch(folder):
    """Build the wheel of this checkout with its real backend."""
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, cwd=folder, **of_session("PIP_"))
    (wheel,) = folder.glob("sitepatch-*.whl")
    return wheel


def needs():
    """What the project says it needs, as requirements."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = text.split("\ndependencies = [\n")[1].split("\n]\n")[0]
    return [line.split('"')[1] for line in dependencies.splitlines()]


def emptied(folder):
    """An empty folder, whatever lay there."""
    shutil.rmtree(str(folder), ignore_errors=True)
    folder.mkdir(parents=True)


def of_session(*prefixes):
    """The variables of this session that say how the network is reached."""
    return {name: value for name, value in os.environ.items() if name.startswith(prefixes)}


class Env:
    """A virtual environment without anything in it; `variables` are those that lead to the index."""

    def __init__(self, root, variables, python=sys.executable, make=True):
        self.root, self.variables = root, variables
        if make:
            call(python, "-m", "venv", "--without-pip", root, cwd=root.parent)
        self.python = root / "bin" / "python"

    @property
    def site(self):
        (site,) = self.root.glob("lib/python3*/site-packages")
        return site

    def tree(self):
        """All that lies in the site directory, with mtimes."""
        return tree(self.site)

    def start(self, code=STATE, *flags, **more):
        """Start the interpreter once, with bytecode, in a directory that holds nothing."""
        return call(self.python, *flags, "-c", code, cwd=self.root, code=None, **more)

    def state(self, *flags, **more):
        """What the package is at this start."""
        ended = self.start(STATE, *flags, **more)
        assert ended.code == 0, ended
        return ended.out

    def call(self, name, *words, cwd, code=0, **more):
        """A command that was installed into the environment, as where the environment is active."""
        return call(self.root / "bin" / name, *words, cwd=cwd, code=code, VIRTUAL_ENV=str(self.root), **more)

    def pip(self, *words, cwd=None, code=0, **more):
        """The real pip, of this interpreter, on the environment."""
        line = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *words]
        return call(*line, cwd=cwd or self.root, code=code, **{**self.variables, **more})

    def uv(self, *words, cwd=None, code=0, **more):
        """The real `uv pip` on the environment."""
        line = [UV, "pip", *words, "--python", self.python]
        return call(*line, cwd=cwd or self.root, code=code, **{**self.variables, **more})



def variables(index, home):
    """Those that make every installer ask this index alone, and keep what it keeps below `home`."""
    url = f"http://127.0.0.1:{index.server.server_address[1]}/simple/"
    return {
        "PIP_INDEX_URL": url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_CACHE_DIR": str(home / "pip"),
        "PIP_RETRIES": "1",
        "UV_DEFAULT_INDEX": url,
        "UV_NO_CONFIG": "1",
        "UV_CACHE_DIR": str(home / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "HOME": str(home),
    }


class Project:
    """A folder with a patchset in ./patchsets and the hook's directory in ./patches, made by the real command."""

    def __init__(self, folder, variables, python=sys.executable):
        self.folder, self.variables = folder, variables
        self.env = Env(folder / "env", variables, python=python)
        self.write()

    def write(self, version="1", patch=PATCH):
        here = self.folder / "patchsets" / NAME
        here.mkdir(parents=True, exist_ok=True)
        (here / "patchset.toml").write_text(TOML % version)
        (here / "p.spatch").write_text(patch)

    def sitepatch(self, *words, code=0, **more):
        """The command of this checkout, in the folder of the project."""
        return call(sys.executable, "-m", "patcher", *words, cwd=self.folder, code=code, PYTHONPATH=str(ROOT), **more)

    def requirements(self, *lines):
        (self.folder / "requirements.txt").write_text("".join(f"{line}\n" for line in lines))
        return "requirements.txt"

    def init_hook(self):
        """Make the hook's directory, or bring it up to date."""
        self.sitepatch("hook", "init", "patches", NAME)

    def wheel(self):
        """The line for requirements of the hook's prebuilt wheel, which pip makes without a network."""
        call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "-w", "wheels", "./patches", cwd=self.folder)
        newest = max(self.wheels(), key=lambda path: path.stat().st_mtime_ns)
        return f"./wheels/{newest.name} --hash=sha256:{hashlib.sha256(newest.read_bytes()).hexdigest()}"

    def wheels(self):
        """The paths of the hook's wheels."""
        return sorted((self.folder / "wheels").iterdir())

    def reinstall(self, release):
        """Install a release anew, as uv does it: the files of the package are fresh, and nothing is started."""
        self.env.uv("install", "--reinstall", "--no-deps", f"orchard=={release}")


def assert_settled(project, state):
    """One start brings the package into a state, and the starts after it write nothing at all and say nothing."""
    env = project.env
    assert env.state() == state
    env.state()  # whatever a first start leaves to a second one, such as bytecode of the boot module
    before = env.tree()
    for _ in range(2):
        ended = env.start()
        assert (ended.out, ended.err) == (state, "")
        assert env.tree() == before


def sources(env):
    """What lies in the site directory, but for the store and for bytecode that is not a hook's."""
    paths = set()
    for path in env.tree():
        bytecode_of_others = "__pycache__" in path and "sitepatch_hook" not in path
        if not path.startswith(".sitepatch") and not bytecode_of_others:
            paths.add(path)
    return paths


def hooks(env):
    """The distributions of hooks that are installed."""
    return [path.name.split("-")[0] for path in env.site.glob("*.dist-info") if "sitepatch_hook" in path.name]
