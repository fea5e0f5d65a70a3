"""How our modules import each other, by `ast` alone: whether imports form a circle; functions with too many parameters;
and which modules a command loads.
"""

import ast
import subprocess
import sys
from functools import lru_cache

from tests.command import environ

MOST_PARAMETERS = 6


def modules(folder):
    """Dotted name -> source text and tree of every module below a package's folder."""
    by_name = {}
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder.parent).with_suffix("")
        if not {"_patchsets", "_fixtures"} & set(inside.parts):  # what a built wheel carries
            parts = inside.parts[:-1] if inside.name == "__init__" else inside.parts
            text = path.read_text(encoding="utf-8")
            by_name[".".join(parts)] = text, ast.parse(text)
    return by_name


def imported(tree, known):
    """The modules of ours that a module names in an import."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(known)


def circles(edges):
    """The imports that close a circle: (module, module that it imports)."""
    closing, open_now = [], []

    @lru_cache(maxsize=None)
    def below(name):
        open_now.append(name)
        for other in sorted(edges[name] - {name}):
            if other in open_now:
                closing.append((name, other))
            else:
                below(other)
        open_now.pop()

    for name in edges:
        below(name)
    return closing


def wide(tree):
    """The functions with more than six parameters that are no click commands; keyword-only ones with a default do not count."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = node.args
            needed = [name for name, default in zip(every.kwonlyargs, every.kw_defaults) if default is None]
            number = len([*every.posonlyargs, *every.args, *needed]) + bool(every.vararg) + bool(every.kwarg)
            marks = " ".join(ast.dump(mark) for mark in node.decorator_list)
            if number > MOST_PARAMETERS and not any(word in marks for word in ("'command'", "'option'", "'argument'")):
                yield f"{node.name} ({number})"


DUMP = "import atexit, sys; atexit.register(lambda: open({out!r}, 'w').write('\\n'.join(sys.modules)))\n"


def loaded(site, *words, before="", **more):
    """The modules in memory when `sitepatch WORDS` ends; `before` is code that is run first."""
    out = site.cwd / "modules"
    code = DUMP.format(out=str(out)) + f"import os; os.execve = lambda *words: sys.exit(0)\n{before}\nsys.argv = {['sitepatch', *map(str, words)]!r}\nimport patcher.verbs.main as c\nc.main()\n"
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env=environ(**more),
        cwd=str(site.cwd),
        capture_output=True,
    )
    assert completed.returncode == 0, completed.stderr
    return set(out.read_text().split("\n"))
