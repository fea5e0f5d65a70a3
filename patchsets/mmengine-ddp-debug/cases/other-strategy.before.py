# case: mmengine/_strategy/base.py
class BaseStrategy:
    pass
