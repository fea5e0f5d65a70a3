"""Output goes through whatever the user names, and that never becomes something else."""

import os
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from patcher.system.output import open_output, write_output
from tests.command import DDP, Site, done


def test_a_file_is_replaced_whole_and_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path):
    old = tmp_path / "old"
    old.write_bytes(b"old")
    old.chmod(0o640)
    with open(old, "rb") as reader:
        write_output(old, b"new")
        assert reader.read() == b"old"  # a reader gets the old one to its end
    write_output(tmp_path / "some" / "folder" / "new", b"text")
    assert (old.read_bytes(), stat.S_IMODE(old.stat().st_mode)) == (b"new", 0o640)
    assert stat.S_IMODE((tmp_path / "some/folder/new").stat().st_mode) == 0o644
    assert sorted(os.listdir(tmp_path)) == ["old", "some"] and os.listdir(tmp_path / "some/folder") == ["new"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "new"):
        with pytest.raises(KeyboardInterrupt), open_output(tmp_path / name) as file:
            file.write(b"half")
            raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["old"] and (tmp_path / "old").read_bytes() == b"old"


def test_output_to_a_link_is_written_to_its_target(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    for name, target in (("link", "real"), ("dangling", "made")):
        (tmp_path / name).symlink_to(target)
        write_output(tmp_path / name, b"new")
        assert (tmp_path / name).is_symlink() and (tmp_path / target).read_bytes() == b"new"


def read_fifo(path):
    os.mkfifo(path)
    texts = []
    reader = threading.Thread(target=lambda: texts.append(path.read_bytes()))
    reader.start()
    return reader, texts


def test_a_fifo_stays_a_fifo(tmp_path):
    reader, texts = read_fifo(tmp_path / "fifo")
    write_output(tmp_path / "fifo", b"text")
    reader.join(10)
    assert texts == [b"text"] and stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


@pytest.mark.parametrize("folder", ["/proc/self/fd", "/dev/fd"])
def test_output_to_a_file_descriptor_is_written_to_the_open_file(tmp_path, folder):
    with open(tmp_path / "out", "w+b") as file:
        before = os.fstat(file.fileno()).st_ino
        write_output(f"{folder}/{file.fileno()}", b"text")
        assert (tmp_path / "out").stat().st_ino == before and (tmp_path / "out").read_bytes() == b"text"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is none")
def test_shared_memory_is_a_directory_like_any_other():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        new = Path(folder) / "some" / "new"
        write_output(new, b"old")
        with pytest.raises(KeyboardInterrupt), open_output(new) as file:
            file.write(b"half")
            raise KeyboardInterrupt
        assert new.read_bytes() == b"old" and os.listdir(new.parent) == ["new"]


@pytest.mark.parametrize("words", [("export", DDP, "--output"), ("diff", DDP, "--html")])
def test_every_command_writes_through_a_fifo_and_a_device(tmp_path, words):
    site = Site(tmp_path, "mmengine-0.10.7")
    reader, texts = read_fifo(tmp_path / "fifo")
    site(*words, tmp_path / "fifo")
    reader.join(10)
    assert len(texts[0]) > 100 and stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except PermissionError:  # of root alone, on a filesystem that has devices
        return
    assert site(*words, device).code in (0, 1)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["fifo", "null", "site"]


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    ended = done(site("export", DDP, "--output", tmp_path), 1)
    assert "Is a directory" in ended.err and str(tmp_path) in ended.err
