"""Why a hunk does not match, in words: the closest code by words, the first difference, and a way on."""

import re
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.explain import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import Explanation, OptionValue, State
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
    explanations = explain(data, files[0].hunks, options or {})
    answers = rewrite(data, files[0].hunks, options or {}).answers
    assert [one.state for one in explanations] == [answer.state for answer in answers]
    return explanations


@pytest.mark.parametrize(
    ("text", "columns"),
    [("ab", 2), ("设备", 4), ("ａ", 2), ("e\u0301", 1), ("🚀", 2), ("✈\ufe0f", 1), ("한글", 4), ("\u200b", 0), ("", 0)],
)
def test_a_text_takes_this_many_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_a_marker_is_under_its_text_after_wide_characters() -> None:
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


def test_code_with_nothing_of_the_pattern_is_not_shown() -> None:
    one = explained("def f(a):\n    return a\n", "-zoo(animal=3, cage=4)\n+zoo()\n")
    assert one.closest is None
    assert one.problem == "`f` is there, but the code to change is not"
    assert one.hint == "nothing like it was found there: it was rewritten or went away"


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
            explanations = every(source, HUNKS[number], scope)
        except PatchError:
            continue  # not a hunk for this scope
        assert all(one.problem or one.state is State.APPLICABLE for one in explanations)


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_hunk_is_refused_as_when_it_is_loaded(name: str) -> None:
    with pytest.raises(PatchError, match=r"case\.spatch:"):
        every("def f():\n    pass\n", block(REFUSED[name].hunk), **REFUSED[name].how)


@pytest.mark.parametrize("data", [b"def f(a):\n    x = old(a)\0\n", b"def f(a:\n", b"def f(a):\n    x = '\xff'; old(a)\n", b""])
def test_a_text_that_is_not_python_is_explained_too(data: bytes) -> None:
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n", "case.spatch")
    (one,) = explain(data, files[0].hunks, {})
    assert one.state.failed and one.problem and one.closest is None


@pytest.mark.once
def test_the_most_similar_line_of_a_long_function_is_found_anywhere() -> None:
    filler = "".join(f"    a{n} = b(c(d{n}, e={n}), [{n}])\n" for n in range(2000))
    source = f"def f(a):\n{filler}    x = registry.create(a, 1)\n{filler}"
    best = explained(source, "-registry.build($A, 1)\n+registry.build($A)\n").closest
    assert best is not None and best.line == 2002
    assert (best.words, best.hint) == ("the pattern has `build`, the code has `create`", "write `create` there")
