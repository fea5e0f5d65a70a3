# case: mmengine/_strategy/distributed.py
class DDPStrategy:
    def _wrap_model(self, model):
        model = model.to(get_device())
        args = dict(module=model)
        # stays with what it is about
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=args)
        return model
