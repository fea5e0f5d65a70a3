# case: mmengine/_strategy/distributed.py
import os


class DDPStrategy:
    def _wrap_model(self, model):
        model = model.to(get_device())
        default_args = dict(
            type='MMDistributedDataParallel',
            module=model,
            device_ids=[int(os.environ['LOCAL_RANK'])])
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=default_args)
        return model
