"""What the operating system gives: files, processes, locks.

And the variables of the environment that say how long something may take.
"""

from __future__ import annotations

import os
from contextlib import suppress

from patcher.errors import UsageError


def seconds_of(variable: str, default: float) -> float:
    """The seconds that a variable of the environment names; `default` if it is not set.

    Raises:
        UsageError: it is no number of seconds above 0.
    """
    text = os.environ.get(variable) or str(default)
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):  # not nan
            return float(text)
    template = "{variable}={text}: expected a number of seconds, above 0"
    raise UsageError(template, variable=variable, text=text)
