"""One writer at a time, any number of readers: commands that start together, readers during a commit, and killed commands.

The rounds with a killed process are few by default; SITEPATCH_ALL_ROUNDS=1 runs all 200.
"""

import contextlib
import errno
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from patcher.errors import OutdatedError, StoreError
from patcher.installed.interpreter import discover
from patcher.patchset.selection import choose
from patcher.store import journal
from patcher.store.lock import holders, uv_locks
from patcher.store.retry import quiet, settled
from patcher.store.status import statuses
from patcher.verbs.apply import command as apply
from patcher.verbs.demo import lay_out
from patcher.verbs.main import commands
from patcher.verbs.restore import command as restore
from tests import places
from tests.command import DDP, GUARD, RUNNER, Site, environ, sitepatch
from tests.failures import raising
from tests.faults import calls
from tests.locks import held, held_file, told
from tests.plans import plan_apply
from tests.records import write_patchset
from tests.stores import commit

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_ROUNDS"))
FILES = ["mmengine/_strategy/distributed.py", "mmengine/dist/utils.py", RUNNER]
NAME = Path(sys.executable).name[:15]


def texts(site):
    return [site.file(path).read_bytes() for path in FILES]


def start(site, *words, command=(sys.executable, "-m", "patcher"), **more):
    return subprocess.Popen(
        [*command, *words, "--json", "--target", str(site.path)], cwd=str(site.cwd), env=environ(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def ended(processes):
    """(exit code, JSON answer, stderr) of each."""
    outs = [process.communicate(timeout=300) for process in processes]
    return [(p.returncode, json.loads(out or "{}"), err.decode()) for p, (out, err) in zip(processes, outs)]


def soon(what):
    """Wait until `what()` is true; the test hangs into its runner's time-out only if it never is."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


# --- commands that start together -----------------------------------------------------------------------------------


def test_of_eight_that_apply_at_once_one_writes_and_all_succeed(site):
    pristine, before = texts(site), site.tree()
    told = ended([start(site, "apply", DDP) for _ in range(8)])
    assert [code for code, _, _ in told] == [0] * 8, told
    assert sorted(answer["written"] for _, answer, _ in told) == [False] * 7 + [True]
    patched = texts(site)
    assert all(old != new for old, new in zip(pristine, patched))
    assert json.loads(site("status", "--check", "--json").out)["ok"]
    assert len(list(site.path.glob(".sitepatch/receipts/*.json"))) == len(FILES)

    told = ended([start(site, "restore", DDP) for _ in range(8)])
    assert [code for code, _, _ in told] == [0] * 8, told
    assert sorted(answer["written"] for _, answer, _ in told) == [False] * 7 + [True]
    assert site.tree() == before


def test_apply_and_restore_at_once_leave_all_of_it_or_nothing(site):
    pristine, before = texts(site), site.tree()
    assert site("apply", DDP).code == 0
    patched = texts(site)
    site("restore")
    for _ in range(3):
        told = ended([start(site, *words) for words in [("apply", DDP), ("restore",)] * 2])
        assert [code for code, _, _ in told] == [0] * 4, told
        assert sum(answer["written"] for _, answer, _ in told) >= 1
        assert texts(site) in (pristine, patched)
        stands = json.loads(site("status", "--json").out)["files"]
        assert [file["condition"] for file in stands] == ["applied"] * (len(FILES) if texts(site) == patched else 0)
    site("restore")
    assert site.tree() == before


# --- plans ----------------------------------------------------------------------------------------------------------


def planned(site):
    requested, _ = choose([DDP], (), ())
    env = discover(None, str(site.path))
    return env, plan_apply(env, requested), [one.patchset for one in requested]


def test_a_plan_that_another_process_made_obsolete_is_refused_and_says_so(site):
    _, plan, patchsets = planned(site)
    assert site("apply", DDP).code == 0
    before = {**site.tree(), ".sitepatch/lock": ""}  # it records who had it last
    with pytest.raises(OutdatedError, match="has changed since the plan was made"):
        commit(site.path, [file.to_commit for file in plan.files], {one.folder.digest: one.folder.files for one in patchsets})
    assert {**site.tree(), ".sitepatch/lock": ""} == before


@pytest.mark.parametrize("fails", [False, True])
def test_files_read_while_another_process_writes_are_read_again(site, fails):
    looks = []

    def look():
        looks.append(1)
        if not looks[1:]:
            assert site("apply", DDP).code == 0
            if fails:
                raise StoreError("a half of it")
        return len(looks)

    assert quiet(discover(None, str(site.path)), look) == 2
    with pytest.raises(StoreError, match=r"^damaged$"):
        quiet(discover(None, str(site.path)), raising(StoreError("damaged")))


def test_other_changes_in_the_site_directory_are_no_reason_to_look_again(site):
    assert site("apply", DDP).code == 0
    looks = []
    assert quiet(discover(None, str(site.path)), lambda: looks.append((site.path / "new.pth").write_text("")) or 3) == 3
    assert looks == [0]


def test_a_change_that_takes_long_is_waited_for_before_anything_is_decided(site):
    """In the middle of the change files look edited by hand."""
    with in_the_middle(site, apply) as go_on:
        waiting = start(site, "apply", DDP)
        assert waiting.stderr.readline().startswith(b"waiting: ")
        go_on()
        ((code, told, _),) = ended([waiting])
    assert (code, told["written"], {answer["state"] for answer in told["answers"]}) == (0, False, {"applied", "not needed"})


@contextlib.contextmanager
def in_the_middle(site, command):
    """A command that has put the files in place and waits before the receipts; yields what lets it continue."""
    told, tell = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        undo = journal.undo

        def pause(*rest):
            os.write(tell, b"x")
            os.close(go)
            os.read(wait, 1)
            return undo(*rest)

        journal.undo = pause
        flow(command, site, 0, fork=False)
    ended = []

    def go_on():
        if not ended:
            os.write(go, b"x")
            ended.append(os.waitpid(child, 0)[1])

    try:
        assert os.read(told, 1) == b"x"
        yield go_on
    finally:
        go_on()
        for fd in (told, tell, wait, go):
            os.close(fd)
    assert ended == [0]


@told
def test_a_reader_sees_the_state_before_a_commit_or_after_it(site):
    assert site("apply", DDP).code == 0
    env, seen = discover(None, str(site.path)), []

    with in_the_middle(site, restore) as go_on:

        def look():
            seen.append([item.condition.value for item in statuses(env)])
            go_on()
            return seen[-1]

        assert settled(env, look) == []
    assert seen == [["overwritten"] * len(FILES), []]


def looked(site, *words):
    """(exit code, stdout) of a command that looks, in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        return commands.main([*words, "--target", str(site.path)], standalone_mode=False), out.getvalue()


@told
@pytest.mark.parametrize("words", [("doctor",), ("status", "--check"), ("diff", "--exit-code")])
def test_a_command_that_looks_waits_for_a_commit_under_way_and_looks_again(site, monkeypatch, words):
    """In between the files are restored already and the receipts are not, as if a reinstall had overwritten the files."""
    assert site("apply", DDP).code == 0
    with in_the_middle(site, restore) as go_on:
        monkeypatch.setattr(time, "sleep", lambda seconds: go_on())
        code, out = looked(site, *words)
    assert (code, "overwritten" in out) == (0, False), out


@told
@pytest.mark.parametrize("words", [["check"], ["check", "--explain"]])
def test_a_command_that_reads_the_code_waits_too(site, monkeypatch, words):
    """Otherwise a file that is already patched but has no receipt yet looks edited by hand."""
    with in_the_middle(site, apply) as go_on:
        monkeypatch.setattr(time, "sleep", lambda seconds: go_on())
        code, out = looked(site, *words, DDP)
    assert (code, "applicable" in out, "applied" in out) == (0, False, True), out


def test_a_file_that_nfs_calls_stale_while_another_process_writes_is_looked_at_again(site):
    looks = []

    def look():
        looks.append(1)
        if len(looks) == 1:
            assert site("apply", DDP).code == 0
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return 3

    assert settled(discover(None, str(site.path)), look) == 3


def test_a_file_that_changes_while_it_is_verified_is_verified_again(site, monkeypatch):
    assert site("apply", DDP).code == 0
    real, runs = subprocess.Popen, []

    def start(words, *rest, **more):
        if any(str(word).endswith("verify/child.py") for word in words):
            runs.append(words)
            assert len(runs) > 1 or site("restore").code == 0
        return real(words, *rest, **more)

    monkeypatch.setattr(subprocess, "Popen", start)
    code, out = looked(site, "status", "--verify", "compile")
    assert (code, len(runs)) == (0, 2), out
    assert "compiled" not in out and "failed" not in out, "nothing is applied any more"


@told
def test_a_reader_waits_only_a_moment_for_a_commit(site):
    assert site("apply", DDP).code == 0
    with in_the_middle(site, restore):
        for words in (["status", "--check"], ["status", "--check", "--verify", "compile"]):
            ended = site(*words)
            assert ended.code == 1
            assert "under way" in ended.out
        for words in (["diff"], ["diff", "--edited"]):
            err = site(*words).err
            assert "another process is in the middle of a change: " in err and "interrupted" not in err, (words, err)
        assert site("diff").code == 0
        assert "in the middle of a change" in json.loads(site("diff", "--json").out)["notes"][0]
    assert site("status", "--check").code == 0


def test_a_reader_reports_an_abandoned_run_at_once(site):
    assert site("apply", DDP).code == 0
    (site.path / ".sitepatch/journal.json").write_text("{}")
    env, looks = discover(None, str(site.path)), []
    settled(env, lambda: looks.append(1))
    assert looks == [1]


# --- readers --------------------------------------------------------------------------------------------------------

READER = """
import pathlib, subprocess, sys, time
site, stop, fresh, torn, enough = sys.argv[1:]
path = pathlib.Path(site, "mod.py")
sys.path.insert(0, site)
seen, broken = {}, 0
while not pathlib.Path(stop).exists():
    try:
        if fresh == "True":
            done = subprocess.run([sys.executable, "-I", "-c", "import sys; sys.path.insert(0, %r); import mod; print(mod.whole())" % site],
                                  capture_output=True, text=True)
            value = done.stdout.strip() if done.returncode == 0 else None
        else:
            sys.modules.pop("mod", None)
            import mod
            value = str(mod.whole())
    except Exception:
        value = None
    seen[value] = seen.get(value, 0) + 1
    if None in seen if torn == "True" else {"1", "2"} <= set(seen) and sum(seen.values()) >= 20:
        pathlib.Path(enough).touch()
print(__import__("json").dumps({str(key): count for key, count in seen.items()}))
"""
TEXT = "def whole():\n    return value()\n\n\n" + "# a long comment\n" * 20_000 + "\n\ndef value():\n    return int('1')\n"


def patchset(folder):
    """A patchset that makes `value` of mod.py return 2."""
    write_patchset(folder / "patchsets", "two", "Two.\n\n--- mod.py\n@@ value @@\n-int('1')\n+int('2')\n", "mod", kind="fix")


def by_command(folder, path, number):
    ended = sitepatch(("apply", "restore")[number % 2], "two", "--target", path.parent, cwd=folder)
    assert ended.code == 0, ended


def by_hand(folder, path, number):
    """Edit in place, as an editor does with installed files."""
    data = TEXT.replace("'1'", f"'{number % 2 + 1}'").encode()
    with path.open("wb") as file:
        for start in range(0, len(data), 4096):
            file.write(data[start : start + 4096])
    time.sleep(0.02)


@pytest.mark.parametrize(
    ("writer", "torn", "fresh"), [(by_command, False, False), (by_command, False, True), (by_hand, True, False)]
)
def test_an_import_during_a_commit_gets_the_old_module_or_the_new_one(tmp_path, fresh, writer, torn):
    """It is written at least eight times, and until the reader has seen enough: how soon that is depends on the machine."""
    site, stop, enough = tmp_path / "site", tmp_path / "stop", tmp_path / "enough"
    site.mkdir()
    (site / "mod.py").write_text(TEXT)
    patchset(tmp_path)
    environment = environ()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(site), str(stop), str(fresh), str(torn), str(enough)], env=environment, stdout=subprocess.PIPE
    )
    number, end = 0, time.monotonic() + 300
    try:
        while number < 8 or not enough.exists():
            assert time.monotonic() < end and reader.poll() is None
            writer(tmp_path, site / "mod.py", number)
            number += 1
    finally:
        stop.touch()
        out = reader.communicate(timeout=120)[0]
    seen = json.loads(out)
    print(f"{sum(seen.values())} imports, {'fresh interpreters' if fresh else 'one process'}, {writer.__name__}: {seen}")
    assert ("None" in seen) == torn, seen
    if not torn:
        assert set(seen) == {"1", "2"}, seen
        assert sum(seen.values()) >= 20


# --- killed ---------------------------------------------------------------------------------------------------------


LATEST = {"apply": 100, "restore": 50}  # every run of it makes more calls that change files
DIES = """
import sys
sys.dont_write_bytecode = True  # which would be calls, too, and other ones each time
from tests.faults import calls
from tests.stores import commit
point, token = int(sys.argv.pop(1)), int(sys.argv.pop(1))
calls.watch(calls.first_of_several(point, token))
from patcher.verbs.main import main
main()
"""


@contextlib.contextmanager
def one_dies():
    """The pipe for `calls.first_of_several`."""
    token, writer = os.pipe()
    os.write(writer, b"!")
    os.close(writer)
    try:
        yield token
    finally:
        os.close(token)


def flow(command, site, delay, *, fork=True, hook=None):
    """The whole command in a child that shares our modules; returns its process id. For `hook` see `calls.watch`."""
    child = os.fork() if fork else 0
    if child:
        return child
    code = 99
    try:
        time.sleep(delay)
        os.chdir(str(site.cwd))
        if hook:
            sys.dont_write_bytecode = True
            calls.watch(hook)
        words = [DDP] if command is apply else []
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
            code = command.main([*words, "--target", str(site.path)], standalone_mode=False)
        if code == 0 and "recovered:" in err.getvalue():
            code = 77
        elif code:
            sys.stderr.write(err.getvalue())
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def test_rounds_in_which_a_random_process_is_killed(site):
    """Four start together, to apply or to take it back; one is killed somewhere on its way; nothing is lost.

    In every third pair of rounds any process is killed at any moment, otherwise the first that reaches a call that changes a file.
    """
    dice = random.Random(20)
    rounds = 200 if ALL else 12
    pristine, before = texts(site), site.tree()
    start = time.monotonic()
    assert os.waitpid(flow(apply, site, 0), 0)[1] == 0
    took = time.monotonic() - start
    patched = texts(site)
    assert patched != pristine
    killed = recovered = 0
    for number in range(rounds):
        command = restore if number % 2 == 0 else apply
        at_a_call = number % 6 < 4
        with one_dies() as token:
            hook = calls.first_of_several(dice.randint(1, LATEST[command.name]), token) if at_a_call else None
            children = [flow(command, site, dice.random() * took / 2, hook=hook) for _ in range(4)]
            if not at_a_call:
                time.sleep(dice.random() * took * 2)
                os.kill(dice.choice(children), signal.SIGKILL)
            statuses = [os.waitpid(child, 0)[1] for child in children]
        assert not at_a_call or sum(map(os.WIFSIGNALED, statuses)) == 1, (number, statuses)
        killed += sum(map(os.WIFSIGNALED, statuses))
        codes = [os.WEXITSTATUS(status) for status in statuses if not os.WIFSIGNALED(status)]
        assert set(codes) <= {0, 77}, (number, codes)
        recovered += codes.count(77)
        assert len(codes) >= 3
        assert texts(site) == (pristine if command is restore else patched), number
        receipts = list(site.path.glob(".sitepatch/receipts/*.json"))
        assert len(receipts) == (0 if command is restore else len(FILES)), number
    print(f"{rounds} rounds of 4 processes, {killed} killed on their way, {recovered} runs recovered by the next process")
    assert killed >= rounds // 2
    assert recovered >= rounds // 5
    assert site("restore").code == 0
    assert site.tree() == before


def test_rounds_of_the_real_command_in_which_a_random_process_is_killed(site):
    dice = random.Random(21)
    rounds = 200 if ALL else 4
    pristine, before = texts(site), site.tree()
    assert site("apply", DDP).code == 0
    patched = texts(site)
    for number in range(rounds):
        words = ("restore",) if number % 2 == 0 else ("apply", DDP)
        with one_dies() as token:
            command = [sys.executable, "-c", DIES, str(dice.randint(1, LATEST[words[0]])), str(token)]
            processes = [start(site, *words, command=command, pass_fds=[token]) for _ in range(3)]
            outs = [process.communicate(timeout=300) for process in processes]
        assert sorted(process.returncode for process in processes) == [-signal.SIGKILL, 0, 0], outs
        assert texts(site) == (pristine if number % 2 == 0 else patched)
    print(f"{rounds} rounds of 3 real commands, one of each killed on its way")
    assert site("restore").code == 0
    assert site.tree() == before


def test_of_controllers_with_different_requests_at_once_the_last_one_gets_its_own(site):
    projects = [site.cwd / str(number) for number in (1, 2)]
    for number, folder in enumerate(projects, 1):
        folder.mkdir()
        (folder / "pyproject.toml").write_text(f'[tool.sitepatch]\npatchsets = ["{DDP} params={number}"]\n')
    told = ended([start(site, "sync", "--project", str(folder), "--verify", "none") for folder in projects])
    assert [code for code, _, _ in told] == [0, 0] and all(answer["written"] for _, answer, _ in told), told
    standing = json.loads(site("status", "--check", "--json").out)
    options = [step["options"] for file in standing["files"] for step in file["patchsets"]]
    assert standing["ok"] and len(options) == len(FILES) and options == options[:1] * len(FILES), options
    assert site("sync", "--project", projects[options[0]["params"] - 1], "--verify", "none").out.endswith("nothing to do, it is applied already\n")


# --- our lock -------------------------------------------------------------------------------------------------------


@told
def test_a_lock_that_is_not_acquired_in_time_names_its_holder_and_what_to_do(site):
    before = texts(site)
    with held(site.path) as holder:
        ended = site("apply", DDP, SITEPATCH_LOCK_TIMEOUT="0.1")
        assert ended.code == 1
        assert f"process {holder.pid}, {NAME})" in ended.err
        assert "SITEPATCH_LOCK_TIMEOUT=SECONDS" in ended.err
        assert json.loads(site("apply", DDP, "--json", SITEPATCH_LOCK_TIMEOUT="0.1").out)["error"]["busy"] is True
        assert holders(str(site.path)) == [
            f"{site.path}/.sitepatch/lock is held by process {holder.pid}, {NAME}"
        ]
    assert texts(site) == before
    assert holders(str(site.path)) == []


def test_a_command_that_waits_names_the_holder_and_then_continues(site):
    with held(site.path) as holder:
        process = start(site, "apply", DDP)
        said = process.stderr.readline().decode()
        assert said.startswith("waiting: ") and f"process {holder.pid}" in said
        holder.stdin.close()
        holder.wait()
        ((code, answer, _),) = ended([process])
    assert (code, answer["written"]) == (0, True)


def test_an_interrupt_while_waiting_reports_that_nothing_was_changed(site):
    before = texts(site)
    with held(site.path):
        process = start(site, "apply", DDP)
        assert process.stderr.readline().startswith(b"waiting: ")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1].decode()
    assert (process.returncode, said.strip()) == (130, f"interrupted: {site.path}: nothing was changed")
    assert texts(site) == before


def test_a_dead_holder_is_no_obstacle(site):
    with held(site.path) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert (site.path / ".sitepatch/lock").read_text() == f"{holder.pid} on {os.uname().nodename}\n"
        assert site("apply", DDP, SITEPATCH_LOCK_TIMEOUT="0.001").code == 0


# --- uv's lock ------------------------------------------------------------------------------------------------------


@pytest.fixture
def venv(tmp_path):
    """A venv with the stand-in of MMEngine, and a lock file as uv leaves it."""
    site = Site(tmp_path)
    _, site.path = places.venv(tmp_path / "venv")
    lay_out("mmengine-0.10.7", site.path)
    (tmp_path / "venv/.lock").touch()
    (tmp_path / "venv/.lock").chmod(0o666)
    return site


@told
def test_uv_is_waited_for_and_named(venv):
    lock = venv.cwd / "venv/.lock"
    with held_file(lock) as holder:
        before = venv.tree()
        ended_ = venv("apply", DDP, SITEPATCH_LOCK_TIMEOUT="0.1")
        assert ended_.code == 1
        assert f"uv (process {holder.pid}" in ended_.err
        assert venv.tree() == before
        process = start(venv, "apply", DDP)
        said = process.stderr.readline().decode()
        assert said.startswith("waiting: ") and f"uv (process {holder.pid}" in said
    ((code, answer, _),) = ended([process])
    assert (code, answer["written"]) == (0, True)


def until_it_waits(process):
    """The stderr of a command, up to the line that says what it waits for."""
    said = ""
    while not said.split("\n")[-1].startswith("waiting: "):
        line = process.stderr.readline().decode()
        assert line, f"it ended, and did not wait: {said}"
        said += f"\n{line.strip()}"
    return said


@pytest.mark.parametrize("planned_first", [False, True])
def test_a_command_that_waited_and_finds_the_work_done_reports_it(venv, planned_first):
    if planned_first:  # a store that is there already need not be waited for before planning
        lay_out("torch-2.7.1-musa", venv.path)
        assert venv("apply", GUARD).code == 0
    with held_file(venv.cwd / "venv/.lock"):
        command = [sys.executable, "-m", "patcher", "apply", DDP, "--target", str(venv.path)]
        both = [
            subprocess.Popen(command, cwd=str(venv.cwd), env=environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        heads = [until_it_waits(process) for process in both]
    outs = [[text.decode() for text in process.communicate(timeout=120)] for process in both]
    outs = [(out, head + err) for (out, err), head in zip(outs, heads)]
    assert [process.returncode for process in both] == [0, 0]
    (second,) = [(out, err) for out, err in outs if "nothing to do, it is applied already" in out]
    (first,) = [(out, err) for out, err in outs if "restore with: " in out]
    assert first != second


def test_no_lock_file_of_uv_is_made_where_uv_was_never_used(venv, tmp_path):
    lock = venv.cwd / "venv/.lock"
    lock.unlink()
    assert uv_locks(str(venv.path)) == []
    before = set(os.listdir(lock.parent))
    assert venv("apply", DDP).code == 0
    assert set(os.listdir(lock.parent)) == before


@pytest.fixture(scope="session")
def uv(tmp_path_factory):
    """The real uv: the one on PATH, else from the index."""
    found = os.environ.get("SITEPATCH_TEST_UV") or shutil.which("uv")
    if not found:
        where = tmp_path_factory.mktemp("uv")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(where), "uv"], check=True)
        found = str(where / "bin/uv")
    return found


BACKEND = """
import os, pathlib, time, zipfile
def get_requires_for_build_wheel(config_settings=None): return []
def build_wheel(folder, config_settings=None, metadata_directory=None):
    here = pathlib.Path(os.environ["HERE"])
    (here / "building").touch()
    while not (here / "go").exists():
        time.sleep(0.02)
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(os.path.join(folder, "tiny-1.0-py3-none-any.whl"), "w") as file:
        file.writestr("tiny.py", "x = 1\\n")
        file.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        file.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(info + "/RECORD", "".join(name + ",,\\n" for name in ("tiny.py", info + "/METADATA", info + "/WHEEL", info + "/RECORD")))
    return "tiny-1.0-py3-none-any.whl"
"""


def uv_install(uv, site):
    """The real uv at work on the venv: it builds a project whose backend waits for the file `go`."""
    project = site.cwd / "tiny"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n\n'
        '[project]\nname = "tiny"\nversion = "1.0"\n'
    )
    (project / "backend.py").write_text(BACKEND)
    command = [uv, "pip", "install", "--offline", "--no-index", "--python", str(site.cwd / "venv/bin/python"), str(project)]
    more = environ(UV_CACHE_DIR=str(site.cwd / "uv-cache"), HERE=str(site.cwd))
    return subprocess.Popen(command, env=more, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def waits(path):
    """Whether a process waits for a flock(2) on a file."""
    end = f":{os.stat(path).st_ino}"
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(row[1] == "->" and row[6].endswith(end) for row in rows)


@pytest.mark.real
@told
def test_the_real_uv_is_waited_for(uv, venv):
    installing = uv_install(uv, venv)
    soon((venv.cwd / "building").exists)
    ended_ = venv("apply", DDP, SITEPATCH_LOCK_TIMEOUT="0.1")
    assert ended_.code == 1
    assert f"uv (process {installing.pid}, uv)" in ended_.err
    assert not (venv.path / ".sitepatch").exists()
    process = start(venv, "apply", DDP)
    assert "uv (process" in process.stderr.readline().decode()
    (venv.cwd / "go").touch()
    assert installing.wait(60) == 0, installing.stderr.read()
    installing.communicate()
    ((code, answer, _),) = ended([process])
    assert (code, answer["written"]) == (0, True)


@pytest.mark.real
@told
def test_the_real_uv_waits_for_us(uv, venv):
    (venv.cwd / "go").touch()
    with held(venv.path):
        installing = uv_install(uv, venv)
        soon(lambda: waits(venv.cwd / "venv/.lock") or installing.poll() is not None)
        assert installing.poll() is None
        assert not (venv.path / "tiny.py").exists()
    assert installing.communicate(timeout=120)[1] is not None
    assert installing.returncode == 0
    assert (venv.path / "tiny.py").exists()
