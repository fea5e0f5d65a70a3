"""The code that is closest to what a hunk looks for, compared word by word.

The words of the hunk's before side are compared with those of every run of lines in its scope
(difflib). Whatever a metavariable or `...` stands for does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Iterable, Iterator, Sequence

from patcher.engine.lex import Lines, tokens
from patcher.engine.match import MatchRange
from patcher.engine.source import Source, in_scope
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message
from patcher.model import Closest, Mark
from patcher.record import Record

LEAST = 0.3  # likeness below which code is not shown
_MOST_WORDS = 200  # of a pattern that are compared: a table of thousands would take minutes
_MOST_STARTS = 60  # lines at which a run may begin that are compared
_MANY_WORDS = 60  # of a pattern, above which these are fewer lines: each takes longer
_FURTHER = 6  # lines that a run may have more than the pattern
_SCREEN = 68  # columns of a line that is shown
_LONGEST = 60  # characters of code that are quoted
_PUNCTUATION = frozenset(".,()[]{}:=")
_WORD = re.compile(r"\.\.\.|\"[^\"\n]*\"|'[^'\n]*'|\$?\w+|[=!<>:]=|->|\*\*|//|<<|>>|[^\w\s]")
_NO_BREAK = re.compile(r"[^\r\n]")


class _Word(Record):
    """A word of a text and its character offsets; its quotes are double ones."""

    text: str
    start: int
    end: int


if TYPE_CHECKING:
    _Rows = list[list[_Word]]
    """The words of each of some consecutive lines."""


class _Pattern(Record):
    """What the code has to have: `words`, and between them `gaps` that stand for other code.

    `gaps[i]` stands before word `i`, the last one behind all words: `...`, a metavariable, or
    empty. `has_prose` is whether a string of it has several words.
    """

    words: list[_Word]
    gaps: list[str]
    is_expression: bool
    has_prose: bool

    @property
    def end(self) -> int:
        """The offset past its words in the before side."""
        return self.words[-1].end if self.words else 0


class _Run(Record):
    """Consecutive lines of code, and how well they match a pattern."""

    words: list[_Word]
    score: float
    likeness: float


class _Difference(Record):
    """The first words in which code and pattern differ.

    `line` is the line (1-based) on which the file has the words of the pattern, if it has them
    elsewhere, else 0.
    """

    code: Sequence[_Word]
    pattern: Sequence[_Word]
    line: int = 0


def closest(
    source: Source,
    hunk: Hunk,
    scope: str,
    taken: Sequence[MatchRange] = (),
) -> Closest | None:
    """The code of a scope that is closest to the before side of a hunk.

    Args:
        source: the file.
        hunk: the hunk, whose own scope need not be `scope`.
        scope: a qualified name or `<module>`.
        taken: places at which the pattern matches; no run begins there.

    Returns:
        None where no code has at least `LEAST` of the pattern.
    """
    pattern = _pattern(hunk)
    rows = list(_rows(source, scope, pattern))
    taken_lines = {source.lines.number(place.start) for place in taken}
    most_lines = hunk.before.written.count("\n", 0, pattern.end) + 1 + _FURTHER
    best: _Run | None = None
    runs = _runs(source, rows, pattern, most_lines, taken_lines=taken_lines)

    for words in runs:
        least = best.score if best else 0.0
        run = _compared(words, pattern, least=least)
        if run is not None and (best is None or run.score > best.score):
            best = run

    if best is None or best.likeness < LEAST:
        return None
    return _described(source, hunk.before, best, pattern, rows)


# words --------------------------------------------------------------------------------------------
def _pattern(hunk: Hunk) -> _Pattern:
    """What the before side of a hunk looks for."""
    written = hunk.before.written
    words: list[_Word] = []
    gaps = [""]
    for word in _words(written, 0, len(written)):
        if word.text == "...":
            gaps[-1] = "..."
        elif word.text.startswith("$"):
            gaps[-1] = gaps[-1] or word.text
        elif word.text == "," and gaps[-1] == "...":
            continue  # it belongs to what the run stands for
        else:
            words.append(word)
            gaps.append("")
        if len(words) == _MOST_WORDS:
            break

    strings = [token.text for token in tokens(written) if token.kind == "string"]
    return _Pattern(
        words,
        gaps,
        is_expression=hunk.form == "expression",
        has_prose=any(len(text.split()) > 1 for text in strings),
    )


def _words(text: str, start: int, end: int) -> list[_Word]:
    """The words of a text between two offsets."""
    words = []
    for match in _WORD.finditer(text, start, end):
        written = match.group().replace("'", '"')
        words.append(_Word(written, match.start(), end=match.end()))

    return words


def _texts(words: Iterable[_Word]) -> list[str]:
    """The texts of words."""
    return [word.text for word in words]


def _weight(words: Sequence[str]) -> float:
    """Names, numbers and strings tell code apart; punctuation hardly does."""
    return sum(0.2 if word in _PUNCTUATION else 1.0 for word in words)


# the lines of a scope -----------------------------------------------------------------------------
def _rows(source: Source, scope: str, pattern: _Pattern) -> Iterator[_Rows]:
    """The words of each line, range by range of the scope.

    Comments, the header of a definition and, for a pattern without prose, texts of several lines
    are left out.
    """
    text = _code_of(source.text, with_texts=pattern.has_prose)
    first_word = pattern.words[0].text if pattern.words else ""
    is_definition = first_word in ("def", "class", "async", "@")
    has_header = scope != "<module>" and not is_definition
    for start, end in _ranges(source, scope):
        first = source.lines.number(start) - 1
        last = source.lines.number(max(start, end - 1)) - 1
        rows = []
        for row in range(first, last + 1):
            line_start = source.lines.starts[row]
            line_end = source.lines.end(line_start)
            words = _words(text, max(line_start, start), min(line_end, end))
            rows.append(words)

        if has_header and len(rows) > 1:
            rows[0] = []
        yield rows


def _code_of(text: str, *, with_texts: bool) -> str:
    """A text without comments and, unless `with_texts`, strings of several lines: blanked out."""
    parts: list[str] = []
    end = 0
    for token in tokens(text):
        is_text = token.kind == "string" and "\n" in token.text
        if token.kind == "comment" or (is_text and not with_texts):
            parts.append(text[end : token.start])
            parts.append(_NO_BREAK.sub(" ", token.text))
            end = token.end

    parts.append(text[end:])
    return "".join(parts)


def _ranges(source: Source, scope: str) -> Iterator[tuple[int, int]]:
    """The character ranges of a scope: its definitions.

    For `<module>` that is all text outside of definitions, and the first line of each definition.
    """
    if scope != "<module>":
        for definition in source.definitions():
            if in_scope(definition.name, scope):
                yield definition.start, definition.end

        return

    start = 0
    for definition in sorted(source.definitions(), key=lambda each: each.start):
        if definition.start >= start:
            header = min(source.lines.end(definition.start), definition.end)
            yield start, header
            start = definition.end

    yield start, len(source.text)


# the closest run ----------------------------------------------------------------------------------
def _runs(
    source: Source,
    blocks: Sequence[_Rows],
    pattern: _Pattern,
    most_lines: int,
    taken_lines: set[int],
) -> Iterator[list[_Word]]:
    """The words of each run of lines that may be meant; it begins with a word of the pattern."""
    wanted = Counter(word.text for word in pattern.words if word.text not in _PUNCTUATION)
    starts = []
    for rows in blocks:
        for at, words in enumerate(rows):
            if not words or source.lines.number(words[0].start) in taken_lines:
                continue
            if not any(word.text in wanted for word in words):
                continue

            window: Counter[str] = Counter()
            for row in rows[at : at + most_lines]:
                window.update(_texts(row))

            shared = window & wanted
            share = sum(shared.values())
            starts.append((-share, words[0].start, rows[at:]))

    starts.sort(key=lambda each: each[:2])
    most = _MOST_STARTS * _MANY_WORDS // max(_MANY_WORDS, len(pattern.words))
    for _, _, rows in starts[:most]:
        words = []
        for row in rows[:most_lines]:
            words = words + row
            if row:
                yield words


def _compared(words: list[_Word], pattern: _Pattern, least: float) -> _Run | None:
    """Score a run against the pattern; None if it cannot score more than `least`."""
    have = _texts(words)
    want = _texts(pattern.words)
    matcher = SequenceMatcher(None, have, want, autojunk=False)
    if matcher.quick_ratio() <= least / 2:
        return None

    same = 0.0
    for at, _, size in matcher.get_matching_blocks():
        same += _weight(have[at : at + size])

    likeness = same / max(_weight(want), 1.0)
    weight = _weight(have)
    surplus = (weight - same) / max(weight, 1.0)
    score = likeness - 0.1 * surplus  # of two runs with the same words the shorter one is meant
    if score <= least:
        return None
    return _Run(words, score, likeness=likeness)


# the first difference -----------------------------------------------------------------------------
def _described(
    source: Source,
    side: Side,
    run: _Run,
    pattern: _Pattern,
    blocks: Sequence[_Rows],
) -> Closest:
    """Describe the closest run; `blocks` are the words of each line, range by range."""
    difference = _first_difference(run.words, pattern)
    if difference.pattern and not difference.code and not pattern.is_expression:
        difference = _moved(source, side, difference, pattern, blocks)

    words, hint = _advice(source, side, difference)
    start = run.words[0].start
    code_span = _span(difference.code, run.words)
    pattern_span = _span(difference.pattern, pattern.words)
    return Closest(
        line=source.lines.number(start),
        text=source.line(start),
        likeness=round(min(0.99, run.likeness), 2),
        code=_mark(source.text, code_span),
        pattern=_mark(side.written, pattern_span, numbers=side.numbers),
        words=words,
        hint=hint,
    )


def _advice(source: Source, side: Side, difference: _Difference) -> tuple[str, str]:
    """The first difference in words, and what to write instead."""
    code = _quoted(source.text, difference.code)
    pattern = _quoted(side.written, difference.pattern)
    if pattern and code:
        words = Message(
            "the pattern has `{pattern}`, the code has `{code}`",
            pattern=pattern,
            code=code,
        )
        return words, Message("write `{code}` there", code=code)

    if difference.line:
        words = Message(
            "the pattern has `{pattern}` here, the code has it in line {line}",
            pattern=pattern,
            line=difference.line,
        )
        return words, Message("write it where it stands there")

    if pattern:
        words = Message("the pattern has `{pattern}`, the code does not", pattern=pattern)
        return words, Message("leave `{pattern}` out", pattern=pattern)
    if code:
        words = Message("the code has `{code}`, the pattern does not", code=code)
        return words, Message("write `{code}` there, or `...` for any code", code=code)

    words = Message("each word of the pattern is there, but in other blocks or brackets")
    return words, Message("write it as it stands there")


def _first_difference(words: Sequence[_Word], pattern: _Pattern) -> _Difference:
    """The first words that only the pattern has; if there are none, that only the code has."""
    have = _texts(words)
    want = _texts(pattern.words)
    surplus: Sequence[_Word] = ()
    missing: Sequence[_Word] = ()
    matcher = SequenceMatcher(None, have, want, autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            continue
        if not _PUNCTUATION.issuperset(want[j1:j2]):
            code = words[i1:i2]
            if pattern.gaps[j1] and _stands_for(pattern.gaps[j1], have[i1:i2]):
                code = ()
            return _Difference(_without_ends(code), pattern.words[j1:j2])

        missing = missing or pattern.words[j1:j2]
        at_an_end = i1 == 0 or i2 == len(words)
        is_outside = pattern.is_expression and at_an_end
        if not surplus and not is_outside and not _stands_for(pattern.gaps[j1], have[i1:i2]):
            surplus = words[i1:i2]

    if missing:
        return _Difference((), missing)
    return _Difference(surplus, ())


def _moved(
    source: Source,
    side: Side,
    difference: _Difference,
    pattern: _Pattern,
    blocks: Sequence[_Rows],
) -> _Difference:
    """The difference; if the scope has the whole line of the pattern elsewhere, that line."""
    missing = difference.pattern
    named = next((word for word in missing if word.text not in _PUNCTUATION), missing[0])
    lines = Lines(side.written)
    row = lines.number(named.start)
    written = lines.row(row - 1)
    if "..." in written or "$" in written:
        return difference

    line = [word for word in pattern.words if lines.number(word.start) == row]
    texts = _texts(line)
    for rows in blocks:
        for words in rows:
            if _texts(words) == texts:
                number = source.lines.number(words[0].start)
                return _Difference((), line, line=number)

    return difference


def _without_ends(words: Sequence[_Word]) -> Sequence[_Word]:
    """Words without the punctuation at either end, unless there is nothing else."""
    named = [at for at, word in enumerate(words) if word.text not in _PUNCTUATION]
    if not named:
        return words

    first, last = named[0], named[-1]
    return words[first : last + 1]


def _stands_for(gap: str, code: Sequence[str]) -> bool:
    """Whether a gap of a pattern may stand for this code.

    `...` stands for any code, a metavariable for one expression.
    """
    if gap == "..." or not code:
        return True
    if not gap:
        return False

    depth = 0
    for word in code:
        if depth == 0 and word in {",", "=", ":", ")", "]", "}"}:
            return False

        depth += word in {"(", "[", "{"}
        depth -= word in {")", "]", "}"}

    return True


# shown --------------------------------------------------------------------------------------------
def _quoted(text: str, words: Sequence[_Word]) -> str:
    """The text of some words on one line, cut to `_LONGEST`; "" for none."""
    if not words:
        return ""

    start, end = words[0].start, words[-1].end
    quoted = " ".join(text[start:end].split())
    if len(quoted) <= _LONGEST:
        return quoted
    return quoted[: _LONGEST - 1] + "…"


def _span(words: Sequence[_Word], all_words: Sequence[_Word]) -> tuple[int, int]:
    """The characters to mark: those of these words, or if there are none of the first of all."""
    marked = words or all_words[:1]
    return marked[0].start, marked[-1].end


def _mark(code: str, span: tuple[int, int], numbers: Sequence[int] = ()) -> Mark:
    """The line on which a range begins, unindented, cut to `_SCREEN` columns around the range.

    `numbers` are the .spatch lines of a side.
    """
    first, past = span
    lines = Lines(code)
    row = lines.number(first)
    written = lines.row(row - 1).rstrip()
    line = written.lstrip().replace("\t", " ").replace("\f", " ")
    begin = lines.start(first) + len(written) - len(line)
    start = max(0, first - begin)
    end = min(past - begin, len(line))
    end = max(start + 1, end)

    cut = min(start - 20, len(line) - _SCREEN)
    cut = max(0, cut)
    shown = line[cut : cut + _SCREEN]
    if cut:
        shown = "…" + shown[1:]
    if cut + _SCREEN < len(line):
        shown = shown[:-1] + "…"

    number = row
    if numbers:
        number = numbers[min(row, len(numbers)) - 1]
    shown_end = min(end - cut, len(shown))
    return Mark(number, shown, start=start - cut, end=shown_end)
