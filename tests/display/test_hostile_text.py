"""Text by others reaches a terminal only as text: every command, every field, on a real terminal."""

import json
import os
import re
from pathlib import Path

import pytest

from patcher.display.styles import Row, table_lines
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import builtin_dir
from patcher.text.hidden import remarks
from patcher.text.terminal import clip, join_styled, padded, printable, printable_lines, width
from tests.command import Site, on_a_terminal, sitepatch
from tests.pages import whole

pytestmark = pytest.mark.once

pytest.importorskip("pty")

EVIL = "\x1b[8mhidden\x1b[2K\x1b]0;title\x07\x9b31m\x1b[32mGREEN\x08\x7f\r\u202egnp\u2066\u200b\u2028end"
NAME = "evil-text"
PATCH = f"""
Why: {EVIL}

--- pkg/m.py
@@ f @@
-old($A)
+new($A, "\u202e{EVIL.replace(chr(13), "")}", $word)

--- pkg/m.py
@@ missing @@ when-present
-older($A)
+new($A)
"""
OURS = re.compile("\x1b\\[(?:0|1|2|7|3[1-6])m|\r\x1b\\[K")  # also a bar, which is drawn where something takes a second


def toml(text):
    return json.dumps(text).replace("\x7f", "\\u007f")


@pytest.fixture
def site(tmp_path):
    """A package with hostile source, and a patchset that is hostile in each field that takes free text."""
    site = Site(tmp_path)
    (site.path / "pkg").mkdir(parents=True)
    (site.path / "pkg/__init__.py").write_text("")
    (site.path / "pkg/m.py").write_text(
        f'def f():\n    """{EVIL}"""\n    a = "{EVIL.replace(chr(13), "").replace(chr(0x2028), "")}"\n    old(a)  # {EVIL.replace(chr(13), "")}\n\n\n'
        "def old(*a):\n    return a\n\n\nnew = old\n",
        encoding="utf-8",
    )  # fmt: skip
    folder = tmp_path / "patchsets" / NAME
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(f"""
schema = 1
name = "{NAME}"
version = "1.0"
kind = "fix"
summary = {toml(EVIL + chr(10) + "fix  other  1.0  pkg  built in")}
[provenance]
origin = {toml(EVIL)}
remove_when = {toml(EVIL)}
[options.word]
type = "str"
default = {toml(EVIL)}
help = {toml(EVIL)}
choices = [{toml(EVIL)}, "plain"]
[[variant]]
package = "pkg"
versions = ""
patches = ["m.spatch"]
""")
    (folder / "m.spatch").write_text(PATCH, encoding="utf-8")
    (folder / "compatibility.txt").write_text(f"checked {EVIL}\n", encoding="utf-8")
    return site


def raw_controls(text):
    """The control and other unprintable characters in what was printed, but for our own colours."""
    chars = {char for char in OURS.sub("", text) if not char.isprintable()}
    return sorted(hex(ord(char)) for char in chars - {"\n", "\t"})


def forged(text):
    """Whether colours or lines from hostile text came through."""
    return "\x1b[32mGREEN" in text or bool(re.search("^fix  other", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext, \u6f22\u5b57 \u00e9", "plain\ttext, \u6f22\u5b57 \u00e9"),
        ("\x1b[8m\x00\x07\r\n\x7f", "␛[8m␀␇␍␊␡"),
        ("\x9b8m \u202e\u2066\u200b\ufeff\u2028\u00a0", "<U+009B>8m <U+202E><U+2066><U+200B><U+FEFF><U+2028><U+00A0>"),
        ("\udcff\ud800\U000e0041", "\\xff<U+D800><U+E0041>"),
    ],
)
def test_what_is_not_printable_becomes_visible(text, shown):
    assert printable(text) == shown == join_styled(text)
    assert printable_lines(f"{text}\n{text}") == "\n".join(map(printable, f"{text}\n{text}".split("\n")))


LOOKING = {
    "list": (), "show": (NAME,), "diff": (NAME,), "diff --stat": (NAME,), "check --explain": (NAME,), "check --explain -v": (NAME,),
    "check": (), "check -v": (NAME,), "apply --dry-run": (NAME,), "apply --dry-run -v": (NAME,), "doctor": (),
}  # fmt: skip


@pytest.mark.parametrize("command", LOOKING)
def test_a_hostile_patchset_and_hostile_source_are_made_printable_on_a_terminal(site, command):
    words = [*command.split(), *LOOKING[command]]
    target = [] if words[0] in ("list", "show") else ["--target", site.path]
    code, text = on_a_terminal(site.cwd, *words, *target)
    assert code in (0, 1) and "Traceback" not in text
    assert (raw_controls(text), forged(text)) == ([], False), text


def test_what_is_applied_and_what_its_receipt_records_is_made_printable_on_a_terminal(site):
    assert on_a_terminal(site.cwd, "apply", NAME, "--target", site.path, "--verify", "none")[0] == 0
    (site.path / ".sitepatch" / "edited").mkdir()
    (site.path / ".sitepatch" / "edited" / "m\x1b[2K.py").write_text("")
    for words in (["status"], ["diff"], ["diff", "--stat"], ["check", NAME, "--explain"], ["status", "--verify", "compile"], ["apply", NAME],
                  ["apply", NAME, "--set", "word=\x1b[8m"], ["doctor"], ["restore", "--dry-run"], ["restore"]):  # fmt: skip
        code, text = on_a_terminal(site.cwd, *words, "--target", site.path)
        assert code in (0, 1, 2) and "Traceback" not in text, text
        assert (raw_controls(text), forged(text)) == ([], False), text


BAD = "\x1b[8m\x1b]0;title\x07\u202e"  # click strips the first one alone


def test_hostile_words_of_a_command_line_and_names_of_folders_are_made_printable_on_a_terminal(site):
    (site.cwd / "patchsets" / "bad\x1b[8m").mkdir()
    (site.cwd / "patchsets" / "bad\x1b[8m" / "patchset.toml").write_text("x = ")
    for words in (["list"], ["show", f"no{BAD}"], ["apply", f"no{BAD}"], ["show", f"--no{BAD}"], [f"no{BAD}"],
                  ["diff", NAME, "--target", f"no{BAD}"], ["sync", "--project", f"no{BAD}"], ["demo", BAD],
                  ["apply", NAME, "--verify", BAD], ["diagnose", f"no{BAD}"]):  # fmt: skip
        code, text = on_a_terminal(site.cwd, *words)
        assert code in (1, 2) and "Traceback" not in text, text
        assert raw_controls(text) == [], text


def test_what_a_project_asks_for_is_made_printable_on_a_terminal(site):
    (site.cwd / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = [{toml(NAME)}]\n")
    target = ["--target", site.path]
    for words in (
        ["sync", "--dry-run", *target],
        ["hook", "init", "h"],
        ["sync", "--verify", "none", *target],
        ["run", *target, "--", "true"],
    ):
        code, text = on_a_terminal(site.cwd, *words)
        assert code == 0 and "Traceback" not in text, text
        assert (raw_controls(text), forged(text)) == ([], False), text
    (site.cwd / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = [{toml('no' + EVIL)}]\n")
    code, text = on_a_terminal(site.cwd, "sync", "--target", site.path)
    assert (code, raw_controls(text), forged(text)) == (2, [], False), text


def test_a_fifo_in_the_folder_of_a_patchset_does_not_block_show(site):
    path = site.cwd / "patchsets" / NAME / "compatibility.txt"
    path.unlink()
    os.mkfifo(path)
    assert sitepatch("show", NAME, cwd=site.cwd).code == 0


def test_the_page_of_a_diff_shows_hidden_characters_too(site):
    assert sitepatch("diff", NAME, "--target", site.path, "--html", "page.html", cwd=site.cwd).code == 0
    page = whole((site.cwd / "page.html").read_bytes()).text("main")
    assert "␛[8mhidden" in page and "<U+202E>gnp" in page


def test_a_piped_diff_keeps_its_bytes_and_piped_text_for_people_is_made_printable(site):
    ended = sitepatch("diff", NAME, "--target", site.path, cwd=site.cwd)
    assert EVIL.replace("\r", "").encode() in ended.data
    assert raw_controls(ended.err) == []
    for words in (["list"], ["show", NAME], ["check", NAME, "--explain", "--target", site.path]):
        ended = sitepatch(*words, cwd=site.cwd)
        assert raw_controls(ended.out + ended.err) == []
        assert "␛[8mhidden" in ended.out and "<U+202E>gnp" in ended.out


@pytest.mark.parametrize("command", ["show", "diff", "apply", "diff of what stands"])
def test_what_inserted_code_hides_is_pointed_out(site, command):
    (site.path / "pkg/m.py").write_text("def f():\n    old(a)\n\n\ndef new(*a):\n    p\u0430ssword = 1\n    return a\n", encoding="utf-8")
    patch = "--- pkg/m.py\n@@ f @@\n+p\u0430ss = \ufb01 = \"\u4e2d\"  # \u202e \u4e2d\n+\u03b1 = \u6f22 = 1\n old($A)\n"
    folder = site.cwd / "patchsets" / NAME
    (folder / "m.spatch").write_text(patch, encoding="utf-8")
    text = (folder / "patchset.toml").read_text()
    (folder / "patchset.toml").write_text(text.partition("[options.word]")[0] + text[text.index("[[variant]]") :])
    target = ["--target", site.path]
    lines = (f"{NAME}/m.spatch:3", f"{NAME}/m.spatch:4")
    words = {
        "show": ["show", NAME],
        "diff": ["diff", NAME, *target],
        "apply": ["apply", NAME, "--verify", "none", *target],
        "diff of what stands": ["diff", *target],
    }[command]
    if command == "diff of what stands":
        assert sitepatch("apply", NAME, "--target", site.path, "--verify", "none", cwd=site.cwd).code == 0
        lines = ("pkg/m.py:2", "pkg/m.py:3")
    ended = sitepatch(*words, cwd=site.cwd)
    assert ended.code == 0
    first, second = (f"note: {line}: the inserted code has" for line in lines)
    why = "which is not ASCII: it may look like another"
    assert [line for line in ended.err.splitlines() if "the inserted code has" in line] == [
        f"{first} U+202E (right-to-left override), which hides or reorders what stands there",
        f"{first} the name p\u0430ss, {why}",
        f"{first} the name \ufb01, {why}",
        f"{second} the name \u03b1, {why}",
        f"{second} the name \u6f22, {why}",
    ]


@pytest.mark.parametrize("command", ["show", "diff", "check", "apply"])
def test_what_looks_like_a_placeholder_in_a_string_is_pointed_out(site, command):
    (site.path / "pkg/m.py").write_text("def f(a):\n    old(a)\n\n\ndef new(*a):\n    return a\n", encoding="utf-8")
    patch = "--- pkg/m.py\n@@ f @@\n-old($A)\n+new('free $word', f'{$A}', 'of $A', $word, 'echo $HOME')\n"
    (site.cwd / "patchsets" / NAME / "m.spatch").write_text(patch, encoding="utf-8")
    target = [] if command == "show" else ["--target", site.path]
    ended = sitepatch(command, NAME, *target, cwd=site.cwd)
    assert ended.code == 0, ended
    why = "is inside a string and stays as it is written: put it in the braces of an f-string"
    assert [line for line in ended.err.splitlines() if "inside a string" in line] == [
        f"note: {NAME}/m.spatch:4: $word {why}",
        f"note: {NAME}/m.spatch:4: $A {why}",
    ]


def test_nothing_is_pointed_out_about_the_built_in_patchsets():
    folders = [path for path in Path(builtin_dir()).iterdir() if path.is_dir()]
    assert len(folders) > 3
    for folder in folders:
        assert list(remarks(load_patchset(folder, "built in"))) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('package = "pkg"', 'package = "p\u043ag"', "variant[0].package: found \"p\u043ag\""),
        ('versions = ""', 'versions = ""\nnames = ["\u0430a"]', "variant[0].names[0]: found"),
        ('versions = ""', 'versions = ""\ndistributions = ["p\u212ag"]', "variant[0].distributions[0]: found"),
        ("[[variant]]", '[verify]\nimports = ["pkg.\ufb01"]\n[[variant]]', "verify.imports[0]: found"),
        ('"m.spatch"', '"m.spatch", "m\\u202e.spatch"', "variant[0].patches[1]: found"),
        ("[options.word]", '[options."w\u043erd"]', "options.w\u043erd: found"),
        (f'name = "{NAME}"', 'name = "\u0435vil-text"', "name: found"),
    ],
)
def test_a_name_that_looks_like_another_is_refused(site, old, new, problem):
    path = site.cwd / "patchsets" / NAME / "patchset.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    ended = sitepatch("show", NAME, cwd=site.cwd)
    assert ended.code == 2 and problem in ended.err, ended


# how lists fit a terminal ---------------------------------------------------------------------------------------------
def test_a_row_that_is_too_wide_continues_below_with_its_cells_whole():
    rows = [Row("ok", ("name", "some cell", "a b c d"), ("a detail\nof two lines, one of many words", "  code = stays(as, it, was)"))]
    assert [OURS.sub("", line) for line in table_lines(rows, 24)] == [
        "ok  name  some cell", "    a b c d", "    a detail", "    of two lines, one of", "    many words", "      code = stays(as, it, was)",
    ]  # fmt: skip
    assert OURS.sub("", next(iter(table_lines(rows)))) == "ok  name  some cell  a b c d"


def test_rows_are_aligned_by_the_columns_that_wide_characters_take():
    rows = [Row("ok", ("设备", "e\u0301", "x"), ()), Row("note", ("a", "🚀", "x"), ("设备 设备 设备 设备 设备",))]
    assert [OURS.sub("", line) for line in table_lines(rows)] == [
        "ok    设备  e\u0301   x", "note  a     🚀  x", "      设备 设备 设备 设备 设备",
    ]  # fmt: skip
    assert [OURS.sub("", line) for line in table_lines(rows, 24)][2:] == ["      设备 设备 设备 设备", "      设备"]


def test_the_middle_of_a_very_long_name_is_left_out_of_a_row():
    details = ("there is no `" + "设" * 500_000 + "` in this file", "  " + "c" * 500_000)
    lines = list(table_lines([Row("ok", ("a" * 500_000 + "b",), details)]))
    assert max(map(width, lines)) < 450 and len(lines) == 3
    assert lines[0].endswith("ab") and lines[1].startswith("    there is no `设") and lines[1].endswith("设` in this file")


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "ab…fg"), ("设备设备", 8, "设备设备"), ("设备设备", 7, "设…备"), ("设备设备", 6, "设…备"),
     ("🚀🚀🚀🚀", 5, "🚀…🚀"), ("e\u0301" * 6, 6, "e\u0301" * 6)],
)  # fmt: skip
def test_what_is_too_wide_keeps_its_beginning_and_its_end(text, columns, cut):
    assert clip(text, columns) == cut
    assert width(cut) <= columns
    assert width(padded(cut, columns)) == columns


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lists_fit_the_width_of_the_terminal_and_lose_nothing(site, columns):
    manifest = site.cwd / "patchsets" / NAME / "patchset.toml"
    manifest.write_text(re.sub('summary = ".*"', f'summary = "{"words and " * 20}"', manifest.read_text(), count=1))
    code, text = on_a_terminal(site.cwd, "list", "words", columns=columns)
    assert code == 0 and max(len(OURS.sub("", line)) for line in text.splitlines()) <= columns, text
    piped = sitepatch("list", "words", cwd=site.cwd).out
    assert max(map(len, piped.splitlines())) > 120
    assert OURS.sub("", text).split() == piped.split()


def test_a_dumb_terminal_gets_no_colours(site):
    assert "\x1b" not in on_a_terminal(site.cwd, "list", TERM="dumb")[1]
    assert "\x1b[" in on_a_terminal(site.cwd, "list")[1]
