"""What has become of a patched file: each condition by the file, its receipt, and what RECORD and METADATA say now."""

import fcntl
import hashlib
import os
import time

import pytest

from patcher.errors import StoreError
from patcher.facts import Condition, FileStatus
from patcher.installed.interpreter import Environment
from patcher.model import PatchedRelease, PristineFile, Receipt, Step
from patcher.store import bytecode, status
from patcher.store.folder import Folder
from patcher.store.lock import locked
from patcher.store.receipt import encode_receipt, file_name
from patcher.store.status import classify, damaged, lost_copies, read_installed
from patcher.store.store import Store
from tests.failures import Clock, fail, kernel_that_tells
from tests.records import row
from tests.stores import leave_journal
from tests.users import NOBODY, ROOT_ONLY, as_user, give, public

__all__ = ["public"]

FILE, HEX = "demo/sub/a.py", "0" * 64
OLD = 1_600_000_000
REINSTALL = "pip install --force-reinstall --no-deps de.mo==2"


def sha(text):
    return hashlib.sha256(text.encode())


def receipt(origin="recorded", distribution="de.mo", digest=HEX, path=FILE):
    step = Step("p", "1", digest, "fix", {}, ())
    pristine = PristineFile(sha("old").hexdigest(), 0o644, 0, origin=origin)
    return Receipt(path, PatchedRelease("demo", distribution, "1.0"), pristine, sha("new").hexdigest(), (step,))


def install(site, folder, recorded="", version=""):
    (site / folder).mkdir()
    if recorded:
        (site / folder / "RECORD").write_text(row(FILE, recorded.encode()))
    if version:
        (site / folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: De.Mo\nversion: \t{version}\nVersion: 9\n")


@pytest.mark.parametrize(
    ("data", "version", "recorded", "origin", "expected"),
    [
        (None, "1.0", "old", "recorded", Condition.MISSING),
        ("old", "1.0", "old", "recorded", Condition.OVERWRITTEN),
        ("new", "1.0", "old", "recorded", Condition.APPLIED),
        ("new", "1.0", "third", "recorded", Condition.APPLIED),
        ("new", "", "", "recorded", Condition.APPLIED),
        ("new", "2", "old", "recorded", Condition.APPLIED),  # the next release has the same file
        ("new", "2", "third", "recorded", Condition.ASTRAY),
        ("new", "2", "", "unrecorded", Condition.ASTRAY),
        ("new", "2", "new", "recorded", Condition.OVERWRITTEN),  # it was fixed there
        ("other", "1.0", "old", "recorded", Condition.EDITED),
        ("other", "1.0", "other", "recorded", Condition.OVERWRITTEN),
        ("other", "1.0", "third", "recorded", Condition.OVERWRITTEN),  # another build of the same version
        ("other", "1.0", "third", "unrecorded", Condition.EDITED),
        ("other", "1.0", "", "recorded", Condition.EDITED),
        ("other", "", "", "recorded", Condition.EDITED),
        ("other", "2", "old", "recorded", Condition.EDITED),
        ("other", "2", "third", "unrecorded", Condition.OVERWRITTEN),
        ("other", "2", "", "recorded", Condition.OVERWRITTEN),
    ],
)
def test_the_condition_of_a_file(tmp_path, data, version, recorded, origin, expected):
    if version:
        install(tmp_path, f"De_Mo-{version}.dist-info", recorded)
    file_status = classify(str(tmp_path), receipt(origin), data and data.encode())
    back = REINSTALL if expected is Condition.ASTRAY else ""
    assert file_status == FileStatus(str(tmp_path), receipt(origin), expected, (data or "").encode(), version, reinstall=back)
    assert file_status.live is (expected in (Condition.APPLIED, Condition.EDITED))
    assert file_status.replaced is (version == "2")


@pytest.mark.parametrize(
    ("folders", "version"),
    [
        ({}, ""),
        ({"de_mo-1.0.dist-info": "7"}, "1.0"),  # the folder's is the receipt's: METADATA need not be read
        ({"DE.Mo-1.dist-info": "1.post1"}, "1.post1"),
        ({"de_mo-1.dist-info": ""}, "1"),
        ({"de_mo-1.dist-info": "", "de_mo-2.dist-info": ""}, ""),
        ({"de_mo-1.dist-info": "", "de_mo-2.egg-info": "", "x-1.dist-info": ""}, "1"),
        ({"de_mo-1.0-1.dist-info": ""}, "1.0-1"),
        ({"dem-1.dist-info": ""}, ""),
        ({"de_mo.dist-info": ""}, ""),
    ],
)
def test_the_release_that_is_installed_now(tmp_path, folders, version):
    for name, installed in folders.items():
        install(tmp_path, name, version=installed)
    assert classify(str(tmp_path), receipt(), None).installed == version


def test_metadata_without_a_version_leave_that_of_the_folder(tmp_path):
    install(tmp_path, "de_mo-2.dist-info")
    (tmp_path / "de_mo-2.dist-info/METADATA").write_text("Name: De.Mo\n")
    assert classify(str(tmp_path), receipt(), None).installed == "2"


def test_the_hash_of_whichever_distribution_records_the_file(tmp_path):
    for name, text in (("a-1.dist-info", ""), ("b-1.dist-info", "old"), ("c-1.dist-info", "")):
        install(tmp_path, name, text)
    install(tmp_path, "d-1.dist-info", "third")
    assert status.recorded_now(str(tmp_path), FILE) == {sha("old").hexdigest(), sha("third").hexdigest()}
    assert status.recorded_now(str(tmp_path), "demo/none.py") == set()


@pytest.mark.parametrize(("data", "expected"), [("other", Condition.EDITED), ("third", Condition.OVERWRITTEN), ("old", Condition.OVERWRITTEN)])
def test_a_file_that_two_distributions_list_is_compared_with_both(tmp_path, data, expected):
    install(tmp_path, "another-1.dist-info", "third")
    install(tmp_path, "de_mo-1.0.dist-info", "old")
    assert classify(str(tmp_path), receipt(), data.encode()).condition is expected


ANOTHER = "the file is that of de.mo 1.0 as we patched it, but another build of it is installed; put back what belongs there: "


@pytest.mark.parametrize(
    ("condition", "installed", "origin", "meaning"),
    [
        (Condition.OVERWRITTEN, "2", "recorded", "de.mo 2 was installed over 1.0, our change is gone; apply again"),
        (Condition.OVERWRITTEN, "1.0", "recorded", "a reinstall replaced the file, our change is gone; apply again"),
        (Condition.EDITED, "1.0", "recorded", "the file was changed after it was patched; restore takes our change out"),
        (Condition.MISSING, "", "recorded", "de.mo is not installed any more; restore forgets it"),
        (Condition.MISSING, "", "edited", "de.mo is not installed any more; restore forgets it"),
        (Condition.MISSING, "", "unrecorded", "the file is not there any more; restore forgets it"),
        (Condition.MISSING, "1.0", "recorded", "the file is not there any more; restore forgets it"),
        (Condition.ASTRAY, "2", "recorded", ANOTHER + REINSTALL),
        (Condition.APPLIED, "1.0", "edited", "the file was edited by hand before it was patched (unproven)"),
        (Condition.APPLIED, "1.0", "unrecorded", "no RECORD proves the original file (unproven)"),
    ],
)
def test_what_a_condition_means(tmp_path, condition, installed, origin, meaning):
    assert FileStatus(str(tmp_path), receipt(origin), condition, b"", installed, reinstall=REINSTALL).meaning.startswith(meaning)


@pytest.mark.parametrize(("recorded", "folder", "deleted"), [("old", True, True), ("old", False, False), ("third", True, False), ("", True, False)])
def test_a_file_is_deleted_where_its_directory_is_there_and_record_lists_it_as_it_was(tmp_path, recorded, folder, deleted):
    install(tmp_path, "de_mo-1.0.dist-info", recorded)
    if folder:
        (tmp_path / FILE).parent.mkdir(parents=True)
    missing = classify(str(tmp_path), receipt(), None)
    assert (missing.condition, missing.deleted) == (Condition.MISSING, deleted)
    assert missing.why[1] == ("restore puts it back as it was before it was patched" if deleted else "restore forgets it")


def test_what_is_in_order_means_nothing_and_a_package_without_a_distribution_has_a_name(tmp_path):
    assert FileStatus("", receipt(), Condition.APPLIED, b"", "1.0").meaning == ""
    bare = receipt()._replace(release=PatchedRelease("demo", "", ""))
    assert FileStatus("", bare, Condition.APPLIED, b"").release == "demo"
    assert FileStatus("", receipt(), Condition.APPLIED, b"").release == "de.mo 1.0"
    assert FileStatus("", bare, Condition.MISSING, b"").meaning.startswith("demo is not installed")


def test_the_bytes_of_a_file_that_may_not_be_there(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    assert [read_installed(str(tmp_path), path) for path in ("a", "b", "a/b", "c/d")] == [b"x", None, None, None]


def test_every_receipt_of_the_own_directories_and_what_is_missing_for_a_restore(tmp_path):
    sites = [tmp_path / name for name in ("one", "two", "none", "outer")]
    for site in sites:
        site.mkdir()
    for site in (sites[0], sites[1], sites[3]):
        for path in (FILE, "demo/sub/b.py"):
            where = site / ".sitepatch/receipts" / file_name(path)
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_bytes(encode_receipt(receipt(path=path)))
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text("new" if site == sites[0] else "old")
    words = tuple(map(str, sites))
    env = Environment("python", words, words, (3, 11), (words[3],))
    items = status.statuses(env)
    one, two, *_ = words
    assert [(item.site, item.receipt.path) for item in items] == [
        (one, FILE), (one, "demo/sub/b.py"), (two, FILE), (two, "demo/sub/b.py"),
    ]  # fmt: skip
    assert [item.live for item in items] == [True, True, False, False]
    problems = damaged(lost_copies(items))  # two files share them: said once; of those that are not live nothing is needed
    assert [message.split(": ")[0] for message, hint in problems if hint] == [
        f"{words[0]}/.sitepatch/pristine/{sha('old').hexdigest()}",
        f"{words[0]}/.sitepatch/patchsets/{HEX}.json",
    ]
    assert status.unfinished(env) == [] and status.recover_all(env) == ([], [])
    assert [status.has_store(word) for word in words] == [True, True, False, True]


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), (["p"], [], ["p"])), (("q", "p", "q"), (["p"], ["q"], ["p"])), (("q",), (["p"], ["q"], []))],
)
def test_the_patchsets_that_are_meant(names, expected):
    items = [FileStatus("", receipt(path=path), Condition.APPLIED, b"") for path in (FILE, "demo/b.py")]
    applied = status.applied_names(items)
    assert (applied, *status.divide_names(applied, names)) == expected


# runs that were interrupted -------------------------------------------------------------------------------------------
@pytest.fixture
def interrupted(tmp_path):
    """An environment in which a run was killed before its commit point."""
    leave_journal(tmp_path, path=FILE, new=HEX)
    return Environment("python", (str(tmp_path),), (str(tmp_path),), (3, 11))


@ROOT_ONLY
@pytest.mark.parametrize(
    ("me", "writer", "mine"), [(7, 7, True), (7, 8, False), (7, 0, False), (0, 0, True), (0, 7, False)]
)
def test_a_run_of_another_user_is_left_to_that_user(interrupted, public, me, writer, mine):
    (site,) = interrupted.stores
    give(site, writer)
    sentences, left = as_user(me, status.recover_all, interrupted)
    assert sentences == [f"{site}: an interrupted run was undone: 1 file as before it"] * mine
    assert [each[:2] for each in left] == [["interrupted", site]] * (not mine)
    for _, _, why in left:
        assert why.startswith("an interrupted run will be undone: ")
        assert f"; it is user {writer}'s: " in why


def test_a_run_that_is_recovered_or_was_by_another_process_meanwhile(interrupted, monkeypatch):
    (site,) = interrupted.stores
    ((sentence,), left) = status.recover_all(interrupted)
    assert sentence.startswith(f"{site}: an interrupted run was undone") and left == []
    os.makedirs(f"{site}/.sitepatch", exist_ok=True)
    monkeypatch.setattr(Store, "interrupted", lambda store: "an interrupted run will be undone")  # it ends between this look and the next
    assert status.recover_all(interrupted) == ([], [])


@pytest.mark.parametrize("writer", [os.geteuid(), pytest.param(1001, marks=ROOT_ONLY)])  # whoever started it
def test_a_run_that_is_under_way_is_not_waited_for(interrupted, monkeypatch, writer):
    (site,) = interrupted.stores
    give(site, writer, os.getegid())
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waits"))
    ((word, _, what),) = status.unfinished(interrupted)
    assert word == "interrupted"
    assert status.describe_unfinished(interrupted) == [f"{site}: {what}, by the next command that writes"]
    with Folder.open(site) as folder, locked(folder):
        sentences, ((word, where, why),) = status.recover_all(interrupted)
        assert status.unfinished(interrupted) == [(word, where, why)]
        assert status.describe_unfinished(interrupted) == [f"{site}: {why}"]
    assert (sentences, word, where) == ([], "under way", site) and f"process {os.getpid()}" in why


def test_a_run_that_takes_the_lock_or_ends_while_it_is_looked_at(interrupted, monkeypatch):
    (site,) = interrupted.stores
    with monkeypatch.context() as patch:
        fail(patch, fcntl, "flock", BlockingIOError())  # as if it were taken just now
        sentences, ((word, where, why),) = status.recover_all(interrupted)
    assert (sentences, word, where) == ([], "under way", site) and why.startswith(f"{site}: another sitepatch (")
    sentences = ["an interrupted run will be finished", ""]
    monkeypatch.setattr(Store, "interrupted", lambda store: sentences.pop(0))  # it ends between two looks
    assert (status.unfinished(interrupted), sentences) == ([], [])


def test_where_the_kernel_does_not_tell_who_is_at_work_a_run_counts_as_interrupted(interrupted, tmp_path, monkeypatch):
    kernel_that_tells(monkeypatch, tmp_path / "proc")
    with Folder.open(*interrupted.stores) as folder, locked(folder):
        assert [word for word, _, _ in status.unfinished(interrupted)] == ["interrupted"]


def test_a_run_that_cannot_be_recovered_says_why(interrupted, public):
    (site,) = interrupted.stores
    os.chown(f"{site}/.sitepatch/journal.json", NOBODY or -1, -1)
    os.chmod(f"{site}/.sitepatch", 0o555)
    sentences, ((word, _, why),) = as_user(NOBODY, status.recover_all, interrupted)
    assert (sentences, word) == ([], "interrupted")
    assert why.startswith("an interrupted run will be undone: ")
    assert why.endswith(f", when the store can be written: {site}/.sitepatch/lock: Permission denied")


# receipts that are gone -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("data", "is_reported"), [("new", True), ("old", False), (None, True)])
def test_a_changed_file_whose_pristine_copy_no_receipt_names_is_reported(tmp_path, data, is_reported):
    digest = sha("old").hexdigest()
    install(tmp_path, "de_mo-1.0.dist-info", "old")
    for name, text in ((f".sitepatch/pristine/{digest}", "old"), (FILE, data)):
        (tmp_path / name).parent.mkdir(parents=True)
        if text is not None:
            (tmp_path / name).write_text(text)
    env = Environment("python", (str(tmp_path),), (str(tmp_path),), (3, 11))
    copy = f"{tmp_path}/.sitepatch/pristine/{digest}"
    problem = f"{copy}: is the pristine copy of {FILE}, which is changed and has no receipt"
    hint = f"put it back, then remove that copy: cp -p {copy} {tmp_path}/{FILE}"
    assert status.unclaimed(env, [], [StoreError("bad", "do")]) == [("bad", "do"), *[(problem, hint)] * is_reported]


# bytecode -------------------------------------------------------------------------------------------------------------
def pyc(flags, recorded, length=16):
    return (b"\0\0\0\0" + flags.to_bytes(4, "little") + recorded.to_bytes(4, "little") + b"\xff" * 4)[:length]


@pytest.mark.parametrize(
    ("old_ns", "files", "expected"),
    [
        (0, {}, OLD),
        ((OLD - 2) * 10**9, {}, OLD),
        ((OLD - 2) * 10**9 + 1, {}, OLD + 1),
        (OLD * 10**9, {}, OLD + 2),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(0, OLD)}, OLD + 2),
        (0, {"__pycache__/a.cpython-311.opt-1.pyc": pyc(0, OLD), "a.pyc": pyc(0, OLD + 1)}, OLD + 3),
        (0, {"a.pyc": pyc(0, OLD + 1), "__pycache__/a.x.pyc": pyc(0, OLD)}, OLD + 3),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(1, OLD)}, OLD),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(3, OLD)}, OLD),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(2, OLD)}, OLD + 2),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(0, OLD, 15)}, OLD),
        (0, {"__pycache__/a.cpython-311.pyc": pyc(0, OLD) + b"code"}, OLD + 2),
        (0, {"__pycache__/b.cpython-311.pyc": pyc(0, OLD), "__pycache__/a.cpython-311.txt": pyc(0, OLD)}, OLD),
        (0, {"__pycache__/ab.cpython-311.pyc": pyc(0, OLD), "__pycache__/a.pyc": pyc(1, OLD)}, OLD),
    ],
)
def test_the_new_mtime_fits_no_bytecode(tmp_path, monkeypatch, old_ns, files, expected):
    Clock(monkeypatch, OLD + 0.9)
    (tmp_path / "demo/sub/__pycache__").mkdir(parents=True)
    for name, data in files.items():
        (tmp_path / "demo/sub" / name).write_bytes(data)
    with Folder.open(str(tmp_path)) as site:
        assert bytecode.fresh_mtime_ns(site, FILE, old_ns) == expected * 10**9
        assert bytecode.fresh_mtime_ns(site, "demo/sub/a.so", 0) == bytecode.fresh_mtime_ns(site, "none/a.py", 0) == OLD * 10**9


@pytest.mark.parametrize("way", ["variable", "sys", "both", "relative"])
def test_bytecode_is_removed_wherever_it_may_lie(tmp_path, monkeypatch, way):
    (tmp_path / "real/demo/sub/__pycache__").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    prefix = "caches" if way == "relative" else str(tmp_path / "caches")
    monkeypatch.setattr("sys.pycache_prefix", prefix if way in ("sys", "both") else None)
    variable = {"sys": "", "both": str(tmp_path / "more")}.get(way, prefix)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", variable)
    folders = ["real/demo/sub/__pycache__"]
    for top in ("caches", "more") if way == "both" else ("caches",):
        for site in ("real", "link"):
            folders.append(os.path.join(top, str(tmp_path / site).lstrip("/"), "demo/sub"))
    gone, stays = [], []
    for folder in folders:
        gone += [f"{folder}/a.cpython-311.pyc", f"{folder}/a.cpython-311.opt-2.pyc"]
        stays.append(f"{folder}/ab.cpython-311.pyc")
    for name in [*gone, *stays, "real/demo/sub/a.pyc", "real/demo/sub/ab.pyc"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    with Folder.open("link") as site:
        bytecode.purge(site, FILE)
        bytecode.purge(site, "a/none.py")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pyc")}
    assert left == {*stays, "real/demo/sub/ab.pyc"}
