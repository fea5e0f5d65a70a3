class FSDPStrategy:
    def _wrap_model(self, model):
        args = dict(module=model, device_id=0)
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report("FSDPStrategy._wrap_model", args["module"], (), lambda: args, self.model_wrapper)
        model = MODEL_WRAPPERS.build(self.model_wrapper, default_args=args)
        return model
