"""The runs in logs as rows of a table and as JSON. Pure: it prints nothing."""

from __future__ import annotations

from typing import Any

from patcher.diagnosis.conclusions import NONE, OTHER, family, place
from patcher.diagnosis.report import Devices, Report
from patcher.diagnosis.runs import Run, Wrap
from patcher.message import Message
from patcher.text.listed import count, listed, ranks
from patcher.text.terminal import clip, padded, width

WIDTH = 100
# the wrapper takes it
DOUBTS = (
    "accelerator-unused",
    "buffers-elsewhere",
    "same-device",
    "ranks-differ",
    "missing",
    OTHER,
)  # the wrapper takes it
COLUMNS = ("rank", "host", "device", "device_ids", "parameters", "buffers", "verdict")
_LEAST = 6  # columns that a cell keeps where a table is too wide


def heading(wrap: Wrap) -> str:
    """What is wrapped, where, by what, on how many ranks."""
    rows = wrap.rows
    size = max((row.world_size or 0 for row in rows), default=0)
    reported = (
        Message("{number} of {size} ranks", number=len(rows), size=size)
        if size
        else count(len(rows), "rank")
    )
    return Message(
        "wrapping {number}: {wrappers}, {sites}; {reported}",
        number=wrap.number,
        wrappers=listed(list(dict.fromkeys(map(_wrapped, rows))), "or"),
        sites=listed(list(dict.fromkeys(row.site for row in rows)), "or"),
        reported=reported,
    )


def _wrapped(row: Report) -> str:
    model = row.model or Message("the model")
    if family(row) == NONE:
        return Message("{model} as it is", model=model)
    if row.trains:
        return model
    return Message("{model} in {wrapper}", model=model, wrapper=row.wrapper or "DDP")


def well(wrap: Wrap) -> str:
    """The sentence where nothing is wrong."""
    rows = wrap.rows
    numbers = [row.rank for row in rows if row.rank is not None]
    where = place([device for row in rows for device in row.parameters])
    if any(family(row) == NONE for row in rows):
        return Message(
            "not distributed: nothing is wrapped, and the model is on {where}", where=where
        )
    text = "{ranks}: all is well, the model is on {where} and nothing keeps DDP from taking it"
    if any(row.trains for row in rows):
        text = "{ranks}: all is well, the model is on {where}"
    who = ranks(numbers) if numbers else Message("the rank")
    return Message(text, ranks=who, where=where)


def _device(row: Report) -> str:
    """The device that a rank works on: the accelerator that is initialised, else what get_device returns."""
    current = [f"{kind}:{index}" for kind, index in row.current if index is not None]
    return current[0] if current else row.get_device or "-"


def _spread(devices: Devices) -> str:
    """How many tensors are on which device."""
    return ", ".join(f"{name}: {count}" for name, count in devices) or "-"


def _given(row: Report) -> str:
    """device_ids as Python writes it, `-` where the report does not have them."""
    if row.trains:
        return "-"
    if not row.knows_ids:
        return "?"
    return "None" if row.device_ids is None else "[" + ", ".join(row.device_ids) + "]"


def _cells(row: Report) -> tuple[str, ...]:
    """The cells of a row: rank, host, device, device_ids, parameters, buffers."""
    rank = "?" if row.rank is None else str(row.rank)
    return rank, row.host, _device(row), _given(row), _spread(row.parameters), _spread(row.buffers)


def table(wrap: Wrap) -> list[tuple[str, str]]:
    """The lines of the table, no wider than WIDTH: the cells up to the verdict as one aligned text, and the verdict.

    The column of hosts is there only where a host is known.
    """
    lines = [COLUMNS[:-1], *(_cells(row) for row in wrap.rows)]
    columns = [column for column in zip(*lines) if column[0] != "host" or any(column[1:])]
    widths = [max(map(width, column)) for column in columns]
    verdicts = COLUMNS[-1], *wrap.verdicts
    while (
        sum(widths) + 2 * len(widths) + max(map(width, verdicts)) > WIDTH and max(widths) > _LEAST
    ):
        widths[widths.index(max(widths))] -= 1
    texts = [
        "  ".join(padded(clip(cell, room), room) for cell, room in zip(line, widths))
        for line in zip(*columns)
    ]
    return list(zip(texts, verdicts))


# JSON -----------------------------------------------------------------------------------------------------------------
def run_json(run: Run) -> dict[str, Any]:
    """A run, for JSON."""
    return {
        "run": run.number,
        "time": run.time,
        "logs": run.logs,
        "wraps": [_wrap_json(wrap) for wrap in run.wraps],
    }


def _wrap_json(wrap: Wrap) -> dict[str, Any]:
    ranks = [_row_json(*pair) for pair in zip(wrap.rows, wrap.verdicts)]
    return {
        "wrap": wrap.number,
        "ranks": ranks,
        "conclusions": [conclusion._asdict() for conclusion in wrap.conclusions],
    }


def _row_json(row: Report, verdict: str) -> dict[str, Any]:
    same = row._asdict()
    names = (
        "rank",
        "local_rank",
        "world_size",
        "host",
        "pid",
        "site",
        "wrapper",
        "model",
        "trainable",
        "get_device",
    )
    told = {
        "mmengine": row.mmengine,
        "parameters": dict(row.parameters),
        "buffers": dict(row.buffers),
        "device": _device(row),
    }
    return {
        **{name: same[name] for name in names},
        **told,
        "device_ids": row.device_ids,
        "verdict": verdict,
    }
