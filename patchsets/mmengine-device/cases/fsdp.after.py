class FSDPStrategy:
    def _wrap_model(self, model):
        from mmengine.device.utils import _sitepatch_device  # sitepatch: mmengine-device
        model = _sitepatch_device.placed(model)
        default_args = dict(
            module=model,
            device_id=int(os.environ['LOCAL_RANK']),
            type='MMFullyShardedDataParallel')
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=default_args)
        return model
