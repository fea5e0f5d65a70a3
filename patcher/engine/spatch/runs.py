"""The `...` of a hunk: which ones are the same on both sides, and which are refused (format rule 7)."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from patcher.engine.match.match import REMOVED
from patcher.engine.node import CLAUSES, DEFINITIONS, Node, index_of, same
from patcher.engine.rewrite.align import align
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.parse import raise_marked
from patcher.engine.spatch.side import Hunk, Side
from patcher.model import HunkText


def pair_runs(text: HunkText, before: Side, after: Side) -> None:
    """Give each `...` of the after side the name of the same run on the before side (rule 7)."""
    counted: Dict[Tuple[int, int], int] = {}
    left: List[Node] = []
    waiting: List[Node] = []
    both: Dict[str, Node] = {}
    elsewhere: List[Node] = []  # on context lines, but below another header before than after
    for side in (before, after):
        for node in side.placeholders("run"):
            line = side.number(node)
            following = _next(node) if side is before else None
            if following is not None and following.role == "run":
                raise_marked(text, side, "two `...` in a row: nothing tells where one ends", node.start, node.end)
            key = (id(side), line)
            counted[key] = counted.get(key, 0) + 1
            name = f"{line}.{counted[key]}"
            implicit = node.parent is not None and node.parent.name == "inline"  # the body of a header alone
            if line in side.context and (side is before or name in both or implicit):
                node.name = name
                if side is after and name in both and not _stays_below(both[name], node, (before, after)):
                    both[name].name = f"-{name}"
                    left.append(both[name])
                    waiting.append(node)
                    elsewhere += [both[name], node]
                both.setdefault(name, node)
            elif side is before:
                node.name = f"-{line}.{len(left)}"
                left.append(node)
            else:
                waiting.append(node)
    for exact in (True, False):
        only = len(left) == len(waiting) == 1
        for node in list(waiting):
            alike = [run for run in left if _container(run) == _container(node)]
            if exact:
                alike = [run for run in alike if _owner(run) == _owner(node)]
            else:  # the only one, or the next one below a header of its sort
                alike = [run for run in alike if not ({run, node} & {*elsewhere} or (_is_other_sort(run, node) and not only))]
            partner = next(iter(alike), None)
            if partner is not None:
                node.name = partner.name
                left.remove(partner)
                waiting.remove(node)
    for node in (node for node in elsewhere if node in left or node in waiting):
        what = "below one header before and below another one after, so that nothing tells which body it is"
        cure = "write `-    ...` and `+    ...` below each header"
        reject(text.origin, (before if node in left else after).number(node), f"{what}: {cure}")
    for node in waiting:
        if not _is_stub(after, node):
            message = "this `...` stands for code that no `...` of the before side covers"
            raise_marked(text, after, message, node.start, node.end)
        node.role = ""
    _check_removed(text, before, after, left)
    _check_context_runs(text, before, after)


def _check_context_runs(text: HunkText, before: Side, after: Side) -> None:
    """Refuse a header on a context line whose body only one side writes: nothing is deleted without a `-` line."""
    for side, other in ((before, after), (after, before)):
        names = {run.name for run in other.placeholders("run")}
        for run in side.placeholders("run"):
            if side.number(run) in side.context and run.name not in names:
                there = "the body of this header is not written: write ` ...` beside the `+` lines for what is there already"
                message = there if side is before else "all of this body goes: write what is to stand there (`+    pass`)"
                reject(text.origin, side.number(run), message)


def _check_removed(text: HunkText, side: Side, after: Side, left: List[Node]) -> None:
    for run in left:
        if run.parent is not None and run.parent.name == "inline":
            message = "the body that is not written would go with this header: write `-    ...` below it if it is to go"
            reject(text.origin, side.number(run), message)
        if run.kind == "Decorator":
            stays = any(node.kind == run.parent.kind for top in after.nodes for node in top.walk()) if run.parent else False
            run.name = REMOVED if stays else run.name


def check_fewer_runs(hunk: Hunk, olds: Sequence[Node], news: Sequence[Node]) -> None:
    """Refuse a list or body that has fewer `...` afterwards: what one stood for would go, and no line mentions it (rule 7)."""
    gone = [run for run in olds if run.role == "run" and not _is_alone(hunk.before, run)]
    staying = [node for node in news if node.role == "run"]
    if len(gone) > len(staying):
        names = {run.name for run in staying}
        lost = next(run for run in reversed(gone) if run.name not in names)
        what = "what this `...` stands for would go, as there are fewer on the after side"
        cure = "write each one there, too (`+f(..., ...)`), or, if it is to go, `-...` on a line of its own"
        raise_marked(hunk.text, hunk.before, f"{what}: {cure}", lost.start, lost.end)
    for old, new in align(hunk, olds, news)[0]:
        _check_fewer_inside(hunk, old, new)


def _check_fewer_inside(hunk: Hunk, old: Node, new: Node) -> None:
    for key, value in old.fields.items() if old.kind == new.kind and not (old.role or new.role) else ():
        other = new.fields.get(key)
        replaced = key == "args" and not same(old.fields.get("func"), new.fields.get("func"))
        if replaced and not any(node.role == "run" for node in new.items(key)):
            continue  # another call in the place of the whole of this one
        if isinstance(value, Node) and isinstance(other, Node):
            _check_fewer_inside(hunk, value, other)
        elif isinstance(value, list) and isinstance(other, list):
            check_fewer_runs(hunk, value, other)


def _is_alone(side: Side, run: Node) -> bool:
    """Whether a `...` is all of its line: whoever removes that line means what it stands for."""
    row = side.written.split("\n")[side.lines.number(run.start) - 1]
    return row.strip().lstrip("@").rstrip(",") == "..."


def _is_stub(side: Side, run: Node) -> bool:
    """Whether a `...` is code: the whole written body of an inserted `def` or `class`."""
    block = run.parent
    defines = block is not None and block.parent is not None and block.parent.kind in DEFINITIONS
    return defines and run.siblings() == [run] and run.start not in side.bodies


def _next(node: Node) -> Optional[Node]:
    siblings = node.siblings()
    return next(iter(siblings[index_of(siblings, node) + 1 :]), None)


def _owner(run: Node) -> str:
    """What a run of arguments is called with, or the header over a run of statements; "" for any other run."""
    owner = run.parent.parent if run.parent is not None and run.parent.kind == "Block" else None
    if owner is not None:
        return _described(owner)
    return repr(run.parent.fields.get("func", "")) if run.parent is not None else ""


def _described(header: Node) -> str:
    """A header, and for that of a clause the one of its statement."""
    above = _described(header.parent) if header.kind in CLAUSES and header.parent is not None else ""
    return f"{above}/{header.kind} {header.header()!r}"


def _headers(run: Node) -> List[Node]:
    """The headers of whose bodies a run is a part, the nearest first."""
    found, node = [], run
    while node.parent is not None:
        if node.parent.kind == "Block" and node.parent.parent is not None:
            found.append(node.parent.parent)
        node = node.parent.parent if node.kind in CLAUSES and node.parent.parent is not None else node.parent
    return found


def _stays_below(old: Node, new: Node, sides: Sequence[Side]) -> bool:
    """Whether a run on a context line is the body of one header: of the same, of a changed one, wrapped or unwrapped."""
    if _container(old) != "statements" or _owner(old) == _owner(new):
        return True
    around = [[_described(header) for header in _headers(run)] for run in (old, new)]
    if _owner(old) in around[1] or _owner(new) in around[0]:
        return True
    there = [{_described(node) for top in side.nodes for node in top.walk() if "body" in node.fields} for side in sides]
    return not (_is_other_sort(old, new) or _owner(old) in there[1] or _owner(new) in there[0])


def _is_other_sort(one: Node, other: Node) -> bool:
    """Whether one run is the body of a statement and the other one that of a clause."""
    sorts = {header.kind in CLAUSES for header in [*_headers(one)[:1], *_headers(other)[:1]]}
    return _container(one) == "statements" and len(sorts) > 1


def _container(run: Node) -> str:
    return {"Star": "arguments", "DoubleStar": "arguments", "Expr": "statements"}.get(run.kind, run.kind)
