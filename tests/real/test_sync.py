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
        if words[0] == "sync":
            words += ["-r", self.folder / "requirements.txt"]
        ended = run([sys.executable, "-m", "patcher", *words], cwd=COMMAND_ROOT)
        assert ended.code == code, ended
        return ended.out

    def texts(self):
        return {path: path.read_bytes() for path in self.site.rglob("mmengine/**/*.py")}

    def mtimes(self):
        return {path: path.stat().st_mtime_ns for path in self.site.rglob("mmengine/**/*.py")}

    def applied(self):
        """What `status` says is applied: (version of the package, patchset, its option params)."""
        command = [sys.executable, "-m", "patcher", "status", "--json", "--python", self.python]
        applied = set()
        for file in json.loads(run(command, cwd=COMMAND_ROOT).out)["files"]:
            for patchset in file["patchsets"]:
                applied.add((file["version"], patchset["name"], patchset["options"]["params"]))
        return applied


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_project_stays_patched_through_reinstalls_and_another_release(project):
    project.install()
    shipped = project.texts()
    out = project("sync")
    assert f"applied  {DDP}: 7 files" in out
    assert "torch-musa-guard is optional and left out: torch is not installed" in out
    patched, mtimes = project.texts(), project.mtimes()
    assert sum(patched[path] != shipped[path] for path in shipped) == 7
    assert f"{DDP}: nothing to do, it is applied already" in project("sync")
    assert (project.texts(), project.mtimes()) == (patched, mtimes)

    project.install("--force-reinstall")
    assert project.texts() == shipped
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert project.texts() == patched

    project.wants("0.10.6")
    project.install()
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert project.applied() == {("0.10.6", DDP, 10)}

    project.wants("0.10.7")
    project.install()
    assert f"applied  {DDP}: 7 files" in project("sync")
    assert project.texts() == patched

    project.pip("uninstall", "-y", "mmengine")
    assert "mmengine is not installed" in project("sync", code=1)
    (project.folder / "base.txt").write_text(f"# sitepatch: {DDP} optional\n")
    (project.folder / "requirements.txt").write_text("-r base.txt\n")
    assert f"forgotten  {DDP}: 7 files" in project("sync")
    assert not (project.site / ".sitepatch").exists()
    assert not (project.site / "mmengine").exists()
