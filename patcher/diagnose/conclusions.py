"""What the reports of all ranks of a run mean, in words: conclusions, the most important first. Pure."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnose import ddp, rank, wrappers
from patcher.diagnose.rank import NO_DEVICE, Words, kinds_of, names
from patcher.diagnose.report import REFUSAL, Report
from patcher.diagnose.runs import Run, Wrap, is_of
from patcher.text.listed import listed, ranks

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
    "the parameters are on the right device, and a refusal of device_ids is in the log all the same",
    "from torch 1.7 on DDP refuses them only for parameters on the CPU or on several devices: it was another model, or one "
    "that you wrap yourself; the traceback above the refusal says where",
)


def conclude(wrap: Wrap, run: Run) -> Tuple[Conclusion, ...]:
    """All that is to be said about one wrapping, the most important first; empty where all is well."""
    rows = wrap.rows
    with_ddp = [row for row in rows if wrappers.family(row) == wrappers.DDP]
    found = [
        *_told(rows, "moved-back", rank.moved_back, rank.tell_back),
        *_told(with_ddp, "cpu-with-device-ids", lambda row: rank.stayed(row) and bool(row.device_ids), rank.tell_stayed),
        *_told(with_ddp, "several-devices", lambda row: len(names(row.parameters)) > 1, rank.tell_spread),
        *_told(with_ddp, "several-device-ids", ddp.too_many, ddp.tell_too_many),
        *_told(with_ddp, "device-ids-elsewhere", rank.elsewhere, rank.tell_elsewhere),
        *_told(with_ddp, "device-ids-for-cuda", ddp.for_cuda, ddp.tell_for_cuda),
        *_told(with_ddp, "refused", lambda row: _was_refused(row, run), lambda row: _REFUSED),
        *_told(rows, "not-distributed", wrappers.alone, wrappers.tell_alone),
        *_told(rows, "no-accelerator", wrappers.lacks_accelerator, wrappers.tell_lacking),
        *_told(rows, "accelerator-unused", wrappers.unused, wrappers.tell_unused),
        *_raised(rows, run),
        *_told(rows, "buffers-elsewhere", rank.buffers_elsewhere, rank.tell_buffers),
        *_same_device(rows),
        *_differ(rows),
        *_missing(rows),
        *_other_warnings(rows),
    ]
    found += [each for kind in wrappers.NOTES for each in _told(rows, kind, _is(kind), wrappers.tell_note)]
    return tuple(found)


def _is(kind: str) -> Callable[[Report], bool]:
    return lambda row: wrappers.family(row) == kind


def _raised(rows: Sequence[Report], run: Run) -> List[Conclusion]:
    """What wrappings raised; that DDP refuses device_ids is a conclusion of its own."""
    found: Dict[Tuple[str, str], List[Report]] = {}
    for row in rows:
        for each in run.raised:
            if is_of(each, row) and REFUSAL not in each.error:
                found.setdefault((each.error, each.at), []).append(row)
    hint = "what else of the log is known is told below"
    return [
        Conclusion("raised", _ranks(some), f"the wrapping raised {error} ({at})", hint) for (error, at), some in found.items()
    ]


def _told(
    rows: Sequence[Report], code: str, holds: Callable[[Report], bool], words: Callable[[Report], Words]
) -> List[Conclusion]:
    """A conclusion for each wording that the ranks which it holds for ask for."""
    by_words: Dict[Tuple[str, str], List[Report]] = {}
    for row in rows:
        if holds(row):
            by_words.setdefault(words(row), []).append(row)
    return [Conclusion(code, _ranks(some), text, hint) for (text, hint), some in by_words.items()]


def _was_refused(row: Report, run: Run) -> bool:
    return rank.right(row) and not ddp.for_cuda(row) and (row.rank in run.refusals or None in run.refusals)


# what holds between ranks ---------------------------------------------------------------------------------------------
def node(row: Report) -> Tuple[str, Optional[int]]:
    """What ranks of one machine have in common: its name, and the rank of its first process as far as that is known."""
    first = row.rank - row.local_rank if row.rank is not None and row.local_rank is not None else None
    return row.host, first


def _card(row: Report) -> Optional[Tuple[object, ...]]:
    """The one card that a rank's parameters are on, as all ranks of its machine would call it."""
    found = names(row.parameters)
    kind, _, index = found[0].partition(":") if len(found) == 1 else ("", "", "")
    if not index.isdigit() or kind in (*NO_DEVICE, *_ONE_FOR_ALL):
        return None
    visible = dict(row.visible)
    chosen = [visible.get(_VISIBLE.get(kind, f"{kind.upper()}_VISIBLE_DEVICES"), "")]
    if kind == "cuda":  # ROCm's HIP numbers what is left by ROCR; both are unset where the cards are NVIDIA's
        chosen = [visible.get("HIP_VISIBLE_DEVICES") or chosen[0], visible.get("ROCR_VISIBLE_DEVICES", "")]
    for cards in chosen:
        seen = [each.strip() for each in cards.split(",")] if cards else []
        index = seen[int(index)] if index.isdigit() and int(index) < len(seen) else index
    return (*node(row), kind, index)


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
        ("the kind of device", lambda row: listed(kinds_of(row.parameters)) or "none"),
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
    text = f"no report from {ranks(missing)}; {len(rows)} of {size} reported"
    hint = "they ended before the wrapping, or were ended by the launcher, or their logs are not among those read"
    return [Conclusion("missing", tuple(missing), text, hint)]


_WARNINGS = {
    "not-materialised": ("some parameters have no values yet", "a meta device or a lazy module: materialise it first"),
    "no-trainable-parameters": ("no parameter asks for a gradient", "DDP refuses such a model"),
    "device-ids-unknown": ("device_ids could not be worked out", "LOCAL_RANK is not set: start the ranks by torchrun"),
    "model-unreadable": ("the model could not be read completely", "listing its parameters raises: see its named_parameters"),
}
_OURS = {  # of the reports, and told above in our words
    "moved-back",
    "cpu-with-device-ids",
    "several-devices",
    "device-ids-elsewhere",
    "accelerator-unused",
    wrappers.OTHER,
}


def _other_warnings(rows: Sequence[Report]) -> List[Conclusion]:
    codes = dict.fromkeys(code for row in rows for code in row.warnings if code not in _OURS)
    return [
        Conclusion(code, _ranks([row for row in rows if code in row.warnings]), *_WARNINGS.get(code, (code, "")))
        for code in codes
    ]


# words ----------------------------------------------------------------------------------------------------------------
def _called(rows: Sequence[Report]) -> str:
    numbers = _ranks(rows)
    return ranks(numbers) if numbers else "a rank without number"


def _ranks(rows: Iterable[Report]) -> Tuple[int, ...]:
    return tuple(row.rank for row in rows if row.rank is not None)


def sentence(conclusion: Conclusion) -> str:
    """A conclusion in one line, with the ranks that it holds for."""
    return f"{ranks(conclusion.ranks)}: {conclusion.text}" if conclusion.ranks else conclusion.text
