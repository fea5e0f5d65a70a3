"""All or nothing, on the whole command: it dies, is interrupted, or fails at every call that changes a file.

Each point is tried on a copy of the same environment; then the next command runs, and the whole site directory has to be
as before the command or as after it. A run tries each fault at some calls; `SITEPATCH_ALL_FAULTS=1` leaves out no call, and
tries each error at each.
"""

import itertools
import os
import shutil
import signal

import pytest

from patcher.store.store import Store
from tests.faults.calls import ERRORS
from tests.faults.cases import ALL, SCENARIOS, Case
from tests.faults.tiny import OTHER

pytestmark = pytest.mark.once

SUCCESS = ("applied  ", "restored  ")


@pytest.fixture(params=SCENARIOS if ALL else [name for name in SCENARIOS if name != "backup"])  # it commits as `forced` does
def case(request, tmp_path):
    return Case(tmp_path, request.param)


def test_killed_before_and_after_every_call_a_command_is_done_or_undone(case, counted):
    """What is found after a call is what is found before the next one, so that few are killed after it."""
    outcomes, waiting = set(), set()
    tried = [("before", point) for point in every(case, 3)]
    tried += [("after", point) for point in sorted({*every(case, 15), case.count})]
    for how, point in tried:
        told = f"{case.name}, killed {how} call {point}"
        assert case.run(point, how).code == -signal.SIGKILL, told
        outcome, waited = case.next_command(told)
        outcomes.add(outcome)
        waiting.add(waited)
    counted("kills", len(tried))
    assert outcomes == {"old", "new"}
    assert len(waiting) == 3  # to undo, to finish, nothing to do


def test_killed_half_way_through_every_write_a_command_is_done_or_undone(case, counted):
    point = 0
    while True:
        point += 1
        done = case.run(point, "torn")
        if done.code != -signal.SIGKILL:
            break
        assert case.next_command(f"{case.name}, torn write {point}")[0] == "old"  # all writes lie before the commit point
    counted("kills", point - 1)
    assert done.code == 0
    assert point > 3


def test_a_write_that_takes_half_of_its_bytes_continues_with_the_rest(case, counted):
    for point in range(1, 8):
        assert case.run(point, "short").code == 0
        assert case.outcome(f"{case.name}, short write {point}") == "new"
        assert Store(str(case.tiny.site)).interrupted() == ""
    counted("short writes", 7)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT"])
def test_interrupted_at_every_call_a_command_is_done_or_undone(case, counted, how):
    last = range(case.count - 4, case.count + 1)  # the lock is given back: all is done, and that has to be said
    outcomes, points = set(), sorted({*every(case, 11), *last})
    for point in points:
        told = f"{case.name}, {how} at call {point}"
        done = case.run(point, how)
        assert not any(word in done.text for word in SUCCESS), (told, done.text)
        if how == "SIGTERM":
            assert done.code == -signal.SIGTERM, told
            outcomes.add(case.next_command(told)[0])
            continue
        assert done.code == 130, (told, done.text)
        assert Store(str(case.tiny.site)).interrupted() == "", told
        outcome, _ = case.next_command(told)
        outcomes.add(outcome)
        said = done.text[done.text.index("interrupted: ") :]
        if outcome == "new":
            assert "was finished" in said, (told, said)
        else:
            assert "nothing was changed" in said or "undone" in said, (told, said)
            assert "finished" not in said, (told, said)
    counted(how, len(points))
    assert outcomes == {"old", "new"}


def test_one_failing_call_is_reported_or_harmless(case, counted):
    tried, failed = 0, 0
    for number, point in enumerate(every(case, 3)):
        for error in ERRORS if ALL else (ERRORS[number % len(ERRORS)],):
            told = f"{case.name}, {error} at call {point}"
            tried += 1
            failed += check_failed(case, case.run(point, error), told)
    counted("failing calls", tried)
    assert failed > tried * 0.7  # what may be passed over: the owner, attributes, the name in the lock file


@pytest.mark.parametrize("how", ["full", "quota"])
def test_a_disk_that_is_full_from_some_call_on_leaves_a_command_done_or_undone(case, counted, how):
    failed, points = 0, every(case, 9)
    for point in points:
        done = case.run(point, how)
        failed += check_failed(case, done, f"{case.name}, {how} from call {point} on")
    counted("full disks", len(points))
    assert failed > 4


def test_a_disk_that_fails_for_good_is_recovered_once_mended(case, counted):
    outcomes, points = set(), every(case, 9)
    for point in points:
        told = f"{case.name}, broken from call {point} on"
        done = case.run(point, "broken")
        waiting = Store(str(case.tiny.site)).interrupted()
        if done.code != 0:
            assert (done.code, "error:" in done.text) == (1, True), (told, done.text)
            assert waiting in done.text, (told, done.text)
            assert not any(word in done.text for word in SUCCESS), (told, done.text)
        outcome, _ = case.next_command(told)
        assert done.code or outcome == "new", told
        outcomes.add(outcome)
    counted("disks that break", len(points))
    assert outcomes == {"old", "new"}


def every(case, step):
    """Each call of a command, or each `step`-th where not all are asked for."""
    return range(1, case.count + 1, 1 if ALL else step)


def check_failed(case, done, told):
    """Check that a command with a failed call reports it and the state of the files; returns whether it failed."""
    assert Store(str(case.tiny.site)).interrupted() == "", (told, done.text)
    if done.code == 0:
        case.next_command(told)  # an empty .sitepatch may be left where the very last removals fail
    outcome = case.outcome((told, done.text))
    if done.code == 0:
        assert outcome == "new", (told, done.text)
        return False
    assert done.code == 1, (told, done.text)
    assert "error:" in done.text, told
    assert "(injected)" in done.text, (told, done.text)
    assert not any(word in done.text for word in SUCCESS), (told, done.text)
    assert outcome == "old" or "finished" in done.text, (told, done.text)
    assert outcome == "new" or "finished" not in done.text, (told, done.text)
    return True


def killed(case):
    """(point, site directory that a kill there leaves) for each kind of state that has to be recovered."""
    seen, folder = [], case.tiny.folder / "killed"
    for point in every(case, 15):
        case.run(point, "before")
        state = case.tiny.tree()
        if state not in seen and Store(str(case.tiny.site)).interrupted():
            seen.append(state)
            os.rename(case.tiny.site, folder)
            yield point, folder
            shutil.rmtree(folder)
    assert len(seen) > 3


def recoveries(case, how):
    """Begin the recovery of each of these states, with a fault at each of its calls: (what is tried, how it ended)."""
    for point, state in killed(case):
        for step in itertools.count(1, 1 if ALL else 3):
            shutil.rmtree(case.tiny.site, ignore_errors=True)
            shutil.copytree(state, case.tiny.site, symlinks=True)
            done = case.tiny.run("restore", OTHER, point=step, how=how)
            if done.code == 0:
                break
            yield point, f"{case.name}, killed at {point}, {how} at call {step} of recovery", done


def test_recovery_may_be_killed_at_every_call(case, counted):
    """From each of some states that a kill leaves, the next command is killed at each of its calls, and then recovers."""
    points, decided = 0, {}
    for point, told, _ in recoveries(case, "before"):
        outcome, _ = case.next_command(told)
        assert outcome == decided.setdefault(point, outcome), told  # once decided, it stays decided
        points += 1
    counted("kills in recovery", points)
    assert points > 20


def test_recovery_may_be_interrupted_at_every_call(case, counted):
    """Ctrl-C stops the command, not the recovery that has begun, and the result is reported."""
    points, decided = 0, {}
    for point, told, done in recoveries(case, "SIGINT"):
        told = (told, done.text)
        assert done.code == 130, told
        waiting = Store(str(case.tiny.site)).interrupted()
        outcome, _ = case.next_command(told)
        assert outcome == decided.setdefault(point, outcome), told
        said = done.text[done.text.index("interrupted: ") :]
        if waiting:
            assert "nothing was changed" in said, told
        elif outcome == "new":
            assert "was finished" in said, told
        else:
            assert "was undone" in said, told
        points += 1
    counted("SIGINT in recovery", points)
    assert points > 20
