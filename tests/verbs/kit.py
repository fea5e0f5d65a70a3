"""What tests of the commands ask the functions with, in this process."""

from patcher.display.console import Console
from patcher.place import Events


def console(*, as_json=False, quiet=False, verbose=False):
    return Console("test", as_json, quiet, verbose)


class Progress(Events):
    """Keeps how far each step was, and of how many."""

    def __init__(self):
        self.steps = []

    def progress(self, done, total, work):
        self.steps.append((done, total))
