# case: mmengine/hooks/empty_cache_hook.py
from ..device import is_cuda_available, is_musa_available


class EmptyCacheHook(Hook):

    def _after_iter(self, runner, batch_idx):
        if self._do_after_iter:
            torch.cuda.empty_cache()

    def _before_epoch(self, runner):
        if self._do_before_epoch:
            torch.cuda.empty_cache()

    def _after_epoch(self, runner):
        if self._do_after_epoch:
            torch.cuda.empty_cache()
