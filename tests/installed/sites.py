"""Site directories as installers leave them, and interpreters that search them."""

import subprocess
import sys
from pathlib import Path

from patcher.installed.interpreter import Environment, discover
from tests.records import row

DEMO = {"demo/__init__.py": "x = 1\n", "demo/runner.py": "y = 2\n"}


def make_venv(path: Path, *options: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, str(path)], check=True)
    return path


def site_of(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def install(site: Path, files: dict, name: str = "demo", version: str = "1.0", record: bool = True) -> Path:
    """What an installer leaves: the files, METADATA, and a RECORD with their hashes."""
    rows = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        rows.append(row(path, text.encode()))
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 9 in prose\n")
    if record:
        (info / "RECORD").write_text("".join(rows) + f"{info.name}/RECORD,,\n")
    return info


def directory(site: Path) -> Environment:
    return discover(None, str(site))


def searching(*places: Path, sites: tuple = ()) -> Environment:
    """An interpreter that searches these directories; the last one is its site directory unless told otherwise."""
    names = tuple(map(str, places))
    return Environment(sys.executable, tuple(map(str, sites)) or names[-1:], ("/nowhere", *names), sys.version_info[:2])
