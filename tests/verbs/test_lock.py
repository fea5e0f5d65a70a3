"""`lock` writes down what `sync` makes, and `--locked` does nothing where anything differs: the real command, and the file."""

import errno
import hashlib
import json
import os
import shutil
import time

import pytest

from patcher.display.console import exit_code
from patcher.errors import SitepatchError
from patcher.model import LockedFile
from patcher.place import Place
from patcher.project import lockfile
from patcher.system.decode import Reader
from patcher.verbs.demo import lay_out
from patcher.verbs.lock import lock as write_lock
from tests.command import (
    DDP,
    DDP_VERSION,
    DYNAMO,
    GUARD,
    RUNNER,
    Site,
    done,
    killed_once_committed,
    sitepatch,
)
from tests.records import rerecord
from tests.verbs.test_sync import UTILS, asks, standing

pytestmark = pytest.mark.once
STAND_INS = ("mmengine-0.10.7", "torch-2.7.1-musa")

ZERO, ONE = "0" * 64, "1" * 64
GOOD = f"""\
format = 1
[[patchset]]
name = "a"
version = "1.0"
sha256 = "{ZERO}"
options = {{ n = 1 }}
[[target]]
package = "pkg"
distribution = "pkg"
version = "2"
[[target.file]]
path = "pkg/m.py"
before = "{ZERO}"
after = "{ONE}"
"""


@pytest.fixture
def lock(site):
    """The lock file, and the project that asks for two patchsets."""
    asks(site, f"{DDP} params=7", GUARD)
    done(site("lock"))
    return site.cwd / "sitepatch.lock"


def refused(site, *words, code=1):
    """The lines of the error of `sync --locked`, which did nothing."""
    before = site.tree()
    told = done(site("sync", "--locked", *words), code)
    assert site.tree() == before
    assert told.err.startswith("error: ")
    return [line.split("sitepatch.lock: ", 1)[-1] for line in told.err.splitlines() if not line.startswith("hint: ")]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# what it holds --------------------------------------------------------------------------------------------------------
def test_the_lock_lists_each_patchset_and_each_file_before_and_after_and_changes_nothing_else(site):
    asks(site, f"{DDP} params=7", GUARD)
    before = site.tree()
    told = done(site("lock"))
    assert told.out == "locked  2 patchsets, 2 releases, 4 files in sitepatch.lock\n"
    assert site.tree() == before
    made = lockfile.load_lock(site.cwd / "sitepatch.lock")
    listed = json.loads(done(sitepatch("list", "--json", cwd=site.cwd)).out)["patchsets"]
    known = {one["name"]: (one["version"], one["digest"]) for one in listed}
    assert [tuple(one) for one in made.patchsets] == [(DDP, *known[DDP], {"params": 7}, False), (GUARD, *known[GUARD], {}, False)]
    pristine = {held.path: sha256(site.path / held.path) for held in made.files}
    assert {held.path: held.before for held in made.files} == pristine
    assert {held[:3] for held in made.files} == {("mmengine", "mmengine", "0.10.7"), ("torch", "torch", "2.7.1")}
    done(site("sync", "--locked"))
    assert {held.path: held.after for held in made.files} == {held.path: sha256(site.path / held.path) for held in made.files}


def test_the_same_lock_is_written_whatever_is_applied_and_in_whatever_order_it_is_asked_for(site, lock):
    text = lock.read_bytes()
    info = lock.stat()
    assert done(site("lock")).out == "sitepatch.lock: nothing to do, it is as it would be written\n"
    assert lock.stat() == info
    done(site("sync"))
    asks(site, GUARD, f"{DDP} params=7")
    lock.unlink()
    done(site("lock"))
    assert lock.read_bytes() == text
    assert lockfile.encode_lock(lockfile.load_lock(lock)).encode() == text


def test_what_does_not_fit_is_reported_and_nothing_is_locked(site):
    asks(site, DDP, GUARD)
    site.file().write_text("def wrap_model():\n    pass\n")
    told = done(site("lock"), 1)
    assert f"conflict  {DDP}" in told.out
    assert "stopped: sitepatch.lock was not written" in told.err
    assert not (site.cwd / "sitepatch.lock").exists()


def test_options_of_every_type_come_back_as_they_were(tmp_path):
    options = {"a": 1, "b": 1.0, "c": True, "d": 'x"\\\n\t\x7f é\u2028'}
    made = lockfile.Lock((lockfile.Pinned("a", "1", ZERO, options),), ((LockedFile("p", "", "", "p/ü.py", ZERO, ONE),),))
    (tmp_path / "l").write_bytes(lockfile.encode_lock(made).encode())
    back = lockfile.load_lock(tmp_path / "l")
    assert back == made
    assert [type(value) for value in back.patchsets[0].options.values()] == [int, float, bool, str]
    one, other = (lockfile.Lock((lockfile.Pinned("a", "1", ZERO, {"n": n}),), ()) for n in (1, True))
    assert lockfile.lock_differences(one, other) == ["a: found n = true, the lock has 1"]


def test_what_is_optional_is_so_in_the_lock_and_makes_no_other_result(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    asks(site, DDP, f"{GUARD} optional")
    done(site("lock"))
    path = site.cwd / "sitepatch.lock"
    assert {one.name: one.optional for one in lockfile.load_lock(path).patchsets} == {DDP: False, GUARD: True}
    done(site("lock", "--check"))
    other = path.read_text().replace('"mmengine"', '"other"')
    path.write_text(path.read_text() + other[other.index("[[target]]") :])
    asks(site, f"{DDP} optional", f"{GUARD} optional")
    told = done(site("lock", "--check"), 1)
    assert f"{DDP} is optional, and in the lock it is not" in told.out + told.err
    assert f"{DDP} is optional, and in the lock it is not" in done(site("sync", "--locked"), 1).err
    done(site("lock"))
    made = lockfile.load_lock(path)
    assert [one.optional for one in made.patchsets] == [True, True]
    assert len(made.targets) == 2, "the release of another environment stays"
    asks(site, DDP, f"{GUARD} optional")
    assert f"{DDP} is not optional, and in the lock it is" in done(site("lock", "--check"), 1).out
    assert f"{DDP} is not optional, and in the lock it is" in done(site("sync", "--locked"), 1).err


def test_an_old_lock_stays_until_the_new_one_is_whole(site, lock, monkeypatch):
    text, names = lock.read_bytes(), sorted(os.listdir(site.cwd))
    asks(site, DDP)
    monkeypatch.chdir(site.cwd)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            write_lock(place=Place(target=str(site.path)))
    assert lock.read_bytes() == text and sorted(os.listdir(site.cwd)) == names
    assert write_lock(place=Place(target=str(site.path))).written and lock.read_bytes() != text


def test_a_lock_that_is_a_stream_stays_one(site):
    asks(site, DDP)
    os.mkfifo(site.cwd / "stream")
    fd = os.open(site.cwd / "stream", os.O_RDWR | os.O_NONBLOCK)  # a writer need not wait for a reader
    try:
        assert "stream: " in done(site("lock", "--lock", "stream"), 1).err
    finally:
        os.close(fd)
    assert (site.cwd / "stream").is_fifo()


def test_a_lock_that_is_a_link_stays_one(site, tmp_path):
    asks(site, DDP)
    (tmp_path / "real").mkdir()
    (site.cwd / "sitepatch.lock").symlink_to("real/lock")
    done(site("lock"))
    assert (site.cwd / "sitepatch.lock").is_symlink()
    assert (tmp_path / "real" / "lock").read_text().startswith("# Made by")


# several environments -------------------------------------------------------------------------------------------------
def test_each_environment_adds_its_release_as_long_as_the_patchsets_are_the_same(tmp_path):
    new, old = Site(tmp_path, "mmengine-0.10.7"), Site(tmp_path / "old", "mmengine-0.7.4")
    old.cwd = new.cwd
    asks(new, DDP)
    done(new("lock"))
    assert refused(old) == ["mmengine 0.7.4 is installed, the lock has mmengine 0.10.7"]
    told = done(old("lock"))
    assert "kept: mmengine 0.10.7, locked in another environment" in told.err
    assert "1 patchset, 2 releases" in told.out
    for site in (new, old):
        done(site("lock", "--check"))
        assert "nothing to do" in done(site("lock")).out
        done(site("sync", "--locked"))
    asks(new, f"{DDP} params=9")
    assert "dropped: mmengine 0.7.4, locked with other patchsets" in done(new("lock")).err
    assert "1 patchset, 1 release" in done(old("lock", "--lock", "other.lock")).out


# --locked -------------------------------------------------------------------------------------------------------------
def test_what_is_asked_for_and_is_not_as_locked_is_reported_all_at_once_and_nothing_is_done(site, lock):
    asks(site, f"{DDP} params=8", DYNAMO)
    assert refused(site) == [
        f"{DDP}: found params = 8, the lock has 7",
        f"{DYNAMO} is asked for, and not in the lock", f"{GUARD} is in the lock, and not asked for",
        "torch 2.7.1: torch/_dynamo/config.py is changed by a patchset, and not in the lock",
    ]  # fmt: skip
    checked = done(site("lock", "--check"), 1)
    assert f"sitepatch.lock: {DYNAMO} is asked for, and not in the lock\n" in checked.out
    done(site("sync"))
    assert standing(site).keys() == {DDP, DYNAMO}


def test_a_patchset_that_is_another_one_than_locked_is_refused(site, lock):
    folder = site.source(DDP)
    manifest = folder / "patchset.toml"
    text = manifest.read_text()
    digest = lockfile.load_lock(lock).patchsets[0].sha256
    done(site("sync", "--locked"))  # the same texts, wherever they lie
    manifest.write_text(text + "# changed\n")
    (line,) = refused(site)
    assert line.startswith(f"{DDP} {DDP_VERSION}: found other files (sha256 ")
    assert line.endswith(f"), the lock has {digest}")
    manifest.write_text(text.replace(f'version = "{DDP_VERSION}"', 'version = "99.1"'))
    assert refused(site) == [f"{DDP}: found version 99.1, the lock has {DDP_VERSION}"]


def test_another_release_than_locked_is_refused_and_the_lock_says_which_it_has(site, lock):
    shutil.rmtree(site.path / "mmengine")
    shutil.rmtree(site.path / "mmengine-0.10.7.dist-info")
    lay_out("mmengine-0.7.4", site.path)
    assert refused(site) == ["mmengine 0.7.4 is installed, the lock has mmengine 0.10.7"]
    asks(site, f"{DDP} params=7")
    done(site("lock", "--lock", "one.lock"))
    asks(site, f"{DDP} params=7", GUARD)
    assert "torch 2.7.1 is installed, the lock has no release of torch\n" in done(site("sync", "--locked", "--lock", "one.lock"), 1).err


def test_another_build_of_the_same_release_is_refused(site, lock):
    path = site.file(UTILS)
    was = sha256(path)
    path.write_bytes(path.read_bytes() + b"# of a vendor\n")
    rerecord(site.path, UTILS, path.read_bytes())
    assert refused(site) == [f"mmengine 0.10.7: {UTILS}: found sha256 {sha256(path)} before patching, the lock has {was}"]


def test_builds_of_one_release_stand_side_by_side_and_each_is_held_to_its_own(tmp_path):
    stock, vendor = Site(tmp_path, "mmengine-0.10.7"), Site(tmp_path / "vendor", "mmengine-0.10.7")
    vendor.cwd = stock.cwd
    path = vendor.file(UTILS)
    path.write_bytes(b"# of a vendor\n" + path.read_bytes())
    rerecord(vendor.path, UTILS, path.read_bytes())
    asks(stock, DDP)
    done(stock("lock"))
    first = (stock.cwd / "sitepatch.lock").read_text()
    told = done(vendor("lock"))
    assert "kept: another build of mmengine 0.10.7, locked in another environment" in told.err
    assert "1 patchset, 1 release, 6 files" in told.out
    for site in (stock, vendor):
        done(site("lock", "--check"))
        assert "nothing to do" in done(site("lock")).out
    other = Site(tmp_path / "other", "mmengine-0.10.7")
    other.cwd = stock.cwd
    for name in (UTILS, RUNNER):  # one file of each build, or nearly so: that is neither of them
        source = vendor.file(name) if name == UTILS else stock.file(name)
        other.file(name).write_bytes(source.read_bytes() + b"# of another\n" * (name == RUNNER))
        rerecord(other.path, name, other.file(name).read_bytes())
    (line,) = refused(other)
    assert line.startswith(f"mmengine 0.10.7: {RUNNER}: found sha256 ")
    for site in (stock, vendor):
        done(site("sync", "--locked", "--verify", "none"))
    (stock.cwd / "sitepatch.lock").write_text(first)
    assert [line for line in refused(vendor) if "before patching" in line] == refused(vendor)
    done(stock("sync", "--locked"))


@pytest.mark.parametrize("options", ["params=7", "params=8"])
def test_an_interrupted_run_is_recovered_before_the_environment_is_held_against_the_lock(site, lock, options):
    killed_once_committed(site, "sync")
    asks(site, f"{DDP} {options}", GUARD)
    told = done(site("sync", "--locked"), options == "params=8")
    assert "an interrupted run was finished: 4 files" in told.err
    assert ("found params = 8" in told.err) is (options == "params=8")
    assert not (site.path / ".sitepatch/journal.json").exists()


def test_a_file_that_only_the_lock_has_is_reported(site, lock):
    one = f'[[target.file]]\npath = "mmengine/x.py"\nbefore = "{ZERO}"\nafter = "{ONE}"\n'
    lock.write_text(lock.read_text().replace('version = "0.10.7"\n', f'version = "0.10.7"\n\n{one}'))
    assert refused(site) == ["mmengine 0.10.7: mmengine/x.py is in the lock, and no patchset is for it"]


def test_a_result_that_is_not_the_locked_one_is_refused(site, lock):
    made = next(held for held in lockfile.load_lock(lock).files if held.path == RUNNER)
    lock.write_text(lock.read_text().replace(made.after, ZERO))
    assert refused(site) == [f"mmengine 0.10.7: {RUNNER} would become sha256 {made.after}, the lock has {ZERO}"]


def test_what_does_not_fit_is_reported_beside_what_differs(site, lock):
    site.file("torch/multiprocessing/reductions.py").write_text("x = 1\n")
    asks(site, f"{DDP} params=8", GUARD)
    before = site.tree()
    told = done(site("sync", "--locked"), 1)
    assert site.tree() == before
    assert f"conflict  {GUARD}" in told.out
    assert told.err.splitlines()[0] == f"error: sitepatch.lock: {DDP}: found params = 8, the lock has 7"


def test_a_file_that_cannot_be_patched_is_no_difference_from_the_lock(site, lock):
    site.file(UTILS).write_text("x = 1\n")
    told = done(site("sync", "--locked"), 1)
    assert "conflict" in told.out and "stopped: nothing was written" in told.err
    assert "in the lock, and no patchset" not in told.err


def test_without_a_lock_locked_says_how_to_make_one(site):
    asks(site, DDP)
    told = done(site("sync", "--locked"), 1)
    assert "sitepatch.lock: found no such file, expected a lock\nhint: write it with: sitepatch lock\n" in told.err
    assert "found no such file" in done(site("lock", "--check"), 1).err
    assert "--lock: found no --locked" in done(site("sync", "--lock", "x"), 2).err


# damaged --------------------------------------------------------------------------------------------------------------
BAD = {
    "another format": ("format = 1", "format = 2", ["format: found 2, expected 1"]),
    "no format": ("format = 1", "", ["format: found nothing, expected 1"]),
    "a format that is true": ("format = 1", "format = true", ["format: found true, expected 1"]),
    "no sha256": (f'sha256 = "{ZERO}"', 'sha256 = "abc"', ['patchset[0].sha256: found "abc", expected a sha256 in lower-case hex']),
    "upper case": (f'after = "{ONE}"', f'after = "{"A" * 64}"', [f'target[0].file[0].after: found "{"A" * 29}…{"A" * 29}", expected a sha256 in lower-case hex']),
    "a type": ('version = "2"', "version = 2", ["target[0].version: found 2, expected a string"]),
    "a path that leaves": ('path = "pkg/m.py"', 'path = "../m.py"', ['target[0].file[0].path: found "../m.py", expected a path below a site directory (the path is not a plain path below the site directory)']),
    "an unknown key": ('name = "a"', 'name = "a"\nnam = 1', ["patchset[0].nam: found an unknown key, expected one of name, version, sha256, options, optional; did you mean \"name\"?"]),
    "a missing key": ('version = "1.0"\n', "", ["patchset[0].version: found nothing, expected a string"]),
    "an option that is a list": ("n = 1", "n = [1]", ["patchset[0].options.n: found a list, expected a number, a string, true or false"]),
    "a table that is none": ("[[patchset]]", "[patchset]", ["patchset: found a table, expected a list of tables, written [[patchset]]"]),
    "several": (f'before = "{ZERO}"\nafter = "{ONE}"', "before = 1\nx = 2", [
        "target[0].file[0].x: found an unknown key, expected one of path, before, after", "target[0].file[0].after: found nothing, expected a sha256 in lower-case hex",
        "target[0].file[0].before: found 1, expected a sha256 in lower-case hex",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_lock_that_was_edited_is_refused_with_all_that_is_wrong(tmp_path, name):
    old, new, expected = BAD[name]
    path = tmp_path / "sitepatch.lock"
    path.write_text(GOOD)
    assert lockfile.load_lock(path).files == (LockedFile("pkg", "pkg", "2", "pkg/m.py", ZERO, ONE),)
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(SitepatchError) as caught:
        lockfile.load_lock(path)
    assert caught.value.message.splitlines() == [f"{path}: {line}" for line in expected]
    assert exit_code(caught.value) == 2
    newer = name == "another format"
    assert caught.value.hint == ("use the sitepatch that wrote it, or a newer one" if newer else lockfile._ANEW)


def test_what_is_twice_in_a_lock_is_refused(tmp_path):
    path = tmp_path / "sitepatch.lock"
    path.write_text(GOOD + GOOD.partition("format = 1\n")[2] + GOOD[GOOD.index("[[target.file]]") :])
    with pytest.raises(SitepatchError) as caught:
        lockfile.load_lock(path)
    assert caught.value.message.splitlines() == [
        f'{path}: target[1].file[1]: found "pkg/m.py" a second time, expected every one once',
        f'{path}: patchset[1]: found "a" a second time, expected every one once',
        f'{path}: target[1]: found "pkg pkg 2" a second time, expected every one once',
    ]


def test_a_lock_of_many_files_is_read_in_proportion_to_them(tmp_path):
    names = [f"pkg/m{number}.py" for number in range(60_000)]
    reader = Reader(tmp_path)
    start = time.process_time()
    lockfile._once(reader, "target[0].file", [*names, *names[:3]])
    assert time.process_time() - start < 1
    assert [each.message.partition("found ")[0] for each in reader.problems] == [f"{tmp_path}: target[0].file[{60_000 + at}]: " for at in range(3)]


def test_a_damaged_lock_is_one_error_for_every_command_and_lock_does_not_write_over_a_newer_one(site, lock):
    text = lock.read_text()
    for data in (text.replace("format = 1", "format = 2").encode(), b"\xff\n", b"format = \n"):
        lock.write_bytes(data)
        for words in (("lock",), ("lock", "--check"), ("sync", "--locked")):
            told = done(site(*words), 2)
            assert told.err.startswith("error: sitepatch.lock:"), told
        assert lock.read_bytes() == data
    lock.write_text(text.replace("format = 1", "format = 2"))
    assert "format: found 2, expected 1\nhint: use the sitepatch that wrote it" in done(site("lock"), 2).err
