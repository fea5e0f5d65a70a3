from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
import os

import torch


def init_dist(launcher, backend='nccl', **kwargs):
    timeout = kwargs.get('timeout', None)
    backend = _sitepatch_device.start_with(backend)  # sitepatch: mmengine-device
    if mp.get_start_method(allow_none=True) is None:
        mp.set_start_method('spawn')
    _init_dist_pytorch(backend, **kwargs)


def _init_dist_pytorch(backend, **kwargs):
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if is_mlu_available() and not _sitepatch_device.own_device():
        torch.mlu.set_device(int(os.environ["LOCAL_RANK"]))
    elif is_npu_available() and not _sitepatch_device.own_device():
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    elif is_musa_available() and not _sitepatch_device.own_device():
        torch.musa.set_device(int(os.environ["LOCAL_RANK"]))
    num_gpus = max(getattr(_sitepatch_device.device_module(), "device_count", int)(), 1)
    _sitepatch_device.set_device(rank % num_gpus)  # of this process
    start(backend, rank, **kwargs)


def _init_dist_mpi(backend):
    local_rank = int(os.environ['OMPI_COMM_WORLD_LOCAL_RANK'])
    _sitepatch_device.set_device(local_rank)
    os.environ["LOCAL_RANK"] = os.environ["OMPI_COMM_WORLD_LOCAL_RANK"]  # sitepatch: mmengine-device
    os.environ['WORLD_SIZE'] = os.environ['OMPI_COMM_WORLD_SIZE']
    start(backend, 0)


def _init_dist_slurm(backend):
    if _sitepatch_device.get_device() != "cpu":  # as mmengine-ddp-device leaves it
        _sitepatch_device.set_device(3 % max(getattr(_sitepatch_device.device_module(), "device_count", int)(), 1))
    start(backend, 3)


def get_comm_device(group=None):
    backend = get_backend(group)
    if backend == torch_dist.Backend.NCCL:
        return torch.device('cuda', torch.cuda.current_device())
    else:
        # GLOO and MPI backends use cpu device by default
        return _sitepatch_device.comm_device(str(get_backend(group)))


def get_backend(group=None):
    return torch_dist.get_backend(group)
