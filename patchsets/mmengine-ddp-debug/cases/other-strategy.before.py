# case: mmengine/_strategy/fsdp.py
class FSDPStrategy:
    def _wrap_model(self, model):
        return MODEL_WRAPPERS.build(self.model_wrapper, default_args=dict(module=model))
