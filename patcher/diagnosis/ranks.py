"""Starts ranks of the target interpreter, watches how far they come, says whether they can talk."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Mapping, Sequence

from patcher.message import Message
from patcher.model import Progress
from patcher.record import Record
from patcher.system.process import alone, ending, kill_group, relevant_lines
from patcher.text.listed import listed
from patcher.text.listed import ranks as numbered

OK, FAILED, LATE, WAITED = "ok", "failed", "late", "waited"
_STEPS = ("import torch", "device", "start", "all-reduce", "barrier", "end")  # as child.py has them
_TOGETHER = ("start", "all-reduce", "barrier")  # steps that no rank does alone
_NAMES = {
    "start": Message("the start of the process group"),
    "device": Message("the choice of the device"),
    "all-reduce": Message("the all-reduce"),
    "barrier": Message("the barrier"),
    "end": Message("the end of the group"),
}
_GRACE = 1.0
"""Seconds that the others have once one rank has failed, and that all have once the time is up."""
_AFTER = 0.1  # seconds after the time is up at which a rank that still runs says where it is
_PAUSE = 0.05  # seconds between two looks
_KEPT = 1 << 16  # bytes of a rank's output, the last ones
_NO_TORCH = "No module named 'torch'"
_OWN = ("diagnosis/child.py", "importlib/__init__.py", "threading.py")
"""Frames that say nothing of torch."""


class EndedRank(Record):
    """How a rank ended.

    `steps` are those that it has done, with their seconds; `inside` is the one that it was in ("":
    none, or all are done). `problem` is what it raised, one line. `code` is how it ended by itself,
    None where it was ended or ran out of time; `time` is when it reported last, or was seen to have
    ended without a word. `output` is the end of what it wrote.
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
        name = self.inside
        if not name and not self.done:
            name = _STEPS[len(self.steps)]
        return _NAMES.get(name, name)

    @property
    def failure(self) -> str:
        """Why it failed, in one line; "" where it did not."""
        if self.code is None:
            return ""
        return self.problem or ending(self.code)

    @property
    def last_calls(self) -> str:
        """The last lines of its output, or the calls that it was in."""
        return relevant_lines(self.output.decode("utf-8", "replace"), _OWN)

    @property
    def remarks(self) -> list[str]:
        """What it remarks on the device and the backend; `child.py` gives a word and its fields."""
        return [_remark(*note) for note in self.notes]


def _remark(word: str, name: str, number: int = 0, size: int = 0) -> str:
    if word == "imported":
        return Message("{name} was imported", name=name)
    reason = Message("no backend is registered for {kind}", kind=name)
    if size:
        template = "there is {number} {kind} for {size} ranks"
        reason = Message(template, number=number, kind=name, size=size)
    return Message("{why}: tried on the CPU, by gloo", why=reason)


# starting and watching ----------------------------------------------------------------------------
class _Child:
    """A rank that runs; it writes how far it is, and what torch writes, into files of a folder.

    Args:
        python: the interpreter.
        number: its rank.
        request: the request for `child.py`.
        meeting: the variables that say where the ranks meet.
        folder: where it works.
    """

    def __init__(
        self,
        python: str,
        number: int,
        *,
        request: Mapping[str, Any],
        meeting: Mapping[str, str],
        folder: str,
    ) -> None:
        self.rank = EndedRank(number)
        self._report = Path(folder, f"report{number}")
        self._output = Path(folder, f"output{number}")
        script = str(Path(__file__).with_name("child.py"))
        size = str(request["size"])
        environ = {
            **alone(),
            "RANK": str(number),
            "LOCAL_RANK": str(number),
            "WORLD_SIZE": size,
            "LOCAL_WORLD_SIZE": size,
            **meeting,
        }
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [python, "-I", "-B", script, json.dumps(request), str(self._report)],
                cwd=folder,
                env=environ,
                # never written to: the rank ends where nobody holds it any more
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def look(self) -> bool:
        """Read how far it is; whether it has ended, or done all that it has to."""
        has_ended = self.process.poll() is not None
        if self._report.exists():
            lines = self._report.read_bytes().split(b"\n")
            if len(lines) > 1:  # the last but one is the last that was written whole
                self.rank = self.rank._replace(**json.loads(lines[-2]))
        return has_ended or self.rank.done

    def ended(self) -> EndedRank:
        """How it ended, or was ended just now."""
        with self._output.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(-min(_KEPT, size), os.SEEK_END)
            return self.rank._replace(output=file.read())

    def close(self) -> None:
        """End the rank and all that it has started."""
        kill_group(self.process)
        if self.process.stdin is not None:
            self.process.stdin.close()


def try_ranks(
    python: str, size: int, request: Mapping[str, Any], limit: float, progress: Progress
) -> tuple[EndedRank, ...]:
    """Start ranks; end when all have ended, when the time is up, or soon after one has failed.

    Args:
        python: the interpreter.
        size: how many ranks.
        request: the request for `child.py`: `search`, `ahead`, `vendors`, `backend`.
        limit: how many seconds they have.
        progress: takes how many of them are done.

    Raises:
        OSError: the interpreter cannot be started.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sitepatch-ranks-"))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        end = time.monotonic() + limit
        until = time.time() + limit + _AFTER
        request = {**request, "size": size, "limit": limit, "until": until}
        children = []
        for number in range(size):
            child = _Child(python, number, request=request, meeting=meeting, folder=folder)
            stack.callback(child.close)
            children.append(child)
        _watch(children, end, progress)
        return tuple(child.ended() for child in children)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _watch(children: Sequence[_Child], limit: float, progress: Progress) -> None:
    """Follow the ranks to their end.

    Who fails once the time is up has not failed: another rank has not arrived.
    """
    until = limit + _GRACE
    running = list(children)
    while running and time.monotonic() < until:
        for child in list(running):
            if not child.look():
                continue
            running.remove(child)
            now = time.monotonic()
            if not child.rank.done and now < limit:
                failed_at = child.rank.time if child.rank.problem else now
                child.rank = child.rank._replace(code=child.process.returncode, time=failed_at)
                until = min(until, now + _GRACE)
        done = sum(child.rank.done for child in children)
        progress(done, len(children), Message("ranks are done"))
        time.sleep(_PAUSE)


# the verdict --------------------------------------------------------------------------------------
class Verdict(Record):
    """Whether the ranks can talk: `text` says it, `hint` what can be done ("": nothing more).

    `states` are those of the ranks. A state is OK, FAILED (it failed first, or in the same way as
    that one), LATE (the others waited for it), or WAITED.
    """

    ok: bool
    text: str
    hint: str
    states: tuple[str, ...]


def verdict_on(ranks: Sequence[EndedRank], limit: float) -> Verdict:
    """The verdict on ranks that had `limit` seconds."""
    failed = [rank for rank in ranks if rank.failure]
    running = [rank for rank in ranks if not rank.done]
    if failed:
        named = _like_the_first(failed)
        text, hint = _failure(named)
        return Verdict(not running, text, hint=hint, states=_states(ranks, named, FAILED))
    if running:  # those that have come least far are those that the others wait for
        least = min(len(rank.steps) for rank in running)
        named = [rank for rank in running if len(rank.steps) == least]
        furthest = max(running, key=lambda rank: len(rank.steps))
        text, hint = _delay(named, furthest, len(ranks), limit)
        return Verdict(False, text, hint=hint, states=_states(ranks, named, LATE))
    return Verdict(True, _success(ranks), hint="", states=_states(ranks, [], OK))


def _states(ranks: Sequence[EndedRank], named: Sequence[EndedRank], state: str) -> tuple[str, ...]:
    """The states of all ranks, of which those that are named have this one."""
    states = []
    for rank in ranks:
        if rank in named:
            states.append(state)
        else:
            states.append(OK if rank.done else WAITED)
    return tuple(states)


def _like_the_first(failed: Sequence[EndedRank]) -> list[EndedRank]:
    """The ranks that failed as the first one did."""
    # one that was killed raises nothing; the others do then
    first = min(failed, key=lambda rank: (bool(rank.problem), rank.time))
    how = (first.inside, first.failure)
    return [rank for rank in failed if (rank.inside, rank.failure) == how]


def _failure(named: Sequence[EndedRank]) -> tuple[str, str]:
    """Which ranks failed, in what and why; and what to do."""
    first = named[0]
    template = "{ranks} failed in {place}: {failure}"
    text = Message(template, ranks=_called(named), place=first.place, failure=first.failure)
    if _NO_TORCH in first.failure:
        return text, Message("install PyTorch there, or name an environment that has it: --python")
    return text, ""


def _success(ranks: Sequence[EndedRank]) -> str:
    """Ranks that are done can talk: by what, on which devices, and how long it took."""
    template = "{ranks} can talk" if len(ranks) > 1 else "{ranks} can start"
    longest = 0.0
    for rank in ranks:
        seconds = sum(seconds for name, seconds in rank.steps if name in _TOGETHER)
        longest = max(longest, seconds)
    return Message(
        "{able} by {backend} on {devices}: {seconds:.2f} s in all (torch {torch})",
        able=Message(template, ranks=_called(ranks)),
        backend=ranks[0].backend,
        torch=ranks[0].torch,
        devices=listed(list(dict.fromkeys(rank.device for rank in ranks))),
        seconds=longest,
    )


def _delay(
    late: Sequence[EndedRank], furthest: EndedRank, size: int, limit: float
) -> tuple[str, str]:
    """Nobody failed, and the time is up: where the ranks stand that are late, and what to do."""
    inside = late[0].place
    if len(late) < size:
        hint = Message("the calls below say where; the other ranks would have waited for ever")
        who = _called(late)
        if furthest in late:
            template = "{ranks} did not come out of {inside} within {limit:g} s"
            return Message(template, ranks=who, inside=inside, limit=limit), hint
        template = "{ranks} did not arrive at {place} within {limit:g} s, still in {inside}"
        place = furthest.place
        return Message(template, ranks=who, place=place, limit=limit, inside=inside), hint
    if late[0].inside not in _TOGETHER:
        template = "no rank came out of {inside} within {limit:g} s"
        hint = Message("the calls below say where; more time: --timeout")
        return Message(template, inside=inside, limit=limit), hint
    template = "all ranks arrived at {inside}, and none came out of it within {limit:g} s"
    hint = Message(
        "what they send does not arrive: name the interface, "
        "GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME; see NCCL_DEBUG=INFO"
    )
    return Message(template, inside=inside, limit=limit), hint


def _called(ranks: Sequence[EndedRank]) -> str:
    return numbered([rank.number for rank in ranks])
