"""`schema`: the form of the answers in JSON."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExamples:\n  sitepatch schema hook init\n  sitepatch schema > answers.schema.json")
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@takes(environment=False, sources=False)
def schema(console: Console, place: Place, words: Tuple[str, ...]) -> int:
    """Print the JSON Schema of what a command answers with --json.

    Of all commands without a name. It is draft 2020-12, and says what each field means.
    """
    from patcher.cli.verbs.schemas import show_schema

    return show_schema(console, "-".join(words))
