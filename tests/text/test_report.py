"""Diffs are exact on any bytes, the table of changes adds up."""

import random
import shutil
import subprocess

import pytest

from patcher.display.answer import to_json
from patcher.display.rows import answer_rows
from patcher.display.styles import table_lines
from patcher.model import State
from patcher.text.diffs import diff_texts
from patcher.verbs.diff import stat_table
from tests.answers import answer

TEXTS = [
    b"",
    b"\n",
    b"a",
    b"a\n",
    b"a\nb\nc\n",
    b"a\r\nb\r\nc\r\n",
    b"a\rb\rc",
    b"\xef\xbb\xbf# \x0c form feed\n\xff\xfe latin \xe9\nend",
    b"".join(b"line %d\n" % number for number in range(60)),
    b"".join(b"line %d\r\n" % number for number in range(60)) + b"no newline",
]


def edited(data, seed):
    """Some lines dropped, doubled or replaced; the last newline may come or go."""
    chance = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        new_lines = [b"# new \xff\r", b"", b"x = 1"][: chance.randint(0, 3)]
        end = at + chance.randint(0, 2)
        lines[at:end] = new_lines
        lines = lines or [b""]
    return b"\n".join(lines)


PAIRS = [(text, edited(text, seed)) for text in TEXTS for seed in range(6)]
PAIRS += [(before, after) for before in TEXTS for after in TEXTS[:4]]


@pytest.mark.parametrize("tool", [["git", "apply", "--whitespace=nowarn"], ["patch", "-p1", "--quiet", "--binary"]])
def test_applying_the_diff_makes_exactly_the_new_bytes(tmp_path, tool, monkeypatch):
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not installed")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    diffs = b""
    expected = {}
    for number, (before, after) in enumerate(PAIRS):
        if not after or before == after:  # an empty text would mean that the file goes
            continue
        path = f"dir {number % 2}/f{number}.py"
        (tmp_path / path).parent.mkdir(exist_ok=True)
        if before:
            (tmp_path / path).write_bytes(before)
        diffs += diff_texts("", path, before or None, after).text
        expected[path] = after
    assert len(expected) > 50
    completed = subprocess.run(tool, input=diffs, cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert completed.returncode == 0, completed.stdout
    assert {path: (tmp_path / path).read_bytes() for path in expected} == expected


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_the_counts_are_those_of_the_diff_and_the_same_text_differs_nowhere(before, after):
    diff = diff_texts("site", "m.py", before, after, ["p"])
    body = diff.text.split(b"\n")[2:]
    assert sum(line.startswith(b"+") for line in body) == diff.added
    assert sum(line.startswith(b"-") for line in body) == diff.removed
    assert (diff.text == b"") == (before == after)
    assert diff_texts("site", "m.py", before, before).text == b""


def test_a_diff_as_it_is_written():
    before = b"".join(b"%d\n" % number for number in range(1, 11))
    after = before.replace(b"5\n", b"five\r\n").rstrip(b"\n")
    assert diff_texts("", "p/m.py", before, after).text == (
        b"--- a/p/m.py\n+++ b/p/m.py\n@@ -2,9 +2,9 @@\n 2\n 3\n 4\n-5\n+five\r\n 6\n 7\n 8\n 9\n-10\n+10\n"
        b"\\ No newline at end of file\n"
    )
    assert diff_texts("", "m.py", b"", b"x\n").text == b"--- a/m.py\n+++ b/m.py\n@@ -0,0 +1 @@\n+x\n"


def test_a_change_far_from_another_is_a_hunk_of_its_own():
    before = [b"%d\n" % number for number in range(100)]
    after = before.copy()
    after[10] = after[17] = after[50] = b"new\n"
    assert diff_texts("", "m.py", b"".join(before), b"".join(after)).text.count(b"\n@@ ") == 2


def test_the_table_of_changes_adds_up():
    diffs = [diff_texts("", "long/name.py", b"a\n" * 200, b"b\n" * 100), diff_texts("", "m.py", b"", b"x\n")]
    lines = stat_table(diffs)
    assert lines[0].startswith(" long/name.py | 300 +")
    assert lines[1] == " m.py         |   1 +"
    assert lines[2] == " 2 files changed, 101 insertions(+), 200 deletions(-)"
    assert max(map(len, lines)) < 80
    assert stat_table([]) == []


def test_the_table_of_changes_is_aligned_by_the_columns_of_a_path():
    wide = [diff_texts("", path, b"", b"x\n") for path in ("设备/🚀.py", "abcdef.py", "a\u202e.py")]
    assert stat_table(wide)[:3] == [" 设备/🚀.py   | 1 +", " abcdef.py    | 1 +", " a<U+202E>.py | 1 +"]


def test_json_keeps_every_byte():
    diff = diff_texts("", "m.py", b"\xff\n", b"\xfe\n")
    assert to_json(diff)["text"].encode("utf-8", "surrogateescape") == diff.text


def test_every_line_of_a_hint_is_a_line_of_its_own():
    (row,) = answer_rows([answer("p", "m.py", "f", State.CONFLICT, (), "why", "one\ntwo")])
    assert row.details == ("why", "hint: one", "two")


def test_a_failed_answer_is_explained_below_its_row():
    (row,) = answer_rows([answer("p", "m.py", "f", State.AMBIGUOUS, (3, 9), "two\nplaces", "say count=2")])
    assert row.word == "ambiguous"
    assert row.cells == ("p", "m.py:3,9", "f")
    assert row.details == ("two\nplaces", "hint: say count=2")
    assert [line.split() for line in table_lines([row])][1:] == [["two"], ["places"], ["hint:", "say", "count=2"]]


def test_what_is_wrong_with_a_file_is_told_once_for_all_scopes():
    def conflict(path, scope, problem):
        return answer("p", path, scope, State.CONFLICT, problem=problem, hint="--force")

    answers = [
        conflict("m.py", "f", "it was edited"),
        conflict("m.py", "f", "it was edited"),
        conflict("m.py", "g", "it was edited"),
        conflict("m.py", "h", "it is gone"),
        conflict("n.py", "f", "it was edited"),
    ]
    assert [row.cells for row in answer_rows(answers)] == [("p", "m.py", "f, g"), ("p", "m.py", "h"), ("p", "n.py", "f")]
