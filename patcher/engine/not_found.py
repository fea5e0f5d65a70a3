"""What to say of a hunk that is not found: why, the closest code, and what to do."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Sequence

from patcher.engine.closest import closest
from patcher.engine.find import FoundPlaces, surroundings
from patcher.engine.match import MatchRange
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.side import Hunk
from patcher.message import Message, joined
from patcher.model import Closest
from patcher.text.listed import count as count_of
from patcher.text.terminal import underline

_MOST = 3  # scopes that are named


def near_scopes(source: Source, scope: str) -> tuple[str, ...]:
    """Definitions that may be what an undefined scope has become.

    These are the ones with the same last name, else those with a similar name, in the same class
    first.
    """
    if scope == "<module>":
        return ()

    names = list(dict.fromkeys(definition.name for definition in source.definitions()))
    last_name = _last_name(scope)
    same_name = [name for name in names if _last_name(name) == last_name]
    if same_name:
        return tuple(same_name[:_MOST])

    parent = scope[: -len(last_name)]
    siblings = []
    for name in names:
        own_name = name[len(parent) :]
        if name.startswith(parent) and "." not in own_name:
            siblings.append(own_name)

    similar = get_close_matches(last_name, siblings, _MOST, cutoff=0.7)
    if similar:
        return tuple(parent + name for name in similar)
    return tuple(get_close_matches(scope, names, _MOST))


def _last_name(scope: str) -> str:
    """The last part of a qualified name."""
    _, _, name = scope.rpartition(".")
    return name


# the answer ---------------------------------------------------------------------------------------
def not_found(source: Source, hunk: Hunk, found: FoundPlaces) -> tuple[str, str]:
    """The problem and the hint for a hunk that matches nowhere, or in too few places."""
    scope = hunk.text.scope
    if not found.scopes:
        near = near_scopes(source, scope)
        hint: str = ""
        if near:
            hint = Message("the file has: {names}", names=", ".join(near))
        return Message("there is no `{scope}` in this file", scope=scope), hint

    places = found.all
    if places:
        problem = _too_few(source, hunk, places)
        hint = Message("write `count={number}` if that is all", number=len(places))
    else:
        elsewhere = _inside_others(source, hunk)
        if elsewhere is not None:
            return elsewhere

        problem = Message("`{scope}` is there, but the code to change is not", scope=scope)
        hint = Message("nothing like it was found there: it was rewritten or went away")

    best = closest(source, hunk, scope, taken=places)
    if best is not None:
        return joined("\n", [problem, *_brief(best)]), best.hint

    if not places:
        problem = Message(
            "{problem}\nlooked for: {looked}",
            problem=problem,
            looked=_first_line(hunk),
        )

    return problem, hint


def _too_few(source: Source, hunk: Hunk, places: Sequence[MatchRange]) -> str:
    """The problem of a hunk with fewer places than it expects."""
    numbers = sorted(source.lines.number(place.start) for place in places)
    where = Message(
        "line {lines}" if len(numbers) == 1 else "lines {lines}",
        lines=", ".join(map(str, numbers)),
    )
    return Message(
        "found {places} in `{scope}` ({where}), expected {count}",
        places=count_of(len(places), "place"),
        scope=hunk.text.scope,
        where=where,
        count=hunk.text.flags.expected,
    )


def _inside_others(source: Source, hunk: Hunk) -> tuple[str, str] | None:
    """The problem and the hint if the code is inside other statements than `inside` names."""
    if hunk.text.flags.inside is None:
        return None

    for place, inside in surroundings(source, hunk):
        flag = inside_flag(inside)
        problem = Message(
            "the code stands in `{scope}` at line {row}, but with `{flag}` and not `{expected}`",
            scope=hunk.text.scope,
            row=source.lines.number(place.start),
            flag=flag,
            expected=inside_flag(hunk.text.flags.inside),
        )

        return problem, Message("write `{flag}` if that place is meant", flag=flag)

    return None


def _first_line(hunk: Hunk) -> str:
    """The first line of the before side that is not blank or `...`."""
    for line in hunk.before.written.split("\n"):
        if line.strip(" ."):
            return line.strip()

    return ""


def _brief(best: Closest) -> list[str]:
    """The closest code, the pattern below it, and their first difference."""
    largest = max(best.code.line, best.pattern.line)
    width = len(str(largest))
    head = Message("closest, line {line}: ", line=f"{best.code.line:>{width}}")
    margin = " " * len(head)
    marker = underline(best.code.text, best.code.start, best.code.end)
    pattern = Message(
        "pattern, line {line}: {text}",
        line=f"{best.pattern.line:>{width}}",
        text=best.pattern.text,
    )
    return [head + best.code.text, margin + marker, pattern, best.words]
