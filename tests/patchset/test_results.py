"""Known results are used instead of the engine: the same bytes and answers, whatever is in the tables."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from patcher.errors import PatchError
from patcher.model import HunkAnswer, HunkFlags, HunkText, Rewrite, Splice, State
from patcher.patchset import results
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.results import EveryHunk, KnownTable, Request, key_of, write_table
from patcher.patchset.variants import resolve_options
from patcher.verbs.demo import fixtures, lay_out
from tests import places, tables
from tests.command import DYNAMO, GUARD, ROOT, Site, done, sitepatch
from tests.places import wheel

TEXT = b"def f(a):\n    return old(a)\n"
HUNK = HunkText("p.spatch", 3, "f", (("-", "old($X)", 4), ("+", "max($X, 0)", 5)))
ABSENT = HunkText("p.spatch", 9, "f", (("-", "gone()", 10), ("+", "come()", 11)), HunkFlags(when_present=True))
REQUEST = Request("demo", (HUNK, ABSENT), {"size": 1, "deep": True, "text": "\N{SNOWMAN}"}, ("injected",), EveryHunk((HUNK, ABSENT)))
MADE = Rewrite(
    b"def f(a):\n    return max(a, 0)\n",
    (Splice(21, 24, b"max"), Splice(26, 26, b", 0")),
    (HunkAnswer(HUNK, State.APPLICABLE, (2,), (Splice(21, 24, b"max"), Splice(26, 26, b", 0"))), HunkAnswer(ABSENT, State.NOT_NEEDED)),
)
KEY = key_of(TEXT, REQUEST)

SHIPPED = [name for name in tables.NAMES if (Path(builtin_dir()) / name / tables.TABLE).exists()]


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """What the engine makes of every stand-in with every built-in patchset: (text, request, result)."""
    sites = [tmp_path_factory.mktemp("site") / "site" for _ in fixtures()]
    for site, name in zip(sites, fixtures()):
        lay_out(name, site)
    found = [each for name in tables.NAMES for each in tables.results(name, sites).values()]
    assert len(found) > 30
    failing = REQUEST._replace(hunks=(HUNK._replace(scope="g"),))
    return [*found, (TEXT, failing, results.rewrite_by_engine(TEXT, failing))]


@pytest.fixture
def shipped(tmp_path):
    """A sitepatch of its own in a folder: the code of this one, and beside it `patchsets`, the built-in ones."""
    folder = tmp_path / "shipped"
    shutil.copytree(ROOT / "patcher", folder / "patcher", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "patchsets").mkdir()
    return folder


# the table ------------------------------------------------------------------------------------------------------------
def test_the_engine_makes_what_this_test_says():
    assert results.rewrite_by_engine(TEXT, REQUEST._replace(hunks=(HUNK, ABSENT))) == MADE


def test_a_hunk_for_another_file_has_to_be_right_too():
    wrong = HUNK._replace(lines=(("-", "old(", 4),))
    with pytest.raises(PatchError):
        results.rewrite_by_engine(TEXT, REQUEST._replace(every=EveryHunk((HUNK, wrong))))


def test_a_result_comes_back_as_the_engine_made_it(every):
    written = {key_of(data, request): made for data, request, made in every}
    table = KnownTable(write_table(written))
    for data, request, made in every:
        good = not any(answer.state.failed for answer in made.answers)
        assert table.find(key_of(data, request), data, request) == (made if good else None)
    assert table.find(KEY, TEXT, REQUEST) is None


def test_inserted_text_is_in_a_table_once():
    other = b"# moved\n" + TEXT
    moved = tuple(Splice(start + 8, end + 8, new) for start, end, new in MADE.splices)
    answers = (MADE.answers[0]._replace(places=(3,), splices=moved), MADE.answers[1])
    table = write_table({KEY: MADE, key_of(other, REQUEST): Rewrite(b"# moved\n" + MADE.data, moved, answers)})
    assert json.loads(table)["texts"] == ["max", ", 0"]
    assert KnownTable(table).find(key_of(other, REQUEST), other, REQUEST).data == b"# moved\n" + MADE.data


def test_two_insertions_at_one_point_keep_their_order():
    first, second = Splice(0, 0, b"z\n"), Splice(0, 0, b"a\n")
    answers = (HunkAnswer(HUNK, State.APPLICABLE, (1,), (first,)), HunkAnswer(ABSENT, State.APPLICABLE, (1,), (second,)))
    made = Rewrite(b"z\na\n" + TEXT, (first, second), answers)
    assert KnownTable(write_table({KEY: made})).find(KEY, TEXT, REQUEST) == made


@pytest.mark.parametrize("change", [{"state": State.CONFLICT}, {"problem": "why"}, {"hint": "what to do"}, {"splices": ()}])
def test_a_result_of_which_one_answer_cannot_be_kept_is_left_out(change):
    made = MADE._replace(answers=(MADE.answers[0]._replace(**change), MADE.answers[1]))
    assert json.loads(write_table({KEY: made}))["results"] == {}


def test_a_table_that_was_damaged_anywhere_gives_the_same_result_or_none():
    table, seen = write_table({KEY: MADE}), set()
    assert KnownTable(table).find(KEY, TEXT, REQUEST) == MADE
    for at in range(len(table)):
        for other in (table[:at], table[:at] + table[at + 1 :], *(table[:at] + new + table[at + 1 :] for new in (b"0", b"9", b'"', b"\xff", b"["))):
            seen.add(KnownTable(other).find(KEY, TEXT, REQUEST))
    assert seen == {MADE, None}


@pytest.mark.parametrize("value", [None, -1, 1.0, 10**30, True, "x", "[]", [], [[]], {}, {"a": 1}])
def test_a_table_with_a_value_of_another_kind_gives_the_same_result_or_none(value):
    def changed(item):
        """Every copy of decoded JSON with one thing in it replaced."""
        yield value
        for key, each in item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ():
            for other in changed(each):
                copy = json.loads(json.dumps(item))
                copy[key] = other
                yield copy

    found = [KnownTable(json.dumps(each).encode()).find(KEY, TEXT, REQUEST) for each in changed(json.loads(write_table({KEY: MADE})))]
    assert len(found) > 20 and set(found) <= {MADE, None} and None in found


@pytest.mark.parametrize("what", ["format", "state", "places", "splices", "owner", "key", "deep"])
def test_what_was_forged_without_its_seal_is_refused(what):
    table = json.loads(write_table({KEY: MADE}))
    (row,) = table["results"].values()
    key = KEY
    if what == "format":
        table["format"] = 2
    elif what == "state":
        row["hunks"][1][0] = "upstream"
    elif what == "places":
        row["hunks"][0][1] = [1]
    elif what == "splices":
        table["texts"][0] = "min"
    elif what == "owner":
        row["splices"][1][3] = 1
    elif what == "key":
        key = key_of(TEXT, REQUEST._replace(names=()))
        table["results"][key] = row
    forged = json.dumps(table).encode() if what != "deep" else b"[" * 100_000
    assert KnownTable(forged).find(key, TEXT, REQUEST) is None


@pytest.mark.parametrize(
    "change",
    [
        {"hunks": (ABSENT,)}, {"hunks": (ABSENT, HUNK)}, {"every": EveryHunk((HUNK,))}, {"names": ()}, {"options": {}},
        {"options": {**REQUEST.options, "size": True}}, {"options": {**REQUEST.options, "size": 1.0}},
        {"options": {**REQUEST.options, "deep": 1}}, {"options": {**REQUEST.options, "text": "?"}},
        *({"hunks": (HUNK._replace(**each), ABSENT)} for each in (
            {"scope": "g"}, {"flags": HunkFlags(expected=0)}, {"flags": HunkFlags(when_present=True)}, {"lines": HUNK.lines[:1]}, {"lines": (("-", "old($Y)", 4), HUNK.lines[1])},
            {"lines": ((" ", "old($X)", 4), HUNK.lines[1])}, {"flags": HunkFlags(inside=())}, {"flags": HunkFlags(inside=("if",))},
        )),
    ],
)  # fmt: skip
def test_whatever_matters_to_a_result_is_in_its_key(change):
    assert key_of(TEXT, REQUEST._replace(**change)) != KEY
    assert key_of(TEXT + b"\n", REQUEST) != KEY


def test_a_new_version_another_place_and_other_prose_keep_the_key():
    moved = tuple(hunk._replace(origin="q.spatch", line=hunk.line + 7, lines=tuple((tag, text, 0) for tag, text, _ in hunk.lines)) for hunk in REQUEST.hunks)
    assert key_of(TEXT, Request("other", moved, dict(reversed(list(REQUEST.options.items()))), ("injected",), EveryHunk(moved))) == KEY


# the tables of the built-in patchsets ---------------------------------------------------------------------------------
def test_each_built_in_patchset_ships_a_table():
    assert SHIPPED == tables.NAMES


@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_that_ships_is_of_the_patchset_as_it_is(name):
    path = Path(builtin_dir()) / name / tables.TABLE
    patchset = load_patchset(path.parent, BUILT_IN)
    asked = set()
    for variant in patchset.variants:
        hunks = {}  # by path and .spatch
        for patch in variant.patches:
            for each in patch.paths:
                key = each, patch.hunks[0].origin
                hunks[key] = hunks.get(key, ()) + patch.hunks
        every = tuple(hunk for one in patchset.variants for patch in one.patches for hunk in patch.hunks)
        of_spatch = {origin: tuple(dict.fromkeys(hunk for hunk in every if hunk.origin == origin)) for _, origin in hunks}
        requests = [Request(name, each, resolve_options(patchset, {}), variant.names, EveryHunk(of_spatch[key[1]])) for key, each in hunks.items()]
        asked |= {key_of(b"", request).split()[0] for request in requests}
    known = {key.split()[0] for key in json.loads(path.read_bytes())["results"]}
    assert known and known <= asked, "make it anew: python -m tests.tables"
    assert tables.TABLE not in patchset.folder.files


def test_only_a_table_that_ships_is_trusted_and_what_it_says_is_not_worked_out_again(tmp_path, shipped):
    """Its result is another one than the engine's here, so that it can be told which of them is used."""
    wheel(tmp_path / "wheels")
    folder, text = tmp_path / "mine/two", b"VALUE = 1\n"
    places.patchset(tmp_path, new=22)
    patchset = load_patchset(folder, BUILT_IN)
    ((patch,),) = (variant.patches for variant in patchset.variants)
    request = Request("two", patch.hunks, {}, (), EveryHunk(patch.hunks))
    made = results.rewrite_by_engine(text, request)
    splices = tuple(splice._replace(new=splice.new.replace(b"22", b"33")) for splice in made.splices)
    answers = (made.answers[0]._replace(splices=splices),)
    (folder / tables.TABLE).write_bytes(write_table({key_of(text, request): Rewrite(b"VALUE = 33\n", splices, answers)}))
    shutil.copytree(folder, shipped / "patchsets/two")

    def applied(*words, **more):
        site = tmp_path / "site"
        shutil.rmtree(site, ignore_errors=True)
        with zipfile.ZipFile(tmp_path / "wheels/demo-1.0-py3-none-any.whl") as archive:
            archive.extractall(site)
        done(sitepatch("apply", "two", "--verify", "none", "--target", site, *words, cwd=tmp_path, **more))
        return (site / "demo/m.py").read_bytes()

    assert applied("--patch-dir", folder.parent) == b"VALUE = 22\n"
    assert applied(PYTHONPATH=str(shipped)) == b"VALUE = 33\n"


# what `list` knows of a release ---------------------------------------------------------------------------------------
@pytest.mark.once
def test_a_patchset_that_an_installed_release_is_known_to_do_without_is_not_available(tmp_path, shipped):
    stock, vendor = Site(tmp_path / "stock", "torch-2.9.0"), Site(tmp_path / "vendor", "torch-2.7.1-musa")

    def ship(keyed=lambda key: key):
        for name in (GUARD, DYNAMO):
            folder, found = shipped / "patchsets" / name, tables.results(name, [stock.path, vendor.path])
            shutil.copytree(ROOT / "patchsets" / name, folder, dirs_exist_ok=True)
            (folder / tables.TABLE).write_bytes(write_table({keyed(key): made for key, (_, _, made) in found.items()}))

    def states(site, **more):
        told = json.loads(done(sitepatch("list", "--json", "--target", site.path, cwd=tmp_path, **more)).out)
        found = {one["name"]: one["state"] for one in told["patchsets"]}
        return [found[GUARD], found[DYNAMO]]

    mine = {"PYTHONPATH": str(shipped)}
    assert [states(stock), states(vendor)] == [["applicable"] * 2] * 2  # stand-ins are in no table
    ship()
    assert [states(stock, **mine), states(vendor, **mine)] == [["not needed", "applicable"], ["applicable", "applicable"]]
    path = stock.file("torch/multiprocessing/reductions.py")
    text = path.read_bytes()
    path.write_bytes(text + b"# edited\n")
    assert states(stock, **mine) == ["applicable"] * 2
    path.write_bytes(text)
    ship(lambda key: f"{'0' * 64} {key.split()[1]}")  # of another request for the same text
    assert states(stock, **mine) == ["applicable"] * 2
