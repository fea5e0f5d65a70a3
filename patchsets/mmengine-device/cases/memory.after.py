from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
from mmengine.device import (get_max_cuda_memory, get_max_musa_memory,
                             is_cuda_available, is_musa_available)


class LogProcessor:

    def get_log_after_iter(self, runner, batch_idx, mode):
        if _sitepatch_device.counts_memory() or is_musa_available():
            max_memory = self._get_max_memory(runner)
            log_str += f'memory: {max_memory}  '
        return tag, log_str

    def _get_max_memory(self, runner):
        device = getattr(runner.model, 'output_device', None)
        if is_musa_available():
            return get_max_musa_memory(device)
        return _sitepatch_device.max_memory(get_max_cuda_memory, device)
