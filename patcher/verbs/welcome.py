"""`sitepatch` without a command: those to begin with, and what is applied here."""

from __future__ import annotations

from patcher.display.console import Console
from patcher.display.styles import style, translated
from patcher.errors import SitepatchError, StoreError
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.store.status import all_applied, applied_names, statuses, unfinished
from patcher.text.listed import count
from patcher.text.terminal import join_styled

_FIRST = {
    "list": Message("what there is for this environment, and what is applied"),
    "diff NAME": Message("what a patchset would change"),
    "apply NAME": Message("apply it, and verify it"),
    "restore NAME": Message("put the files back exactly"),
}


def first_screen(about: str) -> int:
    """What `sitepatch` alone answers; returns the exit code."""
    return welcome(Console("sitepatch", as_json=False, quiet=False, verbose=False), about)


def welcome(console: Console, about: str) -> int:
    """Show the commands to begin with, and what is applied here; nothing is recovered."""
    console.out(Message("{help}\n", help=Message.whole(about)))
    longest = max(map(len, _FIRST))
    for words, purpose in _FIRST.items():
        command = style(f"sitepatch {words:<{longest}}", bold=True)
        console.out(join_styled("  ", command, f"  {translated(purpose)}"))
    try:
        env = console.place.environment()
        summary = _summary(console, env)
    except (SitepatchError, OSError) as error:
        console.note(str(error))
    else:
        console.out(summary)
    closing = Message(
        "The whole story on a throw-away copy: sitepatch demo. All commands: sitepatch --help"
    )
    console.out(closing)
    return 0


def _summary(console: Console, env: Environment) -> str:
    """What is applied in an environment, and whether all of it is as it should be."""
    damaged: list[StoreError] = []
    items = statuses(env, damaged)

    names: str = Message("nothing is applied")
    if items:
        template = "{patchsets} applied, {files}"
        patchsets = ", ".join(applied_names(items))
        names = Message(template, patchsets=patchsets, files=count(len(items), "file"))
    astray = ""
    if damaged or unfinished(env) or not all_applied(items):
        template = "; not all is as it should be: {command}"
        astray = Message(template, command=console.command("status"))
    return Message("\n{name}: {names}{astray}", name=env.name, names=names, astray=astray)
