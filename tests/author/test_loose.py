"""What a further release may loosen: the old value, the class around a definition, the place of a file. Only that."""

import textwrap
from contextlib import closing

import pytest

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import FileEdit
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from tests.author.world import EDIT, M, World, diff
from tests.command import done
from tests.index import Index

HOME = """
LIMIT = 10


class Pool:
    def take(self, key):
        self.size = 4
        return self.free.pop(key)

    def grow(self, key):
        return self.free.push(key)
"""
VALUE, TAKEN = HOME.replace("LIMIT = 10", "LIMIT = 12"), HOME.replace("free.pop(key)", "free.pop(key, None)")
RENAMED = HOME.replace("class Pool", "class BasePool")


def drafted(after, *others):
    """The draft of this edit; `others` are further releases: {path: data}, or the text of the file alone."""
    releases = []
    for other in others:
        releases.append(other if isinstance(other, dict) else {"pkg/m.py": other.encode()})
    return generalise([FileEdit("pkg/m.py", HOME.encode(), after.encode())], releases)


def texts(draft):
    (file,) = draft.files
    return [hunk.text for hunk in file.hunks]


def result(draft, text):
    """The text that the draft makes of this one."""
    _, (patch,) = parse_spatch(draft.spatch(), "test")
    rewritten = rewrite(text.encode(), patch.hunks, {})
    assert {answer.state for answer in rewritten.answers} == {State.APPLICABLE}
    return rewritten.data.decode()


def test_the_old_value_is_left_open_where_another_release_has_a_different_one():
    after, other = HOME.replace("LIMIT = 10", "LIMIT = 99"), VALUE
    forms = ["@@ <module> @@\n-LIMIT = 10\n+LIMIT = 99\n@@ or @@\n-LIMIT = $number\n+LIMIT = 99\n"]
    assert texts(drafted(after)) == texts(drafted(after, other)) == forms
    assert result(drafted(after), HOME) == result(drafted(after), other) == after
    draft = drafted(after, other.replace("12", "DEFAULT"))
    assert texts(draft) == ["@@ <module> @@\n-LIMIT = $OLD\n+LIMIT = 99\n"]
    assert draft.files[0].hunks[0].form.endswith("the old value left open")


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("['run', '--nodes', 1]", "['run', '--nodes', 2, '--fast']"),
        ("limit(1)", "limit(2)"),
        ("10", "['run', 2]"),
        ("10", "limit(2)"),
        ("10", "os.limit"),
        ("os.limit", "10"),
    ],
)
def test_a_value_that_is_more_than_one_literal_or_name_is_never_left_open(value, other):
    before, another = (HOME.replace("LIMIT = 10", f"LIMIT = {each}") for each in (value, other))
    edit = FileEdit("pkg/m.py", before.encode(), HOME.replace("LIMIT = 10", "LIMIT = 99").encode())
    literal = HOME.replace("LIMIT = 10", "LIMIT = 12")  # of two releases one is enough to forbid it
    for others in ([another], [another, literal], [literal, another]):
        draft = generalise([edit], [{"pkg/m.py": text.encode()} for text in others])
        assert draft.complete and "$OLD" not in draft.spatch()


def test_a_text_of_which_words_stay_is_not_left_open_as_another_release_has_others():
    before, another, after = (HOME.replace("LIMIT = 10", f"LIMIT = 'one {word}'") for word in ("two", "three", "four"))
    edit = FileEdit("pkg/m.py", before.encode(), after.encode())
    draft = generalise([edit], [{"pkg/m.py": another.encode()}])
    assert texts(draft) == ["@@ <module> @@\n-LIMIT = 'one two'\n+LIMIT = 'one four'\n"]


BELOW = """
def start(model, port):
    connect(port)
    model = wrapped(model)
    return model
"""
INSERTED = BELOW.replace("    return", "    report(model, port)\n    return").replace("\ndef", "from log import report\n\ndef")
BASE = BELOW.replace("\ndef", "from log import report\n\ndef")
OTHER_BELOW = BASE.replace("    return model", "    return model, port")
OTHER_ABOVE = BASE.replace("model = wrapped(model)", "wrap(model)")


def test_a_hunk_has_another_form_where_no_single_one_holds_in_all_releases():
    def inserted(*others):
        edit = FileEdit("pkg/m.py", BASE.encode(), INSERTED.encode())
        return generalise([edit], [{"pkg/m.py": other.encode()} for other in others])

    assert inserted(OTHER_BELOW).spatch() == inserted(OTHER_ABOVE).spatch() == inserted().spatch()
    for others in ((OTHER_BELOW, OTHER_ABOVE), (OTHER_ABOVE, OTHER_BELOW)):
        draft = inserted(*others)
        assert draft.complete and len(texts(draft)) == 1
        assert texts(draft)[0].count("@@ or @@\n") == 1
        assert "; where that is not found: " in draft.files[0].hunks[0].form
        assert result(draft, BASE) == INSERTED
        for other in others:
            assert result(draft, other).count("    report(model, port)\n    return model") == 1


PLAIN = """import re
from lib import one


def start(model, port):
    connect(port)
    model = wrapped(model)
    return model
"""


@pytest.mark.parametrize(
    ("old", "new", "tried"),
    [
        ("    return", "    audit()\n    return", ("return model", "return model, port")),
        ("    return", "    audit()\n    return", ("model = wrapped(model)", "wrap(model)")),
        ("    return", "    audit()\n    return", ("model, port", "port, model")),
        ("    return", "    audit()\n    return", ("    return", "    audit()\n    return")),
        ("    model = wrapped(model)\n", "", ("import re", "import os")),
        ("from lib", "import os\nfrom lib", ("return model", "return 1")),
        ("connect(port)", "connect(port, wait=1)", ("return model", "return 1")),
        ("import re", "import os", ("return model", "return 1")),
    ],
)
def test_a_hunk_has_the_forms_that_it_has_without_a_release_that_is_tried(old, new, tried):
    before = PLAIN.replace("    connect", "    audit = model.audit\n    connect")
    edit = FileEdit("pkg/m.py", before.encode(), before.replace(old, new, 1).encode())
    (alone,) = texts(generalise([edit]))
    (both,) = texts(generalise([edit], [{"pkg/m.py": before.replace(*tried, 1).encode()}]))
    forms = both.split("@@ or @@\n")
    assert "@@ or @@" in alone
    for form in alone.split("@@ or @@\n"):
        assert form in forms or f"@@ start @@\n{form}" in forms


def test_a_file_that_moved_is_not_the_one_whose_value_would_be_overwritten():
    after, literal = HOME.replace("LIMIT = 10", "LIMIT = 99"), {"pkg/m.py": VALUE.encode()}
    moved = {"pkg/n.py": HOME.replace("LIMIT = 10", "LIMIT = 12").encode()}
    assert drafted(after, literal, moved).files[0].paths == ("pkg/m.py", "pkg/n.py")
    moved = {"pkg/n.py": HOME.replace("LIMIT = 10", "LIMIT = ['run', 2]").encode()}
    assert drafted(after, literal, moved).files[0].paths == ("pkg/m.py",)


@pytest.mark.parametrize("other", ["'no'", "None", "DEFAULT"])
def test_one_literal_or_one_name_is_left_open(other):
    draft = drafted(HOME.replace("LIMIT = 10", "LIMIT = 99"), HOME.replace("LIMIT = 10", f"LIMIT = {other}"))
    assert texts(draft) == ["@@ <module> @@\n-LIMIT = $OLD\n+LIMIT = 99\n"]


def test_a_definition_is_looked_for_in_any_class_where_another_release_has_it_in_another():
    assert texts(drafted(TAKEN))[0].startswith("@@ Pool.take @@")
    draft = drafted(TAKEN, RENAMED)
    assert texts(draft)[0].startswith("@@ *.take @@")
    assert result(draft, HOME) == TAKEN
    assert result(draft, RENAMED) == TAKEN.replace("class Pool", "class BasePool")


def test_a_hunk_that_holds_anyway_is_not_loosened():
    draft = drafted(TAKEN, VALUE, HOME)
    assert texts(draft) == texts(drafted(TAKEN))


def test_a_loose_form_that_gains_no_release_is_not_taken():
    gone = HOME.replace("LIMIT = 10\n", "").replace("    def take", "    def give").replace("return self.free.pop(key)", "pass")
    for after in (TAKEN, HOME.replace("LIMIT = 10", "LIMIT = 99")):
        draft = drafted(after, gone)
        (text,) = texts(draft)
        assert texts(drafted(after))[0].startswith(text)
        for hunk in draft.files[0].hunks:
            for candidate in hunk.rejected:
                assert "$OLD" not in candidate.text and "*." not in candidate.text


def test_a_function_renamed_in_another_release_gets_a_form():
    other = HOME.replace("def take", "def _take_one").replace("class Pool", "class Pool:\n    def take(self, key):\n        return key\n\n\nclass Rest")
    draft = drafted(TAKEN, other)
    change = "-self.free.pop(key)\n+self.free.pop(key, None)\n"
    assert texts(draft) == [f"@@ Pool.take @@\n{change}@@ or Rest._take_one @@\n{change}"]
    assert result(draft, other) == other.replace("free.pop(key)", "free.pop(key, None)")
    twice = other + HOME.replace("def take", "def _take_two").replace("class Pool", "class Last")
    assert texts(drafted(TAKEN, twice)) == [f"@@ Pool.take @@\n{change}"]  # which one is meant?
    unlike = HOME.replace("def take", "def _take").replace("self.size = 4", "for each in self: print(each, key, sep='', end='-')")
    assert texts(drafted(TAKEN, unlike)) == [f"@@ Pool.take @@\n{change}"]
    both = HOME + HOME.partition("class Pool:\n")[2].partition("\n\n")[0].replace("def take", "\n    def drop")
    edit = FileEdit("pkg/m.py", both.encode(), both.replace("free.pop(key)", "free.pop(key, None)", 1).encode())
    draft = generalise([edit], [{"pkg/m.py": both.replace(HOME[HOME.index("    def take") : HOME.index("    def grow")], "").encode()}])
    assert "or Pool.drop" not in draft.spatch()  # the edit did not change that one
    header = HOME.replace("def take(self, key)", "def take(self, key, b=1)")
    other = HOME.replace("def take", "def _take")
    draft = drafted(header, other)
    assert "@@ or Pool._take @@\n-def _take(...):\n+def _take(..., b=1):\n" in texts(draft)[0]
    assert result(draft, other) == other.replace("self, key)", "self, key, b=1)", 1)


def test_a_loose_scope_never_changes_the_edit_in_the_original_release():
    twice = HOME + textwrap.dedent(HOME.replace("LIMIT = 10", "").replace("class Pool", "class Other"))
    after = twice.replace("free.pop(key)", "free.pop(key, None)", 1)
    edit = FileEdit("pkg/m.py", twice.encode(), after.encode())
    draft = generalise([edit], [{"pkg/m.py": RENAMED.encode()}])
    assert result(draft, twice) == after
    assert "*" not in draft.spatch()


SEARCH = "def f(x, key):\n    table = load(x)\n    index = 0\n    start, end = table[index]\n    return start.table(key)\n"
LOADED = "-table[index]\n+load(table, index)\n"


def drafted_search(old, new, *others):
    edit = FileEdit("pkg/m.py", SEARCH.encode(), SEARCH.replace(old, new).encode())
    return generalise([edit], [{"pkg/m.py": other.encode()} for other in others])


@pytest.mark.parametrize(
    ("names", "hunk"),
    [
        ({"table": "_table"}, f"-start, end = $TABLE[index]\n+start, end = load($TABLE, index)\n@@ or @@\n{LOADED}"),
        ({"table": "rows", "index": "i"}, f"-start, end = $TABLE[$INDEX]\n+start, end = load($TABLE, $INDEX)\n@@ or @@\n{LOADED}"),
        ({}, LOADED),
        ({"table": "self.table"}, LOADED),  # no local name
    ],
)
def test_a_local_renamed_in_another_release_is_a_placeholder(names, hunk):
    other = SEARCH.replace("load(x)", "load(x, TABLE)")
    for name, new in names.items():
        other = other.replace(name, new)
    draft = drafted_search("table[index]", "load(table, index)", other.replace("TABLE", "x"))
    assert texts(draft) == [f"@@ f @@\n{hunk}"]
    assert result(draft, SEARCH) == SEARCH.replace("table[index]", "load(table, index)")


def test_a_placeholder_for_a_local_keeps_what_names_its_place():
    calls = SEARCH.replace("    return", "    send(table)\n    return")
    after = calls.replace("send(table)", "send(table, 1)")
    draft = generalise([FileEdit("pkg/m.py", calls.encode(), after.encode())], [{"pkg/m.py": calls.replace("table", "rows").encode()}])
    assert "@@ f @@\n-send(" not in draft.spatch()  # `send($TABLE)` would be any call of it
    other = SEARCH.replace("table", "rows").replace("rows[index]", "x.parts[index]")  # not the local: another value
    assert "$" not in drafted_search("table[index]", "table[index + 1]", other).spatch()
    named = SEARCH.replace("    return", "    a = x.table(table, key)\n    return")
    edit = FileEdit("pkg/m.py", named.encode(), named.replace("table, key)", "table, key, 1)").encode())
    draft = generalise([edit], [{"pkg/m.py": named.replace(" table =", " rows =").replace("(table", "(rows").replace("table[", "rows[").encode()}])
    assert "x.table($TABLE" in draft.spatch()
    twice = SEARCH.replace("table", "rows").replace("return", "start, end = x[index]\n    return")
    draft = drafted_search("table[index]", "table[index + 1]", twice)
    assert result(draft, twice) == twice.replace("rows[index]", "rows[index + 1]")


@pytest.mark.parametrize(
    ("code", "old", "new", "other", "hunk"),
    [
        ("class A:\n    x = gone('since 1.2', 'a')\n", "'a'", "'b'", ("1.2", "1.3"), "-x = gone($VERSION, 'a', ...)\n+x = gone($VERSION, 'b', ...)\n"),
        ("if parse(V) < parse('1.2'):\n    x = 1\n", "<", "<=", ("1.2", "1.2.0rc1"), "-parse(V) < parse($VERSION)\n+parse(V) <= parse($VERSION)\n"),
        ("class A:\n    x = gone('since 1.2', 'a')\n", "'a'", "'b'", ("since 1.2", "for ever"), "-x = gone('since 1.2', 'a', ...)\n+x = gone('since 1.2', 'b', ...)\n@@ or @@\n-x = gone('for ever', 'a', ...)\n+x = gone('for ever', 'b', ...)\n"),
        ("class A:\n    x = gone('since 1.2', 'a')\n", "'a'", "'b'", ("since 1.2", "until 1.3"), "-x = gone('since 1.2', 'a', ...)\n+x = gone('since 1.2', 'b', ...)\n@@ or @@\n-x = gone('until 1.3', 'a', ...)\n+x = gone('until 1.3', 'b', ...)\n"),
    ],
)  # fmt: skip
def test_a_string_that_differs_in_a_version_is_a_placeholder(code, old, new, other, hunk):
    draft = generalise([FileEdit("pkg/m.py", code.encode(), code.replace(old, new).encode())], [{"pkg/m.py": code.replace(*other).encode()}])
    (text,) = texts(draft)
    assert text.partition("@@\n")[2] == hunk
    assert result(draft, code) == code.replace(old, new)


IMPORTS = "import os\nfrom lib import (\n    a,\n    warn as w,\n)\n\n\ndef f(x):\n    y = get(x)\n    return y\n"
USED = IMPORTS.replace("    y = get(x)\n", "    y = get(x)\n    w(os.path, y)\n")


@pytest.mark.parametrize(
    ("other", "carried"),
    [
        (IMPORTS, ""),
        (IMPORTS.replace("    warn as w,\n", ""), "+from lib import warn as w\n"),
        (IMPORTS.replace("    warn as w,\n", "").replace("import os\n", ""), "+import os\n+from lib import warn as w\n"),
        (IMPORTS.replace("warn as w", "other as w"), ""),
        (IMPORTS.replace("    warn as w,\n", "").replace("    y = get(x)\n    return y\n", "    pass\n"), ""),  # it is refused there either way
    ],
)
def test_an_import_that_new_code_reads_is_carried_along_to_a_release_that_does_not_bind_the_name(other, carried):
    edit = FileEdit("pkg/m.py", IMPORTS.encode(), USED.encode())
    draft = generalise([edit], [{"pkg/m.py": other.encode()}])
    first, *more = texts(draft)
    assert (first if more else "") == (f"@@ <module> @@ when-present\n{carried} ...\n" if carried else "")
    hunks = parse_spatch(draft.spatch(), "test")[1][0].hunks
    assert rewrite(IMPORTS.encode(), hunks, {}).data == USED.encode()
    assert not carried or result(draft, other).startswith(carried.replace("+", ""))


DOTTED = "import demo.one\nimport demo.two\nimport demo\n\n\ndef f(x):\n    y = get(x)\n    return y\n\n\ndef g(x):\n    return demo.one.get(x)\n"


@pytest.mark.parametrize(
    ("new", "carried"),
    [
        ("demo.two.get(x)", ["+import demo.two"]),
        ("demo.two.get(demo.one.name)", ["+import demo.one", "+import demo.two"]),
        ("demo.get(x)", []),  # where nothing binds it, it is refused
        ("demo.three.get(x)", []),  # who imports that is not known
        ("x.demo.two.get()", []),
    ],
)
def test_a_module_that_new_code_reads_is_carried_along_although_its_package_is_bound(new, carried):
    edit = FileEdit("pkg/m.py", DOTTED.encode(), DOTTED.replace("get(x)", new, 1).encode())
    draft = generalise([edit], carries=True)
    first, *more = texts(draft)
    inserted = [line for line in first.splitlines() if line.startswith("+import")]
    assert (inserted if more else []) == carried
    other = DOTTED.replace("import demo.one\nimport demo.two\n", "")
    lines = "".join(f"{line[1:]}\n" for line in carried)
    assert result(draft, other) == lines + other.replace("get(x)", new, 1)


def test_a_module_that_the_function_reads_already_is_not_carried_along():
    code = DOTTED.replace("    y =", "    demo.two.start()\n    y =")
    (only,) = texts(generalise([FileEdit("pkg/m.py", code.encode(), code.replace("get(x)", "demo.two.get(x)", 1).encode())], carries=True))
    assert "import" not in only


def test_a_moved_file_is_the_one_other_file_in_which_every_hunk_holds():
    elsewhere = {"pkg/m/__init__.py": b"", "pkg/pools.py": HOME.encode(), "pkg/other/m.py": b"def take(self): pass\n"}
    assert drafted(TAKEN, elsewhere).files[0].paths == ("pkg/m.py", "pkg/pools.py")
    assert drafted(TAKEN, {**elsewhere, "pkg/copy.py": HOME.encode()}).files[0].paths == ("pkg/m.py",)  # which one is meant?
    assert drafted(TAKEN, {**elsewhere, "pkg/m.py": b""}).files[0].paths == ("pkg/m.py", "pkg/pools.py")
    changed = {**elsewhere, "pkg/m.py": HOME.replace("free.pop", "used.pop").encode()}
    assert drafted(TAKEN, changed).files[0].paths == ("pkg/m.py",)  # it did not move
    assert drafted(TAKEN, {"pkg/other/m.py": b"class Pool:\n    def take(self): pass\n"}).files[0].paths == ("pkg/m.py",)


def test_the_code_of_a_module_that_has_none_of_it_is_in_the_one_other_file_that_has_all():
    shim = {"pkg/m.py": b"from pkg.pools import LIMIT\n"}
    assert drafted(VALUE, {**shim, "pkg/pools.py": HOME.encode()}).files[0].paths == ("pkg/m.py", "pkg/pools.py")
    assert drafted(VALUE, {**shim, "pkg/pools.py": b""}).files[0].paths == ("pkg/m.py",)
    both = VALUE + "\nMORE = LIMIT\n"
    assert drafted(both, {"pkg/m.py": HOME.encode(), "pkg/pools.py": HOME.encode()}).files[0].paths == ("pkg/m.py",)
    function = VALUE.replace("free.pop(key)", "free.pop(key, None)")
    assert drafted(function, {"pkg/m.py": HOME.replace("free.pop", "used.pop").replace("10", "11, 12").encode(), "pkg/pools.py": HOME.encode()}).files[0].paths == ("pkg/m.py",)


MOVED = {"demo/__init__.py": "", "demo/core/m.py": M}


@pytest.mark.once
@pytest.mark.parametrize("place", ["a directory", "the index"])
def test_a_captured_edit_holds_for_a_release_in_which_the_file_moved(tmp_path, place):
    (tmp_path / "other").mkdir()
    world, other, index = World(tmp_path), World(tmp_path / "other", MOVED), Index()
    index.add("demo", "1.1", MOVED)
    world.backup()
    world.edit()
    also = other.path if place == "a directory" else "1.1"
    with closing(index):
        variables = {**index.variables(tmp_path / "cache"), "PIP_NO_INDEX": "0"}
        ended = done(world("capture", "--name", "mine", "--also", also, **variables))
    assert "--- demo/m.py or demo/core/m.py" in ended.out
    spatch = (world.cwd / "patchsets/mine/mine.spatch").read_text()
    assert "--- demo/m.py\n--- demo/core/m.py\n" in spatch
    versions = "==1.0" if place == "a directory" else ">=1.0,<=1.1"
    assert f'versions = "{versions}"' in (world.cwd / "patchsets/mine/patchset.toml").read_text()
    done(other("apply", "mine", "--patch-dir", world.cwd / "patchsets"))
    assert other.text("demo/core/m.py") == EDIT


LOAD = M[M.index("def load") : M.index("def build")]
SPLIT = {"demo/__init__.py": "", "demo/m.py": M.replace(LOAD, ""), "demo/n.py": f"from demo.m import build, check\n\nVALUE = 1\n\n\n{LOAD}"}


@pytest.mark.once
@pytest.mark.parametrize("place", ["a directory", "the index"])
def test_a_captured_edit_holds_for_a_release_in_which_the_function_moved_to_a_file_that_was_there(tmp_path, place):
    (tmp_path / "other").mkdir()
    world, other, index = World(tmp_path), World(tmp_path / "other", SPLIT), Index()
    index.add("demo", "1.1", SPLIT)
    world.backup()
    world.edit()
    also = other.path if place == "a directory" else "1.1"
    with closing(index):
        variables = {**index.variables(tmp_path / "cache"), "PIP_NO_INDEX": "0"}
        ended = done(world("capture", "--name", "mine", "--also", also, "--adopt", **variables))
    assert "--- demo/m.py or demo/n.py" in ended.out
    assert world.text() == EDIT
    done(other("apply", "mine", "--patch-dir", world.cwd / "patchsets"))
    assert 'print("loaded", model)' in other.text("demo/n.py")
    assert other.text() == SPLIT["demo/m.py"]


def test_of_a_patch_of_two_functions_the_one_that_moved_is_followed(tmp_path):
    (tmp_path / "other").mkdir()
    world, other = World(tmp_path), World(tmp_path / "other", SPLIT)
    both = EDIT.replace("basename(path)", "basename(path.strip())")
    (world.cwd / "fix.patch").write_text(diff(M, both) + diff("VALUE = 1\n", "VALUE = 2\n", "a/demo/n.py"))
    done(world("import", "fix.patch", "--name", "mine", "--also", other.path))
    done(world("apply", "mine"))
    assert (world.text(), world.text("demo/n.py")) == (both, "VALUE = 2\n")
    done(other("apply", "mine", "--patch-dir", world.cwd / "patchsets"))
    assert other.text() == SPLIT["demo/m.py"].replace("basename(path)", "basename(path.strip())")
    assert 'print("loaded", model)' in other.text("demo/n.py")
    assert "VALUE = 2" in other.text("demo/n.py")


def test_a_function_that_is_in_both_files_here_is_followed_to_neither(tmp_path):
    (tmp_path / "other").mkdir()
    world = World(tmp_path, {**SPLIT, "demo/m.py": M})
    other = World(tmp_path / "other", SPLIT)
    (world.cwd / "fix.patch").write_text(diff(M, EDIT))
    done(world("import", "fix.patch", "--name", "mine", "--also", other.path))
    done(world("apply", "mine"))
    assert world.text() == EDIT
