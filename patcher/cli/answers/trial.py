"""`diagnose --ranks N`: starts ranks, and what that has found, as text and as JSON."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from patcher.cli.answers.diagnosis import finding_rows, outcome_json, show_cure
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.console import Console
from patcher.cli.styles import Row, hint_lines
from patcher.ops.place import Place
from patcher.ops.ranks import RanksOutcome, RanksRequest, diagnose_ranks
from patcher.ranks.start import EndedRank
from patcher.ranks.verdict import FAILED, LATE, OK, failure, last_calls, within


def report_trial(console: Console, place: Place, size: int, backend: str, timeout: float) -> int:
    """Start ranks, and show whether they can communicate."""
    outcome = diagnose_ranks(RanksRequest(place, size, backend, timeout), ConsoleEvents(console))
    verdict, found = outcome.verdict, outcome.found
    console.notes((error.brief for error in found.broken), "broken")
    console.notes(dict.fromkeys(note for rank in outcome.ranks for note in rank.notes))
    console.rows(_rows(outcome))
    console.rows(finding_rows(found.findings))
    console.rows([Row("ok" if verdict.ok else "failed", (verdict.text,), tuple(hint_lines(verdict.hint)))])
    if found.cure:
        show_cure(console, place, found)
    answer = outcome_json(found, place)
    console.data(verdict.ok, {**answer, "trial": _json(outcome, timeout)})
    return 0 if verdict.ok else 1


def _rows(outcome: RanksOutcome) -> List[Row]:
    """A row for each rank, with its last lines where it failed first, or is late in a place where no other one stands."""
    shown, found = set(), []
    for rank, state in zip(outcome.ranks, outcome.verdict.states):
        details: Tuple[str, ...] = ()
        key = last_calls(rank) if state == LATE else state
        if state in (FAILED, LATE) and key not in shown:
            shown.add(key)
            details = tuple(filter(None, last_calls(rank).split("\n")))
        where = f"{rank.device} by {rank.backend}" if rank.device else "no device yet"
        found.append(Row(state, (f"rank {rank.number}", where, _far(rank)), details))
    return found


def _far(rank: EndedRank) -> str:
    done = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in rank.steps)
    why = failure(rank)
    problem = f"failed in {within(rank)}: {why}" if why else "" if rank.done else f"still in {within(rank)}"
    return "; ".join(filter(None, [done, problem]))


def _json(outcome: RanksOutcome, timeout: float) -> Dict[str, Any]:
    """The field `trial`."""
    verdict = outcome.verdict
    ranks = [_rank_json(*pair) for pair in zip(outcome.ranks, verdict.states)]
    return {"ok": verdict.ok, "verdict": verdict.text, "hint": verdict.hint, "timeout": timeout, "ranks": ranks}


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
