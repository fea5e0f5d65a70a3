"""The NFS server and its clients of `tools.nfs`, each client with a network of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

from tests.command import environ, sitepatch

GRACE = 10  # seconds, the least that the server takes
SHARE, WORK = Path("/mnt/share"), Path("/mnt/notes")
"""Where a client has the server's export, and where all of them leave notes."""
STATE = """
mount -t tmpfs state /run; mount -t tmpfs state /var/lib/nfs
mkdir -p /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/sm.bak
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
chown -R statd /var/lib/nfs; rpcbind -w; rpc.statd --no-notify
"""
SERVER = f"""
mount -t proc proc /proc; mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null || true
mount -t tmpfs mnt /mnt
mkdir -p /mnt/modules/lib /mnt/notes /mnt/export /mnt/share
ln -s /usr/lib/uml/modules /mnt/modules/lib/modules
for each in loop veth lockd nfsd nfsv3 nfsv4; do modprobe -d /mnt/modules $each; done
truncate -s 512M /mnt/disk; mkfs.ext4 -q -O ^has_journal /mnt/disk
mount -o loop /mnt/disk /mnt/export
hostname server; ip link set lo up
cat > /mnt/hosts <<END
127.0.0.1 localhost
10.0.1.1 server1
10.0.1.2 client1
10.0.2.1 server2
10.0.2.2 client2
END
mount --bind /mnt/hosts /etc/hosts; mount -t nfsd nfsd /proc/fs/nfsd
{STATE}
exportfs -i -o rw,no_root_squash,no_subtree_check,fsid=0,insecure '*:/mnt/export'
rpc.nfsd -G {GRACE} -L {GRACE} 4; rpc.mountd; echo Y > /proc/fs/nfsd/v4_end_grace
"""
LINK = """
ip link del s{number} 2>/dev/null || true
ip link add s{number} type veth peer name c{number}
ip link set c{number} netns {pid}
ip addr add 10.0.{number}.1/24 dev s{number}; ip link set s{number} up
"""
"""The server's end of the network of a client."""
MOUNT = """
hostname client{number}; ip link set lo up
ip addr add 10.0.{number}.2/24 dev c{number}; ip link set c{number} up
{state}
mount -t nfs -o vers={version},actimeo=60 10.0.{number}.1:{exported} {share}
"""
NAMESPACES = ["--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc"]


def shell(text):
    """Run commands of sh; returns what they print."""
    ended = subprocess.run(["sh", "-ec", text], capture_output=True, text=True)
    assert ended.returncode == 0, f"{text}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


class Client:
    """A client with the server's export on SHARE; a process there answers requests.

    `env` are environment variables of all commands.
    """

    def __init__(self, number, version):
        self.name = f"client{number}"
        self.env = {"SITEPATCH_LOCK_TIMEOUT": "110"}
        command = ["unshare", *NAMESPACES, sys.executable, "-m", "tools.nfs", "--client"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.ask("shell", "true")  # its namespaces are there
        shell(LINK.format(number=number, pid=self.process.pid))
        exported = "/mnt/export" if version.startswith("3") else "/"
        mount = MOUNT.format(
            number=number, state=STATE, version=version, exported=exported, share=SHARE
        )
        self.ask("shell", mount)

    def send(self, kind, *words):
        """Begin a request."""
        request = {"kind": kind, "words": words, "env": self.env}
        self.process.stdin.write(json.dumps(request) + "\n")

    def receive(self):
        """The answer to it."""
        error, answer = json.loads(self.process.stdout.readline())
        assert error is None, error
        return answer

    def ask(self, kind, *words):
        """Both."""
        self.send(kind, *words)
        return self.receive()

    def end(self):
        """Unmount the share, which is empty afterwards, and end the process."""
        self.ask("shell", f"rm -rf {SHARE}/*; umount {SHARE}")
        self.process.stdin.close()
        self.process.wait()


# the process of a client ----------------------------------------------------------------------
def serve(kinds):
    """Answer requests, one a line.

    Args:
        kinds: a function for each kind of request besides those of `answer_to`.
    """
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    with os.fdopen(requests) as lines, os.fdopen(answers, "w", buffering=1) as out:
        for line in lines:
            try:
                answer = [None, answer_to(**json.loads(line), kinds=kinds)]
            except BaseException:
                answer = [traceback.format_exc(), None]
            out.write(json.dumps(answer) + "\n")


def answer_to(kind, words, env, kinds):
    """Do what is asked for; of a command the answer is its exit code, stdout and stderr."""
    if kind == "sitepatch":
        ended = sitepatch(*words, cwd=SHARE / "project", **env)
        return [ended.code, ended.out, ended.err]
    if kind == "run":
        ended = subprocess.run(
            list(map(str, words)),
            env=environ(**env),
            cwd=str(WORK),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return [ended.returncode, ended.stdout, ended.stderr]
    if kind == "start":
        folder = str(SHARE / "project")
        process = subprocess.Popen(words, env=environ(**env), cwd=folder, stdin=subprocess.DEVNULL)
        return process.pid
    if kind == "kill":
        (pid,) = words
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]
    if kind == "shell":
        return shell(*words)
    return kinds[kind](*words)
