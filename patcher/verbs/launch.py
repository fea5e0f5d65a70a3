"""Runs a command of the user: the program, the Python that would run it, and whether that is of the environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
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
    if os.sep in word and os.path.exists(word):
        kind = Message("a directory" if os.path.isdir(word) else "a file that is not executable")
        template, how = (
            "{word}: found {what}",
            Message("name a program, or the interpreter before the file"),
        )
        raise NotExecutableError(template, how, word=word, what=kind)
    hint = "" if os.sep in word else Message("it is looked for in the directories of PATH")
    raise NotFoundCommandError("{word}: command not found", hint, word=word)


def interpreter_of(program: str) -> str | None:
    """The Python that runs a program, if it is one or its first line (`#!`) names one; None if that is not known.

    Args:
        program: path of the file.
    """
    if _NAME.fullmatch(os.path.basename(program)):
        return program
    try:
        with open(program, "rb") as file:
            first_line, second_line, *_ = [*file.read(4096).split(b"\n"), b"", b""]
    except OSError:
        return None
    line = os.fsdecode(first_line[2:]) if first_line.startswith(b"#!") else ""
    # pip's, where the path is long or has a blank
    if line.strip() == "/bin/sh" and second_line.startswith(b"'''exec' "):
        line = os.fsdecode(second_line[len(b"'''exec' ") :])
    try:
        parts = shlex.split(line)
    except ValueError:
        return None
    if parts and os.path.basename(parts[0]) == "env":
        parts = [part for part in parts[1:] if part != "-S" and "=" not in part]
    path = shutil.which(parts[0]) if parts else None
    return path if path and _NAME.fullmatch(os.path.basename(path)) else None


def other_environment(python: str, env: Environment) -> bool:
    """Whether an interpreter searches other site directories than those of the environment; False where it gives no answer."""
    if _place(python) == _place(env.python):
        return False
    try:
        return discover(python, None).sites != env.sites
    except UsageError:
        return False


def _place(path: str) -> tuple[str, str]:
    return os.path.realpath(path), os.path.realpath(os.path.dirname(os.path.abspath(path)))


def execute(program: str, command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command: same descriptors, default signal handlers.

    Raises:
        NotExecutableError: the system cannot run it.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Python ignores them, and what is ignored stays so
    for name in (
        "SIGPIPE",
        "SIGXFZ",
        "SIGXFSZ",
    ):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(program, list(command), dict(environ))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        hint = Message(
            "the interpreter that its first line names is not there"
            if missing
            else "a script begins with #!"
        )
        raise NotExecutableError(
            "{program}: {error}", hint, program=program, error=Message.whole(error.strerror)
        ) from error
