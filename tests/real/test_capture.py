"""The whole way of an edit: MMEngine's runner.py as the README's users edited it, with real pip."""

import shutil
import subprocess
import sys

import pytest
from conftest import run

from tests.command import ROOT

pytestmark = pytest.mark.real

RUNNER = "mmengine/runner/runner.py"
BELOW = "            # Sets the `find_unused_parameters` parameter in\n"
DEBUG = """\
            for name, param in list(model.named_parameters())[:5]:
                print(f"[rank {os.environ.get('RANK')}] {name}: {param.device}", flush=True)
"""


class User:
    """A virtual environment with MMEngine, installed by pip, and a project beside it."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self.python = folder / "venv" / "bin" / "python"
        (site,) = folder.glob("venv/lib/python3*/site-packages")
        self.runner = site / RUNNER
        (folder / "pyproject.toml").write_text('[tool.sitepatch]\npatchsets = ["runner-debug"]\n')

    def install(self, version):
        ended = run([self.python, "-m", "pip", "install", "--no-deps", f"mmengine=={version}"], cwd=self.folder)
        assert ended.code == 0, ended

    def __call__(self, *words, code=0):
        command = [sys.executable, "-m", "patcher", *words, "--python", self.python]
        ended = run(command, cwd=self.folder, PYTHONPATH=str(ROOT), SITEPATCH_CACHE=str(self.folder / "cache"))
        assert ended.code == code, ended
        return ended.out


def test_an_edit_of_the_runner_is_captured_and_outlives_another_release(tmp_path):
    user = User(tmp_path)
    user.install("0.10.7")
    shipped = user.runner.read_bytes()
    shutil.copy(user.runner, user.runner.with_name("runner.py.debug_backup"))
    text = shipped.decode()
    assert text.count(BELOW) == 1
    edited = text.replace(BELOW, DEBUG + BELOW).encode()
    user.runner.write_bytes(edited)

    output = user("capture", "mmengine", "--name", "runner-debug", "--also", "0.10.5", "--adopt", "--verify", "none")
    assert "runner.py.debug_backup beside it" in output
    assert "in patchsets/runner-debug, for mmengine >=0.10.5,<=0.10.7" in output
    assert user.runner.read_bytes() == edited
    assert "applied  runner-debug 1.0  mmengine 0.10.7  1 file" in user("status", "--check")

    user.install("0.10.5")
    older = user.runner.read_bytes()
    assert older not in (shipped, edited)
    assert "overwritten" in user("status", "--check", code=1)
    assert "applied  runner-debug: 1 file" in user("sync", "--verify", "none")
    assert user.runner.read_text() == older.decode().replace(BELOW, DEBUG + BELOW)
    user("status", "--check")
    user("restore")
    assert user.runner.read_bytes() == older
