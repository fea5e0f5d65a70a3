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
from tests.hooks import Place
from tests.interpreters import interpreters
from tests.places import patchset

pytestmark = pytest.mark.once

HERE = sys.version_info[:2]
VERSIONS = sorted({version for version in interpreters() if version >= (3, 8)} | {HERE})
EVERY = pytest.mark.parametrize("place", VERSIONS, indirect=True, ids=lambda version: "{}.{}".format(*version))


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """The path of a hook's wheel, the same for every interpreter."""
    place = Place(tmp_path_factory.mktemp("made"))
    place.init()
    return str(place.wheel())


@pytest.fixture
def place(request, tmp_path, line):
    """An environment of the interpreter that a test asks for, with that hook."""
    made = Place(tmp_path, python=interpreters().get(getattr(request, "param", HERE), sys.executable))
    made.put(line)
    return made


# stderr that cannot be written ------------------------------------------------------------------------------------------
def started(place, stderr, mode=""):
    """(exit code, stdout) of a start whose stderr is a file, closed, a full device or a pipe that nobody reads."""
    variables = environ(PYTHONPATH="", SITEPATCH_HOOK=mode)
    words = ["/bin/sh", "-c", f'exec "$0" -c "print(\'started\')" {"2>&-" if stderr == "closed" else ""}', str(place.python)]
    if stderr != "broken":
        opened = os.open("/dev/full" if stderr == "full" else os.devnull, os.O_WRONLY)
    else:
        reading, opened = os.pipe()
        os.close(reading)
    try:
        ended = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=opened, timeout=60)
    finally:
        os.close(opened)
    return ended.returncode, ended.stdout.decode()


def replace(name, text):
    def change(place):
        path = place.folder / name
        path.write_text(text) if text is not None else path.unlink()

    return change


MESSAGES = {
    "applied": (lambda place: None, ""),
    "not applied, mode warn": (lambda place: None, "warn"),
    "does not fit": (lambda place: place.unpack("demo", "3.0"), ""),
    "damaged state": (replace("state", "?"), ""),
    "missing hook.json": (replace("hook.json", None), ""),
    "damaged patchset": (replace("patchsets/two/patchset.toml", "{"), ""),
    "sitepatch gone": (lambda place: (place.site / "checkout.pth").unlink(missing_ok=True), ""),
    "damaged sitepatch": (lambda place: place.change_engine("("), ""),
    "child killed": (lambda place: place.change_engine("import os; os.kill(os.getpid(), 9)"), ""),
}


def check(place, line, spoil, mode, *more):
    """A start in that mode, then others in `more`, do the same whatever stderr is, and the first one succeeds."""
    found = {}
    for stderr in ("a file", "full", "broken", "closed"):
        shutil.rmtree(str(place.site / ".sitepatch"), ignore_errors=True)
        shutil.rmtree(str(place.folder))
        place.unpack("demo", "1.0")
        place.put(line)
        spoil(place)
        ended = [started(place, stderr, each) for each in (mode, *more)]
        found[stderr] = ended, (place.site / "demo/m.py").read_text()
    assert found["a file"][0][0] == (0, "started\n")
    assert list(found.values()) == [found["a file"]] * 4, found


@EVERY
def test_a_hook_that_cannot_print_its_message_starts_every_python(place, line):
    check(place, line, lambda place: None, "repiar")  # said by the starting process, and `applied` by its child


@pytest.mark.parametrize("message", MESSAGES)
def test_no_message_of_a_hook_keeps_python_from_starting_or_changes_its_exit_code(place, line, message):
    check(place, line, *MESSAGES[message], *(["strict"] if message == "does not fit" else []))


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

    tried = 0
    for limit in (*range(3, 14), 20, 32):
        bare = start(limit, "off")
        if bare.returncode or bare.stderr:
            continue
        place.unpack("demo", "1.0")
        (place.folder / "state").write_text("")
        ended = start(limit, "")
        said = ended.stderr.decode()
        assert (ended.returncode, ended.stdout) == (0, b"1\n"), said
        assert all(line.startswith("sitepatch-hook: ") for line in said.splitlines()), said
        tried += 1
    assert tried > 3
    assert (place.site / "demo/m.py").read_text() == "VALUE = 22\n", "with the last ones it works"


# beside another process that commits ------------------------------------------------------------------------------------
APPLY = """
import os, sys, time
from patcher.verbs.main import main
replace, begun, go_on, *sys.argv[1:] = os.replace, *sys.argv[1:]
def pause(name, *words, **where):
    if str(name).endswith(".json.new"):
        open(begun, "w").close()
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
        begun = place.path / "begun"
        words = ["apply", "two", "--patch-dir", place.path / "mine", "--python", place.python, "--verify", "none", "--quiet"]
        self.child = subprocess.Popen([sys.executable, "-c", APPLY, *map(str, (begun, self.go_on, *words))], env=environ())
        while not begun.exists():
            assert self.child.poll() is None
            time.sleep(0.01)


@pytest.mark.parametrize("what", ["hook status", "mode warn", "mode repair"])
def test_the_middle_of_another_commit_is_no_difference(place, what, monkeypatch, capfd):
    """A look waits for a commit that has begun; in mode repair another one begins when it looks."""
    real, seen = hook_start.apply_requested, []
    begun = Applying(place, 22) if what != "mode repair" else None

    def apply_in_the_middle(*words, **how):
        nonlocal begun
        begun = begun or Applying(place, 22)
        seen.append((place.site / "demo/m.py").read_text())
        threading.Timer(0.1, begun.go_on.touch).start()
        return real(*words, **how)

    for module, wait in ((retry, "_WAIT"), (hook_start, "_PATIENCE")):
        monkeypatch.setattr(module, wait, 60.0)  # the other process takes as long as the machine does
    monkeypatch.setattr(hook_start, "apply_requested", apply_in_the_middle)
    if what == "hook status":
        (status,) = hooks.installed_hooks(Environment.alone(str(place.site)))
        assert (status.good, status.messages) == (True, ())
    else:
        assert hook_start.main(str(place.folder), what.split()[1]) == 0
        assert ": " not in place.state()
        assert capfd.readouterr().err == ""
    assert seen[0] == "VALUE = 22\n" and not (place.site / ".sitepatch/journal.json").exists()
    assert begun.child.wait() == 0
