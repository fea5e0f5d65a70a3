"""A local name that another release has otherwise: in a hunk a placeholder takes its place."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from keyword import iskeyword
from typing import FrozenSet, Iterator, Mapping, Optional, Tuple

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.differences import scope_of
from patcher.author.hunks.names import names_bound, names_in
from patcher.engine import lex
from patcher.engine.node import Node
from patcher.engine.source import Source
from patcher.message import Message

_FEWEST = 2  # names and strings that stay, and name the place
_MOST_RENAMED = 2  # names of a hunk that are others in another release
_MOST_NEW = 8  # names that they may be there


def renamed(candidate: Candidate, home: Source, other: Source) -> Iterator[Tuple[Candidate, Candidate]]:
    """A candidate with placeholders for the locals that its function does not have in another release.

    Yields:
        it, and the candidate with the names in their place that only the function there has: each way to say which.
    """
    here, there = (_function(source, candidate.scope) for source in (home, other))
    if here is None or there is None or candidate.in_string:
        return
    found = [(tag, token) for tag, line in candidate.lines for token in lex.tokens(line) if token.kind not in lex.LAYOUT]
    words = {token.text for _, token in found if token.kind in ("name", "hole")}
    gone = sorted((_locals(here) - _locals(there)) & words)
    kept = {
        token.text for tag, token in found if tag != "+" and token.kind in ("name", "string") and not iskeyword(token.text)
    }
    if len(kept - {"self", "cls", *gone}) < _FEWEST:
        return
    new = sorted(_locals(there) - _locals(here))
    if gone and len(gone) <= _MOST_RENAMED and len(new) <= _MOST_NEW:
        holes = {name: "$" + name.strip("_").upper() for name in gone}
        if len({*holes.values()} - words) == len(gone) and all(hole[1:].isidentifier() for hole in holes.values()):
            for names in permutations(new, len(gone)):
                form = Message("{form}, `{names}` left open", form=candidate.form, names="`, `".join(gone))
                yield _with_names(candidate, holes)._replace(form=form), _with_names(candidate, dict(zip(gone, names)))


@lru_cache(maxsize=64)
def _function(source: Source, scope: str) -> Optional[Node]:
    """The only function with this qualified name."""
    found = [node for node in source.whole().walk() if node.kind == "FunctionDef" and scope_of(node) == scope]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=64)
def _locals(function: Node) -> FrozenSet[str]:
    parameters = [param.node("name") for param in function.node("params").items("params") if "name" in param.fields]
    return frozenset(names_bound(list(function.node("body").walk())) | names_in(parameters))


def _with_names(candidate: Candidate, names: Mapping[str, str]) -> Candidate:
    """A candidate with other names for these; attributes and the keywords of calls stay."""
    lines = []
    for tag, line in candidate.lines:
        code, depth, last = "", 0, ""
        found = lex.tokens(line)
        for number, token in enumerate(found):
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}")) if token.kind == "op" else 0
            keyword = depth > 0 and found[number + 1 : number + 2] and found[number + 1].text == "="
            is_name = token.kind == "name" and last != "." and not keyword
            code += names.get(token.text, token.text) if is_name else token.text
            last = token.text
        lines.append((tag, code))
    return candidate._replace(lines=tuple(lines))
