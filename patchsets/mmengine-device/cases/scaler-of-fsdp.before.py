# case: mmengine/optim/optimizer/amp_optimizer_wrapper.py
from mmengine.device import is_cuda_available
from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, use_fsdp=False):
        assert is_cuda_available(), 'only on gpu'
        if use_fsdp:
            if use_fsdp != 'with torch before 2.0':
                from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
                scaler_type = ShardedGradScaler
        else:
            scaler_type = GradScaler
        self.loss_scaler = scaler_type()
