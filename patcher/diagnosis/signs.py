"""A paragraph of a log -> the signs in it: patterns of symptoms, errors by their form. Pure.

Each sign has words without digits, one of which is in each text that has it; only where one stands
is it looked for.
"""

from __future__ import annotations

import re
from typing import Iterable, Match, Pattern, Sequence

from patcher.diagnosis.failures import MARKS, shown
from patcher.diagnosis.report import OURS, REFUSAL
from patcher.record import Record
from patcher.text.patterns import ESCAPE, ROLES, SymptomPattern, compiled, wording

KNOWN, EXCEPTION, LOGGED, EXIT = range(4)
"""What is a sign: a pattern; errors, those that are worth most first."""
_PIECE, _OVERLAP = 8192, 1024  # bytes of a line in which an error is looked for at a time
_NEAR = 200  # bytes before and after an error in which a line may say that it is none


class Sign(Record):
    """A pattern of a symptom (KNOWN), or an error by its form (EXCEPTION, ...).

    Attributes:
        kind: see above.
        key: the pattern, or what the error has in common with others that differ in numbers alone.
        begin: where it begins in its line.
        end: where it ends there.
        is_spoken: whether the line only speaks of it.
        row: the line of the paragraph.
    """

    kind: int
    key: str
    begin: int
    end: int
    is_spoken: bool
    row: int


# patterns of symptoms -----------------------------------------------------------------------------
_COMMON = (
    b"signal socket rendezvous symbol attribute failed found timeout error device module torch "
    b"available support only"
).split()
"""Words of which one is in most patterns, the rarest first: only with it are they looked for."""
_WAITING = "Waiting in store based barrier to initialize process group"
_LISTENS = "The server socket has failed to listen on any local network address"
LAST_WORDS = (_WAITING, _LISTENS)
"""Errors only where a log ends in them: else the run has gone on."""
_JOINED = re.compile(
    rb"world_size=(?P<size>\d{1,7}), (?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})\b"
)


def last_words(line: bytes) -> str:
    """The one of LAST_WORDS that the last line of a log has.

    Empty where it has none, or waits for nobody any more.
    """
    if _LISTENS.encode() in line:
        return _LISTENS
    if _WAITING.encode() not in line:
        return ""
    joined = _JOINED.search(line)
    is_waiting = joined and int(joined["joined"]) < int(joined["size"])
    return _WAITING if is_waiting else ""


def _sign_of(pattern: SymptomPattern, text: bytes) -> Sign | None:
    """The sign of a pattern in a text."""
    start = pattern.place(text)
    if start < 0:
        return None
    begin = text.rfind(b"\n", 0, start) + 1
    near = max(begin, start - _NEAR)
    before = text[near:start]
    around = text[near : start + _NEAR].partition(b"\n")[0]
    is_spoken = bool(_RAISED.search(before) or _TOLD.search(before)) or _is_spoken(around)
    return Sign(
        kind=KNOWN,
        key=pattern.text,
        begin=start - begin,
        end=start - begin,
        is_spoken=is_spoken,
        row=text.count(b"\n", 0, start),
    )


# errors by their form -----------------------------------------------------------------------------
_NAME = (
    rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
    rb"(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing|Resources)"
)
_EXCEPTION = (
    rb"(?:(?<![\w.\\])|"
    + ESCAPE
    + rb")(?<!except )(?<!raise )(?<!catch )(?:Exception|"
    + _NAME
    + rb")"
)
_LEVEL = (
    rb"\[(?:E|(?i:error))\]"
    rb"|\[E (?!socket\.)[\w./-]+\.(?:cpp|cc):\d+\]"
    rb"|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)"
    rb"|^[EF]\d{4,8} (?=\d\d:)"
    rb"|\[E\d{3,4} "
    rb"|\d: [EF] +\d+ "
)
_CODED = (
    rb"(?i:exit(?:ed|s)?(?: with)?(?: return)?(?: ?(?:code|status))?)"
    rb"|code=\w+, status"
)
_DEVICE_ERROR = (
    rb"(?i:(?:" + ROLES["{device}"].encode() + rb") error)(?= *[:,(\d]| (?:at|in|code|on)\b| *$)"
)
_PERSON = (
    rb"(?:I|[Ww]e)\b(?:'\w+)?(?: \w+){0,2} "
    rb"(?:ge?o?t|getting|me?et|fac(?:e|ing)|encounter\w*|hit|receiv\w+)"
)
_TELLS = (
    _PERSON
    + rb"|[Tt]here is an?|[Bb]elow|(?<!cause of the )[Ff]ollowing|raised|threw|reported|showed"
)
_WORDS = (
    b"error exception interrupt failed exit timeout mismatch missing fatal critical killed crash "
    b"segfault sigsegv sigabrt sigbus sigfpe sigill doublefree coredumped terminatecalled "
    b"segmentationfault failswith frame#0 ,status _status_ )fail, "
    b"[e] .cpp:0 .cc:0 [e000 e000000:00: f000000:00: e0000000000:00: f0000000000:00: "
    b"0.000000:e 0.000000:f "
    b"ofresources cannotimportname nomodulenamed " + "报 出错".encode()
)
ERROR_WORDS = tuple(map(wording, _WORDS.split()))
"""Words without one of which no line has one of the forms."""
_FORMS = (
    (  # what is raised
        EXCEPTION,
        _EXCEPTION + rb"\}?: ?(?=[^\s)]).*",
        rb"(?:^|(?<=[\])])|(?<=[\])] )|(?<=[\])]: ))[\[({]?" + _NAME + rb":? *$",
    ),
    (  # an abort
        EXCEPTION,
        rb"\b(?:[Ss]egmentation fault|SIGSEGV|segfault|double free"
        rb"|Check failed:|Fatal Python error).*",
        rb"terminate called .*|(?:[A-Z][a-z]+(?: \w+){0,3} \()?core dumped.*|^Killed$",
        _DEVICE_ERROR + rb".*|(?i:ccl function error ?:).*",
    ),
    (  # what a library returns, and a signal
        LOGGED,
        rb"\b(?:[A-Z0-9]+_)+ERROR_(?!HANDLING|LEVEL)[A-Z_]+.*",
        rb"\bCU[A-Z]+_STATUS_(?!SUCCESS)[A-Z_]+.*",
        rb"\b(?:cuda|hip|musa|acl)Error[A-Z].*|\bSIG(?:ABRT|BUS|FPE|ILL)\b.*",
    ),
    (  # what a logger calls an error, and a call of C that has failed
        LOGGED,
        rb"(?:" + _LEVEL + rb")[\])|: -]*(?=\S).*",
        rb"\b\w+\([^()]*\) fail(?:ed\b|,).*",
    ),
    (  # an exit code, and what somebody tells
        EXIT,
        rb"\b(?:" + _CODED + rb")\s*[:=]?\s*-?[1-9]\d*\b.*",
        rb"\bnon-zero exit status .*",
        "(?:报[A-Za-z ]*错|出错).*".encode(),
        rb"^\W*(?:cannot import name|No module named) ['\"].*",
        rb"\b(?:" + _TELLS + rb")\b[^.]{0,60}?\b(?i:error|exception)\b.*",
        rb"\b(?i:error) (?:is|was) (?:raised|thrown|reported|shown)\b.*",
        rb"\b[Ee]rror:? [\"`].*|\bframe #\d+: .*",
        rb"\b(?:crash(?:es|ed) (?:with|during|at|when|on|in)|fails with)\b.*",
    ),
)
FORMS = tuple((kind, re.compile(b"|".join(expressions))) for kind, *expressions in _FORMS)
"""The forms of errors, those that are worth most first."""
_QUIET = re.compile(
    rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b ?(?:[\])|:-]|\d)"
    rb"|Warning:"
    rb"|(?:^|\[)[WID]\d{3,4} "
    rb"|\[[WID][ \]]"
)
"""What a logger calls less than an error."""
_CODE = re.compile(
    rb"^\W*(?:raise|except|assert|return|if|else|def|class|import|from|with|for|while)\b"
)

# Lines that merely mention an error: the subject of a commit, a quoted line, a test's name, a
# retry, a link, an explanation.
_SUBJECT = re.compile(
    rb"^[\s>*#+-]*(?:[0-9a-f]{7,40} [A-Za-z]|(?:\[[^\]]*\]\s*)*"
    rb"(?:fix(?:e[sd]|ing)?|feat|chore|docs?|tests?|refactor|ci|revert|add(?:s|ed)?|support"
    rb"|handles?|report|updated?|this prevents)(?:\([^)]*\))?[: ])"
    rb"|^\+ {2,}"
    rb"|^\s*(?:[-*]|\xe2\x80\xa2) *[\"`\xe2].*[\"`\x9d]\.?$",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rb"\b(?:instead of|may fail with|for example|ignored|skipped|passed)\b"
    rb"|\]\(https?://"
    rb"|\bfall(?:s|ing|en)?[- ]back\b"
    rb"|\bcontains? `"
    rb"|\bretr(?:y|ied|ies|ying)\b(?! failed)"
    rb"|\[ *OK *\]"
    rb"|\betc\.( |$)"
    rb"|\b(?:if|when) (?:you|we) (see|encounter)\b",
    re.IGNORECASE,
)
EXAMPLE = re.compile(
    rb"(?:\b(?:common|typical)\b[^.:]{0,80}?\b(?:problem|error|issue)s?\b"
    rb"|\bnew\s{1,4}(?:error\s{1,4})?message\b"
    rb"|\bmessages?\s{1,4}similar\s{1,4}to\b"
    rb"|\b[Ff]ix(?:es|ed)\s{1,4}an?\b)(?:[^.]|\.\w){0,200}:\s*$",
    re.MULTILINE,
)
"""What stands before an example."""
RETRIED = re.compile(rb"\b(?:retrying|will retry|retry in|falling back)\b", re.IGNORECASE)
_TOLD = re.compile(rb"CCL INFO |(?<!=)\b(?:INFO|DEBUG)\b ?[\])|:-]")
"""Before what a library tells."""
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")
"""Before text in source code, which a traceback quotes."""


def _error_in(line: bytes, row: int) -> Sign | None:
    """The error that a line shows, whatever it is.

    None where there is none, or a logger calls it less than an error.
    """
    for kind, expression in FORMS:
        match = _search(expression, line)
        if match is None:
            continue
        start = match.start()
        before = line[max(0, start - _NEAR) : start]
        near = before + line[start : start + _NEAR]
        if _QUIET.search(before if kind == EXCEPTION else near):
            return None
        if kind > EXCEPTION and _CODE.match(near):
            return None
        return Sign(
            kind=kind,
            key=numberless(shown(match[0])),
            begin=start,
            end=match.end(),
            is_spoken=_is_spoken(near),
            row=row,
        )
    return None


def _search(expression: Pattern[bytes], line: bytes) -> Match[bytes] | None:
    """Where an expression is first found.

    A long line is read in pieces: the work grows with it, not with its square.
    """
    for begin in range(0, max(1, len(line)), _PIECE):
        match = expression.search(line, begin, begin + _PIECE + _OVERLAP)
        if match:
            return match
    return None


def numberless(error: str) -> str:
    """What errors have in common that differ in numbers alone."""
    return re.sub(r"\d+", "0", error)


def _is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    return bool(_SUBJECT.match(text) or _SPOKEN.search(text))


# devices ------------------------------------------------------------------------------------------
_ON_DEVICE = re.compile(
    rb"device\(type=\\?['\"](?P<type>[a-z]\w+)\\?['\"], index=\d"
    rb"|\bdevice=\\?['\"]?(?P<repr>[a-z]\w+):\d{1,3}\b"
    rb"|[\[{,] ?\\?['\"](?P<counted>[a-z]\w+):\d{1,3}\\?['\"][:,}\]]"
    rb"|\b(?:devices?(?: type)?,?|(?:is|are|tensors?|parameters?|buffers?|model) on) "
    rb"(?P<said>[a-z]\w+):\d{1,3}\b(?!:)"
)
"""A device on a tensor or a parameter, as torch and our reports write it."""
_NO_ACCELERATORS = (b"cpu", b"cuda", b"meta", b"gpu", b"rank", b"node", b"port", b"line")
_ABSENT = re.compile(
    rb"\bavailable\W{1,4}(?:False|No)\b"
    rb"|\b(?:not|un)[ -]?available\b"
    rb"|No module named"
    rb"|\bnot found\b"
    rb"|\bno such\b"
    rb"|\b(?:not|isn't|without|no)\b.{0,20}\b(?:installed|detected|supported|compiled)\b",
    re.IGNORECASE,
)
"""In a line that says what is not there."""
_SPEAKS_OF = re.compile(rb"\b(" + ROLES["{vendor}"].encode() + rb")\b", re.IGNORECASE)


def devices_in(text: bytes) -> set[str]:
    """The kinds of accelerators on which a text shows a tensor or a parameter, CUDA's apart.

    What merely names a kind is no evidence: `MUSA available: False` stands in every log of some
    programs.
    """
    kinds: set[str] = set()
    for match in _ON_DEVICE.finditer(text):
        kind = match[match.lastgroup or 0]
        if kind in _NO_ACCELERATORS:
            continue
        begin = text.rfind(b"\n", 0, match.start()) + 1
        line = text[begin : match.end() + _NEAR].split(b"\n")[0]
        if not _ABSENT.search(line[-4 * _NEAR :]):
            kinds.add(kind.decode())
    return kinds


def spoken_of(text: str) -> set[str]:
    """The kinds of accelerators whose names an error has: those whose tools are worth naming."""
    return {kind.decode().lower() for kind in _SPEAKS_OF.findall(text.encode())}


# paragraphs ---------------------------------------------------------------------------------------
_NUMBERED = re.compile(rb"\b[TS]0{1,3}\b|\b000B\b|\bexit|\bstatus\b")
"""What is something else where the digits are others."""


class SignReader:
    """Finds the signs in paragraphs.

    Patterns of symptoms, each where one of its words is, and errors by their form.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        known = list(map(compiled, dict.fromkeys((REFUSAL, *patterns))))
        words = {*map(wording, (OURS, *MARKS)), *ERROR_WORDS}
        words.update(_word_of(pattern) for pattern in known)
        self._patterns: dict[bytes, list[SymptomPattern]] = {}
        for word in sorted(words):
            if not any(other in word for other in words if other != word):
                self._patterns[word] = []
        for pattern in known:
            word = next(word for word in self._patterns if word in pattern.stem)
            self._patterns[word].append(pattern)
        self._numbered = [pattern for pattern in known if re.search(r"\d", pattern.text)]

    def words_in(self, text: bytes) -> list[bytes]:
        """The words in a text without one of which it shows nothing."""
        squeezed = wording(text)
        return [word for word in self._patterns if word in squeezed]

    def read(self, text: bytes, words: Iterable[bytes]) -> Sequence[Sign]:
        """What a paragraph shows, in which these words can be."""
        squeezed = wording(text)
        signs: list[Sign | None] = []
        here = [word for word in words if word in squeezed]
        for word in here:
            for pattern in self._patterns[word]:
                if pattern.stem in squeezed:
                    signs.append(_sign_of(pattern, text))
        if here:
            signs += [_error_in(line, row) for row, line in enumerate(text.split(b"\n"))]
        return [sign for sign in signs if sign]

    def depends_on_digits(self, alike: bytes) -> bool:
        """Whether one paragraph of this shape may show what another does not."""
        if _NUMBERED.search(alike):
            return True
        squeezed = wording(alike)
        return any(pattern.stem in squeezed for pattern in self._numbered)


def _word_of(pattern: SymptomPattern) -> bytes:
    """A word of a pattern, or all of it."""
    for word in _COMMON:
        if word in pattern.stem:
            return word
    return pattern.stem
