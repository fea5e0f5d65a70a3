"""Shared by the tests of files and their owners: acting as another, unprivileged user, and open descriptors."""

import json
import os
import sys
import traceback
from pathlib import Path

import pytest

NOBODY = 0 if os.geteuid() else 65534  # a user who owns nothing; without root, the current user
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users")


def theirs(folder, uid, mode=0o755, gid=None):
    """The directory `folder`, made reachable for other users (pytest makes its own private) and given to `uid`."""
    for above in [folder, *folder.parents]:
        if above.stat().st_uid == os.geteuid() and above.stat().st_mode & 0o011 != 0o011:
            above.chmod(above.stat().st_mode | 0o011)
    folder.chmod(mode)
    os.chown(folder, uid, uid if gid is None else gid)
    return folder


def as_user(uid, do, *args, groups=()):
    """What `do(*args)` returns (as JSON has it) in a child that runs as the user `uid`, who is in `groups`."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(read)
            if uid:
                os.setgroups(list(groups))
                os.setgid(uid)
                os.setuid(uid)
            answer = json.dumps(do(*args))
            with os.fdopen(write, "w") as out:
                out.write(answer)
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as out:
        answer = out.read()
    assert os.waitpid(pid, 0)[1] == 0, f"the child of user {uid} failed: see above"
    return json.loads(answer)


@pytest.fixture
def public(tmp_path):
    """`tmp_path`, where other users can reach it: pytest makes it private."""
    return theirs(tmp_path, os.geteuid())


def open_descriptors():
    """The numbers of open descriptors. There may be fewer later even if nothing leaked: garbage closes its own at any time."""
    return set(os.listdir("/dev/fd"))


def give(folder, uid, gid=None):
    """Give a directory and everything below it to a user."""
    for path in [Path(folder), *Path(folder).rglob("*")]:
        os.lchown(path, uid, uid if gid is None else gid)
