import os

import torch


def _init_dist_pytorch(backend, **kwargs):
    rank = int(os.environ["RANK"])
    if torch.cuda.is_available() or _sitepatch_wants_gpu(backend):  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(rank)  # of this process
    start(backend, rank, **kwargs)


def _init_dist_mpi(backend):
    if torch.cuda.is_available() or _sitepatch_wants_gpu(backend):  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    start(backend, 0)


def _init_dist_slurm(backend):
    num_gpus = max(torch.cuda.device_count(), 1)  # sitepatch: mmengine-ddp-device
    if torch.cuda.is_available() or _sitepatch_wants_gpu(backend):  # sitepatch: mmengine-ddp-device
        torch.cuda.set_device(3 % num_gpus)
    start(backend, 3)


def _sitepatch_wants_gpu(backend):  # sitepatch: mmengine-ddp-device
    """Whether a torch for GPUs, which finds none, is asked for one: torch then says what is wrong when it is selected."""
    from mmengine.device import get_device

    asked = backend == "nccl" or os.environ.get("CUDA_VISIBLE_DEVICES", "").strip() not in ("", "-1")
    built = torch.version.cuda or getattr(torch.version, "hip", None)
    return built and asked and get_device() == "cpu" and not False


def _sitepatch_takes_device_ids(model):  # sitepatch: mmengine-ddp-device
    """Whether DDP can be told by `device_ids=[LOCAL_RANK]` on which device the model is."""
    ignored = getattr(model, "_ddp_params_and_buffers_to_ignore", ())  # DDP does not look at these
    devices = {parameter.device for name, parameter in model.named_parameters() if name not in ignored}
    kind = devices.pop().type if len(devices) == 1 else "cpu"
    return kind != "cpu" and hasattr(getattr(torch, kind, None), "set_device")


def _sitepatch_tell(model, before, site):  # sitepatch: mmengine-ddp-device
    """Say for programs where this rank trains; warn where that is the CPU, and an accelerator was left or stands idle."""
    import contextlib
    import json
    import warnings
    from collections import Counter

    if "_sitepatch_device" in globals():
        return  # mmengine-device says it
    places = Counter(str(parameter.device) for parameter in model.parameters())
    modules = {kind: vars(module) for kind, module in vars(torch).items() if isinstance(module, type(torch))}
    kinds = [kind for kind, names in modules.items() if "set_device" in names and names.get("is_available", bool)()]
    idle = sorted({*kinds, *(place.partition(":")[0] for place in before)} - {"cpu", "meta"}) if list(places) == ["cpu"] else []
    if idle:
        cure = "to train there: sitepatch apply mmengine-device --set device=" + idle[0]
        warnings.warn("mmengine-ddp-device: this rank trains on the CPU, and %s stands idle; %s" % (", ".join(idle), cure))
    env = {name: text for name, text in os.environ.items() if name.endswith(("RANK", "WORLD_SIZE", "_VISIBLE_DEVICES"))}
    facts = dict(schema=7, event="trains", site=site, patchsets=["mmengine-ddp-device"], idle=idle, before=Counter(before),
                 parameters=places, env=env, host=os.uname().nodename, pid=os.getpid())
    with contextlib.suppress(OSError, ValueError):  # where nobody reads stdout any more, training goes on
        print("sitepatch-ddp %s\n" % json.dumps(facts), end="", flush=True)
