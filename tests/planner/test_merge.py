"""A three-way merge by lines: exact, or refused."""

import random
import sys

import pytest

from patcher.model import Splice, Step, apply_splices
from patcher.planner.merge import Overlap, inverse, merge_splices, parses, replace_steps
from patcher.text.lines import line_edits


def step(name, *splices):
    return Step(name, "1", name.ljust(64, "0"), "fix", {}, tuple(splices))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("seed", range(60))
def test_edits_outside_our_splices_are_the_same_edits_of_the_text_without_them(seed, end):
    dice = random.Random(seed)
    pristine = b"".join(dice.choice([b"x = 1", b"", b"    y(%d)" % at, b"pass"]) + end for at in range(dice.randint(5, 60)))
    top, bottom = b"top" + end + b"second" + end, b"end" + end + b"bottom" + end * (seed % 3 > 0)
    pristine = top + pristine + bottom
    steps, text = [], pristine
    for name in "abc"[: dice.randint(1, 3)]:
        cuts = sorted(dice.sample(range(len(top), len(text) - len(bottom) + 1), 4))
        new = [dice.choice([b"", b"new%d" % dice.randint(0, 9), b"new" + end, end + b"two" + end]) for _ in cuts]
        splices = [Splice(cuts[0], cuts[1], new[0]), Splice(cuts[2], cuts[3], new[1])]
        steps.append(step(name, *splices))
        assert apply_splices(apply_splices(text, splices), inverse(text, splices)) == text
        text = apply_splices(text, splices)
    assert replace_steps(pristine, steps, [], text) == pristine
    assert replace_steps(pristine, steps, steps[:1], text) == apply_splices(pristine, steps[0].splices)
    mark = b"# an edit" + end
    above = replace_steps(pristine, steps, [], mark + text)
    assert above == mark + pristine
    assert replace_steps(pristine, steps, [], text + mark) == pristine + mark
    assert replace_steps(pristine, steps, [], b"top" + end + mark + text[3 + len(end) :]) == b"top" + end + mark + pristine[3 + len(end) :]


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        (b"a\nNEW\nb\nc\nme\n", b"a\nb\nc\nme\n"),
        (b"me\na\nNEW\nb\nc\n", b"me\na\nb\nc\n"),
        (b"a\nme\nNEW\nb\nc\n", b"a\nme\nb\nc\n"),  # beside our line: its order with the lines around it is known
        (b"a\nNEW\nme\nb\nc\n", b"a\nme\nb\nc\n"),
        (b"me\nNEW\nme\nc\n", b"me\nme\nc\n"),
        (b"a\nNEW # me\nb\nc\n", None),
        (b"a\nnew\nb\nc\n", None),
        (b"a\nb\nc\n", b"a\nb\nc\n"),  # taken out by hand
        (b"a\nme\nc\n", None),
        (b"", None),
    ],
)
def test_an_insertion_is_taken_out_of_an_edited_text(edited, expected):
    splices = [Splice(2, 2, b"NEW\n")]
    back = inverse(b"a\nb\nc\n", splices)
    if expected is None:
        with pytest.raises(Overlap):
            merge_splices(b"a\nNEW\nb\nc\n", back, edited)
    else:
        assert merge_splices(b"a\nNEW\nb\nc\n", back, edited) == expected


def test_two_insertions_at_one_point_have_no_order_and_are_refused():
    back = inverse(b"a\nb\nc\n", [Splice(2, 4, b"")])
    assert merge_splices(b"a\nc\n", back, b"a\nc\nme\n") == b"a\nb\nc\nme\n"
    with pytest.raises(Overlap) as caught:
        merge_splices(b"a\nc\n", back, b"a\nme\nc\n")
    assert (caught.value.line, caught.value.text) == (2, "me")


def test_of_equal_lines_ours_is_removed():
    back = inverse(b"foo\n", [Splice(0, 0, b"foo\n")])
    assert merge_splices(b"foo\nfoo\n", back, b"foo\nme\nfoo\n") == b"me\nfoo\n"


class Case:
    """A random text, a change of ours to it, and an edit by hand of the result, each known line by line.

    All lines differ, so what belongs to what is known by construction: `groups` are the lines `[p1, p2)` of `pristine`
    that became `[q1, q2)` of `patched`; `edited` holds (index in `patched` or None, line).
    """

    def __init__(self, dice):
        self.end = dice.choice(["\n", "\r\n", "\r"])
        self.names = iter(range(1000))
        self.pristine, self.patched, self.groups = [], [], []
        for _ in range(dice.randint(1, 3)):
            self.keep(dice.randint(1, 3) if self.groups else dice.randint(0, 3))
            old, new = dice.choice([(0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, 2), (2, 1)])
            p1, q1 = len(self.pristine), len(self.patched)
            self.pristine += [self.line("old") for _ in range(old)]
            self.patched += [self.line("new") for _ in range(new)]
            self.groups.append((p1, p1 + old, q1, q1 + new))
        same = dice.choice([0, 0, 1, 2])
        self.keep(same)
        for lines in (self.pristine, self.patched):
            if lines and dice.random() < 0.4:
                lines[-1] = lines[-1][: -len(self.end)]
        p, q = len(self.pristine), len(self.patched)
        if same and self.pristine[-1] != self.patched[-1]:
            self.groups.append((p - 1, p, q - 1, q))
        elif not same and not old and p and not self.pristine[-1].endswith(self.end):  # what was inserted ends the line above
            self.groups[-1] = (p - 1, p, p1 and q1 - 1, q)
        elif not same and not new and q and not self.patched[-1].endswith(self.end):
            self.groups[-1] = (p1 - 1, p, q - 1, q)
        self.edited = list(enumerate(self.patched))
        for _ in range(dice.randint(1, 2)):
            at = dice.randint(0, len(self.edited))
            first, last = dice.choice([(at, at), (at, at + 1)])
            self.edited[first:last] = [(None, self.line("hand")) for _ in range(dice.randint(0, 2))]
        self.edited = [
            (index, line) if line.endswith(self.end) else (None, line + self.end) for index, line in self.edited[:-1]
        ] + self.edited[-1:]
        if self.edited and dice.random() < 0.3:
            line = self.edited[-1][1]
            ended = line.endswith(self.end)
            self.edited[-1] = (None, line[: -len(self.end)] if ended else line + self.end)

    def keep(self, number):
        lines = [self.line("kept") for _ in range(number)]
        self.pristine += lines
        self.patched += lines

    def line(self, what):
        return f"# {what} {next(self.names)}{self.end}"

    def splices(self, dice):
        """Our change as an engine may write it: whole lines, or no more of them than differs."""
        found = []
        for p1, p2, q1, q2 in self.groups:
            start = len("".join(self.pristine[:p1]))
            old, new = "".join(self.pristine[p1:p2]), "".join(self.patched[q1:q2])
            if dice.random() < 0.5:
                same = next((at for at, (one, two) in enumerate(zip(old, new)) if one != two), min(len(old), len(new)))
                if old[same - 1 : same] != "\r":  # never between the two bytes of a line's end
                    start, old, new = start + same, old[same:], new[same:]
                if dice.random() < 0.5 and old.endswith(self.end) and new.endswith(self.end):
                    old, new = old[: -len(self.end)], new[: -len(self.end)]
            if old or new:
                found.append(Splice(start, start + len(old), new.encode()))
        return found

    def expected(self):
        """The edited text without our change; None where an edit touches it, or the order of both is not known."""
        places = {index: place for place, (index, _) in enumerate(self.edited) if index is not None}
        places[-1], places[len(self.patched)] = -1, len(self.edited)
        out, done = [], 0
        for p1, p2, q1, q2 in self.groups:
            before = max(index for index in places if index < q1)  # the kept lines around the group
            after = min(index for index in places if index >= q2)
            between = [line for _, line in self.edited[places[before] + 1 : places[after]]]
            if between == self.pristine[p1:p2] and (before + 1, after) == (q1, q2):  # done by hand
                place, resume = places[before] + 1, places[after]
            elif q1 < q2:
                if any(index not in places for index in range(q1, q2)) or places[q2 - 1] - places[q1] != q2 - 1 - q1:
                    return None
                place, resume = places[q1], places[q2 - 1] + 1
            elif (before + 1 == q1 == after and between) or before + 1 < q1 < after:
                return None
            else:  # an edit ends where we deleted something, or begins there
                place = resume = places[before] + 1 if before + 1 == q1 else places[after]
            out += [line for _, line in self.edited[done:place]] + self.pristine[p1:p2]
            done = resume
        out += [line for _, line in self.edited[done:]]
        return None if any(not line.endswith(self.end) for line in out[:-1]) else "".join(out).encode()


@pytest.mark.parametrize("seed", range(8))
def test_an_edit_beside_our_change_or_in_it_is_kept_exactly_or_refused(seed, counted):
    dice = random.Random(seed)
    merged = 0
    for _ in range(750):
        case = Case(dice)
        pristine, patched = "".join(case.pristine).encode(), "".join(case.patched).encode()
        splices = case.splices(dice)
        assert apply_splices(pristine, splices) == patched
        edited, expected = "".join(line for _, line in case.edited).encode(), case.expected()
        try:
            found = replace_steps(pristine, [step("a", *splices)], [], edited)
        except Overlap:
            found = None
        assert found == expected, (pristine, patched, edited)
        merged += found is not None
    counted("edits beside our change kept", merged)


def test_steps_that_stay_are_not_taken_out_and_done_again():
    """An edit in the lines of one of them then does not matter."""
    first, second = step("a", Splice(0, 1, b"one")), step("b", Splice(6, 7, b"two"))
    assert replace_steps(b"1\nx\n2\n", [first, second], [first], b"one # me\nx\ntwo\n") == b"one # me\nx\n2\n"


def test_an_edit_of_a_change_that_stays_is_kept_where_another_one_above_it_goes():
    """The one that stays is then at another offset."""
    pristine, edited = b"a = 1\nb = 1\nc = 1\n", b"a = 99\nb = 1\nc = 'by hand'\n"
    old = [step("above", Splice(4, 5, b"99")), step("stays", Splice(17, 18, b"999"))]
    assert replace_steps(pristine, old, [step("stays", Splice(16, 17, b"999"))], edited) == b"a = 1\nb = 1\nc = 'by hand'\n"


@pytest.mark.parametrize(
    ("pristine", "splice", "edited", "line", "text"),
    [
        (b"a\nold\n", Splice(2, 5, b"new"), b"a\nnew # me\n", 2, "new # me"),
        (b"a\nold\nc\n", Splice(2, 5, b"new"), b"a\nc\n", 2, "new"),  # it is gone: what it was
        (b"a\nold", Splice(2, 5, b"new\n"), b"a\nnew\nme\n", 3, "me"),
    ],
)
def test_a_refused_edit_is_shown_with_its_line(pristine, splice, edited, line, text):
    with pytest.raises(Overlap) as caught:
        replace_steps(pristine, [step("a", splice)], [], edited)
    assert (caught.value.line, caught.value.text, str(caught.value)) == (line, text, f"line {line}: {text}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"x = 1\n", True), (b"if x is 1: pass\n", True), (b"x =\n", False), (b"x = '\0'\n", False),
     (b"# coding: none-such\n", False), (b"def f(x): yield\nprint 1\n", False),
     (b"def f(x: (y := 1)): pass\n", sys.version_info < (3, 14))],
)  # fmt: skip
def test_a_merged_text_that_is_not_python_is_noticed(text, expected):
    assert parses(text) is expected


def test_lines_that_are_the_same_at_both_ends_are_never_part_of_an_edit():
    """Where equal lines could be paired in several ways, an insertion goes after them, and the rest is one edit."""
    assert line_edits([b"c"], [b"c", b"c"]) == [(1, 1, 1, 2)]
    assert line_edits([b"a"], [b"b", b"a", b"a"]) == [(0, 0, 0, 2)]
