"""The code of a scope that is closest to a hunk's before side, by syntax. Imported only where a hunk was not found."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches
from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.engine.explain.alignment import SIMILAR, AlignedPair, Aligner, similarity
from patcher.engine.explain.difference import Describer, Mismatch, TextRange
from patcher.engine.in_string import string_parts
from patcher.engine.lex import Lines
from patcher.engine.match.find import FoundPlaces, scope_ranges, surroundings
from patcher.engine.match.match import TooManySteps, blocks, implicit_run
from patcher.engine.node import Node, is_expression
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message, joined
from patcher.model import HunkAnswer, State
from patcher.text.listed import count as count_of
from patcher.text.terminal import underline

LEAST = 0.3  # likeness below which code is not shown
_LIKE_TEXT = 0.5  # of a text that has to be in another one for that to be shown
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
    same_kind: bool
    start: int
    node: Node
    pairs: List[AlignedPair]


def closest(source: Source, hunk: Hunk, scope: str, taken: Sequence[int] = ()) -> Optional[Closest]:
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
    identifiers = {name for group in side.identifiers() for name in group}
    names = [frozenset([name]) for name in sorted(identifiers | _alike(source, side))] if scope == "<module>" else []
    nearby: List[_Candidate] = []
    try:
        for block in source.scopes(scope, names, bodies=side.writes_body()):
            look = _expressions if hunk.form == "expression" else _runs
            for candidate in look(source, hunk, block, aligner):
                nearby.append(candidate)
    except TooManySteps:
        pass
    total = sum(map(aligner.weight, side.nodes))
    nearby = [candidate for candidate in nearby if candidate.start not in taken and candidate.cost <= (1 - LEAST) * total]
    if not nearby:
        return None
    least = min(candidate.cost for candidate in nearby)
    written = " ".join(side.written.split())
    ties = [candidate for candidate in nearby if candidate.cost <= least + 0.02][:20]
    best = max(ties, key=lambda tie: (tie.same_kind, similarity(written, _text(source, tie)), -tie.start))
    return _described(source, side, best, aligner, total)


def _alike(source: Source, side: Side) -> Set[str]:
    """Words of top-level lines that are the same as, or similar to, words of a pattern: those statements are parsed."""
    lines = re.findall(r"^[^\s#].*", source.text, re.MULTILINE)
    words = sorted({word for line in lines for word in re.findall(r"\w+", line)})[:_MOST_WORDS]
    names = set(re.findall(r"\w+", side.written))
    return {near for word in names for near in get_close_matches(word, words, 3, SIMILAR)}


def _text(source: Source, candidate: _Candidate) -> str:
    codes = [code for _, code in candidate.pairs if code is not None]
    return " ".join(source.text[codes[0].start : codes[-1].end][:500].split())


def _expressions(source: Source, hunk: Hunk, block: Node, aligner: Aligner) -> Iterator[_Candidate]:
    pattern, names = hunk.before.nodes[0], set(re.findall(r"\w+", hunk.before.written))
    nodes = [node for node in block.reachable(hunk.text.scope == "<module>") if is_expression(node)]

    def shared(node: Node) -> Tuple[int, int]:
        have = names.intersection(re.findall(r"\w+", source.text[node.start : node.end]))
        return -len(have), node.end - node.start

    for node in sorted(nodes, key=shared)[:_MOST]:
        cost = aligner.aligned(pattern, node).cost
        yield _Candidate(cost, node.kind == pattern.kind, node.start, node, [(pattern, node)])


def _runs(source: Source, hunk: Hunk, block: Node, aligner: Aligner) -> Iterator[_Candidate]:
    patterns = [implicit_run(), *hunk.before.nodes, implicit_run()]
    for codes in blocks(patterns, block, module=hunk.text.scope == "<module>", clauses=hunk.form == "clauses"):
        cost, pairs = aligner.pairs(patterns, codes)
        start = next((code.begin for pattern, code in pairs if pattern is not None and code is not None), None)
        if start is not None and codes[0].parent is not None:
            yield _Candidate(cost, True, start, codes[0].parent, pairs)


def _described(source: Source, side: Side, candidate: _Candidate, aligner: Aligner, total: float) -> Optional[Closest]:
    """A candidate as a `Closest`; None for one that matches, in a block that is not meant."""
    differences = Describer(source, side, aligner).differences(aligner.parts(candidate.pairs, (None, candidate.node)))
    line = source.lines.number(candidate.start)
    if not candidate.cost and not differences:
        return None
    if not differences:
        pattern, code = (next(node for node in nodes if node is not None) for nodes in zip(*candidate.pairs))
        words = Message("each part of the pattern matches by itself, and not all of them in one way together")
        differences = [
            Mismatch((pattern.start, pattern.end), (code.start, code.end), words, Message("write it as it stands there"))
        ]
    mismatch = differences[0]
    likeness = min(0.99, 1 - candidate.cost / total)
    pattern_mark = _mark(side.written, mismatch.pattern, [*side.numbers])
    shown = source.text[source.lines.start(candidate.start) : source.lines.end(candidate.start)].strip()
    remaining = len(differences) - 1
    mark = _mark(source.text, mismatch.code)
    return Closest(line, shown, round(likeness, 2), mark, pattern_mark, mismatch.words, mismatch.hint, remaining)


def _mark(code: str, span: TextRange, numbers: Optional[List[int]] = None) -> Mark:
    """The line on which a range begins, without its indentation; `numbers` are the .spatch lines of a side."""
    lines = Lines(code)
    row = lines.number(span[0])
    begin, end = lines.start(span[0]), lines.end(span[0])
    line = code[begin:end].rstrip()
    blank = len(line) - len(line.lstrip())
    start = max(0, span[0] - begin - blank)
    stop = max(start + 1, min(span[1] - begin, len(line)) - blank)
    shown = line[blank:].replace("\t", " ").replace("\f", " ")
    number = numbers[min(row, len(numbers)) - 1] if numbers else row
    return Mark(number, *_narrow(shown, start, stop))


def _narrow(line: str, start: int, end: int) -> Tuple[str, int, int]:
    """A line cut to `_SCREEN` columns around what is marked, and the marked columns of it."""
    offset = max(0, min(start - 20, len(line) - _SCREEN))
    head = "…" if offset else ""
    cut = head + line[offset + len(head) : offset + _SCREEN]
    cut = cut[:-1] + "…" if offset + _SCREEN < len(line) else cut
    return cut, start - offset, min(end - offset, len(cut))


# scopes ---------------------------------------------------------------------------------------------------------------
def near_scopes(source: Source, scope: str) -> Tuple[str, ...]:
    """Definitions that an undefined scope may have become: those of the same last name, else of a similar name."""
    names = list(dict.fromkeys(definition.name for definition in source.definitions()))
    last_name = scope.split(".")[-1]
    if scope == "<module>":
        return ()
    of_that_name = [name for name in names if name.split(".")[-1] == last_name]
    parent = scope[: -len(last_name)]
    siblings = [name[len(parent) :] for name in names if name.startswith(parent) and "." not in name[len(parent) :]]
    close = [parent + name for name in get_close_matches(last_name, siblings, 3, 0.7)] or get_close_matches(scope, names, 3)
    return tuple((of_that_name or close)[:3])


# the answer -----------------------------------------------------------------------------------------------------------
def not_found(source: Source, hunk: Hunk, matches: FoundPlaces) -> HunkAnswer:
    """The answer for a hunk that matches nowhere, or too few times: the closest code and the first difference."""
    scope, count = hunk.text.scope, hunk.text.expected
    if not matches.scopes:
        near = near_scopes(source, scope)
        hint = Message("the file has: {names}", names=", ".join(near)) if near else ""
        return HunkAnswer(
            hunk.text, State.NOT_FOUND, problem=Message("there is no `{scope}` in this file", scope=scope), hint=hint
        )
    places = [*matches.todo, *matches.done]
    problem = Message("`{scope}` is there, but the code to change is not", scope=scope)
    if places:
        numbers = sorted(source.lines.number(place.start) for place in places)
        where = Message("line {lines}" if len(numbers) == 1 else "lines {lines}", lines=", ".join(map(str, numbers)))
        problem = Message(
            "found {places} in `{scope}` ({where}), expected {count}",
            places=count_of(len(places), "place"),
            scope=scope,
            where=where,
            count=count,
        )
    if hunk.text.inside is not None and not places:
        spot = next(surroundings(source, hunk), None)
        if spot is not None:
            flag, expected, row = inside_flag(spot[1]), inside_flag(hunk.text.inside), source.lines.number(spot[0].start)
            problem = Message(
                "the code stands in `{scope}` at line {row}, but with `{flag}` and not `{expected}`",
                scope=scope,
                row=row,
                flag=flag,
                expected=expected,
            )
            return HunkAnswer(
                hunk.text, State.NOT_FOUND, problem=problem, hint=Message("write `{flag}` if that place is meant", flag=flag)
            )
    if hunk.text.in_string and not places:
        line = _nearest_text(source, hunk)
        shown = (
            Message("closest, line {line}: {text}", line=line[0], text=line[1])
            if line
            else Message("looked for: {text}", text=hunk.before.written.strip())
        )
        hint = Message("write it as it stands there" if line else "no string there is like it")
        problem = Message("`{scope}` is there, but no string in it has this text\n{shown}", scope=scope, shown=shown)
        return HunkAnswer(hunk.text, State.NOT_FOUND, problem=problem, hint=hint)
    best = closest(source, hunk, scope, [place.start for place in places])
    if best is None:
        looked = next((line.strip() for line in hunk.before.written.split("\n") if line.strip(" .")), "")
        if places:
            hint = Message("write `count={number}` if that is all", number=len(places))
            return HunkAnswer(hunk.text, State.NOT_FOUND, problem=problem, hint=hint)
        hint = Message("nothing like it was found there: it was rewritten or went away")
        return HunkAnswer(
            hunk.text,
            State.NOT_FOUND,
            problem=Message("{problem}\nlooked for: {looked}", problem=problem, looked=looked),
            hint=hint,
        )
    return HunkAnswer(hunk.text, State.NOT_FOUND, problem=joined("\n", [problem, *_brief(best)]), hint=best.hint)


def _brief(best: Closest) -> List[str]:
    width = len(str(max(best.code.line, best.pattern.line)))
    head = Message("closest, line {line}: ", line=f"{best.code.line:>{width}}")
    return [
        head + best.code.text,
        " " * len(head) + underline(*best.code[1:]),
        Message("pattern, line {line}: {text}", line=f"{best.pattern.line:>{width}}", text=best.pattern.text),
        best.words,
    ]


def _nearest_text(source: Source, hunk: Hunk) -> Optional[Tuple[int, str]]:
    """The line (1-based number, text) of a string of the scope that is most similar to the before side, None for none."""
    line_of_hunk = next(line.strip() for line in hunk.before.written.split("\n") if line.strip())
    best, nearest = _LIKE_TEXT, None
    for part in string_parts(source.text, scope_ranges(source, hunk.text.scope)):
        for line in re.finditer(r"[^\r\n]+", part.text):
            blocks = SequenceMatcher(None, line_of_hunk, line.group(), autojunk=False).get_matching_blocks()
            like = sum(block.size for block in blocks if block.size > 1) / len(line_of_hunk)
            if like > best:
                best, nearest = like, (source.lines.number(part.start + line.start()), line.group().strip())
    return nearest
