"""A paragraph of a log -> the signs of errors in it: patterns of symptoms, and errors by their form, known or not. Pure.

Each sign has words without digits, one of which is in each text that has it; only where one stands is it looked for.
"""

from __future__ import annotations

import re
from typing import Iterable, Match, NamedTuple, Pattern, Sequence

from patcher.diagnosis.failures import MARKS, shown
from patcher.diagnosis.report import OURS, REFUSAL
from patcher.text.patterns import ESCAPE, ROLES, SymptomPattern, compiled, wording

KNOWN, EXCEPTION, LOGGED, EXIT = range(
    4
)  # what is a sign: a pattern; what is worth most of the others comes first
_PIECE, _OVERLAP = 8192, 1024  # bytes of a line in which an error is looked for at a time
_NEAR = 200  # bytes before and after an error in which a line may say that it is none


class Sign(NamedTuple):
    """A pattern of a symptom (KNOWN), or an error by its form (EXCEPTION, ...), from `begin` to `end` of the line `row`.

    `key` is the pattern, or what the error has in common with others that differ in numbers alone. `is_spoken` is whether the
    line only speaks of it.
    """

    kind: int
    key: str
    begin: int
    end: int
    is_spoken: bool
    row: int


# patterns of symptoms -------------------------------------------------------------------------------------------------
_COMMON = (  # of which one is in most patterns, the rarest first: where it is not, they need not be looked for
    b"signal socket rendezvous symbol attribute failed found timeout error device module torch available support only".split()
)


_WAITING = "Waiting in store based barrier to initialize process group"
_LISTENS = "The server socket has failed to listen on any local network address"
LAST_WORDS = (_WAITING, _LISTENS)  # errors only where a log ends in them: else the run has gone on
_JOINED = re.compile(
    rb"world_size=(?P<size>\d{1,7}), (?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})\b"
)


def last_words(line: bytes) -> str:
    """The one of LAST_WORDS that the last line of a log has; empty where it has none, or waits for nobody any more."""
    if _LISTENS.encode() in line:
        return _LISTENS
    joined = _JOINED.search(line) if _WAITING.encode() in line else None
    return _WAITING if joined and int(joined["joined"]) < int(joined["size"]) else ""


def _sign_of(pattern: SymptomPattern, text: bytes) -> Sign | None:
    """The sign of a pattern in a text."""
    at = pattern.place(text)
    if at < 0:
        return None
    begin = text.rfind(b"\n", 0, at) + 1
    near = max(begin, at - _NEAR)
    before = text[near:at]
    spoken = bool(_RAISED.search(before) or _TOLD.search(before))
    spoken = spoken or _is_spoken(text[near : at + _NEAR].partition(b"\n")[0])
    place = at - begin
    return Sign(KNOWN, pattern.text, place, place, spoken, text.count(b"\n", 0, at))


# errors by their form -------------------------------------------------------------------------------------------------
_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing|Resources)"
_EXCEPTION = (
    rb"(?:(?<![\w.\\])|"
    + ESCAPE
    + rb")(?<!except )(?<!raise )(?<!catch )(?:Exception|"
    + _NAME
    + rb")"
)
_LEVEL = (
    rb"\[(?:E|(?i:error))\]|\[E (?!socket\.)[\w./-]+\.(?:cpp|cc):\d+\]|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)|"
    rb"^[EF]\d{4,8} (?=\d\d:)|\[E\d{3,4} |\d: [EF] +\d+ "
)
_CODED = rb"(?i:exit(?:ed|s)?(?: with)?(?: return)?(?: ?(?:code|status))?)|code=\w+, status"
_DEVICE_ERROR = (
    rb"(?i:(?:" + ROLES["{device}"].encode() + rb") error)(?= *[:,(\d]| (?:at|in|code|on)\b| *$)"
)
_PERSON = rb"(?:I|[Ww]e)\b(?:'\w+)?(?: \w+){0,2} (?:ge?o?t|getting|me?et|fac(?:e|ing)|encounter\w*|hit|receiv\w+)"
_TELLS = (
    _PERSON
    + rb"|[Tt]here is an?|[Bb]elow|(?<!cause of the )[Ff]ollowing|raised|threw|reported|showed"
)
_WORDS = (  # without one of which no line has one of the forms
    b"error exception interrupt failed exit timeout mismatch missing fatal critical killed crash segfault sigsegv sigabrt "
    b"sigbus sigfpe sigill doublefree coredumped terminatecalled segmentationfault failswith frame#0 ,status _status_ )fail, "
    b"[e] .cpp:0 .cc:0 [e000 e000000:00: f000000:00: e0000000000:00: f0000000000:00: 0.000000:e 0.000000:f "
    b"ofresources cannotimportname nomodulenamed " + "报 出错".encode()
)
ERROR_WORDS = tuple(map(wording, _WORDS.split()))
FORMS = tuple(  # those that are worth most come first
    (kind, re.compile(b"|".join(expressions)))
    for kind, *expressions in (
        (  # what is raised
            EXCEPTION,
            _EXCEPTION + rb"\}?: ?(?=[^\s)]).*",
            rb"(?:^|(?<=[\])])|(?<=[\])] )|(?<=[\])]: ))[\[({]?" + _NAME + rb":? *$",
        ),
        (  # an abort
            EXCEPTION,
            rb"\b(?:[Ss]egmentation fault|SIGSEGV|segfault|double free|Check failed:|Fatal Python error).*",
            rb"terminate called .*|(?:[A-Z][a-z]+(?: \w+){0,3} \()?core dumped.*|^Killed$",
            _DEVICE_ERROR + rb".*|(?i:ccl function error ?:).*",
        ),
        (  # what a library returns, and a signal
            LOGGED,
            rb"\b(?:[A-Z0-9]+_)+ERROR_(?!HANDLING|LEVEL)[A-Z_]+.*|\bCU[A-Z]+_STATUS_(?!SUCCESS)[A-Z_]+.*",
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
            r"\bnon-zero exit status .*|(?:报[A-Za-z ]*错|出错).*|^\W*(?:cannot import name|No module named) ['\"].*".encode(),
            rb"\b(?:" + _TELLS + rb")\b[^.]{0,60}?\b(?i:error|exception)\b.*",
            rb"\b(?i:error) (?:is|was) (?:raised|thrown|reported|shown)\b.*",
            rb"\b[Ee]rror:? [\"`].*|\bframe #\d+: .*|\b(?:crash(?:es|ed) (?:with|during|at|when|on|in)|fails with)\b.*",
        ),
    )
)
_QUIET = re.compile(
    rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b ?(?:[\])|:-]|\d)|Warning:|(?:^|\[)[WID]\d{3,4} |\[[WID][ \]]"
)
_CODE = re.compile(
    rb"^\W*(?:raise|except|assert|return|if|else|def|class|import|from|with|for|while)\b"
)

# Lines that merely mention an error: the subject of a commit, a quoted line, a test's name, a retry, a link, an explanation.
_SUBJECT = re.compile(
    rb"^[\s>*#+-]*(?:[0-9a-f]{7,40} [A-Za-z]|(?:\[[^\]]*\]\s*)*(?:fix(?:e[sd]|ing)?|feat|chore|docs?|tests?|refactor|"
    rb"ci|revert|add(?:s|ed)?|support|handles?|report|updated?|this prevents)(?:\([^)]*\))?[: ])"
    rb"|^\+ {2,}|^\s*(?:[-*]|\xe2\x80\xa2) *[\"`\xe2].*[\"`\x9d]\.?$",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rb"\b(?:instead of|may fail with|for example|ignored|skipped|passed)\b|\]\(https?://|\bfall(?:s|ing|en)?[- ]back\b|"
    rb"\bcontains? `|\bretr(?:y|ied|ies|ying)\b(?! failed)|\[ *OK *\]|\betc\.( |$)|\b(?:if|when) (?:you|we) (see|encounter)\b",
    re.IGNORECASE,
)
EXAMPLE = re.compile(  # what stands before an example
    rb"(?:\b(?:common|typical)\b[^.:]{0,80}?\b(?:problem|error|issue)s?\b|\bnew\s{1,4}(?:error\s{1,4})?message\b|"
    rb"\bmessages?\s{1,4}similar\s{1,4}to\b|\b[Ff]ix(?:es|ed)\s{1,4}an?\b)(?:[^.]|\.\w){0,200}:\s*$",
    re.MULTILINE,
)
RETRIED = re.compile(rb"\b(?:retrying|will retry|retry in|falling back)\b", re.IGNORECASE)
_TOLD = re.compile(rb"CCL INFO |(?<!=)\b(?:INFO|DEBUG)\b ?[\])|:-]")  # of what a library tells
_RAISED = re.compile(
    rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$"
)  # before text in source code, which a traceback quotes


def _error_in(line: bytes, row: int) -> Sign | None:
    """The error that a line shows, whatever it is; None where there is none, or a logger calls it less than an error."""
    for kind, expression in FORMS:
        found = _search(expression, line)
        if not found:
            continue
        near = line[max(0, found.start() - _NEAR) : found.start() + _NEAR]
        before = line[max(0, found.start() - _NEAR) : found.start()]
        if _QUIET.search(before if kind == EXCEPTION else near):
            return None
        if kind > EXCEPTION and _CODE.match(near):
            return None
        return Sign(kind, numberless(shown(found[0])), *found.span(), _is_spoken(near), row)
    return None


def _search(expression: Pattern[bytes], line: bytes) -> Match[bytes] | None:
    """Where an expression is first found. A long line is read in pieces: the work grows with it, not with its square."""
    for begin in range(0, max(1, len(line)), _PIECE):
        found = expression.search(line, begin, begin + _PIECE + _OVERLAP)
        if found:
            return found
    return None


def numberless(error: str) -> str:
    """What errors have in common that differ in numbers alone."""
    return re.sub(r"\d+", "0", error)


def _is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    return bool(_SUBJECT.match(text) or _SPOKEN.search(text))


# devices --------------------------------------------------------------------------------------------------------------
_ON_DEVICE = re.compile(  # a device on a tensor or a parameter, as torch and our reports write it
    rb"device\(type=\\?['\"](?P<type>[a-z]\w+)\\?['\"], index=\d"
    rb"|\bdevice=\\?['\"]?(?P<repr>[a-z]\w+):\d{1,3}\b"
    rb"|[\[{,] ?\\?['\"](?P<counted>[a-z]\w+):\d{1,3}\\?['\"][:,}\]]"
    rb"|\b(?:devices?(?: type)?,?|(?:is|are|tensors?|parameters?|buffers?|model) on) (?P<said>[a-z]\w+):\d{1,3}\b(?!:)"
)
_NO_ACCELERATORS = (b"cpu", b"cuda", b"meta", b"gpu", b"rank", b"node", b"port", b"line")
_ABSENT = re.compile(  # a line that says what is not there
    rb"\bavailable\W{1,4}(?:False|No)\b|\b(?:not|un)[ -]?available\b|No module named|\bnot found\b|\bno such\b|"
    rb"\b(?:not|isn't|without|no)\b.{0,20}\b(?:installed|detected|supported|compiled)\b",
    re.IGNORECASE,
)
_SPEAKS_OF = re.compile(rb"\b(" + ROLES["{vendor}"].encode() + rb")\b", re.IGNORECASE)


def devices_in(text: bytes) -> set[str]:
    """The kinds of accelerators on which a text shows a tensor or a parameter, CUDA's apart.

    What merely names a kind is no evidence: `MUSA available: False` stands in every log of some programs.
    """
    kinds: set[str] = set()
    for found in _ON_DEVICE.finditer(text):
        kind = found[found.lastgroup or 0]
        line = text[text.rfind(b"\n", 0, found.start()) + 1 : found.end() + _NEAR].split(b"\n")[0]
        if kind not in _NO_ACCELERATORS and not _ABSENT.search(line[-4 * _NEAR :]):
            kinds.add(kind.decode())
    return kinds


def spoken_of(text: str) -> set[str]:
    """The kinds of accelerators whose names an error has: those whose tools are worth naming."""
    return {kind.decode().lower() for kind in _SPEAKS_OF.findall(text.encode())}


# paragraphs -----------------------------------------------------------------------------------------------------------
# what is something else where the digits are others
_NUMBERED = re.compile(rb"\b[TS]0{1,3}\b|\b000B\b|\bexit|\bstatus\b")


class SignReader:
    """Finds the signs in paragraphs: patterns of symptoms, each where one of its words is, and errors by their form."""

    def __init__(self, patterns: Sequence[str]) -> None:
        known = list(map(compiled, dict.fromkeys((REFUSAL, *patterns))))
        words = {*map(wording, (OURS, *MARKS)), *ERROR_WORDS}
        for pattern in known:
            words.add(next((word for word in _COMMON if word in pattern.stem), pattern.stem))
        shortest = [
            word for word in words if not any(other in word for other in words if other != word)
        ]
        self._patterns: dict[bytes, list[SymptomPattern]] = {word: [] for word in sorted(shortest)}
        for pattern in known:
            word = next(word for word in self._patterns if word in pattern.stem)
            self._patterns[word].append(pattern)
        self._numbered = [pattern for pattern in known if re.search(r"\d", pattern.text)]

    def words_in(self, text: bytes) -> list[bytes]:
        """The words in a text without one of which it shows nothing."""
        return list(filter(wording(text).__contains__, self._patterns))

    def read(self, text: bytes, words: Iterable[bytes]) -> Sequence[Sign]:
        """What a paragraph shows, in which these words can be."""
        squeezed = wording(text)
        here = list(filter(squeezed.__contains__, words))
        likely = [
            pattern for word in here for pattern in self._patterns[word] if pattern.stem in squeezed
        ]
        known = (_sign_of(pattern, text) for pattern in likely)
        errors = (
            _error_in(line, row) for row, line in enumerate(text.split(b"\n") if here else ())
        )
        return list(filter(None, (*known, *errors)))

    def depends_on_digits(self, alike: bytes) -> bool:
        """Whether one paragraph of this shape may show what another does not."""
        squeezed = wording(alike)
        return bool(_NUMBERED.search(alike)) or any(
            pattern.stem in squeezed for pattern in self._numbered
        )
