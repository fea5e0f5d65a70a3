"""Two clients of a real NFS server share an environment.

    python -m tools.nfs [--rounds N] [--versions 3,4.2]

The kernel at hand need not know NFS: all of it runs in User-Mode Linux, whose root is this
machine's, read-only. There the server exports an ext4 on a loop device, and each client is a
network, a host name and mounts of its own. Needs root, some minutes, and Debian's user-mode-linux,
nfs-kernel-server, kmod and iproute2; without them it is skipped in words.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.command import ROOT
from tools.clients import SERVER, SHARE, WORK, Client, serve, shell
from tools.shared import EXPORT, SHOW, Shared, commands, lay_out, looks, rounds

TOOLS = (
    "linux.uml",
    "rpc.nfsd",
    "rpc.mountd",
    "rpc.statd",
    "exportfs",
    "rpcbind",
    "mount.nfs",
    "modprobe",
    "ip",
    "unshare",
    "mkfs.ext4",
    "losetup",
)
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
NOTHING_LOST = "nothing is lost"
INIT = """\
#!/bin/sh
export PATH={path} HOME={home} TMPDIR=/mnt PYTHONPATH={root} PYTHONDONTWRITEBYTECODE=1
cd {root}
{python} -m tools.nfs --inside {words} 2>&1
poweroff -f
"""
KERNEL = [
    "linux.uml",
    "mem=2048M",
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "con0=null,fd:1",
    "con=null",
    "quiet",
]


# the lock and a killed commit -----------------------------------------------------------------
COUNT = """
import sys
from pathlib import Path
from patcher.store.folder import Folder
from patcher.store.lock import locked
path = Path(sys.argv[1], "number")
with Folder.open(sys.argv[1]) as site:
    for _ in range(int(sys.argv[2])):
        with locked(site):
            number = int(path.read_text())
            site.put("number", b"%d" % (number + 1))
"""
"""Adds one so many times, each under the lock of the store, as a commit does: read, replaced."""
STOP = """
import os, sys, time, patcher.verbs.main as command, patcher.store.journal as journal
def stop(*words):
    open("/mnt/notes/stopped", "w").close()
    time.sleep(300)
move, phase = journal.Folder.move, sys.argv.pop(1)
if phase == "committing":
    def move_and_stop(folder, old, new):
        move(folder, old, new)
        if old.endswith("-tmp"):
            stop()
    journal.Folder.move = move_and_stop
else:
    journal.put_in_place = stop
    write = journal.write_journal
    journal.write_journal = lambda *words: (write(*words), stop())
command.main()
"""
"""A command that stops in the middle of its commit.

`preparing` is before its commit point, `committing` after a file was replaced.
"""


def count_lost(shared, count):
    """How many increments are lost, of so many by each client and by a process of the server."""
    folder = SHARE / "count"
    setup = f"mkdir -p {folder}/.sitepatch/receipts; echo 0 > {folder}/number"
    shared.clients[0].ask("shell", setup)
    for client in shared.clients:
        client.send("run", sys.executable, "-c", COUNT, str(folder), count)
    own = subprocess.run([sys.executable, "-c", COUNT, str(EXPORT / "count"), str(count)])
    codes = [own.returncode]
    for client in shared.clients:
        code, _, _ = client.receive()
        codes.append(code)
    assert codes == [0, 0, 0]
    return 3 * count - int((EXPORT / "count/number").read_text())


def recovery_of(shared, phase):
    """One client dies in the middle of a commit while the other waits for it.

    That one recovers, then does its own work.

    Returns:
        what it says of the interrupted run.
    """
    first, second = shared.clients
    stopped = WORK / "stopped"
    stopped.unlink(missing_ok=True)
    apply = ["apply", "four", "--verify", "none", "-q", *shared.options]
    pid = first.ask("start", sys.executable, "-c", STOP, phase, *apply)
    while not stopped.exists():
        time.sleep(0.1)
    _, out, _ = second.ask("sitepatch", "status", *shared.options, "--json")
    interrupted = json.loads(out)["interrupted"]
    assert ["on client1" in each["problem"] for each in interrupted] == [True], interrupted

    second.send("sitepatch", "apply", "two", "--verify", "none", *shared.options)
    time.sleep(4)
    assert (shared.site / ".sitepatch/journal.json").exists()
    first.ask("kill", pid)
    code, out, err = second.receive()
    assert code == 0 and "on client1" in err and "an interrupted run was" in err, (code, out, err)
    expected = {"two", "four"} if phase == "committing" else {"two"}
    assert shared.applied(err) == expected, err
    code, _, _ = second.ask("sitepatch", "restore", *shared.options)
    assert code == 0
    return next(line for line in err.splitlines() if "interrupted" in line)


# the scenario ---------------------------------------------------------------------------------
def scenario(version, increments, sequence, pairs):
    """All of it with one version of NFS; prints what was seen, returns how much of it is wrong.

    Args:
        version: of NFS.
        increments: of each client, under the lock of the store.
        sequence: how many commands one after the other.
        pairs: how many rounds of two commands at the same time.
    """
    clients = [Client(number, version) for number in (1, 2)]
    started = time.monotonic()

    def say(text):
        print(f"NFS {version}, {time.monotonic() - started:3.0f} s: {text}", flush=True)

    shared = Shared(clients)
    wrong = count_lost(shared, increments)
    total = f"{3 * increments} increments under the lock of the store"
    say(f"{total}, by both clients and the server: {wrong} lost")
    parts = {
        "6 looks": looks(shared),
        f"{sequence} commands": commands(shared, sequence),
        f"{pairs} rounds of pairs": rounds(shared, pairs),
    }
    for what, problems in parts.items():
        number = 0
        for problem in problems:
            say(problem)
            number += 1
        say(f"{what}: {number} wrong")
        wrong += number
    for phase in ("preparing", "committing"):
        say(f"killed while {phase}: {recovery_of(shared, phase)}")

    clients[0].ask("run", shared.python, "-c", SHOW)
    for client in clients:
        code, out, _ = client.ask("sitepatch", "doctor", "--python", shared.python)
        assert code == 0 and "\n0 problems" in out, out
    clients[1].ask("sitepatch", "restore", "--python", shared.python)
    assert shared.files() == shared.before
    say("restored: every file has its bytes, mode and mtime, and nothing else is left")
    for client in clients:
        client.end()
    return wrong


def inside(versions, *counts):
    """What the first process of User-Mode Linux does."""
    shell(SERVER)
    wrong = 0
    for version in versions.split(","):
        wrong += scenario(version, *map(int, counts))
    print(f"{wrong} things are wrong" if wrong else NOTHING_LOST, flush=True)


# this machine ---------------------------------------------------------------------------------
def main():
    options = parsed()
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=PATH)]
    if missing:
        print(f"skipped: found no {', '.join(missing)}")
        return 0
    if os.geteuid():
        print("skipped: this has to be run as root")
        return 0
    with tempfile.TemporaryDirectory(prefix="nfs-") as folder:
        init = Path(folder, "init")
        words = f"{options.versions} {options.increments} {options.commands} {options.rounds}"
        script = INIT.format(path=PATH, home=WORK, root=ROOT, python=sys.executable, words=words)
        init.write_text(script)
        init.chmod(0o755)
        lines = run_kernel([*KERNEL, f"init={init}"])
    if f"{NOTHING_LOST}\n" in lines:
        print(NOTHING_LOST)
        return 0
    print("".join(lines[-40:]))
    return 1


def run_kernel(command):
    """Run User-Mode Linux to its end; returns its output, of which the figures are printed."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.startswith("NFS "):
                sys.stdout.write(line)
                sys.stdout.flush()
    finally:
        process.kill()
        process.wait()
    return lines


def parsed():
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--versions", default="3,4.2", help="of NFS [3,4.2]")
    add("--increments", default=100, type=int, help="of each client, under the store's lock [100]")
    add("--commands", default=60, type=int, help="one after the other, by turns [60]")
    add("--rounds", default=200, type=int, help="of two commands at the same time [200]")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        serve({"lay out": lay_out})
    elif sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        sys.exit(main())
