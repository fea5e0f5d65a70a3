"""A three-way merge of the tokens of code; the layout between them is no change."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from patcher.engine.lex import LAYOUT, tokens
from patcher.record import Record
from patcher.text.lines import line_edits

_MOST_TOKENS = 3000  # of one side
_SMALL = 3  # what theirs has otherwise is at most this part of what ours replaces,
_SMALL_GONE = 2  # and this part of what ours deletes
_WORD = re.compile(r"\w")
_DIGITS = re.compile(r"[\d.]+")
_QUOTES = frozenset("'\"")


class _Token(Record):
    """A token.

    Attributes:
        key: what is compared.
        layout: the blanks, line breaks and comments before it.
        text: as it is written; "" at the end of the code.
    """

    key: str
    layout: str
    text: str


class _Edit(Record):
    """The tokens `[start, end)` become `new`."""

    start: int
    end: int
    new: tuple[_Token, ...]


def merge_tokens(before: str, ours: str, theirs: str, *, loses: bool = True) -> str | None:
    """Code with both changes of a text.

    A literal for which both have another one becomes that of ours, if theirs is another number or
    differs in digits alone.

    Args:
        before: the code before both.
        ours: the code after one change.
        theirs: the code after the other one, whose layout stays.
        loses: whether what theirs changes may be lost, where it is a small part of what ours
            replaces or deletes.

    Returns:
        None where both change the same tokens in other ways.
    """
    old, our_tokens, their_tokens = _tokens(before), _tokens(ours), _tokens(theirs)
    if max(map(len, (old, our_tokens, their_tokens))) > _MOST_TOKENS:
        return None
    our_edits = _edits(old, our_tokens)
    their_edits = _edits(old, their_tokens)
    edits = list(our_edits)
    lost = 0
    for edit in their_edits:
        near = [each for each in our_edits if _meet(edit, each)]
        if not near:
            edits.append(edit)
        elif not near[0].start <= edit.start <= edit.end <= near[0].end:
            return None
        elif not _is_version(old, edit, near[0]):
            lost += max(_words(old[edit.start : edit.end]), _words(edit.new))

    replaced = sum(_words(old[edit.start : edit.end]) for edit in our_edits)
    part = _SMALL if any(edit.new for edit in our_edits) else _SMALL_GONE
    if lost * part > replaced or (lost and not loses):
        return None
    kept = (_kept(our_edits, our_tokens), _kept(their_edits, their_tokens))
    return _Writer(old, ours=kept[0], theirs=kept[1]).written(edits)


def _tokens(code: str) -> list[_Token]:
    """The tokens of code, and one for its end."""
    found: list[_Token] = []
    layout = ""
    for token in tokens(code):
        if token.kind in LAYOUT:
            layout += token.text
        else:
            found.append(_Token(_key(token.text), layout, token.text))
            layout = ""
    return [*found, _Token("", layout, "")]


def _key(text: str) -> str:
    """The text of a token, whichever quotes a string has that needs neither."""
    body = text[1:-1]
    is_plain = text[:1] in _QUOTES and text[-1:] == text[:1] and len(text) > 1
    return f'"{body}"' if is_plain and not _QUOTES & set(body) else text


def _edits(old: Sequence[_Token], new: Sequence[_Token]) -> list[_Edit]:
    edits: list[_Edit] = []
    keys = [token.key for token in old]
    new_keys = [token.key for token in new]
    for start, end, new_start, new_end in line_edits(keys, new_keys):
        edits.append(_Edit(start, end, tuple(new[new_start:new_end])))
    return edits


def _words(found: Sequence[_Token]) -> int:
    """How many names, numbers, texts and keywords are among tokens."""
    return sum(1 for token in found if _WORD.search(token.key))


def _meet(one: _Edit, other: _Edit) -> bool:
    """Whether two edits change the same tokens, or one inserts where the other changes any."""
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return max(one.start, other.start) < min(one.end, other.end)


def _is_version(old: Sequence[_Token], theirs: _Edit, ours: _Edit) -> bool:
    """Whether both edits replace one literal, and theirs by another number or other digits."""
    replaced = old[theirs.start : theirs.end]
    if not all(len(side) == 1 for side in (replaced, theirs.new, ours.new)):
        return False
    texts = [token.text for token in (*replaced, *theirs.new, *ours.new)]
    if not all(text[-1:] in _QUOTES or text[:1].isdigit() for text in texts):
        return False
    return _DIGITS.sub("", texts[0]) == _DIGITS.sub("", texts[1])


class _Writer:
    """Writes merged code: what stays has the layout of theirs, unless ours has changed it.

    Args:
        old: the tokens before both changes.
        ours: those that one of them keeps, by the index of the old one.
        theirs: those that the other one keeps.
    """

    def __init__(
        self, old: Sequence[_Token], ours: Mapping[int, _Token], theirs: Mapping[int, _Token]
    ) -> None:
        self._old = old
        self._ours = ours
        self._theirs = theirs

    def written(self, edits: Sequence[_Edit]) -> str:
        """The code that edits make of the old tokens, of which no two change the same ones."""
        starting = {edit.start: edit for edit in edits if edit.end > edit.start}
        inserting = {edit.start: edit for edit in edits if edit.end == edit.start}
        code = ""
        at = 0
        while at < len(self._old):
            if at in inserting:
                code += _text(inserting[at].new)
            if at in starting:
                code += self._replaced(starting[at])
                at = starting[at].end
            else:
                code += self._layout(at) + self._stays(at)
                at += 1
        return code

    def _replaced(self, edit: _Edit) -> str:
        """What an edit writes; the side that kept the old tokens may have changed their layout."""
        if not edit.new:
            return ""
        first = edit.new[0].layout
        is_as_before = first == self._old[edit.start].layout
        layout = self._layout(edit.start) if is_as_before else first
        return layout + _text(edit.new)[len(first) :]

    def _stays(self, at: int) -> str:
        """An old token as it is written: in the quotes of ours where those changed, else theirs."""
        before = self._old[at].text
        ours = self._ours[at].text
        return self._theirs[at].text if ours == before else ours

    def _layout(self, at: int) -> str:
        """What stands before an old token that one side kept."""
        before = self._old[at].layout
        ours = self._ours[at].layout if at in self._ours else before
        if ours == before and at in self._theirs:
            return self._theirs[at].layout
        return ours


def _text(found: Sequence[_Token]) -> str:
    return "".join(token.layout + token.text for token in found)


def _kept(edits: Sequence[_Edit], new: Sequence[_Token]) -> dict[int, _Token]:
    """The new tokens for the old ones that edits keep, by the index of the old one."""
    kept: dict[int, _Token] = {}
    at = to = 0
    for edit in edits:
        for index in range(at, edit.start):
            kept[index] = new[to]
            to += 1
        at = edit.end
        to += len(edit.new)
    for index, token in enumerate(new[to:], at):
        kept[index] = token
    return kept
