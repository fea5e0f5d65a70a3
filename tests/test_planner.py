"""The planner by itself: facts that nobody read, a rewriter that replaces text, and no file anywhere."""

from __future__ import annotations

from typing import Tuple

import pytest

from patcher.errors import SitepatchError
from patcher.facts import AppliedFile, Assignment, Condition, Facts, FileStatus, TargetFile, sha256
from patcher.model import (
    HunkAnswer,
    HunkText,
    Located,
    Patchset,
    PatchsetSource,
    Plan,
    Receipt,
    Requested,
    Rewrite,
    Splice,
    State,
    Step,
    Verify,
)
from patcher.planner.plan import decide_apply, decide_files, decide_restore, decide_sync

SITE, PATH = "/nowhere", "demo/m.py"
TEXT, ONE, BOTH = b"a = 1\nb = 1\n", b"a = 2\nb = 1\n", b"a = 2\nb = 2\n"
LOCATED = Located("demo", SITE, "demo", "1.0", "")
BLANK = Receipt(PATH, "demo", "demo", "1.0", "", "", 0o644, 7, "", ())
PLAIN = TargetFile(TEXT, TEXT, blank=BLANK)


def assignment(name: str, kind: str = "fix") -> Assignment:
    """The request to set a variable of that name to 2."""
    patchset = Patchset(name, "1", kind, "", "", {}, (), (), Verify(), f"digest of {name}", PatchsetSource("here"), {})
    return Assignment(Requested(patchset, {}), LOCATED, PATH, (HunkText(f"{name}.spatch", 1, name, 1, False, ()),), ())


class Replace:
    """A rewriter without a syntax tree."""

    def rewrite(self, data: bytes, asked: Assignment) -> Rewrite:
        at = data.find(f"{asked.hunks[0].scope} = 1".encode())
        if at < 0:
            return Rewrite(data, (), (HunkAnswer(asked.hunks[0], State.NOT_FOUND),))
        splices = (Splice(at + 4, at + 5, b"2"),)
        return Rewrite(data[: at + 4] + b"2" + data[at + 5 :], splices, (HunkAnswer(asked.hunks[0], State.APPLICABLE, (1,), splices),))

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        return assignment(step.patchset, step.kind)


def facts(*names: str, target: TargetFile = PLAIN) -> Facts:
    return Facts({(SITE, PATH): tuple(map(assignment, names))}, {(SITE, PATH): target})


def applied(*names: str) -> Tuple[TargetFile, AppliedFile]:
    """The file in which these are applied: as a target, and as one in which something is to be reverted."""
    (file,) = decide_apply(facts(*names), Replace()).files
    assert file.change and file.change.receipt
    receipt = file.change.receipt
    target = TargetFile(TEXT, file.after, receipt.steps, receipt.current, receipt=receipt, blank=receipt._replace(steps=()))
    return target, AppliedFile(FileStatus(SITE, receipt, Condition.APPLIED, file.after), TEXT)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_order_in_which_patchsets_are_named_makes_no_difference(names: Tuple[str, ...]) -> None:
    (file,) = decide_apply(facts(*names), Replace()).files
    assert (file.before, file.after, [step.patchset for step in file.steps]) == (TEXT, BOTH, ["a", "b"])
    receipt = file.change and file.change.receipt
    assert receipt and (receipt.pristine, receipt.current, receipt.mtime_ns) == (sha256(TEXT), sha256(BOTH), 7)


def test_what_is_applied_stays_and_only_sync_reverts_it() -> None:
    target, _ = applied("a")
    (file,) = decide_apply(facts("b", target=target), Replace()).files
    assert file.after == BOTH and file.change and file.change.pristine is None
    plan, (locked,) = decide_sync(facts("a", target=applied("a", "b")[0]), Replace())
    assert plan.files[0].after == ONE and (locked.before, locked.after) == (sha256(TEXT), sha256(ONE))


def test_a_file_in_which_none_of_the_named_is_applied_is_no_part_of_the_plan() -> None:
    assert decide_restore([applied("a")[1]], ("b",), Replace()) == Plan((), ())


def test_an_edit_by_hand_stays_unless_it_is_forced_away() -> None:
    _, file = applied("a")
    edited = file._replace(status=file.status._replace(condition=Condition.EDITED, data=ONE + b"c = 3\n"))
    (kept,) = decide_restore([edited], (), Replace()).files
    (forced,) = decide_restore([edited], (), Replace(), force=True).files
    assert (kept.after, kept.aside, forced.after, forced.aside) == (TEXT + b"c = 3\n", b"", TEXT, ONE + b"c = 3\n")
    earlier = facts("b")._replace(patched=(edited,), reverted=("a",))
    assert [answer.patchset for answer in decide_apply(earlier, Replace()).failed] == ["a"]
    assert not decide_apply(earlier, Replace(), force=True).failed


def test_nothing_changes_where_all_is_as_requested() -> None:
    target, _ = applied("a", "b")
    plan, _ = decide_files(facts("a", "b", target=target), Replace())
    assert plan.files[0].change is None and [answer.state for answer in plan.answers] == [State.APPLIED] * 2


@pytest.mark.parametrize(("names", "left"), [((), TEXT), (("a", "b"), TEXT), (("b",), ONE), (("a",), b"a = 1\nb = 2\n")])
def test_a_restore_leaves_what_was_not_named(names: Tuple[str, ...], left: bytes) -> None:
    (file,) = decide_restore([applied("a", "b")[1]], names, Replace()).files
    assert (file.before, file.after) == (BOTH, left)
    assert file.change and (file.change.data is None) == (left == TEXT)


def test_a_file_that_could_not_be_read_is_a_conflict_with_the_reason() -> None:
    bad = TargetFile(b"", b"", problem=SitepatchError("it is not as upstream shipped it", "put it back"), notes=("seen",))
    plan = decide_apply(facts("a", target=bad), Replace())
    assert [(answer.state, answer.problem, answer.hint) for answer in plan.answers] == [(State.CONFLICT, *bad.problem.args, "put it back")]
    assert (plan.files, plan.notes) == ((), ("seen",))


def test_edited_bytes_are_set_aside_only_where_they_would_be_lost() -> None:
    for edit, aside in ((ONE, b""), (ONE + b"c = 3\n", ONE + b"c = 3\n")):
        target = TargetFile(TEXT, edit, aside=edit, blank=BLANK)
        (file,) = decide_apply(facts("a", target=target), Replace()).files
        assert (file.after, file.aside) == (ONE, aside)
