"""What runs at every start of Python is small, runs once, and works in odd surroundings; nothing of it is in the main wheel."""

import ast
import csv
import importlib
import io
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import patcher
from patcher.hook import backend, boot
from tests.command import ROOT, environ, tree
from tests.failures import before
from tests.records import digest

PACKAGE = Path(patcher.__file__).parent


def test_the_boot_module_imports_os_and_sys_only(place):
    nodes = ast.parse((PACKAGE / "hook/boot.py").read_bytes()).body
    assert [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names] == ["os", "sys"]
    assert not [node for node in nodes if isinstance(node, ast.ImportFrom)]
    code = "import sys; print(sorted(sys.modules))"
    (place.site / "other.pth").write_text("# reading any .pth file loads what its encoding needs\n")
    bare = place.start("-B", "-c", code).out
    place.install()
    place.start("-c", "0")
    with_hook = place.start("-B", "-c", code).out
    assert set(ast.literal_eval(with_hook)) - set(ast.literal_eval(bare)) == {place.folder.name}


def test_the_wheel_holds_one_module_the_patchsets_and_a_requirement_of_sitepatch(place):
    place.init()
    with zipfile.ZipFile(str(place.wheel())) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    assert [name.rpartition("/")[2] for name in names if name.endswith(".py")] == ["__init__.py"]
    assert [line for line in metadata.splitlines() if line.startswith("Requires-Dist")] == [f"Requires-Dist: sitepatch>={patcher.__version__}"]
    assert [name.partition("/patchsets/")[2] for name in names if "/patchsets/" in name] == ["two/p.spatch", "two/patchset.toml"]


def test_nothing_of_the_main_wheel_runs_when_python_starts():
    """tests/real/test_wheel.py looks at the wheel itself; these are all the files it is built from."""
    files = [*(ROOT / "patcher").rglob("*"), *(ROOT / "patchsets").rglob("*"), *(ROOT / "fixtures").rglob("*")]
    assert files
    assert [path for path in files if path.suffix in (".pth", ".start") or path.name == "sitecustomize.py"] == []
    assert ".pth" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_both_files_that_start_it_name_the_same_function(place):
    place.install()
    (pth,), (start,) = place.site.glob("sitepatch_hook*.pth"), place.site.glob("*.start")
    name = place.folder.name
    assert pth.read_text() == f"import {name}; {name}.start()\n"
    assert start.read_text() == f"{name}:start\n"
    assert pth.stem == start.stem, "Python 3.15 then passes over the import line"


ODD_STARTS = {  # redirections of a shell, variables, what the process does before
    "stderr closed": ("2>&-", environ(PYTHONPATH=""), None),
    "all closed": ("<&- >&- 2>&-", environ(PYTHONPATH=""), None),
    "SIGCHLD ignored": ("", environ(PYTHONPATH=""), lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)),
    "no bytecode": ("", environ(PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1"), None),
    "nothing in the environment": ("", {}, None),
}


@pytest.mark.parametrize("how", ODD_STARTS)
def test_odd_starts_patch_the_file_and_succeed(place, how):
    place.install()
    redirections, env, before_start = ODD_STARTS[how]
    command = ["/bin/sh", "-c", f'"$0" -c 0 {redirections}', str(place.python)]
    assert subprocess.run(command, env=env, preexec_fn=before_start).returncode == 0
    assert (place.site / "demo/m.py").read_text() == "VALUE = 22\n"
    assert (place.folder / "lock").read_bytes() == b""
    assert place.state().endswith("end\n")
    assert list((place.folder / "__pycache__").glob("__init__.*.pyc")), "it is compiled, whoever asked for no bytecode"
    before = tree(place.site)
    assert (place.start("-c", "0").err, tree(place.site)) == ("", before)


INTERRUPTED = """
import os
import {name} as hook

def interrupt(*words):
    raise KeyboardInterrupt

os.environ.pop("SITEPATCH_HOOK")
hook.recorded_problems = interrupt
hook.start()
print("started")
"""


def test_an_interrupt_during_the_look_ends_the_start_as_a_shell_expects(place):
    place.install()
    ended = place.start("-c", INTERRUPTED.format(name=place.folder.name), code=130, SITEPATCH_HOOK="off")
    assert (ended.out, ended.err) == ("", "")


def test_a_state_that_is_a_fifo_is_not_waited_for_and_is_made_anew(place):
    place.install()
    place.start("-c", "0")
    state = place.folder / "state"
    state.unlink()
    os.mkfifo(state)
    place.start("-c", "print('started')")
    assert state.is_file() and place.state().endswith("end\n")


def test_without_stderr_nothing_is_reported_whatever_has_its_number_now(tmp_path):
    code = """
import os, sys
from patcher.hook import boot
sys.stderr = None
os.dup2(os.open("file", os.O_WRONLY | os.O_CREAT), 2)
boot.write_stderr("x")
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environ(PYTHONPATH=str(ROOT)), check=True)
    assert (tmp_path / "file").read_bytes() == b""


def state(*lines, head="sitepatch-hook 1 ID tried"):
    return "\n".join([head, *lines, "end", ""])


def test_a_state_tells_which_files_have_changed(tmp_path):
    (tmp_path / "a.py").write_text("12345")
    os.utime(tmp_path / "a.py", (1_000_000_000.9, 1_000_000_000.9))
    (tmp_path / "link.py").symlink_to("a.py")
    site, good = str(tmp_path), "= 1000000000:5 a.py"
    assert boot.state_problems(state(good, "= absent b.py", "= 1000000000:5 link.py"), site, "ID", False) == []
    assert boot.state_problems(state("= 1000000000:5 a.py", ": it does not fit"), site, "ID", False) == ["it does not fit"]
    assert boot.state_problems(state(good), site, "another", False) is None
    assert boot.state_problems(state("= 1000000001:5 a.py"), site, "ID", False) is None, "newer"
    assert boot.state_problems(state("= 999999999:5 a.py"), site, "ID", False) is None, "older"
    assert boot.state_problems(state("= 1000000000:6 a.py"), site, "ID", False) is None
    assert boot.state_problems(state("= absent a.py"), site, "ID", False) is None
    assert boot.state_problems(state("= 1:1 b.py"), site, "ID", False) is None
    assert boot.state_problems("", site, "ID", False) is None
    assert boot.state_problems(state("= absent with a blank.py"), site, "ID", False) == []
    looked = state("= 1000000000:5 a.py", ": it is not applied", head="sitepatch-hook 1 ID looked")
    assert boot.state_problems(looked, site, "ID", True) == ["it is not applied"]
    assert boot.state_problems(looked, site, "ID", False) is None, "nobody has tried"


MALFORMED_STATES = [
    "x",
    "end\n",
    "sitepatch-hook 2 ID tried\nend\n",
    state()[:-1],
    state()[:-4],
    state(""),
    state("= 1:1"),
    state("= 1:1 "),
    state("= 1:1 /a"),
    state("= 1:1 .."),
    state("= 1:1 a/../../b"),
    state("= 1:1 a\0"),
    state("+ 1:1 a"),
    state("! 1:1 a"),
]


@pytest.mark.parametrize("text", MALFORMED_STATES)
def test_a_malformed_state_is_refused_and_no_path_outside_the_site_directory_is_read(tmp_path, text, monkeypatch):
    paths = []
    with monkeypatch.context() as patch, pytest.raises(ValueError):
        before(patch, os, "stat", lambda path, *_, **__: paths.append(str(path)))
        boot.state_problems(text, str(tmp_path), "ID", False)
    assert not [path for path in paths if path.startswith(str(tmp_path))]


def test_the_wheel_has_the_same_bytes_wherever_it_is_made(place):
    place.init()
    patches = place.path / "patches"

    def build(**variables):
        command = [sys.executable, "-c", "import backend; print(backend.build_wheel('.'))"]
        name = subprocess.check_output(command, cwd=patches, text=True, env=environ(**variables))
        return (patches / name.strip()).read_bytes()

    assert build(PYTHONHASHSEED="1", TZ="UTC") == build(PYTHONHASHSEED="2", TZ="Asia/Tokyo")


def test_the_wheel_has_a_record_of_all_its_files(place):
    place.init()
    with zipfile.ZipFile(place.wheel()) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith("/RECORD")]
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        expected = []
        for name in archive.namelist():
            data = archive.read(name)
            expected.append([name, "", ""] if name == record else [name, digest(data), str(len(data))])
    assert sorted(rows) == sorted(expected)
    empty = {name.rpartition("/")[2] for name, _, size in rows if size == "0"}
    assert empty >= {"state", "state.tmp", "lock"}, "what is written later stands in RECORD, so that an uninstall removes it"


def test_every_member_of_a_wheel_is_a_plain_file_of_1980_that_record_lists():
    data = backend.Wheel("a-1-py3-none-any.whl", {"b.py": b"x", "a,b": b""}).pack()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(each.filename, each.create_system, each.external_attr, each.date_time) for each in archive.infolist()]
        names = ("a,b", "b.py", "a-1.dist-info/RECORD")
        assert members == [(name, 3, 0o100644 << 16, (1980, 1, 1, 0, 0, 0)) for name in names]
        assert archive.read(names[-1]).decode().split("\n") == [
            '"a,b",sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0',
            "b.py,sha256=LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE,1",
            "a-1.dist-info/RECORD,,",
            "",
        ]


# a start, without starting ----------------------------------------------------------------------------------------------
@pytest.fixture
def started(tmp_path, monkeypatch, capfd):
    """Call start() of a boot module that lies in a site directory; returns exit codes, modes of children, lines of stderr.

    What sitepatch would do in a child process, `child` does: whether all is well, or that there can be no child.
    """
    folder = tmp_path / "_hook_x"
    folder.mkdir()
    (tmp_path / "m.py").write_text("12345")
    os.utime(str(tmp_path / "m.py"), (7, 7))

    def start(*lines, mode="repair", force="", did="tried", again=False, child=None):
        (folder / "state").write_text(state(*lines, head=f"sitepatch-hook 1 ID {did}"))
        text = Path(boot.__file__).read_text(encoding="utf-8")
        text = text.replace("@NAME@", "hook-x").replace("@ID@", "ID").replace("@MODE@", mode)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        monkeypatch.setenv("SITEPATCH_HOOK", force)
        monkeypatch.syspath_prepend(str(tmp_path))
        sys.modules.pop("_hook_x", None)
        module = importlib.import_module("_hook_x")
        exits, modes = [], []
        spawn = os.posix_spawn

        def spawn_another(python, words, *rest, **more):
            modes.append(words[-1])
            return spawn(sys.executable, [sys.executable, "-S", "-c", f"raise SystemExit({not child()})"], *rest, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, "_exit", exits.append)
            patch.setattr(os, "posix_spawn", spawn_another)
            module.start()
            if again:
                module.start()
        messages = [line.partition("sitepatch-hook: ")[2] for line in capfd.readouterr().err.splitlines()]
        return exits, modes, messages

    return start


GOOD, WHY = "= 7:5 m.py", ": it does not fit"
FAILED = "hook-x could not look at its files: ZeroDivisionError: division by zero"
STRICT = "hook-x is strict: the program is not started (SITEPATCH_HOOK=off starts it, to mend this)"


@pytest.mark.parametrize(
    ("lines", "how", "exits", "modes", "messages"),
    [
        ([GOOD], {}, [], [], []),
        ([GOOD], {"mode": "strict"}, [], [], []),
        ([GOOD, WHY], {}, [], [], []),
        ([GOOD, WHY], {"mode": "warn"}, [], [], ["it does not fit"]),
        ([GOOD, WHY], {"mode": "warn", "did": "looked"}, [], [], ["it does not fit"]),
        ([GOOD, WHY], {"mode": "warn", "again": True}, [], [], ["it does not fit"]),
        ([GOOD, WHY], {"mode": "strict"}, [1], [], ["it does not fit", STRICT]),
        ([GOOD, WHY], {"mode": "strict", "force": "off"}, [], [], []),
        ([GOOD, WHY], {"mode": "strict", "force": "repair"}, [], [], []),
        ([GOOD, WHY], {"mode": "repair", "force": "warn"}, [], [], ["it does not fit"]),
        ([GOOD, WHY], {"mode": "warn", "force": "x"}, [], [],
         ["SITEPATCH_HOOK: found 'x', expected repair, warn, strict or off; the mode is warn", "it does not fit"]),
        ([GOOD, WHY], {"did": "looked", "child": lambda: False}, [], ["repair"], []),
        (["= 8:5 m.py"], {"child": lambda: True}, [], ["repair"], []),
        (["= 8:5 m.py"], {"mode": "warn", "child": lambda: False}, [], ["warn"], []),
        (["= 8:5 m.py"], {"mode": "strict", "child": lambda: True}, [], ["strict"], []),
        (["= 8:5 m.py"], {"mode": "strict", "child": lambda: False}, [1], ["strict"], [STRICT]),
        (["= absent n.py"], {}, [], [], []),
        (["?"], {"child": lambda: True}, [], ["repair"], []),
        (["= 8:5 m.py"], {"child": lambda: 1 / 0}, [], ["repair"], [FAILED]),
        (["= 8:5 m.py"], {"child": lambda: 1 / 0, "mode": "warn"}, [], ["warn"], [FAILED]),
        (["= 8:5 m.py"], {"child": lambda: 1 / 0, "mode": "strict"}, [1], ["strict"], [FAILED, STRICT]),
    ],
)  # fmt: skip
def test_the_mode_decides_what_a_start_prints_and_whether_the_program_runs(started, lines, how, exits, modes, messages):
    assert started(*lines, **how) == (exits, modes, messages)


@pytest.mark.parametrize(
    ("does", "good", "message"),
    [
        ("exit 0", True, ""),
        ("exit 1", False, ""),
        ("kill -9 $$", False, "sitepatch-hook: @NAME@: the process that looks at its files was ended by signal 9\n"),
    ],
)
@pytest.mark.parametrize("stderr", [True, False])
@pytest.mark.parametrize("bytecode", [True, False])
def test_the_child_is_run_without_stdin_and_its_end_is_reported(tmp_path, monkeypatch, capfd, bytecode, stderr, does, good, message):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" = -B ] && echo $2 && shift\necho "$1 $2 $4 $5 $6 $SITEPATCH_HOOK $(cat)"\n{does}\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "dont_write_bytecode", not bytecode)
    if not stderr:
        monkeypatch.setattr(sys, "stderr", None)
    python.with_name("in").write_text("not for the child")
    stdin = os.dup(0)
    with python.with_name("in").open() as file:
        os.dup2(file.fileno(), 0)
        try:
            assert boot.run_child("warn") is good
        finally:
            os.dup2(stdin, 0)
            os.close(stdin)
    words = f"-I -c @NAME@ {boot.HERE} warn off \n" if bytecode else f"-B\n-B -c @NAME@ {boot.HERE} warn off \n"
    assert capfd.readouterr() == ("", words + message if stderr else "")


@pytest.mark.parametrize(("recorded", "good"), [(None, False), ([], True), (["it does not fit"], False)])
def test_where_the_exit_status_of_the_child_is_lost_the_state_decides(tmp_path, monkeypatch, recorded, good):
    folder = tmp_path / "_hook_x"
    folder.mkdir()
    if recorded is not None:
        (folder / "state").write_text(state(*(f": {reason}" for reason in recorded), head="sitepatch-hook 1 @ID@ tried"))
    (folder / "__init__.py").write_bytes(Path(boot.__file__).read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "_hook_x", raising=False)
    (tmp_path / "python").symlink_to("/bin/true")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    ignored = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert importlib.import_module("_hook_x").run_child("warn") is good
    finally:
        signal.signal(signal.SIGCHLD, ignored)


VERSIONED = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize(
    ("executable", "there", "expected"),
    [
        ("at/python3", ["at/python3", f"bin/{VERSIONED}"], "at/python3"),
        ("at/pypy3", ["at/pypy3"], "at/pypy3"),
        ("at/uwsgi", ["at/uwsgi", "bin/python", "bin/python3", f"bin/{VERSIONED}"], f"bin/{VERSIONED}"),
        ("at/python3", ["bin/python", "bin/python3"], "bin/python3"),
        (None, ["bin/python"], "bin/python"),
        ("at/uwsgi", ["at/uwsgi"], ""),
    ],
)
def test_the_child_runs_the_python_of_this_environment(tmp_path, monkeypatch, capfd, executable, there, expected):
    for name in there:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", executable and str(tmp_path / executable))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert boot.run_child("warn") is bool(expected)
    none = f"sitepatch-hook: @NAME@: found no Python to run; start the one of this environment once: {tmp_path}"
    assert capfd.readouterr().err == f"{expected or none}\n"
