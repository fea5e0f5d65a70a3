# case: mmengine/optim/optimizer/amp_optimizer_wrapper.py
from mmengine.device import is_cuda_available, is_npu_available

if is_npu_available():
    from torch.npu.amp import GradScaler
else:
    from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale='dynamic', **kwargs):
        assert is_cuda_available() or is_npu_available(), 'only on gpu or npu'
        self.loss_scaler = GradScaler()
