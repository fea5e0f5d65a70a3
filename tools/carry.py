"""How far real edits carry: what upstream changed, one edit at a time, turned into hunks and applied to older releases.

    python -m tools.carry [--package NAME ...] [--edits N] [--seed N] [--jobs J] [--second] [--show wrong] [--json FILE]
    python -m tools.carry --edit requests-2.31.0/requests/utils.py:870:hunk

Each edit is made at its home release and held against releases before that in which the file is another, beside GNU patch
and `git merge-file`. A result is right where its syntax tree is the one of those peers that apply, but for the
position of imports and functions, and wrong where it is not; where no peer applies, it is right if the same comes out of a merge by tokens, else nobody judges it. At the next
release, which has the change, nothing may be applied. Releases are fetched with pip and kept below SITEPATCH_TEST_CACHE.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)

from patcher.author.draft import Draft, FileEdit
from patcher.author.hunks.generalise import generalise
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import HunkText, State
from patcher.planner.plan import answer_of, reconciled
from tools import changes, peers
from tools.changes import Edit, alike, parsed
from tools.fuzz import Hang, limit

PACKAGES = (
    "accelerate",
    "attrs",
    "click",
    "flask",
    "httpx",
    "jinja2",
    "mmengine",
    "networkx",
    "packaging",
    "pip",
    "pytest",
    "requests",
    "rich",
    "setuptools",
    "urllib3",
    "werkzeug",
)
CPU_SECONDS = 60.0
RELEASES = 14  # of each package, the last ones
Maker = Callable[[Sequence[FileEdit], Sequence[Mapping[str, bytes]]], Draft]


class Cell(NamedTuple):
    """What became of one edit at one older release, by tool: right, refused, wrong or unjudged.

    `judge` says who knows what is right: one of JUDGES, or "nobody". `message` has the answers of the engine, `diff`
    what it makes of the text.
    """

    version: str
    judge: str
    answers: Mapping[str, str]
    message: str
    diff: str


class Result(NamedTuple):
    """What became of one edit.

    `home` is `exact`, `same tree`, or what is wrong: `left`, `refused at home`, `wrong at home`, `hang`, `crash`. `upstream` is
    the answer of the next release: `upstream`, `refused` or `applied`. `verbatim` says whether the next release has what the edit makes without other changes in the same function, `message`
    why something is left or refused at home. `seconds` are of the CPU, to make the hunks.
    """

    edit: Edit
    home: str
    spatch: str
    cells: tuple[Cell, ...]
    upstream: str
    verbatim: bool
    seconds: float
    message: str = ""


# one edit -------------------------------------------------------------------------------------------------------------
def measured(
    edit: Edit, others: Sequence[tuple[str, bytes]] = (), make: Maker = generalise
) -> Result:
    """Make hunks of an edit and hold them against the other releases; `others` are given to what makes them."""
    started = time.process_time()
    spatch, hunks, home, message, seconds = "", (), "left", "", 0.0
    try:
        with limit(CPU_SECONDS):
            draft = make(
                [FileEdit(edit.path, edit.before, edit.after)],
                [{edit.path: text} for _, text in others],
            )
            seconds = time.process_time() - started
            spatch = draft.spatch()
            message = "".join(
                f"left: line {part.line}: {part.why}\n{part.text}" for part in draft.left_out
            )
            if draft.complete and spatch:
                made = tuple(
                    hunk for file in parse_spatch(spatch, "edit")[1] for hunk in file.hunks
                )
                home, message = _at_home(edit, made)
                hunks = made
    except Hang:
        home, seconds = "hang", CPU_SECONDS
    except Exception:
        home, message = "crash", traceback.format_exc()
    given = {version for version, _ in others}
    cells = tuple(
        _cell(edit, version, text, hunks) for version, text in edit.older if version not in given
    )
    return Result(edit, home, spatch, cells, *_upstream(edit, hunks), seconds, message)


def applied(text: bytes, hunks: Sequence[HunkText]) -> tuple[bytes | None, str]:
    """The new text, None where it is refused, and the answers in words."""
    if not hunks:
        return None, "no hunks"
    made = rewrite(text, hunks, {})
    answers = reconciled([answer_of("edit", "edit.py", answer) for answer in made.answers])
    words = "\n".join(
        f"{answer.state.value} {answer.places} {answer.problem} {answer.hint}".rstrip()
        for answer in answers
    )
    states = {answer.state for answer in answers}
    return (
        made.data
        if State.APPLICABLE in states and not any(state.failed for state in states)
        else None
    ), words


def _at_home(edit: Edit, hunks: Sequence[HunkText]) -> tuple[str, str]:
    made, words = applied(edit.before, hunks)
    if made is None:
        return "refused at home", words
    return (
        "exact"
        if made == edit.after
        else "same tree"
        if _equal(made, edit.after)
        else "wrong at home"
    ), words


def _upstream(edit: Edit, hunks: Sequence[HunkText]) -> tuple[str, bool]:
    states = {answer.state for answer in rewrite(edit.upstream, hunks, {}).answers} - {
        State.NOT_NEEDED
    }
    said = {frozenset([State.APPLICABLE]): "applied", frozenset([State.UPSTREAM]): "upstream"}
    return said.get(frozenset(states), "refused"), peers.verbatim(edit)


def _cell(edit: Edit, version: str, text: bytes, hunks: Sequence[HunkText]) -> Cell:
    made: dict[str, bytes | None] = {}
    made["sitepatch"], message = applied(text, hunks)
    made["GNU patch"] = peers.gnu_patch(edit.before, edit.after, text)
    made["git merge-file"] = peers.merge_file(edit.before, edit.after, text)
    judge, expected = _reference(
        edit, text, [each for each in list(made.values())[1:] if each is not None]
    )
    if judge != "nobody" and _equal(expected, text):
        # it is there already
        expected, made = (
            text,
            {tool: text if each is None else each for tool, each in made.items()},
        )
    answers = {tool: _judged(each, judge, expected) for tool, each in made.items()}
    ours = made["sitepatch"]
    # a docstring that is another one there stays as it is
    if ours is not None and State.NOT_NEEDED.value in message:
        answers["sitepatch"] = _judged(_undocumented(ours), judge, _undocumented(expected))
    return Cell(
        version,
        judge,
        answers,
        message,
        changes.unified(text, ours, edit.path) if ours is not None else "",
    )


def _reference(edit: Edit, text: bytes, by_lines: Sequence[bytes]) -> tuple[str, bytes]:
    """Who says what is right at another release, and what that is.

    The edited functions where they are as at home, else what those make of it that work by lines, where they agree.
    """
    definition = peers.same_definition(edit.before, edit.after, text)
    if definition is not None:
        return "definition", definition
    if by_lines and all(_equal(by_lines[0], each) for each in by_lines):
        return "lines", by_lines[0]
    tokens = peers.merged_by_tokens(edit.before, edit.after, text)
    return ("tokens", tokens) if tokens is not None else ("nobody", b"")


def _judged(made: bytes | None, judge: str, expected: bytes) -> str:
    if made is None:
        return "refused"
    if judge != "nobody" and _equal(made, expected):
        return "right"
    return "wrong" if judge in ("definition", "lines") else "unjudged"


def _undocumented(text: bytes) -> bytes:
    """A text with its docstrings emptied, and without comments and layout."""
    tree = parsed(text)
    return text if tree is None else ast.unparse(changes.without_docstrings(tree)).encode()


def _equal(one: bytes, other: bytes) -> bool:
    if one == other:
        return True
    trees = parsed(one), parsed(other)
    return trees[0] is not None and trees[1] is not None and alike(*trees)


# many edits -----------------------------------------------------------------------------------------------------------
def chosen(cache: Path, packages: Sequence[str], number: int, seed: int, jobs: int) -> list[Edit]:
    """So many edits, as many of each package as there are; the same ones for the same seed and releases."""
    with multiprocessing.Pool(jobs) as pool:
        words = [(cache, package, 2 * number // len(packages) + 1, seed) for package in packages]
        found = pool.starmap(_of_package, words, chunksize=1)
    in_turn = [edit for row in itertools.zip_longest(*found) for edit in row if edit is not None]
    return sorted(in_turn[:number], key=lambda edit: packages.index(edit.package))


def _of_package(cache: Path, package: str, number: int, seed: int) -> list[Edit]:
    found = changes.releases(cache, package, RELEASES)
    return list(
        itertools.islice(changes.edits(package, found, Random(f"{seed} {package}")), number)
    )


_EDITS: list[Edit] = []  # what the forked processes take theirs from
_SECOND = False


def _nth(index: int) -> Result:
    edit = _EDITS[index]
    return measured(edit, edit.older[-1:] if _SECOND and len(edit.older) > 1 else ())


def results(found: Sequence[Edit], jobs: int, second: bool) -> Iterator[Result]:
    """Measure all, in order."""
    global _SECOND
    _EDITS[:], _SECOND = found, second
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(_nth, range(len(found)))


# what is printed ------------------------------------------------------------------------------------------------------
JUDGES = ("definition", "lines", "tokens")
HEAD = (
    "",
    "edits",
    "expressible",
    "exact",
    "cells",
    "right",
    "refused",
    "wrong",
    "unjudged",
    "patch right",
    "wrong",
    "merge right",
    "wrong",
    "nobody",
    "applied there",
    "told",
    "of verbatim",
    "seconds",
)


def table(done: Sequence[Result]) -> str:
    """A row for each package, each kind of edit, each judge, and one for all.

    Percentages of right, refused, wrong and unjudged are of `cells`, for which somebody knows what is right; `nobody` is how
    many of the others something was made of. `applied there` counts the next releases in which the edit was made again,
    `told` those that are said to have it, of all and of those that have it verbatim.
    """
    everything = [(each, each.cells) for each in done]
    groups = [
        (package, [(each, each.cells) for each in done if each.edit.package == package])
        for package in PACKAGES
    ]
    groups += [
        (kind, [(each, each.cells) for each in done if each.edit.kind == kind])
        for kind in ("hunk", "definition")
    ]
    groups += [
        (
            f"by {judge}",
            [(each, tuple(cell for cell in each.cells if cell.judge == judge)) for each in done],
        )
        for judge in JUDGES
    ]
    rows = [HEAD, *(_row(name, group) for name, group in [*groups, ("all", everything)] if group)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
    )


def _row(name: str, group: Sequence[tuple[Result, Sequence[Cell]]]) -> Sequence[str]:
    results, every = [each for each, _ in group], [cell for _, cells in group for cell in cells]
    cells, lost = (
        [cell for cell in every if cell.judge != "nobody"],
        [cell for cell in every if cell.judge == "nobody"],
    )

    def share(tool: str, word: str) -> str:
        return _percent(sum(cell.answers[tool] == word for cell in cells), len(cells))

    homes = Counter(each.home for each in results)
    verbatim = [each for each in results if each.verbatim]
    return (
        name,
        str(len(results)),
        _percent(homes["exact"] + homes["same tree"], len(results)),
        _percent(homes["exact"], len(results)),
        str(len(cells)),
        *(share("sitepatch", word) for word in ("right", "refused", "wrong", "unjudged")),
        *(
            share(tool, word)
            for tool in ("GNU patch", "git merge-file")
            for word in ("right", "wrong")
        ),
        f"{sum(cell.answers['sitepatch'] != 'refused' for cell in lost)} of {len(lost)}",
        str(sum(each.upstream == "applied" for each in results)),
        *(
            _percent(sum(each.upstream == "upstream" for each in some), len(some))
            for some in (results, verbatim)
        ),
        f"{sum(each.seconds for each in results) / max(1, len(results)):.2f}",
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def words(result: Result) -> set[str]:
    """What `--show` finds a result by."""
    return {
        result.home,
        f"upstream-{result.upstream}",
        *(cell.answers["sitepatch"] for cell in result.cells),
    } | {f"{cell.judge}-{cell.answers['sitepatch']}" for cell in result.cells}


def shown(result: Result, word: str) -> str:
    """A result with all that is needed to understand it; `word` chooses the releases."""
    parts = [
        f"{'=' * 20} {result.edit.name}: {result.home} ({result.seconds:.2f} s)",
        result.edit.diff(),
        "-- hunks",
        result.spatch,
    ]
    parts += (
        ["-- at home", result.message]
        if result.message and result.home not in ("exact", "same tree")
        else []
    )
    for cell in result.cells:
        if word in ("", cell.answers["sitepatch"], f"{cell.judge}-{cell.answers['sitepatch']}"):
            said = ", ".join(f"{tool} {answer}" for tool, answer in cell.answers.items())
            parts += [f"-- {cell.version}, judged by {cell.judge}: {said}", cell.message, cell.diff]
    if word in ("", f"upstream-{result.upstream}"):
        parts += [f"-- next release: {result.upstream}{', verbatim' if result.verbatim else ''}"]
    return "\n".join(part.rstrip("\n") for part in parts)


def as_json(done: Iterable[Result]) -> str:
    """What can be compared with another run."""
    return json.dumps(
        [
            {
                "edit": each.edit.name,
                "home": each.home,
                "upstream": each.upstream,
                "verbatim": each.verbatim,
                "seconds": round(each.seconds, 3),
                "spatch": each.spatch,
                "message": each.message,
                "cells": [
                    [cell.version, cell.judge, cell.answers, cell.message] for cell in each.cells
                ],
            }
            for each in done
        ],
        indent=1,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--package", action="append", metavar="NAME", help="default: " + " ".join(PACKAGES)
    )
    parser.add_argument("--edits", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument(
        "--second",
        action="store_true",
        help="give the farthest older release to what makes the hunks",
    )
    parser.add_argument(
        "--show",
        metavar="WORD",
        help="print those that are wrong, refused, left, crash, nobody-right, upstream-applied, ...",
    )
    parser.add_argument("--edit", metavar="NAME", help="one edit alone, as --show names it")
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sitepatch-carry-") as scratch:
        cache = Path(os.environ.get("SITEPATCH_TEST_CACHE") or scratch) / "carry"
        if asked.edit:
            edit = changes.named(
                changes.releases(cache, asked.edit.split("/")[0].rpartition("-")[0], RELEASES),
                asked.edit,
            )
            print(
                shown(measured(edit, edit.older[-1:] if asked.second else ()), "")
                if edit
                else "no such edit"
            )
            return
        found = chosen(cache, asked.package or PACKAGES, asked.edits, asked.seed, asked.jobs)
    done: list[Result] = []
    for result in results(found, asked.jobs, asked.second):
        done.append(result)
        if asked.show and asked.show in words(result):
            print(shown(result, asked.show), flush=True)
        if not len(done) % 100:
            print(f"{len(done)} of {len(found)}", file=sys.stderr, flush=True)
    if asked.json:
        asked.json.write_text(as_json(done))
    print(table(done))


if __name__ == "__main__":
    main()
