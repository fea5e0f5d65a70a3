"""Real filesystems that are full, read-only or lose power, mounted for the test where this machine permits it."""

import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from patcher.model import Change, NewBytes
from tests.faults.calls import NAMES, in_child, watch
from tests.faults.tiny import NAME, Tiny, install
from tests.store import helpers as unit
from tests.stores import commit, recover

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN; 2: without writing the log out, as in a power cut
NO_LOG_FLUSH = struct.pack("I", 2)
KINDS = {  # the smallest of each kind in megabytes, and what makes one
    "ext4": (4, "mkfs.ext4", "-q", "-F", "-m", "0"),
    "xfs": (300, "mkfs.xfs", "-q", "-f"),
    "btrfs": (114, "mkfs.btrfs", "-q", "-f"),
}
COPIED = ("btrfs",)


@contextmanager
def mounted(where, *words):
    """Mount something on the directory `where`; skips with the reason where that is not permitted."""
    where.mkdir(exist_ok=True)
    if sys.platform != "linux":
        pytest.skip("mount(8) of Linux is needed")
    ended = subprocess.run(["mount", *map(str, words), str(where)], capture_output=True, check=False)
    if ended.returncode:
        pytest.skip(f"this machine does not permit `mount {' '.join(map(str, words))}`: {ended.stderr.decode().strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", str(where)], check=True)
        while "loop" in words and subprocess.run(["losetup", "-j", str(words[-1])], stdout=subprocess.PIPE, check=True).stdout:
            time.sleep(0.01)  # a process that inherited all mounts, such as one that verifies, still has this one


def fill(folder):
    """Use up every byte of a filesystem."""
    fd = os.open(folder / "filler", os.O_WRONLY | os.O_CREAT)
    size = 1 << 16
    try:
        while size:
            try:
                os.write(fd, bytes(size))
            except OSError:
                size //= 2
    finally:
        os.close(fd)
    with pytest.raises(OSError):
        (folder / "more").write_bytes(bytes(1 << 13))
    (folder / "more").unlink(missing_ok=True)


def moved(tiny, disk):
    """Move the package to that filesystem."""
    shutil.rmtree(tiny.site)
    tiny.site = disk / "site"
    install(tiny.site)
    return tiny


@pytest.fixture(params=["tmpfs", *KINDS])
def small_disk(request, tmp_path):
    small = 2 if request.param == "ext4" else 0
    if request.param == "tmpfs":
        words = ["-t", "tmpfs", "-o", "size=2m", "tmpfs"]
    else:
        words = loop(tmp_path / "image", request.param, small)
    with mounted(tmp_path / "disk", *words) as disk:
        yield disk


def loop(image, kind, megabytes=0):
    """Make a filesystem in a file, the smallest there is of its kind or of that size; returns what to mount."""
    smallest, *words = KINDS[kind]
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not here")
    with image.open("wb") as file:
        file.truncate((megabytes or smallest) << 20)
    subprocess.run([*words, image], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ["-t", kind, "-o", "loop", image]


def test_restore_works_on_a_disk_that_is_full_to_the_last_byte(small_disk, tmp_path):
    tiny = moved(Tiny(tmp_path), small_disk)
    before = tiny.tree()
    assert tiny.run("apply", NAME).code == 0
    fill(small_disk)
    ended = tiny.run("restore")
    assert ended.code == 0, ended.text
    assert tiny.tree() == before


def test_restore_of_three_hundred_files_works_on_a_full_disk(tmp_path):
    names = [f"pkg/a_module_with_a_name_of_some_length_{number:03}.py" for number in range(300)]
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=12m", "tmpfs") as disk:
        (disk / "pkg").mkdir()
        changes = []
        for name in names:
            (disk / name).write_bytes(name.encode())
            new = name.encode() + b"\n# new"
            changes.append(Change(name, unit.sha(name.encode()), NewBytes(new), unit.receipt(name, 1, "", name.encode(), new)))
        commit(disk, changes, {unit.DIGESTS[1]: unit.TEXTS[1]})
        fill(disk)
        commit(disk, restoring(changes), {})
        assert [(disk / name).read_bytes() for name in names] == [name.encode() for name in names]
        assert not (disk / ".sitepatch").exists()


def test_restore_of_a_broken_link_and_of_twins_works_on_a_full_disk(tmp_path):
    """The link's text is moved into its place; the copy that twins share is written twice, in the room set aside."""
    link, twin = b"# link\n" * 200_000, b"# twin\n" * 20_000
    texts = {"link.py": link, "one.py": twin, "two.py": twin}
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=9m", "tmpfs") as disk:
        (tmp_path / "cache.py").write_bytes(link)
        (disk / "link.py").symlink_to(tmp_path / "cache.py")
        changes = []
        for name, text in texts.items():
            target = str(tmp_path / "cache.py") if name == "link.py" else ""
            if not target:
                (disk / name).write_bytes(text)
            new = text + b"# new\n"
            changes.append(Change(name, unit.sha(text), NewBytes(new), unit.receipt(name, 1, target, text, new)))
        commit(disk, changes, {unit.DIGESTS[1]: unit.TEXTS[1]})
        (tmp_path / "cache.py").unlink()
        fill(disk)
        commit(disk, restoring(changes), {})
        assert {name: (disk / name).read_bytes() for name in texts} == texts
        assert not (disk / "link.py").is_symlink()
        assert not (disk / ".sitepatch").exists()


def restoring(changes):
    """The changes that restore what these changed."""
    return [Change(change.path, change.receipt.current, None, None) for change in changes]


def test_apply_on_a_full_disk_is_refused_before_anything_changes(small_disk, tmp_path, request):
    """btrfs reports room that it does not have: there the run fails in the middle, and is undone."""
    tiny = moved(Tiny(tmp_path), small_disk)
    before = tiny.tree()
    fill(small_disk)
    ended = tiny.run("apply", NAME)
    assert ended.code == 1
    assert "free some space" in ended.text
    assert tiny.tree() == before
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size - 300_000)  # room, but not for all
    ended = tiny.run("apply", NAME)
    assert ended.code == 1
    if request.node.callspec.params["small_disk"] == "btrfs":
        assert "was undone: 6 files as before it" in ended.text
    else:
        assert "bytes are needed and" in ended.text
        assert "nothing was changed" in ended.text
    assert tiny.tree() == before
    (small_disk / "filler").unlink()
    assert tiny.run("apply", NAME).code == 0


def test_an_exhausted_quota_stops_apply_and_not_restore(tmp_path):
    """A real one, of a btrfs subvolume on a disk that has room."""
    if shutil.which("btrfs") is None:
        pytest.skip("btrfs-progs are not here")
    with mounted(tmp_path / "disk", *loop(tmp_path / "image", "btrfs")) as disk:
        mine = disk / "mine"
        for words in (["quota", "enable", disk], ["subvolume", "create", mine], ["qgroup", "limit", "2M", mine]):
            subprocess.run(["btrfs", *words], check=True, stdout=subprocess.DEVNULL)
        tiny = moved(Tiny(tmp_path), mine)
        before = tiny.tree()
        fill(mine)
        ended = tiny.run("apply", NAME)
        assert ended.code == 1
        assert f"{tiny.site}: [Errno 122] Disk quota exceeded" in ended.text
        assert "nothing was changed; the disk quota of this account is used up; free some space" in ended.text
        assert tiny.tree() == before
        (mine / "filler").unlink()
        os.sync()
        assert tiny.run("apply", NAME).code == 0
        fill(mine)
        assert tiny.run("restore").code == 0
        assert tiny.tree() == before


def test_a_read_only_filesystem_is_named_with_every_path_before_anything_changes(tmp_path):
    tiny = Tiny(tmp_path)
    before = tiny.tree()
    with mounted(tmp_path / "disk", "--bind", tiny.site) as disk:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], check=True)
        tiny.site = disk
        ended = tiny.run("apply", NAME)
        assert ended.code == 1
        for folder in ("tiny", "tiny/sub"):
            assert f"{disk}/{folder}: the filesystem is mounted read-only; mount it writable" in ended.text, ended.text
        assert "nothing was changed" in ended.text
        assert tiny.run("status").code == 0
        assert tiny.tree() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_power_cut_at_any_call_loses_nothing_on_a_real_disk(tmp_path, counted, kind):
    """Only what the filesystem sent to its disk before the call is left, and it is mounted again."""
    image = tmp_path / "image"
    words = loop(image, kind)
    outcomes, points = set(), 0
    for name, first, action in unit.SCENARIOS:
        start = prepared(tmp_path / name, first)
        with mounted(tmp_path / "disk", *words) as disk:
            old = lay_out(start, disk)
            count = in_child(lambda: action(disk / "site") and 0).count  # noqa: B023
            new = unit.tree(disk / "site")
        for point in every(count):
            with mounted(tmp_path / "disk", *words) as disk:
                assert lay_out(start, disk) == old
                assert in_child(lambda: cut(disk, point, action, image)).code == 9  # noqa: B023
            if kind in COPIED:
                os.replace(tmp_path / "cut", image)
            with mounted(tmp_path / "disk", *words) as disk:
                sentence = recover(disk / "site")
                now = unit.tree(disk / "site")
                assert now in (old, new), (name, point, sentence)
                outcomes.add(now == new)
            points += 1
    counted(f"power cuts on {kind}", points)
    assert outcomes == {True, False}


def every(count):
    """The points to try of so many."""
    points = range(1, count + 1)
    return points if ALL else sorted(random.Random(1).sample(points, 6))


def prepared(folder, first):
    """The directories that a scenario starts with."""
    folder.mkdir()
    site = unit.make_site(folder / "site")
    if first:
        first(site)
    return folder


def lay_out(start, disk):
    """Give the filesystem the files of a start again, safe on the disk; returns their tree."""
    for name in ("site", "cache"):
        shutil.rmtree(disk / name, ignore_errors=True)
        shutil.copytree(start / name, disk / name, symlinks=True)
    os.sync()
    return unit.tree(disk / "site")


def cut(disk, point, action, image):
    """Let the power fail before the `point`-th call; syncs are real.

    btrfs cannot be shut down: what its disk holds at that moment is copied and mounted instead.
    """
    calls = [0]

    def hook(name, real, args, kwargs):
        calls[0] += 1
        if calls[0] == point:
            try:
                fcntl.ioctl(os.open(disk, os.O_RDONLY), SHUTDOWN, NO_LOG_FLUSH)
            except OSError:
                subprocess.run(["cp", "--sparse=always", str(image), str(image.parent / "cut")], check=True)
            os._exit(9)
        call = REAL_FSYNC if name == "fsync" else real
        return call(*args, **kwargs)

    for name in NAMES:
        if hasattr(os, name):
            setattr(os, name, REAL[name])
    watch(hook)
    action(disk / "site")


REAL = {name: getattr(os, name) for name in NAMES if hasattr(os, name)}
REAL_FSYNC = os.fsync
