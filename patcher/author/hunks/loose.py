"""Hunks that are looser than the edit: only for other releases in which no other hunk holds."""

from __future__ import annotations

from itertools import chain, combinations, islice
from typing import Iterable, Iterator, Mapping, Sequence, Tuple

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.trial import holds, readable
from patcher.model import HunkText

_MOST = 8  # candidates that are loosened


def loose(candidates: Sequence[Candidate], opened: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates in the same function of any class, those that leave the old value `opened`, and both; each once."""
    seen = {candidate.text for candidate in candidates}
    some = [*islice(opened, _MOST)]
    wide = [each for candidate in (*candidates[:_MOST], *some) for each in _anywhere(candidate)]
    for candidate in (*some, *wide):
        if candidate.text not in seen:
            seen.add(candidate.text)
            yield candidate


def _anywhere(candidate: Candidate) -> Iterator[Candidate]:
    """The same definition in other classes and functions: a `*` for one name around it, then for all."""
    *around, name = candidate.scope.split(".")
    places = range(len(around))
    for hidden in chain.from_iterable(combinations(places, number + 1) for number in places):
        scope = ".".join([*("*" if at in hidden else each for at, each in enumerate(around)), name])
        yield candidate._replace(scope=scope, form=f"{candidate.form}, in any class that defines `{name}`")


def moved_paths(path: str, hunks: Sequence[HunkText], others: Sequence[Mapping[str, bytes]]) -> Tuple[str, ...]:
    """Where releases that do not have a file have its code: in the one other file in which all hunks hold.

    Args:
        path: the file.
        hunks: all hunks for it.
        others: of each other release the Python files of the package by path.
    """
    found = []
    for texts in others:
        homes = [other for other, text in texts.items() if _hold(text, hunks)] if path not in texts and hunks else []
        found += homes if len(homes) == 1 else []
    return tuple(dict.fromkeys(found))


def _hold(text: bytes, hunks: Sequence[HunkText]) -> bool:
    names = {hunk.scope.rpartition(".")[2] for hunk in hunks} - {"<module>"}
    if not all("*" in name or name.encode() in text for name in names):
        return False
    source = readable(text)
    return source is not None and all(holds(source, hunk) for hunk in hunks)
