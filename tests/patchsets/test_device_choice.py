"""The helpers of mmengine-device, taken out of its .spatch and driven with a stand-in of torch: no card, no torch."""

import ast
import contextlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from patcher.patchset.places import builtin_dir
from tests.patchsets.standins import executed, inserted

pytestmark = pytest.mark.once

SPATCH = Path(builtin_dir()) / "mmengine-device" / "device.spatch"
BOTH = "cpu:gloo,gcu:eccl"


ADDED = inserted(SPATCH, "+++ mmengine/_sitepatch_device.py")


class Device:
    def __init__(self, kind, index=None):
        self.type, self.index = kind, index


BACKENDS = SimpleNamespace(
    default_device_backend_map={"cpu": "gloo", "cuda": "nccl", "gcu": "eccl"},
    backend_capability={"gloo": ["cpu", "cuda"], "eccl": ["gcu"], "mccl": ["musa"], "xyccl": ["xpu"], "fake": ["hpu"]},
)


def card(count=2):
    """A module of torch for a kind of device."""
    made, selected = ModuleType("torch.card"), []
    vars(made).update(
        is_available=lambda: count > 0, device_count=lambda: count, set_device=selected.append, selected=selected,
        current_device=lambda: selected[-1],
    )  # fmt: skip
    return made


def numbered(part):
    """The number of the current device, which a tensor has whose device is named without one."""
    return part.current_device() if part and part.selected else None


@pytest.fixture
def log(monkeypatch):
    """The lines that MMEngine's logger is given."""
    lines, logging = [], ModuleType("mmengine.logging")
    logging.print_log = lambda text, logger: lines.append(text)
    monkeypatch.setitem(sys.modules, "mmengine", ModuleType("mmengine"))
    monkeypatch.setitem(sys.modules, "mmengine.logging", logging)
    return lines


@pytest.fixture
def module(monkeypatch, log):
    """A function that makes mmengine/device/utils.py as patched, for an MMEngine that finds `known` and a torch with `parts`."""

    def make(known="cpu", /, *, options=None, **parts):
        torch = ModuleType("torch")
        torch._C = SimpleNamespace(_get_privateuse1_backend_name=lambda: "gcu" if "gcu" in parts else "privateuseone")
        torch.distributed = ModuleType("torch.distributed")
        torch.distributed.Backend, torch.distributed.distributed_c10d = BACKENDS, SimpleNamespace(BackendConfig=object)
        torch.device, torch.cuda = Device, card(2 if known == "cuda" else 0)
        torch.empty = lambda _, device: SimpleNamespace(device=Device(device, numbered(parts.get(device))))
        for name, part in parts.items():
            setattr(torch, name, part)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
        helpers = ModuleType("mmengine._sitepatch_device")
        exec(compile(ADDED, "device.spatch", "exec"), vars(helpers))
        monkeypatch.setattr(sys.modules["mmengine"], "_sitepatch_device", helpers, raising=False)
        text = inserted(SPATCH, "--- mmengine/device/utils.py")
        for name in ("device_ids", "device", "backend"):
            text = text.replace("$" + name, repr((options or {}).get(name, "auto")))
        utils = ModuleType("mmengine.device.utils")
        utils.get_device = lambda: known
        exec(compile(text, "device.spatch", "exec"), vars(utils))
        for name in ("mmengine.device", "mmengine.device.utils"):
            monkeypatch.setitem(sys.modules, name, utils)
        assert utils.get_device is helpers.get_device
        return helpers

    monkeypatch.setenv("LOCAL_RANK", "0")
    return make


class Everything(ModuleType):
    """As torch.ops: whatever it is asked for is there."""

    def __getattr__(self, name):
        return lambda: True


@pytest.mark.parametrize(
    ("known", "options", "parts", "found"),
    [
        ("cpu", {}, {}, "cpu"),
        ("cpu", {}, {"gcu": card()}, "gcu"),
        ("cpu", {}, {"gcu": card(0)}, "cpu"),
        ("cpu", {}, {"xpu": card()}, "xpu"),
        ("cpu", {}, {"mlu": card()}, "mlu"),
        ("cpu", {}, {"hpu": card(0), "next": card()}, "next"),
        ("cpu", {}, {"cpu": card(), "ops": Everything("torch.ops")}, "cpu"),
        ("cuda", {}, {"gcu": card()}, "cuda"),
        ("cuda", {"device": "gcu"}, {"gcu": card()}, "gcu"),
        ("cuda", {"device": "cpu"}, {}, "cpu"),
        ("cpu", {"device": "xla"}, {}, "xla"),
    ],
)
def test_the_device(module, log, known, options, parts, found, capsys):
    made = module(known, options=options, **parts)
    assert [made.get_device(), made.get_device()] == [found, found]
    assert (log, capsys.readouterr()) == ([], ("", "")), "it is asked when modules are imported"


def test_what_was_chosen_is_in_the_log_when_the_group_starts(module, log):
    made = module(gcu=card())
    assert made.start_with("nccl") == BOTH
    said = f"sitepatch mmengine-device: the device is gcu (MMEngine itself would take cpu), the backend {BOTH} instead of nccl"
    assert log == [said]


@pytest.mark.parametrize(("known", "cards"), [("cuda", {}), ("cpu", {})])
def test_where_mmengine_finds_the_device_or_nobody_finds_one_cuda_is_called_as_before(module, known, cards):
    made = module(known, **cards)
    made.set_device(5)
    assert made.torch.cuda.selected == [5]
    assert made.device_module() is made.torch.cuda
    assert made.start_with("nccl") == "nccl"
    assert made.comm_device("gloo").type == "cpu"


@pytest.mark.parametrize(("count", "index", "selected"), [(2, 1, 1), (2, 3, 3), (1, 3, 0)])
def test_the_card_of_this_process(module, count, index, selected):
    """Where each process sees one card it is number 0; a number that is too high is for the vendor's module to refuse."""
    made = module(gcu=card(count))
    made.set_device(index)
    assert (made.torch.gcu.selected, made.torch.cuda.selected) == ([selected], [])
    assert made.device_module() is made.torch.gcu


def test_the_cpu_and_xla_select_no_device(module):
    for known in ("cpu", "cuda"):
        for device in ("cpu", "xla"):
            made = module(known, options={"device": device})
            made.set_device(1)
            assert (made.torch.cuda.selected, made.device_module()) == ([], None)


def test_a_device_of_mmengines_own_that_torch_has_no_module_for_is_one_of_cuda(module):
    """DIPU passes for CUDA."""
    made = module("dipu")
    made.set_device(1)
    assert made.torch.cuda.selected == [1]


@pytest.mark.parametrize(
    ("options", "config", "backend"),
    [
        ({}, "nccl", BOTH),
        ({}, "gloo", BOTH),
        ({}, "eccl", BOTH),
        ({}, "cpu:gloo,gcu:other", "cpu:gloo,gcu:other"),
        ({"backend": "other"}, "nccl", "cpu:gloo,gcu:other"),
        ({"backend": "gcu:other"}, "nccl", "gcu:other"),
        ({"device": "xpu"}, "nccl", "cpu:gloo,xpu:xyccl"),
        ({"device": "cpu"}, "nccl", "gloo"),
        ({"device": "hpu"}, "hccl", "cpu:gloo,hpu:hccl"),
        ({"device": "gcu", "backend": "gloo"}, "nccl", "cpu:gloo,gcu:gloo"),
    ],
)
def test_the_backend_serves_the_device_and_the_cpu(module, options, config, backend):
    assert module(gcu=card(), options=options).start_with(config) == backend


def test_a_device_that_no_backend_serves(module):
    with pytest.raises(RuntimeError, match=r"no backend of torch\.distributed is registered for hpu: import"):
        module(hpu=card()).start_with("nccl")


def test_where_objects_are_put_that_a_group_sends(module):
    made = module(gcu=card())
    made.set_device(1)
    there = made.comm_device("eccl")
    assert (there.type, there.index) == ("gcu", 1)
    assert made.comm_device(BOTH).type == "gcu", "metrics are reduced by the card's own library"
    assert made.comm_device("gloo").type == "cpu"
    assert module(gcu=card(), options={"backend": "gloo"}).comm_device("cpu:gloo,gcu:gloo").type == "cpu"


def test_a_device_that_mmengine_knows_is_selected_as_its_kind_is(module):
    """By slurm MMEngine calls torch.cuda for MUSA and NPU, with nccl."""
    made = module("gcu", gcu=card())
    made.set_device(1)
    assert (made.torch.gcu.selected, made.torch.cuda.selected) == ([1], [])
    assert (made.start_with("nccl"), made.start_with("gloo"), made.start_with("cpu:gloo,gcu:eccl")) == ("eccl", "gloo", BOTH)


def test_a_device_that_torch_has_no_module_for(module):
    """XLA before torch 2.0, where a group is of one backend."""
    made = module(options={"device": "xla", "backend": "xla"})
    del made.torch.distributed.distributed_c10d.BackendConfig
    assert made.start_with("nccl") == "xla"
    there = made.comm_device("xla")
    assert (there.type, there.index) == ("xla", None)


def model(*devices, ignored=()):
    parameters = [(f"p{at}", SimpleNamespace(device=Device(*each))) for at, each in enumerate(devices)]
    for at, (_, parameter) in enumerate(parameters):
        first = next(other for _, other in parameters if devices[parameters.index((_, other))] == devices[at])
        parameter.device = first.device  # equal devices are one, as torch's are
    return SimpleNamespace(named_parameters=lambda: parameters, _ddp_params_and_buffers_to_ignore=ignored)


@pytest.mark.parametrize(
    ("devices", "given", "expected"),
    [
        ([("gcu", 1), ("gcu", 1)], [1], [1]),
        ([("gcu", 0)], [1], [0]),
        ([("gcu", 0), ("gcu", 1)], [0], None),
        ([("cpu",)], [0], None),
        ([("xla", 0)], [1], None),
        ([("cuda", 0)], [1], [1]),
        ([], [0], None),
    ],
)
def test_device_ids_are_those_of_the_parameters(module, devices, given, expected):
    made = module("cuda" if ("cuda", 0) in devices else "cpu", gcu=card())
    assert made.device_ids(model(*devices), given) == expected
    assert module(gcu=card(), options={"device_ids": "none"}).device_ids(model(*devices), given) is None


def test_parameters_that_ddp_ignores_do_not_count(module):
    assert module(gcu=card()).device_ids(model(("gcu", 1), ("cpu",), ignored=["p1"]), [1]) == [1]


class GradScaler:
    """torch.cuda.amp's: it turns itself off where there is no CUDA."""

    def __init__(self, init_scale=1.0):
        self.device, self.scale = "cuda", init_scale


class General:
    """torch.amp's, from 2.3 on; FSDP's has the same argument."""

    def __init__(self, device="cuda", init_scale=1.0):
        self.device, self.scale = device, init_scale


def test_the_scaler_is_that_of_the_device(module):
    own, amp, vendors = type("GradScaler", (GradScaler,), {}), SimpleNamespace(GradScaler=General), card()
    vendors.amp = SimpleNamespace(GradScaler=own)
    sharded = type("ShardedGradScaler", (General,), {})
    for known in ("cpu", "gcu"):  # a device that MMEngine knows, such as MUSA, has CUDA's scaler there
        made = module(known, gcu=card(), amp=amp)
        for theirs in (GradScaler, sharded):
            scaler = made.scaler(theirs)(init_scale=2.0)
            assert (scaler.device, scaler.scale) == ("gcu", 2.0)
            assert isinstance(scaler, sharded if theirs is sharded else General)
        assert module(known, gcu=vendors, amp=amp).scaler(GradScaler) is own
    assert module("cuda", amp=amp).scaler(GradScaler) is GradScaler


@pytest.mark.parametrize("theirs", ["GradScaler", "ShardedGradScaler"])
@pytest.mark.parametrize("amp", [{}, {"amp": SimpleNamespace(GradScaler=GradScaler)}], ids=["before 1.6", "before 2.3"])
def test_a_device_without_a_scaler_is_refused(module, amp, theirs):
    with pytest.raises(RuntimeError, match="this torch has no gradient scaler for gcu"):
        module(gcu=card(), **amp).scaler(type(theirs, (GradScaler,), {}))


# the hunks: the text of a case, as the patchset makes it, with stand-ins of what it calls -----------------------------------


@pytest.fixture
def start(module, monkeypatch):
    """A function that makes mmengine/dist/utils.py as patched, for an MMEngine that finds `known`: what was started, which cards were selected."""

    def make(known, options=None):
        kind = "gcu" if known == "cpu" else known
        made, started = module(known, **{kind: card(2)}, options=options), []
        group = SimpleNamespace(Backend=SimpleNamespace(NCCL="nccl"), get_backend=lambda _: started[-1][0])
        available = {f"is_{name}_available": lambda name=name: known == name for name in ("mlu", "npu", "musa")}
        utils = executed("mmengine-device",
            "start", mp=SimpleNamespace(get_start_method=lambda **_: "spawn"), torch_dist=group, start=lambda *args: started.append(args), **available
        )
        return utils, made, started, getattr(made.torch, kind).selected

    for name, value in (("RANK", "3"), ("LOCAL_RANK", "1"), ("OMPI_COMM_WORLD_LOCAL_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    return make


@pytest.mark.parametrize("known", ["cpu", "musa"])
def test_each_launcher_starts_the_card_of_its_rank_with_the_backend_for_it(start, monkeypatch, known):
    utils, made, started, selected = start(known)
    utils.init_dist("pytorch")
    assert (started, selected) == ([("mccl" if known == "musa" else BOTH, 3)], [1, 1] if known == "musa" else [1])
    assert utils.get_comm_device().type == ("cpu" if known == "musa" else "gcu")
    monkeypatch.delenv("LOCAL_RANK")
    selected.clear()
    utils._init_dist_mpi("any")
    assert (selected, os.environ.pop("LOCAL_RANK")) == ([1], "1")
    utils._init_dist_slurm("any")
    assert (selected, made.torch.cuda.selected) == ([1, 1], []), "3 of 2 cards"


@pytest.mark.parametrize("known", ["mlu", "npu", "musa"])
def test_the_cpu_on_purpose_keeps_off_a_card_that_mmengine_starts_by_its_name(start, known):
    utils, _, started, selected = start(known, {"device": "cpu"})
    utils.init_dist("pytorch")
    assert (started, selected) == ([("gloo", 3)], [])
    utils, _, _, selected = start(known)
    utils.init_dist("pytorch")
    assert selected == [1, 1], "by the local rank, also in releases that take the rank of the whole run"


@pytest.mark.parametrize(("case", "method", "args"), [("runner", "wrap_model", (None,)), ("runner", "wrap_model", ({},)), ("strategy", "_wrap_model", ())])
def test_each_place_gives_ddp_the_device_of_the_parameters_and_says_where_it_trains(module, capfd, case, method, args):
    module(gcu=card()).get_device()
    wrapped = []
    there = model(("gcu", 1), ("gcu", 1))
    there.parameters = lambda: [parameter for _, parameter in there.named_parameters()]
    there.to = lambda device: there
    registry = SimpleNamespace(get=lambda _: object, build=lambda _, default_args: wrapped.append(default_args))
    ddp = {"MMDistributedDataParallel": lambda **more: wrapped.append(more), "DistributedDataParallel": object}
    scope = executed("mmengine-device", case, MODEL_WRAPPERS=registry, get_device=lambda: "gcu", **ddp)
    getattr(getattr(scope, {"runner": "Runner", "strategy": "DDPStrategy"}[case]), method)(SimpleNamespace(model_wrapper={}), *args, there)
    assert [given["device_ids"] for given in wrapped] == [[1]]
    assert not any(args), "the config is left as it is"
    line = json.loads(capfd.readouterr().out.partition(" ")[2])
    assert (line["event"], line["parameters"], line["before"], line["idle"]) == ("trains", *[{str(there.parameters()[0].device): 2}] * 2, [])


def test_a_rank_that_leaves_its_card_for_the_cpu_warns_and_one_that_is_told_to_does_not(module, monkeypatch, capfd):
    for name in [name for name in os.environ if name.endswith(("RANK", "WORLD_SIZE", "_VISIBLE_DEVICES")) and name != "LOCAL_RANK"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GCU_VISIBLE_DEVICES", "1")
    there = model(("cpu",))
    there.parameters = lambda: [parameter for _, parameter in there.named_parameters()]
    monkeypatch.setattr(Device, "__str__", lambda device: device.type, raising=False)
    for options, before, idle in (({}, ["gcu:0"], ["gcu"]), ({}, ["cpu"], ["xpu"]), ({"device": "cpu"}, ["gcu:0"], [])):
        made = module(options=options, **({"xpu": card()} if idle == ["xpu"] else {}))
        with pytest.warns(UserWarning, match=f"{idle[0]} stands idle; import .*--set device={idle[0]}") if idle else contextlib.nullcontext():
            made.tell(there, before, "Here")
        line = json.loads(capfd.readouterr().out.partition(" ")[2])
        assert (line["idle"], line["env"]) == (idle, {"LOCAL_RANK": "0", "GCU_VISIBLE_DEVICES": "1"})


@pytest.mark.parametrize("error", [ValueError("I/O operation on closed file"), BrokenPipeError()])
def test_training_goes_on_where_nobody_reads_stdout(module, error):
    def write(text):
        raise error

    there = model(("cpu",))
    there.parameters = lambda: [parameter for _, parameter in there.named_parameters()]
    with contextlib.redirect_stdout(SimpleNamespace(write=write)):
        module().tell(there, [], "Here")


@pytest.mark.parametrize(("movable", "meta", "moved"), [(False, False, True), (True, False, False), (False, True, False)])
def test_fsdp_is_given_the_model_on_the_card_that_it_cannot_move_it_to(module, monkeypatch, movable, meta, moved):
    monkeypatch.setenv("LOCAL_RANK", "1")
    made = module(gcu=card())
    made.set_device(1)
    made.torch._has_compatible_shallow_copy_type = lambda here, there: movable
    empty, made.torch.empty = made.torch.empty, lambda _, device="cpu": empty(_, device)
    there = SimpleNamespace(parameters=lambda: iter([SimpleNamespace(is_meta=meta)]), to=lambda device: f"on {device.type}:{device.index}")
    registry = SimpleNamespace(build=lambda _, default_args: default_args["module"])
    strategy = executed("mmengine-device", "fsdp", os=os, MODEL_WRAPPERS=registry).FSDPStrategy
    assert strategy._wrap_model(SimpleNamespace(model_wrapper={}), there) == ("on gcu:1" if moved else there)


def test_autocast_lets_the_device_through_and_no_other(module):
    module(gcu=card())
    torch = SimpleNamespace(autocast=lambda **more: contextlib.nullcontext())
    assert list(executed("mmengine-device", "autocast", torch=torch).autocast("gcu")) == [None]
    for kind in ("xpu", "cpu"):
        with pytest.raises(ValueError, match=f"but got {kind}"):
            next(executed("mmengine-device", "autocast", torch=torch).autocast(kind))


@pytest.mark.parametrize("case", ["scaler", "scaler-of-cuda", "scaler-of-fsdp"])
def test_amp_is_for_a_device_with_its_own_scaler(module, monkeypatch, case):
    amp = ModuleType("torch.cuda.amp")
    amp.GradScaler = GradScaler
    monkeypatch.setitem(sys.modules, "torch.cuda", ModuleType("torch.cuda"))
    monkeypatch.setitem(sys.modules, "torch.cuda.amp", amp)

    def wrapper(**parts):
        made = module(amp=SimpleNamespace(GradScaler=General), **parts)
        vars(sys.modules["mmengine.device"]).update(is_cuda_available=lambda: False, is_npu_available=lambda: False)
        return executed("mmengine-device", case, OptimWrapper=object, torch=made.torch).AmpOptimWrapper

    assert wrapper(gcu=card())().loss_scaler.device == "gcu"
    assert wrapper(gcu=card()).__init__.__globals__["GradScaler"] is GradScaler, "isinstance asks for it"
    if case == "scaler-of-fsdp":
        sharded = ModuleType("sharded_grad_scaler")
        sharded.ShardedGradScaler = type("ShardedGradScaler", (General,), {})
        monkeypatch.setitem(sys.modules, "torch.distributed.fsdp", ModuleType("fsdp"))
        monkeypatch.setitem(sys.modules, "torch.distributed.fsdp.sharded_grad_scaler", sharded)
        scaler = wrapper(gcu=card())(use_fsdp=True).loss_scaler
        assert (type(scaler), scaler.device) == (sharded.ShardedGradScaler, "gcu")
    with pytest.raises(AssertionError, match="only on gpu"):
        wrapper()()


def test_objects_are_sent_from_the_card_where_their_sizes_are(module):
    none, sent = dict.fromkeys(("is_nccl_backend", "is_hccl_backend", "is_cncl_backend"), False), []
    group = SimpleNamespace(broadcast=lambda tensor, **_: sent.append(tensor))
    packed = SimpleNamespace(to=lambda device: device.type)
    for kind in ("musa", "cpu"):
        scope = executed("mmengine-device", "payload", packed=lambda _: packed, current_device=Device(kind), torch_dist=group, **none)
        scope._broadcast_object_list([])
    assert sent == ["musa", packed]


@pytest.mark.parametrize("old", [False, True])
def test_instances_are_indexed_by_masks_and_numbers_of_any_device(monkeypatch, old):
    class Tensor(list):
        dtype = None

    known = {"BoolTensor": type("BoolTensor", (), {}), "LongTensor": type("LongTensor", (), {})}
    kinds = SimpleNamespace(Tensor=Tensor, bool="bool", int64="int64", cuda=SimpleNamespace(**known), **known)
    monkeypatch.setitem(sys.modules, "torch", kinds)
    names = {"IndexType": SimpleNamespace(__args__=(str,)), "BoolTypeTensor": SimpleNamespace(__args__=(known["BoolTensor"],))}
    base = type("BaseDataElement", (), {"__len__": lambda _: 2})
    asked = executed("mmengine-device", "index-of-older-releases" if old else "index", BaseDataElement=base, **names)
    for dtype, length in (("bool", 2), ("int64", 3), ("bool", 3), ("float32", 2)):
        index = Tensor(range(length))
        index.dtype = dtype
        wrong = dtype == "float32" or (dtype, length) == ("bool", 3)
        with pytest.raises(AssertionError) if wrong else contextlib.nullcontext():
            assert asked.InstanceData()[index] is index


@pytest.mark.parametrize(
    ("visible", "local_rank", "found"),
    [("0,1", 1, 1), ("0", 1, 1), ("", 0, ""), ("MIG-1,MIG-2", 1, "MIG-2"), ("MIG-1", 1, 1), (None, 1, 1), (None, 2, 2)],
)
def test_the_logger_does_not_stop_a_rank_that_has_no_cuda_device(monkeypatch, visible, local_rank, found):
    torch = ModuleType("torch")
    torch.cuda = card()
    torch.cuda.is_available = lambda: True
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert executed("mmengine-device", "logger")._get_device_id() == found


def test_the_inserted_code_is_python_3_7():
    ast.parse(ADDED, feature_version=(3, 7))
