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
        what = Message("a directory" if stat.S_ISDIR(kind) else "a file that is not executable")
        how = Message("name a program, or the interpreter before the file")
        raise NotExecutableError("{word}: found {what}", how, word=word, what=what)
    where = "" if is_path else Message("it is looked for in the directories of PATH")
    raise NotFoundCommandError("{word}: command not found", where, word=word)


def _kind(path: str) -> int | None:
    """What a path is (`st_mode`), None where nothing is there or may be seen."""
    with suppress(OSError):
        return Path(path).stat().st_mode
    return None


def interpreter_of(program: str) -> str | None:
    """The Python that runs a program, if it is one or its first line (`#!`) names one.

    Args:
        program: path of the file.

    Returns:
        None if that is not known.
    """
    if _is_python(program):
        return program
    try:
        with Path(program).open("rb") as file:
            first_line, second_line, *_ = [*file.read(4096).split(b"\n"), b"", b""]
    except OSError:
        return None
    line = os.fsdecode(first_line[2:]) if first_line.startswith(b"#!") else ""
    # pip's, where the path is long or has a blank
    if line.strip() == "/bin/sh" and second_line.startswith(b"'''exec' "):
        line = os.fsdecode(second_line[len(b"'''exec' ") :])
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S" and "=" not in word]
    path = shutil.which(words[0]) if words else None
    return path if path and _is_python(path) else None


def _is_python(path: str) -> bool:
    return _NAME.fullmatch(Path(path).name) is not None


def other_environment(python: str, env: Environment) -> bool:
    """Whether an interpreter searches other site directories than those of the environment.

    False where it gives no answer.
    """
    if _place(python) == _place(env.python):
        return False
    try:
        return discover(python, None).sites != env.sites
    except UsageError:
        return False


def _place(path: str) -> tuple[Path, Path]:
    """The file of an interpreter, and the directory that it is started from."""
    return Path(path).resolve(), Path(path).absolute().parent.resolve()


def execute(program: str, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command: same descriptors, default signal handlers.

    Raises:
        NotExecutableError: the system cannot run it.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Python ignores them, and what is ignored stays so
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
