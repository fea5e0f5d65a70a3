"""What no hunk has: differences that are left out, and how the result still differs."""

from __future__ import annotations

from itertools import chain
from typing import Iterable, Sequence

from patcher.author.hunks.differences import Difference, differences
from patcher.author.hunks.excerpts import uncommented
from patcher.author.hunks.names import IMPORTS, names_bound, names_in
from patcher.author.same_code import same_code
from patcher.author.spatch_draft import FileEdit, LeftOut
from patcher.engine.tree import Tree
from patcher.message import Message, joined
from patcher.text.lines import LineEdit, line_edits


class Leftovers:
    """The parts of the edit of one file that are in no hunk.

    Args:
        edit: the edit.
        before: the text before it.
        after: the text after it.
    """

    def __init__(self, edit: FileEdit, before: Tree, after: Tree) -> None:
        self.edit, self.before, self.after = edit, before, after
        self.parts: list[LeftOut] = []

    def line(self, difference: Difference) -> int:
        """The line of the edited file (1-based) at which the new code of a difference begins."""
        return self.after.lines.number(self.after.code_from(difference.start))

    def add(self, found: Iterable[Difference], why: str) -> None:
        """Add differences that are in no hunk to `parts`; `why` is the reason."""
        for difference in found:
            start, end = difference.span
            shown = _shown("-", self.before.text[start:end]) + _shown("+", difference.text)
            line = self.line(difference)
            code = not self.only_unbinds(difference)
            self.parts.append(LeftOut(self.edit.path, line, text=shown, why=why, code=code))

    def only_unbinds(self, difference: Difference) -> bool:
        """Whether a difference only deletes imports, of names that the edited file still uses.

        They are statements, or names in one. Where such an import stays, nothing is lost.
        """
        if difference.kind not in ("run", "change"):
            return False
        for node in (*difference.deleted, *difference.inserted):
            if node.kind not in IMPORTS:
                return False
        before, after = names_bound(difference.deleted), names_bound(difference.inserted)
        gone = before - after
        return after < before and gone <= names_in(self.after.root.statements())

    def bound(self, found: Sequence[Difference], injected: Sequence[str]) -> list[Difference]:
        """The differences whose new code reads only names that are bound, or are in `injected`.

        The others are added to `parts`: they would not be applied (format rule 21).
        """
        ranges = [(each.start, each.start + len(each.text)) for each in found]
        missing = self.after.unbound(self.before, ranges)
        kept: list[Difference] = []
        for difference, (start, end) in zip(found, ranges):
            lines = range(self.after.lines.number(start), self.after.lines.number(end) + 1)
            names: list[Message] = []
            for item in missing:
                if item.line in lines and item.name not in injected:
                    template = "`{unbound}` (line {line})"
                    names.append(Message(template, unbound=item.name, line=item.line))
            if names:
                template = "the new code reads names that nothing binds there: {names}"
                self.add([difference], Message(template, names=joined(", ", names)))
            else:
                kept.append(difference)
        return kept

    def difference(self, result: bytes, *, has_hunks: bool, elsewhere: bool) -> str:
        """What differs between the edited file and what the hunks make of it, in words.

        What is thereby in no hunk is added to `parts`.

        Args:
            result: what the hunks make of the file.
            has_hunks: whether there are any hunks.
            elsewhere: whether one of them inserts its code in another place than the edit did.
        """
        if result == self.edit.after:
            return ""
        if not self.parts and not same_code(result, self.edit.after, anywhere=elsewhere):
            self._add_other_code(result)

        old, new = result.splitlines(keepends=True), self.edit.after.splitlines(keepends=True)
        edits = line_edits(old, new)
        words = joined("; ", _in_words(edits, old, new))
        if not has_hunks and not self.parts:
            line = edits[0][2] + 1
            why = Message("nothing but comments and layout: {words}", words=words)
            self.parts.append(LeftOut(self.edit.path, line, text="", why=why, code=False))
        return words

    def _add_other_code(self, result: bytes) -> None:
        """Leave out the whole edit: what the hunks make of the file is other code."""
        why = Message("the hunks together would not make the edited code")
        is_code = bool(differences(Tree(result), self.after))
        if not is_code:
            why = Message("the indentation and the blanks of strings, which are not compared")
        self.parts.append(LeftOut(self.edit.path, 1, text="", why=why, code=is_code))


def _in_words(
    edits: Sequence[LineEdit], old: Sequence[bytes], new: Sequence[bytes]
) -> list[Message]:
    """What kinds of lines differ between two texts of the same code, and in how many places."""
    comments: list[str] = []
    blank = moved = 0
    for old_start, old_end, new_start, new_end in edits:
        old_lines = _stripped(old[old_start:old_end])
        new_lines = _stripped(new[new_start:new_end])
        if not any(chain(old_lines, new_lines)):
            blank += 1
        elif _code(old_lines) == _code(new_lines) and old_lines != new_lines:
            comments.append(str(new_start + 1))
        else:
            moved += 1

    words: list[Message] = []
    if comments:
        template = "comments differ in line {lines}: they are not matched, so no hunk changes them"
        words.append(Message(template, lines=", ".join(comments)))
    if moved:
        template = "{places} in the layout or the position of code"
        words.append(Message(template, places=_places(moved)))
    if blank:
        words.append(Message("{places} in blank lines", places=_places(blank)))
    return words


def _shown(tag: str, text: str) -> str:
    """The lines of one side of a difference, without blank ones."""
    shown = ""
    for line in text.strip("\n").splitlines():
        if line.strip():
            shown += f"{tag}{line}\n"
    return shown


def _stripped(lines: Sequence[bytes]) -> list[str]:
    """Lines as texts, without the blanks around them."""
    return [line.decode("latin-1").strip() for line in lines]


def _code(lines: Sequence[str]) -> list[str]:
    """The lines that are left without comments and blank lines."""
    return list(filter(None, uncommented(lines)))


def _places(number: int) -> str:
    """How many places differ, in words."""
    if number == 1:
        return Message("1 place differs")
    return Message("{number} places differ", number=number)
