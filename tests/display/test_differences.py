"""What a user sees of a diff: marked words, functions, the pager; other programs get plain text."""

import contextlib
import re
import time
from types import SimpleNamespace

import pytest

from patcher.display import view
from patcher.display.differences import highlighted_diff
from patcher.display.highlight import highlight
from patcher.display.pager import paged
from patcher.display.view import View
from patcher.display.words import word_edits
from patcher.text.diffs import diff_texts
from tests.command import GUARD, on_a_terminal

STAND_INS = ("torch-2.7.1-musa",)

SGR = re.compile("\x1b\\[[0-9;]*m")
OLD = b"""\
class A:
    def wait(
        self,
    ):
        x = '''
def no(): pass
'''
        return dist.wait(None)

    async def b(self): pass
"""
NEW = OLD.replace(b"wait(None)", b"wait(timeout=30)")


def shown(old, new):
    return [SGR.sub("", line) for line in highlighted_diff(diff_texts("", "m.py", old, new))]


# words ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("    timeout = None\n", "    timeout = 30\n", ["None"], ["30"]),
        ("torch.cuda.device(0)", "torch.musa.device(0)", ["cuda"], ["musa"]),
        ("f(a, c)", "f(a, b, c)", [""], [" b,"]),
        ("get(model)", "get_device(model)", ["get"], ["get_device"]),
        ("elif storage.is_musa:", 'elif getattr(storage, "is_musa", False):', ["", ".", ""], ["getattr(", ', "', '", False)']),
        ("same", "same", [], []), ("one two three four five six", "six five four three two one", [], []),
        ("for i in range(10):", "while True: pass", [], []),
        ("", "x = 1", [], []),
        ("x " * 3000, "y " * 3000, [], []),
        ("设备 = 一", "设备 = 二", ["一"], ["二"]),
    ],
)
def test_the_words_that_differ_are_marked(old, new, gone, come):
    edits = word_edits(old, new)
    assert [old[i1:i2] for i1, i2, _, _ in edits] == gone
    assert [new[j1:j2] for _, _, j1, j2 in edits] == come
    result, at = "", 0
    for i1, i2, j1, j2 in edits:
        result += old[at:i1] + new[j1:j2]
        at = i2
    assert not edits or result + old[at:] == new


# the functions and colours of a text ----------------------------------------------------------------------------------
def test_each_line_is_in_this_function_whatever_is_in_strings_and_brackets():
    _, scopes = highlight(OLD.decode() + "\n@decorated\ndef c(a=')'): # (\n  return {\n'a': 1}\n\nx = 1\nif x:\n    def d(): pass\n    y = 2")
    assert scopes == [
        "A", "A.wait", "A.wait", "A.wait", "A.wait", "A.wait", "A.wait", "A.wait", "A.wait", "A.b",
        "A.b", "", "c", "c", "c", "c", "", "", "d", "",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "'", '"""', "def", "def f(", "))) def f():\n  x", "\\", "#", "f'{", "x = '\\", "\udcff'\0", "class \n def", "'" * 9999, "(" * 9999])
def test_any_text_can_be_read(text):
    spans, scopes = highlight(text)
    assert len(scopes) == text.count("\n") + 1
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    assert all(first[1] <= second[0] for first, second in zip(spans, spans[1:]))


def test_the_pieces_of_each_line_are_the_line():
    old, new = OLD * 3, b"# coding\n" + NEW * 3 + b"end"
    for hunk in View(diff_texts("", "m.py", old, new)).hunks:
        for line in hunk.lines:
            if line.tag == "\\":
                continue
            text, number = (old, line.old) if line.tag == "-" else (new, line.new)
            assert line.text == text.decode().split("\n")[number - 1]
            assert all(piece.text for piece in line.pieces)


# what is shown --------------------------------------------------------------------------------------------------------
def test_on_a_terminal_words_are_marked_and_the_function_is_named():
    lines = list(highlighted_diff(diff_texts("", "m.py", OLD, NEW)))
    assert [SGR.sub("", line) for line in lines[:3]] == ["--- a/m.py", "+++ b/m.py", "@@ -5,6 +5,6 @@ A.wait"]
    reversed_parts = re.compile("\x1b\\[7m(?:\x1b\\[[^7]m)?([^\x1b]*)\x1b")
    marked = [reversed_parts.findall(line) for line in lines]
    assert [words for words in marked if words] == [["None"], ["timeout=30"]]
    assert [SGR.sub("", line) for line in lines][3:5] == ["         x = '''", " def no(): pass"]
    assert shown(None, NEW)[:3] == ["--- /dev/null", "+++ b/m.py", "@@ -0,0 +1,10 @@ A"]


@pytest.mark.parametrize(("most", "is_marked"), [(2, True), (1, False)])
def test_in_a_file_with_very_many_changed_lines_no_words_are_marked(monkeypatch, most, is_marked):
    monkeypatch.setattr(view, "_MOST", most)  # twenty thousand lines take seconds
    (hunk,) = View(diff_texts("", "m.py", b"a = one\n", b"a = two\n")).hunks
    marked_lines = [line for line in hunk.lines if any(piece.changed for piece in line.pieces)]
    assert bool(marked_lines) == is_marked


@pytest.mark.parametrize(("encoding", "written"), [("latin-1", b"\xe9\\u2192"), ("utf-8", "é→".encode()), (None, "é→".encode())])
def test_the_pager_gets_what_the_terminal_can_show(tmp_path, monkeypatch, encoding, written):
    monkeypatch.setenv("SITEPATCH_PAGER", f"cat > '{tmp_path}/page'")
    with contextlib.redirect_stdout(SimpleNamespace(encoding=encoding)):
        assert paged("é→")
    assert (tmp_path / "page").read_bytes() == written


@pytest.mark.once
def test_ten_thousand_lines_that_differ_are_shown_within_seconds():
    old = b"".join(b"    value_%d = compute(%d, 'text')\n" % (number, number) for number in range(10_000))
    start = time.process_time()
    lines = list(highlighted_diff(diff_texts("", "m.py", old, old.replace(b"compute", b"made"))))
    assert len(lines) == 20_003 and time.process_time() - start < 20


# the command ----------------------------------------------------------------------------------------------------------
def shown_on_a_terminal(site, **more):
    code, text = on_a_terminal(site.cwd, "diff", GUARD, "--target", site.path, columns=120, HOME=str(site.cwd), **more)
    assert code == 0 and "Traceback" not in text, text
    return text


@pytest.mark.once
@pytest.mark.parametrize(
    ("of_git", "more"),
    [
        ('[core]\n\tpager = "echo own; cat"\n', {"SITEPATCH_PAGER": "echo own; cat", "GIT_PAGER": "false"}),
        ('[core]\n\tpager = "echo own; cat"\n', {"PAGER": "false"}), ("[core", {"PAGER": "echo own; cat"}),
    ],
    ids=["ours", "of git", "where git fails"],
)  # fmt: skip
def test_the_pager_is_the_one_that_is_configured(site, of_git, more):
    (site.cwd / ".gitconfig").write_text(of_git)
    text = shown_on_a_terminal(site, **more)
    assert text.startswith("own\n") and "\x1b[7m" in text


@pytest.mark.once
@pytest.mark.parametrize(("pager", "seen"), [("nosuchpager", True), ("/dev/null", True), ("head -c 1", False)])
def test_a_pager_that_is_missing_or_quits_at_once_does_no_harm(site, pager, seen):
    assert ("is_musa" in shown_on_a_terminal(site, SITEPATCH_PAGER=pager)) == seen


@pytest.mark.once
@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb", "PYTHONIOENCODING": "ascii"}, {"COLUMNS": "40"}])
def test_a_terminal_that_can_do_little_shows_all_of_it(site, more):
    text = shown_on_a_terminal(site, SITEPATCH_PAGER="", **more)
    assert ("\x1b" in text) == ("COLUMNS" in more)
    plain = SGR.sub("", text)
    assert 'getattr(storage, "is_musa", False)' in plain


@pytest.mark.once
def test_a_piped_diff_is_plain(site):
    plain = site("diff", GUARD).out
    assert plain.startswith("--- a/torch/") and "reduce_storage" not in plain.split("\n")[2]
