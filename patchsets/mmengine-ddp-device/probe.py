"""Start a process group of one rank and let MMEngine wrap a CPU model in DDP, in each of the places that do it."""

import os
import types

os.environ.update(CUDA_VISIBLE_DEVICES="", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")  # before torch is imported

import torch
from mmengine.dist import init_dist
from mmengine.runner import Runner

try:
    from mmengine._strategy import DDPStrategy
except ImportError:  # before MMEngine 0.8.0
    DDPStrategy = None

DDP = "MMDistributedDataParallel"


def wrap(place):
    """The wrapper that MMEngine makes in that place."""
    model = torch.nn.Linear(2, 1)
    if place == "DDPStrategy._wrap_model":
        strategy = types.SimpleNamespace(model_wrapper=None, convert_model=lambda model: model)
        return DDPStrategy._wrap_model(strategy, model)
    runner = types.SimpleNamespace(cfg={}, distributed=True)
    return Runner.wrap_model(runner, {"type": DDP} if "model_wrapper_cfg" in place else None, model)


init_dist("pytorch", backend="gloo", init_method="file://" + os.path.abspath("group") + "?rank=0&world_size=1")
places = ["Runner.wrap_model", "Runner.wrap_model (model_wrapper_cfg)", "DDPStrategy._wrap_model"]
seen = []
for place in places[: 3 if DDPStrategy else 2]:
    wrapper = wrap(place)
    wrapper(torch.ones(1, 2)).sum().backward()
    seen.append(f"{place}: {next(wrapper.parameters()).device}, device_ids={wrapper.device_ids}")
torch.distributed.destroy_process_group()
print("DDP ran; " + "; ".join(seen))
