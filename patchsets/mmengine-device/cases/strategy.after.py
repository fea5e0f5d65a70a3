from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
import os


class DDPStrategy:
    def _wrap_model(self, model):
        _sitepatch_device_before = [str(parameter.device) for parameter in model.parameters()]  # sitepatch: mmengine-device
        model = model.to(get_device())
        _sitepatch_device.tell(model, _sitepatch_device_before, "DDPStrategy._wrap_model")
        default_args = dict(
            type='MMDistributedDataParallel',
            module=model,
            device_ids=_sitepatch_device.device_ids(model, [int(os.environ['LOCAL_RANK'])]))
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=default_args)
        return model
