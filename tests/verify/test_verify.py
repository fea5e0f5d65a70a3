"""The promises about verifying: each in a real environment, with a package whose patch does the worst."""

import json
import os
import py_compile
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patcher.installed.interpreter import discover
from patcher.model import FilePlan, PatchsetSource
from patcher.patchset.manifest import load_patchset
from patcher.system.process import relevant_lines
from patcher.verify import VerifySettings
from patcher.verify.namespace import Namespace
from patcher.verify.run import _OWN, verify_files
from tests.command import ROOT, environ, sitepatch, tree
from tests.installed.sites import install
from tests.interpreters import interpreters
from tests.records import write_patchset
from tests.verify.helpers import PRISTINE, Venv

MARK = "import os\nwith open(os.environ['MARKS'], 'a') as marks:\n    marks.write(str(os.getpid()) + ' ')\n"
MOUNTS = Namespace({}, Path()).works()
HANG = f"{MARK}import time\ntime.sleep(600)\n"


@pytest.fixture
def venv(tmp_path):
    return Venv(tmp_path)


def until(condition):
    """Wait until `condition` holds; fail if it never does."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def running(pid):
    """Whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def assert_refused(venv, words, *texts, code=1, **more):
    """Check that the command ends with `code`, prints `texts`, and keeps every byte, mode and mtime; returns how it ended."""
    before = venv.tree()
    return assert_as_before(venv, before, venv(*words, **more), texts, code)


def assert_as_before(venv, before, ended, texts, code=1):
    assert ended.code == code, ended
    for text in texts:
        assert text in ended.out + ended.err, ended
    assert "verification failed: nothing was written" in ended.err, ended
    assert "applied " not in ended.out, ended
    assert venv.tree() == before
    return ended


def ended_by_time(venv, words, *texts, hanging=1):
    """`assert_refused` with the first time-out in which all but the hang is done; on a busy machine one second is too short.

    Args:
        hanging: how many processes come to MARK, and hang there.

    Returns:
        How it ended, and that time-out in seconds.
    """
    before = venv.tree()
    for seconds in (1, 10, 60):
        venv.marks.write_text("")
        ended = venv(*words, SITEPATCH_VERIFY_TIMEOUT=str(seconds))
        if len(venv.pids()) == hanging and "broken before" not in ended.out:  # the previous text is given the same time
            break
        venv("restore")
    assert_as_before(venv, before, ended, (f"gave no answer in {seconds} seconds", *texts))
    return ended, seconds


# what is good ---------------------------------------------------------------------------------------------------------
def test_what_was_written_is_compiled_and_imported_and_nothing_else_is_left_in_the_site_directory(venv):
    name = venv.patchset("good", MARK)
    before = venv.tree()
    ended = venv("apply", name)
    assert ended.code == 0, ended
    (line,) = [line for line in ended.out.splitlines() if line.startswith("verified")]
    assert re.match(r"verified  1 file compiled in \d+\.\d+ s, 1 module imported in ", line)
    assert ended.out.index("verified") < ended.out.index("applied ")
    assert len(venv.pids()) == 1, "imported once"
    after = {path for path in venv.tree() if not path.startswith(".sitepatch")}
    assert after == set(before), "no bytecode either"
    assert venv("restore").code == 0
    assert venv.tree() == before


@pytest.mark.once
def test_quiet_prints_nothing_and_json_has_the_seconds_of_each_step(venv):
    name = venv.patchset("good", "three = 3", probe="import demo.m\nassert demo.m.three == 3\n")
    answer = json.loads(venv("apply", name, "--json", "--verify", "probe").out)
    assert (answer["ok"], answer["written"]) == (True, True)
    verify = answer["verified"]
    assert [(each["what"], each["name"], each["state"]) for each in verify["checks"]] == [
        ("compile", "demo/m.py", "ok"),
        ("import", "demo.m", "ok"),
        ("probe", "good", "ok"),
    ]
    assert (verify["ok"], verify["unseen"], verify["left_out"]) == (True, [], [])
    assert all(0 < each["seconds"] <= verify["seconds"] for each in verify["checks"])
    assert venv("restore").code == 0
    ended = venv("apply", name, "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    ended = venv("status", "--verify", "import", "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.once
def test_where_nothing_is_written_nothing_is_verified(venv):
    name = venv.patchset("good", MARK)
    assert "verified" not in venv("apply", name, "--dry-run").out
    assert venv.pids() == []
    assert venv("apply", name).code == 0
    assert len(venv.pids()) == 1
    again = venv("apply", name)
    assert "nothing to do" in again.out and "verified" not in again.out
    assert venv("restore").code == 0
    assert len(venv.pids()) == 1


@pytest.mark.once
def test_verify_checks_what_is_applied(venv):
    first = venv.patchset("first", MARK)
    second = venv.patchset("second", "two += 1", path="demo/n.py", imports=["demo.n"])
    assert venv("apply", first, second, "--verify", "none").code == 0
    assert venv.pids() == []
    ended = venv("status", "--verify", "import")
    assert (ended.code, "2 files compiled" in ended.out, "2 modules imported" in ended.out) == (0, True, True), ended
    ended = venv("status", "--verify", "import", second)
    assert (ended.code, "1 file compiled" in ended.out, len(venv.pids())) == (0, True, 1), ended
    assert venv("restore").code == 0
    ended = venv("status", "--verify", "import")
    assert (ended.code, "nothing is applied in" in ended.out) == (0, True)
    ended = venv("status", "--verify", "import", first)
    assert (ended.code, "is not applied here" in ended.err) == (1, True)
    ended = venv("status", "--verify", "import", "frist")
    assert (ended.code, 'did you mean "first"?' in ended.err) == (2, True)


def test_a_module_sees_no_launcher_and_no_hook_and_an_empty_directory(venv):
    code = "import json, os, sys\nwith open(os.environ['MARKS'], 'w') as marks:\n"
    code += "    json.dump([dict(os.environ), os.listdir('.'), sys.argv, sys.flags.isolated], marks)\n"
    name = venv.patchset("good", code)
    more = {"LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "x", "PYTHONSTARTUP": "x", "PYTHONWARNINGS": "ignore"}
    assert venv("apply", name, **more).code == 0
    variables, names, argv, isolated = json.loads(venv.marks.read_text())
    assert not {*more, "RANK", "PYTHONPATH"} & set(variables)
    assert (names, argv, isolated) == ([], [""], 1)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.closerange(3, 256)\n",
        "import sys\nsys.stdout = sys.stderr = sys.__stdout__\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n",
        "import os\npid = os.fork()\n",
        "import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n",
        "import atexit, os\ncode = atexit.register(os._exit, 3)\n",
        "import os\nos.chdir('/')\n",
        "import sys\nwrote = sys.stdout.write('x' * 30_000_000)\n",
    ],
    ids=["closes-all", "replaces-stdout", "leaves-a-thread", "forks", "leaves-a-child", "exit-code", "chdir", "flood"],
)
def test_odd_modules_that_import_are_accepted(venv, code):
    ended = venv("apply", venv.patchset("odd", code), SITEPATCH_VERIFY_TIMEOUT="300")  # more than this test would wait
    assert (ended.code, "1 module imported" in ended.out) == (0, True), ended
    assert len(ended.out) < 2000


# what fails -----------------------------------------------------------------------------------------------------------
def test_a_patch_that_breaks_the_import_is_never_written(venv):
    name = venv.patchset("bad", "def inner():\n    raise RuntimeError('boom')\ninner()")
    ended = assert_refused(venv, ["apply", name], "failed  import demo.m: RuntimeError: boom", "in inner")
    assert "verify/child" not in ended.out and "importlib" not in ended.out, "the traceback begins in the package"
    assert not (venv.site / ".sitepatch").exists()
    answer = json.loads(venv("apply", name, "--json").out)
    assert (answer["ok"], answer["written"]) == (False, False)
    assert answer["verified"]["checks"][1]["problem"] == "RuntimeError: boom"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import os\nos._exit(0)", "failed  import demo.m: the process ended with exit code 0"),
        ("import sys\nsys.exit()", "failed  import demo.m: SystemExit"),
        ("raise KeyboardInterrupt", "failed  import demo.m: KeyboardInterrupt"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("import ctypes\nctypes.string_at(0)", "was killed by SIGSEGV"),
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E", "failed  import demo.m: "),
        ("def f():\n    return f()\nf()", "RecursionError"),
    ],
)
def test_however_an_import_ends_it_is_reported_and_nothing_is_written(venv, code, text):
    assert_refused(venv, ["apply", venv.patchset("bad", code)], text)


def test_what_a_module_prints_is_not_taken_for_an_answer(venv):
    lie = json.dumps({"end": ["import", "demo.m"], "seconds": 1, "problem": "", "output": ""})
    code = f"import os\nline = {lie!r}\nprint(line, flush=True)\nos.write(2, line.encode())\nos._exit(0)"
    assert_refused(venv, ["apply", venv.patchset("bad", code)], "the process ended with exit code 0")


def test_a_hang_is_ended_with_all_that_it_started(venv):
    child = "import subprocess, sys, os\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    child += "with open(os.environ['MARKS'], 'a') as marks:\n    marks.write(str(child.pid) + ' ')\n"
    name = venv.patchset("bad", child + HANG)
    ended_by_time(venv, ["apply", name], hanging=2)
    assert len(venv.pids()) == 2
    until(lambda: not any(map(running, venv.pids())))


@pytest.mark.parametrize("end", ["time.sleep(600)", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_the_place_where_a_module_hangs_or_crashes_is_shown_however_deep(venv, end):
    code = "import os, signal, time\ndef deep(number):\n    if number:\n        deep(number - 1)\n    innermost()\n"
    code += f"def innermost():\n    {end}\nprint('what it wrote', flush=True)\n{MARK}deep(40)"
    words = ["apply", venv.patchset("bad", code)]
    if "sleep" in end:
        ended, _ = ended_by_time(venv, words, "what it wrote")
    else:
        ended = assert_refused(venv, words, "what it wrote")
    assert "in innermost\n" in ended.out and "in deep\n" in ended.out, ended
    assert "importlib" not in ended.out and "verify/child" not in ended.out


def test_an_interpreter_that_is_slow_to_start_still_shows_the_place(tmp_path):
    """The parent process kills it soon after the limit, which it counts from before the start."""
    (tmp_path / "probe.py").write_text("import time\ntime.sleep(600)\n")
    request = {
        "name": "it",
        "search": sys.path,
        "ahead": False,
        "texts": {},
        "serve": [],
        "hidden": [],
        "probe": str(tmp_path / "probe.py"),
        "until": time.monotonic() - 60,
    }
    (tmp_path / "request").write_text(json.dumps(request))
    child = str(ROOT / "patcher/verify/child.py")
    words = [sys.executable, "-I", "-B", child, str(tmp_path / "request"), str(tmp_path / "results")]
    completed = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
    assert completed.returncode == 1 and b"(most recent call first):" in completed.stderr


def test_the_place_is_shown_even_where_the_interpreter_adds_a_stack_of_c_calls():
    dump = 'it\n\nCurrent thread 0x1 (most recent call first):\n  File "m.py", line 3 in f\n  File "<frozen importlib>", line 1 in g\n'
    dump += "\nCurrent thread's C stack trace (most recent call first):\n  Binary file x\n"  # Python 3.14
    assert relevant_lines(dump, _OWN) == 'it\ninnermost call first:\n  File "m.py", line 3 in f'


@pytest.mark.parametrize("code", ["import os\nos._exit(0)", "import sys\nsys.modules['demo.n'] = None\nraise ValueError"])
def test_a_module_that_fails_spoils_none_of_the_others(venv, code):
    venv.patchset("bad", code, imports=["demo", "demo.m", "demo.n"])
    ended = venv("apply", "bad", "--json")
    states = [(each["name"], each["state"]) for each in json.loads(ended.out)["verified"]["checks"]]
    assert states == [("demo/m.py", "ok"), ("demo", "ok"), ("demo.m", "failed"), ("demo.n", "ok")]


def test_a_flood_of_output_is_cut(venv):
    code = "import os, sys\nwrote = sys.stdout.write('x' * 30_000_000 + 'the end')\nsys.stdout.flush()\nos._exit(1)"
    ended = assert_refused(venv, ["apply", venv.patchset("bad", code)], "the process ended with exit code 1", "the end")
    assert len(ended.out) < 30_000


def test_a_commit_that_spans_two_directories_is_written_in_neither(venv):
    second = venv.cwd / "second"
    second.mkdir()
    install(second, {"other/__init__.py": "four = 4\n"}, name="other")
    venv.patchset("good", "three = 3")
    venv.patchset("bad", "raise RuntimeError('boom')", path="other/__init__.py", imports=["other"])
    before = tree(second)
    path = os.pathsep.join([str(ROOT), str(second)])
    assert_refused(venv, ["apply", "good", "bad"], "import other: RuntimeError: boom", "2 files as before", PYTHONPATH=path)
    assert tree(second) == before
    assert venv("apply", "good", "bad", "--verify", "none", PYTHONPATH=path).code == 0
    assert tree(second) != before, "the other directory is one that is patched"


def test_a_link_stays_and_its_target_is_never_touched(venv):
    file, cache = venv.site / "demo" / "m.py", venv.cwd / "cache.py"
    file.rename(cache)
    file.symlink_to(cache)
    kept = (cache.read_bytes(), cache.stat().st_mtime_ns)
    assert_refused(venv, ["apply", venv.patchset("bad", "raise RuntimeError('boom')")], "RuntimeError: boom")
    assert (cache.read_bytes(), cache.stat().st_mtime_ns) == kept


def test_an_interpreter_that_cannot_be_run_proves_nothing_so_nothing_is_written(venv):
    name = venv.patchset("good", "three = 3")
    (venv.site / "gone.pth").write_text("import os, sys; sys.prefix != sys.base_prefix and os.unlink(sys.executable)\n")
    before = venv.tree()
    ended = venv("apply", name)
    assert ended.code == 1, ended
    assert "it could not be verified" in ended.err and "nothing was written" in ended.err
    assert "Traceback" not in ended.err and "--verify none" in ended.err
    assert venv.tree() == before


def test_one_of_several_that_breaks_stops_all_of_the_commit(venv):
    venv.patchset("good", "three = 3", path="demo/n.py", imports=["demo.n"])
    venv.patchset("bad", "raise RuntimeError('boom')")
    assert_refused(venv, ["apply", "good", "bad"], "boom", "2 files as before")


# what is shown --------------------------------------------------------------------------------------------------------
LOOKERS = {  # modules that meet the patched file in another way than by an import of their own
    "a child process": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import demo.m'], check=True)\n",
    "an isolated child process": "import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', 'import demo.m'], check=True)\n",
    "exec(open())": "import demo\nwith open(demo.__path__[0] + '/m.py') as file:\n    exec(file.read())\n",
    "run_path": "import demo, runpy\nrunpy.run_path(demo.__path__[0] + '/m.py')\n",
    "a loader of its own": "import demo, types\nclass Loader:\n    def load(self, path):\n        with open(path, 'rb') as file:\n"
    "            exec(compile(file.read(), path, 'exec'), {})\nLoader().load(demo.__path__[0] + '/m.py')\n",
    "a check of the size": "import demo, os\nassert os.path.getsize(demo.__path__[0] + '/m.py') == 8, 'another size'\n",
}


@pytest.mark.skipif(not MOUNTS, reason="this machine lets nobody mount")
@pytest.mark.parametrize("look", LOOKERS.values(), ids=LOOKERS)
def test_however_a_module_meets_the_patched_file_it_is_shown_what_is_planned(tmp_path, look):
    venv = Venv(tmp_path, files={**PRISTINE, "demo/look.py": look})
    file = venv.site / "demo/m.py"
    before, stat = venv.tree(), file.stat()
    ended = venv("apply", venv.patchset("bad", "raise RuntimeError('boom')", imports=["demo.look"]))
    assert (ended.code, "failed  import demo.look" in ended.out, "broken before" in ended.out) == (1, True, False), ended
    assert (file.stat().st_ino, file.stat().st_ctime_ns) == (stat.st_ino, stat.st_ctime_ns), "the file was never touched"
    after = {path: entry for path, entry in venv.tree().items() if "__pycache__" not in path}  # an isolated child writes some
    assert after == before
    subprocess.run([str(venv.python), "-c", "import demo.m"], check=True)


@pytest.mark.skipif(not MOUNTS, reason="this machine lets nobody mount")
def test_what_a_pth_file_imports_is_shown_too(venv):
    (venv.site / "early.pth").write_text("import demo.m\n")
    assert_refused(venv, ["apply", venv.patchset("bad", "import os\nos._exit(3)")], "the process ended with exit code 3")


SEEN_PAST = {  # by module, how it reads past the planned text
    "a child process": "starts a Python process",
    "exec(open())": "by its path",
    "run_path": "by its path",
    "a loader of its own": "by its path",
}


@pytest.mark.parametrize("name", SEEN_PAST)
def test_where_nothing_can_be_mounted_a_module_that_reads_past_the_planned_text_is_named(tmp_path, name):
    venv = Venv(tmp_path, files={**PRISTINE, "demo/look.py": LOOKERS[name]})
    folder = venv.mine / venv.patchset("bad", "raise RuntimeError('boom')", imports=["demo.look"])
    file = FilePlan(str(venv.site), "demo/m.py", PRISTINE["demo/m.py"].encode(), b"raise RuntimeError('boom')\n", None, ())
    settings = VerifySettings(discover(str(venv.python), None), 120)
    verified = verify_files([file], [load_patchset(folder, PatchsetSource("mine"))], settings, in_memory=True)
    assert [check.state for check in verified.checks] == ["ok", "ok"]
    (sentence,) = verified.unseen
    assert sentence.startswith("import demo.look ") and SEEN_PAST[name] in sentence
    file = file._replace(after=b"three = 3\n")
    assert verify_files([file], [load_patchset(folder, PatchsetSource("mine"))], settings, written=True).unseen == ()


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_that_no_process_can_have_is_refused_first(venv, text):
    before = venv.tree()
    venv.patchset("good", "three = 3")
    for variable in ("SITEPATCH_VERIFY_TIMEOUT", "SITEPATCH_LOCK_TIMEOUT"):
        ended = venv("apply", "good", **{variable: text})
        assert (ended.code, venv.tree()) == (2, before)
        assert f"{variable}={text}: expected a number of seconds, above 0" in ended.err
    assert venv("apply", "good", "--verify", "none", SITEPATCH_VERIFY_TIMEOUT=text).code == 0


# what was broken before -----------------------------------------------------------------------------------------------
def test_a_module_that_was_broken_before_is_reported_and_the_patch_stays(tmp_path):
    venv = Venv(tmp_path, files={**PRISTINE, "demo/m.py": "import no_such_device\n", "demo/sub.py": "from demo import m\n"})
    name = venv.patchset("fine", "three = 3", imports=["demo.m", "demo.sub", "demo.n"])
    ended = venv("apply", name)
    assert ended.code == 0, ended
    line = "broken before  import demo.m, demo.sub, without the patch too: ModuleNotFoundError: No module named 'no_such_device'"
    assert line in ended.out and len(ended.out.splitlines()) == 5, ended
    assert "1 module imported" in ended.out
    assert "three = 3" in venv.text()
    ended = venv("status", "--verify", "import")
    assert (ended.code, ended.out.count(line), "Traceback" in ended.out) == (0, 1, False), ended
    assert "Traceback" in venv("status", "--verify", "import", "-v").out


def test_the_previous_text_is_imported_from_memory_even_by_modules_that_read_their_own_source(tmp_path):
    look = "import inspect\nfrom demo import m\nassert 'three' not in inspect.getsource(m), 'the new text'\nimport nothing\n"
    venv = Venv(tmp_path, files={**PRISTINE, "demo/look.py": look})
    name = venv.patchset("patch", "three = 3", imports=["demo.look"])
    compiled, imported = json.loads(venv("apply", name, "--json").out)["verified"]["checks"]
    assert (compiled["state"], compiled["problem"]) == ("ok", "")
    assert (imported["state"], imported["problem"]) == ("broken before", "AssertionError: the new text")


def test_the_patch_is_at_fault_where_the_previous_text_imports_even_if_a_module_reads_it(tmp_path):
    look = "import inspect\nfrom demo import m\nassert 'three' not in inspect.getsource(m), 'the new text'\n"
    venv = Venv(tmp_path, files={**PRISTINE, "demo/look.py": look})
    venv.patchset("patch", "three = 3", imports=["demo.look"])
    assert_refused(venv, ["apply", "patch"], "failed  import demo.look: AssertionError: the new text")


def test_syntax_that_an_older_target_lacks_is_never_written(tmp_path):
    python, code = python_before((3, 10)), "match one:\n    case 1:\n        pass"
    if sys.version_info < (3, 10) or not python:
        python, code = python_before((3, 8)), "(three := 3)"
    if not python:
        pytest.skip("no older interpreter is here")
    venv = Venv(tmp_path, python=python)
    name = venv.patchset("new", code)
    assert_refused(venv, ["apply", name], "failed  compile demo/m.py: SyntaxError: invalid syntax")
    assert_refused(venv, ["apply", name, "--verify", "compile"], "failed  compile demo/m.py: SyntaxError: invalid syntax")


def test_a_file_that_is_added_cannot_have_been_broken_before(venv):
    write_patchset(venv.mine, "new", "Why.\n\n+++ demo/helper.py\n+import no_such_thing\n", "demo", more='[verify]\nimports = ["demo.helper"]\n')
    assert_refused(venv, ["apply", "new"], "failed  import demo.helper: ModuleNotFoundError: No module named 'no_such_thing'")


def test_a_target_that_is_older_than_sitepatch_itself_can_run_on(tmp_path):
    python = python_before((3, 8))
    if not python:
        pytest.skip("no such interpreter is here")
    venv = Venv(tmp_path, python=python)
    name = venv.patchset("good", "three = 3", probe="import demo.m, sys\nassert sys.version_info < (3, 8)\n")
    ended = venv("apply", name, "--verify", "probe")
    assert (ended.code, "1 module imported" in ended.out, "1 probe passed" in ended.out) == (0, True, True), ended
    venv.patchset("bad", "import no_such_thing")
    ended = venv("apply", "bad")
    assert (ended.code, "ModuleNotFoundError: No module named 'no_such_thing'" in ended.out) == (1, True), ended


def python_before(version):
    """The newest interpreter of this machine that is older than `version`; None if there is none."""
    older = [each for each in interpreters() if each < version]
    return interpreters()[max(older)] if older else None


# the previous text ----------------------------------------------------------------------------------------------------
@pytest.mark.once
def test_a_failed_apply_leaves_the_previous_text(venv):
    pristine = venv.tree()
    venv.patchset("first", "three = 3")
    venv.patchset("bad", "four = 4\nraise RuntimeError('boom')")
    assert venv("apply", "first").code == 0
    text, applied = venv.text(), venv.standing()
    ended = venv("apply", "bad")
    assert (ended.code, "nothing was written" in ended.err) == (1, True), ended
    assert (venv.text(), venv.standing()) == (text, applied)
    assert venv("status", "--check").code == venv("status", "--verify", "import").code == 0
    assert venv("restore").code == 0
    assert venv.tree() == pristine


@pytest.mark.once
def test_a_failed_update_leaves_the_previous_version_and_its_stored_copy(venv):
    pristine = venv.tree()
    venv.patchset("moves", "three = 3")
    assert venv("apply", "moves").code == 0
    text, applied = venv.text(), venv.standing()
    venv.patchset("moves", "raise RuntimeError('boom')", path="demo/n.py", imports=["demo.n"], version="2")
    ended = venv("apply", "moves")
    assert (ended.code, "RuntimeError: boom" in ended.out) == (1, True), ended
    assert (venv.text(), venv.text("demo/n.py")) == (text, PRISTINE["demo/n.py"])
    assert venv.standing() == applied == {("demo/m.py", "moves", "1")}
    assert venv("status", "--verify", "import").code == 0, "which reads the stored copy"
    assert venv("restore").code == 0
    assert venv.tree() == pristine


@pytest.mark.skipif(not MOUNTS, reason="this machine lets nobody mount")
def test_a_module_that_changes_its_own_file_while_verified_changes_only_what_it_is_shown(venv):
    code = "import os\nwith open(__file__, 'a') as file:\n    wrote = file.write('# mine')\nraise RuntimeError('boom')"
    assert_refused(venv, ["apply", venv.patchset("bad", code)], "RuntimeError: boom")


WATCH_A_MOUNT = """
import sys
from pathlib import Path
from patcher.verify.namespace import Namespace
Namespace({}, Path(sys.argv[1])).enter()
for _ in range(2):
    print(sys.argv[2] in Path('/proc/self/mountinfo').read_text(), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(not MOUNTS or os.getuid(), reason="this machine lets nobody mount, or only its owner")
def test_a_disk_can_be_unmounted_while_a_module_is_verified(tmp_path):
    around, copies = tmp_path / "around", tmp_path / "copies"
    disk = around / "disk"
    around.mkdir()
    copies.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", around], check=True)
    try:
        subprocess.run(["mount", "--make-shared", around], check=True)  # as systemd makes the root directory
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
        command = [sys.executable, "-c", WATCH_A_MOUNT, copies, disk]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=str(ROOT)) as child:
            assert child.stdout.readline() == b"True\n"
            subprocess.run(["umount", disk], check=True)
            assert child.communicate(b"\n\n")[0] == b"False\n"
    finally:
        subprocess.run(["umount", "--recursive", around], check=True)


# stale bytecode -------------------------------------------------------------------------------------------------------
def test_bytecode_of_another_text_is_found(venv):
    assert venv("apply", venv.patchset("good", "three = 3")).code == 0
    other = venv.cwd / "other.py"
    other.write_text("one = 2\n")
    code = "import demo.m, importlib.util as u; print(u.cache_from_source(demo.m.__file__))"
    env = environ(PYTHONDONTWRITEBYTECODE="1")
    completed = subprocess.run([str(venv.python), "-c", code], stdout=subprocess.PIPE, env=env, check=True)
    cached = completed.stdout.decode().strip()
    assert venv("status", "--verify", "import").code == 0
    py_compile.compile(str(other), cfile=cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    ended = venv("status", "--verify", "import")
    assert (ended.code, "stale bytecode" in ended.out) == (1, True), ended


def test_bytecode_of_another_text_is_found_under_a_prefix(venv):
    assert venv("apply", venv.patchset("good", "three = 3")).code == 0
    prefix = venv.cwd / "cache"
    cached = Path(f"{prefix}{venv.site}/demo/m.{sys.implementation.cache_tag}.pyc")
    (venv.cwd / "other.py").write_text("one = 2\n")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(venv.cwd / "other.py"), cfile=str(cached), invalidation_mode=mode)
    assert venv("status", "--verify", "import").code == 0
    ended = venv("status", "--verify", "import", PYTHONPYCACHEPREFIX=str(prefix))
    assert (ended.code, "stale bytecode" in ended.out) == (1, True), ended


@pytest.mark.once
@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda path: path.write_text(PRISTINE["demo/m.py"]), "overwritten"),
        (lambda path: path.unlink(), "missing"),
    ],
)
def test_verify_fails_where_the_change_is_gone(venv, spoil, word):
    assert venv("apply", venv.patchset("good", "three = 3")).code == 0
    spoil(venv.site / "demo/m.py")
    ended = venv("status", "--verify", "compile")
    assert (ended.code, word in ended.out) == (1, True), ended


# flags ----------------------------------------------------------------------------------------------------------------
@pytest.mark.once
@pytest.mark.parametrize("how", ["none", "compile"])
def test_checks_that_are_not_requested_do_not_run(venv, how):
    ended = venv("apply", venv.patchset("bad", MARK + "raise RuntimeError('boom')"), "--verify", how)
    assert (ended.code, venv.pids()) == (0, []), ended
    assert ("verified  1 file compiled" in ended.out) == (how == "compile")
    ended = venv("status", "--verify", "compile")
    assert (ended.code, venv.pids()) == (0, [])
    ended = venv("status", "--verify", "import")
    assert (ended.code, "RuntimeError: boom" in ended.out) == (1, True)
    assert "boom" in venv.text(), "status changes nothing"


def test_a_directory_is_only_compiled_unless_an_interpreter_is_named(venv, tmp_path):
    packages = tmp_path / "packages"
    shutil.copytree(str(venv.site / "demo"), str(packages / "demo"))
    name = venv.patchset("good", MARK + "import sched, helper")
    install(venv.site, {"helper/__init__.py": ""}, name="helper")
    words = [name, "--target", packages, "--patch-dir", venv.mine]
    ended = sitepatch("apply", *words, cwd=tmp_path, **venv.variables())
    assert ended.code == 0, ended
    assert "verified  1 file compiled" in ended.out
    assert "not imported: demo.m: --target names no interpreter to import them with; add --python" in ended.out
    assert venv.pids() == []
    (venv.site / "demo" / "m.py").write_text("raise RuntimeError('that of the environment')\n")
    ended = sitepatch("status", "--verify", "import", "--target", packages, "--python", venv.python, cwd=tmp_path, **venv.variables())
    assert (ended.code, "1 module imported" in ended.out, len(venv.pids())) == (0, True, 1), ended
    ended = sitepatch("status", "--target", packages, "--verify", "probe", cwd=tmp_path, **venv.variables())
    assert (ended.code, "--verify probe and --target" in ended.err) == (2, True), ended


@pytest.mark.once
@pytest.mark.parametrize("words", [["--verify", "probe", "--restore"], ["--verify", "all"]])
def test_options_that_contradict_each_other_are_refused(venv, words):
    assert venv("apply", venv.patchset("good", "three = 3"), *words).code == 2
    assert venv.text() == PRISTINE["demo/m.py"]


# probes ---------------------------------------------------------------------------------------------------------------
@pytest.mark.once
def test_a_probe_runs_only_on_request(venv):
    name = venv.patchset("good", "three = 3", probe=MARK)
    other = venv.patchset("other", "four = 4")
    assert "1 probe passed" not in venv("apply", name).out
    assert venv("status", "--verify", "import").code == 0
    assert venv.pids() == []
    ended = venv("status", "--verify", "probe")
    assert (ended.code, "1 probe passed" in ended.out, len(venv.pids())) == (0, True, 1), ended
    assert "other has no probe" in venv("apply", other, "--verify", "probe").err


@pytest.mark.once
@pytest.mark.parametrize(
    ("probe", "text"),
    [
        ("print('what it saw')\nraise SystemExit(3)", "failed  probe bad: the process ended with exit code 3"),
        ("import demo.m\nassert demo.m.three == 4, 'what it saw'", "the process ended with exit code 1"),
        ("print('what it saw', flush=True)\nimport os\nos.abort()", "the process was killed by SIGABRT"),
    ],
)
def test_a_probe_that_fails_stops_apply_and_is_reported_by_verify(venv, probe, text):
    name = venv.patchset("bad", "three = 3", probe=probe)
    assert_refused(venv, ["apply", name, "--verify", "probe"], text, "what it saw")
    probe_fails_after_apply(venv, name, text)


@pytest.mark.once
def test_a_probe_that_hangs_stops_apply_and_is_reported_by_verify(venv):
    name = venv.patchset("bad", "three = 3", probe=f"print('what it saw', flush=True)\n{HANG}")
    _, seconds = ended_by_time(venv, ["apply", name, "--verify", "probe"], "failed  probe bad: ", "what it saw")
    probe_fails_after_apply(venv, name, f"gave no answer in {seconds} seconds", SITEPATCH_VERIFY_TIMEOUT=str(seconds))


def probe_fails_after_apply(venv, name, text, **more):
    """Check that `status --verify probe` prints `text` for a patchset applied without its probe, and leaves it as it is."""
    assert venv("apply", name).code == 0
    ended = venv("status", "--verify", "probe", **more)
    assert (ended.code, text in ended.out, "three" in venv.text()) == (1, True, True), ended


@pytest.mark.once
def test_a_probe_of_a_source_that_is_not_trusted_is_refused_before_anything_is_written(venv):
    name = venv.patchset("local", "three = 3", probe=MARK, where=venv.cwd / "patchsets")
    before = venv.tree()
    ended = venv("apply", name, "--verify", "probe")
    assert ended.code == 2, ended
    assert "local (./patchsets): its probe is code, and is not run from there" in ended.err and "--patch-dir" in ended.err
    assert (venv.tree(), venv.pids()) == (before, [])
    assert venv("apply", name).code == 0, "without its probe"
    ended = venv("status", "--verify", "probe")
    assert (ended.code, venv.pids()) == (2, []), ended
    assert venv("status", "--verify", "probe", "--patch-dir", "patchsets").code == 0
    assert len(venv.pids()) == 1
    venv.patchset("local", "three = 3", probe=MARK + MARK, where=venv.cwd / "patchsets")
    ended = venv("status", "--verify", "probe", "--patch-dir", "patchsets")
    assert (ended.code, len(venv.pids())) == (2, 1), "trust in another version is no trust in the one that stands"


# interrupted ----------------------------------------------------------------------------------------------------------
@pytest.mark.once
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_verifying_leaves_all_as_it_was(venv, number):
    before = venv.tree()
    child = venv.start("apply", venv.patchset("slow", HANG))
    until(venv.pids)
    assert venv.text() == PRISTINE["demo/m.py"], "nothing is written before it is verified"
    child.send_signal(number)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert f"interrupted: {venv.site}: nothing was changed".encode() in err
    assert b"Traceback" not in err and b"applied " not in out
    assert venv.tree() == before
    until(lambda: not running(venv.pids()[0]))


def test_an_interrupt_of_verify_itself_ends_the_child_and_changes_nothing(venv):
    assert venv("apply", venv.patchset("slow", HANG), "--verify", "compile").code == 0
    before = venv.tree()
    child = venv.start("status", "--verify", "import")
    until(venv.pids)
    child.terminate()
    child.communicate(timeout=120)
    assert child.returncode == 130
    assert venv.tree() == before
    until(lambda: not running(venv.pids()[0]))


def killed_while_verifying(venv):
    """Kill an `apply` whose import hangs; the process that verifies ends by itself."""
    name = venv.patchset("slow", HANG)
    for seconds in (2, 20, 120):  # on a busy machine the first are over before it hangs
        child = venv.start("apply", name, SITEPATCH_VERIFY_TIMEOUT=str(seconds))
        until(lambda poll=child.poll: venv.pids() or poll() is not None)
        child.kill()
        child.communicate(timeout=120)
        if venv.pids():
            break
    until(lambda: not running(venv.pids()[0]))


@pytest.mark.once
def test_killed_while_verifying_apply_has_written_nothing(venv):
    before = venv.tree()
    killed_while_verifying(venv)
    assert {path: entry for path, entry in venv.tree().items() if not path.startswith(".sitepatch")} == before
    assert venv("restore").code == 0
    assert venv.tree() == before, "not even the lock file is left"


def test_the_child_needs_nothing_but_the_standard_library_of_python_3_6():
    for name in ("child.py", "added.py"):
        source = (ROOT / "patcher" / "verify" / name).read_text()
        assert "patcher" not in "".join(line for line in source.splitlines() if "import" in line.split("#")[0])
        assert "__future__" not in source, "annotations are of 3.7"


# two at once ----------------------------------------------------------------------------------------------------------
@pytest.mark.once
@pytest.mark.parametrize("fails", [True, False])
def test_a_second_command_on_the_same_file_waits_until_the_first_one_is_verified(venv, fails):
    code = f"{MARK}import time\nwhile not os.path.exists(os.environ['MARKS'] + '.go'):\n    time.sleep(0.02)\n"
    if fails:
        code += "raise SystemError"
    first = venv.start("apply", venv.patchset("first", code))
    venv.patchset("second", "second = 2\n")
    try:
        until(venv.pids)
        second = venv.start("apply", "second", "--verify", "none")
        notice = second.stderr.readline().decode()  # it waits; or it has ended
        between = venv.text()
    finally:
        Path(f"{venv.marks}.go").touch()
        _, first_err = first.communicate(timeout=120)
        _, second_err = second.communicate(timeout=120)
    assert notice.startswith("waiting: ") and f"process {first.pid}" in notice, (notice, second_err)
    assert "second" not in between
    assert (first.returncode, second.returncode) == (int(fails), 0), (first_err, second_err)
    assert (b"nothing was written" in first_err) == fails, first_err
    assert "second = 2" in venv.text() and ("sleep" in venv.text()) != fails
    assert venv("restore").code == 0
    assert venv.text() == PRISTINE["demo/m.py"]


def test_the_modules_of_the_changed_files_are_imported_where_a_patchset_names_none(venv):
    venv.patchset("bad", "raise RuntimeError('at import')", imports=())
    before = tree(venv.site)
    ended = venv("apply", "bad")
    assert (ended.code, "failed  import demo.m: RuntimeError: at import" in ended.out) == (1, True), ended
    assert tree(venv.site) == before
    assert venv("apply", "bad", "--verify", "compile").code == 0
    ended = venv("status", "--verify", "import")
    assert (ended.code, "failed  import demo.m: RuntimeError: at import" in ended.out) == (1, True), ended
    assert venv("restore").code == 0


def test_a_file_that_no_import_can_name_is_reported(venv):
    (venv.site / "demo/a-b.py").write_text("import sys\nsys.exit()\n")
    (venv.site / "demo/__main__.py").write_text("import sys\nsys.exit()\n")
    for name in ("a-b", "__main__"):
        venv.patchset("odd", "x = 1", path=f"demo/{name}.py", imports=())
        ended = venv("apply", "odd")
        assert ended.code == 0 and f"not imported: demo/{name}.py: no import can name such a file, it was compiled only" in ended.out, ended
        assert json.loads(venv("status", "--verify", "import", "--json").out)["verified"]["nameless"] == [f"demo/{name}.py"]
