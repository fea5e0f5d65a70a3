"""The index that all tests of installers share, and the tools, each made once and kept."""

import fcntl
import hashlib
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.index import Index
from tests.installers import world

REQUIRED = {"pdm": "pdm[locked]"}  # the newest of what it asks for does not always work with it
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="session")
def kept(request):
    """A folder that outlives the session: SITEPATCH_TEST_CACHE, else pytest's cache."""
    chosen = os.environ.get("SITEPATCH_TEST_CACHE")
    path = Path(chosen).absolute() if chosen else Path(request.config.cache.mkdir("sitepatch-real"))
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def made_once(path, make):
    """`path`, made by `make(path)` where it is not there; one process at a time."""
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path / "complete").exists():
            world.emptied(path)
            make(path)
            (path / "complete").touch()
    yield path


def download(folder):
    """What sitepatch needs, for the interpreter of this session."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", folder, *world.needs()]
    world.call(*pip, cwd=folder, **world.of_session("PIP_"))


@pytest.fixture(scope="session")
def index(kept, tmp_path_factory):
    """An index on localhost: sitepatch from this checkout, what it needs, and the releases of the two packages."""
    key = hashlib.sha256(repr(world.needs()).encode()).hexdigest()[:12]
    with made_once(kept / f"installers-needs-{VERSION}-{key}", download) as needs:
        served = Index()
        world.fill(served, world.wheel_of_sitepatch(tmp_path_factory.mktemp("sitepatch")), needs)
    yield served
    served.close()


@pytest.fixture(scope="session")
def tools(kept):
    """`tools(name)` is the command of a real tool, from the session's index, in an environment of its own that is kept."""

    def tool(name):
        def make(path):
            world.call(sys.executable, "-m", "venv", path, cwd=path.parent)
            pip = [path / "bin/python", "-m", "pip", "install", "-q", "--upgrade", REQUIRED.get(name, name)]
            world.call(*pip, cwd=path, limit=1200, **world.of_session("PIP_"))

        with made_once(kept / f"installers-{name}-{VERSION}", make) as path:
            return path / "bin" / name

    return tool


@pytest.fixture
def project(index, tmp_path):
    """A project with an empty environment and no hook yet."""
    return world.Project(tmp_path, world.variables(index, tmp_path / "home"))


@pytest.fixture(scope="session")
def prepared(index, tmp_path_factory):
    """A folder with the directory of a hook and its wheel: made once, copied for each test."""
    template = world.Project(tmp_path_factory.mktemp("prepared"), world.variables(index, tmp_path_factory.mktemp("home")))
    template.init_hook()
    template.wheel()
    return template.folder


@pytest.fixture
def hooked(project, prepared):
    """A project in whose environment are a package, the hook and sitepatch, which it requires; nothing was started."""
    for name in ("patches", "wheels"):
        shutil.copytree(prepared / name, project.folder / name)
    project.env.uv("install", "orchard==1.0", *project.wheels())
    return project
