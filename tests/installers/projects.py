"""Projects of uv, Poetry, PDM and Hatch whose requirements are one package and the hook's directory."""

import sys

import pytest

from tests.command import UV
from tests.installers.world import Env, call, long

PYTHON = f">={sys.version_info[0]}.{sys.version_info[1]},<{sys.version_info[0]}.{sys.version_info[1] + 1}"
"""The interpreter of this session: the index of the tests has what sitepatch needs for that one."""


class Project:
    """A project in a folder of its own; `sync` makes its environment what its files say."""

    def __init__(self, folder, variables, tools, hook):
        self.folder, self.variables, self.tools, self.hook = folder, variables, tools, hook
        self.url = variables["UV_DEFAULT_INDEX"]
        folder.mkdir(exist_ok=True)

    @property
    def env(self):
        return Env(self.folder / ".venv", self.variables, make=False)

    def call(self, *words, **more):
        return call(*words, cwd=self.folder, **{**self.variables, **more})

    def write(self, orchard, hook=True):
        """Write the project's file: this release of the package, and the hook or not."""
        text = self.text([f"orchard=={orchard}"], hook)
        (self.folder / "pyproject.toml").write_text(text)

    def forget(self):
        """What a tool needs before it sees that the hook has changed, or is not asked for any more."""

    def dependencies(self, names):
        return ", ".join(f'"{name}"' for name in names)


class UvSync(Project):
    def text(self, names, hook):
        source = f'[tool.uv.sources]\n{self.hook} = {{ path = "patches" }}\n' if hook else ""
        names = [*names, self.hook] if hook else names
        return (
            f'[project]\nname = "app"\nversion = "1"\nrequires-python = "{PYTHON}"\n'
            f"dependencies = [{self.dependencies(names)}]\n[tool.uv]\npackage = false\n{source}"
        )

    def sync(self):
        return self.call(UV, "sync")


class Poetry(Project):
    def text(self, names, hook):
        source = f'[tool.poetry.dependencies]\n{self.hook} = {{ path = "patches" }}\n' if hook else ""
        names = [*names, self.hook] if hook else names
        return (
            f'[project]\nname = "app"\nversion = "1"\nrequires-python = "{PYTHON}"\n'
            f"dependencies = [{self.dependencies(names)}]\n[tool.poetry]\npackage-mode = false\n{source}"
            f'[[tool.poetry.source]]\nname = "local"\nurl = "{self.url}"\npriority = "primary"\n'
        )

    def sync(self):
        keep = {
            "POETRY_VIRTUALENVS_IN_PROJECT": "1",
            "POETRY_CACHE_DIR": str(self.folder / "cache"),
            "POETRY_NO_INTERACTION": "1",
        }
        self.call(self.tools("poetry"), "lock", **keep)
        return self.call(self.tools("poetry"), "sync", **keep)


class Pdm(Project):
    def text(self, names, hook):
        names = [*names, f"{self.hook} @ file:///${{PROJECT_ROOT}}/patches"] if hook else names
        return (
            f'[project]\nname = "app"\nversion = "1"\nrequires-python = "{PYTHON}"\n'
            f"dependencies = [{self.dependencies(names)}]\n[tool.pdm]\ndistribution = false\n"
            f'[[tool.pdm.source]]\nname = "pypi"\nurl = "{self.url}"\nverify_ssl = false\n'
        )

    def sync(self):
        keep = {"PDM_CACHE_DIR": str(self.folder / "cache"), "PDM_CHECK_UPDATE": "0"}
        self.call(self.tools("pdm"), "lock", **keep)
        return self.call(self.tools("pdm"), "sync", "--clean", **keep)


class Hatch(Project):
    def text(self, names, hook):
        names = [*names, f"{self.hook} @ {{root:uri}}/patches"] if hook else names
        return (
            '[project]\nname = "app"\nversion = "1"\n[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            f'[tool.hatch.envs.default]\nskip-install = true\npath = ".venv"\ndependencies = [{self.dependencies(names)}]\n'
        )

    def sync(self):
        return self.hatch("run", "python", "-c", "pass")

    def forget(self):
        """It compares names alone, and uninstalls nothing: the environment is made anew."""
        self.hatch("env", "remove", "default")

    def hatch(self, *words):
        keep = {"HATCH_DATA_DIR": str(self.folder / "data"), "HATCH_CACHE_DIR": str(self.folder / "cache")}
        return self.call(self.tools("hatch"), *words, **keep)


TOOLS = {"uv sync": UvSync, "poetry": Poetry, "pdm": Pdm, "hatch": Hatch}
EACH = [pytest.param(name, marks=[] if name == "uv sync" else long) for name in TOOLS]
