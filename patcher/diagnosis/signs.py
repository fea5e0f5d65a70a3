"""A paragraph of a log -> the signs of errors in it: patterns of symptoms, and errors by their form, known or not. Pure.

A pattern is text in which `*` is any text, `{device}` any kind of device, `{collective}` any collective library. Texts are
compared squeezed (`patcher.diagnosis.words`), however they were wrapped or quoted. Each sign has words without digits, one of
which is in each text that has it; only where one stands is it looked for, and the parts of a pattern one after the other, in
time that is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, Iterable, List, NamedTuple, Optional, Pattern, Sequence, Set, Tuple, Union

from patcher.diagnosis.failures import MARKS, shown
from patcher.diagnosis.lines import begins
from patcher.diagnosis.report import OURS, REFUSAL
from patcher.diagnosis.words import BETWEEN, shape, squeezed, wording
from patcher.message import Message

KNOWN, EXCEPTION, LOGGED, EXIT = range(4)  # what is a sign: a pattern; what is worth most of the others comes first
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
_ROLE = re.compile("|".join(map(re.escape, ROLES)))
_COMMON = (  # of which one is in most patterns, the rarest first: where it is not, they need not be looked for
    b"signal socket rendezvous symbol attribute failed found timeout error device module torch available support only".split()
)
_REACH = 4096  # bytes in which the parts of a pattern follow each other
_BACK = 1024  # bytes before its longest literal part in which it begins
_GAP = b"[" + re.escape(BETWEEN) + b"]*"
_BEFORE_WORD, _AFTER_WORD, _AFTER_NAME = rb"(?<![A-Za-z0-9_])", rb"(?![A-Za-z0-9_])", rb"(?!\.\w)"
_DIGITS = re.compile(rb"\d+")


class Compiled(NamedTuple):
    """A pattern, squeezed: its longest literal piece, and its parts; those with roles are regular expressions.

    `stem` is the longest piece of the mark without digits; with `has_digits` other digits make another pattern of it.
    """

    text: str
    mark: bytes
    stem: bytes
    parts: Tuple[Union[bytes, Pattern[bytes]], ...]
    has_digits: bool

    def is_in(self, text: bytes) -> bool:
        """Whether a squeezed text has it."""
        at = text.find(self.mark)
        while at >= 0:
            place, stop = max(0, at - _BACK), at + _REACH
            for part in self.parts:  # the first place for each: a later one leaves less for those that follow
                place = _end(part, text, place, stop)
                if place < 0:
                    break
            else:
                return True
            at = text.find(self.mark, stop - _BACK)
        return False

    def place(self, text: bytes) -> int:
        """Where in a text that has it, as it stands, it begins as whole words; -1 if it does not."""
        first, last = _ends(self.text)
        begin = first.search(text)
        return begin.start() if begin and last.search(text, begin.start()) else -1

    def sign_in(self, text: bytes) -> Optional[Sign]:
        """The sign in a text that has it, as it stands."""
        at = self.place(text)
        if at < 0:
            return None
        begin = text.rfind(b"\n", 0, at) + 1
        near = max(begin, at - _NEAR)
        before = text[near:at]
        spoken = bool(_RAISED.search(before) or _TOLD.search(before))
        spoken = spoken or _is_spoken(text[near : at + _NEAR].partition(b"\n")[0])
        return Sign(KNOWN, self.text, at - begin, at - begin, spoken, text.count(b"\n", 0, at))


def _end(part: Union[bytes, Pattern[bytes]], text: bytes, place: int, stop: int) -> int:
    if isinstance(part, bytes):
        at = text.find(part, place, stop)
        return at + len(part) if at >= 0 else -1
    found = part.search(text, place, stop)
    return found.end() if found else -1


@lru_cache(maxsize=None)  # a log has its own reader, and the patterns are the same
def compile_pattern(pattern: str) -> Compiled:
    """A pattern as it is looked for."""
    parts = [part for part in pattern.split("*") if part]
    literals = [squeezed(piece.encode()) for part in parts for piece in _ROLE.split(part)]
    tight = tuple(re.compile(_expression(part)) if _ROLE.search(part) else squeezed(part.encode()) for part in parts)
    mark = max(literals, key=len)
    return Compiled(pattern, mark, max(_DIGITS.split(mark), key=len), tight, bool(_DIGITS.search(pattern.encode())))


@lru_cache(maxsize=None)
def _ends(pattern: str) -> Tuple[Pattern[bytes], Pattern[bytes]]:
    """How the beginning and the end of a pattern read in a text as it stands."""
    first, *_, last = [part for part in pattern.split("*") if part] * 2
    begin = (_BEFORE_WORD if first[0].isalnum() or first[0] == "{" else b"") + _expression(first, _GAP)
    after = _AFTER_WORD if last[-1].isalnum() else _AFTER_NAME if last.endswith(tuple(ROLES)) else b""
    end = _expression(last, _GAP) + after
    return re.compile(begin, re.IGNORECASE), re.compile(end, re.IGNORECASE)


def _expression(part: str, gap: bytes = b"") -> bytes:
    """A part of a pattern as a regular expression, with `gap` between any two letters."""
    pieces = [[re.escape(bytes([byte])) for byte in squeezed(piece.encode())] for piece in _ROLE.split(part)]
    roles = [[f"(?:{ROLES[role]})".encode()] for role in _ROLE.findall(part)]
    return gap.join(letter for piece, role in zip(pieces, [*roles, []]) for letter in (*piece, *role))


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text has a pattern."""
    compiled, data = compile_pattern(pattern), text.encode("utf-8", "replace")
    return compiled.is_in(squeezed(data)) and compiled.place(data) >= 0


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice in which `{smi}` is the tools of these kinds of cards, of common ones where none is known."""
    names = [_TOOLS[kind] for kind in kinds if kind in _TOOLS] or [*list(_TOOLS.values())[:_COMMON_TOOLS], "..."]
    return advice.replace("{smi}", ", ".join(names))


# errors by their form -------------------------------------------------------------------------------------------------
class ErrorForm:
    """A form of errors: a regular expression, and words with `/` between them, one of which is in each line that has it."""

    def __init__(self, kind: int, words: bytes, expression: bytes) -> None:
        self.kind, self.expression = kind, re.compile(expression)
        self.words = tuple(map(wording, words.split(b"/")))


_SUFFIX = b"(?:Error|Exception|Interrupt|Failed|Exit|Timeout|Mismatch|Missing)"
_NAME = rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*" + _SUFFIX
_ENDED_NAME = re.compile(  # what is in each line that an exception is in, and is looked for in less time
    _SUFFIX + rb"(?:\}?(?:: ?[^\s)]| ['\"(]?No module named)|[\])}]?(?: *$|module ))"
)
_RAISED_NAME = ErrorForm(
    EXCEPTION,
    b"error/exception/interrupt/failed/exit/timeout/mismatch/missing",
    rb"(?<![\w.])(?<!except )(?<!raise )(?<!catch )(?:Exception|" + _NAME + rb")\}?"
    rb"(?:: ?(?=[^\s)])|(?= ['\"(]?No module named)).*"
    rb"|^[\[({]?" + _NAME + rb"[\])}]?(?: *$|module ).*",
)
FORMS = (  # those that are worth most come first
    _RAISED_NAME,
    ErrorForm(  # an abort
        EXCEPTION,
        b"terminate called/segmentation fault/sigsegv/segfault/aborted (/core dumped/bus error/illegal instruction/"
        b"floating point exception/double free/stack smashing/fatal python error/check failed:/fatal error/nvrm: xid/:(error)/"
        b"killed/cuda error/hip error/musa error/npu error/xpu error/gcu error/mlu error/ur error/ccl function error/"
        b"undefined symbol:",
        rb"(?:terminate called |\b(?:[Ss]egmentation fault|SIGSEGV|segfault|Aborted \(|core dumped|Bus error|"
        rb"Illegal instruction|Floating point exception|double free|stack smashing|Fatal Python error|"
        rb"Check failed:|FATAL ERROR|NVRM: Xid)|"
        rb"(?<=\] )[A-Z]+:\(Error\)|^Killed$|\bundefined symbol: |"
        rb"(?i:(?:cuda|hip|musa|npu|xpu|gcu|mlu|\bur) error\b|ccl function error ?:)).*",
    ),
    ErrorForm(
        LOGGED,
        b"error/critical/fatal/[e]/[e000/e000000:00:/f000000:00:/e0000000000:00:/f0000000000:00:",
        rb"(?:\[E(?:RROR)?\]|\b(?:ERROR|CRITICAL|FATAL)\b(?!=)|CCL_ERROR\||^[EF]\d{4,8} (?=\d\d:)|\[E\d{3,4} )"
        rb"[\])|: -]*(?=\S).*",
    ),
    ErrorForm(
        EXIT,
        b"exit/,status/returned status/" + "报错/出错".encode(),
        rb"(?:\b(?:(?i:exit(?:ed|s)?(?: with)?(?: return)?(?: (?:code|status))?)|exitcode|code=\w+, status|returned status)"
        rb"\s*[:=]?\s*-?[1-9]\d*\b|"
        + r"\bnon-zero exit status ).*|(?:报错|出错).*".encode(),
    ),
)
_FORM_WORDS = sorted({word for form in FORMS for word in form.words})
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
    rb"\bignor(?:ed|ing)\b|\bcontains? `|\bskipp(?:ed|ing)\b|"
    rb"\]\(https?://|\bP(?:ASSED|assed)\b|\[ *OK *\]|\.{3} ok$|^[+-] {2,}|" + "重试|忽略|应当为|如果遇到".encode(),
    re.IGNORECASE,
)
_RETRIED = re.compile(
    rb"\b(?:retrying|will retry|retry in|attempt \d+ ?(?:/|of) ?\d+|falling back|fell back)\b", re.IGNORECASE
)
_TOLD = re.compile(rb"CCL INFO |(?<!=)\b(?:INFO|DEBUG)\b ?[\])|:-]")  # of what a library tells
_RAISED = re.compile(rb"\braise [\w.]+\(\s*[fbru]{0,2}[\"']$")  # before text in source code, which a traceback quotes
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


def _error_in(line: bytes, row: int) -> Optional[Sign]:
    """The error that a line shows, whatever it is; None where there is none, or a logger calls it less than an error."""
    text = wording(line)
    for form in FORMS:
        if not any(map(text.__contains__, form.words)) or (form is _RAISED_NAME and not _ENDED_NAME.search(line)):
            continue
        found = form.expression.search(line)
        if found:
            begin = max(0, found.start() - _NEAR)
            near = line[begin : found.start() + _NEAR]
            before = line[begin : found.start()] if form.kind == EXCEPTION else near
            quiet = _QUIET.search(before) or (form.kind > EXCEPTION and _CODE.match(near))
            return None if quiet else Sign(form.kind, numberless(shown(found[0])), *found.span(), _is_spoken(near), row)
    return None


def numberless(error: str) -> str:
    """What errors have in common that differ in numbers alone."""
    return re.sub(r"\d+", "0", error)


def _is_spoken(text: bytes) -> bool:
    """Whether the text around an error, from the beginning of its line on, only speaks of it."""
    return bool(_SUBJECT.match(text) or _SPOKEN.search(text))


def was_retried(line: bytes) -> bool:
    """Whether a line says that the error before it was not the end."""
    return bool(_RETRIED.search(line))


def about(error: str) -> str:
    """What an error is about as far as its words say, "" where they do not."""
    return next((subject for subject, words in _ABOUT if re.search(words, error, re.IGNORECASE)), "")


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


def devices_in(text: bytes) -> Set[str]:
    """The kinds of accelerators that a text speaks of."""
    named = {kind.lower().decode() for kinds in _DEVICE.findall(text) for kind in kinds if kind}
    return named.union(kind for card, kind in _CARDS if card.search(text))


# paragraphs -----------------------------------------------------------------------------------------------------------
_NUMBERED = re.compile(rb"\b[TS]0{1,3}\b|\b000B\b|\bexit|\bstatus\b")  # what is looked at again where the digits are others
_SHAPES, _LONGEST = 4096, 600  # how many shapes are kept, and of how many bytes at most


class SignReader:
    """Reads paragraphs; what they show is worked out once for all that differ in digits alone, as far as those say nothing.

    `settled` is what lines show, by their shape, that are a paragraph by themselves, where that is nothing but to be counted
    once more.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = list(map(compile_pattern, dict.fromkeys((REFUSAL, *patterns))))
        common = (next((word for word in _COMMON if word in pattern.stem), pattern.stem) for pattern in self._patterns)
        words = {*common, *map(wording, (OURS, *MARKS)), *_FORM_WORDS}
        shortest = sorted(word for word in words if not any(other in word for other in words if other != word))
        self._by_word: Dict[bytes, List[Compiled]] = {word: [] for word in shortest}
        for pattern in self._patterns:
            self._by_word[next(word for word in shortest if word in pattern.stem)].append(pattern)
        self._likely, self._form_words = self._patterns, _FORM_WORDS
        self.settled: Dict[bytes, Tuple[Sign, ...]] = {}
        self._known: Dict[bytes, Tuple[Sign, ...]] = {}

    def look_in(self, text: Optional[bytes]) -> bool:
        """Look from now on for what is in this text alone, as `wording` has it, for everything where it is None.

        Returns:
            whether there is anything.
        """
        if text is None:
            self._likely, self._form_words = self._patterns, _FORM_WORDS
            return True
        words = list(filter(text.__contains__, self._by_word))
        self._likely = [pattern for word in words for pattern in self._by_word[word] if pattern.stem in text]
        self._form_words = list(filter(text.__contains__, _FORM_WORDS if words else ()))
        return bool(words)

    def read(self, text: bytes) -> Tuple[Sign, ...]:
        """What a paragraph shows of what is looked for."""
        alike = shape(text)
        signs = self._known.get(alike)
        if signs is None:
            words = wording(alike)
            likely = [pattern for pattern in self._likely if pattern.stem in words]
            has_form = any(map(words.__contains__, self._form_words))
            signs = self._look(text, likely, text.split(b"\n") if has_form else ()) if likely or has_form else ()
            if not any(pattern.has_digits for pattern in likely) and not _NUMBERED.search(alike):
                _keep(self._known, alike, signs)
                if b"\n" not in text and begins(text) and _is_settled(text, signs):
                    self.settle(alike, signs)
        return signs

    def settle(self, alike: bytes, signs: Tuple[Sign, ...] = ()) -> None:
        """Keep what lines of a shape show, by themselves."""
        _keep(self.settled, alike, signs)

    def _look(self, text: bytes, likely: Sequence[Compiled], lines: Sequence[bytes]) -> Tuple[Sign, ...]:
        """The patterns that a text has, and the errors in lines of it by their form."""
        tight = squeezed(text) if likely else b""
        known = (pattern.sign_in(text) for pattern in likely if pattern.is_in(tight))
        errors = (_error_in(line, row) for row, line in enumerate(lines))
        return tuple(filter(None, (*known, *errors)))


def _keep(shapes: Dict[bytes, Tuple[Sign, ...]], alike: bytes, signs: Tuple[Sign, ...]) -> None:
    if len(alike) <= _LONGEST:
        if len(shapes) >= _SHAPES:
            shapes.clear()
        shapes[alike] = signs


def _is_settled(line: bytes, signs: Sequence[Sign]) -> bool:
    """Whether what a line shows is nothing but to be counted once more where it is seen again."""
    more = was_retried(line) or any(mark in line for mark in (OURS, *MARKS))
    return not (more or any(sign.is_spoken for sign in signs))
