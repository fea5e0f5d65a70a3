"""What `sitepatch check --against` found as one HTML page. Pure."""

from __future__ import annotations

from typing import List, Sequence

from patcher.cli.checked import heading, version
from patcher.cli.html import document, shown
from patcher.cli.page import STYLE, code, counts
from patcher.ops.against import Checked
from patcher.ops.check import APPLIES, OUT_OF_RANGE, Outcome

_MARKS = {APPLIES: ("good", "✓"), "upstream": ("same", "="), "not needed": ("same", "–"), OUT_OF_RANGE: ("out", "·")}
_FAILED = ("bad", "✗")
_STYLE = """
:root { --good: #dafbe1; --same: #ddf4ff; --out: #eaeef2; --bad: #ffcecb; }
@media (prefers-color-scheme: dark) { :root { --good: #1a4d2a; --same: #17335a; --out: #262c36; --bad: #6e1f22; } }
h3 { font-size: 1rem; margin: 1rem 0 .4rem; }
.strip { display: flex; flex-wrap: wrap; gap: 3px; list-style: none; margin: 0; padding: 0; }
.cell { border: 1px solid var(--line); border-radius: 4px; display: block; font: .8rem ui-monospace, monospace;
  min-width: 4.2rem; padding: .3rem .5rem; text-align: center; text-decoration: none; }
a.cell:hover, a.cell:focus-visible { outline: 2px solid var(--ink); }
.good { background: var(--good); } .same { background: var(--same); } .out { background: var(--out); }
.bad { background: var(--bad); font-weight: bold; }
.legend { display: flex; flex-wrap: wrap; gap: .4rem 1rem; font-size: .85rem; margin: 1rem 0; }
.legend span { border-radius: 4px; padding: 0 .4rem; }
.head { background: var(--paper); border-bottom: 1px solid var(--line); max-height: 45vh; overflow-y: auto;
  padding: 0 .8rem .8rem; position: sticky; top: 0; }
.patchset, .patchset .release { border: 0; margin: 0; overflow: visible; }
.patchset { border-top: 1px solid var(--line); margin: 1.5rem 0; }
.release { display: none; scroll-margin-top: 45vh; } .release:target { display: block; }
.release p { margin: .6rem .8rem; overflow-wrap: anywhere; }
.release h4 { font: .8rem ui-monospace, monospace; margin: .8rem .8rem .3rem; overflow-wrap: anywhere; }
"""


def check_page(title: str, results: Sequence[Checked]) -> bytes:
    """The page in UTF-8: of each patchset a strip of cells, a release each; a cell leads to the release's difference."""
    body = ['<p class="legend">']
    for words, (kind, mark) in [*((word, look) for word, look in _MARKS.items()), ("anything else: it does not fit", _FAILED)]:
        body.append(f'<span class="{kind}">{mark} {words}</span>')
    body.append("</p>")
    for number, checked in enumerate(results):
        body += _strips(number, checked)
    return document(title, body, STYLE + _STYLE)


def _strips(number: int, checked: Checked) -> List[str]:
    one = checked.patchset
    out = [f'<section class="patchset"><h2>{shown(heading(checked))}<br><span class="soft">{shown(one.summary)}</span></h2>']
    out.append('<div class="head">')
    for name in dict.fromkeys(outcome.distribution for outcome in checked.outcomes):
        out += [f"<h3>{shown(name)}</h3>", '<ul class="strip">']
        for place, outcome in enumerate(checked.outcomes):
            if outcome.distribution == name:
                kind, mark = _MARKS.get(outcome.word, _FAILED)
                about = shown(f"{name} {version(outcome)}: {outcome.word}")
                link = f'<a class="cell {kind}" href="#r{number}-{place}" title="{about}" aria-label="{about}">'
                out.append(f"<li>{link}{mark} {shown(outcome.version)}</a></li>")
        out.append("</ul>")
    out.append('</div><p class="soft">Choose a release to see what would change in it.</p>')
    for place, outcome in enumerate(checked.outcomes):
        out += _release(f"r{number}-{place}", one.name, outcome)
    return [*out, "</section>"]


def _release(anchor: str, patchset: str, outcome: Outcome) -> List[str]:
    name = shown(f"{outcome.distribution} {version(outcome)}")
    head = f'{name} <span class="soft">{shown(outcome.word)}, {shown(patchset)}</span>'
    out = [f'<section class="release" id="{anchor}"><h2>{head}</h2>']
    out += [f"<p>{shown(text)}</p>" for text in (outcome.problem, outcome.hint) if text]
    if not outcome.diffs and not outcome.problem:
        out.append("<p>Nothing would change in it.</p>")
    for diff in outcome.diffs:
        out += [f"<h4>{shown(diff.path)} {counts(diff.added, diff.removed)}</h4>", *code(diff)]
    return [*out, "</section>"]
