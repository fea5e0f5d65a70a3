# case: mmengine/_strategy/distributed.py
class DDPStrategy:
    def _wrap_model(self, model):
        return model
