"""The runs in logs as rows of a table and as JSON. Pure: it prints nothing."""

from __future__ import annotations

from patcher.diagnosis.conclusions import NONE, OTHER, family, kinds_text
from patcher.diagnosis.report import Devices, Report
from patcher.diagnosis.runs import Wrap
from patcher.message import Message
from patcher.text.listed import count, listed, ranks
from patcher.text.terminal import clip, padded, width

WIDTH = 100
DOUBTS = (
    "accelerator-unused",
    "buffers-elsewhere",
    "same-device",
    "ranks-differ",
    "missing",
    OTHER,
)
"""The verdicts on what the wrapper takes all the same."""
COLUMNS = ("rank", "host", "device", "device_ids", "parameters", "buffers", "verdict")
_LEAST = 6  # columns that a cell keeps where a table is too wide


# sentences ----------------------------------------------------------------------------------------
def heading(wrap: Wrap) -> str:
    """What is wrapped, where, by what, on how many ranks."""
    rows = wrap.rows
    size = max((row.process.world_size or 0 for row in rows), default=0)
    reported: str = count(len(rows), "rank")
    if size:
        reported = Message("{number} of {size} ranks", number=len(rows), size=size)
    wrappers = dict.fromkeys(_wrapped(row) for row in rows)
    sites = dict.fromkeys(row.wrapping.site for row in rows)
    return Message(
        "wrapping {number}: {wrappers}, {sites}; {reported}",
        number=wrap.number,
        wrappers=listed(list(wrappers), "or"),
        sites=listed(list(sites), "or"),
        reported=reported,
    )


def _wrapped(row: Report) -> str:
    model = row.wrapping.model or Message("the model")
    if family(row) == NONE:
        return Message("{model} as it is", model=model)
    if row.wrapping.trains:
        return model
    return Message("{model} in {wrapper}", model=model, wrapper=row.wrapping.wrapper or "DDP")


def well(wrap: Wrap) -> str:
    """The sentence where nothing is wrong."""
    rows = wrap.rows
    where = kinds_text([device for row in rows for device in row.tensors.parameters])
    if any(family(row) == NONE for row in rows):
        template = "not distributed: nothing is wrapped, and the model is on {where}"
        return Message(template, where=where)
    numbers = [row.rank for row in rows if row.rank is not None]
    who = ranks(numbers) if numbers else Message("the rank")
    template = "{ranks}: all is well, the model is on {where} and nothing keeps DDP from taking it"
    if any(row.wrapping.trains for row in rows):
        template = "{ranks}: all is well, the model is on {where}"
    return Message(template, ranks=who, where=where)


# the table ----------------------------------------------------------------------------------------
def table(wrap: Wrap) -> list[tuple[str, str]]:
    """The lines of the table, no wider than WIDTH.

    Of each the cells up to the verdict as one aligned text, and the verdict.

    The column of hosts is there only where a host is known.
    """
    lines = [COLUMNS[:-1], *(_cells(row) for row in wrap.rows)]
    verdicts = (COLUMNS[-1], *wrap.verdicts)
    columns: list[tuple[str, ...]] = []
    for column in zip(*lines):
        title, *cells = column
        if title != "host" or any(cells):
            columns.append(column)
    widths = _fitting([max(map(width, column)) for column in columns], max(map(width, verdicts)))

    rows = []
    for line, verdict in zip(zip(*columns), verdicts):
        texts = [padded(clip(cell, room), room) for cell, room in zip(line, widths)]
        rows.append(("  ".join(texts), verdict))
    return rows


def _fitting(widths: list[int], last: int) -> list[int]:
    """The widths of columns, the widest narrowed until they fit beside the `last` one."""
    while sum(widths) + 2 * len(widths) + last > WIDTH and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cells(row: Report) -> tuple[str, ...]:
    """The cells of a row: rank, host, device, device_ids, parameters, buffers."""
    return (
        "?" if row.rank is None else str(row.rank),
        row.process.host,
        device_of(row),
        _ids(row),
        _spread(row.tensors.parameters),
        _spread(row.tensors.buffers),
    )


def device_of(row: Report) -> str:
    """The device of a rank: the accelerator that is initialised, else what get_device returns."""
    for kind, index in row.setup.current:
        if index is not None:
            return f"{kind}:{index}"
    return row.setup.get_device or "-"


def _ids(row: Report) -> str:
    """device_ids as Python writes it, `-` where the report does not have them."""
    if row.wrapping.trains:
        return "-"
    if not row.device_ids.are_known:
        return "?"
    if row.device_ids.names is None:
        return "None"
    return f"[{', '.join(row.device_ids.names)}]"


def _spread(devices: Devices) -> str:
    """How many tensors are on which device."""
    return ", ".join(f"{name}: {count}" for name, count in devices) or "-"


# JSON ---------------------------------------------------------------------------------------------
