"""Where all output goes: answers to stdout, notes and errors to stderr.

In colour, through the pager, or as JSON.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

import click

from patcher.display.answer import to_json
from patcher.display.progress import ProgressBar
from patcher.display.rows import answer_rows
from patcher.display.styles import Row, labelled, table_lines, translated, translated_lines
from patcher.errors import (
    BusyError,
    NotExecutableError,
    NotFoundCommandError,
    PatchError,
    SitepatchError,
    UsageError,
)
from patcher.message import Message
from patcher.model import State
from patcher.patchset.toml import options_text
from patcher.place import Events, Place
from patcher.system.output import write_output
from patcher.text.terminal import printable, printable_lines, terminal_width

if TYPE_CHECKING:
    from patcher.installed.interpreter import Environment
    from patcher.model import Answer, Requested
    from patcher.outcomes import PlanOutcome


def _show_nothing(console: Console, outcome: PlanOutcome) -> None:
    """Show no plan."""


def _fetch_all(console: Console, releases: Mapping[str, int]) -> bool:
    """Fetch releases without a word."""
    return True


class Console(Events):
    """Writes answers to stdout and everything else to stderr, as the options of a command say.

    All text is made `printable`, also where it is piped, but for the bytes of a diff that is piped.
    It also takes what verbs report while they run.

    Attributes:
        name: the name of the command.
        place: the environment that the options mean.
        as_json: whether the answer is in JSON.
        kept_notes: where it is a list, a JSON answer is one line on stderr with the notes in it:
            stdout is another program's.
        quiet: whether to write only what is wrong.
        verbose: whether to write more.
        outcome: the message of a Ctrl-C from now on in a run that has written already, "" where it
            has not.
        on_plan: shows a plan once it is made.
        on_fetching: says what is about to be fetched; returns whether to fetch it.
    """

    def __init__(self, name: str, as_json: bool, quiet: bool, verbose: bool) -> None:
        self.name = name
        self.place = Place()
        self.as_json = as_json
        self.kept_notes: list[str] | None = None
        self.quiet = quiet
        self.verbose = verbose
        self.outcome = ""
        self.on_plan: Callable[[Console, PlanOutcome], None] = _show_nothing
        self.on_fetching: Callable[[Console, Mapping[str, int]], bool] = _fetch_all
        self._progress: ProgressBar | None = None

    def color(self, stream: Any) -> bool:
        """Whether colours go to a stream.

        Never with NO_COLOR, else always with FORCE_COLOR, else on a terminal that has them.
        Source: no-color.org and force-color.org, in the order of Python's own tracebacks.
        """
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return os.environ.get("TERM") != "dumb" and bool(stream.isatty())

    def out(self, *parts: str) -> None:
        """Write a line of the answer, or several."""
        if not self.as_json:
            text = "".join(printable_lines(translated(part)) for part in parts)
            click.echo(text, color=self.color(sys.stdout))

    def info(self, template: str, /, **fields: Any) -> None:
        """Write a line about what is being done, of a template and its fields; not if quiet."""
        if not self.quiet:
            self.out(Message.of(template, fields))

    def about(self, env: Environment) -> None:
        """Write which environment is meant, with --verbose.

        And which shared directories have patches that are left alone.
        """
        venv = self.place.overlooked_venv()
        if venv:
            text = (
                "this is the environment that sitepatch runs in, {python}; "
                "the one of this directory is named with --python {beside}"
            )
            self.note(Message(text, python=env.python, beside=venv))
        template = "what is patched in {site}, shared with others, is left alone without --system"
        for site in env.outer:
            if Path(site, ".sitepatch").is_dir():
                self.note(Message(template, site=site))
        if self.verbose:
            sites = ", ".join(env.sites)
            self.note(Message("{name}: {sites}", name=env.name, sites=sites), "environment")

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """Write which environment is meant, and with --verbose the patchsets with their options."""
        self.about(env)
        for item in requested if self.verbose else ():
            patchset, options = item.patchset, options_text(item.options)
            self.info(f"{patchset.name} {patchset.version} {options}".rstrip())

    def planned(self, outcome: PlanOutcome) -> None:
        """Show the plan."""
        self.on_plan(self, outcome)

    def unfit(self, answers: Sequence[Answer]) -> None:
        """Show them, as those of a plan."""
        self.rows(answer_rows(answers))

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Say what is about to be fetched; returns whether to fetch it."""
        return self.on_fetching(self, releases)

    def reached(self, state: str) -> None:
        """Keep the message of a Ctrl-C."""
        self.outcome = state

    def note(self, text: str, word: str = "note", **fields: Any) -> None:
        """Write a note to stderr, of a template and its fields; not if quiet.

        Args:
            text: the template.
            word: its label.
            fields: its fields.
        """
        text = Message.of(text, fields)
        if self.kept_notes is not None:
            self.kept_notes.append(f"{word}: {text}")
        elif not self.quiet:
            self.end_progress()
            line = labelled(word, text, fg="yellow")
            click.echo(line, err=True, color=self.color(sys.stderr))

    def notes(self, texts: Iterable[str], word: str = "note") -> None:
        """Write several notes with one label."""
        for text in texts:
            self.note(text, word)

    def hints(self, texts: Iterable[str]) -> None:
        """Write what can be done, each line once."""
        lines: dict[str, None] = {}
        for hint in texts:
            lines.update(dict.fromkeys(translated_lines(hint)))
        self.notes(lines, "hint")

    def progress(self, done: int, total: int, work: str) -> None:
        """Show on stderr how much is done, of how much (0: nobody knows).

        Not if quiet, and not with --json.
        """
        if done >= total > 0:
            self.end_progress()
        elif not (self.quiet or self.as_json):
            if self._progress is None:
                self._progress = ProgressBar(sys.stderr)
            self._progress.at(done, total, work)

    def end_progress(self) -> None:
        """Remove from the terminal what `progress` shows."""
        if self._progress is not None:
            self._progress.end()
            self._progress = None

    def command(self, *words: str, patch_dirs: Sequence[str] = ()) -> str:
        """A command line to show, for the same environment and these directories of patchsets."""
        env, dirs = self.place._replace(patch_dirs=tuple(patch_dirs)).options
        return shlex.join(["sitepatch", *words]) + dirs + env

    def suggest_explain(
        self, answers: Iterable[Answer], patch_dirs: Sequence[str], release: str = ""
    ) -> None:
        """Write the commands that explain the hunks that do not fit.

        Args:
            answers: the answers for all hunks.
            patch_dirs: the directories of their patchsets.
            release: the release that they do not fit, "" for what is installed.
        """
        names: dict[str, None] = {}
        for answer in answers:
            # of a conflict its row says all
            if answer.state.failed and answer.state is not State.CONFLICT and answer.scope:
                names[answer.patchset] = None
        for name in names:
            words = ["check", name, "--explain"]
            if release:
                words = ["update", name, "--to", release]
            self.note(self.command(*words, patch_dirs=patch_dirs), "see")

    def rows(self, rows: Sequence[Row], *, err: bool = False) -> None:
        """Write a table: aligned, its first word in colour, details indented below."""
        if self.as_json:
            return
        stream = sys.stderr if err else sys.stdout
        most = terminal_width() if stream.isatty() else 0
        for line in table_lines(rows, most):
            click.echo(line, err=err, color=self.color(stream))

    def info_rows(self, rows: Sequence[Row]) -> None:
        """Write a table about what was done; not with --quiet."""
        if not self.quiet:
            self.rows(rows)

    def answer(self, ok: bool, outcome: Any) -> int:
        """Write a record, or a mapping, as the JSON answer, where --json asks for it.

        Returns:
            the exit code: 0 if it is `ok`, else 1.
        """
        if self.as_json:
            self._write_json({"schema": 1, "command": self.name, "ok": ok, **to_json(outcome)})
        return 0 if ok else 1

    def _write_json(self, answer: dict[str, Any]) -> None:
        if self.kept_notes is None:
            click.echo(json.dumps(answer, indent=2), color=False)
        else:
            answer["said"] = self.kept_notes
            click.echo(json.dumps(answer), color=False, err=True)

    def confirm(self, question: str, *, default: bool = False) -> bool:
        """Ask on the terminal; `default` is what Enter alone means."""
        return click.confirm(translated(question), default=default, err=True)

    def pause(self, text: str) -> None:
        """Write a line on the terminal, and wait for Enter."""
        click.prompt(translated(text), default="", show_default=False, prompt_suffix=" ", err=True)

    @property
    def asks(self) -> bool:
        """Whether somebody is there who can be asked."""
        return not (self.as_json or self.quiet) and sys.stdin.isatty() and sys.stdout.isatty()

    def file(self, path: str, data: bytes) -> None:
        """Write a file that the user has named, and a note of it."""
        write_output(path, data)
        self.note(Message("wrote {path}", path=path))

    @property
    def plain(self) -> bool:
        """Whether the answer is for another program: stdout is no terminal."""
        return not sys.stdout.isatty()

    def page(self, lines: Sequence[str], *, pager: bool = True) -> None:
        """Write lines, through a pager on a terminal."""
        if self.as_json:
            return
        page = "".join(f"{printable(translated(line))}\n" for line in lines)
        color = self.color(sys.stdout)
        if pager and sys.stdout.isatty():
            from patcher.display.pager import paged  # with subprocess

            if paged(page if color else click.unstyle(page)):
                return
        click.echo(page, nl=False, color=color)

    def raw(self, data: bytes) -> None:
        """Write bytes of the answer as they are, for a program to read."""
        click.echo(data, nl=False)

    def fail(self, error: SitepatchError) -> int:
        """Write an error and its hint; returns the exit code.

        This is the one place where an error becomes text.
        """
        code = exit_code(error)
        self.end_progress()
        fields = {"message": error.message, "hint": error.hint, "exit_code": code}
        if isinstance(error, BusyError):
            fields["busy"] = True
        fields.update(error.place)
        self.answer(False, {"error": fields})
        if self.kept_notes is not None:
            return code
        lines = [labelled("error", error.message, fg="red", bold=True)]
        lines += [labelled("hint", line, fg="cyan") for line in translated_lines(error.hint)]
        for line in lines:
            with suppress(OSError):  # the exit code still tells
                click.echo(line, err=True, color=self.color(sys.stderr))
        return code


def requirement(path: str, digest: str = "") -> str:
    """A line for requirements.txt: a path as pip takes one, with the sha256 of the file."""
    line = path if path.startswith(("/", ".")) else f"./{path}"
    if digest:
        line += f" --hash=sha256:{digest}"
    return line


def exit_code(error: SitepatchError) -> int:
    """What a command that an error stops exits with: 127 and 126 are those of a shell."""
    if isinstance(error, NotFoundCommandError):
        return 127
    if isinstance(error, NotExecutableError):
        return 126
    return 2 if isinstance(error, (UsageError, PatchError)) else 1
