"""Where a package is, and which of its files can be patched."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from patcher.errors import SitepatchError
from patcher.installed.environment import blocker, find_file, locate
from patcher.installed.interpreter import discover
from patcher.installed.record import recorded_hash
from tests.installed.sites import DEMO, directory, install, make_venv, searching, site_of

TAG = f"cpython-{sys.version_info[0]}{sys.version_info[1]}-x86_64-linux-gnu"


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
    if init:
        shared = {"demo/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"}
        parts = NAMESPACE
    else:
        shared = {}
        parts = {**NAMESPACE, "zebra": ("demo/z.py", "1.0")}
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
    env = searching(site, files, sites=(site,)) if searched else searching(site, sites=(site,))
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
    problem = blocker(locate(env, "demo"), "demo/runner.py", env)
    if reason is None:
        assert problem is None
    else:
        assert reason in problem


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


DEBIAN, DIST_PACKAGES = "/usr/bin/python3", "/usr/lib/python3/dist-packages"


@pytest.mark.skipif(not (Path(DEBIAN).exists() and Path(DIST_PACKAGES).is_dir()), reason="no Debian Python with dist-packages here")
def test_debians_dist_packages_are_found_on_its_own_interpreter():
    """Nothing is changed there: the directory in which `apt` puts packages is found, after the one in which pip does."""
    sites = discover(DEBIAN, None).sites
    assert sites[-1] == DIST_PACKAGES
    assert any(each.startswith("/usr/local/lib/python3") and each.endswith("/dist-packages") for each in sites[:-1])
