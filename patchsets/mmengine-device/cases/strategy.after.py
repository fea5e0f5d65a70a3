from mmengine.device.utils import _sitepatch_device_ids, _sitepatch_tell_device, _sitepatch_wrapper  # sitepatch: mmengine-device

import os


class DDPStrategy:
    def _wrap_model(self, model):
        _sitepatch_before = [str(each.device) for _, each in model.named_parameters()]  # sitepatch: mmengine-device
        model = model.to(get_device())
        _sitepatch_tell_device(model, _sitepatch_before, "DDPStrategy._wrap_model")
        default_args = dict(
            type='MMDistributedDataParallel',
            module=model,
            device_ids=_sitepatch_device_ids(model, [int(os.environ['LOCAL_RANK'])]))
        model = MODEL_WRAPPERS.build(
            _sitepatch_wrapper(self.model_wrapper), default_args=default_args)
        return model
