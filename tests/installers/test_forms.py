"""A prebuilt hook under strict installers, the switches of the interpreter, other interpreters."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command import UV
from tests.hooks import packed
from tests.installers.world import (
    NAME,
    PATCH,
    PATCHED,
    STATE,
    STOCK,
    TOML,
    Env,
    assert_settled,
    call,
    hooks,
    needs,
    of_session,
    sources,
)

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
STRICT = {
    "pip": ["--require-hashes", "--only-binary", ":all:"],
    "uv": ["--require-hashes", "--no-build", "--no-deps"],  # uv asks for a hash of what is installed, too
}


@pytest.mark.parametrize("installer", STRICT)
def test_the_prebuilt_wheel_is_installed_by_its_hash_and_never_built(project, index, installer):
    project.init_hook()
    (data, _) = index.projects["orchard"]["orchard-1.0-py3-none-any.whl"]
    target = f"orchard==1.0 --hash=sha256:{hashlib.sha256(data).hexdigest()}"
    line = project.wheel()
    install = getattr(project.env, installer)
    project.env.uv("install", "sitepatch")  # else each package that it needs has a line and a hash here, too
    wrong_line = line[:-8] + "0" * 8
    project.requirements(target, wrong_line)
    refused = install("install", *STRICT[installer], "-r", "requirements.txt", cwd=project.folder, code=None)
    assert refused.code != 0
    assert hooks(project.env) == []
    project.requirements(target, line)
    install("install", *STRICT[installer], "-r", "requirements.txt", cwd=project.folder)
    assert_settled(project, PATCHED)

    (project.folder / "patchsets" / NAME / "p.spatch").write_text(PATCH.replace("patched", "other"))
    project.init_hook()
    project.requirements(target, project.wheel())  # another version, because its content is another one
    install("install", *STRICT[installer], "-r", "requirements.txt", cwd=project.folder)
    assert_settled(project, "2 other")


def test_a_reinstall_with_an_older_mtime_is_seen(hooked):
    assert hooked.env.state() == PATCHED
    hooked.reinstall("1.0")
    for path in [*hooked.env.site.glob("orchard/*.py"), *hooked.env.site.glob("orchard-*/RECORD")]:
        data = path.read_bytes()
        path.unlink()  # a link into uv's cache
        path.write_bytes(data)
        os.utime(path, (1_500_000_000, 1_500_000_000))
    assert_settled(hooked, PATCHED)


@pytest.mark.parametrize("flag", ["-I", "-E", "-O", "-s"])
def test_the_hook_runs_with_the_switches_that_isolate(hooked, flag):
    assert hooked.env.state(flag) == PATCHED


def test_without_site_nothing_is_run_and_nothing_written(hooked):
    before = hooked.env.tree()
    code = f"import sys; sys.dont_write_bytecode = True; sys.path.append({str(hooked.env.site)!r}); {STATE}"
    assert hooked.env.start(code, "-S").out == STOCK
    assert hooked.env.tree() == before


def interpreter_with_pip(version):
    """An interpreter of this version, of pyenv or on the path; the test is skipped if there is none."""
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    on_the_path = shutil.which(f"python{version}")
    for python in [*map(str, pyenv), on_the_path]:
        if python and subprocess.run([python, "-c", "import venv, ensurepip"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip(f"there is no Python {version} here")


@pytest.mark.parametrize("version", ["3.8", "3.13", "3.14", "3.15"])
def test_one_wheel_works_for_every_interpreter(hooked, version):
    python = interpreter_with_pip(version)
    env = hooked.env = Env(hooked.folder / "other", hooked.variables, python=python)
    libraries = [python, "-m", "pip", "--python", env.python, "install", "-q", "--only-binary", ":all:", *needs()]
    call(*libraries, cwd=hooked.folder, **of_session("PIP_"))  # the index of the tests has those for this interpreter
    env.uv("install", "orchard==1.0", "sitepatch")
    without_hook = sources(env)
    env.uv("install", *hooked.wheels())
    assert_settled(hooked, PATCHED)
    hooked.reinstall("1.1")
    assert_settled(hooked, PATCHED)
    hooked.reinstall("1.0")
    env.uv("uninstall", *hooks(env))
    assert {path.replace("orchard-1.1", "orchard-1.0") for path in sources(env)} == without_hook
    assert env.state() == STOCK


def another_hook(project, name, patchset, text, version="1"):
    """Install a second hook, which keeps this patchset applied."""
    folder = project.folder / "patchsets" / patchset
    folder.mkdir(exist_ok=True)
    (folder / "patchset.toml").write_text((TOML % version).replace(NAME, patchset))
    (folder / "p.spatch").write_text(text)
    project.sitepatch("hook", "init", name, patchset, "--name", f"sitepatch-hook-{name}")
    project.env.uv("install", packed(project.folder / name, project.folder / f"{name}-wheels"))


def test_two_hooks_patch_one_file(hooked):
    another_hook(hooked, "second", "other", 'Why.\n\n--- orchard/trees.py\n@@ old @@\n-return "old"\n+return "new"\n')
    assert hooked.env.state() == PATCHED
    assert_settled(hooked, PATCHED)
    assert hooked.env.start("from orchard.trees import old; print(old())").out == "new\n"


def test_two_hooks_that_want_a_patchset_otherwise_do_not_fight(hooked):
    """The first by name has its way; the other one says so once, and takes over when the first one is gone."""
    env = hooked.env
    another_hook(hooked, "second", NAME, PATCH.replace("patched", "other"), version="2")
    (first,) = (name for name in hooks(env) if not name.endswith("second"))
    ended = env.start()
    assert ended.out == PATCHED
    assert ended.err.count("applied") == 2  # the first one did it, and the second one names it
    assert_settled(hooked, PATCHED)
    hooked.reinstall("1.1")
    assert_settled(hooked, PATCHED)
    env.uv("uninstall", first)
    assert env.state() == "2 other"
    assert_settled(hooked, "2 other")
