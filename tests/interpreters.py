"""The CPython interpreters of this machine."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@functools.lru_cache(maxsize=None)
def interpreters():
    """The interpreter of each CPython version that can be found: the running one, those on the path, those of pyenv and of uv."""
    names = [f"python3.{minor}" for minor in range(6, 16)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local" / "share" / "uv" / "python"))
    candidates = [sys.executable, *filter(None, map(shutil.which, names))]
    for top, pattern in ((pyenv, "versions/3.*/bin/python"), (uv, "cpython-3.*/bin/python3")):
        if os.access(top, os.R_OK | os.X_OK):  # it may be another user's
            candidates += map(str, sorted(top.glob(pattern)))
    by_version = {}
    for candidate in candidates:
        words = [candidate, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        completed = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if completed.returncode == 0:  # what pyenv puts on the path may lead nowhere
            by_version.setdefault(tuple(map(int, completed.stdout.split(b"."))), candidate)
    return by_version


def interpreter(version):
    """The interpreter of that version; the test is skipped where there is none."""
    if version not in interpreters():
        pytest.skip("no Python {}.{} here".format(*version))
    return interpreters()[version]
