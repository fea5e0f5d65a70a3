"""Raise what PyTorch and MMEngine raise on the CPU, and print it as Python does: `=== SYMPTOM`, then the traceback.

With arguments: of these functions alone. `compiles` names those for which torch.compile has to work, which takes long.
"""

import datetime
import io
import os
import socket
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

RAISED = {}


def shows(symptom, *, group=False, compiles=False):
    """A function that raises, what its error is recognised as, and whether it needs a process group of one."""

    def keep(function):
        RAISED[function.__name__] = symptom, function, group, compiles
        return function

    return keep


@shows("device-ids-without-a-device", group=True)
def ddp_on_the_cpu():
    DistributedDataParallel(nn.Linear(2, 2), device_ids=[0])


@shows("parameters-on-several-devices", group=True)
def ddp_on_two_kinds():
    DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta")))


@shows("ddp-takes-one-device-id", group=True)
def ddp_of_two_devices():
    DistributedDataParallel(nn.Linear(2, 2), device_ids=[0, 1])


@shows("fsdp-without-accelerator", group=True)
def fsdp_on_the_cpu():
    FullyShardedDataParallel(nn.Linear(2, 2))


@shows("fsdp-without-accelerator", group=True)
def fsdp_on_the_cpu_with_a_number():
    FullyShardedDataParallel(nn.Linear(2, 2), device_id=0)


@shows("ddp-nothing-to-train", group=True)
def ddp_of_a_frozen_model():
    DistributedDataParallel(nn.Linear(2, 2).requires_grad_(False))


@shows("ddp-unused-parameters", group=True)
def ddp_with_unused_parameters():
    class Half(nn.ModuleList):
        def forward(self, x):
            return self[0](x)

    model = DistributedDataParallel(Half([nn.Linear(2, 2), nn.Linear(2, 2)]))
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()


@shows("cuda-selected-without-cuda")
def mmengine_selects_a_device():
    from mmengine.dist import init_dist

    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    init_dist("pytorch")


@shows("is-musa-not-defined")
def is_musa():
    _ = torch.UntypedStorage(1).is_musa


@shows("built-without-accelerator")
def no_cuda():
    torch.zeros(1, device="cuda")


@shows("built-without-accelerator")
def no_xpu():
    torch.zeros(1, device="xpu")


@shows("vendor-package-not-imported")
def no_gcu():
    torch.zeros(1, device="gcu")


@shows("collective-not-built-in")
def no_nccl():
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


@shows("unknown-backend")
def no_eccl():
    dist.init_process_group("eccl", store=dist.HashStore(), rank=0, world_size=1)


@shows("not-started-by-launcher")
def no_launcher():
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name, None)
    dist.init_process_group("gloo")


@shows("no-group")
def no_group():
    dist.get_rank()


@shows("port-in-use")
def taken_port():
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        dist.TCPStore("127.0.0.1", taken.getsockname()[1], 1, True)


@shows("ranks-missing-at-start")
def missing_rank():
    dist.TCPStore("127.0.0.1", 0, 2, True, timeout=datetime.timedelta(seconds=1))


@shows("tensors-on-two-devices")
def two_devices():
    torch.ones(2) + torch.ones(2, device="meta")


@shows("checkpoint-not-weights-only")
def checkpoint_of_objects():
    class Thing:
        pass

    Thing.__qualname__ = "Thing"
    globals()["Thing"] = Thing
    file = io.BytesIO()
    torch.save({"a": Thing()}, file)
    torch.load(io.BytesIO(file.getvalue()))


@shows("checkpoint-damaged")
def checkpoint_cut_short():
    file = io.BytesIO()
    torch.save({"a": torch.ones(99)}, file)
    torch.load(io.BytesIO(file.getvalue()[:600]))


@shows("checkpoint-does-not-fit")
def checkpoint_of_another_model():
    nn.Linear(2, 2).load_state_dict({"weight": torch.ones(3, 2), "bias": torch.ones(2)})


@shows("not-registered")
def unknown_model():
    from mmengine.registry import MODELS

    MODELS.build({"type": "NoSuchModel"})


@shows("backend-not-registered")
def unknown_compiler():
    torch.compile(lambda x: x, backend="topsgraph")


@shows("compile-backend-failed", compiles=True)
def failing_compiler():
    def fails(graph, inputs):
        raise RuntimeError("no such card")

    torch.compile(lambda x: x + 1, backend=fails)(torch.ones(1))


@shows("compile-backend-failed", compiles=True)
def no_host_compiler():
    import torch._inductor.config as config

    config.cpp.cxx = (None, "/nowhere/c++")
    torch.compile(lambda x: x.sin() + 1)(torch.ones(8))


@shows("compile-refused", compiles=True)
def broken_graph():
    torch.compile(lambda x: x + 1 if x.sum() > 0 else x, fullgraph=True, backend="eager")(torch.ones(1))


@shows("compile-refused", compiles=True)
def recompiled_too_often():
    torch._dynamo.config.recompile_limit = 1
    compiled = torch.compile(lambda x, n: x + n, fullgraph=True, backend="eager", dynamic=False)
    for number in range(5):
        compiled(torch.ones(1), number)


for name, (symptom, function, group, compiles) in RAISED.items():
    if compiles != ("compiles" in sys.argv):
        continue
    print("===", symptom, flush=True)
    if group:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        function()
        print(name, "raised nothing")
    except Exception:
        print(traceback.format_exc(), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()
