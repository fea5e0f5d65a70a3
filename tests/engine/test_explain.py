"""Why a hunk does not match, in words: the closest code by syntax, the first difference, and a way on."""

import itertools
import re
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import pytest

from patcher.engine.alignment import Aligner, fits
from patcher.engine.engine import explain, rewrite
from patcher.engine.explain import Explanation
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.spatch.pattern import compile_hunks
from patcher.errors import PatchError
from patcher.model import OptionValue, State, apply_splices
from patcher.text.terminal import underline, width
from tests.engine.helpers import Changed, Refused, Stays, block, every_case


def explained(source: str, hunk: str, scope: str = "f", flags: str = "") -> Explanation:
    return every(source, hunk, scope, flags)[0]


def every(
    source: str, hunk: str, scope: str = "f", flags: str = "", options: Optional[Mapping[str, OptionValue]] = None
) -> Tuple[Explanation, ...]:
    """The explanations of hunks; states are always those that `apply` would give."""
    _, files = parse_spatch(f"--- package/module.py\n@@ {scope} @@ {flags}\n{hunk}", "case.spatch")
    data = source.encode()
    found = explain(data, files[0].hunks, options or {})
    assert [one.state for one in found] == [answer.state for answer in rewrite(data, files[0].hunks, options or {}).answers]
    return found


def test_a_pattern_costs_nothing_exactly_where_the_matcher_matches() -> None:
    held = {True: 0, False: 0}
    for case in every_case().values():
        if isinstance(case, Changed):
            text = f"--- package/module.py\n@@ {case.how.get('scope', 'f')} @@ {case.how.get('flags', '')}\n{block(case.hunk)}"
            options: Any = case.how.get("options", {})
            source = Source(block(case.source).encode())
            for hunk in compile_hunks([each for file in parse_spatch(text, "case.spatch")[1] for each in file.hunks], options):
                patterns = [node for top in hunk.before.nodes for node in top.walk() if node.role != "run"]
                codes = [node for definition in source.scopes("f", [], bodies=True) for node in definition.walk()]
                for pattern, code in itertools.product(patterns[:12], codes[:12]):
                    matches = fits(pattern, code)
                    assert (Aligner().aligned(pattern, code).cost == 0) is matches, (case, pattern, code)
                    held[matches] += 1
    assert held[True] > 300 and held[False] > 3000


@pytest.mark.parametrize(
    ("text", "columns"),
    [("ab", 2), ("设备", 4), ("ａ", 2), ("e\u0301", 1), ("🚀", 2), ("✈\ufe0f", 1), ("한글", 4), ("\u200b", 0), ("", 0)],
)
def test_columns_of_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


def test_a_marker_stands_under_its_text_behind_wide_characters() -> None:
    source = 'def f(m):\n    show("设备 e\u0301 🚀", device=m)\n'
    hunk = '-show("设备 e\u0301 🚀", devic=$M)\n+show($M)\n'
    best = explained(source, hunk).closest
    assert best is not None
    assert underline(*best.code[1:]) == " " * len('show("SSSS e RR", ') + "^~~~~~"
    text = "--- package/module.py\n@@ f @@\n-show('设备', $Mix)\n+show()\n"
    with pytest.raises(PatchError) as caught:
        parse_spatch(text, "case.spatch")
        explained(source, "-show('设备', $Mix)\n+show()\n")
    shown, marker = caught.value.message.split("\n")[-2:]
    assert marker.index("^") == width(shown[: shown.index("$Mix")])


def test_of_two_that_are_alike_the_one_that_has_more_of_the_pattern_is_shown() -> None:
    source = "def f(a):\n    build(a, 1, x=1)\n    build(a, 2, x=2)\n    build(a, 3, x=3)\n"
    best = explained(source, "-build($A, 4, x=2)\n+build($A)\n").closest
    assert best is not None and best.line == 3


@pytest.mark.parametrize(
    ("hunk", "code", "line"),
    [
        ("-RETRYES = 30\n+RETRIES = 31\n", "RETRIES", 1),
        ('-NAME = "alpa"\n+NAME = "beta"\n', '"alpha"', 2),
        ('-TITLE = "alpha"\n+TITLE = "beta"\n', "NAME", 2),
        ("-DELAY = 0.5\n+DELAY = 1\n", "timeouts.DELAY", 6),
    ],
)
def test_at_the_top_level_too_a_word_that_is_off_is_shown(hunk: str, code: str, line: int) -> None:
    source = 'RETRIES = 30\nNAME = "alpha"\nimport os\nimport timeouts\nX = len("a")\ntimeouts.DELAY = 0.5\n'
    best = explained(source, hunk, "<module>").closest
    assert best is not None
    assert (best.code.line, best.code.text[best.code.start : best.code.end]) == (line, code)


def test_code_that_has_nothing_of_the_pattern_is_not_shown() -> None:
    one = explained("def f(a):\n    return a\n", "-zoo(animal=3, cage=4)\n+zoo()\n")
    assert one.closest is None
    assert one.problem == "`f` is there, but the code to change is not"
    assert one.hint == "nothing like it was found there: it was rewritten or went away"


# scopes ---------------------------------------------------------------------------------------------------------------
OTHER = "class A:\n    def wrap(self):\n        return old(1)\n\nclass B:\n    def g(self):\n        return 1\n"


def test_a_scope_of_that_name_in_another_class() -> None:
    one = explained(OTHER, "-older($X)\n+max($X)\n", scope="B.wrap")
    assert (one.problem, one.near, one.scopes) == ("there is no `B.wrap` in this file", ("A.wrap",), ())
    assert one.hint == "a renamed scope is never guessed: write `@@ A.wrap @@` if that is the one"
    assert one.closest is not None and one.closest.line == 3  # what is different there is told at once


def test_a_renamed_scope() -> None:
    one = explained(OTHER, "-old($X, 2)\n+max($X)\n", scope="A.wrap_it")
    assert one.near[0] == "A.wrap"
    assert one.closest is not None and "`2`" in one.closest.words


def test_code_that_stands_in_another_scope() -> None:
    one = explained(OTHER, "-old($X)\n+max($X)\n", scope="B.g")
    assert [(spot.scope, spot.line, spot.names) for spot in one.elsewhere] == [("A.wrap", 3, (("$X", "1"),))]
    assert one.hint == "the code stands in `A.wrap`, line 3: write that scope if it is meant"
    assert [(scope.name, scope.first, scope.last) for scope in one.scopes] == [("B.g", 6, 7)]


# the other states -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "hunk", "hint"),
    [
        ("x = old(a)\n    y = old(b)", "-old($X)\n+max($X)\n", "write in place of `$X` what it is: `a` (line 2), `b` (line 3); "),
        ("if a:\n        old(a)\n    else:\n        old(a)", "-old($X)\n+max($X)\n", "write the header around it: `if a:` (line 3), `else:` (line 5); "),
        ("k()\n    old(a)\n    j()\n    old(a)", " old($X)\n+max($X)\n", "write what stands above it: `k()` (line 3), `j()` (line 5); "),
        ("old(a, 1)\n    old(1)", "-old($X, 1)\n+old(1)\n", "write more of the code around the place, "),  # one has no $X
    ],
)  # fmt: skip
def test_ambiguous_says_what_to_write(body: str, hunk: str, hint: str) -> None:
    one = explained(f"def f(a, b):\n    {body}\n", hunk)
    assert one.state is State.AMBIGUOUS
    assert one.hint == hint + "or `count=2` (`count=all`) if all are meant"
    assert len(one.matches) == 2 and all("old(" in spot.text for spot in one.matches)


def test_a_hunk_that_matches_shows_where_what_is_bound_and_what_changes() -> None:
    source = "class A:\n    def f(self):\n        self.m = wrap(\n            self.m, [1,  2])\n"
    one = explained(source, "+max(0, 1)\n $MODEL = wrap($M, $IDS)\n", scope="A.f")
    assert one.state is State.APPLICABLE
    (spot,) = one.matches
    assert (spot.line, spot.text, spot.scope) == (3, "self.m = wrap(", "A.f")
    assert spot.names == (("$MODEL", "self.m"), ("$M", "self.m"), ("$IDS", "[1, 2]"))
    assert explained(source, "+max(0, 1)\n $MODEL = wrap($_, $_)\n", scope="A.f").matches[0].names == (("$MODEL", "self.m"),)
    assert apply_splices(source.encode(), one.splices) == source.replace("        self.m =", "        max(0, 1)\n        self.m =").encode()


def test_a_hunk_that_matches_beside_one_that_does_not_still_shows_its_change() -> None:
    source = "def f(a):\n    x = old(a)\n"
    matching, other = every(source, "-old($X)\n+max($X, 0)\n@@ f @@\n-older(1)\n+max(1)\n")
    assert (matching.state, other.state) == (State.APPLICABLE, State.NOT_FOUND)
    assert apply_splices(source.encode(), matching.splices) == b"def f(a):\n    x = max(a, 0)\n"


def test_upstream_shows_where_the_after_side_stands() -> None:
    one = explained("def f(a):\n    b()\n    x = max(a, 0)\n", "-old($X)\n+max($X, 0)\n")
    assert one.state is State.UPSTREAM
    assert [(spot.line, spot.names) for spot in one.matches] == [(3, (("$X", "a"),))]
    assert one.problem.startswith("the code of the `+` lines is there already")


def test_not_needed_says_what_is_absent_and_shows_code_that_is_nearly_it() -> None:
    one = explained("def f(a):\n    x = a.is_gcu\n", "-a.is_musa\n+hasattr(a, 'is_musa')\n", flags="when-present")
    assert one.state is State.NOT_NEEDED
    assert one.problem == "the code that it changes is not in `f`, and `when-present` says that it need not be"
    assert one.closest is not None and one.closest.words == "the attribute: the pattern has `is_musa`, the code has `is_gcu`"
    gone = explained("def g(a):\n    pass\n", "-a.is_musa\n+hasattr(a, 'is_musa')\n", flags="when-present")
    assert gone.problem.startswith("there is no `f` in this file")


def test_a_conflict_keeps_its_words_and_shows_the_place() -> None:
    one = explained("def f(a):\n    if a: old(b)\n", " old(b)\n+max(b)\n")
    assert one.state is State.CONFLICT
    assert "one-line suite" in one.problem
    assert [spot.line for spot in one.matches] == [2]


def test_too_few_places_are_reported_with_their_lines() -> None:
    one = explained("def f(a):\n    x = old(a)\n", "-old($X)\n+max($X, 0)\n", flags="count=2")
    assert one.problem == "found 1 place in `f` (line 2), expected 2"
    assert [spot.line for spot in one.matches] == [2]
    more = explained("def f(a):\n    x = old(a)\n    y = olt(a)\n", "-old($X)\n+max($X, 0)\n", flags="count=2")
    assert more.closest is not None and more.closest.line == 3  # never the place that matches


# safety ---------------------------------------------------------------------------------------------------------------
def those(kind: type) -> Dict[str, Any]:
    """The cases of one kind in the tables of the rules, by their names."""
    return {name: case for name, case in every_case().items() if isinstance(case, kind)}


STAYS, REFUSED = those(Stays), those(Refused)


@pytest.mark.parametrize("name", STAYS)
def test_every_state_can_be_explained(name: str) -> None:
    case = STAYS[name]
    for one in every(block(case.source), block(case.hunk), **case.how):
        if one.state is State.NOT_FOUND:
            assert one.closest is None or one.closest.words
        assert one.problem or one.state is State.APPLICABLE


def texts() -> Iterator[str]:
    """Every source, hunk and result in the tables of the rules."""
    for case in those(Changed).values():
        yield from (block(case.source), block(case.hunk), block(case.result))


HUNKS = sorted({text for text in texts() if text[:1] in "-+ " and re.search(r"^[-+]", text, re.MULTILINE)})
SOURCES = sorted({text for text in texts() if text.startswith(("def ", "class ", "async ", "@", "import ", "#"))})


@pytest.mark.once
@pytest.mark.parametrize("number", range(len(HUNKS)))
def test_any_hunk_can_be_explained_on_any_text(number: int) -> None:
    assert len(HUNKS) >= 80 and len(SOURCES) > 40
    for step, scope in enumerate(("f", "f", "f", "<module>")):
        source = SOURCES[(7 * number + step) % len(SOURCES)]
        try:
            found = every(source, HUNKS[number], scope)
        except PatchError:
            continue  # not a hunk for this scope
        assert all(one.problem or one.state is State.APPLICABLE for one in found)


@pytest.mark.parametrize("name", REFUSED)
def test_a_hunk_that_is_wrong_in_itself_is_refused_as_when_it_is_loaded(name: str) -> None:
    with pytest.raises(PatchError, match=r"case\.spatch:"):
        every("def f():\n    pass\n", block(REFUSED[name].hunk), **REFUSED[name].how)


@pytest.mark.parametrize("data", [b"def f(a):\n    x = old(a)\0\n", b"def f(a:\n", b"def f(a):\n    x = '\xff'; old(a)\n", b""])
def test_a_text_that_is_not_python_is_explained_too(data: bytes) -> None:
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n", "case.spatch")
    (one,) = explain(data, files[0].hunks, {})
    assert one.state.failed and one.problem and one.closest is None


def test_the_work_is_bounded_and_the_best_candidates_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from patcher.engine import alignment, closest

    used = []

    class Counting(Aligner):
        def __init__(self) -> None:
            super().__init__()
            used.append(self)

    monkeypatch.setattr(closest, "Aligner", Counting)
    monkeypatch.setattr(alignment, "MAX_COMPARED", 100)
    filler = "".join(f"    a{n} = b(c(d{n}, e={n}), [{n}])\n" for n in range(200))
    source = f"def f(a):\n{filler}    x = registry.create(a, 1)\n{filler}"
    best = explained(source, "-registry.build($A, 1)\n+registry.build($A)\n").closest
    assert best is not None and best.line == 202
    assert [one.steps for one in used] == [101] * 3  # two applications and one explanation
