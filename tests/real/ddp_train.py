"""Train a toy model for one epoch with the real MMEngine on the CPU; the argument says which way to build DDP."""

import hashlib
import sys
import tempfile

import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.utils.data import DataLoader, Dataset, DistributedSampler


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


def digest(model):
    weights = (model.module if hasattr(model, "module") else model).state_dict()
    text = repr([(name, value.tolist()) for name, value in weights.items()])
    return hashlib.sha256(text.encode()).hexdigest()


def main(way):
    # launcher='pytorch' would call torch.cuda.set_device; a group that exists already is left alone by the Runner.
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    data = Points()
    common = {
        "model": Toy(),
        "work_dir": tempfile.mkdtemp(),
        "train_dataloader": DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False)),
        "train_cfg": {"by_epoch": True, "max_epochs": 1},
        "optim_wrapper": {"optimizer": {"type": "SGD", "lr": 0.001}},
        "default_hooks": {"logger": {"type": "LoggerHook", "interval": 100}, "checkpoint": None},
        "experiment_name": "toy",
        "log_level": "ERROR",
        "randomness": {"seed": 0},
    }
    ddp = {"type": "MMDistributedDataParallel"}
    if way == "direct":
        runner = Runner(launcher="pytorch", **common)
    elif way == "config":
        runner = Runner(launcher="pytorch", cfg={"model_wrapper_cfg": ddp}, **common)
    elif way == "config-none":
        runner = Runner(launcher="pytorch", cfg={"model_wrapper_cfg": {**ddp, "device_ids": None}}, **common)
    elif way == "flexible":
        from mmengine.runner import FlexibleRunner

        common.pop("log_level")
        common["strategy"] = {"type": "DDPStrategy"}
        runner = FlexibleRunner(**common)
    else:
        sys.exit("unknown way: " + way)
    runner.train()
    # One write: print() would send the line break by itself, and the lines of two ranks could mix.
    sys.stdout.write(f"weights {torch.distributed.get_rank()} {digest(runner.model)} {torch.rand(1).item()!r}\n")
    sys.stdout.flush()
    torch.distributed.destroy_process_group()


main(sys.argv[1])
