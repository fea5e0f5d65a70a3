"""A power cut at any moment of a commit: the disk states that may be found are built, and each is recovered.

disk.py says which writes may be lost. That the model sees what matters is shown by leaving out each sync of the store in
turn: a state must then be found that recovery does not bring back to all old or all new. A run cuts the power after every
seventh call, the last one among them; `SITEPATCH_ALL_FAULTS=1` after each.
"""

import os
import shutil

import pytest

from patcher.errors import StoreError
from patcher.model import Change, NewBytes
from patcher.store import prepare
from patcher.store.folder import HOME, JOURNAL
from patcher.store.store import Store
from tests.faults import calls
from tests.faults.disk import Disk, Recorder, write_out
from tests.store import helpers as unit
from tests.stores import commit, recover

pytestmark = pytest.mark.once

SPARE_SIZE = 1 << 12
EACH = 1 if os.environ.get("SITEPATCH_ALL_FAULTS") else 7  # after how many calls the power is cut


def comparable(tree):
    """A tree without the mode and mtime of pristine copies: those are set from the receipt before a copy is put back."""
    if tree is None:
        return None
    compared = dict(tree)
    for path, (kind, content, *_) in tree.items():
        if path.startswith(f"{HOME}/pristine/"):
            compared[path] = (kind, content)
    return compared


class Cut:
    """One commit (or recovery) that was recorded, and what may be found when the power fails in its course."""

    def __init__(self, folder, start, action, old, new):
        self.folder, self.start, self.action = folder, start, action
        self.old, self.new = comparable(old), comparable(new)
        self.outcomes = {}

    def record(self, without=""):
        site = self.folder / "site"
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(self.start, site, symlinks=True)
        disk, recorder = Disk(site), Recorder(without)
        real = {name: getattr(os, name) for name in calls.NAMES if hasattr(os, name)}
        try:
            calls.watch(recorder)
            self.action(site)
        finally:
            for name, function in real.items():
                setattr(os, name, function)
        return disk, recorder

    def violations(self, without=""):
        """Yield a sentence for each state that is neither old nor new, the latest power cut first: there harm is found soonest."""
        disk, recorder = self.record(without)
        cuts = []
        for event, *args in recorder.events:
            getattr(disk, event)(*args)
            cuts.append((f"{event} {args}", list(disk.states())))
        _, states_at_the_end = cuts[-1]
        for state in states_at_the_end:
            if self.outcome(state) != "new" or f"{HOME}/{JOURNAL}" in state:
                yield f"a power cut after the end: {self.outcome(state)}, or the journal is back"
        step = 1 if without else EACH
        for event, states in cuts[::-step]:
            for state in states:
                if self.outcome(state) not in ("old", "new"):
                    yield f"a power cut after {event}: {self.outcome(state)}"

    def outcome(self, state):
        key = frozenset(state.items())
        if key not in self.outcomes:
            self.outcomes[key] = self._recover(state)
        return self.outcomes[key]

    def _recover(self, state):
        site = self.folder / "cut/site"
        shutil.rmtree(site, ignore_errors=True)
        site.mkdir(parents=True)
        write_out(state, str(site))
        try:
            recover(site)
            now = comparable(unit.tree(site))
        except (StoreError, OSError) as error:
            return f"recovery fails: {error}"
        if now == self.old:
            return "old"
        if now != self.new:
            return f"neither: {self._wrong(now) or 'a mixture'}"
        spare = site / HOME / "spare"
        if spare.exists() and spare.stat().st_size < SPARE_SIZE:
            return "the spare space is not there"
        stale = [name for name in unit.bytecode(site) if name.startswith("a.")]
        if stale and TWIN not in self.new and self.old is not None:
            return f"stale bytecode: {stale}"
        return "new"

    def _wrong(self, now):
        """(name, what is there, the old, the new) of each entry that is neither."""
        old = self.old or {}
        entries = [(name, now.get(name), old.get(name), self.new.get(name)) for name in sorted({*now, *self.new, *old})]
        return [entry for entry in entries if entry[1] not in entry[2:]]


TWIN = "pkg/twin.py"


def with_twin(site):
    """Two files of the same bytes share a pristine copy; the first of them is back already, with its own mode and mtime."""
    (site / TWIN).write_bytes(unit.PRISTINE[unit.A])
    (site / TWIN).chmod(0o600)
    os.utime(site / TWIN, ns=(unit.MTIME + 5, unit.MTIME + 5))
    of_twin = unit.receipt(unit.A, mode=0o600, mtime_ns=unit.MTIME + 5)._replace(path=TWIN)
    old, new = unit.sha(unit.PRISTINE[unit.A]), unit.new(unit.A)
    changes = [Change(unit.A, old, NewBytes(new), unit.receipt(unit.A)), Change(TWIN, old, NewBytes(new), of_twin)]
    commit(site, changes, {unit.DIGESTS[1]: unit.TEXTS[1]})
    commit(site, [Change(unit.A, unit.sha(new), None, None)], {})


def restore_twin(site):
    commit(site, [Change(TWIN, unit.sha(unit.new(unit.A)), None, None)], {})


SCENARIOS = {name: (first, action) for name, first, action in unit.SCENARIOS}
SCENARIOS["twin"] = (with_twin, restore_twin)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """A function: a folder of its own for a scenario -> its Cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(prepare, "_SPARE_SIZE", SPARE_SIZE)  # half a megabyte in each of thousands of states is slow

    def cut_of(name):
        folder = tmp_path / name
        (folder / "base").mkdir(parents=True)
        site = unit.make_site(folder / "base/site")
        for cache in (folder / "cache", folder / "cut/cache"):  # where the link of the third file leads
            shutil.copytree(folder / "base/cache", cache)
        first, action = SCENARIOS[name]
        old, new = unit.prepared(site, first, action)
        return Cut(folder, site, action, old, new)

    return cut_of


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_power_cut_leaves_all_old_or_all_new(start, name, counted):
    cut = start(name)
    assert list(cut.violations()) == []
    counted("disk states after a power cut", len(cut.outcomes))
    assert set(cut.outcomes.values()) == {"old", "new"}
    assert len(cut.outcomes) > 20


@pytest.mark.parametrize("name", ["apply", "restore"])
def test_a_power_cut_during_recovery_leaves_all_old_or_all_new(start, name, counted):
    cut = start(name)
    sentences, states = set(), 0
    point = 0
    while True:
        point += 7 if EACH == 1 else 21
        killed = unit.copy_of(cut.start, cut.folder / "killed/site")
        if unit.run_faulty(lambda: cut.action(killed), point, "before")[0] == 0:  # noqa: B023
            break
        waiting = Store(str(killed)).interrupted()
        if waiting:
            verdict = cut.new if "finished" in waiting else cut.old
            again = Cut(cut.folder, start=killed, action=recover, old=None, new=verdict)
            assert list(again.violations()) == []
            sentences.add(waiting)
            states += len(again.outcomes)
    counted("disk states after a power cut", states)
    assert len(sentences) == 2  # it will be undone, it will be finished


def test_without_any_one_of_its_syncs_a_power_cut_does_harm(start, counted):
    """Each place in the code that waits for the disk, identified by its line, is left out in turn."""
    cuts_by_place = {}
    for name in SCENARIOS:
        cut = start(name)
        _, recorder = cut.record()
        for place in recorder.syncs:
            cuts_by_place.setdefault(place, []).append(cut)
    harmless = []
    for place, cuts in sorted(cuts_by_place.items()):
        harm = first_violation(cuts, place)
        print(f"{place}: {harm[:150] or 'HARMLESS'}")
        if not harm:
            harmless.append(place)
    counted("syncs left out", len(cuts_by_place))
    assert len(cuts_by_place) > 10
    assert harmless == []


def first_violation(cuts, without):
    """What a power cut does in the first of these commits that it harms without that sync; "" if it harms none."""
    for cut in cuts:
        for violation in cut.violations(without):
            return violation
    return ""
