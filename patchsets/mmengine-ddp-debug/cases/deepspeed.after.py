class DeepSpeedStrategy:
    def _wrap_model(self, model):
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report("DeepSpeedStrategy._wrap_model", model, (), lambda: {"type": "MMDeepSpeedEngineWrapper"})
        if hasattr(self, 'optim_wrapper'):
            engine, self.optim_wrapper.optimizer, *_ = deepspeed.initialize(model=model, optimizer=self.optim_wrapper.optimizer)
        else:
            engine, *_ = deepspeed.initialize(model=model)
        return MMDeepSpeedEngineWrapper(model=engine)
