"""The report of mmengine-ddp-debug, taken out of its .spatch and driven with hand-made models, without torch."""

import contextlib
import io
import os
import random
import subprocess
import sys
import time
import types

import pytest

from patcher.diagnosis.report import read_report
from tests.patchsets.ddp import (
    Model,
    Tensor,
    facts_of,
    helper,
    helper_source,
    read_output,
    warnings,
)
from tests.patchsets.standins import executed, patched

PROCESS = {"host", "pid", "time", "current"}


class Hostile:
    """Every question raises."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("str")

    __repr__ = __str__


@pytest.fixture(autouse=True)
def rank(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in list(sys.modules):
        if name.partition(".")[0].partition("_")[0] == "torch":
            monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def report(capsys):
    """Reports a model, and returns the lines for people and the facts of the line for programs."""

    def run(model, device_ids=lambda: [1], **options):
        assert helper(**options)("Here", model, device_ids) is None
        out = capsys.readouterr().out
        assert out.splitlines()[-1].isascii()
        lines, facts = read_output(out)
        assert all(line.startswith("[rank 1] ") for line in lines)
        return lines, facts

    return run


def verdict(facts):
    return (warnings(facts) or ["ready"])[0]


def test_the_facts_of_a_model_left_on_the_cpu(report):
    lines, facts = report(Model(Tensor(), Tensor(shape=(3,)), buffers=[Tensor(dtype="torch.int64")]))
    assert warnings(facts) == ["cpu-with-device-ids"]
    assert {name: facts.pop(name) for name in PROCESS}.keys() == PROCESS
    assert facts == {
        "schema": 7,
        "site": "Here",
        "rank": "1",
        "world_size": "2",
        "env": {"LOCAL_RANK": "1"},
        "sequence": 0,
        "wrapper": "MMDistributedDataParallel",
        "bases": None,
        "model": "Model",
        "mmengine": None,
        "torch": None,
        "deepspeed": None,
        "get_device": None,
        "parameters": {"cpu": 2},
        "buffers": {"cpu": 1},
        "before": {},
        "places": {"cpu": ["layer0.weight", "layer1.weight"]},
        "trainable": 2,
        "device_ids": [1],
        "ids_from": "MMEngine",
        "patchsets": [],
    }
    assert lines == [
        "[rank 1] sitepatch mmengine-ddp-debug: Here, MMDistributedDataParallel: parameters on {'cpu': 2}, before {}, "
        "device_ids [1], get_device() None, first {'cpu': ['layer0.weight', 'layer1.weight']}",
    ]


@pytest.mark.parametrize(
    ("make", "device_ids", "codes"),
    [
        (lambda: Model(Tensor("cuda:1")), [1], []),
        (lambda: Model(Tensor("cpu")), None, []),
        (lambda: Model(Tensor("cpu")), [], []),
        (lambda: Model(Tensor("cuda:0")), [1], ["device-ids-elsewhere"]),
        (lambda: Model(Tensor("cuda:0"), Tensor("cuda:1")), None, ["several-devices"]),
        (lambda: Model(Tensor("cuda:0"), Tensor("cpu")), [0], ["several-devices"]),
        (lambda: Model(Tensor("meta")), None, ["not-materialised"]),
        (lambda: Model(), [0], ["no-trainable-parameters"]),
        (lambda: Model(Tensor("cuda:0", requires_grad=False)), [0], ["no-trainable-parameters"]),
        (lambda: object(), [0], ["model-unreadable"]),
        (lambda: None, None, ["model-unreadable"]),
        (lambda: Hostile(), None, ["model-unreadable"]),
        (lambda: Model(Tensor("cuda:0"), Tensor("meta")), None, ["several-devices", "not-materialised"]),
        (lambda: Model(Tensor("cuda:0"), Hostile()), None, ["model-unreadable"]),
    ],
)
def test_what_diagnose_makes_of_the_facts(report, make, device_ids, codes):
    lines, facts = report(make(), lambda: device_ids)
    assert warnings(facts) == codes
    assert facts["device_ids"] == device_ids
    assert "WARNING" not in "\n".join(lines) and not {"warnings", "verdict"} & set(facts), "the patch itself judges nothing"



def test_a_model_that_mmengine_moves_back_to_the_cpu(capsys):
    helper()("Here", Model(Tensor(), Tensor()), before=["gcu:0", "gcu:0"])
    lines, facts = read_output(capsys.readouterr().out)
    assert (facts["before"], warnings(facts)) == ({"gcu:0": 2}, ["moved-back"])
    assert "parameters on {'cpu': 2}, before {'gcu:0': 2}, " in lines[0]


def test_a_model_that_mmengine_moves_to_its_device_is_well(capsys):
    helper()("Here", Model(Tensor("gcu:0")), before=["cpu"])
    _, facts = read_output(capsys.readouterr().out)
    assert (facts["before"], verdict(facts)) == ({"cpu": 1}, "ready")


@pytest.mark.parametrize(
    ("kind", "initialised", "code"),
    [
        ("gcu", True, "accelerator-unused"),
        ("gcu", False, "accelerator-unused"),
        ("cuda", False, "ready"),
        ("cuda", True, "accelerator-unused"),
        ("xpu", False, "ready"),
        ("mtia", False, "ready"),
    ],
)
def test_an_idle_accelerator_is_a_warning(report, monkeypatch, kind, initialised, code):
    torch = types.ModuleType("torch")
    torch.cpu = types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 0)  # which is no accelerator
    setattr(torch, kind, types.SimpleNamespace(is_initialized=lambda: initialised, current_device=lambda: 0))
    monkeypatch.setitem(sys.modules, "torch", torch)
    _, facts = report(Model(Tensor()), lambda: None)
    assert verdict(facts) == code


def test_which_parameters_are_where(report):
    spread = Model(Tensor("gcu:0"), *[Tensor()] * 4)
    _, facts = report(spread, lambda: [0])
    assert facts["places"] == {"gcu:0": ["layer0.weight"], "cpu": ["layer1.weight", "layer2.weight", "layer3.weight"]}


def test_nothing_is_judged_of_other_wrappers(capsys):
    helper()("Here", Model(Tensor("gcu:0"), Tensor("meta")), lambda: None, {"type": "MMFullyShardedDataParallel"})
    _, facts = read_output(capsys.readouterr().out)
    assert warnings(facts) == ["other-wrapper"]


def test_a_wrapper_that_is_derived_from_ddp_is_judged_as_ddp_is(capsys, monkeypatch):
    class DistributedDataParallel(Model):
        pass

    class Own(DistributedDataParallel):
        pass

    registry = types.SimpleNamespace(MODEL_WRAPPERS={"Own": Own})
    monkeypatch.setitem(sys.modules, "mmengine.registry", registry)
    helper()("Here", Model(Tensor("gcu:0")), lambda: None, {"type": "Own"})
    _, facts = read_output(capsys.readouterr().out)
    assert facts["bases"] == ["Own", "DistributedDataParallel", "Model", "object"]
    assert verdict(facts) == "ready", "it is derived from torch's DDP"


def test_who_gave_the_device_ids(capsys):
    def origin(config, **beside):
        helper(**beside)("Here", Model(Tensor("gcu:0")), lambda: [0], {"type": "MMDistributedDataParallel", **config})
        _, facts = read_output(capsys.readouterr().out)
        return facts["ids_from"], facts["patchsets"]

    assert origin({}) == ("MMEngine", [])
    assert origin({"device_ids": [0]}) == ("config", [])
    assert origin({}, _sitepatch_takes_device_ids=None) == ("MMEngine", ["mmengine-ddp-device"])
    both = {"_sitepatch_takes_device_ids": None, "_sitepatch_device": None}
    assert origin({"device_ids": [0]}, **both) == ("config", ["mmengine-device", "mmengine-ddp-device"])


def test_nothing_escapes_the_helper(capsys):
    """Not even SystemExit: a vendor's module may end the process where it is asked."""

    class Ends(Model):
        def named_parameters(self):
            sys.exit("no card")

    helper()("Here", Ends(), lambda: sys.exit(1))
    _, facts = read_output(capsys.readouterr().out)
    assert warnings(facts) == ["device-ids-unknown", "model-unreadable"]


def test_a_missing_local_rank_is_reported_and_not_raised(report, monkeypatch):
    monkeypatch.delenv("LOCAL_RANK")
    _, facts = report(Model(Tensor()), lambda: [int(os.environ["LOCAL_RANK"])])
    assert verdict(facts) == "device-ids-unknown"
    assert facts["device_ids"] == "?"
    assert "LOCAL_RANK" not in facts["env"]


def test_parameters_that_raise_half_way_are_not_reported_as_all(report):
    class Broken(Model):
        def named_parameters(self):
            yield "first", Tensor()
            raise RuntimeError

    _, facts = report(Broken(), lambda: None)
    assert (facts["parameters"], facts["buffers"], facts["places"]) == (None, {}, {})
    assert warnings(facts) == ["model-unreadable"]


@pytest.mark.parametrize(("params", "listed"), [(0, 0), (2, 2), (3, 3), (9, 3), (-1, 0)])
def test_only_so_many_parameters_of_a_device_are_named(report, params, listed):
    lines, facts = report(Model(Tensor(), Tensor(), Tensor()), params=params)
    assert (lines[0].count(".weight"), len(facts["places"]["cpu"])) == (listed, 3)


def test_the_rank_is_that_of_torch_distributed(report, monkeypatch):
    model = Model(Tensor())
    distributed = types.ModuleType("torch.distributed")
    distributed.get_rank = lambda: 1
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    monkeypatch.setenv("RANK", "7")
    lines, facts = report(model)
    assert facts["rank"] == 1
    assert lines[0].startswith("[rank 1] ")


def test_without_any_rank_the_report_is_still_made(monkeypatch, capsys):
    monkeypatch.delenv("RANK")
    helper()("Here", Model(Tensor()), lambda: None)
    lines, facts = read_output(capsys.readouterr().out)
    assert lines[0].startswith("[rank ?] ")
    assert (facts["rank"], read_report(1, facts).rank) == ("?", None)


def test_a_device_is_asked_for_only_where_its_module_is_imported_and_initialised(report, monkeypatch):
    def accelerator(initialised, current):
        return types.SimpleNamespace(is_initialized=lambda: initialised, current_device=current)

    def never():
        raise AssertionError("this would initialise a device context")

    torch = types.ModuleType("torch")
    torch.cuda = accelerator(False, never)
    torch.musa = accelerator(True, lambda: 1)
    torch.npu = types.SimpleNamespace(current_device=never)
    torch.mlu = accelerator(True, lambda: 1 // 0)
    torch.next = accelerator(True, lambda: 3)  # whatever kind comes next
    monkeypatch.setitem(sys.modules, "torch", torch)
    before = set(sys.modules)
    _, facts = report(Model(Tensor()))
    assert facts["current"] == {"cuda": None, "musa": 1, "npu": None, "mlu": None, "next": 3}
    assert not [name for name in set(sys.modules) - before if name.startswith("torch")]


def test_people_and_programs_get_a_write_each_that_a_pipe_keeps_together():
    calls = []
    stdout = types.SimpleNamespace(write=lambda text: calls.append(text), flush=lambda: calls.append("flush"))
    with contextlib.redirect_stdout(stdout):
        helper(params=200)("Here", Model(*[Tensor()] * 200), lambda: None)
    before, text, after, flush, line, end = calls
    assert {before, after, flush, end} == {"flush"}, "what waits in the buffer takes up no room in our write"
    assert text.startswith("[rank 1] ") and text.endswith("\n") and text.count(".weight") == 200, "people see all that they asked for"
    assert line.startswith("sitepatch-ddp {") and line.endswith("}\n") and len(line) <= 4096


def test_which_process_it_is(report, monkeypatch):
    for name in ("MASTER_PORT", "CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    _, facts = report(Model(Tensor()))
    assert (facts["host"], facts["pid"], facts["sequence"]) == (os.uname().nodename, os.getpid(), 0)
    assert abs(time.time() - facts["time"]) < 3600
    assert (facts["world_size"], facts["env"]) == ("2", {"LOCAL_RANK": "1"})
    assert (facts["model"], facts["wrapper"]) == ("Model", "MMDistributedDataParallel")
    assert (facts["mmengine"], facts["get_device"]) == (None, None)


def test_which_run_it_belongs_to(report, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.setenv("MUSA_VISIBLE_DEVICES", "1")
    distributed = types.ModuleType("torch.distributed")
    distributed.get_rank = lambda: 1
    distributed.get_world_size = lambda: 8
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    monkeypatch.setitem(sys.modules, "mmengine", types.SimpleNamespace(__version__="0.10.7"))
    monkeypatch.setitem(sys.modules, "mmengine.device", types.SimpleNamespace(get_device=lambda: "cpu"))
    _, facts = report(Model(Tensor()))
    assert (facts["mmengine"], facts["get_device"]) == ("0.10.7", "cpu")
    row = read_report(1, facts)
    assert (row.rank, row.process.local_rank, row.process.world_size, row.process.run) == (1, 1, 8, "29500")
    assert row.setup.visible == (("MUSA_VISIBLE_DEVICES", "1"),)


def test_the_reports_of_one_process_are_numbered(capsys):
    report = helper()
    for number in range(3):
        report("Here", Model(Tensor()), lambda: None)
        _, facts = read_output(capsys.readouterr().out)
        assert facts["sequence"] == number


def test_a_name_with_a_line_break_does_not_make_a_line_of_its_own(report):
    class Odd(Model):
        def named_parameters(self):
            return [("a\nb\u2028c", Tensor())]

    lines, _ = report(Odd())
    assert len(lines) == 1 and "'cpu': ['a\\nb\\u2028c']" in lines[0]


def test_closed_or_missing_or_narrow_stdout(monkeypatch):
    closed = io.StringIO()
    closed.close()
    raw = io.BytesIO()

    class Chinese(Model):
        def named_parameters(self):
            return [("警告", Tensor())]

    for stdout in (closed, None, io.TextIOWrapper(raw, encoding="ascii")):
        with contextlib.redirect_stdout(stdout):
            helper()("Here", Chinese(), lambda: [0])
    text = raw.getvalue().decode("ascii")
    assert "\\u8b66\\u544a" in text
    assert verdict(facts_of(text.splitlines()[-1])) == "cpu-with-device-ids"


def test_random_numbers_and_the_model_are_left_alone(report):
    model = Model(Tensor(), buffers=[Tensor()])
    before = random.getstate(), dict(vars(model)), dict(vars(model.parameters_[0]))
    report(model)
    assert (random.getstate(), dict(vars(model)), dict(vars(model.parameters_[0]))) == before


def test_the_helper_is_python_3_7():
    import ast

    ast.parse(helper_source(), feature_version=(3, 7))


@pytest.mark.parametrize(("device_id", "ids"), [(1, ("1",)), (None, None), ([0], ("0",))])
def test_the_one_device_id_of_fsdp_is_a_list_of_one_to_diagnose(capsys, device_id, ids):
    helper()("Here", Model(Tensor()), None, {"type": "MMFullyShardedDataParallel", "device_id": device_id})
    _, facts = read_output(capsys.readouterr().out)
    assert read_report(1, facts).device_ids.names == ids


def test_where_nothing_is_wrapped_no_registry_is_asked(capsys, monkeypatch):
    lookups = []  # a registry that is asked for a name it does not know imports the packages of the user's config
    registry = types.SimpleNamespace(MODEL_WRAPPERS=types.SimpleNamespace(get=lookups.append))
    monkeypatch.setitem(sys.modules, "mmengine.registry", registry)
    helper()("Here", Model(Tensor("gcu:0")), lambda: None, {"type": "none"})
    _, facts = read_output(capsys.readouterr().out)
    assert (verdict(facts), lookups) == ("not-distributed", [])


def wrap_in_a_patched_stand_in(version, site, code):
    """Apply the patchset to a stand-in of MMEngine and run `code` there as rank 3, which the CPU model makes fail."""
    patched(version, site, "mmengine-ddp-debug")
    env = {**os.environ, "PYTHONPATH": str(site), "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}
    command = [sys.executable, "-S", "-c", "from mmengine.model import BaseModel; " + code]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8")


RUNNER = "from mmengine.runner import Runner; Runner().wrap_model({}, BaseModel())"
STRATEGY = "from mmengine._strategy import DDPStrategy; DDPStrategy()._wrap_model(BaseModel())"
WRAPPER_CFG = "dict(type='MMDistributedDataParallel', device_ids={})"
PLACES = [("0.10.7", STRATEGY, "DDPStrategy._wrap_model")]
for release in ("0.1.0", "0.7.4", "0.10.7"):
    PLACES.append((release, RUNNER.format(None), "Runner.wrap_model"))
    PLACES.append((release, RUNNER.format(WRAPPER_CFG.format([1])), "Runner.wrap_model (model_wrapper_cfg)"))


@pytest.mark.parametrize(("version", "code", "place"), PLACES)
def test_each_place_reports_before_it_fails(version, code, place, tmp_path):
    ended = wrap_in_a_patched_stand_in(version, tmp_path, code)
    assert ended.stderr.splitlines()[-1] == "ValueError: device_ids [1] given for a module on the CPU"
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("sitepatch-ddp ")]
    facts = facts_of(line)
    assert f"[rank 3] sitepatch mmengine-ddp-debug: {place}, MMDistributedDataParallel: parameters on {{'cpu': 2}}, " in ended.stdout
    assert (facts["site"], facts["rank"], facts["device_ids"], facts["before"]) == (place, "3", [1], {"cpu": 2})
    assert (facts["wrapper"], facts["model"]) == ("MMDistributedDataParallel", "BaseModel")
    assert facts["parameters"] == {"cpu": 2}
    assert verdict(facts) == "cpu-with-device-ids"


@pytest.mark.parametrize("version", ["0.1.0", "0.7.4", "0.10.7"])
def test_where_nothing_is_wrapped_the_report_says_where_the_model_is(version, tmp_path):
    code = "from mmengine.runner import Runner; Runner(distributed=False).wrap_model(None, BaseModel())"
    _, facts = read_output(wrap_in_a_patched_stand_in(version, tmp_path, code).stdout)
    assert (facts["site"], facts["wrapper"], facts["bases"]) == ("Runner.wrap_model (not distributed)", "none", None)
    assert (facts["before"], facts["parameters"], verdict(facts)) == ({"cpu": 2}, {"cpu": 2}, "not-distributed")


STRATEGIES = {  # by case: how the strategy is asked, where it reports, and the wrapper that it names
    "alone": ("SingleDeviceStrategy", "_wrap_model", "SingleDeviceStrategy._wrap_model (not distributed)", "none"),
    "colossalai": ("ColossalAIStrategy", "_wrap", "ColossalAIStrategy._wrap", "ColossalAIModelWrapper"),
    "deepspeed": ("DeepSpeedStrategy", "_wrap_model", "DeepSpeedStrategy._wrap_model", "MMDeepSpeedEngineWrapper"),
    "fsdp": ("FSDPStrategy", "_wrap_model", "FSDPStrategy._wrap_model", "MMFullyShardedDataParallel"),
}


@pytest.mark.parametrize("case", STRATEGIES)
def test_each_strategy_reports_before_it_wraps(monkeypatch, case):
    """The strategies' own packages are not here: the text of a case, as the patchset makes it, with stand-ins of what it calls."""
    kind, method, site, wrapper = STRATEGIES[case]
    reports, calls = [], []

    def wrap(*args, **kwargs):
        calls.append(len(reports))
        return Everything()

    class Everything(types.SimpleNamespace):
        def __getattr__(self, name):
            return wrap

        def __iter__(self):
            return iter([self, self])

    report = types.SimpleNamespace(_sitepatch_ddp_report=lambda *args: reports.append(args))
    monkeypatch.setitem(sys.modules, "mmengine", types.ModuleType("mmengine"))
    monkeypatch.setitem(sys.modules, "mmengine.dist", report)
    monkeypatch.setitem(sys.modules, "mmengine.dist.utils", report)
    stand_ins = dict.fromkeys(("get_device", "MMDeepSpeedEngineWrapper"), lambda **_: "cpu")
    patched_case = executed("mmengine-ddp-debug", case, deepspeed=Everything(), MODEL_WRAPPERS=Everything(), **stand_ins)
    strategy = types.SimpleNamespace(model_wrapper={"type": wrapper}, booster=Everything(), optim_wrapper=Everything())
    model = types.SimpleNamespace(to=lambda device: model)
    wrap_model = getattr(getattr(patched_case, kind), method)
    wrap_model(strategy, model)
    (arguments,) = reports
    assert arguments[:3] == (site, model, ())
    defaults, *config = arguments[3:]
    assert {**defaults(), **(config[0] if config else {})}["type"] == wrapper
    assert set(calls) <= {1}, "it reports before anything is wrapped"


def test_the_config_wins_over_the_device_ids_that_mmengine_gives(tmp_path):
    code = RUNNER.format(WRAPPER_CFG.format(None))
    ended = wrap_in_a_patched_stand_in("0.10.7", tmp_path, code)
    assert ended.returncode == 0, ended.stderr
    _, facts = read_output(ended.stdout)
    assert (facts["device_ids"], verdict(facts)) == (None, "ready")
