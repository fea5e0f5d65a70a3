# case: accelerate/utils/modeling.py
def get_grad_scaler(distributed_type, **kwargs):
    return torch.cuda.amp.GradScaler(**kwargs)
