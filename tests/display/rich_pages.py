"""Pages of `--html` with something hostile in every field, with every state of a release, and with very many changes."""

from patcher.compatibility import APPLICABLE, Checked
from patcher.display.differences import DiffOutcome, HandEditDiff, Reason
from patcher.display.releases_page import releases_page as made_page
from patcher.display.review_page import review_page
from patcher.model import (
    About,
    Option,
    Patchset,
    PatchsetFolder,
    PatchsetSource,
    State,
    Variant,
    Verify,
)
from patcher.text.diffs import diff_texts
from tests.answers import ENV, answer, release

NASTY = "</td></script><script>alert(1)</script><img src=x onerror=alert(1)> ' \" & \x1b[8m \u202e\udcff"
ABOUT = About("fix", "A summary", "Why it is.\n\n  a table\n\nmore", {"origin": "https://example.org/x", "remove_when": "it is fixed"})
WHY = Patchset(
    "p", "1.0", ABOUT, (Option("limit", "int", 5, "how many"),), (Variant("pkg", ">=1", ()),), Verify(),
    PatchsetFolder(PatchsetSource("built in"), {}, "0" * 64),
)  # fmt: skip


def differing(*pairs, names=("p",)):
    """The diffs of these (path, old text, new text)."""
    diffs = [diff_texts("/site", path, old, new, names) for path, old, new in pairs]
    return tuple(diff._replace(release="pkg 1.0") for diff in diffs)


def code(number, change=""):
    """So many functions, each of which returns its number."""
    return b"".join(b"def f%d():\n    return %d%s\n\n\n" % (at, at, change.encode()) for at in range(number))


def hostile_pages():
    """Both pages of differences with hostile text in every field."""
    folder = PatchsetFolder(PatchsetSource(NASTY), {}, NASTY)
    one = WHY._replace(name=NASTY, version=NASTY, about=About(NASTY, NASTY, NASTY, {NASTY: NASTY}), folder=folder)
    one = one._replace(options=(Option(NASTY, "str", NASTY, NASTY),), variants=(Variant(NASTY, NASTY, ()),))
    source = b"x = '<script>alert(1)</script>'\n", "x = '\x1b[8m\u202e</del>'\r\n".encode() + b"# \xff\n"
    (diff,) = differing((NASTY, *source), names=(NASTY,))
    diff = diff._replace(site=NASTY, release=NASTY)
    answers = (answer(NASTY, NASTY, NASTY, State.CONFLICT, (3,), NASTY, NASTY),)
    edits = (HandEditDiff(NASTY, NASTY, NASTY, NASTY, True, diff), HandEditDiff(NASTY, "other", NASTY))
    outcome = DiffOutcome(ENV, (diff,), (diff,), edits, answers=answers, notes=(NASTY,))
    lost = release(NASTY, NASTY, "not found", problem=NASTY, hint=NASTY, yanked=True, diffs=(diff,), answers=answers)
    other = release(NASTY, "2", "not found", problem=NASTY, hint=NASTY, yanked=True, diffs=(diff,))
    checked = Checked(one, (lost, other))
    reasons = [Reason(one, {NASTY: NASTY}, True, f"{NASTY}\n{NASTY}")]
    return review_page(NASTY, outcome, reasons), made_page(NASTY, [checked])


def large_page():
    """A review of 200 files."""
    old = code(60)
    new = old.replace(b"return 3\n", b"return 4\n").replace(b"return 50\n", b"return 5\n")
    diffs = differing(*((f"pkg/m{number}.py", old, new) for number in range(200)))
    return review_page("200 files", DiffOutcome(ENV, diffs), [])


def releases_page():
    """42 releases: two reasons, one change, a yanked one."""
    applicable = answer("p", "pkg/m.py", "f", State.APPLICABLE, (3,))
    lost = applicable.with_result(state=State.NOT_FOUND, problem="there is no `f` in this file", hint="see g")
    outcomes = []
    for minor in range(40):
        old = b"# %d\n" % minor * 9 + code(3)
        diffs = differing(("pkg/m.py", old, old.replace(b"return 1\n", b"return 2\n")))
        fits = minor % 10 != 3
        if fits:
            outcomes.append(release("pkg", f"1.{minor}", APPLICABLE, yanked=minor == 5, diffs=diffs, answers=(applicable,)))
        else:
            outcomes.append(release("pkg", f"1.{minor}", "not found", yanked=minor == 5, answers=(lost,)))
    return made_page("t", [Checked(WHY, (*outcomes, release("pkg", "9.0", "no wheel", problem="it has none")))])
