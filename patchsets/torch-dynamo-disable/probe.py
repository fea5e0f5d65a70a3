"""Compile a function with a backend that fails, with nothing in the environment."""

import os
import sys

for name in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS"):
    os.environ.pop(name, None)

import torch
import torch._dynamo

called = []


def failing(graph, inputs):
    called.append(graph)
    raise RuntimeError("this backend cannot compile")


if torch._dynamo.config.disable is not True:
    sys.exit(f"torch._dynamo.config.disable is {torch._dynamo.config.disable!r}")
try:
    double = torch.compile(lambda x: x * 2, backend=failing)
except RuntimeError as error:  # a Python that this torch cannot compile on
    print(f"disable is on; torch.compile itself refuses here: {error}")
    sys.exit(0)
result = double(torch.ones(2)).tolist()
if result != [2.0, 2.0] or called:
    sys.exit(f"computed {result}; the backend was called {len(called)} times")
print("no backend was called, and the function ran in eager mode")
