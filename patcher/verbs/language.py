"""Messages in another language than English, from the catalogs in patcher/locale.

A text is looked up line by line. An entry may have holes, as the f-string that it is from: `{} is not a folder`. What fills
them is looked up in turn, and stays as it is where no entry fits, or where it stands in quotes: names, paths and code. A line
may also be one of several pieces, as `FILE:LINE: message` or `problem; hint`. Of all ways the one that covers the most of the
line is taken; all else stays English. An absolute path with blanks that is there is kept as it is.
"""

from __future__ import annotations

import gettext
import json
import os
import re
import string
from itertools import zip_longest
from pathlib import Path
from typing import Any, Container, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import click.formatting

from patcher.message import Message
from patcher.text.terminal import wrapped
from patcher.verbs import translation

_LONGEST, _MOST = 2_000, 50_000  # characters of a line, of a text: what is longer is no message of ours
_JOINTS, _DEEP, _TRIES = 12, 6, 1_000  # of a line; entries in entries; times that a text is compared with the catalog
_JOINT = re.compile(r"; |: |, |\. (?=[A-Z])| \(|  +")
_WIDE = {"; ": "；", ": ": "：", ", ": "，", ". ": "。", " (": "（", ")": "）"}
_STRONG = ("; ", ": ", " (")  # joints that no list has
_QUOTES = ("`", '"', "'")
_Piece = Tuple[str, Optional[str]]
"""Text, and the name of the field that follows."""
_Found = Tuple[int, str]
"""How many characters of a text are covered by entries, and what it becomes."""
_NAME = re.compile(r"(?:\S+(?: \d\S*)?(?<![,;]))?")  # one word, or the name of a package and its version
_COUNT = re.compile(r"[\d.]+ [A-Za-z]+")
_TIMED = re.compile(r" in [\d.]+ s, ")  # the end of a sentence of `verify`
_SENTENCE = re.compile(r"[^,] [A-Za-z`(\[]")
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN = re.compile(r"[\w.]+")  # a field without a format
_FEW = 8  # letters; an entry with fewer, as `{} in {}`, fits too much: its holes take names, lists and counts
_ROOT = re.compile(r"(?<![^\s(\"'`=:\[])/(?=[^\s/])")  # the beginning of an absolute path
_PATH_END = re.compile(r"(?=[\s/:;,()\"'`\]]|$)")
_ENDS = 60  # of a path that are tried
_STAND_IN = 0xE000  # the first of the characters that stand for paths: of private use, none is in a message
_GAP = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uff60]) (?=[\u3000-\u9fff\uff00-\uff60])")


class _Entry(NamedTuple):
    """Pieces of English with a hole between each two; the translation, whose every second piece is the number of a hole."""

    pieces: Tuple[str, ...]
    translation: Tuple[str, ...]
    weak: bool


class Catalog:
    """The texts of a language; nothing for a language that we have not, such as `de` or `en_US.UTF-8`."""

    def __init__(self, language: str) -> None:
        code = re.match(r"[a-z]+", language)
        path = Path(__file__).parents[1] / "locale" / f"{code[0] if code else ''}.po"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = re.findall(r'^msgid (".+")\nmsgstr (".+")$', text, re.MULTILINE)
        self.whole: Dict[str, str] = {json.loads(msgid): json.loads(msgstr) for msgid, msgstr in found}
        self._known: Dict[str, _Found] = {}
        self._tries = 0
        self._by_word: Dict[str, List[_Entry]] = {}
        for msgid, msgstr in self.whole.items():
            if "{}" in msgid:
                pieces = tuple(msgid.split("{}"))
                weak = sum(map(len, _WORD.findall(msgid))) < _FEW and not (pieces[0] and pieces[1:] == ("",))
                entry = _Entry(pieces, _numbered(msgstr), weak)
                self._by_word.setdefault(_rarest(msgid), []).append(entry)

    def message(self, message: Message) -> str:
        """A message: each line of its template is looked up, and filled with its fields, of which messages are translated."""
        return "\n".join(self._of_line(line, message.fields) for line in message.template.split("\n"))

    def _of_line(self, line: str, fields: Mapping[str, Any]) -> str:
        pieces = [(literal, _hole(*field)) for literal, *field in string.Formatter().parse(line)]
        holes = [hole for _, hole in pieces if hole is not None]
        filled = {hole: self._field(hole, fields) for hole in holes}
        said = {hole for hole in holes if filled[hole] != f"{{{hole}}}".format(**fields)}
        msgid = "".join(literal + ("" if hole is None else "{}") for literal, hole in pieces)
        found = self.whole.get(msgid.strip())
        if found is not None:
            indent = msgid[: len(msgid) - len(msgid.lstrip())]
            behind = msgid[len(msgid.rstrip()) :]
            parts = _numbered(f"{'' if indent == ' ' and _is_wide(found[:1]) else indent}{found}{behind}")
            pieces = list(zip_longest(parts[::2], [holes[int(number)] for number in parts[1::2]]))
        elif not fields:
            return self._around_paths(line.replace("{{", "{").replace("}}", "}"))
        elif said and not _WORD.search(msgid):  # `{place}: {problem}`: the punctuation is translated
            pieces = [(_widened(literal), hole) for literal, hole in pieces]
        return _filled(pieces, filled, said)

    def _field(self, hole: str, fields: Mapping[str, Any]) -> str:
        """A field: messages are translated, also that of an error, and what the operating system says; all else stays."""
        field = string.Formatter().get_field(hole, (), fields)[0] if _PLAIN.fullmatch(hole) else f"{{{hole}}}".format(**fields)
        if isinstance(field, OSError) and field.strerror in self.whole:
            said = self.whole[field.strerror]
            return said if field.filename is None else f"{said}：{field.filename!r}"
        text = str(field)
        return self.message(text) if isinstance(text, Message) else self.whole.get(text, text) if " " in text else text

    def text(self, text: str) -> str:
        """A text of several lines, translated as far as it can be."""
        if isinstance(text, Message):
            return self.message(text)
        if len(text) > _MOST:
            return text
        self._known, self._tries = {}, _TRIES
        return "\n".join(self._around_paths(line) for line in text.split("\n"))

    def word(self, text: str) -> str:
        """A text that is an entry by itself."""
        return self.whole.get(text, text)

    def _around_paths(self, line: str) -> str:
        """A line, translated but for the paths in it that have blanks: their words are names."""
        paths = _paths(line) if "/" in line and len(line) < _LONGEST else []
        for at, path in enumerate(paths):
            line = line.replace(path, chr(_STAND_IN + at))
        line = self._line(line)
        for at, path in enumerate(paths):
            line = line.replace(chr(_STAND_IN + at), path)
        return line

    def _line(self, line: str) -> str:
        bare = line.strip()
        found = self._best(bare, _DEEP)[1] if 2 < len(bare) < _LONGEST else bare
        return line.replace(bare, found, 1) if bare else line

    def _best(self, text: str, deep: int) -> _Found:
        """The translation that covers the most of a text: by one entry, or of its pieces."""
        if text in self.whole:
            return (len(text), self.whole[text]) if " " in text else (0, text)
        if text not in self._known and " " in text and deep and self._tries > 0:
            self._tries -= 1
            ways = [*self._by_entries(text, deep), *self._by_joints(text, deep)]
            self._known[text] = max(ways, key=lambda way: way[0], default=(0, text))
        return self._known.get(text, (0, text))

    def _by_entries(self, text: str, deep: int) -> Iterator[_Found]:
        """By each entry that fits; of those that cover the same the one with the most text of its own is first."""
        entries = [entry for word in {"", *_WORD.findall(text)} for entry in self._by_word.get(word, ())]
        for entry in sorted(entries, key=lambda entry: (-sum(map(len, entry.pieces)), entry.pieces)):
            holes = _holes(entry.pieces, text)
            fills = None if holes is None else self._fills(entry, holes, deep)
            if fills is not None:
                joined = "".join(fills[int(part)][1] if at % 2 else part for at, part in enumerate(entry.translation))
                yield sum(map(len, entry.pieces)) + sum(covered for covered, _ in fills), _GAP.sub("", joined)

    def _fills(self, entry: _Entry, holes: List[str], deep: int) -> Optional[List[_Found]]:
        """What fills the holes of an entry, translated; None where it is not what the entry means."""
        fills: List[_Found] = []
        for before, hole, after in zip(entry.pieces, holes, entry.pieces[1:]):
            quote = before[-1:] if before[-1:] == after[:1] and before[-1:] in _QUOTES else ""
            listed = {before, after} & {" and ", " or "} and not _SENTENCE.search(re.sub(" (and|or) ", ", ", hole))
            ours = hole in self.whole or _COUNT.fullmatch(hole)
            ended = before.endswith(" in ") and "; " in hole  # the sentence has ended: what follows is another one
            begun = not before and bool(_TIMED.search(hole))  # what is in front of it is another one
            if begun or ended or (quote and quote in hole) or (entry.weak and not (_NAME.fullmatch(hole) or listed or ours)):
                return None
            found = (0, hole) if quote else self._best(hole, deep - 1)
            alone = before.endswith(("found ", "expected ", ": ")) and hole in self.whole
            fills.append((len(hole), self.whole[hole]) if alone else found)
        return fills

    def _by_joints(self, text: str, deep: int) -> Iterator[_Found]:
        """By each joint that is not inside of quotes or parentheses; with ours on one side of it at least."""
        for joint in [each for each in _JOINT.finditer(text) if not _opens(text, 0, each.start())][:_JOINTS]:
            left, glue, right, last = text[: joint.start()], joint[0], text[joint.end() :], ""
            if glue == " (":
                right, last = right[:-1], right[-1:]
                if last != ")" or _opens(right, 0, len(right)):
                    continue
            before, behind = self._best(left, deep - 1), self._best(right, deep - 1)
            if glue == ": " and right in self.whole:
                behind = len(right), self.whole[right]
            if before[0] or behind[0]:
                joined = f"{before[1]}{_WIDE.get(glue, glue)}{behind[1]}{_WIDE.get(last, '')}"
                also = len(glue) if behind[0] and glue in _STRONG else 0
                yield before[0] + also + behind[0], _GAP.sub("", joined)


def _filled(pieces: Iterable[_Piece], fields: Mapping[str, str], said: Container[str]) -> str:
    """The pieces of a template with the fields; between Chinese and a field that is Chinese now stands no blank."""
    text = ""
    before = False
    for literal, name in pieces:
        text = _glued(text, literal) if before else text + literal
        before = name in said
        if name is not None:
            text = _glued(text, fields[name]) if before else text + fields[name]
    return text


def _hole(name: Optional[str], form: Optional[str], conversion: Optional[str]) -> Optional[str]:
    """What stands between the braces of a template."""
    return name and name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")


def _widened(text: str) -> str:
    for narrow, wide in _WIDE.items():
        text = text.replace(narrow, wide)
    return text


def _glued(left: str, right: str) -> str:
    """Two texts, without a blank between two Chinese characters where they meet."""
    left = left[:-1] if left[-1:] == " " and _is_wide(left[-2:-1]) and _is_wide(right[:1]) else left
    right = right[1:] if right[:1] == " " and _is_wide(left[-1:]) and _is_wide(right[1:2]) else right
    return left + right


def _is_wide(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uff60"


def _paths(line: str) -> List[str]:
    """The absolute paths with a blank in a line that are there, the longest that each can be; where a part is, up to it."""
    paths = []
    for start in list(_ROOT.finditer(line))[:_JOINTS]:
        ends = [end.start() for end in _PATH_END.finditer(line, start.end()) if " " in line[start.start() : end.start()]]
        candidates = [line[start.start() : end] for end in reversed(ends[-_ENDS:])]
        paths += list(filter(os.path.lexists, candidates))[:1]
    return sorted(dict.fromkeys(paths), key=len, reverse=True)


def _numbered(msgstr: str) -> Tuple[str, ...]:
    """The pieces of a translation and, between them, the number of each hole: `{}` are numbered in order."""
    parts = re.split(r"\{(\d?)\}", msgstr)
    return tuple(part or str(at // 2) if at % 2 else part for at, part in enumerate(parts))


def _rarest(msgid: str) -> str:
    """The longest word that every text has which an entry fits, "" for none: one that touches no hole."""
    return max(re.findall(r"(?<![A-Za-z}])[A-Za-z]+(?![A-Za-z{])", msgid), key=len, default="")


def _holes(pieces: Tuple[str, ...], text: str) -> Optional[List[str]]:
    """The text between the pieces of an entry, each found as early as possible, none inside of quotes or parentheses."""
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
    return None if at > end or (pieces[-1] and _opens(text, at, end)) else [*found, text[at:end]]


def _opens(text: str, start: int, end: int) -> bool:
    """Whether a quote or a parenthesis begins between two places and does not end there."""
    opening, closing = (text.count(each, start, end) for each in "()")
    crossed = opening != closing or (opening > 0 and text.find(")", start) < text.find("(", start))
    return crossed or any(text.count(quote, start, end) % 2 for quote in ("`", '"'))


def set_language(language: str) -> None:
    """Translate everything that this process writes for users; what has no translation stays English.

    All text of help goes through two functions, which are replaced: click's own through gettext's, and ours through click's
    wrapping, which would count a Chinese character as one column and break lines at blanks alone.
    """
    catalog = Catalog(language)
    if not catalog.whole:
        return

    def paragraph_of_help(text: str) -> str:
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
                lines = wrapped(paragraph_of_help(" ".join(paragraph.split())), width - len(subsequent_indent))
            indents = [initial_indent, *[subsequent_indent] * len(lines)]
            done.append("\n".join(indent + line for indent, line in zip(indents, lines)))
        return "\n\n".join(done)

    gettext.dgettext = lambda domain, message: catalog.word(message)
    gettext.dngettext = lambda domain, msgid1, msgid2, n: catalog.word(msgid1 if n == 1 else msgid2)
    click.formatting.wrap_text = wrap
    translation.set_translation(catalog.text, catalog.word)
