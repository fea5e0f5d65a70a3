"""Helpers for tests that call the functions behind the commands in this process."""

from patcher.display.console import Console
from patcher.place import Events


def console(*, as_json=False, quiet=False, verbose=False):
    return Console("test", as_json, quiet, verbose)


class Progress(Events):
    """Records the progress of each step, and its total."""

    def __init__(self):
        self.steps = []

    def progress(self, number, total, work):
        self.steps.append((number, total))
