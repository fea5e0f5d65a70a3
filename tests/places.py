"""What the tests of real environments share: a wheel, patchsets of one line, ways to install, a base interpreter of our own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from tests.command import environ, sitepatch, tree
from tests.records import with_record, write_patchset

FILES = {"demo/__init__.py": "", "demo/m.py": "VALUE = 1\n", "demo/n.py": "VALUE = 1\n"}
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def wheel(folder, name="demo", version="1.0", files=FILES, needs=()):
    """A pure wheel, written by hand: building one needs a backend, which needs a network."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for path_inside, data in with_record(name, version, files, needs).items():
            archive.writestr(path_inside, data)
    return path


def patchset(folder, path="demo/m.py", new=2, name="two", version="1"):
    """A patchset of one line: `VALUE = 1` becomes another value, of the same length."""
    spatch = f"Why.\n\n--- {path}\n@@ <module> @@\n-VALUE = 1\n+VALUE = {new}\n"
    return write_patchset(folder / "mine", name, spatch, path.split("/")[0].replace(".py", ""), version=version)


def command(folder, *words, **more):
    """The real command with the patchsets of `folder`, in which bytecode is written as usual."""
    options = [] if words[0] == "restore" else ["--patch-dir", folder / "mine"]
    return sitepatch(*words, *options, cwd=folder, **{"PYTHONDONTWRITEBYTECODE": "", **more})


def value(python, module="demo.m", **more):
    """What the module's VALUE is when the interpreter imports it; bytecode is written unless `more` says otherwise."""
    code = f"import sys, {module} as m; sys.stdout.write(str(m.VALUE))"
    variables = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "", **more}
    completed = subprocess.run([str(python), "-c", code], env=environ(**variables), stdout=subprocess.PIPE, check=True, timeout=60)
    return int(completed.stdout)


def venv(path, *options, python=sys.executable):
    """A virtual environment without pip; returns its interpreter and its site directory."""
    subprocess.run([str(python), "-m", "venv", "--without-pip", *options, str(path)], check=True)
    (site,) = path.glob("lib/python3*/site-packages")
    return path / "bin" / "python", site


def sources(folder):
    """As `tree`, without bytecode and the directories that hold nothing else."""
    return {path: what for path, what in tree(folder).items() if not path.endswith(".pyc") and "__pycache__" not in path}


def inodes(folder):
    """Inode and number of hard links of each file."""
    stats = {path.relative_to(folder).as_posix(): path.lstat() for path in Path(folder).rglob("*") if path.suffix != ".pyc"}
    return {path: (stat.st_ino, stat.st_nlink) for path, stat in stats.items()}


def base(folder):
    """A base installation of our own: a copy of the running interpreter, its library as links, an empty site-packages.

    An interpreter finds its prefix from where its executable lies, so nothing outside `folder` is of this installation.
    """
    library = folder / "lib" / VERSION
    (folder / "bin").mkdir(parents=True)
    library.mkdir(parents=True)
    for each in Path(sysconfig.get_path("stdlib")).iterdir():
        if each.name not in ("site-packages", "dist-packages"):
            (library / each.name).symlink_to(each)
    python = folder / "bin" / VERSION
    shutil.copy(os.path.realpath(sys.executable), str(python))
    (folder / "bin" / "python").symlink_to(VERSION)
    code = "import site, sys; print(sys.base_prefix); print(site.getsitepackages()[0])"  # Debian's has another name
    prefix, site = subprocess.run([str(python), "-c", code], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert Path(prefix) == folder, "the copy would use the real installation"
    Path(site).mkdir(parents=True)
    return python, Path(site)
