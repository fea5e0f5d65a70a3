"""Compile a function with a backend that fails, with nothing in the environment."""

import os
import sys

for name in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS"):
    os.environ.pop(name, None)

import torch

called = []


def failing(graph, inputs):
    called.append(graph)
    raise RuntimeError("this backend cannot compile")


def double(x):
    return x * 2


try:
    compiled = torch.compile(double, backend=failing, fullgraph=True)
except RuntimeError as error:  # a Python that this torch cannot compile on
    print(f"torch.compile itself refuses here: {error}")
    sys.exit(0)
if compiled is not double:
    sys.exit("torch.compile was to give back what it was given, and made something else of it")
result = compiled(torch.ones(2)).tolist()
if result != [2.0, 2.0] or called:
    sys.exit(f"computed {result}; the backend was called {len(called)} times")
print("no backend was called, and the function ran in eager mode")
