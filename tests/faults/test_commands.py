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
    points = [("before", point) for point in every(case, 3)]
    points += [("after", point) for point in sorted({*every(case, 15), case.count})]
    for how, point in points:
        message = f"{case.name}, killed {how} call {point}"
        assert case.run(point, how).code == -signal.SIGKILL, message
        outcome, sentence = case.next_command(message)
        outcomes.add(outcome)
        waiting.add(sentence)
    counted("kills", len(points))
    assert outcomes == {"old", "new"}
    assert len(waiting) == 3  # to undo, to finish, nothing to do


def test_killed_half_way_through_every_write_a_command_is_done_or_undone(case, counted):
    for point in itertools.count(1):
        ended = case.run(point, "torn")
        if ended.code != -signal.SIGKILL:
            break
        assert case.next_command(f"{case.name}, torn write {point}")[0] == "old"  # all writes lie before the commit point
    counted("kills", point - 1)
    assert ended.code == 0
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
    points = sorted({*every(case, 11), *last})
    outcomes = set()
    for point in points:
        message = f"{case.name}, {how} at call {point}"
        ended = case.run(point, how)
        assert not any(word in ended.text for word in SUCCESS), (message, ended.text)
        if how == "SIGTERM":
            assert ended.code == -signal.SIGTERM, message
            outcomes.add(case.next_command(message)[0])
            continue
        assert ended.code == 130, (message, ended.text)
        assert Store(str(case.tiny.site)).interrupted() == "", message
        outcome, _ = case.next_command(message)
        outcomes.add(outcome)
        report = ended.text[ended.text.index("interrupted: ") :]
        if outcome == "new":
            assert "was finished" in report, (message, report)
        else:
            assert "nothing was changed" in report or "undone" in report, (message, report)
            assert "finished" not in report, (message, report)
    counted(how, len(points))
    assert outcomes == {"old", "new"}


def test_one_failing_call_is_reported_or_harmless(case, counted):
    calls, failed = 0, 0
    for number, point in enumerate(every(case, 3)):
        errors = ERRORS if ALL else [ERRORS[number % len(ERRORS)]]
        for error in errors:
            calls += 1
            failed += check_failed(case, case.run(point, error), f"{case.name}, {error} at call {point}")
    counted("failing calls", calls)
    assert failed > calls * 0.7  # what may be passed over: the owner, attributes, the name in the lock file


@pytest.mark.parametrize("how", ["full", "quota"])
def test_a_disk_that_is_full_from_some_call_on_leaves_a_command_done_or_undone(case, counted, how):
    points = every(case, 9)
    failed = 0
    for point in points:
        failed += check_failed(case, case.run(point, how), f"{case.name}, {how} from call {point} on")
    counted("full disks", len(points))
    assert failed > 4


def test_a_disk_that_fails_for_good_is_recovered_once_mended(case, counted):
    points = every(case, 9)
    outcomes = set()
    for point in points:
        message = f"{case.name}, broken from call {point} on"
        ended = case.run(point, "broken")
        waiting = Store(str(case.tiny.site)).interrupted()
        if ended.code != 0:
            assert (ended.code, "error:" in ended.text) == (1, True), (message, ended.text)
            assert waiting in ended.text, (message, ended.text)
            assert not any(word in ended.text for word in SUCCESS), (message, ended.text)
        outcome, _ = case.next_command(message)
        assert ended.code or outcome == "new", message
        outcomes.add(outcome)
    counted("disks that break", len(points))
    assert outcomes == {"old", "new"}


def every(case, step):
    """Each call of a command, or each `step`-th where not all are asked for."""
    return range(1, case.count + 1, 1 if ALL else step)


def check_failed(case, ended, message):
    """Check that a command with a failed call reports it and the state of the files; returns whether it failed."""
    assert Store(str(case.tiny.site)).interrupted() == "", (message, ended.text)
    if ended.code == 0:
        case.next_command(message)  # an empty .sitepatch may be left where the very last removals fail
    outcome = case.outcome((message, ended.text))
    if ended.code == 0:
        assert outcome == "new", (message, ended.text)
        return False
    assert ended.code == 1, (message, ended.text)
    assert "error:" in ended.text, message
    assert "(injected)" in ended.text, (message, ended.text)
    assert not any(word in ended.text for word in SUCCESS), (message, ended.text)
    assert outcome == "old" or "finished" in ended.text, (message, ended.text)
    assert outcome == "new" or "finished" not in ended.text, (message, ended.text)
    return True


def killed_states(case):
    """Yield (point, site directory that a kill there leaves) for each different state that has to be recovered."""
    folder = case.tiny.folder / "killed"
    seen = []
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
    """Begin the recovery of each of these states, with a fault at each of its calls.

    Yields (the point of the kill, a sentence about the two faults, how the recovery ended).
    """
    for point, state in killed_states(case):
        for step in itertools.count(1, 1 if ALL else 3):
            shutil.rmtree(case.tiny.site, ignore_errors=True)
            shutil.copytree(state, case.tiny.site, symlinks=True)
            ended = case.tiny.run("restore", OTHER, point=step, how=how)
            if ended.code == 0:
                break
            yield point, f"{case.name}, killed at {point}, {how} at call {step} of recovery", ended


def test_recovery_may_be_killed_at_every_call(case, counted):
    """From each of some states that a kill leaves, the next command is killed at each of its calls, and then recovers."""
    points, decided = 0, {}
    for point, message, _ in recoveries(case, "before"):
        outcome, _ = case.next_command(message)
        assert outcome == decided.setdefault(point, outcome), message  # once decided, it stays decided
        points += 1
    counted("kills in recovery", points)
    assert points > 20


def test_recovery_may_be_interrupted_at_every_call(case, counted):
    """Ctrl-C stops the command, not the recovery that has begun, and the result is reported."""
    points, decided = 0, {}
    for point, message, ended in recoveries(case, "SIGINT"):
        message = (message, ended.text)
        assert ended.code == 130, message
        waiting = Store(str(case.tiny.site)).interrupted()
        outcome, _ = case.next_command(message)
        assert outcome == decided.setdefault(point, outcome), message
        report = ended.text[ended.text.index("interrupted: ") :]
        if waiting:
            assert "nothing was changed" in report, message
        elif outcome == "new":
            assert "was finished" in report, message
        else:
            assert "was undone" in report, message
        points += 1
    counted("SIGINT in recovery", points)
    assert points > 20
