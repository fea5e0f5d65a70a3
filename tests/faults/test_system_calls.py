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
    completed = strace(case, log=log)
    if completed.returncode:
        pytest.skip(f"strace may not trace here: {completed.stdout.decode()[-200:]}")
    numbers, changing = {}, []
    for line in log.read_text(errors="replace").split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        name, rest = match.groups()
        numbers[name] = numbers.get(name, 0) + 1
        only_reads = name.startswith("open") and "O_CREAT" not in rest
        if str(case.tiny.site) in rest and not only_reads:
            changing.append((name, numbers[name]))
    return changing


@pytest.fixture(params=["apply", "update", "restore"])
def traced(request, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not here")
    case = Case(tmp_path, request.param)
    return case, points(case, tmp_path)


def test_no_system_call_bypasses_our_layer(traced):
    """There are as many as the layer counts: a call it does not know would be a place to die that no test tries."""
    case, calls = traced
    assert NAMES
    assert len(calls) == case.count, calls


def test_the_real_process_is_killed_in_the_kernel_or_a_call_fails_there(traced, tmp_path, counted):
    case, calls = traced
    chosen = random.Random(case.name)
    sample = calls if ALL else chosen.sample(calls, 5)
    for name, number in sample:
        completed = strace(case, "-e", f"inject={name}:signal=KILL:when={number}", log=tmp_path / "log")
        message = f"{case.name}: killed at {name} {number}"
        assert completed.returncode in (-9, 137), (message, completed.stdout)
        case.next_command(message)
        error = chosen.choice(ERRORS)
        completed = strace(case, "-e", f"inject={name}:error={error}:when={number}", log=tmp_path / "log")
        message = f"{case.name}: {error} at {name} {number}"
        text = completed.stdout.decode()
        assert "(INJECTED)" in (tmp_path / "log").read_text(), message
        outcome, _ = case.next_command(message)
        assert completed.returncode in (0, 1), (message, text)
        if completed.returncode == 0:
            assert outcome == "new", (message, text)
        else:
            assert "error:" in text, (message, text)
    counted("real processes killed or failed by strace", 2 * len(sample))
