"""What people see, line by line, where no program reads it: rows, colours, the first screen."""

import io
import threading
from unittest import mock

import click
import pytest

from patcher.diagnosis.ranks import EndedRank, verdict_on
from patcher.display import html
from patcher.display.answer import to_json
from patcher.display.console import Console
from patcher.display.differences import DiffOutcome, show_parts
from patcher.display.plan import verified_rows
from patcher.display.progress import ProgressBar
from patcher.display.review_page import review_page
from patcher.display.rows import answer_rows
from patcher.display.styles import Row, color_diff, table_lines
from patcher.model import State
from patcher.place import Place
from patcher.text.diffs import diff_texts
from patcher.verbs.demo import Demo
from patcher.verbs.rank_trial import rank_rows
from patcher.verbs.welcome import welcome
from patcher.verify import COMPILE, IMPORT, CheckResult, Verified
from tests.answers import ENV, answer
from tests.command import DDP, RUNNER, Site, done, sitepatch
from tests.failures import before
from tests.pages import whole
from tests.verbs.kit import console

pytestmark = pytest.mark.once


def test_the_first_screen_says_where_to_begin_and_what_is_applied(tmp_path, capsys):
    site = Site(tmp_path, "mmengine-0.10.7")

    def screen():
        where = console()
        where.place = Place(target=site.path)
        assert welcome(where, "About it.") == 0
        return capsys.readouterr().out.splitlines()

    lines = screen()
    assert lines[:6] == [
        "About it.",
        "",
        "  sitepatch list          what there is for this environment, and what is applied",
        "  sitepatch diff NAME     what a patchset would change",
        "  sitepatch apply NAME    apply it, and verify it",
        "  sitepatch restore NAME  put the files back exactly",
    ]
    assert lines[7].endswith(": nothing is applied")
    done(site("apply", DDP))
    assert screen()[7].endswith(f": {DDP} applied, 3 files")
    site.file(RUNNER).write_text(site.file(RUNNER).read_text() + "EDITED = 1\n")
    assert screen()[7].endswith(f"; not all is as it should be: sitepatch status --target {site.path}")


def test_the_lines_of_a_diff_have_their_colours():
    diff = "--- a\n+++ b\n@@ -1 +1,2 @@ f\n kept\n-gone\n++come\n"
    lines = color_diff(diff)
    assert [click.unstyle(line) for line in lines] == diff.splitlines()
    bold = click.style("", bold=True, reset=False)
    cyan, red, green = (click.style("", fg=name, reset=False) for name in ("cyan", "red", "green"))
    for line, begin in zip(lines, (bold, bold, cyan, " kept", red, green)):
        assert line.startswith(begin)
    assert color_diff("no end") == ["no end"] and color_diff("") == []


def test_a_row_ends_with_its_last_cell_or_its_state():
    rows = [Row("applied", ("a", "long cell", "end")), Row("ok", ()), Row("failed", ("longer", "b"), ("why\nmore",))]
    assert [click.unstyle(line).rstrip() for line in table_lines(rows)] == [
        "applied  a       long cell  end",
        "ok",
        "failed   longer  b",
        "         why",
        "         more",
    ]


def test_a_failure_is_explained_once_per_file_and_what_is_not_needed_says_why():
    hunk = answer("p", "m.py", "f", State.APPLICABLE, (3,))
    failed = hunk.with_result(state=State.CONFLICT, places=(), problem="no", hint="mend it")
    in_g = failed.with_result(hunk=failed.hunk._replace(scope="g"))
    upstream = hunk.with_result(state=State.UPSTREAM, places=())
    rows = answer_rows([hunk, hunk, failed, in_g, upstream])
    assert [(row.word, row.cells, row.details) for row in rows] == [
        ("applicable", ("p", "m.py:3", "f"), ()),
        ("applicable", ("p", "m.py:3", "f"), ()),
        ("conflict", ("p", "m.py", "f, g"), ("no", "hint: mend it")),
        ("upstream", ("p", "m.py", "f"), ("the file has the code of its `+` lines already: fixed upstream",)),
    ]


def test_a_verification_is_one_line_and_a_failed_one_has_its_last_lines():
    def failed(name, *, before):
        return CheckResult(IMPORT, name, "ImportError: no c", "at\nImportError: no c", before=before)

    good = [CheckResult(COMPILE, "a.py", seconds=0.25), CheckResult(COMPILE, "b.py", seconds=0.5), CheckResult(IMPORT, "a", seconds=1.0)]
    verified = Verified((*good, failed("c", before=True), failed("d", before=True)), 2.0)
    (summary, broken) = verified_rows(console(), verified)
    assert summary == Row("verified", ("2 files compiled in 0.75 s, 1 module imported in 1.00 s",))
    assert broken == Row("broken before", ("import c, d, without the patch too: ImportError: no c",))
    assert verified_rows(console(verbose=True), verified)[1].details == ("at", "ImportError: no c")
    failing = Verified((*good, failed("c", before=False), failed("d", before=False)), 2.0)
    details = ("at", "ImportError: no c")
    assert list(verified_rows(console(quiet=True), failing)) == [
        Row("failed", ("import c: ImportError: no c",), details),
        Row("failed", ("import d: ImportError: no c",), details),
    ]
    assert to_json(verified)["seconds"] == 2.0


def test_each_rank_is_a_row_with_its_progress():
    steps = tuple((name, 0.5) for name in ("import torch", "device"))
    late = EndedRank(0, steps=steps, inside="start", device="gcu:0", backend="eccl")
    failed = EndedRank(1, problem="OSError: no", code=1, output=b"OSError: no\n")
    rows = rank_rows((late, failed), verdict_on((late, failed), 60.0))
    assert rows[0].cells == ("rank 0", "gcu:0 by eccl", "import torch 0.50 s, device 0.50 s; still in the start of the process group")
    assert rows[1].cells == ("rank 1", "no device yet", "failed in import torch: OSError: no")
    assert rows[1].details == ("OSError: no",)


def test_a_page_names_the_function_of_a_change_and_a_missing_final_newline():
    body = b"".join(b"x%d = 1\n" % number for number in range(9))
    old = b"y = 1\n" + body + b"def f():\n    return 1"
    new = b"y = 2\n" + body + b"def f():\n    return 2"
    diff = diff_texts("/site", "m.py", old, new, ("p",))
    page = whole(review_page("diff", DiffOutcome(ENV, planned=(diff,)), []))
    assert page.text("b") == "f"
    assert [name for name, _ in page.elements].count("h4") == 2
    assert page.text("main").count("no line break at the end of the file before and after") == 1
    diff = diff_texts("/site", "m.py", b"x = 1\n", b"x = 1", ("p",))
    page = whole(review_page("diff", DiffOutcome(ENV, planned=(diff,)), []))
    assert "no line break at the end of the file after" in page.text("main")


def test_a_command_in_a_hint_is_for_the_same_place():
    where = console()
    assert where.command("status") == "sitepatch status"
    where.place = Place("/v/bin/python", None, (), True)
    assert where.command("apply", "a b", patch_dirs=["p"]) == "sitepatch apply 'a b' --patch-dir p --python /v/bin/python --system"
    assert Place() == Place(None, None, (), False)


def test_a_heading_is_printed_above_its_diffs(capsys, monkeypatch):
    show_parts(console(), [("nothing of it", [])])
    assert capsys.readouterr().out.strip() == ""
    old = b"a = 0\n" * 9 + b"def f():\n    b = 1\n    c = 1\n    d = 1\n    return 1\n"
    diff = diff_texts("/site", "m.py", old, old.replace(b"return 1", b"return 2"))
    monkeypatch.setattr(Console, "plain", False)  # as on a terminal, whose pager would take the lines
    show_parts(console(), [("what is changed", [diff])])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines[0] == "what is changed" and "@@ -11,4 +11,4 @@ f" in lines


def test_an_impossible_completion_is_empty(tmp_path):
    line = "sitepatch apply --patch-dir gone mm"
    ended = sitepatch(cwd=tmp_path, _SITEPATCH_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD="4")
    assert (ended.out.split(), ended.err) == ([], "")


def test_a_probe_needs_an_interpreter_that_is_named(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    ended = done(site("apply", DDP, "--verify", "probe"), 2)
    assert "--verify probe and --target: found no interpreter to run a probe in" in ended.err and "name it with --python" in ended.err


def test_a_page_allows_a_script_only_where_it_has_one():
    without = html.html_document("t", ["x"], script=False).decode()
    assert "script" not in without
    with_keys = html.html_document("t", ["x"], script=True).decode()
    assert "script-src 'sha256-" in with_keys and with_keys.count("<script>") == 1


def test_progress_is_one_bar_until_the_end(monkeypatch):
    where, bars = console(), []
    before(monkeypatch, threading, "Thread", lambda **_: bars.append("each is drawn by a thread"))
    for expected in (1, 2):
        for done_so_far in (1, 2, 3):
            where.progress(done_so_far, 3, "hunks")
            assert len(bars) == expected


def test_the_total_of_a_progress_may_be_unknown():
    stream = io.StringIO()
    bar = ProgressBar(stream)
    for number, total in ((3, 0), (2, 8), (3, 8)):
        bar.at(number, total, "files read")
        bar._show()  # as its thread does every half a minute
    bar.end()
    lines = [line.partition(",")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["3 files read", "2 of 8 files read", "3 of 8 files read"]


def test_a_process_ends_even_if_its_bar_has_not(monkeypatch):
    threads = []
    monkeypatch.setattr(threading, "Thread", lambda target, daemon: threads.append(daemon) or mock.Mock())
    ProgressBar(io.StringIO())
    assert threads == [True]


def test_a_proof_of_the_demo_that_fails_says_so(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    demo = Demo(console())
    for number in range(4):
        demo._prove(f"proof {number}", number % 2 == 0, show=number < 2)  # none of the demo's own fails
    assert capsys.readouterr().out == f"{click.style('✓', fg='green')} proof 0\n{click.style('✗ NOT SO:', fg='red')} proof 1\n"
    assert [proof.ok for proof in demo.proofs] == [True, False, True, False]


@pytest.mark.parametrize(
    ("path", "scope", "state", "absent"),
    [
        ("demo", "", State.NOT_FOUND, True), ("demo", "", State.APPLICABLE, False), ("demo", "f", State.NOT_FOUND, False),
        ("demo/m", "", State.NOT_FOUND, False), ("demo.py", "", State.NOT_FOUND, False), ("demo/m.py", "", State.NOT_FOUND, False),
    ],
)  # fmt: skip
def test_an_answer_about_a_whole_package_is_absent_where_the_package_is(path, scope, state, absent):
    assert answer("p", path, scope, state).is_absent == absent
