"""Environments with a hook that are copied, moved, packed, or may not be written to."""

import ctypes
import os
import shutil
import subprocess

import pytest

from tests.command import tree
from tests.installers.world import PATCHED, STATE, STOCK, Env

pytestmark = [pytest.mark.real, pytest.mark.once]


def copied(project):
    subprocess.run(["cp", "-a", str(project.env.root), str(project.folder / "copy")], check=True)
    return project.folder / "copy"


def copied_with_new_mtimes(project):
    subprocess.run(["cp", "-r", str(project.env.root), str(project.folder / "copy")], check=True)
    return project.folder / "copy"


def moved(project):
    project.env.root.rename(project.folder / "moved")
    return project.folder / "moved"


def packed(project):
    """By tar with whole seconds, as the layers of an image have them."""
    archive = project.folder / "env.tar"
    subprocess.run(["tar", "--format=ustar", "-C", str(project.folder), "-cf", str(archive), "env"], check=True)
    shutil.rmtree(project.env.root)
    subprocess.run(["tar", "-C", str(project.folder), "-xf", str(archive)], check=True)
    return project.env.root


@pytest.mark.parametrize("carry", [copied, moved, packed])
def test_an_environment_that_was_carried_is_as_it_was_and_nothing_is_written(hooked, carry):
    assert hooked.env.state() == PATCHED
    hooked.env.state()
    there = Env(carry(hooked), hooked.variables, make=False)
    before = there.tree()
    assert there.state() == PATCHED
    assert there.tree() == before


def test_a_copy_with_new_mtimes_is_looked_at_once(hooked):
    assert hooked.env.state() == PATCHED
    there = Env(copied_with_new_mtimes(hooked), hooked.variables, make=False)
    assert there.state() == PATCHED
    there.state()
    before = there.tree()
    assert there.state() == PATCHED
    assert there.tree() == before


@pytest.mark.parametrize("carry", [copied, moved, packed])
def test_an_environment_that_was_carried_before_its_first_start_is_patched_there_alone(hooked, carry):
    there = Env(carry(hooked), hooked.variables, make=False)
    before = tree(hooked.env.root) if carry is copied else None
    assert there.state() == PATCHED
    assert before is None or tree(hooked.env.root) == before


def without_override():
    """In a child: root may not write where the mode forbids it."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def read_only(hooked):
    """`read_only()` takes every right to write below the environment; the function that starts it then, as one who has none."""
    folders = []

    def close():
        for path in (hooked.env.root, *hooked.env.root.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                folders.append((path, path.stat().st_mode))
                path.chmod(0o555)

        def start():
            line = [str(hooked.env.python), "-c", STATE]
            kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            return subprocess.run(line, preexec_fn=without_override, capture_output=True, text=True, env=kept)

        probe = ["sh", "-c", f"touch {hooked.env.site}/x 2>/dev/null"]
        if subprocess.run(probe, preexec_fn=without_override).returncode == 0:
            pytest.skip("modes do not keep this user from writing")
        return start

    yield close
    for path, mode in folders:
        path.chmod(mode)


def test_a_patched_environment_that_may_not_be_written_is_used_without_a_word(hooked, read_only):
    assert hooked.env.state() == PATCHED
    completed = read_only()()
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, PATCHED, "")


def test_an_unpatched_environment_that_may_not_be_written_is_reported_and_the_program_starts(hooked, read_only):
    start = read_only()
    before = hooked.env.tree()
    completed = start()
    assert (completed.returncode, completed.stdout) == (0, STOCK), completed
    assert str(hooked.env.site) in completed.stderr
    assert len(completed.stderr.splitlines()) <= 3, completed.stderr
    assert hooked.env.tree() == before
