# case: mmengine/_strategy/fsdp.py
class FSDPStrategy:
    def _wrap_model(self, model):
        args = dict(module=model, device_id=0)
        model = MODEL_WRAPPERS.build(self.model_wrapper, default_args=args)
        return model
