"""What the commands that look and tell are made of, asked of the functions themselves: every row, every field, every refusal."""

import gzip
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from patcher.author import revise
from patcher.author.changed import InstalledFile, Search
from patcher.author.copies import Copies
from patcher.author.diffs.locate import FileMatch
from patcher.author.diffs.patchfile import Patch
from patcher.author.diffs.unified import Section
from patcher.author.draft import Draft, DraftFile, DraftHunk, LeftOut, Rejected
from patcher.author.export import PatchedFile, open_wheel
from patcher.author.folder import Head, PackageRange
from patcher.author.patches import GivenPatch
from patcher.author.pristine import EditedFile, NotFound, Original
from patcher.author.proof import Release
from patcher.author.series import PatchResult
from patcher.diagnosis.conclusions import Conclusion
from patcher.diagnosis.failures import Failure, Meaning
from patcher.diagnosis.log import Log, Sighting
from patcher.diagnosis.ranks import EndedRank, Verdict
from patcher.diagnosis.report import Report
from patcher.diagnosis.runs import Run, Wrap
from patcher.diagnosis.signs import EXCEPTION, EXIT, KNOWN, LOGGED
from patcher.errors import AbsentError, SitepatchError, StoreError, UsageError
from patcher.facts import Assignment, Condition, FileStatus, HandEdit, sha256
from patcher.installed.backups import Backup
from patcher.installed.index import NoWheel
from patcher.installed.interpreter import Environment
from patcher.model import (
    ADDED,
    Answer,
    Change,
    FilePatch,
    FilePlan,
    HunkText,
    Located,
    LockedFile,
    Option,
    Patchset,
    PatchsetSource,
    Plan,
    Receipt,
    Requested,
    State,
    Step,
    Symptom,
    Variant,
    Verify,
)
from patcher.patchset.places import BUILT_IN
from patcher.planner import survey
from patcher.store.folder import HOME, JOURNAL
from patcher.store.journal import backup, temporary
from patcher.text.confusable import diff_remarks
from patcher.text.diffs import diff_texts
from patcher.verbs import capture as capture_verb
from patcher.verbs import diagnose, doctor, findings, proving, status, trial
from patcher.verbs import diff as diff_verb
from patcher.verbs import edit as edit_verb
from patcher.verbs import export as export_verb
from patcher.verbs import import_ as import_verb
from patcher.verbs import list as list_verb
from patcher.verbs.capture import CaptureOutcome
from patcher.verbs.console import Console
from patcher.verbs.diff import stat_table
from patcher.verbs.differences import DiffOutcome, HandEditDiff, Reason
from patcher.verbs.doctor import NOTE, OK, PROBLEM, Check, Finding, examine
from patcher.verbs.findings import DiagnoseOutcome, FoundSymptom, KnownSymptoms
from patcher.verbs.fit import ABSENT, APPLICABLE, UNKNOWN, Fit
from patcher.verbs.hook import HookStatus
from patcher.verbs.list import Availability, _about, availability, broken_json, release_ranges
from patcher.verbs.main import commands
from patcher.verbs.place import Place
from patcher.verbs.releases.outcome import ReleaseOutcome
from patcher.verbs.status import AppliedFile, AppliedPatchset, FileState, StatusOutcome
from patcher.verify import CheckResult, Verified
from tests.author.world import FILES, World
from tests.places import wheel
from tests.verbs.kit import console

pytestmark = pytest.mark.once
NAMED = PatchsetSource("built in")


def plain(rows):
    """The rows of a table without colours, each with its cells and details."""
    return [(row.word, tuple(map(click.unstyle, row.cells)), tuple(map(click.unstyle, row.details))) for row in rows]


def patchset(name="fix", *, kind="fix", symptoms=(), options=(), variants=(), version="1", source=NAMED):
    return Patchset(name, version, kind, f"What {name} does", "", {}, options, variants, Verify(), f"digest of {name}", source, {}, symptoms)


def refusal(function, *words, kind=SitepatchError, **named):
    """The message and the hint of the error that a call ends with."""
    with pytest.raises(kind) as caught:
        function(*words, **named)
    return caught.value.message, caught.value.hint


# logs -----------------------------------------------------------------------------------------------------------------
NONE_FOUND = DiagnoseOutcome((), (), (), (), (), (), (), (), ())
FAILED = Failure(1, "host", "now", 1, "", "", "log", 9)


def sighting(text="KeyError: 1", *, kind=EXCEPTION, key="", at="", log="log", line=1, number=1, ranks=(), patterns=()):
    return Sighting(kind, key or text, text, at, log, line, number, ranks, patterns)


def log(name="log", *, sightings=(), errors=(), mentions=(), devices=(), reports=(), summaries=(), lines=3, cut=(), cut_count=0, problem=""):
    return Log(name, reports, (), sightings, summaries, {}, errors, mentions, devices, lines, cut, cut_count, problem)


def symptom(name="oops", *patterns, **fields):
    return Symptom(name, patterns or (name,), f"meaning of {name}", **fields)


def finding(entry=None, cure=None, fit=None, *, number=1, ranks=(), name="log", line=1, devices=()):
    return FoundSymptom(entry or symptom(), cure, fit, number, ranks, name, line, "its text", devices)


def report(rank=0, *, world_size=2, parameters=(("cpu", 3),), current=()):
    return Report(
        "log", 1, rank, rank, world_size, "host", 1, 1.0, 1, "run", "site", "DDP", True, "Net", parameters, (), (), (), 3, True, None, True, "", (), current, (), "0.10.7", "2.7", "", ""
    )


def wrap(*rows, conclusions=()):
    return Wrap(1, rows, conclusions, ("ready",) * len(rows))


SAW = "torchrun saw it fail first: exit code 1, on host, now"
NO_TRACEBACK = (
    "hint: these logs have no traceback of it: torchrun --log-dir DIR --redirects 3 keeps a log of each rank, and @record of "
    "torch.distributed.elastic.multiprocessing.errors adds it to torchrun's summary"
)
WAITED = "hint: it waited for another rank, and is a victim: look for the one that ended or stood still before"


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({}, ("failed", ("rank 1", "log:9"), (SAW, NO_TRACEBACK))),
        ({"error": "KeyError: 1", "at": "m.py:3"}, ("failed", ("rank 1", "log:9"), ("KeyError: 1", "m.py:3", SAW))),
        ({"error_file": "/tmp/error.json"}, ("failed", ("rank 1", "log:9"), (SAW, "its error file: /tmp/error.json"))),
        ({"signal": "SIGKILL"}, ("failed", ("rank 1", "log:9"), ("torchrun saw it fail first: ended by SIGKILL, on host, now",))),
        (
            {"signal": "SIGKILL", "victim": 2},
            ("failed", ("rank 1", "log:9"), ("it was ended by SIGKILL", "torchrun saw rank 2 fail first, which waited for this one")),
        ),
        (
            {"signal": "SIGKILL", "victim": 0, "error": "KeyError: 1", "named": False},
            (
                *("failed", ("rank 1", "log:9")),
                (
                    *("KeyError: 1", "", "the logs do not say which rank has written this traceback: it is the only one"),
                    "torchrun saw rank 0 fail first, which waited for this one",
                ),
            ),
        ),
        ({"waited": True, "error": "E: 1"}, ("waited", ("rank 1", "log:9"), ("E: 1", "", SAW, WAITED))),
        (
            {"late": (0, 2), "error": "E: 1", "waited": True, "error_file": "x"},
            (
                *("late", ("ranks 0,2", "log:9")),
                (
                    *("torchrun saw rank 1 fail first, on host, now: it waited in vain", "E: 1", ""),
                    "hint: it still ran when torchrun ended it, and has written no error: it stood still or made other calls, "
                    "and py-spy dump --pid PID shows where while it runs",
                ),
            ),
        ),
    ],
)
def test_what_is_said_of_a_rank_that_failed(fields, row):
    (told,) = diagnose._outcome_rows(NONE_FOUND._replace(failures=(FAILED._replace(**fields),))).values()
    assert plain([told]) == [row]


def test_what_is_said_of_errors_and_of_what_is_known():
    advice = symptom("advice", advice="look at {smi}")
    outcome = NONE_FOUND._replace(
        failures=(FAILED,),
        unexplained=(sighting("Oops: 1"), sighting("NCCL error", at="m.py:3", line=4, ranks=(0, 1))),
        findings=(
            finding(symptom("late", follows=True), number=2, ranks=(3,)),
            finding(symptom("cured"), patchset(), Fit(APPLICABLE, "it fits", ("a=1",)), line=7),
            finding(symptom("shown"), patchset("show", kind="debug"), Fit(ABSENT, "not here")),
            finding(advice, devices=("npu",)),
        ),
    )
    rows = diagnose._outcome_rows(outcome)
    assert list(rows) == [("cured",), ("shown",), ("advice",), ("host", "now", 1), ("Oops: 1", ""), ("NCCL error", "m.py:3"), ("late",)]
    told = plain(rows.values())
    assert told[:2] == [
        ("applicable", ("cured", "log:7"), ("its text", "it means: meaning of cured", "cured by fix: it fits")),
        ("absent", ("shown", "log:1"), ("its text", "it means: meaning of shown", "shown by show: not here")),
    ]
    assert told[2] == ("advice", ("advice", "log:1"), ("its text", "it means: meaning of advice", "hint: look at npu-smi"))
    ending = "no patchset and no advice here is about this error"
    assert told[4] == ("not known", ("log:1",), ("Oops: 1", ending))
    assert told[5][1:] == (("log:4, ranks 0-1",), ("NCCL error", "m.py:3", f"by its words it is about {outcome.unexplained[1].about}", ending))
    assert told[6] == ("follows", ("late", "log:1, rank 3, 2 lines"), ("its text", "it means: meaning of late"))


def test_what_remains_to_be_done_is_one_command_or_nothing(capsys):
    fine = NONE_FOUND._replace(logs=(log(lines=2), log(lines=0)))
    run = Run(1, ("log",), None, ())
    cases = (
        (fine._replace(cure=("apply", "fix")), "run  sitepatch apply fix --patch-dir mine\n", ""),
        (fine, "no known problem in 2 lines of 2 logs\n", ""),
        (fine._replace(logs=(log(lines=0),)), "no known problem in 0 lines of 1 log\n", "note: nothing was read: a command's errors come through a pipe with 2>&1\n"),
        (fine._replace(runs=(run,)), "", ""),
        (fine._replace(failures=(FAILED,)), "", ""),
    )
    out = console()
    out.place = Place(patch_dirs=("mine",))
    for outcome, *told in cases:
        diagnose._show_cure(out, outcome)
        assert list(map(click.unstyle, capsys.readouterr())) == told


def test_what_could_not_be_read_is_told_with_its_places(capsys):
    cases = (
        ((log(),), ""),
        ((log(cut=(4,), cut_count=1),), "cut-short  1 report ends too early and was not read: log:4\n"),
        ((log(cut=(1,), cut_count=1), log("b", cut=(2,), cut_count=1, problem="it is broken")), "cut-short  2 reports end too early and were not read: log:1, b:2\nunread  b: it is broken\n"),
        ((log("l", cut=tuple(range(10)), cut_count=10),), f"cut-short  10 reports end too early and were not read: {', '.join(f'l:{line}' for line in range(10))}\n"),
        ((log("l", cut=tuple(range(11)), cut_count=12),), f"cut-short  12 reports end too early and were not read: {', '.join(f'l:{line}' for line in range(10))}, ...\n"),
    )
    for logs, told in cases:
        diagnose._show_damage(console(), logs)
        assert " ".join(capsys.readouterr().out.split()) == " ".join(told.split())


def test_a_long_text_is_wrapped_below_where_it_begins():
    words = "word " * 40
    lines = diagnose._indented(words.strip(), 11).split("\n")
    assert [len(line) for line in lines] == [84, 96, 21] or [len(line) for line in lines]
    assert all(line.startswith("  word") for line in lines[1:]) and max(map(len, lines[1:])) <= 100 and len(lines[0]) <= 98 - 11


def test_the_last_line_of_a_log_that_grew_says_how_the_run_stands():
    def run_of(*rows):
        return Run(1, ("log",), None, (wrap(*rows),))

    none = "these logs do not say how many ranks there were and on which devices: mmengine-ddp-debug reports it"
    far, end, bad = "no error so far", "it came to its end without an error", "it did not come to its end without an error"
    two = run_of(report(0, parameters=(("cuda:0", 1),)), report(1, parameters=(("cuda:1", 1),)))
    idle = run_of(report(0, world_size=None, current=(("npu", 0),)), report(0, world_size=None, parameters=()))
    used = run_of(report(0, world_size=1, parameters=(("cuda:0", 1),), current=(("npu", 0),)))
    cases = (
        ((used,), True, {}, ("ok", ("1 rank on cuda:0",), (end,))),
        ((), False, {}, ("ok", (none,), (far,))),
        ((), True, {}, ("ok", (none,), (end,))),
        ((), True, {"failures": (FAILED,)}, ("failed", (none,), (bad,))),
        ((idle, two), True, {}, ("ok", ("2 ranks on cuda:0, cuda:1",), (end,))),
        ((two, idle), True, {}, ("ok", ("1 rank on cpu, while npu stands idle",), (end,))),
        ((run_of(report(0, world_size=4, parameters=())),), True, {}, ("ok", ("4 ranks on no device",), (end,))),
    )
    for shown, has_ended, fields, row in cases:
        told = diagnose._run_row(NONE_FOUND._replace(shown=shown, **fields), has_ended=has_ended)
        assert plain([told]) == [row]


def test_a_run_that_is_one_of_several_is_numbered(capsys):
    runs = (Run(1, ("log",), None, ()), Run(2, ("log",), None, (wrap(report(0, world_size=1)),)))
    diagnose._show_runs(console(), NONE_FOUND._replace(runs=runs, shown=runs[1:]))
    first, rest = click.unstyle(capsys.readouterr().out).split("\n", 1)
    assert first == "run 2 of 2" and "ready  " in rest and rest.endswith("\n\n")
    diagnose._show_runs(console(), NONE_FOUND._replace(runs=runs[1:], shown=runs[1:]))
    assert click.unstyle(capsys.readouterr().out) == rest


def test_a_log_that_grows_is_told_as_it_grows(capsys, monkeypatch):
    def told(*outcomes):
        monkeypatch.setattr(diagnose, "follow", lambda logs, place: iter(outcomes))
        code = diagnose._report_growing(console(), "log")
        return code, click.unstyle(capsys.readouterr().out).split("\n")

    run = Run(1, ("log",), None, (wrap(report(0, world_size=1)),))
    quiet = NONE_FOUND._replace(logs=(log(lines=2),))
    reported = quiet._replace(logs=(log(reports=(report(),)),), runs=(run,), shown=(run,))
    assert told() == (0, [""])
    code, lines = told(quiet, quiet, reported, reported)
    assert code == 0 and sum("verdict" in line for line in lines) == 1 and lines[-2].strip() == "it came to its end without an error"
    cured = quiet._replace(findings=(finding(),), cure=("apply", "fix"))
    code, lines = told(quiet, cured, cured)
    assert (code, lines.count("run  sitepatch apply fix"), sum(line.startswith("advice  oops") for line in lines)) == (1, 1, 1)
    assert told(quiet, cured)[1].count("run  sitepatch apply fix") == 1 and not any("no known problem" in line for line in lines)
    assert lines[-2].strip() == "it did not come to its end without an error"
    monkeypatch.setattr(DiagnoseOutcome, "concluded", property(lambda outcome: bool(outcome.shown)))
    assert [told(*outcomes)[0] for outcomes in ((reported, quiet), (quiet,))] == [1, 0]


def test_a_log_that_is_stopped_has_not_come_to_its_end(capsys, monkeypatch):
    def follow(logs, place):
        yield NONE_FOUND
        raise KeyboardInterrupt

    monkeypatch.setattr(diagnose, "follow", follow)
    with pytest.raises(KeyboardInterrupt):
        diagnose._report_growing(console(), "log")
    assert click.unstyle(capsys.readouterr().out).split("\n")[-2].strip() == "no error so far"


def test_the_answer_about_logs_in_json(capsys):
    unknown = sighting("KeyError: 1", at="m.py:3", line=4, ranks=(0, 1))
    cure = Fit(APPLICABLE, "it fits", ("a=1",))
    outcome = DiagnoseOutcome(
        (FAILED,),
        (unknown,),
        (sighting("spoken of", line=5),),
        (finding(symptom("cured", advice="see {smi}"), patchset(), cure, number=2, ranks=(1,), devices=("npu",)), finding(symptom("late", follows=True))),
        ("apply", "fix"),
        (log(lines=9, cut=(3,), cut_count=2, reports=(report(),), problem="why"),),
        (Run(1, (), None, ()),) * 2,
        (),
        (SitepatchError("it is broken"),),
    )
    out = console(as_json=True)
    out.answer(False, diagnose._outcome_json(out, outcome))
    answer = json.loads(capsys.readouterr().out)
    assert answer["failures"][0]["rank"] == 1 and answer["failures"][0]["exitcode"] == 1
    assert answer["unexplained"] == [{"error": "KeyError: 1", "at": "m.py:3", "ranks": [0, 1], "log": "log", "line": 4, "about": "data or the model"}]
    assert answer["mentions"] == [{"log": "log", "line": 5, "text": "spoken of"}]
    first, second = answer["findings"]
    seen = {"ranks": [1], "log": "log", "line": 1, "text": "its text"}
    assert first == {
        "symptom": "cured", "meaning": "meaning of cured", "advice": "see npu-smi", "follows": False, "lines": 2, **seen,
        "patchset": "fix", "fit": "applicable", "fit_text": "it fits", "settings": ["a=1"],
    }
    assert second == {
        "symptom": "late", "meaning": "meaning of late", "advice": "", "follows": True, "lines": 1, **seen, "ranks": [],
        "patchset": "", "fit": "", "fit_text": "", "settings": [],
    }
    assert answer["logs"] == [{"log": "log", "lines": 9, "reports": 1, "cut": 2, "cut_lines": [3], "problem": "why"}]
    assert (answer["cure"], answer["runs"], answer["shown"], answer["trial"]) == ("sitepatch apply fix", 2, [], None)
    assert answer["broken"] == [{"problem": "it is broken"}] and not answer["ok"]


def test_ranks_that_were_started_are_told_with_what_was_found(capsys, monkeypatch):
    ranks = [EndedRank(number, notes=(("imported", "torch_npu"),)) for number in (0, 1)]
    verdict = Verdict(False, "they cannot talk", "look", ("ok", "failed"))
    outcome = NONE_FOUND._replace(findings=(finding(),), cure=("apply", "fix"), broken=(SitepatchError("broken one"),))
    wanted = []

    def start(size, **fields):
        wanted.append((size, fields.pop("backend"), fields.pop("timeout")))
        return trial.TrialOutcome(ranks, verdict, outcome)

    monkeypatch.setattr(trial, "start_ranks", start)
    assert diagnose._report_trial(console(), 2, "gloo", 30.0) == 1
    out, err = map(click.unstyle, capsys.readouterr())
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:2] == ["ok rank 0 no device yet still in import torch", "failed rank 1 no device yet still in import torch"]
    assert lines[-3:] == ["failed they cannot talk", "hint: look", "run sitepatch apply fix"]
    assert "advice oops log:1" in lines and err == "broken: broken one\nnote: torch_npu was imported\n" and wanted == [(2, "gloo", 30.0)]
    verdict = verdict._replace(ok=True, hint="")
    outcome = NONE_FOUND
    assert diagnose._report_trial(console(), 2, "gloo", 30.0) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["ok", "they", "cannot", "talk"]
    assert diagnose._report_trial(console(as_json=True), 2, "gloo", 30.0) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] and answer["trial"]["timeout"] == 30.0 and answer["findings"] == []


class Terminal(io.BytesIO):
    """Standard input that somebody types, or that ends before the first line."""

    def __init__(self, *, is_terminal):
        super().__init__(b"")
        self.buffer, self.is_terminal = self, is_terminal

    def isatty(self):
        return self.is_terminal


def test_what_does_not_go_together_is_refused(monkeypatch):
    def refused(*, logs=(), grows=False, which=None, size=None, backend=None, timeout=None, as_json=False):
        return refusal(diagnose.command.callback.__wrapped__, console(as_json=as_json), logs, grows, which, size, backend, timeout, kind=UsageError)

    monkeypatch.setattr(sys, "stdin", Terminal(is_terminal=True))
    apart = ("--ranks: found a log, --follow or --run, which are for logs", "leave one of both out")
    for more in ({"logs": ("log",)}, {"grows": True}, {"which": "1"}):
        assert refused(size=2, **more) == apart
    for more in ({"backend": "gloo"}, {"timeout": 3.0}):
        assert refused(logs=("log",), **more) == ("--backend and --timeout: found no --ranks, which they are for", "")
    nothing = ("no log was given", "name files or directories, or pipe a log into the command")
    assert refused() == nothing
    for more in ({"which": "1"}, {"as_json": True}):
        assert refused(logs=("log",), grows=True, **more) == ("--follow: found --run or --json, which are for logs that have ended", "")
    monkeypatch.setattr(sys, "stdin", None)
    assert refused() == nothing and refusal(diagnose._stdin, kind=UsageError) == ("standard input is closed", "name a file")


def test_lines_that_merely_speak_of_errors_are_few_unless_all_are_wanted(capsys, monkeypatch):
    mentions = tuple(sighting(f"text {line}", line=line) for line in range(1, 6))
    shown = NONE_FOUND._replace(mentions=mentions, logs=(log(),), broken=(SitepatchError("it is broken"),))
    calls = []
    monkeypatch.setattr(diagnose, "diagnose", lambda logs, **fields: calls.append((logs, fields["run"])) or outcome)
    shown_runs = []
    monkeypatch.setattr(diagnose, "_show_runs", lambda console, outcome: shown_runs.append(outcome))
    run = diagnose.command.callback.__wrapped__
    monkeypatch.setattr(sys, "stdin", Terminal(is_terminal=False))
    for verbose, failures, number in ((False, (), 3), (True, (), 5), (True, (FAILED,), 0)):
        outcome = shown._replace(failures=failures)
        assert run(console(verbose=verbose), (), False, "1", None, None, None) == bool(failures)
        out, err = map(click.unstyle, capsys.readouterr())
        assert [line.split()[-1] for line in out.splitlines() if line.startswith("also in the text")] == [f"log:{line}" for line in range(1, number + 1)]
        assert err == "broken: it is broken\n" and shown_runs.pop() == outcome
        assert [line for line in out.splitlines() if line.startswith("failed")] == ["failed  rank 1  log:9"] * bool(failures)
    assert calls == [("-", "1")] * 3


def test_standard_input_is_followed_by_itself_to_its_end(monkeypatch, tmp_path):
    data = Terminal(is_terminal=False)
    data.write(b"one\ntwo")
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", data)
    monkeypatch.setattr(diagnose, "KnownSymptoms", lambda place: known())
    place = Place(target=tmp_path)
    monkeypatch.setattr(diagnose, "PIECE", 4)
    assert [outcome.logs[0].lines for outcome in diagnose.follow("-", place=place)] == [1, 2, 2]
    assert refusal(diagnose.diagnose, str(tmp_path), place=place, kind=UsageError)[0] == f"{tmp_path}: found no log in it"
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\x00")
    assert refusal(list, diagnose.follow(("-", tmp_path), place=place), kind=UsageError)[0] == "--follow: found standard input and files, expected one or the other"
    told = refusal(list, diagnose.follow(tmp_path / "a.gz", place=place), kind=UsageError)
    assert told == (f"--follow: found what gzip has compressed: {tmp_path / 'a.gz'}", "it does not grow: leave --follow out")


def test_files_that_come_later_are_followed_too(monkeypatch, tmp_path):
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "p.gz").write_bytes(b"\x1f\x8b\x08\x00")
    steps = [lambda: None, lambda: (tmp_path / "b").write_text("one\ntwo\n"), lambda: (tmp_path / "a").write_text("one\ntwo\n")]
    slept = []

    def sleep(seconds):
        slept.append(len(seen))
        steps.pop(0)()

    monkeypatch.setattr(diagnose.time, "sleep", sleep)
    monkeypatch.setattr(diagnose, "KnownSymptoms", lambda place: known())
    seen, outcomes = [], diagnose.follow(tmp_path, place=Place(target=tmp_path))
    for _ in range(3):
        seen.append([(Path(entry.name).name, entry.lines) for entry in next(outcomes).logs])
    assert seen == [[("a", 1)], [("a", 1), ("b", 2)], [("a", 2), ("b", 2)]] and slept == [1, 1, 2]


# what is found in logs ------------------------------------------------------------------------------------------------
def known(*entries, search=()):
    """What is known of errors, without the patchsets that ship."""
    symptoms = object.__new__(KnownSymptoms)
    symptoms.symptoms, symptoms.patterns, symptoms.broken, symptoms._fits, symptoms._meanings = list(entries), [], (), {}, {}
    symptoms._place = SimpleNamespace(environment=lambda: Environment("python", (), tuple(map(str, search)), (3, 11)))
    symptoms._statuses = []
    return symptoms


def test_a_symptom_is_found_where_logs_and_environment_have_what_it_needs(tmp_path, monkeypatch):
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "demo").mkdir()
    monkeypatch.setattr(findings, "fit_of", lambda env, items, cure, entry: Fit(APPLICABLE, cure.name, tuple(f"{name}={value}" for name, value in entry.options.items())))
    device = patchset("device", options=(Option("device", "str", "", ""),))
    of_size = patchset("other", options=(Option("size", "int", 1, ""),))

    def told(entry, *logs, cure=None, here=False):
        outcome = known((entry, cure), search=[tmp_path] if here else [])._findings(logs)
        return [(seen.devices, seen.fit and seen.fit.settings, seen.number, seen.line) for seen in outcome]

    plain_log = log(sightings=(sighting(key="a", line=5, number=2), sighting(key="a", line=3), sighting(key="b", line=1)))
    of_npu = plain_log._replace(devices=("npu",))
    assert told(symptom("s", "a"), plain_log) == [((), None, 3, 3)]
    assert told(symptom("s", "c"), plain_log) == []
    assert told(symptom("s", "a", needs=("c",)), plain_log) == []
    assert told(symptom("s", "a", needs=("c",)), plain_log._replace(mentions=(sighting(key="c"),))) == [((), None, 3, 3)]
    assert told(symptom("s", "a", installed=("torch_npu",)), plain_log) == []
    assert told(symptom("s", "a", installed=("torch_npu",)), of_npu) == [(("npu",), None, 3, 3)]
    assert told(symptom("s", "a", installed=("torch_npu", "demo")), plain_log, here=True) == [(("npu",), None, 3, 3)]
    assert told(symptom("s", "a", installed=("torch_gcu",)), of_npu, here=True) == []
    assert told(symptom("s", "a", options={"size": 2}), of_npu, cure=device) == [(("npu",), ("size=2", "device=npu"), 3, 3)]
    assert told(symptom("s", "a"), of_npu._replace(devices=("npu", "cuda")), cure=device) == [(("cuda", "npu"), (), 3, 3)]
    assert told(symptom("s", "a"), of_npu, cure=of_size) == [(("npu",), (), 3, 3)]
    assert told(symptom("s", "a"), of_npu) == [(("npu",), None, 3, 3)]


def test_what_an_error_means_for_its_rank():
    symptoms = known(*((entry, None) for entry in (symptom("peer-gone", "gone", follows=True), symptom("collective-timed-out", "late", follows=True), symptom("x", "after", follows=True), symptom("y", "own"))))
    texts = {"gone": Meaning.PEER_GONE, "it is late": Meaning.TIMED_OUT, "after that": Meaning.UNCLEAR, "own": Meaning.OWN, "new": Meaning.OWN, "late after": Meaning.TIMED_OUT}
    assert {text: symptoms._meaning(text) for text in texts} == texts
    symptoms.symptoms.append((symptom("z", "either", "or", follows=True), None))
    assert (symptoms._meaning("either way"), symptoms._meaning("or so")) == (Meaning.UNCLEAR, Meaning.UNCLEAR)
    symptoms.symptoms.clear()
    assert {text: symptoms._meaning(text) for text in texts} == texts


def test_whether_a_patchset_fits_is_looked_at_once_and_may_not_be_known(monkeypatch):
    calls = []

    def fit_of(env, items, cure, entry):
        calls.append((cure.name, entry.name, dict(entry.options)))
        if cure.name == "usage":
            raise UsageError("no such environment")
        if cure.name == "broken":
            raise SitepatchError("it is broken")
        return Fit(APPLICABLE, "it fits")

    monkeypatch.setattr(findings, "fit_of", fit_of)
    symptoms = known()
    for options in ({}, {"a": 1}, {"a": 1}, {}):
        assert symptoms._fit(patchset("fine"), symptom("s", options=options)) == Fit(APPLICABLE, "it fits")
    assert symptoms._fit(patchset("broken"), symptom("s")) == Fit(UNKNOWN, "whether it fits could not be looked at: it is broken")
    with pytest.raises(UsageError, match="no such environment"):
        symptoms._fit(patchset("usage"), symptom("s"))
    assert calls == [("fine", "s", {}), ("fine", "s", {"a": 1}), ("broken", "s", {}), ("usage", "s", {})]


def test_lines_that_speak_of_errors_are_told_once_in_their_order():
    symptoms = known((symptom("s", "a", needs=("n",)), None))
    logs = (
        log("b", mentions=(sighting("x", log="b", line=2), sighting("y", log="b", line=2), sighting("needed", kind=KNOWN, key="n", log="b", line=3))),
        log("a", mentions=(sighting("known", kind=KNOWN, key="a", log="a", line=9),)),
    )
    assert [(line.log, line.line, line.text) for line in symptoms._mentions(logs)] == [("a", 9, "known"), ("b", 2, "y")]


def test_errors_that_nothing_explains():
    def texts(errors, found=(), sightings=()):
        return [(error.text, error.at, error.ranks) for error in findings._unexplained([log(errors=tuple(errors), sightings=tuple(sightings))], found)]

    first, second = sighting("E: 1", ranks=(3,)), sighting("E: 1", ranks=(1, 3), line=8)
    logged, code = sighting("ERROR x", kind=LOGGED), sighting("exit 1", kind=EXIT)
    assert texts([]) == []
    assert texts([first, second]) == [("E: 1", "", (1, 3))]
    assert texts([first, sighting("E: 1", at="m.py:3"), sighting("E: 2")]) == [("E: 1", "m.py:3", ()), ("E: 2", "", ())]
    assert texts([code, logged, first]) == [("E: 1", "", (3,))]
    assert texts([code, logged]) == [("ERROR x", "", ())] and texts([code]) == [("exit 1", "", ())]
    explained = finding(symptom("s", "pattern"))
    assert texts([logged], [explained]) == [] and texts([first], [explained]) == [("E: 1", "", (3,))]
    assert texts([first._replace(patterns=("pattern",))], [explained]) == []
    assert texts([first._replace(text="a pattern there")], [explained]) == []
    summary = finding(symptom("a-rank-failed", "pattern"))
    assert texts([first._replace(patterns=("pattern",))], [summary]) == [("E: 1", "", (3,))]
    for line, is_explained in ((0, False), (1, True), (20, True), (21, False)):
        assert (texts([first], [explained], [sighting(key="pattern", line=line)]) == []) == is_explained
    assert texts([first], [explained], [sighting(key="other", line=1)]) == [("E: 1", "", (3,))]


def test_which_runs_are_shown():
    runs = [Run(number, (), None, ()) for number in (1, 2, 3)]
    numbers = {None: [3], "all": [1, 2, 3], "1": [1], "2": [2], "3": [3]}
    assert {word: [run.number for run in findings._chosen(runs, word)] for word in numbers} == numbers
    for word in ("0", "4", "x", "-1"):
        assert refusal(findings._chosen, runs, word, kind=UsageError) == (f"--run: found {word}, expected all or a number from 1 to 3", "1 is the oldest run")
    assert refusal(findings._chosen, [], "1", kind=UsageError)[0] == "--run: found 1, expected none: no log has a report of mmengine-ddp-debug"
    assert findings._chosen([], None) == []


def test_of_what_is_found_in_one_line_the_most_specific_stays():
    entries = {
        "follows": finding(symptom("follows", "p", follows=True)),
        "cause": finding(symptom("cause", "p")),
        "debug": finding(symptom("debug", "p"), patchset(kind="debug")),
        "cured": finding(symptom("cured", "p"), patchset()),
        "installed": finding(symptom("installed", "p", installed=("torch_npu",))),
    }
    logs = [log(sightings=(sighting(key="p"),)), log("b")]
    for first, second in zip(entries, list(entries)[1:]):
        for both in ((first, second), (second, first)):
            assert [seen.symptom.name for seen in findings._most_specific([entries[name] for name in both], logs)] == [second]
    needing = finding(symptom("needing", "q", needs=("p",)), patchset(), line=4)
    logs = [log(sightings=(sighting(key="p"), sighting(key="q", line=4)))]
    assert [seen.symptom.name for seen in findings._most_specific([entries["cause"], needing], logs)] == ["needing"]


def test_one_command_cures_all_that_can_be_cured():
    def cured(name, word=APPLICABLE, *settings, follows=False):
        return finding(symptom("s", follows=follows), patchset(name), Fit(word, "", settings))

    assert findings._cure([]) == findings._cure([finding()]) == findings._cure([finding(cure=patchset())]) == ()
    assert findings._cure([cured("a", APPLICABLE, "x=1"), cured("b", ABSENT, "y=1"), cured("a", APPLICABLE, "x=1", "z=2"), cured("c")]) == (
        *("apply", "a", "c", "--set", "a.x=1", "--set", "a.z=2"),
    )
    assert findings._cure([cured("late", follows=True)]) == ("apply", "late")
    assert findings._cure([cured("late", follows=True), finding()]) == ()


def test_what_is_wrong_decides_what_a_log_is():
    for fields in ({"failures": (FAILED,)}, {"unexplained": (sighting(),)}, {"findings": (finding(),)}, {"logs": (log(problem="why"),)}, {"logs": (log(), log(cut_count=1))}):
        outcome = NONE_FOUND._replace(**fields)
        assert (outcome.erred, outcome.ok, outcome.concluded) == (True, False, False)
    spoken = NONE_FOUND._replace(mentions=(sighting(),), logs=(log(),), runs=(Run(1, (), None, ()),))
    assert (spoken.erred, spoken.ok) == (False, True)


def test_causes_come_before_ranks_that_waited_and_what_may_follow_anything():
    entries = [symptom("cause"), symptom("peer-gone"), symptom("peer-gone", follows=True), symptom("consequence", follows=True)]
    assert list(map(findings._order, entries)) == [0, 0, 1, 2]


def test_what_is_known_better_from_elsewhere_is_left_out_and_the_rest_is_in_order():
    names = {"a-rank-failed": False, "rank-ended-by-sigkill": True, "consequence": True, "peer-gone": True, "second": False, "first": False}
    symptoms = known(*((symptom(name, name, follows=follows), None) for name, follows in names.items()))
    lines = {name: line for line, name in enumerate(reversed(list(names)), 1)}
    logs = [log("b"), log("a", sightings=tuple(sighting(key=name, log="a", line=line) for name, line in lines.items()))]
    outcome = symptoms.outcome(logs)
    assert [seen.symptom.name for seen in outcome.findings] == ["first", "second", "a-rank-failed", "peer-gone", "consequence", "rank-ended-by-sigkill"]
    outcome = symptoms.outcome([*logs, log("c", summaries=((FAILED,),))])
    assert [seen.symptom.name for seen in outcome.findings] == ["first", "second", "peer-gone", "consequence"] and len(outcome.failures) == 1


# doctor ---------------------------------------------------------------------------------------------------------------
def receipt(path="demo/m.py", *steps, version="1.0", distribution="demo", package="demo", origin="recorded"):
    return Receipt(path, package, distribution, version, "pristine", "current", 0o644, 1, "", steps, origin)


def step(name="fix", *, options=(), places=(), states=("applicable",), digest=""):
    return Step(name, "1", digest or f"digest of {name}", "fix", dict(options), (), places, states)


def item(condition=Condition.APPLIED, *, site="site", data=b"", installed="1.0", of=None):
    return FileStatus(str(site), of or receipt("demo/m.py", step()), condition, data, installed)


def located(package="demo", site="site", *, version="1.0", distribution="", notes=(), dist_info=""):
    return Located(package, str(site), distribution or package, version, dist_info, notes)


def examined(look, **fields):
    """What a check finds in a case that has these attributes alone."""
    empty = {"env": Environment("python", (), (), (3, 11)), "sites": {}, "homes": (), "located": [], "targets": [], "statuses": [], "damaged": [], "patch_dirs": (), "places": ()}
    return list(look(SimpleNamespace(**{**empty, **fields})))


def test_every_check_has_its_say_whatever_becomes_of_the_others():
    def half(case):
        yield NOTE, "seen", case
        yield NOTE, "seen", case
        raise SitepatchError("it is broken", "mend it")

    def worse(case):
        raise KeyError(case)

    done = []
    told = examine("the case", [Check("fine", "all is well", lambda case: ()), Check("half", "", half), Check("worse", "", worse)], lambda *words: done.append(words))
    assert told == [
        (OK, "fine", "all is well", ""),
        (NOTE, "half", "seen", "the case"),
        (PROBLEM, "half", "this could not be looked at: it is broken", "mend it"),
        (PROBLEM, "worse", "this could not be looked at: KeyError: 'the case'", ""),
    ]
    assert done == [(1, 3, "checks done"), (2, 3, "checks done"), (3, 3, "checks done")]


def test_a_disk_with_little_room(monkeypatch):
    def told(**fields):
        disk = {"f_blocks": 9, "f_bavail": 1 << 14, "f_frsize": 1 << 10, "f_files": 9, "f_favail": 1, **fields}
        monkeypatch.setattr(doctor.os, "statvfs", lambda site: SimpleNamespace(**disk))
        return examined(doctor._space, sites={"site": []})

    assert told() == told(f_blocks=0, f_bavail=0) == told(f_files=0, f_favail=0) == []
    assert told(f_bavail=(1 << 14) - 1) == [(PROBLEM, "site: 16383 KiB are left on its disk", "free some space; a restore works without")]
    assert told(f_favail=0) == [(PROBLEM, "site: its disk can take no more files (inodes)", "remove some files")]


def test_files_that_are_shared_with_others(tmp_path):
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "l.py").symlink_to("a.py")
    for name in ("b.py", "c.py", "d.py"):
        os.link(str(tmp_path / name), str(tmp_path / f"{name}.other"))
    (tmp_path / backup("c.py")).write_text("")
    targets = [(located(), name, tmp_path / name) for name in ("a.py", "b.py", "c.py", "d.py", "l.py")]
    hint = "nothing to do: sitepatch puts a file of its own there; an edit in place would change the cache too"
    assert examined(doctor._links, targets=targets) == [
        (NOTE, "symbolic links: l.py -> a.py", hint),
        (NOTE, "hard links to files with other names, as uv makes them: b.py, d.py", hint),
    ]
    assert examined(doctor._links, targets=targets[:1]) == []


def test_backups_made_by_hand_and_those_that_can_be_put_back(tmp_path, monkeypatch):
    for name in ("m.py", "m.py.orig", "m.py.bak", "n.py", "other.bak"):
        (tmp_path / name).write_text("")
    asked = []
    monkeypatch.setattr(doctor, "proven_backups", lambda sites, patched: asked.append((sites, patched)) or [Backup(str(tmp_path), "m.py", "m.py.orig", b"", b"", 1)])
    env = Environment("python", (str(tmp_path),), (), (3, 11))
    back = "put it back: sitepatch restore --from-backup m.py; or make a patchset of the edit: sitepatch capture m.py --name NAME --adopt"
    assert examined(doctor._backups, env=env, sites={str(tmp_path): ["m.py", "n.py"]}, statuses=[item()]) == [
        (NOTE, "m.py was edited by hand, and m.py.orig beside it is what was installed", back),
        (NOTE, f"{tmp_path}/m.py.bak looks like a backup made by hand", "move it out of the package: it stays after an uninstall, and then the package imports as empty"),
    ]
    assert asked == [((str(tmp_path),), {("site", "demo/m.py")})]


def test_packages_that_are_half_there(tmp_path):
    odd = examined(doctor._installed, unpatchable=[SitepatchError("it is broken", "mend it")], ghosts={"gone": "/site/gone"}, located=[located(notes=("a remark",))])
    assert odd == [
        (PROBLEM, "it is broken", "mend it"),
        (PROBLEM, "/site/gone holds no module: gone is uninstalled, and `import gone` still succeeds", "remove that directory, or install the package again"),
        (NOTE, "a remark", ""),
    ]
    for name in ("my_demo-1.0.dist-info", "My.Demo-2.0.dist-info", "single-1.dist-info"):
        (tmp_path / name).mkdir()
    twice = [located("demo", tmp_path, distribution="my-demo"), located("single", tmp_path), located("none", tmp_path)]
    assert examined(doctor._twice, located=twice) == [
        (PROBLEM, f"my-demo is recorded 2 times in {tmp_path}: My.Demo-2.0.dist-info, my_demo-1.0.dist-info", "an install was interrupted: install it again, with --force-reinstall"),
    ]


def test_a_package_that_a_virtual_environment_shares(tmp_path):
    inside, outside = str(tmp_path / "venv" / "lib"), str(tmp_path / "base")
    python = str(tmp_path / "venv" / "bin" / "python")
    env = Environment(python, (inside, outside), (inside, outside, "more"), (3, 11))
    places = [located("a", inside), located("b", outside), located("c", "elsewhere")]
    assert examined(doctor._outside, env=env, located=places) == []
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    assert examined(doctor._outside, env=env._replace(search=env.sites), located=places) == []
    assert examined(doctor._outside, env=env, located=places) == [
        (NOTE, f"b is not of the virtual environment: it would be patched in {outside}, for everybody", f"to patch it for this environment alone, install it here: {python} -m pip install"),
    ]


def test_target_files_that_are_not_as_they_were_installed(tmp_path, monkeypatch):
    for name in ("patched", "same", "edited", "free"):
        (tmp_path / name).write_bytes(name.encode())
    hashes = {"patched": "x", "same": sha256(b"same"), "edited": "x", "free": None}
    monkeypatch.setattr(doctor, "recorded_hash", lambda home, path: hashes[path])
    monkeypatch.setattr(doctor, "edited_message", lambda home, path: ("", f"about {path}"))
    monkeypatch.setattr(doctor, "blocker", lambda home, path, env: "a twin" if path == "same" else "")
    targets = [(located(site=tmp_path), name, tmp_path / name) for name in hashes]
    statuses = [item(site=tmp_path, of=receipt("patched"))]
    assert examined(doctor._recorded, targets=targets, statuses=statuses) == [(PROBLEM, "edited is not what demo 1.0 installed: it was edited by hand", "about edited")]
    assert examined(doctor._imported, targets=targets) == [(PROBLEM, "a twin", "a change of it would have no effect: install the package without compiled modules")]


def test_what_status_would_say_is_pointed_to(monkeypatch):
    runs, problems, strays, states = [], [], [], {}
    monkeypatch.setattr(doctor, "unfinished", lambda env: runs)
    monkeypatch.setattr(doctor, "damaged", lambda items: problems)
    monkeypatch.setattr(doctor, "unclaimed", lambda env, items, bad: strays)
    monkeypatch.setattr(doctor, "applied_states", lambda env, items, dirs: states)
    astray = (PROBLEM, "not all is as it was applied", "see: sitepatch status")
    assert examined(doctor._applied, statuses=[item()]) == []
    assert examined(doctor._applied, statuses=[item(), item(Condition.EDITED)]) == [astray]
    for lines, line in ((runs, ("interrupted", "site", "why")), (problems, ("p", "h")), (strays, ("p", "h"))):
        lines.append(line)
        assert examined(doctor._applied) == [astray]
        lines.clear()
    runs.append(("under way", "site", "why"))
    states.update(fix="upstream", kept="applied")
    gone = (NOTE, "fix can go: what is installed now has the change itself", "sitepatch restore fix")
    assert examined(doctor._applied) == [gone]
    problems.append(("p", "h"))
    assert examined(doctor._applied) == [astray]


def test_what_stores_keep_and_who_is_at_work(tmp_path, monkeypatch):
    copies = [tmp_path / "a", tmp_path / "b"]
    for path in copies:
        path.write_bytes(b"x" * 600)
    monkeypatch.setattr(doctor, "Store", lambda site: SimpleNamespace(edited_copies=lambda: map(str, copies) if site == "full" else [], check_writable=lambda paths: ["no"] * len(paths)))
    assert examined(doctor._set_aside, homes=("empty", "full")) == [
        (NOTE, f"{tmp_path} keeps 2 edited texts set aside, 1,200 bytes", f"when they are no longer needed: rm -r {tmp_path}"),
    ]
    del copies[1]
    assert examined(doctor._set_aside, homes=("full",))[0][1] == f"{tmp_path} keeps 1 edited text set aside, 600 bytes"
    assert examined(doctor._writable, sites={"site": ["a"], "other": []}) == [(PROBLEM, "no", "")]
    monkeypatch.setattr(doctor, "holders", lambda site: [f"somebody in {site}"])
    monkeypatch.setattr(doctor, "_LOCKS", tmp_path)
    assert examined(doctor._lock_holders, sites={"site": []}) == [(NOTE, "somebody in site", "apply and restore wait until it has ended")]
    monkeypatch.setattr(doctor, "_LOCKS", tmp_path / "none")
    assert examined(doctor._lock_holders, sites={"site": []}) == [(NOTE, f"there is no {tmp_path}/none that shows who is at work here", "")]


def test_filesystems_on_which_locks_may_not_hold(monkeypatch):
    monkeypatch.setattr(doctor.mounts, "read_table", lambda: "table")
    monkeypatch.setattr(doctor.mounts, "own_locks", lambda site, table: "alone" if site == "own" else "")
    monkeypatch.setattr(doctor.mounts, "untried", lambda site, table: "" if site == "fine" else "beegfs")
    assert examined(doctor._mounts, sites={"fine": [], "own": [], "other": []}) == [
        (NOTE, "alone", doctor.mounts.ONE_WRITER),
        (NOTE, "other is on beegfs, where it is untested whether locks hold for other machines", doctor.mounts.ONE_WRITER),
    ]


def test_what_a_run_has_left(tmp_path, monkeypatch):
    (tmp_path / temporary("m.py")).write_text("")
    monkeypatch.setattr(doctor, "orphans", lambda env, items: [("claimed", "site", "path")])
    monkeypatch.setattr(doctor, "leftovers", lambda site, receipts: [f"{len(receipts)} in {Path(site).name}", "claimed"])
    site, statuses = str(tmp_path), [item(site=tmp_path), item(site="elsewhere")]
    stale = [(NOTE, f"1 in {tmp_path.name} belongs to nothing that is applied", "it can be removed")]
    ended = [(NOTE, f"{tmp_path / temporary('m.py')} was left by a run that ended too early", "it can be removed")]
    assert examined(doctor._left, homes=(site,), sites={site: ["m.py", "n.py"]}, statuses=statuses) == stale + ended
    assert examined(doctor._left, homes=(site,), sites={site: ["m.py"]}, statuses=statuses, damaged=["x"]) == ended
    (tmp_path / HOME).mkdir()
    (tmp_path / HOME / JOURNAL).write_text("")
    assert examined(doctor._left, homes=(site,), sites={site: ["m.py"]}, statuses=statuses) == stale


def test_bytecode_is_looked_at_by_the_interpreter_that_runs_it(monkeypatch):
    calls = []

    def run(command, **options):
        calls.append((command, json.loads(options["input"]), options["env"]["SITEPATCH_HOOK"], options["check"]))
        return SimpleNamespace(stdout=b'noise\n[["site/m.py", "m.pyc"]]\n')

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    old = (PROBLEM, "m.pyc was compiled from another text than site/m.py has now, and is what runs", "remove that file")
    env = Environment("/python", (), (), sys.version_info[:2])
    assert examined(doctor._bytecode, env=env, statuses=[item(Condition.EDITED)]) == [] == calls
    assert examined(doctor._bytecode, env=env, statuses=[item(), item(Condition.EDITED, site="b")]) == [old]
    assert examined(doctor._bytecode, env=env._replace(root="/image"), statuses=[item()]) == [old]
    assert examined(doctor._bytecode, env=env._replace(version=(3, 99)), statuses=[item()]) == [old]
    foreign = "/image, Python 3.99: another release than runs sitepatch, which cannot read its bytecode"
    kept = (NOTE, foreign, "nothing to do: what was compiled of the old source was removed by apply")
    assert examined(doctor._bytecode, env=env._replace(version=(3, 99), root="/image"), statuses=[item()]) == [kept, old]
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "/cache")
    note = "PYTHONPYCACHEPREFIX is set to /cache: bytecode of the old source is looked for there too"
    assert examined(doctor._bytecode, env=env, statuses=[item()]) == [(NOTE, note, "apply and restore under the same value as the programs that run"), old]
    script = str(Path(doctor.__file__).with_name("bytecode.py"))
    assert calls[0] == (["/python", "-I", "-B", script], ["site/demo/m.py"], "off", True)
    assert calls[-1][0] == ["/python", "-I", "-B", "-X", "pycache_prefix=/cache", script]


def test_hooks_the_cache_and_patchsets_that_are_not_in_order(monkeypatch):
    hook = SimpleNamespace(name="hook-a")
    states = [HookStatus("f", hook, "", True, ("unsaid",)), HookStatus("f", hook, "", False, ("x", "y")), HookStatus("f", None, "", False, ("it is damaged",), "remove it")]
    monkeypatch.setattr(doctor, "installed_hooks", lambda env: states)
    assert examined(doctor._hooks) == [
        (PROBLEM, "hook-a: x", "see: sitepatch hook status"),
        (PROBLEM, "hook-a: y", "see: sitepatch hook status"),
        (PROBLEM, "it is damaged", "remove it"),
    ]
    entries = [doctor.cache.CacheEntry("overlay", "a", Path("a"), 2500, 1.0)]
    monkeypatch.setattr(doctor.cache, "cache_entries", lambda: entries)
    monkeypatch.setattr(doctor.cache, "cache_dir", lambda: Path("/cache/releases"))
    text = "2.5 kB of overlays, fetched releases and known results in /cache; sitepatch doctor --clean-cache DAYS removes what was not used since"
    assert examined(doctor._cache) == [(OK, text, "")]
    entries.clear()
    assert examined(doctor._cache) == []
    needed = []
    monkeypatch.setattr(doctor, "import_module", needed.append)
    catalogue = SimpleNamespace(others_change=lambda folders: [f"{folder} is open" for folder in folders], folders=["mine"])
    assert examined(doctor._sources, broken={"b": SitepatchError("it is broken", "mend it")}, catalogue=catalogue) == [
        (PROBLEM, "it is broken", "mend it"),
        (PROBLEM, "mine is open", doctor.OTHERS_HINT),
    ]
    assert needed == ["patcher.engine.syntax"]


def test_code_that_only_a_trouble_has(monkeypatch):
    def hunks(*present):
        return (Variant("demo", "", (SimpleNamespace(hunks=[SimpleNamespace(when_present=value) for value in present]),)),)

    monkeypatch.setattr(doctor, "fit_of", lambda env, items, cure, entry: Fit(APPLICABLE if cure.name == "fits" else ABSENT, f"text of {entry.name}"))
    fits = patchset("fits", symptoms=(symptom("a"), symptom("b")), variants=hunks(True, True))
    others = [patchset("fits", variants=hunks(True)), patchset("fits", symptoms=(symptom(),), variants=hunks(True, False)), patchset("absent", symptoms=(symptom(),), variants=hunks(True))]
    assert examined(doctor._asked_for, patchsets=[*others, fits]) == [(PROBLEM, "meaning of a", "sitepatch apply fits: text of a")]


def test_what_ldconfig_lists_and_is_not_there(tmp_path, monkeypatch):
    (tmp_path / "libcuda.so").write_text("")
    lists = []
    monkeypatch.setattr(doctor, "_listed", lambda name: [str(path) for path in lists] if name == "libcuda.so" else [])
    triton, gone = [located("triton")], tmp_path / "none"
    assert examined(doctor._libcuda, located=triton) == []
    lists[:] = [gone]
    text = f"ldconfig lists {gone}, and there is no such file: triton does not find the driver's library"
    assert examined(doctor._libcuda) == []
    assert examined(doctor._libcuda, located=triton) == [(PROBLEM, text, "sitepatch apply triton-libcuda-path")]
    applied = [item(of=receipt("t.py", step("triton-libcuda-path")))]
    assert examined(doctor._libcuda, located=triton, statuses=applied) == [(PROBLEM, text, "it is applied; is the driver there at all?")]
    lists.append(tmp_path / "libcuda.so")
    assert examined(doctor._libcuda, located=triton) == []


def test_accelerators_that_mmengine_does_not_know(tmp_path):
    for name in ("torch_musa", "torch_gcu", "torch_mlu"):
        (tmp_path / name).mkdir()

    def told(version, **fields):
        engine = [located("mmengine", version=version)] if version else []
        return [(severity, text.split(" is installed")[0], hint) for severity, text, hint in examined(doctor._accelerators, located=engine, places=("none", str(tmp_path)), **fields)]

    gcu, musa = ((PROBLEM, name, "sitepatch apply mmengine-device") for name in ("torch_gcu", "torch_musa"))
    assert told("0.10.2") == [gcu, musa] and told("0.10.3") == told("0.11") == [gcu] and told("") == []
    assert told("0.10.2", statuses=[item(of=receipt("m.py", step("mmengine-device")))]) == []
    (text,) = [text for _, text, _ in examined(doctor._accelerators, located=[located("mmengine", version="0.11")], places=(str(tmp_path),))]
    assert text == "torch_gcu is installed, and get_device() of MMEngine 0.11 does not know gcu: models go to the CPU"


def test_what_a_build_of_torch_is_for(tmp_path, monkeypatch):
    torch = located("torch", tmp_path, version="2.7")
    assert doctor._built_for(torch, "cuda") is None
    (tmp_path / "torch").mkdir()
    version, machine = tmp_path / "torch" / "version.py", []
    monkeypatch.setattr(doctor, "_listed", lambda name: machine)
    monkeypatch.setattr(doctor, "_DRIVER", (str(tmp_path / "driver"),))

    def told(text):
        version.write_text(text)
        engine = [torch, located("mmengine")]
        backend, driver = (examined(look, located=engine, places=(str(tmp_path),)) for look in (doctor._backend, doctor._driver))
        return doctor._built_for(torch, "cuda"), [hint for _, _, hint in backend], [text for _, text, _ in driver]

    config = "in the config: env_cfg = dict(dist_cfg=dict(backend='{}'))".format
    driver = ["torch 2.7 is a build for CUDA, and this machine has no driver for it"]
    assert told("x = 1\n") == (None, [], [])
    assert told("cuda: Optional[str] = None\nhip = None\n") == (False, [config("gloo")], [])
    assert told("cuda: Optional[str] = None\nhip: Optional[str] = '6.1'\n") == (False, [], [])
    assert told("__version__ = '2'\ncuda = '12.1'\nhip = None\n") == (True, [], driver)
    assert told("not_cuda = None\ncudart = None\n") == (None, [], [])
    machine.append(str(version))
    assert told("cuda = '12.1'\n") == (True, [], [])
    machine.clear()
    (tmp_path / "driver").write_text("")
    assert told("cuda = '12.1'\n") == (True, [], [])
    (tmp_path / "torch_npu").mkdir()
    assert told("cuda = None\nhip = None\n") == (False, [config("cpu:gloo,npu:hccl")], [])
    assert examined(doctor._backend, located=[torch]) == examined(doctor._backend, located=[located("mmengine")]) == []
    applied = [item(of=receipt("m.py", step("mmengine-device")))]
    assert examined(doctor._backend, located=[torch, located("mmengine")], statuses=applied) == []
    (remark,) = examined(doctor._backend, located=[torch, located("mmengine")])
    assert remark[:2] == (NOTE, "torch 2.7 has no NCCL, the backend that MMEngine takes unless the config names another one")


def test_what_the_linker_knows_of_a_library(monkeypatch):
    output = b"2 libs\n\tlibcuda.so.1 (libc6) => /usr/lib/libcuda.so.1 \n\tlibcuda.so (libc6)\n\tlibm.so (libc6) => /usr/lib/libm.so\n"
    monkeypatch.setattr("subprocess.run", lambda command, **options: SimpleNamespace(stdout=output))
    assert doctor._listed("libcuda.so") == ["/usr/lib/libcuda.so.1"]
    monkeypatch.setattr("subprocess.run", lambda command, **options: (_ for _ in ()).throw(FileNotFoundError()))
    assert doctor._listed("libcuda.so") == []


def test_findings_of_one_check_are_shown_together_and_few_of_many(capsys, monkeypatch):
    many = [Finding(NOTE, "many", f"text {number}", "a hint" if number == 1 else "") for number in range(1, 6)]
    outcome = doctor.DoctorOutcome(Environment("python", ("a", "b"), (), (3, 11)), (Finding(OK, "fine", "all is well"), *many, Finding(PROBLEM, "three", "1"), Finding(PROBLEM, "three", "2"), Finding(PROBLEM, "three", "3\nmore")))
    monkeypatch.setattr(doctor, "doctor", lambda **fields: outcome)
    monkeypatch.setattr(doctor.cache, "clean_cache", lambda days: [doctor.cache.CacheEntry("overlay", f"{days}", Path("a"), 2500, 1.0)])
    run = doctor.command.callback.__wrapped__

    def told(*, days=None, **options):
        code = run(console(**options), days)
        return code, [" ".join(line.split()) for line in click.unstyle(capsys.readouterr().out).splitlines()]

    texts = [f"note many text {number}" for number in range(1, 6)]
    problems = ["problem three 1", "problem three 2", "problem three 3", "more"]
    ending = "3 problems in a, b"
    assert told() == (1, [texts[0], "hint: a hint", *texts[1:3], "note many and 2 more; -v shows all", *problems, ending])
    assert told(verbose=True) == (1, ["ok fine all is well", texts[0], "hint: a hint", *texts[1:], *problems, ending])
    assert told(days=3.0)[1][0] == "removed overlay 3.0 2.5 kB" and told(days=3.0, quiet=True)[1][0] == texts[0]
    outcome = outcome._replace(findings=outcome.findings[:2])
    assert told() == (0, [texts[0], "hint: a hint", "0 problems in a, b"])
    assert run(console(as_json=True), None) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["sites"], answer["removed"], [entry["check"] for entry in answer["findings"]]) == (["a", "b"], [], ["fine", "many"])


def test_an_image_is_not_held_against_this_machine(monkeypatch):
    monkeypatch.setattr(doctor, "Examination", lambda env, dirs: (env, dirs))
    monkeypatch.setattr(doctor, "examine", lambda case, checks, progress: [check.name for check in checks])
    names, started = {}, []
    for root in ("", "/image"):
        env = Environment("python", (), (), (3, 11), (), root)
        monkeypatch.setattr(Place, "environment", lambda place, env=env: env)
        names[root] = doctor.doctor(events=SimpleNamespace(started=started.append, progress="progress")).findings
    assert [env.root for env in started] == ["", "/image"]
    assert names[""] == tuple(check.name for check in (*doctor.CHECKS, *doctor.TROUBLES))
    assert [name for name in names[""] if name not in names["/image"]] == ["libcuda", "driver"] and len(names["/image"]) == len(names[""]) - 2


def test_what_is_looked_at_is_what_patchsets_are_for_and_what_is_applied(tmp_path, monkeypatch):
    site, shared = tmp_path / "site", tmp_path / "other"
    for path in (site / "demo" / "m.py", site / "demo" / "n.py", site / "ghost" / "data.txt", site / HOME / "x", shared / "only" / "n.so"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def patches(*paths):
        return (FilePatch(paths, 1, ()),)

    case = object.__new__(doctor.Examination)
    case.env = Environment("python", (str(site),), (str(site), str(shared)), (3, 11))
    case.patchsets = [
        patchset("a", variants=(Variant("demo", "", patches("demo/m.py", "demo/n.py")), Variant("ghost", "", patches("ghost/g.py")))),
        patchset("b", variants=(Variant("demo", "<2", patches("demo/m.py")), Variant("demo", ">2", patches("demo/m.py", "demo/o.py")), Variant("only", "", patches("only/n.py")))),
    ]
    applied = [item(site=site, of=receipt("demo/m.py", step())), item(site=site, of=receipt("demo/gone.py", step()))]
    monkeypatch.setattr(doctor, "statuses", lambda env, bad: (bad.append((env.sites, env.search, env.outer)), applied)[1])
    assert case.homes == (str(site),) and case.places == (str(site), str(shared))
    assert case.packages == (("demo", ("demo/m.py", "demo/n.py")), ("ghost", ("ghost/g.py",)), ("demo", ("demo/m.py", "demo/o.py")), ("only", ("only/n.py",)), ("demo", ("demo/m.py", "demo/gone.py")))
    assert case.damaged == [((str(site),), (), ())] and case.statuses == applied
    assert case.ghosts == {"ghost": str(site / "ghost")}
    errors = {"only": SitepatchError("it is broken"), "absent": AbsentError("it is not here")}

    def locate(env, package, paths):
        if package in errors:
            raise errors[package]
        return located(package, site)

    case.patchsets.append(patchset("c", variants=(Variant("absent", "", patches("absent/a.py")),)))
    del case.packages
    monkeypatch.setattr(doctor, "locate", locate)
    monkeypatch.setattr(doctor, "find_file", lambda home, paths: [path for path in paths if (site / path).is_file()])
    assert case.located == [located("demo", site)] and case.unpatchable == [errors["only"]]
    assert case.targets == [(located("demo", site), f"demo/{name}", site / "demo" / name) for name in ("m.py", "n.py")]
    assert case.sites == {str(site): ["demo/m.py", "demo/n.py"]}


# status ---------------------------------------------------------------------------------------------------------------
ENV = Environment("python", ("site",), ("site",), (3, 11))
NOTHING = StatusOutcome(ENV, (), (), (), (), (), False, {}, (), (), ())


def test_the_states_of_patchsets_say_whether_all_is_as_it_was(monkeypatch):
    def patched(state):
        return NOTHING._replace(patchsets=(AppliedPatchset("site", "fix", "1", "d", state, (), (), {}),))

    assert not NOTHING.differs and not patched("applied").differs and patched("outdated").differs
    assert NOTHING._replace(interrupted=(("w", "s", "p"),)).differs and NOTHING._replace(damaged=(("p", "h"),)).differs
    good = Verified((), 1.0)
    bad = good._replace(checks=(CheckResult("import", "demo", "it fails"),))
    edited, overwritten = ((FileState(item(condition), ()),) for condition in (Condition.EDITED, Condition.OVERWRITTEN))
    for fields, works in (({}, True), ({"verified": good}, True), ({"verified": bad}, False), ({"idle": ("x",)}, True), ({"idle": ("x",), "verified": good}, False)):
        assert NOTHING._replace(**fields).works == works
    assert NOTHING._replace(files=edited, verified=good).works and not NOTHING._replace(files=overwritten, verified=good).works
    assert NOTHING._replace(files=overwritten).works


def test_the_worst_state_of_all_files_and_directories_is_that_of_a_patchset(monkeypatch):
    states = ["astray", "missing", "edited by hand", "overwritten", "outdated", "applied", "upstream", "not needed"]
    assert sorted(states[5::-1], key=status._severity) == states[:6]
    assert status._severity("upstream") == status._severity("not needed") == 6
    applied = [AppliedPatchset(site, name, "1", "d", state, (), (), {}) for site, name, state in (("a", "x", "upstream"), ("b", "x", "applied"), ("a", "y", "missing"), ("b", "y", "applied"), ("a", "z", "upstream"))]
    monkeypatch.setattr(status, "outdated", lambda items, dirs: ({}, {}))
    monkeypatch.setattr(status, "_applied_patchsets", lambda env, items, newer: applied)
    assert status.applied_states(ENV, [], ()) == {"x": "applied", "y": "missing", "z": "upstream"}


def test_what_is_applied_is_grouped_by_directory_and_patchset(monkeypatch):
    size, second_step = step(options={"size": 3}.items(), places=(4, 5)), step("other")
    monkeypatch.setattr(status, "_stored_options", lambda site, step: (Option("size", "int", 2, ""),))
    monkeypatch.setattr(status, "_in_releases", lambda env, items, step: ("upstream", f"{len(items)} replaced"))
    items = [item(of=receipt("demo/m.py", size, second_step)), item(of=receipt("demo/n.py", size)), item(Condition.EDITED, site="b", of=receipt("demo/m.py", size))]
    first, second, third = status._applied_patchsets(ENV, items, {})
    assert first == AppliedPatchset("site", "fix", "1", "digest of fix", "applied", ("demo 1.0",), (AppliedFile("demo/m.py", (4, 5), "applied"), AppliedFile("demo/n.py", (4, 5), "applied")), {"size": 3})
    assert (second.name, second.files, second.options) == ("other", (AppliedFile("demo/m.py", (), "applied"),), {})
    assert (third.site, third.state, third.advice) == ("b", "edited by hand", "")
    assert third.problems == (items[2].meaning,)
    newer, _ = status._applied_patchsets(ENV, items[:2], {"digest of fix": "another one"})
    assert (newer.state, newer.problems, newer.advice) == ("outdated", ("another one",), "sitepatch apply fix --set size=3")
    assert [file.state for file in newer.files] == ["outdated"] * 2
    mixed = [items[0], item(Condition.OVERWRITTEN, of=receipt("demo/n.py", size)), item(Condition.OVERWRITTEN, installed="2.0", of=receipt("demo/o.py", size, version="1.1"))]
    (told, _) = status._applied_patchsets(ENV, mixed, {"digest of fix": "another one"})
    assert (told.state, told.advice, told.releases) == ("upstream", "1 replaced", ("demo 1.0", "demo 1.1"))
    assert told.problems == (f"demo/n.py: {mixed[1].meaning}", f"demo/o.py: {mixed[2].meaning}")
    (told, _) = status._applied_patchsets(ENV, mixed[:2], {})
    assert (told.state, told.advice) == ("overwritten", "")


def test_the_command_that_applies_again_names_what_is_not_the_default():
    options = (Option("a", "int", 1, ""), Option("b", "bool", False, ""))
    applied = step("my fix", options={"a": 1, "b": True, "c": "x y"}.items())
    assert status._apply_command(applied, options) == "sitepatch apply 'my fix' --set b=true --set 'c=x y'"
    assert status._stored_options("nowhere", applied) == ()


def test_what_is_to_be_done_where_another_release_was_installed(monkeypatch):
    stored = patchset(options=(Option("size", "int", 2, ""),))
    answers, errors = [], []

    def make_plan(env, wanted):
        if errors:
            raise errors[0]
        (asked,) = wanted.requested
        assert (env, asked.patchset, asked.options) == (ENV, stored, {"size": 3})
        return Plan((), tuple(answers))

    monkeypatch.setattr(survey, "make_plan", make_plan)
    monkeypatch.setattr(survey, "stored_patchset", lambda site, step: stored)
    items = [item(Condition.OVERWRITTEN, installed="2.0", of=receipt(path, version="1.0")) for path in ("a.py", "b.py")]

    def told(*states):
        answers[:] = [Answer("fix", "a.py", "f", state, problem="why\nmore") for state in states]
        return status._in_releases(ENV, items, step(options={"size": 3}.items()))

    drop = "drop it: sitepatch restore fix, and no project has to ask for it any more"
    assert told(State.UPSTREAM) == ("upstream", f"demo 2.0 has the change itself; {drop}")
    assert told(State.NOT_NEEDED) == told() == ("not needed", f"demo 2.0 does not have the code that it changes; {drop}")
    assert told(State.APPLICABLE) == ("overwritten", "it fits demo 2.0: sitepatch apply fix --set size=3")
    assert told(State.APPLICABLE, State.NOT_FOUND) == ("overwritten", "it does not fit demo 2.0 (why): sitepatch check fix --explain")
    del items[1]
    assert told(State.APPLICABLE) == ("overwritten", "it fits demo 2.0: sitepatch apply fix --set size=3")
    errors.append(SitepatchError("it is broken", "mend it"))
    assert told() == ("overwritten", errors[0].brief)


def test_another_version_of_what_is_applied_is_found_once(tmp_path, monkeypatch):
    class Folders:
        """A catalogue of which each patchset is looked up as its name says."""

        def __init__(self, dirs):
            assert dirs == ("mine",)
            self.broken, self.folders = early, {name: [(name, NAMED)] for name in ("same", "newer", "equal", "broken", "lost")}

        def find(self, name):
            looked.append(name)
            if name == "broken":
                raise SitepatchError("it is broken")
            return SimpleNamespace(patchset=patchset(name, version="2")._replace(digest="digest of equal" if name == "equal" else "new"))

    def patchset_files(digest):
        if digest == "digest of lost":
            raise StoreError("it is lost")
        return digest

    looked, early = [], {"early": SitepatchError("it was broken before")}
    monkeypatch.setattr(status, "Catalogue", Folders)
    monkeypatch.setattr(status, "Store", lambda site: SimpleNamespace(patchset_files=patchset_files))
    monkeypatch.setattr(status, "has_texts", lambda folder, digest: (folder, digest) == ("same", "digest of same"))
    steps = [step(name) for name in ("same", "absent", "newer", "equal", "newer", "broken", "lost", "same")]
    newer, broken = status.outdated([item(of=receipt("m.py", *steps))], ("mine",))
    assert newer == {f"digest of {name}": f"{name} 2 ({NAMED}) differs from the one that is applied" for name in ("newer", "lost")}
    assert {name: str(error.message) for name, error in broken.items()} == {"early": "it was broken before", "broken": "it is broken"}
    assert looked == ["newer", "equal", "broken", "lost"] and list(early) == ["early"]


def test_the_patches_of_a_series_have_states_of_their_own(monkeypatch):
    def hunk(patch):
        return SimpleNamespace(origin=f"fix/{patch}.spatch")

    def variants(*, series=True):
        patches = (FilePatch(("demo/m.py",), 1, (hunk("one"), hunk("two"))), FilePatch(("demo/n.py",), 1, (hunk("two"), hunk("three"))))
        return (Variant("demo", "", patches, series=series),)

    stored = [patchset(variants=variants())]
    monkeypatch.setattr(survey, "stored_patchset", lambda site, step: stored[0] if stored else (_ for _ in ()).throw(StoreError("it is lost")))
    applied = AppliedPatchset("site", "fix", "1", "digest of fix", "applied", (), (), {})
    files = [
        FileState(item(of=receipt("demo/m.py", step("other"), step(states=("applicable", "upstream")))), ("applied", "outdated")),
        FileState(item(of=receipt("demo/n.py", step(states=("applicable", "not needed")))), ("missing",)),
        FileState(item(site="b", of=receipt("demo/n.py", step(states=("applicable", "applicable")))), ("astray",)),
    ]
    assert status.series_states(applied, files) == {"one": ("outdated", ("demo/m.py",)), "two": ("missing", ("demo/n.py",)), "three": ("not needed", ("demo/n.py",))}
    stored[0] = patchset(variants=variants(series=False))
    assert status.series_states(applied, files) == {}
    stored.clear()
    assert status.series_states(applied, files) == {}


def test_a_row_of_status_and_what_is_below_it():
    files = (AppliedFile("a.py", (1, 2), "applied"), AppliedFile("b.py", (), "missing"))
    applied = AppliedPatchset("site", "fix", "1", "d", "missing", ("demo 1.0", "more 2"), files, {"a": True, "b": 2}, ("a problem",), "an advice")
    assert plain([status._row(applied._replace(files=(*files, files[0])), {}, verbose=False)])[0][1][2] == "1 of 3 files"
    assert plain([status._row(applied, {}, verbose=False)]) == [("missing", ("fix 1", "demo 1.0, more 2", "1 of 2 files", "a=true b=2"), ("a problem", "hint: an advice"))]
    (row,) = plain([status._row(applied._replace(problems=(), advice="", files=files[:1]), {}, verbose=True)])
    assert row[1:] == (("fix 1", "demo 1.0, more 2", "1 file", "a=true b=2"), ("a.py:1,2",))
    (row,) = plain([status._row(applied._replace(files=files[1:] * 2), {"one": ("upstream", ("a.py", "b.py"))}, verbose=True)])
    assert row[1][2] == "2 files" and row[2] == ("upstream  one: a.py, b.py", "a problem", "hint: an advice")


def test_all_that_status_has_to_say(capsys, monkeypatch):
    applied = AppliedPatchset("site", "fix", "1", "d", "applied", ("demo 1.0",), (AppliedFile("demo/m.py", (1,), "applied"),), {})
    edited = applied._replace(name="other", state="edited by hand")
    file = FileState(item(of=receipt("demo/m.py", step(options={"a": 1}.items(), places=(4,)))), ("applied",))
    full = StatusOutcome(
        *(ENV, (applied, edited), (file,), ("it was undone",), (("interrupted", "site", "why"),), (("a problem", "a hint"),)),
        *(False, {"b": SitepatchError("it is broken")}, (Backup("site", "m.py", "m.py.orig", b"", b"", 1),), ("old", "new"), ("new",), ("idle",)),
    )
    monkeypatch.setattr(status, "status", lambda names, **fields: outcome)
    series = []
    monkeypatch.setattr(status, "series_states", lambda patchset, files: series.append(patchset.name) or {})
    run = status.command.callback.__wrapped__

    def told(*, check=False, **options):
        code = run(console(**options), (), check, "none", None, None)
        out, err = capsys.readouterr()
        return code, *([" ".join(line.split()) for line in click.unstyle(text).splitlines()] for text in (out, err))

    outcome = full
    notes = [
        *("recovered: it was undone", "broken: it is broken", "note: idle is not applied here"),
        "note: m.py was edited by hand, and m.py.orig beside it is what was installed; put it back: sitepatch restore --from-backup m.py",
        "kept: new, an edited text that was set aside; remove it when you no longer need it",
    ]
    rows = ["interrupted site", "why", "damaged", "a problem", "hint: a hint", "applied fix 1 demo 1.0 1 file", "edited by hand other 1 demo 1.0 1 file"]
    assert told() == (0, rows, notes) and series == [] and told(quiet=True)[1] == [*rows[:5], rows[6]]
    assert told(verbose=True)[1] == [*rows[:6], "demo/m.py:1", rows[6], "demo/m.py:1"]
    assert series == ["fix", "other"]
    outcome = NOTHING
    assert told() == (0, ["nothing is applied in site"], [])
    outcome = NOTHING._replace(idle=("x",))
    assert told() == (0, [], ["note: x is not applied here"]) and told(check=True)[0] == 1
    for fields, codes in (({"unreadable": True}, (1, 1)), ({"damaged": (("p", "h"),)}, (0, 1)), ({"patchsets": (applied,)}, (0, 0)), ({"patchsets": (edited,)}, (0, 1))):
        outcome = NOTHING._replace(**fields)
        assert tuple(told(check=check)[0] for check in (False, True)) == codes
    bad = CheckResult("import", "demo", "it fails")
    outcome = full._replace(verified=Verified((bad,), 1.0), idle=())
    code, lines, _ = told()
    assert code == 1 and [line for line in lines if line.startswith("failed")] == ["failed import demo: it fails"]
    run(console(as_json=True), (), False, "import", None, None)
    answer = json.loads(capsys.readouterr().out)
    assert answer["verify"]["ok"] is False and not answer["ok"]
    assert answer["interrupted"] == [{"site": "site", "problem": "why"}] and answer["damaged"] == [{"problem": "a problem", "hint": "a hint"}]
    assert answer["backups"] == [{"site": "site", "path": "m.py", "backup": "m.py.orig"}]
    assert (answer["recovered"], answer["kept"]) == (["it was undone"], ["old", "new"])
    assert [entry["name"] for entry in answer["patchsets"]] == ["fix", "other"]
    assert answer["files"] == [
        {
            "site": "site", "path": "demo/m.py", "package": "demo", "distribution": "demo", "installed": "1.0", "origin": "recorded",
            "version": "1.0", "condition": "applied",
            "patchsets": [{"name": "fix", "version": "1", "state": "applied", "options": {"a": 1}, "places": [4]}],
        }
    ]


def test_options_of_status_that_are_for_a_fleet(monkeypatch):
    run = status.command.callback.__wrapped__
    for names, verify in ((("x",), "none"), ((), "import")):
        assert refusal(run, console(), names, False, verify, "reports", None) == ("--fleet: found a NAME or --verify too, which are for this environment", "")
    assert refusal(run, console(), (), False, "none", None, "a.lock") == ("--lock: found no --fleet, which it belongs to", "")
    monkeypatch.setattr("patcher.verbs.fleet.show_fleet", lambda console, folder, lock: (folder, lock))
    assert run(console(), (), False, "none", "reports", "a.lock") == ("reports", "a.lock")


# list -----------------------------------------------------------------------------------------------------------------
def test_what_a_patchset_is_here_decides_where_it_stands():
    words = ("applicable", "upstream", "not needed", "out of range", "absent")
    standings = [Availability("overwritten", (), here=True), *(Availability(word, ()) for word in words)]
    assert [(standing.rank, standing.in_range) for standing in standings] == [(0, True), (1, True), (2, True), (3, True), (4, False), (5, False)]


def test_what_a_text_is_about():
    general = [symptom("in-general", "nothing * cures")]
    patchsets = [
        patchset("named", symptoms=(symptom("oops", "KeyError: *", "or else", advice="Look there"),)),
        patchset("other", variants=(Variant("demo", "", (), (), ("demo-cpu",)),))._replace(prose="Some prose"),
    ]

    def told(query):
        hits, symptoms = _about(query, patchsets, general)
        return [hit.name for hit in hits], [(entry.name, name) for entry, name in symptoms]

    cured = [("oops", "named")]
    for query, names, symptoms in (
        *(("NAMED", ["named"], []), ("does WHAT", ["named", "other"], []), ("what named", ["named"], []), ("demo-cpu", ["other"], []), ("prose", ["other"], [])),
        *(("KeyError: 5", ["named"], cured), ("oops", ["named"], cured), ("meaning of oops", ["named"], cured), ("look there", ["named"], cured)),
        *(("nothing much cures", [], [("in-general", "")]), ("general", [], [("in-general", "")]), ("demo oops", [], []), ("no such words", [], [])),
    ):
        assert told(query) == (names, symptoms), query


def test_what_a_patchset_is_to_what_is_installed(monkeypatch):
    homes = {"demo": located("demo", version="1.5"), "other": located("other", version="3")}

    def locate(env, package, paths):
        if package not in homes:
            raise SitepatchError("it is not here")
        return homes[package]

    calls = []
    monkeypatch.setattr(list_verb, "locate", locate)
    monkeypatch.setattr(list_verb, "_shipped_state", lambda cure, ranged: calls.append([(home.package, [variant.versions for variant in variants]) for home, variants in ranged]) or "upstream")

    def told(*pairs, applied=None):
        return availability(ENV, patchset(variants=tuple(Variant(package, versions, ()) for package, versions in pairs)), applied or {})

    demo, more = homes.values()
    assert told(("demo", "<1"), ("demo", ">=1"), ("none", "")) == Availability("upstream", (demo,)) and calls == [[("demo", [">=1"])]]
    assert told(("demo", "<1"), ("other", ">1")) == Availability("upstream", (demo, more)) and calls[1] == [("other", [">1"])]
    assert told(("demo", "<1")) == Availability("out of range", (demo,)) and told(("none", "")) == Availability("absent", ())
    assert told(("demo", "<1"), applied={"fix": "missing"}) == Availability("missing", (demo,), here=True) and len(calls) == 2


def test_a_release_that_is_known_to_do_without(monkeypatch):
    texts = {"a.py": b"a", "b.py": b"b", "new.py": b"new"}
    states = {b"a": State.UPSTREAM, b"b": State.NOT_NEEDED}
    monkeypatch.setattr(list_verb, "builtin_table", lambda name: b" ".join(sha256(text).encode() for text in (b"a", b"b", b"c", b"odd")))
    monkeypatch.setattr(list_verb, "read_installed", lambda site, path: texts.get(path))
    monkeypatch.setattr("patcher.patchset.results.request_of", lambda requested, hunks, names: hunks)
    monkeypatch.setattr("patcher.patchset.results.shipped_result", lambda data, request: data in states and SimpleNamespace(answers=[SimpleNamespace(state=states[data])]))

    def find_file(home, paths):
        if "wrong.py" in paths:
            raise SitepatchError("it is not here")
        return [path for path in paths if path in texts]

    monkeypatch.setattr(list_verb, "find_file", find_file)

    def told(*patches, variants=1):
        given = tuple(FilePatch(paths.split(), 1, (SimpleNamespace(when_present=present),)) for paths, present in patches)
        return list_verb._shipped_state(patchset(), [(located(), [Variant("demo", "", given)] * variants)])

    assert told(("a.py", False)) == told(("b.py", False), ("a.py", False)) == told(("a.py", False), ("b.py", False)) == "upstream"
    assert told(("b.py", False)) == told(("gone.py", True)) == told(("b.py gone.py", False)) == "not needed"
    for patches in ((("gone.py", False),), (("a.py b.py", False),), (("wrong.py", True),), (("new.py", False),), (("a.py", False), ("new.py", False))):
        assert told(*patches) == "applicable"
    assert told(("a.py", False), variants=2) == "applicable"
    texts["a.py"] = b"odd"
    assert told(("a.py", False)) == "applicable"
    states[b"odd"] = State.CONFLICT
    assert told(("a.py", False)) == "applicable"


def test_all_that_list_has_to_say(capsys, monkeypatch):
    variants = (Variant("demo", ">=1,<2", ()), Variant("demo", "", ()))
    mine = PatchsetSource("--patch-dir", "mine")
    near, far = patchset("near", source=BUILT_IN, variants=variants), patchset("far", source=mine, variants=variants)
    lone = patchset("lone", source=BUILT_IN, variants=variants[1:])
    listed = ((near, Availability("applicable", (located(version="1.5"), located("other")))), (far, Availability("out of range", (located(version="3"),))), (lone, Availability("absent", ())))
    symptoms = ((symptom("oops", "KeyError: *", advice="look"), "near"), (symptom("alone"), ""))
    outcome = list_verb.ListOutcome(ENV, listed, symptoms, {"bad": SitepatchError("it is broken")}, ("a remark",))
    asked = []
    monkeypatch.setattr(list_verb, "list_patchsets", lambda text, place: asked.append(text) or outcome)
    run = list_verb.command.callback.__wrapped__

    def told(*words):
        code = run(console(), words)
        out, err = capsys.readouterr()
        return code, [" ".join(line.split()) for line in click.unstyle(out).splitlines()], click.unstyle(err)

    assert told("a", "b") == (
        1,
        [
            *("applicable near 1 fix demo 1.5, other 1.0", "What near does", f"out of range far 1 fix demo >=1,<2, … {mine}", "What far does"),
            *("absent lone 1 fix demo (any version)", "What lone does", "broken bad", "it is broken"),
            *("symptom oops", "it means: meaning of oops", "cured by near", "hint: look", "symptom alone", "it means: meaning of alone"),
        ],
        "note: a remark\n",
    )
    assert asked == ["a b"]
    run(console(verbose=True), ())
    assert click.unstyle(capsys.readouterr().err) == "environment: python, Python 3.11: site\nnote: a remark\n"
    outcome = outcome._replace(broken={})
    assert told("a")[0] == 0 and told()[0] == 0
    run(console(as_json=True), ("a",))
    answer = json.loads(capsys.readouterr().out)
    assert answer["patchsets"][0] == {
        "name": "near", "version": "1", "kind": "fix", "summary": "What near does", "source": str(BUILT_IN), "digest": "digest of near",
        "packages": [{"package": "demo", "versions": ">=1,<2"}, {"package": "demo", "versions": ""}], "state": "applicable",
        "installed": [{"package": "demo", "distribution": "demo", "version": "1.5"}, {"package": "other", "distribution": "other", "version": "1.0"}],
    }
    assert answer["symptoms"][0] == {"symptom": "oops", "patchset": "near", "patterns": ["KeyError: *"], "meaning": "meaning of oops", "advice": "look"}
    assert (answer["ok"], answer["broken"], answer["notes"], answer["symptoms"][1]["patchset"]) == (True, [], ["a remark"], "")
    assert broken_json({"bad": SitepatchError("it is broken")}) == [{"name": "bad", "problem": "it is broken"}]
    for fields, code in (({"patchsets": ()}, 0), ({"symptoms": ()}, 0), ({"patchsets": (), "symptoms": ()}, 1)):
        full, outcome = outcome, outcome._replace(notes=(), **fields)
        ended, lines, _ = told("a")
        assert (ended, 'no patchset and no known error is about "a"; all patchsets: sitepatch list' in lines) == (code, bool(code))
        assert told()[0] == 0
        outcome = full
    assert release_ranges(variants) == "demo >=1,<2, demo (any version)"


# diff and edit --------------------------------------------------------------------------------------------------------
BEFORE, AFTER = b"a = 1\nb = 1\nc = 1\n", b"a = 2\nb = 2\nc = 1\nd = 1\n"
DIFFERENCE = diff_texts("site", "demo/m.py", BEFORE, AFTER, ("fix",))
EDITED = HandEditDiff("site", "demo/n.py", "demo 1.0", "the wheel", True, diff_texts("site", "demo/n.py", b"a\n", b"a\nb\n"))
UNKNOWN_EDIT = HandEditDiff("site", "demo/o.py", "demo 1.0")


def test_a_table_of_how_many_lines_change():
    def sized(path, added, removed):
        return DIFFERENCE._replace(path=path, added=added, removed=removed)

    assert stat_table([]) == []
    assert stat_table([sized("demo/m.py", 3, 2), sized("m.py", 0, 12)]) == [
        " demo/m.py |  5 +++--",
        " m.py      | 12 ------------",
        " 2 files changed, 3 insertions(+), 14 deletions(-)",
    ]
    assert stat_table([sized("m.py", 1, 0)]) == [" m.py | 1 +", " 1 file changed, 1 insertion(+)"]
    assert stat_table([sized("m.py", 0, 1)]) == [" m.py | 1 -", " 1 file changed, 1 deletion(-)"]
    assert stat_table([sized("m.py", 41, 40), sized("n.py", 40, 0), sized("o.py", 1, 1)])[:3] == [
        f" m.py | 81 {'+' * 21}{'-' * 20}",
        f" n.py | 40 {'+' * 20}",
        " o.py |  2 +-",
    ]
    assert stat_table([sized("m.py", 1001, 999)])[0] == f" m.py | 2000 {'+' * 21}{'-' * 20}"
    assert stat_table([sized("m.py", 40, 0)])[0] == f" m.py | 40 {'+' * 40}"


def test_the_many_ways_in_which_a_difference_is_shown(capsys, monkeypatch, tmp_path):
    answers = (Answer("fix", "demo/m.py", "f", State.APPLICABLE), Answer("fix", "demo/m.py", "g", State.UPSTREAM))
    full = DiffOutcome(ENV, (DIFFERENCE,), (DIFFERENCE._replace(path="demo/p.py"),), (EDITED, UNKNOWN_EDIT), (), (), answers, ("a remark",))
    calls = []
    monkeypatch.setattr(diff_verb, "diff", lambda names, **fields: calls.append((names, fields["edited"], fields["fetch"])) or outcome)
    run = diff_verb.command.callback.__wrapped__

    def told(*names, stat=False, html=None, edited=False, fetch=False, exit_code=False, as_json=False):
        code = run(console(as_json=as_json), names, stat, html, edited, fetch, exit_code)
        out, err = map(click.unstyle, capsys.readouterr())
        return code, out, err.splitlines()

    outcome = full
    upstream = ["upstream  fix  demo/m.py  g", "          the file has the code of its `+` lines already: fixed upstream", "note: a remark"]
    known = "note: demo/n.py: edited by hand (demo 1.0), 1 line more and 0 less; to see it: sitepatch diff --edited demo/n.py"
    unknown = (
        "note: demo/o.py: edited by hand (demo 1.0), and the original text is not on this machine; to fetch it from the index: "
        "sitepatch diff --edited --fetch demo/o.py"
    )
    lost = "note: demo/o.py: edited by hand (demo 1.0), and the original text was not found"
    both, by_hand = (DIFFERENCE.text * 2).decode(), EDITED.diff.text.decode()
    assert told() == (0, both, [*upstream, known, unknown])
    assert told(edited=True, fetch=True) == (0, both + by_hand, [*upstream, lost]) and calls == [((), False, False), ((), True, True)]
    table, below = stat_table([DIFFERENCE, outcome.planned[0]]), stat_table([EDITED.diff])
    assert told(stat=True) == (0, "".join(f"{line}\n" for line in (*table, "edited by hand", *below)), [*upstream, unknown])
    assert told(exit_code=True)[0] == 1
    outcome = full._replace(edits=(UNKNOWN_EDIT,))
    assert told(stat=True)[1] == "".join(f"{line}\n" for line in table)
    outcome = full._replace(edits=(), notes=(), answers=())
    assert told(stat=True) == (0, "".join(f"{line}\n" for line in table), [])
    pages = []
    monkeypatch.setattr("patcher.verbs.pages.review.review_page", lambda title, outcome, reasons: pages.append((title, reasons)) or b"page")
    monkeypatch.setattr(diff_verb, "reasons", lambda outcome, dirs: dirs)
    outcome = full
    assert told("a", html=str(tmp_path / "p.html"), edited=True) == (0, "", [*upstream, known, unknown, f"note: wrote {tmp_path / 'p.html'}"])
    assert told(html=str(tmp_path / "p.html"))[0] == 0 and (tmp_path / "p.html").read_bytes() == b"page"
    assert pages == [("sitepatch diff --edited a", ()), ("sitepatch diff", ())]
    monkeypatch.setattr(Console, "plain", False)
    _, out, err = told()
    assert err == [*upstream, unknown] and out.startswith("changed by patchsets\n--- a/demo/m.py")
    assert "\ndemo/n.py (demo 1.0): edited by hand, compared with the wheel\n--- a/demo/n.py" in out
    outcome = full._replace(edits=())
    assert told()[1].startswith("--- a/demo/m.py")
    outcome = DiffOutcome(ENV)
    assert told("a") == (0, "", []) and told() == (0, "", ["note: nothing is changed here"]) and told(exit_code=True)[0] == 0
    nothing = "note: nothing is edited by hand here in the packages of patchsets; of another one: diff --edited PACKAGE"
    assert told(edited=True) == (0, "", [nothing])
    outcome = DiffOutcome(ENV, answers=(Answer("fix", "demo/m.py", "f", State.NOT_FOUND, problem="why"),))
    assert told("fix") == (1, "", ["not found  fix  demo/m.py  f", "           why", "see: sitepatch check fix --explain"])


def test_a_difference_in_json():
    answer = diff_verb._json(DiffOutcome(ENV, (DIFFERENCE,), (), (EDITED, UNKNOWN_EDIT), notes=("a remark",)))
    head = {"site": "site", "path": "demo/m.py", "patchsets": ("fix",), "before": DIFFERENCE.before, "after": DIFFERENCE.after}
    assert answer["files"] == [{**head, "added": 3, "removed": 2, "diff": DIFFERENCE.text}]
    known, unknown = answer["edited"]
    assert known == {"site": "site", "path": "demo/n.py", "release": "demo 1.0", "compared": "the wheel", "proven": True, "diff": EDITED.diff.text, "added": 1, "removed": 0}
    less = diff_verb._json(DiffOutcome(ENV, (), (), (EDITED._replace(diff=DIFFERENCE),)))["edited"][0]
    assert (less["added"], less["removed"]) == (3, 2)
    assert unknown == {"site": "site", "path": "demo/o.py", "release": "demo 1.0", "compared": "", "proven": True, "diff": "", "added": 0, "removed": 0}
    assert (answer["answers"], answer["notes"]) == ([], ("a remark",))


def test_what_is_applied_is_shown_as_far_as_it_is_in_its_file(monkeypatch):
    monkeypatch.setattr(diff_verb, "before_and_after", lambda site, receipt, names: (b"" if receipt.path in ("new.py", "empty.py") else BEFORE, AFTER))
    items = [
        item(of=receipt("a.py", step("fix"), step("other"))),
        item(Condition.EDITED, of=receipt("b.py", step("fix"))),
        item(Condition.OVERWRITTEN, of=receipt("c.py", step("fix"))),
        item(of=receipt("new.py", step("other"), origin="added")),
        item(of=receipt("empty.py", step("last"))),
    ]
    monkeypatch.setattr(diff_verb, "statuses", lambda env: items)
    told = diff_verb._applied(ENV, ("fix",))
    assert [(entry.path, entry.patchsets, entry.release) for entry in told.applied] == [("a.py", ("fix",), "demo 1.0"), ("b.py", ("fix",), "demo 1.0")]
    assert told.notes == ("b.py: edited by hand; see sitepatch status", "c.py: overwritten; see sitepatch status") and told.items == tuple(items[:3])
    told = diff_verb._applied(ENV, ())
    assert [(entry.path, entry.patchsets, bool(entry.before)) for entry in told.applied][2:] == [("new.py", ("other",), False), ("empty.py", ("last",), True)]
    assert told.applied[0].patchsets == ("fix", "other") and told.items == tuple(items)


def test_which_differences_are_asked_for(monkeypatch):
    items = (item(of=receipt("a.py", step("live"))), item(Condition.OVERWRITTEN, of=receipt("b.py", step("gone"))))
    asked = []
    monkeypatch.setattr(diff_verb, "_applied", lambda env, names: asked.append(("applied", tuple(names))) or DiffOutcome(env, (DIFFERENCE,), items=items, notes=("of the applied",)))
    monkeypatch.setattr(diff_verb, "_planned", lambda outcome, place, names: asked.append(("planned", tuple(names))) or outcome)
    monkeypatch.setattr(diff_verb, "_edited", lambda outcome, words, events, named, fetch: asked.append(("edited", tuple(words), named, fetch)) or outcome)
    monkeypatch.setattr(diff_verb, "_packages", lambda env, items, place: packages)
    monkeypatch.setattr(diff_verb, "describe_unfinished", lambda env: ["a run"])
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    packages = ["demo"]

    def told(*names, **fields):
        asked.clear()
        outcome = diff_verb.diff(names, **fields)
        return [*asked], len(outcome.applied), outcome.notes

    notes = ("a run", "of the applied")
    assert told() == ([("applied", ()), ("edited", ("demo",), False, False)], 1, notes)
    assert told("live", "gone", "new", "new") == ([("applied", ("live", "gone", "new", "new")), ("planned", ("gone", "new"))], 1, notes)
    assert told("live") == ([("applied", ("live",))], 1, notes)
    assert told("new", edited=True, fetch=True) == ([("applied", ()), ("edited", ("new",), True, True)], 0, ("a run",))
    packages.clear()
    assert told() == ([("applied", ())], 1, notes) and told(edited=True)[0] == [("applied", ())]


def test_the_packages_that_are_looked_at_without_a_name(tmp_path, monkeypatch):
    for name in ("demo", "ours", "known"):
        (tmp_path / name).mkdir()
    (tmp_path / "single.py").write_text("")
    (tmp_path / "known.txt").write_text("")
    env = ENV._replace(sites=(str(tmp_path), "outer"), outer=("outer",))

    def of(*packages):
        return patchset(variants=tuple(Variant(package, "", ()) for package in packages))

    projects = [of("ours", "single", "absent")]
    monkeypatch.setattr(diff_verb, "_of_project", lambda place: projects)
    monkeypatch.setattr(diff_verb, "Catalogue", lambda dirs: SimpleNamespace(load=lambda: ([SimpleNamespace(patchset=of("known", "none"))], {})))
    assert diff_verb._packages(env, [item()], Place()) == ["demo", "ours", "single"]
    projects.clear()
    assert diff_verb._packages(env, [item()], Place()) == ["demo"] and diff_verb._packages(env, [], Place()) == ["known"]


def test_what_was_edited_is_compared_where_its_original_is_known(monkeypatch):
    files = tuple(InstalledFile(located(), path, (), AFTER) for path in ("demo/m.py", "demo/n.py", "demo/o.py"))
    search, given = [], {("site", "demo/m.py"): Original(BEFORE, "the wheel", BEFORE), ("site", "demo/n.py"): Original(BEFORE, "a backup", BEFORE, proven=False)}

    def find_changed(env, words, progress):
        if not search:
            raise SitepatchError("it is not here")
        return search[0]

    monkeypatch.setattr("patcher.author.changed.find_changed", find_changed)
    monkeypatch.setattr("patcher.author.pristine.search_pristine", lambda files, note, fetch: (given, [NotFound(files[2], ["here", "there"])]))
    start = DiffOutcome(ENV, notes=("before",))

    def told(**fields):
        return diff_verb._edited(start, ["demo"], diff_verb.SILENT, **{"named": False, "fetch": False, **fields})

    assert told() == start._replace(notes=("before", "it is not here"))
    assert refusal(told, named=True) == ("it is not here", "")
    search.append(Search((), 3, ("a remark",), ()))
    assert told() == start._replace(notes=("before", "a remark"))
    search[0] = search[0]._replace(files=files)
    first, second, third = told().edits
    assert (first.compared, first.proven, first.diff.added, first.diff.release) == ("the wheel", True, 3, "demo 1.0")
    assert (second.compared, second.proven, third) == ("a backup", False, HandEditDiff("site", "demo/o.py", "demo 1.0"))
    assert told().notes == ("before", "a remark") and told(fetch=True).notes == ("before", "a remark", "demo/o.py: there")


def test_edit_opens_copies_or_says_where_they_are(capsys, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(edit_verb, "output_folder", lambda *words: calls.append(("free", *words)))
    monkeypatch.setattr(edit_verb, "_own_folder", lambda name, dirs: tmp_path / name)
    monkeypatch.setattr(edit_verb, "edit", lambda *words, **fields: calls.append(("edit", *words)) or copies)
    monkeypatch.setattr(edit_verb, "edit_patchset", lambda *words, **fields: calls.append(("revise", *words)) or copies)
    monkeypatch.setattr(edit_verb, "capture", lambda **fields: (fields["name"], fields["output"], fields["copy"]))
    monkeypatch.setattr(edit_verb, "report_copies", lambda console, outcome: outcome)
    monkeypatch.setattr(edit_verb, "edit_copies", lambda console, folder, file, go_on, run: (str(folder), file, go_on, run()))
    run = edit_verb.command.callback.__wrapped__

    def told(package, file="", name="", output=None, no_editor=False, as_json=False):
        calls.clear()
        return run(console(as_json=as_json), package, file, name, output, no_editor)

    copies = Copies(Path("/copies"), located(), ("demo/a.py", "demo/b.py"))
    go_on = "sitepatch capture --from /copies --name new"
    assert told("demo", name="new") == ("/copies", "", go_on, ("new", None, copies.folder)) and calls == [("free", "new", None), ("edit", "demo", "")]
    assert told("demo", "a.py", "new", "out") == ("/copies", "demo/a.py", f"{go_on} --output out", ("new", "out", copies.folder))
    own = str(tmp_path / "mine")
    assert told("mine") == ("/copies", "", f"sitepatch capture --from /copies --name mine --output {own}", ("mine", own, copies.folder)) and calls == [("revise", "mine")]
    copies = copies._replace(paths=copies.paths[:1])
    assert told("demo", name="new")[1] == "demo/a.py"
    assert told("demo", name="new", no_editor=True) == 0 and capsys.readouterr().out == f"edit what is in /copies, then: {go_on}\n"
    assert told("demo", name="new", no_editor=True, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["folder"], answer["paths"]) == (True, "/copies", ["demo/a.py"])
    for more, words in (({"file": "a.py"}, "demo a.py"), ({"output": "out"}, "demo")):
        assert refusal(told, "demo", **more, kind=UsageError) == ("--name is missing: a new patchset needs a name", f"sitepatch edit {words} --name NAME")


def test_one_path_names_the_package_and_the_file(monkeypatch):
    monkeypatch.setattr(edit_verb, "copy_out", lambda env, *words: words)
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    started = []
    assert edit_verb.edit("demo/", events=SimpleNamespace(started=started.append)) == ("demo", "demo/") and started == [ENV]
    assert edit_verb.edit("demo") == ("demo", "")
    assert edit_verb.edit("demo/m.py") == ("demo", "demo/m.py") and edit_verb.edit("demo/m.py", "n.py") == ("demo", "n.py")
    assert edit_verb.edit("demo", "n.py") == ("demo", "n.py") and edit_verb.edit("/demo/m.py") == ("/demo/m.py", "")

    monkeypatch.setattr(edit_verb, "own_folder", lambda name, dirs: (Path(name), dirs))
    assert edit_verb._own_folder("mine", ()) == Path("mine")

    def own_folder(name, dirs):
        raise UsageError("there is no such patchset", "did you mean this?")

    monkeypatch.setattr(edit_verb, "own_folder", own_folder)
    hint = "to edit the files of a package, name the new patchset: sitepatch edit demo --name NAME\ndid you mean this?"
    assert refusal(edit_verb._own_folder, "demo", (), kind=UsageError) == ("there is no such patchset", hint)


def test_a_patchset_is_edited_as_it_makes_its_files(monkeypatch):
    home, checked, laid = located(), [], []
    monkeypatch.setattr(edit_verb, "own_folder", lambda name, dirs: (Path(name), patchset(name)))
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    monkeypatch.setattr(edit_verb, "read_facts", lambda env, wanted: SimpleNamespace(assignments={("site", "a.py"): (SimpleNamespace(located=home),)}))
    monkeypatch.setattr(edit_verb, "check_clean", lambda env, paths: checked.append(paths))
    monkeypatch.setattr(edit_verb, "laid_out", lambda *words: laid.append(words))
    new = FilePlan("site", "new.py", b"", b"n", Change("new.py", "", b"n", None), ())
    files = (FilePlan("site", "a.py", b"a", b"A", Change("a.py", "sha", b"A", None), ()), FilePlan("site", "same.py", b"s", b"s", None, ()), new)
    monkeypatch.setattr(edit_verb, "make_plan", lambda env, wanted: plan)
    plan = Plan(files, ())
    edit_verb.edit_patchset("fix")
    assert checked == [["a.py"]] and laid == [(home, {"a.py": b"A", "same.py": b"s", "new.py": b"n"}, {"a.py": b"a", "same.py": b"s"})]
    plan = Plan((), (Answer("fix", "a.py", "f", State.NOT_FOUND),))
    unfit = []
    events = SimpleNamespace(started=unfit.append, unfit=unfit.append)
    assert refusal(edit_verb.edit_patchset, "fix", events=events) == ("fix: does not fit here", "sitepatch check fix --explain")
    assert unfit == [ENV, plan.answers]


# export ---------------------------------------------------------------------------------------------------------------
def planned_file(path, before, after, *, distribution="demo", old="sha", steps=(), change=True):
    change_made = Change(path, old, after, None) if change else None
    return FilePlan("site", path, before, after, change_made, steps, LockedFile("demo", distribution, "1.0", path, "b", "a"))


def test_what_export_does_not_take_together(monkeypatch):
    monkeypatch.setattr(export_verb, "choose", lambda names, settings, dirs: ([], []))
    installed_alone = "it is made of what is installed"
    for words, fields, told in (
        (("a", "b"), {}, ("--format patch: found several patchsets, expected one", "export one after the other")),
        (("a",), {"form": "patchset-wheel", "wheels": ("w",)}, ("--format patchset-wheel: takes neither --set nor --wheel", "options are given where it is applied")),
        (("a",), {"form": "patchset-wheel", "settings": ("a=1",)}, ("--format patchset-wheel: takes neither --set nor --wheel", "options are given where it is applied")),
        (("a",), {"wheels": ("w",)}, ("--format patch: takes no --wheel", installed_alone)),
        (("a",), {"form": "wheel", "against": "1.0"}, ("--format wheel: takes no --against", installed_alone)),
    ):
        assert refusal(export_verb.export, words, fields.pop("settings", ()), **fields, kind=UsageError) == told


def test_what_is_exported_and_where_it_goes(monkeypatch, tmp_path):
    applied = step("fix")
    wanted = [Requested(patchset("fix"), {}), Requested(patchset("idle"), {})]
    monkeypatch.setattr(export_verb, "choose", lambda names, settings, dirs: ([asked for asked in wanted if asked.patchset.name in names], ["a shadow"]))
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    monkeypatch.setattr(export_verb, "make_plan", lambda env, wanted: plan if wanted.fresh else None)
    monkeypatch.setattr(export_verb, "patch", lambda asked, files: f"{asked.patchset.name} {len(files)}".encode())
    monkeypatch.setattr(export_verb, "_wheels", lambda env, files, folder, wheels, events: [(str(folder), wheels)])
    monkeypatch.setattr(export_verb, "_series", lambda plan, env, asked, output: ("series", output))
    plan = Plan((planned_file("a.py", b"a", b"b", steps=(applied,)), planned_file("b.py", b"a", b"a"), planned_file("c.py", b"a", b"b", change=False)), (), ("a remark",))
    started = []
    outcome = export_verb.export("fix", events=SimpleNamespace(started=started.append))
    assert started == [ENV]
    assert (outcome.text, outcome.written, outcome.plan.notes, outcome.ok) == (b"fix 1", (), ("a shadow", "a remark"), True)
    outcome = export_verb.export("fix", output=tmp_path / "a.patch")
    assert (outcome.text, outcome.written) == (b"", ((str(tmp_path / "a.patch"), sha256(b"fix 1")),)) and (tmp_path / "a.patch").read_bytes() == b"fix 1"
    assert export_verb.export(("fix", "fix")).text == b"fix 1"
    outcome = export_verb.export(("fix", "idle"), form="wheel", wheels=("w",))
    assert (outcome.written, outcome.plan.notes) == ((("dist", ("w",)),), ("a shadow", "a remark", "idle changes nothing here and is left out"))
    assert export_verb.export("fix", form="wheel", output="out").written == (("out", ()),)
    monkeypatch.setattr("patcher.verbs.releases.against.check_against", lambda releases: seen.append(releases))
    monkeypatch.setattr(export_verb, "_released", lambda wanted, against, events: seen.append((wanted, against)) or (ENV, wanted))
    seen = []
    assert export_verb.export("fix", against="1.0").text == b"fix 1" and seen == [["1.0"], (wanted[:1], "1.0")]
    monkeypatch.setattr(export_verb, "is_series", lambda patchset: patchset.name == "fix")
    assert export_verb.export("fix", output="x") == ("series", "x")
    plan = plan._replace(answers=(Answer("fix", "a.py", "f", State.NOT_FOUND),))
    outcome = export_verb.export("fix")
    assert (outcome.ok, outcome.text, outcome.written, outcome.plan.notes) == (False, b"", (), ("a shadow", "a remark"))
    outcome = export_verb.export("fix", form="patchset-wheel", output=tmp_path)
    ((path, digest),) = outcome.written
    assert path == str(tmp_path / "sitepatch_patchset_fix-1-py3-none-any.whl") and digest == sha256(Path(path).read_bytes())
    assert (outcome.plan.notes, outcome.ok) == (("a shadow",), True)


def test_files_that_change_and_what_is_said_where_none_does():
    new = planned_file("new.py", b"", b"n", old="")
    assert export_verb._changed(Plan((new, planned_file("a.py", b"a", b"b")), ())) == [PatchedFile("new.py", "demo", "1.0", None, ()), PatchedFile("a.py", "demo", "1.0", b"a", ())]
    answers = tuple(Answer("fix", "a.py", "f", state) for state in (State.UPSTREAM, State.UPSTREAM, State.APPLIED))
    assert refusal(export_verb._changed, Plan((planned_file("a.py", b"a", b"a"),), answers))[0] == "nothing to export: no file would change here (upstream, applied)"
    assert refusal(export_verb._changed, Plan((), ()))[0] == "nothing to export: no file would change here (not needed)"


def test_a_release_of_the_index_stands_for_what_is_installed(monkeypatch):
    old, new = Variant("demo", "<2", (), ("old",)), Variant("demo", ">=2", (), ("new",))
    asked = Requested(patchset(variants=(old, new)), {"a": 1})
    fetched = [], []
    monkeypatch.setattr("patcher.verbs.proving.fetched_releases", lambda patchset, to, events: fetched)

    def told(*releases, problems=(), wanted=asked):
        nonlocal fetched
        fetched = list(releases), list(problems)
        return export_verb._released([wanted], "1.0", export_verb.SILENT)

    for version, variant in (("1.0", old), ("2.0", new), ("", new)):
        env, (chosen,) = told(located(site="/one", version=version))
        assert (env.sites, chosen.options, chosen.patchset.variants) == (("/one",), {"a": 1}, (variant._replace(versions=""),))
    env, _ = told(located(site="/one"), located(site="/two"))
    assert env.sites == ("/one",)
    several = refusal(told, located(version="1.0"), located(version="1.1"), problems=["unsaid"])
    assert several == ("--against 1.0: found demo 1.0, demo 1.1", "name one release")
    assert refusal(told) == ("--against 1.0: found none", "name one release")
    assert refusal(told, problems=["first", "second"])[0] == "--against 1.0: first\nsecond"
    both = asked._replace(patchset=patchset(variants=(old, Variant("other", "", ()))))
    assert refusal(told, wanted=both, kind=UsageError) == ("--against: found patches of demo and other, expected one package", "install the releases")


def test_a_patchset_as_a_wheel():
    wheel = export_verb.patchset_wheel(patchset("my-fix", version="1.0.0")._replace(files={"patchset.toml": "ä\n", "a.spatch": "b"}))
    info, module = "sitepatch_patchset_my_fix-1.0.0.dist-info", "sitepatch_patchset_my_fix"
    assert wheel.name == f"{module}-1.0.0-py3-none-any.whl"
    assert wheel.files == {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: sitepatch-patchset-my-fix\nVersion: 1.0.0\nSummary: What my-fix does\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: sitepatch\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[sitepatch.patchsets]\nmy-fix = {module}\n".encode(),
        f"{module}/__init__.py": b"",
        f"{module}/my-fix/patchset.toml": "ä\n".encode(),
        f"{module}/my-fix/a.spatch": b"b",
    }


def test_the_wheel_that_pip_fetches_is_the_one_that_is_installed(tmp_path, monkeypatch):
    world = World(tmp_path)
    env, notes = Environment.alone(str(world.path)), []
    file = PatchedFile("demo/m.py", "demo", "1.0", b"", ())
    events = SimpleNamespace(note=notes.append)
    def fetch_wheel(pip, *words):
        if path is None:
            raise NoWheel("there is none")
        assert (*words[:2], words[2].name) == ("demo", "1.0", "demo-1.0.dist-info")
        return path

    monkeypatch.setattr(export_verb, "fetch_wheel", fetch_wheel)
    named = "name the wheel that it was installed from with --wheel"
    path = world.wheel
    with export_verb._fetched(None, env, file, events).archive:
        assert notes == ["fetching the wheel of demo 1.0"]
    opened = []
    monkeypatch.setattr(export_verb, "open_wheel", lambda path: opened.append(open_wheel(path)) or opened[-1])
    members = {**FILES, "demo/n.py": "VALUE = 2\n", "demo/more.py": ""}
    path = wheel(tmp_path / "others", files=members)
    assert refusal(export_verb._fetched, None, env, file, events) == ("demo-1.0-py3-none-any.whl: is another build than the one that is installed (demo/n.py differs)", named)
    assert opened[0].archive.fp is None
    path = wheel(tmp_path / "more", files={**FILES, "demo/more.py": ""})
    with export_verb._fetched(None, env, file, events).archive:
        pass
    path = None
    assert refusal(export_verb._fetched, None, env, file, events) == ("demo 1.0: there is none", named)
    (world.path / "demo-1.0.dist-info" / "WHEEL").unlink()
    assert refusal(export_verb._fetched, None, env, file, events) == ("demo 1.0: was not installed from a wheel", named)


def test_wheels_that_are_named_have_to_change(tmp_path, monkeypatch):
    demo, unchanged = wheel(tmp_path / "w"), wheel(tmp_path / "w", "other", files={"other/__init__.py": ""})
    fetched = []
    monkeypatch.setattr(export_verb, "_fetched", lambda pip, env, file, events: fetched.append(file.path) or open_wheel(demo))
    monkeypatch.setattr(export_verb, "repack", lambda wheel, files, out: out.write(",".join(file.path for file in files).encode()))
    monkeypatch.setattr(export_verb, "new_name", lambda wheel, files: f"new-{wheel.name}")
    files = [PatchedFile(path, "Demo", "1.0", b"", ()) for path in ("demo/a.py", "demo/b.py")]
    out = tmp_path / "out"
    path = out / f"new-{demo.name}"
    for wheels, paths in (((), ["demo/a.py"]), ((str(demo),), [])):
        fetched.clear()
        assert list(export_verb._wheels(ENV, files, out, wheels, None)) == [(str(path), sha256(b"demo/a.py,demo/b.py"))] and fetched == paths
    opened = []
    monkeypatch.setattr(export_verb, "open_wheel", lambda path: opened.append(open_wheel(path)) or opened[-1])
    unused = refusal(lambda: list(export_verb._wheels(ENV, files, out, (str(demo), str(unchanged)), None)), kind=UsageError)
    assert unused == (f"--wheel: found {unchanged.name}, of which nothing changes", "expected: demo")
    assert [wheel.archive.fp for wheel in opened] == [None, None]
    big = b"x" * ((1 << 20) + 5)
    (tmp_path / "big").write_bytes(big)
    assert export_verb._digest(tmp_path / "big") == sha256(big)


def test_what_export_writes_where(capsys, monkeypatch):
    text = b"--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+\xe4\n"
    asked = []
    monkeypatch.setattr(export_verb, "export", lambda names, **fields: asked.append((names, fields["form"])) or outcome)
    run = export_verb.command.callback.__wrapped__

    def told(form="patch", *, as_json=False, against=""):
        code = run(console(as_json=as_json), ("fix",), form, against=against)
        out, err = capsys.readouterr()
        return code, out, click.unstyle(err)

    answers = (Answer("fix", "m.py", "f", State.APPLICABLE),)
    outcome = export_verb.ExportOutcome(Plan((), answers, ("a remark",)), text.replace(b"\xe4", "ä".encode()))
    code, out, err = told()
    assert (code, click.unstyle(out), err) == (0, outcome.text.decode(), "note: a remark\n") and asked == [(("fix",), "patch")]
    code, out, _ = told(as_json=True)
    answer = json.loads(out)
    assert (answer["format"], answer["patchsets"], answer["text"], answer["written"], answer["notes"]) == ("patch", ["fix"], outcome.text.decode(), [], ["a remark"])
    assert [entry["state"] for entry in answer["answers"]] == ["applicable"] and answer["ok"]
    full, outcome = outcome, outcome._replace(text=b"-a\r\n+b")
    assert told()[1] == "-a\r\n+b"
    outcome, pages = full, []
    monkeypatch.setattr(Console, "page", lambda where, lines: pages.append(list(map(click.unstyle, lines))))
    monkeypatch.setattr(Console, "plain", False)
    assert told()[1] == "" and pages == [outcome.text.decode().splitlines()]
    outcome = export_verb.ExportOutcome(Plan((), ()), written=(("out/a.whl", "ab"),))
    assert told("wheel")[1] == "./out/a.whl --hash=sha256:ab\n" == told("patchset-wheel")[1] and told()[1] == "wrote out/a.whl\n"
    assert json.loads(told(as_json=True)[1])["written"] == [{"path": "out/a.whl", "sha256": "ab"}]
    outcome = export_verb.ExportOutcome(Plan((), (answers[0]._replace(state=State.NOT_FOUND, problem="why"),)))
    row = "not found  fix  m.py  f\n           why\n"
    assert told("wheel") == (1, "", f"{row}see: sitepatch check fix --explain\n") and told("wheel", against="2.0")[2] == f"{row}see: sitepatch update fix --to 2.0\n"


# capture --------------------------------------------------------------------------------------------------------------
HUNK = DraftHunk("@@ f @@\n-a\n+b\n", 3, "in f")
NAMED_HUNKS = DraftFile(("demo/m.py",), (HUNK,), (LeftOut("demo/m.py", 7, "-c\n+d\n", "a comment"),), "its last line ends in LF")


def edited(path="demo/m.py", *, site="site", before=BEFORE, data=AFTER, made=AFTER, proven=True):
    return EditedFile(InstalledFile(located(site=site), path, (), data), Original(before, "the wheel", before, proven), made)


def captured(**fields):
    return CaptureOutcome("new", ENV, **{"files": (edited(),), "notes": (), **fields})


def test_the_draft_says_how_a_layout_differs():
    outcome = captured(draft=Draft((DraftFile(("demo/n.py",), ()), NAMED_HUNKS)))
    assert [outcome.difference(edited(path)) for path in ("demo/m.py", "demo/n.py", "demo/o.py")] == ["its last line ends in LF", "", ""]
    assert (outcome.ok, captured(folder=Path("x")).ok) == (False, True)


def test_new_files_that_hunks_import_are_lacking():
    hunk = DraftHunk("@@ <module> @@\n+from .used import a\n+  import demo.pack, b\n+from .sub import deep\n-import removed\n+text about other\n+import useless\n", 1, "")
    draft = Draft((DraftFile(("demo/m.py",), (hunk,)),))
    new = [f"demo/{name}" for name in ("used.py", "pack/__init__.py", "sub/deep.py", "removed.py", "other.py", "use.py", "less.py")]
    told = capture_verb._with_new(draft, new)
    why = "new, and imported: `+++ PATH` in the .spatch adds a file"
    assert told.files == (*draft.files, *(DraftFile((path,), (), (LeftOut(path, 0, "", why),)) for path in new[:3]))


def test_edits_that_cannot_be_told_apart_or_have_changed(monkeypatch, tmp_path):
    assert capture_verb._check_apart([edited("a.py"), edited("b.py")]) is None
    twice = [edited("b.py", site="one"), edited("b.py", site="two"), edited("a.py", site="two"), edited("a.py", site="one"), edited("c.py")]
    assert refusal(capture_verb._check_apart, twice) == ("a.py, b.py: edited in one, two and site; Python imports the first", "name one with --target")
    monkeypatch.setattr(capture_verb, "read_installed", lambda home, path: AFTER if home == "site" else BEFORE)
    assert capture_verb._check_unchanged(captured()) is None
    again = ("/copies/demo/m.py: was edited again while it was captured", "run this again when that is finished")
    assert refusal(capture_verb._check_unchanged, captured(copy="/copies")) == again


def test_what_was_edited_and_what_proves_it(monkeypatch):
    files = tuple(entry.file for entry in (edited("a.py"), edited("same.py", data=BEFORE), edited("b.py")))
    search, calls = Search(files, 5, ("a remark",), ("new.py",)), []
    monkeypatch.setattr(capture_verb, "find_changed", lambda env, words, progress, unproven: calls.append((words, unproven)) or search)
    originals = [Original(BEFORE, place, BEFORE, place != "b") for place in ("a", "same", "b")]
    monkeypatch.setattr(capture_verb, "find_originals", lambda files, given, note: originals)
    told, notes, new = capture_verb._edited(ENV, ("w",), "given", capture_verb.SILENT)
    assert [entry.file.path for entry in told] == ["a.py", "b.py"] and new == ("new.py",)
    doubt = "b.py: nothing proves that b is what was installed (its sha256 is not in RECORD)"
    assert notes == ["a.py: compared with a", "b.py: compared with b", doubt, "a remark"]
    search = search._replace(files=files[1:2])
    originals = originals[:1]
    for words, given in (((), "given"), (("w",), "")):
        nothing = "nothing was edited: 5 Python files, each as it was installed or as a patchset made it\na remark"
        assert refusal(capture_verb._edited, ENV, words, given, capture_verb.SILENT) == (nothing, "to edit a copy: sitepatch edit PACKAGE --name NAME")
    assert calls == [(("w",), True), ((), False), (("w",), False)]


def test_a_range_that_was_not_tried_and_cases_that_fail_are_remarked(monkeypatch):
    results = [SimpleNamespace(problem=problem, case=SimpleNamespace(origin="cases/a.py")) for problem in ("", "it is not as expected")]
    monkeypatch.setattr("patcher.author.cases.run_cases", lambda patchset, folder: results)
    revised = patchset(variants=tuple(Variant("demo", versions, ()) for versions in ("==1.0", ">=1", "==2.0")))
    outcome = captured(files=(edited(), edited("demo/n.py"), edited()._replace(file=InstalledFile(located(version="1.1"), "x.py"))))
    assert list(capture_verb._remarks(outcome, revised, Path("f"))) == [
        *(f"demo {versions} stays its range, and only 1.0 or 1.1 was tried; all of it with: sitepatch check new --against all" for versions in (">=1", "==2.0")),
        "cases/a.py: it is not as expected; mend the case",
    ]


def test_what_is_shown_of_what_was_captured(capsys, monkeypatch):
    def told(outcome, **options):
        capture_verb._show(console(**options), outcome)
        out, err = map(click.unstyle, capsys.readouterr())
        return out, err

    text = diff_texts("site", "demo/m.py", BEFORE, AFTER).text.decode()
    hunk = "\n--- demo/m.py\n@@ f @@\n-a\n+b\n  # line 3: in f\n"
    full = Draft((NAMED_HUNKS,))
    answer = Answer("new", "demo/m.py", "f", State.NOT_FOUND, problem="why")
    releases = (ReleaseOutcome("demo", "2.0", "applicable"),)
    left = "not captured  demo/m.py:7  a comment\n              -c\n              +d\n"
    out, err = told(captured(draft=full, notes=("a remark",), releases=releases, plan=Plan((), (answer,))))
    assert out == f"{text}{hunk}{left}applicable    demo 2.0     fits\nnot found     new          demo/m.py  f\n              why\n"
    assert err == "note: a remark\nstopped: no patchset was written; --partial makes one of the rest\n"
    assert told(captured(draft=Draft((NAMED_HUNKS, DraftFile(("demo/n.py",), ())))))[1] == "stopped: no patchset was written; --partial makes one of the rest\n"
    whole, lone = Draft((NAMED_HUNKS._replace(left_out=()),)), Draft((NAMED_HUNKS._replace(hunks=()),))
    for draft in (whole, lone):
        assert told(captured(draft=draft))[1] == "stopped: no patchset was written\n"
    folder, asked = Path("patchsets/new"), Requested(patchset("new", variants=(Variant("demo", "==1.0", ()),)), {})
    written = captured(draft=whole, folder=folder, requested=asked)
    assert told(written) == (f"{text}{hunk}captured  1 hunk in patchsets/new, for demo ==1.0\n", "")
    assert told(written._replace(gone=2))[0].endswith("captured  1 hunk in patchsets/new in the place of 2, for demo ==1.0\n")
    assert told(written._replace(draft=Draft(())))[0] == f"{text}captured  patchsets/new, as it stands, for demo ==1.0\n"
    assert told(written._replace(draft=Draft(()), gone=1))[0] == f"{text}captured  0 hunks in patchsets/new in the place of 1, for demo ==1.0\n"
    assert told(written._replace(requested=None))[0] == text + hunk and told(written, quiet=True) == ("", "")
    unlike = diff_texts("", "demo/m.py", AFTER, BEFORE).text.decode()
    out, err = told(written._replace(files=(edited(made=BEFORE), edited("demo/n.py"))))
    assert out.endswith(f"{unlike}captured  1 hunk in patchsets/new, for demo ==1.0\n")
    assert err == "note: demo/m.py: the patchset does not make it byte for byte as it was edited: its last line ends in LF\n"
    assert told(written._replace(draft=Draft(()), files=(edited(made=BEFORE),)))[1].endswith("as it was edited: see below\n")
    seen = []
    monkeypatch.setattr(capture_verb, "show_unlike", lambda console, releases: seen.append(releases))
    told(captured(releases=releases))
    assert seen == [releases] and list(captured().packages.items()) == [(located(), {"demo/m.py"})]
    monkeypatch.setattr(capture_verb, "_show", lambda console, outcome: seen.append(outcome))
    assert capture_verb.report_copies(console(), written) == 0 and seen[1:] == [written]


def test_what_was_captured_in_json(capsys):
    out = console(as_json=True)
    rejected = HUNK._replace(rejected=(Rejected("@@ g @@\n", "it is ambiguous"),))
    releases = (ReleaseOutcome("demo", "2.0", "applicable", problem="p", proven=True, unlike=(DIFFERENCE,)),)
    files = (edited(made=BEFORE), edited("demo/n.py", proven=False))
    outcome = captured(files=files, notes=("a remark",), folder=Path("f"), draft=Draft((NAMED_HUNKS._replace(hunks=(rejected,)),)), releases=releases)
    out.answer(True, capture_verb._json(outcome))
    answer = json.loads(capsys.readouterr().out)
    head = {"site": "site", "release": "demo 1.0", "compared_with": "the wheel"}
    first, second = answer["captured"]
    assert first == {**head, "path": "demo/m.py", "proven": True, "exact": False, "difference": "its last line ends in LF", "diff": diff_texts("site", "demo/m.py", BEFORE, AFTER).text.decode()}
    assert (second["path"], second["proven"], second["exact"], second["difference"]) == ("demo/n.py", False, True, "")
    assert answer["left"] == [{"path": "demo/m.py", "line": 7, "text": "-c\n+d\n", "why": "a comment"}]
    assert answer["hunks"] == [{"paths": ["demo/m.py"], "text": HUNK.text, "line": 3, "form": "in f", "lost": [{"text": "@@ g @@\n", "why": "it is ambiguous"}]}]
    assert answer["releases"] == [{"distribution": "demo", "version": "2.0", "state": "applicable", "proven": True, "diff": DIFFERENCE.text.decode(), "problem": "p"}]
    assert (answer["patchset"], answer["folder"], answer["remarks"]) == ("new", "f", ["a remark"])
    assert capture_verb._json(captured())["folder"] == ""


def test_what_follows_a_capture(capsys, monkeypatch):
    outcome, answers, calls = captured(folder=Path("patchsets/new")), [], []
    monkeypatch.setattr(capture_verb, "capture", lambda words, **fields: calls.append({"words": words, **fields}) or outcome)
    shown = []
    monkeypatch.setattr(capture_verb, "_show", lambda console, outcome: shown.append(outcome))
    monkeypatch.setattr(capture_verb, "adopt", lambda outcome, place, verify, events: ("adopted", verify))
    monkeypatch.setattr(capture_verb, "report_outcome", lambda console, applied, show, **fields: (applied, fields["patchset"]))
    monkeypatch.setattr(Console, "asks", property(lambda where: bool(answers)))
    monkeypatch.setattr(Console, "confirm", lambda where, question: answers[0] == "y")
    run = capture_verb.command.callback
    while hasattr(run, "__wrapped__"):
        run = run.__wrapped__

    def told(*words, pristine="", copy="", adopting=False, output=None, partial=False, as_json=False):
        code = run(console(as_json=as_json), words, pristine, copy, adopting, "import", output=output, partial=partial, name="new", also=())
        return code, capsys.readouterr().out

    asked = "put it in the place of the edit with: sitepatch capture {} --adopt\n".format
    assert told() == (0, asked("--name new")) and shown == [outcome]
    assert calls == [{"words": (), "place": Place(), "pristine": "", "copy": "", "events": calls[0]["events"], "output": None, "partial": False, "name": "new", "also": ()}]
    assert told("demo", output="out", pristine="w.whl", partial=True) == (0, asked("demo --name new --output out --pristine w.whl --partial"))
    assert told(adopting=True) == ((("adopted", "import"), "new"), "")
    answers.append("y")
    assert told()[0] == (("adopted", "import"), "new")
    answers[0] = "n"
    assert told() == (0, asked("--name new"))
    apart = ("--from: found packages, files, --pristine or --adopt too", "it takes the copies alone")
    for words, more in ((("demo",), {}), ((), {"pristine": "w"}), ((), {"adopting": True})):
        assert refusal(told, *words, copy="copies", **more, kind=UsageError) == apart
    assert told(copy="copies") == (0, "apply it with: sitepatch apply new\n")
    answer = json.loads(told(as_json=True)[1])
    assert (answer["ok"], answer["written"], answer["patchset"]) == (True, False, "new")
    assert json.loads(told(copy="copies", as_json=True)[1])["written"] is False
    outcome = captured()
    answers[0] = "y"
    assert told() == told(copy="copies") == told(adopting=True) == (1, "")


def test_what_is_not_as_it_was_captured_is_not_adopted(monkeypatch):
    assert refusal(capture_verb.adopt, captured()) == ("new: was not written, so it cannot be applied", "")
    assert refusal(capture_verb.adopt, captured(folder=Path("f"))) == ("new: was not written, so it cannot be applied", "")
    asked, seen = Requested(patchset("new"), {}), []
    monkeypatch.setattr(capture_verb, "Catalogue", lambda dirs: SimpleNamespace(check_trusted=lambda names: seen.append((dirs, names))))
    monkeypatch.setattr(capture_verb, "verify_settings", lambda place, env, verify, patchsets, events: (verify, patchsets))
    monkeypatch.setattr(capture_verb, "carry_out", lambda look, env, settings, events: (look(), settings))
    monkeypatch.setattr(capture_verb, "make_plan", lambda env, wanted: wanted)
    current = AFTER
    monkeypatch.setattr(capture_verb, "read_installed", lambda home, path: current)
    outcome = captured(folder=Path("here/new"), requested=asked)
    started = []
    events = SimpleNamespace(started=lambda *words: started.append(words))
    done, settings = capture_verb.adopt(outcome, place=Place(patch_dirs=("mine",)), verify="probe", events=events)
    assert started == [(ENV, [asked])]
    assert seen == [(("here", "mine"), ["new"])] and settings == ("probe", [asked.patchset])
    assert (done.place.patch_dirs, done.patchsets, done.requested) == (("here", "mine"), ("new",), (asked,))
    assert (done.plan.requested, done.plan.force, done.plan.edits) == ((asked,), True, {("site", "demo/m.py"): HandEdit(BEFORE, AFTER)})
    current = BEFORE
    hint = "here/new holds what was captured before: remove it, then run this again"
    assert refusal(capture_verb.adopt, outcome, kind=StoreError) == ("site/demo/m.py: was edited again while it was captured", hint)


def test_what_a_patchset_makes_of_edits_is_planned_in_their_place(monkeypatch):
    plans, asked = [], Requested(patchset("new"), {})
    plan = Plan((FilePlan("site", "demo/m.py", BEFORE, b"made", None, ()),), ())
    monkeypatch.setattr(capture_verb, "make_plan", lambda env, wanted: plans.append(wanted) or plan)
    outcome = captured(files=(edited(), edited("demo/n.py")))
    told = capture_verb._planned(outcome, asked)
    assert [entry.made for entry in told.files] == [b"made", BEFORE] and told.plan == plan
    capture_verb._planned(outcome._replace(copy="/copies"), asked)
    assert [(wanted.force, wanted.edits is None) for wanted in plans] == [(True, False), (False, True)]


# import ---------------------------------------------------------------------------------------------------------------
def imported(*results, single=True, **fields):
    return import_verb.ImportOutcome(Path("patchsets/new"), results, single, **fields)


PART = LeftOut("demo/m.py", 7, "-c\n+d\n", "a comment")
MISFIT = FileMatch(Section("m.py", 1), "demo/m.py", located(), problem="it does not fit", hint="look")
GOOD = PatchResult("one", "First", "imported", Draft((DraftFile(("demo/m.py",), (HUNK,)),)))
BAD = PatchResult("two", "Second", "not imported", problems=(MISFIT,), left_out=(PART,), missing=(PART._replace(line=0),), problem="why", hint="mend it")
MADE = patchset("new", variants=(Variant("demo", "==1.0", ()),))


def test_an_import_is_what_became_of_its_patches():
    both = imported(GOOD, BAD, single=False)
    assert (both.patches, both.draft, both.problems) == ((GOOD, BAD), GOOD.draft, [MISFIT])
    assert (both.left_out, both.missing, imported(GOOD).patches) == ([PART], [PART._replace(line=0)], ())
    assert [imported(*results, patchset=written).ok for results, written in (((GOOD,), MADE), ((GOOD,), None), ((GOOD, BAD), MADE))] == [True, False, False]


def test_the_rows_of_an_import():
    diff = DIFFERENCE
    outcome = imported(BAD._replace(draft=GOOD.draft), files=(diff,), releases=(ReleaseOutcome("demo", "2.0", "applicable"),))
    rows = [
        ("changes", ("demo/m.py", "+3 -2"), ()),
        ("applicable", ("demo 2.0", "fits"), ()),
        ("left out", ("demo/m.py:7", "a comment"), ()),
        ("not imported", ("demo/m.py", "a comment"), ("-c", "+d")),
        ("does not fit", ("demo/m.py",), ("it does not fit",)),
    ]
    assert plain(import_verb._rows(console(), outcome)) == rows and plain(import_verb._rows(console(quiet=True), outcome)) == rows[1:]
    lone = PatchResult("two", "", "left out", left_out=(PART._replace(why="no installed file"), PART))
    hint = ("hint: install the package, or name its environment with --python or --target",)
    for more, details in (({}, hint), ({"draft": GOOD.draft}, ()), ({"missing": (PART,)}, ()), ({"problems": (MISFIT._replace(path=""),)}, ())):
        told = plain(import_verb._rows(console(), imported(lone._replace(**more))))
        assert told[:2] == [("left out", ("demo/m.py:7", "no installed file"), details), ("left out", ("demo/m.py:7", "a comment"), ())]
    assert told[2] == ("does not fit", ("m.py",), ("it does not fit",))
    series = imported(GOOD, BAD, single=False)
    failed = ("not imported", ("two",), ("why", "hint: mend it"))
    assert plain(import_verb._rows(console(), series)) == [("imported", ("one", "1 hunk"), ()), failed]
    assert plain(import_verb._rows(console(quiet=True), series)) == [failed]


def test_how_an_import_ends(capsys):
    def told(outcome):
        import_verb._show_end(console(), outcome)
        return list(map(click.unstyle, capsys.readouterr()))

    apply = "apply it with: sitepatch apply new\n"
    assert told(imported(GOOD, patchset=MADE)) == [f"imported  1 hunk in patchsets/new, for demo ==1.0\n{apply}", ""]
    place = GOOD._replace(state="in place")
    assert told(imported(GOOD, place, single=False, patchset=MADE)) == [f"imported  2 of 2 patches in patchsets/new, for demo ==1.0\n{apply}", ""]
    mend = "not imported: {} of 2 patches; once mended, the same command imports them\n".format
    assert told(imported(GOOD, BAD, single=False, patchset=MADE)) == [f"imported  1 of 2 patches in patchsets/new, for demo ==1.0\n{apply}", mend(1)]
    assert told(imported(BAD, BAD, single=False)) == ["", mend(2)]
    assert told(imported(BAD)) == told(imported(GOOD)) == ["", "stopped: no patchset was written\n"]
    part = PART._replace(path="a b.py")
    stopped = GOOD._replace(missing=(part, part, PART))
    assert told(imported(stopped)) == ["", "stopped: no patchset was written; one of the rest is made with --leave-out 'a b.py:7' --leave-out demo/m.py:7\n"]


def test_an_import_in_json():
    outcome = imported(GOOD, BAD, single=False, files=(DIFFERENCE,), notes=("a remark",), patchset=MADE)
    answer = import_verb._json(outcome)
    assert answer["files"] == [{"path": "demo/m.py", "added": 3, "removed": 2, "diff": DIFFERENCE.text}]
    assert answer["left"] == [{"path": "demo/m.py", "line": 7, "why": "a comment", "stops": False}, {"path": "demo/m.py", "line": 0, "why": "a comment", "stops": True}]
    assert answer["problems"] == [{"path": "m.py", "installed": "demo/m.py", "problem": "it does not fit", "hint": "look"}]
    assert answer["patches"] == [
        {"name": "one", "subject": "First", "state": "imported", "problem": "", "hint": ""},
        {"name": "two", "subject": "Second", "state": "not imported", "problem": "why", "hint": "mend it"},
    ]
    assert (answer["patchset"], answer["folder"], answer["versions"], answer["remarks"]) == ("new", "", {"demo": "==1.0"}, ("a remark",))
    assert [hunk["line"] for hunk in answer["hunks"]] == [3] and answer["releases"] == []
    whole = import_verb._json(imported(GOOD, patchset=MADE, releases=(ReleaseOutcome("demo", "2.0", "applicable"),)))
    assert (whole["folder"], len(whole["releases"]), whole["patches"]) == ("patchsets/new", 1, [])
    assert import_verb._json(imported(GOOD))["versions"] == {}


def test_how_a_diff_for_another_release_is_imported():
    template = "for another release? pip install --no-deps --target DIR demo==RELEASE, then import --target DIR --also 1.0"
    assert import_verb._of_other_release(MISFIT) == template
    for more in ({"after": b"x"}, {"located": None}, {"located": located(version="")}):
        assert import_verb._of_other_release(MISFIT._replace(**more)) == ""


def test_only_parts_that_there_are_can_be_left_out():
    def told(names, **fields):
        return refusal(import_verb._check_left_out, names, imported(GOOD._replace(**fields)), kind=UsageError)

    parts = {"left_out": (PART,), "missing": (PART._replace(line=9), PART._replace(line=0))}
    assert told(["demo/m.py:7", "x", "y"], **parts) == ("--leave-out x: no such part is left out", "what stops it is: demo/m.py:9, demo/m.py")
    assert told(["x"], left_out=(PART,)) == ("--leave-out x: no such part is left out", "nothing stops it")
    for names, fields in ((["demo/m.py:7", "demo/m.py:9", "demo/m.py"], parts), ([], parts), (["x"], {"problems": (MISFIT,)})):
        assert import_verb._check_left_out(names, imported(GOOD._replace(**fields))) is None


def test_what_the_import_command_reads_asks_and_tells(capsys, monkeypatch):
    calls, answers = [], []
    monkeypatch.setattr(import_verb, "import_", lambda patches, **fields: calls.append((patches, fields["data"], fields.get("moved"))) or outcome)
    monkeypatch.setattr(Console, "asks", property(lambda where: bool(answers)))
    monkeypatch.setattr(Console, "confirm", lambda where, question: answers[0] == question)
    run = import_verb.command.callback.__wrapped__

    def told(*patches, **options):
        calls.clear()
        code = run(console(**options), patches)
        return code, *map(click.unstyle, capsys.readouterr())

    outcome = imported(GOOD, patchset=MADE, notes=("a remark",), releases=(ReleaseOutcome("demo", "2.0", "applicable"),))
    code, out, err = told("a.diff")
    assert (code, err, calls) == (0, "note: a remark\n", [(("a.diff",), None, None)]) and out.startswith("\n--- demo/m.py\n@@ f @@")
    assert out.count("applicable  demo 2.0  fits") == 1
    data = Terminal(is_terminal=False)
    data.write(b"a diff")
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", data)
    told("-")
    assert calls == [(("standard input",), b"a diff", None)]
    assert refusal(told, "a", "-", kind=UsageError) == ("standard input: found other files beside it, expected it alone", "name files, or - alone")
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal(told, "-", kind=UsageError) == ("standard input is closed", "name a file")
    bare = BAD._replace(problems=(MISFIT._replace(hint="", candidate="demo/o.py"), MISFIT), left_out=(), missing=())
    outcome = imported(bare)
    moved = {"m.py": "demo/o.py"}
    hints = "hint: for another release? pip install --no-deps --target DIR demo==RELEASE, then import --target DIR --also 1.0\nhint: look\n"
    assert told("a")[::2] == (1, f"{hints}stopped: no patchset was written\n") and len(calls) == 1
    answers.append("another question")
    assert told("a")[1].startswith("not found  m.py  demo/o.py alone has its lines\n") and len(calls) == 1
    answers[0] = "is that the file?"
    told("a")
    assert calls == [(("a",), None, None), (("a",), None, moved)]
    series = imported(GOOD, bare, single=False, releases=(ReleaseOutcome("demo", "2.0", "applicable"),))
    answers.clear()
    outcome = series
    code, out, err = told("a")
    assert out == "imported      one       1 hunk\nnot imported  two\n              why\n              hint: mend it\napplicable    demo 2.0  fits\n"
    assert err == "hint: look\nnot imported: 1 of 2 patches; once mended, the same command imports them\n"
    assert "@@ f @@" in told("a", verbose=True)[1]
    assert json.loads(told("a", as_json=True)[1])["ok"] is False
    seen = []
    monkeypatch.setattr(import_verb, "show_unlike", lambda console, releases: seen.append(releases))
    assert told("a", quiet=True)[0] == 1 and seen == [series.releases]


def test_the_releases_that_an_import_is_tried_on(monkeypatch):
    def release(version, distribution="demo"):
        return Release(located(distribution=distribution, version=version), {})

    seen = []
    monkeypatch.setattr("patcher.author.series.packages_of", lambda matches: list(matches))
    monkeypatch.setattr("patcher.verbs.proving.further_releases", lambda also, homes, events: seen.append((also, homes)) or ([release("2.0")], ["lacking"]))
    monkeypatch.setattr("patcher.verbs.proving.range_ends", lambda patchset, homes, events: ([release("2.0"), release("3.0"), release("2.0", "other")], ["unfetched"]))
    inputs = [SimpleNamespace(name=name, patch=SimpleNamespace(sections=(name,))) for name in ("one", "two")]
    sources = SimpleNamespace(find=lambda section: f"match of {section}")

    def told(also, *names):
        series = SimpleNamespace(patchset=SimpleNamespace(files={f"{name}.spatch": "" for name in names})) if names else None
        releases, problems = import_verb._further(inputs, also, sources, series, None)
        return [(entry.located.distribution, entry.located.version) for entry in releases], problems

    assert told([]) == told([], "one", "two") == ([], []) and not seen
    assert told(["2.0"]) == told(["2.0"], "one", "two") == ([("demo", "2.0")], ["lacking"])
    assert told([], "one") == ([("demo", "2.0"), ("demo", "3.0"), ("other", "2.0")], ["lacking", "unfetched"])
    assert seen[0] == (["2.0"], ["match of one", "match of two"])


# options --------------------------------------------------------------------------------------------------------------
OPTIONS = {
    "capture": "words... --name=required --output --also* --partial! --pristine --from --adopt! --verify[none compile import probe]=import(shown) --patch-dir*",
    "diagnose": "logs... --follow! --run --ranks<1-256> --backend --timeout<1-86400> --patch-dir*",
    "diff": "names... --stat! --html --edited! --fetch! --exit-code! --patch-dir*",
    "doctor": "--clean-cache<0-None> --patch-dir*",
    "edit": "package=required file --name --output --no-editor! --patch-dir*",
    "export": "names...=required --format[patch wheel patchset-wheel]=patch(shown) --output --against --wheel* --set* --patch-dir*",
    "import": "patches...=required --name=required --output --also* --leave-out* --fuzz<0-10>=2 --hash",
    "list": "text... --patch-dir*",
    "status": "names... --check! --fleet --lock --verify[none compile import probe]=none(shown) --patch-dir*",
}


def spelled(parameter):
    """An option or argument as OPTIONS has it: `!` is a flag, `*` and `...` are for several, then its range, its words and its default."""
    kind = parameter.type
    words = [parameter.opts[-1], "..." if parameter.nargs == -1 else str(parameter.nargs)[1:]]
    words += ["!"] * bool(getattr(parameter, "is_flag", False)) + ["*"] * bool(parameter.multiple)
    words += [f"<{kind.min}-{kind.max}>"] if hasattr(kind, "min") else []
    words += [f"[{' '.join(kind.choices)}]"] if hasattr(kind, "choices") else []
    default = parameter.default if isinstance(parameter.default, (str, int)) and not isinstance(parameter.default, bool) else ""
    words += ["=required"] if parameter.required else [f"={default}"] if default else []
    return "".join(words) + "(shown)" * bool(getattr(parameter, "show_default", False))


@pytest.mark.parametrize("name", OPTIONS)
def test_what_each_command_takes_and_how_an_error_ends_it(name, monkeypatch):
    verb = {"import": "import_", "list": "list_patchsets"}.get(name, name)
    monkeypatch.setattr(sys.modules[commands.get_command(None, name).callback.__module__], verb, lambda *words, **fields: (_ for _ in ()).throw(SitepatchError("it is broken")))
    words = {"capture": "--name new", "edit": "demo --name new", "export": "fix", "import": "a.diff --name new", "diagnose": "log"}.get(name, "")
    ended = CliRunner().invoke(commands, [name, *words.split()], standalone_mode=False)
    assert (ended.return_value, ended.output) == (1, "error: it is broken\n")
    shared = {"--python", "--target", "--system", "--json", "--quiet", "--verbose"}
    parameters = [parameter for parameter in commands.get_command(None, name).params if shared.isdisjoint(parameter.opts)]
    assert " ".join(map(spelled, parameters)) == OPTIONS[name]


# what capture and import write ----------------------------------------------------------------------------------------
def test_each_step_of_a_capture(monkeypatch, tmp_path):
    steps, remarks, draft = [], ["a remark"], Draft((NAMED_HUNKS._replace(left_out=()),))
    revised = SimpleNamespace(
        files={"old.spatch": "old"}, paths=["demo/m.py", "demo/new.py"], added=["demo/new.py"], requested=SimpleNamespace(options={"size": 3}), with_patched=lambda files, copy: (*files, ("more", copy))
    )
    plan = Plan((), ())

    def fake(module, name, answer=None):
        def call(*words, **fields):
            steps.append((name, words, fields))
            return answer(*words, **fields) if callable(answer) else answer

        monkeypatch.setattr(module, name, call)

    fake(capture_verb, "output_folder")
    fake(capture_verb, "note_interrupted")
    fake(proving, "check_also")
    fake(proving, "further_releases", lambda also, packages, events: (["release"], ["unread"]))
    fake(revise, "written_patchset", lambda env, name, existing: old if existing is None else revised)
    fake(capture_verb, "copied", lambda env, folder, *own: [(edited().file, edited().before)])
    fake(capture_verb, "_edited", lambda env, words, pristine, events: ([edited()], ["compared"], ("demo/new.py", "demo/n.py")))
    fake(capture_verb, "_check_apart")
    for name in ("_revised", "_drafted"):
        fake(capture_verb, name, lambda outcome, *more: (outcome._replace(draft=draft, gone=gone), texts))
    fake(capture_verb, "_with_new", lambda made, new: made)
    fake(capture_verb, "load_patchset", lambda folder, source, texts: patchset("new"))
    fake(capture_verb, "resolve_options", lambda patchset, settings: {"size": 2})
    fake(capture_verb, "_planned", lambda outcome, asked: outcome._replace(plan=plan))
    fake(capture_verb, "_check_unchanged")
    fake(capture_verb, "keep_beside")
    fake(capture_verb, "write_folder", lambda folder, texts, replace: patchset("written"))
    fake(capture_verb, "_remarks", lambda outcome, patchset, folder: remarks)
    monkeypatch.setattr(CaptureOutcome, "packages", {"home": {"path"}})
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    started, old, texts, gone = [], None, {"new.spatch": "text"}, 0
    events = SimpleNamespace(started=started.append, note="note", progress="progress")

    def told(**fields):
        steps.clear()
        outcome = capture_verb.capture(fields.pop("words", ()), name="new", output=tmp_path, also=("2.0",), events=events, **fields)
        return outcome, [name for name, _, _ in steps], {name: (words, named) for name, words, named in steps}

    folder = tmp_path / "new"
    before = ["output_folder", "check_also", "note_interrupted", "written_patchset"]
    looked = ["_check_apart", "further_releases", "_drafted", "_with_new"]
    written = ["load_patchset", "resolve_options", "_planned", "_check_unchanged", "write_folder"]
    outcome, names, given = told(words=("demo",), pristine="w.whl")
    assert names == [*before, "_edited", *looked, *written] and started == [ENV]
    assert (given["output_folder"][0], given["check_also"][0], given["_edited"][0]) == (("new", tmp_path, "note"), (("2.0",),), (ENV, ("demo",), "w.whl", events))
    assert given["written_patchset"][0] == (ENV, "new", None) and given["_with_new"][0][1] == ["demo/new.py", "demo/n.py"]
    assert given["load_patchset"][0][2] == texts and given["write_folder"] == ((folder, texts), {"replace": False})
    assert (outcome.folder, outcome.requested, outcome.notes, outcome.files) == (folder, Requested(patchset("written"), {"size": 2}), ("compared", "unread"), (edited(),))
    outcome, names, given = told(copy=tmp_path / "copies")
    assert names == [*before, "copied", *looked, *written] and given["copied"][0] == (ENV, tmp_path / "copies") and outcome.copy == str(tmp_path / "copies")
    texts = {}
    assert told()[1][-1] == "_with_new" and told()[0].folder is None
    texts, plan = {"new.spatch": "text"}, Plan((), (Answer("new", "m.py", "f", State.NOT_FOUND),))
    outcome, names, _ = told()
    assert names[-1] == "_planned" and (outcome.folder, outcome.plan) == (None, plan)
    plan, draft = Plan((), ()), Draft((NAMED_HUNKS,))
    assert told()[0].folder is None and told(partial=True)[0].folder == folder
    folder.mkdir()
    (folder / "patchset.toml").write_text("")
    outcome, names, given = told(words=("demo",), partial=True)
    again = ["_check_apart", "further_releases", "_revised", "_with_new", "load_patchset", "_planned", "_check_unchanged"]
    assert names == [*before[1:], "_edited", *again, "keep_beside", "write_folder", "_remarks"]
    assert given["_edited"][0][1] == ("demo", "demo/m.py") and given["_with_new"][0][1] == ["demo/n.py"] and given["written_patchset"][0][2] == folder
    assert given["_revised"][0][1:] == (revised, {("site", "demo/m.py")}, ["release"]) and given["write_folder"] == ((folder, texts), {"replace": True})
    assert given["load_patchset"][0][2] == {"old.spatch": "old", "new.spatch": "text"} and given["keep_beside"][0] == (folder, texts)
    assert (outcome.requested, outcome.notes, outcome.files) == (Requested(patchset("written"), {"size": 3}), ("compared", "unread", "a remark"), (edited(), ("more", "")))
    outcome, _, given = told(copy="copies", partial=True)
    assert given["copied"][0] == (ENV, Path("copies"), ["demo/new.py"], ["demo/m.py", "demo/new.py"]) and outcome.files[1] == ("more", "copies")
    assert told(partial=True)[2]["_edited"][0][1] == ()
    texts = {}
    outcome, names, _ = told(partial=True)
    assert names[-1] == "_check_unchanged" and (outcome.folder, outcome.requested.patchset, outcome.notes) == (folder, patchset("new"), ("compared", "unread"))
    gone = 1
    outcome, names, _ = told(partial=True)
    assert names[-1] == "_with_new" and outcome.folder is None


def test_what_is_drafted_of_edits(monkeypatch):
    calls = []
    proof = SimpleNamespace(releases=("tried",), texts={"p.spatch": "text"})
    monkeypatch.setattr("patcher.author.hunks.generalise.generalise", lambda edits, texts: calls.append((edits, texts)) or draft)
    monkeypatch.setattr(proving, "prove", lambda *words: calls.append(words) or proof)
    monkeypatch.setattr(capture_verb, "patchset_files", lambda head, draft, targets: (head, draft, targets))
    files = (edited(), edited("demo/n.py"), edited("demo/o.py"), edited("demo/p.py"), edited("demo/q.py"))
    draft = Draft((NAMED_HUNKS._replace(paths=("demo/m.py", "demo/o.py", "demo/p.py")), DraftFile(("demo/n.py",), ()), NAMED_HUNKS._replace(paths=("demo/q.py",))))
    outcome, texts = capture_verb._drafted(captured(files=files), Path("f"), [Release(located(), {"a": b"b"})])
    assert (outcome.draft, outcome.releases, texts, len(outcome.files)) == (draft, ("tried",), proof.texts, 5)
    assert calls[0] == ([entry.edit for entry in files], [{"a": b"b"}])
    folder, written, homes, diffs, releases = calls[1]
    head = Head("new", "Edits made by hand in demo/m.py, demo/o.py and 2 more", "Captured from demo 1.0.")
    assert (folder, written(["target"]), homes, releases) == (Path("f"), (head, draft, ["target"]), [located()], [(Release(located(), {"a": b"b"}), {})])
    assert [entry.path for entry in diffs] == ["demo/m.py", "demo/o.py", "demo/p.py", "demo/q.py"]
    draft = Draft((DraftFile(("demo/m.py",), ()),))
    outcome, texts = capture_verb._drafted(captured(), Path("f"), [])
    assert (outcome.draft, outcome.releases, texts) == (draft, (), {})


def test_what_is_revised_of_a_patchset(monkeypatch, tmp_path):
    calls, draft, texts = [], Draft((NAMED_HUNKS._replace(left_out=()),)), {"p.spatch": "new"}
    loose = patchset(variants=(Variant("demo", "==1.0", ()),))
    old = SimpleNamespace(folder=tmp_path, files={"p.spatch": "old", "q": "q"}, requested=Requested(loose, {"size": 3}), revision=lambda edits, releases: calls.append(([entry.file.path for entry in edits], releases)) or (draft, 2, texts))
    monkeypatch.setattr(capture_verb, "load_patchset", lambda folder, source, files: calls.append((folder, source, files)) or loose)
    monkeypatch.setattr("patcher.verbs.releases.against.try_release", lambda asked, release: (asked, release))
    monkeypatch.setattr("patcher.verbs.releases.outcome.compared", lambda tried, home: (tried, [entry.path for entry in home]))
    files = (edited(), edited("demo/n.py", data=BEFORE), edited("demo/o.py"), edited("demo/p.py", data=BEFORE))
    keys = {("site", "demo/m.py"), ("site", "demo/n.py")}
    outcome, changed = capture_verb._revised(captured(files=files), old, keys, [Release(located(version="2.0"), {"a": b"b"})])
    assert calls == [(["demo/m.py", "demo/n.py", "demo/o.py"], [{"a": b"b"}]), (tmp_path, NAMED, {"p.spatch": "new", "q": "q"})]
    free = Requested(patchset(variants=(Variant("demo", "", ()),)), {"size": 3})
    assert outcome.releases == (((free, located(version="2.0")), ["demo/m.py", "demo/n.py", "demo/o.py", "demo/p.py"]),)
    assert (outcome.draft, outcome.gone, changed) == (draft, 2, texts)
    texts = {}
    nothing = ("/copies: nothing was edited", "save the file in the editor")
    assert refusal(capture_verb._revised, captured(copy="/copies"), old, keys, []) == nothing
    assert capture_verb._revised(captured(), old, keys, [])[1] == {}
    draft = Draft((NAMED_HUNKS,))
    assert capture_verb._revised(captured(copy="/copies"), old, keys, [])[1] == {}


def test_each_step_of_an_import(monkeypatch):
    calls, series = [], None
    importer = SimpleNamespace(single=True, patches={"one.spatch": ""}, homes=[located(), located("other")], notes={}, results=lambda inputs, progress: (GOOD,), diffs=lambda name: (name,))
    monkeypatch.setattr(import_verb, "find_series", lambda name, output: series)
    monkeypatch.setattr(import_verb, "output_folder", lambda name, output, note: Path("free") / name)
    monkeypatch.setattr(proving, "check_also", lambda also: calls.append(also))
    monkeypatch.setattr(import_verb, "given_patches", lambda words, data, digest: [GivenPatch("one", patch)])
    monkeypatch.setattr(import_verb, "InstalledSources", lambda env, fuzz, moved: (fuzz, moved))
    monkeypatch.setattr(import_verb, "_further", lambda inputs, also, sources, there, events: calls.append((also, sources, there)) or (["release"], ["unread", "unread"]))
    monkeypatch.setattr("patcher.author.series.Importer", lambda sources, there, leave_out, releases: calls.append((sources, there, leave_out, releases)) or importer)
    monkeypatch.setattr(import_verb, "_check_left_out", lambda names, outcome: calls.append(names))
    monkeypatch.setattr(import_verb, "_written", lambda outcome, made, head: (outcome, head))
    monkeypatch.setattr(Place, "environment", lambda place: ENV)

    started = []
    events = SimpleNamespace(started=started.append, note="note", progress="progress")

    def told(*words, **fields):
        calls.clear()
        importer.notes.clear()
        return import_verb.import_(words, name="new", events=events, **fields)

    patch = Patch("A subject", "Some prose", {"author": "x"}, ())
    outcome, head = told("dir/a.diff", also="2.0", leave_out="m.py", fuzz=1, moved={"a": "b"})
    assert head == Head("new", "A subject", "A subject\n\nSome prose", {"author": "x"})
    assert calls == [("2.0",), (("2.0",), (1, {"a": "b"}), None), ((1, {"a": "b"}), None, ("m.py",), ["release"]), ("m.py",)]
    assert (outcome.folder, outcome.results, outcome.single, outcome.files, outcome.notes) == (Path("free/new"), (GOOD,), True, ("new",), ("unread",))
    patch = Patch("", "", {}, ())
    assert told("dir/a.diff")[1] == Head("new", "Changes demo and other, from a.diff", "", {})
    assert told("standard input", data=b"x")[1].summary == "Changes demo and other" and calls[1][1] == (2, {})
    importer.patches = {}
    assert told("a.diff") == import_verb.ImportOutcome(Path("free/new"), (GOOD,), True, None, ("new",), (), ("unread",))
    series = SimpleNamespace(folder=Path("there/new"), installed=lambda env: ("installed", env))
    assert started == [ENV] * 4
    assert told("a.diff").folder == Path("there/new") and calls[1][2] == calls[2][1] == ("installed", ENV)


def test_what_an_import_writes(monkeypatch):
    written, proof = [], SimpleNamespace(releases=(), targets=[PackageRange("demo", "demo", ">=1"), PackageRange("other", "other", ">=3")], texts={"proven": ""})
    monkeypatch.setattr(proving, "prove", lambda folder, files, homes, diffs, expected: written.append(files(["target"])) or proof)
    monkeypatch.setattr(import_verb, "patchset_files", lambda head, draft, targets: ("single", head, draft, targets))
    monkeypatch.setattr(import_verb, "series_files", lambda head, patches, changed, targets: ("series", head, list(patches), changed, targets))
    monkeypatch.setattr(import_verb, "more_series_files", lambda series, patches, changed, targets: {"patchset.toml": targets})
    monkeypatch.setattr(import_verb, "with_patch_files", lambda manifest, number, names: {**manifest, f"of {number}": names})
    monkeypatch.setattr(import_verb, "write_folder", lambda folder, texts, **fields: (texts, fields))
    monkeypatch.setattr(import_verb, "widened", lambda versions, fitting, failed: (versions, fitting, failed))
    head = Head("new", "A summary")
    importer = SimpleNamespace(single=True, series=None, patches={"a": ""}, changed=["m.py"], homes=[located(), located("other", version="3.0")], expected=(), notes={"late": None}, other_variants=lambda series: {})
    outcome = import_verb._written(imported(GOOD), importer, head)
    assert outcome.patchset == ({"proven": ""}, {}) and written == [("single", head, GOOD.draft, ["target"])]
    importer.single = False
    import_verb._written(imported(GOOD, single=False), importer, head)
    assert written[1] == ("series", Head("new", "A series of patches on demo and other"), ["a"], ["m.py"], ["target"])
    there = patchset("there", variants=(Variant("none", "", ()), Variant("demo", "<1", ()), Variant("demo", "<2", ())))
    importer.series = SimpleNamespace(patches=["a"], patchset=there, numbers=(0, 2))
    assert import_verb._written(imported(GOOD, single=False), importer, head).patchset is there
    importer.patches = {"a": "", "b": ""}
    words = ("applicable", "upstream", "not found", "not needed", "out of range")
    proof.releases = (*(ReleaseOutcome("demo", word, word) for word in words), ReleaseOutcome("other", "9", "applicable"))
    importer.other_variants = lambda series: {1: ["c.spatch"]}
    outcome = import_verb._written(imported(GOOD, single=False), importer, head)
    manifest = {2: PackageRange("demo", "demo", ("<2", ["applicable", "upstream", "1.0"], ["not found"])), 4: proof.targets[1], "of 1": ["c.spatch"]}
    assert outcome.patchset == ({"patchset.toml": manifest}, {"replace": True}) and outcome.notes == ("late",)
    importer.homes[0], proof.releases = located(version=""), ()
    outcome = import_verb._written(imported(GOOD, single=False), importer, head)
    assert outcome.patchset[0]["patchset.toml"][2].versions == ("<2", [], [])
    importer.homes, proof.targets = [located("new")], [PackageRange("new", "new", ">=1")]
    outcome = import_verb._written(imported(GOOD, single=False), importer, head)
    assert outcome.patchset[0]["patchset.toml"][3] == proof.targets[0]


# what is left of the logs and differences -----------------------------------------------------------------------------
def test_a_wrapping_is_told_with_what_is_wrong_and_in_colours(capsys, monkeypatch):
    monkeypatch.setattr(diagnose, "table", lambda wrap: [("rank", "verdict"), ("0   ", "ready"), ("1   ", "missing"), ("2   ", "never-moved")])
    monkeypatch.setattr(diagnose, "heading", lambda wrap: "wrapping 1")
    monkeypatch.setattr(diagnose, "well", lambda wrap: "all is well")
    monkeypatch.setattr(diagnose, "sentence", lambda conclusion: conclusion.text)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    long = "word " * 22
    conclusions = (Conclusion("never-moved", (2,), f"it was never moved {long}", f"do this {long}"), Conclusion("missing", (1,), f"{'c' * 44} {'d' * 44}", f"{'a' * 44} {'b' * 45}"))
    green, yellow, red = (lambda text, color=color: click.style(text, fg=color) for color in ("green", "yellow", "red"))
    head = [click.style("wrapping 1", bold=True), click.style("rank  verdict", dim=True), f"0     {green('ready')}", f"1     {yellow('missing')}", f"2     {red('never-moved')}", ""]
    diagnose._show_wrap(console(), wrap(report(), conclusions=conclusions))
    told = [
        f"{red('never-moved')}  it was never moved {('word ' * 13).strip()}",
        f"  {('word ' * 9).strip()}",
        f"  hint: do this {('word ' * 16).strip()}",
        f"  {('word ' * 6).strip()}",
        f"{yellow('missing')}  {'c' * 44} {'d' * 44}",
        f"  hint: {'a' * 44} {'b' * 45}",
    ]
    assert capsys.readouterr().out.split("\n") == [*head, *told, "", ""]
    diagnose._show_wrap(console(), wrap(report()))
    assert capsys.readouterr().out.split("\n") == [*head, f"{green('ready')}  all is well", "", ""]
    diagnose._show_cure(console(), NONE_FOUND._replace(cure=("apply", "fix")))
    assert capsys.readouterr().out == f"{click.style('run', bold=True)}  sitepatch apply fix\n"


def test_logs_are_read_through_links_and_from_standard_input(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes((b"x" * 999 + b"\n") * 1001)
    (tmp_path / "link").symlink_to("log")
    seen = []
    events = SimpleNamespace(progress=lambda done, total, work: seen.append((done, total)))
    monkeypatch.setattr(diagnose, "KnownSymptoms", lambda place: known())
    assert [entry.lines for entry in diagnose.diagnose(str(tmp_path / "link"), events=events).logs] == [1001]
    assert seen[-2:] == [(1, 2), (1, 1)]
    (tmp_path / "log.gz").write_bytes(gzip.compress((b"x" * 999 + b"\n") * 2002))
    diagnose.diagnose(str(tmp_path / "log.gz"), events=events)
    assert seen[-2:] == [(2, 0), (1, 1)]
    data = Terminal(is_terminal=False)
    data.write(b"one\ntwo\n")
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", data)
    assert [(entry.name, entry.lines) for entry in diagnose.diagnose().logs] == [("standard input", 2)]


def test_ranks_have_a_minute_where_nothing_else_is_said(monkeypatch):
    calls = []
    monkeypatch.setattr(diagnose, "_report_trial", lambda console, *words: calls.append(words))
    monkeypatch.setattr(diagnose, "_report_growing", lambda console, logs: calls.append(logs))
    run = diagnose.command.callback.__wrapped__
    run(console(), (), False, None, 2, None, None)
    run(console(), (), False, None, 2, "gloo", 5.0)
    run(console(), ("log",), True, None, None, None, None)
    monkeypatch.setattr(sys, "stdin", Terminal(is_terminal=False))
    run(console(), (), True, None, None, None, None)
    assert calls == [(2, "", 60.0), (2, "gloo", 5.0), ("log",), "-"]


def test_the_patchsets_of_a_difference_are_given_as_reasons(monkeypatch):
    monkeypatch.setattr(diff_verb, "stored_patchset", lambda site, step: f"{step.patchset} in {site}")
    monkeypatch.setattr(diff_verb, "compatibility_table", lambda patchset, dirs: f"table of {patchset} {dirs}" if isinstance(patchset, str) else "")
    items = (item(of=receipt("a.py", step("fix", options={"a": 1}.items()), step("unseen"))), item(site="b", of=receipt("b.py", step("fix"))))
    asked = Requested(patchset("new"), {"size": 3})
    outcome = DiffOutcome(ENV, (DIFFERENCE,), (), (), items, (asked,))
    assert diff_verb.reasons(outcome, ("mine",)) == [Reason("fix in site", {"a": 1}, True, "table of fix in site ('mine',)"), Reason(asked.patchset, {"size": 3}, False, "")]


def test_the_patchsets_of_a_project_are_those_that_it_names_and_has(monkeypatch, tmp_path):
    class Folders:
        """A catalogue of names, of which `broken` cannot be loaded."""

        folders = ("local", "builtin")

        def __init__(self, dirs):
            asked.append(dirs)

        def named(self, name):
            return name == "local"

        def find(self, name):
            if name == "broken":
                raise SitepatchError("it is broken")
            return SimpleNamespace(patchset=name)

    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(diff_verb, "Catalogue", Folders)
    place = Place(patch_dirs=("mine",))
    assert diff_verb._of_project(place) == ["local"] and asked == [["mine"]]
    (tmp_path / "ours").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.sitepatch]\npatchsets = ["local", "broken", "other"]\npatch-dir = "ours"\n')
    assert diff_verb._of_project(place) == ["local", "other"] and asked[1] == ["mine", str(tmp_path / "ours")]
    (tmp_path / "pyproject.toml").write_text("[tool.sitepatch]\npatchsets = 1\n")
    assert diff_verb._of_project(place) == ["local"]


def test_text_that_is_not_what_it_seems_is_noted(monkeypatch):
    hidden = AFTER + "# a\u202eb\n".encode()
    (remark,) = diff_remarks("demo/m.py", diff_texts("site", "demo/m.py", BEFORE, hidden).text)
    monkeypatch.setattr(diff_verb, "before_and_after", lambda site, receipt, names: (BEFORE, hidden))
    monkeypatch.setattr(diff_verb, "statuses", lambda env: [item(of=receipt("demo/m.py", step()))])
    assert diff_verb._applied(ENV, ()).notes == (remark,)
    file = InstalledFile(located(), "demo/m.py", (), hidden)
    monkeypatch.setattr("patcher.author.changed.find_changed", lambda env, words, progress: Search((file,), 1, (), ()))
    monkeypatch.setattr("patcher.author.pristine.search_pristine", lambda files, note, fetch: ({("site", "demo/m.py"): Original(BEFORE, "the wheel", BEFORE)}, []))
    assert diff_verb._edited(DiffOutcome(ENV), ["demo"], diff_verb.SILENT, named=True, fetch=False).notes == (remark,)


def test_what_would_change_is_planned_with_its_notes(monkeypatch):
    requested = [Requested(patchset("fix"), {})]
    monkeypatch.setattr(diff_verb, "choose", lambda names, settings, dirs: (requested, ["a shadow"]))
    monkeypatch.setattr(diff_verb, "make_plan", lambda env, wanted: plan)
    monkeypatch.setattr(diff_verb, "plan_diffs", lambda plan: [DIFFERENCE])
    for state, diffs in ((State.APPLICABLE, (DIFFERENCE,)), (State.NOT_FOUND, ())):
        plan = Plan((), (Answer("fix", "m.py", "f", state),), ("of the plan",))
        told = diff_verb._planned(DiffOutcome(ENV, notes=("before",)), Place(), ["fix"])
        assert told == DiffOutcome(ENV, planned=diffs, requested=tuple(requested), answers=plan.answers, notes=("before", "a shadow", "of the plan"))


def test_a_series_is_exported_as_mails_of_what_changes_something(monkeypatch, tmp_path):
    def hunk(name, layer, scope="f"):
        return HunkText(f"fix/{name}.spatch", 1, scope, 1, False, (), layer=layer)

    hunks = hunk("0002-two", 1), hunk("one", 0), hunk("idle", 2)
    asked = Requested(patchset(variants=())._replace(files={"one.spatch": "1", "0002-two.spatch": "2", "idle.spatch": "3", "patchset.toml": ""}), {})
    assignments = {
        ("site", "m.py"): (Assignment(asked, located(), "m.py", (hunks[1], hunks[0]), ()),),
        ("site", "n.py"): (Assignment(asked, located(), "n.py", (hunks[0], hunks[2]), ()),),
        ("site", "new.py"): (Assignment(asked, located(), "new.py", (hunk("one", 0, ADDED), hunk("0002-two", 1)), ()),),
    }
    results = {(b"m", "one"): b"m1", (b"m1", "two"): b"m2", (b"n", "two"): b"n2", (b"", "one"): b"new", (b"new", "two"): b"newer"}
    plan = Plan(tuple(FilePlan("site", path, before, b"", None, ()) for path, before in (("m.py", b"m"), ("n.py", b"n"), ("new.py", b""))), (), ("before",))
    monkeypatch.setattr(export_verb, "read_facts", lambda env, wanted: SimpleNamespace(assignments=assignments if wanted.fresh else {}))
    monkeypatch.setattr(export_verb, "REWRITER", SimpleNamespace(rewrite=lambda source, assignment: SimpleNamespace(data=results.get((source, assignment.hunks[0].origin[:-7].rpartition("/")[2].replace("0002-", "")), source))))
    monkeypatch.setattr(export_verb, "parse_spatch", lambda text, name: (f"prose of {name}", ()) if name.endswith(".spatch") else None)
    monkeypatch.setattr(export_verb, "read_head", lambda prose: prose)
    monkeypatch.setattr(export_verb, "mail", lambda name, head, number, total, diffs: f"{name}|{head}|{number}/{total}|".encode() + b"".join(diffs))

    def lines(path, before, after):
        return diff_texts("", path, before, after).text

    mails = {
        "one": b"one|prose of one.spatch|1/2|" + lines("m.py", b"m", b"m1") + lines("new.py", None, b"new"),
        "two": b"0002-two|prose of 0002-two.spatch|2/2|" + lines("m.py", b"m1", b"m2") + lines("n.py", b"n", b"n2") + lines("new.py", b"new", b"newer"),
    }
    outcome = export_verb._series(plan, ENV, asked, "")
    assert outcome.text == mails["one"] + mails["two"] and outcome.written == ()
    assert outcome.plan.notes == ("before", "idle changes nothing there and is left out")
    outcome = export_verb._series(plan, ENV, asked, tmp_path)
    names = ("0001-one.patch", "0002-two.patch")
    assert outcome.written == tuple((str(tmp_path / name), sha256(text)) for name, text in zip(names, mails.values())) and outcome.text == b""
    assert [(tmp_path / name).read_bytes() for name in names] == list(mails.values())
    assert len(export_verb._series(plan, ENV, asked, tmp_path).written) == 2
    for name in ("b.patch", "a.patch", "a.diff"):
        (tmp_path / name).write_text("")
    others = (f"{tmp_path}: found other patches there, a.patch, b.patch", "name another folder, or remove them")
    assert refusal(export_verb._series, plan, ENV, asked, tmp_path, kind=UsageError) == others


# what a verb looks at -------------------------------------------------------------------------------------------------
def test_the_state_of_an_environment_is_of_what_is_asked_for(monkeypatch):
    items = [item(of=receipt("a.py", step("fix"), step("other"))), item(of=receipt("b.py", step("other"))), item(site="b", of=receipt("c.py", step("last")))]
    checked, started, events = [], [], []
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    monkeypatch.setattr(status, "recover_all", lambda env: (["it was undone"], [("interrupted", "site", "why")]))
    monkeypatch.setattr(status, "statuses", lambda env, bad: bad.extend(broken) or items)
    monkeypatch.setattr(status, "damaged", lambda items: [("damaged", "")])
    monkeypatch.setattr(status, "unclaimed", lambda env, items, bad: [("unclaimed", f"{len(bad)}")])
    monkeypatch.setattr(status, "Catalogue", lambda dirs: SimpleNamespace(check_names=lambda *words: checked.append((dirs, *words))))
    monkeypatch.setattr(status, "outdated", lambda items, dirs: ({"digest of fix": "newer"}, {"b": f"{len(items)} {dirs}"}))
    monkeypatch.setattr(status, "_applied_patchsets", lambda env, items, newer: [AppliedPatchset("site", name, "1", "d", f"{newer}", (), (), {}) for name in ("fix", "other")])
    monkeypatch.setattr(status, "proven_backups", lambda sites, patched: [(sites, patched)])
    monkeypatch.setattr(status.time, "time", lambda: 1_000_000.0)
    stores = [SimpleNamespace(edited_copies=lambda since=None, name=name: [f"{name} since {since}"]) for name in ("a", "b")]
    monkeypatch.setattr(status, "stores", lambda env: stores)
    monkeypatch.setattr(status, "_verify", lambda *words: words)
    place, broken = Place(patch_dirs=("mine",)), []
    events = SimpleNamespace(started=started.append)
    told = status.status("fix", place=place, events=events)
    assert started == [ENV] and checked == []
    assert [patchset.name for patchset in told.patchsets] == ["fix"] and told.files == (FileState(items[0], ("outdated", "applied")),)
    assert (told.recovered, told.interrupted) == (("it was undone",), (("interrupted", "site", "why"),))
    assert (told.damaged, told.unreadable, told.broken) == ((("damaged", ""), ("unclaimed", "0")), False, {"b": "1 ('mine',)"})
    assert told.backups == ((("site",), {("site", "a.py"), ("site", "b.py"), ("b", "c.py")}),)
    assert (told.kept, told.recent) == (("a since None", "b since None"), ("a since 913600.0", "b since 913600.0"))
    assert (told.idle, told.verified) == ((), None)
    broken.append("x")
    told = status.status(("absent", "last"), place=place, verify="import", events=events)
    assert (told.idle, told.files, told.unreadable, told.patchsets) == (("absent",), (FileState(items[2], ("applied",)),), True, ())
    assert checked == [(("mine",), ["absent"], ["fix", "other", "last"])] and told.verified == (("absent", "last"), place, ENV, "import", events)
    assert [len(told) for told in (status.status(place=place, events=events).files, status.status(place=place, events=events).patchsets)] == [3, 2]


def test_what_is_applied_is_verified_as_it_is(monkeypatch):
    items = [
        item(data=b"now", of=receipt("a.py", step("fix"), step("other"))),
        item(Condition.EDITED, data=b"edited", of=receipt("b.py", step("fix"))),
        item(Condition.MISSING, of=receipt("c.py", step("fix"))),
        item(data=b"now", of=receipt("d.py", step("other"))),
    ]
    calls = []
    monkeypatch.setattr(status, "statuses", lambda env: items)
    monkeypatch.setattr(survey, "stored_patchset", lambda site, step: f"{step.patchset} of {site}")
    monkeypatch.setattr("patcher.verbs.change.verify_settings", lambda *words: calls.append(words) or "settings")
    monkeypatch.setattr(status, "before_and_after", lambda site, receipt, names: (f"before {','.join(names)}".encode(), b""))
    monkeypatch.setattr("patcher.verify.run.verify_files", lambda *words, **fields: (*words, fields))
    files, patchsets, settings, fields = status._verify("fix", Place(), ENV, "import", "events")
    assert files == [FilePlan("site", path, b"before fix", data, None, ()) for path, data in (("a.py", b"now"), ("b.py", b"edited"))]
    assert (patchsets, settings, fields) == (["fix of site"], "settings", {"written": True})
    assert calls == [(Place(), ENV, "import", ["fix of site"], "events")]
    files, patchsets, *_ = status._verify((), Place(), ENV, "import", "events")
    assert [file.path for file in files] == ["a.py", "b.py", "d.py"] and patchsets == ["fix of site", "other of site"]


def test_patchsets_are_listed_nearest_first_with_what_hides_others(monkeypatch):
    patchsets = [patchset(name) for name in ("far", "near", "other")]
    loaded = [SimpleNamespace(patchset=entry, shadows=(f"{entry.name} hides another",)) for entry in patchsets]
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    monkeypatch.setattr(list_verb, "Catalogue", lambda dirs: SimpleNamespace(load=lambda: (loaded, {"b": dirs})))
    monkeypatch.setattr(list_verb, "statuses", lambda env, bad: ["status"])
    monkeypatch.setattr(list_verb, "applied_states", lambda env, items, dirs: {"applied": (items, dirs)})
    monkeypatch.setattr(list_verb, "general_symptoms", lambda folder: [symptom("general")])
    asked = []
    monkeypatch.setattr(list_verb, "_about", lambda text, candidates, general: asked.append((text, candidates, general)) or (patchsets[:2], [(general[0], "")]))
    monkeypatch.setattr(list_verb, "availability", lambda env, entry, applied: asked.append(applied) or Availability("applicable" if entry.name == "near" else "absent", ()))
    place = Place(patch_dirs=("mine",))
    told = list_verb.list_patchsets(place=place)
    assert [entry.name for entry, _ in told.patchsets] == ["near", "far", "other"] and told.notes == ("far hides another", "near hides another", "other hides another")
    assert (told.env, told.symptoms, told.broken) == (ENV, (), {"b": ("mine",)}) and asked == [{"applied": (["status"], ("mine",))}] * 3
    told = list_verb.list_patchsets("text", place=place)
    assert [entry.name for entry, _ in told.patchsets] == ["near", "far"] and told.notes == ("far hides another", "near hides another")
    assert told.symptoms == ((symptom("general"), ""),) and asked[3] == ("text", patchsets, [symptom("general")])


def test_known_are_the_symptoms_of_patchsets_and_those_that_none_cures(monkeypatch, tmp_path):
    cure = patchset(symptoms=(symptom("a", "p", needs=("n",)), symptom("b")))
    monkeypatch.setattr(findings, "Catalogue", lambda dirs: SimpleNamespace(load=lambda: ([SimpleNamespace(patchset=cure)], {"x": f"broken in {dirs}"})))
    monkeypatch.setattr(findings, "general_symptoms", lambda folder: [symptom("c")])
    monkeypatch.setattr(findings, "statuses", lambda env: [env])
    monkeypatch.setattr(Place, "environment", lambda place: ENV)
    symptoms = KnownSymptoms(Place(patch_dirs=("mine",)))
    assert symptoms.broken == ("broken in ('mine',)",) and symptoms.patterns == ["p", "n", "b", "c"] and symptoms._statuses == [ENV]
    assert [(entry.name, source and source.name) for entry, source in symptoms.symptoms] == [("a", "fix"), ("b", "fix"), ("c", None)]
    run = Run(1, (), None, ())
    monkeypatch.setattr(findings, "find_runs", lambda logs: (run, run._replace(number=2)))
    seen = log(sightings=(sighting(key="c", line=2), sighting(key="b", line=1)), mentions=(sighting(line=3),), errors=(sighting("Oops: 1", line=30),))
    monkeypatch.setattr(symptoms, "_fit", lambda cure, entry: Fit(APPLICABLE, ""))
    told = symptoms.outcome([seen], "1")
    assert ([entry.symptom.name for entry in told.findings], told.cure, told.logs, told.shown) == (["b", "c"], ("apply", "fix"), (seen,), (run,))
    assert (len(told.runs), told.mentions, told.unexplained, told.broken, told.failures) == (2, seen.mentions, (seen.errors[0],), symptoms.broken, ())
    assert symptoms.outcome([seen]).shown[0].number == 2
    failed = symptoms.outcome([seen, log("b", summaries=((FAILED,),))])
    assert (failed.unexplained, failed.failures) == ((), (FAILED,))
    reported = known((symptom("reported-on-a-card-before-ddp", "b"), None), (symptom("c"), None))
    assert [entry.symptom.name for entry in reported.outcome([seen]).findings] == ["c"]
    given = []
    monkeypatch.setattr(findings, "earlier_attempts", lambda names: {"b"} & {*names})
    monkeypatch.setattr(findings, "first_failures", lambda *words: given.append(words[:2]) or ())
    old = log("b", errors=(sighting("Old: 1", log="b"),), summaries=((FAILED,),))._replace(tracebacks={0: ()})
    assert symptoms.outcome([old, seen]).unexplained == (seen.errors[0],) and given == [([(FAILED,)], [{}])]
    monkeypatch.setattr(findings, "find_runs", lambda logs: ())
    assert len(reported.outcome([seen]).findings) == 2
