"""A line of a log -> the error that it reports, known or not, and whether it merely mentions errors. Pure.

What is seen first is worth most: an exception or an abort, a line that a logger calls an error, an exit code.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from patcher.diagnosis.failures import shown
from patcher.diagnosis.words import Worded, form
from patcher.message import Message

KNOWN, EXCEPTION, LOGGED, EXIT = range(4)


class Seen(NamedTuple):
    """What a text has: a pattern of a symptom (KNOWN), or an error by its form (EXCEPTION, ...), and where in which line.

    `key` is the pattern, or what the error has in common with others that differ in numbers alone. `is_spoken` is whether the
    line only speaks of it.
    """

    kind: int
    key: str
    begin: int
    end: int
    is_spoken: bool
    row: int = 0


_SUFFIX = b"(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing)"
_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*" + _SUFFIX
_ENDED_NAME = re.compile(  # what is in each line that _EXCEPTION is in, and is looked for in less time
    _SUFFIX + rb"(?:\}?(?:: ?[^\s)]| ['\"(]?No module named)|[\])}]?(?: *$|module ))"
)
_EXCEPTION = Worded(
    rb"(?<![\w.])(?<!except )(?<!raise )(?<!catch )(?:Exception|" + _NAME + rb")\}?"
    rb"(?:: ?(?=[^\s)])|(?= ['\"(]?No module named)).*"
    rb"|^[\[({]?" + _NAME + rb"[\])}]?(?: *$|module ).*",
    b"error|exception|interrupt|failed|exit|timeout|mismatch|missing",
)
_ABORT = Worded(
    rb"(?:terminate called |\b(?:[Ss]egmentation fault|SIGSEGV|segfault|Aborted \(|core dumped|Bus error|Illegal instruction|"
    rb"Floating point exception|double free|stack smashing|Fatal Python error|Check failed:|FATAL ERROR|NVRM: Xid)|"
    rb"(?<=\] )[A-Z]+:\(Error\)|^Killed$|(?i:(?:cuda|hip|musa|npu|xpu|gcu|mlu|\bur) error\b)|\bundefined symbol: ).*",
    b"terminate called |segmentation fault|sigsegv|segfault|aborted (|core dumped|bus error|illegal instruction|check failed:|"
    b"floating point exception|double free|stack smashing|fatal python error|fatal error|nvrm: xid|:(error)|\nkilled|"
    b"cuda error|hip error|musa error|npu error|xpu error|gcu error|mlu error|ur error|undefined symbol: ",
)
_LOGGED = Worded(
    rb"(?:\[E(?:RROR)?\]|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)|CCL_ERROR\||^[EF]\d{4,8} |\[E\d{3,4} )[\])|: -]*(?=\S).*",
    b"error|critical|fatal|[e|\ne0000|\nf0000",
)
_EXIT = Worded(
    rb"(?:\b(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|exitcode|code=\w+, status|returned status)\s*[:=]?\s*-?[1-9]\d*\b|"
    + r"\bnon-zero exit status ).*|(?:报错|出错).*".encode(),
    b"exit|, status|returned status|" + "报错|出错".encode(),
)
_SIGNS = ((EXCEPTION, _EXCEPTION), (EXCEPTION, _ABORT), (LOGGED, _LOGGED), (EXIT, _EXIT))
_QUIET = re.compile(rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b ?(?:[\])|:-]|\d)|Warning:|(?:^|\[)[WID]\d{3,4} |\[[WID]\]|\[W [^\]]*\]")
_CODE = re.compile(rb"^\W*(?:raise|except|assert|return|if|elif|else|try|def|class|import|from|with|for|while)\b")

# Lines that merely mention an error: the subject of a commit, the name of a test, a retry, advice, an explanation.
_SUBJECT = re.compile(
    rb"^(?:[\s>*#+-]|\xe2\x80\xa2)*(?:[0-9a-f]{7,40} [A-Za-z]|(?:\[[^\]]*\]\s*)*"
    rb"(?:fix(?:e[sd]|ing)?|feat|chore|docs?|tests?|refactor|perf|ci|revert|add(?:s|ed)?|improve[sd]?|"
    rb"support|catch|handle[sd]?|prevents?|avoids?|report|shorten|updated?|retry|rename[sd]?|"
    rb"allow|make|give|this prevents)(?:\([^)]*\))?[: ])"
    rb"|^\s*(?:[-*]|\xe2\x80\xa2) *[\"`\xe2].*[\"`\x9d]\.?$",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rb"\binstead of\b|\b(?:to|this|which) (?:avoids?|prevents?|catch)\b|\bprevents the\b|\berror messages? like\b|"
    rb"\b(?:if|when) (?:you|we|it|they) (?:see|encounters?|meets?)\b|\bin case of\b|\bmay (?:see|raise)\b|\bfor example\b|"
    rb"\bretr(?:y|ied|ies|ying)\b(?! failed)|\bfall(?:s|ing|en)?[- ]back\b|\bfell back\b|"
    rb"\bignor(?:ed|ing)\b|\bskipp(?:ed|ing)\b|"
    rb"\]\(https?://|\bP(?:ASSED|assed)\b|\[ *OK *\]|\.{3} ok$|^[+-] {2,}|" + "重试|忽略|应当为|如果遇到".encode(),
    re.IGNORECASE,
)
_RETRIED = re.compile(
    rb"\b(?:retrying|will retry|retry in|attempt \d+ ?(?:/|of) ?\d+|falling back|fell back)\b", re.IGNORECASE
)
_OWN = (
    *(b"applicable  ", b"applied  ", b"advice  ", b"follows  ", b"absent  ", b"not known  ", b"not needed  "),
    b"does not fit  ",
    *(b"failed  ", b"waited  ", b"late  "),
)
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")
NEAR = 200  # bytes before and after an error in which a line may say that it is none
WORDS = tuple(word for _, sign in _SIGNS for word in sign.words)
"""Of which one is in the form of each line that shows an error."""

_ABOUT = (  # what an error is about by its words, the surest first
    (Message("the memory of a device or of the machine"), r"out of memory|\boom\b|memory|alloc"),
    (
        Message("communication between ranks"),
        r"[nhmecxr]ccl|gloo|socket|connect|rank|rendezvous|time[d-]* ?out|\bport\b|broken pipe",
    ),
    (Message("the device"), r"cuda|\bnpu|musa|\bgcu|\bxpu|\bhpu|\bmlu|\bhip\b|device|kernel|driver|stream"),
    (Message("what is imported or installed"), r"import|module|undefined symbol|\.so\b|no attribute '_|version|package"),
    (Message("a file"), r"\bfile|director|permission|no space|disk|path"),
    (Message("data or the model"), r"shape|size|index|key|dtype|type|value|tensor|label|weight|state_dict"),
)


def error_in(line: bytes, row: int = 0) -> Optional[Seen]:
    """The error that a line shows, whatever it is; None where there is none, or a logger calls it less than an error."""
    formed = form(line)
    for kind, sign in _SIGNS:
        if sign is _EXCEPTION and not _ENDED_NAME.search(line):
            continue
        found = sign.search(line, formed)
        if found:
            begin = max(0, found.start() - NEAR)
            near = line[begin : found.start() + NEAR]
            before = line[begin : found.start()] if kind == EXCEPTION else near
            quiet = _QUIET.search(before) or (kind > EXCEPTION and _CODE.match(near))
            return None if quiet else Seen(kind, numberless(shown(found[0])), *found.span(), is_spoken(near), row)
    return None


def numberless(error: str) -> str:
    """What errors have in common that differ in numbers alone."""
    return re.sub(r"\d+", "0", error)


def is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    return bool(_SUBJECT.match(text) or _SPOKEN.search(text))


def is_source(before: bytes) -> bool:
    """Whether what follows in a line is the text of a `raise` in source code, which a traceback quotes."""
    return bool(_RAISED.search(before))


def was_retried(line: bytes) -> bool:
    """Whether a line says that the error before it was not the end."""
    return bool(_RETRIED.search(line))


def begins_own(line: bytes) -> bool:
    """Whether a line is the first one of a finding that `diagnose` has written."""
    return line.startswith(_OWN)


def about(error: str) -> str:
    """What an error is about as far as its words say, "" where they do not."""
    return next((subject for subject, words in _ABOUT if re.search(words, error, re.IGNORECASE)), "")
