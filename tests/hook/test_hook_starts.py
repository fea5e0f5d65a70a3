"""A start of Python with a hook succeeds whatever its surroundings are: no usable stderr, few file descriptors, foreign locks."""

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import threading
import time

import pytest

from patcher.installed.interpreter import Environment
from patcher.store import retry
from patcher.verbs import hook as hooks
from patcher.verbs import hook_start
from tests.command import environ
from tests.failures import STDERRS
from tests.hooks import Place
from tests.interpreters import interpreters
from tests.places import patchset

pytestmark = pytest.mark.once

HERE = sys.version_info[:2]
VERSIONS = sorted({version for version in interpreters() if version >= (3, 8)} | {HERE})
EVERY = pytest.mark.parametrize("place", VERSIONS, indirect=True, ids=lambda version: "{}.{}".format(*version))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The path of a hook's wheel, the same for every interpreter."""
    place = Place(tmp_path_factory.mktemp("made"))
    place.init()
    return str(place.wheel())


@pytest.fixture
def place(request, tmp_path, wheel):
    """An environment of the interpreter that a test asks for, with that hook."""
    place = Place(tmp_path, python=interpreters().get(getattr(request, "param", HERE), sys.executable))
    place.put(wheel)
    return place


# stderr that cannot be written ------------------------------------------------------------------------------------------
def started(place, stderr, mode=""):
    """(exit code, stdout) of a start whose stderr is a file, closed, a full device or a pipe that nobody reads."""
    open_stderr, redirection = STDERRS[stderr]
    variables = environ(PYTHONPATH="", SITEPATCH_HOOK=mode)
    words = ["/bin/sh", "-c", f'exec "$0" -c "print(\'started\')" {redirection}', str(place.python)]
    descriptor = open_stderr()
    try:
        completed = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=descriptor, timeout=60)
    finally:
        os.close(descriptor)
    return completed.returncode, completed.stdout.decode()


def replace(name, text):
    return lambda place: (place.folder / name).write_text(text)


MESSAGES = {
    "applied": (lambda place: None, ""),
    "not applied, mode warn": (lambda place: None, "warn"),
    "does not fit": (lambda place: place.unpack("demo", "3.0"), ""),
    "damaged state": (replace("state", "?"), ""),
    "missing hook.json": (lambda place: (place.folder / "hook.json").unlink(), ""),
    "damaged patchset": (replace("patchsets/two/patchset.toml", "{"), ""),
    "sitepatch gone": (lambda place: (place.site / "checkout.pth").unlink(missing_ok=True), ""),
    "damaged sitepatch": (lambda place: place.change_engine("("), ""),
    "child killed": (lambda place: place.change_engine("import os; os.kill(os.getpid(), 9)"), ""),
}


def assert_stderr_does_not_matter(place, wheel, spoil, *modes):
    """Starts in these modes, one after the other, do the same whatever stderr is, and the first one succeeds."""

    def run(stderr):
        shutil.rmtree(str(place.site / ".sitepatch"), ignore_errors=True)
        shutil.rmtree(str(place.folder))
        place.unpack("demo", "1.0")
        place.put(wheel)
        spoil(place)
        starts = [started(place, stderr, mode) for mode in modes]
        return starts, (place.site / "demo/m.py").read_text()

    outcomes = {stderr: run(stderr) for stderr in STDERRS}
    starts, text = outcomes["a file"]
    assert starts[0] == (0, "started\n")
    for stderr, outcome in outcomes.items():
        assert outcome == (starts, text), stderr


@EVERY
def test_a_hook_that_cannot_print_its_message_starts_every_python(place, wheel):
    assert_stderr_does_not_matter(place, wheel, lambda place: None, "repiar")  # said by the starting process, and `applied` by its child


@pytest.mark.parametrize("message", MESSAGES)
def test_no_message_of_a_hook_keeps_python_from_starting_or_changes_its_exit_code(place, wheel, message):
    spoil, mode = MESSAGES[message]
    modes = [mode, "strict"] if message == "does not fit" else [mode]
    assert_stderr_does_not_matter(place, wheel, spoil, *modes)


# locks and descriptors that others have -----------------------------------------------------------------------------------
def test_a_lock_file_that_anybody_may_open_is_replaced_by_a_private_one(place):
    lock = place.folder / "lock"
    lock.chmod(0o644)
    with lock.open() as file:  # as a local user could
        fcntl.flock(file, fcntl.LOCK_EX)
        assert started(place, "a file") == (0, "started\n"), "it would wait longer than `started` does"
        assert (place.site / "demo/m.py").read_text() == "VALUE = 22\n"
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
        (place.folder / "state").write_text("")
        assert started(place, "a file") == (0, "started\n")
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert os.listdir(str(place.folder)).count("lock") == 1


@pytest.mark.skipif(os.getuid() != 0, reason="gives a file to another user")
def test_a_lock_file_of_another_user_is_not_waited_for(place):
    lock = place.folder / "lock"
    lock.chmod(0o600)
    os.chown(str(lock), 65534, 65534)
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert started(place, "a file") == (0, "started\n")
    assert (place.site / "demo/m.py").read_text() == "VALUE = 22\n"
    assert lock.stat().st_uid == 65534


def test_few_file_descriptors_are_no_failure(place):
    """From the fewest with which the bare interpreter starts up to what the hook needs."""

    def start(limit, mode):
        command = f'ulimit -n {limit} && exec "$0" -c "print(1)"'
        words = ["/bin/sh", "-c", command, str(place.python)]
        return subprocess.run(words, env=environ(PYTHONPATH="", SITEPATCH_HOOK=mode), capture_output=True, timeout=60)

    sufficient = []
    for limit in (*range(3, 14), 20, 32):
        bare = start(limit, "off")
        if bare.returncode or bare.stderr:
            continue
        sufficient.append(limit)
        place.unpack("demo", "1.0")
        (place.folder / "state").write_text("")
        completed = start(limit, "")
        err = completed.stderr.decode()
        assert (completed.returncode, completed.stdout) == (0, b"1\n"), err
        assert all(line.startswith("sitepatch-hook: ") for line in err.splitlines()), err
    assert len(sufficient) > 3
    assert (place.site / "demo/m.py").read_text() == "VALUE = 22\n", "with the last ones it works"


# beside another process that commits ------------------------------------------------------------------------------------
APPLY = """
import os, sys, time
from patcher.verbs.main import main
replace = os.replace
in_the_middle, go_on, *sys.argv[1:] = sys.argv[1:]

def pause(name, *words, **where):
    if str(name).endswith(".json.new"):
        open(in_the_middle, "w").close()
        while not os.path.exists(go_on):
            time.sleep(0.01)
    return replace(name, *words, **where)

os.replace = pause
main()
"""


class Applying:
    """An `apply` that has put its file in place and waits before it does so with the receipt."""

    def __init__(self, place, new):
        patchset(place.path, new=new)
        self.go_on = place.path / "go on"
        in_the_middle = place.path / "in the middle"
        words = ["apply", "two", "--patch-dir", place.path / "mine", "--python", place.python, "--verify", "none", "--quiet"]
        command = [sys.executable, "-c", APPLY, in_the_middle, self.go_on, *words]
        self.child = subprocess.Popen([str(word) for word in command], env=environ())
        while not in_the_middle.exists():
            assert self.child.poll() is None
            time.sleep(0.01)


@pytest.mark.parametrize("what", ["hook status", "mode warn", "mode repair"])
def test_the_middle_of_another_commit_is_no_difference(place, what, monkeypatch, capfd):
    """A look waits for a commit that has begun; in mode repair another one begins when it looks."""
    real = hook_start.apply_requested
    commits, texts = [], []
    if what != "mode repair":
        commits.append(Applying(place, 22))

    def apply_in_the_middle(*words, **how):
        if not commits:
            commits.append(Applying(place, 22))
        texts.append((place.site / "demo/m.py").read_text())
        threading.Timer(0.1, commits[0].go_on.touch).start()
        return real(*words, **how)

    monkeypatch.setattr(retry, "_WAIT", 60.0)  # the other process takes as long as the machine does
    monkeypatch.setattr(hook_start, "_PATIENCE", 60.0)
    monkeypatch.setattr(hook_start, "apply_requested", apply_in_the_middle)  # another process in the microseconds between
    if what == "hook status":
        (status,) = hooks.installed_hooks(Environment.alone(str(place.site)))
        assert (status.good, status.messages) == (True, ())
    else:
        assert hook_start.main(str(place.folder), what.split()[1]) == 0
        assert ": " not in place.state()
        assert capfd.readouterr().err == ""
    assert texts[0] == "VALUE = 22\n" and not (place.site / ".sitepatch/journal.json").exists()
    assert commits[0].child.wait() == 0
