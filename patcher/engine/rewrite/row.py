"""The layout of a list of elements in a file."""

from __future__ import annotations

from typing import List, Optional

from patcher.engine.layout import is_continuation
from patcher.engine.lex import scan
from patcher.engine.node import Node
from patcher.engine.rewrite.edits import Edits


class ElementRow:
    """The elements of one list in the file and its layout.

    `indent` is the indentation of elements that are written one a line, else None; `leads` is whether the separator begins
    their lines (`+ b`), and not ends them (`a +`).
    """

    def __init__(self, edits: Edits, elements: List[Node], separator: str) -> None:
        self.edits, self.text, self.lines = edits, edits.text, edits.lines
        self.elements, self.separator = elements, separator
        self.spaced = separator if separator == "," else " " + separator
        self.leads = any(self._leading(index) for index in range(1, len(elements)))
        self.indent = self._one_a_line()

    def following(self, end: int) -> int:
        """The offset past the separator that follows at `end`, 0 where none does."""
        token = next((token for token in scan(self.text, end) if token.kind not in ("space", "newline", "comment")), None)
        return token.start + len(self.separator) if token and self.text.startswith(self.separator, token.start) else 0

    def start(self, index: int) -> int:
        """Where an element begins; where separators lead, with the separator before it."""
        past = self.following(self.elements[index - 1].outer_end) if index and self.leads else 0
        return past - len(self.separator) if past else self.elements[index].outer_start

    def _leading(self, index: int) -> bool:
        """Whether the separator before an element is on its line, and not on that of the element above."""
        above, start = self.elements[index - 1].outer_end, self.elements[index].outer_start
        separator = self.following(above)
        return bool(separator) and self.lines.number(above) < self.lines.number(separator) == self.lines.number(start)

    def _one_a_line(self) -> Optional[str]:
        """The indentation of the elements if they are written one a line (the first may be beside its bracket)."""
        indexes = range(1, len(self.elements)) or range(len(self.elements))
        for index in indexes:
            start = self.lines.start(self.start(index))
            if self.text[start : self.start(index)].strip() or is_continuation(self.text, start):
                return None
        return self.lines.indent(self.start(indexes[0])) if self.elements else None

    def has_own_lines(self, element: Node) -> bool:
        """Whether the lines of an element have nothing else but its separator and a comment."""
        code, lines = self.text, self.lines
        start, end = lines.start(element.outer_start), lines.end(element.outer_end - 1)
        comma = self.following(element.outer_end)
        tail = code[comma if comma and comma <= end else element.outer_end : end].strip()
        is_last = element is self.elements[-1]
        alone = not code[start : element.outer_start].strip() and tail[:1] in ("", "#") and not is_continuation(code, start)
        return alone and (is_last or bool(comma and comma <= end))

    def begin(self, element: Node) -> int:
        """Where the lines of an element begin, the comments over it among them."""
        start = self.lines.start(element.outer_start)
        while start and self.text[self.lines.start(start - 1) : start].lstrip().startswith("#"):
            start = self.lines.start(start - 1)
        return start
