"""Files that somebody else may have put there are read without waiting, without harm, and up to a limit."""

import os
import stat

import pytest

from patcher.errors import SitepatchError
from patcher.system.reading import read_file
from tests.failures import before
from tests.users import ROOT_ONLY, as_user, open_descriptors, theirs

KINDS = [("a FIFO", os.mkfifo), ("a directory", os.mkdir), ("a socket", lambda path: os.mknod(path, stat.S_IFSOCK | 0o600))]


@pytest.mark.parametrize(("what", "make"), KINDS, ids=[what for what, _ in KINDS])
def test_only_regular_files_are_read_and_nothing_waits(tmp_path, what, make, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("x")
    with pytest.raises(SitepatchError) as caught:
        read_file("x")
    assert caught.value.message == f"x: found {what}, expected a regular file"


def test_a_device_is_not_even_opened(monkeypatch):
    monkeypatch.setattr(os, "open", lambda *args, **more: pytest.fail("opened"))
    with pytest.raises(SitepatchError, match="/dev/null: found a device, expected a regular file"):
        read_file("/dev/null")


def test_what_takes_the_place_of_a_file_before_it_is_opened_is_not_read_and_nothing_waits(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"")

    def another_process(name, flags, *_, **__):
        path.unlink()
        os.mkfifo(str(path))
        assert flags & os.O_NONBLOCK

    before(monkeypatch, os, "open", another_process)
    with pytest.raises(SitepatchError, match="found a FIFO, expected a regular file"):
        read_file(path)


def test_a_limit_holds_for_what_is_read_not_for_what_the_size_says(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    with pytest.raises(SitepatchError, match="file: found 5 bytes or more, expected at most 4"):
        read_file(path, 4)
    with path.open("wb") as file:
        file.truncate(3 << 30)  # sparse
    with pytest.raises(SitepatchError, match="found 3,221,225,472 bytes or more, expected at most 268,435,456"):
        read_file(path)
    with pytest.raises(SitepatchError, match="found 11 bytes or more, expected at most 10"):
        read_file("/proc/self/environ", 10)  # its size is said to be 0


def test_what_open_refuses_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")
    (tmp_path / "link").symlink_to("none")
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "link")


@ROOT_ONLY
@pytest.mark.parametrize(
    ("owner", "maker", "mode", "reader", "good"),
    [
        (0, 1001, 0o600, 0, False),  # they would have root show them what they may not read
        (1002, 1001, 0o640, 0, False),
        (0, 1001, 0o644, 0, True),  # everybody may read it
        (1001, 1001, 0o600, 0, True),
        (1002, 0, 0o600, 0, True),
        (1002, 1002, 0o600, 1002, True),
        (1002, 0, 0o600, 1002, True),
        (1002, 1001, 0o600, 1002, False),
    ],
)
def test_a_link_of_a_third_user_to_a_private_file_is_not_followed(tmp_path, owner, maker, mode, reader, good):
    folder = theirs(tmp_path, 0)
    (folder / "secret").write_bytes(b"it")
    (folder / "secret").chmod(mode)
    os.chown(folder / "secret", owner, owner)
    (folder / "link").symlink_to("secret")
    os.lchown(folder / "link", maker, maker)

    def read():
        try:
            return read_file(folder / "link").decode()
        except SitepatchError as error:
            return error.message

    expected = "it" if good else f"{folder}/link: found a link, made by user {maker}, to a private file of user {owner}"
    before = open_descriptors()
    answer = as_user(reader, read) if reader else read()
    assert answer == expected
    assert open_descriptors() <= before


def test_no_descriptor_is_left_open(tmp_path):
    os.mkfifo(str(tmp_path / "x"))
    before = open_descriptors()
    for path in (tmp_path / "x", tmp_path):
        with pytest.raises(SitepatchError):
            read_file(path)
    assert open_descriptors() <= before and stat.S_ISFIFO((tmp_path / "x").stat().st_mode)
