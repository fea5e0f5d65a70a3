"""The hook keeps patches applied: whatever an installer does, the next start of Python repairs it, once."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import libcst
import pytest

import patcher
from tests.command import UV, Ended, done, environ, tree
from tests.hooks import NEVER, Place, engine_wheel, pip
from tests.places import patchset, wheel

pytestmark = pytest.mark.once

APPLIED = "sitepatch-hook: applied two to 1 file; processes that are running keep the code they have loaded\n"


def value(ended):
    return int(ended.out)


def quiet(place):
    """Check that a start with nothing to do prints and writes nothing."""
    place.start("-c", "import demo.m")  # its bytecode
    before = tree(place.site)
    ended = place.start()
    assert (ended.err, tree(place.site)) == ("", before)
    return value(ended)


# the life of an environment, with the real pip ------------------------------------------------------------------------
def test_a_line_with_a_directory_keeps_a_patch_applied_through_all_that_pip_does(tmp_path):
    place = Place(tmp_path, engine=False)  # sitepatch comes with the hook, which requires it
    links = ["--no-index", "--find-links", place.wheels]  # to build the directory no network is needed
    place.init()
    (place.path / "requirements.txt").write_text("demo==1.0\n./patches\n")
    words = ["install", "-q", *links, "-r", "requirements.txt"]
    pip(place.python, *words, cwd=place.path)
    first = place.start()
    assert (value(first), first.err) == (22, APPLIED)
    assert quiet(place) == 22
    pip(place.python, *words, cwd=place.path)  # it is built and installed each time
    assert (value(place.start()), place.start().err) == (22, "")

    pip(place.python, "install", "-q", "--force-reinstall", *links, "demo==1.0")
    again = place.start()
    assert (value(again), again.err) == (22, APPLIED)
    assert quiet(place) == 22

    pip(place.python, "install", "-q", *links, "demo==3.0")
    place.start("-c", "0")
    pip(place.python, "install", "-q", *links, "demo==1.0")
    assert value(place.start()) == 22  # a downgrade

    pip(place.python, "uninstall", "-q", "-y", "demo")
    assert place.start("-c", "0").err == ""
    pip(place.python, "install", "-q", *links, "demo==1.0")
    assert place.start().err == APPLIED

    pip(place.python, "uninstall", "-q", "-y", "sitepatch-hook-" + place.path.name.replace("_", "-").lower())
    assert [path for path in tree(place.site) if "hook" in path] == []
    assert place.start().err == ""
    assert value(place.start()) == 22, "removing the hook leaves the file patched"
    place.sitepatch("restore", "--python", place.python)
    assert value(place.start()) == 1


@pytest.mark.skipif(not UV, reason="uv is not here")
def test_uv_builds_and_installs_the_directory_offline_with_an_empty_cache(place):
    place.init()
    (place.path / "requirements.txt").write_text("demo==1.0\n./patches\n")

    def install():
        options = ["--offline", "--no-index", "--no-config", "--cache-dir", place.path / "uv", "--find-links", place.wheels]
        words = ["pip", "install", *options, "--python", place.python, "-r", "requirements.txt"]
        command = [UV, *map(str, words)]
        completed = subprocess.run(command, cwd=str(place.path), env=environ(PYTHONPATH=""), capture_output=True, timeout=120)
        done(Ended(completed))

    install()
    assert place.start().err == APPLIED
    patchset(place.path, new=33)
    place.init()
    install()  # uv sees by its cache-keys that it has to be built again
    assert value(place.start("-c", "import demo.m; print(demo.m.VALUE)")) == 33


def test_a_prebuilt_wheel_installs_with_require_hashes_and_leaves_nothing_when_it_goes(place):
    place.init()
    wheel = place.wheel()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (place.path / "requirements.txt").write_text(f"./dist/{wheel.name} --hash=sha256:{digest}\n")
    before = tree(place.site)
    pip(place.python, "install", "-q", "--no-index", "--require-hashes", "-r", "requirements.txt", cwd=place.path)
    assert place.start().err == APPLIED
    assert quiet(place) == 22
    (name,) = [each.name for each in place.site.glob("sitepatch_hook_*.dist-info")]
    pip(place.python, "uninstall", "-q", "-y", name.split("-")[0])
    place.sitepatch("restore", "--python", place.python)
    shutil.rmtree(place.site / "demo/__pycache__")
    assert tree(place.site) == before


def bytes_written(place):
    """The patched file and the store, but for its lock, which has the number of a process."""
    store = place.site / ".sitepatch"
    written = {path.relative_to(store).as_posix(): path.read_bytes() for path in store.rglob("*") if path.is_file()}
    del written["lock"]
    written["demo/m.py"] = (place.site / "demo/m.py").read_bytes()
    return written


def test_the_hook_writes_what_apply_writes_to_the_byte(tmp_path):
    (tmp_path / "by-hook").mkdir()
    (tmp_path / "by-apply").mkdir()
    by_hook, by_apply = Place(tmp_path / "by-hook"), Place(tmp_path / "by-apply")
    for place in (by_hook, by_apply):
        for path in (place.site / "demo").rglob("*.py"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
    by_hook.install()
    by_hook.start("-c", "0")
    by_apply.sitepatch("apply", "two", "--patch-dir", "mine", "--python", by_apply.python)
    written = bytes_written(by_hook)
    assert written == bytes_written(by_apply)
    assert any(name.startswith("receipts/") for name in written)


# without an installer: what differs after one ---------------------------------------------------------------------------
def test_a_file_that_comes_back_older_is_patched_again(place):
    place.install()
    place.start("-c", "0")
    place.unpack("demo", "1.0")
    os.utime(place.site / "demo/m.py", (1_000_000_000, 1_000_000_000))
    assert place.start().err == APPLIED
    assert quiet(place) == 22


def test_a_reinstall_with_the_size_and_the_time_of_the_patched_file_is_seen(tmp_path):
    place = Place(tmp_path, new=2)
    place.install()
    assert value(place.start()) == 2
    patched = (place.site / "demo/m.py").stat()
    place.unpack("demo", "1.0")
    os.utime(place.site / "demo/m.py", (patched.st_mtime, patched.st_mtime))
    os.utime(place.site / "demo-1.0.dist-info/RECORD", (patched.st_mtime, patched.st_mtime))
    place.start("-c", "0")
    assert (place.site / "demo/m.py").read_text() == "VALUE = 2\n"


def test_a_patchset_is_applied_in_all_of_its_files_or_in_none(place):
    spatch = place.path / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text() + "--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 5\n")
    place.install()
    assert "applied two to 2 files" in place.start("-c", "0").err
    place.unpack("demo", "3.0")  # demo/n.py is as before, demo/m.py is not
    assert "demo/m.py: not found" in place.start("-c", "0").err
    assert (place.site / "demo/n.py").read_text() == "VALUE = 1\n"
    place.unpack("demo", "2.0")
    assert "applied two to 2 files" in place.start("-c", "0").err
    place.sitepatch("status", "--check", "--python", place.python)


def test_one_patchset_that_does_not_fit_keeps_no_other_from_being_applied(place):
    patchset(place.path, "demo/n.py", 44, "three")
    place.init(names=("two", "three"))
    place.put(place.wheel())
    place.unpack("demo", "3.0")
    err = place.start("-c", "0").err
    assert "two: demo/m.py: not found" in err and "applied three to 1 file" in err and err.count("\n") == 2
    assert (place.site / "demo/n.py").read_text() == "VALUE = 44\n"
    assert place.start("-c", "0").err == ""


def test_a_release_that_does_not_fit_is_reported_once_and_left_alone(place):
    place.install()
    place.unpack("demo", "3.0")
    before = (place.site / "demo/m.py").read_bytes()
    err = place.start("-c", "0").err
    assert err.startswith("sitepatch-hook: two: demo/m.py: not found") and err.count("\n") == 1
    place.start("-c", "0")
    assert place.start("-c", "0").err == ""
    assert (place.site / "demo/m.py").read_bytes() == before
    status = place.sitepatch("hook", "status", "--python", place.python, code=1)
    assert "not so" in status.out and "not found" in status.out
    place.unpack("demo", "1.0")
    assert place.start().err == APPLIED


def test_a_release_outside_the_range_is_left_alone_and_named(tmp_path):
    place = Place(tmp_path)
    toml = place.path / "mine/two/patchset.toml"
    toml.write_text(toml.read_text().replace('versions = ""', 'versions = "<1.5"'))
    place.install()
    wheel(place.wheels, version="1.6")
    place.unpack("demo", "1.6")
    assert place.start("-c", "0").err == "sitepatch-hook: two: demo: not found: demo 1.6 is installed; this patchset is for demo <1.5\n"
    assert (place.site / "demo/m.py").read_text() == "VALUE = 1\n"


def test_what_was_edited_by_hand_is_never_overwritten(place):
    place.install()
    file = place.site / "demo/m.py"
    file.write_text("VALUE = 1  # mine\n")
    assert "demo/m.py: conflict: the file is not what demo 1.0 installed: somebody edited it" in place.start("-c", "0").err
    assert file.read_text() == "VALUE = 1  # mine\n"
    place.unpack("demo", "1.0")
    place.start("-c", "0")
    file.write_text("VALUE = 22  # mine\n")
    assert "demo/m.py: conflict: the file was edited by hand after it was patched" in place.start("-c", "0").err
    assert file.read_text() == "VALUE = 22  # mine\n"
    assert place.start("-c", "0").err == ""


def test_known_bytes_that_record_contradicts_are_not_pristine(place):
    place.install()
    record = place.site / "demo-1.0.dist-info/RECORD"
    rows, replaced = re.subn(r"(demo/m\.py,sha256=)[^,]*", rf"\g<1>{'A' * 43}", record.read_text())
    assert replaced == 1
    record.write_text(rows)
    assert "somebody edited it" in place.start("-c", "0").err
    assert (place.site / "demo/m.py").read_text() == "VALUE = 1\n"


def test_a_new_version_of_the_hook_replaces_what_is_applied(place):
    place.install()
    place.start("-c", "0")
    patchset(place.path, new=33)
    place.unpack("demo", "1.0")
    place.start("-c", "0")
    shutil.rmtree(place.folder)
    for path in place.site.glob("sitepatch_hook*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    place.init()
    place.put(place.wheel())
    ended = place.start()
    assert (value(ended), ended.err) == (33, APPLIED)
    place.sitepatch("restore", "--python", place.python)
    assert (place.site / "demo/m.py").read_text() == "VALUE = 1\n"


def test_two_hooks_in_one_environment_do_not_clash(place):
    place.install("--name", "sitepatch-hook-one")
    patchset(place.path, "demo/n.py", 44, "three")
    place.sitepatch("hook", "init", "more", "three", "--patch-dir", "mine", "--name", "sitepatch-hook-x")
    place.put(place.wheel("more"))
    both = place.start("-c", "import demo.m, demo.n; print(demo.m.VALUE + demo.n.VALUE)")
    assert value(both) == 66
    assert quiet(place) == 22
    status = place.sitepatch("hook", "status", "--python", place.python)
    assert [line.split()[:2] for line in status.out.splitlines()] == [["ok", "sitepatch-hook-one"], ["ok", "sitepatch-hook-x"]]


# modes ----------------------------------------------------------------------------------------------------------------
def test_warn_prints_a_line_at_each_start_and_touches_no_target(place):
    place.install("--mode", "warn")
    before = tree(place.site / "demo")
    for _ in range(2):
        ended = place.start("-B", "-c", "0")
        assert ended.err == f"sitepatch-hook: two is not applied in {place.site}\n"
    assert tree(place.site / "demo") == before
    assert not (place.site / ".sitepatch").exists()
    assert place.start("-c", "0", SITEPATCH_HOOK="repair").err == APPLIED
    assert quiet(place) == 22


def test_strict_starts_no_program_on_what_is_not_patched(place):
    place.install("--mode", "strict")
    assert place.start().err == APPLIED
    assert quiet(place) == 22
    place.unpack("demo", "3.0")
    for _ in range(2):
        ended = place.start("-c", "print('started')", code=1)
        assert ended.out == ""
        assert "demo/m.py: not found" in ended.err and "is strict: the program is not started (SITEPATCH_HOOK=off starts it" in ended.err
        assert ended.err.count("\n") == 2 and all(line.startswith(NEVER) for line in ended.err.splitlines())
    assert place.start("-c", "print('started')", SITEPATCH_HOOK="off").out == "started\n"
    place.sitepatch("status", "--python", place.python)  # it can be asked all the same
    place.unpack("demo", "1.0")
    assert place.start().err == APPLIED


@pytest.mark.parametrize(("switch", "number"), [("-I", 22), ("-E", 22), ("-O", 22), ("-s", 22), ("-S", 1)])
def test_of_the_switches_of_the_interpreter_only_the_one_without_site_turns_the_hook_off(place, switch, number):
    place.install()
    place.start(switch, "-c", "0")
    assert (place.site / "demo/m.py").read_text() == f"VALUE = {number}\n"


def test_without_sitepatch_each_start_prints_a_line_and_strict_stops(place):
    place.install()
    place.start("-c", "0")
    (place.site / "checkout.pth").unlink()
    assert place.start("-c", "0").err == "", "it is not needed where nothing differs"
    place.unpack("demo", "2.0")
    for mode, code in (("repair", 0), ("warn", 0), ("strict", 1), ("repair", 0)):
        ended = place.start("-c", "0", code=code, SITEPATCH_HOOK=mode)
        first, *rest = ended.err.splitlines()
        assert first.endswith("sitepatch, which it needs, cannot be run (No module named 'patcher'); install it: pip install sitepatch")
        assert len(rest) == (mode == "strict")
    assert place.start("-c", "0", SITEPATCH_HOOK="off").err == ""
    place.put(engine_wheel(place.wheels).relative_to(place.path).as_posix())
    assert place.start().err == APPLIED


def test_a_module_that_starts_python_is_not_imported_by_the_start_that_patches_it(place):
    """Otherwise that Python, which cannot know who started it, would wait for this start, which waits for it."""
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '0'], env={}, check=True)\nVALUE = 1\n"
    (place.site / "demo/m.py").write_text(code)
    (place.site / "demo-1.0.dist-info/RECORD").unlink()
    place.install()
    assert place.start("-c", "0").err == APPLIED
    assert place.start().out == "22\n"


# many processes, and one that dies ---------------------------------------------------------------------------------------
EVENTS = [  # before eight starts, one after the other: what happens, and how many starts report something
    ("installed just now", lambda place: None, 1),
    ("reinstalled", lambda place: place.unpack("demo", "1.0"), 1),
    ("state lost", lambda place: (place.folder / "state").unlink(), 0),
    ("state damaged", lambda place: (place.folder / "state").write_text("?"), 1),
    ("as requested", lambda place: None, 0),
]


def start_at_once(place, count):
    """The starts of so many interpreters, which print the value of demo.m."""
    command = [str(place.python), "-c", "import demo.m, demo.n; print(demo.m.VALUE)"]
    variables = environ(PYTHONPATH="", PYTHONDONTWRITEBYTECODE="")
    children = [subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(count)]
    return [child.communicate(timeout=120) for child in children]


def test_eight_starts_at_once_apply_it_once_and_all_run_patched_code(place, counted):
    place.install()
    for event, happen, reports in EVENTS:
        happen(place)
        starts = start_at_once(place, 8)
        assert [out for out, _ in starts] == [b"22\n"] * 8, event
        messages = [err for _, err in starts if err]
        assert len(messages) == reports, (event, messages)
    counted("starts at once", 8 * len(EVENTS))
    assert quiet(place) == 22


def test_a_start_that_is_killed_in_the_middle_leaves_nothing_half_done(place, counted):
    place.install()
    rounds = 0
    for milliseconds in range(4, 90, 6):
        place.unpack("demo", "1.0")
        command = [str(place.python), "-c", "0"]
        child = subprocess.Popen(command, env=environ(PYTHONPATH=""), start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(milliseconds / 1000)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        ended = place.start()
        assert value(ended) == 22, ended
        assert not (place.site / ".sitepatch/journal.json").exists()
        rounds += 1
    counted("starts killed", rounds)
    place.sitepatch("status", "--check", "--python", place.python)
    place.sitepatch("restore", "--python", place.python)
    assert (place.site / "demo/m.py").read_text() == "VALUE = 1\n"


SLOW_ENGINE = """
import os, time
from patcher.verbs import hook_start

def ensure_applied(*words, **more):
    open(AT_WORK, 'w').close()
    while not os.path.exists(GO_ON):
        time.sleep(0.01)
    return []

hook_start.ensure_applied = ensure_applied
"""


def test_the_lock_is_held_while_the_child_works_even_if_its_parent_is_killed(place):
    place.install()
    at_work, go_on = place.path / "at work", place.path / "go on"
    place.change_engine(f"AT_WORK, GO_ON = {str(at_work)!r}, {str(go_on)!r}\n{SLOW_ENGINE}")
    parent = subprocess.Popen([str(place.python), "-c", "0"], env=environ(PYTHONPATH=""))
    while not at_work.exists():
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    with open(str(place.folder / "lock")) as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        go_on.touch()
        fcntl.flock(file, fcntl.LOCK_EX)


# other places ---------------------------------------------------------------------------------------------------------
def test_an_environment_that_is_moved_or_copied_stays_patched(place):
    place.install()
    assert quiet(place) == 22
    moved = place.path / "elsewhere"
    (place.path / "env").rename(moved)
    place.python, place.site = moved / "bin/python", moved / place.site.relative_to(place.path / "env")
    assert quiet(place) == 22
    copied = place.path / "copy"
    shutil.copytree(str(moved), str(copied), symlinks=True, copy_function=shutil.copyfile)  # new mtimes
    for path in copied.glob("bin/*"):
        if not path.is_symlink():  # the interpreter itself is not ours
            path.chmod(0o755)
    place.python, place.site = copied / "bin/python", copied / place.site.relative_to(moved)
    files = tree(place.site / "demo")
    assert place.start("-B", "-c", "0").err == "", "the bytes are right, only the state is new"
    assert tree(place.site / "demo") == files
    assert quiet(place) == 22


def reached_by_all(name):
    """Whether every user can read a file and reach it."""
    path = Path(os.path.realpath(name))
    if not path.exists():
        return False
    return bool(path.stat().st_mode & 0o004) and all(folder.stat().st_mode & 0o001 for folder in path.parents)


@pytest.fixture
def public():
    """A place that other users can reach; pytest's own folders are closed to them."""
    name = "python{}.{}".format(*sys.version_info)
    pythons = filter(reached_by_all, (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"))
    python = next(pythons, None)
    if not (python and reached_by_all(libcst.__file__) and reached_by_all(patcher.__file__)):
        pytest.skip("every interpreter, or what sitepatch needs, is closed to other users")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield Place(folder, python=python)
    open_to_its_owner(folder)
    shutil.rmtree(folder)


def as_reader(place):
    """Start the interpreter as somebody who may not write to the environment; it prints the value of demo.m."""

    def become():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    command = [str(place.python), "-c", "import demo.m; print(demo.m.VALUE)"]
    completed = subprocess.run(command, env=environ(PYTHONPATH=""), preexec_fn=become, cwd="/", capture_output=True)
    return done(Ended(completed))


def make_read_only(site):
    site.chmod(0o555)
    for path in site.rglob("*"):
        if path.is_dir():
            path.chmod(0o555)


def open_to_its_owner(folder):
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)


def test_a_read_only_environment_prints_one_line_unless_it_is_as_requested(public):
    public.install()
    public.start()
    make_read_only(public.site)
    assert value(as_reader(public)) == 22
    open_to_its_owner(public.site)
    os.utime(public.site / "demo/m.py", (1_500_000_000, 1_500_000_000))  # an image builder that sets all times
    make_read_only(public.site)
    assert as_reader(public).err == "", "the bytes are right"
    open_to_its_owner(public.site)
    public.unpack("demo", "1.0")
    make_read_only(public.site)
    before = tree(public.site)
    ended = as_reader(public)
    assert value(ended) == 1
    assert ended.err.count("\n") == 1 and ended.err.startswith(NEVER) and "run this as the owner of the directory" in ended.err
    assert tree(public.site) == before


# the commands ---------------------------------------------------------------------------------------------------------
def test_status_and_doctor_report_that_the_next_start_does_nothing_without_sitepatch(tmp_path):
    place = Place(tmp_path, engine=False)
    place.install()
    assert "cannot be run" in place.start().err
    status = place.sitepatch("hook", "status", "--python", place.python, code=1)
    assert "it applies nothing: it needs sitepatch" in status.out and "the next start of Python applies" not in status.out
    report = place.sitepatch("doctor", "--python", place.python, code=1)  # the one line that says which command to run
    assert "1 hook: not in order" in report.out and f"sitepatch hook status --python {place.python}" in " ".join(report.out.split())
    place.unpack("sitepatch", patcher.__version__)
    assert "the next start of Python applies two" in place.sitepatch("hook", "status", "--python", place.python, code=1).out


def test_status_reports_what_the_next_start_would_do(place):
    before = tree(place.site)
    assert "there is no hook" in place.sitepatch("hook", "status", "--python", place.python).out
    place.install()
    status = place.sitepatch("hook", "status", "--python", place.python, code=1)
    assert "the next start of Python applies two" in status.out
    place.start("-c", "0")
    answer = json.loads(place.sitepatch("hook", "status", "--python", place.python, "--json").out)
    (hook,) = answer["hooks"]
    assert (answer["ok"], hook["patchsets"], hook["mode"]) == (True, ["two"], "repair")
    restored = place.sitepatch("restore", "--python", place.python)
    assert "the next start of Python applies them again" in restored.err
    assert place.start().err == APPLIED
    place.remove()
    place.sitepatch("restore", "--python", place.python)
    shutil.rmtree(place.site / "demo/__pycache__")
    assert tree(place.site) == before


@pytest.fixture
def numbered(place):
    """A place whose hook keeps `two` applied with number=8; 7 is the default, and `three` is there, too."""
    folder = place.path / "mine/two"
    (folder / "p.spatch").write_text("Why.\n\n--- demo/m.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = $number\n")
    toml = (folder / "patchset.toml").read_text()
    (folder / "patchset.toml").write_text(f'{toml}[options.number]\ntype = "int"\ndefault = 7\nhelp = "x"\n')
    patchset(place.path, "demo/n.py", 3, "three")
    place.install("--set", "two.number=8")
    assert value(place.start()) == 8
    return place


def sync(place, patchsets, *words, code=0):
    """What `sync` says in a project that asks for these patchsets."""
    (place.path / "pyproject.toml").write_text(f'[tool.sitepatch]\npatch-dir = "mine"\npatchsets = [{patchsets}]\n')
    return place.sitepatch("sync", "--python", place.python, *words, code=code).err


@pytest.mark.parametrize(
    ("patchsets", "reason"),
    [
        ('"two number=9"', "with number=8, and the project asks for number=9"),
        ('"two", "three"', "with number=8, and the project asks for number=7"),
        ('"three"', "and the project does not ask for it"),
        ("", "and the project does not ask for it"),
    ],
)
def test_sync_refuses_what_the_hook_would_undo(numbered, patchsets, reason):
    before = tree(numbered.site)
    hook = numbered.folder.name[1:].replace("_", "-")
    for words in ([], ["--dry-run"]):
        err = sync(numbered, patchsets, *words, code=1)
        assert f"two: {hook} keeps it applied in {numbered.site}" in err and reason in err, err
    assert tree(numbered.site) == before


def test_sync_refuses_another_version_of_what_the_hook_keeps_applied(numbered):
    spatch = numbered.path / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text().replace("Why.", "Because."))
    assert "in another version than the project asks for" in sync(numbered, '"two number=8"', code=1)


def test_sync_does_what_the_hook_would_not_undo(numbered):
    sync(numbered, '"two number=8", "three"')
    assert value(numbered.start()) == 8
    assert (numbered.site / "demo/n.py").read_text() == "VALUE = 3\n"
    sync(numbered, '"two number=8"')
    numbered.remove()
    sync(numbered, "")
    assert value(numbered.start()) == 1


def test_apply_notes_what_the_hook_would_undo(numbered):
    hook = numbered.folder.name[1:].replace("_", "-")
    note = f"note: the next start of Python undoes this: {hook} asks for another version or other options\n"

    def apply(*words):
        return numbered.sitepatch("apply", *words, "--python", numbered.python, "--patch-dir", numbered.path / "mine").err

    assert note in apply("two")
    assert note in apply("two", "--set", "two.number=9")
    assert note not in apply("two", "--set", "two.number=8")
    assert note not in apply("three")
