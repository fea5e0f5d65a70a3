"""The verdict on ranks that have ended, however far each has come; and how they are followed to their end."""

import json
import sys

import pytest

from patcher.diagnosis import ranks
from patcher.diagnosis.ranks import EndedRank, verdict_on
from patcher.display.answer import to_json
from patcher.verbs.diagnose_answer import trial_told

STEPS = ("import torch", "device", "start", "all-reduce", "barrier", "end")
GONE = "RuntimeError: Connection closed by peer"
NAMED = "what they send does not arrive: name the interface, GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME; see NCCL_DEBUG=INFO"
BELOW = "the calls below say where; the other ranks would have waited for ever"
TORCH = "install PyTorch there, or name an environment that has it: --python"


def rank(number, done, problem="", code=None, *, time=0.0, inside=None, **facts):
    """A rank that has done so many steps, each a second longer than the one before, and is in the next one."""
    steps = [(name, float(seconds)) for seconds, name in enumerate(STEPS[:done], 1)]
    inside = ("" if done == 6 else STEPS[done]) if inside is None else inside
    return EndedRank(number, steps, inside, f"cpu:{number // 2}", "gloo", "2.7", problem=problem, code=code, time=time, **facts)


@pytest.mark.parametrize(
    ("ended", "text", "hint", "states"),
    [
        ([rank(0, 6)], "rank 0 can start by gloo on cpu:0: 12.00 s in all (torch 2.7)", "", "ok"),
        ([rank(0, 6), rank(1, 6), rank(2, 6)], "ranks 0-2 can talk by gloo on cpu:0 and cpu:1: 12.00 s in all (torch 2.7)", "", "ok ok ok"),
        ([rank(0, 3, GONE, 1, time=1.0), rank(1, 3, "", -11, time=9.0)], "rank 1 failed in the all-reduce: the process was killed by SIGSEGV", "", "waited failed"),
        ([rank(0, 3, GONE, 1, time=2.0), rank(1, 3, "KeyError: 1", 1, time=1.0)], "rank 1 failed in the all-reduce: KeyError: 1", "", "waited failed"),
        ([rank(0, 6), rank(1, 5, GONE, 1), rank(2, 4)], f"rank 1 failed in the end of the group: {GONE}", "", "ok failed waited"),
        ([rank(0, 2, GONE, 1), rank(1, 4, GONE, 1), rank(2, 2, GONE, 1)], f"ranks 0,2 failed in the start of the process group: {GONE}", "", "failed waited failed"),
        ([rank(0, 0, "ModuleNotFoundError: No module named 'torch'", 1)], "rank 0 failed in import torch: ModuleNotFoundError: No module named 'torch'", TORCH, "failed"),
        ([rank(0, 1, "", 1), rank(1, 1)], "rank 0 failed in the choice of the device: the process ended with exit code 1", "", "failed waited"),
        ([rank(0, 2), rank(1, 0), rank(2, 6)], "rank 1 did not arrive at the start of the process group within 2.5 s, still in import torch", BELOW, "waited late ok"),
        ([rank(0, 6), rank(1, 4)], "rank 1 did not come out of the barrier within 2.5 s", BELOW, "ok late"),
        ([rank(0, 3), rank(1, 3)], "all ranks arrived at the all-reduce, and none came out of it within 2.5 s", NAMED, "late late"),
        ([rank(0, 3)], "all ranks arrived at the all-reduce, and none came out of it within 2.5 s", NAMED, "late"),
        ([rank(0, 0), rank(1, 0)], "no rank came out of import torch within 2.5 s", "the calls below say where; more time: --timeout", "late late"),
        ([rank(0, 0, inside="")], "no rank came out of import torch within 2.5 s", "the calls below say where; more time: --timeout", "late"),
    ],
)  # fmt: skip
def test_whether_the_ranks_can_talk(ended, text, hint, states):
    verdict = verdict_on(ended, 2.5)
    assert (verdict.text, verdict.hint, " ".join(verdict.states)) == (text, hint, states)
    assert verdict.ok == all(each.done for each in ended)


def test_the_ranks_took_as_long_as_the_slowest_of_them():
    slow = rank(1, 6)._replace(steps=[(name, 9.12345) for name in STEPS])
    for ended in ([rank(0, 6), slow], [slow, rank(0, 6)]):
        verdict = verdict_on(ended, 2.5)
        assert "27.37 s in all" in verdict.text
        steps = [each["steps"] for each in to_json(trial_told(ended, verdict, 2.5))["ranks"]]
        assert {"name": "end", "seconds": 9.123} in steps[ended.index(slow)]


def test_what_a_rank_remarks():
    notes = [["imported", "torch_gcu"], ["few", "gcu", 1, 2], ["unserved", "gcu"]]
    why = ["there is 1 gcu for 2 ranks: tried on the CPU, by gloo", "no backend is registered for gcu: tried on the CPU, by gloo"]
    assert rank(0, 6, notes=notes).remarks == ["torch_gcu was imported", *why]


def test_a_trial_as_json():
    ended = [rank(0, 6, output=b"all went well\n"), rank(1, 2, "KeyError: 1", 1, output=b"KeyError: 1\n")]
    answer = to_json(trial_told(ended, verdict_on(ended, 2.5), 2.5))
    first, second = answer.pop("ranks")
    assert answer == {"ok": False, "verdict": "rank 1 failed in the start of the process group: KeyError: 1", "hint": "", "timeout": 2.5}
    same = {"backend": "gloo", "torch": "2.7", "notes": []}
    assert first == {"rank": 0, "state": "ok", "steps": [{"name": name, "seconds": float(seconds)} for seconds, name in enumerate(STEPS, 1)], "inside": "", "device": "cpu:0", "problem": "", "output": "", **same}
    assert second == {"rank": 1, "state": "failed", "steps": first["steps"][:2], "inside": "start", "device": "cpu:0", "problem": "KeyError: 1", "output": "KeyError: 1", **same}
    assert EndedRank(0).place == "import torch" and rank(0, 6).place == "" and EndedRank(0).failure == ""


class Process:
    """A rank that has come so far at its `look`s, of which the last one lasts."""

    def __init__(self, *looks):
        self.looks, self.process = list(looks), self
        self.rank, self.returncode = looks[0][0], 1

    def look(self):
        self.rank, has_ended = self.looks.pop(0) if self.looks[1:] else self.looks[0]
        return has_ended


def test_ranks_are_followed_to_their_end(monkeypatch):
    now, told = [0.0], []
    monkeypatch.setattr(ranks, "time", type("Clock", (), {"monotonic": lambda: now[0], "sleep": lambda seconds: now.__setitem__(0, now[0] + seconds)}))

    def watched(*children):
        now[0] = 0.0
        told.clear()
        ranks._watch(children, 5.0, lambda done, size, what: told.append((done, size, what)))
        return [(child.rank.code, child.rank.time) for child in children], now[0]

    done, runs = (rank(0, 6, time=3.0), True), (rank(1, 3, time=2.0), False)
    assert watched(Process(done), Process(runs, runs, done))[0] == [(None, 3.0), (None, 3.0)]
    assert told == [(1, 2, "ranks are done"), (1, 2, "ranks are done"), (2, 2, "ranks are done")]
    assert watched(Process(done), Process(runs))[1] == pytest.approx(6.0, abs=0.1), "a second after the time is up"
    ended, end = watched(Process((rank(0, 3, "KeyError", time=0.5), True)), Process(runs))
    assert ended == [(1, 0.5), (None, 2.0)] and end == pytest.approx(1.0, abs=0.1), "a second after the first failure"
    assert watched(Process(runs, (rank(0, 3, time=0.5), True)), Process(done))[0] == [(1, pytest.approx(0.05)), (None, 3.0)], "seen to have ended"
    late = [runs] * 105 + [(rank(1, 3, "RuntimeError: timed out", time=5.2), True)]
    assert watched(Process(*late), Process(runs))[0] == [(None, 5.2), (None, 2.0)], "who fails once the time is up has not failed"


def test_how_far_a_rank_is_is_read_from_its_last_whole_line(tmp_path):
    child = ranks._Child.__new__(ranks._Child)
    child.rank, child.process = EndedRank(3), type("Running", (), {"poll": lambda self: None})()
    child._report, child._output = tmp_path / "report", tmp_path / "output"
    assert not child.look() and child.rank == EndedRank(3)
    for text in ("", '{"inside": "dev'):
        child._report.write_text(text)
        assert not child.look() and child.rank == EndedRank(3)
    facts = {"inside": "", "steps": [[name, 1.0] for name in STEPS]}
    child._report.write_text('{"inside": "device"}\n{"inside": "start"}\n{"ins')
    assert not child.look() and child.rank.inside == "start"
    child._report.write_text(f'{{"inside": "start"}}\n{json.dumps(facts)}\n')
    assert child.look() and child.rank.done
    child._output.write_bytes(b"x" * (1 << 16) + b"y")
    assert child.ended().output == b"x" * ((1 << 16) - 1) + b"y"
    child._output.write_bytes(b"few")
    assert child.ended().output == b"few"


def test_what_a_rank_was_started_with_is_closed(tmp_path):
    child = ranks._Child(sys.executable, 0, request={"size": 1}, meeting={}, folder=str(tmp_path))
    child.close()
    assert child.process.returncode is not None and child.process.stdin.closed
