"""What is about to wrap a model, and what is to be said of what is not DDP. Pure."""

from __future__ import annotations

from patcher.diagnose.rank import NO_DEVICE, Words, accelerators, kinds_of, stayed, tell_stayed
from patcher.diagnose.report import Report
from patcher.text.listed import listed

DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_FAMILIES = (("FullySharded", "fsdp"), ("FSDP", "fsdp"), ("DeepSpeed", "deepspeed"), ("ColossalAI", "colossalai"))
_OF_COLOSSALAI = ("cuda", "npu")  # else it takes the CPU (0.4.9: accelerator/api.py)
NOTES = (OTHER, "fsdp", "deepspeed", "colossalai")  # said of every such wrapper: nothing is wrong for that
_IMPORT = "import the vendor's package (torch_musa, torch_npu, torch_gcu) before the Runner is made"


def family(row: Report) -> str:
    """DDP, NONE where nothing is wrapped, `fsdp`, `deepspeed`, `colossalai`, or OTHER."""
    named = [name for word, name in _FAMILIES if word in row.wrapper]
    return (named or [NONE if row.wrapper == NONE else OTHER if OTHER in row.warnings else DDP])[0]


def alone(row: Report) -> bool:
    """Whether a launcher has started several processes, each of which trains by itself."""
    return family(row) == NONE and (row.world_size or 1) > 1


def tell_alone(row: Report) -> Words:
    """That each trains by itself."""
    text = f"not distributed: nothing is wrapped, and each of the {row.world_size} processes trains alone"
    return text, "MMEngine is told of the launcher by launcher='pytorch' in the config, or --launcher pytorch"


def lacks_accelerator(row: Report) -> bool:
    """Whether FSDP finds none of the accelerators that it needs."""
    return family(row) == "fsdp" and set(kinds_of(row.parameters)) <= set(NO_DEVICE) and not accelerators(row)


def tell_lacking(row: Report) -> Words:
    """That it needs one."""
    where = listed(kinds_of(row.parameters)) or "no device"
    return (
        f"FSDP needs an accelerator, and torch knows none; the parameters are on {where}",
        f"{_IMPORT}; on the CPU take DDPStrategy",
    )


def unused(row: Report) -> bool:
    """Whether an accelerator stands idle, and the model is trained on the CPU."""
    there, kind = accelerators(row), family(row)
    if kind == "deepspeed":
        return row.deepspeed == "cpu" and bool(there)
    if kind == "colossalai":
        return bool(there) and not set(there) & set(_OF_COLOSSALAI)
    return kind != "fsdp" and stayed(row) and not row.device_ids and bool(there)


def tell_unused(row: Report) -> Words:
    """Which one stands idle, and why."""
    idle = listed(accelerators(row))
    if family(row) == "deepspeed":
        return (
            f"DeepSpeed's own accelerator is cpu, and {idle} stands idle",
            "the variable DS_ACCELERATOR, or the vendor's DeepSpeed",
        )
    if family(row) == "colossalai":
        return (
            f"ColossalAI knows {listed(_OF_COLOSSALAI)}, and {idle} stands idle",
            "the vendor's ColossalAI, or another strategy",
        )
    return tell_stayed(row)


def noted(row: Report) -> bool:
    """Whether the wrapper is one that is not DDP."""
    return family(row) in NOTES


def tell_note(row: Report) -> Words:
    """What that wrapper does with the model."""
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
