"""Train with an MMEngine until DDP refuses the model, and log what MMEngine logs until then.

With a directory as argument its MMEngine is taken. `torch.cuda.set_device` passes, as in the PyTorch that vendors build.
"""

import os
import sys

import torch

torch.cuda.set_device = lambda device: None
sys.path[:0] = sys.argv[1:]

import yapf.yapflib.yapf_api as yapf  # noqa: E402

format_code = yapf.FormatCode
yapf.FormatCode = lambda *texts, verify=True, **how: format_code(*texts, **how)  # as the yapf that MMEngine 0.7 was made for

import mmengine  # noqa: E402
from ddp_train import Points, Toy  # noqa: E402
from mmengine.runner import Runner  # noqa: E402

print("mmengine", mmengine.__version__, flush=True)
Runner(
    model=Toy(),
    work_dir=os.path.abspath("work"),
    train_dataloader={
        "dataset": Points(),
        "batch_size": 4,
        "sampler": {"type": "DefaultSampler", "shuffle": False},
        "collate_fn": {"type": "default_collate"},
    },
    train_cfg={"by_epoch": True, "max_epochs": 1},
    optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.001}},
    launcher="pytorch",
    env_cfg={"dist_cfg": {"backend": "gloo"}},
).train()
