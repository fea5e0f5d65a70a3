"""Two clients of a real NFS server share an environment: `python -m tools.nfs [--rounds N] [--versions 3,4.2]`.

The kernel at hand need not know NFS: all of it runs in User-Mode Linux, whose root is this machine's, read-only. There the server
exports an ext4 on a loop device, and each client is a network, a host name and mounts of its own. Needs root, some minutes, and
Debian's user-mode-linux, nfs-kernel-server, kmod and iproute2; without them it is skipped in words.
"""

from __future__ import annotations

import argparse
import json
import marshal
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from pathlib import Path
from typing import Callable, NamedTuple

from patcher.store.store import Store
from tests.command import ROOT, done, environ, sitepatch, tree
from tests.hooks import packed
from tests.places import patchset, venv, wheel

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
GRACE = 10  # seconds, the least that the server takes
SHARE, WORK = Path("/mnt/share"), Path("/mnt/notes")
STATE = (
    "mount -t tmpfs state /run; mount -t tmpfs state /var/lib/nfs; mkdir -p /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/sm.bak; "
    "touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state; chown -R statd /var/lib/nfs; rpcbind -w; rpc.statd --no-notify"
)
SERVER = f"""
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null || true
mount -t tmpfs mnt /mnt
mkdir -p /mnt/modules/lib /mnt/notes /mnt/export /mnt/share; ln -s /usr/lib/uml/modules /mnt/modules/lib/modules
for each in loop veth lockd nfsd nfsv3 nfsv4; do modprobe -d /mnt/modules $each; done
truncate -s 512M /mnt/disk; mkfs.ext4 -q -O ^has_journal /mnt/disk; mount -o loop /mnt/disk /mnt/export
hostname server; ip link set lo up
printf '127.0.0.1 localhost\\n10.0.1.1 server1\\n10.0.1.2 client1\\n10.0.2.1 server2\\n10.0.2.2 client2\\n' > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts; mount -t nfsd nfsd /proc/fs/nfsd
{STATE}
exportfs -i -o rw,no_root_squash,no_subtree_check,fsid=0,insecure '*:/mnt/export'
rpc.nfsd -G {GRACE} -L {GRACE} 4; rpc.mountd; echo Y > /proc/fs/nfsd/v4_end_grace
"""


def shell(text):
    """Run commands of sh; returns what they print."""
    ended = subprocess.run(["sh", "-ec", text], capture_output=True, text=True)
    assert ended.returncode == 0, f"{text}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


# a client ------------------------------------------------------------------------------------------------------------------
def serve():
    """What the process of a client does: one request a line, one answer a line."""
    asked, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    with os.fdopen(asked) as lines, os.fdopen(answers, "w", buffering=1) as out:
        for line in lines:
            try:
                answer = [None, answer_to(**json.loads(line))]
            except BaseException:
                answer = [traceback.format_exc(), None]
            out.write(json.dumps(answer) + "\n")


def answer_to(kind, words, env):
    """What is asked for, done; of a command the answer is its exit code, stdout and stderr."""
    if kind == "sitepatch":
        ended = sitepatch(*words, cwd=SHARE / "project", **env)
        return [ended.code, ended.out, ended.err]
    given = {"env": environ(**env), "cwd": str(WORK), "stdin": subprocess.DEVNULL}
    if kind == "run":
        ended = subprocess.run(list(map(str, words)), **given, capture_output=True, text=True)
        return [ended.returncode, ended.stdout, ended.stderr]
    if kind == "start":
        return subprocess.Popen(words, **{**given, "cwd": str(SHARE / "project")}).pid
    if kind == "kill":
        os.kill(words[0], signal.SIGKILL)
        return os.waitpid(words[0], 0)[1]
    return {"shell": shell, "lay out": lay_out}[kind](*words)


class Client:
    """A client with the server's export on SHARE; a process there answers requests."""

    def __init__(self, number, version):
        self.name, self.env = f"client{number}", {"SITEPATCH_LOCK_TIMEOUT": "110"}
        command = [
            "unshare",
            "--net",
            "--uts",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            sys.executable,
            "-m",
            "tools.nfs",
            "--client",
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.ask("shell", "true")  # its namespaces are there
        server, address, link = f"10.0.{number}.1", f"10.0.{number}.2", f"c{number}"
        shell(
            f"ip link del s{number} 2>/dev/null || true; ip link add s{number} type veth peer name {link}; ip link set {link} netns {self.process.pid}; "
            f"ip addr add {server}/24 dev s{number}; ip link set s{number} up"
        )
        exported = "/mnt/export" if version.startswith("3") else "/"
        self.ask(
            "shell",
            f"hostname {self.name}; ip link set lo up; ip addr add {address}/24 dev {link}; ip link set {link} up; {STATE}; "
            f"mount -t nfs -o vers={version},actimeo=60 {server}:{exported} {SHARE}",
        )

    def send(self, kind, *words):
        self.process.stdin.write(json.dumps({"kind": kind, "words": words, "env": self.env}) + "\n")

    def receive(self):
        error, answer = json.loads(self.process.stdout.readline())
        assert error is None, error
        return answer

    def ask(self, kind, *words):
        self.send(kind, *words)
        return self.receive()

    def end(self):
        self.ask("shell", f"rm -rf {SHARE}/*; umount {SHARE}")
        self.process.stdin.close()
        self.process.wait()


# the environment -----------------------------------------------------------------------------------------------------------
FILES = {
    "demo/__init__.py": "",
    "demo/m.py": "VALUE = 1\nOTHER = 1\n",
    "demo/n.py": "VALUE = 1\n",
    "demo/h.py": "VALUE = 1\n",
}
PLACES = {
    "two": {"demo/m.py": "VALUE"},
    "four": {"demo/m.py": "OTHER", "demo/n.py": "VALUE"},
    "kept": {"demo/h.py": "VALUE"},
}
"""Which name each patchset changes in which file, from 1 to 2; `kept` is what the hook keeps applied."""
ALL = frozenset(PLACES)
SHOW = (
    "import demo.m, demo.n, demo.h; print(demo.m.VALUE, demo.m.OTHER, demo.n.VALUE, demo.h.VALUE)"
)


def sources(applied):
    """The text of each file while these patchsets are applied."""
    texts = dict(FILES)
    for name in applied:
        for path, variable in PLACES[name].items():
            texts[path] = texts[path].replace(f"{variable} = 1", f"{variable} = 2")
    return texts


def shown(applied):
    """What SHOW prints."""
    return " ".join("2" if each in applied else "1" for each in ("two", "four", "four", "kept"))


class Shared:
    """The environment on the share, made by the first client; the server looks at it in /mnt/export."""

    def __init__(self, clients):
        self.clients, first = clients, clients[0]
        self.python = first.ask("lay out")
        (self.site,) = Path("/mnt/export/env").glob("lib/python3*/site-packages")
        for client in clients:
            client.env.update(
                HOME=str(SHARE / "home"),
                SITEPATCH_CACHE=str(SHARE / "cache"),
                PYTHONDONTWRITEBYTECODE="",
            )
        self.before = self.files()

    def files(self):
        return {
            path: what
            for path, what in tree(self.site).items()
            if "_sitepatch_hook" not in path and "__pycache__" not in path
        }

    def applied(self, told):
        """The patchsets that are applied, as the server sees it: files, receipts and copies all say the same.

        Also that nothing is under way or left over, and no bytecode is of another text than the source it would be taken for.
        """
        store = Store(str(self.site))
        receipts = store.receipts()
        found = {step.patchset for one in receipts.values() for step in one.steps}
        texts = {path: (self.site / path).read_text() for path in FILES}
        assert texts == sources(found), (told, texts, found)
        assert set(receipts) == {path for name in found for path in PLACES[name]}, (
            told,
            sorted(receipts),
            found,
        )
        for path, one in receipts.items():
            assert store.pristine(one.pristine.sha256).decode() == FILES[path], told
        left = [
            path.name
            for path in self.site.rglob("*")
            if ".sitepatch-" in path.name or path.name in ("journal.json", "journal.json.tmp")
        ]
        assert (store.interrupted(), left) == ("", []), told
        assert (self.site / ".sitepatch").exists() == bool(found), told
        for pyc in self.site.glob("demo/__pycache__/*.pyc"):
            source = pyc.parents[1] / f"{pyc.name.split('.')[0]}.py"
            data, info, header = pyc.read_bytes(), source.stat(), pyc.read_bytes()[8:16]
            if header == int(info.st_mtime).to_bytes(4, "little") + info.st_size.to_bytes(
                4, "little"
            ):
                where = str(SHARE / source.relative_to("/mnt/export"))
                assert marshal.loads(data[16:]) == compile(
                    source.read_text(), where, "exec", dont_inherit=True
                ), (told, pyc)
        return frozenset(found)


def lay_out():
    """On a client: an environment with `demo`, the patchsets, a project that asks for `two` and `kept`, and a hook that keeps `kept`."""
    folder = SHARE / "project"
    folder.mkdir()
    python, site = venv(SHARE / "env")
    with zipfile.ZipFile(wheel(folder, files=FILES)) as archive:
        archive.extractall(site)
    (SHARE / "links").mkdir()
    for path in FILES:  # as uv installs from its cache: what was unpacked goes on to be there
        os.link(site / path, SHARE / "links" / path.replace("/", "-"))
    for name, places in PLACES.items():
        patchset(folder, name=name)
        hunks = [
            f"--- {path}\n@@ <module> @@\n-{variable} = 1\n+{variable} = 2\n"
            for path, variable in places.items()
        ]
        (folder / "mine" / name / "p.spatch").write_text("Why.\n\n" + "".join(hunks))
    (folder / "pyproject.toml").write_text(
        '[tool.sitepatch]\npatchsets = ["two", "kept"]\npatch-dir = "mine"\n'
    )
    done(sitepatch("hook", "init", "hook", "kept", "--patch-dir", "mine", cwd=folder))
    with zipfile.ZipFile(packed(folder / "hook", folder / "dist")) as archive:
        archive.extractall(site)
    return str(python)


# what both clients do ------------------------------------------------------------------------------------------------------
class Act(NamedTuple):
    """What a client does, and what it makes of the patchsets that are applied."""

    words: tuple
    becomes: Callable


def acts(python):
    """What a client does, by name."""
    more = ("--python", python, "--patch-dir", "mine")
    quick = (*more, "--verify", "none")
    given = {
        "apply two": (quick, lambda applied: applied | {"two"}),
        "apply four": (quick, lambda applied: applied | {"four"}),
        "apply two four": (more, lambda applied: applied | {"two", "four"}),
        "restore two": (more, lambda applied: applied - {"two"}),
        "restore four": (more, lambda applied: applied - {"four"}),
        "restore kept": (more, lambda applied: applied - {"kept"}),
        "restore": (more, lambda applied: frozenset()),
        "sync": (quick, lambda applied: frozenset({"two", "kept"})),
        "status": ((*more[:4], "--json"), lambda applied: applied),
        "check two": (more[:4], lambda applied: applied),
        "run --overlay two": (
            (*more, "--", python, "-c", SHOW),
            lambda applied: applied | {"kept"},
        ),
    }
    found = {
        name: Act(("sitepatch", *name.split(), *words), becomes)
        for name, (words, becomes) in given.items()
    }
    return {**found, "start": Act(("run", python, "-c", SHOW), lambda applied: applied | {"kept"})}


def problem(name, answer, may, alone):
    """What is wrong with the answer to an act; "" if nothing is.

    Args:
        name: of the act.
        answer: exit code, stdout, stderr.
        may: each set of patchsets that may have been applied meanwhile.
        alone: whether the other client did nothing; else a start may see files from before and after another's commit.
    """
    code, out, err = answer
    if name == "status":
        told = json.loads(out)
        seen = frozenset(each["name"] for each in told["patchsets"])
        return (
            ""
            if (told["ok"] and seen in may) or (not alone and told["interrupted"])
            else f"it tells of {sorted(seen)}"
        )
    if code:
        told_so = name.startswith("run") and "start the command again" in err and not alone
        return "" if told_so else f"exit code {code}"
    if name == "start" or name.startswith("run"):
        seen, expected = (
            out.split("\n")[-2],
            {shown({*each, "kept", *["two"] * name.startswith("run")}) for each in may},
        )
        return (
            "" if seen in expected or not alone else f"prints {seen}, expected {sorted(expected)}"
        )
    return ""


def commands(shared, count):
    """One command after the other: each second one is the other client's look at what the one before has made."""
    every, chance, applied = acts(shared.python), random.Random(7), frozenset()
    known = [
        ("start", "start"),
        ("apply two", "status"),
        ("restore kept", "start"),
        ("apply four", "run --overlay two"),
        ("restore", "status"),
    ]
    for number in range(count // 2):
        pair = (
            known[number]
            if number < len(known)
            else (chance.choice(sorted(every)), chance.choice(["status", "start", "check two"]))
        )
        for client, each in zip(shared.clients[:: (-1) ** number], pair):
            answer = client.ask(*every[each].words)
            applied = every[each].becomes(applied)
            told = f"pair {number} of commands, {pair}: {each!r} on {client.name}: {sorted(applied)}: {answer}"
            found = problem(each, answer, {applied}, alone=True)
            now = shared.applied(told)
            if now != applied and not found:
                found = f"applied is {sorted(now)}"
            if found:
                yield f"{found}: {told}"
            applied = now
    shared.clients[1].ask(*every["restore"].words)


def looks(shared):
    """What a client makes of a file that it has just read and that another one has replaced, while the old text lives on.

    A hard link keeps it, so that the server finds the file as this client knows it; Python itself would read that.
    """
    first, second = shared.clients
    more, path = (
        ("--python", shared.python, "--patch-dir", "mine"),
        SHARE / shared.site.relative_to("/mnt/export") / "demo/m.py",
    )
    # a store is there before and after: the site directory stays as it is
    first.ask("run", shared.python, "-c", SHOW)
    for words in (
        "status",
        "diff",
        "status two --verify import",
        "restore two --dry-run",
        "check two",
        "apply two --dry-run",
    ):
        second.ask("sitepatch", "restore", "two", *more)
        second.ask("shell", f"ln -f {path} {SHARE}/links/kept")
        assert "VALUE = 1" in first.ask("shell", f"cat {path}")
        made = second.ask("sitepatch", "apply", "two", "--verify", "none", *more)
        assert shared.applied(made) == {"two", "kept"}, made
        answer = first.ask("sitepatch", *words.split(), *more)
        if answer[0] or "overwritten" in str(answer) or "reinstall" in str(answer):
            then = first.ask(
                "shell", f"cat {path}; stat {path} {path.parent}; ls -la {path.parent}"
            )
            yield f"{words} takes an old text for what is there: {answer}; {then}"
    second.ask("sitepatch", "restore", *more)


def rounds(shared, count):
    """Pairs of commands at the same time, of any kind."""
    every, chance, applied = acts(shared.python), random.Random(8), frozenset()
    for number in range(count):
        names = [chance.choice(sorted(every)) for _ in shared.clients]
        for client, name in zip(shared.clients, names):
            client.send(*every[name].words)
        answers = [client.receive() for client in shared.clients]
        one, other = (every[name].becomes for name in names)
        after = {one(other(applied)), other(one(applied))}
        may = {applied, one(applied), other(applied), *after}
        told = f"round {number}, {names} at {sorted(applied)}: {answers}"
        for name, answer in zip(names, answers):
            found = problem(name, answer, may, alone=False)
            if found:
                yield f"{name}: {found}: {told}"
        applied = shared.applied(told)
        if applied not in after:
            yield f"{sorted(applied)}: {told}"
    shared.clients[0].ask(*every["restore"].words)


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
"""Adds one so many times, each under the lock of the store, as a commit does: read, and replaced."""
STOP = """
import os, sys, time, patcher.verbs.main as command, patcher.store.journal as journal
def stop(*words):
    open("/mnt/notes/stopped", "w").close()
    time.sleep(300)
move, phase = journal.Folder.move, sys.argv.pop(1)
if phase == "committing":
    journal.Folder.move = lambda folder, old, new: (move(folder, old, new), old.endswith("-tmp") and stop())
else:
    journal.put_in_place = stop
    write = journal.write_journal
    journal.write_journal = lambda *words: (write(*words), stop())
command.main()
"""
"""A command that stops in the middle of its commit: `preparing` before its commit point, `committing` after a file was replaced."""


def counted(shared, count):
    """How many of so many increments of each client, and of a process of the server, are lost."""
    folder = SHARE / "count"
    shared.clients[0].ask(
        "shell", f"mkdir -p {folder}/.sitepatch/receipts; echo 0 > {folder}/number"
    )
    for client in shared.clients:
        client.send("run", sys.executable, "-c", COUNT, str(folder), count)
    own = subprocess.run([sys.executable, "-c", COUNT, "/mnt/export/count", str(count)])
    ends = [own.returncode, *(client.receive()[0] for client in shared.clients)]
    assert ends == [0, 0, 0]
    return 3 * count - int(Path("/mnt/export/count/number").read_text())


def killed(shared, phase):
    """One client dies in the middle of a commit while the other waits for it: that one recovers, then does its own work."""
    first, second = shared.clients
    more = ("--python", shared.python, "--patch-dir", "mine")
    (WORK / "stopped").unlink(missing_ok=True)
    pid = first.ask(
        "start", sys.executable, "-c", STOP, phase, "apply", "four", "--verify", "none", "-q", *more
    )
    while not (WORK / "stopped").exists():
        time.sleep(0.1)
    looked = json.loads(second.ask("sitepatch", "status", *more, "--json")[1])
    assert ["on client1" in each["problem"] for each in looked["interrupted"]] == [True], looked
    second.send("sitepatch", "apply", "two", "--verify", "none", *more)
    time.sleep(4)
    assert (shared.site / ".sitepatch/journal.json").exists()
    first.ask("kill", pid)
    code, out, err = second.receive()
    assert code == 0 and "on client1" in err and "an interrupted run was" in err, (code, out, err)
    assert shared.applied(err) == {"two", *["four"] * (phase == "committing")}, err
    assert second.ask("sitepatch", "restore", *more)[0] == 0
    return next(line for line in err.splitlines() if "interrupted" in line)


def scenario(version, counts):
    """All of it with one version of NFS; prints what was seen and returns how much of it is wrong."""
    clients, begun, wrong = [Client(number, version) for number in (1, 2)], time.monotonic(), 0

    def say(text):
        print(f"NFS {version}, {time.monotonic() - begun:3.0f} s: {text}", flush=True)

    shared = Shared(clients)
    lost = counted(shared, counts[0])
    say(
        f"{3 * counts[0]} increments under the lock of the store, by both clients and the server: {lost} lost"
    )
    done = {
        "6 looks": looks(shared),
        f"{counts[1]} commands": commands(shared, counts[1]),
        f"{counts[2]} rounds of pairs": rounds(shared, counts[2]),
    }
    for what, found in done.items():
        problems = [say(each) for each in found]
        say(f"{what}: {len(problems)} wrong")
        wrong += len(problems)
    for phase in ("preparing", "committing"):
        say(f"killed while {phase}: {killed(shared, phase)}")
    clients[0].ask("run", shared.python, "-c", SHOW)
    for client in clients:
        code, out, _ = client.ask("sitepatch", "doctor", "--python", shared.python)
        assert code == 0 and "\n0 problems" in out, out
    clients[1].ask("sitepatch", "restore", "--python", shared.python)
    assert shared.files() == shared.before
    say("restored: every file has its bytes, mode and mtime, and nothing else is left")
    for client in clients:
        client.end()
    return wrong + lost


def inside(versions, *counts):
    """What the first process of User-Mode Linux does."""
    shell(SERVER)
    wrong = sum(scenario(version, list(map(int, counts))) for version in versions.split(","))
    print("nothing is lost" if not wrong else f"{wrong} things are wrong", flush=True)


INIT = """\
#!/bin/sh
export PATH={path} HOME={home} TMPDIR=/mnt PYTHONPATH={root} PYTHONDONTWRITEBYTECODE=1
cd {root}
{python} -m tools.nfs --inside {words} 2>&1
poweroff -f
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--versions", default="3,4.2", help="of NFS [3,4.2]")
    parser.add_argument(
        "--increments",
        default=100,
        type=int,
        help="of each client, under the lock of the store [100]",
    )
    parser.add_argument(
        "--commands", default=60, type=int, help="one after the other, by turns [60]"
    )
    parser.add_argument(
        "--rounds", default=200, type=int, help="of two commands at the same time [200]"
    )
    given = parser.parse_args()
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=PATH)]
    if missing or os.geteuid():
        print(
            f"skipped: {'found no ' + ', '.join(missing) if missing else 'this has to be run as root'}"
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="nfs-") as folder:
        init = Path(folder, "init")
        words = f"{given.versions} {given.increments} {given.commands} {given.rounds}"
        init.write_text(
            INIT.format(path=PATH, home="/mnt/notes", root=ROOT, python=sys.executable, words=words)
        )
        init.chmod(0o755)
        kernel = [
            "linux.uml",
            "mem=2048M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init={init}",
            "con0=null,fd:1",
            "con=null",
            "quiet",
        ]
        ended = subprocess.Popen(
            kernel,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        said = []
        try:
            for line in ended.stdout:
                said.append(line)
                if line.startswith("NFS "):
                    sys.stdout.write(line)
                    sys.stdout.flush()
        finally:
            ended.kill()
            ended.wait()
    ok = "nothing is lost\n" in said
    print("nothing is lost" if ok else "".join(said[-40:]))
    return 0 if ok else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        serve()
    elif sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        sys.exit(main())
