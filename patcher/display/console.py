"""Where all output goes: answers to stdout, notes and errors to stderr, in colour, through the pager, as JSON."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

import click

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
from patcher.patchset.toml import options_text
from patcher.place import Events, Place
from patcher.text.terminal import printable, printable_lines, terminal_width

if TYPE_CHECKING:
    from patcher.display.progress import ProgressBar
    from patcher.installed.interpreter import Environment
    from patcher.model import Answer, Requested
    from patcher.place import Outcome


def to_json(value: Any) -> Any:
    """A value as JSON has it: named tuples and mappings are objects, tuples lists, paths and the bytes of files text."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, bytes):
        return decoded(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def decoded(data: bytes) -> str:
    """Bytes of a file as text; what is not UTF-8 becomes lone surrogates, so that nothing is lost."""
    return data.decode("utf-8", "surrogateescape")


class Console(Events):
    """Writes answers to stdout and everything else to stderr, as the options of a command ask for it.

    `place` is the environment that the options mean, and `name` that of the command.
    All text is made `printable`, also where it is piped, but for the bytes of a diff that is piped.
    Where `kept_notes` is a list, a JSON answer is one line on stderr with the notes in it: stdout is another program's.
    `outcome` is the message of a Ctrl-C from now on in a run that has written already, "" where it has not.

    It also takes what verbs report while they run; `on_plan` shows a plan once it is made, `on_fetching` says what is about to
    be fetched and whether it is to be.
    """

    def __init__(self, name: str, as_json: bool, quiet: bool, verbose: bool) -> None:
        self.name = name
        self.place = Place()
        self.as_json = as_json
        self.kept_notes: list[str] | None = None
        self.quiet = quiet
        self.verbose = verbose
        self.outcome = ""
        self.on_plan: Callable[[Console, Outcome], None] = lambda console, outcome: None
        self.on_fetching: Callable[[Console, Mapping[str, int]], bool] = lambda console, releases: (
            True
        )
        self._progress: ProgressBar | None = None

    def color(self, stream: Any) -> bool:
        """Whether colours go to a stream: never with NO_COLOR, else always with FORCE_COLOR, else on a terminal that has them.

        Source: no-color.org and force-color.org, in the order of Python's own tracebacks.
        """
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (
            os.environ.get("TERM") != "dumb" and stream.isatty()
        )

    def out(self, *parts: str) -> None:
        """Write a line of the answer, or several."""
        if not self.as_json:
            click.echo(
                "".join(printable_lines(translated(part)) for part in parts),
                color=self.color(sys.stdout),
            )

    def info(self, template: str, /, **fields: Any) -> None:
        """Write a line about what is being done, of a template and its fields; not with --quiet."""
        if not self.quiet:
            self.out(Message.of(template, fields))

    def about(self, env: Environment) -> None:
        """Write which environment is meant, with --verbose; and which shared directories have patches that are left alone."""
        for site in env.outer:
            if (Path(site) / ".sitepatch").is_dir():
                self.note(
                    Message(
                        "what is patched in {site}, shared with others, is left alone without --system",
                        site=site,
                    )
                )
        if self.verbose:
            self.note(
                Message("{name}: {sites}", name=env.name, sites=", ".join(env.sites)), "environment"
            )

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """Write which environment is meant, and with --verbose the patchsets with their options."""
        self.about(env)
        for item in requested if self.verbose else ():
            self.info(
                f"{item.patchset.name} {item.patchset.version} {options_text(item.options)}".rstrip()
            )

    def planned(self, outcome: Outcome) -> None:
        """Show the plan."""
        self.on_plan(self, outcome)

    def unfit(self, answers: Sequence[Answer]) -> None:
        """Show them, as those of a plan."""
        from patcher.display.rows import answer_rows  # with hashlib

        self.rows(answer_rows(answers))

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Say what is about to be fetched; returns whether it is to be."""
        return self.on_fetching(self, releases)

    def reached(self, state: str) -> None:
        """Keep the message of a Ctrl-C."""
        self.outcome = state

    def note(self, text: str, word: str = "note", **fields: Any) -> None:
        """Write a note to stderr, of a template and its fields, `word` is its label; not with --quiet."""
        text = Message.of(text, fields)
        if self.kept_notes is not None:
            self.kept_notes.append(f"{word}: {text}")
        elif not self.quiet:
            self.end_progress()
            click.echo(labelled(word, text, fg="yellow"), err=True, color=self.color(sys.stderr))

    def notes(self, texts: Iterable[str], word: str = "note") -> None:
        """Write several notes with one label."""
        for text in texts:
            self.note(text, word)

    def hints(self, texts: Iterable[str]) -> None:
        """Write what can be done, each line once."""
        self.notes(dict.fromkeys(line for hint in texts for line in translated_lines(hint)), "hint")

    def progress(self, done: int, total: int, work: str) -> None:
        """Show on stderr how much is done, of how much (0: nobody knows); not with --quiet or --json."""
        if done >= total > 0:
            self.end_progress()
        elif not (self.quiet or self.as_json):
            if self._progress is None:
                from patcher.display.progress import ProgressBar

                self._progress = ProgressBar(sys.stderr)
            self._progress.at(done, total, work)

    def end_progress(self) -> None:
        """Remove from the terminal what `progress` shows."""
        if self._progress is not None:
            self._progress.end()
            self._progress = None

    def command(self, *words: str, patch_dirs: Sequence[str] = ()) -> str:
        """A command line for the same environment, and for these directories of patchsets, to be shown."""
        import shlex

        env, dirs = self.place._replace(patch_dirs=tuple(patch_dirs)).options
        return " ".join(map(shlex.quote, ("sitepatch", *words))) + dirs + env

    def suggest_explain(
        self, answers: Iterable[Answer], patch_dirs: Sequence[str], release: str = ""
    ) -> None:
        """Write the commands that explain the hunks that do not fit, here or a release, of patchsets in these directories."""
        for name in dict.fromkeys(
            answer.patchset for answer in answers if answer.state.failed and answer.hunk.scope
        ):
            words = ("update", name, "--to", release) if release else ("check", name, "--explain")
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

    def answer(self, ok: bool, fields: dict[str, Any]) -> int:
        """Write the JSON answer, where --json asks for it; returns the exit code, 0 if it is `ok`, else 1."""
        if self.as_json:
            import json

            answer = to_json({"schema": 1, "command": self.name, "ok": ok, **fields})
            if self.kept_notes is None:
                click.echo(json.dumps(answer, indent=2), color=False)
            else:
                click.echo(json.dumps({**answer, "said": self.kept_notes}), color=False, err=True)
        return 0 if ok else 1

    def confirm(self, question: str) -> bool:
        """Ask on the terminal."""
        return click.confirm(translated(question), err=True)

    @property
    def asks(self) -> bool:
        """Whether somebody is there who can be asked."""
        return not (self.as_json or self.quiet) and sys.stdin.isatty() and sys.stdout.isatty()

    def file(self, path: str, data: bytes) -> None:
        """Write a file that the user has named, and a note of it."""
        from patcher.system.output import write_output

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
        page, color = (
            "".join(f"{printable(translated(line))}\n" for line in lines),
            self.color(sys.stdout),
        )
        if pager and sys.stdout.isatty():
            from patcher.display.pager import paged  # with subprocess

            if paged(page if color else click.unstyle(page)):
                return
        click.echo(page, nl=False, color=color)

    def raw(self, data: bytes) -> None:
        """Write bytes of the answer as they are, for a program to read."""
        click.echo(data, nl=False)

    def fail(self, error: SitepatchError) -> int:
        """Write an error and its hint; returns the exit code. The one place where an error becomes text."""
        code = exit_code(error)
        self.end_progress()
        busy = {"busy": True} if isinstance(error, BusyError) else {}
        self.answer(
            False,
            {
                "error": {
                    "message": error.message,
                    "hint": error.hint,
                    "exit_code": code,
                    **busy,
                    **error.place,
                }
            },
        )
        lines = [labelled("error", error.message, fg="red", bold=True)]
        lines += [labelled("hint", line, fg="cyan") for line in translated_lines(error.hint)]
        for line in lines if self.kept_notes is None else ():
            with suppress(OSError):  # the exit code still tells
                click.echo(line, err=True, color=self.color(sys.stderr))
        return code


def requirement(path: str, digest: str = "") -> str:
    """A line for requirements.txt: a path as pip takes one, with the sha256 of the file."""
    return (path if path.startswith(("/", ".")) else f"./{path}") + (
        f" --hash=sha256:{digest}" if digest else ""
    )


def exit_code(error: SitepatchError) -> int:
    """What a command that an error stops exits with: 127 and 126 are those of a shell."""
    codes = {NotFoundCommandError: 127, NotExecutableError: 126, UsageError: 2, PatchError: 2}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), 1)
