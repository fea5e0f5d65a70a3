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
    sys.exit("torch._dynamo.config.disable is %r" % torch._dynamo.config.disable)
try:
    double = torch.compile(lambda x: x * 2, backend=failing)
except RuntimeError as error:  # a Python that this torch cannot compile on
    print("disable is on; torch.compile itself refuses here: %s" % error)
    sys.exit(0)
result = double(torch.ones(2)).tolist()
if result != [2.0, 2.0] or called:
    sys.exit("computed %s, the backend was %scalled" % (result, "" if called else "not "))
print("no backend was called, and the function ran in eager mode")
