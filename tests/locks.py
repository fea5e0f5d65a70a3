"""Others who hold the lock of a site directory, as the tests of several rooms need them."""

import contextlib
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import environ

told = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the kernel does not tell who holds a lock")
_HOLD = """
import sys
from patcher.store.folder import Folder
from patcher.store.lock import locked
with Folder.open(sys.argv[1]) as site, locked(site):
    print("held", flush=True)
    sys.stdin.read()
"""

_HOLD_FILE = """
import fcntl, sys
with open(sys.argv[1], "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


def held(site):
    """Another process that holds the lock of a site directory."""
    return _holder(_HOLD, site)


def held_file(path):
    """Another process that holds the lock of a file, as uv does; it has started no command of ours."""
    return _holder(_HOLD_FILE, path)


@contextlib.contextmanager
def _holder(code, path):
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env=environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        yield holder
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


@contextlib.contextmanager
def held_open(path):
    """Hold the lock of a file as another process would: by a descriptor of its own."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
