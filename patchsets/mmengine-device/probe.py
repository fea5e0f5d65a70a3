"""Ask MMEngine for a device as a process of its own does, and start a process group of one rank with the backend for it."""

import os

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")

import torch
from mmengine.device import get_device
from mmengine.device.utils import _sitepatch_device

device = get_device()
model = torch.nn.Linear(2, 1).to(device)
torch.ones(2, 2, device=device).matmul(model.weight.t()).sum().backward()
given = _sitepatch_device.device_ids(model, [0])
if model.weight.device.type == "cpu" and given is not None:
    raise SystemExit(f"DDP would be given device_ids={given} for a model on the CPU")
if _sitepatch_device.own_device() is None:
    print(f"nothing changes here: MMEngine takes {device}")
else:
    from mmengine.dist import init_dist

    init_dist("pytorch", init_method="file://" + os.path.abspath("group") + "?rank=0&world_size=1")
    said = torch.distributed.get_backend()
    torch.distributed.destroy_process_group()
    print(f"MMEngine takes {device}, backend {said}, device_ids={given}")
