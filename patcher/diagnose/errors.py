"""A line of a log -> the error that it reports, known or not, and whether it merely mentions errors. Pure.

What is seen first is worth most: an exception or an abort, a line that a logger calls an error, an exit code.
"""

from __future__ import annotations

import re
from typing import Match, NamedTuple, Optional, Pattern, Sequence, Tuple

EXCEPTION, LOGGED, EXIT = range(3)


class SeenError(NamedTuple):
    """An error in a line: what it is seen by (EXCEPTION, LOGGED, EXIT), and its text from there on."""

    kind: int
    text: bytes


class Sign(NamedTuple):
    """What errors of a kind are seen by; wherever its expression is found, one of its words is in `_searchable` text."""

    kind: int
    expression: Pattern[bytes]
    words: Tuple[bytes, ...]
    near: Optional[Pattern[bytes]] = None  # what is there, too, and is looked for in less time


_SUFFIXES = b"Error Exception Interrupt Failed Exit Timeout Mismatch Missing".split()
_SUFFIX = b"(?:" + b"|".join(_SUFFIXES) + b")"
_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*" + _SUFFIX
_ENDED_NAME = re.compile(_SUFFIX + rb"(?:\}?(?:: ?[^\s)]| ['\"(]?No module named)|[\])}]?(?: *$|module ))")
_EXCEPTION = re.compile(
    rb"(?<![\w.])(?<!except )(?<!raise )(?<!catch )(?:Exception|" + _NAME + rb")\}?"
    rb"(?:: ?(?=[^\s)])|(?= ['\"(]?No module named)).*"
    rb"|^[\[({]?" + _NAME + rb"[\])}]?(?: *$|module ).*"
)
_ABORT = re.compile(
    rb"(?:terminate called |\b(?:[Ss]egmentation fault|SIGSEGV|segfault|Aborted \(|core dumped|Bus error|Illegal instruction|"
    rb"Floating point exception|double free|stack smashing|Fatal Python error|Check failed:|FATAL ERROR|NVRM: Xid)|"
    rb"(?<=\] )[A-Z]+:\(Error\)|^Killed$|(?i:(?:cuda|hip|musa|npu|xpu|gcu|mlu|\bur) error\b)|\bundefined symbol: ).*"
)
_LOGGED = re.compile(
    rb"(?:\[E(?:RROR)?\]|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)|CCL_ERROR\||^[EF]\d{4,8} |\[E\d{3,4} )[\])|: -]*(?=\S).*"
)
_EXIT = re.compile(
    rb"(?:\b(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|exitcode|status)\s*[:=]?\s*-?[1-9]\d*\b|\bnon-zero exit status ).*"
    + "|(?:报错|出错).*".encode()
)
_SIGNS = (
    Sign(EXCEPTION, _EXCEPTION, tuple(_SUFFIXES), _ENDED_NAME),
    Sign(
        EXCEPTION,
        _ABORT,
        (
            *b"terminate called |egmentation fault|SIGSEGV|segfault|Aborted (|core dumped|Bus error".split(b"|"),
            *b"Illegal instruction|Floating point exception|double free|stack smashing|Fatal Python error".split(b"|"),
            *b"Check failed:|FATAL ERROR|NVRM: Xid|:(Error)|\nKilled|undefined symbol: ".split(b"|"),
            *b"cuda error|hip error|musa error|npu error|xpu error|gcu error|mlu error|ur error".split(b"|"),
        ),
    ),
    Sign(
        LOGGED,
        _LOGGED,
        (
            *b"ERROR CRITICAL FATAL [E]".split(),
            *(b"%s%d" % (at, digit) for at in (b"\nE", b"\nF", b"[E") for digit in range(10)),
        ),
    ),
    Sign(EXIT, _EXIT, (b"exit", b"status", "报错".encode(), "出错".encode())),
)
_QUIET = re.compile(rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b ?(?:[\])|:-]|\d)|Warning:|(?:^|\[)[WID]\d{3,4} |\[(?:W|I|D|W [^\]]*)\]")
_QUIET_WORDS = b"WARN INFO DEBUG Warning: [W [I [D".split()  # of which one is in what that finds behind the beginning
_CODE = re.compile(rb"^\W*(?:raise|except|assert|return|if|elif|else|try|def|class|import|from|with|for|while)\b")

# Lines that merely mention an error: the subject of a commit, the name of a test, a retry, advice, an explanation.
_SUBJECT = re.compile(
    rb"^(?:[\s>*#+-]|\xe2\x80\xa2)*(?:[0-9a-f]{7,40} [A-Za-z]|(?:\[[^\]]*\]\s*)*"
    rb"(?:fix(?:e[sd]|ing)?|feat|chore|docs?|tests?|refactor|perf|ci|revert|add(?:s|ed)?|improve[sd]?|"
    rb"support|catch|handle[sd]?|prevents?|avoids?|report|shorten|updated?|retry|rename[sd]?|"
    rb"allow|make|give|this prevents)(?:\([^)]*\))?[: ])",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rb"\binstead of\b|\b(?:to|this|which) (?:avoids?|prevents?|catch)\b|\bprevents the\b|\berror messages? like\b|"
    rb"\b(?:if|when) (?:you|we|it|they) (?:see|encounters?|meets?)\b|\bin case of\b|\bmay (?:see|raise)\b|\bfor example\b|"
    rb"\bretr(?:y|ied|ies|ying)\b(?! failed)|\bfall(?:s|ing|en)?[- ]back\b|\bfell back\b|"
    rb"\bignor(?:ed|ing)\b|\bskipp(?:ed|ing)\b|"
    rb"\]\(https?://|\bP(?:ASSED|assed)\b|\[ *OK *\]|\.{3} ok$|^[+-] {2,}|^\s*(?:[-*]|\xe2\x80\xa2) *[\"`\xe2].*[\"`\x9d]\.?$|"
    + "重试|忽略|应当为|如果遇到".encode(),
    re.IGNORECASE,
)
_SPOKEN_WORDS = (  # of which one is in what that finds, in small letters and between line feeds
    *b"instead of|avoid|prevent| catch|error message| see| encounter| meet|in case of|may raise|for example".split(b"|"),
    *b"retr|fall|fell back|ignor|skipp|](http|passed|ok|\n+ |\n- ".split(b"|"),
    *(quote + end for quote in (b'"', b"`", b"\x9d") for end in (b"\n", b".\n")),
    *"重试|忽略|应当为|如果遇到".encode().split(b"|"),
)
_RETRIED = re.compile(rb"(?i)\b(?:retrying|will retry|retry in|attempt \d+ ?(?:/|of) ?\d+|falling back|fell back)\b")
_RETRIES = (b"retrying", b"will retry", b"retry in", b"attempt ", b"falling back", b"fell back")
_OWN = (
    *(b"applies  ", b"applied  ", b"advice  ", b"follows  ", b"absent  ", b"not known  ", b"not needed  ", b"does not fit  "),
    *(b"failed  ", b"waited  ", b"late  "),
)
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")
NEAR = 200  # bytes before and after an error in which a line may say that it is none

_ABOUT = (  # what an error is about by its words, the surest first
    ("the memory of a device or of the machine", r"out of memory|\boom\b|memory|alloc"),
    ("communication between ranks", r"[nhmecxr]ccl|gloo|socket|connect|rank|rendezvous|time[d-]* ?out|\bport\b|broken pipe"),
    ("the device", r"cuda|\bnpu|musa|\bgcu|\bxpu|\bhpu|\bmlu|\bhip\b|device|kernel|driver|stream"),
    ("what is imported or installed", r"import|module|undefined symbol|\.so\b|no attribute '_|version|package"),
    ("a file", r"\bfile|director|permission|no space|disk|path"),
    ("data or the model", r"shape|size|index|key|dtype|type|value|tensor|label|weight|state_dict"),
)


def signs_in(block: bytes) -> Tuple[Sign, ...]:
    """The signs of errors that the lines of a block may have, each with those of its words that are there."""
    text = _searchable(block)
    here = (sign._replace(words=tuple(word for word in sign.words if word in text)) for sign in _SIGNS)
    return tuple(sign for sign in here if sign.words)


def error_in(line: bytes, signs: Sequence[Sign] = _SIGNS) -> Optional[SeenError]:
    """The error that a line shows, whatever it is; None where none of the signs is seen."""
    if not signs:
        return None
    text = _searchable(line)
    for sign in signs:
        found = _search(sign, line, text)
        if found:
            begin = max(0, found.start() - NEAR)
            before, near = line[begin : found.start()], line[begin : found.start() + NEAR]
            quiet = _is_quiet(before if sign.kind == EXCEPTION else near) or (sign.kind > EXCEPTION and _CODE.match(near))
            return None if quiet or is_spoken(near) else SeenError(sign.kind, found[0])
    return None


def _is_quiet(text: bytes) -> bool:
    """Whether a logger calls what is in a text less than an error."""
    return (text[:1] in (b"W", b"I", b"D") or any(map(text.__contains__, _QUIET_WORDS))) and bool(_QUIET.search(text))


def _search(sign: Sign, line: bytes, text: bytes) -> Optional[Match[bytes]]:
    """Where a sign is in a line; `text` is the line as words are looked for in it."""
    if not any(map(text.__contains__, sign.words)) or (sign.near and not sign.near.search(line)):
        return None
    return sign.expression.search(line)


def _searchable(text: bytes) -> bytes:
    """A text as words are looked for in it: as it is, a line feed before each of its lines, and in small letters."""
    return b"\n" + text.replace(b"\r", b"\n") + b"\n" + text.lower()


def is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    if _SUBJECT.match(text):
        return True
    small = b"\n" + text.lower() + b"\n"
    return any(map(small.__contains__, _SPOKEN_WORDS)) and bool(_SPOKEN.search(text))


def is_source(before: bytes) -> bool:
    """Whether what follows in a line is the text of a `raise` in source code, which a traceback quotes."""
    return bool(_RAISED.search(before))


def was_retried(line: bytes) -> bool:
    """Whether a line says that the error before it was not the end."""
    return bool(_RETRIED.search(line))


def may_be_retried(block: bytes) -> bool:
    """Whether a line of a block may say that an error was not the end."""
    text = block.lower()
    return any(word in text for word in _RETRIES)


def may_have_own(block: bytes) -> bool:
    """Whether a line of a block may be of what `diagnose` has written."""
    return any(word in block for word in _OWN)


def begins_own(line: bytes) -> bool:
    """Whether a line is the first one of a finding that `diagnose` has written."""
    return line.startswith(_OWN)


def about(error: str) -> str:
    """What an error is about as far as its words say, "" where they do not."""
    return next((subject for subject, words in _ABOUT if re.search(words, error, re.IGNORECASE)), "")
