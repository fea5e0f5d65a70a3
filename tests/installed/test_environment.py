import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from patcher.errors import SitepatchError, UsageError
from patcher.installed import interpreter
from patcher.installed.distribution import reinstall_command
from patcher.installed.environment import blocker, find_file, locate
from patcher.installed.interpreter import Environment, discover
from patcher.installed.record import recorded_hash
from patcher.place import Place
from tests.command import ROOT
from tests.records import row
from tests.users import ROOT_ONLY, as_user, theirs

TAG = f"cpython-{sys.version_info[0]}{sys.version_info[1]}-x86_64-linux-gnu"


@pytest.fixture(autouse=True)
def no_active_environment(monkeypatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONHOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "home" / "base"))
    return tmp_path / "home"


def make_venv(path: Path, *options: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def shared_venv(tmp_path_factory) -> Path:
    return make_venv(tmp_path_factory.mktemp("shared") / "venv")


def site_of(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def install(site: Path, files: dict, name: str = "demo", version: str = "1.0", record: bool = True) -> Path:
    """What an installer leaves: the files, METADATA, and a RECORD with their hashes."""
    rows = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        rows.append(row(path, text.encode()))
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 9 in prose\n")
    if record:
        (info / "RECORD").write_text("".join(rows) + f"{info.name}/RECORD,,\n")
    return info


def directory(site: Path) -> Environment:
    return discover(None, str(site))


def searching(*places: Path, sites: tuple = ()) -> Environment:
    """An interpreter that searches these directories; the last one is its site directory unless told otherwise."""
    names = tuple(map(str, places))
    return Environment(sys.executable, tuple(map(str, sites)) or names[-1:], ("/nowhere", *names), sys.version_info[:2])


DEMO = {"demo/__init__.py": "x = 1\n", "demo/runner.py": "y = 2\n"}


# ---------------------------------------------------------------- which environment


@pytest.mark.parametrize("given", ["", "bin/python"])
def test_a_venv_is_asked_for_its_directories(shared_venv, home, given):
    env = discover(str(shared_venv / given), None)
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
    for option, given in (("--python", str(tmp_path / "env")), ("VIRTUAL_ENV", None)):
        with pytest.raises(UsageError) as caught:
            discover(given, None)
        said = f"{option} {tmp_path}/env: found no interpreter at {tmp_path}/gone/python3, which {tmp_path}/env/bin/python links to"
        assert caught.value.message == said and f"--target {tmp_path}/env/lib/python*/site-packages" in caught.value.hint


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
        done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert str(tmp_path) not in done.stdout and "''" not in done.stdout, command
        assert str(root) in done.stdout


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
    (tmp_path / "added").mkdir()
    (site_of(plain) / "extra.pth").write_text(f"{tmp_path / 'added'}\n{site_of(open_one)}\n")
    env = discover(str(plain), None)
    assert env.outer == (str(site_of(open_one)),), "a directory that was added by hand is nobody else's"
    assert str(tmp_path / "added") in env.stores
    moved = tmp_path / "moved"
    site_of(plain).rename(moved)
    site_of(plain).symlink_to(moved)
    assert discover(str(plain), None).own == (str(site_of(plain)),), "its own, wherever a link leads"


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


def test_what_is_no_interpreter_is_named(tmp_path, monkeypatch):
    (tmp_path / "plain").write_text("text")
    (tmp_path / "empty").mkdir()
    for path, part in [
        (script(tmp_path / "fails", "#!/bin/sh\necho broken >&2\nexit 3\n"), "exit code 3: broken"),
        (script(tmp_path / "silent", "#!/bin/sh\nexit 0\n"), "no working Python 3 interpreter"),
        (script(tmp_path / "odd", "#!/bin/sh\necho 3\n"), "no working Python 3 interpreter"),
        (str(tmp_path / "plain"), "cannot be run"),
        (str(tmp_path / "empty"), "found no interpreter"),
        (str(tmp_path / "gone"), "found no interpreter"),
        (f"{tmp_path}/{'n' * 300}", "found no interpreter"),  # longer than a name can be
        ("python-that-is-nowhere", "found no interpreter"),
        (script(tmp_path / "slow", "#!/bin/sh\nexec sleep 600\n"), "no answer in 0.3 seconds"),
    ]:
        if "no answer" in part:  # half a minute otherwise; the others have the usual time
            monkeypatch.setattr(interpreter, "_TIMEOUT", 0.3)
        with pytest.raises(UsageError) as caught:
            discover(path, None)
        assert f"--python {path}: " in caught.value.message and part in caught.value.message
        assert caught.value.hint


@ROOT_ONLY
def test_an_interpreter_that_this_user_cannot_reach_is_not_said_to_be_missing(tmp_path):
    (tmp_path / "bin").mkdir()
    script(theirs(tmp_path / "bin", 1001, 0o700) / "python", "#!/bin/sh\n")

    def told():
        try:
            discover(f"{tmp_path}/bin/python", None)
        except UsageError as error:
            return f"{error.message}; {error.hint}"

    said = f"--python {tmp_path}/bin/python: user 1002 may not look at {tmp_path}/bin/python; run this as its owner"
    assert as_user(1002, told).startswith(said)


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


# ---------------------------------------------------------------- where a package is


def test_a_package_is_located_with_its_distribution_without_being_imported(tmp_path, home):
    venv = make_venv(tmp_path / "venv")
    files = {**DEMO, "demo/__init__.py": "raise RuntimeError('imported')\n"}
    info = install(site_of(venv), files, "demo-lite", "1.0+cu1")
    located = locate(discover(str(venv), None), "demo")
    assert located == ("demo", str(site_of(venv)), "demo-lite", "1.0+cu1", str(info), (), True)


@pytest.mark.parametrize("name", ["json", "sys", "os"])
def test_the_standard_library_is_refused(tmp_path, name):
    install(tmp_path, {f"{name}/__init__.py": ""}, name)
    for env in (directory(tmp_path), searching(tmp_path)):
        with pytest.raises(SitepatchError, match=f"{name} belongs to the standard library"):
            locate(env, name)


def test_a_module_that_is_standard_only_in_the_target_is_refused_too(tmp_path):
    (tmp_path / "lib").mkdir()
    for name in ("os.py", "newmodule.py"):
        (tmp_path / "lib" / name).write_text("")
    install(tmp_path / "site", {"newmodule.py": ""}, "newmodule")
    with pytest.raises(SitepatchError, match="newmodule belongs to the standard library"):
        locate(searching(tmp_path / "lib", tmp_path / "site"), "newmodule")


def test_a_package_that_is_not_there_is_reported_with_what_looks_like_it(tmp_path):
    install(tmp_path, DEMO)
    with pytest.raises(SitepatchError) as caught:
        locate(searching(tmp_path), "demoo")
    assert f"demoo is not installed in {tmp_path}" in caught.value.message
    assert "did you mean demo? or name" in caught.value.hint
    install(tmp_path, {"rich/__init__.py": ""}, "rich")
    with pytest.raises(SitepatchError) as caught:
        locate(searching(tmp_path), "torch")  # whose letters are nearly those of rich
    assert caught.value.hint.startswith("install it, or ")


def test_a_package_found_twice_is_patched_where_it_is_imported_and_reported(tmp_path):
    first, second = tmp_path / "user", tmp_path / "system"
    install(first, DEMO, version="2.0")
    install(second, DEMO, version="1.0")
    located = locate(searching(first, second, sites=(first, second)), "demo")
    assert (located.site, located.version) == (str(first), "2.0")
    assert located.notes == (f"demo is found twice: in {first} and in {second}; {first} comes first and is patched",)


def test_a_leftover_directory_does_not_hide_the_package_and_is_refused_alone(tmp_path):
    (tmp_path / "first" / "demo").mkdir(parents=True)
    install(tmp_path / "second", DEMO)
    both = searching(tmp_path / "first", tmp_path / "second", sites=(tmp_path / "first", tmp_path / "second"))
    assert locate(both, "demo").site == str(tmp_path / "second")
    with pytest.raises(SitepatchError, match="left over from an uninstall"):
        locate(searching(tmp_path / "first"), "demo")


def test_a_namespace_package_that_a_record_lists_is_no_leftover(tmp_path):
    install(tmp_path, {"demo/part/__init__.py": ""}, "demo-part")
    assert locate(searching(tmp_path), "demo").distribution == "demo-part"


NAMESPACE = {"demo-part": ("demo/part/__init__.py", "1.0"), "demo-other": ("demo/other/m.py", "2.0")}


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("init", [False, True])
def test_of_a_namespace_package_the_distribution_of_the_files_counts(tmp_path, init, edited):
    shared = {"demo/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"} if init else {}
    parts = {**NAMESPACE, **({} if init else {"zebra": ("demo/z.py", "1.0")})}
    for name, (path, version) in parts.items():
        install(tmp_path, {**shared, path: "x = 1\n"}, name, version)
        if edited:
            (tmp_path / path).write_text("x = 2\n")
    for name, (path, version) in parts.items():
        for env in (directory(tmp_path), searching(tmp_path)):
            info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
            assert locate(env, "demo", [path, "demo/gone.py"]) == ("demo", str(tmp_path), name, version, str(info), (), True)
    if not init:
        for files in ([], ["demo/gone.py"], ["demo/part/__init__.py", "demo/other/m.py"]):
            with pytest.raises(SitepatchError, match=r"demo in .* is a namespace package of several distributions: .*demo-other 2.0") as caught:
                locate(directory(tmp_path), "demo", files)
            assert "name a file" in caught.value.hint


def test_a_patched_file_gives_its_distribution_by_its_pristine_copy(tmp_path):
    for name, version in (("first", "1.0"), ("second", "2.0")):
        install(tmp_path, {"demo/__init__.py": "", "demo/m.py": f"x = {version}\n"}, name, version)
    assert locate(directory(tmp_path), "demo", ["demo/m.py"]).distribution == "second"
    pristine = (tmp_path / "demo/m.py").read_bytes()
    (tmp_path / "demo/m.py").write_text("patched")
    with pytest.raises(SitepatchError, match="its files do not tell which is right"):
        locate(directory(tmp_path), "demo", ["demo/m.py"])
    (tmp_path / ".sitepatch/pristine").mkdir(parents=True)
    (tmp_path / ".sitepatch/pristine" / hashlib.sha256(pristine).hexdigest()).write_bytes(pristine)
    assert locate(directory(tmp_path), "demo", ["demo/m.py"]).distribution == "second"


def test_a_distribution_is_known_by_what_is_imported_of_it(tmp_path):
    install(tmp_path, {**DEMO, "_other.py": "", "demo/__pycache__/m.py": ""}, "Some-dist")
    with pytest.raises(SitepatchError, match=r"some\.dist is not installed") as caught:
        locate(directory(tmp_path), "some.dist")
    assert caught.value.hint == "the distribution some.dist is imported as _other or demo: name that; or name another environment with --python or --target"


def test_an_unpacked_egg_is_no_editable_install(tmp_path):
    site = tmp_path / "site"
    egg = site / "demo-1.0-py3.egg"
    (egg / "demo").mkdir(parents=True)
    (egg / "demo/__init__.py").write_text("")
    (site / "easy-install.pth").write_text(f"./{egg.name}\n")
    with pytest.raises(SitepatchError) as caught:
        locate(searching(site, egg, sites=(site,)), "demo")
    assert caught.value.message == f"demo is imported from {egg}, which is no site directory" and caught.value.hint == f"use --target {egg}"


def test_an_egg_in_a_zip_is_refused(tmp_path):
    egg = tmp_path / "demo-1.0-py3.egg"
    with zipfile.ZipFile(egg, "w") as archive:
        archive.writestr("demo/__init__.py", "")
    (tmp_path / "site").mkdir()
    with pytest.raises(SitepatchError, match=f"demo lies inside the archive {egg}"):
        locate(searching(egg, tmp_path / "site"), "demo")
    install(tmp_path / "site", DEMO)
    with pytest.raises(SitepatchError, match="inside the archive"):
        locate(searching(egg, tmp_path / "site"), "demo")
    assert locate(searching(tmp_path / "site", egg, sites=(tmp_path / "site",)), "demo").version == "1.0"


def editable_by_path(site: Path, checkout: Path) -> None:
    (site / "__editable__.demo-1.0.pth").write_text(f"{checkout}\n")


def editable_by_finder(site: Path, checkout: Path) -> None:
    (site / "__editable__.demo-1.0.pth").write_text("import __editable___demo_1_0_finder as f; f.install()\n")
    (site / "__editable___demo_1_0_finder.py").write_text(f"MAPPING = {{'demo': '{checkout / 'demo'}'}}\n")


def editable_by_egg_link(site: Path, checkout: Path) -> None:
    (site / "demo.egg-link").write_text(f"{checkout}\n.")
    (site / "easy-install.pth").write_text(f"{checkout}\n")


def editable_by_url(site: Path, checkout: Path) -> None:
    info = install(site, {"_demo.pth": f"{checkout}\n"})
    url = "file://" + str(checkout).replace(" ", "%20")
    (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {"editable": True}}))


@pytest.mark.parametrize("layout", ["", "src"])
@pytest.mark.parametrize("how", [editable_by_path, editable_by_finder, editable_by_egg_link, editable_by_url])
@pytest.mark.parametrize("searched", [True, False])
def test_an_editable_install_is_refused_and_its_checkout_named(tmp_path, how, layout, searched):
    checkout, site = tmp_path / "my checkout", tmp_path / "site"
    files = checkout / layout
    (files / "demo").mkdir(parents=True)
    (files / "demo" / "__init__.py").write_text("__version__: str = '3.1'\n")
    site.mkdir()
    how(site, checkout if how is editable_by_url else files)
    env = searching(site, *[files][: int(searched)], sites=(site,))
    with pytest.raises(SitepatchError) as caught:
        locate(env, "demo")
    assert caught.value.message == f"demo is an editable install; its files lie in {files}"
    assert f"--target {files}" in caught.value.hint
    located = locate(directory(files), "demo")
    assert (located.site, located.version, located.dist_info) == (str(files), "3.1", "")


def test_an_install_from_a_directory_that_is_not_editable_is_a_plain_one(tmp_path):
    info = install(tmp_path / "site", DEMO)
    (info / "direct_url.json").write_text(json.dumps({"url": f"file://{tmp_path / 'src'}", "dir_info": {}}))
    (tmp_path / "src" / "demo").mkdir(parents=True)
    assert locate(searching(tmp_path / "site"), "demo").version == "1.0"
    shutil.rmtree(tmp_path / "site" / "demo")
    with pytest.raises(SitepatchError, match="not installed"):
        locate(searching(tmp_path / "site"), "demo")


def test_a_search_directory_counts_only_with_its_own_record(tmp_path):
    (tmp_path / "site").mkdir()
    env = searching(tmp_path / "pythonpath", tmp_path / "site")
    (tmp_path / "pythonpath" / "demo").mkdir(parents=True)
    (tmp_path / "pythonpath" / "demo" / "__init__.py").write_text("")
    with pytest.raises(SitepatchError, match="which is no site directory") as caught:
        locate(env, "demo")
    assert caught.value.hint == f"use --target {tmp_path / 'pythonpath'}"
    install(tmp_path / "pythonpath", DEMO)
    assert locate(env, "demo").site == str(tmp_path / "pythonpath")


# ---------------------------------------------------------------- whose it is


TWINS = [("demo", "demo-lite", "1.0", "2.0"), ("demo", "demo", "1.0", "2.0"), ("one-name", "another", "1.0", "2.0")]


@pytest.mark.parametrize(("first", "second", "old", "new"), TWINS)
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_owners_the_one_counts_whose_hashes_match_the_files(tmp_path, first, second, old, new, order):
    pair = [(first, old, "old\n"), (second, new, "new\n")][::order]
    for name, version, text in pair:  # the one written last is what lies on the disk
        install(tmp_path, {**DEMO, "demo/version.py": text}, name, version)
    located = locate(directory(tmp_path), "demo")
    assert (located.distribution, located.version) == pair[-1][:2]
    (note,) = located.notes
    assert "demo is also listed by" in note and pair[0][1] in note


def test_an_owner_of_any_name_that_overwrote_the_files_is_found(tmp_path):
    install(tmp_path, {**DEMO, "demo/version.py": "old\n"}, "demo", "1.0")
    install(tmp_path, {**DEMO, "demo/version.py": "new\n"}, "another", "2.0")
    located = locate(directory(tmp_path), "demo")
    assert (located.distribution, located.version) == ("another", "2.0")
    assert "demo-1.0.dist-info" in located.notes[0]


def test_files_asked_for_can_tell_two_owners_apart_and_nothing_is_guessed(tmp_path):
    install(tmp_path, {**DEMO, "demo/runner.py": "old\n"}, "demo", "1.0")
    install(tmp_path, {**DEMO, "demo/runner.py": "new\n"}, "demo-lite", "2.0")
    with pytest.raises(SitepatchError) as caught:
        locate(directory(tmp_path), "demo")
    assert "demo 1.0 (demo-1.0.dist-info) and demo-lite 2.0 (demo_lite-2.0.dist-info)" in caught.value.message
    assert locate(directory(tmp_path), "demo", ["demo/runner.py"]).version == "2.0"


def test_two_owners_of_the_same_release_are_no_question(tmp_path):
    install(tmp_path, DEMO, "demo", "1.0")
    install(tmp_path, DEMO, "demo-lite", "1.0")
    located = locate(directory(tmp_path), "demo")
    assert located.version == "1.0" and "demo_lite-1.0.dist-info" in located.notes[0]


def test_a_patched_package_keeps_its_owner(tmp_path):
    install(tmp_path, DEMO)
    (tmp_path / "demo" / "__init__.py").write_text("patched\n")
    install(tmp_path, {"other/__init__.py": ""}, "zebra")
    assert locate(directory(tmp_path), "demo").distribution == "demo"


def test_what_pip_leaves_of_an_interrupted_run_is_no_owner(tmp_path):
    install(tmp_path, DEMO, version="2.0")
    install(tmp_path, DEMO, "~emo", "1.0")
    install(tmp_path, {}, "demo", "0.9", record=False)
    assert locate(directory(tmp_path), "demo").version == "2.0"
    install(tmp_path, {"torn/__init__.py": ""}, "~orn", "1.0")
    assert locate(directory(tmp_path), "torn").dist_info == ""


def test_a_distribution_that_only_adds_files_to_the_package_is_no_owner(tmp_path):
    install(tmp_path, {"demo/plugin.py": ""}, "demo-a-plugin", "7.0")
    install(tmp_path, DEMO)
    assert locate(directory(tmp_path), "demo")[2:6] == ("demo", "1.0", str(tmp_path / "demo-1.0.dist-info"), ())


def egg_directory(site: Path) -> None:
    (site / "Other_Name.egg-info").mkdir()
    (site / "Other_Name.egg-info" / "PKG-INFO").write_text("Name: Other-Name\nVersion: 1.5\n")
    (site / "Other_Name.egg-info" / "top_level.txt").write_text("_demo\ndemo\n")


def egg_file(site: Path) -> None:
    (site / "demo-1.5.egg-info").write_text("Name: demo\nVersion: 1.5\n")


def debian(site: Path) -> None:
    install(site, {}, "Demo", "1.5", record=False)


def pyproject(site: Path) -> None:
    text = '[build-system]\nversion = "0"\n\n[project]\nname = "demo"\nversion = "1.5"\n\n[tool.x]\nversion = "9"\n'
    (site / "pyproject.toml").write_text(text)


def pkg_info(site: Path) -> None:
    (site / "PKG-INFO").write_text("Metadata-Version: 2.1\r\nName: demo\r\nVersion: 1.5\r\n\r\nVersion: 9\r\n")


def egg(site: Path) -> None:
    (site / "EGG-INFO").mkdir()
    (site / "EGG-INFO" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.5\n")


def literal(site: Path) -> None:
    (site / "demo" / "version.py").write_text('x = 1\n__version__ = "1.5"  # by hand\n')


@pytest.mark.parametrize("how", [egg_directory, egg_file, debian, pyproject, pkg_info, egg, literal])
def test_without_a_record_the_version_is_known_by_what_there_is(tmp_path, how):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "__init__.py").write_text("")
    env = directory(tmp_path)
    nothing = locate(env, "demo")
    assert nothing.version == "" and "nothing tells its version" in nothing.notes[0]
    how(tmp_path)
    located = locate(env, "demo")
    assert located.version == "1.5"
    assert "no RECORD lists demo" in located.notes[0]
    assert recorded_hash(located, "demo/__init__.py") is None


# ---------------------------------------------------------------- RECORD, files, what would not run


def test_the_recorded_hash_is_that_of_the_file(tmp_path):
    files = {**DEMO, "demo/a, b.py": "z\n", "demo/mydemo/__init__.py": "inner\n"}
    info = install(tmp_path, {"vendored/demo/__init__.py": "vendored\n", **files})
    located = locate(directory(tmp_path), "demo")
    for path, text in files.items():
        assert recorded_hash(located, path) == hashlib.sha256(text.encode()).hexdigest(), path
    for path in ("demo/__init__", "__init__.py", "demo/gone.py", f"{info.name}/RECORD"):
        assert recorded_hash(located, path) is None, path


def test_a_record_that_changes_is_read_again(tmp_path):
    info = install(tmp_path, DEMO)
    located = locate(directory(tmp_path), "demo")
    assert recorded_hash(located, "demo/runner.py")
    (info / "RECORD").write_text("demo/__init__.py,,\n")
    assert recorded_hash(located, "demo/runner.py") is None


@pytest.mark.parametrize("value", ["md5=abc", "sha256=", "sha256=AAAA", "sha256=A", "", "sha256=!!"])
def test_a_row_without_a_sha256_has_no_hash(tmp_path, value):
    info = install(tmp_path, DEMO)
    (info / "RECORD").write_text(f"demo/__init__.py,{value},6\n")
    assert recorded_hash(locate(directory(tmp_path), "demo"), "demo/__init__.py") is None


def test_only_a_record_directly_in_the_site_directory_counts(tmp_path):
    install(tmp_path, DEMO)
    located = locate(directory(tmp_path), "demo")
    (tmp_path / "demo" / "_vendor").mkdir()
    nested = install(tmp_path / "demo" / "_vendor", {"demo/__init__.py": "other\n"}, version="0.1")
    assert locate(directory(tmp_path), "demo") == located
    assert recorded_hash(located._replace(dist_info=str(nested)), "demo/__init__.py") is None


@pytest.mark.parametrize(
    ("version", "origin", "words"),
    [
        ("2.7.1", "", "pip install --force-reinstall --no-deps demo==2.7.1"),
        ("2.7.1+musa", "", "install the same build of demo again from where it came: it is not one that an index has"),
        ("0.0.0", "", "install the same build of demo again"),
        ("unknown", "", "install the same build of demo again"),
        ("", "", "install the same build of demo again"),
        ("2.7.1", "file:///wheels/demo.whl", "install demo 2.7.1 again from where it came: file:///wheels/demo.whl"),
    ],
)
def test_how_to_put_a_build_back(tmp_path, version, origin, words):
    info = install(tmp_path, DEMO, version="2.7.1")
    if origin:
        (info / "direct_url.json").write_text(json.dumps({"archive_info": {}, "url": origin}))
    assert reinstall_command(str(tmp_path), "Demo", version).lower().startswith(words)


def test_of_alternative_places_those_that_exist_are_given(tmp_path):
    install(tmp_path, DEMO)
    located = locate(directory(tmp_path), "demo")
    assert find_file(located, ["demo/gone.py", "demo/runner.py"]) == ("demo/runner.py",)
    assert find_file(located, ["demo/__init__.py", "demo/runner.py"]) == ("demo/__init__.py", "demo/runner.py")
    (tmp_path / "demo" / "dir.py").mkdir()
    assert find_file(located, ["demo/dir.py", "demo/runner.py/x.py"]) == ()


@pytest.mark.parametrize("path", ["demo/../x.py", "/etc/x.py", "other/x.py", "demo//x.py", "demo/./x.py", "demo\\x.py"])
def test_a_path_that_leaves_the_package_is_refused(tmp_path, path):
    install(tmp_path, DEMO)
    with pytest.raises(SitepatchError, match="outside the package demo"):
        find_file(locate(directory(tmp_path), "demo"), [path])


def test_a_directory_that_is_a_link_out_of_the_site_is_refused_and_one_within_is_not(tmp_path):
    site, outside = tmp_path / "site", tmp_path / "outside"
    install(site, {**DEMO, "demo/real/x.py": ""})
    outside.mkdir()
    (outside / "x.py").write_text("")
    (site / "demo" / "within").symlink_to(site / "demo" / "real")
    (site / "demo" / "out").symlink_to(outside)
    (site / "demo" / "file.py").symlink_to(outside / "x.py")
    located = locate(directory(site), "demo")
    assert find_file(located, ["demo/within/x.py"]) == ("demo/within/x.py",)
    assert find_file(located, ["demo/file.py"]) == ("demo/file.py",), "uv's symlink mode links every file"
    with pytest.raises(SitepatchError, match="outside the site directory"):
        find_file(located, ["demo/out/x.py"])
    (outside / "x.py").unlink()
    with pytest.raises(SitepatchError, match=r"demo/file\.py: is a link to .*/outside/x\.py, which is not there"):
        find_file(located, ["demo/file.py"])


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ("", None),
        ("runner.so", "the compiled runner.so beside it comes first"),
        (f"runner.{TAG}.so", f"the compiled runner.{TAG}.so beside it comes first"),
        ("runner.abi3.so", "the compiled runner.abi3.so"),
        ("runner.pyd", "the compiled runner.pyd"),
        ("runner.cpython-36m-x86_64-linux-gnu.so", None),
        ("runner_extra.so", None),
        ("runner.txt", None),
        ("runner/__init__.py", "the package demo/runner/ comes first"),
        ("runner/data.txt", None),
    ],
)
def test_a_file_that_would_not_be_imported_is_reported(tmp_path, beside, reason):
    install(tmp_path, DEMO)
    if beside:
        (tmp_path / "demo" / beside).parent.mkdir(exist_ok=True)
        (tmp_path / "demo" / beside).write_text("")
    env = directory(tmp_path)
    found = blocker(locate(env, "demo"), "demo/runner.py", env)
    assert found is None if reason is None else reason in (found or "")


def test_what_is_no_python_source_or_lies_in_the_standard_library_is_reported(tmp_path):
    install(tmp_path, {**DEMO, "demo/data.json": ""})
    env = directory(tmp_path)
    located = locate(env, "demo")
    assert blocker(located, "demo/data.json", env) is None
    (tmp_path / "os.py").write_text("")
    assert "standard library" in (blocker(located, "demo/runner.py", env) or "")


# ---------------------------------------------------------------- real ones


def pip(venv: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    subprocess.run([*command, "--disable-pip-version-check", "-q", *arguments], check=True)


@pytest.mark.real
def test_mmengine_and_mmengine_lite_side_by_side(tmp_path, home):
    venv = make_venv(tmp_path / "venv")
    pip(venv, "install", "--no-deps", "mmengine-lite==0.10.4")
    env = discover(str(venv), None)
    alone = locate(env, "mmengine")
    assert (alone.distribution, alone.version, alone.notes) == ("mmengine-lite", "0.10.4", ())
    pip(venv, "install", "--no-deps", "mmengine==0.10.7")
    located = locate(env, "mmengine")
    assert (located.distribution, located.version) == ("mmengine", "0.10.7")
    assert "mmengine_lite-0.10.4.dist-info" in located.notes[0]
    path = "mmengine/runner/runner.py"
    assert find_file(located, [path]) == (path,) and blocker(located, path, env) is None
    assert recorded_hash(located, path) == hashlib.sha256((Path(located.site) / path).read_bytes()).hexdigest()


@pytest.mark.real
@pytest.mark.parametrize("mode", ["lenient", "strict", "compat"])
def test_an_editable_install_by_pip_and_setuptools(tmp_path, home, mode):
    checkout = tmp_path / "checkout"
    (checkout / "demo").mkdir(parents=True)
    (checkout / "demo" / "__init__.py").write_text("")
    (checkout / "other").mkdir()
    text = "from setuptools import setup\nsetup(name='x', version='1', packages=['demo'])\n"
    (checkout / "setup.py").write_text(text)
    venv = make_venv(tmp_path / "venv")
    pip(venv, "install", "--no-deps", "-e", str(checkout), "--config-settings", f"editable_mode={mode}")
    with pytest.raises(SitepatchError, match="editable install") as caught:
        locate(discover(str(venv), None), "demo")
    assert str(checkout) in caught.value.message


DEBIAN = next(
    (path for path in ("/usr/bin/python3",) if Path(path).exists() and Path("/usr/lib/python3/dist-packages").is_dir()), None
)


@pytest.mark.skipif(DEBIAN is None, reason="no Debian Python with dist-packages here")
def test_debians_dist_packages_are_found_on_its_own_interpreter():
    """Nothing is changed there: the directory in which `apt` puts packages is found, after the one in which pip does."""
    sites = discover(DEBIAN, None).sites
    assert sites[-1] == "/usr/lib/python3/dist-packages"
    assert any(each.startswith("/usr/local/lib/python3") and each.endswith("/dist-packages") for each in sites[:-1])
