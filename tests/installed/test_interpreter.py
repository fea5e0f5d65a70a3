"""Which environment a command is about: the interpreter that is named, and what it searches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patcher.errors import UsageError
from patcher.installed import interpreter
from patcher.installed.interpreter import discover
from patcher.place import Place
from tests.command import ROOT
from tests.installed.sites import make_venv, site_of
from tests.users import ROOT_ONLY, as_user, theirs


@pytest.mark.parametrize("path", ["", "bin/python"])
def test_a_venv_is_asked_for_its_directories(shared_venv, home, path):
    env = discover(str(shared_venv / path), None)
    assert env.sites == (str(site_of(shared_venv)),)
    assert env.search[-1] == env.sites[0]
    assert any((Path(place) / "os.py").is_file() for place in env.search)
    assert env.python == str(shared_venv / "bin" / "python")
    assert env.version == sys.version_info[:2]


def test_the_active_environment_comes_before_the_running_one(shared_venv, tmp_path, monkeypatch):
    other = make_venv(tmp_path / "other")
    monkeypatch.setenv("CONDA_PREFIX", str(other))
    assert discover(None, None).sites[0] == str(site_of(other))
    monkeypatch.setenv("VIRTUAL_ENV", str(shared_venv))
    assert discover(None, None).sites[0] == str(site_of(shared_venv))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=r"VIRTUAL_ENV .*gone: found no interpreter"):
        discover(None, None)


def test_an_environment_whose_interpreter_is_gone_says_where_that_was_and_how_its_packages_are_reached(tmp_path, monkeypatch):
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to("python3")
    (tmp_path / "env/bin/python3").symlink_to(tmp_path / "gone/python3")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    for option, python in (("--python", str(tmp_path / "env")), ("VIRTUAL_ENV", None)):
        with pytest.raises(UsageError) as caught:
            discover(python, None)
        problem = f"found no interpreter at {tmp_path}/gone/python3, which {tmp_path}/env/bin/python links to"
        assert caught.value.message == f"{option} {tmp_path}/env: {problem}"
        assert f"--target {tmp_path}/env/lib/python*/site-packages" in caught.value.hint


def test_the_running_interpreter_is_not_started_again(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: pytest.fail("spawned"))
    env = discover(None, None)
    assert discover(sys.executable, None) == env == discover(sys.prefix, None)
    assert env.python == sys.executable and env.version == sys.version_info[:2]
    assert str(Path(pytest.__file__).parents[1]) in env.sites


def test_asked_and_computed_in_process_the_answer_is_the_same(shared_venv, home, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = "from patcher.installed.interpreter import discover; print(list(discover(None, None)))"
    inside = subprocess.run([str(shared_venv / "bin/python"), "-c", code], capture_output=True, text=True, check=True)
    asked = discover(str(shared_venv), None)
    assert inside.stdout.strip() == str(list(asked))
    assert asked.search[0] == str(ROOT), "what the target's ordinary runs search first"


def test_what_pythonpath_names_is_searched_first_also_where_a_pth_file_names_it(tmp_path, monkeypatch):
    venv = make_venv(tmp_path / "venv")
    (site_of(venv) / "__editable__.demo-1.0.pth").write_text(f"{tmp_path}\n")
    assert discover(str(venv), None).search[-1] == str(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert discover(str(venv), None).search.index(str(tmp_path)) == 0


def test_neither_the_working_directory_nor_the_script_is_searched(tmp_path):
    code = "from patcher.installed.interpreter import discover; print(list(discover(None, None).search))"
    (tmp_path / "tool.py").write_text(code)
    root = Path(interpreter.__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    for command in (["tool.py"], ["-m", "tool"], ["-c", "import tool"]):
        run = [sys.executable, *command]
        completed = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert str(tmp_path) not in completed.stdout and "''" not in completed.stdout, command
        assert str(root) in completed.stdout


@pytest.mark.parametrize(
    ("option", "no_user_site", "included"),
    [("", "", False), ("--system-site-packages", "", True), ("--system-site-packages", "1", False)],
)
def test_the_user_site_counts_where_an_ordinary_run_would_use_it(
    tmp_path, home, monkeypatch, option, no_user_site, included
):
    venv = make_venv(tmp_path / "venv", *filter(None, [option]))
    monkeypatch.setenv("PYTHONNOUSERSITE", no_user_site)
    python = str(venv / "bin" / "python")
    code = "import site, os; os.makedirs(site.getusersitepackages(), exist_ok=True); print(site.getusersitepackages())"
    user = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / "added").mkdir()
    (Path(user) / "extra.pth").write_text(f"import nothing_here_that_exists\n{tmp_path / 'added'}\n/gone\n")
    env = discover(str(venv), None)
    (Path(user) / "extra.pth").write_text(f"{tmp_path / 'added'}\n/gone\n")
    truth = "import sys, json; print(json.dumps([p for p in sys.path if p]))"
    real = json.loads(subprocess.run([python, "-c", truth], capture_output=True, text=True, check=True).stdout)
    assert (user in real) is included is (user in env.sites) is (user in env.search)
    assert (str(tmp_path / "added") in env.search) is included
    in_order = [place for place in env.search if place in env.sites]
    assert in_order == [place for place in real if place in env.sites], "import order"


def test_what_a_virtual_environment_shares_is_told_apart_from_what_is_its_own(tmp_path, home):
    plain, open_one = make_venv(tmp_path / "plain"), make_venv(tmp_path / "open", "--system-site-packages")
    assert discover(str(plain), None).outer == ()
    env = discover(str(open_one), None)
    assert env.own == (str(site_of(open_one)),)
    assert env.outer and set(env.outer) == set(env.sites) - set(env.own)
    assert not set(env.outer) & set(env.stores) and set(env.own) < set(env.stores)
    assert discover(str(open_one), str(tmp_path)).outer == ()
    assert (Place(open_one).environment().outer, Place(open_one, system=True).environment().outer) == (env.outer, ())


def test_a_directory_that_was_added_by_hand_belongs_to_no_other_environment(tmp_path, home):
    venv, other = make_venv(tmp_path / "plain"), make_venv(tmp_path / "other")
    (tmp_path / "added").mkdir()
    (site_of(venv) / "extra.pth").write_text(f"{tmp_path / 'added'}\n{site_of(other)}\n")
    env = discover(str(venv), None)
    assert env.outer == (str(site_of(other)),)
    assert str(tmp_path / "added") in env.stores


def test_a_site_directory_is_the_environments_own_wherever_a_link_leads(tmp_path, home):
    venv = make_venv(tmp_path / "plain")
    site_of(venv).rename(tmp_path / "moved")
    site_of(venv).symlink_to(tmp_path / "moved")
    assert discover(str(venv), None).own == (str(site_of(venv)),)


def test_directories_that_a_pth_adds_are_searched_but_are_no_sites(tmp_path, home):
    venv = make_venv(tmp_path / "venv")
    (tmp_path / "added").mkdir()
    (site_of(venv) / "extra.pth").write_text(f"{tmp_path / 'added'}\n")
    env = discover(str(venv), None)
    assert env.search[-1] == str(tmp_path / "added") and str(tmp_path / "added") not in env.sites


def test_output_of_start_up_hooks_is_passed_over(tmp_path, home):
    venv = make_venv(tmp_path / "venv")
    (site_of(venv) / "noise.pth").write_text("import sys; print('[1, 2]'); print('noise', file=sys.stderr)\n")
    assert discover(str(venv), None).sites == (str(site_of(venv)),)


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def assert_refused(path, problem):
    with pytest.raises(UsageError) as caught:
        discover(path, None)
    assert f"--python {path}: " in caught.value.message and problem in caught.value.message
    assert caught.value.hint


def test_what_is_no_interpreter_is_named(tmp_path):
    (tmp_path / "plain").write_text("text")
    (tmp_path / "empty").mkdir()
    for path, problem in [
        (script(tmp_path / "fails", "#!/bin/sh\necho broken >&2\nexit 3\n"), "exit code 3: broken"),
        (script(tmp_path / "silent", "#!/bin/sh\nexit 0\n"), "no working Python 3 interpreter"),
        (script(tmp_path / "odd", "#!/bin/sh\necho 3\n"), "no working Python 3 interpreter"),
        (str(tmp_path / "plain"), "cannot be run"),
        (str(tmp_path / "empty"), "found no interpreter"),
        (str(tmp_path / "gone"), "found no interpreter"),
        (f"{tmp_path}/{'n' * 300}", "found no interpreter"),  # longer than a name can be
        ("python-that-is-nowhere", "found no interpreter"),
    ]:
        assert_refused(path, problem)


def test_an_interpreter_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter, "_TIMEOUT", 0.3)  # half a minute otherwise
    assert_refused(script(tmp_path / "slow", "#!/bin/sh\nexec sleep 600\n"), "no answer in 0.3 seconds")


@ROOT_ONLY
def test_an_interpreter_that_this_user_cannot_reach_is_not_said_to_be_missing(tmp_path):
    (tmp_path / "bin").mkdir()
    script(theirs(tmp_path / "bin", 1001, 0o700) / "python", "#!/bin/sh\n")

    def refusal():
        try:
            discover(f"{tmp_path}/bin/python", None)
        except UsageError as error:
            return f"{error.message}; {error.hint}"

    expected = f"--python {tmp_path}/bin/python: user 1002 may not look at {tmp_path}/bin/python; run this as its owner"
    assert as_user(1002, refusal).startswith(expected)


def test_a_bare_name_is_looked_up_on_the_path(shared_venv, monkeypatch):
    monkeypatch.setenv("PATH", str(shared_venv / "bin"))
    assert discover("python", None).sites == (str(site_of(shared_venv)),)


def test_a_target_directory_is_all_that_is_searched(tmp_path, shared_venv, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    env = discover(None, "here/../here")
    assert env.search == env.sites and env.python == sys.executable
    assert Path(env.sites[0]) == tmp_path / "here"
    assert discover(str(shared_venv), "here").python == str(shared_venv / "bin" / "python")
    for wrong, part in [("gone", "found no such directory"), (str(shared_venv), "found a virtual environment")]:
        with pytest.raises(UsageError, match=part):
            discover(None, wrong)
