"""Known results are used instead of the engine: the same bytes and answers, whatever is in the tables."""

import json
import shutil
import zipfile
from collections import defaultdict
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
    """What the engine makes of every stand-in with every built-in patchset, and of a hunk that fails: (text, request, result)."""
    sites = []
    for name in fixtures():
        site = tmp_path_factory.mktemp("site") / "site"
        lay_out(name, site)
        sites.append(site)
    rewrites = []
    for name in tables.NAMES:
        rewrites += tables.results(name, sites).values()
    assert len(rewrites) > 30
    failing = REQUEST._replace(hunks=(HUNK._replace(scope="g"),))
    return [*rewrites, (TEXT, failing, results.rewrite_by_engine(TEXT, failing))]


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
    table = KnownTable(write_table({key_of(data, request): rewrite for data, request, rewrite in every}))
    for data, request, rewrite in every:
        failed = any(answer.state.failed for answer in rewrite.answers)
        assert table.find(key_of(data, request), data, request) == (None if failed else rewrite)
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
    rewrite = Rewrite(b"z\na\n" + TEXT, (first, second), answers)
    assert KnownTable(write_table({KEY: rewrite})).find(KEY, TEXT, REQUEST) == rewrite


@pytest.mark.parametrize("change", [{"state": State.CONFLICT}, {"problem": "why"}, {"hint": "what to do"}, {"splices": ()}])
def test_a_result_of_which_one_answer_cannot_be_kept_is_left_out(change):
    rewrite = MADE._replace(answers=(MADE.answers[0]._replace(**change), MADE.answers[1]))
    assert json.loads(write_table({KEY: rewrite}))["results"] == {}


def damaged_copies(data):
    """Every copy of some bytes that ends too early, or in which one byte is left out or another one."""
    for at in range(len(data)):
        yield data[:at]
        for replacement in (b"", b"0", b"9", b'"', b"\xff", b"["):
            yield data[:at] + replacement + data[at + 1 :]


def test_a_table_that_was_damaged_anywhere_gives_the_same_result_or_none():
    table = write_table({KEY: MADE})
    assert KnownTable(table).find(KEY, TEXT, REQUEST) == MADE
    answers = {KnownTable(copy).find(KEY, TEXT, REQUEST) for copy in damaged_copies(table)}
    assert answers == {MADE, None}


def replaced_copies(item, value):
    """Every copy of decoded JSON in which one thing is replaced by this value."""
    yield value
    if isinstance(item, dict):
        keys = list(item)
    elif isinstance(item, list):
        keys = range(len(item))
    else:
        keys = ()
    for key in keys:
        for replaced in replaced_copies(item[key], value):
            copy = json.loads(json.dumps(item))
            copy[key] = replaced
            yield copy


@pytest.mark.parametrize("value", [None, -1, 1.0, 10**30, True, "x", "[]", [], [[]], {}, {"a": 1}])
def test_a_table_with_a_value_of_another_kind_gives_the_same_result_or_none(value):
    copies = list(replaced_copies(json.loads(write_table({KEY: MADE})), value))
    assert len(copies) > 20
    answers = {KnownTable(json.dumps(copy).encode()).find(KEY, TEXT, REQUEST) for copy in copies}
    assert answers <= {MADE, None} and None in answers


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
        {"hunks": (ABSENT,)},
        {"hunks": (ABSENT, HUNK)},
        {"every": EveryHunk((HUNK,))},
        {"names": ()},
        {"options": {}},
        {"options": {**REQUEST.options, "size": True}},
        {"options": {**REQUEST.options, "size": 1.0}},
        {"options": {**REQUEST.options, "deep": 1}},
        {"options": {**REQUEST.options, "text": "?"}},
    ],
)
def test_whatever_a_request_says_is_in_its_key(change):
    assert key_of(TEXT, REQUEST._replace(**change)) != KEY


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "g"},
        {"flags": HunkFlags(expected=0)},
        {"flags": HunkFlags(when_present=True)},
        {"flags": HunkFlags(inside=())},
        {"flags": HunkFlags(inside=("if",))},
        {"lines": HUNK.lines[:1]},
        {"lines": (("-", "old($Y)", 4), HUNK.lines[1])},
        {"lines": ((" ", "old($X)", 4), HUNK.lines[1])},
    ],
)
def test_whatever_a_hunk_says_is_in_the_key(change):
    assert key_of(TEXT, REQUEST._replace(hunks=(HUNK._replace(**change), ABSENT))) != KEY


def test_the_text_is_in_the_key():
    assert key_of(TEXT + b"\n", REQUEST) != KEY


def elsewhere(hunk):
    """The hunk as it is in another .spatch, seven lines below."""
    lines = tuple((tag, text, 0) for tag, text, _ in hunk.lines)
    return hunk._replace(origin="q.spatch", line=hunk.line + 7, lines=lines)


def test_a_new_version_another_place_and_other_prose_keep_the_key():
    moved = tuple(map(elsewhere, REQUEST.hunks))
    options = dict(reversed(list(REQUEST.options.items())))
    assert key_of(TEXT, Request("other", moved, options, ("injected",), EveryHunk(moved))) == KEY


# the tables of the built-in patchsets ---------------------------------------------------------------------------------
def test_each_built_in_patchset_ships_a_table():
    assert SHIPPED == tables.NAMES


def hash_of_request(key):
    """The half of a key that does not depend on the text."""
    return key.split()[0]


def request_hashes(patchset):
    """The hashes of all requests of a patchset: for each variant, what one .spatch has for one file."""
    options = resolve_options(patchset, {})
    every = EveryHunk.of_variants(patchset.variants)
    hashes = set()
    for variant in patchset.variants:
        hunks = defaultdict(tuple)  # by path and .spatch
        for patch in variant.patches:
            for path in patch.paths:
                hunks[path, patch.hunks[0].origin] += patch.hunks
        for (_, origin), of_file in hunks.items():
            request = Request(patchset.name, of_file, options, variant.names, every.of_spatch(origin))
            hashes.add(hash_of_request(key_of(b"", request)))
    return hashes


@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_that_ships_is_of_the_patchset_as_it_is(name):
    path = Path(builtin_dir()) / name / tables.TABLE
    patchset = load_patchset(path.parent, BUILT_IN)
    known = {hash_of_request(key) for key in json.loads(path.read_bytes())["results"]}
    assert known and known <= request_hashes(patchset), "make it anew: python -m tests.tables"
    assert tables.TABLE not in patchset.folder.files


def test_only_a_table_that_ships_is_trusted_and_what_it_says_is_not_worked_out_again(tmp_path, shipped):
    """Its result is another one than the engine's here, so that it can be told which of them is used."""
    wheel(tmp_path / "wheels")
    text = b"VALUE = 1\n"
    folder = tmp_path / "mine/two"
    places.patchset(tmp_path, new=22)
    (variant,) = load_patchset(folder, BUILT_IN).variants
    (patch,) = variant.patches
    request = Request("two", patch.hunks, {}, (), EveryHunk(patch.hunks))
    by_engine = results.rewrite_by_engine(text, request)
    splices = tuple(splice._replace(new=splice.new.replace(b"22", b"33")) for splice in by_engine.splices)
    answers = (by_engine.answers[0]._replace(splices=splices),)
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

    def ship(key_as_written=lambda key: key):
        for name in (GUARD, DYNAMO):
            folder = shipped / "patchsets" / name
            shutil.copytree(ROOT / "patchsets" / name, folder, dirs_exist_ok=True)
            rewrites = tables.results(name, [stock.path, vendor.path])
            table = {key_as_written(key): rewrite for key, (_, _, rewrite) in rewrites.items()}
            (folder / tables.TABLE).write_bytes(write_table(table))

    def states(site, **more):
        """The states of the two patchsets: GUARD, DYNAMO."""
        listed = json.loads(done(sitepatch("list", "--json", "--target", site.path, cwd=tmp_path, **more)).out)
        by_name = {each["name"]: each["state"] for each in listed["patchsets"]}
        return by_name[GUARD], by_name[DYNAMO]

    mine = {"PYTHONPATH": str(shipped)}
    both_applicable = ("applicable", "applicable")
    assert states(stock) == states(vendor) == both_applicable  # stand-ins are in no table
    ship()
    assert states(stock, **mine) == ("not needed", "applicable")
    assert states(vendor, **mine) == both_applicable
    path = stock.file("torch/multiprocessing/reductions.py")
    text = path.read_bytes()
    path.write_bytes(text + b"# edited\n")
    assert states(stock, **mine) == both_applicable
    path.write_bytes(text)
    ship(lambda key: f"{'0' * 64} {key.split()[1]}")  # of another request for the same text
    assert states(stock, **mine) == both_applicable
