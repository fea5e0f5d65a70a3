"""One run over two site directories: with a failing call or Ctrl-C anywhere it is done in both or in none."""

import os
import sys

import pytest

from patcher.errors import StoreError
from patcher.model import About, Change, NewBytes, Patchset, PatchsetFolder, PatchsetSource, Verify
from patcher.store.store import Store
from patcher.store.transaction import transaction
from tests.faults.calls import ERRORS, in_child
from tests.store import helpers as unit
from tests.stores import commit, recover

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
FOLDER = PatchsetFolder(PatchsetSource("test"), unit.TEXTS[1], unit.DIGESTS[1])
PATCHSET = Patchset("p", "1.0", About("fix", ""), (), (), Verify(), FOLDER)
RESTORE = Change(unit.A, unit.sha(unit.new(unit.A)), None, None)
APPLY = Change(unit.A, unit.sha(unit.PRISTINE[unit.A]), NewBytes(unit.new(unit.A)), unit.receipt(unit.A))


class Two:
    """Two site directories, a plan for one file in each, and their content before and after it."""

    def __init__(self, folder, word):
        self.folder, self.word = folder, word
        self.sites = [unit.make_site(folder / "one" / "site"), unit.make_site(folder / "two" / "site")]
        change = APPLY if word == "apply" else RESTORE
        if word == "restore":
            for site in self.sites:
                commit(site, [APPLY], {PATCHSET.folder.digest: PATCHSET.folder.files})
        self.changes = {str(site): [change] for site in self.sites}
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
                with transaction(self.changes) as run:
                    run.commit(self.changes, {PATCHSET.folder.digest: PATCHSET.folder.files})
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
def test_a_change_of_two_directories_is_done_in_both_or_in_none_and_reported(two, counted, how):
    points = range(1, two.count + 1)
    if not ALL:
        first = ERRORS.index(how) if how in ERRORS else 0  # each error at other calls
        points = points[first::6]
    outcomes = set()
    for point in points:
        ended = two.run(point, how)
        case = (two.word, how, point, ended.text)
        assert [Store(str(site)).interrupted() for site in two.sites] == ["", ""], case
        assert [recover(site) for site in two.sites] == ["", ""], case  # it removes a lock file that was left
        finished = ended.code == 0 or "finished" in ended.text
        assert two.tree() == (two.new if finished else two.old), case
        outcomes.add(finished)
    counted("points in a run over two directories", len(points))
    assert outcomes == {True, False}


def test_what_can_neither_be_finished_nor_undone_waits_and_that_is_reported(two):
    """From a call after the first rename on, nothing can be written any more."""
    waiting = []
    for point in range(two.count // 2, two.count):
        ended = two.run(point, "broken")
        sentences = [Store(str(site)).interrupted() for site in two.sites]
        if all("will be finished" in sentence for sentence in sentences):
            waiting.append(point)
            assert ended.code == 1 and "an interrupted run will be finished: 1 file as it meant them to be" in ended.text, ended
            assert ["was finished" in recover(site) for site in two.sites] == [True, True]
            assert two.tree() == two.new
    assert waiting


def test_a_kill_between_two_journals_finishes_one_and_undoes_the_other(two):
    """No journal spans them: each directory is recoverable alone."""
    trees = []
    for point in range(1, two.count + 1):
        two.run(point, "before")
        for site in two.sites:
            recover(site)
        trees.append(two.tree())
    assert [two.new[0], two.old[1]] in trees
    assert [two.old[0], two.new[1]] not in trees
