from mmengine.device.utils import _sitepatch_has_device, _sitepatch_scaler  # sitepatch: mmengine-device

from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale='dynamic', **kwargs):
        assert _sitepatch_has_device(), 'only on gpu'
        self.loss_scaler = _sitepatch_scaler(GradScaler)()
