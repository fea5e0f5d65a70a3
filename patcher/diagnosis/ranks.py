"""Starts a few ranks of the target interpreter on this machine, watches how far each comes, and says whether they can talk."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from patcher.message import Message
from patcher.model import Progress
from patcher.system.process import alone, ending, kill_group, relevant_lines
from patcher.text.listed import listed
from patcher.text.listed import ranks as numbered

OK, FAILED, LATE, WAITED = "ok", "failed", "late", "waited"
# as child.py does them
_STEPS = (
    "import torch",
    "device",
    "start",
    "all-reduce",
    "barrier",
    "end",
)
_TOGETHER = ("start", "all-reduce", "barrier")  # steps that no rank does alone
_NAMES = {
    "start": Message("the start of the process group"),
    "device": Message("the choice of the device"),
    "all-reduce": Message("the all-reduce"),
    "barrier": Message("the barrier"),
    "end": Message("the end of the group"),
}
_GRACE = 1.0  # seconds that the others have once one rank has failed, and that all have once the time is up
_AFTER = 0.1  # seconds after the time is up at which a rank that still runs says where it is
_PAUSE = 0.05  # seconds between two looks
_KEPT = 1 << 16  # bytes of a rank's output, the last ones
_NO_TORCH = "No module named 'torch'"
# frames that say nothing of torch
_OWN = (
    "diagnosis/child.py",
    "importlib/__init__.py",
    "threading.py",
)


class EndedRank(NamedTuple):
    """How a rank ended: the `steps` that it has done, with their seconds; the one that it was in ("": none, or all are done).

    `problem` is what it raised, one line. `code` is how it ended by itself, None where it was ended or ran out of time; `time`
    is when it reported last, or was seen to have ended without a word. `output` is the end of what it wrote.
    """

    number: int
    steps: Sequence[tuple[str, float]] = ()
    inside: str = ""
    device: str = ""
    backend: str = ""
    torch: str = ""
    notes: Sequence[Sequence[Any]] = ()
    problem: str = ""
    time: float = 0.0
    code: int | None = None
    output: bytes = b""

    @property
    def done(self) -> bool:
        """Whether it has done all steps."""
        return len(self.steps) == len(_STEPS)

    @property
    def place(self) -> str:
        """The step that it is in, or has to begin."""
        name = self.inside or ("" if self.done else _STEPS[len(self.steps)])
        return _NAMES.get(name, name)

    @property
    def failure(self) -> str:
        """Why it failed, in one line; "" where it did not."""
        return "" if self.code is None else self.problem or ending(self.code)

    @property
    def last_calls(self) -> str:
        """The last lines of its output, or the calls that it was in."""
        return relevant_lines(self.output.decode("utf-8", "replace"), _OWN)

    @property
    def remarks(self) -> list[str]:
        """What it remarks on the device and the backend, of which `child.py` gives a word and its fields."""
        return [_remark(*note) for note in self.notes]


def _remark(word: str, name: str, number: int = 0, size: int = 0) -> str:
    if word == "imported":
        return Message("{name} was imported", name=name)
    why = Message("no backend is registered for {kind}", kind=name)
    why = (
        Message("there is {number} {kind} for {size} ranks", number=number, kind=name, size=size)
        if size
        else why
    )
    return Message("{why}: tried on the CPU, by gloo", why=why)


class _Child:
    """A rank that runs; it writes how far it is, and what torch writes, into files of this folder."""

    def __init__(
        self,
        python: str,
        number: int,
        request: Mapping[str, Any],
        meeting: Mapping[str, str],
        folder: str,
    ) -> None:
        self.rank = EndedRank(number)
        self._report, self._output = (
            Path(folder, f"{name}{number}") for name in ("report", "output")
        )
        own = {
            "RANK": number,
            "LOCAL_RANK": number,
            "WORLD_SIZE": request["size"],
            "LOCAL_WORLD_SIZE": request["size"],
        }
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    python,
                    "-I",
                    "-B",
                    str(Path(__file__).with_name("child.py")),
                    json.dumps(request),
                    str(self._report),
                ],
                cwd=folder,
                env={**alone(), **{name: str(value) for name, value in own.items()}, **meeting},
                stdin=subprocess.PIPE,  # never written to: the rank ends where nobody holds it any more
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def look(self) -> bool:
        """Read how far it is; whether it has ended, or done all that it has to."""
        gone = self.process.poll() is not None
        lines = self._report.read_bytes().split(b"\n") if self._report.exists() else []
        # the last one that was written whole
        self.rank = self.rank._replace(**(json.loads(lines[-2]) if lines[1:] else {}))
        return gone or self.rank.done

    def ended(self) -> EndedRank:
        """How it ended, or was ended just now."""
        with self._output.open("rb") as file:
            file.seek(-min(_KEPT, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return self.rank._replace(output=file.read())

    def close(self) -> None:
        """End the rank and all that it has started."""
        kill_group(self.process)
        if self.process.stdin is not None:
            self.process.stdin.close()


def try_ranks(
    python: str, size: int, request: Mapping[str, Any], limit: float, progress: Progress
) -> tuple[EndedRank, ...]:
    """Start ranks, and end when all have ended, when the time is up, or soon after one of them has failed.

    Args:
        python: the interpreter.
        size: how many ranks.
        request: what `child.py` is told: `search`, `ahead`, `vendors`, `backend`.
        limit: how many seconds they have.
        progress: takes how many of them are done.

    Raises:
        OSError: the interpreter cannot be started.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sitepatch-ranks-"))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        begun, children = time.monotonic(), []
        whole = {**request, "size": size, "limit": limit, "until": time.time() + limit + _AFTER}
        for number in range(size):
            children.append(_Child(python, number, whole, meeting, folder))
            stack.callback(children[-1].close)
        _watch(children, begun + limit, progress)
        return tuple(child.ended() for child in children)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _watch(children: Sequence[_Child], limit: float, progress: Progress) -> None:
    """Follow the ranks to their end. Who fails once the time is up has not failed: another rank has not arrived."""
    until, running = limit + _GRACE, list(children)
    while running and time.monotonic() < until:
        for child in [child for child in running if child.look()]:
            running.remove(child)
            if not child.rank.done and time.monotonic() < limit:
                seen = child.rank.time if child.rank.problem else time.monotonic()
                child.rank = child.rank._replace(code=child.process.returncode, time=seen)
                until = min(until, time.monotonic() + _GRACE)
        progress(
            sum(child.rank.done for child in children), len(children), Message("ranks are done")
        )
        time.sleep(_PAUSE)


# the verdict ----------------------------------------------------------------------------------------------------------
class Verdict(NamedTuple):
    """Whether the ranks can talk: `text` says it, `hint` what can be done ("": nothing more), `states` are those of the ranks.

    A state is OK, FAILED (it failed first, or in the same way as that one), LATE (the others waited for it), or WAITED.
    """

    ok: bool
    text: str
    hint: str
    states: tuple[str, ...]


def verdict_on(ranks: Sequence[EndedRank], limit: float) -> Verdict:
    """The verdict on ranks that had `limit` seconds."""
    text = hint = ""
    failed = [rank for rank in ranks if rank.failure]
    left = [rank for rank in ranks if not rank.done]
    if failed:  # one that was killed raises nothing; the others do then
        first = min(failed, key=lambda rank: (bool(rank.problem), rank.time))
        named = [
            rank for rank in failed if (rank.inside, rank.failure) == (first.inside, first.failure)
        ]
        text = Message(
            "{ranks} failed in {place}: {failure}",
            ranks=_called(named),
            place=first.place,
            failure=first.failure,
        )
        if _NO_TORCH in first.failure:
            hint = Message("install PyTorch there, or name an environment that has it: --python")
    elif left:  # those that have come least far are those that the others wait for
        named = [rank for rank in left if len(rank.steps) == min(len(rank.steps) for rank in left)]
        text, hint = _delay(named, max(left, key=lambda rank: len(rank.steps)), len(ranks), limit)
    else:
        named = []
        text = Message(
            "{able} by {first.backend} on {devices}: {seconds:.2f} s in all (torch {first.torch})",
            able=Message(
                "{ranks} can talk" if ranks[1:] else "{ranks} can start", ranks=_called(ranks)
            ),
            first=ranks[0],
            devices=listed(list(dict.fromkeys(rank.device for rank in ranks))),
            seconds=max(
                sum(seconds for name, seconds in rank.steps if name in _TOGETHER) for rank in ranks
            ),
        )
    states = (
        FAILED
        if failed and rank in named
        else LATE
        if rank in named
        else OK
        if rank.done
        else WAITED
        for rank in ranks
    )
    return Verdict(not left, text, hint, tuple(states))


def _delay(
    late: Sequence[EndedRank], furthest: EndedRank, size: int, limit: float
) -> tuple[str, str]:
    """Nobody failed, and the time is up: where the ranks stand that are late, and what to do."""
    said = {
        "ranks": _called(late),
        "inside": late[0].place,
        "limit": limit,
        "place": furthest.place,
    }
    hint = Message("the calls below say where; the other ranks would have waited for ever")
    if len(late) < size and furthest in late:
        return Message("{ranks} did not come out of {inside} within {limit:g} s", **said), hint
    if len(late) < size:
        return Message(
            "{ranks} did not arrive at {place} within {limit:g} s, still in {inside}", **said
        ), hint
    if late[0].inside not in _TOGETHER:
        hint = Message("the calls below say where; more time: --timeout")
        return Message("no rank came out of {inside} within {limit:g} s", **said), hint
    hint = Message(
        "what they send does not arrive: name the interface, GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME; see NCCL_DEBUG=INFO"
    )
    return Message(
        "all ranks arrived at {inside}, and none came out of it within {limit:g} s", **said
    ), hint


def _called(ranks: Sequence[EndedRank]) -> str:
    return numbered([rank.number for rank in ranks])


# as JSON --------------------------------------------------------------------------------------------------------------
def trial_json(ranks: Sequence[EndedRank], verdict: Verdict, limit: float) -> dict[str, Any]:
    """The field `trial`; `limit` is how many seconds the ranks had."""
    states = [_rank_json(*pair) for pair in zip(ranks, verdict.states)]
    return {
        "ok": verdict.ok,
        "verdict": verdict.text,
        "hint": verdict.hint,
        "timeout": limit,
        "ranks": states,
    }


def _rank_json(rank: EndedRank, state: str) -> dict[str, Any]:
    steps = [{"name": name, "seconds": round(seconds, 3)} for name, seconds in rank.steps]
    known = {name: getattr(rank, name) for name in ("inside", "device", "backend", "torch")}
    told = {
        "notes": rank.remarks,
        "problem": rank.failure,
        "output": "" if state == OK else rank.last_calls,
    }
    return {"rank": rank.number, "state": state, "steps": steps, **known, **told}
