# case: mmengine/hooks/empty_cache_hook.py
from ..device import is_cuda_available, is_musa_available


class EmptyCacheHook(Hook):

    def _after_iter(self, runner, batch_idx):
        if self._do_after_iter:
            if is_cuda_available():
                torch.cuda.empty_cache()
            elif is_musa_available():
                torch.musa.empty_cache()

    def _before_epoch(self, runner):
        if self._do_before_epoch:
            if is_cuda_available():
                torch.cuda.empty_cache()
            elif is_musa_available():
                torch.musa.empty_cache()

    def _after_epoch(self, runner):
        if self._do_after_epoch:
            if is_cuda_available():
                torch.cuda.empty_cache()
            elif is_musa_available():
                torch.musa.empty_cache()
