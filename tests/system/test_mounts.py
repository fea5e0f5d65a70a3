"""Filesystems of other machines: where locks do not reach them, `doctor` and `apply` say so; `python -m tools.nfs` tries real ones."""

import os
import shutil
import subprocess
import sys

import pytest

from patcher.system import mounts
from tests.command import DDP, ROOT, Site, environ

pytestmark = pytest.mark.once
NFS = "41 34 0:25 / /mnt/env rw,relatime - nfs 10.0.1.1:/srv/env rw,vers=3,hard,proto=tcp,mountproto=udp{},addr=10.0.1.1\n"
TABLE = (
    "28 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "29 28 0:21 / /proc rw,nosuid shared:5 master:2 - proc proc rw\n"
    + NFS.format(",local_lock=none")
    + NFS.format(",nolock,local_lock=all").replace("/mnt/env", "/mnt/env/own")
    + NFS.format(",local_lock=flock").replace("/mnt/env", "/mnt/half")
    + "50 28 0:40 / /mnt/my\\040files rw,nosuid,nodev,relatime - fuse.sshfs me@host:/srv rw,user_id=1000,group_id=1000\n"
    "51 28 0:41 / /lustre rw - lustre 10.0.0.1@tcp:/scratch rw,checksum,flock\n"
    "52 51 0:41 / /lustre/local rw - lustre 10.0.0.1@tcp:/scratch rw,checksum,localflock\n"
    "53 28 0:42 / /mnt/twice rw - fuse.sshfs host:/srv rw\n"
    "54 28 0:43 / /mnt/twice rw - ext4 /dev/vdb rw\n"
    "a line of some other kernel\n"
)


@pytest.mark.parametrize(
    ("path", "kind", "own", "untried"),
    [
        ("/usr/lib", "ext4", "", ""),
        ("/", "ext4", "", ""),
        ("/mnt/env", "nfs", "", ""),
        ("/mnt/env/lib/python3.11", "nfs", "", ""),
        ("/mnt/environment", "ext4", "", ""),
        ("/mnt/env/own/lib", "nfs", "nfs mounted with nolock", ""),
        ("/mnt/half/lib", "nfs", "", ""),
        ("/mnt/my files/lib", "fuse.sshfs", "sshfs", ""),
        ("/lustre/env", "lustre", "", "lustre"),
        ("/lustre/local/env", "lustre", "lustre mounted with localflock", "lustre"),
        ("/mnt/twice/lib", "ext4", "", ""),
    ],
)
def test_what_the_kernel_tells_of_the_mount_of_a_path(path, kind, own, untried):
    assert mounts.mount_of(path, TABLE).kind == kind
    told = mounts.own_locks(path, TABLE)
    assert told.startswith(f"{path} is on {own}: locks there hold on this machine alone") if own else told == ""
    assert mounts.untried(path, TABLE) == untried


# what is mounted on this machine no test can change
def test_where_the_kernel_tells_nothing_nothing_is_reported(tmp_path, monkeypatch):
    assert (mounts.mount_of("/usr", ""), mounts.own_locks("/usr", ""), mounts.untried("/usr", "")) == (None, "", "")
    monkeypatch.setattr(mounts, "_TABLE", tmp_path / "none")
    assert mounts.read_table() == "" and mounts.own_locks("/usr", mounts.read_table()) == ""


def test_doctor_and_apply_say_where_locks_hold_on_one_machine_alone(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from patcher.verbs.main import commands

    site, reads = Site(tmp_path, "mmengine-0.10.7"), []
    table = TABLE + f"60 28 0:50 / {tmp_path} rw - fuse.sshfs host:/srv rw\n"
    monkeypatch.setattr(mounts, "read_table", lambda: reads.append(1) or table)

    def run(*words):
        reads.clear()
        return CliRunner().invoke(commands, [*words, "--target", str(site.path)]).output

    told = f"{site.path} is on sshfs: locks there hold on this machine alone"
    assert told in run("apply", DDP, "--verify", "none", "--dry-run") and told in run("apply", DDP, "--verify", "none") and len(reads) == 1
    assert told not in run("status") + run("apply", DDP) and reads == []  # nothing is written
    assert told in run("doctor")
    table = TABLE + f"60 28 0:50 / {tmp_path} rw - lustre host:/srv rw\n"
    assert "is on lustre, where" in run("doctor") and "lustre" not in run("restore")


def test_real_clients_of_a_real_server(tmp_path):
    """Here it is only seen that the command says why it cannot run, or what it would run; all of it with SITEPATCH_ALL_NFS=1."""
    words, path = [sys.executable, "-m", "tools.nfs"], os.environ["PATH"]
    if os.environ.get("SITEPATCH_ALL_NFS") and shutil.which("linux.uml"):
        assert subprocess.run(words, cwd=str(ROOT), env=environ(PATH=path)).returncode == 0
    elif not shutil.which("linux.uml"):
        ended = subprocess.run(words, cwd=str(ROOT), env=environ(), capture_output=True, text=True)
        assert ended.returncode == 0 and ended.stdout.startswith("skipped: found no linux.uml")
        pytest.skip(ended.stdout.strip())
    else:
        pytest.skip("minutes: python -m tools.nfs, or SITEPATCH_ALL_NFS=1")
