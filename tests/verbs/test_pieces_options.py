"""The command line and what it writes, asked of the functions themselves: options, errors, colours, tables, answers."""

import io
import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from patcher.author.cases import Case, CaseResult
from patcher.author.lint import LintFinding
from patcher.errors import (
    BusyError,
    Location,
    NotExecutableError,
    NotFoundCommandError,
    PatchError,
    SitepatchError,
    StoreError,
    UsageError,
)
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Answer, Change, FilePlan, Plan, Receipt, Requested, State, Step, Symptom
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.project import lockfile
from patcher.project.request import ProjectFiles
from patcher.text.diffs import diff_texts
from patcher.verbs import (
    check,
    console,
    differences,
    fit,
    fleet,
    language,
    launch,
    main,
    options,
    place,
    progress,
    report,
    restore,
    rows,
    run,
    show,
    styles,
    sync,
    usage,
    words,
)
from patcher.verbs.console import Console
from patcher.verbs.place import Effect, Events, Outcome, Place
from patcher.verbs.styles import Row
from patcher.verify import COMPILE, IMPORT, PROBE, CheckResult, Verified, VerifySettings
from tests.command import DDP, DYNAMO, GUARD, RUNNER, Site
from tests.verbs.kit import console as console_of

pytestmark = pytest.mark.once
PATCHSET = load_patchset(f"{builtin_dir()}/{DDP}", BUILT_IN)
ENV = Environment("python", ("/site",), ("/site",), (3, 11))


def stream_of(*, terminal):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    return stream


def step(name, splices=(), options=None, digest="d"):
    return Step(name, "1.0", digest, "fix", options or {}, splices)


def receipt(path, *steps):
    return Receipt(path, "mmengine", "mmengine", "0.10.7", "a", "b", 0o644, 1, "", steps)


def changed(path, *names, **more):
    steps = tuple(map(step, names))
    return FilePlan("/site", path, b"a\n", b"b\n", Change(path, "0", b"b\n", receipt(path, *steps), **more), steps)


def outcome_of(files=(), answers=(), notes=(), names=(DDP,), **more):
    return Outcome(Place(), ENV, Plan(tuple(files), tuple(answers), tuple(notes)), tuple(names), **more)


def answer(state=State.APPLICABLE, name=DDP, **more):
    return Answer(name, "m.py", "f", state, **more)


# the process ----------------------------------------------------------------------------------------------------------
class Stream(io.TextIOWrapper):
    """A stream whose bytes stay readable, and which fails when it is told to."""

    error = None

    def flush(self):
        if self.error:
            raise self.error
        super().flush()


@pytest.fixture
def process(monkeypatch):
    """Runs `main` with these words and, in place of the group, a function; returns exit code, stdout and stderr."""
    dropped, ignored = [], []
    monkeypatch.setattr(main, "drop_output", dropped.append)
    monkeypatch.setattr(main.signal, "signal", lambda *pair: ignored.append(pair))
    monkeypatch.delenv("SITEPATCH_LANG", raising=False)
    monkeypatch.setattr(main, "end_interrupted", lambda why, head: sys.stderr.write(f"{head} {why}\n") and 130)

    def started(function, *words, out_error=None, err_error=None):
        streams = [Stream(io.BytesIO(), "ascii", write_through=True) for _ in range(2)]

        def commands_main(**options):
            streams[0].error, streams[1].error = out_error, err_error
            return function(**options)

        monkeypatch.setattr(sys, "argv", ["sitepatch", *words])
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        monkeypatch.setattr(main.commands, "main", commands_main)
        dropped.clear()
        with pytest.raises(SystemExit) as ended:
            main.main()
        assert ignored.pop() == (signal.SIGINT, signal.SIG_IGN)
        return (ended.value.code, *(stream.buffer.getvalue().decode() for stream in streams))

    started.dropped = dropped
    return started


def top_context():
    """The context of the group; without its settings click would keep another option for help."""
    return click.Context(main.commands, info_name="sitepatch", **main._SETTINGS)


def raising(error):
    def function(**options):
        assert options == {"prog_name": "sitepatch", "standalone_mode": False}
        raise error

    return function


def test_each_end_of_a_command_has_its_exit_code_and_its_text(process):
    interrupted = click.Abort()
    interrupted.__cause__ = KeyboardInterrupt("all is as before")
    assert process(lambda **options: 7) == (7, "", "")
    assert process(raising(interrupted)) == (130, "", "interrupted: all is as before\n")
    assert process(raising(click.Abort())) == (130, "", "interrupted: \n")
    assert process(raising(click.UsageError("no", None))) == (2, "", "error: no\n")


def test_a_mistake_is_answered_in_json_where_that_is_asked_for_in_front_of_the_dashes(process):
    code, out, err = process(raising(click.UsageError("no")), "apply", "--json")
    assert (code, err, json.loads(out)["error"]["message"]) == (2, "error: no\n", "no")
    assert json.loads(process(raising(click.UsageError("no")), "--json")[1])["ok"] is False
    assert process(raising(click.UsageError("no")), "run", "--", "--json") == (2, "", "error: no\n")
    context = click.Context(main.commands.get_command(None, "run"), top_context(), "run")
    code, out, err = process(raising(click.UsageError("no", context)), "run", "--json")
    assert (code, out, json.loads(err)["error"]["message"]) == (2, "", "no")


def test_what_cannot_be_written_is_an_error_unless_the_reader_has_gone(process):
    written = "error: standard output: No space left on device\n"
    assert process(lambda **options: 0, out_error=OSError(28, "No space left on device")) == (1, "", written)
    assert process.dropped == [sys.stdout]
    assert process(lambda **options: 0, out_error=BrokenPipeError(32, "Broken pipe")) == (1, "", "")
    assert process(lambda **options: 3, err_error=OSError(28, "full")) == (3, "", "")
    assert process.dropped == [sys.stderr]


def test_a_character_that_a_terminal_lacks_is_written_as_an_escape(process):
    def function(**options):
        print("é", end="")
        print("→", end="", file=sys.stderr)

    assert process(function)[1:] == ("\\xe9", "\\u2192")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_stream_that_the_caller_has_closed_takes_nothing_and_the_other_one_is_used(monkeypatch, closed):
    left = {"stdout": "stderr", "stderr": "stdout"}[closed]
    stream = Stream(io.BytesIO(), "utf-8", write_through=True)
    monkeypatch.setattr(main.signal, "signal", lambda *pair: None)
    monkeypatch.setattr(sys, "argv", ["sitepatch"])
    monkeypatch.setattr(sys, closed, None)
    monkeypatch.setattr(sys, left, stream)
    monkeypatch.setattr(main.commands, "main", lambda **options: print(1) or print(2, file=sys.stderr))
    with pytest.raises(SystemExit):
        main.main()
    assert stream.buffer.getvalue() == (b"1\n" if left == "stdout" else b"2\n")
    assert getattr(sys, left) is stream
    getattr(sys, closed).close()


def test_open_streams_stay_what_they_are(process):
    streams = []
    process(lambda **options: streams.extend((sys.stdout, sys.stderr)))
    assert [type(stream) for stream in streams] == [Stream, Stream]


def test_the_language_of_the_user_is_set_for_people_alone(process, monkeypatch):
    asked = []
    monkeypatch.setenv("SITEPATCH_LANG", "zh")
    monkeypatch.setattr(language, "set_language", lambda name: asked.append(name) or name == "zh")
    monkeypatch.setattr(main.commands, "context_class", click.Context)
    process(lambda **options: 0, "list", "--json")
    assert (asked, main.commands.context_class) == ([], click.Context)
    monkeypatch.setenv("SITEPATCH_LANG", "de")
    process(lambda **options: 0, "list")
    assert (asked, main.commands.context_class) == (["de"], click.Context)
    monkeypatch.setenv("SITEPATCH_LANG", "zh")
    process(lambda **options: 0, "run", "--", "--json")
    assert (asked, main.commands.context_class) == (["de", "zh"], language.Context)


def test_the_group_knows_its_commands_and_no_others():
    assert main.commands.get_command(None, "nothing") is None
    assert main.commands.get_command(None, "import").name == "import"
    assert main.commands.list_commands(None) == list(main._COMMANDS)
    assert main.commands.summary(None, "apply") == main._COMMANDS["apply"]
    assert CliRunner().invoke(main.commands, ["-h"]).output == CliRunner().invoke(main.commands, ["--help"]).output
    assert CliRunner().invoke(main.commands, ["--version"]).output == f"sitepatch, version {main.__version__}\n"


# options --------------------------------------------------------------------------------------------------------------
COMMON = ["--json", "-q", "-v"]
ENVIRONMENT = ["--python", "--target", "--system"]
PROJECT = ["-r", "--project", "--lock"]
PARAMETERS = {
    "apply": ["names", "--set", "--dry-run", "--restore", "--force", "--verify", *ENVIRONMENT, "--patch-dir", *COMMON],
    "check": ["names", "--set", "--explain", "--strict", "--against", "--html", "--format", *ENVIRONMENT, "--patch-dir", *COMMON],
    "demo": COMMON,
    "lock": [*PROJECT, "--check", *ENVIRONMENT, "--patch-dir", *COMMON],
    "restore": ["names", "--force", "--from-backup", "--dry-run", *ENVIRONMENT, "--patch-dir", *COMMON],
    "run": ["names", "--set", *PROJECT, "--locked", "--overlay", "--verify", *ENVIRONMENT, "--patch-dir", *COMMON],
    "show": ["name", "--patch-dir", *COMMON],
    "sync": [*PROJECT, "--locked", "--dry-run", "--force", "--verify", *ENVIRONMENT, "--patch-dir", *COMMON],
    "hook init": ["directory", "names", "--set", "--mode", "--name", "--patch-dir", *COMMON],
    "hook status": [*ENVIRONMENT, *COMMON],
}
FLAGS = {"--system", "--json", "-q", "-v", "--dry-run", "--restore", "--force", "--check", "--from-backup", "--explain", "--strict", "--locked", "--overlay"}
SEVERAL = {"--patch-dir", "--set", "-r", "--against", "names", "words"}
DEFAULTS = {"--project": ".", "--lock": "", "--verify": "import", "--format": "text"}
NEEDED = {"apply": ["a"], "run": ["--", "a"], "show": ["a"], "hook init": ["a"]}


def command_of(name):
    group = main.commands
    for word in name.split():
        group = group.get_command(None, word)
    return group


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_command_has_these_options_and_these_defaults(name):
    command, needed = command_of(name), NEEDED.get(name, [])
    assert [parameter.opts[0] for parameter in command.params] == PARAMETERS[name]
    context = command.make_context("x", [*needed], top_context())
    flags = [word for word in PARAMETERS[name] if word in FLAGS]
    repeated = [part for word in PARAMETERS[name] if word in SEVERAL and word[0] == "-" for part in (word, "1", word, "2")]
    several = command.make_context("x", [*flags, *repeated, *needed], top_context())
    for parameter in command.params:
        word, value = parameter.opts[0], context.params[parameter.name]
        if word in SEVERAL:
            assert value == (("a",) if name == "apply" and word == "names" else ())
            assert several.params[parameter.name] == ("1", "2") or word in ("names", "words")
        elif word in FLAGS:
            assert (value, several.params[parameter.name]) == (False, True)
        else:
            assert value == ("a" if word in ("name", "directory") else DEFAULTS.get(word))
    assert all(parameter.required == (name == "apply" or parameter.name != "names") for parameter in command.params if isinstance(parameter, click.Argument))


def test_the_default_of_an_option_is_in_the_help():
    text = CliRunner().invoke(main.commands, ["sync", "--help"]).output
    assert "[default: .]" in text and "[default: import]" in text


def invoked(function, *words, name="test command", **shared):
    wrapped = click.command(name.split()[-1])(options.common_options(**shared)(function))
    group = click.Group("sitepatch")
    for word in name.split()[:-1]:
        inner = click.Group(word)
        group.add_command(inner)
        inner.add_command(wrapped)
    return CliRunner().invoke(group, [*name.split(), *words], standalone_mode=False)


def test_a_command_gets_a_console_that_is_as_its_options_say():
    consoles = []
    told = invoked(lambda console: consoles.append(console) or 3, "--python", "p", "--patch-dir", "a", "--patch-dir", "b", "--system", "-q", "-v")
    (where,) = consoles
    assert (told.return_value, where.name, where.as_json, where.quiet, where.verbose, where.kept_notes) == (3, "test-command", False, True, True, None)
    assert where.place == Place("p", None, ("a", "b"), True)
    for in_line, notes in ((False, None), (True, [])):
        invoked(lambda console: consoles.append(console) or 0, "--json", in_line=in_line)
        assert consoles[-1].kept_notes == notes
    invoked(lambda console: consoles.append(console) or 0, environment=False, sources=False)
    assert consoles[-1].place == Place()


def test_what_a_command_raises_becomes_text_and_an_exit_code():
    def failing(error):
        def function(console):
            raise error

        return function

    lost = FileNotFoundError(2, "No such file or directory")
    told = invoked(failing(lost))
    assert (told.return_value, told.output) == (1, "error: the working directory was deleted\nhint: change to one that exists: cd DIR\n")
    told = invoked(failing(FileNotFoundError(2, "No such file or directory", "a")))
    assert (told.return_value, told.output) == (1, "error: [Errno 2] No such file or directory: 'a'\n")
    told = invoked(failing(OSError(28, "full")))
    assert (told.return_value, told.output) == (1, "error: [Errno 28] full\n")
    told = invoked(failing(UsageError("no", "do")))
    assert (told.return_value, told.output) == (2, "error: no\nhint: do\n")


def test_an_interrupt_says_what_became_of_the_files():
    def interrupted(why):
        def function(console):
            console.reached("half of it is written")
            raise KeyboardInterrupt(why)

        return function

    for why, said in (("", "half of it is written"), ("mine", "mine")):
        command = options.common_options()(interrupted(why))
        with click.Context(click.Command("x"), info_name="x"), pytest.raises(KeyboardInterrupt, match=f"^{said}$"):
            command(as_json=False, quiet=False, verbose=False)


def test_words_that_a_command_does_not_take_are_named():
    command = options.common_options()(lambda console: 0)
    with click.Context(click.Command("x"), info_name="sitepatch") as context:
        context.args = ["a", "b"]
        assert command(as_json=False, quiet=True, verbose=False) == 2


def test_the_commands_in_messages_are_for_the_same_environment_while_a_command_runs():
    messages = []
    invoked(lambda console: messages.append(Message("x{here}")) or 0, "--target", "t", "--patch-dir", "d")
    assert messages == ["x --target t --patch-dir d"] and Message("x{here}") == "x"


def test_a_command_waits_for_a_lock_as_long_as_it_is_told(monkeypatch, capsys):
    waits = []

    class Patience:
        def __init__(self, seconds, tell):
            waits.append(seconds)
            tell("for it")

        def __enter__(self):
            return self

        def __exit__(self, *error):
            waits.append("over")

    monkeypatch.setattr(options, "patience", Patience)
    monkeypatch.setenv("SITEPATCH_LOCK_TIMEOUT", "7")
    assert options.patient(lambda console, word: word)(console_of(), word=5) == 5
    monkeypatch.delenv("SITEPATCH_LOCK_TIMEOUT")
    options.patient(lambda console: 0)(console_of())
    assert waits == [7, "over", 60, "over"]
    assert capsys.readouterr().err == "waiting: for it\n" * 2


def completing(verb, **params):
    return SimpleNamespace(info_name=verb, params=params, args=[])


def test_names_are_completed_from_what_the_command_works_on(tmp_path, monkeypatch):
    site = Site(tmp_path, "mmengine-0.10.7")
    monkeypatch.setattr(options, "applied_names", lambda items: ["torch-applied"])
    here = {"target": str(site.path)}
    assert options.complete_names(completing("restore", **here), None, "torch") == ["torch-applied"]
    assert options.complete_names(completing("status", **here), None, "torch") == ["torch-applied"]
    known = options.complete_names(completing("apply", **here), None, "torch")
    assert DYNAMO in known and "torch-applied" not in known and known == sorted(known)
    assert options.complete_names(completing("diff", **here), None, "torch") == sorted([*known, "torch-applied"])
    assert all(name.startswith("torch") for name in known)
    assert options.complete_names(completing("restore", target=str(tmp_path / "gone")), None, "") == []


def test_settings_are_completed_for_all_patchsets_where_none_is_named():
    heads = options.complete_settings(completing("apply"), None, "")
    assert f"{DDP}.params=" in heads and len(heads) > 3 and all(head.endswith("=") for head in heads)
    assert options.complete_settings(completing("apply", names=("nothing",)), None, "") == heads


# the console ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variables", "terminal", "colours"),
    [
        ({}, True, True), ({}, False, False), ({"TERM": "dumb"}, True, False), ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False), ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": ""}, False, False),
    ],
)  # fmt: skip
def test_colours_go_where_the_variables_and_the_terminal_say(monkeypatch, variables, terminal, colours):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert console_of().color(stream_of(terminal=terminal)) is colours


def test_a_value_becomes_json():
    value = {1: (Effect("a", "b", "c", 1), b"\xff"), "path": Path("p"), "list": [None, True]}
    assert console.to_json(value) == {
        "1": [{"word": "a", "patchset": "b", "site": "c", "files": 1}, "\udcff"], "path": "p", "list": [None, True],
    }  # fmt: skip


def test_an_answer_has_its_exit_code_and_is_written_in_json_alone(capsys):
    assert [console_of().answer(good, {}) for good in (True, False)] == [0, 1]
    assert capsys.readouterr() == ("", "")
    assert console_of(as_json=True).answer(True, {"a": 1}) == 0
    assert capsys.readouterr() == ('{\n  "schema": 1,\n  "command": "test",\n  "ok": true,\n  "a": 1\n}\n', "")
    line = console_of(as_json=True)
    line.kept_notes = []
    line.note("remark {a}", a=1)
    line.note("", "empty")
    assert line.answer(False, {}) == 1
    assert capsys.readouterr() == ("", '{"schema": 1, "command": "test", "ok": false, "said": ["note: remark 1", "empty: "]}\n')


def test_each_error_has_the_exit_code_of_its_kind():
    errors = (NotFoundCommandError, NotExecutableError, UsageError, PatchError, StoreError, BusyError, SitepatchError)
    assert [console.exit_code(error("x")) for error in errors] == [127, 126, 2, 2, 1, 1, 1]


def test_an_error_is_written_with_each_line_of_its_hint(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console_of().fail(UsageError("no\nmore", "do\nthis")) == 2
    assert capsys.readouterr().err == "".join([
        click.style("error:", fg="red", bold=True), " no\nmore\n", click.style("hint:", fg="cyan"), " do\n", click.style("hint:", fg="cyan"), " this\n",
    ])  # fmt: skip
    line = console_of(as_json=True)
    line.kept_notes = []
    line.fail(SitepatchError("no"))
    assert json.loads(capsys.readouterr().err)["error"] == {"message": "no", "hint": "", "exit_code": 1}


def test_quiet_leaves_out_what_was_not_asked_for(capsys):
    for quiet in (False, True):
        where = console_of(quiet=quiet)
        where.out("out")
        where.info("info {n}", n=1)
        where.note("note", "word")
        where.info_rows([Row("ok", ("row",))])
        where.rows([Row("failed", ("row",))], err=True)
        where.hints(["a\nb", "b"])
    loud, quiet = "out\ninfo 1\nok  row\n", "out\n"
    assert capsys.readouterr() == (loud + quiet, "word: note\nfailed  row\nhint: a\nhint: b\nfailed  row\n")
    silent = console_of(as_json=True)
    silent.out("out")
    silent.info("info")
    silent.rows([Row("ok", ())])
    silent.page(["page"])
    assert capsys.readouterr() == ("", "")


def test_which_environment_is_meant_is_said_when_more_is_asked_for(capsys, tmp_path):
    (tmp_path / "patched" / ".sitepatch").mkdir(parents=True)
    shared = ENV._replace(outer=(str(tmp_path), str(tmp_path / "patched")), sites=("/a", "/b"))
    note = f"note: what is patched in {tmp_path}/patched, shared with others, is left alone without --system\n"
    asked = [Requested(PATCHSET, {"params": 3}), Requested(PATCHSET, {})]
    console_of().started(shared, asked)
    assert capsys.readouterr() == ("", note)
    console_of(verbose=True).started(shared, asked)
    assert capsys.readouterr() == (f"{DDP} {PATCHSET.version} params=3\n{DDP} {PATCHSET.version}\n", f"{note}environment: python, Python 3.11: /a, /b\n")


def test_progress_is_shown_to_people_until_all_is_done(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, stream):
            bars.append(self)
            self.steps, self.ended = [], 0

        def at(self, *step):
            self.steps.append(step)

        def end(self):
            self.ended += 1

    monkeypatch.setattr(progress, "ProgressBar", Bar)
    where = console_of()
    for done, total in ((0, 2), (1, 2), (5, 0), (2, 2), (0, 0)):
        where.progress(done, total, "work")
    where.note("remark")
    assert [(bar.steps, bar.ended) for bar in bars] == [([(0, 2, "work"), (1, 2, "work"), (5, 0, "work")], 1), ([(0, 0, "work")], 1)]
    where.progress(3, 2, "work")
    for mute in (console_of(quiet=True), console_of(as_json=True)):
        mute.progress(0, 2, "work")
    assert len(bars) == 2


def test_a_command_to_explain_is_given_once_for_each_patchset_that_does_not_fit(capsys):
    where = console_of()
    answers = [answer(State.NOT_FOUND), answer(State.CONFLICT), answer(name=GUARD), answer(State.NOT_FOUND, name=DYNAMO)._replace(scope="")]
    where.suggest_explain(answers, ("my dir",))
    where.suggest_explain(answers, (), "0.2")
    assert capsys.readouterr().err == f"see: sitepatch check {DDP} --explain --patch-dir 'my dir'\nsee: sitepatch update {DDP} --to 0.2\n"


def test_a_path_is_a_requirement_as_pip_takes_one():
    assert [console.requirement(path) for path in ("a", "./a", "../a", "/a")] == ["./a", "./a", "../a", "/a"]
    assert console.requirement("a", "00") == "./a --hash=sha256:00"


def test_somebody_is_asked_who_sits_at_a_terminal_and_reads(monkeypatch):
    for stdin in (True, False):
        for stdout in (True, False):
            monkeypatch.setattr(sys, "stdin", stream_of(terminal=stdin))
            monkeypatch.setattr(sys, "stdout", stream_of(terminal=stdout))
            assert console_of().asks is (stdin and stdout)
            assert not console_of(as_json=True).asks and not console_of(quiet=True).asks
            assert console_of().plain is (not stdout)


def test_a_page_goes_through_a_pager_on_a_terminal_unless_there_is_none(monkeypatch):
    from patcher.verbs import pager

    pages = []
    monkeypatch.setattr(pager, "paged", lambda page: pages.append(page) or page != "b\n")
    for terminal, lines, written in ((True, ["a"], ""), (True, ["b"], "b\n"), (False, ["a"], "a\n")):
        monkeypatch.setattr(sys, "stdout", stream_of(terminal=terminal))
        console_of().page(lines)
        assert sys.stdout.getvalue() == written
    monkeypatch.setattr(sys, "stdout", stream_of(terminal=True))
    console_of().page(["c"], pager=False)
    assert (sys.stdout.getvalue(), pages) == ("c\n", ["a\n", "b\n"])


def test_a_table_is_as_wide_as_the_terminal_it_is_on(monkeypatch):
    monkeypatch.setattr(console, "terminal_width", lambda: 30)
    for terminal, lines in ((True, 2), (False, 1)):
        for err in (True, False):
            monkeypatch.setattr(sys, "stderr" if err else "stdout", stream_of(terminal=terminal))
            monkeypatch.setattr(sys, "stdout" if err else "stderr", stream_of(terminal=not terminal))
            console_of().rows([Row("ok", ("word " * 9,))], err=err)
            assert (sys.stderr if err else sys.stdout).getvalue().count("\n") == lines
            assert not (sys.stdout if err else sys.stderr).getvalue()


def test_what_is_planned_and_fetched_goes_to_what_the_command_has_set(capsys):
    where, outcome = console_of(), outcome_of()
    assert where.planned(outcome) is None and where.fetching({"a": 1}) is True
    plans = []
    where.on_plan = lambda *seen: plans.append(seen)
    where.on_fetching = lambda *seen: plans.append(seen)
    where.planned(outcome)
    assert where.fetching({"a": 1}) is None
    assert plans == [(where, outcome), (where, {"a": 1})]
    where.unfit([answer(State.NOT_FOUND, problem="why")])
    assert capsys.readouterr().out == f"not found  {DDP}  m.py  f\n           why\n"


# run ------------------------------------------------------------------------------------------------------------------
def run_words(*words):
    context = run.command.make_context("run", [*words], top_context())
    return context.params["names"], context.params["words"]


def test_what_follows_the_dashes_is_the_command_and_what_is_before_is_ours(monkeypatch):
    assert run_words("a", "--", "b", "--set") == (("a",), ("b", "--set"))
    assert run_words("--", "b", "--", "c") == ((), ("b", "--", "c"))
    with pytest.raises(click.NoSuchOption):
        run_words("--nothing", "--", "b")
    completing = click.Context(main.commands, info_name="sitepatch", resilient_parsing=True)
    assert run.command.make_context("run", ["a"], completing, resilient_parsing=True).params["words"] == ()
    assert run.command.collect_usage_pieces(top_context())[-1] == "-- COMMAND..."


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("a", "--"), "there is no command behind `--`; write: sitepatch run [NAME]... [OPTIONS] -- COMMAND..."),
        (("a",), "there is no `--` in front of the command; write: sitepatch run [NAME]... [OPTIONS] -- COMMAND..."),
        (("a", "prog", "my file", "-c"), "there is no `--` in front of the command; write: sitepatch run a -- prog 'my file' -c"),
        (("a", "--nothing", "prog"), "there is no `--` in front of the command; write: sitepatch run [NAME]... [OPTIONS] -- COMMAND..."),
    ],
)
def test_how_to_write_a_command_is_told_where_it_lacks_the_dashes(monkeypatch, words, problem):
    monkeypatch.setattr("shutil.which", lambda word: word if word == "prog" else None)
    with pytest.raises(click.UsageError) as error:
        run_words(*words)
    assert usage.problem(error.value) == problem


def test_an_overlay_is_verified_once_and_for_a_probe_each_time(tmp_path, monkeypatch):
    from patcher.overlay import make
    from patcher.verify import run as verify_run

    good, bad = Verified((), 1.0), Verified((CheckResult(COMPILE, "a", "no"),), 1.0)
    verified, calls = [good], []
    monkeypatch.setattr(verify_run, "verify_files", lambda *words, **more: calls.append((words, more)) or verified[-1])
    asked = [Requested(PATCHSET, {})]

    def outcome(how, reason=""):
        return run._verified(["file"], asked, VerifySettings(ENV, 1.0, how, reason=reason), tmp_path)

    mark = tmp_path / make.VERIFIED
    assert outcome(COMPILE) is good and not mark.exists()
    assert calls == [((["file"], [PATCHSET], VerifySettings(ENV, 1.0, COMPILE)), {"in_memory": True})]
    verified.append(bad)
    assert outcome(IMPORT) is bad and not mark.exists()
    verified.append(good)
    assert outcome(IMPORT, "no Python") is good and not mark.exists()
    assert outcome(IMPORT) is good and mark.exists()
    assert outcome(IMPORT) is None and outcome(COMPILE) is None and len(calls) == 4
    assert outcome(PROBE) is good and len(calls) == 5


class Started:
    """`run` in a process of its own: what it would start, and how it ends."""

    def __init__(self, monkeypatch, site):
        self.started, self.site, self.monkeypatch = [], site, monkeypatch
        monkeypatch.setattr(run.launch, "execute", lambda program, words, variables: self.started.append((program, words, variables)))
        monkeypatch.setattr(run.launch, "find_program", lambda word: f"/bin/{word}")

    def __call__(self, *words):
        self.started.clear()
        return CliRunner().invoke(main.commands, ["run", *map(str, words)], standalone_mode=False)


@pytest.fixture
def started(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return Started(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--lock", "a"], "error: --lock: found no --locked, without which no lock is looked at\n"),
        (["a", "-r", "b"], "error: found a NAME and a project\nhint: without a NAME it is what the project asks for\n"),
        (["a", "--locked"], "error: found a NAME and a project\nhint: without a NAME it is what the project asks for\n"),
        (["a", "--project", "b"], "error: found a NAME and a project\nhint: without a NAME it is what the project asks for\n"),
        (["--set", "a=1"], "error: --set: found no patchset that is named\nhint: name one, or write the option where the project asks\n"),
    ],
)
def test_options_that_belong_together_are_refused_alone(started, words, error):
    told = started(*words, "--", "b")
    assert (told.return_value, told.output, started.started) == (2, error, [])


def test_the_command_runs_once_all_is_applied_and_not_where_something_failed(started, monkeypatch):
    given = []
    monkeypatch.setattr(run, "report_applied", lambda console, *words: given.append(words) or code)
    for code in (0, 1):
        told = started("a", "--set", "b=1", "--verify", "none", "--target", started.site, "--", "prog", "-x")
        assert (told.return_value, given.pop()) == (code, (("a",), ("b=1",), "none"))
        assert [words[:2] for words in started.started] == ([] if code else [("/bin/prog", ("prog", "-x"))])
    monkeypatch.setattr(sync, "report_synced", lambda console, *words: given.append(words) or 1)
    assert started("-r", "req", "--lock", "l", "--locked", "--target", started.site, "--", "prog").return_value == 1
    ((files, verify),) = given
    assert (files.requirements, str(files.lock_path), files.locked, verify) == (("req",), "l", True, "import")


def test_an_overlay_is_put_in_front_of_what_python_searches(started, monkeypatch):
    from patcher.overlay import make

    overlays = []
    monkeypatch.setattr(run, "_lay_over", lambda console, *words: overlays.append(words) or outcome)
    monkeypatch.setattr(make, "search_path", lambda overlay, variables: f"{overlay}:{'PYTHONPATH' in variables}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    outcome = outcome_of(overlay=Path("/overlay"))
    assert started("a", "--overlay", "--target", started.site, "--", "prog").return_value == 0
    assert (overlays.pop(), started.started[0][2]["PYTHONPATH"]) == ((("a",), (), None, "import"), "/overlay:False")
    outcome = outcome_of()
    assert started("--overlay", "--target", started.site, "--", "prog").return_value == 0
    assert "PYTHONPATH" not in started.started[0][2] and overlays.pop()[2] == ProjectFiles(".", (), "", False)
    outcome = outcome_of([changed("m.py")], [answer(State.CONFLICT)], overlay=Path("/overlay"))
    assert (started("a", "--overlay", "--target", started.site, "--", "prog").return_value, started.started) == (1, [])


def test_an_interpreter_that_would_ignore_an_overlay_is_refused(started, monkeypatch):
    monkeypatch.setattr(run, "_lay_over", lambda *words: outcome_of())
    monkeypatch.setattr(run, "report_applied", lambda *words: 0)
    told = started("a", "--overlay", "--target", started.site, "--", "python3", "-IE", "x.py")
    assert (told.return_value, told.output) == (2, "error: python3 -I isolates it, -E ignores PYTHONPATH: it would run unpatched\nhint: leave that option out\n")
    assert started("a", "--target", started.site, "--", "python3", "-I").return_value == 0
    assert started("a", "--overlay", "--target", started.site, "--", "python3", "-B").return_value == 0
    assert started("a", "--overlay", "--target", started.site, "--", "prog", "-I").return_value == 0


def test_another_environment_than_is_patched_is_noted_unless_a_directory_is_meant(started, monkeypatch):
    monkeypatch.setattr(run, "report_applied", lambda *words: 0)
    monkeypatch.setattr(run.Place, "environment", lambda place: ENV)
    note = "note: python3 runs /bin/python3, and what is patched is the environment of python\n"
    for is_other, target, written in ((True, (), note), (False, (), ""), (True, ("--target", "t"), "")):
        monkeypatch.setattr(run.launch, "other_environment", lambda python, env, is_other=is_other: is_other)
        assert started("a", *target, "--", "python3").output == written
    assert started("a", "--", "prog").output == ""


def test_no_overlay_is_made_for_an_image(started, monkeypatch):
    monkeypatch.setattr(run, "report_applied", lambda *words: 0)
    monkeypatch.setattr(run.Place, "environment", lambda place: ENV._replace(root="/image"))
    told = started("a", "--overlay", "--target", "t", "--", "prog")
    assert (told.return_value, told.output) == (2, "error: --overlay: found an image, /image, whose Python is not run here\nhint: apply to it instead\n")
    assert started("a", "--target", "t", "--", "prog").return_value == 0


def test_what_became_of_an_overlay_is_one_line(monkeypatch, capsys):
    bad = Verified((CheckResult(COMPILE, "a", "no"),), 1.0)
    good = Verified((CheckResult(COMPILE, "a", seconds=0.5),), 1.0)
    file, same = changed("m.py", DDP), FilePlan("/site", "n.py", b"a", b"a", None, ())
    overlay = Path("/overlay")
    for outcome, out, err in (
        (outcome_of([file], [answer(), answer(State.CONFLICT)]), "", "stopped: nothing was run: 1 of 2 hunks failed\n"),
        (outcome_of(), "nothing to overlay: what is asked for is applied already, or not needed\n", ""),
        (outcome_of([file, same], overlay=overlay), "overlay  1 file in /overlay\n", ""),
        (outcome_of([file], overlay=overlay, verified=good), "verified  1 file compiled in 0.50 s\noverlay  1 file in /overlay\n", ""),
        (outcome_of([file], overlay=overlay, verified=bad), "failed  compile a: no\n", "stopped: nothing was run: verification failed\n"),
    ):
        monkeypatch.setattr(run, "make_overlay", lambda *words, result=outcome, **more: result)
        where = console_of()
        assert run._lay_over(where, (DDP,), (), None, "import") is outcome and where.on_plan is report.show_plan
        assert capsys.readouterr() == (out, err)
        run._lay_over(console_of(as_json=True), (DDP,), (), None, "import")
        told = json.loads(capsys.readouterr().out)
        assert (told["ok"], told["overlay"], told["patchsets"]) == (outcome.ok, str(outcome.overlay or ""), [DDP])
        assert ("verify" in told) is bool(outcome.verified)


def test_an_overlay_is_made_of_what_is_planned_and_verified(tmp_path, monkeypatch):
    site = Site(tmp_path, "mmengine-0.10.7")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SITEPATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(run, "_verified", lambda *words: words[1:])
    seen = []
    events = Events()
    events.planned = seen.append
    events.started = lambda env, requested: seen.append(requested)
    here = Place(target=site.path)
    outcome = run.make_overlay(DDP, place=here, verify="none", events=events)
    assert (outcome.verified, outcome.patchsets, outcome.overlay.is_dir(), outcome.written) == (None, (DDP,), True, False)
    assert [item.patchset.name for item in seen[0]] == [DDP] and seen[1] == outcome
    verified = run.make_overlay(DDP, place=here).verified
    assert (verified[0][0].patchset.name, verified[1].how, verified[2]) == (DDP, "import", outcome.overlay)
    site.file(RUNNER).write_text("")
    failed = run.make_overlay(DDP, place=here)
    assert (failed.overlay, failed.verified, bool(failed.plan.failed)) == (None, None, True)


# starting a command ---------------------------------------------------------------------------------------------------
def test_a_command_that_is_not_there_is_told_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("")
    (tmp_path / "prog").write_text("#!/bin/sh\n")
    (tmp_path / "prog").chmod(0o755)
    assert launch.find_program("prog") == str(tmp_path / "prog")
    problems = []
    for word in ("./folder", "./text", "text", "gone", "./gone"):
        with pytest.raises((NotExecutableError, NotFoundCommandError)) as error:
            launch.find_program(word)
        problems.append((type(error.value), error.value.message, error.value.hint))
    how, where = "name a program, or the interpreter before the file", "it is looked for in the directories of PATH"
    assert problems == [
        (NotExecutableError, "./folder: found a directory", how), (NotExecutableError, "./text: found a file that is not executable", how),
        (NotFoundCommandError, "text: command not found", where), (NotFoundCommandError, "gone: command not found", where),
        (NotFoundCommandError, "./gone: command not found", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "python"),
    [
        (b"#!/opt/python3 -B\n", ("/opt/python3", ("-B", "PROG", "x"))),
        (b"#!/usr/bin/env python3\n", ("python3", ("PROG", "x"))),
        (b"#!/usr/bin/env -S A=1 python3 -u\n", ("python3", ("-u", "PROG", "x"))),
        (b"#!/bin/sh\n'''exec' \"/my dir/python3\" -E \"$0\" \"$@\"\n' '''\n", ("/my dir/python3", ("-E", "PROG", "x"))),
        (b"#!/bin/sh\nexec /opt/python3\n", None),
        (b"#!/bin/bash\n'''exec' /opt/python3\n", None),
        (b"#!/opt/perl\n", None), (b"/opt/python3\n", None), (b"", None), (b"#!\n", None), (b"#!/opt/'python3\n", None),
        (b"#!/usr/bin/env\n", None), (b"#!/opt/gone\n", None), (b"#!/opt/xpython3\n", None), (b"#!/opt/python3x\n", None), (b"#! /opt/pypy3.10", ("/opt/pypy3.10", ("PROG", "x"))),
    ],
)  # fmt: skip
def test_the_first_line_of_a_program_says_what_runs_it(tmp_path, monkeypatch, text, python):
    monkeypatch.setattr(launch.shutil, "which", lambda word: None if word == "/opt/gone" else word)
    program = tmp_path / "prog"
    program.write_bytes(text)
    expected = python and launch.Python(python[0], tuple(str(program) if word == "PROG" else word for word in python[1]))
    assert launch.interpreter_of(str(program), ["x"]) == expected


def test_a_python_is_one_by_its_name_and_what_cannot_be_read_is_none(tmp_path):
    assert launch.interpreter_of("/gone/python3.11", ["x"]) == launch.Python("/gone/python3.11", ("x",))
    assert launch.interpreter_of(str(tmp_path), []) is None


@pytest.mark.parametrize(
    ("words", "letters"),
    [
        ("-I x", "I"), ("-ES x", "ES"), ("-B -s", ""), ("x -I", ""), ("- -I", ""), ("-- -I", ""), ("-c -I", ""), ("-m a -I", ""), ("-Em a -I", "E"),
        ("-W error -I", "I"), ("-Werror -I", "I"), ("-X dev -E", "E"), ("-XI x", ""), ("--check-hash-based-pycs always -I", "I"), ("--version -I", "I"),
        ("-BW", ""), ("--check-hash-based-pycs", ""), ("-W -I -E", "E"), ("-X -I x -E", ""),
    ],
)  # fmt: skip
def test_the_options_that_ignore_an_overlay_are_read_as_the_interpreter_reads_them(words, letters):
    assert [option[1] for option in launch.ignoring(launch.Python("python", tuple(words.split())))] == list(letters)


def test_an_interpreter_is_another_environment_where_it_searches_other_directories(monkeypatch, tmp_path):
    python = launch.Python(str(tmp_path / "python"), ())
    for described, is_other in ((lambda: ENV, False), (lambda: ENV._replace(sites=("/other",)), True), (lambda: raise_usage(), False)):
        monkeypatch.setattr(launch, "discover", lambda path, target, described=described: (path, target) == (python.path, None) and described())
        assert launch.other_environment(python, ENV) is is_other
    monkeypatch.setattr(launch, "discover", lambda path, target: pytest.fail("it is asked"))
    assert launch.other_environment(python, ENV._replace(python=python.path)) is False


def raise_usage():
    raise UsageError("no")


def test_a_link_to_an_interpreter_in_another_directory_is_another_place(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "python").touch()
    (tmp_path / "bin" / "python").symlink_to(tmp_path / "python")
    (tmp_path / "link").symlink_to(tmp_path / "bin")
    here, there, same = (launch._place(str(tmp_path / path)) for path in ("python", "bin/python", "link/python"))
    assert here[0] == there[0] and here != there and there == same


def test_a_command_replaces_the_process_and_gets_default_signals(monkeypatch):
    numbers, calls = [], []
    monkeypatch.setattr(launch.signal, "signal", lambda *pair: numbers.append(pair))
    monkeypatch.setattr(launch.os, "execve", lambda *words: calls.append(words))
    launch.execute("/bin/prog", ("prog", "x"), {"A": "1"})
    assert calls == [("/bin/prog", ["prog", "x"], {"A": "1"})]
    assert numbers == [(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)]
    for error, hint in ((FileNotFoundError(2, "gone"), "the interpreter that its first line names is not there"), (OSError(8, "bad"), "a script begins with #!")):
        monkeypatch.setattr(launch.os, "execve", lambda *words, error=error: raise_error(error))
        with pytest.raises(NotExecutableError, match=f"^/bin/prog: {error.strerror}$") as told:
            launch.execute("/bin/prog", (), {})
        assert told.value.hint == hint


def raise_error(error):
    raise error


# styles ---------------------------------------------------------------------------------------------------------------
@pytest.fixture
def chinese(monkeypatch):
    """A language in which a few words have another text."""
    sentences, terms = {"why": "为何", "do\nthis": "做\n这"}, {"hint": "提示", "ok": "好"}
    monkeypatch.setattr(styles, "_sentence", lambda text: sentences.get(text, text))
    monkeypatch.setattr(styles, "_word", lambda word: terms.get(word, word))


def test_a_label_and_a_hint_have_a_blank_behind_a_narrow_colon_alone(chinese):
    assert (styles.label("hint"), styles.label("note")) == ("提示：", "note:")
    assert styles.hint_lines("do\nthis") == ["提示：做", "这"] and styles.hint_lines("") == []
    assert styles.labelled("hint", "why") == f"{click.style('提示：')}为何"
    assert styles.labelled("note", "why") == f"{click.style('note:')} 为何"
    assert styles.translated(styles.Verbatim("why")) == "why" and styles.translated(styles.Styled("why")) == "why"
    assert styles.translated_lines("do\nthis") == ["做", "这"]
    assert styles.titled("why") == click.style("为何", bold=True)


def test_in_english_a_hint_has_its_label_in_front():
    assert styles.hint_lines("do\n\nthis") == ["hint: do", "this"]
    assert (styles.term("ok"), styles.translated("why")) == ("ok", "why")


def plain_lines(rows, most=0):
    return [click.unstyle(line) for line in styles.table_lines(rows, most)]


def test_the_cells_of_a_table_stand_below_each_other_by_the_columns_that_are_seen(chinese):
    rows = [Row("ok", ("a", "为", "c")), Row("failed", ("bbb",), ("why", " code"))]
    assert plain_lines(rows) == ["好      a    为  c", "failed  bbb", "        为何", "         code"]
    assert plain_lines([]) == [] and plain_lines([Row("ok", ())]) == ["好"]
    assert plain_lines([Row("ok", ("", "b"), ("",))]) == ["好    b", ""]


def test_a_row_that_is_wider_than_the_terminal_goes_on_below():
    rows = [Row("ok", ("a" * 10, "b" * 10, "c"), ("word " * 8,)), Row("ok", ("a", "b", "c"))]
    lines = plain_lines(rows, 20)
    assert lines[:4] == ["ok  aaaaaaaaaa", "    bbbbbbbbbb  c", "    word word word word", "    word word word word"]
    assert plain_lines(rows[:1], 1) == lines[:4]
    assert plain_lines(rows[:1], 400) == ["ok  aaaaaaaaaa  bbbbbbbbbb  c", "    word word word word word word word word"]
    assert plain_lines([Row("ok", (), (" " + "word " * 8,))], 20) == ["ok", "     " + "word " * 7 + "word"]
    assert plain_lines([Row("ok", (), (styles.Styled("word " * 8),))], 20) == ["ok", "    " + "word " * 7 + "word"]


def test_of_a_very_long_word_the_middle_is_left_out():
    clipped = styles._clipped(f"a {'b' * 401} {'c' * 399}")
    assert clipped == f"a {'b' * 199}…{'b' * 199} {'c' * 399}"
    assert styles._clipped("b" * 400) == "b" * 400
    assert styles._clipped(styles.Styled("b" * 401)) == "b" * 401


def test_each_word_of_a_row_has_its_colour():
    words = ("applied", "captured", "applicable", "broken before", "follows", "upstream", "not needed", "failed")
    heads = [next(styles.table_lines([Row(word, ())])) for word in words]
    colours = ("green", "green", "cyan", "yellow", "yellow", "blue", "blue", "red")
    assert heads == [click.style(word, fg=colour) for word, colour in zip(words, colours)]


def test_the_lines_of_a_diff_have_the_colour_of_what_they_say():
    diff = "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n c\n\\ No newline\n"
    lines = [click.style("--- a/m", bold=True), click.style("+++ b/m", bold=True), *(click.style(text, fg=colour) for text, colour in (("@@ -1 +1 @@", "cyan"), ("-a", "red"), ("+b", "green"))), " c", click.style("\\ No newline", fg="yellow")]  # fmt: skip
    assert styles.color_diff(diff) == lines == styles.color_diff(diff[:-1])
    assert styles.color_diff("") == [] and styles.color_diff("a\n\nb") == ["a", "", "b"]


# progress -------------------------------------------------------------------------------------------------------------
class FixedBar:
    """In place of click's: it knows a time from the second step on."""

    def __init__(self, items, file, length=None, width=0):
        self.pos, self.length, self.width = 0, length, width
        self.eta_known = False

    def make_step(self, steps):
        self.pos += steps
        self.eta_known = self.pos > 1

    def format_eta(self):
        return "00:07"

    def format_bar(self):
        return f"{self.length}/{self.width}"


@pytest.mark.parametrize(
    ("terminal", "term", "texts", "ended"),
    [
        (True, "xterm", ["\r\x1b[K[4/20] 1 of 4 files, 5 s", "\r\x1b[K[4/20] 3 of 4 files, 00:07 left", "\r\x1b[K2 lines, 00:07 left"], "\r\x1b[K"),
        (True, "dumb", ["1 of 4 files, 5 s\n", "3 of 4 files, 00:07 left\n", "2 lines, 00:07 left\n"], ""),
        (False, "xterm", ["1 of 4 files, 5 s\n", "3 of 4 files, 00:07 left\n", "2 lines, 00:07 left\n"], ""),
    ],
)  # fmt: skip
def test_how_far_a_command_is_shows_how_much_of_what_is_done_and_how_long_it_takes(monkeypatch, terminal, term, texts, ended):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(progress.click, "progressbar", FixedBar)
    monkeypatch.setattr(progress.threading, "Thread", lambda target, daemon: SimpleNamespace(start=lambda: daemon or pytest.fail("it keeps the process")))
    monkeypatch.setattr(progress, "terminal_width", lambda: 80)
    times = iter([0.0, 10.0, 15.4])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times, 20.0))
    stream = stream_of(terminal=terminal)
    bar, shown = progress.ProgressBar(stream), []
    for step_of in ((1, 4, "files"), (3, 4, "files"), (2, 0, "lines")):
        bar.at(*step_of)
        bar._show()
        shown.append(stream.getvalue())
        stream.seek(0)
        stream.truncate()
    bar.end()
    assert (shown, stream.getvalue()) == (texts, ended)


def test_a_bar_that_was_never_shown_leaves_nothing_and_a_long_line_is_cut(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "terminal_width", lambda: 20)
    stream = stream_of(terminal=True)
    bar = progress.ProgressBar(stream)
    bar.end()
    assert stream.getvalue() == ""
    bar.at(1, 0, "x" * 40)
    bar._show()
    assert len(stream.getvalue()) == len("\r\x1b[K") + 19


def test_what_watches_shows_nothing_before_there_is_work_or_once_it_is_over(monkeypatch):
    monkeypatch.setattr(progress.threading, "Thread", lambda target, daemon: SimpleNamespace(start=lambda: None))
    bar = progress.ProgressBar(stream_of(terminal=False))
    shown = []
    bar._show = lambda: shown.append(bar._what)
    for work, over, times in (("", False, 0), ("files", True, 0), ("files", False, 1)):
        bar._what, turns = work, iter([False, True])
        bar._over = SimpleNamespace(wait=lambda pause, turns=turns: next(turns), is_set=lambda over=over: over)
        bar._watch()
        assert len(shown) == times


# mistakes -------------------------------------------------------------------------------------------------------------
def refusal(command, *words, argv=("sitepatch",)):
    """The error that click makes of these words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*argv, *words])
        with pytest.raises(click.ClickException) as error:
            command.make_context("x", [*words], top_context())
        return usage.problem(error.value)


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--many", type=usage.Number(1, 5), metavar="N")
@click.option("--whole", type=usage.Whole(2), metavar="N")
@click.option("--form", type=usage.Choice(("text", "github")))
@click.option("--name", "label", required=True)
@click.option("--flag", is_flag=True)
def mistaken(**parameters):
    """A command for mistakes."""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["a", "--name"], "--name needs a value"), (["a", "--name", "b", "--flag=c"], "--flag takes no value"),
        (["a", "--flg"], 'there is no option --flg; did you mean "--flag"?'), (["a", "--zzz"], "there is no option --zzz"),
        (["--name", "b"], "NAME is missing; those that can be named: sitepatch list"),
        (["my file"], "--name is missing; write: sitepatch 'my file' --name NAME"),
        (["a", "--name", "b", "--form", "txt"], '--form: found "txt", expected text or github; did you mean "text"?'),
        (["a", "--name", "b", "--form", "zzz"], '--form: found "zzz", expected text or github'),
        (["a", "--name", "b", "--many", "6"], '--many: found "6", expected a number from 1 to 5'),
        (["a", "--name", "b", "--many", "nan"], '--many: found "nan", expected a number from 1 to 5'),
        (["a", "--name", "b", "--many", "x"], '--many: found "x", expected a number from 1 to 5'),
        (["a", "--name", "b", "--whole", "1"], '--whole: found "1", expected a number from 2'),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_our_words(words, problem):
    assert refusal(mistaken, *words) == problem


def test_numbers_and_words_in_their_range_are_taken():
    taken = mistaken.make_context("x", ["a", "--name", "b", "--many", "1.5", "--whole", "2", "--form", "github"], top_context()).params
    assert (taken["many"], taken["whole"], taken["form"]) == (1.5, 2, "github")


def test_an_option_in_front_of_a_command_is_told_where_it_stands(monkeypatch):
    for typed, meant in ((["--json", "list"], "; options stand behind the command: sitepatch list --json"), (["--zzz"], ""), (["--versio"], '; did you mean "--version"?')):
        monkeypatch.setattr(sys, "argv", ["sitepatch", *typed])
        with pytest.raises(click.NoSuchOption) as error:
            main.commands.make_context("sitepatch", [*typed])
        assert usage.problem(error.value) == f"there is no option {typed[0]}{meant}"


def test_a_mistake_has_the_usage_of_the_command_above_it_and_in_json_its_name(capsys):
    context = mistaken.make_context("x", ["a", "--name", "b"], top_context())
    assert usage.text(click.UsageError("no", context)) == "Usage: sitepatch x [OPTIONS] NAME\nTry 'sitepatch x --help' for help.\n\n" + click.style("error:", fg="red", bold=True) + " no"
    assert usage.text(click.UsageError("no")) == click.style("error:", fg="red", bold=True) + " no"
    named = {"x": (False, "x", "sitepatch x"), "run": (True, "run", "sitepatch run"), "": (False, "sitepatch", "sitepatch")}
    for name, (line, command, path) in named.items():
        inner = click.Context(mistaken, top_context(), name) if name else None
        assert usage.answer(click.UsageError("no", inner)) is line
        told = capsys.readouterr()
        fields = json.loads(told.err if line else told.out)
        assert (fields["command"], fields["ok"]) == (command, False)
        assert fields["error"] == {"message": "no", "hint": f"see: {path} --help", "exit_code": 2}


# languages ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def catalog(monkeypatch):
    """A catalogue of a few entries."""
    entries = {"for {} file": "为 {} 文件", "{1} of {0}": "no", "{} of {}": "{1} 中的 {0}", "not there": "没有", "Usage:": "用法：", "a \\\"b\\\"": "甲 \\\"乙\\\"", "indented": "缩进", "empty": "", "{{}} {}": "no"}  # fmt: skip
    lines = [line.encode() for msgid, msgstr in entries.items() for line in (f'msgid "{msgid}"', f'msgstr "{msgstr}"')]
    book = language.Catalog("zh")
    book._below = dict(zip(lines, lines[1:]))
    monkeypatch.setattr(styles, "_sentence", book.text)
    monkeypatch.setattr(styles, "_word", book.word)
    return book


def test_a_message_is_translated_line_by_line_with_its_fields(catalog):
    texts = {
        Message("for {number} file", number=1): "为 1 文件",
        Message("{number} of {total}", number=1, total=2): "2 中的 1",
        Message("{what}: {why}", what=Message("not there"), why="x"): "没有：x",
        Message("{what}: {why}", what="a", why="x"): "a: x",
        Message("  indented\nnot there "): "  缩进\n没有 ",
        Message(" indented"): "缩进",
        Message("known {what}: x", what=Message("not there")): "known 没有: x",
        Message("{error}", error=OSError(2, "not there")): "[Errno 2] 没有",
        Message("{error.args}", error=OSError(2, "not there")): "(2, 'not there')",
        Message("{error}", error=OSError("not there")): "not there",
    }
    assert [catalog.text(message) for message in texts] == list(texts.values())
    assert catalog.text("not there") == "not there"
    assert (catalog.word('a "b"'), catalog.word(""), catalog.word("gone")) == ('甲 "乙"', "", "gone")


def test_a_catalogue_is_found_by_the_first_part_of_the_language():
    assert [bool(language.Catalog(name)) for name in ("zh", "zh-CN", "zh_TW.UTF-8", "de", "", "../x", "z1")] == [True, True, True, False, False, False, False]


def test_a_language_is_set_where_there_is_a_catalogue(monkeypatch):
    pairs = []
    monkeypatch.setattr(styles, "set_translation", lambda *pair: pairs.append(pair))
    assert language.set_language("de") is False and pairs == []
    assert language.set_language("zh") is True and [name.__name__ for name in pairs[0]] == ["text", "word"]


def test_wide_signs_are_those_between_which_no_blank_stands():
    wide = {char: language._is_wide(char) for char in ("\u2fff", "\u3000", "\u9fff", "\ua000", "\ufeff", "\uff00", "\uff61", "", "a")}
    assert [char for char, is_wide in wide.items() if is_wide] == ["\u3000", "\u9fff", "\uff00"]
    assert language._widened("a; b: c, d. e (f)") == "a；b：c，d。e（f）"


def formatter(width=40, indent=0):
    page = language.Formatter(width=width)
    page.current_indent = indent
    return page


def test_help_is_laid_out_by_the_columns_that_are_seen(catalog):
    page = formatter(30, 2)
    page.write_usage("prog", "[X]")
    page.write_heading("Options")
    page.write_dl([("-a", "not there  [default: 1; required]"), ("文件", "b"), ("--a-very-long-option-that-is-wide", "for it"), ("-e", "")], col_max=8)
    assert page.getvalue() == (
        "用法：prog [X]\n  Options:\n  -a        没有  [default：\n            1；required]\n  文件      b\n"
        "  --a-very-long-option-that-is-wide\n            for it\n  -e        \n"
    )
    page = formatter(30)
    page.write_dl([("-a", "b"), ("--abcd", "one two three four five six seven")])
    page.write_dl([("x" * 30, "b"), ("-a", "c")])
    page.write_dl([("x" * 31, "b"), ("-a", "c")])
    wide = " " * 30
    assert page.getvalue() == (
        f"-a      b\n--abcd  one two three four\n        five six seven\n{'x' * 30}  b\n-a{wide}c\n{'x' * 31}\n{wide}  b\n-a{wide}c\n"
    )
    page = formatter(20, 2)
    page.write_text("one two three four\nfive six\n\n\b\nkept   as\n  it is\n\nlast")
    assert page.getvalue() == "  one two three four\n  five six\n\n  kept   as\n    it is\n\n  last\n"


# words ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("a = 1", "a = 2", [(4, 5, 4, 5)]), ("f(a)", "f(a, b)", [(3, 3, 3, 6)]), ("f(a, b)", "f(a)", [(3, 6, 3, 3)]), ("x", "x", []), ("", "", []),
        ("ab cd", "ab ef", [(3, 5, 3, 5)]), ("abc.d", "abc_e.d", [(0, 3, 0, 5)]), ("ab cdefgh", "ab ijklmn", [(3, 9, 3, 9)]), ("ab cdefghijk", "ab lmnopqrst", []),
        ("a b\nc", "a b\nd", [(4, 5, 4, 5)]), ("one two three four five six", "six five four three two one", []),
    ],
)  # fmt: skip
def test_words_that_differ_are_marked_where_enough_is_the_same(old, new, edits):
    assert words.word_edits(old, new) == edits


def test_enough_is_the_same_where_it_is_more_than_a_fifth_of_the_longer_text():
    assert [words._alike("12345", new, same) for new, same in (("1", ["1"]), ("1", ["1", " 2"]), ("1234567890", ["12"]), ("1234567890", ["1", "23"]))] == [False, True, False, True]


def test_edits_of_characters_become_edits_of_words():
    assert words._of_words("ab c", "ax c", [(0, "a"), (-1, "b"), (1, "x"), (0, " c")]) == [(0, 2, 0, 2)]
    assert words._of_words("ab cb", "ab", [(0, "ab"), (-1, " cb")]) == [(2, 5, 2, 2)]
    assert words._of_words("abc x", "ac x", [(0, "a"), (-1, "b"), (0, "c x")]) == [(0, 3, 0, 2)]
    assert words._of_words("ac x", "abc x", [(0, "a"), (1, "b"), (0, "c x")]) == [(0, 2, 0, 3)]
    assert words._of_words("a", "a b", [(0, "a"), (1, " b")]) == [(1, 1, 1, 3)]
    assert words._of_words("ab", "a b", [(0, "a"), (1, " "), (0, "b")]) == [(1, 1, 1, 2)]


# rows -----------------------------------------------------------------------------------------------------------------
def test_answers_are_rows_and_what_is_alike_and_explained_shares_one():
    problem = {"problem": "why", "hint": "do"}
    table = rows.answer_rows([
        answer(places=(3, 5)), answer(places=(3, 5)), answer(State.NOT_FOUND, **problem), answer(State.NOT_FOUND, **problem)._replace(scope="g"),
        answer(State.NOT_FOUND, **problem), answer(State.UPSTREAM)._replace(scope=""), answer(State.UPSTREAM)._replace(scope="h"), answer(State.NOT_NEEDED, hint="only"), answer(State.NOT_NEEDED),
    ])  # fmt: skip
    upstream, unneeded = rows._PLAIN[State.UPSTREAM], rows._PLAIN[State.NOT_NEEDED]
    assert table == [
        Row("applicable", (DDP, "m.py:3,5", "f")), Row("applicable", (DDP, "m.py:3,5", "f")), Row("not found", (DDP, "m.py", "f, g"), ("why", "hint: do")),
        Row("upstream", (DDP, "m.py", "h"), (upstream,)), Row("not needed", (DDP, "m.py", "f"), ("hint: only",)), Row("not needed", (DDP, "m.py", "f"), (unneeded,)),
    ]  # fmt: skip


def test_a_plan_is_json_without_what_is_our_own():
    plan = Plan((changed("m.py", DDP), FilePlan("/site", "n.py", b"a\n", b"a\n", None, ())), (answer(places=(3,), gone=True, layer=2),), ("note",))
    before, after = rows.sha256(b"a\n").hexdigest(), rows.sha256(b"b\n").hexdigest()
    assert rows.plan_json(plan) == {
        "answers": [{"patchset": DDP, "path": "m.py", "scope": "f", "state": "applicable", "places": (3,), "problem": "", "hint": "", "when_present": False}],
        "files": [
            {"site": "/site", "path": "m.py", "changes": True, "before": before, "after": after, "patchsets": [DDP]},
            {"site": "/site", "path": "n.py", "changes": False, "before": before, "after": before, "patchsets": []},
        ],
        "notes": ("note",),
    }  # fmt: skip
    fields = rows.diff_json(diff_texts("/site", "m.py", b"a\n", b"b\n", [DDP]))
    assert fields == {"site": "/site", "path": "m.py", "patchsets": (DDP,), "before": before, "after": after, "added": 1, "removed": 1, "diff": b"--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b\n"}


# places ---------------------------------------------------------------------------------------------------------------
def test_a_place_is_written_as_options_and_its_paths_are_texts():
    assert Place() == (None, None, (), False) and Place().options == ("", "")
    there = Place(Path("my python"), Path("t"), Path("d"), True)
    assert there == ("my python", "t", ("d",), True)
    assert there.options == (" --python 'my python' --target t --system", " --patch-dir d")
    assert Place(patch_dirs=("a", "b c")).options == ("", " --patch-dir a --patch-dir 'b c'")


def test_what_is_shared_is_left_out_unless_all_is_meant(monkeypatch):
    shared = ENV._replace(outer=("/outer",))
    asked = []
    monkeypatch.setattr(place, "discover", lambda *words: asked.append(words) or shared)
    monkeypatch.setattr(place, "image_root", lambda target: target == "/image")
    unpacked = SimpleNamespace(sites=("/image/a", "/image/b"), version=None, root="/image")
    monkeypatch.setattr("patcher.installed.rootfs.image", lambda target: unpacked)
    assert Place("p").environment() == shared
    assert Place("p", system=True).environment() == shared._replace(outer=())
    assert Place(target="/target").environment() == shared
    there = shared._replace(sites=unpacked.sites, search=unpacked.sites, root="/image")
    assert Place(target="/image").environment() == there
    unpacked.version = (3, 8)
    assert Place(target="/image").environment() == there._replace(version=(3, 8))
    assert asked == [("p", None), ("p", None), (None, "/target"), (None, "/image/a"), (None, "/image/a")]


def test_an_outcome_is_good_where_nothing_failed_is_damaged_or_does_not_verify():
    bad, good = (Verified((CheckResult(COMPILE, "a", problem),), 1.0) for problem in ("no", ""))
    outcomes = [outcome_of(), outcome_of(verified=good), outcome_of(verified=bad), outcome_of(answers=[answer(State.CONFLICT)]), outcome_of(damaged=(("a", "b"),)), outcome_of(answers=[answer()])]
    assert [outcome.ok for outcome in outcomes] == [True, True, False, False, False, True]
    file = changed("m.py", DDP)
    assert outcome_of([file, file._replace(change=None)]).changed == [file]
    defaults = outcome_of()[4:]
    assert defaults == ((), False, (), False, False, None, (), (), (), (), (), None)


def test_events_that_nobody_takes_fetch_what_is_to_be_fetched():
    events = Events()
    assert events.fetching({}) is True
    assert [events.started(ENV), events.note(""), events.progress(0, 0, ""), events.unfit(()), events.planned(None), events.reached("")] == [None] * 6


# differences ----------------------------------------------------------------------------------------------------------
def test_diffs_are_bytes_for_a_program_and_lines_below_headings_for_a_reader(capsys, monkeypatch):
    diffs = [diff_texts("/site", "m.py", b"a = 1\n", b"a = 2\n"), diff_texts("/site", "n.py", None, b"b\n")]
    pages = []
    monkeypatch.setattr(Console, "page", lambda where, lines, pager: pages.append((lines, pager)))
    for plain in (True, False):
        monkeypatch.setattr(Console, "plain", plain)
        differences.show_parts(console_of(), [("one", diffs[:1]), ("none", []), ("", diffs[1:])], pager=not plain)
        differences.show_parts(console_of(as_json=True), [("", diffs)])
        differences.show_parts(console_of(), [("one", [])])
    assert capsys.readouterr().out == (diffs[0].text + diffs[1].text).decode()
    ((lines, pager),) = pages
    assert pager and [click.unstyle(line) for line in lines] == [
        "one", "--- a/m.py", "+++ b/m.py", "@@ -1 +1 @@", "-a = 1", "+a = 2", "--- /dev/null", "+++ b/n.py", "@@ -0,0 +1 @@", "+b",
    ]  # fmt: skip
    pages.clear()
    differences.show_diffs(console_of(quiet=True), diffs)
    assert pages == []
    differences.show_diffs(console_of(), diffs[:1])
    assert pages[0][1] is False and click.unstyle(pages[0][0][0]) == "--- a/m.py"


def test_changed_words_are_reversed_and_unchanged_lines_have_the_colours_of_code():
    diff = diff_texts("/site", "m.py", b"def f():\n    return 1\n", b"def f():\n    return 2\n")
    lines = list(differences.highlighted_diff(diff))
    assert lines[:2] == [click.style("--- a/m.py", bold=True), click.style("+++ b/m.py", bold=True)] and lines[2] == click.style("@@ -1,2 +1,2 @@ f", fg="cyan")
    assert lines[3] == f" {click.style('')}{click.style('def ', fg='magenta')}{click.style('f', bold=True)}{click.style('():')}"
    parts = (("-", {}), ("    ", {}), ("return", {"bold": True}), (" ", {}), ("1", {"reverse": True}))
    assert lines[4] == "".join(click.style(text, fg="red", **look) for text, look in parts)


def test_each_kind_of_code_has_its_look_in_lines_that_stay_and_in_those_that_change():
    kept = {kind: differences._look(None, SimpleNamespace(kind=kind, changed=True)) for kind in ("keyword", "string", "number", "comment", "decorator", "defined", "")}
    assert kept == {"keyword": {"fg": "magenta"}, "string": {"fg": "cyan"}, "number": {"fg": "cyan"}, "comment": {"dim": True}, "decorator": {"fg": "yellow"}, "defined": {"bold": True}, "": {}}
    new = {kind: differences._look("green", SimpleNamespace(kind=kind, changed=kind == "comment")) for kind in ("keyword", "defined", "comment", "string")}
    assert new == {"keyword": {"bold": True, "fg": "green"}, "defined": {"bold": True, "fg": "green"}, "comment": {"dim": True, "fg": "green", "reverse": True}, "string": {"fg": "green"}}


def test_a_difference_is_of_what_is_applied_planned_or_edited():
    diff = diff_texts("/site", "m.py", b"a", b"b")
    empty = differences.DiffOutcome(ENV)
    assert (empty.differs, empty.failed) == (False, False)
    assert all(empty._replace(**{name: (diff,)}).differs for name in ("applied", "planned", "edits"))
    assert [empty._replace(answers=(answer(), answer(state))).failed for state in (State.CONFLICT, State.APPLIED)] == [True, False]
    edit = differences.HandEditDiff("/site", "m.py", "a 1", "the backup")
    assert edit.about == "edited by hand, compared with the backup" and edit.diff is None
    assert edit._replace(proven=False).about == "edited by hand, compared with the backup, which nothing proves to be what was installed"
    assert differences.Reason(PATCHSET, {}, True).checked == ""


# reports --------------------------------------------------------------------------------------------------------------
def test_what_was_applied_is_told_for_each_directory_and_what_was_not_with_the_reason(capsys):
    elsewhere = changed("n.py", DDP)._replace(site="/other")
    here = outcome_of([changed("m.py", DDP), changed("o.py", DDP), elsewhere, changed("p.py")], [answer(State.UPSTREAM, name=GUARD)], names=(DDP, GUARD, DYNAMO), hooks=("h",), fresh=True)
    report.show_applied(console_of(), here)
    told = capsys.readouterr()
    assert told.out == (
        f"applied  {DDP}: 2 files in /site\napplied  {DDP}: 1 file in /other\n"
        f"{GUARD}: nothing to do, the file has the code of its `+` lines already: fixed upstream, or `-` and `+` are swapped\n"
        f"{DYNAMO}: nothing to do, it is not needed here: the code that it changes is not there\nrestore with: sitepatch restore {DDP}\n"
    )
    hook_note = "note: the next start of Python undoes this: h asks for another version or other options\n"
    assert told.err == f"note: {report.RUNNING}\n{hook_note}"
    report.show_applied(console_of(), outcome_of(names=()))
    assert capsys.readouterr() == ("", "")
    report.note_running(console_of(verbose=True), outcome_of())
    assert capsys.readouterr().err == f"note: {report.RUNNING}\n"


@pytest.mark.parametrize(
    ("shown", "more", "names", "plain", "in_full"),
    [
        ({}, {}, (DDP,), True, True), ({}, {}, (DDP,), False, False), ({}, {}, (DDP, GUARD), True, False), ({}, {"files": True}, (DDP, GUARD), True, True),
        ({"verbose": True}, {}, (DDP,), False, True), ({}, {"dry_run": True}, (DDP,), False, True), ({"quiet": True}, {"dry_run": True}, (DDP,), True, False), ({}, {}, (), True, True),
    ],
)  # fmt: skip
def test_a_plan_is_shown_in_full_where_it_is_news(capsys, monkeypatch, shown, more, names, plain, in_full):
    monkeypatch.setattr(Console, "plain", plain)
    files = [changed("m.py", DDP)] if more.get("files") else []
    outcome = outcome_of(files, [answer(), answer(State.CONFLICT, name=GUARD)], ["remark"], names, dry_run=more.get("dry_run", False))
    report.show_plan(console_of(**shown), outcome)
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()] == ["applicable"] * in_full + ["conflict"]
    assert told.err == ("" if shown.get("quiet") else f"see: sitepatch check {GUARD} --explain\nnote: remark\n")


def reported(outcome, capsys, **shown):
    calls = []
    code = report.report_outcome(console_of(**shown), outcome, lambda *seen: calls.append(seen), extra=1)
    told = capsys.readouterr()
    return code, len(calls), told.out, told.err


def test_what_became_of_a_plan_is_told_with_its_exit_code(capsys, monkeypatch):
    applied, file = answer(State.APPLIED), changed("m.py", DDP)
    bad = Verified((CheckResult(COMPILE, "a", "no"),), 1.0)
    assert reported(outcome_of([file], [answer(), answer(State.CONFLICT)]), capsys) == (1, 0, "", "stopped: nothing was written: 1 of 2 hunks failed\n")
    assert reported(outcome_of(answers=[applied]), capsys) == (0, 0, f"{DDP}: nothing to do, it is applied already\n", "")
    two = outcome_of(answers=[applied, applied._replace(patchset=GUARD)], names=(DDP, GUARD, DYNAMO))
    idle = f"{DYNAMO}: nothing to do, it is not needed here: the code that it changes is not there\n"
    assert reported(two, capsys) == (0, 0, f"2 patchsets: nothing to do, they are applied already\n{idle}", "")
    assert reported(two, capsys, verbose=True)[2] == f"{DDP}: nothing to do, it is applied already\n{GUARD}: nothing to do, it is applied already\n{idle}"
    code, shown, out, err = reported(outcome_of([file], [answer()], dry_run=True), capsys)
    assert (code, shown, out.splitlines()[:2], err) == (0, 0, ["--- a/m.py", "+++ b/m.py"], "dry run: nothing was written; 1 file would be changed\n")
    assert reported(outcome_of([file], [answer()], written=True), capsys) == (0, 1, "", "")
    assert reported(outcome_of([file], verified=bad), capsys) == (1, 0, "failed  compile a: no\n", "stopped: verification failed: nothing was written, 1 file as before\n")


def test_what_became_of_a_plan_is_json_with_what_a_verb_adds(capsys):
    file = changed("m.py", DDP)
    code, shown, out, err = reported(outcome_of([file], [answer()], written=True, recovered=("r",)), capsys, as_json=True)
    told = json.loads(out)
    assert (code, shown, err, list(told)) == (0, 1, "", ["schema", "command", "ok", "written", "patchsets", "extra", "answers", "files", "notes", "recovered"])
    assert (told["written"], told["extra"], told["recovered"]) == (True, 1, ["r"])
    told = json.loads(reported(outcome_of([file], dry_run=True, verified=Verified((), 0.12345)), capsys, as_json=True)[2])
    assert told["diff"].startswith("--- a/m.py\n") and told["verify"] == {"ok": True, "checks": [], "left_out": [], "seconds": {"compile": 0, "import": 0, "probe": 0, "total": 0.123}, "unseen": []}


def test_what_was_verified_is_a_row_with_what_failed_and_what_was_not_seen():
    checks = (
        CheckResult(COMPILE, "a", seconds=0.25), CheckResult(COMPILE, "b", seconds=0.5), CheckResult(IMPORT, "m", seconds=1.0), CheckResult(PROBE, "p", seconds=2.0),
    )  # fmt: skip
    good = Verified(checks, 4.0, ("x", "y"), "no Python")
    assert report.verified_rows(console_of(), good) == [
        Row("verified", ("2 files compiled in 0.75 s, 1 module imported in 1.00 s, 1 probe passed in 2.00 s",), ("not imported: x, y: no Python",)),
    ]  # fmt: skip
    assert report.verified_rows(console_of(), good._replace(reason=""))[0].details == ()
    assert report.verified_rows(console_of(), good._replace(left_out=()))[0].details == ()
    assert report.verified_rows(console_of(), Verified((), 1.0)) == []
    broken = [CheckResult(IMPORT, name, "no", "last\nline", before=True) for name in "ab"]
    failed = [CheckResult(IMPORT, name, "no", "last\nline") for name in "cd"]
    seen = Verified((*checks[:1], *broken, *failed, CheckResult(IMPORT, "e", "no")), 1.0, unseen=("u",))
    lines = ("last", "line")
    table = [
        Row("broken before", ("import a, b, without the patch too: no",)), Row("failed", ("import c: no",), lines), Row("failed", ("import d: no",), lines), Row("failed", ("import e: no",)),
        Row("unseen", ("u, and so sees the file without the patch", "not verified before writing: nothing can be mounted here")),
    ]  # fmt: skip
    assert report.verified_rows(console_of(), seen) == table
    assert report.verified_rows(console_of(verbose=True), seen) == [table[0]._replace(details=lines), *table[1:]]
    assert report.verified_rows(console_of(quiet=True), seen) == table[1:4]
    assert report.verified_json(seen)["seconds"] == {"compile": 0.25, "import": 0, "probe": 0, "total": 1.0}
    assert report.verified_json(seen)["checks"][1] == {"what": "import", "name": "a", "state": "broken before", "problem": "no", "output": "last\nline"}


# what an environment is for a patchset --------------------------------------------------------------------------------
def fit_to(monkeypatch, answers=(), files=(), items=(), options=None):
    plan = Plan(tuple(files), tuple(answers))
    monkeypatch.setattr(fit, "settled", lambda env, look: look())
    monkeypatch.setattr(fit, "make_plan", lambda env, wanted: asked.append(wanted.requested[0].options) or plan)
    asked = []
    result = fit.fit_of(ENV, items, PATCHSET, Symptom("s", (), "m", options=options or {}))
    return result, asked


def test_a_patchset_fits_or_it_is_said_why_it_does_not(monkeypatch):
    file = changed("m.py", DDP)
    assert fit_to(monkeypatch, [answer()], [file, file._replace(change=None)])[0] == ("applicable", "it fits mmengine 0.10.7 here", ())
    absent = answer(State.NOT_FOUND, problem="why\nmore")._replace(scope="", path="mmengine")
    assert fit_to(monkeypatch, [absent])[0] == ("absent", "why", ())
    assert fit_to(monkeypatch, [answer(State.CONFLICT, problem="why\nmore")])[0] == ("does not fit", f"why; see sitepatch check {DDP} --explain", ())
    assert fit_to(monkeypatch, [answer(State.UPSTREAM)])[0] == ("upstream", "what it does is in the installed release already", ())
    assert fit_to(monkeypatch, [answer(State.APPLIED)])[0] == ("applied", "it is applied here", ())
    assert fit_to(monkeypatch, [answer(State.NOT_NEEDED)])[0] == ("not needed", "the code that it changes is not in the installed release", ())


def test_what_is_applied_fits_with_other_options_alone(monkeypatch):
    def item(live, options):
        return SimpleNamespace(live=live, receipt=receipt("m.py", step("other", options={"params": 9}), step(DDP, options=options)))

    said = "it is applied here: if the log is of a run since then, the cause is another one"
    assert fit_to(monkeypatch, items=[item(True, {"params": 5})], options={"params": 5}) == (("applied", said, ()), [])
    result, asked = fit_to(monkeypatch, [answer(State.APPLIED)], items=[item(True, {"params": 5})], options={"params": 7})
    assert result == ("applicable", "it is applied here with other options than params=7", ("params=7",)) and asked[0]["params"] == 7
    result, asked = fit_to(monkeypatch, [answer()], [changed("m.py")], [item(False, {"params": 5})], {"params": 7})
    assert result == ("applicable", "it fits mmengine 0.10.7 here", ("params=7",))
    result, asked = fit_to(monkeypatch, [answer()])
    assert asked[0] == {option.name: option.default for option in PATCHSET.options}


# fleets ---------------------------------------------------------------------------------------------------------------
STANDING = {"name": "a", "version": "1", "state": "applied", "digest": "d", "advice": "", "problems": [], "releases": ["r 1"], "options": {"n": 1}}


def host_of(pinned=None, interrupted=(), damaged=(), **fields):
    patchsets = [{**STANDING, **fields}] if fields else []
    told = {"patchsets": patchsets, "files": [], "interrupted": [{"problem": text} for text in interrupted], "damaged": [{"problem": text, "hint": "h"} for text in damaged]}
    return fleet._of_answer("n", told, pinned)


def test_a_host_is_the_worst_of_what_it_has():
    assert host_of() == ("n", "nothing", (), (), (), ()) and host_of().ok
    applied = host_of(state="applied")
    assert applied[1:4] == ("applied", (("a", "1", "applied", {"n": 1}),), ("r 1",)) and applied.problems == () and applied.ok
    assert host_of(state="outdated", problems=["p"], advice="do")[1:] == ("outdated", (("a", "1", "outdated", {"n": 1}),), ("r 1",), ("a: p; do",), ())
    assert host_of(state="outdated").problems == ("a: outdated",) and not host_of(state="outdated").ok
    assert host_of(damaged=["p"])[1:] == ("damaged", (), (), ("p; h",), ())
    assert host_of(interrupted=["i"], damaged=["p"], state="edited")[1] == "interrupted"
    different = host_of(pinned=lockfile.Lock((), ()), state="applied")
    assert (different.state, different.differences) == ("differs", ("a is applied, and not in the lock",)) and not different.ok
    assert host_of(pinned=lockfile.Lock((), ())).state == "nothing"


def test_files_of_hosts_are_read_one_by_one(tmp_path):
    with pytest.raises(UsageError, match=f"^{tmp_path}: found no files HOST.json$"):
        fleet.fleet(tmp_path)
    good = {"patchsets": [], "files": [], "interrupted": [], "damaged": []}
    file = {"package": "p", "distribution": "d", "installed": "1", "more": 1}
    texts = {"a": {"answer": {**good, "files": [file], "more": 1}}, "b": {**good, "reported": "2"}, "c": {"error": {"message": "m", "hint": "h", "more": 1}, "more": 1}, "d": {"error": {"message": "m", "hint": ""}, "reported": "1"}}
    for name, told in texts.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    (tmp_path / "e.json").write_text("no")
    assert [(host.host, host.state, host.problems) for host in fleet.fleet(tmp_path)] == [
        ("a", "nothing", ()), ("b", "nothing", ()), ("c", "unknown", ("m", "h")), ("d", "unknown", ("m",)), ("e", "unknown", (f"{tmp_path}/e.json is no answer of sitepatch status --json",)),
    ]  # fmt: skip
    (tmp_path / "play").write_text(json.dumps({"begun": "2", "hosts": ["a", "b", "d", "z"]}))
    hosts = fleet.fleet(tmp_path)
    assert [(host.host, host.state) for host in hosts if host.problems == (fleet._NOT_REACHED,)] == [("a", "unknown"), ("d", "unknown"), ("z", "unknown")]
    (tmp_path / "play").write_text("no")
    with pytest.raises(SitepatchError, match=f"^{tmp_path}/play: is no JSON"):
        fleet.fleet(tmp_path)


def test_hosts_that_are_alike_are_one_row_with_a_few_names(monkeypatch, capsys):
    hosts = [fleet.Host(f"n{number}", "applied", (fleet.HostPatchset("a", "1", "applied", {"n": 1}),), ("r 1",)) for number in range(5)]
    for number, state, line in ((5, "applied", "n0, n1, n2, 2 more"), (4, "applied", "n0, n1, n2, n3"), (1, "outdated", "n0")):
        monkeypatch.setattr(fleet, "fleet", lambda folder, pinned, number=number, state=state: [host._replace(state=state) for host in hosts[:number]])
        assert fleet.show_fleet(console_of(), "f", None) == (0 if state == "applied" else 1)
        assert capsys.readouterr().out == f"{state}  {number} host{'s' * (number > 1)}: {line}  a 1 n=1  r 1\n"
    monkeypatch.setattr(fleet, "fleet", lambda folder, pinned: [*hosts, fleet.Host("x", "differs", problems=("p",), differences=("d",))])
    assert fleet.show_fleet(console_of(verbose=True), "f", None) == 1
    assert capsys.readouterr().out == "applied  5 hosts: n0, n1, n2, n3, n4  a 1 n=1  r 1\ndiffers  1 host: x\n         p\n         d\n"
    plain = fleet.HostPatchset("a", "1", "applied", {})
    monkeypatch.setattr(fleet, "fleet", lambda folder, pinned: [fleet.Host("x", "applied", (plain, plain._replace(name="b")))])
    assert fleet.show_fleet(console_of(), "f", None) == 0 and capsys.readouterr().out == "applied  1 host: x  a 1, b 1\n"
    monkeypatch.setattr(fleet, "fleet", lambda folder, pinned: [*hosts, fleet.Host("x", "differs", problems=("p",), differences=("d",))])
    fleet.show_fleet(console_of(as_json=True), "f", None)
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False and told["hosts"][5] == {"host": "x", "state": "differs", "patchsets": [], "releases": [], "problems": ["p"], "differences": ["d"]}


# show -----------------------------------------------------------------------------------------------------------------
def test_neighbours_with_one_answer_are_one_row_of_releases():
    table = "head\napplicable   mmengine  0.1\napplicable   mmengine  0.2 (yanked)\nnot needed   mmengine  0.3  why\napplicable   mmengine  0.4\napplicable   other  0.4\nnothing\n  two  words three four\n"
    assert show.proven(table) == [("mmengine", "0.1", "0.2", 2, "applicable"), ("mmengine", "0.3", "0.3", 1, "not needed"), ("mmengine", "0.4", "0.4", 1, "applicable"), ("other", "0.4", "0.4", 1, "applicable")]
    assert show.proven("applicable  mmengine  0.1") == []


def test_releases_are_written_from_the_first_to_the_last():
    assert show._proven_text(show.Proven("mmengine", "0.1", "0.1", 1, "applicable")) == "mmengine 0.1: applicable"
    assert show._proven_text(show.Proven("mmengine", "0.1", "0.4", 3, "applicable")) == "mmengine 0.1 to 0.4 (3 releases): applicable"


def test_a_description_has_each_part_that_has_something():
    variant = PATCHSET.variants[0]._replace(package="pkg", versions=">=1", patches=(SimpleNamespace(paths=("a.py", "b.py")),))
    option = PATCHSET.options[0]._replace(name="n", type="int", default=1, help="how many", choices=(1, 2))
    full = PATCHSET._replace(
        name="p", version="1.0", kind="fix", summary="A summary", prose="\nWhy.\n", provenance={"origin": "there"}, options=(option, option._replace(choices=())), variants=(variant,), source="here",
        symptoms=(Symptom("s", ("x*",), "It means."),), files={"p.spatch": "text\n--- a.py\n+++ b\n-x\n+y\n", "other.txt": "no"},
    )  # fmt: skip
    tried = [show.Proven("pkg", number, number, 1, state) for number, state in (("1", "applicable"), ("2", "upstream"), ("3", "not needed"), ("4", "out of range"), ("5", "conflict"))]
    styled = show._description(full, tried, ("apply", "restore"))
    assert [styled[0], styled[5], styled[-3]] == [f"{click.style('p 1.0', bold=True)}  fix, here", *(click.style(title, bold=True) for title in ("provenance", "to apply it, and to undo it"))]
    assert click.style("p.spatch", bold=True) in styled and click.style("-x", fg="red") in styled
    page = [click.unstyle(line) for line in styled]
    assert page == [
        "p 1.0  fix, here", "A summary", "", "Why.", "", "provenance", "  " + show._field(show.FIELDS["origin"], "there"), "", "cures", "  s: It means.", "    x*",
        "", "options", "  p.n=1  how many (int, one of 1, 2)", "  p.n=1  how many (int)", "", "for", "  " + show.release_range(variant), "    a.py or b.py",
        "", "proven for", "  pkg 1: applicable", "", "changes nothing in", "  pkg 2: upstream", "  pkg 3: not needed", "  pkg 4: out of range", "", "does not fit", "  pkg 5: conflict",
        "", "p.spatch", "--- a.py", "+++ b", "-x", "+y", "", "to apply it, and to undo it", "  apply", "  restore",
    ]  # fmt: skip
    bare = full._replace(prose="", provenance={}, options=(), symptoms=(), files={})
    page = [click.unstyle(line) for line in show._description(bare, (), ())]
    assert page == ["p 1.0  fix, here", "A summary", "", "It has no options.", "", "for", "  " + show.release_range(variant), "    a.py or b.py"]
    told = show._description_json(full, tried[:1])
    assert (told["options"][0]["choices"], told["variants"], told["proven"]) == ([1, 2], [{"package": "pkg", "versions": ">=1", "files": [["a.py", "b.py"]]}], [{"distribution": "pkg", "first": "1", "last": "1", "releases": 1, "state": "applicable"}])  # fmt: skip
    assert (told["prose"], told["provenance"], told["files"]) == ("\nWhy.\n", {"origin": "there"}, full.files)


def test_what_is_shown_is_found_with_the_releases_of_its_own_folder(tmp_path):
    outcome = show.show(DDP)
    assert outcome.patchset.name == DDP and outcome.notes == ()
    assert outcome.tried and {row.distribution for row in outcome.tried} == {"mmengine", "mmengine-lite"}
    assert show.compatibility_table(PATCHSET._replace(files={"a": "b"}), ()) == ""
    assert show.compatibility_table(PATCHSET._replace(name="gone"), ()) == ""
    told = CliRunner().invoke(main.commands, ["show", DDP])
    assert told.exit_code == 0 and f"  sitepatch apply {DDP}\n  sitepatch restore {DDP}\n" in told.output


# restore --------------------------------------------------------------------------------------------------------------
def test_each_file_that_is_restored_is_told_what_it_is_now(tmp_path):
    (tmp_path / "there.py").touch()
    gone, there = (FilePlan(str(tmp_path), name, b"a", b"b", Change(name, "0", None, None), ()) for name in ("gone.py", "there.py"))
    edited = there._replace(change=there.change._replace(data=b"b"))
    forgotten = there._replace(change=there.change._replace(forget=True))
    shared = there._replace(steps=(step("a"), step("b")))
    merged = shared._replace(change=shared.change._replace(merged=True))
    assert [restore._restored_row(file)[:2] for file in (gone, there, edited, forgotten, shared, merged, shared._replace(change=None))] == [
        ("restored", ("gone.py", "removed: a patchset had added it")), ("restored", ("there.py", "bytes, mode and mtime as before")),
        ("restored", ("there.py", "our change is out, what was edited by hand stays")), ("forgotten", ("there.py", "our change is gone already; the file was left alone")),
        ("restored", ("there.py", "but for a, b, still applied")), ("restored", ("there.py", "but for a, b, still applied, and what was edited by hand")),
        ("restored", ("there.py", "but for a, b, still applied")),
    ]  # fmt: skip


def test_a_plan_to_restore_says_what_there_is_nothing_of(capsys):
    nothing = outcome_of(names=(), notes=["remark"])
    restore._show_restore_plan(console_of(), nothing)
    assert capsys.readouterr() == ("nothing is applied in /site: nothing to restore\n", "note: remark\n")
    for more, out in (({"names": (DDP,)}, ""), ({"names": (), "idle": (DDP,)}, f"{DDP} is not applied here: nothing to restore\n"), ({"names": (), "damaged": (("p", "h"),)}, "damaged\n         p\n         hint: h\n")):
        restore._show_restore_plan(console_of(), outcome_of(**more))
        assert capsys.readouterr().out == out
    restore._show_restore_plan(console_of(), outcome_of(answers=[answer(State.CONFLICT)]))
    assert capsys.readouterr().out == f"conflict  {DDP}  m.py  f\n"
    restore._show_backup_plan(console_of(), nothing)
    told = capsys.readouterr()
    assert told.out == "no file in /site has a backup (FILE.orig, FILE.bak) with the sha256 that RECORD gives: nothing to restore\n"
    assert told.err == "hint: to get a release anew: pip install --force-reinstall --no-deps NAME==VERSION\nnote: remark\n"
    restore._show_backup_plan(console_of(), outcome_of([changed("m.py")], notes=["remark"]))
    assert capsys.readouterr() == ("", "note: remark\n")


def test_what_was_restored_names_the_hooks_and_with_more_the_running_processes(capsys):
    file = changed("m.py")
    forgotten = file._replace(change=file.change._replace(forget=True, data=None))
    hook_note = "note: the next start of Python applies them again, as h asks for: uninstall h first\n"
    for shown, files, err in (({}, [file], hook_note), ({"verbose": True}, [file, forgotten], f"note: {report.RUNNING}\n{hook_note}"), ({"verbose": True}, [forgotten], hook_note)):
        restore._show_restored(console_of(**shown), outcome_of(files, hooks=("h",)))
        assert capsys.readouterr().err == err
        restore._show_put_back(console_of(**shown), outcome_of(files))
        told = capsys.readouterr()
        assert told.err == (f"note: {report.RUNNING}\n" if shown else "")
        assert told.out == "restored  m.py  what was installed, with the mtime of the backup\n" * len(files)


def test_backups_are_meant_by_a_path_in_the_site_or_as_it_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    backups = [SimpleNamespace(site=str(tmp_path / "site"), path=path) for path in ("pkg/a.py", "pkg/b.py", "other.py")]
    paths = lambda *typed: [backup.path for backup in restore._meant(backups, typed)]  # noqa: E731
    assert paths() == ["pkg/a.py", "pkg/b.py", "other.py"]
    assert paths("pkg") == ["pkg/a.py", "pkg/b.py"] and paths("other.py", "pkg/a.py") == ["pkg/a.py", "other.py"]
    assert paths("site/pkg/b.py") == ["pkg/b.py"] and paths(str(tmp_path / "site/other.py")) == ["other.py"] and paths("site") == paths()
    with pytest.raises(SitepatchError) as error:
        paths("pkg", "gone", "a.py")
    problem = "found no backup beside an edited file of it that RECORD proves"
    assert error.value.message == f"gone: {problem}\na.py: {problem}" and error.value.hint.startswith("what patchsets changed is restored without")


def test_a_file_that_is_put_back_has_the_mtime_of_its_backup_and_its_edit_is_kept():
    backup = SimpleNamespace(site="/site", path="m.py", edited=b"edited", data=b"data", mtime_ns=7)
    old = restore.sha256(b"edited").hexdigest()
    assert restore._file_plan(backup) == FilePlan("/site", "m.py", b"edited", b"data", Change("m.py", old, b"data", None, aside=b"edited", mtime_ns=7), ())


def test_options_of_restore_that_make_no_sense_together_are_refused():
    told = CliRunner().invoke(main.commands, ["restore", "--force", "--from-backup"], standalone_mode=False)
    assert (told.return_value, told.output) == (2, "error: --force and --from-backup: found both\nhint: the edited text is kept in the store in any case\n")
    for typed, problem in ((["--set", "a=1"], "--set and --restore: found both\nhint: options matter for applying alone"), (["--verify", "probe"], "--verify probe and --restore: found both\nhint: a probe is part of verifying")):
        told = CliRunner().invoke(main.commands, ["apply", DDP, "--restore", *typed], standalone_mode=False)
        assert (told.return_value, told.output) == (2, f"error: {problem}\n")


# sync -----------------------------------------------------------------------------------------------------------------
def status_of(path, *steps, live=True, deleted=False):
    return SimpleNamespace(site="/site", receipt=receipt(path, *steps), live=live, deleted=deleted)


def test_what_a_plan_does_with_each_patchset_is_counted_by_directory():
    old, new, same = step("a", digest="1"), step("a", digest="2"), step("b")

    def effects(before, after, path="m.py"):
        file = FilePlan("/site", path, b"a", b"b", Change(path, "0", b"b", None), after)
        return sync._effects(before, Plan((file, file._replace(path="n.py", change=None)), ()))

    assert effects([], (new, same)) == (("applied", "a", "/site", 1), ("applied", "b", "/site", 1))
    assert effects([status_of("m.py", old, same)], (new, same)) == (("updated", "a", "/site", 1),)
    assert effects([status_of("m.py", old, same, live=False)], (new, same)) == (("applied", "a", "/site", 1), ("applied", "b", "/site", 1))
    assert effects([status_of("m.py", old, same)], (same,)) == (("restored", "a", "/site", 1),)
    assert effects([status_of("m.py", old, live=False)], ()) == (("forgotten", "a", "/site", 1),)
    assert effects([status_of("m.py", old, live=False, deleted=True)], ()) == (("restored", "a", "/site", 1),)
    files = tuple(FilePlan("/site", path, b"a", b"b", Change(path, "0", b"b", None), (new,)) for path in ("m.py", "n.py", "o.py"))
    assert sync._effects([status_of("o.py", old)], Plan(files, ())) == (("applied", "a", "/site", 2), ("updated", "a", "/site", 1))


def test_what_sync_did_is_told_with_the_reason(capsys):
    effects = (Effect("applied", DDP, "/site", 2), Effect("restored", DDP, "/site", 1), Effect("restored", GUARD, "/site", 1), Effect("updated", DDP, "/site", 1))
    sync._show_synced(console_of(), outcome_of(effects=effects, requested=(Requested(PATCHSET, {}),), fresh=True))
    told = capsys.readouterr()
    assert told.err == f"note: {report.RUNNING}\n"
    assert told.out == (
        f"applied   {DDP}: 2 files in /site\nrestored  {DDP}: 1 file in /site, which it does not change any more\n"
        f"restored  {GUARD}: 1 file in /site, not asked for\nupdated   {DDP}: 1 file in /site\n"
    )


def test_sync_says_where_nothing_is_asked_for_and_nothing_is_applied(capsys):
    said = "nothing is asked for, and nothing is applied in /site: nothing to do\n"
    for outcome, out in ((outcome_of(), said), (outcome_of(requested=(Requested(PATCHSET, {}),)), ""), (outcome_of([changed("m.py")]), "")):
        sync._show_sync_plan(console_of(), outcome)
        assert capsys.readouterr().out == out
    sync._show_sync_plan(console_of(), outcome_of(answers=[answer(State.CONFLICT)]))
    assert capsys.readouterr() == (f"conflict  {DDP}  m.py  f\n", f"see: sitepatch check {DDP} --explain\n")


def test_a_hook_that_would_undo_what_is_asked_for_is_refused(monkeypatch):
    asked = Requested(PATCHSET, {"params": 1})
    installed = SimpleNamespace(name="h", site="/site", requested=[])
    damaged = {"/site/_my_hook": StoreError("bad\nworse", "do")}
    monkeypatch.setattr(sync, "loaded_hooks", lambda env: ([installed], damaged))
    head = f"{DDP}: h keeps it applied in /site"
    for kept, requested, problem in (
        (asked, [], f"{head}, and the project does not ask for it"), (asked._replace(patchset=PATCHSET._replace(digest="0")), [asked], f"{head} in another version than the project asks for"),
        (asked._replace(options={"params": 2}), [asked], f"{head} with params=2, and the project asks for params=1"),
    ):  # fmt: skip
        installed.requested = [kept]
        with pytest.raises(SitepatchError) as error:
            sync._refuse_what_a_hook_undoes(ENV, requested)
        assert error.value.message == problem
        assert error.value.hint == "nothing was changed: the next start of Python would undo it\nmake the hook ask for the same (sitepatch hook init DIR) and install it again, or uninstall it"
    installed.requested = [asked]
    assert sync._refuse_what_a_hook_undoes(ENV, [asked]) == ["the hook my-hook is damaged and does nothing: bad (and 1 more); do"]


def test_a_lock_that_sync_is_not_told_to_hold_is_refused():
    told = CliRunner().invoke(main.commands, ["sync", "--lock", "l"], standalone_mode=False)
    assert (told.return_value, told.output) == (2, "error: --lock: found no --locked, without which no lock is looked at\n")


# check ----------------------------------------------------------------------------------------------------------------
def finding(level, line=3, hint="do"):
    return LintFinding(level, "p.spatch", line, "rule", "text", hint)


def case_of(problem="", diff=b""):
    return CaseResult(Case(Path("/folder/cases/a.before.py"), "applicable", (), b""), "m.py", problem, diff)


def checked_of(**more):
    return check.CheckOutcome((Requested(PATCHSET, {}),), {DDP: Path("/folder")}, more.pop("findings", {}), more.pop("cases", {}), **more)


def test_a_check_is_good_where_nothing_is_wrong():
    bad = SimpleNamespace(outcomes=(SimpleNamespace(failed=True),))
    findings = {DDP: tuple(map(finding, ("error", "advice", "note")))}
    assert checked_of().ok and checked_of(cases={DDP: (case_of(),)}, answers=(answer(),)).ok
    assert not any(outcome.ok for outcome in (checked_of(answers=(answer(State.CONFLICT),)), checked_of(releases=(bad,)), checked_of(broken={"x": SitepatchError("no")}), checked_of(cases={DDP: (case_of("no"),)})))
    assert [[fault.level for fault in checked_of(findings=findings, strict=strict).faults] for strict in (False, True)] == [["error"], ["error", "advice"]]
    advice = {DDP: (finding("advice"),)}
    assert checked_of(findings=advice).ok and not checked_of(findings=advice, strict=True).ok


def test_what_a_check_found_is_shown_as_rows(capsys):
    findings = {DDP: (finding("error"), finding("advice", 0, ""), finding("note"))}
    cases = {DDP: (case_of(), case_of("wrong", b"-a\n+b"))}
    outcome = checked_of(findings=findings, cases=cases, answers=(answer(), answer(State.CONFLICT)), absent=(answer(State.NOT_FOUND, problem="absent"),))
    check._show(console_of(), outcome)
    told = capsys.readouterr()
    indent = " " * 8
    assert told.out.startswith(f"error   {DDP}  p.spatch:3  rule\n{indent}text\n{indent}hint: do\nadvice  {DDP}  p.spatch    rule\n{indent}text\nnote    {DDP}  p.spatch:3  rule\n")
    assert f"failed  {DDP}  a  m.py\n{indent}wrong\n{indent}-a\n{indent}+b\n" in told.out and told.err == "note: 1 case as expected\n"
    assert told.out.endswith(f"applicable  {DDP}  m.py  f\nconflict    {DDP}  m.py  f\nabsent  {DDP}  m.py\n{indent}absent\n")
    check._show(console_of(quiet=True), outcome)
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines() if line[0] != " "] == ["error", "failed", "conflict"] and told.err == ""
    check._show(console_of(), checked_of(answers=(answer(),)))
    assert capsys.readouterr() == (f"applicable  {DDP}  m.py  f\n", "")


def test_releases_and_explained_hunks_are_shown_in_place_of_answers(monkeypatch, capsys):
    from patcher.verbs import explanations
    from patcher.verbs.releases import table

    shown = []
    monkeypatch.setattr(table, "show_releases", lambda where, releases: shown.append(releases))
    monkeypatch.setattr(explanations, "explanation_row", lambda hunk, most: Row(hunk.answer.state.value, (str(most),)))
    hunks = tuple(SimpleNamespace(answer=answer(state)) for state in (State.APPLICABLE, State.CONFLICT))
    check._show(console_of(), checked_of(answers=(answer(),), hunks=hunks, releases=("r",), against=True))
    assert shown == [("r",)] and capsys.readouterr() == ("", "")
    for more, out in (({}, "applicable  20\nconflict    20\n"), ({"verbose": True}, "applicable  10000\nconflict    10000\n"), ({"quiet": True}, "conflict  20\n")):
        check._show(console_of(**more), checked_of(answers=(answer(),), hunks=hunks))
        assert capsys.readouterr().out == out
    check._show(console_of(), checked_of(broken={"x": SitepatchError("no")}))
    assert "x" in capsys.readouterr().out and shown == [("r",)]


def test_what_a_check_found_is_annotated_for_github(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", "/folder")
    findings = {DDP: (finding("error"), finding("advice", 0, ""), finding("note"))}
    outcome = checked_of(findings=findings, cases={DDP: (case_of(), case_of("wrong"))}, broken={"x": SitepatchError("no", location=Location("/folder/x.toml", 2))})
    check._show_annotations(console_of(), outcome)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        f"::error file=p.spatch,line=3,title={DDP}%3A rule::text%0Ado", f"::warning file=p.spatch,title={DDP}%3A rule::text", f"::notice file=p.spatch,line=3,title={DDP}%3A rule::text%0Ado",
        f"::error file=cases/a.before.py,title={DDP}%3A a::wrong",
    ]  # fmt: skip
    assert lines[-1] == "::error file=x.toml,line=2,title=x is broken::no"
    releases = (SimpleNamespace(outcomes=(SimpleNamespace(failed=True, hint="a"), SimpleNamespace(failed=False, hint="b"))),)
    monkeypatch.setattr("patcher.verbs.releases.table.github", lambda answers, releases, manifests: [str(manifests)])
    check._show_annotations(console_of(), checked_of(releases=releases))
    assert capsys.readouterr() == (f"{{'{DDP}': '/folder/patchset.toml'}}\n", "hint: a\n")


def test_what_a_check_found_is_json(monkeypatch):
    outcome = checked_of(findings={DDP: (finding("error"),)}, cases={DDP: (case_of("wrong", b"d"), case_of())}, answers=(answer(),), absent=(answer(),), notes=("n",))
    told = check._json(outcome)
    row = rows.answer_json(answer())
    assert told == {
        "patchsets": [DDP], "findings": [{"patchset": DDP, "level": "error", "file": "p.spatch", "line": 3, "rule": "rule", "text": "text", "hint": "do"}],
        "cases": [{"patchset": DDP, "case": "a", "path": "m.py", "ok": not problem, "problem": problem, "diff": diff} for problem, diff in (("wrong", b"d"), ("", b""))],
        "answers": [row], "absent": [row], "hunks": [], "releases": [], "notes": ("n",), "broken": check.broken_json({}),
    }  # fmt: skip


def test_what_is_about_to_be_fetched_is_asked_for_at_a_terminal_alone(monkeypatch, capsys):
    answers = iter([True, False])
    monkeypatch.setattr(Console, "confirm", lambda where, question: next(answers))
    for stdin, stderr, is_asked in ((False, True, False), (True, False, False), (True, True, True)):
        monkeypatch.setattr(sys, "stdin", stream_of(terminal=stdin))
        monkeypatch.setattr(sys, "stderr", stream_of(terminal=stderr))
        assert check._confirm_fetching(console_of(), {"b": 1, "a": 2}) is True
        if is_asked:
            assert check._confirm_fetching(console_of(), {"b": 1, "a": 2}) is False
        assert "a (2 releases), b (1 release); up to 12 MB, or whole wheels of unknown size" in sys.stderr.getvalue()


def test_an_environment_is_checked_for_all_together_or_for_each(monkeypatch):
    plans = {1: Plan((), (answer(),), ("a",)), 2: Plan((), (answer(State.NOT_FOUND, name=GUARD)._replace(path="torch", scope=""),), ("a", "b"))}
    sizes, steps = [], []
    monkeypatch.setattr(check, "settled", lambda env, look: look())
    monkeypatch.setattr(check, "make_plan", lambda env, wanted: sizes.append(len(wanted.requested)) or plans[len(sizes)])
    events = Events()
    events.progress = lambda *step: steps.append(step)
    outcome = checked_of(notes=("first",))._replace(requested=(Requested(PATCHSET, {}),) * 2)
    apart = check._check_here(outcome, ENV, events, together=False)
    assert (sizes, steps) == ([1, 1], [(1, 2, "patchsets checked"), (2, 2, "patchsets checked")])
    assert (apart.answers, apart.absent, apart.notes) == (plans[1].answers, plans[2].answers, ("first", "a", "b"))
    sizes.clear()
    plans[1] = plans[2]
    together = check._check_here(outcome, ENV, events, together=True)
    assert (sizes, together.answers, together.absent) == ([2], plans[2].answers, ()) and steps[2:] == [(1, 1, "patchsets checked")]


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"names": (), "explain": True}, "--explain: found 0 patchsets, expected one patchset, which is explained for this environment"),
        ({"names": (DDP, GUARD), "explain": True}, "--explain: found 2 patchsets, expected one patchset, which is explained for this environment"),
        ({"names": DDP, "explain": True, "against": "0.1"}, "--explain: found --against, expected one patchset, which is explained for this environment"),
    ],
)
def test_one_patchset_alone_is_explained(typed, problem):
    with pytest.raises(UsageError) as error:
        check.check(**typed)
    assert error.value.message == problem


def test_options_of_check_that_make_no_sense_together_are_refused():
    for typed, problem in ((["--html", "f"], "error: --html: found no --against, whose releases the page shows\nhint: sitepatch diff --html shows this one\n"),):
        told = CliRunner().invoke(main.commands, ["check", *typed], standalone_mode=False)
        assert (told.return_value, told.output) == (2, problem)
    told = CliRunner().invoke(main.commands, ["check", "--json", "--format", "github"], standalone_mode=False)
    assert (told.return_value, json.loads(told.stdout)["error"]["message"]) == (2, "--format github and --json: found both, expected one")


def test_an_error_of_a_check_is_annotated_and_releases_are_asked_for_where_no_patchset_is_named(monkeypatch):
    seen = []

    def failing(names, settings, **more):
        seen.append(more["events"].on_fetching is check._confirm_fetching)
        raise UsageError("no")

    monkeypatch.setattr(check, "check", failing)
    for typed, out in (([], "error: no\n"), ([DDP, "--format", "github"], "::error title=sitepatch check::no\nerror: no\n")):
        told = CliRunner().invoke(main.commands, ["check", *typed], standalone_mode=False)
        assert (told.return_value, told.output) == (2, out)
    assert seen == [True, False]


