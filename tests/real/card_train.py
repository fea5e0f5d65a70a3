"""Train the toy model of ddp_train.py on the stand-in card, in each way that is named; every rank says how it ended.

A way is `plain` (DDP of torch, without MMEngine) or one of ddp_train.py's, with words behind it: `direct+full+amp`.

    full      two epochs, validation, checkpoints, workers, pinned memory
    amp       AmpOptimWrapper, in fp16; with `bf16` in that
    sync      sync_bn="torch"
    calls     the model calls .cuda(), as people's code does
    ema       EMAHook, of whose averages the sum is said
    resume    two epochs, of which the second is trained by a Runner of its own from the checkpoint of the first
    cpu       plain: on the CPU, with gloo
    eccl      the group is there before the Runner, with the card's own backend alone; `both`: with a backend for the CPU, too
    alone     each process sees one card
    moved     the script moves the model to the card of its rank, reports that as people do, and names gloo
    mpi, slurm  started by their variables alone
    brief     ranks wait 20 seconds for each other
    no-THING  without that part of mmengine-device: get_device, set_device, backend, device_ids

The card is `gcu`, or what the variable CARD names.
"""

import contextlib
import importlib
import os
import sys
import traceback

import torch
from ddp_train import Points, Toy, digest, make_runner, process_group, say
from mmengine.device import utils as device_utils
from mmengine.evaluator import BaseMetric
from mmengine.registry import METRICS
from mmengine.runner import runner as runner_module
from torch.distributed.fsdp import FullyShardedDataParallel

CARD = os.environ.get("CARD", "gcu")
BOTH = "cpu:gloo,gcu:eccl"
LEFT_OUT = {  # what MMEngine itself would do there
    "get_device": ("get_device", lambda: "cpu"),
    "set_device": ("set_device", torch.cuda.set_device),
    "backend": ("start_with", lambda backend: "gloo"),
    "device_ids": ("device_ids", lambda model, ids: ids),
}


@METRICS.register_module()
class Guess(BaseMetric):
    def process(self, _, outputs):
        self.results.append(float(torch.as_tensor(outputs).double().sum().cpu()))

    def compute_metrics(self, results):
        return {"guess": sum(results)}


class Calls(Toy):
    def forward(self, inputs, targets, mode="tensor"):
        return super().forward(inputs.cuda(), targets.cuda(), mode)


def full(common):
    """The rest of what a Runner does, on top of a run of one epoch."""
    loader = {**common["train_dataloader"], "num_workers": 1, "pin_memory": True}
    common.update(
        train_dataloader=loader, train_cfg={"by_epoch": True, "max_epochs": 2, "val_interval": 1}, val_dataloader=loader,
        val_cfg={}, val_evaluator={"type": "Guess"}, default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 1}},
    )  # fmt: skip


def change(words, *, again=False):
    """What the words of a way change of the Runner's arguments; `again`: those of the Runner that resumes."""
    def changed(common):
        group = common["env_cfg"]["dist_cfg"]
        group.update(backend="nccl", init_method="-".join([group["init_method"], *words]))  # MMEngine's default, which a config that names none has
        common["launcher"] = ({"mpi", "slurm"} & set(words) or {"pytorch"}).pop()
        if device_utils.get_device() == "musa" and common["launcher"] == "pytorch":  # MMEngine says them itself
            del group["rank"], group["world_size"]
        if "brief" in words:
            group["timeout"] = 20
        if "moved" in words:
            group["backend"] = "gloo"
            common["model"].to(torch.device("gcu", int(os.environ["LOCAL_RANK"])))
            say(">>> 参数设备分布:", {str(each.device) for each in common["model"].parameters()})
        if "full" in words:
            full(common)
        if "calls" in words:
            common["model"] = Calls()
        if "amp" in words:
            common["optim_wrapper"]["type"] = "AmpOptimWrapper"
        if "ema" in words:
            common["custom_hooks"] = [{"type": "EMAHook", "momentum": 0.5}]
        if "resume" in words:
            folder = "-".join([os.environ["TORCHELASTIC_RUN_ID"], *words])
            common.update(work_dir=os.path.abspath(folder), train_cfg={"by_epoch": True, "max_epochs": 2 if again else 1})
            common.update(default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 1}}, resume=again)
        if "bf16" in words:
            common["optim_wrapper"]["dtype"] = "bfloat16"
        if "sync" in words:
            common["cfg"] = {"sync_bn": "torch", **(common.get("cfg") or {})}
        return common

    return changed


def plain(rank, words):
    """DDP of torch, from weights that differ by rank, with samples that differ by rank."""
    device = torch.device("cpu") if "cpu" in words else torch.device(CARD, rank)
    if device.type == CARD:
        getattr(torch, CARD).set_device(rank)
    torch.manual_seed(rank)
    group = process_group("+".join(["plain", *words]), rank)
    torch.distributed.init_process_group(**{**group, "backend": "gloo" if "cpu" in words else BOTH})
    model = torch.nn.parallel.DistributedDataParallel(Toy().to(device), device_ids=None if "cpu" in words else [rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    torch.manual_seed(rank)  # Dropout draws as many numbers on the card as on the CPU
    for index in range(0, 16, 4):
        inputs, targets = map(torch.stack, zip(*(Points()[4 * rank + index + each] for each in range(4))))
        model(inputs.to(device), targets.to(device), mode="loss")["loss"].backward()
        optimizer.step()
    return model


def started_by(words):
    """Have the variables of MPI or of Slurm in the place of torchrun's."""
    known = dict(os.environ)
    if "mpi" in words:
        os.environ.update({"OMPI_COMM_WORLD_" + name: known[name] for name in ("LOCAL_RANK", "RANK")})
        os.environ["OMPI_COMM_WORLD_SIZE"] = known["WORLD_SIZE"]
    if "slurm" in words:
        os.environ.update(SLURM_PROCID=known["RANK"], SLURM_NTASKS=known["WORLD_SIZE"], SLURM_NODELIST="here")
        os.environ.update(SLURM_LOCALID=known["LOCAL_RANK"])
    if {"mpi", "slurm"} & set(words):
        del os.environ["LOCAL_RANK"]


def wrapped(way, words, rank):
    for word in words:
        if word.startswith("no-"):
            place = runner_module if word == "no-get_device" else device_utils._sitepatch_device
            setattr(place, *LEFT_OUT[word[3:]])
    card = importlib.import_module("torch_" + CARD)
    card.COUNT = 1 if "alone" in words else card.COUNT
    started_by(words)
    if {"eccl", "both"} & set(words):
        torch.gcu.set_device(rank)
        torch.distributed.init_process_group(**{**process_group("-".join([way, *words]), rank), "backend": "eccl" if "eccl" in words else BOTH})
    runner = make_runner(way, rank, change(words))
    runner.train()
    if "resume" in words:
        runner = make_runner(way, rank, change(words, again=True))
        runner.train()
        say("epochs", "+".join([way, *words]), rank, runner.epoch)
    if "full" in words:
        say("guess", "+".join([way, *words]), rank, runner.message_hub.get_scalar("val/guess").current())
    if "ema" in words:
        (hook,) = [hook for hook in runner.hooks if type(hook).__name__ == "EMAHook"]
        say("averaged", "+".join([way, *words]), rank, digest(hook.ema_model.module.named_parameters()))
    if "amp" in words:
        say("scales", "+".join([way, *words]), rank, runner.optim_wrapper.loss_scaler.is_enabled())
    return runner.model


def attempt(text, rank):
    """One way in a process that has just begun; ends it."""
    way, *words = text.split("+")
    try:
        model = plain(rank, words) if way == "plain" else wrapped(way, words, rank)
        device = str(next(model.parameters()).device)
        backend = torch.distributed.get_backend()
        with FullyShardedDataParallel.summon_full_params(model) if way == "fsdp" else contextlib.nullcontext():
            weights = digest(model.module.named_parameters())
        say("trained", text, rank, weights, device, backend, getattr(model, "device_ids", None))
    except Exception as error:
        traceback.print_exc()
        say("failed", text, rank, f"{type(error).__name__}: {error}".splitlines()[0][:300])
    os._exit(0)


for each in sys.argv[1:]:
    child = os.fork() if sys.argv[2:] else 0
    if child == 0:
        attempt(each, int(os.environ["RANK"]))
    os.waitpid(child, 0)
