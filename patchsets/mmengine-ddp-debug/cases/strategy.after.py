class DDPStrategy:
    def _wrap_model(self, model):
        model = model.to(get_device())
        args = dict(module=model)
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report(  # sitepatch: mmengine-ddp-debug
            "DDPStrategy._wrap_model", args.get("module"), lambda: dict(args, **self.model_wrapper).get("device_ids"), self.model_wrapper)
        # stays with what it is about
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=args)
        return model
