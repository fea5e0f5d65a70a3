"""`hook init` makes a directory that a project keeps; its build backend refuses what does not fit together, in one line."""

import json
import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import patcher
from patcher.errors import UsageError
from patcher.hook import backend, directory
from patcher.model import Requested
from patcher.patchset.manifest import load_patchset
from patcher.verbs.hook import init_hook
from tests.command import environ, tree
from tests.failures import fail
from tests.places import patchset

pytestmark = pytest.mark.once


def build(place, hook="build_wheel", code=0, folder="patches"):
    """Run the directory's own backend as an installer does, with nothing else to import; returns (stdout, stderr)."""
    out = place.path / "built"
    out.mkdir(exist_ok=True)
    program = f"import sys; sys.path.insert(0, '.'); import backend; print(backend.{hook}({str(out)!r}))"
    command = [sys.executable, "-I", "-S", "-B", "-c", program]
    completed = subprocess.run(command, cwd=str(place.path / folder), env={}, capture_output=True)
    assert completed.returncode == code, completed
    return completed.stdout.decode().strip(), completed.stderr.decode()


def pyproject(place, text):
    (place.path / "pyproject.toml").write_text(text)


# init -----------------------------------------------------------------------------------------------------------------
def test_without_names_a_hook_holds_what_the_project_asks_for(place):
    patchset(place.path, "demo/n.py", 3, "three")
    pyproject(place, '[project]\nname = "My.Project"\n[tool.sitepatch]\npatchsets = ["two", "three optional"]\npatch-dir = "mine"\n')
    out = place.sitepatch("hook", "init", "patches").out
    assert "sitepatch-hook-my-project 0.1.0+h" in out and "in patches: two, three\n" in out
    text = (place.path / "patches/pyproject.toml").read_text()
    assert f'dependencies = ["sitepatch>={patcher.__version__}"]' in text and 'build-backend = "backend"' in text
    keys = [line.split('"')[1] for line in text.splitlines() if line.startswith("    { file")]
    files = [path.relative_to(place.path / "patches").as_posix() for path in (place.path / "patches").rglob("*") if path.is_file()]
    assert sorted(keys) == sorted(files), "uv looks at every file"


@pytest.mark.parametrize(
    ("direct", "lines"),
    [
        (None, ["./patches"]),
        ({"url": "file:///w/sitepatch-0.1.0-py3-none-any.whl", "archive_info": {}}, ["sitepatch @ file:///w/sitepatch-0.1.0-py3-none-any.whl", "./patches"]),
        ({"url": "https://x.org/s.git", "vcs_info": {"vcs": "git", "commit_id": "abc1"}}, ["sitepatch @ git+https://x.org/s.git@abc1", "./patches"]),
    ],
    ids=["from an index", "a wheel", "a repository"],
)  # fmt: skip
def test_the_lines_for_requirements_name_the_sitepatch_that_is_on_no_index(place, direct, lines):
    info = place.path / "installed/sitepatch-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sitepatch\nVersion: 0.1.0\n")
    if direct:
        (info / "direct_url.json").write_text(json.dumps(direct))
    env = environ(PYTHONPATH=f"{info.parent}{os.pathsep}{Path(patcher.__file__).parents[1]}")

    def init(*words):
        command = [sys.executable, "-m", "patcher", "hook", "init", "patches", "two", "--patch-dir", "mine", *words]
        return subprocess.run(command, cwd=str(place.path), capture_output=True, text=True, check=True, env=env).stdout

    assert init().splitlines()[-len(lines) :] == lines
    assert json.loads(init("--json"))["requirements"] == lines


def test_from_a_checkout_only_the_directory_is_named(place, monkeypatch):
    fail(monkeypatch, metadata, "distribution", metadata.PackageNotFoundError("sitepatch"))
    monkeypatch.chdir(place.path)
    assert init_hook("patches", ("two",), patch_dirs=("mine",)).source == ""


def test_a_project_that_asks_for_nothing_is_reported(place):
    assert "no patchset is named" in place.sitepatch("hook", "init", "patches", code=2).err
    assert not (place.path / "patches").exists()


def test_init_again_brings_a_hook_up_to_date_and_keeps_its_name_and_mode(place):
    def texts():
        return {path: path.read_bytes() for path in (place.path / "patches").rglob("*") if path.is_file()}

    patchset(place.path, "demo/n.py", 3, "three")
    place.init("--mode", "strict", "--name", "sitepatch-hook-x", names=("two", "three"))
    first = texts()
    place.init(names=("two", "three"))
    assert texts() == first
    place.init(names=("two",))
    assert not (place.path / "patches/patchsets/three").exists()
    assert 'name = "sitepatch-hook-x"' in (place.path / "patches/pyproject.toml").read_text()
    assert json.loads((place.path / "patches/hook.json").read_text())["mode"] == "strict"
    wheel, _ = build(place)
    patchset(place.path, new=33)
    place.sitepatch("hook", "init", "patches", "--patch-dir", "mine")  # what it asks for already
    newer_wheel, _ = build(place)
    assert newer_wheel != wheel, "its version has a digest of all that it carries"


def test_a_newer_patchset_hidden_by_the_copy_in_the_hook_is_taken_by_name(place):
    place.init()
    wheel, _ = build(place)
    patchset(place.path, new=33)
    (place.path / "patchsets").symlink_to("mine")
    words = ("hook", "init", "patches")
    err = place.sitepatch(*words).err
    assert "it hides two (./patchsets) in " in err
    assert "patchsets of other places are used only where they are named: sitepatch hook init patches two\n" in err
    assert build(place)[0] == wheel
    assert "hides" not in place.sitepatch(*words, "two").err
    assert build(place)[0] != wheel
    assert "elsewhere" not in place.sitepatch(*words, "--patch-dir", "mine").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mode", "strickt"], '--mode: found "strickt", expected repair, warn or strict; did you mean "strict"?'),
        (["--name", "My_Hook"], '--name: found "My_Hook", expected a name of a-z'),
        (["--set", "two.x=1"], "two.x: found an unknown option"),
        (["--set", "x"], '--set x: found no "=", expected NAME.option=VALUE'),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(place, words, message):
    assert message in place.init(*words, code=2).err
    assert not (place.path / "patches").exists()


def test_a_directory_that_is_not_ours_is_left_alone(place):
    before = tree(place.path / "mine")
    ended = place.sitepatch("hook", "init", "mine", "two", "--patch-dir", "mine", code=2)
    assert "mine: found a directory that is not empty and holds no hook" in ended.err
    assert tree(place.path / "mine") == before


def test_options_are_kept_and_can_be_set(place):
    folder = place.path / "mine/two"
    (folder / "p.spatch").write_text("--- demo/m.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = $number\n")
    toml = folder / "patchset.toml"
    toml.write_text(toml.read_text().replace("[[variant]]", '[options.number]\ntype = "int"\ndefault = 7\nhelp = "x"\n[[variant]]'))
    place.init("--set", "two.number=8")
    record = place.path / "patches/hook.json"
    assert json.loads(record.read_text())["patchsets"] == {"two": {"number": "8"}}
    place.sitepatch("hook", "init", "patches")
    assert json.loads(record.read_text())["patchsets"] == {"two": {"number": "8"}}
    place.put(place.wheel())
    place.unpack("sitepatch", patcher.__version__)
    assert place.start().out == "8\n"


# the build backend ----------------------------------------------------------------------------------------------------
def test_the_backend_and_the_command_build_the_same_wheel(place):
    place.init()
    name, _ = build(place)
    assert (place.path / "built" / name).read_bytes() == place.wheel().read_bytes()


def test_another_release_of_sitepatch_makes_the_same_wheel_of_a_directory_that_nobody_changed(place, monkeypatch):
    place.init()
    before = place.wheel().read_bytes()
    monkeypatch.setattr(patcher, "__version__", "9.0")  # there is no other release to install
    assert place.wheel().read_bytes() == before


def rewrite(name, old, new):
    def change(folder):
        path = folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


CHANGED = "was changed since hook init ran"


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: (folder / "patchsets/two/p.spatch").unlink(), "No such file or directory: 'patchsets/two/p.spatch'"),
        (rewrite("patchsets/two/p.spatch", "+VALUE = 22", "+VALUE = 23"), CHANGED),
        (rewrite("patchsets/two/p.spatch", "+VALUE = 22", "+VALUE  = 22"), CHANGED),
        (rewrite("boot.py", "import os", "import os "), CHANGED),
        (rewrite("hook.json", '"repair"', '"warn"'), CHANGED),
        (rewrite("hook.json", '"mode"', '"mood"'), "hook.json: KeyError: 'mode'"),
        (lambda folder: (folder / "hook.json").write_text("[]"), "hook.json: TypeError: list indices"),
        (lambda folder: (folder / "hook.json").write_text("{"), "Expecting property name"),
        (lambda folder: (folder / "hook.json").unlink(), "No such file or directory: 'hook.json'"),
    ],
)
def test_a_directory_that_was_changed_is_refused_in_one_line(place, spoil, problem):
    place.init()
    spoil(place.path / "patches")
    out, err = build(place, code=1)
    assert out == ""
    assert err.startswith("sitepatch hook: error: ") and problem in err
    assert err.endswith("; run again: sitepatch hook init patches\n") and err.count("\n") == 1
    assert list((place.path / "built").iterdir()) == []


@pytest.mark.parametrize("hook", ["get_requires_for_build_editable", "prepare_metadata_for_build_editable", "build_editable"])
def test_an_editable_install_is_refused(place, hook):
    place.init()
    assert "a hook cannot be installed in editable mode; leave out -e" in build(place, hook, code=1)[1]


def test_line_ends_of_a_checkout_change_nothing(place):
    place.init()
    name, _ = build(place)
    data = (place.path / "built" / name).read_bytes()
    for path in (place.path / "patches").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    build(place)
    assert (place.path / "built" / name).read_bytes() == data


# read and written in this process ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "good"),
    [("a", True), ("a1-b2", True), ("", False), ("1a", False), ("a--b", False), ("a-", False), ("-a", False), ("a_b", False), ("A", False), ("a\n", False)],
)
def test_a_hook_has_a_plain_name(name, good):
    assert directory.is_name(name) is good


def test_a_hook_is_written_only_into_a_new_or_empty_directory_or_its_own(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        assert directory.read_directory(path) is None
    (tmp_path / "file").write_text("")
    for path, what in ((tmp_path / "file", "something that is no directory"), (tmp_path, "a directory that is not empty and holds no hook")):
        with pytest.raises(UsageError, match=f"found {what}"):
            directory.read_directory(path)


COPIES = ["patchsets/three/p.spatch", "patchsets/three/patchset.toml", "patchsets/two/p.spatch", "patchsets/two/patchset.toml"]


def request(folder, name="two", **options):
    """The request for one of the patchsets in ./mine."""
    return Requested(load_patchset(folder / "mine" / name, "mine"), options)


def test_a_hook_is_read_back_as_it_was_written(tmp_path):
    folder = tmp_path / "hook"
    patchset(tmp_path, name="two")
    patchset(tmp_path, name="three")
    two, three = request(tmp_path, "two"), request(tmp_path, "three")
    version, names = directory.write_directory(folder, "a-hook", "warn", [two, three], [])
    assert names == sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert {"backend.py", "boot.py", "hook.json", "pyproject.toml"} < set(names)
    assert directory.read_directory(folder) == {
        "name": "a-hook",
        "version": version,
        "mode": "warn",
        "patchsets": {"two": {}, "three": {}},
        "files": COPIES,
    }
    other_version, _ = directory.write_directory(folder, "a-hook", "warn", [two], COPIES)
    assert other_version != version
    assert sorted(path.name for path in (folder / "patchsets").iterdir()) == ["two"]
    (folder / "hook.json").write_text("{}")
    assert directory.read_directory(folder) is None


def test_the_value_of_an_option_may_have_an_equals_sign(tmp_path):
    patchset(tmp_path)
    directory.write_directory(tmp_path / "hook", "a-hook", "warn", [request(tmp_path, text="a=b", on=True)], [])
    assert directory.read_directory(tmp_path / "hook")["patchsets"] == {"two": {"text": "a=b", "on": "true"}}


def test_the_wheel_has_what_a_start_needs_and_a_package_of_its_own(tmp_path):
    patchset(tmp_path)
    version, _ = directory.write_directory(tmp_path / "hook", "a-hook", "warn", [request(tmp_path)], [])
    wheel = backend.hook_wheel(tmp_path / "hook")
    assert wheel.name == f"a_hook-{version}-py3-none-any.whl"
    info = f"a_hook-{version}.dist-info"
    boot = wheel.files.pop("_a_hook/__init__.py").decode()
    assert f'NAME = "a-hook"\nID = "{version}"\nMODE = "warn"\n' in boot
    assert json.loads(wheel.files.pop("_a_hook/hook.json"))["version"] == version
    for name in ("p.spatch", "patchset.toml"):
        assert wheel.files.pop(f"_a_hook/patchsets/two/{name}") == (tmp_path / "mine/two" / name).read_bytes()
    metadata = (
        f"Metadata-Version: 2.1\nName: a-hook\nVersion: {version}\nSummary: Keeps two applied\n"
        f"Requires-Python: >=3.8\nRequires-Dist: sitepatch>={patcher.__version__}\n"
    )
    of_wheel = f"Wheel-Version: 1.0\nGenerator: sitepatch {patcher.__version__}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    assert wheel.files == {
        "a_hook.pth": b"import _a_hook; _a_hook.start()\n",
        "a_hook.start": b"_a_hook:start\n",
        "_a_hook/state": b"",
        "_a_hook/state.tmp": b"",
        "_a_hook/lock": b"",
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": of_wheel.encode(),
    }


def test_a_wheel_that_cannot_be_written_ends_the_build_in_one_line(tmp_path, monkeypatch, capsys):
    patchset(tmp_path)
    directory.write_directory(tmp_path / "hook", "a-hook", "warn", [request(tmp_path)], [])
    monkeypatch.chdir(tmp_path / "hook")
    with pytest.raises(SystemExit) as caught:
        backend.build_wheel(str(tmp_path / "none"))
    err = capsys.readouterr().err
    assert caught.value.code == 1
    assert err.startswith("sitepatch hook: error: ") and "No such file" in err and err.count("\n") == 1
    with zipfile.ZipFile(str(tmp_path / backend.build_wheel(str(tmp_path)))) as archive:
        assert archive.testzip() is None


# what belongs to the user ----------------------------------------------------------------------------------------------
def test_init_again_removes_what_it_wrote_and_nothing_else(place):
    """`edit`, `capture` and `import` write to ./patchsets, and somebody may have begun a hook in that directory."""
    patchset(place.path, "demo/n.py", 3, "three")
    place.init(names=("two", "three"))
    top = place.path / "patches/patchsets"
    own = {"mine/p.spatch": "mine", "two/cases/one.case": "a case", "two/notes.md": "notes", "three/notes.md": "notes"}
    for path, text in own.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    build(place)  # what is not its own is not part of it
    place.init(names=("two",))
    assert {path: (top / path).read_text() for path in own} == own
    assert sorted(path.name for path in (top / "three").iterdir()) == ["notes.md"]
    place.init(names=("two", "three"))
    assert {path: (top / path).read_text() for path in own} == own


@pytest.mark.parametrize("path", ["patchsets", "patchsets/two", "patchsets/two/patchset.toml", "hook.json", "pyproject.toml"])
def test_nothing_is_written_or_removed_through_a_link(place, path):
    place.init()
    link, away = place.path / "patches" / path, place.path / "away"
    link.rename(away)
    link.symlink_to(away)
    before = tree(place.path)
    assert f"{Path('patches') / path}: is a link; hook init does not write through it" in place.init(code=2).err
    assert tree(place.path) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', "<<<<<<< ours\n"])
def test_a_record_that_is_half_written_is_replaced(place, text):
    place.init()
    (place.path / "patches/hook.json").write_text(text)
    place.init()
    assert json.loads((place.path / "patches/hook.json").read_text())["patchsets"] == {"two": {}}
    build(place)


def test_a_record_of_a_newer_sitepatch_is_not_replaced(place):
    place.init()
    record = place.path / "patches/hook.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "format": 99}))
    before = tree(place.path)
    place.init(code=1)
    assert tree(place.path) == before


def test_a_forged_record_removes_nothing_but_files_of_patchsets(place):
    place.init()
    record = place.path / "patches/hook.json"
    fields = json.loads(record.read_text())
    others = [place.path / "away", place.path / "patches/patchsets/notes", place.path / "patches/mine/two/notes"]
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("mine")
    fields["files"] += ["patchsets/two/../../../away", "../away", "backend.py", "patchsets/notes", "mine/two/notes"]
    record.write_text(json.dumps(fields))
    place.init()
    assert [other.read_text() for other in others] == ["mine"] * 3
    assert (place.path / "patches/backend.py").exists()
