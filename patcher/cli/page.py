"""Differences as one HTML page that needs nothing else: `sitepatch diff --html FILE`. Pure."""

from __future__ import annotations

from typing import List, Sequence

from patcher.cli.html import document, shown
from patcher.cli.report import answer_rows
from patcher.model import Answer
from patcher.text.diffs import FileDiff

STYLE = """
:root { --plus: #dafbe1; --minus: #ffebe9; --at: #ddf4ff; }
@media (prefers-color-scheme: dark) { :root { --plus: #12261e; --minus: #2d1416; --at: #121d2f; } }
.plus { color: var(--green); } .minus { color: var(--red); }
nav ul { list-style: none; padding: 0; }
a { color: inherit; }
section { border: 1px solid var(--line); border-radius: 6px; margin: 1.5rem 0; overflow: hidden; }
h2 { background: var(--bar); border-bottom: 1px solid var(--line); font: 600 .9rem ui-monospace, monospace; margin: 0;
  padding: .6rem .8rem; overflow-wrap: anywhere; }
h2 span { font-weight: normal; }
.code { overflow-x: auto; }
td { padding: 0 .6rem; white-space: pre; tab-size: 8; }
td.n { color: var(--soft); text-align: right; user-select: none; width: 1%; }
tr.add td { background: var(--plus); } tr.del td { background: var(--minus); }
tr.at td { background: var(--at); color: var(--soft); }
dl { margin: 0; padding: .8rem; }
dt, dd { font: .85rem ui-monospace, monospace; }
dd { color: var(--soft); margin: 0 0 0 1rem; white-space: pre-wrap; }
@media print { body { max-width: none; } section { break-inside: avoid; } }
"""


def page(title: str, diffs: Sequence[FileDiff], answers: Sequence[Answer] = ()) -> bytes:
    r"""The page, in UTF-8.

    Args:
        title: the heading, for example the command that made the page.
        diffs: the files; a byte of them that is not UTF-8 is shown as `\xNN`.
        answers: what is to be told beside them, for example what could not be applied.
    """
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    out = [
        f'<p class="soft">{len(diffs)} file(s) differ, {counts(added, removed)}</p>',
        "<nav><ul>",
    ]
    for number, diff in enumerate(diffs):
        out.append(f'<li><a href="#f{number}">{shown(diff.path)}</a> {counts(diff.added, diff.removed)}</li>')
    out.append("</ul></nav>")
    if answers:
        out.append("<section><h2>answers</h2><dl>")
        for row in answer_rows(answers):
            out.append(f"<dt>{shown(row.word)} {shown(' '.join(row.cells))}</dt>")
            out += [f"<dd>{shown(line)}</dd>" for line in row.details]
        out.append("</dl></section>")
    for number, diff in enumerate(diffs):
        out += _section(number, diff)
    return document(title, out, STYLE)


def _section(number: int, diff: FileDiff) -> List[str]:
    names = ", ".join(diff.patchsets)
    about = f"{counts(diff.added, diff.removed)} {shown(names)}<br>{shown(diff.site)}"
    head = f'<section id="f{number}"><h2>{shown(diff.path)} <span class="soft">{about}</span></h2>'
    return [head, *code(diff), "</section>"]


def code(diff: FileDiff) -> List[str]:
    """The lines of a difference as a table, with their numbers before and after."""
    out = ['<div class="code"><table>']
    old = new = 0
    for line in diff.text.split(b"\n")[2:-1]:
        kind, text = line[:1], _decoded(line[1:])
        if kind == b"@":
            old, new = (int(part[1:].split(b",")[0]) for part in line.split(b" ")[1:3])
            out.append(_line("at", "", "", _decoded(line)))
        elif kind == b"+":
            out.append(_line("add", "", str(new), "+" + text))
            new += 1
        elif kind == b"-":
            out.append(_line("del", str(old), "", "-" + text))
            old += 1
        elif kind == b"\\":
            out.append(_line("at", "", "", _decoded(line)))
        else:
            out.append(_line("", str(old), str(new), " " + text))
            old, new = old + 1, new + 1
    return [*out, "</table></div>"]


def _line(kind: str, old: str, new: str, text: str) -> str:
    return f'<tr class="{kind}"><td class="n">{old}</td><td class="n">{new}</td><td>{shown(text)}</td></tr>'


def counts(added: int, removed: int) -> str:
    """How many lines come and go."""
    return f'<span class="plus">+{added}</span> <span class="minus">−{removed}</span>'


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
