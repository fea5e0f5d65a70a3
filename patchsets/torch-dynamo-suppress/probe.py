"""Compile a function with a backend that fails, with nothing in the environment."""

import os
import sys

os.environ.pop("TORCHDYNAMO_SUPPRESS_ERRORS", None)
os.environ["TORCH_COMPILE_DISABLE"] = "0"  # or the backend might not be called at all
os.environ.pop("TORCHDYNAMO_DISABLE", None)

import torch
import torch._dynamo

called = []


def failing(graph, inputs):
    called.append(graph)
    raise RuntimeError("this backend cannot compile")


if torch._dynamo.config.suppress_errors is not True:
    sys.exit(f"torch._dynamo.config.suppress_errors is {torch._dynamo.config.suppress_errors!r}")
torch._dynamo.config.disable = False  # up to torch 2.7.1 any text in TORCH_COMPILE_DISABLE disables
try:
    double = torch.compile(lambda x: x * 2, backend=failing)
except RuntimeError as error:  # a Python that this torch cannot compile on
    print(f"suppress_errors is on; torch.compile itself refuses here: {error}")
    sys.exit(0)
result = double(torch.ones(2)).tolist()
if result != [2.0, 2.0] or not called:
    sys.exit(f"computed {result}; the backend was called {len(called)} times")
print("the backend failed, and the function ran in eager mode")
