"""Hunks of random programs; `python -m tests.programs --seconds 600 --seed 8` tries more of them."""

from collections import Counter

import pytest

from tests import programs

pytestmark = pytest.mark.once


def test_what_is_applied_is_what_the_lines_of_the_hunk_say():
    said = {seed: programs.answer(programs.program(seed)) for seed in range(300)}
    assert [seed for seed, answer in said.items() if answer == "WRONG"] == []
    counts = Counter(said.values())
    assert counts["applicable"] > 100 and counts["conflict"] < 60, counts


def test_a_wrong_result_is_seen(monkeypatch):
    def careless(data, hunks, options):
        result = real(data, hunks, options)
        return result._replace(data=result.data.replace(b"max(", b"min("))

    real = programs.rewrite
    monkeypatch.setattr(programs, "rewrite", careless)
    assert "WRONG" in {programs.answer(programs.program(seed)) for seed in range(60)}
