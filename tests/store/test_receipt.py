"""What is read from a store is checked field by field: what is taken, and what is refused in which words."""

import json

import pytest

from patcher.errors import StoreError
from patcher.model import AppliedHunks, PatchedRelease, PristineFile, Receipt, Splice, Step
from patcher.store.receipt import (
    OPTIONS,
    STEP,
    decode,
    encode_receipt,
    file_name,
    path_below,
    step_fields,
    whole_from,
)
from patcher.system.decode import (
    STRINGS,
    Items,
    Reader,
    Table,
    anything,
    boolean,
    integer,
    one_of,
    option_value,
    sha256_hex,
    string,
)

HEX, TOP = "0123456789abcdef" * 4, 2**63
ONE = Step("p", "1.0", HEX, "fix", {"n": 1}, (Splice(0, 1, b"\xff"),), AppliedHunks((0,), ("applied",)))
FIELDS = json.loads(json.dumps(step_fields(ONE)))
RECEIPT = Receipt("pkg/a.py", PatchedRelease("pkg", "pkg", "1.0"), PristineFile(HEX, 0o644, 0), HEX, (ONE,))
PATHS = {
    "": ["a.py", "a/b:c.py", "a/.sitepatch/b.py", ".sitepatches/a.py"],
    "the path is absolute": ["/a.py", "//a.py"],
    "the path is not a plain path below the site directory": ["", ".", "..", "a/../b", "a/./b", "a//b", "a/", "a\0b", "a\\b", "c:/b"],
    "the path lies inside sitepatch's own folder": [".sitepatch", ".SitePatch/lock"],
}


def read(kind, value):
    reader = Reader("FILE")
    fields = reader.read({"key": value}, Table({"key": kind}))
    reader.stop(StoreError, "the hint")
    return fields["key"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (string, ""),
        (integer, -TOP),
        (boolean, False),
        (anything, None),
        (option_value, True),
        (sha256_hex, HEX),
        (one_of("a", "b"), "b"),
        (STRINGS, ["", "a"]),
        *((path_below, path) for path in PATHS[""]),
        (whole_from(0), 0),
        (whole_from(0), TOP - 1),
        (OPTIONS, {"a": 1, "b": 1.5, "c": "", "d": True}),
        (STEP, FIELDS),
        (STEP, {**FIELDS, "splices": [[0, 0, ""], [0, 2, "\xff"], [2, 2, "a"]], "places": [0, 5], "states": ["applied", "not needed"]}),
        (Table({"a": string}, optional=("a",)), {}),
    ],
)
def test_what_is_taken(kind, value):
    assert read(kind, value) == value


def wrong_paths():
    for problem, paths in PATHS.items():
        if problem:
            for path in paths:
                yield path_below, path, f'key: found "{path}", expected a path below a site directory ({problem})'


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (string, 1, "key: found 1, expected a string"),
        (string, None, "key: found null, expected a string"),
        (integer, True, "key: found true, expected an integer"),
        (boolean, 1, "key: found 1, expected true or false"),
        (one_of("yes", "no"), "yess", 'key: found "yess", expected one of yes, no; did you mean "yes"?'),
        (one_of("yes", "no"), [], "key: found a list, expected a string"),
        (whole_from(0), -1, "key: found -1, expected a whole number from 0"),
        (whole_from(0), TOP, f"key: found {TOP}, expected a whole number from 0"),
        (whole_from(0), True, "key: found true, expected a whole number from 0"),
        (whole_from(0), "1", 'key: found "1", expected a whole number from 0'),
        (whole_from(0), 1.0, "key: found 1.0, expected a whole number from 0"),
        (sha256_hex, "", 'key: found "", expected a sha256 in lower-case hex'),
        (sha256_hex, 1, "key: found 1, expected a sha256 in lower-case hex"),
        *(
            (sha256_hex, text, f'key: found "{text[:29]}…{text[-29:]}", expected a sha256 in lower-case hex')
            for text in (HEX[1:], HEX + "0", "A" * 64, "g" * 64)
        ),
        *wrong_paths(),
        (path_below, 1, "key: found 1, expected a string"),
        (STRINGS, {}, "key: found a table, expected a list of strings"),
        (STRINGS, ["a", 1], "key[1]: found 1, expected a string"),
        (OPTIONS, [], "key: found a list, expected a table"),
        (OPTIONS, {"a": 1, "b": None}, "key.b: found null, expected a number, a string, true or false"),
        (STEP, 1, "key: found 1, expected a table"),
        (Table({"a": STEP}), {}, "key.a: found nothing, expected a table"),
        (Items(STEP), [FIELDS, {**FIELDS, "kind": 1}], "key[1].kind: found 1, expected a string"),
        (Table({"name": anything}), {"name": 1, "nam": 1}, 'key.nam: found an unknown key, expected one of name; did you mean "name"?'),
    ],
)
def test_what_is_refused(kind, value, problem):
    with pytest.raises(StoreError) as caught:
        read(kind, value)
    assert (caught.value.message, caught.value.hint) == (f"FILE: {problem}", "the hint")


def test_all_that_is_wrong_is_reported_up_to_a_limit_and_unknown_keys_only_where_they_count():
    reader = Reader("FILE")
    kind = Table({"a": string, "b": Items(Table({"c": integer}, other_keys=True)), "d": STRINGS})
    fields = reader.read({"a": "x", "b": [{"c": 1, "more": 1}, {"c": ""}, 2], "d": ["", 1]}, kind)
    assert fields == {"a": "x", "b": [{"c": 1}, {}, {}]}
    assert [each.message for each in reader.problems] == [
        'FILE: b[1].c: found "", expected an integer',
        "FILE: b[2]: found 2, expected a table",
        "FILE: d[1]: found 1, expected a string",
    ]
    reader.read([], kind)
    assert [each.message for each in reader.problems[3:]] == ["FILE: the file: found a list, expected a table"]
    reader.read(["x"] * 20, Items(integer), "e")
    with pytest.raises(StoreError) as caught:
        reader.stop(StoreError)
    assert caught.value.message.splitlines()[19:] == ['FILE: e[15]: found "x", expected an integer', "FILE: and 4 more"]


SPLICES = "a list of [start, end, text]"
SORTED = "sorted splices [start, end, text]"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"places": 1}, "places: found 1, expected a list"),
        ({"places": [1, -1]}, "places[1]: found -1, expected a whole number from 0"),
        ({"places": [1, True]}, "places[1]: found true, expected a whole number from 0"),
        ({"states": ["applied", "not found"]}, 'states[1]: found "not found", expected one of applicable, applied, upstream, not needed; did you mean "not needed"?'),
        ({"states": ["applied", []]}, "states[1]: found a list, expected a string"),
        ({"splices": {}}, "splices: found a table, expected a list"),
        *(
            ({"splices": splices}, f"splices: found a list, expected {expected}")
            for splices, expected in [
                (["abc"], SPLICES),
                ([[0, 1]], SPLICES),
                ([[0, 1, "", ""]], SPLICES),
                ([["0", 1, ""]], SPLICES),
                ([[0, True, ""]], SPLICES),
                ([[-1, 0, ""]], SORTED),
                ([[2, 1, ""]], SORTED),
                ([[0, 2, ""], [1, 3, ""]], SORTED),
                ([[0, 1, 5]], SORTED),
                ([[0, 1, "\u0100"]], SORTED),
            ]
        ),
    ],
    ids=str,
)
def test_a_step_of_which_one_field_is_wrong(changed, problem):
    with pytest.raises(StoreError) as caught:
        read(STEP, {**FIELDS, **changed})
    assert caught.value.message == f"FILE: key.{problem}"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"mode": 0o10000}, "mode: found 4096, expected permission bits, at most 0o7777"),
        ({"mode": -1}, "mode: found -1, expected permission bits, at most 0o7777"),
        ({"mtime_ns": -TOP - 1}, f"mtime_ns: found {-TOP - 1}, expected a whole number from {-TOP}"),
        ({"mtime_ns": TOP}, f"mtime_ns: found {TOP}, expected a whole number from {-TOP}"),
        ({"link": "a\0b"}, 'link: found "a\0b", expected the target of a symbolic link'),
        ({"origin": "other"}, 'origin: found "other", expected one of recorded, unrecorded, edited'),
        ({"path": "pkg/b.py"}, "path: found 'pkg/b.py', expected the path that this file is named after"),
        ({"later": 1}, "later: found an unknown key, expected one of path, package"),
        ({"steps": [{}]}, "steps[0].patchset: found nothing, expected a string"),
        ({"steps": [{**FIELDS, "later": 1}]}, "steps[0].later: found an unknown key, expected one of patchset, version"),
        ({"format": 2}, "written by sitepatch "),
        ({"format": 0, "later": 1}, "written by sitepatch "),
    ],
    ids=str,
)
def test_a_receipt_of_which_one_field_is_wrong(changed, problem):
    where = f"FOLDER/{file_name(RECEIPT.path)}"
    fields = {**json.loads(encode_receipt(RECEIPT)), "mode": 0o7777, "mtime_ns": -TOP, **changed}
    with pytest.raises(StoreError) as caught:
        decode(json.dumps(fields).encode(), where)
    assert caught.value.message.startswith(f"{where}: {problem}")
    assert caught.value.hint.endswith("for this environment" if "format" in changed else f"then delete {where}")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not the JSON that sitepatch writes: Expecting value"),
        (b"{", "is not the JSON that sitepatch writes: Expecting property name"),
        (b"[]", "the file: found a list, expected a table"),
        (b"\xff", "is not the JSON that sitepatch writes: 'utf-8' codec"),
        (b'{"format": NaN}', "is not the JSON that sitepatch writes: it has the number NaN"),
        (b'{"a": {"format": 1, "b": 2, "format": 2}}', 'is not the JSON that sitepatch writes: it has "format" twice'),
        (b"[" * 100_000, "is not the JSON that sitepatch writes: it is nested too deep"),
    ],
)
def test_a_damaged_receipt_is_refused(data, problem):
    with pytest.raises(StoreError) as caught:
        decode(data, f"/somewhere/{file_name(RECEIPT.path)}")
    assert caught.value.message.startswith(f"/somewhere/{file_name(RECEIPT.path)}: {problem}")


def test_a_receipt_is_the_same_text_each_time_and_reads_back_as_written():
    extreme = RECEIPT._replace(path="pkg/\udce9.py", pristine=PristineFile(HEX, 0o7777, -TOP, "..", "edited"))
    for each in (RECEIPT, extreme):
        assert decode(encode_receipt(each), file_name(each.path)) == each
    assert list(json.loads(encode_receipt(RECEIPT))) == sorted(json.loads(encode_receipt(RECEIPT)))
    assert b'{\n "current": ' in encode_receipt(RECEIPT) and encode_receipt(RECEIPT).endswith(b"\n}\n")
