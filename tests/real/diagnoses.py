"""What `sitepatch diagnose` makes of a log."""

import json
import subprocess
import sys

from conftest import COMMAND_ROOT


def diagnose(log, *words):
    """What `diagnose --json` makes of a text on standard input, and its exit code."""
    command = [sys.executable, "-m", "patcher", "diagnose", "--json", *map(str, words)]
    completed = subprocess.run(command, cwd=COMMAND_ROOT, input=log.encode(), stdout=subprocess.PIPE)
    return json.loads(completed.stdout), completed.returncode


def only_wrap(answer):
    """The one place where the ranks wrapped their model."""
    (shown,) = answer["shown"]
    (wrap,) = shown["wraps"]
    return wrap
