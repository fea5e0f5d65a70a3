"""The verdict on ranks that have ended, however far each of them got; and how they are followed to their end."""

import sys

import pytest

from patcher.diagnosis.ranks import EndedRank, try_ranks, verdict_on
from patcher.display.answer import to_json
from patcher.verbs.diagnose_answer import trial_told

STEPS = ("import torch", "device", "start", "all-reduce", "barrier", "end")
GONE = "RuntimeError: Connection closed by peer"
NAMED = "what they send does not arrive: name the interface, GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME; see NCCL_DEBUG=INFO"
BELOW = "the calls below say where; the other ranks would have waited for ever"
TORCH = "install PyTorch there, or name an environment that has it: --python"


def rank(number, steps_done, problem="", code=None, *, time=0.0, inside=None, **facts):
    """A rank that has done this many steps, each a second longer than the one before, and is in the next one."""
    steps = [(name, float(seconds)) for seconds, name in enumerate(STEPS[:steps_done], 1)]
    if inside is None:
        inside = "" if steps_done == 6 else STEPS[steps_done]
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
def test_the_verdict_says_whether_the_ranks_can_talk(ended, text, hint, states):
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


def test_the_remarks_of_a_rank_are_in_its_row():
    notes = [["imported", "torch_gcu"], ["few", "gcu", 1, 2], ["unserved", "gcu"]]
    why = ["there is 1 gcu for 2 ranks: tried on the CPU, by gloo", "no backend is registered for gcu: tried on the CPU, by gloo"]
    assert rank(0, 6, notes=notes).remarks == ["torch_gcu was imported", *why]


def test_a_trial_becomes_this_json():
    ended = [rank(0, 6, output=b"all went well\n"), rank(1, 2, "KeyError: 1", 1, output=b"KeyError: 1\n")]
    answer = to_json(trial_told(ended, verdict_on(ended, 2.5), 2.5))
    first, second = answer.pop("ranks")
    assert answer == {"ok": False, "verdict": "rank 1 failed in the start of the process group: KeyError: 1", "hint": "", "timeout": 2.5}
    same = {"backend": "gloo", "torch": "2.7", "notes": []}
    assert first == {"rank": 0, "state": "ok", "steps": [{"name": name, "seconds": float(seconds)} for seconds, name in enumerate(STEPS, 1)], "inside": "", "device": "cpu:0", "problem": "", "output": "", **same}
    assert second == {"rank": 1, "state": "failed", "steps": first["steps"][:2], "inside": "start", "device": "cpu:0", "problem": "KeyError: 1", "output": "KeyError: 1", **same}
    assert EndedRank(0).place == "import torch" and rank(0, 6).place == "" and EndedRank(0).failure == ""


INTERPRETER = """#!{python}
import json, os, sys, time
request, report = json.loads(sys.argv[-2]), open(sys.argv[-1], "w")
def say(text):
    report.write(text)
    report.flush()
def wait_for_the_others():
    reports = [sys.argv[-1][:-1] + str(number) for number in range(int(os.environ["WORLD_SIZE"])) if number != int(os.environ["RANK"])]
    while not all(os.path.exists(path) and os.path.getsize(path) for path in reports):
        time.sleep(0.01)
DONE = json.dumps({{"inside": "", "steps": [[name, 1.0] for name in {steps}], "time": 3.0}}) + "\\n"
{deeds}[int(os.environ["RANK"])]()
"""
DEEDS = {
    "done": "say(DONE)",
    "done later": "time.sleep(0.5), say(DONE)",
    "runs on": "say('{\"inside\": \"start\", \"time\": 2.0}\\n'), time.sleep(600)",
    "takes long": "say('{\"inside\": \"start\", \"time\": 2.0}\\n'), time.sleep(20), say(DONE)",
    "fails": "wait_for_the_others(), say('{\"problem\": \"KeyError\", \"time\": 0.5}\\n'), sys.exit(1)",
    "ends without a word": "wait_for_the_others(), sys.exit(1)",
    "fails once the time is up": "time.sleep(request['until'] - time.time()), say('{\"problem\": \"timed out\", \"time\": 5.2}\\n'), sys.exit(1)",
}


@pytest.fixture
def try_deeds(tmp_path):
    """Try as many ranks of an interpreter that does these deeds; the progress that was reported is `try_deeds.progress`."""

    def run(*deeds, limit=60.0):
        run.progress = []
        python = tmp_path / "python"
        functions = ", ".join(f"lambda: ({DEEDS.get(deed, deed)})" for deed in deeds)
        python.write_text(INTERPRETER.format(python=sys.executable, steps=STEPS, deeds=f"[{functions}]"))
        python.chmod(0o755)
        request = {"search": [], "ahead": False, "vendors": [], "backend": ""}
        return try_ranks(str(python), len(deeds), request, limit, lambda *progress: run.progress.append(progress))

    return run


def test_ranks_that_all_do_their_work_are_waited_for(try_deeds):
    assert [(each.done, each.code, each.time) for each in try_deeds("done", "done later")] == [(True, None, 3.0)] * 2
    assert try_deeds.progress[-1] == (2, 2, "ranks are done")
    assert set(try_deeds.progress) <= {(0, 2, "ranks are done"), (1, 2, "ranks are done"), (2, 2, "ranks are done")}


def test_after_the_time_limit_no_rank_is_waited_for_and_later_failures_do_not_count(try_deeds):
    first, second = try_deeds("done", "runs on", limit=1.5)
    assert (first.code, second.code, second.inside, second.done) == (None, None, "start", False)
    assert [each.code for each in try_deeds("fails once the time is up", "runs on", limit=1.5)] == [None, None]


@pytest.mark.parametrize(("deed", "problem"), [("fails", "KeyError"), ("ends without a word", "")])
def test_soon_after_the_first_failure_the_others_are_ended(try_deeds, deed, problem):
    first, second = try_deeds(deed, "takes long")
    assert (first.code, first.problem, second.code, second.inside, second.done) == (1, problem, None, "start", False)
    assert (first.time == 0.5) is bool(problem), "when it reported, or was seen to have ended"
    first, second = try_deeds(deed, "done")
    assert (first.code, second.code, second.done) == (1, None, True)


@pytest.mark.parametrize(("text", "inside"), [("", ""), ('{"inside": "dev', ""), ('{"inside": "device"}\n{"inside": "start"}\n{"ins', "start")])
def test_the_progress_of_a_rank_is_read_from_its_last_whole_line(try_deeds, text, inside):
    (only,) = try_deeds(f"say({text!r}), time.sleep(600)", limit=1.5)
    assert (only.inside, only.done, only.code) == (inside, False, None)


@pytest.mark.parametrize(("output", "kept"), [("'few'", "few"), ("'x' * (1 << 16) + 'y'", "x" * ((1 << 16) - 1) + "y")], ids=["few", "much"])
def test_the_end_of_the_output_of_a_rank_is_kept(try_deeds, output, kept):
    (only,) = try_deeds(f"sys.stdout.write({output}), sys.stdout.flush(), say(DONE)")
    assert only.done and only.output == kept.encode()
