"""How the ranks that `diagnose --ranks N` has started ended, as text and as JSON. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from patcher.message import Message, joined
from patcher.ranks.start import EndedRank
from patcher.ranks.verdict import FAILED, LATE, OK, Verdict, failure, last_calls, within
from patcher.verbs.styles import Row


def rank_rows(ranks: Sequence[EndedRank], verdict: Verdict) -> List[Row]:
    """A row for each rank, with its last lines where it failed first, or is late in a place where no other one stands."""
    shown, found = set(), []
    for rank, state in zip(ranks, verdict.states):
        details: Tuple[str, ...] = ()
        key = last_calls(rank) if state == LATE else state
        if state in (FAILED, LATE) and key not in shown:
            shown.add(key)
            details = tuple(filter(None, last_calls(rank).split("\n")))
        where = Message("{rank.device} by {rank.backend}" if rank.device else "no device yet", rank=rank)
        found.append(Row(state, (Message("rank {number}", number=rank.number), where, _far(rank)), details))
    return found


def _far(rank: EndedRank) -> str:
    done = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in rank.steps)
    why = failure(rank)
    problem = (
        Message("failed in {place}: {why}", place=within(rank), why=why)
        if why
        else ""
        if rank.done
        else Message("still in {place}", place=within(rank))
    )
    return joined("; ", [done, problem])


def trial_json(ranks: Sequence[EndedRank], verdict: Verdict, timeout: float) -> Dict[str, Any]:
    """The field `trial`; `timeout` is how many seconds the ranks had."""
    states = [_rank_json(*pair) for pair in zip(ranks, verdict.states)]
    return {"ok": verdict.ok, "verdict": verdict.text, "hint": verdict.hint, "timeout": timeout, "ranks": states}


def _rank_json(rank: EndedRank, state: str) -> Dict[str, Any]:
    known = {name: getattr(rank, name) for name in ("inside", "device", "backend", "torch")}
    steps = [{"name": name, "seconds": round(seconds, 3)} for name, seconds in rank.steps]
    output = "" if state == OK else last_calls(rank)
    return {
        "rank": rank.number,
        "state": state,
        "steps": steps,
        **known,
        "notes": list(rank.notes),
        "problem": failure(rank),
        "output": output,
    }
