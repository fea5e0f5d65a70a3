"""Some of the random programs of `python -m tools.programs`, which tries as many as there is time for."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import pytest

from patcher.engine.engine import rewrite
from patcher.model import apply_splices
from tools import drift, programs

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.version_info < (3, 11), reason="the programs have `except*`")]


def test_the_hunks_of_a_change_make_what_its_lines_say() -> None:
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(300):
            program = programs.program(seed)
            state, why = programs.answer(program)
            assert state != "WRONG", f"seed {seed}: {why}\n{program.before}\n{program.spatch}\nexpected:\n{program.after}"
            counts[state] += 1
    assert counts["applicable"] > 100 and counts["conflict"] < 60, counts


def test_a_hunk_says_what_a_model_says_of_a_later_release() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [drift.case(seed) for seed in range(300)]
        differences = {seed: drift.difference(case) for seed, case in enumerate(cases)}
    states = Counter(case.state for case in cases)
    assert {seed: problem for seed, problem in differences.items() if problem} == {}
    assert min(states.values()) > 20, states


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(data: bytes, hunks: Any, options: Any) -> Any:
        result = rewrite(data, hunks, options)
        splices = tuple(one._replace(new=one.new.replace(b"max(", b"min(")) for one in result.splices)
        return result._replace(splices=splices, data=apply_splices(data, splices))

    monkeypatch.setattr(programs, "rewrite", careless)  # the engine's: it has no known wrong result
    answers = [programs.answer(programs.program(seed)) for seed in range(60)]
    reasons = [why for state, why in answers if state == "WRONG"]
    assert [why for why in reasons if why.startswith("another program")]
