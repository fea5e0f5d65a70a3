"""Filesystems of other machines: where locks do not reach them, `doctor` and `apply` say so; `python -m tools.nfs` tries real ones."""

import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from patcher.system import mounts
from patcher.verbs.main import commands
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
    notice = mounts.own_locks(path, TABLE)
    if own:
        assert notice.startswith(f"{path} is on {own}: locks there hold on this machine alone")
    else:
        assert notice == ""
    assert mounts.untried(path, TABLE) == untried


# what is mounted on this machine no test can change
def test_where_the_kernel_tells_nothing_nothing_is_reported(tmp_path, monkeypatch):
    assert (mounts.mount_of("/usr", ""), mounts.own_locks("/usr", ""), mounts.untried("/usr", "")) == (None, "", "")
    monkeypatch.setattr(mounts, "_TABLE", tmp_path / "none")
    assert mounts.read_table() == "" and mounts.own_locks("/usr", mounts.read_table()) == ""


class MountedSite:
    """A site directory, the command on it, and a table of mounts that the test writes."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.path = Site(folder, "mmengine-0.10.7").path
        self.reads = 0
        monkeypatch.setattr(mounts, "read_table", self.read_table)  # a test cannot mount NFS

    def mount(self, kind):
        self.table = TABLE + f"60 28 0:50 / {self.folder} rw - {kind} host:/srv rw\n"

    def read_table(self):
        self.reads += 1
        return self.table

    def run(self, *words):
        """What the command prints; it runs in this process, whose table is another one."""
        self.reads = 0
        return CliRunner().invoke(commands, [*words, "--target", str(self.path)]).output


def test_doctor_and_apply_say_where_locks_hold_on_one_machine_alone(tmp_path, monkeypatch):
    site = MountedSite(tmp_path, monkeypatch)
    site.mount("fuse.sshfs")
    notice = f"{site.path} is on sshfs: locks there hold on this machine alone"
    assert notice in site.run("apply", DDP, "--verify", "none", "--dry-run")
    assert notice in site.run("apply", DDP, "--verify", "none")
    assert site.reads == 1
    assert notice in site.run("doctor")
    for command in (["status"], ["apply", DDP]):  # which write nothing
        assert notice not in site.run(*command)
        assert site.reads == 0


def test_doctor_names_a_filesystem_that_was_never_tried(tmp_path, monkeypatch):
    site = MountedSite(tmp_path, monkeypatch)
    site.mount("lustre")
    site.run("apply", DDP, "--verify", "none")
    assert "is on lustre, where" in site.run("doctor")
    assert "lustre" not in site.run("restore")


def test_real_clients_of_a_real_server(tmp_path):
    """Here it is only seen that the command says why it cannot run, or what it would run; all of it with SITEPATCH_ALL_NFS=1."""
    words = [sys.executable, "-m", "tools.nfs"]
    if not shutil.which("linux.uml"):
        ended = subprocess.run(words, cwd=str(ROOT), env=environ(), capture_output=True, text=True)
        assert ended.returncode == 0 and ended.stdout.startswith("skipped: found no linux.uml")
        pytest.skip(ended.stdout.strip())
    if not os.environ.get("SITEPATCH_ALL_NFS"):
        pytest.skip("minutes: python -m tools.nfs, or SITEPATCH_ALL_NFS=1")
    assert subprocess.run(words, cwd=str(ROOT), env=environ(PATH=os.environ["PATH"])).returncode == 0
