"""Random edits of real source, each captured and made again.

    python -m tools.edits [--edits 2000] [--seed N] [--jobs 2] [--kind KIND] [--number N]
                          [--show said|left|wrong|crash] [--source DIR ...] [--comments]

The source is the standard library and every installed package, or what is below the directories of
`--source`. An edit is made in the text, at positions that `ast` gives, as a person would make it
(`tools/kinds.py`); with `--comments` the function gets comments first. `--number` repeats one of a
seed.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import re
import traceback
from collections import Counter
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Callable, NamedTuple, Sequence

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import Draft, FileEdit
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from tests.engine import corpus
from tests.names import breaks_names, reads_early
from tools.changes import FUNCTIONS, alike, parsed, same, unified
from tools.fuzz import Hang, limit
from tools.kinds import KINDS, Place
from tools.planted import comments, planted

CPU_SECONDS = 60.0
LARGEST = 120_000  # bytes of a file
OUTCOMES = ("exact", "said", "lost", "left", "refused", "wrong", "crash", "hang")


class Edit(NamedTuple):
    """An edit of a file: `number` and the seed make it again."""

    number: int
    kind: str
    path: str
    before: bytes
    after: bytes

    def diff(self) -> str:
        return unified(self.before, self.after, self.path)


# making edits ---------------------------------------------------------------------------------
class Source(NamedTuple):
    """What is edited: the files below these folders, or without any all that is installed.

    With `comments` a function gets comments before it is edited.
    """

    folders: tuple[Path, ...] = ()
    comments: bool = False


INSTALLED = Source()


def made(
    seed: int, number: int, kinds: Sequence[str] = tuple(KINDS), source: Source = INSTALLED
) -> Edit:
    """The edit of that number: the kinds come in turn, the file and the place by chance."""
    random = Random(f"{seed} {number}")
    files = _files(source.folders)
    kind = kinds[number % len(kinds)]
    while True:
        path = random.choice(files)
        data = path.read_bytes()
        functions = [each for each in corpus.functions(path) if isinstance(each.node, FUNCTIONS)]
        if not functions or b"\r" in data or not _is_utf8(data):
            continue
        for _ in range(8):
            function = random.choice(functions)
            if source.comments:
                function = _commented(function, random)
            parts = KINDS[kind](Place(function.data, function, function.node, random))
            after = function.data
            for start, end, text in sorted(parts, reverse=True):
                after = after[:start] + text + after[end:]
            if parts and _is_change(function.data, after):
                return Edit(number, kind, f"package/{path.name}", function.data, after)


def _commented(function: corpus.Function, random: Random) -> corpus.Function:
    """A function with comments."""
    node = function.node
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    data = planted(function.data, (first, node.end_lineno), random)
    order = [each for each in ast.walk(ast.parse(function.data)) if isinstance(each, FUNCTIONS)]
    index = [(each.name, each.lineno) for each in order].index((node.name, node.lineno))
    changed = [each for each in ast.walk(ast.parse(data)) if isinstance(each, FUNCTIONS)]
    return function._replace(data=data, node=changed[index])


def _is_change(before: bytes, after: bytes) -> bool:
    """Whether a text becomes another one that is Python and loses no name that it reads."""
    old, new = parsed(before), parsed(after)
    if old is None or new is None or same(old, new):
        return False
    return not breaks_names(before.decode(), after.decode())


def _is_utf8(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text) and not re.match(rb".*\n?.*coding[:=]\s*(?!utf-?8)\w", data[:200])


@lru_cache(maxsize=1)
def _files(folders: tuple[Path, ...] = ()) -> Sequence[Path]:
    if not folders:
        return corpus.files()
    found: list[Path] = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if 200 < path.stat().st_size < LARGEST:
                found.append(path)
    return found


# what comes of them ---------------------------------------------------------------------------
class Tried(NamedTuple):
    """What came of an edit: one of OUTCOMES; `text` has the hunks and what is wrong."""

    edit: Edit
    outcome: str
    text: str


def tried(edit: Edit, make: Callable[[Sequence[FileEdit]], Draft] = generalise) -> Tried:
    """Capture an edit and make it again from the hunks.

    `exact`: the bytes are those of the edited file. `said`: the same syntax tree but for the
    position of imports and functions, and the draft says that it differs. `lost`: that, and a
    comment is missing, or there twice. `left`: a part of the
    edit is in no hunk, and the draft says so. `refused`: the same of an edit that reads a local
    before anything binds it. Anything else must not be.
    """
    try:
        with limit(CPU_SECONDS):
            draft = make([FileEdit(edit.path, edit.before, edit.after)])
            spatch = draft.spatch()
            files = parse_spatch(spatch, "edit")[1] if spatch else ()
            hunks = [hunk for file in files for hunk in file.hunks]
            result = rewrite(edit.before, hunks, {})
    except Hang:
        return Tried(edit, "hang", "")
    except Exception:
        return Tried(edit, "crash", traceback.format_exc())

    if draft.left_out:
        is_broken = reads_early(edit.before.decode(), edit.after.decode())
        text = spatch
        for part in draft.left_out:
            text += f"left: {part.line}: {part.why}\n{part.text}\n"
        return Tried(edit, "refused" if is_broken else "left", text)
    difference = "".join(file.difference for file in draft.files)
    if result.data == edit.after:
        return Tried(edit, "wrong" if difference else "exact", spatch + difference)

    diff = unified(edit.after, result.data, "made")
    if difference and _alike(result.data, edit.after):
        outcome = "lost" if _loses_comments(edit, result.data) else "said"
        return Tried(edit, outcome, f"{spatch}\ndifference: {difference}\n{diff}")
    answers = [f"{answer.state.value}: {answer.problem}" for answer in result.answers]
    return Tried(edit, "wrong", "\n".join([spatch, *answers, diff]))


def _loses_comments(edit: Edit, made: bytes) -> bool:
    """Whether a comment is missing, or there more often than before and after the edit."""
    old, new, found = comments(edit.before), comments(edit.after), comments(made)
    return bool(new - found or found - (old | new))


def _alike(one: bytes, other: bytes) -> bool:
    first, second = parsed(one), parsed(other)
    return first is not None and second is not None and alike(first, second)


def _try_number(seed: int, kinds: Sequence[str], source: Source, number: int) -> Tried:
    return tried(made(seed, number, kinds, source))


# the table ------------------------------------------------------------------------------------
def main() -> None:
    """Try many edits and print how each kind fared."""
    options = _options()
    seed = Random().randrange(1 << 32) if options.seed is None else options.seed
    kinds = options.kind or list(KINDS)
    numbers = range(options.edits) if options.number is None else [options.number]
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in [*kinds, "all"]}
    source = Source(tuple(options.source), options.comments)
    _files(source.folders)  # read once, for all processes
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for each in pool.imap(partial(_try_number, seed, kinds, source), numbers, chunksize=4):
            counts[each.edit.kind][each.outcome] += 1
            counts["all"][each.outcome] += 1
            if each.outcome in options.show or options.number is not None:
                print(_shown(each, seed, options.kind or ()))
    print(_table(seed, counts))


def _shown(each: Tried, seed: int, kinds: Sequence[str]) -> str:
    """An edit, how to make it again, and what came of it."""
    words = [f"--seed {seed} --number {each.edit.number}"]
    words += [f"--kind {kind}" for kind in kinds]
    head = f"{'=' * 20} {' '.join(words)} {each.edit.kind}: {each.outcome}"
    return f"{head}\n{each.edit.diff()}-- hunks\n{each.text}"


def _table(seed: int, counts: dict[str, Counter[str]]) -> str:
    head = "".join(f"{outcome:>8}" for outcome in OUTCOMES)
    lines = [f"seed {seed}", f"{'':14}{head}   exact, but for the refused"]
    for kind, count in counts.items():
        total = max(1, sum(count.values()) - count["refused"])
        cells = "".join(f"{count[outcome]:8}" for outcome in OUTCOMES)
        lines.append(f"{kind:14}{cells}  {100 * count['exact'] / total:5.1f}%")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=2_000, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--show", choices=OUTCOMES, action="append", default=[])
    parser.add_argument("--number", type=int, metavar="N", help="this one alone")
    parser.add_argument("--source", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--comments", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
