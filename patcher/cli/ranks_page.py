"""Runs as one HTML page that needs nothing else, with a picture of ranks by devices: `diagnose --html FILE`. Pure."""

from __future__ import annotations

import time
from typing import Dict, Iterable, List, Sequence, Tuple

from patcher.cli.html import document, shown
from patcher.diagnose.conclusions import node, sentence
from patcher.diagnose.log import Log
from patcher.diagnose.rank import names, target
from patcher.diagnose.report import Report
from patcher.diagnose.runs import Run
from patcher.diagnose.table import DOUBTS, HEAD, READY, Classified, cells, heading, well
from patcher.text.table import Row
from patcher.text.table import count as _count

_CELL, _TOP, _LEFT, _BLOCK = 24, 58, 34, 16  # pixels, and the most ranks in one grid
_STYLE = """
:root { --hold: #54aeff; --amber: #9a6700; --bad: #ffebe9; --doubt: #fff8c5; --well: #dafbe1; }
@media (prefers-color-scheme: dark) { :root { --hold: #1f6feb; --amber: #d29922; --bad: #2d1416; --doubt: #272115;
  --well: #12261e; } }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 1.25rem 0 .5rem; overflow-wrap: anywhere; }
.soft { overflow-wrap: anywhere; }
.told { border-left: 4px solid var(--red); background: var(--bad); border-radius: 4px; margin: .5rem 0; padding: .6rem .9rem; }
.told.doubt { border-color: var(--amber); background: var(--doubt); }
.told.ready { border-color: var(--green); background: var(--well); }
.told p { margin: 0; overflow-wrap: anywhere; } .told .soft { font-size: .9rem; }
.told code { font: .8rem ui-monospace, monospace; }
.grids { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; } figcaption { font: .8rem ui-monospace, monospace; color: var(--soft); }
svg { display: block; max-width: 100%; height: auto; } svg text { font: 11px ui-monospace, monospace; fill: var(--soft); }
.place { fill: var(--bar); stroke: var(--line); }
.hold { fill: var(--hold); } .point { fill: none; stroke: var(--ink); stroke-width: 2.5; }
.wrong { stroke: var(--red); stroke-width: 3; fill: none; stroke-linecap: round; }
.spare { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .85rem; color: var(--soft); }
.legend span { display: inline-flex; align-items: center; gap: .4rem; }
.wide { overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .7rem; text-align: left; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
td.red { color: var(--red); } td.doubt { color: var(--amber); } td.ready { color: var(--green); }
@media print { body { max-width: none; } figure, .told { break-inside: avoid; } }
"""


def page(
    runs: Sequence[Tuple[Run, Sequence[Classified]]], count: int, logs: Sequence[Log], findings: Sequence[Row] = ()
) -> bytes:
    """The page, in UTF-8.

    Args:
        runs: the runs to be shown, with what is to be said about their wrappings.
        count: how many runs the logs tell of.
        logs: what was read.
        findings: the symptoms that were found, as the table shows them.
    """
    reports, cut = sum(len(log.reports) for log in logs), sum(log.cut_count for log in logs)
    parts = [_count(len(logs), "log"), _count(reports, "report"), _count(count, "run")]
    read = ", ".join([*parts, *([f"{_count(cut, 'report')} cut short"] if cut else [])])
    out = [f'<p class="soft">{read}</p>']
    for row in findings:
        details = "".join(f'<p class="soft">{shown(detail)}</p>' for detail in row.details)
        said = f"<p><code>{shown(row.word)}</code> {shown(': '.join(row.cells))}</p>"
        out.append(f'<div class="told doubt">{said}{details}</div>')
    for run, wraps in runs:
        when = "" if run.time is None else time.strftime(", %Y-%m-%d %H:%M:%S UTC", time.gmtime(run.time))
        out.append(f'<h2>Run {run.number} of {count}{when}</h2>\n<p class="soft">{shown(", ".join(run.logs))}</p>')
        for classified in wraps:
            out += _wrap(classified)
    for log in logs:
        places = ", ".join(str(line) for line in log.cut[:10])
        told = [f"cut short in line {places}"] if log.cut else []
        told += [log.problem] if log.problem else []
        out += [f'<p class="soft">{shown(log.name)}: {shown(each)}</p>' for each in told]
    return document("sitepatch diagnose", out, _STYLE)


def _wrap(classified: Classified) -> List[str]:
    out = [f"<section><h3>{shown(heading(classified))}</h3>"]
    for each in classified.conclusions:
        hint = f'<p class="soft">{shown(each.hint)}</p>' if each.hint else ""
        said = f"<p><code>{shown(each.code)}</code> {shown(sentence(each))}</p>"
        out.append(f'<div class="told {_kind(each.code)}">{said}{hint}</div>')
    if not classified.conclusions:
        out.append(f'<div class="told ready"><p>{shown(well(classified))}</p></div>')
    out.append('<div class="grids">')
    rows = list(zip(classified.wrap.rows, classified.verdicts))
    columns = _columns(classified.wrap.rows)  # the same everywhere: grids are compared
    for (host, _), some in _by_node(classified.wrap.rows).items():
        for at in range(0, len(some), _BLOCK):
            out.append(_grid(host, columns, some[at : at + _BLOCK]))
    out.append(f'</div>{_LEGEND}<div class="wide"><table>')
    out.append("<tr>" + "".join(f"<th>{name}</th>" for name in HEAD) + "</tr>")
    for row, verdict in rows:
        plain = "".join(f"<td>{shown(cell)}</td>" for cell in cells(row))
        out.append(f'<tr>{plain}<td class="{_kind(verdict) or "red"}">{shown(verdict)}</td></tr>')
    return [*out, "</table></div></section>"]


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
    found = {device for row in rows for device in (*names(row.parameters), *names(row.buffers), *target(row))}

    def key(device: str) -> Tuple[bool, str, int, str]:
        kind, _, index = device.partition(":")
        return device != "cpu", kind, int(index) if index.isdigit() else 0, device

    return sorted(found, key=key)


def _grid(host: str, columns: Sequence[str], rows: Sequence[Report]) -> str:
    longest = max(map(len, columns), default=0)
    top = max(_TOP, 8 + 7 * longest)
    width, height = _LEFT + _CELL * len(columns) + 10, top + _CELL * len(rows) + 4
    label = "ranks by devices" + (f" on {host}" if host else "")
    caption = f"<figcaption>{shown(host)}</figcaption>" if host else ""
    out = [
        f'<figure>{caption}<svg role="img" aria-label="{shown(label)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
    ]
    for at, name in enumerate(columns):
        x = _LEFT + _CELL * at + _CELL / 2 + 4
        out.append(f'<text transform="translate({x:g} {top - 8}) rotate(-90)">{shown(name)}</text>')
    for down, row in enumerate(rows):
        y = top + _CELL * down
        rank = "?" if row.rank is None else str(row.rank)
        out.append(f'<text x="{_LEFT - 6}" y="{y + _CELL / 2 + 4:g}" text-anchor="end">{rank}</text>')
        out += [_square(row, rank, name, _LEFT + _CELL * at, y) for at, name in enumerate(columns)]
    return "".join([*out, "</svg></figure>"])


def _square(row: Report, rank: str, name: str, x: int, y: int) -> str:
    """One rank on one device: filled where parameters live, outlined where device_ids point, crossed where these differ."""
    parameters, buffers = dict(row.parameters).get(name, 0), dict(row.buffers).get(name, 0)
    pointed = name in target(row)
    told = [f"rank {rank}, {name}: {parameters} parameters, {buffers} buffers", *(["device_ids"] if pointed else [])]
    shapes = [f'<rect class="place" x="{x + 2}" y="{y + 2}" width="{_CELL - 4}" height="{_CELL - 4}" rx="3"/>']
    if parameters:
        shapes.append(f'<rect class="hold" x="{x + 3}" y="{y + 3}" width="{_CELL - 6}" height="{_CELL - 6}" rx="2"/>')
    if pointed:
        shapes.append(f'<rect class="point" x="{x + 3}" y="{y + 3}" width="{_CELL - 6}" height="{_CELL - 6}" rx="2"/>')
    if buffers and not parameters:
        shapes.append(f'<circle class="spare" cx="{x + _CELL // 2}" cy="{y + _CELL // 2}" r="4"/>')
    if row.device_ids and pointed != bool(parameters):
        shapes.append(f'<path class="wrong" d="M{x + 8} {y + 8}l8 8m0 -8l-8 8"/>')
    return f"<g><title>{shown(', '.join(told))}</title>{''.join(shapes)}</g>"


def _sample(text: str, shapes: str) -> str:
    rect = '<rect class="place" x="2" y="2" width="20" height="20" rx="3"/>'
    return f'<span><svg width="24" height="24" viewBox="0 0 24 24" aria-hidden="true">{rect}{shapes}</svg>{text}</span>'


_SAMPLES = (
    _sample("parameters live here", '<rect class="hold" x="3" y="3" width="18" height="18" rx="2"/>'),
    _sample("device_ids point here", '<rect class="point" x="3" y="3" width="18" height="18" rx="2"/>'),
    _sample("the two disagree", '<path class="wrong" d="M8 8l8 8m0 -8l-8 8"/>'),
    _sample("buffers alone", '<circle class="spare" cx="12" cy="12" r="4"/>'),
)
_LEGEND = f'<p class="legend">{"".join(_SAMPLES)}</p>'
