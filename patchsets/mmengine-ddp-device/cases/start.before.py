# case: mmengine/dist/utils.py
import os

import torch


def _init_dist_pytorch(backend, **kwargs):
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)  # of this process
    start(backend, rank, **kwargs)


def _init_dist_mpi(backend):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    start(backend, 0)


def _init_dist_slurm(backend):
    num_gpus = torch.cuda.device_count()
    torch.cuda.set_device(3 % num_gpus)
    start(backend, 3)
