class FSDPStrategy:
    def _wrap_model(self, model):
        return MODEL_WRAPPERS.build(self.model_wrapper, default_args=dict(module=model))


from mmengine.dist.utils import _sitepatch_ddp_watch  # sitepatch: mmengine-ddp-debug

_sitepatch_ddp_watch(FSDPStrategy, "_wrap_model", "MMFullyShardedDataParallel")
