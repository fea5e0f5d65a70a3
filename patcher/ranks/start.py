"""Starts ranks of the target interpreter on this machine and watches them: how far each came, and what it wrote."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.message import Message
from patcher.model import Progress
from patcher.system.process import alone, kill_group

STEPS = ("import torch", "device", "start", "all-reduce", "barrier", "end")  # as child.py does them
_GRACE = 1.0  # seconds that the others have once one rank has failed, and that all have once the time is up
_AFTER = 0.1  # seconds after the time is up at which a rank that still runs says where it is
_KEPT = 1 << 16  # bytes of a rank's output, the last ones
_NO_ANSWER = 1.0  # seconds after which a rank that has ended without a word is no longer waited for


class TrialRequest(NamedTuple):
    """What to try: an interpreter and what it searches, `size` ranks, by which backend ("": the one that fits).

    With `ahead` the directories of `search` come before what the interpreter searches by itself, else they are all that it
    searches. `vendors` are packages that add a device to torch: imported where torch sees none. `limit` is in seconds.
    """

    python: str
    search: Tuple[str, ...]
    ahead: bool
    size: int
    backend: str
    vendors: Tuple[str, ...]
    limit: float


class EndedRank(NamedTuple):
    """How a rank ended: the `steps` that it has done, with their seconds; the one that it was in ("": none, or all are done).

    `problem` is what it raised, one line, and `code` how it ended by itself, None where it was ended or ran out of time;
    `order` counts those that failed, the first one is 0. `output` is the end of what it wrote.
    """

    number: int
    steps: Tuple[Tuple[str, float], ...] = ()
    inside: str = ""
    device: str = ""
    backend: str = ""
    torch: str = ""
    notes: Tuple[str, ...] = ()
    problem: str = ""
    code: Optional[int] = None
    order: Optional[int] = None
    output: bytes = b""

    @property
    def done(self) -> bool:
        """Whether it has done all steps."""
        return len(self.steps) == len(STEPS)


class _Child:
    """A rank that runs."""

    def __init__(self, request: TrialRequest, number: int, meeting: Mapping[str, str], cwd: str, until: float) -> None:
        reader, writer = os.pipe()
        fields = {**request._asdict(), "report": writer, "until": until}
        own = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": request.size, "LOCAL_WORLD_SIZE": request.size}
        try:
            self.process = subprocess.Popen(
                [request.python, "-I", "-B", str(Path(__file__).with_name("child.py")), json.dumps(fields)],
                cwd=cwd,
                env={**alone(), **{name: str(value) for name, value in own.items()}, **meeting},
                stdin=subprocess.PIPE,  # never written to: the rank ends where nobody holds it any more
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[writer],
                start_new_session=True,
            )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        assert self.process.stdout is not None
        self.report, self.output = reader, self.process.stdout.fileno()
        self.rank = EndedRank(number)
        self._held = b""

    def close(self) -> None:
        """End the rank and all that it has started."""
        kill_group(self.process)
        os.close(self.report)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def take_report(self, data: bytes) -> None:
        """Take what came over the report's pipe."""
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line.decode("ascii")))

    def _take(self, fields: Dict[str, Any]) -> None:
        if "begin" in fields:
            self.rank = self.rank._replace(inside=fields["begin"])
        elif "end" in fields:
            steps = (*self.rank.steps, (fields["end"], fields["seconds"]))
            self.rank = self.rank._replace(steps=steps, inside="")
        elif "note" in fields:
            note = _note(*fields["note"])
            self.rank = self.rank._replace(notes=(*self.rank.notes, note))
        else:  # torch, device and backend, or a problem
            self.rank = self.rank._replace(**fields)

    def take_output(self, data: bytes) -> None:
        """Take what came from stdout and stderr."""
        self.rank = self.rank._replace(output=(self.rank.output + data)[-_KEPT:])


def try_ranks(request: TrialRequest, progress: Progress) -> Tuple[EndedRank, ...]:
    """Start the ranks, and end when all have ended, when the time is up, or soon after one of them has failed.

    Raises:
        OSError: the interpreter cannot be started.
    """
    with ExitStack() as stack:
        cwd = stack.enter_context(tempfile.TemporaryDirectory(prefix="sitepatch-ranks-"))
        children: List[_Child] = []
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        begun, until = time.monotonic(), time.time() + request.limit + _AFTER
        for number in range(request.size):
            child = _Child(request, number, meeting, cwd, until)
            stack.callback(child.close)
            children.append(child)
        _watch(children, begun, request.limit, progress)
        return tuple(child.rank for child in children)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _watch(children: Sequence[_Child], begun: float, limit: float, progress: Progress) -> None:
    """Follow the ranks to their end. Who fails once the time is up has not failed: another rank has not arrived."""
    until, failed, reporting = begun + limit + _GRACE, 0, list(children)
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.report, selectors.EVENT_READ, (child, child.take_report))
            selector.register(child.output, selectors.EVENT_READ, (child, child.take_output))
        while selector.get_map() and time.monotonic() < until:
            silent = {child.report for child in reporting if child.process.poll() is not None}
            for key, _ in selector.select(min(0.2, max(0.0, until - time.monotonic()))):
                child, take = key.data
                data = os.read(key.fd, 1 << 16)
                if data:
                    take(data)
                    silent.discard(key.fd)
                else:
                    selector.unregister(key.fd)
                    silent.add(key.fd)
            for child in [one for one in reporting if one.rank.done or one.report in silent]:
                reporting.remove(child)  # a process that it has left behind may still hold its pipes
                if not child.rank.done and time.monotonic() < begun + limit:
                    code = _code(child)
                    child.rank = child.rank._replace(code=code, order=failed)
                    failed += 1
                    until = min(until, time.monotonic() + _GRACE)
            if not reporting:
                until = min(until, time.monotonic() + _GRACE)
            there = sum(child.rank.done for child in children)
            progress(there, len(children), Message("ranks are done"))


def _note(word: str, name: str, number: int = 0, size: int = 0) -> str:
    """What a rank remarks, of which `child.py` gives a word and its fields."""
    if word == "imported":
        return Message("{name} was imported", name=name)
    why = Message("no backend is registered for {kind}", kind=name)
    why = Message("there is {number} {kind} for {size} ranks", number=number, kind=name, size=size) if size else why
    return Message("{why}: tried on the CPU, by gloo", why=why)


def _code(child: _Child) -> Optional[int]:
    """How a rank ended that has closed its report, None where it goes on all the same."""
    try:
        return child.process.wait(_NO_ANSWER)
    except subprocess.TimeoutExpired:
        return None
