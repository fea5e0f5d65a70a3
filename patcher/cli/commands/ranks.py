"""`ddp-report`."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, List, Optional, Sequence, Tuple

import click

from patcher.cli.console import Console, style, takes
from patcher.errors import SitepatchError, UsageError
from patcher.ops.place import Place
from patcher.text.drawn import Painted

if TYPE_CHECKING:
    from patcher.diagnose.log import Log
    from patcher.diagnose.runs import Run
    from patcher.diagnose.table import Classified

_STDIN = "standard input"
_MARK = "mmengine-ddp-debug"


@click.command("ddp-report", epilog=(
    "\b\nExamples:\n  torchrun --nproc_per_node=8 train.py 2>&1 | sitepatch ddp-report\n"
    "  sitepatch ddp-report work_dirs/logs --html ranks.html"
))  # fmt: skip
@click.argument("logs", metavar="[LOG]...", nargs=-1, type=click.Path())
@click.option("--run", "which", metavar="N|all", help="Which run, where the logs hold several; default: the newest.")
@click.option("--html", metavar="FILE", help="Write a page with a picture, that can be read offline.")
@takes(environment=False, sources=False)
def ddp_report(console: Console, place: Place, logs: Tuple[str, ...], which: Optional[str], html: Optional[str]) -> int:
    """Report from the logs of a training why DDP fails.

    It reads what mmengine-ddp-debug printed on every rank, from files (compressed by gzip, too), from directories with
    all that is below them, or from standard input (-), and says which rank stands where and what to do.
    """
    from patcher.diagnose.runs import find_runs
    from patcher.diagnose.table import classify, log_json, run_json

    read = _read(console, _files(logs))
    runs = find_runs(read)
    if not runs:
        raise _nothing(read)
    shown = [(run, classify(run)) for run in _chosen(runs, which)]
    for run, classified in shown:
        _tell(console, run, len(runs), classified)
    _tell_damage(console, read)
    if html:
        from patcher.cli.ranks_page import page

        with open(html, "wb") as file:
            file.write(page(shown, len(runs), read))
        console.say(f"wrote {html}")
    well = not any(each.conclusions for _, classified in shown for each in classified)
    ok = well and not any(log.cut_count or log.problem for log in read)
    told = [run_json(run, classified) for run, classified in shown]
    console.data(ok, {"runs": len(runs), "shown": told, "logs": [log_json(log) for log in read]})
    return 0 if ok else 1


# what is read ---------------------------------------------------------------------------------------------------------
def _files(words: Sequence[str]) -> List[str]:
    """The files that are meant, `-` for standard input; every one that cannot be read is told at once."""
    if not words and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("no log was given", "name files or directories, or pipe a log into the command")
    found: List[str] = []
    wrong: List[str] = []
    for word in words or ("-",):
        if os.path.isdir(word):
            below = sorted(os.path.join(top, name) for top, _, files in os.walk(word) for name in files)
            found += [path for path in below if os.path.isfile(path)]  # no pipes: nobody may ever write into them
        else:
            found.append(word)
    for path in found:
        if path != "-" and not os.path.exists(path):
            wrong.append(f"{path}: there is no such file")
        elif path != "-" and not os.access(path, os.R_OK):
            wrong.append(f"{path}: it may not be read")
    if wrong:
        raise UsageError("\n".join(wrong))
    return list(dict.fromkeys(found))


def _read(console: Console, files: Sequence[str]) -> List[Log]:
    from patcher.diagnose.log import read_log

    progress = Progress(console, sum(os.path.getsize(path) for path in files if path != "-"), "-" in files)
    logs = []
    for path in files:
        if path == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed", "name a file")
            logs.append(read_log(_STDIN, sys.stdin.buffer, progress.add))
        else:
            with open(path, "rb") as stream:
                file: BinaryIO = stream
                logs.append(read_log(path, file, progress.add))
    progress.end()
    return logs


class Progress:
    """How much was read, on a terminal and only where it takes more than a second."""

    def __init__(self, console: Console, size: int, endless: bool) -> None:
        self._shown = sys.stderr.isatty() and not console.quiet
        self._of = "" if endless else f" of {_megabytes(size)}"
        self._size = 0
        self._next = time.monotonic() + 1
        self._told = False

    def add(self, size: int) -> None:
        """So many bytes more were read."""
        self._size += size
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._told = True
            click.echo(f"\r\x1b[Kread {_megabytes(self._size)}{self._of}", nl=False, err=True, color=True)

    def end(self) -> None:
        """Take the line away."""
        if self._told:
            click.echo("\r\x1b[K", nl=False, err=True, color=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


# what is told ---------------------------------------------------------------------------------------------------------
def _nothing(logs: Sequence[Log]) -> SitepatchError:
    cut = _places(logs)
    names = ", ".join(log.name for log in logs[:5]) + (", ..." if logs[5:] else "")
    message = f"no report of {_MARK} in {names or 'an empty directory'}"
    problems = [f"{log.name}: {log.problem}" for log in logs if log.problem]
    lines = [message, *([f"reports that end too early: {cut}"] if cut else []), *problems]
    return SitepatchError(
        "\n".join(lines),
        f"sitepatch apply {_MARK}, start the training again, and keep the standard output of every rank",
    )


def _chosen(runs: Sequence[Run], which: Optional[str]) -> Sequence[Run]:
    if which is None:
        return runs[-1:]
    if which == "all":
        return runs
    if not (which.isdigit() and 1 <= int(which) <= len(runs)):
        raise UsageError(f"--run: found {which}, expected all or a number from 1 to {len(runs)}", "1 is the oldest run")
    return runs[int(which) - 1 : int(which)]


def _tell(console: Console, run: Run, count: int, classified: Sequence[Classified]) -> None:
    from patcher.diagnose.conclusions import sentence
    from patcher.diagnose.table import heading, table, well

    if count > 1:
        console.say(f"run {run.number} of {count}{_when(run)}")
    for each in classified:
        console.out(style(heading(each), bold=True))
        head, *lines = table(each)
        console.out(style(f"{head.text}  {head.verdict}", dim=True))
        for line in lines:
            console.out(line.text, "  ", _styled(line.verdict))
        console.out()
        for conclusion in each.conclusions:
            console.out(_styled(conclusion.code), "  ", _indented(sentence(conclusion), len(conclusion.code) + 2))
            if conclusion.hint:
                console.out("  " + _indented(f"hint: {conclusion.hint}", 2))
        if not each.conclusions:
            console.out(_styled("ready"), "  ", well(each))
        console.out()


def _when(run: Run) -> str:
    return "" if run.time is None else time.strftime(", %Y-%m-%d %H:%M:%S UTC", time.gmtime(run.time))


def _styled(verdict: str) -> Painted:
    from patcher.diagnose.table import DOUBTS, READY

    return style(verdict, fg="green" if verdict == READY else "yellow" if verdict in DOUBTS else "red")


def _indented(text: str, indent: int) -> str:
    """Text in lines of at most 100 columns, all but the first two columns in; the first begins at column `indent`."""
    from patcher.diagnose.table import WIDTH
    from patcher.text.width import wrapped

    return "\n  ".join(wrapped("." * indent + text, WIDTH - 2))[indent:]


def _tell_damage(console: Console, logs: Sequence[Log]) -> None:
    """What could not be read: it may be a report of the run that is shown."""
    count = sum(log.cut_count for log in logs)
    were = "reports end too early and were" if count > 1 else "report ends too early and was"
    told = [("cut-short", f"{count} {were} not read: {_places(logs)}")] if count else []
    told += [("unread", f"{log.name}: {log.problem}") for log in logs if log.problem]
    for word, text in told:
        console.out(_styled(word), "  ", _indented(text, len(word) + 2))


def _places(logs: Sequence[Log]) -> str:
    places = [f"{log.name}:{line}" for log in logs for line in log.cut]
    return ", ".join(places[:10]) + (", ..." if places[10:] else "")
