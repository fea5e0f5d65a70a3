"""The suite itself: how it may be started, and what its selections contain."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import patcher
from tests.command import ROOT
from tests.conftest import CHOSEN, LONG, QUICK, SAMPLED, SLOW


def test_the_tests_may_be_started_in_the_background_of_a_shell_which_ignores_ctrl_c():
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    code = f"import subprocess, sys, tests.conftest; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=str(ROOT), stdout=subprocess.PIPE, check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    assert ended.stdout == b"True\n"


def test_every_name_in_a_selection_is_that_of_a_test():
    for name in (*QUICK, *CHOSEN, *LONG, *SAMPLED, *SLOW):
        path, _, test = name.partition("::")
        paths = list(ROOT.glob(f"{path}*.py" if not path.endswith((".py", "/")) else path))
        assert paths, name
        assert not test or f"def {test.partition('[')[0]}" in paths[0].read_text(encoding="utf-8"), name


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "whole"), [([], False), (["--all"], True), (["tests/faults"], True), (["-m", "once"], True), (["-k", "soak"], True)]
)
def test_a_selection_is_made_only_where_no_tests_are_named(words, whole):
    """A long test is not in the selection, and runs where it is named."""
    others = [path for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name not in ("faults", "text")]
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--ignore-glob=tests/test_*", *(f"--ignore={path}" for path in others), *words]
    listed = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, check=True, text=True).stdout
    assert ("tests/faults/test_soak.py::" in listed) == whole


def test_the_checkout_is_tested_whatever_is_installed():
    assert Path(patcher.__file__) == ROOT / "patcher/__init__.py"
