"""Train a toy model for one epoch with the real MMEngine on the CPU, once for each way to build DDP that is named.

With `--group` the process group is there before the Runner, which then leaves it alone; else `launcher='pytorch'` starts it.
"""

import hashlib
import os
import sys
import tempfile

import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.utils.data import Dataset


class Points(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.tensor([float(index), 1.0]), torch.tensor([2.0 * index])


class Toy(BaseModel):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(2, 4)
        self.drop = torch.nn.Dropout(0.5)  # draws random numbers, so that a report which draws one is seen
        self.norm = torch.nn.BatchNorm1d(4)
        self.out = torch.nn.Linear(4, 1)

    def forward(self, inputs, targets, mode="tensor"):
        guess = self.out(self.norm(self.drop(self.hidden(inputs))))
        return {"loss": ((guess - targets) ** 2).mean()} if mode == "loss" else guess


def digest(values):
    text = repr([(name, value.tolist()) for name, value in sorted(values)])
    return hashlib.sha256(text.encode()).hexdigest()


def say(*words):
    # One write: print() would send the line break by itself, and the lines of two ranks could mix.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def process_group(way, rank):
    """A file for each group: torchrun's own store still holds what the groups before have left there."""
    file = os.path.abspath(os.environ["TORCHELASTIC_RUN_ID"] + "-" + way)
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    return {"backend": backend, "init_method": "file://" + file, "rank": rank, "world_size": int(os.environ["WORLD_SIZE"])}


STRATEGIES = {
    "flexible": {"type": "DDPStrategy"},
    "fsdp": {"type": "FSDPStrategy", "model_wrapper": {"type": "MMFullyShardedDataParallel", "sync_module_states": True}},
    "flexible-alone": {"type": "SingleDeviceStrategy"},
}


def make_runner(way, rank, change=lambda common: common):
    torch.manual_seed(rank)  # the ranks begin with different weights: only DDP makes them the same
    common = {
        "model": Toy(),
        "work_dir": tempfile.mkdtemp(),
        "train_dataloader": {
            "dataset": Points(),
            "batch_size": 4,
            "sampler": {"type": "DefaultSampler", "shuffle": False},  # each rank has samples of its own
            "collate_fn": {"type": "default_collate"},
        },
        "train_cfg": {"by_epoch": True, "max_epochs": 1},
        "optim_wrapper": {"optimizer": {"type": "SGD", "lr": 0.001}},
        "default_hooks": {"logger": {"type": "LoggerHook", "interval": 100}, "checkpoint": None},
        "experiment_name": "toy-" + way,
        "launcher": "pytorch",
        "env_cfg": {"dist_cfg": process_group(way, rank)},
        "log_level": "ERROR",
        "randomness": {"seed": 0},
    }
    common = change(common)
    if way == "alone":
        return Runner(**{**common, "launcher": "none"})
    if way in STRATEGIES:
        from mmengine.runner import FlexibleRunner

        return FlexibleRunner(strategy=STRATEGIES[way], **common)
    wrapper = {
        "direct": None,
        "config": {},
        "config-none": {"device_ids": None},
        "config-own": {"device_ids": [int(os.environ.get("LOCAL_RANK", "0"))]},  # mpi has none before it starts
    }[way]
    cfg = None if wrapper is None else {"model_wrapper_cfg": {"type": "MMDistributedDataParallel", **wrapper}}
    return Runner(cfg={**(cfg or {}), **common.pop("cfg", {})} or None, **common)


def train(way, rank):
    runner = make_runner(way, rank)
    runner.train()
    model = getattr(runner.model, "module", runner.model)  # nothing is wrapped where there is no launcher
    digests = digest(model.named_parameters()), digest(model.state_dict().items())
    say("trained", way, rank, *digests, torch.rand(1).item(), torch.distributed.get_backend(), getattr(runner.model, "device_ids", None))


def attempt(way, rank, group):
    """One way in a process that has just begun; ends it."""
    try:
        if group:
            torch.distributed.init_process_group(**process_group(way, rank))
        train(way, rank)
    except Exception as error:
        say("failed", way, rank, f"{type(error).__name__}: {error}")
    os._exit(0)


def main(ways, group):
    """Each way in a child, so that its process group is the first of its process; torch and MMEngine are imported once."""
    for way in ways:
        child = os.fork() if ways[1:] else 0  # a forked child could not use CUDA
        if child == 0:
            attempt(way, int(os.environ["RANK"]), group)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main([each for each in sys.argv[1:] if each != "--group"], "--group" in sys.argv)
