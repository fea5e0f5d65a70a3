"""What changed between neighbouring releases of real packages, taken apart into single edits.

Releases are fetched by pip when they are asked for.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
import os
import re
import shutil
import symtable
import warnings
import zipfile
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple, Sequence, Union

from packaging.version import Version

from patcher.installed.index import Pip

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]
LARGEST = 200_000  # bytes of a file
LONGEST = 60  # changed lines of an edit
PER_FILE = 6  # edits taken from what changed in one file between two releases
_NOBODYS = re.compile(
    r"(^|/)(_?vendor(ed)?|tests?|_distutils|_?version)(/|\.py$)|(^|/)(test_|conftest)"
)


class Edit(NamedTuple):
    """One change that upstream made, alone: `before` and `after` are a file of the release `home`.

    `line` is 1-based, in `before`. `upstream` is the file of the next release, which has the change
    and all others with it, `older` are (version, text) of releases before `home` in which the file
    is another, the nearest one first.
    """

    package: str
    home: str
    path: str
    line: int
    kind: str
    before: bytes
    after: bytes
    upstream: bytes
    older: tuple[tuple[str, bytes], ...] = ()

    @property
    def name(self) -> str:
        """How the edit is asked for."""
        return f"{self.package}-{self.home}/{self.path}:{self.line}:{self.kind}"

    def diff(self) -> str:
        return unified(self.before, self.after, self.path)


class Release(NamedTuple):
    """A release, and the `.py` files of its wheel by path."""

    version: str
    files: dict[str, bytes]


def unified(before: bytes, after: bytes, path: str, context: int = 3) -> str:
    """A unified diff; undecodable bytes are kept as surrogates."""
    old, new = (
        text.decode("utf-8", "surrogateescape").splitlines(True) for text in (before, after)
    )
    diff = ""
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=context):
        diff += line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
    return diff


# releases -------------------------------------------------------------------------------------
def releases(cache: Path, package: str, number: int) -> list[Release]:
    """The last releases of a package that have a wheel and are no pre-releases, oldest first."""
    with Pip() as pip:
        return list(_releases(pip, cache / package, package, number))


def _releases(pip: Pip, home: Path, package: str, number: int) -> Iterator[Release]:
    listing = home / "releases"
    if not listing.exists():
        home.mkdir(parents=True, exist_ok=True)
        listing.write_text("\n".join(_versions(pip, package)))
    for version in listing.read_text().split()[-number:]:
        kept = home / f"{version}.zip"
        if not kept.exists():
            wheel = pip.save(pip.listing(package).wheels[version][0])
            part = kept.with_suffix(f".{os.getpid()}")
            shutil.move(str(wheel), part)
            part.rename(kept)
        yield Release(version, _sources(kept))


def _versions(pip: Pip, package: str) -> list[str]:
    """Those that have a wheel and are neither yanked nor pre-releases, the oldest first."""
    found = pip.listing(package)
    versions = set(found.wheels) - found.yanked
    return sorted((each for each in versions if not Version(each).is_prerelease), key=Version)


def _sources(wheel: Path) -> dict[str, bytes]:
    """The Python files of a wheel that are the package's own, without very large ones."""
    files = {}
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename
            is_own = name.endswith(".py") and not _NOBODYS.search(name)
            if is_own and info.file_size < LARGEST:
                files[name] = archive.read(name)
    return files


# single edits ---------------------------------------------------------------------------------
def edits(package: str, found: Sequence[Release], random: Random) -> Iterator[Edit]:
    """Single edits between neighbouring releases, of files that were others before.

    Their order is random.
    """
    places = []
    for index in range(1, len(found) - 1):
        places += [(index, path) for path in sorted(found[index].files)]
    random.shuffle(places)
    for index, path in places:
        yield from itertools.islice(edits_of(package, found, index, path, random), PER_FILE)


def named(found: Sequence[Release], name: str) -> Edit | None:
    """The edit of that `Edit.name`."""
    release, _, place = name.partition("/")
    package, _, home = release.rpartition("-")
    versions = [each.version for each in found]
    path = place.split(":")[0]
    if home not in versions[:-1] or path not in found[versions.index(home)].files:
        return None
    for edit in edits_of(package, found, versions.index(home), path, Random(0)):
        if edit.name == name:
            return edit
    return None


def edits_of(
    package: str, found: Sequence[Release], index: int, path: str, random: Random
) -> Iterator[Edit]:
    """The single edits of a file between a release and the next one.

    There are none where it was never another file before.
    """
    before = found[index].files[path]
    after = found[index + 1].files.get(path, before)
    older: dict[bytes, str] = {}
    if after != before:
        for release in reversed(found[:index]):
            older.setdefault(release.files.get(path, before), release.version)
    older.pop(before, None)
    tree = parsed(before) if older else None
    if tree is None:
        return
    nearest = tuple((version, text) for text, version in list(older.items())[:3])
    changes = taken_apart(before, after)
    random.shuffle(changes)
    free, twice = unbound(before), doubled(tree)
    bare = without_docstrings(tree)
    for change in changes:
        now = parsed(change.text)
        if now is None or not unbound(change.text) <= free or not doubled(now) <= twice:
            continue
        if not same(bare, without_docstrings(now)):
            yield Edit(
                package=package,
                home=found[index].version,
                path=path,
                line=change.line,
                kind=change.kind,
                before=before,
                after=change.text,
                upstream=after,
                older=nearest,
            )


class Change(NamedTuple):
    """One change applied alone: its kind, its line, and the text that it makes."""

    kind: str
    line: int
    text: bytes


class Ranges(NamedTuple):
    """Lines of the text before, and those that take their place; 0-based, the ends excluded."""

    start: int
    end: int
    new_start: int
    new_end: int


def taken_apart(before: bytes, after: bytes) -> list[Change]:
    """Each hunk and each function of a change, applied alone.

    Left out is what is long, and a change of the version.
    """
    old, new = before.splitlines(True), after.splitlines(True)
    parts = [("hunk", ranges) for ranges in _changed(old, new)]
    parts += [("definition", ranges) for ranges in _functions(parsed(before), parsed(after))]
    changes: dict[bytes, Change] = {}
    for kind, (start, end, new_start, new_end) in parts:
        removed, added = old[start:end], new[new_start:new_end]
        size = 0
        for each in _changed(removed, added):
            size += each.end - each.start + each.new_end - each.new_start
        if 0 < size <= LONGEST and b"__version__" not in b"".join([*removed, *added]):
            text = b"".join([*old[:start], *added, *old[end:]])
            changes.setdefault(text, Change(kind, start + 1, text))
    return list(changes.values())


def _functions(before: ast.Module | None, after: ast.Module | None) -> Iterator[Ranges]:
    """The lines of each function that both trees have."""
    if before is None or after is None:
        return
    old, new = definitions(before), definitions(after)
    for name, node in old.items():
        if name in new and isinstance(node, FUNCTIONS):
            yield Ranges(*rows(node), *rows(new[name]))


def _changed(old: Sequence[bytes], new: Sequence[bytes]) -> list[Ranges]:
    """The ranges of lines that differ."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [Ranges(*code[1:]) for code in matcher.get_opcodes() if code[0] != "equal"]


# syntax ---------------------------------------------------------------------------------------
def parsed(data: bytes) -> ast.Module | None:
    """The tree of a text, None where it is not Python of the running interpreter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(data)
            compile(data, "text", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return None
    return tree


def same(one: object, other: object) -> bool:
    """Whether two trees are the same without positions and the `u` of strings."""
    if isinstance(one, ast.AST):
        if type(one) is not type(other):
            return False
        fields = [field for field in one._fields if field != "kind"]
        return all(same(getattr(one, field, None), getattr(other, field, None)) for field in fields)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def alike(one: ast.Module, other: ast.Module) -> bool:
    """Whether two trees are the same, wherever imports, functions and keyword arguments stand."""
    return same(one, other) or same(_in_order(one), _in_order(other))


def _in_order(tree: ast.Module) -> ast.Module:
    for node in reversed(list(ast.walk(tree))):  # what lies in a statement before it
        if isinstance(node, (ast.Module, ast.ClassDef)):
            movable = (*FUNCTIONS, ast.Import, ast.ImportFrom)
            node.body.sort(key=lambda each: ast.dump(each) if isinstance(each, movable) else "")
        elif isinstance(node, ast.Call) and all(each.arg for each in node.keywords):
            node.keywords.sort(key=lambda each: str(each.arg))
    return tree


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree with its docstrings emptied, in place."""
    for node in ast.walk(tree):
        if not isinstance(node, (*DEFINITIONS, ast.Module)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body[0].value.value = ""  # type: ignore[attr-defined]
    return tree


def definitions(tree: ast.AST) -> dict[str, Definition]:
    """The definitions whose qualified name occurs once, in the order of the text.

    Those inside functions do not count.
    """
    return {name: nodes[0] for name, nodes in _by_name(tree).items() if len(nodes) == 1}


def doubled(tree: ast.AST) -> set[str]:
    """The qualified names of definitions that occur more than once.

    An edit that makes one is half of a change.
    """
    return {name for name, nodes in _by_name(tree).items() if len(nodes) > 1}


def _by_name(tree: ast.AST) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}

    def collect(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DEFINITIONS):
                found.setdefault(prefix + child.name, []).append(child)
                if isinstance(child, ast.ClassDef):
                    collect(child, f"{prefix}{child.name}.")
            else:
                collect(child, prefix)

    collect(tree, "")
    return found


def rows(node: ast.stmt) -> tuple[int, int]:
    """The first row of a statement with its decorators and the one after its last, 0-based."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return first - 1, node.end_lineno or node.lineno


def unbound(data: bytes) -> frozenset[str]:
    """The names that a text reads and nothing binds, each with the scope that reads it."""
    top = symtable.symtable(data.decode("utf-8", "replace"), "text", "exec")
    bound = {*dir(builtins), "__file__", "__path__", "__name__"}
    found = []

    def collect(table: symtable.SymbolTable, scope: str) -> None:
        for symbol in table.get_symbols():
            name = symbol.get_name()
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if binds and (table is top or symbol.is_declared_global()):
                bound.add(name)
            elif symbol.is_referenced() and (symbol.is_global() or table is top):
                found.append((name, scope))
        for child in table.get_children():
            collect(child, f"{scope}.{child.get_name()}")

    collect(top, "")
    return frozenset(name + scope for name, scope in found if name not in bound)
