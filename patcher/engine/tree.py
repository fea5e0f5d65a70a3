"""A file as the engine reads it, for those who write patches.

Its syntax tree, what belongs to a node, and how a hunk fits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cached_property
from typing import AbstractSet, Mapping, Sequence

from patcher.engine import layout, lex
from patcher.engine.answers import answer_alone
from patcher.engine.find import enclosing_keywords
from patcher.engine.imports import binds, imported
from patcher.engine.names import Unbound, unbound
from patcher.engine.node import Node, SyntaxProblem, same
from patcher.engine.source import lines_of, read_source, remembered
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.pattern import compile_hunks
from patcher.model import HunkAnswer, HunkText, OptionValue

__all__ = [
    "Node",
    "SyntaxProblem",
    "Tree",
    "imported",
    "inside_of",
    "lines_of",
    "proves_upstream",
    "remembered",
    "same",
]


class Tree:
    """The decoded text of a file; all offsets are in characters.

    Expensive parts are computed when they are asked for. `indent` is how much the file indents a
    block.

    Raises:
        SyntaxProblem: it is not Python.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._source = read_source(data)
        self.text = self._source.text
        self.lines = self._source.lines
        self.indent = self._source.indent
        self._code: dict[int, list[lex.Token]] = {}

    @property
    def is_python(self) -> bool:
        """Whether the running interpreter can parse the file."""
        return self._source.has_ast

    @cached_property
    def statement_ranges(self) -> list[tuple[int, int]]:
        """The lines of each statement of the module; none where `is_python` is false."""
        return self._source.statement_ranges()

    def whole(self) -> Tree:
        """This tree, with the file parsed but for the definitions that nobody has looked into.

        Raises:
            SyntaxProblem: some of it cannot be read. A look into a definition may raise it later.
        """
        assert self.root.kind == "Block"
        return self

    @cached_property
    def root(self) -> Node:
        """The whole file as one block."""
        return self._source.whole()

    @cached_property
    def definitions(self) -> Counter[str]:
        """How often the file has a definition of this qualified name."""
        return Counter(definition.name for definition in self._source.definitions())

    @cached_property
    def in_strings(self) -> frozenset[int]:
        """The offsets of the lines that begin inside a string."""
        return frozenset(lex.lines_in_strings(self.text))

    @cached_property
    def _starts(self) -> list[int]:
        """Where statements of the module and definitions begin: no token goes over one."""
        starts = {0}
        starts.update(start for start, _ in self.statement_ranges)
        starts.update(definition.start for definition in self._source.definitions())
        return sorted(starts)

    def _code_of(self, index: int) -> list[lex.Token]:
        """The tokens of code from one of `_starts` up to the next."""
        if index not in self._code:
            starts = [*self._starts, len(self.text)]
            found: list[lex.Token] = []
            for token in lex.scan(self.text, starts[index]):
                if token.start >= starts[index + 1]:
                    break
                if token.kind not in lex.LAYOUT:
                    found.append(token)
            self._code[index] = found
        return self._code[index]

    def code_before(self, offset: int) -> int:
        """The end of the last token of code that ends at or before an offset; 0 if none does."""
        for index in range(bisect_right(self._starts, offset) - 1, -1, -1):
            for token in reversed(self._code_of(index)):
                if token.end <= offset:
                    return token.end
        return 0

    def code_from(self, offset: int) -> int:
        """The start of the first token of code at or after an offset, or the end of the text."""
        for index in range(bisect_right(self._starts, offset) - 1, len(self._starts)):
            for token in self._code_of(index):
                if token.start >= offset:
                    return token.start
        return len(self.text)

    def header_end(self, node: Node) -> int:
        """The offset past the `:` that ends the header of a compound statement or clause."""
        return layout.header_end(node, self.text)

    def encoded(self, text: str) -> bytes:
        """Another text for the file, as bytes."""
        return self.data[: self._source.bom_length] + text.encode(self._source.encoding)

    def decoded(self, data: bytes) -> str:
        """Another version of the file, as text.

        Raises:
            UnicodeError: it is not text in the encoding of this one.
        """
        return data[self._source.bom_length :].decode(self._source.encoding)

    def answer(
        self, hunk: HunkText, options: Mapping[str, OptionValue], *, explained: bool = True
    ) -> HunkAnswer:
        """The answer for one hunk by itself, without the checks on the finished text.

        Unless `explained`, it does not say what is closest to a hunk that is not found.

        Raises:
            PatchError: the hunk is wrong in itself.
        """
        return answer_alone(self._source, hunk, options, explained=explained)

    def unbound(self, before: Tree, inserted: Sequence[tuple[int, int]]) -> list[Unbound]:
        """The names that inserted code (character ranges) reads and nothing binds.

        Names that the same scope already reads in `before` are left out.
        """
        return unbound(before._source, self._source, inserted, injected=[])

    def binds(self, names: AbstractSet[str]) -> bool:
        """Whether the module binds all of these names, by any statement.

        A module with `from x import *` is taken to bind them.
        """
        return binds(self._source, names)


def proves_upstream(hunk: HunkText) -> bool:
    """Whether the after side of a hunk can prove that a text has the change (format rule 22).

    The hunk has no options.

    Raises:
        PatchError: the hunk is wrong in itself.
    """
    return compile_hunks([hunk], {})[0].upstream.is_proof


def inside_of(block: Node) -> str:
    """The flag `inside=…` (format rule 28) of a block, within the definition that holds it."""
    definitions = (owner for owner in block.ancestors() if owner.is_definition)
    return inside_flag(enclosing_keywords(block, next(definitions, None)))
