"""What is about to wrap a model, and what can be wrong where it is not DDP; in the manner of `rank`. Pure."""

from __future__ import annotations

from typing import Optional

from patcher.diagnose.rank import NO_DEVICE, Message, accelerators, kinds_of, never_moved
from patcher.diagnose.report import Report
from patcher.text.listed import listed

DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_FAMILIES = (("FullySharded", "fsdp"), ("FSDP", "fsdp"), ("DeepSpeed", "deepspeed"), ("ColossalAI", "colossalai"))
_OF_COLOSSALAI = ("cuda", "npu")  # else it takes the CPU (0.4.9: accelerator/api.py)
NOTES = (OTHER, "fsdp", "deepspeed", "colossalai")  # reported for every such wrapper: nothing is wrong
_IMPORT = "import the vendor's package (torch_musa, torch_npu, torch_gcu) before the Runner is made"


def family(row: Report) -> str:
    """DDP, NONE where nothing is wrapped, `fsdp`, `deepspeed`, `colossalai`, or OTHER."""
    named = [name for word, name in _FAMILIES if word in row.wrapper]
    return (named or [NONE if row.wrapper == NONE else OTHER if OTHER in row.warnings else DDP])[0]


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
