"""Twenty hosts under real ansible-core, then `ansible-test sanity` and `ansible-lint` on the collection.

    python -m tools.fleet [--folder DIR] [--hosts 200]

Needs pip's index for ansible-core and ansible-lint, some minutes (three of CPU), and for three of the hosts an sshd (without one
they are local, too). Fifteen hosts are on connection local, three on an sshd on the loopback address, one has no sitepatch, one
cannot be reached; each has an environment. With `--hosts` only so many local environments, and what the role costs for each beside
`-m ping`. What is made stays in DIR and is taken again; by default it is removed.
"""

from __future__ import annotations

import argparse
import getpass
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

from tests.command import environ, tree
from tests.places import venv, wheel

ROOT = Path(__file__).resolve().parents[1]
HOSTS = [f"n{number:02}" for number in range(1, 21)]
GONE, OVER_SSH, BREAKS, BARE = HOSTS[-1], HOSTS[-4:-1], HOSTS[7], HOSTS[10]
MANIFEST = """\
schema = 1
name = "two"
version = "{0}"
kind = "debug"
summary = "For a test"
[[variant]]
package = "demo"
versions = ""
patches = ["p.spatch"]
[verify]
imports = ["demo.m"]
"""
PLAY = """\
- hosts: all
  gather_facts: false
  serial: "{{ batch | default('100%') }}"
  max_fail_percentage: "{{ 0 if batch is defined else 100 }}"
  roles: [sitepatch.sitepatch.fleet]
"""
BOOTSTRAP = """\
import subprocess, sys
words = [each for each in sys.argv[1:] if each not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"])
subprocess.check_call([sys.executable, "-m", "pip", "install", *words])
"""
"""In place of the script that `ansible-test` downloads: pip comes with Python."""
SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
UsePAM no
StrictModes no
PermitRootLogin yes
PidFile {folder}/sshd.pid
"""


class Fleet:
    """A controller with ansible-core and the wheel of this checkout, and the hosts' environments."""

    def __init__(self, folder):
        self.folder, self.bin, self.reports = folder, folder / "controller/bin", folder / "reports"
        ansible = {"HOST_KEY_CHECKING": "0", "NOCOLOR": "1", "FORKS": "4", "PIPELINING": "1"}
        self.env = environ(
            HOME=str(folder / "home"),
            **{f"ANSIBLE_{name}": value for name, value in ansible.items()},
        )
        self.env = {
            name: value for name, value in self.env.items() if not name.startswith("PYTHON")
        }
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"
        if not self.bin.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.bin.parent)], check=True)
        self.installed = not self.run(
            "python", "-m", "pip", "install", "-q", "ansible-core"
        ).returncode
        self.sites = {}

    def run(self, *words, cwd=None):
        return subprocess.run(
            list(map(str, words)),
            cwd=str(cwd or self.folder),
            env=self.env,
            capture_output=True,
            text=True,
        )

    def done(self, *words, cwd=None):
        ended = self.run(*words, cwd=cwd)
        assert ended.returncode == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def lay_out(self, port, hosts=HOSTS):
        """Install sitepatch, make the hosts, their inventory, and two versions of a patchset."""
        self.done("python", "-m", "pip", "install", "-q", ROOT)
        self.done("python", "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", ROOT)
        demo = wheel(self.folder / "wheels")
        lines = ["[all:vars]", f"ansible_python_interpreter={self.bin}/python", "[all]"]
        over_ssh = f"ansible_host=127.0.0.1 ansible_user={getpass.getuser()} ansible_ssh_private_key_file={self.folder}/key"
        over_ssh += ' ansible_ssh_args="-o ControlMaster=no -o ControlPath=none -o ConnectTimeout=5" ansible_port='
        for name in hosts:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            python, self.sites[name] = venv(self.folder / name)
            with zipfile.ZipFile(demo) as archive:
                archive.extractall(self.sites[name])
            if name != BREAKS:
                (self.sites[name] / "extra.py").write_text("")
            how = (
                f"{over_ssh}9"
                if name == GONE
                else f"{over_ssh}{port}"
                if port and name in OVER_SSH
                else "ansible_connection=local"
            )
            lines.append(
                f"{name} {how} fleet_python={python}{' fleet_sitepatch=/nowhere/sitepatch' if name == BARE else ''}"
            )
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        (self.folder / "play.yml").write_text(PLAY)
        for version, more in ((1, ""), (2, "+import extra\n")):
            mine = self.folder / f"v{version}/two"
            mine.mkdir(parents=True, exist_ok=True)
            (mine / "patchset.toml").write_text(MANIFEST.format(version))
            (mine / "p.spatch").write_text(
                f"Why.\n\n--- demo/m.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = {version + 1}\n{more}"
            )
        shutil.rmtree(self.reports, ignore_errors=True)
        self.reports.mkdir()

    def play(self, *words, **variables):
        """Run the role; returns {host: the counts of the recap} and what was printed."""
        given = {"fleet_names": ["two"], "fleet_patch_dirs": [str(self.folder / "v1")], **variables}
        ended = self.run(
            "ansible-playbook", "-i", "hosts", "play.yml", "-e", json.dumps(given), *words
        )
        recap = re.findall(r"^([nh]\d+) +: (.*)$", ended.stdout, re.MULTILINE)
        assert recap, ended.stdout + ended.stderr
        return {
            host: {key: int(count) for key, count in re.findall(r"(\w+)=(\d+)", counts)}
            for host, counts in recap
        }, ended.stdout

    def trees(self):
        return {name: tree(self.folder / name) for name in HOSTS}

    def values(self):
        """What VALUE is in each host's file: {value: hosts}."""
        found = {}
        for name in HOSTS:
            found.setdefault(
                re.search(r"VALUE = (\d)", (self.sites[name] / "demo/m.py").read_text())[1], []
            ).append(name)
        return found


def hosts_with(recap, key):
    return [host for host in HOSTS if recap.get(host, {}).get(key)]


@contextmanager
def sshd(folder):
    """The port of an sshd on the loopback address; None where there is none."""
    found = shutil.which("sshd", path="/usr/sbin:/sbin")
    if not found:
        print("no sshd: three hosts are local instead")
        yield None
        return
    for name in ("host", "key"):
        if not (folder / name).exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                check=True,
            )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(SSHD.format(port=port, folder=folder))
    if Path("/run").is_dir() and getpass.getuser() == "root":
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(
        [found, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL
    )
    try:
        yield port
    finally:
        server.terminate()
        server.wait()


def scenario(fleet):
    """What the fleet is for, step by step; yields a line for each step that is as it should be."""
    there = [host for host in HOSTS if host not in (BARE, GONE)]
    before = fleet.trees()
    recap, text = fleet.play("--check", "--diff")
    assert hosts_with(recap, "changed") == there and hosts_with(recap, "unreachable") == [GONE], (
        text
    )
    assert text.count("-VALUE = 1\n+VALUE = 2\n") == len(there) and fleet.trees() == before, text
    yield "check mode: 18 would change, the difference is shown, no file and no time of one has changed"

    code = "import sys, demo.m; print('ready', flush=True); sys.stdin.read(); print(demo.m.VALUE)"
    job = subprocess.Popen(
        [str(fleet.folder / "n01/bin/python"), "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout.readline() == "ready\n"
    recap, text = fleet.play(fleet_report=str(fleet.reports))
    assert hosts_with(recap, "changed") == there and fleet.values() == {
        "2": there,
        "1": [BARE, GONE],
    }, text
    assert hosts_with(recap, "failed") == [BARE] and hosts_with(recap, "unreachable") == [GONE], (
        text
    )
    after = fleet.trees()
    recap, text = fleet.play()
    assert (
        hosts_with(recap, "changed") == []
        and hosts_with(recap, "failed") == [BARE]
        and fleet.trees() == after
    ), text
    yield "applied: 18 changed, then 0; one has no sitepatch, one is unreachable"

    assert job.communicate("")[0] == "1\n"
    yield "a process that was running has the code it had loaded"

    answer = json.loads(fleet.run("sitepatch", "status", "--fleet", fleet.reports, "--json").stdout)
    states = {host["host"]: host["state"] for host in answer["hosts"]}
    assert states == {**dict.fromkeys(there, "applied"), BARE: "unknown", GONE: "unknown"}, states
    reasons = {
        host["host"]: " ".join(host["problems"]) for host in answer["hosts"] if host["problems"]
    }
    assert (
        "found no command sitepatch on this host" in reasons[BARE]
        and "connect to host 127.0.0.1" in reasons[GONE]
    ), reasons
    print(fleet.run("sitepatch", "status", "--fleet", fleet.reports).stdout, end="")
    yield "the report has all 20 hosts: 18 applied, two unknown, each with its reason"

    after_failure = fleet.folder / "after"
    shutil.rmtree(after_failure, ignore_errors=True)
    after_failure.mkdir()
    newer = {
        "fleet_patch_dirs": [str(fleet.folder / "v2")],
        "batch": 4,
        "fleet_report": str(after_failure),
    }
    recap, text = fleet.play("--limit", f"all:!{GONE}:!{BARE}", **newer)
    assert (
        hosts_with(recap, "failed") == [BREAKS]
        and "import demo.m failed: ModuleNotFoundError" in text
    ), text
    assert fleet.values() == {"3": HOSTS[:7], "2": there[7:], "1": [BARE, GONE]}, text
    answer = json.loads(fleet.run("sitepatch", "status", "--fleet", after_failure, "--json").stdout)
    reached = [
        host["host"]
        for host in answer["hosts"]
        if "did not come to this host" not in " ".join(host["problems"])
    ]
    assert reached == HOSTS[:8] and len(answer["hosts"]) == len(there), (answer, text)
    yield "a rolling update, four at a time: n08 fails to verify, is not changed and is reported, n09 and later are not touched, and unknown"

    recap, text = fleet.play()
    assert hosts_with(recap, "changed") == HOSTS[:7] and fleet.values()["2"] == there, text
    recap, text = fleet.play(fleet_state="absent", fleet_names=[])
    files = {
        name: {path: what for path, what in found.items() if path.endswith(".py")}
        for name, found in fleet.trees().items()
    }
    was = {
        name: {path: what for path, what in found.items() if path.endswith(".py")}
        for name, found in before.items()
    }
    assert hosts_with(recap, "changed") == there and files == was, text
    yield "rolled back: 7 to the version before, then all 18 restored with mode and mtime"


def sanity(fleet):
    """Run `ansible-test sanity` on a copy of the collection; returns how many tests ran."""
    folder = fleet.folder / "sanity/ansible_collections/sitepatch/sitepatch"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "ansible_collections/sitepatch/sitepatch",
        folder,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    cache = fleet.folder / "home/.ansible/test/cache"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "get_pip_24_2.py").write_text(BOOTSTRAP)
    version = re.search(r"core (\d+\.\d+)", fleet.done("ansible", "--version"))[1]
    ignored = [
        f"plugins/modules/{name}.py validate-modules:missing-gplv3-license\n"
        for name in ("patchset", "patchset_info")
    ]
    (folder / "tests/sanity").mkdir(parents=True)
    # the licence is that of sitepatch
    (folder / f"tests/sanity/ignore-{version}.txt").write_text("".join(ignored))
    python = "{}.{}".format(*sys.version_info[:2])
    ended = fleet.run("ansible-test", "sanity", "--local", "--python", python, cwd=folder)
    assert ended.returncode == 0 and "All targets skipped" not in ended.stderr, (
        ended.stdout + ended.stderr
    )
    return len(re.findall(r"^Running sanity test", ended.stdout + ended.stderr, re.MULTILINE))


def lint(fleet):
    """What `ansible-lint` says of the collection by its strictest profile."""
    if fleet.run("python", "-m", "pip", "install", "-q", "ansible-lint").returncode:
        return "skipped: pip cannot install it here"
    folder = fleet.folder / "sanity/ansible_collections/sitepatch/sitepatch"
    fleet.env["ANSIBLE_COLLECTIONS_PATH"] = str(fleet.folder / "sanity")
    ended = fleet.run(
        "ansible-lint", "--offline", "--nocolor", "--profile", "production", ".", cwd=folder
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return "no failure and no warning"


def cost(fleet, hosts):
    """Seconds a host of the role, the first time and again, with the report, and of `-m ping`."""
    for what, work in (
        ("-m ping", lambda: fleet.done("ansible", "-i", "hosts", "all", "-m", "ping")),
        ("the role, first", lambda: fleet.play(fleet_report=str(fleet.reports))),
        ("the role, nothing to do", lambda: fleet.play(fleet_report=str(fleet.reports))),
        (
            "sitepatch status --fleet",
            lambda: fleet.done("sitepatch", "status", "--fleet", fleet.reports),
        ),
    ):
        begin = time.perf_counter()
        said = work()
        seconds = time.perf_counter() - begin
        print(
            f"{what:<26} {seconds:7.1f} s  {1000 * seconds / len(hosts):6.0f} ms a host", flush=True
        )
    print(said, end="")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="DIR", help="where all of it is made, and stays")
    parser.add_argument(
        "--hosts",
        type=int,
        metavar="N",
        help="only what the role costs for each of so many local hosts",
    )
    asked = parser.parse_args()
    given = asked.folder
    folder = Path(given or tempfile.mkdtemp(prefix="fleet-")).resolve()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    try:
        fleet = Fleet(folder)
        if not fleet.installed:
            print("skipped: pip cannot install ansible-core here")
            return
        if asked.hosts:
            hosts = [f"h{number:03}" for number in range(asked.hosts)]
            fleet.lay_out(None, hosts)
            cost(fleet, hosts)
            return
        with sshd(folder) as port:
            fleet.lay_out(port)
            for line in scenario(fleet):
                print(line, flush=True)
        print(f"ansible-test sanity: {sanity(fleet)} tests pass")
        print(f"ansible-lint: {lint(fleet)}")
    finally:
        if not given:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
