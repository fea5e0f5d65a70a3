"""Try every part of the patch in one process, with a single rank that believes to be the fourth; says which are left out."""

import argparse
import gc
import inspect
import sys
import weakref

import accelerate
import torch
from accelerate import Accelerator
from accelerate.commands import launch
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType, random

waits = []
broken, held, left_out = [], [], []


def part(name, function, check):
    """Note whether a part is left out by its option, and if not, whether it does what it is for."""
    source = inspect.getsource(function)
    if "sitepatch: accelerate-ddp-hygiene" not in source:
        broken.append(name)
    elif "False and" in source or "if False" in source or "not False" in source:
        left_out.append(name)
    else:
        (held if check() else broken).append(name)


def seeds():
    """The fourth process gets a seed of its own, and the sampler the common one."""
    known = dict(PartialState._shared_state)
    fourth = {"distributed_type": DistributedType.MULTI_CPU, "process_index": 3}
    for state in (PartialState, AcceleratorState):
        state._shared_state.update(fourth)
    random.set_seed(5)
    for state in (PartialState, AcceleratorState):
        state._shared_state.update(known)
    return torch.random.initial_seed() == 8 and random._sitepatch_shared_seed() == 5


def prepare():
    """Prepare waits before and after."""
    waits.clear()
    accelerator.prepare(torch.nn.Linear(1, 1))
    return len(waits) == 2


def memory():
    """A model that only the accelerator and a cycle hold is freed."""
    model = torch.nn.Linear(1, 1)
    model.itself = [model]
    alive = weakref.ref(model)
    accelerator.prepare(model)
    del model
    gc.disable()
    accelerator.free_memory()
    gc.enable()
    return alive() is None


def processes():
    """Two devices, so two processes and not four."""
    launch.logger.disabled = True
    flags = dict.fromkeys(("use_fsdp", "use_deepspeed", "use_megatron_lm", "cpu", "use_cpu"), False)
    asked = argparse.Namespace(multi_gpu=True, gpu_ids="0,1", num_machines=1, num_processes=4, **flags)
    launch._sitepatch_fit_processes(asked)
    return asked.num_processes == 2


random.set_seed(5)  # before there is an Accelerator it must not raise
accelerator = Accelerator(cpu=True)
accelerator.wait_for_everyone = lambda: waits.append(1)
part("seeds", random.set_seed, seeds)
part("prepare", Accelerator.prepare, prepare)
part("save", Accelerator.save_state, lambda: True)
if tuple(map(int, accelerate.__version__.split(".")[:2])) < (0, 33):  # from there on several processes may share a device
    part("launch", getattr(launch, "_sitepatch_fit_processes", launch.launch_command), processes)
if "return objects" in inspect.getsource(Accelerator.free_memory):  # before 0.30 it freed at the right time
    part("memory", Accelerator.free_memory, memory)
if broken:
    sys.exit("not as it should be: " + ", ".join(broken))
print(f"in force: {', '.join(held) or 'nothing'}; left out: {', '.join(left_out) or 'nothing'}")
