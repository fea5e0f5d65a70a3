"""What the pages take from the code, written into them, and a hook of MkDocs.

`python docs/generated.py` rewrites what stands between `<!-- generated: WORD ... -->` and `<!-- end -->`, so that pages can
be read as files, too; with `--check` it says which pages it would change, and ends with 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

import click

import patcher
from patcher.display.language import Catalog
from patcher.model import Symptom
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.symptoms import general_symptoms, with_tools
from patcher.verbs.main import commands
from patcher.verbs.show import proven

_BUILT_IN = [load_patchset(path.parent, BUILT_IN) for path in sorted(Path(builtin_dir()).glob("*/patchset.toml"))]
_HERE = Path(__file__).parent


def current(path: Path) -> str:
    """The text of a page, with what is generated as it is now.

    Raises:
        ValueError: the page asks for something that is not there, or lacks a section.
    """
    text = path.read_text(encoding="utf-8")
    made = {"help": _help, "keys": _keys, "patchsets": _patchsets, "fits": _fits, "symptoms": _symptoms}
    locale = "zh" if path.name.endswith(".zh.md") else "en"

    def fill(asked: re.Match[str]) -> str:
        word, *more = asked[1].split()
        return f"<!-- generated: {asked[1]} -->\n{made[word](locale, *more)}\n<!-- end -->"

    if path.name == "commands.md":
        missing = set(commands.list_commands(click.Context(commands))) - set(re.findall(r"^## (\S+)", text, re.MULTILINE))
        if missing:
            raise ValueError(f"commands.md has no section for {', '.join(sorted(missing))}")
    return re.sub(r"^<!-- generated: (.*?) -->$.*?^<!-- end -->$", fill, text, flags=re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages that have something generated."""
    return [path for path in sorted(_HERE.rglob("*.md")) if "<!-- generated: " in path.read_text(encoding="utf-8")]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave the directions for tests and generators out; anchors of the English page for the Chinese one."""
    text = re.sub(r"^<!-- (?:test: .*|generated: .*|end) -->\n", "", markdown, flags=re.MULTILINE)
    if page.file.src_uri.endswith(".zh.md"):
        text = _with_anchors(text, (_HERE / page.file.src_uri.replace(".zh.md", ".md")).read_text(encoding="utf-8"))
    return text


def on_page_content(html: str, **_: Any) -> str:
    """Colour the two lines that name a diff's file as headings, not as changes; let paths in tables break between their names."""
    html = re.sub(r'<span class="g[di]">((?:---|\+\+\+) )', r'<span class="gh">\1', html)
    return re.sub(r"<td.*?</td>", _with_breaks, html, flags=re.DOTALL)


def _with_breaks(cell: re.Match[str]) -> str:
    """A cell of a table in which code may break behind `/`, `.`, `_` and `::`, and nowhere else in a word."""

    def broken(code: re.Match[str]) -> str:
        return re.sub(r"(::|[/._](?=\w))", r"\1<wbr>", code[0].replace("</code>", "")) + "</code>"

    return re.sub(r"<code>[^<]*</code>", broken, cell[0])


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would request something from elsewhere."""
    tags = re.findall(r"<(?:script|img|iframe|link[^>]*stylesheet)\b[^>]*>", output)
    found = [tag for tag in tags if re.search(r"\b(?:src|href)=\"?(?:https?:)?//", tag)]
    if found:
        from mkdocs.exceptions import PluginError

        raise PluginError(f"{page.file.src_uri} requests {found[0]}")
    return output


def _with_anchors(text: str, english: str) -> str:
    """Give the headings of a page the anchors of the English page's, so that links hold in both."""
    from markdown.extensions.toc import slugify

    pattern = re.compile(r"^```.*?^```$|^#+ [^\n]*", re.MULTILINE | re.DOTALL)
    titles = iter([slugify(found[0].lstrip("# "), "-") for found in pattern.finditer(english) if found[0][0] == "#"])

    def with_anchor(found: re.Match[str]) -> str:
        own = found[0][0] == "`" or found[0].endswith("}")
        return found[0] if own else f"{found[0]} {{ #{next(titles)} }}"

    return pattern.sub(with_anchor, text)


def _help(_: str, *words: str) -> str:
    """The help of a command, as a terminal of 80 columns has it."""
    context = click.Context(commands, info_name="sitepatch", terminal_width=80, **commands.context_settings)
    for word in words:
        group = context.command
        command = group.get_command(context, word) if isinstance(group, click.Group) else None
        if command is None:
            raise ValueError(f"there is no command {' '.join(words)}")
        context = click.Context(command, parent=context, info_name=word)
    return f"```text\n{context.get_help()}\n```"


def _keys(_: str) -> str:
    """The keys of patchset.toml, table by table, from the JSON Schema."""
    schema = json.loads((Path(patcher.__file__).parent / "patchset.schema.json").read_text(encoding="utf-8"))
    parts = [_table(["key", "", "", ""], _rows(schema))]
    titles = {"options": "options.NAME", "variant": "[variant]", "symptom": "[symptom]"}
    for name, table in schema["definitions"].items():
        parts += [f"### `[{titles.get(name, name)}]`", table.get("description", ""), _table(["key", "", "", ""], _rows(table))]
    return "\n\n".join(filter(None, parts))


def _rows(table: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    for key, value in table["properties"].items():
        kind = value.get("type") or "table"
        values = ", ".join(f"`{each}`" for each in value.get("enum", ()))
        if kind == "array":
            item = value["items"].get("type", "table")
            kind = f"array of {item if isinstance(item, str) else 'value'}s"
        kind = {"object": "table"}.get(kind, kind) if isinstance(kind, str) else "value"
        yield f"`{key}`", "required" if key in table.get("required", ()) else "", values or kind, value.get("description", "")


def _patchsets(_: str) -> str:
    """The built-in patchsets: for which releases, with which options, and what each does."""
    parts: list[str] = []
    for each in _BUILT_IN:
        ranges = ", ".join(f"{one.package} `{one.versions}`" for one in each.variants)
        prose = re.sub(r"(?<=\n)(?<!\n\n)(- .*(?:\n[- ] .*)*)", r"\n\1\n", each.about.prose).replace("<", "&lt;")  # lists
        gone = f" Remove when: {each.about.provenance['remove_when']}."
        parts += [f"## {each.name}", f"{each.about.summary}. *{each.about.kind}*, {ranges}.{gone}", prose]
        defaults = [f"`{one.default}`" if one.type != "bool" else f"`{one.default}`".lower() for one in each.options]
        rows = [(f"`{one.name}`", one.type, default, one.help) for one, default in zip(each.options, defaults)]
        parts += [_table(["option", "", "default", ""], rows)] if rows else []
    return "\n\n".join(parts)


def _fits(_: str) -> str:
    """The releases that each built-in patchset was tried on, by what it does there, and the lines that it inserts."""
    rows = []
    for each in _BUILT_IN:
        folder = Path(builtin_dir(), each.name)
        releases = [
            f"{row.distribution} {row.first}" + f" to {row.last} ({row.releases})" * (row.releases > 1) + f": {row.state}" * (row.state != "applicable")
            for row in proven((folder / "compatibility.txt").read_text(encoding="utf-8"))
        ]
        texts = [text for name, text in each.folder.files.items() if name.endswith(".spatch")]
        lines = sum(len(re.findall(r"^\+(?!\+\+ )", text, re.MULTILINE)) for text in texts)
        rows.append((f"[`{each.name}`](#{each.name})", each.about.kind, "; ".join(releases), str(lines)))
    return _table(["patchset", "kind", "releases it fits", "lines"], rows)


def _symptoms(locale: str) -> str:
    """What errors mean, each beginning with the error's own text."""
    word = Catalog(locale).word
    known: list[tuple[str, Symptom]] = [(each.name, one) for each in _BUILT_IN for one in each.about.symptoms]
    known += [("", one) for one in general_symptoms(builtin_dir())]
    cure, stop = {"en": ("Cured by", "."), "zh": ("解决它的补丁：", "。")}[locale]
    parts = []
    for name, one in known:
        meaning, advice = (with_tools(word(text)) for text in (one.meaning, one.advice))
        first, *others = [f"`{pattern.replace('*', '…').strip()}`" for pattern in one.signs.patterns]
        cured = f"{cure} [`{name}`](patchsets.md#{name}){stop}" if name else ""
        told = " ".join(filter(None, [_sentence(meaning, stop), cured, _sentence(advice, stop)]))
        parts += [f'<a id="{one.name}"></a>', f"### {first}", "<br>\n".join(others), told]
    return "\n\n".join(filter(None, parts))


def _sentence(text: str, stop: str) -> str:
    return _escaped(text[:1].upper() + text[1:] if stop == "." else text) + stop if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")


if __name__ == "__main__":
    stale = [page for page in pages() if current(page) != page.read_text(encoding="utf-8")]
    if "--check" in sys.argv:
        sys.exit("\n".join(f"{page}: not current, run python docs/generated.py" for page in stale) or 0)
    for page in stale:
        page.write_text(current(page), encoding="utf-8")
