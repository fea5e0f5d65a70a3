"""A project's requirements.txt and real pip: install, sync, reinstall, downgrade and uninstall of mmengine."""

import json
import subprocess
import sys

import pytest
from conftest import COMMAND_ROOT, run

pytestmark = pytest.mark.real

DDP = "mmengine-ddp-debug"


class Project:
    """A directory with requirements files and an environment made of them by pip."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self.python = folder / "venv" / "bin" / "python"
        (self.site,) = folder.glob("venv/lib/python3*/site-packages")
        (folder / "requirements.txt").write_text(f"-r base.txt\n# sitepatch: torch-musa-guard optional\n# sitepatch: {DDP} params=10\n")
        self.wants("0.10.7")

    def wants(self, version):
        (self.folder / "base.txt").write_text(f"mmengine=={version}  # sitepatch: {DDP}\n")

    def pip(self, *words):
        ended = run([self.python, "-m", "pip", "--disable-pip-version-check", *words], cwd=self.folder)
        assert ended.code == 0, ended

    def install(self, *words):
        self.pip("install", "--no-deps", "-r", "requirements.txt", *words)

    def __call__(self, *words, code=0):
        words = [*words, "--project", self.folder, "--python", self.python]
        ended = run([sys.executable, "-m", "patcher", *words, *self.asked(words)], cwd=COMMAND_ROOT)
        assert ended.code == code, ended
        return ended.out

    def asked(self, words):
        return ["-r", self.folder / "requirements.txt"] if words[0] == "sync" else []

    def files(self):
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.site.rglob("mmengine/**/*.py")}

    def standing(self):
        command = [sys.executable, "-m", "patcher", "status", "--json", "--python", self.python]
        told = json.loads(run(command, cwd=COMMAND_ROOT).out)
        return {(file["version"], step["name"], step["options"]["params"]) for file in told["files"] for step in file["patchsets"]}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_project_stays_patched_through_reinstalls_and_another_release(project):
    project.install()
    shipped = project.files()
    told = project("sync")
    assert f"applied  {DDP}: 7 files" in told
    assert "torch-musa-guard is optional and left out: torch is not installed" in told
    patched = project.files()
    assert sum(patched[path] != shipped[path] for path in shipped) == 7
    assert f"{DDP}: nothing to do, it is applied already" in project("sync")
    assert project.files() == patched

    project.install("--force-reinstall")
    assert all(project.files()[path][0] == shipped[path][0] for path in shipped)
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert {path: data for path, (data, _) in project.files().items()} == {path: data for path, (data, _) in patched.items()}

    project.wants("0.10.6")
    project.install()
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert project.standing() == {("0.10.6", DDP, 10)}

    project.wants("0.10.7")
    project.install()
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert {path: data for path, (data, _) in project.files().items()} == {path: data for path, (data, _) in patched.items()}

    project.pip("uninstall", "-y", "mmengine")
    assert "mmengine is not installed" in project("sync", code=1)
    (project.folder / "base.txt").write_text(f"# sitepatch: {DDP} optional\n")
    (project.folder / "requirements.txt").write_text("-r base.txt\n")
    assert f"forgotten  {DDP}: 7 files" in project("sync")
    assert not (project.site / ".sitepatch").exists()
    assert not (project.site / "mmengine").exists()
