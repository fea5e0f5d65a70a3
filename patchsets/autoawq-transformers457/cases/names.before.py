# case: awq/quantize/scale.py
from torch import nn
from transformers.activations import NewGELUActivation, PytorchGELUTanh, GELUActivation

allowed_act_fns = [
    nn.GELU,
    NewGELUActivation,
    PytorchGELUTanh,
    GELUActivation,
]
