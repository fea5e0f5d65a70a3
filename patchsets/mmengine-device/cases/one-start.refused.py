# case: mmengine/dist/utils.py
import torch


def _init_dist_pytorch(backend):
    torch.cuda.set_device(torch.cuda.device_count())
