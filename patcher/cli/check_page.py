"""What `sitepatch check --against` found, as text, as JSON and as one HTML page. Pure.

The text of one patchset is its `compatibility.txt`: a heading, then a line for each release, oldest first. In JSON the
command answers with `patchsets`: `name`, `version` and `releases` (`distribution`, `version`, `state`, `ok`: whether it is
as it should be, `yanked`, `places`: `path` and `lines` before the change, `problem`, `hint`, `files`: as those of `diff`).
Without `--against` it answers with `patchsets` (names), `answers` and `notes` as `diff` does, and `absent`: the answers about
packages that are not there, where no patchset was named. Both have `broken` as `list` does.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from patcher.cli.html import document, shown
from patcher.cli.page import STYLE, code, counts
from patcher.cli.report import diff_json
from patcher.ops.against import Checked
from patcher.ops.check import APPLIES, NO_RELEASE, OUT_OF_RANGE, Outcome
from patcher.text.table import Row, count

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


def heading(checked: Checked) -> str:
    """The patchset, how many releases were looked at, and how many of them are in which state."""
    words = [outcome.word for outcome in checked.outcomes]
    found = [f"{word} {words.count(word)}" for word in dict.fromkeys(words)]
    releases = count(sum(one.version != "" and one.word != NO_RELEASE for one in checked.outcomes), "release")
    return f"{checked.patchset.name} {checked.patchset.version}, {releases}" + (f": {', '.join(found)}" if found else "")


def rows(checked: Checked) -> List[Row]:
    """One line for each release."""
    return [Row(one.word, (one.distribution, _version(one), _told(one))) for one in checked.outcomes]


def _version(outcome: Outcome) -> str:
    return f"{outcome.version} (yanked)" if outcome.yanked else outcome.version


def _told(outcome: Outcome) -> str:
    places = [f"{path}:{','.join(map(str, lines))}" for path, lines in outcome.places]
    return "  ".join([*places, outcome.problem] if outcome.problem else places)


def checked_json(checked: Checked) -> Dict[str, Any]:
    """A patchset and its releases as JSON."""
    releases = [
        {
            "distribution": one.distribution,
            "version": one.version,
            "state": one.word,
            "ok": not one.failed,
            "yanked": one.yanked,
            "places": [{"path": path, "lines": list(lines)} for path, lines in one.places],
            "problem": one.problem,
            "hint": one.hint,
            "files": [diff_json(each) for each in one.diffs],
        }
        for one in checked.outcomes
    ]
    return {"name": checked.patchset.name, "version": checked.patchset.version, "releases": releases}


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
                about = shown(f"{name} {_version(outcome)}: {outcome.word}")
                link = f'<a class="cell {kind}" href="#r{number}-{place}" title="{about}" aria-label="{about}">'
                out.append(f"<li>{link}{mark} {shown(outcome.version)}</a></li>")
        out.append("</ul>")
    out.append('</div><p class="soft">Choose a release to see what would change in it.</p>')
    for place, outcome in enumerate(checked.outcomes):
        out += _release(f"r{number}-{place}", one.name, outcome)
    return [*out, "</section>"]


def _release(anchor: str, patchset: str, outcome: Outcome) -> List[str]:
    name = shown(f"{outcome.distribution} {_version(outcome)}")
    head = f'{name} <span class="soft">{shown(outcome.word)}, {shown(patchset)}</span>'
    out = [f'<section class="release" id="{anchor}"><h2>{head}</h2>']
    out += [f"<p>{shown(text)}</p>" for text in (outcome.problem, outcome.hint) if text]
    if not outcome.diffs and not outcome.problem:
        out.append("<p>Nothing would change in it.</p>")
    for diff in outcome.diffs:
        out += [f"<h4>{shown(diff.path)} {counts(diff.added, diff.removed)}</h4>", *code(diff)]
    return [*out, "</section>"]
