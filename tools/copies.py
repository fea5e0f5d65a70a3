"""Copies of the checkout, in each of which one process at a time runs tests."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import libcst  # noqa: F401  (the forked processes need not import these again)
import pytest

ROOT = Path(__file__).parents[1]
MEMORY = 8 << 30  # bytes that a process may map: a change may loop for ever
FAILED_TO_RUN = 70
OPTIONS = [
    *("-x", "-q", "--tb=no"),
    *("-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider"),
    *("-p", "no:unraisableexception"),
    *("-m", "not real"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
]


class Copy:
    """A copy of the checkout, in `root`; what its process prints is in `out`."""

    def __init__(self, folder):
        self.root = folder / "checkout"
        self.out = folder / "out"
        self.temporary = folder / "tmp"
        self.pid = 0
        self.until = 0.0
        self.writes = 0
        for name in tracked_files():
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)

    def write(self, module, source):
        """Put a text in place of a module, with an mtime of its own.

        Bytecode is known by mtime and size.
        """
        self.writes += 1
        (self.root / module).write_bytes(source)
        os.utime(self.root / module, (1_600_000_000 + self.writes,) * 2)

    def start(self, function, seconds):
        """Fork; the child runs `function` and ends with what it returns as exit code.

        Args:
            function: what it runs, without arguments.
            seconds: how long it may run.
        """
        self.until = time.monotonic() + seconds
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        code = FAILED_TO_RUN
        try:
            self._settle()
            code = int(function())
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _settle(self):
        """Make a forked process one of the copy."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        out = os.open(self.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for old, new in ((null, 0), (out, 1), (out, 2)):
            os.dup2(old, new)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(self.root)
        sys.path[0] = str(self.root)
        for name in list(sys.modules):
            if name.split(".")[0] in ("tests", "patcher"):
                del sys.modules[name]

    def ended(self):
        """The exit code, -1 if its time was up, None if it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and time.monotonic() < self.until:
            return None
        # also what a test that failed has left running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not pid:
            os.waitpid(self.pid, 0)
        self.pid = 0
        return os.WEXITSTATUS(status) if pid and os.WIFEXITED(status) else -1

    def pytest(self, *words, plugins=()):
        """Run tests in this process; returns the exit code."""
        options = [*OPTIONS, f"--basetemp={self.temporary}"]
        return pytest.main([*options, *words], plugins=list(plugins))


def tracked_files():
    """The files of the checkout, without those that git ignores."""
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return [name for name in done.stdout.decode().split("\0") if name]


def in_parallel(copies, jobs, start, done):
    """Do each job in a free copy.

    Args:
        copies: one process runs in each.
        jobs: what is to be done.
        start: called with a job and a copy, in which it starts a process.
        done: called with a job, its copy and the exit code.
    """
    waiting = list(reversed(jobs))
    running = {}
    try:
        while waiting or running:
            for copy in copies:
                if copy not in running and waiting:
                    running[copy] = waiting.pop()
                    start(running[copy], copy)
            time.sleep(0.02)
            for copy in list(running):
                code = copy.ended()
                if code is not None:
                    done(running.pop(copy), copy, code)
    finally:
        for copy in running:
            copy.until = 0.0
            copy.ended()
