"""A line of mmengine-ddp-debug -> a frozen record. `ddp_debug.spatch` describes its fields."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from patcher.text.terminal import printable

OURS = b"sitepatch-ddp"
REFUSAL = "DistributedDataParallel device_ids and output_device"  # how torch's DDP begins to refuse, in every release
_BEGIN = b'{"schema":'

Devices = Tuple[Tuple[str, int], ...]


class Report(NamedTuple):
    """What one rank reported before one wrapping. What its line lacks is None or ""; in text, what is not printable is `?`.

    `parameters` and `buffers`: tensors on each device. `before`: parameters before MMEngine moved the model, empty where not
    known. `places`: the first names on each of several devices. `device_ids`: None, or `0` and `musa:0` as texts. `ids_from`:
    who names them. `patchsets`: those in force. `current`: the accelerators whose module is there, with the current device,
    None where it is not initialised. `visible`: the variables *_VISIBLE_DEVICES. `deepspeed`: the device of DeepSpeed's own
    accelerator. `time`: seconds since 1970. `warnings`: codes, the gravest first. `line`: its number in the log.
    """

    line: int
    rank: Optional[int]
    local_rank: Optional[int]
    world_size: Optional[int]
    host: str
    pid: Optional[int]
    time: Optional[float]
    sequence: Optional[int]
    run: str
    site: str
    wrapper: str
    model: str
    parameters: Devices
    buffers: Devices
    before: Devices
    places: Tuple[Tuple[str, Tuple[str, ...]], ...]
    trainable: Optional[int]
    device_ids: Optional[Tuple[str, ...]]
    ids_from: str
    patchsets: Tuple[str, ...]
    current: Tuple[Tuple[str, Optional[int]], ...]
    visible: Tuple[Tuple[str, str], ...]
    mmengine: str
    torch: str
    deepspeed: str
    get_device: str
    warnings: Tuple[str, ...]


class Raised(NamedTuple):
    """What a wrapping raised: `error` is the exception in one line, `at` where it was raised; the rest as of a report."""

    line: int
    rank: Optional[int]
    host: str
    pid: Optional[int]
    time: Optional[float]
    sequence: Optional[int]
    run: str
    site: str
    error: str
    at: str


def decode_line(text: bytes) -> Optional[Dict[str, Any]]:
    """The facts of the line of ours that `text` begins with: {} where it is cut, None where `text` is other text."""
    body = text[len(OURS) :].lstrip(b" ")
    if not text.startswith(OURS + b" ") or not body.startswith(b"{"):
        return None  # our name in other text, for example in the patch itself

    from json import JSONDecoder  # `diagnose --help` has no use for it

    decoder = JSONDecoder()
    if body.startswith(b'{\\"'):  # the log itself is kept as JSON strings, as docker does it: undo one layer of them
        string = body.decode("latin-1")
        try:
            string = decoder.raw_decode('"' + string)[0]
        except ValueError:
            string = string.replace('\\"', '"')  # cut: enough of it to see that it is ours
        body = string.encode("utf-8", "surrogatepass")
    if not body.startswith(_BEGIN) and not _BEGIN.startswith(body.rstrip()):
        return None
    try:
        facts: Dict[str, Any] = decoder.raw_decode(body.decode("latin-1"))[0]  # what we print is ASCII
    except (ValueError, RecursionError):
        return {}
    return facts


def read_report(line: int, facts: Dict[str, Any]) -> Optional[Report]:
    """The record of the facts of a line; None if they are not such as we can have printed."""
    env = facts.get("env")
    env = env if isinstance(env, dict) else {}
    if facts.get("event") == "trains":  # by a patchset that lets a run go on: a few facts, `sequence` is not one of them
        idle = dict.fromkeys(_texts(facts.get("idle")), _number(env.get("LOCAL_RANK")) or 0)
        facts = {**facts, "parameters": facts, "buffers": {"devices": {}}, "current": idle, "warnings": []}
    parameters, buffers = _devices(facts.get("parameters")), _devices(facts.get("buffers"))
    ids, warnings = facts.get("device_ids"), facts.get("warnings")
    unknown = ids == "?" and warnings is None  # from schema 5 on; before, a warning said so
    ids = None if unknown else [ids] if isinstance(ids, int) else ids  # FSDP has one device_id
    judged = isinstance(warnings, list)  # by the patchset itself, up to schema 4
    if parameters is None or buffers is None or not (judged or _is_later(facts)) or not isinstance(ids, (list, type(None))):
        return None
    world_size = _number(facts.get("world_size"))
    report = Report(
        line=line,
        **_process(facts),
        local_rank=_number(env.get("LOCAL_RANK")),
        world_size=_number(env.get("WORLD_SIZE")) if world_size is None else world_size,
        wrapper=_text(facts.get("wrapper")),
        model=_text(facts.get("model")),
        parameters=parameters,
        buffers=buffers,
        before=_devices({"devices": facts.get("before")}) or (),
        places=tuple((device, _texts(some)) for device, some in _pairs(facts.get("places"))),
        trainable=_number(facts.get("trainable")),
        device_ids=None if ids is None else _texts(ids),
        ids_from=_text(facts.get("ids_from")),
        patchsets=_texts(facts.get("patchsets")),
        current=tuple((kind, _number(index)) for kind, index in _pairs(facts.get("current"))),
        visible=tuple((name, _text(value)) for name, value in _pairs(facts.get("visible"))),
        mmengine=_text(facts.get("mmengine")),
        torch=_text(facts.get("torch")),
        deepspeed=_text(facts.get("deepspeed")),
        get_device=_text(facts.get("get_device")),
        warnings=_texts(warnings),
    )
    return report if judged else report._replace(warnings=_warnings(report, facts, unknown=unknown))


def _is_later(facts: Dict[str, Any]) -> bool:
    """Whether the line is of a version of the patchset that leaves the judging to us."""
    return (_number(facts.get("schema")) or 0) >= 5


def _warnings(row: Report, facts: Dict[str, Any], *, unknown: bool) -> Tuple[str, ...]:
    """What the facts of one report alone say, the gravest first; `unknown`: asking for device_ids raised."""
    devices = [device for device, count in row.parameters if count]
    bases = (row.wrapper, *_texts(facts.get("bases")))
    ddp = row.wrapper != "none" and any(base.endswith("DistributedDataParallel") for base in bases)
    moves = any(word in row.wrapper for word in ("FullySharded", "DeepSpeed", "ColossalAI"))  # the model, by itself
    index = devices[0].partition(":")[2] if len(devices) == 1 else ""
    idle = [kind for kind, number in row.current if number is not None or kind not in ("cuda", "xpu")]  # in every torch
    complete = [facts[kind].get("complete") is True for kind in ("parameters", "buffers")]
    elsewhere = row.device_ids and index and [name.split(":")[-1] for name in row.device_ids] != [index]
    signs = (
        ("moved-back", devices == ["cpu"] and any(device != "cpu" for device, _ in row.before)),
        ("cpu-with-device-ids", ddp and row.device_ids and "cpu" in devices),
        ("several-devices", ddp and len(devices) > 1),
        ("device-ids-elsewhere", ddp and elsewhere),
        ("accelerator-unused", devices == ["cpu"] and not row.device_ids and idle and not moves),
        ("other-wrapper", not ddp and row.wrapper != "none"),
        ("not-materialised", ddp and _number(facts.get("unmaterialised"))),
        ("no-trainable-parameters", ddp and complete[0] and not row.trainable),
        ("device-ids-unknown", unknown),
        ("model-unreadable", not all(complete)),
    )
    return tuple(code for code, seen in signs if seen)


def read_raised(line: int, facts: Dict[str, Any]) -> Optional[Raised]:
    """The record of what a wrapping raised; None if the facts are of another line."""
    if facts.get("event") != "raised" or not isinstance(facts.get("error"), str):
        return None
    error = _text(facts["error"].partition("\n")[0])
    return Raised(line, **_process(facts), error=error, at=_text(facts.get("at")))


def _process(facts: Dict[str, Any]) -> Dict[str, Any]:
    """Which process of which run a line is of, and which wrapping it is about."""
    time = facts.get("time")
    known = isinstance(time, (int, float)) and 0 <= time < 1e11  # no NaN: runs are sorted by it
    numbers = {name: _number(facts.get(name)) for name in ("rank", "pid", "sequence")}
    texts = {name: _text(facts.get(name)) for name in ("host", "run", "site")}
    return {**numbers, **texts, "time": float(time) if known and time is not None else None}


def _devices(found: object) -> Optional[Devices]:
    devices = found.get("devices") if isinstance(found, dict) else None
    if not isinstance(devices, dict):
        return None
    counts = [(_text(device), number) for device, count in devices.items() if (number := _number(count)) is not None]
    return tuple(counts) if len(counts) == len(devices) else None


def _pairs(found: object) -> Tuple[Tuple[str, Any], ...]:
    return tuple((_text(name), value) for name, value in found.items()) if isinstance(found, dict) else ()


def _texts(found: object) -> Tuple[str, ...]:
    return tuple(map(_text, found)) if isinstance(found, list) else ()


def _text(value: object) -> str:
    """Text that may be shown on a terminal: a log can hold anything, also what would move its cursor."""
    return "" if value is None else printable(str(value)).replace("\t", "␉")


def _number(value: object) -> Optional[int]:
    """A whole number that is not negative, also one that is written as text; else None."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
