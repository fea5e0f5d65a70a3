"""Fail to compile in the way that is named, which without the compiler computes [2.0, 2.0]."""

import sys

import torch
import torch._dynamo.variables.builder as builder
import torch._inductor.config as inductor_config


def failing(graph, inputs):
    raise RuntimeError("this backend cannot compile")


def compiled(function, *arguments, **how):
    return torch.compile(function, **{"backend": "eager", **how})(*arguments)


def backend():
    return compiled(lambda x: x + 1, torch.ones(2), backend=failing)


def inductor():
    inductor_config.cpp.cxx = (None, "/nowhere/c++")
    return compiled(lambda x: x.sin() * 0 + 2, torch.ones(2), backend="inductor")


def tracer():
    def broken(*_, **__):
        raise KeyError("a tracer that is broken")

    builder.VariableBuilder._wrap = broken
    return compiled(lambda x: x + 1, torch.ones(2))


def whole():
    return compiled(lambda x: x + 1, torch.ones(2), backend=failing, fullgraph=True)


def shapes():
    return compiled(lambda x: x @ torch.ones(3, 3), torch.ones(2))


def again(**how):
    function = torch.compile(lambda x, number: x + number, backend="eager", dynamic=False, **how)
    return [function(torch.ones(2), number) for number in (3, 2, 1)][-1]


def recompiled():
    torch._dynamo.config.error_on_recompile = True
    return again()


def too_often():
    torch._dynamo.config.recompile_limit = 1
    return again(fullgraph=True)


def branches():
    return compiled(lambda x: x + 1 if x.sum() > 0 else x, torch.ones(2), fullgraph=True)


def depends_on_data():
    torch._dynamo.config.capture_scalar_outputs = True
    return compiled(lambda x: x[: range(x[0].item())[-1]] * 0 + 2.0, torch.tensor([3, 1]), fullgraph=True)


def higher_order():
    def one(x):
        print("a side effect")
        return x + 1

    return compiled(lambda x: torch.cond(x.sum() > 0, one, lambda x: x + 2, (x,)), torch.ones(2), fullgraph=True)


print("computed", globals()[sys.argv[1]]().tolist())
