"""`sitepatch doctor`: each known trouble is set up in a throw-away environment and found; a clean one has none."""

import contextlib
import importlib.util
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from patcher.installed.interpreter import Environment, discover
from patcher.store.receipt import encode_fields
from patcher.verbs.demo import lay_out
from patcher.verbs.doctor import CHECKS, TROUBLES
from patcher.verbs.health.checks import NOTE, OK, PROBLEM, examine
from patcher.verbs.health.examination import Examination
from patcher.verbs.health.stale_bytecode import stale_files
from patcher.verbs.hook import installed_hooks
from tests import places
from tests.command import (
    DDP,
    GUARD,
    ROOT,
    RUNNER,
    Ended,
    Site,
    done,
    environ,
    killed_once_committed,
    sitepatch,
)
from tests.locks import held, held_open, told
from tests.stores import temporary

pytestmark = pytest.mark.once
STAND_INS = ("mmengine-0.10.7", "torch-2.9.0")

UTILS = "mmengine/dist/utils.py"
FILES = ["mmengine/_strategy/distributed.py", UTILS, RUNNER]
TARGETS = [*FILES, "mmengine/utils/package_utils.py"]  # of all built-in patchsets


@pytest.fixture
def patched(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    assert site("apply", DDP, GUARD).code == 0
    return site


def findings(ended):
    """The findings that are not ok: (severity, check, text and hint)."""
    answer = json.loads(ended.out)
    assert ended.code == (0 if answer["ok"] else 1)
    rows = [(one["severity"], one["check"], f"{one['what']} | {one['hint']}") for one in answer["findings"]]
    assert {check for _, check, _ in rows} == {check.name for check in (*CHECKS, *TROUBLES)}  # every check has a finding
    assert answer["ok"] == all(severity != PROBLEM for severity, _, _ in rows)
    return [row for row in rows if row[0] != OK]


def doctor(site, *words, **more):
    return findings(site("doctor", "--json", *words, **more))


def expect(rows, *requested):
    """Check that these are the findings, in this order; each text is a regular expression."""
    assert [row[:2] for row in rows] == [one[:2] for one in requested], rows
    for (_, _, text), (_, _, pattern) in zip(rows, requested):
        assert re.search(pattern, text, re.DOTALL), text


def inside(env, patch_dirs=()):
    """The findings in an environment that is described and not on the disk."""
    rows = examine(Examination(env, patch_dirs), CHECKS)
    return [(one.severity, one.check, f"{one.what} | {one.hint}") for one in rows if one.severity != OK]


@pytest.mark.parametrize("broken", ["raise ImportError('no such library')", ""])
def test_a_libcst_that_cannot_be_imported_is_named_with_what_to_install(site, broken):
    """A wheel for another interpreter: the package is there, and its native library is not."""
    (site.cwd / "libcst" / "_nodes").mkdir(parents=True)
    (site.cwd / "libcst" / "__init__.py").write_text(broken)
    (site.cwd / "libcst" / "_nodes" / "internal.py").write_text("CodegenState = object\n")
    variables = environ(PYTHONPATH=os.pathsep.join([str(site.cwd), str(ROOT)]), SITEPATCH_CACHE=str(site.cwd / "cache"))
    before = site.tree()
    for words in (["apply", "mmengine-device"], ["doctor"]):
        command = [sys.executable, "-m", "patcher", *words, "--target", str(site.path)]
        ended = Ended(subprocess.run(command, cwd=site.cwd, env=variables, capture_output=True))
        assert ended.code == 1 and "Traceback" not in ended.err, ended
        text = " ".join((ended.out + ended.err).split())
        assert "libcst, which reads Python code, cannot be imported" in text and f"{sys.executable} -m pip install" in text
    assert site.tree() == before


# --- in order -------------------------------------------------------------------------------------------------------


def test_in_a_clean_environment_everything_is_ok_and_nothing_is_written(site):
    before = site.tree()
    assert done(site("doctor")).out == f"0 problems in {site.path}\n"
    ended = site("doctor", "-v")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["ok"] * len((*CHECKS, *TROUBLES)) + ["0"]
    assert doctor(site) == []
    assert site("doctor", "-q").out == ""
    assert site.tree() == before


def test_doctor_has_no_findings_about_what_sitepatch_applied(patched):
    before = patched.tree()
    assert doctor(patched) == []
    assert patched.tree() == before


def test_an_empty_venv_is_in_order(tmp_path):
    python, _ = places.venv(tmp_path / "venv")
    assert findings(sitepatch("doctor", "--json", "--python", python, cwd=tmp_path)) == []


def test_the_help_lists_what_is_checked(tmp_path):
    assert "of other files only whether a backup lies" in " ".join(sitepatch("doctor", "--help", cwd=tmp_path).out.split())


# --- directories and files ------------------------------------------------------------------------------------------


def test_what_this_user_may_not_write_is_a_problem():
    public = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    public.chmod(0o755)
    site = Site(public, "mmengine-0.10.7")
    folders = [site.path, *(path for path in site.path.rglob("*") if path.is_dir())]
    for path in site.path.rglob("*.py"):
        path.chmod(0o644)
    for folder in folders:
        folder.chmod(0o555)
    case = Examination(discover(None, str(site.path)), ())
    case.statuses, case.targets  # noqa: B018  (located as root: the standard library may be closed to others)
    assert os.getuid() or {one.severity for one in examine(case, CHECKS)} == {OK}
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.chdir("/")
            os.write(write, json.dumps([one for one in examine(case, CHECKS) if one.severity != OK]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        rows = json.load(file)
    os.waitpid(child, 0)
    for folder in folders:
        folder.chmod(0o755)
    shutil.rmtree(public)
    rows = [row for row in rows if row[1] != "environment"]  # the interpreter of the tests may be closed to others
    assert {tuple(row[:2]) for row in rows} == {(PROBLEM, "permissions")}, rows
    folders = {str(site.path), *(str((site.path / path).parent) for path in TARGETS)}
    assert {row[2].split(":")[0] for row in rows} == folders  # their files belong to the same user, which is reported once
    why = "its mode does not let you write" if os.getuid() else "may not write here, its owner is"
    assert all(why in row[2] for row in rows)


def test_many_findings_of_one_check_are_a_few_lines_and_all_of_them_with_verbose(patched):
    for number in range(5):
        (patched.path / ".sitepatch/pristine" / f"stray-{number}").write_text("")
    out = patched("doctor").out
    assert re.findall(r"^note +leftovers +(?:\S*/)?(stray-.|and 2 more)", out, re.MULTILINE) == ["stray-0", "stray-1", "stray-2", "and 2 more"]
    assert "and 2 more; -v shows all\n" in out and out.count("it can be removed") == 3
    out = patched("doctor", "-v").out
    assert out.count("it can be removed") == 5 and " more" not in out
    assert len(doctor(patched)) == 5


def test_an_immutable_file_is_a_problem(site):
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", site.file()], check=False).returncode:
        pytest.skip("chattr +i does not work here")
    try:
        expect(doctor(site), (PROBLEM, "permissions", rf"{RUNNER}: the file is immutable; .*chattr -i"))
    finally:
        subprocess.run(["chattr", "-i", site.file()], check=True)


@pytest.mark.parametrize(
    ("option", "check", "text"),
    [("size=1m", "space", "KiB are left"), ("nr_inodes=200", "space", "no more files"), ("ro", "permissions", "mounted read-only")],
)
def test_a_disk_that_takes_no_file_is_reported(tmp_path, option, check, text):
    disk = tmp_path / "disk"
    disk.mkdir()
    options = "size=64m" if option == "ro" else option
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", disk], check=False).returncode:
        pytest.skip("a disk can only be mounted by root")
    try:
        site = Site(disk, "mmengine-0.10.7")
        site.cwd = tmp_path
        number = 0
        while option.startswith("nr_") and os.statvfs(disk).f_favail:
            (disk / f"file{number}").touch()
            number += 1
        if option == "ro":
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        rows = doctor(site)
        assert {row[:2] for row in rows} == {(PROBLEM, check)}
        assert text in rows[0][2]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_files_shared_with_a_cache_are_noted(site, tmp_path):
    os.link(site.file(), tmp_path / "cached.py")
    shutil.move(str(site.file(UTILS)), str(tmp_path / "utils.py"))
    site.file(UTILS).symlink_to(tmp_path / "utils.py")
    expect(
        doctor(site),
        (NOTE, "shared files", rf"^symbolic links: {UTILS} -> {tmp_path}/utils.py \|"),
        (NOTE, "shared files", rf"^hard links .*: {RUNNER} \|"),
    )


def test_backups_beside_target_files_are_noted(site):
    for name in ("runner.py.debug_backup", "runner.py.orig", "runner.py~", "runner.bak", "runner.py.20240101.backup"):
        (site.file().parent / name).touch()
    for name in ("runner_backup.py", "runner.pyi", "other.py.orig"):  # modules, and what is beside no target file
        (site.file().parent / name).touch()
    rows = doctor(site)
    assert {row[:2] for row in rows} == {(NOTE, "backups")}
    assert sorted(Path(row[2].split(" looks")[0]).name for row in rows) == [
        "runner.bak", "runner.py.20240101.backup", "runner.py.debug_backup", "runner.py.orig", "runner.py~",
    ]  # fmt: skip


# --- packages -------------------------------------------------------------------------------------------------------


def test_a_package_with_nothing_left_but_backups_is_a_problem(tmp_path):
    python, site = places.venv(tmp_path / "venv")
    folder = site / "mmengine/runner"
    folder.mkdir(parents=True)
    (folder / "runner.py.debug_backup").touch()
    assert subprocess.run([python, "-c", "import mmengine"], check=False).returncode == 0
    rows = findings(sitepatch("doctor", "--json", "--python", python, cwd=tmp_path))
    expect(rows, (PROBLEM, "packages", "mmengine holds no module: mmengine is uninstalled, and `import mmengine` still"))


def test_an_editable_install_is_a_problem(tmp_path):
    python, site = places.venv(tmp_path / "venv")
    checkout = tmp_path / "checkout"
    lay_out("mmengine-0.10.7", checkout)
    shutil.rmtree(checkout / "mmengine-0.10.7.dist-info")
    (site / "__editable__.mmengine-0.10.7.pth").write_text(f"{checkout}\n")
    rows = findings(sitepatch("doctor", "--json", "--python", python, cwd=tmp_path))
    expect(rows, (PROBLEM, "packages", rf"mmengine is an editable install.*--target {checkout}"))


def test_a_package_inside_an_archive_is_a_problem(site, tmp_path):
    lay_out("mmengine-0.10.7", tmp_path / "egg")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "egg")
    places = (str(tmp_path / "packed.zip"), str(site.path))
    rows = inside(Environment("/nowhere/python", places[1:], places, sys.version_info[:2]))
    expect(rows, (PROBLEM, "packages", "mmengine lies inside the archive"))


def test_a_package_that_is_a_link_out_of_the_site_directory_is_a_problem(site, tmp_path):
    shutil.move(str(site.path / "mmengine"), str(tmp_path / "elsewhere"))
    (site.path / "mmengine").symlink_to(tmp_path / "elsewhere")
    (row,) = doctor(site)
    expect([row], (PROBLEM, "packages", "is a link to .*/elsewhere, outside the site directory.*--target"))


def test_a_package_in_two_site_directories_is_noted(site, tmp_path):
    lay_out("mmengine-0.7.4", tmp_path / "later")
    places = (str(site.path), str(tmp_path / "later"))
    rows = inside(Environment(sys.executable, places, places, sys.version_info[:2]))
    expect(rows, (NOTE, "packages", rf"mmengine is found twice: .*; {site.path} comes first"))


def test_two_records_of_one_package_are_a_problem(site):
    shutil.copytree(site.path / "mmengine-0.10.7.dist-info", site.path / "mmengine-0.10.6.dist-info")
    metadata = site.path / "mmengine-0.10.6.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("0.10.7", "0.10.6"))
    expect(doctor(site), (PROBLEM, "packages", "belongs to several distributions.*0.10.6.*0.10.7"))
    record = site.path / "mmengine-0.10.6.dist-info/RECORD"
    record.write_text(re.sub(r"sha256=....", "sha256=AAAA", record.read_text()))
    expect(
        doctor(site),
        (NOTE, "packages", "also listed by"),
        (PROBLEM, "duplicates", "recorded 2 times.*mmengine-0.10.6.dist-info, mmengine-0.10.7.dist-info"),
    )


def test_a_package_from_outside_the_virtual_environment_is_noted(site, tmp_path):
    python, own = places.venv(tmp_path / "venv")
    sites = (str(own), str(site.path))
    rows = inside(Environment(str(python), sites, ("/nowhere", *sites), sys.version_info[:2]))
    of_mmengine = (NOTE, "environment", "mmengine is not of the virtual environment")
    of_torch = (NOTE, "environment", "torch is not of the virtual environment")
    expect(rows, of_mmengine, of_torch)


def test_a_compiled_module_that_is_imported_instead_is_a_problem(site):
    site.file().with_suffix(".abi3.so").touch()
    expect(doctor(site), (PROBLEM, "loader", r"the compiled runner.abi3.so beside it comes first"))


def test_an_edit_by_hand_is_a_problem(site):
    site.file().write_bytes(site.file().read_bytes() + b"# mine\n")
    rows = doctor(site)
    expect(rows, (PROBLEM, "hand edits", r"1 file that patchsets are for: edited by hand.*sitepatch diff --edited"))


# --- what is applied ------------------------------------------------------------------------------------------------


def test_patched_files_that_changed_since_are_a_problem(patched, tmp_path):
    lay_out("mmengine-0.10.7", tmp_path / "again")
    shutil.copyfile(str(tmp_path / "again" / UTILS), str(patched.file(UTILS)))
    patched.file(FILES[0]).unlink()
    patched.file().write_bytes(patched.file().read_bytes() + b"# mine\n")
    expect(
        doctor(patched),
        (PROBLEM, "applied", r"not all is as it was applied \| see: sitepatch status"),
    )


def stale(file, to, mode):
    """Write bytecode of another text that an interpreter takes for that of `file`."""
    other = file.with_name("other.py")
    other.write_bytes(b"old = True\n" + b"#" * 99)
    py_compile.compile(str(other), cfile=str(to), invalidation_mode=mode, doraise=True)
    if mode is py_compile.PycInvalidationMode.TIMESTAMP:
        data, info = to.read_bytes(), file.stat()
        to.write_bytes(data[:8] + int(info.st_mtime).to_bytes(4, "little") + info.st_size.to_bytes(4, "little") + data[16:])
    other.unlink()


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
@pytest.mark.parametrize("level", ["", "1"])
def test_bytecode_of_another_source_is_a_problem(patched, mode, level):
    file = patched.file()
    py_compile.compile(str(file), doraise=True)
    assert doctor(patched) == []  # its own
    pyc = Path(importlib.util.cache_from_source(str(file), optimization=level))
    stale(file, pyc, mode)
    if mode is py_compile.PycInvalidationMode.CHECKED_HASH:
        assert doctor(patched) == []  # which the loader would not take
    else:
        expect(doctor(patched), (PROBLEM, "bytecode", f"{pyc} was compiled from another text than {file} has now"))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_its_own_bytecode_is_in_order_at_any_level(tmp_path, level):
    file = tmp_path / "m.py"
    file.write_text('"""Of levels 0 and 1."""\nassert __file__, "of level 0"\n')
    py_compile.compile(str(file), optimize=level, doraise=True)
    assert list(stale_files(str(file))) == []


def test_bytecode_that_cannot_be_read_counts_as_of_no_source(patched):
    file = patched.file()
    py_compile.compile(str(file), doraise=True)
    pyc = Path(importlib.util.cache_from_source(str(file)))
    header = pyc.read_bytes()[:16]
    for rest in (b"\xff", b""):
        pyc.write_bytes(header + rest)
        expect(doctor(patched), (PROBLEM, "bytecode", f"{pyc} was compiled from another text than {file} has now"))
    pyc.write_bytes(header[:15])  # which the loader does not take
    assert doctor(patched) == []


def test_bytecode_that_no_loader_would_take_is_not_reported(patched):
    file = patched.file()
    pyc = Path(importlib.util.cache_from_source(str(file)))
    stale(file, pyc, py_compile.PycInvalidationMode.TIMESTAMP)
    data = pyc.read_bytes()
    for wrong in (data[:8] + b"\0\0\0\0" + data[12:], data[:12] + b"\0\0\0\0" + data[16:], b"abcd" + data[4:], data[:9]):
        pyc.write_bytes(wrong)  # of another time, of another size, of another release, cut off
        assert doctor(patched) == []


def test_bytecode_under_a_prefix_is_checked(patched, tmp_path):
    file, prefix = patched.file(), tmp_path / "prefix"
    expect(doctor(patched, PYTHONPYCACHEPREFIX=str(prefix)), (NOTE, "bytecode", f"PYTHONPYCACHEPREFIX is set to {prefix}"))
    tag = Path(importlib.util.cache_from_source(str(file))).name
    pyc = prefix / str(file.parent)[1:] / tag
    pyc.parent.mkdir(parents=True)
    stale(file, pyc, py_compile.PycInvalidationMode.UNCHECKED_HASH)
    rows = doctor(patched, PYTHONPYCACHEPREFIX=str(prefix))
    expect(rows, (NOTE, "bytecode", "PYTHONPYCACHEPREFIX"), (PROBLEM, "bytecode", str(pyc)))


@told
def test_an_interrupted_run_is_a_problem_and_one_under_way_is_noted(site):
    killed_once_committed(site, "apply", DDP)
    (first, *rest) = doctor(site)
    expect([first], (PROBLEM, "applied", "not all is as it was applied"))
    assert rest == []
    with held_open(site.path / ".sitepatch/lock"):
        expect(doctor(site), (NOTE, "locks", f"process {os.getpid()}"))


def test_damaged_hooks_are_one_line_and_hook_status_has_each(site):
    for name in ("_a", "_b"):
        (site.path / name).mkdir()
        (site.path / name / "hook.json").write_text('{"sitepatch"')
    expect(doctor(site), (PROBLEM, "hooks", "2 hooks: not in order.*see: sitepatch hook status"))
    ended = done(site("hook", "status"), 1)
    for name in ("_a", "_b"):
        assert f"{name}/hook.json: is not the JSON that sitepatch writes" in ended.out + ended.err


def test_a_hook_whose_files_are_as_requested_is_no_problem_whatever_it_reports(site):
    (site.path / "_mine").mkdir()
    (site.path / "_mine/hook.json").write_bytes(encode_fields({"name": "mine", "version": "1", "mode": "repair", "patchsets": {}, "files": []}))
    look, *rest = installed_hooks(discover(None, str(site.path)))
    assert (look.folder, look.good, rest) == (f"{site.path}/_mine", True, []) and "its .pth file is gone" in look.messages[0]
    assert doctor(site) == []


@told
def test_a_process_that_holds_the_lock_is_noted(patched):
    with held(patched.path) as holder:
        expect(doctor(patched), (NOTE, "locks", f".sitepatch/lock is held by process {holder.pid}"))


def test_a_damaged_store_is_a_problem(patched):
    home = patched.path / ".sitepatch"
    first, second, *_ = sorted((home / "pristine").iterdir())
    first.unlink()
    second.write_bytes(b"other")
    text = sorted((home / "patchsets").iterdir())[0]
    text.write_text("{}")
    expect(doctor(patched), (PROBLEM, "applied", "not all is as it was applied"))
    damaged = json.loads(patched("status", "--json").out)["damaged"]
    lines = [f"{one['problem']} | {one['hint']}" for one in damaged]
    assert sum("is missing | install the package" in line for line in lines) == 1
    assert sum("the pristine copy is damaged" in line for line in lines) == 1
    assert sum(text.name in line for line in lines) >= 1

    receipt = sorted((home / "receipts").iterdir())[0]
    receipt.write_text("{")
    rows = doctor(patched)
    assert (PROBLEM, "applied") in {row[:2] for row in rows} and receipt.name in patched("status").out
    assert "leftovers" not in [check for _, check, _ in rows], "what it named is not known"


def test_leftover_files_are_noted(patched):
    home = patched.path / ".sitepatch"
    prepared, *_ = temporary("mmengine/runner/runner.py")
    leftovers = [
        home / "pristine" / ("0" * 64),
        home / "receipts/x.json.new",
        home / "what",
        patched.path / "mmengine/runner" / prepared,
    ]
    for path in leftovers:
        path.touch()
    rows = doctor(patched)
    assert {row[:2] for row in rows} == {(NOTE, "leftovers")}
    assert {text.split(" ")[0] for _, _, text in rows} == set(map(str, leftovers))


# --- who runs it ----------------------------------------------------------------------------------------------------


def test_a_broken_patchset_is_a_problem(site):
    site.source(GUARD, toml=[("schema = 1", "schema = 99")])
    expect(doctor(site), (PROBLEM, "patchsets", r"patchset\.toml.*99"))


def test_an_entry_point_that_leads_nowhere_is_a_problem(site, tmp_path):
    info = tmp_path / "path/x-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[sitepatch.patchsets]\nx = gone\n")
    expect(doctor(site, PYTHONPATH=f"{ROOT}:{info.parent}"), (PROBLEM, "patchsets", "x = gone leads to no directory"))


def test_a_missing_directory_of_patchsets_is_wrong_usage(site):
    assert site("doctor", "--patch-dir", "gone").code == 2


@pytest.mark.skipif(os.getuid() != 0, reason="is about what root does")
def test_a_patchset_that_others_can_change_is_a_problem(site, tmp_path):
    folder = site.source(GUARD)
    assert doctor(site) == []
    patch = next(folder.glob("*.spatch"))
    patch.chmod(0o666)
    expect(doctor(site), (PROBLEM, "patchsets", f"{patch.name}: others may write to it .everybody"))
    patch.chmod(0o664)
    assert doctor(site) == []  # the group is root's own
    os.chown(patch, 0, 65534)
    expect(doctor(site), (PROBLEM, "patchsets", f"{patch.name}: others may write to it .group 65534"))
    patch.chmod(0o644)
    os.chown(patch, 65534, -1)
    expect(doctor(site), (PROBLEM, "patchsets", f"{patch.name}: belongs to user 65534"))
    shutil.move(str(folder.parent), str(tmp_path / "elsewhere"))
    assert doctor(site) == []
    assert len(doctor(site, "--patch-dir", tmp_path / "elsewhere")) == 1
