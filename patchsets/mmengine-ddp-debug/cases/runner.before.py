# case: mmengine/runner/runner.py
class Runner:
    def wrap_model(self, cfg, model):
        model = model.to(get_device())
        if not self.distributed:
            return model
        if cfg is None:
            model = MMDistributedDataParallel(device_ids=[0], find_unused_parameters=True, module=model)
        else:
            args = dict(module=model)
            model = MODEL_WRAPPERS.build(cfg, default_args=args)
        return model
