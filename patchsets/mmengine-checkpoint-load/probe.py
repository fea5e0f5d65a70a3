"""Load a checkpoint as MMEngine writes it, with a history of losses."""

import os

import torch
from mmengine.logging import HistoryBuffer
from mmengine.runner.checkpoint import load_from_local

path = os.path.abspath("epoch_1.pth")
torch.save({"state_dict": {"weight": torch.ones(2)}, "message_hub": {"loss": HistoryBuffer([0.5, 0.25], [1, 1])}}, path)
loaded = load_from_local(path, "cpu")
print(f"loaded a history of losses with torch {torch.__version__}: mean {loaded['message_hub']['loss'].mean()}")
