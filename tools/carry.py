"""How far real edits carry: what upstream changed, turned into hunks and applied to older releases.

    python -m tools.carry [--package NAME ...] [--edits N] [--seed N] [--jobs J] [--second]
                          [--show wrong] [--json FILE]
    python -m tools.carry --edit requests-2.31.0/requests/utils.py:870:hunk

Each edit is one change of upstream, made at its home release and compared with releases before that
in which the file is another, beside GNU patch and `git merge-file`. A result is right where its
syntax tree is the one of those peers that apply, but for the position of imports and functions, and
wrong where it is not; where no peer applies, it is right if the same comes out of a merge by
tokens, else nobody judges it. At the next release, which has the change, nothing may be applied.
Releases are fetched with pip and kept below SITEPATCH_TEST_CACHE.
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
from functools import partial
from pathlib import Path
from random import Random
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import Draft, FileEdit
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import Answer, HunkText, State
from patcher.planner.reconcile import reconciled
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
JUDGES = ("definition", "lines", "tokens")
NOBODY = "nobody"
OURS, PATCH, MERGE = "sitepatch", "GNU patch", "git merge-file"
AT_HOME = ("exact", "same tree")
"""What `Hunks.home` is where the edit can be expressed."""
Maker = Callable[[Sequence[FileEdit], Sequence[Mapping[str, bytes]]], Draft]


class Cell(NamedTuple):
    """What became of one edit at one older release.

    Attributes:
        version: of that release.
        judge: who knows what is right: one of JUDGES, or NOBODY.
        answers: right, refused, wrong or unjudged, by tool.
        message: the answers of the engine.
        diff: what it makes of the text.
    """

    version: str
    judge: str
    answers: Mapping[str, str]
    message: str
    diff: str


class Hunks(NamedTuple):
    """The hunks that were made of an edit.

    Attributes:
        home: what they make of the edit's own release: `exact`, `same tree`, or what is wrong:
            `left`, `refused at home`, `wrong at home`, `hang`, `crash`.
        spatch: their text.
        hunks: themselves, none where something is wrong in making them.
        seconds: of the CPU, to make them.
        message: why something is left or refused at home.
    """

    home: str
    spatch: str = ""
    hunks: tuple[HunkText, ...] = ()
    seconds: float = 0.0
    message: str = ""


class Result(NamedTuple):
    """What became of one edit.

    `upstream` is the answer of the next release: `upstream`, `refused` or `applied`. `verbatim`
    is whether that has what the edit makes without other changes in the same function.
    """

    edit: Edit
    made: Hunks
    cells: tuple[Cell, ...]
    upstream: str
    verbatim: bool


# one edit -------------------------------------------------------------------------------------
def measured(
    edit: Edit, others: Sequence[tuple[str, bytes]] = (), make: Maker = generalise
) -> Result:
    """Make hunks of an edit and try them at the other releases.

    Args:
        edit: the edit.
        others: (version, text) of releases that are given to what makes the hunks: those are
            not measured.
        make: makes the hunks.
    """
    made = _hunks(edit, others, make)
    known = {version for version, _ in others}
    cells = []
    for version, text in edit.older:
        if version not in known:
            cells.append(_cell(edit, version, text, made.hunks))
    return Result(
        edit,
        made,
        cells=tuple(cells),
        upstream=_upstream(edit, made.hunks),
        verbatim=peers.verbatim(edit),
    )


def _hunks(edit: Edit, others: Sequence[tuple[str, bytes]], make: Maker) -> Hunks:
    started = time.process_time()
    spatch, seconds = "", 0.0
    try:
        with limit(CPU_SECONDS):
            releases = [{edit.path: text} for _, text in others]
            draft = make([FileEdit(edit.path, edit.before, edit.after)], releases)
            seconds = time.process_time() - started
            spatch = draft.spatch()
            if not draft.complete or not spatch:
                message = ""
                for part in draft.left_out:
                    message += f"left: line {part.line}: {part.why}\n{part.text}"
                return Hunks("left", spatch, seconds=seconds, message=message)
            files = parse_spatch(spatch, "edit")[1]
            hunks = tuple(hunk for file in files for hunk in file.hunks)
            home, message = _at_home(edit, hunks)
    except Hang:
        return Hunks("hang", spatch, seconds=CPU_SECONDS)
    except Exception:
        return Hunks("crash", spatch, seconds=seconds, message=traceback.format_exc())
    return Hunks(home, spatch, hunks, seconds=seconds, message=message)


def applied(text: bytes, hunks: Sequence[HunkText]) -> tuple[bytes | None, str]:
    """The new text, None where it is refused, and the answers in words."""
    if not hunks:
        return None, "no hunks"
    result = rewrite(text, hunks, {})
    answers = reconciled([Answer("edit", "edit.py", answer) for answer in result.answers])
    lines = []
    for answer in answers:
        line = f"{answer.state.value} {answer.places} {answer.problem} {answer.hint}"
        lines.append(line.rstrip())
    states = {answer.state for answer in answers}
    is_applied = State.APPLICABLE in states and not any(state.failed for state in states)
    return (result.data if is_applied else None), "\n".join(lines)


def _at_home(edit: Edit, hunks: Sequence[HunkText]) -> tuple[str, str]:
    """What the hunks make of the release that they were made at, and the answers in words."""
    made, message = applied(edit.before, hunks)
    if made is None:
        return "refused at home", message
    if made == edit.after:
        return "exact", message
    return "same tree" if _equal(made, edit.after) else "wrong at home", message


def _upstream(edit: Edit, hunks: Sequence[HunkText]) -> str:
    """What the hunks say of the next release, which has the change."""
    states = {answer.state for answer in rewrite(edit.upstream, hunks, {}).answers}
    states.discard(State.NOT_NEEDED)
    if states == {State.APPLICABLE}:
        return "applied"
    return "upstream" if states == {State.UPSTREAM} else "refused"


def _cell(edit: Edit, version: str, text: bytes, hunks: Sequence[HunkText]) -> Cell:
    ours, message = applied(text, hunks)
    patched = peers.gnu_patch(edit.before, edit.after, text)
    merged = peers.merge_file(edit.before, edit.after, text)
    made = {OURS: ours, PATCH: patched, MERGE: merged}
    by_lines = [each for each in (patched, merged) if each is not None]
    judge, expected = _reference(edit, text, by_lines)
    if judge != NOBODY and _equal(expected, text):
        # it is there already
        expected = text
        made = {tool: text if each is None else each for tool, each in made.items()}
    answers = {tool: _judged(each, judge, expected) for tool, each in made.items()}
    # a docstring that is another one there stays as it is
    ours = made[OURS]
    if ours is not None and State.NOT_NEEDED.value in message:
        answers[OURS] = _judged(_undocumented(ours), judge, _undocumented(expected))
    diff = "" if ours is None else changes.unified(text, ours, edit.path)
    return Cell(version, judge, answers=answers, message=message, diff=diff)


def _reference(edit: Edit, text: bytes, by_lines: Sequence[bytes]) -> tuple[str, bytes]:
    """Who says what is right at another release, and what that is.

    The edited functions where they are as at home, else what those make of it that work by lines,
    where they agree.
    """
    definition = peers.same_definition(edit.before, edit.after, text)
    if definition is not None:
        return "definition", definition
    if by_lines and all(_equal(by_lines[0], each) for each in by_lines):
        return "lines", by_lines[0]
    tokens = peers.merged_by_tokens(edit.before, edit.after, text)
    return ("tokens", tokens) if tokens is not None else (NOBODY, b"")


def _judged(made: bytes | None, judge: str, expected: bytes) -> str:
    if made is None:
        return "refused"
    if judge != NOBODY and _equal(made, expected):
        return "right"
    return "wrong" if judge in ("definition", "lines") else "unjudged"


def _undocumented(text: bytes) -> bytes:
    """A text with its docstrings emptied, and without comments and layout."""
    tree = parsed(text)
    return text if tree is None else ast.unparse(changes.without_docstrings(tree)).encode()


def _equal(one: bytes, other: bytes) -> bool:
    if one == other:
        return True
    first, second = parsed(one), parsed(other)
    return first is not None and second is not None and alike(first, second)


# many edits -----------------------------------------------------------------------------------
def chosen(cache: Path, packages: Sequence[str], options: argparse.Namespace) -> list[Edit]:
    """So many edits, as many of each package as there are; the same for a seed and releases."""
    number = 2 * options.edits // len(packages) + 1
    with multiprocessing.Pool(options.jobs) as pool:
        of_package = partial(_of_package, cache, number=number, seed=options.seed)
        found = pool.map(of_package, packages, chunksize=1)
    in_turn: list[Edit] = []
    for row in itertools.zip_longest(*found):
        in_turn += filter(None, row)
    return sorted(in_turn[: options.edits], key=lambda edit: packages.index(edit.package))


def _of_package(cache: Path, package: str, number: int, seed: int) -> list[Edit]:
    releases = changes.releases(cache, package, RELEASES)
    found = changes.edits(package, releases, Random(f"{seed} {package}"))
    return list(itertools.islice(found, number))


_EDITS: list[Edit] = []  # what the forked processes take theirs from


def _nth(second: bool, index: int) -> Result:
    edit = _EDITS[index]
    has_several = len(edit.older) > 1
    return measured(edit, edit.older[-1:] if second and has_several else ())


def results(found: Sequence[Edit], jobs: int, second: bool) -> Iterator[Result]:
    """Measure all, in order; `second` gives the farthest release to what makes the hunks."""
    _EDITS[:] = found
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(partial(_nth, second), range(len(found)))


# what is printed ------------------------------------------------------------------------------
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

    Percentages of right, refused, wrong and unjudged are of `cells`, for which somebody knows what
    is right; `nobody` is how many of the others something was made of. `applied there` counts the
    next releases in which the edit was made again, `told` those that are said to have it, of all
    and of those that have it verbatim.
    """
    rows: list[Sequence[str]] = [HEAD]
    for name, group in _groups(done).items():
        if group:
            rows.append(_row(name, group))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        lines.append("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
    return "\n".join(lines)


def _groups(done: Sequence[Result]) -> dict[str, list[Result]]:
    groups = {
        package: [each for each in done if each.edit.package == package] for package in PACKAGES
    }
    for kind in ("hunk", "definition"):
        groups[kind] = [each for each in done if each.edit.kind == kind]
    for judge in JUDGES:
        of_judge = []
        for each in done:
            cells = tuple(cell for cell in each.cells if cell.judge == judge)
            of_judge.append(each._replace(cells=cells))
        groups[f"by {judge}"] = of_judge
    groups["all"] = list(done)
    return groups


def _row(name: str, group: Sequence[Result]) -> list[str]:
    cells = [cell for each in group for cell in each.cells]
    judged = [cell for cell in cells if cell.judge != NOBODY]
    unjudged = [cell for cell in cells if cell.judge == NOBODY]
    homes = Counter(each.made.home for each in group)
    row = [
        name,
        str(len(group)),
        _percent(sum(homes[home] for home in AT_HOME), len(group)),
        _percent(homes["exact"], len(group)),
        str(len(judged)),
    ]
    shares = [(OURS, answer) for answer in ("right", "refused", "wrong", "unjudged")]
    shares += [(PATCH, "right"), (PATCH, "wrong"), (MERGE, "right"), (MERGE, "wrong")]
    for tool, answer in shares:
        row.append(_percent(sum(cell.answers[tool] == answer for cell in judged), len(judged)))

    made = sum(cell.answers[OURS] != "refused" for cell in unjudged)
    verbatim = [each for each in group if each.verbatim]
    seconds = sum(each.made.seconds for each in group) / len(group)
    return [
        *row,
        f"{made} of {len(unjudged)}",
        str(sum(each.upstream == "applied" for each in group)),
        _percent_upstream(group),
        _percent_upstream(verbatim),
        f"{seconds:.2f}",
    ]


def _percent_upstream(group: Sequence[Result]) -> str:
    return _percent(sum(each.upstream == "upstream" for each in group), len(group))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def words(result: Result) -> set[str]:
    """What `--show` finds a result by."""
    found = {result.made.home, f"upstream-{result.upstream}"}
    for cell in result.cells:
        found |= _words(cell)
    return found


def _words(cell: Cell) -> set[str]:
    answer = cell.answers[OURS]
    return {answer, f"{cell.judge}-{answer}"}


def shown(result: Result, word: str) -> str:
    """A result with all that is needed to understand it; `word` chooses the releases."""
    made = result.made
    head = f"{'=' * 20} {result.edit.name}: {made.home} ({made.seconds:.2f} s)"
    parts = [head, result.edit.diff(), "-- hunks", made.spatch]
    if made.message and made.home not in AT_HOME:
        parts += ["-- at home", made.message]
    for cell in result.cells:
        if not word or word in _words(cell):
            answers = ", ".join(f"{tool} {answer}" for tool, answer in cell.answers.items())
            parts.append(f"-- {cell.version}, judged by {cell.judge}: {answers}")
            parts += [cell.message, cell.diff]
    if word in ("", f"upstream-{result.upstream}"):
        verbatim = ", verbatim" if result.verbatim else ""
        parts.append(f"-- next release: {result.upstream}{verbatim}")
    return "\n".join(part.rstrip("\n") for part in parts)


def as_json(done: Iterable[Result]) -> str:
    """What can be compared with another run."""
    rows = []
    for each in done:
        cells = [[cell.version, cell.judge, cell.answers, cell.message] for cell in each.cells]
        row = {
            "edit": each.edit.name,
            "home": each.made.home,
            "upstream": each.upstream,
            "verbatim": each.verbatim,
            "seconds": round(each.made.seconds, 3),
            "spatch": each.made.spatch,
            "message": each.made.message,
            "cells": cells,
        }
        rows.append(row)
    return json.dumps(rows, indent=1)


def main() -> None:
    """Print the table, or one edit."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="sitepatch-carry-") as scratch:
        cache = Path(os.environ.get("SITEPATCH_TEST_CACHE") or scratch) / "carry"
        if options.edit:
            print(_one(cache, options.edit, options.second))
            return
        found = chosen(cache, options.package or PACKAGES, options)

    done: list[Result] = []
    for result in results(found, options.jobs, options.second):
        done.append(result)
        if options.show and options.show in words(result):
            print(shown(result, options.show), flush=True)
        if not len(done) % 100:
            print(f"{len(done)} of {len(found)}", file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(as_json(done))
    print(table(done))


def _one(cache: Path, name: str, second: bool) -> str:
    """What became of the edit of that name."""
    package = name.split("/")[0].rpartition("-")[0]
    edit = changes.named(changes.releases(cache, package, RELEASES), name)
    if edit is None:
        return "no such edit"
    return shown(measured(edit, edit.older[-1:] if second else ()), "")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--package", action="append", metavar="NAME", help="default: " + " ".join(PACKAGES))
    add("--edits", type=int, default=200, metavar="N")
    add("--seed", type=int, default=0, metavar="N")
    add("--jobs", type=int, default=2, metavar="N")
    add(
        "--second",
        action="store_true",
        help="give the farthest older release to what makes the hunks",
    )
    add(
        "--show",
        metavar="WORD",
        help="print those that are wrong, refused, left, crash, nobody-right, upstream-applied ...",
    )
    add("--edit", metavar="NAME", help="one edit alone, as --show names it")
    add("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
