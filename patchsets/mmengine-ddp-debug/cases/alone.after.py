class SingleDeviceStrategy:
    def _wrap_model(self, model):
        current_device = get_device()
        from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
        _sitepatch_ddp_report("SingleDeviceStrategy._wrap_model (not distributed)", model.to(current_device), (), lambda: {"type": "none"})
        return model.to(current_device)
