"""The real process under strace: it is killed, or a system call fails, inside the kernel; and no call goes by our own layer.

`SITEPATCH_ALL_FAULTS=1` tries every point, otherwise a sample. Skipped where strace is missing or may not trace.
"""

import os
import random
import re
import shutil
import subprocess
import sys

import pytest

from tests.command import ROOT, environ
from tests.faults.calls import ERRORS, NAMES
from tests.faults.cases import Case

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
CHANGING = (
    "openat,open,creat,write,pwrite64,writev,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,"
    "symlinkat,chmod,fchmod,fchmodat,?fchmodat2,chown,fchown,lchown,fchownat,utimensat,setxattr,fsetxattr,removexattr,"
    "fremovexattr,truncate,ftruncate,fallocate,fsync,fdatasync,copy_file_range,sendfile,mknod,mknodat"
)
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")


def strace(case, *options, log):
    return run(case, "strace", "-f", "-qq", "-s", "0", "-y", "-o", str(log), "-e", f"trace={CHANGING}", *options, sys.executable, "-B")


def run(case, *command):
    case.tiny.reset()
    return subprocess.run(
        [*command, "-m", "patcher", *case.tiny.words(*case.words, version=case.version)], cwd=case.tiny.folder, timeout=120,
        env=environ(PYTHONHASHSEED="0", NO_COLOR="1", PYTHONPATH=str(ROOT)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False,
    )  # fmt: skip


def points(case, tmp_path):
    """(name, number among the calls of that name) of each system call that changes something in the site directory."""
    log = tmp_path / "log"
    run(case, sys.executable)  # writes the bytecode of the imports: otherwise another process may, and calls have other numbers
    done = strace(case, log=log)
    if done.returncode:
        pytest.skip(f"strace may not trace here: {done.stdout.decode()[-200:]}")
    seen, found = {}, []
    for line in log.read_text(errors="replace").split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        name, rest = match.groups()
        seen[name] = seen.get(name, 0) + 1
        if str(case.tiny.site) in rest and (not name.startswith("open") or "O_CREAT" in rest):
            found.append((name, seen[name]))
    return found


@pytest.fixture(params=["apply", "update", "restore"])
def traced(request, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not here")
    case = Case(tmp_path, request.param)
    return case, points(case, tmp_path)


def test_no_system_call_bypasses_our_layer(traced):
    """There are as many as the layer counts: a call it does not know would be a place to die that no test tries."""
    case, found = traced
    assert NAMES
    assert len(found) == case.count, found


def test_the_real_process_is_killed_in_the_kernel_or_a_call_fails_there(traced, tmp_path, counted):
    case, found = traced
    chosen = random.Random(case.name)
    for name, number in found if ALL else chosen.sample(found, 5):
        done = strace(case, "-e", f"inject={name}:signal=KILL:when={number}", log=tmp_path / "log")
        told = f"{case.name}: killed at {name} {number}"
        assert done.returncode in (-9, 137), (told, done.stdout)
        case.next_command(told)
        error = chosen.choice(ERRORS)
        done = strace(case, "-e", f"inject={name}:error={error}:when={number}", log=tmp_path / "log")
        told, text = f"{case.name}: {error} at {name} {number}", done.stdout.decode()
        assert "(INJECTED)" in (tmp_path / "log").read_text(), told
        outcome, _ = case.next_command(told)
        assert done.returncode in (0, 1), (told, text)
        assert (outcome == "new") if done.returncode == 0 else "error:" in text, (told, text)
    counted("real processes killed or failed by strace", 2 * (len(found) if ALL else 5))
