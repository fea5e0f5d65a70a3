"""What goes through the compiler and does not need it: a whole graph, flex_attention as it is, an exported program."""

import warnings

import torch
from torch.nn.attention.flex_attention import flex_attention

warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
called = []


def working(graph, inputs):
    called.append(graph)
    return graph.forward


def double(x):
    return x * 2


def later(score, batch, head, query, key):
    return score + (query - key)


compiled = torch.compile(double, backend=working, fullgraph=True)
print("computed", compiled(torch.arange(3.0)).tolist(), "backend called", bool(called))
query = torch.arange(64.0).reshape(1, 1, 4, 16) / 64
print("attended", flex_attention(query, query, query, score_mod=later).sum(-1).tolist())
module = torch.nn.Linear(2, 2)
torch.nn.init.ones_(module.weight)
torch.nn.init.zeros_(module.bias)
print("exported", torch.export.export(module, (torch.ones(1, 2),)).module()(torch.ones(1, 2)).tolist())
