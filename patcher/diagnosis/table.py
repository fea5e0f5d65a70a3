"""The runs in logs as rows of a table and as JSON. Pure: it prints nothing."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from patcher.diagnosis.conclusions import Conclusion, conclude, of_rows
from patcher.diagnosis.rank import NONE, NOTES, family, place
from patcher.diagnosis.report import Devices, Report
from patcher.diagnosis.runs import Run, Wrap
from patcher.message import Message
from patcher.text.listed import count, listed, ranks
from patcher.text.terminal import clip, padded, width

READY = "ready"
WIDTH = 100
DOUBTS = ("accelerator-unused", "buffers-elsewhere", "same-device", "ranks-differ", "missing", *NOTES)  # the wrapper takes it
COLUMNS = ("rank", "host", "device", "device_ids", "parameters", "buffers", "verdict")
_LEAST = 6  # columns that a cell keeps where a table is too wide


class ClassifiedWrap(NamedTuple):
    """A wrapping with its conclusions, and a verdict for each of its rows."""

    wrap: Wrap
    conclusions: Tuple[Conclusion, ...]
    verdicts: Tuple[str, ...]


class TableLine(NamedTuple):
    """A line of the table: the cells up to the verdict as one aligned text, and the verdict."""

    text: str
    verdict: str


def classified_wraps(run: Run) -> Tuple[ClassifiedWrap, ...]:
    """Every wrapping of a run, with its conclusions."""
    classified = []
    for wrap in run.wraps:
        conclusions = conclude(wrap, run)
        classified.append(ClassifiedWrap(wrap, conclusions, tuple(_verdict(row, conclusions, run) for row in wrap.rows)))
    return tuple(classified)


def _verdict(row: Report, conclusions: Sequence[Conclusion], run: Run) -> str:
    if row.rank is None:  # what holds for it is known by itself alone
        codes = [conclusion.code for conclusions in of_rows([row], run) for conclusion in conclusions]
    else:
        codes = [conclusion.code for conclusion in conclusions if row.rank in conclusion.ranks]
    return (codes or [READY])[0]


def heading(classified: ClassifiedWrap) -> str:
    """What is wrapped, where, by what, on how many ranks."""
    rows = classified.wrap.rows
    size = max((row.world_size or 0 for row in rows), default=0)
    reported = Message("{number} of {size} ranks", number=len(rows), size=size) if size else count(len(rows), "rank")
    return Message(
        "wrapping {number}: {wrappers}, {sites}; {reported}",
        number=classified.wrap.number,
        wrappers=listed(list(dict.fromkeys(map(_wrapped, rows))), "or"),
        sites=listed(list(dict.fromkeys(row.site for row in rows)), "or"),
        reported=reported,
    )


def _wrapped(row: Report) -> str:
    how = Message("as it is") if family(row) == NONE else Message("in {wrapper}", wrapper=row.wrapper or "DDP")
    return Message("{model} {how}", model=row.model or Message("the model"), how=how)


def well(classified: ClassifiedWrap) -> str:
    """The sentence where nothing is wrong."""
    rows = classified.wrap.rows
    numbers = [row.rank for row in rows if row.rank is not None]
    where = place([device for row in rows for device in row.parameters])
    if any(family(row) == NONE for row in rows):
        return Message("not distributed: nothing is wrapped, and the model is on {where}", where=where)
    return Message(
        "{ranks}: all is well, the model is on {where} and nothing keeps DDP from taking it",
        ranks=ranks(numbers) if numbers else Message("the rank"),
        where=where,
    )


def device(row: Report) -> str:
    """The device that a rank works on: the accelerator that is initialised, else what get_device returns."""
    current = [f"{kind}:{index}" for kind, index in row.current if index is not None]
    return current[0] if current else row.get_device or "-"


def spread(devices: Devices) -> str:
    """How many tensors are on which device."""
    return ", ".join(f"{name}: {count}" for name, count in devices) or "-"


def given(row: Report) -> str:
    """device_ids as Python writes it."""
    if not row.knows_ids:
        return "?"
    return "None" if row.device_ids is None else "[" + ", ".join(row.device_ids) + "]"


def cells(row: Report) -> Tuple[str, ...]:
    """The cells of a row: rank, host, device, device_ids, parameters, buffers."""
    rank = "?" if row.rank is None else str(row.rank)
    return rank, row.host, device(row), given(row), spread(row.parameters), spread(row.buffers)


def table(classified: ClassifiedWrap) -> List[TableLine]:
    """The lines of the table, no wider than WIDTH; the column of hosts only where a host is known."""
    lines = [COLUMNS[:-1], *(cells(row) for row in classified.wrap.rows)]
    columns = [column for column in zip(*lines) if column[0] != "host" or any(column[1:])]
    widths = [max(map(width, column)) for column in columns]
    verdicts = max(map(width, (COLUMNS[-1], *classified.verdicts)))
    while sum(widths) + 2 * len(widths) + verdicts > WIDTH and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    texts = ["  ".join(padded(clip(cell, room), room) for cell, room in zip(line, widths)) for line in zip(*columns)]
    return [TableLine(text, verdict) for text, verdict in zip(texts, (COLUMNS[-1], *classified.verdicts))]


# JSON -----------------------------------------------------------------------------------------------------------------
def run_json(run: Run, classified: Sequence[ClassifiedWrap]) -> Dict[str, Any]:
    """A run, for JSON."""
    return {"run": run.number, "time": run.time, "logs": list(run.logs), "wraps": [_wrap_json(each) for each in classified]}


def _wrap_json(classified: ClassifiedWrap) -> Dict[str, Any]:
    ranks = [_row_json(row, verdict) for row, verdict in zip(classified.wrap.rows, classified.verdicts)]
    conclusions = [{**each._asdict(), "ranks": list(each.ranks)} for each in classified.conclusions]
    return {"wrap": classified.wrap.number, "ranks": ranks, "conclusions": conclusions}


def _row_json(row: Report, verdict: str) -> Dict[str, Any]:
    as_they_are = ("rank", "local_rank", "world_size", "host", "pid", "site", "wrapper", "model")
    return {
        **{name: getattr(row, name) for name in as_they_are},
        "device": device(row),
        "device_ids": None if row.device_ids is None else list(row.device_ids),
        "parameters": dict(row.parameters),
        "buffers": dict(row.buffers),
        "trainable": row.trainable,
        "get_device": row.get_device,
        "mmengine": row.mmengine,
        "verdict": verdict,
    }
