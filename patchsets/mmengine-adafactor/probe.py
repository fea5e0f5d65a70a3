"""Import what registers the optimizers, and look which Adafactor a config gets."""

from mmengine.registry import OPTIMIZERS
from mmengine.runner import Runner

adafactor = OPTIMIZERS.get("Adafactor")
print(f"{Runner.__name__} is imported; Adafactor is that of {adafactor.__module__ if adafactor else 'nobody'}")
