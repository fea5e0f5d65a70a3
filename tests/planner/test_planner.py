"""The planner by itself: facts that nobody read, a rewriter that replaces text, and no file anywhere."""

from typing import Optional, Tuple

import pytest

from patcher.errors import SitepatchError
from patcher.facts import Assignment, Facts, TargetFile, Wanted, sha256
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
from patcher.planner.plan import plan

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
    here = tuple(map(assignment, names))
    return Facts({(SITE, PATH): here} if here else {}, {(SITE, PATH): target})


def asked(*names: str) -> Wanted:
    return Wanted(tuple(assignment(name).requested for name in names))


def planned(wanted: Wanted, target: TargetFile = PLAIN) -> Plan:
    return plan(facts(*(one.patchset.name for one in wanted.requested), target=target), wanted, Replace())


def applied(*names: str) -> TargetFile:
    """The file in which these are applied."""
    (file,) = planned(asked(*names)).files
    assert file.change and file.change.receipt
    receipt = file.change.receipt
    return TargetFile(TEXT, file.after, receipt.steps, receipt=receipt, blank=receipt._replace(steps=()))


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_order_in_which_patchsets_are_named_makes_no_difference(names: Tuple[str, ...]) -> None:
    (file,) = planned(asked(*names)).files
    assert (file.before, file.after, [step.patchset for step in file.steps]) == (TEXT, BOTH, ["a", "b"])
    receipt = file.change and file.change.receipt
    assert receipt and (receipt.pristine, receipt.current, receipt.mtime_ns) == (sha256(TEXT), sha256(BOTH), 7)


def test_what_is_applied_stays_and_only_sync_reverts_it() -> None:
    (file,) = planned(asked("b"), applied("a")).files
    assert file.after == BOTH and file.change and file.change.pristine is None
    only = planned(asked("a")._replace(reverted=None), applied("a", "b"))
    (locked,) = only.locked
    assert only.files[0].after == ONE and (locked.before, locked.after) == (sha256(TEXT), sha256(ONE))
    (file,) = planned(asked("a")._replace(reverted=("b",)), applied("a", "b")).files
    assert file.after == ONE


def test_a_requested_patchset_goes_from_a_file_that_it_is_not_for_any_more() -> None:
    wanted = asked("a", "b")
    (file,) = plan(facts("b", target=applied("a", "b")), wanted, Replace()).files
    assert (file.after, [step.patchset for step in file.steps]) == (b"a = 1\nb = 2\n", ["b"])
    (file,) = plan(facts(target=applied("a")), wanted, Replace()).files
    assert file.after == TEXT and file.change and file.change.receipt is None and file.locked is None


def test_an_edit_by_hand_stays_unless_it_is_set_aside() -> None:
    edit = ONE + b"c = 3\n"
    file = applied("a")._replace(now=edit)
    for wanted in (Wanted((), ("a",)), Wanted((), None), Wanted((assignment("a").requested,))):
        (kept,) = plan(facts(target=file._replace(edited=True)), wanted, Replace()).files
        (forced,) = plan(facts(target=file._replace(aside=edit)), wanted._replace(force=True), Replace()).files
        assert (kept.after, kept.aside, forced.after, forced.aside) == (TEXT + b"c = 3\n", b"", TEXT, edit)
        assert kept.change and kept.change.merged and forced.change and not forced.change.merged
    overlap = file._replace(now=b"a = 3\nb = 1\n", edited=True)
    (answer,) = plan(facts(target=overlap), Wanted((), None), Replace()).failed
    assert (answer.patchset, answer.problem) == ("a", "the file was edited by hand where it was patched, at line 1: a = 3")


def test_nothing_changes_where_all_is_as_requested() -> None:
    same = planned(asked("a", "b"), applied("a", "b"))
    assert same.files[0].change is None and [answer.state for answer in same.answers] == [State.APPLIED] * 2


@pytest.mark.parametrize(("names", "left"), [(None, TEXT), (("a", "b"), TEXT), (("b",), ONE), (("a",), b"a = 1\nb = 2\n")])
def test_a_restore_leaves_what_was_not_named(names: Optional[Tuple[str, ...]], left: bytes) -> None:
    (file,) = planned(Wanted((), names), applied("a", "b")).files
    assert (file.before, file.after) == (BOTH, left)
    assert file.change and (file.change.data is None) == (left == TEXT)


class Needing(Replace):
    """One for which `b` needs what `a` has made."""

    def rewrite(self, data: bytes, asked: Assignment) -> Rewrite:
        if asked.hunks[0].scope == "b" and b"a = 2" not in data:
            return Rewrite(data, (), (HunkAnswer(asked.hunks[0], State.NOT_FOUND),))
        return super().rewrite(data, asked)


def test_what_stays_and_does_not_fit_without_what_goes_stops_a_restore() -> None:
    restored = plan(facts(target=applied("a", "b")), Wanted((), ("a",)), Needing())
    assert [(answer.patchset, answer.state) for answer in restored.failed] == [("b", State.NOT_FOUND)]
    assert plan(facts(target=applied("a", "b")), Wanted((), ("b",)), Needing()).failed == ()


def test_a_file_that_could_not_be_read_is_a_conflict_with_the_reason() -> None:
    bad = TargetFile(b"", b"", problem=SitepatchError("it is not as upstream shipped it", "put it back"), notes=("seen",))
    refused = planned(asked("a"), bad)
    assert [(answer.state, answer.problem, answer.hint) for answer in refused.answers] == [(State.CONFLICT, *bad.problem.args, "put it back")]
    assert (refused.files, refused.notes) == ((), ("seen",))


def test_edited_bytes_are_set_aside_only_where_they_would_be_lost() -> None:
    for edit, aside in ((ONE, b""), (ONE + b"c = 3\n", ONE + b"c = 3\n")):
        (file,) = planned(asked("a"), TargetFile(TEXT, edit, aside=edit, blank=BLANK)).files
        assert (file.after, file.aside) == (ONE, aside)


def test_a_file_that_is_gone_is_put_back_or_forgotten() -> None:
    gone = applied("a")._replace(now=b"", steps=(), missing=True)
    (file,) = planned(Wanted((), None), gone).files
    assert file.change and (file.change.old, file.change.forget, file.after) == ("", False, TEXT)
    (file,) = planned(Wanted((), None), gone._replace(pristine=b"", forget=True)).files
    assert file.change and (file.change.old, file.change.forget, file.after) == ("", True, b"")
    (file,) = planned(Wanted((), None), gone._replace(pristine=b"")).files  # an empty file
    assert file.change and (file.change.old, file.change.forget, file.after) == ("", False, b"")
