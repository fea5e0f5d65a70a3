"""What is about to wrap a model, and what can be wrong with that wrapper; in the manner of `rank`. Pure.

What DDP refuses differs by the releases of torch (torch/nn/parallel/distributed.py):

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from typing import Optional

from patcher.diagnose.rank import (
    NO_DEVICE,
    Message,
    accelerators,
    device_names,
    kinds_of,
    never_moved,
    version_numbers,
    without_ids,
)
from patcher.diagnose.report import Report
from patcher.text.listed import listed

DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_FAMILIES = (("FullySharded", "fsdp"), ("FSDP", "fsdp"), ("DeepSpeed", "deepspeed"), ("ColossalAI", "colossalai"))
_OF_COLOSSALAI = ("cuda", "npu")  # else it takes the CPU (0.4.9: accelerator/api.py)
NOTES = (OTHER, "fsdp", "deepspeed", "colossalai")  # reported for every such wrapper: nothing is wrong
_IMPORT = "import the vendor's package (torch_musa, torch_npu, torch_gcu) before the Runner is made"
_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)


def family(row: Report) -> str:
    """DDP, NONE where nothing is wrapped, `fsdp`, `deepspeed`, `colossalai`, or OTHER."""
    named = [name for word, name in _FAMILIES if word in row.wrapper]
    return (named or [NONE if row.wrapper == NONE else OTHER if OTHER in row.warnings else DDP])[0]


def ids_for_cuda(row: Report) -> Optional[Message]:
    """This torch takes device_ids for CUDA alone, and the model is on another kind of device."""
    old = () < version_numbers(row.torch) < _ANY_DEVICE
    if not row.device_ids or len(device_names(row.parameters)) != 1 or not old:
        return None
    kind = kinds_of(row.parameters)[0]
    if kind in (*NO_DEVICE, "cuda"):
        return None
    return f"DDP of torch {row.torch} takes device_ids for CUDA alone, and refuses them for {kind}", without_ids(row)


def several_ids(row: Report) -> Optional[Message]:
    """device_ids name several devices, of which this torch takes one."""
    if len(row.device_ids or ()) < 2 or () < version_numbers(row.torch) < _ONE_ID:
        return None
    return "device_ids name several devices, and DDP takes one, from torch 1.9 on", "one process for each device"


def not_distributed(row: Report) -> Optional[Message]:
    """A launcher has started several processes, and each of them trains by itself."""
    if family(row) != NONE or (row.world_size or 1) < 2:
        return None
    text = f"not distributed: nothing is wrapped, and each of the {row.world_size} processes trains alone"
    return text, "MMEngine is told of the launcher by launcher='pytorch' in the config, or --launcher pytorch"


def no_accelerator(row: Report) -> Optional[Message]:
    """FSDP finds no accelerator, and needs one."""
    if family(row) != "fsdp" or not set(kinds_of(row.parameters)) <= set(NO_DEVICE) or accelerators(row):
        return None
    where = listed(kinds_of(row.parameters)) or "no device"
    return (
        f"FSDP needs an accelerator, and torch knows none; the parameters are on {where}",
        f"{_IMPORT}; on the CPU take DDPStrategy",
    )


def accelerator_unused(row: Report) -> Optional[Message]:
    """An accelerator is idle, and the model is trained on the CPU."""
    there, kind = accelerators(row), family(row)
    if not there or kind == "fsdp":
        return None
    if kind == "deepspeed":
        text = f"DeepSpeed's own accelerator is cpu, and {listed(there)} stands idle"
        return (text, "the variable DS_ACCELERATOR, or the vendor's DeepSpeed") if row.deepspeed == "cpu" else None
    if kind == "colossalai":
        text = f"ColossalAI knows {listed(_OF_COLOSSALAI)}, and {listed(there)} stands idle"
        known = set(there) & set(_OF_COLOSSALAI)
        return None if known else (text, "the vendor's ColossalAI, or another strategy")
    return None if row.device_ids else never_moved(row)


def wrapper_note(row: Report) -> Message:
    """What a wrapper that is not DDP does with the model."""
    where = listed(kinds_of(row.parameters)) or "no device"
    now = f"the parameters are on {where}"
    if family(row) == "fsdp":
        device = "the device that device_id names" if row.device_ids else "the accelerator that torch knows"
        return f"{now}; FSDP shards them on {device}", ""
    if family(row) == "deepspeed":
        own = f"its own accelerator, {row.deepspeed}" if row.deepspeed else "its own accelerator"
        return f"{now}; DeepSpeed moves them to the device of {own}", ""
    if family(row) == "colossalai":
        return f"{now}; ColossalAI's booster moves them to the device of its own accelerator", ""
    text = f"the model is wrapped in {row.wrapper or 'a wrapper'}, which is not DDP: only where its parameters are was seen"
    return text, "nothing is said of what that wrapper itself refuses"
