"""Keeps patches applied: compares the files with a state file at every start of Python; a child process does the rest.

Made by `sitepatch hook`. Imports os and sys only; SITEPATCH_HOOK=off in the environment switches it off.
"""

import os
import sys

NAME = "@NAME@"
ID = "@ID@"
MODE = "@MODE@"
MODES = ("repair", "warn", "strict")
HERE = os.path.dirname(os.path.abspath(__file__))
_ran = False


def start() -> None:
    """Called by the .pth or the .start file; twice in a virtual environment of Python 3.8 to 3.13."""
    global _ran
    mode = os.environ.get("SITEPATCH_HOOK") or MODE
    if _ran or mode == "off":
        return
    _ran, reported = True, False
    try:
        if mode not in MODES:
            write_stderr(f"SITEPATCH_HOOK: found {mode!r}, expected {', '.join(MODES)} or off; the mode is {MODE}")
            mode = MODE
        reasons = state_problems(mode)
        if reasons is None:
            module = __import__(f"{__name__}.recheck", fromlist=["recheck"])  # most starts can do without
            reasons, reported = module.recheck(HERE, NAME, mode, state_problems, write_stderr)
    except Exception as error:  # whatever it is, the program starts
        reasons, reported = [f"{type(error).__name__}: {error}"], True
        write_stderr(f"{NAME} could not look at its files: {reasons[0]}")
    except KeyboardInterrupt:  # raised here, it would be reported as a fatal error of the interpreter
        os._exit(130)
    if reasons and mode != "repair" and not reported:
        write_stderr("; ".join(reasons))
    if reasons and mode == "strict":
        write_stderr(f"{NAME} is strict: the program is not started (SITEPATCH_HOOK=off starts it, to mend this)")
        os._exit(1)  # SystemExit would be reported as a fatal error of the interpreter


def write_stderr(text: str) -> None:
    """Write a line to stderr, if there is one that can be written; raises nothing.

    sys.stderr is not used: it would buffer what it could not write, and the program would end with exit code 120.
    """
    if sys.stderr is not None:
        try:  # noqa: SIM105  (a start does without contextlib)
            os.write(2, f"sitepatch-hook: {text}\n".encode("utf-8", "backslashreplace"))
        except OSError:  # a full device, a pipe without a reader
            pass


def state_problems(mode: str, aloud: bool = False) -> "list[str] | None":
    """Return why files are not as requested, [] where they are; None where the state file does not say it.

    With `aloud` it is reported where the state file is damaged.
    """
    try:
        fd = os.open(HERE + "/state", os.O_RDONLY | os.O_NONBLOCK)  # a FIFO in its place is not waited for
        with open(fd, "rb") as file:
            text = (file.read() or b"").decode("utf-8", "surrogateescape")
    except OSError:
        return None
    try:
        return changed_files(text, os.path.dirname(HERE), ID, mode == "warn")
    except ValueError as error:
        if aloud:
            write_stderr(f"{HERE}/state: is damaged ({error}); looking at every file again")
    return None


def changed_files(text: str, site: str, requested: str, looking: bool) -> "list[str] | None":
    """Compare a state file with the files that it names.

    Args:
        text: of the state file.
        site: the site directory, in which all files lie.
        requested: the ID of the hook; the state of another one does not count.
        looking: whether it is enough that the files were looked at, and no repair was tried.

    Returns:
        Why files are not as requested; None where a file is not as it was, or no repair was tried.

    Raises:
        ValueError: it is no state file, or names a file outside the site directory.
    """
    if not text:
        return None
    head, *lines = text.split("\n")
    if not head.startswith("sitepatch-hook 1 ") or lines[-2:] != ["end", ""]:
        raise ValueError("its first or its last line is another one")
    reasons, good = [], True
    opened: set[str] = set()
    for line in lines[:-2]:
        if line[:2] == ": ":
            reasons.append(line[2:])
            continue
        mark, signed, path = line.split(" ", 2)
        if mark not in ("=", "!") or path[:1] in ("", "/") or "/../" in f"/{path}/" or "\0" in path:
            raise ValueError(f"it has the line {line!r}")
        if good:
            good = signature(site + "/" + path, opened) == signed
    done = head.split(" ")[2:]
    if not good or done[:1] != [requested] or (reasons and done[1:] == ["looked"] and not looking):
        return None
    return reasons


def signature(path: str, opened: "set[str] | None" = None) -> str:
    """Return mtime in whole seconds and size of a file; image layers and archives store no more of it.

    Args:
        path: of the file.
        opened: directories that need not be opened again; that of the file is added.
    """
    folder = path.rpartition("/")[0]  # os.path.dirname would take as long as all the rest
    if opened is None or folder not in opened:
        try:  # noqa: SIM105  (a start does without contextlib)
            os.close(os.open(folder, os.O_RDONLY))  # NFS: see `look_again` of patcher.system.reading
        except OSError:
            pass
        if opened is not None:
            opened.add(folder)
    try:
        info = os.stat(path)
    except OSError:
        return "absent"
    return f"{info[8]}:{info[6]}"
