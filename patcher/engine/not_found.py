"""What is said of a hunk that is not found: why, the code that is closest, and a way on."""

from __future__ import annotations

from difflib import get_close_matches

from patcher.engine.closest import Closest, closest
from patcher.engine.find import FoundPlaces, surroundings
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.side import Hunk
from patcher.message import Message, joined
from patcher.text.listed import count as count_of
from patcher.text.terminal import underline


def near_scopes(source: Source, scope: str) -> tuple[str, ...]:
    """Definitions that an undefined scope may have become: those of the same last name, else of a similar name."""
    names = list(dict.fromkeys(definition.name for definition in source.definitions()))
    last_name = scope.split(".")[-1]
    if scope == "<module>":
        return ()
    of_that_name = [name for name in names if name.split(".")[-1] == last_name]
    parent = scope[: -len(last_name)]
    siblings = [
        name[len(parent) :]
        for name in names
        if name.startswith(parent) and "." not in name[len(parent) :]
    ]
    close = [
        parent + name for name in get_close_matches(last_name, siblings, 3, 0.7)
    ] or get_close_matches(scope, names, 3)
    return tuple((of_that_name or close)[:3])


# the answer -----------------------------------------------------------------------------------------------------------
def not_found(source: Source, hunk: Hunk, matches: FoundPlaces) -> tuple[str, str]:
    """The problem and the hint for a hunk that matches nowhere, or too few times: what is closest, the first difference."""
    scope = hunk.text.scope
    if not matches.scopes:
        near = near_scopes(source, scope)
        hint = Message("the file has: {names}", names=", ".join(near)) if near else ""
        return Message("there is no `{scope}` in this file", scope=scope), hint
    places = [*matches.todo, *matches.done]
    if places:
        numbers = sorted(source.lines.number(place.start) for place in places)
        where = Message(
            "line {lines}" if len(numbers) == 1 else "lines {lines}",
            lines=", ".join(map(str, numbers)),
        )
        problem = Message(
            "found {places} in `{scope}` ({where}), expected {count}",
            places=count_of(len(places), "place"),
            scope=scope,
            where=where,
            count=hunk.text.flags.expected,
        )
    else:
        spot = (
            next(surroundings(source, hunk), None) if hunk.text.flags.inside is not None else None
        )
        if spot is not None and hunk.text.flags.inside is not None:
            flag = inside_flag(spot[1])
            problem = Message(
                "the code stands in `{scope}` at line {row}, but with `{flag}` and not `{expected}`",
                scope=scope,
                row=source.lines.number(spot[0].start),
                flag=flag,
                expected=inside_flag(hunk.text.flags.inside),
            )
            return problem, Message("write `{flag}` if that place is meant", flag=flag)
        problem = Message("`{scope}` is there, but the code to change is not", scope=scope)
    best = closest(source, hunk, scope, [place.start for place in places])
    if best is not None:
        return joined("\n", [problem, *_brief(best)]), best.hint
    if places:
        return problem, Message("write `count={number}` if that is all", number=len(places))
    looked = next(
        (line.strip() for line in hunk.before.written.split("\n") if line.strip(" .")), ""
    )
    hint = Message("nothing like it was found there: it was rewritten or went away")
    return Message("{problem}\nlooked for: {looked}", problem=problem, looked=looked), hint


def _brief(best: Closest) -> list[str]:
    width = len(str(max(best.code.line, best.pattern.line)))
    head = Message("closest, line {line}: ", line=f"{best.code.line:>{width}}")
    return [
        head + best.code.text,
        " " * len(head) + underline(*best.code[1:]),
        Message(
            "pattern, line {line}: {text}",
            line=f"{best.pattern.line:>{width}}",
            text=best.pattern.text,
        ),
        best.words,
    ]
