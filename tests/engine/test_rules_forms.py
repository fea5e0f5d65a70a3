"""Rule 29: a hunk in several forms, of which the first counts that is found."""

from typing import List

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.explain import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import HunkText, State
from patcher.patchset.results import EveryHunk, KnownTable, Request, key_of, write_table
from tests.engine.helpers import Changed, Form, Refused, Stays, inside, stays

AFTER_OR_ABOVE = " x = $M\n+c(x)\n@@ or @@\n+c(x)\n return x\n"
IN_TURN = "-A($X)\n+max($X, 0)\n@@ or @@\n-b($X)\n+max($X, 0)\n"

MORE_OR_LESS = " x = a\n+c(x)\n+d(x)\n@@ or @@\n x = a\n+c(x)\n"

RULE_29 = {
    "the first form": inside("x = a\n    d()\n    return x", AFTER_OR_ABOVE, "x = a\n    c(x)\n    d()\n    return x"),
    "the second where the first is not found": inside("x += a\n    return x", AFTER_OR_ABOVE, "x += a\n    c(x)\n    return x"),
    "none of them": stays("x += a\n    return a", AFTER_OR_ABOVE, State.NOT_FOUND, "none of the 2 forms of this hunk is found"),
    "the after side of the first": stays("x = a\n    c(x)\n    return x", AFTER_OR_ABOVE, State.UPSTREAM),
    "the after side of the second alone": stays("x += a\n    c(x)\n    return x", AFTER_OR_ABOVE, State.UPSTREAM),
    "the first is in place, the second could be applied": stays("x = max(a, 0)\n    return b(a)", IN_TURN, State.UPSTREAM),
    "the first can be applied, the second is in place": inside(
        "x = A(a)\n    return b(c)", "-A($X)\n+abs($X)\n@@ or @@\n-b($X)\n+d($X)\n", "x = abs(a)\n    return b(c)"
    ),
    "what the second inserts stands where the first would insert": stays("x = a\n    c(x)\n    return x", MORE_OR_LESS, State.UPSTREAM),
    "what the second inserts stands at another place": inside(
        "x = a\n    d()\n    x = b\n    c(x)", MORE_OR_LESS.replace("@@ or @@\n x = a", "@@ or @@\n x = b"), "x = a\n    c(x)\n    d(x)\n    d()\n    x = b\n    c(x)"
    ),
    "the second is in place, and removes something": inside(
        "x = a\n    c(x)", MORE_OR_LESS.replace("@@ or @@\n x = a\n", "@@ or @@\n-x = b\n+x = a\n"), "x = a\n    c(x)\n    d(x)\n    c(x)"
    ),
    "the third": inside("return d(a)", f"{IN_TURN}@@ or @@\n-d($Y)\n+max($Y, 0)\n", "return max(a, 0)"),
    "the first is ambiguous": stays("x = A(a) + A(c)\n    return b(x)", IN_TURN, State.AMBIGUOUS, "found 2 places"),
    "the second is": stays("x = b(a) + b(c)", IN_TURN, State.AMBIGUOUS, "found 2 places"),
    "each has its own count": inside(
        "return b(a) + b(c)", "-A($X)\n+max($X, 0)\n@@ or @@ count=2\n-b($X)\n+max($X, 0)\n", "return max(a, 0) + max(c, 0)"
    ),
    "too few of the first": stays("return A(a) + b(c)", f"{IN_TURN}", State.NOT_FOUND, "found 1 place", flags="count=2"),
    "each has its own `inside`": inside(
        "b(a)\n    if a:\n        b(a)", "-A(a)\n+d(a)\n@@ or @@ inside=if\n-b(a)\n+d(a)\n", "b(a)\n    if a:\n        d(a)"
    ),
    "another scope": Changed("def g(a):\n    return b(a)\n", "-b($X)\n+abs($X)\n@@ or g @@\n-b($X)\n+abs($X)\n", "def g(a):\n    return abs(a)\n"),
    "the scope of the first": Stays("def g(a):\n    return b(a)\n", IN_TURN, State.NOT_FOUND, "there is no `f` in this file"),
    "the scope of the one above is not taken": Changed(
        "def f(a):\n    return abs(a)\ndef g(a): pass\n",
        "-b($X)\n+max($X)\n@@ or g @@\n-b($X)\n+max($X)\n@@ or @@\n-abs($X)\n+max($X)\n",
        "def f(a):\n    return max(a)\ndef g(a): pass\n",
    ),
    "the module": Changed("def f(): pass\nx = 1\n", "-x = 1\n+x = 2\n@@ or <module> @@\n-x = 1\n+x = 2\n", "def f(): pass\nx = 2\n"),
    "one that renames its scope": Changed("def g(): pass\n", "-def f():\n+def h():\n@@ or g @@\n-def g():\n+def h():\n", "def h(): pass\n"),
    "placeholders are its own": Refused(" x = $M\n+c(x)\n@@ or @@\n+c($M)\n return x\n", "`$M` is not bound by the before side", "$M"),
    "every mistake is reported": Refused("-A($X)\n+$Y\n@@ or @@\n-b($X)\n+$Z\n", "`$Z` is not bound"),
    "not needed": stays("x = a", IN_TURN, State.NOT_NEEDED, flags="when-present"),
    "though what the second inserts stands elsewhere": stays("x = a\n    print(x, c)", " x = b\n+print(x, c)\n@@ or @@\n x = c\n+print(x, c)\n", State.NOT_NEEDED, flags="when-present"),
    "needed in the second form": inside("x = b(a)", IN_TURN, "x = max(a, 0)", flags="when-present"),
    "when-present is for all": Refused("-A($X)\n+max($X)\n@@ or @@ when-present\n-b($X)\n+max($X)\n", "write it on the first `@@` line"),
    "a second application would take another form": stays(
        "A()\n    b()\n    A()\n    c()", "-A()\n b()\n@@ or @@\n-A()\n", State.CONFLICT, "applying it a second time would change the result again"
    ),
    "two hunks that meet in their second forms": stays(
        "x += a\n    return x", f"{AFTER_OR_ABOVE}@@ f @@\n-A()\n+b()\n@@ or @@\n+b()\n return x\n", State.CONFLICT, "two changes of this patchset meet"
    ),
    "the first of a file": Form("--- p/m.py\n@@ or @@\n-A()\n+b()\n", 2, "another form of the hunk above it, and there is none"),
    "one that changes nothing": Form("--- p/m.py\n@@ f @@\n-A()\n+b()\n@@ or @@\n A()\n", 5, "the hunk changes nothing"),
    "an unknown flag": Form("--- p/m.py\n@@ f @@\n-A()\n+b()\n@@ or @@ often\n-A()\n+c()\n", 5, "an unknown flag"),
}  # fmt: skip




def read(text: str, prose: str = "") -> List[HunkText]:
    return list(parse_spatch(f"{prose}--- p/m.py\n@@ f @@\n{text}", "case.spatch")[1][0].hunks)


def test_both_mistakes_are_in_one_message() -> None:
    with pytest.raises(PatchError) as caught:
        rewrite(b"", read("-A($X)\n+$Y\n@@ or @@\n-b($X)\n+$Z\n"), {})
    assert "case.spatch:4:" in caught.value.message and "case.spatch:7:" in caught.value.message


def test_a_hunk_has_one_answer_and_one_key() -> None:
    hunks, source = read(IN_TURN), b"def f(a):\n    return b(a)\n"
    result = rewrite(source, hunks, {})
    assert [(answer.hunk, answer.state, answer.places) for answer in result.answers] == [(hunks[0], State.APPLICABLE, (2,))]
    request = Request("name", tuple(hunks), {}, (), EveryHunk(hunks))
    key = key_of(source, request)
    assert KnownTable(write_table({key: result})).find(key, source, request) == result
    moved, other, fewer = read(IN_TURN, "Why.\n\n"), read(IN_TURN.replace("-b", "-c")), read(IN_TURN[: IN_TURN.index("@@")])
    keys = [key_of(source, request._replace(hunks=tuple(each))) for each in (moved, other, fewer)]
    assert [each == key for each in keys] == [True, False, False]


def test_each_form_is_explained() -> None:
    (one,) = explain(b"def f(a):\n    x = a.c()\n    return b(a)\n", read(IN_TURN), {})
    assert (one.state, one.hunk.line, one.matches[0].line) == (State.APPLICABLE, 5, 3)
    assert [(form.hunk.line, form.state) for form in one.forms] == [(2, State.NOT_FOUND), (5, State.APPLICABLE)]
    text = "-x = A($X, 1)\n+x = 1\n@@ or @@\n-x = A(a, b, c)\n+x = 1\n"
    (one,) = explain(b"def f(a):\n    x = A(a, 2)\n", read(text), {})
    assert (one.state, one.hunk.line) == (State.NOT_FOUND, 2)
    assert [form.closest.pattern.line for form in one.forms if form.closest] == [3, 6]


def test_a_deletion_is_gone_in_all_its_forms() -> None:
    hunks = read("-A($X)\n x = 1\n@@ or @@\n-b($X)\n x = 1\n")
    assert rewrite(b"def f():\n    x = 1\n", hunks, {}).answers[0].gone
    assert not rewrite(b"def f():\n    x = 1\n", read("-A($X)\n x = 1\n@@ or @@\n-b($X)\n+c()\n x = 1\n"), {}).answers[0].gone


MOVED = "-start(a)\n x = 1\n@@ f @@\n x = 1\n+start(a)\n return x\n"


@pytest.mark.parametrize(
    "body, gone",
    [("x = 1\n    start(a)\n    return x", True), ("x = 1\n    start(a)\n    return x\n    start(a)", False)],
    ids=["moved", "there a second time"],
)
def test_a_deletion_is_gone_where_another_hunk_inserts_the_same(body: str, gone: bool) -> None:
    answers = rewrite(f"def f(a):\n    {body}\n".encode(), read(MOVED), {}).answers
    assert [answer.state for answer in answers] == [State.NOT_FOUND, State.UPSTREAM]
    assert answers[0].gone is gone
