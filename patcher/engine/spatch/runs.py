"""Which `...` of the after side is which of the before side (format rule 7).

A run belongs to its list, or to its header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Collection, Sequence

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
from patcher.record import Record

_LEVELS = 4  # of `_Run.keys`
_OWN = 2  # the first levels name the very list or header that a run belongs to
_COVERED = Message("this `...` stands for code that no `...` of the before side covers")
_WHICH = Message(
    "several `...` could be this one, and nothing says which of them is: name it on both sides "
    "(`...REST`)"
)
_ELSEWHERE = Message(
    "this `...` belongs to another header on the other side, and this one has none there: name it "
    "on both (`...REST`)"
)


class _Run(Record):
    """A `...` of one side.

    `line` is its .spatch line and its number on that line, `place` the list or body that it is in,
    and `keys` say what that is, from the most specific to the least: runs with one key may be the
    same.
    """

    node: Node
    side: Side
    line: tuple[int, int]
    place: Node
    keys: tuple[str, ...]

    @property
    def is_context(self) -> bool:
        """Whether it is written on both sides at once."""
        number, _ = self.line
        return number in self.side.context

    @property
    def is_implicit(self) -> bool:
        """Whether it is the body of a header alone."""
        return self.place.name == "inline" and self.node.start in self.side.layout.bodies


if TYPE_CHECKING:
    _Pair = tuple[_Run, _Run]
    """A run of the before side, and the one of the after side that is the same."""


def pair_runs(hunk: HunkText, before: Side, after: Side) -> None:
    """Give the two `...` that are one run the same name.

    Every other one of the before side gets a name of its own.

    Raises:
        PatchError: a `...` that covers nothing, whose counterpart is not clear, or that would be
            deleted unseen.
    """
    olds = _runs(hunk, before)
    news = _runs(hunk, after)
    for run in olds:
        _check_alone(hunk, run)

    pairs = _pairs(hunk, olds, news)

    for index, run in enumerate(olds):
        run.node.name = run.node.name or str(index)

    for old, new in pairs:
        new.node.name = old.node.name

    for run in _unpaired(news, pairs):
        if run.is_context:
            message = Message("all of this body goes: write what replaces it (`+    pass`)")
            number, _ = run.line
            reject(hunk.origin, number, message=message)

        if not _is_stub(run):
            _refuse(hunk, run, message=_COVERED)
        run.node.role = ""

    for run in _unpaired(olds, pairs):
        _check_removed(hunk, run, after=after)


def _runs(hunk: HunkText, side: Side) -> list[_Run]:
    """The runs of a side."""
    runs: list[_Run] = []
    names: set[str] = set()
    counted: dict[int, int] = {}
    for node in side.placeholders("run"):
        line = side.number(node)
        counted[line] = counted.get(line, 0) + 1
        run = _Run(
            node=node,
            side=side,
            line=(line, counted[line]),
            place=node if node.parent is None else node.parent,
            keys=_keys(node),
        )

        if node.name and node.name in names:
            message = Message(
                "`...{name}` twice on one side: a run stands in one place",
                name=node.name,
            )
            _refuse(hunk, run, message=message)

        names.add(node.name)
        runs.append(run)

    return runs


def _check_alone(hunk: HunkText, run: _Run) -> None:
    """Refuse a run that another one follows."""
    siblings = run.node.siblings()
    index = siblings.index(run.node)
    following = siblings[index + 1 :]
    if following and following[0].role == "run":
        message = Message("two `...` in a row: nothing tells where one ends")
        _refuse(hunk, run, message=message)


# which is which ----------------------------------------------------------------------------------
def _pairs(hunk: HunkText, olds: Sequence[_Run], news: Sequence[_Run]) -> list[_Pair]:
    """The runs of both sides that are the same: by name, by line, then by what they belong to."""
    by_line = _by_line(olds, news)
    for old, new in by_line:
        if _is_one_of_several(old, new, olds=olds, news=news):
            _refuse(hunk, new, message=_WHICH)

    pairs = [*_by_name(hunk, olds, news), *by_line]

    parted: list[_Run] = []  # on one line, but of two headers
    for run in [*_unpaired(olds, pairs), *_unpaired(news, pairs)]:
        if run.is_context and not run.is_implicit:
            parted.append(run)

    for level in range(_LEVELS):
        free_olds = _free(olds, pairs)
        free_news = _free(news, pairs)
        pairs += _by_key(hunk, level, olds=free_olds, news=free_news)
        if level + 1 == _OWN:
            for run in _unpaired(parted, pairs):
                _refuse(hunk, run, message=_ELSEWHERE)

    return pairs


def _unpaired(runs: Sequence[_Run], pairs: Sequence[_Pair]) -> list[_Run]:
    """The runs that are in none of the pairs."""
    paired: set[int] = set()
    for old, new in pairs:
        paired.update((id(old.node), id(new.node)))

    return [run for run in runs if id(run.node) not in paired]


def _free(runs: Sequence[_Run], pairs: Sequence[_Pair]) -> list[_Run]:
    """The runs in none of the pairs that may be paired by what they belong to."""
    free: list[_Run] = []
    for run in _unpaired(runs, pairs):
        if not run.is_implicit or not run.is_context:
            free.append(run)

    return free


def _by_name(hunk: HunkText, olds: Sequence[_Run], news: Sequence[_Run]) -> list[_Pair]:
    """The runs that have one name."""
    named = {run.node.name: run for run in olds if run.node.name}
    pairs: list[_Pair] = []
    for run in news:
        name = run.node.name
        if not name:
            continue

        if name not in named:
            message = Message("there is no `...{name}` on the before side", name=name)
            _refuse(hunk, run, message=message)

        old = named[name]
        if run.keys[-1] != old.keys[-1]:
            _refuse(hunk, run, message=_COVERED)
        pairs.append((old, run))

    return pairs


def _by_line(olds: Sequence[_Run], news: Sequence[_Run]) -> list[_Pair]:
    """The runs of context lines.

    Those are left out that belong to one header before, and to another one after.
    """
    context: dict[tuple[int, int], _Run] = {}
    for run in olds:
        if run.is_context and not run.node.name:
            context[run.line] = run

    pairs: list[_Pair] = []
    for run in news:
        if run.is_context and run.line in context:
            pairs.append((context[run.line], run))

    levels: dict[int, int] = {}  # how well each of them is paired
    for old, new in pairs:
        level = _level(old, new)
        levels[id(old.node)] = level
        levels[id(new.node)] = level

    kept: list[_Pair] = []
    for pair in pairs:
        if not _is_parted(pair, olds=olds, news=news, levels=levels):
            kept.append(pair)

    return kept


def _is_parted(
    pair: _Pair,
    olds: Sequence[_Run],
    news: Sequence[_Run],
    levels: dict[int, int],
) -> bool:
    """Whether a run of a context line belongs to another header after than before.

    Args:
        pair: the run before and after.
        olds: the runs of the before side.
        news: those of the after side.
        levels: by the id of their nodes, how well runs are paired by their lines.
    """
    old, new = pair
    if old.is_implicit or _level(old, new) == 0:
        return False

    rivals: list[_Pair] = []
    rivals += [(old, run) for run in news if run.place is not new.place]
    rivals += [(run, new) for run in olds if run.place is not old.place]
    for first, second in rivals:
        first_level = levels.get(id(first.node), _LEVELS)
        second_level = levels.get(id(second.node), _LEVELS)
        if _level(first, second) < min(_OWN, first_level, second_level):
            return True

    return False


def _level(old: _Run, new: _Run) -> int:
    """The first level of their keys on which two runs are alike; 0 is the best one."""
    for level in range(_LEVELS):
        if old.keys[level] == new.keys[level]:
            return level

    return _LEVELS


def _is_one_of_several(
    old: _Run,
    new: _Run,
    olds: Sequence[_Run],
    news: Sequence[_Run],
) -> bool:
    """Whether a context line has the body of another header after than before.

    The two headers are written alike, so that nothing tells them apart.
    """
    if new.place.kind != "Block":
        return False
    if old.keys[0] != new.keys[0]:
        return False
    if _around(old) == _around(new):
        return False
    return _turn(old, olds) != _turn(new, news)


def _turn(run: _Run, runs: Sequence[_Run]) -> int:
    """Which of the places with its first key a run is in: their number, from 0."""
    places: dict[int, None] = {}
    for peer in runs:
        if peer.keys[0] == run.keys[0]:
            places[id(peer.place)] = None

    return list(places).index(id(run.place))


def _around(run: _Run) -> list[str]:
    """The headers that the body of a run is below, from its own outwards."""
    headers = [node for node in run.place.ancestors() if node.kind != "Block"]
    return [f"{node.kind} {_outline(node.header())}" for node in headers]


def _by_key(
    hunk: HunkText,
    level: int,
    olds: Sequence[_Run],
    news: Sequence[_Run],
) -> list[_Pair]:
    """Pair what is alike on one level.

    That is lists or bodies in their order, and in each of them the runs.
    """
    is_last = level + 1 == _LEVELS
    sought = [run for run in news if not is_last or not _is_stub(run)]
    pairs: list[_Pair] = []
    for key in dict.fromkeys(run.keys[level] for run in sought):
        before = _by_place([run for run in olds if run.keys[level] == key])
        after = _by_place([run for run in news if run.keys[level] == key])
        if not before:
            continue

        is_unclear = is_last and len(before) > 1
        if is_unclear or len(before) != len(after):
            _refuse(hunk, after[0][0], message=_WHICH)

        for old, new in zip(before, after):
            _check_count(hunk, old, new)
            pairs += zip(old, new)

    return pairs


def _check_count(hunk: HunkText, old: Sequence[_Run], new: Sequence[_Run]) -> None:
    """Refuse a list of the after side with fewer runs than on the before side."""
    lacking = len(old) - len(new)
    if lacking <= 0:
        return

    first = new[0]
    if all(map(_is_alone, old)):
        _refuse(hunk, first, message=_WHICH)
    _refuse_deleted(
        hunk,
        old[len(new)],
        place=first.place,
        side=first.side,
        count=lacking,
    )


def _by_place(runs: Sequence[_Run]) -> list[list[_Run]]:
    """Runs, those of one list or body together."""
    groups: dict[int, list[_Run]] = {}
    for run in runs:
        group = groups.setdefault(id(run.place), [])
        group.append(run)

    return list(groups.values())


# what a run belongs to ---------------------------------------------------------------------------
def _keys(run: Node) -> tuple[str, ...]:
    """The keys of a run: what its list or body is, from the most specific to the least.

    They are all that is written of it, its function or header, its kind or place, and any.
    """
    place = run.parent
    assert place is not None  # a run is in a list or a body
    if place.kind == "Block":
        return _body_keys(place)
    return _list_keys(run, place)


def _list_keys(run: Node, place: Node) -> tuple[str, ...]:
    """The keys of a run in a list of arguments, parameters, elements and the like."""
    kind = place.kind
    if kind == "Parameters" and place.parent is not None:
        kind = place.parent.kind
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


def _body_keys(place: Node) -> tuple[str, ...]:
    """The keys of a run in the body of a statement."""
    owner = place.parent
    if owner is None:
        return ("", "", "", "statements")

    kind = "If" if owner.kind == "Elif" else owner.kind
    header = f"{kind} {_outline(owner.header())}"
    short = header
    if owner.is_definition:
        short = f"{kind} {_outline(owner.fields['name'])}"
    if owner.is_clause and owner.parent is not None:
        header += f" of {_outline(owner.parent.header())}"
    return (header, short, kind, "statements")


def _outline(value: Value) -> str:
    """A piece of syntax as text, the same for every run."""
    if isinstance(value, list):
        elements = ", ".join(map(_outline, value))
        return f"[{elements}]"
    if not isinstance(value, Node):
        return value or ""
    if value.role:
        return "..." if value.role == "run" else f"${value.name}"

    parts = ", ".join(map(_outline, value.fields.values()))
    return f"{value.kind}({parts})"


def _is_stub(run: _Run) -> bool:
    """Whether a `...` is code: the whole written body of an inserted `def` or `class`."""
    owner = run.place.parent if run.place.kind == "Block" else None
    if owner is None or not owner.is_definition or run.node.name:
        return False

    is_whole_body = run.node.siblings() == [run.node]
    return is_whole_body and run.node.start not in run.side.layout.bodies


def _is_alone(run: _Run) -> bool:
    """Whether nothing else is on the line of a run, so that its `-` says that it goes."""
    side = run.side
    number = side.lines.number(run.node.start)
    code, _, _ = side.lines.row(number - 1).partition("#")
    without_comma = code.strip().rstrip(",").rstrip()
    return without_comma == side.text[run.node.start : run.node.end]


# runs that go ------------------------------------------------------------------------------------
def _check_removed(hunk: HunkText, run: _Run, after: Side) -> None:
    """Refuse to delete what a run of the before side stands for where no line says so."""
    number, _ = run.line
    if run.is_context:
        message = Message(
            "the body of this header is not written: write ` ...` beside the `+` lines for what is "
            "there already"
        )
        reject(hunk.origin, number, message=message)

    if run.is_implicit:
        message = Message(
            "the body that is not written would go with this header: write `-    ...` below it if "
            "it is to go"
        )
        reject(hunk.origin, number, message=message)

    if run.node.kind == "Decorator":
        is_place_kept = any(node.kind == run.place.kind for node in after.walk())
        if is_place_kept:
            run.node.name = REMOVED
        return

    if _is_alone(run):
        return

    if run.place.kind == "Block":
        message = Message(
            "the code that this `...` stands for would be deleted: write it on a `-` line of its "
            "own"
        )
        _refuse(hunk, run, message=message)

    others = [node for node in run.side.walk() if node is not run.place]
    names = {node.name for node in run.node.siblings() if node.role == "run"}
    for place in after.walk():
        if place.kind != run.place.kind or not _is_kept(run, place, after=after):
            continue
        if _has_other_run(place, run.node.field(), names=names):
            continue
        if not any(same(place, node) for node in others):
            _refuse_deleted(hunk, run, place=place, side=after, count=1)


def _is_kept(run: _Run, place: Node, after: Side) -> bool:
    """Whether a list of the after side is the one that a run was in.

    It is on the same line, or changed.
    """
    line = after.number(place)
    if line in after.context:
        return line == run.side.number(run.place)
    return _is_changed(run.place, place)


def _has_other_run(place: Node, field: str, names: Collection[str]) -> bool:
    """Whether a list has a run that is called otherwise."""
    return any(node.role == "run" and node.name not in names for node in place.items(field))


def _is_changed(old: Node, new: Node) -> bool:
    """Whether a list of the after side is one of the before side changed.

    Another call replaces the whole of one.
    """
    if old.kind == "Call":
        return same(old.fields["func"], new.fields["func"])
    if old.kind == "Parameters" and old.parent is not None and new.parent is not None:
        return related(old.parent, new.parent)
    return related(old, new)


def _refuse_deleted(
    hunk: HunkText,
    run: _Run,
    place: Node,
    side: Side,
    count: int,
) -> None:
    """Refuse to delete code that no line mentions, and show how to keep it.

    Args:
        hunk: the hunk.
        run: the `...` that stands for the code.
        place: the list of the after side that it would have to be in.
        side: the after side.
        count: how many `...` that list lacks.
    """
    owner = place
    if place.kind == "Parameters" and place.parent is not None:
        owner = place.parent
    has_header = owner.kind == "With" or owner.is_definition
    end = header_end(owner, side.text) if has_header else owner.end
    elements = place.items(run.node.field())
    if elements:
        at = elements[-1].outer_end
        dots = ", " + ", ".join(["..."] * count)
    else:
        before_bracket = _before_bracket(owner)
        at = find_outside(side.text, before_bracket, operator="(") + 1
        dots = ", ".join(["..."] * count)

    above = side.written[owner.start : at]
    below = side.written[at:end]
    shown = above + dots + below
    message = Message(
        "the code that this `...` stands for would be deleted, and no line says so: write "
        "`+{name}` to keep it, or the `...` on a `-` line of its own to delete it",
        name=" ".join(shown.split()),
    )

    _refuse(hunk, run, message=message)


def _before_bracket(owner: Node) -> int:
    """An offset from which the next bracket is that of an empty list."""
    before = owner.fields.get("func") or owner.fields.get("name")
    if isinstance(before, Node):
        return before.outer_end
    return owner.start


def _refuse(hunk: HunkText, run: _Run, message: str) -> None:
    """Refuse a hunk for one of its runs."""
    raise_marked(
        hunk,
        run.side,
        message=message,
        start=run.node.start,
        end=run.node.end,
    )
