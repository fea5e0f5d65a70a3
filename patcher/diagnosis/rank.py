"""What can be wrong in the report of one rank: where its model is, why, and what to do about it. Pure.

A function that is named after something wrong returns the message about it, None where the report is not of that.

What DDP refuses differs by the releases of torch (torch/nn/parallel/distributed.py):

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from patcher.diagnosis.report import Report
from patcher.message import Message, joined
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
_IMPORT = Message("import the vendor's package (torch_musa, torch_npu, torch_gcu) before the Runner is made")
_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)

Finding = Tuple[str, str]  # what is wrong, and what to do


def device_names(devices: Sequence[Tuple[str, int]]) -> List[str]:
    """The devices that hold a tensor."""
    return [device for device, count in devices if count]


def devices_of_ids(row: Report) -> List[str]:
    """The devices that device_ids name; a bare number is a device of the kind that the parameters or the rank are on."""
    kinds = [device.partition(":")[0] for device in device_names(row.parameters) if device not in NO_DEVICE]
    kinds += [kind for kind, index in row.current if index is not None]
    kind = (kinds or accelerators(row) or ["device"])[0]
    return [name if ":" in name else f"{kind}:{name}" for name in row.device_ids or ()]


def accelerators(row: Report) -> List[str]:
    """The accelerators of a rank. torch.cuda is there in every torch, so it counts only where it is initialised."""
    seen = [kind for kind, index in row.current if index is not None or kind not in _IN_EVERY_TORCH]
    return list(dict.fromkeys([*seen, *([row.get_device] if row.get_device not in ("", "cpu") else [])]))


def on_cpu(row: Report) -> bool:
    """Whether all parameters are on the CPU."""
    return device_names(row.parameters) == ["cpu"]


def ids_match(row: Report) -> bool:
    """Whether all parameters are on the one device that device_ids name."""
    return bool(row.device_ids) and device_names(row.parameters) == devices_of_ids(row) and not on_cpu(row)


def place(devices: Sequence[Tuple[str, int]]) -> str:
    """The kinds of the devices that hold a tensor, as a text."""
    return listed(kinds_of(devices)) or Message("no device")


def kinds_of(devices: Sequence[Tuple[str, int]]) -> List[str]:
    """The kinds of the devices that hold a tensor, sorted."""
    return sorted({device.partition(":")[0] for device in device_names(devices)})


# what can be wrong ----------------------------------------------------------------------------------------------------
def moved_back(row: Report) -> Optional[Finding]:
    """MMEngine's `model.to(get_device())` moved the model from a device to the CPU."""
    was = listed([kind for kind in kinds_of(row.before) if kind not in NO_DEVICE])  # by kind: one sentence for all ranks
    if not (on_cpu(row) and was):
        return None
    text = "the model was on {was}, and `model = model.to(get_device())` in {place} moved it to the CPU"
    moved = Message(text, was=was, place=row.site.partition(" ")[0])
    refused = Message("{text}, where DDP refuses the device_ids", text=moved) if row.device_ids else moved
    return refused, _to_the_device(row, was)


def never_moved(row: Report) -> Optional[Finding]:
    """The model is on the CPU, and was nowhere else as far as is known."""
    if not on_cpu(row) or moved_back(row):
        return None
    idle = accelerators(row)
    text = Message("the parameters are on the CPU: the model was never moved")
    text = Message("{text} and device_ids name a device, which DDP refuses", text=text) if row.device_ids else text
    if idle and row.get_device in idle:
        hint = (
            "MMEngine's get_device() says {row.get_device} here: look for code of yours that builds the model or wraps it "
            "after Runner has moved it, or a `to` of its own"
        )
        return text, Message(hint, row=row)
    if idle:
        return Message("{text}; {kinds} stands idle", text=text, kinds=listed(idle)), _to_the_device(row, idle[0])
    hint = (
        "if it is to train on the CPU: {without}. If not: import the vendor's package (torch_musa, torch_npu, "
        "torch_gcu) before mmengine, and sitepatch apply {DEVICE}; {get_device}"
    )
    return text, Message(hint, without=without_ids(row), DEVICE=DEVICE, get_device=_get_device(row, ""))


def _to_the_device(row: Report, kind: str) -> str:
    """How MMEngine's get_device() comes to return `kind`."""
    command = f"sitepatch apply {DEVICE} --set device={kind}"
    if DEVICE not in row.patchsets:
        text = "{command}; in mmengine/device/utils.py, {get_device}"
        return Message(text, command=command, get_device=_get_device(row, kind))
    text = (
        "{DEVICE} is in force and says {said}: its option device is cpu, or torch knew no {kind} when "
        "asked. Import the vendor's package before the Runner is made, and {command}"
    )
    return Message(text, DEVICE=DEVICE, said=row.get_device or "cpu", kind=kind, command=command)


def without_ids(row: Report) -> str:
    """How DDP gets device_ids=None, by who names them now."""
    if row.ids_from == "config":
        return Message("the config names device_ids, and what it says wins: write device_ids=None in model_wrapper_cfg")
    if GUARD in row.patchsets or DEVICE in row.patchsets:
        return f"sitepatch apply {DEVICE} --set device_ids=none"
    return f"sitepatch apply {GUARD}"


def _get_device(row: Report, kind: str) -> str:
    """Why MMEngine's get_device() does not return `kind`."""
    since = dict(GET_DEVICE_KNOWS).get(kind)
    if since is None:
        kinds = [
            Message("{name} (from {since})", name=name, since=since) if since else name for name, since in GET_DEVICE_KNOWS
        ]
        text = "get_device knows {known}; {missing} never: they become cpu"
        return Message(text, known=joined(", ", kinds), missing=", ".join(GET_DEVICE_MISSES))
    if row.mmengine and since and version_numbers(row.mmengine) < version_numbers(since):
        return Message("get_device of MMEngine {row.mmengine} does not know it; {since} does", row=row, since=since)
    known = Message("{kind} from MMEngine {since}", kind=kind, since=since) if since else kind
    text = "get_device says {said}: the package of {kind} was imported after mmengine, or sees no device. It knows {known}"
    return Message(text, said=row.get_device or "cpu", kind=kind, known=known)


def version_numbers(version: str) -> Tuple[int, ...]:
    """The numbers of a version, to be compared."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdigit())


def on_several_devices(row: Report) -> Optional[Finding]:
    """The parameters are on several devices."""
    if len(device_names(row.parameters)) < 2:
        return None
    kinds = kinds_of(row.parameters)
    where = listed(kinds) if len(kinds) > 1 else Message("several {kind} devices", kind=kinds[0])
    text = _fewest(row, Message("the parameters are spread over {where}", where=where))
    if len(kinds) > 1:
        late = Message("{text}, as they were before MMEngine moved the model: it has a `to` of its own", text=text)
        hint = Message("DDP takes devices of one kind only: move all of the model, also what is built after it")
        return late if row.before == row.parameters else text, hint
    if row.device_ids:
        return text, Message("DDP takes such a model only with device_ids=None: {without}", without=without_ids(row))
    return text, Message("right only for a model that was split on purpose")


def _fewest(row: Report, text: Message) -> Message:
    """With the names of parameters on the device that has fewest of them."""
    if not row.places:
        return text
    counts = dict(row.parameters)
    device, names = min(row.places, key=lambda pair: (counts.get(pair[0], 0), pair[0] != "cpu"))
    number, total = counts.get(device, 0), sum(counts.values())
    shown = ", ".join([*names, *(["..."] if number > len(names) else [])])
    return Message(
        "{text}: {number} of {total} on {device} ({names})", text=text, number=number, total=total, device=device, names=shown
    )


def ids_elsewhere(row: Report) -> Optional[Finding]:
    """device_ids name another device than that of the parameters."""
    if not row.device_ids or len(device_names(row.parameters)) != 1 or on_cpu(row) or ids_match(row):
        return None
    text = Message("the parameters are on another device than device_ids name")
    if row.ids_from == "config":
        return text, Message("the config names device_ids: write there the device of each rank, or device_ids=None")
    own = Message("choose the device by LOCAL_RANK before the model is moved")
    more = "{own}; sitepatch apply {DEVICE} gives DDP the device that the parameters are on, and None for xla and mps"
    return text, own if DEVICE in row.patchsets else Message(more, own=own, DEVICE=DEVICE)


def buffers_elsewhere(row: Report) -> Optional[Finding]:
    """Buffers are on a device that no parameter is on."""
    if not device_names(row.parameters) or set(device_names(row.buffers)) <= set(device_names(row.parameters)):
        return None
    here, there = listed(kinds_of(row.parameters)), listed(kinds_of(row.buffers))
    hint = Message("a tensor that was registered after the model was moved, or moved by hand; DDP broadcasts the buffers")
    if there == here:
        return Message("buffers are on another device than the parameters"), hint
    return Message("the parameters are on {here}, buffers on {there}", here=here, there=there), hint


# what can be wrong about the wrapper -------------------------------------------------------------------------------------
def family(row: Report) -> str:
    """DDP, NONE where nothing is wrapped, `fsdp`, `deepspeed`, `colossalai`, or OTHER."""
    named = [name for word, name in _FAMILIES if word in row.wrapper]
    return (named or [NONE if row.wrapper == NONE else DDP if row.is_ddp else OTHER])[0]


def ids_for_cuda(row: Report) -> Optional[Finding]:
    """This torch takes device_ids for CUDA alone, and the model is on another kind of device."""
    old = () < version_numbers(row.torch) < _ANY_DEVICE
    kinds = kinds_of(row.parameters)
    if not row.device_ids or len(device_names(row.parameters)) != 1 or not old or kinds[0] in (*NO_DEVICE, "cuda"):
        return None
    text = "DDP of torch {row.torch} takes device_ids for CUDA alone, and refuses them for {kind}"
    return Message(text, row=row, kind=kinds[0]), without_ids(row)


def several_ids(row: Report) -> Optional[Finding]:
    """device_ids name several devices, of which this torch takes one."""
    if len(row.device_ids or ()) < 2 or () < version_numbers(row.torch) < _ONE_ID:
        return None
    text = Message("device_ids name several devices, and DDP takes one, from torch 1.9 on")
    return text, Message("one process for each device")


def not_distributed(row: Report) -> Optional[Finding]:
    """A launcher has started several processes, and each of them trains by itself."""
    if family(row) != NONE or (row.world_size or 1) < 2:
        return None
    text = Message("not distributed: nothing is wrapped, and each of the {row.world_size} processes trains alone", row=row)
    return text, Message("MMEngine is told of the launcher by launcher='pytorch' in the config, or --launcher pytorch")


def no_accelerator(row: Report) -> Optional[Finding]:
    """FSDP finds no accelerator, and needs one."""
    if family(row) != "fsdp" or not set(kinds_of(row.parameters)) <= set(NO_DEVICE) or accelerators(row):
        return None
    where = place(row.parameters)
    text = Message("FSDP needs an accelerator, and torch knows none; the parameters are on {where}", where=where)
    return text, Message("{imported}; on the CPU take DDPStrategy", imported=_IMPORT)


def accelerator_unused(row: Report) -> Optional[Finding]:
    """An accelerator is idle, and the model is trained on the CPU."""
    there, kind = accelerators(row), family(row)
    if not there or kind == "fsdp":
        return None
    if kind == "deepspeed" and row.deepspeed == "cpu":
        text = Message("DeepSpeed's own accelerator is cpu, and {kinds} stands idle", kinds=listed(there))
        return text, Message("the variable DS_ACCELERATOR, or the vendor's DeepSpeed")
    if kind == "colossalai" and not set(there) & set(_OF_COLOSSALAI):
        text = Message("ColossalAI knows {known}, and {kinds} stands idle", known=listed(_OF_COLOSSALAI), kinds=listed(there))
        return text, Message("the vendor's ColossalAI, or another strategy")
    return None if row.device_ids or kind in ("deepspeed", "colossalai") else never_moved(row)


def wrapper_note(row: Report) -> Finding:
    """What a wrapper that is not DDP does with the model."""
    here = Message("the parameters are on {where}", where=place(row.parameters))
    if family(row) == "fsdp":
        device = Message("the device that device_id names" if row.device_ids else "the accelerator that torch knows")
        return Message("{here}; FSDP shards them on {device}", here=here, device=device), ""
    if family(row) == "deepspeed":
        own = Message("its own accelerator")
        own = Message("its own accelerator, {row.deepspeed}", row=row) if row.deepspeed else own
        return Message("{here}; DeepSpeed moves them to the device of {own}", here=here, own=own), ""
    if family(row) == "colossalai":
        return Message("{here}; ColossalAI's booster moves them to the device of its own accelerator", here=here), ""
    text = "the model is wrapped in {wrapper}, which is not DDP: only where its parameters are was seen"
    hint = Message("nothing is said of what that wrapper itself refuses")
    return Message(text, wrapper=row.wrapper or Message("a wrapper")), hint
