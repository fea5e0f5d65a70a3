"""The reports of all ranks of a run -> conclusions, the most important first: where the models are, why, what to do. Pure.

A function that is named after something wrong returns what its message says, None where the report is not of that.

What DDP refuses differs by the releases of torch (torch/nn/parallel/distributed.py):

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from typing import (
    Callable,
    Collection,
    Iterable,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from patcher.diagnosis.report import Report
from patcher.message import Message, joined
from patcher.text.listed import listed, ranks

GUARD, DEVICE = "mmengine-ddp-device", "mmengine-device"
NO_DEVICE = ("cpu", "meta", "?")
_IN_EVERY_TORCH = ("cuda", "xpu", "mtia")  # a module of these means nothing until it is initialised
DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)

_Item = TypeVar("_Item")
_Group = TypeVar("_Group")
Finding = Tuple[str, str]  # what is wrong, and what to do


def device_names(devices: Sequence[tuple[str, int]]) -> list[str]:
    """The devices that hold a tensor."""
    return [device for device, count in devices if count]


def _devices_of_ids(row: Report) -> list[str]:
    """The devices that device_ids name; a bare number is a device of the kind that the parameters or the rank are on."""
    kinds = [
        device.partition(":")[0]
        for device in device_names(row.parameters)
        if device not in NO_DEVICE
    ]
    kinds += [kind for kind, index in row.current if index is not None]
    kind = (kinds or accelerators(row) or ["device"])[0]
    return [name if ":" in name else f"{kind}:{name}" for name in row.device_ids or ()]


def accelerators(row: Report) -> list[str]:
    """The accelerators of a rank. torch.cuda is there in every torch, so it counts only where it is initialised."""
    seen = [kind for kind, index in row.current if index is not None or kind not in _IN_EVERY_TORCH]
    return list(
        dict.fromkeys([*seen, *([row.get_device] if row.get_device not in ("", "cpu") else [])])
    )


def on_cpu(row: Report) -> bool:
    """Whether all parameters are on the CPU."""
    return device_names(row.parameters) == ["cpu"]


def _ids_match(row: Report) -> bool:
    """Whether all parameters are on the one device that device_ids name."""
    return (
        bool(row.device_ids)
        and device_names(row.parameters) == _devices_of_ids(row)
        and not on_cpu(row)
    )


def place(devices: Sequence[tuple[str, int]]) -> str:
    """The kinds of the devices that hold a tensor, as a text."""
    return listed(_kinds_of(devices)) or Message("no device")


def _kinds_of(devices: Sequence[tuple[str, int]]) -> list[str]:
    """The kinds of the devices that hold a tensor, sorted."""
    return sorted({device.partition(":")[0] for device in device_names(devices)})


# what can be wrong ----------------------------------------------------------------------------------------------------
def _moved_back(row: Report) -> Finding | None:
    # by kind: one sentence for all ranks
    was = listed([kind for kind in _kinds_of(row.before) if kind not in NO_DEVICE])
    if not (on_cpu(row) and was):
        return None
    text = "the model was on {was}, and `model = model.to(get_device())` in {place} moved it to the CPU"
    moved = Message(text, was=was, place=row.site.partition(" ")[0])
    refused = (
        Message("{text}, where DDP refuses the device_ids", text=moved) if row.device_ids else moved
    )
    return refused, _to_the_device(row, was)


def _never_moved(row: Report) -> Finding | None:
    if not on_cpu(row) or _moved_back(row):
        return None
    idle = accelerators(row)
    text = Message("the parameters are on the CPU: the model was never moved")
    text = (
        Message("{text} and device_ids name a device, which DDP refuses", text=text)
        if row.device_ids
        else text
    )
    if idle and row.get_device in idle:
        hint = (
            "MMEngine's get_device() says {row.get_device} here: look for code of yours that builds the model or wraps it "
            "after Runner has moved it, or a `to` of its own"
        )
        return text, Message(hint, row=row)
    if idle:
        return Message(
            "{text}; {kinds} stands idle", text=text, kinds=listed(idle)
        ), _to_the_device(row, idle[0])
    hint = (
        "if it is to train on the CPU: {without}. If not: import the vendor's package before mmengine, "
        "and sitepatch apply {DEVICE}"
    )
    return text, Message(hint, without=_without_ids(row), DEVICE=DEVICE)


def _to_the_device(row: Report, kind: str) -> str:
    """How MMEngine's get_device() comes to return `kind`."""
    command = f"sitepatch apply {DEVICE} --set device={kind}"
    if DEVICE not in row.patchsets:
        text = (
            "{command}; get_device() of MMEngine {release} says {said}: it does not know {kind}, or the package of {kind} "
            "was imported after mmengine"
        )
        said = row.get_device or "cpu"
        return Message(text, command=command, release=row.mmengine, said=said, kind=kind)
    text = (
        "{DEVICE} is in force and says {said}: its option device is cpu, or torch knew no {kind} when "
        "asked. Import the vendor's package before the Runner is made, and {command}"
    )
    return Message(text, DEVICE=DEVICE, said=row.get_device or "cpu", kind=kind, command=command)


def _without_ids(row: Report) -> str:
    """How DDP gets device_ids=None, by who names them now."""
    if row.ids_from == "config":
        return Message(
            "the config names device_ids, and what it says wins: write device_ids=None in model_wrapper_cfg"
        )
    if GUARD in row.patchsets or DEVICE in row.patchsets:
        return f"sitepatch apply {DEVICE} --set device_ids=none"
    return f"sitepatch apply {GUARD}"


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to be compared."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdigit())


def _on_several_devices(row: Report) -> Finding | None:
    if len(device_names(row.parameters)) < 2:
        return None
    kinds = _kinds_of(row.parameters)
    where = listed(kinds) if len(kinds) > 1 else Message("several {kind} devices", kind=kinds[0])
    text = _fewest(row, Message("the parameters are spread over {where}", where=where))
    if len(kinds) > 1:
        late = Message(
            "{text}, as they were before MMEngine moved the model: it has a `to` of its own",
            text=text,
        )
        hint = Message(
            "DDP takes devices of one kind only: move all of the model, also what is built after it"
        )
        return late if row.before == row.parameters else text, hint
    if row.device_ids:
        return text, Message(
            "DDP takes such a model only with device_ids=None: {without}", without=_without_ids(row)
        )
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
        "{text}: {number} of {total} on {device} ({names})",
        text=text,
        number=number,
        total=total,
        device=device,
        names=shown,
    )


def _ids_elsewhere(row: Report) -> Finding | None:
    if (
        not row.device_ids
        or len(device_names(row.parameters)) != 1
        or on_cpu(row)
        or _ids_match(row)
    ):
        return None
    text = Message("the parameters are on another device than device_ids name")
    if row.ids_from == "config":
        return text, Message(
            "the config names device_ids: write there the device of each rank, or device_ids=None"
        )
    own = Message("choose the device by LOCAL_RANK before the model is moved")
    more = "{own}; sitepatch apply {DEVICE} gives DDP the device that the parameters are on, and None for xla and mps"
    return text, own if DEVICE in row.patchsets else Message(more, own=own, DEVICE=DEVICE)


def _buffers_elsewhere(row: Report) -> Finding | None:
    if not device_names(row.parameters) or set(device_names(row.buffers)) <= set(
        device_names(row.parameters)
    ):
        return None
    here, there = listed(_kinds_of(row.parameters)), listed(_kinds_of(row.buffers))
    hint = Message(
        "a tensor that was registered after the model was moved, or moved by hand; DDP broadcasts the buffers"
    )
    if there == here:
        return Message("buffers are on another device than the parameters"), hint
    return Message("the parameters are on {here}, buffers on {there}", here=here, there=there), hint


# what can be wrong about the wrapper -------------------------------------------------------------------------------------
def family(row: Report) -> str:
    """DDP, NONE where nothing is wrapped, or OTHER."""
    if row.wrapper == NONE or (row.trains and (row.world_size or 1) < 2):
        return NONE
    return DDP if row.is_ddp else OTHER


def _ids_for_cuda(row: Report) -> Finding | None:
    old = () < version_numbers(row.torch) < _ANY_DEVICE
    kinds = _kinds_of(row.parameters)
    if (
        not row.device_ids
        or len(device_names(row.parameters)) != 1
        or not old
        or kinds[0] in (*NO_DEVICE, "cuda")
    ):
        return None
    text = "DDP of torch {row.torch} takes device_ids for CUDA alone, and refuses them for {kind}"
    return Message(text, row=row, kind=kinds[0]), _without_ids(row)


def _several_ids(row: Report) -> Finding | None:
    if len(row.device_ids or ()) < 2 or () < version_numbers(row.torch) < _ONE_ID:
        return None
    text = Message("device_ids name several devices, and DDP takes one, from torch 1.9 on")
    return text, Message("one process for each device")


def _not_distributed(row: Report) -> Finding | None:
    if family(row) != NONE or (row.world_size or 1) < 2:
        return None
    text = Message(
        "not distributed: nothing is wrapped, and each of the {row.world_size} processes trains alone",
        row=row,
    )
    return text, Message(
        "MMEngine is told of the launcher by launcher='pytorch' in the config, or --launcher pytorch"
    )


def _accelerator_unused(row: Report) -> Finding | None:
    """Other wrappers may move the model by themselves."""
    if not accelerators(row) or row.device_ids or family(row) == OTHER:
        return None
    return _never_moved(row)


def _other_wrapper(row: Report) -> Finding:
    text = "the model is wrapped in {wrapper}, which is not DDP: only where its parameters are was seen"
    hint = Message("nothing is said of what that wrapper itself does and refuses")
    return Message(text, wrapper=row.wrapper or Message("a wrapper")), hint


# what holds for ranks -------------------------------------------------------------------------------------------------
READY = "ready"
# else the kind in capitals
_VISIBLE = {
    "npu": "ASCEND_RT_VISIBLE_DEVICES",
    "gcu": "TOPS_VISIBLE_DEVICES",
}
_ONE_FOR_ALL = ("xla", "hpu")  # every process numbers its own devices from 0
_REFUSED = (
    Message(
        "the parameters are on the right device, and a refusal of device_ids is in the log all the same"
    ),
    Message(
        "from torch 1.7 on DDP refuses them only for parameters on the CPU or on several devices: it was another model, or "
        "one that you wrap yourself; the traceback above the refusal says where"
    ),
)
_UNMATERIALISED = (
    Message("some parameters have no values yet"),
    Message("they are on the meta device: materialise them first"),
)
_UNTRAINABLE = Message("no parameter asks for a gradient"), Message("DDP refuses such a model")
_UNKNOWN_IDS = (
    Message("device_ids could not be worked out"),
    Message("LOCAL_RANK is not set: start the ranks by torchrun"),
)
_UNREADABLE = (
    Message("the model could not be read completely"),
    Message("listing its parameters raises: see its named_parameters"),
)
# a code, the wrapper that it is about, what holds
_Check = Tuple[str, Optional[str], Callable[[Report], Optional[Finding]]]
_GRAVER: tuple[_Check, ...] = (
    ("moved-back", None, _moved_back),
    ("cpu-with-device-ids", DDP, lambda row: _never_moved(row) if row.device_ids else None),
    ("several-devices", DDP, _on_several_devices),
    ("several-device-ids", DDP, _several_ids),
    ("device-ids-elsewhere", DDP, _ids_elsewhere),
    ("device-ids-for-cuda", DDP, _ids_for_cuda),
    ("refused", DDP, lambda row: _REFUSED if _ids_match(row) and not _ids_for_cuda(row) else None),
    ("not-distributed", None, _not_distributed),
    ("accelerator-unused", None, _accelerator_unused),
    ("buffers-elsewhere", None, _buffers_elsewhere),
)
_LESSER: tuple[_Check, ...] = (
    (
        "not-materialised",
        DDP,
        lambda row: _UNMATERIALISED if "meta" in device_names(row.parameters) else None,
    ),
    (
        "no-trainable-parameters",
        DDP,
        lambda row: _UNTRAINABLE if row.is_complete and row.trainable == 0 else None,
    ),
    ("device-ids-unknown", None, lambda row: None if row.knows_ids else _UNKNOWN_IDS),
    ("model-unreadable", None, lambda row: None if row.is_complete else _UNREADABLE),
    (OTHER, OTHER, _other_wrapper),
)


class Conclusion(NamedTuple):
    """Something that holds for some ranks: `code` is a word of the reports or of ours, `hint` what can be done."""

    code: str
    ranks: tuple[int, ...]
    text: str
    hint: str


Refused = Collection[Optional[int]]
"""The ranks that DDP refused; with None one that the log does not name."""


def conclude(rows: Sequence[Report], refused: Refused) -> tuple[Conclusion, ...]:
    """What is wrong about one wrapping, the most important first; empty where nothing is."""
    between = (*_same_device(rows), *_differ(rows), *_missing(rows))
    return (*_checked(_GRAVER, rows, refused), *between, *_checked(_LESSER, rows))


def verdict(row: Report, conclusions: Sequence[Conclusion]) -> str:
    """The code of the most important one of these conclusions that is about a rank, READY where none is."""
    if row.rank is None:  # what holds for it is known by itself alone
        conclusions = _checked(_GRAVER + _LESSER, [row])
    codes = [
        conclusion.code
        for conclusion in conclusions
        if row.rank is None or row.rank in conclusion.ranks
    ]
    return (codes or [READY])[0]


def _checked(
    checks: Iterable[_Check], rows: Sequence[Report], refused: Refused = ()
) -> list[Conclusion]:
    """What holds for each of some ranks by itself: a conclusion for each message, with the ranks that it is about."""
    conclusions = []
    for code, wrapper, examine in checks:
        asked = [row for row in rows if wrapper in (None, family(row))]
        asked = [
            row for row in asked if code != "refused" or row.rank in refused or None in refused
        ]
        groups = groups_by(asked, examine)
        conclusions += [
            Conclusion(code, _ranks(group), *finding)
            for finding, group in groups.items()
            if finding
        ]
    return conclusions


def is_wrong(conclusions: Iterable[Conclusion]) -> bool:
    """Whether there is a conclusion besides the wrapper not being DDP."""
    return any(conclusion.code != OTHER for conclusion in conclusions)


# what holds between ranks ---------------------------------------------------------------------------------------------
def _card(row: Report) -> tuple[object, ...] | None:
    """The one card that a rank's parameters are on, as all ranks of its machine would call it.

    A machine has a name and, as far as that is known, a first rank.
    """
    names = device_names(row.parameters)
    kind, _, index = names[0].partition(":") if len(names) == 1 else ("", "", "")
    if not index.isdigit() or kind in (*NO_DEVICE, *_ONE_FOR_ALL):
        return None
    visible = dict(row.visible)
    chosen = [visible.get(_VISIBLE.get(kind, f"{kind.upper()}_VISIBLE_DEVICES"), "")]
    # ROCm's HIP numbers what is left by ROCR; both are unset where the cards are NVIDIA's
    if kind == "cuda":
        chosen = [
            visible.get("HIP_VISIBLE_DEVICES") or chosen[0],
            visible.get("ROCR_VISIBLE_DEVICES", ""),
        ]
    for cards in chosen:
        seen = [card.strip() for card in cards.split(",")] if cards else []
        index = seen[int(index)] if index.isdigit() and int(index) < len(seen) else index
    first = (
        row.rank - row.local_rank if row.rank is not None and row.local_rank is not None else None
    )
    return row.host, first, kind, index


def _same_device(rows: Sequence[Report]) -> list[Conclusion]:
    shared = [group for card, group in groups_by(rows, _card).items() if card and len(group) > 1]
    hint = Message(
        "each process must choose its own device by LOCAL_RANK before the model is moved"
    )
    if not all(row.host for group in shared for row in group):
        hint = Message("{hint}. Well if each rank sees one card only", hint=hint)
    text = "{number} ranks of one machine are on {device}"
    texts = [
        Message(text, number=len(group), device=device_names(group[0].parameters)[0])
        for group in shared
    ]
    return [
        Conclusion("same-device", _ranks(group), text, hint) for group, text in zip(shared, texts)
    ]


_FACTS: tuple[tuple[str, Callable[[Report], str]], ...] = (  # that must be the same for all ranks
    (Message("the kind of device"), lambda row: place(row.parameters)),
    (
        Message("the number of parameters"),
        lambda row: str(sum(count for _, count in row.parameters)),
    ),
    (Message("the number of buffers"), lambda row: str(sum(count for _, count in row.buffers))),
    (Message("how many parameters ask for a gradient"), lambda row: str(row.trainable)),
    ("device_ids", lambda row: Message("given") if row.device_ids else Message("none")),
    (
        Message("the wrapper"),
        lambda row: Message("{wrapper} in {row.site}", wrapper=row.wrapper or "DDP", row=row),
    ),
    (Message("the model"), lambda row: row.model),
    ("WORLD_SIZE", lambda row: str(row.world_size)),
)


def _differ(rows: Sequence[Report]) -> list[Conclusion]:
    """Where ranks differ in what must be the same for all; the conclusion names those that are not like the most."""
    conclusions = []
    hint = Message(
        "every rank must build the same model and wrap it in the same way, or DDP stops or hangs"
    )
    for name, fact in _FACTS:
        ordered = sorted(groups_by(rows, fact).items(), key=lambda pair: -len(pair[1]))
        if len(ordered) > 1:
            is_tie = len(ordered[0][1]) == len(ordered[1][1])
            odd = [row for _, group in ordered[0 if is_tie else 1 :] for row in group]
            values = [
                Message("{value} on {ranks}", value=value, ranks=_called(group))
                for value, group in ordered[:4]
            ]
            values += [Message("...")] if ordered[4:] else []
            text = Message("{name} differs: {values}", name=name, values=joined("; ", values))
            conclusions.append(Conclusion("ranks-differ", _ranks(odd), text, hint))
    return conclusions


def _missing(rows: Sequence[Report]) -> list[Conclusion]:
    size = max((row.world_size or 0 for row in rows), default=0)
    missing = sorted(set(range(min(size, 1 << 20))) - {row.rank for row in rows})
    unnamed = sum(row.rank is None for row in rows)
    if not missing or (unnamed and len(missing) <= unnamed):
        return []
    text = Message(
        "no report from {ranks}; {number} of {size} reported",
        ranks=ranks(missing),
        number=len(rows),
        size=size,
    )
    hint = Message(
        "they ended before the wrapping, or were ended by the launcher, or their logs are not among those read"
    )
    return [Conclusion("missing", tuple(missing), text, hint)]


# words ----------------------------------------------------------------------------------------------------------------
def _called(rows: Sequence[Report]) -> str:
    numbers = _ranks(rows)
    return ranks(numbers) if numbers else Message("a rank without number")


def groups_by(items: Iterable[_Item], key: Callable[[_Item], _Group]) -> dict[_Group, list[_Item]]:
    """Items that have the same key, in the order of the first ones."""
    groups: dict[_Group, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _ranks(rows: Iterable[Report]) -> tuple[int, ...]:
    return tuple(row.rank for row in rows if row.rank is not None)


def sentence(conclusion: Conclusion) -> str:
    """A conclusion in one line, with the ranks that it holds for."""
    if not conclusion.ranks:
        return conclusion.text
    return Message("{ranks}: {text}", ranks=ranks(conclusion.ranks), text=conclusion.text)
