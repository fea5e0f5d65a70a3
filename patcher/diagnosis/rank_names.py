"""What a line or a path of a log names: the rank that it is of, and the attempt of a launcher."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable

from patcher.text.patterns import shape

_COLLECTED = re.compile(
    rb'^(?:\{"log":")?'
    rb"(?:\[pod/[^\]]*\] )?"
    rb"(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) )?"
    rb"(?:std(?:out|err) [FP] )?"
)
"""What docker, containerd and `kubectl logs --prefix --timestamps` write before a line."""
_RANKS = (
    (b"]", re.compile(rb"\[rank ?([0-9]{1,7})\]", re.IGNORECASE)),  # torch
    (b"]:", re.compile(rb"^ *\[[a-z_]+([0-9]{1,7})\]:")),  # torchrun --tee
    # mpirun --tag-output
    (b",", re.compile(rb"^ *\[(?:[\w.-]+@)?[0-9]+,([0-9]{1,7})\](?:<std(?:out|err)>)?:")),
    (b" rank=", re.compile(rb"\(\w+ rank=([0-9]{1,7}) pid=")),  # vLLM
    (b": ", re.compile(rb"^ *([0-9]{1,7}): ")),  # srun --label
)
"""What stands wherever a rank is written in this way, and how it is written."""
_BEGIN = 120  # bytes of a line in which its rank is looked for
_RANK_OF_FILE = re.compile(
    r"attempt_\d+/(\d{1,7})/std(?:out|err)\.log$"
    r"|(?<![A-Za-z])rank[_-]?(\d{1,7})(?!\d)[^/]*$"
)
_ATTEMPT = re.compile(r"(.*)attempt_(\d+)/\d+/std(?:out|err)\.log")


def rank_of_line(line: bytes) -> int | None:
    """The rank that the beginning of a line names."""
    place = _place_of_rank(shape(line[:_BEGIN]))
    if place is None:
        return None
    start, end = place
    return int(line[start:end])


@lru_cache(maxsize=4096)
def _place_of_rank(begin: bytes) -> tuple[int, int] | None:
    """From where to where the rank stands in lines of a shape."""
    collected = _COLLECTED.match(begin)
    offset = collected.end() if collected else 0
    own = begin[offset:]
    for mark, form in _RANKS:
        if mark not in own:
            continue
        matches = list(form.finditer(own))
        if matches:
            return offset + matches[-1].start(1), offset + matches[-1].end(1)
    return None


def rank_of_file(name: str) -> int | None:
    """The rank whose log a file is, by its path."""
    match = _RANK_OF_FILE.search(name)
    return int(match.group(1) or match.group(2)) if match else None


def earlier_attempts(names: Iterable[str]) -> set[str]:
    """Of these logs those of ranks that torchrun has started again, with later logs here, too."""
    attempts: list[tuple[str, str, int]] = []
    last: dict[str, int] = {}
    for name in names:
        match = _ATTEMPT.fullmatch(name)
        if match:
            run, number = match[1], int(match[2])
            attempts.append((name, run, number))
            last[run] = max(number, last.get(run, 0))
    return {name for name, run, number in attempts if number < last[run]}
