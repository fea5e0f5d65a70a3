# case: mmengine/runner/runner.py
class Runner:
    def wrap_model(self, model):
        model = MMDistributedDataParallel(module=model, device_ids=[0])
        return model
