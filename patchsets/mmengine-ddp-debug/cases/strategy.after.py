class DDPStrategy:
    def _wrap_model(self, model):
        _sitepatch_ddp_before = [str(parameter.device) for parameter in model.parameters()]  # sitepatch: mmengine-ddp-debug
        model = model.to(get_device())
        args = dict(module=model)
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report("DDPStrategy._wrap_model", args["module"], _sitepatch_ddp_before, lambda: args, self.model_wrapper)
        # stays with what it is about
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=args)
        return model
