"""A patchset to begin with: a hunk for a real function of a package, and words that say how to write another one."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, NamedTuple, Optional, Union

from patcher.author.draft import TO_DO, Draft, DraftFile, DraftHunk
from patcher.author.folder import Head, PackageRange, patchset_files
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from patcher.planner.known import Request
from patcher.survey import rewriter

_PROSE = """\
{to_do}: why this patch exists, and what it costs. `sitepatch show {name}` shows all text above the first line with a path.

The path below is a file of {package}, relative to the site directory. `@@ {scope} @@` names what is changed:
a function, method or class; `<module>` is the top level of the file. Lines that begin with a blank or `-` are looked for
there, by syntax: layout, comments and quotes do not matter. Those that begin with a blank or `+` are what is to stand there.

    ...       any run of statements, arguments or parameters, also an empty one
    $NAME     any one expression, name or statement; the same name twice is the same code twice
    $name     an option of the patchset, declared as [options.name] in patchset.toml

What is not written is not looked at and stays as it is. So write little: what names the place, and what changes. Where
both sides are one expression, it is found anywhere in the scope: `-f($X)` and below it `+g($X)`. A hunk has to match
exactly once, unless `count=N`, `count=all` or `when-present` stands behind the second `@@`.

    sitepatch diff {name}       what it changes here
    sitepatch check {name} --explain    why it fits, or does not
    sitepatch check {name}      what is still to be written, and what it makes of the texts in {name}/cases
"""


class TargetFunction(NamedTuple):
    """A function that is to be changed: the file, its text, the qualified name, the header with any parameters."""

    path: str
    text: bytes
    scope: str
    header: str


def functions(path: str, text: bytes, *, public: bool) -> Iterator[TargetFunction]:
    """The functions, then the methods of a file that can show the form; none if it is no Python."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    found = [(node, "") for node in body]
    found += [(node, f"{each.name}.") for each in body if isinstance(each, ast.ClassDef) for node in each.body]
    for node, outer in found:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_plain(node):
            scope = f"{outer}{node.name}"
            if public is not any(part.startswith("_") for part in scope.split(".")):
                word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
                yield TargetFunction(path, text, scope, f"{word} {node.name}(...):")


def _is_plain(node: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> bool:
    """Whether a function has a body below its header, and no decorator."""
    return not node.decorator_list and node.body[0].lineno > node.lineno


def skeleton(name: str, target: PackageRange, place: TargetFunction) -> Optional[Dict[str, str]]:
    """The texts of a patchset's folder with a hunk for a function, by file name; None where that hunk does not fit there.

    Args:
        name: of the patchset.
        target: the package, and the range that is known so far.
        place: the function.
    """
    inserted = f'print("{name}: {place.scope} is called")  # sitepatch: {name}'
    hunk = f"@@ {place.scope} @@\n {place.header}\n+    {inserted}\n     ...\n"
    draft = Draft((DraftFile((place.path,), (DraftHunk(hunk, 0, ""),)),))
    before = _stub(place)
    made = [_made(name, draft, text) for text in (place.text, before.encode())]
    if None in made:
        return None
    prose = _PROSE.format(to_do=TO_DO, name=name, package=target.package, scope=place.scope)
    about = {"author": f"{TO_DO}: who wrote it", "remove_when": f"{TO_DO}: what makes it unnecessary"}
    head = Head(name, f"{TO_DO}: what it changes, in one sentence", prose, about)
    cases = {"before": f"# case: {place.path}\n{before}", "after": (made[1] or b"").decode()}
    return {**patchset_files(head, draft, [target]), **{f"cases/first.{key}.py": text for key, text in cases.items()}}


def _stub(place: TargetFunction) -> str:
    """A small text with the function, for a case."""
    *outer, _ = place.scope.split(".")
    lines = [*(f"class {each}:" for each in outer), place.header.replace("...", "*args"), "    return args"]
    return "".join(f"{'    ' * bool(outer and at)}{line}\n" for at, line in enumerate(lines))


def _made(name: str, draft: Draft, text: bytes) -> Optional[bytes]:
    """What a draft makes of a text; None where it does not fit."""
    (patch,) = parse_spatch(draft.spatch(), name)[1]
    made = rewriter.rewrite_uncached(text, Request(name, patch.hunks, {}, (), patch.hunks))
    return made.data if [answer.state for answer in made.answers] == [State.APPLICABLE] else None
