"""Random edits of real source, captured and made again: the edited bytes, or an honest refusal. `python -m tools.edits` tries thousands."""

from collections import Counter

import pytest

from patcher.author.spatch_draft import Draft, DraftFile, DraftHunk, LeftOut
from tests.engine import corpus
from tools import edits

pytestmark = pytest.mark.once

EDITS = 51  # three of each kind
SEED = 0
BEFORE, AFTER = b"def f(a):\n    return old(a)\n", b"def f(a):\n    return max(a, 0)\n"
HUNK = "@@ f @@\n-old(a)\n+max(a, 0)\n"


@pytest.mark.parametrize(
    ("hunk", "left", "difference", "outcome"),
    [
        (HUNK, (), "", "exact"),
        (HUNK, (), "something", "wrong"),
        (HUNK.replace("max(a, 0)", "max(a, 0x0)"), (), "spaces", "said"),
        (HUNK.replace("max(a, 0)", "max(a, 0x0)"), (), "", "wrong"),
        (HUNK.replace("0", "1"), (), "a number", "wrong"),
        (HUNK.replace("old", "older"), (), "", "wrong"),
        ("@@ f @@\n-old(\n+1\n", (), "", "crash"),
        (HUNK, (LeftOut("p/m.py", 2, "+max(a, 0)\n", "why"),), "", "left"),
    ],
)
def test_the_outcomes_of_an_edit_are_told_apart(hunk, left, difference, outcome):
    draft = Draft((DraftFile(("p/m.py",), (DraftHunk(hunk, 2, "verbatim"),), left, difference),))
    edit = edits.Edit(0, "literal", "p/m.py", BEFORE, AFTER)
    assert edits.tried(edit, lambda _: draft).outcome == outcome


@pytest.mark.parametrize("line", [b"a = 1", b"global a"])
def test_a_part_may_be_refused_where_the_edit_reads_a_local_before_it_is_bound(line):
    after = b"a = 0\ndef f():\n    a += 1\n    return a\n"
    before = after.replace(b"():\n", b"():\n    " + line + b"\n")
    assert edits.tried(edits.Edit(0, "delete", "p/m.py", before, after)).outcome == "refused"


def test_a_captured_edit_gives_the_edited_bytes_or_says_why_not(monkeypatch, counted):
    files = corpus.files(installed=False)  # the same sample, whatever is installed
    monkeypatch.setattr(edits, "_files", lambda folders: files)
    trials = [edits.tried(edits.made(SEED, number)) for number in range(EDITS)]
    outcomes = Counter(trial.outcome for trial in trials)
    counted("random edits", len(trials))
    print(f"seed {SEED}: {dict(outcomes)}")
    for trial in trials:
        edit = trial.edit
        assert trial.outcome not in ("wrong", "crash", "hang"), f"{edit.number} {edit.kind}\n{edit.diff()}{trial.text}"
    assert outcomes["exact"] >= 0.95 * EDITS
