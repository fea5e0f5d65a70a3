# case: mmengine/_strategy/fsdp.py
class FSDPStrategy:
    def _wrap_model(self, model):
        default_args = dict(
            module=model,
            device_id=int(os.environ['LOCAL_RANK']),
            type='MMFullyShardedDataParallel')
        model = MODEL_WRAPPERS.build(
            self.model_wrapper, default_args=default_args)
        return model
