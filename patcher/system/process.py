"""Runs a command within a limit of time and of output; nothing of its process group outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import IO, Callable, Mapping, Sequence

from patcher.message import Message, joined
from patcher.record import Record

_TAIL = 16384  # bytes of output, the last ones
_PIPE = 1 << 20  # bytes that may still be in a pipe when the process has ended
_LOOK = 0.05  # seconds between two looks whether a silent process has ended
_LINES = 12  # of a traceback or of output, the last ones
# what changes imports, and what a launcher sets for its ranks: a lone import would wait for the
# others
_DROPPED = (
    "PYTHON",
    "SITEPATCH",
    "_SITEPATCH",
    "TORCHELASTIC_",
    "MASTER_",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "NODE_RANK",
)


class Ended(Record):
    """How a command ended: `code` as of subprocess (-9 for SIGKILL), None if the limit ended it.

    `output` is the end of what it wrote to stdout and stderr, `seconds` how long it ran.
    """

    code: int | None
    output: str
    seconds: float


def run_process(
    command: Sequence[str],
    cwd: str,
    environ: Mapping[str, str],
    limit: float,
    enter: Callable[[], None] | None = None,
) -> Ended:
    """Run a command in a session of its own, without stdin; then its whole process group is killed.

    Args:
        command: the program and its arguments.
        cwd: the working directory.
        environ: all of its environment variables.
        limit: seconds that it may run.
        enter: called in the new process before the program is started.

    Raises:
        OSError: it cannot be started.
    """
    start = time.monotonic()
    child = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=enter,
    )
    assert child.stdout is not None
    try:
        tail, in_time = _follow(child, child.stdout, deadline=start + limit)
    finally:
        kill_group(child)
        child.stdout.close()
    code = child.returncode if in_time else None
    output = tail.decode("utf-8", "replace")
    return Ended(code, output, seconds=time.monotonic() - start)


def _follow(child: subprocess.Popen[bytes], pipe: IO[bytes], deadline: float) -> tuple[bytes, bool]:
    """The end of the output, and whether the child ended before the deadline.

    The pipe may stay open after the child (a process that it left behind has it) and may be closed
    before it.
    """
    tail = b""
    left = _PIPE
    is_open = True
    while True:
        has_ended = child.poll() is not None
        wait = 0.0 if has_ended else min(_LOOK, deadline - time.monotonic())
        if wait < 0:
            return tail, False

        ready = is_open and select.select([pipe], [], [], wait)[0]
        if ready:
            data = os.read(pipe.fileno(), 65536)
            is_open = bool(data)
            tail = (tail + data)[-_TAIL:]
            if has_ended:
                left -= len(data)

        if has_ended and (not ready or left <= 0):
            return tail, True
        if not is_open and not has_ended:
            with suppress(subprocess.TimeoutExpired):
                child.wait(wait)


def alone() -> dict[str, str]:
    """The variables for a process, without those of launchers and hooks; it writes no bytecode."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables["SITEPATCH_HOOK"] = "off"
    return variables


def ending(code: int) -> str:
    """How a process ended, in words; `code` as of subprocess."""
    if code < 0:
        names = {int(number): number.name for number in signal.Signals}
        template = "the process was killed by {name}"
        return Message(template, name=names.get(-code, f"signal {-code}"))
    return Message("the process ended with exit code {code}", code=code)


def relevant_lines(output: str, own_paths: Sequence[str]) -> str:
    """The last lines of output; of stacks that faulthandler wrote, the last one of Python calls.

    It writes one for each thread, the main thread's last, and from Python 3.14 on one of C calls
    after them. Calls in files whose path has one of `own_paths` in it are left out.
    """
    head, *stacks = output.split(" (most recent call first):\n")
    for stack in reversed(stacks):
        calls = _calls(stack, ["<frozen importlib", *own_paths])
        if calls:
            before = last_lines(head.rpartition("\n")[0])
            return joined("\n", [before, Message("innermost call first:"), *calls[:_LINES]])
    return last_lines(output)


def _calls(stack: str, left_out: Sequence[str]) -> list[str]:
    """The lines of a stack that are Python calls, but for those in files of such paths."""
    calls: list[str] = []
    for line in stack.split("\n"):
        if line.startswith("  File ") and not any(path in line for path in left_out):
            calls.append(line)
    return calls


def last_lines(output: str) -> str:
    """The last dozen lines of a text."""
    return "\n".join(output.rstrip().split("\n")[-_LINES:])


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a child that leads a process group, and wait for it."""
    with suppress(OSError):  # nothing of it is left
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
