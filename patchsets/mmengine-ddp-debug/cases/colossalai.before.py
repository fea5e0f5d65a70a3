# case: mmengine/_strategy/colossalai.py
class ColossalAIStrategy:
    def _wrap(self, model, optim_wrapper=None):
        if self.model_wrapper is None:
            self.model_wrapper = {'type': 'ColossalAIModelWrapper'}
        return self.booster.boost(model)
