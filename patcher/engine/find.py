"""Where a hunk matches in a text: the places still to change, and those already changed."""

from __future__ import annotations

from typing import Iterator, Sequence

from patcher.engine.imports import binds_imports, standing_imports
from patcher.engine.in_place import change_of, is_in_place, written
from patcher.engine.match import MAX_MATCHES, Match, Matcher, MatchRange
from patcher.engine.node import Node, only_runs, walk_each
from patcher.engine.scoping import for_type_checkers
from patcher.engine.source import Source
from patcher.engine.spatch.side import Hunk, Side
from patcher.model import HunkFlags
from patcher.record import Record

_FEWEST = 2  # names without which statements are not known again where they stand elsewhere
_COMMON = {"self", "cls", "None", "True", "False"}
_KEYWORDS = {"FunctionDef": "def", "ClassDef": "class"}


class FoundPlaces(Record):
    """Where a hunk matches.

    `todo` are the places still to change, `done` those where the after side is in place. `scopes`
    is the number of definitions that were searched, `steps` the number of steps the matcher took.
    """

    todo: list[MatchRange]
    done: list[MatchRange]
    scopes: int
    steps: int

    @property
    def all(self) -> list[MatchRange]:
        """The places still to change, then the others."""
        return [*self.todo, *self.done]


# the form that counts -----------------------------------------------------------------------------
def find_form(source: Source, hunk: Hunk) -> tuple[Hunk, FoundPlaces]:
    """The first form of a hunk of which a side is found, and where.

    Where no side of any is found, that is the first of which the change stands elsewhere in its
    scope, else the first one (rules 23 and 29).
    """
    attempts: list[tuple[Hunk, FoundPlaces]] = []
    for form in hunk.forms:
        places = find_hunk(source, form)
        if places.todo:
            inserted = _inserted_by_other(source, hunk, form, found=places)
            if inserted is not None:
                return inserted
            return form, _beside_anchor(source, form, places) or places
        if places.done:
            return form, places
        attempts.append((form, places))

    for form in hunk.forms:
        places = _elsewhere(source, form)
        if places.done:
            return form, places

    return attempts[0]


def _inserted_by_other(
    source: Source,
    hunk: Hunk,
    form: Hunk,
    found: FoundPlaces,
) -> tuple[Hunk, FoundPlaces] | None:
    """The form whose insertion stands at each place where `form` would insert (rule 29).

    What `form` inserts beside is there with the insertion, too: it alone cannot tell.
    """
    if len(hunk.forms) == 1 or not _only_inserts(form):
        return None
    for other in hunk.forms:
        if other is form or not _only_inserts(other):
            continue
        places = find_hunk(source, other)
        if not places.todo and all(_is_inside(place, places.done) for place in found.todo):
            return other, places
    return None


def _only_inserts(form: Hunk) -> bool:
    """Whether a form adds statements and removes none."""
    return form.before.own_statements() == [] and bool(form.after.own_statements())


def _is_inside(place: MatchRange, others: Sequence[MatchRange]) -> bool:
    """Whether a place is inside one of others, itself not counted."""
    return any(
        other is not place and other.start <= place.start and place.end <= other.end
        for other in others
    )


def find_hunk(source: Source, hunk: Hunk) -> FoundPlaces:
    """Search the scope of one form; if it is gone and the hunk renames it, the renamed one."""
    places = find_in_scope(source, hunk, hunk.text.scope)
    if not places.scopes and hunk.upstream.scope != hunk.text.scope:
        return find_in_scope(source, hunk, hunk.upstream.scope)
    return places


def find_in_scope(source: Source, hunk: Hunk, scope: str) -> FoundPlaces:
    """Search the definitions that `scope` names, whatever the hunk's own (rules 22 to 25)."""
    blocks = scope_blocks(source, scope, hunk.before, hunk.after)
    before_matcher = Matcher(most=MAX_MATCHES)
    before = _side_places(hunk, hunk.before, blocks, before_matcher)
    before = _that_run(source, hunk, before)
    after_matcher = Matcher(most=MAX_MATCHES, anywhere=True)
    after: list[MatchRange] = []
    if hunk.upstream.is_proof:
        after = _side_places(hunk, hunk.after, blocks, after_matcher)
        after = _that_run(source, hunk, after)

    todo = _still_to_change(hunk, before, after)
    # A match of the after side inside a place still to change, or inside another one, proves
    # nothing (rule 23).
    done = outermost(after, [*todo, *after])
    if done and not todo:
        if still_there(hunk, blocks, after):
            done = []
    else:
        todo, done = _with_imports(source, hunk, todo, done)

    steps = before_matcher.steps + after_matcher.steps
    return FoundPlaces(todo, done, scopes=len(blocks), steps=steps)


def _that_run(source: Source, hunk: Hunk, places: list[MatchRange]) -> list[MatchRange]:
    """The places of a hunk for any place of a module, without those for type checkers alone."""
    is_anywhere = bool(hunk.before.nodes) and only_runs(hunk.before.nodes)
    if not places or not is_anywhere or source.tree is None:
        return places
    hidden = {node.lineno for node in for_type_checkers(source.tree.body)}
    return [place for place in places if source.lines.number(place.start) not in hidden]


def _still_to_change(
    hunk: Hunk,
    before: list[MatchRange],
    after: list[MatchRange],
) -> list[MatchRange]:
    """The places of the before side without proof that the change is in place."""
    if not before or not after:
        return before
    if hunk.before.nodes and only_runs(hunk.before.nodes):
        return []

    change = change_of(hunk)
    return [place for place in before if not is_in_place(hunk, change, place, after)]


def _with_imports(
    source: Source,
    hunk: Hunk,
    todo: list[MatchRange],
    done: list[MatchRange],
) -> tuple[list[MatchRange], list[MatchRange]]:
    """The places of a hunk; none is left to change if the module has its imports (rule 25)."""
    if hunk.text.flags.when_present:
        if binds_imports(source, hunk):
            return [], done
        return todo, done

    start = standing_imports(source, hunk)
    if start is None:
        return todo, done

    end = source.lines.end(start)
    node = Node("Opaque", (start, start, end, end))
    match = Match(start, end, names={}, nodes={})
    place = MatchRange(start, end, siblings=[node], matches=(match,))
    return [], [place]


def outermost(places: Sequence[MatchRange], others: Sequence[MatchRange]) -> list[MatchRange]:
    """The places that are not inside another one of `others`."""
    return [place for place in places if not _is_inside(place, others)]


# what is inserted, standing elsewhere -------------------------------------------------------------
def _elsewhere(source: Source, hunk: Hunk) -> FoundPlaces:
    """Where all that a form inserts stands elsewhere in its scope (rule 23).

    Nowhere, if anything that the form removes is left there.
    """
    nowhere = FoundPlaces([], [], scopes=0, steps=0)
    removed = hunk.before.own_statements()
    if removed is None:
        return nowhere

    blocks = _blocks(source, hunk)
    matcher = Matcher(most=1)
    places = _inserted_places(hunk, blocks, matcher)
    if not places:
        return nowhere

    for run in removed:
        if _run_places(hunk, run, blocks, matcher):
            return nowhere

    return FoundPlaces([], places[:1], scopes=len(blocks), steps=matcher.steps)


def _beside_anchor(
    source: Source,
    hunk: Hunk,
    found: FoundPlaces,
) -> FoundPlaces | None:
    """Where what a form inserts stands in the block of its anchor, with other code in between.

    Only for a form that does nothing else, and has one anchor: the code above or below what it
    inserts, or the header around it. What is inserted stands on the same side of the anchor. None
    where it stands nowhere there (rule 23).
    """
    added = hunk.after.own_statements() or []
    if len(found.todo) != 1 or found.done or len(added) != 1:
        return None
    if hunk.before.own_statements() != []:
        return None

    blocks = _blocks(source, hunk)
    places = _inserted_places(hunk, blocks, Matcher(most=1))
    if not places:
        return None

    # a source reads the blocks anew each time: those of `found` are other nodes
    anchors = _side_places(hunk, hunk.before, blocks, Matcher(most=1))
    if len(anchors) != 1:
        return None

    anchor = anchors[0]
    for place in places:
        if _is_beside(place, anchor, after=hunk.after.nodes, added=added[0]):
            return FoundPlaces([], places, scopes=found.scopes, steps=found.steps)

    return None


def _is_beside(
    place: MatchRange,
    anchor: MatchRange,
    after: Sequence[Node],
    added: Sequence[Node],
) -> bool:
    """Whether a place of added statements is on the side of the anchor where the hunk adds them."""
    block = place.siblings[0].parent
    if block is anchor.siblings[0].parent:
        is_below = added[-1] is after[-1] and place.start >= anchor.end
        is_above = added[0] is after[0] and place.end <= anchor.start
        if is_below or is_above:
            return True

    owner = block.parent if block is not None else None
    if len(after) != 1 or owner is None or owner not in anchor.siblings:
        return False
    return anchor.start <= place.start and place.end <= anchor.end


def _inserted_places(
    hunk: Hunk,
    blocks: list[Node],
    matcher: Matcher,
) -> list[MatchRange]:
    """The places of all that a hunk inserts, if each part stands in its scope exactly once.

    None if the inserted code is too common to be recognised.
    """
    added = hunk.after.own_statements()
    has_flags = hunk.text.flags != HunkFlags()
    if not added or has_flags or hunk.form != "statements":
        return []
    if not hunk.upstream.is_proof:
        return []

    names = set()
    for run in added:
        for node in walk_each(run):
            if node.role:
                return []
            if node.kind == "Name":
                names.add(node.fields["value"])

    if len(names - _COMMON) < _FEWEST:
        return []

    places = []
    for run in added:
        run_places = _run_places(hunk, run, blocks, matcher)
        if len(run_places) != 1:
            return []
        places += run_places

    return places


def _run_places(
    hunk: Hunk,
    run: list[Node],
    blocks: list[Node],
    matcher: Matcher,
) -> list[MatchRange]:
    """Where statements stand in these blocks; for a module, not inside an `if`."""
    module = hunk.text.scope == "<module>"
    places = []
    for block in blocks:
        for place in matcher.runs(run, block, module=module, clauses=False):
            if not module or all(up.kind != "If" for up in place.siblings[0].ancestors()):
                places.append(place)

    return places


# deletions ----------------------------------------------------------------------------------------
def already_deleted(
    source: Source,
    hunk: Hunk,
    places: FoundPlaces,
    *,
    inserted: Sequence[MatchRange] = (),
) -> bool:
    """Whether a deletion has nothing left to delete, and all that it keeps is there (rule 26).

    Args:
        source: the text.
        hunk: the hunk.
        places: its places.
        inserted: places of other hunks; what stands in them is not left, it was moved there.
    """
    if places.todo or places.done:
        return False

    inserts = any(tag == "+" and line.strip() for tag, line, _ in hunk.text.lines)
    if inserts:
        return False

    if not hunk.after.nodes:  # a deleted definition may have been its whole scope
        kinds = [node.kind for node in hunk.before.nodes]
        return bool(places.scopes) or kinds in (["FunctionDef"], ["ClassDef"])

    blocks = _blocks(source, hunk)
    after = []
    for block in blocks:
        after += side_places(hunk, hunk.after, block, Matcher(most=MAX_MATCHES))

    left = still_there(hunk, blocks, after)
    return bool(after) and all(_is_inside(place, inserted) for place in left)


def still_there(
    hunk: Hunk,
    blocks: Sequence[Node],
    after: Sequence[MatchRange],
) -> list[MatchRange]:
    """Where statements that a hunk deletes without replacing them are still there.

    What the after side keeps does not count: it may be the same statement a second time.
    """
    if hunk.form == "expression":
        return []

    kept: set[int] = set()
    for place in after:
        for match in place.matches:
            kept.update(id(code) for code in written(hunk, match))

    module = hunk.text.scope == "<module>"
    places = []
    for deleted in change_of(hunk).deleted:
        is_clause = deleted[0].is_clause
        for block in blocks:
            for place in Matcher(most=1).runs(deleted, block, module=module, clauses=is_clause):
                nodes = place.matches[0].nodes
                if not all(id(nodes.get(id(node))) in kept for node in deleted):
                    places.append(place)

    return places


# one side -----------------------------------------------------------------------------------------
def scope_blocks(source: Source, scope: str, *sides: Side) -> list[Node]:
    """The blocks of a scope in which one of these sides may match (see `Source.scopes`)."""
    identifiers: list[frozenset[str]] = []
    for side in sides:
        identifiers += side.identifiers()

    has_body = any(side.writes_body() for side in sides)
    return source.scopes(scope, identifiers, bodies=has_body)


def _blocks(source: Source, hunk: Hunk) -> list[Node]:
    """The blocks of the scope of a hunk in which a side of it may match."""
    return scope_blocks(source, hunk.text.scope, hunk.before, hunk.after)


def side_places(
    hunk: Hunk,
    side: Side,
    block: Node,
    matcher: Matcher,
) -> list[MatchRange]:
    """Where one side of a hunk matches in a block, inside what its `inside` names (rule 28)."""
    module = hunk.text.scope == "<module>"
    if hunk.form == "expression":
        places = matcher.expressions(side.nodes[0], block, module=module)
    else:
        places = matcher.runs(
            side.nodes,
            block,
            module=module,
            clauses=hunk.form == "clauses",
        )

    inside = hunk.text.flags.inside
    if inside is None:
        return places

    inside_places = []
    for place in places:
        if _keywords_around(place, block, module=module) == inside:
            inside_places.append(place)

    return inside_places


def _side_places(
    hunk: Hunk,
    side: Side,
    blocks: Sequence[Node],
    matcher: Matcher,
) -> list[MatchRange]:
    """Where one side of a hunk matches in several blocks."""
    places = []
    for block in blocks:
        places += side_places(hunk, side, block, matcher)

    return places


def surroundings(source: Source, hunk: Hunk) -> Iterator[tuple[MatchRange, tuple[str, ...]]]:
    """Where the before side matches in its scope, each place with the `inside` that it has."""
    flags = hunk.text.flags._replace(inside=None)
    text = hunk.text._replace(flags=flags)
    anywhere = hunk._replace(text=text)
    module = hunk.text.scope == "<module>"
    for block in scope_blocks(source, hunk.text.scope, hunk.before):
        for place in side_places(anywhere, hunk.before, block, Matcher(most=1)):
            yield place, _keywords_around(place, block, module=module)


def _keywords_around(
    place: MatchRange,
    block: Node,
    *,
    module: bool,
) -> tuple[str, ...]:
    """The keywords of the statements around a place, within the scope that `block` holds."""
    scope = None if module else block.items("body")[0]
    return enclosing_keywords(place.siblings[0], scope)


def enclosing_keywords(node: Node, scope: Node | None) -> tuple[str, ...]:
    """The keywords of the statements whose bodies or clauses hold a node, the outermost first.

    That of the scope itself is left out.
    """
    keywords: list[str] = []
    while node is not scope and node.parent is not None:
        owner = node.parent
        is_statement = owner is not scope and owner.is_compound
        if is_statement and node.field() in ("body", "clauses"):
            keyword = _KEYWORDS.get(owner.kind, owner.kind.lower())
            keywords.insert(0, keyword)

        node = owner

    return tuple(keywords)
