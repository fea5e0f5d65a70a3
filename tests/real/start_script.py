"""dist/utils.py and Runner.wrap_model of other releases of MMEngine, on one rank without CUDA; a line of JSON for each folder.

An old release as a whole may not import beside a new torch. So each file, and of runner.py the one method, runs alone: what it
takes from the rest of MMEngine is the installed release's.
"""

import __future__

import ast
import importlib.util
import json
import os
import socket
import sys
from types import SimpleNamespace

import torch
from mmengine.runner import runner as installed

LAUNCHERS = {
    "pytorch": {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"},
    "mpi": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
    "slurm": {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_NODELIST": "here"},
}
DEVICES = ["cpu", "meta", "cuda:0", "cuda:1", "xpu:0", "mtia:0", "xla:0", "xla:1", "mps:0", "hpu:0"]


def load(path):
    spec = importlib.util.spec_from_file_location("released_utils", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(utils, launcher):
    """The backend and size of the group that was started, or the error."""
    environ = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **LAUNCHERS[launcher]}
    for name in list(os.environ):
        if name in ("RANK", "LOCAL_RANK", "WORLD_SIZE") or name.startswith(("SLURM", "OMPI")):
            del os.environ[name]
    os.environ.update(environ)
    try:
        utils.init_dist(launcher, backend="gloo")
        return [torch.distributed.get_backend(), torch.distributed.get_world_size()]
    except (AttributeError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def takes(utils, *devices):
    """What the helper says of a model with a parameter on each of these devices, of which this machine may have none."""
    parameters = [(f"p{index}", SimpleNamespace(device=torch.device(each))) for index, each in enumerate(devices)]
    return utils._sitepatch_takes_device_ids(SimpleNamespace(named_parameters=lambda: parameters))


def wrap(runner_file, cfg):
    """The device_ids of the wrapper that wrap_model makes, or the error."""
    with open(runner_file, encoding="utf-8") as stream:
        source = stream.read()
    (method,) = [each for each in ast.walk(ast.parse(source)) if getattr(each, "name", "") == "wrap_model"]
    scope = dict(vars(installed))
    exec(compile(ast.Module([method], []), runner_file, "exec", __future__.annotations.compiler_flag), scope)
    try:
        return scope["wrap_model"](SimpleNamespace(cfg={}, distributed=True), cfg, torch.nn.Linear(2, 1)).device_ids
    except ValueError as error:
        return f"ValueError: {error}"


def main(folder):
    utils = load(os.path.join(folder, "utils.py"))
    report = {"start": {launcher: start(utils, launcher) for launcher in LAUNCHERS}}
    if hasattr(utils, "_sitepatch_takes_device_ids"):
        report["takes"] = {device: takes(utils, device) for device in DEVICES}
        report["takes several"] = takes(utils, "cuda:0", "cuda:1")
        report["takes a Linear"] = utils._sitepatch_takes_device_ids(torch.nn.Linear(2, 1))
        for name in ("_sitepatch_takes_device_ids", "_sitepatch_tell"):
            setattr(installed, name, getattr(utils, name))  # the installed module imports none
    os.environ["LOCAL_RANK"] = "0"
    address = f"tcp://127.0.0.1:{free_port()}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    ddp = {"type": "MMDistributedDataParallel"}
    report["wrap"] = [wrap(os.path.join(folder, "runner.py"), cfg) for cfg in (None, ddp, {**ddp, "device_ids": [0]})]
    torch.distributed.destroy_process_group()
    print("report", json.dumps(report), flush=True)


for each in sys.argv[1:]:
    main(each)
