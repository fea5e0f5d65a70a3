"""A merge of tokens has both changes, or there is none."""

import random

import pytest

from patcher.author.hunks.token_merge import merge_tokens

CODE = """\
def make(path, *, size=1):  # one
    if not is_folder(path):
        try:
            make_folders(path)
        except OSError as error:
            log.info("could not make %s: %r", path, error)
    return [path, size, 'a' "b"]
"""
MERGED = {  # name: (before, ours, theirs, merged)
    "a name each": ("a = b(c)\n", "a = d(c)\n", "e = b(c)\n", "e = d(c)\n"),
    "names beside each other": ("a.b(c)\n", "a.d(c)\n", "e.b(c)\n", "e.d(c)\n"),
    "quotes are no change": ("a('x', 'y')\n", "a('x', 'z')\n", 'a("x", "y")\n', "a(\"x\", 'z')\n"),
    "quotes that a text needs": ("a('x\"', b)\n", "a('x\"', c)\n", "a(\"x'\", b)\n", "a(\"x'\", c)\n"),
    "their layout stays": ("a(b, c)\n", "a(b, d)\n", "a(\n    b,\n    c\n)\n", "a(\n    b,\n    d\n)\n"),
    "our layout where we changed it": ("if a:\n    b(c)\n    d\n", "b(c)\nd\n", "if a:\n    b(e)\n    d\n", "b(e)\nd\n"),
    "our layout of what they changed": ("if a:\n    b(c)\n    d\n", "b(c)\nd\n", "if a:\n    x(c)\n    d\n", "x(c)\nd\n"),
    "their comment stays": ("a = b\nc = d\n", "a = b\nc = e\n", "a = b  # why\nc = d\n", "a = b  # why\nc = e\n"),
    "both add": ("a(b)\nc(d)\n", "a(b, x)\nc(d)\n", "a(b)\nc(d, y)\n", "a(b, x)\nc(d, y)\n"),
    "another version": ("a(\"b 1.2\", 3)\n", "a(\"c\", 3)\n", "a(\"b 1.10\", 3)\n", "a(\"c\", 3)\n"),
    "another number": ("a(10, b)\n", "a(20, b)\n", "a(15, b)\n", "a(20, b)\n"),
    "a small part of what goes": ("a\nif b and c:\n    d(e)\nf\n", "a\nf\n", "a\nif c:\n    d(e)\nf\n", "a\nf\n"),
}
REFUSED = {  # name: (before, ours, theirs)
    "the same name": ("a = b\n", "a = c\n", "a = d\n"),
    "another text": ('a("b", 3)\n', 'a("c", 3)\n', 'a("d", 3)\n'),
    "a number that they delete": ("a = [1]\n", "a = [2]\n", "a = []\n"),
    "both add in one place": ("a(b)\n", "a(b, x)\n", "a(b, y)\n"),
    "much of what goes": ("a\nif b and c:\n    d(e)\nf\n", "a\nf\n", "a\nif b and c:\n    x(y)\n    while z:\n        d(e)\nf\n"),
    "little in each of many places": (
        "a\nb(c, d, e, f, g, h, i, j, k)\nl\n",
        "a\nm\nl\n",
        "a\nb(c + 1, d + 1, e, f + 1, g, h + 1, i + 1, j, k)\nl\n",
    ),
    "more than what goes": ("a\nb(c)\nd\n", "a\nd\n", "a\ne(f)\ng\n"),
}


@pytest.mark.parametrize("name", MERGED)
def test_a_merge_has_both_changes(name):
    before, ours, theirs, merged = MERGED[name]
    assert merge_tokens(before, ours, theirs) == merged


@pytest.mark.parametrize("name", REFUSED)
def test_two_changes_of_the_same_tokens_are_not_merged(name):
    assert merge_tokens(*REFUSED[name]) is None


def test_what_they_change_in_what_goes_is_lost_only_where_it_may_be():
    before, ours, theirs, _ = MERGED["a small part of what goes"]
    assert merge_tokens(before, ours, theirs, loses=False) is None


def changed(code, chance):
    """The code with a few words replaced, deleted or repeated."""
    words = code.split(" ")
    for _ in range(3):
        at = chance.randrange(len(words))
        words[at : at + 1] = chance.choice(([], [words[at], "new"], [f"x{at}"]))
    return " ".join(words)


def test_a_side_without_a_change_changes_nothing():
    chance = random.Random(1130)
    for _ in range(200):
        other = changed(CODE, chance)
        assert merge_tokens(CODE, CODE, other) == other
        assert merge_tokens(CODE, other, CODE) == other
