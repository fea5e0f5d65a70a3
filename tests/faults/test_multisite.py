"""One run over two site directories: with a failing call or Ctrl-C anywhere it is done in both or in none."""

import os
import sys

import pytest

from patcher.errors import StoreError
from patcher.model import FilePlan, Patchset, Plan, Verify
from patcher.store.commit import commit
from patcher.store.store import Store
from tests import test_store as unit
from tests.faults.calls import ERRORS, in_child

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
PATCHSET = Patchset("p", "1.0", "fix", "", "", {}, (), (), Verify(), unit.DIGESTS[1], "", unit.TEXTS[1])
RESTORE = unit.Change(unit.A, unit.sha(unit.new(unit.A)), None, None)
APPLY = unit.Change(unit.A, unit.sha(unit.PRISTINE[unit.A]), unit.new(unit.A), unit.receipt(unit.A))


class Two:
    """Two site directories, a plan for one file in each, and what they hold before and after it."""

    def __init__(self, folder, word):
        self.folder, self.word = folder, word
        self.sites = [unit.make_site(folder / "one" / "site"), unit.make_site(folder / "two" / "site")]
        texts = [unit.PRISTINE[unit.A], unit.new(unit.A)]
        change, (before, after) = (APPLY, texts) if word == "apply" else (RESTORE, texts[::-1])
        if word == "restore":
            for site in self.sites:
                Store(str(site)).commit([APPLY], {PATCHSET.digest: PATCHSET.files})
        self.plan = Plan(tuple(FilePlan(str(site), unit.A, before, after, change, ()) for site in self.sites), ())
        self.saved = [unit.copy_of(site, folder / f"saved-{site.parent.name}" / "site") for site in self.sites]
        self.old = self.tree()
        self.count = self.run().count
        self.new = self.tree()
        assert self.new != self.old

    def tree(self):
        return [unit.tree(site) for site in self.sites]

    def run(self, point=0, how="none"):
        for saved, site in zip(self.saved, self.sites):
            unit.copy_of(saved, site)

        def carry_out():
            try:
                commit(self.plan, [PATCHSET])
            except StoreError as error:
                print(f"{error.message}\n{error.hint}", file=sys.stderr)
                return 1
            except KeyboardInterrupt as error:
                print(error, file=sys.stderr)
                return 130
            return 0

        return in_child(carry_out, point, how)


@pytest.fixture(params=["apply", "restore"])
def two(request, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return Two(tmp_path, request.param)


@pytest.mark.parametrize("how", [*ERRORS, "SIGINT"])
def test_it_is_done_in_both_or_in_none_and_that_is_reported(two, counted, how):
    rolled_back, points = 0, range(1 + ERRORS.index(how) if how in ERRORS and not ALL else 1, two.count + 1, 1 if ALL else 6)
    for point in points:
        done = two.run(point, how)
        case = (two.word, how, point, done.text)
        assert [Store(str(site)).interrupted() for site in two.sites] == ["", ""], case
        assert [Store(str(site)).recover() for site in two.sites] == ["", ""], case  # it removes a lock file that was left
        assert two.tree() == (two.new if done.code == 0 else two.old), case
        assert ("every file is as before this run" in done.text) == (done.code != 0), case
        rolled_back += done.code != 0 and f"{two.sites[0]} and {two.sites[1]}" in done.text
    counted("points in a run over two directories", len(points))
    assert rolled_back > 3


def test_what_cannot_be_rolled_back_is_named(two):
    """From the first call on the second directory nothing can be written any more."""
    done = two.run(two.count * 3 // 4, "broken")
    now = two.tree()
    assert (done.code, now[0]) == (1, two.new[0])
    assert f"these files are changed: {two.sites[0]}/{unit.A}" in done.text


def test_a_kill_between_two_leaves_the_first_one_done_and_nothing_to_recover(two):
    """No journal spans them: each directory is recoverable alone."""
    found = []
    for point in range(two.count // 2 - 4, two.count // 2 + 5):
        two.run(point, "before")
        if not any(Store(str(site)).interrupted() for site in two.sites):
            assert [Store(str(site)).recover() for site in two.sites] == ["", ""], point
            found.append(two.tree())
    assert [two.new[0], two.old[1]] in found
