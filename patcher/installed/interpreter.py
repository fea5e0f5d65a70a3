"""An interpreter and the directories it searches, as the interpreter itself reports them."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from patcher.errors import UsageError
from patcher.installed import describe
from patcher.message import Message
from patcher.record import Record
from patcher.system.reading import is_directory, is_file, is_link, read_file

_TIMEOUT = 30.0
"""Seconds that an interpreter has to start; a cold one on a network filesystem takes several."""
_LONGEST = 100
"""Characters of what an interpreter says that a message quotes."""
_NAME_ONE = Message("name a python executable or the directory of a virtual environment")
_EXECUTABLES = (
    "bin/python",
    "bin/python3",
    "Scripts/python.exe",
    "python.exe",
    "python",
    "python3",
)
"""Where the interpreter is in the directory of an environment, or in its `bin`."""


class Environment(Record):
    """The directories that an interpreter imports from.

    All paths are absolute, links are not resolved. With `--target`, `sites` and `search` are that
    directory alone.

    Attributes:
        python: the interpreter.
        sites: its site directories in import order.
        search: its whole `sys.path`, without '' and the directory of a script.
        version: as (3, 11).
        outer: the directories that a virtual environment searches but shares with others (those
            of its base installation, of the user, of another environment): what lies there is
            neither patched nor restored, unless `--system` empties it.
    """

    python: str
    sites: tuple[str, ...]
    search: tuple[str, ...]
    version: tuple[int, int]
    outer: tuple[str, ...] = ()

    @classmethod
    def alone(cls, site: str) -> Environment:
        """A directory of packages by itself, for the Python that runs this."""
        return cls(
            python=sys.executable, sites=(site,), search=(site,), version=sys.version_info[:2]
        )

    @property
    def name(self) -> str:
        """Its name for messages: the interpreter, and the version."""
        return f"{self.python}, Python {'.'.join(map(str, self.version))}"

    @property
    def own(self) -> tuple[str, ...]:
        """The site directories without `outer`."""
        return tuple(site for site in self.sites if site not in self.outer)

    @property
    def stores(self) -> tuple[str, ...]:
        """Every directory that may have a store, each once, without `outer`.

        A .pth file adds some that are no site directories.
        """
        directories = dict.fromkeys([*self.sites, *self.search])
        return tuple(site for site in directories if site not in self.outer)


def discover(python: str | None, target: str | None) -> Environment:
    """The environment that a command is about.

    Args:
        python: `--python`: an executable or the directory of a virtual environment. Default:
            VIRTUAL_ENV, then CONDA_PREFIX, else the running interpreter.
        target: `--target`: a directory of packages; then the interpreter only runs what has to
            be run.

    Raises:
        UsageError: there is no such directory, or it is no interpreter that answers.
    """
    for option, value in (("--target", target), ("--python", python)):
        if value is not None and not value.strip():
            hint = Message("name a path; is a variable of the shell not set?")
            raise UsageError("{option}: found an empty value", hint, option=option)

    if target is not None:
        sites = (_target_directory(target),)
        env = _interpreter("--python", python) if python else _running()
        return env._replace(sites=sites, search=sites, outer=())
    if python:
        return _interpreter("--python", python)
    variable = active()
    return _interpreter(variable, os.environ[variable]) if variable else _running()


def active() -> str:
    """The variable that names the environment which is active; "" where none is."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            return variable
    return ""


def _target_directory(target: str) -> str:
    """The absolute path of the directory that `--target` names."""
    directory = _absolute(target)
    if not is_directory(directory):
        kind = Message("a file" if os.access(directory, os.F_OK) else "no such directory")
        hint = Message("name a directory that holds packages")
        raise UsageError("--target {target}: found {found}", hint, target=target, found=kind)
    if is_file(directory / "pyvenv.cfg"):
        raise UsageError(
            "--target {target}: found a virtual environment", "use --python {target}", target=target
        )
    if is_file(directory / "__init__.py"):
        hint = Message("name the directory that it is in: --target {above}", above=directory.parent)
        raise UsageError("--target {target}: found a package", hint, target=target)
    return str(directory)


def _absolute(path: str | Path) -> Path:
    """An absolute path without `..`; links stay as they are."""
    return Path(os.path.normpath(Path(path).absolute()))


def _interpreter(option: str, python: str) -> Environment:
    """The environment of an interpreter that `option` (an option or a variable) names."""
    path = _executable(python)
    if not is_file(path):
        raise _no_interpreter(option, python, path)
    if _same_place(path, sys.executable) and _same_place(path.parent.parent, sys.prefix):
        return _running()
    return _environment(_ask(option, python, path))


def _same_place(path: Path, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _executable(python: str) -> Path:
    """Where the executable is, or would be, that its path, its name or an environment names."""
    path = Path(python)
    with suppress(RuntimeError):  # there is no such user
        path = path.expanduser()
    if is_directory(path):
        candidates = [path / name for name in _EXECUTABLES]
        path = next((candidate for candidate in candidates if is_file(candidate)), candidates[0])
    elif path.name == python and not is_file(path):
        import shutil  # with its archives: only to look a name up

        program = f"python{python}" if re.fullmatch(r"3(\.\d+)?", python) else python
        path = Path(shutil.which(program) or python)
    return _absolute(path)


def _no_interpreter(option: str, python: str, path: Path) -> UsageError:
    """The error about a path that is no file."""
    if is_link(path):
        packages = path.parent.parent / "lib/python*/site-packages"
        hint = Message(
            "make the environment anew; to restore what is patched in it: --target {packages}",
            packages=packages,
        )
        return UsageError(
            "{given} {python}: found no interpreter at {path}, which {detail} links to",
            hint,
            given=option,
            python=python,
            path=os.path.realpath(path),
            detail=path,
        )
    _check_reachable(option, python, path)
    hint = Message("name a python executable or a venv")
    if is_directory(python):
        hint = Message(
            "name a python executable or a venv; a directory of packages: --target {python}",
            python=python,
        )
    if not option.startswith("--"):
        hint = Message(
            "unset {given}, activate an environment that is there, or use --python or --target",
            given=option,
        )
    return UsageError(
        "{given} {python}: found no interpreter at {path}",
        hint,
        given=option,
        python=python,
        path=path,
    )


def _check_reachable(option: str, python: str, path: Path) -> None:
    """Refuse a path of which nobody can say whether it is a file, as in another user's directory.

    Raises:
        UsageError: this user may not look at it.
    """
    with suppress(OSError, ValueError):  # no file can have such a name, or there is none
        try:
            path.stat()
        except PermissionError as error:
            hint = Message("run this as its owner, or let others search the directories above it")
            raise UsageError(
                "{given} {python}: user {uid} may not look at {path}",
                hint,
                given=option,
                python=python,
                uid=os.getuid(),
                path=path,
            ) from error


# the description ------------------------------------------------------------------------------
def _running() -> Environment:
    """The environment of the running interpreter."""
    return _environment(describe.description())


def _environment(description: dict[str, Any]) -> Environment:
    major, minor = description["version"]
    return Environment(
        python=description["python"],
        sites=tuple(description["sites"]),
        search=tuple(description["search"]),
        version=(major, minor),
        outer=tuple(description["outer"]),
    )


def _ask(option: str, python: str, path: Path) -> dict[str, Any]:
    """Have another interpreter describe itself; the output of a start-up hook before it is skipped.

    Raises:
        UsageError: it does not answer.
    """
    import subprocess  # the running interpreter needs no process

    code = read_file(describe.__file__).decode("utf-8")
    code += "\nimport json\nprint('\\n' + json.dumps(description()))"
    # a hook that is strict would not let it answer
    environ = {**os.environ, "SITEPATCH_HOOK": "off"}
    try:
        process = subprocess.run(
            [str(path), "-I", "-B", "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
            env=environ,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            "{given} {python}: it gave no answer in {timeout:g} seconds",
            Message("see what holds it up: {path} -I -c 0", path=path),
            given=option,
            python=python,
            timeout=_TIMEOUT,
        ) from None
    except OSError as error:
        raise UsageError(
            "{given} {python}: it cannot be run ({error})",
            _NAME_ONE,
            given=option,
            python=python,
            error=Message.whole(error.strerror),
        ) from None

    description = None
    if process.returncode == 0:
        with suppress(ValueError, IndexError):
            description = json.loads(process.stdout.splitlines()[-1])
    if not isinstance(description, dict):
        output = (process.stderr or process.stdout).decode("utf-8", "replace")
        raise UsageError(
            "{given} {python}: it is no working Python 3 interpreter "
            "(exit code {code}: {last_line})",
            _NAME_ONE,
            given=option,
            python=python,
            code=process.returncode,
            last_line=_reason(output),
        )
    return description


def _reason(output: str) -> str:
    """Why a program has ended: the exception of Python, of another program what it says first."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[-1] if "Traceback" in output else lines[0]
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
