class MMDistributedDataParallel:
    def _run_ddp_forward(self, *inputs, **kwargs):
        module_to_run = self.module
        return module_to_run(*inputs, **kwargs)
