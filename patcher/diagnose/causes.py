"""torchrun's summaries in all logs -> the ranks that failed first. Pure.

torchrun names the rank whose end it saw first. Of a run that hangs that is one that waited until its time-out; the one that it
waited for stands still, or has raised and not ended yet.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnose.errors import EXCEPTION, about
from patcher.diagnose.failures import Failure, Traceback, with_traceback, with_tracebacks
from patcher.diagnose.log import LoggedError

Tracebacks = Mapping[Optional[int], Traceback]

_GRACE = 30  # seconds after which torchrun kills what it has told to end
_WHILE_ENDING = re.compile(r"^KeyboardInterrupt|killed by signal: Terminated")  # what a rank raises that is being ended


class Meaning(Enum):
    """What an error says of its rank: it failed by itself, waited until a time-out or for one that had ended, or neither."""

    OWN, TIMED_OUT, PEER_GONE, UNCLEAR = range(4)


def first_failures(
    summaries: Sequence[Sequence[Failure]], tracebacks: Sequence[Tracebacks], meaning: Callable[[str], Meaning]
) -> Tuple[Failure, ...]:
    """The failures that began what the summaries tell: the earliest first, then ranks that waited for one that is not known.

    Args:
        summaries: those of all logs, as a `FailureReader` has them.
        tracebacks: of each log.
        meaning: what an error says of its rank.
    """
    found: List[Failure] = []
    elsewhere = _elsewhere(summaries, tracebacks)
    for summary in summaries:
        *others, first = with_tracebacks(summary, tracebacks)
        found += _causes(first, [*others, *elsewhere], meaning)
    once = {each._replace(log="", line=0): each for each in reversed(found)}  # two logs may hold one summary
    return tuple(sorted(once.values(), key=lambda each: (each.waited and not each.late, each.time, each.log, each.line)))


class UnexplainedError(NamedTuple):
    """An error that nothing known explains: `log` and `line` of the first, `ranks` as far as they are known.

    `at` is where its code is, "" where no traceback says so; `about` is what it is about as far as its words say.
    """

    error: str
    at: str
    ranks: Tuple[int, ...]
    log: str
    line: int
    about: str


def unexplained(
    errors: Iterable[Tuple[str, LoggedError]], explains: Callable[[str, LoggedError], bool], *, alone: bool
) -> Tuple[UnexplainedError, ...]:
    """The errors that nothing explains, each once; exit codes, and what a logger calls an error, only where there is no other.

    Args:
        errors: each with the name of its log.
        explains: whether something known explains an error of a log.
        alone: whether nothing known was found at all.
    """
    several = list(errors)
    least = min((error.kind for _, error in several), default=EXCEPTION)
    if least > EXCEPTION and not alone:
        return ()
    alike: Dict[Tuple[str, str], UnexplainedError] = {}
    for log, error in several:
        if error.kind == least and not explains(log, error):
            new = UnexplainedError(error.error, error.at, (), log, error.line, about(error.error))
            known = alike.setdefault((error.error, error.at), new)
            alike[error.error, error.at] = known._replace(ranks=tuple(sorted({*known.ranks, *error.ranks})))
    with_code = {error for error, at in alike if at}
    return tuple(one for (error, at), one in alike.items() if at or error not in with_code)


def _elsewhere(summaries: Sequence[Sequence[Failure]], tracebacks: Sequence[Tracebacks]) -> List[Failure]:
    """The ranks with a traceback of which no summary tells: those of a machine of which the launcher's log is not here."""
    told = {each.rank for summary in summaries for each in summary}
    ranks = {rank for of_ranks in tracebacks for rank in of_ranks if rank is not None} - told
    unseen = Failure(0, host="", time="", exitcode=None, signal="", error_file="", log="", line=0)
    return [with_traceback(unseen._replace(rank=rank), (rank,), tracebacks) for rank in sorted(ranks)]


def _causes(first: Failure, others: Sequence[Failure], meaning: Callable[[str], Meaning]) -> List[Failure]:
    """Those of the others for which the first one waited; else the first one itself.

    Where several have raised the same, one of them stands for all.
    """
    if not first.error or meaning(first.error) not in (Meaning.TIMED_OUT, Meaning.PEER_GONE):
        return [first]
    own = [each for each in others if _failed_by_itself(each, first, meaning)]
    if own:
        causes = {(each.error, each.at) if each.error else (each.signal, each.exitcode): each for each in reversed(own)}
        return [each._replace(victim=first.rank) for each in reversed(list(causes.values()))]
    timed_out = any(meaning(each.error) == Meaning.TIMED_OUT for each in (first, *others))
    late = [each.rank for each in others if not each.error and (each.signal == "SIGTERM" or _was_killed_late(each, first))]
    return [first._replace(waited=True, late=tuple(sorted(late)) if timed_out else ())]


def _failed_by_itself(one: Failure, first: Failure, meaning: Callable[[str], Meaning]) -> bool:
    if one.error:
        return meaning(one.error) == Meaning.OWN and not _WHILE_ENDING.search(one.error)
    if one.signal:
        return one.signal not in ("SIGTERM", "SIGABRT", "SIGINT") and not _was_killed_late(one, first)
    return one.exitcode not in (None, 0, 1)  # Python ends with 1 after any exception, also of a rank that waited


def _was_killed_late(one: Failure, first: Failure) -> bool:
    """Whether torchrun has killed it, half a minute after it had told it to end."""
    if one.signal != "SIGKILL":
        return False
    try:
        ended, seen = (datetime.fromisoformat(each.time.replace("_", " ")) for each in (one, first))
    except ValueError:
        return False
    return (ended - seen).total_seconds() > _GRACE / 2
