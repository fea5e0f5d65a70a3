"""Train a small model with accelerate, in each precision that is named; every rank says how it ended, and what it gathered.

    no, bf16, fp16  the precision
    cpu             on the CPU on purpose, in full precision
    dispatch        dispatch_model puts the whole model on device 0 instead
"""

import hashlib
import os
import sys
import traceback
from pathlib import Path

import torch
from accelerate import Accelerator, dispatch_model
from accelerate.state import AcceleratorState, GradientState, PartialState
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

WRITTEN = []  # by this rank, of what one rank is to write
_save = torch.save


def record_and_save(what, file, *more, **words):
    name = Path(file).name
    if not name.startswith("random_states"):
        WRITTEN.append(name.partition(".")[0])
    _save(what, file, *more, **words)


torch.save = record_and_save
RANK = int(os.environ.get("RANK", "0"))


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def train(way):
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()
    accelerator = Accelerator(cpu=way == "cpu", mixed_precision="no" if way == "cpu" else way)
    set_seed(7)
    numbers = torch.arange(16.0).unsqueeze(1)
    loader = DataLoader(TensorDataset(numbers, 2 * numbers), batch_size=4, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    before = [parameter.tolist() for parameter in model.parameters()]
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    gathered = []
    for inputs, targets in loader:
        with accelerator.autocast():
            loss = ((model(inputs).float() - targets) ** 2).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        gathered += accelerator.gather_for_metrics(inputs).flatten().tolist()
    weights = [parameter.detach().cpu().tolist() for parameter in model.parameters()]
    learned = "learned" if all(new != old for new, old in zip(weights, before)) else "idle"
    digest = hashlib.sha256(repr(weights).encode()).hexdigest()[:12]
    WRITTEN.clear()
    accelerator.save_state(f"checkpoint-{way}", safe_serialization=False)
    accelerator.wait_for_everyone()
    device = next(model.parameters()).device
    scales = accelerator.scaler is not None and accelerator.scaler.is_enabled()
    role = "main" if accelerator.is_main_process else "other"
    samples = "all" if sorted(gathered) == numbers.flatten().tolist() else "some"
    written = "+".join(sorted(WRITTEN)) or "nothing"
    say("trained", way, RANK, f"{role} of {accelerator.num_processes}", device, learned, digest, samples, scales, written)
    accelerator.end_training()


def dispatch():
    model = dispatch_model(torch.nn.Linear(1, 1), {"": 0})
    say("dispatched", model.weight.device)


for each in sys.argv[1:]:
    try:
        dispatch() if each == "dispatch" else train(each)
    except Exception as error:
        traceback.print_exc()
        say("failed", each, RANK, f"{type(error).__name__}: {error}")
        break
