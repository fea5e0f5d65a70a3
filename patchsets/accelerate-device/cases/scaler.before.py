# case: accelerate/utils/modeling.py
import torch


def get_grad_scaler(distributed_type, **kwargs):
    if is_torch_version(">=", "2.3"):
        return torch.amp.GradScaler("cuda", **kwargs)
    return torch.cuda.amp.GradScaler(**kwargs)
