"""What patchsets are to an environment: which are for what is installed. Reads only."""

from __future__ import annotations

from hashlib import sha256
from typing import Collection, Dict, List, NamedTuple, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.model import HunkText, Located, Patchset, Requested, State, Variant
from patcher.patchset.sources import builtin_table, matching_variants, pick_variants, resolve_options
from patcher.store.status import read
from patcher.target.environment import Environment, find_file, locate

APPLIED, AVAILABLE, OUT_OF_RANGE, ABSENT = "applied", "available", "out of range", "absent"
UPSTREAM, NOT_NEEDED = State.UPSTREAM.value, State.NOT_NEEDED.value


class Fit(NamedTuple):
    """What a patchset is to an environment, and its packages that are installed there, of whatever release."""

    state: str
    installed: Tuple[Located, ...]

    @property
    def in_range(self) -> bool:
        """Whether it is for a release that is installed."""
        return self.state not in (OUT_OF_RANGE, ABSENT)

    @property
    def rank(self) -> int:
        """The lower, the nearer to what is installed."""
        return (APPLIED, AVAILABLE, UPSTREAM, NOT_NEEDED, OUT_OF_RANGE, ABSENT).index(self.state)


def fit(env: Environment, patchset: Patchset, applied: Collection[str]) -> Fit:
    """Whether a patchset is `applied`, or is for the releases that are installed.

    No code is matched: that such a release does without it (`upstream`, `not needed`) is known only where the results for its
    files ship with the patchset. Otherwise the state is `available`.
    """
    installed: List[Located] = []
    ranged: List[Tuple[Located, List[Variant]]] = []
    for package, variants in pick_variants(patchset).items():
        try:
            located = locate(env, package, [path for one in variants for patch in one.patches for path in patch.paths])
        except SitepatchError:
            continue  # not there, or not to be patched: `check` says which
        installed.append(located)
        matching = matching_variants(variants, located.version)
        ranged += [(located, matching)] if matching else []
    state = OUT_OF_RANGE if installed else ABSENT
    if patchset.name in applied:
        state = APPLIED
    elif ranged:
        state = _shipped_state(patchset, ranged)
    return Fit(state, tuple(installed))


def _shipped_state(patchset: Patchset, ranged: Sequence[Tuple[Located, Sequence[Variant]]]) -> str:
    """`upstream` or `not needed` where the results that ship with a patchset say so of every file, else `available`."""
    requested = Requested(patchset, resolve_options(patchset, {}))
    table, states = builtin_table(patchset.name), {State.NOT_NEEDED}
    for located, variants in ranged:
        hunks: Dict[str, Tuple[HunkText, ...]] = {}
        for patch in variants[0].patches:
            found = find_file(located, patch.paths)
            absent = not found and not all(hunk.when_present for hunk in patch.hunks)
            if absent or len(found) > 1 or len(variants) > 1:  # which of them is meant takes the engine
                return AVAILABLE
            hunks.update({path: hunks.get(path, ()) + patch.hunks for path in found})
        for path, several in hunks.items():
            data = read(located.site, path) or b""
            if sha256(data).hexdigest().encode() not in table:
                return AVAILABLE
            from patcher.planner.rewriter import request_of, shipped_result  # with json, for a text that is in the table

            made = shipped_result(data, request_of(requested, several, variants[0].names))
            states |= {answer.state for answer in made.answers} if made else {State.APPLICABLE}
    if not states <= {State.UPSTREAM, State.NOT_NEEDED}:
        return AVAILABLE
    return UPSTREAM if State.UPSTREAM in states else NOT_NEEDED
