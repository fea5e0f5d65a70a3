from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale='dynamic', **kwargs):
        assert _sitepatch_device.get_device() not in ("cpu", "mps"), 'only on gpu'
        self.loss_scaler = _sitepatch_device.scaler(GradScaler)()
