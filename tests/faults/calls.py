"""Every call that changes files, as a place to stop, to fail or to look: the layer under the fault tests.

It replaces the functions of `os`, and the renames that Python does not know, in a forked child, so that a point costs a fork
and not the start of an interpreter.
That no system call goes by it is proven against strace in test_system_calls.py.
"""

import errno
import gc
import os
import signal
import sys
import tempfile
import traceback
from typing import NamedTuple

from patcher.system import exchange

NAMES = [
    "open", "write", "replace", "rename", "unlink", "remove", "fsync", "fdatasync", "mkdir", "rmdir", "utime", "chmod", "fchmod",
    "chown", "fchown", "symlink", "link", "setxattr", "removexattr", "truncate", "ftruncate", "posix_fallocate", "mknod", "mkfifo",
]  # fmt: skip
RENAMES = ("exchange", "rename_to_free")  # those of patcher/system/exchange.py
NO_SPACE = {"full": "ENOSPC", "quota": "EDQUOT"}
NEED_SPACE = ("open", "write", "mkdir", "symlink", "link", "setxattr")
ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EINTR", "EDQUOT")
_CRASH = 70  # the exit status of an exception that nothing expects


class Ended(NamedTuple):
    """How a child ended: exit code, or minus the signal; what it wrote; how many calls it had begun."""

    code: int
    text: str
    count: int


def watch(hook):
    """From now on `hook(name, real, args, kwargs)` is asked instead of each call that changes files."""
    for name in NAMES:
        if hasattr(os, name):
            setattr(os, name, _watched(name, getattr(os, name), hook))
    for name in RENAMES:
        setattr(exchange, name, _watched(name, getattr(exchange, name), hook))


def _watched(name, real, hook):
    def call(*args, **kwargs):
        if name == "open" and not args[1] & os.O_CREAT:
            return real(*args, **kwargs)
        return hook(name, _no_wait if name in ("fsync", "fdatasync") else real, args, kwargs)

    return call


def _no_wait(fd):
    """Nothing loses power in these tests (test_power_cuts.py is about that), and waiting for the disk is slow."""


def fault(point, how, counted=None):
    """A hook with a fault at the `point`-th call (from 1; 0: none).

    `how` is "before" or "after" (SIGKILL there), "torn" (SIGKILL half-way through a write; counts writes alone), "short"
    (that write takes only half of its bytes), a name of ERRORS (the call fails so), "full" or "quota" (it and all after it
    that need space fail), "broken" (it and all after it fail: the kernel has made the filesystem read-only), "SIGINT" or "SIGTERM" (sent to the process just before the call).
    """
    counted = [0] if counted is None else counted

    def hook(name, real, args, kwargs):
        if how in ("torn", "short") and name != "write":
            return real(*args, **kwargs)

        counted[0] += 1
        from_here_on = point and counted[0] >= point
        if from_here_on and how == "broken":
            raise _failure("EROFS")
        if from_here_on and how in NO_SPACE and name in NEED_SPACE:
            raise _failure(NO_SPACE[how])

        if counted[0] != point:
            return real(*args, **kwargs)
        if how in ERRORS:
            raise _failure(how)
        if how in ("SIGINT", "SIGTERM"):
            _send(getattr(signal, how))
        if how == "before":
            _send(signal.SIGKILL)
        if how in ("torn", "short"):
            fd, data = args
            size = real(fd, bytes(data)[: (len(data) + 1) // 2])
            if how == "torn":
                _send(signal.SIGKILL)
            return size
        try:
            return real(*args, **kwargs)
        finally:
            if how == "after":
                _send(signal.SIGKILL)

    return hook


def _send(number):
    os.kill(os.getpid(), number)


def first_of_several(point, token):
    """A hook by which the first of several processes that begins its `point`-th call (from 1) dies of SIGKILL there.

    `token` is the reading end of a pipe that all of them have: with one byte in it, and no writing end any more.
    """
    begun = 0

    def hook(name, real, args, kwargs):
        nonlocal begun
        begun += 1
        if begun == point and os.read(token, 1):
            _send(signal.SIGKILL)
        return real(*args, **kwargs)

    return hook


def _failure(name):
    number = getattr(errno, name)
    return OSError(number, f"{os.strerror(number)} (injected)")


def in_child(action, point=0, how="none"):
    """Run `action` in a child with that fault; its return value, or that of SystemExit, is the exit code."""
    with tempfile.TemporaryFile() as output:
        reader, writer = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _child(action, point, how, output.fileno(), writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            count = int(pipe.read() or b"0")
        status = os.waitpid(child, 0)[1]
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    assert code != _CRASH, text
    return Ended(code, text, count)


def _child(action, point, how, output, writer):
    code = _CRASH
    write = os.write  # before it is watched
    counted = [0]
    try:
        gc.disable()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        sys.dont_write_bytecode = True  # where sitepatch is installed, pytest's import hook writes bytecode of it, and that is no call of ours
        watch(fault(point, how, counted))
        try:
            code = action() or 0
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        write(writer, b"%d" % counted[0])
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)
