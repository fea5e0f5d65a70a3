"""The real command, run as a child on throw-away directories of packages; shared by the scenarios."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from patcher.patchset.manifest import load_patchset
from patcher.verbs.demo import lay_out
from tests import starts

UV = next(filter(None, (shutil.which("uv", path=path) for path in (str(Path(sys.executable).parent), None))), None)  # the test extra has it
ROOT = Path(__file__).resolve().parents[1]
DDP, GUARD, DYNAMO = "mmengine-ddp-debug", "torch-musa-guard", "torch-dynamo-suppress"
DDP_VERSION = load_patchset(ROOT / "patchsets" / DDP, "here").version
RUNNER = "mmengine/runner/runner.py"
CHANGED = {"mmengine/_strategy/distributed.py", "mmengine/dist/utils.py", RUNNER}  # by DDP


class Ended:
    """How a child ended: exit code, stdout and stderr as text, stdout as bytes."""

    def __init__(self, done):
        self.code, self.data = done.returncode, done.stdout
        self.out, self.err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit code {self.code}\n{self.out}\n--- stderr\n{self.err}"


def done(ended, code=0):
    """`ended`, if it ended with this exit code."""
    assert ended.code == code, ended
    return ended


def environ(**more):
    """The variables for a child: nothing that names an environment or asks for colours."""
    dropped = ("VIRTUAL_ENV", "CONDA_", "NO_COLOR", "FORCE_COLOR", "PAGER", "LESS", "_SITEPATCH", "PYTHONPATH", "PYTHONIOENCODING")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def sitepatch(*words, cwd, **more):
    """Run `sitepatch WORDS`; `cwd` is never the checkout, whose ./patchsets would be found."""
    return Ended(starts.run([str(word) for word in words], cwd=cwd, env=environ(**more)))


def shown(*words, cwd, **more):
    """Run a command with stdout on a wide terminal, and stderr in a file."""
    leader, follower = os.openpty()
    with open(leader, "rb"), ThreadPoolExecutor(1) as reader:
        written = reader.submit(_all_of, leader)
        env = environ(SITEPATCH_PAGER="cat", TERM="xterm", COLUMNS="9999", PYTHONIOENCODING="utf-8", **more)
        try:
            ended = starts.run([str(word) for word in words], cwd=cwd, env=env, terminal=follower)
        finally:
            os.close(follower)
        ended.stdout = written.result()
    return Ended(ended)


def _all_of(leader):
    """Everything written to a terminal until its other end is closed."""
    data = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError as error:  # Linux: the other end is closed
            assert error.errno == errno.EIO
            part = b""
        if not part:
            return data.replace(b"\r\n", b"\n")
        data += part


def on_a_terminal(cwd, *words, columns=200, **more):
    """Run a command with stdout and stderr on a terminal; returns the exit code and all that it wrote there."""
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "patcher", *map(str, words)]
    env = environ(**{"PAGER": "cat", "TERM": "xterm", "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8", **more})
    child = subprocess.Popen(command, env=env, cwd=str(cwd), stdin=subprocess.DEVNULL, stdout=follower, stderr=follower)
    os.close(follower)
    try:
        data = _all_of(leader)
        code = child.wait(timeout=60)
    finally:
        child.kill()
        os.close(leader)
    return code, data.decode("utf-8")


def tree(folder):
    """Everything below a folder: (content, mode, mtime_ns) of files and links, the names of directories."""
    entries = {}
    for path in sorted(Path(folder).rglob("*")):
        stat = path.lstat()
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = (os.readlink(path), stat.st_mode, stat.st_mtime_ns)
        elif path.is_dir():
            entries[name] = "directory"
        else:
            entries[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), stat.st_mode, stat.st_mtime_ns)
    return entries


class Site:
    """A `--target` directory of stand-ins, and the command on it."""

    def __init__(self, folder, *fixtures):
        self.path = folder / "site"
        self.cwd = folder
        for name in fixtures:
            lay_out(name, self.path)
        for path in self.path.rglob("*.py"):  # an mtime with nanoseconds, and a mode that is not the umask's
            os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
            path.chmod(0o640)

    def __call__(self, *words, **more):
        return sitepatch(*words, "--target", self.path, cwd=self.cwd, **more)

    def tree(self):
        return tree(self.path)

    def file(self, path=RUNNER):
        return self.path / path

    def source(self, name, **changes):
        """A copy of a built-in patchset in ./patchsets beside the site, with texts replaced; returns its folder."""
        from patcher.patchset.places import builtin_dir

        folder = self.cwd / "patchsets" / name
        folder.mkdir(parents=True)
        for path in filter(Path.is_file, (Path(builtin_dir()) / name).iterdir()):
            text = path.read_text(encoding="utf-8")
            for old, new in changes.get(path.suffix[1:], ()):
                assert old in text
                text = text.replace(old, new)
            (folder / path.name).write_text(text, encoding="utf-8")
        return folder


def killed_once_committed(site, *words):
    """Run the command on the site and kill it right after its commit point: the files are still the old ones."""
    code = (
        "import json, os, sys\n"
        "from patcher.verbs.main import main\n"
        "replace = os.replace\n"
        "def stop(old, new, **where):\n"
        "    replace(old, new, **where)\n"
        f"    if new == 'journal.json' and json.load(open({str(site.path / '.sitepatch/journal.json')!r}))['phase'] == 'committing':\n"
        "        os._exit(9)\n"
        "os.replace = stop\n"
        f"sys.argv = {['sitepatch', *words, '--target', str(site.path)]!r}\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], env=environ(), cwd=str(site.cwd), stdout=subprocess.PIPE)
    assert ended.returncode == 9


def changed(before, after):
    """The paths that differ between two results of `tree`."""
    return {name for name in before if before[name] != after.get(name)}
