"""Statements that come, go or are replaced -> the hunks that could do it, the most general first."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

from patcher.author.hunks.context import Candidate, Made, ends, in_headers, with_context
from patcher.author.hunks.leaves import Leaf, kept_in, position, scope_of
from patcher.author.hunks.names import binds, mentioned_during_import, read_during_import, reads, telling_words
from patcher.author.hunks.sketch import Form, Hole, enclosed, excerpt, forms, tagged, verbatim
from patcher.author.hunks.spans import Text, statements
from patcher.engine.node import COMPOUND, Node

_STDLIB = frozenset(sys.builtin_module_names) | frozenset(
    getattr(sys, "stdlib_module_names", None) or (path.stem for path in Path(ast.__file__).parent.iterdir())
)


class Runs:
    """Makes the candidates for statements of a block that come, go or are replaced."""

    def __init__(self, before: Text, after: Text) -> None:
        self.before, self.after = before, after

    def run(self, leaf: Leaf) -> Iterator[Candidate]:
        """Candidates for statements of a block that come, go or are replaced."""
        if leaf.gone and leaf.come:
            yield from self._wrapped(leaf)
        if leaf.gone:
            gone = [line for node in leaf.gone for line in verbatim(self.before, node)]
            lines = (*tagged("-", gone), *tagged("+", self._inserted(leaf, below=True)))
            if len(telling_words(leaf.gone)) < 2:
                yield from with_context(self.before, leaf, [Made(lines, "the code that goes, which says too little alone")])
            yield Candidate(scope_of(leaf.blocks[0]), lines, "the code that goes, word for word")
            yield from with_context(self.before, leaf, [Made(lines, "the code that goes, word for word")])
        else:
            yield from self._insertion(leaf)

    def _inserted(self, leaf: Leaf, *, below: bool, bare: bool = False) -> List[str]:
        """The lines of the statements that come with their comments; unless `bare`, with the blank lines that part them.

        Where they are written above the statement `below`, that one keeps the blank lines that stand above it.
        """
        if not leaf.come:
            return []
        text, start, end = self.after, leaf.come[0].begin, leaf.come[-1].outer_end
        above = _between(text, text.code_before(start), start)
        shown = excerpt(text, start, end)
        tail = text.text[end : text.source.lines.end(end)].rstrip()
        shown[-1] += tail if tail.lstrip().startswith("#") else ""
        last = leaf.end == len(statements(leaf.blocks[1]))
        following = [] if last else _between(text, end, text.code_from(end))
        head: List[str] = []
        if leaf.gone:
            first = leaf.gone[0].begin
            head, foot, following = _between(self.before, self.before.code_before(first), first), [], []
        else:
            start = leaf.span[0]
            foot = _between(self.before, start, self.before.code_from(start) if last else leaf.span[1])
            if below:  # it goes above the comments that stand directly over the statement below
                blanks = [number for number, line in enumerate(foot, 1) if not line]
                head, foot = foot[: max(blanks, default=0)], foot[max(blanks, default=0) :]
        while head and above and head[0] == above[0]:
            head, above = head[1:], above[1:]
        while foot and following and foot[-1] == following[-1]:
            foot, following = foot[:-1], following[:-1]
        known = max(at for at in range(len(foot) + 1) if foot[:at] == above[:at] and "" not in foot[at - 1 : at])
        above = above[known:]  # comments that are there already are not inserted again
        lines = [*above, *shown, *("" for line in following if not line)]
        return [line for line in lines if line] if bare else lines

    def _insertion(self, leaf: Leaf) -> Iterator[Candidate]:
        yield from self._far(leaf)
        block = leaf.blocks[0]
        scope = scope_of(block)
        above, below = position(leaf)
        if above is None and block.parent is not None and block.parent.kind == "FunctionDef":
            yield from self._first(leaf)
        found = [(node, node is below) for node in self._anchors(leaf)]
        shown = {at: [self._inserted(leaf, below=at), self._inserted(leaf, below=at, bare=True)] for at in (False, True)}
        ordered = [
            (form, lower, int(rank > 0) + 2 * _hides(form, node, leaf.come))
            for node, lower in found
            for rank, form in enumerate(forms(self.before, node))
        ]
        ordered.sort(key=lambda each: each[2])
        made: List[Made] = []
        for form, lower, _ in ordered:
            for lines in shown[lower]:
                both = (
                    [*tagged("+", lines), *tagged(" ", form.lines)]
                    if lower
                    else [*tagged(" ", form.lines), *tagged("+", lines)]
                )
                words = f"beside the statement {'below' if lower else 'above'}, {form.words}"
                made.append(Made(tuple(both), words, above=not lower, below=lower))
                yield Candidate(scope, tuple(both), words)
        if above is not None and below is not None:
            for one, other in zip(ends(forms(self.before, above)), ends(forms(self.before, below, "2"))):
                for lines in shown[False]:
                    both = [*tagged(" ", one.lines), *tagged("+", lines), *tagged(" ", other.lines)]
                    yield Candidate(scope, tuple(both), f"between both neighbours, {one.words}")
        if above is None or below is None:
            yield from self._first(leaf)
        yield from in_headers(self.before, leaf, made)

    def _first(self, leaf: Leaf) -> Iterator[Candidate]:
        """First or last in a block: its header and ` ...`."""
        above, below = position(leaf)
        for bare in (False, True):
            lines = tagged("+", self._inserted(leaf, below=above is None, bare=bare))
            whole = enclosed(self.before, leaf.blocks[0], lines, above is not None, below is not None)
            if whole is not None and leaf.blocks[0].parent is not None:
                words = "first in its block" if above is None else "last in its block"
                yield Candidate(scope_of(leaf.blocks[0].parent), tuple(whole), words)

    def _far(self, leaf: Leaf) -> Iterator[Candidate]:
        """Where the place does not matter: imports of the standard library to the top of a module, helpers to its end."""
        kinds, names = {node.kind for node in leaf.come}, binds(leaf.come)
        if leaf.blocks[0].parent is not None or (names | {"*"}) & mentioned_during_import(self.before.tree):
            return
        if kinds <= {"Import", "ImportFrom"} and all(_standard(self.after, node) for node in leaf.come):
            inserted = tagged("+", self._inserted(leaf, below=True, bare=True))
            words = "an import of the standard library: top of the module"
            yield Candidate("<module>", (*inserted, (" ", "...")), words, far=True)
        elif kinds == {"FunctionDef"} and not read_during_import(self.after.tree, names):
            code = "\n".join(self._inserted(leaf, below=False))
            blank = max(len(code) - len(code.lstrip("\n")), len(code) - len(code.rstrip("\n")))
            lines = [*[""] * blank, *code.strip("\n").split("\n")]  # nothing follows at the end of a module
            words = "a helper that only functions use: end of the module"
            yield Candidate("<module>", ((" ", "..."), *tagged("+", lines)), words, far=True)

    def _anchors(self, leaf: Leaf) -> List[Node]:
        """The neighbours of an insertion: first the one that has to do with it, else the one that says more."""
        above, below = position(leaf)
        new_reads, new_binds = reads(leaf.come), binds(leaf.come)

        def weight(node: Node) -> Tuple[int, int, int]:
            related = len(binds([node]) & new_reads) * 2 + len(reads([node]) & new_binds) * 2
            return -min(related, 2), -int(bool(telling_words([node]))), -min(3, len(reads([node]))) + (node is below)

        return sorted((node for node in (above, below) if node is not None), key=weight)

    def _wrapped(self, leaf: Leaf) -> Iterator[Candidate]:
        """Statements that get an `if`, `try` or `with` around them, left open where the new code does not repeat them."""
        kept = kept_in(leaf.come[0], leaf.gone) if len(leaf.come) == 1 else None
        if kept is None:
            return
        wrapper = leaf.come[0]
        spans = [(node.begin, node.outer_end) for node in kept]
        for rank in (0, 1):
            gone: List[str] = []
            holes: List[Hole] = []
            for number, (node, span) in enumerate(zip(leaf.gone, spans)):
                ways = forms(self.before, node, str(number + 2) if number else "")
                form = ways[0] if rank == 0 and node.kind not in COMPOUND else Form(tuple(verbatim(self.before, node)), "")
                gone += form.lines
                step = self.after.source.lines.indent(span[0])
                holes.append((*span, ("\n" + step).join(form.lines)))
            come = excerpt(self.after, wrapper.begin, wrapper.outer_end, holes)
            lines = (*tagged("-", gone), *tagged("+", come))
            words = "the code that is wrapped" + (", its parts left open" if rank == 0 else ", word for word")
            yield from in_headers(self.before, leaf, [Made(lines, words)])  # upstream may have wrapped more of it
            yield Candidate(scope_of(leaf.blocks[0]), lines, words)
            if rank:
                yield from with_context(self.before, leaf, [Made(lines, words)])


def _between(text: Text, start: int, end: int) -> List[str]:
    """The stripped comments and blank lines between two pieces of code, without what shares a line with either."""
    lines = [line.strip() for line in text.text[start:end].replace("\r\n", "\n").split("\n")]
    return lines[1 if start else 0 : -1]


def _hides(form: Form, node: Node, come: Sequence[Node]) -> bool:
    """Whether what a statement shares with the code beside it is in none of its lines that are written."""
    if node.kind in ("FunctionDef", "ClassDef"):  # its name is enough
        return False
    shared = reads([node]) & (reads(come) | binds(come)) - {"self", "cls"}
    return bool(shared) and not shared & set(re.findall(r"\w+", " ".join(form.lines)))


def _standard(text: Text, node: Node) -> bool:
    """Whether an import names the standard library alone."""
    try:
        made = ast.parse(text.text[node.start : node.end]).body[0]
    except SyntaxError:
        return False
    if isinstance(made, ast.ImportFrom):
        return made.level == 0 and made.module != "__future__" and (made.module or "").split(".")[0] in _STDLIB
    return isinstance(made, ast.Import) and all(alias.name.split(".")[0] in _STDLIB for alias in made.names)
