"""torch.compile with a backend that fails; `fullgraph` as argument forbids the fallback."""

import sys

import torch


def failing(graph, inputs):
    raise RuntimeError("this backend cannot compile")


def double(x):
    return x * 2


print("computed", torch.compile(double, backend=failing, fullgraph="fullgraph" in sys.argv)(torch.arange(3.0)).tolist())
