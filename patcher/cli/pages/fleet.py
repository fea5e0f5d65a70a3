"""Hosts by patchsets as one HTML page: `report --fleet --html FILE`. Pure."""

from __future__ import annotations

from typing import List, Optional

from patcher.cli.pages.html import Html, html_document, join, tag, wide_table
from patcher.ops.reports.fleet import APPLIED, Applied, Host
from patcher.patchset.toml import options_text
from patcher.text.listed import count


def fleet_page(hosts: List[Host]) -> bytes:
    """The page, in UTF-8: a row for each host, a column for each patchset."""
    names = sorted({each.name for one in hosts for each in one.patchsets})
    heads = ("host", "state", *map(join, names), "releases", "what is astray, or not as locked")
    rows = [tag("tr", *(tag("th", each) for each in heads))]
    for one in hosts:
        have = {each.name: each for each in one.patchsets}
        state = tag("td", one.state, class_="ready" if one.ok else "red")
        cells = [tag("td", one.host), state, *(_patchset(have.get(name)) for name in names)]
        astray = join(*one.problems, *one.differences, between="<br>")
        rows.append(tag("tr", *cells, tag("td", join(*one.releases, between="<br>")), tag("td", astray, class_="prose")))
    summary = f"{count(len(hosts), 'host')}, {sum(not one.ok for one in hosts)} to look at"
    body = (tag("p", summary, class_="soft"), wide_table("Hosts", rows))
    return html_document("sitepatch report --fleet", body, ["ranks"])


def _patchset(one: Optional[Applied]) -> Html:
    if one is None:
        return tag("td")
    return tag("td", f"{one.version} {options_text(one.options)}".rstrip(), class_="" if one.state == APPLIED else "red")
