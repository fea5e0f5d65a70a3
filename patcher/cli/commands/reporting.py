"""`report`: what is applied, for other tools."""

from __future__ import annotations

import click

from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch report --cyclonedx patches.cdx.json")
@click.option("--cyclonedx", "path", metavar="FILE", required=True, help="Write a CycloneDX document, in JSON; - for stdout.")
@takes()
def report(console: Console, place: Place, path: str) -> int:
    """Report what is applied, for tools that keep account of software.

    --cyclonedx lists the distributions that are patched; each has its patches as pedigree.patches: the diff, with a DEP-3
    header that says why. The same patches make the same bytes; the date is that of SOURCE_DATE_EPOCH, if it is set. It needs
    the extra of `pip install 'sitepatch[sbom]'`.
    """
    from patcher.cli.verbs.bills import write_bill

    return write_bill(console, place, path)
