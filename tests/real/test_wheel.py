"""What pip installs is whole: the wheel made from the sdist has the patchsets, and works in an environment of its own."""

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.real


def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "-o", str(tmp_path / "dist"), str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode("utf-8") for name in names if name.endswith(".dist-info/METADATA"))
    assert re.search("^## Documentation$", metadata, re.M) and not re.search(r"\]\((?!https:)|^<!--", metadata, re.M), "links that lead nowhere"
    for patchset in ("mmengine-ddp-debug", "torch-musa-guard", "torch-dynamo-suppress"):
        assert f"patcher/_patchsets/{patchset}/patchset.toml" in names
    assert {"patcher/patchset.schema.json", "patcher/answers.schema.json"} <= set(names)
    assert "ansible_collections/sitepatch/sitepatch/plugins/modules/patchset.py" in names, "ansible-core finds it there"
    assert not [name for name in names if name.endswith((".pth", ".start"))], "nothing of ours runs when Python starts"
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/patchsets/torch-musa-guard/patchset.toml") for name in archive.getnames())

    venv.create(tmp_path / "clean", with_pip=True)
    binary = tmp_path / "clean" / "bin"
    subprocess.run([str(binary / "python"), "-m", "pip", "install", "-q", str(wheel)], check=True)
    listed = subprocess.run([str(binary / "sitepatch"), "list", "--json"], check=True, stdout=subprocess.PIPE, cwd=str(tmp_path))
    assert b"mmengine-ddp-debug" in listed.stdout and b'"kind": "built in"' in listed.stdout
    shown = subprocess.run([str(binary / "sitepatch"), "demo"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(tmp_path))
    assert shown.returncode == 0, shown.stdout.decode()
    (site,) = (tmp_path / "clean/lib").glob("*/site-packages")
    assert (site / "ansible_collections/sitepatch/sitepatch/galaxy.yml").is_file()
    subprocess.run([str(binary / "python"), "-m", "pip", "uninstall", "-q", "-y", "sitepatch"], check=True)
    assert not [path for path in site.iterdir() if path.name.startswith(("ansible_collections", "patcher", "sitepatch"))]
