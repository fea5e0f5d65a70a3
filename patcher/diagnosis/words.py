"""What lines of a log have in common, whatever their digits, their wrapping, and the collector that they came through."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable

from patcher.text.patterns import shape

# the rank -------------------------------------------------------------------------------------------------------------
_COLLECTED = re.compile(  # what docker, containerd and `kubectl logs --prefix --timestamps` write before a line
    rb'^(?:\{"log":")?(?:\[pod/[^\]]*\] )?(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) )?(?:std(?:out|err) [FP] )?'
)
# What stands wherever a rank is written, and how it is: by torch, torchrun --tee, mpirun --tag-output, vLLM, srun --label.
_RANKS = (
    (b"]", re.compile(rb"\[rank ?([0-9]{1,7})\]", re.IGNORECASE)),
    (b"]:", re.compile(rb"^ *\[[a-z_]+([0-9]{1,7})\]:")),
    (b",", re.compile(rb"^ *\[(?:[\w.-]+@)?[0-9]+,([0-9]{1,7})\](?:<std(?:out|err)>)?:")),
    (b" rank=", re.compile(rb"\(\w+ rank=([0-9]{1,7}) pid=")),
    (b": ", re.compile(rb"^ *([0-9]{1,7}): ")),
)
_BEGIN = 120  # bytes of a line in which its rank is looked for
_RANK_OF_FILE = re.compile(
    r"attempt_\d+/(\d{1,7})/std(?:out|err)\.log$|(?<![A-Za-z])rank[_-]?(\d{1,7})(?!\d)[^/]*$"
)
_ATTEMPT = re.compile(r"(.*)attempt_(\d+)/\d+/std(?:out|err)\.log")


def rank_of_line(line: bytes) -> int | None:
    """The rank that the beginning of a line names."""
    place = _place_of_rank(shape(line[:_BEGIN]))
    return int(line[slice(*place)]) if place else None


@lru_cache(maxsize=4096)
def _place_of_rank(begin: bytes) -> tuple[int, int] | None:
    """From where to where the rank stands in lines of a shape."""
    collected = _COLLECTED.match(begin)
    at = collected.end() if collected else 0
    own = begin[at:]
    ranks = [
        found[-1]
        for found in (list(form.finditer(own)) for mark, form in _RANKS if mark in own)
        if found
    ]
    return (at + ranks[0].start(1), at + ranks[0].end(1)) if ranks else None


def rank_of_file(name: str) -> int | None:
    """The rank whose log a file is, by its path."""
    rank = _RANK_OF_FILE.search(name)
    return int(rank.group(1) or rank.group(2)) if rank else None


def earlier_attempts(names: Iterable[str]) -> set[str]:
    """Of these logs those of ranks that torchrun has started again, of which the later logs are here, too."""
    attempts = [
        (attempt[0], attempt[1], int(attempt[2]))
        for attempt in map(_ATTEMPT.fullmatch, names)
        if attempt
    ]
    last: dict[str, int] = {}
    for _, run, number in attempts:
        last[run] = max(number, last.get(run, 0))
    return {name for name, run, number in attempts if number < last[run]}
