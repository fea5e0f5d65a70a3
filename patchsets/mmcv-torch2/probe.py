"""Ask for the stream of a GPU's number, as Scatter does; without a GPU torch answers None."""

import torch
from mmcv.parallel._functions import Scatter

try:
    Scatter.forward([0], torch.ones(2))
    print("a tensor was scattered to GPU 0")
except (AssertionError, RuntimeError) as error:  # there is no GPU: that is what comes after
    print(f"the stream was found; then: {error}")
