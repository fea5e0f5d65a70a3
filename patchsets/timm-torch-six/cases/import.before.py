# case: timm/models/layers/helpers.py
from itertools import repeat
from torch._six import container_abcs


def several(x):
    return isinstance(x, container_abcs.Iterable)
