"""Train an epoch with EmptyCacheHook; what is logged of memory, how often the card was asked to empty its cache, and where it trained."""

import re
import tempfile

import torch
from mmengine.hooks import EmptyCacheHook
from mmengine.logging import MMLogger
from mmengine.model import BaseModel
from mmengine.runner import Runner


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, inputs, mode):
        return {"loss": self.layer(torch.stack(inputs)).sum()}


emptied, logged = [], []
torch.gcu.empty_cache = lambda: emptied.append(1)
torch.gcu.max_memory_allocated = lambda device=None: 7 * 1024**2
runner = Runner(
    model=Model(),
    work_dir=tempfile.mkdtemp(),
    optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1}},
    train_dataloader={
        "dataset": [{"inputs": torch.ones(2)}] * 4,
        "batch_size": 2,
        "sampler": {"type": "DefaultSampler"},
        "collate_fn": {"type": "pseudo_collate"},
    },
    train_cfg={"by_epoch": True, "max_epochs": 1},
    default_hooks={"logger": {"type": "LoggerHook", "interval": 1}, "checkpoint": None},
    custom_hooks=[EmptyCacheHook(before_epoch=True, after_epoch=True, after_iter=True)],
)
real_info = MMLogger.get_current_instance().info


def info(text, *more, **words):
    logged.append(str(text))
    real_info(text, *more, **words)


MMLogger.get_current_instance().info = info
runner.train()
memory = re.findall(r"memory: (\d+)", " ".join(logged))
print("memory", ",".join(memory) or "not logged", "emptied", len(emptied), next(runner.model.parameters()).device)
