"""What another release has under another name: a local, or a string with another version; in a hunk it is a placeholder."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, product
from keyword import iskeyword
from typing import Iterator, Mapping

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import scope_of
from patcher.author.hunks.names import names_bound, names_in
from patcher.engine.lex import LAYOUT, tokens
from patcher.engine.tree import Node, Tree
from patcher.message import Message

_FEWEST = 2  # names and strings that stay, and name the place
_MOST_RENAMED = 2  # parts of a hunk that are others in another release
_MOST_WAYS = 60
# the part of their code that one function under two names shares; how far others are from that
_ALIKE, _CLEAR = (
    0.7,
    0.2,
)
_VERSION = re.compile(r"\bv?\d+(\.\d+)+\w*")


def renamed(candidate: Candidate, home: Tree, other: Tree) -> Iterator[tuple[Candidate, Candidate]]:
    """A candidate with placeholders for what its definition does not have in another release: locals, strings with versions.

    Yields:
        it, and the candidate with what only the definition there has in their place: each way to say what.
    """
    here, there = (_definition(source, candidate.scope) for source in (home, other))
    if here is None or there is None:
        return
    found = [
        (tag, token)
        for tag, line in candidate.lines
        for token in tokens(line)
        if token.kind not in LAYOUT
    ]
    words = {token.text for _, token in found if token.kind in ("name", "hole", "string")}
    new = sorted(_locals(there) - _locals(here))
    ways: dict[str, list[str]] = dict.fromkeys(sorted(_locals(here) - _locals(there) & words), new)
    strings, used = _strings(other, there), _strings(home, here)
    for text in sorted(text for text in (words & used) - strings if _VERSION.search(text)):
        ways[text] = sorted(
            each for each in strings - used if _VERSION.sub("", each) == _VERSION.sub("", text)
        )
    kept = {
        token.text
        for tag, token in found
        if tag != "+" and token.kind in ("name", "string") and not iskeyword(token.text)
    }
    if not ways or len(ways) > _MOST_RENAMED or len(kept - {"self", "cls", *ways}) < _FEWEST:
        return
    names = [name.strip("_").upper() if name.isidentifier() else "VERSION" for name in ways]
    holes = {
        text: f"${name}{number if name in names[:number] else ''}"
        for number, (text, name) in enumerate(zip(ways, names))
    }
    if len({*holes.values()} - words) == len(ways) and all(
        hole[1:].isidentifier() for hole in holes.values()
    ):
        form = Message("{form}, `{names}` left open", form=candidate.form, names="`, `".join(ways))
        for others in islice(product(*ways.values()), _MOST_WAYS):
            yield (
                _with_others(candidate, holes)._replace(form=form),
                _with_others(candidate, dict(zip(ways, others))),
            )


def under_other_name(candidate: Candidate, home: Tree, other: Tree) -> Candidate | None:
    """A candidate for the function of another release that has most of the code of its function, and a name of its own."""
    scope = _other_scope(home, candidate.scope, other)
    form = Message(
        "{form}, in `{scope}`, which another release has in its place",
        form=candidate.form,
        scope=scope,
    )
    names = {candidate.scope.rpartition(".")[2]: scope.rpartition(".")[2]}
    return (
        _with_others(candidate, names)._replace(scope=scope, form=form, others=(), renamed=True)
        if scope
        else None
    )


@lru_cache(maxsize=64)
def _other_scope(home: Tree, scope: str, other: Tree) -> str:
    """The function that another release has for one: the only one that is much like it, and that is not there; "" for none."""
    here, functions = _definition(home, scope), [source.root.walk() for source in (home, other)]
    known, nodes = ([node for node in walk if node.kind == "FunctionDef"] for walk in functions)
    scopes = {scope_of(node) for node in known}
    new = (
        [node for node in nodes if scope_of(node) not in scopes]
        if here is not None and here.kind == "FunctionDef"
        else []
    )
    likeness = sorted(
        ((_likeness(home, here, other, node), scope_of(node)) for node in new if here), reverse=True
    )
    best, second = [*likeness, (0.0, ""), (0.0, "")][:2]
    return best[1] if best[0] >= _ALIKE and second[0] <= best[0] - _CLEAR else ""


def _likeness(home: Tree, here: Node, other: Tree, there: Node) -> float:
    """The part of the code that two functions share."""
    texts = [
        source.text[node.node("body").begin : node.outer_end]
        for source, node in ((home, here), (other, there))
    ]
    one, two = (
        [token.text for token in tokens(text) if token.kind not in LAYOUT] for text in texts
    )
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    return (
        matcher.ratio() if min(matcher.real_quick_ratio(), matcher.quick_ratio()) > _ALIKE else 0.0
    )


@lru_cache(maxsize=64)
def _definition(source: Tree, scope: str) -> Node | None:
    """The only definition with this qualified name, or the module."""
    found = [node for node in source.root.walk() if node.is_definition and scope_of(node) == scope]
    return source.root if scope == "<module>" else found[0] if len(found) == 1 else None


@lru_cache(maxsize=64)
def _locals(node: Node) -> frozenset[str]:
    """The names that are local to a function."""
    if node.kind != "FunctionDef":
        return frozenset()
    parameters = [
        param.node("name")
        for param in node.node("params").items("params")
        if "name" in param.fields
    ]
    return frozenset(names_bound(list(node.node("body").walk())) | names_in(parameters))


@lru_cache(maxsize=64)
def _strings(source: Tree, node: Node) -> frozenset[str]:
    """The strings in a definition, as they are written."""
    code = source.text[node.start : node.outer_end] if node.is_definition else source.text
    return frozenset(token.text for token in tokens(code) if token.kind == "string")


def _with_others(candidate: Candidate, others: Mapping[str, str]) -> Candidate:
    """A candidate with other text for these names and strings; attributes and the keywords of calls stay."""
    lines = []
    for tag, line in candidate.lines:
        code, depth, last = "", 0, ""
        found = tokens(line)
        for number, token in enumerate(found):
            depth += (
                (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
                if token.kind == "op"
                else 0
            )
            keyword = depth > 0 and found[number + 1 : number + 2] and found[number + 1].text == "="
            is_whole = token.kind == "string" or (
                token.kind == "name" and last != "." and not keyword
            )
            code += others.get(token.text, token.text) if is_whole else token.text
            last = token.text
        lines.append((tag, code))
    return candidate._replace(lines=tuple(lines))
