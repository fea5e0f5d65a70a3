"""The directory that everything is written through: what it follows, what a new file carries, and whom it belongs to."""

import contextlib
import errno
import hashlib
import os
import stat
import sys
from pathlib import Path

import pytest

from patcher.errors import StoreError
from patcher.facts import sha256
from patcher.store import folder as folders
from patcher.store.folder import HOME_HINT, Folder, Meta
from tests.failures import before, fail
from tests.users import ROOT_ONLY, as_user, open_descriptors, theirs

A, B, GROUP, MTIME = 1001, 1002, 1500, 1_600_000_000_123_456_789


@pytest.fixture
def folder(tmp_path):
    """An open directory; its path is `tmp_path`. No descriptor may be left open."""
    before = open_descriptors()
    with Folder.open(str(tmp_path)) as folder:
        yield folder
    folder.close()  # a second time
    assert folder.fd == -1 and open_descriptors() <= before


@pytest.fixture
def umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def info(path):
    status = os.lstat(path)
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


def test_a_name_is_opened_where_it_is_and_never_through_a_link(tmp_path, folder):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("a")
    with folder.holder("a/b/c.py") as holder:
        assert (holder.path, os.fstat(holder.fd).st_ino) == (f"{tmp_path}/a/b", (tmp_path / "a/b").stat().st_ino)
    with folder.holder("c.py") as holder:
        assert (holder.path, os.fstat(holder.fd).st_ino) == (str(tmp_path), tmp_path.stat().st_ino)
    (tmp_path / "a/link").symlink_to("b")
    for path, name in (("link/b/c.py", "link"), ("file/c.py", "file"), ("a/link/c.py", "a/link")):
        with pytest.raises(StoreError) as caught:
            folder.holder(path)
        assert caught.value.message == f"{tmp_path}/{name}: is a link or not a directory; sitepatch does not write through it"
        assert caught.value.hint == "name the directory that the link leads to, with --target"
    with pytest.raises(FileNotFoundError):
        folder.holder("a/none/c.py")
    (tmp_path / ".sitepatch").mkdir()
    (tmp_path / ".sitepatch/receipts").write_text("")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/.sitepatch").symlink_to("..")
    for outer, inner in ((".sitepatch", "receipts"), ("own", ".sitepatch")):
        with folder.sub(outer) as home, pytest.raises(StoreError) as caught:
            home.sub(inner)
        assert caught.value.hint == HOME_HINT


@ROOT_ONLY
def test_a_store_of_somebody_else_is_not_opened_and_another_folder_is(tmp_path, folder):
    for name in (".sitepatch/receipts", "pkg"):
        (tmp_path / name).mkdir(parents=True)
    os.chown(tmp_path / "pkg", A, A)
    os.chown(tmp_path / ".sitepatch/receipts", A, A)
    with folder.sub("pkg"), folder.sub(".sitepatch") as home, pytest.raises(StoreError, match="receipts: belongs to user 1001"):
        home.sub("receipts")
    os.chown(tmp_path / ".sitepatch", A, A)
    with pytest.raises(StoreError, match="sitepatch: belongs to user 1001"):
        folder.sub(".sitepatch")


def test_names_are_those_of_now_sorted(tmp_path, folder):
    for name in "bca":
        (tmp_path / name).write_text("")
        assert folder.names() == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not tell")
def test_what_is_mounted(tmp_path, folder):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("/proc/version")
    assert [folder.mounted(name) for name in ("file", "link", "none")] == [False] * 3
    with Folder.open("/") as top:
        assert top.mounted("proc") == os.path.ismount("/proc")


@pytest.mark.parametrize(
    ("mode", "shared"), [(0o755, 0), (0o775, 0o20), (0o2775, 0o2020), (0o2755, 0), (0o777, 0), (0o2777, 0), (0o757, 0), (0o3775, 0o2020)]
)
def test_a_folder_that_is_made_in_a_store_is_readable_and_shared_as_the_one_it_lies_in(tmp_path, folder, umask, mode, shared):
    tmp_path.chmod(mode)
    assert folders.group_bits(folder.fd) == shared
    for _ in range(2):
        with folder.make("new") as new:
            assert new.path == f"{tmp_path}/new"
            assert info(tmp_path / "new")[0] == 0o755 | shared
    (tmp_path / "new").chmod(0o700)
    folder.make("new").close()
    assert info(tmp_path / "new")[0] == 0o700


@ROOT_ONLY
@pytest.mark.parametrize(
    ("here", "user", "groups", "owners"),
    [
        ((A, A, 0o755), 0, (), (A, A)),
        ((A, A, 0o1777), 0, (), (0, 0)),
        ((A, GROUP, 0o775), 0, (), (A, GROUP)),
        ((A, GROUP, 0o755), 0, (), (A, GROUP)),
        ((0, GROUP, 0o755), 0, (), (0, 0)),
        ((0, GROUP, 0o775), 0, (), (0, GROUP)),
        ((0, GROUP, 0o777), 0, (), (0, 0)),
        ((A, GROUP, 0o775), A, (GROUP,), (A, GROUP)),
        ((A, GROUP, 0o775), A, (), (A, A)),  # no member of the group: works alone
        ((A, GROUP, 0o755), A, (GROUP,), (A, A)),
        ((B, GROUP, 0o775), A, (GROUP,), (A, GROUP)),
    ],
)
def test_what_is_made_in_a_store_belongs_to_its_owner_or_to_the_group(tmp_path, here, user, groups, owners):
    theirs(tmp_path, 0, 0o711)
    place = tmp_path / "place"
    place.mkdir()
    os.chown(place, *here[:2])
    place.chmod(here[2])

    def make():
        with Folder.open(str(place)) as folder:
            fd = os.open("new", os.O_CREAT | os.O_RDWR, 0o600, dir_fd=folder.fd)
            folders.set_owner(fd, folder.fd)
            os.close(fd)

    as_user(user, make, groups=groups)
    assert info(place / "new")[1:] == owners


def test_only_regular_files_are_looked_at_and_errors_have_the_whole_path(tmp_path, folder):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").chmod(0o640)
    os.utime(tmp_path / "file", ns=(MTIME, MTIME))
    for name in ("file", "link"):
        data, meta = folder.look(name)
        assert (data, meta[:4]) == (b"text", (0o640, os.getuid(), (tmp_path / "file").stat().st_gid, MTIME))
        assert folder.read(name) == b"text"
    os.mkfifo(str(tmp_path / "fifo"))
    for name in ("fifo", ".."):
        with pytest.raises(StoreError, match="expected a regular file") as caught:
            folder.look(name)
        assert caught.value.hint == "sitepatch changes regular files only"
    with pytest.raises(FileNotFoundError) as missing:
        folder.look("none")
    assert missing.value.filename == f"{tmp_path}/none"


def test_what_a_name_is(tmp_path, folder):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("none")
    text = hashlib.sha256(b"text").hexdigest()
    assert sha256(b"text") == text
    names = ("file", "link", "dangling", "none")
    assert [folder.digest(name) for name in names] == [text, text, "", ""]
    assert [folder.link(name) for name in names] == ["", "file", "none", ""]
    assert [folder.has(name) for name in names] == [True, True, True, False]
    with pytest.raises(NotADirectoryError):
        folder.link("file/x")
    with pytest.raises(NotADirectoryError):
        folder.has("file/x")


def test_a_file_of_our_own_is_a_regular_file(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(str(tmp_path / "fifo"))
    assert folder.own("file") == b"text"
    with pytest.raises(NotADirectoryError):
        Folder.open(str(tmp_path / "file"))
    with pytest.raises(FileNotFoundError):
        folder.own("none")
    for name, problem in (("link", "is a link; sitepatch writes regular files there"), ("fifo", "found a FIFO, expected a regular file")):
        with pytest.raises(StoreError) as caught:
            folder.own(name)
        assert (caught.value.message, caught.value.hint) == (f"{tmp_path}/{name}: {problem}", HOME_HINT)

    fail(monkeypatch, os, "read", OSError(errno.EIO, "broken"))
    with pytest.raises(StoreError) as caught:
        folder.own("file")
    assert (caught.value.message, caught.value.hint) == (f"{tmp_path}/file: cannot be read: broken", "")


@ROOT_ONLY
def test_a_file_of_our_own_that_may_not_be_read_or_is_not_trusted(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    theirs(site, A)
    home = site / ".sitepatch"
    home.mkdir()
    (home / "file").write_bytes(b"text")

    def own(**more):
        with Folder.open(str(site)) as folder, folder.sub(".sitepatch") as store:
            try:
                return store.own("file", **more).decode()
            except StoreError as error:
                return [error.message, error.hint]

    (home / "file").chmod(0o600)
    problem_and_hint = [f"{home}/file: cannot be read: Permission denied", "make it readable for user 1001, or run this as its owner"]
    assert as_user(A, own) == problem_and_hint
    os.chown(home / "file", B, B)
    assert own()[0].startswith(f"{home}/file: belongs to user 1002")
    assert own(proven=True) == "text"


def test_a_file_is_written_anew_with_exactly_what_it_is_given(tmp_path, folder, umask, monkeypatch):
    (tmp_path / "old").write_bytes(b"old")
    os.link(str(tmp_path / "old"), str(tmp_path / "file"))
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    folder.write("file", b"new text")
    assert ((tmp_path / "old").read_bytes(), (tmp_path / "file").read_bytes()) == (b"old", b"new text")
    assert info(tmp_path / "file")[0] == 0o644
    owner = os.stat(tmp_path / "file").st_uid, os.stat(tmp_path / "file").st_gid
    if not os.getuid():
        owner = A, GROUP
    folder.put("file", b"", Meta(0o4751, *owner, MTIME))
    status = (tmp_path / "file").stat()
    assert info(tmp_path / "file") == (0o4751, *owner) and status.st_mtime_ns == MTIME and status.st_size == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "old"]
    with monkeypatch.context() as patch, pytest.raises(FileExistsError):
        patch.setattr(folder, "remove", lambda name: None)  # somebody puts it there again at once
        folder.write("file", b"")
    (tmp_path / "tree").mkdir()
    for call in (lambda: folder.write("tree", b""), lambda: folder.put("tree", b""), lambda: folder.remove("tree")):
        with pytest.raises(OSError) as caught:
            call()
        assert caught.value.filename == f"{tmp_path}/tree"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("0", 0), ("1700000000", 1_700_000_000), ("9999999999", 9_999_999_999), ("10000000000", None), ("9" * 30, None), ("-1", None),
     ("1.5", None), ("\N{SUPERSCRIPT TWO}", None), ("\N{ARABIC-INDIC DIGIT ONE}", None), ("", None)],
)  # fmt: skip
def test_a_new_file_has_the_date_of_source_date_epoch_if_that_is_a_number_of_ten_digits_at_most(tmp_path, folder, monkeypatch, said, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    started = folder_time(tmp_path)
    folder.write("file", b"")
    found = (tmp_path / "file").stat().st_mtime_ns
    if seconds is None:
        assert started <= found < 10**10 * 10**9
    else:
        assert found == seconds * 10**9


def folder_time(folder):
    """The time that the filesystem of a folder gives to a file that is made now."""
    (folder / "now").write_bytes(b"")
    return (folder / "now").stat().st_mtime_ns


@ROOT_ONLY
def test_a_file_written_in_a_store_belongs_to_the_owner_and_outside_to_who_writes_it(tmp_path, folder):
    os.chown(tmp_path, A, A)
    with folder.make(".sitepatch") as home:
        home.write("in", b"")
        home.write("given", b"", Meta(uid=B, gid=0))
        home.write("of root", b"", Meta(uid=0, gid=GROUP))
    folder.write("out", b"")
    assert info(tmp_path / ".sitepatch/of root") == (0o644, 0, GROUP)
    owners = {name: info(tmp_path / name)[1] for name in (".sitepatch", ".sitepatch/in", ".sitepatch/given", "out")}
    assert owners == {".sitepatch": A, ".sitepatch/in": A, ".sitepatch/given": B, "out": 0}

    def give():  # only root may
        with Folder.open(str(tmp_path)) as other:
            other.write("theirs", b"", Meta(uid=B, gid=B))

    theirs(tmp_path, A)
    as_user(A, give)
    assert info(tmp_path / "theirs") == (0o644, A, A)


def test_a_stamp_is_only_set_where_it_differs(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    requested = Meta(0o640, mtime_ns=MTIME)
    folder.stamp("file", requested)
    status = (tmp_path / "file").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o640, MTIME)
    calls = []
    before(monkeypatch, os, "fchmod", lambda fd, mode: calls.append(mode))
    folder.stamp("file", requested)
    assert calls == []
    folder.stamp("file", requested._replace(mode=0o600))
    folder.stamp("file", Meta(0o600, mtime_ns=MTIME + 1))
    assert calls == [0o600, 0o600]
    fd = os.open(str(tmp_path / "file"), os.O_RDONLY)
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    folders.stamp(fd, Meta(0o644))
    assert synced == [fd]
    os.close(fd)
    assert (tmp_path / "file").stat().st_mtime_ns == MTIME + 1
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="symbolic links"):
        folder.stamp("link", requested)


def test_links_second_names_and_removals(tmp_path, folder):
    for _ in range(2):
        folder.make_link("link", "../none", MTIME)
    assert (os.readlink(tmp_path / "link"), os.lstat(tmp_path / "link").st_mtime_ns) == ("../none", MTIME)
    (tmp_path / "to").mkdir()
    with folder.sub("to") as to:
        for name in ("file", "link"):
            (tmp_path / "file").write_bytes(b"")
            assert folder.link_to(name, to, "second") is True
            assert os.lstat(tmp_path / "to/second").st_ino == os.lstat(tmp_path / name).st_ino
        assert folder.link_to("to", to, "second") is False and to.names() == []
        (tmp_path / "to/a").write_bytes(b"")
    folder.remove_folder("to")  # it is not empty
    folder.remove_folder("none")
    folder.remove("none")
    with pytest.raises(NotADirectoryError):
        folder.remove_folder("file")
    with folder.sub("to") as to:
        to.remove("a")
    folder.remove_folder("to")
    folder.move("file", "link")
    assert folder.names() == ["link"] and folder.link("link") == ""
    with pytest.raises(FileNotFoundError) as caught:
        folder.move("none", "new")
    assert caught.value.filename == f"{tmp_path}/new"


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="the kernel does not tell")
def test_the_mount_that_a_file_was_reached_through(tmp_path):
    with (tmp_path / "file").open("wb") as one, (tmp_path / "more").open("wb") as more, Path("/proc/self/stat").open("rb") as other:
        mounts = [folders.mount(each.fileno()) for each in (one, more, other)]
    assert mounts[0] == mounts[1] != mounts[2] and all(each.startswith(b"mnt_id:") for each in mounts)
    assert folders.mount(1 << 20) == b"", "no file is open there"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes in this Python")
def test_a_new_file_has_exactly_the_extended_attributes_it_is_given(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    try:
        os.setxattr(tmp_path / "file", "user.b", b"1")
    except OSError:
        pytest.skip("no extended attributes on this filesystem")
    os.setxattr(tmp_path / "file", "user.a", b"2")
    xattrs_of_file = folder.look("file")[1].xattrs
    assert sorted(each for each in xattrs_of_file if each[0].startswith("user.")) == [("user.a", b"2"), ("user.b", b"1")]
    folder.write("new", b"", Meta(xattrs=xattrs_of_file))
    assert sorted(folder.look("new")[1].xattrs) == sorted(xattrs_of_file)
    with (tmp_path / "new").open("rb") as file:
        folders.set_xattrs(file.fileno(), (("user.a", b"3"),))
        assert [each for each in folders.read_xattrs(file.fileno()) if each[0].startswith("user.")] == [("user.a", b"3")]
        for number in (errno.EPERM, errno.ENOTSUP, errno.ENODATA, errno.EINVAL, errno.EACCES, errno.ENOSPC):
            for name in ("setxattr", "removexattr"):
                fail(monkeypatch, os, name, OSError(number, "refused"))
            for xattrs in ((), (("user.a", b"4"),)):
                with pytest.raises(OSError, match="refused") if number == errno.ENOSPC else contextlib.nullcontext():
                    folders.set_xattrs(file.fileno(), xattrs)
        fail(monkeypatch, os, "getxattr", OSError(number, "refused"))
        assert folders.read_xattrs(file.fileno()) == ()
        fail(monkeypatch, os, "listxattr", OSError(number, "refused"))
        assert folders.read_xattrs(file.fileno()) == ()
