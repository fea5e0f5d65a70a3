"""A hunk made from an edit, applied to a release with different code, makes the edit or nothing."""


import pytest

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import FileEdit
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State

HANDLE = """
def handle(self, request):
    name = Path(request)
    if name.anchor:
        raise Forbidden()
    path = self.root.joinpath(name)
    return path
"""
GUARD = "    if name.anchor:\n        raise Forbidden()\n"
IN_TRY = HANDLE.replace(GUARD, "    try:\n        if name.anchor:\n            raise Forbidden()\n        self.check(name)\n    except ValueError:\n        pass\n")
CALLS = "def f(host, log):\n    log.info('on %s', host)\n    if host:\n        host.start()\n    return host\n"
CALL = "    log.info('on %s', host)\n"
RETURN = "def run(source):\n    if not source:\n        return None\n    return os.fsdecode(source / 'runner.py')\n"
BODY = "    return os.fsdecode(source / 'runner.py')\n"
SEVERAL_BODY = (
    "    name = 'runner.pyc'\n    file = source / 'runner.py'\n    if file.is_file():\n        name = 'runner.py'\n    return os.fsdecode(source / name)\n"
)
SEVERAL = RETURN.replace(BODY, SEVERAL_BODY)
IN_IF = RETURN.replace("    return os", "    if source.plain:\n        return os") + "    return source.parent\n"
CHANGED = "def f(a, path):\n    data = load(path, mode=1)\n    return data\n"
AROUND = CHANGED.replace("mode=1)\n", "mode=2)\n    a.note(data)\n").replace("    data =", "    a.begin(path)\n    data =")
NAMED = "from pool import Timeout\n\nDEFAULT_TIMEOUT = Timeout(timeout=5.0)\n"
INSERT = "def f(self, model, path):\n    first = self.begin(model)\n    second = self.end(path)\n    return first, second\n"
CHECK = "    self.check(model, path)\n"
BELOW_FIRST = INSERT.replace("    second =", CHECK + "    second =")
AT_TOP = INSERT.replace("    first =", CHECK + "    first =")
PRINTED = "    if offset % 16:\n        print('not aligned')\n"
ALIGNED = "def native(a):\n    return a\n\n\ndef load(wrapper, offset):\n    array = wrapper.map(offset)\n" + PRINTED + "    return array\n"
PASSED = "def f(host, port, build):\n    link = build(host, port, mode=1)\n    return link\n"
STRING = PASSED.replace("build(host", "build('tcp'")
KEY = PASSED.replace("build(host", "build(Key.HOST")
VALUE = "from base import parse\n\nmaximum = '2.1.0'\nchecked = parse(maximum)\n"
HEADER = "def f(data: Seq[int], size=3) -> None:\n    keep(data)\n"
DATE = "def dated(form, *, date=None, local=False):\n    if date is None:\n        if epoch():\n            date = at(epoch())\n        else:\n            date = now()\n    if local:\n        date = date.there()\n    return date\n"
DATE_OF_ALL = DATE.replace(", local=False", "").replace("    if local:\n        date = date.there()\n", "")
AS_IT_IS = "            date = at(epoch())\n            local = False\n"
DOCUMENTED = 'def f(a):\n    """Old."""\n    return a.b\n'
REFUSED, UPSTREAM = "refused", "upstream"
CASES = {  # before, after, a release, and what becomes of it
    "a guard is not taken from where it guards other code": (HANDLE, HANDLE.replace(GUARD, ""), IN_TRY, REFUSED),
    "a guard is taken from above what it guarded, whatever is above it": (
        HANDLE,
        HANDLE.replace(GUARD, ""),
        HANDLE.replace("    name = Path(request)\n", "    name = Path(request)\n    self.count(name)\n"),
        HANDLE.replace(GUARD, "").replace("    name = Path(request)\n", "    name = Path(request)\n    self.count(name)\n"),
    ),
    "a call is not taken from another kind of block": (
        CALLS,
        CALLS.replace(CALL, ""),
        CALLS.replace(CALL, "    host.stop()\n").replace("        host.start()\n", "        host.start()\n    " + CALL),
        REFUSED,
    ),
    "a call is taken from its kind of block": (
        CALLS,
        CALLS.replace(CALL, ""),
        CALLS.replace(CALL, "    host.stop()\n" + CALL + "    host.load()\n"),
        CALLS.replace(CALL, "    host.stop()\n    host.load()\n"),
    ),
    "a statement that becomes several is not below a condition that another release has": (RETURN, SEVERAL, IN_IF, REFUSED),
    "a statement that becomes several, elsewhere": (
        RETURN,
        SEVERAL,
        RETURN.replace("    if not source:", "    if source.gone:"),
        SEVERAL.replace("    if not source:", "    if source.gone:"),
    ),
    "what comes above and below a statement that changes goes with it": (
        CHANGED,
        AROUND,
        CHANGED.replace("    data = load(path, mode=1)\n", "    a.open()\n    data = load(path, mode=1)\n    a.close()\n"),
        AROUND.replace("    a.begin", "    a.open()\n    a.begin").replace("    return", "    a.close()\n    return"),
    ),
    "what changes with others around it is not there, either": (
        CHANGED,
        AROUND,
        CHANGED.replace("    data = load(path, mode=1)\n", "    if a:\n        data = load(path, mode=1)\n"),
        REFUSED,
    ),
    "a name that is given a value stays": (NAMED, NAMED.replace("5.0", "7.0"), NAMED.replace("DEFAULT", "PROXY"), REFUSED),
    "what upstream has inserted, with other code between it and the anchor": (
        INSERT,
        BELOW_FIRST,
        BELOW_FIRST.replace(CHECK, "    assert model\n" + CHECK + "    assert path\n"),
        UPSTREAM,
    ),
    "what upstream has inserted at the top of the function, below other code": (
        INSERT,
        AT_TOP,
        AT_TOP.replace(CHECK, "    assert model\n" + CHECK),
        UPSTREAM,
    ),
    "a change whose context is gone is made where its line is the only one": (
        ALIGNED,
        ALIGNED.replace("return array", "return native(array)"),
        ALIGNED.replace(PRINTED, ""),
        ALIGNED.replace(PRINTED, "").replace("return array", "return native(array)"),
    ),
    "a change whose context is gone is not made where its line stands twice": (
        ALIGNED,
        ALIGNED.replace("return array", "return native(array)"),
        ALIGNED.replace(PRINTED, "    if offset:\n        return array\n"),
        REFUSED,
    ),
    "a keyword changes whatever else is passed": (
        PASSED,
        PASSED.replace("mode=1", "mode=2"),
        PASSED.replace("host, port, mode", "host, mode"),
        PASSED.replace("host, port, mode=1", "host, mode=2"),
    ),
    "a keyword comes whatever else is passed": (
        PASSED,
        PASSED.replace("mode=1", "mode=1, retry=3"),
        PASSED.replace("host, port, mode", "host, mode"),
        PASSED.replace("host, port, mode=1", "host, mode=1, retry=3"),
    ),
    "a keyword that the release has is no second one": (
        PASSED,
        PASSED.replace("mode=1", "mode=1, retry=3"),
        PASSED.replace("host, port, mode", "host, retry=2, mode"),
        REFUSED,
    ),
    "a string that is passed names the place": (
        STRING,
        STRING.replace("mode=1", "mode=2"),
        STRING.replace("tcp", "udp"),
        REFUSED,
    ),
    "strings stay of what else is passed": (
        STRING,
        STRING.replace("mode=1", "mode=2"),
        STRING.replace("port, mode", "mode"),
        STRING.replace("port, mode=1", "mode=2"),
    ),
    "a constant that is passed names the place": (
        KEY,
        KEY.replace("mode=1", "mode=2"),
        KEY.replace("Key.HOST", "Key.PORT"),
        REFUSED,
    ),
    "a keyword changes whatever its old literal is": (
        STRING,
        STRING.replace("mode=1", "mode=2"),
        STRING.replace("port, mode=1", "host, mode=7"),
        STRING.replace("port, mode=1", "host, mode=2"),
    ),
    "a keyword that has no literal does not": (
        PASSED,
        PASSED.replace("mode=1", "mode=2"),
        PASSED.replace("mode=1", "mode=port"),
        REFUSED,
    ),
    "a value changes whatever its old literal is": (
        VALUE,
        VALUE.replace("'2.1.0'", "'2.3.0'"),
        VALUE.replace("'2.1.0'", "'2.2.0'"),
        VALUE.replace("'2.1.0'", "'2.3.0'"),
    ),
    "a value that is no string is not a version": (
        VALUE,
        VALUE.replace("'2.1.0'", "'2.3.0'"),
        VALUE.replace("'2.1.0'", "newest()"),
        REFUSED,
    ),
    "the value of another name stays": (
        VALUE,
        VALUE.replace("'2.1.0'", "'2.3.0'"),
        VALUE.replace("maximum = '2.1.0'", "minimum = '1.0.0'"),
        REFUSED,
    ),
    "a value that is given twice is not one place": (
        VALUE,
        VALUE.replace("'2.1.0'", "'2.3.0'"),
        VALUE.replace("maximum = '2.1.0'", "maximum = '2.2.0'\nmaximum = '2.4.0'"),
        REFUSED,
    ),
    "an entry changes whatever its old literal is": (
        "D = {'a': 1, 'b': 2}\n",
        "D = {'a': 1, 'b': 3}\n",
        "D = {'z': 0, 'b': 7, 'c': 1}\n",
        "D = {'z': 0, 'b': 3, 'c': 1}\n",
    ),
    "a default changes whatever its old literal is": (
        "def f(a, timeout: int = 3):\n    return a\n",
        "def f(a, timeout: int = 5):\n    return a\n",
        "def f(b, timeout=9):\n    return b\n",
        "def f(b, timeout=5):\n    return b\n",
    ),
    "a parameter comes where the annotations are others": (
        HEADER,
        HEADER.replace("Seq[int], size=3", "list, size=3, limit=5").replace("-> None", "-> list"),
        HEADER.replace("Seq[int]", "bytes"),
        HEADER.replace("Seq[int], size=3", "bytes, size=3, limit=5"),
    ),
    "a parameter that is there already does not come again": (
        HEADER,
        HEADER.replace("Seq[int], size=3", "list, size=3, limit=5"),
        HEADER.replace("Seq[int], size=3", "bytes, size=3, limit=5"),
        UPSTREAM,
    ),
    "an annotation alone is none that may be another": (
        HEADER,
        HEADER.replace("Seq[int]", "list"),
        HEADER.replace("Seq[int]", "bytes"),
        REFUSED,
    ),
    "a docstring that changes is no part of the code below it": (
        DOCUMENTED,
        DOCUMENTED.replace("Old.", "New.").replace("    return a.b\n", "    for each in a.parts:\n        each.run()\n    return a.c\n"),
        DOCUMENTED.replace("Old.", "Another one."),
        DOCUMENTED.replace("Old.", "Another one.").replace("    return a.b\n", "    for each in a.parts:\n        each.run()\n    return a.c\n"),
    ),
    "statements are replaced without what was above them": (
        CALLS,
        CALLS.replace("    if host:\n        host.start()\n", "    while host.waits():\n        pass\n"),
        CALLS.replace(CALL, ""),
        CALLS.replace(CALL, "").replace("    if host:\n        host.start()\n", "    while host.waits():\n        pass\n"),
    ),
    "what stands on the other side of the anchor is not what comes": (
        INSERT,
        BELOW_FIRST,
        AT_TOP,
        AT_TOP.replace("    second =", CHECK + "    second ="),
    ),
    "a parameter that the function does not have gets no other value": (
        DATE,
        DATE.replace("            date = at(epoch())\n", AS_IT_IS),
        DATE_OF_ALL,
        REFUSED,
    ),
    "one that it has gets it, whatever else is there": (
        DATE,
        DATE.replace("            date = at(epoch())\n", AS_IT_IS),
        DATE.replace("date=None", "date=None, zone=0").replace("at(epoch())", "at(epoch(), zone)").replace("    return", "    note(form)\n    return"),
        DATE.replace("            date = at(epoch())\n", AS_IT_IS)
        .replace("date=None", "date=None, zone=0")
        .replace("at(epoch())", "at(epoch(), zone)")
        .replace("    return", "    note(form)\n    return"),
    ),
    "what stands in another block is not what comes": (
        INSERT,
        BELOW_FIRST,
        INSERT.replace("    return", "    if path:\n    " + CHECK + "    return"),
        BELOW_FIRST.replace("    return", "    if path:\n    " + CHECK + "    return"),
    ),
}  # fmt: skip


def states_and_result(before, after, other):
    """The states of the hunks of an edit in another release, and their result."""
    draft = generalise([FileEdit("pkg/m.py", before.encode(), after.encode())])
    assert draft.complete, draft
    hunks = parse_spatch(draft.spatch(), "draft")[1][0].hunks
    assert rewrite(before.encode(), hunks, {}).data.decode() == after
    result = rewrite(other.encode(), hunks, {})
    return {answer.state for answer in result.answers}, result.data.decode()


@pytest.mark.parametrize("name", CASES)
def test_a_hunk_makes_the_edit_of_a_release_or_nothing(name):
    before, after, other, expected = CASES[name]
    states, made = states_and_result(before, after, other)
    if expected is REFUSED:
        assert any(state.failed for state in states) and made == other
    elif expected is UPSTREAM:
        assert (states, made) == ({State.UPSTREAM}, other)
    else:
        needed = states - {State.NOT_NEEDED}  # a docstring that differs, say; what is made of the rest stands in the row
        assert (needed, made) == ({State.APPLICABLE}, expected)
