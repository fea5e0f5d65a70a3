"""Train a toy model with the real MMEngine to so many epochs, in the folder that is named; it resumes where it can."""

import sys

import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner


class Toy(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, inputs, mode="tensor"):
        outputs = self.layer(inputs)
        return {"loss": outputs.square().mean()} if mode == "loss" else outputs


folder, epochs = sys.argv[1], int(sys.argv[2])
points = [{"inputs": torch.ones(2) * number} for number in range(8)]
runner = Runner(
    model=Toy(),
    work_dir=folder,
    resume=epochs > 1,
    randomness={"seed": 0},
    train_dataloader={
        "batch_size": 4,
        "dataset": points,
        "sampler": {"type": "DefaultSampler", "shuffle": True},
        "collate_fn": {"type": "default_collate"},
    },
    train_cfg={"by_epoch": True, "max_epochs": epochs},
    optim_wrapper={"optimizer": {"type": "Adam", "lr": 0.01}},
    param_scheduler=[{"type": "MultiStepLR", "milestones": [1]}],
    default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 1}},
)
trained_epochs = []
real_call_hook = runner.call_hook


def call_hook(name, **more):
    if name == "before_train_epoch":
        trained_epochs.append(runner.epoch)
    return real_call_hook(name, **more)


runner.call_hook = call_hook
runner.train()
history = runner.message_hub.get_scalar("train/loss")
history.statistics("mean")  # by a method that the checkpoint names
losses = history.data[0]
print("trained the epochs", trained_epochs, "with losses of", len(losses), "steps")
