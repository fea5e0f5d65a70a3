"""HTML pages that need nothing else: they can be read offline, on light and on dark paper. Pure."""

from __future__ import annotations

from html import escape
from typing import Sequence

from patcher import __version__
from patcher.text.drawn import drawn

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --bar: #f6f8fa;
  --green: #1a7f37; --red: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --bar: #161b22; --green: #3fb950; --red: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
.soft { color: var(--soft); }
table { border-collapse: collapse; min-width: 100%;
  font: .8rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
"""


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


def shown(text: str) -> str:
    """Text for HTML, drawn and escaped."""
    return escape(drawn(text))
