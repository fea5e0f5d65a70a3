from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
from mmengine.device import is_cuda_available, is_npu_available

if is_npu_available():
    from torch.npu.amp import GradScaler
else:
    from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale='dynamic', **kwargs):
        assert _sitepatch_device.get_device() not in ("cpu", "mps") or is_npu_available(), 'only on gpu or npu'
        self.loss_scaler = _sitepatch_device.scaler(GradScaler)()
