"""The slow part of a start: one child process at a time checks the files of a hook.

Runs in the user's program, so it imports nothing of ours, not even `patcher.system.flock`: the copy in `lib` would be taken
for a sitepatch that is installed.
"""

import os
import sys

TYPE_CHECKING = False  # typing costs more than the rest
if TYPE_CHECKING:
    from typing import Callable

WAIT = 120  # seconds for another process that is checking the files
CHILD = """
import sys
here, mode = sys.argv[1:]
sys.path.insert(0, here + "/lib")
try:
    from patcher.hook.repair import main
except Exception as error:
    sys.exit(f"sitepatch-hook: {here}/lib: {type(error).__name__}: {error}; install the hook again")
sys.exit(main(here, mode))
"""


def recheck(
    here: str, name: str, mode: str, read: "Callable[..., list[str] | None]", report: "Callable[[str], None]"
) -> "tuple[list[str], bool]":
    """Let one child process check every file, however many processes start at once.

    Args:
        here: the directory of the hook.
        name: of the hook.
        mode: `repair`, `warn` or `strict`.
        read: reads the state, see the boot module.
        report: writes a line to stderr.

    Returns:
        why files are not as requested, [] where they are, and whether that was reported already.
    """
    reported = False
    lock = take_lock(f"{here}/lock")
    try:
        reasons = read(mode, aloud=True)  # another process may have checked them meanwhile
        if reasons is None:
            problem = run_child(here, mode)
            reasons = read(mode)
            if problem:
                report(f"{name}: {problem}")
            reported = reasons is None or mode != "warn"
            if reasons is None:
                reasons = [] if problem == "" else [f"{name} could not see to its files"]
    finally:
        if lock is not None:
            os.close(lock)
    return reasons, reported


def take_lock(path: str) -> "int | None":
    """Wait for the lock of this hook and return its descriptor; None where it cannot be had: the store has its own."""
    import fcntl
    import time

    try:
        opened = open_private(path)
        try:
            lock = fcntl.fcntl(opened, fcntl.F_DUPFD, 10)  # the child inherits it, and has it when this process is killed
        finally:
            os.close(opened)
    except OSError:
        return None
    end = time.monotonic() + WAIT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(lock)
                raise TimeoutError(f"another process has held {path} for {WAIT} seconds") from None
            time.sleep(0.02)
        except OSError:  # a file system without locks
            os.close(lock)
            return None


def open_private(path: str) -> int:
    """Open the lock file for reading and writing, so that no other user can lock it; returns the descriptor.

    Installers write it as a file that everybody may read, and whoever may read a file may lock it. Such a file is not
    waited for, but replaced by a private one. Of several processes that do so at once two may end up with different
    files; then the lock of the store keeps them apart.

    Raises:
        OSError: it belongs to somebody else, or cannot be made.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    opened = os.open(path, flags, 0o600)
    info = os.fstat(opened)
    if info.st_uid == os.geteuid() and not info.st_mode & 0o077:
        return opened
    os.close(opened)
    if info.st_uid != os.geteuid():
        raise PermissionError(path)
    os.unlink(path)
    return os.open(path, flags | os.O_EXCL, 0o600)


def run_child(here: str, mode: str) -> "str | None":
    """Run the child process; returns "" if all is as requested, None if it has reported what is not, else what went wrong."""
    python = interpreter()
    if not python:
        return f"found no Python to run; start the one of this environment once: {sys.prefix}"
    ends = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if sys.stderr is None:
        ends.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    words = [python, "-I", "-S", "-B", "-c", CHILD, here, mode]
    guard = dict(os.environ, SITEPATCH_HOOK="off")  # for every Python that the child starts
    child = os.posix_spawn(python, words, guard, file_actions=[*ends, (os.POSIX_SPAWN_DUP2, 2, 1)])
    try:
        status = os.waitpid(child, 0)[1]
    except ChildProcessError:  # SIGCHLD is ignored in this program, so the exit status is lost
        return None
    if os.WIFSIGNALED(status):
        return f"the process that looks at its files was ended by signal {os.WTERMSIG(status)}"
    return None if status else ""


def interpreter() -> str:
    """Return the path of this Python; where it is embedded in another program, of the one in its prefix; "" for none."""
    near = [f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3", "python"]
    for path in [sys.executable or "", *(os.path.join(sys.prefix, "bin", name) for name in near)]:
        if os.path.basename(path).startswith(("python", "pypy")) and os.access(path, os.X_OK):
            return path
    return ""
