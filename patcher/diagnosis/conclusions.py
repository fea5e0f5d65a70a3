"""The reports of all ranks of a run -> conclusions, the most important first. Pure.

They say where the models are, why, and what to do. A function named after a fault (`_moved_back`)
takes the report of one rank and returns what is wrong there and what to do; None if the report does
not show that fault.

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
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from patcher.diagnosis.report import Report
from patcher.message import Message, joined
from patcher.record import Record
from patcher.text.listed import listed, ranks

GUARD_PATCHSET, DEVICE_PATCHSET = "mmengine-ddp-device", "mmengine-device"
NO_DEVICE = ("cpu", "meta", "?")
_IN_EVERY_TORCH = ("cuda", "xpu", "mtia")
"""Accelerators whose module means nothing until it is initialised."""
DDP, NONE, OTHER = "DDP", "none", "other-wrapper"
_ANY_DEVICE = (1, 7)
"""The first torch whose DDP takes device_ids for other devices than CUDA's."""
_ONE_ID = (1, 9)
"""The first torch whose DDP refuses several device_ids."""
_MOST_RANKS = 1 << 20
_MOST_VALUES = 4  # by which ranks differ, in a sentence

_Item = TypeVar("_Item")
_Group = TypeVar("_Group")
Finding = Tuple[str, str]
"""What is wrong, and what to do."""


# where tensors are --------------------------------------------------------------------------------
def device_names(devices: Sequence[tuple[str, int]]) -> list[str]:
    """The devices that hold a tensor."""
    return [device for device, count in devices if count]


def kinds_text(devices: Sequence[tuple[str, int]]) -> str:
    """The kinds of the devices that hold a tensor, listed in words."""
    return listed(_kinds_of(devices)) or Message("no device")


def _kinds_of(devices: Sequence[tuple[str, int]]) -> list[str]:
    """The kinds of the devices that hold a tensor, sorted."""
    return sorted({_kind(device) for device in device_names(devices)})


def _kind(device: str) -> str:
    """The kind of a device: `musa` of `musa:0`."""
    return device.partition(":")[0]


def _parameters(report: Report) -> list[str]:
    """The devices that hold a parameter."""
    return device_names(report.tensors.parameters)


def _parameter_kinds(report: Report) -> list[str]:
    """The kinds of the devices that hold a parameter, sorted."""
    return _kinds_of(report.tensors.parameters)


def on_cpu(report: Report) -> bool:
    """Whether all parameters are on the CPU."""
    return _parameters(report) == ["cpu"]


def accelerators(report: Report) -> list[str]:
    """The accelerators of a rank.

    torch.cuda is there in every torch, so it counts only where it is initialised.
    """
    kinds: list[str] = []
    for kind, index in report.setup.current:
        if index is not None or kind not in _IN_EVERY_TORCH:
            kinds.append(kind)
    if report.setup.get_device not in ("", "cpu"):
        kinds.append(report.setup.get_device)
    return list(dict.fromkeys(kinds))


def _devices_of_ids(report: Report) -> list[str]:
    """The devices that device_ids name.

    A bare number is a device of the kind that the parameters or the rank are on.
    """
    kinds = [_kind(device) for device in _parameters(report) if device not in NO_DEVICE]
    kinds += [kind for kind, index in report.setup.current if index is not None]
    kinds += [*accelerators(report), "device"]
    names = report.device_ids.names or ()
    return [name if ":" in name else f"{kinds[0]}:{name}" for name in names]


def _ids_match(report: Report) -> bool:
    """Whether all parameters are on the one device that device_ids name."""
    if not report.device_ids.names or on_cpu(report):
        return False
    return _parameters(report) == _devices_of_ids(report)


# a model on the CPU -------------------------------------------------------------------------------
def _moved_back(report: Report) -> Finding | None:
    # by kind: one sentence for all ranks
    was = listed([kind for kind in _kinds_of(report.tensors.before) if kind not in NO_DEVICE])
    if not was or not on_cpu(report):
        return None
    template = (
        "the model was on {was}, "
        "and `model = model.to(get_device())` in {place} moved it to the CPU"
    )
    text = Message(template, was=was, place=report.wrapping.site.partition(" ")[0])
    if report.device_ids.names:
        text = Message("{text}, where DDP refuses the device_ids", text=text)
    return text, _to_the_device(report, was)


def _never_moved(report: Report) -> Finding | None:
    if not on_cpu(report) or _moved_back(report):
        return None
    text = Message("the parameters are on the CPU: the model was never moved")
    if report.device_ids.names:
        text = Message("{text} and device_ids name a device, which DDP refuses", text=text)

    idle = accelerators(report)
    if not idle:
        hint = (
            "if it is to train on the CPU: {without}. If not: import the vendor's package "
            "before mmengine, and sitepatch apply {DEVICE}"
        )
        return text, Message(hint, without=_without_ids(report), DEVICE=DEVICE_PATCHSET)
    if report.setup.get_device in idle:
        hint = (
            "MMEngine's get_device() says {device} here: look for code of yours that builds "
            "the model or wraps it after Runner has moved it, or a `to` of its own"
        )
        return text, Message(hint, device=report.setup.get_device)
    text = Message("{text}; {kinds} stands idle", text=text, kinds=listed(idle))
    return text, _to_the_device(report, idle[0])


def _to_the_device(report: Report, kind: str) -> str:
    """How MMEngine's get_device() comes to return `kind`."""
    command = f"sitepatch apply {DEVICE_PATCHSET} --set device={kind}"
    said = report.setup.get_device or "cpu"
    if DEVICE_PATCHSET in report.setup.patchsets:
        template = (
            "{DEVICE} is in force and says {said}: its option device is cpu, or torch knew no "
            "{kind} when asked. Import the vendor's package before the Runner is made, "
            "and {command}"
        )
        return Message(template, DEVICE=DEVICE_PATCHSET, said=said, kind=kind, command=command)
    template = (
        "{command}; get_device() of MMEngine {release} says {said}: it does not know {kind}, "
        "or the package of {kind} was imported after mmengine"
    )
    release = report.setup.mmengine
    return Message(template, command=command, release=release, said=said, kind=kind)


def _without_ids(report: Report) -> str:
    """How DDP gets device_ids=None, by who names them now."""
    if report.device_ids.source == "config":
        return Message(
            "the config names device_ids, and what it says wins: "
            "write device_ids=None in model_wrapper_cfg"
        )
    if GUARD_PATCHSET in report.setup.patchsets or DEVICE_PATCHSET in report.setup.patchsets:
        return f"sitepatch apply {DEVICE_PATCHSET} --set device_ids=none"
    return f"sitepatch apply {GUARD_PATCHSET}"


def _accelerator_unused(report: Report) -> Finding | None:
    """The model is on the CPU though the rank has an accelerator."""
    if not accelerators(report) or report.device_ids.names:
        return None
    if family(report) == OTHER:  # it may move the model itself
        return None
    return _never_moved(report)


# a model on several devices -----------------------------------------------------------------------
def _on_several_devices(report: Report) -> Finding | None:
    if len(_parameters(report)) < 2:
        return None
    kinds = _parameter_kinds(report)
    where = listed(kinds) if len(kinds) > 1 else Message("several {kind} devices", kind=kinds[0])
    text = _with_strays(report, Message("the parameters are spread over {where}", where=where))
    if len(kinds) > 1:
        hint = Message(
            "DDP takes devices of one kind only: move all of the model, also what is built after it"
        )
        if report.tensors.before == report.tensors.parameters:
            template = (
                "{text}, as they were before MMEngine moved the model: it has a `to` of its own"
            )
            text = Message(template, text=text)
        return text, hint
    if report.device_ids.names:
        template = "DDP takes such a model only with device_ids=None: {without}"
        return text, Message(template, without=_without_ids(report))
    return text, Message("right only for a model that was split on purpose")


def _with_strays(report: Report, text: Message) -> Message:
    """A message, extended by the parameters on the device that has the fewest of them."""
    if not report.tensors.places:
        return text
    counts = dict(report.tensors.parameters)

    def parameters_on(place: tuple[str, Sequence[str]]) -> tuple[int, bool]:
        device, _ = place
        return counts.get(device, 0), device != "cpu"

    device, names = min(report.tensors.places, key=parameters_on)
    number = counts.get(device, 0)
    shown = list(names)
    if number > len(names):
        shown.append("...")
    return Message(
        "{text}: {number} of {total} on {device} ({names})",
        text=text,
        number=number,
        total=sum(counts.values()),
        device=device,
        names=", ".join(shown),
    )


def _buffers_elsewhere(report: Report) -> Finding | None:
    parameters = set(_parameters(report))
    if not parameters or parameters.issuperset(device_names(report.tensors.buffers)):
        return None
    hint = Message(
        "a tensor that was registered after the model was moved, or moved by hand; "
        "DDP broadcasts the buffers"
    )
    here = listed(_parameter_kinds(report))
    there = listed(_kinds_of(report.tensors.buffers))
    if there == here:
        return Message("buffers are on another device than the parameters"), hint
    return Message("the parameters are on {here}, buffers on {there}", here=here, there=there), hint


# device_ids ---------------------------------------------------------------------------------------
def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to be compared."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdigit())


def _is_before(report: Report, version: tuple[int, ...]) -> bool:
    """Whether the torch of a rank is older than a release; False if its version is not known."""
    numbers = version_numbers(report.setup.torch)
    return bool(numbers) and numbers < version


def _ids_elsewhere(report: Report) -> Finding | None:
    if not report.device_ids.names or len(_parameters(report)) != 1:
        return None
    if on_cpu(report) or _ids_match(report):
        return None
    text = Message("the parameters are on another device than device_ids name")
    if report.device_ids.source == "config":
        hint = Message(
            "the config names device_ids: write there the device of each rank, or device_ids=None"
        )
        return text, hint
    hint = Message("choose the device by LOCAL_RANK before the model is moved")
    if DEVICE_PATCHSET not in report.setup.patchsets:
        template = (
            "{own}; sitepatch apply {DEVICE} gives DDP the device that the parameters are on, "
            "and None for xla and mps"
        )
        hint = Message(template, own=hint, DEVICE=DEVICE_PATCHSET)
    return text, hint


def _ids_for_cuda(report: Report) -> Finding | None:
    if not report.device_ids.names or len(_parameters(report)) != 1:
        return None
    (kind,) = _parameter_kinds(report)
    if kind in (*NO_DEVICE, "cuda") or not _is_before(report, _ANY_DEVICE):
        return None
    template = "DDP of torch {torch} takes device_ids for CUDA alone, and refuses them for {kind}"
    return Message(template, torch=report.setup.torch, kind=kind), _without_ids(report)


def _several_ids(report: Report) -> Finding | None:
    if len(report.device_ids.names or ()) < 2 or _is_before(report, _ONE_ID):
        return None
    text = Message("device_ids name several devices, and DDP takes one, from torch 1.9 on")
    return text, Message("one process for each device")


def _refused(report: Report) -> Finding | None:
    """DDP refused the rank although nothing in its report says why.

    Only for ranks of which a log has the refusal (see `_checked`).
    """
    if not _ids_match(report) or _ids_for_cuda(report):
        return None
    text = Message(
        "the parameters are on the right device, "
        "and a refusal of device_ids is in the log all the same"
    )
    hint = Message(
        "from torch 1.7 on DDP refuses them only for parameters on the CPU or on several "
        "devices: it was another model, or one that you wrap yourself; "
        "the traceback above the refusal says where"
    )
    return text, hint


def _unknown_ids(report: Report) -> Finding | None:
    if report.device_ids.are_known:
        return None
    text = Message("device_ids could not be worked out")
    return text, Message("LOCAL_RANK is not set: start the ranks by torchrun")


# the wrapper and the model ------------------------------------------------------------------------
def family(report: Report) -> str:
    """DDP, NONE where nothing is wrapped, or OTHER."""
    is_alone = report.wrapping.trains and (report.process.world_size or 1) < 2
    if is_alone or report.wrapping.wrapper == NONE:
        return NONE
    return DDP if report.wrapping.is_ddp else OTHER


def _not_distributed(report: Report) -> Finding | None:
    size = report.process.world_size or 1
    if family(report) != NONE or size < 2:
        return None
    template = "not distributed: nothing is wrapped, and each of the {size} processes trains alone"
    hint = Message(
        "MMEngine is told of the launcher by launcher='pytorch' in the config, "
        "or --launcher pytorch"
    )
    return Message(template, size=size), hint


def _other_wrapper(report: Report) -> Finding:
    template = (
        "the model is wrapped in {wrapper}, which is not DDP: "
        "only where its parameters are was seen"
    )
    hint = Message("nothing is said of what that wrapper itself does and refuses")
    return Message(template, wrapper=report.wrapping.wrapper or Message("a wrapper")), hint


def _not_materialised(report: Report) -> Finding | None:
    if "meta" not in _parameters(report):
        return None
    text = Message("some parameters have no values yet")
    return text, Message("they are on the meta device: materialise them first")


def _not_trainable(report: Report) -> Finding | None:
    if not report.tensors.is_complete or report.tensors.trainable != 0:
        return None
    text = Message("no parameter asks for a gradient")
    return text, Message("DDP refuses such a model")


def _unreadable(report: Report) -> Finding | None:
    if report.tensors.is_complete:
        return None
    text = Message("the model could not be read completely")
    return text, Message("listing its parameters raises: see its named_parameters")


# what holds for ranks -----------------------------------------------------------------------------
READY = "ready"
_Check = Tuple[str, Optional[str], Callable[[Report], Optional[Finding]]]
"""A code, the wrapper that it is about (None for any), and what holds."""
_SERIOUS: tuple[_Check, ...] = (
    ("moved-back", None, _moved_back),
    (
        "cpu-with-device-ids",
        DDP,
        lambda report: _never_moved(report) if report.device_ids.names else None,
    ),
    ("several-devices", DDP, _on_several_devices),
    ("several-device-ids", DDP, _several_ids),
    ("device-ids-elsewhere", DDP, _ids_elsewhere),
    ("device-ids-for-cuda", DDP, _ids_for_cuda),
    ("refused", DDP, _refused),
    ("not-distributed", None, _not_distributed),
    ("accelerator-unused", None, _accelerator_unused),
    ("buffers-elsewhere", None, _buffers_elsewhere),
)
_MINOR: tuple[_Check, ...] = (
    ("not-materialised", DDP, _not_materialised),
    ("no-trainable-parameters", DDP, _not_trainable),
    ("device-ids-unknown", None, _unknown_ids),
    ("model-unreadable", None, _unreadable),
    (OTHER, OTHER, _other_wrapper),
)


class Conclusion(Record):
    """Something that holds for some ranks.

    Attributes:
        code: its short name.
        ranks: the ranks it is about.
        text: in words.
        hint: what to do.
    """

    code: str
    ranks: tuple[int, ...]
    text: str
    hint: str


Refused = Collection[Optional[int]]
"""The ranks that DDP refused; with None one that the log does not name."""


def conclude(reports: Sequence[Report], refused: Refused) -> tuple[Conclusion, ...]:
    """What is wrong about one wrapping, the most important first; empty where nothing is."""
    return (
        *_checked(_SERIOUS, reports, refused),
        *_same_device(reports),
        *_differ(reports),
        *_missing(reports),
        *_checked(_MINOR, reports),
    )


def verdict(report: Report, conclusions: Sequence[Conclusion]) -> str:
    """The code of the most important one of the conclusions about a rank, READY for none."""
    if report.rank is None:  # conclusions name ranks: its own are drawn from it alone
        conclusions = _checked(_SERIOUS + _MINOR, [report])
    for conclusion in conclusions:
        if report.rank is None or report.rank in conclusion.ranks:
            return conclusion.code
    return READY


def _checked(
    checks: Iterable[_Check], reports: Sequence[Report], refused: Refused = ()
) -> list[Conclusion]:
    """What each rank's report shows by itself: a conclusion for each message, with its ranks."""
    conclusions = []
    for code, wrapper, examine in checks:
        asked = [report for report in reports if wrapper in (None, family(report))]
        if code == "refused" and None not in refused:
            asked = [report for report in asked if report.rank in refused]
        for finding, group in groups_by(asked, examine).items():
            if finding:
                text, hint = finding
                conclusions.append(Conclusion(code, _ranks(group), text=text, hint=hint))
    return conclusions


def is_wrong(conclusions: Iterable[Conclusion]) -> bool:
    """Whether anything is wrong; that the wrapper is not DDP is not."""
    return any(conclusion.code != OTHER for conclusion in conclusions)


# what holds between ranks -------------------------------------------------------------------------
_VISIBLE = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "gcu": "TOPS_VISIBLE_DEVICES"}
"""The variables that choose devices, by kind; else the kind in capitals."""
_ONE_FOR_ALL = ("xla", "hpu")
"""Kinds of which every process numbers its own devices from 0."""


def _same_device(reports: Sequence[Report]) -> list[Conclusion]:
    """The ranks of a machine that share a card."""
    shared = []
    for card, group in groups_by(reports, _card).items():
        if card and len(group) > 1:
            shared.append(group)
    hint = Message(
        "each process must choose its own device by LOCAL_RANK before the model is moved"
    )
    if not all(report.process.host for group in shared for report in group):
        hint = Message("{hint}. Well if each rank sees one card only", hint=hint)

    conclusions = []
    for group in shared:
        device = _parameters(group[0])[0]
        template = "{number} ranks of one machine are on {device}"
        text = Message(template, number=len(group), device=device)
        conclusions.append(Conclusion("same-device", _ranks(group), text=text, hint=hint))
    return conclusions


def _card(report: Report) -> tuple[object, ...] | None:
    """The one card that a rank's parameters are on, as all ranks of its machine would name it.

    A machine is known by its name and, if that is known, by its first rank: hosts may share a name.

    Returns:
        the host, its first rank, the kind of device and its number; None without one card.
    """
    names = _parameters(report)
    if len(names) != 1:
        return None
    kind, _, index = names[0].partition(":")
    if not index.isdigit() or kind in (*NO_DEVICE, *_ONE_FOR_ALL):
        return None

    first_rank = None
    if report.rank is not None and report.process.local_rank is not None:
        first_rank = report.rank - report.process.local_rank
    return report.process.host, first_rank, kind, _physical_number(report, kind, index)


def _physical_number(report: Report, kind: str, index: str) -> str:
    """The number of a card before variables such as CUDA_VISIBLE_DEVICES renumber the cards."""
    number = index
    for visible in _visible_cards(report, kind):
        cards = [card.strip() for card in visible.split(",")] if visible else []
        if number.isdigit() and int(number) < len(cards):
            number = cards[int(number)]
    return number


def _visible_cards(report: Report, kind: str) -> list[str]:
    """The values of the variables that choose cards; each numbers what the next one leaves."""
    visible = dict(report.setup.visible)
    chosen = visible.get(_VISIBLE.get(kind, f"{kind.upper()}_VISIBLE_DEVICES"), "")
    if kind != "cuda":
        return [chosen]
    # ROCm's HIP numbers what is left by ROCR; both are unset where the cards are NVIDIA's
    hip = visible.get("HIP_VISIBLE_DEVICES") or chosen
    return [hip, visible.get("ROCR_VISIBLE_DEVICES", "")]


def _wrapper(report: Report) -> str:
    template = "{wrapper} in {site}"
    return Message(template, wrapper=report.wrapping.wrapper or "DDP", site=report.wrapping.site)


def _total(devices: Sequence[tuple[str, int]]) -> str:
    return str(sum(count for _, count in devices))


_FACTS: tuple[tuple[str, Callable[[Report], str]], ...] = (
    (Message("the kind of device"), lambda report: kinds_text(report.tensors.parameters)),
    (Message("the number of parameters"), lambda report: _total(report.tensors.parameters)),
    (Message("the number of buffers"), lambda report: _total(report.tensors.buffers)),
    (
        Message("how many parameters ask for a gradient"),
        lambda report: str(report.tensors.trainable),
    ),
    (
        "device_ids",
        lambda report: Message("given") if report.device_ids.names else Message("none"),
    ),
    (Message("the wrapper"), _wrapper),
    (Message("the model"), lambda report: report.wrapping.model),
    ("WORLD_SIZE", lambda report: str(report.process.world_size)),
)
"""What must be the same for all ranks."""


def _differ(reports: Sequence[Report]) -> list[Conclusion]:
    """Where ranks differ in what must be the same for all.

    A conclusion names the ranks that are not like most; all of them if there is no majority.
    """
    conclusions = []
    hint = Message(
        "every rank must build the same model and wrap it in the same way, or DDP stops or hangs"
    )
    for name, fact in _FACTS:
        groups = sorted(groups_by(reports, fact).items(), key=lambda pair: -len(pair[1]))
        if len(groups) < 2:
            continue
        values: list[str] = []
        for value, group in groups[:_MOST_VALUES]:
            values.append(Message("{value} on {ranks}", value=value, ranks=_named_ranks(group)))
        if len(groups) > _MOST_VALUES:
            values.append(Message("..."))
        text = Message("{name} differs: {values}", name=name, values=joined("; ", values))

        sizes = [len(group) for _, group in groups]
        has_majority = sizes[0] > sizes[1]
        odd: list[Report] = []
        for _, group in groups[1:] if has_majority else groups:
            odd += group
        conclusions.append(Conclusion("ranks-differ", _ranks(odd), text=text, hint=hint))
    return conclusions


def _missing(reports: Sequence[Report]) -> list[Conclusion]:
    """The ranks of which there is no report."""
    size = max((report.process.world_size or 0 for report in reports), default=0)
    reported = {report.rank for report in reports}
    missing = [rank for rank in range(min(size, _MOST_RANKS)) if rank not in reported]
    if not missing:
        return []
    unnamed = sum(report.rank is None for report in reports)
    if unnamed and len(missing) <= unnamed:  # each may be one without a number
        return []
    template = "no report from {ranks}; {number} of {size} reported"
    text = Message(template, ranks=ranks(missing), number=len(reports), size=size)
    hint = Message(
        "they ended before the wrapping, or were ended by the launcher, "
        "or their logs are not among those read"
    )
    return [Conclusion("missing", tuple(missing), text=text, hint=hint)]


# words --------------------------------------------------------------------------------------------
def sentence(conclusion: Conclusion) -> str:
    """A conclusion in one line, with the ranks that it holds for."""
    if not conclusion.ranks:
        return conclusion.text
    return Message("{ranks}: {text}", ranks=ranks(conclusion.ranks), text=conclusion.text)


def _named_ranks(reports: Sequence[Report]) -> str:
    """The ranks of some reports in words."""
    numbers = _ranks(reports)
    return ranks(numbers) if numbers else Message("a rank without number")


def _ranks(reports: Iterable[Report]) -> tuple[int, ...]:
    return tuple(report.rank for report in reports if report.rank is not None)


def groups_by(items: Iterable[_Item], key: Callable[[_Item], _Group]) -> dict[_Group, list[_Item]]:
    """Items by their key; the keys in the order in which they first occur."""
    groups: dict[_Group, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
