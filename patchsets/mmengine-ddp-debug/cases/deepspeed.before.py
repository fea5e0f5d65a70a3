# case: mmengine/_strategy/deepspeed.py
class DeepSpeedStrategy:
    def _wrap_model(self, model):
        if hasattr(self, 'optim_wrapper'):
            engine, self.optim_wrapper.optimizer, *_ = deepspeed.initialize(model=model, optimizer=self.optim_wrapper.optimizer)
        else:
            engine, *_ = deepspeed.initialize(model=model)
        return MMDeepSpeedEngineWrapper(model=engine)
