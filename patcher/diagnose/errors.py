"""A line of a log -> whether an error is in it that nobody may know, and whether it only speaks of errors. Pure.

What is seen first is worth most: an exception or an abort, a line that a logger calls an error, an exit code.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

EXCEPTION, LOGGED, EXIT = range(3)


class SeenError(NamedTuple):
    """An error in a line: what it is seen by (EXCEPTION, LOGGED, EXIT), and its text from there on."""

    kind: int
    text: bytes


_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing)"
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
_QUIET = re.compile(rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b ?(?:[\])|:-]|\d)|Warning:|(?:^|\[)[WID]\d{3,4} |\[(?:W|I|D|W [^\]]*)\]")
_CODE = re.compile(rb"^\W*(?:raise|except|assert|return|if|elif|else|try|def|class|import|from|with|for|while)\b")

# What only speaks of errors: a commit's subject, a test's name, what was retried or is told to be done, what is explained.
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
_RETRIED = re.compile(rb"(?i)\b(?:retrying|will retry|retry in|attempt \d+ ?(?:/|of) ?\d+|falling back|fell back)\b")
_OWN = re.compile(rb"^(?:appli(?:es|ed)|advice|follows|absent|not (?:known|needed)|does not fit|failed|waited|late) {2}")
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")
_NEAR = 200  # bytes before and behind an error in which it may be said that it is none

_ABOUT = (  # what an error is about by its words, the surest first
    ("the memory of a device or of the machine", r"out of memory|\boom\b|memory|alloc"),
    ("communication between ranks", r"[nhmecxr]ccl|gloo|socket|connect|rank|rendezvous|time[d-]* ?out|\bport\b|broken pipe"),
    ("the device", r"cuda|\bnpu|musa|\bgcu|\bxpu|\bhpu|\bmlu|\bhip\b|device|kernel|driver|stream"),
    ("what is imported or installed", r"import|module|undefined symbol|\.so\b|no attribute '_|version|package"),
    ("a file", r"\bfile|director|permission|no space|disk|path"),
    ("data or the model", r"shape|size|index|key|dtype|type|value|tensor|label|weight|state_dict"),
)


def error_in(line: bytes) -> Optional[SeenError]:
    """The error that a line shows, whatever it is; None where none is seen."""
    for kind, expression in ((EXCEPTION, _EXCEPTION), (EXCEPTION, _ABORT), (LOGGED, _LOGGED), (EXIT, _EXIT)):
        found = expression.search(line)
        if found:
            begin = max(0, found.start() - _NEAR)
            before, near = line[begin : found.start()], line[begin : found.start() + _NEAR]
            quiet = _QUIET.search(before if kind == EXCEPTION else near) or (kind > EXCEPTION and _CODE.match(near))
            return None if quiet or is_spoken(near) else SeenError(kind, found[0])
    return None


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
    return bool(_OWN.match(line))


def about(error: str) -> str:
    """What an error is about as far as its words say, "" where they do not."""
    return next((subject for subject, words in _ABOUT if re.search(words, error, re.IGNORECASE)), "")
