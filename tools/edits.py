"""Random edits of real source, of the standard library and of every installed package, each captured and made again.

    python -m tools.edits [--edits 2000] [--seed N] [--jobs 2] [--kind KIND] [--show said|left|wrong|crash] [--number N]

An edit is made in the text, at positions that `ast` gives, as a person would make it. `--number` repeats one of a seed.
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
from typing import Callable, NamedTuple, Sequence, Tuple

from patcher.author.draft import Draft, FileEdit
from patcher.author.hunks.generalise import generalise
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from tests.engine import corpus
from tests.names import breaks_names, reads_early
from tools.changes import FUNCTIONS, alike, parsed, same, unified
from tools.fuzz import Hang, limit

CPU_SECONDS = 60.0
OUTCOMES = ("exact", "said", "left", "refused", "wrong", "crash", "hang")
Part = Tuple[int, int, bytes]  # replace these bytes


class Place(NamedTuple):
    """A function of a file, in which something is to be edited."""

    data: bytes
    function: corpus.Function
    node: ast.FunctionDef
    random: Random

    def span(self, node: ast.AST) -> tuple[int, int]:
        return corpus.span(self.function, node)

    def own_lines(self, node: ast.stmt) -> tuple[int, int, bytes] | None:
        """The bytes of the whole lines of a statement and its indentation; None where it shares them with other code."""
        starts = corpus.line_starts(self.data)
        begin, end = (
            starts[node.lineno - 1],
            starts[node.end_lineno] if node.end_lineno < len(starts) else len(self.data),
        )  # type: ignore[operator,index]
        margin = self.data[begin : self.span(node)[0]]
        rest = self.data[self.span(node)[1] : end]
        alone = (
            not margin.strip()
            and (not rest.strip() or rest.lstrip().startswith(b"#"))
            and self.data[end - 1 : end] == b"\n"
        )
        return (begin, end, margin) if alone and not getattr(node, "decorator_list", ()) else None

    def statement(self, skip: int = 0) -> ast.stmt | None:
        """Some statement on lines of its own; no docstring."""
        found = [
            each
            for each in corpus.statements(self.node)
            if self.own_lines(each) and not _is_text(each)
        ]
        return self.random.choice(found) if found else None

    def expression(self, *kinds: type) -> ast.AST | None:
        inside = corpus.within_strings(self.node)
        found = [
            each
            for each in ast.walk(self.node)
            if isinstance(each, kinds) and id(each) not in inside
        ]
        found = [each for each in found if not corpus.stored(each)]
        return self.random.choice(found) if found else None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# kinds of edits -------------------------------------------------------------------------------------------------------
def rename(place: Place) -> Sequence[Part]:
    names = sorted(
        {
            each.id
            for each in ast.walk(place.node)
            if isinstance(each, ast.Name) and corpus.stored(each)
        }
    )
    if not names or corpus.within_strings(place.node):
        return ()
    name = place.random.choice(names)
    found = [
        each for each in ast.walk(place.node) if isinstance(each, ast.Name) and each.id == name
    ]
    return [(*place.span(each), f"{name}_renamed".encode()) for each in found]


def attribute(place: Place) -> Sequence[Part]:
    node = place.expression(ast.Attribute)
    if node is None:
        return ()
    end = place.span(node)[1]
    return [(end - len(node.attr), end, f"{node.attr}_renamed".encode())]  # type: ignore[attr-defined]


def _wrapped(place: Place, head: bytes, tail: bytes) -> Sequence[Part]:
    node = place.statement()
    lines = place.own_lines(node) if node else None
    if lines is None:
        return ()
    begin, end, margin = lines
    text = place.data[begin:end]
    if (
        b'"""' in text
        or b"'''" in text
        or b"\\\n" in text
        or isinstance(node, (ast.Return, ast.Global, ast.Nonlocal))
    ):
        return ()
    moved = b"".join(b"    " + line if line.strip() else line for line in text.splitlines(True))
    tail = b"".join(margin + line + b"\n" for line in tail.splitlines())
    return [(begin, end, margin + head + b"\n" + moved + tail)]


def wrap_in_if(place: Place) -> Sequence[Part]:
    argument = place.node.args.args[-1].arg if place.node.args.args else "__debug__"
    return _wrapped(
        place,
        place.random.choice(
            [f"if {argument} is not None:", "if __debug__:", f"if not {argument}:"]
        ).encode(),
        b"",
    )


def wrap_in_try(place: Place) -> Sequence[Part]:
    return _wrapped(
        place,
        b"try:",
        place.random.choice([b"except ValueError:\n    pass", b"finally:\n    print()"]),
    )


def insert(place: Place) -> Sequence[Part]:
    node = place.statement()
    lines = place.own_lines(node) if node else None
    if lines is None:
        return ()
    new = place.random.choice(
        [
            'print("edited")',
            "made_up = None",
            "if not __debug__:\n    return",
            "# why\nprint(1)  # here",
            "assert True, 'edited'",
            "for number in range(3):\n    print(number)",
            "print(\n    1,\n    2,\n)",
        ]
    )
    at = lines[place.random.choice([0, 0, 1])]
    if at == lines[1] and isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        at = lines[0]
    return [(at, at, b"".join(lines[2] + line.encode() + b"\n" for line in new.splitlines()))]


def delete(place: Place) -> Sequence[Part]:
    found = [
        each
        for block in corpus.blocks(place.node)
        for each in block
        if len(block) > 1 and isinstance(each, ast.stmt)
    ]
    found = [each for each in found if place.own_lines(each) and not _is_text(each)]
    lines = place.own_lines(place.random.choice(found)) if found else None
    return [(lines[0], lines[1], b"")] if lines else ()


def replace(place: Place) -> Sequence[Part]:
    node = place.statement()
    lines = place.own_lines(node) if node else None
    new = place.random.choice(
        [b"print(0)", b"raise ValueError('edited')", b"made_up = [1, 2]\nprint(made_up)"]
    )
    return (
        [(lines[0], lines[1], b"".join(lines[2] + line + b"\n" for line in new.splitlines()))]
        if lines
        else ()
    )


def literal(place: Place) -> Sequence[Part]:
    node = place.expression(ast.Constant)
    if node is None:
        return ()
    value = node.value  # type: ignore[attr-defined]
    start, end = place.span(node)
    text = place.data[start:end]
    if isinstance(value, bool) or value is None:
        return [(start, end, place.random.choice([b"True", b"False", b"None"]))]
    if isinstance(value, (int, float)):
        return [(start, end, str(abs(value) * 2 + 1).encode())] if text.isdigit() else ()
    if isinstance(value, str) and re.fullmatch(rb"(\"|')[\w ,.:%-]+\1", text):
        return [
            (
                start,
                end,
                text[:-1] + place.random.choice([b" edited", b"s", b", or not"]) + text[-1:],
            )
        ]
    return ()


def docstring(place: Place) -> Sequence[Part]:
    first = place.node.body[0]
    if not _is_text(first) or not ast.get_docstring(place.node):
        return ()
    start, end = place.span(first)
    words = list(re.finditer(rb"\b[a-z]{3,}\b", place.data[start + 3 : end - 3]))
    if not words:
        return ()
    word = place.random.choice(words)
    return [(start + 3 + word.start(), start + 3 + word.end(), b"edited")]


def signature(place: Place) -> Sequence[Part]:
    given = place.node.args
    last = [*given.args, *given.defaults]
    if given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg:
        return ()
    if last:
        end = max(place.span(each)[1] for each in last)
        annotation = given.args[-1].annotation
        end = max(end, place.span(annotation)[1] if annotation else 0)
        row = place.data[place.data.rindex(b"\n", 0, end) + 1 : end]
        before = place.data[: place.data.rindex(b"\n", 0, end)].rstrip()[-1:]
        # one a line
        parted = b",\n" + row[: len(row) - len(row.lstrip())] if before in (b",", b"(") else b", "
        return (
            [(end, end, parted + b"made_up=None")]
            if place.data[end : end + 1] in (b")", b",")
            else ()
        )
    start = place.data.index(b"(", place.span(place.node)[0])
    return (
        [(start + 1, start + 1, b"made_up=None")]
        if place.data[start + 1 : start + 2] == b")"
        else ()
    )


def decorator(place: Place) -> Sequence[Part]:
    starts = corpus.line_starts(place.data)
    begin = starts[place.node.lineno - 1]
    margin = place.data[begin : place.span(place.node)[0]]
    if place.node.decorator_list and place.random.random() < 0.3:
        node = place.node.decorator_list[0]
        if node.lineno == node.end_lineno:
            return [(starts[node.lineno - 1], starts[node.lineno], b"")]
    return (
        [(begin, begin, margin + place.random.choice([b"@staticmethod", b"@property"]) + b"\n")]
        if not margin.strip()
        else ()
    )


def imported(place: Place) -> Sequence[Part]:
    new = place.random.choice(
        [b"import made_up_by_a_test\n", b"from made_up import by_a_test\n", b"import colorsys\n"]
    )
    starts, tree = corpus.line_starts(place.data), ast.parse(place.data)
    found = [
        each
        for each in tree.body
        if isinstance(each, (ast.Import, ast.ImportFrom)) and each.end_lineno < len(starts)
    ]  # type: ignore[operator]
    if not found or place.random.random() < 0.2:
        lines = place.own_lines(place.node.body[0]) if not _is_text(place.node.body[0]) else None
        return [(lines[0], lines[0], lines[2] + new)] if lines else ()
    node = place.random.choice(found)
    if getattr(node, "module", "") == "__future__" or node is not found[-1]:
        node = found[-1]
    at = starts[node.end_lineno]  # type: ignore[index]
    return [(at, at, new)] if place.data[at - 1 : at] == b"\n" else ()


def keyword(place: Place) -> Sequence[Part]:
    node = place.expression(ast.Call)
    if not isinstance(node, ast.Call) or any(
        isinstance(each, ast.GeneratorExp) for each in node.args
    ):
        return ()
    named = [each for each in node.keywords if each.arg]
    if named and place.random.random() < 0.5:
        return [
            (
                *place.span(place.random.choice(named).value),
                place.random.choice([b"None", b"dict(a=1)", b"[1, 2]"]),
            )
        ]
    given = [*node.args, *(each.value for each in node.keywords)]
    if any(each.arg is None for each in node.keywords):
        return ()
    at = max(place.span(each)[1] for each in given) if given else place.span(node)[1] - 1
    follows = place.data[at : at + 1]
    return [(at, at, b", made_up=1" if given else b"made_up=1")] if follows in (b")", b",") else ()


def operator(place: Place) -> Sequence[Part]:
    node = place.expression(ast.Compare, ast.BoolOp)
    if node is None:
        return ()
    start, end = place.span(node)
    text = place.data[start:end]
    if b"\n" in text:
        return ()
    if isinstance(node, ast.BoolOp):
        new = text + (b" and __debug__" if isinstance(node.op, ast.And) else b" or __debug__")
    elif place.random.random() < 0.7 and isinstance(node.ops[0], (ast.Eq, ast.Lt, ast.Gt, ast.In)):  # type: ignore[attr-defined]
        left, right = place.span(node.left)[1] - start, place.span(node.comparators[0])[0] - start  # type: ignore[attr-defined]
        new = (
            text[:left]
            + re.sub(
                rb"==|<|>|\bin\b",
                lambda found: {b"==": b"!=", b"<": b"<=", b">": b">=", b"in": b"not in"}[found[0]],
                text[left:right],
            )
            + text[right:]
        )
    else:
        new = b"not (" + text + b")"
    return [(start, end, new)]


def several(place: Place) -> Sequence[Part]:
    """Two edits of other kinds in one function."""
    parts: list[Part] = []
    for kind in place.random.sample([literal, insert, delete, keyword, attribute, wrap_in_if], 3):
        new = kind(place)
        if not any(
            (a < end and start < b) or (a, b) == (start, end)
            for a, b, _ in new
            for start, end, _ in parts
        ):
            parts += new
    return parts if len(parts) > 1 else ()


KINDS: dict[str, Callable[[Place], Sequence[Part]]] = {
    each.__name__: each
    for each in (
        rename,
        attribute,
        wrap_in_if,
        wrap_in_try,
        insert,
        delete,
        replace,
        literal,
        docstring,
        signature,
        decorator,
        imported,
        keyword,
        operator,
        several,
    )
}


class Edit(NamedTuple):
    """An edit of a file: `number` and the seed make it again."""

    number: int
    kind: str
    path: str
    before: bytes
    after: bytes

    def diff(self) -> str:
        return unified(self.before, self.after, self.path)


def made(seed: int, number: int, kinds: Sequence[str] = tuple(KINDS)) -> Edit:
    """The edit of that number: the kinds come in turn, the file and the place by chance."""
    random, files, kind = Random(f"{seed} {number}"), _files(), kinds[number % len(kinds)]
    while True:
        path = random.choice(files)
        data = path.read_bytes()
        functions = [each for each in corpus.functions(path) if isinstance(each.node, FUNCTIONS)]
        if not functions or b"\r" in data or not _is_utf8(data):
            continue
        for _ in range(8):
            function = random.choice(functions)
            parts = KINDS[kind](Place(data, function, function.node, random))  # type: ignore[arg-type]
            after = data
            for start, end, text in sorted(parts, reverse=True):
                after = after[:start] + text + after[end:]
            trees = parsed(data), parsed(after)
            good = parts and trees[0] is not None and trees[1] is not None and not same(*trees)
            if good and not breaks_names(data.decode(), after.decode()):
                return Edit(number, kind, f"package/{path.name}", data, after)


def _is_utf8(data: bytes) -> bool:
    try:
        return bool(data.decode("utf-8")) and not re.match(
            rb".*\n?.*coding[:=]\s*(?!utf-?8)\w", data[:200]
        )
    except UnicodeDecodeError:
        return False


@lru_cache(maxsize=1)
def _files() -> Sequence[Path]:
    return corpus.files()


# what comes of them ---------------------------------------------------------------------------------------------------
class Tried(NamedTuple):
    """What came of an edit: one of OUTCOMES; `text` has the hunks and what is wrong."""

    edit: Edit
    outcome: str
    text: str


def tried(edit: Edit, make: Callable[[Sequence[FileEdit]], Draft] = generalise) -> Tried:
    """Capture an edit and make it again from the hunks.

    `exact`: the bytes are those of the edited file. `said`: the same syntax tree but for the position of imports and functions,
    and the draft says that it differs. `left`: a part of the edit is in no hunk, and the draft says so. `refused`: the same of
    an edit that reads a local before anything binds it. Anything else must not be.
    """
    try:
        with limit(CPU_SECONDS):
            draft = make([FileEdit(edit.path, edit.before, edit.after)])
            text = draft.spatch()
            hunks = (
                [hunk for file in parse_spatch(text, "edit")[1] for hunk in file.hunks]
                if text
                else []
            )
            result = rewrite(edit.before, hunks, {})
    except Hang:
        return Tried(edit, "hang", "")
    except Exception:
        return Tried(edit, "crash", traceback.format_exc())
    left = draft.left_out
    difference = "".join(file.difference for file in draft.files)
    if left:
        is_broken = reads_early(edit.before.decode(), edit.after.decode())
        return Tried(
            edit,
            "refused" if is_broken else "left",
            text + "".join(f"left: {part.line}: {part.why}\n{part.text}\n" for part in left),
        )
    if result.data == edit.after:
        return Tried(edit, "wrong" if difference else "exact", text + difference)
    trees = parsed(result.data), parsed(edit.after)
    if difference and trees[0] is not None and trees[1] is not None and alike(*trees):
        return Tried(
            edit,
            "said",
            f"{text}\ndifference: {difference}\n" + unified(edit.after, result.data, "made"),
        )
    answers = "\n".join(f"{answer.state.value}: {answer.problem}" for answer in result.answers)
    return Tried(edit, "wrong", f"{text}\n{answers}\n" + unified(edit.after, result.data, "made"))


def _one(seed: int, kinds: Sequence[str], number: int) -> Tried:
    return tried(made(seed, number, kinds))


def main() -> None:
    """Try many edits and print how each kind fared."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=2_000, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--show", choices=OUTCOMES, action="append", default=[])
    parser.add_argument("--number", type=int, metavar="N", help="this one alone")
    asked = parser.parse_args()
    seed = Random().randrange(1 << 32) if asked.seed is None else asked.seed
    kinds = asked.kind or list(KINDS)
    numbers = range(asked.edits) if asked.number is None else [asked.number]
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in [*kinds, "all"]}
    _files()
    with multiprocessing.get_context("fork").Pool(asked.jobs) as pool:
        for each in pool.imap(partial(_one, seed, kinds), numbers, chunksize=4):
            counts[each.edit.kind][each.outcome] += 1
            counts["all"][each.outcome] += 1
            if each.outcome in asked.show or asked.number is not None:
                head = f"{'=' * 20} --seed {seed} --number {each.edit.number} {''.join(f' --kind {kind}' for kind in asked.kind or ())}"
                print(
                    f"{head} {each.edit.kind}: {each.outcome}\n{each.edit.diff()}-- hunks\n{each.text}"
                )
    print(
        f"seed {seed}\n{'':14}"
        + "".join(f"{outcome:>8}" for outcome in OUTCOMES)
        + "   exact, but for the refused"
    )
    for kind, count in counts.items():
        total = sum(count.values()) - count["refused"]
        print(
            f"{kind:14}"
            + "".join(f"{count[outcome]:8}" for outcome in OUTCOMES)
            + f"  {100 * count['exact'] / max(1, total):5.1f}%"
        )


if __name__ == "__main__":
    main()
