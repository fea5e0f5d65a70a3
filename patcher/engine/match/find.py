"""Where a hunk stands in a text: the places still to change, and those where its after side is in place."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple

from patcher.engine.in_string import FORM, searched, text_places
from patcher.engine.match.match import MAX_WAYS, Matcher, Place
from patcher.engine.node import COMPOUND, Node
from patcher.engine.source import Source
from patcher.engine.spatch.pattern import Hunk
from patcher.engine.spatch.side import Side, identifiers, writes_body


class Found(NamedTuple):
    """Where a hunk stands in a text: places still to change, and places where the after side is in place.

    `scopes` is the number of definitions that were searched, `steps` the work that took.
    """

    todo: List[Place]
    done: List[Place]
    scopes: int
    steps: int


def find_hunk(source: Source, hunk: Hunk) -> Found:
    """Search the scope of a hunk, or the one that its after side makes of it where that stands there instead."""
    found = find(source, hunk, hunk.text.scope)
    renamed = not found.scopes and hunk.after_scope != hunk.text.scope
    return find(source, hunk, hunk.after_scope) if renamed else found


def find(source: Source, hunk: Hunk, scope: str) -> Found:
    """Search the definitions that `scope` names (format rules 21 to 23)."""
    if hunk.form == FORM:
        ranges = searched(source, scope)
        after = text_places(source, ranges, hunk.after) if hunk.proves else []
        return _found(hunk, text_places(source, ranges, hunk.before), after)._replace(scopes=len(ranges))
    wanted = [*identifiers(hunk.before), *identifiers(hunk.after)]
    bodies = writes_body(hunk.before) or writes_body(hunk.after)
    blocks = source.scopes(scope, wanted, bodies=bodies)
    matcher = Matcher(most=MAX_WAYS)
    before = [place for block in blocks for place in places(hunk, hunk.before, block, matcher)]
    there = Matcher(most=MAX_WAYS, anywhere=True)
    after = [place for block in blocks for place in places(hunk, hunk.after, block, there)] if hunk.proves else []
    return _found(hunk, before, after)._replace(scopes=len(blocks), steps=matcher.steps + there.steps)


def _found(hunk: Hunk, before: List[Place], after: List[Place]) -> Found:
    """The places of the two sides as places still to change, and places in place."""
    if hunk.text.expected == 0:
        before = _outermost(before, before)
    if hunk.before.nodes and all(node.role == "run" for node in hunk.before.nodes):
        todo = [] if after else before
    else:
        todo = [place for place in before if not any(_covers(hunk, other, place) for other in after)]
    # An after match inside a place still to change proves nothing (rule 22), nor does one inside another.
    return Found(todo, _outermost(after, [*todo, *after]), 0, 0)


def _outermost(found: List[Place], others: List[Place]) -> List[Place]:
    """The places that lie in none of the others."""
    return [one for one in found if not any(o is not one and o.start <= one.start and one.end <= o.end for o in others)]


def is_gone(source: Source, hunk: Hunk, found: Found) -> bool:
    """Whether a hunk that only deletes has nothing to delete, while all that it keeps stands in its scope (rule 25)."""
    kept = hunk.after.nodes
    if found.todo or found.done or any(tag == "+" and text.strip() for tag, text, _ in hunk.text.lines):
        return False
    if not kept:  # a definition may have gone with its scope
        return bool(found.scopes) or [node.kind for node in hunk.before.nodes] in (["FunctionDef"], ["ClassDef"])
    blocks = source.scopes(hunk.text.scope, identifiers(hunk.after), bodies=writes_body(hunk.after))
    return any(places(hunk, hunk.after, block, Matcher(most=1)) for block in blocks)


def _covers(hunk: Hunk, after: Place, before: Place) -> bool:
    """Whether a match of the after side shows that a place is changed already (rule 22).

    Code that merely lies in something a placeholder stands for was not looked at, and proves nothing.
    """
    if not (after.start <= before.start and before.end <= after.end):
        return False
    way = after.ways[0]
    held = [way.nodes.get(id(node)) for top in hunk.after.nodes for node in top.walk() if node.role in ("meta", "run")]
    bound = [code for found in held for code in (found if isinstance(found, list) else [found]) if code is not None]
    return not any(code.begin <= before.start and before.end <= code.end for code in bound)


def places(hunk: Hunk, side: Side, block: Node, matcher: Matcher) -> List[Place]:
    """Where one side of a hunk matches in a block, inside the statements that the hunk names (rule 29)."""
    module, found = hunk.text.scope == "<module>", []
    if hunk.form == "expression":
        found = matcher.expressions(side.nodes[0], block, module=module)
    else:
        found = matcher.runs(side.nodes, block, module=module, clauses=hunk.form == "clauses")
    inside = hunk.text.inside
    return found if inside is None else [place for place in found if _around(place, block, module=module) == inside]


def surroundings(source: Source, hunk: Hunk) -> Iterator[Tuple[Place, Tuple[str, ...]]]:
    """The places of the before side wherever in its scope, each with what `inside` would be for it; none for a string."""
    anywhere = hunk._replace(text=hunk.text._replace(inside=None))
    scope = hunk.text.scope
    if hunk.form != FORM:
        for block in source.scopes(scope, identifiers(hunk.before), bodies=writes_body(hunk.before)):
            for place in places(anywhere, hunk.before, block, Matcher(most=1)):
                yield place, _around(place, block, module=scope == "<module>")


def _around(place: Place, block: Node, *, module: bool) -> Tuple[str, ...]:
    """The keywords of the statements whose bodies or clauses hold a place, the outermost first, the scope's own left out."""
    scope = None if module else block.items("body")[0]
    keywords: List[str] = []
    node = place.siblings[0]
    while node is not scope and node.parent is not None:
        owner = node.parent
        if owner is not scope and owner.kind in COMPOUND and node.field() in ("body", "clauses"):
            keywords.append("def" if owner.kind == "FunctionDef" else owner.kind.lower().replace("classdef", "class"))
        node = owner
    return tuple(reversed(keywords))
