"""One of two ranks on the CPU: does what a trainer does and writes what became of it to FOLDER/rank-N.json.

To see whether a rank waits, the other one is late on purpose: until the first has gone on without it, at most SECONDS.
"""

import gc
import inspect
import json
import random
import signal
import sys
import time
import weakref
from pathlib import Path

import accelerate.utils
import numpy
import torch
from accelerate import Accelerator, PartialState
from accelerate.data_loader import prepare_data_loader
from accelerate.utils import set_seed

signal.alarm(120)  # a rank is in a session of its own: whoever ends the launcher does not end it
FOLDER, SECONDS, LOADS = Path(sys.argv[1]), float(sys.argv[2]), "load" in sys.argv
written = []
real_save = torch.save


def noting_save(obj, path, **more):
    written.append(Path(path).name)
    return real_save(obj, path, **more)


torch.save = noting_save


def done(what):
    (FOLDER / what).touch()


def is_done(what):
    return (FOLDER / what).exists()


def be_late_until(what):
    end = time.monotonic() + SECONDS
    while not is_done(what) and time.monotonic() < end:
        time.sleep(0.05)


class LooksWhenMoved(torch.nn.Linear):
    """Its `to` is the first thing that prepare does with a model."""

    def to(self, *args, **kwargs):
        self.__dict__.setdefault("others_are_there", is_done("arrived"))
        if RANK == 0:
            done("moved")
        return super().to(*args, **kwargs)


class Slow(torch.optim.SGD):
    """On rank 1 it takes long to be prepared: accelerate asks for its state then."""

    def state_dict(self):
        if RANK == 1 and not is_done("prepared"):
            be_late_until("rank 0 has prepared")
            done("prepared")
        return super().state_dict()


class SlowToSave:
    """Something of one's own in the checkpoint that takes the main process long."""

    def state_dict(self):
        if RANK == 0:
            be_late_until("rank 1 has saved")
        return {}

    def load_state_dict(self, state):
        pass


def with_sampler(seedable, **more):
    """An Accelerator with or without the seedable sampler; where that is said has moved, and 0.25 has no other sampler."""
    chosen = {"use_seedable_sampler": seedable}
    if hasattr(accelerate.utils, "DataLoaderConfiguration"):
        chosen = {"dataloader_config": accelerate.utils.DataLoaderConfiguration(**chosen)}
    elif "use_seedable_sampler" not in inspect.signature(Accelerator).parameters:
        chosen = {}
    return Accelerator(project_dir=str(FOLDER), **chosen, **more)


def seeds():
    return [torch.random.initial_seed(), torch.rand(1).item(), random.random(), float(numpy.random.rand())]


def split():
    """A split of the data that says nothing of a generator."""
    return torch.utils.data.random_split(range(8), [4, 4])[0].indices


def drawn(accelerator):
    """The samples that this rank draws in each of two epochs."""
    loader = torch.utils.data.DataLoader(torch.arange(24), batch_size=3, shuffle=True)
    loader = accelerator.prepare(loader)
    return [[int(one) for batch in loader for one in batch] for _ in range(2)]


class Shuffling(torch.utils.data.IterableDataset):
    """Shuffles by itself, as many do."""

    def __iter__(self):
        return iter(torch.randperm(16).tolist())


def unwrapped():
    """The weights of a frozen module, which DDP does not make the same everywhere."""
    return torch.nn.Linear(2, 2).requires_grad_(False).weight.flatten().tolist()


def streamed():
    """The samples of a dataset that shuffles by itself that come to this rank."""
    loader = torch.utils.data.DataLoader(Shuffling(), batch_size=2)
    return [int(one) for batch in prepare_data_loader(loader, dispatch_batches=False) for one in batch]


class Loader:
    """As much of a stateful data loader as a checkpoint asks for."""

    dataset, use_stateful_dataloader, loaded = (), True, None

    def state_dict(self):
        return {"rank": RANK}

    def load_state_dict(self, state):
        self.loaded = state["rank"]


def train(accelerator):
    """Prepare where rank 1 is late: what rank 0 saw before its model was moved, and after prepare had come back."""
    accelerator.prepare(torch.nn.Linear(1, 1))  # the first time it imports for seconds
    model = LooksWhenMoved(2, 1)
    if RANK == 1:
        be_late_until("moved")
        done("arrived")
    wrapped, optimizer = accelerator.prepare(model, Slow(model.parameters(), lr=0.1))
    after = is_done("prepared")
    done(f"rank {RANK} has prepared")
    accelerator.backward(wrapped(torch.ones(1, 2)).sum())
    optimizer.step()
    return {"before": model.others_are_there, "after": after}


def alone(accelerator):
    """What scripts do on the main process alone must not wait for the others."""
    accelerator.project_configuration.automatic_checkpoint_naming = False
    if accelerator.is_main_process:
        accelerator.prepare(torch.utils.data.DataLoader(torch.arange(4)))
        accelerator.save({"epoch": 1}, FOLDER / "guarded.bin")
        accelerator.save_state(str(FOLDER / "guarded"))
    return True


def checkpoint(accelerator):
    """Save by everyone: which files this rank wrote, and whether the main process was through when save_state came back."""
    accelerator.project_configuration.automatic_checkpoint_naming = True
    accelerator.register_for_checkpointing(SlowToSave())
    accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 + RANK)
    loader = Loader()
    accelerator._dataloaders.append(loader)
    written.clear()
    accelerator.save({"epoch": 2}, FOLDER / "by-all.bin")
    accelerator.save_state(safe_serialization=False)
    whole = (FOLDER / "checkpoints" / "checkpoint_0" / "custom_checkpoint_0.pkl").exists()
    done(f"rank {RANK} has saved")
    if LOADS:
        accelerator.load_state(str(FOLDER / "checkpoints" / "checkpoint_0"))
    state = [loader.loaded, accelerator.scaler.get_scale()] if LOADS else []
    accelerator.scaler = None
    accelerator._dataloaders.remove(loader)
    return {"written": sorted(written), "whole": whole, "loaded": state}


def freed(accelerator):
    """Whether free_memory freed a prepared model that only a cycle and the accelerator hold."""
    accelerator.wait_for_everyone()
    gc.collect()
    gc.disable()
    model = torch.nn.Linear(1, 1)
    model.itself = [model]
    alive = weakref.ref(model)
    accelerator.prepare(model)
    del model
    accelerator.free_memory()
    gc.enable()
    return alive() is None


PartialState(cpu=True)  # an Accelerator there is not yet
set_seed(7)
report = {"early": seeds()}
first = with_sampler(False)
RANK = first.process_index
report["world"] = first.num_processes
set_seed(7)
report["seeds"] = seeds()
report["split"] = split()
report["frozen"] = unwrapped()
report["streamed"] = streamed()
set_seed(7, device_specific=False)
report["told not to"] = seeds()
report["split told not to"] = split()
for seedable in (False, True):
    set_seed(7)
    report[f"drawn {seedable}"] = drawn(with_sampler(seedable))
set_seed(7)
report["drawn otherwise"] = drawn(with_sampler(False, rng_types=["torch"]))
set_seed(7, device_specific=True)
report["drawn told"] = drawn(with_sampler(True))
last = with_sampler(False)
report["prepare"] = train(last)
report["checkpoint"] = checkpoint(last)
report["alone"] = alone(last)
report["freed"] = freed(with_sampler(False))
(FOLDER / f"rank-{RANK}.json").write_text(json.dumps(report))
first.wait_for_everyone()
