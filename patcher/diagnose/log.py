"""Logs as streams of bytes -> the reports of the patchset mmengine-ddp-debug that are in them, as frozen records.

A log may be anything: the lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only our lines are kept. What the fields of a line mean is said in the prose of `ddp_debug.spatch`.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, cast

from patcher.text.drawn import drawn

_OURS = b"sitepatch-ddp"
_REFUSAL = b"DistributedDataParallel device_ids and output_device"  # how torch's DDP begins to refuse, in every release
_BEGIN = b'{"schema":'
_END = re.compile(rb"\n|" + _OURS)
_COLOR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
_RANK = re.compile(rb"\[rank ?([0-9]+)\]")
_PIECE = 1 << 20
_LONGEST = 1 << 18  # bytes of one of our lines; the helper keeps it below 4096, its first version listed what it was told
_LOOK_BACK = 256  # bytes before a refusal in which its rank stands
_KEPT = 1000  # how many cut lines and refusals are kept; all are counted

Devices = Tuple[Tuple[str, int], ...]


class Report(NamedTuple):
    """What one rank told before one wrapping. What its line lacks is None or ""; in text, what is not printable is `?`.

    `parameters` and `buffers`: tensors on each device. `device_ids`: None, or `0` and `musa:0` as texts. `current`: the
    accelerators whose module is there, with the current device, None where it is not initialised. `visible`: the
    variables *_VISIBLE_DEVICES. `time`: seconds since 1970. `line`: where it stands in its log.
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
    trainable: Optional[int]
    device_ids: Optional[Tuple[str, ...]]
    current: Tuple[Tuple[str, Optional[int]], ...]
    visible: Tuple[Tuple[str, str], ...]
    mmengine: str
    get_device: str
    warnings: Tuple[str, ...]


class Refusal(NamedTuple):
    """A line in which DDP refuses device_ids: its line number, its rank if it says so, and how many reports precede it."""

    line: int
    rank: Optional[int]
    preceding: int


class Log(NamedTuple):
    """What one log has of ours. `cut` are the line numbers of lines of ours that end too early (of the first thousand).

    `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: Tuple[Report, ...]
    refusals: Tuple[Refusal, ...]
    cut: Tuple[int, ...]
    cut_count: int
    problem: str


def read_log(name: str, stream: BinaryIO, progress: Callable[[int], None] = lambda size: None) -> Log:
    """Read a log to its end in bounded memory; one that is compressed by gzip is read through it.

    Args:
        name: what to call the log.
        stream: a buffered binary stream; need not be seekable.
        progress: told the size of every piece, in bytes (uncompressed).
    """
    import zlib

    reports: List[Report] = []
    refusals: List[Refusal] = []
    cut: List[int] = []
    count, problem = 0, ""
    try:
        for line, found in _found(_pieces(stream, progress)):
            if isinstance(found, dict):
                report = _report(line, found)
                if report is not None:
                    reports.append(report)
                    continue
            if isinstance(found, Refusal):
                if len(refusals) < _KEPT:
                    refusals.append(found._replace(preceding=len(reports)))
                continue
            count += 1
            if len(cut) < _KEPT:
                cut.append(line)
    except (OSError, EOFError, zlib.error) as error:  # a damaged gzip, a disk that fails: what was read still counts
        problem = f"reading ended early: {error}"
    return Log(name, tuple(reports), tuple(refusals), tuple(cut), count, problem)


def _pieces(stream: BinaryIO, progress: Callable[[int], None]) -> Iterator[bytes]:
    peek = getattr(stream, "peek", None)
    if peek is not None and peek(2)[:2] == b"\x1f\x8b":
        import gzip

        stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    read = getattr(stream, "read1", stream.read)  # a pipe gives what it has: progress is shown as it comes
    while True:
        piece = read(_PIECE)
        if not piece:
            return
        progress(len(piece))
        yield piece


# what is ours ---------------------------------------------------------------------------------------------------------
def _found(pieces: Iterable[bytes]) -> Iterator[Tuple[int, object]]:
    """Pairs of a line number and what stands there: the facts of a line of ours, a Refusal, or None for a cut line."""
    held, start, line = b"", 0, 1  # what is still to be searched begins at `start`, which is in line `line`
    for piece, last in _with_last(pieces):
        held += piece
        known = [held.find(mark, start) for mark in (_OURS, _REFUSAL)]
        at = _next(held, start, known)
        while at >= 0:
            end = _end(held, at)
            if end < 0 and not last:
                break  # the rest of the line is still to come
            text = held[at:end] if end >= 0 else held[at:]
            line += held.count(b"\n", start, at)
            start = at + 1
            if text.startswith(_REFUSAL):
                before = held[max(0, at - _LOOK_BACK) : at].rpartition(b"\n")[2]
                ranks = _RANK.findall(before)
                yield line, Refusal(line, int(ranks[-1]) if ranks else None, 0)
            else:
                ours, facts = _decoded(text)
                if ours:
                    yield line, facts
            at = _next(held, start, known)
        # A mark may be divided between two pieces, and the rank of a refusal stands before it.
        rest = at if at >= 0 else max(start, len(held) - len(_REFUSAL))
        line += held.count(b"\n", start, rest)
        kept = max(0, rest - _LOOK_BACK)
        held, start = held[kept:], rest - kept


def _with_last(pieces: Iterable[bytes]) -> Iterator[Tuple[bytes, bool]]:
    for piece in pieces:
        yield piece, False
    yield b"", True


def _next(held: bytes, start: int, known: List[int]) -> int:
    """Where the next mark begins, -1 if there is none; `known` keeps where either is, so that it is searched for once."""
    for which, mark in enumerate((_OURS, _REFUSAL)):
        if 0 <= known[which] < start:
            known[which] = held.find(mark, start)
    return min((at for at in known if at >= 0), default=-1)


def _end(held: bytes, at: int) -> int:
    """Where the text that begins with a mark ends: with its line, or before our next one; -1 if that is still to come."""
    limit = at + _LONGEST
    end = _END.search(held, at + 1, limit)
    return end.start() if end else limit if len(held) >= limit else -1


def _decoded(text: bytes) -> Tuple[bool, Optional[Dict[str, Any]]]:
    """Whether `text` begins with a line of ours, and its facts (None where it is cut)."""
    plain = _COLOR.sub(b"", text) if b"\x1b" in text else text
    body = plain[len(_OURS) :].lstrip(b" ")
    if not plain.startswith(_OURS + b" ") or not body.startswith(b"{"):
        return False, None  # our name in other text, for example in the patch itself

    from json import JSONDecoder

    decoder = JSONDecoder()
    if body.startswith(b'{\\"'):  # the log itself is kept as JSON strings, as docker does it: undo one layer of them
        string = body.decode("latin-1")
        try:
            string = decoder.raw_decode('"' + string)[0]
        except ValueError:
            string = string.replace('\\"', '"')  # cut: enough of it to see that it is ours
        body = string.encode("utf-8", "surrogatepass")
    if not body.startswith(_BEGIN) and not _BEGIN.startswith(body.rstrip()):
        return False, None
    try:
        return True, decoder.raw_decode(body.decode("latin-1"))[0]  # what we print is ASCII
    except (ValueError, RecursionError):
        return True, None


# one line -------------------------------------------------------------------------------------------------------------
def _report(line: int, facts: Dict[str, Any]) -> Optional[Report]:
    """The record of a line; None if it is not one that we can have printed."""
    env = facts.get("env")
    env = env if isinstance(env, dict) else {}
    parameters, buffers = _devices(facts.get("parameters")), _devices(facts.get("buffers"))
    ids, warnings = facts.get("device_ids"), facts.get("warnings")
    if parameters is None or buffers is None or not isinstance(warnings, list) or not isinstance(ids, (list, type(None))):
        return None
    rank, world_size = _number(facts.get("rank")), _number(facts.get("world_size"))
    time = facts.get("time")
    return Report(
        line=line,
        rank=rank,
        local_rank=_number(env.get("LOCAL_RANK")),
        world_size=_number(env.get("WORLD_SIZE")) if world_size is None else world_size,
        host=_text(facts.get("host")),
        pid=_number(facts.get("pid")),
        time=float(time) if isinstance(time, (int, float)) and 0 <= time < 1e11 else None,  # no NaN: runs are sorted by it
        sequence=_number(facts.get("sequence")),
        run=_text(facts.get("run")),
        site=_text(facts.get("site")),
        wrapper=_text(facts.get("wrapper")),
        model=_text(facts.get("model")),
        parameters=parameters,
        buffers=buffers,
        trainable=_number(facts.get("trainable")),
        device_ids=None if ids is None else tuple(map(_text, ids)),
        current=tuple((kind, _number(index)) for kind, index in _pairs(facts.get("current"))),
        visible=tuple((name, _text(value)) for name, value in _pairs(facts.get("visible"))),
        mmengine=_text(facts.get("mmengine")),
        get_device=_text(facts.get("get_device")),
        warnings=tuple(map(_text, warnings)),
    )


def _devices(found: object) -> Optional[Devices]:
    devices = found.get("devices") if isinstance(found, dict) else None
    if not isinstance(devices, dict) or not all(isinstance(count, int) for count in devices.values()):
        return None
    return tuple((_text(device), count) for device, count in devices.items())


def _pairs(found: object) -> Tuple[Tuple[str, Any], ...]:
    return tuple((_text(name), value) for name, value in found.items()) if isinstance(found, dict) else ()


def _text(value: object) -> str:
    """Text that may be shown on a terminal: a log can hold anything, also what would move its cursor."""
    return "" if value is None else drawn(str(value)).replace("\t", "␉")


def _number(value: object) -> Optional[int]:
    """A whole number that is not negative, also one that is written as text; else None."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
