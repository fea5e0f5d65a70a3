"""What came of verifying, as rows of text and as JSON. Pure."""

from __future__ import annotations

from typing import Any, Dict, List

from patcher.cli.told import Quoted, term
from patcher.text.table import Row, count
from patcher.verify.checks import COMPILE, IMPORT, PROBE, Verified


def verified_rows(verified: Verified, *, quiet: bool) -> List[Row]:
    """What is good in one line with the seconds of each step, what is not with its last lines; if `quiet` failures alone."""
    parts = []
    for what in (COMPILE, IMPORT, PROBE):
        good = [check for check in verified.checks if check.what == what and not check.problem]
        seconds = sum(check.seconds for check in good)
        told = {
            COMPILE: f"{count(len(good), 'file')} compiled in {seconds:.2f} s",
            IMPORT: f"{count(len(good), 'module')} imported in {seconds:.2f} s",
            PROBE: f"{count(len(good), 'probe')} passed in {seconds:.2f} s",
        }
        parts += [told[what]] if good else []
    note = (f"not imported: {', '.join(verified.left_out)}: {verified.reason}",)
    details = note if verified.left_out and verified.reason else ()
    found = [Row("verified", (", ".join(parts),), details)] if parts and not verified.failed else []
    for check in verified.checks:
        if check.problem:
            said = ("it fails without the patch too: no fault of the patch",) if check.before else ()
            more = tuple(map(Quoted, check.output.split("\n"))) if check.output else ()
            found.append(Row(check.state, (f"{term(check.what)} {check.name}: {check.problem}",), (*said, *more)))
    return [row for row in found if not quiet or row.word == "failed"]


def verified_json(verified: Verified, *, rolled_back: bool = False) -> Dict[str, Any]:
    """The field `verify` of `apply` and `verify`."""
    steps = {what: sum(each.seconds for each in verified.checks if each.what == what) for what in (COMPILE, IMPORT, PROBE)}
    checks = [
        {"what": each.what, "name": each.name, "state": each.state, "problem": each.problem, "output": each.output}
        for each in verified.checks
    ]
    seconds = {name: round(value, 3) for name, value in (*steps.items(), ("total", verified.seconds))}
    return {
        "ok": not verified.failed,
        "checks": checks,
        "left_out": list(verified.left_out),
        "seconds": seconds,
        "rolled_back": rolled_back,
    }
