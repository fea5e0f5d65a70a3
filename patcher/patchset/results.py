"""Results of hunks on a text, stored so that they need not be matched again: `known.json` of a built-in patchset.

A table is JSON. The key of a result is a hash of the text and of the request; each inserted text is stored once:

    {"format": 1, "texts": [TEXT, ...], "results": {KEY: {"hunks": [[STATE, LINES], ...],
                                                          "splices": [[START, END, INDEX OF TEXT, INDEX OF HUNK], ...],
                                                          "seal": SHA256}}}

The seal is a hash of the key, the answers, the splices and the resulting bytes, so that a damaged result is not used.
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from typing import (
    Any,
    Callable,
    Mapping,
    NamedTuple,
    Sequence,
    TypeVar,
)

from patcher.engine.engine import check_hunks, rewrite
from patcher.model import (
    HunkAnswer,
    HunkText,
    OptionValue,
    Requested,
    Rewrite,
    Splice,
    State,
    Variant,
    apply_splices,
)
from patcher.patchset.layers import rewrite_layers
from patcher.patchset.places import builtin_table

KNOWN_FORMAT = 1
"""The version of the tables and of the engine: raised when the same hunks give another result for the same text."""
_OBJECTS = 10_000
Made = TypeVar("Made")


class Request(NamedTuple):
    """What to apply to a text: all hunks of one patchset for that file.

    `patchset` is its name, `every` are all its hunks, also those for other files, which have to be valid too. `names` exist
    at run time without being bound in the file.
    """

    patchset: str
    hunks: tuple[HunkText, ...]
    options: Mapping[str, OptionValue]
    names: tuple[str, ...]
    every: tuple[HunkText, ...]


def request_of(
    requested: Requested, hunks: tuple[HunkText, ...], names: tuple[str, ...]
) -> Request:
    """The request to apply a patchset's hunks for one file; `names` are those of the variant that they belong to."""
    patchset, options, _ = requested
    return Request(patchset.name, hunks, options, names, _every(patchset.variants))


def _once(function: Callable[[Any], Made]) -> Callable[[Any], Made]:
    """A function of one immutable object, worked out once for each: a patchset of a thousand files asks a thousand times.

    It tells objects by what they are, not by what they hold: a hash of a thousand hunks costs as much as what is saved.
    """
    memory: dict[int, tuple[object, Made]] = {}

    def remembered(argument: object) -> Made:
        if id(argument) not in memory:
            if len(memory) > _OBJECTS:
                memory.clear()
            # held, so that no other object gets its id
            memory[id(argument)] = (
                argument,
                function(argument),
            )
        return memory[id(argument)][1]

    return remembered


@_once
def _every(variants: Sequence[Variant]) -> tuple[HunkText, ...]:
    return tuple(hunk for variant in variants for patch in variant.patches for hunk in patch.hunks)


@_once
def _by_spatch(hunks: Sequence[HunkText]) -> dict[str, tuple[HunkText, ...]]:
    of_spatch: dict[str, dict[HunkText, None]] = {}
    for hunk in hunks:  # several variants may have the same .spatch
        of_spatch.setdefault(hunk.origin, {})[hunk] = None
    return {origin: tuple(its_hunks) for origin, its_hunks in of_spatch.items()}


def rewrite_cached(data: bytes, request: Request) -> Rewrite:
    """Apply all hunks of a patchset for one file, or none of them.

    A result that ships with a built-in patchset is taken from there; any other the engine works out.

    Args:
        data: the file's bytes.
        request: what to apply.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    return _in_layers(data, request, _cached)


def _cached(data: bytes, request: Request) -> Rewrite:
    return shipped_result(data, request) or rewrite_uncached(data, request)


def rewrite_uncached(data: bytes, request: Request) -> Rewrite:
    """`rewrite_cached` without known results: always by the engine."""
    return _in_layers(data, request, _computed)


def _in_layers(data: bytes, request: Request, make: Callable[[bytes, Request], Rewrite]) -> Rewrite:
    """The result layer by layer; that of a layer depends on its own .spatch alone, so that it is known when others change."""

    def of_layer(source: bytes, hunks: tuple[HunkText, ...]) -> Rewrite:
        if hunks[0].plain:
            return rewrite(source, hunks, {})
        every = _by_spatch(request.every)[hunks[0].origin]
        return make(source, request._replace(hunks=hunks, every=every))

    return rewrite_layers(data, request.hunks, of_layer)


@_once
def _right_with(hunks: Sequence[HunkText]) -> set[tuple[tuple[str, OptionValue], ...]]:
    """The values of options with which these hunks have been checked: not for each file again, they may be a thousand."""
    return set()


def _computed(data: bytes, request: Request) -> Rewrite:
    options = tuple(sorted(request.options.items()))
    if options not in _right_with(request.every):
        check_hunks(request.every, request.options)  # those for absent files too
        _right_with(request.every).add(options)
    return rewrite(data, request.hunks, request.options, request.names)


def shipped_result(data: bytes, request: Request) -> Rewrite | None:
    """The result that ships with the built-in patchset of that name; None where it is another request, or another text."""
    return _shipped(request.patchset).find(key_of(data, request), data, request)


@lru_cache(maxsize=None)
def _shipped(name: str) -> KnownTable:
    """The known results that ship with the built-in patchset of this name; those of other sources are not trusted."""
    return KnownTable(builtin_table(name))


# tables ---------------------------------------------------------------------------------------------------------------
def key_of(data: bytes, request: Request) -> str:
    """The key of a result: two sha256 (hex), of the request and of the text.

    The position of a hunk in its .spatch, and the prose around it, are not part of it.

    Args:
        data: the text.
        request: what to apply.
    """
    # the empty list at the end is part of every key that ships
    tail = json.dumps([sorted(request.options.items()), request.names, []])[1:]
    identity = f"[{KNOWN_FORMAT}, [{_as_json(request.hunks)}, {_as_json(request.every)}], {tail}"
    return f"{sha256(identity.encode()).hexdigest()} {sha256(data).hexdigest()}"


@_once
def _as_json(hunks: Sequence[HunkText]) -> str:
    return json.dumps([_written(hunk) for hunk in hunks])


def _written(hunk: HunkText) -> tuple[object, ...]:
    lines = [(tag, line) for tag, line, _ in hunk.lines]
    guard = [] if hunk.flags.inside is None else [hunk.flags.inside]
    forms = [_written(form) for form in hunk.others]
    return (
        hunk.scope,
        hunk.flags.expected,
        hunk.flags.when_present,
        lines,
        *guard,
        *forms,
    )


def is_cacheable(result: Rewrite) -> bool:
    """Whether a result can be stored: no hunk failed, and each splice belongs to one hunk."""
    failed = any(answer.state.failed or answer.problem or answer.hint for answer in result.answers)
    return not failed and [splice for splice, _ in _owned(result)] == list(result.splices)


def _owned(result: Rewrite) -> list[tuple[Splice, int]]:
    """The splices in the order of the text, each with the index of its hunk."""
    owned = [
        (splice, index) for index, answer in enumerate(result.answers) for splice in answer.splices
    ]
    return sorted(owned, key=lambda pair: pair[0][:2])


def write_table(results: Mapping[str, Rewrite]) -> bytes:
    """The table of results by key, without those that are not `is_cacheable`."""
    texts: dict[str, int] = {}
    rows = []
    for key, result in sorted(results.items()):
        if is_cacheable(result):
            owned = _owned(result)
            hunks = [[answer.state.value, answer.places] for answer in result.answers]
            splices = [
                [*splice[:2], texts.setdefault(_text(splice), len(texts)), index]
                for splice, index in owned
            ]
            row = json.dumps({"hunks": hunks, "splices": splices, "seal": _seal(key, result)})
            rows.append(f"{json.dumps(key)}: {row}")
    head = f'{{"format": {KNOWN_FORMAT}, "texts": ['
    return "\n".join(
        [head, ",\n".join(map(json.dumps, texts)), '], "results": {', ",\n".join(rows), "}}\n"]
    ).encode()


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
        self._top: dict[str, Any] = (
            top if isinstance(top, dict) and top.get("format") == KNOWN_FORMAT else {}
        )

    def find(self, key: str, data: bytes, request: Request) -> Rewrite | None:
        """The result with this key (of `key_of`), None where there is none or its seal is wrong."""
        try:
            result = self._made(self._top["results"][key], data, request)
            return result if self._top["results"][key]["seal"] == _seal(key, result) else None
        except (LookupError, TypeError, ValueError, AttributeError):
            return None

    def _made(self, row: Mapping[str, Any], data: bytes, request: Request) -> Rewrite:
        texts = self._top["texts"]
        splices = [
            Splice(start, end, texts[number].encode("latin-1"))
            for start, end, number, _ in row["splices"]
        ]
        owners = [index for *_, index in row["splices"]]
        answers = [
            HunkAnswer(
                hunk,
                State(state),
                tuple(places),
                tuple(splice for splice, at in zip(splices, owners) if at == index),
            )
            for index, (hunk, (state, places)) in enumerate(zip(request.hunks, row["hunks"]))
        ]
        return Rewrite(apply_splices(data, splices), tuple(splices), tuple(answers))


def _text(splice: Splice) -> str:
    return splice.new.decode("latin-1")  # one character a byte: exact, and a user can read it


def _seal(key: str, result: Rewrite) -> str:
    hunks = [
        [answer.state.value, answer.places, [splice[:2] for splice in answer.splices]]
        for answer in result.answers
    ]
    splices = [[*splice[:2], _text(splice)] for splice in result.splices]
    return sha256(
        json.dumps([key, sha256(result.data).hexdigest(), hunks, splices]).encode()
    ).hexdigest()
