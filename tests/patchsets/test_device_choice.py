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
    """A module of torch for a kind of device; `selected` are the numbers of the devices that were selected."""
    module = ModuleType("torch.card")
    module.selected = []
    module.is_available = lambda: count > 0
    module.device_count = lambda: count
    module.set_device = module.selected.append
    module.current_device = lambda: module.selected[-1]
    return module


def torch_with(parts, cuda):
    """A torch with these modules for kinds of devices, and with that for CUDA."""
    torch = ModuleType("torch")
    torch._C = SimpleNamespace(_get_privateuse1_backend_name=lambda: "gcu" if "gcu" in parts else "privateuseone")
    torch.distributed = ModuleType("torch.distributed")
    torch.distributed.Backend = BACKENDS
    torch.distributed.distributed_c10d = SimpleNamespace(BackendConfig=object)
    torch.device = Device
    torch.cuda = cuda
    for kind, part in parts.items():
        setattr(torch, kind, part)

    def empty(_, device="cpu"):
        """A tensor has the number of the current device if its device is named without one."""
        part = parts.get(device)
        number = part.current_device() if part and part.selected else None
        return SimpleNamespace(device=Device(device, number))

    torch.empty = empty
    return torch


@pytest.fixture
def log(monkeypatch):
    """The lines that MMEngine's logger is given."""
    lines = []
    logging = ModuleType("mmengine.logging")
    logging.print_log = lambda text, logger: lines.append(text)
    monkeypatch.setitem(sys.modules, "mmengine", ModuleType("mmengine"))
    monkeypatch.setitem(sys.modules, "mmengine.logging", logging)
    return lines


@pytest.fixture
def module(monkeypatch, log):
    """A function that makes mmengine/device/utils.py as patched, for an MMEngine that finds `known` and a torch with `parts`.

    It returns the module that the patchset adds.
    """

    def make(known="cpu", /, *, options=None, **parts):
        torch = torch_with(parts, cuda=card(2 if known == "cuda" else 0))
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
    ("known", "options", "parts", "device"),
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
def test_the_device(module, log, known, options, parts, device, capsys):
    helpers = module(known, options=options, **parts)
    assert [helpers.get_device(), helpers.get_device()] == [device, device]
    assert (log, capsys.readouterr()) == ([], ("", "")), "it is asked when modules are imported"


def test_what_was_chosen_is_in_the_log_when_the_group_starts(module, log):
    helpers = module(gcu=card())
    assert helpers.start_with("nccl") == BOTH
    assert log == [f"sitepatch mmengine-device: the device is gcu (MMEngine itself would take cpu), the backend {BOTH} instead of nccl"]


@pytest.mark.parametrize(("known", "cards"), [("cuda", {}), ("cpu", {})])
def test_where_mmengine_finds_the_device_or_nobody_finds_one_cuda_is_called_as_before(module, known, cards):
    helpers = module(known, **cards)
    helpers.set_device(5)
    assert helpers.torch.cuda.selected == [5]
    assert helpers.device_module() is helpers.torch.cuda
    assert helpers.start_with("nccl") == "nccl"
    assert helpers.comm_device("gloo").type == "cpu"


@pytest.mark.parametrize(("count", "index", "selected"), [(2, 1, 1), (2, 3, 3), (1, 3, 0)])
def test_the_card_of_this_process(module, count, index, selected):
    """Where each process sees one card it is number 0; a number that is too high is for the vendor's module to refuse."""
    helpers = module(gcu=card(count))
    helpers.set_device(index)
    assert (helpers.torch.gcu.selected, helpers.torch.cuda.selected) == ([selected], [])
    assert helpers.device_module() is helpers.torch.gcu


def test_the_cpu_and_xla_select_no_device(module):
    for known in ("cpu", "cuda"):
        for device in ("cpu", "xla"):
            helpers = module(known, options={"device": device})
            helpers.set_device(1)
            assert (helpers.torch.cuda.selected, helpers.device_module()) == ([], None)


def test_a_device_of_mmengines_own_that_torch_has_no_module_for_is_one_of_cuda(module):
    """DIPU passes for CUDA."""
    helpers = module("dipu")
    helpers.set_device(1)
    assert helpers.torch.cuda.selected == [1]


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
    helpers = module(gcu=card())
    helpers.set_device(1)
    there = helpers.comm_device("eccl")
    assert (there.type, there.index) == ("gcu", 1)
    assert helpers.comm_device(BOTH).type == "gcu", "metrics are reduced by the card's own library"
    assert helpers.comm_device("gloo").type == "cpu"
    assert module(gcu=card(), options={"backend": "gloo"}).comm_device("cpu:gloo,gcu:gloo").type == "cpu"


def test_a_device_that_mmengine_knows_is_selected_as_its_kind_is(module):
    """By slurm MMEngine calls torch.cuda for MUSA and NPU, with nccl."""
    helpers = module("gcu", gcu=card())
    helpers.set_device(1)
    assert (helpers.torch.gcu.selected, helpers.torch.cuda.selected) == ([1], [])
    assert (helpers.start_with("nccl"), helpers.start_with("gloo"), helpers.start_with("cpu:gloo,gcu:eccl")) == ("eccl", "gloo", BOTH)


def test_a_device_that_torch_has_no_module_for(module):
    """XLA before torch 2.0, where a group is of one backend."""
    helpers = module(options={"device": "xla", "backend": "xla"})
    del helpers.torch.distributed.distributed_c10d.BackendConfig
    assert helpers.start_with("nccl") == "xla"
    there = helpers.comm_device("xla")
    assert (there.type, there.index) == ("xla", None)


def model(*devices, ignored=()):
    """A model with a parameter on each of these devices; equal devices are one object, as torch's compare equal."""
    unique = {device: Device(*device) for device in devices}
    parameters = [SimpleNamespace(device=unique[device]) for device in devices]
    return SimpleNamespace(
        parameters=lambda: parameters,
        named_parameters=lambda: [(f"p{number}", parameter) for number, parameter in enumerate(parameters)],
        _ddp_params_and_buffers_to_ignore=ignored,
    )


@pytest.mark.parametrize(
    ("devices", "by_mmengine", "expected"),
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
def test_device_ids_are_those_of_the_parameters(module, devices, by_mmengine, expected):
    helpers = module("cuda" if ("cuda", 0) in devices else "cpu", gcu=card())
    assert helpers.device_ids(model(*devices), by_mmengine) == expected
    assert module(gcu=card(), options={"device_ids": "none"}).device_ids(model(*devices), by_mmengine) is None


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
    amp = SimpleNamespace(GradScaler=General)
    sharded = type("ShardedGradScaler", (General,), {})
    for known in ("cpu", "gcu"):  # a device that MMEngine knows, such as MUSA, has CUDA's scaler there
        helpers = module(known, gcu=card(), amp=amp)
        for asked_for, kind in ((GradScaler, General), (sharded, sharded)):
            scaler = helpers.scaler(asked_for)(init_scale=2.0)
            assert (scaler.device, scaler.scale) == ("gcu", 2.0)
            assert isinstance(scaler, kind)
    assert module("cuda", amp=amp).scaler(GradScaler) is GradScaler


@pytest.mark.parametrize("known", ["cpu", "gcu"])
def test_the_scaler_of_the_vendors_module_comes_first(module, known):
    vendors_scaler = type("GradScaler", (GradScaler,), {})
    vendors = card()
    vendors.amp = SimpleNamespace(GradScaler=vendors_scaler)
    amp = SimpleNamespace(GradScaler=General)
    assert module(known, gcu=vendors, amp=amp).scaler(GradScaler) is vendors_scaler


@pytest.mark.parametrize("name", ["GradScaler", "ShardedGradScaler"])
@pytest.mark.parametrize("amp", [{}, {"amp": SimpleNamespace(GradScaler=GradScaler)}], ids=["before 1.6", "before 2.3"])
def test_a_device_without_a_scaler_is_refused(module, amp, name):
    with pytest.raises(RuntimeError, match="this torch has no gradient scaler for gcu"):
        module(gcu=card(), **amp).scaler(type(name, (GradScaler,), {}))


# the hunks: the text of a case, as the patchset makes it, with stand-ins of what it calls -----------------------------------


@pytest.fixture
def start(module, monkeypatch):
    """A function that makes mmengine/dist/utils.py as patched, for an MMEngine that finds `known`.

    It returns that module, the helpers, the process groups that are started (backend, rank), and the cards that are selected.
    """

    def make(known, options=None):
        kind = "gcu" if known == "cpu" else known
        helpers = module(known, **{kind: card(2)}, options=options)
        groups = []
        utils = executed(
            "mmengine-device",
            "start",
            mp=SimpleNamespace(get_start_method=lambda **_: "spawn"),
            torch_dist=SimpleNamespace(Backend=SimpleNamespace(NCCL="nccl"), get_backend=lambda _: groups[-1][0]),
            start=lambda backend, rank: groups.append((backend, rank)),
            is_mlu_available=lambda: known == "mlu",
            is_npu_available=lambda: known == "npu",
            is_musa_available=lambda: known == "musa",
        )
        return utils, helpers, groups, getattr(helpers.torch, kind).selected

    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    return make


@pytest.mark.parametrize(
    ("known", "backend", "selections", "comm_device"),
    [("cpu", BOTH, [1], "gcu"), ("musa", "mccl", [1, 1], "cpu")],
)
def test_each_launcher_starts_the_card_of_its_rank_with_the_backend_for_it(start, monkeypatch, known, backend, selections, comm_device):
    utils, helpers, groups, selected = start(known)
    utils.init_dist("pytorch")
    assert (groups, selected) == ([(backend, 3)], selections)
    assert utils.get_comm_device().type == comm_device
    monkeypatch.delenv("LOCAL_RANK")
    selected.clear()
    utils._init_dist_mpi("any")
    assert (selected, os.environ.pop("LOCAL_RANK")) == ([1], "1")
    utils._init_dist_slurm("any")
    assert (selected, helpers.torch.cuda.selected) == ([1, 1], []), "3 of 2 cards"


@pytest.mark.parametrize("known", ["mlu", "npu", "musa"])
def test_the_cpu_on_purpose_keeps_off_a_card_that_mmengine_starts_by_its_name(start, known):
    utils, _, groups, selected = start(known, {"device": "cpu"})
    utils.init_dist("pytorch")
    assert (groups, selected) == ([("gloo", 3)], [])


@pytest.mark.parametrize("known", ["mlu", "npu", "musa"])
def test_a_card_that_mmengine_starts_by_its_name_is_selected_by_the_local_rank(start, known):
    """Also in releases that take the rank of the whole run."""
    utils, _, _, selected = start(known)
    utils.init_dist("pytorch")
    assert selected == [1, 1]


@pytest.mark.parametrize(
    ("case", "kind", "method", "args"),
    [
        ("runner", "Runner", "wrap_model", (None,)),
        ("runner", "Runner", "wrap_model", ({},)),
        ("strategy", "DDPStrategy", "_wrap_model", ()),
    ],
)
def test_each_place_gives_ddp_the_device_of_the_parameters_and_says_where_it_trains(module, capfd, case, kind, method, args):
    module(gcu=card()).get_device()
    calls_of_ddp = []
    there = model(("gcu", 1), ("gcu", 1))
    there.to = lambda device: there
    scope = executed(
        "mmengine-device",
        case,
        MODEL_WRAPPERS=SimpleNamespace(get=lambda _: object, build=lambda _, default_args: calls_of_ddp.append(default_args)),
        get_device=lambda: "gcu",
        MMDistributedDataParallel=lambda **arguments: calls_of_ddp.append(arguments),
        DistributedDataParallel=object,
    )
    wrap_model = getattr(getattr(scope, kind), method)
    wrap_model(SimpleNamespace(model_wrapper={}), *args, there)
    (call,) = calls_of_ddp
    assert call["device_ids"] == [1]
    assert not any(args), "the config is left as it is"
    facts = json.loads(capfd.readouterr().out.partition(" ")[2])
    both_on_the_card = {str(there.parameters()[0].device): 2}
    assert (facts["event"], facts["idle"]) == ("trains", [])
    assert (facts["parameters"], facts["before"]) == (both_on_the_card, both_on_the_card)


@pytest.fixture
def on_the_cpu(monkeypatch):
    """A model that trains on the CPU in a process that was given card 1, and what it reports there."""
    for name in list(os.environ):
        if name.endswith(("RANK", "WORLD_SIZE", "_VISIBLE_DEVICES")) and name != "LOCAL_RANK":
            monkeypatch.delenv(name)
    monkeypatch.setenv("GCU_VISIBLE_DEVICES", "1")
    monkeypatch.setattr(Device, "__str__", lambda device: device.type, raising=False)
    return model(("cpu",))


@pytest.mark.parametrize(("before", "parts", "idle"), [("gcu:0", {}, "gcu"), ("cpu", {"xpu": card()}, "xpu")])
def test_a_rank_that_leaves_its_card_for_the_cpu_warns(module, on_the_cpu, capfd, before, parts, idle):
    with pytest.warns(UserWarning, match=f"{idle} stands idle; import .*--set device={idle}"):
        module(**parts).tell(on_the_cpu, [before], "Here")
    facts = json.loads(capfd.readouterr().out.partition(" ")[2])
    assert (facts["idle"], facts["env"]) == ([idle], {"LOCAL_RANK": "0", "GCU_VISIBLE_DEVICES": "1"})


def test_a_rank_that_is_told_to_train_on_the_cpu_does_not_warn(module, on_the_cpu, capfd):
    module(options={"device": "cpu"}).tell(on_the_cpu, ["gcu:0"], "Here")
    facts = json.loads(capfd.readouterr().out.partition(" ")[2])
    assert (facts["idle"], facts["env"]) == ([], {"LOCAL_RANK": "0", "GCU_VISIBLE_DEVICES": "1"})


@pytest.mark.parametrize("error", [ValueError("I/O operation on closed file"), BrokenPipeError()])
def test_training_goes_on_where_nobody_reads_stdout(module, error):
    def write(text):
        raise error

    with contextlib.redirect_stdout(SimpleNamespace(write=write)):
        module().tell(model(("cpu",)), [], "Here")


@pytest.mark.parametrize(("movable", "meta", "moved"), [(False, False, True), (True, False, False), (False, True, False)])
def test_fsdp_is_given_the_model_on_the_card_that_it_cannot_move_it_to(module, monkeypatch, movable, meta, moved):
    monkeypatch.setenv("LOCAL_RANK", "1")
    helpers = module(gcu=card())
    helpers.set_device(1)
    helpers.torch._has_compatible_shallow_copy_type = lambda here, there: movable
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
        helpers = module(amp=SimpleNamespace(GradScaler=General), **parts)
        device = sys.modules["mmengine.device"]
        device.is_cuda_available = device.is_npu_available = lambda: False
        return executed("mmengine-device", case, OptimWrapper=object, torch=helpers.torch).AmpOptimWrapper

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
    sent = []
    packed = SimpleNamespace(to=lambda device: device.type)
    for kind in ("musa", "cpu"):
        scope = executed(
            "mmengine-device",
            "payload",
            packed=lambda _: packed,
            current_device=Device(kind),
            torch_dist=SimpleNamespace(broadcast=lambda tensor, **_: sent.append(tensor)),
            is_nccl_backend=False,
            is_hccl_backend=False,
            is_cncl_backend=False,
        )
        scope._broadcast_object_list([])
    assert sent == ["musa", packed]


class IndexTensor(list):
    """An index with a type, on a device that MMEngine does not know."""

    def __init__(self, length, dtype):
        super().__init__(range(length))
        self.dtype = dtype


class BaseDataElement:
    def __len__(self):
        return 2


@pytest.mark.parametrize("case", ["index", "index-of-older-releases"])
def test_instances_are_indexed_by_masks_and_numbers_of_any_device(monkeypatch, case):
    tensors = {"BoolTensor": type("BoolTensor", (), {}), "LongTensor": type("LongTensor", (), {})}
    torch = SimpleNamespace(Tensor=IndexTensor, bool="bool", int64="int64", cuda=SimpleNamespace(**tensors), **tensors)
    monkeypatch.setitem(sys.modules, "torch", torch)
    scope = executed(
        "mmengine-device",
        case,
        BaseDataElement=BaseDataElement,
        IndexType=SimpleNamespace(__args__=(str,)),
        BoolTypeTensor=SimpleNamespace(__args__=(tensors["BoolTensor"],)),
    )
    instances = scope.InstanceData()
    for index in (IndexTensor(2, "bool"), IndexTensor(3, "int64")):
        assert instances[index] is index
    for index in (IndexTensor(3, "bool"), IndexTensor(2, "float32")):
        with pytest.raises(AssertionError):
            instances[index]


@pytest.mark.parametrize(
    ("visible", "local_rank", "device_id"),
    [("0,1", 1, 1), ("0", 1, 1), ("", 0, ""), ("MIG-1,MIG-2", 1, "MIG-2"), ("MIG-1", 1, 1), (None, 1, 1), (None, 2, 2)],
)
def test_the_logger_does_not_stop_a_rank_that_has_no_cuda_device(monkeypatch, visible, local_rank, device_id):
    torch = ModuleType("torch")
    torch.cuda = card()
    torch.cuda.is_available = lambda: True
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert executed("mmengine-device", "logger")._get_device_id() == device_id


def test_the_inserted_code_is_python_3_7():
    ast.parse(ADDED, feature_version=(3, 7))
