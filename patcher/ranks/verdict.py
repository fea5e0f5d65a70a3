"""How ranks ended -> the state of each rank, and one sentence about all of them. Pure."""

from __future__ import annotations

from typing import NamedTuple, Sequence, Tuple

from patcher.message import Message
from patcher.ranks.start import STEPS, EndedRank
from patcher.system.process import ending, relevant_lines
from patcher.text.listed import listed
from patcher.text.listed import ranks as numbered

OK, FAILED, LATE, WAITED = "ok", "failed", "late", "waited"
_TOGETHER = ("start", "all-reduce", "barrier")  # steps that no rank does alone
_NO_TORCH = "No module named 'torch'"
_OWN = ("ranks/child.py", "importlib/__init__.py", "threading.py")  # frames that say nothing of torch


class Verdict(NamedTuple):
    """Whether the ranks can talk: `text` says it, `hint` what can be done ("": nothing more), `states` are those of the ranks.

    A state is OK, FAILED (it failed first, or in the same way as that one), LATE (the others waited for it), or WAITED.
    """

    ok: bool
    text: str
    hint: str
    states: Tuple[str, ...]


def verdict_on(ranks: Sequence[EndedRank], limit: float) -> Verdict:
    """The verdict on ranks that had `limit` seconds."""
    failed = sorted((one for one in ranks if one.order is not None), key=lambda one: (bool(one.problem), one.order))
    if failed:  # one that was killed raises nothing; the others do then
        return _failed(ranks, failed[0])
    left = [one for one in ranks if not one.done]
    if left:
        return _late(ranks, min(len(one.steps) for one in left), limit)
    first = ranks[0]
    seconds = max(sum(took for name, took in one.steps if name in _TOGETHER) for one in ranks)
    devices = listed(list(dict.fromkeys(one.device for one in ranks)))
    able = Message("{ranks} can talk" if ranks[1:] else "{ranks} can start", ranks=_called(ranks))
    text = Message(
        "{able} by {first.backend} on {devices}: {seconds:.2f} s in all (torch {first.torch})",
        able=able,
        first=first,
        devices=devices,
        seconds=seconds,
    )
    return Verdict(True, text, "", (OK,) * len(ranks))


def _failed(ranks: Sequence[EndedRank], first: EndedRank) -> Verdict:
    same = [one for one in ranks if one.order is not None and (one.inside, failure(one)) == (first.inside, failure(first))]
    states = tuple(FAILED if one in same else OK if one.done else WAITED for one in ranks)
    missing = (
        Message("install PyTorch there, or name an environment that has it: --python") if _NO_TORCH in failure(first) else ""
    )
    return Verdict(
        False,
        Message("{ranks} failed in {place}: {failure}", ranks=_called(same), place=within(first), failure=failure(first)),
        missing,
        states,
    )


def _late(ranks: Sequence[EndedRank], least: int, limit: float) -> Verdict:
    """Nobody failed, and the time is up: the ranks that have come least far are those that the others wait for."""
    late = [one for one in ranks if len(one.steps) == least]
    inside = within(late[0])
    if len(late) < len(ranks):
        furthest = max((one for one in ranks if not one.done), key=lambda one: len(one.steps))
        text = Message(
            "{ranks} did not come out of {inside} within {limit:g} s", ranks=_called(late), inside=inside, limit=limit
        )
        if furthest not in late:
            text = Message(
                "{ranks} did not arrive at {place} within {limit:g} s, still in {inside}",
                ranks=_called(late),
                place=within(furthest),
                limit=limit,
                inside=inside,
            )
        hint = Message("the calls below say where; the other ranks would have waited for ever")
    elif late[0].inside in _TOGETHER:
        text = Message("all ranks arrived at {inside}, and none came out of it within {limit:g} s", inside=inside, limit=limit)
        hint = Message(
            "what they send does not arrive: name the interface, GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME; see NCCL_DEBUG=INFO"
        )
    else:
        text, hint = (
            Message("no rank came out of {inside} within {limit:g} s", inside=inside, limit=limit),
            Message("the calls below say where; more time: --timeout"),
        )
    return Verdict(False, text, hint, tuple(LATE if one in late else OK if one.done else WAITED for one in ranks))


def within(rank: EndedRank) -> str:
    """The step that a rank is in, or has to begin."""
    name = rank.inside or (STEPS[len(rank.steps)] if not rank.done else "")
    words = {
        "start": Message("the start of the process group"),
        "device": Message("the choice of the device"),
        "all-reduce": Message("the all-reduce"),
        "barrier": Message("the barrier"),
        "end": Message("the end of the group"),
    }
    return words.get(name, name)


def failure(rank: EndedRank) -> str:
    """Why a rank failed, in one line; "" where it did not."""
    if rank.order is None:
        return ""
    return rank.problem or (ending(rank.code) if rank.code is not None else Message("it closed every file, and goes on"))


def last_calls(rank: EndedRank) -> str:
    """The last lines of a rank's output, or the calls that it was in."""
    return relevant_lines(rank.output.decode("utf-8", "replace"), _OWN)


def _called(some: Sequence[EndedRank]) -> str:
    return numbered([one.number for one in some])
