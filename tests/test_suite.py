"""The suite itself: how it may be started, and what its parts hold."""

import signal
import subprocess
import sys

from tests.command import ROOT
from tests.conftest import QUICK


def test_it_may_be_started_in_the_background_of_a_shell_which_ignores_ctrl_c():
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    code = f"import subprocess, sys, tests.conftest; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=str(ROOT), stdout=subprocess.PIPE, check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    assert ended.stdout == b"True\n"


def test_every_name_of_the_quick_part_is_that_of_a_test_there_is():
    for name in QUICK:
        path, _, test = name.partition("::")
        paths = list(ROOT.glob(f"{path}*.py" if not path.endswith(".py") else path))
        assert paths, name
        assert not test or f"def {test.partition('[')[0]}" in paths[0].read_text(encoding="utf-8"), name
