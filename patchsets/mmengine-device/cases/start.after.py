from mmengine.device.utils import (  # sitepatch: mmengine-device
    _sitepatch_backend, _sitepatch_comm_device, _sitepatch_device_count, _sitepatch_has_device, _sitepatch_set_device)

import os

import torch


def init_dist(launcher, backend='nccl', **kwargs):
    timeout = kwargs.get('timeout', None)
    backend = _sitepatch_backend(backend)  # sitepatch: mmengine-device
    if mp.get_start_method(allow_none=True) is None:
        mp.set_start_method('spawn')
    _init_dist_pytorch(backend, **kwargs)


def _init_dist_pytorch(backend, **kwargs):
    rank = int(os.environ["RANK"])
    num_gpus = _sitepatch_device_count()
    _sitepatch_set_device(rank % num_gpus)  # of this process
    start(backend, rank, **kwargs)


def _init_dist_mpi(backend):
    _sitepatch_set_device(int(os.environ["LOCAL_RANK"]))
    start(backend, 0)


def _init_dist_slurm(backend):
    if _sitepatch_has_device():  # as mmengine-ddp-device leaves it
        _sitepatch_set_device(3 % _sitepatch_device_count())
    start(backend, 3)


def get_comm_device(group=None):
    backend = get_backend(group)
    if backend == torch_dist.Backend.NCCL:
        return torch.device('cuda', torch.cuda.current_device())
    else:
        # GLOO and MPI backends use cpu device by default
        return _sitepatch_comm_device(get_backend(group))


def get_backend(group=None):
    return torch_dist.get_backend(group)
