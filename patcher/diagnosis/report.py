"""A line of mmengine-ddp-debug, or of a patchset that lets a run go on -> a record; `ddp_debug.spatch` has its fields."""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple

from patcher.text.terminal import printable

OURS = b"sitepatch-ddp"
REFUSAL = "DistributedDataParallel device_ids and output_device"  # how torch's DDP begins to refuse, in every release
_BEGIN = b'{"schema":'
_SCHEMA = 7

Devices = Tuple[Tuple[str, int], ...]


class Report(NamedTuple):
    """What one rank reported before one wrapping. What its line lacks is None or ""; in text, what is not printable is `?`.

    `parameters` and `buffers`: tensors on each device. `before`: parameters before MMEngine moved the model, empty where not
    known. `places`: the first names on each of several devices. `device_ids`: None, or `0` and `musa:0` as texts, and whether
    it is known what they are. `ids_from`: who names them. `is_ddp`: whether what wraps the model is DDP, or nothing does.
    `is_complete`: whether all of the model could be read. `patchsets`: those in force. `current`: the accelerators whose
    module is there, with the current device, None where it is not initialised. `visible`: the variables *_VISIBLE_DEVICES.
    `trains`: whether it is the short report of a patchset that lets a run go on, which knows nothing of the wrapper.
    `time`: seconds since 1970. `line`: its number in `log`.
    """

    log: str
    line: int
    rank: int | None
    local_rank: int | None
    world_size: int | None
    host: str
    pid: int | None
    time: float | None
    sequence: int | None
    run: str
    site: str
    wrapper: str
    is_ddp: bool
    model: str
    parameters: Devices
    buffers: Devices
    before: Devices
    places: tuple[tuple[str, tuple[str, ...]], ...]
    trainable: int | None
    is_complete: bool
    device_ids: tuple[str, ...] | None
    knows_ids: bool
    ids_from: str
    patchsets: tuple[str, ...]
    current: tuple[tuple[str, int | None], ...]
    visible: tuple[tuple[str, str], ...]
    trains: bool
    mmengine: str
    torch: str
    get_device: str


def decode_line(text: bytes) -> dict[str, Any] | None:
    """The facts of the line of ours that `text` begins with: {} where it is cut, None where `text` is other text."""
    body = text[len(OURS) :].lstrip(b" ")
    if not text.startswith(OURS + b" ") or not body.startswith(b"{"):
        return None  # our name in other text, for example in the patch itself

    from json import JSONDecoder  # `diagnose --help` has no use for it

    decoder = JSONDecoder()
    # the log itself is kept as JSON strings, as docker does it: undo one layer of them
    if body.startswith(b'{\\"'):
        string = body.decode("latin-1")
        try:
            string = decoder.raw_decode('"' + string)[0]
        except ValueError:
            string = string.replace('\\"', '"')  # cut: enough of it to see that it is ours
        body = string.encode("utf-8", "surrogatepass")
    if not body.startswith(_BEGIN) and not _BEGIN.startswith(body.rstrip()):
        return None
    try:
        # what we print is ASCII
        facts: dict[str, Any] = decoder.raw_decode(body.decode("latin-1"))[0]
    except (ValueError, RecursionError):
        return {}
    return facts


def read_report(line: int, facts: dict[str, Any], log: str = "") -> Report | None:
    """The record of the facts of a line of a log; None if they are not such as we print today."""
    if facts.get("schema") != _SCHEMA:
        return None
    env = dict(_pairs(facts.get("env")))
    # by a patchset that lets a run go on: a few facts, `sequence` is not one of them
    trains = facts.get("event") == "trains"
    if trains:
        idle = dict.fromkeys(_texts(facts.get("idle")), _number(env.get("LOCAL_RANK")) or 0)
        facts = {"buffers": {}, **facts, "current": idle}
    tensors = [
        facts.get(kind, "") for kind in ("parameters", "buffers")
    ]  # null: they could not be listed
    parameters, buffers, ids = _devices(tensors[0]), _devices(tensors[1]), facts.get("device_ids")
    ids = None if ids == "?" else [ids] if isinstance(ids, int) else ids  # FSDP has one device_id
    if parameters is None or buffers is None or not isinstance(ids, (list, type(None))):
        return None
    time, wrapper = facts.get("time"), _text(facts.get("wrapper"))
    texts = ("host", "site", "model", "ids_from", "mmengine", "torch", "get_device")
    same: dict[str, Any] = {name: _text(facts.get(name)) for name in texts}
    same.update((name, _number(facts.get(name))) for name in ("pid", "sequence", "trainable"))
    ranks = {name: _number(facts.get(name)) for name in ("rank", "world_size")}
    same.update(
        (name, _number(env.get(name.upper())) if number is None else number)
        for name, number in ranks.items()
    )
    return Report(
        log=log,
        line=line,
        **same,
        local_rank=_number(env.get("LOCAL_RANK")),
        run=_text(env.get("MASTER_PORT")),
        time=float(time)
        if isinstance(time, (int, float)) and 0 <= time < 1e11
        else None,  # no NaN: runs are sorted by it
        wrapper=wrapper,
        is_ddp=trains
        or any(
            base.endswith("DistributedDataParallel")
            for base in (wrapper, *_texts(facts.get("bases")))
        ),
        trains=trains,
        parameters=parameters,
        buffers=buffers,
        before=_devices(facts.get("before")) or (),
        places=tuple((device, _texts(names)) for device, names in _pairs(facts.get("places"))),
        is_complete=all(counts is not None for counts in tensors),
        device_ids=None if ids is None else _texts(ids),
        knows_ids=facts.get("device_ids") != "?",
        patchsets=_texts(facts.get("patchsets")),
        current=tuple((kind, _number(index)) for kind, index in _pairs(facts.get("current"))),
        visible=tuple(
            (name, _text(value)) for name, value in env.items() if name.endswith("_VISIBLE_DEVICES")
        ),
    )


def _devices(counts: object) -> Devices | None:
    """How many tensors are on which device: nothing where they could not be listed, None where it is no such table."""
    if counts is None:
        return ()
    if not isinstance(counts, dict):
        return None
    numbers = [(_text(device), _number(count)) for device, count in counts.items()]
    known = tuple((device, number) for device, number in numbers if number is not None)
    return known if len(known) == len(numbers) else None


def _pairs(mapping: object) -> tuple[tuple[str, Any], ...]:
    return (
        tuple((_text(name), value) for name, value in mapping.items())
        if isinstance(mapping, dict)
        else ()
    )


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(_text, values)) if isinstance(values, list) else ()


def _text(value: object) -> str:
    """Text that may be shown on a terminal: a log can hold anything, also what would move its cursor."""
    return "" if value is None else printable(str(value)).replace("\t", "␉")


def _number(value: object) -> int | None:
    """A whole number that is not negative, also one that is written as text; else None."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
