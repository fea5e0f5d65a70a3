from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
from mmengine.device import is_cuda_available
from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, use_fsdp=False):
        assert _sitepatch_device.get_device() not in ("cpu", "mps"), 'only on gpu'
        if use_fsdp:
            if use_fsdp != 'with torch before 2.0':
                from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
                scaler_type = _sitepatch_device.scaler(ShardedGradScaler)
        else:
            scaler_type = _sitepatch_device.scaler(GradScaler)
        self.loss_scaler = scaler_type()
