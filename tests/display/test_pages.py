"""Pages are well formed, escaped and small; what the page of a review shows; its anchors are stable."""

import re

import pytest

from patcher.compatibility import APPLICABLE, Checked, PatchOutcome
from patcher.display import styles
from patcher.display.differences import DiffOutcome, HandEditDiff, Reason
from patcher.display.html import Html, join, tag
from patcher.display.releases_page import releases_page as made_page
from patcher.display.review_page import review_page
from patcher.model import (
    About,
    FilePatch,
    HunkText,
    State,
    Variant,
)
from tests.answers import ENV, answer, release
from tests.display.rich_pages import (
    ABOUT,
    WHY,
    code,
    differing,
    hostile_pages,
    large_page,
    releases_page,
)
from tests.pages import whole
from tests.verbs.golden import GOLDEN, compared

pytestmark = pytest.mark.once


def test_text_becomes_html_in_one_place():
    assert tag("p", "<b>", Html("<i></i>"), class_="a'b", data_x="1", hidden=True, title="") == (
        '<p class="a&#x27;b" data-x="1" hidden>&lt;b&gt;<i></i></p>'
    )
    assert join("&", Html("&amp;"), between=" ") == "&amp; &amp;"


def rich_review():
    """A review with everything a review can have."""
    m = b"import os\n\n\n" + code(30)
    n = b"class A:\n    def f(self):\n        if self:\n            return [1, 'one', None]  # a list\n\n\n@wraps\ndef last(x):\n    return x"
    new_m = m.replace(b"return 7", b"return 8").replace(b"import os", b"import sys").replace(b"def f25():\n    return 25\n\n\n", b"")
    new_n = n.replace(b"[1, 'one', None]", b"[2, 'one or two', self]").replace(b"return x", b"return x + 1")
    applied = differing(("pkg/m.py", m, new_m), ("pkg/n.py", n, new_n), names=("p", "q"))
    long = b"".join(b"x%d = %d\n" % (number, number) for number in range(41))
    planned = differing(
        ("pkg/long.py", long, long[:-9]),
        ("pkg/gone.py", long + m, m),
        ("pkg/short.py", long[9:], b"\ty = 1\n"),
        ("pkg/deep.py", long * 9 + b"z", long * 9 + b"y"),
    )
    (edited,) = differing(("pkg/m.py", b"a\n", b"b\n"), names=())
    (unreleased,) = differing(("pkg/n.py", b"\n\nb", b"c"), names=())
    edits = (
        HandEditDiff("/site", "pkg/m.py", "pkg 1.0", "what p made of it", True, edited), HandEditDiff("/site", "pkg/lost.py", "pkg 1.0"),
        HandEditDiff("/site", "pkg/n.py", "", "what pip installed", False, unreleased._replace(release="", site="/other")),
    )
    lost = answer("p", "pkg/m.py", "f", State.NOT_FOUND, (), "`f` is gone", "look at `g`")
    answers = (
        lost, answer("p", "pkg/m.py", "g", State.NOT_FOUND, (), "`f` is gone", "look at `g`"), lost.with_result(state=State.APPLICABLE, problem=""),
        answer("q", "", "", State.NOT_FOUND, (), "`f` is gone"),
    )  # fmt: skip
    prose = "One.\n\nTwo.\n\nThree, `as code`,\ngoes on.\n\n- a\n- b"
    about = ABOUT._replace(prose=prose, provenance={"bug": "see https://example.org"})
    other = WHY._replace(name="q", about=about, options=WHY.options * 2)
    reasons = [Reason(WHY, {"limit": 7}, True, "p 1.0, 3 releases: applicable 3\nrow\n  row"), Reason(other, {}, False)]
    outcome = DiffOutcome(ENV, applied, planned, edits, answers=answers, notes=("a `note`",))
    return {
        "review": review_page("sitepatch diff p", outcome, reasons),
        "review-fits": review_page("sitepatch diff", outcome._replace(answers=(), notes=(), edits=(), planned=()), reasons[:1]),
        "review-edited": review_page("sitepatch diff", DiffOutcome(ENV, edits=edits[:1]), []),
        "review-empty": review_page("sitepatch diff", DiffOutcome(ENV, ()), []),
    }


def rich_releases():
    """Releases with everything they can have."""
    answers = tuple(answer("p", f"pkg/m{at % 3}.py", "f" if at % 2 else "", State.APPLICABLE, (at,)) for at in range(8))
    old = code(3)
    first, second = differing(("pkg/m0.py", old, old + b"x = 1\n"), ("pkg/m1.py", old, old.replace(b"return 1\n", b"return 2\n")))
    both = (first, second)

    def outcome(version, state=APPLICABLE, *, name="pkg", diffs=(), answers=(), **fields):
        return release(name, version, state, diffs=diffs, answers=answers, **fields)

    fits = outcome("1.0", diffs=both, answers=answers)
    conflict = answers[0].with_result(state=State.CONFLICT, problem="`f` is twice\nline 2", hint="see g")
    failed = (conflict, answers[1].with_result(state=State.UPSTREAM))
    outcomes = [
        fits, outcome("1.1", diffs=both, answers=answers, yanked=True), outcome("1.2", "conflict", answers=failed),
        outcome("1.3", "out of range", problem="it is not for `pkg`"),
        outcome("1.4", diffs=(second,), answers=answers), outcome("1.5", "upstream", answers=failed[1:]),
        outcome("1.5", name="pkg-vendor", diffs=both, answers=answers), outcome("2.0", "no wheel", name="pkg-vendor"),
    ]  # fmt: skip
    fit = (PatchOutcome("1", APPLICABLE), PatchOutcome("2", APPLICABLE))
    upstream = PatchOutcome("1", "upstream")
    series = [
        outcome("1.0", answers=answers[:2], diffs=(first,), patches=fit),
        outcome("1.1", answers=answers[:2], diffs=(first,), patches=fit),
        outcome("1.2", answers=failed, patches=(upstream, PatchOutcome("2", "conflict", problem="it `does` not"))),
        outcome("1.3", "upstream", answers=failed[1:], patches=(upstream,)),
    ]
    patches = tuple(FilePatch(("pkg/m0.py",), 1, (HunkText(name, 1, "f", ()),)) for name in ("1.spatch", "2.spatch"))
    several = WHY._replace(name="series", variants=(Variant("pkg", "", patches),))
    return {
        "releases": made_page("sitepatch check", [Checked(WHY, tuple(outcomes)), Checked(several, tuple(series))]),
        "releases-fit": made_page("sitepatch check", [Checked(WHY, (outcome("1.0", answers=answers[:1]),))]),
        "releases-none": made_page("sitepatch check", [Checked(WHY, ())]),
    }


def test_the_pages_are_those_of_the_golden_files(monkeypatch):
    pages = {**rich_review(), **rich_releases()}
    # what is translated as a sentence, and what as a word, no translation shows; set_translation holds for the process
    monkeypatch.setattr(styles, "_sentence", "«{}»".format)
    monkeypatch.setattr(styles, "_word", "‹{}›".format)
    pages["review-translated"] = rich_review()["review"]
    pages["releases-translated"] = rich_releases()["releases"]
    for name, page in pages.items():
        whole(page)
        body = page.decode().partition("<body>")[2].partition("<footer")[0]
        compared(GOLDEN / f"{name}.html", re.sub("(?=<[a-z])", "\n", body))
    assert {path.name for path in GOLDEN.glob("*.html")} == {f"{name}.html" for name in pages}


def test_hostile_text_in_every_field_is_text():
    for page in hostile_pages():
        read = whole(page)
        tags = [name for name, _ in read.elements]
        assert "img" not in tags and tags.count("script") == 1
        assert "<script>alert(1)</script>" in read.text("ins") + read.text("del") and "␛[8m<U+202E>" in read.text("ins")
        assert read.text("main").count("onerror=alert(1)") > 8


def test_the_top_of_a_review_has_the_patchset_the_place_the_release_and_the_reason():
    diffs = differing(("pkg/m.py", b"a = None\n", b"a = 30\n"))
    page = review_page("sitepatch diff p", DiffOutcome(ENV, planned=diffs), [Reason(WHY, {"limit": 7}, False, "p 1.0, 3 releases: applicable 3\nrow")])
    read = whole(page)
    text = read.text("main")
    for part in (
        "1 file would be changed", "would be changed by p", "pkg 1.0", "/site", "A summary", "Why it is.", "remove when", "it is fixed",
        "limit=7", "how many (default 5)", "proven on 1 release", "fix, not applied yet", diffs[0].sha256_before, "0" * 64,
    ):  # fmt: skip
        assert part in text, part
    assert ("a", {"href": "https://example.org/x", "rel": "noreferrer noopener"}) in read.elements
    assert read.text("mark") == "None30", "the words that differ"


def test_the_prose_of_a_reason_has_lists_and_keeps_what_is_set_in_columns():
    text = "It fails twice:\n1. at <first>,\n   on each rank\n2. then\n\n- one\n\na  b\n  c  d\n\n- x\n    kept  so\n"
    reason = Reason(WHY._replace(about=ABOUT._replace(prose=text)), {}, False, "")
    page = review_page("diff p", DiffOutcome(ENV, ()), [reason]).decode()
    assert "<p>It fails twice:</p><ol><li>at &lt;first&gt;, on each rank</li><li>then</li></ol>" in page
    assert "<ul><li>one</li></ul><pre>a  b\n  c  d</pre><pre>- x\n    kept  so</pre>" in page


def test_edits_by_hand_are_shown_apart_and_a_missing_original_is_named():
    applied = differing(("m.py", b"a\n", b"b\n"))
    (edited,) = differing(("m.py", b"b\n", b"c\n"), names=())
    edits = (HandEditDiff("/site", "m.py", "pkg 1.0", "what p made of it", True, edited), HandEditDiff("/site", "lost.py", "pkg 1.0"))
    page = review_page("t", DiffOutcome(ENV, applied=applied, edits=edits), [])
    read = whole(page)
    sections = [attributes for name, attributes in read.elements if name == "section"]
    assert [section["id"] for section in sections if "id" in section] == ["m.py", "edited:m.py"]
    assert "Edited by hand" in read.text("h2") and "edited by hand, compared with what p made of it" in read.text("summary")
    assert "lost.py: edited by hand (pkg 1.0), and the original text is not on this machine" in read.text("li")


def test_the_anchors_of_a_page_stay_when_lines_move():
    def names(before):
        old = before + code(30)
        new = old.replace(b"return 7", b"return 8").replace(b"return 20", b"return 2")
        page = review_page("t", DiffOutcome(ENV, differing(("m.py", old, new))), [])
        return [attributes["id"] for _, attributes in whole(page).elements if attributes.get("class") == "hunk"]

    assert names(b"") == names(b"import os\n" * 9) == ["m.py:f7", "m.py:f20"]


def test_the_lines_of_both_sides_are_numbered_and_unchanged_ones_can_be_unfolded():
    before = b"".join(b"line %d\n" % number for number in range(1, 300))
    after = before.replace(b"line 20\n", b"line 20\nnew\n").replace(b"line 200\n", b"")
    text = review_page("t", DiffOutcome(ENV, differing(("m.py", before, after))), []).decode()
    assert '<ins class="l"><i></i><i>21</i><code>new</code></ins>' in text
    assert re.search(r"<i>21</i><i>22</i><code>line <span class=\"n\">21</span></code>", text)
    assert re.findall(r"<summary>(\d+) unchanged lines</summary>", text) == ["17", "173", "96"]
    long = before.replace(b"line 299\n", b"line 299\n" * 200).replace(b"line 1\n", b"")
    short = long.replace(b"line 9\n", b"").replace(b"line 290\n", b"")
    text = review_page("t", DiffOutcome(ENV, differing(("m.py", long, short))), []).decode()
    assert re.findall(r"<summary>([^<]*) unchanged lines</summary>", text) == ["4", "100 of 274", "100 of 274", "100 of 205"]


def test_a_long_insertion_is_folded():
    new = b"".join(b"x%d = 1\n" % number for number in range(100))
    text = review_page("t", DiffOutcome(ENV, differing(("m.py", b"a = 1\n", b"a = 1\n" + new))), []).decode()
    assert "<summary>85 more inserted lines</summary>" in text and text.count('<ins class="l">') == 100


def test_two_hundred_files_are_a_page_of_a_few_megabytes():
    page = large_page()
    whole(page)
    assert len(page) < 4_000_000 and page.count(b'class="hunk"') == 400


def test_the_table_of_releases_has_each_reason_and_each_change_once():
    read = whole(releases_page())
    cells = read.text("td").replace(" ", "")
    assert (cells.count("✓applicable"), cells.count("✗notfoundreason1"), cells.count("✗nowheelreason2")) == (36, 4, 1)
    assert read.text("main").count("there is no f in this file") == 1
    assert "4 releases: pkg 1.3, 1.13, 1.23, 1.33" in read.text("li")
    assert read.text("main").count("shown as in") == 1 and "36 releases: pkg 1.0 to 1.2, 1.4 to 1.12" in read.text("p")
    assert "1.5 yanked" in read.text("th") and ("span", {"class": "yanked"}) in read.elements
    assert read.text("h3") == "ReasonsChange 1"


def test_a_list_of_many_hunks_is_folded():
    def page(hunks):
        answers = tuple(answer("p", "pkg/m.py", f"f{number}", State.APPLICABLE, (3,)) for number in range(hunks))
        return made_page("t", [Checked(WHY, (release("pkg", "1.0", APPLICABLE, answers=answers),))]).decode()

    assert "<details open><summary>A row is a release" in page(6) and "<details><summary>A row is a release" in page(7)


def test_backticks_mark_code_and_hostile_text_in_them_stays_text():
    one = WHY._replace(about=About("fix", "asks `a.b` of `<c>`", "it `d`\n\n- `e` and `f", {"bug": "see `g`"}))
    page = review_page("t", DiffOutcome(ENV, ()), [Reason(one, {}, True)]).decode()
    for text in ("asks <code>a.b</code> of <code>&lt;c&gt;</code>", "it <code>d</code>", "<li><code>e</code> and `f</li>", "see <code>g</code>"):
        assert text in page, text


def test_the_first_change_of_a_review_is_above_its_reasons():
    page = review_page("t", DiffOutcome(ENV, planned=differing(("m.py", b"a\n", b"b\n"))), [Reason(WHY, {}, False)]).decode()
    assert page.index('<del class="l">') < page.index('id="reasons"') < page.index("Why it is.")
    assert "<details><summary>1 file</summary>" in page, "the list of files is folded"


def test_a_review_of_what_does_not_fit_says_so_above_its_reasons():
    lost = answer("p", "m.py", "f", State.NOT_FOUND, (), "`f` is gone", "")
    page = review_page("t", DiffOutcome(ENV, answers=(lost,)), [Reason(WHY, {}, False)]).decode()
    assert '<p class="summary">nothing differs</p>' in page and "<code>f</code> is gone" in page
    assert page.index('id="remarks"') < page.index('id="reasons"')


def test_releases_in_which_nothing_fails_are_folded():
    page = releases_page().decode()
    failed, folded = page.partition("<details><summary>pkg: 36 releases in which nothing fails</summary>")[::2]
    assert (failed.count("✗ "), failed.count("✓ "), folded.count('<td class="bad">'), folded.count("✓")) == (1, 1, 0, 36)
    assert "A row is a release, a numbered column a hunk" in failed
