# case: mmengine/dist/utils.py
import torch


def _init_dist_pytorch(backend):
    torch.cuda.set_device(0)


def _init_dist_slurm(backend):
    num_gpus = torch.cuda.device_count()
