"""What the process that a start runs makes of each state of a file and says, in this process; and what `hook status` says of it then."""

import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest

from patcher.errors import BusyError, FormatError, OutdatedError
from patcher.facts import sha256
from patcher.hook import boot, installed
from patcher.installed.interpreter import Environment
from patcher.store.folder import Folder
from patcher.store.lock import locked
from patcher.store.store import Store
from patcher.verbs import hook as hooks
from patcher.verbs import hook_start
from tests.hooks import BareSite
from tests.places import patchset, wheel
from tests.stores import leave_journal
from tests.users import ROOT_ONLY, open_descriptors

M, N, RECORD = "demo/m.py", "demo/n.py", "demo-1.0.dist-info/RECORD"
APPLIED = "applied two to {}; processes that are running keep the code they have loaded"


@pytest.fixture
def site(tmp_path):
    patchset(tmp_path, new=22)
    return BareSite(tmp_path)


@pytest.fixture
def run(capfd):
    """Run what a start runs; returns (exit code, lines of stderr, lines of the state but for the first and the last)."""

    def main(folder, mode="repair"):
        code = hook_start.main(folder, mode)
        said = [line.partition("sitepatch-hook: ")[2] for line in capfd.readouterr().err.splitlines()]
        text = Path(folder, "state").read_text() if Path(folder, "state").is_file() else ""
        return code, said, text.split("\n")[1:-2]

    return main


def signed(site, *paths):
    return [f"= {boot.signature(f'{site}/{path}')} {path}" for path in paths]


# one look ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("paths", "count"), [((M,), "1 file"), ((M, N), "2 files")])
def test_it_is_applied_recorded_and_said_once(site, run, paths, count):
    spatch = site.above / "mine/two/p.spatch"
    spatch.write_text("".join(f"--- {path}\n@@ <module> @@\n-VALUE = 1\n+VALUE = 22\n" for path in paths))
    folder = site.put("two")
    why = f"two is not applied in {site}"
    assert run(folder, "warn") == (1, [why], [*signed(site, *paths, RECORD), f": {why}"])
    assert not (site.path / ".sitepatch").exists()
    assert run(folder, "warn") == (1, [why], [*signed(site, *paths, RECORD), f": {why}"]), "a start beside it says it, too"
    assert run(folder) == (0, [APPLIED.format(count)], signed(site, *paths, RECORD))
    assert {site.value(path) for path in paths} == {"VALUE = 22\n"}
    assert list((Path(folder) / "__pycache__").iterdir()) and Path(folder, "state").stat().st_mode & 0o777 == 0o644
    for mode in ("repair", "warn", "strict"):
        assert run(folder, mode) == (0, [], signed(site, *paths, RECORD))


def test_an_upgrade_is_applied_and_its_record_is_watched(site, run):
    folder = site.put("two")
    run(folder)
    site.install("2.0", "MORE = 0\nVALUE = 1\n")
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD.replace("1.0", "2.0")))
    assert site.value() == "MORE = 0\nVALUE = 22\n"


def test_what_does_not_fit_is_recorded_with_the_engine_and_said_once(site, run):
    site.install("3.0", "NOTHING = 1\n")
    folder = site.put("two")
    code, (said,), state = run(folder)
    assert code == 1 and said.startswith("two: demo/m.py: not found")
    assert state == [*signed(site, M, RECORD.replace("1.0", "3.0"), "patcher/__init__.py"), f": {said}"]
    assert run(folder) == (1, [], state), "in mode repair it is said once"
    assert run(folder, "strict") == (1, [said], state)


def test_what_would_not_compile_is_not_written_and_recorded(site, run):
    spatch = site.above / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text().replace("+VALUE = 22", "+VALUE = (yield 22)"))
    folder = site.put("two")
    code, said, state = run(folder)
    assert (code, said) == (1, ["two: demo/m.py: conflict: the result does not compile: 'yield' outside function (result, line 1)"])
    assert state[-1] == f": {said[0]}" and site.value() == "VALUE = 1\n"
    assert run(folder) == (1, [], state)


def test_another_sitepatch_or_library_calls_for_another_look_after_a_failure(site, run):
    site.install("3.0", "NOTHING = 1\n")
    folder = site.put("two")
    for name, needs in (("sitepatch", ["some.Lib>=1", "other; python_version < '3'"]), ("some_lib", []), ("unrelated", [])):
        with zipfile.ZipFile(str(wheel(site.above / "wheels", name, files={f"{name}/__init__.py": ""}, needs=needs))) as archive:
            archive.extractall(str(site))
    run(folder)
    version = installed.load_hook(folder).version
    for path in ("some_lib-1.0.dist-info/RECORD", "sitepatch-1.0.dist-info/RECORD", "patcher/__init__.py"):
        assert len(boot.recorded_problems(folder, version, "repair")) == 1
        (site.path / path).parent.mkdir(exist_ok=True)
        (site.path / path).write_text("another one")
        assert boot.recorded_problems(folder, version, "repair") is None, path
        run(folder)
    (site.path / "unrelated-1.0.dist-info/RECORD").write_text("another one")
    assert boot.recorded_problems(folder, version, "repair")


def test_an_absent_package_is_no_failure_and_is_seen_when_it_comes(site, run):
    patchset(site.above, "late/m.py", 5, "late")
    folder = site.put("late")
    assert run(folder, "strict") == (0, [], signed(site, "late/__init__.py", "late.py", "late/m.py"))
    site.install(name="late", text="NOTHING = 1\n")
    (site.path / "late/m.py").unlink()  # a release that has no such file
    assert boot.recorded_problems(folder, installed.load_hook(folder).version, "strict") is None
    code, (said,), _ = run(folder, "strict")
    assert code == 1 and said == "late: late/m.py: not found: late 1.0 has no such file"


def test_a_lock_that_is_taken_is_nothing_that_is_recorded(site, run):
    """The start goes on soon, and the next one looks again: else it would run the old code, and say nothing new."""
    folder = site.put("two")
    begun = time.monotonic()
    with Folder.open(str(site)) as opened, locked(opened):
        for _ in range(2):
            code, (said,), state = run(folder)
            assert code == 1 and state == [] and "is changing this directory" in said and said.endswith("the next start of Python looks again")
    assert time.monotonic() - begun < 60, "not as long as a command waits"
    assert run(folder)[:2] == (0, [APPLIED.format("1 file")])


def test_it_is_compiled_and_not_imported(site, run):
    site.install(text=f"import pathlib\npathlib.Path({str(site.above / 'imported')!r}).touch()\nVALUE = 1\n")
    run(site.put("two"))
    assert "VALUE = 22" in site.value() and not (site.above / "imported").exists()


def test_one_that_cannot_be_written_is_one_line_and_nothing_is_recorded(site, run, monkeypatch):
    """Two obstacles at once, for root as well, are made by no file of a test."""
    folder = site.put("two")
    monkeypatch.setattr(Store, "check_writable", lambda *_, **__: ["m.py: no", "n.py: no"])
    assert run(folder) == (1, [f"two: not applied in {site}: m.py: no n.py: no; nothing was changed"], [])
    assert site.value() == "VALUE = 1\n"


def test_where_the_state_cannot_be_written_each_start_looks_again(site, run):
    folder = site.put("two")
    Path(folder, "state").unlink()
    Path(folder, "state").mkdir()
    for _ in range(2):
        assert run(folder, "warn") == (1, [f"two is not applied in {site}"], [])


# somebody else is at work -----------------------------------------------------------------------------------------------
def meanwhile(monkeypatch, *actions):
    """Let somebody do each action after a look of the hook, before what follows from it."""
    real, left = hook_start.ensure_applied, list(actions)

    def look(*words, **more):
        looks = real(*words, **more)
        if left:
            left.pop(0)()
        return looks

    monkeypatch.setattr(hook_start, "ensure_applied", look)


def test_a_file_that_is_changed_after_it_was_looked_at_is_looked_at_again(site, run, monkeypatch):
    folder = site.put("two")
    meanwhile(monkeypatch, lambda: site.install(), lambda: site.install("2.0", "A = 0\nVALUE = 1\n"))
    code, said, state = run(folder)
    assert (code, site.value()) == (0, "A = 0\nVALUE = 22\n")
    assert said == [APPLIED.format("1 file")] * len(said) and state == signed(site, M, RECORD.replace("1.0", "2.0"))


def test_what_changes_again_and_again_is_left_to_the_next_start_before_long(site, run, monkeypatch):
    folder, looks = site.put("two"), []
    change = lambda: (looks.append(1), site.install(f"{len(looks)}.0", f"A = {len(looks)}\nVALUE = 1\n"))  # noqa: E731
    meanwhile(monkeypatch, *[change] * 50)
    code, said, state = run(folder)
    assert (code, said[-1], state) == (1, f"{site}: somebody keeps changing files there; the next start of Python looks again", [])
    assert 1 < len(looks) < 10


def test_what_somebody_changes_while_it_is_written_is_left_to_the_next_start(site, run, monkeypatch):
    """Between the look and the write of each of its attempts, as no other process of a test can be timed."""
    monkeypatch.setattr(hook_start, "apply_requested", lambda *_, **__: (_ for _ in ()).throw(OutdatedError("other processes are at work")))
    assert run(site.put("two")) == (1, [f"two: not applied in {site}: other processes are at work"], [])


def test_an_interrupted_run_is_recovered_and_reported_but_not_in_mode_warn(site, run):
    folder = site.put("two")
    old, new = (sha256(f"VALUE = {value}\n".encode()) for value in (1, 5))
    leave_journal(site.path, path=N, old=old, new=new)
    assert run(folder, "warn")[0] == 1
    assert (site.path / ".sitepatch/journal.json").exists()
    code, (first, second), _ = run(folder)
    assert (code, second) == (0, APPLIED.format("1 file"))
    assert first.startswith(f"{site}: an interrupted run was undone")


@pytest.mark.parametrize(
    ("new", "mtime", "record", "waited"),
    [(2, 7, False, 1.0), (2, 2_000_000_000, False, 4.0), (22, 7, False, 0.0), (2, 7, True, 0.0)],
)
def test_until_a_reinstall_would_show_it_waits(monkeypatch, new, mtime, record, waited):
    clock = [1_700_000_000.0]
    monkeypatch.setattr(hook_start.time, "time", lambda: clock[0])
    monkeypatch.setattr(hook_start.time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    now = 1_700_000_000 if mtime == 7 else mtime
    size = len(f"VALUE = {new}\n")
    after = {M: f"{now}:{size}", N: "7:10", "gone.py": "absent", "new.py": f"{now}:1", **({RECORD: "7:1"} if record else {})}
    hook_start._outlast({M: "7:10", N: "7:10", "gone.py": "7:1"}, after)
    assert clock[0] - 1_700_000_000 == pytest.approx(waited, abs=0.1)


def test_without_a_record_a_patch_that_keeps_the_size_is_recorded_once_its_second_is_over(site, run):
    patchset(site.above, new=2)
    shutil.rmtree(f"{site}/demo-1.0.dist-info")
    folder = site.put("two")
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M))
    assert time.time() >= int((site.path / M).stat().st_mtime) + 1


# two hooks --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "wins"), [("other", True), ("sitepatch-hook-y", False)])
def test_of_two_hooks_that_want_it_otherwise_the_first_by_name_has_its_way(site, run, name, wins):
    folder = site.put("two")
    patchset(site.above, new=33, version="2")
    other = site.put("two", name=name)
    code, said, state = run(folder)
    if wins:
        why = f"two: {name} keeps it applied in another version or with other options; uninstall {name} or sitepatch-hook-x"
        assert (code, said) == (1, [why]) and signed(site, "_other/hook.json")[0] in state
        assert site.value() == "VALUE = 1\n"
        shutil.rmtree(other)
        assert boot.recorded_problems(folder, installed.load_hook(folder).version, "repair") is None, "its end is seen"
    else:
        assert (code, said) == (0, [APPLIED.format("1 file")])
    assert run(folder)[0] == 0 and site.value() == "VALUE = 22\n"


@pytest.mark.parametrize("name", ["other", "sitepatch-hook-y"])
def test_hooks_that_want_the_same_do_not_mind_each_other(site, run, name):
    folder = site.put("two")
    site.put("two", name=name)
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD))


def test_a_damaged_hook_does_nothing_and_one_of_a_newer_release_is_not_understood(site, run):
    folder = site.put("two")
    other = Path(site.put("two", name="other"), "hook.json")
    other.write_bytes(b'{"sitepatch"')
    assert run(folder)[0] == 0
    Path(folder, "state").write_text("")
    other.write_bytes(b'{"format": 2, "sitepatch": "9.0"}')
    code, (said,), _ = run(folder)
    assert code == 1 and "written by sitepatch 9.0 in format 2" in said
    with pytest.raises(FormatError):
        installed.loaded_hooks(Environment.alone(str(site)))


# damage -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("hook.json", None, "hook.json: cannot be read: No such file or directory"),
        ("hook.json", b"{", "hook.json: is not the JSON that sitepatch writes"),
        ("hook.json", b'{"format": 1, "sitepatch": "0", "name": 1}', "name: found 1, expected a string"),
        ("patchsets/two/patchset.toml", b"y", "patchset.toml:1"),
        ("patchsets/two/p.spatch", None, "p.spatch: found no readable file"),
    ],
)
def test_a_damaged_hook_is_one_line(site, run, name, data, told):
    folder = site.put("two")
    path = Path(folder, name)
    path.unlink() if data is None else path.write_bytes(data)
    code, (said,), state = run(folder)
    assert code == 1 and state == [] and told in said and said.endswith("; run `sitepatch hook init` again, and install the hook again")


@pytest.mark.parametrize("data", [b"?", b"\xff"])
def test_a_damaged_state_is_reported_and_made_anew(site, run, data):
    folder = site.put("two")
    run(folder)
    good = Path(folder, "state").read_text()
    Path(folder, "state").write_bytes(data)
    code, (said,), _ = run(folder)
    assert code == 0 and said.startswith(f"{folder}/state: is damaged (") and said.endswith("; looking at every file again")
    assert Path(folder, "state").read_text() == good


@pytest.mark.parametrize(("error", "said"), [(KeyboardInterrupt(), []), (ValueError("x"), ["_sitepatch_hook_x: ValueError: x"])])
def test_whatever_happens_is_one_line_at_most(site, run, monkeypatch, error, said):
    monkeypatch.setattr(hook_start, "ensure_applied", lambda *_, **__: (_ for _ in ()).throw(error))
    assert run(site.put("two")) == (1, said, [])


# one at a time ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def no_descriptor_left():
    before = open_descriptors()
    yield
    assert open_descriptors() <= before


def test_the_lock_of_a_hook_is_waited_for_and_not_for_ever(tmp_path, monkeypatch, no_descriptor_left):
    path, clock = str(tmp_path / "lock"), [1000.0]
    with hook_start._turn(path), monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: clock[0])
        patched.setattr(time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
        with pytest.raises(BusyError, match=f"^another process has held {path} for 120 seconds$"), hook_start._turn(path):
            pytest.fail("it is held")
    assert clock[0] - 1000 == pytest.approx(120, abs=0.1)
    with hook_start._turn(path):
        pass
    with hook_start._turn(str(tmp_path / "none/lock")):
        pass
    monkeypatch.setattr("fcntl.flock", lambda *_: (_ for _ in ()).throw(OSError("no locks here")))
    with hook_start._turn(path):
        pass


@pytest.mark.parametrize(("mode", "kept"), [(0o600, True), (0o700, True), (0o640, False), (0o604, False), (None, True)])
def test_a_lock_file_that_others_may_open_is_replaced(tmp_path, no_descriptor_left, mode, kept):
    path = tmp_path / "lock"
    if mode is not None:
        path.write_text("a")
        path.chmod(mode)
    fd = hook_start._open_private(str(path))
    os.write(fd, os.pread(fd, 1, 0) + b"b")
    os.close(fd)
    assert path.read_text() == ("ab" if mode and kept else "b") and path.stat().st_mode & 0o077 == 0


@ROOT_ONLY
def test_a_lock_file_of_somebody_else_is_refused(tmp_path, no_descriptor_left):
    path = tmp_path / "lock"
    for mode in (0o600, 0o666):
        path.write_text("")
        path.chmod(mode)
        os.chown(str(path), 1001, 1001)
        with pytest.raises(PermissionError):
            hook_start._open_private(str(path))
        assert path.stat().st_uid == 1001
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(OSError):
        hook_start._open_private(str(tmp_path / "link"))


# what is installed ------------------------------------------------------------------------------------------------------
def status(site):
    (found,) = hooks.installed_hooks(Environment.alone(str(site)))
    return found[2:5]


def test_what_hook_status_says_of_a_hook(site, run, monkeypatch):
    folder = site.put("two")
    (site.path / "sitepatch_hook_x.pth").rename(site.path / "x")
    Path(folder, "state").write_text("?")
    first, second = status(site)[2]
    assert first == "its .pth file is gone: it does not run; install it again" and second == "the next start of Python applies two"
    (site.path / "x").rename(site.path / "sitepatch_hook_x.pth")
    assert status(site) == ("repair", False, ("the next start of Python applies two",))
    monkeypatch.setenv("SITEPATCH_HOOK", "warn")
    assert status(site) == ("warn", False, ("the next start of Python warns of two",))
    monkeypatch.setenv("SITEPATCH_HOOK", "off")
    assert status(site) == ("off", False, ("SITEPATCH_HOOK=off: it does nothing", "the next start of Python applies two"))
    monkeypatch.delenv("SITEPATCH_HOOK")
    run(folder)
    assert status(site) == ("repair", True, ())
    (site.path / M).write_text("VALUE = 8\n")
    assert status(site) == ("repair", False, ("two: demo/m.py: conflict: the file was edited by hand after it was patched",))
    site.install("3.0", "NOTHING = 1\n")
    _, (said,), _ = run(folder)
    assert status(site) == ("repair", False, (said,)), "as it is recorded"
    Path(folder, "hook.json").write_bytes(b'{"sitepatch"')
    assert "is not the JSON that sitepatch writes" in str(status(site))
