"""MMEngine wraps a model that is on a card and on the CPU, or one that differs by rank, in DDP without device_ids."""

import os
import sys
from types import SimpleNamespace

import torch
from ddp_train import process_group
from mmengine.runner import Runner

rank = int(os.environ["RANK"])


class Own(torch.nn.Sequential):
    """It stays where it was built."""

    def to(self, *_, **__):
        return self


backend = "cpu:gloo,gcu:eccl" if "cards" in sys.argv else "gloo"
torch.distributed.init_process_group(**{**process_group(sys.argv[1], rank), "backend": backend})
models = {
    "kinds": lambda: Own(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, device="meta")),
    "differ": lambda: torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(rank + 1))),
    "cards": lambda: Own(torch.nn.Linear(2, 2).to("gcu:0"), torch.nn.Linear(2, 2).to("gcu:1")),
}
cfg = None if "cards" in sys.argv else {"type": "MMDistributedDataParallel", "device_ids": None}
wrapped = Runner.wrap_model(SimpleNamespace(cfg={}, distributed=True), cfg, models[sys.argv[1]]())
print("wrapped", wrapped.device_ids)
