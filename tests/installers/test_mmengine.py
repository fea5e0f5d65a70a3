"""The hook on the real MMEngine, from the real index."""

import sys

import pytest

from tests.command import UV
from tests.installers.world import Env, call, hooks, of_session

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
NAME = "mmengine-ddp-debug"
FILES = ["mmengine/runner/runner.py", "mmengine/dist/utils.py", "mmengine/_strategy/distributed.py"]


def texts(env):
    return {path: (env.site / path).read_bytes() for path in FILES if (env.site / path).exists()}


def install(project, env, release):
    """By the real pip, from the real index."""
    pip = [sys.executable, "-m", "pip", "--python", env.python, "install", "-q", "--no-deps", f"mmengine=={release}"]
    call(*pip, cwd=project.folder, **of_session("PIP_"))


def test_a_hook_follows_an_upgrade_and_a_downgrade_and_makes_what_apply_makes(project):
    """Made once, where nothing is installed; each release becomes what `apply` makes of it, by itself."""
    project.sitepatch("hook", "init", "patches", NAME, "--set", "params=7")
    project.wheel()
    env, other = project.env, Env(project.folder / "other", project.variables)
    env.uv("install", *project.wheels())  # and sitepatch, which it requires
    for release in ("0.10.7", "0.10.4", "0.9.1", "0.10.7"):
        install(project, env, release)
        install(project, other, release)
        stock = texts(other)
        notice = env.start("pass").err
        assert f"applied {NAME} to " in notice and notice.count("\n") == 1
        assert env.start("pass").err == ""
        project.sitepatch("apply", NAME, "--set", "params=7", "--verify", "none", "--python", other.python)
        assert texts(env) == texts(other) != stock
        project.sitepatch("status", "--check", "--python", env.python)
    env.uv("uninstall", *hooks(env))
    project.sitepatch("restore", "--python", env.python)
    assert texts(env) == stock
