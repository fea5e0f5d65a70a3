"""What `report --fleet` does: a table, JSON and a page of many hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

from patcher.cli.console import Console
from patcher.cli.html import document, shown
from patcher.ops.fleet import Applied, Host, fleet
from patcher.patchset.tables import written_options
from patcher.project.lockfile import read
from patcher.text.table import Row, count

_FEW = 4  # names of hosts that one line has
_STYLE = """
th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--bar); } .bad { color: var(--red); } .good { color: var(--green); }
div { overflow-x: auto; }
"""


def show_fleet(console: Console, folder: str, lock: Optional[str], html: Optional[str]) -> int:
    """Show what many hosts have; exit code 1 where something is astray or differs from the lock."""
    hosts = fleet(Path(folder), read(Path(lock)) if lock else None)
    alike: Dict[Tuple[Any, ...], List[str]] = {}
    for one in hosts:
        text = tuple(map(_text, one.patchsets))
        alike.setdefault((one.state, text, one.releases, one.problems, one.differences), []).append(one.host)
    rows = []
    for (state, patchsets, releases, problems, differences), names in alike.items():
        few = names if console.verbose or len(names) <= _FEW else [*names[: _FEW - 1], f"{len(names) - _FEW + 1} more"]
        cells = (f"{count(len(names), 'host')}: {', '.join(few)}", ", ".join(patchsets), ", ".join(releases))
        rows.append(Row(state, cells, (*problems, *differences)))
    console.rows(rows)
    if html:
        with open(html, "wb") as file:
            file.write(_page(hosts))
        console.note(f"wrote {html}")
    good = all(one.ok for one in hosts)
    console.data(good, {"hosts": [{**one._asdict(), "patchsets": [_json(each) for each in one.patchsets]} for one in hosts]})
    return 0 if good else 1


def _text(one: Applied) -> str:
    return f"{one.name} {one.version} {written_options(one.options)}".rstrip()


def _json(one: Applied) -> Dict[str, Any]:
    return {**one._asdict(), "options": dict(one.options)}


def _page(hosts: List[Host]) -> bytes:
    """A page in UTF-8: hosts by patchsets."""
    names = sorted({each.name for one in hosts for each in one.patchsets})
    out = [f'<p class="soft">{count(len(hosts), "host")}, {sum(not one.ok for one in hosts)} to look at</p><div><table>']
    out.append(_row("th", ((each, "") for each in ("host", "state", *names, "releases", "what is astray, or not as locked"))))
    for one in hosts:
        have = {each.name: each for each in one.patchsets}
        cells = [(one.host, ""), (one.state, "good" if one.ok else "bad")]
        for name in names:
            each = have.get(name)
            text = f"{each.version} {written_options(each.options)}".rstrip() if each else ""
            cells.append((text, "" if each and each.state == "applied" else "bad"))
        out.append(_row("td", [*cells, ("\n".join(one.releases), ""), ("\n".join((*one.problems, *one.differences)), "")]))
    return document("sitepatch report --fleet", [*out, "</table></div>"], _STYLE)


def _row(tag: str, cells: Iterable[Tuple[str, str]]) -> str:
    made = (f'<{tag} class="{kind}">{"<br>".join(map(shown, text.split(chr(10))))}</{tag}>' for text, kind in cells)
    return f"<tr>{''.join(made)}</tr>"
