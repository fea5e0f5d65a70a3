"""Known results of hunks, so that they need not be matched again: `known.json` of a patchset.

Only the built-in patchsets ship one. A table is JSON. The key of a result is a hash of the text and
of the request; each inserted text is stored once:

    {
        "format": 1,
        "texts": [TEXT, ...],
        "results": {
            KEY: {
                "hunks": [[STATE, LINES], ...],
                "splices": [[START, END, INDEX OF TEXT, INDEX OF HUNK], ...],
                "seal": SHA256
            }
        }
    }

The seal is a hash of the key, the answers, the splices and the resulting bytes, so that a damaged
result is not used.
"""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Callable, Mapping, Sequence

from patcher.engine.engine import check_hunks, rewrite
from patcher.model import (
    HunkAnswer,
    HunkText,
    OptionValue,
    Patchset,
    Requested,
    Rewrite,
    Splice,
    State,
    Variant,
    apply_splices,
)
from patcher.patchset.layers import rewrite_layers
from patcher.patchset.places import builtin_table
from patcher.record import Record

KNOWN_FORMAT = 1
"""The version of the tables and of the engine.

It is raised when the same hunks give another result for the same text.
"""


# requests -------------------------------------------------------------------------------------
class Request(Record):
    """What to apply to a text: all hunks of one patchset for that file.

    Attributes:
        patchset: its name.
        hunks: those for the file.
        options: the values of its options.
        names: exist at run time without being bound in the file.
        every: all hunks of the patchset, also those for other files, which have to be valid, too.
    """

    patchset: str
    hunks: tuple[HunkText, ...]
    options: Mapping[str, OptionValue]
    names: tuple[str, ...]
    every: EveryHunk


class _Computed(Record):
    """What was asked of the engine (a text, options, names), and what it made."""

    question: tuple[bytes, Mapping[str, OptionValue], tuple[str, ...]]
    result: Rewrite


class EveryHunk:
    """All hunks of a patchset or of one .spatch, and what is asked of them for each file.

    A patchset of a thousand files asks a thousand times, so each answer is kept.
    """

    def __init__(self, hunks: Sequence[HunkText]) -> None:
        self._hunks = tuple(hunks)
        self._checked: list[Mapping[str, OptionValue]] = []
        self.last_computed: dict[tuple[HunkText, ...], _Computed] = {}

    @classmethod
    def of_variants(cls, variants: Sequence[Variant]) -> EveryHunk:
        """The hunks of all variants of a patchset."""
        hunks: list[HunkText] = []
        for variant in variants:
            for patch in variant.patches:
                hunks += patch.hunks
        return cls(hunks)

    def of_spatch(self, origin: str) -> EveryHunk:
        """The hunks of one .spatch, each once: several variants may have the same."""
        return self._by_spatch[origin]

    @cached_property
    def _by_spatch(self) -> dict[str, EveryHunk]:
        by_spatch: dict[str, dict[HunkText, None]] = {}
        for hunk in self._hunks:
            by_spatch.setdefault(hunk.origin, {})[hunk] = None
        return {origin: EveryHunk(list(hunks)) for origin, hunks in by_spatch.items()}

    @cached_property
    def identity(self) -> str:
        """What they say, as JSON."""
        return _as_json(self._hunks)

    def check(self, options: Mapping[str, OptionValue]) -> None:
        """Check them by themselves, once for each choice of options.

        Raises:
            PatchError: a hunk is wrong in itself.
        """
        if options not in self._checked:
            check_hunks(self._hunks, options)
            self._checked.append(dict(options))


class _LastAsked(Record):
    """A patchset, and its hunks."""

    patchset: Patchset
    every: EveryHunk


_LAST_ASKED: dict[str, _LastAsked] = {}
"""The patchset of each name that was last asked for."""


def request_of(
    requested: Requested, hunks: tuple[HunkText, ...], names: tuple[str, ...]
) -> Request:
    """The request to apply a patchset's hunks for one file.

    Args:
        requested: the patchset.
        hunks: its hunks for the file.
        names: those of the variant that they belong to.
    """
    patchset = requested.patchset
    last = _LAST_ASKED.get(patchset.name)
    if last is None or last.patchset is not patchset:
        last = _LastAsked(patchset, EveryHunk.of_variants(patchset.variants))
        _LAST_ASKED[patchset.name] = last
    return Request(
        patchset.name,
        hunks,
        options=requested.options,
        names=names,
        every=last.every,
    )


# results --------------------------------------------------------------------------------------
def rewrite_with_known(data: bytes, request: Request) -> Rewrite:
    """Apply all hunks of a patchset for one file, or none of them.

    A result that ships with a built-in patchset is taken from there; any other the engine works
    out.

    Args:
        data: the file's bytes.
        request: what to apply.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    return _in_layers(data, request, _known_or_computed)


def rewrite_by_engine(data: bytes, request: Request) -> Rewrite:
    """As `rewrite_with_known`, but always by the engine."""
    return _in_layers(data, request, _computed)


def _in_layers(data: bytes, request: Request, make: Callable[[bytes, Request], Rewrite]) -> Rewrite:
    """The result layer by layer.

    That of a layer depends on its own .spatch alone, so that it is known when others change.
    """

    def of_layer(source: bytes, hunks: tuple[HunkText, ...]) -> Rewrite:
        every = request.every.of_spatch(hunks[0].origin)
        return make(source, request._replace(hunks=hunks, every=every))

    return rewrite_layers(data, request.hunks, of_layer)


def _known_or_computed(data: bytes, request: Request) -> Rewrite:
    return shipped_result(data, request) or rewrite_by_engine(data, request)


def _computed(data: bytes, request: Request) -> Rewrite:
    """What the engine makes; a command asks the same again when it has locked what it changes."""
    question = (data, dict(request.options), request.names)
    last = request.every.last_computed.get(request.hunks)
    if last is not None and last.question == question:
        return last.result
    request.every.check(request.options)  # also those for absent files
    result = rewrite(data, request.hunks, request.options, request.names)
    request.every.last_computed[request.hunks] = _Computed(question, result)
    return result


def shipped_result(data: bytes, request: Request) -> Rewrite | None:
    """The result that ships with the built-in patchset of that name.

    Returns:
        None where it is another request, or another text.
    """
    return _shipped(request.patchset).find(key_of(data, request), data, request)


@lru_cache(maxsize=None)
def _shipped(name: str) -> KnownTable:
    """The known results of the built-in patchset of this name.

    Those of other sources are not trusted.
    """
    return KnownTable(builtin_table(name))


# keys -----------------------------------------------------------------------------------------
def key_of(data: bytes, request: Request) -> str:
    """The key of a result: two sha256 (hex), of the request and of the text.

    The position of a hunk in its .spatch, and the prose around it, are not part of it.

    Args:
        data: the text.
        request: what to apply.
    """
    # the empty list at the end is part of every key that ships
    tail = json.dumps([sorted(request.options.items()), request.names, []])[1:]
    identity = f"[{KNOWN_FORMAT}, [{_as_json(request.hunks)}, {request.every.identity}], {tail}"
    return f"{sha256(identity.encode()).hexdigest()} {sha256(data).hexdigest()}"


def _as_json(hunks: Sequence[HunkText]) -> str:
    return json.dumps([_written(hunk) for hunk in hunks])


def _written(hunk: HunkText) -> list[object]:
    """What a hunk says, without where it stands."""
    lines = [(tag, line) for tag, line, _ in hunk.lines]
    parts: list[object] = [hunk.scope, hunk.flags.expected, hunk.flags.when_present, lines]
    if hunk.flags.inside is not None:
        parts.append(hunk.flags.inside)
    parts += [_written(form) for form in hunk.further_forms]
    return parts


# tables ---------------------------------------------------------------------------------------
class OwnedSplice(Record):
    """A splice, and the index of the hunk that it belongs to."""

    splice: Splice
    hunk: int


def is_storable(result: Rewrite) -> bool:
    """Whether a result can be stored: no hunk failed, and each splice belongs to one hunk."""
    for answer in result.answers:
        if answer.state.failed or answer.problem or answer.hint:
            return False
    return [owned.splice for owned in _owned(result)] == list(result.splices)


def _owned(result: Rewrite) -> list[OwnedSplice]:
    """The splices in the order of the text."""
    owned = []
    for index, answer in enumerate(result.answers):
        owned += [OwnedSplice(splice, index) for splice in answer.splices]
    return sorted(owned, key=lambda each: (each.splice.start, each.splice.end))


def write_table(results: Mapping[str, Rewrite]) -> bytes:
    """The table of results by key, without those that are not `is_storable`."""
    texts: dict[str, int] = {}
    rows = []
    for key, result in sorted(results.items()):
        if not is_storable(result):
            continue
        splices = []
        for (start, end, new), index in _owned(result):
            number = texts.setdefault(_as_text(new), len(texts))
            splices.append([start, end, number, index])
        hunks = [[answer.state.value, answer.places] for answer in result.answers]
        row = {"hunks": hunks, "splices": splices, "seal": _seal(key, result)}
        rows.append(f"{json.dumps(key)}: {json.dumps(row)}")
    parts = [
        f'{{"format": {KNOWN_FORMAT}, "texts": [',
        ",\n".join(map(json.dumps, texts)),
        '], "results": {',
        ",\n".join(rows),
        "}}\n",
    ]
    return "\n".join(parts).encode()


class KnownTable:
    """A table as read from its JSON; a damaged one has no results.

    Fields are not checked one by one (`patcher.system.decode`): a result counts only if its seal is
    right, and a table has hundreds of which one is looked up.
    """

    def __init__(self, data: bytes) -> None:
        try:
            top: Any = json.loads(data.decode("ascii"))
        except (ValueError, RecursionError):
            top = None
        is_known = isinstance(top, dict) and top.get("format") == KNOWN_FORMAT
        self._top: dict[str, Any] = top if is_known else {}

    def find(self, key: str, data: bytes, request: Request) -> Rewrite | None:
        """The result with this key (of `key_of`).

        Returns:
            None where there is none or its seal is wrong.
        """
        try:
            row = self._top["results"][key]
            result = self._result(row, data, request)
            return result if row["seal"] == _seal(key, result) else None
        except (LookupError, TypeError, ValueError, AttributeError):
            return None

    def _result(self, row: Mapping[str, Any], data: bytes, request: Request) -> Rewrite:
        texts = self._top["texts"]
        splices: list[Splice] = []
        splices_of: dict[int, list[Splice]] = {}
        for start, end, number, index in row["splices"]:
            splice = Splice(start, end, texts[number].encode("latin-1"))
            splices.append(splice)
            splices_of.setdefault(index, []).append(splice)
        answers = []
        for index, (hunk, (state, places)) in enumerate(zip(request.hunks, row["hunks"])):
            answer = HunkAnswer(
                hunk,
                State(state),
                places=tuple(places),
                splices=tuple(splices_of.get(index, ())),
            )
            answers.append(answer)
        return Rewrite(apply_splices(data, splices), tuple(splices), tuple(answers))


def _as_text(new: bytes) -> str:
    return new.decode("latin-1")  # one character a byte: exact, and a user can read it


def _seal(key: str, result: Rewrite) -> str:
    hunks = []
    for answer in result.answers:
        ranges = [splice[:2] for splice in answer.splices]
        hunks.append([answer.state.value, answer.places, ranges])
    splices = [[start, end, _as_text(new)] for start, end, new in result.splices]
    content = [key, sha256(result.data).hexdigest(), hunks, splices]
    return sha256(json.dumps(content).encode()).hexdigest()
