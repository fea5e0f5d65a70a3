"""What the matcher finds: values, so that who writes an edit needs no matcher."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple, Union

from patcher.engine.node import Node

Bound = Union[Node, List[Node]]


class Match(NamedTuple):
    """One match: its character range, the bindings of the metavariables, and the code of each pattern node (by id)."""

    start: int
    end: int
    names: Dict[str, Node]
    nodes: Dict[int, Bound]


class MatchRange(NamedTuple):
    """A character range that a pattern matches, in one or several ways; `siblings` is the list of nodes it is part of."""

    start: int
    end: int
    siblings: List[Node]
    matches: Tuple[Match, ...]
