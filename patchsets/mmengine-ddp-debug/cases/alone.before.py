# case: mmengine/_strategy/single_device.py
class SingleDeviceStrategy:
    def _wrap_model(self, model):
        current_device = get_device()
        return model.to(current_device)
