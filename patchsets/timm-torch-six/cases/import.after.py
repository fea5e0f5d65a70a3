from itertools import repeat
import collections.abc as container_abcs


def several(x):
    return isinstance(x, container_abcs.Iterable)
