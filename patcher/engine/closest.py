"""The code of a scope that is closest to a hunk's before side, by syntax. Imported only where a hunk was not found."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Iterator, NamedTuple, Sequence

from patcher.engine.alignment import SIMILAR, AlignedPair, Aligner, similarity
from patcher.engine.difference import Describer, Mismatch, TextRange
from patcher.engine.find import FoundPlaces, surroundings
from patcher.engine.lex import Lines
from patcher.engine.match import TooManySteps, blocks, implicit_run
from patcher.engine.node import Node
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message, joined
from patcher.text.listed import count as count_of
from patcher.text.terminal import underline

LEAST = 0.3  # likeness below which code is not shown
_MOST = 400  # candidates that are compared, those first that share most names with the pattern
_MOST_WORDS = 5_000
_SCREEN = 68  # columns of a line that is shown


class Mark(NamedTuple):
    """A line of a file or of a `.spatch`: its 1-based number, its text, and the columns (0-based) to mark."""

    line: int
    text: str
    start: int
    end: int


class Closest(NamedTuple):
    """The closest code: the 1-based number and the text of its first line, and the first difference.

    `likeness` is how much of the pattern is there, from 0 to 1; `more` the number of further differences.
    """

    line: int
    text: str
    likeness: float
    code: Mark
    pattern: Mark
    words: str
    hint: str
    more: int


class _Candidate(NamedTuple):
    cost: float
    start: int
    node: Node
    pairs: list[AlignedPair]


def closest(source: Source, hunk: Hunk, scope: str, taken: Sequence[int] = ()) -> Closest | None:
    """The code of a scope that is closest to the before side of a hunk.

    Args:
        source: the file.
        hunk: the hunk, whose own scope need not be `scope`.
        scope: a qualified name or `<module>`.
        taken: offsets at which the pattern matches, which are left out.

    Returns:
        None where no code has at least `LEAST` of the pattern.
    """
    side, aligner = hunk.before, Aligner()
    total = sum(map(aligner.weight, side.nodes))
    nearby: list[_Candidate] = []
    try:
        for candidate in _candidates(source, hunk, scope, aligner):
            if candidate.start not in taken and candidate.cost <= (1 - LEAST) * total:
                nearby.append(candidate)
    except TooManySteps:
        pass  # those that share most names with the pattern were compared
    least = min((candidate.cost for candidate in nearby), default=0.0)
    ties = [candidate for candidate in nearby if candidate.cost <= least + 0.02][:20]
    written = " ".join(side.written.split())
    best = max(
        ties, key=lambda tie: (similarity(written, _text(source, tie)), -tie.start), default=None
    )
    return _described(source, side, best, aligner, total) if best is not None else None


def _candidates(source: Source, hunk: Hunk, scope: str, aligner: Aligner) -> Iterator[_Candidate]:
    side, module = hunk.before, hunk.text.scope == "<module>"
    names = (
        {name for group in side.identifiers() for name in group} | _alike(source, side)
        if scope == "<module>"
        else set()
    )
    patterns = [implicit_run(), *side.nodes, implicit_run()]
    for block in source.scopes(
        scope, [frozenset([name]) for name in sorted(names)], bodies=side.writes_body()
    ):
        if hunk.form == "expression":
            pattern = side.nodes[0]
            for node in _expressions(source, side, block, module=module):
                cost = aligner.aligned(pattern, node).cost
                yield _Candidate(cost, node.start, node, [(pattern, node)])
            continue
        for codes in blocks(patterns, block, module=module, clauses=hunk.form == "clauses"):
            cost, pairs = aligner.pairs(patterns, codes)
            start = next(
                (code.begin for pattern, code in pairs if pattern is not None and code is not None),
                None,
            )
            if start is not None and codes[0].parent is not None:
                yield _Candidate(cost, start, codes[0].parent, pairs)


def _expressions(source: Source, side: Side, block: Node, *, module: bool) -> list[Node]:
    """The expressions of a block that share most words with a pattern, the shorter of two first."""
    words = set(re.findall(r"\w+", side.written))

    def rank(node: Node) -> tuple[int, int]:
        shared = words.intersection(re.findall(r"\w+", source.text[node.start : node.end]))
        return -len(shared), node.end - node.start

    return sorted((node for node in block.reachable(module) if node.is_expression), key=rank)[
        :_MOST
    ]


def _alike(source: Source, side: Side) -> set[str]:
    """Words of top-level lines that are the same as, or similar to, words of a pattern: those statements are parsed."""
    lines = re.findall(r"^[^\s#].*", source.text, re.MULTILINE)
    words = sorted({word for line in lines for word in re.findall(r"\w+", line)})[:_MOST_WORDS]
    names = set(re.findall(r"\w+", side.written))
    return {near for word in names for near in get_close_matches(word, words, 3, SIMILAR)}


def _text(source: Source, candidate: _Candidate) -> str:
    codes = [code for _, code in candidate.pairs if code is not None]
    return " ".join(source.text[codes[0].start : codes[-1].end][:500].split())


def _described(
    source: Source, side: Side, candidate: _Candidate, aligner: Aligner, total: float
) -> Closest | None:
    """A candidate as a `Closest`; None for one that matches, in a block that is not meant."""
    differences = Describer(source, side, aligner).differences(
        aligner.parts(candidate.pairs, (None, candidate.node))
    )
    if not candidate.cost and not differences:
        return None
    if not differences:
        pattern, code = (
            next(node for node in nodes if node is not None) for nodes in zip(*candidate.pairs)
        )
        words = Message(
            "each part of the pattern matches by itself, and not all of them in one way together"
        )
        hint = Message("write it as it stands there")
        differences = [Mismatch((pattern.start, pattern.end), (code.start, code.end), words, hint)]
    first, lines = differences[0], source.lines
    return Closest(
        lines.number(candidate.start),
        source.line(candidate.start),
        round(min(0.99, 1 - candidate.cost / total), 2),
        _mark(source.text, first.code),
        _mark(side.written, first.pattern, side.numbers),
        first.words,
        first.hint,
        len(differences) - 1,
    )


def _mark(code: str, span: TextRange, numbers: Sequence[int] = ()) -> Mark:
    """The line on which a range begins, without its indentation, and cut to `_SCREEN` columns around the range.

    `numbers` are the .spatch lines of a side.
    """
    lines = Lines(code)
    row, begin = lines.number(span[0]), lines.start(span[0])
    written = lines.row(row - 1).rstrip()
    line = written.lstrip().replace("\t", " ").replace("\f", " ")
    begin += len(written) - len(line)
    start = max(0, span[0] - begin)
    end = max(start + 1, min(span[1] - begin, len(line)))
    offset = max(0, min(start - 20, len(line) - _SCREEN))
    shown = ("…" if offset else "") + line[offset + bool(offset) : offset + _SCREEN]
    shown = shown[:-1] + "…" if offset + _SCREEN < len(line) else shown
    number = numbers[min(row, len(numbers)) - 1] if numbers else row
    return Mark(number, shown, start - offset, min(end - offset, len(shown)))


def near_scopes(source: Source, scope: str) -> tuple[str, ...]:
    """Definitions that an undefined scope may have become: those of the same last name, else of a similar name."""
    names = list(dict.fromkeys(definition.name for definition in source.definitions()))
    last_name = scope.split(".")[-1]
    if scope == "<module>":
        return ()
    of_that_name = [name for name in names if name.split(".")[-1] == last_name]
    parent = scope[: -len(last_name)]
    siblings = [
        name[len(parent) :]
        for name in names
        if name.startswith(parent) and "." not in name[len(parent) :]
    ]
    close = [
        parent + name for name in get_close_matches(last_name, siblings, 3, 0.7)
    ] or get_close_matches(scope, names, 3)
    return tuple((of_that_name or close)[:3])


# the answer -----------------------------------------------------------------------------------------------------------
def not_found(source: Source, hunk: Hunk, matches: FoundPlaces) -> tuple[str, str]:
    """The problem and the hint for a hunk that matches nowhere, or too few times: what is closest, the first difference."""
    scope = hunk.text.scope
    if not matches.scopes:
        near = near_scopes(source, scope)
        hint = Message("the file has: {names}", names=", ".join(near)) if near else ""
        return Message("there is no `{scope}` in this file", scope=scope), hint
    places = [*matches.todo, *matches.done]
    if places:
        numbers = sorted(source.lines.number(place.start) for place in places)
        where = Message(
            "line {lines}" if len(numbers) == 1 else "lines {lines}",
            lines=", ".join(map(str, numbers)),
        )
        problem = Message(
            "found {places} in `{scope}` ({where}), expected {count}",
            places=count_of(len(places), "place"),
            scope=scope,
            where=where,
            count=hunk.text.expected,
        )
    else:
        spot = next(surroundings(source, hunk), None) if hunk.text.inside is not None else None
        if spot is not None and hunk.text.inside is not None:
            flag = inside_flag(spot[1])
            problem = Message(
                "the code stands in `{scope}` at line {row}, but with `{flag}` and not `{expected}`",
                scope=scope,
                row=source.lines.number(spot[0].start),
                flag=flag,
                expected=inside_flag(hunk.text.inside),
            )
            return problem, Message("write `{flag}` if that place is meant", flag=flag)
        problem = Message("`{scope}` is there, but the code to change is not", scope=scope)
    best = closest(source, hunk, scope, [place.start for place in places])
    if best is not None:
        return joined("\n", [problem, *_brief(best)]), best.hint
    if places:
        return problem, Message("write `count={number}` if that is all", number=len(places))
    looked = next(
        (line.strip() for line in hunk.before.written.split("\n") if line.strip(" .")), ""
    )
    hint = Message("nothing like it was found there: it was rewritten or went away")
    return Message("{problem}\nlooked for: {looked}", problem=problem, looked=looked), hint


def _brief(best: Closest) -> list[str]:
    width = len(str(max(best.code.line, best.pattern.line)))
    head = Message("closest, line {line}: ", line=f"{best.code.line:>{width}}")
    return [
        head + best.code.text,
        " " * len(head) + underline(*best.code[1:]),
        Message(
            "pattern, line {line}: {text}",
            line=f"{best.pattern.line:>{width}}",
            text=best.pattern.text,
        ),
        best.words,
    ]
