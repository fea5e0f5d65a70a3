"""The command that `run` starts: its program, the Python that would run it, and its start."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Mapping, NoReturn, Sequence

from patcher.errors import NotExecutableError, NotFoundCommandError, UsageError
from patcher.installed.interpreter import Environment, discover
from patcher.message import Message

_NAME = re.compile(r"(python|pypy)[\d.]*")
_PIP_START = b"'''exec' "


def find_program(word: str) -> str:
    """The file that a command names, searched for as execvp does.

    Raises:
        NotFoundCommandError: there is none.
        NotExecutableError: it may not be run.
    """
    path = shutil.which(word)
    if path:
        return path
    is_path = os.sep in word
    kind = _kind(word) if is_path else None
    if kind is not None:
        what = Message("a file that is not executable")
        if stat.S_ISDIR(kind):
            what = Message("a directory")
        hint = Message("name a program, or the interpreter before the file")
        raise NotExecutableError("{word}: found {what}", hint, word=word, what=what)
    where = "" if is_path else Message("it is looked for in the directories of PATH")
    raise NotFoundCommandError("{word}: command not found", where, word=word)


def _kind(path: str) -> int | None:
    """The `st_mode` of a path, None if nothing is there or this user may not look."""
    with suppress(OSError):
        return Path(path).stat().st_mode
    return None


def interpreter_of(program: str) -> str | None:
    """The Python that runs a program, if it is one or its first line (`#!`) names one.

    Args:
        program: path of the file.

    Returns:
        its path; None if it is not known, or no Python.
    """
    if _is_python(program):
        return program
    try:
        with Path(program).open("rb") as file:
            lines = file.read(4096).split(b"\n")
    except OSError:
        return None
    path = _named_interpreter(lines)
    return path if path and _is_python(path) else None


def _named_interpreter(lines: Sequence[bytes]) -> str | None:
    """The program that the first lines of a script name, None if that is not known."""
    if not lines[0].startswith(b"#!"):
        return None
    command = lines[0][len(b"#!") :]
    # pip's scripts, where the path of the interpreter is long or has a blank
    if command.strip() == b"/bin/sh" and len(lines) > 1 and lines[1].startswith(_PIP_START):
        command = lines[1][len(_PIP_START) :]
    try:
        words = shlex.split(os.fsdecode(command))
    except ValueError:
        return None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S" and "=" not in word]
    return shutil.which(words[0]) if words else None


def _is_python(path: str) -> bool:
    return _NAME.fullmatch(Path(path).name) is not None


def other_environment(python: str, env: Environment) -> bool:
    """Whether an interpreter searches other site directories than those of the environment.

    False where it gives no answer.
    """
    if _file_and_folder(python) == _file_and_folder(env.python):
        return False
    try:
        return discover(python, None).sites != env.sites
    except UsageError:
        return False


def _file_and_folder(path: str) -> tuple[Path, Path]:
    """The file of an interpreter, and the directory that it is started from."""
    return Path(path).resolve(), Path(path).absolute().parent.resolve()


def execute(program: str, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command: same descriptors, default signal handlers.

    Raises:
        NotExecutableError: the system cannot run it.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Python ignores these signals, and the command would go on ignoring them
    for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(program, list(command), dict(environ))
    except OSError as error:
        hint = Message("a script begins with #!")
        if isinstance(error, FileNotFoundError):
            hint = Message("the interpreter that its first line names is not there")
        reason = Message.whole(error.strerror)
        problem = "{program}: {error}"
        raise NotExecutableError(problem, hint, program=program, error=reason) from error
