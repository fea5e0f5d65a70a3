"""What people read, in another language than English, from the catalogs in patcher/locale.

A text is looked up line by line. An entry may have holes, as the f-string that it is from: `{} is not a folder`. Of those that
fit a line the one with the most text of its own is taken; what fills its holes is looked up in turn, and stays as it is where
no entry fits, or where it stands in quotes: names, paths and code. A line that no entry fits is one of several pieces, as
`FILE:LINE: message` or `problem; hint`, and the pieces that an entry fits are translated. All else stays English.
"""

from __future__ import annotations

import gettext
import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import click.formatting

from patcher.cli import told
from patcher.text.width import wrapped

_LONGEST, _MOST = 2_000, 50_000  # characters of a line, of a text: what is longer is no message of ours
_JOINTS, _DEEP, _TRIES = 12, 6, 1_000  # of a line; entries in entries; times that a text is compared with the catalog
_JOINT = re.compile(r"\)?(?:; |: |, |\. (?=[A-Z]))| \(|  +")
_WIDE = {"; ": "；", ": ": "：", ", ": "，", ". ": "。", " (": "（"}
_NAME = re.compile(r"\S*(?:(?<![,;:]) \d\S*)?")  # one word, or the name of a package and its version
_COUNT = re.compile(r"\d+ [a-z]+")
_SENTENCE = re.compile(r"[^,] [A-Za-z`(\[]")
_WORD = re.compile(r"[A-Za-z]+")
_FEW = 8  # letters; an entry with fewer, as `{} in {}`, fits too much: its holes take names, lists and counts
_GAP = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uff60]) (?=[\u3000-\u9fff\uff00-\uff60])")


class _Entry(NamedTuple):
    """Pieces of English with a hole between each two; the translation, whose every second piece is the number of a hole."""

    pieces: Tuple[str, ...]
    told: Tuple[str, ...]
    weak: bool


class Catalog:
    """The texts of a language; nothing for a language that we have not, such as `de` or `en_US.UTF-8`."""

    def __init__(self, language: str) -> None:
        code = re.match(r"[a-z]+", language)
        path = Path(__file__).parents[1] / "locale" / f"{code[0] if code else ''}.po"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = re.findall(r'^msgid (".+")\nmsgstr (".+")$', text, re.MULTILINE)
        self.whole: Dict[str, str] = {json.loads(msgid): json.loads(msgstr) for msgid, msgstr in found}
        self._tries = 0
        self._by_word: Dict[str, List[_Entry]] = {}
        for msgid, msgstr in self.whole.items():
            if "{}" in msgid:
                pieces = tuple(msgid.split("{}"))
                weak = sum(map(len, _WORD.findall(msgid))) < _FEW and not (pieces[0] and pieces[1:] == ("",))
                entry = _Entry(pieces, _numbered(msgstr), weak)
                self._by_word.setdefault(_rarest(msgid), []).append(entry)

    def text(self, text: str) -> str:
        """A text of several lines, translated as far as it can be."""
        if len(text) > _MOST:
            return text
        self._tries = _TRIES
        return "\n".join(self._line(line) for line in text.split("\n"))

    def word(self, text: str) -> str:
        """A text that is an entry by itself."""
        return self.whole.get(text, text)

    def _line(self, line: str) -> str:
        bare = line.strip()
        found = self._told(bare, _DEEP) if 2 < len(bare) < _LONGEST else None
        return line if found is None else line.replace(bare, found, 1)

    def _told(self, text: str, deep: int) -> Optional[str]:
        """A translation of the whole, or of pieces of it; None where nothing is known."""
        if " " not in text or not deep:
            return None
        return self._entry(text, deep) or self._joined(text, deep) or self._entry(text, deep, cut=True)

    def _entry(self, text: str, deep: int, *, cut: bool = False) -> Optional[str]:
        """By the entry with the most text of its own; with `cut` one that cuts a sentence before its first words."""
        if text in self.whole:
            return self.whole[text]
        self._tries -= 1
        if self._tries < 0:
            return None
        fitting = []
        for word in {"", *_WORD.findall(text)}:
            for entry in self._by_word.get(word, ()):
                holes = _holes(entry.pieces, text)
                if holes is not None and _cuts(entry.pieces, holes) == cut:
                    fitting.append((-sum(map(len, entry.pieces)), not entry.pieces[-1], entry, holes))
        found = (self._filled(entry, holes, deep) for *_, entry, holes in sorted(fitting))
        return next((each for each in found if each is not None), None)

    def _filled(self, entry: _Entry, holes: List[str], deep: int) -> Optional[str]:
        fills: List[str] = []
        for before, hole, after in zip(entry.pieces, holes, entry.pieces[1:]):
            quoted = before[-1:] == after[:1] and before[-1:] in ("`", '"', "'")
            found = None if quoted else self._told(hole, deep - 1)
            if found is None and before.endswith(("found ", "expected ")):
                found = self.whole.get(hole)
            listed = {before, after} & {" and ", " or "} and not _SENTENCE.search(re.sub(" (and|or) ", ", ", hole))
            ours = hole in self.whole or _COUNT.fullmatch(hole)
            if entry.weak and not (_NAME.fullmatch(hole) or listed or ours):
                return None
            fills.append(hole if found is None else found)
        return _GAP.sub("", "".join(fills[int(part)] if at % 2 else part for at, part in enumerate(entry.told)))

    def _joined(self, text: str, deep: int) -> Optional[str]:
        """Of all ways to cut a text at one joint that with the longest entry behind it, else before it."""
        joints = [each for each in _JOINT.finditer(text) if text.count("`", 0, each.start()) % 2 == 0][:_JOINTS]
        for joint in joints:
            right = self._entry(_inside(text, joint), deep - 1)
            if right is not None:
                return _glued(text, joint, self._told(text[: joint.start()], deep - 1), right)
        for joint in reversed(joints):
            left = self._entry(text[: joint.start()], deep - 1)
            if left is not None:
                return _glued(text, joint, left, self._told(_inside(text, joint), deep - 1))
        if joints:
            right = self._told(_inside(text, joints[0]), deep - 1)
            return None if right is None else _glued(text, joints[0], None, right)
        return None


def _numbered(msgstr: str) -> Tuple[str, ...]:
    """The pieces of a translation and, between them, the number of each hole: `{}` are numbered in order."""
    parts = re.split(r"\{(\d?)\}", msgstr)
    return tuple(part or str(at // 2) if at % 2 else part for at, part in enumerate(parts))


def _rarest(msgid: str) -> str:
    """The longest word that every text has which an entry fits, "" for none: one that touches no hole."""
    return max(re.findall(r"(?<![A-Za-z}])[A-Za-z]+(?![A-Za-z{])", msgid), key=len, default="")


def _holes(pieces: Tuple[str, ...], text: str) -> Optional[List[str]]:
    """What stands between the pieces of an entry, each found as early as may be, none of them inside of quotes."""
    at, end = len(pieces[0]), len(text) - len(pieces[-1])
    if at > end or not (text.startswith(pieces[0]) and text.endswith(pieces[-1])):
        return None
    found = []
    for piece in pieces[1:-1]:
        to = text.find(piece, at, end)
        while to >= 0 and _opens(text, at, to):
            to = text.find(piece, to + 1, end)
        if to < 0:
            return None
        found.append(text[at:to])
        at = to + len(piece)
    return None if at > end or _opens(text, at, end) else [*found, text[at:end]]


def _opens(text: str, start: int, end: int) -> bool:
    """Whether a quote or a parenthesis begins between two places and does not end there."""
    opening, closing = (text.count(each, start, end) for each in "()")
    crossed = opening != closing or (opening > 0 and text.find(")", start) < text.find("(", start))
    return crossed or any(text.count(quote, start, end) % 2 for quote in ("`", '"'))


def _cuts(pieces: Tuple[str, ...], holes: List[str]) -> bool:
    """Whether what stands before the first words of an entry has a joint in itself, and so may be another sentence."""
    at = next((at for at, piece in enumerate(pieces) if _WORD.search(piece)), 0)
    return at > 0 and pieces[at][:1] not in (";", ":", ",") and any(re.search(r"[:;](?: |$)", hole) for hole in holes[:at])


def _inside(text: str, joint: re.Match[str]) -> str:
    """What stands behind a joint; of what is in parentheses at the end without the last one."""
    right = text[joint.end() :]
    return right[:-1] if joint[0] == " (" and right[-1:] == ")" else right


def _glued(text: str, joint: re.Match[str], left: Optional[str], right: Optional[str]) -> str:
    """Two pieces, of which one at least is told, with the punctuation of the language between them."""
    closing, glue = ("）", joint[0][1:]) if joint[0][0] == ")" else ("", joint[0])
    glue, last = closing + _WIDE.get(glue, glue), "）" if glue == " (" and text[-1:] == ")" else ""
    behind = _inside(text, joint) if right is None else right
    return _GAP.sub("", f"{text[: joint.start()] if left is None else left}{glue}{behind}{last}")


def speak(language: str) -> None:
    """Let this process tell people everything in a language; what has no translation stays English.

    All text of help goes through two functions: what click says itself through gettext's, and ours through click's wrapping,
    which would count a Chinese character as one column and break lines at blanks alone. Both are replaced.
    """
    catalog = Catalog(language)
    if not catalog.whole:
        return

    def translated(text: str) -> str:
        """A paragraph, or the help of an option with what click adds to it: `[default: 120.0]`."""
        ours, bracket, added = text.rpartition(" [")
        found = catalog.word(text)
        return f"{catalog.word(ours)} [{added}" if found == text and bracket and text[-1] == "]" else found

    def wrap(
        text: str, width: int = 78, initial_indent: str = "", subsequent_indent: str = "", preserve_paragraphs: bool = False
    ) -> str:
        done = []
        for paragraph in re.split(r"\n\s*\n", text) if preserve_paragraphs else [text]:
            if paragraph.startswith("\b"):  # its lines are kept
                lines = [catalog.word(line) for line in paragraph.splitlines()[1:]]
            else:
                lines = wrapped(translated(" ".join(paragraph.split())), width - len(subsequent_indent))
            indents = [initial_indent, *[subsequent_indent] * len(lines)]
            done.append("\n".join(indent + line for indent, line in zip(indents, lines)))
        return "\n\n".join(done)

    gettext.dgettext = lambda domain, message: catalog.word(message)
    gettext.dngettext = lambda domain, msgid1, msgid2, n: catalog.word(msgid1 if n == 1 else msgid2)
    click.formatting.wrap_text = wrap
    told.speak(catalog.text, catalog.word)
