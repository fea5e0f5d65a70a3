"""Differences as one HTML page that needs nothing else: `sitepatch diff --html FILE`. Pure."""

from __future__ import annotations

from html import escape
from typing import List, Sequence

from patcher import __version__
from patcher.cli.report import answer_rows
from patcher.model import Answer
from patcher.text.diffs import FileDiff
from patcher.text.drawn import drawn

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #656d76; --line: #d1d9e0; --bar: #f6f8fa;
  --plus: #dafbe1; --minus: #ffebe9; --at: #ddf4ff; --green: #1a7f37; --red: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --soft: #8d96a0; --line: #30363d;
  --bar: #161b22; --plus: #12261e; --minus: #2d1416; --at: #121d2f; --green: #3fb950; --red: #f85149; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
.soft { color: var(--soft); }
.plus { color: var(--green); } .minus { color: var(--red); }
nav ul { list-style: none; padding: 0; }
a { color: inherit; }
section { border: 1px solid var(--line); border-radius: 6px; margin: 1.5rem 0; overflow: hidden; }
h2 { background: var(--bar); border-bottom: 1px solid var(--line); font: 600 .9rem ui-monospace, monospace; margin: 0;
  padding: .6rem .8rem; overflow-wrap: anywhere; }
h2 span { font-weight: normal; }
.code { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%;
  font: .8rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
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
            out.append(f"<dt>{escape(row.word)} {shown(' '.join(row.cells))}</dt>")
            out += [f"<dd>{shown(line)}</dd>" for line in row.details]
        out.append("</dl></section>")
    for number, diff in enumerate(diffs):
        out += _section(number, diff)
    return document(title, out)


def document(title: str, body: Sequence[str], style: str = "") -> bytes:
    """A whole page in UTF-8: a heading, what is below it as HTML, and more rules for the style sheet."""
    out = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{shown(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>",
        f"<h1>{shown(title)}</h1>",
        *body,
        f'<p class="soft">sitepatch {__version__}</p>\n</body>\n</html>\n',
    ]
    return "\n".join(out).encode("utf-8", "backslashreplace")


def _section(number: int, diff: FileDiff) -> List[str]:
    names = ", ".join(diff.patchsets)
    told = f"{counts(diff.added, diff.removed)} {shown(names)}<br>{shown(diff.site)}"
    head = f'<section id="f{number}"><h2>{shown(diff.path)} <span class="soft">{told}</span></h2>'
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


def shown(text: str) -> str:
    """Text for HTML, drawn and escaped."""
    return escape(drawn(text))
