"""Known results: the result of hunks on one text, stored so that they need not be matched again. Pure: bytes in, bytes out.

A table is JSON. The key of a result is a hash of the text and of the request; each inserted text is stored once:

    {"format": 1, "texts": [TEXT, ...], "results": {KEY: {"hunks": [[STATE, LINES], ...],
                                                          "splices": [[START, END, INDEX OF TEXT, INDEX OF HUNK], ...],
                                                          "seal": SHA256}}}

The seal is a hash of the key, the answers, the splices and the resulting bytes, so that a damaged result is not used.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.model import HunkAnswer, HunkText, OptionValue, Rewrite, Splice, State
from patcher.splice import apply_splices

KNOWN_FORMAT = 1
"""The version of the tables and of the engine: raised when the same hunks give another result for the same text."""


class Request(NamedTuple):
    """What to apply to a text: all hunks of one patchset for that file.

    `patchset` is its name, `every` are all its hunks, also those for other files, which have to be valid too. `names` exist
    at run time without being bound in the file.
    """

    patchset: str
    hunks: Tuple[HunkText, ...]
    options: Mapping[str, OptionValue]
    names: Tuple[str, ...]
    every: Tuple[HunkText, ...]


def key_of(data: bytes, request: Request, maker: Sequence[str] = ()) -> str:
    """The key of a result: two sha256 (hex), of the request and of the text.

    The position of a hunk in its .spatch, and the prose around it, are not part of it.

    Args:
        data: the text.
        request: what to apply.
        maker: what else the result may depend on.
    """
    hunks = [[_written(hunk) for hunk in hunks] for hunks in (request.hunks, request.every)]
    identity = json.dumps([KNOWN_FORMAT, hunks, sorted(request.options.items()), request.names, maker])
    return f"{sha256(identity.encode()).hexdigest()} {sha256(data).hexdigest()}"


def _written(hunk: HunkText) -> Tuple[object, ...]:
    lines = [(tag, text) for tag, text, _ in hunk.lines]
    guard = [] if hunk.inside is None else [hunk.inside]
    others = [_written(form) for form in hunk.others]
    return (hunk.scope, hunk.expected, hunk.when_present, lines, *["in-string"] * hunk.in_string, *guard, *others)


def is_cacheable(made: Rewrite) -> bool:
    """Whether a result can be stored: no hunk failed, and each splice belongs to one hunk."""
    failed = any(answer.state.failed or answer.problem or answer.hint for answer in made.answers)
    return not failed and [splice for splice, _ in _owned(made)] == list(made.splices)


def _owned(made: Rewrite) -> List[Tuple[Splice, int]]:
    """The splices in the order of the text, each with the index of its hunk."""
    owned = [(splice, index) for index, answer in enumerate(made.answers) for splice in answer.splices]
    return sorted(owned, key=lambda each: each[0][:2])


def write_table(results: Mapping[str, Rewrite]) -> bytes:
    """The table of results by key, without those that are not `is_cacheable`."""
    texts: Dict[str, int] = {}
    rows = []
    for key, made in sorted(results.items()):
        if is_cacheable(made):
            owned = _owned(made)
            hunks = [[answer.state.value, answer.places] for answer in made.answers]
            splices = [[*splice[:2], texts.setdefault(_text(splice), len(texts)), index] for splice, index in owned]
            row = json.dumps({"hunks": hunks, "splices": splices, "seal": _seal(key, made)})
            rows.append(f"{json.dumps(key)}: {row}")
    head = f'{{"format": {KNOWN_FORMAT}, "texts": ['
    return "\n".join([head, ",\n".join(map(json.dumps, texts)), '], "results": {', ",\n".join(rows), "}}\n"]).encode()


class KnownTable:
    """A table as read from its JSON; a damaged one has no results.

    Fields are not checked one by one (`patcher.system.decode`): a result counts only if its seal is right, and a table has
    hundreds of which one is looked up.
    """

    def __init__(self, data: bytes) -> None:
        try:
            top: Any = json.loads(data.decode("ascii"))
        except (ValueError, RecursionError):
            top = {}
        self._top: Dict[str, Any] = top if isinstance(top, dict) and top.get("format") == KNOWN_FORMAT else {}

    def find(self, key: str, data: bytes, request: Request) -> Optional[Rewrite]:
        """The result with this key (of `key_of`), None where there is none or its seal is wrong."""
        try:
            made = self._made(self._top["results"][key], data, request)
            return made if self._top["results"][key]["seal"] == _seal(key, made) else None
        except (LookupError, TypeError, ValueError, AttributeError):
            return None

    def _made(self, row: Mapping[str, Any], data: bytes, request: Request) -> Rewrite:
        splices = [Splice(start, end, self._top["texts"][text].encode("latin-1")) for start, end, text, _ in row["splices"]]
        owners = [index for *_, index in row["splices"]]
        answers = [
            HunkAnswer(hunk, State(state), tuple(places), tuple(own for own, at in zip(splices, owners) if at == index))
            for index, (hunk, (state, places)) in enumerate(zip(request.hunks, row["hunks"]))
        ]
        return Rewrite(apply_splices(data, splices), tuple(splices), tuple(answers))


def _text(splice: Splice) -> str:
    return splice.new.decode("latin-1")  # one character a byte: exact, and a user can read it


def _seal(key: str, made: Rewrite) -> str:
    hunks = [[answer.state.value, answer.places, [splice[:2] for splice in answer.splices]] for answer in made.answers]
    splices = [[*splice[:2], _text(splice)] for splice in made.splices]
    return sha256(json.dumps([key, sha256(made.data).hexdigest(), hunks, splices]).encode()).hexdigest()
