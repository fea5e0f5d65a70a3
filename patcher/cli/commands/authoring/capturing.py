"""`capture` and `edit`."""

from __future__ import annotations

from typing import Callable, Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, lock_timeout_option
from patcher.errors import UsageError
from patcher.ops.authoring.requests import CaptureRequest, EditRequest
from patcher.ops.place import Place
from patcher.store.lock import patience
from patcher.verify.checks import VerifyOptions


def _makes_a_patchset(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command `--name`, `--output`, `--summary`, `--also`, `--partial` and `--explain`."""
    for option in (
        click.option("--explain", is_flag=True, help="Also show the forms of each hunk that were not taken, and why."),
        click.option("--partial", is_flag=True, help="Also where a part of the edit cannot be put into a patchset."),
        click.option(
            "--also",
            metavar="RELEASE|DIR",
            multiple=True,
            help="A release from the index, or a directory of packages, for which it should hold as well; repeatable.",
        ),
        click.option("--summary", metavar="TEXT", default="", help="The summary of the patchset, in a line."),
        click.option("--output", metavar="DIR", help="Where the patchset's folder is put (default ./patchsets)."),
        click.option("--name", metavar="NAME", required=True, help="The name of the patchset."),
    ):
        function = option(function)
    return function


@click.command(
    epilog="\b\nExamples:\n  sitepatch capture mmengine --name runner-debug --adopt\n"
    "  sitepatch capture mmengine/runner/runner.py --name runner-debug --pristine mmengine-0.10.7-py3-none-any.whl"
)
@click.argument("words", metavar="[PACKAGE|FILE]...", nargs=-1)
@_makes_a_patchset
@click.option("--pristine", metavar="FILE|WHEEL|DIR", default="", help="What was installed, where nothing else gives it.")
@click.option("--from", "copy", metavar="DIR", default="", help="The directory of copies that edit --no-editor made.")
@click.option("--adopt", is_flag=True, help="Put the files back and apply the patchset in the place of the edit.")
@click.option("--no-verify", is_flag=True, help="With --adopt: do not verify what was written.")
@common_options()
@lock_timeout_option
def capture(
    console: Console,
    place: Place,
    words: Tuple[str, ...],
    name: str,
    output: Optional[str],
    summary: str,
    partial: bool,
    explain: bool,
    also: Tuple[str, ...],
    pristine: str,
    copy: str,
    adopt: bool,
    no_verify: bool,
    lock_timeout: float,
) -> int:
    """Make a patchset of what was edited in the environment.

    Every installed Python file is compared with RECORD, or those of the packages and files that are named. What it was before
    comes from the store, from a backup beside it or from its release in the index, and RECORD's sha256 proves it. In a file
    that a patchset changed already, the edit is the difference to that.

    With --adopt, and on a terminal when asked, the patchset then takes the place of the edit: from then on it is tracked, and
    restore gives back the file as it was installed. One of that name that was captured before is taken as it is.
    """
    from patcher.cli.verbs.authoring.capture import run_capture

    if copy and (words or pristine or adopt):
        raise UsageError("--from: found packages, files, --pristine or --adopt too", "it takes the copies alone")
    request = CaptureRequest(place, name, words, output, pristine, copy, partial, summary, also, adopt)
    with patience(lock_timeout, lambda text: console.note(text, "waiting")):
        return run_capture(console, request, VerifyOptions(no_verify=no_verify), take=adopt, explain=explain)


@click.command(
    epilog="\b\nExamples:\n  sitepatch edit mmengine runner/runner.py --name runner-debug\n"
    "  sitepatch edit mmengine --name runner-debug --no-editor"
)
@click.argument("package")
@click.argument("file", required=False, default="")
@_makes_a_patchset
@click.option("--no-editor", is_flag=True, help="Make the copies and print where they are; capture --from goes on from there.")
@common_options()
def edit(
    console: Console,
    place: Place,
    package: str,
    file: str,
    name: str,
    output: Optional[str],
    summary: str,
    partial: bool,
    explain: bool,
    also: Tuple[str, ...],
    no_editor: bool,
) -> int:
    """Edit a copy of installed files, and make a patchset of that.

    Copies the Python files of an import package, or one of them, to a temporary directory and opens them in $VISUAL or
    $EDITOR. The environment is not touched.
    """
    from patcher.cli.verbs.authoring.capture import run_edit

    request = CaptureRequest(place, name, (), output, "", "", partial, summary, also)
    return run_edit(console, EditRequest(place, package, file), request, no_editor=no_editor, explain=explain)
