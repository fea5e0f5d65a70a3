"""What the reports of all ranks of a run mean, in words: conclusions, the most important first. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnose.report import Devices, Report
from patcher.diagnose.runs import Run, Wrap

DEVICE_PATCH = "sitepatch apply mmengine-ddp-device"
KNOWN = (("cuda", ""), ("mlu", ""), ("mps", ""), ("npu", "0.3.0"), ("dipu", "0.7.4"), ("musa", "0.10.3"))  # by get_device
UNKNOWN = ("gcu", "xpu", "xla", "hpu")  # to get_device of every MMEngine: the model stays on the CPU
_VISIBLE = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "gcu": "TOPS_VISIBLE_DEVICES"}  # else the kind in capitals
_NO_DEVICE = ("cpu", "meta", "?")
_ONE_FOR_ALL = ("xla",)  # every process numbers its own devices from 0


class Conclusion(NamedTuple):
    """Something that holds for some ranks: `code` is a word of the reports or of ours, `hint` what can be done."""

    code: str
    ranks: Tuple[int, ...]
    text: str
    hint: str


# one rank -------------------------------------------------------------------------------------------------------------
def names(devices: Devices) -> List[str]:
    """The devices that hold something, without how much."""
    return [device for device, count in devices if count]


def target(row: Report) -> List[str]:
    """The devices that device_ids name; a bare number is a device of the kind that the parameters or the rank are on."""
    kinds = [device.partition(":")[0] for device in names(row.parameters) if device not in _NO_DEVICE]
    kinds += [kind for kind, index in row.current if index is not None]
    kind = (kinds or accelerators(row) or ["device"])[0]
    return [each if ":" in each else f"{kind}:{each}" for each in row.device_ids or ()]


def accelerators(row: Report) -> List[str]:
    """The accelerators of a rank. torch.cuda is there in every torch, so it counts only where it is initialised."""
    there = [kind for kind, index in row.current if index is not None or kind != "cuda"]
    said = [row.get_device] if row.get_device not in ("", "cpu") else []
    return list(dict.fromkeys(there + said))


def _on_cpu(row: Report) -> bool:
    return names(row.parameters) == ["cpu"]


def _right(row: Report) -> bool:
    """Whether all parameters are on the one device that device_ids name."""
    return bool(row.device_ids) and names(row.parameters) == target(row) and not _on_cpu(row)


def _kinds(devices: Devices) -> List[str]:
    """The kinds of the devices that hold something."""
    return sorted({device.partition(":")[0] for device in names(devices)})


def _idle(row: Report) -> bool:
    return _on_cpu(row) and not row.device_ids and bool(accelerators(row))


def _buffers_elsewhere(row: Report) -> bool:
    return bool(names(row.parameters)) and not set(names(row.buffers)) <= set(names(row.parameters))


# what holds for ranks -------------------------------------------------------------------------------------------------
_Words = Tuple[str, str]  # what is said, and what to do
_ELSEWHERE = (
    "the parameters are on another device than device_ids name",
    f"choose the device by LOCAL_RANK before the model is moved; for xla and mps: {DEVICE_PATCH}",
)
_REFUSED = (
    "the parameters are on the right device and DDP refuses all the same: look at the device_ids logic",
    f"it takes such a model with device_ids=None: {DEVICE_PATCH}, or say so in model_wrapper_cfg",
)


def conclude(wrap: Wrap, run: Run) -> Tuple[Conclusion, ...]:
    """All that is to be said about one wrapping, the most important first; empty where all is well."""
    rows = wrap.rows
    found = [
        *_told(rows, "cpu-with-device-ids", lambda row: _on_cpu(row) and bool(row.device_ids), _stayed),
        *_told(rows, "several-devices", lambda row: len(names(row.parameters)) > 1, _spread),
        *_told(rows, "device-ids-elsewhere", _points_elsewhere, lambda row: _ELSEWHERE),
        *_told(rows, "refused", lambda row: _right(row) and _was_refused(row, run), lambda row: _REFUSED),
        *_told(rows, "accelerator-unused", _idle, _stayed),
        *_told(rows, "buffers-elsewhere", _buffers_elsewhere, _buffers),
        *_same_device(rows),
        *_differ(rows),
        *_missing(rows),
        *_other_warnings(rows),
    ]
    return tuple(found)


def _told(
    rows: Sequence[Report], code: str, holds: Callable[[Report], bool], words: Callable[[Report], _Words]
) -> List[Conclusion]:
    """A conclusion for each wording that the ranks which it holds for ask for."""
    by_words: Dict[Tuple[str, str], List[Report]] = {}
    for row in rows:
        if holds(row):
            by_words.setdefault(words(row), []).append(row)
    return [Conclusion(code, _ranks(some), text, hint) for (text, hint), some in by_words.items()]


def _stayed(row: Report) -> _Words:
    """Why a model is still on the CPU."""
    there = accelerators(row)
    refusing = " and device_ids name a device, which DDP refuses" if row.device_ids else ""
    text = f"the parameters are on the CPU: the model was never moved{refusing}"
    if there and row.get_device in there:
        return text, (
            f"MMEngine's get_device() says {row.get_device} here: look for code of yours that builds the model or wraps it "
            "after Runner has moved it, or a `to` of its own"
        )
    if there:
        return text, f"there is {_list(there)}; look at mmengine/device/utils.py: {_get_device(row, there[0])}"
    return text, (
        f"if it is to train on the CPU: {DEVICE_PATCH}. If not: import the vendor's package (torch_musa, torch_npu, "
        f"torch_gcu) before mmengine, and look at mmengine/device/utils.py: {_get_device(row, '')}"
    )


def _get_device(row: Report, kind: str) -> str:
    known = ", ".join(name + (f" (from {since})" if since else "") for name, since in KNOWN)
    since = dict(KNOWN).get(kind, "")
    if kind in dict(KNOWN) and row.mmengine and since and release(row.mmengine) < release(since):
        return f"get_device of MMEngine {row.mmengine} does not know it; {since} does"
    if kind in dict(KNOWN):
        return (
            f"get_device says {row.get_device or 'cpu'}: the package of {kind} was imported after mmengine, or sees no "
            f"device. It knows {kind}" + (f" from MMEngine {since}" if since else "")
        )
    return f"get_device knows {known}; {', '.join(UNKNOWN)} never: they become cpu"


def release(version: str) -> Tuple[int, ...]:
    """The numbers of a version, to be compared."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdigit())


def _spread(row: Report) -> _Words:
    kinds = _kinds(row.parameters)
    text = f"the parameters are spread over {_list(kinds) if len(kinds) > 1 else f'several {kinds[0]} devices'}"
    if len(kinds) > 1:
        return text, "DDP takes devices of one kind only: move all of the model, also what is built after it"
    if row.device_ids:
        return text, f"DDP takes such a model only with device_ids=None. {DEVICE_PATCH}"
    return text, "right only for a model that was split on purpose"


def _buffers(row: Report) -> _Words:
    there, here = _kinds(row.buffers), _kinds(row.parameters)
    text = "buffers are on another device than the parameters"
    hint = "a tensor that was registered after the model was moved, or moved by hand; DDP broadcasts the buffers"
    return (text if there == here else f"the parameters are on {_list(here)}, buffers on {_list(there)}"), hint


def _points_elsewhere(row: Report) -> bool:
    return bool(row.device_ids) and len(names(row.parameters)) == 1 and not _on_cpu(row) and not _right(row)


def _was_refused(row: Report, run: Run) -> bool:
    return row.rank in run.refusals or (None in run.refusals)


# what holds between ranks ---------------------------------------------------------------------------------------------
def node(row: Report) -> Tuple[str, Optional[int]]:
    """What ranks of one machine have in common: its name, and the rank of its first process as far as that is known."""
    first = row.rank - row.local_rank if row.rank is not None and row.local_rank is not None else None
    return row.host, first


def _card(row: Report) -> Optional[Tuple[object, ...]]:
    """The one card that a rank's parameters are on, as all ranks of its machine would call it."""
    found = names(row.parameters)
    kind, _, index = found[0].partition(":") if len(found) == 1 else ("", "", "")
    if not index.isdigit() or kind in (*_NO_DEVICE, *_ONE_FOR_ALL):
        return None
    visible = dict(row.visible).get(_VISIBLE.get(kind, f"{kind.upper()}_VISIBLE_DEVICES"), "")
    seen = [each.strip() for each in visible.split(",")] if visible else []
    return (*node(row), kind, seen[int(index)] if int(index) < len(seen) else index)


def _same_device(rows: Sequence[Report]) -> List[Conclusion]:
    found: Dict[Tuple[object, ...], List[Report]] = {}
    for row in rows:
        card = _card(row)
        if card is not None:
            found.setdefault(card, []).append(row)
    shared = [some for some in found.values() if len(some) > 1]
    doubt = "" if all(row.host for some in shared for row in some) else ". Well if each rank sees one card only"
    hint = "each process must choose its own device by LOCAL_RANK before the model is moved" + doubt
    texts = [f"{len(some)} ranks of one machine are on {names(some[0].parameters)[0]}" for some in shared]
    return [Conclusion("same-device", _ranks(some), text, hint) for some, text in zip(shared, texts)]


def _differ(rows: Sequence[Report]) -> List[Conclusion]:
    """Where ranks differ in what must be the same for all; the conclusion names those that are not like the most."""
    facts: Tuple[Tuple[str, Callable[[Report], str]], ...] = (
        ("the kind of device", lambda row: _list(_kinds(row.parameters)) or "none"),
        ("the number of parameters", lambda row: str(sum(count for _, count in row.parameters))),
        ("the number of buffers", lambda row: str(sum(count for _, count in row.buffers))),
        ("how many parameters ask for a gradient", lambda row: str(row.trainable)),
        ("device_ids", lambda row: "given" if row.device_ids else "none"),
        ("the wrapper", lambda row: f"{row.wrapper or 'DDP'} in {row.site}"),
        ("the model", lambda row: row.model),
        ("WORLD_SIZE", lambda row: str(row.world_size)),
    )
    found = []
    for what, fact in facts:
        groups: Dict[str, List[Report]] = {}
        for row in rows:
            groups.setdefault(fact(row), []).append(row)
        if len(groups) > 1:
            ordered = sorted(groups.items(), key=lambda pair: -len(pair[1]))
            tie = len(ordered[0][1]) == len(ordered[1][1])
            odd = [row for _, some in ordered[0 if tie else 1 :] for row in some]
            told = "; ".join(f"{value} on {_called(some)}" for value, some in ordered[:4]) + ("; ..." if ordered[4:] else "")
            hint = "every rank must build the same model and wrap it in the same way, or DDP stops or hangs"
            found.append(Conclusion("ranks-differ", _ranks(odd), f"{what} differs: {told}", hint))
    return found


def _missing(rows: Sequence[Report]) -> List[Conclusion]:
    size = max((row.world_size or 0 for row in rows), default=0)
    missing = sorted(set(range(min(size, 1 << 20))) - {row.rank for row in rows})
    unnamed = sum(row.rank is None for row in rows)
    if not missing or (unnamed and len(missing) <= unnamed):
        return []
    text = f"no report from {_plural(missing)}; {len(rows)} of {size} reported"
    hint = "they ended before the wrapping, or were ended by the launcher, or their logs are not among those read"
    return [Conclusion("missing", tuple(missing), text, hint)]


_WARNINGS = {
    "not-materialised": ("some parameters have no values yet", "a meta device or a lazy module: materialise it first"),
    "no-trainable-parameters": ("no parameter asks for a gradient", "DDP refuses such a model"),
    "device-ids-unknown": ("device_ids could not be worked out", "LOCAL_RANK is not set: start the ranks by torchrun"),
    "model-unreadable": ("the model could not be read completely", "listing its parameters raises: see its named_parameters"),
}
_OURS = {"cpu-with-device-ids", "several-devices", "device-ids-elsewhere"}  # of the reports, and told above in our words


def _other_warnings(rows: Sequence[Report]) -> List[Conclusion]:
    codes = dict.fromkeys(code for row in rows for code in row.warnings if code not in _OURS)
    return [
        Conclusion(code, _ranks([row for row in rows if code in row.warnings]), *_WARNINGS.get(code, (code, "")))
        for code in codes
    ]


# words ----------------------------------------------------------------------------------------------------------------
def ranges(numbers: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3 and 7."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)


def _plural(ranks: Sequence[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {ranges(ranks)}"


def _called(rows: Sequence[Report]) -> str:
    ranks = _ranks(rows)
    return _plural(ranks) if ranks else "a rank without number"


def _ranks(rows: Iterable[Report]) -> Tuple[int, ...]:
    return tuple(row.rank for row in rows if row.rank is not None)


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def sentence(conclusion: Conclusion) -> str:
    """A conclusion in one line, with the ranks that it holds for."""
    return f"{_plural(conclusion.ranks)}: {conclusion.text}" if conclusion.ranks else conclusion.text
