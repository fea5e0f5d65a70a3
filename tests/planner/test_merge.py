"""A three-way merge by lines: exact, or refused."""

import random
import sys
from typing import NamedTuple

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
    lines = [dice.choice([b"x = 1", b"", b"    y(%d)" % at, b"pass"]) for at in range(dice.randint(5, 60))]
    top = b"top" + end + b"second" + end
    bottom = b"end" + end + b"bottom" + (end if seed % 3 else b"")
    pristine = top + b"".join(line + end for line in lines) + bottom
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
    assert replace_steps(pristine, steps, [], mark + text) == mark + pristine
    assert replace_steps(pristine, steps, [], text + mark) == pristine + mark
    first = b"top" + end
    below_first = first + mark + text[len(first) :]
    assert replace_steps(pristine, steps, [], below_first) == first + mark + pristine[len(first) :]


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


class Group(NamedTuple):
    """Lines of the pristine text, and the lines of the patched text that they became; the ends are exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def common_start(one, two):
    """How many characters two texts have in common at their beginning."""
    length = 0
    while length < min(len(one), len(two)) and one[length] == two[length]:
        length += 1
    return length


class Case:
    """A random text, a change of ours to it, and an edit by hand of the result, each known line by line.

    All lines differ, so what belongs to what is known by construction.

    Attributes:
        groups: what our change replaced by what.
        edited: (index in `patched` or None, line) of each line after the edit by hand.
    """

    def __init__(self, dice):
        self.end = dice.choice(["\n", "\r\n", "\r"])
        self.numbers = iter(range(1000))
        self.pristine, self.patched, self.groups = [], [], []
        for _ in range(dice.randint(1, 3)):
            self.keep(dice.randint(1 if self.groups else 0, 3))
            old, new = dice.choice([(0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, 2), (2, 1)])
            self.change(old, new)
        kept = dice.choice([0, 0, 1, 2])
        self.keep(kept)
        self.change_last_line_ends(dice, is_kept=kept > 0)
        self.edited = list(enumerate(self.patched))
        self.edit_by_hand(dice)

    def line(self, what):
        return f"# {what} {next(self.numbers)}{self.end}"

    def keep(self, number):
        lines = [self.line("kept") for _ in range(number)]
        self.pristine += lines
        self.patched += lines

    def change(self, old, new):
        """Replace so many lines by so many."""
        p, q = len(self.pristine), len(self.patched)
        self.pristine += [self.line("old") for _ in range(old)]
        self.patched += [self.line("new") for _ in range(new)]
        self.groups.append(Group(p, p + old, q, q + new))

    def change_last_line_ends(self, dice, is_kept):
        """Take the line's end off the last line of each text, or not; `is_kept`: our change left the last line alone."""
        for lines in (self.pristine, self.patched):
            if lines and dice.random() < 0.4:
                lines[-1] = lines[-1][: -len(self.end)]
        p, q = len(self.pristine), len(self.patched)
        last = self.groups[-1]
        if is_kept:
            if self.pristine[-1] != self.patched[-1]:
                self.groups.append(Group(p - 1, p, q - 1, q))
        elif last.old_start == last.old_end and p and not self.pristine[-1].endswith(self.end):
            self.groups[-1] = Group(p - 1, p, last.new_start - 1, q)  # what was inserted ends the line above
        elif last.new_start == last.new_end and q and not self.patched[-1].endswith(self.end):
            self.groups[-1] = Group(last.old_start - 1, p, q - 1, q)

    def edit_by_hand(self, dice):
        for _ in range(dice.randint(1, 2)):
            at = dice.randint(0, len(self.edited))
            first, last = dice.choice([(at, at), (at, at + 1)])
            self.edited[first:last] = [(None, self.line("hand")) for _ in range(dice.randint(0, 2))]
        for at, (_, line) in enumerate(self.edited[:-1]):
            if not line.endswith(self.end):
                self.edited[at] = (None, line + self.end)
        if self.edited and dice.random() < 0.3:
            _, line = self.edited[-1]
            other = line[: -len(self.end)] if line.endswith(self.end) else line + self.end
            self.edited[-1] = (None, other)

    def splices(self, dice):
        """Our change as an engine may write it: whole lines, or no more of them than differs."""
        splices = []
        for group in self.groups:
            start = len("".join(self.pristine[: group.old_start]))
            old = "".join(self.pristine[group.old_start : group.old_end])
            new = "".join(self.patched[group.new_start : group.new_end])
            if dice.random() < 0.5:
                same = common_start(old, new)
                if old[same - 1 : same] != "\r":  # never between the two bytes of a line's end
                    start, old, new = start + same, old[same:], new[same:]
                if dice.random() < 0.5 and old.endswith(self.end) and new.endswith(self.end):
                    old, new = old[: -len(self.end)], new[: -len(self.end)]
            if old or new:
                splices.append(Splice(start, start + len(old), new.encode()))
        return splices

    def expected(self):
        """The edited text without our change; None where an edit touches it, or the order of both is not known."""
        places = {index: place for place, (index, _) in enumerate(self.edited) if index is not None}
        places[-1] = -1
        places[len(self.patched)] = len(self.edited)
        edited = [line for _, line in self.edited]
        lines, end = [], 0
        for group in self.groups:
            place = self.place_in_edited(group, places)
            if place is None:
                return None
            lines += edited[end : place[0]] + self.pristine[group.old_start : group.old_end]
            end = place[1]
        lines += edited[end:]
        if not all(line.endswith(self.end) for line in lines[:-1]):
            return None
        return "".join(lines).encode()

    def place_in_edited(self, group, places):
        """(start, end) of the edited lines that are a group's; None where an edit touches them, or could be before or after.

        Args:
            group: one of ours.
            places: the index in `patched` of each kept line, and of both ends of the text, with its place in `edited`.
        """
        before = max(index for index in places if index < group.new_start)  # the kept lines around the group
        after = min(index for index in places if index >= group.new_end)
        between = [line for _, line in self.edited[places[before] + 1 : places[after]]]
        is_old = between == self.pristine[group.old_start : group.old_end]
        if is_old and (before + 1, after) == (group.new_start, group.new_end):  # our change was undone by hand
            return places[before] + 1, places[after]

        if group.new_start < group.new_end:
            of_group = [places.get(index) for index in range(group.new_start, group.new_end)]
            if None in of_group or of_group[-1] - of_group[0] != len(of_group) - 1:
                return None
            return of_group[0], of_group[-1] + 1

        begins_there = before + 1 == group.new_start
        ends_there = after == group.new_start
        if begins_there and ends_there and between:
            return None
        if not begins_there and not ends_there:
            return None
        place = places[before] + 1 if begins_there else places[after]
        return place, place


@pytest.mark.parametrize("seed", range(8))
def test_an_edit_beside_our_change_or_in_it_is_kept_exactly_or_refused(seed, counted):
    dice = random.Random(seed)
    merged = 0
    for _ in range(750):
        case = Case(dice)
        pristine, patched = "".join(case.pristine).encode(), "".join(case.patched).encode()
        splices = case.splices(dice)
        assert apply_splices(pristine, splices) == patched
        edited = "".join(line for _, line in case.edited).encode()
        try:
            result = replace_steps(pristine, [step("a", *splices)], [], edited)
        except Overlap:
            result = None
        assert result == case.expected(), (pristine, patched, edited)
        merged += result is not None
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
