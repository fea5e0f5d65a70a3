from mmengine.dist.utils import _sitepatch_takes_device_ids, _sitepatch_tell  # sitepatch: mmengine-ddp-device
import os


class Runner:
    def wrap_model(self, model_wrapper_cfg, model):
        _sitepatch_before = [str(parameter.device) for parameter in model.parameters()]  # sitepatch: mmengine-ddp-device
        model = model.to(get_device())
        _sitepatch_tell(model, _sitepatch_before, "Runner.wrap_model")
        if model_wrapper_cfg is None:
            model = MMDistributedDataParallel(
                module=model,
                device_ids=[int(os.environ['LOCAL_RANK'])] if _sitepatch_takes_device_ids(model) else None,
                broadcast_buffers=False)  # stays
        else:
            default_args = dict()
            wrapper = MODEL_WRAPPERS.get(model_wrapper_cfg)
            if issubclass(wrapper, DistributedDataParallel):
                default_args['device_ids'] = [int(os.environ['LOCAL_RANK'])] if _sitepatch_takes_device_ids(model) else None
            default_args['module'] = model
            model = MODEL_WRAPPERS.build(model_wrapper_cfg, default_args=default_args)
        return model
