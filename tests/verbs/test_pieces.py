"""What the commands are made of, asked of the functions themselves: orders, limits, and what is left out."""

import io
import json
import shutil
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from patcher.diagnosis.failures import Failure
from patcher.engine.engine import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import BusyError, SitepatchError, StoreError
from patcher.model import Answer, State, Symptom
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.text.diffs import diff_texts
from patcher.verbs import keep, pager
from patcher.verbs.apply import apply
from patcher.verbs.console import Console
from patcher.verbs.demo import lay_out
from patcher.verbs.diagnose import _outcome_rows, diagnose
from patcher.verbs.diff import diff, reasons
from patcher.verbs.drafts import show_unlike
from patcher.verbs.edit import edit_patchset
from patcher.verbs.explanations import HunkExplanation, explanation_row
from patcher.verbs.findings import DiagnoseOutcome, FoundSymptom
from patcher.verbs.main import commands
from patcher.verbs.options import complete_settings
from patcher.verbs.place import Place
from patcher.verbs.progress import ProgressBar
from patcher.verbs.releases.outcome import NO_RELEASE, Checked, PatchState, ReleaseOutcome
from patcher.verbs.releases.table import series_rows, upstream_since
from patcher.verbs.styles import style
from tests.command import DDP, DYNAMO, GUARD, RUNNER, Site
from tests.verbs.kit import Progress, console

pytestmark = pytest.mark.once
PATCHSET = load_patchset(f"{builtin_dir()}/{DDP}", BUILT_IN)


# errors and help ------------------------------------------------------------------------------------------------------
def test_who_may_try_again_is_told_in_json(capsys):
    for error, busy in ((BusyError("no"), {"busy": True}), (StoreError("no"), {})):
        console(as_json=True).fail(error)
        assert json.loads(capsys.readouterr().out)["error"] == {"message": "no", "hint": "", "exit_code": 1, **busy}


@pytest.mark.parametrize("name", ["apply", "check", "import"])
def test_the_help_of_a_command_has_its_text(name):
    text = " ".join(CliRunner().invoke(commands, [name, "--help"]).output.split())
    assert " ".join(commands.get_command(None, name).help.split("\n\n")[0].split()) in text
    assert f"sitepatch {name} " in text.partition("Example")[2]


def test_apply_restore_restores(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    told = CliRunner().invoke(commands, ["apply", DDP, "--restore", "--target", str(site.path)])
    assert (told.exit_code, f"{DDP} is not applied here: nothing to restore" in told.output) == (0, True)


def test_a_pager_gets_colours_where_the_terminal_would(monkeypatch):
    pages = []
    monkeypatch.setattr(pager, "paged", lambda page: pages.append(page) or True)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    for color in (True, False):
        monkeypatch.setattr(Console, "color", lambda where, stream, color=color: color)
        console().page([style("x", fg="red")])
    assert pages == [f"{click.style('x', fg='red')}\n", "x\n"]


def test_what_follows_set_is_completed():
    context = SimpleNamespace(params={"names": (DYNAMO, DDP)}, args=[])
    assert f"{DDP}.params=" in complete_settings(context, None, "")
    seeds = SimpleNamespace(params={"names": ("accelerate-ddp-hygiene",)}, args=[])
    begun = "accelerate-ddp-hygiene.seeds="
    assert complete_settings(seeds, None, begun) == [f"{begun}true", f"{begun}false"]
    assert complete_settings(context, None, "x") == []


def test_a_log_of_progress_has_a_line_every_half_minute_and_a_bar_moves():
    for is_terminal, pauses in ((False, [30.0, 30.0, 30.0]), (True, [1.0, 0.25, 0.25])):
        stream = io.StringIO()
        stream.isatty = lambda answer=is_terminal: answer
        bar, waited = ProgressBar(stream), []
        bar._over.set()  # ends the thread of its own
        bar._over = SimpleNamespace(wait=lambda pause, waited=waited: waited.append(pause) or len(waited) > 2, is_set=lambda: False, set=list)
        bar._watch()
        assert waited == pauses


# the hook -------------------------------------------------------------------------------------------------------------
def test_a_file_that_is_as_it_was_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(keep.time, "sleep", lambda seconds: pytest.fail("it waits"))
    later = f"{int(keep.time.time()) + 60}:9"
    keep._outlast({"a.py": later}, {"a.py": later})


# what a log has -------------------------------------------------------------------------------------------------------
def test_how_much_of_the_logs_is_read_is_told_in_megabytes(tmp_path):
    (tmp_path / "log").write_bytes(b"x\n" * (3 << 19))
    progress = Progress()
    diagnose(str(tmp_path / "log"), place=Place(target=tmp_path), events=progress)
    assert progress.steps[-2:] == [(3, 4), (1, 1)] and all(total == 4 for _, total in progress.steps[:-1])


def test_known_causes_stand_above_who_failed_and_consequences_below():
    cause, follower = (FoundSymptom(Symptom(name, (), "m", follows=name == "b"), None, None, 1, (), "log", 1, "text") for name in "ab")
    failure = Failure(1, "host", "now", 1, "", "", "log", 9, "KeyError: 1")
    outcome = DiagnoseOutcome((failure,), (), (), (follower, cause), (), (), (), (), ())
    assert [row.cells[0] for row in _outcome_rows(outcome).values()] == ["a", "rank 1", "b"]


def test_a_difference_is_explained_by_the_patchsets_that_make_it(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    place = Place(target=site.path)
    apply((DDP, GUARD), place=place, verify="none")
    for names in ((DDP,), (GUARD,), (DDP, GUARD)):
        assert {reason.patchset.name for reason in reasons(diff(names, place=place), ())} == {*names}


def test_a_stand_in_is_laid_out_once(tmp_path):
    lay_out("mmengine-0.10.7", tmp_path)
    with pytest.raises(FileExistsError):
        lay_out("mmengine-0.10.7", tmp_path)


def test_who_edits_a_patchset_that_does_not_fit_here_is_told_how_to_see_why(tmp_path, monkeypatch):
    site = Site(tmp_path, "mmengine-0.10.7")
    shutil.copytree(f"{builtin_dir()}/{DDP}", str(tmp_path / "patchsets" / DDP))
    monkeypatch.chdir(tmp_path)
    site.file(RUNNER).write_text("def wrap(): pass\n")
    with pytest.raises(SitepatchError, match=f"{DDP}: does not fit here"):
        edit_patchset(DDP, place=Place(target=site.path))


# hunks and releases ---------------------------------------------------------------------------------------------------
def test_where_no_form_of_a_hunk_is_found_what_is_closest_to_each_is_shown():
    text = "--- p/m.py\n@@ f @@\n-A($X, 1)\n+max($X, 0)\n@@ or @@\n-b($X, 2)\n+max($X, 0)\n"
    (hunk,) = explain(b"def f(a):\n    b(a, 3)\n    A(a, 2)\n", parse_spatch(text, "p.spatch")[1][0].hunks, {})
    rows = [explanation_row(HunkExplanation("", Answer("p", "p/m.py", "f", state), explanation)) for state, explanation in ((State.NOT_FOUND, hunk), (State.APPLICABLE, hunk._replace(state=State.APPLICABLE)))]
    details = [click.unstyle("\n".join(row.details)) for row in rows]
    assert all("another form of it, line 5" in text for text in details)
    assert "A(a, 2)" in details[0] and "b(a, 3)" in details[0] and "b(a, 3)" not in details[1].partition("another form")[2]


def outcome(version, word, *, distribution="mmengine", **more):
    answers = () if word == NO_RELEASE else (Answer(DDP, "m.py", "f", State(word) if word in {state.value for state in State} else State.APPLICABLE),)
    return ReleaseOutcome(distribution, version, word, answers=answers, **more)


def test_a_release_that_is_not_there_ends_no_row_of_those_that_have_it():
    outcomes = (outcome("0.1", "applicable"), outcome("0.2", "upstream"), outcome("0.3", NO_RELEASE), outcome("0.4", "upstream"))
    assert upstream_since(Checked(PATCHSET, outcomes)) == {DDP: "mmengine 0.2"}
    assert upstream_since(Checked(PATCHSET, (*outcomes, outcome("0.5", "applicable")))) == {}


def test_why_a_patch_of_a_series_does_not_fit_is_told_in_a_few_lines_or_in_all():
    text = "--- p/m.py\n@@ f @@\n a\n-A($X, 1)\n+max($X, 0)\n b\n"
    (hunk,) = explain(b"def f(a):\n    a\n    A(a, 2)\n    b\n    c\n", parse_spatch(text, "p.spatch")[1][0].hunks, {})
    hunks = (HunkExplanation("", Answer("p", "p/m.py", "f", State.NOT_FOUND), hunk),) * 3
    checked = Checked(PATCHSET, (outcome("0.1", "not found", patches=(PatchState("one", "not found", "why\nat length", "", hunks),)),))
    few, many = (series_rows(checked, verbose=verbose)[-1].details for verbose in (False, True))
    assert few[0] == many[0] == "why" and len(few) < len(many) and few == many[: len(few)]


def test_what_is_made_of_releases_with_other_code_is_shown_once_with_their_names(capsys, monkeypatch):
    monkeypatch.setattr(Console, "plain", False)
    diff = diff_texts("/site", "m.py", b"a = 1\n", b"a = 2\n")
    others = [outcome(version, "applicable", unlike=(diff,)) for version in ("0.1", "0.2")]
    show_unlike(console(), [outcome("0.3", "applicable"), *others])
    said = click.unstyle(capsys.readouterr().out)
    assert said.count("in mmengine 0.1 and mmengine 0.2, whose code differs") == 1 and said.count("+a = 2") == 1
