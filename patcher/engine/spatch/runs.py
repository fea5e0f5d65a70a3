"""Which `...` of the after side is which of the before side (format rule 7): a run belongs to its list, or to its header."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from patcher.engine.layout import header_end
from patcher.engine.lex import find_outside
from patcher.engine.match import REMOVED
from patcher.engine.node import Node, Value, same
from patcher.engine.rewrite.align import related
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.parse import raise_marked
from patcher.engine.spatch.side import Side
from patcher.message import Message
from patcher.model import HunkText

_LEVELS = 4  # of `_Run.keys`
_OWN = 2  # the first levels name the very list or header that a run belongs to
_COVERED = Message("this `...` stands for code that no `...` of the before side covers")
_WHICH = Message(
    "several `...` could be this one, and nothing says which of them is: name it on both sides (`...REST`)"
)
_ELSEWHERE = Message(
    "this `...` belongs to another header on the other side, and this one has none there: name it on both (`...REST`)"
)


class _Run(NamedTuple):
    """A `...` of one side.

    `line` is its .spatch line and its number on that line, `place` the list or body that it is in, and `keys` say what that
    is, from the most specific to the least: runs with one key may be the same.
    """

    node: Node
    side: Side
    line: tuple[int, int]
    place: Node
    keys: tuple[str, ...]

    def is_context(self) -> bool:
        """Whether it is written on both sides at once."""
        return self.line[0] in self.side.context

    def is_implicit(self) -> bool:
        """Whether it is the body of a header alone."""
        return self.place.name == "inline" and self.node.start in self.side.bodies


def pair_runs(hunk: HunkText, before: Side, after: Side) -> None:
    """Give the two `...` that are one run the same name, and every other one of the before side a name of its own.

    Raises:
        PatchError: a `...` that covers nothing, whose counterpart is not clear, or that would be deleted unseen.
    """
    olds, news = _runs(hunk, before), _runs(hunk, after)
    for run in olds:
        siblings = run.node.siblings()
        following = next(iter(siblings[siblings.index(run.node) + 1 :]), None)
        if following is not None and following.role == "run":
            _refuse(hunk, run, Message("two `...` in a row: nothing tells where one ends"))
    by_line = _by_line(olds, news)
    for old, new in by_line:
        if _is_one_of_several(old, new, olds, news):
            _refuse(hunk, new, _WHICH)
    pairs = [*_by_name(hunk, olds, news), *by_line]
    parted = [
        run
        for runs in (olds, news)
        for run in _left(runs, pairs)
        if run.is_context() and not run.is_implicit()
    ]
    for level in range(_LEVELS):
        free = (
            [run for run in _left(runs, pairs) if not (run.is_implicit() and run.is_context())]
            for runs in (olds, news)
        )
        pairs += _by_key(hunk, level, *free)
        for run in _left(parted, pairs) if level + 1 == _OWN else ():
            _refuse(hunk, run, _ELSEWHERE)
    for index, run in enumerate(olds):
        run.node.name = run.node.name or f"{index}"
    for old, new in pairs:
        new.node.name = old.node.name
    for run in _left(news, pairs):
        if run.is_context():
            reject(
                hunk.origin,
                run.line[0],
                Message("all of this body goes: write what replaces it (`+    pass`)"),
            )
        if not _is_stub(run):
            _refuse(hunk, run, _COVERED)
        run.node.role = ""
    for run in _left(olds, pairs):
        _check_removed(hunk, run, after)


def _left(runs: Sequence[_Run], pairs: Sequence[tuple[_Run, _Run]]) -> list[_Run]:
    """The runs that are in none of the pairs."""
    paired = {id(run.node) for pair in pairs for run in pair}
    return [run for run in runs if id(run.node) not in paired]


def _runs(hunk: HunkText, side: Side) -> list[_Run]:
    runs: list[_Run] = []
    count: dict[int, int] = {}
    for node in side.placeholders("run"):
        line = side.number(node)
        count[line] = count.get(line, 0) + 1
        place = node.parent if node.parent is not None else node
        runs.append(_Run(node, side, (line, count[line]), place, _keys(node)))
        if node.name and any(run.node.name == node.name for run in runs[:-1]):
            _refuse(
                hunk,
                runs[-1],
                Message("`...{name}` twice on one side: a run stands in one place", name=node.name),
            )
    return runs


def _by_name(hunk: HunkText, olds: Sequence[_Run], news: Sequence[_Run]) -> list[tuple[_Run, _Run]]:
    named = {run.node.name: run for run in olds if run.node.name}
    for run in news:
        if run.node.name and run.node.name not in named:
            _refuse(
                hunk, run, Message("there is no `...{name}` on the before side", name=run.node.name)
            )
        if run.node.name and run.keys[-1] != named[run.node.name].keys[-1]:
            _refuse(hunk, run, _COVERED)
    return [(named[run.node.name], run) for run in news if run.node.name]


def _by_line(olds: Sequence[_Run], news: Sequence[_Run]) -> list[tuple[_Run, _Run]]:
    """The runs of context lines, but those that belong to one header before and to another one after."""
    context = {run.line: run for run in olds if run.is_context() and not run.node.name}
    pairs = [(context[run.line], run) for run in news if run.line in context and run.is_context()]
    levels = {id(run.node): _level(*pair) for pair in pairs for run in pair}

    def is_parted(old: _Run, new: _Run) -> bool:
        if old.is_implicit() or not _level(old, new):
            return False
        rivals = [(old, run) for run in news if run.place is not new.place]
        rivals += [(run, new) for run in olds if run.place is not old.place]
        return any(
            _level(*pair) < min(_OWN, *(levels.get(id(run.node), _LEVELS) for run in pair))
            for pair in rivals
        )

    return [pair for pair in pairs if not is_parted(*pair)]


def _is_one_of_several(old: _Run, new: _Run, olds: Sequence[_Run], news: Sequence[_Run]) -> bool:
    """Whether a context line has the body of one header before and that of another one, which is written alike, after."""
    if new.place.kind != "Block" or old.keys[0] != new.keys[0] or _around(old) == _around(new):
        return False
    turns = []
    for run, runs in ((old, olds), (new, news)):
        places = list(dict.fromkeys(id(peer.place) for peer in runs if peer.keys[0] == run.keys[0]))
        turns.append(places.index(id(run.place)))
    return turns[0] != turns[1]


def _around(run: _Run) -> list[str]:
    """The headers that the body of a run is below, from its own outwards."""
    return [
        f"{node.kind} {_outline(node.header())}"
        for node in run.place.ancestors()
        if node.kind != "Block"
    ]


def _level(old: _Run, new: _Run) -> int:
    """The first level of their keys on which two runs are alike; 0 is the best one."""
    return next(
        (level for level, keys in enumerate(zip(old.keys, new.keys)) if keys[0] == keys[1]), _LEVELS
    )


def _by_key(
    hunk: HunkText, level: int, olds: Sequence[_Run], news: Sequence[_Run]
) -> list[tuple[_Run, _Run]]:
    """Pair what is alike on one level: lists or bodies in their order, and in each of them the runs."""
    pairs: list[tuple[_Run, _Run]] = []
    for key in dict.fromkeys(
        run.keys[level] for run in news if level + 1 < _LEVELS or not _is_stub(run)
    ):
        places: list[list[list[_Run]]] = []
        for runs in (olds, news):
            groups: dict[int, list[_Run]] = {}
            for run in runs:
                if run.keys[level] == key:
                    groups.setdefault(id(run.place), []).append(run)
            places.append([*groups.values()])
        before, after = places
        if not before:
            continue
        if len(before) != len(after) or (level + 1 == _LEVELS and len(before) > 1):
            _refuse(hunk, after[0][0], _WHICH)
        for old, new in zip(before, after):
            if len(old) > len(new):
                if all(_is_alone(run) for run in old):
                    _refuse(hunk, new[0], _WHICH)
                _refuse_deleted(hunk, old[len(new)], new[0].place, new[0].side, len(old) - len(new))
            pairs += zip(old, new)
    return pairs


def _keys(run: Node) -> tuple[str, ...]:
    """What the list or body of a run is: all that is written of it, its function or header, its kind or place, and any."""
    place = run.parent
    if place is None:
        return ("", "", "", run.kind)
    if place.kind != "Block":
        kind = (
            place.parent.kind
            if place.kind == "Parameters" and place.parent is not None
            else place.kind
        )
        kind = f"{kind}.{run.field()}"
        func = _outline(place.fields.get("func") or place.fields.get("module"))
        neighbours = _outline([node for node in run.siblings() if node.role != "run"])
        path = [run.field()]
        for node in place.ancestors():
            path.append(f"{node.kind}.{node.field()}")
        return (
            f"{kind} {func} {neighbours}",
            f"{kind} {func}" if func else f"{kind} {neighbours}",
            f"{kind} {path}",
            kind,
        )
    owner = place.parent
    if owner is None:
        return ("", "", "", "statements")
    kind = "If" if owner.kind == "Elif" else owner.kind
    header = f"{kind} {_outline(owner.header())}"
    around = (
        f" of {_outline(owner.parent.header())}"
        if owner.is_clause and owner.parent is not None
        else ""
    )
    short = f"{kind} {_outline(owner.fields['name'])}" if owner.is_definition else header
    return (header + around, short, kind, "statements")


def _outline(value: Value) -> str:
    """A piece of syntax as text, the same for every run."""
    if isinstance(value, list):
        return f"[{', '.join(map(_outline, value))}]"
    if not isinstance(value, Node):
        return value or ""
    if value.role:
        return "..." if value.role == "run" else f"${value.name}"
    return f"{value.kind}({', '.join(_outline(part) for part in value.fields.values())})"


def _is_stub(run: _Run) -> bool:
    """Whether a `...` is code: the whole written body of an inserted `def` or `class`."""
    owner = run.place.parent if run.place.kind == "Block" else None
    defines = owner is not None and owner.is_definition
    return (
        defines
        and not run.node.name
        and run.node.siblings() == [run.node]
        and run.node.start not in run.side.bodies
    )


def _is_alone(run: _Run) -> bool:
    """Whether nothing else is on the line of a run, so that its `-` says that it goes."""
    row = run.side.lines.row(run.side.lines.number(run.node.start) - 1)
    return (
        row.split("#")[0].strip().rstrip(",").rstrip()
        == run.side.text[run.node.start : run.node.end]
    )


def _check_removed(hunk: HunkText, run: _Run, after: Side) -> None:
    """Refuse to delete what a run of the before side stands for where no line says so."""
    if run.is_context():
        message = Message(
            "the body of this header is not written: write ` ...` beside the `+` lines for what is there already"
        )
        reject(hunk.origin, run.line[0], message)
    if run.is_implicit():
        message = Message(
            "the body that is not written would go with this header: write `-    ...` below it if it is to go"
        )
        reject(hunk.origin, run.line[0], message)
    if run.node.kind == "Decorator":
        stays = any(node.kind == run.place.kind for top in after.nodes for node in top.walk())
        run.node.name = REMOVED if stays else run.node.name
    elif not _is_alone(run):
        if run.place.kind == "Block":
            _refuse(
                hunk,
                run,
                Message(
                    "the code that this `...` stands for would be deleted: write it on a `-` line of its own"
                ),
            )
        nodes = [node for top in run.side.nodes for node in top.walk() if node is not run.place]
        run_names = {node.name for node in run.node.siblings() if node.role == "run"}
        for place in (
            node for top in after.nodes for node in top.walk() if node.kind == run.place.kind
        ):
            line = after.number(place)
            stays = (
                line == run.side.number(run.place)
                if line in after.context
                else _is_changed(run.place, place)
            )
            of_another = any(
                node.role == "run" and node.name not in run_names
                for node in place.items(run.node.field())
            )
            if stays and not of_another and not any(same(place, node) for node in nodes):
                _refuse_deleted(hunk, run, place, after, 1)


def _is_changed(old: Node, new: Node) -> bool:
    """Whether a list of the after side is one of the before side changed; another call replaces the whole of one."""
    if old.kind == "Call":
        return same(old.fields["func"], new.fields["func"])
    if old.kind == "Parameters" and old.parent is not None and new.parent is not None:
        return related(old.parent, new.parent)
    return related(old, new)


def _refuse_deleted(hunk: HunkText, run: _Run, place: Node, side: Side, count: int) -> None:
    """Refuse to delete code that no line mentions, and show how to keep it."""
    owner = place.parent if place.kind == "Parameters" and place.parent is not None else place
    end = header_end(owner, side.text) if owner.kind == "With" or owner.is_definition else owner.end
    elements = place.items(run.node.field())
    at = elements[-1].outer_end if elements else find_outside(side.text, _opening(owner), "(") + 1
    dots = ", ".join(["..."] * count)
    shown = (
        side.written[owner.start : at] + (", " if elements else "") + dots + side.written[at:end]
    )
    message = Message(
        "the code that this `...` stands for would be deleted, and no line says so: write `+{name}` to keep it, or the `...` "
        "on a `-` line of its own to delete it",
        name=" ".join(shown.split()),
    )
    _refuse(hunk, run, message)


def _opening(owner: Node) -> int:
    """An offset from which the next bracket is that of an empty list."""
    before = owner.fields.get("func") or owner.fields.get("name")
    return before.outer_end if isinstance(before, Node) else owner.start


def _refuse(hunk: HunkText, run: _Run, message: str) -> None:
    raise_marked(hunk, run.side, message, run.node.start, run.node.end)
