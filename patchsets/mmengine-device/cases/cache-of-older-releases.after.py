from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
from ..device import is_cuda_available, is_musa_available


class EmptyCacheHook(Hook):

    def _after_iter(self, runner, batch_idx):
        if self._do_after_iter:
            _sitepatch_device.empty_cache()

    def _before_epoch(self, runner):
        if self._do_before_epoch:
            _sitepatch_device.empty_cache()

    def _after_epoch(self, runner):
        if self._do_after_epoch:
            _sitepatch_device.empty_cache()
