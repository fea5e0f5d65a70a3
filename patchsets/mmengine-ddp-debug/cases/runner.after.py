from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
class Runner:
    def wrap_model(self, cfg, model):
        _sitepatch_ddp_before = [str(parameter.device) for parameter in model.parameters()]  # sitepatch: mmengine-ddp-debug
        model = model.to(get_device())
        if not self.distributed:
            # sitepatch: mmengine-ddp-debug
            _sitepatch_ddp_report("Runner.wrap_model (not distributed)", model, _sitepatch_ddp_before, lambda: {"type": "none"})
            return model
        if cfg is None:
            # sitepatch: mmengine-ddp-debug
            _sitepatch_ddp_report("Runner.wrap_model", model, _sitepatch_ddp_before, lambda: {"device_ids": [0]})
            model = MMDistributedDataParallel(device_ids=[0], find_unused_parameters=True, module=model)
        else:
            args = dict(module=model)
            # sitepatch: mmengine-ddp-debug
            _sitepatch_ddp_report("Runner.wrap_model (model_wrapper_cfg)", args["module"], _sitepatch_ddp_before, lambda: args, cfg)
            model = MODEL_WRAPPERS.build(cfg, default_args=args)
        return model
