"""The code that is closest to what a hunk looks for, by words. Imported only where a hunk was not found.

The words of the hunk's before side are compared with those of every run of lines of its scope (difflib); what a
metavariable or `...` stands for does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Iterable, Iterator, NamedTuple, Sequence

from patcher.engine.lex import Lines, tokens
from patcher.engine.source import Source, in_scope
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message

LEAST = 0.3  # likeness below which code is not shown
_MOST_STARTS = 60  # lines at which a run may begin that are tried, those first that share most words with the pattern
_FURTHER = 6  # lines that a run may have more than the pattern
_SCREEN = 68  # columns of a line that is shown
_LONGEST = 60  # characters of code that are quoted
_PUNCTUATION = frozenset(".,()[]{}:=")
_WORD = re.compile(r"\.\.\.|\"[^\"\n]*\"|'[^'\n]*'|\$?\w+|[^\w\s]")


class Mark(NamedTuple):
    """A line of a file or of a `.spatch`: its 1-based number, its text, and the columns (0-based) to mark."""

    line: int
    text: str
    start: int
    end: int


class Closest(NamedTuple):
    """The closest code: the 1-based number and the text of its first line, and the first difference.

    `likeness` is how much of the pattern is there, from 0 to 1.
    """

    line: int
    text: str
    likeness: float
    code: Mark
    pattern: Mark
    words: str
    hint: str


class _Word(NamedTuple):
    """A word of a text: with one kind of quotes, and its character offsets."""

    text: str
    start: int
    end: int


class _Pattern(NamedTuple):
    """What the code has to have: `words`, and `gaps[i]`, what stands for other code before word `i` (at the end: after all).

    A gap is `...`, a metavariable or empty.
    """

    words: list[_Word]
    gaps: list[str]
    is_expression: bool


class _Moved(NamedTuple):
    """A line of a pattern, and the 1-based number of the line of the file that has the same words."""

    looked_for: list[_Word]
    line: int


class _Run(NamedTuple):
    """Consecutive lines of code, compared with a pattern."""

    words: list[_Word]
    score: float
    likeness: float


def closest(source: Source, hunk: Hunk, scope: str, taken: Sequence[int] = ()) -> Closest | None:
    """The code of a scope that is closest to the before side of a hunk.

    Args:
        source: the file.
        hunk: the hunk, whose own scope need not be `scope`.
        scope: a qualified name or `<module>`.
        taken: offsets at which the pattern matches; no run begins there.

    Returns:
        None where no code has at least `LEAST` of the pattern.
    """
    pattern = _pattern(hunk)
    best: _Run | None = None
    most_lines = hunk.before.written.count("\n") + 1 + _FURTHER
    for words in _runs(source, scope, pattern, most_lines, taken):
        run = _compared(words, pattern, least=best.score if best else 0.0)
        if run is not None and (best is None or run.score > best.score):
            best = run
    if best is None or best.likeness < LEAST:
        return None
    return _described(source, hunk.before, best, pattern, _rows(source, scope, pattern))


def _pattern(hunk: Hunk) -> _Pattern:
    written = hunk.before.written
    words: list[_Word] = []
    gaps = [""]
    for word in _words(written, 0, len(written)):
        if word.text == "...":
            gaps[-1] = "..."
        elif word.text.startswith("$"):
            gaps[-1] = gaps[-1] or word.text
        else:
            words.append(word)
            gaps.append("")
    return _Pattern(words, gaps, is_expression=hunk.form == "expression")


def _words(text: str, start: int, end: int) -> list[_Word]:
    words = []
    for match in _WORD.finditer(text, start, end):
        words.append(_Word(match.group().replace("'", '"'), match.start(), match.end()))
    return words


def _weight(words: Sequence[str]) -> float:
    """Names, numbers and strings tell code apart; punctuation hardly does."""
    return sum(0.2 if word in _PUNCTUATION else 1.0 for word in words)


def _runs(
    source: Source,
    scope: str,
    pattern: _Pattern,
    most_lines: int,
    taken: Sequence[int],
) -> Iterator[list[_Word]]:
    """The words of each run of lines that may be meant."""
    wanted = Counter(word.text for word in pattern.words if word.text not in _PUNCTUATION)
    taken_rows = {source.lines.number(offset) - 1 for offset in taken}
    starts = []
    for rows in _rows(source, scope, pattern):
        for at, words in enumerate(rows):
            if not words or source.lines.number(words[0].start) - 1 in taken_rows:
                continue
            if not any(word.text in wanted for word in words):
                continue  # a run begins with a line that has a word of the pattern
            window = Counter(word.text for row in rows[at : at + most_lines] for word in row)
            shared = sum((window & wanted).values())
            starts.append((-shared, words[0].start, rows[at:]))

    starts.sort(key=lambda each: each[:2])
    for _, _, rows in starts[:_MOST_STARTS]:
        words = []
        for row in rows[:most_lines]:
            words = words + row
            if row:
                yield words


def _rows(source: Source, scope: str, pattern: _Pattern) -> Iterator[list[list[_Word]]]:
    """The words of each line, range by range of the scope; without comments, and without the header of a definition."""
    comments = [token for token in tokens(source.text) if token.kind == "comment"]
    text = source.text
    for comment in reversed(comments):
        blank = " " * (comment.end - comment.start)
        text = text[: comment.start] + blank + text[comment.end :]

    defines = {"def", "class", "async", "@"}
    for start, end in _ranges(source, scope):
        first = source.lines.number(start) - 1
        last = source.lines.number(max(start, end - 1)) - 1
        rows = []
        for row in range(first, last + 1):
            begin = source.lines.starts[row]
            rows.append(_words(text, max(begin, start), min(source.lines.end(begin), end)))
        begins = pattern.words[0].text if pattern.words else ""
        if scope != "<module>" and len(rows) > 1 and begins not in defines:
            rows[0] = []
        yield rows


def _ranges(source: Source, scope: str) -> Iterator[tuple[int, int]]:
    """The characters of a scope: its definitions, or for `<module>` all text outside of them, and their first lines."""
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


def _compared(words: list[_Word], pattern: _Pattern, least: float) -> _Run | None:
    """A run with its score; None where it cannot be over `least`."""
    have = [word.text for word in words]
    want = [word.text for word in pattern.words]
    matcher = SequenceMatcher(None, have, want, autojunk=False)
    if matcher.quick_ratio() <= least / 2:
        return None
    same = 0.0
    for at, _, size in matcher.get_matching_blocks():
        same += _weight(have[at : at + size])
    total = max(_weight(want), 1.0)
    surplus = (_weight(have) - same) / max(_weight(have), 1.0)
    # of two runs with the same words the shorter one is meant
    score = same / total - 0.1 * surplus
    return _Run(words, score, same / total) if score > least else None


def _described(
    source: Source,
    side: Side,
    run: _Run,
    pattern: _Pattern,
    blocks: Iterable[list[list[_Word]]],
) -> Closest:
    """What is told of a run; `blocks` are the words of each line of the scope, range by range."""
    code, looked_for = _first_difference(run.words, pattern)
    start = run.words[0].start
    moved: _Moved | None = None
    if looked_for and not code and not pattern.is_expression:
        moved = _moved(source, side, looked_for, pattern, blocks)
    if moved is not None:
        looked_for = moved.looked_for
    code_text = _quoted(source.text, code)
    pattern_text = _quoted(side.written, looked_for)
    if looked_for and code:
        difference = Message(
            "the pattern has `{pattern}`, the code has `{code}`",
            pattern=pattern_text,
            code=code_text,
        )
        hint = Message("write `{code}` there", code=code_text)
    elif moved is not None:
        difference = Message(
            "the pattern has `{pattern}` here, the code has it in line {line}",
            pattern=pattern_text,
            line=moved.line,
        )
        hint = Message("write it where it stands there")
    elif looked_for:
        difference = Message("the pattern has `{pattern}`, the code does not", pattern=pattern_text)
        hint = Message("leave `{pattern}` out", pattern=pattern_text)
    elif code:
        difference = Message("the code has `{code}`, the pattern does not", code=code_text)
        hint = Message("write `{code}` there, or `...` for any code", code=code_text)
    else:
        difference = Message("each word of the pattern is there, but in other blocks or brackets")
        hint = Message("write it as it stands there")
    return Closest(
        line=source.lines.number(start),
        text=source.line(start),
        likeness=round(min(0.99, run.likeness), 2),
        code=_mark(source.text, _span(code, run.words)),
        pattern=_mark(side.written, _span(looked_for, pattern.words), side.numbers),
        words=difference,
        hint=hint,
    )


def _moved(
    source: Source,
    side: Side,
    looked_for: Sequence[_Word],
    pattern: _Pattern,
    blocks: Iterable[list[list[_Word]]],
) -> _Moved | None:
    """The line of a pattern with the first name that the code lacks, where the scope has that line elsewhere."""
    named = next((word for word in looked_for if word.text not in _PUNCTUATION), looked_for[0])
    lines = Lines(side.written)
    row = lines.number(named.start)
    written = lines.row(row - 1)
    if "..." in written or "$" in written:
        return None
    line = [word for word in pattern.words if lines.number(word.start) == row]
    wanted = [word.text for word in line]
    for rows in blocks:
        for words in rows:
            if [word.text for word in words] == wanted:
                return _Moved(line, source.lines.number(words[0].start))
    return None


def _first_difference(
    words: Sequence[_Word], pattern: _Pattern
) -> tuple[Sequence[_Word], Sequence[_Word]]:
    """The words of the code and of the pattern that differ first.

    Where the pattern asks for words that the code lacks, these; else what the code has besides.
    """
    have = [word.text for word in words]
    want = [word.text for word in pattern.words]
    surplus: Sequence[_Word] = ()
    missing: Sequence[_Word] = ()
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, have, want, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if not _PUNCTUATION.issuperset(want[j1:j2]):
            return _without_ends(words[i1:i2]), pattern.words[j1:j2]
        missing = missing or pattern.words[j1:j2]
        at_an_end = i1 == 0 or i2 == len(words)
        is_outside = pattern.is_expression and at_an_end
        if not surplus and not is_outside and not _stands_for(pattern.gaps[j1], have[i1:i2]):
            surplus = words[i1:i2]
    if missing:
        return (), missing
    return surplus, ()


def _without_ends(words: Sequence[_Word]) -> Sequence[_Word]:
    """Words without the punctuation at their ends, unless they are nothing else."""
    named = [at for at, word in enumerate(words) if word.text not in _PUNCTUATION]
    return words[named[0] : named[-1] + 1] if named else words


def _stands_for(gap: str, code: Sequence[str]) -> bool:
    """Whether a gap of a pattern may stand for this code: `...` for any, a metavariable for one expression."""
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


def _quoted(text: str, words: Sequence[_Word]) -> str:
    if not words:
        return ""
    quoted = " ".join(text[words[0].start : words[-1].end].split())
    return quoted if len(quoted) <= _LONGEST else quoted[: _LONGEST - 1] + "…"


def _span(words: Sequence[_Word], all_words: Sequence[_Word]) -> tuple[int, int]:
    """The characters to mark: of these words, else of the first one of all."""
    marked = words or all_words[:1]
    return marked[0].start, marked[-1].end


def _mark(code: str, span: tuple[int, int], numbers: Sequence[int] = ()) -> Mark:
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
