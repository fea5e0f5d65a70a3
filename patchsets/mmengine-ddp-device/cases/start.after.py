import os

import torch


def _init_dist_pytorch(backend, **kwargs):
    rank = int(os.environ["RANK"])
    if torch.cuda.is_available():  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(rank)  # of this process
    start(backend, rank, **kwargs)


def _init_dist_mpi(backend):
    if torch.cuda.is_available():  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    start(backend, 0)


def _init_dist_slurm(backend):
    num_gpus = max(torch.cuda.device_count(), 1)  # sitepatch: mmengine-ddp-device
    if torch.cuda.is_available():  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(3 % num_gpus)
    start(backend, 3)


def _sitepatch_takes_device_ids(model):  # sitepatch: mmengine-ddp-device
    """Whether DDP can be told by `device_ids=[LOCAL_RANK]` on which device the model is."""
    ignored = getattr(model, "_ddp_params_and_buffers_to_ignore", ())  # DDP does not look at these
    devices = {each.device for name, each in model.named_parameters() if name not in ignored}
    if len(devices) != 1:
        return False
    kind = devices.pop().type
    return kind != "cpu" and hasattr(getattr(torch, kind, None), "set_device")
