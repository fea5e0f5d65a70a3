"""A line of mmengine-ddp-debug, or of a patchset that lets a run go on -> a record.

`ddp_debug.spatch` has the fields of a line.
"""

from __future__ import annotations

from json import JSONDecoder
from typing import Any, Tuple

from patcher.record import Record
from patcher.text.terminal import printable

OURS = b"sitepatch-ddp"
REFUSAL = "DistributedDataParallel device_ids and output_device"
"""How torch's DDP begins to refuse, in every release."""
_BEGIN = b'{"schema":'
_SCHEMA = 7
_LATEST = 1e11  # seconds since 1970

Devices = Tuple[Tuple[str, int], ...]
"""How many tensors are on which device."""


class ReportPlace(Record):
    """Where and when a report was made.

    Attributes:
        log: the name of the log.
        line: its number there.
        time: in seconds since 1970.
        sequence: how many reports the process made before; None in a short one.
    """

    log: str
    line: int
    time: float | None
    sequence: int | None


class Process(Record):
    """The process of a rank; `run` is the port where the ranks of its run meet."""

    rank: int | None
    local_rank: int | None
    world_size: int | None
    host: str
    pid: int | None
    run: str


class Wrapping(Record):
    """What is wrapped in what.

    Attributes:
        site: the function that wraps the model.
        wrapper: the class of the wrapper.
        is_ddp: whether that is DDP, or nothing wraps the model.
        model: the class of the model.
        trains: whether the report is the short one of a patchset that lets a run go on, which knows
            nothing of the wrapper.
    """

    site: str
    wrapper: str
    is_ddp: bool
    model: str
    trains: bool


class Tensors(Record):
    """Where the tensors of a model are.

    Attributes:
        parameters: how many are on each device.
        buffers: the same for buffers.
        before: parameters before MMEngine moved the model, empty where not known.
        places: the first names on each of several devices.
        trainable: how many parameters ask for a gradient.
        is_complete: whether all of the model could be read.
    """

    parameters: Devices
    buffers: Devices
    before: Devices
    places: tuple[tuple[str, tuple[str, ...]], ...]
    trainable: int | None
    is_complete: bool


class DeviceIds(Record):
    """The argument device_ids: None, or `0` and `musa:0` as texts.

    `are_known` is whether it is known what they are, `source` who names them.
    """

    names: tuple[str, ...] | None
    are_known: bool
    source: str


class Setup(Record):
    """What is installed and in force where a rank runs.

    Attributes:
        mmengine: its version.
        torch: its version.
        get_device: what MMEngine's function of that name returns.
        current: the accelerators whose module is there, with the current device, None where it is
            not initialised.
        visible: the variables *_VISIBLE_DEVICES.
        patchsets: those in force.
    """

    mmengine: str
    torch: str
    get_device: str
    current: tuple[tuple[str, int | None], ...]
    visible: tuple[tuple[str, str], ...]
    patchsets: tuple[str, ...]


class Report(Record):
    """What one rank reported before one wrapping.

    What its line lacks is None or ""; in text, what is not printable is `?`.
    """

    place: ReportPlace
    process: Process
    wrapping: Wrapping
    tensors: Tensors
    device_ids: DeviceIds
    setup: Setup

    @property
    def rank(self) -> int | None:
        """The rank that made it."""
        return self.process.rank

    @property
    def facts(self) -> Report:
        """All but where it stands: two logs may hold the same report."""
        return self._replace(place=self.place._replace(log="", line=0))


# a line -------------------------------------------------------------------------------------------
def decode_line(text: bytes) -> dict[str, Any] | None:
    """The facts of the line of ours that `text` begins with.

    {} where it is cut, None where `text` is other text.
    """
    if not text.startswith(OURS + b" "):
        return None
    body = text[len(OURS) :].lstrip(b" ")
    if not body.startswith(b"{"):
        return None  # our name in other text, for example in the patch itself
    body = _unquoted(body)
    if not body.startswith(_BEGIN) and not _BEGIN.startswith(body.rstrip()):
        return None
    try:
        # what we print is ASCII
        facts: dict[str, Any] = JSONDecoder().raw_decode(body.decode("latin-1"))[0]
    except (ValueError, RecursionError):
        return {}
    return facts


def _unquoted(body: bytes) -> bytes:
    """A line without the one layer of JSON strings in which a log may be kept, as docker does."""
    if not body.startswith(b'{\\"'):
        return body
    string = body.decode("latin-1")
    try:
        string = JSONDecoder().raw_decode('"' + string)[0]
    except ValueError:
        string = string.replace('\\"', '"')  # cut: enough of it to see that it is ours
    return string.encode("utf-8", "surrogatepass")


# a record -----------------------------------------------------------------------------------------
def read_report(line: int, facts: dict[str, Any], log: str = "") -> Report | None:
    """The record of the facts of a line of a log; None if they are not such as we print today."""
    if facts.get("schema") != _SCHEMA:
        return None
    env = dict(_pairs(facts.get("env")))
    trains = facts.get("event") == "trains"
    if trains:
        facts = _with_idle(facts, env)
    tensors = _tensors(facts)
    ids = _device_ids(facts)
    if tensors is None or ids is None:
        return None
    return Report(
        place=ReportPlace(
            log=log,
            line=line,
            time=_time(facts.get("time")),
            sequence=_number(facts.get("sequence")),
        ),
        process=_process(facts, env),
        wrapping=_wrapping(facts, trains=trains),
        tensors=tensors,
        device_ids=ids,
        setup=_setup(facts, env),
    )


def _with_idle(facts: dict[str, Any], env: dict[str, Any]) -> dict[str, Any]:
    """The few facts of a patchset that lets a run go on, as those of a report.

    `sequence` is not one of them.
    """
    idle = dict.fromkeys(_texts(facts.get("idle")), _number(env.get("LOCAL_RANK")) or 0)
    return {"buffers": {}, **facts, "current": idle}


def _tensors(facts: dict[str, Any]) -> Tensors | None:
    """Where the tensors are; None where that is not as we print it."""
    counts = [facts.get("parameters", ""), facts.get("buffers", "")]
    parameters, buffers = map(_devices, counts)
    if parameters is None or buffers is None:
        return None
    places = [(device, _texts(names)) for device, names in _pairs(facts.get("places"))]
    return Tensors(
        parameters=parameters,
        buffers=buffers,
        before=_devices(facts.get("before")) or (),
        places=tuple(places),
        trainable=_number(facts.get("trainable")),
        is_complete=None not in counts,  # null: they could not be listed
    )


def _device_ids(facts: dict[str, Any]) -> DeviceIds | None:
    """The argument device_ids; None where it is not as we print it."""
    ids = facts.get("device_ids")
    are_known = ids != "?"
    if not are_known:
        ids = None
    if isinstance(ids, int):  # FSDP has one device_id
        ids = [ids]
    if ids is not None and not isinstance(ids, list):
        return None
    return DeviceIds(
        names=None if ids is None else _texts(ids),
        are_known=are_known,
        source=_text(facts.get("ids_from")),
    )


def _process(facts: dict[str, Any], env: dict[str, Any]) -> Process:
    rank = _number(facts.get("rank"))
    world_size = _number(facts.get("world_size"))
    return Process(
        rank=_number(env.get("RANK")) if rank is None else rank,
        local_rank=_number(env.get("LOCAL_RANK")),
        world_size=_number(env.get("WORLD_SIZE")) if world_size is None else world_size,
        host=_text(facts.get("host")),
        pid=_number(facts.get("pid")),
        run=_text(env.get("MASTER_PORT")),
    )


def _wrapping(facts: dict[str, Any], *, trains: bool) -> Wrapping:
    wrapper = _text(facts.get("wrapper"))
    classes = (wrapper, *_texts(facts.get("bases")))
    is_ddp = any(name.endswith("DistributedDataParallel") for name in classes)
    return Wrapping(
        site=_text(facts.get("site")),
        wrapper=wrapper,
        is_ddp=is_ddp or trains,
        model=_text(facts.get("model")),
        trains=trains,
    )


def _setup(facts: dict[str, Any], env: dict[str, Any]) -> Setup:
    visible = []
    for name, value in env.items():
        if name.endswith("_VISIBLE_DEVICES"):
            visible.append((name, _text(value)))
    current = [(kind, _number(index)) for kind, index in _pairs(facts.get("current"))]
    return Setup(
        mmengine=_text(facts.get("mmengine")),
        torch=_text(facts.get("torch")),
        get_device=_text(facts.get("get_device")),
        current=tuple(current),
        visible=tuple(visible),
        patchsets=_texts(facts.get("patchsets")),
    )


# values -------------------------------------------------------------------------------------------
def _devices(counts: object) -> Devices | None:
    """How many tensors are on which device.

    Nothing where they could not be listed, None where it is no such table.
    """
    if counts is None:
        return ()
    if not isinstance(counts, dict):
        return None
    devices = []
    for device, count in counts.items():
        number = _number(count)
        if number is None:
            return None
        devices.append((_text(device), number))
    return tuple(devices)


def _pairs(mapping: object) -> tuple[tuple[str, Any], ...]:
    if not isinstance(mapping, dict):
        return ()
    return tuple((_text(name), value) for name, value in mapping.items())


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(_text, values)) if isinstance(values, list) else ()


def _text(value: object) -> str:
    """Text that may be shown on a terminal: a log can hold what would move its cursor."""
    if value is None:
        return ""
    return printable(str(value)).replace("\t", "␉")


def _time(value: object) -> float | None:
    """A time in seconds since 1970; else None, also of NaN: runs are sorted by it."""
    if isinstance(value, (int, float)) and 0 <= value < _LATEST:
        return float(value)
    return None


def _number(value: object) -> int | None:
    """A whole number that is not negative, also one that is written as text; else None."""
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return None
