"""Known results are used instead of the engine: the same bytes and answers, whatever is in the tables and in the cache."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patcher.errors import PatchError
from patcher.installed.interpreter import Environment
from patcher.model import HunkAnswer, HunkFlags, HunkText, Rewrite, Splice, State
from patcher.patchset import results
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.results import KnownTable, Request, key_of, write_table
from patcher.patchset.variants import resolve_options
from patcher.system import cache
from patcher.verbs.demo import fixtures, lay_out
from patcher.verbs.list import availability
from tests import tables
from tests.command import DDP, DYNAMO, GUARD, RUNNER, Site, done, environ
from tests.users import ROOT_ONLY

A = 1001

TEXT = b"def f(a):\n    return old(a)\n"
HUNK = HunkText("p.spatch", 3, "f", (("-", "old($X)", 4), ("+", "max($X, 0)", 5)))
ABSENT = HunkText("p.spatch", 9, "f", (("-", "gone()", 10), ("+", "come()", 11)), HunkFlags(when_present=True))
REQUEST = Request("demo", (HUNK, ABSENT), {"size": 1, "deep": True, "text": "\N{SNOWMAN}"}, ("injected",), (HUNK, ABSENT))
MADE = Rewrite(
    b"def f(a):\n    return max(a, 0)\n",
    (Splice(21, 24, b"max"), Splice(26, 26, b", 0")),
    (HunkAnswer(HUNK, State.APPLICABLE, (2,), (Splice(21, 24, b"max"), Splice(26, 26, b", 0"))), HunkAnswer(ABSENT, State.NOT_NEEDED)),
)
KEY = key_of(TEXT, REQUEST)

SHIPPED = [name for name in tables.NAMES if (Path(builtin_dir()) / name / tables.TABLE).exists()]
WITHOUT = [
    "accelerate-device", "attrdict-python310", "basicsr-torchvision", "chumpy-python311", "clip-pkg-resources", "deepspeed-torch24",
    "easyocr-pillow10", "gradio-client-bool-schema", "gym-numpy2", "imgaug-numpy2", "mmaction-mmcv-range", "mmagic-mmcv-range",
    "mmcv-torch2", "mmcv-yapf", "mmdet-mmcv-range", "mmdet3d-mmcv-range", "mmengine-adafactor", "mmengine-yapf", "mmocr-mmcv-range",
    "mmpose-mmcv-range", "mmpretrain-mmcv-range", "mmrotate-mmcv-range", "mmseg-mmcv-range", "mmyolo-mmcv-range", "moviepy-pillow10",
    "pyrender-numpy2", "pytorchvideo-torchvision", "speechbrain-torchaudio29", "timm-torch-six", "torch-cuda-version-check",
    "torch-tensorboard-distutils", "torchgeometry-bool-masks", "transformers-torch-load",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a personal cache that is not there yet."""
    monkeypatch.setenv("SITEPATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "known"


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """What the engine makes of every stand-in with every built-in patchset: (text, request, result)."""
    sites = [tmp_path_factory.mktemp("site") / "site" for _ in fixtures()]
    for site, name in zip(sites, fixtures()):
        lay_out(name, site)
    found = [each for name in tables.NAMES for each in tables.results(name, sites).values()]
    assert len(found) > 30
    failing = REQUEST._replace(hunks=(HUNK._replace(scope="g"),))
    return [*found, (TEXT, failing, results.rewrite_uncached(TEXT, failing))]


@pytest.fixture
def worked(monkeypatch):
    """The texts for which the engine was asked, and the answers are those of the engine."""
    asked, engine = [], results.rewrite_uncached
    monkeypatch.setattr(results, "rewrite_uncached", lambda data, request: asked.append(data) or engine(data, request))
    return asked


# the table ------------------------------------------------------------------------------------------------------------
def test_the_engine_makes_what_this_test_says(monkeypatch):
    assert results.rewrite_uncached(TEXT, REQUEST._replace(hunks=(HUNK, ABSENT))) == MADE


def test_a_hunk_for_another_file_has_to_be_right_too():
    wrong = HUNK._replace(lines=(("-", "old(", 4),))
    with pytest.raises(PatchError):
        results.rewrite_uncached(TEXT, REQUEST._replace(every=(HUNK, wrong)))


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
        {"hunks": (ABSENT,)}, {"hunks": (ABSENT, HUNK)}, {"every": (HUNK,)}, {"names": ()}, {"options": {}},
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
    assert key_of(TEXT + b"\n", REQUEST) != KEY != key_of(TEXT, REQUEST, ("another engine",))


def test_a_new_version_another_place_and_other_prose_keep_the_key():
    moved = tuple(hunk._replace(origin="q.spatch", line=hunk.line + 7, lines=tuple((tag, text, 0) for tag, text, _ in hunk.lines)) for hunk in REQUEST.hunks)
    assert key_of(TEXT, Request("other", moved, dict(reversed(list(REQUEST.options.items()))), ("injected",), moved)) == KEY


# the personal cache ---------------------------------------------------------------------------------------------------
def test_what_was_worked_out_once_is_not_worked_out_again(every, worked, folder):
    for data, request, made in every:
        assert results.rewrite_cached(data, request) == made
    assert len(worked) > 30
    first = worked[:]
    worked.clear()
    for data, request, made in every:
        assert results.rewrite_cached(data, request) == made
    assert len(list(folder.iterdir())) == sum(not any(answer.state.failed for answer in made.answers) for _, _, made in every)
    failed = {data for data, _, made in every if any(answer.state.failed for answer in made.answers)}
    assert 0 < len(worked) < len(first) and set(worked) <= failed, "a failure is not kept: its words are not in a table"
    assert folder.stat().st_mode & 0o777 == 0o700 and {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_result_is_worked_out_once_and_a_failure_is_not_kept(worked, folder, monkeypatch):
    assert results.rewrite_cached(TEXT, REQUEST) == results.rewrite_cached(TEXT, REQUEST) == MADE
    assert worked == [TEXT]
    failing = REQUEST._replace(hunks=(HUNK._replace(scope="g"),))
    assert results.rewrite_cached(TEXT, failing).answers[0].state is State.NOT_FOUND
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setenv("SITEPATCH_CACHE", os.devnull)
    monkeypatch.setattr(results, "_shipped", lambda name: KnownTable(write_table({KEY: MADE})))
    worked.clear()
    assert results.rewrite_cached(TEXT, REQUEST) == MADE and worked == []


def test_garbage_in_every_file_of_the_cache_changes_nothing(worked, folder):
    assert results.rewrite_cached(TEXT, REQUEST) == MADE
    (path,) = folder.iterdir()
    good = path.read_bytes()
    for bad in (b"", b"\0", b"{}", good[:-5], good.replace(b"max", b"min"), b"[" * 100_000, b"x" * ((1 << 20) + 1)):
        path.write_bytes(bad)
        assert results.rewrite_cached(TEXT, REQUEST) == MADE
        assert path.read_bytes() == good, "it is written anew"
    assert worked == [TEXT] * 8


def _writable(folder):
    folder.chmod(0o770)


def _readable(folder):
    folder.chmod(0o755)


def _link(folder):
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def _shared(folder):
    folder.parent.chmod(0o777)


def _file(folder):
    for path in folder.iterdir():
        path.chmod(0o666)


def _others(folder):
    for path in folder.iterdir():
        os.chown(path, A, A)


def _fifo(folder):
    (path,) = folder.iterdir()
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("how", [_writable, _readable, _link, _shared, _file, _fifo, pytest.param(_others, marks=ROOT_ONLY)])
def test_a_cache_that_others_can_change_is_not_read(worked, folder, how):
    results.rewrite_cached(TEXT, REQUEST)
    how(folder)
    assert results.rewrite_cached(TEXT, REQUEST) == MADE
    assert worked == [TEXT] * 2


@pytest.mark.parametrize("how", [_writable, _readable, _link, _shared])
def test_a_cache_that_others_can_change_is_not_written(worked, folder, how):
    folder.mkdir(mode=0o700, parents=True)
    how(folder)
    assert results.rewrite_cached(TEXT, REQUEST) == MADE
    assert list(folder.iterdir()) == []


@ROOT_ONLY
@pytest.mark.parametrize("linked", [False, True])
def test_root_makes_no_cache_among_the_files_of_another_user(tmp_path, monkeypatch, folder, linked):
    if linked:
        tmp_path = tmp_path / "theirs"
        tmp_path.mkdir()
        folder.parent.symlink_to(tmp_path)
    os.chown(tmp_path, A, A)
    monkeypatch.setenv("SUDO_UID", str(A))  # sudo with HOME kept: that user could not use it any more
    assert results.rewrite_cached(TEXT, REQUEST) == MADE
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_a_result_is_written_is_not_lost(monkeypatch, folder):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results.rewrite_cached(TEXT, REQUEST)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_no_problem_and_leaves_no_part_behind(monkeypatch, folder, error):
    def full(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "replace", full)
    assert results.rewrite_cached(TEXT, REQUEST) == MADE
    assert list(folder.iterdir()) == []


def test_the_cache_is_bounded_and_what_was_not_used_for_longest_goes(monkeypatch, folder):
    monkeypatch.setattr(results, "_MOST", 3)
    names = [f"{number:064x}" for number in range(5)]
    for age, name in enumerate(names[:3]):
        results.write_result(name, b"x" * 10)
        os.utime(folder / name, (1_000_000 + age,) * 2)
    assert results.read_result(names[0]) == b"x" * 10  # used now
    results.write_result(names[3], b"x" * 10)
    assert {path.name for path in folder.iterdir()} == {names[0], names[2], names[3]}
    monkeypatch.setattr(results, "_BYTES", 20)
    os.utime(folder / names[0], (1_000_000,) * 2)
    results.write_result(names[4], b"x" * 10)
    assert {path.name for path in folder.iterdir()} == {names[3], names[4]}


def test_a_result_that_is_too_large_to_be_read_is_not_written(folder):
    for size, kept in ((1 << 20, True), ((1 << 20) + 1, False)):
        results.write_result(f"{size:064x}", b"x" * size)
        assert bool(results.read_result(f"{size:064x}")) is (folder / f"{size:064x}").exists() is kept


def test_eight_processes_write_read_and_clean_at_once(folder):
    code = (
        "import sys; from patcher.patchset import results; from patcher.system import cache\n"
        "results._MOST = 5\n"
        "for turn in range(40):\n"
        "    name = f'{turn % 9:064x}'\n"
        "    results.write_result(name, name.encode() * 500)\n"
        "    assert results.read_result(name) in (b'', name.encode() * 500)\n"
        "    turn % 10 or [cache.remove_entry(entry) for entry in cache.cache_entries()]\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], env=environ(), stderr=subprocess.PIPE) for _ in range(8)]
    for process in started:
        assert process.communicate()[1] == b"" and process.returncode == 0
    results.write_result("f" * 64, b"more")
    assert all(len(path.name) == 64 for path in folder.iterdir()), "no part was left behind"
    assert len(list(folder.iterdir())) <= 12


def test_only_what_is_ours_is_listed_and_removed(folder):
    results.write_result("a" * 64, b"text")
    (entry,) = cache.cache_entries()
    assert (entry.kind, entry.name, entry.path, entry.size) == ("known", "1 result", folder, 4)
    (folder / "mine.txt").write_text("mine")
    assert cache.cache_entries() == []
    (folder / "mine.txt").unlink()
    assert cache.remove_entry(entry) and not folder.exists()


# the commands ---------------------------------------------------------------------------------------------------------
def test_apply_gives_the_same_bytes_and_receipts_with_and_without_known_results(tmp_path, folder):
    made = []
    for name in ("first", "known", "forged", "off"):
        site = Site(tmp_path / name, "mmengine-0.10.7")
        more = {"SITEPATCH_CACHE": os.devnull} if name == "off" else {}
        for path in folder.iterdir() if name == "forged" else ():
            path.write_bytes(path.read_bytes().replace(b"_report", b"_forged"))
        words = json.loads(done(site("apply", DDP, "--json", **more)).out.replace(str(site.path), "SITE"))
        assert words.pop("verify")  # with the seconds that it took
        made.append((words, {path: what[0] for path, what in site.tree().items() if path.endswith((".py", ".json"))}))
        assert b"_report" in site.file(RUNNER).read_bytes()
    assert made[0] == made[1] == made[2] == made[3]
    assert len(list(folder.iterdir())) == 3


def test_check_and_diff_and_a_dry_run_use_the_cache_and_need_none(tmp_path, folder):
    site = Site(tmp_path, "mmengine-0.10.7")
    before, shown = site.tree(), {}
    for more in ({}, {}, {"SITEPATCH_CACHE": os.devnull}):
        for words in (["apply", DDP, "--dry-run"], ["diff", DDP], ["check", DDP]):
            assert shown.setdefault(words[0], site(*words, **more).out) == site(*words, **more).out
    assert site.tree() == before and len(list(folder.iterdir())) == 3


# the tables of the built-in patchsets ---------------------------------------------------------------------------------
def test_some_built_in_patchsets_ship_no_table_and_ask_the_engine():
    assert sorted(set(tables.NAMES) - set(SHIPPED)) == WITHOUT


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
        requests = [Request(name, each, resolve_options(patchset, {}), variant.names, of_spatch[key[1]]) for key, each in hunks.items()]
        asked |= {key_of(b"", request).split()[0] for request in requests}
    known = {key.split()[0] for key in json.loads(path.read_bytes())["results"]}
    assert known and known <= asked, "make it anew: python -m tests.tables"
    assert tables.TABLE not in patchset.folder.files


def test_only_the_table_of_the_built_in_folder_is_trusted(tmp_path, monkeypatch, worked):
    site = Site(tmp_path, "mmengine-0.10.7")
    copy = site.source(DDP)
    (path,) = [each for each in tables.results(DDP, [site.path]).values() if each[2].splices][:1]
    data, request, made = path
    (copy / tables.TABLE).write_bytes(write_table({key_of(data, request): made}))
    monkeypatch.setattr(results, "_shipped", results._shipped.__wrapped__)
    worked.clear()
    assert results.rewrite_cached(data, request) == made and worked == [data]
    monkeypatch.setattr(results, "builtin_table", lambda name: (copy / tables.TABLE).read_bytes() if name == DDP else b"")
    worked.clear()
    assert results.rewrite_cached(data, request) == made and worked == []


# what `list` knows of a release ---------------------------------------------------------------------------------------
@pytest.mark.once
def test_a_patchset_that_an_installed_release_is_known_to_do_without_is_not_available(tmp_path, monkeypatch):
    def state(site, name):
        env = Environment(sys.executable, (str(site.path),), (str(site.path),), sys.version_info[:2])
        return availability(env, load_patchset(Path(builtin_dir()) / name, BUILT_IN), {}).state

    stock, vendor = Site(tmp_path / "stock", "torch-2.9.0"), Site(tmp_path / "vendor", "torch-2.7.1-musa")
    shipped = {name: write_table({key: made for key, (_, _, made) in tables.results(name, [stock.path, vendor.path]).items()}) for name in (GUARD, DYNAMO)}
    assert [state(stock, GUARD), state(vendor, GUARD)] == ["applicable", "applicable"]  # stand-ins are in no table
    monkeypatch.setattr("patcher.verbs.list.builtin_table", shipped.get)
    monkeypatch.setattr(results, "_shipped", lambda name: KnownTable(shipped[name]))
    assert [state(site, name) for site in (stock, vendor) for name in (GUARD, DYNAMO)] == ["not needed", "applicable", "applicable", "applicable"]
    path = stock.file("torch/multiprocessing/reductions.py")
    text = path.read_bytes()
    path.write_bytes(text + b"# edited\n")
    assert state(stock, GUARD) == "applicable"
    path.write_bytes(text)
    monkeypatch.setattr(results, "_shipped", lambda name: KnownTable(b""))  # of another request for the same text
    assert state(stock, GUARD) == "applicable"
