"""Commands without the start of an interpreter: a process that has imported sitepatch and libcst forks one for each.

A start and its imports are four fifths of what most commands cost. The fork has the arguments, variables, directory and
streams that it is given, an exit code of its own, and runs and ends as `python -m patcher` does.
"""

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_FIXED = ("PYTHON", "LC_", "LANG", "LD_", "HOME")  # what an interpreter heeds when it starts
_CRASH = 1 << 16  # no exit status of a process
_MOST = 3  # processes that fork
_servers = {}


def run(words, *, cwd, env, timeout=300, terminal=None):
    """Run `python -m patcher WORDS` without input, as `subprocess.run` would; where `terminal` is a descriptor, stdout is that.

    A real process is started where a fork could not be the same: for variables that an interpreter heeds and few tests set.
    """
    server = None if "COVERAGE_PROCESS_START" in env else _server(env)
    if server is None:
        command = [sys.executable, "-m", "patcher", *words]
        out, null = subprocess.PIPE if terminal is None else terminal, subprocess.DEVNULL
        return subprocess.run(command, cwd=str(cwd), env=env, stdin=null, stdout=out, stderr=subprocess.PIPE, timeout=timeout)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        mine, others = socket.socketpair()
        with mine, others:
            fds = array.array("i", [others.fileno(), out.fileno() if terminal is None else terminal, err.fileno()])
            server.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            others.close()
            mine.settimeout(timeout)
            mine.sendall(json.dumps([words, str(cwd), env]).encode() + b"\n")
            status = int(mine.recv(16) or _CRASH)
        assert status != _CRASH, "the process that forks has died"
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def _server(env):
    """The socket of the process that forks for this one with such variables; None where there are enough of them."""
    fixed = {name: value for name, value in env.items() if value and name.startswith(_FIXED)}
    if "PYTHONNOUSERSITE" in fixed:
        fixed.pop("HOME", None)  # it is where a user's packages would be
    key = (os.getpid(), *sorted(fixed.items()))
    if key not in _servers and len(_servers) < _MOST:
        mine, others = socket.socketpair()
        command = [sys.executable, "-m", "tests.starts", str(others.fileno())]
        null = subprocess.DEVNULL
        child = subprocess.Popen(
            command, cwd=str(Path(__file__).parents[1]), env=env, pass_fds=[others.fileno()], start_new_session=True, stdin=null, stdout=null, stderr=null
        )
        others.close()
        _servers[key] = mine
        atexit.register(lambda: (mine.close(), child.wait()))
    return _servers.get(key)


def import_all():
    """Import what any command may import, and run none of it."""
    import patcher.__main__
    from patcher.verbs import commands

    for package in ("verbs", "verbs.releases", "author", "author.hunks", "engine", "planner", "store"):
        found = importlib.import_module(f"patcher.{package}")
        for module in pkgutil.iter_modules(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    assert commands
    assert "libcst" in sys.modules, patcher


def _requests(control):
    """Fork for each request; returns in the fork that is to be the command, once its surroundings are those of the request."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        byte, more, _, _ = control.recvmsg(1, socket.CMSG_SPACE(3 * 4))
        if not byte:
            os._exit(0)  # the tests have ended
        client, out, err = array.array("i", more[0][2])
        if not os.fork():
            break
        for fd in (client, out, err):
            os.close(fd)
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=client) as asked:
        child = os.fork()
        if child:
            asked.sendall(b"%d" % os.waitpid(child, 0)[1])
            os._exit(0)
        with asked.makefile() as lines:
            words, cwd, env = json.loads(lines.readline())
    for fd, place in ((out, 1), (err, 2)):
        os.dup2(fd, place)
        os.close(fd)
    if os.isatty(1):
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - the one that is there is a file
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    sys.argv = [sys.modules["patcher.__main__"].__file__, *words]
    random.seed()


if __name__ == "__main__":
    sys.path.pop(0)  # the checkout: sitepatch is the one that PYTHONPATH names
    import_all()
    gc.freeze()
    _requests(socket.socket(fileno=int(sys.argv[1])))
    sys.modules["patcher.__main__"].main()
