"""Counts, lists of words and numbers in a sentence, and suggestions for a misspelt word."""

from __future__ import annotations

import os
import re
from itertools import groupby
from typing import Iterable, Sequence, Union

from patcher.message import Message, joined

AnyPath = Union[str, "os.PathLike[str]"]
Texts = Union[AnyPath, Iterable[AnyPath]]
"""What a program gives where several names or paths may stand (see `one_or_more`)."""


_LISTS = {
    "and": "{names} and {last}",
    "or": "{names} or {last}",
    "nor": "{names} nor {last}",
    "in": "{names} and in {last}",
}


def one_or_more(texts: Texts) -> tuple[str, ...]:
    """Names or paths as texts; one alone is that one, and not its letters."""
    words = (texts,) if isinstance(texts, (str, os.PathLike)) else texts
    return tuple(os.fspath(word) for word in words)


def count(number: int, noun: str) -> str:
    """A number and its noun, which is in the plural unless the number is 1."""
    plural = "es" if noun.endswith("ch") else "s"
    return Message(f"{{number}} {noun}" + ("" if number == 1 else plural), number=number)


def listed(words: Sequence[str], joint: str = "and") -> str:
    """`a, b and c`, also with another joint."""
    if len(words) < 2:
        return words[0] if words else ""
    return Message(_LISTS[joint], names=joined(", ", words[:-1]), last=words[-1])


def shortened(words: Sequence[str], most: int) -> str:
    """The first words, and how many more there are: `a, b and 3 more`."""
    names = joined(", ", words[:most])
    if len(words) <= most:
        return names
    return Message("{names} and {number} more", names=names, number=len(words) - most)


def number_ranges(numbers: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3 and 7."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)


def ranks(numbers: Sequence[int]) -> str:
    """`rank 1`, or `ranks 0-3,7`."""
    return Message(
        "rank {number}" if len(numbers) == 1 else "ranks {number}", number=number_ranges(numbers)
    )


def nearest(word: str, words: Sequence[str], most: int, least: float = 0.6) -> list[str]:
    """The words that are spelled most like this one, the most similar first."""
    from difflib import get_close_matches  # only a misspelt word needs it

    return get_close_matches(word, words, most, least)


def suggest(word: str, words: Iterable[str]) -> str:
    """`; did you mean "..."?` for the nearest of `words`, "" if none is near."""
    near = nearest(word, list(words), 1)
    return Message('; did you mean "{name}"?', name=near[0]) if near else ""


# releases -------------------------------------------------------------------------------------
def untagged(version: str) -> bool:
    """Whether a version is that of a build without one.

    Such are an empty one, `0.0.0`, `0+untagged`, and what is nothing like a version.
    """
    return not re.match(r"v?[\d.]*[1-9]", version)


def release_name(package: str, distribution: str, version: str) -> str:
    """A release as a message names it: the distribution, where one is known, and the version."""
    return f"{distribution or package} {version}".rstrip()


def normalized(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
