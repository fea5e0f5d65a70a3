"""Runs as one HTML page that needs nothing else, with a picture of ranks by devices: `diagnose --html FILE`. Pure."""

from __future__ import annotations

from typing import Dict, Iterable, List, Sequence, Tuple

from patcher.cli.pages.html import Html, html_document, localized, tag, wide_table
from patcher.cli.styles import Row
from patcher.cli.translation import term
from patcher.diagnose.conclusions import node, sentence
from patcher.diagnose.log import Log
from patcher.diagnose.rank import device_names, devices_of_ids
from patcher.diagnose.report import Report
from patcher.diagnose.runs import Run
from patcher.diagnose.table import COLUMNS, DOUBTS, READY, ClassifiedWrap, cells, heading, well
from patcher.text.listed import count as _count

_CELL, _TOP, _LEFT, _BLOCK = 24, 58, 34, 16  # pixels, and the most ranks in one grid


def ranks_page(
    runs: Sequence[Tuple[Run, Sequence[ClassifiedWrap]]], count: int, logs: Sequence[Log], findings: Sequence[Row] = ()
) -> bytes:
    """The page, in UTF-8.

    Args:
        runs: the runs to be shown, with the conclusions about their wrappings.
        count: how many runs the logs have.
        logs: what was read.
        findings: the symptoms that were found, as the table shows them.
    """
    reports, cut = sum(len(log.reports) for log in logs), sum(log.cut_count for log in logs)
    parts = [_count(len(logs), "log"), _count(reports, "report"), _count(count, "run")]
    read = ", ".join([*parts, *([f"{_count(cut, 'report')} cut short"] if cut else [])])
    out = [_soft(read)]
    for row in findings:
        out.append(_message(row.word, ": ".join(row.cells), row.details, "doubt"))
    for run, wraps in runs:
        title = ", ".join(filter(None, [f"Run {run.number} of {count}", run.when]))
        out += [tag("h2", title), _soft(", ".join(run.logs)), *map(_wrap, wraps)]
    for log in logs:
        places = ", ".join(str(line) for line in log.cut[:10])
        problems = [f"cut short in line {places}"] if log.cut else []
        problems += [log.problem] if log.problem else []
        out += [_soft(f"{log.name}: {each}") for each in problems]
    return html_document("sitepatch diagnose", out, ["ranks"])


def _soft(text: str) -> Html:
    return tag("p", text, class_="soft")


def _message(word: str, text: str, details: Iterable[str], kind: str) -> Html:
    first = tag("p", tag("code", term(word)) if word else "", f" {text}" if word else text)
    return tag("div", first, *map(_soft, details), class_=f"message {kind}".rstrip())


def _wrap(classified: ClassifiedWrap) -> Html:
    messages = [
        _message(each.code, sentence(each), filter(None, [each.hint]), _kind(each.code)) for each in classified.conclusions
    ]
    grids = []
    rows = list(zip(classified.wrap.rows, classified.verdicts))
    columns = _columns(classified.wrap.rows)  # the same everywhere: grids are compared
    for (host, _), some in _by_node(classified.wrap.rows).items():
        grids += [_grid(host, columns, some[at : at + _BLOCK]) for at in range(0, len(some), _BLOCK)]
    table = [tag("tr", *(tag("th", name) for name in COLUMNS))]
    for row, verdict in rows:
        plain = (tag("td", cell) for cell in cells(row))
        table.append(tag("tr", *plain, tag("td", verdict, class_=_kind(verdict) or "red")))
    return tag(
        "section",
        tag("h3", heading(classified)),
        *(messages or [_message("", well(classified), (), "ready")]),
        tag("div", *grids, class_="grids"),
        tag("p", *_SAMPLES, class_="legend"),
        wide_table("Ranks", table),
    )


def _kind(verdict: str) -> str:
    return "ready" if verdict == READY else "doubt" if verdict in DOUBTS else ""


# the picture ----------------------------------------------------------------------------------------------------------
def _by_node(rows: Iterable[Report]) -> Dict[Tuple[str, object], List[Report]]:
    nodes: Dict[Tuple[str, object], List[Report]] = {}
    for row in rows:
        nodes.setdefault(node(row), []).append(row)
    return nodes


def _columns(rows: Sequence[Report]) -> List[str]:
    """Every device that something is on or that device_ids name: the CPU first, the cards of a kind by number."""
    found = {
        device
        for row in rows
        for device in (*device_names(row.parameters), *device_names(row.buffers), *devices_of_ids(row))
    }

    def key(device: str) -> Tuple[bool, str, int, str]:
        kind, _, index = device.partition(":")
        return device != "cpu", kind, int(index) if index.isdigit() else 0, device

    return sorted(found, key=key)


def _grid(host: str, columns: Sequence[str], rows: Sequence[Report]) -> Html:
    longest = max(map(len, columns), default=0)
    top = max(_TOP, 8 + 7 * longest)
    width, height = _LEFT + _CELL * len(columns) + 10, top + _CELL * len(rows) + 4
    label = "ranks by devices" + (f" on {host}" if host else "")
    shapes = []
    for at, name in enumerate(columns):
        x = _LEFT + _CELL * at + _CELL / 2 + 4
        shapes.append(tag("text", name, transform=f"translate({x:g} {top - 8}) rotate(-90)"))
    for down, row in enumerate(rows):
        y = top + _CELL * down
        rank = "?" if row.rank is None else str(row.rank)
        shapes.append(tag("text", rank, x=str(_LEFT - 6), y=f"{y + _CELL / 2 + 4:g}", text_anchor="end"))
        shapes += [_square(row, rank, name, _LEFT + _CELL * at, y) for at, name in enumerate(columns)]
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    picture = tag("svg", *shapes, role="img", aria_label=label, **size)
    return tag("figure", tag("figcaption", host) if host else "", picture)


def _square(row: Report, rank: str, name: str, x: int, y: int) -> Html:
    """One rank on one device: filled where parameters live, outlined where device_ids point, crossed where these differ."""
    parameters, buffers = dict(row.parameters).get(name, 0), dict(row.buffers).get(name, 0)
    pointed = name in devices_of_ids(row)
    about = [f"rank {rank}, {name}: {_count(parameters, 'parameter')}, {_count(buffers, 'buffer')}"]
    about += ["device_ids"] if pointed else []
    shapes = [_rect("place", x + 2, y + 2, _CELL - 4)]
    shapes += [_rect("hold", x + 3, y + 3, _CELL - 6)] if parameters else []
    shapes += [_rect("point", x + 3, y + 3, _CELL - 6)] if pointed else []
    if buffers and not parameters:
        shapes.append(_dot(x + _CELL // 2, y + _CELL // 2))
    if row.device_ids and pointed != bool(parameters):
        shapes.append(_cross(x + 8, y + 8))
    return tag("g", tag("title", ", ".join(about)), *shapes)


def _rect(kind: str, x: int, y: int, side: int) -> Html:
    return tag("rect", class_=kind, x=str(x), y=str(y), width=str(side), height=str(side), rx="3")


def _dot(x: int, y: int) -> Html:
    return tag("circle", class_="spare", cx=str(x), cy=str(y), r="4")


def _cross(x: int, y: int) -> Html:
    return tag("path", class_="wrong", d=f"M{x} {y}l8 8m0 -8l-8 8")


def _sample(text: str, shape: Html) -> Html:
    picture = tag("svg", _rect("place", 2, 2, 20), shape, width="24", height="24", viewBox="0 0 24 24", aria_hidden="true")
    return tag("span", picture, localized(text))


_SAMPLES = (
    _sample("parameters live here", _rect("hold", 3, 3, 18)),
    _sample("device_ids point here", _rect("point", 3, 3, 18)),
    _sample("the two disagree", _cross(8, 8)),
    _sample("buffers alone", _dot(12, 12)),
)
