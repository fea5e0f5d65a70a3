"""A plan for two site directories: where the second commit fails, the first is rolled back, to whatever was there before."""

import pytest

from patcher.errors import StoreError
from patcher.model import Change, FilePlan, Patchset, Plan, Receipt, Step, Verify
from patcher.store import commit as module
from patcher.store.commit import Rollback, commit, lock_sites, plan_rollback, roll_back
from patcher.store.store import Store
from patcher.system.reading import patchset_digest
from tests.test_store import sha

FILE, OLD, NEW, NEWER = "pkg/a.py", b"old", b"new", b"newer"
TEXTS = {"patchset.toml": "x"}
PATCHSET = Patchset("p", "1.0", "fix", "", "", {}, (), (), Verify(), patchset_digest(TEXTS), "", TEXTS)
STEP = Step("p", "1.0", PATCHSET.digest, "fix", {}, ())


def receipt(current):
    return Receipt(FILE, "pkg", "pkg", "1", sha(OLD), sha(current), 0o644, 0, "", (STEP,))


def apply(site, before, after):
    return FilePlan(str(site), FILE, before, after, Change(FILE, sha(before), after, receipt(after)), (STEP,))


@pytest.fixture
def sites(tmp_path):
    sites = [tmp_path / name for name in "ab"]
    for site in sites:
        (site / "pkg").mkdir(parents=True)
        (site / FILE).write_bytes(OLD)
    return sites


def status(sites):
    """The bytes of each file, and those that its receipt is for."""
    current = [Store(str(site)).receipts().get(FILE) for site in sites]
    return [(site / FILE).read_bytes() for site in sites], [one and one.current for one in current]


@pytest.mark.parametrize("before", [OLD, NEW, b"edited by hand"])
@pytest.mark.parametrize(("kind", "words"), [(StoreError, ["failed", "see there"]), (StoreError, ["failed"]), (KeyboardInterrupt, [])])
def test_where_the_second_fails_the_first_is_as_before(sites, monkeypatch, before, kind, words):
    if before != OLD:
        assert commit(Plan(tuple(apply(site, OLD, NEW) for site in sites), ()), [PATCHSET]) == []
    for site in sites:
        (site / FILE).write_bytes(before)
    was, real = status(sites), Store.commit

    def fails(store, *more):
        if store.site == str(sites[1]):
            monkeypatch.setattr(Store, "commit", real)
            raise kind(*words)
        return real(store, *more)

    monkeypatch.setattr(Store, "commit", fails)
    untouched, third = FilePlan("none", FILE, OLD, OLD, None, ()), apply(sites[0].with_name("third"), OLD, NEW)
    plan = Plan((untouched, *(apply(site, before, NEWER) for site in sites), third), ())
    with pytest.raises(kind) as caught:
        commit(plan, [PATCHSET])
    outcome = f"it was rolled back, every file is as before this run, in {sites[0]} and {sites[1]}"
    said = str(caught.value) if kind is KeyboardInterrupt else caught.value.hint
    assert said == "\n".join([*words[1:], outcome])
    assert status(sites) == was
    assert before != OLD or not (sites[0] / ".sitepatch").exists()


def test_a_deleted_file_that_is_put_back_stays_where_the_second_fails(sites):
    commit(Plan(tuple(apply(site, OLD, NEW) for site in sites), ()), [PATCHSET])
    (sites[0] / FILE).unlink()
    put_back = FilePlan(str(sites[0]), FILE, b"", OLD, Change(FILE, "", None, None), ())
    with pytest.raises(StoreError, match="has changed since"):
        commit(Plan((put_back, apply(sites[1], NEWER, OLD)), ()), [PATCHSET])
    assert status(sites) == ([OLD, NEW], [None, sha(NEW)])


def test_a_plan_for_one_directory_is_one_commit(sites, monkeypatch):
    monkeypatch.setattr(Store, "commit", lambda store, changes, texts: "recovered")
    monkeypatch.setattr(module, "plan_rollback", lambda plan: pytest.fail("nothing to go back to"))
    assert commit(Plan((apply(sites[0], OLD, NEW),), ()), [PATCHSET]) == ["recovered"]


def test_what_cannot_be_rolled_back_is_named_and_what_recovery_reports_is_returned(sites, monkeypatch):
    plan, real = Plan((*(apply(site, OLD, NEW) for site in sites), FilePlan("c", FILE, OLD, OLD, None, ())), ()), Store.commit

    def commits(store, changes, texts, **more):
        if store.site == str(sites[1]):
            monkeypatch.setattr(Store, "commit", fails)
            raise StoreError("failed")
        return real(store, changes, texts, **more) or "recovered"

    def fails(store, changes, texts, **more):
        raise StoreError("failed too")

    monkeypatch.setattr(Store, "commit", commits)
    with pytest.raises(StoreError) as caught:
        commit(plan, [PATCHSET])
    assert caught.value.hint == f"it could not be rolled back everywhere, these files are changed: {sites[0]}/{FILE}"
    monkeypatch.setattr(Store, "commit", lambda store, *args, **more: "recovered" if store.site == str(sites[1]) else "")
    assert commit(plan, [PATCHSET]) == ["recovered"]


def test_the_rollback_is_planned_before_and_leads_back(sites):
    plan = Plan((apply(sites[0], OLD, NEW), FilePlan("none", FILE, OLD, OLD, None, ())), ())
    back = FilePlan(str(sites[0]), FILE, NEW, OLD, Change(FILE, sha(NEW), None, None), ())
    assert plan_rollback(plan) == Rollback(Plan((back,), ()), {})
    commit(plan, [PATCHSET])
    again = plan_rollback(Plan((apply(sites[0], NEW, NEWER),), ()))
    change = Change(FILE, sha(NEWER), NEW, receipt(NEW))
    assert again == Rollback(Plan((FilePlan(str(sites[0]), FILE, NEWER, NEW, change, (STEP,)),), ()), {PATCHSET.digest: TEXTS})
    edited = plan_rollback(Plan((apply(sites[0], b"edited", NEWER),), ()))
    assert edited.plan.files[0].change == Change(FILE, sha(NEWER), b"edited", receipt(NEW), merged=True)
    forget = FilePlan(str(sites[0]), FILE, OLD, OLD, Change(FILE, sha(OLD), None, None, forget=True), ())
    assert plan_rollback(Plan((forget,), ())).plan.files == ()
    overwritten = plan_rollback(Plan((apply(sites[0], OLD, NEWER),), ()))  # by a reinstall
    assert overwritten.plan.files[0].change == Change(FILE, sha(NEWER), None, None)
    roll_back(Rollback(Plan((back,), ()), {}))
    assert status(sites[:1]) == ([OLD], [None])


def test_the_directories_are_locked_in_one_order_and_only_those_that_change(sites, monkeypatch):
    locked, real = [], Store.locked
    monkeypatch.setattr(Store, "locked", lambda store: locked.append(store.site) or real(store))
    files = (apply(sites[1], OLD, NEW), apply(sites[0], OLD, NEW), FilePlan("none", FILE, OLD, OLD, None, ()))
    with lock_sites(Plan(files, ())):
        assert (sites[0] / ".sitepatch/lock").exists()
    assert locked == [str(site) for site in sites] and not (sites[0] / ".sitepatch").exists()
