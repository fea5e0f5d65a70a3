from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
import os


class Runner:
    def wrap_model(self, model_wrapper_cfg, model):
        _sitepatch_device_before = [str(parameter.device) for parameter in model.parameters()]  # sitepatch: mmengine-device
        model = model.to(get_device())
        _sitepatch_device.tell(model, _sitepatch_device_before, "Runner.wrap_model")
        if model_wrapper_cfg is None:
            from mmengine.dist.utils import takes  # as mmengine-ddp-device leaves it
            model = MMDistributedDataParallel(module=model, device_ids=_sitepatch_device.device_ids(model, [0] if takes(model) else None))
        else:
            default_args = dict()
            if issubclass(wrapper, DistributedDataParallel):
                from mmengine.dist.utils import takes
                default_args['device_ids'] = _sitepatch_device.device_ids(model, [0] if takes(model) else None)
            default_args['module'] = model
            model = MODEL_WRAPPERS.build(model_wrapper_cfg, default_args=default_args)
        return model
