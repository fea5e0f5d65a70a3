"""`report` and `schema`: what is applied, for other tools, and on many hosts; the form of the answers in JSON."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(
    epilog="\b\nExamples:\n  sitepatch report --cyclonedx patches.cdx.json\n"
    "  sitepatch report --fleet reports --lock sitepatch.lock --html fleet.html"
)
@click.option("--cyclonedx", "path", metavar="FILE", help="Write a CycloneDX document, in JSON; - for stdout.")
@click.option("--fleet", metavar="DIR", help="Read HOST.json of each host: what its status --json answered.")
@click.option("--lock", metavar="FILE", help="With --fleet: also what differs from this lock.")
@click.option("--html", metavar="FILE", help="With --fleet: also write a page that can be read offline.")
@common_options()
def report(
    console: Console, place: Place, path: Optional[str], fleet: Optional[str], lock: Optional[str], html: Optional[str]
) -> int:
    """Report what is applied, here or on many hosts.

    --cyclonedx lists the distributions that are patched; each has its patches as pedigree.patches: the diff, with a DEP-3
    header that says why. The same patches make the same bytes; the date is that of SOURCE_DATE_EPOCH, if it is set. It needs
    the extra of `pip install 'sitepatch[sbom]'`.

    --fleet shows the patchsets and releases of hosts, those that are alike in one line (-v: with all their names), what is
    astray, and with --lock what differs from it; exit code 1 if anything is.
    """
    if bool(path) == bool(fleet):
        found = "both" if path else "none"
        raise UsageError(f"--cyclonedx FILE or --fleet DIR: found {found}, expected one of them")
    if fleet:
        from patcher.cli.verbs.report import show_fleet

        return show_fleet(console, fleet, lock, html)
    if lock or html:
        raise UsageError(f"{'--lock' if lock else '--html'}: found no --fleet, which it belongs to")
    from patcher.cli.verbs.report import write_bill

    return write_bill(console, place, path or "-")


@click.command(epilog="\b\nExamples:\n  sitepatch schema hook init\n  sitepatch schema > answers.schema.json")
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@common_options(environment=False, sources=False)
def schema(console: Console, place: Place, words: Tuple[str, ...]) -> int:
    """Print the JSON Schema of what a command answers with --json.

    Of all commands without a name. It is draft 2020-12, and says what each field means.
    """
    from patcher.cli.verbs.report import show_schema

    return show_schema(console, "-".join(words))
