"""Keeps patches applied: at every start of Python, compares files with their recorded state.

If something differs, it runs sitepatch. Made by `sitepatch hook`. Imports os and sys only;
SITEPATCH_HOOK=off in the environment switches it off.
"""

import os
import sys

NAME = "@NAME@"
ID = "@ID@"
MODE = "@MODE@"
MODES = ("repair", "warn", "strict")
HERE = os.path.dirname(os.path.abspath(__file__))
CHILD = """
import sys
name, here, mode = sys.argv[1:]
sys.path.append(here.rpartition("/")[0])
try:
    from patcher.verbs.hook_start import main
except Exception as error:
    sys.exit(
        f"sitepatch-hook: {name}: sitepatch, which it needs, cannot be run ({error}); "
        "install it: pip install sitepatch"
    )
sys.exit(main(here, mode))
"""
_ran = False


def start() -> None:
    """See to the files; called by the .pth or the .start file.

    A venv of Python 3.8 to 3.13 calls it twice: the second time it does nothing.
    """
    global _ran
    mode = os.environ.get("SITEPATCH_HOOK") or MODE
    if _ran or mode == "off":
        return
    _ran = True
    is_good = False
    try:
        if mode not in MODES:
            modes = ", ".join(MODES)
            write_stderr(
                f"SITEPATCH_HOOK: found {mode!r}, expected {modes} or off; the mode is {MODE}"
            )
            mode = MODE
        reasons = recorded_problems(HERE, ID, mode)
        is_good = run_child(mode) if reasons is None else not reasons
        if reasons and mode != "repair":
            write_stderr("; ".join(reasons))
    except Exception as error:  # whatever it is, the program starts
        write_stderr(f"{NAME} could not look at its files: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        # raised here, it would be reported as a fatal error of the interpreter
        os._exit(130)
    if mode == "strict" and not is_good:
        write_stderr(
            f"{NAME} is strict: the program is not started "
            "(SITEPATCH_HOOK=off starts it, to mend this)"
        )
        os._exit(1)  # SystemExit would be reported as a fatal error of the interpreter


def write_stderr(message: str) -> None:
    """Write a line to stderr, if there is one that can be written; raises nothing.

    sys.stderr is not used: it would buffer what it could not write, and the program would end with
    exit code 120.
    """
    if sys.stderr is not None:
        try:  # noqa: SIM105  (a start does without contextlib)
            os.write(2, f"sitepatch-hook: {message}\n".encode("utf-8", "backslashreplace"))
        except OSError:  # a full device, a pipe without a reader
            pass


def recorded_problems(
    folder: str, version: str, mode: str, *, aloud: bool = False
) -> "list[str] | None":
    """Return why files are not as requested, [] if they are; None if only sitepatch can tell.

    Args:
        folder: the folder of the hook, in its site directory.
        version: the version of the hook; the state of another one does not count.
        mode: the mode of the hook; for `warn` it is enough that sitepatch has looked at the files,
            for others it must have tried to repair them.
        aloud: whether to report a damaged state file.
    """
    try:
        # a FIFO in its place is not waited for
        fd = os.open(folder + "/state", os.O_RDONLY | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            state = (file.read() or b"").decode("utf-8", "surrogateescape")
        return state_problems(state, os.path.dirname(folder), version, mode == "warn")
    except OSError:
        return None
    except ValueError as error:
        if aloud:
            write_stderr(f"{folder}/state: is damaged ({error}); looking at every file again")
        return None


def state_problems(state: str, site: str, version: str, only_warns: bool) -> "list[str] | None":
    """Compare the text of a state file with the files of the site directory that it names.

    It returns what `recorded_problems` does; `only_warns` is whether the mode is `warn`.

    Raises:
        ValueError: it is no state file, or names a file outside the site directory.
    """
    if not state:
        return None
    head, *lines = state.split("\n")
    if not head.startswith("sitepatch-hook 1 ") or lines[-2:] != ["end", ""]:
        raise ValueError("its first or its last line is another one")
    reasons = []
    is_same = True
    opened: set[str] = set()
    for line in lines[:-2]:
        if line[:2] == ": ":
            reasons.append(line[2:])
            continue
        mark, recorded, path = line.split(" ", 2)
        if mark != "=" or path[:1] in ("", "/") or "/../" in f"/{path}/" or "\0" in path:
            raise ValueError(f"it has the line {line!r}")
        if is_same:
            is_same = signature(site + "/" + path, opened) == recorded
    endings = head.split(" ")[2:]
    if not is_same or endings[:1] != [version]:
        return None
    if reasons and endings[1:] == ["looked"] and not only_warns:
        return None
    return reasons


def signature(path: str, opened: "set[str] | None" = None) -> str:
    """Return what is compared of a file: "MTIME:SIZE", or "absent".

    The mtime is in whole seconds: image layers store no more of it.

    Args:
        path: the path of the file.
        opened: directories that need not be opened again; that of the file is added.
    """
    folder = path.rpartition("/")[0]  # os.path.dirname would take as long as all the rest
    if opened is None or folder not in opened:
        try:  # noqa: SIM105  (a start does without contextlib)
            # NFS: see `look_again` of patcher.system.reading
            os.close(os.open(folder, os.O_RDONLY))
        except OSError:
            pass
        if opened is not None:
            opened.add(folder)
    try:
        info = os.stat(path)
    except OSError:
        return "absent"
    return f"{info[8]}:{info[6]}"


def run_child(mode: str) -> bool:
    """Run sitepatch for the files, in a process of its own, which reports what it finds.

    Returns:
        whether all files are as requested.
    """
    python = find_python()
    if not python:
        write_stderr(
            f"{NAME}: found no Python to run; start the one of this environment once: {sys.prefix}"
        )
        return False
    streams = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if sys.stderr is None:
        streams.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    words = [python, "-I"]
    if sys.dont_write_bytecode:
        words.append("-B")
    words += ["-c", CHILD, NAME, HERE, mode]
    guard = dict(os.environ, SITEPATCH_HOOK="off")  # for every Python that the child starts
    child = os.posix_spawn(
        python, words, guard, file_actions=[*streams, (os.POSIX_SPAWN_DUP2, 2, 1)]
    )
    try:
        status = os.waitpid(child, 0)[1]
    except ChildProcessError:  # SIGCHLD is ignored in this program, so the exit status is lost
        return recorded_problems(HERE, ID, mode) == []
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        write_stderr(f"{NAME}: the process that looks at its files was ended by signal {number}")
    return status == 0


def find_python() -> str:
    """Return the path of the Python of this environment; empty if there is none that can be run."""
    names = [f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3", "python"]
    candidates = [sys.executable or ""]
    for name in names:
        candidates.append(os.path.join(sys.prefix, "bin", name))
    for python in candidates:
        # sys.executable of a program that embeds Python is that program
        if os.path.basename(python).startswith(("python", "pypy")) and os.access(python, os.X_OK):
            return python
    return ""
