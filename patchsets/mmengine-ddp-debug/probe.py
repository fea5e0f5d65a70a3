"""Go to each place where MMEngine wraps a model in DDP, and look for the report; what DDP then says does not matter."""

import contextlib
import io
import json
import os
import sys
import types

os.environ.update(CUDA_VISIBLE_DEVICES="", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")  # before torch is imported

import torch
from mmengine.runner import Runner

try:
    from mmengine._strategy import DDPStrategy
except ImportError:  # before MMEngine 0.8.0
    DDPStrategy = None

runner = types.SimpleNamespace(cfg={}, distributed=True)
strategy = types.SimpleNamespace(model_wrapper=None, convert_model=lambda model: model)
places = {
    "Runner.wrap_model": lambda model: Runner.wrap_model(runner, None, model),
    "Runner.wrap_model (model_wrapper_cfg)": lambda model: Runner.wrap_model(
        runner, {"type": "MMDistributedDataParallel"}, model
    ),
}
if DDPStrategy:
    places["DDPStrategy._wrap_model"] = lambda model: DDPStrategy._wrap_model(strategy, model)

for place, wrap in places.items():
    said, refused = io.StringIO(), "nothing"
    with contextlib.redirect_stdout(said):
        try:
            wrap(torch.nn.Linear(2, 1))
        except Exception as error:  # there is no process group: DDP refuses, after the report
            refused = f"{type(error).__name__}: {error}"
    reports = [json.loads(line[14:]) for line in said.getvalue().splitlines() if line.startswith("sitepatch-ddp ")]
    if [report["site"] for report in reports] != [place] or reports[0]["parameters"] != {"cpu": 2}:
        sys.exit(f"no report from {place}; it raised {refused}")
print("a report from " + ", ".join(places))
