"""A change is carried over to the code that a release of --also has in its place, by a merge of tokens. Only where that is clear."""

import pytest

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import FileEdit
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State

HEAD = "import log\n\n\n"
GUARDED = """\
def make(path):
    if not is_folder(path):
        try:
            make_folders(path)
            log.debug("made %s", path)
        except OSError as error:
            log.info("could not make %s: %r", path, error)
    return path
"""
PLAIN = """\
def make(path):
    try:
        make_folders(path, exist_ok=True)
        log.debug("made %s", path)
    except OSError as error:
        log.info("could not make %s: %r", path, error)
    return path
"""
BRANCHES = """\
def key_of(key, header):
    if callable(key):
        key = key(header)
    elif key is None and "jwk" in header:
        key = header["jwk"]
    return prepared(key)
"""
GONE = BRANCHES.replace('    elif key is None and "jwk" in header:\n        key = header["jwk"]\n', "")
LINKED = """\
def link(path):
    return fix(path, "libsim210.so", "libsim210.so", 3)
"""
PORTED = {  # name: (before, after, the other release, what becomes of it)
    "another name in code that is dedented": (
        GUARDED,
        PLAIN,
        GUARDED.replace("log.", "LOGGER."),
        PLAIN.replace("log.", "LOGGER."),
    ),
    "a branch that goes has another condition": (
        BRANCHES,
        GONE,
        BRANCHES.replace("key is None and ", ""),
        GONE,
    ),
    "another version in the literal that is replaced": (
        LINKED,
        LINKED.replace("210", ""),
        LINKED.replace("210", "200"),
        LINKED.replace("210", ""),
    ),
    "another name for the list that grows": (
        'class Retry:\n    BLACKLIST = frozenset(["auth"])\n    MOST = frozenset([413, 429])\n',
        'class Retry:\n    BLACKLIST = frozenset(["cookie", "auth"])\n    MOST = frozenset([413, 429])\n',
        'class Retry:\n    REMOVED = frozenset(["auth"])\n    MOST = frozenset([413, 429])\n',
        'class Retry:\n    REMOVED = frozenset(["cookie", "auth"])\n    MOST = frozenset([413, 429])\n',
    ),
    "other quotes and another layout": (
        GUARDED,
        PLAIN,
        GUARDED.replace('"', "'").replace("log.", "LOGGER.").replace("(path)\n", "(\n                path\n            )\n"),
        None,
    ),
}
PORTED["form feeds and line breaks of Windows"] = tuple(
    "one = 1\r\n\x0c\r\ntwo = '\x1c'\r\n" + text.replace("\n", "\r\n") for text in PORTED["a branch that goes has another condition"]
)
REFUSED = {  # name: (before, after, the other release)
    "another text in the literal that is replaced": (
        'PATTERN = compiled("(a+)-(b+)", 1, 2)\n',
        'PATTERN = compiled("([^-]+)-(b+)", 1, 2)\n',
        'PATTERN = compiled("(a+)-(b+)-(c*)", 1, 2)\n',
    ),
    "most of what is replaced is other code": (
        BRANCHES,
        BRANCHES[: BRANCHES.index("    if")] + "    return header.get(key)\n",
        "def key_of(key, header):\n    while key in header:\n        key = unwrapped(header.pop(key))\n    return prepared(key)\n",
    ),
    "what goes comes again elsewhere": (
        "def f(a, b):\n    path = start(\n        a,\n        mode=fast,\n        size=1,\n    )\n    one(b)\n    two(b)\n    fix(b)\n    new(b)\n    other(b)\n    prepared(b)\n    return path\n",
        "def f(a, b):\n    one(b)\n    two(b)\n    fix(b)\n    new(b)\n    other(b)\n    prepared(b)\n    path = start(\n        a,\n        mode=fast,\n        size=2,\n    )\n    return path\n",
        "def f(a, b):\n    path = start(\n        a,\n        mode=safe,\n        size=1,\n    )\n    one(b)\n    two(b)\n    fix(b)\n    new(b)\n    other(b)\n    prepared(b)\n    return path\n",
    ),
    "the other release has more statements where some go": (
        "def f(a):\n    one(a)\n    if a:\n        for b in a:\n            if b:\n                other(b)\n                continue\n            fix(b)\n    two(a)\n",
        "def f(a):\n    one(a)\n    two(a)\n",
        "def f(a):\n    one(a)\n    if a:\n        for b in a:\n            fix(b)\n\n    # more\n    new(a)\n\n    two(a)\n",
    ),
    "the same token is changed": (
        "def f(a):\n    return start(a, mode=fast, size=1)\n",
        "def f(a):\n    return start(a, mode=slow, size=1)\n",
        "def f(a):\n    return start(a, mode=safe, size=1)\n",
    ),
    "code comes at the place of an insertion": (
        "def f(a):\n    one(a)\n    two(a)\n",
        "def f(a):\n    one(a)\n    new(a)\n    two(a)\n",
        "def f(a):\n    other(a)\n    more(a)\n    third(a)\n",
    ),
}


def draft_of(before, after, other):
    edit = FileEdit("pkg/m.py", (HEAD + before).encode(), (HEAD + after).encode())
    return generalise([edit], [{"pkg/m.py": (HEAD + other).encode()}], injected=INJECTED)


INJECTED = ("LOGGER", "is_folder", "make_folders", "prepared", "fix", "compiled", "fast", "slow", "safe", "start", "one", "two", "new", "other")


def made(draft, text):
    """The answers for a text, and what the draft makes of it."""
    _, patches = parse_spatch(draft.spatch(), "test")
    rewritten = rewrite((HEAD + text).encode(), patches[0].hunks, {}, INJECTED)
    return {answer.state for answer in rewritten.answers}, rewritten.data.decode()[len(HEAD) :]


@pytest.mark.parametrize("name", PORTED)
def test_a_change_is_made_in_the_code_that_another_release_has(name):
    before, after, other, expected = PORTED[name]
    draft = draft_of(before, after, other)
    assert "as another release has it" in draft.files[0].hunks[0].form
    assert made(draft, before) == ({State.APPLICABLE}, after)
    states, text = made(draft, other)
    assert states == {State.APPLICABLE}
    if expected is not None:
        assert text == expected
    assert made(draft, text)[0] == {State.UPSTREAM}


@pytest.mark.parametrize("name", REFUSED)
def test_a_change_of_what_another_release_has_otherwise_is_not_guessed(name):
    before, after, other = REFUSED[name]
    draft = draft_of(before, after, other)
    assert made(draft, before) == ({State.APPLICABLE}, after)
    states, text = made(draft, other)
    assert State.NOT_FOUND in states and text == other


def test_a_change_that_other_hunks_go_with_keeps_its_form_for_another_release():
    before, after = GUARDED + "\n\n" + LINKED, PLAIN + "\n\n" + LINKED.replace("210", "")
    other = before.replace("log.", "LOGGER.").replace("210", "200")
    draft = draft_of(before, after, other)
    assert made(draft, other) == ({State.APPLICABLE}, after.replace("log.", "LOGGER."))
    assert made(draft, before) == ({State.APPLICABLE}, after)
