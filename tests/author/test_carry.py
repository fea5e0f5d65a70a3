"""`python -m tools.carry` on releases made here: which edits it finds, and how it judges their results."""

import shutil
from random import Random

import pytest

from patcher.author.spatch_draft import Draft, DraftFile, DraftHunk
from tools import carry, changes, peers

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not (shutil.which("patch") and shutil.which("git")), reason="needs patch and git"),
]
BODY = "def f(a, b):\n    one = a\n    two = b\n    return old(one, two)\n\n\ndef g(a):\n    return a\n"


def release(version, text):
    return changes.Release(version, {"p/m.py": text.encode()})


RELEASES = [
    release("1", BODY.replace("old(", "other(")),
    release("2", BODY.replace("one = a\n", "one = -a\n")),
    release("3", BODY.replace("def g(a):", "def g(a, b=1):")),
    release("4", BODY),
    release("5", BODY.replace("old(", "max(").replace("return a\n", "return unbound\n")),
]


def test_a_change_is_taken_apart_into_edits_that_a_person_could_make():
    edits = list(changes.edits("p", RELEASES, Random(0)))
    assert sorted(edit.name for edit in edits if edit.home == "4") == ["p-4/p/m.py:4:hunk"]
    (edit,) = (edit for edit in edits if edit.home == "4")
    assert edit.after.decode() == BODY.replace("old(", "max(")
    assert [version for version, _ in edit.older] == ["3", "2", "1"]
    assert changes.named(RELEASES, edit.name) == edit


def judged(hunk, second=False):
    (edit,) = (edit for edit in changes.edits("p", RELEASES, Random(0)) if edit.home == "4")
    seen = []

    def make(edits, others):
        seen.extend(others)
        return Draft((DraftFile(("p/m.py",), (DraftHunk(hunk, 4, "verbatim"),)),))

    result = carry.measured(edit, edit.older[-1:] if second else (), make)
    assert len(seen) == int(second)
    cells = [(cell.version, cell.judge, cell.answers["sitepatch"], cell.answers["GNU patch"]) for cell in result.cells]
    return result, cells


@pytest.mark.parametrize(
    ("hunk", "home", "upstream", "answers"),
    [
        ("@@ f @@\n-old(one, ...)\n+max(one, ...)\n", "exact", "upstream", ["right", "right", "refused"]),
        ("@@ f @@\n-old(one, two)\n+max(*[one], two)\n", "wrong at home", "refused", ["wrong", "wrong", "refused"]),
        (
            "@@ f @@\n-return old(one, two)\n+return max(one, two)\n+g(1)\n",
            "wrong at home",
            "refused",
            ["wrong", "wrong", "refused"],
        ),
        ("@@ f @@\n-$F(one, two)\n+max(one, two)\n", "exact", "upstream", ["right", "right", "unjudged"]),
        (
            "@@ f @@\n-return old(one, two)\n+return max(one, two)  # why\n",
            "same tree",
            "upstream",
            ["right", "right", "refused"],
        ),
        ("@@ f @@\n-older(one, two)\n+max(one, two)\n", "refused at home", "upstream", ["refused"] * 3),
        ("@@ f @@\n-two = b\n+two = max(b, b)\n", "wrong at home", "applied", ["wrong", "wrong", "unjudged"]),
        ("@@ f @@\n-one = (\n+one = 2\n", "crash", "refused", ["refused"] * 3),
    ],
)
def test_the_result_of_an_edit_is_checked_independently(hunk, home, upstream, answers):
    result, cells = judged(hunk)
    assert (result.made.home, result.upstream, result.verbatim) == (home, upstream, True)
    judges = ["definition", "lines", "nobody"]
    of_gnu_patch = ["right", "right", "refused"]
    assert cells == list(zip("321", judges, answers, of_gnu_patch))


def test_a_second_release_is_given_and_not_measured():
    result, cells = judged("@@ f @@\n-old(one, ...)\n+max(one, ...)\n", second=True)
    assert [cell[0] for cell in cells] == ["3", "2"]
    table = carry.table([result])
    assert table.splitlines()[-1].split()[:7] == ["all", "1", "100.0%", "100.0%", "2", "100.0%", "0.0%"]
    assert "right" in carry.words(result) and "p-4/p/m.py:4:hunk" in carry.shown(result, "")


def test_a_merge_by_tokens_is_finer_than_one_by_lines():
    before = b"def f(a, b):\n    return g(a, b)\n"
    after = b"def f(a, b):\n    return h(a, b)\n"
    target = b"def f(a, b):\n    return g(a, b, c=1)\n"
    assert peers.merge_file(before, after, target) is None
    assert peers.merged_by_tokens(before, after, target).split() == b"def f ( a , b ) : return h ( a , b , c = 1 )".split()
