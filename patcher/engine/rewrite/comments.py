"""The comments in the file behind the context lines of a hunk.

Each goes with the statement or header that ends on its line.
"""

from __future__ import annotations

from patcher.engine.layout import code_end
from patcher.engine.lex import Lines
from patcher.engine.match import Match
from patcher.engine.node import Node
from patcher.engine.source import Edit
from patcher.engine.spatch.side import Hunk, Side


class LineComments:
    """The comments behind the context lines of a hunk, for one match in the lines `file`."""

    def __init__(self, file: Lines, hunk: Hunk, match: Match) -> None:
        self._file = file
        self._hunk = hunk
        self._match = match
        self._before = _ending_on_context(hunk.before)
        self._after = _ending_on_context(hunk.after)

    def of(self, node: Node) -> str | None:
        """The comment of a node of the after side, "" for none.

        It is None where the node ends on no context line.
        """
        line = _last_context_line(self._hunk.after, node)
        return self._behind(self._before.get(line))

    def _behind(self, source: Node | None) -> str | None:
        """The comment behind the code of a node of the before side, "" for none."""
        code = self._match.nodes.get(id(source))
        if not isinstance(code, Node):
            return None

        at = code_end(code, self._file.text)
        line_end = self._file.end(at - 1)
        tail = self._file.text[at:line_end].strip()
        return tail if tail.startswith("#") else ""

    def edits(self, node: Node, moved: Node | None = None) -> list[Edit]:
        """What writes that comment behind a node of the after side.

        Without one that of `moved`, the node of the before side that moved there (rule 18).
        """
        side = self._hunk.after
        at = code_end(node, side.text)
        line_end = side.lines.end(at - 1)
        tail = side.text[at:line_end].rstrip("\n")

        comment = self.of(node)
        if comment is None and not tail.strip():
            comment = self._behind(moved)
        if comment is None:
            return []

        has_added_body = at + 1 in side.layout.bodies
        has_other_code = tail.lstrip()[:1] not in ("", "#")
        if has_other_code and not (comment and has_added_body):
            return []

        end = at if has_added_body else at + len(tail)
        written = f"  {comment}" if comment else ""
        return [Edit(at, end, text=written)]

    def _is_deleted(self, old: Node) -> bool:
        """Whether the hunk writes the comment behind a before node that the file has there."""
        side = self._hunk.before
        at = code_end(old, side.text)
        line_end = side.lines.end(at - 1)
        if at + 1 in side.layout.bodies:
            at += len(" ...")  # which was added to a header

        tail = side.text[at:line_end].strip()
        return tail.startswith("#") and tail == self._behind(old)

    def above(self, moved: Node) -> list[str]:
        """The comments above the code of a before node, one a line."""
        code = self._match.nodes[id(moved)]
        assert isinstance(code, Node)
        line_start = self._file.start(code.begin)
        start = comments_start(self._file, line_start)
        lines = self._file.text[start:line_start].splitlines()
        return [line.strip() for line in lines]

    def instead(self, old: Node, new: Node) -> str | None:
        """What replaces the comment of a before node when it becomes `new`; None where it stays."""
        line = _last_context_line(self._hunk.before, old)
        new_line = _last_context_line(self._hunk.after, new)
        if not line and not new_line and self._is_deleted(old):
            return ""
        if line == new_line:
            return None

        comment = self.of(new)
        if comment:
            return comment
        return "" if line in self._after else None


def comments_start(lines: Lines, start: int) -> int:
    """Where the comments directly above a line begin; its own start without any."""
    while start:
        start_above = lines.start(start - 1)
        line_above = lines.text[start_above:start]
        if not line_above.lstrip().startswith("#"):
            break
        start = start_above

    return start


def _ending_on_context(side: Side) -> dict[int, Node]:
    """The statements, headers and decorators that end on a context line, by its number."""
    nodes: dict[int, Node] = {}
    for node in side.walk():
        ends_line = node.has_lines or node.kind == "Decorator"
        if node.role or not ends_line:
            continue

        line = _last_context_line(side, node)
        if line:
            nodes[line] = node

    return nodes


def _last_context_line(side: Side, node: Node) -> int:
    """The .spatch line on which a statement or a header ends, if it is a context line, else 0."""
    end = code_end(node, side.text)
    row = side.lines.number(end - 1) - 1
    number = side.numbers[row]
    return number if number in side.context else 0
