"""Who may change what is run, applied and believed: one rule for patchsets, overlays, caches and stores."""

import os
import struct
import subprocess
import sys

import pytest

from patcher.errors import StoreError
from patcher.overlay.make import private
from patcher.system.acl import access
from patcher.system.ownership import check_store, others_may_write
from tests.command import DDP, Site, done, environ
from tests.overlays import Overlay
from tests.records import write_patchset
from tests.users import ROOT_ONLY, as_user, theirs

pytestmark = pytest.mark.once
A, B, GROUP = 1001, 1002, 1500


@ROOT_ONLY
@pytest.mark.parametrize(
    ("owner", "group", "mode", "said"),
    [
        (0, 0, 0o755, ""),
        (0, 0, 0o775, ""),  # the group is root's own
        (0, GROUP, 0o775, "others may write to it (group 1500)"),
        (0, 0, 0o777, "others may write to it (everybody)"),
        (0, 0, 0o1777, ""),  # as /tmp
        (A, A, 0o755, "belongs to user 1001"),
        (A, A, 0o1777, "belongs to user 1001"),  # the owner of a sticky directory may rename what lies there
    ],
)
@pytest.mark.parametrize("way", ["plain", "link above", "link", "link in the middle"])
def test_every_directory_and_link_that_leads_there_counts(tmp_path, owner, group, mode, said, way):
    place = tmp_path / "place"
    (place / "mine").mkdir(parents=True)
    path = place / "mine"
    if way == "link above":
        (tmp_path / "up").symlink_to("place")
        path = tmp_path / "up" / "mine"
    elif way == "link":
        (tmp_path / "it").symlink_to("place/mine")
        path = tmp_path / "it"
    elif way == "link in the middle":  # the first link is mine, the second lies in the directory of others
        (place / "second").symlink_to("../far")
        (tmp_path / "far").mkdir()
        (tmp_path / "first").symlink_to("place/second")
        path = tmp_path / "first"
    os.chown(place, owner, group)
    place.chmod(mode)
    problems = others_may_write(str(path))
    if said:
        (problem,) = problems
        assert problem.startswith(f"{place}: {said}")
    else:
        assert problems == []


@ROOT_ONLY
def test_a_link_of_somebody_else_counts(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to("mine")
    os.lchown(tmp_path / "link", A, A)
    assert others_may_write(str(tmp_path / "link"))[0].startswith(f"{tmp_path / 'link'}: belongs to user 1001")


@pytest.fixture
def mine(tmp_path):
    """A directory `mine/deep`, with a file in it."""
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "mine" / "deep" / "file").write_text("")
    return tmp_path / "mine"


@ROOT_ONLY
def test_a_file_of_somebody_else_counts_where_what_lies_inside_matters(mine):
    os.chown(mine / "deep" / "file", A, A)
    assert others_may_write(str(mine)) == []
    (problem,) = others_may_write(str(mine), inside=True)
    assert problem.startswith(f"{mine}/deep/file: belongs to user 1001")


@ROOT_ONLY
def test_a_file_of_somebody_else_that_a_link_inside_leads_to_counts(tmp_path, mine):
    (tmp_path / "theirs").write_text("")
    os.chown(tmp_path / "theirs", A, A)
    (mine / "deep" / "link").symlink_to(tmp_path / "theirs")
    (problem,) = others_may_write(str(mine), inside=True)
    assert problem.startswith(f"{tmp_path}/theirs: belongs to user 1001")


@ROOT_ONLY
def test_a_sticky_directory_inside_counts(mine):
    """Sticky is enough above, not below: anybody can add files."""
    (mine / "deep").chmod(0o1777)
    assert others_may_write(str(mine), inside=True) == [f"{mine}/deep: others may write to it (everybody)"]


@ROOT_ONLY
def test_nobody_may_write_to_a_mount_that_is_read_only(tmp_path):
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume").chmod(0o777)
    ask = "import sys; from patcher.system.ownership import others_may_write; print(others_may_write(sys.argv[1], inside=True))"
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2" -c "$3" "$1"'
    words = ["unshare", "-m", "sh", "-ec", mount, "sh", str(tmp_path / "volume"), sys.executable, ask]
    ended = subprocess.run(words, env=environ(), capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"no mounts can be made here: {ended.stderr}")
    assert ended.stdout == "[]\n"
    assert len(others_may_write(str(tmp_path / "volume"))) == 1


def test_links_in_a_circle_and_what_is_not_there(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert others_may_write(str(tmp_path / "none" / "below")) == []
    assert others_may_write(str(tmp_path / "a")) == []


@ROOT_ONLY
def test_an_unprivileged_user_trusts_root_and_themselves(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(B))
    home = theirs(tmp_path, 0)
    mine = home / "mine"
    mine.mkdir()
    os.chown(mine, A, A)
    assert as_user(A, others_may_write, str(mine)) == []
    assert len(as_user(B, others_may_write, str(mine))) == 1
    assert len(others_may_write(str(mine))) == 1  # of SUDO_UID it is 1002 who is trusted
    os.chown(mine, B, B)
    assert others_may_write(str(mine)) == []
    assert len(as_user(A, others_may_write, str(mine))) == 1  # who is not root is not helped by SUDO_UID


@ROOT_ONLY
@pytest.mark.parametrize(("group", "said"), [(A, []), (GROUP, ["group 1500"])])
def test_the_group_of_a_user_alone_is_that_user(tmp_path, group, said):
    """Where the umask is 002, the group may write to whatever a user makes: their own one, as useradd makes it."""
    mine = theirs(tmp_path, 0) / "mine"
    mine.mkdir()
    os.chown(mine, A, group)
    mine.chmod(0o775)
    found = as_user(A, others_may_write, str(mine), groups=[GROUP])
    assert found == [f"{mine}: others may write to it ({who})" for who in said]


USER, OWN_GROUP, GROUPS, MASK = 0x02, 0x04, 0x08, 0x10


def acl(*entries):
    """The bytes of an access control list with these entries, (tag, permissions, id), beside those of the mode; empty without any."""
    if not entries:
        return b""
    rows = sorted([(0x01, 6, -1), (0x20, 4, -1), *entries])
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows)


LISTS = {  # entries; who others are, by it
    "a user who may write": ([(USER, 6, B), (OWN_GROUP, 4, -1), (MASK, 6, -1)], "user 1002"),
    "a user who may read": ([(USER, 4, B), (OWN_GROUP, 4, -1), (MASK, 6, -1)], ""),
    "a user whom the mask stops": ([(USER, 6, B), (OWN_GROUP, 4, -1), (MASK, 4, -1)], ""),
    "root": ([(USER, 6, 0), (OWN_GROUP, 4, -1), (MASK, 6, -1)], ""),
    "a group that may write": ([(OWN_GROUP, 4, -1), (GROUPS, 6, GROUP), (MASK, 6, -1)], "group 1500"),
    "the own group, root's": ([(OWN_GROUP, 6, -1), (GROUPS, 4, GROUP), (MASK, 6, -1)], ""),
    "several": ([(USER, 6, A), (USER, 6, B), (OWN_GROUP, 4, -1), (GROUPS, 6, GROUP), (MASK, 6, -1)], "group 1500, user 1001 and user 1002"),
}


@ROOT_ONLY
@pytest.mark.parametrize(("entries", "who"), LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("which", ["file", "directory", "directory above"])
def test_an_access_control_list_counts(tmp_path, entries, who, which):
    place = tmp_path / "place"
    place.mkdir()
    file = place / "file"
    file.write_text("")
    if which == "file":
        listed, mode = file, 0o644
    else:
        listed, mode = place, 0o755
    listed.chmod(mode)
    set_acl(listed, acl(*entries))
    problems = [f"{listed}: others may write to it ({who})"] if who else []
    asked_about = place if which == "directory" else file
    assert others_may_write(str(asked_about)) == problems


def set_acl(path, data):
    try:
        os.setxattr(path, "system.posix_acl_access", data)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error}")


@ROOT_ONLY
def test_a_patchset_that_a_list_lets_others_write_is_not_applied_and_a_store_not_trusted(tmp_path):
    site = Site(theirs(tmp_path, 0), "mmengine-0.10.7")
    write_patchset(tmp_path / "mine", "one-fix", "--- mmengine/version.py\n@@ @@\n-x = 1\n+x = 2\n", "mmengine")
    lets_b = acl((USER, 6, B), (OWN_GROUP, 4, -1), (MASK, 6, -1))
    set_acl(tmp_path / "mine/one-fix/p.spatch", lets_b)
    refused = done(site("apply", "one-fix", "--patch-dir", "mine"), 1)
    assert f"{tmp_path}/mine/one-fix/p.spatch: others may write to it (user 1002)" in refused.err
    done(site("apply", DDP))
    for path in (site.path / ".sitepatch", *(site.path / ".sitepatch/receipts").iterdir()):
        mode = path.stat().st_mode & 0o777
        set_acl(path, lets_b)
        refused = site("status")
        assert "by its access control list" in refused.out + refused.err, refused
        os.removexattr(path, "system.posix_acl_access")
        path.chmod(mode)
    done(site("restore"))


@ROOT_ONLY
def test_who_shares_the_site_directory_by_a_list_shares_the_store(tmp_path):
    """The mode says that the group may write: that is the mask, and the group may not."""
    site = Site(theirs(tmp_path, 0), "mmengine-0.10.7")
    lists = acl((USER, 7, B), (OWN_GROUP, 5, -1), (MASK, 7, -1))
    set_acl(site.path, lists)
    os.chown(site.path, A, GROUP)
    done(site("apply", DDP))
    assert (site.path / ".sitepatch").stat().st_mode & 0o777 == 0o755
    set_acl(site.path / ".sitepatch", lists)
    done(site("restore"))


def test_a_variable_of_sudo_that_is_no_number_is_no_user(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "\N{SUPERSCRIPT TWO}")
    assert others_may_write(str(tmp_path)) == []


ME = 1003
MEANS = "others may write to it"


@pytest.mark.parametrize(
    ("site", "uid", "gid", "mode", "said"),
    [
        ((A, A, 0o755), A, A, 0o755, ""),
        ((A, A, 0o755), 0, 0, 0o755, ""),
        ((A, A, 0o755), ME, ME, 0o755, ""),
        ((A, A, 0o755), B, A, 0o755, f"belongs to user {B}, not to user {ME}, root or the owner of its site directory"),
        ((A, GROUP, 0o775), B, GROUP, 0o775, ""),  # a group shares the site directory
        ((A, GROUP, 0o775), B, A, 0o755, f"belongs to user {B}"),
        ((A, GROUP, 0o755), B, GROUP, 0o755, f"belongs to user {B}"),
        ((A, GROUP, 0o777), B, GROUP, 0o755, f"belongs to user {B}"),  # everybody can write there, not only the group
        ((A, GROUP, 0o777), A, GROUP, 0o755, f"belongs to user {A}"),
        ((A, GROUP, 0o1777), 0, GROUP, 0o755, ""),
        ((A, GROUP, 0o1777), ME, GROUP, 0o755, ""),
        ((A, A, 0o755), A, A, 0o775, MEANS),
        ((A, GROUP, 0o775), A, A, 0o775, MEANS),
        ((A, A, 0o755), A, 0, 0o775, ""),  # the group of root
        ((A, GROUP, 0o775), A, GROUP, 0o777, f"{MEANS} (everybody)"),
        ((A, A, 0o755), 0, 0, 0o757, f"{MEANS} (everybody)"),
    ],
)
def test_who_is_trusted_in_a_store(monkeypatch, site, uid, gid, mode, said):
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    assert_trusted(access(uid, gid, mode, b""), access(*site, b""), said)


def assert_trusted(of_store, of_site, said):
    """Whoever may write to a store is trusted, or refused for the reason that is said."""
    if not said:
        check_store(of_store, of_site, "store")
        return
    with pytest.raises(StoreError) as caught:
        check_store(of_store, of_site, "store")
    assert caught.value.message.startswith(f"store: {said}") and "chown -R" in caught.value.hint


BY_LIST = f"{MEANS}, by its access control list"
B_WRITES = ((USER, 6, B), (OWN_GROUP, 4, -1), (MASK, 6, -1))


@pytest.mark.parametrize(
    ("site_mode", "site_entries", "uid", "entries", "said"),
    [
        (0o755, (), A, B_WRITES, BY_LIST),
        (0o775, B_WRITES, A, B_WRITES, ""),  # a list shares the site directory
        (0o775, B_WRITES, B, (), ""),
        (0o775, B_WRITES, GROUP, (), f"belongs to user {GROUP}"),  # the mode has a mask: its group may not write
        (0o777, B_WRITES, A, B_WRITES, f"belongs to user {A}"),
        (0o755, (), A, ((OWN_GROUP, 4, -1), (GROUPS, 6, GROUP), (MASK, 6, -1)), BY_LIST),
        (0o755, (), A, ((OWN_GROUP, 4, -1), (GROUPS, 6, 0), (MASK, 6, -1)), ""),
    ],
)
def test_who_is_trusted_in_a_store_by_lists(monkeypatch, site_mode, site_entries, uid, entries, said):
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    of_store = access(uid, A, 0o775 if entries else 0o755, acl(*entries))
    of_site = access(A, A, site_mode, acl(*site_entries))
    assert_trusted(of_store, of_site, said)


@ROOT_ONLY
@pytest.mark.parametrize(("owner", "group", "mode"), [(A, A, 0o755), (0, GROUP, 0o775), (0, 0, 0o777)])
def test_no_overlay_is_run_below_a_directory_that_others_can_change(tmp_path, owner, group, mode):
    shared = tmp_path / "shared"
    (shared / "cache").mkdir(parents=True)
    os.chown(shared, owner, group)
    shared.chmod(mode)
    with pytest.raises(StoreError, match=f"{shared}: ") as caught:
        private(shared / "cache" / "overlay")
    assert "SITEPATCH_CACHE" in caught.value.hint


@ROOT_ONLY
def test_bytecode_that_another_user_left_in_an_overlay_is_not_run(tmp_path):
    own = Overlay(tmp_path, sys.executable)
    planted = own.built / "files" / "planted.pyc"
    planted.write_bytes(b"")
    os.chown(planted, A, A)
    ended = done(own.run("echo", "ran"), 1)
    assert f"{planted}: belongs to user 1001" in ended.err and ended.out == ""
