"""Diffs as tools and people write them: taken apart, and applied to the bytes they were made of."""

import difflib
import random
import shutil
import subprocess

import pytest

from patcher.author.diffs.apply import apply_hunks
from patcher.author.diffs.patchfile import read_patches
from patcher.author.diffs.unified import parse_diff
from patcher.text.diffs import diff_texts

WORDS = [b"", b"pass", b"    x = 1", b"-- y", b"++ z", b"\ttab", b"caf\xc3\xa9", b"\xff\xfe", b"a\rb", b"@@ -1 +1 @@", b"--- a/x", b"\\ No"]


def lines_of(rng, most, end):
    """Fewer than `most` random lines."""
    lines = []
    for _ in range(rng.randrange(most)):
        line = rng.choice(WORDS)
        if rng.random() < 0.7:
            line += b" %d" % rng.randrange(30)
        lines.append(line + end)
    return lines


def edit(rng, lines, end):
    new = list(lines)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(new) + 1)
        new[at : at + rng.choice([0, 0, 1, 3])] = lines_of(rng, 4, end)
    return new


def pairs(count, seed):
    """Texts before and after an edit, some of which end without a line break."""
    rng = random.Random(seed)
    while count:
        end = rng.choice([b"\n", b"\n", b"\r\n"])
        old = lines_of(rng, 60, end)
        new = edit(rng, old, end)
        before, after = joined(rng, old), joined(rng, new)
        if before != after and before and after:
            count -= 1
            yield before, after


def joined(rng, lines):
    """A text of these lines, which now and then ends without a line break."""
    text = b"".join(lines)
    return text[:-1] if rng.random() < 0.2 else text


def applied(diff, before, **more):
    """What the only section of a diff makes of a text."""
    sections, problems, _ = parse_diff(diff)
    assert problems == [] and len(sections) == 1 and not sections[0].refused
    return apply_hunks(before, sections[0].hunks, **more)


COMMANDS = (
    ["git", "diff", "--no-index", "--text"],
    ["git", "diff", "--no-index", "-U0", "-a"],
    ["diff", "-ruNa"],
    ["diff", "-r", "-U1", "-a", "-p"],
)


def test_a_diff_gives_the_edited_bytes_whoever_wrote_it(tmp_path, counted):
    cases = list(pairs(150, 1))
    for number, texts in enumerate(cases):
        for side, text in zip("ab", texts):
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / f"{number}.py").write_bytes(text)
    for command in COMMANDS:
        diff = subprocess.run([*command, "a", "b"], cwd=tmp_path, stdout=subprocess.PIPE).stdout
        sections, problems, _ = parse_diff(diff)
        assert problems == [] and len(sections) == len(cases), command
        for section in sections:
            before, after = cases[int(section.path.split("/")[-1][:-3])]
            outcome = apply_hunks(before, section.hunks)
            assert outcome == (after, (), (), False), (command, section.path, before, after)
            assert apply_hunks(after, section.hunks).done or apply_hunks(after, section.hunks).after != after
        counted("diffs of real tools", len(sections))
    for before, after in cases:
        assert applied(diff_texts("", "x.py", before, after).text, before).after == after
        if before.endswith(b"\n") and after.endswith(b"\n"):  # difflib cannot say anything else
            old, new = (text.decode("latin-1").split("\n")[:-1] for text in (before, after))
            diff = "".join(f"{line}\n" for line in difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm=""))
            assert applied(diff.encode("latin-1"), before).after == after


HUNK = b"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
SAME = (("x/m.py", 1, ""),)


@pytest.mark.parametrize(
    ("head", "named"),
    [
        (b"--- a/x/m.py\n+++ b/x/m.py\n", SAME),
        (b"--- x/m.py\n+++ x/m.py\n", SAME),
        (b"--- x/m.py.orig\t2024-01-01 10:00:00.0 +0100\n+++ x/m.py\t2024-01-01 10:00:01.0 +0100\n", SAME),
        (b"--- x/m.py\t(revision 12)\n+++ x/m.py\t(working copy)\n", SAME),
        (b"--- a/x/m.py Mon Jan 01 10:00:00 2024 +0100\n+++ b/x/m.py Tue Jan 02 10:00:00 2024 +0100\n", SAME),
        (b'--- "a/x/\\303\\251 \\"q\\".py"\n+++ "b/x/\\303\\251 \\"q\\".py"\n', (('x/é "q".py', 1, ""),)),
        (b'--- "a/x/\\888.py"\n+++ "b/x/\\888.py"\n', (("x/888.py", 1, ""),)),  # no octal number
        (b"diff --git a/x/m.py b/x/m.py\nindex 12..34 100644\n--- a/x/m.py\n+++ b/x/m.py\n", SAME),
        (b"diff --git i/x/m.py w/x/m.py\nindex 12..34\n--- i/x/m.py\n+++ w/x/m.py\n", SAME),
        (b"diff --git a/x/m.py b/x/m.py\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x/m.py\n+++ b/x/m.py\n",
         (("x/m.py", 1, "a change of mode from 100644 to 100755"),)),
        (b"diff --git a/x/o.py b/x/m.py\nsimilarity index 90%\nrename from x/o.py\nrename to x/m.py\n--- a/x/o.py\n+++ b/x/m.py\n",
         (("x/m.py", 1, "a rename of x/o.py"),)),
        (b"diff --git a/x/o.py b/x/m.py\nrename to x/m.py\n--- a/x/o.py\n+++ b/x/m.py\n", (("x/m.py", 1, "a rename of x/m.py"),)),
        (b"diff --git a/x/o.py b/x/m.py\nsimilarity index 90%\ncopy from x/o.py\ncopy to x/m.py\n--- a/x/o.py\n+++ b/x/m.py\n",
         (("x/m.py", 0, "a copy of x/o.py"),)),
    ],
)  # fmt: skip
def test_the_file_is_read_from_every_form_of_header(head, named):
    sections, problems, _ = parse_diff(b"prose\n" + head + HUNK)
    assert problems == []
    assert tuple((each.path, len(each.hunks), each.refused) for each in sections) == named


@pytest.mark.parametrize("end", [b" x = 1\n", b" x = 1\n \n", b" x = 1\n\n\n", b" x = 1\n \n \n", b" x = 1\n \n \n \n", b" x = 1\n \n \n-- \n2.39\n"])
def test_blank_lines_at_the_end_of_a_diff_may_be_missing_or_too_many(end):
    text = b"y = 1\nx = 1\n\n\nz = 1\n"
    assert applied(b"--- m\n+++ m\n@@ -1,4 +1,4 @@\n-y = 1\n+y = 2\n" + end, text).after == text.replace(b"y = 1", b"y = 2")


def test_a_blank_line_between_two_hunks_belongs_to_neither():
    diff = b"--- m\n+++ m\n@@ -1 +1 @@\n-y = 1\n+y = 2\n \n@@ -3 +3 @@\n-x = 1\n+x = 2\n"
    assert applied(diff, b"y = 1\n\nx = 1\n").after == b"y = 2\n\nx = 2\n"


@pytest.mark.parametrize("added", [1, 2, -1])
def test_of_two_places_with_the_code_the_one_that_moved_with_the_previous_hunk_is_taken(tmp_path, added):
    lines = ["begin = 1\n", *(f"pad = {number}\n" for number in range(5)), *["same = 1\n"] * 8, "end = 1\n"]
    diff = b"--- m\n+++ m\n@@ -3 +3 @@\n-pad = 1\n+pad = 10\n@@ -10 +10 @@\n-same = 1\n+same = 2\n"
    moved = ["first = 1\n"] * added + lines if added > 0 else lines[-added:]
    after = applied(diff, "".join(moved).encode()).after.decode().splitlines(True)
    assert after.index("same = 2\n") == 9 + added
    (tmp_path / "m").write_text("".join(moved))
    subprocess.run(["patch", "-p0", "--quiet"], cwd=tmp_path, input=diff, check=True)
    assert (tmp_path / "m").read_text() == "".join(after), "as GNU patch does"


def test_what_is_not_a_change_of_text_is_named():
    diff = (
        b"diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n"
        b"diff --git a/q.bin b/q.bin\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\n"
        b"diff --git a/new.py b/new.py\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
        b"diff --git a/e.py b/e.py\nnew file mode 100644\nindex 0..0\n"
        b"diff --git a/gone.py b/gone.py\ndeleted file mode 100644\nindex 1..0\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        b"diff --git a/old name.py b/name.py\nsimilarity index 100%\nrename from old name.py\nrename to name.py\n"
        b"diff -ruN one/n.py two/n.py\n--- one/n.py\t1970-01-01 01:00:00.0 +0100\n+++ two/n.py\t2024-01-01 01:00:00.0 +0100\n@@ -0,0 +1 @@\n+x\n"
        b"Binary files one/l.so and two/l.so differ\nOnly in two/sub: extra.py\n"
    )
    sections, problems, begins = parse_diff(diff)
    assert problems == [] and begins == 0
    assert [(each.path, each.refused) for each in sections] == [
        ("p.png", "a binary diff"),
        ("q.bin", "a binary diff"),
        ("new.py", "a new file"),
        ("e.py", "a new file"),
        ("gone.py", "a deleted file"),
        ("run.sh", "a change of mode from 100644 to 100755"),
        ("name.py", "a rename of old name.py"),
        ("two/n.py", "a new file"),
        ("two/l.so", "a binary diff"),
        ("two/sub/extra.py", "a file that one side alone has"),
    ]
    assert [each.line for each in sections][-2:] == [39, 40]
    assert all(each.gone or each.origin for each in sections if each.hunks)  # what a deleted or renamed file has


@pytest.mark.parametrize(
    ("diff", "problems"),
    [
        (b"--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n", ["3: the hunk is cut short: it ends in line 5"]),
        (b"--- a\n+++ b\n@@ -1,5 +1,5 @@\n one\n-two\n+2\n", ["3: the hunk is cut short: it ends in line 6"]),
        (b"--- a\n+++ b\n@@ reduce @@\n-x\n+y\n", ["2: no hunk of b below it, expected `@@ -N,N +N,N @@`"]),
        (b"--- a\n+++ b\n@@ -x +y @@\n", ["3: expected `@@ -N,N +N,N @@`"]),
        (b"--- a\n+++ b\n@@ -" + b"9" * 6000 + b" +1 @@\n-x\n+y\n", ["3: expected `@@ -N,N +N,N @@`"]),
        (b"--- a\n+++ b\n@@ -1 +1,100001 @@\n x\n" + b"+y\n" * 100_000, ["3: a hunk that changes 100,000 lines, expected at most 5,000"]),
        (b"prose\n" + HUNK, ["2: a hunk without `--- PATH` and `+++ PATH` above it"]),
        (b"*** a\n--- b\n***************\n", ["1: a context diff: make it with diff -u, or convert it with filterdiff --format=unified"]),
        (b"--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n@@ -9,3 +9,3 @@\n one\n", ["3: the hunk is cut short: it ends in line 4", "5: a hunk without `--- PATH` and `+++ PATH` above it"]),
    ],
)
def test_all_problems_of_a_diff_are_reported_at_once(diff, problems):
    assert [f"{each.line}: {each.text}" for each in parse_diff(diff)[1]] == problems


MANY = 1_000_000  # of what is read again from each of them on is not read before the test is given up


@pytest.mark.parametrize(
    "head",
    [
        b"--- x/m.py" + b" " * MANY + b"!\n+++ x/m.py\n",
        b"--- x/m.py.orig" + b" Thu Jan 01 00:00" * (MANY // 10) + b"\n+++ x/m.py\n",
        b"diff --git " + b" " * MANY + b"\n--- x/m.py\n+++ x/m.py\n",
        b"diff --git " + b'\\"' * MANY + b"\n--- x/m.py\n+++ x/m.py\n",
        b"From " + b"@" * MANY + b"\n--- x/m.py\n+++ x/m.py\n",
    ],
    ids=["blanks", "a date", "git", "quotes", "a mail"],
)
def test_a_line_of_a_million_characters_is_read_once(head):
    (patch,), problems = read_patches(head + HUNK)
    assert problems == [] and [section.path for section in patch.sections] == ["x/m.py"]


@pytest.mark.parametrize("tail", [b"-- \n2.39.0\n", b"--\n2.39\n\n", b"\n_____\nlist mailing list\n", b"--- a/y\n+++ b/y\n" + HUNK, b"diff --git a/q b/q\nold mode 1\nnew mode 2\n"])
def test_what_follows_a_hunk_is_not_part_of_it(tail):
    sections, problems, begins = parse_diff(b"prose\n---\n m.py | 2 +-\n\n--- a/m.py\n+++ b/m.py\n" + HUNK + tail)
    assert problems == [] and begins == len(b"prose\n---\n m.py | 2 +-\n")
    assert apply_hunks(b"one\ntwo\nthree\n", sections[0].hunks).after == b"one\n2\nthree\n"


M = b"def one():\n    x = 1\n    y = 2\n    return x\n\n\ndef two():\n    x = 1\n    y = 2\n    return x\n"
DIFF = b"--- m.py\n+++ m.py\n@@ -%d,3 +%d,3 @@%s\n     x = 1\n-    y = 2\n+    y = 3\n     return x\n"


def test_a_hunk_that_moved_is_taken_where_its_place_is_certain():
    assert applied(DIFF % (2, 2, b""), M) == (M.replace(b"2", b"3", 1), (), (), False)
    outcome = applied(DIFF % (30, 30, b""), M[: M.index(b"def two")])
    assert (outcome.after, outcome.notes) == (M[: M.index(b"def two")].replace(b"2", b"3"), ("hunk 1: found at line 2, 28 lines above where the diff says",))
    assert applied(DIFF % (20, 20, b" def two():"), M).after == M[::-1].replace(b"2", b"3", 1)[::-1]
    outcome = applied(DIFF % (20, 20, b""), M)
    assert (outcome.after, outcome.done) == (M, False)
    assert outcome.problems == ("hunk 1 (line 3 of the diff): its lines stand in 2 places (lines 2, 8), none of them where the diff says",)


def test_hunks_move_together_and_stay_in_their_order():
    first, second = b"@@ -1,2 +1,2 @@\n-top\n+TOP\n 1\n", b"@@ -6,2 +6,2 @@\n x\n-y\n+z\n"
    text = b"top\n1\nx\ny\n5\nx\ny\n"
    head = b"--- m\n+++ m\n"
    assert applied(head + first + second, text).after == b"TOP\n1\nx\ny\n5\nx\nz\n"
    outcome = applied(head + first + second, b"new\nnew\n" + text)
    assert (outcome.after, len(outcome.notes)) == (b"new\nnew\nTOP\n1\nx\ny\n5\nx\nz\n", 2)
    assert applied(head + first + second, b"x\ny\ntop\n1\n").problems == ("hunk 2 (line 7 of the diff): the file has its lines, but not one below the other",)


@pytest.mark.parametrize(
    ("hunk", "text"),
    [
        (b"@@ -1,6 +1,2 @@\n a\n-b\n-c\n-d\n-e\n f\n", b"c\nd\n"),  # of what goes, nothing may be left out
        (b"@@ -1,3 +1,2 @@\n a\n-\n f\n", b"x\n\ny\n"),  # a blank line is found everywhere
    ],
)
def test_fuzz_leaves_out_context_and_never_all_of_it(hunk, text):
    assert applied(b"--- m\n+++ m\n" + hunk, text, fuzz=3).after == text


def test_fuzz_is_taken_where_it_is_allowed_and_named_where_it_is_not():
    changed = M.replace(b"x = 1", b"x = 10")[: M.index(b"def two")]
    diff = DIFF % (2, 2, b"")
    assert applied(diff, changed).problems == ("hunk 1 (line 3 of the diff): its context differs: it is found at line 2 with --fuzz 1",)
    outcome = applied(diff, changed, fuzz=1)
    assert (outcome.after, outcome.notes) == (changed.replace(b"y = 2", b"y = 3"), ("hunk 1: found at line 2, with fuzz 1",))
    gone = changed.replace(b"y = 2", b"z = 2")
    assert applied(diff, gone, fuzz=3).problems == ("hunk 1 (line 3 of the diff): the file has no line `x = 1`",)
    parted = b"\n" + b"    x = 1\n\n    y = 2\n\n    return x\n" * 2
    assert applied(diff, parted).problems == ("hunk 1 (line 3 of the diff): the file has its lines, but not one below the other",)


THERE = "hunk 1 (line 3 of the diff): the file has this change already: the diff is applied, or reversed"


def test_what_is_already_there_is_reported():
    diff = DIFF % (2, 2, b"") + b"@@ -8,3 +8,3 @@\n     x = 1\n-    y = 2\n+    y = 4\n     return x\n"
    once, both = M.replace(b"2", b"3", 1), M.replace(b"2", b"3", 1).replace(b"2", b"4", 1)
    assert applied(diff, M).after == both and applied(diff, both).done
    outcome = applied(diff, once)
    assert not outcome.done and outcome.problems == (THERE,)
    one, two = b"one\n1\n", b"two\n2\n"
    diff = b"--- m\n+++ m\n@@ -1,2 +1,2 @@\n one\n-1\n+I\n@@ -3,2 +3,2 @@\n two\n-2\n+II\n"
    assert applied(diff, b"new\none\nI\n" + two).problems == (THERE,)
    assert applied(diff, one + two).after == b"one\nI\ntwo\nII\n"


@pytest.mark.parametrize("ends", [(b"\n", b"\r\n"), (b"\r\n", b"\n"), (b"\r\n", b"\r\n")])
@pytest.mark.parametrize("newline", [True, False])
def test_line_ends_of_the_diff_need_not_be_those_of_the_file(ends, newline):
    of_diff, of_file = ends
    diff = b"--- m\n+++ m\n@@ -1,2 +1,3 @@\n one\n+two\n three\n" + (b"" if newline else b"\\ No newline at end of file\n")

    def as_in_the_file(text):
        text = text.replace(b"\n", of_file)
        return text if newline else text[: -len(of_file)]

    before, after = as_in_the_file(b"one\nthree\n"), as_in_the_file(b"one\ntwo\nthree\n")
    outcome = applied(diff.replace(b"\n", of_diff), before)
    assert (outcome.after, outcome.problems) == (after, ())
    assert bool(outcome.notes) == (of_file == b"\r\n")


@pytest.mark.parametrize(
    ("behind", "after"),
    [
        (b" three\n", b"one\n2\nthree\nfour\n"),
        (b" three\n\n", b"one\n2\nthree\nfour\n"),
        (b" three\n+3.5\n four\n", b"one\n2\nthree\n3.5\nfour\n"),
        (b"-three\n-- \n2.40\n", b"one\n2\nfour\n"),
        (b" three\n--- n\n+++ n\n@@ -1 +1 @@\n-a\n+b\n", b"one\n2\nthree\nfour\n"),
    ],
)
def test_lines_beyond_the_counts_of_a_header_are_taken_and_reported(behind, after):
    sections, problems, _ = parse_diff(b"--- m\n+++ m\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" + behind)
    assert problems == []
    outcome = apply_hunks(b"one\ntwo\nthree\nfour\n", sections[0].hunks)
    assert (outcome.after, outcome.problems) == (after, ())
    assert outcome.notes == ("hunk 1: it has more lines than its header says: all of them count",)


def test_blank_context_may_have_lost_its_blank():
    assert applied(b"--- m\n+++ m\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n", b"one\n\ntwo\n").after == b"one\n\n2\n"


@pytest.mark.parametrize("below", [b"", b" h\n"])
def test_a_hunk_with_less_context_below_belongs_at_the_end_as_for_gnu_patch(tmp_path, below):
    before = b"h\n" + b"a\nb\nc\nh\n" * 3 if below else b"h\n" + b"a\nb\nc\n" * 3
    rows = 3 + bool(below)
    diff = b"--- m\n+++ m\n@@ -2,%d +2,%d @@\n a\n b\n-c\n+C\n" % (rows, rows) + below
    (tmp_path / "m").write_bytes(before)
    if shutil.which("patch"):
        subprocess.run(["patch", "-s", "m"], cwd=str(tmp_path), input=diff, check=True)
        assert (tmp_path / "m").read_bytes() == applied(diff, before).after
    assert applied(diff, before).after.count(b"C") == 1 and b"C" in applied(diff, before).after[-6:]
