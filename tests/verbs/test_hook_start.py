"""What the child of a start does and prints for each state of a file, in this process; and what `hook status` then reports."""

import fcntl
import importlib.util
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from patcher.errors import FormatError
from patcher.facts import sha256
from patcher.hook import boot, installed
from patcher.installed.interpreter import Environment
from patcher.store.folder import Folder
from patcher.store.lock import locked
from patcher.verbs import hook as hooks
from patcher.verbs import hook_start
from tests.failures import Clock, after, fail, fail_once
from tests.hooks import BareSite
from tests.places import patchset, wheel
from tests.stores import leave_journal
from tests.users import NOBODY, ROOT_ONLY, as_user, open_descriptors, public

__all__ = ["public"]

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
        return code, lines_of(capfd.readouterr().err), recorded(folder)

    return main


def run_and_read(folder):
    """The same in a child, which has a stderr of its own."""
    with tempfile.TemporaryFile() as err:
        os.dup2(err.fileno(), 2)
        code = hook_start.main(folder, "repair")
        err.seek(0)
        return code, lines_of(err.read().decode()), recorded(folder)


def lines_of(err):
    return [line.partition("sitepatch-hook: ")[2] for line in err.splitlines()]


def recorded(folder):
    text = Path(folder, "state").read_text() if Path(folder, "state").is_file() else ""
    return text.split("\n")[1:-2]


def signed(site, *paths):
    return [f"= {boot.signature(f'{site}/{path}')} {path}" for path in paths]


# one look ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("paths", "count"), [((M,), "1 file"), ((M, N), "2 files")])
def test_a_patchset_is_applied_recorded_and_reported_once(site, run, paths, count):
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


def test_bytecode_of_the_start_up_file_that_an_installer_made_stays(site, run):
    folder = site.put("two")
    compiled = Path(importlib.util.cache_from_source(f"{folder}/__init__.py"))
    compiled.parent.mkdir()
    compiled.write_bytes(b"made by the installer")
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD))
    assert compiled.read_bytes() == b"made by the installer"


def test_an_upgrade_is_applied_and_its_record_is_watched(site, run):
    folder = site.put("two")
    run(folder)
    site.install("2.0", "MORE = 0\nVALUE = 1\n")
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD.replace("1.0", "2.0")))
    assert site.value() == "MORE = 0\nVALUE = 22\n"


def test_what_does_not_fit_is_recorded_with_the_engine_and_reported_once(site, run):
    site.install("3.0", "NOTHING = 1\n")
    folder = site.put("two")
    code, (line,), state = run(folder)
    assert code == 1 and line.startswith("two: demo/m.py: not found")
    assert state == [*signed(site, M, RECORD.replace("1.0", "3.0"), "patcher/__init__.py"), f": {line}"]
    assert run(folder) == (1, [], state), "in mode repair it is said once"
    assert run(folder, "strict") == (1, [line], state)


def test_what_would_not_compile_is_not_written_and_recorded(site, run):
    spatch = site.above / "mine/two/p.spatch"
    spatch.write_text(spatch.read_text().replace("+VALUE = 22", "+VALUE = (yield 22)"))
    folder = site.put("two")
    code, lines, state = run(folder)
    assert (code, lines) == (1, ["two: demo/m.py: conflict: the result does not compile: 'yield' outside function (result, line 1)"])
    assert state[-1] == f": {lines[0]}" and site.value() == "VALUE = 1\n"
    assert run(folder) == (1, [], state)


def test_after_a_failure_another_sitepatch_or_library_means_another_look(site, run):
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


def test_an_absent_package_is_no_failure_and_is_patched_once_installed(site, run):
    patchset(site.above, "late/m.py", 5, "late")
    folder = site.put("late")
    assert run(folder, "strict") == (0, [], signed(site, "late/__init__.py", "late.py", "late/m.py"))
    site.install(name="late", text="NOTHING = 1\n")
    (site.path / "late/m.py").unlink()  # a release that has no such file
    assert boot.recorded_problems(folder, installed.load_hook(folder).version, "strict") is None
    code, (line,), _ = run(folder, "strict")
    assert code == 1 and line == "late: late/m.py: not found: late 1.0 has no such file"


def test_a_lock_that_is_taken_is_not_recorded(site, run):
    """The start continues soon and the next one looks again: otherwise it would run the old code and report nothing."""
    folder = site.put("two")
    start = time.monotonic()
    with Folder.open(str(site)) as opened, locked(opened):
        for _ in range(2):
            code, (line,), state = run(folder)
            assert code == 1 and state == [] and "is changing this directory" in line and line.endswith("the next start of Python looks again")
    assert time.monotonic() - start < 60, "not as long as a command waits"
    assert run(folder)[:2] == (0, [APPLIED.format("1 file")])


def test_a_patched_file_is_compiled_and_not_imported(site, run):
    site.install(text=f"import pathlib\npathlib.Path({str(site.above / 'imported')!r}).touch()\nVALUE = 1\n")
    run(site.put("two"))
    assert "VALUE = 22" in site.value() and not (site.above / "imported").exists()


def test_a_file_that_cannot_be_written_is_one_line_and_nothing_is_recorded(site, public):
    folder = site.put("two")
    closed = [path for path in (site.path, *site.path.rglob("*")) if path.is_dir()]
    for path in closed:
        path.chmod(0o555)
    code, (line,), state = as_user(NOBODY, run_and_read, folder)
    for path in closed:
        path.chmod(0o755)
    assert code == 1 and state == [] and line.endswith("; nothing was changed")
    assert line.startswith(f"two: not applied in {site}: {site}: ") and f" {site}/demo: " in line, "both directories"
    assert site.value() == "VALUE = 1\n"


def test_where_the_state_cannot_be_written_each_start_looks_again(site, run):
    folder = site.put("two")
    Path(folder, "state").unlink()
    Path(folder, "state").mkdir()
    for _ in range(2):
        assert run(folder, "warn") == (1, [f"two is not applied in {site}"], [])


# another process is at work ---------------------------------------------------------------------------------------------
def meanwhile(monkeypatch, *actions):
    """Run an action each time the hook has written the line that it applied something."""
    left = list(actions)

    def act(fd, _):
        if fd == 2 and left:
            left.pop(0)()

    after(monkeypatch, os, "write", act)


def test_a_file_that_changes_after_the_look_is_looked_at_again(site, run, monkeypatch):
    folder = site.put("two")
    meanwhile(monkeypatch, lambda: site.install(), lambda: site.install("2.0", "A = 0\nVALUE = 1\n"))
    code, lines, state = run(folder)
    assert (code, site.value()) == (0, "A = 0\nVALUE = 22\n")
    assert lines == [APPLIED.format("1 file")] * len(lines) and state == signed(site, M, RECORD.replace("1.0", "2.0"))


def test_what_changes_again_and_again_is_left_to_the_next_start_before_long(site, run, monkeypatch):
    folder, versions = site.put("two"), []

    def change():
        versions.append(f"{len(versions) + 2}.0")
        site.install(versions[-1], f"A = {len(versions)}\nVALUE = 1\n")

    meanwhile(monkeypatch, *[change] * 50)
    code, lines, state = run(folder)
    assert (code, lines[-1], state) == (1, f"{site}: somebody keeps changing files there; the next start of Python looks again", [])
    assert 1 < len(versions) < 10


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
    [(2, 7, False, 1.0), (2, 2_999_999_998, False, 4.0), (22, 7, False, 0.0), (2, 7, True, 0.0)],
)
def test_the_record_waits_until_a_reinstall_would_be_noticed(site, run, monkeypatch, new, mtime, record, waited):
    """If the clock of the machine that wrote the file was wrong, it does not wait that long."""
    patchset(site.above, new=new)
    os.utime(site.path / M, (mtime, mtime))
    if not record:
        shutil.rmtree(f"{site}/demo-1.0.dist-info")
    folder, clocks = site.put("two"), []

    def stop_the_clock():
        written = int((site.path / M).stat().st_mtime)
        clocks.append(Clock(monkeypatch, float(min(written, int(time.time())))))

    meanwhile(monkeypatch, stop_the_clock)
    assert run(folder)[0] == 0
    assert sum(clocks[0].slept) == pytest.approx(waited, abs=0.1)


def test_without_a_record_a_patch_that_keeps_the_size_is_recorded_once_its_second_is_over(site, run):
    patchset(site.above, new=2)
    shutil.rmtree(f"{site}/demo-1.0.dist-info")
    folder = site.put("two")
    assert run(folder) == (0, [APPLIED.format("1 file")], signed(site, M))
    assert time.time() >= int((site.path / M).stat().st_mtime) + 1


# two hooks --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "wins"), [("other", True), ("sitepatch-hook-y", False)])
def test_of_two_hooks_that_disagree_the_first_by_name_wins(site, run, name, wins):
    folder = site.put("two")
    patchset(site.above, new=33, version="2")
    other = site.put("two", name=name)
    code, lines, state = run(folder)
    if wins:
        why = f"two: {name} keeps it applied in another version or with other options; uninstall {name} or sitepatch-hook-x"
        assert (code, lines) == (1, [why]) and signed(site, "_other/hook.json")[0] in state
        assert site.value() == "VALUE = 1\n"
        shutil.rmtree(other)
        assert boot.recorded_problems(folder, installed.load_hook(folder).version, "repair") is None, "its end is seen"
    else:
        assert (code, lines) == (0, [APPLIED.format("1 file")])
    assert run(folder)[0] == 0 and site.value() == "VALUE = 22\n"


@pytest.mark.parametrize("name", ["other", "sitepatch-hook-y"])
def test_hooks_that_agree_do_not_disturb_each_other(site, run, name):
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
    code, (line,), _ = run(folder)
    assert code == 1 and "written by sitepatch 9.0 in format 2" in line
    with pytest.raises(FormatError):
        installed.loaded_hooks(Environment.alone(str(site)))


# damage -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("hook.json", None, "hook.json: cannot be read: No such file or directory"),
        ("hook.json", b"{", "hook.json: is not the JSON that sitepatch writes"),
        ("hook.json", b'{"format": 1, "sitepatch": "0", "name": 1}', "name: found 1, expected a string"),
        ("patchsets/two/patchset.toml", b"y", "patchset.toml:1"),
        ("patchsets/two/p.spatch", None, "p.spatch: found no readable file"),
    ],
)
def test_a_damaged_hook_is_one_line(site, run, name, data, problem):
    folder = site.put("two")
    path = Path(folder, name)
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    code, (line,), state = run(folder)
    assert code == 1 and state == [] and problem in line and line.endswith("; run `sitepatch hook init` again, and install the hook again")


@pytest.mark.parametrize("data", [b"?", b"\xff"])
def test_a_damaged_state_is_reported_and_made_anew(site, run, data):
    folder = site.put("two")
    run(folder)
    good = Path(folder, "state").read_text()
    Path(folder, "state").write_bytes(data)
    code, (line,), _ = run(folder)
    assert code == 0 and line.startswith(f"{folder}/state: is damaged (") and line.endswith("; looking at every file again")
    assert Path(folder, "state").read_text() == good


@pytest.mark.parametrize(("error", "lines"), [(KeyboardInterrupt(), []), (ValueError("x"), ["_sitepatch_hook_x: ValueError: x"])])
def test_any_failure_is_one_line_at_most(site, run, monkeypatch, error, lines):
    fail(monkeypatch, fcntl, "flock", error)
    assert run(site.put("two")) == (1, lines, [])


# one at a time ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def hook(site):
    """The directory of a hook; no descriptor may be left open."""
    folder, before = Path(site.put("two")), open_descriptors()
    yield folder
    assert open_descriptors() <= before


def test_the_lock_of_a_hook_is_waited_for_and_not_for_ever(site, run, hook, monkeypatch):
    path = hook / "lock"
    path.chmod(0o600)
    with path.open("rb") as file, monkeypatch.context() as patched:
        fcntl.flock(file, fcntl.LOCK_EX)
        clock = Clock(patched)
        assert run(str(hook)) == (1, [f"another process has held {path} for 120 seconds; the next start of Python looks again"], [])
        assert clock.now - 1000 == pytest.approx(120, abs=0.1)
    assert run(str(hook)) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD))


@pytest.mark.parametrize("where", ["the file cannot be made", "the filesystem has no locks"])
def test_where_a_hook_cannot_be_locked_the_lock_of_the_store_is_enough(site, run, hook, monkeypatch, where):
    if where == "the file cannot be made":
        (hook / "lock").unlink()
        (hook / "lock").mkdir()
    else:
        fail_once(monkeypatch, fcntl, "flock", OSError("no locks here"))
    assert run(str(hook)) == (0, [APPLIED.format("1 file")], signed(site, M, RECORD))


@pytest.mark.parametrize(("mode", "kept"), [(0o600, True), (0o700, True), (0o640, False), (0o604, False), (None, False)])
def test_a_lock_file_that_others_may_open_is_replaced(run, hook, mode, kept):
    path = hook / "lock"
    path.unlink()
    if mode is not None:
        path.write_text("a")
        path.chmod(mode)
    assert run(str(hook))[0] == 0
    assert path.read_text() == "a" * kept and path.stat().st_mode & 0o077 == 0


@ROOT_ONLY
def test_a_lock_file_of_somebody_else_is_neither_waited_for_nor_replaced(run, hook):
    path = hook / "lock"
    for mode in (0o600, 0o666):
        path.chmod(mode)
        os.chown(str(path), 1001, 1001)
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert run(str(hook))[0] == 0
        assert path.stat().st_uid == 1001
    path.unlink()
    path.symlink_to("elsewhere")
    assert run(str(hook))[0] == 0 and not (hook / "elsewhere").exists()


# what is installed ------------------------------------------------------------------------------------------------------
def status(site):
    (installed,) = hooks.installed_hooks(Environment.alone(str(site)))
    return installed[2:5]


def test_hook_status_shows_the_state_of_a_hook(site, run, monkeypatch):
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
    _, (line,), _ = run(folder)
    assert status(site) == ("repair", False, (line,)), "as it is recorded"
    Path(folder, "hook.json").write_bytes(b'{"sitepatch"')
    assert "is not the JSON that sitepatch writes" in str(status(site))
