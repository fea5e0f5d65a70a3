"""Which distribution owns a package, and how its build is put back."""

import json
from pathlib import Path

import pytest

from patcher.errors import SitepatchError
from patcher.installed.distribution import reinstall_command
from patcher.installed.environment import locate
from patcher.installed.record import recorded_hash
from tests.installed.sites import DEMO, directory, install

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
