"""What keeps a site directory from being changed, asked of the functions themselves as root and as another user."""

import errno
import fcntl
import os
from types import SimpleNamespace

import pytest

from patcher.errors import StoreError
from patcher.store.folder import HOME_HINT, Folder
from patcher.store.permission import no_room, obstacles, store_error
from patcher.store.store import explained
from patcher.system.advice import advice
from tests.users import ROOT_ONLY, as_user, open_descriptors, theirs

A, GROUP = 1001, 1500
FILE = "pkg/sub/a.py"
CLOSED = "user 1001 may not write here, its owner is user 0; run this as the owner of the directory"


OWN = "it is yours, and its mode does not let you write: chmod u+rwx"


@pytest.fixture
def site(tmp_path):
    """The site directory of the user A, with one file."""
    site = tmp_path / "site"
    (site / "pkg/sub/__pycache__").mkdir(parents=True)
    (site / FILE).write_bytes(b"")
    if not os.geteuid():
        theirs(tmp_path, 0)
        for path in (site, *site.rglob("*")):
            os.chown(path, A, A)
    return site


def problems_of(site, paths=(FILE,), moved=()):
    """What is in the way of changing these files, with paths below the site directory."""
    with Folder.open(str(site)) as folder:
        texts = obstacles(folder, paths, moved)
    return [text.replace(f"{site}/", "").replace(str(site), "SITE") for text in texts]


def given_to(path, uid, gid=None, mode=None):
    """A function that gives `path` in a site directory to this user."""

    def give(site):
        file = site / path
        if mode is not None and not file.is_symlink():
            file.chmod(mode)
        os.chown(file, uid, uid if gid is None else gid)

    return give


def store(*closed):
    """A function that makes a store in a site directory, of which these folders are root's."""

    def make(site):
        home = site / ".sitepatch"
        for name in ("receipts", "pristine", "patchsets"):
            (home / name).mkdir(parents=True)
        for path in (home, *home.iterdir()):
            if path.name not in closed:
                os.chown(path, A, A)

    return make


def both(first, second):
    """A function that does to a site directory what these two do."""

    def make(site):
        first(site)
        second(site)

    return make


def linked(to, owner=A):
    def link(site):
        (site / "real.py").write_bytes(b"")  # of root
        (site / FILE).unlink()
        (site / FILE).symlink_to(to)
        os.lchown(site / FILE, owner, owner)

    return link


def sticky(folder, file):
    def make(site):
        given_to("pkg/sub", folder, folder, 0o1777)(site)
        given_to(FILE, file, A, 0o666)(site)

    return make


NOT_MINE = f"{FILE}: belongs to user 0, and user 1001 may not give it back to them; run this as that user"
STICKY = f"{FILE}: belongs to user 1002, and in a sticky directory user 1001 may not replace it; run this as that user"
GONE = f"{FILE}: user 1001 may not read it, or its link leads nowhere"
CASES = {
    "nothing": (lambda site: None, []),
    "site": (given_to("", 0), [f"SITE: {CLOSED}"]),
    "site, but there is a store": (both(store(), given_to("", 0)), []),
    "store": (store(".sitepatch"), [f".sitepatch: {CLOSED}"]),
    "receipts": (store("receipts"), [f".sitepatch/receipts: {CLOSED}"]),
    "pristine": (store("pristine"), [f".sitepatch/pristine: {CLOSED}"]),
    "patchsets": (store("patchsets"), [f".sitepatch/patchsets: {CLOSED}"]),
    "a store that is a file": (lambda site: (site / ".sitepatch").write_bytes(b""), [".sitepatch: is a link or not a directory"]),
    "folder": (given_to("pkg/sub", 0), [f"pkg/sub: {CLOSED}"]),
    "folder and site": (both(given_to("pkg/sub", 0), given_to("", 0)), [f"SITE: {CLOSED}", f"pkg/sub: {CLOSED}"]),
    "may be written, not entered": (given_to("pkg/sub", A, A, 0o600), [f"{FILE}: [Errno 13]"]),
    "my folder, closed by its mode": (given_to("pkg/sub", A, A, 0o555), [f"pkg/sub: {OWN} pkg/sub"]),
    "bytecode": (given_to("pkg/sub/__pycache__", 0), [f"pkg/sub/__pycache__: {CLOSED}"]),
    "no bytecode": (lambda site: (site / "pkg/sub/__pycache__").rmdir(), []),
    "gone": (lambda site: (site / FILE).unlink(), [f"{FILE}: there is no such file"]),
    "not to be read": (given_to(FILE, 0, 0, 0o600), [GONE]),
    "a link that leads nowhere": (linked("none.py"), [GONE]),
    "a link to a file of another": (linked("../../real.py"), []),
    "another user": (given_to(FILE, 0, 0, 0o666), [NOT_MINE]),
    "folder, and the file in it": (both(given_to("pkg/sub", 0), given_to(FILE, 0)), [f"pkg/sub: {CLOSED}"]),
    "folder, and the file of a third": (
        both(given_to("pkg/sub", 0), given_to(FILE, 1002)),
        [f"pkg/sub: {CLOSED}", NOT_MINE.replace("user 0", "user 1002")],
    ),
    "another group": (given_to(FILE, A, GROUP), [f"{FILE}: belongs to group 1500, of which user 1001 is no member"]),
    "another user, and every directory is open": (both(sticky(0, 0), given_to("pkg/sub", 0, 0, 0o777)), [NOT_MINE]),
    "sticky": (sticky(0, 1002), [STICKY]),
    "sticky, a link": (both(linked("../../real.py", 1002), given_to("pkg/sub", 0, 0, 0o1777)), [STICKY]),
    "sticky, my file": (sticky(0, A), []),
    "sticky, my directory": (sticky(A, 1002), [NOT_MINE.replace("user 0", "user 1002")]),
}


@ROOT_ONLY
@pytest.mark.parametrize(("make", "expected"), CASES.values(), ids=CASES)
def test_what_another_user_may_not_do_is_named(site, make, expected):
    make(site)
    problems = as_user(A, problems_of, str(site))
    assert len(problems) == len(expected), problems
    for problem, beginning in zip(problems, expected):
        assert problem.startswith(beginning)
    if "user 1001 may not" in str(expected) and "link" not in str(expected):
        assert problems_of(site) == []  # root may


@ROOT_ONLY
@pytest.mark.parametrize(("mode", "moved", "expected"), [(0o666, [FILE], []), (0o644, [FILE], [NOT_MINE]), (0o666, [], [NOT_MINE])])
def test_a_file_that_is_put_back_by_a_second_name_need_not_be_given_away(site, mode, moved, expected):
    given_to(FILE, 0, 0, mode)(site)
    assert as_user(A, problems_of, str(site), [FILE], moved) == expected


def test_what_is_wrong_with_several_files_is_reported_once_each(site):
    (site / "to").symlink_to("pkg/sub")
    problems = problems_of(site, ["../x", "pkg/none.py", "to/a.py", "to/b.py", "none/a.py"])
    assert problems[0] == "../x: the path is not a plain path below the site directory"
    assert problems[1] == "pkg/none.py: there is no such file"
    assert problems[2].startswith("to: is a link or not a directory; sitepatch does not write through it")
    assert problems[3].startswith("none/a.py: [Errno 2]") and len(problems) == 4


def test_a_fifo_is_not_waited_for(site):
    (site / FILE).unlink()
    os.mkfifo(str(site / FILE))
    assert problems_of(site) == []


# not every filesystem has such flags, or can be mounted read-only here
@pytest.mark.parametrize(
    ("flags", "is_refused"), [(0x10, True), (0x20, True), (0, False), (0xFFFFFFCF, False), (OSError(errno.ENOTTY, "no flags here"), False)]
)
def test_a_file_or_a_directory_that_is_immutable_or_append_only(site, monkeypatch, flags, is_refused):
    def ioctl(fd, request, argument):
        assert (request, len(argument)) == (0x80086601, 8)
        if isinstance(flags, OSError):
            raise flags
        return flags.to_bytes(4, "little") + b"\xff" * 4

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    before = open_descriptors()
    expected = [f"{FILE}: the file is immutable; take that away with chattr -i or chflags"] if is_refused else []
    assert problems_of(site) == expected
    assert open_descriptors() <= before
    monkeypatch.setattr(os, "access", lambda name, mode, **more: name != ".")
    monkeypatch.setattr(os, "fstatvfs", lambda fd: SimpleNamespace(f_flag=0))
    reasons = "the directory is immutable" if is_refused else f"user {os.getuid()} may not write here"
    assert problems_of(site)[0].startswith(f"SITE: {reasons}")
    monkeypatch.setattr(os, "fstatvfs", lambda fd: SimpleNamespace(f_flag=os.ST_RDONLY | os.ST_NOSUID))
    assert problems_of(site)[0] == "SITE: the filesystem is mounted read-only; mount it writable, or see `sitepatch run --overlay`"


@pytest.mark.parametrize(
    ("uid", "disk", "problem"),
    [
        (0, {"f_blocks": 0, "f_bfree": 0}, ""),
        (0, {"f_bfree": 3}, ""),
        (0, {"f_bfree": 2, "f_bavail": 9}, "3,072 bytes are needed and 2,048 are free; free some space on that disk"),
        (A, {"f_bavail": 2}, "3,072 bytes are needed and 2,048 are free; free some space on that disk"),
        (A, {"f_bfree": 2}, ""),  # that is what root alone may use
        (0, {"f_ffree": 2}, ""),
        (0, {"f_ffree": 1}, "inodes: 2 needed, 1 free; free some space on that disk"),
        (0, {"f_files": 0, "f_ffree": 0}, ""),  # a filesystem that does not count them
    ],
)
# a disk that is nearly full
def test_whether_there_is_room(site, monkeypatch, uid, disk, problem):
    fields = {"f_blocks": 9, "f_frsize": 1024, "f_bfree": 9, "f_bavail": 9, "f_files": 9, "f_ffree": 9, **disk}
    monkeypatch.setattr(os, "fstatvfs", lambda fd: SimpleNamespace(**fields))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    with Folder.open(str(site)) as folder:
        reasons = no_room(folder, [1, 2048])
    assert len(reasons) == bool(problem) and all(text.startswith(f"{site}: {problem}") for text in reasons)


def test_a_system_call_that_failed_is_explained():
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ESTALE, errno.ENOTDIR):
        help_text = advice(number).in_site or HOME_HINT
        assert help_text
        error = store_error("/site", OSError(number, "it failed", "/site/a"), "nothing was changed")
        assert (error.message, error.hint) == ("/site/a: it failed", f"nothing was changed; {help_text}")
    error = store_error("/site", OSError(errno.EIO, "it failed", "a"))
    assert (error.message, error.hint) == (f"/site: [Errno {errno.EIO}] it failed: 'a'", "")
    with pytest.raises(StoreError, match=r"^/site: it failed$") as caught, explained("/site", "undone"):
        raise OSError("it failed")
    assert caught.value.hint == "undone"
