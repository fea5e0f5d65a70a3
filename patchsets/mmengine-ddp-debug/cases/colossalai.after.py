class ColossalAIStrategy:
    def _wrap(self, model, optim_wrapper=None):
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report("ColossalAIStrategy._wrap", model, (), lambda: {"type": "ColossalAIModelWrapper"}, self.model_wrapper or {})
        if self.model_wrapper is None:
            self.model_wrapper = {'type': 'ColossalAIModelWrapper'}
        return self.booster.boost(model)
