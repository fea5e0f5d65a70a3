"""Train as those do whom no patchset is for; a line `unchanged WAY RANK DIGEST` for each way that is named."""

import hashlib
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def toy():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1))


def points():
    torch.manual_seed(2 + RANK)
    return torch.rand(8, 2)


def fit(model, amp=False):
    """Three steps; the state of the model."""
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            loss = model(points()).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.state_dict()


def meta():
    """A model on the meta device: what is known of it there, and what it becomes elsewhere."""
    model = toy().to("meta")
    shapes = {f"shape of {name}": torch.tensor(each.shape) for name, each in model.named_parameters()}
    model = model.to_empty(device="cpu")
    model.load_state_dict(toy().state_dict())
    return {**shapes, **fit(model)}


def loader():
    """Samples that a worker process sends."""
    samples = TensorDataset(torch.arange(16.0).reshape(8, 2))
    return {f"batch {index}": batch for index, (batch,) in enumerate(DataLoader(samples, batch_size=3, num_workers=1))}


def sharded(model):
    from torch.distributed.fsdp import fully_shard

    return fully_shard(model.requires_grad_(True))


def mmengine_runner(wrapped=False):
    """An epoch of MMEngine's Runner: with one process, or with several and a wrapper of one's own."""
    from mmengine.model import BaseModel
    from mmengine.registry import MODEL_WRAPPERS
    from mmengine.runner import Runner

    class Toy(BaseModel):
        def __init__(self):
            super().__init__()
            self.layers = toy()

        def forward(self, inputs, mode="tensor"):
            return {"loss": self.layers(inputs).pow(2).mean()}

    @MODEL_WRAPPERS.register_module()
    class Averaging(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module
            for each in module.parameters():
                if each.requires_grad:
                    each.register_post_accumulate_grad_hook(lambda each: torch.distributed.all_reduce(each.grad))

        def train_step(self, data, optim_wrapper):
            return self.module.train_step(data, optim_wrapper)

    runner = Runner(
        model=Toy(),
        work_dir=tempfile.mkdtemp(),
        train_dataloader={
            "dataset": TensorDataset(points()),
            "batch_size": 2,
            "sampler": {"type": "DefaultSampler"},
            "collate_fn": {"type": "default_collate"},
        },
        train_cfg={"by_epoch": True, "max_epochs": 1},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1}},
        default_hooks={"checkpoint": None},
        launcher="pytorch" if wrapped else "none",
        log_level="ERROR",
        randomness={"seed": 0},
        cfg={"model_wrapper_cfg": {"type": "Averaging"}} if wrapped else None,
    )
    runner.train()
    return runner.model.state_dict()


def accelerated(mixed_precision="no"):
    """A run of accelerate with a checkpoint: saved and loaded again."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import set_seed

    AcceleratorState._reset_state(True)
    accelerator = Accelerator(cpu=True, mixed_precision=mixed_precision)
    set_seed(3)
    model = toy()
    model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), DataLoader(points(), batch_size=2))
    for batch in data:
        accelerator.backward(model(batch).float().pow(2).mean())
        optimizer.step()
        optimizer.zero_grad()
    folder = tempfile.mkdtemp()
    accelerator.save_state(folder)
    accelerator.load_state(folder)
    state = dict(model.state_dict())
    accelerator.free_memory()
    return state


WAYS = {
    "cpu": lambda: fit(toy()),
    "amp": lambda: fit(toy(), amp=True),
    "meta": meta,
    "loader": loader,
    "runner": mmengine_runner,
    "runner-wrapper": lambda: mmengine_runner(wrapped=True),
    "ddp": lambda: fit(DistributedDataParallel(toy())),
    "ddp-amp": lambda: fit(DistributedDataParallel(toy()), amp=True),
    "fsdp": lambda: fit(sharded(toy())),
    "accelerate": accelerated,
    "accelerate-amp": lambda: accelerated("bf16"),
}


def digest(state):
    hashed = hashlib.sha256()
    for name, value in sorted(state.items()):
        value = value.full_tensor() if hasattr(value, "full_tensor") else value
        hashed.update(repr((name, value.tolist())).encode())
    return hashed.hexdigest()


if __name__ == "__main__":
    if WORLD > 1:
        torch.distributed.init_process_group("gloo")
    for way in sys.argv[1:]:
        sys.stdout.write(f"unchanged {way} {RANK} {digest(WAYS[way]())}\n")  # one write: the lines of two ranks do not mix
        sys.stdout.flush()
    if WORLD > 1:
        torch.distributed.destroy_process_group()
