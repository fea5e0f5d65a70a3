"""Several tasks at a time, in threads: what waits for a disk or an index."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import Callable, Sequence, TypeVar

_T = TypeVar("_T")


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
    from concurrent.futures import Future  # with logging: few commands wait for an index

    waiting = deque(enumerate(tasks))
    futures: list[Future[_T]] = [Future() for _ in tasks]

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was faster
                number, task = waiting.popleft()
                try:
                    futures[number].set_result(task())
                except BaseException as error:
                    futures[number].set_exception(error)

    results: list[_T] = []
    try:
        # daemons, since nothing ends one that waits for an index
        for _ in range(min(jobs, len(tasks))):
            threading.Thread(target=work, daemon=True).start()
        for future in futures:
            report(len(results))
            results.append(future.result())
        if tasks:
            report(len(tasks))
    except BaseException:
        waiting.clear()
        stop()
        raise
    return results
