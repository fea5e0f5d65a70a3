"""Which rank has written a line of a log, and in which attempt: by what is written before it and by the name of the file."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, Iterable, Optional, Set, Tuple

from patcher.diagnose.words import shape

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
_RANK_OF_FILE = re.compile(r"attempt_\d+/(\d{1,7})/std(?:out|err)\.log$|(?<![A-Za-z])rank[_-]?(\d{1,7})(?!\d)[^/]*$")

_ATTEMPT = re.compile(r"(.*)attempt_(\d+)/\d+/std(?:out|err)\.log")


def earlier_attempts(names: Iterable[str]) -> Set[str]:
    """Of these logs those of ranks that torchrun has started again, of which the later logs are here, too."""
    found = [each for each in map(_ATTEMPT.fullmatch, names) if each]
    last: Dict[str, int] = {}
    for each in found:
        last[each[1]] = max(int(each[2]), last.get(each[1], 0))
    return {each[0] for each in found if int(each[2]) < last[each[1]]}


def rank_of_file(name: str) -> Optional[int]:
    """The rank whose log a file is, by its path."""
    found = _RANK_OF_FILE.search(name)
    return int(found.group(1) or found.group(2)) if found else None


def rank_of_line(begin: bytes) -> Optional[int]:
    """The rank that the beginning of a line names."""
    place = _place_of_rank(shape(begin))
    return int(begin[slice(*place)]) if place else None


@lru_cache(maxsize=4096)
def _place_of_rank(begin: bytes) -> Optional[Tuple[int, int]]:
    """From where to where the rank stands in lines of a shape."""
    collected = _COLLECTED.match(begin)
    at = collected.end() if collected else 0
    own = begin[at:]
    found = [ranks[-1] for ranks in (list(form.finditer(own)) for mark, form in _RANKS if mark in own) if ranks]
    return (at + found[0].start(1), at + found[0].end(1)) if found else None
