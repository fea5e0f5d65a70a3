"""`hook init` makes a directory that a project keeps; its build backend refuses what does not fit together, in one line."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from patcher.errors import SitepatchError, UsageError
from patcher.hook import backend, directory, writer
from patcher.hook.content import HookPatchset, Precomputed, write_precomputed
from patcher.hook.precompute import precompute
from patcher.hook.wheel import wheel as wheel_of
from patcher.model import LockedFile, Requested, Step
from patcher.ops.hooks import make_wheel
from patcher.patchset.manifest import load_patchset
from patcher.project.pyproject import ProjectEntry
from patcher.store.commit import commit
from patcher.survey.plans import plan_apply
from patcher.target.interpreter import Environment
from tests.command import environ, tree
from tests.hooks import Place
from tests.places import patchset, wheel

pytestmark = pytest.mark.once


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def build(place, hook="build_wheel", code=0):
    """Run the build backend as an installer does, in the directory; returns (stdout, stderr)."""
    out = place.path / "built"
    out.mkdir(exist_ok=True)
    command = [sys.executable, "-c", f"from patcher.hook import backend; print(backend.{hook}({str(out)!r}))"]
    done = subprocess.run(command, cwd=str(place.path / "patches"), env=environ(), capture_output=True)
    assert done.returncode == code, done
    return done.stdout.decode().strip(), done.stderr.decode()


def build_alone(place, hook="build_wheel", code=0, folder="patches"):
    """As `build`, by the directory's own backend, where nothing else can be imported."""
    out = place.path / "alone"
    out.mkdir(exist_ok=True)
    code_ = f"import sys; sys.path.insert(0, '.'); import backend; print(backend.{hook}({str(out)!r}))"
    command = [sys.executable, "-I", "-S", "-B", "-c", code_]
    done = subprocess.run(command, cwd=str(place.path / folder), env={}, capture_output=True)
    assert done.returncode == code, done
    return done.stdout.decode().strip(), done.stderr.decode()


def pyproject(place, text):
    (place.path / "pyproject.toml").write_text(text)


# init -----------------------------------------------------------------------------------------------------------------
def test_without_names_it_is_what_the_project_asks_for(place):
    patchset(place.path, "demo/n.py", 3, "three")
    pyproject(place, '[project]\nname = "My.Project"\n[tool.sitepatch]\npatchsets = ["two", "three optional"]\npatch-dir = "mine"\n')
    said = place.sitepatch("hook", "init", "patches", "--python", place.python)
    assert "sitepatch-hook-my-project 0.1.0+h" in said.out and "two, three; 2 files can be patched without sitepatch" in said.out
    assert "line for requirements.txt: ./patches" in said.out
    text = (place.path / "patches/pyproject.toml").read_text()
    assert '"three optional"' in text and 'build-backend = "backend"' in text
    keys = [line.split('"')[1] for line in text.splitlines() if line.startswith("    { file")]
    files = [path.relative_to(place.path / "patches").as_posix() for path in (place.path / "patches").rglob("*") if path.is_file()]
    assert sorted(keys) == sorted(files), "uv looks at every file"


def test_nothing_asked_for_is_reported(place):
    said = place.sitepatch("hook", "init", "patches", "--python", place.python, code=2)
    assert "no patchset is named" in said.err
    assert not (place.path / "patches").exists()


def test_again_it_is_brought_up_to_date_and_keeps_its_name_and_mode(place):
    patchset(place.path, "demo/n.py", 3, "three")
    place.init("--mode", "strict", "--name", "sitepatch-hook-x", names=("two", "three"))
    first = tree(place.path / "patches")
    assert place.init(names=("two", "three")).code == 0
    assert {name: told[0] for name, told in tree(place.path / "patches").items()} == {name: told[0] for name, told in first.items()}
    place.init(names=("two",))
    assert not (place.path / "patches/patchsets/three").exists()
    text = (place.path / "patches/pyproject.toml").read_text()
    assert 'name = "sitepatch-hook-x"' in text and 'mode = "strict"' in text
    was = build(place)[0]
    patchset(place.path, new=33)
    place.sitepatch("hook", "init", "patches", "--patch-dir", "mine", "--python", place.python)  # what it asks for already
    assert build(place)[0] != was, "its version has a digest of all that it carries"


def test_a_newer_patchset_of_elsewhere_that_its_own_copy_hides_is_taken_by_name(place):
    place.init()
    was = build(place)[0]
    patchset(place.path, new=33)
    (place.path / "patchsets").symlink_to("mine")
    words = ("hook", "init", "patches", "--python", place.python)
    said = place.sitepatch(*words).err
    assert "it hides two of ./patchsets" in said and "those of elsewhere are taken where they are named: sitepatch hook init patches two\n" in said
    assert build(place)[0] == was
    assert "hides" not in place.sitepatch(*words, "two").err and build(place)[0] != was
    assert "elsewhere" not in place.sitepatch(*words, "--patch-dir", "mine").err


def test_changes_for_another_release_stay_as_long_as_they_are_true(place):
    place.init()
    place.unpack("demo", "2.0")
    assert "1 file can be" in place.init().out
    kept = json.loads((place.path / "patches/kept.json").read_text())["files"]
    assert [each["version"] for each in kept] == ["1.0", "2.0"]
    place.install()
    assert place.start().out == "22\n"
    place.unpack("demo", "1.0")
    assert place.start().out == "22\n"
    patchset(place.path, new=33)
    place.init()
    kept = json.loads((place.path / "patches/kept.json").read_text())["files"]
    assert [each["version"] for each in kept] == ["1.0"]


def test_what_is_applied_does_not_hide_the_pristine_bytes(place):
    place.init()
    before = (place.path / "patches/kept.json").read_bytes()
    place.sitepatch("apply", "two", "--patch-dir", "mine", "--python", place.python)
    place.init()
    assert (place.path / "patches/kept.json").read_bytes() == before


def test_a_package_that_is_not_here_is_left_to_sitepatch(place):
    patchset(place.path, "other/x.py", 3, "three")
    said = place.init(names=("two", "three"))
    assert "three: other is not installed" in said.err and "1 file can be patched without sitepatch" in said.out


def test_a_patchset_that_does_not_fit_makes_no_hook(place):
    place.unpack("demo", "3.0")
    said = place.init(code=1)
    assert "not found" in said.out and "nothing was written" in said.err
    assert not (place.path / "patches").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--mode", "strickt"], '--mode: found "strickt", expected repair or warn or strict; did you mean "strict"?'),
     (["--name", "My_Hook"], '--name: found "My_Hook", expected a name of a-z'),
     (["--set", "two.x=1"], "two.x: found an unknown option"), (["--set", "x"], '--set x: found no "=", expected NAME.option=VALUE')],
)  # fmt: skip
def test_wrong_words(place, words, told):
    said = place.init(*words, code=2)
    assert told in said.err
    assert not (place.path / "patches").exists()


def test_a_directory_that_is_not_ours_is_left_alone(place):
    before = tree(place.path / "mine")
    said = place.sitepatch("hook", "init", "mine", "two", "--patch-dir", "mine", "--python", place.python, code=2)
    assert "mine: found a directory that is not empty and holds no hook" in said.err
    assert tree(place.path / "mine") == before


def test_options_are_kept_and_can_be_set(place):
    folder = place.path / "mine/two"
    (folder / "p.spatch").write_text("--- demo/m.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = $number\n")
    toml = folder / "patchset.toml"
    toml.write_text(toml.read_text().replace("[[variant]]", '[options.number]\ntype = "int"\ndefault = 7\nhelp = "x"\n[[variant]]'))
    place.install("--set", "two.number=8")
    assert '"two number=8"' in (place.path / "patches/pyproject.toml").read_text()
    assert place.start().out == "8\n"


# the build backend ----------------------------------------------------------------------------------------------------
def test_the_wheel_of_the_backend_is_that_of_the_command_also_by_way_of_an_sdist(place):
    place.init()
    line = place.wheel().split(" ")[0]
    name, _ = build(place)
    data = (place.path / "built" / name).read_bytes()
    assert data == (place.path / line).read_bytes()
    archive, _ = build(place, "build_sdist")
    with tarfile.open(str(place.path / "built" / archive)) as tar:
        more = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(str(place.path / "unpacked"), **more)
    (place.path / "patches").rename(place.path / "was")
    next((place.path / "unpacked").iterdir()).rename(place.path / "patches")
    (place.path / "built" / name).unlink()
    build(place)
    assert (place.path / "built" / name).read_bytes() == data
    info, _ = build(place, "prepare_metadata_for_build_wheel")
    with zipfile.ZipFile(str(place.path / "built" / name)) as wheel:
        assert wheel.read(f"{info}/METADATA") == (place.path / "built" / info / "METADATA").read_bytes()


def gone(folder):
    for path in (folder / "patchsets/two").iterdir():
        path.unlink()


def rewrite(name, old, new):
    def change(folder):
        path = folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (gone, "patchsets/two: found no patchset; put it back"),
        (rewrite("patchsets/two/patchset.toml", "schema = 1", "schema = 2"), "schema: found 2, expected 1"),
        (rewrite("patchsets/two/p.spatch", "+VALUE = 22", "+VALUE = 23"), "two: not as it was when hook init ran; run again:"),
        (rewrite("pyproject.toml", 'mode = "repair"', 'mode = "repiar"'), 'mode: found "repiar", expected one of repair, warn, strict; did you mean "repair"?'),
        (rewrite("pyproject.toml", 'mode = "repair"', 'mode = "warn"'), "was changed since hook init ran"),
        (rewrite("pyproject.toml", '    "two",\n', ""), "tool.sitepatch.patchsets: found none"),
        (rewrite("pyproject.toml", "[project]", "[project"), "pyproject.toml:"),
        (lambda folder: (folder / "kept.json").unlink(), "kept.json: is missing; run again: sitepatch hook init"),
        (rewrite("kept.json", '"files"', '"fils"'), "kept.json: fils: found an unknown key, expected one of files, patchsets; did you mean"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_line(place, spoil, told):
    place.init()
    spoil(place.path / "patches")
    out, err = build(place, code=1)
    assert out == ""
    assert err.startswith("sitepatch hook: error: ") and told in err
    assert "Traceback" not in err
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


# without sitepatch ----------------------------------------------------------------------------------------------------
def test_the_directory_builds_the_same_wheel_with_the_standard_library_alone_also_by_way_of_an_sdist(place):
    place.init()
    carried = json.loads((place.path / "patches/carried.json").read_text())
    assert not [path for path in carried["files"] if "patchsets/" in path or path.endswith("kept.json")], "nothing is there twice"
    name, _ = build_alone(place)
    data = (place.path / place.wheel().split(" ")[0]).read_bytes()
    assert (place.path / "alone" / name).read_bytes() == data
    archive, _ = build_alone(place, "build_sdist")
    with tarfile.open(str(place.path / "alone" / archive)) as tar:
        more = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(str(place.path / "unpacked"), **more)
    (place.path / "alone" / name).unlink()
    (unpacked,) = (place.path / "unpacked").iterdir()
    build_alone(place, folder=unpacked)
    assert (place.path / "alone" / name).read_bytes() == data
    info, _ = build_alone(place, "prepare_metadata_for_build_wheel")
    assert sorted(path.name for path in (place.path / "alone" / info).iterdir()) == ["METADATA", "WHEEL"]
    assert "leave out -e" in build_alone(place, "build_editable", code=1)[1]


def test_another_release_of_sitepatch_makes_the_same_wheel_of_a_directory_that_nobody_changed(place, monkeypatch):
    place.init()
    line = place.wheel()
    monkeypatch.setattr(directory, "__version__", "9.0")
    made, digest = make_wheel(place.path / "patches", place.path / "again")
    assert made.name == os.path.basename(line.split(" ")[0]) and line.endswith(f"sha256:{digest}")


def test_layout_line_ends_and_comments_change_nothing_there(place):
    place.init()
    name, _ = build_alone(place)
    data = (place.path / "alone" / name).read_bytes()
    for path in (place.path / "patches").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    path = place.path / "patches/pyproject.toml"
    path.write_text("# more\n" + path.read_text().replace(" = ", "="))
    build_alone(place)
    assert (place.path / "alone" / name).read_bytes() == data


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (gone, "No such file or directory: 'patchsets/two/"),
        (rewrite("patchsets/two/p.spatch", "+VALUE = 22", "+VALUE = 23"), "patchsets/two/p.spatch: was changed since hook init ran"),
        (rewrite("patchsets/two/p.spatch", "+VALUE = 22", "+VALUE  = 22"), "patchsets/two/p.spatch: was changed since hook init ran"),
        (rewrite("pyproject.toml", 'mode = "repair"', 'mode = "warn"'), "pyproject.toml: was changed since hook init ran"),
        (rewrite("kept.json", '"files"', '"fils"'), "kept.json: was changed since hook init ran"),
        (rewrite("carried.json", '"files"', '"fils"'), "carried.json: 'files'"),
        (lambda folder: (folder / "carried.json").write_text("[]"), "carried.json: list indices"),
        (lambda folder: (folder / "carried.json").unlink(), "error: [Errno 2] No such file or directory: 'carried.json'"),
    ],
)
def test_what_was_changed_is_refused_in_one_line_there(place, spoil, told):
    place.init()
    spoil(place.path / "patches")
    out, err = build_alone(place, code=1)
    assert out == ""
    assert err.startswith("sitepatch hook: error: ") and told in err and err.endswith("; run again: sitepatch hook init patches\n")
    assert err.count("\n") == 1
    assert list((place.path / "alone").iterdir()) == []


def test_a_directory_of_an_older_hook_init_is_built_by_the_sitepatch_that_it_requires(place):
    place.init()
    data = (place.path / place.wheel().split(" ")[0]).read_bytes()
    for name in ("backend.py", "carried.json"):
        (place.path / "patches" / name).unlink()
    build(place, "build_sdist")
    name, _ = build(place)
    assert (place.path / "built" / name).read_bytes() == data
    path = place.path / "patches/pyproject.toml"
    path.write_text(path.read_text().replace('build-backend = "backend"\nbackend-path = ["."]', 'build-backend = "patcher.hook.backend"'))
    place.init()
    assert 'backend-path = ["."]' in path.read_text(), "hook init brings it up to date"
    assert (place.path / "patches/carried.json").exists()


# read and written in this process ---------------------------------------------------------------------------------------
GOOD = {"project": ('name = "a-hook"', 'version = "1"'), "tool.sitepatch-hook": ('mode = "warn"',)}


def toml(changed):
    tables = {**GOOD, **changed}
    return "".join(f"[{table}]\n" + "\n".join(lines) + "\n" for table, lines in tables.items() if lines is not None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (toml({}), ("a-hook", "1", "warn")),
        (toml({"project": ('name = "A"', 'version = "1"')}), f'project.name: found "A", expected {directory.NAME_RULE}'),
        (toml({"project": ("name = 1", 'version = "1"')}), f"project.name: found 1, expected {directory.NAME_RULE}"),
        (toml({"project": ('name = "a-hook"',)}), "project.version: found nothing, expected a string"),
        (toml({"project": ('name = "a-hook"', "version = 1")}), "project.version: found 1, expected a string"),
        (toml({"tool.sitepatch-hook": ('mode = "wran"',)}), 'tool.sitepatch-hook.mode: found "wran", expected one of repair, warn, strict; did you mean "warn"?'),
        (toml({"tool.sitepatch-hook": ("mode = 1",)}), "tool.sitepatch-hook.mode: found 1, expected a string"),
        ("project = 1\ntool = 1\n", "project: found 1, expected a table"),
        ("tool.sitepatch-hook = 1\n" + toml({"tool.sitepatch-hook": None}), "tool.sitepatch-hook: found 1, expected a table"),
    ],
)
def test_name_version_and_mode_are_read_strictly(tmp_path, text, told):
    path = tmp_path / "pyproject.toml"
    with pytest.raises(SitepatchError, match="cannot be read"):
        directory.head(path)
    path.write_text(text)
    if isinstance(told, tuple):
        assert directory.head(path) == told
    else:
        with pytest.raises(SitepatchError) as caught:
            directory.head(path)
        assert f"{path}: {told}" in caught.value.message


@pytest.mark.parametrize(
    ("name", "good"),
    [("a", True), ("a1-b2", True), ("", False), ("1a", False), ("a--b", False), ("a-", False), ("-a", False), ("a_b", False), ("A", False), ("a\n", False)],
)
def test_the_name_of_a_hook(name, good):
    assert directory.is_name(name) is good


def test_where_a_hook_may_be_written(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        writer.check_place(path)
    (tmp_path / "file").write_text("")
    for path, what in ((tmp_path / "file", "something that is no directory"), (tmp_path, "a directory that is not empty and holds no hook")):
        with pytest.raises(UsageError, match=f"found {what}"):
            writer.check_place(path)
    (tmp_path / "pyproject.toml").write_text(toml({}))
    writer.check_place(tmp_path)


def test_what_is_written_is_read_again_and_a_change_is_refused(tmp_path):
    folder, requested, entries = tmp_path / "hook", [], []
    for name in ("two", "three"):
        patchset(tmp_path, name=name)
        requested.append(Requested(load_patchset(tmp_path / "mine" / name, "mine"), {}))
        entries.append(ProjectEntry(name, (), False))
    both = directory.make_content("a-hook", "warn", requested, ())
    one = directory.make_content("a-hook", "warn", requested[:1], ())
    assert both.hook.patchsets[0].paths == {"demo": ("demo/m.py",)} and both.hook.version != one.hook.version
    names = writer.write_directory(folder, both, entries)
    assert {"carried.json", "backend.py", "pyproject.toml"} < set(names)
    assert names == sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert directory.read_content(folder) == both
    writer.write_directory(folder, one, entries[:1])
    assert directory.read_content(folder) == one and sorted(path.name for path in (folder / "patchsets").iterdir()) == ["two"]
    text = (folder / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(text.replace('"warn"', '"strict"'))
    with pytest.raises(SitepatchError, match="was changed since hook init ran: its version would be ") as caught:
        directory.read_content(folder)
    assert caught.value.hint == "run again: sitepatch hook init hook"
    (folder / "pyproject.toml").write_text(text)
    (folder / "patchsets/two/p.spatch").write_text("Why.\n\n--- demo/m.py\n@@ f @@\n-a.b\n+a.c\n")
    with pytest.raises(SitepatchError, match="patchsets: two: not as it was when hook init ran"):
        directory.read_content(folder)
    shutil.rmtree(str(folder / "patchsets/two"))
    with pytest.raises(SitepatchError, match="patchsets/two: found no patchset"):
        directory.read_content(folder)


def test_changes_for_other_releases_stay_as_long_as_each_patchset_of_the_file_is_the_same(tmp_path):
    digests, options = {"two": "2" * 64, "three": "3" * 64}, {"two": {}, "three": {"n": 1}}
    patchsets = [HookPatchset(name, "1", digests[name], options[name], (), {"demo": ("demo/m.py",)}) for name in digests]
    steps = tuple(Step(one.name, "1", one.digest, "fix", dict(one.options), ()) for one in patchsets)
    changes = (Precomputed(LockedFile("demo", "demo", "1.0", "demo/m.py", "0" * 64, "1" * 64), True, steps),)
    assert directory.earlier(tmp_path, patchsets) == ()
    (tmp_path / "kept.json").write_bytes(write_precomputed(changes, digests))
    assert directory.earlier(tmp_path, patchsets) == changes
    elsewhere = HookPatchset("four", "1", "4" * 64, {}, (), {"demo": ("demo/n.py",)})
    assert directory.earlier(tmp_path, [*patchsets, elsewhere]) == changes, "a patchset of other files makes no difference"
    assert directory.earlier(tmp_path, patchsets[:1]) == directory.earlier(tmp_path, []) == ()
    for changed in ({"digest": "4" * 64}, {"options": {"n": 2}}):
        assert directory.earlier(tmp_path, [patchsets[0], patchsets[1]._replace(**changed)]) == ()
    (tmp_path / "kept.json").write_bytes(write_precomputed([changes[0]._replace(steps=())], digests))
    assert directory.earlier(tmp_path, [patchsets[0], patchsets[1]._replace(digest="4" * 64)]) == ()
    assert directory.earlier(tmp_path, [elsewhere]) == (), "no patchset names the file any more"


def test_the_value_of_an_option_may_have_an_equals_sign(tmp_path):
    patchset(tmp_path)
    mine = tmp_path / "mine/two"
    (mine / "p.spatch").write_text("--- demo/m.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = $text\n")
    toml = (mine / "patchset.toml").read_text()
    (mine / "patchset.toml").write_text(toml.replace("[[variant]]", '[options.text]\ntype = "str"\ndefault = "a"\nhelp = "x"\n[[variant]]'))
    requested = [Requested(load_patchset(mine, "mine"), {"text": "a=b"})]
    made = directory.make_content("a-hook", "warn", requested, ())
    writer.write_directory(tmp_path / "hook", made, [ProjectEntry("two", ("text=a=b",), False)])
    assert directory.read_content(tmp_path / "hook") == made


def test_a_directory_that_asks_for_nothing_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text(toml({}))
    with pytest.raises(SitepatchError, match="patchsets: found none, expected the names of patchsets"):
        directory.read_content(tmp_path)


# the backend in this process --------------------------------------------------------------------------------------------
@pytest.fixture
def hook(tmp_path, monkeypatch):
    """The directory of a hook, in which the current process is."""
    patchset(tmp_path)
    requested = [Requested(load_patchset(tmp_path / "mine/two", "mine"), {})]
    made = directory.make_content("a-hook", "warn", requested, ())
    writer.write_directory(tmp_path / "hook", made, [ProjectEntry("two", (), False)])
    monkeypatch.chdir(tmp_path / "hook")
    return tmp_path / "hook"


def test_the_wheel_is_one_that_installers_take(tmp_path, hook):
    name = backend.build_wheel(str(tmp_path))
    version = directory.head(hook / "pyproject.toml")[1]
    assert name == f"a_hook-{version}-py3-none-any.whl"
    with zipfile.ZipFile(str(tmp_path / name)) as archive:
        found = {member.filename: archive.read(member) for member in archive.infolist()}
        assert {(member.create_system, member.external_attr >> 16) for member in archive.infolist()} == {(3, 0o100644)}
    info = f"a_hook-{version}.dist-info"
    rows = [row.split(",") for row in found[f"{info}/RECORD"].decode().splitlines()]
    assert [row[0] for row in rows] == list(found) and rows.pop() == [f"{info}/RECORD", "", ""]
    for path, digest, size in rows:
        expected = base64.urlsafe_b64encode(hashlib.sha256(found[path]).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={expected}", len(found[path]))
    assert backend.prepare_metadata_for_build_wheel(str(tmp_path)) == info
    assert {path.name: path.read_bytes() for path in (tmp_path / info).iterdir()} == {
        each: found[f"{info}/{each}"] for each in ("METADATA", "WHEEL")
    }
    assert [found[f"_a_hook/{each}"] for each in ("state", "state.tmp", "lock")] == [b"", b"", b""]
    assert found["_a_hook/patchsets/two/p.spatch"] == (hook / "patchsets/two/p.spatch").read_bytes()
    assert (tmp_path / name).read_bytes() == backend.Wheel(*wheel_of(directory.read_content(hook))).pack()
    assert {"_a_hook/recheck.py", "_a_hook/lib/patcher/model.py"} < found.keys()
    assert found["a_hook.pth"] == b"import _a_hook; _a_hook.start()\n" and b"hook.boot" not in found["a_hook.start"]


def test_the_sdist_has_all_of_the_directory_and_the_same_bytes_each_time(tmp_path, hook):
    (hook / "built").mkdir()
    (hook / "built/other.txt").write_text("not of the hook")
    name = backend.build_sdist(str(tmp_path))
    first = (tmp_path / name).read_bytes()
    assert first[4:8] == bytes(4), "no time is in it"
    with tarfile.open(str(tmp_path / name)) as archive:
        members = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in archive.getmembers()}
    assert b"Name: a-hook" in members.pop("PKG-INFO")
    assert members == {path: (hook / path).read_bytes() for path in [
        "pyproject.toml", "kept.json", "backend.py", "carried.json", "patchsets/two/p.spatch", "patchsets/two/patchset.toml"]}  # fmt: skip
    backend.build_sdist(str(tmp_path))
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (backend.build_wheel, "No such file or directory"), (backend.build_sdist, "No such file or directory"),
        (backend.prepare_metadata_for_build_wheel, "No such file or directory"),
        (backend.build_editable, "a hook cannot be installed in editable mode; leave out -e (--editable)"),
    ],
)  # fmt: skip
def test_a_build_that_cannot_be_done_ends_in_one_line(hook, capsys, build, told):
    with pytest.raises(SystemExit) as caught:
        build(str(hook / "none"))
    error = capsys.readouterr().err
    assert caught.value.code == 1 and error.startswith("sitepatch hook: error: ") and told in error and error.count("\n") == 1


def test_a_directory_that_was_changed_is_refused_with_what_sitepatch_knows_of_it(hook, capsys):
    (hook / "patchsets/two/p.spatch").write_text("--- demo/m.py\n@@ f @@\n-a(1)\n+a(2)\n")
    with pytest.raises(SystemExit) as caught:
        backend.build_wheel(str(hook))
    assert caught.value.code == 1 and "two: not as it was when hook init ran; run again:" in capsys.readouterr().err


def test_of_several_changes_the_first_is_reported_where_sitepatch_is_not_there(hook, capsys, monkeypatch):
    for path in ("kept.json", "patchsets/two/p.spatch"):
        (hook / path).write_text("")
    monkeypatch.setitem(sys.modules, "patcher.hook.directory", None)
    with pytest.raises(SystemExit):
        backend.build_wheel(str(hook))
    assert capsys.readouterr().err == (
        "sitepatch hook: error: kept.json: was changed since hook init ran; run again: sitepatch hook init hook\n"
    )


# what a hook keeps ------------------------------------------------------------------------------------------------------
def installed(folder, *without):
    """A directory in which demo 1.0 is installed, as an environment; files that begin with one of `without` are not there."""
    folder.mkdir()
    with zipfile.ZipFile(str(wheel(folder.parent / "dist"))) as archive:
        archive.extractall(str(folder), [name for name in archive.namelist() if not name.startswith(without or "-")])
    return Environment(sys.executable, (str(folder),), (str(folder),), sys.version_info[:2])


def asked_for(folder, *names):
    return [Requested(load_patchset(folder / "mine" / name, "mine"), {}) for name in names]


def test_what_is_precomputed_for_an_environment(tmp_path):
    env = installed(tmp_path / "site")
    patchset(tmp_path)
    patchset(tmp_path, "demo/n.py", 3, "three")
    ranged = tmp_path / "mine/three/patchset.toml"
    text = ranged.read_text().replace('versions = ""', 'versions = "<2"')
    ranged.write_text(text + '[[variant]]\npackage = "demo"\nversions = ">=2"\npatches = ["q.spatch"]\n')
    (tmp_path / "mine/three/q.spatch").write_text("".join(f"--- demo/{name}.py\n@@ f @@\n-a(1)\n+a(2)\n" for name in ("m", "gone", "__init__")))
    patchset(tmp_path, "other/x.py", 4, "four")
    before, two, three = (hashlib.sha256(b"VALUE = %d\n" % number).hexdigest() for number in (1, 2, 3))
    nothing = hashlib.sha256(b"").hexdigest()
    requested = asked_for(tmp_path, "two", "three", "four")
    for _ in range(2):
        found = precompute(env, requested)
        assert [(one.file.path, *one.file[:3], one.exact, *one.file[4:], [step.patchset for step in one.steps]) for one in found.changes] == [
            ("demo/__init__.py", "demo", "demo", "1.0", True, nothing, nothing, []),
            ("demo/m.py", "demo", "demo", "1.0", False, before, two, ["two"]),
            ("demo/n.py", "demo", "demo", "1.0", True, before, three, ["three"]),
        ]
        assert [answer.state.value for answer in found.answers] == ["applicable", "applicable"]
        assert found.notes == (f"four: other is not installed in {env.sites[0]}; where it is, sitepatch itself has to patch it",)
        plan = plan_apply(env, requested[:1])
        commit(plan, [one.patchset for one in requested[:1]])  # what is applied makes no difference
    ranged.write_text(text)
    (tmp_path / "mine/three/p.spatch").write_text("--- demo/m.py\n@@ <module> @@\n ...\n+MORE = 1\n")
    (one,) = [one for one in precompute(env, asked_for(tmp_path, "two", "three")).changes if one.file.path == "demo/m.py"]
    assert one.exact and [step.patchset for step in one.steps] == ["three", "two"]


def test_a_package_that_is_there_and_cannot_be_patched_is_a_failure(tmp_path):
    env, more = installed(tmp_path / "site", "demo-", "demo/__init__"), str(tmp_path / "more")
    (tmp_path / "more").mkdir()
    env = env._replace(sites=(more, *env.sites), search=(more, *env.search))
    patchset(tmp_path)
    (answer,) = precompute(env, asked_for(tmp_path, "two")).answers
    assert "left over from an uninstall" in answer.problem
    patchset(tmp_path, "demo/gone.py")
    assert precompute(env, asked_for(tmp_path, "two")).answers == ()


def test_a_release_and_a_file_that_a_patchset_is_not_for_are_failures(tmp_path):
    env = installed(tmp_path / "site")
    patchset(tmp_path)
    manifest = tmp_path / "mine/two/patchset.toml"
    manifest.write_text(manifest.read_text().replace('versions = ""', 'versions = ">=2"'))
    (answer,) = precompute(env, asked_for(tmp_path, "two")).answers
    assert (answer.path, answer.problem) == ("demo", "demo 1.0 is installed; this patchset is for demo >=2")
    patchset(tmp_path, "demo/gone.py")
    (answer,) = precompute(env, asked_for(tmp_path, "two")).answers
    assert (answer.path, answer.state.value) == ("demo/gone.py", "not found")
