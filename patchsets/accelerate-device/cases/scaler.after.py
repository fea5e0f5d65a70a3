import torch


def get_grad_scaler(distributed_type, **kwargs):
    if is_torch_version(">=", "2.3"):
        return torch.amp.GradScaler("cuda" if torch.cuda.is_available() else torch._C._get_privateuse1_backend_name(), **kwargs)
    return torch.cuda.amp.GradScaler(**kwargs)
