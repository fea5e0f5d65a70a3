# case: deepspeed/runtime/utils.py
import torch
from torch._six import inf


def total(norms, norm_type):
    return max(norms) if norm_type == inf else torch.norm(norms)
