"""Where a hunk matches in a text: the places still to change, and those where its after side is in place already."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from patcher.engine.imports import binds, has_imports, inserted_imports
from patcher.engine.in_place import change_of, is_in_place, written
from patcher.engine.match import MAX_MATCHES, Match, Matcher, MatchRange
from patcher.engine.node import Node
from patcher.engine.source import Source
from patcher.engine.spatch.side import Hunk, Side

_FEWEST = 2  # names without which statements are not known again where they stand elsewhere
_COMMON = {"self", "cls", "None", "True", "False"}


class FoundPlaces(NamedTuple):
    """Where a hunk matches: `todo` are the places still to change, `done` those where the after side is in place.

    `scopes` is the number of definitions that were searched, `steps` the number of steps the matcher took.
    """

    todo: list[MatchRange]
    done: list[MatchRange]
    scopes: int
    steps: int


def find_form(source: Source, hunk: Hunk) -> tuple[Hunk, FoundPlaces]:
    """The first form of a hunk of which a side is found, and where; the first one where none is (rule 29)."""
    tried: list[tuple[Hunk, FoundPlaces]] = []
    for form in hunk.forms:
        places = find_hunk(source, form)
        if places.todo:
            return form, _in_body(source, form, places) or places
        if places.done:
            return form, places
        tried.append((form, places))
    elsewhere = ((form, _elsewhere(source, form)) for form in hunk.forms)
    return next((places for places in elsewhere if places[1].done), tried[0])


def find_hunk(source: Source, hunk: Hunk) -> FoundPlaces:
    """Search the scope of one form; where that is not defined and the hunk renames it, the renamed scope."""
    places = find_in_scope(source, hunk, hunk.text.scope)
    renamed = not places.scopes and hunk.after_scope != hunk.text.scope
    return find_in_scope(source, hunk, hunk.after_scope) if renamed else places


def find_in_scope(source: Source, hunk: Hunk, scope: str) -> FoundPlaces:
    """Search the definitions that `scope` names, whatever scope the hunk itself has (format rules 21 to 24)."""
    blocks = scope_blocks(source, scope, hunk.before, hunk.after)
    matcher = Matcher(most=MAX_MATCHES)
    before = [place for block in blocks for place in side_places(hunk, hunk.before, block, matcher)]
    after_matcher = Matcher(most=MAX_MATCHES, anywhere=True)
    after: list[MatchRange] = []
    for block in blocks if hunk.proves_upstream else []:
        after += side_places(hunk, hunk.after, block, after_matcher)
    places = _found(hunk, before, after)
    places = places._replace(scopes=len(blocks), steps=matcher.steps + after_matcher.steps)
    if places.done and not places.todo and still_there(hunk, blocks, after):
        return places._replace(done=[])
    return _with_imports(source, hunk, places)


def _with_imports(source: Source, hunk: Hunk, places: FoundPlaces) -> FoundPlaces:
    """The places of a hunk whose imports the module has already, wherever they stand: none is left to change (rule 24)."""
    if places.done and not places.todo:
        return places
    wanted = inserted_imports(hunk)
    if hunk.text.flags.when_present:
        bound = {each.bound for each in wanted}
        return places._replace(todo=[]) if bound and binds(source, bound) else places
    start = has_imports(source, wanted)
    if start is None:
        return places
    end = source.lines.end(start)
    standing = MatchRange(
        start, end, [Node("Opaque", (start, start, end, end))], (Match(start, end, {}, {}),)
    )
    return places._replace(todo=[], done=[standing])


def _found(hunk: Hunk, before: list[MatchRange], after: list[MatchRange]) -> FoundPlaces:
    """Sort the places of the two sides into `todo` and `done`."""
    if hunk.before.nodes and all(node.role == "run" for node in hunk.before.nodes):
        todo = [] if after else before
    else:
        todo = before
        if after and before:
            change = change_of(hunk)
            todo = [place for place in before if not is_in_place(hunk, change, place, after)]
    # An after match inside a place still to change proves nothing (rule 22), nor does one inside another.
    return FoundPlaces(todo, outermost(after, [*todo, *after]), 0, 0)


def outermost(places: Sequence[MatchRange], outer: Sequence[MatchRange]) -> list[MatchRange]:
    """The places that lie in none of the others."""
    return [
        part
        for part in places
        if not any(o is not part and o.start <= part.start and part.end <= o.end for o in outer)
    ]


def _elsewhere(source: Source, hunk: Hunk) -> FoundPlaces:
    """Where all that a form inserts stands elsewhere in its scope, with nothing left there of what it removes (rule 22)."""
    removed, blocks = hunk.before.own_statements(), _blocks(source, hunk)
    matcher = Matcher(most=1)
    hits = _inserted(hunk, blocks, matcher) if removed is not None else []
    if not hits or any(_places(hunk, run, blocks, matcher) for run in removed or ()):
        return FoundPlaces([], [], 0, 0)
    return FoundPlaces([], hits[:1], len(blocks), matcher.steps)


def _in_body(source: Source, hunk: Hunk, found: FoundPlaces) -> FoundPlaces | None:
    """Where what a form inserts stands in the block of its anchor, on the same side of it, with other code in between.

    Only for one that does nothing else, and has one anchor: above or below what it inserts, or the header around it. None
    where it stands nowhere there (rule 22).
    """
    nodes, added = hunk.after.nodes, hunk.after.own_statements() or []
    if len(found.todo) != 1 or found.done or len(added) != 1 or hunk.before.own_statements() != []:
        return None
    hits = _inserted(hunk, _blocks(source, hunk), Matcher(most=1))
    anchor = found.todo[0]
    for hit in hits:
        block = hit.siblings[0].parent
        same_block = hit.siblings[0].parent is anchor.siblings[0].parent
        below = added[0][-1] is nodes[-1] and hit.start >= anchor.end
        above = added[0][0] is nodes[0] and hit.end <= anchor.start
        owner = block.parent if block is not None else None
        inside = len(nodes) == 1 and owner is not None and owner in anchor.siblings
        inside = inside and anchor.start <= hit.start and hit.end <= anchor.end
        if inside or (same_block and (above or below)):
            return FoundPlaces([], hits, found.scopes, found.steps)
    return None


def _inserted(hunk: Hunk, blocks: list[Node], matcher: Matcher) -> list[MatchRange]:
    """The places of all that a hunk inserts, each of which stands in its scope once; none where that tells too little."""
    text = hunk.text
    is_plain = (
        not text.flags.when_present and text.flags.expected == 1 and text.flags.inside is None
    )
    added = hunk.after.own_statements() or []
    if hunk.form != "statements" or not (is_plain and hunk.proves_upstream and added):
        return []
    nodes = [node for run in added for top in run for node in top.walk()]
    names = {node.fields["value"] for node in nodes if node.kind == "Name"} - _COMMON
    if len(names) < _FEWEST or any(node.role for node in nodes):
        return []
    hits_by_run = [_places(hunk, run, blocks, matcher) for run in added]
    if any(len(hits) != 1 for hits in hits_by_run):
        return []
    return [hits[0] for hits in hits_by_run]


def _places(hunk: Hunk, run: list[Node], blocks: list[Node], matcher: Matcher) -> list[MatchRange]:
    """Where statements stand in these blocks; at the top level of a module not what is in an `if`."""
    module = hunk.text.scope == "<module>"
    hits = [
        place
        for block in blocks
        for place in matcher.runs(run, block, module=module, clauses=False)
    ]
    if not module:
        return hits
    return [place for place in hits if all(up.kind != "If" for up in place.siblings[0].ancestors())]


def _blocks(source: Source, hunk: Hunk) -> list[Node]:
    return scope_blocks(source, hunk.text.scope, hunk.before, hunk.after)


def already_deleted(source: Source, hunk: Hunk, places: FoundPlaces) -> bool:
    """Whether a hunk that only deletes has nothing to delete, while all that it keeps is in its scope (rule 25)."""
    kept = hunk.after.nodes
    if places.todo or places.done:
        return False
    if any(tag == "+" and line.strip() for tag, line, _ in hunk.text.lines):
        return False
    if not kept:  # a deleted definition may have been its whole scope
        kinds = [node.kind for node in hunk.before.nodes]
        return bool(places.scopes) or kinds in (["FunctionDef"], ["ClassDef"])
    blocks = scope_blocks(source, hunk.text.scope, hunk.before, hunk.after)
    after: list[MatchRange] = []
    for block in blocks:
        after += side_places(hunk, hunk.after, block, Matcher(most=MAX_MATCHES))
    return bool(after) and not still_there(hunk, blocks, after)


def still_there(
    hunk: Hunk, blocks: Sequence[Node], after: Sequence[MatchRange]
) -> list[MatchRange]:
    """Where the statements that a hunk deletes, and puts nothing in the place of, stand in its scope all the same.

    What the after side keeps is not meant, which may be the same statement a second time.
    """
    if hunk.form == "expression":
        return []
    kept = {id(code) for place in after for match in place.matches for code in written(hunk, match)}
    module, standing = hunk.text.scope == "<module>", []
    for deleted in change_of(hunk).deleted:
        clauses = deleted[0].is_clause
        for block in blocks:
            for place in Matcher(most=1).runs(deleted, block, module=module, clauses=clauses):
                match = place.matches[0]
                codes = (match.nodes.get(id(node)) for node in deleted)
                if not all(id(code) in kept for code in codes):
                    standing.append(place)
    return standing


def scope_blocks(source: Source, scope: str, *sides: Side) -> list[Node]:
    """The blocks of a scope in which one of these sides may match (see `Source.scopes`)."""
    identifiers = [names for side in sides for names in side.identifiers()]
    return source.scopes(scope, identifiers, bodies=any(side.writes_body() for side in sides))


def side_places(hunk: Hunk, side: Side, block: Node, matcher: Matcher) -> list[MatchRange]:
    """Where one side of a hunk matches in a block, inside the statements that the hunk names (rule 28)."""
    module, places = hunk.text.scope == "<module>", []
    if hunk.form == "expression":
        places = matcher.expressions(side.nodes[0], block, module=module)
    else:
        places = matcher.runs(side.nodes, block, module=module, clauses=hunk.form == "clauses")
    inside = hunk.text.flags.inside
    if inside is not None:
        places = [
            place for place in places if _enclosing_keywords(place, block, module=module) == inside
        ]
    return places


def surroundings(source: Source, hunk: Hunk) -> Iterator[tuple[MatchRange, tuple[str, ...]]]:
    """Where the before side matches in its scope, whatever `inside` says, each with its `inside`."""
    anywhere = hunk._replace(text=hunk.text._replace(flags=hunk.text.flags._replace(inside=None)))
    scope = hunk.text.scope
    for block in scope_blocks(source, scope, hunk.before):
        for place in side_places(anywhere, hunk.before, block, Matcher(most=1)):
            yield place, _enclosing_keywords(place, block, module=scope == "<module>")


def _enclosing_keywords(place: MatchRange, block: Node, *, module: bool) -> tuple[str, ...]:
    """The keywords of the statements around a place, within the scope that `block` holds."""
    return enclosing_keywords(place.siblings[0], None if module else block.items("body")[0])


def enclosing_keywords(node: Node, scope: Node | None) -> tuple[str, ...]:
    """The keywords of the statements whose bodies or clauses hold a node, the outermost first, the scope's own left out."""
    keywords: list[str] = []
    while node is not scope and node.parent is not None:
        owner = node.parent
        if owner is not scope and owner.is_compound and node.field() in ("body", "clauses"):
            keywords.append(
                "def"
                if owner.kind == "FunctionDef"
                else owner.kind.lower().replace("classdef", "class")
            )
        node = owner
    return tuple(reversed(keywords))
