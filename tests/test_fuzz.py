"""A short run of the fuzzer, always the same one; `python -m tools.fuzz --seconds 3600 --seed 7` is a long one."""

from __future__ import annotations

import pytest

from patcher.engine import answers
from patcher.errors import PatchError
from tools import fuzz

pytestmark = pytest.mark.once

CASES = 500
# The other tests are about how the fuzzer reports a fault of the engine. None is known, so they put one into it.


def test_every_case_has_an_answer_and_no_damage() -> None:
    said: list[str] = []
    counts, found = fuzz.fuzz(20, iter(range(CASES)), lambda: True, said.append)
    assert not found, "\n".join(said)
    assert counts["cases"] == CASES
    assert counts["changed"] >= CASES // 20, counts  # it would find nothing if every case were refused
    assert counts["patchset.toml read"]
    assert {"applicable", "conflict", "not found", "refused when loaded"} <= counts.keys()


# no input is known with which the engine fails: the next tests put a fault into it
def test_a_fault_is_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    real = answers.compile_hunks

    def broken(hunks, options):  # type: ignore[no-untyped-def]
        if any("max(" in line for hunk in hunks for _, line, _ in hunk.lines):
            raise KeyError("max")
        return real(hunks, options)

    monkeypatch.setattr(answers, "compile_hunks", broken)  # here and below: the engine with a fault, which it has not
    case = fuzz.Case(b"def f(a):\n    b = 1\n    old(a)\n", "--- p/m.py\n@@ f @@\n b = 1\n-old($X)\n+max($X)\n+print(1)\n", {})
    finding = fuzz.classified(case)
    assert finding is not None
    assert finding.key == "KeyError in test_fuzz.py broken"
    small = fuzz.smaller(case, finding)
    assert small.data == b""
    assert small.spatch.count("\n") <= 4
    assert "max(" in small.spatch


def test_a_hang_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(answers, "compile_hunks", forever)
    monkeypatch.setattr(fuzz, "CPU_SECONDS", 0.2)
    finding = fuzz.classified(fuzz.Case(b"", "--- p/m.py\n@@ f @@\n-a.b\n+c.d\n", {}))
    assert finding is not None
    assert finding.key == "hang"


def test_an_error_for_the_user_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise PatchError("case.spatch:1: wrong")

    monkeypatch.setattr(answers, "compile_hunks", refusing)
    assert fuzz.classified(fuzz.Case(b"", "--- p/m.py\n@@ f @@\n-a.b\n+c.d\n", {})) is None


def test_damage_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    case = fuzz.Case(b"def f(a):\n    x = a.b\n", "--- p/m.py\n@@ f @@\n-a.b\n+a.c\n", {})
    assert fuzz.classified(case) is None
    real = answers.apply_splices
    monkeypatch.setattr(answers, "apply_splices", lambda data, splices: real(data, splices) + b"#\n")
    finding = fuzz.classified(case)
    assert finding is not None
    assert finding.key == "the splices do not give the result"
