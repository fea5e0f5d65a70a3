"""The answers to many reports of mmengine-ddp-debug, word for word, each with some facts that differ from those of a good run.

The effect of a changed rule is the diff of tests/golden/reports.txt, which SITEPATCH_WRITE_GOLDEN=1 rewrites.
"""

import json
import os
from random import Random

import pytest

from patcher.diagnosis.conclusions import is_wrong
from patcher.diagnosis.runs import find_runs
from patcher.diagnosis.table import heading, table, well
from tests.command import ROOT
from tests.diagnosis.logs import REFUSAL, log_of

pytestmark = pytest.mark.once

GOLDEN = ROOT / "tests/golden/reports.txt"
RUNS = (  # of thousands the ones whose answers differ most
    19, 61, 62, 66, 70, 75, 93, 105, 112, 134, 142, 163, 170, 247, 280, 290, 291, 347, 356, 371, 424, 428, 448, 479, 516, 532, 547, 551,
    563, 580, 602, 611, 687, 694, 698, 706, 775, 782, 808, 810, 817, 823, 917, 931, 937, 1053, 1065, 1130, 1141, 1206, 1255, 1296, 1297,
    1307, 1370, 1391, 1449, 1467, 1469, 1480, 1485, 1631, 1650, 1688, 1697, 1723, 1846, 1851, 1852, 1918, 1941, 1962, 1974, 2028, 2047,
    2115, 2123, 2150, 2215, 2227, 2268, 2344, 2352, 2404, 2438, 2445, 2472, 2479, 2486, 2498,
)  # fmt: skip
GOOD = {  # `#` is the number of the rank
    "schema": 7, "site": "Runner.wrap_model", "sequence": 0, "rank": "#", "host": "node-0", "pid": "100#", "time": 1.7e9,
    "env": {"LOCAL_RANK": "#", "MASTER_PORT": "29500"}, "model": "Model", "wrapper": "MMDistributedDataParallel", "bases": [], "mmengine": "0.10.7",
    "torch": "2.7.1", "get_device": "cuda", "parameters": {"cuda:#": 3}, "buffers": {"cuda:#": 1}, "before": {}, "places": {},
    "trainable": 3, "current": {"cuda": "#"}, "device_ids": ["#"], "ids_from": "MMEngine", "patchsets": [],
}  # fmt: skip
OTHER = {
    "parameters": [{"cpu": 3}, {"cpu": 3}, {"cpu": 3}, {"gcu:#": 3}, {"gcu:#": 2, "cpu": 1}, {"musa:0": 3}, {"cuda:0": 2, "cuda:1": 1}, {"meta": 3},
                   {}, {"cuda:#": 3, "cpu": 0}, {"npu:#": 2, "cpu": 2}, {"cuda:#": 4}, None],
    "buffers": [{}, {"cpu": 1}, {"cuda:0": 1}, {"gcu:#": 1}, {"cuda:#": 2}, None],
    "before": [{"gcu:#": 3}, {"gcu:#": 2, "cpu": 1}, {"cpu": 3}],
    "places": [{"cpu": ["a"], "gcu:#": ["b", "c"]}, {"cuda:0": ["a", "b"], "cuda:1": ["c"]}, {"cpu": ["a"]}],
    "device_ids": [None, None, [], ["0"], ["1"], ["gcu:#"], ["cuda:0", "cuda:1"], "?", 0],
    "current": [{}, {"cuda": None}, {"gcu": "#"}, {"gcu": "#", "cuda": None}, {"musa": "#", "cuda": None}, {"npu": 0}, {"mtia": None}, {"gcu": None}],
    "get_device": ["cpu", "cpu", "cpu", "", "gcu", "musa"],
    "wrapper": ["none", "Mine", "", "MMFullyShardedDataParallel"],
    "bases": [["Mine", "DistributedDataParallel"]],
    "ids_from": ["config"],
    "patchsets": [["mmengine-ddp-device"], ["mmengine-device"]],
    "mmengine": [None, "0.2.0", "0.9.1", "0.10.3"],
    "torch": [None, "1.6.0", "1.7.0", "1.8.1", "1.9.0", "2.13.0+cpu"],
    "env": [{}, {"LOCAL_RANK": "0"}, {"LOCAL_RANK": "#", "CUDA_VISIBLE_DEVICES": "1, 0"}, {"LOCAL_RANK": "#", "TOPS_VISIBLE_DEVICES": "#"},
            {"LOCAL_RANK": "#", "HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "#,3"}],
    "host": [None, "node-#", "a-machine-with-a-long-name.of-a-cluster-with-a-long-name.example.org"],
    "rank": [None],
    "world_size": [None, "1", "4"],
    "trainable": [0, 2],
    "model": [None, "Other"],
    "site": ["DDPStrategy._wrap_model"],
    "sequence": [1, None],
    "time": [1.8e9, None],
    "event": ["trains"],
    "idle": [["gcu"]],
}  # fmt: skip
OFTEN = ("parameters", "device_ids", "current", "get_device", "wrapper", "before")


def some(choice, most):
    """A few facts that differ from a good run, each value of a fact as often as the others."""
    names = sorted(OTHER, key=lambda name: choice.random() * (1 if name in OFTEN else 2))[: int(most * choice.random()) + 1]
    return {name: OTHER[name][int(len(OTHER[name]) * choice.random())] for name in names}


def ddp_line(rank, facts):
    """The line of mmengine-ddp-debug on a rank, with some facts that differ from those of a good run."""
    report = json.dumps({**GOOD, **facts})
    return f"sitepatch-ddp {report}\n".replace("#", str(rank))


def answer(number):
    """The facts of a run, and the answer to it."""
    choice = Random(number)
    size = int(3 * choice.random()) + 1
    same = some(choice, 8)
    odd = some(choice, 2) if choice.random() < 0.5 else {}
    refused = choice.random() < 0.2
    of_last = f", the last {json.dumps(odd)}" if odd else ""
    yield f"{number}: {size} x {json.dumps(same)}{of_last}{', refused' if refused else ''}"
    facts = {"world_size": str(size), **same}
    lines = [ddp_line(rank, facts) for rank in range(size - 1)]
    lines.append(ddp_line(size - 1, {**facts, **odd}))
    if refused:
        lines.append(f"[rank{size - 1}]: {REFUSAL}")
    for run in find_runs([log_of("".join(lines))]):
        for wrap in run.wraps:
            verdict = "wrong" if is_wrong(wrap.conclusions) else well(wrap)
            yield f"{run.number} {run.when} {wrap.number} {heading(wrap)}, {verdict}"
            for cells, verdict in table(wrap)[1:]:
                yield f"{cells} | {verdict}"
            for conclusion in wrap.conclusions:
                yield f"{conclusion.code} {conclusion.ranks}: {conclusion.text} | {conclusion.hint or None}"


def concluded(*ranks):
    """The codes and the hints of the conclusions about ranks with these facts."""
    lines = [ddp_line(rank, {"world_size": str(len(ranks)), **facts}) for rank, facts in enumerate(ranks)]
    run = find_runs([log_of("".join(lines))])[0]
    return {one.code: one.hint for one in run.wraps[0].conclusions}


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        ({"rank": "1", "world_size": None}, []),
        ({"torch": "1.9.0", "device_ids": ["cuda:0", "cuda:1"]}, ["several-device-ids", "device-ids-elsewhere"]),
        ({"torch": "1.8.9", "device_ids": ["cuda:0", "cuda:1"]}, ["device-ids-elsewhere"]),
        ({"torch": "1.7.0", "parameters": {"npu:0": 3}, "buffers": {}}, []),
        ({"torch": "1.6.9", "parameters": {"npu:0": 3}, "buffers": {}}, ["device-ids-for-cuda"]),
        ({"torch": None, "parameters": {"npu:0": 3}, "buffers": {}}, []),
        ({"torch": "1.6.9", "parameters": {"cuda:0": 3}}, []),
    ],
)
def test_each_rule_holds_at_its_limits(facts, codes):
    assert list(concluded(facts)) == codes


def test_a_refusal_after_a_report_shared_with_another_log_belongs_to_that_run():
    report = ddp_line(0, {"world_size": "1"})
    (run,) = find_runs([log_of(report, name="one"), log_of(report + REFUSAL, name="two")])
    assert [one.code for one in run.wraps[0].conclusions] == ["refused"]


@pytest.mark.parametrize("wrong", [{"buffers": []}, {"parameters": []}, {"device_ids": {}}, {"buffers": {"cpu": -1}}])
def test_impossible_facts_are_no_report(wrong):
    log = log_of("sitepatch-ddp " + json.dumps({**GOOD, **wrong}))
    assert (log.reports, log.cut) == ((), (1,))


def test_ranks_on_one_device_of_a_machine_without_a_name_may_be_well():
    same, unnamed = {"parameters": {"cuda:0": 3}}, {"parameters": {"cuda:0": 3}, "host": None}
    assert "Well if" not in concluded(same, same)["same-device"]
    assert "Well if" in concluded(same, same, unnamed, unnamed)["same-device"]


def test_every_run_is_answered_word_for_word():
    answers = "".join("\n  ".join(answer(number)) + "\n" for number in RUNS)
    if os.environ.get("SITEPATCH_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(answers, encoding="utf-8")
    assert answers == GOLDEN.read_text(encoding="utf-8")
