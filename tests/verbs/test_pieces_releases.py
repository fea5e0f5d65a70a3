"""What patchsets do to releases, asked of the functions: outcomes, explanations, tables, pages, JSON, proofs and updates."""

import re
import shutil
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from patcher.author.draft import Draft, DraftFile, DraftHunk, LeftOut, Rejected
from patcher.author.folder import PackageRange
from patcher.author.manifest import patch_files
from patcher.author.proof import Release
from patcher.engine.closest import Closest, Mark
from patcher.engine.explain import Explanation, MatchedPlace, Scope
from patcher.errors import SitepatchError, UsageError
from patcher.installed.index import Listing, NoPip, NoWheel
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import (
    Answer,
    FilePatch,
    HunkText,
    Located,
    Patchset,
    PatchsetSource,
    Plan,
    Requested,
    State,
    Variant,
    Verify,
)
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN
from patcher.text.diffs import diff_texts
from patcher.verbs import drafts, proving, update
from patcher.verbs.apply import apply
from patcher.verbs.console import Console, to_json
from patcher.verbs.explanations import (
    Elsewhere,
    HunkExplanation,
    explanation_row,
    explanations,
    hunk_json,
    scope_elsewhere,
)
from patcher.verbs.main import commands
from patcher.verbs.pages.releases import releases_page
from patcher.verbs.place import SILENT, Place
from patcher.verbs.releases import against, outcome, table
from patcher.verbs.releases.outcome import (
    NO_RELEASE,
    NO_WHEEL,
    NOT_FETCHED,
    OUT_OF_RANGE,
    Checked,
    PatchState,
    ReleaseOutcome,
)
from patcher.verbs.styles import style
from tests.records import metadata, with_record, write_files, write_patchset
from tests.verbs.kit import console

pytestmark = pytest.mark.once


def hunk(name="one", layer=0, *, scope="f", line=2, path="p/m.py", **more):
    return HunkText(f"/mine/{name}.spatch", line, scope, 1, False, (("-", "a()", line + 1), ("+", "print()", line + 2)), layer=layer, **more)


def patch(*hunks, path="p/m.py"):
    return FilePatch((path,), 1, hunks)


def patchset(*variants, remove_when="", **more):
    """A patchset of these variants; of one for demo and demo-lite where none is given."""
    variants = variants or (Variant("demo", ">=1,<2", (patch(hunk()),), distributions=("demo", "demo-lite")),)
    return Patchset("mine", "3", "fix", "It mends", "", {"remove_when": remove_when}, (), variants, Verify(), "", PatchsetSource("here"), more.get("files", {}))


def series(*names, **more):
    patches = tuple(patch(hunk(name, layer)) for layer, name in enumerate(names))
    return patchset(Variant("demo", ">=1,<2", patches, series=True), **more)


def answer(state="applicable", scope="f", path="p/m.py", **more):
    return Answer("mine", path, scope, State(state), **more)


def release(version, word="applicable", name="demo", *, answers=None, **more):
    states = {state.value for state in State}
    answers = ((answer(word),) if word in states else ()) if answers is None else answers
    return ReleaseOutcome(name, version, word, answers=answers, **more)


DIFF = diff_texts("/site", "p/m.py", b"def f():\n    a\n    c\n", b"def f():\n    b\n    c\n", ["mine"])
MARK = Mark(12, "A(a, 2)", 5, 6)
EXPLANATION = Explanation(
    hunk(),
    State.NOT_FOUND,
    "`f` is there, but the code to change is not",
    "write `2` there",
    scopes=(Scope("f", 1, 5), Scope("f", 7, 9)),
    matches=(MatchedPlace(3, "a" * 70, "f", (("$X", "x" * 70), ("$Y", "y"))),),
    elsewhere=(MatchedPlace(30, "a", "g", ()), MatchedPlace(40, "a", "", ())),
    closest=Closest(2, "a", 0.8, MARK, Mark(4, "\tA($X, 1)", 7, 8), "here the pattern has `1`", "write `2` there", 2),
)


# outcomes -------------------------------------------------------------------------------------------------------------
def test_a_release_fails_where_the_patchset_does_not_fit_and_cannot_go():
    words = [state.value for state in State] + [OUT_OF_RANGE, NO_RELEASE, NO_WHEEL, NOT_FETCHED]
    good = [word for word in words if not release("1", word).failed]
    assert good == ["applicable", "applied", "upstream", "not needed", "out of range"]
    assert not any(release("1", word, has_patch=True).failed for word in words)


def test_the_worst_state_of_any_hunk_is_that_of_all():
    ranked = [State(word) for word in ("conflict", "ambiguous", "not found", "applicable", "applied", "upstream", "not needed")]
    assert [outcome.overall(reversed(ranked[number:])) for number in range(8)] == [*ranked, State.NOT_NEEDED]
    assert outcome.state_of(Plan((), (answer("upstream"), answer("applied")))) is State.APPLIED


def test_what_comes_of_a_release_is_proven_where_it_reads_as_at_home_or_a_case_has_it():
    moved = DIFF._replace(text=DIFF.text.replace(b"-1,3 +1,3", b"-9,3 +9,3"))
    unlike = DIFF._replace(path="p/n.py", text=DIFF.text.replace(b"+    b", b"+    B"))
    there = release("2", diffs=(moved, unlike))
    results = [outcome.compared(there, [DIFF], sure) for sure in ((), {"p/n.py"}, {"p/m.py"})]
    assert [(result.unlike, result.proven) for result in results] == [((unlike,), False), ((unlike,), True), ((unlike,), False)]
    assert outcome.compared(release("2", diffs=(moved,)), [DIFF]).proven
    assert not outcome.compared(release("2", "not found"), [DIFF]).proven


def test_an_answer_about_a_whole_package_is_told_from_one_about_a_file():
    answers = [answer("not found", "", "demo"), answer("not found", "", "demo.py"), answer("not found", "", "p/m.py"), answer("not found", "f", "demo"), answer("applied", "", "demo")]
    assert [outcome.is_absent(item) for item in answers] == [True, False, False, False, False]


# tables ---------------------------------------------------------------------------------------------------------------
UNFIT = "p/m.py: f: why"
CHECKED = Checked(
    patchset(remove_when="demo >=1.5: it has it"),
    (
        release("0.9", OUT_OF_RANGE, problem="the patchset is for demo >=1,<2", hint="widen it"),
        release("1.0", places=(("p/m.py", (2, 9)), ("p/n.py", (1,))), diffs=(DIFF,), yanked=True),
        release("1.1", places=(("p/m.py", (3,)),)),
        release("1.2", "not found", problem=UNFIT, hint="hint one\nhint two"),
        release("1.3", "not found", problem=UNFIT, hint="hint one", answers=(answer(written=("mine/one.spatch", 7)), answer("not found", written=("mine/one.spatch", 2)))),
        release("1.4", "upstream", answers=(answer("upstream", written=("mine/one.spatch", 4)),)),
        release("1.5", NO_RELEASE, problem="the index has none"),
        release("1.6", NO_WHEEL, problem="only a source"),
        release("", NOT_FETCHED, "demo-lite", problem="no network"),
    ),
)
FAILED = HunkExplanation("/site", answer("not found", written=("/mine/two.spatch", 2)), EXPLANATION)
MISSING = PatchState("two", "not found", f"{UNFIT}\nat length", "one", (FAILED,) * 3)
SERIES = Checked(
    series("one", "two", "three", "four"),
    (
        release("1.0", "not found", answers=(), patches=(PatchState("one", "applicable"), MISSING)),
        release("1.1", "not found", answers=(), patches=(PatchState("one", "applicable"), MISSING)),
        release("1.2", patches=(PatchState("one", "upstream"), PatchState("three", "applied"))),
        release("1.3", OUT_OF_RANGE),
        release("1.4", patches=(PatchState("one", "upstream"), PatchState("three", "not needed"))),
    ),
)


def cells(rows):
    return [(row.word, *row.cells) for row in rows]


def test_a_heading_counts_the_releases_that_there_are_by_state():
    headings = [table.checked_heading(Checked(patchset(), outcomes)) for outcomes in (CHECKED.outcomes, (release("1"),), ())]
    assert headings == ["mine 3, 7 releases: out of range 1, applicable 2, not found 2, upstream 1, no wheel 1, not fetched 1", "mine 3, 1 release: applicable 1", "mine 3"]


def test_neighbours_with_one_answer_are_one_row_and_in_full_each_is_one():
    ends = [("upstream", "demo", "1.4", ""), ("no release", "demo", "1.5", "the index has none"), ("no wheel", "demo", "1.6", "only a source"), ("not fetched", "demo-lite", "", "no network")]
    head = ("out of range", "demo", "0.9", "the patchset is for demo >=1,<2")
    failed = [("not found", "demo", "1.2", UNFIT), ("not found", "demo", "1.3", UNFIT)]
    together = ("applicable", "demo", "1.0 to 1.1 (2 releases, 1 yanked)", "p/m.py  p/n.py")
    alone = [("applicable", "demo", "1.0 (yanked)", "p/m.py:2,9  p/n.py:1"), ("applicable", "demo", "1.1", "p/m.py:3")]
    assert cells(table.checked_rows(CHECKED, in_full=False)) == [head, together, *failed, *ends]
    assert cells(table.checked_rows(CHECKED, in_full=True)) == [head, *alone, *failed, *ends]
    assert cells(table.checked_rows(Checked(patchset(), (release("1"), release("2"))), in_full=False)) == [("applicable", "demo", "1 to 2 (2 releases)", "")]


def test_releases_of_several_distributions_or_problems_are_not_one_row():
    outcomes = [release("1"), release("1", name="demo-lite"), release("2", OUT_OF_RANGE, "demo-lite"), release("3", OUT_OF_RANGE, "demo-lite", problem="why")]
    assert table.folded(outcomes) == [(item,) for item in outcomes]


def test_a_patchset_can_go_with_the_release_that_it_names_or_the_first_of_those_that_have_it():
    had = [release("1", "upstream"), release("2"), release("3", has_patch=True), release("4", NOT_FETCHED), release("5", "upstream")]
    assert table.upstream_since(Checked(patchset(), tuple(had))) == {"mine": "demo 3"}
    assert table.upstream_since(Checked(patchset(), tuple(had[:2]))) == {}
    assert table.upstream_since(CHECKED) == {"mine": "demo 1.6"}
    assert table.upstream_since(SERIES) == {"one": "demo 1.2"}


def test_a_series_has_a_row_for_each_patch_and_a_column_for_each_answer():
    rows = table.series_rows(SERIES, verbose=False)
    assert cells(rows) == [
        ("patch", "1.0 to 1.1", "1.2", "1.4"),
        ("one", "applicable", "upstream", "upstream"),
        ("two", "not found", "-", "-"),
        ("three", "-", "applied", "not needed"),
        ("total", "1 of 2", "2 of 2", "2 of 2"),
        ("not found", "two", "demo 1.0 to 1.1"),
    ]
    lines = explanation_row(FAILED, 0).details[:-1]
    assert len(lines) == 15
    assert rows[-1].details == (UNFIT, *lines[:12])
    assert table.series_rows(SERIES, verbose=True)[-1].details == (UNFIT, *lines, *lines, *lines)
    assert table.series_rows(CHECKED, verbose=False) == []


def test_releases_are_shown_patchset_by_patchset_with_each_hint_once(capsys):
    for quiet, verbose in ((False, False), (True, False), (False, True)):
        table.show_releases(console(quiet=quiet, verbose=verbose), [CHECKED, SERIES])
        told = capsys.readouterr()
        lines = told.out.split("\n")
        assert lines[0] == table.checked_heading(CHECKED) and lines[lines.index("") + 1] == table.checked_heading(SERIES)
        since = [line.split(None, 1) for line in lines if "it can go" in line]
        assert since == ([] if quiet else [["upstream", "mine  since demo 1.6: it can go"], ["upstream", "one  since demo 1.2: it can go"]])
        assert told.err == ("" if quiet else "hint: widen it\nhint: hint one\nhint: hint two\n")
        assert ("(2 releases, 1 yanked)" in told.out, "1.0 (yanked)" in told.out) == (not verbose, verbose)
        assert told.out.count("elsewhere in this file: `<module>`") == (3 if verbose else 0)


def test_releases_as_json_have_what_was_found_and_nothing_internal():
    answered = to_json(table.checked_json(CHECKED))
    file = {"site": "/site", "path": "p/m.py", "patchsets": ["mine"], "before": DIFF.before, "after": DIFF.after, "added": 1, "removed": 1, "diff": DIFF.text.decode()}
    rest = {"hint": "", "yanked": False, "files": [], "has_patch": False, "problem": "", "places": [], "ok": True, "distribution": "demo"}
    unfit = {**rest, "ok": False, "problem": UNFIT, "state": "not found"}
    assert answered == {
        "name": "mine",
        "version": "3",
        "upstream_since": {"mine": "demo 1.6"},
        "releases": [
            {**rest, "version": "0.9", "state": "out of range", "problem": "the patchset is for demo >=1,<2", "hint": "widen it"},
            {**rest, "version": "1.0", "state": "applicable", "yanked": True, "files": [file], "places": [{"path": "p/m.py", "lines": [2, 9]}, {"path": "p/n.py", "lines": [1]}]},
            {**rest, "version": "1.1", "state": "applicable", "places": [{"path": "p/m.py", "lines": [3]}]},
            {**unfit, "version": "1.2", "hint": "hint one\nhint two"},
            {**unfit, "version": "1.3", "hint": "hint one"},
            {**rest, "version": "1.4", "state": "upstream"},
            {**rest, "version": "1.5", "state": "no release", "ok": False, "problem": "the index has none"},
            {**rest, "version": "1.6", "state": "no wheel", "ok": False, "problem": "only a source"},
            {**rest, "version": "", "state": "not fetched", "ok": False, "problem": "no network", "distribution": "demo-lite"},
        ],
    }
    assert "upstream_since" not in table.checked_json(Checked(patchset(), (release("1"),)))


def test_a_series_as_json_has_its_patches_where_they_are_known():
    answered = to_json(table.checked_json(SERIES))
    states = [[(item["name"], item["state"], item["problem"], item["other"], len(item["hunks"])) for item in row["patches"]] for row in answered["releases"] if "patches" in row]
    first = [("one", "applicable", "", "", 0), ("two", "not found", f"{UNFIT}\nat length", "one", 3)]
    assert states == [first, first, [("one", "upstream", "", "", 0), ("three", "applied", "", "", 0)], [("one", "upstream", "", "", 0), ("three", "not needed", "", "", 0)]]
    assert ["patches" in row for row in answered["releases"]] == [True, True, True, False, True]
    nothing = Checked(SERIES.patchset, (release("0.9", OUT_OF_RANGE), release("1.0", patches=(PatchState("one", "applied"),))))
    assert table.checked_json(nothing)["upstream_since"] == {}


def test_annotations_stand_beside_the_hunk_or_the_manifest_that_they_are_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    answers = [answer("not found", written=("mine/one.spatch", 2), problem="why", hint="do"), answer("conflict", "", "demo"), answer("not found", "", "demo"), answer("upstream", written=("mine/one.spatch", 3)), answer()]
    notes = table.github(answers, [CHECKED._replace(outcomes=CHECKED.outcomes[:-1])], {"mine": "mine/patchset.toml"})
    assert [str(note) for note in notes] == [
        "::error file=mine/one.spatch,line=2,title=mine does not fit p/m.py f::not found: why%0Ado",
        "::error title=mine does not fit demo::conflict: conflict",
        "::error file=mine/patchset.toml,title=mine does not fit demo::not found: not found",
        "::notice file=mine/one.spatch,line=3,title=mine can go::p/m.py f has its change already",
        f"::error file=mine/patchset.toml,title=mine does not fit demo 1.2::not found: {UNFIT}%0Ahint one%0Ahint two",
        f"::error file=mine/one.spatch,line=2,title=mine does not fit demo 1.3::not found: {UNFIT}%0Ahint one",
        "::notice file=mine/one.spatch,line=4,title=mine can go::demo 1.4 has its change already",
        "::error title=mine does not fit demo 1.5::no release: the index has none",
        "::error title=mine does not fit demo 1.6::no wheel: only a source",
        "::notice title=sitepatch check::4 answers in order",
    ]
    assert table.github([], [], {}) == [] and table.github([answer()], [], {}) == ["::notice title=sitepatch check::1 answer in order"]


# explanations ---------------------------------------------------------------------------------------------------------
SHORT = f"{'x' * 29}…{'x' * 29}"
CLOSEST = ["  code     2 | a", "  code    12 | A(a, 2)", "             |      ^", "  pattern  4 | \tA($X, 1)", "             | \t      ^"]


def below(explanation, *more, state=None, diff=b"", elsewhere=(), **fields):
    """The lines below the row of a hunk with the problem `p`, as they are read."""
    state = state or explanation.state.value
    explained = HunkExplanation("/site", answer(state, problem="p", **fields), explanation, diff, elsewhere)
    first, *lines = [click.unstyle(line) for line in explanation_row(explained, *more).details]
    assert (first, lines[0], lines[-1]) == ("hunk one.spatch:2", "p", "")
    return lines[1:-1]


def test_a_hunk_that_is_not_found_is_explained_by_all_that_is_known():
    explained = HunkExplanation("/site", answer("not found", places=(3, 4), problem=f"p {'q' * 50} {'r' * 50}", hint="h"), EXPLANATION, DIFF.text, (Elsewhere("p/o.py", 7), Elsewhere("q/m.py", 0)))
    row = explanation_row(explained._replace(explanation=EXPLANATION._replace(matches=(MatchedPlace(3, "a", "f", (("$X", "x" * 70), ("$Y", "y"))),))))
    assert row[:2] == ("not found", ("p/m.py:3,4", "f"))
    assert [click.unstyle(line) for line in row.details] == [
        "hunk one.spatch:2",
        f"p {'q' * 50}",
        "r" * 50,
        "searched: `f`, lines 1 to 5, `f`, lines 7 to 9",
        f"  $X = {SHORT}",
        "  $Y = y",
        "closest, 80% of the pattern:",
        *CLOSEST,
        "here the pattern has `1` (and 2 more)",
        "elsewhere in this file: `g`, line 30: a",
        "elsewhere in this file: `<module>`, line 40: a",
        "`f` stands in p/o.py:7",
        "a file of that name: q/m.py",
        "  @@ -1,3 +1,3 @@",
        "   def f():",
        "  -    a",
        "  +    b",
        "       c",
        "hint: h",
        "",
    ]
    elsewhere = FAILED._replace(explanation=EXPLANATION._replace(hunk=hunk()._replace(origin="C:\\mine\\one.spatch")))
    assert explanation_row(elsewhere).details[0] == "hunk one.spatch:2"
    assert explanation_row(HunkExplanation("", answer("not found", "", problem="gone"))) == ("not found", ("p/m.py", ""), ("gone", ""))


def test_what_is_said_of_a_hunk_depends_on_its_state():
    bare = EXPLANATION._replace(closest=None, elsewhere=())
    matched = [f"line 3: {'a' * 29}…{'a' * 29}", f"  $X = {SHORT}", "  $Y = y"]
    assert below(bare._replace(state=State.APPLICABLE)) == matched
    assert below(bare._replace(state=State.APPLICABLE), diff=DIFF.text)[:2] == matched[1:]
    assert below(bare._replace(state=State.APPLIED)) == ["recorded in the receipt of this file; its code before the change:", *matched]
    empty = bare._replace(matches=(), scopes=())
    for state in (State.NOT_FOUND, State.NOT_NEEDED):
        assert below(empty._replace(state=state, near=("g", "h"))) == ["the file has `g`, `h`"]
        assert below(empty._replace(state=state)) == []
    assert below(empty._replace(state=State.UPSTREAM, near=("g",))) == []
    scopes = tuple(Scope(name, 1, 2) for name in "abcde")
    assert below(empty._replace(scopes=scopes)) == ["searched: `a`, lines 1 to 2, `b`, lines 1 to 2, `c`, lines 1 to 2, `d`, lines 1 to 2"]


def test_the_code_that_is_closest_is_shown_where_it_differs_first():
    found = EXPLANATION._replace(elsewhere=(), matches=(), scopes=(), near=("g", "h"))
    assert below(found) == ["the file has `g`, `h`", "closest in `g`, 80% of the pattern:", *CLOSEST, "here the pattern has `1` (and 2 more)"]
    nearby = found.closest._replace(line=12, more=0, likeness=0.666, code=Mark(12, "A(a\x07, 2)", 3, 4), pattern=Mark(104, "\u4e2dx", 1, 1))
    assert below(found._replace(near=(), closest=nearby)) == [
        "closest, 67% of the pattern:",
        "  code     12 | A(a\u2407, 2)",
        "              |    ^",
        "  pattern 104 | \u4e2dx",
        "              |   ^",
        "here the pattern has `1`",
    ]


def test_the_forms_of_a_hunk_that_do_not_count_are_explained_where_none_does():
    form = EXPLANATION._replace(hunk=hunk(line=9), problem="", matches=())
    further = form._replace(hunk=hunk(line=12), problem="not there", scopes=(), near=("g",), closest=None)
    bare = EXPLANATION._replace(matches=(), scopes=(), elsewhere=(), closest=None, forms=(EXPLANATION, form, further))
    said = ["another form of it, line 9: not found", "another form of it, line 12: not there"]
    details = ["searched: `f`, lines 1 to 5, `f`, lines 7 to 9", "closest, 80% of the pattern:", *CLOSEST, "here the pattern has `1` (and 2 more)"]
    assert below(bare) == [said[0], *details, said[1], "the file has `g`"]
    assert below(bare._replace(state=State.UPSTREAM)) == said


def test_a_long_diff_is_cut_and_a_command_shows_the_rest():
    long = diff_texts("/site", "p/m.py", b"", b"a\n" * 30).text
    lines = ["  @@ -0,0 +1,30 @@", *["  +a"] * 30]
    applied = EXPLANATION._replace(state=State.APPLICABLE, matches=(), elsewhere=(), closest=None)
    assert below(applied, 31, diff=long) == lines
    assert below(applied, 30, diff=long) == [*lines[:30], "  … 1 more: sitepatch diff mine"]
    assert below(applied, diff=long) == [*lines[:20], "  … 11 more: sitepatch diff mine"]


def test_a_hunk_as_json_has_all_that_is_known():
    form = EXPLANATION._replace(hunk=hunk(line=9, scope="g"), problem="", hint="", matches=(), closest=None)
    explained = HunkExplanation("/site", answer("not found", places=(3, 4), problem="p", hint="h", when_present=True), EXPLANATION._replace(forms=(EXPLANATION, form), near=("k",)), DIFF.text, (Elsewhere("p/o.py", 7),))
    closest = {"line": 2, "text": "a", "likeness": 0.8, "code": MARK._asdict(), "pattern": EXPLANATION.closest.pattern._asdict(), "words": "here the pattern has `1`", "hint": "write `2` there", "more": 2}
    scopes = [{"name": "f", "first": 1, "last": 5}, {"name": "f", "first": 7, "last": 9}]
    known = {"line": 2, "scopes": scopes, "near": [], "matches": [{"line": 3, "text": "a" * 70, "scope": "f", "names": {"$X": "x" * 70, "$Y": "y"}}], "closest": closest}
    assert to_json(hunk_json(explained)) == {
        **known,
        "near": ["k"],
        "site": "/site",
        "path": "p/m.py",
        "scope": "f",
        "state": "not found",
        "places": [3, 4],
        "problem": "p",
        "hint": "h",
        "when_present": True,
        "origin": "/mine/one.spatch",
        "forms": [
            {**known, "scope": "f", "state": "not found", "problem": EXPLANATION.problem, "hint": "write `2` there"},
            {**known, "line": 9, "scope": "g", "state": "not found", "problem": "", "hint": "", "matches": [], "closest": None},
        ],
        "elsewhere": [{"path": "p/m.py", "line": 30, "scope": "g"}, {"path": "p/m.py", "line": 40, "scope": ""}, {"path": "p/o.py", "line": 7, "scope": "f"}],
        "diff": DIFF.text.decode(),
    }
    nothing = {"line": 0, "scopes": [], "near": [], "matches": [], "closest": None, "origin": "", "forms": [], "elsewhere": [], "diff": ""}
    bare = {"site": "", "path": "p/m.py", "scope": "f", "state": "conflict", "places": [], "problem": "", "hint": "", "when_present": False}
    assert to_json(hunk_json(HunkExplanation("", answer("conflict")))) == {**nothing, **bare}


def test_a_scope_that_moved_is_found_in_the_other_files_of_its_package(tmp_path):
    files = {"a.py": "class C:\n    async  def f(self): pass\n", "b.py": "x = 1\n\ndef f(): pass\n\nclass C:\n    pass\n", "m.py": "class C:\n    def f(self): pass\n", "n.py": "# def f\nclass C:\n    f = 1\n"}
    (tmp_path / "p/sub").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "p" / name).write_text(text)
    assert scope_elsewhere(str(tmp_path), "p/m.py", "C.f") == (Elsewhere("p/a.py", 2),)
    assert scope_elsewhere(str(tmp_path), "p/m.py", "f") == (Elsewhere("p/b.py", 3),)
    assert scope_elsewhere(str(tmp_path), "p/m.py", "<module>") == scope_elsewhere(str(tmp_path), "p/m.py", "C.*") == scope_elsewhere(str(tmp_path), "p/m.py", "g") == ()
    for number in range(6):
        (tmp_path / f"p/c{number}.py").write_text("def g(): pass\n\ndef g(): pass\n")
    assert scope_elsewhere(str(tmp_path), "p/m.py", "g") == tuple(Elsewhere(f"p/c{number}.py", line) for number in range(3) for line in (1, 3))[:5]


def installed(folder, **texts):
    """A directory with the package p of these modules."""
    (folder / "site/p").mkdir(parents=True)
    for name, text in {"__init__": "", **texts}.items():
        (folder / f"site/p/{name}.py").write_text(text)
    return Environment.alone(str(folder / "site"))


def of_p(*hunks, path="p/m.py", **more):
    """What is requested of a patchset for p of hunks in one file."""
    return Requested(patchset(Variant("p", "", (patch(*hunks, path=path),)), **more), {})


def test_a_file_that_is_gone_is_explained_by_where_its_scope_and_its_name_are(tmp_path):
    env = installed(tmp_path, n="\ndef f(): pass\n")
    (tmp_path / "site/p/sub").mkdir()
    (tmp_path / "site/p/sub/m.py").write_text("")
    hunks, notes = explanations(env, of_p(hunk()))
    assert [(explained.site, explained.answer.state, explained.explanation, explained.elsewhere) for explained in hunks] == [
        (str(tmp_path / "site"), State.NOT_FOUND, None, (Elsewhere("p/n.py", 2), Elsewhere("p/sub/m.py", 0))),
    ]
    for name in "abcd":
        (tmp_path / "site/p" / name).mkdir()
        (tmp_path / "site/p" / name / "m.py").write_text("")
    assert explanations(env, of_p(hunk()))[0][0].elsewhere == (Elsewhere("p/n.py", 2), *(Elsewhere(f"p/{name}/m.py", 0) for name in "abcd"))
    assert notes == [f"no RECORD lists p in {tmp_path / 'site'}: nothing proves that its files are as upstream shipped them; nothing tells its version"]


def test_the_file_of_a_whole_package_is_no_other_place_of_one_that_is_gone(tmp_path):
    env = installed(tmp_path)
    (tmp_path / "site/p/new").mkdir()
    (tmp_path / "site/p/new/__init__.py").write_text("")
    assert explanations(env, of_p(hunk(), path="p/old/__init__.py"))[0][0].elsewhere == (Elsewhere("p/new/__init__.py", 0),)


def test_a_scope_that_is_gone_is_looked_for_where_the_file_has_neither_it_nor_its_code(tmp_path):
    env = installed(tmp_path, m="def g():\n    x\n", n="def f(): pass\n")
    ((explained,), _) = explanations(env, of_p(hunk()))
    assert (explained.answer.state, explained.elsewhere, explained.diff) == (State.NOT_FOUND, (Elsewhere("p/n.py", 1),), b"")
    (tmp_path / "site/p/m.py").write_text("def g():\n    a()\n")
    ((explained,), _) = explanations(env, of_p(hunk()))
    assert (explained.elsewhere, [place.line for place in explained.explanation.elsewhere]) == ((), [2])
    (tmp_path / "site/p/m.py").write_text("def f():\n    x\n")
    assert explanations(env, of_p(hunk()))[0][0].elsewhere == ()


def test_what_a_hunk_alone_changes_is_its_diff(tmp_path):
    env = installed(tmp_path, m="def f():\n    a()\n\n\ndef g():\n    x()\n")
    head = b"--- a/p/m.py\n+++ b/p/m.py\n"
    told = [(explained.answer.state.value, explained.answer.places, explained.diff) for explained in explanations(env, of_p(hunk()))[0]]
    assert told == [("applicable", (2,), head + b"@@ -1,5 +1,5 @@\n def f():\n-    a()\n+    print()\n \n \n def g():\n")]
    layers = [hunk(), hunk(scope="g", line=8, layer=1)._replace(lines=(("-", "x()", 9), ("+", "len()", 10))), hunk(line=12, layer=2)._replace(lines=(("-", "print()", 13), ("+", "len()", 14)))]
    told = [(explained.answer.state.value, explained.answer.places, explained.diff) for explained in explanations(env, of_p(*layers))[0]]
    assert [state for state, _, _ in told] == ["applicable"] * 3
    assert [places for _, places, _ in told] == [(2,), (6,), (2,)]
    assert told[2][2] == head + b"@@ -1,5 +1,5 @@\n def f():\n-    print()\n+    len()\n \n \n def g():\n"
    (tmp_path / "site/p/m.py").write_text("def f():\n    a()\n\n\ndef g():\n    print()\n")
    told = [(explained.answer.state.value, explained.explanation and explained.explanation.state.value, explained.diff != b"") for explained in explanations(env, of_p(hunk(), hunk(scope="g", line=8)))[0]]
    assert told == [("applicable", "applicable", True), ("conflict", "upstream", False)]


def test_of_what_is_applied_the_lines_are_those_of_the_file_now(tmp_path):
    env = installed(tmp_path, m="import os\n\n\ndef f():\n    a()\n    z()\n\n\ndef g():\n    b()\n    c()\n")
    spatch = "--- p/m.py\n@@ f @@\n-a()\n+print(1)\n@@ g @@\n c()\n+len(2)\n@@ g @@ when-present\n-q($X)\n+max($X)\n"
    later = "--- p/m.py\n@@ f @@\n+min(1)\n+min(2)\n print(1)\n"
    for name, kind, text in (("one", "fix", spatch), ("two", "debug", later), ("rival", "debug", "--- p/m.py\n@@ f @@\n-a()\n+sum(2)\n"), ("three", "debug", "--- p/m.py\n@@ f @@\n-z()\n+sum(1)\n")):
        write_patchset(tmp_path / "mine", name, text, "p", kind=kind)
    apply(("one", "two"), place=Place(target=tmp_path / "site", patch_dirs=(str(tmp_path / "mine"),)), verify="none")

    def explained(name):
        requested = Requested(load_patchset(tmp_path / "mine" / name, BUILT_IN), {})
        return [(item.answer.state.value, item.answer.places, item.answer.problem[:17], item.diff.decode().split("\n")[2:]) for item in explanations(env, requested)[0]]

    assert explained("one") == [
        ("applied", (7,), "", ["@@ -2,7 +2,7 @@", " ", " ", " def f():", "-    a()", "+    print(1)", "     z()", " ", " ", ""]),
        ("applied", (14,), "", ["@@ -9,3 +9,4 @@", " def g():", "     b()", "     c()", "+    len(2)", ""]),
        ("not needed", (), "the code that it ", []),
    ]
    ((state, places, _, diff),) = explained("rival")
    assert (state, places, diff) == ("conflict", (), [])
    assert [told[:3] for told in explained("two") + explained("three")] == [("applied", (5,), ""), ("applicable", (6,), "")]


# drafts ---------------------------------------------------------------------------------------------------------------
REJECTED = Rejected("@@ f @@\n-a\n", "it is in two places")
DRAFT = Draft(
    (
        DraftFile(("p/m.py", "p/n.py"), (DraftHunk("@@ f @@\n-a\n+b\n", 4, "as it is", (REJECTED,)), DraftHunk("@@ g @@\n+c\n", 9, "loose")), (LeftOut("p/m.py", 7, "-# x\n+# y\n", "a comment"),)),
        DraftFile(("p/o.py",), (), (LeftOut("p/o.py", 0, "", "no syntax", code=False),)),
        DraftFile(("p/new.py",), (DraftHunk("+a\n", 1, "a file that is added"),)),
    )
)


def test_hunks_are_shown_file_by_file_and_with_verbose_what_was_not_taken(capsys):
    shown = {}
    for verbose in (False, True):
        drafts.show_hunks(console(verbose=verbose), DRAFT)
        shown[verbose] = click.unstyle(capsys.readouterr().out).split("\n")
    lines = ["", "--- p/m.py or p/n.py", "@@ f @@", "-a", "+b", "  # line 4: as it is", "@@ g @@", "+c", "  # line 9: loose", "", "+++ p/new.py", "+a", "  # line 1: a file that is added", ""]
    assert shown == {False: lines, True: [*lines[:6], "  # not taken, as it is in two places:", "  # @@ f @@", "  # -a", *lines[6:]]}
    drafts.show_hunks(console(quiet=True), DRAFT)
    assert capsys.readouterr().out == ""


def test_hunks_are_shown_in_colours_and_not_in_a_pager(monkeypatch):
    pages = []
    monkeypatch.setattr(Console, "page", lambda where, lines, **more: pages.append((lines, more)))
    drafts.show_hunks(console(), Draft(DRAFT.files[2:]))
    drafts.show_hunks(console(quiet=True), DRAFT)
    assert pages == [(["", style("+++ p/new.py", bold=True), style("+a", fg="green"), "  # line 1: a file that is added"], {"pager": False}), ([], {"pager": False})]


def test_a_draft_is_told_as_rows_and_as_json():
    assert [(row.word, row.cells, tuple(map(click.unstyle, row.details))) for row in drafts.left_rows(DRAFT)] == [
        ("not captured", ("p/m.py:7", "a comment"), ("-# x", "+# y")),
        ("not captured", ("p/o.py", "no syntax"), ()),
    ]
    assert drafts.left_json(DRAFT) == [{"path": "p/m.py", "line": 7, "text": "-# x\n+# y\n", "why": "a comment"}, {"path": "p/o.py", "line": 0, "text": "", "why": "no syntax"}]
    assert to_json(drafts.hunks_json(DRAFT)) == [
        {"paths": ["p/m.py", "p/n.py"], "text": "@@ f @@\n-a\n+b\n", "line": 4, "form": "as it is", "lost": [REJECTED._asdict()]},
        {"paths": ["p/m.py", "p/n.py"], "text": "@@ g @@\n+c\n", "line": 9, "form": "loose", "lost": []},
        {"paths": ["p/new.py"], "text": "+a\n", "line": 1, "form": "a file that is added", "lost": []},
    ]
    assert [drafts.number_of_hunks(draft) for draft in (DRAFT, Draft(DRAFT.files[2:]), Draft(()))] == ["3 hunks", "1 hunk", "0 hunks"]


def test_further_releases_are_told_as_rows_and_as_json():
    outcomes = [release("1", proven=True), release("2", unlike=(DIFF, DIFF)), release("3", "upstream"), release("4", "not found", problem=UNFIT)]
    assert drafts.release_rows(outcomes) == [
        ("applicable", ("demo 1", "proven"), ()),
        ("applicable", ("demo 2", "fits"), ()),
        ("upstream", ("demo 3",), ()),
        ("not found", ("demo 4",), (UNFIT,)),
    ]
    rest = {"distribution": "demo", "proven": False, "diff": b"", "problem": ""}
    assert [drafts.release_json(item) for item in outcomes] == [
        {**rest, "version": "1", "state": "applicable", "proven": True},
        {**rest, "version": "2", "state": "applicable", "diff": DIFF.text * 2},
        {**rest, "version": "3", "state": "upstream"},
        {**rest, "version": "4", "state": "not found", "problem": UNFIT},
    ]


def test_what_code_that_differs_becomes_is_for_a_reader_alone(capsys, monkeypatch):
    for plain, quiet, said in ((False, False, 1), (True, False, 0), (False, True, 0)):
        monkeypatch.setattr(Console, "plain", plain)
        drafts.show_unlike(console(quiet=quiet), [release("1"), release("2", unlike=(DIFF,))])
        assert capsys.readouterr().out.count("in demo 2, whose code differs") == said


def test_the_editor_is_visual_else_editor_and_what_goes_wrong_is_told(tmp_path, monkeypatch):
    calls = []

    def call(words, cwd):
        calls.append((words, cwd))
        return 0 if words[0] == "ok" else 3

    monkeypatch.setattr("subprocess.call", call)
    monkeypatch.setenv("VISUAL", "ok --wait 'a b'")
    monkeypatch.setenv("EDITOR", "bad")
    drafts.open_editor(tmp_path, "m.py")
    drafts.open_editor(tmp_path)
    assert calls == [(["ok", "--wait", "a b", "m.py"], str(tmp_path)), (["ok", "--wait", "a b", "."], str(tmp_path))]
    problems = []
    for visual, editor in ((" ", "bad"), ("", "'x"), ("", " ")):
        monkeypatch.setenv("VISUAL", visual)
        monkeypatch.setenv("EDITOR", editor)
        with pytest.raises(SitepatchError) as caught:
            drafts.open_editor(tmp_path)
        problems.append((caught.value.message, caught.value.hint))
    assert problems == [
        ("EDITOR=bad: it ended with exit code 3, nothing was captured", ""),
        ("EDITOR='x: it could not be run: No closing quotation", "set EDITOR to an editor"),
        ("found no editor: neither VISUAL nor EDITOR is set", "EDITOR=vi, say"),
    ]


def test_copies_are_removed_once_what_was_made_of_them_worked(tmp_path, monkeypatch, capsys):
    def raises(error):
        raise error

    monkeypatch.setattr(drafts, "open_editor", lambda folder, file: None)
    said = "the copies are kept; go on with: update"
    for number, run in enumerate((lambda: 0, lambda: 1)):
        (tmp_path / "copies").mkdir(exist_ok=True)
        assert drafts.edit_copies(console(), tmp_path / "copies", "m.py", "update", run) == number
        assert ((tmp_path / "copies").exists(), capsys.readouterr().err) == (bool(number), f"note: {said}\n" * number)
    for hint, told in (("", said), ("h", f"h\n{said}")):
        with pytest.raises(SitepatchError) as caught:
            drafts.edit_copies(console(), tmp_path / "copies", "", "update", lambda hint=hint: raises(SitepatchError("no", hint)))
        assert (caught.value.hint, (tmp_path / "copies").exists()) == (told, True)


def test_what_was_written_is_said_with_what_applies_it(tmp_path, capsys):
    for quiet in (False, True):
        drafts.show_written(console(quiet=quiet), "captured", "2 hunks", patchset())
        for folder in (Path("patchsets/mine"), Path("other/mine")):
            drafts.show_how_to_apply(console(quiet=quiet), "mine", folder)
    assert capsys.readouterr().out.splitlines() == [
        "captured  2 hunks, for demo >=1,<2",
        "apply it with: sitepatch apply mine",
        "apply it with: sitepatch apply mine --patch-dir other",
    ]


# pages ----------------------------------------------------------------------------------------------------------------
OTHER = diff_texts("/site", "p/n.py", b"a\n", b"b\n", ["mine"])
MOVED = diff_texts("/site", "p/m.py", b"\ndef f():\n    a\n    c\n", b"\ndef f():\n    b\n    c\n", ["mine"])
PAGE = """
<h2 id="mine">mine 3, 7 releases: out of range 1, applicable 3, not found 2, not fetched 1</h2>
<p class="soft">It mends</p>
<details open>
<summary>A row is a release, a numbered column a hunk; the last column leads to what changes. The hunks:</summary>
<ol class="columns">
<li><code>p/m.py f</code></li>
<li><code>p/m.py g</code></li>
<li><code>p/m.py g</code></li>
<li><code>p/o.py</code></li></ol></details>
<table class="matrix">
<caption>demo</caption><thead>
<tr><th scope="col">release</th><th scope="col" title="p/m.py f">1</th><th scope="col" title="p/m.py g">2</th><th scope="col" title="p/m.py g">3</th><th scope="col" title="p/o.py">4</th><th scope="col">change</th></tr></thead>
<tbody>
<tr id="mine:demo-1.2"><th scope="row">1.2</th><td class="bad">✗<span class="word"> not found</span> <a href="#mine%3Areason-2" title="`f` is there, but the code to change is not">reason 2</a></td><td class="bad">✗<span class="word"> not found</span> <a href="#mine%3Areason-2" title="`f` is there, but the code to change is not">reason 2</a></td><td></td><td class="same">–<span class="word"> not needed</span></td><td class="change"></td></tr></tbody></table>
<details>
<summary>demo: 4 releases in which nothing fails</summary>
<table class="matrix">
<caption>demo</caption><thead>
<tr><th scope="col">release</th><th scope="col" title="p/m.py f">1</th><th scope="col" title="p/m.py g">2</th><th scope="col" title="p/m.py g">3</th><th scope="col" title="p/o.py">4</th><th scope="col">change</th></tr></thead>
<tbody>
<tr id="mine:demo-0.9"><th scope="row">0.9</th><td class="out" colspan="4">·<span class="word"> out of range</span> <a href="#mine%3Areason-1" title="for demo &gt;=1,&lt;2">reason 1</a></td><td class="change"></td></tr>
<tr id="mine:demo-1.0"><th scope="row">1.0</th><td class="good">✓<span class="word"> applicable</span></td><td class="good">✓<span class="word"> applicable</span></td><td class="good">✓<span class="word"> applicable</span></td><td></td><td class="change"><a href="#mine%3Achange-1">1</a> <a href="#mine%3Achange-2">2</a></td></tr>
<tr id="mine:demo-1.1"><th scope="row"><span class="yanked">1.1</span> yanked</th><td class="good">✓<span class="word"> applicable</span></td><td class="same">=<span class="word"> upstream</span></td><td></td><td></td><td class="change"><a href="#mine%3Achange-1">1</a></td></tr>
<tr id="mine:demo-1.3"><th scope="row">1.3</th><td class="good">✓<span class="word"> applicable</span></td><td></td><td></td><td></td><td class="change"><a href="#mine%3Achange-1">1</a></td></tr></tbody></table></details>
<table class="matrix">
<caption>demo-lite</caption><thead>
<tr><th scope="col">release</th><th scope="col" title="p/m.py f">1</th><th scope="col" title="p/m.py g">2</th><th scope="col" title="p/m.py g">3</th><th scope="col" title="p/o.py">4</th><th scope="col">change</th></tr></thead>
<tbody>
<tr id="mine:demo-lite-2.0"><th scope="row">2.0</th><td class="bad" colspan="4">✗<span class="word"> not fetched</span> <a href="#mine%3Areason-3" title="no network">reason 3</a></td><td class="change"></td></tr>
<tr id="mine:demo-lite-2.1"><th scope="row">2.1</th><td class="bad">✗<span class="word"> not found</span> <a href="#mine%3Areason-2" title="`f` is there, but the code to change is not">reason 2</a></td><td></td><td></td><td></td><td class="change"></td></tr></tbody></table>
<h3>Reasons</h3>
<ol class="reasons">
<li id="mine:reason-1">for demo &gt;=1,&lt;2 <span class="soft">1 release: demo 0.9</span></li>
<li id="mine:reason-2"><code>f</code> is there, but the code to change is not<pre>at length
hint: write it</pre> <span class="soft">2 releases: demo 1.2; demo-lite 2.1</span></li>
<li id="mine:reason-3">no network <span class="soft">1 release: demo-lite 2.0</span></li></ol>
<h3 id="mine:change-1">Change 1</h3>
<p>shown as in 1.3; <span class="soft">3 releases: demo 1.0 to 1.1 (yanked), 1.3</span></p>
<section class="file" id="mine:change-1:p/m.py">
<h4 class="path"><a href="#mine%3Achange-1%3Ap/m.py">p/m.py</a> <span><span class="plus">+1</span> <span class="minus">−1</span></span></h4>
<div class="hunk" id="mine:change-1:p/m.py:f" tabindex="-1">
<h4><a href="#mine%3Achange-1%3Ap/m.py%3Af">@@ -1,4 +1,4 @@</a><b>f</b></h4>
<div class="l"><i>1</i><i>1</i><code></code></div>
<div class="l"><i>2</i><i>2</i><code><span class="k">def </span><span class="f">f</span>():</code></div>
<div class="run"><del class="l"><i>3</i><i></i><code class="i1">    a</code></del><ins class="l"><i></i><i>3</i><code class="i1">    b</code></ins></div>
<div class="l"><i>4</i><i>4</i><code class="i1">    c</code></div></div></section>
<h3 id="mine:change-2">Change 2</h3>
<p>shown as in 1.0; <span class="soft">1 release: demo 1.0</span></p>
<section class="file" id="mine:change-2:p/n.py">
<h4 class="path"><a href="#mine%3Achange-2%3Ap/n.py">p/n.py</a> <span><span class="plus">+1</span> <span class="minus">−1</span></span></h4>
<div class="hunk" id="mine:change-2:p/n.py:" tabindex="-1">
<h4><a href="#mine%3Achange-2%3Ap/n.py%3A">@@ -1 +1 @@</a></h4>
<div class="run"><del class="l"><i>1</i><i></i><code>a</code></del><ins class="l"><i></i><i>1</i><code>b</code></ins></div></div></section>
"""
SERIES_PAGE = """
<h2 id="mine">mine 3, 3 releases: not found 2, applicable 1</h2>
<p class="soft">It mends</p>
<details open>
<summary>A row is a release, a numbered column a hunk; the last column leads to what changes. The hunks:</summary>
<ol class="columns">
<li><code>p/m.py f</code></li></ol></details>
<p>A row is a patch of the series, a column is a release, or several with the same answers.</p>
<table class="matrix"><thead>
<tr><th scope="col">patch</th><th scope="col">1.0 to 1.1</th><th scope="col">1.2</th></tr></thead>
<tbody>
<tr><th scope="row">two</th><td class="bad" title="why">✗<span class="word"> not found</span></td><td></td></tr></tbody></table>
<details>
<summary>1 patch in which nothing fails</summary>
<table class="matrix"><thead>
<tr><th scope="col">patch</th><th scope="col">1.0 to 1.1</th><th scope="col">1.2</th></tr></thead>
<tbody>
<tr><th scope="row" title="upstream since demo 1.2">one</th><td class="good">✓<span class="word"> applicable</span></td><td class="same">=<span class="word"> upstream</span></td></tr></tbody></table></details>
<table class="matrix">
<caption>demo</caption><thead>
<tr><th scope="col">release</th><th scope="col" title="p/m.py f">1</th></tr></thead>
<tbody>
<tr id="mine:demo-1.0"><th scope="row">1.0</th><td class="bad">✗<span class="word"> not found</span></td></tr>
<tr id="mine:demo-1.1"><th scope="row">1.1</th><td class="bad">✗<span class="word"> not found</span></td></tr></tbody></table>
<details>
<summary>demo: 1 release in which nothing fails</summary>
<table class="matrix">
<caption>demo</caption><thead>
<tr><th scope="col">release</th><th scope="col" title="p/m.py f">1</th></tr></thead>
<tbody>
<tr id="mine:demo-1.2"><th scope="row">1.2</th><td class="good">✓<span class="word"> applicable</span></td></tr></tbody></table></details>
"""


def page(*results):
    """What a page shows below its legend, a line for each element that is no word."""
    text = releases_page("Releases", results).decode()
    start = text.index("</p>") + len("</p>")
    return re.sub(r">(?=<(?!/|span|code|a |b>|i>|t[hd]|d?e?l?i?n?s? class=.l))", ">\n", text[start : text.index("</main>")]).split("\n")


def test_a_page_of_releases_has_a_table_and_below_it_each_reason_and_each_change_once():
    why = {"problem": "`f` is there, but the code to change is not\nat length", "hint": "write it"}
    outcomes = (
        release("0.9", OUT_OF_RANGE, problem="for demo >=1,<2"),
        release("1.0", answers=(answer(), answer(scope="g"), answer(scope="g")), diffs=(DIFF, OTHER)),
        release("1.1", answers=(answer(), answer("upstream", "g")), diffs=(DIFF,), yanked=True),
        release("1.2", "not found", answers=(answer("not found", **why), answer("not found", "g", **why), answer("not needed", "", "p/o.py"))),
        release("1.3", diffs=(MOVED,)),
        release("2.0", NOT_FETCHED, "demo-lite", problem="no network"),
        release("2.1", "not found", "demo-lite", answers=(answer("not found", **why),)),
    )
    assert page(Checked(patchset(), outcomes)) == PAGE.split("\n")[1:-1]


def test_a_page_of_a_series_has_a_row_for_each_patch():
    states = [("1.0", "not found", (PatchState("one", "applicable"), PatchState("two", "not found", "why"))), ("1.1", "not found", (PatchState("one", "applicable"), PatchState("two", "not found", "why"))), ("1.2", "applicable", (PatchState("one", "upstream"),))]
    checked = Checked(series("one", "two"), tuple(release(version, word, patches=patches) for version, word, patches in states))
    assert page(checked, checked)[:len(SERIES_PAGE.split("\n")) - 2] == SERIES_PAGE.split("\n")[1:-1]
    assert '<h2 id="mine~2">mine 3, 3 releases: not found 2, applicable 1</h2>' in page(checked, checked)


def test_a_page_lists_few_hunks_at_once_and_many_where_they_are_asked_for():
    for number, opened in ((6, "<details open>"), (7, "<details>")):
        lines = page(Checked(patchset(), (release("1", answers=tuple(answer(scope=f"f{at}") for at in range(number))),)))
        assert (lines[2], sum(line.startswith("<li>") for line in lines)) == (opened, number)
    for number, span in ((1, ""), (2, ' colspan="2"')):
        answers = tuple(answer(scope=f"f{at}") for at in range(number))
        assert f'<td class="bad"{span}>✗<span class="word"> no wheel' in "".join(page(Checked(patchset(), (release("1", answers=answers), release("2", NO_WHEEL)))))
    assert not any("details" in line or "change" in line for line in page(Checked(patchset(), (release("1", NO_WHEEL), release("2", NO_WHEEL)))))
    assert 'title="' + "x" * 200 + '">reason 1</a>' in "".join(page(Checked(patchset(), (release("1", NO_WHEEL, problem="x" * 201),))))


def test_the_keys_of_a_page_work_where_it_has_differences():
    for diffs in ((), (DIFF,)):
        assert (b"<script>" in releases_page("Releases", [Checked(patchset(), (release("1"), release("2", diffs=diffs)))])) == bool(diffs)
    legend = '<p class="legend"><span class="good">✓ applicable</span><span class="same">= upstream</span><span class="same">– not needed</span><span class="out">· out of range</span><span class="bad">✗ anything else: it does not fit</span></p>'
    assert f"<h1>Releases</h1>{legend}</main>" in releases_page("Releases", []).decode()


# releases of an index -------------------------------------------------------------------------------------------------
OLD, NEW, GONE, FURTHER = "def f():\n    a()\n", "def f():\n    print()\n", "def g():\n    a()\n", "x = 1\ndef f():\n    a()\n"
HUNKS = Variant("p", ">=1,<2", (patch(hunk()),), distributions=("p", "p-lite"))


class Index:
    """An index of releases by (distribution, version): the text of p/m.py, or texts by path, or why it cannot be had."""

    def __init__(self, folder, releases, yanked=(), kept=(), unlisted=()):
        self.folder, self.releases, self.yanked, self.kept, self.unlisted = folder, releases, yanked, kept, unlisted
        self.fetched, self.reported, self.asked, self.stopped, self.agreed = [], [], [], [], True

    def listing(self, name):
        if name in self.unlisted:
            raise SitepatchError(f"no network for {name}\nat length", "try again")
        return Listing(frozenset(version for distribution, version in self.releases if distribution == name), frozenset(self.yanked))

    def stop(self):
        self.stopped.append(True)

    def release(self, name, version, paths):
        text = self.releases[name, version]
        if isinstance(text, Exception):
            raise text
        folder = self.folder / name / version / str(len(paths))
        texts = text if isinstance(text, dict) else {"p/m.py": text}
        members = with_record(name, version, {"p/__init__.py": "", **texts})
        write_files(folder, {path: content for path, content in members.items() if path in paths or ".dist-info/" in path})
        return folder

    def cached(self, name, version, paths):
        return self.release(name, version, paths) if version in self.kept else None

    def fetch(self, pip, name, version, paths, listing):
        assert pip is self and version in listing.versions
        self.fetched.append((name, version, sorted(paths)))
        return self.release(name, version, paths)

    def progress(self, done, total, work):
        self.reported.append((done, total, str(work)))

    def fetching(self, releases):
        self.asked.append(dict(releases))
        return self.agreed

    def started(self, env, requested=()):
        self.reported.append(env.sites)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Makes an index that answers in the place of pip."""

    def made(releases, **more):
        shelf = Index(tmp_path / "index", releases, **more)
        monkeypatch.setattr(against, "fetching", lambda: nullcontext(shelf))
        monkeypatch.setattr(against, "cached_release", shelf.cached)
        monkeypatch.setattr(against, "fetch_release", shelf.fetch)
        monkeypatch.setattr(against, "was_yanked", lambda name, version: version == "1.9")
        return shelf

    return made


def test_what_against_takes_is_told_for_all_that_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("1.0", "folder", "all"):
        (tmp_path / name).mkdir()
    for words, option, folders in ((["all", "newest", "1.0", ">=1,<2"], "--against", False), (["folder"], "--against", True)):
        assert against.check_against(words, option, folders=folders) is None
    with pytest.raises(UsageError) as caught:
        against.check_against(["", " ", "folder", "1.0"], "--to")
    expected = 'expected a version, a range such as ">=2.4,<3", all or newest'
    assert caught.value.message == "\n".join(f'--to "{word}": {expected}' for word in ("", " ", "folder"))
    assert caught.value.hint == "versions and ranges are those of PEP 440"
    with pytest.raises(UsageError, match=r'^--against "": expected [^\n]*$'):
        against.check_against(["", "folder"], folders=True)
    assert [against._is_folder(word) for word in ("", "all", "newest", "1.0", "folder", "none")] == [False, False, False, False, True, False]


def test_a_word_takes_releases_of_all_or_of_those_in_the_range():
    versions, inside = ["0.9", "1.0", "1.1", "2.0"], ["1.0", "1.1"]
    taken = {word: against.taken_by(word, versions, inside) for word in ("all", "newest", "1.0", "3", ">=1.1", "<1")}
    assert taken == {"all": inside, "newest": ["2.0"], "1.0": ["1.0"], "3": [], ">=1.1": ["1.1", "2.0"], "<1": ["0.9"]}
    assert against.offered(SitepatchError("no"), ["all", "1.0", ">=1"]) == ["1.0"]
    assert against.offered(Listing(frozenset(["2", "1"])), ["3"]) == ["1", "2"]


def told(checked):
    return [(item.distribution, item.version, str(item.word), item.places, str(item.problem), str(item.hint), item.yanked, len(item.answers), len(item.diffs)) for item in checked.outcomes]


def test_patchsets_are_tried_on_each_release_that_is_asked_for(index):
    releases = {("p", version): text for version, text in (("0.9", OLD), ("1.0", OLD), ("1.1", NEW), ("1.2", GONE), ("1.3", NoWheel("no wheel\nat length", "build it")), ("1.9", OLD), ("2.0", OLD), ("2.1", OLD))}
    shelf = index({**releases, ("p-lite", "1.5"): SitepatchError("HTTP 500")}, yanked=["1.0", "2.1"], kept=["1.1"])
    requested = Requested(patchset(HUNKS), {})
    further = patchset(HUNKS._replace(patches=(patch(hunk(), path="p/n.py"),), distributions=("p",)), Variant("q", "", (patch(hunk(), path="q.py"),)))
    (checked,) = against.check_releases([requested], ["all", "newest", "7", ">=8"], [further], shelf)
    place = (("p/m.py", (2,)),)
    outside, hint = "the patchset is for p >=1,<2", "does it hold for it? sitepatch update mine --to {}"
    assert told(checked) == [
        ("p", "1.0", "applicable", place, "", "", True, 1, 1),
        ("p", "1.1", "upstream", place, "", "", False, 1, 0),
        ("p", "1.2", "not found", (), "p/m.py: f: there is no `f` in this file", "", False, 1, 0),
        ("p", "1.3", "no wheel", (), "no wheel", "build it", False, 0, 0),
        ("p", "1.9", "applicable", place, "", "", True, 1, 1),
        ("p", "2.0", "not found", (), outside, hint.format("2.0"), False, 0, 0),
        ("p-lite", "1.5", "not fetched", (), "HTTP 500", "", False, 0, 0),
        ("p or p-lite", "7", "no release", (), "the index has no such release for macOS or Linux; the newest is 2.1", "", False, 0, 0),
        ("p or p-lite", ">=8", "no release", (), "the index has none in >=8", "", False, 0, 0),
    ]
    assert sorted(shelf.fetched) == [*[("p", version, ["p/m.py", "p/n.py"]) for version in ("1.0", "1.2", "1.3", "1.9")], ("p-lite", "1.5", ["p/m.py"])]
    assert shelf.asked == [{"p": 4, "p-lite": 1}]
    listed = [(done, 2, "lists of releases read") for done in (0, 1, 2)]
    fetched = [(done, 5, "releases fetched") for done in range(6)]
    assert shelf.reported == [*listed, *fetched, *((done, 7, "releases checked") for done in range(1, 10))]
    assert checked.outcomes[0].diffs[0].patchsets == ("mine",)


def asked(requested, words, **more):
    (checked,) = against.check_releases([Requested(requested, {})], words, [], **more)
    return told(checked)


TWO = patchset(HUNKS, HUNKS._replace(versions=">=2.5,<3"), remove_when="p >=3: it has it")
FOUND = (("p/m.py", (2,)),)


def test_a_release_in_no_range_is_told_with_the_ranges_and_the_newest_with_what_to_do(index):
    index({**{("p", version): OLD for version in ("0.8", "0.9", "1.0", "2.0", "3.0")}, ("p-lite", "1.0"): OLD})
    outside = ("out of range", (), "the patchset is for p >=1,<2 or >=2.5,<3")
    assert asked(TWO, ["0.9", "2.0", "0.8"]) == [
        ("p", "0.8", *outside, "", False, 0, 0),
        ("p", "0.9", *outside, "", False, 0, 0),
        ("p", "2.0", *outside, "does it hold for it? sitepatch update mine --to 2.0", False, 0, 0),
    ]
    assert asked(TWO, ["all", "newest", "==1.*"]) == [
        ("p", "1.0", "applicable", FOUND, "", "", False, 1, 1),
        ("p", "3.0", *outside, "it can go: p >=3: it has it", False, 0, 0),
        ("p-lite", "1.0", "applicable", FOUND, "", "", False, 1, 1),
    ]


def test_where_nothing_can_be_listed_releases_that_are_named_may_be_kept(index):
    shelf = index({("p", "1.0"): OLD, ("p-lite", "1.1"): OLD}, unlisted=["p-lite"])
    found = ("p", "1.0", "applicable", FOUND, "", "", False, 1, 1)
    error = ("not fetched", (), "no network for p-lite", "try again", False, 0, 0)
    assert asked(TWO, ["all", "7"]) == [found, ("p-lite", "7", "out of range", (), "the patchset is for p >=1,<2 or >=2.5,<3", "it can go: p >=3: it has it", False, 0, 0)]
    assert asked(TWO, ["all"]) == [found, ("p-lite", "", *error)]
    assert asked(TWO, ["1.0", "1.1"]) == [found, ("p-lite", "1.0", *error), ("p-lite", "1.1", *error)]
    shelf.kept = ["1.1"]
    assert asked(TWO, ["1.0", "1.1"])[2] == ("p-lite", "1.1", "applicable", FOUND, "", "", False, 1, 1)
    index({("p", "5"): OLD}, unlisted=["p-lite"])
    assert asked(TWO, ["all"]) == [("p-lite", "", *error)]
    index({})
    ending = ((), "pip found no release at all of that name", "", False, 0, 0)
    assert asked(TWO, ["all", "1.0", ">=3"]) == [("p or p-lite", word, "no release", *ending) for word in ("all", "1.0", ">=3")]
    index({("p", "5"): OLD})
    assert asked(patchset(HUNKS._replace(distributions=("p",))), ["all"]) == [("p", "all", "no release", (), "the index has none in >=1,<2", "", False, 0, 0)]


def test_directories_of_packages_are_tried_beside_releases(index, tmp_path):
    shelf = index({("p", "1.0"): OLD, ("p", "1.1"): NEW})
    home, bare = shelf.release("p", "1.0", ["p/m.py"]), tmp_path / "bare/p/m.py"
    bare.parent.mkdir(parents=True)
    bare.write_text(OLD)
    one = patchset(HUNKS._replace(distributions=("p",)))
    found = [("p", "1.0", "applicable", FOUND, "", "", False, 1, 1), ("p", str(tmp_path / "bare"), "applicable", FOUND, "", "", False, 1, 1)]
    assert asked(one, [str(home), str(tmp_path / "bare")], events=shelf) == found
    assert (shelf.asked, shelf.reported) == ([], [])
    assert asked(one, [str(tmp_path / "bare"), "1.1"], events=shelf) == [found[1], ("p", "1.1", "upstream", FOUND, "", "", False, 1, 0)]
    assert shelf.reported[-1] == (1, 1, "releases checked")


def test_nothing_is_fetched_where_that_is_refused_and_nothing_is_asked_where_all_is_kept(index):
    shelf = index({("p", "1.0"): OLD, ("p", "1.1"): OLD}, kept=["1.1"])
    shelf.agreed = False
    assert [row[2] for row in asked(TWO, ["1.1"], events=shelf)] == ["applicable"] and shelf.asked == []
    with pytest.raises(SitepatchError) as caught:
        asked(TWO, ["all"], events=shelf)
    assert (caught.value.message, caught.value.hint, shelf.asked, shelf.fetched) == ("nothing was fetched", "name patchsets, or fewer releases", [{"p": 1}], [])


def test_a_cache_that_cannot_be_written_is_named_and_no_pip_ends_it_all(index, monkeypatch):
    problems = []
    monkeypatch.setattr(against, "cache_dir", lambda: "/cache")
    for error in (OSError(28, "No space left", "/cache/p"), OSError("odd {x}"), NoPip("no pip")):
        shelf = index({("p", "1.0"): error})
        with pytest.raises(SitepatchError) as caught:
            asked(TWO, ["all"])
        problems.append((caught.value.message, caught.value.hint, shelf.stopped))
    hint = "free some space there, or set SITEPATCH_CACHE to another directory"
    assert problems == [("/cache/p: No space left", hint, [True]), ("/cache: odd {x}", hint, [True]), ("no pip", "", [True])]


def test_tasks_run_a_few_at_a_time_and_an_error_ends_those_that_wait():
    begun, gate, reported, stopped = [], threading.Event(), [], []

    def task(number):
        begun.append(number)
        gate.wait(5)
        return number

    tasks = [lambda number=number: task(number) for number in range(9)]

    def report(done):
        reported.append((done, len(begun)))
        while not done and len(begun) < 4:
            time.sleep(0.001)
        gate.set()

    pip = SimpleNamespace(stop=lambda: stopped.append(True))
    assert against._parallel(pip, tasks, report) == [*range(9)]
    assert ([done for done, _ in reported], reported[0][1] <= 4, stopped) == ([*range(10)], True, [])
    assert against._parallel(pip, [], report) == [] and len(reported) == 10

    def fails():
        raise KeyboardInterrupt

    begun.clear()
    gate.clear()
    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        against._parallel(pip, [fails, *tasks], reported.append)
    gate.set()
    for thread in set(threading.enumerate()) - threads:
        thread.join(5)
    assert stopped == [True] and len(begun) <= 4


def test_of_releases_that_are_named_each_comes_with_its_files_or_why_not(index):
    shelf = index({("p", version): OLD for version in ("1.0", "1.1", "1.2", "2.0", "10.0")})

    def named(*words, **more):
        result = against.named_releases("p", {"p/m.py"}, words, shelf, **more)
        return {version: found.parent.name if isinstance(found, Path) else (type(found).__name__, found.message) for version, found in result.items()}

    assert named(">=1,<2", "1.1") == {"1.0": "1.0", "1.1": "1.1", "1.2": "1.2"}
    assert named("", "2.0", ends=True) == {"1.0": "1.0", "10.0": "10.0", "2.0": "2.0"}
    assert named("7", "1.0") == {"7": ("NoRelease", "the index has no such release for macOS or Linux; the newest is 10.0"), "1.0": "1.0"}
    shelf.unlisted = ["p"]
    assert named("7", ">8") == {"7": ("SitepatchError", "no network for p\nat length"), ">8": ("SitepatchError", "no network for p\nat length")}
    index({})
    assert named("7") == {"7": ("NoRelease", "the index has no such release for macOS or Linux")}


def tried(folder, requested, text=OLD):
    """What becomes of a directory with p/m.py."""
    write_files(folder, {"p/m.py": text.encode(), "p-1.0.dist-info/METADATA": metadata("p", "1.0")})
    return against.try_release(Requested(requested, {}), Located("p", str(folder), "p", "1.0", ""))


def test_what_does_not_fit_is_one_line_that_counts_the_rest_and_names_no_directory(tmp_path):
    several = patchset(HUNKS._replace(patches=(patch(hunk(), hunk(scope="h", line=7)), patch(hunk(line=12), path="p/z.py"))))
    results = [tried(tmp_path / "a", several), tried(tmp_path / "b", patchset(HUNKS), "def f(:\n"), against.try_release(Requested(patchset(HUNKS), {}), Located("p", str(tmp_path / "c"), "p", "1.0", ""))]
    assert [(result.word, result.problem, result.places, result.diffs, len(result.answers)) for result in results] == [
        ("not found", "p/z.py: f: p 1.0 has no such file (and 1 more)", (), (), 3),
        ("conflict", "p/m.py: f: the file cannot be read as Python: unexpected code (line 2)", (), (), 1),
        ("not found", "p is not installed in the wheel", (), (), 1),
    ]
    assert [result.hint != "" for result in results] == [True, False, True]
    assert results[2].answers[0].problem == "p is not installed in the wheel"
    assert against._of_wheel("/a/b is gone", "/a/b") == "the wheel is gone"
    message = Message("{what} in {site} {number}", what=Message("{site}", site="/a/b/c"), site="/a/b", number=3)
    assert (against._of_wheel(message, "/a/b"), against._of_wheel(message, "/a/b").fields["number"]) == ("the wheel/c in the wheel 3", 3)


def test_the_places_of_a_release_are_those_of_the_hunks_that_say_what_it_is(tmp_path):
    two = patchset(HUNKS._replace(patches=(patch(hunk(scope="g", line=7), hunk()), patch(hunk(line=12)._replace(when_present=True)._replace(lines=(("-", "q()", 3), ("+", "r()", 4))), path="p/__init__.py"))))
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("def f(): pass\n")
    result = tried(tmp_path, two, "def f():\n    a()\n\n\ndef g():\n    a()\n")
    assert (result.word, result.places, [diff.path for diff in result.diffs]) == ("applicable", (("p/m.py", (2, 6)),), ["p/m.py"])


def of_series(*lines, **more):
    patches = tuple(patch(hunk(name, layer, scope=scope)._replace(lines=(("-", before, 3), ("+", after, 4)))) for layer, (name, scope, before, after) in enumerate(lines))
    return patchset(Variant("p", ">=1,<2", patches, series=True), **more)


def test_of_a_series_each_patch_is_told_and_the_one_before_that_changes_the_same_code(tmp_path):
    lines = [("one", "f", "a()", "len()"), ("two", "g", "c()", "print()"), ("three", "f", "a()", "print()"), ("four", "f", "q()", "print()")]
    result = tried(tmp_path, of_series(*lines), "def f():\n    a()\n\n\ndef g():\n    c()\n")
    rewritten = "p/m.py: f: `f` is there, but the code to change is not"
    assert (result.word, result.problem) == ("not found", f"{rewritten} (and 1 more)")
    assert [(state.name, state.word, state.problem, state.other, [explained.answer.state.value for explained in state.hunks]) for state in result.patches] == [
        ("one", "applicable", "", "", []),
        ("two", "applicable", "", "", []),
        ("three", "conflict", "one changes the same code", "one", ["not found"]),
        ("four", "not found", f"{rewritten}\nlooked for: q()", "", ["not found"]),
    ]
    unreadable = tried(tmp_path, of_series(*lines[:2]), "def f(:\n")
    assert [(state.word, state.problem, state.other) for state in unreadable.patches] == [("conflict", f"p/m.py: {scope}: the file cannot be read as Python: unexpected code (line 2)", "") for scope in "fg"]
    absent = against.try_release(Requested(of_series(*lines[:2])._replace(variants=(of_series(*lines[:2]).variants[0]._replace(patches=(patch(hunk("one"), path="p/z.py"), *of_series(*lines[:2]).variants[0].patches[1:])),)), {}), Located("p", str(tmp_path), "p", "9", ""))
    assert [(state.name, state.word, len(state.hunks)) for state in absent.patches] == [("one", "not found", 1), ("two", "conflict", 1)]


def test_a_patch_that_comes_later_breaks_none_before_it(tmp_path):
    result = tried(tmp_path, of_series(("one", "f", "max()", "len()"), ("two", "f", "c()", "max()"), ("three", "f", "max()", "min()")), "def f():\n    c()\n")
    assert [(state.word, state.other) for state in result.patches] == [("not found", ""), ("applicable", ""), ("applicable", "")]


def test_a_patch_for_another_file_does_not_change_the_same_code(tmp_path):
    one, two, three = of_series(("one", "f", "a()", "max()"), ("two", "f", "a()", "len()"), ("three", "f", "a()", "print()")).variants[0].patches
    (tmp_path / "p").mkdir()
    (tmp_path / "p/n.py").write_text(OLD)
    result = tried(tmp_path, patchset(Variant("p", "", (one._replace(paths=("p/n.py",)), two, three), series=True)))
    assert [(state.name, state.word, state.other) for state in result.patches] == [("one", "applicable", ""), ("two", "applicable", ""), ("three", "conflict", "two")]


def test_a_module_that_is_no_package_is_named_and_a_series_may_be_for_a_package_that_is_not_there(tmp_path):
    (tmp_path / "q.py").write_text(GONE)
    module = patchset(Variant("q", "", (patch(hunk(), path="q.py"),)))
    assert against.try_release(Requested(module, {}), Located("q", str(tmp_path), "q", "1.0", "")).problem == "q.py: f: there is no `f` in this file"
    result = against.try_release(Requested(of_series(("one", "f", "a()", "b()")), {}), Located("p", str(tmp_path), "p", "1.0", ""))
    assert (result.word, result.problem) == ("not found", "p is not installed in the wheel")


def test_a_release_has_the_patch_for_upstream_where_its_series_answers_so(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    for text, name, has in ((NEW, "", False), (NEW, "/one", True), (OLD, "/one", False), (NEW + "def g():\n    len()\n", "", True)):
        (tmp_path / "p/m.py").write_text(text)
        series_of = of_series(("one", "f", "a()", "print()"), ("two", "g", "a()", "len()"))
        monkeypatch.setattr(against, "_for_upstream", lambda name, series_of=series_of: Requested(series_of, {}))
        result = against._with_patch(Requested(patchset(HUNKS, remove_when=f"upstream p-upstream{name}: mended"), {}), Located("p", str(tmp_path), "p", "1.0", ""))
        assert result.has_patch is has
    assert not against._with_patch(Requested(patchset(HUNKS), {}), Located("p", str(tmp_path), "p", "1.0", "")).has_patch


def test_a_series_is_tried_also_on_a_release_that_it_is_not_for(index):
    index({("p", "0.9"): GONE, ("p", "1.0"): OLD, ("p", "2.0"): OLD, ("p", "2.1"): GONE})
    lines = [("one", "f", "a()", "len()"), ("two", "f", "len()", "print()")]
    (checked,) = against.check_releases([Requested(of_series(*lines), {})], ["0.9", "1.0", "2.0", "2.1"], [])
    assert [(item.version, item.word, item.hint, [state.word for state in item.patches]) for item in checked.outcomes] == [
        ("0.9", "not found", "", ["not found", "not found"]),
        ("1.0", "applicable", "", ["applicable", "applicable"]),
        ("2.0", "applicable", "", ["applicable", "applicable"]),
        ("2.1", "not found", "does it hold for it? sitepatch update mine --to 2.1", ["not found", "not found"]),
    ]


# proofs ---------------------------------------------------------------------------------------------------------------
SPATCH = "--- p/m.py\n@@ f @@\n-a()\n+print()\n"


class Home:
    """A directory with p 1.0 installed, and the folder of a patchset for it."""

    def __init__(self, folder, versions="==1.0", spatch=SPATCH, text=OLD, manifest="", **files):
        self.folder, self.site = folder / "mine/one", folder / "site"
        write_files(self.site, with_record("p", "1.0", {"p/__init__.py": "", "p/m.py": text}))
        write_patchset(folder / "mine", "one", spatch, "p", versions=versions)
        if manifest:
            (self.folder / "patchset.toml").write_text(manifest)
        for name, content in files.items():
            (self.folder / f"{name}.spatch").write_text(content)
        self.place = Place(target=self.site, patch_dirs=(str(folder / "mine"),))

    @property
    def patchset(self):
        return load_patchset(self.folder, PatchsetSource("here"))

    @property
    def ranges(self):
        return [variant.versions for variant in self.patchset.variants]

    def tried(self, *to, events=SILENT):
        return proving.try_on_releases(self.place, self.folder, self.patchset, to, events)


def test_what_also_takes_is_a_release_or_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1.5").mkdir()
    proving.check_also(["1.2", "p==1.2", "1.5"])
    with pytest.raises(UsageError) as caught:
        proving.check_also(["none", "1.2", "p==x"])
    lines = [f"--also {word}: found no such directory and no version" for word in ("none", "p==x")]
    assert (caught.value.message, caught.value.hint) == ("\n".join(lines), "name a release (1.2, NAME==1.2), or a directory of packages")
    assert [proving._version(word) for word in ("1.2", "p==1.2", "1.5", "p==x")] == ["1.2", "1.2", "", ""]


def test_further_releases_come_with_their_texts_or_what_is_wrong_with_them(index, tmp_path):
    shelf = index({("p-lite", "1.0"): OLD, ("p-lite", "1.1"): NEW, ("p-lite", "1.2"): NoWheel("no wheel\nat length")})
    home, second = Located("p", "/home", "p-lite", "0.9", ""), Located("q", "/home", "", "3", "")
    paths = {home: {"p/m.py"}, second: {"q.py"}}
    beside = shelf.release("p-lite", "1.0", ["p/m.py"])
    (tmp_path / "empty").mkdir()
    releases, problems = proving.further_releases([str(beside), str(tmp_path / "empty"), "1.1", "p==1.0", "p-lite==1.2"], paths, shelf)
    assert [(release.located.package, release.located.distribution, release.located.version, dict(release.texts)) for release in releases] == [
        ("p", "p-lite", "1.0", {"p/m.py": OLD.encode()}),
        ("p", "p-lite", "1.1", {"p/m.py": NEW.encode()}),
        ("p", "p-lite", "1.0", {"p/m.py": OLD.encode()}),
    ]
    assert problems == [
        f"--also {beside}: q is not installed in {beside}",
        f"--also {tmp_path / 'empty'}: p is not installed in {tmp_path / 'empty'}",
        f"--also {tmp_path / 'empty'}: q is not installed in {tmp_path / 'empty'}",
        "p-lite 1.2: no wheel",
        "q 1.1: the index has no such release for macOS or Linux",
    ]


def test_a_release_that_cannot_be_had_ends_it_where_one_package_is_edited(index):
    shelf = index({("p", "1.0"): OLD})
    home, second = Located("p", "/home", "p", "0.9", ""), Located("q", "/home", "q", "3", "")
    problems = []
    for words, homes in ((["1.1"], {home: {"p/m.py"}}), (["r==1"], {home: {"p/m.py"}, second: {"q.py"}})):
        with pytest.raises(SitepatchError) as caught:
            proving.further_releases(words, homes, shelf)
        problems.append((caught.value.message, caught.value.hint))
    hint = "no patchset was written; leave it out, or name one that is there"
    assert problems == [("p 1.1: the index has no such release for macOS or Linux; the newest is 1.0", hint), ("--also r==1: no file of it is changed", hint)]
    assert proving.further_releases(["r==1"], {}, shelf) == ([], ["--also r==1: no file of it is changed"])


def test_of_a_release_that_lacks_a_file_the_whole_package_is_read(index):
    shelf = index({("p", "1.0"): {"p/m.py": OLD, "p/n.py": "x = 1\n", "q.py": ""}})
    home = Located("p", "/home", "", "0.9", "")
    releases, problems = proving.further_releases(["1.0"], {home: {"p/m.py", "p/gone.py"}}, shelf)
    every = ["p/__init__.py", "p/gone.py", "p/m.py", "p/n.py"]
    assert (problems, shelf.fetched) == ([], [("p", "1.0", ["p/gone.py", "p/m.py"]), ("p", "1.0", every)])
    assert {path: text.decode() for path, text in releases[0].texts.items()} == {"p/__init__.py": "", "p/m.py": OLD, "p/n.py": "x = 1\n"}


def test_the_whole_package_is_looked_at_where_a_release_lacks_a_file_of_the_patchset(index, tmp_path):
    shelf = index({("p", "2.0"): {"p/core.py": OLD}, ("p", "2.1"): GONE})
    releases, _ = Home(tmp_path).tried("2.0", "2.1")
    assert [[explained.elsewhere for explained in release.hunks] for release in releases] == [[(Elsewhere("p/core.py", 1),)], [()]]
    assert shelf.fetched == [("p", "2.0", ["p/m.py"]), ("p", "2.1", ["p/m.py"]), ("p", "2.0", ["p/__init__.py", "p/core.py", "p/m.py"])]


def test_of_each_range_the_oldest_and_the_newest_release_are_proven(index, monkeypatch):
    shelf = index({**{("p", version): OLD for version in ("1.0", "1.1", "1.2", "2.0")}, ("p", "1.3"): NoWheel("no wheel")})
    home = Located("p", "/home", "p", "1.0", "")
    several = patchset(HUNKS, Variant("p", "==1.0", (patch(hunk(), path="p/n.py"),)), Variant("p", ">=2", (patch(hunk(), path="p/m.py"),)), Variant("q", "", (patch(hunk(), path="q.py"),)))
    releases, problems = proving.range_ends(several, {home: {"p/__init__.py"}, Located("r", "/home", "r", "1", ""): {"r.py"}}, shelf)
    assert ([(release.located.version, sorted(release.texts)) for release in releases], problems) == ([("2.0", ["p/__init__.py", "p/m.py"])], ["p 1.3: no wheel"])
    assert all("p/n.py" not in paths for _, _, paths in shelf.fetched)
    releases, problems = proving.range_ends(patchset(HUNKS._replace(versions="<1.3")), {home._replace(version="3", distribution=""): set()}, shelf)
    assert (sorted(release.located.version for release in releases), problems) == (["1.0", "1.2"], [])
    for error, said in ((OSError("no cache"), "no cache"), (SitepatchError("no pip"), "no pip")):

        def fails(*words, error=error, **more):
            raise error

        monkeypatch.setattr(proving, "named_releases", fails)
        assert proving.range_ends(patchset(HUNKS), {home: set()}, shelf) == ([], [f"p >=1,<2: {said}"])


def test_a_patchset_is_for_the_releases_that_it_fits(tmp_path):
    home = Located("p", str(tmp_path), "p", "1.0", "")
    releases = []
    for version, text in (("0.9", GONE), ("1.1", FURTHER), ("1.2", GONE), ("1.3", NEW), ("1.4", OLD), ("1.5", OLD + "def h():\n    pass\n"), ("2", OLD)):
        folder = tmp_path / version
        write_files(folder, with_record("p", version, {"p/__init__.py": "", "p/m.py": text}))
        expected = {"1.1": {"p/m.py": FURTHER.replace("a()", "print()").encode()}, "1.4": {"p/m.py": OLD.encode()}, "1.2": {"p/m.py": b"1\n"}, "1.5": {"p/m.py": b"def h():\n    pass\n" + NEW.encode()}}.get(version, {})
        releases.append((Release(Located("p", str(folder), "p", version, ""), {"p/m.py": text.encode()}), expected))
    releases.append((releases[0][0]._replace(located=Located("q", "/", "q", "1", "")), {}))
    texts = []

    def files(targets):
        texts.append(list(targets))
        manifest = f'schema = 1\nname = "one"\nversion = "1"\nkind = "debug"\nsummary = "For a test"\n[[variant]]\npackage = "p"\nversions = "{targets[0].versions}"\npatches = ["p.spatch"]\n'
        return {"patchset.toml": manifest, "p.spatch": SPATCH}

    made = diff_texts("/site", "p/m.py", OLD.encode(), OLD.replace("a()", "print()").encode())
    proof = proving.prove(tmp_path / "one", files, [home], [made], releases)
    assert [(item.version, item.word, item.problem, item.proven, len(item.unlike), item.places) for item in proof.releases] == [
        ("0.9", "not found", "p/m.py: f: there is no `f` in this file", False, 0, ()),
        ("1.1", "applicable", "", True, 1, (("p/m.py", (3,)),)),
        ("1.2", "not found", "p/m.py: f: there is no `f` in this file", False, 0, ()),
        ("1.3", "upstream", "", True, 0, (("p/m.py", (2,)),)),
        ("1.4", "conflict", "p/m.py: other code comes of it than of the diff", False, 0, ()),
        ("1.5", "applicable", "", True, 1, (("p/m.py", (2,)),)),
        ("2", "applicable", "", True, 0, (("p/m.py", (2,)),)),
    ]
    target = PackageRange("p", "p", ">=1.0,<=2,!=1.2,!=1.4")
    assert (proof.targets, texts, proof.texts["p.spatch"]) == ((target,), [[PackageRange("p", "p", "")], [target]], SPATCH)


MANIFEST = 'schema = 1\nname = "one"\nversion = "1"\nkind = "debug"\nsummary = "For a test"\n'
VARIANT = '[[variant]]\npackage = "p"\nversions = "{}"\npatches = ["{}.spatch"]\n'
UNFIT_HERE = "p/m.py: f: there is no `f` in this file"
HISTORY = {("p", version): text for version, text in (("0.5", GONE), ("0.6", GONE), ("0.7", GONE), ("0.9", GONE), ("1.0", OLD), ("1.1", FURTHER), ("1.2", NEW), ("1.3", NoWheel("no wheel")), ("2.0", "def f():\n    b()\n"))}


def of_tried(result):
    releases, problems = result
    return [(item.located.version, item.variant, item.inside, item.named, item.outcome.word, item.outcome.proven, len(item.outcome.unlike), len(item.hunks)) for item in releases], problems


def test_a_patchset_is_tried_on_the_releases_that_are_asked_for(index, tmp_path):
    shelf, home = index(HISTORY), Home(tmp_path)
    rows = [
        ("0.5", 0, False, False, "not found", False, 0, 0),
        ("0.6", 0, False, False, "not found", False, 0, 0),
        ("0.7", 0, False, False, "not found", False, 0, 1),
        ("0.9", 0, False, False, "not found", False, 0, 1),
        ("1.0", 0, True, False, "applicable", True, 0, 0),
        ("1.1", 0, False, False, "applicable", False, 1, 0),
        ("1.2", 0, False, False, "upstream", True, 0, 0),
        ("2.0", 0, False, False, "not found", False, 0, 1),
    ]
    assert of_tried(home.tried("all")) == of_tried(home.tried(">=0.1")) == (rows, [])
    assert of_tried(home.tried(events=shelf)) == ([("1.0", 0, True, True, "applicable", True, 0, 0)], []) and shelf.reported == [(str(home.site),)]
    assert of_tried(home.tried("newest", "1.1")) == ([("1.1", 0, False, True, "applicable", False, 1, 0), ("2.0", 0, False, True, "not found", False, 0, 1)], [])
    assert of_tried(home.tried("1.3", "9")) == ([], ["p 9: the index has no such release for macOS or Linux; the newest is 2.0", "p 1.3: no wheel"])
    assert [release.holds for release in home.tried("1.0", "1.2", "2.0")[0]] == [True, True, False]


def test_the_variant_counts_that_has_the_release_or_could_be_widened_to_it(index, tmp_path):
    manifest = MANIFEST + VARIANT.format(">=1,<1.5", "p") + VARIANT.format(">=3,<4", "two")
    home = Home(tmp_path, manifest=manifest, two="--- p/m.py\n@@ f @@\n-b()\n+print()\n")
    index({**HISTORY, ("p", "3.1"): GONE, ("p", "5"): OLD})
    assert [row[:5] for row in of_tried(home.tried(">=0.9"))[0]] == [
        ("0.9", 0, False, False, "not found"),
        ("1.0", 0, True, False, "applicable"),
        ("1.1", 0, True, False, "applicable"),
        ("1.2", 0, True, False, "upstream"),
        ("2.0", 1, False, False, "applicable"),
        ("3.1", 1, True, False, "not found"),
        ("5", 1, False, False, "not found"),
    ]


def test_of_two_variants_that_could_be_widened_the_first_counts_that_fits(index, tmp_path):
    manifest = MANIFEST + VARIANT.format("==1.0", "p") + VARIANT.format("==3.0", "two")
    home = Home(tmp_path, manifest=manifest, two=SPATCH.replace("print", "len"))
    index({("p", "2.0"): OLD, ("p", "2.1"): GONE})
    assert [row[:5] for row in of_tried(home.tried("2.0", "2.1"))[0]] == [("2.0", 0, False, True, "applicable"), ("2.1", 0, False, True, "not found")]


def test_what_is_made_of_other_code_is_proven_by_a_case_of_that_release(index, tmp_path):
    home = Home(tmp_path)
    (home.folder / "cases").mkdir()
    for name, version, after in (("a", "1.1", "print()"), ("b", "1.2", "print(1)"), ("c", "", "print()")):
        (home.folder / f"cases/{name}.before.py").write_text(f"# case: p/m.py {version}\n{OLD}")
        (home.folder / f"cases/{name}.after.py").write_text(OLD.replace("a()", after))
    index({("p", version): FURTHER for version in ("1.1", "1.2", "1.3")})
    assert [(row[0], *row[5:7]) for row in of_tried(home.tried("all", "1.1", "1.2", "1.3"))[0]] == [("1.1", True, 1), ("1.2", False, 1), ("1.3", False, 1)]


def test_a_value_that_is_more_than_one_literal_is_kept(index, tmp_path):
    home = Home(tmp_path, spatch="--- p/m.py\n@@ f @@\n-x = $OLD\n+x = 7\n", text="def f():\n    x = 1\n")
    index({("p", version): f"def f():\n    x = {value}\n" for version, value in (("1.1", "2"), ("1.2", "[1, 2]"), ("1.3", "name"))})
    releases, _ = home.tried("1.1", "1.2", "1.3")
    assert [(release.outcome.word, release.outcome.problem, release.outcome.diffs == ()) for release in releases] == [
        ("applicable", "", False),
        ("conflict", "p/m.py: f: the old value is more than one literal or name there", True),
        ("applicable", "", False),
    ]


def test_a_release_that_it_does_not_fit_is_none_whose_value_is_kept(index, tmp_path):
    home = Home(tmp_path, spatch="--- p/m.py\n@@ f @@\n-x = $OLD\n+x = 7\n@@ g @@\n-a()\n+len()\n")
    index({("p", "1.1"): "def f():\n    x = [1, 2]\n"})
    assert [release.outcome.word for release in home.tried("1.1")[0]] == ["not found"]


def test_what_is_installed_has_to_say_its_version(tmp_path):
    home = Home(tmp_path)
    shutil.rmtree(home.site / "p-1.0.dist-info")
    with pytest.raises(SitepatchError) as caught:
        home.tried()
    assert (caught.value.message, caught.value.hint) == (f"nothing tells the version of p in {home.site}", "name it with --to")
    with pytest.raises(SitepatchError, match="p is not installed"):
        proving.try_on_releases(Place(target=tmp_path), home.folder, home.patchset, (), SILENT)


def test_of_several_distributions_one_need_not_have_each_release(index):
    one = patchset(HUNKS._replace(versions=""))
    index({("p", "1.0"): OLD, ("p", "1.10"): OLD, ("p-lite", "1.2"): OLD, ("p-lite", "1.3"): NoWheel("no wheel"), ("p-lite", "1.4"): SitepatchError("HTTP 500")})

    def fetched(*to):
        releases, problems = proving.fetched_releases(one, to, SILENT)
        return [(release.distribution, release.version, release.package, Path(release.site).parent.name) for release in releases], problems

    lite = [("p-lite", "1.2", "p", "1.2")]
    assert fetched("1.0", "1.2", "1.10") == fetched(">=1,<1.3", ">=1.10") == ([("p", "1.0", "p", "1.0"), *lite, ("p", "1.10", "p", "1.10")], [])
    assert fetched(">=1.2,<1.5") == (lite, ["p-lite 1.4: HTTP 500"])
    assert fetched("1.3") == ([], ["p-lite 1.3: no wheel"])
    missing = "the index has no such release for macOS or Linux; the newest is"
    assert fetched("1.4", "7") == ([], [f"p 7: {missing} 1.10", f"p-lite 7: {missing} 1.4", "p-lite 1.4: HTTP 500"])


def proposed(home, *to):
    releases, _ = home.tried(*to)
    proposal = proving.proposal(home.folder, home.patchset, releases[-1])
    return proposal and (proposal.release, [(str(where), str(how)) for where, how in proposal.places], dict(proposal.texts), [diff.path for diff in proposal.diffs])


def test_another_scope_that_has_the_code_is_proposed_where_it_is_the_one(index, tmp_path):
    home = Home(tmp_path, spatch=f"{SPATCH}@@ h @@\n-c()\n+len()\n", text=OLD + "def h():\n    c()\n")
    index({("p", "2.0"): GONE + "def k():\n    c()\n", ("p", "2.1"): GONE + "def k():\n    a()\n", ("p", "2.2"): GONE + "def h():\n    d()\n"})
    assert proposed(home, "2.0") == (
        "p 2.0",
        [("`k` in p/m.py has what is changed in `h`", "`@@ or k @@` and the lines of that hunk once more, below it in p.spatch"), ("`g` in p/m.py has what is changed in `f`", "`@@ or g @@` and the lines of that hunk once more, below it in p.spatch")],
        {"p.spatch": f"{SPATCH}@@ or g @@\n-a()\n+print()\n@@ h @@\n-c()\n+len()\n@@ or k @@\n-c()\n+len()\n"},
        ["p/m.py"],
    )
    assert proposed(home, "2.1") is None and proposed(home, "2.2") is None


def test_the_file_that_has_the_scopes_is_proposed_where_it_is_the_one(index, tmp_path, monkeypatch):
    home = Home(tmp_path, spatch=f"{SPATCH}@@ h @@\n-c()\n+len()\n", text=OLD + "def h():\n    c()\n")
    (home.site / "p/m.py").unlink()
    (home.site / "p/half.py").write_text(OLD)
    (home.site / "p/core.py").write_text(OLD + "def h():\n    c()\n")
    assert proposed(home) == (
        "p 1.0",
        [("p/core.py has what is changed in p/m.py", "`--- p/core.py` below `--- p/m.py`")],
        {"p.spatch": f"--- p/m.py\n--- p/core.py\n{SPATCH[len('--- p/m.py ') :]}@@ h @@\n-c()\n+len()\n"},
        ["p/core.py"],
    )
    (home.site / "p/other.py").write_text(OLD + "def h():\n    c()\n")
    assert proposed(home) is None


# updates --------------------------------------------------------------------------------------------------------------
def updated(home, *to, **more):
    return update.update("one", to, place=home.place, **more)


NOT_TRIED = "p {0}: of the releases that came in, only those above were tried; all of them with --to '{0}'"


@pytest.mark.parametrize(
    ("to", "versions", "good", "said"),
    [
        (("all",), ">=1.0,<=1.2", True, False),
        ((">=1.1,<2",), ">=1.0,<=1.2", True, True),
        ((">=1.0,<2",), ">=1.0,<=1.2", True, False),
        (("1.1",), ">=1.0,<=1.1", True, True),
        (("1.1", "1.3"), ">=1.0,<=1.1", False, True),
    ],
)
def test_an_update_widens_to_what_fits_and_says_what_was_not_tried(index, tmp_path, to, versions, good, said):
    index(HISTORY)
    home = Home(tmp_path)
    outcome = updated(home, *to)
    assert (outcome.ranges, outcome.written, outcome.ok) == ((("p", "==1.0", versions),), True, good)
    assert outcome.notes == ((NOT_TRIED.format(versions),) if said else ())
    assert home.ranges == [versions] == [variant.versions for variant in outcome.patchset.variants]


def test_an_update_that_widens_nothing_writes_nothing(index, tmp_path):
    index(HISTORY)
    unchanged = updated(Home(tmp_path), "1.0")
    assert (unchanged.ranges, unchanged.written, unchanged.ok, unchanged.notes) == ((), False, True, ())
    anywhere = Home(tmp_path / "any", versions="")
    assert (updated(anywhere, "0.9", "1.1").ranges, anywhere.ranges) == ((), [""])


def test_releases_that_fail_in_between_are_left_out_by_name(index, tmp_path):
    index({("p", version): text for version, text in (("1.0", OLD), ("1.1", GONE), ("1.2", OLD))})
    home = Home(tmp_path)
    outcome = updated(home, "all")
    assert (home.ranges, outcome.ok, updated(home, "1.1").ok) == ([">=1.0,<=1.2,!=1.1"], True, False)


def test_a_range_is_not_widened_into_that_of_another_variant(index, tmp_path):
    manifest = MANIFEST + VARIANT.format("==1.0", "p") + VARIANT.format("==2.0", "two")
    home = Home(tmp_path, manifest=manifest, two="--- p/m.py\n@@ f @@\n-b()\n+print()\n")
    index({("p", "1.3"): "def f():\n    b()\n", ("p", "1.7"): OLD})
    outcome = updated(home, "1.3", "1.7", "all")
    assert (outcome.ranges, home.ranges) == ((("p", "==1.0", ">=1.0,<=1.7"),), [">=1.0,<=1.7", "==2.0"])
    assert outcome.notes == ("p >=1.3,<=2.0 fits, and is not written: it has releases of >=1.0,<=1.7",)


def test_what_was_asked_for_has_all_releases_that_came_in():
    cases = {
        ("==1.0", ("1.0",), ("1.0",)): True,
        ("==1.0", ("1.0", "1.1"), ("all",)): True,
        ("==1.0", ("1.0", "1.1"), ("1.1",)): False,
        ("==1.0", ("1.1",), (">=1.0",)): True,
        ("==1.0", ("1.1",), (">=1.1",)): False,
        ("==1.0", ("0.5", "1.1"), (">=1.0", "<=1.0")): False,
        ("==1.0", ("1.1",), ("newest", ">=1.1", ">=1.0,<2")): True,
        ("==1.0", ("1.1",), ()): False,
    }
    assert {case: update._all_tried(*case) for case in cases} == cases


def tried_release(word="applicable", *, version="1.0", named=True, inside=True, hunks=(), **more):
    return proving.TriedRelease(Located("p", "/site", "p", version, ""), 0, inside, named, release(version, word, "p", **more), hunks)


def test_an_update_is_fine_where_each_release_that_counts_fits_or_is_made_to():
    good, bad = tried_release(), tried_release("not found")
    files = Draft((DraftFile(("p/m.py",), ()),))
    cases = [
        ((good,), {}, True),
        ((good, bad), {}, False),
        ((bad._replace(named=False),), {}, False),
        ((bad._replace(inside=False),), {}, False),
        ((bad._replace(named=False, inside=False),), {}, True),
        ((tried_release("not needed"),), {}, True),
        ((bad,), {"added": "p.spatch"}, True),
        ((bad,), {"added": "p.spatch", "left": "two"}, False),
        ((good,), {"problems": ("p 9: none",)}, False),
        ((good,), {"draft": files}, False),
        ((good,), {"draft": files, "added": "p.spatch"}, True),
    ]
    assert [update.UpdateOutcome(Path("one"), patchset(), releases, **more).ok for releases, more, _ in cases] == [good for _, _, good in cases]


def test_no_variant_of_a_series_is_emptied(index, tmp_path):
    index({("p", "1.0"): HAS_ONE, ("p", "1.1"): HAS_ONE})
    home = of_three(tmp_path, "==1.1")
    alone = VARIANT.format("==1.0", "0001-one") + "series = true\n"
    (home.folder / "patchset.toml").write_text((home.folder / "patchset.toml").read_text() + alone)
    with pytest.raises(SitepatchError, match=r"^these releases have every patch of it$"):
        updated(home, "1.0", "1.1", drop_upstream=True)


def test_a_release_that_a_patchset_is_not_for_is_no_file_that_is_gone(tmp_path):
    home = Home(tmp_path, versions="==2.0")
    ((explained,), _) = explanations(Environment.alone(str(home.site)), Requested(home.patchset, {}))
    assert (explained.site, explained.answer.state, explained.answer.scope, explained.elsewhere) == ("", State.NOT_FOUND, "", ())


def test_what_is_no_release_is_not_tried(tmp_path):
    with pytest.raises(UsageError, match=r'^--to "1 2": expected a version'):
        updated(Home(tmp_path), "1 2")


def test_what_is_proposed_is_written_as_long_as_somebody_agrees(index, tmp_path):
    index({("p", "2.0"): GONE})
    home, answers = Home(tmp_path), iter((False, True))
    assert [updated(home, "2.0", agree=lambda proposal: next(answers)).written for _ in range(2)] == [False, True]
    assert (home.ranges, (home.folder / "p.spatch").read_text()) == ([">=1.0,<=2.0"], f"{SPATCH}@@ or g @@\n-a()\n+print()\n")


BOTH = "def f():\n    a()\n    x()\n\n\ndef g():\n    c()\n"
HAS_ONE = BOTH.replace("a()", "len()")
DRIFTED = HAS_ONE.replace("c()", "d()").replace("x()", "y()")
ALL_THREE = ["0001-one.spatch", "0002-two.spatch", "0003-three.spatch"]
RELEASED = {("p", "1.0"): BOTH, ("p", "1.1"): HAS_ONE, ("p", "1.2"): DRIFTED, ("p", "1.3"): HAS_ONE.replace("c()", "print()").replace("x()", "max()"), ("p", "1.4"): NoWheel("no wheel"), ("p", "1.5"): HAS_ONE}


def of_three(folder, versions="==1.0"):
    manifest = MANIFEST + VARIANT.format(versions, "p").replace('"p.spatch"', ", ".join(f'"{name}"' for name in ALL_THREE)) + "series = true\n"
    files = {"0001-one": SPATCH.replace("print", "len"), "0002-two": "Why.\n\n" + SPATCH.replace("@@ f @@\n-a()", "@@ g @@\n-c()"), "0003-three": SPATCH.replace("a()", "x()").replace("print", "max")}
    home = Home(folder, manifest=manifest, text=BOTH, **files)
    (home.folder / "p.spatch").unlink()
    return home


def test_patches_that_all_releases_have_are_taken_out_of_a_series(index, tmp_path):
    index(RELEASED)
    home = of_three(tmp_path / "a", ">=1.0,<1.2")
    outcome = updated(home, "1.1", "1.5", drop_upstream=True)
    assert (outcome.dropped, outcome.ranges, outcome.written, outcome.ok) == (("0001-one",), (("p", ">=1.0,<1.2", ">=1.1,<=1.5"),), True, True)
    assert (home.ranges, sorted(path.name for path in home.folder.iterdir())) == ([">=1.1,<=1.5"], [*ALL_THREE[1:], "patchset.toml"])
    assert patch_files((home.folder / "patchset.toml").read_text()) == [ALL_THREE[1:]] and outcome.patchset.files == home.patchset.files


def test_no_patch_of_a_series_is_taken_out_that_one_of_the_releases_needs(index, tmp_path):
    index(RELEASED)
    home = of_three(tmp_path / "b")
    results = [updated(home, *to, drop_upstream=True) for to in (("1.0", "1.1"), ("1.1", "1.2"), ("1.1", "1.4"))]
    assert [(outcome.dropped, outcome.written, outcome.notes, outcome.problems) for outcome in results] == [((), False, ("these releases have no patch of it",), ()), ((), False, (), ()), ((), False, (), ("p 1.4: no wheel",))]


def test_a_series_is_not_emptied_and_what_is_no_series_has_no_patches_to_take_out(index, tmp_path):
    index(RELEASED)
    problems, home = [], of_three(tmp_path / "b")
    for one, to in ((home, "1.3"), (Home(tmp_path / "c"), "1.0")):
        with pytest.raises(SitepatchError) as caught:
            updated(one, to, drop_upstream=True)
        problems.append((caught.value.message, caught.value.hint))
    assert problems == [
        ("these releases have every patch of it", f"remove {home.folder}, or the [[variant]] for them"),
        ("--drop-upstream: one has a variant that is no series of patches", "a patchset that all releases have is removed whole"),
    ]
    assert home.ranges == ["==1.0"]


MISSING_HERE = "# sitepatch: this hunk is missing here: change the code below, lines that begin so are taken out again\n# sitepatch: "


def copied(home, *to):
    """The file of a release to be edited, and its directory."""
    copies = update.copy_release("one", to, place=home.place)
    return copies.folder / copies.paths[0], str(copies.folder)


def edited(home, old, new, *to):
    """What comes of an edit of the release that does not fit."""
    path, folder = copied(home, *to)
    path.write_text(path.read_text().replace(old, new))
    return updated(home, *to, copy=folder)


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Copies are made below here."""
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))


@pytest.mark.usefixtures("copies")
def test_an_edit_becomes_a_variant_for_the_one_release_that_does_not_fit(index, tmp_path):
    index({**HISTORY, ("p", "2.0+cu1"): HISTORY["p", "2.0"]})
    home = Home(tmp_path)
    path, folder = copied(home, "2.0+cu1")
    assert path.read_text() == f"{MISSING_HERE}@@ f @@\n# sitepatch: -a()\n# sitepatch: +print()\ndef f():\n    b()\n"
    with pytest.raises(SitepatchError) as caught:
        updated(home, "2.0+cu1", copy=folder)
    assert (caught.value.message, caught.value.hint) == (f"{folder}: nothing was edited", "save the file in the editor")
    outcome = edited(home, "    b()", "    print()\n    b()", "2.0+cu1")
    assert (outcome.added, outcome.written, outcome.notes, outcome.left, outcome.ok, outcome.ranges) == ("one-2.0.spatch", True, (), "", True, ())
    assert (home.ranges, patch_files(home.patchset.files["patchset.toml"])) == (["==1.0", "==2.0"], [["p.spatch"], ["one-2.0.spatch"]])
    assert (home.folder / "one-2.0.spatch").read_text() == "--- p/m.py\n@@ f @@\n def f():\n+    print()\n     ...\n"


def test_one_release_is_edited_at_a_time(index, tmp_path):
    index({key: text for key, text in HISTORY.items() if key[1] < "1.1"})
    problems, home = [], Home(tmp_path)
    for to in ("all", "1.0"):
        with pytest.raises(SitepatchError) as caught:
            copied(home, to)
        problems.append((caught.value.message, caught.value.hint))
    assert problems == [
        ("it does not fit p 0.5, p 0.6, p 0.7, p 0.9: one can be edited at a time", "name it with --to VERSION"),
        ("nothing to update: it fits every release that is asked for", "name another one with --to"),
    ]


@pytest.mark.usefixtures("copies")
def test_an_edit_that_is_no_hunk_adds_nothing(index, tmp_path):
    index(HISTORY)
    home = Home(tmp_path, versions=">=1.0,<3")
    commented = edited(home, "    b()", "    b()  # why", "2.0")
    assert (commented.added, commented.written, commented.draft.complete, commented.ok) == ("", False, False, False)
    marks = edited(home, "# sitepatch: +print()\n", "", "2.0")
    assert (marks.added, marks.written, marks.draft.files) == ("", False, ())


@pytest.mark.usefixtures("copies")
def test_a_file_in_the_place_of_a_new_one_is_left_alone_unless_a_run_that_was_killed_wrote_it(index, tmp_path):
    index(HISTORY)
    home = Home(tmp_path, versions=">=1.0,<3")
    (home.folder / "one-2.0.spatch").write_text("mine")
    with pytest.raises(SitepatchError) as caught:
        edited(home, "    b()", "    print()\n    b()", "2.0")
    assert (caught.value.message, caught.value.hint) == (f"{home.folder / 'one-2.0.spatch'}: is there already", "edit it, or remove it and its [[variant]] first")
    (home.folder / "one-2.0.spatch").write_text("--- p/m.py\n@@ f @@\n def f():\n+    print()\n     ...\n")
    outcome = edited(home, "    b()", "    print()\n    b()", "2.0")
    assert (outcome.added, outcome.ranges, home.ranges) == ("one-2.0.spatch", (("p", ">=1.0,<3", ">=1.0,<2.0"),), [">=1.0,<2.0", "==2.0"])


@pytest.mark.usefixtures("copies")
def test_a_range_ends_before_the_release_or_after_it_where_what_is_installed_is_newer(index, tmp_path):
    index({("p", "0.9"): GONE, ("p", "1.0"): GONE})
    home = Home(tmp_path, versions=">=0.5")
    assert edited(home, "    a()", "    print()", "0.9").ranges == (("p", ">=0.5", ">0.9"),)
    alone = Home(tmp_path / "b", text=GONE)
    with pytest.raises(SitepatchError) as caught:
        edited(alone, "    a()", "    print()", "1.0")
    assert (caught.value.message, caught.value.hint) == ("the variant for ==1.0 is for 1.0 alone, and does not fit it", f"correct its hunks: {alone.folder}")
    later = Home(tmp_path / "c", versions=">=0.5,<2", text=GONE)
    assert edited(later, "    a()", "    print()").ranges == (("p", ">=0.5,<2", ">=0.5,<1.0"),)
    assert [update._installed(Variant("p", versions, ()), home.place) for versions in ("", "<1")] == ["1.0", ""]
    assert update._installed(Variant("q", "", ()), home.place) == ""


@pytest.mark.usefixtures("copies")
def test_a_copy_that_was_removed_is_not_an_edit(index, tmp_path):
    index({("p", "2.0"): {"p/m.py": "def f():\n    b()\n", "p/n.py": OLD}})
    home = Home(tmp_path, spatch=SPATCH + SPATCH.replace("p/m.py", "p/n.py"))
    write_files(tmp_path / "edited", {"p/m.py": b"def f():\n    print()\n"})
    outcome = updated(home, "2.0", copy=tmp_path / "edited")
    assert (outcome.written, [file.paths for file in outcome.draft.files]) == (True, [("p/m.py",)])


def test_of_a_series_the_first_patch_that_does_not_fit_is_edited_as_those_before_it_make_the_file(index, tmp_path):
    index(RELEASED)
    path, _ = copied(of_three(tmp_path), "1.2")
    assert path.read_text() == f"def f():\n    len()\n    y()\n\n\n{MISSING_HERE}@@ g @@\n# sitepatch: -c()\n# sitepatch: +print()\ndef g():\n    d()\n"


def test_the_edited_patch_of_a_series_takes_its_place_in_a_further_variant(index, tmp_path):
    index(RELEASED)
    home = of_three(tmp_path)
    write_files(tmp_path / "edited", {"p/m.py": DRIFTED.replace("d()", "print()").encode()})
    outcome = updated(home, "1.2", copy=tmp_path / "edited")
    assert (outcome.added, outcome.left, outcome.ok, outcome.written, home.ranges) == ("0002-two-1.2.spatch", "0003-three", False, True, ["==1.0", "==1.2"])
    assert (home.folder / outcome.added).read_text() == "Why.\n\n--- p/m.py\n@@ g @@\n def g():\n-    d()\n+    print()\n"
    assert patch_files(home.patchset.files["patchset.toml"]) == [ALL_THREE, [ALL_THREE[0], outcome.added, ALL_THREE[2]]]
    assert home.patchset.variants[1].series


def test_nothing_is_left_to_edit_where_no_variant_was_added(index, tmp_path):
    index(RELEASED)
    write_files(tmp_path / "edited", {"p/m.py": DRIFTED.replace("d()", "d()  # why").encode()})
    outcome = updated(of_three(tmp_path), "1.2", copy=tmp_path / "edited")
    assert (outcome.added, outcome.left, outcome.written) == ("", "", False)


def test_the_next_patch_of_a_series_goes_into_the_variant_that_is_being_made(index, tmp_path):
    index(RELEASED)
    home = of_three(tmp_path, "==1.2")
    (home.folder / "0002-two.spatch").write_text(SPATCH.replace("@@ f @@\n-a()", "@@ g @@\n-d()"))
    write_files(tmp_path / "edited", {"p/m.py": DRIFTED.replace("d()", "print()").replace("y()", "max()").encode()})
    outcome = updated(home, "1.2", copy=tmp_path / "edited")
    assert (outcome.added, outcome.left, outcome.ok, outcome.written, home.ranges) == ("0003-three-1.2.spatch", "", True, True, ["==1.2"])
    assert patch_files(home.patchset.files["patchset.toml"]) == [[*ALL_THREE[:2], outcome.added]]


def on_release(home, version):
    """What was tried of a release."""
    outcome = update._tried("one", [version], home.place, SILENT)
    return outcome.patchset, outcome.releases[0]


def test_what_is_opened_of_a_release_are_the_files_that_it_has(index, tmp_path):
    head, change = "--- {}\n", "@@ {} @@\n-a()\n+print()\n"
    spatch = head.format("p/m.py") + change.format("f") + head.format("p/n.py") + change.format("f") + head.format("p/gone.py") + "".join(map(change.format, ("f", "h", "k"))) + "+++ p/new.py\n+x = 1\n"
    home = Home(tmp_path, spatch=spatch)
    core = "def f():\n    a()\n\n\ndef h():\n    b()\n\n\ndef k():\n    b()\n"
    marked = re.sub("def ([hk])", rf"{MISSING_HERE}@@ \1 @@\n# sitepatch: -a()\n# sitepatch: +print()\ndef \1", core)
    index({("p", "2.0"): {"p/m.py": OLD, "p/core.py": core, "p/half.py": OLD, "p/n.py": NEW}, ("p", "3.0"): {"q.py": ""}})
    assert update._texts(*on_release(home, "2.0")) == {
        "p/m.py": (OLD.encode(), NEW.encode()),
        "p/n.py": (NEW.encode(), NEW.encode()),
        "p/core.py": (core.encode(), marked.replace("a()", "print()", 1).encode()),
    }
    with pytest.raises(SitepatchError) as caught:
        update._texts(*on_release(home, "3.0"))
    assert (caught.value.message, caught.value.hint) == ("p 3.0 has none of the files of this patchset", "make a patchset of its own for that release: sitepatch edit")


def test_a_patch_whose_file_is_gone_is_at_home_where_most_of_its_scopes_are():
    unfound = [HunkExplanation("/site", answer("not found", scope, path), None, b"", tuple(Elsewhere(place, 1) for place in places)) for scope, path, places in (("f", "p/m.py", ("a.py", "b.py")), ("g", "p/m.py", ("b.py",)), ("h", "p/o.py", ("c.py", "c.py", "c.py")))]
    tried = tried_release("not found", hunks=tuple(unfound))
    assert [update._moved(tried, patch(hunk(), path=path)) for path in ("p/m.py", "p/o.py", "p/z.py")] == [["b.py"], ["c.py"], []]


def test_of_a_series_the_patches_before_the_one_that_drifted_are_one_layer_and_that_is_the_other():
    variant = of_series(("one", "f", "a()", "b()"), ("two", "f", "b()", "c()"), ("three", "f", "c()", "d()")).variants[0]
    assert [[len(part) for part in update._layer(variant, name)] for name in ("one", "two", "three", "")] == [[0, 1], [1, 1], [2, 1], [0, 3]]
    states = [(), (PatchState("one", "applied"),), (PatchState("one", "applied"), PatchState("two", "not found", "why"), PatchState("three", "conflict", "why"))]
    assert [update._drifted(tried_release(patches=patches)) for patches in states] == ["", "", "two"]


@pytest.mark.usefixtures("copies")
def test_the_values_of_options_are_written_out_in_what_is_edited(index, tmp_path):
    options = '[options.size]\ntype = "int"\ndefault = 2\nhelp = "a number"\n'
    home = Home(tmp_path, manifest=MANIFEST + options + VARIANT.format("==1.0", "p"), spatch="--- p/m.py\n@@ f @@\n-a()\n+print($size)\n")
    index({("p", "2.0"): "def f():\n    b()\n"})
    outcome = edited(home, "    b()", "    print(2)", "2.0")
    assert (outcome.notes, outcome.added) == (("the values of options are written out in the new hunks",), "one-2.0.spatch")


@pytest.mark.usefixtures("copies")
def test_hunks_that_do_not_make_what_was_edited_are_not_written(index, tmp_path, monkeypatch):
    def refuses(edit, draft, patches):
        raise SitepatchError(f"{edit.path} {len(draft.files)} {len(patches)}")

    monkeypatch.setattr("patcher.author.proof.check_edit", refuses)
    index(HISTORY)
    home = Home(tmp_path)
    with pytest.raises(SitepatchError, match=r"^p/m\.py 1 1$"):
        edited(home, "    b()", "    print()\n    b()", "2.0")
    assert home.ranges == ["==1.0"]


MEANT = proving.Proposal("p 1.1", (("where one is", "one"), ("where two is", "two")), {}, (DIFF,))
RESULT = update.UpdateOutcome(
    Path("/mine/one"),
    patchset(HUNKS, HUNKS._replace(versions="==2.0")),
    (tried_release(unlike=(DIFF,)), tried_release("not found", version="1.1", problem="why", hunks=(FAILED,)), tried_release("not found", version="1.2", problem="why not", inside=False)),
    ranges=(("p", "==1.0", ">=1.0"),),
    dropped=("two",),
    written=True,
    problems=("p 9: none",),
    notes=("a remark",),
    proposal=MEANT,
)
PROPOSED = [f"p 1.1: where {name} is; if that is meant, write {name}" for name in ("one", "two")]
REMARKS = ["note: a remark", *(f"note: {text}" for text in PROPOSED)]


def reported(capsys, outcome, to=(), copy="", **more):
    """The exit code, the lines of the answer without blank ones, and those of the notes."""
    code = update._report(console(**more), to, copy, outcome)
    told = capsys.readouterr()
    return code, [line for line in click.unstyle(told.out).split("\n") if line], told.err.splitlines()


def test_an_update_is_told_release_by_release_and_with_what_it_changed(capsys):
    unfit = ["not found   p 1.1", "not found   p 1.2", "            why not"]
    changed = ["not fetched  p 9: none", "dropped      two.spatch  upstream has it", "changed      p ==1.0     now >=1.0"]
    edit = "edit it there with: sitepatch update mine{} --edit"
    code, lines, notes = reported(capsys, RESULT, ("1.1",))
    assert (code, lines[:4], lines[4], lines[-4:], notes) == (1, ["applicable  p 1.0  fits", *unfit], "not found  p/m.py  f", [*changed, edit.format(" --to 1.1")], REMARKS)
    assert reported(capsys, RESULT)[1][-1] == edit.format("")
    assert reported(capsys, RESULT, copy="copies") == (1, ["applicable  p 1.0  fits", *unfit, *changed, edit.format("")], REMARKS)
    code, lines, notes = reported(capsys, RESULT, quiet=True)
    assert (code, lines[:3], lines[-1], notes) == (1, ["not found  p 1.1", "not found  p 1.2", "           why not"], changed[0], [])
    fine = RESULT._replace(releases=RESULT.releases[:1], problems=(), dropped=(), proposal=None, notes=())
    assert reported(capsys, fine) == (0, ["applicable  p 1.0  fits", "widened  p ==1.0  now >=1.0"], [])
    assert reported(capsys, fine._replace(problems=("p 9: none",))) == (1, ["applicable  p 1.0  fits", "not fetched  p 9: none", "widened      p ==1.0    now >=1.0"], [])


def test_an_edit_is_told_with_its_hunks_and_the_variant_that_was_added(capsys):
    edited = RESULT._replace(releases=RESULT.releases[1:2], draft=DRAFT, proposal=None, dropped=(), problems=())
    code, lines, notes = reported(capsys, edited, copy="copies")
    hunks = ["--- p/m.py or p/n.py", "@@ f @@", "-a", "+b", "  # line 4: as it is", "@@ g @@", "+c", "  # line 9: loose", "+++ p/new.py", "+a", "  # line 1: a file that is added"]
    left = ["not captured  p/m.py:7  a comment", "              -# x", "              +# y", "not captured  p/o.py    no syntax", "widened       p ==1.0   now >=1.0"]
    assert (code, lines, notes) == (1, ["not found  p 1.1", *hunks, *left], ["note: a remark", "stopped: no variant was added"])
    code, lines, notes = reported(capsys, edited._replace(draft=Draft(()), added="two.spatch"), copy="copies")
    assert (code, lines, notes) == (0, ["not found  p 1.1", "changed  p ==1.0                            now >=1.0", "added    /mine/one/two.spatch, for p ==2.0"], ["note: a remark"])


def test_an_update_as_json_has_what_was_done():
    told = to_json(update._json(RESULT._replace(draft=DRAFT, added="two.spatch")))
    rest = {"distribution": "p", "proven": False, "diff": "", "in_range": True, "hunks": []}
    assert told == {
        "patchset": "mine",
        "folder": "/mine/one",
        "written": True,
        "releases": [
            {**rest, "version": "1.0", "state": "applicable", "problem": "", "diff": DIFF.text.decode()},
            {**rest, "version": "1.1", "state": "not found", "problem": "why", "hunks": [to_json(hunk_json(FAILED))]},
            {**rest, "version": "1.2", "state": "not found", "problem": "why not", "in_range": False},
        ],
        "ranges": [{"package": "p", "before": "==1.0", "now": ">=1.0"}],
        "added": "two.spatch",
        "dropped": ["two"],
        "hunks": to_json(drafts.hunks_json(DRAFT)),
        "left": drafts.left_json(DRAFT),
        "problems": ["p 9: none"],
        "remarks": ["a remark", *PROPOSED],
    }


def test_somebody_is_asked_who_sees_what_becomes_of_the_release(capsys, monkeypatch):
    questions = []
    monkeypatch.setattr(Console, "confirm", lambda where, question: questions.append(question) or True)
    monkeypatch.setattr(Console, "asks", False)
    assert (update._agreed(console(), MEANT), questions, capsys.readouterr().out) == (False, [], "")
    monkeypatch.setattr(Console, "asks", True)
    assert (update._agreed(console(), MEANT), questions) == (True, ["write that into the patchset, as a further form?"])
    assert capsys.readouterr().out == f"p 1.1  where one is\np 1.1  where two is\n{DIFF.text.decode()}"


def test_the_command_edits_until_nothing_is_left(monkeypatch, tmp_path):
    calls, rest = [], ["two", ""]

    def updates(name, to, **more):
        calls.append(("update", name, to, *(str(more[key]) for key in ("copy", "drop_upstream") if key in more)))
        return RESULT._replace(left=rest.pop(0) if rest else "", added="one.spatch", releases=RESULT.releases[:1])

    def edits(console, folder, path, command, run):
        calls.append(("edit", folder.name, path, command.partition(" --target")[0]))
        return run()

    def copies(name, to, *, place, events):
        calls.append(("copy", name, to))
        return SimpleNamespace(folder=Path("/copies"), paths=("p/m.py", "p/n.py")[: len(rest)])

    for name, function in (("update", updates), ("edit_copies", edits), ("copy_release", copies)):
        monkeypatch.setattr(update, name, function)

    def ran(*words):
        calls.clear()
        outcome = CliRunner().invoke(commands, ["update", "one", *words, "--target", str(tmp_path)], standalone_mode=False)
        return outcome.return_value, [line for line in outcome.output.splitlines() if line.startswith("added")]

    added = "added        /mine/one/one.spatch, for p ==2.0"
    assert ran("--edit", "--to", "1.1") == (0, ["added  one.spatch  next: two", added])
    command = "sitepatch update one --to 1.1 --from /copies"
    assert calls == [("copy", "one", ("1.1",)), ("edit", "copies", "", command), ("update", "one", ("1.1",), "/copies"), ("copy", "one", ("1.1",)), ("edit", "copies", "p/m.py", command), ("update", "one", ("1.1",), "/copies")]
    for words, copy, dropped in ((("--edit", "--drop-upstream"), "", "True"), (("--edit", "--from", "/copies"), "/copies", "False"), ((), "", "False")):
        assert (ran(*words), calls) == ((0, [added]), [("update", "one", (), copy, dropped)])
    monkeypatch.setattr(update, "edit_copies", lambda *words: words[-1]() or 3)
    rest[:] = ["two", ""]
    assert ran("--edit")[0] == 3 and len(calls) == 2
