"""One difference -> the hunks that could make it, the most general first."""

from __future__ import annotations

import ast
import re
import sys
from difflib import SequenceMatcher
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.leaves import Leaf, Text, header_end, kept_in, position, scope_of, statements
from patcher.author.sketch import (
    Form,
    Hole,
    Line,
    binds,
    elided,
    enclosed,
    excerpt,
    expression_levels,
    forms,
    header,
    is_clause,
    joined,
    kept_calls,
    reads,
    tagged,
    telling,
    telling_words,
    uncommented,
    unit,
    verbatim,
)
from patcher.author.strings import changed_part
from patcher.engine import lex
from patcher.engine.node import COMPOUND, Node, same

_STDLIB = frozenset(sys.builtin_module_names) | frozenset(
    getattr(sys, "stdlib_module_names", None) or (path.stem for path in Path(ast.__file__).parent.iterdir())
)


class Candidate(NamedTuple):
    """A hunk that may make a difference; `form` says in a few words how it is written.

    `everywhere` is `count=all`; `far` says that its place does not matter.
    """

    scope: str
    lines: Tuple[Line, ...]
    form: str
    everywhere: bool = False
    far: bool = False
    in_string: bool = False

    @property
    def text(self) -> str:
        """The hunk as it stands in a `.spatch`, ending in a line break."""
        flags = " count=all" * self.everywhere + " in-string" * self.in_string
        body = "".join(f"{tag}{line}".rstrip() + "\n" for tag, line in self.lines)
        return f"@@ {self.scope} @@{flags}\n{body}"


class Candidates:
    """Makes the candidates for the differences between two texts."""

    def __init__(self, before: Text, after: Text) -> None:
        self.before, self.after = before, after

    def of(self, leaf: Leaf) -> Iterator[Candidate]:
        """The candidates for one difference; the same hunk is not given twice."""
        makers = {"change": self._change, "header": self._header, "clause": self._clause, "run": self._run}
        seen: Set[str] = set()
        made: List[Candidate] = []
        for candidate in makers[leaf.kind](leaf):
            if candidate.text not in seen and any(tag != " " for tag, _ in candidate.lines):
                seen.add(candidate.text)
                made.append(candidate)
                yield candidate
        for candidate in made if leaf.kind == "change" else ():
            bare = candidate._replace(lines=_without_comments(candidate.lines), form=f"{candidate.form}, without comments")
            if bare.text not in seen:
                seen.add(bare.text)
                yield bare

    def whole(self, old: Node, new: Node) -> Iterator[Candidate]:
        """A statement replaced by another one, with the lines that both have as context."""
        one, other = verbatim(self.before, old), verbatim(self.after, new)
        from patcher.text.lines import line_edits

        lines: List[Line] = []
        at = 0
        for i1, i2, j1, j2 in line_edits([line.encode() for line in one], [line.encode() for line in other]):
            lines += [*tagged(" ", one[at:i1]), *tagged("-", one[i1:i2]), *tagged("+", other[j1:j2])]
            at = i2
        lines += tagged(" ", one[at:])
        scope = scope_of(old)
        yield Candidate(scope, tuple(lines), "all of the statement: nothing smaller is safe")
        yield Candidate(scope, (*tagged("-", one), *tagged("+", other)), "all of the statement, replaced")
        outer = scope_of(old.parent) if old.parent is not None else scope
        if outer != scope:
            yield Candidate(outer, tuple(lines), "all of the statement, in the scope around it")

    # an expression, or a statement that changed ---------------------------------------------------------------------------
    def _change(self, leaf: Leaf) -> Iterator[Candidate]:
        scope = scope_of(leaf.blocks[0])
        part = (
            changed_part(self.before, self.after, *leaf.pairs[-1]) if leaf.pairs[-1][0].kind in ("String", "FText") else None
        )
        if part is not None:
            yield Candidate(
                scope, (*tagged("-", part[0]), *tagged("+", part[1])), "the part of the string that changed", in_string=True
            )
        for index in expression_levels(leaf.pairs):
            old, new = leaf.pairs[index]
            if telling(old):
                words = (
                    "the smallest expression that changed"
                    if index == len(leaf.pairs) - 1
                    else "the expression around the change"
                )
                for holes in _with_and_without(elided(leaf.pairs[index:])):
                    yield Candidate(
                        scope,
                        self._replaced(old, new, holes),
                        words + (", the rest of its list left open" if holes[0] else ""),
                    )
        old, new = leaf.pairs[0]
        statement: List[Tuple[Tuple[Line, ...], str]] = []
        found = elided(leaf.pairs)
        if not found[0] and old.kind not in COMPOUND and not is_clause(old):
            found = kept_calls(old, new)
        for holes in _with_and_without(found):
            words = "the statement" + (", what did not change left open" if holes[0] else "")
            statement.append((self._statement(old, new, holes), words))
        owner = leaf.blocks[0].parent
        inside = owner is not None and owner.kind != "ClassDef"  # elsewhere a name is bound once
        if inside and not is_clause(old) and len(telling_words([old])) < 2 and old.kind not in COMPOUND:
            yield from self._with_context(leaf, statement)
        for lines, words in statement:
            yield Candidate(scope, lines, words)
        if is_clause(old):
            yield from self._in_statement(leaf, statement)
            return
        yield from self._with_context(leaf, statement)

    def _replaced(self, old: Node, new: Node, holes: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[Line, ...]:
        gone = joined(uncommented(excerpt(self.before, old.outer_start, old.outer_end, holes[0])))
        come = joined(uncommented(excerpt(self.after, new.outer_start, new.outer_end, holes[1])))
        return (*tagged("-", gone), *tagged("+", come))

    def _statement(self, old: Node, new: Node, holes: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[Line, ...]:
        lines: List[Line] = []
        for tag, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
            if node.kind in COMPOUND or is_clause(node):
                lines += tagged(tag, joined(excerpt(text, node.start, header_end(text, node), side)))
            else:
                shown = excerpt(text, node.begin, node.outer_end, side)
                lines += tagged(tag, shown if tag == "+" else joined(uncommented(shown)))
        return tuple(lines)

    def _in_statement(self, leaf: Leaf, made: Sequence[Tuple[Tuple[Line, ...], str]]) -> Iterator[Candidate]:
        """A clause below the header of its statement."""
        owner = statements(leaf.blocks[0])[leaf.first]
        head = [*tagged(" ", header(self.before, owner)), (" ", unit(self.before) + "...")]
        for lines, words in made:
            yield Candidate(scope_of(leaf.blocks[0]), (*head, *lines), f"{words}, below the header of its statement")

    # the header of a definition -------------------------------------------------------------------------------------------
    def _header(self, leaf: Leaf) -> Iterator[Candidate]:
        old, new = leaf.pairs[0]
        scope = scope_of(old)
        gone, come = old.items("decorators"), new.items("decorators")
        decorators: List[Line] = []
        for what, i1, i2, j1, j2 in SequenceMatcher(None, list(map(repr, gone)), list(map(repr, come)), False).get_opcodes():
            if what != "equal":
                for node in gone[i1:i2]:
                    decorators += tagged("-", excerpt(self.before, node.start, node.end))
            for node in come[j1:j2]:
                decorators += tagged(" " if what == "equal" else "+", excerpt(self.after, node.start, node.end))
        rest = [
            key for key, value in old.fields.items() if key not in ("decorators", "body") and not same(value, new.fields[key])
        ]
        if not rest:
            yield Candidate(
                scope,
                (*decorators, *tagged(" ", header(self.before, old))),
                "the decorators, above the name of the definition",
            )
            full = tagged(" ", header(self.before, old, general=False))
            yield Candidate(scope, (*decorators, *full), "the decorators, above the whole header")
            return
        decorators = decorators if any(tag != " " for tag, _ in decorators) else []
        lists = [(old.node("params"), new.node("params"))] if old.kind == "FunctionDef" else [(old, new)]
        hides = elided(lists) if set(rest) & {"params", "args"} else ([], [])
        if old.kind == "FunctionDef" and "params" not in rest and old.node("params").items("params"):
            hides = _all_of(old.node("params").items("params")), _all_of(new.node("params").items("params"))
        keeps_returns = "returns" in rest or old.fields.get("returns") is None
        typeless = _annotations(old, new, hides) if "params" in rest else ([], [])
        ways = [(hides[0] + typeless[0], hides[1] + typeless[1])] if typeless[0] else []
        for holes in [*ways, *_with_and_without(hides)]:
            lines: List[Line] = []
            for sign, text, node, side in (("-", self.before, old, holes[0]), ("+", self.after, new, holes[1])):
                shown = joined(excerpt(text, node.start, header_end(text, node), side))
                lines += tagged(sign, shown if keeps_returns or not side else _without_returns(text, node, side))
            words = "the header, what did not change left open" if holes[0] else "the whole header"
            yield Candidate(scope, (*decorators, *lines), words)

    # a clause that comes or goes ------------------------------------------------------------------------------------------
    def _clause(self, leaf: Leaf) -> Iterator[Candidate]:
        old, new = leaf.pairs[0]
        one, other = old.items("clauses"), new.items("clauses")
        first, last = 0, 0
        while first < min(len(one), len(other)) and same(one[first], other[first]):
            first += 1
        while last < min(len(one), len(other)) - first and same(one[-1 - last], other[-1 - last]):
            last += 1
        inner = [
            *(line for node in one[first : len(one) - last] for line in tagged("-", verbatim(self.before, node))),
            *(line for node in other[first : len(other) - last] for line in tagged("+", verbatim(self.after, node))),
        ]
        above = [
            line
            for node in one[max(0, first - 1) : first]
            for line in (*tagged(" ", header(self.before, node)), (" ", unit(self.before) + "..."))
        ]
        below = [
            line
            for node in one[len(one) - last : len(one) - last + 1]
            for line in (*tagged(" ", header(self.before, node)), (" ", unit(self.before) + "..."))
        ]
        head = [*tagged(" ", header(self.before, old)), (" ", unit(self.before) + "...")]
        scope = scope_of(leaf.blocks[0])
        if first < len(one) - last and len(inner) and not above:
            yield Candidate(scope, tuple(inner), "the clauses alone")
        yield Candidate(scope, (*head, *inner), "the clauses below the header of their statement")
        yield Candidate(scope, (*head, *above, *inner, *below), "the clauses between their neighbours")
        yield from self.whole(old, new)

    # statements that come, go or are replaced -----------------------------------------------------------------------------
    def _run(self, leaf: Leaf) -> Iterator[Candidate]:
        if leaf.gone and leaf.come:
            yield from self._wrapped(leaf)
        if leaf.gone:
            gone = [line for node in leaf.gone for line in verbatim(self.before, node)]
            lines = (*tagged("-", gone), *tagged("+", self._inserted(leaf, below=True)))
            if len(telling_words(leaf.gone)) < 2:
                yield from self._with_context(leaf, [(lines, "the code that goes, which says too little alone")])
            yield Candidate(scope_of(leaf.blocks[0]), lines, "the code that goes, word for word")
            yield from self._with_context(leaf, [(lines, "the code that goes, word for word")])
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
        stands = _between(self.before, *leaf.span)
        if leaf.gone:
            first = leaf.gone[0].begin
            stands = _between(self.before, self.before.code_before(first), first)
        head, foot = [], stands
        if leaf.gone:
            head, foot, following = stands, [], []
        elif below:  # it goes above the comments that stand directly over the statement below
            blanks = [number for number, line in enumerate(stands, 1) if not line]
            head, foot = stands[: max(blanks, default=0)], stands[max(blanks, default=0) :]
        while head and above and head[0] == above[0]:
            head, above = head[1:], above[1:]
        while foot and following and foot[-1] == following[-1]:
            foot, following = foot[:-1], following[:-1]
        while foot and above and foot[0] == above[0] != "":  # a comment that stands already is not inserted again
            foot, above = foot[1:], above[1:]
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
        made: List[Tuple[Tuple[Line, ...], str]] = []
        for form, lower, _ in ordered:
            for lines in shown[lower]:
                both = (
                    [*tagged("+", lines), *tagged(" ", form.lines)]
                    if lower
                    else [*tagged(" ", form.lines), *tagged("+", lines)]
                )
                words = f"beside the statement {'below' if lower else 'above'}, {form.words}"
                made.append((tuple(both), words))
                yield Candidate(scope, tuple(both), words)
        if above is not None and below is not None:
            for one, other in zip(_both(forms(self.before, above)), _both(forms(self.before, below, "2"))):
                for lines in shown[False]:
                    both = [*tagged(" ", one.lines), *tagged("+", lines), *tagged(" ", other.lines)]
                    yield Candidate(scope, tuple(both), f"between both neighbours, {one.words}")
        if above is None or below is None:
            yield from self._first(leaf)
        yield from self._enclosed(leaf, made)

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
        kinds, owner = {node.kind for node in leaf.come}, leaf.blocks[0].parent
        if owner is None and kinds <= {"Import", "ImportFrom"} and all(_standard(self.after, node) for node in leaf.come):
            inserted = tagged("+", self._inserted(leaf, below=True, bare=True))
            words = "an import of the standard library: top of the module"
            yield Candidate("<module>", (*inserted, (" ", "...")), words, far=True)
        elif owner is None and kinds == {"FunctionDef"} and self._used_inside(leaf):
            lines = self._inserted(leaf, below=False)
            yield Candidate(
                "<module>",
                ((" ", "..."), *tagged("+", lines)),
                "a helper that only functions use: end of the module",
                far=True,
            )

    def _used_inside(self, leaf: Leaf) -> bool:
        """Whether top-level code, decorators and defaults included, reads none of the functions that come."""
        names = {name for node in leaf.come for name in binds(node)}
        for node in self.after.tree.reachable(module=True):
            if (
                node.kind == "Name"
                and node.fields["value"] in names
                and not (node.parent is not None and node.parent.kind == "FunctionDef" and node.field() == "name")
            ):
                return False
        return True

    def _anchors(self, leaf: Leaf) -> List[Node]:
        """The neighbours of an insertion: first the one that has to do with it, else the one that says more."""
        above, below = position(leaf)
        new_reads, new_binds = reads(leaf.come), {name for node in leaf.come for name in binds(node)}

        def weight(node: Node) -> Tuple[int, int, int]:
            related = len(binds(node) & new_reads) * 2 + len(reads([node]) & new_binds) * 2
            return -min(related, 2), -int(telling(node)), -min(3, len(reads([node]))) + (node is below)

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
            yield from self._enclosed(leaf, [(lines, words)])  # upstream may have wrapped more of it
            yield Candidate(scope_of(leaf.blocks[0]), lines, words)
            if rank:
                yield from self._with_context(leaf, [(lines, words)])

    # context --------------------------------------------------------------------------------------------------------------
    def _with_context(self, leaf: Leaf, made: Sequence[Tuple[Tuple[Line, ...], str]]) -> Iterator[Candidate]:
        """The lines of a change with more around them: one neighbour, the header, both neighbours."""
        scope = scope_of(leaf.blocks[0])
        above, below = position(leaf)
        near: List[Tuple[Tuple[Line, ...], str]] = []
        for lines, words in made:
            for node in (above, below):
                for form in forms(self.before, node)[:1] + forms(self.before, node)[-1:] if node is not None else []:
                    both = (*lines, *tagged(" ", form.lines)) if node is below else (*tagged(" ", form.lines), *lines)
                    near.append((both, f"{words}, beside the statement {'below' if node is below else 'above'}"))
        for lines, words in near:
            yield Candidate(scope, lines, words)
        yield from self._enclosed(leaf, made)
        for lines, words in made:
            if above is not None and below is not None:
                for one, other in zip(_both(forms(self.before, above, "1")), _both(forms(self.before, below, "2"))):
                    yield Candidate(
                        scope,
                        (*tagged(" ", one.lines), *lines, *tagged(" ", other.lines)),
                        f"{words}, between both neighbours",
                    )
        yield from self._enclosed(leaf, near)

    def _enclosed(self, leaf: Leaf, made: Sequence[Tuple[Tuple[Line, ...], str]]) -> Iterator[Candidate]:
        """The same inside the header of the block, and of the block around that."""
        above, below = position(leaf)
        for lines, words in made:
            wide = [above is not None, below is not None]
            if "beside the statement above" in words or "between" in words:
                wide[0] = leaf.first > 1
            if "beside the statement below" in words or "between" in words:
                wide[1] = leaf.last + 1 < len(statements(leaf.blocks[0]))
            inner: Optional[List[Line]] = enclosed(self.before, leaf.blocks[0], lines, *wide)
            block = leaf.blocks[0]
            for _ in range(2):
                if inner is None or block.parent is None:
                    break
                owner = block.parent
                yield Candidate(scope_of(owner), tuple(inner), f"{words}, inside its header")
                if owner.parent is None or is_clause(owner) or owner.parent.kind != "Block":
                    break
                block = owner.parent
                siblings = statements(block)
                inner = enclosed(self.before, block, inner, siblings[0] is not owner, siblings[-1] is not owner)


def _between(text: Text, start: int, end: int) -> List[str]:
    """The stripped comments and blank lines between two pieces of code, without what shares a line with either."""
    lines = [line.strip() for line in text.text[start:end].replace("\r\n", "\n").split("\n")]
    return lines[1 if start else 0 : -1]


def _without_comments(lines: Sequence[Line]) -> Tuple[Line, ...]:
    """The lines of a hunk without comments and without the lines that hold nothing else."""
    found: List[Line] = []
    for tag, line in lines:
        comment = next((token for token in lex.tokens(line) if token.kind == "comment"), None)
        bare = line if comment is None else line[: comment.start].rstrip()
        if bare.strip() or not line.strip():
            found.append((tag, bare))
    return tuple(found)


def _with_and_without(holes: Tuple[List[Hole], List[Hole]]) -> List[Tuple[List[Hole], List[Hole]]]:
    return [holes, ([], [])] if holes[0] or holes[1] else [([], [])]


def _all_of(nodes: Sequence[Node]) -> List[Hole]:
    return [(nodes[0].begin, nodes[-1].outer_end, "...")]


def _annotations(old: Node, new: Node, hidden: Tuple[Sequence[Hole], Sequence[Hole]]) -> Tuple[List[Hole], List[Hole]]:
    """Holes for the annotations of the parameters that stay and are written: what is not written is not looked at."""
    sides = [node.node("params").items("params") for node in (old, new)]
    found: Tuple[List[Hole], List[Hole]] = ([], [])
    for params, others, holes, runs in zip(sides, reversed(sides), found, hidden):
        for param in params:
            annotation = param.fields.get("annotation")
            written = not any(start <= param.start < end for start, end, _ in runs)
            if isinstance(annotation, Node) and written and any(same(param, other) for other in others):
                default = param.fields.get("default")
                end, equals = (default.outer_start, "=") if isinstance(default, Node) else (annotation.outer_end, "")
                holes.append((param.node("name").end, end, equals))
    return found


def _hides(form: Form, node: Node, come: Sequence[Node]) -> bool:
    """Whether what a statement shares with the code beside it is in none of its lines that are written."""
    if node.kind in ("FunctionDef", "ClassDef"):  # its name is enough
        return False
    shared = reads([node]) & (reads(come) | {name for each in come for name in binds(each)}) - {"self", "cls"}
    return bool(shared) and not shared & set(re.findall(r"\w+", " ".join(form.lines)))


def _both(found: Sequence[Form]) -> List[Form]:
    return [found[0], found[-1]] if found else []


def _without_returns(text: Text, node: Node, holes: Sequence[Hole]) -> List[str]:
    """A header without its return annotation, which is not looked at where it is not written."""
    returns = node.fields.get("returns")
    if not isinstance(returns, Node):
        return joined(excerpt(text, node.start, header_end(text, node), holes))
    lines = joined(excerpt(text, node.start, returns.outer_start, holes))
    cut = "\n".join(lines).rstrip()
    return (cut[:-2].rstrip() + ":").split("\n") if cut.endswith("->") else [cut + ":"]


def _standard(text: Text, node: Node) -> bool:
    """Whether an import names the standard library alone."""
    try:
        made = ast.parse(text.text[node.start : node.end]).body[0]
    except SyntaxError:
        return False
    if isinstance(made, ast.ImportFrom):
        return made.level == 0 and made.module != "__future__" and (made.module or "").split(".")[0] in _STDLIB
    return isinstance(made, ast.Import) and all(alias.name.split(".")[0] in _STDLIB for alias in made.names)
