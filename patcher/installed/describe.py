"""Where an interpreter imports from, as it says itself.

`patcher.installed.interpreter` calls `description` for the running interpreter, and has another one
run this text under -I: one rule for both. -I switches off PYTHONPATH and the user site directory,
which the ordinary runs of an interpreter have, so both are worked out here. Standard library alone,
Python 3.6 or later, nothing of ours.
"""

import os
import site
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Set

VENV = sys.prefix != sys.base_prefix


def description() -> "Dict[str, Any]":
    """The executable, its version, the directories it searches.

    `sites` are the site directories among these, `outer` those that a virtual environment shares
    with others.
    """
    sites = [os.path.abspath(each) for each in site.getsitepackages()]
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    first = [os.path.abspath(each) for each in listed if each]
    script = _script_directories()
    search = []
    for each in sys.path:
        if os.path.isabs(each) and (each not in script or each in sites + first):
            search.append(each)
    # PYTHONPATH comes first, also where a .pth file names the same directory
    search = first + [each for each in search if each not in first]

    user = site.getusersitepackages()
    if _uses_user_site() and os.path.isdir(user):
        if user not in search:
            _add_user_site(user, search, sites)
        sites.append(user)

    order = list(dict.fromkeys(search))
    return {
        "python": sys.executable,
        "search": order,
        "version": list(sys.version_info[:2]),
        "sites": [each for each in order if each in sites],
        "outer": _foreign(order, sites) if VENV else [],
    }


def _foreign(search: "List[str]", sites: "List[str]") -> "List[str]":
    """The directories that a virtual environment searches and that are not its own."""
    prefixes = [sys.prefix, sys.exec_prefix]
    own = [os.path.abspath(each) for each in site.getsitepackages(prefixes)]
    foreign = []
    for each in search:
        named = os.path.basename(each) in ("site-packages", "dist-packages")
        if (named or each in sites) and each not in own and not _below(each, sys.prefix):
            foreign.append(each)
    return foreign


def _config(key: str) -> str:
    """A value of `pyvenv.cfg`, in lower case."""
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            pairs = [line.partition("=") for line in file]
    except (OSError, UnicodeDecodeError):
        return ""
    values = [value for name, _, value in pairs if name.strip().lower() == key]
    return "".join(value.strip().lower() for value in values)


def _below(path: str, top: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), ""))


def _script_directories() -> "Set[str]":
    """The directories that are searched for the sake of the running script."""
    flags = sys.flags
    if flags.isolated or getattr(flags, "safe_path", False):
        return set()
    if not sys.argv or sys.argv[0] in ("", "-c"):
        return set()
    directories = {
        os.path.dirname(os.path.abspath(sys.argv[0])),
        os.path.dirname(os.path.realpath(sys.argv[0])),
    }
    if sys.path[:1] == [os.getcwd()]:
        directories.add(os.getcwd())
    return directories


def _uses_user_site() -> bool:
    if os.environ.get("PYTHONNOUSERSITE"):
        return False
    if VENV and _config("include-system-site-packages") != "true":
        return False
    if hasattr(os, "geteuid"):
        return os.geteuid() == os.getuid() and os.getegid() == os.getgid()
    return True


def _add_user_site(user: str, search: "List[str]", sites: "List[str]") -> None:
    """Add the user's site directory to what is searched, and what its .pth files name."""
    inner = []
    for each in search:
        if each in sites and not (VENV and _below(each, sys.prefix)):
            inner.append(each)
    search.insert(search.index(inner[0]) if inner else len(search), user)
    for name in sorted(os.listdir(user)):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        with open(os.path.join(user, name), encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if not line.startswith(("#", "import ", "import\t"))]
        named = [line.strip() for line in lines if line.strip()]
        added = [os.path.abspath(os.path.join(user, each)) for each in named]
        search.extend([each for each in added if os.path.exists(each) and each not in search])
