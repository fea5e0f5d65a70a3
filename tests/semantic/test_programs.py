"""Some of the random programs of `python -m tests.programs`, which tries as many as there is time for."""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import pytest

from tests import programs

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.version_info < (3, 11), reason="the programs have `except*`")]


def test_a_change_of_a_program_as_hunks_is_what_its_lines_say() -> None:
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(100):
            made = programs.program(seed)
            said, why = programs.answer(made)
            assert said != "WRONG", f"seed {seed}: {why}\n{made.before}\n{made.spatch}\nexpected:\n{made.after}"
            counts[said] += 1
    assert counts["applicable"] >= 30
