"""What can be wrong in the report of one rank: where its model is, why, and what to do about it. Pure.

A function that is named after something wrong returns the message about it, None where the report is not of that.

What DDP refuses differs by the releases of torch (torch/nn/parallel/distributed.py):

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from patcher.diagnose.report import Devices, Report
from patcher.text.listed import listed

GUARD, DEVICE = "mmengine-ddp-device", "mmengine-device"
GET_DEVICE_KNOWS = (("cuda", ""), ("mlu", ""), ("mps", ""), ("npu", "0.3.0"), ("dipu", "0.7.4"), ("musa", "0.10.3"))
GET_DEVICE_MISSES = ("gcu", "xpu", "xla", "hpu")  # in every MMEngine: the model stays on the CPU
VENDORS = {  # what a vendor's package adds: the kind of device, and the backend that serves it
    "torch_gcu": ("gcu", "eccl"),
    "torch_npu": ("npu", "hccl"),
    "torch_musa": ("musa", "mccl"),
    "torch_mlu": ("mlu", "cncl"),
    "torch_xla": ("xla", "xla"),
    "habana_frameworks": ("hpu", "hccl"),
    "intel_extension_for_pytorch": ("xpu", "xccl"),
}
NO_DEVICE = ("cpu", "meta", "?")
_IN_EVERY_TORCH = ("cuda", "xpu")  # a module of these means nothing until it is initialised
DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_FAMILIES = (("FullySharded", "fsdp"), ("FSDP", "fsdp"), ("DeepSpeed", "deepspeed"), ("ColossalAI", "colossalai"))
_OF_COLOSSALAI = ("cuda", "npu")  # else it takes the CPU (0.4.9: accelerator/api.py)
NOTES = (OTHER, "fsdp", "deepspeed", "colossalai")  # reported for every such wrapper: nothing is wrong
_IMPORT = "import the vendor's package (torch_musa, torch_npu, torch_gcu) before the Runner is made"
_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)

Message = Tuple[str, str]  # what is wrong, and what to do


def device_names(devices: Devices) -> List[str]:
    """The devices that hold a tensor."""
    return [device for device, count in devices if count]


def devices_of_ids(row: Report) -> List[str]:
    """The devices that device_ids name; a bare number is a device of the kind that the parameters or the rank are on."""
    kinds = [device.partition(":")[0] for device in device_names(row.parameters) if device not in NO_DEVICE]
    kinds += [kind for kind, index in row.current if index is not None]
    kind = (kinds or accelerators(row) or ["device"])[0]
    return [each if ":" in each else f"{kind}:{each}" for each in row.device_ids or ()]


def accelerators(row: Report) -> List[str]:
    """The accelerators of a rank. torch.cuda is there in every torch, so it counts only where it is initialised."""
    there = [kind for kind, index in row.current if index is not None or kind not in _IN_EVERY_TORCH]
    named = [row.get_device] if row.get_device not in ("", "cpu") else []
    return list(dict.fromkeys(there + named))


def on_cpu(row: Report) -> bool:
    """Whether all parameters are on the CPU."""
    return device_names(row.parameters) == ["cpu"]


def ids_match(row: Report) -> bool:
    """Whether all parameters are on the one device that device_ids name."""
    return bool(row.device_ids) and device_names(row.parameters) == devices_of_ids(row) and not on_cpu(row)


def kinds_of(devices: Devices) -> List[str]:
    """The kinds of the devices that hold a tensor, sorted."""
    return sorted({device.partition(":")[0] for device in device_names(devices)})


# what can be wrong ----------------------------------------------------------------------------------------------------
def moved_back(row: Report) -> Optional[Message]:
    """MMEngine's `model.to(get_device())` moved the model from a device to the CPU."""
    was = listed([kind for kind in kinds_of(row.before) if kind not in NO_DEVICE])  # by kind: one sentence for all ranks
    if not (on_cpu(row) and was):
        return None
    place = row.site.partition(" ")[0]
    refusing = ", where DDP refuses the device_ids" if row.device_ids else ""
    text = f"the model was on {was}, and `model = model.to(get_device())` in {place} moved it to the CPU{refusing}"
    return text, _to_the_device(row, was)


def never_moved(row: Report) -> Optional[Message]:
    """The model is on the CPU, and was nowhere else as far as is known."""
    if not on_cpu(row) or moved_back(row):
        return None
    there = accelerators(row)
    refusing = " and device_ids name a device, which DDP refuses" if row.device_ids else ""
    text = f"the parameters are on the CPU: the model was never moved{refusing}"
    if there and row.get_device in there:
        return text, (
            f"MMEngine's get_device() says {row.get_device} here: look for code of yours that builds the model or wraps it "
            "after Runner has moved it, or a `to` of its own"
        )
    if there:
        return f"{text}; {listed(there)} stands idle", _to_the_device(row, there[0])
    return text, (
        f"if it is to train on the CPU: {without_ids(row)}. If not: import the vendor's package (torch_musa, torch_npu, "
        f"torch_gcu) before mmengine, and sitepatch apply {DEVICE}; {_get_device(row, '')}"
    )


def _to_the_device(row: Report, kind: str) -> str:
    """How MMEngine's get_device() comes to return `kind`."""
    if DEVICE in row.patchsets:
        return (
            f"{DEVICE} is in force and says {row.get_device or 'cpu'}: its option device is cpu, or torch knew no {kind} when "
            f"asked. Import the vendor's package before the Runner is made, and sitepatch apply {DEVICE} --set device={kind}"
        )
    return f"sitepatch apply {DEVICE} --set device={kind}; in mmengine/device/utils.py, {_get_device(row, kind)}"


def without_ids(row: Report) -> str:
    """How DDP gets device_ids=None, by who names them now."""
    if row.ids_from == "config":
        return "the config names device_ids, and what it says wins: write device_ids=None in model_wrapper_cfg"
    if GUARD in row.patchsets or DEVICE in row.patchsets:
        return f"sitepatch apply {DEVICE} --set device_ids=none"
    return f"sitepatch apply {GUARD}"


def _get_device(row: Report, kind: str) -> str:
    known = ", ".join(name + (f" (from {since})" if since else "") for name, since in GET_DEVICE_KNOWS)
    since = dict(GET_DEVICE_KNOWS).get(kind, "")
    if kind in dict(GET_DEVICE_KNOWS) and row.mmengine and since and version_numbers(row.mmengine) < version_numbers(since):
        return f"get_device of MMEngine {row.mmengine} does not know it; {since} does"
    if kind in dict(GET_DEVICE_KNOWS):
        return (
            f"get_device says {row.get_device or 'cpu'}: the package of {kind} was imported after mmengine, or sees no "
            f"device. It knows {kind}" + (f" from MMEngine {since}" if since else "")
        )
    return f"get_device knows {known}; {', '.join(GET_DEVICE_MISSES)} never: they become cpu"


def version_numbers(version: str) -> Tuple[int, ...]:
    """The numbers of a version, to be compared."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdigit())


def on_several_devices(row: Report) -> Optional[Message]:
    """The parameters are on several devices."""
    if len(device_names(row.parameters)) < 2:
        return None
    kinds = kinds_of(row.parameters)
    text = f"the parameters are spread over {listed(kinds) if len(kinds) > 1 else f'several {kinds[0]} devices'}{_fewest(row)}"
    if len(kinds) > 1:
        late = ", as they were before MMEngine moved the model: it has a `to` of its own"
        hint = "DDP takes devices of one kind only: move all of the model, also what is built after it"
        return text + (late if row.before == row.parameters else ""), hint
    if row.device_ids:
        return text, f"DDP takes such a model only with device_ids=None: {without_ids(row)}"
    return text, "right only for a model that was split on purpose"


def _fewest(row: Report) -> str:
    """The names of parameters on the device that has fewest of them."""
    if not row.places:
        return ""
    count = dict(row.parameters)
    device, some = min(row.places, key=lambda pair: (count.get(pair[0], 0), pair[0] != "cpu"))
    more = ", ..." if count.get(device, 0) > len(some) else ""
    return f": {count.get(device, 0)} of {sum(count.values())} on {device} ({', '.join(some)}{more})"


def ids_elsewhere(row: Report) -> Optional[Message]:
    """device_ids name another device than that of the parameters."""
    if not row.device_ids or len(device_names(row.parameters)) != 1 or on_cpu(row) or ids_match(row):
        return None
    text = "the parameters are on another device than device_ids name"
    if row.ids_from == "config":
        return text, "the config names device_ids: write there the device of each rank, or device_ids=None"
    own = "choose the device by LOCAL_RANK before the model is moved"
    if DEVICE in row.patchsets:
        return text, own
    return text, f"{own}; sitepatch apply {DEVICE} gives DDP the device that the parameters are on, and None for xla and mps"


def buffers_elsewhere(row: Report) -> Optional[Message]:
    """Buffers are on a device that no parameter is on."""
    if not device_names(row.parameters) or set(device_names(row.buffers)) <= set(device_names(row.parameters)):
        return None
    there, here = kinds_of(row.buffers), kinds_of(row.parameters)
    text = "buffers are on another device than the parameters"
    hint = "a tensor that was registered after the model was moved, or moved by hand; DDP broadcasts the buffers"
    return (text if there == here else f"the parameters are on {listed(here)}, buffers on {listed(there)}"), hint


# what can be wrong about the wrapper -------------------------------------------------------------------------------------
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
