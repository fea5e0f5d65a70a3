"""A file as the engine reads it, for those who write patches.

Its syntax tree, what belongs to a node, and how a hunk fits.
"""

from __future__ import annotations

from bisect import bisect_left
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
    def _code(self) -> list[lex.Token]:
        return [token for token in lex.tokens(self.text) if token.kind not in lex.LAYOUT]

    @cached_property
    def _code_starts(self) -> list[int]:
        return [token.start for token in self._code]

    @cached_property
    def _code_ends(self) -> list[int]:
        return [token.end for token in self._code]

    def code_before(self, offset: int) -> int:
        """The end of the last token of code that ends at or before an offset; 0 if none does."""
        index = bisect_left(self._code_ends, offset + 1)
        return self._code_ends[index - 1] if index else 0

    def code_from(self, offset: int) -> int:
        """The start of the first token of code at or after an offset, or the end of the text."""
        index = bisect_left(self._code_starts, offset)
        return self._code_starts[index] if index < len(self._code_starts) else len(self.text)

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
