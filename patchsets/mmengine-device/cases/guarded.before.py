# case: mmengine/runner/runner.py
import os


class Runner:
    def wrap_model(self, model_wrapper_cfg, model):
        model = model.to(get_device())
        if model_wrapper_cfg is None:
            from mmengine.dist.utils import takes  # as mmengine-ddp-device leaves it
            model = MMDistributedDataParallel(module=model, device_ids=[0] if takes(model) else None)
        else:
            default_args = dict()
            if issubclass(wrapper, DistributedDataParallel):
                from mmengine.dist.utils import takes
                default_args['device_ids'] = [0] if takes(model) else None
            default_args['module'] = model
            model = MODEL_WRAPPERS.build(model_wrapper_cfg, default_args=default_args)
        return model
