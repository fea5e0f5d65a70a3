"""The reports of all ranks of a run -> conclusions, the most important first. Pure."""

from __future__ import annotations

from typing import Callable, Collection, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnosis import rank
from patcher.diagnosis.rank import NO_DEVICE, Finding, device_names, place
from patcher.diagnosis.report import Report
from patcher.message import Message, joined
from patcher.text.listed import ranks

READY = "ready"
_VISIBLE = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "gcu": "TOPS_VISIBLE_DEVICES"}  # else the kind in capitals
_ONE_FOR_ALL = ("xla", "hpu")  # every process numbers its own devices from 0


class Conclusion(NamedTuple):
    """Something that holds for some ranks: `code` is a word of the reports or of ours, `hint` what can be done."""

    code: str
    ranks: Tuple[int, ...]
    text: str
    hint: str


# what holds for ranks -------------------------------------------------------------------------------------------------
_REFUSED = (
    Message("the parameters are on the right device, and a refusal of device_ids is in the log all the same"),
    Message(
        "from torch 1.7 on DDP refuses them only for parameters on the CPU or on several devices: it was another model, or "
        "one that you wrap yourself; the traceback above the refusal says where"
    ),
)
_UNMATERIALISED = (
    Message("some parameters have no values yet"),
    Message("a meta device or a lazy module: materialise it first"),
)
_UNTRAINABLE = Message("no parameter asks for a gradient"), Message("DDP refuses such a model")
_UNKNOWN_IDS = Message("device_ids could not be worked out"), Message("LOCAL_RANK is not set: start the ranks by torchrun")
_UNREADABLE = (
    Message("the model could not be read completely"),
    Message("listing its parameters raises: see its named_parameters"),
)


Refused = Collection[Optional[int]]
"""The ranks that DDP refused; with None one that the log does not name."""


def conclude(rows: Sequence[Report], refused: Refused) -> Tuple[Conclusion, ...]:
    """What is wrong about one wrapping, the most important first; empty where nothing is."""
    graver, lesser = _of_ranks(rows, refused)
    return (*graver, *_same_device(rows), *_differ(rows), *_missing(rows), *lesser)


def verdict(row: Report, conclusions: Sequence[Conclusion]) -> str:
    """The code of the most important one of these conclusions that is about a rank, READY where none is."""
    if row.rank is None:  # what holds for it is known by itself alone
        codes = [conclusion.code for some in _of_ranks([row], ()) for conclusion in some]
    else:
        codes = [conclusion.code for conclusion in conclusions if row.rank in conclusion.ranks]
    return (codes or [READY])[0]


def _of_ranks(rows: Sequence[Report], refused: Refused) -> Tuple[List[Conclusion], List[Conclusion]]:
    """What holds for each of some ranks by itself: what is graver than what holds between ranks, and the rest."""
    with_ddp = [row for row in rows if rank.family(row) == rank.DDP]
    graver = [
        *_by_message("moved-back", rows, rank.moved_back),
        *_by_message("cpu-with-device-ids", [row for row in with_ddp if row.device_ids], rank.never_moved),
        *_by_message("several-devices", with_ddp, rank.on_several_devices),
        *_by_message("several-device-ids", with_ddp, rank.several_ids),
        *_by_message("device-ids-elsewhere", with_ddp, rank.ids_elsewhere),
        *_by_message("device-ids-for-cuda", with_ddp, rank.ids_for_cuda),
        *_by_message("refused", with_ddp, lambda row: _REFUSED if _was_refused(row, refused) else None),
        *_by_message("not-distributed", rows, rank.not_distributed),
        *_by_message("no-accelerator", rows, rank.no_accelerator),
        *_by_message("accelerator-unused", rows, rank.accelerator_unused),
        *_by_message("buffers-elsewhere", rows, rank.buffers_elsewhere),
    ]
    lesser = [
        *_by_message("not-materialised", with_ddp, lambda row: _UNMATERIALISED if row.unmaterialised else None),
        *_by_message("no-trainable-parameters", [row for row in with_ddp if row.is_complete], _untrainable),
        *_by_message("device-ids-unknown", rows, lambda row: None if row.knows_ids else _UNKNOWN_IDS),
        *_by_message("model-unreadable", rows, lambda row: None if row.is_complete else _UNREADABLE),
    ]
    for kind in rank.NOTES:
        lesser += _by_message(kind, [row for row in rows if rank.family(row) == kind], rank.wrapper_note)
    return graver, lesser


def is_wrong(conclusions: Iterable[Conclusion]) -> bool:
    """Whether there is a conclusion besides the wrapper not being DDP."""
    return any(conclusion.code not in rank.NOTES for conclusion in conclusions)


def _untrainable(row: Report) -> Optional[Finding]:
    return _UNTRAINABLE if row.trainable == 0 else None


def _by_message(code: str, rows: Sequence[Report], examine: Callable[[Report], Optional[Finding]]) -> List[Conclusion]:
    """A conclusion for each message, with the ranks that it is about."""
    groups: Dict[Finding, List[Report]] = {}
    for row in rows:
        finding = examine(row)
        if finding:
            groups.setdefault(finding, []).append(row)
    return [Conclusion(code, _ranks(group), *finding) for finding, group in groups.items()]


def _was_refused(row: Report, refused: Refused) -> bool:
    return rank.ids_match(row) and not rank.ids_for_cuda(row) and (row.rank in refused or None in refused)


# what holds between ranks ---------------------------------------------------------------------------------------------
def node(row: Report) -> Tuple[str, Optional[int]]:
    """What ranks of one machine have in common: its name, and the rank of its first process as far as that is known."""
    first = row.rank - row.local_rank if row.rank is not None and row.local_rank is not None else None
    return row.host, first


def _card(row: Report) -> Optional[Tuple[object, ...]]:
    """The one card that a rank's parameters are on, as all ranks of its machine would call it."""
    names = device_names(row.parameters)
    kind, _, index = names[0].partition(":") if len(names) == 1 else ("", "", "")
    if not index.isdigit() or kind in (*NO_DEVICE, *_ONE_FOR_ALL):
        return None
    visible = dict(row.visible)
    chosen = [visible.get(_VISIBLE.get(kind, f"{kind.upper()}_VISIBLE_DEVICES"), "")]
    if kind == "cuda":  # ROCm's HIP numbers what is left by ROCR; both are unset where the cards are NVIDIA's
        chosen = [visible.get("HIP_VISIBLE_DEVICES") or chosen[0], visible.get("ROCR_VISIBLE_DEVICES", "")]
    for cards in chosen:
        seen = [card.strip() for card in cards.split(",")] if cards else []
        index = seen[int(index)] if index.isdigit() and int(index) < len(seen) else index
    return (*node(row), kind, index)


def _same_device(rows: Sequence[Report]) -> List[Conclusion]:
    groups: Dict[Tuple[object, ...], List[Report]] = {}
    for row in rows:
        card = _card(row)
        if card is not None:
            groups.setdefault(card, []).append(row)
    shared = [group for group in groups.values() if len(group) > 1]
    hint = Message("each process must choose its own device by LOCAL_RANK before the model is moved")
    if not all(row.host for group in shared for row in group):
        hint = Message("{hint}. Well if each rank sees one card only", hint=hint)
    named = [(group, device_names(group[0].parameters)[0]) for group in shared]
    text = "{number} ranks of one machine are on {device}"
    return [
        Conclusion("same-device", _ranks(group), Message(text, number=len(group), device=device), hint)
        for group, device in named
    ]


_FACTS: Tuple[Tuple[str, Callable[[Report], str]], ...] = (  # that must be the same for all ranks
    (Message("the kind of device"), lambda row: place(row.parameters)),
    (Message("the number of parameters"), lambda row: str(sum(count for _, count in row.parameters))),
    (Message("the number of buffers"), lambda row: str(sum(count for _, count in row.buffers))),
    (Message("how many parameters ask for a gradient"), lambda row: str(row.trainable)),
    ("device_ids", lambda row: Message("given") if row.device_ids else Message("none")),
    (Message("the wrapper"), lambda row: Message("{wrapper} in {row.site}", wrapper=row.wrapper or "DDP", row=row)),
    (Message("the model"), lambda row: row.model),
    ("WORLD_SIZE", lambda row: str(row.world_size)),
)


def _differ(rows: Sequence[Report]) -> List[Conclusion]:
    """Where ranks differ in what must be the same for all; the conclusion names those that are not like the most."""
    conclusions = []
    hint = Message("every rank must build the same model and wrap it in the same way, or DDP stops or hangs")
    for name, fact in _FACTS:
        groups: Dict[str, List[Report]] = {}
        for row in rows:
            groups.setdefault(fact(row), []).append(row)
        if len(groups) > 1:
            ordered = sorted(groups.items(), key=lambda pair: -len(pair[1]))
            is_tie = len(ordered[0][1]) == len(ordered[1][1])
            odd = [row for _, group in ordered[0 if is_tie else 1 :] for row in group]
            values = [Message("{value} on {ranks}", value=value, ranks=_called(group)) for value, group in ordered[:4]]
            values += [Message("...")] if ordered[4:] else []
            text = Message("{name} differs: {values}", name=name, values=joined("; ", values))
            conclusions.append(Conclusion("ranks-differ", _ranks(odd), text, hint))
    return conclusions


def _missing(rows: Sequence[Report]) -> List[Conclusion]:
    size = max((row.world_size or 0 for row in rows), default=0)
    missing = sorted(set(range(min(size, 1 << 20))) - {row.rank for row in rows})
    unnamed = sum(row.rank is None for row in rows)
    if not missing or (unnamed and len(missing) <= unnamed):
        return []
    text = Message("no report from {ranks}; {number} of {size} reported", ranks=ranks(missing), number=len(rows), size=size)
    hint = Message("they ended before the wrapping, or were ended by the launcher, or their logs are not among those read")
    return [Conclusion("missing", tuple(missing), text, hint)]


# words ----------------------------------------------------------------------------------------------------------------
def _called(rows: Sequence[Report]) -> str:
    numbers = _ranks(rows)
    return ranks(numbers) if numbers else Message("a rank without number")


def _ranks(rows: Iterable[Report]) -> Tuple[int, ...]:
    return tuple(row.rank for row in rows if row.rank is not None)


def sentence(conclusion: Conclusion) -> str:
    """A conclusion in one line, with the ranks that it holds for."""
    if not conclusion.ranks:
        return conclusion.text
    return Message("{ranks}: {text}", ranks=ranks(conclusion.ranks), text=conclusion.text)
