# case: mmengine/runner/runner.py
import os


class Runner:
    def wrap_model(self, model_wrapper_cfg, model):
        model = model.to(get_device())
        if model_wrapper_cfg is None:
            model = MMDistributedDataParallel(
                module=model,
                device_ids=[int(os.environ['LOCAL_RANK'])],
                broadcast_buffers=False)  # stays
        else:
            default_args = dict()
            wrapper = MODEL_WRAPPERS.get(model_wrapper_cfg)
            if issubclass(wrapper, DistributedDataParallel):
                default_args['device_ids'] = [int(os.environ['LOCAL_RANK'])]
            default_args['module'] = model
            model = MODEL_WRAPPERS.build(model_wrapper_cfg, default_args=default_args)
        return model
