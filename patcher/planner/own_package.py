"""What a patched package has itself: the modules that may be imported, and their texts."""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Iterable, Iterator, Mapping

from patcher.installed.record import lists
from patcher.model import Located
from patcher.system.reading import read_file

_MAY_BIND = re.compile(
    rb"import\s*\*|__getattr__|__dict__|sys\.modules|\b(?:exec|globals|setattr|vars)\s*\("
)
_ALWAYS = frozenset(
    [
        "*",
        "__annotations__",
        "__builtins__",
        "__cached__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
    ]
)
"""What can be imported from any module, or any package."""
_GUARDS = (ast.If, ast.Try)


class OwnPackage:
    """An installed import package, as it is once a plan is carried out.

    Args:
        located: the package.
        planned: the texts of its files that the plan adds or changes, by path.
    """

    def __init__(self, located: Located, planned: Mapping[str, bytes]) -> None:
        self._located = located
        self._planned = planned

    def lacks(self, module: str) -> bool:
        """Whether there is no such module of the package.

        Not where its parent is no regular package that RECORD lists: then it may be anywhere.
        """
        *parents, name = module.split(".")
        if not parents or parents[0] != self._located.package or not self._located.dist_info:
            return False
        dist_info = Path(self._located.dist_info)
        parent = "/".join(parents)
        if not lists(dist_info, [f"{parent}/__init__.py"]):
            return False

        base = f"{parent}/{name}"
        if lists(dist_info, [f"{base}/", f"{base}."]):
            return False
        folder = Path(self._located.site) / parent
        is_there = (folder / name).is_dir() or any(folder.glob(f"{name}.*"))
        return not is_there and not self._planned.keys() & {f"{base}.py", f"{base}/__init__.py"}

    def module(self, name: str) -> tuple[str, ast.Module] | None:
        """The path and the syntax tree of a module of the package; None where it has none."""
        found = self._text(name)
        tree = None if found is None else parsed(found[1])
        return None if found is None or tree is None else (found[0], tree)

    def lacks_name(self, module: str, name: str) -> bool:
        """Whether nothing can be imported by a name from a module of the package.

        Not where the module may bind names that it does not mention.
        """
        found = self._text(module)
        if found is None or name in _ALWAYS:
            return False
        path, text = found
        if re.search(rb"\b%s\b" % name.encode(), text) or _MAY_BIND.search(text):
            return False
        return not path.endswith("/__init__.py") or self.lacks(f"{module}.{name}")

    def _text(self, module: str) -> tuple[str, bytes] | None:
        """The path and the text of a module of the package; None where it has none."""
        if module.partition(".")[0] != self._located.package:
            return None
        base = module.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if path in self._planned:
                return path, self._planned[path]
            with suppress(OSError):
                return path, read_file(Path(self._located.site) / path)
        return None


def parsed(text: bytes) -> ast.Module | None:
    """The syntax tree of a text; None where this Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the target are not ours to report
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def missing_imports(
    path: str, before: ast.Module, after: ast.Module, package: OwnPackage
) -> list[str]:
    """What a changed file imports from its own package that is not there, as dotted names.

    Not what it has imported before. An import below an `if` or a `try` may be for another release,
    and is not looked at.
    """
    known = set(_imports_in(path, ast.walk(before)))
    modules = {module for module, _ in known}
    missing: set[str] = set()
    for module, name in _imports_in(path, _unguarded(after)):
        if module not in modules and package.lacks(module):
            missing.add(module)
        elif name and (module, name) not in known and package.lacks_name(module, name):
            missing.add(f"{module}.{name}")
    return sorted(missing)


def _unguarded(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _GUARDS):
            yield child
            yield from _unguarded(child)


def _imports_in(path: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The imports among some nodes: each module, with a name that is imported from it or ""."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield absolute(path, node), alias.name


def absolute(path: str, node: ast.ImportFrom) -> str:
    """The module that a file imports names from; "" beyond its package."""
    module = node.module or ""
    if not node.level:
        return module
    parents = path.split("/")[: -node.level]
    return ".".join(filter(None, [*parents, module])) if parents else ""
