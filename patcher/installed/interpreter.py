"""An interpreter and the directories it searches, as the interpreter itself reports them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from patcher.errors import UsageError
from patcher.message import Message

_TIMEOUT = 30.0
"""Seconds that a target interpreter has to start; a cold one on a network file system takes several."""
_NAME_ONE = Message("name a python executable or the directory of a virtual environment")

# Run in the target interpreter under -I, and in this process when it is the target: one rule for both. -I switches off
# PYTHONPATH and the user site directory, which the target's ordinary runs have, so both are worked out here.
_DESCRIBE = r"""
import os, site, sys
def config(key):
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            pairs = [line.partition("=") for line in file]
    except (OSError, UnicodeDecodeError):
        return ""
    return "".join(value.strip().lower() for name, _, value in pairs if name.strip().lower() == key)
def below(path, top):
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), ""))
sites = [os.path.abspath(each) for each in site.getsitepackages()]
flags = sys.flags
script = set()
if not (flags.isolated or getattr(flags, "safe_path", False)) and sys.argv and sys.argv[0] not in ("", "-c"):
    script = {os.path.dirname(os.path.abspath(sys.argv[0])), os.path.dirname(os.path.realpath(sys.argv[0]))}
    script |= {os.getcwd()} if sys.path[:1] == [os.getcwd()] else set()
given = [os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
search = [each for each in sys.path if os.path.isabs(each) and (each not in script or each in sites + given)]
search = given + [each for each in search if each not in given]  # also where a .pth file names the same directory
venv = sys.prefix != sys.base_prefix
user = site.getusersitepackages()
use_user = not os.environ.get("PYTHONNOUSERSITE") and not (venv and config("include-system-site-packages") != "true")
if hasattr(os, "geteuid"):
    use_user = use_user and os.geteuid() == os.getuid() and os.getegid() == os.getgid()
if use_user and os.path.isdir(user):
    if user not in search:
        inner = [each for each in search if each in sites and not (venv and below(each, sys.prefix))]
        search.insert(search.index(inner[0]) if inner else len(search), user)
        for name in sorted(os.listdir(user)):
            if name.endswith(".pth") and not name.startswith("."):
                with open(os.path.join(user, name), encoding="utf-8", errors="replace") as file:
                    lines = [line.strip() for line in file if not line.startswith(("#", "import ", "import\t"))]
                added = [os.path.abspath(os.path.join(user, line)) for line in lines if line]
                search += [each for each in added if os.path.exists(each) and each not in search]
    sites.append(user)
order = list(dict.fromkeys(search))
own = [os.path.abspath(each) for each in site.getsitepackages([sys.prefix, sys.exec_prefix])]
def foreign(each):
    named = os.path.basename(each) in ("site-packages", "dist-packages")
    return venv and (named or each in sites) and each not in own and not below(each, sys.prefix)
found = dict(
    python=sys.executable, search=order, version=list(sys.version_info[:2]),
    sites=[each for each in order if each in sites], outer=[each for each in order if foreign(each)],
)
"""


class Environment(NamedTuple):
    """The directories that an interpreter imports from.

    `sites` are its site directories in import order, `search` is its whole `sys.path` without '' and the directory of a
    script; all absolute, links not resolved. With `--target` both are that directory alone. `version` is (3, 11). `outer`
    are the directories that a virtual environment searches but shares with others (those of its base installation, of the
    user, of another environment): what lies there is neither patched nor restored, unless `--system` empties it.
    """

    python: str
    sites: tuple[str, ...]
    search: tuple[str, ...]
    version: tuple[int, int]
    outer: tuple[str, ...] = ()

    @classmethod
    def alone(cls, site: str) -> Environment:
        """A directory of packages by itself, for the Python that runs this."""
        return cls(sys.executable, (site,), (site,), sys.version_info[:2])

    @property
    def name(self) -> str:
        """Its name for messages: the interpreter, and the version."""
        return f"{self.python}, Python {'.'.join(map(str, self.version))}"

    @property
    def own(self) -> tuple[str, ...]:
        """The site directories but for `outer`."""
        return tuple(site for site in self.sites if site not in self.outer)

    @property
    def stores(self) -> tuple[str, ...]:
        """Every directory but for `outer` that may have a store, each once: a .pth file adds some that are no sites."""
        return tuple(
            site for site in dict.fromkeys([*self.sites, *self.search]) if site not in self.outer
        )


def discover(python: str | None, target: str | None) -> Environment:
    """The environment that a command is about.

    Args:
        python: `--python`: an executable or the directory of a virtual environment. Default: VIRTUAL_ENV, then
            CONDA_PREFIX, else the running interpreter.
        target: `--target`: a directory of packages; then the interpreter only runs what has to be run.

    Raises:
        UsageError: when there is no such directory or it is no interpreter that answers.
    """
    for option, value in (("--target", target), ("--python", python)):
        if value is not None and not value.strip():
            hint = Message("name a path; is a variable of the shell not set?")
            raise UsageError("{option}: found an empty value", hint, option=option)
    if target is not None:
        directory = os.path.abspath(target)
        if not os.path.isdir(directory):
            kind = Message("a file" if os.path.exists(directory) else "no such directory")
            hint = Message("name a directory that holds packages")
            raise UsageError("--target {target}: found {found}", hint, target=target, found=kind)
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            raise UsageError(
                "--target {target}: found a virtual environment",
                "use --python {target}",
                target=target,
            )
        sites = (directory,)
        env = _interpreter("--python", python) if python else _here()
        return env._replace(sites=sites, search=sites, outer=())
    if python:
        return _interpreter("--python", python)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            return _interpreter(variable, os.environ[variable])
    return _here()


def _interpreter(option: str, python: str) -> Environment:
    """The environment of an interpreter that `option` (an option or a variable) names."""
    path = os.path.expanduser(python)
    if os.path.isdir(path):
        names = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
        tries = [os.path.join(path, name) for name in names]
        path = next((candidate for candidate in tries if os.path.isfile(candidate)), tries[0])
    elif os.path.basename(path) == python and not os.path.isfile(path):
        import shutil

        path = shutil.which(python) or python
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        if os.path.islink(path):
            template = "{given} {python}: found no interpreter at {path}, which {detail} links to"
            packages = os.path.join(
                os.path.dirname(os.path.dirname(path)), "lib/python*/site-packages"
            )
            problem = (
                "make the environment anew; to restore what is patched in it: --target {packages}"
            )
            hint = Message(problem, packages=packages)
            raise UsageError(
                template,
                hint,
                given=option,
                python=python,
                path=os.path.realpath(path),
                detail=path,
            )
        _check_reachable(option, python, path)
        hint = Message("name a python executable or a venv")
        if not option.startswith("--"):
            hint = Message(
                "unset {given}, activate an environment that is there, or use --python or --target",
                given=option,
            )
        raise UsageError(
            "{given} {python}: found no interpreter at {path}",
            hint,
            given=option,
            python=python,
            path=path,
        )
    same = os.path.realpath(path) == os.path.realpath(sys.executable)
    if same and os.path.realpath(os.path.dirname(os.path.dirname(path))) == os.path.realpath(
        sys.prefix
    ):
        return _here()
    return _environment(_ask(option, python, path))


def _check_reachable(option: str, python: str, path: str) -> None:
    """Raise UsageError where it cannot be told whether there is a file, as below a directory of another user."""
    with suppress(OSError, ValueError):  # no file can have such a name, or there is none
        try:
            os.stat(path)
        except PermissionError as error:
            template = "{given} {python}: user {uid} may not look at {path}"
            hint = Message("run this as its owner, or let others search the directories above it")
            raise UsageError(
                template, hint, given=option, python=python, uid=os.getuid(), path=path
            ) from error


def _here() -> Environment:
    scope: dict[str, Any] = {}
    exec(_DESCRIBE, scope)
    return _environment(scope["found"])


def _environment(described: dict[str, Any]) -> Environment:
    major, minor = described["version"]
    sites, search, outer = (tuple(described[key]) for key in ("sites", "search", "outer"))
    return Environment(described["python"], sites, search, (major, minor), outer)


def _ask(option: str, python: str, path: str) -> dict[str, Any]:
    """Run `_DESCRIBE` in another interpreter; the output of a start-up hook before it is skipped."""
    import json
    import subprocess

    command = [
        str(path),
        "-I",
        "-B",
        "-c",
        _DESCRIBE + "import json\nprint('\\n' + json.dumps(found))",
    ]
    try:
        child = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
            env={**os.environ, "SITEPATCH_HOOK": "off"},  # a strict hook would not let it answer
        )
    except subprocess.TimeoutExpired:
        template, hint = (
            "{given} {python}: it gave no answer in {timeout:g} seconds",
            "see what holds it up: {path} -I -c 0",
        )
        raise UsageError(
            template, Message(hint, path=path), given=option, python=python, timeout=_TIMEOUT
        ) from None
    except OSError as error:
        template, reason = (
            "{given} {python}: it cannot be run ({error})",
            Message.whole(error.strerror),
        )
        raise UsageError(template, _NAME_ONE, given=option, python=python, error=reason) from None
    try:
        described = json.loads(child.stdout.splitlines()[-1]) if child.returncode == 0 else None
    except (ValueError, IndexError):
        described = None
    if not isinstance(described, dict):
        last_line = (
            (child.stderr or child.stdout).decode("utf-8", "replace").strip().split("\n")[-1][:200]
        )
        template = "{given} {python}: it is no working Python 3 interpreter (exit code {code}: {last_line})"
        raise UsageError(
            template,
            _NAME_ONE,
            given=option,
            python=python,
            code=child.returncode,
            last_line=last_line,
        )
    return described
