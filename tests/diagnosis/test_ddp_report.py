"""`sitepatch diagnose` on the reports of mmengine-ddp-debug: logs are made by the real helper of mmengine-ddp-debug with stand-in tensors, without torch.

The helper cannot be on several machines at once: host, process number, time, and the accelerators whose modules it would
find are written into its line afterwards, and for GCU and MUSA they are what the vendors' modules would have said.
"""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
from contextlib import redirect_stdout

import pytest

from patcher.diagnosis.conclusions import is_wrong
from patcher.diagnosis.files import read_log
from patcher.diagnosis.runs import find_runs
from patcher.diagnosis.table import WIDTH, heading, table, well
from patcher.errors import UsageError
from patcher.place import Place
from patcher.text.listed import number_ranges
from patcher.text.terminal import width
from patcher.verbs.diagnose import diagnose
from tests.command import environ, sitepatch
from tests.diagnosis.logs import REFUSAL, Dribble, log_of
from tests.patchsets.ddp import Model, Tensor, helper

pytestmark = pytest.mark.once


def model(device, parameters=3, buffers=1, buffers_on=None):
    return Model(*[Tensor(device)] * parameters, buffers=[Tensor(buffers_on or device)] * buffers)


def report(rank, model, device_ids, /, world=2, local=None, site="Runner.wrap_model", visible=None, **facts):
    """What the helper prints on a rank, for people and for programs, with some facts of its last line replaced."""
    env = {"RANK": rank, "LOCAL_RANK": rank % 8 if local is None else local, "WORLD_SIZE": world, "MASTER_PORT": 29500}
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in env.items() if value is not None})
    try:
        out = io.StringIO()
        with redirect_stdout(out):
            helper()(site, model, lambda: device_ids)
    finally:
        os.environ.clear()
        os.environ.update(before)
    text, _, line = out.getvalue().rpartition("sitepatch-ddp ")
    printed = json.loads(line)
    printed.update({"host": f"node-{rank // 8}", "pid": 1000 + rank, "time": 1.7e9 + rank, "get_device": "cuda"})
    printed.update(facts)
    own = {name: text for name, text in printed["env"].items() if not name.endswith("_VISIBLE_DEVICES")}
    printed["env"] = {**own, **(visible or {})}
    return text + "sitepatch-ddp " + json.dumps(printed) + "\n"


def ours(text):
    """The line for programs alone."""
    return text.splitlines()[-1] + "\n"


def read(*texts):
    return [log_of(text, name=f"{at}.log") for at, text in enumerate(texts)]


def classified(*texts):
    """The classification of the first wrapping of the newest run."""
    return find_runs(read(*texts))[-1].wraps[0]


def codes(*texts):
    return [(one.code, number_ranges(one.ranks)) for one in classified(*texts).conclusions]


def sentences(*texts):
    return " | ".join(f"{one.text}: {one.hint}" for one in classified(*texts).conclusions)


# what is concluded ----------------------------------------------------------------------------------------------------
def test_ranks_with_nothing_wrong_are_well():
    wrap = classified(*[report(rank, model(f"cuda:{rank}"), [rank]) for rank in range(2)])
    assert wrap.conclusions == ()
    assert wrap.verdicts == ("ready", "ready")
    assert well(wrap) == "ranks 0-1: all is well, the model is on cuda and nothing keeps DDP from taking it"
    assert heading(wrap) == "wrapping 1: Model in MMDistributedDataParallel, Runner.wrap_model; 2 of 2 ranks"


def test_cpu_training_on_purpose_is_well():
    texts = [report(rank, model("cpu"), None, get_device="cpu", current={"cuda": None}) for rank in range(2)]
    assert codes(*texts) == []


def test_gcu_is_idle_because_mmengine_does_not_know_it():
    texts = [report(rank, model("cpu"), [rank], get_device="cpu", current={"cuda": None, "gcu": rank}) for rank in range(2)]
    assert codes(*texts) == [("cpu-with-device-ids", "0-1")]
    assert "the model was never moved" in sentences(*texts)
    assert "; gcu stands idle: sitepatch apply mmengine-device --set device=gcu; get_device() of MMEngine" in sentences(*texts)
    assert "says cpu: it does not know gcu, or the package of gcu was imported after mmengine" in sentences(*texts)


@pytest.mark.parametrize("device_ids", [None, [0]])
def test_mmengine_moved_the_model_back_to_the_cpu(device_ids):
    """Case B: the script had moved it to the card; where DDP is given no device_ids, the ranks train on the CPU."""
    moved = {"before": {"gcu:0": 3}, "current": {"gcu": 0}, "get_device": "cpu"}
    text = report(0, model("cpu"), device_ids, world=1, **moved, patchsets=["mmengine-ddp-device"])
    assert codes(text) == [("moved-back", "0")]
    assert "the model was on gcu, and `model = model.to(get_device())` in Runner.wrap_model moved it to the CPU" in sentences(text)
    assert (", where DDP refuses the device_ids" in sentences(text)) == bool(device_ids)
    assert "sitepatch apply mmengine-device --set device=gcu" in sentences(text) and "ddp-device" not in sentences(text)
    both = [report(rank, model("cpu"), None, before={f"gcu:{rank}": 3}, get_device="cpu") for rank in range(2)]
    assert codes(*both) == [("moved-back", "0-1")], "one sentence for all ranks"
    text = report(0, model("cpu"), None, world=1, **moved, patchsets=["mmengine-device"])
    assert "mmengine-device is in force and says cpu: its option device is cpu, or torch knew no gcu when asked" in sentences(text)


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        ({}, "if it is to train on the CPU: sitepatch apply mmengine-ddp-device."),
        ({"ids_from": "config"}, "write device_ids=None in model_wrapper_cfg"),
        ({"ids_from": "config", "patchsets": ["mmengine-ddp-device"]}, "write device_ids=None in model_wrapper_cfg"),
        ({"patchsets": ["mmengine-ddp-device"]}, "sitepatch apply mmengine-device --set device_ids=none"),
    ],
)
def test_the_advice_is_not_already_done_and_addresses_whoever_sets_the_device_ids(facts, advice):
    assert advice in sentences(report(0, model("cpu"), [0], world=1, get_device="cpu", current={"cuda": None}, **facts))


def test_wrong_device_ids_in_the_config_are_reported():
    text = report(0, model("gcu:0"), [1], world=1, ids_from="config")
    assert "the config names device_ids: write there the device of each rank, or device_ids=None" in sentences(text)


@pytest.mark.parametrize("wrapper", ["Mine", "MMFullyShardedDataParallel", "MMDeepSpeedEngineWrapper", "ColossalAIModelWrapper"])
@pytest.mark.parametrize("facts", [{}, {"device_ids": [0]}, {"current": {"gcu": 0}}])
def test_for_another_wrapper_only_the_place_of_the_parameters_is_reported(wrapper, facts):
    text = report(0, model("cpu"), None, world=1, **{"get_device": "cpu", **facts}, wrapper=wrapper)
    wrap = classified(text)
    assert (wrap.verdicts, [one.code for one in wrap.conclusions]) == (("other-wrapper",), ["other-wrapper"])
    assert f"the model is wrapped in {wrapper}, which is not DDP" in sentences(text)
    assert not is_wrong(wrap.conclusions), "such a wrapper alone is nothing wrong"


def test_an_unwrapped_model_is_well_alone_and_not_under_a_launcher():
    alone = classified(report(0, model("cuda:0"), None, world=1, wrapper="none"))
    assert well(alone) == "not distributed: nothing is wrapped, and the model is on cuda" and not alone.conclusions
    assert heading(alone) == "wrapping 1: Model as it is, Runner.wrap_model; 1 of 1 ranks"
    torchrun = [report(rank, model("cuda:0"), None, wrapper="none") for rank in range(2)]
    assert codes(*torchrun)[0] == ("not-distributed", "0-1")
    assert "each of the 2 processes trains alone: MMEngine is told of the launcher by launcher='pytorch'" in sentences(*torchrun)
    idle = report(0, model("cpu"), None, world=1, wrapper="none", get_device="cpu", current={"gcu": 0})
    assert codes(idle) == [("accelerator-unused", "0")]


@pytest.mark.parametrize(
    ("torch", "on", "device_ids", "expected"),
    [
        ("1.6.0", "npu:0", [0], [("device-ids-for-cuda", "0")]),
        ("1.6.0", "cuda:0", [0], []),
        ("1.6.0", "npu:0", None, []),
        ("1.7.1", "npu:0", [0], []),
        ("1.8.0", "cuda:0", ["cuda:0", "cuda:1"], [("device-ids-elsewhere", "0")]),
        ("2.13.0+cpu", "cuda:0", ["cuda:0", "cuda:1"], [("several-device-ids", "0"), ("device-ids-elsewhere", "0")]),
        ("", "npu:0", [0], []),
    ],
)
def test_what_ddp_refuses_depends_on_the_release_of_torch(torch, on, device_ids, expected):
    assert codes(report(0, model(on), device_ids, world=1, torch=torch)) == expected


@pytest.mark.parametrize("device_ids", [None, []])
def test_an_idle_gcu_is_reported_where_ddp_takes_the_model_on_the_cpu(device_ids):
    texts = [report(rank, model("cpu"), device_ids, get_device="cpu", current={"gcu": rank}) for rank in range(2)]
    assert codes(*texts) == [("accelerator-unused", "0-1")]


@pytest.mark.parametrize("kind", ["musa", "xyz"])
def test_a_card_that_this_mmengine_did_not_see_is_explained(kind):
    facts = {"get_device": "cpu", "current": {kind: 0}, "mmengine": "0.9.1"}
    why = f"get_device() of MMEngine 0.9.1 says cpu: it does not know {kind}, or the package of {kind} was imported after mmengine"
    assert why in sentences(report(0, model("cpu"), [0], world=1, **facts))


EVENT = {
    "schema": 7, "event": "trains", "site": "Runner.wrap_model", "host": "n", "pid": 7, "idle": [], "before": {}, "env": {},
    "patchsets": ["mmengine-ddp-device"], "parameters": {"cpu": 2},
}  # fmt: skip


def event(**facts):
    """The short report of a patchset that lets a run go on."""
    return f"sitepatch-ddp {json.dumps({**EVENT, **facts})}\n"


def test_a_run_without_ddp_is_not_reported_as_ddp(tmp_path):
    alone = classified(event())
    assert heading(alone) == "wrapping 1: the model as it is, Runner.wrap_model; 1 rank"
    assert well(alone) == "not distributed: nothing is wrapped, and the model is on cpu"
    env = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    assert "DDP" not in well(classified(event(env=env)))
    two = []
    for rank in range(2):
        env = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": "1"}
        two.append(event(pid=rank, env=env))
    assert heading(classified(*two)) == "wrapping 1: the model, Runner.wrap_model; 2 of 2 ranks"
    assert well(classified(*two)) == "ranks 0-1: all is well, the model is on cpu"


def test_a_fact_missing_from_a_short_report_is_not_none():
    ((head, _), (cells, _)) = table(classified(event()))
    assert cells.split()[head.split().index("device_ids")] == "-"


def test_two_runs_of_one_process_each_in_one_directory_share_no_device():
    texts = [event(pid=pid, parameters={"gcu:0": 2}) for pid in (7, 8)]
    assert [run.wraps[0].conclusions for run in find_runs(read(*texts))] == [(), ()]
    named = [report(0, model("gcu:0"), None, world=None, rank=None, world_size=None, env={}, pid=pid) for pid in (7, 8)]
    assert [len(run.wraps[0].rows) for run in find_runs(read(*named))] == [1, 1]


def test_a_model_on_the_cpu_despite_the_right_get_device_points_to_the_users_code():
    text = report(0, model("cpu"), [0], world=1, get_device="musa", current={"musa": 0})
    assert "MMEngine's get_device() says musa here: look for code of yours" in sentences(text)


def test_device_ids_on_the_cpu_without_an_accelerator_get_both_cures():
    text = report(0, model("cpu"), [0], world=1, get_device="cpu", current={"cuda": None})
    assert "if it is to train on the CPU: sitepatch apply mmengine-ddp-device" in sentences(text)
    assert "import the vendor's package" in sentences(text)


def test_a_refusal_despite_the_right_device_is_of_another_model():
    texts = [report(rank, model(f"musa:{rank}"), [rank]) + f"[rank{rank}]: {REFUSAL}" for rank in range(2)]
    assert codes(*texts) == [("refused", "0-1")]
    assert "it was another model, or one that you wrap yourself" in sentences(*texts)
    assert "sitepatch apply" not in sentences(*texts), "no patchset ends this"
    assert codes(*texts[:1], report(1, model("musa:1"), [1])) == [("refused", "0")], "the other rank was not refused"
    one = lines(2)[0].strip() + REFUSAL + lines(2)[1]
    assert codes(one) == [("refused", "0-1")], "a refusal that names no rank may be of any"
    first, second = (ours(text) for text in lines(2))
    assert [each.rank for each in log_of(first + REFUSAL, name="rank0.log").refusals] == [0], "a log of one rank names it"
    assert [*log_of(second, name="rank1.log").refusals] == []


def test_a_refusal_belongs_to_the_run_before_it():
    old = [report(0, model("musa:0"), [0], world=1, time=1.0, pid=1), "[rank0]: " + REFUSAL]
    assert codes("".join(old)) == [("refused", "0")]
    without_ids = report(0, model("musa:0"), None, world=1, time=2.0, pid=2)
    assert codes("".join([*old, without_ids])) == []
    again = report(0, model("musa:0"), [0], world=1, time=2.0, pid=2)
    assert codes("".join([*old, again])) == []
    assert codes("".join([old[0], again, old[1]])) == [("refused", "0")]


def test_parameters_on_several_devices_are_reported():
    spread = Model(Tensor("cuda:0"), Tensor("cuda:1"))
    assert codes(report(0, spread, [0], world=1)) == [("several-devices", "0")]
    assert "only with device_ids=None" in sentences(report(0, spread, [0], world=1))
    assert "spread over several cuda devices: " in sentences(report(0, spread, None, world=1))
    assert "split on purpose" in sentences(report(0, spread, None, world=1))
    mixed = report(0, Model(Tensor("cuda:0"), Tensor("cpu")), [0], world=1)
    assert "spread over cpu and cuda: 1 of 2 on cpu (layer1.weight): DDP takes devices of one kind only" in sentences(mixed)
    late = report(0, Model(Tensor("gcu:0"), Tensor("cpu")), [0], world=1, before={"gcu:0": 1, "cpu": 1})
    assert "(layer1.weight), as they were before MMEngine moved the model: it has a `to` of its own" in sentences(late)


def test_device_ids_that_point_elsewhere_are_reported():
    texts = [report(rank, model(f"cuda:{rank}"), [1 - rank]) for rank in range(2)]
    assert codes(*texts) == [("device-ids-elsewhere", "0-1")]
    assert codes(report(0, model("musa:0"), ["musa:1"], world=1)) == [("device-ids-elsewhere", "0")]
    assert codes(report(0, model("musa:0"), ["musa:0"], world=1)) == []


def test_buffers_on_another_device_are_reported():
    assert codes(report(0, model("cuda:0", buffers_on="cpu"), [0], world=1)) == [("buffers-elsewhere", "0")]
    assert codes(report(0, model("cuda:0", buffers=0), [0], world=1)) == []
    eight = [report(rank, model(f"cuda:{rank}", buffers_on="cpu"), [rank], world=8) for rank in range(8)]
    assert codes(*eight) == [("buffers-elsewhere", "0-7")], "one sentence, not one for each rank"


def test_two_ranks_on_one_device_are_reported():
    both = [report(rank, model("musa:0"), [0]) for rank in range(2)]
    assert codes(*both) == [("same-device", "0-1")]
    assert codes(both[0], report(1, model("musa:0"), [0], host="other")) == [], "two machines"
    assert codes(both[0], report(1, model("musa:0"), [0], local=0)) == [], "two containers that share a name"
    masked = [report(rank, model("musa:0"), [0], visible={"MUSA_VISIBLE_DEVICES": str(rank)}) for rank in range(2)]
    assert codes(*masked) == [], "each rank sees a card of its own as number 0"
    crossed = [
        report(0, model("musa:0"), [0], visible={"MUSA_VISIBLE_DEVICES": "1,0"}),
        report(1, model("musa:1"), [1], visible={"MUSA_VISIBLE_DEVICES": "0,1"}),
    ]
    assert codes(*crossed) == [("same-device", "0-1")], "one card by two numbers"
    for kind in ("xla", "hpu"):
        assert codes(*[report(rank, model(f"{kind}:0"), None) for rank in range(2)]) == [], "numbered anew in each process"


@pytest.mark.parametrize("name", ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_a_rank_of_rocm_that_sees_one_card_is_on_its_own(name):
    def cards(*seen):
        return [report(rank, model("cuda:0"), [0], visible={name: card}) for rank, card in enumerate(seen)]

    assert codes(*cards("0", "1")) == []
    assert codes(*cards("1", "1,0")) == [("same-device", "0-1")]


def test_without_host_a_machine_is_known_by_its_first_rank():
    old = [report(rank, model("cuda:0"), [0], host=None, local=0) for rank in range(2)]
    assert codes(*old) == []
    old = [report(rank, model("cuda:0"), [0], host=None) for rank in range(2)]
    assert codes(*old) == [("same-device", "0-1")]
    assert "Well if each rank sees one card only" in sentences(*old)


@pytest.mark.parametrize(
    ("odd", "facts", "what"),
    [
        ("cuda:3", {"parameters": 4}, "the number of parameters differs: 3 on ranks 0-2; 4 on rank 3"),
        ("cuda:3", {"buffers": 2}, "the number of buffers differs: 1 on ranks 0-2; 2 on rank 3"),
        ("musa:3", {}, "the kind of device differs: cuda on ranks 0-2; musa on rank 3"),
    ],
)
def test_the_rank_whose_model_differs_is_reported(odd, facts, what):
    texts = [report(rank, model(f"cuda:{rank}"), [rank], world=4) for rank in range(3)]
    wrap = classified(*texts, report(3, model(odd, **facts), [3], world=4))
    assert what in [one.text for one in wrap.conclusions]
    assert {one.ranks for one in wrap.conclusions} == {(3,)}
    assert wrap.verdicts == ("ready", "ready", "ready", "ranks-differ")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"wrapper": "FSDP"}, "the wrapper differs: MMDistributedDataParallel in Runner.wrap_model on rank 0; FSDP in Runner"),
        ({"site": "DDPStrategy._wrap_model"}, "the wrapper differs"),
        ({"model": "Other"}, "the model differs: Model on rank 0; Other on rank 1"),
        ({"trainable": 1}, "how many parameters ask for a gradient differs: 3 on rank 0; 1 on rank 1"),
        ({"world_size": 3}, "WORLD_SIZE differs: 2 on rank 0; 3 on rank 1"),
        ({"device_ids": None}, "device_ids differs: given on rank 0; none on rank 1"),
    ],
)
def test_ranks_that_are_wrapped_differently_are_reported(changes, what):
    wrap = classified(report(0, model("cuda:0"), [0]), report(1, model("cuda:1"), [1], **changes))
    assert any(one.text.startswith(what) and one.ranks == (0, 1) for one in wrap.conclusions), wrap.conclusions


def test_of_more_than_four_values_the_most_frequent_are_shown():
    texts = [report(rank, model(f"cuda:{rank}", parameters=max(1, rank)), [rank], world=6) for rank in range(6)]
    shown = "the number of parameters differs: 1 on ranks 0-1; 2 on rank 2; 3 on rank 3; 4 on rank 4; ...: every rank"
    assert shown in sentences(*texts)
    assert "4 on rank 4: every rank" in sentences(*texts[:5])


def test_missing_ranks_are_named():
    texts = [report(rank, model(f"cuda:{rank}"), [rank], world=8) for rank in (0, 1, 2, 4, 6)]
    assert codes(*texts) == [("missing", "3,5,7")]
    assert "no report from ranks 3,5,7; 5 of 8 reported" in sentences(*texts)


@pytest.mark.parametrize(
    ("make", "ids", "code"),
    [
        (lambda: Model(Tensor("cuda:0", requires_grad=False)), [0], "no-trainable-parameters"),
        (lambda: Model(Tensor("meta")), None, "not-materialised"),
        (lambda: object(), None, "model-unreadable"),
    ],
)
def test_warnings_of_the_helper_are_reported_too(make, ids, code):
    assert code in [one for one, _ in codes(report(0, make(), ids, world=1))]


def test_several_conclusions_are_reported_and_the_gravest_comes_first():
    texts = [report(rank, model(f"cuda:{rank}"), [rank], world=8) for rank in range(5)]
    texts += [report(5, model("cpu"), [5], world=8), report(6, model("cuda:0", parameters=9), [6], world=8)]
    assert [code for code, _ in codes(*texts)] == [
        "cpu-with-device-ids", "device-ids-elsewhere", "same-device", "ranks-differ", "ranks-differ", "ranks-differ", "missing",
    ]  # fmt: skip
    assert classified(*texts).verdicts[-2:] == ("cpu-with-device-ids", "device-ids-elsewhere")


def test_a_rank_without_a_number_has_a_row_of_its_own():
    text = report(0, model("cpu"), [0], world=None, rank=None, world_size=None, env={})
    assert [one.code for one in classified(text).conclusions] == ["cpu-with-device-ids"]
    assert classified(text).verdicts == ("cpu-with-device-ids",)
    unnamed = report(0, model("cuda:0"), [0], rank=None, world_size=None, env={"MASTER_PORT": "29500"}, time=0, pid=7)
    both = classified(unnamed, report(0, model("cpu"), [0], time=1.0))
    assert [(row.rank, row.place.time) for row in both.rows] == [(0, 1.0), (None, 0)]
    assert both.verdicts == ("cpu-with-device-ids", "ready"), "what holds for one that is not named is known by itself alone"
    assert [text.split()[0] for text, _ in table(both)] == ["rank", "0", "?"]
    assert heading(both).endswith("; 2 of 2 ranks"), "one of them does not know how many there are"


@pytest.mark.parametrize(("numbers", "text"), [((), ""), ((4,), "4"), ((7, 0, 1, 2, 3), "0-3,7"), ((1, 3, 5), "1,3,5")])
def test_numbers_in_a_row_are_a_range(numbers, text):
    assert number_ranges(numbers) == text


# what is read ---------------------------------------------------------------------------------------------------------
def lines(count=2, **facts):
    return [ours(report(rank, model(f"cuda:{rank}"), [rank], world=count, **facts)) for rank in range(count)]


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line,
        lambda line: "[rank0]: " + line,
        lambda line: "[default0]:" + line,
        lambda line: "2026/01/02 03:04:05 - mmengine - INFO - " + line,
        lambda line: "\x1b[32m2026\x1b[0m \x1b[1;31m" + line.rstrip() + "\x1b[0m\n",
        lambda line: line.replace("sitepatch-ddp {", "\x1b[36msitepatch-ddp\x1b[0m {").replace('"rank"', '\x1b[1m"rank"\x1b[0m'),
        lambda line: line.replace("\n", "\r\n"),
        lambda line: line.rstrip(),
        lambda line: "50%|#####     |\r" + line,
        lambda line: json.dumps({"log": line, "stream": "stdout"}) + "\n",
    ],
    ids=["plain", "rank", "default", "logger", "colours", "coloured", "crlf", "run together", "progress bar", "docker"],
)
def test_a_report_is_read_whatever_is_around_it(change):
    (log,) = read("\xff\xfe before\n" + "".join(map(change, lines(3))) + "after sitepatch-ddp \n")
    assert [one.rank for one in log.reports] == [0, 1, 2]
    assert log.cut_count == 0
    assert codes("".join(map(change, lines(3)))) == []


@pytest.mark.parametrize("size", [1, 7, 64, 4096, 1 << 20])
def test_pieces_of_any_size_give_the_same_reports(size):
    first, second = lines(2)
    data = ("x\n" * 50 + first + "\n\n" + second.rstrip() + "\n[rank1]: " + REFUSAL + first[:40] + "\n").encode()
    log = read_log("0.log", Dribble(data, size))
    assert [(one.rank, one.place.line) for one in log.reports] == [(0, 51), (1, 54)]
    assert [(one.rank, one.line, one.preceding) for one in log.refusals] == [(1, 55, 2)]
    assert (log.cut, log.cut_count) == ((56,), 1)
    assert log == read(data)[0]


@pytest.mark.parametrize("keep", [15, 16, 24, 25, 40, 200, -2])
def test_a_line_that_is_cut_is_counted_with_its_place(keep):
    first, second = lines(2)
    for rest in ("", "\n", "\n" + second, second):
        (log,) = read("one\ntwo\n" + first[:keep] + rest)
        assert (log.cut, log.cut_count) == ((3,), 1), rest
        assert [one.rank for one in log.reports] == [1][: len(rest) // 2]


@pytest.mark.parametrize(
    "text",
    [
        'return text + "sitepatch-ddp " + json.dumps({"schema": 1})',
        "One line ends the report: `sitepatch-ddp ` and a JSON object",
        'if line.startswith("sitepatch-ddp {")',
        "sitepatch-ddp",
        "sitepatch-ddp [1]",
    ],
)
def test_our_name_in_another_text_is_no_report(text):
    (log,) = read(text + "\n")
    assert (log.reports, log.cut_count) == ((), 0)


@pytest.mark.parametrize(
    "line",
    [
        'sitepatch-ddp {"schema": 7}',
        'sitepatch-ddp {"schema": 7, "parameters": [], "buffers": {}}',
        'sitepatch-ddp {"schema": 7, "parameters": {"cpu": "x"}, "buffers": {}}',
        'sitepatch-ddp {"schema": 7, "event": "trains", "parameters": 1}',
        'sitepatch-ddp {"schema": ' + "[" * 100000,
    ],
)
def test_a_line_that_we_cannot_have_printed_counts_as_damaged(line):
    (log,) = read(line + "\n")
    assert (log.reports, log.cut_count) == ((), 1)


def test_gzip_is_read_even_if_it_ends_early():
    data = gzip.compress(("x\n" * 9 + "".join(lines(2))).encode())
    stream = io.BufferedReader(io.BytesIO(data))
    assert [one.rank for one in read_log("log.gz", stream).reports] == [0, 1]
    damaged = gzip.compress("".join(lines(2)).encode() + os.urandom(1 << 20))[:-100000]
    whole = gzip.compress("".join([*lines(2), *map(hex, range(500000))]).encode())
    flipped = whole[: len(whole) // 2] + b"\xff" * 99 + whole[len(whole) // 2 + 99 :]
    for data in (damaged, flipped):
        log = read_log("log.gz", io.BufferedReader(io.BytesIO(data)))
        assert [one.rank for one in log.reports] == [0, 1]
        assert log.problem.startswith("reading ended early: ")


def test_an_impossible_time_is_left_out():
    for time in ("NaN", "Infinity", "-1", "1e300", '"now"'):
        (log,) = read(lines(1)[0].replace("1700000000.0", time))
        assert [one.place.time for one in log.reports] == [None]
        assert [run.when for run in find_runs([log])] == [""]


@pytest.mark.parametrize("schema", [1, 6, 8, None])
def test_a_report_of_another_schema_is_not_read_and_that_is_reported(tmp_path, schema):
    (tmp_path / "log").write_text(lines(1)[0].replace('"schema": 7', f'"schema": {json.dumps(schema)}'))
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert ended.code == 1 and ended.out.startswith("unread  1 report could not be read, cut short or of another release of its patchset: log:1")


# which run, which wrapping --------------------------------------------------------------------------------------------
def shape(*texts):
    """The ranks of each wrapping of each run."""
    return [[ranks_of(wrap) for wrap in run.wraps] for run in find_runs(read(*texts))]


def ranks_of(wrap):
    return [row.rank for row in wrap.rows]


def test_a_rank_that_comes_back_as_another_process_begins_a_new_run():
    first = lines(2)
    second = [ours(report(rank, model("cuda:0"), [0], time=1.8e9 + rank, pid=rank + 1)) for rank in range(2)]
    in_one_log = ["".join(first + second)]
    a_log_each = first + second
    a_log_a_run = ["".join(second), "".join(first)]
    a_log_a_rank = [first[0] + second[0], second[1] + first[1]]
    for texts in (in_one_log, a_log_each, a_log_a_run, a_log_a_rank):
        older, newer = find_runs(read(*texts))
        assert [row.process.pid for row in older.wraps[0].rows] == [1000, 1001]
        assert [row.process.pid for row in newer.wraps[0].rows] == [1, 2]


def test_a_reused_process_number_is_another_run():
    assert shape("".join(lines(2) + [line.replace("170000000", "180000000") for line in lines(2)])) == [[[0, 1]], [[0, 1]]]


def test_a_rank_whose_first_report_is_lost_does_not_join_the_older_run():
    old = report(0, model("cuda:0"), [0], time=1000.0, pid=1)
    new = [report(1, model("cuda:1"), [1], time=2000.0, pid=3), report(0, model("cuda:0"), [0], time=2000.5, pid=2)]
    assert shape(old + "".join(new)) == [[[0]], [[0, 1]]]


def test_runs_that_meet_at_other_ports_are_different():
    one, other = lines(2)[0], lines(2, env={"LOCAL_RANK": "1", "MASTER_PORT": "29501"})[1]
    assert shape(one, other) == shape(other, one) == [[[0]], [[1]]], "the oldest first"


def test_several_models_of_one_process_are_wrappings_of_one_run():
    texts = []
    for number in range(3):
        for rank in range(2):
            time = 1.7e9 + number * 10 + rank
            texts.append(ours(report(rank, model(f"cuda:{rank}"), [rank], sequence=number, time=time, model=f"Part{number}")))
    assert shape("".join(texts)) == [[[0, 1], [0, 1], [0, 1]]]
    assert shape("".join(reversed(texts))) == [[[0, 1], [0, 1], [0, 1]]]
    assert shape("".join(texts[:-1])) == [[[0, 1], [0, 1], [0]]]


def test_the_same_line_in_two_logs_counts_once():
    both = lines(2)
    assert shape("".join(both), both[0], both[1]) == [[[0, 1]]]


# the table and the page -----------------------------------------------------------------------------------------------
def sixty_four():
    """The reports of a large job, in which the model of one rank is on every card and on the CPU."""
    texts = []
    for rank in range(64):
        host = f"gpu-worker-{rank // 8:04}.a-long-cluster-name.example.org"
        on_one_card = model(f"cuda:{rank % 8}", 1000, 500)
        spread = Model(*[Tensor(f"cuda:{card}") for card in range(8)], Tensor("cpu"))
        texts.append(report(rank, spread if rank == 9 else on_one_card, [rank % 8], world=64, host=host))
    return texts


@pytest.mark.parametrize("make", [lambda: lines(2), lambda: lines(2, host=None), sixty_four])
def test_the_table_is_aligned_and_fits_into_100_columns(make):
    texts = make()
    head, *rows = table(classified(*texts))
    assert len(rows) == len(texts)
    assert len({len(text) for text, _ in [head, *rows]}) == 1
    assert all(len(f"{text}  {verdict}") <= WIDTH for text, verdict in rows)
    assert [text.split()[0] for text, _ in rows] == [str(rank) for rank in range(len(texts))]
    assert ("host" in head[0]) == ('"host": null' not in texts[0]), "the column is there only where a host is known"


def test_the_table_is_aligned_by_columns_and_control_characters_are_made_visible():
    hosts = ["工作节点-0", "🚀-1", "n\x1b[8m\t2", "工作节点" * 20 + "-3"]
    texts = [report(rank, model("cpu"), None, world=4, host=host) for rank, host in enumerate(hosts)]
    head, *rows = table(classified(*texts))
    assert len({width(text) for text, _ in [head, *rows]}) == 1
    assert width(head[0]) + 2 + len(head[1]) <= WIDTH
    assert [text.split()[1] for text, _ in rows[:3]] == ["工作节点-0", "🚀-1", "n␛[8m␉2"]
    assert re.match(r"3 +(工作节点)+…[工作节点]+-3 ", rows[3][0]), rows[3]


def test_a_bad_run_is_not_reported_as_well(tmp_path):
    texts = [report(rank, model("cpu"), [rank], get_device="cpu") for rank in range(2)]
    code, out, _ = piped("".join(texts).encode(), cwd=tmp_path)
    assert code == 1 and "cpu-with-device-ids" in out and "all is well" not in out


# the command ----------------------------------------------------------------------------------------------------------
def piped(data, *words, cwd, **more):
    command = [sys.executable, "-m", "patcher", "diagnose", *words]
    completed = subprocess.run(command, cwd=str(cwd), env=environ(**more), input=data, capture_output=True, timeout=120)
    return completed.returncode, completed.stdout.decode(), completed.stderr.decode()


def test_the_exit_code_of_a_report_says_whether_all_is_well(tmp_path):
    (tmp_path / "well.log").write_text("".join(lines(2)))
    wrong = [report(rank, model("cpu"), [rank], get_device="cpu", current={"gcu": rank}) for rank in range(2)]
    (tmp_path / "wrong.log").write_text("".join(wrong))
    ended = sitepatch("diagnose", tmp_path / "well.log", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, ""), ended
    assert "ready  ranks 0-1: all is well" in ended.out
    ended = sitepatch("diagnose", "wrong.log", cwd=tmp_path)
    assert (ended.code, ended.err) == (1, ""), ended
    assert ended.out.splitlines()[1:4] == [
        "rank  host    device  device_ids  parameters  buffers  verdict",
        "0     node-0  gcu:0   [0]         cpu: 3      cpu: 1   cpu-with-device-ids",
        "1     node-0  gcu:1   [1]         cpu: 3      cpu: 1   cpu-with-device-ids",
    ]
    assert "cpu-with-device-ids  ranks 0-1: the parameters are on the CPU" in ended.out
    assert max(map(len, ended.out.splitlines())) <= WIDTH


def test_colours_follow_the_verdict(tmp_path):
    (tmp_path / "log").write_text("".join(lines(3)[:2]) + report(2, model("cpu"), [2], world=3))
    ended = sitepatch("diagnose", "log", cwd=tmp_path, FORCE_COLOR="1")
    assert "\x1b[32mready\x1b[0m" in ended.out and "\x1b[31mcpu-with-device-ids\x1b[0m" in ended.out
    assert "\x1b[33mranks-differ\x1b[0m" in ended.out
    assert "\x1b" not in sitepatch("diagnose", "log", cwd=tmp_path).out


def test_standard_input_with_a_dash_and_without_argument(tmp_path):
    data = "".join(lines(2)).encode()
    for words in ([], ["-"]):
        code, out, err = piped(data, *words, cwd=tmp_path)
        assert (code, err) == (0, ""), (out, err)
        assert "all is well" in out
    code, out, _ = piped(gzip.compress(data), cwd=tmp_path)
    assert code == 0, out


def test_a_directory_is_all_files_below_it(tmp_path):
    first, second = lines(2)
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "0.log").write_text(first)
    (tmp_path / "logs" / "deep" / "1.log.gz").write_bytes(gzip.compress(second.encode()))
    os.mkfifo(tmp_path / "logs" / "pipe")
    ended = sitepatch("diagnose", "logs", "--json", cwd=tmp_path)
    assert ended.code == 0, ended
    answer = json.loads(ended.out)
    assert [(log["log"], log["reports"]) for log in answer["logs"]] == [("logs/0.log", 1), ("logs/deep/1.log.gz", 1)]


def test_missing_files_are_reported_all_at_once(tmp_path):
    (tmp_path / "log").write_text("")
    ended = sitepatch("diagnose", "log", "one", "two", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "one: there is no such file" in ended.err and "two: there is no such file" in ended.err


def test_no_log_and_a_terminal_is_wrong_usage(tmp_path):
    main, other = os.openpty()
    command = [sys.executable, "-m", "patcher", "diagnose"]
    completed = subprocess.run(command, cwd=str(tmp_path), env=environ(), stdin=other, capture_output=True, timeout=60)
    os.close(main)
    os.close(other)
    assert completed.returncode == 2
    assert b"no log was given" in completed.stderr


def test_logs_without_a_report_are_no_problem(tmp_path):
    (tmp_path / "log").write_text("Epoch 1\n" * 9)
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "no known problem in 9 lines of 1 log\n")


def test_cut_lines_are_reported_with_file_and_line_and_end_with_1(tmp_path):
    first, second = lines(2)
    (tmp_path / "log").write_text(first + "x\n" + first[:99] + "\n" + second + second[:30])
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert ended.code == 1
    assert "all is well" in ended.out
    assert "unread 2 reports could not be read, cut short or of another release of its patchset: log:3, log:5" in " ".join(ended.out.split())
    assert "unread" in sitepatch("diagnose", "log", "-q", cwd=tmp_path).out, "it decides the exit code"
    (tmp_path / "log").write_text("x\n" + first[:99])
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert (ended.code, ended.out) == (1, "unread  1 report could not be read, cut short or of another release of its patchset: log:2\n")


def test_the_newest_run_is_shown_and_any_other_on_request(tmp_path):
    old = [report(rank, model("cpu"), [rank], time=1.6e9, pid=rank) for rank in range(2)]
    (tmp_path / "log").write_text("".join([*old, *lines(2)]))

    def shown(*words):
        ended = sitepatch("diagnose", "log", "--json", *words, cwd=tmp_path)
        answer = json.loads(ended.out)
        assert answer["runs"] == 2
        return ended.code, [run["run"] for run in answer["shown"]]

    assert (shown(), shown("--run", "2")) == ((0, [2]), (0, [2]))
    assert (shown("--run", "1"), shown("--run", "all")) == ((1, [1]), (1, [1, 2]))
    assert "run 2 of 2, 2023-11-14 22:13:20 UTC" in sitepatch("diagnose", "log", cwd=tmp_path).out
    for wrong in ("0", "3", "-1", "x"):
        ended = sitepatch("diagnose", "log", "--run", wrong, cwd=tmp_path)
        assert ended.code == 2
        assert f"--run: found {wrong}, expected all or a number from 1 to 2" in ended.err
        with pytest.raises(UsageError, match=f"--run: found {wrong}, "):  # callers from Python get it, too
            diagnose(tmp_path / "log", run=wrong, place=Place(target=tmp_path))


def test_json_has_what_the_module_says(tmp_path):
    (tmp_path / "log").write_text(lines(2)[0])
    ended = sitepatch("diagnose", "log", "--json", cwd=tmp_path)
    answer = json.loads(ended.out)
    assert (answer["schema"], answer["command"], answer["ok"], ended.code) == (1, "diagnose", False, 1)
    assert answer.keys() == {"schema", "command", "ok", "failures", "unexplained", "mentions", "findings", "cure", "runs", "shown", "logs", "trial", "broken"}
    (run,) = answer["shown"]
    assert (run["run"], run["time"], run["logs"]) == (1, 1.7e9, ["log"])
    (wrap,) = run["wraps"]
    assert wrap["conclusions"] == [{
        "code": "missing", "ranks": [1], "text": "no report from rank 1; 1 of 2 reported",
        "hint": "they ended before the wrapping, or were ended by the launcher, or their logs are not among those read",
    }]  # fmt: skip
    assert wrap["ranks"] == [{
        "rank": 0, "local_rank": 0, "world_size": 2, "host": "node-0", "pid": 1000, "site": "Runner.wrap_model",
        "wrapper": "MMDistributedDataParallel", "model": "Model", "device": "cuda", "device_ids": ["0"],
        "parameters": {"cuda:0": 3}, "buffers": {"cuda:0": 1}, "trainable": 3, "get_device": "cuda", "mmengine": "",
        "verdict": "ready",
    }]  # fmt: skip
    assert answer["logs"] == [{"log": "log", "lines": 1, "reports": 1, "cut": 0, "cut_lines": [], "problem": ""}]


def test_a_line_with_impossible_numbers_is_no_report():
    huge = report(0, model("cpu"), [0], parameters={"cpu": 10**4000})
    (log,) = read(ours(huge) + ours(report(0, model("cpu"), [0])))
    assert ([each.place.line for each in log.reports], log.cut) == ([2], (1,))


def test_the_text_of_a_log_does_not_control_the_terminal(tmp_path):
    bad = "\x1b[2J\r\udcff"
    facts = dict.fromkeys(("host", "site", "wrapper", "model", "mmengine", "get_device"), bad)
    facts.update(parameters={bad: 1}, buffers={bad: 1}, device_ids=[bad])
    facts.update(current={bad: 0}, env={"LOCAL_RANK": bad, "MASTER_PORT": bad}, visible={bad + "_VISIBLE_DEVICES": bad})
    (tmp_path / "log").write_text(report(0, model("cpu"), [0]) + report(1, model("cpu"), [1], **facts))
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert ended.code == 1
    assert "2J" in ended.out and "\x1b" not in ended.out and "\r" not in ended.out


# memory ---------------------------------------------------------------------------------------------------------------
def megabytes(count, separator):
    """A log of this many megabytes with a report at its beginning, near it and at its end."""
    noise = (b"\xff\xfeEpoch(train) loss: 0.1 " * 40 + separator) * 1000
    for at in range(count * (1 << 20) // len(noise)):
        yield noise
        if at == 1:
            yield lines(3)[1].encode()
    yield b"".join(line.encode() for line in lines(3)[::2])


@pytest.mark.parametrize("separator", [b"\n", b" "], ids=["lines", "one line"])
def test_sixty_megabytes_are_read_in_the_memory_of_three(separator):
    """They are piped through the real command, whose memory may not grow with them."""

    def most(count):
        code = "import resource, sys; from patcher.verbs.main import main\ntry: main()\nfinally: " \
               "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"  # fmt: skip
        command = [sys.executable, "-c", code, "diagnose", "--json", "-"]
        child = subprocess.Popen(command, env=environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with child:
            for piece in megabytes(count, separator):
                child.stdin.write(piece)
            child.stdin.close()
            answer, used = json.loads(child.stdout.read()), int(child.stderr.read())
        assert child.returncode == 0
        (run,) = answer["shown"]
        assert [row["rank"] for row in run["wraps"][0]["ranks"]] == [0, 1, 2]
        return used if sys.platform == "darwin" else used * 1024

    assert most(60) - most(3) < 8 << 20


@pytest.mark.parametrize(
    "noise", [b"sitepatch-ddp ", b'sitepatch-ddp {"schema": ', b'sitepatch-ddp {"schema": \n', REFUSAL.encode()]
)
def test_nothing_that_repeats_fills_the_memory(noise):
    class Endless(io.RawIOBase):
        left = 3

        def read1(self, size):
            self.left -= 1
            return noise * ((1 << 20) // len(noise)) if self.left > 0 else b""

    tracemalloc.start()
    log = read_log("log", Endless())
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 10 << 20
    assert log.reports == ()
