# case: awq/quantize/scale.py
from torch import nn
from transformers.activations import ACT2FN, NewGELUActivation, GELUActivation

allowed_act_fns = [
    nn.GELU,
    NewGELUActivation,
    type(ACT2FN["gelu_pytorch_tanh"]),
    GELUActivation,
]
