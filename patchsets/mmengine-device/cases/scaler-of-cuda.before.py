# case: mmengine/optim/optimizer/amp_optimizer_wrapper.py
from torch.cuda.amp import GradScaler


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale='dynamic', **kwargs):
        assert torch.cuda.is_available(), 'only on gpu'
        self.loss_scaler = GradScaler()
