"""What the commands have in common: their shared options, where output goes, colours, the pager, errors as text."""

from __future__ import annotations

import os
import re
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence

import click

from patcher.cli.told import Quoted, label, term, told
from patcher.errors import LockError, NotExecutableError, NotFoundCommandError, PatchError, SitepatchError, UsageError
from patcher.ops.place import Place
from patcher.text.drawn import Painted, drawn, drawn_lines, join_drawn
from patcher.text.width import LONGEST, clip, padded, terminal_width, width, wrapped

if TYPE_CHECKING:
    from patcher.cli.progress import Progress
    from patcher.model import Answer
    from patcher.target.environment import Environment
    from patcher.text.table import Row

_WORDS = {
    "green": ("applied", "captured", "updated", "locked", "overlay", "restored", "verified", "applies", "ok"),
    "cyan": ("applicable", "available"),
    "yellow": (
        "broken before",
        "overwritten",
        "outdated",
        "interrupted",
        "absent",
        "note",
        "advice",
        "symptom",
        "follows",
        "no cases",
    ),
    "blue": ("upstream", "not needed", "out of range"),
}
_COLORS = {word: color for color, words in _WORDS.items() for word in words}
_IN_LINE = ", as the only line on stderr before the command runs"
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan", "\\": "yellow"}


class Console:
    """Writes answers to stdout and everything else to stderr, as the options of a command ask for it.

    All text is drawn (see `patcher.text.drawn`), also where it is piped, but for the bytes of a diff that is piped.
    Where `said` is a list, a JSON answer is one line on stderr with the remarks in it: stdout is another program's.
    `outcome` is what a Ctrl-C from now on says of a run that has written already, "" where it has not.
    """

    def __init__(self, command: str, as_json: bool, quiet: bool, verbose: bool, color: Optional[bool]) -> None:
        self.command = command
        self.as_json = as_json
        self.said: Optional[List[str]] = None
        self.quiet = quiet
        self.verbose = verbose
        self.asked_color = color
        self.outcome = ""
        self._progress: Optional[Progress] = None

    def color(self, stream: Any) -> bool:
        """Whether colours go to a stream: as asked for, else on a terminal that has them, unless NO_COLOR is set."""
        if self.asked_color is not None:
            return self.asked_color
        return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()

    def out(self, *parts: str) -> None:
        """Write a line of the answer, or several."""
        if not self.as_json:
            click.echo("".join(drawn_lines(told(part)) for part in parts), color=self.color(sys.stdout))

    def say(self, text: str) -> None:
        """Write a line about what is being done; not with --quiet."""
        if not self.quiet:
            self.out(text)

    def about(self, env: Environment) -> None:
        """Say which environment is meant, with --verbose; and what stands patched in directories that it shares."""
        for site in env.outer:
            if os.path.isdir(os.path.join(site, ".sitepatch")):
                self.note(f"what is patched in {site}, shared with others, is left alone without --system")
        if self.verbose:
            self.note(f"{env.name}: {', '.join(env.sites)}", "environment")

    def note(self, text: str, word: str = "note") -> None:
        """Write a remark to stderr; not with --quiet."""
        if self.said is not None:
            self.said.append(f"{word}: {text}")
        elif not self.quiet:
            self.end_progress()
            click.echo(_labelled(word, text, fg="yellow"), err=True, color=self.color(sys.stderr))

    def progress(self, done: int, total: int, what: str) -> None:
        """Show on stderr how much is done, of how much (0: nobody knows); not with --quiet or --json."""
        if done >= total > 0:
            self.end_progress()
        elif not (self.quiet or self.as_json):
            if self._progress is None:
                from patcher.cli.progress import Progress

                self._progress = Progress(sys.stderr)
            self._progress.at(done, total, what)

    def end_progress(self) -> None:
        """Remove from the terminal what `progress` shows."""
        if self._progress is not None:
            self._progress.end()
            self._progress = None

    def see(self, place: Place, answers: Iterable[Answer]) -> None:
        """Say which command explains the hunks that do not fit."""
        more = [word for folder in place.patch_dirs for word in ("--patch-dir", folder)]
        for name in dict.fromkeys(each.patchset for each in answers if each.state.failed and each.scope):
            self.note(command(place, "explain", name, *more), "see")

    def rows(self, rows: Sequence[Row], *, err: bool = False) -> None:
        """Write a table: aligned, its first word in colour, details indented below."""
        if self.as_json:
            return
        stream = sys.stderr if err else sys.stdout
        most = terminal_width() if stream.isatty() else 0
        for line in table(rows, most):
            click.echo(line, err=err, color=self.color(stream))

    def data(self, ok: bool, fields: Dict[str, Any]) -> None:
        """Write the JSON answer, where --json asks for it."""
        if self.as_json:
            import json

            answer = {"schema": 1, "command": self.command, "ok": ok, **fields}
            if self.said is None:
                click.echo(json.dumps(answer, indent=2), color=False)
            else:
                click.echo(json.dumps({**answer, "said": self.said}), color=False, err=True)

    def file(self, path: str, data: bytes) -> None:
        """Write a file that the user has named, and say so."""
        with open(path, "wb") as file:
            file.write(data)
        self.note(f"wrote {path}")

    @property
    def plain(self) -> bool:
        """Whether the answer is for another program, as far as anything tells: neither a terminal nor colours."""
        return not (sys.stdout.isatty() or self.color(sys.stdout))

    def page(self, text: Sequence[str], *, pager: bool = True) -> None:
        """Write lines, through a pager on a terminal."""
        if self.as_json:
            return
        whole, color = "".join(f"{drawn(told(line))}\n" for line in text), self.color(sys.stdout)
        if pager and sys.stdout.isatty():
            from patcher.cli.pager import paged  # not where nobody reads

            if paged(whole if color else click.unstyle(whole)):
                return
        click.echo(whole, nl=False, color=color)

    def fail(self, error: SitepatchError) -> int:
        """Write an error and its hint; returns the exit code. The one place where an error becomes text."""
        code = exit_code(error)
        self.end_progress()
        if isinstance(error, LockError):
            from patcher.cli.answers.report import answer_rows

            self.rows(answer_rows(error.answers))
        self.data(False, {"error": {"message": error.message, "hint": error.hint, "exit_code": code, **error.place}})
        said = [_labelled("error", error.message, fg="red", bold=True)]
        said += [_labelled("hint", line, fg="cyan") for line in error.hint.split("\n") if line]
        for line in said if self.said is None else ():
            click.echo(line, err=True, color=self.color(sys.stderr))
        return code


def command(place: Place, *words: str) -> str:
    """A command line for the same environment, to be shown to the user."""
    import shlex

    more = ["--python", place.python] if place.python else []
    more += ["--target", place.target] if place.target else []
    more += ["--system"] if place.system else []
    return " ".join(shlex.quote(word) for word in ("sitepatch", *words, *more))


def answer_usage(error: click.ClickException) -> bool:
    """Write what click refuses as the JSON answer that other errors have; returns whether it is all that stderr is to have."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "sitepatch"
    console = Console("-".join(path.split()[1:]) or path, True, False, False, None)
    console.said = [] if console.command == "run" else None
    stopped = {"message": error.format_message(), "hint": f"see: {path} --help", "exit_code": error.exit_code}
    console.data(False, {"error": stopped})
    return console.said is not None


def exit_code(error: SitepatchError) -> int:
    """What a command that an error stops exits with: 127 and 126 are those of a shell."""
    codes = {NotFoundCommandError: 127, NotExecutableError: 126, UsageError: 2, PatchError: 2}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), 1)


def takes(
    *, environment: bool = True, sources: bool = True, in_line: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the shared options; it is called with a Console and a Place and returns the exit code.

    Every SitepatchError and OSError of the command ends here, as text and as an exit code.
    """
    options: List[Callable[[Callable[..., int]], Callable[..., int]]] = []
    if environment:
        options += [
            click.option("--python", metavar="PATH", help="Interpreter (or venv) of the environment."),
            click.option("--target", metavar="DIR", help="A directory of packages, or the root of an image."),
            click.option("--system", is_flag=True, help="Also what a venv shares with others (system-site-packages)."),
        ]
    if sources:
        text = "Directory of patchsets, looked at first; repeatable."
        options.append(click.option("--patch-dir", metavar="DIR", multiple=True, help=text))
    options += [
        click.option("--json", "as_json", is_flag=True, help=f"Answer in JSON{_IN_LINE if in_line else ''}."),
        click.option("-q", "--quiet", is_flag=True, help="Only errors and what was asked for."),
        click.option("-v", "--verbose", is_flag=True, help="Say more."),
        click.option("--color/--no-color", default=None, help="Default: on a terminal, unless NO_COLOR is set."),
    ]

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(as_json: bool, quiet: bool, verbose: bool, color: Optional[bool], **rest: Any) -> int:
            console = Console(function.__name__.strip("_").replace("_", "-"), as_json, quiet, verbose, color)
            console.said = [] if as_json and in_line else None
            where = {name: rest.pop(name) for name in ("python", "target", "system") if name in rest}
            place = Place(patch_dirs=tuple(rest.pop("patch_dir", ())), **where)
            try:
                return function(console, place, **rest)
            except BrokenPipeError:
                raise
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(str(error) or console.outcome) from error
            except SitepatchError as error:
                return console.fail(error)
            except OSError as error:
                return console.fail(SitepatchError(str(error)))
            finally:
                console.end_progress()

        wrapped: Callable[..., int] = run
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def style(text: str, **how: Any) -> Painted:
    """Text with a colour or a weight, as `click.style` takes them."""
    return Painted(click.style(drawn(text), **how))


def _labelled(text: str, rest: str, **how: Any) -> Painted:
    """A word of ours with a colour, as `error:`, and what it is about, both in the language of the reader."""
    head = label(text)
    return Painted(style(head, **how) + (" " if head[-1] == ":" else "") + drawn_lines(told(rest)))


def table(rows: Sequence[Row], most: int = 0) -> Iterable[str]:
    """The lines of a table, styled; the last cell of a row is not padded.

    Where a row is wider than `most` columns (0: no limit), its further cells and long texts go on below; of a very long
    word (the name of a scope) the middle is left out.
    """
    texts = [[_words(drawn(told(cell))) for cell in row.cells] for row in rows]
    first = max((width(term(row.word)) for row in rows), default=0)
    count = max(map(len, texts), default=0)
    widths = [max((width(cells[at]) for cells in texts if len(cells) > at), default=0) for at in range(count)]
    room = max(20, most - first - 2) if most else sys.maxsize
    for row, cells in zip(rows, texts):
        filled = [""]
        for cell, column in zip(cells, widths):
            if filled[-1] and width(filled[-1] + cell) > room:
                filled.append("")
            filled[-1:] = [*_wrapped(filled[-1] + cell, room)]
            filled[-1] += " " * (column - width(cell) + 2)
        head = style(padded(term(row.word), first), fg=_COLORS.get(row.word, "red"))
        yield f"{head}  {filled[0]}".rstrip()
        whole = (Painted, Quoted)
        details = [line for each in row.details for line in ([each] if isinstance(each, whole) else each.split("\n"))]
        for line in [*filled[1:], *(part for detail in details for part in _wrapped(_words(drawn(told(detail))), room))]:
            yield (" " * (first + 2) + line).rstrip()


def _words(text: str) -> str:
    """The text with what is too long of each word left out; code, which is painted, stays as it is."""
    return text if isinstance(text, Painted) else re.sub(rf"\S{{{LONGEST},}}", lambda word: clip(word.group(), LONGEST), text)


def _wrapped(text: str, most: int) -> List[str]:
    """A text in lines of at most `most` columns; code, which is painted or begins with a blank, stays as it is."""
    return [text] if width(text) <= most or isinstance(text, Painted) or text[:1] == " " else wrapped(text, most)


def paint(diff: str) -> List[Painted]:
    """The lines of a unified diff, or of a .spatch, with colours."""
    out = []
    for line in diff.split("\n")[: -1 if diff.endswith("\n") else None]:
        head = line.startswith(("--- ", "+++ "))
        color = None if head else _DIFF_COLORS.get(line[:1])
        out.append(style(line, fg=color, bold=head or None) if head or color else join_drawn(line))
    return out
