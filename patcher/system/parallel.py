"""Several tasks at a time, in threads: what waits for a disk or an index."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import Callable, Generic, Sequence, TypeVar

_T = TypeVar("_T")


class _Run(Generic[_T]):
    """One task, and what came of it; `concurrent.futures` has this too, and loads `logging`."""

    value: _T

    def __init__(self, task: Callable[[], _T]) -> None:
        self._task = task
        self._ended = threading.Event()
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self._task()
        except BaseException as error:
            self._error = error
        self._ended.set()

    def result(self) -> _T:
        """What the task returned or raised, once it has."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self.value


def in_parallel(
    tasks: Sequence[Callable[[], _T]],
    jobs: int,
    report: Callable[[int], None],
    stop: Callable[[], None] = lambda: None,
) -> list[_T]:
    """Run tasks; once this ends early (Ctrl-C), no further one is started.

    Args:
        tasks: the tasks.
        jobs: how many run at a time.
        report: takes how many are done, counted in their order.
        stop: ends the tasks that are running when this ends early.

    Returns:
        the results, in the order of the tasks.

    Raises:
        BaseException: that of the first task, in their order, that fails.
    """
    runs = [_Run(task) for task in tasks]
    waiting = deque(runs)

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was faster
                run = waiting.popleft()
                run.run()

    results: list[_T] = []
    try:
        # daemons, since nothing ends one that waits for an index
        for _ in range(min(jobs, len(tasks))):
            threading.Thread(target=work, daemon=True).start()
        for run in runs:
            report(len(results))
            results.append(run.result())
        if tasks:
            report(len(tasks))
    except BaseException:
        waiting.clear()
        stop()
        raise
    return results
