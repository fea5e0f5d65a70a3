"""What another release has under another name: a local, or a string with another version.

In a hunk it is a placeholder.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, product
from keyword import iskeyword
from typing import Iterator, Mapping

from patcher.author.hunks.context import THEIRS, Candidate
from patcher.author.hunks.differences import scope_of
from patcher.author.hunks.excerpts import Line
from patcher.author.hunks.names import names_bound, names_in
from patcher.engine.lex import LAYOUT, tokens
from patcher.engine.tree import Node, Tree
from patcher.message import Message

_FEWEST = 2  # names and strings that stay, and name the place
_MOST_RENAMED = 2  # parts of a hunk that are others in another release
_MOST_WAYS = 60
_ALIKE = 0.7  # the part of their code that one function under two names shares
_CLEAR = 0.2  # how far others are from that
_VERSION = re.compile(r"\bv?\d+(\.\d+)+\w*")


def renamed(candidate: Candidate, home: Tree, other: Tree) -> Iterator[tuple[Candidate, Candidate]]:
    """A candidate with placeholders for what its definition does not have in another release.

    That is locals, and strings with versions.

    Yields:
        it, and the candidate with what only the definition there has in their place: each way to
        say what.
    """
    here, there = _definition(home, candidate.scope), _definition(other, candidate.scope)
    if here is None or there is None:
        return
    words: set[str] = set()
    kept: set[str] = set()  # those that say which place is meant
    for tag, line in candidate.lines:
        for token in tokens(line):
            if token.kind not in ("name", "hole", "string"):
                continue
            words.add(token.text)
            if tag != "+" and token.kind != "hole" and not iskeyword(token.text):
                kept.add(token.text)

    ways = _other_names(here, there, words=words)
    ways.update(_other_versions(_strings(home, here), _strings(other, there), words=words))
    if not ways or len(ways) > _MOST_RENAMED or len(kept - {"self", "cls", *ways}) < _FEWEST:
        return
    placeholders = _placeholders(list(ways))
    names = set(placeholders.values())
    if names & words or len(names) < len(ways):
        return
    if not all(name[1:].isidentifier() for name in names):
        return

    left_open = "`, `".join(ways)
    form = Message("{form}, `{names}` left open", form=candidate.form, names=left_open)
    wide = _with_others(candidate, placeholders)._replace(form=form)
    for others in islice(product(*ways.values()), _MOST_WAYS):
        yield wide, _with_others(candidate, dict(zip(ways, others)))


def _other_names(here: Node, there: Node, words: set[str]) -> dict[str, list[str]]:
    """The locals among these words that a function does not have there, and what may be each."""
    new = sorted(_locals(there) - _locals(here))
    return dict.fromkeys(sorted(_locals(here) - _locals(there) & words), new)


def _other_versions(
    here: frozenset[str], there: frozenset[str], words: set[str]
) -> dict[str, list[str]]:
    """The strings among these words that have another version there, and what may be each."""
    ways: dict[str, list[str]] = {}
    for text in sorted((words & here) - there):
        if not _VERSION.search(text):
            continue
        without = _VERSION.sub("", text)
        ways[text] = sorted(each for each in there - here if _VERSION.sub("", each) == without)
    return ways


def _placeholders(texts: list[str]) -> dict[str, str]:
    """A placeholder for each of these names and strings."""
    names: list[str] = []
    placeholders: dict[str, str] = {}
    for number, text in enumerate(texts):
        name = text.strip("_").upper() if text.isidentifier() else "VERSION"
        placeholders[text] = f"${name}{number}" if name in names else f"${name}"
        names.append(name)
    return placeholders


def under_other_name(candidate: Candidate, home: Tree, other: Tree) -> Candidate | None:
    """A candidate for the function of another release that has most of the code of its function.

    It has a name of its own.
    """
    scope = _other_scope(home, candidate.scope, other=other)
    if not scope:
        return None
    template = "{form}, in `{scope}`, which another release has in its place"
    form = Message(template, form=candidate.form, scope=scope)
    names = {candidate.scope.rpartition(".")[2]: scope.rpartition(".")[2]}
    there = _with_others(candidate, names)
    return there._replace(scope=scope, form=form, further_forms=(), otherwise=THEIRS)


@lru_cache(maxsize=64)
def _other_scope(home: Tree, scope: str, other: Tree) -> str:
    """The function that another release has for one, "" for none.

    It is the only one that is much like it, and that is not there.
    """
    here = _definition(home, scope)
    if here is None or here.kind != "FunctionDef":
        return ""
    known = {scope_of(node) for node in home.root.walk() if node.kind == "FunctionDef"}
    likeness: list[tuple[float, str]] = [(0.0, ""), (0.0, "")]
    for node in other.root.walk():
        if node.kind == "FunctionDef" and scope_of(node) not in known:
            likeness.append((_likeness(home, here, other, node), scope_of(node)))
    likeness.sort(reverse=True)
    best, second = likeness[:2]
    return best[1] if best[0] >= _ALIKE and second[0] <= best[0] - _CLEAR else ""


def _likeness(home: Tree, here: Node, other: Tree, there: Node) -> float:
    """The part of the code that two functions share."""
    one, two = _body(home, here), _body(other, there)
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) <= _ALIKE:
        return 0.0
    return matcher.ratio()


def _body(source: Tree, function: Node) -> list[str]:
    """The tokens in the body of a function."""
    text = source.text[function.node("body").begin : function.outer_end]
    return [token.text for token in tokens(text) if token.kind not in LAYOUT]


@lru_cache(maxsize=64)
def _definition(source: Tree, scope: str) -> Node | None:
    """The only definition with this qualified name, or the module."""
    if scope == "<module>":
        return source.root
    found: list[Node] = []
    for node in source.root.walk():
        if node.is_definition and scope_of(node) == scope:
            found.append(node)
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=64)
def _locals(node: Node) -> frozenset[str]:
    """The names that are local to a function."""
    if node.kind != "FunctionDef":
        return frozenset()
    parameters: list[Node] = []
    for param in node.node("params").items("params"):
        if "name" in param.fields:
            parameters.append(param.node("name"))
    return frozenset(names_bound(list(node.node("body").walk())) | names_in(parameters))


@lru_cache(maxsize=64)
def _strings(source: Tree, node: Node) -> frozenset[str]:
    """The strings in a definition, as they are written."""
    code = source.text[node.start : node.outer_end] if node.is_definition else source.text
    return frozenset(token.text for token in tokens(code) if token.kind == "string")


def _with_others(candidate: Candidate, others: Mapping[str, str]) -> Candidate:
    """A candidate with other text for these names and strings.

    Attributes and the keywords of calls stay.
    """
    lines: list[Line] = []
    for tag, line in candidate.lines:
        lines.append((tag, _with_other_words(line, others)))
    return candidate._replace(lines=tuple(lines))


def _with_other_words(line: str, others: Mapping[str, str]) -> str:
    code, depth, last = "", 0, ""
    found = tokens(line)
    for number, token in enumerate(found):
        if token.kind == "op" and token.text in ("(", "[", "{"):
            depth += 1
        elif token.kind == "op" and token.text in (")", "]", "}"):
            depth -= 1
        following = found[number + 1].text if number + 1 < len(found) else ""
        is_keyword = depth > 0 and following == "="
        is_name = token.kind == "name" and last != "." and not is_keyword
        if is_name or token.kind == "string":
            code += others.get(token.text, token.text)
        else:
            code += token.text
        last = token.text
    return code
