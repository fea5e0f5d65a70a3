"""Why a difference is there: the patchsets that make it, as they are applied or would be, and what they were tried on."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Sequence

from patcher.model import OptionValue, Patchset
from patcher.ops.diff import DiffOutcome
from patcher.ops.looking.show import compatibility_table
from patcher.planner.resolve import stored_patchset


class Reason(NamedTuple):
    """A patchset with its options; `applied` is whether it is applied, `checked` the table of releases in its folder."""

    patchset: Patchset
    options: Mapping[str, OptionValue]
    applied: bool
    checked: str = ""


def reasons(outcome: DiffOutcome, patch_dirs: Sequence[str]) -> List[Reason]:
    """The patchsets that make a difference, each once: what is applied is read from the copy that the store has of it.

    Raises:
        StoreError: such a copy is missing or damaged.
    """
    made = {name for diff in outcome.applied for name in diff.patchsets}
    found: Dict[str, Reason] = {}
    for item in outcome.items:
        for step in item.receipt.steps:
            if step.patchset in made and step.patchset not in found:
                found[step.patchset] = Reason(stored_patchset(item.site, step), step.options, True)
    for one in outcome.requested:
        found[one.patchset.name] = Reason(one.patchset, one.options, False)
    return [each._replace(checked=compatibility_table(each.patchset, patch_dirs)) for each in found.values()]
