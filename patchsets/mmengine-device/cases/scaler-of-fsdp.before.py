# case: mmengine/optim/optimizer/amp_optimizer_wrapper.py
from mmengine.device import is_cuda_available
from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, use_fsdp=False):
        assert is_cuda_available(), 'only on gpu'
        if use_fsdp:
            from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
            scaler_type = ShardedGradScaler
        else:
            scaler_type = GradScaler
        self.loss_scaler = scaler_type()
