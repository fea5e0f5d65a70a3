"""`lint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Tuple

import click

from patcher.cli.answers.annotations import ERROR, NOTICE, WARNING, annotation, of_error
from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.completion import complete_names
from patcher.cli.console import Console
from patcher.cli.options import common_options, format_option
from patcher.cli.styles import Row, hint_lines
from patcher.text.listed import count

if TYPE_CHECKING:
    from patcher.ops.authoring.testing import LintOutcome

_KINDS = {"error": ERROR, "advice": WARNING, "note": NOTICE}


@click.command(epilog="\b\nExample:\n  sitepatch lint my-fix --strict")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--strict", is_flag=True, help="Exit with 1 on advice too.")
@common_options(environment=False)
@format_option("text", "github")
def lint(console: Console, names: Tuple[str, ...], strict: bool, form: str) -> int:
    """Report what is wrong with patchsets, and what makes them fit fewer releases than they could.

    No environment is looked at. Errors, as options that no hunk uses and hunks that meet, exit with 1; advice, as context
    that is written out, does with --strict. All patchsets without a name.
    """
    from patcher.ops.authoring import testing as ops  # with the engine

    made = ops.lint_all(ops.LintRequest(console.place, names, strict), console)
    if form == "github":
        for line in _annotated(made):
            console.out(line)
        return 0 if made.ok else 1
    rows, findings = [], []
    for name, found in made.findings.items():
        for one in found:
            where = f"{one.file}:{one.line}" if one.line else one.file
            rows.append(Row(one.level, (name, where, one.rule), (one.text, *hint_lines(one.hint))))
            findings.append({"patchset": name, **one._asdict()})
    console.rows([row for row in rows if row.word != "note" or not console.quiet])
    console.rows(broken_rows(made.broken))
    if not rows and not made.broken:
        console.info(f"nothing to say of {count(len(made.findings), 'patchset')}")
    return console.answer(made.ok, {"findings": findings, "broken": broken_json(made.broken)})


def _annotated(made: LintOutcome) -> Iterator[str]:
    for name, found in made.findings.items():
        for one in found:
            text = "\n".join(filter(None, (one.text, one.hint)))
            yield annotation(_KINDS[one.level], f"{name}: {one.rule}", text, made.folders[name] / one.file, one.line)
    for name, error in made.broken.items():
        yield of_error(f"{name} is broken", error)
