"""`--target` with the root directory of an unpacked image: its Python is found, not run, and no link leads out of it."""

import fcntl
import json
import os
import shutil
import zipfile

import pytest

from patcher.errors import UsageError
from patcher.place import Place
from tests.command import done, sitepatch, tree
from tests.places import patchset, wheel

pytestmark = pytest.mark.once
DEBIAN, LOCAL = "usr/lib/python3/dist-packages", "usr/local/lib/python3.12/dist-packages"
CONDA, DOCKER, VENV = "opt/conda/lib/python3.11/site-packages", "usr/local/lib/python3.13/site-packages", "srv/app/.venv/lib/python3.7/site-packages"


def install(root, site, name="demo"):
    """Unpack a wheel into a site directory of an image."""
    with zipfile.ZipFile(wheel(root.parent / "wheels", name, files={f"{name}/__init__.py": "", f"{name}/m.py": "VALUE = 1\n"})) as archive:
        archive.extractall(root / site)
    return root / site


@pytest.fixture
def root(tmp_path):
    """The root of an image like Debian's, without a Python."""
    root = tmp_path / "image"
    for folder in ("usr/bin", "usr/lib", "etc", "proc"):
        (root / folder).mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "bin").symlink_to("/usr/bin")
    (root / "usr/bin/python3").symlink_to("python3.12")
    patchset(tmp_path)
    return root


def run(root, *words, target=None, **env):
    sources = () if words[0] in ("restore", "status") else ("--patch-dir", root.parent / "mine")
    return sitepatch(words[0], "--target", target or root, *sources, *words[1:], cwd=root.parent, **env)


def refused(target):
    with pytest.raises(UsageError) as caught:
        Place(target=str(target)).environment()
    return caught.value


@pytest.mark.parametrize(
    ("site", "version"), [(DEBIAN, (3, 12)), (LOCAL, (3, 12)), (DOCKER, (3, 13)), (CONDA, (3, 11)), (VENV, (3, 7)), ("usr/lib64/python3.9/site-packages", (3, 9))]
)
def test_the_python_of_an_image_is_found_with_its_version(root, site, version):
    install(root, site)
    env = Place(target=str(root)).environment()
    assert (env.sites, env.search, env.version, env.root) == ((str(root / site),), (str(root / site),), version, str(root))


def test_tools_that_every_python_has_are_no_packages_and_a_distributions_python_has_two_directories(root):
    install(root, CONDA, "pip")
    install(root, DEBIAN)
    install(root, LOCAL, "other")
    assert Place(target=str(root)).environment().sites == (str(root / LOCAL), str(root / DEBIAN))
    assert Place(target=str(root / "opt/conda")).environment().sites == (str(root / CONDA),)


def test_of_several_pythons_one_is_to_be_named(root):
    for site in (DEBIAN, CONDA, VENV):
        install(root, site)
    (root / "opt/conda/lib/python3.1").symlink_to("python3.11")  # as conda-forge has it
    error = refused(root)
    assert f"found 3 Pythons in an image, with packages in {CONDA}, {VENV}, {DEBIAN}" in error.message
    assert error.hint.endswith(f"--target {root / CONDA}")
    install(root, f"{VENV}/demo/lib/python3.8/site-packages")  # a package that has one of its own
    assert Place(target=str(root / VENV)).environment()[1:4] == ((str(root / VENV),), (str(root / VENV),), (3, 7))


def test_what_was_looked_for_is_reported_where_there_is_no_python(root):
    error = refused(root)
    assert "found an image without a Python in it" in error.message and "usr/lib/python3/dist-packages" in error.hint


def test_the_commands_patch_it_as_any_environment_and_give_it_back(root):
    """With hard links, as overlays and package caches make them: the other name keeps its bytes."""
    site = install(root, VENV)
    other = root.parent / "layer.py"
    os.link(str(site / "demo/m.py"), str(other))
    (root / "usr/bin/python3.12").write_text("#!/bin/sh\ntouch RAN\n")  # of another architecture, say
    (root / "usr/bin/python3.12").chmod(0o755)
    (root / "srv/app/.venv/pyvenv.cfg").write_text("")
    (root / "srv/app/.venv/.lock").symlink_to(root.parent / "held")  # uv's lock, were it a file
    before, inode = tree(root), other.stat().st_ino
    assert "+VALUE = 2" in done(run(root, "diff", "two")).out
    with open(root.parent / "held", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        told = done(run(root, "apply", "two", SITEPATCH_LOCK_TIMEOUT="0.1"))
    assert "compiled" in told.out and "import" not in told.out, told
    assert (site / "demo/m.py").read_text() == "VALUE = 2\n" and (other.read_text(), other.stat().st_ino) == ("VALUE = 1\n", inode)
    changed = {path for path, what in tree(root).items() if before.get(path) != what}
    assert {path for path in changed if ".sitepatch" not in path} == {f"{VENV}/demo/m.py"}
    assert json.loads(done(run(root, "status", "--json")).out)["patchsets"][0]["name"] == "two"
    assert "the Python of the image is not run: Python " in done(run(root, "status", "two", "--verify", "import")).err
    told = done(run(root, "doctor")).out
    assert f"{root}, Python 3.7: another release" in told and "driver" not in told
    assert "whose Python is not run here" in done(run(root, "run", "two", "--overlay", "--", "true"), 2).err
    done(run(root, "restore"))
    assert tree(root) == before and not (root.parent / "RAN").exists()


@pytest.mark.parametrize(
    ("link", "to"),
    [
        ("usr/lib/python3/dist-packages/demo/m.py", "/etc/passwd"),
        ("usr/lib/python3/dist-packages/demo/deep", "/etc"),
        ("usr/lib/python3/dist-packages/demo-1.0.dist-info/RECORD", "../../../../../../outside"),
        ("usr/lib/python3/dist-packages/demo-1.0.dist-info/METADATA", "/nowhere\n\x1b[31m"),
    ],
)
def test_a_link_out_of_the_image_is_not_followed(root, link, to):
    install(root, DEBIAN)
    (root.parent / "outside").write_text("")
    if os.path.lexists(str(root / link)):
        (root / link).unlink()
    (root / link).symlink_to(to)
    before = tree(root.parent)
    for target in (root, root / DEBIAN):
        ended = done(run(root, "apply", "two", target=target), 2)
        assert f"found links out of the image {root}: {link} -> " in ended.err and "\x1b[31m" not in ended.err, ended
    assert tree(root.parent) == before


def test_a_link_to_a_library_means_a_place_in_the_image(root):
    outside = root.parent / "outside"
    install(outside, "dist-packages")
    (root / "usr/lib/python3").symlink_to(outside)
    assert "without a Python" in refused(root).message
    assert "found a link out of the image" in refused(root / DEBIAN).message
    (root / "usr/lib/python3").unlink()
    (root / "usr/lib/python3").symlink_to("/../opt/python3.12")
    (root / "opt").symlink_to("../../../srv")
    install(root, "srv/python3.12/dist-packages")
    assert Place(target=str(root)).environment().sites == (str(root / "srv/python3.12/dist-packages"),)
    shutil.rmtree(root / "srv")
    (root / "srv").symlink_to("opt")  # round in a circle
    assert "without a Python" in refused(root).message


def test_the_names_of_an_image_may_be_hostile(root):
    site = install(root, "opt/a b\n$(id)/lib/python3.12/site-packages")
    (root / "opt/\udcff").mkdir()
    done(run(root, "apply", "two"))
    assert (site / "demo/m.py").read_text() == "VALUE = 2\n"


def test_other_directories_are_what_they_were(tmp_path):
    """A checkout with a virtual environment in it, a directory of packages that is called like one of an image."""
    (tmp_path / "usr").mkdir()
    install(tmp_path / "checkout", ".venv/lib/python3.12/site-packages")
    for target in (tmp_path / "checkout", tmp_path / "usr"):
        assert Place(target=str(target)).environment()[1] == (str(target),)


def test_the_same_input_gives_the_same_files_and_times_with_source_date_epoch(root, monkeypatch):
    """What a layer is made of: bytes, modes and mtimes of files and directories; a second restores, and leaves nothing newer."""
    install(root, VENV)
    for path in [*root.rglob("*"), root]:
        os.utime(path, (10**9, 10**9), follow_symlinks=False)
    two = root.parent / "two"
    shutil.copytree(root, two, symlinks=True)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")

    def times(folder):
        return {path.relative_to(folder).as_posix(): path.lstat().st_mtime_ns for path in folder.rglob("*") if not path.is_symlink()}

    for each in (root, two):
        done(run(each, "apply", "two"))
    assert (tree(root), times(root)) == (tree(two), times(two))
    assert set(times(root).values()) == {10**18, 17 * 10**17}
    done(run(two, "restore"))
    assert max(times(two).values()) == 17 * 10**17 and not list(two.rglob(".sitepatch"))
