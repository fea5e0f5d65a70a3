"""`sitepatch` without a command: those to begin with, and what is applied here."""

from __future__ import annotations

from patcher.display.console import Console
from patcher.display.styles import style, translated
from patcher.errors import SitepatchError, StoreError
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


def welcome(console: Console, about: str) -> int:
    """Show the commands to begin with, and what is applied here; nothing is recovered."""
    console.out(Message("{help}\n", help=Message.whole(about)))
    longest = max(map(len, _FIRST))
    for words, purpose in _FIRST.items():
        console.out(
            join_styled(
                "  ", style(f"sitepatch {words:<{longest}}", bold=True), f"  {translated(purpose)}"
            )
        )
    try:
        env = console.place.environment()
        damaged: list[StoreError] = []
        items = statuses(env, damaged)
        well = all_applied(items) and not (damaged or unfinished(env))
    except (SitepatchError, OSError) as error:
        console.note(str(error))
    else:
        names: str = Message("nothing is applied")
        if items:
            files = count(len(items), "file")
            names = Message(
                "{patchsets} applied, {files}",
                patchsets=", ".join(applied_names(items)),
                files=files,
            )
        astray = (
            ""
            if well
            else Message(
                "; not all is as it should be: {command}", command=console.command("status")
            )
        )
        console.out(Message("\n{name}: {names}{astray}", name=env.name, names=names, astray=astray))
    console.out(
        Message(
            "The whole story on a throw-away copy: sitepatch demo. All commands: sitepatch --help"
        )
    )
    return 0
