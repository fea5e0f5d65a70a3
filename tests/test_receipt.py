"""What is read from a store is checked field by field: what is taken, and what is refused in which words."""

import json

import pytest

from patcher.errors import StoreError
from patcher.model import Receipt, Splice, Step
from patcher.store.receipt import Fields, decode, encode, file_name, is_sha256, path_problem

HEX, TOP = "0123456789abcdef" * 4, 2**63
STEP = Step("p", "1.0", HEX, "fix", {"n": 1}, (Splice(0, 1, b"\xff"),), (0,), ("applied",))
RECEIPT = Receipt("pkg/a.py", "pkg", "pkg", "1.0", HEX, HEX, 0o644, 0, "", (STEP,))


def taken(method, value, **more):
    table = Fields({"key": value}, "FILE", "the hint")
    found = getattr(table, method)("key", **more)
    table.end()
    return found


@pytest.mark.parametrize(
    ("method", "value", "more", "found"),
    [
        ("text", "", {}, ""),
        ("whole", 0, {}, 0),
        ("whole", TOP - 1, {}, TOP - 1),
        ("whole", -TOP, {"low": -TOP}, -TOP),
        ("sha256", HEX, {}, HEX),
        ("sha256", HEX, {"empty": True}, HEX),
        ("sha256", "", {"empty": True}, ""),
        ("path", "a/b.py", {}, "a/b.py"),
        ("numbers", [0, 5], {}, (0, 5)),
        ("strings", ["", "a"], {}, ("", "a")),
        ("strings", ["a"], {"missing": ()}, ("a",)),
        ("states", ["applied", "not needed"], {}, ("applied", "not needed")),
        ("texts", {"a": ""}, {}, {"a": ""}),
        ("options", {"a": 1, "b": 1.5, "c": "", "d": True}, {}, {"a": 1, "b": 1.5, "c": "", "d": True}),
        ("splices", [[0, 0, ""], [0, 2, "\xff"], [2, 2, "a"]], {}, ((0, 0, b""), (0, 2, b"\xff"), (2, 2, b"a"))),
    ],
)
def test_what_is_taken(method, value, more, found):
    assert taken(method, value, **more) == found


@pytest.mark.parametrize(
    ("method", "value", "more", "expected"),
    [
        ("text", 1, {}, "a string"),
        ("whole", -1, {}, "a whole number from 0"),
        ("whole", TOP, {}, "a whole number from 0"),
        ("whole", True, {}, "a whole number from 0"),
        ("whole", "1", {}, "a whole number from 0"),
        ("whole", 1.0, {}, "a whole number from 0"),
        ("whole", -TOP - 1, {"low": -TOP}, f"a whole number from {-TOP}"),
        ("sha256", "", {}, "a sha256 in hex"),
        ("sha256", "x", {"empty": True}, "a sha256 in hex"),
        ("path", "/a", {}, "a path below the site directory (the path is absolute)"),
        ("tables", {}, {}, "a list"),
        ("numbers", 1, {}, "a list"),
        ("numbers", [1, -1], {}, "a list of whole numbers"),
        ("numbers", [1, True], {}, "a list of whole numbers"),
        ("strings", ["a", 1], {}, "a list of strings"),
        ("states", ["applied", "not found"], {}, "a list of states"),
        ("states", ["applied", []], {}, "a list of states"),
        ("texts", [], {}, "an object of strings"),
        ("texts", {"a": "", "b": 1}, {}, "an object of strings"),
        ("options", [], {}, "an object of numbers, strings, true and false"),
        ("options", {"a": 1, "b": None}, {}, "an object of numbers, strings, true and false"),
        ("splices", {}, {}, "a list"),
        ("splices", ["abc"], {}, "a list of [start, end, text]"),
        ("splices", [[0, 1]], {}, "a list of [start, end, text]"),
        ("splices", [[0, 1, "", ""]], {}, "a list of [start, end, text]"),
        ("splices", [["0", 1, ""]], {}, "a list of [start, end, text]"),
        ("splices", [[0, True, ""]], {}, "a list of [start, end, text]"),
        ("splices", [[-1, 0, ""]], {}, "sorted splices [start, end, text]"),
        ("splices", [[2, 1, ""]], {}, "sorted splices [start, end, text]"),
        ("splices", [[0, 2, ""], [1, 3, ""]], {}, "sorted splices [start, end, text]"),
        ("splices", [[0, 1, 5]], {}, "sorted splices [start, end, text]"),
        ("splices", [[0, 1, "\u0100"]], {}, "sorted splices [start, end, text]"),
    ],
)
def test_what_is_refused(method, value, more, expected):
    with pytest.raises(StoreError) as caught:
        taken(method, value, **more)
    assert (caught.value.message, caught.value.hint) == (f"FILE: key: expected {expected}", "the hint")


def test_a_list_that_an_older_release_did_not_write_and_objects_in_lists():
    assert Fields({}, "FILE", "").strings("key", missing=("a",)) == ("a",)
    for table, expected in (({}, "key: expected a list"), ({"key": [{}, 1]}, r"key\[1\]: the file: expected a JSON object")):
        with pytest.raises(StoreError, match=f"FILE: {expected}$"):
            Fields(table, "FILE", "").tables("key")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mode": 0o10000}, "mode: expected permission bits, at most 0o7777"),
        ({"mtime_ns": -TOP - 1}, f"mtime_ns: expected a whole number from {-TOP}"),
        ({"link": "a\0b"}, "link: expected the target of a symbolic link"),
        ({"origin": "other"}, "origin: expected recorded or unrecorded or edited"),
        ({"path": "pkg/b.py"}, "path: expected the path that this file is named after, not 'pkg/b.py'"),
        ({"later": 1}, "later: expected no such field"),
        ({"steps": [{}]}, "steps[0]: patchset: expected a string"),
        ({"steps": [dict(STEP._asdict(), splices=[], later=1)]}, "steps[0]: later: expected no such field"),
        ({"format": 2}, "written by sitepatch "),
        ({"format": 0, "later": 1}, "written by sitepatch "),
    ],
    ids=str,
)
def test_a_receipt_of_which_one_field_is_wrong(changed, said):
    where = f"FOLDER/{file_name(RECEIPT.path)}"
    fields = {**json.loads(encode(RECEIPT)), "mode": 0o7777, "mtime_ns": -TOP, **changed}
    with pytest.raises(StoreError) as caught:
        decode(json.dumps(fields).encode(), where)
    assert caught.value.message.startswith(f"{where}: {said}")
    assert caught.value.hint.endswith("for this environment" if "format" in changed else f"then delete {where}")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"format": NaN}', b"[" * 100_000])
def test_a_damaged_receipt_is_refused(data):
    with pytest.raises(StoreError):
        decode(data, f"/somewhere/{file_name(RECEIPT.path)}")


def test_a_receipt_is_the_same_text_each_time_and_reads_back_as_written():
    extreme = RECEIPT._replace(mode=0o7777, mtime_ns=-TOP, link="..", origin="edited", path="pkg/\udce9.py")
    for each in (RECEIPT, extreme):
        assert decode(encode(each), file_name(each.path)) == each
    assert list(json.loads(encode(RECEIPT))) == sorted(json.loads(encode(RECEIPT)))
    assert b'{\n "current": ' in encode(RECEIPT) and encode(RECEIPT).endswith(b"\n}\n")


PATHS = {
    "": ["a.py", "a/b:c.py", "a/.sitepatch/b.py", ".sitepatches/a.py"],
    "the path is absolute": ["/a.py", "//a.py"],
    "the path is not a plain path below the site directory": [
        "",
        ".",
        "..",
        "a/../b",
        "a/./b",
        "a//b",
        "a/",
        "a\0b",
        "a\\b",
        "c:/b",
    ],
    "the path lies inside sitepatch's own folder": [".sitepatch", ".SitePatch/lock"],
}


@pytest.mark.parametrize(("problem", "path"), [(problem, path) for problem, paths in PATHS.items() for path in paths])
def test_which_paths_lie_below_a_site_directory(problem, path):
    assert path_problem(path) == problem


@pytest.mark.parametrize(
    ("text", "good"), [(HEX, True), (HEX[1:], False), (HEX + "0", False), ("A" * 64, False), ("g" * 64, False)]
)
def test_what_a_sha256_is(text, good):
    assert is_sha256(text) is good
