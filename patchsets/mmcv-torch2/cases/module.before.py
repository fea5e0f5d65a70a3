# case: mmcv/parallel/distributed.py
class MMDistributedDataParallel:
    def _run_ddp_forward(self, *inputs, **kwargs):
        module_to_run = self._replicated_tensor_module if \
            self._use_replicated_tensor_module else self.module
        return module_to_run(*inputs, **kwargs)
