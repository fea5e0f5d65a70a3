"""`sitepatch run`: patchsets are applied, then the command runs as it would without sitepatch in front of it."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from patcher.installed.interpreter import discover
from patcher.verbs.launch import interpreter_of, other_environment
from tests.command import done, environ, sitepatch
from tests.places import FILES, base, patchset, value, venv

pytestmark = pytest.mark.once

VALUE = "import demo.m as m; print(m.VALUE)"


class Project:
    """A venv with a package, patchsets for it, and the command, run in the directory of the project."""

    def __init__(self, folder):
        self.folder = folder
        self.python, self.site = venv(folder / "env")
        for name, text in FILES.items():
            (self.site / name).parent.mkdir(exist_ok=True)
            (self.site / name).write_text(text)
        patchset(folder)
        patchset(folder, path="demo/n.py", name="other")
        self.place = ["--python", self.python, "--patch-dir", folder / "mine", "--verify", "compile"]

    def run(self, *command, names=("two",), options=(), **more):
        variables = {"PYTHONDONTWRITEBYTECODE": "", **more}
        return sitepatch("run", *names, *self.place, *options, "--", *command, cwd=self.folder, **variables)

    def start(self, *command, **more):
        words = [sys.executable, "-m", "patcher", "run", "two", *self.place, "--", *command]
        return subprocess.Popen(
            [str(word) for word in words], cwd=str(self.folder), env=environ(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
        )  # fmt: skip

    def asks(self, text):
        (self.folder / "pyproject.toml").write_text(f'[tool.sitepatch]\npatch-dir = "mine"\npatchsets = [{text}]\n')

    def values(self):
        return value(self.python), value(self.python, "demo.n")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_what_is_named_is_applied_and_the_command_runs_patched(project):
    ended = done(project.run(project.python, "-c", VALUE))
    assert ended.out == "2\n", "stdout is the command's alone"
    assert "applied  two: 1 file in" in ended.err
    assert project.values() == (2, 1)
    again = done(project.run(project.python, "-c", VALUE))
    assert again.out == "2\n"
    assert "two: nothing to do, it is applied already" in again.err
    assert done(project.run(project.python, "-c", VALUE, options=["--quiet"])).err == ""


def test_the_command_runs_in_the_same_process(project):
    child = project.start("sh", "-c", "echo $$; cat; exit 7")
    out, err = child.communicate(b"from stdin\n")
    assert out.decode().split("\n") == [str(child.pid), "from stdin", ""], err
    assert child.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGPIPE])
def test_a_signal_ends_the_command_as_without_sitepatch(project, number):
    child = project.start("sh", "-c", "echo ready; exec sleep 600")
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(number)
    child.communicate(timeout=120)
    assert child.returncode == -number


def test_directory_variables_and_descriptors_are_passed_on(project):
    code = "import os, sys; print(os.getcwd(), os.environ['MINE'], os.environ.get('PYTHONPATH'), sep=chr(10)); os.write(int(sys.argv[1]), b'x')"
    read, write = os.pipe()
    words = [sys.executable, "-m", "patcher", "run", "two", *project.place, "--", sys.executable, "-c", code, str(write)]
    ended = subprocess.run(
        [str(word) for word in words], cwd=str(project.folder), env=environ(MINE="7"), stdout=subprocess.PIPE, pass_fds=[write]
    )
    assert ended.stdout.decode().splitlines() == [str(project.folder), "7", environ()["PYTHONPATH"]]
    os.close(write)
    assert os.read(read, 9) == b"x"
    os.close(read)


def test_words_after_the_dashes_belong_to_the_command(project):
    code = "import sys; print(sys.argv[1:])"
    ended = done(project.run(sys.executable, "-c", code, "--help", "--", "--set", "a=b", "-v"))
    assert ended.out == "['--help', '--', '--set', 'a=b', '-v']\n"


@pytest.mark.parametrize("overlay", [[], ["--overlay"]])
def test_json_is_one_line_on_stderr_and_stdout_belongs_to_the_command(project, overlay):
    code = "import sys, demo.m as m; print(m.VALUE); sys.stderr.write('mine\\n')"

    def run(*command, exit=0, **more):
        options = ["--json", *overlay]
        ended = done(project.run(*command, options=options, SITEPATCH_CACHE=str(project.folder / "c"), **more), exit)
        line, *rest = ended.err.split("\n")
        answer = json.loads(line)
        assert (answer["schema"], answer["command"], answer["ok"]) == (1, "run", exit == 0)
        return ended.out, answer, rest

    out, answer, rest = run(project.python, "-c", code)
    assert (out, rest) == ("2\n", ["mine", ""])
    assert answer["patchsets"] == ["two"] and answer["files"][0]["path"] == "demo/m.py" and answer["files"][0]["changes"]
    if overlay:
        assert os.path.isdir(answer["overlay"])
    else:
        assert answer["verified"]["ok"] and answer["said"] != []
    out, answer, rest = run(sys.executable, "-c", "print('ran')", names=["two", "other"])
    assert (out, rest) == ("ran\n", [""])
    assert any(f"runs {sys.executable}, and what is patched" in line for line in answer["said"])
    (project.site / "demo/n.py").write_text("VALUE = 5\n")
    done(sitepatch("restore", "--python", project.python, "--force", cwd=project.folder))
    (project.site / "demo/n.py").write_text("VALUE = 5\n")
    out, answer, rest = run("echo", "ran", names=["other"], exit=1)
    assert (out, rest) == ("", [""])
    assert answer["answers"][0]["state"] == "not found"
    out, answer, rest = run("no-such-thing", exit=127)
    assert (out, rest, answer["error"]["message"]) == ("", [""], "no-such-thing: command not found")


# what is not run ------------------------------------------------------------------------------------------------------
def test_a_patch_that_does_not_fit_runs_nothing(project):
    (project.site / "demo/m.py").write_text("VALUE = 5\n")
    ended = done(project.run("echo", "ran"), 1)
    assert "not found" in ended.err
    assert ended.out == ""


def test_a_command_that_cannot_be_run_is_reported_before_anything_is_applied(project):
    assert "no-such-thing: command not found" in done(project.run("no-such-thing"), 127).err
    assert "./no/such: command not found" in done(project.run("./no/such"), 127).err
    assert "found a directory" in done(project.run(project.folder), 126).err
    script = project.folder / "script"
    script.write_text("echo ran\n")
    assert "found a file that is not executable" in done(project.run(script), 126).err
    assert project.values() == (1, 1)
    script.chmod(0o755)
    assert "Exec format error" in done(project.run(script), 126).err
    script.write_text("#!/no/such/interpreter\n")
    assert "the interpreter that its first line names is not there" in done(project.run(script), 126).err


def test_no_command_is_wrong_usage(project):
    form = "[NAME]... [OPTIONS] -- COMMAND..."
    for words, problem in (
        (["two"], f"no `--` in front of the command; write: sitepatch run {form}"),
        (["two", "python", "-c", "1"], "no `--` in front of the command; write: sitepatch run two -- python -c 1"),
        (["python", "-c", "1"], "no `--` in front of the command; write: sitepatch run -- python -c 1"),
        (["two", "--"], f"no command behind `--`; write: sitepatch run {form}"),
    ):
        place = () if words[-1] == "--" else project.place
        ended = done(sitepatch("run", *words, *place, cwd=project.folder), 2)
        assert f"error: there is {problem}" in ended.err
    assert "Usage: sitepatch run [OPTIONS] [NAME]... -- COMMAND..." in done(sitepatch("run", "--help", cwd=project.folder)).out
    ended = done(project.run("true", names=["tow"]), 2)
    assert 'there is no patchset "tow"' in ended.err


# what the project asks for --------------------------------------------------------------------------------------------
def test_without_a_name_the_environment_is_brought_in_line_with_the_project(project):
    assert "expected what the project asks for" in done(project.run("echo", "ran", names=[]), 2).err
    done(project.run("true", names=["other"]))
    project.asks('"two"')
    ended = done(project.run(project.python, "-c", VALUE, names=[]))
    assert ended.out == "2\n"
    assert "other is applied and is not asked for: it is reverted" in ended.err
    assert project.values() == (2, 1)
    for more in (["--project", "elsewhere"], ["-r", "requirements.txt"]):
        assert "found a NAME and a project" in done(project.run("true", options=more), 2).err
    assert "--set: found no patchset" in done(project.run("true", names=[], options=["--set", "a=1"]), 2).err


def test_an_overlay_has_what_the_project_asks_for(project):
    done(project.run("true", names=["other"]))
    project.asks('"two"')
    code = "import demo.m, demo.n; print(demo.m.VALUE, demo.n.VALUE)"
    ended = done(project.run(project.python, "-c", code, names=[], options=["--overlay"], SITEPATCH_CACHE=str(project.folder)))
    assert ended.out == "2 1\n", "as sync would leave it: the other one is out"
    assert project.values() == (1, 2), "nothing was written there"


def test_nothing_runs_where_the_version_is_not_the_pinned_one(project):
    project.asks('"two==9"')
    for more in ([], ["--overlay"]):
        ended = done(project.run("echo", "ran", names=[], options=more, SITEPATCH_CACHE=str(project.folder)), 1)
        assert ended.out == ""
        assert "two: found version 1 (" in ended.err and "expected two==9" in ended.err
    assert done(project.run("echo", "ran", names=["two==9"]), 1).out == ""
    assert project.values() == (1, 1)
    assert done(project.run("echo", "ran", names=["two==1.0"])).out == "ran\n"
    assert project.values() == (2, 1)


# another interpreter --------------------------------------------------------------------------------------------------
def test_an_interpreter_of_another_environment_is_reported(project, tmp_path):
    python, _ = venv(tmp_path / "second")
    script = tmp_path / "tool"
    script.write_text(f"#!{python}\nprint('ran')\n")
    script.chmod(0o755)
    for command in ([python, "-c", "print('ran')"], [script]):
        ended = done(project.run(*command))
        assert ended.out == "ran\n"
        assert f"{command[0]} runs {python}, and what is patched is the environment of {project.python}" in ended.err
    for command in ([project.python, "-c", "0"], [project.python.with_name("python3"), "-c", "0"], ["sh", "-c", "true"]):
        assert "what is patched" not in done(project.run(*command)).err
    path = f"{project.python.parent}{os.pathsep}{os.environ['PATH']}"
    assert "what is patched" not in done(project.run("python", "-c", "0", PATH=path)).err
    link = tmp_path / "link"
    link.symlink_to(project.folder / "env")
    assert "what is patched" not in done(project.run(link / "bin" / "python", "-c", "0")).err


def test_an_interpreter_by_another_name_is_the_same_environment(tmp_path):
    python, _ = base(tmp_path / "base")
    env = discover(str(python), None)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(python)
    assert not other_environment(str(tmp_path / "bin" / "python3"), env)
    assert other_environment(sys.executable, env)
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    assert not other_environment(str(tmp_path / "bin" / "python"), env), "nobody knows"


def test_what_runs_a_program_is_read_from_its_first_line(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for first in (f"#!{sys.executable} -Es", "#!/usr/bin/env -S python3 -u", f"#!/bin/sh\n'''exec' '{sys.executable}' \"$0\" \"$@\"\n' '''"):
        (tmp_path / "tool").write_text(first + "\nprint()\n")
        assert interpreter_of(str(tmp_path / "tool")) in (sys.executable, str(tmp_path / "bin" / "python3")), first
    for other in ("#!/bin/sh", "#!", "", "#! '", "#!/usr/bin/env", "\0\1"):
        (tmp_path / "tool").write_text(other)
        assert interpreter_of(str(tmp_path / "tool")) is None
    assert interpreter_of("/usr/bin/python3.11") == "/usr/bin/python3.11"
    assert interpreter_of("/usr/bin/python3-config") is None


def test_names_complete_up_to_the_dashes(project):
    def completed(line):
        words = line.split(" ")
        variables = {"_SITEPATCH_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        ended = sitepatch(cwd=project.folder, **variables)
        return [each.partition(",")[2] for each in ended.out.splitlines()]

    assert "torch-musa-guard" in completed("sitepatch run torch-")
    assert "--overlay" in completed("sitepatch run two --ov")
    assert completed("sitepatch ru") == ["run"]


def test_what_run_writes_is_private_to_the_user(project):
    done(project.run("true", options=["--overlay"], SITEPATCH_CACHE=str(project.folder / "c")))
    assert stat.S_IMODE((project.folder / "c" / "overlay").stat().st_mode) == 0o700
