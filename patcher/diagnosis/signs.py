"""A paragraph of a log -> the signs of errors in it: patterns of symptoms, and errors by their form, known or not. Pure.

A pattern is text in which `*` is any text, and a role (`{device}`, `{collective}`, ...) one of its words; what stands between
words where text is wrapped or quoted (`patcher.diagnosis.words`) may be between any two letters of it. Each sign has words
without digits, one of which is in each text that has it; only where one stands is it looked for, the parts of a pattern one
after the other, in time that is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable, NamedTuple, Pattern, Sequence

from patcher.diagnosis.failures import MARKS, shown
from patcher.diagnosis.report import OURS, REFUSAL
from patcher.diagnosis.words import BETWEEN, wording
from patcher.message import Message

# what is a sign: a pattern; what is worth most of the others comes first
KNOWN, EXCEPTION, LOGGED, EXIT = range(4)
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
ROLES = {
    "{device}": "cuda|musa|gcu|npu|xpu|hpu|mlu|xla|rocm|hip|dipu",
    "{vendor}": "musa|gcu|npu|xpu|hpu|mlu|xla|dipu",  # a device that a vendor's package adds
    "{collective}": "nccl|hccl|mccl|eccl|cncl|xccl|rccl|oneccl|gloo|ucc",
}
_TOOLS = {  # that show the cards of a kind
    "cuda": "nvidia-smi",
    "npu": "npu-smi",
    "musa": "mthreads-gmi",
    "gcu": "efsmi",  # named where no kind is known
    "xpu": "xpu-smi",
    "hpu": "hl-smi",
    "mlu": "cnmon",
    "rocm": "rocm-smi",
}
_COMMON_TOOLS = 4
_ROLE = re.compile("(" + "|".join(map(re.escape, ROLES)) + ")")
_COMMON = (  # of which one is in most patterns, the rarest first: where it is not, they need not be looked for
    b"signal socket rendezvous symbol attribute failed found timeout error device module torch available support only".split()
)
# bytes: how far apart the parts of a pattern stand at most; how far on it is looked for once more
_REACH, _AGAIN = (
    4096,
    3072,
)
_GAP = b"[" + re.escape(BETWEEN) + b"]*"
_ESCAPE = rb"(?<=\\[nrt])|(?<=\\u[0-9a-f]{4})"  # what JSON writes for a line's end or a letter
_BEFORE_WORD = rb"(?:(?<![A-Za-z0-9_])|" + _ESCAPE + rb")"
_AFTER_WORD, _AFTER_NAME = rb"(?![A-Za-z0-9_])", rb"(?!\.\w)"


class SymptomPattern:
    """A pattern of a symptom. Its `stem` is the longest piece of it without digits, as `wording` has it."""

    def __init__(self, text: str) -> None:
        pieces = [
            wording(piece.encode())
            for part in text.split("*")
            for piece in _ROLE.split(part)
            if piece not in ROLES
        ]
        self.text, self.stem = text, max(b"0".join(pieces).split(b"0"), key=len)

    def place(self, text: bytes) -> int:
        """Where in a text it begins, as whole words; -1 where it is not."""
        first, *rest = _expressions(self.text)
        begin = first.search(text)
        while begin:
            at, stop = begin.start(), begin.start() + _REACH
            for (
                part
            ) in rest:  # the first place for each: a later one leaves less for those that follow
                found = part.search(text, at, stop)
                if not found:
                    break
                at = found.end()
            else:
                return begin.start()
            begin = first.search(text, max(begin.end(), begin.start() + _AGAIN))
        return -1

    def sign_in(self, text: bytes) -> Sign | None:
        """The sign of it in a text."""
        at = self.place(text)
        if at < 0:
            return None
        begin = text.rfind(b"\n", 0, at) + 1
        near = max(begin, at - _NEAR)
        before = text[near:at]
        spoken = bool(_RAISED.search(before) or _TOLD.search(before))
        spoken = spoken or _is_spoken(text[near : at + _NEAR].partition(b"\n")[0])
        return Sign(KNOWN, self.text, at - begin, at - begin, spoken, text.count(b"\n", 0, at))


# a log has its own reader, and the patterns are the same
_compiled = lru_cache(maxsize=None)(SymptomPattern)


@lru_cache(maxsize=None)
def _expressions(pattern: str) -> tuple[Pattern[bytes], ...]:
    """The parts of a pattern, with a gap between any two letters; the beginning and the end of a single one."""
    parts = [_GAP.join(_letters(part)) for part in pattern.split("*") if part]
    parts = parts * 2 if len(parts) == 1 else parts
    parts[0] = (_BEFORE_WORD if pattern[0].isalnum() or pattern[0] == "{" else b"") + parts[0]
    parts[-1] += (
        _AFTER_WORD
        if pattern[-1].isalnum()
        else _AFTER_NAME
        if pattern.endswith(tuple(ROLES))
        else b""
    )
    return tuple(re.compile(part, re.IGNORECASE) for part in parts)


def _letters(part: str) -> Iterable[bytes]:
    for piece in _ROLE.split(part):
        if piece in ROLES:
            yield f"(?:{ROLES[piece]})".encode()
        else:
            yield from (re.escape(bytes([byte])) for byte in piece.encode() if byte not in BETWEEN)


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text has a pattern."""
    compiled, data = _compiled(pattern), text.encode("utf-8", "replace")
    return compiled.stem in wording(data) and compiled.place(data) >= 0


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice in which `{smi}` is the tools of these kinds of cards, of common ones where none is known."""
    names = [_TOOLS[kind] for kind in kinds if kind in _TOOLS] or [
        *list(_TOOLS.values())[:_COMMON_TOOLS],
        "...",
    ]
    return advice.replace("{smi}", ", ".join(names))


# errors by their form -------------------------------------------------------------------------------------------------
_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing|Resources)"
_EXCEPTION = (
    rb"(?:(?<![\w.\\])|"
    + _ESCAPE
    + rb")(?<!except )(?<!raise )(?<!catch )(?:Exception|"
    + _NAME
    + rb")"
)
_LEVEL = rb"\[(?:E|(?i:error))\]|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)|^[EF]\d{4,8} (?=\d\d:)|\[E\d{3,4} |\d: [EF] +\d+ "
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
    b"[e] [e000 e000000:00: f000000:00: e0000000000:00: f0000000000:00: 0.000000:e 0.000000:f "
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
            rb"terminate called .*|(?:[A-Z][a-z]+(?: \w+)* \()?core dumped.*|^Killed$",
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
    rb"(?:\b(?:common|typical)\b[^.:]*\b(?:problem|error|issue)s?\b|\bnew\s+(?:error\s+)?message\b|\bmessages?\s+similar\s+to\b|"
    rb"\b[Ff]ix(?:es|ed)\s+an?\b)(?:[^.]|\.\w)*:\s*$",
    re.MULTILINE,
)
RETRIED = re.compile(rb"\b(?:retrying|will retry|retry in|falling back)\b", re.IGNORECASE)
_TOLD = re.compile(rb"CCL INFO |(?<!=)\b(?:INFO|DEBUG)\b ?[\])|:-]")  # of what a library tells
# before text in source code, which a traceback quotes
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")
ABOUT = (  # what an error is about by its words, the surest first
    (Message("the memory of a device or of the machine"), r"out of memory|\boom\b|memory|alloc"),
    (
        Message("communication between ranks"),
        r"[nhmecxr]ccl|gloo|socket|connect|rank|rendezvous|time[d-]* ?out|\bport\b|broken pipe",
    ),
    (
        Message("the device"),
        r"cuda|\bnpu|musa|\bgcu|\bxpu|\bhpu|\bmlu|\bhip\b|device|kernel|driver|stream",
    ),
    (
        Message("what is imported or installed"),
        r"import|module|undefined symbol|\.so\b|no attribute '_|version|package",
    ),
    (Message("a file"), r"\bfile|director|permission|no space|disk|path"),
    (
        Message("data or the model"),
        r"shape|size|index|key|dtype|type|value|tensor|label|weight|state_dict",
    ),
)


def _error_in(line: bytes, row: int) -> Sign | None:
    """The error that a line shows, whatever it is; None where there is none, or a logger calls it less than an error."""
    for kind, expression in FORMS:
        found = expression.search(line)
        if found:
            begin = max(0, found.start() - _NEAR)
            near = line[begin : found.start() + _NEAR]
            before = line[begin : found.start()] if kind == EXCEPTION else near
            quiet = _QUIET.search(before) or (kind > EXCEPTION and _CODE.match(near))
            return (
                None
                if quiet
                else Sign(kind, numberless(shown(found[0])), *found.span(), _is_spoken(near), row)
            )
    return None


def numberless(error: str) -> str:
    """What errors have in common that differ in numbers alone."""
    return re.sub(r"\d+", "0", error)


def _is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    return bool(_SUBJECT.match(text) or _SPOKEN.search(text))


# devices --------------------------------------------------------------------------------------------------------------
_DEVICE = re.compile(  # what a text says of the card that it is from
    rb"torch[_-](npu|gcu|musa|mlu|xla)\b|\b(npu|gcu|musa|mlu|xpu|hpu|xla):\d|type='(npu|gcu|musa|mlu|xpu|hpu|xla)'|"
    rb"\b(NPU|GCU|MUSA|MLU|XPU|HPU)\b"
)
_CARDS = (
    (re.compile(rb"\b(?:Enflame|T20|S60)\b|" + "燧原".encode()), "gcu"),
    (re.compile(rb"\bAscend\b|\b910B|" + "昇腾".encode()), "npu"),
    (re.compile(rb"\bMTT S\d|" + "摩尔线程".encode()), "musa"),
    (re.compile(rb"\bGaudi"), "hpu"),
)


def devices_in(text: bytes) -> set[str]:
    """The kinds of accelerators that a text speaks of."""
    named = {kind.lower().decode() for kinds in _DEVICE.findall(text) for kind in kinds if kind}
    return named.union(kind for card, kind in _CARDS if card.search(text))


# paragraphs -----------------------------------------------------------------------------------------------------------
# what is something else where the digits are others
_NUMBERED = re.compile(rb"\b[TS]0{1,3}\b|\b000B\b|\bexit|\bstatus\b")


class SignReader:
    """Finds the signs in paragraphs: patterns of symptoms, each where one of its words is, and errors by their form."""

    def __init__(self, patterns: Sequence[str]) -> None:
        compiled = list(map(_compiled, dict.fromkeys((REFUSAL, *patterns))))
        common = (
            next((word for word in _COMMON if word in pattern.stem), pattern.stem)
            for pattern in compiled
        )
        words = {*common, *map(wording, (OURS, *MARKS)), *ERROR_WORDS}
        shortest = sorted(
            word for word in words if not any(other in word for other in words if other != word)
        )
        self._patterns: dict[bytes, list[SymptomPattern]] = {word: [] for word in shortest}
        for pattern in compiled:
            self._patterns[next(word for word in shortest if word in pattern.stem)].append(pattern)
        self._numbered = [pattern for pattern in compiled if re.search(r"\d", pattern.text)]

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
        known = (pattern.sign_in(text) for pattern in likely)
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
