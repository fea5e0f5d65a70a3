"""The hook on the real MMEngine, from the real index."""

import sys

import pytest

from tests.installers.test_life import hooks
from tests.installers.world import UV, Env, call, of_session

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
NAME = "mmengine-ddp-debug"
FILES = ["mmengine/runner/runner.py", "mmengine/dist/utils.py", "mmengine/_strategy/distributed.py"]


def texts(env):
    return {path: (env.site / path).read_bytes() for path in FILES if (env.site / path).exists()}


def test_the_hook_makes_of_mmengine_what_apply_makes_of_it(project):
    env, other = project.env, Env(project.folder / "other", project.variables)
    for each in (env, other):
        pip = [sys.executable, "-m", "pip", "--python", each.python, "install", "-q", "--no-deps", "mmengine==0.10.7"]
        call(*pip, cwd=project.folder, **of_session("PIP_"))
    stock = texts(env)
    assert len(stock) == len(FILES)
    project.sitepatch("hook", "init", "patches", NAME, "--set", "params=7", "--python", env.python)
    project.wheel()
    env.uv("install", *project.wheels())
    assert "7 files" in env.start("pass").err
    assert env.start("pass").err == ""
    project.sitepatch("apply", NAME, "--set", "params=7", "--verify", "none", "--python", other.python)
    assert texts(env) == texts(other) != stock
    project.sitepatch("status", "--check", "--python", env.python)

    env.uv("uninstall", *hooks(env))
    project.sitepatch("restore", "--python", env.python)
    assert texts(env) == stock
